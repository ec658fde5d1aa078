//! Two pictures compared on the device. In: pictures of one size, in the device's memory or the host's. Out: a map of their
//! differences, and how many pixels differ, by how much at most, and where: exact, each pixel looked at.

use std::collections::HashMap;
use std::fmt;
use std::time::Instant;

use super::{Engine, Pipeline, Side, Slot};
use base::error::{Error, Result};
use base::memory::picture_memory;
use base::numbers::thousands;
use opencl::cl::{Buffer, ClContext, failed};
use opencl::kernel::{Kernel, Value, enqueue, expect_types};
use opencl::memory::{Picture, Storage, new_memory};
use opencl::{program, timer};

const FILE: &str = "difference/01_heat.cl";
const FAILED: &str = "Two pictures could not be compared.";
/// Types of the kernels' arguments.
const PARTS_TYPES: [&[&str]; 7] = [
    &["uchar4*", "image2d_t"],
    &["uchar4*", "image2d_t"],
    &["uchar4*"],
    &["uint4*"],
    &["int"],
    &["int"],
    &["int"],
];
const WHOLE_TYPES: [&[&str]; 3] = [&["uint4*"], &["uint4*"], &["int"]];
/// Work-items of a group.
const GROUP: usize = 64;
/// The most groups that share a picture, and the fewest pixels of one of them.
const GROUPS: usize = 1024;
const RUN: usize = 4 * GROUP;
/// Bytes of what a group found.
const FOUND: usize = 16;

/// How two pictures differ. A pixel's difference is the largest of its four channels'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Pixels that were compared: all of them.
    pub pixels: u64,
    /// Pixels that differ.
    pub differing: u64,
    /// The largest difference in levels, and the column and row of the first pixel that has it; `None` where nothing differs.
    pub largest: Option<(u8, (u32, u32))>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pixels, differing, largest } = self;
        let unit = if *pixels == 1 { "pixel" } else { "pixels" };
        let [pixels, all] = [*differing, *pixels].map(|count| thousands(count as f64));
        let Some((levels, (x, y))) = largest else {
            return write!(f, "identical: {all} {unit} compared");
        };
        let verb = if *differing == 1 { "differs" } else { "differ" };
        let s = if *levels == 1 { "" } else { "s" };
        write!(f, "{pixels} of {all} {unit} {verb}, by at most {levels} level{s}, first so at ({x}, {y})")
    }
}

/// A picture to be compared: RGBA, 8 bits a channel, no gaps between rows.
#[derive(Debug, Clone, Copy)]
pub enum Compared<'a> {
    /// In the device's memory, complete.
    OnDevice(&'a Picture),
    /// In the host's.
    OnHost(&'a [u8]),
}

/// What came of comparing two pictures.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// How they differ.
    pub difference: Difference,
    /// The map, RGBA, of the pictures' size.
    pub heat: Vec<u8>,
    /// What the kernels took the device, in milliseconds; not a number where it does not tell.
    pub ms: f64,
}

/// Compares pictures on one device. It builds a program when it is first needed.
pub struct Comparer {
    cl: ClContext,
    /// By whether a picture is an image.
    kernels: HashMap<[bool; 2], [Kernel; 2]>,
    source: String,
    /// For pictures from the host, by side.
    uploaded: [Option<Picture>; 2],
    heat: Option<Picture>,
    parts: Buffer,
    out: Buffer,
}

impl Comparer {
    /// # Errors
    /// When memory runs out.
    pub fn new(cl: &ClContext) -> Result<Self> {
        // It judges other kernels, so it is the one that was tried.
        Self::of_source(cl, program::built_in(FILE)?)
    }

    /// The same with kernels that are built and have run: those for pictures in buffers, and with `images` those for images, too.
    /// The first two pictures are then compared as soon as later ones.
    ///
    /// # Errors
    /// When they do not build, two pixels that are equal are not found to be, memory runs out, or the device fails.
    pub fn ready(cl: &ClContext, images: bool) -> Result<Self> {
        const PIXEL: [u8; 4] = [0; 4];
        let mut comparer = Self::new(cl)?;
        let mut found = vec![comparer.compare(Compared::OnHost(&PIXEL), Compared::OnHost(&PIXEL), (1, 1))?];
        if images {
            let image = Picture::alloc(cl, Storage::Image, 1, 1)?;
            image.write(&cl.queue, &PIXEL)?;
            found.push(comparer.compare(Compared::OnDevice(&image), Compared::OnDevice(&image), (1, 1))?);
        }
        match found.iter().all(|found| found.difference.largest.is_none()) {
            true => Ok(comparer),
            false => Err(Error::new(FAILED, "Of two equal ones its kernels say that they differ.", "")),
        }
    }

    /// The same with another text of the kernels' file.
    fn of_source(cl: &ClContext, source: String) -> Result<Self> {
        let memory = |len| Buffer::new(&cl.context, new_memory(cl), len).map_err(|e| failed(FAILED, &e));
        Ok(Self {
            cl: cl.clone(),
            kernels: HashMap::new(),
            source,
            uploaded: [None, None],
            heat: None,
            parts: memory(GROUPS * FOUND)?,
            out: memory(FOUND)?,
        })
    }

    /// Compares two pictures of this size, on the queue of the context, and waits.
    ///
    /// # Errors
    /// When a picture has another size, memory runs out, or the device fails.
    pub fn compare(&mut self, a: Compared, b: Compared, size: (u32, u32)) -> Result<Comparison> {
        let mut heat = picture_memory(size.0, size.1)?;
        let map = kept(&mut self.heat, &self.cl, size)?;
        let (difference, ms) = self.compare_into(&map, a, b, size)?;
        map.read(&self.cl.queue, &mut heat)?;
        Ok(Comparison { difference, heat, ms })
    }

    /// The same with the map in this buffer of the device's, and nothing but numbers for the host: how the pictures differ, and
    /// what that took the device, in milliseconds.
    fn compare_into(
        &mut self,
        map: &Picture,
        a: Compared,
        b: Compared,
        (width, height): (u32, u32),
    ) -> Result<(Difference, f64)> {
        let pixels = width as usize * height as usize;
        let [a, b] = [self.on_device(0, a, (width, height))?, self.on_device(1, b, (width, height))?];
        let run = pixels.div_ceil(GROUPS).next_multiple_of(GROUP).max(RUN);
        let groups = pixels.div_ceil(run);
        let images = [&a, &b].map(|picture| picture.storage() == Storage::Image);
        let kernels = match self.kernels.remove(&images) {
            Some(kernels) => kernels,
            None => self.build(images)?,
        };
        let [parts, whole] = self.kernels.entry(images).or_insert(kernels);
        let queue = &self.cl.queue;
        let start = || {
            let [width, pixels, run] = [width as i32, pixels as i32, run as i32].map(Value::Int);
            parts.set(0, a.mem())?;
            parts.set(1, b.mem())?;
            parts.set(2, map.mem())?;
            parts.set(3, self.parts.mem())?;
            parts.set(4, width)?;
            parts.set(5, pixels)?;
            parts.set(6, run)?;
            whole.set(0, self.parts.mem())?;
            whole.set(1, self.out.mem())?;
            whole.set(2, Value::Int(groups as i32))?;
            // SAFETY: these are all arguments, with their types. The pictures and the map have this size, there is room for
            // what each group found, and the kernels stay inside.
            unsafe {
                let first = enqueue(queue, parts, 1, [groups * GROUP, 1, 1], [GROUP, 1, 1])?;
                Ok([first, enqueue(queue, whole, 1, [GROUP, 1, 1], [GROUP, 1, 1])?])
            }
        };
        let began = Instant::now();
        let ran = start().map_err(|e| failed(FAILED, &e));
        let mut found = [0; FOUND];
        let ran = ran.and_then(|events| {
            self.out.read(queue, &mut found).map_err(|e| failed(FAILED, &e))?;
            Ok(events)
        });
        // What they name may go.
        parts.forget_memory();
        let of = |event: &_| timer::device_ms_within(event, Some(began.elapsed())).unwrap_or(f64::NAN);
        let ms = ran?.iter().map(of).sum();
        let [differing, largest, at, _] = numbers(&found);
        let largest = (largest > 0).then(|| (largest as u8, (at % width, at / width)));
        let difference = Difference { pixels: pixels as u64, differing: differing.into(), largest };
        Ok((difference, ms))
    }

    fn build(&self, [a, b]: [bool; 2]) -> Result<[Kernel; 2]> {
        let options = format!("-D GROUP={GROUP} -D A_IMAGE={} -D B_IMAGE={}", u8::from(a), u8::from(b));
        let program = program::build(&self.cl, FILE, &self.source, &options)?;
        let kernel = |name, types: &[&[&str]]| {
            let kernel = Kernel::new(&program, name).map_err(|e| failed(FAILED, &e))?;
            expect_types(&kernel, FILE, types).map(|()| kernel)
        };
        Ok([kernel("difference_parts", &PARTS_TYPES)?, kernel("difference_whole", &WHOLE_TYPES)?])
    }

    /// The picture in the device's memory.
    fn on_device(&mut self, side: usize, picture: Compared, (width, height): (u32, u32)) -> Result<Picture> {
        let bytes = width as usize * height as usize * 4;
        let fits = match picture {
            Compared::OnHost(pixels) => pixels.len() == bytes,
            Compared::OnDevice(Picture::Buffer(buffer)) => buffer.len() == bytes,
            Compared::OnDevice(Picture::Image(image)) => image.size() == (width as usize, height as usize),
        };
        if !fits || bytes == 0 {
            return Err(Error::new(FAILED, format!("One is not {width}×{height} pixels."), ""));
        }
        match (picture, self.uploaded.get_mut(side)) {
            (Compared::OnHost(pixels), Some(uploaded)) => {
                let to = kept(uploaded, &self.cl, (width, height))?;
                to.write(&self.cl.queue, pixels).map(|()| to)
            }
            (Compared::OnDevice(picture), _) => Ok(picture.clone()),
            (Compared::OnHost(_), None) => Err(Error::new(FAILED, "", "")),
        }
    }
}

/// The buffer in `slot`, or a new one where that has another size.
fn kept(slot: &mut Option<Picture>, cl: &ClContext, (width, height): (u32, u32)) -> Result<Picture> {
    let bytes = width as usize * height as usize * 4;
    let fits = |picture: &Picture| matches!(picture, Picture::Buffer(buffer) if buffer.len() == bytes);
    match slot.take().filter(fits) {
        Some(picture) => Ok(slot.insert(picture).clone()),
        None => Ok(slot.insert(Picture::alloc(cl, Storage::Buffer, width, height)?).clone()),
    }
}

fn numbers(bytes: &[u8; FOUND]) -> [u32; 4] {
    let mut numbers = [0; 4];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = u32::from_ne_bytes(*bytes);
    }
    numbers
}

/// Where a slot's picture is: in the device's memory, which is known already, or the host's.
fn place<'a>(slot: &'a Slot, on_device: &'a Option<(Picture, bool)>) -> Option<Compared<'a>> {
    match on_device {
        Some((picture, _)) => Some(Compared::OnDevice(picture)),
        None => slot.pixels().map(Compared::OnHost),
    }
}

impl Pipeline {
    /// Compares the pictures of two slots, and waits. The map goes to its slot on the way of frames: into the texture on the
    /// device, or into the host's memory.
    fn compare(&mut self, a: &Slot, b: &Slot, map: &mut Slot) -> Result<(Difference, f64)> {
        let to_texture = self.to_texture() && map.texture().is_some();
        let cl = &self.cl;
        if matches!(self.comparer, None | Some(Err(_))) {
            // It is asked for anew where it is wanted once more.
            self.comparer_asked = false;
            let comparer = self.comparer.take().unwrap_or_else(|| Comparer::new(&self.cl))?;
            self.comparer = Some(Ok(comparer));
        }
        let Some(Ok(comparer)) = &mut self.comparer else {
            return Err(Error::new(FAILED, "There is nothing that compares them.", ""));
        };
        let slots = [a, b];
        let on_device = slots.map(Slot::on_device);
        let lend = |to_cl| {
            let shared = |of: &Option<(Picture, bool)>| matches!(of, Some((_, true)));
            let mut lent = slots.into_iter().zip(&on_device).filter(|(_, of)| shared(of));
            lent.try_for_each(|(slot, _)| slot.lend_texture(&self.cl, to_cl))
        };
        lend(true)?;
        let [of_a, of_b] = &on_device;
        let no_pixels = || Error::new(FAILED, "One has no pixels.", "");
        let sides = place(a, of_a).zip(place(b, of_b)).ok_or_else(no_pixels);
        let compared = sides.and_then(|(of_a, of_b)| {
            let heat = match to_texture {
                true => kept(&mut comparer.heat, cl, a.size())?,
                false => map.target(cl, Storage::Buffer)?,
            };
            map.load_nothing();
            if to_texture {
                map.shared(cl)?;
            }
            map.to_device(cl, &cl.queue)?;
            let (difference, ms) = comparer.compare_into(&heat, of_a, of_b, a.size())?;
            if to_texture {
                map.acquire(cl)?;
                map.copy_to_texture(cl, &heat)?;
            }
            map.to_host(cl, to_texture)?;
            Ok((difference, ms))
        });
        lend(false)?;
        cl.queue.finish().map_err(|e| failed(FAILED, &e))?;
        map.back_on_host();
        compared
    }
}

impl Engine {
    /// Compares two pictures of one size that the engine has made, in their slots as they came back, and waits. Where they are
    /// in textures, OpenGL must have finished with these. The map goes to a slot of its own, of that size; where textures are
    /// shared no pixel comes to the host. Returns how the pictures differ, and what that took the device, in milliseconds.
    ///
    /// # Errors
    /// When there is no device, or it fails, or a picture is not there.
    pub fn compare(&mut self, a: &Slot, b: &Slot, map: &mut Slot) -> Result<(Difference, f64)> {
        let Some(pipeline) = &mut self.pipeline else {
            let why = "An OpenCL device compares them, and there is none.";
            return Err(Error::new(FAILED, why, "Choose a device with Ctrl+D."));
        };
        if self.side == Side::Both {
            pipeline.make_map_ready(map);
        }
        pipeline.compare(a, b, map)
    }

    /// Does what OpenGL has to do before [`Engine::compare`] writes a map into this slot.
    pub(crate) fn make_map_ready(&self, map: &mut Slot) {
        if let Some(pipeline) = &self.pipeline {
            pipeline.make_map_ready(map);
        }
    }
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
