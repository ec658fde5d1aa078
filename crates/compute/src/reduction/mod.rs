//! The reduction of a picture to numbers: the mean luminance of each block, and the sum, minimum, maximum, mean and product
//! over the whole picture. All numbers are integers, so every variant gives exactly those of [`reference()`].

pub mod host;
pub mod kernels;
mod reference;
mod work;

use base::device::{DeviceInfo, DeviceKind};
use opencl::cl::ClContext;
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, Class};
use crate::plan::Lens;
use kernels::Config;
pub use reference::{FRAME_NUMBERS, luminance, reference};

/// The name of the reduction in tuning results and JSON.
pub const NAME: &str = "reduction";

/// The allowed widths and heights of square blocks, in pixels.
pub const BLOCK_EDGES: [u32; 3] = [16, 32, 64];

/// A case of the reduction: the size of a picture, and of the square blocks into which it is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The width of the picture in pixels.
    pub width: u32,
    /// The height of the picture in pixels.
    pub height: u32,
    /// The width and height of a block in pixels: one of [`BLOCK_EDGES`]. JSON omits it if the ladder does not use blocks.
    #[serde(default = "largest_block")]
    pub block: u32,
}

/// Returns the block size of cases whose JSON omits it.
fn largest_block() -> u32 {
    BLOCK_EDGES[2]
}

impl Case {
    /// Returns the number of pixels in the picture.
    pub fn pixels(&self) -> usize {
        self.width as usize * self.height as usize
    }

    /// Returns the number of squares of this width that cover the picture, across and down. Squares at the right and the lower
    /// edge may extend beyond the picture.
    pub fn square_counts(&self, edge: u32) -> [usize; 2] {
        [self.width.div_ceil(edge) as usize, self.height.div_ceil(edge) as usize]
    }

    /// Returns the index of the size group for which the picture is tuned: 0 up to the number of pixels of 720p, 1 up to 1080p,
    /// 2 above.
    pub fn size_class(&self) -> usize {
        match self.pixels() {
            0..=921_600 => 0,
            921_601..=2_088_960 => 1,
            _ => 2,
        }
    }

    /// Returns the name of the group of cases that share a tuning result: the size group of the picture, and the width of a
    /// block.
    pub fn class(&self) -> &'static str {
        let edge = BLOCK_EDGES.iter().position(|known| *known == self.block).unwrap_or_default();
        [
            ["small, 16", "small, 32", "small, 64"],
            ["medium, 16", "medium, 32", "medium, 64"],
            ["large, 16", "large, 32", "large, 64"],
        ][self.size_class()][edge]
    }

    /// Returns the number of results of the reduction, which are 32-bit numbers.
    pub fn numbers(&self) -> usize {
        FRAME_NUMBERS + self.block_counts().iter().product::<usize>()
    }

    /// Returns the lengths of the arrays of a case: the picture as the input, and an output of `numbers` numbers.
    pub fn lens(&self, numbers: usize) -> Lens {
        Lens { inputs: vec![self.pixels()], output: numbers, scratch: vec![kernels::part_words(self)] }
    }

    /// Returns the number of blocks across and down.
    pub fn block_counts(&self) -> [usize; 2] {
        self.square_counts(self.block)
    }
}

/// Returns the fastest kernels for reducing a picture in a buffer, with their parameters: those in the tuning cache, or if
/// there are none, those that are the fastest on most devices of this kind.
pub fn best_config(cl: &ClContext, case: &Case) -> Config {
    let device = &cl.device.info;
    let class = Class::new(NAME, case.class());
    let tuned = Cache::load().fastest(device, cl.sources(), &class, |name| {
        Some(((), kernels::VARIANTS.iter().find(|variant| variant.id == name)?.code(device.kind)?))
    });
    let first = if device.kind == DeviceKind::Cpu { &kernels::STRIPS } else { &kernels::ONE_PASS };
    tuned.map_or_else(|| Config::for_device(first, device), |((), config)| config)
}

/// Returns the kernels for reducing a picture that is in an OpenCL image instead of a buffer, with their default parameters on
/// this device.
pub fn image_config(device: &DeviceInfo) -> Config {
    Config::for_device(&kernels::ONE_PASS_IMAGE, device)
}
