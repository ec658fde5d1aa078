//! `clreel check-kernels`: runs kernels on a small picture under Oclgrind, which interprets each work-item and detects what
//! devices do not report: out-of-bounds accesses and data races. Prints each fault with its source line.
//!
//! Oclgrind starts this program again with a hidden subcommand, and replaces the OpenCL drivers in that process.

pub(crate) mod accesses;
pub(crate) mod count;
mod oclgrind;

use std::path::Path;

use super::output::{print_json, print_line};
use super::{CheckKernelsArgs, usage};
use base::device::{DeviceKind, MachineCode};
use base::error::{Error, ErrorKind, Result};
use base::exit;
use base::stderr::print_message;
use box_filter::machine_code::{self, PictureInfo};
use box_filter::pictures::noise;
use box_filter::{BuiltVariant, Code, Config, Extent, OWN_FILE, VariantId, Work, filter_once};
use opencl::cl::{ClContext, list_devices, no_device};
use opencl::sandbox::{Cause, Limit, PREPARATION, end_with_parent};
use opencl::sources::Sources;
use video::color::Layout;

use oclgrind::parse_faults;
pub(crate) use oclgrind::{CheckedCode, checker};

/// The name of the hidden subcommand that runs kernels once, under Oclgrind.
pub(crate) const RUN_SUBCOMMAND: &str = "run-kernels";
/// The name of the hidden subcommand that runs kernels once for each of several cases, under Oclgrind, so that their reads and
/// writes are counted.
pub(crate) const COUNT_SUBCOMMAND: &str = "count-kernels";
/// The size in pixels of the picture on which kernels run. It takes more than one work-group in each direction, with an odd
/// remainder at the edges.
const SIZE: (u32, u32) = (70, 9);
/// The radius with which kernels run.
const RADIUS: u32 = 3;
/// A second radius for the kernels, too large for the variant `fused` to filter in one pass.
const LARGE_RADIUS: u32 = 50;
/// The maximum number of pixels that a variant's kernels may read for each output pixel to be run with the large radius, too.
const MAX_READS_PER_PIXEL: f64 = 1000.0;

/// The kernels of a variant for one kind of device (CPU or GPU).
type VariantCode = (VariantId, DeviceKind);

/// Returns the name of a variant, followed by the kind of device if the variant has different kernels for each kind.
fn name((id, kind): VariantCode) -> String {
    match (has_two_codes(id), kind) {
        (false, _) => id.to_string(),
        (true, DeviceKind::Cpu) => format!("{id}, for CPUs"),
        (true, _) => format!("{id}, for graphics cards"),
    }
}

/// Returns true if the variant has different kernels for CPUs and for GPUs.
fn has_two_codes(id: VariantId) -> bool {
    matches!(id.codes(), [cpu, gpu] if !std::ptr::eq(*cpu, *gpu))
}

/// Runs `clreel check-kernels`; returns the exit code.
///
/// # Errors
/// If the folder of kernels cannot be read, Oclgrind is missing, or there is no device for `--machine-code`.
pub(crate) fn run(args: &CheckKernelsArgs) -> Result<u8> {
    let sources = Sources::from_environment();
    // An unreadable folder is reported once, not for each kernel file.
    sources.require_readable()?;
    // A kernel of the user's own that cannot be read counts as existing, since running it reports the error.
    let has_own = sources.text(OWN_FILE).map_or_else(|e| e.kind == ErrorKind::KernelsUnreadable, |_| true);
    let mut reasons: Vec<String> =
        args.variant.iter().filter_map(|id| exclusion(*id, args.machine_code, has_own)).collect();
    reasons.dedup();
    let codes = selected_code(&args.variant, args.machine_code, has_own);
    if codes.is_empty() {
        let nothing =
            if args.machine_code { "there is no machine code" } else { "there is nothing to check" };
        usage("check-kernels", &format!("{nothing}: {}", reasons.join("; ")));
    }
    for reason in reasons {
        print_message(format_args!("Skipped: {reason}."));
    }
    if args.machine_code { machine_code(&codes, sources) } else { check_all(&codes, args, &sources) }
}

/// Returns the reason why a variant that the user named is skipped, worded as part of a sentence; `None` if it can be checked.
/// `machine_code` is true if the machine code is printed instead of running the kernels. `has_own` is true if the folder of
/// kernels contains a kernel that the user has added.
fn exclusion(id: VariantId, machine_code: bool, has_own: bool) -> Option<String> {
    let why = match &id.work {
        Work::Nothing => "has no kernels, since it copies the picture".to_owned(),
        Work::Shaders => "has no kernels, since it runs in OpenGL".to_owned(),
        Work::Threads => "has no kernels, since it runs on the CPU without OpenCL".to_owned(),
        Work::Fastest(_) if !machine_code => {
            "has no kernels of its own; name the variant that it selects".to_owned()
        }
        Work::Kernels(_) if id.is_own() && !has_own => {
            format!("is your own kernel, and {OWN_FILE} is missing; set its folder with --kernels")
        }
        Work::Kernels(_) | Work::Fastest(_) => return None,
    };
    Some(format!("'{id}' {why}"))
}

/// Checks the kernels of all `codes` under Oclgrind, even if some fail; returns the exit code.
fn check_all(codes: &[VariantCode], args: &CheckKernelsArgs, sources: &Sources) -> Result<u8> {
    let checker = checker()?;
    let limit = Limit::new(args.kernel_timeout, PREPARATION);
    // A reason that several variants share is printed once.
    let (mut checked, mut printed) = (Vec::new(), Vec::new());
    for code in codes {
        let code = check(&checker, *code, args.kernels.as_deref(), sources, limit);
        if !args.json {
            for (sentence, lines) in code.fault_sentences() {
                print_line(sentence)?;
                lines.iter().try_for_each(print_line)?;
            }
            code.no_faults_text().into_iter().try_for_each(print_line)?;
            if let Some(error) = &code.error {
                let reason = error.to_string().replace(&format!("'{}'", code.name), "");
                if !printed.contains(&reason) {
                    print_message(error);
                    printed.push(reason);
                }
            }
        }
        checked.push(code);
    }
    let failed: Vec<&str> =
        checked.iter().filter(|code| code.error.is_some()).map(|code| code.name.as_str()).collect();
    if args.json {
        print_json(&checked)?;
    } else if !failed.is_empty() && codes.len() > 1 {
        let (count, all) = (failed.len(), codes.len());
        print_message(format_args!("{count} of {all} were not checked: {}.", failed.join("; ")));
    }
    let is_faulty = checked.iter().any(|code| !code.faults.is_empty());
    Ok(exit::check_code(is_faulty, !failed.is_empty()))
}

/// Prints the machine code that the first device's driver compiles for all `codes`, even if some fail; returns the exit code.
fn machine_code(codes: &[VariantCode], sources: Sources) -> Result<u8> {
    let device = list_devices().into_iter().next().ok_or_else(no_device)?;
    let cl = ClContext::new(&device, sources)?;
    let mut ids: Vec<VariantId> = codes.iter().map(|(id, _)| *id).collect();
    ids.dedup();
    let pictures = PictureInfo { size: (1280, 720), radius: 7, wide: false };
    let mut exit_code = exit::DONE;
    for id in ids {
        match machine_code::disassemble(&cl, id, &pictures) {
            Ok(MachineCode { name, text, facts }) => {
                print_line(format!("{id}, {}: {name}\n{}\n{text}", device.info.name, facts.join("\n")))?;
            }
            Err(error) => {
                print_message(format_args!("{id}: {error}"));
                exit_code = exit::FAILED;
            }
        }
    }
    Ok(exit_code)
}

/// Returns the kernels of these variants, or of all variants except `auto` if the list is empty. Leaves out the variants for
/// which [`exclusion`], called with `machine_code` and `has_own`, returns a reason. A variant with different kernels for GPUs
/// and CPUs has two entries.
fn selected_code(variants: &[VariantId], machine_code: bool, has_own: bool) -> Vec<VariantCode> {
    let is_selected = |id: &VariantId| {
        let is_named = if variants.is_empty() { !id.is_auto() } else { variants.contains(id) };
        is_named && exclusion(*id, machine_code, has_own).is_none()
    };
    let codes = |id| {
        let for_cpus = has_two_codes(id).then_some((id, DeviceKind::Cpu));
        [(id, DeviceKind::Gpu)].into_iter().chain(for_cpus)
    };
    VariantId::with_own().filter(is_selected).flat_map(codes).collect()
}

/// Runs a variant's kernels in a process under Oclgrind, and returns the faults that Oclgrind finds.
fn check(
    checker: &Path,
    code: VariantCode,
    kernels: Option<&Path>,
    sources: &Sources,
    limit: Limit,
) -> CheckedCode {
    let name = name(code);
    let (id, kind) = code;
    let failed = |why: String, hint| Error::new(format!("'{name}' could not run under Oclgrind."), why, hint);
    let options = ["--data-races", "--max-errors", "5", "--log", "/dev/stdout"];
    let arguments = [RUN_SUBCOMMAND, id.name];
    let is_cpu = kind == DeviceKind::Cpu;
    let (log, ending) = match oclgrind::run(checker, &options, &arguments, is_cpu, kernels, limit) {
        Ok(run) => run,
        Err(e) => {
            let error = Some(failed(format!("{e}."), "Try the kernels with `clreel bench`."));
            return CheckedCode { name, faults: Vec::new(), error };
        }
    };
    let faults = parse_faults(&log, sources);
    let error = match ending.cause {
        Cause::Exit(0) => None,
        Cause::Timeout(_) => Some(Error::new(
            format!("'{name}' {ending} under Oclgrind."),
            "Oclgrind is slow, but needs only a second or two for the built-in kernels.",
            "Look for an endless loop, or raise the limit with --kernel-timeout.",
        )),
        // The faults explain the failure.
        _ if !faults.is_empty() => None,
        _ => Some(failed(ending.error().map_or_else(|| format!("It {ending}."), str::to_owned), "")),
    };
    CheckedCode { name, faults, error }
}

/// Opens Oclgrind's device for a hidden subcommand. Returns its context, and the kind of device whose kernels run there: CPUs if
/// `cpu` is true, else GPUs.
fn open_under_oclgrind(cpu: bool) -> Result<(ClContext, DeviceKind)> {
    // If the process that started this one is killed, this one ends, too.
    end_with_parent();
    let device = list_devices().into_iter().next().ok_or_else(no_device)?;
    let cl = ClContext::new(&device, Sources::from_environment())?;
    Ok((cl, if cpu { DeviceKind::Cpu } else { DeviceKind::Gpu }))
}

/// Runs a variant's kernels on the first device, for the hidden subcommand; returns the exit code. If `cpu` is true, runs the
/// variant's kernels for CPUs, else those for GPUs. If `accesses` is true, the pictures have a single pixel, so that Oclgrind
/// reports each access.
///
/// # Errors
/// If there is no device, or the kernels cannot run.
pub(crate) fn run_kernels(id: VariantId, cpu: bool, accesses: bool) -> Result<u8> {
    let (cl, kind) = open_under_oclgrind(cpu)?;
    let built = BuiltVariant::build_as(&cl, id, kind)?;
    if accesses && !id.reads_planes() {
        accesses::run_on_one_pixel(&cl, &built)?;
        return Ok(exit::DONE);
    }
    let settings = id.opened().map(|filter| vec![filter.defaults()]);
    let settings =
        settings.unwrap_or_else(|| radii(id, kind).iter().map(|radius| (*radius).into()).collect());
    let layouts = match id.reads_planes() {
        true => [false, true].map(|wide| Some(Layout::planar_420(SIZE.0, SIZE.1, wide))).to_vec(),
        false => vec![None],
    };
    let of_layout = |layout| settings.iter().map(move |settings| id.extent_of(layout, SIZE, *settings));
    let wholes: Vec<Extent> = layouts.into_iter().flat_map(of_layout).collect();
    for whole in wholes {
        filter_once(&cl, &built, &noise(whole.bytes()[0]), whole)?;
    }
    Ok(exit::DONE)
}

/// Returns the radii with which a variant's kernels are run. The large radius is left out for kernels in which each pixel reads
/// its whole window: they would take minutes under Oclgrind and show no other faults.
fn radii(id: VariantId, kind: DeviceKind) -> &'static [u32] {
    let reads = |code: &'static Code| -> f64 {
        let extent = Extent::rgba(SIZE, LARGE_RADIUS);
        let config = Config::new(code, kind);
        (0..code.passes.len()).map(|pass| code.formulas.reads_per_pixel(&config, pass, &extent)).sum()
    };
    match id.code(kind).is_some_and(|code| reads(code) > MAX_READS_PER_PIXEL) {
        true => &[RADIUS],
        false => &[RADIUS, LARGE_RADIUS],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::named;

    #[test]
    fn named_variants_are_checked_or_skipped_with_a_reason() {
        for id in VariantId::all() {
            for machine_code in [false, true] {
                let codes = selected_code(&[id], machine_code, false);
                let is_excluded = exclusion(id, machine_code, false).is_some();
                assert_eq!(codes.is_empty(), is_excluded, "{id} {machine_code}");
                assert!(codes.iter().all(|code| code.0 == id), "{codes:?}");
            }
        }
        let names: Vec<String> = selected_code(&[], false, false).into_iter().map(name).collect();
        for wanted in ["naive", "planar, for CPUs", "planar, for graphics cards", "fused, for CPUs"] {
            assert_eq!(names.iter().filter(|other| *other == wanted).count(), 1, "{names:?}");
        }
        let most = |id| radii(id, DeviceKind::Cpu).len();
        assert_eq!(VariantId::all().filter(|id| most(*id) == 1).count(), 1);
        let skipped = |id| exclusion(id, false, false).is_some();
        assert!([VariantId::auto(), VariantId::OFF, named("glsl"), named("native")].into_iter().all(skipped));
        assert!(!skipped(named("planar")));
        assert!([named("planar"), VariantId::auto()].iter().all(|id| exclusion(*id, true, false).is_none()));
    }
}
