//! Numbers about the running program: stage times, frame intervals, CPU load, and their export.
//!
//! In: one [`FrameSample`] for each movie frame presented. Out: what the overlay shows and what
//! `--stats FILE` writes.

mod cloth;
mod export;
pub(crate) mod playing;
pub mod recorder;
pub(crate) mod scores;
pub(crate) mod timeline;
pub(crate) mod trace;

pub use cloth::ClothTimes;
pub use export::{ExportContext, export};
pub use playing::{PlayState, Playing};
pub use recorder::{Recorder, Summary};
pub use scores::{Score, Scores};
pub use timeline::{Lane, Span, Timeline};
pub use trace::{TraceContext, write_trace};

use box_filter::VariantId;

/// A stage of a frame's way. The words are the same in code, overlay, CSV and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Taking the frame from the decoder's queue.
    Take,
    /// The frame's bytes to the device.
    Upload,
    /// Handing the shared texture to OpenCL.
    Acquire,
    /// Planes to RGBA.
    Convert,
    /// Colour correction, where it is switched on.
    Correct,
    /// The chosen variant.
    Filter,
    /// Measuring the filtered picture's luminance, where that is switched on.
    Reduce,
    /// Auto-levels, where they are switched on.
    Levels,
    /// The result back to OpenGL.
    Release,
    /// All that the other side of a wipe took, from its upload to its release.
    Wipe,
    /// Comparing the two sides.
    Difference,
    /// Drawing the picture.
    Present,
    /// Laying out and drawing the overlay.
    Overlay,
    /// Swapping the buffers; a software OpenGL draws in it.
    Swap,
    /// Asking for the times of finished commands.
    Collect,
}

impl Stage {
    /// All stages in the order in which a frame meets them.
    pub const ALL: [Stage; 15] = [
        Stage::Take,
        Stage::Upload,
        Stage::Acquire,
        Stage::Convert,
        Stage::Correct,
        Stage::Filter,
        Stage::Reduce,
        Stage::Levels,
        Stage::Release,
        Stage::Wipe,
        Stage::Difference,
        Stage::Present,
        Stage::Overlay,
        Stage::Swap,
        Stage::Collect,
    ];

    /// The stage's name in overlay, CSV and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Take => "take",
            Stage::Upload => "upload",
            Stage::Acquire => "acquire",
            Stage::Convert => "convert",
            Stage::Correct => "correct",
            Stage::Filter => "filter",
            Stage::Reduce => "reduce",
            Stage::Levels => "levels",
            Stage::Release => "release",
            Stage::Wipe => "wipe",
            Stage::Difference => "difference",
            Stage::Present => "present",
            Stage::Overlay => "overlay",
            Stage::Swap => "swap",
            Stage::Collect => "collect",
        }
    }
}

/// Service time of each stage of one frame, in milliseconds, indexed by [`Stage`] as `usize`.
pub(crate) type StageTimes = [f64; Stage::ALL.len()];

/// What OpenGL's device spent on a frame, in milliseconds, by timer queries. `None` where OpenGL has none, or their results
/// are not there yet: they come some frames later. The calls that started it are in the stages' times.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GlTimes {
    /// Fetching the filtered picture into its texture, where textures are not shared.
    pub texture: Option<f64>,
    /// Drawing the picture.
    pub present: Option<f64>,
    /// Drawing the overlay.
    pub overlay: Option<f64>,
}

impl GlTimes {
    /// Each time with its name in CSV and JSON.
    pub fn named(&self) -> [(&'static str, Option<f64>); 3] {
        [("gl_texture", self.texture), ("gl_present", self.present), ("gl_overlay", self.overlay)]
    }
}

/// What is recorded about one movie frame when it is presented.
#[derive(Debug, Clone)]
pub struct FrameSample {
    /// Position in the movie, in seconds.
    pub pts: f64,
    /// When it was presented, in seconds since playing began.
    pub presented_at: f64,
    /// Time since the frame before it was presented, in milliseconds; `None` for the first frame and after
    /// a pause, a seek, a resize, or a time in which the process was stopped.
    pub interval_ms: Option<f64>,
    /// Service times of the stages; not finite where the driver does not tell.
    pub stages: StageTimes,
    /// The filter's time is wall time: nothing tells what it took a device.
    pub filter_by_wall: bool,
    /// What packing its planes took the decoder's thread, in milliseconds, where that did it; beside the stages.
    pub pack_ms: Option<f64>,
    /// What it took OpenGL's device.
    pub gl: GlTimes,
    /// Presented more than half a frame interval after its time stamp.
    pub late: bool,
    /// Frames decoded but left out between the frame before and this one.
    pub dropped_before: u32,
    /// The variant that filtered it.
    pub variant: VariantId,
    /// The radius it was filtered with, in pixels.
    pub radius: u32,
    /// The picture's width and height in pixels.
    pub size: (u32, u32),
    /// Counts the changes of the OpenCL device before it was filtered.
    pub device: u32,
    /// The other side of a wipe, where there was one: its time is the stage [`Stage::Wipe`].
    pub beside: Option<Beside>,
    /// Which versions of the kernels made it.
    pub versions: Versions,
    /// What its filter took, in milliseconds, of the device, or by the wall where none tells.
    pub beside_filter_ms: Option<f64>,
    /// What the newest frame of an army took that came into the picture since the movie frame before.
    pub cloth: Option<Box<ClothTimes>>,
    /// The part of the machine that other processes used lately, 0 to 1, where that is known. The [`Recorder`] fills it in.
    pub others: Option<f64>,
}

impl FrameSample {
    /// A stage's time on the clock that its column is of; not finite where it has none.
    pub(crate) fn stage(&self, stage: Stage) -> f64 {
        if stage == Stage::Filter && self.filter_by_wall { f64::NAN } else { self.stages[stage as usize] }
    }

    /// What the filter took by the wall, in milliseconds, where no device tells.
    pub(crate) fn filter_wall_ms(&self) -> Option<f64> {
        Some(self.stages[Stage::Filter as usize]).filter(|ms| self.filter_by_wall && ms.is_finite())
    }

    /// How it was filtered.
    pub fn setting(&self) -> Setting {
        let Self { variant, radius, size, device, beside, versions, .. } = *self;
        Setting { variant, radius, size, device, beside, versions }
    }
}

/// How a frame was filtered. Times of two frames can be compared, and summed up, where this is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The variant.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// The picture's width and height in pixels.
    pub size: (u32, u32),
    /// Counts the changes of the OpenCL device.
    pub device: u32,
    /// The other side of a wipe: a frame that is filtered twice takes longer.
    pub beside: Option<Beside>,
    /// Which versions of the kernels filter on both sides.
    pub versions: Versions,
}

impl Setting {
    /// The other side in words, as in "flat r=7".
    pub(crate) fn beside_words(&self) -> Option<String> {
        let Beside { variant, radius, .. } = self.beside?;
        let variant = self.versions.former.filter(|_| variant == VariantId::Version).unwrap_or(variant);
        Some(match variant {
            VariantId::Off => variant.to_string(),
            _ => format!("{variant} r={radius}"),
        })
    }
}

/// Which versions of kernels that are edited filter: 1 is as they were when the window began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// Of the variant's kernels.
    pub first: u64,
    /// Of those on the other side of a wipe; 1 where there is none.
    pub beside: u64,
    /// What [`VariantId::Version`] on the other side is a version of.
    pub former: Option<VariantId>,
}

impl Default for Versions {
    fn default() -> Self {
        Self { first: 1, beside: 1, former: None }
    }
}

/// How the other side of a wipe was filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// The variant.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// The sides were compared.
    pub compared: bool,
}

#[cfg(test)]
mod tests;
