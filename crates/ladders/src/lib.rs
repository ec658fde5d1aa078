//! All ladders: the box filter, vector addition, transposition, matrix multiplication, reduction, histogram, type conversions and
//! cloth; and the benchmark of the conversion from YUV to RGBA.

#![warn(missing_docs, unreachable_pub)]
// The docs are generated for all items (`./dev check`).
#![allow(rustdoc::private_intra_doc_links)]

pub mod box_filter;
pub mod cloth;
pub mod histogram;
pub mod matmul;
pub mod peaks;
pub mod reduction;
pub mod transpose;
pub mod type_conversions;
pub mod vector_add;
pub mod yuv_to_rgba;

use base::device::DeviceKind;
use compute::BackEnd;
use compute::config::{Config, Tunable as _};
use compute::variant::Variant;
use ladder::runner::{Ladder, LadderInfo};

/// Calls the macro `$with` with all ladders of this crate, a line for each: a doc comment with what it computes, its name in
/// code, its name in JSON, and the ladder.
#[macro_export]
macro_rules! each_ladder {
    ($with:ident) => {
        $with! {
            /// The sum of two arrays of floats
            VectorAdd, "vector_add", $crate::vector_add::VECTOR_ADD;
            /// One type conversion of OpenCL C in all vector widths, run by several strategies on the host
            Conversions, "conversions", $crate::type_conversions::strategies::HostStrategies;
            /// The product of two matrices of floats
            Matmul, "matmul", $crate::matmul::MATMUL;
            /// A transposed matrix: three ways to assign its elements to work-items
            Transpose, "transpose", $crate::transpose::TRANSPOSE;
            /// Mean luminance of a picture's blocks; sum, minimum, maximum, mean and product of the picture
            Reduction, "reduction", $crate::reduction::REDUCTION;
            /// The histogram of a picture's luminance
            Histogram, "histogram", $crate::histogram::HISTOGRAM;
            /// Walking figures in shirts: skinning and cloth simulation
            Cloth, "cloth", $crate::cloth::Cloth;
        }
    };
}

/// A summary of a ladder, independent of the ladder's types.
#[derive(Debug, Clone, Copy)]
pub struct LadderSummary {
    /// The name of the ladder, as in [`LadderInfo::name`](ladder::runner::LadderInfo::name).
    pub name: &'static str,
    /// A sentence on what the ladder computes.
    pub about: &'static str,
    /// The option of `clreel bench` that selects a case, such as a size.
    pub option: &'static str,
    /// The values of `option` that clreel's window offers, as in [`LadderInfo::sizes`](ladder::runner::LadderInfo::sizes).
    pub sizes: &'static [&'static str],
    /// The function that returns the ladder's variants in order.
    pub variants: fn() -> Vec<VariantSummary>,
}

/// A summary of a variant, as in [`Variant`].
#[derive(Debug, Clone)]
pub struct VariantSummary {
    /// The id of the variant, as in [`Variant::id`].
    pub id: &'static str,
    /// The title of the variant, as in [`Variant::title`].
    pub title: &'static str,
    /// The idea of the variant, as in [`Variant::idea`].
    pub idea: &'static str,
    /// The technology with which the variant computes, such as OpenCL.
    pub back_end: BackEnd,
    /// The kernel files for CPU devices and for all others, each with its default parameters, such as `WIDTH=4 GROUP=64`;
    /// `None` for variants without kernels of their own.
    pub kernels: [Option<(&'static str, String)>; 2],
}

/// Returns summaries of a ladder's variants.
fn variants<L: Ladder>(ladder: &L) -> Vec<VariantSummary> {
    let summary = |variant: &Variant<L::Code, L::Host>| {
        let &Variant { id, title, idea, .. } = variant;
        let kernels = [DeviceKind::Cpu, DeviceKind::Gpu].map(|kind| {
            let code = variant.code(kind)?;
            Some((code.file(), Config::new(code, kind).to_string()))
        });
        VariantSummary { id, title, idea, back_end: variant.back_end(), kernels }
    };
    ladder.variants().iter().map(summary).collect()
}

fn summary<L: Ladder>(
    ladder: &L,
    about: &'static str,
    variants: fn() -> Vec<VariantSummary>,
) -> LadderSummary {
    let &LadderInfo { name, options, sizes, .. } = ladder.info();
    let option = options.first().copied().unwrap_or_default();
    LadderSummary { name, about: about.trim(), option, sizes, variants }
}

/// Creates an array with a summary of each ladder in the list of [`each_ladder`].
macro_rules! list {
    ($($(#[doc = $about:literal])* $name:ident, $json:literal, $ladder:expr;)*) => {
        [$(summary(&$ladder, concat!($($about)*), || variants(&$ladder))),*]
    };
}

/// Returns all ladders of this crate: matrix multiplication first, then the others in the order of the command line.
pub fn all() -> Vec<LadderSummary> {
    let mut all = each_ladder!(list).to_vec();
    all.sort_by_key(|one| one.name != "matmul");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ladder_has_sizes_and_variants() {
        let all = all();
        assert_eq!(all[0].name, "matmul");
        assert!(all.len() >= 6);
        for one in all {
            assert!(one.sizes.len() >= 2 && !one.option.is_empty() && !one.about.is_empty(), "{one:?}");
            assert!((one.variants)().len() > 3, "{one:?}");
        }
    }
}
