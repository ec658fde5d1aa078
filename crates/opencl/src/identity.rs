//! Identifies a device across processes, whose handles differ.

use super::cl::{Device, list_devices};

/// The identity of a device in all processes: the name of its platform, its own name, and the number of earlier devices in the
/// list with both names.
pub type Identity = (String, String, usize);

/// Returns the identity of the device at index `at` of `devices`.
pub fn identity(devices: &[Device], at: usize) -> Identity {
    let of = |device: &Device| (device.info.platform.clone(), device.info.name.clone());
    let (platform, name) = of(&devices[at]);
    let twins = devices[..at].iter().filter(|device| of(device) == (platform.clone(), name.clone()));
    let before = twins.count();
    (platform, name, before)
}

/// Returns the identity of a device, by which [`by_identity`] finds it in another process.
pub fn identity_of(device: &Device) -> Identity {
    let devices = list_devices();
    let index = devices.iter().position(|d| d.id == device.id);
    index.map_or_else(Default::default, |at| identity(&devices, at))
}

/// Returns the device with this identity; `None` if this process does not list it.
pub fn by_identity(wanted: &Identity) -> Option<Device> {
    let devices = list_devices();
    position(&devices, wanted).and_then(|at| devices.get(at).cloned())
}

/// Returns the index in `devices` of the device with this identity; `None` if it is not in the list.
pub fn position(devices: &[Device], wanted: &Identity) -> Option<usize> {
    (0..devices.len()).find(|at| identity(devices, *at) == *wanted)
}
