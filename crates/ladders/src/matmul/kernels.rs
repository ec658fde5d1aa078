//! Matrix multiplication on an OpenCL device. In: a configuration, and matrices in the device's memory. Out: their product
//! there, and how long it took, with everything that is packed or transposed for it.

use std::cell::RefCell;

use super::codes::{Code, Role, Step};
use super::shape::Shape;
use base::error::{Error, Result};
use ladder::arrays::OnDevice;
use ladder::config::{Config, Tunable};
use ladder::measure::{self, Sample};
use opencl::cl::{Answer, Buffer, ClContext, failed};
use opencl::kernel::{Kernel, Value, enqueue, expect_types};
use opencl::memory::new_memory;
use opencl::program;

/// What is packed, once for all rungs: the left matrix and the right one.
#[derive(Debug)]
pub(crate) struct Packed {
    cl: ClContext,
    sides: RefCell<[Option<Buffer>; 2]>,
}

const NO_ROOM: &str = "Memory for the packed matrices could not be had on the device.";

impl Packed {
    /// Nothing is.
    pub(super) fn new(cl: &ClContext) -> Self {
        Self { cl: cl.clone(), sides: RefCell::default() }
    }

    /// Room for so many packed numbers, which are none at first: what is not packed shows in the product.
    fn room_for(&self, side: usize, count: usize) -> Result<Buffer> {
        let mut packed = self.sides.borrow_mut();
        let slot = packed.get_mut(side).ok_or_else(|| Error::new(NO_ROOM, "There are two matrices.", ""))?;
        let bytes = 4 * count.max(1);
        if let Some(buffer) = slot.as_ref().filter(|buffer| buffer.len() >= bytes) {
            return Ok(buffer.clone());
        }
        let made = || {
            let buffer = Buffer::new(&self.cl.context, new_memory(&self.cl), bytes)?;
            buffer.enqueue_fill(&self.cl.queue, &f32::NAN.to_le_bytes(), 0, bytes)?.wait_for()?;
            Ok(buffer)
        };
        let buffer = made().map_err(|e| failed(NO_ROOM, &e))?;
        Ok(slot.insert(buffer).clone())
    }
}

/// Compiled kernels with their parameters.
#[derive(Debug)]
pub struct Program {
    steps: Vec<(&'static Step, Kernel)>,
    config: Config<Code>,
}

impl Program {
    pub(super) fn compile(cl: &ClContext, config: &Config<Code>) -> Result<Self> {
        let code = config.code();
        let file = code.file();
        let program = program::build(cl, file, &program::source(file)?, &config.options())?;
        let what = format!("The kernel in {file} could not be prepared.");
        let kernel = |step: &'static Step| {
            let kernel = Kernel::of_file(&program, file, step.kernel, &what)?;
            let (numbers, sizes): (&[&str], &[&str]) = (&["float*"], &["uint"]);
            let matrices = if step.role == Role::Multiply { 3 } else { 2 };
            let types = [vec![numbers; matrices], vec![sizes; 3]].concat();
            expect_types(&kernel, file, &types)?;
            Ok((step, kernel))
        };
        Ok(Self { steps: code.steps.iter().map(kernel).collect::<Result<_>>()?, config: config.clone() })
    }

    pub(super) fn without_memory(&self) -> Error {
        let file = self.config.code().file();
        Error::new(format!("{file} cannot run."), "The device has no room for the matrices.", "")
    }

    /// Multiplies, waits, and times it.
    pub(super) fn run(&self, arrays: &OnDevice<2>, packed: &Packed, shape: Shape) -> Result<Sample> {
        let what = "Matrices could not be multiplied on the device.";
        let ([left, right], product) = arrays.memory();
        let (mut left, mut right) = (left.clone(), right.clone());
        let mut launches = Vec::new();
        for (step, kernel) in &self.steps {
            let memories = match step.role {
                Role::PackLeft => {
                    let to = packed.room_for(0, step.packed(shape, &self.config))?;
                    let from = std::mem::replace(&mut left, to.mem().clone());
                    vec![from, left.clone()]
                }
                Role::PackRight => {
                    let to = packed.room_for(1, step.packed(shape, &self.config))?;
                    let from = std::mem::replace(&mut right, to.mem().clone());
                    vec![from, right.clone()]
                }
                Role::Multiply => vec![left.clone(), right.clone(), product.clone()],
            };
            let bind = || -> Answer<()> {
                for (index, memory) in (0..).zip(&memories) {
                    kernel.set(index, memory)?;
                }
                for (index, size) in (memories.len() as u32..).zip([shape.m, shape.n, shape.k]) {
                    kernel.set(index, Value::Uint(size))?;
                }
                Ok(())
            };
            bind().map_err(|e| failed(what, &e))?;
            let (global, local) = step.launch(shape, &self.config);
            if global.iter().all(|items| *items > 0) {
                launches.push((kernel, global, local));
            }
        }
        let ran = measure::sample(arrays.queue(), |queue| {
            let launch = |(kernel, global, local): (&Kernel, [usize; 3], [usize; 3])| {
                // SAFETY: the arguments are set, their types were compared, and the kernels look at the sizes.
                let event = unsafe { enqueue(queue, kernel, 2, global, local) };
                event.map_err(|e| failed(what, &e))
            };
            launches.into_iter().map(launch).collect()
        });
        // Other cases have other memory.
        self.steps.iter().for_each(|(_, kernel)| kernel.forget_memory());
        ran
    }
}
