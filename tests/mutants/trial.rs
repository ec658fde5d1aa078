//! A mutant's trial. In: a mutant. Out: the case in which it changes a byte, and what `clreel bench` says of it.

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
use super::cases::Subject;
use super::rules::Mutant;
use super::witness::{self, cases_of};

/// How long one process may take, on a machine that does much else.
pub const LIMIT: Duration = Duration::from_secs(600);

/// What a mutant is tried with.
pub struct Tools {
    /// The binary whose `bench` is tried.
    pub clreel: PathBuf,
    /// A command that ends in [`witness::attend`].
    pub witness: Vec<OsString>,
    /// The environment that makes a device look like a graphics card.
    pub as_gpu: Vec<(String, OsString)>,
    /// The kernels as they are.
    pub kernels: PathBuf,
    /// A folder for what a trial leaves.
    pub work: PathBuf,
}

/// How a mutant first showed itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Seen {
    /// In this case, by its number, and what differed.
    Case(usize, String),
    /// In no case.
    Nowhere,
    /// Not at all: it does not compile, or the witness failed.
    Broken(String),
}

/// What `bench` said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Said {
    /// It was caught, and how.
    Caught(String),
    /// All is well.
    Fine,
    /// Bench did not get as far as the kernels.
    Broken(String),
}

/// The end of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It changes a byte, and bench tells.
    Caught(String),
    /// It changes a byte, and bench does not tell.
    Survives,
    /// No case tells it apart, as was said.
    Equal(&'static str),
    /// No case tells it apart, and nobody said so: it survives, or it needs a case.
    Unseen,
    /// The mutant or the trial is at fault.
    Broken(String),
}

/// What came of a process.
enum Ended {
    With(ExitStatus),
    Never,
}

/// The verdict of what was seen and said.
pub fn verdict(mutant: &Mutant, seen: &Seen, said: &Said) -> Verdict {
    match (seen, said, mutant.equal) {
        (Seen::Broken(why), ..) | (_, Said::Broken(why), _) => Verdict::Broken(why.clone()),
        // It shows in one run, and not in the next.
        (_, Said::Caught(how), Some(_)) if mutant.by_device => Verdict::Caught(how.clone()),
        (_, Said::Fine, Some(why)) if mutant.by_device => Verdict::Equal(why),
        (Seen::Case(_, what), _, Some(_)) => {
            Verdict::Broken(format!("It is listed as equal, but changes {what}."))
        }
        (Seen::Nowhere, Said::Caught(how), _) => {
            Verdict::Broken(format!("Bench tells it apart, and no case does: {how}"))
        }
        (Seen::Nowhere, Said::Fine, Some(why)) => Verdict::Equal(why),
        (Seen::Nowhere, Said::Fine, None) => Verdict::Unseen,
        (Seen::Case(..), Said::Caught(how), None) => Verdict::Caught(how.clone()),
        (Seen::Case(..), Said::Fine, None) => Verdict::Survives,
    }
}

impl Tools {
    /// Where PoCL keeps what it has compiled, for as long as a run lasts.
    pub fn compiled(&self) -> PathBuf {
        self.work.join("compiled")
    }

    /// A folder with the changed file, for one trial; everything else comes from the binary.
    fn folder(&self, mutant: Option<&Mutant>, name: &str) -> Result<PathBuf, String> {
        let folder = self.work.join(format!("{name}-{}", std::process::id()));
        let failed = |e: std::io::Error| format!("{} cannot be written: {e}.", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("kernels")).map_err(failed)?;
        if let Some(mutant) = mutant {
            let file = folder.join("kernels").join(mutant.file);
            file.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(file, &mutant.text).map_err(failed)?;
        }
        Ok(folder)
    }

    fn command(&self, folder: &Path, program: &OsString) -> Command {
        let mut command = Command::new(program);
        command
            .env("CLREEL_KERNELS", folder.join("kernels"))
            .env("XDG_CACHE_HOME", folder)
            // One for all: most of what a trial compiles is no mutant, and the witness has compiled the mutant.
            .env("POCL_CACHE_DIR", self.compiled())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Looks for a case in which the mutant changes a byte; without a mutant, for one in which the kernels as they are
    /// differ from the reference.
    pub fn see(&self, mutant: Option<&Mutant>) -> Seen {
        let number = mutant.map_or(0, |mutant| mutant.number);
        let folder = match self.folder(mutant, &format!("see-{number}")) {
            Ok(folder) => folder,
            Err(why) => return Seen::Broken(why),
        };
        let seen = self.see_in(mutant, number, &folder);
        let _ = fs::remove_dir_all(folder);
        seen
    }

    fn see_in(&self, mutant: Option<&Mutant>, number: usize, folder: &Path) -> Seen {
        let Some((program, arguments)) = self.witness.split_first() else {
            return Seen::Broken("There is no witness.".to_owned());
        };
        let report = folder.join("witness");
        let mut command = self.command(folder, program);
        command.args(arguments).env(witness::VARIABLE, format!("{number}:{}", report.display()));
        let ended = match run(&mut command, LIMIT) {
            Ok(ended) => ended,
            Err(why) => return Seen::Broken(why),
        };
        let text = fs::read_to_string(&report).unwrap_or_default();
        if let Some(found) = text.lines().find_map(|line| line.strip_prefix("differs ")) {
            let (at, what) = found.split_once(' ').unwrap_or((found, ""));
            return Seen::Case(at.parse().unwrap_or(0), what.to_owned());
        }
        if let Some(why) = text.lines().find_map(|line| line.strip_prefix("error ")) {
            return Seen::Broken(why.to_owned());
        }
        if text.lines().last() == Some("end") {
            return Seen::Nowhere;
        }
        // It ended in the middle of a case.
        let at = text.lines().filter_map(|line| line.strip_prefix("case ")).next_back();
        let at = at.and_then(|at| at.parse().ok()).unwrap_or(0);
        let what = match ended {
            Ended::Never => format!("It runs for more than {} s.", LIMIT.as_secs()),
            Ended::With(status) => match status.signal() {
                Some(signal) => format!("It ends the program (signal {signal})."),
                None => return Seen::Broken(format!("The witness ended with {status}.")),
            },
        };
        match mutant.map(cases_of).and_then(|cases| cases.get(at).copied()) {
            Some(case) => Seen::Case(at, format!("{case}: {what}")),
            None => Seen::Broken(what),
        }
    }

    /// The arguments of `bench` for a case: what the user would ask for. Bands, layouts, targets and pictures are the
    /// verifier's own.
    pub fn arguments(case: &Case) -> Vec<String> {
        let (width, height) = case.size;
        let device = if case.subject.needs_gpu() { "gpu" } else { "cpu" };
        let size = format!("{width}x{height}");
        let mut arguments = ["bench", "--json", "--fail-fast"].map(str::to_owned).to_vec();
        let variant = match case.subject {
            Subject::Added(_)
            | Subject::Reduced(_)
            | Subject::Counted(_)
            | Subject::Multiplied(_)
            | Subject::Transposed(_)
            | Subject::Simulated(_) => {
                let (count, block) = (width.to_string(), case.radius.to_string());
                let (mnk, mn) = (format!("{height},{width},{}", case.radius), format!("{height},{width}"));
                let of = match case.subject {
                    Subject::Reduced(id) => {
                        vec!["--ladder", "reduction", "--variant", id, "--size", &size, "--block", &block]
                    }
                    Subject::Counted(id) => {
                        vec!["--ladder", "histogram", "--variant", id, "--size", &size]
                    }
                    Subject::Added(id) => vec!["--ladder", "vector-add", "--variant", id, "--count", &count],
                    Subject::Multiplied(id) => vec!["--ladder", "matmul", "--variant", id, "--mnk", &mnk],
                    Subject::Simulated(id) => {
                        vec!["--ladder", "cloth", "--variant", id, "--army", &count, "--fail-fast"]
                    }
                    Subject::Transposed(id) => vec!["--ladder", "transpose", "--variant", id, "--mn", &mn],
                    _ => Vec::new(),
                };
                let all =
                    ["bench", "--json"].into_iter().chain(of).chain(["--frames", "1", "--device", device]);
                return all.map(str::to_owned).collect();
            }
            // Of changed kernels bench checks the parameters that tuning may choose besides.
            Subject::Variant(id, _) | Subject::Tuned(id, ..) | Subject::IntoImage(id, _) => id.as_str(),
            Subject::Planar(_) => "planar",
            // Bench checks conversions besides; this filter needs no kernel.
            _ => "native",
        };
        let conversions = if case.subject.converts() { "all" } else { "none" };
        for (name, value) in [
            ("--variant", variant.to_owned()),
            ("--radius", if case.subject.converts() { 1 } else { case.radius }.to_string()),
            ("--size", size),
            ("--frames", "1".to_owned()),
            ("--device", device.to_owned()),
            ("--conversions", conversions.to_owned()),
        ] {
            arguments.extend([name.to_owned(), value]);
        }
        arguments
    }

    /// What `bench` says of a mutant within `limit`; without one, of the kernels as they are.
    pub fn bench(&self, mutant: Option<&Mutant>, case: &Case, name: &str, limit: Duration) -> Said {
        let folder = match self.folder(mutant, name) {
            Ok(folder) => folder,
            Err(why) => return Said::Broken(why),
        };
        let said = self.bench_in(mutant.is_some(), case, &folder, limit);
        let _ = fs::remove_dir_all(folder);
        said
    }

    fn bench_in(&self, changed: bool, case: &Case, folder: &Path, limit: Duration) -> Said {
        let mut command = self.command(folder, &self.clreel.clone().into_os_string());
        command.args(Self::arguments(case));
        if !changed {
            command.env_remove("CLREEL_KERNELS");
        }
        if case.subject.needs_gpu() {
            command.envs(self.as_gpu.iter().cloned());
        }
        let (out, err) = (folder.join("out"), folder.join("err"));
        match (fs::File::create(&out), fs::File::create(&err)) {
            (Ok(out), Ok(err)) => command.stdout(out).stderr(err),
            (Err(e), _) | (_, Err(e)) => return Said::Broken(e.to_string()),
        };
        // What does not end is tried twice: the machine may have been busy.
        let ended = match run(&mut command, limit) {
            Ok(Ended::Never) => run(&mut command, limit),
            ended => ended,
        };
        let status = match ended {
            Ok(Ended::With(status)) => status,
            Ok(Ended::Never) => return Said::Caught(format!("runs for more than {} s", limit.as_secs())),
            Err(why) => return Said::Broken(why),
        };
        let said = fs::read_to_string(&out).unwrap_or_default();
        let complaint = fs::read_to_string(&err).unwrap_or_default();
        match (status.code(), status.signal()) {
            (Some(0), _) => Said::Fine,
            (Some(1 | 3), _) => match serde_json::from_str(&said).ok().and_then(|report| reason(&report)) {
                Some(why) if why.contains("does not build") => Said::Broken(why),
                Some(why) => Said::Caught(why),
                None => Said::Broken(complaint),
            },
            (_, Some(signal)) => Said::Caught(format!("ends the program (signal {signal})")),
            (code, _) => Said::Broken(format!("bench ended with {code:?}: {complaint}")),
        }
    }
}

/// The first reason in bench's JSON why something is not right.
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
    /// Seconds of processor time that trials of this thread have taken.
    static SPENT: Cell<f64> = const { Cell::new(0.0) };
}

/// What trials of this thread have taken since this was asked last, in seconds of processor time: other than the time that
/// passes it does not depend on what else the machine does.
pub fn spent() -> f64 {
    SPENT.replace(0.0)
}

/// Waits for a process, and ends one that takes too long.
fn run(command: &mut Command, limit: Duration) -> Result<Ended, String> {
    let mut child = command.spawn().map_err(|e| format!("{:?} does not run: {e}.", command.get_program()))?;
    let began = Instant::now();
    let mut killed = false;
    loop {
        let mut status = 0;
        // SAFETY: plain numbers, for which zeros are a value.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the process is this one's child that nobody else waits for, and both places are there to be written.
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
                return Ok(if killed { Ended::Never } else { Ended::With(ExitStatus::from_raw(status)) });
            }
        }
    }
}
