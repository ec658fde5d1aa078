//! `clreel check-kernels`: kernels on a small picture under Oclgrind, which computes each work-item alone and sees what no device
//! tells: reads and writes outside of memory, and races. In: variants. Out: each fault with its line, or that there is none.
//!
//! Oclgrind takes the place of the OpenCL drivers in a process that it starts: this program again, with a hidden subcommand.

mod oclgrind;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::devices::print_line;
use super::{CheckKernelsArgs, usage};
use base::error::{Error, Result};
use base::exit;
use base::timing::crowding;
use box_filter::config::Extent;
use box_filter::machine_code::{self, Pictures};
use box_filter::pictures::noise;
use box_filter::planar::PlanarFilter;
use box_filter::planar::run::filter_alone;
use box_filter::{BuiltVariant, Code, Config, OWN_FILE, VariantId, Work, filter_once};
use opencl::cl::{ClContext, DeviceKind, list_devices, no_device};
use opencl::machine_code::MachineCode;
use opencl::memory::{Picture, Storage};
use opencl::sources::{self, Sources};
use opencl::{process, program};
use video::color::Layout;

use oclgrind::{Ended, Fault, checker, told};

/// The hidden subcommand.
pub(crate) const RUN: &str = "run-kernels";
/// And the one that it is an alternative of.
const NAME: &str = "check-kernels";
/// A picture with more than one work-group in each direction, and odd edges.
const SIZE: (u32, u32) = (70, 9);
const RADIUS: u32 = 3;
/// Beyond what `fused` keeps in one pass.
const LARGE_RADIUS: u32 = 50;
/// A code that reads more pixels than that for each is run with the small radius alone.
const MOST_READS: f64 = 1000.0;
/// How long the kernels of a variant may take, unless the user says: clreel's own take about a second.
const LIMIT: Duration = Duration::from_secs(60);

/// A variant's code for a kind of device.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Subject {
    id: VariantId,
    kind: DeviceKind,
}

impl Subject {
    fn name(self) -> String {
        match (has_two_codes(self.id), self.kind) {
            (false, _) => self.id.to_string(),
            (true, DeviceKind::Cpu) => format!("{}, for CPUs", self.id),
            (true, _) => format!("{}, for graphics cards", self.id),
        }
    }
}

/// Whether it has other code on CPUs than on graphics cards.
fn has_two_codes(id: VariantId) -> bool {
    id.reads_planes() || id.kernels().is_some_and(|kernels| !std::ptr::eq(kernels.cpu, kernels.gpu))
}

/// Does what is asked for; returns the exit code.
///
/// # Errors
/// When the folder of kernels is not there, or what is needed to do it.
pub(crate) fn run(args: &CheckKernelsArgs) -> Result<u8> {
    if let Some(folder) = program::named_folder() {
        // Said once, and not of each kernel file.
        Sources::read(&folder)?;
    }
    let mut reasons: Vec<String> =
        args.variant.iter().filter_map(|id| why_not(*id, args.machine_code)).collect();
    reasons.dedup();
    let subjects = subjects(&args.variant, args.machine_code);
    if subjects.is_empty() {
        let nothing =
            if args.machine_code { "no machine code can be shown" } else { "there is nothing to check" };
        return Ok(usage(NAME, &format!("{nothing}: {}", reasons.join("; "))));
    }
    for reason in reasons {
        eprintln!("clreel: Left out: {reason}.");
    }
    if args.machine_code { machine_code(&subjects) } else { check_all(&subjects, args) }
}

/// Why there is nothing to do for a variant that the user has named, to go on after a colon.
fn why_not(id: VariantId, machine_code: bool) -> Option<String> {
    let why = match &id.rung().work {
        Work::Nothing => "has no kernels, it leaves pictures as they are".to_owned(),
        Work::Shaders => "has no kernels, it computes in OpenGL".to_owned(),
        Work::Threads => "has no kernels, it computes on the processor without OpenCL".to_owned(),
        Work::Fastest(_) if !machine_code => {
            "has no kernels of its own, it takes another variant's; name that".to_owned()
        }
        Work::Former => "is no variant that can be named".to_owned(),
        Work::Kernels(_) if id == VariantId::Own && !has_own() => {
            format!(
                "is your own kernel, and there is no {OWN_FILE}; name the folder that has it with --kernels"
            )
        }
        Work::Kernels(_) | Work::Fastest(_) | Work::Planes(_) => return None,
    };
    Some(format!("'{id}' {why}"))
}

/// Whether the folder of kernels has the user's own; one that cannot be read is there, too, and is told when it is run.
fn has_own() -> bool {
    program::source(OWN_FILE).map_or_else(|error| sources::is_unreadable(&error), |_| true)
}

/// Checks these under Oclgrind. One that cannot be run keeps no other from being checked.
fn check_all(subjects: &[Subject], args: &CheckKernelsArgs) -> Result<u8> {
    let checker = checker().ok_or_else(|| {
        Error::new(
            "Oclgrind is not installed.",
            "It is what finds races and bad accesses of kernels.",
            "On Debian: apt-get install oclgrind.",
        )
    })?;
    let limit = args.kernel_timeout.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let limit = limit.unwrap_or_else(|| LIMIT.mul_f64(crowding()));
    let (mut faulty, mut failed) = (false, Vec::new());
    for subject in subjects {
        let name = subject.name();
        let (faults, error) = check(&checker, *subject, args.kernels.as_deref(), limit);
        for fault in &faults {
            print_line(told(&name, fault))?;
        }
        faulty |= !faults.is_empty();
        match error {
            Some(error) => {
                eprintln!("clreel: {error}");
                failed.push(name);
            }
            None if faults.is_empty() => print_line(format!("{name}: no races, no bad accesses"))?,
            None => {}
        }
    }
    if !failed.is_empty() && subjects.len() > 1 {
        eprintln!("clreel: {} of {} not checked: {}.", failed.len(), subjects.len(), failed.join("; "));
    }
    Ok(match (faulty, failed.is_empty()) {
        (true, _) => exit::MISMATCH,
        (false, false) => exit::FAILED,
        (false, true) => exit::DONE,
    })
}

/// Prints what the first device runs for these. One that it does not tell keeps none from being printed.
fn machine_code(subjects: &[Subject]) -> Result<u8> {
    let device = list_devices().into_iter().next().ok_or_else(no_device)?;
    let cl = ClContext::new(&device)?;
    let mut ids: Vec<VariantId> = subjects.iter().map(|subject| subject.id).collect();
    ids.dedup();
    let pictures = Pictures { size: (1280, 720), radius: 7, wide: false };
    let mut code = exit::DONE;
    for id in ids {
        match machine_code::of(&cl, id, &pictures) {
            Ok(MachineCode { name, text, facts }) => {
                print_line(format!("{id}, {}: {name}\n{}\n{text}", device.info.name, facts.join("\n")))?;
            }
            Err(error) => {
                eprintln!("clreel: {id}: {error}");
                code = exit::FAILED;
            }
        }
    }
    Ok(code)
}

/// Each code once: of these variants, or of all.
fn subjects(variants: &[VariantId], machine_code: bool) -> Vec<Subject> {
    let named = |id: &VariantId| match variants.is_empty() {
        true => (*id != VariantId::Own || has_own()) && *id != VariantId::Auto,
        false => variants.contains(id),
    };
    let mut all = Vec::new();
    for id in VariantId::ALL.into_iter().chain([VariantId::Own]).filter(named) {
        if why_not(id, machine_code).is_some() {
            continue;
        }
        all.push(Subject { id, kind: DeviceKind::Gpu });
        if has_two_codes(id) {
            all.push(Subject { id, kind: DeviceKind::Cpu });
        }
    }
    all
}

/// One code in a process under Oclgrind: its faults, and why it could not be run to its end.
fn check(
    checker: &Path,
    subject: Subject,
    kernels: Option<&Path>,
    limit: Duration,
) -> (Vec<Fault>, Option<Error>) {
    let name = subject.name();
    let failed =
        |why: String, hint| Error::new(format!("{name} could not be run under Oclgrind."), why, hint);
    let arguments = |command: &mut Command| {
        command.arg(RUN).arg(subject.id.as_str());
        if subject.kind == DeviceKind::Cpu {
            command.arg("--cpu");
        }
        if let Some(folder) = kernels {
            // It is in the environment, too; but what is advised names what was given.
            command.arg("--kernels").arg(folder);
        }
    };
    match oclgrind::run(checker, arguments, limit) {
        Ok((faults, Ended::Done)) => (faults, None),
        Ok((faults, Ended::Late)) => {
            let error = Error::new(
                format!(
                    "{name} did not end within {} s under Oclgrind.",
                    (limit.as_secs_f64() * 10.0).round() / 10.0
                ),
                "Oclgrind is slow, but clreel's own kernels take it a second or two.",
                "Look for a loop without an end; `clreel check-kernels --kernel-timeout` gives it more time.",
            );
            (faults, Some(error))
        }
        // What it has found explains that.
        Ok((faults, Ended::Failed(_))) if !faults.is_empty() => (faults, None),
        Ok((faults, Ended::Failed(why))) => (faults, Some(failed(why, ""))),
        Err(e) => (Vec::new(), Some(failed(format!("{e}."), "Try the kernels with `clreel bench`."))),
    }
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
    let (width, height) = SIZE;
    if id.reads_planes() {
        let filter = PlanarFilter::build_as(&cl, id, kind)?;
        for wide in [false, true] {
            let layout = Layout::planar_420(width, height, wide);
            for radius in [RADIUS, LARGE_RADIUS] {
                filter_alone(&cl, &filter, &layout, &noise(layout.bytes()), radius)?;
            }
        }
        return Ok(exit::DONE);
    }
    let built = BuiltVariant::build_as(&cl, id, kind)?;
    let storage = built.kernels().storage;
    if storage == Storage::Image {
        // What is read of an image has no address that could be wrong.
        drop(Picture::alloc(&cl, storage, width, height)?);
    }
    for radius in radii(id, kind) {
        filter_once(&cl, &built, &noise(width as usize * height as usize * 4), width, height, *radius)?;
    }
    Ok(exit::DONE)
}

/// What a variant is run with: where each pixel reads its whole window, as the user's own may, not with a large radius, which would
/// take minutes under Oclgrind and show nothing else.
fn radii(id: VariantId, kind: DeviceKind) -> &'static [u32] {
    let reads = |code: &'static Code| -> f64 {
        let extent = Extent { width: SIZE.0, rows: SIZE.1, radius: LARGE_RADIUS, units: 1 };
        let config = Config::of(code, kind);
        (0..code.kernels.len()).map(|pass| (code.reads)(&config, pass, &extent)).sum()
    };
    match id.kernels().is_some_and(|kernels| reads(kernels.code(kind)) > MOST_READS) {
        true => &[RADIUS],
        false => &[RADIUS, LARGE_RADIUS],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_checked_or_left_out_with_a_reason() {
        for id in VariantId::ALL {
            for machine_code in [false, true] {
                let subjects = subjects(&[id], machine_code);
                assert_eq!(subjects.is_empty(), why_not(id, machine_code).is_some(), "{id} {machine_code}");
                assert!(subjects.iter().all(|subject| subject.id == id), "{subjects:?}");
            }
        }
        let names: Vec<String> = subjects(&[], false).into_iter().map(Subject::name).collect();
        for name in ["naive", "planar, for CPUs", "planar, for graphics cards", "fused, for CPUs"] {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{names:?}");
        }
        let most = |id| radii(id, DeviceKind::Cpu).len();
        assert_eq!(VariantId::ALL.iter().filter(|id| id.kernels().is_some() && most(**id) == 1).count(), 1);
        let left_out = |id| why_not(id, false).is_some();
        assert!(
            [VariantId::Auto, VariantId::Off, VariantId::Glsl, VariantId::Native].into_iter().all(left_out)
        );
        assert!(!left_out(VariantId::Planar));
        assert!([VariantId::Planar, VariantId::Auto].iter().all(|id| why_not(*id, true).is_none()));
    }
}
