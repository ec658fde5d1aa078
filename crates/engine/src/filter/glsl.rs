//! The filter of shaders, on a picture in a texture.

use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use super::{FrameFilter, Measures, OnHost, Ran, Running};
use crate::glsl::GlslFilter;
use crate::stats::{Span, Stage};
use base::error::Result;
use opencl::event::Waker;
use opengl::read_texture::read_texture;
use opengl::texture;
use opengl::timer::Timing;

/// Shaders that filter the picture in a texture, in place.
pub struct OnTexture {
    filter: Rc<GlslFilter>,
    texture: glow::Texture,
    size: (u32, u32),
    radius: u32,
    measures: Measures,
}

impl OnTexture {
    /// Prepares the filter of the RGBA8 picture in `texture`; nothing is drawn yet. The row sums of all pictures share
    /// one texture: do not begin one before that before it is over.
    ///
    /// # Errors
    /// When the picture is larger than OpenGL draws.
    pub fn prepare(
        filter: &Rc<GlslFilter>,
        texture: glow::Texture,
        size: (u32, u32),
        radius: u32,
    ) -> Result<Self> {
        filter.make_sums(size)?;
        Ok(Self { filter: filter.clone(), texture, size, radius, measures: Measures::default() })
    }

    /// The same, and the picture is read back and measured on the processor when it is there.
    pub(crate) fn measuring(self, measures: Measures) -> Self {
        Self { measures, ..self }
    }
}

impl FrameFilter for OnTexture {
    fn passes(&self) -> usize {
        2
    }

    fn rows(&self) -> u32 {
        self.size.1
    }

    fn row_step(&self, _: usize) -> u32 {
        1
    }

    /// Texture reads.
    fn work(&self, _: usize) -> f64 {
        f64::from(self.size.0) * f64::from(self.size.1) * f64::from(2 * self.radius + 1)
    }

    /// The window's own drawing comes after what was begun.
    fn band_ms(&self) -> f64 {
        15.0
    }

    fn start(&mut self, pass: usize, rows: Range<u32>, _: Option<&Waker>) -> Result<Box<dyn Running>> {
        let timing = self.filter.draw_band(pass, rows, self.texture, self.size, self.radius)?;
        Ok(Box::new(Drawn(timing)))
    }

    fn flush(&self) -> Result<()> {
        self.filter.flush();
        Ok(())
    }

    /// A picture that cannot be read back is not measured.
    fn take_measured(&mut self) -> Option<OnHost> {
        let Measures { readings, levels } = std::mem::take(&mut self.measures);
        if !readings && !levels {
            return None;
        }
        let began = Instant::now();
        let mut rgba = read_texture(self.filter.gl(), self.texture, self.size).ok()?;
        let read = Span::since(Stage::Reduce, began);
        let mut measured = OnHost::of(self.size, &mut rgba, readings, levels);
        measured.spans.push(read);
        if levels {
            let began = Instant::now();
            texture::fill(self.filter.gl(), self.texture, self.size, &rgba);
            measured.spans.push(Span::since(Stage::Levels, began));
        }
        Some(measured)
    }
}

/// Rows that OpenGL draws.
struct Drawn(Timing);

impl Running for Drawn {
    fn poll(&mut self) -> Result<Option<Ran>> {
        let took = self.0.finished();
        Ok(took.map(|took| Ran { ms: took.ms(), by_wall: took.device_ms.is_none(), ..Ran::default() }))
    }
}
