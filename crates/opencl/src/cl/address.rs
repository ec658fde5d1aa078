//! PCI addresses, which tell devices of the same name apart.

use std::ptr;

use ocl::ffi;

use super::device::{Device, Id};

/// `CL_DEVICE_PCI_BUS_INFO_KHR` of cl_khr_pci_bus_info: domain, bus, device and function.
const BUS_INFO: u32 = 0x410f;
/// Bus, slot and domain of cl_nv_device_attribute_query. The slot holds the device's number and, in its lowest three bits,
/// the function's.
const NVIDIA: [u32; 3] = [0x4008, 0x4009, 0x400a];
/// `CL_DEVICE_TOPOLOGY_AMD` of cl_amd_device_attribute_query.
const TOPOLOGY: u32 = 0x4037;

/// Appends the PCI address to the name of each device whose name another device of its platform has, too. A device whose
/// driver does not give the address keeps its name.
pub(super) fn name_twins(devices: &mut [Device]) {
    let names: Vec<_> =
        devices.iter().map(|device| (device.info.platform.clone(), device.info.name.clone())).collect();
    for (device, name) in devices.iter_mut().zip(&names) {
        if names.iter().filter(|other| *other == name).count() > 1
            && let Some(address) = address(device)
        {
            device.info.name = format!("{} ({address})", device.info.name);
        }
    }
}

fn address(device: &Device) -> Option<String> {
    let lists = |extension: &str| device.info.extensions.iter().any(|listed| listed == extension);
    let [domain, bus, slot, function] = if lists("cl_khr_pci_bus_info") {
        answer::<4>(device.id, BUS_INFO)?
    } else if lists("cl_nv_device_attribute_query") {
        let [bus, slot, domain] = NVIDIA.map(|what| device.number::<u32>(what));
        let slot = slot?;
        [domain.unwrap_or_default(), bus?, slot >> 3, slot & 7]
    } else if lists("cl_amd_device_attribute_query") {
        // Six words: the type of the bus, which is 1 for PCI, and bus, device and function in the last three bytes.
        let topology = answer::<6>(device.id, TOPOLOGY).filter(|words| words[0] == 1)?;
        let [_, bus, slot, function] = topology[5].to_ne_bytes().map(u32::from);
        [0, bus, slot, function]
    } else {
        return None;
    };
    Some(format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"))
}

/// Returns `N` words that the driver answers with; `None` where it answers with an error.
fn answer<const N: usize>(id: Id, what: u32) -> Option<[u32; N]> {
    let mut words = [0_u32; N];
    // SAFETY: the device is one that the driver has named, and there is room for the words.
    let status = unsafe {
        ffi::clGetDeviceInfo(id.raw(), what, size_of_val(&words), words.as_mut_ptr().cast(), ptr::null_mut())
    };
    (status == 0).then_some(words)
}
