//! Process-wide settings: the environment of drivers, priorities, memory, and how to exit while driver calls are running.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::folders;

/// Sets environment variables that drivers read, and the sizes from which the allocator returns freed memory. Call it before
/// anything else and before any thread is started. Variables that the user has set are kept.
///
/// PoCL's worker threads are free to share a core, and then wait for each other: on two cores half of all launches of the running
/// sum took 2.7 ms instead of 1.6. `POCL_AFFINITY=1` gives each thread a core of its own. PoCL counts cores from 0 and gives up if
/// the process may not use one of them, so the variable is set only if the process may use all cores.
///
/// If PoCL cannot write to its default folder for compiled kernels, `POCL_CACHE_DIR` names another one.
///
/// NVIDIA's OpenGL yields the CPU while it waits, and gets it back only after 0.3 ms. Each release of a shared texture waits
/// for OpenGL for a few microseconds, and so took 0.3 ms. With `__GL_YIELD=USLEEP`, which the driver's manual describes, it
/// takes 0.07 ms (H200, driver 580; docs/window.md). If `__GLX_VENDOR_LIBRARY_NAME` names that driver, as for a second GPU, the
/// driver is already loaded and has read its variables: the process then executes itself again.
pub fn prepare() {
    return_freed_memory();
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
            restart_process();
        }
    }
}

/// Sets the folder of kernels (`CLREEL_KERNELS`) for this process and its children. Call it before any thread is started.
pub fn set_kernels(folder: &Path) {
    // SAFETY: no other thread reads the environment yet.
    unsafe { std::env::set_var(super::sources::KERNELS_VARIABLE, folder) };
}

/// Sets the folder of the selected filter (`CLREEL_FILTER`), which is also the folder of kernels, for this process and its
/// children. Call it before any thread is started.
pub fn set_filter(folder: &Path) {
    set_kernels(folder);
    // SAFETY: no other thread reads the environment yet.
    unsafe { std::env::set_var(super::sources::FILTER_VARIABLE, folder) };
}

/// Executes this program again in this process, with the current environment. Returns only if the system refuses.
fn restart_process() {
    let Ok(program) = std::env::current_exe() else { return };
    let (mut arguments, mut command) = (std::env::args_os(), Command::new(program));
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let _refused = command.args(arguments).exec();
}

/// The priority (nice value) of background threads and of their child processes. On Linux each step takes a fifth of the CPU
/// time that a thread gets while other threads run: with 5 it gets a third of an ordinary thread's CPU time. (With 15 it gets 3
/// %, and a measurement stood still on a busy machine.)
const BACKGROUND_NICE: libc::c_int = 5;

/// Lowers the priority of the calling thread for the rest of its life. If the system refuses, the priority stays the same.
pub fn lower_priority() {
    // SAFETY: both calls take and give numbers; on Linux the priority is that of the thread with this number.
    unsafe {
        let thread = libc::syscall(libc::SYS_gettid) as libc::id_t;
        libc::setpriority(libc::PRIO_PROCESS, thread, BACKGROUND_NICE);
    }
}

/// Returns true if the calling thread has a lower priority than the process began with, as after [`lower_priority`]. Child
/// processes that the thread starts inherit this priority.
pub(crate) fn has_low_priority() -> bool {
    // SAFETY: plain numbers. On Linux the first priority is that of the calling thread, the second one that of the main thread.
    unsafe {
        libc::getpriority(libc::PRIO_PROCESS, 0) > libc::getpriority(libc::PRIO_PROCESS, libc::getpid() as _)
    }
}

/// Makes the allocator return blocks of 1 MiB and more to the system as soon as they are freed. Call it before any thread is
/// started.
///
/// glibc raises that size to 32 MiB when blocks of that size are freed, and gives each thread an arena. Pictures, arrays of the
/// ladders and the memory of compilers then lie between small blocks that stay, and the arenas grow with every program that is
/// built (1.2 GiB after 100 s of random keys, with 0.3 GiB in use).
fn return_freed_memory() {
    // SAFETY: plain numbers. One that is refused changes nothing.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Returns freed small blocks of memory to the system, which glibc would keep: 70 to 100 MiB after some hundred programs were
/// built. Takes 0.3 to 7 ms.
pub fn trim_memory() {
    // SAFETY: the call takes a number, and may be made on any thread.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The maximum amount of freed memory, in bytes, that [`keep_memory`] lets the allocator keep.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 256 << 20;

/// Keeps freed memory in the process from here on, since touching new pages takes longer than the work done in them. Call it
/// before any other thread is started.
pub(crate) fn keep_memory() {
    // SAFETY: plain numbers. One that is refused changes nothing.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

/// Returns the CPU time that all threads of this process have used; `None` if the system does not report it.
pub fn cpu_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the time.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (failed == 0).then(|| Duration::new(seconds, nanoseconds))
}

/// Returns true if this process may run on all cores of the machine.
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

/// Ends the process at once, without running the drivers' exit handlers: they free memory that a kernel or a compiler on
/// another thread still uses.
pub fn exit_now(code: u8) -> ! {
    use std::io::Write as _;
    let _ = std::io::stdout().flush();
    let _ = std::io::stderr().flush();
    base::cleanup::remove_all();
    // SAFETY: _exit takes a number and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn a_lower_priority_is_that_of_one_thread() {
        let lowered = || {
            let before = has_low_priority();
            lower_priority();
            (before, has_low_priority())
        };
        assert_eq!(std::thread::spawn(lowered).join().unwrap(), (false, true));
        assert!(!std::thread::spawn(has_low_priority).join().unwrap());
    }

    fn resident_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn touched(mib: usize) -> Vec<u8> {
        std::hint::black_box(vec![1; mib << 20])
    }

    /// The environment variable that marks the child process in which [`frees_memory`] runs its test.
    const CHILD: &str = "CLREEL_TEST_FREED_MEMORY";

    #[test]
    fn freed_memory_returns_to_the_system_although_small_blocks_stay() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["process::tests::frees_memory", "--exact", "--nocapture"]).env(CHILD, "1");
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Tests that freed large blocks return to the system although small blocks stay. Runs only in a child process that another
    /// test starts with the variable [`CHILD`], since further tests of the same process would allocate memory, too; returns at once
    /// without that variable.
    #[test]
    fn frees_memory() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        return_freed_memory();
        // After this glibc would take blocks up to this size from its heap.
        drop(touched(24));
        let before = resident_kib();
        let blocks: Vec<_> = (0..16).map(|_| touched(8)).collect();
        let small: Vec<_> = (0..16).map(|_| touched(1)[..64 << 10].to_vec()).collect();
        drop(blocks);
        let grown = resident_kib().saturating_sub(before) >> 10;
        assert!(grown < 64, "{grown} MiB of 128 stay");
        drop(small);
    }
}
