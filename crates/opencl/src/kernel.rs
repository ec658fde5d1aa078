//! Kernels: arguments, the check of their types, and launches.

use std::cell::RefCell;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use ocl::ffi;

use crate::cl::{Answer, Event, Handle, Mem, Program, Queue, Status, WaitList, failed, number_of, text_of};
use base::device::DeviceInfo;
use base::error::{Error, ErrorKind, Result};
use base::numbers::counted;

/// A kernel's argument other than memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// An `int`.
    Int(i32),
    /// A `uint`.
    Uint(u32),
    /// A `long`.
    Long(i64),
    /// A `ulong`.
    Ulong(u64),
    /// A `float`.
    Float(f32),
    /// An `int2`.
    Int2([i32; 2]),
    /// An `int4`.
    Int4([i32; 4]),
    /// An `int8`.
    Int8([i32; 8]),
    /// A `float4`.
    Float4([f32; 4]),
}

impl Value {
    /// Returns the name of the type in OpenCL C, in the form that [`expect_types`] takes.
    pub fn type_names(&self) -> &'static [&'static str] {
        match self {
            Value::Int(_) => &["int"],
            Value::Uint(_) => &["uint"],
            Value::Long(_) => &["long"],
            Value::Ulong(_) => &["ulong"],
            Value::Float(_) => &["float"],
            Value::Int2(_) => &["int2"],
            Value::Int4(_) => &["int4"],
            Value::Int8(_) => &["int8"],
            Value::Float4(_) => &["float4"],
        }
    }
}

/// A kernel's argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A buffer or an image.
    Memory(Mem),
    /// A scalar or a vector, passed by value.
    Value(Value),
    /// Local memory of so many bytes.
    Local(usize),
}

impl From<&Mem> for Argument {
    fn from(memory: &Mem) -> Self {
        Argument::Memory(memory.clone())
    }
}

impl From<Value> for Argument {
    fn from(value: Value) -> Self {
        Argument::Value(value)
    }
}

/// A kernel that remembers its arguments: OpenCL keeps arguments from launch to launch, so that only changed ones are set
/// again. Only one thread at a time may use a kernel.
///
/// The kernel keeps the memory objects of its arguments alive, which OpenCL does not guarantee. It does not keep alive the host
/// memory that a picture of [`Picture::from_host`](super::memory::Picture::from_host) uses.
#[derive(Debug)]
pub struct Kernel {
    kernel: Handle,
    kept: RefCell<Vec<Option<Argument>>>,
}

impl Kernel {
    /// Creates a kernel of a built program; no argument is set.
    ///
    /// # Errors
    /// Returns an error if the program has no kernel of this name, or the driver reports an error.
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

    /// Creates a kernel of a program that was built for `device` from a file that may have been edited. If the driver reports an error, `what` is the first sentence of the
    /// error.
    ///
    /// # Errors
    /// Returns an error if the file has no kernel of this name, the kernel needs more local memory than the device has, or the
    /// driver reports an error.
    pub fn from_file(
        program: &Program,
        device: &DeviceInfo,
        file: &str,
        name: &str,
        what: &str,
    ) -> Result<Self> {
        let kernel = Self::new(program, name).map_err(|status| {
            if status.0 != ffi::CL_INVALID_KERNEL_NAME {
                return failed(what, &status);
            }
            let what = format!("{file} has no kernel '{name}'.");
            let why = "clreel looks for a kernel of that name in this file.";
            let hint = "Give the kernel that name, or choose another variant.";
            Error { kind: ErrorKind::OpenCl(status.0), ..Error::new(what, why, hint) }
        })?;
        // Some drivers abort at the launch instead of returning an error.
        let wanted = number_of::<u64>(|size, to| {
            let what = ffi::CL_KERNEL_LOCAL_MEM_SIZE;
            // The program has one device, which need not be named.
            let one = ptr::null_mut();
            // SAFETY: the kernel is alive, and there is room for `size` bytes.
            unsafe { ffi::clGetKernelWorkGroupInfo(kernel.raw(), one, what, size, to, ptr::null_mut()) }
        });
        let available = device.local_memory_bytes;
        match wanted {
            Ok(wanted) if available > 0 && wanted > available => Err(Error {
                kind: ErrorKind::OpenCl(ffi::CL_OUT_OF_RESOURCES),
                ..Error::new(
                    format!("The kernel '{name}' in {file} needs more local memory than the device has."),
                    format!(
                        "It declares {wanted} bytes for each work-group; the device has {available} bytes."
                    ),
                    "Make its __local arrays smaller.",
                )
            }),
            _ => Ok(kernel),
        }
    }

    /// Sets the argument at `index` for all later launches, unless it already has this value.
    ///
    /// # Errors
    /// Returns an error if the driver reports one.
    pub fn set(&self, index: u32, argument: impl Into<Argument>) -> Answer<()> {
        let (argument, at) = (argument.into(), index as usize);
        let mut all = self.kept.borrow_mut();
        if all.len() <= at {
            all.resize_with(at + 1, || None);
        }
        let Some(kept) = all.get_mut(at) else { return Ok(()) };
        if kept.as_ref() == Some(&argument) {
            return Ok(());
        }
        // If setting it fails, its value is unknown.
        *kept = None;
        match &argument {
            Argument::Memory(memory) => self.set_raw(index, &memory.raw()),
            Argument::Local(bytes) => {
                // SAFETY: the kernel is alive, and only this thread has it; local memory has a size and no contents.
                Status::check(unsafe { ffi::clSetKernelArg(self.raw(), index, *bytes, ptr::null()) })
            }
            Argument::Value(Value::Int(value)) => self.set_raw(index, value),
            Argument::Value(Value::Uint(value)) => self.set_raw(index, value),
            Argument::Value(Value::Long(value)) => self.set_raw(index, value),
            Argument::Value(Value::Ulong(value)) => self.set_raw(index, value),
            Argument::Value(Value::Float(value)) => self.set_raw(index, value),
            Argument::Value(Value::Int2(value)) => self.set_raw(index, value),
            Argument::Value(Value::Int4(value)) => self.set_raw(index, value),
            Argument::Value(Value::Int8(value)) => self.set_raw(index, value),
            Argument::Value(Value::Float4(value)) => self.set_raw(index, value),
        }?;
        *kept = Some(argument);
        Ok(())
    }

    /// Sets an argument to the bytes of `value`: a memory object, or numbers in OpenCL's layout.
    fn set_raw<T>(&self, index: u32, value: &T) -> Answer<()> {
        let start: *const c_void = ptr::from_ref(value).cast();
        // SAFETY: the kernel is alive, and only this thread has it; the driver copies so many bytes before the call returns.
        Status::check(unsafe { ffi::clSetKernelArg(self.raw(), index, size_of::<T>(), start) })
    }

    /// Drops the references to the memory objects of the arguments, which must be set again before the next launch.
    pub fn forget_memory(&self) {
        for kept in self.kept.borrow_mut().iter_mut() {
            kept.take_if(|kept| matches!(kept, Argument::Memory(_)));
        }
    }

    /// Returns the raw handle for OpenCL calls, valid while this object is borrowed.
    pub fn raw(&self) -> *mut c_void {
        self.kernel.raw()
    }
}

/// Returns a number that no other call in this process returns. It identifies an object, and distinguishes it from objects that
/// no longer exist.
pub fn unique_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The work-items of a launch, and the size of their work-groups.
#[derive(Debug, Clone, Copy)]
pub struct NdRange {
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
}

impl NdRange {
    /// Returns a one-dimensional range: `global` work-items, in groups of `local` work-items.
    pub fn line(global: usize, local: usize) -> Self {
        Self { dimensions: 1, global: [global, 1, 1], local: [local, 1, 1] }
    }

    /// Returns a range with the number of work-items and the size of a work-group in each of its one to three dimensions.
    pub fn new(global: &[usize], local: &[usize]) -> Self {
        let all = |sizes: &[usize]| [0, 1, 2].map(|d| sizes.get(d).copied().unwrap_or(1));
        Self { dimensions: global.len().clamp(1, 3) as u32, global: all(global), local: all(local) }
    }

    /// Returns a two-dimensional range: `across` by `down` work-items, in groups of `width` by `height` work-items.
    pub fn plane([across, down]: [usize; 2], [width, height]: [usize; 2]) -> Self {
        Self { dimensions: 2, global: [across, down, 1], local: [width, height, 1] }
    }
}

/// Enqueues a kernel, to begin after the events `after` are complete. In an out-of-order queue only such events order the
/// commands. Returns the command's event without waiting.
///
/// # Errors
/// Returns an error if the driver reports one.
///
/// # Safety
/// All arguments must be set, with the right types, and their memory must be large enough for the work-items of `range`.
pub unsafe fn enqueue(queue: &Queue, kernel: &Kernel, range: NdRange, after: &[Event]) -> Answer<Event> {
    let list = WaitList::of(after);
    let (count, list) = list.raw();
    let (queue, kernel, dimensions) = (queue.raw(), kernel.raw(), range.dimensions);
    let (global, local) = (range.global.as_ptr(), range.local.as_ptr());
    Event::from_call(|event| {
        // SAFETY: queue, kernel and events are alive, there are sizes for all dimensions, and the caller vouches for the
        // arguments.
        unsafe {
            let offset = ptr::null();
            ffi::clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, list, event)
        }
    })
}

/// Checks that a kernel of the file `file`, which may have been edited, takes `count` arguments.
///
/// # Errors
/// Returns an error with both numbers if it takes more or fewer.
pub fn expect_count(kernel: &Kernel, file: &str, count: usize) -> Result<()> {
    // Without an answer, a wrong number shows when arguments are set.
    let Some(found) = argument_count(kernel).filter(|found| *found as usize != count) else { return Ok(()) };
    Err(Error::new(
        format!("The kernel in {file} has another number of arguments than expected."),
        format!("It takes {}, but gets {count}.", counted(found.into(), "argument")),
        "Correct the kernel.",
    ))
}

/// Returns the names of a kernel's arguments, in order; `None` if the device does not report them.
pub fn argument_names(kernel: &Kernel) -> Option<Vec<String>> {
    let count = argument_count(kernel)?;
    let name = |index| {
        let what = ffi::CL_KERNEL_ARG_NAME;
        let name = text_of(|size, to, length| {
            // SAFETY: the kernel is alive, and there is room for `size` bytes.
            unsafe { ffi::clGetKernelArgInfo(kernel.raw(), index, what, size, to, length) }
        });
        name.ok().filter(|name| !name.is_empty())
    };
    (0..count).map(name).collect()
}

/// Returns the number of a kernel's arguments; `None` if the device does not report it.
fn argument_count(kernel: &Kernel) -> Option<u32> {
    let found = number_of::<u32>(|size, to| {
        // SAFETY: the kernel is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetKernelInfo(kernel.raw(), ffi::CL_KERNEL_NUM_ARGS, size, to, ptr::null_mut()) }
    });
    found.ok()
}

/// Returns the type of the argument at this index if it is none of the `wanted` type names, where `*` stands for all pointers and an
/// empty list for every type; `None` if it is one of them, or if the device does not report it.
pub fn other_type(kernel: &Kernel, index: u32, wanted: &[&str]) -> Option<String> {
    let what = ffi::CL_KERNEL_ARG_TYPE_NAME;
    let found = text_of(|size, to, length| {
        // SAFETY: the kernel is alive, and there is room for `size` bytes.
        unsafe { ffi::clGetKernelArgInfo(kernel.raw(), index, what, size, to, length) }
    });
    let is_wanted = |wanted: &&str, found: &str| *wanted == found || *wanted == "*" && found.ends_with('*');
    found.ok().filter(|found| {
        !found.is_empty() && !wanted.is_empty() && !wanted.iter().any(|wanted| is_wanted(wanted, found))
    })
}

/// Checks that a kernel's arguments have the expected number and types, since OpenCL checks only their sizes. `types` has the
/// accepted type names of each argument, where `*` stands for all pointers; an empty list accepts every type. `file` is named in the error. The check of types passes
/// if the device reports none.
///
/// # Errors
/// Returns an error if there are more or fewer arguments, or one has another type.
pub fn expect_types(kernel: &Kernel, file: &str, types: &[&[&str]]) -> Result<()> {
    expect_count(kernel, file, types.len())?;
    for (position, wanted) in types.iter().enumerate() {
        if let Some(found) = other_type(kernel, position as u32, wanted) {
            return Err(Error::new(
                format!("The kernel in {file} has another argument than expected."),
                format!("Argument {} is {found}, not {}.", position + 1, wanted.join(" or ")),
                "Correct the kernel.",
            ));
        }
    }
    Ok(())
}
