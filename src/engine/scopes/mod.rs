//! What the device measures of a filtered frame, and auto-levels by that. In: the filtered picture in the device's memory.
//! Out: commands in the filter's queue, behind the filter's, and with them [`Readings`] of that very frame; no pixel goes to the
//! host for it.
//!
//! The reduction is the ladder's, by the rung that is the fastest on the device. One more kernel counts the histogram and the
//! waveform. Auto-levels take their ends from the histogram, on the device as well.

mod readings;
#[cfg(test)]
mod tests;

use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::gpu::cl::{Buffer, ClContext, Event, failed};
use crate::gpu::event::is_complete;
use crate::gpu::host_block::HostBlock;
use crate::gpu::memory::{Picture, new_memory};
use crate::gpu::program::{self, is_changed};
use crate::gpu::timer;
use crate::ladder::config::{Config, Param, Tunable as _};
use crate::ladder::contest::Ladder as _;
use crate::ladders::histogram;
use crate::ladders::reduction::code::{Arg, Code, Operands, Pass, Program};
use crate::ladders::reduction::digest::{Digest as _, OfPictures};
use crate::ladders::reduction::{self, REDUCTION};
use crate::random::Xorshift;
use readings::{BINS, COUNTS, case};
pub use readings::{LEVELS, Readings, STRIPS, ends, stretch};

/// Histogram and waveform.
static COUNT: Code = Code {
    file: "scopes/01_waveform.cl",
    passes: &[
        histogram::CLEAR,
        Pass {
            kernel: "scopes_waveform",
            args: &[Arg::Picture, Arg::Numbers, Arg::Width, Arg::Height],
            group: "GROUP",
            groups: |_, _| [STRIPS, 1],
        },
    ],
    params: &[
        Param { name: "GROUP", cpu: 1, gpu: 512, values: &[] },
        Param { name: "COPIES", cpu: 4, gpu: 8, values: &[] },
    ],
    nvidia: false,
};

/// The ends of the histogram, and the picture stretched between them.
static LEVEL: Code = Code {
    file: "scopes/02_levels.cl",
    passes: &[
        Pass {
            kernel: "scopes_ends",
            args: &[Arg::Numbers, Arg::Parts, Arg::Width, Arg::Height],
            group: "ENDS",
            groups: |_, _| [1, 1],
        },
        Pass {
            kernel: "scopes_levels",
            args: &[Arg::Picture, Arg::Parts, Arg::Width, Arg::Height],
            group: "GROUP",
            groups: |config, case| [case.pixels().div_ceil(4 * config.get("GROUP") as usize), 1],
        },
    ],
    params: &[
        Param { name: "GROUP", cpu: 64, gpu: 256, values: &[] },
        Param { name: "ENDS", cpu: BINS as u32, gpu: BINS as u32, values: &[] },
    ],
    nvidia: false,
};

const NO_MEMORY: &str = "Memory for scopes could not be had on the device.";
const NOT_MEASURED: &str = "A frame's luminance could not be measured on the device.";

/// Compiled kernels that measure frames, and the memory that they need.
#[derive(Debug)]
pub struct Scopes {
    reduce: Program,
    count: Program,
    level: Program,
    memory: Option<Memory>,
    /// For numbers on their way to the host.
    spare: Vec<Numbers>,
}

/// Memory on the device that all frames share: they are worked on one after the other.
#[derive(Debug, Clone)]
struct Memory {
    size: (u32, u32),
    numbers: Buffer,
    parts: Buffer,
    counts: Buffer,
    ends: Buffer,
    /// For pictures that are no buffers; made when it is first wanted.
    copy: Option<Buffer>,
}

impl Memory {
    fn new(cl: &ClContext, size: (u32, u32)) -> Result<Self> {
        let OfPictures(ladder) = REDUCTION;
        let (case, buffer) = (case(size), |bytes| buffer(cl, bytes));
        Ok(Self {
            size,
            numbers: buffer(4 * ladder.numbers(&case))?,
            parts: buffer(ladder.part_bytes(&case))?,
            counts: buffer(4 * COUNTS)?,
            ends: buffer(16)?,
            copy: None,
        })
    }
}

fn buffer(cl: &ClContext, bytes: usize) -> Result<Buffer> {
    Buffer::new(&cl.context, new_memory(cl), bytes).map_err(|e| failed(NO_MEMORY, &e))
}

/// What is to be measured of a frame, and where that is.
pub(super) struct Wanted {
    picture: Picture,
    memory: Memory,
    readings: Option<Numbers>,
    levels: bool,
}

/// Memory of the host's for what is measured of a frame.
struct Numbers(HostBlock);

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Numbers").finish()
    }
}

/// What is measured of a frame, in the device's queue.
#[derive(Default)]
pub(super) struct Measured {
    size: (u32, u32),
    pub(super) reduce: Vec<Event>,
    pub(super) levels: Vec<Event>,
    /// They come here.
    numbers: Option<Numbers>,
}

impl Measured {
    /// Why it failed, if it did.
    pub(super) fn failure(&self) -> Option<Error> {
        self.reduce.iter().chain(&self.levels).find_map(|event| is_complete(event, NOT_MEASURED).err())
    }
}

/// The word that the reduction has for pictures of this size: what is the fastest for one of them is so for all.
pub(super) fn class(size: (u32, u32)) -> &'static str {
    REDUCTION.class(&case(size))
}

impl Scopes {
    /// Builds what is the fastest for pictures of this size, and compares it with plain Rust on a small one.
    ///
    /// # Errors
    /// When it does not build, or differs.
    pub fn build(cl: &ClContext, size: (u32, u32)) -> Result<Self> {
        let device = &cl.device.info;
        let reduce = reduction::chosen(device, &case(size));
        let files = [reduce.code().file(), COUNT.file, LEVEL.file];
        if let Some(file) = files.into_iter().find(|file| is_changed(file)) {
            let why =
                format!("kernels/{file} is changed, and only `bench` runs it then, in a process of its own.");
            return Err(Error::new("The scopes cannot be shown.", why, "Unset CLREEL_KERNELS."));
        }
        let [count, level] = [COUNT.file, LEVEL.file].map(program::source);
        let mut scopes = Self::of_sources(cl, &reduce, &count?, &level?)?;
        scopes.check(cl)?;
        Ok(scopes)
    }

    /// What these texts of the kernels' files make.
    fn of_sources(cl: &ClContext, reduce: &Config<Code>, count: &str, level: &str) -> Result<Self> {
        let device = &cl.device.info;
        let program =
            |code, text| Program::of_source(cl, &Config::of(code, device.kind).fitted(device), text);
        Ok(Self {
            reduce: Program::compile(cl, reduce)?,
            count: program(&COUNT, count)?,
            level: program(&LEVEL, level)?,
            memory: None,
            spare: Vec::new(),
        })
    }

    /// Compares what is measured of a small picture, and the stretched picture, with plain Rust.
    fn check(&mut self, cl: &ClContext) -> Result<()> {
        let size = (333, 41);
        let mut random = Xorshift::new(1);
        // Neither the darkest nor the brightest are there.
        let level = |n: u32| (60 + n % 100) as u8;
        let mut rgba: Vec<u8> = (0..4 * size.0 * size.1).map(|_| level(random.draw())).collect();
        let picture = Picture::block(cl, &cl.queue, &rgba)?;
        let (found, _) = self.measure(cl, &picture, size, true)?;
        let mut stretched = vec![0; rgba.len()];
        picture.read(&cl.queue, &mut stretched)?;
        let right = Readings::reference(size, &rgba);
        stretch(&mut rgba, right.ends());
        let differs = |what: &str| {
            let why = format!("{what} differ from what is right on '{}'.", cl.device.info.name);
            Err(Error::new("The scopes cannot be shown.", why, "Choose another device."))
        };
        match found.as_ref() == Some(&right) {
            false => differs("The numbers of a picture"),
            true if stretched != rgba => differs("Auto-levels"),
            true => Ok(()),
        }
    }

    /// Measures a picture, stretches it by auto-levels where that is wanted, and waits: what was measured, and what measuring and
    /// stretching took the device, in milliseconds.
    ///
    /// # Errors
    /// When there is no memory, or the driver refuses.
    pub fn measure(
        &mut self,
        cl: &ClContext,
        picture: &Picture,
        size: (u32, u32),
        levels: bool,
    ) -> Result<(Option<Readings>, [f64; 2])> {
        let wanted = self.prepare(cl, picture, size, true, levels)?;
        let measured = self.enqueue(cl, wanted)?;
        cl.queue.finish().map_err(|e| failed(NOT_MEASURED, &e))?;
        let mut took = [0.0; 2];
        for (took, events) in took.iter_mut().zip([&measured.reduce, &measured.levels]) {
            for event in events {
                *took += timer::device_ms(event)?;
            }
        }
        Ok((self.readings(measured), took))
    }

    /// Memory for what is to be measured of a picture.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn prepare(
        &mut self,
        cl: &ClContext,
        picture: &Picture,
        size: (u32, u32),
        readings: bool,
        levels: bool,
    ) -> Result<Wanted> {
        if self.memory.as_ref().is_none_or(|memory| memory.size != size) {
            self.spare.clear();
            self.memory = None;
        }
        let memory = match self.memory.take() {
            Some(memory) => memory,
            None => Memory::new(cl, size)?,
        };
        let memory = self.memory.insert(memory);
        if matches!(picture, Picture::Image(_)) && memory.copy.is_none() {
            memory.copy = Some(buffer(cl, 4 * case(size).pixels())?);
        }
        let readings = match (readings, self.spare.pop()) {
            (false, _) => None,
            (true, Some(numbers)) => Some(numbers),
            (true, None) => Some(Numbers(HostBlock::pinned(cl, memory.numbers.len() + 4 * COUNTS)?)),
        };
        Ok(Wanted { picture: picture.clone(), memory: memory.clone(), readings, levels })
    }

    /// Puts the commands on the queue.
    ///
    /// # Errors
    /// When the driver refuses one.
    pub(super) fn enqueue(&self, cl: &ClContext, wanted: Wanted) -> Result<Measured> {
        let Wanted { picture, memory, readings, levels } = wanted;
        let (queue, case) = (&cl.queue, case(memory.size));
        let refused = |e| failed(NOT_MEASURED, &e);
        let mut measured = Measured { size: memory.size, ..Measured::default() };
        let (pixels, image) = match (&picture, &memory.copy) {
            (Picture::Image(image), Some(copy)) => {
                measured.reduce.push(image.enqueue_copy_to(queue, copy).map_err(refused)?);
                (copy, Some(image))
            }
            (Picture::Buffer(buffer), _) => (buffer, None),
            (Picture::Image(_), None) => return Err(Error::new(NO_MEMORY, "", "")),
        };
        let operands = |parts: &Buffer, numbers: &Buffer, work: &dyn Fn(&Operands) -> Result<Vec<Event>>| {
            work(&Operands { picture: pixels.mem(), parts: parts.mem(), numbers: numbers.mem() })
        };
        if readings.is_some() {
            let reduce = |operands: &Operands| self.reduce.enqueue(queue, operands, &case);
            measured.reduce.extend(operands(&memory.parts, &memory.numbers, &reduce)?);
        }
        let count = |operands: &Operands| self.count.enqueue(queue, operands, &case);
        measured.reduce.extend(operands(&memory.ends, &memory.counts, &count)?);
        if levels {
            let level = |operands: &Operands| self.level.enqueue(queue, operands, &case);
            measured.levels.extend(operands(&memory.ends, &memory.counts, &level)?);
            if let Some(image) = image {
                measured.levels.push(image.enqueue_copy_from(queue, pixels).map_err(refused)?);
            }
        }
        if let Some(numbers) = readings {
            let start = numbers.0.start();
            for (buffer, offset) in [(&memory.numbers, 0), (&memory.counts, memory.numbers.len())] {
                // SAFETY: the block has room for both, and stays with the job until the device is done with it.
                let event = unsafe {
                    let into: NonNull<u8> = start.add(offset);
                    buffer.enqueue_read(queue, into.as_ptr(), buffer.len(), false, &[])
                };
                measured.reduce.push(event.map_err(refused)?);
            }
            measured.numbers = Some(numbers);
        }
        Ok(measured)
    }

    /// What was measured, once all commands are over; `None` where only levels were wanted.
    pub(super) fn readings(&mut self, measured: Measured) -> Option<Readings> {
        let numbers = measured.numbers?;
        let words: Vec<u32> =
            numbers.0.bytes().as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
        let of_frame = words.len().saturating_sub(COUNTS);
        let (of_frame, counts) = words.split_at(of_frame);
        let readings = Readings::of(measured.size, of_frame, counts);
        if self.memory.as_ref().is_some_and(|memory| memory.size == measured.size) {
            self.spare.push(numbers);
        }
        Some(readings)
    }
}
