//! The box filter as OpenGL shaders, on a picture in a texture.

use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use super::{BandTimes, FilterShape, FrameFilter, HostMeasurements, RunningBand};
use crate::glsl::{Drawing, GlslFilter};
use base::error::Result;
use glow::HasContext as _;
use opencl::event::Waker;
use opengl::read_texture::read_texture;
use opengl::texture;
use stats::{Measurements, Span, Stage};

/// Filters the RGBA picture in a texture with shaders, in place.
pub struct TextureFilter {
    filter: Rc<GlslFilter>,
    picture: Drawing,
    /// The measurements that the CPU makes of the filtered picture after it has been read back.
    pub(crate) measures: Measurements,
}

impl TextureFilter {
    /// Prepares the filter for the RGBA8 picture in `texture`; nothing is drawn yet. All pictures share one texture for the row sums, so
    /// the bands of one picture must finish before the next picture's filter is started.
    ///
    /// # Errors
    /// If the picture is larger than OpenGL draws.
    pub fn prepare(
        filter: &Rc<GlslFilter>,
        texture: glow::Texture,
        size: (u32, u32),
        radius: u32,
    ) -> Result<Self> {
        filter.create_sums_texture(size)?;
        let picture = Drawing { source: texture, target: texture, size, radius };
        Ok(Self { filter: filter.clone(), picture, measures: Measurements::default() })
    }
}

impl FrameFilter for TextureFilter {
    /// Returns two passes: the first writes the row sums, the second reads them. The shaders draw any number of rows equally well, and the work
    /// is the number of texture reads. A band is shorter than that of other filters, because OpenGL draws the window only after the bands that
    /// are in flight.
    fn shape(&self) -> FilterShape {
        let Drawing { size: (width, height), radius, .. } = self.picture;
        let work = f64::from(width) * f64::from(height) * f64::from(2 * radius + 1);
        FilterShape { rows: height, band_ms: 15.0, passes: vec![(1, work); 2] }
    }

    /// Draws a band of rows with a pass of the shaders, and starts to measure its time.
    fn start(&mut self, pass: usize, rows: Range<u32>, _: Option<&Waker>) -> Result<RunningBand> {
        // Frames of other sizes may have come between.
        self.filter.create_sums_texture(self.picture.size)?;
        let timing = self.filter.time_drawing(|| self.filter.draw(pass, rows, self.picture))?;
        Ok(Box::new(move || {
            Ok(timing.finished().map(|took| BandTimes {
                ms: took.ms(),
                by_wall: took.device_ms.is_none(),
                ..BandTimes::default()
            }))
        }))
    }

    /// Flushes OpenGL's commands, so that the drawn bands begin to run.
    fn flush(&self) -> Result<()> {
        // SAFETY: the context is current.
        unsafe { self.filter.gl.flush() };
        Ok(())
    }

    /// Reads the filtered picture back and makes the measurements `measures`. Returns `None` if
    /// nothing is to be measured or the picture cannot be read back.
    fn take_measurements(&mut self) -> Option<HostMeasurements> {
        let measures = std::mem::take(&mut self.measures);
        if measures == Measurements::default() {
            return None;
        }
        let began = Instant::now();
        let (gl, Drawing { target, size, .. }) = (&self.filter.gl, self.picture);
        let mut rgba = read_texture(gl, target, size).ok()?;
        let read = Span::since(Stage::Reduce, began);
        let mut measured = HostMeasurements::of(size, &mut rgba, measures);
        measured.spans.push(read);
        if measures.levels {
            let began = Instant::now();
            texture::RGBA8.fill(gl, target, size, &rgba);
            measured.spans.push(Span::since(Stage::Levels, began));
        }
        Some(measured)
    }
}
