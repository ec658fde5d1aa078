//! The objects that OpenCL and OpenGL share, grouped by [`Way`], and the check that OpenGL sees what a kernel wrote.

use std::sync::Arc;

use engine::Slot;
use glow::HasContext as _;
use ocl::ffi;
use opencl::cl::{Buffer, ClContext, Image, Mem};
use opencl::memory::Storage;
use opengl::read_texture::read_texture;

use crate::cases::{CASES, Way};
use crate::{Failure, refused};

/// A texture that OpenGL draws from.
pub struct Target {
    pub slot: Slot,
    /// The slot's texture.
    pub texture: glow::Texture,
    /// For drawing from the texture.
    pub framebuffer: glow::Framebuffer,
    /// OpenGL's buffer from which the texture is filled.
    pub buffer: Option<glow::Buffer>,
    /// The seed of the picture that it holds.
    pub seed: u32,
}

/// The objects of one way. The OpenGL context must be current when it is used or dropped.
pub struct Group {
    gl: Arc<glow::Context>,
    size: (u32, u32),
    /// The memory objects that the kernel writes, one for each target.
    pub memory: Vec<Mem>,
    pub targets: Vec<Target>,
}

impl Group {
    /// Creates the objects, filled by OpenGL with the picture of seed 0.
    pub fn new(gl: &Arc<glow::Context>, cl: &ClContext, way: Way, size: (u32, u32)) -> Result<Self, Failure> {
        let count = CASES.iter().filter(|case| case.way == way).map(|case| case.objects).max();
        let first: Vec<u8> = pixels(size, 0).flatten().collect();
        let mut group = Self { gl: gl.clone(), size, memory: Vec::new(), targets: Vec::new() };
        for _ in 0..count.unwrap_or(0) {
            let mut slot = Slot::new(gl, size.0, size.1)?;
            slot.input()?.copy_from_slice(&first);
            slot.show();
            let texture = slot.texture().ok_or("a slot without a texture")?;
            let (memory, buffer) = match way {
                Way::Texture => (slot.shared(cl)?.mem().clone(), None),
                Way::WriteOnly => (write_only_image(cl, texture, size)?, None),
                Way::StreamBuffer => shared_buffer(gl, cl, size, glow::STREAM_COPY)?,
                Way::StaticBuffer => shared_buffer(gl, cl, size, glow::STATIC_COPY)?,
                Way::Copied => (slot.target(cl, Storage::Buffer)?.mem().clone(), None),
            };
            group.memory.push(memory);
            // SAFETY: the context is current, and the texture is alive as long as the framebuffer is used.
            let framebuffer = unsafe {
                let framebuffer = gl.create_framebuffer()?;
                gl.bind_framebuffer(glow::READ_FRAMEBUFFER, Some(framebuffer));
                let (target, shown) = (glow::COLOR_ATTACHMENT0, Some(texture));
                gl.framebuffer_texture_2d(glow::READ_FRAMEBUFFER, target, glow::TEXTURE_2D, shown, 0);
                gl.bind_framebuffer(glow::READ_FRAMEBUFFER, None);
                gl.finish();
                framebuffer
            };
            group.targets.push(Target { slot, texture, framebuffer, buffer, seed: 0 });
        }
        Ok(group)
    }

    /// Compares the first textures with the expected pictures; returns how many are wrong.
    pub fn count_wrong(&self, objects: usize) -> Result<usize, Failure> {
        let mut wrong = 0;
        for target in &self.targets[..objects] {
            let seen = read_texture(&self.gl, target.texture, self.size)?;
            let same = seen.chunks_exact(4).zip(pixels(self.size, target.seed)).all(|(s, p)| s == p);
            wrong += usize::from(!same);
        }
        Ok(wrong)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // OpenCL's side of an object must be dropped before OpenGL's.
        self.memory.clear();
        for target in &self.targets {
            // SAFETY: the context is current, and nobody uses the two any more.
            unsafe {
                self.gl.delete_framebuffer(target.framebuffer);
                if let Some(buffer) = target.buffer {
                    self.gl.delete_buffer(buffer);
                }
            }
        }
    }
}

/// Returns OpenCL's side of a texture that it will not read.
fn write_only_image(cl: &ClContext, texture: glow::Texture, size: (u32, u32)) -> Result<Mem, Failure> {
    let (w, h) = (size.0 as usize, size.1 as usize);
    // SAFETY: the texture is of the OpenGL context that `cl` shares with.
    let image = unsafe { Image::from_gl(&cl.context, ffi::CL_MEM_WRITE_ONLY, texture.0.get(), (w, h), 4) };
    Ok(image.map_err(refused)?.mem().clone())
}

/// Returns OpenGL's buffer for a picture, and OpenCL's side of it.
fn shared_buffer(
    gl: &glow::Context,
    cl: &ClContext,
    size: (u32, u32),
    usage: u32,
) -> Result<(Mem, Option<glow::Buffer>), Failure> {
    let platform = cl.device.platform.raw();
    // SAFETY: the platform is alive, and the name ends with a zero.
    let function =
        unsafe { ffi::clGetExtensionFunctionAddressForPlatform(platform, c"clCreateFromGLBuffer".as_ptr()) };
    if function.is_null() && cl.device.info.platform == "Portable Computing Language" {
        return Err("PoCL has no clCreateFromGLBuffer".into());
    }
    let bytes = i32::try_from(u64::from(size.0) * u64::from(size.1) * 4)?;
    // SAFETY: the context is current.
    let buffer = unsafe {
        let buffer = gl.create_buffer()?;
        gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, Some(buffer));
        gl.buffer_data_size(glow::PIXEL_UNPACK_BUFFER, bytes, usage);
        gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
        gl.finish();
        buffer
    };
    // SAFETY: the buffer is of the OpenGL context that `cl` shares with.
    match unsafe { Buffer::from_gl(&cl.context, buffer.0.get(), bytes as usize) } {
        Ok(memory) => Ok((memory.mem().clone(), Some(buffer))),
        Err(e) => {
            // SAFETY: the context is current, and nobody uses the buffer.
            unsafe { gl.delete_buffer(buffer) };
            Err(refused(e))
        }
    }
}

/// Returns the pixels that a kernel writes with this seed.
fn pixels(size: (u32, u32), seed: u32) -> impl Iterator<Item = [u8; 4]> {
    (0..size.0 * size.1).map(move |position| {
        let v = (position ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
        (v ^ v >> 15).to_le_bytes()
    })
}
