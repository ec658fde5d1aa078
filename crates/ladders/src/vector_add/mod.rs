//! The ladder of vector addition: `sum[i] = a[i] + b[i]` for floats of 32 bits. One addition for twelve bytes: what is
//! measured is how well memory is used. It is the smallest whole ladder, and the one to begin a new one from.
//!
//! IEEE 754 fixes a sum to the last bit, so every rung gives exactly the bytes of [`reference()`]. Inputs are normal numbers,
//! and no sum of them is subnormal but 0: devices may flush what is.

mod host;
mod inputs;
mod kernels;

use serde_json::{Value, json};

use crate::counts;
use base::error::Result;
use base::verify::Floats;
use ladder::arrays::Arrays;
use ladder::config::Config;
use ladder::contest::Ladder;
use ladder::measure::Sample;
use ladder::rung::{Rung, Work};
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo};

use host::Host;
use kernels::{Code, Program};

/// The most numbers that a case has: kernels count them in 32 bits, and round up to whole groups.
pub(crate) const MOST: u32 = 1 << 30;

/// The rungs in order.
static RUNGS: [Rung<Code, Host>; 6] = [
    Rung {
        id: "serial",
        title: "Serial",
        idea: "One thread, one number at a time.",
        work: Work::Host(host::SERIAL),
    },
    Rung { id: "threads", title: "Threads", idea: "The same on all cores.", work: Work::Host(host::THREADS) },
    Rung {
        id: "threads-vectors",
        title: "Threads, vectors",
        idea: "All cores, several numbers an instruction.",
        work: Work::Host(host::THREADS_VECTORS),
    },
    Rung {
        id: "scalar",
        title: "Scalar",
        idea: "OpenCL, one number a work-item.",
        work: Work::Kernels(&kernels::SCALAR),
    },
    Rung {
        id: "vector",
        title: "Vector",
        idea: "OpenCL, several vectors a work-item, neighbours side by side.",
        work: Work::Kernels(&kernels::VECTOR),
    },
    Rung {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest,
    },
];

/// The ladder.
#[derive(Debug, Clone, Copy)]
pub struct VectorAdd;

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// Threads of this process.
    Host(Host),
    /// A compiled kernel.
    Kernel(Program),
}

/// Inputs and sum of a case.
#[derive(Debug)]
pub struct Room {
    count: usize,
    arrays: Arrays<2>,
}

/// What is right: in plain Rust, number by number.
pub(crate) fn reference(a: &[f32], b: &[f32]) -> Vec<u8> {
    a.iter().zip(b).flat_map(|(a, b)| (a + b).to_le_bytes()).collect()
}

impl Ladder for VectorAdd {
    /// How many numbers.
    type Case = u32;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Room = Room;
    type Elements = Floats;

    const NAME: &'static str = "vector_add";
    const LIMIT: &'static str = "three-stream copy";
    const LIMIT_FILE: &'static str = kernels::LIMIT_FILE;
    const INPUTS: &'static [&'static str] = inputs::NAMES;

    const TAKES: &'static [&'static str] = &["count"];
    const SIZES: &'static [&'static str] = &["65536", "1048576", "16777216"];

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<u32>, String> {
        counts::asked(sizes, "vector-add", MOST)
    }

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        &RUNGS
    }

    fn small(&self) -> Vec<u32> {
        // Below, at and above the width of a vector and of a group, and odd ones.
        vec![1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 255, 257, 1000, 4099]
    }

    fn title(&self, count: &u32) -> String {
        if *count == 1 { "1 float".to_owned() } else { format!("{count} floats") }
    }

    fn json(&self, count: &u32) -> Value {
        json!({ "count": count })
    }

    fn class(&self, count: &u32) -> &'static str {
        // Three arrays in the caches of a core, in those of a whole device, and in memory.
        match count {
            0..=65_536 => "small",
            65_537..=4_194_304 => "medium",
            _ => "large",
        }
    }

    fn case(&self, json: &Value) -> Option<u32> {
        counts::from_json(json, MOST)
    }

    fn bytes(&self, count: &u32) -> f64 {
        12.0 * f64::from(*count)
    }

    fn operations(&self, count: &u32) -> f64 {
        f64::from(*count)
    }

    fn output_bytes(&self, count: &u32) -> usize {
        *count as usize * 4
    }

    fn memory(&self, count: &u32) -> usize {
        // Inputs and sum on host and device; what is right, poison and result of a check.
        *count as usize * 4 * (3 + 3 + 3)
    }

    fn supports(&self, device: &DeviceInfo, count: &u32) -> std::result::Result<(), String> {
        let bytes = u64::from(*count) * 4;
        match device.has_room(3 * bytes, bytes) {
            true => Ok(()),
            false => {
                Err(format!("It takes three times {bytes} bytes, more than '{}' has room for.", device.name))
            }
        }
    }

    fn host(&self, host: Host) -> Built {
        Built::Host(host)
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        Program::compile(cl, config).map(Built::Kernel)
    }

    fn compile_limit(&self, cl: &ClContext) -> Result<Built> {
        let config = Config::of(&kernels::LIMIT, cl.device.info.kind).fitted(&cl.device.info);
        self.compile(cl, &config)
    }

    fn room(&self, cl: Option<&ClContext>, count: &u32, guard: usize) -> Result<Room> {
        let cl = cl.filter(|cl| self.supports(&cl.device.info, count).is_ok());
        let count = *count as usize;
        Ok(Room { count, arrays: Arrays::new(cl, [count; 2], count, guard)? })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        room.arrays.load(|[a, b], _| inputs::fill(input, a, b))?;
        let [a, b] = room.arrays.inputs();
        Ok(reference(a, b))
    }

    fn write(&self, built: &Built, room: &mut Room, bytes: &[u8]) -> Result<()> {
        room.arrays.write(matches!(built, Built::Kernel(_)), bytes)
    }

    fn read(&self, built: &Built, room: &Room) -> Result<Vec<u8>> {
        room.arrays.read(matches!(built, Built::Kernel(_)))
    }

    fn changed(&self, built: &Built, room: &Room) -> Result<usize> {
        room.arrays.changed(matches!(built, Built::Kernel(_)))
    }

    fn run(&self, built: &Built, room: &mut Room) -> Result<Sample> {
        match (built, room.arrays.device()) {
            (Built::Kernel(program), Some(arrays)) => program.run(arrays, room.count),
            (Built::Kernel(program), None) => Err(program.without_memory()),
            (Built::Host(host), _) => {
                let ([a, b], sum) = room.arrays.host();
                Ok(host.run(a, b, sum))
            }
        }
    }

    fn elements(&self, _: &Room) -> Floats {
        Floats
    }
}
