//! The overlay's longer sentences: what a number is, and what it leaves out.

use std::fmt;
use std::sync::LazyLock;

use super::theme;
use base::timing::Noise;
use box_filter::{VariantId, listed};
use engine::stats::{Stage, Summary};
use ladder::BackEnd;
use opencl::cl::{DeviceInfo, DeviceKind};
use video::Fields;

/// Why what is measured in spare time waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// There is no spare time while the movie plays, whatever the device is.
    Plays,
    /// The same, with frames as fast as they come.
    Unpaced,
    /// The movie needs the processor that is the device.
    Cpu,
    /// Frames are late.
    Late,
    /// They are in time, and there is little left.
    NoTime,
    /// The filter is slow, while the movie plays.
    Slow,
    /// The filter is still at work, though the movie stands.
    Filter,
    /// The Lab measures, which it does in a pause.
    Lab,
    /// The device's conversions are checked.
    Check,
}

impl Wait {
    /// Whether it ends as soon as the movie stands.
    pub fn ends_in_a_pause(self) -> bool {
        !matches!(self, Wait::Filter | Wait::Lab | Wait::Check)
    }

    /// What ends it, as a sentence.
    pub(super) fn end(self) -> &'static str {
        if self.ends_in_a_pause() { "A pause lets it go on: Space." } else { "It goes on after that." }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wait::Plays => "the movie plays",
            Wait::Unpaced => "the movie plays as fast as it can",
            Wait::Cpu => "the movie needs the CPU",
            Wait::Late => "frames are late",
            Wait::NoTime => "frames leave no time to spare",
            Wait::Slow => "the filter is slow",
            Wait::Filter => "the filter is at work",
            Wait::Lab => "the Lab measures",
            Wait::Check => "conversions are checked",
        })
    }
}

/// What a stage is and what its number leaves out; and what it took elsewhere, where that is known: an upload the decoder's
/// thread, the others OpenGL's device.
pub(crate) fn stage(stage: Stage, beside: Option<Summary>) -> String {
    let elsewhere = match stage {
        Stage::Upload => "On the decoder's thread, packing the planes",
        _ => "On OpenGL's device, beside the calls",
    };
    let beside = beside.map_or(String::new(), |s| {
        format!("\n{elsewhere}: p50 {} ms, p95 {} ms.", theme::ms(s.p50), theme::ms(s.p95))
    });
    format!("{}{beside}", about(stage))
}

fn about(stage: Stage) -> &'static str {
    match stage {
        Stage::Take => {
            "Take the newest due frame from the decoder's queue.\n\
             Leaves out decoding itself: that runs on threads of its own."
        }
        Stage::Upload => {
            "Bring the frame to where the kernels read it.\n\
             A graphics card: the planes written to the card from pinned memory (start to end of the command), where the \
             decoder's thread has packed them; the first ones after a change are packed by the window's thread, and this is \
             in the number. The same whether textures are shared or not.\n\
             A CPU device: handing the memory over; nothing is copied, but the planes for planar are.\n\
             Leaves out decoding."
        }
        Stage::Acquire => {
            "Hand the texture from OpenGL to OpenCL.\n\
             Shared: the call, with the wait for OpenGL that it needs, and the command on the device.\n\
             Copied: the wait until OpenGL has fetched the picture before from the slot's pixel buffer, mostly zero.\n\
             Leaves out the drawing that used the texture before."
        }
        Stage::Convert => {
            "Turn the movie's YUV into RGBA.\n\
             A graphics card: one kernel, start to end, which corrects the colours in the same pass; shared or copied \
             alike.\n\
             A CPU device, or none: on the window's thread, with the same result; for planar a kernel there too.\n\
             Leaves out upload."
        }
        Stage::Correct => {
            "Correct brightness, contrast, saturation and gamma: the kernel, from start to end of its event.\n\
             Zero where it is switched off, and where the conversion's kernel does it (see convert). Without \
             OpenCL the time on the window's thread."
        }
        Stage::Filter => {
            "The chosen variant's kernels on the device, from start to end of their events.\n\
             Leaves out the time that they waited in the queue, and all transfers."
        }
        Stage::Reduce => {
            "Measure the filtered picture's luminance on the device: minimum, mean, maximum, blocks, histogram, waveform.\n\
             Zero while scopes, heat map and auto-levels are off.\n\
             Its kernels from start to end, with the copy of a picture that is no buffer, and the numbers on their way to \
             the host."
        }
        Stage::Levels => {
            "Stretch the filtered picture between the ends of its own histogram: the kernels, from start to end.\n\
             Zero while auto-levels are off."
        }
        Stage::Release => {
            "Bring the result to OpenGL.\n\
             Shared: hand the texture back on the device, after the copy into it by variants that write buffers; \
             nothing returns to the host.\n\
             Copied: read the picture back (on a CPU device only map it), then the call of glTexSubImage2D.\n\
             Leaves out drawing it."
        }
        Stage::Wipe => {
            "The other side of a wipe (w): all that its picture took, but the upload and conversion that both share.\n\
             Zero without a wipe. The stages above are those of the left side alone."
        }
        Stage::Difference => {
            "Compare the two sides of a wipe (D): both kernels, from start to end of their events.\n\
             Zero without the map. Leaves out bringing the map to OpenGL."
        }
        Stage::Present => {
            "Issue the drawing of the picture.\n\
             Leaves out what OpenGL does after the call has returned."
        }
        Stage::Overlay => {
            "Lay out and draw this overlay.\n\
             Leaves out what OpenGL does after the call has returned."
        }
        Stage::Swap => {
            "Swap the window's buffers.\n\
             Where the display sets the pace, this includes the wait for it; \
             with a software renderer, the drawing of all that it did not copy."
        }
        Stage::Collect => {
            "Read the times of finished commands.\n\
             Leaves out the commands themselves."
        }
    }
}

/// What the way of the frames to OpenGL means, with the reason in full.
pub(crate) fn sharing(way: &str, reason: &str) -> String {
    let means = match way {
        "zero-copy" => "OpenCL writes into OpenGL's textures: no pixel of a frame returns to the host.",
        _ => "Each filtered frame goes through the host's memory into OpenGL's texture.",
    };
    let because = if reason.is_empty() { String::new() } else { format!("\nBecause: {reason}.") };
    format!("{means}{because}\nA click on Device lists all devices, and which of them share.")
}

/// Why a number has a mark and few digits.
pub(crate) fn noisy(noise: &Noise) -> String {
    format!("Noisy, so its last digits are left out. {noise}")
}

pub(crate) const IDLE: &str = "What the stages leave of the frame time: waiting for the next frame to be due.\n\
    Stages of neighbouring frames can overlap; then it is zero.";

pub(crate) const FRAME: &str = "Frame time: from one presented frame to the next.\n\
    Leaves out pauses, seeks and resizes. Repaints of the overlay alone do not count.";

pub(crate) const FRAME_RATE: &str = "Frames a second: 1000 divided by the median frame time of the last five seconds with this \
    variant, radius and size.\nLeaves out pauses, seeks and resizes.";

pub(crate) const FRAME_BAR: &str = "One frame: the medians of its stages, one after the other, against the time that a frame of \
    this movie has. The filter comes first, in its colour; stages of neighbouring frames can overlap.\n\
    Leaves out waiting for the next frame to be due.";

pub(crate) const FILTER: &str = "The filter alone: the median of the last five seconds with this variant, radius and size, from \
    start to end of its kernels.\nThe frames a second that go with it are what the filter could do if there were nothing \
    else.";

pub(crate) const FILTER_BY_WALL: &str = "The filter alone: the median of the last five seconds with this variant, radius and size, by \
    the wall clock, from its begin until its end was noticed: no device tells what this one takes.\nThe frames a second that \
    go with it are what the filter could do if there were nothing else.";

pub(crate) const AWAITED_DEVICE: &str = "OpenCL devices are looked for and made ready in the background. The movie is shown \
    unfiltered until then.\nA click lists what was found.";

pub(crate) static NO_DEVICE: LazyLock<String> = LazyLock::new(|| {
    let rungs = VariantId::ALL.into_iter().filter(|id| id.back_end() != BackEnd::OpenCl);
    format!("Without an OpenCL device, {} work.\nA click lists what was found.", listed(rungs, "and"))
});

/// The device in its driver's own words.
pub(crate) fn device(device: &DeviceInfo) -> String {
    let kind = match device.kind {
        DeviceKind::Cpu => "CPU",
        DeviceKind::Gpu => "GPU",
        DeviceKind::Accelerator => "Accelerator",
    };
    let units = if device.units > 0 { format!(", {} compute units", device.units) } else { String::new() };
    let clock = if device.clock_mhz > 0 { format!(" at {} MHz", device.clock_mhz) } else { String::new() };
    format!(
        "{}\n{kind}{units}{clock}\n{} {}\n{}\nA click lists all devices.",
        device.name, device.platform, device.driver, device.version
    )
}

pub(crate) const TABLE: &str = "Milliseconds of each stage over the last five seconds with this variant, radius and size.\n\
    last: the newest frame. p50: the median. p95: 95 of 100 frames take no longer. max: the slowest.\n\
    ~ is noisy: few frames, far apart, or other processes were busy; only the digits that can be believed are shown.";

pub(crate) const COUNTS: &str = "Presented: movie frames that reached the window.\n\
    Late: shown more than half a frame interval after their time.\n\
    Dropped: decoded, then left out because the next one was due.";

/// What the CPU loads are, on a machine with so many cores; 0 when unknown.
pub(crate) fn cpu(cores: usize) -> String {
    let all = match cores {
        0 => "all its cores".to_owned(),
        1 => "its one core".to_owned(),
        n => format!("all its {n} cores"),
    };
    format!(
        "This process in percent of one core, so it may pass 100, and the whole machine in percent of {all}.\n\
         Both over the last half second or more."
    )
}

/// What the picture's line and its hover text add for an interlaced movie.
pub(crate) fn fields(fields: Fields) -> (&'static str, &'static str) {
    match fields {
        Fields::Progressive => ("", ""),
        Fields::TopFirst => (
            ", interlaced",
            "\nInterlaced, top field first: the even rows were taken before the odd ones.\n\
             Pictures are shown as stored, both fields woven.",
        ),
        Fields::BottomFirst => (
            ", interlaced",
            "\nInterlaced, bottom field first: the odd rows were taken before the even ones.\n\
             Pictures are shown as stored, both fields woven.",
        ),
    }
}

pub(crate) const FORMAT: &str = "Codec and pixel format in FFmpeg's names, then how its numbers become RGBA: the matrix, and \
    whether black and white are at the ends of the range (full) or within it (limited).\nOf the first picture; what the file \
    does not say is taken from the picture's size.";

pub(crate) const REMARK: &str =
    "The file asks for this, and clreel does not do it: the picture does not look as it is meant.";

pub(crate) const REPAINT: &str = "From one repaint of the window to the next, whether or not it showed a new frame: \
    the median and the 95th percentile.\nIt stays short while a slow variant is at work.";

pub(crate) const RADIUS: &str = "Radius of the box in pixels: keys - and =";

/// The side of the box in words.
pub(crate) fn window(radius: u32) -> String {
    let side = 2 * u64::from(radius) + 1;
    format!("Each pixel is the mean of {side} \u{d7} {side} = {} pixels.", side * side)
}
