//! The background thread that tunes in the window's spare time. In: what to tune for, and whether it may run now. Out:
//! [`Told`] messages in a channel, and what was found in the cache.
//!
//! The thread makes a context of its own, which shares nothing with OpenGL: it can be used while the window is taken
//! down. It asks before each run on the device, so what is under way when the window wants the device is one run or
//! one compilation.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base::error::{Error, Result};
use base::jobs::{Job, Said, Teller, Waker};
use base::timing::log::{self, Event, Track};
use box_filter::trial::Trials;
use box_filter::tune::{self, Search, Trial};
use box_filter::{Code, Config, VariantId};
use ladder::cache::{self, Cache};
use ladder::tune::Watch as WatchSearch;
use opencl::cl::{ClContext, Device};
use opencl::process::lower_priority;
use opencl::sources;

/// How long the window waits at its end for a run or a compilation.
const PATIENCE: Duration = Duration::from_millis(700);

/// The environment variable that names the variants to search, separated by commas.
const VARIABLE: &str = "CLREEL_TUNE_VARIANTS";

/// The variants to search: those that the variable `CLREEL_TUNE_VARIANTS` names, else all that are worth it.
pub(crate) fn variants() -> Vec<VariantId> {
    named(&base::environment::text(VARIABLE).unwrap_or_default())
}

fn named(names: &str) -> Vec<VariantId> {
    let named: Vec<VariantId> = names.split(',').filter_map(|name| name.trim().parse().ok()).collect();
    let known: Vec<_> = tune::variants().into_iter().filter(|id| named.contains(id)).collect();
    if known.is_empty() { tune::variants() } else { known }
}

/// What to tune for.
pub(crate) struct Order {
    /// The device.
    pub device: Device,
    /// Width and height of the pictures in pixels.
    pub size: (u32, u32),
    /// The radius in pixels.
    pub radius: u32,
    /// The variants.
    pub variants: Vec<VariantId>,
    /// How long changed kernels may take for a step of their trial, where the user says.
    pub kernel_timeout: Option<Duration>,
}

/// What the thread tells of the search with this number.
pub(crate) struct Told {
    /// As [`Tuner::start`] gave it.
    pub number: u64,
    /// What it is.
    pub news: News,
}

/// What the thread tells.
pub(crate) enum News {
    /// This configuration is next, after these new trials.
    Next(String, Vec<Trial>),
    /// The search is over, and what it found is in the cache.
    Found(Search),
    /// It cannot be done, or not be kept.
    Failed(Error),
}

#[derive(Default)]
struct Gate {
    /// The search that is wanted.
    number: u64,
    open: bool,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    gate: Mutex<Gate>,
    changed: Condvar,
}

impl Shared {
    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, change: impl FnOnce(&mut Gate)) {
        change(&mut self.gate());
        self.changed.notify_all();
    }

    /// Waits until the search with this number may run; whether it is still wanted.
    fn pass(&self, number: u64) -> bool {
        let mut gate = self.gate();
        while !gate.stop && gate.number == number && !gate.open {
            gate = self.changed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        !gate.stop && gate.number == number
    }
}

/// The window's end of the thread.
pub(crate) struct Tuner {
    orders: Option<Sender<(u64, Order)>>,
    job: Job<(), Told>,
    shared: Arc<Shared>,
}

impl Tuner {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives none.
    pub(crate) fn spawn(waker: &Waker) -> Result<Self> {
        let (orders, receiver) = channel::<(u64, Order)>();
        let shared = Arc::new(Shared::default());
        let gate = shared.clone();
        let work = move |teller: &Teller<(), Told>| {
            lower_priority();
            for (number, order) in receiver {
                // The window may be gone.
                let tell = |news| {
                    let _ = teller.tell(Told { number, news });
                };
                match tune(&gate, number, &order, &tell) {
                    Ok(Some(search)) => tell(News::Found(search)),
                    Ok(None) => {}
                    Err(error) => tell(News::Failed(error)),
                }
            }
            Ok(())
        };
        let job = Job::spawn("tuner", "Nothing can be tuned in the background.", waker, work)?;
        Ok(Self { orders: Some(orders), job, shared })
    }

    /// Starts a search, in place of one that may be under way. It waits until it [may run](Self::set_open).
    pub(crate) fn start(&self, number: u64, order: Order) {
        self.shared.set(|gate| (gate.number, gate.open) = (number, false));
        if let Some(orders) = &self.orders {
            // The thread ends only with this end of the channel, or by a fault that `poll` tells.
            let _ = orders.send((number, order));
        }
    }

    /// Ends the search that is under way.
    pub(crate) fn cancel(&self) {
        self.shared.set(|gate| gate.number = 0);
    }

    /// Lets the search run, or holds it before its next run on the device.
    pub(crate) fn set_open(&self, open: bool) {
        if self.shared.gate().open != open {
            self.shared.set(|gate| gate.open = open);
        }
    }

    /// The next message, if one is there.
    pub(crate) fn poll(&mut self) -> Option<Told> {
        match self.job.poll()? {
            Said::Progress(told) => Some(told),
            Said::Done(done) => {
                self.orders = None;
                let number = self.shared.gate().number;
                done.err().map(|error| Told { number, news: News::Failed(error) })
            }
        }
    }

    /// Ends the thread, and returns whether it has: a compiler or a run that takes long cannot be interrupted.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        self.shared.set(|gate| gate.stop = true);
        self.orders = None;
        self.job.end(PATIENCE)
    }
}

struct Watch<'a> {
    shared: &'a Shared,
    number: u64,
    told: usize,
    tell: &'a dyn Fn(News),
}

impl WatchSearch<Code> for Watch<'_> {
    fn next(&mut self, rung: &'static str, config: &Config, trials: &[Trial]) {
        let new = trials.get(self.told..).unwrap_or_default().to_vec();
        self.told = trials.len();
        let told = || format!("{rung} {config}");
        log::record(|| [Event::instant(Track::of_thread(), "next", Instant::now()).with(told())]);
        (self.tell)(News::Next(told(), new));
    }

    fn may_go_on(&mut self) -> bool {
        self.shared.pass(self.number)
    }
}

/// One search; `None` when it is not wanted any more.
fn tune(shared: &Shared, number: u64, order: &Order, tell: &dyn Fn(News)) -> Result<Option<Search>> {
    // The context and the reference picture are work too.
    if !shared.pass(number) {
        return Ok(None);
    }
    cache::require_writable()?;
    // The same kernels from the first trial to the last.
    sources::pin_current();
    let cl = ClContext::new(&order.device)?;
    let mut trials = Trials::new(order.kernel_timeout);
    let mut watch = Watch { shared, number, told: 0, tell };
    let began = Instant::now();
    let found = tune::search(&cl, &order.variants, order.size, order.radius, &mut trials, &mut watch);
    log::record(|| [Event::since("search", began)]);
    let found = found?;
    if let Some(search) = &found {
        let mut cache = Cache::load();
        cache.put(tune::entries(search, &order.device.info, order.size, order.radius)?);
        cache.store()?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_narrows_the_search_down() {
        assert_eq!(named("flat, fused"), [VariantId::Fused, VariantId::Flat]);
        assert_eq!(named("flat,nonsense"), [VariantId::Flat]);
        for nothing in ["", "nonsense", "off"] {
            assert_eq!(named(nothing), tune::variants());
        }
    }

    #[test]
    fn a_search_waits_until_it_may_run_and_ends_when_it_is_not_wanted() {
        let shared = Arc::new(Shared::default());
        shared.set(|gate| gate.number = 3);
        assert!(!shared.pass(2), "another search is wanted");
        let (sender, receiver) = channel();
        let other = shared.clone();
        let thread = std::thread::spawn(move || {
            sender.send(other.pass(3)).unwrap();
            // Opened once, it stays so.
            sender.send(other.pass(3)).unwrap();
            other.set(|gate| gate.open = false);
            sender.send(other.pass(3)).unwrap();
        });
        std::thread::sleep(Duration::from_millis(30));
        assert!(receiver.try_recv().is_err(), "it is closed at first");
        shared.set(|gate| gate.open = true);
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(true), Ok(true)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(receiver.try_recv().is_err(), "closed again");
        shared.set(|gate| gate.stop = true);
        assert_eq!(receiver.recv(), Ok(false));
        thread.join().unwrap();
    }
}
