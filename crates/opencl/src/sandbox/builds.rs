//! Builds every program in the sandbox first, once for each driver, device and program text, so that a compiler that crashes costs
//! only that program. For each device one child process builds one program after the other, and a second one, of low priority, the
//! programs of background jobs. Programs that built without a crash are recorded in `built.txt` in the user's folder for clreel's
//! caches, a hash each, so that a later start needs no child. A crash is not recorded, since the driver may be repaired. With
//! `CLREEL_BINARIES=0`, which ignores the builds of earlier starts, no program is built in the sandbox.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{Cause, Client, Ending, Limit, PREPARATION, START, is_sandboxed, serve};
use crate::cl::{ClContext, CompilerInput, Program};
use crate::identity::{Identity, by_identity, identity_of};
use crate::process::has_low_priority;
use crate::sources::{Sources, hash};
use crate::{binaries, folders, watch};
use base::error::{Error, Result};
use base::load;

/// The name under which the child process serves build requests.
pub const NAME: &str = "programs";
/// The maximum size of `built.txt` in bytes. A longer file is deleted and begun again.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The number of seconds without requests after which a child process ends.
const IDLE_S: libc::c_uint = 30;

/// A request to build a program for a device.
#[derive(Serialize, Deserialize)]
struct Request {
    device: Identity,
    source: CString,
    options: CString,
}

/// A child process with its device, and true if its priority is low.
type DeviceChild = ((Identity, bool), Arc<Mutex<Child>>);

/// The results of builds in the sandbox by the hash of the program, from this run of clreel and from earlier ones.
static KNOWN_RESULTS: OnceLock<Mutex<HashMap<u64, Result<()>>>> = OnceLock::new();
/// The child processes: one for each device, and another one for each device that builds for threads of low priority, since a
/// child inherits the priority of the thread that starts it. On a busy machine, the window's programs would otherwise wait for
/// a minute for a child that a background job has started.
static CHILDREN: Mutex<Vec<DeviceChild>> = Mutex::new(Vec::new());

/// The state of the child process for one device.
struct Child {
    client: Client,
    /// How the child ended in a build that timed out, after which no further program is built for the device; `None` if no
    /// build has timed out.
    timeout_ending: Option<Ending>,
    /// True if the child cannot open the device, for example because only one process may use it. Programs for the device are then
    /// built without the sandbox.
    is_absent: bool,
}

/// Builds a program in the sandbox, before this process builds it, unless it is already known to build there. Does nothing for
/// programs of edited kernel files, which trials test, and if nothing is sandboxed. Any thread may call it.
///
/// # Errors
/// Returns an error if the driver crashes or times out.
pub(crate) fn try_first(cl: &ClContext, file: &str, input: &CompilerInput) -> Result<()> {
    if is_sandboxed() || !binaries::may_use_binaries(true) || cl.sources().is_changed(file) {
        return Ok(());
    }
    let device = &cl.device;
    let options = input.options.to_string_lossy();
    let key = binaries::key(&device.info, &binaries::loader_layers(), &input.text, &options);
    let hash = hash(key.as_bytes());
    let known = KNOWN_RESULTS.get_or_init(|| {
        let bytes = known_results_path().and_then(|path| load::bytes(&path, MAX_FILE_BYTES).ok());
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        let hashes = text.lines().filter_map(|line| u64::from_str_radix(line, 16).ok());
        Mutex::new(hashes.map(|hash| (hash, Ok(()))).collect())
    });
    if let Some(done) = known.lock().get(&hash) {
        return done.clone();
    }
    let identity = identity_of(device);
    let child_key = (identity.clone(), has_low_priority());
    let child = {
        let mut all = CHILDREN.lock();
        let found = all.iter().find(|(of, _)| *of == child_key).map(|(_, child)| child.clone());
        found.unwrap_or_else(|| {
            let child = Child { client: Client::new(NAME), timeout_ending: None, is_absent: false };
            let child = Arc::new(Mutex::new(child));
            all.push((child_key, child.clone()));
            child
        })
    };
    // The child may first build a program of another thread.
    let _watched = watch::in_sandbox("a program is built");
    let mut child = child.lock();
    if let Some(done) = known.lock().get(&hash) {
        return done.clone();
    }
    if child.is_absent {
        return Ok(());
    }
    let request = Request { device: identity, source: input.source.clone(), options: input.options.clone() };
    // The user's limit is for builds, not for loading drivers.
    let limit = |step: &str, _| Limit::new(watch::timeout().filter(|_| step != START), PREPARATION);
    let why = format!("The driver of '{}' compiles each program in the sandbox first.", device.info.name);
    if let Some(ending) = &child.timeout_ending {
        let hint = "Choose another device with --device, or restart with a longer --device-timeout.";
        let what = format!("The kernel file '{file}' was not built: an earlier one {ending}.");
        return Err(Error::new(what, why, hint));
    }
    let done = match child.client.ask(&request, None, &limit)? {
        // Without a child this process builds the program.
        Ok(false) => {
            child.is_absent = true;
            return Ok(());
        }
        Err(Ending { cause: Cause::NotStarted(_), .. }) => return Ok(()),
        Ok(true) => {
            record_build(hash);
            Ok(())
        }
        Err(ending) => {
            let hint = "Try another variant with --variant, or another device with --device.";
            let error = Error::new(format!("The kernel file '{file}' {ending}."), why, hint);
            child.timeout_ending = Some(ending).filter(|ending| !ending.is_crash());
            Err(error)
        }
    };
    known.lock().insert(hash, done.clone());
    done
}

/// Releases children that have ended, as they do after [`IDLE_S`] without requests. Otherwise their process ids, pipes and memory
/// would stay until the next request. Does not wait for children at work.
pub fn release_ended_children() {
    for (_, child) in CHILDREN.lock().iter() {
        if let Some(mut child) = child.try_lock() {
            child.client.release_ended();
        }
    }
}

/// Returns the path of the file of known results; `None` if the user has no cache folder.
fn known_results_path() -> Option<PathBuf> {
    folders::cache_folder().map(|folder| folder.join("built.txt"))
}

/// Records that the program with this hash builds. If recording fails, the next start builds the program in the sandbox again.
fn record_build(hash: u64) {
    let Some(path) = known_results_path() else { return };
    if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_FILE_BYTES) {
        let _ = fs::remove_file(&path);
    }
    let _ = path.parent().map(fs::create_dir_all);
    // Opening a pipe of that name would wait for a reader.
    let file = File::options().create(true).append(true).custom_flags(libc::O_NONBLOCK).open(path);
    let _ = file.and_then(|mut file| file.write_all(format!("{hash:016x}\n").as_bytes()));
}

/// Serves build requests in the child process until the parent ends, then ends the process. `frame` is the descriptor of the
/// shared memory, which is not used.
pub fn run_child(frame: u32) -> ! {
    let mut known: Option<(Identity, ClContext)> = None;
    serve(frame, |request: Request, talk| {
        // SAFETY: a plain number.
        unsafe { libc::alarm(0) };
        talk.step(START);
        if known.as_ref().is_none_or(|(of, _)| *of != request.device) {
            // The request has the whole text of the program.
            let open = |device| ClContext::new(&device, Sources::default()).ok();
            known = by_identity(&request.device).and_then(open).map(|cl| (request.device, cl));
        }
        if let Some((_, cl)) = &known {
            talk.step(super::BUILD);
            // Errors of the compiler are reported by the process that builds the program next.
            let _ = Program::compile(&cl.context, &cl.device, &request.source, &request.options);
        }
        // SAFETY: a plain number.
        unsafe { libc::alarm(IDLE_S) };
        known.is_some()
    })
}
