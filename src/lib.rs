//! clreel plays a movie through hand-written OpenCL kernels and shows, live, what each optimisation is worth.
//!
//! This crate has the command line and the window; what they stand on are the crates below. An arrow is a dependency, and
//! each crate has those that its own ones have, too:
//!
//! ```text
//! clreel     the command line, the window, the scenes that fill it                  (clap, winit)
//!   ▼
//! overlay    what the numbers say                                                   (egui)
//!   ▼
//! engine     a frame's way ─▶ upload ▶ convert ▶ filter ▶ a texture or host memory; its numbers; the GLSL filter
//!   ▼
//! box-filter the box filter, and the kernels that convert its pictures          ladders    the other computations
//!   ▼                                                                             ▼
//! video      file ─▶ decoder ─▶ planes ─▶ RGBA  (FFmpeg)                         ladder     checks and times rungs
//!   ▼                                              opengl  (glow, glutin)          ▼
//!   ▼                                                ▼                          opencl     devices, programs, drivers
//!   ▼                                                ▼                            ▼
//! base       errors, files, jobs, threads, times, checks of memory
//! ```
//!
//! box-filter stands on ladder, engine on ladders and opengl too. The tests share testkit.
//!
//! A frame's way: `video` takes it from the queue; `engine` uploads, converts and filters it; its `present` draws it, and
//! `overlay` what `stats` has measured of it.
//!
//! Threads: the window's thread has OpenGL and all that the user sees, and makes no OpenCL call, so that none can hold it up. Each
//! device has a thread of its own, which makes its context and all calls of frames: the engine is lent to it for each of them and
//! comes back (`engine::frame_loop::lent`), with a frame that it finished while the window drew the one before; what a call that
//! stalls has with it is left to that thread. It calls no OpenGL: what
//! OpenGL has to do comes before, and in the test of sharing the window's thread does it when it is asked. (Where a driver shares
//! textures only on the thread that has OpenGL's context, the window's thread makes the calls.) The decoder's (`video`) calls
//! FFmpeg and packs planes into memory that it was given, and never calls OpenCL. The builder's and the tuner's (`app`) call OpenCL
//! with queues of their own, and no OpenGL; so does that of the shirts (`scene::cloth::walker`). `native` filters in Rust alone. `opencl::watch` knows who waits for which driver. The rest ask or wait for one
//! thing each and end: openers of files, dialogs, what saves, what asks drivers in a process of their own, what waits for signals.

#![warn(missing_docs, unreachable_pub)]
// The docs are for those who read the code: `./dev check` makes them of all items.
#![allow(rustdoc::private_intra_doc_links)]

mod app;
pub mod cli;
pub mod gl_window;
mod options;
mod probe;
mod scene;
