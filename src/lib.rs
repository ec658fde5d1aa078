//! clreel plays a movie through hand-written OpenCL kernels and shows, live, what each optimisation is worth.
//!
//! A frame's way, and the modules in its order:
//!
//! ```text
//! media      file ─▶ decoder thread ─▶ bounded queue ─take─▶ planes or RGBA  (FFmpeg)
//! convert    the contract from planes to RGBA, colour correction, and the reference of both
//! gpu        devices, contexts, programs; sharing: host ◀─▶ device ◀─▶ OpenGL texture
//! ladder     the kernels' variants, their reference, checking and timing them
//! pipeline   upload ─▶ convert ─▶ filter, cut into bands ─▶ download         (OpenCL)
//! app        the window's loop: submit, collect, present when due            (winit)
//! present    the picture in the window                                      (OpenGL)
//! overlay    what the numbers say                                           (egui)
//! stats      stage times, percentiles, CPU load, export
//! cli        the command line and its subcommands
//! ```

#![warn(missing_docs)]

pub mod app;
pub mod cli;
pub mod convert;
pub mod error;
pub mod gpu;
pub mod ladder;
pub mod ladders;
mod leftovers;
mod load;
pub mod media;
pub mod overlay;
pub mod pipeline;
pub mod present;
pub mod save;
pub mod stats;
mod threads;
