//! The longer hover texts of the overlay, which define the displayed numbers.

use std::sync::LazyLock;

use base::device::{ClockSnapshot, DeviceInfo};
use base::timing::Noise;
use box_filter::{Settings, VariantId, join_ids};
use compute::BackEnd;
use stats::{AutoChoice, Sharing, Stage, Summary};

use crate::device_name;
use crate::prelude::*;

/// Returns the hover text of a stage: its definition, and the times `parallel` of its work elsewhere, if they are known: on the
/// decoder's thread for the upload, on OpenGL's device for other stages.
pub(crate) fn stage_text(stage: Stage, parallel: Option<Summary>) -> String {
    let place = match stage {
        Stage::Upload => "Packing the planes on the decoder's thread",
        _ => "On OpenGL's device, in addition to the calls",
    };
    let parallel = parallel.map_or(String::new(), |s| {
        format!("\n{place}: p50 {} ms, p95 {} ms.", theme::ms(s.p50), theme::ms(s.p95))
    });
    let definition = match stage {
        Stage::Take => {
            "Take the newest due frame from the decoder's queue.\n\
             Excludes decoding, which runs on its own threads."
        }
        Stage::Upload => {
            "Make the frame available to the kernels.\n\
             GPU: write the planes from pinned memory to the device (device time). The decoder's thread packs them; the \
             first ones after a change are packed by the window's thread, which is included. Same with and without shared \
             textures.\n\
             CPU device: pass the memory to OpenCL without a copy; planar copies the planes.\n\
             Excludes decoding."
        }
        Stage::Acquire => {
            "Hand the texture from OpenGL to OpenCL.\n\
             Shared textures: the call, including the wait for OpenGL, and the command on the device.\n\
             Copied frames: wait until OpenGL has read the previous picture from the slot's pixel buffer, mostly zero.\n\
             Excludes the drawing that used the texture before."
        }
        Stage::Convert => {
            "Convert the movie's YUV to RGBA.\n\
             GPU: one kernel (device time), which also corrects the colours.\n\
             CPU device, or no device: on the window's thread, with the same result; for planar a kernel.\n\
             Excludes the upload."
        }
        Stage::Correct => {
            "Correct brightness, contrast, saturation and gamma (device time; without OpenCL, time on the window's thread).\n\
             Zero if colour correction is off, or done by the kernel of convert."
        }
        Stage::Filter => {
            "The kernels of the selected variant (device time).\n\
             Excludes waiting in the queue, and all transfers."
        }
        Stage::Stack => {
            "The other filters of the stack, and copies between their kinds of memory (device time).\n\
             Zero without a stack."
        }
        Stage::Reduce => {
            "Measure the luminance of the filtered picture on the device: minimum, mean, maximum, blocks, histogram, \
             waveform.\n\
             Device time of the kernels, of the copy if the picture is not in a buffer, and of the transfer of the results.\n\
             Zero if scopes, heat map and auto-levels are off."
        }
        Stage::Levels => {
            "Auto-levels: stretch the filtered picture to the full range, by its histogram (device time).\n\
             Zero if auto-levels are off."
        }
        Stage::Release => {
            "Bring the result to OpenGL.\n\
             Shared textures: release the texture, after a copy into it for variants that write buffers (device time). \
             Nothing returns to the host.\n\
             Copied frames: read the picture back (map it on a CPU device), then call glTexSubImage2D.\n\
             Excludes drawing."
        }
        Stage::Wipe => {
            "The right side of a wipe (w): everything for its picture, including upload and conversion.\n\
             Zero without a wipe. The other stages are of the left side."
        }
        Stage::Difference => {
            "Compare both sides of a wipe (D): two kernels (device time).\n\
             Zero without the difference map. Excludes bringing the map to OpenGL."
        }
        Stage::Present => {
            "Issue the OpenGL calls that draw the picture.\n\
             Excludes work that OpenGL does after the calls return."
        }
        Stage::Overlay => {
            "Lay out this overlay and issue the OpenGL calls that draw it.\n\
             Excludes work that OpenGL does after the calls return."
        }
        Stage::Swap => {
            "Swap the window's buffers.\n\
             Includes the wait for the display's refresh and, with a software renderer, the drawing."
        }
        Stage::Collect => {
            "Read the times of finished commands.\n\
             Excludes the commands."
        }
    };
    format!("{definition}{parallel}")
}

/// Returns a text for a variant that runs this version of edited kernels.
pub(crate) fn edited_text(id: VariantId, version: u64) -> String {
    let idea = if id.opened().is_some() { "before the edit" } else { "of the built-in kernel" };
    format!("Edited: version {version}. The idea is that {idea}.")
}

/// Returns a sentence that names the variant and the parameters that `auto` uses: "For this size and radius, auto uses fused
/// (STRIPS=2)." The variants of a folder depend on the size alone.
pub(crate) fn auto_text(AutoChoice { variant, config }: &AutoChoice) -> String {
    let config = if config.is_empty() { String::new() } else { format!(" ({config})") };
    let place = if variant.opened().is_none() { "size and radius" } else { "size" };
    format!("For this {place}, auto uses {}{config}.", variant.short_name())
}

/// Returns an explanation of how frames get from OpenCL to OpenGL: in shared textures or as copies.
pub(crate) fn sharing_text(sharing: &Sharing) -> String {
    let more = "Click Device for all devices, and which of them share textures.";
    match sharing {
        Sharing::ZeroCopy => {
            format!("OpenCL writes into OpenGL's textures: frames do not return to the host.\n{more}")
        }
        Sharing::Copy { reason } => format!(
            "Filtered frames are copied through host memory into an OpenGL texture.\nReason: {reason}.\n{more}"
        ),
    }
}

/// Returns the hover text that says why a number is noisy.
pub(crate) fn noise_text(noise: &Noise) -> String {
    format!("Noisy, rounded to its significant digits. {noise}")
}

/// The hover text of the idle time.
pub(crate) const IDLE: &str = "The frame time less all stages: waiting for the next frame to be due.\n\
    Zero if stages of consecutive frames overlap.";

/// The hover text of the frame time.
pub(crate) const FRAME: &str = "Frame time: from one presented frame to the next.\n\
    Excludes pauses, seeks and resizes, and repaints without a new frame.";

/// The hover text of the frame rate.
pub(crate) const FRAME_RATE: &str = "Frames per second: 1000 divided by the median frame time of the last five seconds with this \
    variant, settings and size.\nExcludes pauses, seeks and resizes.";

/// The hover text of the bar of one frame in the headline.
pub(crate) const FRAME_BAR: &str = "One frame: the median of each stage, the filter first, against the frame interval of the movie. \
    Stages of consecutive frames can overlap.\n\
    Excludes waiting for the next frame to be due.";

/// The hover text of the filter's time, if it is device time.
pub(crate) const FILTER: &str = "The filter alone: median device time of its kernels in the last five seconds with this variant, \
    settings and size.\nThe frames per second are what the filter could reach without any other stage.";

/// The hover text of the filter's time, if it is wall time.
pub(crate) const FILTER_BY_WALL: &str = "The filter alone: median wall time in the last five seconds with this variant, settings and \
    size; no device time is available for it.\nThe frames per second are what the filter could reach without any other \
    stage.";

/// The hover text of device times while the device's clock was not compared with the host's.
pub(crate) const UNCALIBRATED: &str = "Uncalibrated: the device's clock has not been compared with the host's yet, so the driver's times may be wrong.";

/// The hover text of the text in place of the device's name while devices are searched or initialized.
pub(crate) const AWAITED_DEVICE: &str = "OpenCL devices are being found and initialized in the background. Until then the movie is \
    shown unfiltered.\nClick to list the devices.";

/// The hover text of the text in place of the device's name if there is no device.
pub(crate) static NO_DEVICE: LazyLock<String> = LazyLock::new(|| {
    let variants = VariantId::all().filter(|id| id.back_end() != BackEnd::OpenCl);
    format!(
        "Without an OpenCL device, only {} are available.\nClick to list the devices.",
        join_ids(variants, "and")
    )
});

/// Returns the hover text with the device's properties as the driver reports them.
pub(crate) fn device_text(device: &DeviceInfo) -> String {
    let DeviceInfo { name, platform, driver, version, .. } = device;
    let kind = device_name::kind_and_units(device);
    format!("{name}\n{kind}\n{platform} {driver}\n{version}\nClick to list all devices.")
}

/// The hover text of the table of stages.
pub(crate) const STAGES_TABLE: &str = "Milliseconds of each stage over the last five seconds with this variant, settings and size.\n\
    last: newest frame. p50: median. p95: 95th percentile. max: slowest frame.\n\
    ~ noisy (few frames, varying times, or other processes busy), rounded to its significant digits.";

/// The hover text of the counts of presented, late and dropped frames.
pub(crate) const FRAME_COUNTS: &str = "Presented: movie frames that reached the window.\n\
    Late: shown more than half a frame interval after they were due.\n\
    Dropped: decoded but not shown, because the next one was due.";

/// The definition of the speed of the device's clock, for the hover text.
const CLOCK_SPEED: &str = "Speed of the device's clock, read once a second, and its limit.\n\
    Times that were measured at different speeds are not comparable.";

/// Returns the hover text that defines the CPU loads, on a machine with this number of cores (0 if unknown).
pub(crate) fn cpu_text(cores: usize) -> String {
    let all = match cores {
        0 => "all its cores".to_owned(),
        1 => "its one core".to_owned(),
        n => format!("all its {n} cores"),
    };
    format!(
        "CPU load of this process in percent of one core (may exceed 100), and of the machine in percent of {all}.\n\
         Averaged over at least half a second."
    )
}

/// Returns the text of the speed of the device's clock, and its hover text.
pub(crate) fn clock_speed_texts(speed: Option<&Result<ClockSnapshot, String>>) -> (String, String) {
    let snapshot = match speed {
        Some(Ok(snapshot)) => snapshot,
        Some(Err(why)) => return (theme::UNKNOWN.into(), format!("{CLOCK_SPEED}\nIt cannot be read. {why}")),
        None => return (theme::UNKNOWN.into(), CLOCK_SPEED.to_owned()),
    };
    let ClockSnapshot { reading, limit_mhz, governor } = snapshot;
    let limit = limit_mhz.map(|mhz| format!(" of {}", theme::thousands(mhz))).unwrap_or_default();
    let (speed, throttle) = match reading {
        Some(reading) => (theme::thousands(reading.mhz), reading.throttle.join(", ")),
        None => (theme::UNKNOWN.into(), String::new()),
    };
    let mut text = format!("{speed}{limit} MHz");
    let mut hover = CLOCK_SPEED.to_owned();
    if !throttle.is_empty() {
        text.push_str(", slowed down");
        hover.push_str(&format!("\nSlowed down: {throttle}."));
    }
    if let Some(governor) = governor {
        hover.push_str(&format!("\nGovernor: {governor}."));
    }
    (text, hover)
}

/// The hover text of the movie's codec and pixel format.
pub(crate) const FORMAT: &str = "Codec and pixel format (FFmpeg's names), YUV matrix, and range (full or limited).\n\
    As of the first picture; values that the file does not specify are derived from the picture's size.";

/// The hover text of a property of the movie's file that clreel does not support.
pub(crate) const UNSUPPORTED_PROPERTY: &str =
    "The file requests this, and clreel does not support it: the picture does not look as intended.";

/// The hover text of the line about packets that the container marks as damaged.
pub(crate) const FLAGGED_PACKETS: &str =
    "The file or its format marks them, as where recordings were joined. The decoder found no error in them.";

/// The hover text of the time between repaints.
pub(crate) const REPAINT: &str = "Time between repaints of the window, with or without a new frame: \
    median and 95th percentile.\nA slow variant does not slow repaints down.";

/// The hover text of the radius.
pub(crate) const RADIUS: &str = "Radius of the box in pixels (-, =)";

/// Returns a sentence on the effect of the filter to which a variant belongs: for the box filter, the pixels whose mean it
/// computes at its radius.
pub(crate) fn filter_text(variant: VariantId, settings: Settings) -> String {
    if let Some(filter) = variant.opened() {
        return filter.description.sentence.clone();
    }
    let side = 2 * u64::from(settings.first()) + 1;
    format!("Each pixel is the mean of {side} \u{d7} {side} = {} pixels.", side * side)
}
