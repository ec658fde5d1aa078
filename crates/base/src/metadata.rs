//! The date, the machine and the program of a measurement, for files with results.

use std::sync::LazyLock;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::date;

/// The date, the machine and the program of a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The program and its version.
    pub program: String,
    /// The date and time in UTC, as in RFC 3339.
    pub date: String,
    /// The machine.
    pub host: Host,
}

/// The machine on which results were measured; a text is empty if it is unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// The name in the network.
    pub name: String,
    /// The operating system's kernel and its version.
    pub system: String,
    /// The name of the CPU.
    pub processor: String,
    /// The number of logical CPUs that this process may use.
    pub processors: usize,
}

impl Host {
    /// Returns this machine, which is examined once.
    pub fn here() -> Self {
        static HERE: LazyLock<Host> = LazyLock::new(Host::examine);
        HERE.clone()
    }

    /// Reads the files of the system that describe this machine.
    fn examine() -> Self {
        let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let cpus = line("/proc/cpuinfo");
        let name = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Self {
            name: line("/proc/sys/kernel/hostname"),
            system: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")),
            processor: name.map(|(_, name)| name.trim().to_owned()).unwrap_or_default(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
        }
    }
}

impl Metadata {
    /// Returns the metadata of results that `program` measures here and now.
    pub fn now(program: &str) -> Self {
        Self { program: program.to_owned(), date: date::utc(SystemTime::now()), host: Host::here() }
    }
}
