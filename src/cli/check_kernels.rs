//! `clreel check-kernels`: kernels on a small picture under Oclgrind, which computes each work-item alone and sees what no device
//! tells: reads and writes outside of memory, and races. In: variants. Out: each fault with its line, or that there is none.
//!
//! Oclgrind takes the place of the OpenCL drivers in a process that it starts: this program again, with a hidden subcommand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::devices::print_line;
use crate::error::{Error, Result};
use crate::exit;
use crate::gpu::cl::{ClContext, DeviceKind, list_devices, no_device};
use crate::gpu::machine_code::MachineCode;
use crate::gpu::memory::{Picture, Storage};
use crate::gpu::{process, program};
use crate::ladders::box_filter::machine_code::{self, Pictures};
use crate::ladders::box_filter::pictures::noise;
use crate::ladders::box_filter::{BuiltVariant, OWN_FILE, VariantId, filter_once};
use crate::load;

/// The hidden subcommand.
pub(crate) const RUN: &str = "run-kernels";
/// The program that checks.
const CHECKER: &str = "oclgrind";
/// Faults that are told of one variant.
const MOST: usize = 5;
/// A picture with more than one work-group in each direction, and odd edges.
const SIZE: (u32, u32) = (70, 9);
const RADIUS: u32 = 3;
/// The longest log that is read, in bytes.
const LOG: u64 = 4 << 20;

/// A variant's code for a kind of device.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Subject {
    id: VariantId,
    kind: DeviceKind,
}

impl Subject {
    fn name(self) -> String {
        let differs = self.id.kernels().is_some_and(|kernels| !std::ptr::eq(kernels.cpu, kernels.gpu));
        match (differs, self.kind) {
            (false, _) => self.id.to_string(),
            (true, DeviceKind::Cpu) => format!("{}, for CPUs", self.id),
            (true, _) => format!("{}, for graphics cards", self.id),
        }
    }
}

/// What Oclgrind has found.
#[derive(Debug, PartialEq)]
struct Fault {
    what: String,
    kernel: String,
    /// Where, as in `box_filter/03_flat.cl:25`.
    found_at: String,
}

/// Checks these variants; returns the exit code.
///
/// # Errors
/// When Oclgrind is not there, or a kernel could not be run.
pub(crate) fn run(variants: &[VariantId]) -> Result<u8> {
    let checker = checker().ok_or_else(|| {
        Error::new(
            "Oclgrind is not installed.",
            "It is what finds races and bad accesses of kernels.",
            "On Debian: apt-get install oclgrind.",
        )
    })?;
    let mut faulty = 0;
    for subject in subjects(variants) {
        let faults = check(&checker, subject)?;
        if faults.is_empty() {
            print_line(format!("{}: no races, no bad accesses", subject.name()))?;
            continue;
        }
        faulty += 1;
        for fault in faults {
            print_line(told(&subject.name(), &fault))?;
        }
    }
    Ok(if faulty == 0 { exit::DONE } else { exit::MISMATCH })
}

/// Prints what the first device runs for these variants.
///
/// # Errors
/// When there is no device, or the driver does not tell.
pub(crate) fn machine_code(variants: &[VariantId]) -> Result<u8> {
    let device = list_devices().into_iter().next().ok_or_else(no_device)?;
    let cl = ClContext::new(&device)?;
    let mut ids: Vec<VariantId> = subjects(variants).into_iter().map(|subject| subject.id).collect();
    ids.dedup();
    let pictures = Pictures { size: (1280, 720), radius: 7, wide: false };
    for id in ids {
        let MachineCode { name, text, facts } = machine_code::of(&cl, id, &pictures)?;
        print_line(format!("{id}, {}: {name}\n{}\n{text}", device.info.name, facts.join("\n")))?;
    }
    Ok(exit::DONE)
}

/// Where Oclgrind is, if it is installed.
fn checker() -> Option<PathBuf> {
    let path = crate::environment::get("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(CHECKER)).find(|file| file.is_file())
}

/// Each code once.
fn subjects(variants: &[VariantId]) -> Vec<Subject> {
    let named = |id: VariantId| variants.is_empty() || variants.contains(&id);
    let own = program::source(OWN_FILE).is_ok().then_some(VariantId::Own);
    let kernels = VariantId::ALL.into_iter().chain(own).filter(|id| named(*id) && *id != VariantId::Auto);
    let mut all = Vec::new();
    for id in kernels {
        let Some(kernels) = id.kernels() else { continue };
        all.push(Subject { id, kind: DeviceKind::Gpu });
        if !std::ptr::eq(kernels.cpu, kernels.gpu) {
            all.push(Subject { id, kind: DeviceKind::Cpu });
        }
    }
    all
}

/// One code in a process under Oclgrind.
fn check(checker: &Path, subject: Subject) -> Result<Vec<Fault>> {
    let failed = |why: String| {
        let what = format!("{} could not be run under Oclgrind.", subject.name());
        Error::new(what, why, "Try the kernels with `clreel bench`.")
    };
    let folder = std::env::temp_dir().join(format!("clreel-check-{}", std::process::id()));
    let _passing = crate::leftovers::Passing::new(&folder);
    std::fs::create_dir_all(&folder).map_err(|e| failed(format!("{e}.")))?;
    let log = folder.join("log");
    let program = std::env::current_exe().map_err(|e| failed(format!("{e}.")))?;
    let mut command = Command::new(checker);
    command.args(["--data-races", "--max-errors", &MOST.to_string(), "--log"]).arg(&log).arg(program);
    command.arg(RUN).arg(subject.id.as_str());
    if subject.kind == DeviceKind::Cpu {
        command.arg("--cpu");
    }
    let ran = command.stdin(Stdio::null()).output();
    let text = load::text(&log, LOG);
    let _ = std::fs::remove_dir_all(&folder);
    let ran = ran.map_err(|e| failed(format!("{e}.")))?;
    let faults = faults(&text.unwrap_or_default());
    if faults.is_empty() && !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let said = said.trim().trim_start_matches("clreel: ").to_owned();
        return Err(failed(if said.is_empty() { format!("It ended with {}.", ran.status) } else { said }));
    }
    Ok(faults)
}

/// The faults of a log, each place once.
fn faults(log: &str) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for part in log.split("\n\n") {
        let mut lines = part.lines().map(str::trim).filter(|line| !line.is_empty());
        let Some(what) = lines.next() else { continue };
        let (mut kernel, mut found_at) = (String::new(), String::new());
        for line in lines {
            if let Some(name) = line.strip_prefix("Kernel: ") {
                kernel = name.to_owned();
            } else if let Some((line, file)) =
                line.strip_prefix("At line ").and_then(|at| at.split_once(" of "))
            {
                let line = line.split(' ').next().unwrap_or_default();
                // A race names two places.
                let at = format!("{}:{line}", file.trim_end_matches(':'));
                found_at = if found_at.is_empty() { at } else { format!("{found_at} and {at}") };
            }
        }
        if !kernel.is_empty()
            && !faults.iter().any(|fault| fault.found_at == found_at && fault.kernel == kernel)
        {
            faults.push(Fault { what: what.to_owned(), kernel, found_at });
        }
    }
    faults
}

/// A fault in words, and its line below.
fn told(name: &str, fault: &Fault) -> String {
    let mut text = format!("{name}: {} in {} at {}", fault.what, fault.kernel, fault.found_at);
    for at in fault.found_at.split(" and ") {
        let line = at.rsplit_once(':').and_then(|(file, line)| {
            let source = program::source(file).ok()?;
            let line: usize = line.parse().ok()?;
            Some(format!("\n  {line} | {}", source.lines().nth(line.checked_sub(1)?)?.trim_end()))
        });
        text.extend(line);
    }
    text
}

/// The hidden subcommand: runs a variant's kernels on the first device.
///
/// # Errors
/// When there is none, or the kernels cannot run.
pub(crate) fn run_kernels(id: VariantId, cpu: bool) -> Result<u8> {
    // Who checks may be stopped.
    process::end_with_parent();
    let device = list_devices().into_iter().next().ok_or_else(no_device)?;
    let cl = ClContext::new(&device)?;
    let kind = if cpu { DeviceKind::Cpu } else { DeviceKind::Gpu };
    let built = BuiltVariant::build_as(&cl, id, kind)?;
    let ((width, height), storage) = (SIZE, built.kernels().storage);
    if storage == Storage::Image {
        // What is read of an image has no address that could be wrong.
        drop(Picture::alloc(&cl, storage, width, height)?);
    }
    filter_once(&cl, &built, &noise(width as usize * height as usize * 4), width, height, RADIUS)?;
    Ok(exit::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_becomes_faults_each_place_once() {
        let one = "\nInvalid write of size 8 at global memory address 0x30000000c3b90\n\tKernel: box_flat_rows\n\tEntity: \
                   Global(3,2,0) Local(3,2,0) Group(0,0,0)\n\t  store <4 x i16> %sum.0\n\tAt line 25 (column 84) of \
                   box_filter/03_flat.cl:\n\t  \n\t\n";
        let found =
            faults(&format!("{one}{one}\nOclgrind: 2 errors generated - suppressing further errors\n"));
        let [fault] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (fault.kernel.as_str(), fault.found_at.as_str()),
            ("box_flat_rows", "box_filter/03_flat.cl:25")
        );
        let told = told("flat", fault);
        assert!(
            told.starts_with("flat: Invalid write of size 8")
                && told.ends_with("| \tsums[y * width + x] = sum;")
                || told.contains("25 | "),
            "{told}"
        );
        assert_eq!(faults(""), []);
    }
}
