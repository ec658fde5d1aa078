//! The child process of the sandbox: builds the requested kernels, runs them on the picture, and compares the result with the
//! reference.

use super::{LaunchMode, Target, Task};
use crate::color_kernels::{
    Conversion, ConvertCommand, Converter, CorrectCommand, Corrector, KernelCache, storages,
};
use crate::config::Extent;
use crate::guarded::GuardedInput;
use crate::pictures::Pattern;
use crate::planar::planar_quick;
use crate::reference::quick;
use crate::run::{Bands, Checker};
use crate::{BuiltVariant, Scratch, VariantId, filter_once};
use base::error::{Error, Result};
use base::memory::zeroed;
use base::verify::{self, MismatchReport};
use compute::trial::serve;
use filter::Reference;
use opencl::cl::{ClContext, failed};
use opencl::memory::Picture;
use opencl::sandbox::{ParentConnection, START, warm_up};
use video::color::{Correction, Layout, Matrix, RgbaColors};

/// The predicted time of a run, in milliseconds, above which a variant runs only once in a trial.
const MAX_REPEATED_MS: f64 = 2000.0;
/// The predicted time, in milliseconds, below which a prediction need not be precise; see [`crate::Plan::predict_above`].
const SHORT_MS: f64 = 200.0;

/// The size of the pictures of all patterns with which edited kernels are verified.
const EXTREME_SIZE: (u32, u32) = (67, 33);
/// The number of rows of such pictures if they are planes, whose columns are those of the frame.
const FEW_ROWS: u32 = 24;

/// The memory in bytes that the verification of a frame of 1280 by 720 pixels needs on host and device, with canaries.
const WARM_UP_BYTES: usize = 96 << 20;

/// The first sentence of the error if the device fails during a trial.
const TRIAL_FAILED: &str = "The device failed during a trial.";

/// Handles requests until the parent closes the connection, then ends the process. `frame` identifies the shared memory.
pub fn run_child(frame: u32) -> ! {
    serve(frame, run)
}

/// Runs the kernels of a task. Returns a report of the differences from the reference; `None` if there are none. If `task` is
/// `None`, only initialises the device, which the caller has opened.
fn run(cl: &ClContext, task: &Option<Task>, talk: &mut ParentConnection) -> Result<Option<MismatchReport>> {
    let Some(task) = task else {
        warm_up(WARM_UP_BYTES);
        return Ok(None);
    };
    let no_frame = |e| Error::new("The trial of the modified kernels failed.", format!("{e}."), "");
    let shared = *talk;
    let picture = || {
        let mut src = zeroed(task.bytes)?;
        shared.read_payload(&mut src).map_err(no_frame)?;
        Ok(src)
    };
    let trial = Trial { cl, task, talk };
    if let Target::Variant { id, layout, to_image, .. } = task.target
        && task.launch == LaunchMode::Extremes
    {
        let wholes = edited_extents(id, layout, task);
        let expected = || Expected::of(cl, wholes, id, picture()?);
        return std::thread::scope(|scope| {
            // The reference is computed while the compiler works, so that the check after a save is fast.
            let reference_thread = std::thread::Builder::new().name("reference".into());
            let is_on_host = id.filter().reference().is_none();
            let reference_thread =
                is_on_host.then(|| reference_thread.spawn_scoped(scope, expected).ok()).flatten();
            let built = BuiltVariant::build_for(cl, id, to_image)?;
            trial.check_edited(&built, wholes, || match reference_thread {
                Some(reference_thread) => {
                    let panicked =
                        |_| Err(no_frame(std::io::Error::other("The reference could not be made")));
                    reference_thread.join().unwrap_or_else(panicked)
                }
                None => expected(),
            })
        });
    }
    let src = picture()?;
    let (report, picture) = match task.target {
        Target::Variant { id, layout, to_image, has_defaults } => {
            let built = match has_defaults {
                true => BuiltVariant::build_as(cl, id, cl.device.info.kind)?,
                false => BuiltVariant::build_for(cl, id, to_image)?,
            };
            trial.check_variant(&built, id.extent_of(layout, task.size, task.settings), &src)?
        }
        Target::Convert(conversion) if task.launch == LaunchMode::Extremes => {
            let step = || trial.talk.step("convert");
            (Converter::new(cl).check_extremes(&conversion, &src, step)?, Vec::new())
        }
        Target::Convert(conversion) => (None, trial.run_conversion(conversion, &src)?),
        Target::Correct => {
            trial.run_correction(&src)?;
            (None, Vec::new())
        }
    };
    if task.launch == LaunchMode::Whole {
        talk.write_payload(&picture).map_err(no_frame)?;
    }
    Ok(report)
}

/// A trial in the child process: the device, the task, and the connection to the parent process.
struct Trial<'a> {
    cl: &'a ClContext,
    task: &'a Task,
    talk: &'a ParentConnection,
}

impl Trial<'_> {
    /// Begins a step that is predicted to take this time in milliseconds.
    fn step(&self, name: &str, ms: f64) {
        self.talk.step(name);
        self.talk.report_prediction(ms);
    }

    /// Runs a variant: first on a few rows, to predict its time, then in the launches that the task requests. Returns the
    /// difference from the reference, and the picture with [`LaunchMode::Whole`].
    fn check_variant(
        &self,
        built: &BuiltVariant,
        whole: Extent,
        src: &[u8],
    ) -> Result<(Option<MismatchReport>, Vec<u8>)> {
        let Self { cl, task, talk } = self;
        talk.step("time");
        let (input, output) = GuardedInput::with_output(cl, built.storages(whole.tuned_for), &whole, 0)?;
        input.write(&cl.queue, src)?;
        let plan = built.plan((&input.pictures(), &output.picture), &mut Scratch::new(cl), whole)?;
        let ms = plan.predict_above(&cl.queue, 0.0)?;
        // The timeout of a step does not include the reference.
        talk.step(START);
        let want = reference(cl, built.id(), src, whole)?;
        let elements = built.id().elements(&whole);
        let compare = |got: &[u8]| want.as_ref().and_then(|want| verify::compare(want, got, &elements, 0));
        let is_fast = ms < MAX_REPEATED_MS;
        let (mut report, mut picture) = (None, Vec::new());
        if task.launch == LaunchMode::Whole {
            self.step("whole", ms);
            picture = filter_once(cl, built, src, whole)?;
            let differs = compare(&picture);
            // The kernels of folders are checked in any case, also for writes beyond their memory.
            let is_checked = differs.is_some() || built.id().opened().is_some();
            if is_checked && is_fast {
                let want = want.as_ref().unwrap_or(&picture);
                // Missing and misplaced writes are detected only with poison and canaries.
                self.step("check", ms);
                let checker = Checker::new(cl, built, whole);
                let checked = checker.and_then(|checker| checker.check(src, want, Bands::Whole));
                report = checked.ok().flatten();
            }
            report = report.or(differs);
        } else if is_fast {
            let checker = Checker::new(cl, built, whole)?;
            // Without a reference, the output in bands is compared with that of one launch.
            let want = want.map_or_else(|| filter_once(cl, built, src, whole), Ok)?;
            for bands in [Bands::Steps, Bands::Whole, Bands::Odd] {
                if report.is_none() {
                    self.step("check", ms);
                    report = checker.check(src, &want, bands)?;
                }
            }
        } else {
            self.step("bands", ms);
            // In bands as in the window, waiting for each band.
            for pass in 0..plan.passes() {
                for rows in Bands::Steps.ranges(plan.rows(), plan.row_step(pass)) {
                    let _event = plan.enqueue(&cl.queue, pass, rows)?;
                    cl.queue.finish().map_err(|e| failed(TRIAL_FAILED, &e))?;
                }
            }
            let mut got = zeroed(whole.bytes()[1])?;
            output.picture.read(&cl.queue, &mut got)?;
            report = compare(&got);
        }
        Ok((report, picture))
    }

    /// Verifies a variant after an edit with the displayed frame, and then with small pictures of all patterns. The user waits for
    /// the result, so each runs only once.
    fn check_edited(
        &self,
        built: &BuiltVariant,
        [whole, small]: [Extent; 2],
        expected: impl FnOnce() -> Result<Expected>,
    ) -> Result<Option<MismatchReport>> {
        let Self { cl, talk, .. } = self;
        talk.step("time");
        let checker = Checker::new(cl, built, whole)?;
        let ms = checker.plan.predict_above(&cl.queue, SHORT_MS)?;
        // The timeout of a step does not include the reference.
        talk.step(START);
        let Expected { src, want, extremes } = expected()?;
        // Without a reference, the output in bands is compared with that of one launch.
        let want = want.map_or_else(|| filter_once(cl, built, &src, whole), Ok)?;
        let mut buffers = checker.buffers(&src, &want)?;
        self.step("check", ms);
        let report =
            checker.check_with(&mut buffers, &want, |step| Bands::Steps.ranges(whole.height, step))?;
        if report.is_some() {
            return Ok(report);
        }
        let checker = Checker::new(cl, built, small)?;
        for (pattern, src, want) in extremes {
            self.step("small", ms);
            let want = want.map_or_else(|| filter_once(cl, built, &src, small), Ok)?;
            if let Some(report) = checker.check(&src, &want, Bands::Whole)? {
                let (Extent { width, height, .. }, name, bands) =
                    (small, pattern.name(), Bands::Whole.name());
                let settings = built.id().settings_text(whole.settings);
                let case = format!("{name}, {width}×{height}, {settings}, {bands}");
                return Ok(Some(MismatchReport { case, ..report }));
            }
        }
        Ok(None)
    }

    /// Runs the conversion of a block with and without correction, and returns the picture without correction.
    fn run_conversion(&self, Conversion { layout, storage }: Conversion, block: &[u8]) -> Result<Vec<u8>> {
        let Self { cl, talk, .. } = self;
        let planes = Picture::block(cl, &cl.queue, block)?;
        let to = Picture::alloc(cl, storage, layout.width, layout.height)?;
        let mut command = ConvertCommand { layout, planes, to, correction: Correction::VIVID };
        let (mut converter, kernels) = (Converter::new(cl), &mut KernelCache::default());
        let mut rgba = zeroed(layout.rgba_bytes())?;
        // The result is that of the last one, without correction.
        for correction in [Correction::VIVID, Correction::NEUTRAL] {
            command.correction = correction;
            talk.step("convert");
            let _event = converter.enqueue(&cl.queue, kernels, &command)?;
            command.to.read(&cl.queue, &mut rgba)?;
        }
        Ok(rgba)
    }

    /// Runs the colour correction with each kind of memory (buffer or image) that the device supports.
    fn run_correction(&self, src: &[u8]) -> Result<()> {
        let Self { cl, task: Task { size, .. }, talk } = self;
        let mut corrector = Corrector::new(cl);
        let colors = RgbaColors { matrix: Matrix::Bt709, has_alpha: true };
        for &storage in storages(cl) {
            let picture = || Picture::alloc(cl, storage, size.0, size.1);
            let (from, to, correction) = (picture()?, picture()?, Correction::VIVID);
            from.write(&cl.queue, src)?;
            talk.step("correct");
            let command = CorrectCommand { from, to, size: *size, correction, colors };
            let _event = corrector.enqueue(&cl.queue, &mut KernelCache::default(), &command)?;
            cl.queue.finish().map_err(|e| failed(TRIAL_FAILED, &e))?;
        }
        Ok(())
    }
}

/// The expected outputs for the verification of a variant after an edit of its kernels.
struct Expected {
    /// The displayed frame.
    src: Vec<u8>,
    /// The reference's output for the displayed frame; `None` if there is no reference.
    want: Option<Vec<u8>>,
    /// Small pictures of all patterns, each with the reference's output.
    extremes: Vec<(Pattern, Vec<u8>, Option<Vec<u8>>)>,
}

impl Expected {
    /// Computes the reference's outputs for a picture `src` of the first of these extents, and for small ones of the second.
    fn of(cl: &ClContext, [whole, small]: [Extent; 2], id: VariantId, src: Vec<u8>) -> Result<Self> {
        let want = reference(cl, id, &src, whole)?;
        let extreme = |pattern: Pattern| {
            let src = pattern.input(&small);
            let want = reference(cl, id, &src, small)?;
            Ok((pattern, src, want))
        };
        Ok(Self { want, src, extremes: Pattern::ALL.map(extreme).into_iter().collect::<Result<_>>()? })
    }
}

/// Returns the extent of a task's picture, and that of the small pictures of all patterns with which an edited variant is verified.
fn edited_extents(id: VariantId, layout: Option<Layout>, task: &Task) -> [Extent; 2] {
    // With an odd height, the last row of chroma belongs to a single row of luma: an odd height remains odd.
    let few_rows = |layout: Layout| layout.with_rows(layout.height.min(FEW_ROWS + layout.height % 2));
    let layouts = [layout, layout.map(few_rows)];
    let size = layouts[1].map_or(EXTREME_SIZE, |layout| (layout.width, layout.height));
    let small = Extent { tuned_for: task.size, ..id.extent_of(layouts[1], size, task.settings) };
    [id.extent_of(layout, task.size, task.settings), small]
}

/// Returns the output of a variant's reference: the box filter on the host, or the reference variant of a folder on the device.
/// `None` if there is none, or the variant is the reference itself.
fn reference(cl: &ClContext, id: VariantId, src: &[u8], whole: Extent) -> Result<Option<Vec<u8>>> {
    match id.filter().description.reference {
        None => Ok(None),
        Some(Reference::BuiltIn(_)) => {
            let radius = id.filter().radius(whole.settings);
            let (width, height) = (whole.width as usize, whole.height as usize);
            whole.layout.map_or_else(
                || Ok(Some(quick(src, width, height, radius as usize))),
                |layout| planar_quick(&layout, src, radius).map(Some),
            )
        }
        Some(Reference::Variant(_)) => {
            let Some(reference) = id.filter().reference().filter(|reference| *reference != id) else {
                return Ok(None);
            };
            let built = BuiltVariant::build_as(cl, reference, cl.device.info.kind)?;
            filter_once(cl, &built, src, whole).map(Some)
        }
    }
}
