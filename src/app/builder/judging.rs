//! Validation of edited kernels ("judging"): they run in a child process, on the frame on the screen and on test pictures.
//! Kernels that terminate and stay inside their memory are built for the window, also where their output differs from the
//! reference.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use base::error::{Error, Result};
use base::memory::{picture_memory, zeroed};
use base::timing::log::{self, Event};
use base::verify::MismatchReport;
use box_filter::VariantId;
use box_filter::color_kernels::{ConvertProgram, Converter};
use box_filter::color_test_pictures;
use box_filter::machine_code::PictureInfo;
use box_filter::opencl::BuiltVariant;
use box_filter::planar::{PlanarFilter, planar_quick};
use box_filter::trial::{Case, LaunchMode, Target, TrialReport, Trials};
use engine::TrialCase;
use opencl::cl::ClContext;
use opencl::memory::Storage;
use opencl::program::CompiledProgram;
use opencl::sources::Sources;
use overlay::Verdict;
use video::Frame;
use video::color::planes::pack;
use video::color::{Layout, RgbaConverter};

/// A request to validate and build one version of the edited kernels.
pub(crate) struct JudgeRequest {
    /// The number of the version of the edited kernels.
    pub version: u64,
    pub sources: Sources,
    /// The variants whose kernels the version changes, in the order in which they are validated.
    pub variants: Vec<VariantId>,
    /// The conversions whose kernels the version changes: for each, the layout of the frame's planes or of the filtered planes,
    /// and the kind of memory that it writes.
    pub conversions: Vec<(Layout, Storage)>,
    /// The frame on the screen, on which the kernels are tried.
    pub frame: Arc<Frame>,
    /// The radius of the filter in pixels.
    pub radius: u32,
    /// True if the kernels are for the second side of a wipe between two versions.
    pub is_second_side: bool,
}

/// A request for the machine code of a variant.
pub(crate) struct MachineCodeRequest {
    /// The number of the version of the edited kernels; 0 if built-in kernels run.
    pub version: u64,
    /// The kernel sources of the variant.
    pub sources: Sources,
    pub variant: VariantId,
    /// The size and format of the pictures that the variant filters.
    pub pictures: PictureInfo,
}

/// A variant with its programs.
#[allow(clippy::large_enum_variant, reason = "it travels in a box")]
pub(crate) enum BuiltFilter {
    /// A variant that filters RGBA pictures.
    Variant(BuiltVariant),
    /// A variant that filters planes.
    Planar(PlanarFilter),
}

impl BuiltFilter {
    /// Builds a variant; `to_texture` is true if the context shares textures with OpenGL.
    pub(super) fn build(cl: &ClContext, id: VariantId, to_texture: bool) -> Result<Self> {
        match (id.reads_planes(), to_texture) {
            (true, _) => PlanarFilter::build(cl, id).map(Self::Planar),
            (false, true) => BuiltVariant::build_for_textures(cl, id).map(Self::Variant),
            (false, false) => BuiltVariant::build(cl, id).map(Self::Variant),
        }
    }

    /// Returns the id of the variant.
    pub(crate) fn id(&self) -> VariantId {
        match self {
            Self::Variant(variant) => variant.id(),
            Self::Planar(filter) => filter.id(),
        }
    }
}

/// The result of validating one variant in one version of the edited kernels.
pub(crate) struct JudgedVariant {
    /// The number of the version of the edited kernels.
    pub version: u64,
    /// The variant, and the case in which it was tried.
    pub case: TrialCase,
    pub verdict: Verdict,
    /// The built variant; `None` if it was refused.
    pub made: Option<BuiltFilter>,
    /// The compiler's warnings; empty without any.
    pub warnings: String,
    /// True if the variant's kernels differ from the built-in ones.
    pub is_changed: bool,
}

/// The result of validating the conversions in one version of the edited kernels.
pub(crate) struct JudgedConversions {
    /// The number of the version of the edited kernels.
    pub version: u64,
    /// The worst verdict of all conversions.
    pub verdict: Verdict,
    /// The built programs, with layout and kind of memory; empty if any conversion was refused.
    pub made: Vec<(ConvertProgram, Layout, Storage)>,
}

/// Checks the report of a trial of edited kernels. Returns how their output differs from the reference; `None` if it does not, or
/// if `tried` is `None` because the kernels needed no trial.
///
/// # Errors
/// If the kernels write outside their memory.
pub(super) fn accept(tried: Option<TrialReport>) -> Result<Option<MismatchReport>> {
    match tried.and_then(|tried| tried.report) {
        Some(report) if report.wrote_elsewhere() => Err(Error::new(
            "Changed kernels write outside the picture.",
            format!("{report}."),
            "Correct the kernels; in this process they could damage anything.",
        )),
        report => Ok(report),
    }
}

/// Validates the kernels of one variant in a version of the edited kernels, and builds the variant if they may be used. `cl` has
/// the version's sources.
pub(super) fn judge(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &JudgeRequest,
    variant: VariantId,
    to_texture: bool,
) -> JudgedVariant {
    let began = Instant::now();
    // The cached results are of other sources.
    trials.forget();
    let picture = &judge.frame.picture;
    let size = (picture.width(), picture.height());
    let layout = Converter::supports(picture).filter(|_| variant.reads_planes());
    let version = judge.is_second_side.then_some(judge.version);
    let case = TrialCase { variant, version, size, radius: judge.radius, layout };
    let (tried, compiled) = try_beside_compiler(trials, cl, judge, &case, to_texture);
    let is_changed = !matches!(tried, Ok(None));
    let warnings: Vec<String> = compiled.iter().map(|program| program.warnings(cl)).collect();
    let warnings = if is_changed { warnings.concat() } else { String::new() };
    let made = tried.and_then(accept).and_then(|report| {
        let began = Instant::now();
        let made = BuiltFilter::build(&cl.with_compiled(compiled), variant, to_texture)?;
        log::record(|| [Event::since("compile", began).with(variant.as_str())]);
        Ok((report, made))
    });
    log::record(|| [Event::since("judge", began).with(format!("version {} of {variant}", judge.version))]);
    let (verdict, made) = match made {
        Ok((None, made)) => (Verdict::Exact, Some(made)),
        Ok((Some(report), made)) => (Verdict::Differs(report), Some(made)),
        Err(error) => (Verdict::Refused(error), None),
    };
    let made = match (made, version) {
        (Some(BuiltFilter::Variant(built)), Some(version)) => {
            Some(BuiltFilter::Variant(built.with_version(version)))
        }
        (made, _) => made,
    };
    JudgedVariant { version: judge.version, case, verdict, made, warnings, is_changed }
}

/// Validates the kernels of the YUV to RGBA conversions in a version of the edited kernels, and builds the conversions if all may
/// be used. `cl` has the version's sources.
pub(super) fn judge_conversions(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &JudgeRequest,
) -> JudgedConversions {
    let began = Instant::now();
    trials.forget();
    let (mut verdict, mut made) = (Verdict::Exact, Vec::new());
    for &(layout, storage) in &judge.conversions {
        match judge_conversion(trials, cl, judge, &layout, storage) {
            Ok((report, program)) => {
                made.push((program, layout, storage));
                if let (Some(report), Verdict::Exact) = (report, &verdict) {
                    verdict = Verdict::Differs(report);
                }
            }
            Err(error) => {
                made.clear();
                verdict = Verdict::Refused(error);
                break;
            }
        }
    }
    log::record(|| {
        [Event::since("judge", began).with(format!("version {} of the conversion", judge.version))]
    });
    JudgedConversions { version: judge.version, verdict, made }
}

/// Validates one conversion in the sandbox and builds it. Returns how its output differs from the reference, if it does, and
/// the program.
fn judge_conversion(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &JudgeRequest,
    layout: &Layout,
    storage: Storage,
) -> Result<(Option<MismatchReport>, ConvertProgram)> {
    let block = block_of(&judge.frame, layout, judge.radius)?;
    let (size, launch) = ((layout.width, layout.height), LaunchMode::Extremes);
    let case = Case { src: &block, size, radius: 0, launch };
    let target = Target::Convert { layout: *layout, to_image: storage == Storage::Image };
    let report = accept(trials.run(cl, target, &case)?)?;
    let began = Instant::now();
    let program = ConvertProgram::build(cl, layout, storage)?;
    log::record(|| [Event::since("compile", began).with("the conversion")]);
    Ok((report, program))
}

/// Returns the input on which a conversion from `layout` is tried: the frame's planes if they have this layout, or those planes
/// filtered at `radius` if the filtered planes have it; otherwise a test pattern.
fn block_of(frame: &Frame, layout: &Layout, radius: u32) -> Result<Vec<u8>> {
    let of = Converter::supports(&frame.picture);
    let Some(own) = of.filter(|own| own == layout || own.filtered() == *layout) else {
        return color_test_pictures::block(layout, color_test_pictures::Pattern::Mixed, 1);
    };
    let mut block = zeroed(own.bytes())?;
    pack(&frame.picture, &own, &mut block)?;
    if own == *layout { Ok(block) } else { planar_quick(&own, &block, radius) }
}

/// Validates a variant on the frame in the child process. As soon as the child process has compiled the kernels, another thread
/// compiles them in this process, while the child still runs them. Returns the report and the compiled programs.
fn try_beside_compiler(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &JudgeRequest,
    case: &TrialCase,
    to_texture: bool,
) -> (Result<Option<TrialReport>>, Vec<CompiledProgram>) {
    let (compiled, is_compiled) = channel();
    trials.tell_when_compiled(Some(compiled));
    let variant = case.variant;
    let compile = move || {
        is_compiled.recv().ok()?;
        Some(BuiltVariant::precompile(cl, variant, to_texture))
    };
    std::thread::scope(|scope| {
        // Without the thread it is compiled later.
        let compiler = std::thread::Builder::new().name("compiler".into()).spawn_scoped(scope, compile).ok();
        let tried = try_frame(trials, cl, &judge.frame, case, to_texture);
        // Ends a wait of the compiler's thread.
        trials.tell_when_compiled(None);
        let compiled = compiler.and_then(|compiler| compiler.join().ok()).flatten();
        (tried, compiled.unwrap_or_default())
    })
}

/// Runs a variant on a frame in the child process. Returns `None` if its kernels are the built-in ones, which need no
/// validation.
fn try_frame(
    trials: &mut Trials,
    cl: &ClContext,
    frame: &Frame,
    of: &TrialCase,
    to_texture: bool,
) -> Result<Option<TrialReport>> {
    let (id, size, radius, to_image) = (of.variant, of.size, of.radius, to_texture);
    let case = |src| Case { src, size, radius, launch: LaunchMode::Extremes };
    if let Some(layout) = of.layout {
        let mut block = zeroed(layout.bytes())?;
        pack(&frame.picture, &layout, &mut block)?;
        return trials.run(cl, Target::Planar { id, layout, to_image }, &case(&block));
    }
    let picture = || {
        let mut src = picture_memory(size.0, size.1)?;
        RgbaConverter::new().convert(&frame.picture, &mut src)?;
        Ok(Cow::Owned(src))
    };
    let bytes = size.0 as usize * size.1 as usize * 4;
    trials.run_on(cl, Target::Variant { id, to_image }, &case(&[]), bytes, &picture)
}
