//! The camera and the light: matrices, rays through pixels, and the particle of a shirt that a ray hits.
//!
//! Matrices have 4×4 elements in column-major order, as in OpenGL. Lengths are in metres; y points upward.

use std::f32::consts::FRAC_PI_2;

use crate::scene::mesh::VERTEX_FLOATS;
use ladders::cloth::geometry::{Point, add, cross, dot, scale, sub};
use ladders::cloth::model::{COLUMNS, PARTICLES, SHIRT_VERTICES, SPACING, VERTEX_COLUMNS};

/// A 4×4 matrix in column-major order.
pub(super) type Matrix = [f32; 16];

/// The tangent of half the vertical field of view. In a picture that is higher than wide, it applies to the horizontal field of
/// view.
const HALF_FIELD_OF_VIEW: f32 = 0.30;
/// The distance of the near clipping plane in metres.
const NEAR: f32 = 0.2;
/// The distance of the far clipping plane in metres.
const FAR: f32 = 120.0;
/// The angle in radians by which dragging the mouse over the window's height rotates the camera.
const ANGLE_PER_DRAG: f32 = 3.0;
/// The lowest and the highest pitch of the camera in radians: from just above the floor to nearly above the figures.
const PITCH: (f32, f32) = (-0.02, 1.4);
/// The direction from the scene to the light.
pub(super) const LIGHT: Point = [-0.54, 0.70, 0.46];

/// A ray that begins at a point.
#[derive(Clone, Copy)]
pub(super) struct Ray {
    pub from: Point,
    /// The direction, of length 1.
    pub along: Point,
}

/// The camera, which orbits the middle of the crowd of figures.
#[derive(Default)]
pub(super) struct Camera {
    about: f32,
    up: f32,
    middle: Point,
    /// The radius in metres of a circle around all figures.
    radius: f32,
}

impl Camera {
    /// Creates a camera in front of a crowd of `army` figures, somewhat to the side.
    pub(super) fn new(army: usize) -> Self {
        let mut camera = Self { about: 0.45, up: 0.16, middle: [0.0; 3], radius: 1.0 };
        camera.look_at(army);
        camera
    }

    /// Adapts the camera's position to a crowd of `army` figures; its angles stay the same.
    pub(super) fn look_at(&mut self, army: usize) {
        let side = (1..).find(|side| side * side >= army).unwrap_or(1) as f32;
        let half = (side - 1.0) / 2.0 * SPACING;
        self.middle = [0.0, 0.9, -half];
        self.radius = half.hypot(half * 0.8) + 1.0;
    }

    /// Rotates the camera by a drag of the mouse. The distance of the drag is a fraction of the window's height; right and down
    /// are positive.
    pub(super) fn turn(&mut self, [right, down]: [f32; 2]) {
        if right.is_finite() && down.is_finite() {
            self.about = (self.about - ANGLE_PER_DRAG * right).rem_euclid(4.0 * FRAC_PI_2);
            self.up = (self.up + ANGLE_PER_DRAG * down).clamp(PITCH.0, PITCH.1);
        }
    }

    pub(super) fn eye(&self) -> Point {
        let ((sin_a, cos_a), (sin_u, cos_u)) = (self.about.sin_cos(), self.up.sin_cos());
        let to = [sin_a * cos_u, sin_u, cos_a * cos_u];
        // The camera must not be below the floor.
        let [x, y, z] = add(self.middle, scale(to, self.distance()));
        [x, y.max(0.15), z]
    }

    /// Returns the distance of the eye from the middle of the crowd of figures, in metres.
    pub(super) fn distance(&self) -> f32 {
        self.radius / HALF_FIELD_OF_VIEW * 1.08
    }

    /// Returns the matrix that transforms points of the scene to clip coordinates; `wide` is the picture's width divided by its
    /// height.
    pub(super) fn view(&self, wide: f32) -> Matrix {
        let eye = self.eye();
        let [right, up, forward] = axes(sub(self.middle, eye));
        let [across, high] = self.focus(wide);
        let (depth, shift) = ((FAR + NEAR) / (FAR - NEAR), -2.0 * FAR * NEAR / (FAR - NEAR));
        let mut z = row(scale(forward, depth), eye);
        z[3] += shift;
        from_rows([row(scale(right, across), eye), row(scale(up, high), eye), z, row(forward, eye)])
    }

    /// Returns the width and height that an object of size 1 at distance 1 has in the picture, in halves of the picture's width
    /// and height. In a picture that is higher than wide, the horizontal field of view is fixed instead of the vertical one.
    fn focus(&self, wide: f32) -> [f32; 2] {
        let wide = if wide.is_finite() { wide.clamp(0.01, 100.0) } else { 1.0 };
        let half = HALF_FIELD_OF_VIEW / wide.min(1.0);
        [1.0 / (half * wide), 1.0 / half]
    }

    /// Returns the ray from the eye through a position in the picture. Positions are from 0 to 1, from left to right and from
    /// top to bottom. `wide` is the picture's width divided by its height.
    pub(super) fn ray(&self, [x, y]: [f32; 2], wide: f32) -> Ray {
        let from = self.eye();
        let ([right, up, forward], [across, high]) = (axes(sub(self.middle, from)), self.focus(wide));
        let sideward = add(scale(right, (2.0 * x - 1.0) / across), scale(up, (1.0 - 2.0 * y) / high));
        Ray { from, along: unit(add(forward, sideward)) }
    }

    /// Returns the point on a ray that has the same depth as `point`, as seen from the camera.
    pub(super) fn point_at_depth_of(&self, point: Point, ray: Ray) -> Point {
        let [_, _, forward] = axes(sub(self.middle, self.eye()));
        let speed = dot(ray.along, forward).max(0.05);
        add(ray.from, scale(ray.along, dot(sub(point, ray.from), forward) / speed))
    }

    /// Returns the matrix that transforms points of the scene to the shadow map, which contains everything that casts shadows.
    pub(super) fn light(&self) -> Matrix {
        let [right, up, forward] = axes(scale(LIGHT, -1.0))
            .map(|axis| row(scale(axis, 1.0 / self.shadow_half_width()), self.middle));
        from_rows([right, up, forward, [0.0, 0.0, 0.0, 1.0]])
    }

    /// Returns half the width of the area of the floor that the shadow map covers, in metres.
    fn shadow_half_width(&self) -> f32 {
        self.radius + 0.4
    }

    /// Returns the rectangle of the picture that contains the floor covered by the shadow map: left, bottom, right and top, as
    /// fractions of the picture from its lower left corner. `None` if that part of the floor extends behind the eye. `aspect`
    /// is the picture's width divided by its height.
    pub(super) fn shadow_area(&self, aspect: f32) -> Option<[f32; 4]> {
        let ([right, up, _], view) = (axes(scale(LIGHT, -1.0)), self.view(aspect));
        let determinant = right[0] * up[2] - right[2] * up[0];
        let mut around = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        for (to_right, to_up) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let (a, b) = (
                dot(right, self.middle) + to_right * self.shadow_half_width(),
                dot(up, self.middle) + to_up * self.shadow_half_width(),
            );
            let (x, z) = ((a * up[2] - b * right[2]) / determinant, (b * right[0] - a * up[0]) / determinant);
            let row = |n: usize| view[n] * x + view[8 + n] * z + view[12 + n];
            let depth = row(3);
            if depth < NEAR {
                return None;
            }
            let at = [row(0), row(1)].map(|along| along / depth * 0.5 + 0.5);
            around = [at[0].min(around[0]), at[1].min(around[1]), at[0].max(around[2]), at[1].max(around[3])];
        }
        Some(around.map(|edge| edge.clamp(0.0, 1.0)))
    }
}

/// Returns the axes to the right, upward and forward of a camera that looks in this direction.
fn axes(forward: Point) -> [Point; 3] {
    let forward = unit(forward);
    let right = unit(cross(forward, [0.0, 1.0, 0.0]));
    [right, cross(right, forward), forward]
}

/// Returns the row of a matrix that measures along `axis`, from the point `origin`.
fn row(axis: Point, origin: Point) -> [f32; 4] {
    [axis[0], axis[1], axis[2], -dot(axis, origin)]
}

fn from_rows(rows: [[f32; 4]; 4]) -> Matrix {
    std::array::from_fn(|at| rows[at % 4][at / 4])
}

/// Returns the vector with the direction of `a` and length 1.
fn unit(a: Point) -> Point {
    scale(a, 1.0 / dot(a, a).sqrt().max(1e-6))
}

/// Returns the index of the particle of the cloth that the ray hits, which is the vertex nearest to its first intersection with
/// a shirt, and the point of that intersection; `None` if the ray hits no shirt. `army` is the number of figures. `vertices`
/// are the vertices that are drawn, those of the shirts first. `indices` are the vertex indices of the triangles of one shirt.
pub(super) fn hit_particle(
    ray: Ray,
    army: usize,
    indices: &[u32],
    vertices: &[f32],
) -> Option<(usize, Point)> {
    let shirts = vertices.chunks_exact(SHIRT_VERTICES * VERTEX_FLOATS).take(army);
    let hits = shirts.enumerate().flat_map(|(character, shirt)| {
        indices.chunks_exact(3).filter_map(move |triangle| {
            let corner = |n: usize| -> Option<Point> {
                let first = triangle[n] as usize * VERTEX_FLOATS;
                shirt.get(first..first + 3)?.try_into().ok()
            };
            let corners = [corner(0)?, corner(1)?, corner(2)?];
            Some((intersection_distance(ray, corners)?, character, triangle, corners))
        })
    });
    let (far, character, triangle, corners) = hits.min_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let at = add(ray.from, scale(ray.along, far));
    let off = corners.map(|corner| dot(sub(corner, at), sub(corner, at)));
    let closest = (0..3).min_by(|a, b| off[*a].total_cmp(&off[*b])).unwrap_or(0);
    let vertex = triangle[closest] as usize;
    let (row, column) = (vertex / VERTEX_COLUMNS, vertex % VERTEX_COLUMNS % COLUMNS);
    Some((character * PARTICLES + row * COLUMNS + column, at))
}

/// Returns the distance from the start of the ray to its intersection with a triangle, from either side of the triangle; `None`
/// if the ray misses it (T. Möller, B. Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", 1997).
fn intersection_distance(ray: Ray, [a, b, c]: [Point; 3]) -> Option<f32> {
    let (ab, ac) = (sub(b, a), sub(c, a));
    let across = cross(ray.along, ac);
    let area = dot(ab, across);
    if area.abs() < 1e-12 {
        return None;
    }
    let from = sub(ray.from, a);
    let u = dot(from, across) / area;
    let along = cross(from, ab);
    let v = dot(ray.along, along) / area;
    let far = dot(ac, along) / area;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && far > 0.0).then_some(far)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladders::cloth::chain::Chain;

    /// Returns the point `p` transformed by the matrix and divided by w: x, y and z are from -1 to 1 if it is visible.
    fn brought(m: Matrix, p: Point) -> Point {
        let row = |n: usize| m[n] * p[0] + m[4 + n] * p[1] + m[8 + n] * p[2] + m[12 + n];
        [row(0) / row(3), row(1) / row(3), row(2) / row(3)]
    }

    #[test]
    fn all_of_an_army_is_in_the_picture_and_in_the_light_from_wherever_it_is_seen() {
        for army in [1, 4, 9, 25, 100] {
            let mut camera = Camera::new(army);
            for turn in [[0.0, 0.0], [0.3, 0.9], [0.7, -2.0], [f32::NAN, 0.1]] {
                camera.turn(turn);
                for walk in ladders::cloth::model::army(army) {
                    for y in [0.1, 1.7] {
                        let at = [walk.at[0], y, walk.at[1]];
                        for wide in [0.5, 1.0, 16.0 / 9.0] {
                            let p = brought(camera.view(wide), at);
                            let is_in = p.iter().all(|x| x.abs() <= 1.05);
                            assert!(is_in, "{army} {turn:?} {wide}: {at:?} {p:?}");
                        }
                        let p = brought(camera.light(), at);
                        assert!(p.iter().all(|x| x.abs() <= 1.0), "light, {army}: {at:?} {p:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_shadow_on_the_floor_is_where_it_is_looked_for() {
        for army in [1, 4, 9, 25, 100] {
            let mut camera = Camera::new(army);
            let [left, bottom, right, top] = camera.shadow_area(16.0 / 9.0).unwrap();
            assert!((right - left) * (top - bottom) < 0.5, "{army}: {left} {bottom} {right} {top}");
            for turn in [[0.0, 0.0], [0.3, 0.2], [0.7, -0.3], [0.1, 0.3], [0.5, 0.3]] {
                camera.turn(turn);
                let Some([left, bottom, right, top]) = camera.shadow_area(1.5) else { continue };
                for walk in ladders::cloth::model::army(army) {
                    // The shadow of a head.
                    let [x, z] = [0, 1].map(|at| walk.at[at] - LIGHT[2 * at] / LIGHT[1] * 1.8);
                    let [x, y, _] = brought(camera.view(1.5), [x, 0.0, z]).map(|along| along * 0.5 + 0.5);
                    let is_in = (left..=right).contains(&x) && (bottom..=top).contains(&y);
                    let is_seen = (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y);
                    assert!(is_in || !is_seen, "{army} {turn:?}: {x} {y}, {left} {bottom} {right} {top}");
                }
            }
        }
    }

    #[test]
    fn rays_go_through_what_is_seen_there_and_find_the_nearest_shirt() {
        let mut camera = Camera::new(4);
        camera.turn([0.2, 0.1]);
        for point in [[0.1, 1.3, 0.2], [-0.6, 0.4, -1.0]] {
            let [x, y, _] = brought(camera.view(1.5), point);
            let ray = camera.ray([(x + 1.0) / 2.0, (1.0 - y) / 2.0], 1.5);
            let off = sub(camera.point_at_depth_of(point, ray), point);
            assert!(dot(off, off) < 1e-6, "{point:?}: {off:?}");
        }
        let mut chain = Chain::new(4, None).unwrap();
        chain.step(0.01, None).unwrap();
        let vertices = chain.vertices().unwrap().to_vec();
        let indices = chain.figure.shirt.indices.clone();
        let at = |x: f32| Ray { from: [x, 1.2, 5.0], along: [0.0, 0.0, -1.0] };
        // The figures of the front row stand at -0.65 and 0.65: the ray hits their chests, not the figures behind them.
        for (x, character) in [(-0.65, 0), (0.65, 1)] {
            let (particle, point) = hit_particle(at(x), 4, &indices, &vertices).unwrap();
            assert_eq!(particle / PARTICLES, character);
            let column = particle % PARTICLES % COLUMNS;
            assert!(column.abs_diff(COLUMNS / 2) < 6, "the chest, not column {column}");
            assert!(point[2] > 0.05 && point[2] < 0.3 && (point[1] - 1.2).abs() < 1e-4, "{point:?}");
        }
        assert_eq!(hit_particle(at(0.0), 4, &indices, &vertices), None, "between them is nothing");
        assert_eq!(hit_particle(at(0.65), 4, &indices, &[]), None);
    }
}
