//! The ladder of matrix multiplication: `c = a b` for floats of 32 bits, `a` with m×k and `b` with k×n numbers. There are 2mnk
//! operations for mk + kn + mn numbers: what is measured is how often a number is used once it has been read.
//!
//! Results depend on the order of additions, which is each rung's own: they are compared with sums in double precision,
//! within a [bound](reference::bound) that grows with k. An empty sum is 0, which has no sign.

mod blocks;
mod codes;
mod host;
mod inputs;
mod kernels;
pub mod reference;
mod rungs;
pub mod shape;

use ocl::ffi::CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE;
use serde_json::Value;

use base::error::Result;
use ladder::arrays::Arrays;
use ladder::config::Config;
use ladder::contest::Ladder;
use ladder::measure::Sample;
use ladder::rung::Rung;
use ladder::sizes::Sizes;
use opencl::cl::{ClContext, DeviceInfo};

use codes::Code;
use host::Host;
use kernels::{Packed, Program};
use reference::{Sums, reference};
use shape::Shape;

/// The ladder.
#[derive(Debug, Clone, Copy)]
pub struct Matmul;

/// A rung that can run.
#[derive(Debug)]
pub enum Built {
    /// Threads of this process.
    Host(Host),
    /// Compiled kernels.
    Kernels(Program),
}

/// Matrices of a case, in the memory of host and device, each between two guards.
#[derive(Debug)]
pub struct Room {
    shape: Shape,
    arrays: Arrays<2>,
    /// Where there is a device.
    packed: Option<Packed>,
    /// How the results of the input that was loaded last are compared.
    sums: Option<Sums>,
}

impl Ladder for Matmul {
    type Case = Shape;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Room = Room;
    type Elements = Sums;

    const NAME: &'static str = "matmul";
    const LIMIT: &'static str = "multiply-adds alone";
    const LIMIT_COMPUTES: bool = true;
    const LIMIT_FILE: &'static str = codes::LIMIT_FILE;
    const INPUTS: &'static [&'static str] = inputs::NAMES;

    const TAKES: &'static [&'static str] = &["mnk"];
    const SIZES: &'static [&'static str] =
        &["128,128,128", "256,256,256", "512,512,512", "1024,1024,1024", "4096,16,1024", "2048,2048,2048"];

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Shape>, String> {
        let mut cases = Vec::new();
        for mnk in sizes.of("mnk", &[[1024; 3]])? {
            let shape = Shape::of(mnk)?;
            if !cases.contains(&shape) {
                cases.push(shape);
            }
        }
        Ok(cases)
    }

    fn rungs(&self) -> &'static [Rung<Code, Host>] {
        &rungs::RUNGS
    }

    fn small(&self) -> Vec<Shape> {
        // Below, at and above the sides of tiles and vectors, thin ones, an empty sum; one, two and three numbers in the last
        // vector of a sum.
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

    fn title(&self, shape: &Shape) -> String {
        shape.title()
    }

    fn json(&self, shape: &Shape) -> Value {
        shape.json()
    }

    fn class(&self, shape: &Shape) -> &'static str {
        shape.class()
    }

    fn case(&self, json: &Value) -> Option<Shape> {
        Shape::from_json(json)
    }

    fn bytes(&self, shape: &Shape) -> f64 {
        4.0 * (shape.left() + shape.right() + shape.product()) as f64
    }

    fn operations(&self, shape: &Shape) -> f64 {
        2.0 * shape.products() as f64
    }

    fn output_bytes(&self, shape: &Shape) -> usize {
        4 * shape.product()
    }

    fn memory(&self, shape: &Shape) -> usize {
        // Inputs on host and device, and packed; results there too, what is right, in double precision first, poison and
        // what is read.
        4 * 3 * (shape.left() + shape.right()) + shape.product() * 4 * 8
    }

    fn supports(&self, device: &DeviceInfo, shape: &Shape) -> std::result::Result<(), String> {
        let sizes = [shape.left(), shape.right(), shape.product()].map(|count| 4 * count as u64);
        let packed = sizes[0] + sizes[1];
        let largest = sizes.into_iter().max().unwrap_or_default();
        match device.has_room(sizes.iter().sum::<u64>() + packed, largest) {
            true => Ok(()),
            false => {
                Err(format!("Its matrices take {sizes:?} bytes, more than '{}' has room for.", device.name))
            }
        }
    }

    fn takes(&self, cl: &ClContext, code: &Code, shape: &Shape) -> std::result::Result<(), String> {
        if !code.is_constant() {
            return Ok(());
        }
        let bytes = 4 * shape.right() as u64;
        match cl.device.number::<u64>(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE) {
            Some(most) if bytes > most => {
                Err(format!("The right matrix takes {bytes} bytes, and constant memory has {most}."))
            }
            _ => Ok(()),
        }
    }

    fn smaller(&self, shape: &Shape) -> Vec<Shape> {
        shape.smaller()
    }

    fn host(&self, host: Host) -> Built {
        Built::Host(host)
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        Program::compile(cl, config).map(Built::Kernels)
    }

    fn compile_limit(&self, cl: &ClContext) -> Result<Built> {
        self.compile(cl, &codes::limit(&cl.device))
    }

    fn room(&self, cl: Option<&ClContext>, shape: &Shape, guard: usize) -> Result<Room> {
        let cl = cl.filter(|cl| self.supports(&cl.device.info, shape).is_ok());
        let arrays = Arrays::new(cl, [shape.left(), shape.right()], shape.product(), guard)?;
        Ok(Room { shape: *shape, arrays, packed: cl.map(Packed::new), sums: None })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        let shape = room.shape;
        room.arrays.load(|[a, b], guard| {
            // Who reads beyond the edges gets what spoils every sum.
            a.fill(f32::NAN);
            b.fill(f32::NAN);
            let (left, right) = (guard..guard + shape.left(), guard..guard + shape.right());
            inputs::fill(input, shape, &mut a[left], &mut b[right]);
        })?;
        let [a, b] = room.arrays.inputs();
        room.sums = Some(Sums::of(input, shape, a, b));
        reference(shape, a, b)
    }

    fn write(&self, built: &Built, room: &mut Room, bytes: &[u8]) -> Result<()> {
        room.arrays.write(matches!(built, Built::Kernels(_)), bytes)
    }

    fn read(&self, built: &Built, room: &Room) -> Result<Vec<u8>> {
        room.arrays.read(matches!(built, Built::Kernels(_)))
    }

    fn changed(&self, built: &Built, room: &Room) -> Result<usize> {
        room.arrays.changed(matches!(built, Built::Kernels(_)))
    }

    fn run(&self, built: &Built, room: &mut Room) -> Result<Sample> {
        match (built, room.arrays.device().zip(room.packed.as_ref())) {
            (Built::Kernels(program), Some((arrays, packed))) => program.run(arrays, packed, room.shape),
            (Built::Kernels(program), None) => Err(program.without_memory()),
            (Built::Host(host), _) => {
                let ([a, b], product) = room.arrays.host();
                host.run(room.shape, a, b, product)
            }
        }
    }

    fn elements(&self, room: &Room) -> Sums {
        room.sums.clone().unwrap_or_else(|| Sums::of(inputs::NAMES[0], Shape { m: 0, n: 0, k: 0 }, &[], &[]))
    }
}
