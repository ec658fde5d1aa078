//! Reads the speed of a device's clock, without which times cannot be compared: of NVIDIA GPUs through NVML, and of AMD and
//! Intel GPUs and of CPUs from the Linux kernel's files in `/sys`. Virtual machines and containers show none of these.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;

use crate::cl::Device;
use crate::folders::{entries, numbered_entries};
use base::device::{ClockSnapshot, DeviceKind, Reading};

/// The folder of the Linux kernel's files about devices.
const SYSFS: &str = "/sys";
/// NVIDIA's vendor ID in the file `vendor` of a PCI device.
const NVIDIA: &str = "0x10de";
/// Reasons for a slower clock that NVML reports, with their names. An idle device and a limit by the display do not count.
const NVML_REASONS: [(ThrottleReasons, &str); 7] = [
    (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "clocks set by the user"),
    (ThrottleReasons::SW_POWER_CAP, "power cap"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
    (ThrottleReasons::SYNC_BOOST, "clock of other cards"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "temperature"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "critical temperature"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
];

/// A reader of the clock of one device.
#[derive(Debug)]
pub struct ClockReader {
    source: Source,
    /// The highest speed of the clock in MHz; `None` if it is not known.
    pub limit_mhz: Option<f64>,
    /// The frequency governor of the CPU, such as "powersave"; `None` for other devices.
    pub governor: Option<String>,
}

#[derive(Debug)]
enum Source {
    Nvidia(nvml_wrapper::Device<'static>),
    Files {
        /// Files with the current speeds, of which the mean is used.
        speeds: Vec<PathBuf>,
        /// The number in these files at a speed of 1 MHz.
        per_mhz: f64,
        /// Files that hold 1 while the clock is slowed down, each with the name of that reason.
        flags: Vec<(String, PathBuf)>,
        /// Files that count how often the temperature has slowed the clock, and the sum of their counts at the last reading.
        counts: (Vec<PathBuf>, Cell<f64>),
    },
}

impl ClockReader {
    /// Finds the clock of a device. Without a device, and for a CPU device, finds the clocks of the machine's CPU cores.
    ///
    /// # Errors
    /// Returns the reason why the clock cannot be read, as a sentence.
    pub fn new(device: Option<&Device>) -> Result<Self, String> {
        let sysfs = Path::new(SYSFS);
        let Some(device) = device.filter(|device| device.info.kind != DeviceKind::Cpu) else {
            return Self::of_processors(sysfs);
        };
        let address = device.info.pci_address.clone().ok_or("Its driver does not report its PCI address.")?;
        let folder = sysfs.join("bus/pci/devices").join(&address);
        let is_nvidia = device.info.extensions.iter().any(|listed| listed == "cl_nv_device_attribute_query")
            || fs::read_to_string(folder.join("vendor")).is_ok_and(|vendor| vendor.trim() == NVIDIA);
        if is_nvidia { Self::of_nvidia(&address) } else { Self::of_pci_device(&folder) }
    }

    /// Finds the clocks of the machine's CPU cores in the Linux kernel's files below `sysfs`.
    ///
    /// # Errors
    /// Returns the reason why they cannot be read, as a sentence.
    pub fn of_processors(sysfs: &Path) -> Result<Self, String> {
        let cores = numbered_entries(&sysfs.join("devices/system/cpu"), "cpu");
        let files = |name: &str| -> Vec<PathBuf> {
            cores.iter().map(|core| core.join(name)).filter(|file| file.exists()).collect()
        };
        let speeds = files("cpufreq/scaling_cur_freq");
        if speeds.is_empty() {
            return Err(
                "The system does not show the clocks of its processors, as most virtual machines.".to_owned()
            );
        }
        let counts = files("thermal_throttle/core_throttle_count");
        let count = sum(&counts);
        let governor =
            files("cpufreq/scaling_governor").first().and_then(|file| fs::read_to_string(file).ok());
        Ok(Self {
            limit_mhz: mean(&files("cpufreq/cpuinfo_max_freq")).map(|khz| khz / 1e3),
            governor: governor.map(|name| name.trim().to_owned()),
            source: Source::Files {
                speeds,
                per_mhz: 1e3,
                flags: Vec::new(),
                counts: (counts, Cell::new(count)),
            },
        })
    }

    /// Finds the clock of an AMD or Intel GPU in the Linux kernel's folder for the PCI device.
    fn of_pci_device(folder: &Path) -> Result<Self, String> {
        // amdgpu: levels with a star behind the present one, and the exact clock in Hz.
        let levels = folder.join("pp_dpm_sclk");
        if let Ok(text) = fs::read_to_string(&levels) {
            let limit_mhz = text.lines().last().and_then(number);
            let monitors = numbered_entries(&folder.join("hwmon"), "hwmon").into_iter();
            let exact = monitors.map(|monitor| monitor.join("freq1_input")).find(|file| file.exists());
            return Ok(match exact {
                Some(exact) => Self::of_file(exact, 1e6, limit_mhz, Vec::new()),
                None => Self::of_file(levels, 1.0, limit_mhz, Vec::new()),
            });
        }
        // xe, and then the cards of i915: the files of the clock and of its limit, and the folder and prefix of reasons.
        let xe = (folder.join("tile0/gt0/freq0"), ["act_freq", "max_freq", "throttle", "reason_"]);
        let i915 = ["gt_act_freq_mhz", "gt_RP0_freq_mhz", "gt/gt0", "throttle_reason_"];
        let cards = numbered_entries(&folder.join("drm"), "card").into_iter().map(|card| (card, i915));
        let found = std::iter::once(xe).chain(cards).find(|(at, [speed, ..])| at.join(speed).exists());
        let (at, [speed, limit, reasons, prefix]) =
            found.ok_or("The system does not show the device's clock.")?;
        Ok(Self::of_file(at.join(speed), 1.0, read(&at.join(limit)), flags(&at.join(reasons), prefix)))
    }

    /// Returns a reader of the file `speed`, whose number is `per_mhz` at a speed of 1 MHz.
    fn of_file(speed: PathBuf, per_mhz: f64, limit_mhz: Option<f64>, flags: Vec<(String, PathBuf)>) -> Self {
        let counts = (Vec::new(), Cell::default());
        Self {
            source: Source::Files { speeds: vec![speed], per_mhz, flags, counts },
            limit_mhz,
            governor: None,
        }
    }

    /// Finds the clock of an NVIDIA GPU by its PCI address.
    fn of_nvidia(address: &str) -> Result<Self, String> {
        static NVML: OnceLock<Result<Nvml, NvmlError>> = OnceLock::new();
        let failed =
            |error: &dyn std::fmt::Display| format!("NVIDIA's management library (NVML) reports: {error}.");
        let nvml = NVML.get_or_init(Nvml::init).as_ref().map_err(|error| failed(error))?;
        let device = nvml.device_by_pci_bus_id(address).map_err(|error| failed(&error))?;
        device.clock_info(Clock::SM).map_err(|error| failed(&error))?;
        let limit_mhz = device.max_clock_info(Clock::SM).ok().map(f64::from);
        Ok(Self { source: Source::Nvidia(device), limit_mhz, governor: None })
    }

    /// Reads the clock. The snapshot also has the clock's highest speed and governor.
    pub fn snapshot(&self) -> ClockSnapshot {
        ClockSnapshot { reading: self.read(), limit_mhz: self.limit_mhz, governor: self.governor.clone() }
    }

    /// Reads the clock; `None` if it cannot be read or stands still, as a GPU's clock may between two launches.
    pub fn read(&self) -> Option<Reading> {
        let (mhz, throttle) = match &self.source {
            Source::Nvidia(device) => {
                let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE);
                let named = NVML_REASONS.iter().filter(|(reason, _)| reasons.contains(*reason));
                (
                    f64::from(device.clock_info(Clock::SM).ok()?),
                    named.map(|(_, name)| (*name).to_owned()).collect(),
                )
            }
            Source::Files { speeds, per_mhz, flags, counts: (counts, last) } => {
                let is_set = |(_, file): &&(String, PathBuf)| read(file) == Some(1.0);
                let mut throttle: Vec<String> =
                    flags.iter().filter(is_set).map(|(name, _)| name.clone()).collect();
                let count = sum(counts);
                if count > last.replace(count) {
                    throttle.push("temperature".to_owned());
                }
                (mean(speeds)? / per_mhz, throttle)
            }
        };
        (mhz > 0.0).then_some(Reading { mhz, throttle })
    }
}

/// Returns the files of a folder whose names begin with `prefix`, each with the rest of its name, except for the summary `status`.
fn flags(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let reason = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix(prefix)?.to_owned();
        (name != "status").then_some((name, path))
    };
    entries(folder).into_iter().filter_map(reason).collect()
}

/// Returns the number in a file: in the line that ends with a star, or else in the first one.
fn read(file: &Path) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    lines.clone().find(|line| line.trim_end().ends_with('*')).or_else(|| lines.next()).and_then(number)
}

/// Returns the number in a line such as `1500` or `1: 1500Mhz *`.
fn number(line: &str) -> Option<f64> {
    let value = line.split_once(':').map_or(line, |(_, value)| value).trim_start();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}

fn sum(files: &[PathBuf]) -> f64 {
    files.iter().filter_map(|file| read(file)).sum()
}

/// Returns the mean of the numbers in files; `None` if no file has one.
fn mean(files: &[PathBuf]) -> Option<f64> {
    let numbers: Vec<f64> = files.iter().filter_map(|file| read(file)).collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cl::list_devices;
    use crate::folders::{Folder, test_folder};

    /// Writes files as the kernel has them into a folder.
    fn write(folder: &Folder, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
    }

    fn reading(mhz: f64, throttle: &[&str]) -> Option<Reading> {
        Some(Reading { mhz, throttle: throttle.iter().map(|name| (*name).to_owned()).collect() })
    }

    #[test]
    fn the_mean_of_the_processors_is_read() {
        let folder = test_folder("clock-processors");
        let sysfs = &folder.0;
        let reason = ClockReader::of_processors(sysfs).unwrap_err();
        assert!(reason.contains("virtual machines"), "{reason}");
        let of = |core: u32, name: &str| format!("devices/system/cpu/cpu{core}/{name}");
        for (core, khz) in [(0, "2000000"), (1, "3000000")] {
            write(
                &folder,
                &[
                    (&of(core, "cpufreq/scaling_cur_freq"), khz),
                    (&of(core, "cpufreq/cpuinfo_max_freq"), "3500000"),
                    (&of(core, "cpufreq/scaling_governor"), "powersave"),
                    (&of(core, "thermal_throttle/core_throttle_count"), "7"),
                ],
            );
        }
        // This is no core, although its name begins like that of one.
        write(&folder, &[("devices/system/cpu/cpufreq/scaling_cur_freq", "1")]);
        let reader = ClockReader::of_processors(sysfs).unwrap();
        assert_eq!((reader.limit_mhz, reader.governor.as_deref()), (Some(3500.0), Some("powersave")));
        assert_eq!(reader.read(), reading(2500.0, &[]), "what was counted before does not count");
        write(&folder, &[(&of(1, "thermal_throttle/core_throttle_count"), "8")]);
        assert_eq!(reader.read(), reading(2500.0, &["temperature"]));
        assert_eq!(reader.read(), reading(2500.0, &[]));
    }

    #[test]
    fn each_device_of_this_machine_has_a_clock_or_a_reason() {
        for device in list_devices() {
            match ClockReader::new(Some(&device)) {
                Ok(reader) => println!("{}: {:?} of {:?}", device.info.name, reader.read(), reader.limit_mhz),
                Err(why) => assert!(why.ends_with('.') && why.len() > 10, "{}: {why}", device.info.name),
            }
        }
    }

    #[test]
    fn the_clocks_of_cards_are_read() {
        let levels = ("pp_dpm_sclk", "0: 500Mhz\n1: 1234Mhz *\n2: 2500Mhz");
        let i915 = |mhz| {
            [
                ("drm/renderD128/dev", "226:128"),
                ("drm/card0/gt_act_freq_mhz", mhz),
                ("drm/card0/gt_RP0_freq_mhz", "1450"),
                ("drm/card0/gt/gt0/throttle_reason_status", "1"),
                ("drm/card0/gt/gt0/throttle_reason_thermal", "1"),
                ("drm/card0/gt/gt0/throttle_reason_pl1", "1"),
                ("drm/card0/gt/gt0/throttle_reason_pl2", "0"),
            ]
        };
        let xe = [
            ("tile0/gt0/freq0/act_freq", "2050"),
            ("tile0/gt0/freq0/max_freq", "2850"),
            ("tile0/gt0/freq0/throttle/status", "1"),
            ("tile0/gt0/freq0/throttle/reason_pl2", "1"),
            ("tile0/gt0/freq0/throttle/reason_thermal", "0"),
        ];
        for (name, files, limit_mhz, expected) in [
            ("amdgpu", &[levels][..], 2500.0, reading(1234.0, &[])),
            ("monitor", &[levels, ("hwmon/hwmon3/freq1_input", "1871000000")], 2500.0, reading(1871.0, &[])),
            ("i915", &i915("1100"), 1450.0, reading(1100.0, &["pl1", "thermal"])),
            ("i915-asleep", &i915("0"), 1450.0, None),
            ("xe", &xe, 2850.0, reading(2050.0, &["pl2"])),
        ] {
            let folder = test_folder(&format!("clock-{name}"));
            assert!(ClockReader::of_pci_device(&folder.0).is_err());
            write(&folder, files);
            let reader = ClockReader::of_pci_device(&folder.0).unwrap();
            assert_eq!((reader.limit_mhz, reader.read()), (Some(limit_mhz), expected), "{name}");
        }
    }
}
