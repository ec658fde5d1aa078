//! Measures filtered frames on the device, and stretches their contrast by auto-levels. The commands follow the filter's in its
//! queue and produce the [`Readings`] of the same frame; no pixel is copied to the host for this.
//!
//! The fastest variant of the reduction on the device computes the sum, extremes and block means. One more kernel counts the
//! histogram and the waveform. Auto-levels derive the luminances that become black and white from the histogram, on the device
//! as well.

mod host;
mod kernels;
#[cfg(test)]
mod tests;

use base::device::DeviceKind;
use base::error::{Error, Result};
use base::random::Xorshift;
use compute::plan::{Lens, Operands};
use compute::reduction::Case;
use compute::reduction::kernels::Program;
pub(super) use host::HostMeasurements;
use kernels::ScopeKernels;
use opencl::cl::{Buffer, ClContext, Event, Mem, OrFail as _};
use opencl::event::is_complete;
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage, allocation_flags};
use opencl::sources::BUILT_IN_HINT;
use stats::{COUNTS, Measurements, Readings, case, stretch};

/// The first sentence of the error when memory for the scopes cannot be allocated.
const NO_MEMORY: &str = "Memory for scopes could not be had on the device.";
/// The first sentence of the error when a frame cannot be measured.
const NOT_MEASURED: &str = "A frame's luminance could not be measured on the device.";

/// The compiled kernels that measure and stretch frames on one device, and the memory that they need.
pub struct Scopes {
    buffers: ScopeKernels,
    /// The kernels for pictures in images; if `None`, such pictures are copied into buffers.
    images: Option<ScopeKernels>,
    memory: Option<Memory>,
    /// Host memory for results that is not in use now, to be reused.
    spare: Vec<HostBlock>,
}

/// Device memory for measuring. All frames use it, because they are measured one after the other.
#[derive(Clone)]
struct Memory {
    size: (u32, u32),
    /// All results that are read by the host: the counts of the histogram and the waveform, and, from the offset [`NUMBERS_AT`] on, the
    /// sum, extremes, mean and block means.
    results: Buffer,
    counts: Buffer,
    numbers: Buffer,
    parts: Buffer,
    ends: Buffer,
    /// A copy of a picture in an image, if the kernels cannot read images; `None` until it is first needed.
    copy: Option<Buffer>,
}

/// The offset in bytes of the reduction's results (sum, extremes, mean and block means) in [`Memory::results`]. It is a
/// multiple of 4096, because devices require alignments of up to 4096 bytes.
const NUMBERS_AT: usize = (4 * COUNTS).next_multiple_of(4096);

impl Memory {
    fn new(cl: &ClContext, size: (u32, u32)) -> Result<Self> {
        let buffer = |bytes| buffer(cl, bytes);
        let case = case(size);
        let Lens { output, scratch, .. } = case.lens(case.numbers());
        let numbers = 4 * output;
        let results = buffer(NUMBERS_AT + numbers)?;
        let part = |from, bytes| results.part(from, bytes).or_fail(NO_MEMORY);
        Ok(Self {
            size,
            counts: part(0, 4 * COUNTS)?,
            numbers: part(NUMBERS_AT, numbers)?,
            parts: buffer(4 * scratch.iter().sum::<usize>())?,
            ends: buffer(16)?,
            copy: None,
            results,
        })
    }
}

fn buffer(cl: &ClContext, bytes: usize) -> Result<Buffer> {
    Buffer::new(&cl.context, allocation_flags(cl), bytes).or_fail(NO_MEMORY)
}

/// The measurements to make of a frame, and the memory for their results.
pub(super) struct MeasurementPlan {
    memory: Memory,
    /// Host memory for the results; `None` if only auto-levels are requested.
    readings: Option<HostBlock>,
    pub levels: bool,
}

/// The measurements of a frame whose commands were enqueued.
#[derive(Default)]
pub(super) struct QueuedMeasurements {
    size: (u32, u32),
    pub reduce: Vec<Event>,
    pub levels: Vec<Event>,
    /// The host memory into which the results are read; `None` if only auto-levels were requested.
    numbers: Option<HostBlock>,
}

impl QueuedMeasurements {
    /// Returns the error of the first measuring command that failed, if any.
    pub(super) fn failure(&self) -> Option<Error> {
        self.reduce.iter().chain(&self.levels).find_map(|event| is_complete(event, NOT_MEASURED).err())
    }
}

impl Scopes {
    /// Compiles the kernels that are the fastest for pictures of this size, and verifies on small pictures that they give the
    /// results of plain Rust.
    ///
    /// # Errors
    /// If a kernel does not build, its result differs, or a kernel file was edited.
    pub fn build(cl: &ClContext, size: (u32, u32)) -> Result<Self> {
        let case = case(size);
        let mut files = kernels::files(cl, &case).into_iter();
        if let Some(file) = files.find(|file| cl.sources().is_changed(file)) {
            let why =
                format!("kernels/{file} is changed, and only `bench` runs it then, in a process of its own.");
            return Err(Error::new("The scopes cannot be shown.", why, BUILT_IN_HINT));
        }
        // A CPU has no units that read images: a copy is faster.
        let mut scopes = Self::compile(cl, &case, cl.device.info.kind != DeviceKind::Cpu)?;
        scopes.check(cl)?;
        Ok(scopes)
    }

    /// Compiles the kernels for pictures in buffers and, with `images`, for pictures in images.
    fn compile(cl: &ClContext, case: &Case, images: bool) -> Result<Self> {
        let of = |storage| ScopeKernels::new(cl, case, storage, images);
        Ok(Self {
            buffers: of(Storage::Buffer)?,
            images: images.then(|| of(Storage::Image)).transpose()?,
            memory: None,
            spare: Vec::new(),
        })
    }

    /// Verifies the kernels on small pictures: compares their readings, and the stretched pictures, with those of plain Rust,
    /// for each kind of memory (buffer or image) that pictures are read from and written to.
    fn check(&mut self, cl: &ClContext) -> Result<()> {
        use Storage::{Buffer, Image};
        let ways: &[_] = match self.images {
            Some(_) => &[(Buffer, Buffer), (Buffer, Image), (Image, Image)],
            None => &[(Buffer, Buffer)],
        };
        // The kernels read one of these sizes four pixels at a time, the other pixel by pixel.
        for (size, (from, to)) in
            [(333, 41), (64, 35)].into_iter().flat_map(|size| ways.iter().map(move |way| (size, *way)))
        {
            let mut random = Xorshift::new(1);
            // The picture has no very dark or bright levels, so that auto-levels change it.
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
            let wanted = self.prepare(cl, from, size, Measurements { readings: true, levels: true })?;
            let measured = self.enqueue(cl, wanted, &picture, &into)?;
            cl.queue.finish().or_fail(NOT_MEASURED)?;
            let found = self.readings(measured);
            let mut stretched = vec![0; rgba.len()];
            into.read(&cl.queue, &mut stretched)?;
            let right = Readings::reference(size, &rgba);
            stretch(&mut rgba, right.ends());
            let differs = |what: &str| {
                let why = format!("{what} differ from what is right on '{}'.", cl.device.info.name);
                Err(Error::new("The scopes cannot be shown.", why, "Choose another device."))
            };
            match found.as_ref() == Some(&right) {
                false => return differs("The numbers of a picture"),
                true if stretched != rgba => return differs("Auto-levels"),
                true => {}
            }
        }
        Ok(())
    }

    /// Returns true if `picture` is an image into which auto-levels can write. No kernel writes into an image that it reads, so
    /// auto-levels then read the filtered picture from other memory, and the filter must not write into `picture`.
    pub(super) fn stretches_into(&self, picture: &Picture) -> bool {
        self.images.is_some() && picture.storage() == Storage::Image
    }

    /// Returns the memory for measuring a picture of this size in this kind of memory (buffer or image).
    ///
    /// # Errors
    /// If memory runs out.
    pub(super) fn prepare(
        &mut self,
        cl: &ClContext,
        storage: Storage,
        size: (u32, u32),
        Measurements { readings, levels }: Measurements,
    ) -> Result<MeasurementPlan> {
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
        let block = || HostBlock::pinned(cl, memory.results.len());
        let readings = readings.then(|| self.spare.pop().map_or_else(block, Ok)).transpose()?;
        Ok(MeasurementPlan { memory: memory.clone(), readings, levels })
    }

    /// Enqueues the measurements of `picture`. Auto-levels, if requested, write the stretched picture to `to`.
    ///
    /// # Errors
    /// If the driver refuses a command.
    pub(super) fn enqueue(
        &self,
        cl: &ClContext,
        wanted: MeasurementPlan,
        picture: &Picture,
        to: &Picture,
    ) -> Result<QueuedMeasurements> {
        let MeasurementPlan { memory, readings, levels } = wanted;
        let (queue, case) = (&cl.queue, case(memory.size));
        let mut measured = QueuedMeasurements { size: memory.size, ..QueuedMeasurements::default() };
        let (kernels, source, copied) = match (picture, &self.images, &memory.copy) {
            (Picture::Buffer(buffer), ..) => (&self.buffers, buffer.mem(), None),
            (Picture::Image(image), Some(kernels), _) => (kernels, image.mem(), None),
            (Picture::Image(image), None, Some(copy)) => {
                measured.reduce.push(image.enqueue_copy_to(queue, copy).or_fail(NOT_MEASURED)?);
                (&self.buffers, copy.mem(), Some((image, copy)))
            }
            (Picture::Image(_), None, None) => return Err(Error::new(NO_MEMORY, "", "")),
        };
        let run = |program: &Program, parts: &Buffer, numbers: &Mem| {
            let on = Operands { memory: &[source, numbers], scratch: &[parts.mem()] };
            program.enqueue(queue, on, &case)
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
                measured.levels.push(image.enqueue_copy_from(queue, copy).or_fail(NOT_MEASURED)?);
            }
        }
        if let Some(numbers) = readings {
            let results = &memory.results;
            let into = std::ptr::slice_from_raw_parts_mut(numbers.start().as_ptr(), results.len());
            // SAFETY: the block has room for it, and stays with the job until the device is done with it.
            let event = unsafe { results.enqueue_read(queue, into, false) };
            measured.reduce.push(event.or_fail(NOT_MEASURED)?);
            measured.numbers = Some(numbers);
        }
        Ok(measured)
    }

    /// Returns the measured luminance of a frame after all its commands are complete; `None` if only auto-levels were
    /// requested.
    pub(super) fn readings(&mut self, measured: QueuedMeasurements) -> Option<Readings> {
        let numbers = measured.numbers?;
        let words: Vec<u32> =
            numbers.bytes().as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
        let of_frame = words.get(NUMBERS_AT / 4..).unwrap_or_default();
        let readings = Readings::of(measured.size, of_frame, &words);
        if self.memory.as_ref().is_some_and(|memory| memory.size == measured.size) {
            self.spare.push(numbers);
        }
        Some(readings)
    }
}
