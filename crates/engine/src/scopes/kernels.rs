//! The kernels of the scopes, which measure and stretch a picture: their source files, arguments and parameters, and their
//! compilation for pictures in buffers or in images.

use base::error::Result;
use compute::config::Param;
use compute::plan::{Pass, group};
use compute::reduction::kernels::{
    Arg, BINS, CLEAR, Code, Config, HEIGHT, IMAGE, NUMBERS, OUTPUT, PARTS, PICTURE, Program, WIDTH,
    fixed_param,
};
use compute::reduction::{Case, best_config, image_config};
use opencl::cl::ClContext;
use opencl::memory::Storage;
use stats::STRIPS;

/// Returns the kernel launch that counts the histogram and the waveform, with these arguments.
const fn waveform_pass(args: &'static [Arg]) -> Pass<Case> {
    Pass { kernel: "scopes_waveform", args, local: group, groups: |_, _| [STRIPS, 1], work: None }
}

/// The name of the file of the kernels that count the histogram and the waveform.
const COUNT_FILE: &str = "scopes/01_waveform.cl";
/// The work-group size of the kernel that counts the histogram and the waveform.
const COUNT_GROUP: Param = Param::new("GROUP", 1, 512, &[]);
/// The number of copies of the histogram in which the work-items of a group count, so that they wait less for each other.
const COUNT_COPIES: Param = Param::new("COPIES", 4, 8, &[]);

/// The kernel that counts the histogram and the waveform of a picture in a buffer.
pub(super) static COUNT: Code = Code::new(
    COUNT_FILE,
    &[CLEAR, waveform_pass(&[PICTURE, NUMBERS, WIDTH, HEIGHT])],
    &[COUNT_GROUP, COUNT_COPIES],
);

/// The kernel that counts the histogram and the waveform of an image.
static COUNT_IMAGE: Code = Code::new(
    COUNT_FILE,
    &[CLEAR, waveform_pass(&[IMAGE, NUMBERS, WIDTH, HEIGHT])],
    &[COUNT_GROUP, COUNT_COPIES, fixed_param("IMAGE", 1)],
);

/// The name of the file of the kernels for auto-levels.
const LEVEL_FILE: &str = "scopes/02_levels.cl";
/// The work-group size of the kernels for auto-levels.
const LEVEL_GROUP: Param = Param::new("GROUP", 64, 256, &[]);

/// The kernel that finds the two luminances that auto-levels map to black and to white.
pub(super) static ENDS: Code = Code::new(
    LEVEL_FILE,
    &[Pass {
        kernel: "scopes_ends",
        args: &[NUMBERS, PARTS, WIDTH, HEIGHT],
        local: |config| [config.get("ENDS") as usize, 1],
        groups: |_, _| [1, 1],
        work: None,
    }],
    &[LEVEL_GROUP, fixed_param("ENDS", BINS as u32)],
);

/// The kernel that stretches a picture in a buffer, in place, between the two luminances that the kernel [`ENDS`] has found.
pub(super) static LEVEL: Code = Code::new(
    LEVEL_FILE,
    &[Pass {
        kernel: "scopes_levels",
        args: &[PICTURE, PARTS, WIDTH, HEIGHT],
        local: group,
        groups: |config, case| [case.pixels().div_ceil(4 * config.get("GROUP") as usize), 1],
        work: None,
    }],
    &[LEVEL_GROUP],
);

/// Returns the kernel launch that stretches a picture into an image, with these arguments. A work-group processes a tile of
/// 32×32 pixels.
const fn into_image_pass(args: &'static [Arg]) -> Pass<Case> {
    let groups = |_: &Config, case: &Case| case.square_counts(32);
    Pass { kernel: "scopes_levels", args, local: group, groups, work: None }
}

/// The kernel that stretches a picture from a buffer into an image.
static LEVEL_INTO_IMAGE: Code = Code::new(
    LEVEL_FILE,
    &[into_image_pass(&[PICTURE, OUTPUT, PARTS, WIDTH, HEIGHT])],
    &[LEVEL_GROUP, fixed_param("TO_IMAGE", 1)],
);

/// The kernel of auto-levels that stretches the contrast of a picture, from one image into another.
pub(super) static LEVEL_OF_IMAGE: Code = Code::new(
    LEVEL_FILE,
    &[into_image_pass(&[IMAGE, OUTPUT, PARTS, WIDTH, HEIGHT])],
    &[LEVEL_GROUP, fixed_param("TO_IMAGE", 1), fixed_param("IMAGE", 1)],
);

/// Returns the kernel files that are compiled for pictures of this size.
pub(super) fn files(cl: &ClContext, case: &Case) -> [&'static str; 4] {
    let device = &cl.device.info;
    [best_config(cl, case).code().file, image_config(device).code().file, COUNT_FILE, LEVEL_FILE]
}

/// The compiled kernels that measure and stretch pictures in one kind of memory (buffer or image).
#[derive(Debug)]
pub(super) struct ScopeKernels {
    pub reduce: Program,
    pub count: Program,
    pub ends: Program,
    /// The program that stretches a picture in place; `None` for pictures in images, which cannot be written while they are
    /// read.
    pub level: Option<Program>,
    /// The program that stretches a picture into an image; `None` if images are not used.
    pub level_into: Option<Program>,
}

impl ScopeKernels {
    /// Compiles the kernels; with `images` also the kernels that write images.
    ///
    /// # Errors
    /// If a kernel file cannot be read, or a kernel does not compile.
    pub(super) fn new(cl: &ClContext, case: &Case, storage: Storage, images: bool) -> Result<Self> {
        let device = &cl.device.info;
        let program = |code: &'static Code| Program::compile(cl, &Config::for_device(code, device));
        let (reduce, count, within, into) = match storage {
            Storage::Buffer => (best_config(cl, case), &COUNT, Some(&LEVEL), &LEVEL_INTO_IMAGE),
            Storage::Image => (image_config(device), &COUNT_IMAGE, None, &LEVEL_OF_IMAGE),
        };
        Ok(Self {
            reduce: Program::compile(cl, &reduce)?,
            count: program(count)?,
            ends: program(&ENDS)?,
            level: within.map(program).transpose()?,
            level_into: images.then(|| program(into)).transpose()?,
        })
    }
}
