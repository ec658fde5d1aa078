//! The process around the drivers: what they read from the environment at its start, who runs first in it, and how it
//! ends while they are still at work.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::folders;

/// Sets what drivers read from the environment; call it first of all, before any thread is started. A value that the user
/// has set stays.
///
/// PoCL's worker threads are free to share a core, and then wait for each other: on two cores half of all
/// launches of the running sum took 2.7 ms instead of 1.6. `POCL_AFFINITY=1` gives each thread a core of its
/// own. PoCL counts cores from 0 and gives up where one of them is not allowed to the process, so it is set only
/// where all of them are.
///
/// PoCL also needs a folder to keep its kernels in, where its own cannot be written to.
///
/// NVIDIA's OpenGL gives the processor away while it waits, and has it back only 0.3 ms later: so long took each release
/// of a shared texture, which waits for OpenGL for a few microseconds. With `__GL_YIELD=USLEEP`, of the driver's manual, it
/// takes 0.07 ms (H200, driver 580; `examples/handover_cost`). Where `__GLX_VENDOR_LIBRARY_NAME` names that driver, as for
/// a second graphics card, it has been loaded and has read its variables by now: then the process starts once more.
pub fn prepare() {
    if let Some(folder) = folders::pocl_cache(base::environment::get) {
        // SAFETY: no other thread reads the environment yet.
        unsafe { std::env::set_var("POCL_CACHE_DIR", folder) };
    }
    if base::environment::get("POCL_AFFINITY").is_none() && all_cores_are_allowed() {
        // SAFETY: as above.
        unsafe { std::env::set_var("POCL_AFFINITY", "1") };
    }
    if base::environment::get("__GL_YIELD").is_none() {
        // SAFETY: as above.
        unsafe { std::env::set_var("__GL_YIELD", "USLEEP") };
        if base::environment::get("__GLX_VENDOR_LIBRARY_NAME").is_some_and(|name| name == "nvidia") {
            start_again();
        }
    }
}

/// Takes kernels from this folder, in this process and in those that it starts; call it before any thread is started.
pub fn set_kernels(folder: &Path) {
    // SAFETY: no other thread reads the environment yet.
    unsafe { std::env::set_var(super::program::KERNELS_VARIABLE, folder) };
    super::program::named_by_option();
}

/// Starts this program anew in this process, with the environment as it is now. Returns where the system refuses.
fn start_again() {
    let Ok(program) = std::env::current_exe() else { return };
    let (mut arguments, mut command) = (std::env::args_os(), Command::new(program));
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let _refused = command.args(arguments).exec();
}

/// Lets the calling thread run only where others leave time. It cannot be taken back; where the system refuses, nothing
/// changes.
pub fn lower_priority() {
    // SAFETY: both calls take and give numbers; on Linux the priority is that of the thread with this number.
    unsafe {
        let thread = libc::syscall(libc::SYS_gettid) as libc::id_t;
        libc::setpriority(libc::PRIO_PROCESS, thread, 15);
    }
}

/// Memory that was freed is kept up to so many bytes.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 256 << 20;

/// From here on memory that is freed stays with the process: pages that it touches for the first time take longer than what is
/// done in them. Call it before any other thread is started.
pub(crate) fn keep_memory() {
    // SAFETY: plain numbers. One that is refused changes nothing.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

/// Returns the processor's time that all threads of this process have had; `None` where the system does not tell.
pub fn cpu_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the time.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (failed == 0).then(|| Duration::new(seconds, nanoseconds))
}

/// From here on the process ends with the thread that started it, and leaves no core file behind: it may crash.
pub fn end_with_parent() {
    // SAFETY: plain numbers.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Lets what the command starts end with the thread that starts it, also where that is killed.
pub fn end_with_thread(command: &mut Command) {
    // SAFETY: between fork and exec it makes one system call, with plain numbers.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

fn all_cores_are_allowed() -> bool {
    // SAFETY: `set` is a plain bit set that the call fills, as large as is said; sysconf takes a number.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let configured = libc::sysconf(libc::_SC_NPROCESSORS_CONF);
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0
            && libc::c_long::from(libc::CPU_COUNT(&set)) == configured
            && (0..libc::CPU_COUNT(&set) as usize).all(|core| libc::CPU_ISSET(core, &set))
    }
}

/// Ends the process at once, without the drivers' exit handlers: they free what a kernel or a compiler that
/// still runs on another thread is using.
pub fn exit_now(code: u8) -> ! {
    use std::io::Write as _;
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().flush();
    base::leftovers::remove_all();
    // SAFETY: _exit takes a number and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}
