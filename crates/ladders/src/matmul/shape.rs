//! A case of matrix multiplication: the sizes of the matrices, and the numbers computed from them. Also the parameters of its
//! kernel files, from which both their launches and their work are computed.

use compute::plan;
use serde::{Deserialize, Serialize};

/// The maximum number of rows or columns of the product.
pub(crate) const MAX_SIDE: u32 = 65_535;
/// The maximum number of elements of a matrix. Kernels count in 32 bits.
pub(crate) const MAX_NUMBERS: u64 = 1 << 30;

/// A kernel file of matrix multiplication.
pub(super) type Code = plan::Code<Shape>;
/// A configuration of a kernel file: a value for each of its parameters.
pub(super) type Config = compute::config::Config<Code>;

/// The sizes of a matrix product: an `m`×`k` matrix is multiplied with a `k`×`n` matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The number of rows of the left matrix and of the product.
    pub m: u32,
    /// The number of columns of the right matrix and of the product.
    pub n: u32,
    /// The number of columns of the left matrix and of rows of the right one.
    pub k: u32,
}

impl Shape {
    /// Creates a shape from `m`, `n` and `k`.
    ///
    /// # Errors
    /// Returns a sentence for the user if a size is not allowed.
    pub fn new([m, n, k]: [u32; 3]) -> Result<Self, String> {
        let shape = Self { m, n, k };
        let fits = [shape.left_len(), shape.right_len(), shape.product_len()]
            .into_iter()
            .all(|count| count as u64 <= MAX_NUMBERS);
        if [m, n].iter().all(|side| (1..=MAX_SIDE).contains(side)) && fits {
            return Ok(shape);
        }
        Err(format!(
            "{m},{n},{k} is no --mnk of matmul: choose M and N from 1 to {MAX_SIDE}, K from 0 on, and no matrix of more than {MAX_NUMBERS} numbers"
        ))
    }

    /// Returns the sizes as text, such as "2048×1023 by 1023×4096".
    pub(crate) fn title(&self) -> String {
        let Self { m, n, k } = self;
        format!("{m}×{k} by {k}×{n}")
    }

    /// Returns the name of the group of shapes that share a tuned configuration. Products with fewer than 64 rows or columns
    /// are "thin", regardless of `k`; the group of other products depends on the number of multiplications.
    pub(crate) fn class(&self) -> &'static str {
        if self.m.min(self.n) < 64 {
            return "thin";
        }
        match self.multiplications() {
            // Up to about 586³, up to 1448³, and more.
            0..=0x0c00_0000 => "small",
            0x0c00_0001..=0xb500_0000 => "medium",
            _ => "large",
        }
    }

    /// Returns the number of elements of the left matrix.
    pub fn left_len(&self) -> usize {
        self.m as usize * self.k as usize
    }

    /// Returns the number of elements of the right matrix.
    pub fn right_len(&self) -> usize {
        self.k as usize * self.n as usize
    }

    /// Returns the number of elements of the product.
    pub fn product_len(&self) -> usize {
        self.m as usize * self.n as usize
    }

    pub(crate) fn multiplications(&self) -> u64 {
        u64::from(self.m) * u64::from(self.n) * u64::from(self.k)
    }

    /// Returns smaller shapes, in rising order, whose times predict the time of this shape; empty if this shape is too small
    /// for that.
    pub(super) fn smaller(&self) -> Vec<Self> {
        // Squares have matrices of 256 KiB, 1 MiB and 4 MiB: the last ones fit into few caches.
        let smaller = [1 << 24, 1 << 27, 1 << 30].map(|products| self.halved(products));
        smaller.into_iter().filter(|small| small.multiplications() < self.multiplications() / 4).collect()
    }

    /// Returns this shape with its longest size halved until no more than `products` multiplications are left; `products` is at
    /// least 1.
    fn halved(mut self, products: u64) -> Self {
        while self.multiplications() > products {
            let Self { m, n, k } = &mut self;
            // Of equal sizes, the last one in this list.
            if let Some(longest) = [k, n, m].into_iter().max() {
                *longest = longest.div_ceil(2);
            }
        }
        self
    }
}

/// Returns a parameter's value, at least 1.
pub(super) fn value(config: &Config, name: &str) -> usize {
    config.get(name).max(1) as usize
}

/// Returns the number of rows in a panel of the left matrix.
pub(super) fn panel_rows(config: &Config) -> usize {
    value(config, "ROWS")
}

/// Returns the number of columns in a panel of the right matrix.
pub(super) fn panel_columns(config: &Config) -> usize {
    value(config, "VECTORS") * value(config, "WIDTH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_shapes_are_halved_along_the_longest_side_and_small_ones_have_no_smaller_ones() {
        let three: &[_] = &[[256; 3], [512; 3], [1024; 3]];
        for (mnk, want) in [
            ([2048; 3], three),
            ([4096; 3], three),
            // None of its own size; eight times as much is worth a look before.
            ([1024; 3], &three[..2]),
            ([512; 3], &three[..1]),
            ([4096, 4096, 64], &[[512, 512, 64], [1024, 2048, 64]]),
            ([16, 4096, 65_536], &[[16, 1024, 1024], [16, 2048, 4096]]),
            ([1, 65_535, 16_384], &[[1, 4096, 4096], [1, 8192, 16_384]]),
            ([1, 1, 1 << 30], &[[1, 1, 1 << 24], [1, 1, 1 << 27]]),
            ([1, 1, 0], &[]),
            ([65_535, 16_384, 0], &[]),
            ([1, 1, 1], &[]),
            ([3, 5, 7], &[]),
            ([256; 3], &[]),
            ([400; 3], &[]),
        ] {
            let smaller = Shape::new(mnk).unwrap().smaller().into_iter();
            assert_eq!(smaller.map(|Shape { m, n, k }| [m, n, k]).collect::<Vec<_>>(), want, "{mnk:?}");
        }
    }

    #[test]
    fn odd_shapes_never_grow_nor_become_empty() {
        for mnk in [[2047, 1023, 4095], [65_535, 16_384, 3], [3, 16_383, 65_535], [5000, 1, 200_000]] {
            let shape = Shape::new(mnk).unwrap();
            let all: Vec<Shape> = shape.smaller().into_iter().chain([shape]).collect();
            assert!(all.len() > 2, "{mnk:?}: {all:?}");
            for pair in all.windows(2) {
                let [small, large] = pair else { unreachable!() };
                assert!(small.multiplications() < large.multiplications(), "{mnk:?}: {all:?}");
                assert!(small.m <= large.m && small.n <= large.n && small.k <= large.k, "{mnk:?}: {all:?}");
                assert!(small.m > 0 && small.n > 0 && small.k > 0, "{mnk:?}: {all:?}");
                assert!(Shape::new([small.m, small.n, small.k]).is_ok(), "{mnk:?}: {all:?}");
            }
        }
    }

    #[test]
    fn classes_depend_on_the_sides_and_then_on_the_multiplications() {
        for (mnk, class) in [
            ([63, 4096, 4096], "thin"),
            ([4096, 63, 1], "thin"),
            ([64, 64, 0], "small"),
            ([586; 3], "small"),
            ([587; 3], "medium"),
            ([4096, 4096, 64], "medium"),
            ([1448; 3], "medium"),
            ([1449; 3], "large"),
        ] {
            assert_eq!(Shape::new(mnk).unwrap().class(), class, "{mnk:?}");
        }
    }
}
