//! The device that a user names. In: all devices, and the name. Out: one of them, and a remark where the name fits several.

use super::device::{Device, DeviceKind, no_device};
use crate::drivers;
use base::error::{Error, Result};

/// Numbers below this are indices; larger ones may be parts of names, as in "RTX 4090".
const INDICES: usize = 100;

/// A device that was chosen.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The device.
    pub device: Device,
    /// What to tell the user where the name fits other devices as well.
    pub remark: Option<Error>,
}

/// Chooses a device: `sel` is an index from [`list_devices`](super::list_devices), `cpu`, `gpu`, or a part of a name, in any
/// case. A name is looked for among the platforms' names, then the devices', then the drivers' files as
/// `--skip-platform` knows them; of several that fit the first is taken, which stderr tells. Without `sel` the first GPU,
/// and without a GPU the first device.
///
/// # Errors
/// When the list is empty, or nothing fits `sel`.
pub fn select_device(devices: &[Device], sel: Option<&str>) -> Result<Device> {
    let Selection { device, remark } = select(devices, sel)?;
    if let Some(remark) = remark {
        eprintln!("clreel: {remark}");
    }
    Ok(device)
}

/// Chooses as [`select_device`], and prints nothing.
///
/// # Errors
/// As [`select_device`].
pub fn select(devices: &[Device], sel: Option<&str>) -> Result<Selection> {
    let Some(first) = devices.first() else {
        return Err(no_device());
    };
    let Some(sel) = sel else {
        let card = devices.iter().find(|device| device.info.kind == DeviceKind::Gpu);
        return Ok(Selection { device: card.unwrap_or(first).clone(), remark: None });
    };
    let names: Vec<Names> = devices.iter().map(Names::of).collect();
    let found: Vec<&Device> = fitting(&names, sel, drivers::is_registered_as)
        .into_iter()
        .filter_map(|at| devices.get(at))
        .collect();
    let list = |devices: &[&Device]| {
        let named = |device: &&Device| {
            let info = &device.info;
            format!("{}: {} ({})", info.index, info.name, info.platform)
        };
        devices.iter().map(named).collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [] => Err(Error::new(
            format!("There is no OpenCL device '{sel}'."),
            format!("This machine has {}.", list(&devices.iter().collect::<Vec<_>>())),
            "Choose an index, a part of a platform's or a device's name, cpu or gpu; `clreel devices` lists them.",
        )),
        [only] => Ok(Selection { device: (*only).clone(), remark: None }),
        [taken, ..] => {
            let remark = Error::new(
                format!("Several OpenCL devices fit '{sel}': {}.", list(&found)),
                format!("The first of them is taken, '{}'.", taken.info.name),
                "An index, as in `--device 1`, chooses another one.",
            );
            Ok(Selection { device: (*taken).clone(), remark: Some(remark) })
        }
    }
}

/// What a device can be named by.
struct Names<'a> {
    kind: DeviceKind,
    platform: &'a str,
    device: &'a str,
}

impl<'a> Names<'a> {
    fn of(device: &'a Device) -> Self {
        let info = &device.info;
        Self { kind: info.kind, platform: &info.platform, device: &info.name }
    }
}

/// Returns the positions that `sel` fits. `is_registered_as` tells whether the driver of a platform has a file with this part,
/// in lower case, in its name.
fn fitting(all: &[Names], sel: &str, is_registered_as: impl Fn(&str, &str) -> bool) -> Vec<usize> {
    let wanted = sel.trim().to_lowercase();
    let positions = |fits: &dyn Fn(&Names) -> bool| -> Vec<usize> {
        all.iter().enumerate().filter(|(_, names)| fits(names)).map(|(at, _)| at).collect()
    };
    match (wanted.as_str(), wanted.parse::<usize>()) {
        ("", _) => return Vec::new(),
        ("cpu", _) => return positions(&|names| names.kind == DeviceKind::Cpu),
        ("gpu", _) => return positions(&|names| names.kind == DeviceKind::Gpu),
        (_, Ok(index)) if index < all.len().max(INDICES) => {
            return (index < all.len()).then_some(index).into_iter().collect();
        }
        _ => {}
    }
    // One name may be a part of another.
    let is = |name: &str| name.trim().to_lowercase() == wanted;
    let has = |name: &str| name.to_lowercase().contains(&wanted);
    let ways: [&dyn Fn(&Names) -> bool; 5] = [
        &|names| is(names.platform),
        &|names| has(names.platform),
        &|names| is(names.device),
        &|names| has(names.device),
        &|names| is_registered_as(names.platform, &wanted),
    ];
    ways.into_iter().map(positions).find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: DeviceKind = DeviceKind::Cpu;
    const GPU: DeviceKind = DeviceKind::Gpu;

    fn of(all: &[(DeviceKind, &str, &str)], sel: &str) -> Vec<usize> {
        let names: Vec<Names> =
            all.iter().map(|&(kind, platform, device)| Names { kind, platform, device }).collect();
        fitting(&names, sel, |platform, part| {
            platform == "Portable Computing Language" && "libpocl.so.2".contains(part)
        })
    }

    #[test]
    fn a_whole_name_comes_before_a_part_of_another_one() {
        let pocl_6 = [(CPU, "P", "cpu-minimal-haswell-Xeon"), (CPU, "P", "cpu-haswell-Xeon")];
        assert_eq!(of(&pocl_6, "cpu-haswell-xeon"), [1]);
        assert_eq!(of(&pocl_6, "minimal"), [0]);
        assert_eq!(of(&pocl_6, "cpu-"), [0, 1]);
        assert!(of(&pocl_6, "graphics").is_empty());
        assert_eq!(of(&[(CPU, "P", "Xeon, part 1"), (CPU, "P", "Xeon ")], "xeon"), [1]);
    }

    #[test]
    fn a_platforms_name_comes_before_a_devices() {
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
            // The name that its file alone has.
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
