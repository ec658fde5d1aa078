//! What filters a frame: OpenCL kernels on pixels, the ones on planes, shaders, and Rust, behind one trait. In: a
//! frame that is where its back end reads it. Out: bands of rows that run, and when each is done.
//!
//! A filter has passes over the picture's rows, and each of them falls into bands: [`Bands`](super::bands::Bands)
//! begins and awaits them, for all filters alike, and learns from them what the next ones will take.

mod glsl;
mod native;
mod opencl;

use std::ops::Range;

use super::scopes::OnHost;
use crate::stats::Span;
use ::opencl::event::Waker;
use base::error::Result;

pub use glsl::OnTexture;
pub(super) use native::{Measures, NativeFilter};
pub(super) use opencl::{OnPixels, OnPlanes};

/// The longest launch that is begun whole, in milliseconds; longer ones are cut into bands of this length, because a
/// launch that runs cannot be cancelled.
pub(crate) const BAND_MS: f64 = 30.0;

/// A filter that is prepared for one frame.
pub trait FrameFilter {
    /// Passes over the picture. Each has covered all rows before the next one begins.
    fn passes(&self) -> usize {
        1
    }

    /// Rows of the picture.
    fn rows(&self) -> u32;

    /// Bands of a multiple of this many rows waste nothing.
    fn row_step(&self, pass: usize) -> u32;

    /// Work of a pass over all rows, in units of the filter's own: time goes up with it.
    fn work(&self, pass: usize) -> f64;

    /// The longest band, in milliseconds; about two of them are begun at a time.
    fn band_ms(&self) -> f64 {
        BAND_MS
    }

    /// Begins a band of a pass, after those that were begun before. `waker`, if given, is called when it is over,
    /// where the back end can do that. Never waits.
    ///
    /// # Errors
    /// When the back end refuses.
    fn start(&mut self, pass: usize, rows: Range<u32>, waker: Option<&Waker>) -> Result<Box<dyn Running>>;

    /// Has the back end begin with the bands that were started, where it collects them.
    ///
    /// # Errors
    /// When the back end refuses.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Drops what has been started and has not begun, where that can be.
    fn cancel(&mut self) {}

    /// The filtered picture, where the filter has it in memory of its own, when the last band is over.
    fn take_picture(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// What was measured of that picture on the host, where that was asked for.
    fn take_measured(&mut self) -> Option<OnHost> {
        None
    }
}

/// A band that has been started.
pub trait Running {
    /// How it ran, once it is over. Never waits. When it has been over once, it is not asked again.
    ///
    /// # Errors
    /// When it failed.
    fn poll(&mut self) -> Result<Option<Ran>>;
}

/// How a band ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ran {
    /// What it took, in milliseconds; not a number where nobody tells.
    pub ms: f64,
    /// That is wall time.
    pub by_wall: bool,
    /// When it ran, on the device's clock, in nanoseconds.
    pub on_device: Option<(u64, u64)>,
    /// When it ran, on the host's clock.
    pub on_host: Option<Span>,
    /// It was cancelled before it began.
    pub cancelled: bool,
}
