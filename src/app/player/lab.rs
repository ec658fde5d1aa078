//! The measurement of a ladder (a set of variants that compute the same result) in the overlay's Lab. It advances only while the
//! movie stands still: then no frame is timed, and no work for the movie disturbs the measurement.

mod code;

use std::ffi::OsString;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::PlayerContext;
use super::devices::Devices;
use super::movies::Movies;
use crate::app::lab::{self, LabRequest, Progress};
use base::error::Error;
use base::jobs::{Job, JobMessage};
use ladder::results::Report;
use overlay::{Benchmark, BenchmarkDevice, BenchmarkFrame, JobState, Lab, Wait};

/// How long a closing window waits for the process that measures to exit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(700);

/// The measurement of a ladder, and its results.
#[derive(Default)]
pub(super) struct LabMeasurement {
    job: Option<Job<(), Progress>>,
    /// The channel by which the window permits the next step of the job.
    permits: Option<Sender<()>>,
    /// The name of the step of the measurement that waits for permission.
    next: Option<String>,
    /// The results of the ladder on the screen, as `clreel bench --save` writes them.
    results: Option<Report>,
    shown: Lab,
    /// The index in the results of the box filter of the device that is being measured.
    benchmarked: Option<usize>,
    /// The results of the box filter on each device, in the format of `clreel bench --save`.
    reports: Vec<Option<Report>>,
    code: code::CodeRequest,
}

impl LabMeasurement {
    /// Returns the state and the results of the measurement, for the overlay.
    pub(crate) fn shown(&self) -> &Lab {
        &self.shown
    }

    /// Returns the results to save; `None` before the first ones.
    pub(crate) fn results(&self) -> Option<Report> {
        self.results.clone()
    }

    /// Returns true if a step of the measurement may be running, so that other work should not use the device.
    pub(crate) fn measures(&self) -> bool {
        matches!(self.shown.state, JobState::Running(_) | JobState::Ending(_))
    }

    /// Ends the measurement; results so far stay on the screen.
    pub(crate) fn stop(&mut self) {
        (self.job, self.next) = (None, None);
        if self.shown.state.is_under_way() {
            self.shown.state = JobState::Stopped;
        }
    }

    /// Ends the process that measures, and waits a short time for its end, so that no process or temporary file remains.
    pub(crate) fn shut_down(&mut self) {
        let _has_ended = self.job.as_mut().is_none_or(|job| job.end(SHUTDOWN_TIMEOUT));
    }

    /// Ends the measurement with this error.
    fn fail(&mut self, error: &Error) {
        (self.job, self.next) = (None, None);
        self.shown.state = JobState::Failed(format!("{} {}", error.what, error.why).trim().to_owned());
    }

    /// Stores the results before the measurement's next step.
    fn take_progress(&mut self, progress: Progress) {
        let Progress { steps, next, report } = progress;
        (self.shown.steps, self.next) = (steps, next);
        let runs = report.devices.first().map_or(&[][..], |device| &device.runs);
        if let Some(index) = self.benchmarked {
            if let Some(to) = self.shown.benchmark.devices.get_mut(index) {
                to.runs = runs.to_vec();
            }
            self.reports.resize(self.shown.benchmark.devices.len(), None);
            self.reports[index] = Some(report);
        } else if let Some(run) = runs.first() {
            self.shown.run = run.clone();
            self.results = Some(report);
        }
    }

    /// Returns the results of the box filter on all devices in the format of `clreel bench --save`; `None` if there are none.
    pub(super) fn report(&self) -> Option<Report> {
        let reports = || self.reports.iter().flatten();
        let devices = reports().flat_map(|report| report.devices.clone()).collect();
        Some(Report { devices, ..reports().next_back()?.clone() })
    }

    /// Takes the results that have arrived since the last call; returns true if there were some.
    fn poll(&mut self) -> bool {
        let mut is_new = false;
        while let Some(message) = self.job.as_ref().and_then(Job::poll) {
            is_new = true;
            match message {
                JobMessage::Progress(progress) => self.take_progress(progress),
                JobMessage::Done(Ok(())) => {
                    (self.job, self.next) = (None, None);
                    self.shown.state = JobState::Done;
                }
                JobMessage::Done(Err(error)) => self.fail(&error),
            }
        }
        is_new
    }

    /// Permits the next step unless there is an obstacle. Returns true if the shown state has changed.
    fn advance(&mut self, obstacle: Option<Wait>) -> bool {
        let (Some(_), Some(permits)) = (&self.job, &self.permits) else { return false };
        let state = match (obstacle, &self.next) {
            (None, Some(next)) => {
                // The job's result says why its thread has ended, if it has.
                let _ = permits.send(());
                let state = JobState::Running(next.clone());
                self.next = None;
                state
            }
            (Some(reason), Some(_)) => JobState::Waiting(reason),
            (Some(reason), None) => JobState::Ending(reason),
            (None, None) if matches!(self.shown.state, JobState::Running(_)) => return false,
            (None, None) => JobState::Running("goes on".to_owned()),
        };
        let is_new = state != self.shown.state;
        self.shown.state = state;
        is_new
    }

    /// Takes new results of the measurement. Permits its next step if the movie stands still, after the window was drawn, so
    /// that drawing does not disturb the step. `others` is the reason why other background work needs the device.
    pub(super) fn update(&mut self, others: Option<Wait>, cx: &mut PlayerContext) {
        let is_new = self.poll();
        if is_new || self.advance(obstacle(others, cx)) {
            cx.repaints.redraw_soon();
        }
    }

    /// Starts to measure a ladder at one of its sizes on the running device; `kernels` is the path of the watched folder of
    /// kernels, if there is one.
    pub(super) fn start(
        &mut self,
        ladder: &str,
        size: &'static str,
        devices: &Devices,
        kernels: Option<String>,
        cx: &mut PlayerContext,
    ) {
        let Some(ladder) = ladders::all().into_iter().find(|one| one.name == ladder) else { return };
        let option = format!("--{}", ladder.option);
        let case = ["--ladder", ladder.name, &option, size].map(OsString::from).to_vec();
        self.begin((ladder.name, size), None, devices);
        self.run(case, devices, kernels, cx);
    }

    /// Starts to measure the box filter on the frame on the screen, at these radii, on the running device; results of other devices with
    /// the same frame and radii are kept. `kernels` is as for [`Self::start`].
    pub(super) fn start_benchmark(
        &mut self,
        radii: &[u32],
        (movies, devices): (&Movies, &Devices),
        kernels: Option<String>,
        cx: &mut PlayerContext,
    ) {
        let facts = movies.scenes.facts();
        let (position_s, size) = (facts.position_s, cx.frames.presenter.screen.size());
        let frame =
            BenchmarkFrame { movie: facts.file_name.clone(), position_s, size: size.unwrap_or_default() };
        let radii = radii.to_vec();
        let list: Vec<String> = radii.iter().map(u32::to_string).collect();
        let at = position_s.to_string();
        let mut case: Vec<OsString> = vec![movies.playlist.current().into()];
        let options = ["--at", &at, "--radius", &list.join(","), "--conversions", "none"];
        case.extend(options.map(OsString::from));
        case.extend(cx.args.references.allow_references.then(|| "--allow-references".into()));
        self.begin((overlay::BOX_FILTER, ""), Some(Benchmark { frame, radii, devices: Vec::new() }), devices);
        if !movies.scenes.plays_movie() || size.is_none() {
            let why = "The scene shows no frame of a movie. Choose another scene (v).";
            self.shown.state = JobState::Failed(why.to_owned());
            cx.repaints.redraw_soon();
            return;
        }
        self.run(case, devices, kernels, cx);
    }

    /// Stops a measurement and shows the next one, without results. `benchmark` is the case of the box filter, if that is measured.
    fn begin(&mut self, case: (&'static str, &'static str), benchmark: Option<Benchmark>, devices: &Devices) {
        self.stop();
        let before = std::mem::take(&mut self.shown.benchmark);
        let device = devices.running.info();
        let name = device.map(|info| info.name.clone()).unwrap_or_default();
        let code = std::mem::take(&mut self.shown.code);
        self.shown =
            Lab { case: Some(case), device: name.clone(), benchmark: before, code, ..Lab::default() };
        (self.benchmarked, self.results) = (None, None);
        let (Some(new), Some(info)) = (benchmark, device) else { return };
        let benchmark = &mut self.shown.benchmark;
        if (&benchmark.frame, &benchmark.radii) != (&new.frame, &new.radii) {
            // Results stand side by side only if they are comparable.
            (*benchmark, self.reports) = (new, Vec::new());
        }
        let driver = format!("{} {}", info.platform, info.driver);
        let is_same = |one: &BenchmarkDevice| one.name == name && one.driver == driver;
        let index = benchmark.devices.iter().position(is_same).unwrap_or_else(|| {
            benchmark.devices.push(BenchmarkDevice {
                name: name.clone(),
                driver: driver.clone(),
                runs: Vec::new(),
            });
            benchmark.devices.len() - 1
        });
        benchmark.devices[index].runs.clear();
        if let Some(report) = self.reports.get_mut(index) {
            *report = None;
        }
        self.benchmarked = Some(index);
    }

    /// Starts the job that measures a case, given as arguments of `clreel bench`, on the running device.
    fn run(
        &mut self,
        case: Vec<OsString>,
        devices: &Devices,
        kernels: Option<String>,
        cx: &mut PlayerContext,
    ) {
        cx.repaints.redraw_soon();
        let Some(device) = devices.running.device() else {
            let why = "There is no OpenCL device that is ready.";
            self.shown.state = JobState::Failed(why.to_owned());
            return;
        };
        let info = &device.info;
        let timeouts = [cx.args.trial.timeouts.kernel_timeout, cx.args.trial.timeouts.device_timeout];
        let request = LabRequest { case, device: (info.index, info.name.clone()), timeouts, kernels };
        let (permits, permitted) = channel();
        match lab::start(request, permitted, &cx.waker) {
            Ok(job) => {
                (self.job, self.permits) = (Some(job), Some(permits));
                self.shown.state = JobState::Running("the drivers are loaded".to_owned());
            }
            Err(error) => self.fail(&error),
        }
    }
}

/// Returns the reason why no step of the measurement may run now; `None` if one may.
fn obstacle(others: Option<Wait>, cx: &PlayerContext) -> Option<Wait> {
    let frames = &cx.frames;
    if !frames.schedule.is_paused() && !frames.is_finished() && !frames.playing().still {
        Some(Wait::Plays)
    } else if frames.is_slow()
        || frames.busy().is_some()
        || frames.choice.is_awaited(frames.presenter.screen.filter())
    {
        Some(Wait::Filter)
    } else {
        others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stopped_keeps_what_it_has_measured() {
        let mut lab = LabMeasurement::default();
        lab.shown.state = JobState::Waiting(Wait::Plays);
        lab.shown.steps = (3, 9);
        lab.stop();
        assert_eq!((&lab.shown.state, lab.shown.steps), (&JobState::Stopped, (3, 9)));
        lab.shown.state = JobState::Done;
        lab.stop();
        assert_eq!(lab.shown.state, JobState::Done);
        assert!(!lab.advance(None), "nothing is under way");
    }
}
