//! Colour correction of RGBA8 pictures on a device.

use std::collections::HashMap;

use super::launch::{
    CurveBuffer, KernelCache, KernelProgram, START_FAILED, build, enqueue_kernel, expect_size, luma_argument,
};
use base::error::{Error, Result};
use opencl::cl::{ClContext, Event, Queue, failed};
use opencl::kernel::Value;
use opencl::memory::{Picture, Storage};
use video::color::Matrix;
use video::color::{Correction, CorrectionTables, RgbaColors};

pub(super) const CORRECT_FILE: &str = "convert/02_correct.cl";
/// The accepted types of each argument of the kernel.
const CORRECT_ARGUMENT_TYPES: [&[&str]; 7] = [
    &["uchar4*", "image2d_t"],
    &["uchar4*", "image2d_t"],
    &["int"],
    &["int"],
    &["int"],
    &["uchar*"],
    &["int4"],
];

/// Corrects the colours of RGBA8 pictures on one device. Programs are built when they are first needed.
///
/// A corrector can be created and prepared on any thread and sent to another. All its commands must use one in-order queue.
pub struct Corrector {
    cl: ClContext,
    /// The programs by the storage of the source and of the destination: true for an image, false for a buffer.
    programs: HashMap<(bool, bool), KernelProgram>,
    curve: CurveBuffer,
}

impl Corrector {
    /// Creates a corrector without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), programs: HashMap::new(), curve: CurveBuffer::default() }
    }

    pub(super) fn cl(&self) -> &ClContext {
        &self.cl
    }

    /// Builds the program for these storages of source and destination, unless it exists, and runs it once. Takes up to a
    /// second, so call it in the background.
    ///
    /// # Errors
    /// When the program does not build, with its log, or fails to run.
    pub fn prepare(&mut self, from: Storage, to: Storage) -> Result<()> {
        let class = (from == Storage::Image, to == Storage::Image);
        if self.programs.contains_key(&class) {
            return Ok(());
        }
        let options = format!("-D FROM_IMAGE={} -D TO_IMAGE={}", u8::from(class.0), u8::from(class.1));
        let kernel_program =
            build(&self.cl, CORRECT_FILE, "correct_pixels", &options, &CORRECT_ARGUMENT_TYPES)?;
        self.programs.insert(class, kernel_program);
        let mut run = || -> Result<()> {
            let queue = self.cl.extra_queue()?;
            let (src, dst) = (Picture::alloc(&self.cl, from, 8, 2)?, Picture::alloc(&self.cl, to, 8, 2)?);
            src.write(&queue, &[0; 64])?;
            let neutral = Correction::NEUTRAL.tables(Matrix::Bt709);
            let kernels = &mut KernelCache::default();
            let _event = self.launch(&queue, kernels, &src, &dst, (8, 2), (&neutral, true))?;
            queue.finish().map_err(|e| failed("The colour correction failed to run on the device.", &e))
        };
        let ran = run();
        ran.inspect_err(|_| drop(self.programs.remove(&class)))
    }

    /// Enqueues the correction of `src` to `dst`, both of `size` (width and height in pixels) and premultiplied. `src` and
    /// `dst` may be the same buffer, but not the same image. Arguments that the kernel in `kernels` already has are not set
    /// again. Returns the command's event without waiting; flush the queue to start it. Waits for the compiler if
    /// [`Corrector::prepare`] was not called for these storages. Do not call this for a neutral correction
    /// ([`Correction::is_neutral`]): it would only copy the picture.
    ///
    /// # Errors
    /// When a picture has another size, both are one image, the program does not build, or the device refuses.
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue(
        &mut self,
        queue: &Queue,
        kernels: &mut KernelCache,
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
        self.launch(queue, kernels, src, dst, size, (&correction.tables(colors.matrix), colors.has_alpha))
    }

    fn launch(
        &mut self,
        queue: &Queue,
        kernels: &mut KernelCache,
        src: &Picture,
        dst: &Picture,
        (width, height): (u32, u32),
        (tables, has_alpha): (&CorrectionTables, bool),
    ) -> Result<Event> {
        let class = (src.storage() == Storage::Image, dst.storage() == Storage::Image);
        let Some(kernel_program) = self.programs.get(&class) else {
            return Err(Error::new(START_FAILED, "Its program is not built.", ""));
        };
        let kernel = kernels.get(kernel_program)?;
        let curve = self.curve.get(&self.cl, tables)?;
        // SAFETY: these are all arguments of the kernel, with their types; both pictures have this size, and the
        // kernel stays inside them.
        unsafe {
            enqueue_kernel(
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
