//! `clreel bench`: checks every variant against the reference, then times it. Out: a table or JSON on
//! stdout, progress on stderr, there too one sentence where the times are noisy. A signal in the middle of it shows what
//! has been measured.
//!
//! What is timed is a kernel's command alone, on data that lies on the device: the engine's uploads, bands and frames ahead
//! would be in the times. Before that each variant's frame goes through the engine, as the window asks for it, and is compared
//! with the reference; `--whole-frames` times such frames too, in a table of their own (`whole`).

mod conversions;
mod numbers;
mod pictures;
mod reasons;
mod report;
mod results;
mod table;
mod whole;

use std::str::FromStr;

use crate::cli::live::Live;
use crate::cli::{BenchArgs, exit, working_devices};
use base::error::Result;
use base::save;
use ladder::BackEnd;
use ladder::rounds::Ask;
use ladder::rows::Case;
use opencl::cl::{Device, no_device, select_device};
use opencl::process;

pub(super) use numbers::run as numbers;
pub(super) use pictures::run as pictures;
use results::{DeviceRuns, Results, Subject};

/// The variants to time: a list such as `naive,flat`, or `all`; which there are is the ladder's to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantList(String);

impl FromStr for VariantList {
    type Err = std::convert::Infallible;

    fn from_str(list: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self(list.to_owned()))
    }
}

impl VariantList {
    /// Whether nobody has chosen.
    fn is_all(&self) -> bool {
        self.0.trim() == "all"
    }

    /// Those of `all`, which have names: in the order given, each once.
    ///
    /// # Errors
    /// A sentence for the user, where none has such a name.
    fn among<'a, T>(
        &self,
        all: impl Iterator<Item = (&'a str, T)> + Clone,
    ) -> std::result::Result<Vec<T>, String> {
        if self.is_all() {
            return Ok(all.map(|(_, one)| one).collect());
        }
        let mut names: Vec<&str> = Vec::new();
        for name in self.0.split(',').map(str::trim) {
            if !all.clone().any(|(known, _)| known == name) {
                let known: Vec<_> = all.map(|(known, _)| known).collect();
                return Err(format!(
                    "invalid value '{}' for '--variant <ID,…>': no variant is called '{name}'; choose all, or some of {}",
                    self.0,
                    known.join(", ")
                ));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names
            .iter()
            .filter_map(|name| all.clone().find(|(known, _)| known == name))
            .map(|(_, one)| one)
            .collect())
    }
}

/// Runs the benchmark; returns the exit code: 3 when a variant differs from the reference, 1 when one
/// failed.
///
/// # Errors
/// When there is no device and a variant needs one, the movie gives no frame, or the chart cannot be written.
pub(super) fn run(args: &BenchArgs) -> Result<u8> {
    if args.live {
        process::end_with_parent();
    }
    if let Some(chart) = &args.chart {
        // Before minutes of measuring are for nothing.
        save::can_write(chart)?;
    }
    args.ladder.bench(args)
}

/// What is shown from here on: `entrants` take part in each of `cases` on each device.
fn start(
    args: &BenchArgs,
    subject: Subject,
    cases: Vec<Case>,
    devices: &[Option<Device>],
    entrants: usize,
) -> Live<Results> {
    let steps = devices.len() * cases.len() * (entrants + args.frames as usize);
    let devices = devices.iter().map(|device| DeviceRuns::new(device.as_ref())).collect();
    let (json, chart, rounds) = (args.json, args.chart.clone(), args.frames);
    Live::start(Results { json, live: args.live, chart, subject, rounds, cases, devices }, steps)
}

/// Whether nothing stands in the way of more.
fn goes_on(args: &BenchArgs, live: &Live<Results>) -> bool {
    !args.fail_fast || live.results().code() == exit::DONE
}

fn ask(args: &BenchArgs) -> Ask {
    Ask { rounds: args.frames, fail_fast: args.fail_fast, named: !args.variant.is_all() }
}

/// The devices to run on; one `None` where there is none and nothing that was asked for needs one.
fn chosen_devices(
    args: &BenchArgs,
    mut back_ends: impl Iterator<Item = BackEnd>,
) -> Result<Vec<Option<Device>>> {
    let devices = working_devices();
    match args.device.as_deref() {
        None if devices.is_empty() && back_ends.all(BackEnd::does_without_opencl) => Ok(vec![None]),
        Some("all") if devices.is_empty() => Err(no_device()),
        Some("all") => Ok(devices.into_iter().map(Some).collect()),
        sel => Ok(vec![Some(select_device(&devices, sel)?)]),
    }
}
