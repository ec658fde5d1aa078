//! Variants with one kernel, whose arguments are arrays of floats and then 32-bit numbers.

use crate::device::typed_kernel;
use base::error::Result;
use ladder::arrays::Arrays;
use ladder::config::{Config, Param, Tunable};
use ladder::measure::{self, Sample};
use ladder::runner::Part;
use opencl::cl::{Answer, failed};
use opencl::kernel::{Kernel, Value, enqueue};
use opencl::program;

/// A kernel file with one kernel. The kernel's arguments are arrays, the last of which is the output, and the size of the case
/// as 32-bit numbers.
#[derive(Debug)]
pub struct Code {
    pub(super) file: &'static str,
    pub(super) kernel: &'static str,
    /// The number of arrays, and the count of numbers in the size of the case.
    pub(super) arguments: [usize; 2],
    pub(super) params: &'static [Param],
    /// Returns the number of work-items in a work-group.
    pub(super) group: fn(&Config<Code>) -> usize,
    /// Returns the number of work-items that a case needs at least.
    pub(super) items: fn(&Config<Code>, &[u32]) -> usize,
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn group_sizes(&self, config: &Config<Self>) -> Vec<usize> {
        vec![(self.group)(config)]
    }
}

/// A variant that is ready to run.
#[derive(Debug)]
pub enum Built<H> {
    /// Threads of this process.
    Host(H),
    /// A compiled kernel with its parameters.
    Kernel(Kernel, Config<Code>),
}

impl<H> Built<H> {
    /// Compiles the kernel of a variant, or the peak kernel `peak`.
    pub(super) fn new(part: Part<Code, H>, peak: &'static Code) -> Result<Self> {
        let (cl, config) = match part {
            Part::Host(host) => return Ok(Self::Host(host)),
            Part::Kernels(cl, config) => (cl, config.clone()),
            Part::Peak(cl, _) => (cl, Config::for_device(peak, &cl.device.info)),
        };
        let code = config.code();
        let program = program::build(cl, code.file, &config.options())?;
        let (array, number): (&[&str], &[&str]) = (&["float*", "uint*"], &["uint"]);
        let types = [vec![array; code.arguments[0]], vec![number; code.arguments[1]]].concat();
        Ok(Self::Kernel(typed_kernel(&program, code.file, code.kernel, &types)?, config))
    }

    /// Returns true if the variant works in the device's memory.
    pub(super) fn is_on_device(&self) -> bool {
        matches!(self, Self::Kernel(..))
    }
}

/// Runs a kernel on a case whose size is `size`, waits, and returns the times.
pub(super) fn run<const N: usize>(
    kernel: &Kernel,
    config: &Config<Code>,
    arrays: &Arrays<N>,
    size: &[u32],
) -> Result<Sample> {
    let code = config.code();
    let arrays = arrays.on_device(code.file)?;
    let failed = |e| failed(&format!("The kernel '{}' could not be run.", code.kernel), &e);
    let bind = || -> Answer<()> {
        arrays.bind(kernel)?;
        (code.arguments[0] as u32..).zip(size).try_for_each(|(index, n)| kernel.set(index, Value::Uint(*n)))
    };
    bind().map_err(failed)?;
    let group = (code.group)(config);
    let items = (code.items)(config, size).next_multiple_of(group);
    let ran = measure::sample(arrays.queue(), |queue| {
        // SAFETY: the arguments are set, their types were compared, and the kernels look at the size.
        let event = unsafe { enqueue(queue, kernel, 1, [items, 1, 1], [group, 1, 1]) };
        Ok(vec![event.map_err(failed)?])
    });
    // The kernel must not keep memory of this case alive.
    kernel.forget_memory();
    ran
}
