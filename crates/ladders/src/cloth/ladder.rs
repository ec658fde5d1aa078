//! The ladder: each step of the cloth, and all of them, for an army. In: a case. Out: what each rung takes for it, after a
//! comparison with double precision.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde_json::Value;

use super::case::{Case, MOST, Near};
use super::chain::whole;
use super::codes::{self, Code, Way};
use super::host::{self, VERTEX};
use super::kernels::Program;
use super::layout::Layout;
use super::model::{Figure, SHIRT_VERTICES};
use super::room::{self, Arrangement, Room};
use super::steps::StepId;
use base::error::Result;
use base::threads::{Threads, share};
use base::timing::ms_since;
use ladder::config::Config;
use ladder::contest::Ladder;
use ladder::measure::{Sample, sample};
use ladder::rung::{Rung, Work};
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo, failed};
use opencl::kernel::{Kernel, Value as Number, enqueue, expect_types};
use opencl::program;

/// The ladder.
#[derive(Debug, Clone, Copy)]
pub struct Cloth;

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// So many threads of this process.
    Host(usize),
    /// Compiled kernels.
    Kernels(Box<Program>),
    /// What is written and nothing computed.
    Limit(Kernel),
}

const LIMIT_FILE: &str = "cloth/limit.cl";

static RUNGS: [Rung<Code, Threads>; 17] = [
    Rung { id: "serial", title: "Serial", idea: "Plain Rust, one thread.", work: Work::Host(Threads::One) },
    Rung {
        id: "threads",
        title: "Threads",
        idea: "The same on all cores, a character each.",
        work: Work::Host(Threads::All),
    },
    Rung {
        id: "single",
        title: "Single",
        idea: "OpenCL, one work-item does all.",
        work: Work::Kernels(&codes::SINGLE),
    },
    Rung {
        id: "scalar",
        title: "Scalar",
        idea: "A work-item a vertex or particle, on arrays of structures; a character's constraints one after the other.",
        work: Work::Kernels(&codes::SCALAR),
    },
    Rung {
        id: "local",
        title: "Local",
        idea: "A group copies its vertices of 80 bytes into local memory first.",
        work: Work::Kernels(&codes::LOCAL),
    },
    Rung {
        id: "apart",
        title: "Apart",
        idea: "Structures of arrays, one launch a character.",
        work: Work::Kernels(&codes::APART),
    },
    Rung {
        id: "planes",
        title: "Planes",
        idea: "Structures of arrays, one launch for the army: neighbours read neighbouring numbers.",
        work: Work::Kernels(&codes::PLANES),
    },
    Rung {
        id: "several",
        title: "Several",
        idea: "Several particles or vertices a work-item, so that fewer have to begin.",
        work: Work::Kernels(&codes::SEVERAL),
    },
    Rung {
        id: "coloured",
        title: "Coloured",
        idea: "Constraints that share no particle at a time, a launch a colour.",
        work: Work::Kernels(&codes::COLOURED),
    },
    Rung {
        id: "group",
        title: "Group",
        idea: "A group a character: all colours in local memory, with barriers instead of launches.",
        work: Work::Kernels(&codes::GROUPED),
    },
    Rung {
        id: "octets",
        title: "Octets",
        idea: "A work-item a character, whose constraints go through a vector, eight of a colour at a time.",
        work: Work::Kernels(&codes::OCTETS),
    },
    Rung {
        id: "lanes",
        title: "Lanes",
        idea: "Several characters in a vector: no constraint waits for a colour.",
        work: Work::Kernels(&codes::LANES),
    },
    Rung {
        id: "two-queues",
        title: "Two queues",
        idea: "As group, with skinning in a queue of its own beside the cloth until its drivers are needed.",
        work: Work::Kernels(&codes::TWO_QUEUES),
    },
    Rung {
        id: "written",
        title: "Written",
        idea: "As lanes, from the host's memory and back: pose and particles are written, vertices read.",
        work: Work::Kernels(&codes::WRITTEN),
    },
    Rung {
        id: "copied",
        title: "Copied",
        idea: "The same; memory of the device is made of pose and particles for each frame (COPY_HOST_PTR).",
        work: Work::Kernels(&codes::COPIED),
    },
    Rung {
        id: "in-place",
        title: "In place",
        idea: "The same; the device works in the host's memory, which is mapped (USE_HOST_PTR).",
        work: Work::Kernels(&codes::IN_PLACE),
    },
    Rung {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest,
    },
];

/// The one figure.
fn figure() -> Arc<Figure> {
    static FIGURE: OnceLock<Arc<Figure>> = OnceLock::new();
    FIGURE.get_or_init(|| Arc::new(Figure::new())).clone()
}

impl Ladder for Cloth {
    type Case = Case;
    type Code = Code;
    type Host = Threads;
    type Built = Built;
    type Room = Room;
    type Elements = Near;

    const NAME: &'static str = "cloth";
    const LIMIT: &'static str = "copy";
    const LIMIT_FILE: &'static str = LIMIT_FILE;
    const INPUTS: &'static [&'static str] = room::NAMES;

    const TAKES: &'static [&'static str] = &["army"];
    const SIZES: &'static [&'static str] = &["1", "25", "100"];

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Case>, String> {
        let mut cases = Vec::new();
        for [army] in sizes.of("army", &[[25]])? {
            if !(1..=MOST).contains(&army) {
                return Err(format!("{army} is no --army of cloth: choose 1 to {MOST}"));
            }
            if !cases.iter().any(|case: &Case| case.army == army) {
                cases.extend(Case::all(army));
            }
        }
        Ok(cases)
    }

    fn rungs(&self) -> &'static [Rung<Code, Threads>] {
        &RUNGS
    }

    fn small(&self) -> Vec<Case> {
        Case::all(3).collect()
    }

    fn small_for(&self, case: &Case) -> Vec<Case> {
        // One character, and one more than a vector has.
        [1, 9].map(|army| Case { army, ..*case }).to_vec()
    }

    fn title(&self, case: &Case) -> String {
        case.title()
    }

    fn json(&self, case: &Case) -> Value {
        case.json()
    }

    fn class(&self, case: &Case) -> &'static str {
        case.class()
    }

    fn case(&self, json: &Value) -> Option<Case> {
        Case::from_json(json)
    }

    fn bytes(&self, case: &Case) -> f64 {
        // What a step has to write, and as much to read.
        2.0 * self.output_bytes(case) as f64
    }

    fn operations(&self, _: &Case) -> f64 {
        0.0
    }

    fn output_bytes(&self, case: &Case) -> usize {
        case.army as usize * case.output(&figure()).each() * 4
    }

    fn memory(&self, case: &Case) -> usize {
        // Less than 200 KB a character and copy: inputs, output, what is right, the layouts, and the ways from the host.
        case.army.next_multiple_of(16) as usize * 200_000 * 16
    }

    fn supports(&self, device: &DeviceInfo, case: &Case) -> std::result::Result<(), String> {
        let bytes = u64::from(case.army.next_multiple_of(16)) * 200_000;
        match device.has_room(6 * bytes, bytes) {
            true => Ok(()),
            false => {
                Err(format!("It takes six times {bytes} bytes, more than '{}' has room for.", device.name))
            }
        }
    }

    fn takes(&self, _: &ClContext, code: &Code, case: &Case) -> std::result::Result<(), String> {
        match case.step {
            Some(step) if !code.own.contains(&step) => {
                Err(format!("It does {} as the rung before it.", step.name()))
            }
            _ => Ok(()),
        }
    }

    fn host(&self, threads: Threads) -> Built {
        Built::Host(threads.count())
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        Program::compile(cl, config, &figure()).map(|program| Built::Kernels(Box::new(program)))
    }

    fn compile_limit(&self, cl: &ClContext) -> Result<Built> {
        let program = program::build(cl, LIMIT_FILE, &program::source(LIMIT_FILE)?, "")?;
        let kernel = Kernel::of_file(&program, LIMIT_FILE, "stream", "The limit could not be prepared.")?;
        let points: &[&str] = &["float4*"];
        expect_types(&kernel, LIMIT_FILE, &[points, points, &["uint"], &["uint"]])?;
        Ok(Built::Limit(kernel))
    }

    fn room(&self, cl: Option<&ClContext>, case: &Case, guard: usize) -> Result<Room> {
        Ok(Room::new(cl, *case, figure(), guard))
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        Ok(room.load(input))
    }

    fn write(&self, built: &Built, room: &mut Room, bytes: &[u8]) -> Result<()> {
        room.write(arranged(built), bytes)
    }

    fn read(&self, built: &Built, room: &Room) -> Result<Vec<u8>> {
        room.read(arranged(built))
    }

    fn changed(&self, built: &Built, room: &Room) -> Result<usize> {
        room.changed(arranged(built))
    }

    fn run(&self, built: &Built, room: &mut Room) -> Result<Sample> {
        match built {
            Built::Host(threads) => Ok(run_on_host(*threads, room)),
            Built::Kernels(program) => room.run(program),
            Built::Limit(kernel) => stream(kernel, room),
        }
    }

    fn elements(&self, room: &Room) -> Near {
        Near { case: room.case, shape: room.case.output(&room.figure) }
    }
}

/// Where a rung's arrays are on the device; `None` for the host.
fn arranged(built: &Built) -> Option<Arrangement> {
    match built {
        Built::Host(_) => None,
        Built::Kernels(program) => Some(Arrangement::of(program)),
        Built::Limit(_) => Some(Arrangement { way: Way::Resident, layout: Layout::Planes(1) }),
    }
}

fn stream(kernel: &Kernel, room: &mut Room) -> Result<Sample> {
    let what = "Numbers could not be moved on the device.";
    let (from, to, [count, have], cl) = room.stream()?;
    let bind = || {
        kernel.set(0, from)?;
        kernel.set(1, to)?;
        kernel.set(2, Number::Uint(count as u32))?;
        kernel.set(3, Number::Uint(have.max(1) as u32))
    };
    bind().map_err(|e| failed(what, &e))?;
    let ran = sample(&cl.queue, |queue| {
        // SAFETY: the arguments are set, their types were compared, and the kernel looks at how much there is.
        let event =
            unsafe { enqueue(queue, kernel, 1, [count.next_multiple_of(64).min(1 << 16), 1, 1], [64, 1, 1]) };
        Ok(vec![event.map_err(|e| failed(what, &e))?])
    });
    kernel.forget_memory();
    ran
}

/// Characters shared out among threads.
fn run_on_host(threads: usize, room: &mut Room) -> Sample {
    let mut whole_output = room.take_output();
    let guard = room.guard();
    let end = whole_output.len() - guard;
    let output = &mut whole_output[guard..end];
    let begin = Instant::now();
    let (figure, case) = (room.figure.clone(), room.case);
    let (army, body) = (case.army as usize, figure.body.vertices.len());
    let shirts = if case.is_vertices() { army * SHIRT_VERTICES * VERTEX } else { output.len() };
    let (first, second) = output.split_at_mut(shirts);
    let first = first.chunks_exact_mut((shirts / army).max(1));
    // Without vertices nobody has a second part.
    let mut second = second.chunks_exact_mut(body * VERTEX);
    let seconds = std::iter::repeat_with(move || second.next().unwrap_or_default());
    let shared = &*room;
    share((0..army).zip(first.zip(seconds)), threads, |(character, (first, second))| {
        let [pose, positions, previous, skinned] = shared.of(character);
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
                let given = [pose, positions, previous];
                let to = [&mut skinned[..], &mut moved[..], first, second];
                whole(&figure, &shared.all, &shared.motion, given, to);
            }
        }
    });
    let wall_ms = ms_since(begin);
    room.put_output(whole_output);
    Sample { device_ms: None, dispatch_ms: None, wall_ms }
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
