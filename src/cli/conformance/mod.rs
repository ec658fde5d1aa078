//! `clreel conformance`: whether a device's conversions are right. In: devices, cases, how thorough. Out: a matrix or JSON on
//! stdout, progress on stderr; a file that is saved as it goes, continued, and compared with another.

mod changes;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::live::Live;
use super::{usage, working_devices};
use crate::options::values;
use base::error::{Error, Result};
use base::jobs::Cancel;
use base::save;
use ladders::type_conversions::run::{self, Ask};
use ladders::type_conversions::saved::{Conditions, OfCase, OfDevice, Saved};
use ladders::type_conversions::types::{Case, Type, Widths};
use ladders::type_conversions::values::{Depth, Values};
use ladders::type_conversions::{Abilities, FILE};
use opencl::cl::{Device, no_device, select_device};
use opencl::program;

use report::Report;

/// `clreel conformance`.
#[derive(Debug, Clone, Args)]
pub struct ConformanceArgs {
    /// The OpenCL device: an index from `clreel devices`, a part of a platform's or a device's name, cpu, gpu or all
    #[arg(long, value_name = "SEL")]
    pub device: Option<String>,
    /// All numbers of 8 and 16 bits; of 32 and 64 bits all edges and 2^20 random ones. It is what is done without --full
    #[arg(long)]
    pub quick: bool,
    /// All numbers of 8, 16 and 32 bits; of 64 bits all edges and 2^28 random ones. Saves as it goes
    #[arg(long, conflicts_with = "quick")]
    pub full: bool,
    /// Conversions by their names, such as int_sat_rte_float; * stands for anything, as in 'uchar*'. Without it all
    #[arg(long = "type", value_name = "NAME …", num_args = 1.., value_delimiter = ',')]
    pub types: Vec<String>,
    /// Widths of vectors; 1 is scalars. Without it all: 1, 2, 3, 4, 8 and 16
    #[arg(long = "width", value_name = "N …", num_args = 1.., value_delimiter = ',')]
    pub widths: Vec<u8>,
    /// What the random numbers come from; without it something else each time
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
    /// How long a step of a conversion may take before its process is given up, in seconds; without it 60 s, more on a busy machine
    #[arg(long, value_name = "S", value_parser = values::timeout)]
    pub kernel_timeout: Option<f64>,
    /// Print JSON instead of a matrix; `seconds` says where the time went, added up over all processes
    #[arg(long)]
    pub json: bool,
    /// Save the result, also while it grows
    #[arg(long, value_name = "FILE.json")]
    pub save: Option<PathBuf>,
    /// Go on where this file's test ended, with the same devices, conversions and numbers
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["device", "quick", "full", "types", "widths", "seed"])]
    pub resume: Option<PathBuf>,
    /// Say what changed from one saved result to another; tries nothing
    #[arg(long, value_names = ["A.json", "B.json"], num_args = 2, conflicts_with_all = ["device", "quick", "full", "types", "widths", "seed", "save", "resume"])]
    pub compare: Option<Vec<PathBuf>>,
}

/// Tries the conversions, or compares two results; returns the exit code: 3 where a conversion is wrong or what was right is
/// not any more, 1 where one could not be tried.
///
/// # Errors
/// When there is no such device, or a file cannot be read or written.
pub(super) fn run(args: &ConformanceArgs) -> Result<u8> {
    if let Some([before, after]) = args.compare.as_deref() {
        return changes::print(&Saved::read(before)?, &Saved::read(after)?, args.json);
    }
    let (saved, devices) = match &args.resume {
        Some(path) => resumed(Saved::read(path)?)?,
        None => {
            let cases = match asked_cases(&args.types) {
                Ok(cases) => cases,
                Err(why) => return Ok(usage("conformance", &why)),
            };
            let widths = if args.widths.is_empty() { Some(Widths::ALL) } else { Widths::of(&args.widths) };
            let Some(widths) = widths else {
                return Ok(usage("conformance", "vectors are 1 (scalars), 2, 3, 4, 8 or 16 wide"));
            };
            begun(args, cases, widths)?
        }
    };
    let file = args.save.clone().or_else(|| args.resume.clone());
    let unnamed = || PathBuf::from(format!("clreel-conformance-{}.json", saved.seed));
    let file = file.or_else(|| (saved.depth() == Depth::Full).then(unnamed));
    if let Some(file) = &file {
        save::can_write(file)?;
        eprintln!("clreel: The result is saved in '{}' as it grows.", base::text::name(file));
    }
    eprintln!("clreel: The seed of the random numbers is {}.", saved.seed);
    let (widths, depth, seed) = (saved.widths(), saved.depth(), saved.seed);
    let limit = args.kernel_timeout.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let steps = saved.devices.iter().map(|one| one.cases.len()).sum();
    let before = saved.devices.iter().map(|one| one.cases.iter().filter(|case| case.is_settled()).count());
    let before = before.sum();
    let live = Live::start(Report::new(saved, file, args.json), steps);
    live.skip_to(before);
    let estimated = AtomicBool::new(depth == Depth::Quick);
    for (at, device) in devices.iter().enumerate() {
        let cases = live.results().left(at);
        let began = Instant::now();
        let watch = |case: Case, state| {
            let settled = live.results().note(at, case, state, device);
            let left = live.results().seconds_left(at, began);
            let message =
                format!("{case}{}", left.map(|s| format!(", about {s:.0} s left")).unwrap_or_default());
            if settled {
                live.step(&message)
            } else {
                live.say(&message)
            }
            // Who leaves it alone for hours wants to know for how many.
            if let Some(left) = left.filter(|_| !estimated.swap(true, Ordering::Relaxed)) {
                live.line(&format!("It will take about {} more, by what is done so far.", span(left)));
            }
        };
        let ask = Ask { cases, widths, depth, seed, limit };
        let seconds = run::run(device, &ask, &Cancel::default(), &watch)?;
        live.results().took(at, seconds);
    }
    live.results().saved.complete = true;
    Ok(live.finish()?.code())
}

/// A span of time in the unit that people would take.
fn span(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

/// A test that nothing is known of yet, and its devices.
fn begun(args: &ConformanceArgs, cases: Option<Vec<Case>>, widths: Widths) -> Result<(Saved, Vec<Device>)> {
    let devices = working_devices();
    let devices = match args.device.as_deref() {
        Some("all") if devices.is_empty() => return Err(no_device()),
        Some("all") => devices,
        sel => vec![select_device(&devices, sel)?],
    };
    let depth = if args.full { Depth::Full } else { Depth::Quick };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = args.seed.unwrap_or(now.subsec_nanos() ^ now.as_secs() as u32);
    let of_device = |device: &Device| {
        let cases = cases.clone().unwrap_or_else(|| Case::all(&Abilities::of(device).types()));
        let cases = cases.into_iter().map(|case| OfCase::new(case, widths, depth, seed)).collect();
        OfDevice::new(&device.info, conditions(device), cases)
    };
    let saved = Saved {
        schema: 1,
        kind: "conformance".to_owned(),
        program: concat!("clreel ", env!("CARGO_PKG_VERSION")).to_owned(),
        depth: depth.name().to_owned(),
        seed,
        complete: false,
        devices: devices.iter().map(of_device).collect(),
    };
    Ok((saved, devices))
}

fn conditions(device: &Device) -> Conditions {
    let abilities = Abilities::of(device);
    let flushes = abilities.types().into_iter().filter(|of| abilities.flushes(*of));
    Conditions {
        flushes: flushes.map(|of| of.name().to_owned()).collect(),
        changed_kernels: program::is_changed(FILE),
    }
}

/// A saved test that goes on, and its devices.
fn resumed(saved: Saved) -> Result<(Saved, Vec<Device>)> {
    let refused =
        |why: String| Error::new("The test cannot go on.", why, "Begin a new one without --resume.");
    let count = |of: Type| (of, Values::new(of, saved.depth(), saved.seed).count());
    let counts: BTreeMap<Type, u64> = Type::ALL.into_iter().map(count).collect();
    let present = working_devices();
    let mut devices = Vec::new();
    for one in &saved.devices {
        let is_it =
            |device: &&Device| (&device.info.name, &device.info.platform) == (&one.name, &one.platform);
        let device = present.iter().find(is_it);
        let device =
            device.ok_or_else(|| refused(format!("There is no OpenCL device '{}' any more.", one.name)))?;
        let info = &device.info;
        if (&info.driver, &info.version) != (&one.driver, &one.version) {
            return Err(refused(format!(
                "The driver of '{}' was {} ({}), and is {} ({}).",
                one.name, one.driver, one.version, info.driver, info.version
            )));
        }
        if conditions(device) != one.conditions {
            return Err(refused(
                "The kernels or what the device does with small numbers have changed.".to_owned(),
            ));
        }
        // Of other numbers those that are done say nothing.
        if let Some(other) = one.cases.iter().find(|case| !case.is_of(&counts)) {
            return Err(refused(format!("This program tries other numbers of '{}'.", other.case)));
        }
        devices.push(device.clone());
    }
    let own = concat!("clreel ", env!("CARGO_PKG_VERSION"));
    match saved.program == own {
        true => Ok((Saved { complete: false, ..saved }, devices)),
        false => Err(refused(format!("It was begun by {}, and this is {own}.", saved.program))),
    }
}

/// The cases that these names and patterns stand for; `None` where there are none: all that a device has.
fn asked_cases(names: &[String]) -> std::result::Result<Option<Vec<Case>>, String> {
    let names: Vec<&str> = names.iter().flat_map(|name| name.split_whitespace()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let all: Vec<(String, Case)> =
        Case::all(&Type::ALL).into_iter().map(|case| (case.to_string(), case)).collect();
    let mut cases: Vec<Case> = Vec::new();
    for name in names {
        let found: Vec<Case> =
            all.iter().filter(|(known, _)| fits(name, known)).map(|(_, case)| *case).collect();
        if found.is_empty() {
            return Err(format!(
                "no conversion is called '{name}': write destination, _sat, rounding and source, as in int_sat_rte_float, or * for any part"
            ));
        }
        for case in found {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    Ok(Some(cases))
}

/// Whether a name fits a pattern, in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => name.strip_prefix(before).is_some_and(|name| {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| fits(rest, name)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_all_that_they_fit() {
        let count = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            asked_cases(&names).map(|cases| cases.map(|cases| cases.len()))
        };
        assert_eq!(count(&[]), Ok(None));
        assert_eq!(count(&["int_sat_rte_float"]), Ok(Some(1)));
        assert_eq!(count(&["int_sat_rte_float int_float", "int_float"]), Ok(Some(2)));
        assert_eq!(count(&["int*_float"]), Ok(Some(10)));
        assert_eq!(count(&["*"]), Ok(Some(1045)));
        assert!(count(&["int_sat_rte"]).is_err_and(|why| why.contains("'int_sat_rte'")));
    }
}
