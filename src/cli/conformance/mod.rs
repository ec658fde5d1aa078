//! `clreel conformance`: checks OpenCL C's type conversions on a device. Prints a matrix or JSON on stdout, progress on stderr.
//! The result can be saved during the test, resumed, and compared with another result (`clreel compare`). With `--sharing` it checks what OpenCL
//! and OpenGL share instead.

mod report;
mod sharing;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::live::LiveRun;
use super::{PROGRAM, deduplicate, selected_devices, usage, working_devices};
use crate::options::values;
use base::error::{Error, Result};
use base::jobs::Cancel;
use base::save;
use base::stderr::print_message;
use ladders::type_conversions::run;
use ladders::type_conversions::saved::{CaseResult, Conditions, DeviceResult, Saved};
use ladders::type_conversions::state::TestOptions;
use ladders::type_conversions::types::{Case, Type, Widths};
use ladders::type_conversions::values::{Depth, Values};
use ladders::type_conversions::{Abilities, KERNEL_FILE};
use opencl::cl::Device;
use opencl::sources::Sources;

use report::Report;

/// Options of `clreel conformance`.
#[derive(Debug, Args)]
pub struct ConformanceArgs {
    /// OpenCL device: an index from `clreel devices`, part of a platform or device name, cpu, gpu or all
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// Test instead what OpenCL and OpenGL share: textures of 8 formats and buffers, both directions, 6 orders of calls
    #[arg(long, conflicts_with_all = ["quick", "full", "types", "widths", "kernel_timeout", "save", "resume"])]
    pub sharing: bool,
    /// Test all numbers of 8 and 16 bits, and all edge cases and 2^20 random numbers of 32 and 64 bits (default)
    #[arg(long)]
    pub quick: bool,
    /// Test all numbers of 8, 16 and 32 bits, and all edge cases and 2^28 random numbers of 64 bits; saves the result
    #[arg(long, conflicts_with = "quick")]
    pub full: bool,
    /// Conversions to test, such as int_sat_rte_float; * matches anything, as in 'uchar*' [default: all]
    #[arg(long = "type", value_name = "NAME …", num_args = 1.., value_delimiter = ',')]
    pub types: Vec<String>,
    /// Vector widths to test; 1 is scalar [default: 1, 2, 3, 4, 8 and 16]
    #[arg(long = "width", value_name = "N …", num_args = 1.., value_delimiter = ',')]
    pub widths: Vec<u8>,
    /// Seed of the random numbers or bytes [default: a new one each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// Timeout per step of a conversion, in seconds [default: 180, more on a busy machine]
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub kernel_timeout: Option<Duration>,
    /// Print JSON instead of tables; `seconds` has the times of the phases, summed over all processes
    #[arg(long)]
    pub json: bool,
    /// Save the result to this file, at the end and during the test
    #[arg(long, value_name = "FILE.json")]
    pub save: Option<PathBuf>,
    /// Resume the test of this file, with the same devices, conversions and numbers
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["device", "quick", "full", "types", "widths", "seed"])]
    pub resume: Option<PathBuf>,
}

/// Tests the type conversions or sharing with OpenGL; returns the exit code: 3 if a result is wrong, 1 if one could not be tested.
///
/// # Errors
/// If the selected device does not exist, or a file cannot be read or written.
pub(super) fn run(args: &ConformanceArgs) -> Result<u8> {
    if args.sharing {
        let devices = selected_devices(working_devices(), args.device.as_deref())?;
        return sharing::run(devices, seed(args), args.json);
    }
    let (saved, devices) = match &args.resume {
        Some(path) => resume_test(Saved::read(path)?)?,
        None => {
            let cases = selected_cases(&args.types).unwrap_or_else(|why| usage("conformance", &why));
            let widths = if args.widths.is_empty() { Some(Widths::ALL) } else { Widths::new(&args.widths) };
            let why = "expected vector widths of 1 (scalar), 2, 3, 4, 8 or 16";
            let widths = widths.unwrap_or_else(|| usage("conformance", why));
            new_test(args, cases, widths)?
        }
    };
    let (widths, depth, seed) = (saved.widths(), saved.depth(), saved.seed);
    let unnamed = || PathBuf::from(format!("clreel-conformance-{seed}.json"));
    let file = args.save.as_ref().or(args.resume.as_ref()).cloned();
    let file = file.or_else(|| (depth == Depth::Full).then(unnamed));
    if let Some(file) = &file {
        save::can_write(file)?;
        print_message(format_args!("The result is saved in '{}' during the test.", base::text::name(file)));
    }
    print_message(format_args!("The seed of the random numbers is {seed}."));
    let cases = || saved.devices.iter().flat_map(|device| &device.cases);
    let (steps, before) = (cases().count(), cases().filter(|case| case.is_settled()).count());
    let live = LiveRun::start(Report { saved, file, json: args.json, write_at: Instant::now() }, steps);
    live.skip_to(before);
    let estimated = AtomicBool::new(depth == Depth::Quick);
    for (at, device) in devices.iter().enumerate() {
        let (cases, (resumed_work, _)) = {
            let results = live.results();
            let saved = &results.saved.devices[at];
            let left = saved.cases.iter().filter(|case| !case.is_settled());
            let named = left.filter_map(|case| Some((Case::named(&case.case)?, case.values)));
            (named.collect(), report::work(saved))
        };
        let began = Instant::now();
        let watch = |case: Case, state| {
            let settled = live.results().record(at, case, state, device);
            let left = live.results().seconds_left(at, began, resumed_work);
            let message =
                format!("{case}{}", left.map(|s| format!(", about {s:.0} s left")).unwrap_or_default());
            if settled {
                live.next_step(&message)
            } else {
                live.set_message(&message)
            }
            // A full test takes hours, so one estimate is printed even without a terminal.
            if let Some(left) = left.filter(|_| !estimated.swap(true, Ordering::Relaxed)) {
                live.print_line(&format!("About {} left.", duration(left)));
            }
        };
        let options = TestOptions { cases, widths, depth, seed, limit: args.kernel_timeout };
        let seconds = run::run(device, &options, &Cancel::default(), &watch)?;
        live.results().saved.devices[at].seconds.add(seconds);
    }
    live.results().saved.complete = true;
    Ok(live.finish()?.exit_code())
}

/// Formats a duration in seconds, minutes or hours.
fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

/// Returns the seed of the test's random numbers: the one that the user selected, or a new one.
fn seed(args: &ConformanceArgs) -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    args.seed.unwrap_or(now.subsec_nanos() ^ now.as_secs() as u32)
}

/// Prepares a new test; returns its result, in which nothing is tested yet, and its devices, in the same order.
fn new_test(args: &ConformanceArgs, cases: Vec<Case>, widths: Widths) -> Result<(Saved, Vec<Device>)> {
    let devices = selected_devices(working_devices(), args.device.as_deref())?;
    let depth = if args.full { Depth::Full } else { Depth::Quick };
    let seed = seed(args);
    let of_device = |device: &Device| {
        let all = if cases.is_empty() { Case::all(&Abilities::of(device).types()) } else { cases.clone() };
        let cases = all.into_iter().map(|case| CaseResult::new(case, widths, depth, seed)).collect();
        DeviceResult::new(&device.info, conditions(device), cases)
    };
    let saved = Saved {
        schema: 1,
        kind: "conformance".to_owned(),
        program: PROGRAM.to_owned(),
        depth: depth.name().to_owned(),
        seed,
        complete: false,
        devices: devices.iter().map(of_device).collect(),
    };
    Ok((saved, devices))
}

/// Returns the properties of a device, its driver and the kernels on which the results of the test may depend.
fn conditions(device: &Device) -> Conditions {
    let abilities = Abilities::of(device);
    let flushes = abilities.types().into_iter().filter(|of| abilities.flushes(*of));
    Conditions {
        flushes: flushes.map(|of| of.name().to_owned()).collect(),
        changed_kernels: Sources::from_environment().is_changed(KERNEL_FILE),
    }
}

/// Prepares to resume a saved test; returns its result so far and its devices, in the same order.
///
/// # Errors
/// If a device is missing, or the driver, the kernels, the numbers or the version of clreel have changed.
fn resume_test(saved: Saved) -> Result<(Saved, Vec<Device>)> {
    let refused =
        |why: String| Error::new("The test cannot be resumed.", why, "Start a new one without --resume.");
    let count = |of: Type| (of, Values::new(of, saved.depth(), saved.seed).count);
    let counts: BTreeMap<Type, u64> = Type::ALL.into_iter().map(count).collect();
    let present = working_devices();
    let mut devices = Vec::new();
    for earlier in &saved.devices {
        let DeviceResult { name, platform, version, driver, .. } = earlier;
        let is_it = |device: &&Device| (&device.info.name, &device.info.platform) == (name, platform);
        let gone = || refused(format!("There is no OpenCL device '{name}' any more."));
        let device = present.iter().find(is_it).ok_or_else(gone)?;
        let info = &device.info;
        if (&info.driver, &info.version) != (driver, version) {
            return Err(refused(format!(
                "The driver of '{name}' was {driver} ({version}), and is {} ({}).",
                info.driver, info.version
            )));
        }
        if conditions(device) != earlier.conditions {
            let why = "The kernels, or the device's handling of subnormal numbers, have changed.";
            return Err(refused(why.to_owned()));
        }
        // Cases that are done must have tested the same numbers.
        if let Some(other) = earlier.cases.iter().find(|case| !case.matches_counts(&counts)) {
            return Err(refused(format!("This version tests other numbers of '{}'.", other.case)));
        }
        devices.push(device.clone());
    }
    match saved.program == PROGRAM {
        true => Ok((Saved { complete: false, ..saved }, devices)),
        false => Err(refused(format!("It was started by {}; this is {PROGRAM}.", saved.program))),
    }
}

/// Returns the type conversions to test: those whose name equals one of `names`, such as `int_sat_rte_float`, or matches one
/// that is a pattern, such as `uchar*`. Each string may contain several names, separated by spaces. Returns nothing if
/// `names` is empty; then all conversions of the device are tested.
///
/// # Errors
/// A usage message if a name matches nothing.
fn selected_cases(names: &[String]) -> Result<Vec<Case>, String> {
    let names: Vec<&str> = names.iter().flat_map(|name| name.split_whitespace()).collect();
    let all: Vec<(String, Case)> =
        Case::all(&Type::ALL).into_iter().map(|case| (case.to_string(), case)).collect();
    let mut cases: Vec<Case> = Vec::new();
    for name in names {
        let before = cases.len();
        cases.extend(all.iter().filter(|(known, _)| matches(name, known)).map(|(_, case)| *case));
        if cases.len() == before {
            return Err(format!(
                "no conversion is named '{name}'; expected destination, _sat, rounding and source, as in int_sat_rte_float, or * for any part"
            ));
        }
    }
    Ok(deduplicate(&cases))
}

/// Returns true if `name` matches `pattern`, in which `*` matches any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => name.strip_prefix(before).is_some_and(|name| {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_several_names() {
        let count = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            selected_cases(&names).map(|cases| cases.len())
        };
        assert_eq!(count(&[]), Ok(0));
        assert_eq!(count(&["int_sat_rte_float"]), Ok(1));
        assert_eq!(count(&["int_sat_rte_float int_float", "int_float"]), Ok(2));
        assert_eq!(count(&["int*_float"]), Ok(10));
        assert_eq!(count(&["*"]), Ok(1045));
        assert!(count(&["int_sat_rte"]).is_err_and(|why| why.contains("'int_sat_rte'")));
    }
}
