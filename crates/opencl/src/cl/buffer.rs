//! Buffers of a device, released with their last clone, and copies between them and the host.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use ocl::ffi::{self, CL_INVALID_VALUE, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR};

use super::handle::Handle;
use super::queue::{Context, Event, Queue};
use super::status::{Answer, Status};

/// Flags for the creation of a memory object (`CL_MEM_…`).
pub(crate) type MemFlags = ffi::cl_mem_flags;

/// A memory object, that is a buffer or an image, as a kernel's argument. Clones share the memory object.
#[derive(Debug, Clone)]
pub struct Mem(Handle);

impl Mem {
    /// Creates a memory object. `create` calls an OpenCL function with the address for the status, and returns the object.
    ///
    /// # Errors
    /// Returns an error if the driver creates no memory object.
    ///
    /// # Safety
    /// If the status is success, the object must be null, or a reference to a memory object that nothing else releases.
    pub(super) unsafe fn create(create: impl FnOnce(*mut i32) -> ffi::cl_mem) -> Answer<Self> {
        let mut status = 0;
        let raw = create(&mut status);
        // SAFETY: the caller vouches for the reference.
        unsafe { Handle::new(raw, status, ffi::clReleaseMemObject) }.map(Self)
    }

    /// Returns the raw handle for OpenCL calls, valid while this object is borrowed.
    pub fn raw(&self) -> *mut c_void {
        self.0.raw()
    }
}

impl PartialEq for Mem {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

/// A buffer of bytes in a device's memory. Clones share the memory.
#[derive(Debug, Clone)]
pub struct Buffer {
    mem: Mem,
    len: usize,
}

impl Buffer {
    /// Allocates `len` bytes; their contents are undefined. `flags` must not name host memory.
    ///
    /// # Errors
    /// Returns an error if there is no memory, or the driver reports an error.
    pub fn new(context: &Context, flags: MemFlags, len: usize) -> Answer<Self> {
        if flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 {
            return Err(Status(CL_INVALID_VALUE));
        }
        // SAFETY: no host memory is involved.
        unsafe { Self::make(context, flags, len, ptr::null_mut()) }
    }

    /// Allocates a buffer and copies `bytes` into it. `access` has the memory flags that say whether kernels read or write the
    /// buffer.
    ///
    /// # Errors
    /// Returns an error as [`Buffer::new`] does.
    pub fn copied(context: &Context, access: MemFlags, bytes: &[u8]) -> Answer<Self> {
        let host = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the driver copies so many bytes before the call returns.
        unsafe { Self::make(context, access | CL_MEM_COPY_HOST_PTR, bytes.len(), host) }
    }

    /// Creates a buffer that uses host memory in place (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Errors
    /// Returns an error as [`Buffer::new`] does.
    ///
    /// # Safety
    /// `host` must point to `len` bytes that stay valid until the last command that uses the buffer and the last clone of the
    /// buffer are gone. Nothing else may write them while commands use them.
    pub unsafe fn in_place(context: &Context, host: *mut u8, len: usize) -> Answer<Self> {
        // SAFETY: the caller vouches for the memory.
        unsafe { Self::make(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, len, host.cast()) }
    }

    /// Allocates a buffer of `len` bytes with these flags; `host` is the address of the host memory that it uses or copies, if any.
    ///
    /// # Errors
    /// Returns an error as [`Buffer::new`] does.
    ///
    /// # Safety
    /// `host` must fit `flags`: it must be null, or point to `len` bytes.
    unsafe fn make(context: &Context, flags: MemFlags, len: usize, host: *mut c_void) -> Answer<Self> {
        // SAFETY: the context is alive, and the caller vouches for the memory.
        let mem =
            unsafe { Mem::create(|status| ffi::clCreateBuffer(context.raw(), flags, len, host, status)) }?;
        Ok(Self { mem, len })
    }

    /// Creates a buffer that shares the OpenGL buffer with the name `buffer`, which has `len` bytes.
    ///
    /// # Errors
    /// Returns an error if the driver does not share the OpenGL buffer.
    ///
    /// # Safety
    /// The context must share objects with the OpenGL context that the buffer belongs to, and the driver must have the function
    /// `clCreateFromGLBuffer`.
    pub unsafe fn from_gl(context: &Context, buffer: u32, len: usize) -> Answer<Self> {
        let (context, flags) = (context.raw(), CL_MEM_READ_WRITE);
        // SAFETY: the context is alive, and the caller vouches for the buffer.
        let mem = unsafe { Mem::create(|status| ffi::clCreateFromGLBuffer(context, flags, buffer, status)) }?;
        Ok(Self { mem, len })
    }

    /// Creates the sub-buffer of `len` bytes that begins at byte `origin`. `origin` must be a multiple of the device's
    /// alignment of sub-buffers.
    ///
    /// # Errors
    /// Returns an error if the sub-buffer does not lie inside this buffer, or the driver reports an error.
    pub fn part(&self, origin: usize, len: usize) -> Answer<Self> {
        let region = ffi::cl_buffer_region { origin, size: len };
        let (kind, region) = (ffi::CL_BUFFER_CREATE_TYPE_REGION, ptr::from_ref(&region).cast());
        let whole = self.mem.raw();
        // SAFETY: the buffer is alive, and the region is of the kind that is named. The driver keeps the whole buffer while
        // there are parts of it.
        let mem = unsafe { Mem::create(|status| ffi::clCreateSubBuffer(whole, 0, kind, region, status)) }?;
        Ok(Self { mem, len })
    }

    /// Returns the length of the buffer in bytes.
    #[allow(clippy::len_without_is_empty, reason = "OpenCL has no empty ones")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the memory object, for a kernel's argument.
    pub fn mem(&self) -> &Mem {
        &self.mem
    }

    /// Copies bytes from the host to the beginning of the buffer, and waits until they are copied.
    ///
    /// # Errors
    /// Returns an error if there are more bytes than the buffer has, or the driver reports an error.
    pub fn write(&self, queue: &Queue, bytes: &[u8]) -> Answer<()> {
        if bytes.len() > self.len {
            return Err(Status(CL_INVALID_VALUE));
        }
        // SAFETY: the call waits.
        unsafe { self.enqueue_write(queue, bytes, true) }.map(drop)
    }

    /// Copies bytes from the beginning of the buffer to the host, and waits until they are copied.
    ///
    /// # Errors
    /// Returns an error if there are more bytes than the buffer has, or the driver reports an error.
    pub fn read(&self, queue: &Queue, bytes: &mut [u8]) -> Answer<()> {
        if bytes.len() > self.len {
            return Err(Status(CL_INVALID_VALUE));
        }
        // SAFETY: the call waits.
        unsafe { self.enqueue_read(queue, bytes, true) }.map(drop)
    }

    /// Enqueues a copy of the host's bytes `from` to the beginning of the buffer. The driver reports an error if the buffer is
    /// shorter. If `waits` is true, the call returns after the copy.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    ///
    /// # Safety
    /// `from` must be readable and stay unchanged until the event is complete.
    pub unsafe fn enqueue_write(&self, queue: &Queue, from: *const [u8], waits: bool) -> Answer<Event> {
        let (queue, mem, waits, len) = (queue.raw(), self.mem.raw(), u32::from(waits), from.len());
        Event::from_call(|event| {
            // SAFETY: queue and buffer are alive; the caller vouches for the bytes.
            unsafe {
                ffi::clEnqueueWriteBuffer(queue, mem, waits, 0, len, from.cast(), 0, ptr::null(), event)
            }
        })
    }

    /// Enqueues a copy of the buffer's first bytes to the host's bytes `into`. The driver reports an error if the buffer is
    /// shorter. If `waits` is true, the call returns after the copy.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    ///
    /// # Safety
    /// `into` must be writable, and nothing else may access it until the event is complete.
    pub unsafe fn enqueue_read(&self, queue: &Queue, into: *mut [u8], waits: bool) -> Answer<Event> {
        let (queue, mem, waits, len) = (queue.raw(), self.mem.raw(), u32::from(waits), into.len());
        Event::from_call(|event| {
            // SAFETY: queue and buffer are alive; the caller vouches for the room.
            unsafe { ffi::clEnqueueReadBuffer(queue, mem, waits, 0, len, into.cast(), 0, ptr::null(), event) }
        })
    }

    /// Enqueues a fill of the buffer's first `len` bytes with a repeated pattern. The pattern's length must be a power of two, at
    /// most 128, that divides `len`.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn enqueue_fill(&self, queue: &Queue, pattern: &[u8], len: usize) -> Answer<Event> {
        let (queue, mem, start, size) = (queue.raw(), self.mem.raw(), pattern.as_ptr(), pattern.len());
        Event::from_call(|event| {
            // SAFETY: queue and buffer are alive; the driver copies the pattern before the call returns, and refuses what is
            // not in the buffer.
            unsafe {
                let none = ptr::null();
                ffi::clEnqueueFillBuffer(queue, mem, start.cast(), size, 0, len, 0, none, event)
            }
        })
    }

    /// Enqueues a copy of the whole buffer to the buffer `to`.
    ///
    /// # Errors
    /// Returns an error if `to` is shorter, or the driver reports an error.
    pub fn enqueue_copy(&self, queue: &Queue, to: &Buffer) -> Answer<Event> {
        let (queue, from, to) = (queue.raw(), self.mem.raw(), to.mem.raw());
        Event::from_call(|event| {
            // SAFETY: queue and buffers are alive; the driver refuses lengths that do not fit.
            unsafe { ffi::clEnqueueCopyBuffer(queue, from, to, 0, 0, self.len, 0, ptr::null(), event) }
        })
    }

    /// Enqueues a command that maps the buffer's first `len` bytes for the host. The driver reports an error if the buffer is
    /// shorter. Returns the mapped address and the command's event. The host must not access the memory before the event is
    /// complete.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn enqueue_map(
        &self,
        queue: &Queue,
        flags: ffi::cl_map_flags,
        len: usize,
    ) -> Answer<(NonNull<u8>, Event)> {
        let (queue, mem) = (queue.raw(), self.mem.raw());
        let (mut at, mut status) = (ptr::null_mut(), 0);
        let event = Event::from_call(|event| {
            // SAFETY: queue and buffer are alive.
            at = unsafe {
                ffi::clEnqueueMapBuffer(queue, mem, 0, flags, 0, len, 0, ptr::null(), event, &mut status)
            };
            status
        })?;
        let at = NonNull::new(at.cast()).ok_or(Status(ffi::CL_MAP_FAILURE))?;
        Ok((at, event))
    }
}

/// Enqueues the unmapping of a memory object that is mapped at the address `mapped`.
///
/// # Errors
/// Returns an error if the driver reports one, for example because nothing is mapped at that address.
pub fn enqueue_unmap(queue: &Queue, mem: &Mem, mapped: NonNull<u8>) -> Answer<Event> {
    let (queue, mem) = (queue.raw(), mem.raw());
    Event::from_call(|event| {
        // SAFETY: queue and memory object are alive; the driver refuses what is not mapped.
        unsafe { ffi::clEnqueueUnmapMemObject(queue, mem, mapped.as_ptr().cast(), 0, ptr::null(), event) }
    })
}
