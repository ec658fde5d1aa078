//! clreel plays a movie through hand-written OpenCL kernels and shows, live, what each optimisation is worth.
//!
//! The modules stand in layers, the uppermost first. Each uses only what stands below it; `tests/layers.rs` reads this
//! drawing and holds them to it.
//!
//! ```text
//! cli        the command line and its subcommands
//! app        the window: its events, its movies, its devices                 (winit)
//! scene      what fills the window; a frame's way: submit, collect, present when due
//! overlay    what the numbers say                                           (egui)
//! options    what the window and several subcommands can be asked for       (clap)
//! engine     a frame, a request ─▶ upload ▶ convert ▶ filter in bands ─▶ a texture or host memory, times
//! stats      stage times, percentiles, export, the trace's file
//! ladders    each computation, with its rungs and its reference
//! ladder     the kernels' variants, their reference, checking and timing them
//! present    the picture in the window                                      (OpenGL)
//! media      file ─▶ decoder thread ─▶ bounded queue ─take─▶ planes or RGBA  (FFmpeg)
//! color      planes to RGBA and their correction: the contract, its reference, rows on the processor, kernels
//! gpu        devices, contexts, programs; sharing: host ◀─▶ device ◀─▶ OpenGL texture
//! timing     times, whether they can be believed, what ran when, the processors' load
//! verify     outputs compared with what is right, among canaries
//! libav      FFmpeg made ready
//! save       files that appear whole or not at all
//! load       files that are read with care
//! leftovers  what is removed when the process ends
//! threads    work shared among threads
//! jobs       work in the background: progress, cancelling, waking, errors
//! memory     memory for pictures, or a sentence
//! numbers    numbers as people read them
//! random     numbers that look random, the same in each run
//! environment the variables that are read
//! exit       exit codes
//! error      what happened, why, and what to try
//! text       text that others have written, safe to show
//! ```
//!
//! A frame's way: `media` takes it from the queue; `engine` uploads, converts and filters it; `present` draws it, and
//! `overlay` what `stats` has measured of it.
//!
//! Threads: the window's thread has OpenGL and all that the user sees, and makes no OpenCL call, so that none can hold it up. Each
//! device has a thread of its own, which makes its context and all calls of frames: the engine is lent to it for each of them and
//! comes back (`scene::frame_loop::lent`), with a frame that it finished while the window drew the one before; what a call that
//! stalls has with it is left to that thread. It calls no OpenGL: what
//! OpenGL has to do comes before, and in the test of sharing the window's thread does it when it is asked. (Where a driver shares
//! textures only on the thread that has OpenGL's context, the window's thread makes the calls.) The decoder's (`media`) calls
//! FFmpeg and packs planes into memory that it was given, and never calls OpenCL. The builder's and the tuner's (`app`) call OpenCL
//! with queues of their own, and no OpenGL; so does that of the shirts (`scene::cloth::walker`). `native` filters in Rust alone. `gpu::watch` knows who waits for which driver. The rest ask or wait for one
//! thing each and end: openers of files, dialogs, what saves, what asks drivers in a process of their own, what waits for signals.

#![warn(missing_docs)]
// Unit tests share files with `tests/`, where `pub` is right.
#![cfg_attr(not(test), warn(unreachable_pub))]
// The docs are for those who read the code: `./dev check` makes them with what is private.
#![allow(rustdoc::private_intra_doc_links)]

pub(crate) mod app;
pub mod cli;
pub mod color;
pub mod engine;
mod environment;
pub mod error;
pub mod exit;
pub mod gl_window;
pub mod gpu;
mod jobs;
pub mod ladder;
pub mod ladders;
mod leftovers;
mod libav;
mod load;
pub mod media;
pub(crate) mod memory;
pub(crate) mod numbers;
pub(crate) mod options;
pub mod overlay;
pub(crate) mod present;
pub mod random;
pub(crate) mod save;
pub(crate) mod scene;
pub(crate) mod stats;
mod text;
mod threads;
pub mod timing;
pub mod verify;

/// What the unit tests of several modules hold against files in `tests/goldens`.
#[cfg(test)]
#[path = "../tests/common/golden.rs"]
mod golden;
/// The tests' own OpenCL layer.
#[cfg(test)]
#[path = "../tests/common/layer.rs"]
mod layer;
/// What compiles it.
#[cfg(test)]
#[path = "../tests/common/native.rs"]
mod native;
/// How the keys of JSON are written there.
#[cfg(test)]
#[path = "../tests/common/shape.rs"]
mod shape;
