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

use crate::error::Result;
use crate::gpu::cl::{ClContext, DeviceInfo};
use crate::gpu::guarded::{bytes, zeroed};
use crate::ladder::config::Config;
use crate::ladder::contest::{Ladder, Sizes};
use crate::ladder::measure::Sample;
use crate::ladder::rung::Rung;
use crate::verify;

use codes::Code;
use host::Host;
use kernels::{Memory, Program};
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
    /// Numbers on each side of a matrix.
    guard: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    product: Vec<f32>,
    device: Option<Memory>,
    /// How the results of the input that was loaded last are compared.
    sums: Option<Sums>,
}

/// The same shape, half as long where it is longest, until there are no more than so many products.
fn halved(mut shape: Shape, products: u64) -> Shape {
    while shape.products() > products {
        let Shape { m, n, k } = &mut shape;
        let longest = if m >= n && m >= k {
            m
        } else if n >= k {
            n
        } else {
            k
        };
        *longest = longest.div_ceil(2);
    }
    shape
}

impl Ladder for Matmul {
    type Case = Shape;
    type Code = Code;
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
        for &mnk in sizes.mnk.unwrap_or(&[[1024; 3]]) {
            let shape = Shape::of(mnk)?;
            if !cases.contains(&shape) {
                cases.push(shape);
            }
        }
        Ok(cases)
    }

    fn rungs(&self) -> &'static [Rung<Code>] {
        &rungs::RUNGS
    }

    fn small(&self) -> Vec<Shape> {
        // Below, at and above the sides of tiles and vectors, thin ones, an empty sum.
        [
            [65, 130, 37],
            [1, 1, 1],
            [3, 5, 0],
            [2, 3, 2],
            [16, 16, 16],
            [17, 33, 9],
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
        let most = device.max_allocation_bytes;
        match sizes.iter().all(|size| *size <= most)
            && sizes.iter().sum::<u64>() + packed <= device.global_memory_bytes
        {
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
        let smaller = [1 << 24, 1 << 27].map(|products| halved(*shape, products));
        smaller.into_iter().filter(|small| small.products() < shape.products() / 4).collect()
    }

    fn host(&self, rung: &Rung<Code>) -> Built {
        Built::Host(Host::of(rung.id))
    }

    fn compile(&self, cl: &ClContext, config: &Config<Code>) -> Result<Built> {
        Program::compile(cl, config).map(Built::Kernels)
    }

    fn compile_limit(&self, cl: &ClContext) -> Result<Built> {
        let config = Config::of(&codes::LIMIT, cl.device.info.kind).fitted(&cl.device.info);
        self.compile(cl, &config)
    }

    fn room(&self, cl: Option<&ClContext>, shape: &Shape, guard: usize) -> Result<Room> {
        let (shape, guard) = (*shape, guard / 4);
        let device = match cl.filter(|cl| self.supports(&cl.device.info, &shape).is_ok()) {
            Some(cl) => Some(Memory::new(cl, shape, guard)?),
            None => None,
        };
        let numbers = |count: usize| zeroed::<f32>(count + 2 * guard);
        let (a, b, product) = (numbers(shape.left())?, numbers(shape.right())?, numbers(shape.product())?);
        Ok(Room { shape, guard, a, b, product, device, sums: None })
    }

    fn load(&self, room: &mut Room, input: &str) -> Result<Vec<u8>> {
        let Room { shape, guard, a, b, .. } = room;
        let (left, right) = (*guard..*guard + shape.left(), *guard..*guard + shape.right());
        // Who reads beyond the edges gets what spoils every sum.
        a.fill(f32::NAN);
        b.fill(f32::NAN);
        inputs::fill(input, *shape, &mut a[left.clone()], &mut b[right.clone()]);
        if let Some(memory) = &room.device {
            memory.load(a, b)?;
        }
        let (a, b) = (&a[left], &b[right]);
        room.sums = Some(Sums::of(input, *shape, a, b));
        reference(*shape, a, b)
    }

    fn write(&self, built: &Built, room: &mut Room, bytes: &[u8]) -> Result<()> {
        match (built, &room.device) {
            (Built::Kernels(_), Some(memory)) => memory.product().write(bytes),
            _ => {
                let numbers = bytes.chunks_exact(4).map(|n| f32::from_le_bytes([n[0], n[1], n[2], n[3]]));
                room.product.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
                Ok(())
            }
        }
    }

    fn read(&self, built: &Built, room: &Room) -> Result<Vec<u8>> {
        match (built, &room.device) {
            (Built::Kernels(_), Some(memory)) => memory.product().read(),
            _ => Ok(bytes(&room.product)),
        }
    }

    fn changed(&self, built: &Built, room: &Room) -> Result<usize> {
        match (built, &room.device) {
            (Built::Kernels(_), Some(memory)) => {
                let (a, b) = memory.inputs()?;
                Ok(verify::changed(&bytes(&room.a), &a) + verify::changed(&bytes(&room.b), &b))
            }
            // Rust lends them to read only.
            _ => Ok(0),
        }
    }

    fn run(&self, built: &Built, room: &mut Room) -> Result<Sample> {
        match (built, &room.device) {
            (Built::Kernels(program), Some(memory)) => program.run(memory, room.shape),
            (Built::Kernels(program), None) => Err(program.without_memory()),
            (Built::Host(host), _) => {
                let part = |count: usize| room.guard..room.guard + count;
                let (left, right, product) = (room.shape.left(), room.shape.right(), room.shape.product());
                host.run(
                    room.shape,
                    &room.a[part(left)],
                    &room.b[part(right)],
                    &mut room.product[part(product)],
                )
            }
        }
    }

    fn elements(&self, room: &Room) -> Sums {
        room.sums.clone().unwrap_or_else(|| Sums::of(inputs::NAMES[0], Shape { m: 0, n: 0, k: 0 }, &[], &[]))
    }
}
