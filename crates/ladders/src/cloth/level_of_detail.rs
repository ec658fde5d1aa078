//! Meshes with fewer triangles, for distant figures and slow devices. The vertices stay the same.

use super::geometry::triangles;
use super::model::{Body, ROWS, SHIRT_MATERIAL, Shirt, VERTEX_COLUMNS};

/// A tube of the body: a grid of vertices with rows from top to bottom, each of which is closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tube {
    /// The index of the tube's first vertex.
    pub first: u32,
    /// The number of rows.
    pub rows: usize,
    /// The number of vertices in a row.
    pub columns: usize,
}

impl Body {
    /// Returns the triangles of a coarser body, which has every `rows`-th row of vertices, and every `columns`-th vertex in
    /// each of these rows. Rows where the material changes are kept.
    pub fn coarser_triangles(&self, rows: usize, columns: usize) -> Vec<u32> {
        let mut indices = Vec::new();
        for tube in &self.tubes {
            let vertex = |row: usize, column: usize| tube.first + (row * tube.columns + column) as u32;
            let material = |row: usize| self.vertices.get(vertex(row, 0) as usize).map(|v| v.uv[1].floor());
            let is_edge = |row: usize| {
                material(row) != material(row + 1) || row > 0 && material(row) != material(row - 1)
            };
            let kept = thinned_indices(rows, tube.rows, is_edge);
            let across: Vec<usize> = (0..tube.columns).step_by(columns.max(1)).collect();
            let at = |row: usize, column: usize| vertex(kept[row], across[column % across.len()]);
            indices.extend(triangles(kept.len(), across.len(), at));
        }
        indices
    }

    /// Divides triangles of the body into those of the sleeves, and all others. A triangle has the material of its last vertex.
    pub fn sleeves(&self, indices: &[u32]) -> [Vec<u32>; 2] {
        let is_sleeve = |triangle: &&[u32]| {
            let last = triangle.last().and_then(|v| self.vertices.get(*v as usize));
            last.is_some_and(|v| v.uv[1].floor() == SHIRT_MATERIAL)
        };
        let (sleeves, others): (Vec<_>, Vec<_>) = indices.chunks_exact(3).partition(is_sleeve);
        [sleeves.concat(), others.concat()]
    }
}

impl Shirt {
    /// Returns the triangles of a coarser shirt, which has every `each`-th row and column of vertices. The edges are kept.
    pub fn coarser_triangles(&self, each: usize) -> Vec<u32> {
        let [rows, columns] = [ROWS, VERTEX_COLUMNS].map(|count| thinned_indices(each, count, |_| false));
        let at = |row: usize, column: usize| (rows[row] * VERTEX_COLUMNS + columns[column]) as u32;
        triangles(rows.len(), columns.len() - 1, at).collect()
    }
}

/// Returns the first and the last index below `count`, every `each`-th index between them, and the indices for which `is_kept`
/// returns true.
fn thinned_indices(each: usize, count: usize, is_kept: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..count).filter(|at| at.is_multiple_of(each.max(1)) || at + 1 == count || is_kept(*at)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::model::Figure;
    use super::*;

    #[test]
    fn a_thinning_of_one_keeps_all_triangles_and_others_do_not_mix_sleeve_and_skin_and_keep_the_hem() {
        let Figure { body, shirt } = Figure::new();
        assert_eq!(
            (body.coarser_triangles(1, 1), shirt.coarser_triangles(1)),
            (body.indices.clone(), shirt.indices.clone())
        );
        assert!(body.coarser_triangles(4, 4).len() * 10 < body.indices.len());
        assert_eq!(shirt.coarser_triangles(4).len() * 16, shirt.indices.len());
        for (rows, columns) in [(2, 2), (3, 2), (3, 4), (100, 100), (0, 0)] {
            let thin = body.coarser_triangles(rows, columns);
            assert!(thin.iter().all(|v| body.indices.contains(v)), "{rows} {columns}");
        }
        let material = |v: &u32| body.vertices[*v as usize].uv[1].floor() as i32;
        let mixed = |indices: &[u32]| {
            let is_mixed = |t: &&[u32]| t.iter().any(|v| material(v) != material(&t[0]));
            indices.chunks_exact(3).filter(is_mixed).count()
        };
        // Triangles with several materials are only between the same two rows as before, where half as many triangles go round.
        assert_eq!(mixed(&body.coarser_triangles(3, 2)) * 2, mixed(&body.indices));
        let [sleeves, others] = body.sleeves(&body.indices);
        assert_eq!(sleeves.len() + others.len(), body.indices.len());
        let lowest = |indices: &[u32]| {
            let heights = indices.iter().map(|v| body.vertices[*v as usize].position[1]);
            heights.fold(f32::INFINITY, f32::min)
        };
        assert!(lowest(&sleeves) > 1.1 && lowest(&others) < 0.1, "{}", lowest(&sleeves));
        let end = ROWS * VERTEX_COLUMNS;
        let hem = (end - VERTEX_COLUMNS..end).step_by(4);
        let thin = shirt.coarser_triangles(4);
        assert!(hem.clone().count() > 8 && hem.into_iter().all(|v| thin.contains(&(v as u32))));
    }
}
