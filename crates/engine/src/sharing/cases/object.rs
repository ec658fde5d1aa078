//! A texture or buffer of OpenGL with its OpenCL memory object, and the bytes that are exchanged through it.

use std::sync::Arc;

use ocl::ffi;

use super::super::GlAccess;
use super::super::vertex_buffer::VertexBuffer;
use super::{Direction, Format, Outcome, complement, without_stop};
use base::random::Xorshift;
use opencl::cl::{Answer, Buffer, ClContext, Image, Queue, Status, reason};
use opencl::memory::Picture;
use opengl::names::{ContextThread, GlObject};
use opengl::texture::PixelFormat;

/// A texture or buffer of OpenGL. It may be dropped on any thread and is deleted at the next
/// [`delete_pending`](opengl::names::delete_pending) on the thread of its context.
pub(super) enum GlMemory {
    Texture { name: glow::Texture, pixels: PixelFormat, size: (u32, u32), home: ContextThread },
    Buffer(VertexBuffer),
}

impl Drop for GlMemory {
    fn drop(&mut self) {
        if let GlMemory::Texture { name, home, .. } = self {
            home.delete_later(GlObject::Texture(*name));
        }
    }
}

impl GlMemory {
    /// Creates the memory, and verifies that OpenGL itself returns the bytes that it is filled with. The context must be
    /// current.
    fn new(gl: &glow::Context, format: Format, size: (u32, u32), bytes: &[u8]) -> Result<Arc<Self>, Outcome> {
        let memory = match format.pixels() {
            Some(pixels) => pixels.gl.create(gl, size.0, size.1).map(|name| {
                let (pixels, home) = (pixels.gl, ContextThread::here());
                GlMemory::Texture { name, pixels, size, home }
            }),
            None => VertexBuffer::new(gl, bytes.len()).map(GlMemory::Buffer),
        };
        let memory = memory.map_err(|e| Outcome::Failed(without_stop(&e.why)))?;
        memory.write(gl, bytes);
        match memory.read(gl) {
            Ok(got) if got == bytes => Ok(Arc::new(memory)),
            _ => Err(Outcome::Unsupported(format!("OpenGL does not keep the bytes of {}", format.plural()))),
        }
    }

    /// Copies bytes from the host to the memory. The context must be current.
    pub(super) fn write(&self, gl: &glow::Context, bytes: &[u8]) {
        match self {
            GlMemory::Texture { name, pixels, size, .. } => pixels.fill(gl, *name, *size, bytes),
            GlMemory::Buffer(buffer) => {
                buffer.write(gl, bytes);
            }
        }
    }

    /// Reads the object's bytes through OpenGL, and waits until they have arrived. The context must be current.
    fn read(&self, gl: &glow::Context) -> Result<Vec<u8>, String> {
        match self {
            GlMemory::Texture { name, pixels, size, .. } => {
                pixels.read(gl, *name, *size).map_err(|e| without_stop(&e.why))
            }
            GlMemory::Buffer(buffer) => buffer.read(gl).ok_or_else(|| "OpenGL maps no buffer".to_owned()),
        }
    }

    /// Creates the OpenCL memory object that shares this memory.
    fn share(&self, cl: &ClContext) -> Answer<Picture> {
        // SAFETY: the memory is of the OpenGL context that `cl` shares with, if it shares at all; else the driver refuses.
        unsafe {
            match self {
                GlMemory::Texture { name, pixels, size: (width, height), .. } => {
                    let size = (*width as usize, *height as usize);
                    Image::from_gl(&cl.context, name.0.get(), size, pixels.pixel_bytes).map(Picture::Image)
                }
                GlMemory::Buffer(buffer) => {
                    Buffer::from_gl(&cl.context, buffer.name.0.get(), buffer.len).map(Picture::Buffer)
                }
            }
        }
    }
}

/// An object that both APIs can access. Fields are dropped in order: OpenCL's memory object must go before OpenGL's memory.
pub(crate) struct Object {
    /// OpenCL's memory object, of any format.
    pub in_opencl: Picture,
    pub(super) in_opengl: Arc<GlMemory>,
    format: Format,
    size: (u32, u32),
    /// The expected bytes in OpenGL's order; `opencl_bytes` has them in OpenCL's order. Red and blue are exchanged where the
    /// two orders differ.
    pub opengl_bytes: Vec<u8>,
    opencl_bytes: Vec<u8>,
    /// The complement of `opencl_bytes`. It is written before the expected bytes, so that no byte is right by chance.
    others: Vec<u8>,
    /// The bytes that OpenCL reads: one array for each time that the object is acquired.
    read: [Vec<u8>; 2],
}

impl Object {
    /// Creates an object in both APIs.
    ///
    /// # Errors
    /// The outcome of the case, if the object cannot be created.
    pub(super) fn new(
        cl: &ClContext,
        gl: &GlAccess,
        format: Format,
        size: (u32, u32),
        random: &mut Xorshift,
    ) -> Result<Self, Outcome> {
        let opengl_bytes = format.random_bytes(size, random);
        let others = complement(&opengl_bytes);
        let created = gl.call(move |gl| GlMemory::new(gl, format, size, &others));
        let in_opengl = created.map_err(Outcome::Failed)??;
        let in_opencl = in_opengl.share(cl).map_err(|status| refused(format, &status))?;
        let mut opencl_bytes = opengl_bytes.clone();
        if exchanges_red_and_blue(format, &in_opencl)? {
            opencl_bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|pixel| pixel.swap(0, 2));
        }
        let (others, none) = (complement(&opencl_bytes), vec![0; opencl_bytes.len()]);
        let read = [none.clone(), none];
        Ok(Self { in_opencl, in_opengl, format, size, opengl_bytes, opencl_bytes, others, read })
    }

    /// Enqueues a read by OpenCL. `round` is the number of times that the object was acquired and released before. The object
    /// must live until the command is complete.
    pub(super) fn enqueue_read(&mut self, queue: &Queue, round: usize) -> Answer<()> {
        let into = &mut self.read[round];
        // SAFETY: there is room for all bytes, and the caller keeps the object.
        unsafe { self.in_opencl.enqueue_read(queue, into.as_mut_ptr()) }.map(drop)
    }

    /// Enqueues a write by OpenCL: of the expected bytes if the object is acquired for the last time, otherwise of their
    /// complement. The object must live until the command is complete.
    pub(super) fn enqueue_write(&mut self, queue: &Queue, is_last: bool) -> Answer<()> {
        let from = if is_last { &self.opencl_bytes } else { &self.others };
        // SAFETY: these are all bytes, and the caller keeps the object.
        unsafe { self.in_opencl.enqueue_write(queue, from.as_ptr()) }.map(drop)
    }

    /// Compares the bytes that OpenGL reads with the expected ones, or those that OpenCL read each time that the object was acquired.
    pub(super) fn compare_all(
        &self,
        gl: &GlAccess,
        direction: Direction,
        rounds: usize,
    ) -> Result<(), Outcome> {
        if direction == Direction::ToCl {
            return self.read.iter().take(rounds).try_for_each(|got| self.compare(got, &self.opencl_bytes));
        }
        let memory = self.in_opengl.clone();
        let got = gl.call(move |gl| memory.read(gl)).and_then(|got| got).map_err(Outcome::Failed)?;
        self.compare(&got, &self.opengl_bytes)
    }

    fn compare(&self, got: &[u8], want: &[u8]) -> Result<(), Outcome> {
        let differ = got.iter().zip(want).enumerate().filter(|(_, (got, want))| got != want);
        let Some((at, (got, want))) = differ.clone().next() else { return Ok(()) };
        let (pixel, byte) = (at / self.format.pixel_bytes(), at % self.format.pixel_bytes());
        let (width, height) = (self.size.0 as usize, self.size.1);
        let place = match self.format {
            Format::Buffer => format!("byte {at}"),
            _ => format!("byte {byte} of pixel ({}, {}) of {width}×{height}", pixel % width, pixel / width),
        };
        let first = format!("{place} is {got:#04x}, expected {want:#04x}");
        Err(Outcome::Wrong { wrong: differ.count(), bytes: self.opengl_bytes.len(), first })
    }
}

/// Returns the outcome of a case in which the driver creates no OpenCL memory object for an object of this format.
fn refused(format: Format, status: &Status) -> Outcome {
    let why = format!("the driver does not share {}: {}", format.plural(), without_stop(&reason(status)));
    match status.0 {
        ffi::CL_IMAGE_FORMAT_NOT_SUPPORTED
        | ffi::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR
        | ffi::CL_INVALID_OPERATION
        | ffi::CL_INVALID_GL_OBJECT => Outcome::Unsupported(why),
        _ => Outcome::Failed(why),
    }
}

/// Returns true if OpenCL's image has red and blue in another order than the host's memory from which OpenGL's texture is
/// filled.
///
/// # Errors
/// The outcome of the case, if the driver reports another format than the table of `cl_khr_gl_sharing` has.
fn exchanges_red_and_blue(format: Format, memory: &Picture) -> Result<bool, Outcome> {
    let (Some(pixels), Picture::Image(image)) = (format.pixels(), memory) else { return Ok(false) };
    let (order, kind) = image.format().map_err(|status| Outcome::Failed(without_stop(&reason(&status))))?;
    // The table has both orders for RGBA8.
    let is_bgra = order == ffi::CL_BGRA && pixels.kind == ffi::CL_UNORM_INT8 && pixels.order == ffi::CL_RGBA;
    if kind == pixels.kind && (order == pixels.order || is_bgra) {
        return Ok(is_bgra != (pixels.gl.channels == glow::BGRA));
    }
    Err(Outcome::Failed(format!(
        "OpenCL has {} as images of order {order:#x} and type {kind:#x}, expected {:#x} and {:#x}",
        format.plural(),
        pixels.order,
        pixels.kind
    )))
}
