//! Counts what kernels read and write: runs them once under Oclgrind, without the compiler's optimizations, and reads its
//! histogram of instructions. The result can be compared with [`Ladder::work`], which predicts these counts.

use serde::Serialize;
use serde_json::Value;

use super::oclgrind::{self, checker};
use super::{COUNT_SUBCOMMAND, open_under_oclgrind};
use crate::cli::output::{print_json, print_line};
use base::device::DeviceInfo;
use base::error::{Error, Result};
use base::exit;
use compute::config::Config;
use compute::work::Transfer;
use ladder::runner::{Ladder, Part};
use opencl::sandbox::{Cause, Limit, PREPARATION};

/// The reads and writes of one launch of a kernel, as counted by Oclgrind.
#[derive(Debug, Default, PartialEq, Serialize)]
struct CountedLaunch {
    kernel: String,
    /// Reads of buffers, in instructions and bytes.
    loads: Transfer,
    /// Writes of buffers, in instructions and bytes.
    stores: Transfer,
    /// Pixels read from images.
    image_reads: u64,
    /// Pixels written to images.
    image_writes: u64,
    /// Barriers, summed over all work-items.
    barriers: u64,
}

/// A case, with the work that [`Ladder::work`] predicts and the work that was counted.
#[derive(Debug, Serialize)]
struct CountedCase {
    /// The predicted [`KernelWork`](compute::work::KernelWork) in JSON; null if the ladder cannot predict it.
    work: Value,
    launches: Vec<CountedLaunch>,
}

/// Runs the kernels of a variant of `ladder` in a process under Oclgrind, once for each of `cases` in JSON. Prints the
/// predicted and the counted work of each case as JSON, for the hidden subcommand; returns the exit code.
///
/// # Errors
/// If Oclgrind is missing, or the kernels cannot run there.
pub(crate) fn run(ladder: &str, id: &str, cpu: bool, cases: &[String]) -> Result<u8> {
    let what = || format!("The reads and writes of '{id}' could not be counted.");
    let failed = |why: String| Error::new(what(), why, "Try the kernels with `clreel check-kernels`.");
    // As much local memory as GPUs have: the largest tiles need it.
    let options = ["--inst-counts", "--build-options", "-cl-opt-disable", "--local-mem-size", "65536"];
    let mut arguments = vec![COUNT_SUBCOMMAND, "--run", ladder, id];
    arguments.extend(cases.iter().map(String::as_str));
    let limit = Limit::new(None, PREPARATION);
    let (output, ending) = oclgrind::run(&checker()?, &options, &arguments, cpu, None, limit)
        .map_err(|e| failed(format!("{e}.")))?;
    if ending.cause != Cause::Exit(0) {
        return Err(failed(ending.error().map_or_else(|| format!("Oclgrind {ending}."), str::to_owned)));
    }
    print_json(&parse(&output))?;
    Ok(exit::DONE)
}

/// The beginning of the line with the predicted work of a case, in the output of the process under Oclgrind. The launches of
/// the case follow.
const FORMULA: &str = "clreel work: ";
/// The line after the launches of a case. Other launches belong to the build of the kernels.
const FORMULA_END: &str = "clreel work done";

/// Parses the predicted work and the histograms of instructions from the output of the process under Oclgrind.
fn parse(output: &str) -> Vec<CountedCase> {
    let launch = |histogram: &str| {
        let mut lines = histogram.lines();
        let kernel = lines.next().unwrap_or_default().trim_end_matches("':").to_owned();
        let mut launch = CountedLaunch { kernel, ..CountedLaunch::default() };
        let counts = lines.filter_map(|line| line.split_once(" - "));
        counts.for_each(|(count, what)| launch.add(number(count), what.trim()));
        launch
    };
    let case = |text: &str| {
        let (work, launches) = text.split_once('\n').unwrap_or((text, ""));
        let launches = launches.split(FORMULA_END).next().unwrap_or_default();
        CountedCase {
            work: serde_json::from_str(work).unwrap_or_default(),
            launches: launches.split("Instructions executed for kernel '").skip(1).map(launch).collect(),
        }
    };
    output.split(FORMULA).skip(1).map(case).collect()
}

/// Returns the number in a text, whose digits may be grouped by commas; 0 if there is no number.
fn number(text: &str) -> u64 {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

impl CountedLaunch {
    /// Adds `count` instructions of a kind to the counts; `what` is Oclgrind's name of the kind.
    fn add(&mut self, count: u64, what: &str) {
        let transfer = || Transfer {
            elements: count,
            bytes: what.split_once('(').map_or(0, |(_, bytes)| number(bytes)),
        };
        if what.starts_with("load global") || what.starts_with("load constant") {
            self.loads += transfer();
        } else if what.starts_with("store global") {
            self.stores += transfer();
        } else if what.contains("read_image") {
            self.image_reads += count;
        } else if what.contains("write_image") {
            self.image_writes += count;
        } else if what.starts_with("call") && what.contains("7barrier") {
            self.barriers += count;
        }
    }
}

/// Runs a variant's kernels once for each case on the first device, for the hidden subcommand; returns the exit code. Prints
/// the predicted work of each case. If `cpu` is true, runs the variant's kernels for CPUs.
///
/// # Errors
/// If there is no device, no such variant or case, or the kernels cannot run.
pub(crate) fn run_cases<L: Ladder>(ladder: &L, id: &str, cpu: bool, cases: &[String]) -> Result<u8> {
    let (cl, kind) = open_under_oclgrind(cpu)?;
    let info = DeviceInfo { kind, ..cl.device.info.clone() };
    let unknown = |what: &str| Error::new("Nothing can be counted.", format!("{what} is unknown."), "");
    let variant = ladder.variants().iter().find(|variant| variant.id == id);
    let code = variant.and_then(|variant| variant.code(kind)).ok_or_else(|| unknown(id))?;
    for case in cases {
        let case: L::Case = serde_json::from_str(case).map_err(|_| unknown(case))?;
        let config = Config::for_class(code, &info, ladder.describe(&case).class);
        let built = ladder.build(Part::Kernels(&cl, &config))?;
        let case = ladder.case_of(&built, &case);
        let mut buffers = ladder.allocate(Some(&cl), &case, 0)?;
        ladder.load(&mut buffers, ladder.info().inputs[0])?;
        let work = ladder.work(&config, &info, &case);
        let text = serde_json::to_string(&work).map_err(|e| unknown(&e.to_string()))?;
        print_line(format!("{FORMULA}{text}"))?;
        ladder.run(&built, &mut buffers)?;
        print_line(FORMULA_END)?;
    }
    Ok(exit::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_parsed() {
        let log = "Instructions executed for kernel 'built':\n  1 - ret\n\nclreel work: {}\nInstructions executed for kernel 'box_naive':\n        1,234 - load global (4,936 bytes)\n  \
                   10 - load constant (40 bytes)\n   7 - load private (28 bytes)\n  2 - store global (32 bytes)\n   \
                   9 - call _Z11read_imagef14ocl_image2d_ro11ocl_samplerDv2_i()\n   3 - call _Z12write_imagef14ocl_image2d_woDv2_iDv4_f()\n   \
                   12 - call _Z7barrierj()\n\nInstructions executed for kernel 'empty':\n  1 - ret\n\n\
                   clreel work done\nInstructions executed for kernel 'built':\n  1 - ret\n";
        let naive = CountedLaunch {
            kernel: "box_naive".to_owned(),
            loads: Transfer { elements: 1244, bytes: 4976 },
            stores: Transfer { elements: 2, bytes: 32 },
            image_reads: 9,
            image_writes: 3,
            barriers: 12,
        };
        let empty = CountedLaunch { kernel: "empty".to_owned(), ..CountedLaunch::default() };
        let cases = parse(log);
        assert!(cases.len() == 1 && cases[0].work == serde_json::json!({}), "{cases:?}");
        assert_eq!(cases[0].launches, [naive, empty]);
    }
}
