//! The kernels of the reduction as data: files, launches and parameters.

use super::code::{Arg, Code, Pass, SubGroups};
use super::pictures::Case;
use ladder::config::{Config, Param};

const FROM_PICTURE: &[Arg] = &[Arg::Picture, Arg::Parts, Arg::Width, Arg::Height, Arg::Block];
const WITH_NUMBERS: &[Arg] = &[Arg::Picture, Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block];
const WITH_COUNTER: &[Arg] =
    &[Arg::Picture, Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block, Arg::Counter];

/// The last launch's group.
const GROUP_REST: Param = Param { name: "GROUP_REST", cpu: 64, gpu: 512, values: &[] };

/// A group for each tile.
const fn tiles(kernel: &'static str) -> Pass {
    let groups = |config: &Config<Code>, case: &Case| case.squares(config.get("TILE"));
    Pass { kernel, args: FROM_PICTURE, group: "GROUP", groups }
}

/// One group for blocks and frame.
const REST: Pass = Pass {
    kernel: "reduction_rest",
    args: &[Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Block],
    group: "GROUP_REST",
    groups: |_, _| [1, 1],
};

/// One group for the frame.
const FRAME: Pass = Pass {
    kernel: "reduction_frame",
    args: &[Arg::Parts, Arg::Numbers, Arg::Width, Arg::Height, Arg::Groups],
    group: "GROUP_REST",
    groups: |_, _| [1, 1],
};

const fn fixed(name: &'static str, value: u32) -> Param {
    Param { name, cpu: value, gpu: value, values: &[] }
}

pub(super) static INTERLEAVED: Code = Code {
    file: "reduction/01_interleaved.cl",
    passes: &[tiles("reduction_interleaved"), REST],
    params: &[fixed("TILE", 16), fixed("GROUP", 256), GROUP_REST],
    sub_groups: SubGroups::Unused,
};

pub(super) static SEQUENTIAL: Code = Code {
    file: "reduction/02_sequential.cl",
    passes: &[tiles("reduction_sequential"), REST],
    params: &[fixed("TILE", 16), fixed("GROUP", 256), GROUP_REST],
    sub_groups: SubGroups::Unused,
};

/// The same kernel with other tiles and groups.
const fn unrolled(params: &'static [Param]) -> Code {
    const PASSES: &[Pass] = &[tiles("reduction_unrolled"), REST];
    Code { file: "reduction/03_unrolled.cl", passes: PASSES, params, sub_groups: SubGroups::Used }
}

pub(super) static UNROLLED: Code = unrolled(&[fixed("TILE", 16), fixed("GROUP", 256), GROUP_REST]);
pub(super) static PREFETCH_2: Code = unrolled(&[fixed("TILE", 16), fixed("GROUP", 128), GROUP_REST]);
pub(super) static PREFETCH_4: Code = unrolled(&[fixed("TILE", 16), fixed("GROUP", 64), GROUP_REST]);
pub(super) static WIDE_32: Code = unrolled(&[
    fixed("TILE", 32),
    Param { name: "GROUP", cpu: 64, gpu: 256, values: &[64, 256] },
    GROUP_REST,
]);
pub(super) static WIDE_64: Code = unrolled(&[fixed("TILE", 64), fixed("GROUP", 256), GROUP_REST]);

pub(super) static TWO_STAGE: Code = Code {
    file: "reduction/04_two_stage.cl",
    passes: &[
        Pass {
            kernel: "reduction_two_stage",
            args: WITH_NUMBERS,
            group: "GROUP",
            groups: |config, case| {
                let [across, down] = case.blocks();
                [(config.get("COUNT") as usize).min(across * down), 1]
            },
        },
        FRAME,
    ],
    params: &[
        Param { name: "GROUP", cpu: 16, gpu: 256, values: &[16, 64, 128, 256, 512] },
        Param { name: "COUNT", cpu: 8, gpu: 512, values: &[4, 16, 128, 256, 1024] },
        GROUP_REST,
    ],
    sub_groups: SubGroups::Unused,
};

/// A group for each tile of 64 pixels.
const fn one_pass(args: &'static [Arg]) -> Pass {
    Pass { kernel: "reduction_one_pass", args, group: "GROUP", groups: |_, case| case.squares(64) }
}

const GROUP: Param = Param { name: "GROUP", cpu: 256, gpu: 256, values: &[128, 256, 512] };

pub(super) static SUB_GROUPS: Code = Code {
    file: "reduction/05_one_pass.cl",
    passes: &[one_pass(WITH_NUMBERS), FRAME],
    params: &[fixed("ONE_PASS", 0), GROUP, GROUP_REST],
    sub_groups: SubGroups::Needed,
};

pub(super) static ONE_PASS: Code = Code {
    file: "reduction/05_one_pass.cl",
    passes: &[one_pass(WITH_COUNTER)],
    params: &[fixed("ONE_PASS", 1), GROUP],
    sub_groups: SubGroups::Unused,
};

/// The same of an image. No rung: the ladder's pictures are buffers.
pub(super) static ONE_PASS_OF_IMAGE: Code = Code {
    file: "reduction/05_one_pass.cl",
    passes: &[one_pass(&[
        Arg::Image,
        Arg::Parts,
        Arg::Numbers,
        Arg::Width,
        Arg::Height,
        Arg::Block,
        Arg::Counter,
    ])],
    params: &[fixed("ONE_PASS", 1), fixed("IMAGE", 1), GROUP],
    sub_groups: SubGroups::Unused,
};

pub(super) static STRIPS: Code = Code {
    file: "reduction/06_strips.cl",
    passes: &[Pass {
        kernel: "reduction_strips",
        args: WITH_COUNTER,
        group: "",
        groups: |config, case| [case.squares(16 * config.get("SPAN"))[0], case.blocks()[1]],
    }],
    params: &[Param { name: "SPAN", cpu: 128, gpu: 4, values: &[4, 16, 64, 128, 256] }],
    sub_groups: SubGroups::Unused,
};

pub(super) static LIMIT: Code = Code {
    file: "reduction/limit.cl",
    passes: &[Pass {
        kernel: "read_once",
        args: &[Arg::Picture, Arg::Parts, Arg::Width, Arg::Height],
        group: "GROUP",
        groups: |config, case| {
            let words: u32 = ["WIDTH", "GROUP", "EACH"].iter().map(|name| config.get(name)).product();
            [case.pixels().div_ceil(words as usize), 1]
        },
    }],
    params: &[
        Param { name: "WIDTH", cpu: 16, gpu: 4, values: &[] },
        Param { name: "GROUP", cpu: 1, gpu: 256, values: &[] },
        Param { name: "EACH", cpu: 512, gpu: 4, values: &[] },
    ],
    sub_groups: SubGroups::Unused,
};
