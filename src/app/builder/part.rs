//! The parts that the builder sends to the window: programs for a context, results of validations, and errors.

use super::judging::{BuiltFilter, JudgedConversions, JudgedVariant};
use base::error::{Error, Result};
use base::verify::MismatchReport;
use box_filter::VariantId;
use box_filter::color_kernels::{ConvertProgram, Corrector};
use engine::{Comparer, Scopes, TrialCase};
use opencl::machine_code::MachineCode;
use opencl::memory::Storage;
use video::color::Layout;

/// A result of the builder for one context: a program, a validation's result, or an error.
#[allow(clippy::large_enum_variant, reason = "it travels in a box")]
pub(crate) enum Part {
    /// A variant whose kernels are edited: each case must be validated before its first use.
    Changed(VariantId),
    /// A validated case of a variant: how its output differs from the reference, if it does, or why the case failed.
    Tried(TrialCase, Result<Option<MismatchReport>>),
    /// The verdict on a variant's edited kernels, with the built variant.
    Judged(JudgedVariant),
    /// The verdict on edited conversions, with the built programs.
    JudgedConversions(JudgedConversions),
    /// The machine code of a variant, or why there is none; the number is the version of the edited kernels.
    MachineCode(u64, VariantId, Result<MachineCode>),
    /// A variant, with its programs.
    Filter(BuiltFilter),
    /// A variant that cannot be built, with its build log.
    NoVariant(VariantId, Error),
    /// A built conversion, its layout and kind of memory; with an error to report if it replaces a wrong conversion.
    Conversion(Box<(ConvertProgram, Layout, Storage, Option<Error>)>),
    /// The layout and kind of memory of a conversion that cannot be used, and why.
    NoConversion(Box<Layout>, Storage, Error),
    /// The built colour correction.
    Corrector(Box<Corrector>),
    /// The reason why there is no colour correction.
    NoCorrector(Error),
    /// The built scopes, whose kernels measure pictures, or why there are none.
    Scopes(Box<Result<Scopes>>),
    /// The built comparison of pictures, or why there is none.
    Comparer(Box<Result<Comparer>>),
}
