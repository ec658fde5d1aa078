//! Searches for a case in which a mutated kernel changes a byte. It runs in a process of its own with the mutated kernels,
//! and writes a line for each case to a file, so that the parent knows the case in which it crashed.
//!
//! The verifier is not used: this runs the kernels by the library, and compares all bytes with the reference (floats within
//! the ladder's bound), the guard bytes on both sides of the output, and those of the source.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;

use base::device::DeviceKind;
use base::error::{Error, Result};
use base::verify::Elements;
use box_filter::color_kernels::{ConvertCommand, Converter, CorrectCommand, Corrector, KernelCache};
use box_filter::planar::planar_reference;
use box_filter::reference::reference;
use box_filter::{BuiltVariant, Config, Extent, Scratch, named};
use compute::config;
use compute::reduction;
use compute::variant::Work;
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use ladder::runner::{Expected, Ladder, Output, Part};
use ladder::sizes::Sizes;
use ladders::cloth::Cloth;
use ladders::histogram::HISTOGRAM;
use ladders::matmul::MATMUL;
use ladders::matmul::shape::Shape;
use ladders::reduction::REDUCTION;
use ladders::transpose::{Size, TRANSPOSE};
use ladders::vector_add::VECTOR_ADD;
use ocl::ffi::CL_MEM_READ_WRITE;
use opencl::cl::{self, Buffer, ClContext, Status, list_devices, select_device};
use opencl::memory::{Picture, Storage};
use opencl::sources::Sources;
use video::color::Matrix;
use video::color::planes::layout_of;
use video::color::{Correction, Layout, RgbaColors, convert_reference, correct_reference};

use super::cases::{Case, Content, Runner, cases};
use super::files::{Mutant, mutants};

/// The environment variable that makes a process a witness: a mutant's number, a colon, and the output file.
pub const VARIABLE: &str = "CLREEL_MUTANTS_WITNESS";

/// Returns the cases of a mutant in the order in which they are tried.
pub fn cases_of(mutant: &Mutant) -> Vec<Case> {
    mutant.runners.iter().flat_map(|&runner| cases(runner)).collect()
}

/// Runs the witness if the environment requests it, and returns true if it did.
pub fn run_if_requested(kernels: &Path) -> bool {
    let Ok(task) = std::env::var(VARIABLE) else { return false };
    let (number, path) = task.split_once(':').expect("a number and a file");
    let mut to = File::create(path).expect("the witness's file");
    let mutants = mutants(kernels).expect("a list that matches");
    let number: usize = number.parse().expect("a mutant's number");
    // Mutant 0 is the original kernels, in every case of every mutant.
    let mut all: Vec<Case> = Vec::new();
    for mutant in mutants.iter().filter(|mutant| number == 0 || mutant.number == number) {
        for case in cases_of(mutant) {
            // Another test covers all variants of the cloth; one of them shows that this comparison accepts correct results.
            let is_elsewhere = matches!(case.runner, Runner::Ladder("cloth", id) if id != "lanes");
            if !(all.contains(&case) || number == 0 && is_elsewhere) {
                all.push(case);
            }
        }
    }
    let mut say = |line: String| writeln!(to, "{}", line.replace('\n', " ")).expect("the witness's file");
    match search(&all, number != 0, &mut say) {
        Ok(()) => say("end".to_owned()),
        Err(e) => say(format!("error {e}")),
    }
    true
}

fn search(cases: &[Case], stop: bool, say: &mut dyn FnMut(String)) -> Result<()> {
    let mut lab = Runners::new()?;
    for (at, case) in cases.iter().enumerate() {
        say(format!("case {at}"));
        if let Some(what) = lab.run(case)? {
            say(format!("differs {at} {case}: {what}"));
            if stop {
                break;
            }
        }
    }
    Ok(())
}

/// Programs and contexts, built once for all cases.
struct Runners {
    cl: ClContext,
    variants: Vec<(Runner, Rc<BuiltVariant>)>,
    converter: Converter,
    corrector: Corrector,
    wanted: HashMap<String, Vec<u8>>,
}

impl Runners {
    fn new() -> Result<Self> {
        let device = select_device(&list_devices(), Some("cpu"))?;
        let cl = ClContext::new(&device, Sources::from_environment())?;
        let (converter, corrector) = (Converter::new(&cl), Corrector::new(&cl));
        Ok(Self { cl, variants: Vec::new(), converter, corrector, wanted: HashMap::new() })
    }

    /// Runs a case and returns a description of the difference, or `None` if there is none.
    fn run(&mut self, case: &Case) -> Result<Option<String>> {
        let kind = if case.runner.needs_gpu() { DeviceKind::Gpu } else { DeviceKind::Cpu };
        match case.runner {
            Runner::Planar(_) => self.planar(case),
            Runner::Planes { .. } | Runner::Rows => self.convert(case),
            Runner::Correct { .. } => self.correct(case),
            Runner::Ladder("vector-add", id) => self.compute(&VECTOR_ADD, (id, kind), &case.size.0),
            Runner::Ladder("transpose", id) => {
                let size = Size::new([case.size.1, case.size.0]);
                self.compute(&TRANSPOSE, (id, kind), &size.map_err(|why| Error::new(why, "", ""))?)
            }
            Runner::Ladder("matmul", id) => {
                let shape = Shape::new([case.size.1, case.size.0, case.radius]);
                self.compute(&MATMUL, (id, kind), &shape.map_err(|why| Error::new(why, "", ""))?)
            }
            Runner::Ladder("cloth", id) | Runner::ClothOnGpu(id) => self.simulate((id, kind), case.size.0),
            Runner::Ladder(name, id) => {
                let ((width, height), block) = (case.size, case.radius);
                let case = reduction::Case { width, height, block };
                match name {
                    "histogram" => self.compute(&HISTOGRAM, (id, kind), &case),
                    _ => self.compute(&REDUCTION, (id, kind), &case),
                }
            }
            Runner::Variant(..) | Runner::Tuned(..) | Runner::IntoImage(..) => self.filter(case),
        }
    }

    fn filter(&mut self, case: &Case) -> Result<Option<String>> {
        let variant = self.variant(case.runner)?;
        let (width, height) = case.size;
        let pixels = picture(case);
        // Several cases differ only in their bands.
        let key = format!("{:?} {} {:?}", case.size, case.radius, case.content);
        let (w, h, r) = (width as usize, height as usize, case.radius as usize);
        let want = self.wanted.entry(key).or_insert_with(|| reference(&pixels, w, h, r));
        let cl = &self.cl;
        let src = Picture::alloc(cl, variant.input, width, height)?;
        src.write(&cl.queue, &pixels)?;
        let run = |dst: &Picture| {
            let extent = Extent::rgba((width, height), case.radius);
            let plan = variant.plan((&[&src], dst), &mut Scratch::new(cl), extent)?;
            for pass in 0..plan.passes() {
                for (start, end) in bands(case, height) {
                    let _event = plan.enqueue(&cl.queue, pass, start..end)?;
                }
            }
            Ok(())
        };
        let found = compare(cl, variant.output, case.size, want, &|_| true, run)?;
        Ok(found.or(source_changes(cl, &src, &pixels)?))
    }

    /// Runs each step of the cloth that the variant implements on its own. All steps in a row are left out: errors add up.
    fn simulate(&self, variant: (&str, DeviceKind), army: u32) -> Result<Option<String>> {
        let sizes = Sizes::default().with("army", [[army]]);
        let steps = Cloth.cases(&sizes).map_err(|why| Error::new(why, "", ""))?;
        for step in steps.iter().filter(|step| step.step.is_some()) {
            if let Some(what) = self.compute(&Cloth, variant, step)? {
                return Ok(Some(format!("{}: {what}", Cloth.describe(step).title)));
            }
        }
        Ok(None)
    }

    /// Runs each input of the ladder, with a variant's default configuration for a kind of device. Returns `None` if the device
    /// cannot run it.
    fn compute<L: Ladder>(
        &self,
        ladder: &L,
        (id, kind): (&str, DeviceKind),
        case: &L::Case,
    ) -> Result<Option<String>> {
        let cl = &self.cl;
        let unknown = || Error::new(format!("'{id}' has no kernel."), "", "");
        let variant = ladder.variants().iter().find(|variant| variant.id == id).ok_or_else(unknown)?;
        let Work::Kernels([code, _]) = variant.work else { return Err(unknown()) };
        if ladder.supports(&cl.device, Some(code), case).is_err() {
            return Ok(None);
        }
        let config = config::Config::new(code, kind);
        let built = ladder.build(Part::Kernels(cl, &config))?;
        const SIDE: usize = 4096;
        let mut buffers = ladder.allocate(Some(cl), case, SIDE)?;
        for input in ladder.info().inputs {
            let Expected { bytes: want, elements } = ladder.load(&mut buffers, input)?;
            let mut before = vec![0x5c; SIDE];
            before.extend(want.iter().map(|byte| !byte));
            before.resize(2 * SIDE + want.len(), 0x5c);
            ladder.write(&built, &mut buffers, &before)?;
            ladder.run(&built, &mut buffers)?;
            let Output { bytes: after, changed: source } = ladder.read(&built, &buffers)?;
            let (got, end) = (&after[SIDE..SIDE + want.len()], SIDE + want.len());
            let outside = after[..SIDE].iter().chain(&after[end..]).filter(|&&byte| byte != 0x5c).count();
            let wrong = wrong_bytes(got, &want, elements.as_ref());
            if outside + wrong + source > 0 {
                return Ok(Some(format!(
                    "{input}: {wrong} of {} bytes, {outside} outside the output, {source} of the source",
                    want.len()
                )));
            }
        }
        Ok(None)
    }

    /// Returns the variant of a runner, which is built once.
    fn variant(&mut self, runner: Runner) -> Result<Rc<BuiltVariant>> {
        if let Some((_, built)) = self.variants.iter().find(|(of, _)| *of == runner) {
            return Ok(built.clone());
        }
        let built = Rc::new(self.build(runner)?);
        self.variants.push((runner, built.clone()));
        Ok(built)
    }

    fn build(&self, runner: Runner) -> Result<BuiltVariant> {
        let defaults = |id: &'static str, kind| {
            let code = named(id).code(kind).ok_or_else(|| Error::new("No kernel.", "", ""))?;
            Ok::<_, Error>(Config::new(code, kind))
        };
        match runner {
            Runner::Tuned(id, kind, name, value) => {
                let config = defaults(id, kind)?.with(name, value);
                BuiltVariant::build_with(&self.cl, named(id), &config)
            }
            Runner::IntoImage(id, kind) => {
                let (id, config) = (named(id), defaults(id, kind)?);
                BuiltVariant::build_into(&self.cl, id, &config, Storage::Image)
            }
            Runner::Variant(id, kind) => BuiltVariant::build_as(&self.cl, named(id), kind),
            Runner::Planar(kind) => BuiltVariant::build_as(&self.cl, named("planar"), kind),
            _ => Err(Error::new("No variant.", "", "")),
        }
    }

    fn planar(&mut self, case: &Case) -> Result<Option<String>> {
        let filter = self.variant(case.runner)?;
        let layout = layout(case)?;
        let block = planes(case, &layout);
        let want = planar_reference(&layout, &block, case.radius)?;
        let cl = &self.cl;
        let from = Picture::block(cl, &cl.queue, &block)?;
        let to = layout.filtered();
        // Padding between rows may have any content.
        let counts = |at: usize| {
            to.planes.iter().any(|plane| {
                let inside = at >= plane.offset && at < plane.offset + plane.stride * plane.rows;
                inside && (at - plane.offset) % plane.stride.max(1) < plane.row
            })
        };
        let run = |dst: &Picture| {
            let whole = named("planar").planes_extent(layout, case.radius);
            let plan = filter.plan((&[&from], dst), &mut Scratch::new(cl), whole)?;
            for (start, end) in bands(case, layout.height) {
                let _event = plan.enqueue(&cl.queue, 0, start..end)?;
            }
            Ok(())
        };
        let size = ((want.len() / 4) as u32, 1);
        let found = compare(cl, Storage::Buffer, size, &want, &counts, run)?;
        Ok(found.or(source_changes(cl, &from, &block)?))
    }

    fn convert(&mut self, case: &Case) -> Result<Option<String>> {
        let decoded = Layout { siting: case.siting, interlaced: case.interlaced, ..layout(case)? };
        let decoded = if case.ycgco { Layout { matrix: Matrix::Ycgco, ..decoded } } else { decoded };
        let (layout, storage) = match case.runner {
            Runner::Planes { image: true } => (decoded, Storage::Image),
            Runner::Rows => (decoded.filtered(), Storage::Buffer),
            _ => (decoded, Storage::Buffer),
        };
        let mut block = planes(case, &layout);
        if case.runner == Runner::Rows {
            // Samples of 12 bits, none above the largest value.
            let most = (1u16 << 12) - (1 << layout.fraction);
            for sample in block.chunks_exact_mut(2) {
                let value = (u16::from_le_bytes([sample[0], sample[1]]) & 0xfff).min(most);
                sample.copy_from_slice(&value.to_le_bytes());
            }
        }
        let correction = if case.corrected { Correction::VIVID } else { Correction::NEUTRAL };
        let mut want = vec![0; layout.rgba_bytes()];
        convert_reference(&layout, &block, &mut want)?;
        correct_reference(&mut want, &correction, layout.matrix);
        let (cl, converter) = (&self.cl, &mut self.converter);
        let from = Picture::block(cl, &cl.queue, &block)?;
        let run = |to: &Picture| {
            let (planes, to) = (from.clone(), to.clone());
            let command = ConvertCommand { layout, planes, to, correction };
            converter.enqueue(&cl.queue, &mut KernelCache::default(), &command).map(drop)
        };
        let found = compare(cl, storage, case.size, &want, &|_| true, run)?;
        Ok(found.or(source_changes(cl, &from, &block)?))
    }

    fn correct(&mut self, case: &Case) -> Result<Option<String>> {
        let Runner::Correct { from, to } = case.runner else { return Ok(None) };
        let storage = |image| if image { Storage::Image } else { Storage::Buffer };
        let mut pixels = picture(case);
        if case.opaque {
            pixels.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
        }
        let mut want = pixels.clone();
        correct_reference(&mut want, &Correction::VIVID, Matrix::Bt709);
        let (cl, corrector) = (&self.cl, &mut self.corrector);
        let src = Picture::alloc(cl, storage(from), case.size.0, case.size.1)?;
        src.write(&cl.queue, &pixels)?;
        let run = |to: &Picture| {
            let (from, to, correction) = (src.clone(), to.clone(), Correction::VIVID);
            let colors = RgbaColors { matrix: Matrix::Bt709, has_alpha: !case.opaque };
            let command = CorrectCommand { from, to, size: case.size, correction, colors };
            corrector.enqueue(&cl.queue, &mut KernelCache::default(), &command).map(drop)
        };
        let found = compare(cl, storage(to), case.size, &want, &|_| true, run)?;
        Ok(found.or(source_changes(cl, &src, &pixels)?))
    }
}

/// Counts the bytes of the elements that are not equal, nor within the ladder's bound.
fn wrong_bytes(got: &[u8], want: &[u8], elements: &dyn Elements) -> usize {
    let size = elements.bytes();
    let both = got.chunks_exact(size).zip(want.chunks_exact(size)).enumerate();
    let is_wrong = |(number, (got, want)): &(usize, (&[u8], &[u8]))| {
        got != want && !elements.is_close(*number, elements.value(got), elements.value(want))
    };
    size * both.filter(is_wrong).count()
}

/// Returns the first and last row of each launch.
fn bands(case: &Case, height: u32) -> Vec<(u32, u32)> {
    let step = if case.band == 0 { height } else { case.band };
    (0..height).step_by(step as usize).map(|start| (start, height.min(start + step))).collect()
}

fn layout(case: &Case) -> Result<Layout> {
    let unknown = || Error::new(format!("'{}' is no layout.", case.format), "", "");
    let format = Pixel::from_str(case.format).map_err(|_| unknown())?;
    layout_of(&Video::new(format, case.size.0, case.size.1)).ok_or_else(unknown)
}

fn picture(case: &Case) -> Vec<u8> {
    let (width, height) = (case.size.0 as usize, case.size.1 as usize);
    fill(case, width * height * 4, |at| (at / 4 % width, at / 4 / width), (width, height))
}

/// Returns packed planes, padded to whole pixels.
fn planes(case: &Case, layout: &Layout) -> Vec<u8> {
    let pixel = |at: usize| {
        let plane = layout.planes.iter().rfind(|plane| plane.row > 0 && plane.offset <= at);
        plane.map_or((0, 0), |plane| {
            let inside = at - plane.offset;
            let across = inside % plane.stride.max(1) * layout.width as usize / plane.row.max(1);
            (across, inside / plane.stride.max(1))
        })
    };
    let size = (layout.width as usize, layout.height as usize);
    fill(case, layout.bytes().next_multiple_of(4), pixel, size)
}

fn fill(case: &Case, bytes: usize, pixel: impl Fn(usize) -> (usize, usize), size: (usize, usize)) -> Vec<u8> {
    let side = 2 * case.radius as usize + 1;
    let byte = |white: bool| if white { 255 } else { 0 };
    match case.content {
        Content::Noise => pseudo_random(bytes),
        Content::White => vec![255; bytes],
        Content::Black => vec![0; bytes],
        Content::Stripes => (0..bytes).map(|at| byte(pixel(at).1 / side % 2 == 1)).collect(),
        Content::Halves => (0..bytes).map(|at| byte(pixel(at).0 >= size.0 / 2)).collect(),
        Content::OnePixel => (0..bytes).map(|at| byte(pixel(at) == (size.0 / 2, size.1 / 3))).collect(),
    }
}

/// Returns pseudo-random bytes, the same at each call.
fn pseudo_random(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Runs into an output that holds other bytes than `want`, between guards of the same length, and compares. `counts`
/// selects the bytes of the output that must be right.
fn compare(
    cl: &ClContext,
    storage: Storage,
    (width, height): (u32, u32),
    want: &[u8],
    counts: &dyn Fn(usize) -> bool,
    run: impl FnOnce(&Picture) -> Result<()>,
) -> Result<Option<String>> {
    let poison: Vec<u8> = want.iter().map(|byte| !byte).collect();
    let failed = |e: Status| cl::failed("The memory of a case could not be had.", &e);
    let (side, mut after) = match storage {
        Storage::Image => {
            let image = Picture::alloc(cl, storage, width, height)?;
            image.write(&cl.queue, &poison)?;
            run(&image)?;
            let mut after = vec![0; want.len()];
            image.read(&cl.queue, &mut after)?;
            (0, after)
        }
        Storage::Buffer => {
            let side = want.len().next_multiple_of(4096);
            let mut before = vec![0x5c; side];
            before.extend_from_slice(&poison);
            before.resize(2 * side + want.len(), 0x5c);
            let whole = Buffer::copied(&cl.context, CL_MEM_READ_WRITE, &before).map_err(failed)?;
            let part = whole.part(side, want.len()).map_err(failed)?;
            run(&Picture::Buffer(part))?;
            cl.queue.finish().map_err(failed)?;
            whole.read(&cl.queue, &mut before).map_err(failed)?;
            (side, before)
        }
    };
    let tail = after.split_off(side + want.len());
    let got = after.split_off(side);
    let outside = after.iter().chain(&tail).filter(|&&byte| byte != 0x5c).count();
    if outside > 0 {
        return Ok(Some(format!("{outside} bytes outside the output")));
    }
    let wrong = |at: &usize| got[*at] != want[*at] && counts(*at);
    let count = (0..want.len()).filter(wrong).count();
    Ok((count > 0).then(|| format!("{count} of {} bytes", want.len())))
}

/// Returns a description if the kernel wrote into its source.
fn source_changes(cl: &ClContext, src: &Picture, pixels: &[u8]) -> Result<Option<String>> {
    let mut now = vec![0; pixels.len()];
    src.read(&cl.queue, &mut now)?;
    let count = now.iter().zip(pixels).filter(|(now, before)| now != before).count();
    Ok((count > 0).then(|| format!("{count} bytes of the source")))
}
