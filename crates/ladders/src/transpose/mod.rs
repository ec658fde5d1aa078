//! The ladder of the three mappings: which numbers work-items that lie side by side take. The work is to transpose a matrix of
//! m×n floats, in which nothing is computed. Every rung gives exactly the bytes of [`reference()`].

mod kernels;
mod why;

use std::time::Instant;

use serde_json::{Value, json};

use base::error::Result;
use base::timing::ms_since;
use base::verify::Floats;
use ladder::arrays::Arrays;
use ladder::config::Config;
use ladder::contest::Ladder;
use ladder::measure::Sample;
use ladder::rows::CaseRun;
use ladder::rung::{Rung, Work};
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo, DeviceKind};

use kernels::{Code, Program};

/// The most numbers of a matrix: kernels count them in 32 bits, and round up to whole groups.
pub(crate) const MOST: u64 = 1 << 30;

/// Names of the three mappings, which the [answer](why) compares.
const ROW_LINEAR: &str = "row-linear";
const COLUMN_LINEAR: &str = "column-linear";
const GROUP_LINEAR: &str = "group-linear";

/// The rungs in order.
static RUNGS: [Rung<Code, Host>; 5] = [
    Rung { id: "serial", title: "Serial", idea: "One thread, row by row.", work: Work::Host(by_rows) },
    Rung {
        id: ROW_LINEAR,
        title: "Row-linear",
        idea: "Neighbours along a row: they read side by side, and write far apart.",
        work: Work::Kernels(&kernels::ROW_LINEAR),
    },
    Rung {
        id: COLUMN_LINEAR,
        title: "Column-linear",
        idea: "Neighbours along a column: they read far apart, and write side by side.",
        work: Work::Kernels(&kernels::COLUMN_LINEAR),
    },
    Rung {
        id: GROUP_LINEAR,
        title: "Group-linear",
        idea: "A square tile for each group: both stay within a few cache lines.",
        work: Work::Kernels(&kernels::GROUP_LINEAR),
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
pub struct Transpose;

/// A matrix: rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
}

impl Size {
    /// The size of `m`, `n`.
    ///
    /// # Errors
    /// A sentence for the user, where there is no such case.
    pub fn of([m, n]: [u32; 2]) -> std::result::Result<Self, String> {
        let count = u64::from(m) * u64::from(n);
        let why = || {
            format!("{m},{n} is no --mn of transpose: choose both from 1 on, and no more than {MOST} numbers")
        };
        (1..=MOST).contains(&count).then_some(Self { m, n }).ok_or_else(why)
    }

    fn count(self) -> usize {
        self.m as usize * self.n as usize
    }
}

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// One thread of this process.
    Host(Host),
    /// A compiled kernel.
    Kernel(Program),
}

/// A matrix and what it is transposed into.
#[derive(Debug)]
pub struct Room {
    size: Size,
    arrays: Arrays<1>,
}

/// What is right: in plain Rust, number by number.
pub(crate) fn reference(size: Size, a: &[f32]) -> Vec<u8> {
    let column = |column: usize| a.iter().skip(column).step_by(size.n as usize);
    (0..size.n as usize).flat_map(column).flat_map(|number| number.to_le_bytes()).collect()
}

/// One thread of this process: it gets the size of what it reads.
type Host = fn(Size, &[f32], &mut [f32]);

fn by_rows(size: Size, from: &[f32], to: &mut [f32]) {
    let (m, n) = (size.m as usize, size.n as usize);
    for (row, from) in from.chunks_exact(n).enumerate() {
        to.iter_mut().skip(row).step_by(m).zip(from).for_each(|(to, number)| *to = *number);
    }
}

impl Ladder for Transpose {
    type Case = Size;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Room = Room;
    type Elements = Floats;

    const NAME: &'static str = "transpose";
    const LIMIT: &'static str = "copy";
    const LIMIT_FILE: &'static str = kernels::LIMIT_FILE;
    const INPUTS: &'static [&'static str] = &["counting", "alternating"];

    const TAKES: &'static [&'static str] = &["mn"];
    const SIZES: &'static [&'static str] = &["256,256", "1024,1024", "2047,1023", "4096,4096"];

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Size>, String> {
        let mut cases = Vec::new();
        for mn in sizes.of("mn", &[[4096; 2]])? {
            let size = Size::of(mn)?;
            if !cases.contains(&size) {
                cases.push(size);
            }
        }
        Ok(cases)
    }

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        &RUNGS
    }

    fn small(&self) -> Vec<Size> {
        // Below, at and above the sides of tiles, and thin ones.
        [[33, 65], [1, 1], [2, 3], [1, 300], [300, 1], [16, 16], [15, 17], [64, 32], [257, 5], [7, 1023]]
            .map(|[m, n]| Size { m, n })
            .to_vec()
    }

    fn title(&self, Size { m, n }: &Size) -> String {
        format!("{m}×{n}")
    }

    fn json(&self, Size { m, n }: &Size) -> Value {
        json!({ "m": m, "n": n })
    }

    fn class(&self, size: &Size) -> &'static str {
        // Two matrices in the caches of a core, in those of a whole device, and in memory.
        match size.count() {
            0..=65_536 => "small",
            65_537..=4_194_304 => "medium",
            _ => "large",
        }
    }

    fn case(&self, json: &Value) -> Option<Size> {
        let side = |name: &str| json[name].as_u64().and_then(|side| u32::try_from(side).ok());
        Size::of([side("m")?, side("n")?]).ok()
    }

    fn bytes(&self, size: &Size) -> f64 {
        8.0 * size.count() as f64
    }

    fn operations(&self, _: &Size) -> f64 {
        0.0
    }

    fn output_bytes(&self, size: &Size) -> usize {
        size.count() * 4
    }

    fn memory(&self, size: &Size) -> usize {
        // Both matrices on host and device; what is right, poison and result of a check.
        size.count() * 4 * (2 + 2 + 3)
    }

    fn supports(&self, device: &DeviceInfo, size: &Size) -> std::result::Result<(), String> {
        let bytes = size.count() as u64 * 4;
        match device.has_room(2 * bytes, bytes) {
            true => Ok(()),
            false => Err(format!("It takes twice {bytes} bytes, more than '{}' has room for.", device.name)),
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

    fn room(&self, cl: Option<&ClContext>, size: &Size, guard: usize) -> Result<Room> {
        let cl = cl.filter(|cl| self.supports(&cl.device.info, size).is_ok());
        Ok(Room { size: *size, arrays: Arrays::new(cl, [size.count()], size.count(), guard)? })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        room.arrays.load(|[a], _| {
            for (i, number) in a.iter_mut().enumerate() {
                // Each number says where it stands: the sign alternates, or the next ones differ by a half.
                let (i, sign) = ((i % 8_388_608) as f32, if i % 2 == 0 { 1.0 } else { -1.0 });
                *number = if input == "counting" { i + 0.5 } else { sign * (i + 1.0) };
            }
        })?;
        let [a] = room.arrays.inputs();
        Ok(reference(room.size, a))
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
            (Built::Kernel(program), Some(arrays)) => program.run(arrays, room.size),
            (Built::Kernel(program), None) => Err(program.without_memory()),
            (Built::Host(host), _) => {
                let ([from], to) = room.arrays.host();
                let begin = Instant::now();
                host(room.size, from, to);
                Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) })
            }
        }
    }

    fn remark(&self, kind: Option<DeviceKind>, run: &CaseRun) -> Option<String> {
        why::why(kind, run)
    }

    fn elements(&self, _: &Room) -> Floats {
        Floats
    }
}
