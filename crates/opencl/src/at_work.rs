//! Who is at work, and who only waits. In: a thread of this process, or another process. Out: the processor's time that it has
//! had, and whether it wants a core at this moment.
//!
//! On a busy machine the clock on the wall says little: a compiler that gets a core now and then is late and not silent. What
//! sleeps uses no processor, and wants none.

use std::collections::VecDeque;
use std::time::Duration;

/// More processes than a driver's compiler starts.
const MOST: usize = 256;

/// A thread of this process, as others look at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thread {
    clock: Option<libc::clockid_t>,
    number: libc::pid_t,
}

impl Thread {
    /// The thread that calls this.
    pub(super) fn current() -> Self {
        let mut clock = 0;
        // SAFETY: the thread is the one that runs, and its clock's number goes where there is room for it.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
        // SAFETY: it takes nothing and gives a number.
        let number = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
        Self { clock: (failed == 0).then_some(clock), number }
    }

    /// The processor's time that it has had; `None` where the system does not tell, or it has ended.
    pub(super) fn used(&self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: there is room for the time; the number of a clock that is gone is an error.
        let failed = unsafe { libc::clock_gettime(self.clock?, &mut time) };
        let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        (failed == 0).then(|| Duration::new(seconds, nanoseconds))
    }

    /// Whether it has a core, or waits for one.
    pub(super) fn is_runnable(&self) -> bool {
        stat(&format!("/proc/self/task/{}/stat", self.number)).is_some_and(|stat| stat.is_runnable)
    }
}

/// What a process has had of the processors, and all those that it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effort {
    /// All cores' time.
    pub(super) used: Duration,
    /// Whether one of its threads has a core, or waits for one.
    pub(super) is_runnable: bool,
}

impl Effort {
    /// That of the process with this number; `None` where it has ended, or the system does not tell (proc_pid_stat(5)).
    pub(super) fn of(process: u32) -> Option<Self> {
        Self::looked_at(process, None)
    }

    /// That of this process without the thread that calls this, which is at work as it looks.
    pub(super) fn of_other_threads() -> Option<Self> {
        Self::looked_at(std::process::id(), Some(Thread::current().number))
    }

    /// `but` is a thread whose state says nothing; what it has used is little.
    fn looked_at(process: u32, but: Option<libc::pid_t>) -> Option<Self> {
        let but = but.map(|number| number.to_string());
        let mut effort = Self { used: stat(&format!("/proc/{process}/stat"))?.used, is_runnable: false };
        let mut waiting = VecDeque::from([process]);
        for _ in 0..MOST {
            let Some(process) = waiting.pop_front() else { break };
            for thread in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
                let path = thread.path();
                let of_thread = stat(&path.join("stat").to_string_lossy());
                let counts = but.as_deref().is_none_or(|but| thread.file_name() != but);
                effort.is_runnable |= counts && of_thread.is_some_and(|stat| stat.is_runnable);
                // Where the system does not tell whom it has started, only its own time counts.
                let children = std::fs::read_to_string(path.join("children")).unwrap_or_default();
                for child in children.split_whitespace().filter_map(|number| number.parse().ok()) {
                    effort.used +=
                        stat(&format!("/proc/{child}/stat")).map_or(Duration::ZERO, |stat| stat.used);
                    waiting.push_back(child);
                }
            }
        }
        Some(effort)
    }
}

/// A line of the system's about a process or a thread.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    is_runnable: bool,
    /// With that of the processes that it has started and waited for.
    used: Duration,
}

fn stat(path: &str) -> Option<Stat> {
    // SAFETY: it takes and gives a number.
    let ticks = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    parsed(&std::fs::read_to_string(path).ok()?, ticks)
}

fn parsed(line: &str, ticks_a_second: u64) -> Option<Stat> {
    // The name in parentheses may hold anything.
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let is_runnable = fields.next()? == "R";
    // utime, stime, cutime, cstime
    let ticks: u64 = fields.skip(10).take(4).map_while(|field| field.parse::<u64>().ok()).sum();
    let used = Duration::from_millis(ticks.saturating_mul(1000).checked_div(ticks_a_second)?);
    Some(Stat { is_runnable, used })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    fn compute_for(time: Duration) {
        let before = Thread::current();
        let until = before.used().unwrap() + time;
        let mut sum = 0u64;
        while before.used().unwrap() < until {
            sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
        }
    }

    #[test]
    fn a_line_of_the_system_is_read() {
        let line = |state| format!("7 (a) R 1) {state} 1 7 7 0 -1 4194304 117 0 0 0 100 20 30 4 20 0 1 0 9");
        let of = |state| parsed(&line(state), 100).unwrap();
        assert_eq!(of("R"), Stat { is_runnable: true, used: Duration::from_millis(1540) });
        assert!(!of("S").is_runnable && !of("T").is_runnable && !of("D").is_runnable);
        assert_eq!((parsed("7 (a", 100), parsed(&line("S"), 0)), (None, None));
    }

    #[test]
    fn a_thread_that_computes_is_told_from_one_that_sleeps() {
        let (to_here, threads) = channel();
        let (leave, wait) = channel::<()>();
        let sleeper = std::thread::spawn({
            let to_here = to_here.clone();
            move || {
                to_here.send(Thread::current()).unwrap();
                let _ = wait.recv();
            }
        });
        let sleeping = threads.recv().unwrap();
        while sleeping.is_runnable() {
            std::thread::yield_now();
        }
        let before = sleeping.used().unwrap();
        compute_for(Duration::from_millis(50));
        assert!(Thread::current().used().unwrap() >= Duration::from_millis(50));
        assert!(Thread::current().is_runnable() && !sleeping.is_runnable());
        assert_eq!(sleeping.used(), Some(before));
        drop(leave);
        sleeper.join().unwrap();
        // The system may still have it for a moment.
        let since = std::time::Instant::now();
        while sleeping.used().is_some() && since.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        assert_eq!((sleeping.used(), sleeping.is_runnable()), (None, false), "it has ended");
    }

    #[test]
    fn the_thread_that_looks_does_not_count() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        // Of a process with one thread, which has the process's number.
        let runnable = |but| Effort::looked_at(child.id(), but).unwrap().is_runnable;
        while !runnable(None) {
            std::thread::yield_now();
        }
        let others = runnable(Some(child.id() as libc::pid_t));
        let _ = (child.kill(), child.wait());
        assert!(!others);
        assert!(Effort::of_other_threads().is_some());
    }

    #[test]
    fn what_a_process_has_started_counts() {
        // The shell sleeps, and what it has started computes.
        let mut child = Command::new("sh").args(["-c", "(while :; do :; done) & wait"]).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        let works =
            || Effort::of(child.id()).is_some_and(|e| e.used >= Duration::from_millis(200) && e.is_runnable);
        let mut has_worked = false;
        while !has_worked && Instant::now() < until {
            has_worked = works();
            std::thread::sleep(Duration::from_millis(10));
        }
        let kill = |number: u32| {
            // SAFETY: the process was not waited for, so the number is its own.
            unsafe { libc::kill(number as libc::pid_t, libc::SIGKILL) };
        };
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        children.split_whitespace().for_each(|number| kill(number.parse().unwrap()));
        let _ = child.wait();
        assert!(has_worked);
        assert_eq!(Effort::of(child.id()), None, "it has ended");
    }
}
