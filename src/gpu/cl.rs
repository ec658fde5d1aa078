//! OpenCL devices, contexts and queues. In: nothing but the machine. Out: [`Device`]s to choose from and
//! a [`ClContext`] to work with.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use ocl::core::{self, CommandQueueProperties, DeviceInfo as Info, DeviceInfoResult as Answer, DeviceType};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::gpu::calls;
use crate::gpu::drivers::{self, Verdict};
use crate::gpu::watch;

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

/// What is known about a device before a context is made on it.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceInfo {
    /// Position in the list of [`list_devices`], stable while the machine's drivers stay the same.
    pub index: usize,
    /// The device's name as its driver gives it.
    pub name: String,
    /// The name of its platform, that is of its driver.
    pub platform: String,
    /// The device's OpenCL version string, such as "OpenCL 3.0 PoCL".
    pub version: String,
    /// The driver's version string.
    pub driver: String,
    /// What sort of device it is.
    #[serde(rename = "type")]
    pub kind: DeviceKind,
    /// Compute units.
    pub units: u32,
    /// Highest clock in MHz, 0 where the driver does not say.
    pub clock_mhz: u32,
    /// All of its memory, in bytes.
    pub global_memory_bytes: u64,
    /// Its memory is the host's (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    #[serde(skip)]
    pub unified_memory: bool,
    /// Largest buffer or image, in bytes.
    pub max_allocation_bytes: u64,
    /// Memory that a work-group shares, in bytes.
    pub local_memory_bytes: u64,
    /// Most work-items in a work-group.
    pub max_work_group_size: usize,
    /// Whether it has images and samplers.
    pub image_support: bool,
    /// Largest 2D image, width and height in pixels.
    pub max_image: (usize, usize),
    /// The extensions that it lists, such as `cl_khr_gl_sharing`.
    pub extensions: Vec<String>,
}

#[cfg(test)]
impl DeviceInfo {
    /// A device that is not there, for tests to change as they need it.
    pub(crate) fn made_up() -> Self {
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
    pub platform: ocl::Platform,
    /// The handle to make contexts with.
    pub device: ocl::Device,
}

/// All OpenCL devices of the machine that have a compiler, platform by platform. The list is empty where no
/// driver is installed; the call neither panics nor waits then. After [`drivers::guard`] only drivers that answered
/// in a process of their own are loaded; the first call waits for that.
pub fn list_devices() -> Vec<Device> {
    // The installable client driver loader is not safe while its first call is under way: one at a time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !drivers::may_load() {
        return Vec::new();
    }
    let _watched = watch::on_device("", "the devices are listed");
    let mut platforms = 0u32;
    // SAFETY: asking for the number of platforms alone: no array is passed, and the count outlives the call.
    let status = unsafe { ocl::ffi::clGetPlatformIDs(0, ptr::null_mut(), &mut platforms) };
    drivers::loaded();
    // Without a driver, ocl's own function tries for ten seconds and its callers panic: ask first.
    if status != 0 || platforms == 0 {
        return Vec::new();
    }
    let mut devices = Vec::new();
    for platform in core::get_platform_ids().unwrap_or_default() {
        let platform_name = text(core::get_platform_info(platform, core::PlatformInfo::Name).ok());
        if drivers::skipped_by(&platform_name).is_some() {
            continue;
        }
        for id in core::get_device_ids(platform, Some(DeviceType::ALL), None).unwrap_or_default() {
            if let Some(info) = describe(&id, devices.len(), &platform_name) {
                devices.push(Device {
                    info,
                    platform: ocl::Platform::new(platform),
                    device: ocl::Device::from(id),
                });
            }
        }
    }
    devices
}

fn text(answer: Option<impl ToString>) -> String {
    answer.map(|a| a.to_string().trim().to_owned()).unwrap_or_default()
}

/// What the device says about itself; `None` when it is not available, has no compiler or is of a kind that
/// runs no kernels.
fn describe(id: &core::DeviceId, index: usize, platform: &str) -> Option<DeviceInfo> {
    let ask = |what| core::get_device_info(id, what).ok();
    if matches!(ask(Info::Available), Some(Answer::Available(false)))
        || matches!(ask(Info::CompilerAvailable), Some(Answer::CompilerAvailable(false)))
    {
        return None;
    }
    let kind = match ask(Info::Type) {
        Some(Answer::Type(t)) if t.contains(DeviceType::GPU) => DeviceKind::Gpu,
        Some(Answer::Type(t)) if t.contains(DeviceType::CPU) => DeviceKind::Cpu,
        Some(Answer::Type(t)) if t.contains(DeviceType::ACCELERATOR) => DeviceKind::Accelerator,
        _ => return None,
    };
    // Each question has one kind of answer; anything else counts as nothing known.
    macro_rules! number {
        ($what:ident) => {
            match ask(Info::$what) {
                Some(Answer::$what(v)) => v,
                _ => Default::default(),
            }
        };
    }
    Some(DeviceInfo {
        index,
        name: text(ask(Info::Name)),
        platform: platform.to_owned(),
        // The raw string: ocl's own type keeps only the numbers of it.
        version: core::get_device_info_raw(id, Info::Version as u32)
            .map(|raw| String::from_utf8_lossy(&raw).trim_matches(['\0', ' ']).to_owned())
            .unwrap_or_default(),
        driver: text(ask(Info::DriverVersion)),
        kind,
        units: number!(MaxComputeUnits),
        clock_mhz: number!(MaxClockFrequency),
        global_memory_bytes: number!(GlobalMemSize),
        unified_memory: number!(HostUnifiedMemory),
        max_allocation_bytes: number!(MaxMemAllocSize),
        local_memory_bytes: number!(LocalMemSize),
        max_work_group_size: number!(MaxWorkGroupSize),
        image_support: number!(ImageSupport),
        max_image: (number!(Image2dMaxWidth), number!(Image2dMaxHeight)),
        extensions: text(ask(Info::Extensions)).split_whitespace().map(str::to_owned).collect(),
    })
}

/// Chooses a device: `sel` is an index from [`list_devices`], `cpu`, `gpu`, a name, or a part of one, in any case.
/// Without it the first GPU, and without a GPU the first device.
///
/// # Errors
/// When the list is empty, or nothing fits `sel`.
pub fn select_device(devices: &[Device], sel: Option<&str>) -> Result<Device> {
    let Some(first) = devices.first() else {
        return Err(no_device());
    };
    let of_kind = |kind| devices.iter().find(|d| d.info.kind == kind);
    let Some(sel) = sel else {
        return Ok(of_kind(DeviceKind::Gpu).unwrap_or(first).clone());
    };
    let wanted = sel.trim().to_lowercase();
    let found = match (wanted.as_str(), wanted.parse::<usize>()) {
        ("", _) => None,
        ("cpu", _) => of_kind(DeviceKind::Cpu),
        ("gpu", _) => of_kind(DeviceKind::Gpu),
        (_, Ok(index)) if index < devices.len() => devices.get(index),
        _ => named(devices.iter().map(|d| d.info.name.as_str()), &wanted).and_then(|i| devices.get(i)),
    };
    found.cloned().ok_or_else(|| {
        let list: Vec<_> = devices.iter().map(|d| format!("{}: {}", d.info.index, d.info.name)).collect();
        Error::new(
            format!("There is no OpenCL device '{sel}'."),
            format!("This machine has {}.", list.join(", ")),
            "Choose an index, a part of a name, cpu or gpu; `clreel devices` lists them.",
        )
    })
}

/// Which of the names is `wanted` (in lower case), or else has it as a part: one name may be a part of another.
fn named<'a>(names: impl Iterator<Item = &'a str> + Clone, wanted: &str) -> Option<usize> {
    let mut lower = names.map(str::to_lowercase);
    let whole = lower.clone().position(|name| name.trim() == wanted);
    whole.or_else(|| lower.position(|name| name.contains(wanted)))
}

/// The error for a machine without any OpenCL device; it names the drivers that were left out.
pub(crate) fn no_device() -> Error {
    let mut why = Vec::new();
    for driver in drivers::verdicts() {
        match &driver.verdict {
            Verdict::Failed { reason } => {
                why.push(format!("The driver {} was left out: {reason}", driver.name))
            }
            Verdict::Skipped { by } => {
                why.push(format!("The driver {} was left out, as '{by}' asks.", driver.name))
            }
            Verdict::Empty { .. } | Verdict::Ok { .. } => {}
        }
    }
    if why.is_empty() {
        why.push(
            "No OpenCL driver is installed, or none of the installed drivers offers a device.".to_owned(),
        );
    }
    Error::new(
        "There is no OpenCL device on this machine, so the filter cannot run.",
        why.join(" "),
        "Install pocl-opencl-icd to compute on the CPU, or the OpenCL driver of the graphics card's vendor.",
    )
}

/// A device with its context and one in-order queue that profiles its commands. Clones share both.
#[derive(Debug, Clone)]
pub struct ClContext {
    /// The one device of the context.
    pub device: Device,
    /// What programs, buffers and images are made in.
    pub context: ocl::Context,
    /// In order, with profiling.
    pub queue: ocl::Queue,
}

impl ClContext {
    /// Makes a context and a queue on `device`.
    pub fn new(device: &Device) -> Result<Self> {
        let _watched = watch::on_device(&device.info.name, "a context is made");
        let failed = |e: ocl::Error| {
            Error::new(
                format!("The OpenCL device '{}' cannot be used.", device.info.name),
                reason(&e),
                "Choose another device with --device; `clreel devices` lists them.",
            )
        };
        let context = ocl::Context::builder()
            .platform(device.platform)
            .devices(device.device)
            .build()
            .map_err(failed)?;
        Self::from_context(device, context)
    }

    /// Makes a queue in a context of this one device.
    ///
    /// # Errors
    /// When the driver gives none.
    pub(crate) fn from_context(device: &Device, context: ocl::Context) -> Result<Self> {
        let queue = new_queue(&context, device).map_err(|e| failed("A queue could not be made.", &e))?;
        Ok(Self { device: device.clone(), context, queue })
    }

    /// Whether the device waits by itself for OpenGL before it takes a shared texture over.
    pub(crate) fn waits_for_gl(&self) -> bool {
        self.device.info.extensions.iter().any(|name| name == "cl_khr_gl_event")
    }

    /// Another in-order, profiling queue of the same context: for what must not stand behind the first one's commands.
    pub fn extra_queue(&self) -> Result<ocl::Queue> {
        new_queue(&self.context, &self.device).map_err(|e| failed("A queue could not be made.", &e))
    }

    /// Whether the device is a processor, for which other code and other ways are the fast ones.
    pub fn is_cpu(&self) -> bool {
        self.device.info.kind == DeviceKind::Cpu
    }

    /// Whether the device computes in the host's memory, so that nothing needs to be copied to it: a processor, and not one
    /// of another machine.
    pub(crate) fn uses_host_memory(&self) -> bool {
        self.is_cpu() && self.device.info.unified_memory
    }
}

fn new_queue(context: &ocl::Context, device: &Device) -> ocl::Result<ocl::Queue> {
    ocl::Queue::new(context, device.device, Some(CommandQueueProperties::PROFILING_ENABLE))
}

/// Has the device begin with what is in the queue.
///
/// # Errors
/// When the driver refuses.
pub(crate) fn flush(queue: &ocl::Queue) -> Result<()> {
    queue.flush().map_err(|e| failed("The OpenCL queue could not be started.", &e))
}

/// An OpenCL status with its name: "CL_DEVICE_NOT_FOUND (-1)".
pub(crate) fn status_name(code: i32) -> String {
    let code = calls::as_the_driver_said(code);
    let name = match code {
        -1 => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        -4 => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        -10 => "CL_IMAGE_FORMAT_NOT_SUPPORTED",
        -11 => "CL_BUILD_PROGRAM_FAILURE",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -38 => "CL_INVALID_MEM_OBJECT",
        -46 => "CL_INVALID_KERNEL_NAME",
        -48 => "CL_INVALID_KERNEL",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -59 => "CL_INVALID_OPERATION",
        -60 => "CL_INVALID_GL_OBJECT",
        -61 => "CL_INVALID_BUFFER_SIZE",
        -1000 => "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR",
        -1001 => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => return format!("error {code}"),
    };
    format!("{name} ({code})")
}

/// The reason in an OpenCL error, as one sentence.
pub fn reason(error: &ocl::Error) -> String {
    match error.api_status() {
        Some(status) => format!("OpenCL returned {}.", status_name(status as i32)),
        None => {
            let text = error.to_string();
            let line = text.lines().map(str::trim).find(|l| l.chars().any(char::is_alphanumeric));
            format!("{}.", line.unwrap_or("OpenCL gave no reason").trim_end_matches('.'))
        }
    }
}

/// An [`Error`] from an OpenCL error; `what` is its first sentence.
pub fn failed(what: &str, error: &ocl::Error) -> Error {
    Error { opencl_status: status(error), ..Error::new(what, reason(error), "") }
}

/// The status in an OpenCL error.
pub(crate) fn status(error: &ocl::Error) -> Option<i32> {
    error.api_status().map(|status| status as i32)
}

/// Whether an error is the device's: memory or resources ran out, or objects were lost. A program that does not build, a
/// kernel that is not what was expected and a size that is not allowed fail the same way whenever they are tried.
pub(crate) fn is_device_failure(error: &Error) -> bool {
    error.opencl_status.is_some_and(|status| {
        let program = matches!(status, -3 | -11 | -43 | -47..=-45 | -52..=-49);
        let size_or_format = matches!(status, -10 | -40..=-39 | -56..=-53 | -61 | -63);
        !program && !size_or_format
    })
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_whole_name_comes_before_a_part_of_another_one() {
        let of = |names: &[&'static str], wanted| named(names.iter().copied(), wanted);
        let pocl_6 = ["cpu-minimal-haswell-Xeon", "cpu-haswell-Xeon"];
        assert_eq!(of(&pocl_6, "cpu-haswell-xeon"), Some(1));
        assert_eq!(of(&pocl_6, "minimal"), Some(0));
        assert_eq!(of(&pocl_6, "cpu-"), Some(0));
        assert_eq!(of(&pocl_6, "graphics"), None);
        assert_eq!(of(&["Xeon, part 1", "Xeon "], "xeon"), Some(1));
    }
}
