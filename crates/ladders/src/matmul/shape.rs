//! A case of matrix multiplication. In: three sizes. Out: what there is to know of them: names, classes, amounts.

use serde_json::{Value, json};

/// The most rows or columns.
pub(crate) const MOST_SIDE: u32 = 65_535;
/// The most numbers of a matrix: kernels count them in 32 bits.
pub(crate) const MOST: u64 = 1 << 30;

/// A matrix of `m`×`k` by one of `k`×`n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the left matrix and of the product.
    pub m: u32,
    /// Columns of the right matrix and of the product.
    pub n: u32,
    /// Columns of the left matrix and rows of the right one.
    pub k: u32,
}

impl Shape {
    /// The shape of `m`, `n`, `k`.
    ///
    /// # Errors
    /// A sentence for the user, where there is no such case.
    pub fn of([m, n, k]: [u32; 3]) -> Result<Self, String> {
        let shape = Self { m, n, k };
        let fits =
            [shape.left(), shape.right(), shape.product()].into_iter().all(|count| count as u64 <= MOST);
        if [m, n].iter().all(|side| (1..=MOST_SIDE).contains(side)) && fits {
            return Ok(shape);
        }
        Err(format!(
            "{m},{n},{k} is no --mnk of matmul: choose M and N from 1 to {MOST_SIDE}, K from 0 on, and no matrix of more than {MOST} numbers"
        ))
    }

    /// As in "2048×1023 by 1023×4096".
    pub(crate) fn title(&self) -> String {
        let Self { m, n, k } = self;
        format!("{m}×{k} by {k}×{n}")
    }

    /// In JSON.
    pub(crate) fn json(&self) -> Value {
        let Self { m, n, k } = self;
        json!({ "m": m, "n": n, "k": k })
    }

    /// The shape of a [`json`](Shape::json), if it is one.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let size = |name: &str| json[name].as_u64().and_then(|size| u32::try_from(size).ok());
        Self::of([size("m")?, size("n")?, size("k")?]).ok()
    }

    /// The class in a word: thin ones are those whose product has fewer than 64 rows or columns, whatever `k` is; others go by
    /// how many products they take.
    pub(crate) fn class(&self) -> &'static str {
        if self.m.min(self.n) < 64 {
            return "thin";
        }
        match self.products() {
            // Up to about 586³, 1448³ and more.
            0..=0x0c00_0000 => "small",
            0x0c00_0001..=0xb500_0000 => "medium",
            _ => "large",
        }
    }

    /// Numbers of the left matrix.
    pub fn left(&self) -> usize {
        self.m as usize * self.k as usize
    }

    /// Numbers of the right matrix.
    pub fn right(&self) -> usize {
        self.k as usize * self.n as usize
    }

    /// Numbers of the product.
    pub fn product(&self) -> usize {
        self.m as usize * self.n as usize
    }

    /// Products of two numbers that are added.
    pub(crate) fn products(&self) -> u64 {
        u64::from(self.m) * u64::from(self.n) * u64::from(self.k)
    }

    /// Shapes by which it is predicted how long this one takes, rising; none where it has few products itself.
    pub(super) fn smaller(&self) -> Vec<Self> {
        // Squares have matrices of 256 KiB, 1 and 4 MiB: the last ones fit into few caches.
        let smaller = [1 << 24, 1 << 27, 1 << 30].map(|products| self.halved(products));
        smaller.into_iter().filter(|small| small.products() < self.products() / 4).collect()
    }

    /// The same, half as long where it is longest, until there are no more than so many products; `products` is at least 1.
    fn halved(mut self, products: u64) -> Self {
        while self.products() > products {
            let Self { m, n, k } = &mut self;
            let longest = if m >= n && m >= k {
                m
            } else if n >= k {
                n
            } else {
                k
            };
            *longest = longest.div_ceil(2);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smaller(mnk: [u32; 3]) -> Vec<[u32; 3]> {
        Shape::of(mnk).unwrap().smaller().into_iter().map(|Shape { m, n, k }| [m, n, k]).collect()
    }

    #[test]
    fn large_squares_are_predicted_by_three_smaller_ones() {
        let three = [[256; 3], [512; 3], [1024; 3]];
        assert_eq!(smaller([2048; 3]), three);
        assert_eq!(smaller([4096; 3]), three);
        assert_eq!(smaller([1024; 3]), three[..2], "none of its own size");
    }

    #[test]
    fn long_and_thin_ones_are_halved_where_they_are_longest() {
        assert_eq!(smaller([4096, 4096, 64]), [[512, 512, 64], [1024, 2048, 64]]);
        assert_eq!(smaller([16, 4096, 65_536]), [[16, 1024, 1024], [16, 2048, 4096]]);
        assert_eq!(smaller([1, 65_535, 16_384]), [[1, 4096, 4096], [1, 8192, 16_384]]);
        assert_eq!(smaller([1, 1, 1 << 30]), [[1, 1, 1 << 24], [1, 1, 1 << 27]]);
    }

    #[test]
    fn odd_ones_never_grow_nor_lose_a_side() {
        for mnk in [[2047, 1023, 4095], [65_535, 16_384, 3], [3, 16_383, 65_535], [5000, 1, 200_000]] {
            let shape = Shape::of(mnk).unwrap();
            let all: Vec<Shape> = shape.smaller().into_iter().chain([shape]).collect();
            assert!(all.len() > 2, "{mnk:?}: {all:?}");
            for pair in all.windows(2) {
                let [small, large] = pair else { unreachable!() };
                assert!(small.products() < large.products(), "{mnk:?}: {all:?}");
                assert!(small.m <= large.m && small.n <= large.n && small.k <= large.k, "{mnk:?}: {all:?}");
                assert!(small.m > 0 && small.n > 0 && small.k > 0, "{mnk:?}: {all:?}");
                assert!(Shape::of([small.m, small.n, small.k]).is_ok(), "{mnk:?}: {all:?}");
            }
        }
    }

    #[test]
    fn small_and_empty_ones_are_tried_themselves() {
        for mnk in [[1, 1, 0], [65_535, 16_384, 0], [1, 1, 1], [3, 5, 7], [256; 3], [400; 3]] {
            assert_eq!(smaller(mnk), [[0; 3]; 0], "{mnk:?}");
        }
        assert_eq!(smaller([512; 3]), [[256; 3]], "eight times as much is worth a look before");
    }

    #[test]
    fn classes_go_by_the_product_s_sides_and_then_by_the_amount() {
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
            assert_eq!(Shape::of(mnk).unwrap().class(), class, "{mnk:?}");
        }
    }
}
