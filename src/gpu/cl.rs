//! OpenCL devices, contexts and queues. In: nothing but the machine. Out: [`Device`]s to choose from and
//! a [`ClContext`] to work with.

use serde::Serialize;

/// The kind of a device, as OpenCL names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    Cpu,
    Gpu,
    Accelerator,
}

/// What is known about a device before a context is made on it.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceInfo {
    /// Position in the list of [`list_devices`], stable while the machine's drivers stay the same.
    pub index: usize,
    pub name: String,
    pub platform: String,
    /// The device's OpenCL version string, such as "OpenCL 3.0 PoCL".
    pub version: String,
    /// The driver's version string.
    pub driver: String,
    #[serde(rename = "type")]
    pub kind: DeviceKind,
    /// Compute units.
    pub units: u32,
    pub clock_mhz: u32,
    pub global_memory_bytes: u64,
    pub max_allocation_bytes: u64,
    pub local_memory_bytes: u64,
    pub max_work_group_size: usize,
    pub image_support: bool,
    /// Largest 2D image, width and height in pixels.
    pub max_image: (usize, usize),
    pub extensions: Vec<String>,
}
