//! OpenCL: devices and contexts ([`cl`]), programs ([`program`]), and the sandbox that tries drivers first ([`drivers`]).

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod at_work;
pub mod binaries;
pub mod cl;
pub mod crash;
pub mod device_thread;
pub mod drivers;
pub mod event;
pub mod folders;
pub mod guarded;
pub mod helper;
pub mod host_block;
pub mod identity;
pub mod kernel;
pub mod machine_code;
pub mod memory;
pub mod parts;
mod piped;
pub mod process;
pub mod program;
pub mod sources;
mod spent;
pub mod timer;
pub mod transfer;
pub mod trial;
pub mod watch;
