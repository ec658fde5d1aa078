//! Memory on a device. In: a context. Out: the flags to ask for it with.

use ocl::flags::MemFlags;

use crate::gpu::cl::ClContext;

/// Flags of memory without contents. PoCL would have it only when a command needs it, and end the process where there is
/// not enough; asked for the host's memory it has it at once, or says no.
pub(crate) fn new_memory(cl: &ClContext) -> MemFlags {
    let flags = MemFlags::new().read_write();
    if cl.is_cpu() { flags.alloc_host_ptr() } else { flags }
}
