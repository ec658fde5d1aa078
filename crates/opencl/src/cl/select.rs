//! Selects the device that a user names.

use super::device::{Device, no_device};
use crate::drivers;
use base::device::{DeviceInfo, DeviceKind};
use base::error::{Error, Result};
use base::stderr::print_message;

/// The smallest number that does not select a device by its index, since it may be a part of a name, as in "RTX 4090".
const INDEX_LIMIT: usize = 100;

/// Chooses a device by `sel`: an index in the list of [`list_devices`](super::list_devices), `cpu`, `gpu`, or a part of a name,
/// in upper or lower case. `sel` is compared first with the names of platforms, then with the names of devices, then with the
/// file names of drivers, as `--skip-platform` does. If several devices match, the first is chosen, with a warning on stderr.
/// Without `sel` the first GPU is chosen, or the first device if there is no GPU.
///
/// # Errors
/// Returns an error if the list is empty, or nothing matches `sel`.
pub fn select_device(devices: &[Device], sel: Option<&str>) -> Result<Device> {
    let (device, remark) = select(devices, sel)?;
    if let Some(remark) = remark {
        print_message(&remark);
    }
    Ok(device)
}

/// Chooses a device as [`select_device`] does, and returns the warning instead of printing it.
///
/// # Errors
/// Returns an error as [`select_device`] does.
pub fn select(devices: &[Device], sel: Option<&str>) -> Result<(Device, Option<Error>)> {
    let Some(first) = devices.first() else { return Err(no_device()) };
    let Some(sel) = sel else {
        let card = devices.iter().find(|device| device.info.kind == DeviceKind::Gpu);
        return Ok((card.unwrap_or(first).clone(), None));
    };
    let infos: Vec<&DeviceInfo> = devices.iter().map(|device| &device.info).collect();
    let found = matching_positions(&infos, sel, drivers::is_registered_as);
    let list = |positions: &[usize]| {
        let named = |info: &DeviceInfo| format!("{}: {} ({})", info.index, info.name, info.platform);
        positions.iter().map(|at| named(infos[*at])).collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [] => Err(Error::new(
            format!("There is no OpenCL device '{sel}'."),
            format!("This machine has {}.", list(&Vec::from_iter(0..devices.len()))),
            "Choose an index, a part of a platform's or a device's name, cpu or gpu; `clreel devices` lists them.",
        )),
        [taken, others @ ..] => {
            let remark = || {
                Error::new(
                    format!("Several OpenCL devices match '{sel}': {}.", list(&found)),
                    format!("The first one is used, '{}'.", infos[*taken].name),
                    "Choose another one by its index, as in `--device 1`.",
                )
            };
            Ok((devices[*taken].clone(), (!others.is_empty()).then(remark)))
        }
    }
}

/// Returns the positions in `all` of the devices that match `sel`. `is_registered_as` receives a platform's name and `sel` in lower
/// case, and returns true if the name of the driver's file contains it.
fn matching_positions(
    all: &[&DeviceInfo],
    sel: &str,
    is_registered_as: impl Fn(&str, &str) -> bool,
) -> Vec<usize> {
    let wanted = sel.trim().to_lowercase();
    let positions = |fits: &dyn Fn(&DeviceInfo) -> bool| -> Vec<usize> {
        all.iter().enumerate().filter(|(_, info)| fits(info)).map(|(at, _)| at).collect()
    };
    match (wanted.as_str(), wanted.parse::<usize>()) {
        ("", _) => return Vec::new(),
        ("cpu", _) => return positions(&|info| info.kind == DeviceKind::Cpu),
        ("gpu", _) => return positions(&|info| info.kind == DeviceKind::Gpu),
        (_, Ok(index)) if index < all.len().max(INDEX_LIMIT) => {
            return (index < all.len()).then_some(index).into_iter().collect();
        }
        _ => {}
    }
    // Whole names come first, since one name may be a part of another.
    let is = |name: &str| name.trim().to_lowercase() == wanted;
    let has = |name: &str| name.to_lowercase().contains(&wanted);
    let ways: [&dyn Fn(&DeviceInfo) -> bool; 5] = [
        &|info| is(&info.platform),
        &|info| has(&info.platform),
        &|info| is(&info.name),
        &|info| has(&info.name),
        &|info| is_registered_as(&info.platform, &wanted),
    ];
    ways.into_iter().map(positions).find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: DeviceKind = DeviceKind::Cpu;
    const GPU: DeviceKind = DeviceKind::Gpu;

    fn of(all: &[(DeviceKind, &str, &str)], sel: &str) -> Vec<usize> {
        let info = |&(kind, platform, name): &(DeviceKind, &str, &str)| DeviceInfo {
            kind,
            platform: platform.to_owned(),
            name: name.to_owned(),
            ..DeviceInfo::made_up()
        };
        let infos: Vec<DeviceInfo> = all.iter().map(info).collect();
        matching_positions(&infos.iter().collect::<Vec<_>>(), sel, |platform, part| {
            platform == "Portable Computing Language" && "libpocl.so.2".contains(part)
        })
    }

    #[test]
    fn whole_names_and_names_of_platforms_come_first() {
        let pocl_6 = [(CPU, "P", "cpu-minimal-haswell-Xeon"), (CPU, "P", "cpu-haswell-Xeon")];
        assert_eq!(of(&pocl_6, "cpu-haswell-xeon"), [1]);
        assert_eq!(of(&pocl_6, "minimal"), [0]);
        assert_eq!(of(&pocl_6, "cpu-"), [0, 1]);
        assert!(of(&pocl_6, "graphics").is_empty());
        assert_eq!(of(&[(CPU, "P", "Xeon, part 1"), (CPU, "P", "Xeon ")], "xeon"), [1]);
        let all = [
            (CPU, "Portable Computing Language", "pthread-Intel(R) Xeon(R)"),
            (CPU, "Intel(R) OpenCL", "Intel(R) Xeon(R)"),
            (GPU, "NVIDIA CUDA", "NVIDIA H200"),
            (GPU, "NVIDIA CUDA", "NVIDIA H200"),
        ];
        for (sel, fits) in [
            ("intel", &[1][..]),
            ("Intel(R) Xeon(R)", &[1]),
            ("intel(r) opencl", &[1]),
            ("xeon", &[0, 1]),
            ("pthread", &[0]),
            ("portable", &[0]),
            // A name that only the driver's file has.
            ("PoCL", &[0]),
            ("nvidia", &[2, 3]),
            ("h200", &[2, 3]),
            ("cpu", &[0, 1]),
            (" GPU ", &[2, 3]),
            ("3", &[3]),
            // No index of this machine, and no name either, though one has this digit.
            ("4", &[]),
            ("20", &[]),
            ("200", &[2, 3]),
            ("", &[]),
            ("mali", &[]),
        ] {
            assert_eq!(of(&all, sel), fits, "{sel}");
        }
        // A part of the platform's name comes before the whole of a device's.
        assert_eq!(of(&[(CPU, "Other", "Alpha"), (CPU, "Alpha One", "Beta")], "alpha"), [1]);
    }
}
