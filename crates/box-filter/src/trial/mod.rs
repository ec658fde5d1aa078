//! Trials: test runs of edited kernels in a sandboxed child process, before this process runs them.
//!
//! Built-in kernels need no trial. Edited kernels, from the folder in `CLREEL_KERNELS`, run in a sandbox ([`opencl::sandbox`])
//! with the size, radius and picture of their later use, and are compared with the reference.

mod child;

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::VariantId;
use crate::color_kernels::Conversion;
use crate::config::Pass;
use crate::registry::SentFilter;
use base::device::DeviceKind;
use base::error::Result;
use base::memory::{picture_memory, zeroed};
use base::verify::MismatchReport;
use compute::trial::{Child, Request};
use filter::Settings;
use opencl::cl::ClContext;
use opencl::sandbox::Payload;
use video::color::Layout;

pub use child::run_child;

/// The name under which the child process serves trials of filters.
pub const NAME: &str = "filters";

/// The kernels of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// A variant, with the default parameters or those that tuning found.
    Variant {
        /// The variant.
        id: VariantId,
        /// The layout of the packed block of planes that it filters; `None` if it filters RGBA pictures.
        layout: Option<Layout>,
        /// True to request an image as the output of the last pass, which is written if the code can do so; false for the
        /// code's own kind of memory.
        to_image: bool,
        /// True to use the default parameters, as the reference of a folder's filter does: if it used those that tuning found, an
        /// inexact variant could differ from it by its bound once more after each search.
        has_defaults: bool,
    },
    /// The conversion of a packed block of planes. With [`LaunchMode::Extremes`] the result is compared with the reference;
    /// otherwise the conversion only runs.
    Convert(Conversion),
    /// The colour correction of an RGBA picture, which only runs.
    Correct,
}

impl Target {
    /// Returns the name of the kernels on a kind of device in messages; of a folder's filter with each kernel and its file.
    fn name(&self, kind: DeviceKind) -> String {
        match self {
            Target::Variant { id, .. } => match id.code(kind).filter(|_| id.opened().is_some()) {
                None => format!("'{id}'"),
                Some(code) => {
                    let one = |pass: &Pass| format!("'{}' in {}", pass.kernel, pass.file);
                    let kernels: Vec<String> = code.passes.iter().map(one).collect();
                    format!("'{id}' ({})", kernels.join(", "))
                }
            },
            Target::Convert(_) => "the conversion".to_owned(),
            Target::Correct => "the correction".to_owned(),
        }
    }

    /// Returns the number of bytes of the output if that is planes; `None` if it is RGBA pixels.
    fn planes_output(&self) -> Option<usize> {
        match self {
            Target::Variant { id, layout: Some(layout), .. } => {
                let output = id.output_layout(*layout);
                output.map(|_| id.planes_extent(*layout, 0).bytes()[1])
            }
            _ => None,
        }
    }

    /// Returns the filter to which the kernels belong.
    fn filter(&self) -> SentFilter {
        match self {
            Target::Variant { id, .. } => SentFilter::of(*id),
            Target::Convert(_) | Target::Correct => SentFilter::of(VariantId::OFF),
        }
    }

    /// Returns true if a kernel file that is used on this device is modified.
    fn is_modified(&self, cl: &ClContext) -> bool {
        let sources = cl.sources();
        let kind = cl.device.info.kind;
        let is_modified = |id: VariantId| {
            id.code(kind).is_some_and(|code| code.files.iter().any(|file| sources.is_changed(file)))
        };
        match self {
            // `auto` may use any variant of its filter.
            Target::Variant { id, .. } if id.is_auto() => match id.opened() {
                None => VariantId::built_in().any(is_modified),
                Some(filter) => filter.variants().any(is_modified),
            },
            Target::Variant { id, .. } => is_modified(*id),
            Target::Convert(_) | Target::Correct => sources.any_changed("convert/"),
        }
    }
}

/// The launches of a variant in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchMode {
    /// One launch over all rows; the output is returned, RGBA pixels or filtered planes.
    Whole,
    /// Bands, as in the window, and one launch over all rows if that takes little time.
    Bands,
    /// Bands, as in the window, and then small pictures of all patterns.
    Extremes,
}

/// A task for the child process: the kernels to run, the picture, the radius and the launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    /// The filter of the target, which the child must know before it reads the name of a variant.
    filter: SentFilter,
    target: Target,
    size: (u32, u32),
    settings: Settings,
    launch: LaunchMode,
    /// The size in bytes of the picture or block in the shared memory.
    bytes: usize,
}

/// The result of a trial in which the kernels ran.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialReport {
    /// The difference from the reference; `None` if there is none.
    pub report: Option<MismatchReport>,
    /// The output of [`LaunchMode::Whole`], RGBA pixels or filtered planes; `None` for other launches.
    pub picture: Option<Vec<u8>>,
}

/// Runs the trials of one thread. The child process ends together with the thread that sent the first request.
#[derive(Debug)]
pub struct Trials {
    /// The child process.
    pub child: Child,
    /// The requests so far with their results, except those of [`LaunchMode::Whole`].
    results: Vec<(TrialRequest, Result<Option<MismatchReport>>)>,
}

/// A request to the child process; if its task is `None`, the device is only initialised.
type TrialRequest = Request<Option<Task>>;

/// The picture of a trial.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The bytes of width·height RGBA pixels, or planes packed into a block.
    Bytes(&'a [u8]),
    /// This number of bytes, which the function computes while the compiler works.
    Later(usize, Payload<'a>),
}

/// The picture and settings of a trial.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The picture.
    pub src: Source<'a>,
    /// The picture's width and height in pixels.
    pub size: (u32, u32),
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The launches that the kernels run in.
    pub launch: LaunchMode,
}

impl Trials {
    /// Creates trials whose child process is not started yet. `timeout` is the maximum time of each step; by default it is 10 s
    /// or ten times the predicted time, whichever is longer.
    pub fn new(timeout: Option<Duration>) -> Self {
        Self { child: Child::new(NAME, timeout), results: Vec::new() }
    }

    /// Clears the results of earlier requests, after kernels or tuning results have changed.
    pub fn forget(&mut self) {
        self.results.clear();
    }

    /// Starts the child process in advance, so that the next trial begins at once.
    pub fn make_ready(&mut self, cl: &ClContext) {
        self.child.make_ready(&TrialRequest::new(cl, None));
    }

    /// Runs kernels in the child process, and compares their output with the reference. Returns `None` without running them if
    /// they are built-in.
    ///
    /// # Errors
    /// Returns an error if the kernels must not run in this process: they do not build, fail, crash, or do not end. Also errors
    /// of the picture.
    pub fn run(&mut self, cl: &ClContext, target: Target, case: &Case) -> Result<Option<TrialReport>> {
        if !target.is_modified(cl) {
            return Ok(None);
        }
        let Case { src, size, settings, launch } = *case;
        let (bytes, picture) = match src {
            Source::Later(bytes, picture) => (bytes, picture),
            Source::Bytes(bytes) => {
                let picture = || Ok(Cow::Borrowed(bytes));
                return self.run(cl, target, &Case { src: Source::Later(bytes.len(), &picture), ..*case });
            }
        };
        let name = target.name(cl.device.info.kind);
        let filter = target.filter();
        let target_output = target.planes_output();
        let request = TrialRequest::new(cl, Some(Task { filter, target, size, settings, launch, bytes }));
        if launch == LaunchMode::Whole {
            // Requests are compared without their pictures, so this one is always sent.
            let mut filtered = match target_output {
                Some(bytes) => zeroed(bytes)?,
                None => picture_memory(size.0, size.1)?,
            };
            let report = self.child.ask(&name, &request, picture, &mut filtered)?;
            return Ok(Some(TrialReport { report, picture: Some(filtered) }));
        }
        let known = self.results.iter().find(|(earlier, _)| *earlier == request);
        let report = match known {
            Some((_, report)) => report.clone(),
            None => {
                let report = self.child.ask(&name, &request, picture, &mut []);
                self.results.push((request, report.clone()));
                report
            }
        };
        Ok(Some(TrialReport { report: report?, picture: None }))
    }
}
