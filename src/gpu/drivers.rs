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

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The hidden subcommand with which this binary asks the drivers that it finds, and prints the answer.
pub const ASK: &str = "ask-driver";

const VENDORS: &str = "/etc/OpenCL/vendors";
/// Stands before the answer in what a child prints: drivers print too.
const MARK: &str = "clreel-driver-answer:";

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
    },
    /// It has no platform with a device.
    Empty {
        /// Why, as far as is known: one sentence.
        reason: String,
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

/// A driver that can be loaded by the loader: its registration, or its library.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Registered {
    File(PathBuf),
    Library(OsString),
}

impl Registered {
    fn name(&self) -> String {
        match self {
            Registered::File(path) => path.display().to_string(),
            Registered::Library(library) => library.to_string_lossy().into_owned(),
        }
    }

    /// The library to load, as the loader reads it.
    fn library(&self) -> OsString {
        match self {
            Registered::File(path) => {
                let bytes = fs::read(path).unwrap_or_default();
                let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
                OsStr::from_bytes(line.trim_ascii()).to_owned()
            }
            Registered::Library(library) => library.clone(),
        }
    }

    /// What a name to leave out is looked for in, besides the platforms' names: the files' names.
    fn is_named(&self, part: &str) -> bool {
        let file_name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let file = match self {
            Registered::File(path) => file_name(path),
            Registered::Library(_) => String::new(),
        };
        file.contains(part) || file_name(Path::new(&self.library())).contains(part)
    }

    /// Registers it in `folder`, under a name that keeps the order.
    fn put_into(&self, folder: &Path, number: usize) -> io::Result<()> {
        let link = folder.join(format!("{number:03}.icd"));
        match self {
            Registered::File(path) => symlink(std::path::absolute(path)?, link),
            Registered::Library(library) => fs::write(link, library.as_bytes()),
        }
    }
}

/// The drivers that the loader would load. The rules are those of ocl-icd's manual (libOpenCL(7)) and of Khronos'
/// loader; `variable` reads the environment.
fn registered(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Registered> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let standard = PathBuf::from(set("OPENCL_VENDOR_PATH").unwrap_or(VENDORS.into()));
    let mut found = match set("OCL_ICD_VENDORS").map(PathBuf::from) {
        None => files_in(&standard),
        Some(path) if path.is_dir() => files_in(&path),
        Some(path) if path.extension() == Some(OsStr::new("icd")) => {
            let in_standard = standard.join(&path);
            let bare = path.components().count() == 1;
            vec![Registered::File(if bare && in_standard.exists() { in_standard } else { path })]
        }
        Some(library) => vec![Registered::Library(library.into_os_string())],
    };
    // Khronos' loader loads these as well; ocl-icd does not know the variable.
    for library in set("OCL_ICD_FILENAMES").iter().flat_map(|list| list.as_bytes().split(|b| *b == b':')) {
        if !library.is_empty() {
            found.push(Registered::Library(OsStr::from_bytes(library).to_owned()));
        }
    }
    found
}

fn files_in(folder: &Path) -> Vec<Registered> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension() == Some(OsStr::new("icd"))).collect();
    files.sort();
    files.into_iter().map(Registered::File).collect()
}

/// A folder of this process alone, taken away with all in it when dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn create(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().mode(0o700).create(path)?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is a few links in a folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Guard {
    /// The folder that the loader will look in.
    folder: PathBuf,
    drivers: Vec<Registered>,
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
    let drivers = registered(|name| std::env::var_os(name));
    let listed = std::env::var("CLREEL_SKIP_PLATFORMS").unwrap_or_default();
    let skip = skip.iter().map(String::as_str).chain(listed.split(','));
    let skip: Vec<_> = skip.map(|s| s.trim().to_lowercase()).filter(|s| !s.is_empty()).collect();
    let place =
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|p| p.is_dir() && is_writable(p));
    let unique = format!("clreel-drivers-{}-{:x}", std::process::id(), RandomState::new().hash_one(0));
    let folder = place.unwrap_or_else(std::env::temp_dir).join(unique);
    if !drivers.is_empty() {
        // SAFETY: no other thread reads the environment yet.
        unsafe {
            std::env::set_var("OCL_ICD_VENDORS", &folder);
            std::env::remove_var("OCL_ICD_FILENAMES");
        }
    }
    let _ = GUARD.set(Guard { folder, drivers, skip });
}

fn is_writable(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path ends with a zero.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

/// All registered drivers with a verdict on each; asked at the first call, which takes as long as the slowest driver,
/// at most the time limit. Empty where [`guard`] was not called, or no driver is registered.
pub fn verdicts() -> &'static [Driver] {
    match GUARD.get() {
        Some(guard) if !guard.drivers.is_empty() => ASKED.get_or_init(|| guard.ask()),
        _ => &[],
    }
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

/// The loader has loaded its drivers: the folder can go.
pub(super) fn loaded() {
    *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The name in the list to leave out that this platform is left out by.
pub(super) fn skipped_by(platform: &str) -> Option<&'static str> {
    let platform = platform.to_lowercase();
    GUARD.get()?.skip.iter().find(|part| platform.contains(*part)).map(String::as_str)
}

impl Guard {
    fn ask(&self) -> Vec<Driver> {
        let made = Folder::create(&self.folder);
        let asked: Vec<_> =
            self.drivers.iter().enumerate().map(|(i, driver)| self.start(driver, i)).collect();
        let deadline = Instant::now() + time_limit();
        let mut verdicts = Vec::new();
        for (i, (driver, asked)) in self.drivers.iter().zip(asked).enumerate() {
            let mut verdict = match asked {
                Ok(asked) => asked.verdict(deadline),
                Err(verdict) => verdict,
            };
            if let Verdict::Ok { platforms } = &verdict {
                if platforms.iter().all(|name| skipped_by(name).is_some()) {
                    let by = platforms.iter().find_map(|name| skipped_by(name)).unwrap_or_default();
                    verdict = Verdict::Skipped { by: by.to_owned() };
                } else if let Err(e) = driver.put_into(&self.folder, i) {
                    verdict = Verdict::Failed { reason: cannot_ask(&self.folder, &e) };
                }
            }
            verdicts.push(Driver { name: driver.name(), verdict });
        }
        // Without a driver that answered nothing is loaded, and nothing would take the folder away.
        if verdicts.iter().any(|d| matches!(d.verdict, Verdict::Ok { .. })) {
            *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = made.ok();
        }
        verdicts
    }

    /// Starts a child that asks this driver alone, or says why there is none.
    fn start(&self, driver: &Registered, number: usize) -> Result<Asked, Verdict> {
        if let Some(by) = self.skip.iter().find(|part| driver.is_named(part)) {
            return Err(Verdict::Skipped { by: by.clone() });
        }
        let folder = self.folder.join(format!("ask-{number}"));
        let started = Folder::create(&folder).and_then(|folder| {
            driver.put_into(&folder.0, 0)?;
            Asked::start(folder)
        });
        started.map_err(|e| Verdict::Failed { reason: cannot_ask(&self.folder, &e) })
    }
}

fn cannot_ask(folder: &Path, error: &io::Error) -> String {
    format!("It could not be asked in a process of its own: {error} (in {}).", folder.display())
}

fn time_limit() -> Duration {
    let seconds = std::env::var("CLREEL_DRIVER_TIMEOUT").ok().and_then(|s| s.parse::<f64>().ok());
    Duration::from_secs_f64(seconds.filter(|s| s.is_finite() && (0.01..=3600.0).contains(s)).unwrap_or(10.0))
}

/// A child that asks one driver.
struct Asked {
    child: Child,
    printed: std::sync::mpsc::Receiver<Vec<u8>>,
    _folder: Folder,
}

impl Asked {
    fn start(folder: Folder) -> io::Result<Self> {
        // The link leads to this very program, also when its file was replaced meanwhile.
        let mut child = Command::new("/proc/self/exe")
            .arg0("clreel")
            .arg(ASK)
            .env("OCL_ICD_VENDORS", &folder.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (sender, printed) = channel();
        let stdout = child.stdout.take();
        // Not joined: a driver may leave a process behind that keeps the pipe open.
        std::thread::Builder::new().name("ask-driver".into()).spawn(move || {
            let mut bytes = Vec::new();
            let _ = stdout.map(|mut out| out.read_to_end(&mut bytes));
            let _ = sender.send(bytes);
        })?;
        Ok(Self { child, printed, _folder: folder })
    }

    fn verdict(mut self, deadline: Instant) -> Verdict {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let printed = self.printed.recv_timeout(left(deadline));
        // The pipe closes a moment before the process has ended.
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if !left(deadline).is_zero() => std::thread::sleep(Duration::from_millis(1)),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        let Some(status) = status else {
            let _ = self.child.kill();
            // A process that hangs in the kernel does not end: nobody waits for it here.
            let _ = std::thread::Builder::new().spawn(move || self.child.wait());
            let seconds = time_limit().as_secs_f64();
            return Verdict::Failed { reason: format!("It did not answer within {seconds} s.") };
        };
        match (printed.map(|bytes| answer_in(&bytes)), status.success()) {
            (Ok(Some(answer)), true) => answer.verdict(),
            (Ok(_), _) | (Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected), _) => {
                Verdict::Failed { reason: how_it_ended(status) }
            }
        }
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    let signal = match status.signal() {
        Some(libc::SIGSEGV) => "a segmentation fault",
        Some(libc::SIGABRT) => "an abort",
        Some(libc::SIGBUS) => "a bus error",
        Some(libc::SIGILL) => "an illegal instruction",
        Some(libc::SIGFPE) => "an arithmetic error",
        Some(libc::SIGKILL) => "a kill, perhaps for want of memory",
        Some(number) => return format!("It crashed while it was asked for its devices (signal {number})."),
        None => {
            let code = status.code().unwrap_or_default();
            return format!("It ended the process that asked it for its devices, with code {code}.");
        }
    };
    format!("It crashed while it was asked for its devices: {signal}.")
}

/// What a child found.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answer {
    /// The names of the platforms that have a device.
    platforms: Vec<String>,
    /// Why there is none.
    reason: String,
}

impl Answer {
    fn verdict(self) -> Verdict {
        if self.platforms.is_empty() {
            Verdict::Empty { reason: self.reason }
        } else {
            Verdict::Ok { platforms: self.platforms }
        }
    }
}

fn answer_in(printed: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(printed);
    let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK))?;
    serde_json::from_str(line).ok()
}

/// The child's part: asks the drivers that the loader finds, prints what they say, and ends the process.
pub fn answer() -> ! {
    // SAFETY: plain numbers. A crash that is expected leaves no core file behind; and whatever becomes of the process
    // that waits, this one ends soon after.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::alarm(time_limit().as_secs() as libc::c_uint + 2);
    }
    let mut answer = Answer::default();
    for device in super::cl::list_devices() {
        if answer.platforms.last() != Some(&device.info.platform) {
            answer.platforms.push(device.info.platform);
        }
    }
    if answer.platforms.is_empty() {
        let drivers = registered(|name| std::env::var_os(name));
        answer.reason = drivers.first().map(|driver| why_empty(&driver.library())).unwrap_or_default();
    }
    // A line of its own, whatever the driver has printed.
    println!("\n{MARK}{}", serde_json::to_string(&answer).unwrap_or_default());
    super::cl::exit_now(0)
}

fn why_empty(library: &OsStr) -> String {
    let Ok(name) = std::ffi::CString::new(library.as_bytes()) else {
        return "The name of its library is not one.".to_owned();
    };
    // SAFETY: the name ends with a zero, the library stays loaded, and the message is copied before the next call.
    unsafe {
        if !libc::dlopen(name.as_ptr(), libc::RTLD_LAZY).is_null() {
            return "It offers no device on this machine.".to_owned();
        }
        let message = libc::dlerror();
        let message = if message.is_null() {
            "no reason given".into()
        } else {
            std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned()
        };
        format!("Its library cannot be loaded: {message}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_which_drivers_are_registered() {
        let folder = std::env::temp_dir().join(format!("clreel-registered-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let folder = Folder::create(&folder).unwrap();
        for name in ["b.icd", "a.icd", "notes.txt"] {
            fs::write(folder.0.join(name), "libsome.so.1 \n").unwrap();
        }
        let with = |name: &str, value: &OsStr| {
            let (name, value) = (name.to_owned(), value.to_owned());
            registered(move |asked| (asked == name).then(|| value.clone()))
        };
        let file = |name: &str| Registered::File(folder.0.join(name));
        let both = [file("a.icd"), file("b.icd")];
        assert_eq!(with("OCL_ICD_VENDORS", folder.0.as_os_str()), both);
        assert_eq!(with("OPENCL_VENDOR_PATH", folder.0.as_os_str()), both);
        assert_eq!(with("OCL_ICD_VENDORS", folder.0.join("b.icd").as_os_str()), [file("b.icd")]);
        let library = |name: &str| Registered::Library(name.into());
        assert_eq!(with("OCL_ICD_VENDORS", OsStr::new("libmine.so")), [library("libmine.so")]);
        let listed = with("OCL_ICD_FILENAMES", OsStr::new("/a/libone.so:libtwo.so"));
        assert_eq!(listed[listed.len() - 2..], [library("/a/libone.so"), library("libtwo.so")]);
        assert_eq!(file("a.icd").library(), "libsome.so.1");
        assert!(file("a.icd").is_named("a.icd") && file("a.icd").is_named("some"));
        assert!(!file("a.icd").is_named("registered"), "the folder's name does not count");
    }

    #[test]
    fn an_answer_is_found_among_what_a_driver_prints() {
        let printed = format!(
            "driver says hello\nno end of line\n{MARK}{{\"platforms\":[\"P\"],\"reason\":\"\"}}\nbye"
        );
        assert_eq!(
            answer_in(printed.as_bytes()).unwrap().verdict(),
            Verdict::Ok { platforms: vec!["P".into()] }
        );
        assert!(answer_in(b"\xff\xfe nothing").is_none());
        assert!(answer_in(format!("{MARK}{{").as_bytes()).is_none());
    }
}
