//! How a picture gets from the host to the filter and from the filter to the screen.
//!
//! In: a decoded frame's planes, or RGBA8 bytes that a converter writes into the [`Slot`]. Out: an OpenGL texture
//! that holds the filtered picture. There are two ways:
//!
//! - [`Sharing::ZeroCopy`](crate::sharing::Sharing::ZeroCopy): the device acquires the slot's texture, its kernels write there,
//!   and it releases the texture. No pixel returns to the host.
//! - [`Sharing::Copy`](crate::sharing::Sharing::Copy): the filtered picture is read into the host's memory, and OpenGL takes it
//!   from there: by itself from a pixel buffer object, where it has such that stay mapped. On a CPU
//!   device the host's memory is the device's (`CL_MEM_USE_HOST_PTR`), that pixel buffer too; mapping and unmapping hand it
//!   over, and no byte is moved until OpenGL takes the picture.
//!
//! Between frames everything belongs to the host. [`Slot::to_device`] hands it over before the filter's commands,
//! [`Slot::to_host`] asks for it back after, in the filter's in-order queue, so a slot is never waited for behind another
//! slot's frame. The upload may go to a queue of its own, which the filter's commands then wait for.

mod borrow;
mod handover;
mod show;

use std::ptr::NonNull;
use std::sync::Arc;

use ffmpeg_next::frame::Video;

use super::plans::Plans;
use super::surface::Surface;
use crate::sharing::Shared;
use base::error::{Error, Result};
use box_filter::color_kernels::{KeptKernels, PlaneBlock};
use opencl::cl::ClContext;
use opencl::host_block::HostBlock;
use opencl::memory::Picture;
use opengl::pixel_buffer::PixelBuffer;
use opengl::read_texture::read_texture;
use opengl::texture::Part;
use video::color::Layout;
use video::color::Packed;

/// What the host has put into a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loaded {
    /// The RGBA picture of [`Slot::input`].
    Rgba,
    /// The planes of [`Slot::load_packed`] or [`Slot::fill`], to be converted on the device.
    Planes,
    /// Nothing: the device has the unfiltered picture already.
    Nothing,
}

/// Places in [`DeviceSide::mapped`].
const SOURCE: usize = 0;
const TARGET: usize = 1;

/// The device's side of a slot. With `CL_MEM_USE_HOST_PTR` its memory lies in the slot's host blocks, so it must drop
/// before them.
#[derive(Default)]
struct DeviceSide {
    /// They name the memory objects below.
    plans: Plans,
    /// The RGBA picture from the host.
    source: Option<Picture>,
    /// The filtered picture to the host.
    target: Option<Picture>,
    /// The texture as OpenCL sees it.
    shared: Option<Shared>,
    /// The host has source and target by mapping. Not so before the first use: the blocks' content at the objects'
    /// creation is the objects' content, so that nothing has to be mapped, and waited for, to begin with.
    mapped: [bool; 2],
    /// The device may touch the host's memory or the texture now.
    handed_over: bool,
}

/// One of the places a frame can be in between decoding and where it is wanted: host memory, the device's memory
/// objects, and the texture that is shown, if it is to be in one. Host and device memory is made when it is first
/// needed.
pub struct Slot {
    size: (u32, u32),
    device: DeviceSide,
    planes: Option<PlaneBlock>,
    /// Shared with the thread that filters it without OpenCL, if one does.
    input: Option<Arc<HostBlock>>,
    output: Option<Output>,
    /// Memory of OpenGL's for the filtered picture, which may be wanted.
    pixels: Option<PixelBuffer>,
    /// A picture in the memory of a filter that has its own, or that memory for the next one.
    own: Option<Vec<u8>>,
    loaded: Loaded,
    /// The input is another slot's, which must not write there meanwhile.
    borrows: bool,
    result: ResultIn,
    /// What of the picture is in the texture already, while it is elsewhere.
    in_texture: Option<Part>,
    /// Last: what OpenCL has of it goes before.
    surface: Option<Surface>,
}

// SAFETY: one thread has a slot at a time, with all that is in it. OpenCL's objects may be used and released on any thread;
// OpenGL's are used only where the context is current, and deleted there (`gl_names`).
unsafe impl Send for Slot {}

/// What a device had of a slot: memory objects go before the memory that they lie in.
pub(crate) struct Rest {
    _device: DeviceSide,
    _planes: Option<PlaneBlock>,
    _input: Option<Arc<HostBlock>>,
    _output: Option<Output>,
}

// SAFETY: as a slot's.
unsafe impl Send for Rest {}

/// Where the picture is that a slot was filled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultIn {
    /// As it was loaded: nothing filters it.
    Input,
    /// In the host's memory for the filtered picture.
    Output,
    /// In the filter's own memory.
    Own,
    /// In the texture.
    Texture,
}

/// Host memory for the filtered picture, where textures are not shared.
enum Output {
    /// OpenGL fetches the picture from here by itself.
    Pixels(PixelBuffer),
    /// OpenGL is handed the picture, and copies it before the call returns.
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
    /// A slot for RGBA8 pictures of `width` by `height` pixels that are wanted in a texture. The OpenGL context must be
    /// current, here and when the slot is used or dropped.
    ///
    /// # Errors
    /// When the picture is larger than the driver's textures, or memory runs out.
    pub fn new(gl: &Arc<glow::Context>, width: u32, height: u32) -> Result<Self> {
        let surface = Surface::new(gl, (width, height))?;
        Ok(Self { surface: Some(surface), ..Self::in_memory(width, height) })
    }

    /// A slot for RGBA8 pictures of `width` by `height` pixels that are wanted in the host's memory. It knows no OpenGL.
    pub fn in_memory(width: u32, height: u32) -> Self {
        Self {
            size: (width, height),
            device: DeviceSide::default(),
            planes: None,
            input: None,
            output: None,
            pixels: None,
            own: None,
            loaded: Loaded::Rgba,
            borrows: false,
            result: ResultIn::Input,
            in_texture: None,
            surface: None,
        }
    }

    /// Does what OpenGL has to do before [`Engine::compare`](super::Engine::compare) reads the picture: waits until it has
    /// finished with the texture, or reads that back where the device does not share it.
    ///
    /// # Errors
    /// When the picture cannot be read back.
    pub fn be_readable(&mut self, gl: &glow::Context) -> Result<()> {
        let Some(surface) = self.surface.as_mut().filter(|_| self.result == ResultIn::Texture) else {
            return Ok(());
        };
        if self.device.shared.is_some() {
            surface.wait_for_gl();
        } else {
            let texture = surface.texture();
            self.keep_own(read_texture(gl, texture, self.size)?);
        }
        Ok(())
    }

    /// Takes out what a device has of it, for whoever waits for the device. The texture stays.
    pub(crate) fn take_rest(&mut self) -> Rest {
        let rest = self.take_rest_but_input();
        self.input = None;
        rest
    }

    /// The same of a slot whose picture is not where it is wanted yet: it stays, too.
    pub(super) fn take_rest_but_input(&mut self) -> Rest {
        Rest {
            _device: std::mem::take(&mut self.device),
            _planes: self.planes.take(),
            _input: self.input.clone(),
            _output: self.output.take(),
        }
    }

    /// Does what OpenGL has to do before a device takes the slot, so that the device's thread can do without OpenGL: waits
    /// until OpenGL has finished with the texture, or with `pixels` has memory ready and waits until OpenGL has fetched the
    /// picture before. Returns whether there was anything to wait for.
    pub(crate) fn be_ready(&mut self, to_texture: bool, pixels: impl FnOnce(&PixelBuffer) -> bool) -> bool {
        let bytes = self.bytes();
        let Some(surface) = &mut self.surface else { return false };
        if to_texture {
            surface.wait_for_gl();
            return true;
        }
        if self.output.is_none() && self.pixels.is_none() {
            self.pixels = surface.pixel_buffer(bytes).filter(pixels);
        }
        let has_buffer = matches!(self.output, Some(Output::Pixels(_)));
        if has_buffer {
            surface.wait_for_gl();
        }
        has_buffer
    }

    /// Width and height in pixels.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.size
    }

    fn bytes(&self) -> usize {
        self.size.0 as usize * self.size.1 as usize * 4
    }

    /// The texture that holds the picture after [`Slot::show`]; `None` where it is wanted in memory.
    pub fn texture(&self) -> Option<glow::Texture> {
        self.surface.as_ref().map(Surface::texture)
    }

    /// What was loaded last.
    pub(super) fn loaded(&self) -> Loaded {
        self.loaded
    }

    /// The unfiltered picture, tightly packed RGBA8, for the converter to write.
    ///
    /// # Errors
    /// When the device has it, or memory runs out.
    pub fn input(&mut self) -> Result<&mut [u8]> {
        if self.device.handed_over {
            return Err(still_in_use());
        }
        // A device that is left may have it still, or another slot.
        if self.input.as_mut().is_none_or(|block| Arc::get_mut(block).is_none()) {
            self.replace_input(Some(Arc::new(HostBlock::new(self.bytes())?)));
        }
        (self.loaded, self.borrows) = (Loaded::Rgba, false);
        self.result_is_in(ResultIn::Input);
        let block = self.input.as_mut().and_then(Arc::get_mut);
        block.map(HostBlock::bytes_mut).ok_or_else(still_in_use)
    }

    /// The unfiltered picture for another thread to read. [`Slot::input`] is refused until it drops it.
    ///
    /// # Errors
    /// When the device has it, or there is none.
    pub(crate) fn lend_input(&self) -> Result<Arc<HostBlock>> {
        if self.device.handed_over {
            return Err(still_in_use());
        }
        self.input.clone().ok_or_else(no_picture)
    }

    /// Takes planes that are packed in memory that the device can fetch: for devices with memory of their own.
    ///
    /// # Errors
    /// When the device still has the planes before.
    pub(crate) fn load_packed(&mut self, packed: Arc<Packed>) -> Result<()> {
        match self.planes.as_mut().filter(|planes| planes.layout() == packed.layout()) {
            Some(planes) => planes.take_packed(packed)?,
            None if self.device.handed_over => return Err(still_in_use()),
            None => {
                self.forget_planes();
                self.planes = Some(PlaneBlock::of_packed(packed));
            }
        }
        self.loaded = Loaded::Planes;
        Ok(())
    }

    /// Copies the planes of `frame`, which are packed as `layout` says, into memory that is also the device's: for CPU
    /// devices.
    ///
    /// # Errors
    /// When the device has that memory, or it runs out.
    pub(crate) fn fill(&mut self, cl: &ClContext, frame: &Video, layout: &Layout) -> Result<()> {
        if self.device.handed_over {
            return Err(still_in_use());
        }
        let mut planes = match self.planes.take().filter(|planes| planes.layout() == layout) {
            Some(planes) => planes,
            None => {
                self.forget_planes();
                PlaneBlock::new(cl, layout)?
            }
        };
        planes.fill(frame)?;
        self.planes = Some(planes);
        self.loaded = Loaded::Planes;
        Ok(())
    }

    /// The planes that were loaded, for the device's converter.
    pub(crate) fn planes(&self) -> Option<&PlaneBlock> {
        self.planes.as_ref()
    }

    /// The same, and the kernels to convert them with.
    pub(super) fn planes_and_kept(&mut self) -> (Option<&PlaneBlock>, &mut KeptKernels) {
        (self.planes.as_ref(), &mut self.device.plans.colors)
    }

    /// What its frames were filtered with last.
    pub(super) fn plans(&mut self) -> &mut Plans {
        &mut self.device.plans
    }

    /// The device's memory for the planes that were loaded; it has them after [`Slot::to_device`].
    ///
    /// # Errors
    /// When there are none, or memory runs out.
    pub(super) fn planes_for_device(&mut self, cl: &ClContext) -> Result<Picture> {
        self.planes.as_mut().ok_or_else(no_picture)?.device(cl).cloned()
    }

    /// Notes that OpenGL's commands so far are the last ones that use the texture, until the next picture is in it.
    pub(crate) fn retire(&mut self) {
        if self.device.source.is_none() {
            self.give_input_back();
        }
        self.surface.iter_mut().for_each(Surface::retire);
    }

    /// Notes where the picture is now.
    pub(super) fn result_is_in(&mut self, result: ResultIn) {
        self.result = result;
        self.in_texture = None;
    }

    /// Whether the device has put the picture into the host's memory, from where [`Slot::show`] is to fetch it.
    pub(crate) fn is_in_output(&self) -> bool {
        self.result == ResultIn::Output
    }

    /// The picture, tightly packed RGBA8; `None` while the device has it, and where it is not in the host's memory.
    pub fn pixels(&self) -> Option<&[u8]> {
        if self.device.handed_over {
            return None;
        }
        match (self.result, &self.output) {
            (ResultIn::Input, _) => self.input.as_deref().map(HostBlock::bytes),
            (ResultIn::Output, Some(Output::Block(block))) => Some(block.bytes()),
            (ResultIn::Own, _) => self.own.as_deref(),
            _ => None,
        }
    }

    /// Memory of a filter's own that a slot's picture before was in.
    pub(super) fn spare(&mut self) -> Option<Vec<u8>> {
        self.own.take()
    }

    /// Keeps the memory of a filter's own, with the picture in it.
    pub(super) fn keep_own(&mut self, picture: Vec<u8>) {
        self.own = Some(picture);
        self.result_is_in(ResultIn::Own);
    }
}

fn still_in_use() -> Error {
    Error::new("A frame could not be converted.", "Its memory is still in use by the device.", "")
}

fn no_picture() -> Error {
    Error::new(
        "The frame has no memory on the device.",
        "",
        "Choose another variant; 0 shows the movie unfiltered.",
    )
}
