//! Kernels that were changed while the movie runs. In: their texts, and the frame on the screen. Out: what they do to it and to
//! pictures of all kinds, in a process of their own; and what was built of them, where that may be shown.

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
use box_filter::color_trial;
use box_filter::machine_code::Pictures;
use box_filter::opencl::BuiltVariant;
use box_filter::planar::{PlanarFilter, planar_quick};
use box_filter::trial::{Case, Launch, Trials, Tried};
use engine::TrialCase;
use opencl::cl::ClContext;
use opencl::memory::Storage;
use opencl::program::{self, Ahead};
use opencl::sources::{self, Sources};
use overlay::Verdict;
use video::Frame;
use video::color::planes::pack;
use video::color::{Layout, RgbaConverter};

/// What is to be judged.
pub(crate) struct Judge {
    /// The number of the version.
    pub version: u64,
    /// Its texts.
    pub sources: Sources,
    /// The variants that it changes, in the order in which they are judged.
    pub variants: Vec<VariantId>,
    /// The conversions that it changes, of the frame's planes or of what a filter makes of them.
    pub conversions: Vec<(Layout, Storage)>,
    /// The frame on the screen.
    pub frame: Arc<Frame>,
    /// The radius in pixels.
    pub radius: u32,
    /// They are to run beside those of the version that runs.
    pub is_beside: bool,
}

/// Whose machine code is wanted.
pub(crate) struct Asm {
    /// The number of the version; 0 where none is kept.
    pub version: u64,
    /// Its texts, from which the variant was built that runs; `None`: those that are built in.
    pub sources: Option<Sources>,
    /// The variant.
    pub variant: VariantId,
    /// Which pictures it filters.
    pub pictures: Pictures,
}

/// What was built.
#[allow(clippy::large_enum_variant, reason = "it travels in a box")]
pub(crate) enum Made {
    /// A variant on RGBA pictures.
    Variant(BuiltVariant),
    /// One on planes.
    Planar(PlanarFilter),
}

/// What came of a variant.
pub(crate) struct Judged {
    /// The number of the version.
    pub version: u64,
    /// The variant, and how it was tried.
    pub case: TrialCase,
    /// What it does.
    pub verdict: Verdict,
    /// What was built, where it may be shown.
    pub made: Option<Made>,
    /// Whether its kernels are others than those that are built in.
    pub is_changed: bool,
}

/// What came of changed conversions.
pub(crate) struct JudgedConversions {
    /// The number of the version.
    pub version: u64,
    /// What the worst of them does.
    pub verdict: Verdict,
    /// What was built of them, where all may be shown.
    pub made: Vec<(ConvertProgram, Layout, Storage)>,
}

/// Lets changed kernels through that end, and stay inside their memory: what they make is there to be looked at. Says how that
/// differs from what is right.
///
/// # Errors
/// Where they write elsewhere.
pub(super) fn passed(tried: Option<Tried>) -> Result<Option<MismatchReport>> {
    match tried.and_then(|tried| tried.report) {
        Some(report) if report.wrote_elsewhere() => Err(Error::new(
            "Changed kernels write outside the picture.",
            format!("{report}."),
            "Correct the kernels; in this process they could damage anything.",
        )),
        report => Ok(report),
    }
}

/// Judges one variant, and builds it where it may be shown. This thread builds from the version's texts from here on.
pub(super) fn judge(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &Judge,
    variant: VariantId,
    to_texture: bool,
) -> Judged {
    let began = Instant::now();
    sources::pin(Some(judge.sources.clone()));
    // The child itself may answer otherwise by now.
    trials.forget();
    let picture = &judge.frame.picture;
    let size = (picture.width(), picture.height());
    let layout = Converter::supports(picture).filter(|_| variant.reads_planes());
    let case = TrialCase { variant, size, radius: judge.radius, layout };
    let (tried, ahead) = try_beside_compiler(trials, cl, judge, &case, to_texture);
    let is_changed = !matches!(tried, Ok(None));
    let made = tried.and_then(passed).and_then(|report| {
        let began = Instant::now();
        program::take_over(ahead);
        let made = build(cl, variant, to_texture);
        program::take_over(Vec::new());
        let made = made?;
        log::record(|| [Event::since("compile", began).with(variant.as_str())]);
        Ok((report, made))
    });
    log::record(|| [Event::since("judge", began).with(format!("version {} of {variant}", judge.version))]);
    let (verdict, made) = match made {
        Ok((None, made)) => (Verdict::Exact, Some(made)),
        Ok((Some(report), made)) => (Verdict::Differs(report), Some(made)),
        Err(error) => (Verdict::Refused(error), None),
    };
    let (case, made) = match (judge.is_beside, made) {
        (true, made) => {
            let made = made.map(|made| match made {
                Made::Variant(built) => Made::Variant(built.beside()),
                planar => planar,
            });
            (TrialCase { variant: VariantId::Version, ..case }, made)
        }
        (false, made) => (case, made),
    };
    Judged { version: judge.version, case, verdict, made, is_changed }
}

/// Judges the conversions, and builds them where all may be shown. This thread builds from the version's texts from here on.
pub(super) fn judge_conversions(trials: &mut Trials, cl: &ClContext, judge: &Judge) -> JudgedConversions {
    let began = Instant::now();
    sources::pin(Some(judge.sources.clone()));
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

fn judge_conversion(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &Judge,
    layout: &Layout,
    storage: Storage,
) -> Result<(Option<MismatchReport>, ConvertProgram)> {
    let block = block_of(&judge.frame, layout, judge.radius)?;
    let (size, launch) = ((layout.width, layout.height), Launch::Extremes);
    let case = Case { src: &block, size, radius: 0, launch, longest_ms: None, wants_picture: false };
    let report = passed(trials.convert(cl, layout, storage == Storage::Image, &case)?)?;
    let began = Instant::now();
    let program = ConvertProgram::build(cl, layout, storage)?;
    log::record(|| [Event::since("compile", began).with("the conversion")]);
    Ok((report, program))
}

/// A frame's planes, or what the filter on planes makes of them, as the conversion reads them.
fn block_of(frame: &Frame, layout: &Layout, radius: u32) -> Result<Vec<u8>> {
    let of = Converter::supports(&frame.picture);
    let Some(own) = of.filter(|own| own == layout || own.filtered() == *layout) else {
        return color_trial::block(layout, color_trial::Pattern::Mixed, 1);
    };
    let mut block = zeroed(own.bytes())?;
    pack(&frame.picture, &own, &mut block)?;
    if own == *layout { Ok(block) } else { planar_quick(&own, &block, radius) }
}

/// Tries a variant on the frame. What the compiler has come through in the process of its own is compiled here, too, while it
/// runs there, and a driver that keeps what it compiles has it already: here it runs once it is judged.
fn try_beside_compiler(
    trials: &mut Trials,
    cl: &ClContext,
    judge: &Judge,
    case: &TrialCase,
    to_texture: bool,
) -> (Result<Option<Tried>>, Vec<Ahead>) {
    let (compiled, is_compiled) = channel();
    trials.tell_when_compiled(Some(compiled));
    let (sources, variant) = (judge.sources.clone(), case.variant);
    let ahead = move || {
        is_compiled.recv().ok()?;
        sources::pin(Some(sources));
        Some(BuiltVariant::compile_ahead(cl, variant, to_texture))
    };
    std::thread::scope(|scope| {
        // Without the thread it is compiled later.
        let ahead = std::thread::Builder::new().name("compiler".into()).spawn_scoped(scope, ahead).ok();
        let tried = try_frame(trials, cl, &judge.frame, case, to_texture);
        // It waits no more.
        trials.tell_when_compiled(None);
        let ahead = ahead.and_then(|ahead| ahead.join().ok()).flatten();
        (tried, ahead.unwrap_or_default())
    })
}

/// Tries a variant on a frame, in the process of its own; `None` where its kernels are those that are built in.
fn try_frame(
    trials: &mut Trials,
    cl: &ClContext,
    frame: &Frame,
    of: &TrialCase,
    to_texture: bool,
) -> Result<Option<Tried>> {
    let (size, radius) = (of.size, of.radius);
    let case =
        |src| Case { src, size, radius, launch: Launch::Extremes, longest_ms: None, wants_picture: false };
    if let Some(layout) = &of.layout {
        let mut block = zeroed(layout.bytes())?;
        pack(&frame.picture, layout, &mut block)?;
        return trials.planar(cl, of.variant, layout, to_texture, &case(&block));
    }
    let picture = || {
        let mut src = picture_memory(size.0, size.1)?;
        RgbaConverter::new().convert(&frame.picture, &mut src)?;
        Ok(Cow::Owned(src))
    };
    let bytes = size.0 as usize * size.1 as usize * 4;
    trials.variant_on(cl, (of.variant, None), to_texture, &case(&[]), (bytes, &picture))
}

fn build(cl: &ClContext, variant: VariantId, to_texture: bool) -> Result<Made> {
    match (variant.reads_planes(), to_texture) {
        (true, _) => PlanarFilter::build(cl, variant).map(Made::Planar),
        (false, true) => BuiltVariant::build_for_textures(cl, variant).map(Made::Variant),
        (false, false) => BuiltVariant::build(cl, variant).map(Made::Variant),
    }
}
