//! The window: winit's events ([`window`]), its contents ([`player`]), keys ([`input`]), the list of movies ([`playlist`]), the
//! job that builds OpenCL programs ([`builder`]), the thread that watches a folder of kernels ([`kernels`]), and the queue of
//! background measurements ([`lane`]), such as the comparison of two versions of kernels ([`comparison`]).

pub(crate) mod builder;
mod comparison;
mod completion;
mod dialog;
pub(crate) mod display;
mod fonts;
pub(crate) mod input;
pub(crate) mod kernels;
mod lane;
pub(crate) mod player;
pub(crate) mod playlist;
mod saved_run;
pub(crate) mod settings;
mod size;
mod wake;
pub(crate) mod window;

pub(crate) use window::run;
