//! Slots: the memory of a frame from the decoded picture through the filter to the screen.
//!
//! A [`Slot`] receives a decoded frame's planes, or RGBA8 bytes from a converter, and ends with the filtered picture in an OpenGL texture
//! or in host memory. There are two ways into a texture:
//!
//! - [`Sharing::ZeroCopy`](stats::Sharing::ZeroCopy): the device acquires the slot's texture, its kernels write there,
//!   and it releases the texture. No pixel returns to the host.
//! - [`Sharing::Copy`](stats::Sharing::Copy): the filtered picture is read into host memory, from where OpenGL takes it. If
//!   that memory is a mapped pixel buffer object, OpenGL copies the picture while the window's thread continues. A CPU device uses
//!   the host memory in place (`CL_MEM_USE_HOST_PTR`), also if it is a pixel buffer: mapping and unmapping hand it over, and no byte
//!   is copied until OpenGL takes the picture.
//!
//! Between frames the host owns all memory of a slot. [`Slot::to_device`] hands it to the device before the filter's commands, and
//! [`Slot::to_host`] returns it after them, in the filter's in-order queue. So nobody waits for a slot behind another slot's frame. The
//! upload may have a queue of its own, for which the filter's commands then wait.

mod device_side;
mod handover;

use std::ptr::NonNull;
use std::sync::Arc;

use ffmpeg_next::frame::Video;

use super::surface::Surface;
use crate::plans::Plans;
use base::error::{Error, Result};
use base::memory::rgba_bytes;
use box_filter::color_kernels::PlaneBlock;
use device_side::{DeviceSide, SOURCE};
use opencl::cl::ClContext;
use opencl::host_block::HostBlock;
use opengl::pixel_buffer::PixelBuffer;
use opengl::read_texture::read_texture;
use video::color::{Layout, PackedPicture};

/// The kind of picture that the host has put into a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SlotContent {
    /// The RGBA picture of [`Slot::input`].
    #[default]
    Rgba,
    /// The planes of [`Slot::load_packed`] or [`Slot::fill`], to be converted on the device.
    Planes,
    /// No picture: the device generates it itself.
    Nothing,
}

/// The memory of one frame: host memory, the device's memory objects, and the texture that is shown, if the picture goes into one. Host
/// and device memory is allocated when it is first needed.
#[derive(Default)]
pub struct Slot {
    pub(crate) size: (u32, u32),
    pub(super) device: DeviceSide,
    /// The planes that were loaded, for the conversion on the device.
    pub(super) planes: Option<PlaneBlock>,
    /// The RGBA input in host memory. The thread of the Rust filter shares it while it filters the picture.
    input: Option<Arc<HostBlock>>,
    output: Option<Output>,
    /// A pixel buffer of OpenGL that is ready to become the output; `None` if there is none.
    pixels: Option<PixelBuffer>,
    /// Host memory that the Rust filter wrote, or into which a picture was read back. It has the current picture, or is reused
    /// for the next one.
    pub(super) host_picture: Option<Vec<u8>>,
    pub(super) loaded: SlotContent,
    /// The inputs of a filter of several frames, besides the picture itself: those of the frames before, nearest first. Plans in
    /// `device` have their memory objects as arguments.
    pub(super) earlier: Vec<Slot>,
    /// The kind of memory in which the current picture is.
    pub(super) result: ResultIn,
    /// The texture. It is the last field, because OpenCL's memory object of it must be dropped before.
    surface: Option<Surface>,
}

// SAFETY: one thread has a slot at a time, with all that is in it. OpenCL's objects may be used and released on any thread;
// OpenGL's are used only where the context is current, and deleted there (`gl_names`).
unsafe impl Send for Slot {}

/// The memory in which a slot's current picture is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ResultIn {
    /// The input, because the picture is not filtered.
    #[default]
    Input,
    /// The host memory that receives the filtered picture from the device.
    Output,
    /// The host memory that the Rust filter wrote, or into which a picture was read back.
    Own,
    /// The texture.
    Texture,
}

/// Host memory that receives the filtered picture from the device, if textures are not shared.
enum Output {
    /// A pixel buffer, from which OpenGL copies the picture while the window's thread continues.
    Pixels(PixelBuffer),
    /// Memory that OpenGL copies before the upload call returns.
    Block(HostBlock),
}

impl Output {
    fn start(&self) -> NonNull<u8> {
        match self {
            Output::Pixels(pixels) => pixels.start(),
            Output::Block(block) => block.start(),
        }
    }
}

impl Slot {
    /// Creates a slot for RGBA8 pictures of `width` by `height` pixels that go into a texture. The OpenGL context must be current now and
    /// whenever the slot is used.
    ///
    /// # Errors
    /// If the picture is larger than the driver's textures, or memory runs out.
    pub fn new(gl: &Arc<glow::Context>, width: u32, height: u32) -> Result<Self> {
        let surface = Surface::new(gl, (width, height))?;
        Ok(Self { surface: Some(surface), ..Self::in_memory(width, height) })
    }

    /// Creates a slot for RGBA8 pictures of `width` by `height` pixels that go into host memory. It uses no OpenGL.
    pub fn in_memory(width: u32, height: u32) -> Self {
        Self { size: (width, height), ..Self::default() }
    }

    /// Does OpenGL's part before [`Engine::compare`](super::Engine::compare) reads the picture: waits until OpenGL has finished
    /// with the texture, or reads the picture back to host memory if the texture is not shared with the device.
    ///
    /// # Errors
    /// If the picture cannot be read back.
    pub fn prepare_for_reading(&mut self, gl: &glow::Context) -> Result<()> {
        let Some(surface) = self.surface.as_mut().filter(|_| self.result == ResultIn::Texture) else {
            return Ok(());
        };
        if self.device.shared.is_some() {
            surface.wait_for_gl();
        } else {
            let texture = surface.texture;
            self.keep_host_picture(read_texture(gl, texture, self.size)?);
        }
        Ok(())
    }

    /// Takes the device's memory objects out of the slot, to be dropped when the device is idle. The texture stays in the slot,
    /// and the input as well if `keeps_input` is true.
    pub(crate) fn take_device_buffers(&mut self, keeps_input: bool) -> Self {
        let input = self.input.clone();
        self.input.take_if(|_| !keeps_input);
        Self {
            device: std::mem::take(&mut self.device),
            planes: self.planes.take(),
            earlier: std::mem::take(&mut self.earlier),
            input,
            output: self.output.take(),
            ..Self::default()
        }
    }

    /// Does OpenGL's part before a device uses the slot, so that the device's thread needs no OpenGL. If `to_texture` is true,
    /// waits until OpenGL has finished with the texture. Otherwise provides a pixel buffer if `pixels` accepts one, and waits
    /// until OpenGL has copied the former picture from there. Returns true if there was anything to wait for.
    pub(crate) fn prepare_for_device(
        &mut self,
        to_texture: bool,
        pixels: impl FnOnce(&PixelBuffer) -> bool,
    ) -> bool {
        let Some(surface) = &mut self.surface else { return false };
        if to_texture {
            surface.wait_for_gl();
            return true;
        }
        if self.output.is_none() && self.pixels.is_none() {
            self.pixels = PixelBuffer::new(&surface.gl, rgba_bytes(self.size)).filter(pixels);
        }
        let has_buffer = matches!(self.output, Some(Output::Pixels(_)));
        if has_buffer {
            surface.wait_for_gl();
        }
        has_buffer
    }

    /// Returns the texture that holds the picture after [`Slot::show`]; `None` if the picture goes into host memory.
    pub fn texture(&self) -> Option<glow::Texture> {
        self.surface.as_ref().map(|surface| surface.texture)
    }

    /// Sets the number of earlier frames whose pictures are loaded besides the picture itself.
    pub(super) fn set_earlier(&mut self, count: usize) {
        if count != self.earlier.len() {
            self.device.plans = Plans::default();
            let (width, height) = self.size;
            self.earlier.resize_with(count, || Self::in_memory(width, height));
        }
    }

    /// Returns the slot with the picture so many frames before this one; itself for 0.
    pub(super) fn frames_back(&mut self, back: usize) -> &mut Self {
        match back.checked_sub(1).filter(|at| *at < self.earlier.len()) {
            Some(at) => &mut self.earlier[at],
            None => self,
        }
    }

    /// Returns the memory of the unfiltered picture, tightly packed RGBA8, for the host's converter to write.
    ///
    /// # Errors
    /// If the device is using the slot, or memory runs out.
    pub fn input(&mut self) -> Result<&mut [u8]> {
        if self.device.handed_over {
            return Err(still_in_use_error());
        }
        // An abandoned device or the thread of the Rust filter may still use the block.
        if self.input.as_mut().is_none_or(|block| Arc::get_mut(block).is_none()) {
            // The device's memory object lies in the previous block, so it is dropped first.
            self.device.drop_picture(SOURCE);
            self.input = Some(Arc::new(HostBlock::new(rgba_bytes(self.size))?));
        }
        self.loaded = SlotContent::Rgba;
        self.result = ResultIn::Input;
        let block = self.input.as_mut().and_then(Arc::get_mut);
        block.map(HostBlock::bytes_mut).ok_or_else(still_in_use_error)
    }

    /// Returns the unfiltered picture for another thread, which only reads it. While that thread keeps it, [`Slot::input`]
    /// allocates new memory.
    ///
    /// # Errors
    /// If the device is using the slot, or no picture was loaded.
    pub(crate) fn lend_input(&self) -> Result<Arc<HostBlock>> {
        if self.device.handed_over {
            return Err(still_in_use_error());
        }
        self.input.clone().ok_or_else(no_picture_error)
    }

    /// Stores planes that were packed in host memory, from which the device copies them. For devices that have memory of their
    /// own.
    ///
    /// # Errors
    /// If the device still uses the former planes.
    pub(crate) fn load_packed(&mut self, packed: Arc<PackedPicture>) -> Result<()> {
        match self.planes.as_mut().filter(|planes| planes.layout() == packed.layout()) {
            Some(planes) => planes.set_packed(packed)?,
            None if self.device.handed_over => return Err(still_in_use_error()),
            None => {
                self.drop_planes();
                self.planes = Some(PlaneBlock::from_packed(packed));
            }
        }
        self.loaded = SlotContent::Planes;
        Ok(())
    }

    /// Loads the planes of `frame`: copies them, packed in `layout`, into memory that the device uses in place. For CPU devices.
    ///
    /// # Errors
    /// If the device is using the slot, or memory runs out.
    pub(crate) fn fill(&mut self, cl: &ClContext, frame: &Video, layout: &Layout) -> Result<()> {
        if self.device.handed_over {
            return Err(still_in_use_error());
        }
        let mut planes = match self.planes.take().filter(|planes| planes.layout() == layout) {
            Some(planes) => planes,
            None => {
                self.drop_planes();
                PlaneBlock::new(cl, layout)?
            }
        };
        planes.fill(frame)?;
        self.planes = Some(planes);
        self.loaded = SlotContent::Planes;
        Ok(())
    }

    /// Records that OpenGL has received the last command that uses the current picture in the texture.
    pub(crate) fn retire(&mut self) {
        self.surface.iter_mut().for_each(Surface::retire);
    }

    /// Returns the picture, tightly packed RGBA8; `None` if it is not in host memory, or if the device is using the slot.
    pub fn pixels(&self) -> Option<&[u8]> {
        if self.device.handed_over {
            return None;
        }
        match (self.result, &self.output) {
            (ResultIn::Input, _) => self.input.as_deref().map(HostBlock::bytes),
            (ResultIn::Output, Some(Output::Block(block))) => Some(block.bytes()),
            (ResultIn::Own, _) => self.host_picture.as_deref(),
            _ => None,
        }
    }

    /// Makes a picture in host memory the slot's current picture: the output of the Rust filter, or a picture that was read
    /// back.
    pub(super) fn keep_host_picture(&mut self, picture: Vec<u8>) {
        self.host_picture = Some(picture);
        self.result = ResultIn::Own;
    }

    /// Uploads the picture into the texture. Does nothing if it is there already, if the device is using the slot, or if there
    /// is no texture.
    pub fn show(&mut self) {
        let Some(mut surface) = self.surface.take_if(|_| !self.device.handed_over) else { return };
        let is_filled = match (self.result, &self.output) {
            (ResultIn::Texture, _) => false,
            (ResultIn::Output, Some(Output::Pixels(pixels))) => {
                surface.fill_from(pixels);
                true
            }
            _ => self.pixels().map(|pixels| surface.fill(pixels)).is_some(),
        };
        self.surface = Some(surface);
        if is_filled {
            self.result = ResultIn::Texture;
        }
    }
}

/// Returns the error for a frame whose memory the device still uses.
fn still_in_use_error() -> Error {
    Error::new("A frame could not be converted.", "Its memory is still in use by the device.", "")
}

/// Returns the error for a frame that has no memory of the required kind on the device.
pub(super) fn no_picture_error() -> Error {
    let hint = "Choose another variant; 0 shows the movie unfiltered.";
    Error::new("The frame has no memory on the device.", "", hint)
}
