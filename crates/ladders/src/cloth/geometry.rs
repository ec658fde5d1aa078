//! Points and vectors, and affine transformations as matrices of three rows and four columns.

/// A point or vector: x, y and z in metres.
pub type Point = [f32; 3];
/// An affine transformation: three rows of four numbers, a rotation and a translation in the last column.
pub(super) type Matrix = [f32; 12];

/// Returns a + b.
pub fn add(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Returns a − b.
pub fn sub(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Returns the vector multiplied by the number `by`.
pub fn scale(a: Point, by: f32) -> Point {
    a.map(|x| x * by)
}

/// Returns the scalar product of two vectors.
pub fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the vector product of two vectors.
pub fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the vector scaled to length 1; the unit vector upward if its length is 0.
pub(super) fn normal_or_up(a: Point) -> Point {
    let length = dot(a, a).sqrt();
    if length > 1e-12 { scale(a, 1.0 / length) } else { [0.0, 1.0, 0.0] }
}

pub(super) fn apply(m: &Matrix, p: Point) -> Point {
    [0, 4, 8].map(|row| m[row] * p[0] + m[row + 1] * p[1] + m[row + 2] * p[2] + m[row + 3])
}

/// Returns the matrix that applies `inner` first and then `outer`.
pub(super) fn compose(outer: &Matrix, inner: &Matrix) -> Matrix {
    std::array::from_fn(|at| {
        let (row, column) = (at / 4 * 4, at % 4);
        let sum: f32 = (0..3).map(|k| outer[row + k] * inner[4 * k + column]).sum();
        sum + if column == 3 { outer[row + 3] } else { 0.0 }
    })
}

/// Returns a rotation about the point `joint`: first about z, then y, then x, in radians.
pub(super) fn rotation_about(joint: Point, [x, y, z]: Point) -> Matrix {
    let ((sx, cx), (sy, cy), (sz, cz)) = (x.sin_cos(), y.sin_cos(), z.sin_cos());
    let turn_x = [1.0, 0.0, 0.0, 0.0, 0.0, cx, -sx, 0.0, 0.0, sx, cx, 0.0];
    let turn_y = [cy, 0.0, sy, 0.0, 0.0, 1.0, 0.0, 0.0, -sy, 0.0, cy, 0.0];
    let turn_z = [cz, -sz, 0.0, 0.0, sz, cz, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut all = compose(&turn_x, &compose(&turn_y, &turn_z));
    let moved = sub(joint, apply(&all, joint));
    for (row, moved) in [3, 7, 11].into_iter().zip(moved) {
        all[row] = moved;
    }
    all
}

/// Returns the triangles of a grid whose rows go downward and whose columns go to the right, counter-clockwise seen from
/// outside. `at` returns the index of the vertex in a row and a column; it is called for columns 0 to `columns` inclusive.
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
