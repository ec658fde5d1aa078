//! Picking: finds the particle of a shirt that is under the mouse.

use super::camera::Ray;
use ladders::cloth::geometry::{Point, add, cross, dot, scale, sub};
use ladders::cloth::model::{COLUMNS, PARTICLES, SHIRT_VERTICES, VERTEX_COLUMNS};

/// The number of floats of a vertex.
const VERTEX_FLOATS: usize = 8;

/// Returns the index of the particle of the cloth that the ray hits, which is the vertex nearest to its first intersection with
/// a shirt, and the point of that intersection; `None` if the ray hits no shirt. `army` is the number of figures. `vertices`
/// are the vertices that are drawn, those of the shirts first. `indices` are the vertex indices of the triangles of one shirt.
pub(super) fn particle(ray: Ray, army: usize, indices: &[u32], vertices: &[f32]) -> Option<(usize, Point)> {
    let shirts = vertices.chunks_exact(SHIRT_VERTICES * VERTEX_FLOATS).take(army);
    let mut nearest: Option<(f32, usize)> = None;
    for (character, shirt) in shirts.enumerate() {
        for triangle in indices.chunks_exact(3) {
            let corners = [0, 1, 2].map(|n| corner(shirt, triangle[n] as usize));
            let [Some(a), Some(b), Some(c)] = corners else { continue };
            let Some(far) = intersection_distance(ray, [a, b, c]) else { continue };
            if nearest.is_some_and(|(before, _)| before <= far) {
                continue;
            }
            let at = add(ray.from, scale(ray.along, far));
            let off = [a, b, c].map(|corner| dot(sub(corner, at), sub(corner, at)));
            let closest = (0..3).min_by(|a, b| off[*a].total_cmp(&off[*b])).unwrap_or(0);
            let vertex = triangle[closest] as usize;
            let (row, column) = (vertex / VERTEX_COLUMNS, vertex % VERTEX_COLUMNS % COLUMNS);
            nearest = Some((far, character * PARTICLES + row * COLUMNS + column));
        }
    }
    nearest.map(|(far, particle)| (particle, add(ray.from, scale(ray.along, far))))
}

/// Returns the position of the vertex with this index of a shirt; `None` if there is no such vertex.
fn corner(shirt: &[f32], vertex: usize) -> Option<Point> {
    let numbers = shirt.get(vertex * VERTEX_FLOATS..vertex * VERTEX_FLOATS + 3)?;
    numbers.try_into().ok()
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

    #[test]
    fn a_ray_finds_the_nearest_shirt_and_its_particle() {
        let mut chain = Chain::new(4, None).unwrap();
        chain.step(0.01, None).unwrap();
        let vertices = chain.vertices().unwrap().to_vec();
        let indices = chain.figure().shirt.indices.clone();
        let at = |x: f32| Ray { from: [x, 1.2, 5.0], along: [0.0, 0.0, -1.0] };
        // The figures of the front row stand at -0.65 and 0.65: the ray hits their chests, not the figures behind them.
        for (x, character) in [(-0.65, 0), (0.65, 1)] {
            let (particle, point) = super::particle(at(x), 4, &indices, &vertices).unwrap();
            assert_eq!(particle / PARTICLES, character);
            let column = particle % PARTICLES % COLUMNS;
            assert!(column.abs_diff(COLUMNS / 2) < 6, "the chest, not column {column}");
            assert!(point[2] > 0.05 && point[2] < 0.3 && (point[1] - 1.2).abs() < 1e-4, "{point:?}");
        }
        assert_eq!(super::particle(at(0.0), 4, &indices, &vertices), None, "between them is nothing");
        assert_eq!(super::particle(at(0.65), 4, &indices, &[]), None);
    }
}
