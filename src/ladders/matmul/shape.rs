//! A case of matrix multiplication. In: three sizes. Out: what there is to know of them: names, classes, amounts.

use serde_json::{Value, json};

/// The most rows or columns.
pub(crate) const MOST_SIDE: u32 = 65_535;
/// The most numbers of a matrix: kernels count them in 32 bits.
pub const MOST: u64 = 1 << 30;

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
    pub fn title(&self) -> String {
        let Self { m, n, k } = self;
        format!("{m}×{k} by {k}×{n}")
    }

    /// In JSON.
    pub fn json(&self) -> Value {
        let Self { m, n, k } = self;
        json!({ "m": m, "n": n, "k": k })
    }

    /// The shape of a [`json`](Shape::json), if it is one.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let size = |name: &str| json[name].as_u64().and_then(|size| u32::try_from(size).ok());
        Self::of([size("m")?, size("n")?, size("k")?]).ok()
    }

    /// The class in a word: thin ones by their shape, others by their size.
    pub fn class(&self) -> &'static str {
        if self.m.min(self.n) < 64 {
            return "thin";
        }
        match self.products() {
            // Up to about 512³, 1448³ and more.
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
    pub fn products(&self) -> u64 {
        u64::from(self.m) * u64::from(self.n) * u64::from(self.k)
    }
}
