//! The trial of one mutant: finds the case in which it changes a byte, and runs `clreel bench` for that case.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::cases::Case;
use super::cases::Runner;
use super::files::Mutant;
use super::witness::{self, cases_of};

/// The timeout for one process, on a machine that may be busy.
pub const LIMIT: Duration = Duration::from_secs(600);

/// The programs and folders that trials need.
pub struct Tools {
    /// The binary whose `bench` is tried.
    pub clreel: PathBuf,
    /// A command that calls [`witness::run_if_requested`].
    pub witness: Vec<OsString>,
    /// The environment that makes a CPU device look like a graphics card.
    pub as_gpu: Vec<(String, OsString)>,
    /// The folder of the original kernels.
    pub kernels: PathBuf,
    /// A folder for temporary files and results.
    pub work: PathBuf,
    /// The folder in which PoCL caches programs. One for all trials: most programs that a trial compiles are originals, and the
    /// witness has compiled the mutant.
    pub compiled: PathBuf,
}

/// The result of the witness: where a mutant first differs from the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WitnessResult {
    /// In the case of this index, with a description of the difference.
    Case(usize, String),
    /// In no case.
    Nowhere,
    /// The mutant does not compile, or the witness failed.
    Broken(String),
}

/// The result of `bench`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BenchResult {
    /// Bench reported the mutant, with this reason.
    Caught(String),
    /// Bench reported nothing.
    Fine,
    /// Bench failed before it ran the kernels.
    Broken(String),
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The mutant changes a byte, and bench reports it.
    Caught(String),
    /// The mutant changes a byte, and bench does not report it.
    Survives,
    /// No case distinguishes the mutant, and it is listed as equal for this reason.
    Equal(&'static str),
    /// No case distinguishes the mutant, and it is not listed as equal: it needs a case, or an entry in the list.
    Unseen,
    /// The mutant or its trial failed.
    Broken(String),
}

/// Combines the results of the witness and of bench.
pub fn verdict(mutant: &Mutant, seen: &WitnessResult, said: &BenchResult) -> Verdict {
    match (seen, said, mutant.equal) {
        (WitnessResult::Broken(why), ..) | (_, BenchResult::Broken(why), _) => Verdict::Broken(why.clone()),
        // The difference may appear in one run and not in the next.
        (_, BenchResult::Caught(how), Some(_)) if mutant.by_device => Verdict::Caught(how.clone()),
        (_, BenchResult::Fine, Some(why)) if mutant.by_device => Verdict::Equal(why),
        (WitnessResult::Case(_, what), _, Some(_)) => {
            Verdict::Broken(format!("It is listed as equal, but changes {what}."))
        }
        (WitnessResult::Nowhere, BenchResult::Caught(how), _) => {
            Verdict::Broken(format!("Bench tells it apart, and no case does: {how}"))
        }
        (WitnessResult::Nowhere, BenchResult::Fine, Some(why)) => Verdict::Equal(why),
        (WitnessResult::Nowhere, BenchResult::Fine, None) => Verdict::Unseen,
        (WitnessResult::Case(..), BenchResult::Caught(how), None) => Verdict::Caught(how.clone()),
        (WitnessResult::Case(..), BenchResult::Fine, None) => Verdict::Survives,
    }
}

impl Tools {
    /// Calls `try_in` with a new folder, which has the mutated file, and deletes the folder; all other files are built into the binary.
    fn in_folder<R>(
        &self,
        mutant: Option<&Mutant>,
        name: &str,
        try_in: impl FnOnce(&Path) -> Result<R, String>,
    ) -> Result<R, String> {
        let folder = self.work.join(format!("{name}-{}", std::process::id()));
        let failed = |e: std::io::Error| format!("{} cannot be written: {e}.", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("kernels")).map_err(failed)?;
        if let Some(mutant) = mutant {
            let file = folder.join("kernels").join(mutant.file);
            file.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(file, &mutant.text).map_err(failed)?;
        }
        let tried = try_in(&folder);
        let _ = fs::remove_dir_all(&folder);
        tried
    }

    fn command(&self, folder: &Path, program: &OsString) -> Command {
        let mut command = Command::new(program);
        command.env("CLREEL_KERNELS", folder.join("kernels")).env("XDG_CACHE_HOME", folder);
        command.env("POCL_CACHE_DIR", &self.compiled);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Searches for a case in which the mutant changes a byte; without a mutant, for one in which the original kernels
    /// differ from the reference.
    pub fn run_witness(&self, mutant: Option<&Mutant>) -> WitnessResult {
        let number = mutant.map_or(0, |mutant| mutant.number);
        let run_in = |folder: &Path| self.run_witness_in(mutant, number, folder);
        self.in_folder(mutant, &format!("witness-{number}"), run_in).unwrap_or_else(WitnessResult::Broken)
    }

    fn run_witness_in(
        &self,
        mutant: Option<&Mutant>,
        number: usize,
        folder: &Path,
    ) -> Result<WitnessResult, String> {
        let (program, arguments) = self.witness.split_first().ok_or("There is no witness.")?;
        let report = folder.join("witness");
        let mut command = self.command(folder, program);
        command.args(arguments).env(witness::VARIABLE, format!("{number}:{}", report.display()));
        let ended = run(&mut command, LIMIT)?;
        let text = fs::read_to_string(&report).unwrap_or_default();
        if let Some(found) = text.lines().find_map(|line| line.strip_prefix("differs ")) {
            let (at, what) = found.split_once(' ').unwrap_or((found, ""));
            return Ok(WitnessResult::Case(at.parse().unwrap_or(0), what.to_owned()));
        }
        if let Some(why) = text.lines().find_map(|line| line.strip_prefix("error ")) {
            return Err(why.to_owned());
        }
        if text.lines().last() == Some("end") {
            return Ok(WitnessResult::Nowhere);
        }
        // The process ended in the middle of a case.
        let at = text.lines().filter_map(|line| line.strip_prefix("case ")).next_back();
        let at = at.and_then(|at| at.parse().ok()).unwrap_or(0);
        let what = match ended {
            None => format!("It runs for more than {} s.", LIMIT.as_secs()),
            Some(status) => match status.signal() {
                Some(signal) => format!("It ends the program (signal {signal})."),
                None => return Err(format!("The witness ended with {status}.")),
            },
        };
        match mutant.map(cases_of).and_then(|cases| cases.get(at).copied()) {
            Some(case) => Ok(WitnessResult::Case(at, format!("{case}: {what}"))),
            None => Err(what),
        }
    }

    /// Returns the arguments of `bench` for a case. Bands, layouts, targets and pictures are chosen by the verifier
    /// itself.
    pub fn arguments(case: &Case) -> Vec<String> {
        let (width, height) = case.size;
        let device = if case.runner.needs_gpu() { "gpu" } else { "cpu" };
        let size = format!("{width}x{height}");
        let mut arguments = ["bench", "--json", "--fail-fast"].map(str::to_owned).to_vec();
        let variant = match case.runner {
            Runner::Ladder(name, id) => return Self::ladder_arguments(name, id, case),
            Runner::ClothOnGpu(id) => return Self::ladder_arguments("cloth", id, case),
            // For modified kernels bench also checks the parameters that tuning may choose.
            Runner::Variant(id, _) | Runner::Tuned(id, ..) | Runner::IntoImage(id, _) => id,
            Runner::Planar(_) => "planar",
            // Bench checks conversions with any variant; this one needs no kernel.
            _ => "native",
        };
        let conversions = if case.runner.converts() { "all" } else { "none" };
        for (name, value) in [
            ("--variant", variant.to_owned()),
            ("--radius", if case.runner.converts() { 1 } else { case.radius }.to_string()),
            ("--size", size),
            ("--frames", "1".to_owned()),
            ("--device", device.to_owned()),
            ("--conversions", conversions.to_owned()),
        ] {
            arguments.extend([name.to_owned(), value]);
        }
        arguments
    }

    fn ladder_arguments(name: &str, id: &str, case: &Case) -> Vec<String> {
        let ((width, height), device) = (case.size, if case.runner.needs_gpu() { "gpu" } else { "cpu" });
        let (option, value) = match name {
            "vector-add" => ("--count", width.to_string()),
            "matmul" => ("--mnk", format!("{height},{width},{}", case.radius)),
            "transpose" => ("--mn", format!("{height},{width}")),
            "cloth" => ("--army", width.to_string()),
            _ => ("--size", format!("{width}x{height}")),
        };
        let of = ["bench", "--json", "--ladder", name, "--variant", id, option, &value];
        let mut all = [&of[..], &["--frames", "1", "--device", device]].concat();
        let block = case.radius.to_string();
        match name {
            "reduction" => all.extend(["--block", &block]),
            "cloth" => all.push("--fail-fast"),
            _ => {}
        }
        all.into_iter().map(str::to_owned).collect()
    }

    /// Runs `bench` with a mutant; without one, with the original kernels.
    pub fn bench(&self, mutant: Option<&Mutant>, case: &Case, name: &str, limit: Duration) -> BenchResult {
        let bench_in = |folder: &Path| self.bench_in(mutant.is_some(), case, folder, limit);
        self.in_folder(mutant, name, bench_in).unwrap_or_else(BenchResult::Broken)
    }

    fn bench_in(
        &self,
        changed: bool,
        case: &Case,
        folder: &Path,
        limit: Duration,
    ) -> Result<BenchResult, String> {
        let mut command = self.command(folder, &self.clreel.clone().into_os_string());
        command.args(Self::arguments(case));
        if !changed {
            command.env_remove("CLREEL_KERNELS");
        }
        if case.runner.needs_gpu() {
            command.envs(self.as_gpu.iter().cloned());
        }
        let (out, err) = (folder.join("out"), folder.join("err"));
        let create = |path: &Path| fs::File::create(path).map_err(|e| e.to_string());
        command.stdout(create(&out)?).stderr(create(&err)?);
        // A process that times out is tried twice: the machine may have been busy.
        let ended = match run(&mut command, limit)? {
            None => run(&mut command, limit)?,
            ended => ended,
        };
        let Some(status) = ended else {
            return Ok(BenchResult::Caught(format!("runs for more than {} s", limit.as_secs())));
        };
        let said = fs::read_to_string(&out).unwrap_or_default();
        let complaint = fs::read_to_string(&err).unwrap_or_default();
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(BenchResult::Fine),
            (Some(1 | 3), _) => match serde_json::from_str(&said).ok().and_then(|report| reason(&report)) {
                Some(why) if why.contains("does not build") => Err(why),
                Some(why) => Ok(BenchResult::Caught(why)),
                None => Err(complaint),
            },
            (_, Some(signal)) => Ok(BenchResult::Caught(format!("ends the program (signal {signal})"))),
            (code, _) => Err(format!("bench ended with {code:?}: {complaint}")),
        }
    }
}

/// Returns the first reason for a mismatch or failure in bench's JSON.
fn reason(report: &Value) -> Option<String> {
    match report {
        Value::Object(fields) => {
            let outcome = fields.get("outcome").and_then(Value::as_str);
            let wrong = matches!(outcome, Some("mismatch" | "failed"));
            match fields.get("reason").and_then(Value::as_str) {
                Some(why) if wrong => Some(why.to_owned()),
                _ => fields.values().find_map(reason),
            }
        }
        Value::Array(items) => items.iter().find_map(reason),
        _ => None,
    }
}

thread_local! {
    /// The CPU time that trials of this thread have used, in seconds.
    static SPENT: Cell<f64> = const { Cell::new(0.0) };
}

/// Returns the CPU time that trials of this thread have used since the last call, in seconds. Unlike elapsed time it does
/// not depend on the load of the machine.
pub fn take_cpu_time() -> f64 {
    SPENT.replace(0.0)
}

/// Waits for a process, and kills it at the timeout; then returns `None`.
fn run(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>, String> {
    let mut child = command.spawn().map_err(|e| format!("{:?} does not run: {e}.", command.get_program()))?;
    let began = Instant::now();
    let mut killed = false;
    loop {
        let mut status = 0;
        // SAFETY: all fields are plain numbers, for which zero is a valid value.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the process is a child that nothing else waits for, and both pointers are valid for writes.
        match unsafe { libc::wait4(child.id() as i32, &mut status, libc::WNOHANG, &mut used) } {
            0 if !killed && began.elapsed() > limit => {
                let _ = child.kill();
                killed = true;
            }
            0 => std::thread::sleep(Duration::from_millis(20)),
            -1 => return Err(std::io::Error::last_os_error().to_string()),
            _ => {
                let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
                SPENT.set(SPENT.get() + seconds(used.ru_utime) + seconds(used.ru_stime));
                return Ok((!killed).then(|| ExitStatus::from_raw(status)));
            }
        }
    }
}
