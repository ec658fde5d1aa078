//! The check of the device's conversions. In: a wish for it. Out: a job in the background, and what it has found so far for
//! the overlay.

use std::time::{Duration, Instant};

use super::Player;
use crate::error::Result;
use crate::gpu::cl::Device;
use crate::gpu::process::lower_priority;
use crate::jobs::{Job, Said, Waker};
use crate::ladders::conversions::run::{self, Ask, State};
use crate::ladders::conversions::types::Case;
use crate::ladders::conversions::values::Depth;
use crate::ladders::conversions::{Abilities, Times};
use crate::overlay::{CheckState, Conversions};

/// How long the window waits at its end for a thread that waits for its child.
const PATIENCE: Duration = Duration::from_millis(700);
/// The numbers are the same each time: what was found can be tried again.
const SEED: u32 = 1;

/// The check, under way or over.
#[derive(Default)]
pub(super) struct Check {
    job: Option<(Job<Times, (Case, State)>, Instant)>,
    shown: Conversions,
}

impl Check {
    /// What the overlay shows of it.
    pub(super) fn shown(&self) -> &Conversions {
        &self.shown
    }

    /// Ends it; what is known stays.
    pub(super) fn stop(&mut self) {
        self.job = None;
        if self.shown.is_under_way() {
            self.shown.state = CheckState::Stopped;
        }
    }

    /// Ends its thread; whether that has ended.
    #[must_use]
    pub(super) fn shut_down(&mut self) -> bool {
        self.job.as_mut().is_none_or(|(job, _)| job.end(PATIENCE))
    }

    fn begin(&mut self, device: Device, limit: Option<Duration>, waker: &Waker) -> Result<()> {
        let cases = Case::all(&Abilities::of(&device).types());
        self.shown = Conversions::begun(&device.info.name, SEED, &cases);
        let job = Job::spawn("conversions", "Conversions cannot be checked.", waker, move |teller| {
            lower_priority();
            let cases = cases.into_iter().map(|case| (case, 0)).collect();
            let ask = Ask { cases, depth: Depth::Quick, seed: SEED, limit };
            let teller = std::sync::Mutex::new(teller);
            let watch = |case, state| {
                let teller = teller.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let _ = teller.tell((case, state));
            };
            let stop = teller.lock().unwrap_or_else(std::sync::PoisonError::into_inner).canceller();
            run::run(&device, &ask, &stop, &watch)
        })?;
        self.job = Some((job, Instant::now()));
        Ok(())
    }

    /// Takes what the job has said since; whether there was something.
    fn look(&mut self) -> bool {
        let Some((job, began)) = &self.job else { return false };
        let (mut news, mut over) = (false, None);
        while let Some(said) = job.poll() {
            news = true;
            match said {
                Said::Progress((case, state)) => self.shown.note(case, &state),
                Said::Done(done) => over = Some(done),
            }
        }
        if let Some(done) = over {
            self.shown.state = match done {
                Ok(_) => CheckState::Done,
                Err(error) => CheckState::Failed(error.to_string()),
            };
            self.job = None;
        } else if news {
            let (known, all) = self.shown.progress();
            // The first ones wait for drivers and compilers.
            let told = known > all / 50;
            let left = began.elapsed().as_secs_f64() * (all - known) as f64 / known.max(1) as f64;
            self.shown.state = CheckState::Running(told.then_some(left));
        }
        news
    }
}

impl Player<'_> {
    /// Takes what was found since.
    pub(super) fn look_after_conversions(&mut self) {
        if self.check.look() {
            self.repaints.soon();
        }
    }

    /// The button: all conversions of the device in use.
    pub(super) fn check_conversions(&mut self) {
        let Some(device) = self.devices.running().cloned() else {
            return;
        };
        if let Err(error) = self.check.begin(device, self.args.trial.limit(), &self.waker) {
            self.check.stop();
            self.notify(error, false);
        }
        self.repaints.soon();
    }
}
