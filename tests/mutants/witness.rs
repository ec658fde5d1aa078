//! Looks for a case in which a changed kernel changes a byte. In: a mutant's number, in a process of its own, whose
//! kernels are the changed ones. Out: lines in a file, so that the parent knows how far it came when it ends.
//!
//! Nothing of this is the verifier: it runs the kernels by the library, and compares all bytes with the reference's, those
//! on both sides of the output and those of the source besides.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use base::error::{Error, Result};
use base::verify::Elements as _;
use box_filter::color_kernels::{Converter, Corrector};
use box_filter::planar::{PlanarFilter, planar_reference};
use box_filter::reference::reference;
use box_filter::{BuiltVariant, Config, Scratch, VariantId};
use ffmpeg_next::format::Pixel;
use ffmpeg_next::frame::Video;
use ladder::config;
use ladder::contest::Ladder;
use ladder::rung::Work;
use ladder::sizes::Sizes;
use ladders::cloth::Cloth;
use ladders::histogram::HISTOGRAM;
use ladders::matmul::Matmul;
use ladders::matmul::shape::Shape;
use ladders::reduction::REDUCTION;
use ladders::reduction::pictures;
use ladders::transpose::{Size, Transpose};
use ladders::vector_add::VectorAdd;
use ocl::ffi::CL_MEM_READ_WRITE;
use opencl::cl::{self, Buffer, ClContext, Status, list_devices, select_device};
use opencl::memory::{Picture, Storage};
use video::color::Matrix;
use video::color::planes::layout_of;
use video::color::{Correction, Layout, RgbaColors, convert_reference, correct_reference};

use super::cases::{Case, Content, Subject, cases};
use super::rules::{Mutant, mutants};

/// The environment variable that makes a process a witness: a mutant's number, a colon, and the file to write.
pub const VARIABLE: &str = "CLREEL_MUTANTS_WITNESS";

/// The cases of a mutant, in the order in which they are tried.
pub fn cases_of(mutant: &Mutant) -> Vec<Case> {
    mutant.subjects.iter().flat_map(|&subject| cases(subject)).collect()
}

/// Does the witness's work if this process is one, and tells whether it was.
pub fn attend(kernels: &Path) -> bool {
    let Ok(task) = std::env::var(VARIABLE) else { return false };
    let (number, path) = task.split_once(':').expect("a number and a file");
    let mut to = File::create(path).expect("the witness's file");
    let mutants = mutants(kernels).expect("rules that match");
    let number: usize = number.parse().expect("a mutant's number");
    // 0: the kernels as they are, in every case of every mutant.
    let mut all: Vec<Case> = Vec::new();
    for mutant in mutants.iter().filter(|mutant| number == 0 || mutant.number == number) {
        for case in cases_of(mutant) {
            // The ladder's own test has all rungs of the cloth as they are; one shows that this comparison is right.
            let is_elsewhere = number == 0 && matches!(case.subject, Subject::Simulated(id) if id != "lanes");
            if !is_elsewhere && !all.contains(&case) {
                all.push(case);
            }
        }
    }
    let mut say = |line: String| writeln!(to, "{}", line.replace('\n', " ")).expect("the witness's file");
    let result = look(&all, number != 0, &mut say);
    match result {
        Ok(()) => say("end".to_owned()),
        Err(e) => say(format!("error {e}")),
    }
    true
}

fn look(cases: &[Case], stop: bool, say: &mut dyn FnMut(String)) -> Result<()> {
    let mut lab = Lab::new()?;
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

/// What is built, once for all cases.
struct Lab {
    cl: ClContext,
    variants: Vec<(Subject, BuiltVariant)>,
    planar: Vec<(Subject, PlanarFilter)>,
    converter: Converter,
    corrector: Corrector,
    wanted: HashMap<String, Vec<u8>>,
}

impl Lab {
    fn new() -> Result<Self> {
        let cl = ClContext::new(&select_device(&list_devices(), Some("cpu"))?)?;
        let (converter, corrector) = (Converter::new(&cl), Corrector::new(&cl));
        Ok(Self {
            cl,
            variants: Vec::new(),
            planar: Vec::new(),
            converter,
            corrector,
            wanted: HashMap::new(),
        })
    }

    /// What differs, if anything does.
    fn run(&mut self, case: &Case) -> Result<Option<String>> {
        match case.subject {
            Subject::Planar(_) => self.planar(case),
            Subject::Planes { .. } | Subject::Rows => self.convert(case),
            Subject::Correct { .. } => self.correct(case),
            Subject::Added(id) => self.compute(&VectorAdd, id, &case.size.0),
            Subject::Transposed(id) => {
                let size = Size::of([case.size.1, case.size.0]);
                self.compute(&Transpose, id, &size.map_err(|why| Error::new(why, "", ""))?)
            }
            Subject::Multiplied(id) => {
                let shape = Shape::of([case.size.1, case.size.0, case.radius]);
                self.compute(&Matmul, id, &shape.map_err(|why| Error::new(why, "", ""))?)
            }
            Subject::Counted(id) => {
                let ((width, height), block) = (case.size, case.radius);
                self.compute(&HISTOGRAM, id, &pictures::Case { width, height, block })
            }
            Subject::Reduced(id) => {
                let ((width, height), block) = (case.size, case.radius);
                self.compute(&REDUCTION, id, &pictures::Case { width, height, block })
            }
            Subject::Simulated(id) => self.simulate(id, case.size.0),
            Subject::Variant(..) | Subject::Tuned(..) | Subject::IntoImage(..) => self.filter(case),
        }
    }

    fn filter(&mut self, case: &Case) -> Result<Option<String>> {
        if !self.variants.iter().any(|(subject, _)| *subject == case.subject) {
            self.variants.push((case.subject, self.build(case.subject)?));
        }
        let Some((_, variant)) = self.variants.iter().find(|(subject, _)| *subject == case.subject) else {
            return Ok(None);
        };
        let (width, height) = case.size;
        let pixels = picture(case);
        // Several cases differ only in their bands.
        let key = format!("{:?} {} {:?}", case.size, case.radius, case.content);
        let (w, h, r) = (width as usize, height as usize, case.radius as usize);
        let want = self.wanted.entry(key).or_insert_with(|| reference(&pixels, w, h, r));
        let cl = &self.cl;
        let src = Picture::alloc(cl, variant.kernels().storage, width, height)?;
        src.write(&cl.queue, &pixels)?;
        let run = |dst: &Picture| {
            let plan = variant.plan(cl, &src, dst, &mut Scratch::new(), width, height, case.radius)?;
            for pass in 0..plan.passes() {
                for (start, end) in bands(case, height) {
                    let _event = plan.enqueue(&cl.queue, pass, start..end)?;
                }
            }
            Ok(())
        };
        let found = compare(cl, variant.output(), case.size, want, &|_| true, run)?;
        Ok(found.or(changed(cl, &src, &pixels)?))
    }

    /// Each step of the cloth that the rung does in its own way. All of them in a row are left out: errors add up there.
    fn simulate(&self, id: &str, army: u32) -> Result<Option<String>> {
        let sizes = Sizes::default().with("army", [[army]]);
        let steps = Cloth.cases(&sizes).map_err(|why| Error::new(why, "", ""))?;
        let unknown = || Error::new(format!("'{id}' has no kernel."), "", "");
        let rung = Cloth.rungs().iter().find(|rung| rung.id == id).ok_or_else(unknown)?;
        let Work::Kernels(code) = rung.work else { return Err(unknown()) };
        for step in steps.iter().filter(|step| step.step.is_some()) {
            if Cloth.takes(&self.cl, code, step).is_ok()
                && let Some(what) = self.compute(&Cloth, id, step)?
            {
                return Ok(Some(format!("{}: {what}", Cloth.title(step))));
            }
        }
        Ok(None)
    }

    /// Computes with each input of the ladder.
    fn compute<L: Ladder>(&self, ladder: &L, id: &str, case: &L::Case) -> Result<Option<String>> {
        let cl = &self.cl;
        let unknown = || Error::new(format!("'{id}' has no kernel."), "", "");
        let rung = ladder.rungs().iter().find(|rung| rung.id == id).ok_or_else(unknown)?;
        let Work::Kernels(code) = rung.work else { return Err(unknown()) };
        let built = ladder.compile(cl, &config::Config::of(code, cl.device.info.kind))?;
        const SIDE: usize = 4096;
        let mut room = ladder.room(Some(cl), case, SIDE)?;
        for input in L::INPUTS {
            let want = ladder.load(&mut room, input)?;
            let mut before = vec![0x5c; SIDE];
            before.extend(want.iter().map(|byte| !byte));
            before.resize(2 * SIDE + want.len(), 0x5c);
            ladder.write(&built, &mut room, &before)?;
            ladder.run(&built, &mut room)?;
            let after = ladder.read(&built, &room)?;
            let (got, end) = (&after[SIDE..SIDE + want.len()], SIDE + want.len());
            let outside = after[..SIDE].iter().chain(&after[end..]).filter(|&&byte| byte != 0x5c).count();
            let wrong =
                wrong_bytes(got, &want, ladder.elements(&room).bound().is_some_and(|bound| bound > 0.0));
            let source = ladder.changed(&built, &room)?;
            if outside + wrong + source > 0 {
                return Ok(Some(format!(
                    "{input}: {wrong} of {} bytes, {outside} outside the output, {source} of the source",
                    want.len()
                )));
            }
        }
        Ok(None)
    }

    fn build(&self, subject: Subject) -> Result<BuiltVariant> {
        match subject {
            Subject::Tuned(id, kind, name, value) => {
                let code = id
                    .kernels()
                    .map(|info| info.code(kind))
                    .ok_or_else(|| Error::new("No kernel.", "", ""))?;
                BuiltVariant::build_with(&self.cl, id, &Config::of(code, kind).with(name, value))
            }
            Subject::IntoImage(id, kind) => {
                let code = id
                    .kernels()
                    .map(|info| info.code(kind))
                    .ok_or_else(|| Error::new("No kernel.", "", ""))?;
                BuiltVariant::build_into(&self.cl, id, &Config::of(code, kind), Storage::Image)
            }
            Subject::Variant(id, kind) => BuiltVariant::build_as(&self.cl, id, kind),
            _ => Err(Error::new("No variant.", "", "")),
        }
    }

    fn planar(&mut self, case: &Case) -> Result<Option<String>> {
        let Subject::Planar(kind) = case.subject else { return Ok(None) };
        if !self.planar.iter().any(|(subject, _)| *subject == case.subject) {
            self.planar.push((case.subject, PlanarFilter::build_as(&self.cl, VariantId::Planar, kind)?));
        }
        let Some((_, filter)) = self.planar.iter().find(|(subject, _)| *subject == case.subject) else {
            return Ok(None);
        };
        let layout = layout(case)?;
        let block = planes(case, &layout);
        let want = planar_reference(&layout, &block, case.radius)?;
        let cl = &self.cl;
        let from = Picture::block(cl, &cl.queue, &block)?;
        let to = layout.filtered();
        // Between the rows anything may stand.
        let counts = |at: usize| {
            to.planes.iter().any(|plane| {
                let inside = at >= plane.offset && at < plane.offset + plane.stride * plane.rows;
                inside && (at - plane.offset) % plane.stride.max(1) < plane.row
            })
        };
        let run = |dst: &Picture| {
            let plan = filter.plan(cl, &layout, dst, &mut Scratch::new(), case.radius)?;
            for (start, end) in bands(case, layout.height) {
                let _event = plan.enqueue(&cl.queue, &from, start..end)?;
            }
            Ok(())
        };
        let size = ((want.len() / 4) as u32, 1);
        let found = compare(cl, Storage::Buffer, size, &want, &counts, run)?;
        Ok(found.or(changed(cl, &from, &block)?))
    }

    fn convert(&mut self, case: &Case) -> Result<Option<String>> {
        let decoded = Layout { siting: case.siting, interlaced: case.interlaced, ..layout(case)? };
        let decoded = if case.ycgco { Layout { matrix: Matrix::Ycgco, ..decoded } } else { decoded };
        let (layout, storage) = match case.subject {
            Subject::Planes { image: true } => (decoded, Storage::Image),
            Subject::Rows => (decoded.filtered(), Storage::Buffer),
            _ => (decoded, Storage::Buffer),
        };
        let mut block = planes(case, &layout);
        if case.subject == Subject::Rows {
            // Samples of 12 bits, none above the largest.
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
        let run =
            |dst: &Picture| converter.enqueue_block(&cl.queue, &layout, &from, dst, &correction).map(drop);
        let found = compare(cl, storage, case.size, &want, &|_| true, run)?;
        Ok(found.or(changed(cl, &from, &block)?))
    }

    fn correct(&mut self, case: &Case) -> Result<Option<String>> {
        let Subject::Correct { from, to } = case.subject else { return Ok(None) };
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
        let run = |dst: &Picture| {
            let colors = RgbaColors { matrix: Matrix::Bt709, has_alpha: !case.opaque };
            corrector.enqueue(&cl.queue, &src, dst, case.size, &Correction::VIVID, colors).map(drop)
        };
        let found = compare(cl, storage(to), case.size, &want, &|_| true, run)?;
        Ok(found.or(changed(cl, &src, &pixels)?))
    }
}

/// How many bytes are not what is wanted; where `rounded`, of floats that are not near it, measured by the largest of all.
fn wrong_bytes(got: &[u8], want: &[u8], rounded: bool) -> usize {
    if !rounded {
        return got.iter().zip(want).filter(|(got, want)| got != want).count();
    }
    let floats = |bytes: &[u8]| {
        let float = |x: &[u8]| f64::from(f32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        bytes.chunks_exact(4).map(float).collect::<Vec<_>>()
    };
    let (got, want) = (floats(got), floats(want));
    let most = want.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let near = |got: f64, want: f64| {
        got == want || got.is_nan() && want.is_nan() || (got - want).abs() < 1e-4 * most
    };
    4 * got.iter().zip(&want).filter(|(got, want)| !near(**got, **want)).count()
}

/// First and last row of each launch.
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

/// A packed block, a whole number of pixels long.
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

fn fill(
    case: &Case,
    bytes: usize,
    pixel: impl Fn(usize) -> (usize, usize),
    (width, height): (usize, usize),
) -> Vec<u8> {
    let side = 2 * case.radius as usize + 1;
    let byte = |white: bool| if white { 255 } else { 0 };
    match case.content {
        Content::Noise => noise(bytes),
        Content::White => vec![255; bytes],
        Content::Black => vec![0; bytes],
        Content::Stripes => (0..bytes).map(|at| byte(pixel(at).1 / side % 2 == 1)).collect(),
        Content::Halves => (0..bytes).map(|at| byte(pixel(at).0 >= width / 2)).collect(),
        Content::OnePixel => (0..bytes).map(|at| byte(pixel(at) == (width / 2, height / 3))).collect(),
    }
}

/// Any bytes, the same each time.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Runs into an output that holds other bytes than `want`, between as many bytes on both sides, and compares. `counts`
/// says which bytes of the output must be right.
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

/// Whether a source is not what it was.
fn changed(cl: &ClContext, src: &Picture, pixels: &[u8]) -> Result<Option<String>> {
    let mut now = vec![0; pixels.len()];
    src.read(&cl.queue, &mut now)?;
    let count = now.iter().zip(pixels).filter(|(now, before)| now != before).count();
    Ok((count > 0).then(|| format!("{count} bytes of the source")))
}
