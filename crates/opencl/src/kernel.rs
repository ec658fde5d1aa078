//! What all kernels share, whoever's they are: their arguments and the check of their types, and the way onto a queue.

use std::cell::RefCell;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use ocl::ffi;

use crate::cl::{Answer, Event, Handle, Mem, Program, Queue, Status, WaitList, failed, text_of};
use base::error::{Error, Result};

/// A kernel's argument that is no memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// `int`
    Int(i32),
    /// `uint`
    Uint(u32),
    /// `float`
    Float(f32),
    /// `int2`
    Int2([i32; 2]),
    /// `int4`
    Int4([i32; 4]),
    /// `int8`
    Int8([i32; 8]),
    /// `float4`
    Float4([f32; 4]),
}

/// A kernel's argument.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a> {
    /// A buffer or an image.
    Memory(&'a Mem),
    /// Anything else.
    Value(Value),
}

impl<'a> From<&'a Mem> for Argument<'a> {
    fn from(memory: &'a Mem) -> Self {
        Argument::Memory(memory)
    }
}

impl From<Value> for Argument<'_> {
    fn from(value: Value) -> Self {
        Argument::Value(value)
    }
}

/// An argument that was set.
#[derive(Debug)]
enum Bound {
    Memory(Mem),
    Value(Value),
}

impl Bound {
    fn is(&self, argument: &Argument) -> bool {
        match (self, argument) {
            (Bound::Memory(kept), Argument::Memory(memory)) => kept.raw() == memory.raw(),
            (Bound::Value(kept), Argument::Value(value)) => kept == value,
            _ => false,
        }
    }
}

/// A kernel that knows its arguments: OpenCL keeps them from launch to launch, and only what has changed is set. It belongs
/// to one thread at a time.
///
/// It keeps its memory objects alive, which OpenCL does not promise of a kernel, but not the host memory beneath
/// [`Picture::from_host`](super::memory::Picture::from_host).
#[derive(Debug)]
pub struct Kernel {
    kernel: Handle,
    kept: RefCell<Vec<Option<Bound>>>,
}

impl Kernel {
    /// A kernel of a built program; no argument is set.
    ///
    /// # Errors
    /// When the program has no kernel of this name, or the driver refuses.
    pub fn new(program: &Program, name: &str) -> Answer<Self> {
        let name = CString::new(name).map_err(|_| Status(ffi::CL_INVALID_KERNEL_NAME))?;
        let mut status = 0;
        // SAFETY: the program is alive, and the name ends with a zero. The reference that comes back is given away.
        let kernel = unsafe {
            let raw = ffi::clCreateKernel(program.raw(), name.as_ptr(), &mut status);
            Handle::new(raw, status, ffi::clReleaseKernel)
        }?;
        Ok(Self { kernel, kept: RefCell::default() })
    }

    /// A kernel of a file that may have been edited; `what` is the first sentence where the driver refuses.
    ///
    /// # Errors
    /// When the file has no kernel of this name, which it is then told to need, or the driver refuses.
    pub fn of_file(program: &Program, file: &str, name: &str, what: &str) -> Result<Self> {
        Self::new(program, name).map_err(|status| {
            if status.0 != ffi::CL_INVALID_KERNEL_NAME {
                return failed(what, &status);
            }
            let what = format!("{file} has no kernel '{name}'.");
            let why = "clreel starts the kernel in this file by that name.";
            let hint = "Give the kernel that name, or choose another variant.";
            Error { opencl_status: Some(status.0), ..Error::new(what, why, hint) }
        })
    }

    /// Sets the argument at `index` for all later launches, unless it is set to that already.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn set<'a>(&self, index: u32, argument: impl Into<Argument<'a>>) -> Answer<()> {
        let (argument, at) = (argument.into(), index as usize);
        let mut all = self.kept.borrow_mut();
        if all.len() <= at {
            all.resize_with(at + 1, || None);
        }
        let Some(kept) = all.get_mut(at) else { return Ok(()) };
        if kept.as_ref().is_some_and(|kept| kept.is(&argument)) {
            return Ok(());
        }
        // Nobody knows what it is where that fails.
        *kept = None;
        match &argument {
            Argument::Memory(memory) => self.set_raw(index, &memory.raw()),
            Argument::Value(Value::Int(value)) => self.set_raw(index, value),
            Argument::Value(Value::Uint(value)) => self.set_raw(index, value),
            Argument::Value(Value::Float(value)) => self.set_raw(index, value),
            Argument::Value(Value::Int2(value)) => self.set_raw(index, value),
            Argument::Value(Value::Int4(value)) => self.set_raw(index, value),
            Argument::Value(Value::Int8(value)) => self.set_raw(index, value),
            Argument::Value(Value::Float4(value)) => self.set_raw(index, value),
        }?;
        *kept = Some(match argument {
            Argument::Memory(memory) => Bound::Memory(memory.clone()),
            Argument::Value(value) => Bound::Value(value),
        });
        Ok(())
    }

    /// Sets an argument to what lies there: a memory object, or numbers as OpenCL has them.
    fn set_raw<T>(&self, index: u32, value: &T) -> Answer<()> {
        let start: *const c_void = ptr::from_ref(value).cast();
        // SAFETY: the kernel is alive, and only this thread has it; the driver copies so many bytes before the call returns.
        Status::check(unsafe { ffi::clSetKernelArg(self.raw(), index, size_of::<T>(), start) })
    }

    /// Lets its memory objects go: they are set anew before the next launch.
    pub fn forget_memory(&self) {
        for kept in self.kept.borrow_mut().iter_mut() {
            kept.take_if(|kept| matches!(kept, Bound::Memory(_)));
        }
    }

    /// The kernel for a call of OpenCL's, alive while this is borrowed.
    pub fn raw(&self) -> *mut c_void {
        self.kernel.raw()
    }
}

/// A number that nothing else in this process has: it tells what was built from what was built anew.
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Puts a kernel on the queue, over `global` work-items in groups of `local`, of which the first `dimensions` count.
/// Returns at once with the command's event.
///
/// # Errors
/// When the driver refuses.
///
/// # Safety
/// All arguments must be set, with the right types, and their memory large enough for so many work-items.
pub unsafe fn enqueue(
    queue: &Queue,
    kernel: &Kernel,
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
) -> Answer<Event> {
    // SAFETY: the caller vouches for the arguments.
    unsafe { enqueue_after(queue, kernel, dimensions, global, local, &[]) }
}

/// The same, and it begins when these events are complete: an out-of-order queue knows no other order.
///
/// # Safety
/// As of [`enqueue`].
pub unsafe fn enqueue_after(
    queue: &Queue,
    kernel: &Kernel,
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
    after: &[Event],
) -> Answer<Event> {
    let list = WaitList::of(after);
    let (count, list) = list.raw();
    let (queue, kernel, dimensions) = (queue.raw(), kernel.raw(), dimensions.clamp(1, 3));
    let (global, local) = (global.as_ptr(), local.as_ptr());
    Event::of(|event| {
        // SAFETY: queue, kernel and events are alive, there are sizes for three dimensions, and the caller vouches for the
        // arguments.
        unsafe {
            let offset = ptr::null();
            ffi::clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event)
        }
    })
}

/// Compares the types of a kernel's arguments with those that are set: OpenCL itself checks only sizes.
pub fn expect_types(kernel: &Kernel, file: &str, types: &[&[&str]]) -> Result<()> {
    for (position, wanted) in types.iter().enumerate() {
        let (index, what) = (position as u32, ffi::CL_KERNEL_ARG_TYPE_NAME);
        let found = text_of(|size, to, length| {
            // SAFETY: the kernel is alive, and there is room for `size` bytes.
            unsafe { ffi::clGetKernelArgInfo(kernel.raw(), index, what, size, to, length) }
        });
        // A device may not tell; then there is nothing to compare.
        let Ok(found) = found else { continue };
        if !found.is_empty() && !wanted.is_empty() && !wanted.contains(&found.as_str()) {
            return Err(Error::new(
                format!("The kernel in {file} has another argument than expected."),
                format!("Argument {} is {found}, not {}.", position + 1, wanted.join(" or ")),
                "Correct the kernel.",
            ));
        }
    }
    Ok(())
}
