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
use glow::HasContext as _;
use ocl::ffi;

use super::plans::Plans;
use crate::color::Layout;
use crate::color::Packed;
use crate::color::kernels::{KeptKernels, PlaneBlock};
use crate::error::{Error, Result};
use crate::gpu::cl::ClContext;
use crate::gpu::host_block::HostBlock;
use crate::gpu::memory::{Picture, Storage};
use crate::gpu::sharing::pixel_buffer::PixelBuffer;
use crate::gpu::sharing::texture::{self, Shared};
use crate::gpu::transfer::{enqueue_copy_to_image, enqueue_map, enqueue_read, enqueue_unmap, enqueue_write};

/// What the host has put into a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// The RGBA picture of [`Slot::input`].
    Rgba,
    /// The planes of [`Slot::load_packed`] or [`Slot::fill`], to be converted on the device.
    Planes,
}

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

/// One of the places a frame can be in between decoding and the screen: host memory, the device's memory objects, and
/// the texture that is shown. Host and device memory is made when it is first needed.
pub struct Slot {
    width: u32,
    height: u32,
    texture: glow::Texture,
    gl: Arc<glow::Context>,
    /// After it OpenGL has finished with the texture.
    drawn: Option<glow::Fence>,
    device: DeviceSide,
    planes: Option<PlaneBlock>,
    /// Shared with the thread that filters it without OpenCL, if one does.
    input: Option<Arc<HostBlock>>,
    output: Option<Output>,
    loaded: Loaded,
}

/// After so long OpenGL is asked to finish all that it has, in nanoseconds.
const FETCH_NS: i32 = 1_000_000_000;

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
    /// A slot for RGBA8 pictures of `width` by `height` pixels. The OpenGL context must be current, here and
    /// when the slot is used or dropped.
    ///
    /// # Errors
    /// When the picture is larger than the driver's textures, or memory runs out.
    pub fn new(gl: &Arc<glow::Context>, width: u32, height: u32) -> Result<Self> {
        Ok(Self {
            width,
            height,
            texture: texture::create(gl, width, height)?,
            gl: gl.clone(),
            drawn: None,
            device: DeviceSide::default(),
            planes: None,
            input: None,
            output: None,
            loaded: Loaded::Rgba,
        })
    }

    /// Width and height in pixels.
    pub(crate) fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn bytes(&self) -> usize {
        self.width as usize * self.height as usize * 4
    }

    /// The texture that holds the picture after [`Slot::show`].
    pub fn texture(&self) -> glow::Texture {
        self.texture
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
        self.loaded = Loaded::Rgba;
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

    /// The same as the device has them.
    ///
    /// # Errors
    /// Before [`Slot::to_device`].
    pub(crate) fn planes_on_device(&self) -> Result<&Picture> {
        self.planes.as_ref().ok_or_else(no_picture)?.on_device()
    }

    /// The device's picture of the RGBA input, stored as a variant reads it. The input must hold its picture already.
    ///
    /// # Errors
    /// When the device cannot hold a picture of this size and kind.
    pub(crate) fn source(&mut self, cl: &ClContext, storage: Storage) -> Result<Picture> {
        self.forget_other(storage);
        let (width, height) = self.size();
        let block = self.input.as_ref().ok_or_else(no_picture)?;
        picture(&mut self.device.source, cl, storage, width, height, block.start())
    }

    /// The device's picture of the output, to be copied to the host.
    ///
    /// # Errors
    /// When the device cannot hold a picture of this size and kind.
    pub fn target(&mut self, cl: &ClContext, storage: Storage) -> Result<Picture> {
        self.forget_other(storage);
        let (width, height) = self.size();
        let bytes = self.bytes();
        let output = match self.output.take() {
            Some(output) => output,
            None => {
                match PixelBuffer::new(&self.gl, bytes).filter(|p| !cl.uses_host_memory() || p.is_aligned()) {
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
                let shared = Shared::new(cl, self.texture, self.width, self.height)?;
                // The texture is new: OpenGL may not have made it yet.
                self.retire();
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

    /// Source and target are of one kind; both are made anew when it changes.
    fn forget_other(&mut self, storage: Storage) {
        let other = |p: &Option<Picture>| p.as_ref().is_some_and(|p| p.storage() != storage);
        if other(&self.device.source) || other(&self.device.target) {
            let device = &mut self.device;
            device.plans = Plans::default();
            (device.source, device.target, device.mapped) = (None, None, [false; 2]);
        }
    }

    /// Notes that OpenGL's commands so far are the last ones that use the texture, until the next picture is in it.
    pub(crate) fn retire(&mut self) {
        let gl = &self.gl;
        // SAFETY: the context is current; the old fence is this slot's own.
        unsafe {
            if let Some(old) = self.drawn.take() {
                gl.delete_sync(old);
            }
            self.drawn = gl.fence_sync(glow::SYNC_GPU_COMMANDS_COMPLETE, 0).ok();
            if self.drawn.is_none() {
                gl.finish();
            }
        }
    }

    /// Waits until OpenGL has finished with what is in the slot; with `device_waits` only has it begin.
    fn wait_for_gl(&mut self, device_waits: bool) {
        let gl = &self.gl;
        // SAFETY: the context is current; the fence is this slot's own and is not used again.
        unsafe {
            let finished = match self.drawn.take() {
                Some(fence) => {
                    let status = gl.client_wait_sync(fence, glow::SYNC_FLUSH_COMMANDS_BIT, 0);
                    gl.delete_sync(fence);
                    matches!(status, glow::ALREADY_SIGNALED | glow::CONDITION_SATISFIED)
                }
                None => false,
            };
            if !finished && !device_waits {
                gl.finish();
            }
        }
    }

    /// Waits until OpenGL has fetched the picture before from the pixel buffer, so that the next one can be written there.
    /// Seldom at all: it began a few frames ago. Returns whether there is such a buffer.
    pub(crate) fn wait_until_fetched(&mut self) -> bool {
        if !matches!(self.output, Some(Output::Pixels(_))) {
            return false;
        }
        let gl = &self.gl;
        if let Some(fence) = self.drawn.take() {
            // SAFETY: the context is current; the fence is this slot's own and is not used again.
            unsafe {
                let status = gl.client_wait_sync(fence, glow::SYNC_FLUSH_COMMANDS_BIT, FETCH_NS);
                gl.delete_sync(fence);
                if !matches!(status, glow::ALREADY_SIGNALED | glow::CONDITION_SATISFIED) {
                    gl.finish();
                }
            }
        }
        true
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
        self.wait_for_gl(cl.waits_for_gl());
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

    /// Releases the device's memory objects, which the device must not be using; the next filter makes new ones.
    pub(crate) fn drop_device_side(&mut self) {
        self.device = DeviceSide::default();
        self.planes = None;
        // Pinned memory is the device's too.
        self.output = None;
    }

    /// Leaves the memory of a lost device alone for ever: its objects cannot be released, and it may still
    /// write into the blocks. The texture stays. A pixel buffer lasts as long as the OpenGL context, which must then stay,
    /// too.
    pub(crate) fn forget_device_side(&mut self) {
        std::mem::forget(std::mem::take(&mut self.device));
        std::mem::forget((self.planes.take(), self.input.take(), self.output.take()));
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

    /// Fills the texture from the host: with the filtered picture, or with the unfiltered one. Does nothing while the
    /// device has them.
    pub fn show(&self, filtered: bool) {
        if self.device.handed_over {
            return;
        }
        match (filtered, &self.output, &self.input) {
            (true, Some(Output::Pixels(pixels)), _) => {
                texture::fill_from(&self.gl, self.texture, self.size(), pixels);
            }
            (true, Some(Output::Block(block)), _) => self.show_pixels(block.bytes()),
            (false, _, Some(block)) => self.show_pixels(block.bytes()),
            _ => {}
        }
    }

    /// Fills the texture with a picture of this size, tightly packed RGBA8.
    pub fn show_pixels(&self, rgba: &[u8]) {
        texture::fill(&self.gl, self.texture, self.size(), rgba);
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

impl Drop for Slot {
    fn drop(&mut self) {
        // OpenCL's side of the texture goes before the texture.
        self.device = DeviceSide::default();
        // SAFETY: the context is current (see `new`); texture and fence are this slot's own.
        unsafe {
            if let Some(fence) = self.drawn.take() {
                self.gl.delete_sync(fence);
            }
            self.gl.delete_texture(self.texture);
        }
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
