//! Ladders that compute integers from a picture: [`PixelReduction`] declares what differs between them, [`PictureLadder`] makes
//! a [`Ladder`] of it.

use std::fmt::Debug;
use std::time::Instant;

use serde_json::json;

use super::code::{Code, Program};
use super::memory::DeviceBuffers;
use super::pictures::{self, BLOCK_EDGES, Case};
use crate::device::require_memory;
use base::error::Result;
use base::memory::zeroed;
use base::threads::Threads;
use base::timing::ms_since;
use base::verify::Elements;
use ladder::config::Config;
use ladder::measure::Sample;
use ladder::rows::PeakKernel;
use ladder::runner::{CaseInfo, Expected, Ladder, LadderInfo, Output, Part};
use ladder::sizes::Sizes;
use ladder::variant::Variant;
use ladder::work::KernelWork;
use opencl::cl::{ClContext, Device, DeviceInfo};

/// A variant that runs on the host.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// The threads that the variant uses.
    pub(crate) threads: Threads,
    /// Computes the numbers of a case from RGBA pixels. The last argument is the number of threads.
    pub(crate) reduce: fn(&[u8], &Case, &mut [u32], usize),
}

/// A computation of integers from a picture.
pub trait PixelReduction: Debug {
    /// The name of the ladder, as in [`LadderInfo::name`].
    const NAME: &'static str;
    /// The options of the ladder, as in [`LadderInfo::options`]: "size", and "block" if it uses blocks.
    const OPTIONS: &'static [&'static str];
    /// Names of the first numbers, for mismatch reports.
    const NUMBER_NAMES: &'static [&'static str];
    /// The name, for mismatch reports, of all numbers after those of [`NUMBER_NAMES`](Self::NUMBER_NAMES); their index, from 0
    /// on, is appended.
    const NUMBERED_NAME: &'static str;

    /// Returns true if the numbers depend on the size of blocks.
    fn has_blocks() -> bool {
        Self::OPTIONS.contains(&"block")
    }

    /// Returns the variants in order.
    fn variants(&self) -> &'static [Variant<Code, Host>];

    /// Returns how many numbers are computed for a case.
    fn numbers(&self, case: &Case) -> usize;

    /// Returns the size of the intermediate results for a case, in bytes.
    fn part_bytes(&self, case: &Case) -> usize;

    /// Computes the expected numbers from RGBA pixels.
    fn reference(&self, pixels: &[u8], case: &Case) -> Vec<u32>;
}

/// The ladder of a [`PixelReduction`].
#[derive(Debug, Clone, Copy)]
pub struct PictureLadder<D>(pub D);

/// The elements of the output: 32-bit integers.
#[derive(Debug, Clone, Copy)]
pub struct NumberElements {
    /// Names of the first numbers.
    names: &'static [&'static str],
    /// The name of all numbers after those of `names`; their index, from 0 on, is appended.
    numbered_name: &'static str,
}

impl Elements for NumberElements {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn bytes(&self) -> usize {
        4
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        bytes.try_into().map_or(f64::NAN, |bytes| f64::from(u32::from_le_bytes(bytes)))
    }

    fn position(&self, number: usize) -> String {
        let rest = || format!("{} {}", self.numbered_name, number - self.names.len());
        self.names.get(number).map_or_else(rest, |name| (*name).to_owned())
    }
}

/// A variant that is ready to run.
#[derive(Debug)]
pub enum Built {
    /// The work on the host, and the number of threads.
    Host(Host, usize),
    /// Compiled kernels.
    Kernels(Box<Program>),
}

/// A picture and the numbers computed from it, on host and device, each between two guards.
#[derive(Debug)]
pub struct Buffers {
    case: Case,
    /// The number of bytes in each guard.
    guard: usize,
    picture: Vec<u8>,
    numbers: Vec<u32>,
    /// The picture and the numbers in the device's memory, if there is a device.
    device: Option<DeviceBuffers>,
}

impl<D: PixelReduction> Ladder for PictureLadder<D> {
    type Case = Case;
    type Code = Code;
    type Host = Host;
    type Built = Built;
    type Buffers = Buffers;

    const INFO: LadderInfo = LadderInfo {
        name: D::NAME,
        peaks: &[PeakKernel { name: "plain read", note: None, computes: false }],
        peak_file: super::kernels::PEAK.file,
        inputs: pictures::INPUT_NAMES,
        options: D::OPTIONS,
        sizes: &["640x360", "1280x720", "1920x1080", "3840x2160"],
        ..LadderInfo::DEFAULT
    };

    fn cases(&self, sizes: &Sizes) -> std::result::Result<Vec<Case>, String> {
        let blocks = sizes.get("block", &[[64]])?;
        let mut cases = Vec::new();
        for [width, height] in sizes.get("size", &[[1920, 1080]])? {
            for &[block] in &blocks {
                if !BLOCK_EDGES.contains(&block) {
                    return Err(format!("{block} is no --block of {}: choose 16, 32 or 64", D::NAME));
                }
                let case = Case { width, height, block };
                if !cases.contains(&case) {
                    cases.push(case);
                }
            }
        }
        Ok(cases)
    }

    fn variants(&self) -> &'static [Variant<Code, Host>] {
        self.0.variants()
    }

    /// Returns small pictures for checks: below, at and above the sizes of blocks, tiles, vectors and strips, and odd ones; rows of
    /// whole vectors and others.
    fn small(&self, _: &Self::Built, _: &Case) -> Vec<Case> {
        let sizes = [
            (67, 33, 16),
            (1, 1, 64),
            (1, 40, 32),
            (15, 17, 16),
            (16, 16, 16),
            (64, 64, 64),
            (100, 70, 32),
            (129, 65, 64),
            (132, 129, 64),
            (300, 40, 16),
            (1031, 20, 64),
            (1284, 131, 32),
            (2069, 35, 16),
        ];
        sizes.map(|(width, height, block)| Case { width, height, block }).to_vec()
    }

    fn describe(&self, case: &Case) -> CaseInfo {
        let Case { width, height, block } = *case;
        let output = 4 * self.0.numbers(case);
        // Up to 720p, up to 1080p and more; in each the edge of the blocks, where there are some.
        let size = match case.pixels() {
            0..=921_600 => 0,
            921_601..=2_088_960 => 1,
            _ => 2,
        };
        let classes = [
            ["small, 16", "small, 32", "small, 64"],
            ["medium, 16", "medium, 32", "medium, 64"],
            ["large, 16", "large, 32", "large, 64"],
        ];
        let (title, json, class) =
            match BLOCK_EDGES.iter().position(|known| D::has_blocks() && *known == block) {
                Some(at) => (format!("{width}×{height}, blocks of {block}"), json!(case), classes[size][at]),
                None => {
                    let json = json!({ "width": width, "height": height });
                    (format!("{width}×{height}"), json, ["small", "medium", "large"][size])
                }
            };
        CaseInfo {
            title,
            json,
            class,
            bytes: (4 * case.pixels() + output) as f64,
            operations: 0.0,
            output,
            // The picture on host and device, and read back for a check; the numbers are few.
            memory: 3 * 4 * case.pixels() + 8 * output + self.0.part_bytes(case),
            ..CaseInfo::default()
        }
    }

    fn supports(&self, device: &Device, code: Option<&Code>, case: &Case) -> std::result::Result<(), String> {
        let (device, bytes) = (&device.info, 4 * case.pixels() as u64);
        // The numbers and the intermediate results are smaller than the picture.
        require_memory(device, &[bytes; 2])?;
        code.map_or(Ok(()), |code| code.runs_on(device))
    }

    fn work(&self, config: &Config<Code>, device: &DeviceInfo, case: &Case) -> Option<KernelWork> {
        let launches = config.code().work(config, device, case)?;
        let least_bytes = 4 * (case.pixels() + self.0.numbers(case)) as u64;
        Some(KernelWork { unit: "pixel", units: case.pixels() as u64, least_bytes, launches })
    }

    fn build(&self, part: Part<Code, Host>) -> Result<Built> {
        let kernels = |cl: &ClContext, config: &Config<Code>| {
            Program::compile(cl, config).map(|program| Built::Kernels(Box::new(program)))
        };
        match part {
            Part::Host(host) => Ok(Built::Host(host, host.threads.count())),
            Part::Kernels(cl, config) => kernels(cl, config),
            Part::Peak(cl, _) => kernels(cl, &Config::for_device(&super::kernels::PEAK, &cl.device.info)),
        }
    }

    fn allocate(&self, cl: Option<&ClContext>, case: &Case, guard: usize) -> Result<Buffers> {
        let (picture, output) = (4 * case.pixels(), 4 * self.0.numbers(case));
        let device = match cl.filter(|cl| self.supports(&cl.device, None, case).is_ok()) {
            Some(cl) => Some(DeviceBuffers::new(cl, [picture, output, self.0.part_bytes(case)], guard)?),
            None => None,
        };
        let numbers = vec![0; (output + 2 * guard) / 4];
        Ok(Buffers { case: *case, guard, picture: zeroed(picture + 2 * guard)?, numbers, device })
    }

    fn load(&self, buffers: &mut Buffers, input: &str) -> Result<Expected> {
        pictures::fill(input, buffers.guard, &mut buffers.picture);
        if let Some(memory) = &buffers.device {
            memory.write_picture(&buffers.picture)?;
        }
        let end = buffers.picture.len() - buffers.guard;
        let numbers = self.0.reference(&buffers.picture[buffers.guard..end], &buffers.case);
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let elements = NumberElements { names: D::NUMBER_NAMES, numbered_name: D::NUMBERED_NAME };
        Ok(Expected::new(bytes, elements))
    }

    fn write(&self, built: &Self::Built, buffers: &mut Buffers, bytes: &[u8]) -> Result<()> {
        match (built, &buffers.device) {
            (Built::Kernels(_), Some(memory)) => memory.write(bytes),
            _ => {
                let numbers = bytes.chunks_exact(4).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
                buffers.numbers.iter_mut().zip(numbers).for_each(|(number, new)| *number = new);
                Ok(())
            }
        }
    }

    fn read(&self, built: &Self::Built, buffers: &Buffers) -> Result<Output> {
        match (built, &buffers.device) {
            (Built::Kernels(_), Some(memory)) => {
                Ok(Output { bytes: memory.read()?, changed: memory.count_changed(&buffers.picture)? })
            }
            // Variants on the host borrow the picture immutably.
            _ => {
                let bytes = buffers.numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                Ok(Output { bytes, changed: 0 })
            }
        }
    }

    fn run(&self, built: &Self::Built, buffers: &mut Buffers) -> Result<Sample> {
        match (built, &buffers.device) {
            (Built::Kernels(program), Some(memory)) => program.run(memory, &buffers.case),
            (Built::Kernels(program), None) => Err(program.without_memory()),
            (Built::Host(host, threads), _) => {
                let bytes = buffers.guard..buffers.picture.len() - buffers.guard;
                let words = buffers.guard / 4..buffers.numbers.len() - buffers.guard / 4;
                let begin = Instant::now();
                (host.reduce)(&buffers.picture[bytes], &buffers.case, &mut buffers.numbers[words], *threads);
                Ok(Sample::on_host(ms_since(begin)))
            }
        }
    }
}
