//! The measurement of a ladder (a set of variants that compute the same result) in the overlay's Lab. It advances only while
//! the movie is paused or has ended: then no frame is timed, and no work for the movie disturbs the measurement.
//!
//! A child process runs `clreel bench`, one step at a time: a driver that crashes or stalls affects only that process, which
//! ends with an error if a device does not respond in time.

use std::ffi::OsString;

use super::*;
use crate::app::lane::{Slot, Task, Worker};
use crate::cli::live::Step;
use base::device::MachineCode;
use ladder::results::{DeviceReport, Report};
use opencl::cl::ClContext;
use opencl::sandbox::Sandbox;
use opencl::sources::FILTER_VARIABLE;
use opencl::{drivers, machine_code, program};
use overlay::{Benchmark, BenchmarkFrame, JobState, Lab, LabCode, Source};

/// The interval at which a measurement checks whether it was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The factor by which the timeout of driver calls is multiplied, since the child process runs at low priority.
const TIMEOUT_FACTOR: u32 = 6;
/// The number of rounds in which the variants of a ladder are timed.
const ROUNDS: u32 = 9;

/// The number of finished steps and the number of all steps of a measurement, and the results so far.
type Progress = ((u64, u64), Report);

/// The measurement of a ladder, and its results.
#[derive(Default)]
pub(super) struct LabMeasurement {
    /// The task that measures. If it is stopped, the results so far stay on the screen.
    pub measurement: Slot<(), Progress>,
    /// The results of the ladder that the Lab shows, in the format of `clreel bench --save`; `None` before the first ones.
    pub results: Option<Report>,
    /// The state and the results of the measurement, as the overlay shows them.
    pub(crate) shown: Lab,
    /// The time for which the measurement has run, without waits, and the time at which this was updated.
    ran: (Duration, Option<Instant>),
    /// The last results of the box filter without those of the devices, which `shown` has; `None` before the first ones.
    benchmark: Option<Report>,
    /// The number of the version of the edited kernels, and the index of the device, for which the code of the selected variant
    /// was read.
    code_of: (u64, Option<usize>),
    /// The task that compiles the kernels of the selected variant for their machine code.
    compiling: Slot<MachineCode>,
}

impl LabMeasurement {
    /// Returns the results of the box filter on all devices, in the format of `clreel bench --save`; `None` if there are none.
    pub(super) fn report(&self) -> Option<Report> {
        let measured = self.shown.benchmark.devices.iter().filter(|device| !device.runs.is_empty());
        Some(Report { devices: measured.cloned().collect(), ..self.benchmark.clone()? })
    }

    /// Takes the results that the measurement has sent since the last call.
    pub(super) fn update(&mut self, kernels: &LiveKernels, cx: &mut PlayerContext) {
        let now = Instant::now();
        if let (JobState::Running(_), Some(before)) = (&self.shown.state, self.ran.1.replace(now)) {
            self.ran.0 += now - before;
        }
        let news = self.measurement.poll();
        if news.is_new || self.shown.state != self.measurement.state {
            self.shown.state = self.measurement.state.clone();
            cx.repaints.redraw_soon();
        }
        for (steps, mut report) in news.progress {
            self.shown.steps = steps;
            self.shown.left_s = left_s(self.ran.0, steps);
            let runs = report.devices.iter().flat_map(|device| &device.runs);
            for kernel in runs.flat_map(|run| &run.variants).filter_map(|row| row.kernel.as_ref()) {
                if !self.shown.edited.contains_key(&kernel.hash)
                    && let Some(version) = kernels.edited_version(kernel)
                {
                    self.shown.edited.insert(kernel.hash.clone(), version);
                }
            }
            if self.shown.case.is_some_and(|(ladder, _)| ladder == overlay::BOX_FILTER) {
                let known = &mut self.shown.benchmark.devices;
                for device in std::mem::take(&mut report.devices) {
                    match known.iter_mut().find(|known| identity(known) == identity(&device)) {
                        Some(before) => *before = device,
                        None => known.push(device),
                    }
                }
                self.benchmark = Some(report);
            } else if let Some(run) = report.devices.first().and_then(|device| device.runs.first()) {
                self.shown.run = run.clone();
                self.results = Some(report);
            }
        }
    }

    /// Starts to measure a ladder at one of its sizes on the device in use, with the edited kernels if there are any.
    pub(super) fn start(
        &mut self,
        (ladder, size): (&str, &'static str),
        on: (&Devices, &LiveKernels),
        cx: &mut PlayerContext,
    ) {
        let Some(ladder) = ladders::all().into_iter().find(|one| one.name == ladder) else { return };
        let option = format!("--{}", ladder.option);
        let case = ["--ladder", ladder.name, &option, size].map(OsString::from).to_vec();
        self.begin((ladder.name, size), None, on.0);
        self.run(case, on, cx);
    }

    /// Starts to measure the box filter on the device in use, on the frame on the screen, at these radii. Results of other
    /// devices stay if they are of the same frame and radii.
    pub(super) fn start_benchmark(
        &mut self,
        (radii, movies): (Vec<u32>, &Movies),
        on: (&Devices, &LiveKernels),
        cx: &mut PlayerContext,
    ) {
        let facts = movies.scenes.facts();
        let (position_s, size) = (facts.position_s, cx.frames.presenter.screen.size());
        let frame =
            BenchmarkFrame { movie: facts.file_name.clone(), position_s, size: size.unwrap_or_default() };
        let list: Vec<String> = radii.iter().map(u32::to_string).collect();
        let at = position_s.to_string();
        let mut case: Vec<OsString> = vec![movies.playlist.current().into()];
        let options = ["--at", &at, "--radius", &list.join(","), "--conversions", "none"];
        case.extend(options.map(OsString::from));
        case.extend(cx.args.references.allow_references.then(|| "--allow-references".into()));
        self.begin((overlay::BOX_FILTER, ""), Some(Benchmark { frame, radii, devices: Vec::new() }), on.0);
        if !movies.scenes.plays_movie() || size.is_none() {
            let why = "The scene shows no frame of a movie. Choose another scene (v).";
            self.measurement.state = JobState::Failed(why.to_owned());
            return;
        }
        self.run(case, on, cx);
    }

    /// Stops the running measurement, and shows the state of the next one, which has no results yet. `benchmark` is the case of
    /// the box filter if that is to be measured.
    fn begin(&mut self, case: (&'static str, &'static str), benchmark: Option<Benchmark>, devices: &Devices) {
        self.measurement.stop();
        self.ran.0 = Duration::ZERO;
        self.results = None;
        let Lab { benchmark: mut before, code, edited, .. } = std::mem::take(&mut self.shown);
        let device = devices.running.info.as_ref();
        if let Some(new) = benchmark {
            if (&before.frame, &before.radii) != (&new.frame, &new.radii) {
                // Earlier results are dropped unless they are comparable with the new ones.
                (before, self.benchmark) = (new, None);
            }
            let is_measured = |known: &&mut DeviceReport| {
                device.is_some_and(|info| identity(known) == [&info.name, &info.platform, &info.driver])
            };
            before.devices.iter_mut().filter(is_measured).for_each(|device| device.runs.clear());
        }
        let device = device.map(|info| info.name.clone()).unwrap_or_default();
        self.shown = Lab { case: Some(case), device, benchmark: before, code, edited, ..Lab::default() };
    }

    /// Starts the task that runs `clreel bench` with these arguments.
    fn run(
        &mut self,
        mut arguments: Vec<OsString>,
        (devices, kernels): (&Devices, &LiveKernels),
        cx: &mut PlayerContext,
    ) {
        let Some(device) = devices.running.device() else {
            let why = "There is no OpenCL device that is ready.";
            self.measurement.state = JobState::Failed(why.to_owned());
            return;
        };
        let name = device.info.name.clone();
        let timeouts = &cx.args.trial.timeouts;
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64().to_string());
        let options = [
            ("--frames", Some(ROUNDS.to_string())),
            ("--device", Some(device.info.index.to_string())),
            ("--kernel-timeout", seconds(timeouts.kernel_timeout)),
            ("--device-timeout", seconds(timeouts.device_timeout)),
            ("--kernels", kernels.shown().folder.clone()),
        ];
        arguments.push("--live".into());
        for (option, value) in options {
            arguments.extend(value.into_iter().flat_map(|value| [option.into(), value.into()]));
        }
        let measure = move |worker: &Worker<'_, (), Progress>| follow(start_bench(&arguments), &name, worker);
        self.measurement.start((&mut cx.lane, Task::Lab), "the drivers are loaded", measure);
    }

    /// Reads the source of the selected variant again if the variant, the saved kernels or the device have changed. Starts to
    /// compile the machine code once that is to be shown.
    pub(crate) fn update_code(&mut self, devices: &Devices, kernels: &LiveKernels, cx: &mut PlayerContext) {
        if let Some(code) = self.compiling.poll().result {
            self.shown.code.machine_code = Some(code);
            cx.repaints.redraw_soon();
        }
        let (version, sources) = kernels.saved().unwrap_or_default();
        let (device, kernel) = (devices.running.device(), cx.overlay.lab_kernel());
        let of = (version, device.map(|device| device.info.index));
        if self.code_of != of || self.shown.code.kernel.as_ref() != kernel {
            let text =
                kernel.and_then(|kernel| Some((kernel.file.clone(), sources.text(&kernel.file).ok()?)));
            let source = text.map(|(file, text)| Source::new(file, &text, None));
            self.shown.code = LabCode { kernel: kernel.cloned(), source, machine_code: None };
            self.code_of = of;
            self.compiling.stop();
            cx.repaints.redraw_soon();
        }
        let is_wanted = cx.overlay.switches.machine_code && self.shown.code.machine_code.is_none();
        if let (Some(kernel), Some(device)) = (&self.shown.code.kernel, device)
            && is_wanted
            && !self.compiling.is_under_way()
        {
            let (device, kernel) = (device.clone(), kernel.clone());
            let compile = move |_: &Worker<'_, _>| {
                let cl = ClContext::new(&device, sources)?;
                let options = kernel.parameters.split_whitespace().map(|parameter| format!("-D {parameter}"));
                let options: Vec<String> = options.collect();
                let (binary, log) = program::binary_and_log(&cl, &kernel.file, &options.join(" "))?;
                machine_code::from_binary(&binary, &log).map(Some)
            };
            self.compiling.start((&mut cx.lane, Task::MachineCode), "", compile);
        }
    }
}

/// Returns the estimated time in seconds of the steps that are left, after some of all steps have taken `ran`; `None` before the
/// first step is done.
fn left_s(ran: Duration, (done, steps): (u64, u64)) -> Option<f64> {
    (done > 0).then(|| ran.as_secs_f64() / done as f64 * steps.saturating_sub(done) as f64)
}

/// Returns the properties by which a device is recognised: name, platform and driver.
fn identity(device: &DeviceReport) -> [&str; 3] {
    ["name", "platform", "driver"].map(|property| device.text(property))
}

/// Starts `clreel bench` with these arguments as a child process.
fn start_bench(arguments: &[OsString]) -> std::io::Result<Sandbox> {
    let (mut command, folder) = drivers::sandboxed("bench")?;
    // The drivers have responded before, so a longer timeout is safe: at low priority, a busy machine only takes longer.
    let limit = (TIMEOUT_FACTOR * drivers::test_limit().time).min(Duration::from_secs(3600));
    command.args(arguments).env("CLREEL_DRIVER_TIMEOUT", limit.as_secs_f64().to_string());
    // The Lab measures the box filter, also beside the filter of a folder.
    command.env_remove(FILTER_VARIABLE);
    for skipped in drivers::skipped() {
        command.args(["--skip-platform", skipped]);
    }
    Sandbox::start(command, folder)
}

/// Lets the child process `bench` make each of its steps when the task may use the device, and reports the results so far
/// before each step. `device` is the name of the device; results of another one are an error.
fn follow(
    bench: std::io::Result<Sandbox>,
    device: &str,
    worker: &Worker<'_, (), Progress>,
) -> Result<Option<()>> {
    let failed = |why: String| Error::new(Task::Lab.failure(), why, "Try another size or device.");
    let mut bench = bench.map_err(|e| failed(format!("Its process could not be started: {e}.")))?;
    while !worker.reporter.is_cancelled() {
        match bench.receive::<Step<Report>>(CANCEL_CHECK_INTERVAL) {
            Ok(None) => {}
            Err(ending) => {
                let error = ending.error().and_then(|error| error.lines().next());
                return Err(failed(error.map_or_else(|| format!("Its process {ending}."), str::to_owned)));
            }
            Ok(Some((step, _))) => {
                let Step { done, steps, next, results } = step;
                let name = results.devices.first().map_or("", |on| on.text("name"));
                if name != device && !name.is_empty() {
                    return Err(failed(format!("Another device has answered: '{name}'.")));
                }
                worker.reporter.report(((done, steps), results));
                let Some(next) = next else { return Ok(Some(())) };
                if worker.next_step(next) {
                    bench.send(&());
                }
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;

    use super::*;

    /// Returns the state in which a measurement ends whose child process is this shell script.
    fn state_after(script: &str) -> JobState {
        let script = script.to_owned();
        let mut lane = Lane::new(&(Arc::new(|| {}) as Waker));
        let mut slot = Slot::default();
        let measure = move |worker: &Worker<'_, (), Progress>| {
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            follow(Sandbox::start(command, None), "A", worker)
        };
        slot.start((&mut lane, Task::Lab), "", measure);
        while slot.is_under_way() {
            lane.update(None, &Moment { is_still: true, ..Moment::default() });
            slot.poll();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!lane.uses_device(), "another measurement may begin");
        slot.state
    }

    #[test]
    fn a_child_that_fails_ends_the_measurement_with_its_reason() {
        let step = r#"{"done": 0, "steps": 1, "next": "timing", "results": {"schema": 2, "kind": "bench",
            "program": "", "date": "", "host": {}, "devices": [{"name": "A", "runs": [{"case": {"count": 1}}]}]}}"#;
        let step = step.replace('\n', "");
        let answers = format!("echo '{step}'; read permit");
        let failed = |why: &str| JobState::Failed(format!("{} {why}", Task::Lab.failure()));
        let last = step.replace(r#""timing""#, "null");
        assert_eq!(state_after(&format!("{answers}; echo '{last}'; sleep 60")), JobState::Done);
        let reason = format!("{answers}; echo 'clreel: The device is gone.' >&2; exit 1");
        assert_eq!(state_after(&reason), failed("The device is gone."));
        let crash = state_after(&format!("{answers}; kill -SEGV $$"));
        assert_eq!(crash, failed("Its process crashed in the sandbox (SIGSEGV)."));
        let other = step.replace(r#""A""#, r#""B""#);
        assert_eq!(state_after(&format!("echo '{other}'")), failed("Another device has answered: 'B'."));
        assert_eq!(state_after("exit 3"), failed("Its process ended the sandbox with exit code 3."));
    }
}
