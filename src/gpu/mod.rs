//! Devices and contexts: OpenGL ([`gl`]), OpenCL ([`cl`]), what they share ([`sharing`]), and programs
//! ([`program`]).

pub mod cl;
pub mod convert;
pub mod display;
pub mod event;
pub mod gl;
pub mod host_block;
pub mod program;
pub mod sharing;
pub mod timer;
mod transfer;
