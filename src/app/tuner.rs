//! A search for the fastest variant, as a job in the background; its result is stored in the cache of tuning results.
//!
//! The job has a context of its own, which shares nothing with OpenGL, so the job can still use it while the window is being
//! shut down. Before each run on the device the job waits for permission, so at most one run or one compilation continues when
//! the window needs the device.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::app::kernels::CurrentSources;
use base::error::Result;
use base::jobs::{Cancel, Job, JobMessage, Reporter, Waker};
use base::timing::log::{self, Event, Track};
use box_filter::tuned::{self, Search, Trial};
use box_filter::{BoxFilter, Code, Config, VariantId};
use ladder::cache::{self, Cache};
use ladder::runner::{Ladder as _, LadderRunner, cache_class};
use ladder::trial::Child;
use ladder::tune::{self, InitialConfigs, SearchObserver};
use opencl::cl::Device;
use opencl::process::lower_priority;

/// How long a closing window waits for a run or a compilation of the search to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);

/// The environment variable that names the variants to search, separated by commas.
const VARIABLE: &str = "CLREEL_TUNE_VARIANTS";

/// Returns the variants that a search tries: those named by `CLREEL_TUNE_VARIANTS`, else all that can be the fastest.
pub(crate) fn variants() -> Vec<VariantId> {
    named_variants(&base::environment::text(VARIABLE).unwrap_or_default())
}

/// Returns the variants whose names are in a list separated by commas; all if none of them can be searched.
fn named_variants(names: &str) -> Vec<VariantId> {
    let named: Vec<VariantId> = names.split(',').filter_map(|name| name.trim().parse().ok()).collect();
    let known: Vec<_> = tuned::variants().into_iter().filter(|id| named.contains(id)).collect();
    if known.is_empty() { tuned::variants() } else { known }
}

/// Returns the kernels of these variants that a search tries for pictures of this size, with their initial configurations.
pub(crate) fn initial_configs(
    variants: &[VariantId],
    device: &Device,
    size: (u32, u32),
) -> InitialConfigs<Code> {
    let ladder = BoxFilter::on_noise(size);
    let mut configs = tune::initial_configs(&ladder, &device.info, &ladder.case(0));
    configs.retain(|(variant, _)| variants.iter().any(|id| id.as_str() == *variant));
    configs
}

/// The parameters of a search.
pub(crate) struct SearchRequest {
    pub device: Device,
    pub sources: CurrentSources,
    /// Width and height of the pictures in pixels.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
    pub variants: Vec<VariantId>,
    /// The user's timeout for a step of the validation of edited kernels.
    pub kernel_timeout: Option<Duration>,
}

/// A progress message of a search: the next trial and the trials that have ended.
pub(crate) struct Progress {
    /// The variant and configuration that is tried next.
    pub next: String,
    /// The results of trials since the last message.
    pub trials: Vec<Trial>,
}

/// A gate that is open while a search may use the device.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Opens or closes the gate.
    fn set_open(&self, open: bool) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_open, open) != open {
            self.changed.notify_all();
        }
    }

    /// Cancels the search, and wakes it if it waits at the gate.
    fn cancel(&self, cancel: &Cancel) {
        // Locked, so that no thread is between its check and its wait.
        let _is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        cancel.cancel();
        self.changed.notify_all();
    }

    /// Waits until the gate is open or the search is cancelled; returns false if the search is cancelled.
    fn pass(&self, cancel: &Cancel) -> bool {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_closed = |is_open: &mut bool| !*is_open && !cancel.is_cancelled();
        drop(self.changed.wait_while(is_open, is_closed));
        !cancel.is_cancelled()
    }
}

/// The window's handle of a running search. Dropping the handle cancels the search.
pub(crate) struct Tuner {
    job: Job<Option<Search>, Progress>,
    cancel: Cancel,
    gate: Arc<Gate>,
}

impl Tuner {
    /// Starts a search, which waits until the device is free ([`set_open`](Self::set_open)).
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(crate) fn start(request: SearchRequest, waker: &Waker) -> Result<Self> {
        let gate = Arc::new(Gate::default());
        let waits_at = gate.clone();
        let job = Job::spawn("tuner", "Nothing can be tuned in the background.", waker, move |reporter| {
            lower_priority();
            tune(&request, &waits_at, reporter)
        })?;
        Ok(Self { cancel: job.canceller(), job, gate })
    }

    /// Permits the search to use the device, or stops it before its next run on the device.
    pub(crate) fn set_open(&self, open: bool) {
        self.gate.set_open(open);
    }

    /// Cancels the search, which ends after its current run or compilation.
    pub(crate) fn cancel(&self) {
        self.gate.cancel(&self.cancel);
    }

    /// Returns true if the search was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns the next message of the search, if there is one. The result of a cancelled search is `None`.
    pub(crate) fn poll(&self) -> Option<JobMessage<Option<Search>, Progress>> {
        self.job.poll()
    }

    /// Cancels the search and waits for a short time. Returns true if the search has ended, false if a run or a compiler, which
    /// cannot be interrupted, takes longer.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.cancel();
        self.job.end(SHUTDOWN_TIMEOUT)
    }
}

impl Drop for Tuner {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The observer of a search: reports its progress, and makes it wait at the gate.
struct SearchWatch<'a> {
    reporter: &'a Reporter<Option<Search>, Progress>,
    gate: &'a Gate,
    /// Number of trials that were reported so far.
    reported: usize,
}

impl SearchObserver<Code> for SearchWatch<'_> {
    /// Reports to the window which trial is next, and the trials that have ended.
    fn begin_trial(&mut self, variant: &'static str, config: &Config, trials: &[Trial]) {
        let new = trials.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = trials.len();
        let next = || format!("{variant} {config}");
        log::record(|| [Event::instant(Track::of_thread(), "next", Instant::now()).with(next())]);
        self.reporter.report(Progress { next: next(), trials: new });
    }

    /// Waits until the search may use the device; returns false if the search is cancelled.
    fn may_continue(&mut self) -> bool {
        self.gate.pass(&self.reporter.canceller())
    }
}

/// Runs the search and stores its result in the cache; returns `None` if the search was cancelled.
fn tune(
    request: &SearchRequest,
    gate: &Gate,
    reporter: &Reporter<Option<Search>, Progress>,
) -> Result<Option<Search>> {
    // The context and the reference picture need the device or the processor, too.
    if !gate.pass(&reporter.canceller()) {
        return Ok(None);
    }
    cache::require_writable()?;
    let ladder = BoxFilter::on_noise(request.size);
    let case = ladder.case(request.radius);
    let mut child = Child::new(BoxFilter::INFO.name, request.kernel_timeout);
    let runner = LadderRunner::new(&ladder, Some(&request.device), request.sources.get(), &mut child);
    let mut watch = SearchWatch { reporter, gate, reported: 0 };
    let began = Instant::now();
    let configs = initial_configs(&request.variants, &request.device, request.size);
    let found = tune::search(&runner, &case, configs, &mut watch);
    log::record(|| [Event::since("search", began)]);
    let found = found?;
    if let Some(search) = &found {
        let mut cache = Cache::load();
        cache.put(search.entries(&request.device.info, &cache_class(&ladder, &case))?);
        cache.store()?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_variable_narrows_the_search_down() {
        assert_eq!(named_variants("flat, fused"), [VariantId::Fused, VariantId::Flat]);
        assert_eq!(named_variants("flat,nonsense"), [VariantId::Flat]);
        for nothing in ["", "nonsense", "off"] {
            assert_eq!(named_variants(nothing), tuned::variants());
        }
    }

    #[test]
    fn a_search_waits_until_it_may_run_and_ends_when_it_is_cancelled() {
        let (gate, cancel) = (Arc::new(Gate::default()), Cancel::default());
        let (sender, receiver) = channel();
        let (other, cancelled) = (gate.clone(), cancel.clone());
        let thread = std::thread::spawn(move || {
            sender.send(other.pass(&cancelled)).unwrap();
            // Once open, it stays open.
            sender.send(other.pass(&cancelled)).unwrap();
            other.set_open(false);
            sender.send(other.pass(&cancelled)).unwrap();
        });
        std::thread::sleep(Duration::from_millis(30));
        assert!(receiver.try_recv().is_err(), "it is closed at first");
        gate.set_open(true);
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(true), Ok(true)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(receiver.try_recv().is_err(), "closed again");
        gate.cancel(&cancel);
        assert_eq!(receiver.recv(), Ok(false));
        assert!(!gate.pass(&cancel));
        thread.join().unwrap();
    }
}
