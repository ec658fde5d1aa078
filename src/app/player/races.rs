//! The check of kernels for data races: a child process runs `clreel check-kernels`, which uses Oclgrind.
//!
//! The folder of kernels may change while Oclgrind runs, so the child process gets a copy of the kernels.

use std::process::Command;

use super::kernels::is_same;
use super::*;
use crate::app::lane::{Slot, Task, Worker};
use crate::cli::CheckedCode;
use opencl::folders::Folder;
use opencl::sandbox::{Cause, Sandbox};
use opencl::sources::Sources;
use overlay::{CheckedKernels, RaceLine, RaceReport};

/// The timeout of the check. Kernels may not terminate, and Oclgrind runs only while the movie leaves CPU time.
const CHECK_TIMEOUT: Duration = Duration::from_secs(300);
/// The maximum number of bytes of the output that is read; Oclgrind reports a few faults of each kernel.
const MAX_OUTPUT: usize = 256 << 10;

/// The check for data races, which is running or has ended, and its report.
#[derive(Default)]
pub(super) struct RaceCheck {
    task: Slot<Vec<RaceLine>, u64>,
    of: Option<CheckedKernels>,
    /// The sources from which the checked kernels were copied.
    sources: Sources,
    shown: RaceReport,
    /// The number of the version that was last compared with `sources`, and true if the kernels of the checked variant are
    /// equal in both; `None` before the first comparison.
    compared: Option<(u64, bool)>,
}

impl RaceCheck {
    /// Returns the report of the check for the overlay. What the check has found is shown only while the current version has
    /// the kernels that were checked.
    pub(super) fn shown(&self) -> &RaceReport {
        match self.shown {
            RaceReport::Found(..) if self.compared.is_some_and(|(_, is_same)| !is_same) => {
                &RaceReport::Unknown
            }
            _ => &self.shown,
        }
    }

    /// Compares the kernels that were checked with those of the current version, once for each version. Returns true if this
    /// call has compared them.
    pub(super) fn compare(&mut self, kernels: &LiveKernels, kind: DeviceKind) -> bool {
        let (current, sources) = kernels.saved().unwrap_or_default();
        let is_known = self.compared.is_some_and(|(number, _)| number == current);
        let Some(of) = self.of.filter(|_| !is_known) else { return false };
        self.compared = Some((current, is_same(of.variant, kind, &sources, &self.sources)));
        true
    }

    /// Takes new results of the check, and shows them. Results are hidden while the kernels of the checked variant in
    /// `kernels`, for this kind of device, are not those that were checked.
    pub(super) fn update(&mut self, kernels: &LiveKernels, kind: DeviceKind, cx: &mut PlayerContext) {
        if self.compare(kernels, kind) {
            cx.repaints.redraw_soon();
        }
        let (news, Some(of)) = (self.task.poll(), self.of) else { return };
        if let Some(seconds) = news.progress.last() {
            self.shown = RaceReport::Checking(of, *seconds);
        }
        if let Some(result) = news.result {
            self.shown = result.map_or_else(RaceReport::Failed, |lines| RaceReport::Found(of, lines));
        }
        if news.is_new {
            cx.repaints.redraw_soon();
        }
    }

    /// Starts to check the kernels of the chosen variant, or ends a running check. `saved` are the number and the sources of
    /// the version that was saved last; `None` if built-in kernels run.
    pub(super) fn toggle(&mut self, saved: Option<(u64, Sources)>, cx: &mut PlayerContext) {
        if self.task.is_under_way() {
            self.task.stop();
            self.shown = RaceReport::Unknown;
            return;
        }
        let (version, sources) = saved.unzip();
        let sources = sources.unwrap_or_default();
        let checked = sources.clone();
        let of = CheckedKernels { variant: cx.chosen(), version };
        let work = move |worker: &Worker<'_, Vec<RaceLine>, u64>| check(of.variant, &checked, worker);
        self.task.start((&mut cx.lane, Task::Races), "", work);
        (self.of, self.sources, self.compared) = (Some(of), sources, None);
        self.shown = RaceReport::Checking(of, 0);
    }
}

#[cfg(test)]
impl RaceCheck {
    /// Creates a check of these kernels that has ended and has found a fault.
    pub(super) fn with_fault(of: CheckedKernels, sources: Sources) -> Self {
        let shown = RaceReport::Found(of, vec![RaceLine::Fault("A data race.".to_owned())]);
        Self { of: Some(of), sources, shown, ..Self::default() }
    }
}

/// Runs `clreel check-kernels` on these sources, and returns the lines of its report; `None` if the check was cancelled.
fn check(
    variant: VariantId,
    sources: &Sources,
    worker: &Worker<'_, Vec<RaceLine>, u64>,
) -> Result<Option<Vec<RaceLine>>> {
    let failure = Task::Races.failure();
    let failed = |e: std::io::Error| Error::new(failure, format!("{e}."), "Try `clreel check-kernels`.");
    let folder = std::env::temp_dir().join(format!("clreel-races-{}", std::process::id()));
    // An earlier process with the same number may have left the folder behind.
    let _ = std::fs::remove_dir_all(&folder);
    let folder = Folder::create(&folder).map_err(failed)?;
    let kernels = folder.0.join("kernels");
    sources.write(&kernels).map_err(failed)?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.env_remove("CLREEL_FILTER").env_remove("CLREEL_KERNELS");
    command.args(["check-kernels", "--json", "--variant", variant.short_name()]);
    match variant.opened() {
        Some(filter) => command.arg("--filter").arg(kernels.join(&filter.name)),
        None => command.arg("--kernels").arg(&kernels),
    };
    // Oclgrind counts as a driver, and takes long to load.
    command.env("CLREEL_DRIVER_TIMEOUT", CHECK_TIMEOUT.as_secs().to_string());
    let (mut seconds, mut is_cancelled) = (0, false);
    let (printed, ending) = Sandbox::start(command, None).map_err(failed)?.output(MAX_OUTPUT, |elapsed| {
        if elapsed.as_secs() > seconds {
            seconds = elapsed.as_secs();
            worker.reporter.report(seconds);
        }
        is_cancelled = worker.reporter.is_cancelled();
        (is_cancelled || elapsed > CHECK_TIMEOUT).then_some(CHECK_TIMEOUT)
    });
    if is_cancelled {
        return Ok(None);
    }
    if let Cause::Timeout(_) = ending.cause {
        let why = format!("'{variant}' {ending} under Oclgrind.");
        let hint = "Oclgrind takes long; a kernel that never ends takes longer.";
        return Err(Error::new(failure, why, hint));
    }
    if matches!(ending.cause, Cause::Signal(_) | Cause::NotStarted(_)) {
        return Err(Error::new(failure, format!("`clreel check-kernels` {ending}."), ""));
    }
    let errors = ending.stderr;
    if printed.is_empty() && !errors.is_empty() {
        return Err(Error::new(failure, errors.trim().trim_start_matches("clreel: "), ""));
    }
    let codes: Vec<CheckedCode> =
        serde_json::from_str(&printed).map_err(|e| Error::new(failure, format!("{e}."), ""))?;
    match codes.as_slice() {
        [CheckedCode { faults, error: Some(error), .. }] if faults.is_empty() => {
            Err(Error::new(failure, error.to_string(), ""))
        }
        // If the variant has two kernel codes, one may have been checked and the other not.
        codes => Ok(Some(codes.iter().flat_map(report).collect())),
    }
}

/// Converts the result of checking the code of a variant to lines of text.
fn report(code: &CheckedCode) -> Vec<RaceLine> {
    let mut report: Vec<RaceLine> = code.no_faults_text().map(RaceLine::Clean).into_iter().collect();
    for (sentence, lines) in code.fault_sentences() {
        report.push(RaceLine::Fault(sentence));
        report.extend(lines.iter().cloned().map(RaceLine::Detail));
    }
    if let Some(error) = &code.error {
        report.push(RaceLine::Fault(error.what.clone()));
        report.extend(error.why.lines().map(|line| RaceLine::Detail(line.to_owned())));
    }
    report
}
