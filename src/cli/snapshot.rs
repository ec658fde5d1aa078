//! `clreel snapshot`: one filtered frame as a PNG, turned as the window shows it. Needs no display. A conversion on a device
//! is compared with the right one before anything is written.

use crate::cli::{SnapshotArgs, exit, working_devices};
use crate::error::Result;
use crate::gpu::cl::{ClContext, select_device};
use crate::gpu::convert::{Converted, convert_once};
use crate::ladder::box_filter::glsl::Offscreen;
use crate::ladder::box_filter::{BuiltVariant, filter_once, native, planar};
use crate::ladder::{Kind, VariantId};
use crate::media::memory::picture_memory;
use crate::media::{RgbaConverter, read_frame_at};
use crate::save;

/// Reads the frame shown at `--at`, filters it and writes it to `--out`; returns the exit code.
///
/// # Errors
/// When the file gives no frame, the filter cannot run, or the PNG cannot be written.
pub fn run(args: &SnapshotArgs) -> Result<u8> {
    let (frame, warning) = read_frame_at(&args.file, args.at, args.references.get())?;
    if let Some(warning) = warning {
        eprintln!("clreel: {warning}");
    }
    let (width, height) = (frame.width(), frame.height());
    let mut rgba = picture_memory(width, height)?;
    let device = args.filter.device.as_deref();
    let (variant, radius) = (args.filter.variant, args.filter.radius);
    if variant.kind().is_peer() || variant == VariantId::Off && device.is_none() {
        // As in the window, what does without OpenCL has its pictures from the processor.
        RgbaConverter::new().convert(&frame.picture, &mut rgba)?;
        rgba = match variant.kind() {
            Kind::Native => native::filter_once(&rgba, width, height, radius)?,
            Kind::Glsl => {
                let offscreen = Offscreen::new(width, height)?;
                offscreen.load(&rgba);
                offscreen.run(radius)?;
                offscreen.read()?
            }
            Kind::Nothing | Kind::OpenCl => rgba,
        };
    } else if variant == VariantId::Planar {
        let cl = ClContext::new(&select_device(&working_devices(), device)?)?;
        if let Some(differs) = planar::filter_frame(&cl, &frame.picture, radius, &mut rgba)? {
            eprintln!("clreel: {differs}");
        }
    } else {
        let cl = ClContext::new(&select_device(&working_devices(), device)?)?;
        // The window converts in the same two ways: by a kernel on graphics cards, else on the processor.
        let converted = match cl.is_cpu() {
            true => Converted::Not,
            false => convert_once(&cl, &frame.picture, &mut rgba)?,
        };
        match converted {
            Converted::Not => RgbaConverter::new().convert(&frame.picture, &mut rgba)?,
            Converted::Right => {}
            Converted::Instead(differs) => eprintln!("clreel: {differs}"),
        }
        if variant != VariantId::Off {
            let variant = BuiltVariant::build(&cl, variant)?;
            rgba = filter_once(&cl, &variant, &rgba, width, height, radius)?;
        }
    }
    let ((width, height), rgba) = frame.orientation().turn((width, height), rgba)?;
    save::png(&args.out, width, height, &rgba)?;
    Ok(exit::DONE)
}
