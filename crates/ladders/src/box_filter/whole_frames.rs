//! The interface through which the benchmark filters whole frames as the window does, with upload, bands and download. A crate
//! above this one implements it with the engine.

use std::rc::Rc;

use base::error::Result;
use base::memory::picture_memory;
use base::verify::Checked;
use box_filter::planar::{planar_quick, planes_of};
use box_filter::reference::quick;
use box_filter::shaders::Shaders;
use box_filter::{BuiltVariant, VariantId, color_test_pictures};
use compute::BackEnd;
use ladder::outcome::VariantResult;
use opencl::cl::ClContext;
use video::color::{Correction, Layout, RgbaConverter};
use video::{Canvas, Frame};

/// A filter that was built for the benchmark.
#[derive(Clone, Copy)]
pub enum BuiltFilter<'a> {
    /// Kernels with their context.
    Kernels(&'a ClContext, &'a BuiltVariant),
    /// The filter in Rust on all threads.
    Threads,
    /// The shaders that [`EngineFrames::shaders`] returned.
    Shaders,
}

impl BuiltFilter<'_> {
    /// Returns the id of the variant that was built.
    pub fn id(&self) -> VariantId {
        match self {
            BuiltFilter::Kernels(_, built) => built.id(),
            BuiltFilter::Threads => VariantId::on(BackEnd::Native),
            BuiltFilter::Shaders => VariantId::on(BackEnd::Glsl),
        }
    }
}

/// Filters whole frames in the same way as the window does.
pub trait EngineFrames {
    /// Builds the shaders for pictures of a size. [`EngineFrames::check`] uses them from then on.
    ///
    /// # Errors
    /// When there is no OpenGL, or the picture is larger than it supports.
    fn shaders(&mut self, size: (u32, u32)) -> Result<Rc<dyn Shaders>>;

    /// Filters a frame through the engine, and compares it with the reference. Returns a description of the comparison.
    ///
    /// # Errors
    /// When the frame differs or cannot be filtered: the outcome that replaces the filter's times.
    fn check(&mut self, filter: BuiltFilter, radius: u32) -> VariantResult<Checked>;
}

/// A frame of planes, as a decoder returns it, with its expected output.
pub struct TestFrame {
    /// The frame, whose planes hold the picture.
    pub frame: Frame,
    layout: Layout,
    block: Vec<u8>,
    /// The unfiltered frame as RGBA pixels.
    rgba: Vec<u8>,
    /// The last expected output: the radius, true if planes are filtered, and the pixels.
    expected: Option<(u32, bool, Vec<u8>)>,
}

impl TestFrame {
    /// Converts a picture of `width` by `height` RGBA pixels to a frame of 4:2:0 planes with 8 bits.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn from_rgba(rgba: &[u8], (width, height): (u32, u32)) -> Result<Self> {
        let (layout, mut block) = planes_of(rgba, width, height)?;
        let mut canvas = Canvas::new(width as usize, height as usize);
        for (n, (to, from)) in canvas.planes.iter_mut().zip(layout.planes).enumerate() {
            let columns = if n == 0 { canvas.width } else { canvas.width.div_ceil(2) };
            let rows = block[from.offset..].chunks(from.stride);
            to.chunks_exact_mut(columns).zip(rows).for_each(|(to, row)| to.copy_from_slice(&row[..columns]));
        }
        let frame = canvas.to_frame()?;
        let mut rgba = picture_memory(width, height)?;
        RgbaConverter::new().convert(&frame.picture, &mut rgba)?;
        block.resize(block.len().next_multiple_of(4), 0);
        Ok(Self { frame, layout, block, rgba, expected: None })
    }

    /// Returns the reference's output for a radius. With `planes`, planes are filtered and then converted; otherwise the frame
    /// is converted and then filtered.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn expected(&mut self, radius: u32, planes: bool) -> Result<&[u8]> {
        let known =
            self.expected.take().filter(|(known_radius, kind, _)| (*known_radius, *kind) == (radius, planes));
        let expected = match known {
            Some((_, _, expected)) => expected,
            None if planes => {
                let filtered = planar_quick(&self.layout, &self.block, radius)?;
                color_test_pictures::expected(&self.layout.filtered(), &filtered, &Correction::NEUTRAL)?
            }
            None => {
                let size = [self.layout.width, self.layout.height].map(|edge| edge as usize);
                quick(&self.rgba, size[0], size[1], radius as usize)
            }
        };
        let (.., expected) = self.expected.insert((radius, planes, expected));
        Ok(expected)
    }

    /// Describes, for reports, a comparison that was made with this frame.
    pub fn checked(&self) -> Checked {
        let text = |word: &str| vec![word.to_owned()];
        Checked {
            sizes: vec![format!("{}x{}", self.layout.width, self.layout.height)],
            inputs: text("the movie"),
            ways: text("through the engine"),
            ..Checked::default()
        }
    }
}
