//! Facts about a compute device, its clock and its programs, as data for all crates. The crate that calls OpenCL finds them out.

use serde::{Serialize, Serializer};

/// The kind of a device (`CL_DEVICE_TYPE`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A CPU.
    #[default]
    Cpu,
    /// A GPU.
    Gpu,
    /// Anything else, such as an FPGA.
    Accelerator,
}

impl DeviceKind {
    /// Returns the name of the kind on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Accelerator => "accelerator",
        }
    }
}

/// The name of a device whose driver gives none.
pub const UNNAMED: &str = "unnamed device";

/// Properties of a device that need no context. A number that the driver does not report, or that is implausible, is 0, and a
/// missing text is empty; in JSON both are `null`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DeviceInfo {
    /// The device's index in the list of the machine's devices, stable while the machine's drivers stay the same.
    pub index: usize,
    /// The device's name as its driver gives it, or [`UNNAMED`]; with its PCI address if another device of the platform has the
    /// same name.
    #[serde(serialize_with = "serialize_text")]
    pub name: String,
    /// The name of the device's platform, that is of its driver.
    #[serde(serialize_with = "serialize_text")]
    pub platform: String,
    /// The device's OpenCL version string, such as "OpenCL 3.0 PoCL".
    #[serde(serialize_with = "serialize_text")]
    pub version: String,
    /// The driver's version string.
    #[serde(serialize_with = "serialize_text")]
    pub driver: String,
    /// The vendor ID (`CL_DEVICE_VENDOR_ID`); for GPUs, the PCI vendor ID.
    #[serde(skip)]
    pub vendor_id: u32,
    /// The PCI address, such as `0000:03:00.0`; `None` if the driver does not report it.
    #[serde(skip)]
    pub pci_address: Option<String>,
    /// The UUID as four words, meant to be the same in each driver and at each start; `None` if the driver does not report it.
    #[serde(skip)]
    pub uuid: Option<[u32; 4]>,
    /// The kind of the device.
    #[serde(rename = "type")]
    pub kind: DeviceKind,
    /// The number of compute units.
    #[serde(serialize_with = "serialize_number")]
    pub units: u32,
    /// The highest clock frequency, in MHz.
    #[serde(serialize_with = "serialize_number")]
    pub clock_mhz: u32,
    /// The size of the device's global memory, in bytes.
    #[serde(serialize_with = "serialize_number")]
    pub global_memory_bytes: u64,
    /// True if the device uses the host's memory (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    #[serde(skip)]
    pub unified_memory: bool,
    /// The size of the largest buffer or image that can be allocated, in bytes.
    #[serde(serialize_with = "serialize_number")]
    pub max_allocation_bytes: u64,
    /// The size of the local memory, which the work-items of a group share, in bytes.
    #[serde(serialize_with = "serialize_number")]
    pub local_memory_bytes: u64,
    /// Maximum number of work-items in a work-group.
    #[serde(serialize_with = "serialize_number")]
    pub max_work_group_size: usize,
    /// Maximum number of sub-groups in a work-group (`CL_DEVICE_MAX_NUM_SUB_GROUPS`), 0 where it is not reported.
    #[serde(skip)]
    pub max_sub_groups: u32,
    /// True if the device has images and samplers.
    pub image_support: bool,
    /// The size of the largest 2D image: width and height in pixels.
    pub max_image: (usize, usize),
    /// The extensions that the device lists, such as `cl_khr_gl_sharing`.
    pub extensions: Vec<String>,
}

/// Serializes a number; 0, which stands for a number that is not known, becomes `null`.
fn serialize_number<T: Default + PartialEq + Serialize, S: Serializer>(
    number: &T,
    to: S,
) -> Result<S::Ok, S::Error> {
    if *number == T::default() { to.serialize_none() } else { number.serialize(to) }
}

/// Serializes a text; a text that the driver has not reported becomes `null`.
fn serialize_text<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    if text.is_empty() || text == UNNAMED { to.serialize_none() } else { to.serialize_str(text) }
}

impl DeviceInfo {
    /// Returns true if the device has enough memory for several buffers: `all` bytes together, the largest of them `largest`
    /// bytes. A limit that the driver does not report counts as met.
    pub fn has_room(&self, all: u64, largest: u64) -> bool {
        let fits = |bytes, most| most == 0 || bytes <= most;
        fits(all, self.global_memory_bytes) && fits(largest, self.max_allocation_bytes)
    }

    /// Returns the size of the local memory in bytes; if the driver does not report it, the minimum that OpenCL guarantees.
    pub fn local_memory(&self) -> u64 {
        if self.local_memory_bytes == 0 { 32 << 10 } else { self.local_memory_bytes }
    }

    /// Returns the major and the minor number of the device's OpenCL version; `None` if the version string has another format.
    pub fn opencl_version(&self) -> Option<(u32, u32)> {
        let numbers = self.version.strip_prefix("OpenCL ")?.split_whitespace().next()?;
        let (major, minor) = numbers.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Returns the compiler option that selects the language version in which kernels can use the device's sub-groups; `None`
    /// if the device has no sub-groups. A device has sub-groups if it lists `cl_khr_subgroups`, or reports a maximum number of
    /// them (OpenCL C 3's feature `__opencl_c_subgroups`).
    pub fn language_of_sub_groups(&self) -> Option<&'static str> {
        let is_listed = self.extensions.iter().any(|extension| extension == "cl_khr_subgroups");
        match self.opencl_version()?.0 {
            1 => None,
            2 => is_listed.then_some("-cl-std=CL2.0"),
            _ => (is_listed || self.max_sub_groups > 0).then_some("-cl-std=CL3.0"),
        }
    }

    /// Returns the properties of an imaginary device, for tests.
    #[doc(hidden)]
    pub fn made_up() -> Self {
        Self {
            name: "Device".into(),
            platform: "Platform".into(),
            version: "OpenCL 3.0".into(),
            driver: "1".into(),
            units: 2,
            clock_mhz: 1000,
            global_memory_bytes: 1 << 30,
            unified_memory: true,
            max_allocation_bytes: 1 << 30,
            local_memory_bytes: 1 << 15,
            max_work_group_size: 256,
            image_support: true,
            max_image: (4096, 4096),
            ..Self::default()
        }
    }
}

/// The state of a device's clock: whether device times are used, or wall times in their place.
#[derive(Debug, Clone, PartialEq)]
pub enum ClockState {
    /// There is no device, or its clock was not compared with the host's. The text is the error if the comparison failed.
    Uncalibrated(Option<String>),
    /// Device times grow in proportion to wall times, and are used.
    Trusted,
    /// Device times are not usable: wall times take their place. The text gives the reason, as a clause that follows "since".
    Rejected(String),
}

impl Default for ClockState {
    fn default() -> Self {
        Self::Uncalibrated(None)
    }
}

impl ClockState {
    /// Returns the name of the state in JSON.
    pub fn json_name(&self) -> &'static str {
        match self {
            Self::Uncalibrated(_) => "uncalibrated",
            Self::Trusted => "trusted",
            Self::Rejected(_) => "rejected",
        }
    }

    /// Returns a sentence for the user if device times are not used, or their calibration failed; otherwise `None`.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Trusted | Self::Uncalibrated(None) => None,
            Self::Uncalibrated(Some(why)) => Some(format!("Device times are uncalibrated: {why}")),
            Self::Rejected(why) => {
                Some(format!("Wall times are shown instead of device times, since {why}."))
            }
        }
    }
}

/// The clock frequency of a device at one moment, and the reasons why it is reduced.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The clock frequency in MHz; for a CPU, the mean of all cores.
    pub mhz: f64,
    /// The names of the reasons why the clock frequency is lower than it could be.
    pub throttle: Vec<String>,
}

/// The clock frequency of a device at one moment, with its maximum and its governor.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockSnapshot {
    /// The clock frequency and the reasons why it is reduced; `None` if the clock stands still, as that of an idle GPU may, or
    /// if the frequency cannot be read.
    pub reading: Option<Reading>,
    /// The maximum clock frequency in MHz; `None` if it is not known.
    pub limit_mhz: Option<f64>,
    /// The frequency governor of the CPU; `None` for other devices.
    pub governor: Option<String>,
}

/// The machine code of a program's kernels, as text.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineCode {
    /// The format and origin of the machine code, as a text for users.
    pub name: String,
    /// The first lines of the machine code.
    pub text: String,
    /// Lines with counts over the whole machine code, such as the number of instructions.
    pub facts: Vec<String>,
}

/// The registers of a kernel, as its driver's compiler reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelRegisters {
    /// The kernel's name.
    pub kernel: String,
    /// The number of registers of a work-item, each of 32 bits.
    pub registers: u64,
    /// Bytes of each work-item that did not fit into registers (spills) and are kept in memory.
    pub spilled_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let of =
            |version: &str| DeviceInfo { version: version.into(), ..DeviceInfo::made_up() }.opencl_version();
        assert_eq!(
            ["OpenCL 1.0 ", "OpenCL 1.1 Mesa 20.3", "OpenCL 1.1"].map(of),
            [(1, 0), (1, 1), (1, 1)].map(Some)
        );
        assert_eq!(["OpenCL 1.2 ", "OpenCL 3.0 PoCL HSTR: cpu"].map(of), [Some((1, 2)), Some((3, 0))]);
        assert_eq!(["OpenCL 1.10", "", "1.1"].map(of), [Some((1, 10)), None, None]);
    }

    #[test]
    fn what_a_driver_does_not_tell_is_null_and_no_limit() {
        let told = DeviceInfo::made_up();
        assert!(told.has_room(1 << 30, 1 << 30) && !told.has_room(1 << 31, 1) && !told.has_room(1, 1 << 31));
        let json = serde_json::to_value(&told).unwrap();
        assert!(json["units"] == 2 && json["name"] == "Device" && json["clock_mhz"] == 1000, "{json}");
        let told_local = DeviceInfo { local_memory_bytes: 1 << 14, ..told.clone() }.local_memory();
        let untold = DeviceInfo {
            name: UNNAMED.to_owned(),
            platform: String::new(),
            units: 0,
            clock_mhz: 0,
            global_memory_bytes: 0,
            max_allocation_bytes: 0,
            local_memory_bytes: 0,
            ..told
        };
        assert!(untold.has_room(1 << 40, 1 << 40));
        assert_eq!((untold.local_memory(), told_local), (32 << 10, 1 << 14));
        let json = serde_json::to_value(&untold).unwrap();
        for field in ["name", "platform", "units", "clock_mhz", "global_memory_bytes", "max_allocation_bytes"]
        {
            assert!(json[field].is_null(), "{field}: {json}");
        }
    }
}
