//! Tests of the properties of the generated figure.

use super::*;
use crate::cloth::geometry::dot;

#[test]
fn weights_sum_to_one_normals_have_length_one_bones_exist_and_surfaces_face_outward() {
    let Figure { body, shirt } = Figure::new();
    assert!((900..4000).contains(&body.vertices.len()), "{}", body.vertices.len());
    assert_eq!(size_of::<BodyVertex>(), 80);
    for v in body.vertices.iter().chain(&shirt.drivers) {
        let sum: f32 = v.weights.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6 && v.weights.iter().all(|w| (0.0..=1.0).contains(w)), "{v:?}");
        assert!(v.bones.iter().all(|bone| (*bone as usize) < BONES), "{v:?}");
        let [x, y, z, w] = v.normal;
        assert!((dot([x, y, z], [x, y, z]) - 1.0).abs() < 1e-5 && w == 0.0, "{v:?}");
        assert!(v.position.iter().all(|x| x.is_finite()) && v.position[3] == 1.0, "{v:?}");
    }
    let heights = || body.vertices.iter().map(|v| v.position[1]);
    assert!((heights().fold(f32::MAX, f32::min)).abs() < 0.01);
    assert!((heights().fold(f32::MIN, f32::max) - 1.8).abs() < 0.01);
    // Every bone moves some vertices, and some vertices have more than two bones.
    let moved = |bone: u32| {
        body.vertices.iter().any(|v| v.bones.iter().zip(v.weights).any(|(b, w)| *b == bone && w > 0.5))
    };
    assert!((0..BONES as u32).all(moved));
    assert!(body.vertices.iter().any(|v| v.weights.iter().filter(|w| **w > 0.0).count() >= 3));
    // Surfaces face outward.
    let torso =
        body.vertices.iter().filter(|v| (0.9..1.4).contains(&v.position[1]) && v.position[0].abs() < 0.1);
    for v in torso.filter(|v| v.position[2].abs() > 0.05) {
        assert!(v.normal[2] * v.position[2] > 0.0, "{v:?}");
    }
    let particle = |v: u32| {
        let (row, column) = (v as usize / VERTEX_COLUMNS, v as usize % VERTEX_COLUMNS);
        shirt.rest[row * COLUMNS + column % COLUMNS]
    };
    for t in shirt.indices.chunks_exact(3) {
        let [a, b, c] = [particle(t[0]), particle(t[1]), particle(t[2])];
        let normal = cross(sub(b, a), sub(c, a));
        // Over the shoulders the normal points upward.
        assert!(normal[0] * a[0] + normal[2] * a[2] > 0.0 || normal[1] > 0.0, "{t:?}");
    }
    assert_eq!(shirt.indices.iter().max(), Some(&(SHIRT_VERTICES as u32 - 1)));
    assert!(body.indices.iter().all(|v| (*v as usize) < body.vertices.len()));
    // The picture's middle is on the chest, its left side on the left of a viewer who faces the figure.
    let at = |column: usize| (shirt.uv[10 * VERTEX_COLUMNS + column], shirt.rest[10 * COLUMNS + column]);
    assert!(at(COLUMNS / 2).0[0] == 0.5 && at(COLUMNS / 2).1[2] > 0.1);
    assert!(at(COLUMNS / 4).0[0] == 0.25 && at(COLUMNS / 4).1[0] < -0.1);
    assert!(shirt.uv[0][1] == 0.0 && shirt.uv[SHIRT_VERTICES - 1] == [1.0, 1.0]);
}

#[test]
fn constraints_have_lengths_and_no_two_of_a_colour_share_a_particle() {
    let shirt = Figure::new().shirt;
    assert_eq!((shirt.rest.len(), shirt.drivers.len(), shirt.reach.len()), (PARTICLES, PARTICLES, PARTICLES));
    assert!(shirt.constraints.len() > 5 * PARTICLES, "{}", shirt.constraints.len());
    assert!(shirt.colours.len() <= 16, "{:?}", shirt.colours);
    assert_eq!(shirt.colours.last().map(|last| last.end), Some(shirt.constraints.len()));
    for c in &shirt.constraints {
        assert!(c.rest > 0.003 && c.rest < 0.2 && c.a != c.b, "{c:?}");
        assert!(
            c.shares.iter().sum::<f32>() > 0.0 && c.shares.iter().all(|s| (0.0..=1.0).contains(s)),
            "{c:?}"
        );
    }
    for colour in &shirt.colours {
        let mut seen = [false; PARTICLES];
        for at in shirt.constraints[colour.clone()].iter().flat_map(|c| [c.a, c.b]) {
            assert!(!std::mem::replace(&mut seen[at as usize], true), "{at} in {colour:?}");
        }
    }
    assert!(shirt.reach[..COLUMNS].iter().all(|reach| *reach == 0.0));
    assert!(shirt.reach[COLUMNS..].iter().all(|reach| *reach > 0.0));
    // At rest no particle is beyond its reach.
    for ((rest, driver), reach) in shirt.rest.iter().zip(&shirt.drivers).zip(&shirt.reach).skip(COLUMNS) {
        let [x, y, z, _] = driver.position;
        let off = sub(*rest, [x, y, z]);
        assert!(dot(off, off).sqrt() < *reach, "{off:?} {reach}");
    }
}
