//! Compares two pictures of one size on the device, exactly: a map of the differences, the number of pixels that differ, and the first
//! pixel with the largest difference.

use std::collections::HashMap;
use std::time::Instant;

use super::picture_buffer::PictureBuffer;
use super::slot::SlotContent;
use super::{Engine, Slot};
use crate::sharing::hand_over_texture;
use base::error::{Error, Result};
use base::memory::rgba_bytes;
use opencl::cl::{Answer, Buffer, ClContext, OrFail as _};
use opencl::kernel::{Kernel, NdRange, Value, enqueue, expect_types};
use opencl::memory::{Picture, Storage, allocation_flags};
use opencl::sources::Sources;
use opencl::transfer::enqueue_copy;
use opencl::{program, timer};
use stats::Difference;

/// The kernel file that compares two pictures.
const KERNEL_FILE: &str = "difference/01_heat.cl";
/// The first sentence of the error when a comparison fails.
const COMPARISON_FAILED: &str = "Two pictures could not be compared.";
/// The OpenCL types of the arguments of the kernel `difference_parts`.
const PARTS_TYPES: [&[&str]; 7] =
    [PICTURE_TYPES, PICTURE_TYPES, &["uchar4*"], &["uint4*"], &["int"], &["int"], &["int"]];
const PICTURE_TYPES: &[&str] = &["uchar4*", "image2d_t"];
const WHOLE_TYPES: [&[&str]; 3] = [&["uint4*"], &["uint4*"], &["int"]];
/// The number of work-items in a work-group.
const GROUP: usize = 64;
/// The maximum number of work-groups for one picture.
const MAX_GROUPS: usize = 1024;
/// The minimum number of pixels for one work-group.
const MIN_RUN: usize = 4 * GROUP;
/// The size in bytes of one work-group's result.
const RESULT_BYTES: usize = 16;

/// A picture to compare: RGBA, 8 bits a channel, no gaps between rows.
#[derive(Debug, Clone, Copy)]
pub enum PictureSource<'a> {
    /// A complete picture in the device's memory.
    OnDevice(&'a Picture),
    /// A picture in host memory.
    OnHost(&'a [u8]),
}

/// The result of comparing two pictures.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The number of pixels that differ, and the largest difference.
    pub difference: Difference,
    /// The map of the differences as RGBA, of the pictures' size.
    pub heat: Vec<u8>,
    /// The time of the comparison on the device in milliseconds; NaN if unknown.
    pub ms: f64,
}

/// Compares pictures on one device. It builds its programs when they are first needed.
pub struct Comparer {
    cl: ClContext,
    /// The compiled kernels. Each of the key's two values is true if that picture is an image, and false if it is a buffer.
    kernels: HashMap<[bool; 2], [Kernel; 2]>,
    source: String,
    /// Device memory for the first and the second picture, if it comes from the host.
    uploaded: [PictureBuffer; 2],
    heat: PictureBuffer,
    parts: Buffer,
    out: Buffer,
}

impl Comparer {
    /// Creates a comparer with the built-in kernels; compiles nothing yet.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn new(cl: &ClContext) -> Result<Self> {
        // The built-in source, not an edited file, because the comparer verifies other kernels.
        Self::with_source(cl, Sources::default().text(KERNEL_FILE)?)
    }

    /// Creates a comparer and compiles and runs its kernels, so that the first comparison is as fast as later ones. Compiles
    /// the kernels for pictures in buffers and, with `images`, also those for images.
    ///
    /// # Errors
    /// If the kernels do not build or report a difference between two equal pixels, memory runs out, or the device fails.
    pub fn new_compiled(cl: &ClContext, images: bool) -> Result<Self> {
        /// A black, transparent pixel, which is compared with itself so that the new kernels run once.
        const PIXEL: [u8; 4] = [0; 4];
        let mut comparer = Self::new(cl)?;
        let mut found = vec![comparer.compare([PictureSource::OnHost(&PIXEL); 2], (1, 1))?];
        if images {
            let image = Picture::alloc(cl, Storage::Image, 1, 1)?;
            image.write(&cl.queue, &PIXEL)?;
            found.push(comparer.compare([PictureSource::OnDevice(&image); 2], (1, 1))?);
        }
        if found.iter().any(|found| found.difference.largest.is_some()) {
            let why = "Of two equal ones its kernels say that they differ.";
            return Err(Error::new(COMPARISON_FAILED, why, ""));
        }
        Ok(comparer)
    }

    /// Creates a comparer with the kernels in `source`.
    fn with_source(cl: &ClContext, source: String) -> Result<Self> {
        let memory = |len| Buffer::new(&cl.context, allocation_flags(cl), len).or_fail(COMPARISON_FAILED);
        Ok(Self {
            cl: cl.clone(),
            kernels: HashMap::new(),
            source,
            uploaded: Default::default(),
            heat: PictureBuffer::default(),
            parts: memory(MAX_GROUPS * RESULT_BYTES)?,
            out: memory(RESULT_BYTES)?,
        })
    }

    /// Compares two pictures of `size` on the context's queue, and waits for the result.
    ///
    /// # Errors
    /// If a picture has another size, memory runs out, or the device fails.
    pub fn compare(&mut self, sides: [PictureSource; 2], size: (u32, u32)) -> Result<Comparison> {
        let map = self.heat.get(&self.cl, Storage::Buffer, size)?;
        let (difference, ms) = self.compare_into(&map, sides, size)?;
        let heat = self.heat.read(&self.cl)?.unwrap_or_default();
        Ok(Comparison { difference, heat, ms })
    }

    /// Compares two pictures and writes the map of their differences to the buffer `map`. Returns the differences and the device's time in
    /// milliseconds.
    fn compare_into(
        &mut self,
        map: &Picture,
        [a, b]: [PictureSource; 2],
        (width, height): (u32, u32),
    ) -> Result<(Difference, f64)> {
        let pixels = width as usize * height as usize;
        let [a, b] = [self.on_device(0, a, (width, height))?, self.on_device(1, b, (width, height))?];
        let run = pixels.div_ceil(MAX_GROUPS).next_multiple_of(GROUP).max(MIN_RUN);
        let groups = pixels.div_ceil(run);
        let images = [&a, &b].map(|picture| picture.storage() == Storage::Image);
        let kernels = match self.kernels.remove(&images) {
            Some(kernels) => kernels,
            None => self.build(images)?,
        };
        let [parts, whole] = self.kernels.entry(images).or_insert(kernels);
        let queue = &self.cl.queue;
        let start = || -> Answer<_> {
            for (at, memory) in (0..).zip([a.mem(), b.mem(), map.mem(), self.parts.mem()]) {
                parts.set(at, memory)?;
            }
            for (at, value) in (4..).zip([width as i32, pixels as i32, run as i32]) {
                parts.set(at, Value::Int(value))?;
            }
            whole.set(0, self.parts.mem())?;
            whole.set(1, self.out.mem())?;
            whole.set(2, Value::Int(groups as i32))?;
            // SAFETY: these are all arguments, with their types. The pictures and the map have this size, there is room for
            // what each group found, and the kernels stay inside.
            unsafe {
                let first = enqueue(queue, parts, NdRange::line(groups * GROUP, GROUP), &[])?;
                Ok([first, enqueue(queue, whole, NdRange::line(GROUP, GROUP), &[])?])
            }
        };
        let began = Instant::now();
        let ran = start().or_fail(COMPARISON_FAILED);
        let mut found = [0; RESULT_BYTES];
        let ran = ran.and_then(|events| {
            self.out.read(queue, &mut found).or_fail(COMPARISON_FAILED)?;
            Ok(events)
        });
        // The kernels must not keep the pictures' memory alive.
        parts.forget_memory();
        let within = Some(began.elapsed());
        let of = |event: &_| timer::known_span_ns(event, queue.clock(), within).map_or(f64::NAN, timer::ms);
        let ms = ran?.iter().map(of).sum();
        let number = |at: usize| u32::from_ne_bytes(found.as_chunks().0[at]);
        let [differing, largest, at] = [0, 1, 2].map(number);
        let largest = (largest > 0).then(|| (largest as u8, (at % width, at / width)));
        let difference = Difference { pixels: pixels as u64, differing: differing.into(), largest };
        Ok((difference, ms))
    }

    /// Compiles the two kernels for pictures in these kinds of memory: true for an image, false for a buffer.
    fn build(&self, [a, b]: [bool; 2]) -> Result<[Kernel; 2]> {
        let options = format!("-D GROUP={GROUP} -D A_IMAGE={} -D B_IMAGE={}", u8::from(a), u8::from(b));
        let program = program::build_text(&self.cl, KERNEL_FILE, &self.source, &options)?;
        let kernel = |name, types: &[&[&str]]| {
            let kernel = Kernel::new(&program, name).or_fail(COMPARISON_FAILED)?;
            expect_types(&kernel, KERNEL_FILE, types).map(|()| kernel)
        };
        Ok([kernel("difference_parts", &PARTS_TYPES)?, kernel("difference_whole", &WHOLE_TYPES)?])
    }

    /// Returns the picture in the device's memory; uploads it if it is in host memory. `side` is 0 for the first picture and 1 for the
    /// second.
    fn on_device(
        &mut self,
        side: usize,
        picture: PictureSource,
        (width, height): (u32, u32),
    ) -> Result<Picture> {
        let bytes = rgba_bytes((width, height));
        let fits = match picture {
            PictureSource::OnHost(pixels) => pixels.len() == bytes,
            PictureSource::OnDevice(Picture::Buffer(buffer)) => buffer.len() == bytes,
            PictureSource::OnDevice(Picture::Image(image)) => {
                image.size() == (width as usize, height as usize)
            }
        };
        if !fits || bytes == 0 {
            return Err(Error::new(COMPARISON_FAILED, format!("One is not {width}×{height} pixels."), ""));
        }
        match picture {
            PictureSource::OnDevice(picture) => Ok(picture.clone()),
            PictureSource::OnHost(pixels) => {
                let to = self.uploaded[side].get(&self.cl, Storage::Buffer, (width, height))?;
                to.write(&self.cl.queue, pixels).map(|()| to)
            }
        }
    }
}

impl Engine {
    /// Compares the finished pictures of two slots of one size, and waits for the result. OpenGL must have finished with their
    /// textures, if they have any. The map of the differences goes to the slot `map`, of the same size; if textures are shared,
    /// no pixel is copied to the host. Returns the differences and the device's time in milliseconds.
    ///
    /// # Errors
    /// If there is no device, the device fails, or a slot has no picture.
    pub fn compare(&mut self, a: &Slot, b: &Slot, map: &mut Slot) -> Result<(Difference, f64)> {
        let Some(pipeline) = &mut self.pipeline else {
            let why = "An OpenCL device compares them, and there is none.";
            return Err(Error::new(COMPARISON_FAILED, why, "Choose a device with Ctrl+D."));
        };
        if self.has_opengl {
            pipeline.slot_preparation().prepare_map(map);
        }
        let to_texture = pipeline.to_texture() && map.texture().is_some();
        let cl = &pipeline.cl;
        // After an error it is built again when the next pictures are compared.
        let comparer = pipeline.meters.comparer.take().unwrap_or_else(|| Comparer::new(cl))?;
        let comparer =
            pipeline.meters.comparer.insert(Ok(comparer)).as_mut().map_err(|error| error.clone())?;
        let on_device = [a, b].map(Slot::on_device);
        // For commands that only read the textures.
        let lend = |to_cl| {
            let mut shared = on_device.iter().flatten().filter(|(_, is_shared)| *is_shared);
            shared.try_for_each(|(texture, _)| hand_over_texture(cl, texture, to_cl).map(drop))
        };
        lend(true)?;
        // A picture is compared in the device's memory if it is there, else in host memory.
        let side = |at: usize| match &on_device[at] {
            Some((picture, _)) => Some(PictureSource::OnDevice(picture)),
            None => [a, b][at].pixels().map(PictureSource::OnHost),
        };
        let no_pixels = || Error::new(COMPARISON_FAILED, "One has no pixels.", "");
        let sides = side(0).zip(side(1)).ok_or_else(no_pixels);
        let compared = sides.map(<[_; 2]>::from).and_then(|sides| {
            let heat = match to_texture {
                true => comparer.heat.get(cl, Storage::Buffer, a.size)?,
                false => map.target(cl, Storage::Buffer)?,
            };
            map.loaded = SlotContent::Nothing;
            if to_texture {
                map.shared(cl)?;
            }
            map.to_device(cl, &cl.queue)?;
            let (difference, ms) = comparer.compare_into(&heat, sides, a.size)?;
            if to_texture {
                map.acquire(cl)?;
                enqueue_copy(&cl.queue, &heat, map.device.shared_texture()?)?;
            }
            map.to_host(cl, to_texture)?;
            Ok((difference, ms))
        });
        lend(false)?;
        cl.queue.finish().or_fail(COMPARISON_FAILED)?;
        map.note_back_on_host();
        compared
    }
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
