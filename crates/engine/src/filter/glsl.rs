//! The box filter as OpenGL shaders, on a picture in a texture.

use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use super::{BandTimes, FrameFilter, HostMeasurements, RunningBand};
use crate::Measurements;
use crate::glsl::{Drawing, GlslFilter};
use crate::stats::{Span, Stage};
use base::error::Result;
use opencl::event::Waker;
use opengl::read_texture::read_texture;
use opengl::texture;
use opengl::timer::Timing;

/// Filters the RGBA picture in a texture with shaders, in place.
pub struct TextureFilter {
    filter: Rc<GlslFilter>,
    texture: glow::Texture,
    size: (u32, u32),
    radius: u32,
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
        Ok(Self { filter: filter.clone(), texture, size, radius, measures: Measurements::default() })
    }
}

impl FrameFilter for TextureFilter {
    /// Returns 2: the first pass writes the row sums, the second reads them.
    fn passes(&self) -> usize {
        2
    }

    fn rows(&self) -> u32 {
        self.size.1
    }

    /// Returns 1: the shaders draw any number of rows equally well.
    fn row_step(&self, _: usize) -> u32 {
        1
    }

    /// Returns the number of texture reads of a pass, as the measure of its work.
    fn work(&self, _: usize) -> f64 {
        f64::from(self.size.0) * f64::from(self.size.1) * f64::from(2 * self.radius + 1)
    }

    /// Returns the time limit of a band in milliseconds. It is shorter than that of other filters, because OpenGL draws the
    /// window only after the bands that are in flight.
    fn band_ms(&self) -> f64 {
        15.0
    }

    /// Draws a band of rows with a pass of the shaders, and starts to measure its time.
    fn start(&mut self, pass: usize, rows: Range<u32>, _: Option<&Waker>) -> Result<Box<dyn RunningBand>> {
        let Self { texture, size, radius, .. } = *self;
        let picture = Drawing { source: texture, target: texture, size, radius };
        let timing = self.filter.draw_band(pass, rows, picture)?;
        Ok(Box::new(DrawnBand(timing)))
    }

    /// Flushes OpenGL's commands, so that the drawn bands begin to run.
    fn flush(&self) -> Result<()> {
        self.filter.flush();
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
        let mut rgba = read_texture(self.filter.gl(), self.texture, self.size).ok()?;
        let read = Span::since(Stage::Reduce, began);
        let mut measured = HostMeasurements::of(self.size, &mut rgba, measures);
        measured.spans.push(read);
        if measures.levels {
            let began = Instant::now();
            texture::fill(self.filter.gl(), self.texture, self.size, &rgba);
            measured.spans.push(Span::since(Stage::Levels, began));
        }
        Some(measured)
    }
}

/// A band of rows that OpenGL draws.
struct DrawnBand(Timing);

impl RunningBand for DrawnBand {
    /// Returns the times of the band once OpenGL has drawn it.
    fn poll(&mut self) -> Result<Option<BandTimes>> {
        let took = self.0.finished();
        Ok(took.map(|took| BandTimes {
            ms: took.ms(),
            by_wall: took.device_ms.is_none(),
            ..BandTimes::default()
        }))
    }
}
