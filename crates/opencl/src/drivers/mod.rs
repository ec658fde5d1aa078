//! OpenCL drivers are asked in child processes before this one loads any. In: the drivers that are registered on the
//! machine, names to leave out. Out: a verdict on each, and a folder for the loader with those that answered.
//!
//! A driver runs inside the process that loads it: one that crashes while it is loaded, or never answers, would take
//! clreel with it, and the other drivers too. So each gets a child of its own (this binary again, with a hidden
//! subcommand) and a time limit, all at the same time. The loader takes the folder of registrations (`*.icd`) from
//! `OCL_ICD_VENDORS`. [`guard`] sets it to a folder that does not exist yet, while no other thread runs; before the
//! first OpenCL call the folder is made and filled with links to the good drivers. Both ocl-icd and Khronos' loader
//! read a folder's name there.
//!
//! The verdicts are not kept for the next start: a driver can break without any of its files changing, such as when its
//! device no longer answers. Asking takes about as long as listing the devices does anyway.

mod child;
mod diagnosis;
mod loader;
mod registered;

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use base::error::Error;
use child::Asked;
pub(super) use child::time_limit;
pub use child::{answers_in, be_expendable, print_answer, set_program};
use diagnosis::why_empty;
pub(super) use registered::{Folder, STANDARD};
use registered::{Registered, nowhere, registered};

/// The hidden subcommand with which this binary asks the drivers that it finds, and prints the answer.
pub const ASK: &str = "ask-driver";

/// A driver that is registered on this machine, and what came of asking it.
#[derive(Debug, Clone, Serialize)]
pub struct Driver {
    /// The registration, such as `/etc/OpenCL/vendors/pocl.icd`, or the library where that was named itself.
    pub name: String,
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What came of asking a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Verdict {
    /// It answered.
    Ok {
        /// The names of its platforms.
        platforms: Vec<String>,
        /// A sentence for each of its devices that cannot be used.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        unusable: Vec<String>,
    },
    /// It has no platform with a device.
    Empty {
        /// Why, as far as is known: one sentence.
        reason: String,
        /// The file of libOpenCL, where that names no platform though the driver has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        overlooked_by: Option<String>,
    },
    /// It was left out on demand.
    Skipped {
        /// The name that it was left out by.
        by: String,
    },
    /// It crashed, did not answer in time, or could not be asked.
    Failed {
        /// What happened, in one sentence.
        reason: String,
    },
}

impl Driver {
    /// Why it gives no device, or not all, in a sentence that names it; `None` where it gives all.
    pub fn left_out(&self) -> Option<String> {
        let reason = match &self.verdict {
            Verdict::Ok { unusable, .. } if unusable.is_empty() => return None,
            Verdict::Ok { unusable, .. } => unusable.join(" "),
            Verdict::Empty { reason, .. } => format!("no device. {reason}"),
            Verdict::Skipped { by } => format!("left out, as '{by}' asks."),
            Verdict::Failed { reason } => format!("left out. {reason}"),
        };
        Some(format!("{}: {reason}", self.name).trim_end().to_owned())
    }

    /// The sentences for a driver that failed; `None` for others.
    pub fn failure(&self) -> Option<Error> {
        let Verdict::Failed { reason } = &self.verdict else { return None };
        let file = Path::new(&self.name).file_stem().unwrap_or_default().to_string_lossy();
        Some(Error::new(
            format!("The OpenCL driver {} is left out.", self.name),
            reason.clone(),
            format!(
                "Update or reinstall it, and look with `clreel devices`; --skip-platform {file} or \
                 CLREEL_SKIP_PLATFORMS={file} leaves it out without asking."
            ),
        ))
    }
}

struct Guard {
    /// The folder that the loader will look in.
    folder: PathBuf,
    drivers: Vec<Registered>,
    /// A variable that leads to no driver, with its value, and why.
    nowhere: Option<(String, String)>,
    skip: Vec<String>,
}

static GUARD: OnceLock<Guard> = OnceLock::new();
static ASKED: OnceLock<Vec<Driver>> = OnceLock::new();
/// There from the asking until the loader has read it.
static FOLDER: Mutex<Option<Folder>> = Mutex::new(None);

/// From here on drivers are asked in children before they are loaded. `skip` are parts of names, in any case, of
/// platforms or of drivers' files; those in `CLREEL_SKIP_PLATFORMS`, separated by commas, join them. Call it before
/// any thread is started and before the first OpenCL call. Where no driver is registered at the known places, those
/// that the loader finds by itself are loaded unasked.
pub fn guard(skip: &[String]) {
    let drivers = registered(base::environment::get);
    let nowhere = nowhere(base::environment::get);
    let listed = base::environment::text("CLREEL_SKIP_PLATFORMS").unwrap_or_default();
    let skip = skip.iter().map(String::as_str).chain(listed.split(','));
    let skip: Vec<_> = skip.map(|s| s.trim().to_lowercase()).filter(|s| !s.is_empty()).collect();
    let unique = format!("clreel-drivers-{}-{:x}", std::process::id(), RandomState::new().hash_one(0));
    let folder = super::folders::passing().join(unique);
    if !drivers.is_empty() {
        // SAFETY: no other thread reads the environment yet.
        unsafe {
            std::env::set_var("OCL_ICD_VENDORS", &folder);
            std::env::remove_var("OCL_ICD_FILENAMES");
        }
    }
    let _ = GUARD.set(Guard { folder, drivers, nowhere, skip });
}

/// All registered drivers with a verdict on each; asked at the first call, which takes as long as the slowest driver,
/// at most the time limit. Empty where [`guard`] was not called, or no driver is registered.
pub(crate) fn verdicts() -> &'static [Driver] {
    match GUARD.get() {
        Some(guard) if !guard.drivers.is_empty() => ASKED.get_or_init(|| guard.ask()),
        _ => &[],
    }
}

/// All that there is to tell: the [`verdicts`], and where a variable of the environment leads to no driver.
pub fn findings() -> Vec<Driver> {
    let nowhere = GUARD.get().and_then(|guard| guard.nowhere.clone());
    let nowhere = nowhere
        .map(|(name, reason)| Driver { name, verdict: Verdict::Empty { reason, overlooked_by: None } });
    nowhere.into_iter().chain(verdicts().iter().cloned()).collect()
}

/// The sentences for all drivers that failed.
pub fn failures() -> Vec<Error> {
    verdicts().iter().filter_map(Driver::failure).collect()
}

/// Whether OpenCL may be called: when a driver answered, or there was none to ask. The loader then finds those alone
/// that answered.
pub(super) fn may_load() -> bool {
    let drivers = verdicts();
    drivers.is_empty() || drivers.iter().any(|d| matches!(d.verdict, Verdict::Ok { .. }))
}

/// Starts this binary with a hidden subcommand, its argument and a variable in a process that may crash, with the drivers
/// that answered. `None` where drivers are not asked before they are loaded.
pub fn start_expendable(
    subcommand: &str,
    argument: &str,
    variable: (&str, &str),
) -> Option<io::Result<Asked>> {
    let guard = GUARD.get().filter(|guard| !guard.drivers.is_empty())?;
    Some(guard.start_with_good(subcommand, argument, variable))
}

/// This binary with a hidden subcommand, to be started as a process of its own; the loader there finds the drivers that
/// answered, as long as the folder is kept. Where drivers are not asked, it finds those that this process has.
pub(super) fn command_with_good(subcommand: &str) -> io::Result<(Command, Option<Folder>)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut command = child::command(subcommand)?;
    let Some(guard) = GUARD.get().filter(|guard| !guard.drivers.is_empty()) else {
        return Ok((command, None));
    };
    let folder = guard.good(&format!("{subcommand}-{}", COUNT.fetch_add(1, Ordering::Relaxed)))?;
    command.env("OCL_ICD_VENDORS", &folder.0);
    Ok((command, Some(folder)))
}

/// The loader has loaded its drivers: the folder can go.
pub(super) fn loaded() {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// What [`guard`] was told to leave out.
pub fn skipped() -> &'static [String] {
    GUARD.get().map_or(&[], |guard| &guard.skip)
}

/// The name in the list to leave out that this platform is left out by.
pub(super) fn skipped_by(platform: &str) -> Option<&'static str> {
    let platform = platform.to_lowercase();
    GUARD.get()?.skip.iter().find(|part| platform.contains(*part)).map(String::as_str)
}

/// Returns true if the driver that has this platform was registered, or its library named, with this part in its file's name, in
/// lower case.
pub(super) fn is_registered_as(platform: &str, part: &str) -> bool {
    let drivers = GUARD.get().map_or(&[][..], |guard| &guard.drivers);
    let has_platform = |driver: &Driver| match &driver.verdict {
        Verdict::Ok { platforms, .. } => platforms.iter().any(|name| name == platform),
        _ => false,
    };
    drivers.iter().zip(verdicts()).any(|(driver, asked)| has_platform(asked) && driver.is_named(part))
}

impl Guard {
    fn ask(&self) -> Vec<Driver> {
        let made = Folder::create(&self.folder);
        let asked: Vec<_> =
            self.drivers.iter().enumerate().map(|(i, driver)| self.start(driver, i)).collect();
        let began = Instant::now();
        let mut verdicts = Vec::new();
        for (i, (driver, asked)) in self.drivers.iter().zip(asked).enumerate() {
            let mut verdict = match asked {
                Ok(asked) => verdict_of(asked, began),
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
        // Without a driver that answered nothing is loaded, and nothing would take the folder away.
        if verdicts.iter().any(|d| matches!(d.verdict, Verdict::Ok { .. })) {
            *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = made.ok();
        }
        verdicts
    }

    /// Starts a child whose loader finds the drivers that answered.
    fn start_with_good(&self, subcommand: &str, argument: &str, variable: (&str, &str)) -> io::Result<Asked> {
        Asked::start(&[subcommand, argument], Some(variable), self.good(subcommand)?)
    }

    /// A folder with the drivers that answered.
    fn good(&self, name: &str) -> io::Result<Folder> {
        let folder = Folder::create(&self.folder.with_extension(name))?;
        for (i, (driver, asked)) in self.drivers.iter().zip(verdicts()).enumerate() {
            if matches!(asked.verdict, Verdict::Ok { .. }) {
                driver.put_into(&folder.0, i)?;
            }
        }
        Ok(folder)
    }

    /// Starts a child that asks this driver alone, or says why there is none.
    fn start(&self, driver: &Registered, number: usize) -> Result<Asked, Verdict> {
        if let Some(by) = self.skip.iter().find(|part| driver.is_named(part)) {
            return Err(Verdict::Skipped { by: by.clone() });
        }
        // ocl-icd crashes of some of these.
        if let Some(reason) = driver.fault() {
            return Err(Verdict::Empty { reason, overlooked_by: None });
        }
        let folder = self.folder.join(format!("ask-{number}"));
        let started = Folder::create(&folder).and_then(|folder| {
            driver.put_into(&folder.0, 0)?;
            Asked::start(&[ASK], None, folder)
        });
        started.map_err(|e| Verdict::Failed { reason: cannot_ask(&self.folder, &e) })
    }
}

fn cannot_ask(folder: &Path, error: &io::Error) -> String {
    format!("It could not be asked in a process of its own: {error} (in {}).", base::text::name(folder))
}

fn verdict_of(asked: Asked, began: Instant) -> Verdict {
    match asked.wait(began) {
        (_, Some(reason)) => Verdict::Failed { reason },
        (printed, None) => match answers_in::<Answer>(&printed).pop() {
            Some(answer) => answer.verdict(),
            None => Verdict::Failed { reason: "It ended the process that asked it.".into() },
        },
    }
}

/// What a child found.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    /// The names of the platforms that have a device.
    platforms: Vec<String>,
    /// A sentence for each device that cannot be used.
    unusable: Vec<String>,
    /// Why there is none.
    reason: String,
    /// See [`Verdict::Empty`].
    overlooked_by: Option<String>,
}

impl Answer {
    fn verdict(self) -> Verdict {
        let Self { platforms, unusable, reason, overlooked_by } = self;
        if platforms.is_empty() {
            Verdict::Empty { reason, overlooked_by }
        } else {
            Verdict::Ok { platforms, unusable }
        }
    }
}

/// The child's part: prints what the drivers that the loader finds say, and ends the process. `list` asks them for the
/// platform of each device, and for a sentence on each that cannot be used.
pub fn answer(list: impl FnOnce() -> (Vec<String>, Vec<String>)) -> ! {
    be_expendable();
    let (mut platforms, unusable) = list();
    platforms.dedup();
    let why = match (platforms.is_empty(), unusable.is_empty()) {
        (true, true) => registered(base::environment::get).first().map(why_empty),
        (true, false) => Some((unusable.join(" "), None)),
        (false, _) => None,
    };
    let (reason, overlooked_by) = why.unwrap_or_default();
    print_answer(&Answer { platforms, unusable, reason, overlooked_by });
    super::process::exit_now(0)
}

/// Whose libOpenCL may be why there is no device, in a sentence, and what to try; `None` where nothing speaks against it.
pub(super) fn loader_at_fault() -> Option<(String, String)> {
    let overlooked = verdicts().iter().find_map(|driver| match &driver.verdict {
        Verdict::Empty { overlooked_by: Some(file), .. } => Some((&driver.name, file)),
        _ => None,
    });
    // Where no driver is registered, any library would find none.
    let brought = loader::brought().filter(|_| !verdicts().is_empty());
    let brought = brought.map(base::text::name);
    let why = match (overlooked, &brought) {
        (Some((driver, file)), _) => {
            format!("The OpenCL library {file} does not find the driver {driver}, which answers.")
        }
        (None, Some(file)) => format!("Drivers are called through the OpenCL library {file}."),
        (None, None) => return None,
    };
    let try_this = match brought {
        Some(_) => {
            "LD_LIBRARY_PATH brings that library: start clreel without it, or take its folder out of it."
        }
        None => "Use your system's own OpenCL library instead (on Debian ocl-icd-libopencl1).",
    };
    Some((why, try_this.to_owned()))
}
