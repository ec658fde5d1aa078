//! `clreel snapshot`: writes one filtered frame as a PNG, rotated as in the window; or two filters side by side, or a map of
//! the differences between them. Needs no display. If the device converts the frame, the result is compared with the reference
//! before the file is written.

use crate::cli::frames::FrameRenderer;
use crate::cli::output::print_line;
use crate::cli::stack::Below;
use crate::cli::{SnapshotArgs, exit, usage, working_devices};
use crate::options::values::WipeSide;
use crate::options::{FilterArgs, SceneId};
use crate::scene::card;
use crate::scene::cloth::picture as cloth;
use base::error::{Error, Result};
use base::memory::{rgba_bytes, zeroed};
use base::save;
use base::stderr::print_message;
use base::verify::MismatchReport;
use box_filter::color_kernels::{Conversion, Converter, check};
use box_filter::color_test_pictures;
use box_filter::trial::{Case, LaunchMode, Source, Target, Trials};
use box_filter::{BuiltVariant, VariantId};
use compute::BackEnd;
use engine::glsl;
use engine::{Comparer, PictureSource, Pipeline};
use opencl::cl::{ClContext, Device, select_device};
use opencl::memory::Storage;
use opencl::sources::Sources;
use opencl::watch;
use stats::{Request, Sharing};
use video::color::{Correction, Layout, unpremultiply};
use video::{Frame, bundled_clip, read_frame_at};

/// Filters a picture in the sandbox with the modified kernels of a variant: the RGBA bytes `src` of each frame that the variant
/// reads, or their planes with this layout. Returns the output, RGBA pixels or planes, even if it is wrong, since the author of the
/// kernels wants to see it, and prints on stderr how it differs from the reference. Returns `None` if the variant's kernels are not
/// modified.
fn filter_in_sandbox(
    trials: &mut Trials,
    cl: &ClContext,
    request: &Request,
    layout: Option<Layout>,
    (src, size): (&[u8], (u32, u32)),
) -> Result<Option<Vec<u8>>> {
    let Request { variant: id, settings, .. } = *request;
    let case = Case { src: Source::Bytes(src), size, settings, launch: LaunchMode::Whole };
    let trial =
        trials.run(cl, Target::Variant { id, layout, to_image: false, has_defaults: false }, &case)?;
    let Some(trial) = trial else { return Ok(None) };
    if let Some(report) = &trial.report {
        print_message(difference_text(id, report));
    }
    Ok(trial.picture)
}

/// Returns the sentence about kernels whose output differs from what it is compared with: the reference or, of a folder's variant
/// that is compared with nothing else, its own output over other bytes.
fn difference_text(id: VariantId, report: &MismatchReport) -> String {
    match id.opened() {
        None => format!("The modified kernels of '{id}' differ from the reference: {report}."),
        Some(filter) if filter.reference_or_only() == Some(id) => format!(
            "'{id}' does not write the same picture twice: {report}. A kernel must write each pixel, and read nothing that is \
             not written before."
        ),
        Some(_) => format!("The kernels of '{id}' differ from the reference of the filter: {report}."),
    }
}

/// Returns true if this process may convert a block of planes with this layout on the device: the conversions are not modified, or they
/// neither crash nor hang in the sandbox. Otherwise prints the reason on stderr and returns false.
fn allows_conversion(trials: &mut Trials, cl: &ClContext, layout: Layout, block: &[u8]) -> bool {
    let size = (layout.width, layout.height);
    let case = Case { src: Source::Bytes(block), size, settings: 0.into(), launch: LaunchMode::Whole };
    let target = Target::Convert(Conversion { layout, storage: Storage::Buffer });
    trials.run(cl, target, &case).inspect_err(|error| print_message(error)).is_ok()
}

/// Runs `clreel snapshot`: reads the frame shown at `--at`, filters it and writes it to `--out`; returns the exit code.
///
/// # Errors
/// If the file has no decodable frame, the filter cannot run, or the PNG cannot be written.
pub(crate) fn run(args: &SnapshotArgs) -> Result<u8> {
    // The filter of each side gets the frames before this one that it reads.
    let below = Below::read(args.filter.folder.below())?;
    let requests: Vec<Request> = requests(args).into_iter().map(|request| below.add_to(request)).collect();
    let frames = requests.iter().map(Request::frames).max();
    let earlier = frames.unwrap_or(1) - 1;
    let frame = match args.scene {
        SceneId::Movie | SceneId::Cloth => {
            let file = args.file.clone().map_or_else(bundled_clip, Ok)?;
            let (frame, warning) = read_frame_at(&file, args.at, earlier, args.references.policy(&[]))?;
            warning.iter().for_each(print_message);
            frame
        }
        SceneId::Card if args.file.is_some() => usage("snapshot", "--scene card takes no FILE"),
        SceneId::Card => {
            let lines: Vec<String> = requests.iter().map(Request::to_string).collect();
            card::frame_at(args.at, &lines, earlier)?
        }
    };
    let mut image = filtered_image(args, frame, (&requests, &below))?;
    if args.scene == SceneId::Cloth {
        image = cloth_image(args, &image)?;
    }
    let ((width, height), mut rgba) = image;
    unpremultiply(&mut rgba);
    save::png(&args.out, width, height, &rgba)?;
    Ok(exit::DONE)
}

/// Draws a figure with this image on its shirt. The cloth is simulated on the device, or in Rust on the CPU if there is no
/// device.
fn cloth_image(args: &SnapshotArgs, (size, rgba): &Image) -> Result<Image> {
    let devices = working_devices();
    let device = match (&args.filter.device, devices.is_empty()) {
        (None, true) => None,
        (selected, _) => Some(select_device(&devices, selected.as_deref())?),
    };
    let headless = glsl::headless()?;
    let _watched =
        device.as_ref().map(|device| watch::on_device(&device.info.name, "the cloth is simulated"));
    let cl = match device.as_ref().map(context).transpose() {
        // Without `--device`, the cloth is simulated on the CPU if the device cannot be used.
        Err(error) if args.filter.device.is_none() => {
            print_message(&error);
            None
        }
        made => made?,
    };
    Ok((cloth::SIZE, cloth::draw(&headless.gl, cl.as_ref(), *size, rgba)?))
}

/// Creates a context on the device that caches compiled programs for the next start of clreel.
fn context(device: &Device) -> Result<ClContext> {
    ClContext::new(device, Sources::from_environment()).map(ClContext::with_kept_binaries)
}

/// Returns the request for one filter, or for both sides of a wipe.
fn requests(args: &SnapshotArgs) -> Vec<Request> {
    let FilterArgs { variant, radius, folder, wipe, .. } = &args.filter;
    let side = |(id, own): WipeSide| {
        let settings = folder.settings(id, own.unwrap_or(*radius));
        Request::new(id, settings.unwrap_or_else(|why| usage("snapshot", &why)))
    };
    wipe.map_or_else(|| vec![side((*variant, None))], |sides| sides.map(side).to_vec())
}

/// Filters the frame according to the options: one filter, a wipe, or a map of differences.
fn filtered_image(args: &SnapshotArgs, frame: Frame, (sides, below): (&[Request], &Below)) -> Result<Image> {
    let trials = Trials::new(args.trial.timeouts.kernel_timeout);
    let mut renderer = SnapshotRenderer { args, frame, below, trials, cl: None };
    let mut pictures = renderer.images(sides)?;
    match (pictures.pop(), pictures.pop()) {
        (Some(right), Some(left)) if args.filter.difference => renderer.difference(sides, [left, right]),
        (Some((_, right)), Some((size, mut left))) => {
            // If the width is odd, the middle column is that of the second image.
            let (row, half) = ((size.0 as usize * 4).max(1), size.0 as usize / 2 * 4);
            for (left, right) in left.chunks_exact_mut(row).zip(right.chunks_exact(row)) {
                left[half..].copy_from_slice(&right[half..]);
            }
            Ok((size, left))
        }
        (Some(picture), None) => Ok(picture),
        (None, _) => Err(Error::new("No filter was selected.", "", "Choose a variant.")),
    }
}

/// An image as displayed: width and height in pixels; premultiplied RGBA, 8 bits per channel, rows without padding.
type Image = ((u32, u32), Vec<u8>);

/// A renderer that filters one frame with one or several filters, on the device or on the CPU.
struct SnapshotRenderer<'a> {
    args: &'a SnapshotArgs,
    frame: Frame,
    below: &'a Below,
    /// The sandbox in which modified kernels of the filters run; this process never runs these.
    trials: Trials,
    /// The device's context, created on first use.
    cl: Option<ClContext>,
}

impl SnapshotRenderer<'_> {
    /// Filters the frame once for each of `requests`, and rotates the results as the movie is displayed. Uses the device only
    /// if a request needs it. The frame is uploaded and converted once for all requests, unless one of the requests filters
    /// planes.
    fn images(&mut self, requests: &[Request]) -> Result<Vec<Image>> {
        let is_device_chosen = self.args.filter.device.is_some();
        // As in the window, variants without OpenCL get pictures that the CPU has converted.
        let without_opencl = |request: &Request| {
            let is_off = request.variant == VariantId::OFF && !is_device_chosen && self.below.is_empty();
            is_off || request.variant.back_end().does_without_opencl()
        };
        let reads_planes = |request: &Request| request.variant.reads_planes();
        let at_once = if requests.iter().any(reads_planes) { 1 } else { requests.len().max(1) };
        let size = (self.frame.width(), self.frame.height());
        let mut pictures = Vec::new();
        for requests in requests.chunks(at_once) {
            let filtered = if requests.iter().all(without_opencl) {
                FrameRenderer::new(requests)?.render(&self.frame, requests)?
            } else {
                let cl = self.cl("the frame is filtered")?;
                let _watched = watch::on_device(&cl.device.info.name, "the frame is filtered");
                if self.below.is_empty() {
                    on_device(&cl, &self.frame, requests, &mut self.trials)?
                } else {
                    let frames = requests.iter().map(Request::frames).max().unwrap_or(1);
                    let pictures = self.frame.to_rgba(frames)?;
                    self.below.render(&cl, requests, (pictures, size), &mut self.trials)?
                }
            };
            for rgba in filtered {
                pictures.push(self.frame.orientation().turn(size, rgba)?);
            }
        }
        Ok(pictures)
    }

    /// Returns the map of the differences between two images, and prints a summary of them on stdout.
    fn difference(&mut self, sides: &[Request], [a, b]: [Image; 2]) -> Result<Image> {
        let cl = self.cl("two images are compared")?;
        let _watched = watch::on_device(&cl.device.info.name, "two images are compared");
        let compared =
            Comparer::new(&cl)?.compare([&a.1, &b.1].map(|pixels| PictureSource::OnHost(pixels)), a.0)?;
        let sides: Vec<String> = sides.iter().map(Request::to_string).collect();
        print_line(format_args!("{}: {}", sides.join(" and "), compared.difference))?;
        Ok((a.0, compared.heat))
    }

    /// Returns the device's context, which is created on first use under a watchdog. `what` names the current work in the error
    /// message for a timeout.
    fn cl(&mut self, what: &'static str) -> Result<ClContext> {
        if let Some(cl) = &self.cl {
            return Ok(cl.clone());
        }
        let device = select_device(&working_devices(), self.args.filter.device.as_deref())?;
        let _watched = watch::on_device(&device.info.name, what);
        Ok(self.cl.insert(context(&device)?).clone())
    }
}

/// Releases the device under a watchdog, since a driver may hang while it does so.
impl Drop for SnapshotRenderer<'_> {
    fn drop(&mut self) {
        if let Some(cl) = self.cl.take() {
            let _watched = watch::on_device(&cl.device.info.name, "the device is released");
            drop(cl);
        }
    }
}

/// Filters the frame on a device: modified kernels in the sandbox, all others in this process.
fn on_device(
    cl: &ClContext,
    frame: &Frame,
    requests: &[Request],
    trials: &mut Trials,
) -> Result<Vec<Vec<u8>>> {
    if let [request] = requests
        && request.variant.reads_planes()
    {
        return planar_on_device(cl, frame, *request, trials).map(|picture| vec![picture]);
    }
    let size = (frame.width(), frame.height());
    let frames = requests.iter().map(|request| request.variant.frames()).max().unwrap_or(1);
    let pictures = frame.to_rgba(frames)?;
    let right = &pictures[..rgba_bytes(size)];
    let mut pipeline = Pipeline::new(cl.clone(), &Sharing::copy("there is no window"));
    let (mut sandboxed, mut unmodified) = (Vec::new(), Vec::new());
    for request in requests {
        let variant = request.variant;
        let is_for_device = variant.back_end() == BackEnd::OpenCl;
        let picture = match is_for_device {
            true => {
                let src = &pictures[..rgba_bytes(size) * variant.frames()];
                filter_in_sandbox(trials, cl, request, None, (src, size))?
            }
            false => None,
        };
        if picture.is_none() {
            unmodified.push(*request);
            if is_for_device && !pipeline.variants.has((variant, None)) {
                pipeline.variants.add(BuiltVariant::build(cl, variant)?);
            }
        }
        sandboxed.push(picture);
    }
    let filtered = if unmodified.is_empty() {
        Vec::new()
    } else {
        // As in the window, GPUs convert by a kernel; otherwise the CPU converts.
        let by_kernel = !cl.is_cpu()
            && match Converter::supports(&frame.picture) {
                Some(layout) => allows_conversion(trials, cl, layout, &frame.to_planes(&layout, 1)?),
                None => true,
            };
        in_process(frame, &unmodified, pipeline, by_kernel.then_some(right))?
    };
    let mut filtered = filtered.into_iter();
    Ok(sandboxed.into_iter().filter_map(|picture| picture.or_else(|| filtered.next())).collect())
}

/// Filters the frame in this process with the built-in kernels of `pipeline`. `right` is the frame as the reference converts it
/// to RGBA; if it is `None`, the CPU converts the frame. Otherwise the device converts it; if its result differs from `right`,
/// the difference is printed on stderr and the CPU converts instead.
fn in_process(
    frame: &Frame,
    requests: &[Request],
    mut pipeline: Pipeline,
    right: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>> {
    let cl = pipeline.cl.clone();
    let layout = Converter::supports(&frame.picture);
    let conversion = layout.map(|layout| Conversion { layout, storage: Storage::Buffer });
    let to_convert = conversion.zip(right);
    if let Some((conversion, _)) = to_convert {
        pipeline.conversions.build(conversion)?;
    }
    let mut renderer = FrameRenderer::new(requests)?;
    renderer.engine.set_device(pipeline);
    let pictures = renderer.render(frame, requests)?;
    let converted = match (requests, &pictures[..]) {
        ([request], [picture]) if request.variant == VariantId::OFF => Some(picture.clone()),
        _ => renderer.engine.pipeline().map(Pipeline::read_converted).transpose()?.flatten(),
    };
    let Some(((conversion, right), converted)) = to_convert.zip(converted) else { return Ok(pictures) };
    let differs = check::compare_converted(&cl, &conversion, &converted, right);
    let Some(differs) = differs else { return Ok(pictures) };
    print_message(&differs);
    if let Some(pipeline) = renderer.engine.pipeline_mut() {
        pipeline.conversions.refuse(conversion);
    }
    renderer.render(frame, requests)
}

/// Filters the frame's planes on a device. The conversion of the filtered planes to RGBA is compared with the reference; if it
/// differs, the reference's picture is returned.
fn planar_on_device(cl: &ClContext, frame: &Frame, request: Request, trials: &mut Trials) -> Result<Vec<u8>> {
    let (layout, id) = (Converter::supports(&frame.picture), request.variant);
    let output = layout.and_then(|layout| id.output_layout(layout));
    if let Some(layout) = layout {
        let (blocks, size) = (frame.to_planes(&layout, id.frames())?, (layout.width, layout.height));
        if let Some(filtered) = filter_in_sandbox(trials, cl, &request, Some(layout), (&blocks, size))? {
            let to_rgba = |output| color_test_pictures::expected(&output, &filtered, &Correction::NEUTRAL);
            return output.map_or_else(|| Ok(filtered.clone()), to_rgba);
        }
    }
    let mut pipeline = Pipeline::new(cl.clone(), &Sharing::copy("there is no window"));
    pipeline.variants.add(BuiltVariant::build(cl, id)?);
    let converted = output.map(|layout| Conversion { layout, storage: Storage::Buffer });
    if let Some(converted) = converted {
        // A conversion that crashes or hangs must not do so here.
        if !allows_conversion(trials, cl, converted.layout, &zeroed(converted.layout.bytes())?) {
            let why = "The edited kernels of the conversion failed in the sandbox.";
            return Err(Error::new(format!("'{id}' cannot filter this frame."), why, "Correct them."));
        }
        pipeline.conversions.build(converted)?;
    }
    let mut renderer = FrameRenderer::new(&[request])?;
    renderer.engine.set_device(pipeline);
    let rgba = renderer.render(frame, &[request])?.pop().unwrap_or_default();
    let block = renderer.engine.pipeline().map(Pipeline::read_filtered_planes).transpose()?.flatten();
    let Some((filtered, block)) = converted.zip(block) else { return Ok(rgba) };
    let want = color_test_pictures::expected(&filtered.layout, &block, &Correction::NEUTRAL)?;
    Ok(check::compare_converted(cl, &filtered, &rgba, &want).map_or(rgba, |differs| {
        print_message(&differs);
        want
    }))
}
