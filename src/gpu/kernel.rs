//! What all kernels share, whoever's they are: their arguments and the check of their types, and the way onto a queue.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use ocl::core::{self, ArgVal, KernelArgInfo};
use ocl::prm::{Float4, Int2, Int4, Int8};

use crate::error::{Error, Result};

/// A kernel's argument that is no memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// `int`
    Int(i32),
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
pub(crate) enum Argument<'a> {
    /// A buffer or an image.
    Memory(&'a core::Mem),
    /// Anything else.
    Value(Value),
}

impl<'a> From<&'a core::Mem> for Argument<'a> {
    fn from(memory: &'a core::Mem) -> Self {
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
enum Kept {
    Memory(core::Mem),
    Value(Value),
}

impl Kept {
    fn is(&self, argument: &Argument) -> bool {
        match (self, argument) {
            (Kept::Memory(kept), Argument::Memory(memory)) => kept.as_ptr() == memory.as_ptr(),
            (Kept::Value(kept), Argument::Value(value)) => kept == value,
            _ => false,
        }
    }
}

/// A kernel that knows its arguments: OpenCL keeps them from launch to launch, and only what has changed is set.
///
/// It keeps its memory objects alive, which OpenCL does not promise of a kernel, but not the host memory beneath
/// [`Picture::from_host`](super::memory::Picture::from_host).
#[derive(Debug)]
pub(crate) struct Kernel {
    kernel: core::Kernel,
    kept: RefCell<Vec<Option<Kept>>>,
}

impl Kernel {
    /// A kernel of a built program; no argument is set.
    ///
    /// # Errors
    /// When the program has no kernel of this name, or the driver refuses.
    pub(crate) fn new(program: &ocl::Program, name: &str) -> core::Result<Self> {
        Ok(Self { kernel: core::create_kernel(program, name)?, kept: RefCell::default() })
    }

    /// Sets the argument at `index` for all later launches, unless it is set to that already.
    ///
    /// # Errors
    /// When the driver refuses.
    pub(crate) fn set<'a>(&self, index: u32, argument: impl Into<Argument<'a>>) -> core::Result<()> {
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
        let set = |value| core::set_kernel_arg(&self.kernel, index, value);
        match argument {
            Argument::Memory(memory) => set(ArgVal::mem(memory))?,
            Argument::Value(Value::Int(value)) => set(ArgVal::scalar(&value))?,
            Argument::Value(Value::Float(value)) => set(ArgVal::scalar(&value))?,
            Argument::Value(Value::Int2([a, b])) => set(ArgVal::vector(&Int2::new(a, b)))?,
            Argument::Value(Value::Int4([a, b, c, d])) => set(ArgVal::vector(&Int4::new(a, b, c, d)))?,
            Argument::Value(Value::Int8([a, b, c, d, e, f, g, h])) => {
                set(ArgVal::vector(&Int8::new(a, b, c, d, e, f, g, h)))?;
            }
            Argument::Value(Value::Float4([a, b, c, d])) => set(ArgVal::vector(&Float4::new(a, b, c, d)))?,
        }
        *kept = Some(match argument {
            Argument::Memory(memory) => Kept::Memory(memory.clone()),
            Argument::Value(value) => Kept::Value(value),
        });
        Ok(())
    }

    /// Lets its memory objects go: they are set anew before the next launch.
    pub(crate) fn forget_memory(&self) {
        for kept in self.kept.borrow_mut().iter_mut() {
            kept.take_if(|kept| matches!(kept, Kept::Memory(_)));
        }
    }

    /// The kernel itself.
    pub(crate) fn as_core(&self) -> &core::Kernel {
        &self.kernel
    }
}

/// A number that nothing else in this process has: it tells what was built from what was built anew.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Puts a kernel on the queue, over `global` work-items in groups of `local`, of which the first `dimensions` count.
/// Returns at once with the command's event.
///
/// # Safety
/// All arguments must be set, with the right types, and their memory large enough for so many work-items.
pub(crate) unsafe fn enqueue(
    queue: &ocl::Queue,
    kernel: &core::Kernel,
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
) -> core::Result<ocl::Event> {
    // SAFETY: the caller vouches for the arguments.
    unsafe { enqueue_after(queue, kernel, dimensions, global, local, None) }
}

/// The same, and it begins when these events are complete: an out-of-order queue knows no other order.
///
/// # Safety
/// As of [`enqueue`].
pub(crate) unsafe fn enqueue_after(
    queue: &ocl::Queue,
    kernel: &core::Kernel,
    dimensions: u32,
    global: [usize; 3],
    local: [usize; 3],
    waits: Option<&ocl::EventList>,
) -> core::Result<ocl::Event> {
    let mut event = core::Event::null();
    // SAFETY: the caller vouches for the arguments.
    unsafe {
        core::enqueue_kernel(queue, kernel, dimensions, None, &global, Some(local), waits, Some(&mut event))?;
    }
    Ok(event.into())
}

/// Compares the types of a kernel's arguments with those that are set: OpenCL itself checks only sizes.
pub(crate) fn expect_types(kernel: &core::Kernel, file: &str, types: &[&[&str]]) -> Result<()> {
    // ocl would look the version up by the kernel's program, and panics where a driver names a program that it does not
    // know, as Intel's CPU runtime does. The question came with this version.
    let version = [core::OpenclVersion::new(1, 2)];
    for (position, wanted) in types.iter().enumerate() {
        // A device may not tell; then there is nothing to compare.
        let (position_cl, what) = (position as u32, KernelArgInfo::TypeName);
        let Ok(found) = core::get_kernel_arg_info(kernel, position_cl, what, Some(&version)) else {
            continue;
        };
        let found = found.to_string();
        let found = found.trim_matches(['\0', ' ']);
        if !found.is_empty() && !wanted.is_empty() && !wanted.contains(&found) {
            return Err(Error::new(
                format!("The kernel in {file} has another argument than expected."),
                format!("Argument {} is {found}, not {}.", position + 1, wanted.join(" or ")),
                "Correct the kernel.",
            ));
        }
    }
    Ok(())
}
