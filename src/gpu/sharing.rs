//! How a picture gets from the host to the filter and from the filter to the screen: the only file that
//! shares memory between OpenCL and OpenGL, or copies between them.
//!
//! In: RGBA8 bytes that the converter writes into a [`Slot`]. Out: an OpenGL texture that holds the filtered
//! picture. Today there is one way, copying ([`Sharing::Copy`]):
//!
//! - on a CPU device the slot's two host blocks are the device's memory (`CL_MEM_USE_HOST_PTR`); mapping and
//!   unmapping hand them over, and no byte is moved until OpenGL takes the picture;
//! - on other devices the blocks are written to and read from device memory, without waiting.
//!
//! Between frames both blocks belong to the host. [`Slot::to_device`] hands them over before the filter's
//! commands, [`Slot::to_host`] asks for them back after, all in one in-order queue, so a slot is never
//! waited for behind another slot's frame.

use std::sync::Arc;

use glow::HasContext as _;
use ocl::ffi;

use crate::error::{Error, Result};
use crate::gpu::cl::ClContext;
use crate::gpu::gl::{max_texture_size, too_large};
use crate::gpu::host_block::HostBlock;
use crate::gpu::transfer::{enqueue_map, enqueue_read, enqueue_unmap, enqueue_write};
use crate::ladder::Storage;
use crate::ladder::box_filter::opencl::Picture;

/// Whether frames stay on the device between OpenCL and OpenGL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sharing {
    /// OpenCL writes into OpenGL's textures.
    ZeroCopy,
    /// Frames are copied, and why.
    Copy {
        /// One sentence for the overlay.
        reason: String,
    },
}

impl Sharing {
    /// "zero-copy" or "copy", as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Sharing::ZeroCopy => "zero-copy",
            Sharing::Copy { .. } => "copy",
        }
    }

    /// The reason for copying; empty when nothing is copied.
    pub fn reason(&self) -> &str {
        match self {
            Sharing::ZeroCopy => "",
            Sharing::Copy { reason } => reason,
        }
    }

    /// What this version does on any device, said for `--no-sharing` or without it.
    pub fn of_this_version(no_sharing: bool) -> Self {
        let reason = if no_sharing {
            "--no-sharing was given"
        } else {
            "this version of clreel copies each frame between OpenCL and OpenGL"
        };
        Sharing::Copy { reason: reason.to_owned() }
    }
}

/// The device's side of a slot: one picture in, one out. Declared before the host blocks, so that it drops
/// first: with `CL_MEM_USE_HOST_PTR` the device's memory lies in them.
struct DeviceSide {
    storage: Storage,
    source: Picture,
    target: Picture,
    /// The host blocks are the device's memory; ownership changes by map and unmap.
    in_place: bool,
    /// The host has the blocks by mapping. Not so before the first use: the blocks' content at the objects'
    /// creation is the objects' content, so that nothing has to be mapped, and waited for, to begin with.
    mapped: bool,
    /// The device may touch the host blocks now.
    handed_over: bool,
}

/// One of the places a frame can be in between decoding and the screen: host memory for the unfiltered and
/// the filtered picture, the device's memory objects, and the texture that is shown.
pub struct Slot {
    width: u32,
    height: u32,
    texture: glow::Texture,
    gl: Arc<glow::Context>,
    device: Option<DeviceSide>,
    input: HostBlock,
    output: HostBlock,
}

impl Slot {
    /// A slot for RGBA8 pictures of `width` by `height` pixels. The OpenGL context must be current, here and
    /// when the slot is dropped.
    ///
    /// # Errors
    /// When the picture is larger than the driver's textures, or memory runs out.
    pub fn new(gl: &Arc<glow::Context>, width: u32, height: u32) -> Result<Self> {
        let len = width as usize * height as usize * 4;
        let texture = create_texture(gl, width, height)?;
        let blocks = HostBlock::new(len).and_then(|input| Ok((input, HostBlock::new(len)?)));
        match blocks {
            Ok((input, output)) => {
                Ok(Self { width, height, texture, gl: gl.clone(), device: None, input, output })
            }
            Err(e) => {
                // SAFETY: the context is current; the texture was made above and is not used again.
                unsafe { gl.delete_texture(texture) };
                Err(e)
            }
        }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// The texture that [`Slot::show`] fills.
    pub fn texture(&self) -> glow::Texture {
        self.texture
    }

    /// The unfiltered picture, tightly packed RGBA8, for the converter to write. `None` while the device has it.
    pub fn input(&mut self) -> Option<&mut [u8]> {
        if self.device.as_ref().is_some_and(|d| d.handed_over) {
            return None;
        }
        Some(self.input.bytes_mut())
    }

    /// Makes the device's memory objects of the kind that a variant reads, unless they are there already;
    /// returns the source and the target picture. The input must hold its picture already.
    ///
    /// # Errors
    /// When the device cannot hold a picture of this size and kind.
    pub fn pictures(&mut self, cl: &ClContext, storage: Storage) -> Result<(Picture, Picture)> {
        if self.device.as_ref().is_none_or(|d| d.storage != storage) {
            self.device = None;
            let in_place = cl.is_cpu();
            let make = |block: &HostBlock| -> Result<Picture> {
                if !in_place {
                    return Picture::alloc(cl, storage, self.width, self.height);
                }
                // SAFETY: the block holds width·height·4 bytes, is aligned to a page, and outlives the picture:
                // `device` is declared, and so dropped, before the blocks.
                unsafe { Picture::from_host(cl, storage, self.width, self.height, block.start().as_ptr()) }
            };
            let (source, target) = (make(&self.input)?, make(&self.output)?);
            self.device =
                Some(DeviceSide { storage, source, target, in_place, mapped: false, handed_over: false });
        }
        match &self.device {
            Some(d) => Ok((d.source.clone(), d.target.clone())),
            None => Err(no_device_side()),
        }
    }

    /// Releases the device's memory objects, which the device must not be using; the next filter makes new ones.
    pub fn drop_device_side(&mut self) {
        self.device = None;
    }

    /// Leaves the memory of a lost device alone for ever: its objects cannot be released, and it may still
    /// write into the blocks. The texture stays.
    pub fn forget_device_side(&mut self) {
        if let Some(device) = self.device.take() {
            std::mem::forget(device);
            self.input.leak();
            self.output.leak();
        }
    }

    /// Hands both blocks to the device: enqueues the upload, or on a CPU device the unmapping. The event, if
    /// there is anything to do, is the upload's. Never waits.
    ///
    /// # Errors
    /// When a command cannot be enqueued.
    pub fn to_device(&mut self, cl: &ClContext) -> Result<Option<ocl::Event>> {
        let device = self.device.as_mut().ok_or_else(no_device_side)?;
        device.handed_over = true;
        if device.in_place {
            if !std::mem::take(&mut device.mapped) {
                return Ok(None);
            }
            let _unmapped = enqueue_unmap(cl, &device.target, self.output.start())?;
            enqueue_unmap(cl, &device.source, self.input.start()).map(Some)
        } else {
            // SAFETY: the block holds the whole picture, and `input` refuses to lend it until `back_on_host`.
            unsafe { enqueue_write(cl, &device.source, self.width, self.height, self.input.start()) }
                .map(Some)
        }
    }

    /// Asks for both blocks back after the commands enqueued so far: enqueues the download, or on a CPU device
    /// the mapping. When the event is complete, call [`Slot::back_on_host`]. Never waits.
    ///
    /// # Errors
    /// When a command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext) -> Result<ocl::Event> {
        let device = self.device.as_mut().ok_or_else(no_device_side)?;
        if device.in_place {
            device.mapped = true;
            let _mapped = enqueue_map(
                cl,
                &device.source,
                self.width,
                self.height,
                ffi::CL_MAP_WRITE | ffi::CL_MAP_READ,
                self.input.start(),
            )?;
            enqueue_map(cl, &device.target, self.width, self.height, ffi::CL_MAP_READ, self.output.start())
        } else {
            // SAFETY: the block has room for the whole picture, and `show` refuses it until `back_on_host`.
            unsafe { enqueue_read(cl, &device.target, self.width, self.height, self.output.start()) }
        }
    }

    /// Notes that the event of [`Slot::to_host`] is complete: the blocks are the host's again.
    pub fn back_on_host(&mut self) {
        if let Some(device) = &mut self.device {
            device.handed_over = false;
        }
    }

    /// Fills the texture: with the filtered picture, or with the unfiltered one. The OpenGL context must be
    /// current. Does nothing while the device has the blocks.
    pub fn show(&self, filtered: bool) {
        if self.device.as_ref().is_some_and(|d| d.handed_over) {
            return;
        }
        let block = if filtered { &self.output } else { &self.input };
        let gl = &self.gl;
        // SAFETY: the context is current; the block holds width·height·4 bytes, tightly packed.
        unsafe {
            gl.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
            gl.pixel_store_i32(glow::UNPACK_ALIGNMENT, 4);
            gl.pixel_store_i32(glow::UNPACK_ROW_LENGTH, 0);
            gl.pixel_store_i32(glow::UNPACK_SKIP_ROWS, 0);
            gl.pixel_store_i32(glow::UNPACK_SKIP_PIXELS, 0);
            gl.bind_texture(glow::TEXTURE_2D, Some(self.texture));
            gl.tex_sub_image_2d(
                glow::TEXTURE_2D,
                0,
                0,
                0,
                self.width as i32,
                self.height as i32,
                glow::RGBA,
                glow::UNSIGNED_BYTE,
                glow::PixelUnpackData::Slice(Some(block.bytes())),
            );
            gl.bind_texture(glow::TEXTURE_2D, None);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: the context is current (see `new`); the texture is this slot's own.
        unsafe { self.gl.delete_texture(self.texture) };
    }
}

fn no_device_side() -> Error {
    Error::new(
        "The frame has no memory on the device.",
        "",
        "Choose another variant; 0 shows the movie unfiltered.",
    )
}

/// A complete texture with one level, as sharing needs it: RGBA8, linear, clamped.
fn create_texture(gl: &Arc<glow::Context>, width: u32, height: u32) -> Result<glow::Texture> {
    // SAFETY: the context is current on this thread.
    unsafe {
        let limit = max_texture_size(gl);
        if width > limit || height > limit {
            return Err(too_large(width, height, limit));
        }
        let texture = gl.create_texture().map_err(|e| {
            Error::new(
                "No texture could be made for the picture.",
                e,
                "Close other programs that use the GPU.",
            )
        })?;
        gl.bind_texture(glow::TEXTURE_2D, Some(texture));
        let version = gl.version();
        let storage = (version.is_embedded && version.major >= 3)
            || (version.major, version.minor) >= (4, 2)
            || gl.supported_extensions().contains("GL_ARB_texture_storage");
        let (w, h) = (width as i32, height as i32);
        if storage {
            gl.tex_storage_2d(glow::TEXTURE_2D, 1, glow::RGBA8, w, h);
        } else {
            gl.tex_parameter_i32(glow::TEXTURE_2D, glow::TEXTURE_MAX_LEVEL, 0);
            let none = glow::PixelUnpackData::Slice(None);
            let (format, kind) = (glow::RGBA, glow::UNSIGNED_BYTE);
            gl.tex_image_2d(glow::TEXTURE_2D, 0, glow::RGBA8 as i32, w, h, 0, format, kind, none);
        }
        for (name, value) in [
            (glow::TEXTURE_MIN_FILTER, glow::LINEAR),
            (glow::TEXTURE_MAG_FILTER, glow::LINEAR),
            (glow::TEXTURE_WRAP_S, glow::CLAMP_TO_EDGE),
            (glow::TEXTURE_WRAP_T, glow::CLAMP_TO_EDGE),
        ] {
            gl.tex_parameter_i32(glow::TEXTURE_2D, name, value as i32);
        }
        gl.bind_texture(glow::TEXTURE_2D, None);
        Ok(texture)
    }
}
