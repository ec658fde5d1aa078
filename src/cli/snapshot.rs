//! `clreel snapshot`: one filtered frame as a PNG, of a movie turned as the window shows it. Needs no display. A conversion on a
//! device is compared with the right one before anything is written. Or two filters side by side, or how they differ.

use ffmpeg_next::frame::Video;

use crate::cli::devices::print_line;
use crate::cli::frames::Pictures;
use crate::cli::{SnapshotArgs, exit, usage, working_devices};
use crate::options::values::WipeSide;
use crate::options::{FilterArgs, SceneId};
use crate::scene::card;
use crate::scene::cloth::picture as cloth;
use base::error::{Error, Result};
use base::memory::{picture_memory, zeroed};
use base::save;
use box_filter::color_kernels::{Converter, check};
use box_filter::color_trial;
use box_filter::planar::PlanarFilter;
use box_filter::trial::{Case, Launch, Trials, Tried};
use box_filter::{BuiltVariant, VariantId};
use engine::glsl;
use engine::sharing::Sharing;
use engine::{Compared, Comparer, Pipeline, Request};
use ladder::BackEnd;
use opencl::cl::{ClContext, select_device};
use opencl::memory::Storage;
use opencl::program::any_changed;
use opencl::watch;
use video::color::planes::pack;
use video::color::{Correction, Layout, RgbaConverter, straighten};
use video::{Frame, bundled_clip, read_frame_at};

/// Changed kernels make the picture in a process of their own: this one never runs them.
struct InChild(Trials);

impl InChild {
    /// The filtered picture; `None` where the kernels are those that are built in.
    fn variant(
        &mut self,
        cl: &ClContext,
        id: VariantId,
        src: &[u8],
        size: (u32, u32),
        radius: u32,
    ) -> Result<Option<Vec<u8>>> {
        let tried = self.0.variant(cl, id, None, false, &case(src, size, radius))?;
        Ok(picture(id.as_str(), tried))
    }

    /// The same of a frame's planes, converted; `None` also where only the conversions are changed.
    fn planar(
        &mut self,
        cl: &ClContext,
        id: VariantId,
        frame: &Video,
        radius: u32,
    ) -> Result<Option<Vec<u8>>> {
        let Some((layout, block)) = packed(frame)? else { return Ok(None) };
        let tried =
            self.0.planar(cl, id, &layout, false, &case(&block, (layout.width, layout.height), radius))?;
        // Where only conversions are changed they did no harm there, and here they are compared with the right ones.
        Ok(picture(id.as_str(), tried.filter(|_| any_changed("box_filter/"))))
    }

    /// Whether this process may convert a frame's planes on the device: what must not run is said, and done without.
    fn lets_convert(&mut self, cl: &ClContext, frame: &Video) -> bool {
        let tried = packed(frame).and_then(|packed| match packed {
            Some((layout, block)) => {
                self.0.convert(cl, &layout, false, &case(&block, (layout.width, layout.height), 0)).map(drop)
            }
            None => Ok(()),
        });
        tried.inspect_err(|error| eprintln!("clreel: {error}")).is_ok()
    }
}

fn packed(frame: &Video) -> Result<Option<(Layout, Vec<u8>)>> {
    let Some(layout) = Converter::supports(frame) else { return Ok(None) };
    let mut block = zeroed(layout.bytes())?;
    pack(frame, &layout, &mut block)?;
    Ok(Some((layout, block)))
}

fn case(src: &[u8], size: (u32, u32), radius: u32) -> Case<'_> {
    Case { src, size, radius, launch: Launch::Whole, longest_ms: None, wants_picture: true }
}

/// The picture of a trial, also one that is not right: the author of its kernels wants to see it.
fn picture(name: &str, tried: Option<Tried>) -> Option<Vec<u8>> {
    let tried = tried?;
    if let Some(report) = &tried.report {
        eprintln!("clreel: The changed kernels of {name} differ from the reference: {report}.");
    }
    tried.picture
}

/// Reads the frame shown at `--at`, filters it and writes it to `--out`; returns the exit code.
///
/// # Errors
/// When the file gives no frame, the filter cannot run, or the PNG cannot be written.
pub(crate) fn run(args: &SnapshotArgs) -> Result<u8> {
    let frame = match args.scene {
        SceneId::Movie | SceneId::Cloth => movies_frame(args)?,
        SceneId::Card if args.file.is_some() => {
            return Ok(usage("snapshot", "--scene card has a picture of its own: leave the file out"));
        }
        SceneId::Card => card(args)?,
    };
    let mut shown = asked(args, frame)?;
    if args.scene == SceneId::Cloth {
        shown = worn(args, &shown)?;
    }
    let ((width, height), mut rgba) = shown;
    straighten(&mut rgba);
    save::png(&args.out, width, height, &rgba)?;
    Ok(exit::DONE)
}

/// A figure that wears the picture: its shirt is moved on the device, or where there is none by plain Rust.
fn worn(args: &SnapshotArgs, (size, rgba): &Shown) -> Result<Shown> {
    let devices = working_devices();
    let device = match (&args.filter.device, devices.is_empty()) {
        (None, true) => None,
        (selected, _) => Some(select_device(&devices, selected.as_deref())?),
    };
    let headless = glsl::headless()?;
    let _watched = device.as_ref().map(|device| watch::on_device(&device.info.name, "a shirt is moved"));
    let cl = match device.as_ref().map(ClContext::new).transpose() {
        // Nobody has asked for that device.
        Err(error) if args.filter.device.is_none() => {
            eprintln!("clreel: {error}");
            None
        }
        made => made?,
    };
    Ok((cloth::SIZE, cloth::draw(&headless.gl, cl.as_ref(), *size, rgba)?))
}

fn movies_frame(args: &SnapshotArgs) -> Result<Frame> {
    let file = args.file.clone().map_or_else(bundled_clip, Ok)?;
    let (frame, warning) = read_frame_at(&file, args.at, args.references.get())?;
    if let Some(warning) = warning {
        eprintln!("clreel: {warning}");
    }
    Ok(frame)
}

/// What is asked of the frame: one filter, or the two of a wipe.
fn requests(args: &SnapshotArgs) -> Vec<Request> {
    let FilterArgs { variant, radius, .. } = args.filter;
    let side = |(id, own): WipeSide| Request::new(id, own.unwrap_or(radius));
    args.wipe.wipe.map_or_else(|| vec![Request::new(variant, radius)], |sides| sides.map(side).to_vec())
}

/// The test card, with what is asked of it in it.
fn card(args: &SnapshotArgs) -> Result<Frame> {
    let lines: Vec<String> = requests(args).iter().map(Request::to_string).collect();
    card::frame_at(args.at, &lines)
}

/// The picture that is asked for; the device that made it is given back.
fn asked(args: &SnapshotArgs, frame: Frame) -> Result<Shown> {
    let mut maker = Maker { args, frame, cl: None };
    let sides = requests(args);
    let mut pictures = maker.pictures(&sides)?;
    match (pictures.pop(), pictures.pop()) {
        (Some(right), Some(left)) if args.wipe.difference => maker.difference(&sides, [left, right]),
        (Some(right), Some(left)) => Ok(wiped([left, right])),
        (Some(picture), None) => Ok(picture),
        (None, _) => Err(Error::new("No picture was asked for.", "", "Choose a variant.")),
    }
}

/// A picture as it is shown: width and height in pixels, RGBA, premultiplied, 8 bits a channel, no gaps between rows.
type Shown = ((u32, u32), Vec<u8>);

/// Makes pictures of one frame.
struct Maker<'a> {
    args: &'a SnapshotArgs,
    frame: Frame,
    /// The device, once one was needed.
    cl: Option<ClContext>,
}

impl Maker<'_> {
    /// The frame in each way in which it is asked for, turned as it is shown. It is brought and converted once for all of them,
    /// but for the filter on planes, which reads those.
    fn pictures(&mut self, requests: &[Request]) -> Result<Vec<Shown>> {
        let reads_planes = |request: &Request| request.variant.reads_planes();
        let at_once = if requests.iter().any(reads_planes) { 1 } else { requests.len().max(1) };
        let mut pictures = Vec::new();
        for requests in requests.chunks(at_once) {
            for rgba in self.filtered(requests)? {
                let size = (self.frame.width(), self.frame.height());
                pictures.push(self.frame.orientation().turn(size, rgba)?);
            }
        }
        Ok(pictures)
    }

    fn filtered(&mut self, requests: &[Request]) -> Result<Vec<Vec<u8>>> {
        // As in the window, what does without OpenCL has its pictures from the processor.
        let without_opencl = |request: &Request| {
            let is_off = request.variant == VariantId::Off && self.args.filter.device.is_none();
            is_off || request.variant.back_end().does_without_opencl()
        };
        if requests.iter().all(without_opencl) {
            return Pictures::new(requests)?.of(&self.frame, requests);
        }
        let cl = self.cl("the frame is filtered")?;
        let _watched = watch::on_device(&cl.device.info.name, "the frame is filtered");
        on_device(&cl, &self.frame, requests, &mut InChild(Trials::new(self.args.trial.limit())))
    }

    /// The map of the differences between two pictures, in which they are said on stdout, too.
    fn difference(&mut self, sides: &[Request], [a, b]: [Shown; 2]) -> Result<Shown> {
        let cl = self.cl("two pictures are compared")?;
        let _watched = watch::on_device(&cl.device.info.name, "two pictures are compared");
        let compared = Comparer::new(&cl)?.compare(Compared::OnHost(&a.1), Compared::OnHost(&b.1), a.0)?;
        let sides: Vec<String> = sides.iter().map(Request::to_string).collect();
        print_line(format_args!("{}: {}", sides.join(" and "), compared.difference))?;
        Ok((a.0, compared.heat))
    }

    /// The device, which is watched while it is made ready.
    fn cl(&mut self, what: &'static str) -> Result<ClContext> {
        if let Some(cl) = &self.cl {
            return Ok(cl.clone());
        }
        let device = select_device(&working_devices(), self.args.filter.device.as_deref())?;
        let _watched = watch::on_device(&device.info.name, what);
        Ok(self.cl.insert(ClContext::new(&device)?).clone())
    }
}

/// A driver may hang where its device is given back, too.
impl Drop for Maker<'_> {
    fn drop(&mut self) {
        if let Some(cl) = self.cl.take() {
            let _watched = watch::on_device(&cl.device.info.name, "the device is given back");
            drop(cl);
        }
    }
}

/// The left half of one picture and the right half of the other; the column in the middle is the right one's.
fn wiped([(size, mut left), (_, right)]: [Shown; 2]) -> Shown {
    let (row, half) = (size.0 as usize * 4, size.0 as usize / 2 * 4);
    for (left, right) in left.chunks_exact_mut(row.max(1)).zip(right.chunks_exact(row.max(1))) {
        left[half..].copy_from_slice(&right[half..]);
    }
    (size, left)
}

/// The frame by the engine, and then what its conversion on the device has given, compared with what is right: a program
/// that is wrong is said, and done without.
fn on_device(
    cl: &ClContext,
    frame: &Frame,
    requests: &[Request],
    trials: &mut InChild,
) -> Result<Vec<Vec<u8>>> {
    if let [request] = requests
        && request.variant.reads_planes()
    {
        return planar_on_device(cl, frame, *request, trials).map(|picture| vec![picture]);
    }
    let size = (frame.width(), frame.height());
    let mut right = picture_memory(size.0, size.1)?;
    RgbaConverter::new().convert(&frame.picture, &mut right)?;
    let mut pipeline = Pipeline::new(cl.clone(), &Sharing::copy("there is no window"));
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    for request in requests {
        let Request { variant, radius, .. } = *request;
        let is_for_device = variant.back_end() == BackEnd::OpenCl;
        let picture = match is_for_device {
            true => trials.variant(cl, variant, &right, size, radius)?,
            false => None,
        };
        if picture.is_none() {
            left.push(*request);
            if is_for_device && !pipeline.has(variant) {
                pipeline.add(BuiltVariant::build(cl, variant)?);
            }
        }
        tried.push(picture);
    }
    let rest =
        if left.is_empty() { Vec::new() } else { untried(cl, frame, &left, pipeline, trials, &right)? };
    let mut rest = rest.into_iter();
    Ok(tried.into_iter().filter_map(|picture| picture.or_else(|| rest.next())).collect())
}

/// The same with kernels that need no trial, which `pipeline` has. `right` is the frame converted.
fn untried(
    cl: &ClContext,
    frame: &Frame,
    requests: &[Request],
    mut pipeline: Pipeline,
    trials: &mut InChild,
    right: &[u8],
) -> Result<Vec<Vec<u8>>> {
    // The window converts in the same two ways: by a kernel on graphics cards, else on the processor.
    let by_kernel = !cl.is_cpu() && trials.lets_convert(cl, &frame.picture);
    let layout = Converter::supports(&frame.picture).filter(|_| by_kernel);
    if let Some(layout) = &layout {
        pipeline.build_conversion(layout, Storage::Buffer)?;
    }
    let mut maker = Pictures::new(requests)?;
    maker.engine.set_device(pipeline);
    let pictures = maker.of(frame, requests)?;
    let converted = match (requests, &pictures[..]) {
        ([Request { variant: VariantId::Off, .. }], [picture]) => Some(picture.clone()),
        _ => maker.engine.pipeline().map(Pipeline::converted).transpose()?.flatten(),
    };
    let Some((layout, converted)) = layout.zip(converted) else { return Ok(pictures) };
    let Some(differs) = check::differing(cl, &layout, &converted, right) else { return Ok(pictures) };
    eprintln!("clreel: {differs}");
    if let Some(pipeline) = maker.engine.pipeline_mut() {
        pipeline.conversion_failed(&layout, Storage::Buffer);
    }
    maker.of(frame, requests)
}

/// The frame by the filter on planes; the conversion of what comes out is compared with the right one.
fn planar_on_device(
    cl: &ClContext,
    frame: &Frame,
    request: Request,
    trials: &mut InChild,
) -> Result<Vec<u8>> {
    if let Some(tried) = trials.planar(cl, request.variant, &frame.picture, request.radius)? {
        return Ok(tried);
    }
    let mut pipeline = Pipeline::new(cl.clone(), &Sharing::copy("there is no window"));
    pipeline.add_planar(PlanarFilter::build(cl, request.variant)?);
    let filtered = Converter::supports(&frame.picture).map(|layout| layout.filtered());
    if let Some(filtered) = &filtered {
        pipeline.build_conversion(filtered, Storage::Buffer)?;
    }
    let mut maker = Pictures::new(&[request])?;
    maker.engine.set_device(pipeline);
    let rgba = maker.of(frame, &[request])?.pop().unwrap_or_default();
    let block = maker.engine.pipeline().map(Pipeline::filtered_planes).transpose()?.flatten();
    let Some((layout, block)) = filtered.zip(block) else { return Ok(rgba) };
    let want = color_trial::expected(&layout, &block, &Correction::NEUTRAL)?;
    Ok(check::differing(cl, &layout, &rgba, &want).map_or(rgba, |differs| {
        eprintln!("clreel: {differs}");
        want
    }))
}
