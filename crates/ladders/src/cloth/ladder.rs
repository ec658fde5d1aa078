//! The ladder of the cloth: each step, and all steps in a row, for a crowd of characters.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde_json::json;

use super::buffers::{self, Arrangement, Buffers};
use super::case::{Case, MAX_ARMY, NearElements};
use super::chain::run_all_steps;
use super::codes::{self, Code, Transfer};
use super::host::{self, VERTEX_FLOATS};
use super::kernels::Program;
use super::layout::Layout;
use super::model::{Figure, SHIRT_VERTICES};
use super::steps::StepId;
use base::error::Result;
use base::threads::{Threads, share};
use base::timing::ms_since;
use ladder::arrays::{self, require_memory};
use ladder::config::Config;
use ladder::measure::Sample;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use ladder::variant::Variant;
use opencl::cl::{ClContext, Device};

/// The ladder of the cloth.
#[derive(Debug, Clone, Copy)]
pub struct Cloth;

/// A variant that is ready to run.
#[derive(Debug)]
pub enum Built {
    /// A variant on the host, with its number of threads.
    Host(usize),
    /// Compiled kernels.
    Kernels(Box<Program>),
    /// The peak kernel.
    Peak(arrays::Program<[usize; 2]>),
}

/// The variants of the ladder of the cloth, in the order of the tables.
static VARIANTS: [Variant<Code, Threads>; 17] = [
    Variant::host("serial", "Serial", "Plain Rust, one thread.", Threads::One),
    Variant::host("threads", "Threads", "The same on all cores, a character each.", Threads::All),
    Variant::kernels("single", "Single", "OpenCL, one work-item does all.", &codes::SINGLE),
    Variant::kernels(
        "scalar",
        "Scalar",
        "A work-item a vertex or particle, on arrays of structures; a character's constraints one after the other.",
        &codes::SCALAR,
    ),
    Variant::kernels(
        "local",
        "Local",
        "A group copies its vertices of 80 bytes into local memory first.",
        &codes::LOCAL,
    ),
    Variant::kernels("apart", "Apart", "Structures of arrays, one launch a character.", &codes::APART),
    Variant::kernels(
        "planes",
        "Planes",
        "Structures of arrays, one launch for the army: neighbours read neighbouring numbers.",
        &codes::PLANES,
    ),
    Variant::kernels(
        "several",
        "Several",
        "Several particles or vertices a work-item, so that fewer have to begin.",
        &codes::SEVERAL,
    ),
    Variant::kernels(
        "coloured",
        "Coloured",
        "Constraints that share no particle at a time, a launch a colour.",
        &codes::COLOURED,
    ),
    Variant::kernels(
        "group",
        "Group",
        "A group a character: all colours in local memory, with barriers instead of launches.",
        &codes::GROUPED,
    ),
    Variant::kernels(
        "octets",
        "Octets",
        "A work-item a character, whose constraints go through a vector, eight of a colour at a time.",
        &codes::OCTETS,
    ),
    Variant::kernels(
        "lanes",
        "Lanes",
        "Several characters in a vector: no constraint waits for a colour.",
        &codes::LANES,
    ),
    Variant::kernels(
        "two-queues",
        "Two queues",
        "As group, with skinning in a queue of its own beside the cloth until its drivers are needed.",
        &codes::TWO_QUEUES,
    ),
    Variant::kernels(
        "written",
        "Written",
        "As lanes, from the host's memory and back: pose and particles are written, vertices read.",
        &codes::WRITTEN,
    ),
    Variant::kernels(
        "copied",
        "Copied",
        "The same; memory of the device is made of pose and particles for each frame (COPY_HOST_PTR).",
        &codes::COPIED,
    ),
    Variant::kernels(
        "in-place",
        "In place",
        "The same; the device works in the host's memory, which is mapped (USE_HOST_PTR).",
        &codes::IN_PLACE,
    ),
    Variant::AUTO,
];

/// Returns the figure, which is made once.
fn figure() -> Arc<Figure> {
    /// The figure, once it was made.
    static FIGURE: OnceLock<Arc<Figure>> = OnceLock::new();
    FIGURE.get_or_init(|| Arc::new(Figure::new())).clone()
}

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

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Case>, String> {
        let mut cases = Vec::new();
        for [army] in sizes.get("army", &[[25]])? {
            if !(1..=MAX_ARMY).contains(&army) {
                return Err(format!("{army} is no --army of cloth: choose 1 to {MAX_ARMY}"));
            }
            if !cases.iter().any(|case: &Case| case.army == army) {
                cases.extend(Case::all(army));
            }
        }
        Ok(cases)
    }

    fn variants(&self) -> &'static [Variant<Code, Threads>] {
        &VARIANTS
    }

    /// Returns small cases for checks: one figure, and one figure more than a vector has lanes.
    fn small(&self, _: &Built, case: &Case) -> Vec<Case> {
        [1, 9].map(|army| Case { army, ..*case }).to_vec()
    }

    fn describe(&self, case: &Case) -> CaseInfo {
        let output = case.army as usize * case.output(&figure()).numbers_per_character() * 4;
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

    fn supports(&self, device: &Device, code: Option<&Code>, case: &Case) -> std::result::Result<(), String> {
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
            Part::Kernels(cl, config) => Built::Kernels(Box::new(Program::compile(cl, config, &figure())?)),
            Part::Peak(cl, _) => {
                let config = Config::for_device(&codes::PEAK, &cl.device.info);
                Built::Peak(arrays::Program::compile(cl, &config)?)
            }
        })
    }

    fn allocate(&self, cl: Option<&ClContext>, case: &Case, guard: usize) -> Result<Buffers> {
        Ok(Buffers::new(cl, *case, figure(), guard))
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
            Built::Host(threads) => Ok(run_on_host(*threads, buffers)),
            Built::Kernels(program) => buffers.run(program),
            Built::Peak(program) => buffers.run_peak(program),
        }
    }
}

/// Returns the arrangement of a variant's arrays in device memory; `None` on the host.
fn arrangement_of(built: &Built) -> Option<Arrangement> {
    match built {
        Built::Host(_) => None,
        Built::Kernels(program) => Some(Arrangement::new(program)),
        Built::Peak(_) => Some(Arrangement { transfer: Transfer::Resident, layout: Layout::Planes(1) }),
    }
}

/// Runs a case on `threads` threads, each of which computes some of the characters.
fn run_on_host(threads: usize, buffers: &mut Buffers) -> Sample {
    // Taken out, since it is written while the inputs are borrowed.
    let mut whole_output = std::mem::take(&mut buffers.output);
    let guard = buffers.guard;
    let end = whole_output.len() - guard;
    let output = &mut whole_output[guard..end];
    let begin = Instant::now();
    let (figure, case) = (buffers.figure.clone(), buffers.case);
    let (army, body) = (case.army as usize, figure.body.vertices.len());
    let shirts = if case.is_vertices() { army * SHIRT_VERTICES * VERTEX_FLOATS } else { output.len() };
    let (first, second) = output.split_at_mut(shirts);
    let first = first.chunks_exact_mut((shirts / army).max(1));
    // Only vertices have a second part.
    let mut second = second.chunks_exact_mut(body * VERTEX_FLOATS);
    let seconds = std::iter::repeat_with(move || second.next().unwrap_or_default());
    let shared = &*buffers;
    share((0..army).zip(first.zip(seconds)), threads, |(character, (first, second))| {
        let [pose, positions, previous, skinned] = shared.character(character);
        match case.step {
            Some(StepId::Skin) => host::skin(&shared.all, pose, first),
            Some(StepId::Integrate) => host::integrate(positions, previous, &shared.motion, first),
            Some(StepId::Distances) => {
                first.copy_from_slice(positions);
                host::distances(&figure.shirt.constraints, first);
            }
            Some(StepId::Drive) => {
                first.copy_from_slice(positions);
                host::drive(first, &skinned[6 * body..], &figure.shirt.reach);
            }
            Some(StepId::Write) => {
                host::write_shirt(positions, first);
                host::write_body(&skinned[..6 * body], &figure.body.vertices, second);
            }
            None => {
                let (mut skinned, mut moved) = (vec![0.0; skinned.len()], vec![0.0; positions.len()]);
                let inputs = [pose, positions, previous];
                let to = [&mut skinned[..], &mut moved[..], first, second];
                run_all_steps(&figure, &shared.all, &shared.motion, inputs, to);
            }
        }
    });
    let wall_ms = ms_since(begin);
    buffers.output = whole_output;
    Sample::on_host(wall_ms)
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
