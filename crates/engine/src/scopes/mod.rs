//! What the device measures of a filtered frame, and auto-levels by that. In: the filtered picture in the device's memory.
//! Out: commands in the filter's queue, behind the filter's, and with them [`Readings`] of that very frame; no pixel goes to the
//! host for it.
//!
//! The reduction is the ladder's, by the rung that is the fastest on the device. One more kernel counts the histogram and the
//! waveform. Auto-levels take their ends from the histogram, on the device as well.

mod host;
mod kernels;
mod readings;
#[cfg(test)]
mod tests;

use base::error::{Error, Result};
use base::random::Xorshift;
pub(super) use host::OnHost;
use kernels::{Kernels, Sources};
use ladder::contest::Ladder as _;
use ladders::reduction::REDUCTION;
use ladders::reduction::code::{Operands, Program};
use ladders::reduction::digest::{Digest as _, OfPictures};
use ladders::reduction::pictures::Case;
use opencl::cl::{Buffer, ClContext, DeviceKind, Event, Mem, failed};
use opencl::event::is_complete;
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage, new_memory};
use opencl::program::{is_changed, way_back};
use opencl::timer;
use readings::{COUNTS, case};
pub use readings::{LEVELS, Readings, STRIPS, stretch};

const NO_MEMORY: &str = "Memory for scopes could not be had on the device.";
const NOT_MEASURED: &str = "A frame's luminance could not be measured on the device.";

/// Compiled kernels that measure frames, and the memory that they need.
#[derive(Debug)]
pub struct Scopes {
    buffers: Kernels,
    /// For pictures in images; without it they are copied into buffers.
    images: Option<Kernels>,
    memory: Option<Memory>,
    /// For numbers on their way to the host.
    spare: Vec<Numbers>,
}

/// Memory on the device that all frames share: they are worked on one after the other.
#[derive(Debug, Clone)]
struct Memory {
    size: (u32, u32),
    /// All that goes to the host: what was counted, and from [`NUMBERS_AT`] on the numbers of the reduction.
    results: Buffer,
    counts: Buffer,
    numbers: Buffer,
    parts: Buffer,
    ends: Buffer,
    /// For pictures in images, where those are not read; made when it is first wanted.
    copy: Option<Buffer>,
}

/// Where the second part of the results begins: devices want such places to be multiples of 4096 bytes at most.
const NUMBERS_AT: usize = (4 * COUNTS).next_multiple_of(4096);

impl Memory {
    fn new(cl: &ClContext, size: (u32, u32)) -> Result<Self> {
        let OfPictures(ladder) = REDUCTION;
        let (case, buffer) = (case(size), |bytes| buffer(cl, bytes));
        let numbers = 4 * ladder.numbers(&case);
        let results = buffer(NUMBERS_AT + numbers)?;
        let part = |from, bytes| results.part(from, bytes).map_err(|e| failed(NO_MEMORY, &e));
        Ok(Self {
            size,
            counts: part(0, 4 * COUNTS)?,
            numbers: part(NUMBERS_AT, numbers)?,
            parts: buffer(ladder.part_bytes(&case))?,
            ends: buffer(16)?,
            copy: None,
            results,
        })
    }
}

fn buffer(cl: &ClContext, bytes: usize) -> Result<Buffer> {
    Buffer::new(&cl.context, new_memory(cl), bytes).map_err(|e| failed(NO_MEMORY, &e))
}

/// What is to be measured of a frame, and the memory for it.
pub(super) struct Wanted {
    memory: Memory,
    readings: Option<Numbers>,
    pub(super) levels: bool,
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
    /// Builds what is the fastest for pictures of this size, and compares it with plain Rust on small ones.
    ///
    /// # Errors
    /// When it does not build, or differs.
    pub fn build(cl: &ClContext, size: (u32, u32)) -> Result<Self> {
        let case = case(size);
        if let Some(file) = Sources::files(cl, &case).into_iter().find(|file| is_changed(file)) {
            let why =
                format!("kernels/{file} is changed, and only `bench` runs it then, in a process of its own.");
            let hint = format!("To use the kernels that are built in, {}.", way_back());
            return Err(Error::new("The scopes cannot be shown.", why, hint));
        }
        let load = |storage| Sources::load(cl, &case, storage);
        // A processor has no units that read images: a copy is faster.
        let images = cl.device.info.kind != DeviceKind::Cpu;
        let sources = (load(Storage::Buffer)?, images.then(|| load(Storage::Image)).transpose()?);
        let mut scopes = Self::of_sources(cl, &case, &sources.0, sources.1.as_ref())?;
        scopes.check(cl)?;
        Ok(scopes)
    }

    /// What these texts of the kernels' files make, for buffers and, if there are some, for images.
    fn of_sources(cl: &ClContext, case: &Case, buffers: &Sources, images: Option<&Sources>) -> Result<Self> {
        let of = |storage, sources| Kernels::of_sources(cl, case, storage, images.is_some(), sources);
        Ok(Self {
            buffers: of(Storage::Buffer, buffers)?,
            images: images.map(|sources| of(Storage::Image, sources)).transpose()?,
            memory: None,
            spare: Vec::new(),
        })
    }

    /// Compares what is measured of small pictures, and the stretched pictures, with plain Rust: where they are, and where
    /// they come from or go to images.
    fn check(&mut self, cl: &ClContext) -> Result<()> {
        use Storage::{Buffer, Image};
        let ways: &[_] = match self.images {
            Some(_) => &[(Buffer, Buffer), (Buffer, Image), (Image, Image)],
            None => &[(Buffer, Buffer)],
        };
        // One is read by fours, the other pixel by pixel.
        for size in [(333, 41), (64, 35)] {
            for (from, to) in ways {
                self.check_one(cl, size, *from, *to)?;
            }
        }
        Ok(())
    }

    fn check_one(&mut self, cl: &ClContext, size: (u32, u32), from: Storage, to: Storage) -> Result<()> {
        let mut random = Xorshift::new(1);
        // Neither the darkest nor the brightest are there.
        let level = |n: u32| (60 + n % 100) as u8;
        let mut rgba: Vec<u8> = (0..4 * size.0 * size.1).map(|_| level(random.draw())).collect();
        let picture = Picture::alloc(cl, from, size.0, size.1)?;
        picture.write(&cl.queue, &rgba)?;
        let into = match to {
            Storage::Buffer => picture.clone(),
            Storage::Image => {
                let into = Picture::alloc(cl, to, size.0, size.1)?;
                into.write(&cl.queue, &vec![0xa5; rgba.len()])?;
                into
            }
        };
        let (found, _) = self.measure(cl, &picture, size, Some(&into))?;
        let mut stretched = vec![0; rgba.len()];
        into.read(&cl.queue, &mut stretched)?;
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

    /// Measures a picture, stretches it by auto-levels where it is told into what (see [`Scopes::stretches_into`]), and waits:
    /// what was measured, and what measuring and stretching took the device, in milliseconds.
    ///
    /// # Errors
    /// When there is no memory, or the driver refuses.
    pub fn measure(
        &mut self,
        cl: &ClContext,
        picture: &Picture,
        size: (u32, u32),
        levels: Option<&Picture>,
    ) -> Result<(Option<Readings>, [f64; 2])> {
        let wanted = self.prepare(cl, picture.storage(), size, true, levels.is_some())?;
        let measured = self.enqueue(cl, wanted, picture, levels.unwrap_or(picture))?;
        cl.queue.finish().map_err(|e| failed(NOT_MEASURED, &e))?;
        let mut took = [0.0; 2];
        for (took, events) in took.iter_mut().zip([&measured.reduce, &measured.levels]) {
            for event in events {
                *took += timer::device_ms(event)?;
            }
        }
        Ok((self.readings(measured), took))
    }

    /// Whether auto-levels read another picture than the one that they write, so that the filter must not write there: no
    /// kernel writes into an image that it reads.
    pub(super) fn stretches_into(&self, picture: &Picture) -> bool {
        self.images.is_some() && picture.storage() == Storage::Image
    }

    /// Memory for what is to be measured of a picture in such memory.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn prepare(
        &mut self,
        cl: &ClContext,
        storage: Storage,
        size: (u32, u32),
        readings: bool,
        levels: bool,
    ) -> Result<Wanted> {
        if self.memory.as_ref().is_none_or(|memory| memory.size != size) {
            self.spare.clear();
            self.memory = None;
        }
        let mut memory = match self.memory.take() {
            Some(memory) => memory,
            None => Memory::new(cl, size)?,
        };
        if storage == Storage::Image && self.images.is_none() && memory.copy.is_none() {
            memory.copy = Some(buffer(cl, 4 * case(size).pixels())?);
        }
        let memory = self.memory.insert(memory);
        let numbers = |spare: Option<Numbers>| match spare {
            Some(numbers) => Ok(numbers),
            None => HostBlock::pinned(cl, memory.results.len()).map(Numbers),
        };
        let readings = readings.then(|| numbers(self.spare.pop())).transpose()?;
        Ok(Wanted { memory: memory.clone(), readings, levels })
    }

    /// Puts the commands on the queue. Auto-levels, where they are wanted, read `picture` and write `to`.
    ///
    /// # Errors
    /// When the driver refuses one.
    pub(super) fn enqueue(
        &self,
        cl: &ClContext,
        wanted: Wanted,
        picture: &Picture,
        to: &Picture,
    ) -> Result<Measured> {
        let Wanted { memory, readings, levels } = wanted;
        let (queue, case) = (&cl.queue, case(memory.size));
        let refused = |e| failed(NOT_MEASURED, &e);
        let mut measured = Measured { size: memory.size, ..Measured::default() };
        let (kernels, source, copied) = match (picture, &self.images, &memory.copy) {
            (Picture::Buffer(buffer), ..) => (&self.buffers, buffer.mem(), None),
            (Picture::Image(image), Some(kernels), _) => (kernels, image.mem(), None),
            (Picture::Image(image), None, Some(copy)) => {
                measured.reduce.push(image.enqueue_copy_to(queue, copy).map_err(refused)?);
                (&self.buffers, copy.mem(), Some((image, copy)))
            }
            (Picture::Image(_), None, None) => return Err(Error::new(NO_MEMORY, "", "")),
        };
        let run = |program: &Program, parts: &Buffer, numbers: &Mem| {
            program.enqueue(queue, &Operands { picture: source, parts: parts.mem(), numbers }, &case)
        };
        if readings.is_some() {
            measured.reduce.extend(run(&kernels.reduce, &memory.parts, memory.numbers.mem())?);
        }
        measured.reduce.extend(run(&kernels.count, &memory.ends, memory.counts.mem())?);
        if levels {
            measured.levels.extend(run(&kernels.ends, &memory.ends, memory.counts.mem())?);
            let is_into = self.stretches_into(to);
            let level = if is_into { &kernels.level_into } else { &kernels.level };
            let level = level.as_ref().ok_or_else(|| Error::new(NOT_MEASURED, "", ""))?;
            measured.levels.extend(run(level, &memory.ends, to.mem())?);
            if let Some((image, copy)) = copied {
                measured.levels.push(image.enqueue_copy_from(queue, copy).map_err(refused)?);
            }
        }
        if let Some(numbers) = readings {
            let (into, results) = (numbers.0.start().as_ptr(), &memory.results);
            // SAFETY: the block has room for it, and stays with the job until the device is done with it.
            let event = unsafe { results.enqueue_read(queue, into, results.len(), false, &[]) };
            measured.reduce.push(event.map_err(refused)?);
            measured.numbers = Some(numbers);
        }
        Ok(measured)
    }

    /// What was measured, once all commands are over; `None` where only levels were wanted.
    pub(super) fn readings(&mut self, measured: Measured) -> Option<Readings> {
        let numbers = measured.numbers?;
        let words: Vec<u32> =
            numbers.0.bytes().as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
        let of_frame = words.get(NUMBERS_AT / 4..).unwrap_or_default();
        let readings = Readings::of(measured.size, of_frame, &words);
        if self.memory.as_ref().is_some_and(|memory| memory.size == measured.size) {
            self.spare.push(numbers);
        }
        Some(readings)
    }
}
