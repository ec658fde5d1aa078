//! Ladders that compute on plain memory: vector addition, matrices, reductions, type conversions, cloth.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod cloth;
mod counts;
pub mod histogram;
pub mod matmul;
pub mod reduction;
pub mod transpose;
pub mod type_conversions;
pub mod vector_add;

use ladder::BackEnd;
use ladder::contest::Ladder;
use ladder::rung::Rung;

/// Hands the ladders that filter no movies to the macro `$with`, a line for each: what it computes, its name in the code, that
/// in JSON, and the ladder.
#[macro_export]
macro_rules! each_ladder {
    ($with:ident) => {
        $with! {
            /// The sum of two arrays of floats
            VectorAdd, "vector_add", $crate::vector_add::VectorAdd;
            /// One conversion of OpenCL C checked in all widths: what the host's code is worth
            Conversions, "conversions", $crate::type_conversions::strategies::HostStrategies;
            /// The product of two matrices of floats
            Matmul, "matmul", $crate::matmul::Matmul;
            /// A matrix with rows and columns exchanged: three ways to give its numbers to work-items
            Transpose, "transpose", $crate::transpose::Transpose;
            /// Mean luminance of a picture's blocks, and sum, minimum, maximum, mean and product of all of it
            Reduction, "reduction", $crate::reduction::REDUCTION;
            /// How many pixels of a picture have each luminance
            Histogram, "histogram", $crate::histogram::HISTOGRAM;
            /// A walking army in shirts: skinning, and cloth that hangs on it
            Cloth, "cloth", $crate::cloth::Cloth;
        }
    };
}

/// A ladder that filters no movies, as whoever knows none of them meets it.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// As [`Ladder::NAME`].
    pub name: &'static str,
    /// What it computes, in a sentence.
    pub about: &'static str,
    /// The option of `clreel bench` that says a case.
    pub option: &'static str,
    /// As [`Ladder::SIZES`].
    pub sizes: &'static [&'static str],
    /// Its rungs in order.
    pub rungs: fn() -> Vec<ListedRung>,
}

/// A rung of one of them; its fields are those of [`Rung`].
#[derive(Debug, Clone, Copy)]
pub struct ListedRung {
    /// As [`Rung::id`].
    pub id: &'static str,
    /// As [`Rung::title`].
    pub title: &'static str,
    /// As [`Rung::idea`].
    pub idea: &'static str,
    /// What computes it.
    pub back_end: BackEnd,
}

fn rungs<L: Ladder>(ladder: &L) -> Vec<ListedRung> {
    let listed = |rung: &Rung<L::Code, L::Host>| {
        let &Rung { id, title, idea, .. } = rung;
        ListedRung { id, title, idea, back_end: rung.back_end() }
    };
    ladder.rungs().iter().map(listed).collect()
}

/// What there is to know of a ladder, with its rungs.
fn listed<L: Ladder>(_: &L, about: &'static str, rungs: fn() -> Vec<ListedRung>) -> Listed {
    let option = L::TAKES.first().copied().unwrap_or_default();
    Listed { name: L::NAME, about: about.trim(), option, sizes: L::SIZES, rungs }
}

macro_rules! list {
    ($($(#[doc = $about:literal])* $name:ident, $json:literal, $ladder:expr;)*) => {
        [$(listed(&$ladder, concat!($($about)*), || rungs(&$ladder))),*]
    };
}

/// All of them. Matrix multiplication stands first, the others as the command line lists them.
pub fn all() -> Vec<Listed> {
    let mut all = each_ladder!(list).to_vec();
    all.sort_by_key(|one| one.name != "matmul");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ladder_has_sizes_for_spare_time_and_rungs() {
        let all = all();
        assert_eq!(all[0].name, "matmul");
        assert!(all.len() >= 6);
        for one in all {
            assert!(one.sizes.len() >= 2 && !one.option.is_empty() && !one.about.is_empty(), "{one:?}");
            assert!((one.rungs)().len() > 3, "{one:?}");
        }
    }
}
