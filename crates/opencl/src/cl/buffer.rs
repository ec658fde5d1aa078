//! Buffers of a device: the driver's objects, released with their last clone, and the commands that move bytes between them
//! and the host.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use ocl::ffi::{self, CL_INVALID_VALUE, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR};

use super::handle::Handle;
use super::queue::{Context, Event, Queue, WaitList};
use super::status::{Answer, Status};

/// Flags of memory (`CL_MEM_…`).
pub(crate) type MemFlags = ffi::cl_mem_flags;

/// A buffer or an image, to be a kernel's argument. Clones share it.
#[derive(Debug, Clone)]
pub struct Mem(Handle);

impl Mem {
    /// What a call that makes memory gave.
    ///
    /// # Errors
    /// When it is none.
    ///
    /// # Safety
    /// With success `raw` must be null, or a reference to a memory object that is given away here.
    pub(super) unsafe fn new(raw: ffi::cl_mem, status: i32) -> Answer<Self> {
        // SAFETY: the caller vouches for the reference.
        unsafe { Handle::new(raw, status, ffi::clReleaseMemObject) }.map(Self)
    }

    /// The memory object for a call of OpenCL's, alive while this is borrowed.
    pub fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

/// Bytes in a device's memory. Clones share them.
#[derive(Debug, Clone)]
pub struct Buffer {
    mem: Mem,
    len: usize,
}

impl Buffer {
    /// So many new bytes; what is in them is undefined. `flags` name no memory of the host's.
    ///
    /// # Errors
    /// When there is no memory, or the driver refuses.
    pub fn new(context: &Context, flags: MemFlags, len: usize) -> Answer<Self> {
        if flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 {
            return Err(Status(CL_INVALID_VALUE));
        }
        // SAFETY: no host memory is involved.
        unsafe { Self::make(context, flags, len, ptr::null_mut()) }
    }

    /// A copy of these bytes.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn copied(context: &Context, access: MemFlags, bytes: &[u8]) -> Answer<Self> {
        let host = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the driver copies so many bytes before the call returns.
        unsafe { Self::make(context, access | CL_MEM_COPY_HOST_PTR, bytes.len(), host) }
    }

    /// A buffer that lies in the host's memory.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    ///
    /// # Safety
    /// `host` must point to `len` bytes that stay valid, and that nothing else writes while commands use them, until the
    /// last command and the last clone are gone.
    pub unsafe fn in_place(context: &Context, host: *mut u8, len: usize) -> Answer<Self> {
        // SAFETY: the caller vouches for the memory.
        unsafe { Self::make(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, len, host.cast()) }
    }

    /// # Safety
    /// `host` must be what the flags say: null, or `len` bytes.
    unsafe fn make(context: &Context, flags: MemFlags, len: usize, host: *mut c_void) -> Answer<Self> {
        let mut status = 0;
        // SAFETY: the context is alive, and the caller vouches for the memory. The reference that comes back is given away.
        let mem = unsafe {
            let raw = ffi::clCreateBuffer(context.raw(), flags, len, host, &mut status);
            Mem::new(raw, status)
        }?;
        Ok(Self { mem, len })
    }

    /// The buffer of OpenGL's with this number, which has `len` bytes.
    ///
    /// # Errors
    /// When the driver does not share it.
    ///
    /// # Safety
    /// The context must share with the OpenGL context that the buffer belongs to, and the driver have the function.
    pub unsafe fn of_gl(context: &Context, buffer: u32, len: usize) -> Answer<Self> {
        let mut status = 0;
        // SAFETY: the context is alive, and the caller vouches for the buffer. The reference that comes back is given away.
        let mem = unsafe {
            let raw = ffi::clCreateFromGLBuffer(context.raw(), CL_MEM_READ_WRITE, buffer, &mut status);
            Mem::new(raw, status)
        }?;
        Ok(Self { mem, len })
    }

    /// The `len` bytes from `origin` on, as a buffer of their own that shares them. `origin` is a multiple of what the device
    /// aligns parts of buffers to.
    ///
    /// # Errors
    /// When they are not all inside, or the driver refuses.
    pub fn part(&self, origin: usize, len: usize) -> Answer<Self> {
        let region = ffi::cl_buffer_region { origin, size: len };
        let (kind, region) = (ffi::CL_BUFFER_CREATE_TYPE_REGION, ptr::from_ref(&region).cast());
        let mut status = 0;
        // SAFETY: the buffer is alive, and the region is of the kind that is named. The reference that comes back is given
        // away; the driver keeps the whole buffer while there are parts of it.
        let mem = unsafe {
            let raw = ffi::clCreateSubBuffer(self.mem.raw(), 0, kind, region, &mut status);
            Mem::new(raw, status)
        }?;
        Ok(Self { mem, len })
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "OpenCL has no empty ones")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The memory object, to be set as a kernel's argument.
    pub fn mem(&self) -> &Mem {
        &self.mem
    }

    /// Copies bytes from the host to the buffer's beginning, and waits.
    ///
    /// # Errors
    /// When they are more than the buffer has, or the driver refuses.
    pub fn write(&self, queue: &Queue, bytes: &[u8]) -> Answer<()> {
        if bytes.len() > self.len {
            return Err(Status(CL_INVALID_VALUE));
        }
        // SAFETY: the call waits.
        unsafe { self.enqueue_write(queue, bytes.as_ptr(), bytes.len(), true) }.map(drop)
    }

    /// Copies bytes from the buffer's beginning to the host, and waits.
    ///
    /// # Errors
    /// When they are more than the buffer has, or the driver refuses.
    pub fn read(&self, queue: &Queue, bytes: &mut [u8]) -> Answer<()> {
        if bytes.len() > self.len {
            return Err(Status(CL_INVALID_VALUE));
        }
        // SAFETY: the call waits.
        unsafe { self.enqueue_read(queue, bytes.as_mut_ptr(), bytes.len(), true, &[]) }.map(drop)
    }

    /// Puts a copy of `len` bytes at `from` on the queue; the driver refuses what the buffer has no room for.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// The bytes must be there and stay untouched until the event is complete.
    pub unsafe fn enqueue_write(
        &self,
        queue: &Queue,
        from: *const u8,
        len: usize,
        waits: bool,
    ) -> Answer<Event> {
        let (queue, mem, waits) = (queue.raw(), self.mem.raw(), u32::from(waits));
        Event::of(|event| {
            // SAFETY: queue and buffer are alive; the caller vouches for the bytes.
            unsafe {
                ffi::clEnqueueWriteBuffer(queue, mem, waits, 0, len, from.cast(), 0, ptr::null(), event)
            }
        })
    }

    /// Puts a copy of the first `len` bytes to `into` on the queue, after these events; the driver refuses more than the
    /// buffer has.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// There must be room, which stays untouched until the event is complete.
    pub unsafe fn enqueue_read(
        &self,
        queue: &Queue,
        into: *mut u8,
        len: usize,
        waits: bool,
        after: &[Event],
    ) -> Answer<Event> {
        let list = WaitList::of(after);
        let ((count, list), waits) = (list.raw(), u32::from(waits));
        let (queue, mem) = (queue.raw(), self.mem.raw());
        Event::of(|event| {
            // SAFETY: queue, buffer and events are alive; the caller vouches for the room.
            unsafe { ffi::clEnqueueReadBuffer(queue, mem, waits, 0, len, into.cast(), count, list, event) }
        })
    }

    /// Puts on the queue that `len` bytes from `origin` on become this pattern, again and again: its length is a power of two
    /// up to 128 that divides both.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn enqueue_fill(&self, queue: &Queue, pattern: &[u8], origin: usize, len: usize) -> Answer<Event> {
        let (queue, mem, start, size) = (queue.raw(), self.mem.raw(), pattern.as_ptr(), pattern.len());
        Event::of(|event| {
            // SAFETY: queue and buffer are alive; the driver copies the pattern before the call returns, and refuses what is
            // not in the buffer.
            unsafe {
                let none = ptr::null();
                ffi::clEnqueueFillBuffer(queue, mem, start.cast(), size, origin, len, 0, none, event)
            }
        })
    }

    /// Puts a copy of the whole buffer to another one on the queue.
    ///
    /// # Errors
    /// When that one is shorter, or the driver refuses.
    pub fn enqueue_copy(&self, queue: &Queue, to: &Buffer) -> Answer<Event> {
        let (queue, from, to) = (queue.raw(), self.mem.raw(), to.mem.raw());
        Event::of(|event| {
            // SAFETY: queue and buffers are alive; the driver refuses lengths that do not fit.
            unsafe { ffi::clEnqueueCopyBuffer(queue, from, to, 0, 0, self.len, 0, ptr::null(), event) }
        })
    }

    /// Puts the mapping of the first `len` bytes on the queue, after these events; the driver refuses more than the buffer has. Where it will be, and its event: before that is
    /// complete, the host must leave the memory alone.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn enqueue_map(
        &self,
        queue: &Queue,
        flags: ffi::cl_map_flags,
        len: usize,
        waits: bool,
        after: &[Event],
    ) -> Answer<(NonNull<u8>, Event)> {
        let list = WaitList::of(after);
        let ((count, list), waits) = (list.raw(), u32::from(waits));
        let (queue, mem) = (queue.raw(), self.mem.raw());
        let (mut at, mut status) = (ptr::null_mut(), 0);
        let event = Event::of(|event| {
            // SAFETY: queue, buffer and events are alive.
            at = unsafe {
                ffi::clEnqueueMapBuffer(queue, mem, waits, flags, 0, len, count, list, event, &mut status)
            };
            status
        })?;
        let at = NonNull::new(at.cast()).ok_or(Status(ffi::CL_MAP_FAILURE))?;
        Ok((at, event))
    }
}

/// Puts the end of a mapping on the queue.
///
/// # Errors
/// When the driver refuses, as it does where nothing is mapped there.
pub fn enqueue_unmap(queue: &Queue, mem: &Mem, mapped: NonNull<u8>) -> Answer<Event> {
    let (queue, mem) = (queue.raw(), mem.raw());
    Event::of(|event| {
        // SAFETY: queue and memory object are alive; the driver refuses what is not mapped.
        unsafe { ffi::clEnqueueUnmapMemObject(queue, mem, mapped.as_ptr().cast(), 0, ptr::null(), event) }
    })
}
