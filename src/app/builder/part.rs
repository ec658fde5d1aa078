//! What the builder makes for a context.

use super::judging::{Judged, JudgedConversions};
use base::error::{Error, Result};
use base::verify::MismatchReport;
use box_filter::VariantId;
use box_filter::color_kernels::{ConvertProgram, Corrector};
use box_filter::opencl::BuiltVariant;
use box_filter::planar::PlanarFilter;
use engine::{Comparer, Scopes, TrialCase};
use opencl::machine_code::MachineCode;
use opencl::memory::Storage;
use video::color::Layout;

/// What was built for a context.
#[allow(clippy::large_enum_variant, reason = "it travels in a box")]
pub(crate) enum Part {
    /// This variant's kernels are changed: each way to run them is to be tried first.
    Changed(VariantId),
    /// What came of trying a variant in this way: how it differs, if it does.
    Tried(TrialCase, Result<Option<MismatchReport>>),
    /// What came of kernels that were changed while the movie runs.
    Judged(Judged),
    /// The same of conversions.
    JudgedConversions(JudgedConversions),
    /// What a device runs for a version of a variant, or why that is not known.
    MachineCode(u64, VariantId, Result<MachineCode>),
    /// A variant is ready.
    Variant(BuiltVariant),
    /// A variant on planes is ready.
    Planar(PlanarFilter),
    /// A variant cannot be built, and why: its build log.
    NoVariant(VariantId, Error),
    /// Planes of such a layout can be converted into pictures of this kind. With an error: by another program than so
    /// far, and why.
    Conversion(Box<(ConvertProgram, Layout, Storage, Option<Error>)>),
    /// They cannot, and why.
    NoConversion(Box<Layout>, Storage, Error),
    /// Colours of RGBA pictures can be corrected.
    Corrector(Box<Corrector>),
    /// They cannot, and why.
    NoCorrector(Error),
    /// What measures frames, or why nothing can.
    Scopes(Box<Result<Scopes>>),
    /// What compares pictures, or why nothing can.
    Comparer(Box<Result<Comparer>>),
}
