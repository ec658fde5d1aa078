//! The ladder of matrix multiplication: `c = a b` for `f32`, with an m×k matrix `a` and a k×n matrix `b`. There are 2mnk
//! operations on mk + kn + mn numbers: it measures how often a number is used once it has been read.
//!
//! Results depend on the order of additions, which each variant chooses. They are compared with sums in double precision,
//! within a [bound](reference::bound) that grows with k. An empty sum is 0 of any sign.

mod blocks;
mod codes;
mod host;
mod inputs;
mod kernels;
pub mod reference;
pub mod shape;
mod variants;
mod work;

use ocl::ffi::CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE;
use serde_json::json;

use crate::device::require_memory;
use base::error::Result;
use ladder::arrays::Arrays;
use ladder::config::Config;
use ladder::measure::Sample;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use ladder::variant::Variant;
use ladder::work::KernelWork;
use opencl::cl::{ClContext, Device, DeviceInfo};

use codes::Code;
use host::Host;
use kernels::{PackedMatrices, Program};
use reference::{ProductElements, reference};
use shape::Shape;

/// The ladder of matrix multiplication.
#[derive(Debug, Clone, Copy)]
pub struct Matmul;

/// A variant that is ready to run.
#[derive(Debug)]
pub enum Built {
    /// Threads of this process.
    Host(Host),
    /// Compiled kernels.
    Kernels(Box<Program>),
}

/// Matrices of a case on host and device, each between two guards.
#[derive(Debug)]
pub struct Buffers {
    shape: Shape,
    arrays: Arrays<2>,
    /// Packed matrices on the device.
    packed: PackedMatrices,
}

impl Ladder for Matmul {
    type Case = Shape;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Buffers = Buffers;

    const INFO: LadderInfo = LadderInfo {
        name: "matmul",
        peaks: &[PeakKernel { name: "multiply-adds alone", note: None, computes: true }],
        peak_file: codes::PEAK_FILE,
        inputs: inputs::INPUT_NAMES,
        options: &["mnk"],
        sizes: &[
            "128,128,128",
            "256,256,256",
            "512,512,512",
            "1024,1024,1024",
            "4096,16,1024",
            "2048,2048,2048",
        ],
        ..LadderInfo::DEFAULT
    };

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Shape>, String> {
        sizes.cases("mnk", [1024; 3], Shape::new)
    }

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        &variants::VARIANTS
    }

    /// Returns small shapes for checks: below, at and above the sides of tiles and vectors, thin ones, an empty sum; one, two and
    /// three numbers in the last vector of a sum.
    fn small(&self, _: &Built, _: &Shape) -> Vec<Shape> {
        [
            [65, 130, 37],
            [1, 1, 1],
            [3, 5, 0],
            [2, 3, 2],
            [16, 16, 16],
            [17, 33, 11],
            [1, 67, 40],
            [70, 1, 33],
            [64, 128, 8],
            [5, 300, 6],
            [259, 12, 20],
            [129, 132, 4],
        ]
        .map(|[m, n, k]| Shape { m, n, k })
        .to_vec()
    }

    fn describe(&self, shape: &Shape) -> CaseInfo {
        let output = 4 * shape.product_len();
        CaseInfo {
            title: shape.title(),
            json: json!(shape),
            class: shape.class(),
            bytes: (4 * (shape.left_len() + shape.right_len()) + output) as f64,
            operations: 2.0 * shape.multiplications() as f64,
            output,
            // Inputs on host and device, and packed; the output on host and device, the expected output, first in double
            // precision, the bytes before a run, and those that are read.
            memory: 4 * 3 * (shape.left_len() + shape.right_len()) + output * 8,
            ..CaseInfo::default()
        }
    }

    fn supports(
        &self,
        device: &Device,
        code: Option<&Code>,
        shape: &Shape,
    ) -> std::result::Result<(), String> {
        let sizes = [shape.left_len(), shape.right_len(), shape.product_len()].map(|count| 4 * count as u64);
        // The packed matrices are as large as the inputs.
        require_memory(&device.info, &[sizes[0], sizes[1], sizes[0], sizes[1], sizes[2]])?;
        let most = code.filter(|code| code.is_constant());
        let most = most.and_then(|_| device.number::<u64>(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE));
        match most.filter(|most| sizes[1] > *most) {
            Some(most) => {
                Err(format!("The right matrix takes {} bytes, and constant memory has {most}.", sizes[1]))
            }
            None => Ok(()),
        }
    }

    fn smaller(&self, shape: &Shape) -> Vec<Shape> {
        shape.smaller()
    }

    fn work(&self, config: &Config<Code>, _: &DeviceInfo, shape: &Shape) -> Option<KernelWork> {
        let launches = config.code().steps.iter().filter_map(|step| step.work(*shape, config)).collect();
        let units = (shape.left_len() + shape.right_len()) as u64;
        let least_bytes = 4 * (units + shape.product_len() as u64);
        Some(KernelWork { unit: "number", units, least_bytes, launches })
    }

    fn build(&self, part: Part<Code, Host>) -> Result<Built> {
        match part {
            Part::Host(host) => Ok(Built::Host(host)),
            Part::Kernels(cl, config) => Program::compile(cl, config).map(Box::new).map(Built::Kernels),
            Part::Peak(cl, _) => {
                Program::compile(cl, &codes::peak(&cl.device)).map(Box::new).map(Built::Kernels)
            }
        }
    }

    fn allocate(&self, cl: Option<&ClContext>, shape: &Shape, guard: usize) -> Result<Buffers> {
        let cl = cl.filter(|cl| self.supports(&cl.device, None, shape).is_ok());
        let arrays = Arrays::new(cl, [shape.left_len(), shape.right_len()], shape.product_len(), guard)?;
        Ok(Buffers { shape: *shape, arrays, packed: PackedMatrices::default() })
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        let shape = buffers.shape;
        buffers.arrays.load(|[a, b], guard| {
            // A read beyond the edges gets NaN, which spoils every sum.
            a.fill(f32::NAN);
            b.fill(f32::NAN);
            let (left, right) = (guard..guard + shape.left_len(), guard..guard + shape.right_len());
            inputs::fill(input, shape, &mut a[left], &mut b[right]);
        })?;
        let [a, b] = buffers.arrays.inputs();
        Ok(Expected::new(reference(shape, a, b)?, ProductElements::new(input, shape, a, b)))
    }

    fn write(&self, built: &Built, buffers: &mut Buffers, bytes: &[u8]) -> Result<()> {
        buffers.arrays.write(matches!(built, Built::Kernels(_)), bytes)
    }

    fn read(&self, built: &Built, buffers: &Buffers) -> Result<Output> {
        buffers.arrays.read(matches!(built, Built::Kernels(_)))
    }

    fn run(&self, built: &Built, buffers: &mut Buffers) -> Result<Sample> {
        match built {
            Built::Kernels(program) => program.run(&buffers.arrays, &buffers.packed, buffers.shape),
            Built::Host(host) => {
                let ([a, b], product) = buffers.arrays.host();
                host.run(buffers.shape, a, b, product)
            }
        }
    }
}
