//! The window: winit's events ([`window`]), what fills it ([`player`]), keys ([`input`]), the movies to play
//! ([`playlist`], and the desktop's dialog that asks for them), a frame's way ([`frame_loop`]), and the
//! background threads that build OpenCL programs ([`builder`]) and tune them ([`tuner`]).

pub mod builder;
mod conversions;
mod dialog;
pub mod frame_loop;
pub mod input;
pub mod player;
pub mod playlist;
pub mod settings;
pub mod tuner;
pub mod window;

pub use window::run;
