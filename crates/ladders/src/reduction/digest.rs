//! Ladders that make whole numbers of a picture. In: a [`Digest`], which brings what is its own. Out: its [`Ladder`].

use std::fmt::Debug;
use std::time::Instant;

use serde_json::{Value, json};

use super::code::{Code, Program};
use super::memory::Memory;
use super::pictures::{self, BLOCKS, Case};
use base::error::Result;
use base::memory::zeroed;
use base::threads::Threads;
use base::timing::ms_since;
use base::verify::{self, Elements};
use ladder::config::Config;
use ladder::contest::Ladder;
use ladder::measure::Sample;
use ladder::rung::Rung;
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo};

/// What threads of this process do in a rung.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    pub(crate) threads: Threads,
    /// Makes the numbers of RGBA pixels, on so many threads.
    pub(crate) digest: fn(&[u8], &Case, &mut [u32], usize),
}

/// Whole numbers that come of a picture.
pub trait Digest: Debug {
    /// As [`Ladder::NAME`].
    const NAME: &'static str;
    /// As [`Ladder::TAKES`]: the size, and the blocks where there are some.
    const TAKES: &'static [&'static str];
    /// As [`Ladder::SIZES`].
    const SIZES: &'static [&'static str];
    /// The first numbers, as a person would call them.
    const NUMBERS: &'static [&'static str];
    /// Those that follow, which are counted.
    const REST: &'static str;

    /// Whether blocks matter.
    fn has_blocks() -> bool {
        Self::TAKES.contains(&"block")
    }

    /// The rungs in order.
    fn rungs(&self) -> &'static [Rung<Code, Host>];

    /// How many numbers come of a case.
    fn numbers(&self, case: &Case) -> usize;

    /// Bytes of what stages hand on.
    fn part_bytes(&self, case: &Case) -> usize;

    /// What is right, by plain Rust.
    fn reference(&self, pixels: &[u8], case: &Case) -> Vec<u32>;
}

/// Sizes of pictures for the window's spare time.
pub(crate) const OF_SIZES: &[&str] = &["640x360", "1280x720", "1920x1080", "3840x2160"];

/// The ladder of a digest.
#[derive(Debug, Clone, Copy)]
pub struct OfPictures<D>(pub D);

/// Numbers of 32 bits.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    numbers: &'static [&'static str],
    rest: &'static str,
}

impl Elements for Words {
    const NAME: &'static str = "numbers";
    const BYTES: usize = 4;

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(u32::from_le_bytes(bytes)))
    }

    fn position(&self, number: usize) -> String {
        let rest = || format!("{} {}", self.rest, number - self.numbers.len());
        self.numbers.get(number).map_or_else(rest, |name| (*name).to_owned())
    }
}

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// So many threads of this process.
    Host(Host, usize),
    /// Compiled kernels.
    Kernels(Box<Program>),
}

/// A picture and what comes of it, in the memory of host and device, each between two guards.
#[derive(Debug)]
pub struct Room {
    case: Case,
    /// Bytes on each side.
    guard: usize,
    picture: Vec<u8>,
    numbers: Vec<u32>,
    device: Option<Memory>,
}

impl<D: Digest> Ladder for OfPictures<D> {
    type Case = Case;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Room = Room;
    type Elements = Words;

    const NAME: &'static str = D::NAME;
    const LIMIT: &'static str = "plain read";
    const LIMIT_FILE: &'static str = super::kernels::LIMIT.file;
    const INPUTS: &'static [&'static str] = pictures::INPUTS;

    const TAKES: &'static [&'static str] = D::TAKES;
    const SIZES: &'static [&'static str] = D::SIZES;

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Case>, String> {
        let blocks = sizes.of("block", &[[64]])?;
        let mut cases = Vec::new();
        for [width, height] in sizes.of("size", &[[1920, 1080]])? {
            for &[block] in &blocks {
                if !BLOCKS.contains(&block) {
                    return Err(format!("{block} is no --block of {}: choose 16, 32 or 64", D::NAME));
                }
                let case = Case { width, height, block };
                if !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
        Ok(cases)
    }

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        self.0.rungs()
    }

    fn small(&self) -> Vec<Case> {
        // Below, at and above blocks, tiles, vectors and strips, and odd ones; rows of whole vectors and others.
        let sizes = [
            (67, 33, 16),
            (1, 1, 64),
            (1, 40, 32),
            (15, 17, 16),
            (16, 16, 16),
            (64, 64, 64),
            (100, 70, 32),
            (129, 65, 64),
            (132, 129, 64),
            (300, 40, 16),
            (1031, 20, 64),
            (1284, 131, 32),
            (2069, 35, 16),
        ];
        sizes.map(|(width, height, block)| Case { width, height, block }).to_vec()
    }

    fn title(&self, case: &Case) -> String {
        let Case { width, height, block } = case;
        match D::has_blocks() {
            true => format!("{width}×{height}, blocks of {block}"),
            false => format!("{width}×{height}"),
        }
    }

    fn json(&self, case: &Case) -> Value {
        match D::has_blocks() {
            true => json!({ "width": case.width, "height": case.height, "block": case.block }),
            false => json!({ "width": case.width, "height": case.height }),
        }
    }

    fn class(&self, case: &Case) -> &'static str {
        // Up to 720p, up to 1080p and more; in each the edge of the blocks, where there are some.
        let size = match case.pixels() {
            0..=921_600 => 0,
            921_601..=2_088_960 => 1,
            _ => 2,
        };
        let classes = [
            ["small, 16", "small, 32", "small, 64"],
            ["medium, 16", "medium, 32", "medium, 64"],
            ["large, 16", "large, 32", "large, 64"],
        ];
        match BLOCKS.iter().position(|block| D::has_blocks() && *block == case.block) {
            Some(block) => classes[size][block],
            None => ["small", "medium", "large"][size],
        }
    }

    fn case(&self, json: &Value) -> Option<Case> {
        let number = |name: &str| json[name].as_u64().and_then(|number| u32::try_from(number).ok());
        let side = |name| number(name).filter(|side| (1..=16_384).contains(side));
        let block = if D::has_blocks() { number("block")? } else { BLOCKS[2] };
        let is_known = BLOCKS.contains(&block);
        Some(Case { width: side("width")?, height: side("height")?, block }).filter(|_| is_known)
    }

    fn bytes(&self, case: &Case) -> f64 {
        (4 * (case.pixels() + self.0.numbers(case))) as f64
    }

    fn operations(&self, _: &Case) -> f64 {
        0.0
    }

    fn output_bytes(&self, case: &Case) -> usize {
        4 * self.0.numbers(case)
    }

    fn memory(&self, case: &Case) -> usize {
        // The picture on host and device, and read back for a check; the numbers are few.
        3 * 4 * case.pixels() + 8 * self.output_bytes(case) + self.0.part_bytes(case)
    }

    fn supports(&self, device: &DeviceInfo, case: &Case) -> std::result::Result<(), String> {
        let bytes = 4 * case.pixels() as u64;
        match device.has_room(2 * bytes, bytes) {
            true => Ok(()),
            false => Err(format!("It takes {bytes} bytes, more than '{}' has room for.", device.name)),
        }
    }

    fn takes(&self, cl: &ClContext, code: &Code, _: &Case) -> std::result::Result<(), String> {
        code.runs_on(&cl.device.info)
    }

    fn host(&self, host: Host) -> Built {
        Built::Host(host, host.threads.count())
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        Program::compile(cl, config).map(|program| Built::Kernels(Box::new(program)))
    }

    fn compile_limit(&self, cl: &ClContext) -> Result<Built> {
        let config = Config::of(&super::kernels::LIMIT, cl.device.info.kind).fitted(&cl.device.info);
        self.compile(cl, &config)
    }

    fn room(&self, cl: Option<&ClContext>, case: &Case, guard: usize) -> Result<Room> {
        let (picture, output) = (4 * case.pixels(), self.output_bytes(case));
        let device = match cl.filter(|cl| self.supports(&cl.device.info, case).is_ok()) {
            Some(cl) => Some(Memory::new(cl, picture, output, self.0.part_bytes(case), guard)?),
            None => None,
        };
        let numbers = vec![0; (output + 2 * guard) / 4];
        Ok(Room { case: *case, guard, picture: zeroed(picture + 2 * guard)?, numbers, device })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        pictures::fill(input, room.guard, &mut room.picture);
        if let Some(memory) = &room.device {
            memory.load(&room.picture)?;
        }
        let end = room.picture.len() - room.guard;
        let numbers = self.0.reference(&room.picture[room.guard..end], &room.case);
        Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    fn write(&self, built: &Self::Built, room: &mut Room, bytes: &[u8]) -> Result<()> {
        match (built, &room.device) {
            (Built::Kernels(_), Some(memory)) => memory.write(bytes),
            _ => {
                let numbers = bytes.chunks_exact(4).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
                room.numbers.iter_mut().zip(numbers).for_each(|(number, new)| *number = new);
                Ok(())
            }
        }
    }

    fn read(&self, built: &Self::Built, room: &Room) -> Result<Vec<u8>> {
        match (built, &room.device) {
            (Built::Kernels(_), Some(memory)) => memory.read(),
            _ => Ok(room.numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
        }
    }

    fn changed(&self, built: &Self::Built, room: &Room) -> Result<usize> {
        match (built, &room.device) {
            (Built::Kernels(_), Some(memory)) => {
                Ok(verify::changed(&room.picture, &memory.loaded()?) + memory.overrun()?)
            }
            // Rust lends it to read only.
            _ => Ok(0),
        }
    }

    fn run(&self, built: &Self::Built, room: &mut Room) -> Result<Sample> {
        match (built, &room.device) {
            (Built::Kernels(program), Some(memory)) => program.run(memory, &room.case),
            (Built::Kernels(program), None) => Err(program.without_memory()),
            (Built::Host(host, threads), _) => {
                let bytes = room.guard..room.picture.len() - room.guard;
                let words = room.guard / 4..room.numbers.len() - room.guard / 4;
                let begin = Instant::now();
                (host.digest)(&room.picture[bytes], &room.case, &mut room.numbers[words], *threads);
                Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: ms_since(begin) })
            }
        }
    }

    fn elements(&self, _: &Self::Room) -> Words {
        Words { numbers: D::NUMBERS, rest: D::REST }
    }
}
