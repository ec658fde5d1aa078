//! Short names of devices and drivers for the overlay: "Xeon, 2 cores", "PoCL 3.1".

use base::device::{DeviceInfo, DeviceKind};

/// Names of vendors with which the CPU's own name begins; PoCL puts its driver's name and LLVM's name of the target before it.
const VENDORS: [&str; 6] = ["Intel", "AMD", "NVIDIA", "Apple", "ARM", "Qualcomm"];
/// Marks such as "(TM)" that are removed from the names of devices.
const MARKS: [&str; 6] = ["(R)", "(TM)", "(r)", "(tm)", "(C)", "\u{ae}"];
/// Words in the names of devices that are left out of the short name.
const OMITTED_WORDS: [&str; 7] = ["CPU", "Processor", "processor", "Intel", "AMD", "NVIDIA", "Corporation"];

/// Returns the short names of a device and of its driver: "Xeon, 2 cores", "PoCL 3.1".
pub(crate) fn short_names(device: &DeviceInfo) -> (String, String) {
    let mut name = model_name(&device.name);
    if device.kind == DeviceKind::Cpu && device.units > 0 {
        let cores = if device.units == 1 { "core" } else { "cores" };
        name.push_str(&format!(", {} {cores}", device.units));
    }
    (
        name,
        format!("{} {}", platform_name(&device.platform), leading_version(&device.driver)).trim().to_owned(),
    )
}

/// Returns the kind, compute units and clock rate of a device, as far as they are known: "GPU, 132 units at 1980 MHz".
pub(crate) fn kind_and_units(device: &DeviceInfo) -> String {
    let kind = match device.kind {
        DeviceKind::Cpu => "CPU",
        DeviceKind::Gpu => "GPU",
        DeviceKind::Accelerator => "accelerator",
    };
    let units = if device.units > 0 { format!(", {} units", device.units) } else { String::new() };
    let clock = if device.clock_mhz > 0 { format!(" at {} MHz", device.clock_mhz) } else { String::new() };
    format!("{kind}{units}{clock}")
}

/// Returns a device's model, without the vendor, the clock rate and marks such as "(TM)".
fn model_name(name: &str) -> String {
    let from = VENDORS.iter().filter_map(|v| name.find(v)).min().unwrap_or(0);
    let mut text = name[from..].to_owned();
    for noise in MARKS {
        text = text.replace(noise, " ");
    }
    let text = text.split(" @ ").next().unwrap_or_default();
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !OMITTED_WORDS.contains(word) && !word.ends_with("-Core"))
        .collect();
    let model = words.join(" ");
    if model.is_empty() { name.trim().to_owned() } else { model }
}

/// Returns the short name of an OpenCL platform: "PoCL" for "Portable Computing Language".
fn platform_name(name: &str) -> &str {
    match name {
        "Portable Computing Language" => "PoCL",
        "NVIDIA CUDA" => "NVIDIA",
        "AMD Accelerated Parallel Processing" => "AMD",
        _ if name.starts_with("Intel(R)") => "Intel",
        _ => name,
    }
}

/// Returns the leading version number: "3.1" of "3.1+debian".
fn leading_version(driver: &str) -> &str {
    let end = driver.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(driver.len());
    driver[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str, platform: &str, driver: &str, kind: DeviceKind) -> (String, String) {
        let (name, platform, driver) = (name.into(), platform.into(), driver.into());
        short_names(&DeviceInfo { name, platform, driver, kind, units: 2, ..DeviceInfo::made_up() })
    }

    #[test]
    fn devices_have_the_names_that_people_use() {
        let pocl = "Portable Computing Language";
        for (name, platform, driver, kind, wanted) in [
            (
                "pthread-skylake-avx512-Intel(R) Xeon(R) Processor @ 2.30GHz",
                pocl,
                "3.1+debian",
                DeviceKind::Cpu,
                ("Xeon, 2 cores", "PoCL 3.1"),
            ),
            (
                "cpu-znver3-AMD Ryzen 7 5800X 8-Core Processor",
                pocl,
                "6.0",
                DeviceKind::Cpu,
                ("Ryzen 7 5800X, 2 cores", "PoCL 6.0"),
            ),
            (
                "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz",
                "Intel(R) OpenCL",
                "2024.17.3.0",
                DeviceKind::Cpu,
                ("Core i7-8700, 2 cores", "Intel 2024.17.3.0"),
            ),
            ("NVIDIA H200", "NVIDIA CUDA", "580.159", DeviceKind::Gpu, ("H200", "NVIDIA 580.159")),
            (
                "NVIDIA GeForce RTX 4090",
                "NVIDIA CUDA",
                "550.1",
                DeviceKind::Gpu,
                ("GeForce RTX 4090", "NVIDIA 550.1"),
            ),
            ("cpu-minimal", pocl, "6.0", DeviceKind::Cpu, ("cpu-minimal, 2 cores", "PoCL 6.0")),
            ("gfx1100", "rusticl", "", DeviceKind::Gpu, ("gfx1100", "rusticl")),
            ("CPU", "", "", DeviceKind::Gpu, ("CPU", "")),
            ("", "", "", DeviceKind::Gpu, ("", "")),
        ] {
            let (name, driver) = names(name, platform, driver, kind);
            assert_eq!((name.as_str(), driver.as_str()), wanted);
        }
    }
}
