//! The check of the device's conversions. In: a wish for it. Out: a job in the background, and what it has found so far for
//! the overlay.
//!
//! Each of the job's threads asks a child process, which ends with that thread: a driver that crashes or hangs costs the case
//! that it was at, and the window nothing.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Player;
use base::error::Result;
use base::jobs::{Job, Said, Teller, Waker};
use ladders::type_conversions::run::{self, Ask, State};
use ladders::type_conversions::types::{Case, Widths};
use ladders::type_conversions::values::Depth;
use ladders::type_conversions::{Abilities, Times};
use opencl::cl::Device;
use opencl::process::lower_priority;
use overlay::{CheckState, Conversions};

/// How long the window waits at its end for threads that wait for their children.
const PATIENCE: Duration = Duration::from_millis(700);
/// The numbers are the same each time: what was found can be tried again.
const SEED: u32 = 1;

/// The environment variable that names the conversions to check, separated by commas.
const VARIABLE: &str = "CLREEL_CHECK_CASES";

/// Those of `all` that these names say; all where they say none.
fn named(all: Vec<Case>, names: &str) -> Vec<Case> {
    let named: Vec<Case> = names.split(',').filter_map(|name| Case::named(name.trim())).collect();
    let some: Vec<Case> = all.iter().copied().filter(|case| named.contains(case)).collect();
    if some.is_empty() { all } else { some }
}

/// What the job tells.
enum Told {
    /// These are tried.
    Begun(Vec<Case>),
    /// This is known of one of them.
    Found(Case, State),
}

/// The check, under way or over.
#[derive(Default)]
pub(super) struct Check {
    job: Option<(Job<Times, Told>, Instant)>,
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

    /// Ends its threads; whether they have ended.
    #[must_use]
    pub(super) fn shut_down(&mut self) -> bool {
        self.job.as_mut().is_none_or(|(job, _)| job.end(PATIENCE))
    }

    fn begin(&mut self, device: &Device, limit: Option<Duration>, waker: &Waker) -> Result<()> {
        self.shown = Conversions::begun(&device.info.name, SEED);
        let device = device.clone();
        let work = move |teller: &Teller<Times, Told>| {
            lower_priority();
            check(&device, limit, teller)
        };
        let job = Job::spawn("conversions", "The conversions cannot be checked.", waker, work)?;
        self.job = Some((job, Instant::now()));
        Ok(())
    }

    /// Takes what the job has said since; whether there was something.
    fn look(&mut self) -> bool {
        let Some((job, began)) = &self.job else { return false };
        let (mut is_new, mut over) = (false, None);
        while let Some(said) = job.poll() {
            is_new = true;
            match said {
                Said::Progress(Told::Begun(cases)) => self.shown.begin_with(cases),
                Said::Progress(Told::Found(case, state)) => self.shown.note(case, state),
                Said::Done(done) => over = Some(done),
            }
        }
        if let Some(done) = over {
            self.shown.state = match done {
                Ok(_) => CheckState::Done,
                Err(error) => CheckState::Failed(format!("{} {}", error.what, error.why).trim().to_owned()),
            };
            self.job = None;
        } else if is_new {
            self.shown.state = CheckState::Running(self.shown.seconds_left(began.elapsed().as_secs_f64()));
        }
        is_new
    }
}

/// The job's work: no call of OpenCL on the window's thread.
fn check(device: &Device, limit: Option<Duration>, teller: &Teller<Times, Told>) -> Result<Times> {
    let names = base::environment::text(VARIABLE).unwrap_or_default();
    let cases = named(Case::all(&Abilities::of(device).types()), &names);
    teller.tell(Told::Begun(cases.clone()));
    let cases = cases.into_iter().map(|case| (case, 0)).collect();
    let ask = Ask { cases, widths: Widths::ALL, depth: Depth::Quick, seed: SEED, limit };
    let stop = teller.canceller();
    let teller = Mutex::new(teller);
    let watch = |case, state| {
        let _heard = teller.lock().unwrap_or_else(PoisonError::into_inner).tell(Told::Found(case, state));
    };
    run::run(device, &ask, &stop, &watch)
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
        self.repaints.soon();
        let Some(device) = self.devices.running() else {
            self.check.stop();
            let why = "There is no OpenCL device that is ready.";
            self.check.shown =
                Conversions { state: CheckState::Failed(why.to_owned()), ..Conversions::default() };
            return;
        };
        if let Err(error) = self.check.begin(device, self.args.trial.limit(), &self.waker) {
            self.check.stop();
            self.notify(error, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use ladders::type_conversions::types::Type;

    fn told(work: impl FnOnce(&Teller<Times, Told>) -> Result<Times> + Send + 'static) -> Check {
        let waker: Waker = Arc::new(|| {});
        let job = Job::spawn("check", "Nothing was checked.", &waker, work).unwrap();
        let mut check =
            Check { job: Some((job, Instant::now())), shown: Conversions::begun("A device", SEED) };
        while check.job.is_some() {
            check.look();
            std::thread::sleep(Duration::from_millis(1));
        }
        check
    }

    #[test]
    fn what_was_found_is_shown_and_so_is_what_ends_it() {
        let case = Case::named("int_sat_float").unwrap();
        let tell = move |teller: &Teller<Times, Told>| {
            teller.tell(Told::Begun(vec![case]));
            teller.tell(Told::Found(case, State::Ok(7)));
        };
        let done = told(move |teller| {
            tell(teller);
            Ok(Times::default())
        });
        assert_eq!((&done.shown.state, done.shown.progress()), (&CheckState::Done, (1, 1)));
        let lost = told(move |teller| {
            tell(teller);
            Err(base::error::Error::new("The device is gone.", "It was unplugged.", ""))
        });
        let failed = CheckState::Failed("The device is gone. It was unplugged.".to_owned());
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
        let mut check = Check { job: None, shown: Conversions::begun("A device", SEED) };
        check.stop();
        assert_eq!(check.shown.state, CheckState::Stopped);
        check.shown.state = CheckState::Done;
        check.stop();
        assert_eq!(check.shown.state, CheckState::Done);
    }
}
