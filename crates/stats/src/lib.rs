//! Measurements of the running program: requests for frames, stage times, frame intervals, CPU load, and their export.
//!
//! There is one [`FrameSample`] for each presented movie frame. The overlay and `--stats FILE` show them. The crate has no code
//! for devices, so that the overlay does without the engine.

#![warn(missing_docs, unreachable_pub)]
// The docs are for readers of the code: `./dev check` generates them for all items.
#![allow(rustdoc::private_intra_doc_links)]

#[macro_use]
mod named_values;

mod cloth;
mod columns;
mod difference;
mod export;
pub mod playing;
mod readings;
pub mod recorder;
mod request;
pub mod scores;
mod settings;
mod sharing;
mod shown;
mod stack;
pub mod summary;
pub mod timeline;
pub mod trace;
mod variants;

pub use cloth::ClothTimes;
pub use difference::Difference;
pub use export::{ExportContext, ExportedMovie, UsedKernel, export};
pub use playing::{PlayState, Playing};
pub use readings::{BLOCK, COUNTS, LEVELS, Readings, STRIPS, case, ends, stretch};
pub use recorder::Recorder;
pub use request::{KernelsId, Measurements, Request, Stages};
pub use scores::{Score, Scores};
pub use settings::{settings_csv, settings_from_json, settings_json};
pub use sharing::Sharing;
pub use shown::ShownFrames;
pub use stack::{Layer, MAX_OTHERS, Stack};
pub use summary::Summary;
pub use timeline::{Lane, Span, Timeline};
pub use trace::write_trace;
pub use variants::{AutoChoice, Busy, VariantStatus};

use box_filter::{Config, Settings, VariantId};
use compute::work::KernelWork;

named_values! {
    /// A stage of a frame's processing. The stages have the same names in code, overlay, CSV and JSON.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Stage {
        /// Taking the frame from the decoder's queue.
        Take = "take",
        /// Copying the frame's bytes to the device.
        Upload = "upload",
        /// Handing the shared texture to OpenCL.
        Acquire = "acquire",
        /// Converting planes to RGBA.
        Convert = "convert",
        /// Colour correction, if it is switched on.
        Correct = "correct",
        /// The filter of the chosen variant.
        Filter = "filter",
        /// The other filters of a stack, and copies between them.
        Stack = "stack",
        /// Measuring the filtered picture's luminance, if that is switched on.
        Reduce = "reduce",
        /// Auto-levels, if they are switched on.
        Levels = "levels",
        /// Returning the filtered picture to OpenGL.
        Release = "release",
        /// All work for the second side of a wipe, from its upload to its release.
        Wipe = "wipe",
        /// Comparing the two sides of a wipe.
        Difference = "difference",
        /// Drawing the picture.
        Present = "present",
        /// Laying out and drawing the overlay.
        Overlay = "overlay",
        /// Swapping the window's buffers. A software renderer draws during the swap.
        Swap = "swap",
        /// Querying the times of finished commands.
        Collect = "collect",
    }
}

/// The service time of each stage of one frame, in milliseconds, indexed by [`Stage`] as `usize`; NaN for stages that did not
/// run.
pub type StageTimes = [f64; Stage::ALL.len()];

/// The names in CSV and JSON of the device times of OpenGL's commands for a frame: copying the filtered picture into its
/// texture, drawing the picture, and drawing the overlay.
pub const GL_NAMES: [&str; 3] = ["gl_texture", "gl_present", "gl_overlay"];

/// The measurements of one presented movie frame.
#[derive(Debug, Clone)]
pub struct FrameSample {
    /// The frame's timestamp in the movie, in seconds.
    pub pts: f64,
    /// The time at which the frame was presented, in seconds after the presentation of the first frame.
    pub presented_at: f64,
    /// The time since the previous frame was presented, in milliseconds; `None` for the first frame and after a pause, a seek,
    /// a resize, or a stop of the process.
    pub interval_ms: Option<f64>,
    /// The times of the stages, not finite if unknown, and their spans. The recorder keeps the spans only in its history.
    pub stages: Stages,
    /// The device times of OpenGL's commands in milliseconds, in the order of [`GL_NAMES`], measured by timer queries. A time
    /// is `None` without timer queries, and until its result arrives some frames later. The times of the calls on the window's
    /// thread are in the stages.
    pub gl: [Option<f64>; 3],
    /// True if the frame was presented more than half a frame interval after its timestamp.
    pub late: bool,
    /// The number of frames that were decoded but dropped between the previous frame and this one.
    pub dropped_before: u32,
    /// The time by which the frame was presented later than its sound, in milliseconds; `None` if no sound was heard.
    pub sound_lag_ms: Option<f64>,
    /// The conditions under which the frame was filtered.
    pub setting: Setting,
    /// The time of the second side's filter in milliseconds, on the device or, if that is unknown, wall time; `None` without a
    /// wipe.
    pub beside_filter_ms: Option<f64>,
    /// The filter's time in milliseconds if it is in no statistics, because the picture differs from the reference; `None`
    /// otherwise. The [`Recorder`] sets it.
    pub left_out_ms: Option<f64>,
    /// The times of the newest frame of the cloth simulation that was drawn since the previous movie frame; `None` if no frame
    /// of the simulation was drawn since then.
    pub cloth: Option<Box<ClothTimes>>,
    /// The part of the machine's CPU time, 0 to 1, that other processes used lately; `None` if unknown. The [`Recorder`] sets
    /// it.
    pub others: Option<f64>,
    /// True if this program used the device since the previous frame for work other than the movie, such as tuning. The
    /// [`Recorder`] sets it.
    pub beside_work: bool,
}

impl FrameSample {
    /// Returns the time of a stage in milliseconds, for its column in tables; NaN if unknown. For the filter, returns NaN if
    /// only its wall time is known, which has a column of its own.
    pub fn stage(&self, stage: Stage) -> f64 {
        let is_wall = stage == Stage::Filter && self.stages.filter_by_wall;
        if is_wall { f64::NAN } else { self.stages.times[stage as usize] }
    }

    /// Returns the filter's wall time in milliseconds; `None` if the device time is available.
    pub fn filter_wall_ms(&self) -> Option<f64> {
        Some(self.stages.filter_ms()).filter(|ms| self.stages.filter_by_wall && ms.is_finite())
    }

    /// Returns an invented sample for tests: a frame of 1280×720 pixels with these stage times. Its timestamp and its time of
    /// presentation are `at` seconds, and the previous frame was 40 ms earlier.
    #[doc(hidden)]
    pub fn made_up(at: f64, variant: VariantId, times: StageTimes) -> Self {
        Self {
            pts: at,
            presented_at: at,
            interval_ms: Some(40.0),
            stages: Stages { times, ..Stages::default() },
            gl: [None; 3],
            late: false,
            dropped_before: 0,
            sound_lag_ms: None,
            setting: Setting {
                variant,
                settings: 7.into(),
                stack: Stack::default(),
                size: (1280, 720),
                device: 0,
                version: 1,
                beside: None,
                beside_version: None,
            },
            beside_filter_ms: None,
            left_out_ms: None,
            others: None,
            beside_work: false,
            cloth: None,
        }
    }
}

/// The work of the kernels that filtered a frame, in bytes and operations, and the time of each kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterWork {
    /// The variant's kernels with the values of their parameters.
    pub config: Config,
    /// The bytes and operations of each kernel; `None` if they are not known, as for edited kernels.
    pub work: Option<KernelWork>,
    /// The device time of each kernel in milliseconds; NaN if it is not known.
    pub pass_ms: Vec<f64>,
}

/// The conditions under which a frame was filtered. The times of two frames can be compared and averaged if their settings are
/// equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// The variant that filters the frame.
    pub variant: VariantId,
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The other filters of a stack. Their time is in the stage [`Stage::Stack`].
    pub stack: Stack,
    /// The picture's width and height in pixels.
    pub size: (u32, u32),
    /// The number of changes of the OpenCL device before the frame was filtered.
    pub device: u32,
    /// The version number of the variant's edited kernels. Version 1 is the kernels as they were when the window was opened.
    pub version: u64,
    /// The filter of the second side of a wipe; `None` without a wipe. Its time is in the stage [`Stage::Wipe`]. It belongs to
    /// the conditions because a frame that is filtered twice takes longer.
    pub beside: Option<SecondSetting>,
    /// The version number of the kernels on the second side of a wipe; `None` without a wipe.
    pub beside_version: Option<u64>,
}

impl Setting {
    /// Returns true if there was a wipe and the pictures on its two sides were compared with each other.
    pub fn is_compared(&self) -> bool {
        self.beside.is_some_and(|beside| beside.compared)
    }

    /// Returns all filters of the stack as text, the lowest one first, such as "sobel/plain gain = 1 + flat r=7"; `None` if the
    /// chosen one is the only one.
    pub fn stack_text(&self) -> Option<String> {
        let request = Request { stack: self.stack, ..Request::new(self.variant, self.settings) };
        (!self.stack.is_empty()).then(|| request.to_string())
    }

    /// Returns the filter of the wipe's second side as text, such as "flat r=7"; `None` without a wipe.
    pub fn second_side_text(&self) -> Option<String> {
        self.beside.map(|beside| Request::new(beside.variant, beside.settings).to_string())
    }
}

/// The filter of the second side of a wipe, as a part of a frame's [`Setting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondSetting {
    /// The variant that filtered the second side.
    pub variant: VariantId,
    /// The values of the parameters of the second side's filter.
    pub settings: Settings,
    /// True if the pictures on the two sides of the wipe were compared with each other, to show a map of their differences.
    pub compared: bool,
}

#[cfg(test)]
mod tests;
