//! The background work that looks for OpenCL devices and builds the programs, the wanted ones first ([`worker`]).
//!
//! In: a context to build for, conversions that are missing, which variant is wanted. Out: [`Built`] messages. The movie
//! plays unfiltered meanwhile; compiling takes about a tenth of a second a kernel on a CPU device.
//!
//! Contexts are made on the threads of their devices. Each is started with a number, which its messages carry: what is still
//! built for a device that was left is told from what is built for its successor.

mod conversions;
mod judging;
mod part;
mod texts;
mod worker;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base::error::{Error, Result};
use base::jobs::{Job, Said, Teller, Waker};
use box_filter::VariantId;
use engine::{Check, TrialCase};
pub(crate) use judging::{Asm, Judge, Judged, JudgedConversions, Made};
use opencl::cl::{ClContext, Device};
use opencl::memory::Storage;
use opencl::program;
use opencl::sources::Sources;
pub(crate) use part::Part;
use texts::Texts;
use video::color::Layout;
use worker::Worker;

/// What the builder tells the window.
pub(crate) enum Built {
    /// These devices are there.
    Devices(Vec<Device>),
    /// Something for the context with this number.
    For(u64, Box<Part>),
    /// Nothing more is built.
    Failed(Error),
}

/// What the window asks it for.
enum Request {
    Start(Start),
    Convert(Layout, Storage),
    Try(TrialCase),
    Check(Check),
    Again(VariantId),
    Scopes((u32, u32)),
    Comparer,
    Judge(Judge),
    MachineCode(Asm),
}

/// Starts the builder for a context, from any thread.
pub(crate) struct Starter(Sender<Request>);

impl Starter {
    /// Builds for this context from now on, and nothing more for the one before.
    pub(crate) fn start(self, start: Start) {
        // The window may be gone.
        let _ = self.0.send(Request::Start(start));
    }
}

/// A context, and what to build for it.
#[derive(Clone)]
pub(crate) struct Start {
    /// What its messages carry.
    pub number: u64,
    /// The context.
    pub cl: ClContext,
    /// Whether it shares textures.
    pub to_texture: bool,
    /// Which variants.
    pub variants: Vec<VariantId>,
    /// Whether the colour correction too.
    pub corrector: bool,
}

/// The window's end of the builder.
pub(crate) struct Builder {
    /// `None` when it is to end.
    requests: Option<Sender<Request>>,
    job: Job<(), Built>,
    shared: Arc<Shared>,
    /// A job before this one may still be in its call.
    left_behind: bool,
}

/// What both sides know.
struct Shared {
    state: Mutex<State>,
    /// The window has said something of a version.
    told: Condvar,
}

struct State {
    wanted: VariantId,
    /// Since when a driver is at work on the thread. A thread that has failed stays so.
    busy: Option<Instant>,
    /// The number of the context that it is at work for; 0 where there is none yet.
    at: u64,
    /// The newest version of kernels that is to be judged.
    version: u64,
    /// The newest version of which a picture was on the screen.
    shown: u64,
    /// From which texts all is built, once that has begun.
    texts: Option<Texts>,
}

impl Shared {
    /// `texts`: those of the thread before this one.
    fn new(wanted: VariantId, texts: Option<Texts>) -> Self {
        let state = State { wanted, busy: Some(Instant::now()), at: 0, version: 0, shown: 0, texts };
        Self { state: Mutex::new(state), told: Condvar::new() }
    }

    fn now(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with these texts, unless another thread has begun before.
    fn begin(&self, first: Option<Sources>) {
        let is_named = program::named_folder().is_some();
        self.now().texts.get_or_insert_with(|| Texts::begin(first, is_named));
    }

    /// Does something with what is known of the texts.
    fn with_texts<T>(&self, work: impl FnOnce(&mut Texts) -> T) -> T {
        work(self.now().texts.get_or_insert_default())
    }

    /// Waits until a picture of this version is on the screen, or it is not the newest any more; not for long: in a window that
    /// nobody sees none may come.
    fn wait_until_shown(&self, version: u64) {
        let waits = |state: &mut State| state.version == version && state.shown != version;
        let mut state = self.now();
        state.busy = None;
        drop(self.told.wait_timeout_while(state, TO_SCREEN, waits));
    }

    /// The window says something of a version.
    fn tell(&self, say: impl FnOnce(&mut State)) {
        say(&mut self.now());
        self.told.notify_all();
    }
}

/// So long a version's first picture is waited for.
const TO_SCREEN: Duration = Duration::from_millis(200);
/// After so long the work is given to another thread where a device is changed.
const STALLED: Duration = Duration::from_secs(2);

impl Builder {
    /// Starts it; the devices are told first. Each step of a trial of changed kernels may take `kernel_timeout`, where the
    /// user says so.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn spawn(wanted: VariantId, kernel_timeout: Option<Duration>, waker: &Waker) -> Result<Self> {
        Self::spawn_to(true, (wanted, None), kernel_timeout, waker)
    }

    /// Starts another thread in this one's place, which stays in the call that it waits for. It builds from the same texts.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    pub(crate) fn renew(&mut self, kernel_timeout: Option<Duration>, waker: &Waker) -> Result<()> {
        let goes_on = {
            let state = self.shared.now();
            (state.wanted, state.texts.clone())
        };
        *self = Self { left_behind: true, ..Self::spawn_to(false, goes_on, kernel_timeout, waker)? };
        Ok(())
    }

    fn spawn_to(
        list: bool,
        (wanted, texts): (VariantId, Option<Texts>),
        kernel_timeout: Option<Duration>,
        waker: &Waker,
    ) -> Result<Self> {
        let (requests, receiver) = channel();
        let shared = Arc::new(Shared::new(wanted, texts));
        let with = shared.clone();
        let work = move |teller: &Teller<(), Built>| {
            Worker::new(teller, &with, kernel_timeout).run(list, &receiver);
            with.now().busy = None;
            Ok(())
        };
        let job = Job::spawn("builder", "The OpenCL programs could not be built.", waker, work)?;
        Ok(Self { requests: Some(requests), job, shared, left_behind: false })
    }

    /// Whether it waits for a driver for long, and not for that of the context with this number.
    pub(crate) fn is_stalled_before(&self, number: u64) -> bool {
        let state = self.shared.now();
        state.at != number && state.busy.is_some_and(|since| since.elapsed() > STALLED)
    }

    /// Builds for this context from now on, and nothing more for the one before.
    pub(crate) fn start(&self, start: Start) {
        self.request(Request::Start(start));
    }

    /// The same, to be called where a context may be had.
    pub(crate) fn starter(&self) -> Option<Starter> {
        self.requests.clone().map(Starter)
    }

    /// Builds the conversion of such planes next.
    pub(crate) fn convert(&self, layout: Layout, storage: Storage) {
        self.request(Request::Convert(layout, storage));
    }

    /// Tries a variant in this way next.
    pub(crate) fn try_case(&self, case: TrialCase) {
        self.request(Request::Try(case));
    }

    /// Checks this when there is nothing else to do.
    pub(crate) fn check(&self, check: Check) {
        self.request(Request::Check(check));
    }

    /// Builds next what measures pictures of this size.
    pub(crate) fn scopes(&self, size: (u32, u32)) {
        self.request(Request::Scopes(size));
    }

    /// Builds next what compares pictures.
    pub(crate) fn comparer(&self) {
        self.request(Request::Comparer);
    }

    /// Tries kernels that were changed next, and builds them.
    pub(crate) fn judge(&self, judge: Judge) {
        if !judge.is_beside {
            self.shared.tell(|state| state.version = judge.version);
        }
        self.request(Request::Judge(judge));
    }

    /// A picture of this version is on the screen.
    pub(crate) fn is_shown(&self, version: u64) {
        self.shared.tell(|state| state.shown = version);
    }

    /// Asks the driver for a variant's machine code.
    pub(crate) fn machine_code(&self, asm: Asm) {
        self.request(Request::MachineCode(asm));
    }

    /// Builds a variant once more, because what it depends on has changed.
    pub(crate) fn again(&self, variant: VariantId) {
        self.request(Request::Again(variant));
    }

    fn request(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // The thread ends only with this end of the channel, or by a fault that `poll` tells.
            let _ = requests.send(request);
        }
    }

    /// Builds this variant next.
    pub(crate) fn want(&self, variant: VariantId) {
        self.shared.now().wanted = variant;
    }

    /// Asks it to end, and returns whether it has, and has left its context: a compiler that runs cannot be interrupted.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.job.cancel();
        // Where it waits for a request it sees this.
        self.requests = None;
        // It may be leaving its context.
        !self.left_behind && self.shared.now().busy.is_none() && self.job.end(STALLED / 4)
    }

    /// The next message, if one is there.
    pub(crate) fn poll(&self) -> Option<Built> {
        match self.job.poll()? {
            Said::Progress(built) => Some(built),
            Said::Done(done) => done.err().map(Built::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_builds_from_the_texts_of_the_one_before() {
        let waker: Waker = Arc::new(|| ());
        let mut builder = Builder::spawn_to(false, (VariantId::Flat, None), None, &waker).unwrap();
        // Its own beginning is what it finds now.
        let known = Texts::begin(Some(Sources::default()), true);
        builder.shared.now().texts = Some(known.clone());
        builder.renew(None, &waker).unwrap();
        builder.requests = None;
        assert!(builder.job.end(Duration::from_secs(60)), "it has begun, and ended");
        assert_eq!(builder.shared.now().texts, Some(known));
    }
}
