//! Kernels that are made up, for tests. In: nothing. Out: code with two parameters, and configurations of it.

use super::config::{Config, Param, Tunable};
use opencl::cl::{DeviceInfo, DeviceKind};

/// Code with the parameters `A`, `B` and `C`, of which 4 for `A` is not allowed.
#[derive(Debug)]
pub(super) struct Made {
    file: &'static str,
}

/// The code of one rung. The cache wants a file that is there, whatever is in it.
pub(super) static MADE: Made = Made { file: "convert/01_planes.cl" };
/// That of another.
pub(super) static OTHER: Made = Made { file: "convert/02_correct.cl" };

impl Tunable for Made {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        &[
            Param { name: "A", cpu: 1, gpu: 1, values: &[1, 2, 4] },
            Param { name: "B", cpu: 8, gpu: 8, values: &[8, 16, 32, 64] },
            Param { name: "C", cpu: 1, gpu: 1, values: &[1, 2] },
        ]
    }

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        vec![config.get("B") as usize]
    }

    fn allows(&self, config: &Config<Self>, _: &DeviceInfo) -> bool {
        config.get("A") != 4
    }
}

/// A configuration of some code.
pub(super) fn config(code: &'static Made, a: u32, b: u32) -> Config<Made> {
    Config::of(code, DeviceKind::Cpu).with("A", a).with("B", b)
}
