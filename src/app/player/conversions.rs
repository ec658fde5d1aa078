//! The check of the device's type conversions, as a job in the background.
//!
//! Each of the job's threads has a child process that calls the driver and ends with that thread. A driver that crashes or
//! hangs costs only the case that is being checked; the window is not affected.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::PlayerContext;
use super::devices::Devices;
use base::error::Result;
use base::jobs::{Job, JobMessage, Reporter, Waker};
use ladders::type_conversions::run::{self, State, TestOptions};
use ladders::type_conversions::types::{Case, Widths};
use ladders::type_conversions::values::Depth;
use ladders::type_conversions::{Abilities, Times};
use opencl::cl::Device;
use opencl::process::lower_priority;
use overlay::{Conversions, JobState};

/// How long the window waits at its end for threads that wait for their child processes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);
/// Seed of the random inputs; it is constant, so that a fault can be reproduced.
const SEED: u32 = 1;

/// The environment variable that names the type conversions to check, separated by commas.
const VARIABLE: &str = "CLREEL_CHECK_CASES";

/// Returns the cases of `all` whose names are in the comma-separated list `names`; all cases if the list has none of them.
fn named(all: Vec<Case>, names: &str) -> Vec<Case> {
    let named: Vec<Case> = names.split(',').filter_map(|name| Case::named(name.trim())).collect();
    let some: Vec<Case> = all.iter().copied().filter(|case| named.contains(case)).collect();
    if some.is_empty() { all } else { some }
}

/// A progress message of the job that checks type conversions.
enum Progress {
    /// The cases that are going to be checked.
    Cases(Vec<Case>),
    /// The new state of one case.
    Case(Case, State),
}

/// The check of type conversions, running or ended.
#[derive(Default)]
pub(super) struct ConversionCheck {
    job: Option<(Job<Times, Progress>, Instant)>,
    shown: Conversions,
}

impl ConversionCheck {
    /// Returns the state and results of the check for the overlay.
    pub(super) fn shown(&self) -> &Conversions {
        &self.shown
    }

    /// Ends the check; results so far stay on the screen.
    pub(super) fn stop(&mut self) {
        self.job = None;
        if self.shown.state.is_under_way() {
            self.shown.state = JobState::Stopped;
        }
    }

    /// Ends the job's threads; returns true if they have ended.
    #[must_use]
    pub(super) fn shut_down(&mut self) -> bool {
        self.job.as_mut().is_none_or(|(job, _)| job.end(SHUTDOWN_TIMEOUT))
    }

    /// Starts the job that checks the type conversions on this device.
    fn spawn(&mut self, device: &Device, limit: Option<Duration>, waker: &Waker) -> Result<()> {
        self.shown = Conversions::new(&device.info.name, SEED);
        let device = device.clone();
        let work = move |reporter: &Reporter<Times, Progress>| {
            lower_priority();
            check(&device, limit, reporter)
        };
        let job = Job::spawn("conversions", "The conversions cannot be checked.", waker, work)?;
        self.job = Some((job, Instant::now()));
        Ok(())
    }

    /// Starts to check the type conversions of the running device.
    pub(super) fn start(&mut self, devices: &Devices, cx: &mut PlayerContext) {
        cx.repaints.redraw_soon();
        let Some(device) = devices.running.device() else {
            self.stop();
            let state = JobState::Failed("There is no OpenCL device that is ready.".to_owned());
            self.shown = Conversions { state, ..Conversions::default() };
            return;
        };
        if let Err(error) = self.spawn(device, cx.args.trial.timeouts.kernel_timeout, &cx.waker) {
            self.stop();
            cx.notify(error, false);
        }
    }

    /// Shows new results of the check, if there are some.
    pub(super) fn update(&mut self, cx: &mut PlayerContext) {
        if self.poll() {
            cx.repaints.redraw_soon();
        }
    }

    /// Takes the results since the last call; returns true if there were some.
    fn poll(&mut self) -> bool {
        let Some((job, began)) = &self.job else { return false };
        let (mut is_new, mut over) = (false, None);
        while let Some(message) = job.poll() {
            is_new = true;
            match message {
                JobMessage::Progress(Progress::Cases(cases)) => self.shown.set_cases(cases),
                JobMessage::Progress(Progress::Case(case, state)) => {
                    self.shown.cases.insert(case, state);
                }
                JobMessage::Done(done) => over = Some(done),
            }
        }
        if let Some(done) = over {
            self.shown.state = match done {
                Ok(_) => JobState::Done,
                Err(error) => JobState::Failed(format!("{} {}", error.what, error.why).trim().to_owned()),
            };
            self.job = None;
        } else if is_new {
            self.shown.state = JobState::Running(self.shown.time_left(began.elapsed().as_secs_f64()));
        }
        is_new
    }
}

/// Checks the type conversions of a device; runs on the job's thread, since it calls OpenCL.
fn check(device: &Device, limit: Option<Duration>, reporter: &Reporter<Times, Progress>) -> Result<Times> {
    let names = base::environment::text(VARIABLE).unwrap_or_default();
    let cases = named(Case::all(&Abilities::of(device).types()), &names);
    reporter.report(Progress::Cases(cases.clone()));
    let cases = cases.into_iter().map(|case| (case, 0)).collect();
    let ask = TestOptions { cases, widths: Widths::ALL, depth: Depth::Quick, seed: SEED, limit };
    let stop = reporter.canceller();
    let reporter = Mutex::new(reporter);
    let watch = |case, state| {
        let _is_received =
            reporter.lock().unwrap_or_else(PoisonError::into_inner).report(Progress::Case(case, state));
    };
    run::run(device, &ask, &stop, &watch)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use ladders::type_conversions::types::Type;

    fn run(
        work: impl FnOnce(&Reporter<Times, Progress>) -> Result<Times> + Send + 'static,
    ) -> ConversionCheck {
        let waker: Waker = Arc::new(|| {});
        let job = Job::spawn("check", "Nothing was checked.", &waker, work).unwrap();
        let mut check =
            ConversionCheck { job: Some((job, Instant::now())), shown: Conversions::new("A device", SEED) };
        while check.job.is_some() {
            check.poll();
            std::thread::sleep(Duration::from_millis(1));
        }
        check
    }

    #[test]
    fn what_was_found_is_shown_and_so_is_what_ends_it() {
        let case = Case::named("int_sat_float").unwrap();
        let tell = move |reporter: &Reporter<Times, Progress>| {
            reporter.report(Progress::Cases(vec![case]));
            reporter.report(Progress::Case(case, State::Ok(7)));
        };
        let done = run(move |reporter| {
            tell(reporter);
            Ok(Times::default())
        });
        assert_eq!((&done.shown.state, done.shown.progress()), (&JobState::Done, (1, 1)));
        let lost = run(move |reporter| {
            tell(reporter);
            Err(base::error::Error::new("The device is gone.", "It was unplugged.", ""))
        });
        let failed = JobState::Failed("The device is gone. It was unplugged.".to_owned());
        assert_eq!((&lost.shown.state, lost.shown.progress()), (&failed, (1, 1)), "what is known stays");
    }

    #[test]
    fn few_conversions_can_be_named() {
        let all = || Case::all(&Type::ALL);
        let some = named(all(), "int_float, uchar_sat_rtz_double,none");
        assert_eq!(
            some.iter().map(Case::to_string).collect::<BTreeSet<_>>(),
            ["int_float", "uchar_sat_rtz_double"].map(str::to_owned).into()
        );
        assert_eq!([named(all(), ""), named(all(), "none")].map(|cases| cases.len()), [all().len(); 2]);
    }

    #[test]
    fn what_was_stopped_keeps_what_it_has_found() {
        let mut check = ConversionCheck { job: None, shown: Conversions::new("A device", SEED) };
        check.stop();
        assert_eq!(check.shown.state, JobState::Stopped);
        check.shown.state = JobState::Done;
        check.stop();
        assert_eq!(check.shown.state, JobState::Done);
    }
}
