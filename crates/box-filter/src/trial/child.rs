//! The child's side: builds what a request names, runs it on the picture, compares it with the reference.

use std::time::Instant;

use super::{Answer, Launch, Request, Tried, Work};
use crate::VariantId;
use crate::color_kernels::{Converter, Corrector};
use crate::planar::{PlanarFilter, planar_reference, run as planes, suite as planar_suite};
use crate::reference::quick;
use crate::run::{Bands, Checker, Room};
use crate::suite::{Subject, Suite};
use crate::{BuiltVariant, Config, Plan, Scratch, filter_once};
use base::error::{Error, Result};
use base::memory::zeroed;
use base::timing::ms_since;
use base::verify::{self, MismatchReport};
use opencl::cl::{ClContext, failed};
use opencl::identity::{Identity, by_identity};
use opencl::memory::Rgba;
use opencl::memory::{Picture, Storage};
use opencl::sources;
use opencl::trial::{START, Talk, serve, warm_up};
use video::color::{Correction, Layout};
use video::color::{Matrix, RgbaColors};

/// A variant that takes longer runs only once, as it is to be used.
const CHEAP_MS: f64 = 2000.0;
/// A pass of less is short: nobody waits until it is known how short.
const SHORT_MS: f64 = 200.0;

/// What the checks of a frame of 1280 by 720 pixels take, with their canaries, on host and device.
const WARM_BYTES: usize = 96 << 20;

/// Answers requests until nobody asks any more, then ends the process. `frame` is the number of the shared memory.
pub fn answer(frame: u32) -> ! {
    let mut responder = Responder::default();
    serve(frame, move |request: Request, talk| match responder.run(&request, talk) {
        Ok(tried) => Answer::Ran(tried),
        Err(error) => Answer::Failed(error),
    })
}

/// Answers requests; its device stays open from one to the next.
#[derive(Default)]
struct Responder {
    device: Option<(Identity, ClContext)>,
}

impl Responder {
    fn cl(&mut self, wanted: &Identity) -> Result<ClContext> {
        if let Some((_, cl)) = self.device.as_ref().filter(|(identity, _)| identity == wanted) {
            return Ok(cl.clone());
        }
        let gone = || Error::new("Kernels could not be tried.", "Their device is not listed there.", "");
        let cl = ClContext::new(&by_identity(wanted).ok_or_else(gone)?)?;
        self.device = Some((wanted.clone(), cl.clone()));
        Ok(cl)
    }

    fn run(&mut self, request: &Request, talk: &mut Talk) -> Result<Tried> {
        talk.step(START);
        sources::pin(request.kernels.clone());
        let cl = self.cl(&request.device)?;
        let no_frame = |e| Error::new("Kernels could not be tried.", format!("{e}."), "");
        let shared = talk.picture().map_err(no_frame)?;
        let picture = || {
            let mut src = zeroed(request.bytes)?;
            shared.read(&mut src).map_err(no_frame)?;
            Ok(src)
        };
        if let Work::Variant { id, params, to_image } = &request.work
            && request.launch == Launch::Extremes
        {
            let id: VariantId = id.parse().map_err(|why: String| Error::new(why, "", ""))?;
            let ready = || Ready::of(request, &picture()?);
            return std::thread::scope(|scope| {
                // Who waits for a save waits for the compiler: all else is there by then.
                let begun = std::thread::Builder::new().name("reference".into());
                let begun = begun.spawn_scoped(scope, ready).ok();
                let built = build(&cl, id, params.as_deref(), *to_image)?;
                let ready = || match begun {
                    Some(begun) => begun.join().unwrap_or_else(|_| Err(no_frame(broken()))),
                    None => ready(),
                };
                saved(&cl, &built, request, ready, talk)
            });
        }
        let src = picture()?;
        let (tried, picture) = match &request.work {
            Work::Variant { id, params, to_image } => {
                let id = variant_of(id)?;
                let [width, height, radius] =
                    [request.size.0, request.size.1, request.radius].map(|n| n as usize);
                let want = || quick(&src, width, height, radius);
                let built = build(&cl, id, params.as_deref(), *to_image)?;
                variant(&cl, &built, request, &src, want, talk)?
            }
            Work::Planar { id, layout, to_image } => {
                let filter = PlanarFilter::build(&cl, variant_of(id)?)?;
                planar(&cl, &filter, layout, *to_image, request, &src, talk)?
            }
            Work::Convert { layout, to_image } if request.launch == Launch::Extremes => {
                let mut step = talk.stepper().map_err(no_frame)?;
                let storage = if *to_image { Storage::Image } else { Storage::Buffer };
                let mut converter = Converter::new(&cl);
                let report = converter.check_extremes(layout, storage, &src, || step("convert"))?;
                (ran(0.0, report), Vec::new())
            }
            Work::Convert { layout, to_image } => {
                let begin = Instant::now();
                let picture = convert(&cl, layout, *to_image, &src, talk)?;
                (ran(ms_since(begin), None), picture)
            }
            Work::Correct => {
                correct(&cl, request.size, &src, talk)?;
                (ran(0.0, None), Vec::new())
            }
            Work::Nothing => {
                warm_up(WARM_BYTES);
                (ran(0.0, None), Vec::new())
            }
        };
        if request.wants_picture {
            talk.write_frame(&picture).map_err(no_frame)?;
        }
        Ok(tried)
    }
}

fn ran(ms: f64, report: Option<MismatchReport>) -> Tried {
    Tried { ms, left_out: false, report, picture: None }
}

fn build(
    cl: &ClContext,
    id: VariantId,
    params: Option<&[(String, u32)]>,
    to_image: bool,
) -> Result<BuiltVariant> {
    match (params, to_image) {
        (None, false) => BuiltVariant::build(cl, id),
        (None, true) => BuiltVariant::build_for_textures(cl, id),
        (Some(params), to_image) => {
            let kind = cl.device.info.kind;
            let unknown = || Error::new(format!("'{id}' has no kernel."), "", "");
            let info = id.kernels().ok_or_else(unknown)?;
            let config = Config::of(info.code(kind), kind);
            let config = params.iter().fold(config, |config, (name, value)| config.with(name, *value));
            let output = if to_image { Storage::Image } else { info.storage };
            BuiltVariant::build_into(cl, id, &config, output)
        }
    }
}

/// Runs a variant: first on a few rows, to see how long it takes, then as it is to be used. `want` makes what is right.
fn variant(
    cl: &ClContext,
    built: &BuiltVariant,
    request: &Request,
    src: &[u8],
    want: impl FnOnce() -> Vec<u8>,
    talk: &mut Talk,
) -> Result<(Tried, Vec<u8>)> {
    let ((width, height), radius) = (request.size, request.radius);
    talk.step("time");
    let mut scratch = Scratch::new();
    let input = Picture::alloc(cl, built.kernels().storage, width, height)?;
    let output = Picture::alloc(cl, built.output(), width, height)?;
    input.write(&cl.queue, src)?;
    let plan = built.plan(cl, &input, &output, &mut scratch, width, height, radius)?;
    let ms = plan.predict(&cl.queue)?;
    if request.longest_ms.is_some_and(|longest| ms > longest) {
        return Ok((Tried { left_out: true, ..ran(ms, None) }, Vec::new()));
    }
    // The reference takes only the processor's time.
    talk.step(START);
    let want = want();
    let mut run = |name: &str, ms: f64| {
        talk.step(name);
        talk.predicted(ms);
    };
    let cheap = ms < CHEAP_MS;
    let in_window = request.launch == Launch::Bands;
    let mut report = None;
    let mut picture = Vec::new();
    if cheap && request.launch == Launch::Checks {
        // What the check in the other process runs, before that does.
        let work = (0..plan.passes()).map(|pass| plan.work(pass)).sum::<f64>();
        let subject = Subject { cl, variant: built, of: request.size, way: "", read_ms: ms / work.max(1.0) };
        let mut suite = Suite::default();
        run("small", ms);
        report = suite.first(cl, built, request.size, radius)?;
        let mut compared = Vec::new();
        let go_on = &mut || {
            run("small", ms);
            Ok(())
        };
        if report.is_none() {
            report = suite.sizes(subject, radius, &mut compared, go_on)?;
        }
        if report.is_none() {
            report = suite.radii(subject, &mut compared, go_on)?;
        }
    }
    if cheap && !request.wants_picture {
        let checker = Checker::new(cl, built, request.size, request.size, radius)?;
        for bands in [Bands::Steps, Bands::Whole, Bands::Odd] {
            run("check", ms);
            if report.is_none() {
                report = checker.check(src, &want, bands)?;
            }
        }
    } else if !cheap && in_window {
        run("bands", ms);
        in_bands(cl, &plan)?;
        let mut got = zeroed(want.len())?;
        output.read(&cl.queue, &mut got)?;
        report = compare(&want, &got, width);
    }
    if request.wants_picture || !cheap && !in_window {
        run("whole", ms);
        picture = filter_once(cl, built, src, width, height, radius)?;
        let differs = report.is_none().then(|| compare(&want, &picture, width)).flatten();
        if differs.is_some() && cheap {
            // What nobody writes, or what is written elsewhere, only shows with poison and canaries.
            run("check", ms);
            let checker = Checker::new(cl, built, request.size, request.size, radius);
            let checked = checker.and_then(|checker| checker.check(src, &want, Bands::Whole));
            report = checked.ok().flatten();
        }
        report = report.or(differs);
    }
    Ok((ran(ms, report), picture))
}

/// What a variant is compared with that was just saved: made while the compiler works.
struct Ready {
    /// The right one of the frame that is looked at.
    want: Vec<u8>,
    /// To check it.
    room: Room,
    /// Pictures of all kinds.
    suite: Suite,
}

impl Ready {
    fn of(request: &Request, src: &[u8]) -> Result<Self> {
        let (width, height) = request.size;
        let want = quick(src, width as usize, height as usize, request.radius as usize);
        let room = Room::new(src, &want)?;
        let mut suite = Suite::default();
        suite.make_extremes(request.radius);
        Ok(Self { want, room, suite })
    }
}

/// The thread that made it ready did not come to its end.
fn broken() -> std::io::Error {
    std::io::Error::other("The reference could not be made")
}

/// Runs a variant that was just saved: whoever waits to see it waits for each picture. What differs in the frame is told of
/// that one.
fn saved(
    cl: &ClContext,
    built: &BuiltVariant,
    request: &Request,
    ready: impl FnOnce() -> Result<Ready>,
    talk: &mut Talk,
) -> Result<Tried> {
    talk.step("time");
    let (size, radius) = (request.size, request.radius);
    let checker = Checker::new(cl, built, size, size, radius)?;
    let ms = checker.predict_above(SHORT_MS)?;
    // The reference takes only the processor's time.
    talk.step(START);
    let Ready { want, mut room, mut suite } = ready()?;
    if request.longest_ms.is_some_and(|longest| ms > longest) {
        return Ok(Tried { left_out: true, ..ran(ms, None) });
    }
    let mut run = |name: &str| {
        talk.step(name);
        talk.predicted(ms);
    };
    run("check");
    let report = checker.check_in(&mut room, &want, Bands::Steps)?;
    if report.is_some() {
        return Ok(ran(ms, report));
    }
    let go_on = &mut || {
        run("small");
        Ok(())
    };
    suite.extremes(cl, built, size, radius, go_on).map(|report| ran(ms, report))
}

/// Runs all passes in bands, as the window does.
fn in_bands(cl: &ClContext, plan: &Plan) -> Result<()> {
    for pass in 0..plan.passes() {
        for rows in Bands::Steps.of(plan.rows(), plan.row_step(pass)) {
            let _event = plan.enqueue(&cl.queue, pass, rows)?;
            cl.queue.finish().map_err(|e| failed("The device failed during a trial.", &e))?;
        }
    }
    Ok(())
}

/// Compares a result that has no canaries.
fn compare(want: &[u8], got: &[u8], width: u32) -> Option<MismatchReport> {
    verify::compare(want, got, Rgba { width: width as usize }, (&[], &[]))
}

fn variant_of(id: &str) -> Result<VariantId> {
    id.parse().map_err(|why: String| Error::new(why, "", ""))
}

/// The filter on planes, as one run and in bands, and the conversion.
fn planar(
    cl: &ClContext,
    filter: &PlanarFilter,
    layout: &Layout,
    to_image: bool,
    request: &Request,
    block: &[u8],
    talk: &mut Talk,
) -> Result<(Tried, Vec<u8>)> {
    talk.step(START);
    let want = planar_reference(layout, block, request.radius)?;
    let mut report = None;
    let begin = Instant::now();
    let third = layout.height / 3;
    // In the lowest pictures there are no rows for some of them.
    let cuts: Vec<u32> =
        [third, 2 * third + 1].into_iter().filter(|row| (1..layout.height).contains(row)).collect();
    for bands in [&[], &cuts[..]] {
        talk.step("check");
        report = report.or(planes::check(cl, filter, layout, block, &want, request.radius, bands)?);
    }
    let ms = ms_since(begin) / 2.0;
    if report.is_none() && request.launch == Launch::Extremes {
        report = planar_suite::extremes(cl, filter, layout, request.radius, || talk.step("small"))?;
    }
    let filtered = layout.filtered();
    let to = Picture::block(cl, &cl.queue, &zeroed(filtered.bytes())?)?;
    let from = Picture::block(cl, &cl.queue, block)?;
    let plan = filter.plan(cl, layout, &to, &mut Scratch::new(), request.radius)?;
    talk.step("whole");
    let _event = plan.enqueue(&cl.queue, &from, 0..layout.height)?;
    let picture = convert_block(cl, &filtered, to_image, &to, talk)?;
    Ok((ran(ms, report), picture))
}

fn convert(
    cl: &ClContext,
    layout: &Layout,
    to_image: bool,
    block: &[u8],
    talk: &mut Talk,
) -> Result<Vec<u8>> {
    convert_block(cl, layout, to_image, &Picture::block(cl, &cl.queue, block)?, talk)
}

fn convert_block(
    cl: &ClContext,
    layout: &Layout,
    to_image: bool,
    block: &Picture,
    talk: &mut Talk,
) -> Result<Vec<u8>> {
    let storage = if to_image { Storage::Image } else { Storage::Buffer };
    let (width, height) = (layout.width, layout.height);
    let picture = Picture::alloc(cl, storage, width, height)?;
    let mut converter = Converter::new(cl);
    let mut rgba = zeroed(width as usize * height as usize * 4)?;
    // As a movie is shown by default comes last: that is the result.
    for correction in [strong(), Correction::NEUTRAL] {
        talk.step("convert");
        let _event = converter.enqueue_block(&cl.queue, layout, block, &picture, &correction)?;
        picture.read(&cl.queue, &mut rgba)?;
    }
    Ok(rgba)
}

fn correct(cl: &ClContext, (width, height): (u32, u32), src: &[u8], talk: &mut Talk) -> Result<()> {
    let mut corrector = Corrector::new(cl);
    let colors = RgbaColors { matrix: Matrix::Bt709, has_alpha: true };
    let storages = if cl.device.info.image_support {
        &[Storage::Buffer, Storage::Image][..]
    } else {
        &[Storage::Buffer]
    };
    for &storage in storages {
        let from = Picture::alloc(cl, storage, width, height)?;
        let to = Picture::alloc(cl, storage, width, height)?;
        from.write(&cl.queue, src)?;
        talk.step("correct");
        let _event = corrector.enqueue(&cl.queue, &from, &to, (width, height), &strong(), colors)?;
        cl.queue.finish().map_err(|e| failed("The device failed during a trial.", &e))?;
    }
    Ok(())
}

/// A correction that changes everything it can.
fn strong() -> Correction {
    Correction { brightness: 0.1, contrast: 1.5, saturation: 0.5, gamma: 2.0 }
}
