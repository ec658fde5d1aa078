//! OpenCL: devices and contexts ([`cl`]), kernel texts ([`sources`]), programs ([`program`]), drivers, which are tested in child
//! processes before they are loaded ([`drivers`]), and child processes for whatever may crash or hang ([`sandbox`]).

#![warn(missing_docs, unreachable_pub)]
// `./dev check` builds the docs with private items.
#![allow(rustdoc::private_intra_doc_links)]

#[doc(hidden)] // For the fuzz targets.
pub mod binaries;
mod build_log;
pub mod cards;
pub mod cl;
pub mod clock;
pub mod clock_speed;
pub mod crash;
pub mod device_thread;
pub mod drivers;
pub mod event;
pub mod folders;
pub mod guarded;
pub mod host_block;
pub mod identity;
mod includes;
pub mod kernel;
pub mod machine_code;
pub mod memory;
pub mod parts;
pub mod process;
pub mod program;
pub mod sandbox;
pub mod sources;
pub mod timer;
pub mod transfer;
pub mod watch;
