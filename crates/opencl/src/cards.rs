//! Messages about graphics cards for which there is no OpenCL device, or more than one, with what the user can do about it.
//!
//! The kernel lists graphics cards in `/sys/class/drm`, whether or not an OpenCL driver is installed. NVIDIA's driver may list
//! none there, but makes nodes `/dev/nvidia0` and up.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cl::Device;
use crate::drivers::{self, Driver, Verdict};
use crate::folders::{access, numbered_entries};
use base::device::{DeviceInfo, DeviceKind};
use base::error::Error;

/// The environment variable with the list of Mesa's graphics drivers for which rusticl offers devices.
const RUSTICL_VARIABLE: &str = "RUSTICL_ENABLE";
const RUSTICL: &str = "rusticl";

/// A driver of the Linux kernel for graphics cards, and the OpenCL drivers for the same cards.
struct KernelDriver {
    /// The name of the kernel module.
    module: &'static str,
    /// The name in messages of a card that uses this kernel driver.
    card: &'static str,
    /// The vendor's PCI number, which OpenCL drivers report as `CL_DEVICE_VENDOR_ID`.
    vendor_id: u32,
    /// The names of the registrations of the OpenCL drivers other than rusticl, without their versions.
    registrations: &'static [&'static str],
    /// The name of Mesa's graphics driver for these cards, for [`RUSTICL_VARIABLE`]; `None` if Mesa has no such driver.
    mesa: Option<&'static str>,
    /// The suggestion to the user if no OpenCL driver is installed.
    install: &'static str,
}

const INTEL: u32 = 0x8086;
const NVIDIA: u32 = 0x10de;
/// The module of NVIDIA's own driver.
const NVIDIA_MODULE: &str = "nvidia";

/// The kernel's drivers for cards that OpenCL drivers support. The names in [`KernelDriver::mesa`] are taken from Mesa's
/// documentation of [`RUSTICL_VARIABLE`].
const KERNEL_DRIVERS: [KernelDriver; 5] = [
    KernelDriver {
        module: "amdgpu",
        card: "AMD graphics card",
        vendor_id: 0x1002,
        registrations: &["amdocl", "mesa"],
        mesa: Some("radeonsi"),
        install: "On Debian and Ubuntu install mesa-opencl-icd, and start clreel with RUSTICL_ENABLE=radeonsi.",
    },
    KernelDriver { module: "i915", ..INTEL_DRIVER },
    KernelDriver { module: "xe", ..INTEL_DRIVER },
    KernelDriver {
        module: NVIDIA_MODULE,
        card: "NVIDIA graphics card",
        vendor_id: NVIDIA,
        registrations: &["nvidia"],
        mesa: None,
        install: "On Debian install nvidia-opencl-icd; on Ubuntu libnvidia-compute in the version of the installed driver.",
    },
    KernelDriver {
        module: "nouveau",
        card: "NVIDIA graphics card",
        vendor_id: NVIDIA,
        registrations: &["mesa"],
        mesa: Some("nouveau"),
        install: "Install NVIDIA's own driver. Or, on Debian and Ubuntu, install mesa-opencl-icd, and start clreel with \
                  RUSTICL_ENABLE=nouveau.",
    },
];
const INTEL_DRIVER: KernelDriver = KernelDriver {
    module: "",
    card: "Intel graphics card",
    vendor_id: INTEL,
    registrations: &["intel"],
    mesa: Some("iris"),
    install: "On Debian and Ubuntu install intel-opencl-icd. If that does not support the card, install mesa-opencl-icd, and start \
              clreel with RUSTICL_ENABLE=iris.",
};

/// The mode in which OpenCL drivers open the node of a card. It is tested without opening the node, which could wake the card up.
const NODE_MODE: libc::c_int = libc::R_OK | libc::W_OK;

/// A graphics card that has a driver in the Linux kernel.
struct Card {
    driver: &'static KernelDriver,
    /// The card's PCI address, such as `0000:03:00.0`; `None` if it is not known.
    address: Option<String>,
    /// The node that OpenCL drivers open for this card.
    node: PathBuf,
}

/// Returns a message for each graphics card that has no OpenCL device, with the cause and a remedy, and for each card that
/// several OpenCL drivers offer as a device. `devices` are the devices that all drivers offer.
pub fn remarks(devices: &[Device]) -> Vec<Error> {
    let infos: Vec<&DeviceInfo> = devices.iter().map(|device| &device.info).collect();
    let enabled = base::environment::text(RUSTICL_VARIABLE).unwrap_or_default();
    let drivers = drivers::findings();
    let cards = cards(Path::new("/"));
    let unused = cards.iter().filter(|card| !has_device(card, &cards, &infos));
    let causes =
        unused.filter_map(|card| without_device(card, access(&card.node, NODE_MODE), &drivers, &enabled));
    causes.chain(twins(&infos)).collect()
}

/// Returns true if there is at least one graphics card and NVIDIA's own driver drives all of them, so that OpenGL uses that
/// driver, too.
pub fn only_nvidia() -> bool {
    all_nvidia(&cards(Path::new("/")))
}

/// Returns true if there is at least one card and NVIDIA's own driver drives all of them.
fn all_nvidia(cards: &[Card]) -> bool {
    !cards.is_empty() && cards.iter().all(|card| card.driver.module == NVIDIA_MODULE)
}

/// Lists the graphics cards with one of the [`KERNEL_DRIVERS`]. `root` is the folder that contains `sys` and `dev`.
fn cards(root: &Path) -> Vec<Card> {
    let listed = numbered_entries(&root.join("sys/class/drm"), "card");
    let mut cards: Vec<Card> = listed.iter().filter_map(|entry| card(root, entry)).collect();
    if !cards.iter().any(|card| card.driver.module == NVIDIA_MODULE)
        && let Some(node) = numbered_entries(&root.join("dev"), "nvidia").into_iter().next()
    {
        let driver = KERNEL_DRIVERS.iter().find(|driver| driver.module == NVIDIA_MODULE);
        cards.extend(driver.map(|driver| Card { driver, address: None, node }));
    }
    cards
}

/// Returns the card of an entry of `/sys/class/drm`; `None` if its driver is not known.
fn card(root: &Path, entry: &Path) -> Option<Card> {
    let device = entry.join("device").canonicalize().ok()?;
    let module = file_name(&fs::read_link(device.join("driver")).ok()?);
    let driver = KERNEL_DRIVERS.iter().find(|driver| driver.module == module)?;
    let render = numbered_entries(&device.join("drm"), "renderD").into_iter().next();
    let node = match module.as_str() {
        NVIDIA_MODULE => root.join("dev/nvidiactl"),
        _ => root.join("dev/dri").join(render?.file_name()?),
    };
    Some(Card { driver, address: Some(file_name(&device)), node })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns true if one of `devices` is on this card. A device is recognized by its PCI address. If its driver reports none, or
/// one that is not among `cards`, the vendor decides; also for NVIDIA's driver, which offers all cards except those that a
/// container or `CUDA_VISIBLE_DEVICES` withholds.
fn has_device(card: &Card, cards: &[Card], devices: &[&DeviceInfo]) -> bool {
    let is_listed = |address: &&String| cards.iter().any(|card| card.address.as_ref() == Some(address));
    let of_card = card.address.as_ref().filter(|_| card.driver.module != NVIDIA_MODULE);
    devices.iter().filter(|device| device.kind == DeviceKind::Gpu).any(|device| {
        match (device.pci_address.as_ref().filter(is_listed), of_card) {
            (Some(address), Some(of_card)) => address == of_card,
            _ => device.vendor_id == card.driver.vendor_id,
        }
    })
}

/// Returns the message about a card without an OpenCL device; `None` if the user has excluded the card's driver. `access` is
/// the result of [`access`] for the card's node, `drivers` are the registered OpenCL drivers, and `enabled` is the value of
/// [`RUSTICL_VARIABLE`].
fn without_device(card: &Card, access: io::Result<()>, drivers: &[Driver], enabled: &str) -> Option<Error> {
    let Card { driver, address, node } = card;
    let registered = |name: &str| drivers.iter().find(|driver| registration_name(driver) == name);
    let known = driver.registrations.iter().find_map(|name| registered(name));
    let rusticl = driver.mesa.zip(registered(RUSTICL));
    let is_skipped = |driver: &Driver| matches!(driver.verdict, Verdict::Skipped { .. });
    if known.into_iter().chain(rusticl.map(|(_, driver)| driver)).any(is_skipped) {
        return None;
    }
    let at = address.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
    let what = format!("The {}{at} (kernel driver {}) has no OpenCL device.", driver.card, driver.module);
    let node = base::text::name(node);
    let is_enabled = |mesa: &str| enabled.split(',').any(|name| name.split(':').next() == Some(mesa));
    let (why, hint) = match (access.map_err(|error| error.kind()), rusticl, known) {
        (Err(io::ErrorKind::PermissionDenied), ..) => (
            format!("You may not open {node}, as OpenCL drivers must."),
            "Join the groups render and video with `sudo usermod -aG render,video $USER`, and log in again.".to_owned(),
        ),
        (Err(_), ..) => (
            format!("OpenCL drivers open {node}, which does not exist here."),
            match driver.module {
                NVIDIA_MODULE => "In a container, start that with `--gpus all`; elsewhere, `sudo nvidia-modprobe` makes the node.",
                _ => "In a container, start that with `--device /dev/dri`.",
            }
            .to_owned(),
        ),
        (Ok(()), Some((mesa, _)), None) if !is_enabled(mesa) => (
            "Mesa's OpenCL driver rusticl is installed, but offers only devices that are enabled by name.".to_owned(),
            format!("Start clreel with {RUSTICL_VARIABLE}={mesa}."),
        ),
        (Ok(()), Some((_, installed)), None) | (Ok(()), _, Some(installed)) => (
            format!("The OpenCL driver {} is installed, but offers no device for it.", installed.name),
            format!("Update that driver and the kernel's, and restart the machine. {}", driver.install),
        ),
        (Ok(()), None, None) => ("No OpenCL driver for it is installed.".to_owned(), driver.install.to_owned()),
    };
    Some(Error::new(what, why, hint))
}

/// Returns the name of a driver's registration without its version: `amdocl` for `amdocl64_60002.icd`.
fn registration_name(driver: &Driver) -> String {
    let stem = Path::new(&driver.name).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    stem.trim_end_matches(|c: char| !c.is_alphabetic()).to_owned()
}

/// Returns a message for each card that several platforms offer as a device.
fn twins(devices: &[&DeviceInfo]) -> Vec<Error> {
    // PCI addresses decide, or UUIDs if an address is unknown.
    let is_same = |one: &DeviceInfo, other: &DeviceInfo| match (&one.pci_address, &other.pci_address) {
        (Some(one), Some(other)) => one == other,
        _ => one.uuid.is_some() && one.uuid == other.uuid,
    };
    let is_twin = |one: &DeviceInfo, other: &DeviceInfo| {
        let are_cards = one.kind != DeviceKind::Cpu && other.kind != DeviceKind::Cpu;
        are_cards && one.platform != other.platform && is_same(one, other)
    };
    let mut remarks = Vec::new();
    let mut seen: Vec<usize> = Vec::new();
    for device in devices {
        let others = devices.iter().filter(|other| is_twin(device, other)).copied();
        let same: Vec<&DeviceInfo> = std::iter::once(*device).chain(others).collect();
        if seen.contains(&device.index) || same.len() == 1 {
            continue;
        }
        seen.extend(same.iter().map(|one| one.index));
        let join = |text: fn(&DeviceInfo) -> String| {
            same.iter().map(|one| text(one)).collect::<Vec<_>>().join(" and ")
        };
        remarks.push(Error::new(
            format!("Devices {} are one graphics card.", join(|one| one.index.to_string())),
            format!("Several OpenCL drivers offer it: {}.", join(|one| one.platform.clone())),
            "Compare them with `clreel bench --device all`; --skip-platform hides one.",
        ));
    }
    remarks
}

#[cfg(test)]
#[path = "cards_tests.rs"]
mod tests;
