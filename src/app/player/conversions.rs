//! The check of the device's type conversions (OpenCL's `convert_T()` functions), as a background task.
//!
//! Each thread of the task has a child process that calls the driver and that ends with the thread. A driver that crashes or
//! hangs costs only the case that is being checked; the window is not affected.

use super::*;
use crate::app::lane::{Slot, Task, Worker};
use ladders::type_conversions::state::{State, TestOptions};
use ladders::type_conversions::types::{Case, Widths};
use ladders::type_conversions::values::Depth;
use ladders::type_conversions::{Abilities, Times, run};
use opencl::cl::Device;
use overlay::{Conversions, JobState};
use parking_lot::Mutex;

/// The seed of the random inputs. It is constant, so that a fault can be reproduced.
const SEED: u32 = 1;

/// A progress message from the task that checks type conversions.
pub(super) enum Progress {
    /// The cases that are going to be checked.
    Cases(Vec<Case>),
    /// The new state of one case.
    Case(Case, State),
}

/// The task that checks type conversions, and its results, also after it has ended.
#[derive(Default)]
pub(super) struct ConversionCheck {
    /// The task. If it is stopped, the results so far stay on the screen.
    pub task: Slot<Times, Progress>,
    began: Option<Instant>,
    /// The state and the results of the check, as the overlay shows them.
    pub shown: Conversions,
}

impl ConversionCheck {
    /// Starts to check the type conversions of the device in use.
    pub(super) fn start(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        self.task.stop();
        self.shown = Conversions::default();
        let Some(device) = devices.running.device().cloned() else {
            self.task.state = JobState::Failed("There is no OpenCL device that is ready.".to_owned());
            return;
        };
        self.shown = Conversions::new(&device.info.name, SEED);
        let limit = cx.args.trial.timeouts.kernel_timeout;
        self.began = Some(Instant::now());
        let work = move |worker: &Worker<'_, _, _>| check(&device, limit, worker);
        self.task.start((&mut cx.lane, Task::Conversions), "", work);
    }

    /// Takes the results that have arrived since the last call; returns true if there were any.
    pub(super) fn update(&mut self) -> bool {
        let news = self.task.poll();
        for progress in news.progress {
            match progress {
                Progress::Cases(cases) => self.shown.set_cases(cases),
                Progress::Case(case, state) => _ = self.shown.cases.insert(case, state),
            }
        }
        if !news.is_new && matches!(self.task.state, JobState::Running(_)) {
            return false;
        }
        self.shown.state = match (&self.task.state, self.began) {
            (JobState::Running(_), Some(began)) => {
                JobState::Running(self.shown.time_left(began.elapsed().as_secs_f64()))
            }
            (state, _) => state.clone(),
        };
        news.is_new
    }
}

/// Checks the type conversions of a device. Runs on the task's thread, since OpenCL may take long.
fn check(
    device: &Device,
    limit: Option<Duration>,
    worker: &Worker<'_, Times, Progress>,
) -> Result<Option<Times>> {
    let names = base::environment::text("CLREEL_CHECK_CASES").unwrap_or_default();
    let cases = selected(Case::all(&Abilities::of(device).types()), &names, Case::named);
    worker.reporter.report(Progress::Cases(cases.clone()));
    let cases = cases.into_iter().map(|case| (case, 0)).collect();
    let ask = TestOptions { cases, widths: Widths::ALL, depth: Depth::Quick, seed: SEED, limit };
    let stop = worker.reporter.cancel.clone();
    let reporter = Mutex::new(worker.reporter);
    let watch = |case, state| {
        let _is_received = reporter.lock().report(Progress::Case(case, state));
    };
    run::run(device, &ask, &stop, &watch).map(Some)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn run(
        work: impl FnOnce(&Worker<'_, Times, Progress>) -> Result<Option<Times>> + Send + 'static,
    ) -> ConversionCheck {
        let mut lane = Lane::new(&(Arc::new(|| {}) as Waker));
        let mut check =
            ConversionCheck { shown: Conversions::new("A device", SEED), ..ConversionCheck::default() };
        check.task.start((&mut lane, Task::Conversions), "", work);
        while check.task.is_under_way() {
            lane.update(None, &Moment::default());
            check.update();
            std::thread::sleep(Duration::from_millis(1));
        }
        check
    }

    #[test]
    fn what_was_found_is_shown_and_so_is_what_ends_it() {
        let case = Case::named("int_sat_float").unwrap();
        let tell = move |worker: &Worker<'_, Times, Progress>| {
            worker.reporter.report(Progress::Cases(vec![case]));
            worker.reporter.report(Progress::Case(case, State::Ok(7)));
        };
        let done = run(move |worker| {
            tell(worker);
            Ok(Some(Times::default()))
        });
        assert_eq!((&done.shown.state, done.shown.progress()), (&JobState::Done, (1, 1)));
        let lost = run(move |worker| {
            tell(worker);
            Err(base::error::Error::new("The device is gone.", "It was unplugged.", ""))
        });
        let failed = JobState::Failed("The device is gone. It was unplugged.".to_owned());
        assert_eq!((&lost.shown.state, lost.shown.progress()), (&failed, (1, 1)), "what is known stays");
    }
}
