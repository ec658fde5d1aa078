//! The trait for filtering one frame. OpenCL kernels on RGBA pictures or on planes, OpenGL shaders, and Rust code implement it.
//!
//! A filter has one or more passes over the picture's rows, and each pass is divided into bands of rows.
//! [`Bands`](super::bands::Bands) starts and polls the bands for every kind of filter, and learns from their times how long the
//! next ones will take.

mod glsl;
mod native;
mod opencl;

use std::ops::Range;

use super::scopes::HostMeasurements;
use ::opencl::event::Waker;
use base::error::Result;
use stats::{FilterWork, KernelsId, Span};

pub use glsl::TextureFilter;
pub(super) use native::NativeFilter;
pub(super) use opencl::{Kernels, Step};

/// The longest time that the launch of one band of rows should take, in milliseconds. Filters that take longer run in several bands,
/// because a running launch cannot be cancelled.
pub(crate) const BAND_MS: f64 = 30.0;

/// The rows of a picture, and the passes of a filter over it. A pass covers all rows before the next pass begins.
pub struct FilterShape {
    /// The number of rows of the picture.
    pub rows: u32,
    /// The longest time that a band should take, in milliseconds. About two bands are in flight at a time.
    pub band_ms: f64,
    /// For each pass, the number of rows that a band should be a multiple of, so that no work-items are wasted, and the work of the pass
    /// over all rows. Each filter has a unit of work of its own, which is proportional to time.
    pub passes: Vec<(u32, f64)>,
}

/// A filter that is prepared for one frame. It runs in bands of rows, which it starts and does not wait for.
pub trait FrameFilter {
    /// Returns the picture's rows and the filter's passes.
    fn shape(&self) -> FilterShape;

    /// Returns the filter of a stack to which a pass belongs.
    fn pass_of(&self, pass: usize) -> PassOf {
        PassOf::Chosen(pass)
    }

    /// Starts the band with the rows `rows` of the pass `pass`. The band runs after all bands that were started before it. `waker`, if
    /// given, is called when the band has finished, if the back end supports that. Never waits.
    ///
    /// # Errors
    /// If the back end cannot start the band.
    fn start(&mut self, pass: usize, rows: Range<u32>, waker: Option<&Waker>) -> Result<RunningBand>;

    /// Makes the back end run the started bands now, if it holds commands back.
    ///
    /// # Errors
    /// If the back end refuses the flush.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Drops bands that were started but do not run yet, if the back end can.
    fn cancel(&mut self) {}

    /// Returns the bytes and operations of the kernels in these bands, and the time of each pass; `None` for a filter without
    /// kernels.
    fn explain(&self, _bands: &[FinishedBand]) -> Option<FilterWork> {
        None
    }

    /// Takes the filtered RGBA picture, after the last band. Returns `None` if the filter writes into the slot's memory or a texture.
    fn take_picture(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Takes the measurements that the host made of the filtered picture: its luminance for the scopes, and the intervals in which the host
    /// measured. Call it after the last band. Returns `None` if the host measures nothing.
    fn take_measurements(&mut self) -> Option<HostMeasurements> {
        None
    }
}

/// The filter of a stack to which a pass belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassOf {
    /// A pass of the chosen variant.
    Chosen(usize),
    /// A pass of a layer: the index of the layer, its kernels, and the pass there.
    Layer(usize, KernelsId, usize),
    /// A copy between two filters.
    Copy,
}

/// A band of rows that a filter has started. The function returns the times of the band once it has finished, `None` before, and an error if
/// the band failed. It never waits, and must not be called again after it returned the times.
pub(crate) type RunningBand = Box<dyn FnMut() -> Result<Option<BandTimes>>>;

/// A band of rows that a pass of a filter has finished.
#[derive(Debug, Clone, Copy)]
pub struct FinishedBand {
    /// The index of the pass.
    pub pass: usize,
    /// The number of rows.
    pub rows: u32,
    /// The device time in milliseconds; NaN if it is not known.
    pub device_ms: f64,
}

/// The times of a finished band of rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct BandTimes {
    /// The time of the band in milliseconds; NaN if unknown.
    pub ms: f64,
    /// True if `ms` is wall time, because no device time is available.
    pub by_wall: bool,
    /// The start and end of the band on the device's clock, in nanoseconds; `None` if unknown.
    pub on_device: Option<(u64, u64)>,
    /// The interval of the band on the host's clock; `None` if unknown.
    pub on_host: Option<Span>,
    /// True if the band was cancelled before it ran.
    pub cancelled: bool,
}
