//! The scopes' kernels as data, and compiled for pictures in buffers or in images. In: a device. Out: programs that measure a picture
//! and stretch it.

use super::readings::{BINS, STRIPS};
use base::error::Result;
use ladder::config::{Config, Param};
use ladders::histogram;
use ladders::reduction::code::{Arg, Code, Pass, Program, SubGroups};
use ladders::reduction::pictures::Case;
use ladders::reduction::{chosen, chosen_for_images};
use opencl::cl::ClContext;
use opencl::memory::Storage;
use opencl::program;

/// Histogram and waveform.
const fn waveform(args: &'static [Arg]) -> Pass {
    Pass { kernel: "scopes_waveform", args, group: "GROUP", groups: |_, _| [STRIPS, 1] }
}

const fn fixed(name: &'static str, value: u32) -> Param {
    Param { name, cpu: value, gpu: value, values: &[] }
}

const COUNT_FILE: &str = "scopes/01_waveform.cl";
const COUNT_GROUP: Param = Param { name: "GROUP", cpu: 1, gpu: 512, values: &[] };
const COUNT_COPIES: Param = Param { name: "COPIES", cpu: 4, gpu: 8, values: &[] };

pub(super) static COUNT: Code = Code {
    file: COUNT_FILE,
    passes: &[histogram::CLEAR, waveform(&[Arg::Picture, Arg::Numbers, Arg::Width, Arg::Height])],
    params: &[COUNT_GROUP, COUNT_COPIES],
    sub_groups: SubGroups::Unused,
};

static COUNT_IMAGE: Code = Code {
    file: COUNT_FILE,
    passes: &[histogram::CLEAR, waveform(&[Arg::Image, Arg::Numbers, Arg::Width, Arg::Height])],
    params: &[COUNT_GROUP, COUNT_COPIES, fixed("IMAGE", 1)],
    sub_groups: SubGroups::Unused,
};

const LEVEL_FILE: &str = "scopes/02_levels.cl";
const LEVEL_GROUP: Param = Param { name: "GROUP", cpu: 64, gpu: 256, values: &[] };

/// The ends of the histogram.
pub(super) static ENDS: Code = Code {
    file: LEVEL_FILE,
    passes: &[Pass {
        kernel: "scopes_ends",
        args: &[Arg::Numbers, Arg::Parts, Arg::Width, Arg::Height],
        group: "ENDS",
        groups: |_, _| [1, 1],
    }],
    params: &[LEVEL_GROUP, fixed("ENDS", BINS as u32)],
    sub_groups: SubGroups::Unused,
};

/// The picture stretched between them, where it is.
pub(super) static LEVEL: Code = Code {
    file: LEVEL_FILE,
    passes: &[Pass {
        kernel: "scopes_levels",
        args: &[Arg::Picture, Arg::Parts, Arg::Width, Arg::Height],
        group: "GROUP",
        groups: |config, case| [case.pixels().div_ceil(4 * config.get("GROUP") as usize), 1],
    }],
    params: &[LEVEL_GROUP],
    sub_groups: SubGroups::Unused,
};

/// The same into an image. A group has a tile.
const fn into_image(args: &'static [Arg]) -> Pass {
    let groups = |_: &Config<Code>, case: &Case| case.squares(32);
    Pass { kernel: "scopes_levels", args, group: "GROUP", groups }
}

static LEVEL_INTO_IMAGE: Code = Code {
    file: LEVEL_FILE,
    passes: &[into_image(&[Arg::Picture, Arg::Output, Arg::Parts, Arg::Width, Arg::Height])],
    params: &[LEVEL_GROUP, fixed("TO_IMAGE", 1)],
    sub_groups: SubGroups::Unused,
};

pub(super) static LEVEL_OF_IMAGE: Code = Code {
    file: LEVEL_FILE,
    passes: &[into_image(&[Arg::Image, Arg::Output, Arg::Parts, Arg::Width, Arg::Height])],
    params: &[LEVEL_GROUP, fixed("TO_IMAGE", 1), fixed("IMAGE", 1)],
    sub_groups: SubGroups::Unused,
};

/// The texts of the files.
pub(super) struct Sources {
    pub(super) reduce: String,
    pub(super) count: String,
    pub(super) level: String,
}

impl Sources {
    /// The files that are compiled for such pictures.
    pub(super) fn files(cl: &ClContext, case: &Case) -> [&'static str; 4] {
        let device = &cl.device.info;
        [chosen(device, case).code().file, chosen_for_images(device).code().file, COUNT_FILE, LEVEL_FILE]
    }

    /// For such pictures, in such memory.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn load(cl: &ClContext, case: &Case, storage: Storage) -> Result<Self> {
        let text = program::source;
        let reduce = reduction(cl, case, storage).code().file;
        Ok(Self { reduce: text(reduce)?, count: text(COUNT_FILE)?, level: text(LEVEL_FILE)? })
    }
}

fn reduction(cl: &ClContext, case: &Case, storage: Storage) -> Config<Code> {
    match storage {
        Storage::Buffer => chosen(&cl.device.info, case),
        Storage::Image => chosen_for_images(&cl.device.info),
    }
}

/// What measures pictures in one kind of memory, and stretches them.
#[derive(Debug)]
pub(super) struct Kernels {
    pub(super) reduce: Program,
    pub(super) count: Program,
    pub(super) ends: Program,
    /// Where they are.
    pub(super) level: Option<Program>,
    /// Into an image.
    pub(super) level_into: Option<Program>,
}

impl Kernels {
    /// What these texts make; with `images` what writes into images is there.
    ///
    /// # Errors
    /// When one does not compile.
    pub(super) fn of_sources(
        cl: &ClContext,
        case: &Case,
        storage: Storage,
        images: bool,
        sources: &Sources,
    ) -> Result<Self> {
        let device = &cl.device.info;
        let program = |code: &'static Code, text: &str| {
            Program::of_source(cl, &Config::of(code, device.kind).fitted(device), text)
        };
        let level = |code| program(code, &sources.level);
        let (count, within, into) = match storage {
            Storage::Buffer => (&COUNT, Some(&LEVEL), &LEVEL_INTO_IMAGE),
            Storage::Image => (&COUNT_IMAGE, None, &LEVEL_OF_IMAGE),
        };
        Ok(Self {
            reduce: Program::of_source(cl, &reduction(cl, case, storage), &sources.reduce)?,
            count: program(count, &sources.count)?,
            ends: level(&ENDS)?,
            level: within.map(level).transpose()?,
            level_into: images.then(|| level(into)).transpose()?,
        })
    }
}
