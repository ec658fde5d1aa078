//! The cloth ladder: each step, and all steps in a row, for a crowd of characters.

use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::buffers::{self, Arrangement, Buffers};
use super::case::{Case, MAX_ARMY, NearElements};
use super::codes::{self, Code};
use super::kernels::Program;
use super::model::Figure;
use base::error::Result;
use base::threads::Threads;
use compute::config::Config;
use compute::plan;
use compute::plan::require_memory;
use compute::sample::Sample;
use compute::variant::Variant;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, Device};

/// The cloth ladder.
#[derive(Debug, Clone, Copy)]
pub struct Cloth;

/// A variant that is ready to run.
#[derive(Debug)]
pub enum Built {
    /// A variant on the host, with its number of threads.
    Host(usize),
    /// Compiled kernels of a variant.
    Kernels(Box<Program>),
    /// The peak kernel.
    Peak(plan::Program<[usize; 2]>),
}

/// The figure, which is generated once.
static FIGURE: LazyLock<Arc<Figure>> = LazyLock::new(|| Arc::new(Figure::new()));

impl Ladder for Cloth {
    type Case = Case;
    type Code = Code;
    type Host = Threads;
    type Built = Built;
    type Buffers = Buffers;

    fn info(&self) -> &LadderInfo {
        &const {
            LadderInfo {
                name: "cloth",
                peaks: &[PeakKernel { name: "copy", note: None, computes: false }],
                peak_file: "cloth/limit.cl",
                inputs: buffers::INPUT_NAMES,
                options: &["army"],
                sizes: &["1", "25", "100"],
                ..LadderInfo::DEFAULT
            }
        }
    }

    fn cases(&self, sizes: &Sizes) -> Result<Vec<Case>, String> {
        let armies = sizes.cases("army", [25_u32], |[army]| match army {
            1..=MAX_ARMY => Ok(army),
            _ => Err(format!("{army} is no --army of cloth: choose 1 to {MAX_ARMY}")),
        })?;
        Ok(armies.into_iter().flat_map(Case::all).collect())
    }

    fn variants(&self) -> &'static [Variant<Code, Threads>] {
        &codes::VARIANTS
    }

    /// Returns small cases for checks: one figure, and one figure more than a vector has lanes.
    fn small(&self, _: &Built, case: &Case) -> Vec<Case> {
        [1, 9].map(|army| Case { army, ..*case }).to_vec()
    }

    fn describe(&self, case: &Case) -> CaseInfo {
        let output = case.army as usize * case.output(&FIGURE).numbers_per_character() * 4;
        CaseInfo {
            title: case.title(),
            json: json!({ "step": case.name(), "army": case.army }),
            class: case.class(),
            // As many bytes are read as written.
            bytes: 2.0 * output as f64,
            operations: 0.0,
            output,
            // Less than 200 KB for each character and copy: inputs, output, expected output, the layouts, and the transfers.
            memory: case.army.next_multiple_of(16) as usize * 200_000 * 16,
            ..CaseInfo::default()
        }
    }

    fn supports(&self, device: &Device, code: Option<&Code>, case: &Case) -> Result<(), String> {
        let bytes = u64::from(case.army.next_multiple_of(16)) * 200_000;
        require_memory(&device.info, &[bytes; 6])?;
        match code.zip(case.step) {
            Some((code, step)) if !code.extra.changed_steps.contains(&step) => {
                Err(format!("It runs {} with the kernel of the preceding variant.", step.name()))
            }
            _ => Ok(()),
        }
    }

    fn build(&self, part: Part<Code, Threads>) -> Result<Built> {
        Ok(match part {
            Part::Host(threads) => Built::Host(threads.count()),
            Part::Kernels(cl, config) => Built::Kernels(Box::new(Program::compile(cl, config, &FIGURE)?)),
            Part::Peak(cl, _) => {
                let config = Config::for_device(&codes::PEAK, &cl.device.info);
                Built::Peak(plan::Program::compile(cl, &config)?)
            }
        })
    }

    fn allocate(&self, cl: Option<&ClContext>, case: &Case, guard: usize) -> Result<Buffers> {
        Ok(Buffers::new(cl, *case, FIGURE.clone(), guard))
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        let bytes = buffers.load(input);
        let elements = NearElements { case: buffers.case, shape: buffers.case.output(&buffers.figure) };
        Ok(Expected::new(bytes, elements))
    }

    fn write(&self, built: &Built, buffers: &mut Buffers, bytes: &[u8]) -> Result<()> {
        buffers.write(arrangement_of(built), bytes)
    }

    fn read(&self, built: &Built, buffers: &Buffers) -> Result<Output> {
        let changed = buffers.count_changed(arrangement_of(built))?;
        Ok(Output { bytes: buffers.read(arrangement_of(built))?, changed })
    }

    fn run(&self, built: &Built, buffers: &mut Buffers) -> Result<Sample> {
        match built {
            Built::Host(threads) => Ok(buffers.run_on_host(*threads)),
            Built::Kernels(program) => buffers.run(program),
            Built::Peak(program) => buffers.run_peak(program),
        }
    }
}

/// Returns the arrangement of a variant's arrays in device memory; `None` for a variant on the host.
fn arrangement_of(built: &Built) -> Option<Arrangement> {
    match built {
        Built::Host(_) => None,
        Built::Kernels(program) => Some(Arrangement::new(program)),
        Built::Peak(_) => Some(Arrangement::PEAK),
    }
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
