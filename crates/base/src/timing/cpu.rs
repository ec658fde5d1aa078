//! CPU load of this process and of the machine, and what other processes used of it.

use std::time::{Duration, Instant};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Shortest time between two readings: shorter ones say little and cost more.
const INTERVAL: Duration = Duration::from_millis(500);

/// A reading of the CPU load; `None` until there are two points in time to compare, or where the system does
/// not say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuReading {
    /// This process, in percent of one core: it may pass 100.
    pub process: Option<f32>,
    /// The whole machine, in percent of all its cores: 0 to 100.
    pub machine: Option<f32>,
    /// Other processes: the part of the machine that they used, 0 to 1.
    pub others: Option<f64>,
    /// Logical cores; 0 when unknown.
    pub cores: usize,
}

/// Reads the CPU load now and then.
pub struct CpuLoad {
    system: System,
    pid: Option<Pid>,
    read_at: Option<Instant>,
    times: Option<CpuTimes>,
    reading: CpuReading,
}

impl CpuLoad {
    /// A meter whose first reading comes half a second later.
    pub fn new() -> Self {
        Self {
            system: System::new(),
            pid: sysinfo::get_current_pid().ok(),
            read_at: None,
            times: None,
            reading: CpuReading::default(),
        }
    }

    /// The load over the last half second or more. Cheap to call at every repaint: it asks the system at
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

impl Default for CpuLoad {
    fn default() -> Self {
        Self::new()
    }
}

/// The processors' time up to a moment, in the system's ticks.
#[derive(Debug, Clone, Copy)]
pub struct CpuTimes {
    at: Instant,
    /// What processes had of all cores.
    busy: u64,
    /// All there was.
    all: u64,
    /// What this process had, and those of its children that have ended.
    own: u64,
}

impl CpuTimes {
    /// The shortest time between two readings that says something: ticks are a hundredth of a second.
    pub(crate) const SHORTEST: Duration = Duration::from_millis(300);

    /// Reads them; `None` where the system does not tell (proc_stat(5), proc_pid_stat(5)).
    pub fn now() -> Option<Self> {
        let read = |path| std::fs::read_to_string(path).ok();
        Self::parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    fn parse(machine: &str, process: &str) -> Option<Self> {
        let first = machine.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = first.split_whitespace().map_while(|n| n.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; the rest is part of user and nice. What another
        // system on the same machine has stolen is not this process's either.
        let all = ticks.get(..8)?;
        let busy = all[0] + all[1] + all[2] + all[7];
        // The name in parentheses may hold anything.
        let fields = process.rsplit_once(')')?.1;
        let own = fields.split_whitespace().skip(11).take(4).map_while(|n| n.parse::<u64>().ok()).sum();
        Some(Self { at: Instant::now(), busy, all: all.iter().sum(), own })
    }

    /// How long it takes until a reading against this one says something.
    pub fn too_short_by(&self) -> Duration {
        Self::SHORTEST.saturating_sub(self.at.elapsed())
    }

    /// The part of the machine that other processes have used since `earlier`, 0 to 1; `None` where too little time
    /// lies between.
    pub fn others_since(&self, earlier: &Self) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        let (busy, own) = (self.busy.saturating_sub(earlier.busy), self.own.saturating_sub(earlier.own));
        let long_enough = self.at.duration_since(earlier.at) >= Self::SHORTEST;
        long_enough.then(|| busy.saturating_sub(own) as f64 / all as f64)
    }
}

/// The most that [`crowding`] tells.
pub const MOST_CROWDED: f64 = 6.0;

/// How many processes want each core, 1 to 6: on a machine that is that busy everything takes so many times as long.
pub fn crowding() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (load / cores as f64).clamp(1.0, MOST_CROWDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_what_is_busy_and_not_ours() {
        let process = |own: u64| format!("7 (a) b) S 1 7 7 0 -1 4194304 117 0 0 0 {own} 10 20 30 20 0 1 0 9");
        let at = |user: u64, idle: u64, own| {
            let machine = format!("cpu  {user} 5 100 {idle} 30 1 2 40 0 0\ncpu0 1 2 3\n");
            CpuTimes::parse(&machine, &process(own)).unwrap()
        };
        let before = at(1000, 500, 100);
        assert_eq!((before.busy, before.own), (1145, 160));
        let later = CpuTimes { at: before.at + CpuTimes::SHORTEST, ..at(1060, 540, 120) };
        assert_eq!(later.others_since(&before), Some(0.4), "60 ticks busy, 20 of them ours, of 100");
        let soon = CpuTimes { at: before.at + CpuTimes::SHORTEST / 2, ..later };
        assert_eq!(soon.others_since(&before), None);
        let same = CpuTimes { at: later.at, ..before };
        assert_eq!(same.others_since(&before), None, "the clock of a system that does not tell stands still");
        assert!(CpuTimes::parse("cpu 1 2 3", &process(1)).is_none());
    }

    #[test]
    fn own_work_is_not_others() {
        let Some(before) = CpuTimes::now() else { return };
        let mut sum = 0u64;
        while !before.too_short_by().is_zero() {
            sum = sum.wrapping_mul(3).wrapping_add(1);
        }
        std::hint::black_box(sum);
        let after = CpuTimes::now().unwrap();
        assert!(after.own > before.own && after.others_since(&before).is_some_and(|part| part <= 1.0));
    }

    #[test]
    fn the_load_of_a_busy_process_is_seen() {
        let mut load = CpuLoad::new();
        assert_eq!(load.sample().process, None, "one point in time says nothing");
        let mut work = 0u64;
        let mut reading = load.sample();
        // On a busy machine it takes longer until the process has had a core.
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
