//! PCI addresses and UUIDs, which distinguish devices of the same name and identify devices across drivers.

use std::ptr;

use ocl::ffi;

use super::handle::{Id, number};

/// The device property `CL_DEVICE_PCI_BUS_INFO_KHR` of cl_khr_pci_bus_info: domain, bus, device and function.
const BUS_INFO: u32 = 0x410f;
/// The device property `CL_DEVICE_UUID_KHR` of cl_khr_device_uuid.
const UUID: u32 = 0x106a;
/// The device properties of cl_nv_device_attribute_query for the PCI bus, slot and domain. The slot is the device number:
/// driver 580 reports 6 for a card at 0000:00:06.0. Cards compute with function 0 only.
const NVIDIA_BUS_INFO: [u32; 3] = [0x4008, 0x4009, 0x400a];
/// The device property `CL_DEVICE_TOPOLOGY_AMD` of cl_amd_device_attribute_query: the PCI bus, device and function.
const TOPOLOGY: u32 = 0x4037;

/// Returns the PCI address of a device that lists `extensions`; `None` if the driver does not report it.
pub(super) fn pci_address(id: Id, extensions: &[String]) -> Option<String> {
    let lists = |extension: &str| extensions.iter().any(|listed| listed == extension);
    let [domain, bus, slot, function] = if lists("cl_khr_pci_bus_info") {
        query_words::<4>(id, BUS_INFO)?
    } else if lists("cl_nv_device_attribute_query") {
        let [bus, slot, domain] = NVIDIA_BUS_INFO.map(|what| number::<u32>(id, what));
        // The slot is the number of the device: 6 for 0000:00:06.0 on an H200 with driver 580.
        [domain.unwrap_or_default(), bus?, slot?, 0]
    } else if lists("cl_amd_device_attribute_query") {
        // Six words: the type of the bus, which is 1 for PCI, and bus, device and function in the last three bytes.
        let topology = query_words::<6>(id, TOPOLOGY).filter(|words| words[0] == 1)?;
        let [_, bus, slot, function] = topology[5].to_ne_bytes().map(u32::from);
        [0, bus, slot, function]
    } else {
        return None;
    };
    Some(format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"))
}

/// Returns the UUID of a device that lists `extensions`; `None` if the driver does not report it, or reports zeros.
pub(super) fn uuid(id: Id, extensions: &[String]) -> Option<[u32; 4]> {
    let is_offered = extensions.iter().any(|listed| listed == "cl_khr_device_uuid");
    let uuid = is_offered.then(|| query_words::<4>(id, UUID))??;
    (uuid != [0; 4]).then_some(uuid)
}

/// Queries a device property of `N` 32-bit words; `None` if the driver returns an error.
fn query_words<const N: usize>(id: Id, what: u32) -> Option<[u32; N]> {
    let mut words = [0_u32; N];
    // SAFETY: the device is one that the driver has named, and there is room for the words.
    let status = unsafe {
        ffi::clGetDeviceInfo(id.raw(), what, size_of_val(&words), words.as_mut_ptr().cast(), ptr::null_mut())
    };
    (status == 0).then_some(words)
}
