//! `clreel snapshot`: one filtered frame as a PNG, turned as the window shows it. Needs no display. A conversion on a device
//! is compared with the right one before anything is written.

use ffmpeg_next::frame::Video;

use crate::cli::{SnapshotArgs, exit, working_devices};
use crate::color::Layout;
use crate::color::RgbaConverter;
use crate::color::kernels::{Converted, Converter, convert_once};
use crate::color::planes::pack;
use crate::error::Result;
use crate::gpu::cl::{ClContext, select_device};
use crate::gpu::program::any_changed;
use crate::ladder::BackEnd;
use crate::ladders::box_filter::VariantId;
use crate::ladders::box_filter::glsl::Offscreen;
use crate::ladders::box_filter::trial::{Case, Launch, Trials, Tried};
use crate::ladders::box_filter::{BuiltVariant, filter_once, native, planar};
use crate::media::read_frame_at;
use crate::memory::{picture_memory, zeroed};
use crate::save;

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
    fn planar(&mut self, cl: &ClContext, frame: &Video, radius: u32) -> Result<Option<Vec<u8>>> {
        let Some((layout, block)) = packed(frame)? else { return Ok(None) };
        let tried =
            self.0.planar(cl, &layout, false, &case(&block, (layout.width, layout.height), radius))?;
        // Where only conversions are changed they did no harm there, and here they are compared with the right ones.
        Ok(picture("planar", tried.filter(|_| any_changed("box_filter/"))))
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
    let (frame, warning) = read_frame_at(&args.file, args.at, args.references.get())?;
    if let Some(warning) = warning {
        eprintln!("clreel: {warning}");
    }
    let (width, height) = (frame.width(), frame.height());
    let mut rgba = picture_memory(width, height)?;
    let device = args.filter.device.as_deref();
    let mut trials = InChild(Trials::new(args.trial.limit()));
    let (variant, radius) = (args.filter.variant, args.filter.radius);
    if variant.back_end().does_without_opencl() || variant == VariantId::Off && device.is_none() {
        // As in the window, what does without OpenCL has its pictures from the processor.
        RgbaConverter::new().convert(&frame.picture, &mut rgba)?;
        rgba = match variant.back_end() {
            BackEnd::Native => native::filter_once(&rgba, width, height, radius)?,
            BackEnd::Glsl => {
                let offscreen = Offscreen::new(width, height)?;
                offscreen.load(&rgba);
                offscreen.run(radius)?;
                offscreen.read()?
            }
            BackEnd::Nothing | BackEnd::OpenCl => rgba,
        };
    } else if variant == VariantId::Planar {
        let cl = ClContext::new(&select_device(&working_devices(), device)?)?;
        if let Some(tried) = trials.planar(&cl, &frame.picture, radius)? {
            rgba = tried;
        } else if let Some(differs) = planar::filter_frame(&cl, &frame.picture, radius, &mut rgba)? {
            eprintln!("clreel: {differs}");
        }
    } else {
        let cl = ClContext::new(&select_device(&working_devices(), device)?)?;
        // The window converts in the same two ways: by a kernel on graphics cards, else on the processor.
        let on_device = !cl.is_cpu() && trials.lets_convert(&cl, &frame.picture);
        let converted = match on_device {
            false => Converted::Not,
            true => convert_once(&cl, &frame.picture, &mut rgba)?,
        };
        match converted {
            Converted::Not => RgbaConverter::new().convert(&frame.picture, &mut rgba)?,
            Converted::Right => {}
            Converted::Instead(differs) => eprintln!("clreel: {differs}"),
        }
        if variant != VariantId::Off {
            rgba = match trials.variant(&cl, variant, &rgba, (width, height), radius)? {
                Some(tried) => tried,
                None => {
                    let variant = BuiltVariant::build(&cl, variant)?;
                    filter_once(&cl, &variant, &rgba, width, height, radius)?
                }
            };
        }
    }
    let ((width, height), rgba) = frame.orientation().turn((width, height), rgba)?;
    save::png(&args.out, width, height, &rgba)?;
    Ok(exit::DONE)
}
