//! How a picture gets from the host to the filter and from the filter to the screen.
//!
//! In: a decoded frame's planes, or RGBA8 bytes that a converter writes into the [`Slot`]. Out: an OpenGL texture
//! that holds the filtered picture. There are two ways:
//!
//! - [`Sharing::ZeroCopy`](crate::gpu::sharing::Sharing::ZeroCopy): the device acquires the slot's texture, its kernels write there,
//!   and it releases the texture. No pixel returns to the host.
//! - [`Sharing::Copy`](crate::gpu::sharing::Sharing::Copy): the filtered picture is read into the host's memory, and OpenGL takes it
//!   from there: by itself from a pixel buffer object, where it has such that stay mapped. On a CPU device the host's
//!   memory is the device's (`CL_MEM_USE_HOST_PTR`), that pixel buffer too; mapping and unmapping hand it over, and no
//!   byte is moved until OpenGL takes the picture.
//!
//! Between frames everything belongs to the host. [`Slot::to_device`] hands it over before the filter's commands,
//! [`Slot::to_host`] asks for it back after, in the filter's in-order queue, so a slot is never waited for behind another
//! slot's frame. The upload may go to a queue of its own, which the filter's commands then wait for.

use std::ptr::NonNull;
use std::sync::Arc;

use ffmpeg_next::frame::Video;
use ocl::ffi;

use super::plans::Plans;
use super::surface::Surface;
use crate::color::Layout;
use crate::color::Packed;
use crate::color::kernels::{KeptKernels, PlaneBlock};
use crate::error::{Error, Result};
use crate::gpu::cl::ClContext;
use crate::gpu::host_block::HostBlock;
use crate::gpu::memory::{Picture, Storage};
use crate::gpu::sharing::pixel_buffer::PixelBuffer;
use crate::gpu::sharing::texture::Shared;
use crate::gpu::transfer::{enqueue_copy_to_image, enqueue_map, enqueue_read, enqueue_unmap, enqueue_write};

/// What the host has put into a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// The RGBA picture of [`Slot::input`].
    Rgba,
    /// The planes of [`Slot::load_packed`] or [`Slot::fill`], to be converted on the device.
    Planes,
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

/// One of the places a frame can be in between decoding and where it is wanted: host memory, the device's memory objects, and
/// the texture that is shown, if it is to be in one. Host and device memory is made when it is first needed.
pub struct Slot {
    size: (u32, u32),
    device: DeviceSide,
    planes: Option<PlaneBlock>,
    /// Shared with the thread that filters it without OpenCL, if one does.
    input: Option<Arc<HostBlock>>,
    output: Option<Output>,
    /// A picture in the memory of a filter that has its own, or that memory for the next one.
    own: Option<Vec<u8>>,
    loaded: Loaded,
    result: Place,
    /// Last: what OpenCL has of it goes before.
    surface: Option<Surface>,
}

/// Where the picture is that a slot was filled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
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
            own: None,
            loaded: Loaded::Rgba,
            result: Place::Input,
            surface: None,
        }
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
    pub(crate) fn loaded(&self) -> Loaded {
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
        let block = match self.input.take() {
            Some(block) => block,
            None => Arc::new(HostBlock::new(self.bytes())?),
        };
        (self.loaded, self.result) = (Loaded::Rgba, Place::Input);
        Arc::get_mut(self.input.insert(block)).map(HostBlock::bytes_mut).ok_or_else(still_in_use)
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

    /// The device's picture of the RGBA input, stored as a variant reads it. The input must hold its picture already.
    ///
    /// # Errors
    /// When the device cannot hold a picture of this size and kind.
    pub(crate) fn source(&mut self, cl: &ClContext, storage: Storage) -> Result<Picture> {
        self.forget_other(SOURCE, storage);
        let (width, height) = self.size();
        let block = self.input.as_ref().ok_or_else(no_picture)?;
        picture(&mut self.device.source, cl, storage, width, height, block.start())
    }

    /// The device's picture of the output, to be copied to the host.
    ///
    /// # Errors
    /// When the device cannot hold a picture of this size and kind.
    pub fn target(&mut self, cl: &ClContext, storage: Storage) -> Result<Picture> {
        self.forget_other(TARGET, storage);
        let (width, height) = self.size();
        let bytes = self.bytes();
        let output = match self.output.take() {
            Some(output) => output,
            None => {
                let pixels = self.surface.as_ref().and_then(|surface| surface.pixel_buffer(bytes));
                match pixels.filter(|p| !cl.uses_host_memory() || p.is_aligned()) {
                    Some(pixels) => Output::Pixels(pixels),
                    None if cl.uses_host_memory() => Output::Block(HostBlock::new(bytes)?),
                    None => Output::Block(HostBlock::pinned(cl, bytes)?),
                }
            }
        };
        let start = self.output.insert(output).start();
        picture(&mut self.device.target, cl, storage, width, height, start)
    }

    /// The texture as OpenCL sees it, for kernels between [`Slot::acquire`] and [`Slot::to_host`].
    ///
    /// # Errors
    /// When the driver does not share it.
    pub fn shared(&mut self, cl: &ClContext) -> Result<Picture> {
        let shared = match self.device.shared.take() {
            Some(shared) => shared,
            None => {
                let surface = self.surface.as_mut().ok_or_else(no_picture)?;
                let shared = Shared::new(cl, surface.texture(), self.size.0, self.size.1)?;
                // The texture is new: OpenGL may not have made it yet.
                surface.retire();
                shared
            }
        };
        Ok(self.device.shared.insert(shared).picture().clone())
    }

    /// What was planned names the planes' memory, which may be the host's: both go, the plans first.
    fn forget_planes(&mut self) {
        self.device.plans = Plans::default();
        self.planes = None;
    }

    /// A side of another kind goes, so that it is made anew, and the plans that name it.
    fn forget_other(&mut self, side: usize, storage: Storage) {
        let device = &mut self.device;
        let DeviceSide { source, target, mapped, plans, .. } = device;
        let kept = if side == SOURCE { source } else { target };
        if kept.take_if(|picture| picture.storage() != storage).is_some() {
            *plans = Plans::default();
            mapped[side] = false;
        }
    }

    /// Notes that OpenGL's commands so far are the last ones that use the texture, until the next picture is in it.
    pub(crate) fn retire(&mut self) {
        self.surface.iter_mut().for_each(Surface::retire);
    }

    /// Waits until OpenGL has fetched the picture before from the pixel buffer, so that the next one can be written there.
    /// Returns whether there is such a buffer.
    pub(crate) fn wait_until_fetched(&mut self) -> bool {
        let has_buffer = matches!(self.output, Some(Output::Pixels(_)));
        if let Some(surface) = self.surface.as_mut().filter(|_| has_buffer) {
            surface.wait_until_fetched();
        }
        has_buffer
    }

    /// Where input and output start.
    fn starts(&self) -> (Option<NonNull<u8>>, Option<NonNull<u8>>) {
        (self.input.as_deref().map(HostBlock::start), self.output.as_ref().map(Output::start))
    }

    /// Enqueues the handover of the texture to OpenCL. Waits for OpenGL if it has not finished with the texture, except
    /// where the device promises to wait itself (cl_khr_gl_event).
    ///
    /// # Errors
    /// When the texture is not shared, or the driver refuses.
    pub(crate) fn acquire(&mut self, cl: &ClContext) -> Result<ocl::Event> {
        if let Some(surface) = &mut self.surface {
            surface.wait_for_gl(cl.waits_for_gl());
        }
        let shared = self.device.shared.as_ref().ok_or_else(no_picture)?;
        self.device.handed_over = true;
        shared.acquire(cl)
    }

    /// Enqueues the copy of a filtered buffer into the acquired texture, on the device.
    ///
    /// # Errors
    /// When the texture is not shared, or the driver refuses.
    pub(crate) fn copy_to_texture(&self, cl: &ClContext, from: &Picture) -> Result<ocl::Event> {
        let shared = self.device.shared.as_ref().ok_or_else(no_picture)?;
        enqueue_copy_to_image(cl, from, shared.picture(), self.size())
    }

    /// Lets the device's memory objects go. Where it is idle they are released; the next filter makes new ones. A lost device's
    /// are left alone for ever: they cannot be released, and it may still write into the host's memory. The texture stays. A
    /// pixel buffer lasts as long as the OpenGL context, which must then stay, too.
    pub(crate) fn leave_device(&mut self, idle: bool) {
        if !idle {
            std::mem::forget(std::mem::take(&mut self.device));
            std::mem::forget((self.planes.take(), self.input.take(), self.output.take()));
        }
        self.device = DeviceSide::default();
        self.planes = None;
        // Pinned memory is the device's too.
        self.output = None;
    }

    /// Hands what was loaded to the device: enqueues the upload on `queue`, or on a CPU device the unmapping. The event,
    /// if there is anything to do, is the upload's. Never waits.
    ///
    /// # Errors
    /// When a command cannot be enqueued.
    pub fn to_device(&mut self, cl: &ClContext, queue: &ocl::Queue) -> Result<Option<ocl::Event>> {
        let (width, height) = self.size();
        let starts = self.starts();
        let device = &mut self.device;
        device.handed_over = true;
        let mut event = None;
        if self.loaded == Loaded::Planes {
            event = self.planes.as_mut().ok_or_else(no_picture)?.to_device(cl, queue)?;
        }
        if !cl.uses_host_memory() {
            if let (Loaded::Rgba, Some(source), Some(input)) = (self.loaded, &device.source, &self.input) {
                // SAFETY: the block holds the whole picture, and `input` refuses to lend it until `back_on_host`.
                event = Some(unsafe { enqueue_write(queue, source, width, height, input.start()) }?);
            }
        } else {
            let sides = [(&device.source, starts.0), (&device.target, starts.1)];
            for (mapped, (picture, start)) in device.mapped.iter_mut().zip(sides) {
                if let (true, Some(picture), Some(start)) = (std::mem::take(mapped), picture, start) {
                    event = Some(enqueue_unmap(queue, picture, start)?);
                }
            }
        }
        Ok(event)
    }

    /// Asks for everything back after the commands enqueued so far: enqueues the texture's release, or the download,
    /// or on a CPU device the mapping. When the event is complete, call [`Slot::back_on_host`]. Never waits.
    ///
    /// # Errors
    /// When a command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext, to_texture: bool) -> Result<ocl::Event> {
        let (width, height) = self.size();
        let starts = self.starts();
        let device = &mut self.device;
        let mut event = None;
        if let Some(planes) = self.planes.as_mut().filter(|_| self.loaded == Loaded::Planes) {
            event = planes.to_host(cl)?;
        }
        if cl.uses_host_memory() {
            let read = ffi::CL_MAP_READ;
            let sides =
                [(&device.source, starts.0, ffi::CL_MAP_WRITE | read), (&device.target, starts.1, read)];
            for (mapped, (picture, start, flags)) in device.mapped.iter_mut().zip(sides) {
                if let (Some(picture), Some(start)) = (picture, start) {
                    event = Some(enqueue_map(cl, picture, width, height, flags, start)?);
                    *mapped = true;
                }
            }
        } else if let (false, Some(target), Some(output)) = (to_texture, &device.target, starts.1) {
            // SAFETY: the memory has room for the whole picture, and `show` refuses it until `back_on_host`.
            event = Some(unsafe { enqueue_read(cl, target, width, height, output) }?);
        }
        if to_texture {
            event = Some(device.shared.as_ref().ok_or_else(no_picture)?.release(cl)?);
        }
        event.ok_or_else(no_picture)
    }

    /// Notes that the event of [`Slot::to_host`] is complete: everything is the host's and OpenGL's again.
    pub fn back_on_host(&mut self) {
        self.device.handed_over = false;
        if let Some(planes) = &mut self.planes {
            planes.back_on_host();
        }
    }

    /// Notes where the picture is now.
    pub(super) fn result_is_in(&mut self, place: Place) {
        self.result = place;
    }

    /// Whether the device has put the picture into the host's memory, from where [`Slot::show`] is to fetch it.
    pub(crate) fn is_in_output(&self) -> bool {
        self.result == Place::Output
    }

    /// Fills the texture with the picture, from where that is. Does nothing while the device has it, or where there is no
    /// texture.
    pub fn show(&mut self) {
        let Some(surface) = self.surface.as_ref().filter(|_| !self.device.handed_over) else { return };
        match (self.result, &self.output) {
            (Place::Texture, _) => return,
            (Place::Output, Some(Output::Pixels(pixels))) => surface.fill_from(pixels),
            _ => {
                let Some(pixels) = self.pixels() else { return };
                surface.fill(pixels);
            }
        }
        self.result = Place::Texture;
    }

    /// Fills the texture with what commands have put into [`Slot::target`], as [`Slot::show`] does.
    pub fn show_output(&mut self) {
        self.result = Place::Output;
        self.show();
    }

    /// The picture, tightly packed RGBA8; `None` while the device has it, and where it is not in the host's memory.
    pub fn pixels(&self) -> Option<&[u8]> {
        if self.device.handed_over {
            return None;
        }
        match (self.result, &self.output) {
            (Place::Input, _) => self.input.as_deref().map(HostBlock::bytes),
            (Place::Output, Some(Output::Block(block))) => Some(block.bytes()),
            (Place::Own, _) => self.own.as_deref(),
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
        self.result = Place::Own;
    }

    /// Fills the texture, if there is one, with a picture of this size, tightly packed RGBA8.
    pub fn show_pixels(&self, rgba: &[u8]) {
        if let Some(surface) = &self.surface {
            surface.fill(rgba);
        }
    }
}

/// The picture in `kept`, or a new one: on a CPU device at `host`, else in the device's memory.
fn picture(
    kept: &mut Option<Picture>,
    cl: &ClContext,
    storage: Storage,
    width: u32,
    height: u32,
    host: NonNull<u8>,
) -> Result<Picture> {
    let picture = match kept.take() {
        Some(picture) => picture,
        None if !cl.uses_host_memory() => Picture::alloc(cl, storage, width, height)?,
        // SAFETY: the slot's memory holds width·height·4 bytes, is aligned to a page, and outlives the picture: the
        // slot's device side drops before it.
        None => unsafe { Picture::from_host(cl, storage, width, height, host.as_ptr())? },
    };
    Ok(kept.insert(picture).clone())
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
