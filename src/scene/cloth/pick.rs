//! What of the shirts the mouse is over. In: a ray, the vertices of an army. Out: the particle that is nearest to where the ray
//! comes to a shirt.

use super::camera::{Point, Ray, add, cross, dot, scale, sub};
use ladders::cloth::model::{COLUMNS, PARTICLES, SHIRT_VERTICES, VERTEX_COLUMNS};

/// Floats of a vertex.
const VERTEX: usize = 8;

/// The particle of an army, and where the ray comes to the cloth beside it. `vertices` are the army's as they are drawn, those
/// of the shirts first; `indices` those of a shirt's triangles.
pub(super) fn particle(ray: Ray, army: usize, indices: &[u32], vertices: &[f32]) -> Option<(usize, Point)> {
    let shirts = vertices.chunks_exact(SHIRT_VERTICES * VERTEX).take(army);
    let mut nearest: Option<(f32, usize)> = None;
    for (character, shirt) in shirts.enumerate() {
        for triangle in indices.chunks_exact(3) {
            let corners = [0, 1, 2].map(|n| corner(shirt, triangle[n] as usize));
            let [Some(a), Some(b), Some(c)] = corners else { continue };
            let Some(far) = meets(ray, [a, b, c]) else { continue };
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

fn corner(shirt: &[f32], vertex: usize) -> Option<Point> {
    let numbers = shirt.get(vertex * VERTEX..vertex * VERTEX + 3)?;
    numbers.try_into().ok()
}

/// How far along the ray it meets a triangle, from either side (T. Möller, B. Trumbore, "Fast, Minimum Storage Ray/Triangle
/// Intersection", 1997).
fn meets(ray: Ray, [a, b, c]: [Point; 3]) -> Option<f32> {
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
        // The figures of the front row stand at -0.65 and 0.65: their chests are hit, not those behind them.
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
