//! The kernels of the reduction as data: files, launches and parameters.

use super::code::{Arg, Code, Pass, SubGroups};
use super::pictures::Case;
use super::work::{self, WorkFormula};
use ladder::config::{Config, Param};

/// Arguments of kernels that write only intermediate results, one for each tile of the picture.
const TILE_ARGS: &[Arg] = &[Arg::Picture, Arg::Parts, Arg::Width, Arg::Height, Arg::Block];
/// Arguments of kernels that write intermediate results and also the mean luminance of each block.
const NUMBERS_ARGS: &[Arg] = &[Arg::Picture, Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block];
/// Arguments of kernels that compute all numbers in one launch. The counter counts the work-groups that are done; the last one
/// combines the intermediate results of all.
const COUNTER_ARGS: &[Arg] =
    &[Arg::Picture, Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block, Arg::Counter];

/// The work-group size of the last launch, which combines the intermediate results.
const LAST_GROUP: Param = Param { name: "GROUP_REST", cpu: 64, gpu: 512, values: &[] };

/// Returns a launch of the kernel with the name `kernel`, with one work-group for each tile of the picture.
/// `work` is the launch's work.
const fn tiles(kernel: &'static str, work: WorkFormula) -> Pass {
    let groups = |config: &Config<Code>, case: &Case| case.square_counts(config.get("TILE"));
    Pass { kernel, args: TILE_ARGS, group: "GROUP", groups, work: Some(work) }
}

/// The last launch of variants whose first kernel writes only intermediate results. One work-group combines them to the mean
/// luminance of each block, and to the sum, minimum, maximum, mean and product over the whole picture.
const BLOCKS_AND_FRAME: Pass = Pass {
    kernel: "reduction_rest",
    args: &[Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block],
    group: "GROUP_REST",
    groups: |_, _| [1, 1],
    work: Some(work::rest),
};

/// The last launch of variants whose first kernel has already written the mean of each block. One work-group combines the
/// intermediate results to the sum, minimum, maximum, mean and product over the whole picture.
const FRAME_ONLY: Pass = Pass {
    kernel: "reduction_frame",
    args: &[Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Groups],
    group: "GROUP_REST",
    groups: |_, _| [1, 1],
    work: Some(work::frame),
};

/// Returns a parameter with the same value on all devices, which is not tuned.
const fn fixed_param(name: &'static str, value: u32) -> Param {
    Param { name, cpu: value, gpu: value, values: &[] }
}

/// The parameters of kernels with a work-item for each pixel of a tile.
const ONE_PIXEL_EACH: &[Param] = &[fixed_param("TILE", 16), fixed_param("GROUP", 256), LAST_GROUP];

/// Returns the description of a kernel file that uses no sub-groups.
pub(crate) const fn code(file: &'static str, passes: &'static [Pass], params: &'static [Param]) -> Code {
    Code { file, passes, params, sub_groups: SubGroups::Unused }
}

/// The kernels of the variant `interleaved`.
pub(super) static INTERLEAVED: Code = code(
    "reduction/01_interleaved.cl",
    &[tiles("reduction_interleaved", work::tree), BLOCKS_AND_FRAME],
    ONE_PIXEL_EACH,
);

/// The kernels of the variant `sequential`.
pub(super) static SEQUENTIAL: Code = code(
    "reduction/02_sequential.cl",
    &[tiles("reduction_sequential", work::tree), BLOCKS_AND_FRAME],
    ONE_PIXEL_EACH,
);

/// Returns the description of the file with the unrolled kernel; `params` set the sizes of its tiles and work-groups.
const fn unrolled(params: &'static [Param]) -> Code {
    /// The launches of the unrolled kernel and of the kernel that combines its results.
    const PASSES: &[Pass] = &[tiles("reduction_unrolled", work::unrolled), BLOCKS_AND_FRAME];
    Code { file: "reduction/03_unrolled.cl", passes: PASSES, params, sub_groups: SubGroups::Used }
}

/// The kernels of the variant `unrolled`.
pub(super) static UNROLLED: Code = unrolled(ONE_PIXEL_EACH);
/// The kernels of the variant `prefetch-2`.
pub(super) static PREFETCH_2: Code =
    unrolled(&[fixed_param("TILE", 16), fixed_param("GROUP", 128), LAST_GROUP]);
/// The kernels of the variant `prefetch-4`.
pub(super) static PREFETCH_4: Code =
    unrolled(&[fixed_param("TILE", 16), fixed_param("GROUP", 64), LAST_GROUP]);
/// The kernels of the variant `wide-32`.
pub(super) static WIDE_32: Code = unrolled(&[
    fixed_param("TILE", 32),
    Param { name: "GROUP", cpu: 64, gpu: 256, values: &[64, 256] },
    LAST_GROUP,
]);
/// The kernels of the variant `wide-64`.
pub(super) static WIDE_64: Code = unrolled(&[fixed_param("TILE", 64), fixed_param("GROUP", 256), LAST_GROUP]);

/// The kernels of the variant `two-stage`.
pub(super) static TWO_STAGE: Code = code(
    "reduction/04_two_stage.cl",
    &[
        Pass {
            kernel: "reduction_two_stage",
            args: NUMBERS_ARGS,
            group: "GROUP",
            groups: |config, case| {
                let [across, down] = case.block_counts();
                [(config.get("COUNT") as usize).min(across * down), 1]
            },
            work: Some(work::two_stage),
        },
        FRAME_ONLY,
    ],
    &[
        Param { name: "GROUP", cpu: 16, gpu: 256, values: &[16, 64, 128, 256, 512] },
        Param { name: "COUNT", cpu: 8, gpu: 512, values: &[4, 16, 128, 256, 1024] },
        LAST_GROUP,
    ],
);

/// Returns a launch of the kernel that reduces the picture in one pass, with these arguments and one work-group for each tile
/// of 64×64 pixels.
const fn one_pass(args: &'static [Arg]) -> Pass {
    Pass {
        kernel: "reduction_one_pass",
        args,
        group: "GROUP",
        groups: |_, case| case.square_counts(64),
        work: Some(work::one_pass),
    }
}

/// The size of the work-groups.
const GROUP: Param = Param { name: "GROUP", cpu: 256, gpu: 256, values: &[128, 256, 512] };

/// The kernels of the variant `sub-groups`.
pub(super) static SUB_GROUPS: Code = Code {
    file: "reduction/05_one_pass.cl",
    passes: &[one_pass(NUMBERS_ARGS), FRAME_ONLY],
    params: &[fixed_param("ONE_PASS", 0), GROUP, LAST_GROUP],
    sub_groups: SubGroups::Needed,
};

/// The kernels of the variant `one-pass`.
pub(super) static ONE_PASS: Code =
    code("reduction/05_one_pass.cl", &[one_pass(COUNTER_ARGS)], &[fixed_param("ONE_PASS", 1), GROUP]);

/// The kernels of [`ONE_PASS`] for a picture in an image. They are no variant of the ladder, whose pictures are in buffers.
pub(super) static ONE_PASS_IMAGE: Code = code(
    "reduction/05_one_pass.cl",
    &[one_pass(&[Arg::Image, Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block, Arg::Counter])],
    &[fixed_param("ONE_PASS", 1), fixed_param("IMAGE", 1), GROUP],
);

/// The kernels of the variant `strips`.
pub(super) static STRIPS: Code = code(
    "reduction/06_strips.cl",
    &[Pass {
        kernel: "reduction_strips",
        args: COUNTER_ARGS,
        group: "",
        groups: |config, case| [case.square_counts(16 * config.get("SPAN"))[0], case.block_counts()[1]],
        work: Some(work::strips),
    }],
    &[Param { name: "SPAN", cpu: 128, gpu: 4, values: &[4, 16, 64, 128, 256] }],
);

/// The peak kernel of the reduction: reads each pixel of the picture once without computing the reduction, so that no variant
/// can be faster.
pub(super) static PEAK: Code = code(
    "reduction/limit.cl",
    &[Pass {
        kernel: "read_once",
        args: &[Arg::Picture, Arg::Parts, Arg::Width, Arg::Height],
        group: "GROUP",
        groups: |config, case| {
            let words: u32 = ["WIDTH", "GROUP", "EACH"].iter().map(|name| config.get(name)).product();
            [case.pixels().div_ceil(words as usize), 1]
        },
        work: None,
    }],
    &[
        Param { name: "WIDTH", cpu: 16, gpu: 4, values: &[] },
        Param { name: "GROUP", cpu: 1, gpu: 256, values: &[] },
        Param { name: "EACH", cpu: 512, gpu: 4, values: &[] },
    ],
);
