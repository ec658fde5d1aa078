//! CPU load of this process and of the machine.

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
    /// Logical cores; 0 when unknown.
    pub cores: usize,
}

/// Reads the CPU load now and then.
pub struct CpuLoad {
    system: System,
    pid: Option<Pid>,
    read_at: Option<Instant>,
    reading: CpuReading,
}

impl CpuLoad {
    /// A meter whose first reading comes half a second later.
    pub fn new() -> Self {
        Self {
            system: System::new(),
            pid: sysinfo::get_current_pid().ok(),
            read_at: None,
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
