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
    let platform = match device.platform.as_str() {
        "Portable Computing Language" => "PoCL",
        "NVIDIA CUDA" => "NVIDIA",
        "AMD Accelerated Parallel Processing" => "AMD",
        platform if platform.starts_with("Intel(R)") => "Intel",
        platform => platform,
    };
    // The leading version number, such as "3.1" of "3.1+debian".
    let version = device.driver.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    (name, format!("{platform} {}", version.trim_end_matches('.')).trim().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_the_names_that_people_use() {
        let (pocl, intel, cuda) = ("Portable Computing Language", "Intel(R) OpenCL", "NVIDIA CUDA");
        let xeon = "pthread-skylake-avx512-Intel(R) Xeon(R) Processor @ 2.30GHz";
        let ryzen = "cpu-znver3-AMD Ryzen 7 5800X 8-Core Processor";
        let core = "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz";
        let (cpu, gpu) = (DeviceKind::Cpu, DeviceKind::Gpu);
        for (kind, name, platform, driver, wanted) in [
            (cpu, xeon, pocl, "3.1+debian", ("Xeon, 2 cores", "PoCL 3.1")),
            (cpu, ryzen, pocl, "6.0", ("Ryzen 7 5800X, 2 cores", "PoCL 6.0")),
            (cpu, core, intel, "2024.17.3.0", ("Core i7-8700, 2 cores", "Intel 2024.17.3.0")),
            (gpu, "NVIDIA H200", cuda, "580.159", ("H200", "NVIDIA 580.159")),
            (gpu, "NVIDIA GeForce RTX 4090", cuda, "550.1", ("GeForce RTX 4090", "NVIDIA 550.1")),
            (cpu, "cpu-minimal", pocl, "6.0", ("cpu-minimal, 2 cores", "PoCL 6.0")),
            (gpu, "gfx1100", "rusticl", "", ("gfx1100", "rusticl")),
            (gpu, "CPU", "", "", ("CPU", "")),
            (gpu, "", "", "", ("", "")),
        ] {
            let (name, platform, driver) = (name.into(), platform.into(), driver.into());
            let info = DeviceInfo { name, platform, driver, kind, units: 2, ..DeviceInfo::made_up() };
            let (name, driver) = short_names(&info);
            assert_eq!((name.as_str(), driver.as_str()), wanted);
        }
    }
}
