//! Colour correction of RGBA8 pictures on a device.

use std::collections::HashMap;

use super::launch::{
    BYTES, CurveBuffer, INT, INT4, KernelCache, KernelProgram, KernelSource, Launch, PICTURE, START_FAILED,
    build, expect_size, luma_argument,
};
use base::error::{Error, Result};
use opencl::cl::{ClContext, Event, Queue, failed};
use opencl::kernel::Value;
use opencl::memory::{Picture, Storage};
use video::color::{Correction, Matrix, RgbaColors};

pub(super) const CORRECT: KernelSource = KernelSource {
    file: "convert/02_correct.cl",
    name: "correct_pixels",
    types: &[PICTURE, PICTURE, INT, INT, INT, BYTES, INT4],
};

/// A colour correction of one premultiplied picture on a device.
#[derive(Debug, Clone)]
pub struct CorrectCommand {
    /// The picture before the correction.
    pub from: Picture,
    /// The destination, which may be the same buffer, but not the same image.
    pub to: Picture,
    /// The width and height of both in pixels.
    pub size: (u32, u32),
    /// The correction. A [neutral](Correction::is_neutral) one only copies the picture.
    pub correction: Correction,
    /// The properties of the picture that the correction depends on.
    pub colors: RgbaColors,
}

/// Corrects the colours of RGBA8 pictures on one device. Programs are built when they are first needed.
///
/// A corrector can be created and prepared on any thread and sent to another. All its commands must use one in-order queue.
pub struct Corrector {
    pub(super) cl: ClContext,
    /// The programs by the kinds of memory of the source and of the destination.
    programs: HashMap<(Storage, Storage), KernelProgram>,
    curve: CurveBuffer,
}

impl Corrector {
    /// Creates a corrector without programs.
    pub fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), programs: HashMap::new(), curve: CurveBuffer::default() }
    }

    /// Builds the program for these kinds of memory of source and destination, unless it exists, and runs it once. Takes up to
    /// a second, so call it in the background.
    ///
    /// # Errors
    /// Returns an error if the program does not build, with its log, or fails to run.
    pub fn prepare(&mut self, from: Storage, to: Storage) -> Result<()> {
        let class = (from, to);
        if self.programs.contains_key(&class) {
            return Ok(());
        }
        let [from_image, to_image] = [from, to].map(|storage| u8::from(storage == Storage::Image));
        let options = format!("-D FROM_IMAGE={from_image} -D TO_IMAGE={to_image}");
        let kernel_program = build(&self.cl, &CORRECT, &options)?;
        self.programs.insert(class, kernel_program);
        let mut run = || -> Result<()> {
            let queue = self.cl.extra_queue()?;
            let (from, to) = (Picture::alloc(&self.cl, from, 8, 2)?, Picture::alloc(&self.cl, to, 8, 2)?);
            from.write(&queue, &[0; 64])?;
            let colors = RgbaColors { matrix: Matrix::Bt709, has_alpha: true };
            let tiny = CorrectCommand { from, to, size: (8, 2), correction: Correction::NEUTRAL, colors };
            let _event = self.launch(&queue, &mut KernelCache::default(), &tiny)?;
            queue.finish().map_err(|e| failed("The colour correction failed to run on the device.", &e))
        };
        let ran = run();
        ran.inspect_err(|_| drop(self.programs.remove(&class)))
    }

    /// Enqueues a correction. Arguments that the kernel in `kernels` already has are not set again. Returns the command's event
    /// without waiting; flush the queue to start it. Waits for the compiler if [`Corrector::prepare`] was not called for these
    /// kinds of memory.
    ///
    /// # Errors
    /// Returns an error if a picture has another size, both are one image, the program does not build, or the device refuses.
    pub fn enqueue(
        &mut self,
        queue: &Queue,
        kernels: &mut KernelCache,
        command: &CorrectCommand,
    ) -> Result<Event> {
        let CorrectCommand { from, to, size, .. } = command;
        expect_size(from, size.0, size.1)?;
        expect_size(to, size.0, size.1)?;
        if from.storage() == Storage::Image && from.mem().raw() == to.mem().raw() {
            let why = "An image cannot be read and written by one command.";
            return Err(Error::new("The colours could not be corrected.", why, ""));
        }
        self.prepare(from.storage(), to.storage())?;
        self.launch(queue, kernels, command)
    }

    fn launch(
        &mut self,
        queue: &Queue,
        kernels: &mut KernelCache,
        command: &CorrectCommand,
    ) -> Result<Event> {
        let CorrectCommand { from, to, size, correction, colors } = command;
        let Some(kernel_program) = self.programs.get(&(from.storage(), to.storage())) else {
            return Err(Error::new(START_FAILED, "Its program is not built.", ""));
        };
        let tables = correction.tables(colors.matrix);
        let arguments = [
            from.mem().into(),
            to.mem().into(),
            Value::Int(size.0 as i32).into(),
            Value::Int(size.1 as i32).into(),
            Value::Int(colors.has_alpha.into()).into(),
            self.curve.get(&self.cl, &tables)?.into(),
            luma_argument(&tables).into(),
        ];
        let launch = Launch { cl: &self.cl, queue, kernel: kernels.get(kernel_program)? };
        // SAFETY: these are all arguments of the kernel, with their types; both pictures have this size, and the
        // kernel stays inside them.
        unsafe { launch.enqueue(*size, arguments) }
    }
}
