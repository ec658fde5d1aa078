//! Whole frames: brought to where they are filtered, filtered in bands, had back. In: a filter that was built for the
//! benchmark, and a picture. Out: how what comes back differs, if it does. What does so stands above this layer.

use std::rc::Rc;

use super::planar::{PlanarFilter, planar_quick, planes_of};
use super::reference::quick;
use super::{BuiltVariant, VariantId};
use crate::color_trial;
use base::error::Result;
use base::memory::picture_memory;
use base::verify::{Checked, MismatchReport};
use ladder::bench::Tried;
use ladder::measure::Sample;
use opencl::cl::ClContext;
use video::color::{Correction, Layout, RgbaConverter};
use video::{Canvas, Frame};

/// What filters, as it was built to be timed.
#[derive(Clone, Copy)]
pub enum Filter<'a> {
    /// Kernels on pictures.
    Kernels(&'a ClContext, &'a BuiltVariant),
    /// Kernels on planes.
    Planes(&'a ClContext, &'a PlanarFilter),
    /// All threads of this process.
    Threads,
    /// The shaders that [`WholeFrames::shaders`] returned.
    Shaders,
}

impl Filter<'_> {
    /// Which rung it is.
    pub fn id(&self) -> VariantId {
        match self {
            Filter::Kernels(_, built) => built.kernels().id,
            Filter::Planes(_, planar) => planar.id(),
            Filter::Threads => VariantId::Native,
            Filter::Shaders => VariantId::Glsl,
        }
    }
}

/// The filter in shaders, in an OpenGL context of its own, for one size of picture. OpenGL stands above this layer.
pub trait Shaders {
    /// Brings the picture that is to be filtered to the texture, and waits for that.
    fn load(&self, rgba: &[u8]);

    /// Fills the target, so that what is not drawn shows.
    fn poison(&self, rgba: &[u8]);

    /// Filters what was loaded, and waits. Where OpenGL has no timer queries, there is no device time.
    ///
    /// # Errors
    /// When the driver cannot draw into the textures.
    fn run(&self, radius: u32) -> Result<Sample>;

    /// Returns the filtered picture.
    ///
    /// # Errors
    /// When memory runs out, or the driver does not read textures back.
    fn read(&self) -> Result<Vec<u8>>;

    /// Checks the filter on one picture against `want`, the reference's output for it.
    ///
    /// # Errors
    /// When it cannot run; a wrong result is no error but a report.
    fn check(&self, src: &[u8], want: &[u8], radius: u32) -> Result<Option<MismatchReport>>;
}

/// Filters whole frames as the window has them filtered.
pub trait WholeFrames {
    /// Builds the shaders for pictures of a size, which filter frames from then on.
    ///
    /// # Errors
    /// When there is no OpenGL, or the picture is larger than it draws.
    fn shaders(&mut self, size: (u32, u32)) -> Result<Rc<dyn Shaders>>;

    /// Asks for a frame, and compares what comes back with what is right; what was compared.
    ///
    /// # Errors
    /// What stands in the place of the filter's times.
    fn check(&mut self, filter: Filter, radius: u32) -> Tried<Checked>;
}

/// A frame as a movie has it, of planes, and what is right for it.
pub struct Original {
    /// The frame.
    pub frame: Frame,
    layout: Layout,
    block: Vec<u8>,
    /// It unfiltered, as RGBA pixels.
    rgba: Vec<u8>,
    /// By the reference: the radius, whether planes are filtered, and the pixels.
    right: Option<(u32, bool, Vec<u8>)>,
}

impl Original {
    /// A movie's frame of a picture of `width` by `height` RGBA pixels: of 4:2:0, 8 bits.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn of(rgba: &[u8], (width, height): (u32, u32)) -> Result<Self> {
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
        Ok(Self { frame, layout, block, rgba, right: None })
    }

    /// What the reference makes of it: with `planes` that of planes, which are then converted.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn right(&mut self, radius: u32, planes: bool) -> Result<&[u8]> {
        let known = self.right.take().filter(|(of, kind, _)| (*of, *kind) == (radius, planes));
        let right = match known {
            Some((_, _, right)) => right,
            None if planes => {
                let filtered = planar_quick(&self.layout, &self.block, radius)?;
                color_trial::expected(&self.layout.filtered(), &filtered, &Correction::NEUTRAL)?
            }
            None => {
                let size = [self.layout.width, self.layout.height].map(|edge| edge as usize);
                quick(&self.rgba, size[0], size[1], radius as usize)
            }
        };
        let (.., right) = self.right.insert((radius, planes, right));
        Ok(right)
    }

    /// What is said to have been compared.
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
