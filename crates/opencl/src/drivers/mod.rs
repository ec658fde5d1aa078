//! Tests OpenCL drivers in child processes before this process loads any.
//!
//! A driver runs inside the process that loads it: one that crashes while it is loaded, or never returns, would take clreel
//! with it, and the other drivers too. So each driver is loaded by a child process of its own (this binary with a hidden
//! subcommand) with a time limit, all at the same time. The loader reads the path of the folder of registrations (`*.icd`) from
//! `OCL_ICD_VENDORS`. [`test_before_loading`] sets this variable to a folder that does not exist yet, while no other thread
//! runs. Before the first OpenCL call, the folder is created and filled with links to the drivers that passed. Both ocl-icd and
//! Khronos' loader accept a folder there.
//!
//! The verdicts are not kept for the next start: a driver can break without any change of its files, for example when its device
//! no longer responds. Testing takes about as long as listing the devices does anyway.

mod diagnosis;
mod registered;

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::folders::Folder;
use crate::process::exit_now;
use crate::sandbox::{self, Limit, Sandbox};
use base::error::Error;
use base::exit;
use diagnosis::why_empty;
pub(super) use registered::STANDARD_FOLDER;
use registered::{RegisteredDriver, dead_variable, registered};

/// The name of the hidden subcommand that loads the drivers named in its environment and prints a [`Verdict`].
pub const ASK_SUBCOMMAND: &str = "ask-driver";

/// A registered driver with the result of its test.
#[derive(Debug, Clone, Serialize)]
pub struct Driver {
    /// The path of the registration, such as `/etc/OpenCL/vendors/pocl.icd`, or of the library if an environment variable names it
    /// directly.
    pub name: String,
    /// The result of testing the driver.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The result of testing a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Verdict {
    /// The driver offers devices.
    Ok {
        /// The names of the driver's platforms.
        platforms: Vec<String>,
        /// A sentence for each of the driver's devices that cannot be used.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unusable: Vec<String>,
    },
    /// The driver has no platform with a device.
    Empty {
        /// The reason in one sentence, as far as it is known.
        reason: String,
        /// The path of the libOpenCL file, if it finds no platform although the driver has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        overlooked_by: Option<String>,
    },
    /// The user excluded the driver.
    Skipped {
        /// The part of a name by which the user excluded the driver.
        by: String,
    },
    /// The driver crashed, timed out, or could not be tested.
    Failed {
        /// The failure, in one sentence.
        reason: String,
    },
}

impl Driver {
    /// Returns a sentence with the driver's name and the reason why it offers no device, or not all of its devices; `None` if
    /// it offers all.
    pub fn left_out(&self) -> Option<String> {
        let reason = match &self.verdict {
            Verdict::Ok { unusable, .. } if unusable.is_empty() => return None,
            Verdict::Ok { unusable, .. } => unusable.join(" "),
            Verdict::Empty { reason, .. } => format!("no device. {reason}"),
            Verdict::Skipped { by } => format!("skipped, by '{by}'."),
            Verdict::Failed { reason } => format!("skipped. {reason}"),
        };
        Some(format!("{}: {reason}", self.name).trim_end().to_owned())
    }

    /// Returns the error for a driver that failed its test; `None` for other drivers.
    pub fn failure(&self) -> Option<Error> {
        let Verdict::Failed { reason } = &self.verdict else { return None };
        let file = Path::new(&self.name).file_stem().unwrap_or_default().to_string_lossy();
        Some(Error::new(
            format!("The OpenCL driver {} is skipped.", self.name),
            reason.clone(),
            format!(
                "Update or reinstall it, and look with `clreel devices`; --skip-platform {file} skips it."
            ),
        ))
    }
}

/// The registered drivers, which are tested before the loader may load them, and the names by which the user excludes drivers.
struct DriverGuard {
    /// The folder of registrations that the loader will read.
    folder: PathBuf,
    drivers: Vec<RegisteredDriver>,
    /// The environment variable by which the user names a folder without registrations, as the text `NAME=folder`, and the reason
    /// why there are none; `None` if there is no such variable.
    unusable_variable: Option<(String, String)>,
    skip: Vec<String>,
}

/// The drivers to test; not set if drivers are loaded untested.
static DRIVER_GUARD: OnceLock<DriverGuard> = OnceLock::new();
/// The results of the tests, once they have run.
static VERDICTS: OnceLock<Vec<Driver>> = OnceLock::new();
/// The folder with links to the drivers that passed their test; it exists until the loader has read it.
pub(super) static FOLDER: Mutex<Option<Folder>> = Mutex::new(None);

/// Makes clreel test drivers in child processes before it loads them. `skip` are parts of names of platforms or driver files,
/// in upper or lower case; drivers that match are left out. Call it before any thread is started and before the first OpenCL
/// call. If no driver is registered at the known places, the drivers that the loader finds by itself are loaded untested.
pub fn test_before_loading(skip: &[String]) {
    let drivers = registered(base::environment::get);
    let unusable_variable = dead_variable(base::environment::get);
    let skip: Vec<_> = skip.iter().map(|s| s.trim().to_lowercase()).filter(|s| !s.is_empty()).collect();
    let unique = format!("clreel-drivers-{}-{:x}", std::process::id(), RandomState::new().hash_one(0));
    let folder = super::folders::temporary_folder().join(unique);
    if !drivers.is_empty() {
        // SAFETY: no other thread reads the environment yet.
        unsafe {
            std::env::set_var("OCL_ICD_VENDORS", &folder);
            std::env::remove_var("OCL_ICD_FILENAMES");
        }
    }
    let _ = DRIVER_GUARD.set(DriverGuard { folder, drivers, unusable_variable, skip });
}

/// Returns the drivers to test; `None` if drivers are loaded untested.
fn testing_guard() -> Option<&'static DriverGuard> {
    DRIVER_GUARD.get().filter(|guard| !guard.drivers.is_empty())
}

/// Returns all registered drivers with the results of their tests. The first call runs the tests, which takes as long as the
/// slowest driver, at most the time limit. Empty if [`test_before_loading`] was not called, or no driver is registered.
pub(crate) fn verdicts() -> &'static [Driver] {
    testing_guard().map_or(&[], |guard| VERDICTS.get_or_init(|| guard.test_all()))
}

/// Returns the results of the tests as [`verdicts`] does, and an additional entry if an environment variable leads to no
/// driver.
pub fn findings() -> Vec<Driver> {
    let unusable_variable = DRIVER_GUARD.get().and_then(|guard| guard.unusable_variable.clone());
    let unusable_variable = unusable_variable
        .map(|(name, reason)| Driver { name, verdict: Verdict::Empty { reason, overlooked_by: None } });
    unusable_variable.into_iter().chain(verdicts().iter().cloned()).collect()
}

/// Returns an error for each driver that failed its test.
pub fn failures() -> Vec<Error> {
    verdicts().iter().filter_map(Driver::failure).collect()
}

/// Returns true if OpenCL may be called: at least one driver passed its test, or there was none to test. The loader then finds
/// no driver that failed.
pub(super) fn may_load() -> bool {
    let drivers = verdicts();
    drivers.is_empty() || drivers.iter().any(|d| matches!(d.verdict, Verdict::Ok { .. }))
}

/// Returns the time limit for the test of a driver, which `CLREEL_DRIVER_TIMEOUT` sets in seconds.
pub fn test_limit() -> Limit {
    let seconds = base::environment::seconds("CLREEL_DRIVER_TIMEOUT");
    let asked = seconds.filter(|s| s.is_finite() && (0.01..=3600.0).contains(s)).map(Duration::from_secs_f64);
    Limit::new(asked, Duration::ZERO)
}

/// Returns true if drivers are tested in child processes before this process loads them.
pub fn are_tested() -> bool {
    testing_guard().is_some()
}

/// Returns a command that runs this program with a hidden subcommand in the sandbox, and the folder of drivers that passed their
/// test. The child's loader finds these drivers as long as the folder is kept. If drivers are not tested, the folder is `None`, and
/// the child uses the drivers that this process has.
///
/// # Errors
/// Returns an error if the folder cannot be made, or no program for the sandbox was set.
pub fn sandboxed(subcommand: &str) -> io::Result<(Command, Option<Folder>)> {
    /// The number of folders created so far, which makes their names different.
    static FOLDER_COUNT: AtomicU32 = AtomicU32::new(0);
    let mut command = sandbox::command(subcommand)?;
    let Some(guard) = testing_guard() else { return Ok((command, None)) };
    let folder =
        guard.folder_of_passed(&format!("{subcommand}-{}", FOLDER_COUNT.fetch_add(1, Ordering::Relaxed)))?;
    command.env("OCL_ICD_VENDORS", &folder.0);
    Ok((command, Some(folder)))
}

/// Returns the parts of names by which the user excludes drivers, in lower case.
pub fn skipped() -> &'static [String] {
    DRIVER_GUARD.get().map_or(&[], |guard| &guard.skip)
}

/// Returns the part of a name by which the user excludes this platform; `None` if the platform is not excluded.
pub(super) fn skipped_by(platform: &str) -> Option<&'static str> {
    let platform = platform.to_lowercase();
    DRIVER_GUARD.get()?.skip.iter().find(|part| platform.contains(*part)).map(String::as_str)
}

/// Returns true if this platform's driver has a registration file or a library whose name contains `part`. `part` is in lower
/// case.
pub(super) fn is_registered_as(platform: &str, part: &str) -> bool {
    let drivers = DRIVER_GUARD.get().map_or(&[][..], |guard| &guard.drivers);
    let has_platform = |driver: &Driver| match &driver.verdict {
        Verdict::Ok { platforms, .. } => platforms.iter().any(|name| name == platform),
        _ => false,
    };
    drivers.iter().zip(verdicts()).any(|(driver, asked)| has_platform(asked) && driver.is_named(part))
}

impl DriverGuard {
    /// Tests all drivers at the same time, and returns the results in their order.
    fn test_all(&self) -> Vec<Driver> {
        let made = Folder::create(&self.folder);
        let asked: Vec<_> =
            self.drivers.iter().enumerate().map(|(i, driver)| self.start(driver, i)).collect();
        let mut began = Instant::now();
        let mut verdicts = Vec::new();
        for (i, (driver, asked)) in self.drivers.iter().zip(asked).enumerate() {
            let mut verdict = match asked.map(|mut asked| asked.answer(&mut began, test_limit())) {
                Ok(Ok((verdict, _))) => verdict,
                Ok(Err(ending)) => Verdict::Failed { reason: format!("It {ending}.") },
                Err(verdict) => verdict,
            };
            if let Verdict::Ok { platforms, .. } = &verdict {
                if platforms.iter().all(|name| skipped_by(name).is_some()) {
                    let by = platforms.iter().find_map(|name| skipped_by(name)).unwrap_or_default();
                    verdict = Verdict::Skipped { by: by.to_owned() };
                } else if let Err(e) = driver.put_into(&self.folder, i) {
                    verdict = Verdict::Failed { reason: cannot_ask(&self.folder, &e) };
                }
            }
            if let (Verdict::Empty { reason, .. } | Verdict::Failed { reason }, Some(variable)) =
                (&mut verdict, driver.named_by)
            {
                reason.push_str(&format!(" {variable} names it."));
            }
            verdicts.push(Driver { name: driver.name(), verdict });
        }
        // If no driver passed, none is loaded, and nothing would remove the folder.
        if verdicts.iter().any(|d| matches!(d.verdict, Verdict::Ok { .. })) {
            *FOLDER.lock() = made.ok();
        }
        verdicts
    }

    /// Creates a folder with registrations of the drivers that passed their test; `name` distinguishes it from other such folders.
    fn folder_of_passed(&self, name: &str) -> io::Result<Folder> {
        let folder = Folder::create(&self.folder.with_extension(name))?;
        for (i, (driver, asked)) in self.drivers.iter().zip(verdicts()).enumerate() {
            if matches!(asked.verdict, Verdict::Ok { .. }) {
                driver.put_into(&folder.0, i)?;
            }
        }
        Ok(folder)
    }

    /// Starts a child process that tests this driver. If no child is started, the error is the driver's verdict.
    fn start(&self, driver: &RegisteredDriver, number: usize) -> Result<Sandbox, Verdict> {
        if let Some(by) = self.skip.iter().find(|part| driver.is_named(part)) {
            return Err(Verdict::Skipped { by: by.clone() });
        }
        // Loaders cannot handle all of these registrations, so no loader gets any of them.
        if let Some(reason) = driver.fault() {
            return Err(Verdict::Empty { reason, overlooked_by: None });
        }
        let folder = self.folder.join(format!("ask-{number}"));
        let started = Folder::create(&folder).and_then(|folder| {
            driver.put_into(&folder.0, 0)?;
            let mut command = sandbox::command(ASK_SUBCOMMAND)?;
            command.env("OCL_ICD_VENDORS", &folder.0);
            Sandbox::start(command, Some(folder))
        });
        started.map_err(|e| Verdict::Failed { reason: cannot_ask(&self.folder, &e) })
    }
}

/// Returns the reason why a driver could not be tested, from an error of the system.
fn cannot_ask(folder: &Path, error: &io::Error) -> String {
    format!("It could not be tested in a child process: {error} (in {}).", base::text::name(folder))
}

/// Runs in the child process: prints the result of testing the drivers that its loader finds, and ends the process. `list` returns
/// the platform of each device, and a sentence for each device that cannot be used.
pub fn run_child(list: impl FnOnce() -> (Vec<String>, Vec<String>)) -> ! {
    if sandbox::enter().is_err() {
        exit_now(exit::FAILED);
    }
    let (mut platforms, unusable) = list();
    platforms.dedup();
    sandbox::send(&match (platforms.is_empty(), unusable.is_empty()) {
        (false, _) => Verdict::Ok { platforms, unusable },
        (true, false) => Verdict::Empty { reason: unusable.join(" "), overlooked_by: None },
        (true, true) => {
            let driver = registered(base::environment::get).into_iter().next();
            let (reason, overlooked_by) = driver.as_ref().map(why_empty).unwrap_or_default();
            Verdict::Empty { reason, overlooked_by }
        }
    });
    exit_now(exit::DONE)
}

/// Returns a sentence and a hint if there is evidence that the libOpenCL file is the reason that there is no device; otherwise
/// `None`.
pub(super) fn loader_at_fault() -> Option<(String, String)> {
    let overlooked = verdicts().iter().find_map(|driver| match &driver.verdict {
        Verdict::Empty { overlooked_by: Some(file), .. } => Some((&driver.name, file)),
        _ => None,
    });
    // If no driver is registered, no library would find one.
    let brought = diagnosis::from_library_path().filter(|_| !verdicts().is_empty());
    let brought = brought.map(base::text::name);
    let why = match (overlooked, &brought) {
        (Some((driver, file)), _) => {
            format!("The OpenCL library {file} does not find the driver {driver}, which works.")
        }
        (None, Some(file)) => format!("Drivers are called through the OpenCL library {file}."),
        (None, None) => return None,
    };
    let try_this = match brought {
        Some(_) => {
            "LD_LIBRARY_PATH selects that library: start clreel without it, or remove the library's folder from it."
        }
        None => "Use your system's own OpenCL library instead (on Debian ocl-icd-libopencl1).",
    };
    Some((why, try_this.to_owned()))
}
