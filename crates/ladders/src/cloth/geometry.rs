//! Points, and matrices of three rows and four columns that move them. In: numbers. Out: numbers.

/// x, y, z in metres.
pub(super) type Point = [f32; 3];
/// Rows of four: what turns a point, and last what moves it.
pub(super) type Matrix = [f32; 12];

pub(super) fn add(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn sub(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn scale(a: Point, by: f32) -> Point {
    a.map(|x| x * by)
}

pub(super) fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The same direction with length 1; upward where there is none.
pub(super) fn normal_or_up(a: Point) -> Point {
    let length = dot(a, a).sqrt();
    if length > 1e-12 { scale(a, 1.0 / length) } else { [0.0, 1.0, 0.0] }
}

/// Where a matrix brings a point.
pub(super) fn apply(m: &Matrix, p: Point) -> Point {
    [0, 4, 8].map(|row| m[row] * p[0] + m[row + 1] * p[1] + m[row + 2] * p[2] + m[row + 3])
}

/// The matrix that does `inner` first.
pub(super) fn then(outer: &Matrix, inner: &Matrix) -> Matrix {
    std::array::from_fn(|at| {
        let (row, column) = (at / 4 * 4, at % 4);
        let sum: f32 = (0..3).map(|k| outer[row + k] * inner[4 * k + column]).sum();
        sum + if column == 3 { outer[row + 3] } else { 0.0 }
    })
}

/// Turns about a point: about z first, then about y, then about x, by radians.
pub(super) fn about(joint: Point, [x, y, z]: Point) -> Matrix {
    let ((sx, cx), (sy, cy), (sz, cz)) = (x.sin_cos(), y.sin_cos(), z.sin_cos());
    let turn_x = [1.0, 0.0, 0.0, 0.0, 0.0, cx, -sx, 0.0, 0.0, sx, cx, 0.0];
    let turn_y = [cy, 0.0, sy, 0.0, 0.0, 1.0, 0.0, 0.0, -sy, 0.0, cy, 0.0];
    let turn_z = [cz, -sz, 0.0, 0.0, sz, cz, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut all = then(&turn_x, &then(&turn_y, &turn_z));
    let moved = sub(joint, apply(&all, joint));
    for (row, moved) in [3, 7, 11].into_iter().zip(moved) {
        all[row] = moved;
    }
    all
}

/// Triangles of a grid whose rows go downward and whose columns go round to the right, counter-clockwise seen from outside;
/// `at` numbers the vertices, up to column `columns`.
pub(super) fn triangles(
    rows: usize,
    columns: usize,
    at: impl Fn(usize, usize) -> u32,
) -> impl Iterator<Item = u32> {
    let cells = (0..rows - 1).flat_map(move |row| (0..columns).map(move |column| (row, column)));
    cells.flat_map(move |(row, column)| {
        let [a, b] = [at(row, column), at(row, column + 1)];
        let [d, e] = [at(row + 1, column), at(row + 1, column + 1)];
        [a, d, b, b, d, e]
    })
}
