//! The colour correction of pictures that are RGBA8 already.

use std::collections::HashMap;

use super::launch::{Built, Curve, KeptKernels, NOT_STARTED, build, expect_size, luma_argument, start};
use base::error::{Error, Result};
use opencl::cl::{ClContext, Event, Queue, failed};
use opencl::kernel::Value;
use opencl::memory::{Picture, Storage};
use video::color::Matrix;
use video::color::{Correction, RgbaColors, Tables};

pub(super) const CORRECT: &str = "convert/02_correct.cl";
/// Types of the kernel's arguments.
const CORRECT_TYPES: [&[&str]; 7] = [
    &["uchar4*", "image2d_t"],
    &["uchar4*", "image2d_t"],
    &["int"],
    &["int"],
    &["int"],
    &["uchar*"],
    &["int4"],
];

/// RGBA8 to RGBA8 with other colours, on one device. It builds a program when it is first needed.
///
/// It can be made and prepared on any thread and sent to another. All its commands go to one in-order queue.
pub struct Corrector {
    cl: ClContext,
    programs: HashMap<(bool, bool), Built>,
    curve: Curve,
    /// For those who keep none.
    kept: KeptKernels,
}

impl Corrector {
    /// A corrector without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self {
            cl: cl.clone(),
            programs: HashMap::new(),
            curve: Curve::default(),
            kept: KeptKernels::default(),
        }
    }

    pub(super) fn cl(&self) -> &ClContext {
        &self.cl
    }

    /// Builds the program for these kinds of source and destination, unless it is there, and runs it once. Takes up to
    /// a second, so call it in the background.
    ///
    /// # Errors
    /// When the program does not build, with its log, or fails to run.
    pub fn prepare(&mut self, from: Storage, to: Storage) -> Result<()> {
        let class = (from == Storage::Image, to == Storage::Image);
        if self.programs.contains_key(&class) {
            return Ok(());
        }
        let options = format!("-D FROM_IMAGE={} -D TO_IMAGE={}", u8::from(class.0), u8::from(class.1));
        let built = build(&self.cl, CORRECT, "correct_pixels", &options, &CORRECT_TYPES)?;
        self.programs.insert(class, built);
        let mut run = || -> Result<()> {
            let queue = self.cl.extra_queue()?;
            let (src, dst) = (Picture::alloc(&self.cl, from, 8, 2)?, Picture::alloc(&self.cl, to, 8, 2)?);
            src.write(&queue, &[0; 64])?;
            let neutral = Correction::NEUTRAL.tables(Matrix::Bt709);
            let kept = &mut KeptKernels::default();
            let _event = self.launch(&queue, kept, &src, &dst, (8, 2), (&neutral, true))?;
            queue.finish().map_err(|e| failed("The colour correction failed to run on the device.", &e))
        };
        let ran = run();
        ran.inspect_err(|_| drop(self.programs.remove(&class)))
    }

    /// Enqueues the correction of `src` to `dst`, both of `size` (width and height in pixels) and premultiplied. `src` and `dst` may be the same buffer, but not the same image. Returns at once with the command's
    /// event; flush the queue to start it. It waits for the compiler if [`Corrector::prepare`] has not been called
    /// for these kinds. Leave it out where [`Correction::is_neutral`]: it would copy.
    ///
    /// # Errors
    /// When a picture has another size, both are one image, the program does not build, or the device refuses.
    pub fn enqueue(
        &mut self,
        queue: &Queue,
        src: &Picture,
        dst: &Picture,
        size: (u32, u32),
        correction: &Correction,
        colors: RgbaColors,
    ) -> Result<Event> {
        let mut kept = std::mem::take(&mut self.kept);
        let enqueued = self.enqueue_kept(queue, &mut kept, src, dst, size, correction, colors);
        // Whoever keeps no kernels may free the memory.
        kept.forget_memory();
        self.kept = kept;
        enqueued
    }

    /// The same by a kernel of `kept`: arguments that it has from the last time are not set again.
    ///
    /// # Errors
    /// As [`Corrector::enqueue`].
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue_kept(
        &mut self,
        queue: &Queue,
        kept: &mut KeptKernels,
        src: &Picture,
        dst: &Picture,
        size: (u32, u32),
        correction: &Correction,
        colors: RgbaColors,
    ) -> Result<Event> {
        expect_size(src, size.0, size.1)?;
        expect_size(dst, size.0, size.1)?;
        if src.storage() == Storage::Image && src.mem().raw() == dst.mem().raw() {
            let why = "An image cannot be read and written by one command.";
            return Err(Error::new("The colours could not be corrected.", why, ""));
        }
        self.prepare(src.storage(), dst.storage())?;
        self.launch(queue, kept, src, dst, size, (&correction.tables(colors.matrix), colors.has_alpha))
    }

    fn launch(
        &mut self,
        queue: &Queue,
        kept: &mut KeptKernels,
        src: &Picture,
        dst: &Picture,
        (width, height): (u32, u32),
        (tables, has_alpha): (&Tables, bool),
    ) -> Result<Event> {
        let class = (src.storage() == Storage::Image, dst.storage() == Storage::Image);
        let Some(built) = self.programs.get(&class) else {
            return Err(Error::new(NOT_STARTED, "Its program is not built.", ""));
        };
        let kernel = kept.get(built)?;
        let curve = self.curve.get(&self.cl, tables)?;
        // SAFETY: these are all arguments of the kernel, with their types; both pictures have this size, and the
        // kernel stays inside them.
        unsafe {
            start(
                &self.cl,
                queue,
                kernel,
                (width as usize, height as usize),
                [
                    src.mem().into(),
                    dst.mem().into(),
                    Value::Int(width as i32).into(),
                    Value::Int(height as i32).into(),
                    Value::Int(has_alpha.into()).into(),
                    curve.into(),
                    luma_argument(tables).into(),
                ],
            )
        }
    }
}
