//! The window: winit's events ([`window`]), its contents ([`player`]), keys ([`input`]), the list of movies ([`playlist`], and the
//! desktop's dialog), and the jobs that build OpenCL programs ([`builder`]), tune them ([`tuner`]), measure other ladders ([`lab`]),
//! watch a folder of kernels ([`kernels`]) and compare its versions ([`comparison`]).

pub(crate) mod builder;
mod comparison;
mod completion;
mod dialog;
pub(crate) mod display;
mod fonts;
mod gated_job;
pub(crate) mod input;
pub(crate) mod kernels;
pub(crate) mod lab;
pub(crate) mod player;
pub(crate) mod playlist;
pub(crate) mod settings;
mod size;
pub(crate) mod tuner;
pub(crate) mod window;

pub(crate) use window::run;
