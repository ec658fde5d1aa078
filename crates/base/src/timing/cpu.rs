//! CPU load of this process, of other processes, and of the machine.

use std::time::{Duration, Instant};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::threads::all_threads;

/// Minimum time between two readings; shorter intervals are inaccurate and cost more.
const INTERVAL: Duration = Duration::from_millis(500);

/// A reading of the CPU load. Values are `None` before the second reading, or if the system does not report them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuReading {
    /// CPU load of this process, in percent of one core; may exceed 100.
    pub process: Option<f32>,
    /// CPU load of the whole machine, in percent of all cores, 0 to 100.
    pub machine: Option<f32>,
    /// CPU load of other processes, as a fraction of the machine, 0 to 1.
    pub others: Option<f64>,
    /// Number of logical cores; 0 if unknown.
    pub cores: usize,
}

/// A meter of the CPU load.
pub struct CpuLoad {
    system: System,
    pid: Option<Pid>,
    read_at: Option<Instant>,
    times: Option<CpuTimes>,
    reading: CpuReading,
}

impl Default for CpuLoad {
    fn default() -> Self {
        Self {
            system: System::new(),
            pid: sysinfo::get_current_pid().ok(),
            read_at: None,
            times: None,
            reading: CpuReading::default(),
        }
    }
}

impl CpuLoad {
    /// Returns the load over the last half second or more. Cheap enough for every repaint, since it reads the system at
    /// most twice a second.
    pub fn sample(&mut self) -> CpuReading {
        if self.read_at.is_some_and(|t| t.elapsed() < INTERVAL) {
            return self.reading;
        }
        let first = self.read_at.is_none();
        self.read_at = Some(Instant::now());
        self.system.refresh_cpu_usage();
        if let Some(pid) = self.pid {
            let what = ProcessRefreshKind::nothing().with_cpu();
            self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
        }
        self.reading.cores = self.system.cpus().len();
        let now = CpuTimes::now();
        let before = std::mem::replace(&mut self.times, now);
        self.reading.others = now.zip(before).and_then(|(now, before)| now.others_since(&before));
        if !first {
            self.reading.machine = Some(self.system.global_cpu_usage());
            self.reading.process =
                self.pid.and_then(|pid| self.system.process(pid)).map(|process| process.cpu_usage());
        }
        self.reading
    }
}

/// A reading of the CPU time used since the system started, in clock ticks.
#[derive(Debug, Clone, Copy)]
pub struct CpuTimes {
    at: Instant,
    /// Time of all processes, on all cores.
    busy: u64,
    /// Busy and idle time of all cores.
    all: u64,
    /// Time of this process and of its children that have ended.
    own: u64,
}

impl CpuTimes {
    /// Minimum time between two readings for a meaningful difference; a tick is 10 ms.
    pub(crate) const MIN_INTERVAL: Duration = Duration::from_millis(300);

    /// Reads the CPU times of the machine and of this process; `None` if the system does not report them (proc_stat(5),
    /// proc_pid_stat(5)).
    pub fn now() -> Option<Self> {
        let read = |path| std::fs::read_to_string(path).ok();
        Self::parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    /// Parses the texts of `/proc/stat` and of the process's `stat` file; `None` if they have another format.
    fn parse(machine: &str, process: &str) -> Option<Self> {
        let first = machine.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = first.split_whitespace().map_while(|n| n.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; the rest is part of user and nice. Stolen time, of other
        // virtual machines, counts as that of other processes.
        let all = ticks.get(..8)?;
        let busy = all[0] + all[1] + all[2] + all[7];
        // The process name in parentheses may have spaces and parentheses.
        let fields = process.rsplit_once(')')?.1;
        let own = fields.split_whitespace().skip(11).take(4).map_while(|n| n.parse::<u64>().ok()).sum();
        Some(Self { at: Instant::now(), busy, all: all.iter().sum(), own })
    }

    /// Returns how long to wait until another reading can be compared with this one.
    pub fn remaining_interval(&self) -> Duration {
        Self::MIN_INTERVAL.saturating_sub(self.at.elapsed())
    }

    /// Returns the fraction of the machine that other processes used since `earlier`, 0 to 1; `None` if too little time has
    /// passed.
    pub fn others_since(&self, earlier: &Self) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        let (busy, own) = (self.busy.saturating_sub(earlier.busy), self.own.saturating_sub(earlier.own));
        let long_enough = self.at.duration_since(earlier.at) >= Self::MIN_INTERVAL;
        long_enough.then(|| busy.saturating_sub(own) as f64 / all as f64)
    }
}

/// Upper bound of [`load_per_core`].
const MAX_LOAD: f64 = 6.0;

/// Returns the number of runnable processes per core, 1 to 6, by which timeouts are multiplied on a busy machine.
pub fn load_per_core() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0);
    (load / all_threads() as f64).clamp(1.0, MAX_LOAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_is_the_busy_time_without_our_own() {
        let process = |own: u64| format!("7 (a) b) S 1 7 7 0 -1 4194304 117 0 0 0 {own} 10 20 30 20 0 1 0 9");
        let at = |user: u64, idle: u64, own| {
            let machine = format!("cpu  {user} 5 100 {idle} 30 1 2 40 0 0\ncpu0 1 2 3\n");
            CpuTimes::parse(&machine, &process(own)).unwrap()
        };
        let before = at(1000, 500, 100);
        assert_eq!((before.busy, before.own), (1145, 160));
        let later = CpuTimes { at: before.at + CpuTimes::MIN_INTERVAL, ..at(1060, 540, 120) };
        assert_eq!(later.others_since(&before), Some(0.4), "60 ticks busy, 20 of them ours, of 100");
        let soon = CpuTimes { at: before.at + CpuTimes::MIN_INTERVAL / 2, ..later };
        assert_eq!(soon.others_since(&before), None);
        let same = CpuTimes { at: later.at, ..before };
        assert_eq!(same.others_since(&before), None, "no ticks have passed");
        assert!(CpuTimes::parse("cpu 1 2 3", &process(1)).is_none());
    }

    #[test]
    fn own_work_does_not_count_as_others() {
        let Some(before) = CpuTimes::now() else { return };
        let mut sum = 0u64;
        while !before.remaining_interval().is_zero() {
            sum = sum.wrapping_mul(3).wrapping_add(1);
        }
        std::hint::black_box(sum);
        let after = CpuTimes::now().unwrap();
        assert!(after.own > before.own && after.others_since(&before).is_some_and(|part| part <= 1.0));
    }

    #[test]
    fn the_load_of_a_busy_process_is_measured() {
        let mut load = CpuLoad::default();
        assert_eq!(load.sample().process, None, "one reading has no load");
        let mut work = 0u64;
        let mut reading = load.sample();
        // On a busy machine it takes longer until the process gets a core.
        for _ in 0..20 {
            let until = std::time::Instant::now() + std::time::Duration::from_millis(700);
            while std::time::Instant::now() < until {
                work = std::hint::black_box(work.wrapping_mul(3).wrapping_add(1));
            }
            reading = load.sample();
            if reading.process.is_some_and(|p| p > 0.0) {
                break;
            }
        }
        assert!(reading.process.is_some_and(|p| p > 0.0), "{reading:?}");
        assert!(reading.machine.is_some_and(|m| (0.0..=100.0).contains(&m)), "{reading:?}");
        assert!(reading.cores > 0);
    }
}
