//! The kernels of the histogram as data: files, launches and parameters.

use super::BINS;
use crate::reduction::code::{Arg, Code, Pass, SubGroups};
use crate::reduction::pictures::Case;
use ladder::config::{Config, Param};

/// Nothing is counted yet.
pub const CLEAR: Pass =
    Pass { kernel: "histogram_clear", args: &[Arg::Numbers], group: "", groups: |_, _| [BINS, 1] };

/// As many groups as it takes.
const fn counting(kernel: &'static str) -> Pass {
    let groups = |config: &Config<Code>, case: &Case| {
        let of_group = config.get("GROUP") * config.get("EACH");
        [case.pixels().div_ceil(of_group as usize), 1]
    };
    Pass { kernel, args: &[Arg::Picture, Arg::Numbers, Arg::Width, Arg::Height], group: "GROUP", groups }
}

const fn code(file: &'static str, passes: &'static [Pass], params: &'static [Param]) -> Code {
    Code { file, passes, params, sub_groups: SubGroups::Unused }
}

const GROUP: Param = Param { name: "GROUP", cpu: 256, gpu: 256, values: &[64, 128, 256, 512] };

pub(super) static GLOBAL: Code =
    code("histogram/01_global.cl", &[CLEAR, counting("histogram_global")], &[GROUP]);

const LOCAL_FILE: &str = "histogram/02_local.cl";
const LOCAL_PASSES: &[Pass] = &[CLEAR, counting("histogram_local")];
const EACH: Param = Param { name: "EACH", cpu: 64, gpu: 16, values: &[4, 8, 16, 32, 64, 256] };

pub(super) static LOCAL: Code = code(LOCAL_FILE, LOCAL_PASSES, &[GROUP]);
pub(super) static SEVERAL: Code = code(LOCAL_FILE, LOCAL_PASSES, &[GROUP, EACH]);
pub(super) static COPIES: Code = code(
    LOCAL_FILE,
    LOCAL_PASSES,
    &[GROUP, EACH, Param { name: "COPIES", cpu: 2, gpu: 8, values: &[2, 4, 8, 16] }],
);

pub(super) static PRIVATE: Code = code(
    "histogram/03_private.cl",
    &[CLEAR, counting("histogram_private")],
    &[Param { name: "EACH", cpu: 65_536, gpu: 1024, values: &[1024, 16_384, 65_536, 262_144] }],
);
