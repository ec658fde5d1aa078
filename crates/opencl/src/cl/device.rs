//! OpenCL devices. In: nothing but the machine. Out: [`Device`]s to choose from.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use ocl::ffi;
use serde::{Serialize, Serializer};

use super::address;
use super::handle::{Number, number_of, text_of};
use super::status::{Answer, Status};
use crate::drivers::{self, Driver, Verdict};
use crate::watch;
use base::error::Error;

/// The kind of a device, as OpenCL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The machine's own processor.
    Cpu,
    /// A graphics card.
    Gpu,
    /// Anything else, such as an FPGA.
    Accelerator,
}

impl DeviceKind {
    /// The word for it on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Accelerator => "accelerator",
        }
    }
}

/// The name of a device whose driver gives it none.
pub const UNNAMED: &str = "unnamed device";

/// What is known about a device before a context is made on it. A number that its driver does not tell, or that no device
/// can have, is 0, and so is a text empty; in JSON they are `null`.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceInfo {
    /// Position in the list of [`list_devices`], stable while the machine's drivers stay the same.
    pub index: usize,
    /// The device's name as its driver gives it, or [`UNNAMED`]; with its PCI address where another device of the platform
    /// has the same name.
    #[serde(serialize_with = "given")]
    pub name: String,
    /// The name of its platform, that is of its driver.
    #[serde(serialize_with = "given")]
    pub platform: String,
    /// The device's OpenCL version string, such as "OpenCL 3.0 PoCL".
    #[serde(serialize_with = "given")]
    pub version: String,
    /// The driver's version string.
    #[serde(serialize_with = "given")]
    pub driver: String,
    /// What sort of device it is.
    #[serde(rename = "type")]
    pub kind: DeviceKind,
    /// Compute units.
    #[serde(serialize_with = "known")]
    pub units: u32,
    /// Highest clock in MHz.
    #[serde(serialize_with = "known")]
    pub clock_mhz: u32,
    /// All of its memory, in bytes.
    #[serde(serialize_with = "known")]
    pub global_memory_bytes: u64,
    /// Its memory is the host's (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    #[serde(skip)]
    pub unified_memory: bool,
    /// Largest buffer or image, in bytes.
    #[serde(serialize_with = "known")]
    pub max_allocation_bytes: u64,
    /// Memory that a work-group shares, in bytes.
    #[serde(serialize_with = "known")]
    pub local_memory_bytes: u64,
    /// Most work-items in a work-group.
    #[serde(serialize_with = "known")]
    pub max_work_group_size: usize,
    /// Most sub-groups in a work-group (`CL_DEVICE_MAX_NUM_SUB_GROUPS`), 0 where it does not say.
    #[serde(skip)]
    pub max_sub_groups: u32,
    /// Whether it has images and samplers.
    pub image_support: bool,
    /// Largest 2D image, width and height in pixels.
    pub max_image: (usize, usize),
    /// The extensions that it lists, such as `cl_khr_gl_sharing`.
    pub extensions: Vec<String>,
}

/// Serializes a number, and 0 as `null`.
fn known<T: Number + PartialEq + Serialize, S: Serializer>(
    number: &T,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    if *number == T::default() { to.serialize_none() } else { number.serialize(to) }
}

/// Serializes a text, and one that the driver has not given as `null`.
fn given<S: Serializer>(text: &str, to: S) -> std::result::Result<S::Ok, S::Error> {
    if text.is_empty() || text == UNNAMED { to.serialize_none() } else { to.serialize_str(text) }
}

impl DeviceInfo {
    /// Returns true if the device has memory for so many bytes, of which one buffer takes no more than `largest`. A driver
    /// that does not tell how much there is is believed to have it.
    pub fn has_room(&self, all: u64, largest: u64) -> bool {
        let fits = |bytes, most| most == 0 || bytes <= most;
        fits(all, self.global_memory_bytes) && fits(largest, self.max_allocation_bytes)
    }

    /// Returns the memory that a work-group shares, in bytes: what OpenCL promises at least, where the driver does not tell.
    pub fn local_memory(&self) -> u64 {
        if self.local_memory_bytes == 0 { 32 << 10 } else { self.local_memory_bytes }
    }

    /// The compiler's option for the language in which kernels name the device's sub-groups; `None` where it has none. It
    /// has them where it lists `cl_khr_subgroups` or can run some, which is OpenCL C 3's feature `__opencl_c_subgroups`.
    pub fn language_of_sub_groups(&self) -> Option<&'static str> {
        let is_listed = self.extensions.iter().any(|extension| extension == "cl_khr_subgroups");
        let version = self.version.strip_prefix("OpenCL ")?;
        match version.split_once('.')? {
            ("1", _) => None,
            ("2", _) => is_listed.then_some("-cl-std=CL2.0"),
            _ => (is_listed || self.max_sub_groups > 0).then_some("-cl-std=CL3.0"),
        }
    }
}

impl DeviceInfo {
    /// A device that is not there, for tests to change as they need it.
    #[doc(hidden)]
    pub fn made_up() -> Self {
        Self {
            index: 0,
            name: "Device".into(),
            platform: "Platform".into(),
            version: "OpenCL 3.0".into(),
            driver: "1".into(),
            kind: DeviceKind::Cpu,
            units: 2,
            clock_mhz: 1000,
            global_memory_bytes: 1 << 30,
            unified_memory: true,
            max_allocation_bytes: 1 << 30,
            local_memory_bytes: 1 << 15,
            max_work_group_size: 256,
            max_sub_groups: 0,
            image_support: true,
            max_image: (4096, 4096),
            extensions: Vec::new(),
        }
    }
}

/// A device that can be asked for a context.
#[derive(Debug, Clone)]
pub struct Device {
    /// What is known about it.
    pub info: DeviceInfo,
    /// The platform that it belongs to.
    pub platform: Id,
    /// What the driver knows it by.
    pub id: Id,
}

impl Device {
    /// A number that the device says about itself (`CL_DEVICE_…`), as large as OpenCL's table has it; `None` where it does
    /// not.
    pub fn number<T: Number>(&self, what: ffi::cl_device_info) -> Option<T> {
        number(self.id, what)
    }

    /// The properties of a context on this device: its platform, and these, which may end with a zero or not.
    pub fn properties(&self, more: &[isize]) -> Vec<isize> {
        let platform = [ffi::CL_CONTEXT_PLATFORM as isize, self.platform.raw() as isize];
        platform.iter().chain(more).chain(&[0]).copied().collect()
    }
}

/// What the driver knows a platform or a device by: as long as the process lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id(*mut c_void);

// SAFETY: it is a name, which any thread may use.
unsafe impl Send for Id {}
// SAFETY: as above.
unsafe impl Sync for Id {}

impl Id {
    /// The name for a call of OpenCL's.
    pub fn raw(self) -> *mut c_void {
        self.0
    }
}

/// What the drivers list.
#[derive(Debug, Default)]
pub struct Listing {
    /// The devices to choose from.
    pub devices: Vec<Device>,
    /// A sentence for each device that cannot be used.
    pub unusable: Vec<String>,
}

/// All OpenCL devices of the machine that are available and have a compiler, platform by platform. The list is empty where
/// no driver is installed; the call neither panics nor waits then. After [`drivers::guard`] only drivers that answered
/// in a process of their own are loaded; the first call waits for that.
pub fn list_devices() -> Vec<Device> {
    list().devices
}

/// Lists the devices, as [`list_devices`] does, and tells why others cannot be used.
pub fn list() -> Listing {
    // The installable client driver loader is not safe while its first call is under way: one at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !drivers::may_load() {
        return Listing::default();
    }
    let _watched = watch::on_device("", "the devices are listed");
    let platforms = ids(|room, ids, count| {
        // SAFETY: there is room for so many platforms, or for their number alone.
        unsafe { ffi::clGetPlatformIDs(room, ids, count) }
    });
    drivers::loaded();
    let Listing { mut devices, mut unusable } = Listing::default();
    for platform in platforms.unwrap_or_default() {
        let name = text_of(|size, to, length| {
            // SAFETY: the platform is one that the driver has named, and there is room for `size` bytes.
            unsafe { ffi::clGetPlatformInfo(platform.raw(), ffi::CL_PLATFORM_NAME, size, to, length) }
        });
        let name = name.unwrap_or_default();
        if drivers::skipped_by(&name).is_some() {
            continue;
        }
        let all = ids(|room, ids, count| {
            // SAFETY: as above; there is room for so many devices, or for their number alone.
            unsafe { ffi::clGetDeviceIDs(platform.raw(), ffi::CL_DEVICE_TYPE_ALL, room, ids, count) }
        });
        for id in all.unwrap_or_default() {
            match describe(id, devices.len(), &name) {
                Ok(info) => devices.push(Device { info, platform, id }),
                Err(why) => unusable.push(why),
            }
        }
    }
    address::name_twins(&mut devices);
    Listing { devices, unusable }
}

/// A list of what the driver has names for. `ask` is a function `clGet…IDs`, with room for so many at an address, and with
/// where their number goes; it is called twice.
fn ids(ask: impl Fn(u32, *mut *mut c_void, *mut u32) -> i32) -> Answer<Vec<Id>> {
    let mut count = 0;
    Status::check(ask(0, ptr::null_mut(), &mut count))?;
    let mut ids = vec![ptr::null_mut(); count.min(MOST_IDS) as usize];
    if !ids.is_empty() {
        let room = ids.len() as u32;
        Status::check(ask(room, ids.as_mut_ptr(), &mut count))?;
        ids.truncate(count as usize);
    }
    Ok(ids.into_iter().filter(|id| !id.is_null()).map(Id).collect())
}

/// More than any machine has, against a number that is rubbish.
const MOST_IDS: u32 = 1 << 16;

/// More compute units, MHz, bytes of memory and of local memory than any device has: what is above is rubbish, and counts as
/// not told. Launches are as large as the units say.
const MOST_UNITS: u32 = 1 << 20;
const MOST_MHZ: u32 = 100_000;
const MOST_MEMORY: u64 = 1 << 50;
const MOST_LOCAL_MEMORY: u64 = 1 << 30;

/// What the device says about itself; a sentence when it is not available, has no compiler or is of a kind that runs no
/// kernels.
fn describe(id: Id, index: usize, platform: &str) -> std::result::Result<DeviceInfo, String> {
    let text = |what| {
        let answer = text_of(|size, to, length| {
            // SAFETY: the device is one that the driver has named, and there is room for `size` bytes.
            unsafe { ffi::clGetDeviceInfo(id.raw(), what, size, to, length) }
        });
        answer.unwrap_or_default()
    };
    let is = |what| number::<u32>(id, what).map(|answer| answer != 0);
    let name = Some(text(ffi::CL_DEVICE_NAME)).filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| UNNAMED.to_owned());
    let unusable = |why: &str| format!("Its device '{name}' {why}.");
    if is(ffi::CL_DEVICE_AVAILABLE) == Some(false) {
        return Err(unusable("is not available (CL_DEVICE_AVAILABLE)"));
    }
    if is(ffi::CL_DEVICE_COMPILER_AVAILABLE) == Some(false) {
        return Err(unusable("has no compiler (CL_DEVICE_COMPILER_AVAILABLE)"));
    }
    let kind = number::<u64>(id, ffi::CL_DEVICE_TYPE).unwrap_or_default();
    let kinds = [
        (ffi::CL_DEVICE_TYPE_GPU, DeviceKind::Gpu),
        (ffi::CL_DEVICE_TYPE_CPU, DeviceKind::Cpu),
        (ffi::CL_DEVICE_TYPE_ACCELERATOR, DeviceKind::Accelerator),
    ];
    let Some((_, kind)) = kinds.into_iter().find(|(bit, _)| kind & bit != 0) else {
        return Err(unusable(
            "is neither a processor nor a graphics card nor an accelerator (CL_DEVICE_TYPE)",
        ));
    };
    let [units, clock_mhz, max_sub_groups] = [
        (ffi::CL_DEVICE_MAX_COMPUTE_UNITS, MOST_UNITS),
        (ffi::CL_DEVICE_MAX_CLOCK_FREQUENCY, MOST_MHZ),
        (ffi::CL_DEVICE_MAX_NUM_SUB_GROUPS, u32::MAX),
    ]
    .map(|(what, most)| number(id, what).filter(|number| *number <= most).unwrap_or_default());
    let [global_memory_bytes, max_allocation_bytes, local_memory_bytes] = [
        (ffi::CL_DEVICE_GLOBAL_MEM_SIZE, MOST_MEMORY),
        (ffi::CL_DEVICE_MAX_MEM_ALLOC_SIZE, MOST_MEMORY),
        (ffi::CL_DEVICE_LOCAL_MEM_SIZE, MOST_LOCAL_MEMORY),
    ]
    .map(|(what, most)| number(id, what).filter(|number| *number <= most).unwrap_or_default());
    let [max_work_group_size, widest, highest] = [
        ffi::CL_DEVICE_MAX_WORK_GROUP_SIZE,
        ffi::CL_DEVICE_IMAGE2D_MAX_WIDTH,
        ffi::CL_DEVICE_IMAGE2D_MAX_HEIGHT,
    ]
    .map(|what| number(id, what).unwrap_or_default());
    Ok(DeviceInfo {
        index,
        name,
        platform: platform.to_owned(),
        version: text(ffi::CL_DEVICE_VERSION),
        driver: text(ffi::CL_DRIVER_VERSION),
        kind,
        units,
        clock_mhz,
        global_memory_bytes,
        unified_memory: is(ffi::CL_DEVICE_HOST_UNIFIED_MEMORY) == Some(true),
        max_allocation_bytes,
        local_memory_bytes,
        max_work_group_size,
        max_sub_groups,
        image_support: is(ffi::CL_DEVICE_IMAGE_SUPPORT) == Some(true),
        max_image: (widest, highest),
        extensions: text(ffi::CL_DEVICE_EXTENSIONS).split_whitespace().map(str::to_owned).collect(),
    })
}

/// A number that the device says about itself.
fn number<T: Number>(id: Id, what: ffi::cl_device_info) -> Option<T> {
    let answer = number_of(|size, to| {
        // SAFETY: the device is one that the driver has named, and there is room for `size` bytes.
        unsafe { ffi::clGetDeviceInfo(id.raw(), what, size, to, ptr::null_mut()) }
    });
    answer.ok()
}

const INSTALL: &str =
    "Install pocl-opencl-icd to compute on the CPU, or the OpenCL driver of the graphics card's vendor.";

/// The error for a machine without any OpenCL device: it tells why each driver gives none, and names the library that finds
/// none.
pub fn no_device() -> Error {
    let findings = drivers::findings();
    let is_empty = |driver: &&Driver| matches!(driver.verdict, Verdict::Empty { overlooked_by: None, .. });
    let is_overlooked =
        |driver: &&Driver| matches!(driver.verdict, Verdict::Empty { overlooked_by: Some(_), .. });
    let mut why: Vec<String> =
        findings.iter().filter(|driver| !is_overlooked(driver)).filter_map(Driver::left_out).collect();
    let try_this = match drivers::loader_at_fault() {
        Some((fault, try_this)) => {
            why.push(fault);
            try_this
        }
        None if findings.iter().any(|driver| is_empty(&driver)) => {
            format!("Put right what is named. {INSTALL}")
        }
        None => INSTALL.to_owned(),
    };
    if why.is_empty() {
        let none = "No OpenCL driver is installed, or none of the installed drivers offers a device";
        why.push(format!("{none}: clreel finds them in {}.", drivers::STANDARD));
    }
    Error::new(
        "There is no OpenCL device on this machine, so the filter cannot run.",
        why.join(" "),
        try_this,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
