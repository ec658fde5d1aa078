//! A slot's memory objects on the device, and how they go there and come back. In: a slot that is loaded. Out:
//! commands that hand its memory over, or ask for it back.

use std::ptr::NonNull;

use ocl::ffi;

use super::{DeviceSide, Loaded, Output, ResultIn, SOURCE, Slot, TARGET, no_picture};
use crate::plans::Plans;
use crate::sharing::Shared;
use base::error::Result;
use opencl::cl::{ClContext, Event, Queue};
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage};
use opencl::transfer::{enqueue_copy_to_image, enqueue_map, enqueue_read, enqueue_unmap, enqueue_write};

impl Slot {
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
            None => match self.pixels.take() {
                Some(pixels) => Output::Pixels(pixels),
                None if cl.uses_host_memory() => Output::Block(HostBlock::new(bytes)?),
                None => Output::Block(HostBlock::pinned(cl, bytes)?),
            },
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
                if !surface.is_idle() {
                    // The texture is new: OpenGL may not have made it yet.
                    surface.retire();
                }
                shared
            }
        };
        Ok(self.device.shared.insert(shared).picture().clone())
    }

    /// What was planned names the planes' memory, which may be the host's: both go, the plans first.
    pub(super) fn forget_planes(&mut self) {
        self.device.plans = Plans::default();
        self.planes = None;
    }

    /// The device's picture of the input goes, and the plans that name it.
    pub(super) fn forget_source(&mut self) {
        if self.device.source.is_some() {
            self.device.plans = Plans::default();
            self.device.source = None;
            self.device.mapped[SOURCE] = false;
        }
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

    /// Where input and output start.
    fn starts(&self) -> (Option<NonNull<u8>>, Option<NonNull<u8>>) {
        (self.input.as_deref().map(HostBlock::start), self.output.as_ref().map(Output::start))
    }

    /// Enqueues the handover of the texture to OpenCL. Waits for OpenGL if it has not finished with the texture.
    ///
    /// # Errors
    /// When the texture is not shared, or the driver refuses.
    pub(crate) fn acquire(&mut self, cl: &ClContext) -> Result<Event> {
        if let Some(surface) = &mut self.surface {
            surface.wait_for_gl();
        }
        let shared = self.device.shared.as_ref().ok_or_else(no_picture)?;
        self.device.handed_over = true;
        shared.acquire(cl)
    }

    /// The picture in the device's memory, where that still has it, and whether it has to be acquired before it is read.
    pub(crate) fn on_device(&self) -> Option<(Picture, bool)> {
        match (self.result, &self.device.target, &self.device.shared) {
            (ResultIn::Output, Some(target), _) => Some((target.clone(), false)),
            (ResultIn::Texture, _, Some(shared)) => Some((shared.picture().clone(), true)),
            _ => None,
        }
    }

    /// Hands the texture to OpenCL, or back, for a command that only reads it.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(crate) fn lend_texture(&self, cl: &ClContext, to_cl: bool) -> Result<()> {
        let shared = self.device.shared.as_ref().ok_or_else(no_picture)?;
        if to_cl { shared.acquire(cl) } else { shared.release(cl) }.map(drop)
    }

    /// Enqueues the copy of a filtered buffer into the acquired texture, on the device.
    ///
    /// # Errors
    /// When the texture is not shared, or the driver refuses.
    pub(crate) fn copy_to_texture(&self, cl: &ClContext, from: &Picture) -> Result<Event> {
        let shared = self.device.shared.as_ref().ok_or_else(no_picture)?;
        enqueue_copy_to_image(cl, from, shared.picture())
    }

    /// Lets the device's memory objects go. Where it is idle they are released; the next filter makes new ones. A lost
    /// device's are left alone for ever: they cannot be released, and it may still write into the host's memory. The
    /// texture stays. A pixel buffer lasts as long as the OpenGL context, which must then stay, too.
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
    pub fn to_device(&mut self, cl: &ClContext, queue: &Queue) -> Result<Option<Event>> {
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
                event = Some(unsafe { enqueue_write(queue, source, input.start()) }?);
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
    pub fn to_host(&mut self, cl: &ClContext, to_texture: bool) -> Result<Event> {
        let (width, _) = self.size();
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
                    event = Some(enqueue_map(cl, picture, width, flags, start)?);
                    *mapped = true;
                }
            }
        } else if let (false, Some(target), Some(output)) = (to_texture, &device.target, starts.1) {
            // SAFETY: the memory has room for the whole picture, and `show` refuses it until `back_on_host`.
            event = Some(unsafe { enqueue_read(cl, target, output) }?);
        }
        if to_texture {
            event = Some(device.shared.as_ref().ok_or_else(no_picture)?.release(cl)?);
        }
        self.result_is_in(if to_texture { ResultIn::Texture } else { ResultIn::Output });
        event.ok_or_else(no_picture)
    }

    /// Notes that the event of [`Slot::to_host`] is complete: everything is the host's and OpenGL's again.
    pub fn back_on_host(&mut self) {
        self.device.handed_over = false;
        if let Some(planes) = &mut self.planes {
            planes.back_on_host();
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
