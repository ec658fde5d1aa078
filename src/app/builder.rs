//! The job that lists the OpenCL devices and builds the OpenCL programs, those of the preferred variant first ([`worker`]).
//!
//! The movie plays unfiltered meanwhile; compiling takes about 0.1 s for a kernel on a CPU device.
//!
//! Contexts are created on the threads of their devices. Each context has a number, and each message about a context carries
//! that number, so that programs that were built for a former device are not added to the pipeline of its successor.

mod conversions;
mod validator;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::app::kernels::CurrentSources;
use base::device::MachineCode;
use base::error::{Error, Result};
use base::jobs::{Job, JobMessage, Reporter, Waker};
use base::verify::MismatchReport;
use box_filter::VariantId;
use box_filter::machine_code::PictureInfo;
use engine::{Need, Pipeline, TrialCase};
use opencl::cl::{ClContext, Device};
use opencl::sources::Sources;
use overlay::{Subject, Validation};
use parking_lot::{Condvar, Mutex};
pub(crate) use validator::VersionRequest;
use worker::Worker;

/// A message from the builder (the job that compiles programs) to the window.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(crate) enum BuilderMessage {
    /// The OpenCL devices of the machine, as found by the builder.
    Devices(Vec<Device>),
    /// A result of the builder for the context with this number.
    For(u64, Part),
    /// The builder has ended because of this error.
    Failed(Error),
}

/// A result of the builder for one OpenCL context: what the window must know, and a function that adds the built programs to
/// the context's pipeline.
pub(crate) struct Part {
    pub news: News,
    /// The function that adds the programs to the pipeline, called on the thread of the context's device.
    pub install: Box<dyn FnOnce(&mut Pipeline) + Send>,
}

/// A result of the builder that the window has to install or show.
#[allow(clippy::large_enum_variant, reason = "there are a handful at a time")]
pub(crate) enum News {
    /// Programs were built. [`Part::install`] adds them to the pipeline; the window need not show or change anything else.
    Installed,
    /// The result of building a variant; an error says why it cannot be built or must not run.
    Variant(VariantId, Result<()>),
    /// The result of building a variant of a filter in the stack besides the chosen one.
    Member(MemberVersion, Result<()>),
    /// The result of a trial (a run in the sandbox) of a variant that is in use: how its output differs from the reference
    /// (`None` if it is exact), or the error for which the trial failed.
    Tried(TrialCase, Result<Option<MismatchReport>>),
    /// The result of validating edited kernels.
    Validated(Validated),
    /// The reason why a conversion from YUV to RGBA cannot be used.
    NoConversion(Error),
    /// The error for a YUV to RGBA conversion or a colour correction whose output is wrong. Another program replaces it.
    Replaced(Error),
    /// The machine code of a variant, or the reason why there is none. The number is that of the version of the edited kernels;
    /// 0 for built-in kernels.
    MachineCode(u64, VariantId, Result<MachineCode>),
}

/// The result of validating the edited kernels of a variant or the conversions in one version: whether they may run, and
/// whether their output is exact.
pub(crate) struct Validated {
    /// The number of the version of the edited kernels.
    pub version: u64,
    pub subject: Subject,
    /// The result of validation; if several conversions were validated, the worst result.
    pub validation: Validation,
    /// The compiler's warnings about kernels that may run; empty if there are none.
    pub warnings: String,
    /// The settings of the second side of a wipe, for which the kernels are; `None` if they are for the first side.
    pub second_side: Option<box_filter::Settings>,
}

impl Validated {
    /// Creates the result for the kernels of `subject` in the requested version, without warnings.
    fn new(request: &VersionRequest, subject: Subject, validation: Validation) -> Self {
        let settings = match subject {
            Subject::Variant(id) if request.is_second_side => request.settings.get(&id).copied(),
            _ => None,
        };
        Self { version: request.version, subject, validation, warnings: String::new(), second_side: settings }
    }
}

impl Part {
    /// Creates a result and the function that adds its programs to the pipeline.
    fn new(news: News, install: impl FnOnce(&mut Pipeline) + Send + 'static) -> Self {
        Self { news, install: Box::new(install) }
    }

    /// Returns true if edited kernels were validated and may run.
    fn has_passed(&self) -> bool {
        matches!(&self.news, News::Validated(validated) if validated.validation.may_run())
    }
}

impl From<News> for Part {
    /// Creates a result that adds no programs to the pipeline.
    fn from(news: News) -> Self {
        Self::new(news, |_| {})
    }
}

/// A request from the window to the builder's thread. Requests are handled before pending builds, except that the checks of
/// [`Request::Need`] wait until nothing is left to build.
pub(crate) enum Request {
    /// Builds all programs for a new context; drops the pending builds for the previous context.
    Start(Start),
    /// Builds or checks a program that frames need. A check waits until nothing is left to build.
    Need(Need),
    /// Builds the programs of a variant once more, for example after tuning has changed its parameters.
    Again(VariantId),
    /// Builds a variant of a filter in the stack besides the chosen one. `size` is that of the pictures that it filters; `None` if
    /// it is not known. If it cannot be built or fails its trial, its kernels from before stay in use.
    Member { version: MemberVersion, size: Option<(u32, u32)> },
    /// Validates and builds the edited kernels of one version.
    Validate(VersionRequest),
    /// Disassembles the program of a variant for pictures of this size and format. `version` is the number of the version of the
    /// edited kernels, which has these sources; 0 for built-in kernels.
    MachineCode { version: u64, sources: Sources, variant: VariantId, pictures: PictureInfo },
}

/// A variant of a filter in the stack besides the chosen one, and the sources from which it is built.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberVersion {
    pub variant: VariantId,
    pub settings: box_filter::Settings,
    pub sources: Sources,
}

/// A request to build programs for a new context.
#[derive(Clone)]
pub(crate) struct Start {
    /// The number by which the builder's messages identify the context.
    pub number: u64,
    pub cl: ClContext,
    /// True if the context shares textures with OpenGL.
    pub to_texture: bool,
    pub variants: Vec<VariantId>,
    /// True if the program of the colour correction is to be built, too.
    pub corrector: bool,
}

/// The window's handle of the builder (the thread that compiles programs), for sending requests and polling messages.
pub(crate) struct Builder {
    /// The channel to the builder's thread, by which other threads can send requests, too; `None` once the builder has been told
    /// to end.
    pub requests: Option<Sender<Request>>,
    job: Job<(), BuilderMessage>,
    shared: Arc<SharedState>,
    /// True if the thread of an earlier, replaced job may still be in a driver call.
    has_stalled_job: bool,
}

/// State that the window's thread and the builder's job share.
struct SharedState {
    state: Mutex<State>,
    /// Notified when the window changes `version` or `shown` of [`State`].
    changed: Condvar,
    /// The kernel sources that were saved or chosen last.
    sources: CurrentSources,
}

/// The part of the builder's state that is guarded by the mutex of [`SharedState`].
struct State {
    wanted: VariantId,
    /// The time at which the job's current work, which may call a driver, began; `None` while the job is idle. Remains set if
    /// the thread fails or cannot be started.
    busy: Option<Instant>,
    /// The number of the context for which the job builds; 0 before the first context.
    at: u64,
    /// The number of the newest version of the edited kernels that is to be validated.
    version: u64,
    /// The number of the newest version of the edited kernels of which a picture was on the screen.
    shown: u64,
    /// The kernel sources from which programs are built.
    texts: KernelTexts,
}

impl SharedState {
    /// Creates the state. `wanted` is the variant to build first. `texts` are the kernel sources from which the previous job
    /// built.
    fn new(wanted: VariantId, texts: KernelTexts, sources: CurrentSources) -> Self {
        let state = State { wanted, busy: Some(Instant::now()), at: 0, version: 0, shown: 0, texts };
        Self { state: Mutex::new(state), changed: Condvar::new(), sources }
    }
}

/// The kernel sources from which each variant and the conversions are built: those at the start, then versions that were
/// validated. They are kept when a new builder thread replaces one that is stuck in a driver call.
///
/// If a version of the edited kernels is refused, other devices and parameters still use the sources from before that version.
/// Variants that the version does not change are still built; without a watched folder, from the built-in sources.
#[derive(Debug, Clone, Default, PartialEq)]
struct KernelTexts {
    /// The kernel sources when clreel started; `None` until the first job has read them. Variants and conversions are built from
    /// them until a later version of their kernels has passed validation.
    first: Option<Sources>,
    /// The sources from which each variant and the conversions are built: those that passed validation last or, if none did,
    /// those of the first build.
    built_from: HashMap<Subject, Sources>,
}

impl KernelTexts {
    /// Returns true if the folder of kernels that the user named did not exist when clreel started, so that nothing could be
    /// built then.
    fn appeared_late(&self) -> bool {
        self.first.as_ref().is_some_and(Sources::is_unreadable)
    }

    /// Returns the sources from which to build a variant or the conversions: those that passed validation last or, if none did,
    /// the sources when clreel started. `newest`, the sources that were saved last, replace the latter for the user's own
    /// kernel, and if the folder of kernels appeared after the start.
    fn sources(&mut self, subject: Subject, newest: &Sources) -> Sources {
        // The user's own kernel has no earlier sources; if the named folder appeared later, no kernel has.
        let has_none = subject == Subject::Variant(VariantId::own()) || self.appeared_late();
        let first = self.first.as_ref().filter(|_| !has_none).unwrap_or(newest);
        let built_from = self.built_from.entry(subject).or_insert_with(|| first.clone());
        if built_from.is_unreadable() {
            built_from.clone_from(first);
        }
        built_from.clone()
    }
}

/// The maximum time for which the builder waits until a picture from a new version of the edited kernels is on the screen. It
/// then validates the version's other kernels; earlier, that would delay the picture.
const MAX_SCREEN_WAIT: Duration = Duration::from_millis(200);
/// The duration of a driver call after which the builder's thread counts as stalled: if the device changes then, another thread
/// replaces it.
const STALL_TIMEOUT: Duration = Duration::from_secs(2);

impl Builder {
    /// Starts the job, which lists the devices first and builds `wanted` before other variants. `kernel_timeout` is the user's
    /// timeout for a step of the validation of edited kernels.
    pub(crate) fn spawn(
        wanted: VariantId,
        kernel_timeout: Option<Duration>,
        sources: &CurrentSources,
        waker: &Waker,
    ) -> Self {
        let shared = SharedState::new(wanted, KernelTexts::default(), sources.clone());
        Self::spawn_to(true, shared, kernel_timeout, waker)
    }

    /// Replaces the job by a new one, because its thread is stalled in a driver call. The new job builds from the same kernel
    /// sources.
    pub(crate) fn renew(&mut self, kernel_timeout: Option<Duration>, waker: &Waker) {
        let shared = {
            let state = self.shared.state.lock();
            SharedState::new(state.wanted, state.texts.clone(), self.shared.sources.clone())
        };
        *self = Self { has_stalled_job: true, ..Self::spawn_to(false, shared, kernel_timeout, waker) };
    }

    /// Starts a job with this state. If `list` is true, the job lists the devices first.
    fn spawn_to(list: bool, shared: SharedState, kernel_timeout: Option<Duration>, waker: &Waker) -> Self {
        let (requests, receiver) = channel();
        let shared = Arc::new(shared);
        let with = shared.clone();
        let work = move |reporter: &Reporter<(), BuilderMessage>| {
            Worker::new(reporter, &with, kernel_timeout).run(list, &receiver);
            with.state.lock().busy = None;
            Ok(())
        };
        let job = Job::spawn("builder", "The OpenCL programs could not be built.", waker, work);
        Self { requests: Some(requests), job, shared, has_stalled_job: false }
    }

    /// Returns true if the job has been in a driver call for longer than [`STALL_TIMEOUT`], for a context other than the one
    /// with this number.
    pub(crate) fn is_stalled_for_other(&self, number: u64) -> bool {
        let state = self.shared.state.lock();
        state.at != number && state.busy.is_some_and(|since| since.elapsed() > STALL_TIMEOUT)
    }

    /// Tells the job that a picture of this version of the edited kernels is on the screen.
    pub(crate) fn report_shown(&self, version: u64) {
        self.shared.state.lock().shown = version;
        self.shared.changed.notify_all();
    }

    pub(crate) fn request(&self, request: Request) {
        if let Request::Validate(request) = &request
            && !request.is_second_side
        {
            self.shared.state.lock().version = request.version;
            self.shared.changed.notify_all();
        }
        if let Some(requests) = &self.requests {
            // The thread ends only when this channel is closed, or with an error that `poll` returns.
            let _ = requests.send(request);
        }
    }

    pub(crate) fn prefer(&self, variant: VariantId) {
        self.shared.state.lock().wanted = variant;
    }

    /// Ends the job. Returns true if the job has ended and dropped its context; false if it may still run, since a compiler
    /// cannot be interrupted.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.job.cancel();
        // A job that waits for a request sees the closed channel.
        self.requests = None;
        // The thread may be dropping its context.
        !self.has_stalled_job && self.shared.state.lock().busy.is_none() && self.job.end(STALL_TIMEOUT / 4)
    }

    /// Returns the job's next message; `None` if no message is waiting.
    pub(crate) fn poll(&self) -> Option<BuilderMessage> {
        match self.job.poll()? {
            JobMessage::Progress(built) => Some(built),
            JobMessage::Done(done) => done.err().map(BuilderMessage::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn another_thread_builds_from_the_texts_of_the_one_before() {
        let waker: Waker = Arc::new(|| ());
        let shared = SharedState::new(named("flat"), KernelTexts::default(), CurrentSources::default());
        let mut builder = Builder::spawn_to(false, shared, None, &waker);
        // These are the sources that a job would find at its start.
        let known = begun_with(Ok([("own.cl".to_owned(), Ok(String::new()))].into()).into());
        builder.shared.state.lock().texts = known.clone();
        builder.renew(None, &waker);
        builder.requests = None;
        assert!(builder.job.end(Duration::from_secs(60)), "it has begun, and ended");
        assert_eq!(builder.shared.state.lock().texts, known);
    }

    fn texts(text: &str) -> Sources {
        Sources::from_texts([("box_filter/03_flat.cl".to_owned(), text.to_owned())].into()).unwrap()
    }

    fn begun_with(first: Sources) -> KernelTexts {
        KernelTexts { first: Some(first), ..KernelTexts::default() }
    }

    fn flat_subject() -> Subject {
        Subject::Variant(named("flat"))
    }

    #[test]
    fn a_version_that_must_not_run_keeps_nothing_from_being_built() {
        let [first, good, refused] = ["first", "good", "refused"].map(texts);
        let mut all = begun_with(first.clone());
        assert!(!all.appeared_late());
        assert_eq!(all.sources(flat_subject(), &refused), first);
        all.built_from.insert(flat_subject(), good.clone());
        assert_eq!(all.sources(flat_subject(), &refused), good);
        assert_eq!(all.sources(Subject::Variant(named("fused")), &refused), first);
        assert_eq!(all.sources(Subject::Variant(VariantId::own()), &refused), refused, "none from before");
        assert_eq!(all.sources(Subject::Conversion, &refused), first);
        all.built_from.insert(Subject::Conversion, good.clone());
        assert_eq!(all.sources(Subject::Conversion, &refused), good);
        // Before there was a folder, the built-in kernels ran, unless a folder was named.
        let mut copied = begun_with(Sources::default());
        assert!(!copied.appeared_late());
        assert_eq!(copied.sources(flat_subject(), &refused), Sources::default());
        assert_eq!(copied.sources(Subject::Conversion, &refused), Sources::default());
        let missing = Sources::from(Err(Error::new("There is no folder.", "", "")));
        let mut late = begun_with(missing.clone());
        assert!(late.appeared_late());
        assert_eq!(late.sources(flat_subject(), &missing), missing);
        assert_eq!(late.sources(flat_subject(), &refused), refused);
        assert_eq!(late.sources(Subject::Conversion, &refused), refused);
    }
}
