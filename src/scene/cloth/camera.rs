//! From where the army is seen, and from where it is lit. In: drags, the window's shape. Out: matrices, and rays through pixels.
//!
//! Matrices have four columns of four numbers, as OpenGL takes them. Lengths are metres, y is upward.

use std::f32::consts::FRAC_PI_2;

use ladders::cloth::model::APART;

/// x, y, z.
pub(super) type Point = [f32; 3];
/// Columns first.
pub(super) type Matrix = [f32; 16];

/// The tangent of half the angle that is seen from top to bottom.
const HALF: f32 = 0.30;
/// What is nearer, or further, is not drawn.
const NEAR: f32 = 0.2;
const FAR: f32 = 120.0;
/// Radians for a drag over the window's height.
const BY_DRAG: f32 = 3.0;
/// The lowest and the highest look: from just over the floor, and from nearly above.
const PITCH: (f32, f32) = (-0.02, 1.4);
/// Where the light comes from.
pub(super) const LIGHT: Point = [-0.54, 0.70, 0.46];

/// A line from a point on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ray {
    pub from: Point,
    /// Of length 1.
    pub along: Point,
}

/// The eye, which goes round the army's middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Camera {
    about: f32,
    up: f32,
    middle: Point,
    /// How far the army reaches from there.
    radius: f32,
}

impl Camera {
    /// In front of so many figures, somewhat to the side.
    pub(super) fn new(army: usize) -> Self {
        let mut camera = Self { about: 0.45, up: 0.16, middle: [0.0; 3], radius: 1.0 };
        camera.look_at(army);
        camera
    }

    /// Looks at an army of another size from the same side.
    pub(super) fn look_at(&mut self, army: usize) {
        let side = (1..).find(|side| side * side >= army).unwrap_or(1) as f32;
        let half = (side - 1.0) / 2.0 * APART;
        self.middle = [0.0, 0.9, -half];
        self.radius = half.hypot(half * 0.8) + 1.0;
    }

    /// Turns by a drag, in parts of the window's height: right and down are positive.
    pub(super) fn turn(&mut self, [right, down]: [f32; 2]) {
        if right.is_finite() && down.is_finite() {
            self.about = (self.about - BY_DRAG * right).rem_euclid(4.0 * FRAC_PI_2);
            self.up = (self.up + BY_DRAG * down).clamp(PITCH.0, PITCH.1);
        }
    }

    /// Where the eye is.
    pub(super) fn eye(&self) -> Point {
        let ((sin_a, cos_a), (sin_u, cos_u)) = (self.about.sin_cos(), self.up.sin_cos());
        let to = [sin_a * cos_u, sin_u, cos_a * cos_u];
        // Not below the floor.
        let [x, y, z] = add(self.middle, scale(to, self.distance()));
        [x, y.max(0.15), z]
    }

    /// How far the eye is from the middle.
    pub(super) fn distance(&self) -> f32 {
        self.radius / HALF * 1.08
    }

    /// Right, upward, and into the picture.
    fn axes(&self) -> [Point; 3] {
        axes(sub(self.middle, self.eye()))
    }

    /// What brings points to the picture; `wide` is its width over its height.
    pub(super) fn view(&self, wide: f32) -> Matrix {
        let [right, up, forward] = self.axes();
        let eye = self.eye();
        let [across, high] = self.focus(wide);
        let (depth, shift) = ((FAR + NEAR) / (FAR - NEAR), -2.0 * FAR * NEAR / (FAR - NEAR));
        let row = |axis: Point, by: f32| {
            let [x, y, z] = scale(axis, by);
            [x, y, z, -dot(scale(axis, by), eye)]
        };
        let mut z = row(forward, depth);
        z[3] += shift;
        columns([row(right, across), row(up, high), z, row(forward, 1.0)])
    }

    /// How large a length of 1 in a distance of 1 is, of half the picture's width and height. A narrow picture shows as much.
    fn focus(&self, wide: f32) -> [f32; 2] {
        let wide = if wide.is_finite() { wide.clamp(0.01, 100.0) } else { 1.0 };
        let half = HALF / wide.min(1.0);
        [1.0 / (half * wide), 1.0 / half]
    }

    /// What is seen at a place of the picture: from 0 to 1 from left to right and from top to bottom.
    pub(super) fn ray(&self, [x, y]: [f32; 2], wide: f32) -> Ray {
        let ([right, up, forward], [across, high]) = (self.axes(), self.focus(wide));
        let sideward = add(scale(right, (2.0 * x - 1.0) / across), scale(up, (1.0 - 2.0 * y) / high));
        Ray { from: self.eye(), along: unit(add(forward, sideward)) }
    }

    /// Where a ray comes as far into the picture as `point` is.
    pub(super) fn beside(&self, point: Point, ray: Ray) -> Point {
        let [_, _, forward] = self.axes();
        let speed = dot(ray.along, forward).max(0.05);
        add(ray.from, scale(ray.along, dot(sub(point, ray.from), forward) / speed))
    }

    /// What brings points to the picture of the light, with all that may throw a shadow on what is near.
    pub(super) fn light(&self) -> Matrix {
        let [right, up, forward] = axes(scale(LIGHT, -1.0));
        let reach = self.reach();
        let row = |axis: Point| {
            let [x, y, z] = scale(axis, 1.0 / reach);
            [x, y, z, -dot([x, y, z], self.middle)]
        };
        columns([row(right), row(up), row(forward), [0.0, 0.0, 0.0, 1.0]])
    }

    /// How far the picture of the light reaches from its middle.
    fn reach(&self) -> f32 {
        self.radius + 0.4
    }

    /// Where the picture of the light lies on the floor as this camera sees it: left, bottom, right and top in parts of the
    /// picture, from its lower left corner. `None` where that goes behind the eye.
    pub(super) fn shaded(&self, wide: f32) -> Option<[f32; 4]> {
        let ([right, up, _], view) = (axes(scale(LIGHT, -1.0)), self.view(wide));
        let determinant = right[0] * up[2] - right[2] * up[0];
        let mut around = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        for (to_right, to_up) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let (a, b) = (
                dot(right, self.middle) + to_right * self.reach(),
                dot(up, self.middle) + to_up * self.reach(),
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

/// Right, upward and forward for who looks there.
fn axes(forward: Point) -> [Point; 3] {
    let forward = unit(forward);
    let right = unit(cross(forward, [0.0, 1.0, 0.0]));
    [right, cross(right, forward), forward]
}

fn columns(rows: [[f32; 4]; 4]) -> Matrix {
    std::array::from_fn(|at| rows[at % 4][at / 4])
}

pub(super) fn add(a: Point, b: Point) -> Point {
    std::array::from_fn(|n| a[n] + b[n])
}

pub(super) fn sub(a: Point, b: Point) -> Point {
    std::array::from_fn(|n| a[n] - b[n])
}

pub(super) fn scale(a: Point, by: f32) -> Point {
    a.map(|x| x * by)
}

pub(super) fn dot(a: Point, b: Point) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The same direction with length 1.
fn unit(a: Point) -> Point {
    scale(a, 1.0 / dot(a, a).sqrt().max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a matrix brings a point: x, y, z from -1 to 1.
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
                            assert!(
                                p.iter().all(|x| x.abs() <= 1.05),
                                "{army} {turn:?} {wide}: {at:?} {p:?}"
                            );
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
            let [left, bottom, right, top] = camera.shaded(16.0 / 9.0).unwrap();
            assert!((right - left) * (top - bottom) < 0.5, "{army}: {left} {bottom} {right} {top}");
            for turn in [[0.0, 0.0], [0.3, 0.2], [0.7, -0.3], [0.1, 0.3], [0.5, 0.3]] {
                camera.turn(turn);
                let Some([left, bottom, right, top]) = camera.shaded(1.5) else { continue };
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
    fn rays_go_through_what_is_seen_there() {
        let mut camera = Camera::new(4);
        camera.turn([0.2, 0.1]);
        for point in [[0.1, 1.3, 0.2], [-0.6, 0.4, -1.0]] {
            let [x, y, _] = brought(camera.view(1.5), point);
            let ray = camera.ray([(x + 1.0) / 2.0, (1.0 - y) / 2.0], 1.5);
            let off = sub(camera.beside(point, ray), point);
            assert!(dot(off, off) < 1e-6, "{point:?}: {off:?}");
        }
    }
}
