//! A slot's memory objects on the device, and the commands that hand its memory to the device and return it.

use std::ptr::NonNull;

use ocl::ffi;

use super::device_side::{SOURCE, TARGET};
use super::{Output, ResultIn, Slot, SlotContent, no_picture_error};
use crate::plans::Plans;
use crate::sharing::{hand_over_texture, share_texture};
use base::error::Result;
use base::memory::rgba_bytes;
use opencl::cl::{ClContext, Event, Queue};
use opencl::host_block::HostBlock;
use opencl::memory::{Picture, Storage};
use opencl::transfer::{enqueue_failed, enqueue_map, enqueue_unmap};

impl Slot {
    /// Returns the device's memory object of the RGBA input, in the kind of memory (buffer or image) that a variant reads. The
    /// input must contain the picture already.
    ///
    /// # Errors
    /// If the device cannot hold a picture of this size in this kind of memory.
    pub(crate) fn source(&mut self, cl: &ClContext, storage: Storage) -> Result<Picture> {
        self.picture(cl, SOURCE, storage)
    }

    /// Drops the plans if an input of an earlier frame is in another kind of memory than `storage`, because its memory object is an
    /// argument of theirs and must be replaced.
    pub(crate) fn require_earlier_in(&mut self, storage: Storage) {
        let sources = self.earlier.iter().filter_map(|earlier| earlier.device.pictures[SOURCE].as_ref());
        if sources.into_iter().any(|source| source.storage() != storage) {
            self.device.plans = Plans::default();
        }
    }

    /// Returns the memory object of the input or the output, or creates one: on a CPU device in the slot's host memory, else in the
    /// device's memory.
    fn picture(&mut self, cl: &ClContext, side: usize, storage: Storage) -> Result<Picture> {
        let host = self.host_addresses()[side].ok_or_else(no_picture_error)?;
        let ((width, height), device) = (self.size, &mut self.device);
        if let Some(picture) = &device.pictures[side] {
            if picture.storage() == storage {
                return Ok(picture.clone());
            }
            device.drop_picture(side);
        }
        let picture = if cl.uses_host_memory() {
            // SAFETY: the slot's memory holds width·height·4 bytes, is aligned to a page, and outlives the picture: the slot's
            // device side is dropped before it.
            unsafe { Picture::from_host(cl, storage, (width, height), host)? }
        } else {
            Picture::alloc(cl, storage, width, height)?
        };
        Ok(device.pictures[side].insert(picture).clone())
    }

    /// Returns the device's memory object for the filtered picture, which is copied to the host afterwards.
    ///
    /// # Errors
    /// If the device cannot hold a picture of this size in this kind of memory.
    pub fn target(&mut self, cl: &ClContext, storage: Storage) -> Result<Picture> {
        let bytes = rgba_bytes(self.size);
        let output = match self.output.take() {
            Some(output) => output,
            None => match self.pixels.take() {
                Some(pixels) => Output::Pixels(pixels),
                None if cl.uses_host_memory() => Output::Block(HostBlock::new(bytes)?),
                None => Output::Block(HostBlock::pinned(cl, bytes)?),
            },
        };
        self.output = Some(output);
        self.picture(cl, TARGET, storage)
    }

    /// Returns the texture as a picture for kernels that run between [`Slot::acquire`] and [`Slot::to_host`].
    ///
    /// # Errors
    /// If the driver does not share the texture.
    pub fn shared(&mut self, cl: &ClContext) -> Result<Picture> {
        if self.device.shared.is_none() {
            let surface = self.surface.as_mut().ok_or_else(no_picture_error)?;
            self.device.shared = Some(share_texture(cl, surface.texture, self.size)?);
            if !surface.is_idle {
                // The texture is new: OpenGL may not have created it yet.
                surface.retire();
            }
        }
        self.device.shared_texture().cloned()
    }

    /// Drops the planes. Before that, drops the plans (kernels with their arguments set), because their arguments are memory
    /// objects of the planes.
    pub(super) fn drop_planes(&mut self) {
        self.device.plans = Plans::default();
        self.planes = None;
    }

    /// Returns the addresses of the input and of the output in host memory; `None` for memory that is not allocated.
    fn host_addresses(&self) -> [Option<NonNull<u8>>; 2] {
        [self.input.as_deref().map(HostBlock::start), self.output.as_ref().map(Output::start)]
    }

    /// Enqueues the handover of the texture to OpenCL. Waits for OpenGL if it has not finished with the texture.
    ///
    /// # Errors
    /// If the texture is not shared, or the driver refuses the command.
    pub(crate) fn acquire(&mut self, cl: &ClContext) -> Result<Event> {
        if let Some(surface) = &mut self.surface {
            surface.wait_for_gl();
        }
        let acquired = hand_over_texture(cl, self.device.shared_texture()?, true);
        self.device.handed_over = true;
        acquired
    }

    /// Returns the finished picture in the device's memory; `None` if the device does not have it any more. The boolean is true
    /// if the picture must be acquired from OpenGL before it is read.
    pub(crate) fn on_device(&self) -> Option<(Picture, bool)> {
        match (self.result, &self.device.pictures[TARGET], &self.device.shared) {
            (ResultIn::Output, Some(target), _) => Some((target.clone(), false)),
            (ResultIn::Texture, _, Some(shared)) => Some((shared.clone(), true)),
            _ => None,
        }
    }

    /// Hands the loaded picture, and those of earlier frames, to the device: enqueues the uploads on `queue`, or on a CPU device the
    /// unmapping. Returns the event of the last such command for each picture; none if there is nothing to do. Never waits.
    ///
    /// # Errors
    /// If a command cannot be enqueued.
    pub fn to_device(&mut self, cl: &ClContext, queue: &Queue) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        for earlier in &mut self.earlier {
            events.extend(earlier.to_device(cl, queue)?);
        }
        let starts = self.host_addresses();
        let device = &mut self.device;
        device.handed_over = true;
        let mut event = None;
        if self.loaded == SlotContent::Planes {
            event = self.planes.as_mut().ok_or_else(no_picture_error)?.to_device(cl, queue)?;
        }
        if !cl.uses_host_memory() {
            if let (SlotContent::Rgba, Some(source), Some(input)) =
                (self.loaded, &device.pictures[SOURCE], &self.input)
            {
                // SAFETY: the block holds the whole picture, and `input` does not give access to it until `note_back_on_host`.
                let written = unsafe { source.enqueue_write(queue, input.start().as_ptr()) };
                event = Some(written.map_err(enqueue_failed)?);
            }
        } else {
            for (mapped, (picture, start)) in device.mapped.iter_mut().zip(device.pictures.iter().zip(starts))
            {
                if let (true, Some(picture), Some(start)) = (std::mem::take(mapped), picture, start) {
                    event = Some(enqueue_unmap(queue, picture, start)?);
                }
            }
        }
        events.extend(event);
        Ok(events)
    }

    /// Returns the slot's memory to the host after the commands enqueued so far. Enqueues the release of the texture if
    /// `to_texture` is true; otherwise the download, or on a CPU device the mapping. Call [`Slot::note_back_on_host`] when the
    /// returned event is complete. Never waits.
    ///
    /// # Errors
    /// If a command cannot be enqueued.
    pub fn to_host(&mut self, cl: &ClContext, to_texture: bool) -> Result<Event> {
        let mut event = self.map(cl)?;
        let starts = self.host_addresses();
        let device = &mut self.device;
        if let (false, false, Some(target), Some(output)) =
            (cl.uses_host_memory(), to_texture, &device.pictures[TARGET], starts[TARGET])
        {
            // SAFETY: the memory has room for the whole picture, and `show` does not use it until `note_back_on_host`.
            let read = unsafe { target.enqueue_read(&cl.queue, output.as_ptr()) };
            event = Some(read.map_err(enqueue_failed)?);
        }
        if to_texture {
            event = Some(hand_over_texture(cl, device.shared_texture()?, false)?);
        }
        self.result = if to_texture { ResultIn::Texture } else { ResultIn::Output };
        event.ok_or_else(no_picture_error)
    }

    /// Enqueues the mapping of memory that a CPU device uses in place, also that of earlier frames, and returns the last event;
    /// `None` if there is nothing to do.
    fn map(&mut self, cl: &ClContext) -> Result<Option<Event>> {
        let mut event = None;
        for earlier in &mut self.earlier {
            event = earlier.map(cl)?.or(event);
        }
        if let Some(planes) = self.planes.as_mut().filter(|_| self.loaded == SlotContent::Planes) {
            event = planes.to_host(cl)?.or(event);
        }
        let starts = self.host_addresses();
        let device = &mut self.device;
        for (side, flags) in [(SOURCE, ffi::CL_MAP_WRITE | ffi::CL_MAP_READ), (TARGET, ffi::CL_MAP_READ)] {
            if let (true, Some(picture), Some(start)) =
                (cl.uses_host_memory(), &device.pictures[side], starts[side])
            {
                event = Some(enqueue_map(cl, picture, flags, start)?);
                device.mapped[side] = true;
            }
        }
        Ok(event)
    }

    /// Records that the event of [`Slot::to_host`] is complete: the host and OpenGL may use the slot's memory again.
    pub fn note_back_on_host(&mut self) {
        self.device.handed_over = false;
        self.earlier.iter_mut().for_each(Self::note_back_on_host);
        if let Some(planes) = &mut self.planes {
            planes.note_back_on_host();
        }
    }
}
