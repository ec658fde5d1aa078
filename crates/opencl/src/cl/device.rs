//! The OpenCL devices of the machine.

use std::ffi::c_void;
use std::ptr;

use base::device::{DeviceInfo, DeviceKind, UNNAMED};
use num_traits::PrimInt;
use ocl::ffi;
use parking_lot::Mutex;

use super::address;
use super::handle::{Id, number, text_of};
use super::status::{Answer, Status};
use crate::drivers::{self, Driver, Verdict};
use crate::watch;
use base::error::Error;

/// A device on which a context can be created.
#[derive(Debug, Clone)]
pub struct Device {
    /// The properties of the device.
    pub info: DeviceInfo,
    /// The platform of the device.
    pub platform: Id,
    /// The driver's handle of the device.
    pub id: Id,
}

impl Device {
    /// Queries a numeric property (`CL_DEVICE_…`); `T` must have the size that OpenCL specifies. `None` if the driver does not
    /// report it.
    pub fn number<T: PrimInt>(&self, what: ffi::cl_device_info) -> Option<T> {
        number(self.id, what)
    }

    /// Returns the property list for creating a context on this device: its platform, then `more`, then a zero as the end.
    /// `more` may already end with a zero.
    pub fn properties(&self, more: &[isize]) -> Vec<isize> {
        let platform = [ffi::CL_CONTEXT_PLATFORM as isize, self.platform.raw() as isize];
        platform.iter().chain(more).chain(&[0]).copied().collect()
    }
}

/// Returns all OpenCL devices of the machine that are available and have a compiler, platform by platform. The list is empty if
/// no driver is installed; the call then neither panics nor waits. After [`drivers::test_before_loading`], only drivers that
/// passed their test are loaded, and the first call waits for the tests.
pub fn list_devices() -> Vec<Device> {
    list().0
}

/// Lists the usable devices as [`list_devices`] does, and the reasons why other devices cannot be used.
pub fn list() -> (Vec<Device>, Vec<String>) {
    // The loader of drivers (ICD loader) is not thread-safe during its first call.
    /// Allows one thread at a time to list devices.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    if !drivers::may_load() {
        return (Vec::new(), Vec::new());
    }
    let _watched = watch::on_device("", "the devices are listed");
    let platforms = ids(|room, ids, count| {
        // SAFETY: there is room for so many platforms, or for their number alone.
        unsafe { ffi::clGetPlatformIDs(room, ids, count) }
    });
    *drivers::FOLDER.lock() = None;
    let (mut devices, mut unusable) = (Vec::new(), Vec::new());
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
    // Devices of the same platform that share their name get the PCI address appended, if it is known.
    let names: Vec<_> =
        devices.iter().map(|one| (one.info.platform.clone(), one.info.name.clone())).collect();
    for (device, name) in devices.iter_mut().zip(&names) {
        if names.iter().filter(|other| *other == name).count() > 1
            && let Some(address) = &device.info.pci_address
        {
            device.info.name = format!("{} ({address})", device.info.name);
        }
    }
    (devices, unusable)
}

/// Returns the handles that a function `clGet…IDs` lists. `ask` calls that function with a capacity, the address of an array with
/// this capacity, and the address for the number of handles; it is called twice.
fn ids(ask: impl Fn(u32, *mut *mut c_void, *mut u32) -> i32) -> Answer<Vec<Id>> {
    let mut count = 0;
    Status::check(ask(0, ptr::null_mut(), &mut count))?;
    let mut ids = vec![ptr::null_mut(); count.min(MAX_IDS) as usize];
    if !ids.is_empty() {
        let room = ids.len() as u32;
        Status::check(ask(room, ids.as_mut_ptr(), &mut count))?;
        ids.truncate(count as usize);
    }
    Ok(ids.into_iter().filter(|id| !id.is_null()).map(Id::new).collect())
}

/// The maximum plausible number of platforms or devices in a list; a larger number that a driver reports is garbage.
const MAX_IDS: u32 = 1 << 16;

/// The maximum plausible number of compute units. A larger number is garbage and counts as not reported, since launches are sized
/// by the number of compute units.
const MAX_UNITS: u32 = 1 << 20;
/// The maximum plausible clock frequency, in MHz.
const MAX_CLOCK_MHZ: u32 = 100_000;
/// The maximum plausible size of a device's memory, in bytes.
const MAX_MEMORY_BYTES: u64 = 1 << 50;
/// The maximum plausible size of a device's local memory, in bytes.
const MAX_LOCAL_MEMORY_BYTES: u64 = 1 << 30;

/// Returns a device's properties. The error is a sentence: the device is not available, has no compiler, or is of a kind that runs
/// no kernels.
fn describe(id: Id, index: usize, platform: &str) -> Result<DeviceInfo, String> {
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
    let extensions: Vec<String> =
        text(ffi::CL_DEVICE_EXTENSIONS).split_whitespace().map(str::to_owned).collect();
    Ok(DeviceInfo {
        index,
        name,
        platform: platform.to_owned(),
        version: text(ffi::CL_DEVICE_VERSION),
        driver: text(ffi::CL_DRIVER_VERSION),
        vendor_id: number(id, ffi::CL_DEVICE_VENDOR_ID).unwrap_or_default(),
        pci_address: address::pci_address(id, &extensions),
        uuid: address::uuid(id, &extensions),
        kind,
        units: at_most(id, ffi::CL_DEVICE_MAX_COMPUTE_UNITS, MAX_UNITS),
        clock_mhz: at_most(id, ffi::CL_DEVICE_MAX_CLOCK_FREQUENCY, MAX_CLOCK_MHZ),
        global_memory_bytes: at_most(id, ffi::CL_DEVICE_GLOBAL_MEM_SIZE, MAX_MEMORY_BYTES),
        unified_memory: is(ffi::CL_DEVICE_HOST_UNIFIED_MEMORY) == Some(true),
        max_allocation_bytes: at_most(id, ffi::CL_DEVICE_MAX_MEM_ALLOC_SIZE, MAX_MEMORY_BYTES),
        local_memory_bytes: at_most(id, ffi::CL_DEVICE_LOCAL_MEM_SIZE, MAX_LOCAL_MEMORY_BYTES),
        max_work_group_size: at_most(id, ffi::CL_DEVICE_MAX_WORK_GROUP_SIZE, usize::MAX),
        max_sub_groups: at_most(id, ffi::CL_DEVICE_MAX_NUM_SUB_GROUPS, u32::MAX),
        image_support: is(ffi::CL_DEVICE_IMAGE_SUPPORT) == Some(true),
        max_image: (
            at_most(id, ffi::CL_DEVICE_IMAGE2D_MAX_WIDTH, usize::MAX),
            at_most(id, ffi::CL_DEVICE_IMAGE2D_MAX_HEIGHT, usize::MAX),
        ),
        extensions,
    })
}

/// Returns a number that a device reports; 0 if it reports none, or one above `most`.
fn at_most<T: PrimInt>(id: Id, what: ffi::cl_device_info, most: T) -> T {
    number(id, what).filter(|number| *number <= most).unwrap_or_else(T::zero)
}

/// The hint for the user in the error that no OpenCL driver is installed.
const INSTALL: &str =
    "Install pocl-opencl-icd to compute on the CPU, or the OpenCL driver of the graphics card's vendor.";

/// Returns the error for a machine on which no OpenCL device was found. The error states for each driver why it offers no
/// device. If the libOpenCL file ignores a driver that works, the error names that file.
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
            format!("Correct what is named. {INSTALL}")
        }
        None => INSTALL.to_owned(),
    };
    if why.is_empty() {
        let none = "No OpenCL driver is installed, or none of the installed drivers offers a device";
        why.push(format!("{none}: clreel finds them in {}.", drivers::STANDARD_FOLDER));
    }
    Error::new(
        "There is no OpenCL device on this machine, so the filter cannot run.",
        why.join(" "),
        try_this,
    )
}
