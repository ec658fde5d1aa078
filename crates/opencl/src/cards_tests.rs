//! Tests with cards in a folder that is laid out like `/sys` and `/dev`, and with devices of imaginary drivers.

use std::os::unix::fs::symlink;

use super::*;
use crate::folders::{Folder, test_folder};

/// A folder with nodes of graphics cards.
struct Nodes(Folder);

impl Nodes {
    fn new(name: &str) -> Self {
        let folder = test_folder(&format!("cards-{name}"));
        fs::create_dir_all(folder.0.join("sys/class/drm")).unwrap();
        Self(folder)
    }

    /// Adds a card as the kernel lists it, with a screen; with the node `/dev/dri/renderD<n>` if `has_node`.
    fn add(&self, number: u32, module: &str, address: &str, has_node: bool) {
        let render = format!("renderD{}", 128 + number);
        let device = self.0.0.join("sys/devices/pci0000:00").join(address);
        fs::create_dir_all(device.join("drm").join(&render)).unwrap();
        symlink(format!("../../../bus/pci/drivers/{module}"), device.join("driver")).unwrap();
        for name in [format!("card{number}"), format!("card{number}-HDMI-A-1"), render.clone()] {
            let node = device.join("drm").join(&name);
            fs::create_dir_all(&node).unwrap();
            symlink(&device, node.join("device")).unwrap();
            symlink(node, self.0.0.join("sys/class/drm").join(name)).unwrap();
        }
        if has_node {
            fs::create_dir_all(self.0.0.join("dev/dri")).unwrap();
            fs::write(self.0.0.join("dev/dri").join(render), "").unwrap();
        }
    }

    fn remarks(&self, devices: &[DeviceInfo], drivers: &[Driver], enabled: &str) -> Vec<Error> {
        let (cards, devices) = (cards(&self.0.0), devices.iter().collect::<Vec<_>>());
        let unused = cards.iter().filter(|card| !has_device(card, &cards, &devices));
        unused
            .filter_map(|card| without_device(card, access(&card.node, NODE_MODE), drivers, enabled))
            .collect()
    }
}

#[test]
fn nvidias_driver_drives_the_screen_if_there_is_no_other_card() {
    let nodes = Nodes::new("only-nvidia");
    let all_nvidia = || all_nvidia(&cards(&nodes.0.0));
    assert!(!all_nvidia(), "no card");
    nodes.add(0, "nvidia", "0000:01:00.0", true);
    nodes.add(1, "ast", "0000:02:00.0", true);
    assert!(all_nvidia());
    nodes.add(2, "i915", "0000:00:02.0", true);
    assert!(!all_nvidia(), "a laptop with two cards");
    let nouveau = Nodes::new("only-nouveau");
    nouveau.add(0, "nouveau", "0000:01:00.0", true);
    assert!(!super::all_nvidia(&cards(&nouveau.0.0)), "Mesa's driver");
}

fn gpu(index: usize, platform: &str, vendor_id: u32, address: Option<&str>) -> DeviceInfo {
    DeviceInfo {
        index,
        platform: platform.to_owned(),
        kind: DeviceKind::Gpu,
        vendor_id,
        pci_address: address.map(str::to_owned),
        ..DeviceInfo::made_up()
    }
}

fn driver(name: &str, verdict: Verdict) -> Driver {
    Driver { name: format!("/etc/OpenCL/vendors/{name}.icd"), verdict }
}

fn empty() -> Verdict {
    Verdict::Empty { reason: "It offers no device on this machine.".to_owned(), overlooked_by: None }
}

#[test]
fn a_card_without_a_driver_is_named_with_the_package() {
    let nodes = Nodes::new("package");
    assert_eq!(nodes.remarks(&[], &[], ""), [], "no card");
    for (number, module, words) in [
        (0, "amdgpu", "install mesa-opencl-icd, and start clreel with RUSTICL_ENABLE=radeonsi"),
        (1, "i915", "install intel-opencl-icd"),
        (2, "xe", "RUSTICL_ENABLE=iris"),
        (3, "nouveau", "RUSTICL_ENABLE=nouveau"),
        // Cards of virtual machines.
        (4, "virtio-pci", ""),
    ] {
        let nodes = Nodes::new(module);
        nodes.add(number, module, "0000:03:00.0", true);
        let remarks = nodes.remarks(&[], &[driver("pocl", empty())], "");
        if words.is_empty() {
            assert_eq!(remarks, []);
            continue;
        }
        let [remark] = remarks.as_slice() else { panic!("{module}: {remarks:?}") };
        assert!(
            remark.what.contains(&format!("at 0000:03:00.0 (kernel driver {module}) has no")),
            "{remark}"
        );
        assert_eq!(remark.why, "No OpenCL driver for it is installed.");
        assert!(remark.hint.contains(words), "{remark}");
        let cpu = DeviceInfo { kind: DeviceKind::Cpu, ..gpu(0, "PoCL", INTEL, None) };
        assert_eq!(nodes.remarks(&[cpu], &[], "").len(), 1, "a CPU of the same vendor is not the card");
    }
}

#[test]
fn a_card_is_recognised_by_its_address_or_else_by_its_vendor() {
    let nodes = Nodes::new("address");
    nodes.add(0, "amdgpu", "0000:03:00.0", true);
    nodes.add(1, "amdgpu", "0000:04:00.0", true);
    let amd = KERNEL_DRIVERS[0].vendor_id;
    let with = |address| nodes.remarks(&[gpu(0, "rusticl", amd, address)], &[], "");
    let [other] = with(Some("0000:03:00.0")).try_into().unwrap();
    assert!(other.what.contains("at 0000:04:00.0"), "{other}");
    assert_eq!(with(None), []);
    assert_eq!(with(Some("0001:09:00.0")), [], "an address of a virtual machine");
    assert_eq!(nodes.remarks(&[gpu(0, "NVIDIA CUDA", NVIDIA, None)], &[], "").len(), 2);
}

#[test]
fn an_installed_driver_without_a_device_gets_another_hint() {
    let nodes = Nodes::new("installed");
    nodes.add(0, "amdgpu", "0000:03:00.0", true);
    let remark = |drivers: &[Driver], enabled| nodes.remarks(&[], drivers, enabled).pop();
    let rusticl = driver("rusticl", empty());
    for (enabled, is_enabled) in
        [("", false), ("iris,nouveau", false), ("radeonsi", true), ("iris:1,radeonsi:0,2", true)]
    {
        let remark = remark(std::slice::from_ref(&rusticl), enabled).unwrap();
        assert_eq!(
            remark.hint == "Start clreel with RUSTICL_ENABLE=radeonsi.",
            !is_enabled,
            "{enabled}: {remark}"
        );
        assert_eq!(
            remark.why.contains("rusticl.icd is installed, but offers no device"),
            is_enabled,
            "{remark}"
        );
    }
    let rocm = remark(&[driver("amdocl64_60002", empty())], "").unwrap();
    assert!(rocm.why.contains("amdocl64_60002.icd is installed, but offers no device"), "{rocm}");
    let skipped = driver("rusticl", Verdict::Skipped { by: "rusticl".to_owned() });
    assert_eq!(remark(&[skipped], ""), None, "as the user wants");
}

#[test]
fn a_node_that_cannot_be_opened_is_the_cause() {
    let nodes = Nodes::new("node");
    nodes.add(0, "i915", "0000:00:02.0", false);
    let [missing] = nodes.remarks(&[], &[driver("intel", empty())], "").try_into().unwrap();
    assert!(missing.why.contains("dev/dri/renderD128, which does not exist here"), "{missing}");
    assert!(missing.hint.contains("--device /dev/dri"), "{missing}");
    // Nothing denies access to root, who may run this test.
    let denied = || Err(io::ErrorKind::PermissionDenied.into());
    let card = &cards(&nodes.0.0)[0];
    let denied = without_device(card, denied(), &[], "").unwrap();
    assert!(denied.why.contains("You may not open ") && denied.why.contains("renderD128"), "{denied}");
    assert!(denied.hint.contains("usermod -aG render,video $USER"), "{denied}");
}

#[test]
fn nvidias_nodes_stand_for_a_card_that_is_not_listed() {
    let nodes = Nodes::new("nvidia");
    fs::create_dir_all(nodes.0.0.join("dev")).unwrap();
    fs::write(nodes.0.0.join("dev/nvidiactl"), "").unwrap();
    assert_eq!(nodes.remarks(&[], &[], ""), [], "no card");
    for number in 0..2 {
        fs::write(nodes.0.0.join(format!("dev/nvidia{number}")), "").unwrap();
    }
    let [card] = nodes.remarks(&[], &[], "").try_into().unwrap();
    assert!(card.what.starts_with("The NVIDIA graphics card (kernel driver nvidia) has"), "{card}");
    assert!(card.hint.contains("nvidia-opencl-icd"), "{card}");
    assert_eq!(nodes.remarks(&[gpu(0, "NVIDIA CUDA", NVIDIA, Some("0000:3b:00.0"))], &[], ""), []);
    nodes.add(0, "nvidia", "0000:3b:00.0", false);
    let [card] = nodes.remarks(&[], &[], "").try_into().unwrap();
    assert!(card.what.contains(" at 0000:3b:00.0 "), "once: {card}");
    nodes.add(1, "nvidia", "0000:86:00.0", false);
    let visible = gpu(0, "NVIDIA CUDA", NVIDIA, Some("0000:86:00.0"));
    assert_eq!(nodes.remarks(&[visible], &[], ""), [], "the other card may be withheld");
}

#[test]
fn two_entries_of_one_card_are_named() {
    let amd = KERNEL_DRIVERS[0].vendor_id;
    let of = |devices: &[DeviceInfo]| {
        let remarks = twins(&devices.iter().collect::<Vec<_>>());
        remarks.into_iter().map(|remark| remark.what).collect::<Vec<_>>()
    };
    let one = gpu(0, "rusticl", amd, Some("0000:03:00.0"));
    let same = gpu(2, "AMD APP", amd, Some("0000:03:00.0"));
    let other = gpu(1, "rusticl", amd, Some("0000:04:00.0"));
    assert_eq!(of(&[one.clone(), other.clone(), same.clone()]), ["Devices 0 and 2 are one graphics card."]);
    assert!(of(&[one.clone(), other.clone()]).is_empty());
    let part = DeviceInfo { index: 1, ..one.clone() };
    assert!(of(&[one.clone(), part]).is_empty(), "one driver lists its parts");
    let with =
        |device: &DeviceInfo, uuid| DeviceInfo { uuid: Some([uuid; 4]), pci_address: None, ..device.clone() };
    assert_eq!(of(&[with(&one, 7), with(&same, 7)]).len(), 1);
    assert!(of(&[with(&one, 7), with(&same, 8)]).is_empty());
    let at = |device: &DeviceInfo| DeviceInfo { uuid: Some([7; 4]), ..device.clone() };
    assert!(of(&[at(&other), at(&same)]).is_empty(), "the addresses decide");
    let cpu = |device: DeviceInfo| DeviceInfo { kind: DeviceKind::Cpu, ..device };
    assert!(of(&[cpu(with(&one, 7)), cpu(with(&same, 7))]).is_empty());
}
