//! Generates a shirt: particles with their drivers, constraints and triangles.
//!
//! The shirt has folds: at rest it lies on the body in some places, and is off the body between them. The constraints take
//! their lengths from this shape, so that the folds stay, and walking, twisting and weight move them.

use std::f32::consts::TAU;
use std::ops::Range;

use super::geometry::{Point, add, normal_or_up, scale, sub, triangles};
use super::model::{
    BodyVertex, COLUMNS, Constraint, ROWS, Shirt, VERTEX_COLUMNS, torso_bones, torso_point, torso_profile,
    vertex,
};

/// The stiffness of three kinds of constraints: between neighbours, along diagonals, and between particles two rows or columns
/// apart.
const STIFFNESS: [f32; 3] = [1.0, 0.6, 0.25];
/// The part of a constraint's error by which the upper one of two particles in different rows is moved; it is less than one
/// half, because each row bears the rows below it. With one half, the few passes over the constraints let the weight stretch
/// the shirt by a fifth, which smoothed all folds.
const UPPER_SHARE: f32 = 0.35;
/// The waves around the torso whose sum forms the folds: waves per turn, phase, turns from collar to hem, and weight. The
/// shortest wave is six columns long. Their phases differ everywhere, so that no fold is like another.
const WAVES: [[f32; 4]; 3] = [[5.0, 0.1, 0.6, 0.6], [7.0, 0.35, -0.7, 0.6], [3.0, 0.7, 0.5, 0.2]];
/// The position where folds begin, as a part of the way from the collar to the hem.
const FOLDS_BEGIN: f32 = 0.06;
/// The height of folds in metres where they begin, and how much higher they are at the hem.
const FOLD_HEIGHT: [f32; 2] = [0.013, 0.024];
/// The smallest distance of the shirt at rest from the body, in metres.
const MIN_OFFSET: f32 = 0.006;

/// Returns the distance of the shirt at rest from the body in metres. `turn` is the position around the torso, `part` the part
/// of the way from the collar to the hem.
fn rest_offset(turn: f32, part: f32) -> f32 {
    let wave = |[count, begin, round, weight]: [f32; 4]| {
        weight * (TAU * (count * turn + begin + round * part)).sin()
    };
    let below = ((part - FOLDS_BEGIN) / (1.0 - FOLDS_BEGIN)).max(0.0);
    let high = FOLD_HEIGHT[0] * (4.0 * below).min(1.0) + FOLD_HEIGHT[1] * below;
    // The shirt is wider toward the hem.
    let off = 0.010 + 0.010 * part * part + high * (1.0 + WAVES.into_iter().map(wave).sum::<f32>());
    off.max(MIN_OFFSET)
}

/// Generates the shirt, which is the same each time.
pub(super) fn new() -> Shirt {
    let grid = || (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)));
    let part = |row: usize| row as f32 / (ROWS - 1) as f32;
    let turn = |column: usize| column as f32 / COLUMNS as f32;
    let outward = |column: usize, [_, width, depth]: [f32; 3]| {
        let [x, _, z] = torso_point(turn(column), [0.0, depth, width]);
        normal_or_up([x, 0.0, z])
    };
    let at_rest = |(row, column): (usize, usize)| {
        let shape = torso_profile(part(row));
        add(
            torso_point(turn(column), shape),
            scale(outward(column, shape), rest_offset(turn(column), part(row))),
        )
    };
    let driver = |(row, column): (usize, usize)| {
        let shape = torso_profile(part(row));
        let point = torso_point(turn(column), shape);
        let [x, y, z] = outward(column, shape);
        let uv = [turn(column), part(row)];
        BodyVertex { normal: [x, y, z, 0.0], ..vertex(point, torso_bones(point), uv) }
    };
    let rest: Vec<Point> = grid().map(at_rest).collect();
    let reach = |(row, _): (usize, usize)| if row == 0 { 0.0 } else { 0.040 + 0.214 * part(row) * part(row) };
    let reach: Vec<f32> = grid().map(reach).collect();
    let (constraints, colours) = constraints(&rest, &reach);
    let vertices = || (0..ROWS).flat_map(|row| (0..VERTEX_COLUMNS).map(move |column| (row, column)));
    let at = |row: usize, column: usize| (row * VERTEX_COLUMNS + column) as u32;
    Shirt {
        drivers: grid().map(driver).collect(),
        uv: vertices().map(|(row, column)| [turn(column), part(row)]).collect(),
        indices: triangles(ROWS, COLUMNS, at).collect(),
        rest,
        reach,
        constraints,
        colours,
    }
}

/// Creates all constraints, ordered by colour; also returns the range of each colour. Each constraint gets the first colour
/// that no other constraint of its two particles has, so that constraints of one colour share no particle.
fn constraints(rest: &[Point], reach: &[f32]) -> (Vec<Constraint>, Vec<Range<usize>>) {
    /// The neighbours of a particle with which it has constraints: the distance in rows and in columns, and an index in
    /// [`STIFFNESS`].
    const NEIGHBOURS: [(usize, isize, usize); 6] =
        [(0, 1, 0), (1, 0, 0), (1, 1, 1), (1, -1, 1), (0, 2, 2), (2, 0, 2)];
    let mut used = vec![0_u64; rest.len()];
    let mut by_colour: Vec<Vec<Constraint>> = Vec::new();
    for (down, along, kind) in NEIGHBOURS {
        for (row, column) in (0..ROWS - down).flat_map(|row| (0..COLUMNS).map(move |column| (row, column))) {
            let other = (column + COLUMNS).wrapping_add_signed(along) % COLUMNS;
            let [a, b] = [row * COLUMNS + column, (row + down) * COLUMNS + other];
            let upper = if down > 0 { UPPER_SHARE } else { 0.5 };
            let [part_a, part_b] =
                [(a, upper), (b, 1.0 - upper)].map(|(at, part)| if reach[at] > 0.0 { part } else { 0.0 });
            if part_a + part_b == 0.0 {
                continue;
            }
            let colour = (used[a] | used[b]).trailing_ones() as usize;
            used[a] |= 1 << colour;
            used[b] |= 1 << colour;
            let [x, y, z] = sub(rest[b], rest[a]);
            let shares = [part_a, part_b].map(|part| STIFFNESS[kind] * part / (part_a + part_b));
            let rest = (x * x + y * y + z * z).sqrt();
            by_colour.resize_with(by_colour.len().max(colour + 1), Vec::new);
            by_colour[colour].push(Constraint { a: a as u32, b: b as u32, rest, shares });
        }
    }
    let mut end = 0;
    let colours = by_colour.iter().map(|of| {
        end += of.len();
        end - of.len()..end
    });
    let colours = colours.collect();
    (by_colour.into_iter().flatten().collect(), colours)
}

#[cfg(test)]
#[path = "shirt_tests.rs"]
mod tests;
