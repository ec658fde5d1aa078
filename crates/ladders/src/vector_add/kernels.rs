//! Vector addition on an OpenCL device. In: a configuration, and the arrays in the device's memory. Out: their sum there,
//! and how long it took.

use base::error::{Error, Result};
use ladder::arrays::OnDevice;
use ladder::config::{Config, Param, Tunable};
use ladder::measure::{self, Sample};
use opencl::cl::{Answer, ClContext, failed};
use opencl::kernel::{Kernel, Value, enqueue, expect_types};
use opencl::program;

/// A kernel file: one kernel, with the arguments a, b, sum and count.
#[derive(Debug)]
pub struct Code {
    file: &'static str,
    kernel: &'static str,
    params: &'static [Param],
}

const GROUP: Param = Param { name: "GROUP", cpu: 1024, gpu: 256, values: &[64, 128, 256, 512, 1024, 4096] };

pub(super) static SCALAR: Code =
    Code { file: "vector_add/01_scalar.cl", kernel: "vector_add_scalar", params: &[GROUP] };

pub(super) static VECTOR: Code = Code {
    file: "vector_add/02_vector.cl",
    kernel: "vector_add_vector",
    params: &[
        Param { name: "WIDTH", cpu: 8, gpu: 4, values: &[2, 4, 8, 16] },
        GROUP,
        Param { name: "ITEMS", cpu: 1, gpu: 1, values: &[1, 2, 4, 8] },
    ],
};

pub(super) const LIMIT_FILE: &str = "vector_add/limit.cl";

pub(super) static LIMIT: Code = Code {
    file: LIMIT_FILE,
    kernel: "three_streams",
    params: &[Param { name: "WIDTH", cpu: 8, gpu: 4, values: &[] }, GROUP],
};

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        vec![config.get("GROUP") as usize]
    }
}

/// A compiled kernel with its parameters.
#[derive(Debug)]
pub struct Program {
    kernel: Kernel,
    file: &'static str,
    group: usize,
    /// Numbers that a work-item adds.
    each: usize,
}

impl Program {
    pub(super) fn compile(cl: &ClContext, config: &Config<Code>) -> Result<Self> {
        let code = config.code();
        let program = program::build(cl, code.file, &program::source(code.file)?, &config.options())?;
        let what = format!("The kernel in {} could not be prepared.", code.file);
        let kernel = Kernel::of_file(&program, code.file, code.kernel, &what)?;
        let numbers: &[&str] = &["float*", "uint*"];
        expect_types(&kernel, code.file, &[numbers, numbers, numbers, &["uint"]])?;
        let [group, width, items] = ["GROUP", "WIDTH", "ITEMS"].map(|name| config.get(name) as usize);
        Ok(Self { kernel, file: code.file, group, each: width * items })
    }

    pub(super) fn without_memory(&self) -> Error {
        Error::new(format!("{} cannot run.", self.file), "The device has no room for the numbers.", "")
    }

    /// Adds `count` numbers, waits, and times it.
    pub(super) fn run(&self, arrays: &OnDevice<2>, count: usize) -> Result<Sample> {
        let what = "Numbers could not be added on the device.";
        let bind = || -> Answer<()> {
            arrays.bind(&self.kernel)?;
            self.kernel.set(3, Value::Uint(count as u32))
        };
        bind().map_err(|e| failed(what, &e))?;
        // One work-item more than there are whole vectors, for the rest.
        let items = (count / self.each + 1).next_multiple_of(self.group);
        let ran = measure::sample(arrays.queue(), |queue| {
            // SAFETY: the arguments are set, their types were compared, and the kernels look at `count`.
            let event = unsafe { enqueue(queue, &self.kernel, 1, [items, 1, 1], [self.group, 1, 1]) };
            Ok(vec![event.map_err(|e| failed(what, &e))?])
        });
        // Other cases have other memory.
        self.kernel.forget_memory();
        ran
    }
}
