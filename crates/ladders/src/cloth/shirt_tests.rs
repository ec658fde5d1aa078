//! Tests of the properties of the folds.

use super::*;
use crate::cloth::chain::Chain;
use crate::cloth::geometry::dot;

/// Returns by how much the normals along a row turn back and forth, in turns, beyond the one turn around the torso.
fn folded(vertices: &[f32], row: usize) -> f32 {
    let normal = |column: usize| -> Point {
        let at = 8 * (row * VERTEX_COLUMNS + column);
        normal_or_up([vertices[at + 3], 0.0, vertices[at + 5]])
    };
    let angle = |column: usize| dot(normal(column), normal(column + 1)).clamp(-1.0, 1.0).acos();
    (0..COLUMNS).map(angle).sum::<f32>() / TAU - 1.0
}

#[test]
fn a_walking_figure_has_folds_from_chest_to_hem() {
    let mut chain = Chain::new(1, None).unwrap();
    let mut sums = [0.0; FOLDED.len()];
    for frame in 0..240 {
        chain.step(1.0 / 60.0, None).unwrap();
        let vertices = chain.vertices().unwrap();
        // The simulation begins at rest.
        if frame >= 180 {
            FOLDED.iter().zip(&mut sums).for_each(|((row, _), sum)| *sum += folded(vertices, *row) / 60.0);
        }
    }
    println!("by the mean of a second the rows of {FOLDED:?} turn to and fro by {sums:.2?}");
    assert!(sums.iter().zip(FOLDED).all(|(sum, (_, least))| *sum > least), "{sums:?}");
}

/// Rows at chest, waist and hem, each with the number of turns by which their normals turn back and forth at least.
const FOLDED: [(usize, f32); 3] = [(7, 0.5), (14, 0.4), (ROWS - 1, 1.0)];

#[test]
fn folds_lie_outside_the_body_and_are_wide_enough_for_the_columns() {
    for part in [0.0, 0.2, 0.5, 0.8, 1.0] {
        let off: Vec<f32> = (0..COLUMNS).map(|at| rest_offset(at as f32 / COLUMNS as f32, part)).collect();
        assert!(off.iter().all(|off| (MIN_OFFSET..0.12).contains(off)), "{part}: {off:?}");
        let neighbour = |at: usize, by: usize| off[(at + by) % COLUMNS];
        let is_top = |at: &usize| off[*at] > neighbour(*at, COLUMNS - 1) && off[*at] >= neighbour(*at, 1);
        let tops: Vec<usize> = (0..COLUMNS).filter(is_top).collect();
        assert!(tops.is_empty() == (part == 0.0), "{part}: {tops:?}");
        assert!(tops.windows(2).all(|pair| pair[1] - pair[0] >= 4), "{part}: {tops:?}");
    }
}
