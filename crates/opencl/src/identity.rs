//! What a device is known by in another process, which has handles of its own. In: a device here. Out: the same one there.

use super::cl::{Device, list_devices};

/// A device as another process finds it in its own list: its platform, its name, and how many of the same stand before
/// it.
pub type Identity = (String, String, usize);

/// What the device at this index of the list is known by.
pub fn identity(devices: &[Device], at: usize) -> Identity {
    let of = |device: &Device| (device.info.platform.clone(), device.info.name.clone());
    let (platform, name) = of(&devices[at]);
    let twins = devices[..at].iter().filter(|device| of(device) == (platform.clone(), name.clone()));
    let before = twins.count();
    (platform, name, before)
}

/// What a device is known by in another process; [`by_identity`] finds it there.
pub fn identity_of(device: &Device) -> Identity {
    let devices = list_devices();
    let index = devices.iter().position(|d| d.id == device.id);
    index.map_or_else(Default::default, |at| identity(&devices, at))
}

/// The device that another process names; `None` where it is not listed.
pub fn by_identity(wanted: &Identity) -> Option<Device> {
    let devices = list_devices();
    position(&devices, wanted).and_then(|at| devices.get(at).cloned())
}

/// Returns where in the list the device stands that another process names.
pub fn position(devices: &[Device], wanted: &Identity) -> Option<usize> {
    (0..devices.len()).find(|at| identity(devices, *at) == *wanted)
}
