//! Transposition on an OpenCL device. In: a configuration, and a matrix in the device's memory. Out: the other one there, and
//! how long it took.

use super::Size;
use base::error::{Error, Result};
use ladder::arrays::OnDevice;
use ladder::config::{Config, Param, Tunable};
use ladder::measure::{self, Sample};
use opencl::cl::{Answer, ClContext, failed};
use opencl::kernel::{Kernel, Value, enqueue, expect_types};
use opencl::program;

/// A kernel file: one kernel, with the arguments a, transposed, m and n.
#[derive(Debug)]
pub struct Code {
    file: &'static str,
    kernel: &'static str,
    params: &'static [Param],
}

const GROUP: &[Param] =
    &[Param { name: "GROUP", cpu: 1024, gpu: 256, values: &[64, 128, 256, 512, 1024, 4096] }];
const TILE: &[Param] = &[Param { name: "TILE", cpu: 16, gpu: 16, values: &[8, 16, 32] }];

pub(super) static ROW_LINEAR: Code =
    Code { file: "transpose/01_row_linear.cl", kernel: "transpose_row_linear", params: GROUP };
pub(super) static COLUMN_LINEAR: Code =
    Code { file: "transpose/02_column_linear.cl", kernel: "transpose_column_linear", params: GROUP };
pub(super) static GROUP_LINEAR: Code =
    Code { file: "transpose/03_group_linear.cl", kernel: "transpose_group_linear", params: TILE };
pub(super) const LIMIT_FILE: &str = "transpose/limit.cl";
pub(super) static LIMIT: Code = Code { file: LIMIT_FILE, kernel: "transpose_copy", params: GROUP };

/// Work-items of a group; what a file does not have is 1.
fn group(config: &Config<Code>) -> usize {
    let tile = config.get("TILE") as usize;
    config.get("GROUP") as usize * tile * tile
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        vec![group(config)]
    }
}

/// A compiled kernel with its parameters.
#[derive(Debug)]
pub struct Program {
    kernel: Kernel,
    config: Config<Code>,
}

impl Program {
    pub(super) fn compile(cl: &ClContext, config: &Config<Code>) -> Result<Self> {
        let code = config.code();
        let program = program::build(cl, code.file, &program::source(code.file)?, &config.options())?;
        let what = format!("The kernel in {} could not be prepared.", code.file);
        let kernel = Kernel::of_file(&program, code.file, code.kernel, &what)?;
        expect_types(&kernel, code.file, &[&["float*"], &["float*"], &["uint"], &["uint"]])?;
        Ok(Self { kernel, config: config.clone() })
    }

    pub(super) fn without_memory(&self) -> Error {
        let file = self.config.code().file;
        Error::new(format!("{file} cannot run."), "The device has no room for the matrices.", "")
    }

    /// Transposes, waits, and times it.
    pub(super) fn run(&self, arrays: &OnDevice<1>, size: Size) -> Result<Sample> {
        let what = "A matrix could not be transposed on the device.";
        let bind = || -> Answer<()> {
            arrays.bind(&self.kernel)?;
            for (index, side) in (2..).zip([size.m, size.n]) {
                self.kernel.set(index, Value::Uint(side))?;
            }
            Ok(())
        };
        bind().map_err(|e| failed(what, &e))?;
        let group = group(&self.config);
        let items = match self.config.get("TILE") {
            1 => size.count().next_multiple_of(group),
            tile => (size.m.div_ceil(tile) as usize) * (size.n.div_ceil(tile) as usize) * group,
        };
        let ran = measure::sample(arrays.queue(), |queue| {
            // SAFETY: the arguments are set, their types were compared, and the kernels look at the sizes.
            let event = unsafe { enqueue(queue, &self.kernel, 1, [items, 1, 1], [group, 1, 1]) };
            Ok(vec![event.map_err(|e| failed(what, &e))?])
        });
        // Other cases have other memory.
        self.kernel.forget_memory();
        ran
    }
}
