//! Building and launching the kernels of conversion and correction.

use ocl::ffi::CL_MEM_READ_ONLY;

use base::error::{Error, Result};
use compute::plan::Types;
use opencl::cl::{Buffer, ClContext, Event, Mem, Program, Queue, failed};
use opencl::kernel::{Argument, Kernel, NdRange, Value, enqueue, expect_types, unique_number};
use opencl::memory::Picture;
use opencl::program;
use video::color::{CorrectionTables, Layout};

/// The first sentence of the error if a conversion cannot be enqueued.
pub(super) const START_FAILED: &str = "The conversion of a frame could not be started.";

/// The correction's curve in device memory. A new curve gets new memory, since enqueued commands may still read the old
/// one; OpenCL frees the old memory once they have finished.
#[derive(Default)]
pub(super) struct CurveBuffer(Option<([u8; 256], Buffer)>);

impl CurveBuffer {
    /// Returns the curve of `tables` in device memory.
    pub(super) fn get(&mut self, cl: &ClContext, tables: &CorrectionTables) -> Result<&Mem> {
        let buffer = match self.0.take() {
            Some((curve, buffer)) if curve == tables.curve => buffer,
            _ => Buffer::copied(&cl.context, CL_MEM_READ_ONLY, &tables.curve)
                .map_err(|e| failed("Memory for the colour correction could not be had.", &e))?,
        };
        Ok(self.0.insert((tables.curve, buffer)).1.mem())
    }
}

/// Returns the argument for the chroma siting: horizontal, vertical, and 1 for interlaced pictures.
pub(super) fn siting_argument(layout: &Layout) -> Value {
    Value::Int4([layout.siting.0 as i32, layout.siting.1 as i32, i32::from(layout.interlaced), 0])
}

/// Returns the argument for the luma weights and the saturation.
pub(super) fn luma_argument(tables: &CorrectionTables) -> Value {
    let [red, green, blue] = tables.luma;
    Value::Int4([red, green, blue, tables.saturation])
}

/// A built program and the name of one of its kernels. Arguments belong to a kernel object, so each thread creates its own
/// kernel object.
#[derive(Clone)]
pub(super) struct KernelProgram {
    program: Program,
    name: &'static str,
    /// The number that identifies this build of the program.
    number: u64,
}

/// The OpenCL types of pictures, in a buffer or an image.
pub(super) const PICTURE: Types = &["uchar4*", "image2d_t"];
/// The OpenCL type of curves.
pub(super) const BYTES: Types = &["uchar*"];
pub(super) const INT: Types = &["int"];
pub(super) const INT4: Types = &["int4"];
pub(super) const INT8: Types = &["int8"];

/// A kernel in a file, and the accepted types of each of its arguments; an empty list accepts any type.
pub(super) struct KernelSource {
    pub file: &'static str,
    pub name: &'static str,
    pub types: &'static [Types],
}

/// Builds a program. Returns an error unless the kernel's arguments have the types of its source.
pub(super) fn build(cl: &ClContext, source: &KernelSource, options: &str) -> Result<KernelProgram> {
    let KernelSource { file, name, types } = *source;
    let program = program::build(cl, file, options)?;
    let kernel_program = KernelProgram { program, name, number: unique_number() };
    let what = format!("The kernel '{name}' in {file} could not be made.");
    let kernel = Kernel::from_file(&kernel_program.program, &cl.device.info, file, name, &what)?;
    expect_types(&kernel, file, types)?;
    Ok(kernel_program)
}

/// A cache of conversion and correction kernels with the arguments of their last launch, for launches that use the same
/// memory, such as those of one frame slot. Kernels keep their memory objects alive, so drop the cache before the host
/// memory that these objects use.
#[derive(Debug, Default)]
pub struct KernelCache(Vec<(u64, Kernel)>);

impl KernelCache {
    /// The maximum number of cached kernels. Frames of one format need fewer, with and without a filter on planes.
    const MAX_KERNELS: usize = 4;

    /// Returns the cached kernel of a program, or creates it. A full cache drops the least recently used kernel.
    pub(super) fn get(&mut self, kernel_program: &KernelProgram) -> Result<&Kernel> {
        let at = match self.0.iter().position(|(number, _)| *number == kernel_program.number) {
            Some(at) => at,
            None => {
                let KernelProgram { program, name, .. } = kernel_program;
                let kernel = Kernel::new(program, name)
                    .map_err(|e| failed(&format!("The kernel '{name}' could not be made."), &e))?;
                self.0.truncate(Self::MAX_KERNELS - 1);
                self.0.push((kernel_program.number, kernel));
                self.0.len() - 1
            }
        };
        self.0[..=at].rotate_right(1);
        Ok(&self.0[0].1)
    }
}

/// A kernel, with the context and the queue for its launch.
pub(super) struct Launch<'a> {
    pub cl: &'a ClContext,
    pub queue: &'a Queue,
    pub kernel: &'a Kernel,
}

impl Launch<'_> {
    pub(super) fn set_arguments<const N: usize>(&self, arguments: [Argument; N]) -> Result<()> {
        for (index, argument) in (0..).zip(arguments) {
            self.kernel.set(index, argument).map_err(|e| failed(START_FAILED, &e))?;
        }
        Ok(())
    }

    /// Sets all arguments and enqueues the kernel, over `across` by `down` work-items.
    ///
    /// # Safety
    /// The arguments must be all of the kernel's, with the right types, and their memory large enough for it.
    pub(super) unsafe fn enqueue<const N: usize>(
        &self,
        (across, down): (u32, u32),
        arguments: [Argument; N],
    ) -> Result<Event> {
        self.set_arguments(arguments)?;
        let wanted = if self.cl.is_cpu() { (64, 1) } else { (32, 4) };
        let most = self.cl.device.info.max_work_group_size.max(1);
        let group = if wanted.0 * wanted.1 <= most { wanted } else { (most.min(wanted.0), 1) };
        let global = [(across as usize).next_multiple_of(group.0), (down as usize).next_multiple_of(group.1)];
        // SAFETY: as the caller guarantees.
        unsafe { enqueue(self.queue, self.kernel, NdRange::plane(global, group.into()), &[]) }
            .map_err(|e| failed(START_FAILED, &e))
    }
}

/// Returns an error unless a picture has exactly this size in pixels.
pub(super) fn expect_size(picture: &Picture, width: u32, height: u32) -> Result<()> {
    let (w, h) = (width as usize, height as usize);
    let fits = match picture {
        Picture::Buffer(buffer) => buffer.len() == w * h * 4,
        Picture::Image(image) => image.size() == (w, h),
    };
    if fits && w > 0 && h > 0 {
        return Ok(());
    }
    Err(Error::new(START_FAILED, format!("The picture on the device is not {width}×{height} pixels."), ""))
}
