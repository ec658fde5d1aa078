//! Devices and contexts: OpenGL ([`gl`]), OpenCL ([`cl`]), what they share ([`sharing`]), programs ([`program`]), and
//! which drivers can be trusted ([`drivers`]).

mod at_work;
pub(crate) mod binaries;
pub mod cl;
pub(crate) mod device_thread;
pub(crate) mod display;
pub(crate) mod drivers;
pub mod event;
pub(crate) mod folders;
pub mod gl;
pub(crate) mod gl_names;
pub mod gl_timer;
pub(crate) mod guarded;
pub mod headless;
pub(crate) mod helper;
pub mod host_block;
pub(crate) mod identity;
pub mod kernel;
pub(crate) mod machine_code;
pub mod memory;
pub(crate) mod parts;
mod piped;
pub(crate) mod pixel_buffer;
pub(crate) mod probe;
pub mod process;
pub(crate) mod program;
pub mod read_texture;
pub(crate) mod shader;
pub mod sharing;
pub(crate) mod sources;
mod spent;
pub(crate) mod texture;
pub mod timer;
pub(crate) mod transfer;
pub(crate) mod trial;
pub(crate) mod watch;
