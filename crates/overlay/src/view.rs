//! What the overlay is told and what it answers: plain data.

use std::borrow::Cow;
use std::path::Path;

use super::{
    Busy, Conversions, DeviceList, Kernels, Lab, Panel, Placed, Races, ScenePanel, Tuning, VariantStatus,
    Wipe,
};
use base::error::Error;
use base::text;
use base::timing::CpuReading;
use box_filter::VariantId;
use engine::Readings;
use engine::stats::{PlayState, Recorder};
use opencl::cl::DeviceInfo;
use video::color::Correction;
use video::{Chapter, Fields, MovieInfo};

/// What the user asked for with the mouse; keys give the same actions.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Filter by this variant from the next frame on.
    SetVariant(VariantId),
    /// Use this radius, in pixels.
    SetRadius(u32),
    /// Go to a time of the movie.
    Seek {
        /// Where to, in seconds.
        to_s: f64,
        /// To that very frame; not so while the seek bar is being dragged.
        exact: bool,
    },
    /// Filter the picture in a second way beside the first, or no longer.
    ToggleWipe,
    /// Exchange the sides of a wipe.
    SwapSides,
    /// Show how the sides of a wipe differ, or no longer.
    ToggleDifference,
    /// Take hold of the picture there: parts of the window's width and height.
    Grab([f32; 2]),
    /// Drag it.
    Drag {
        /// In parts of the window's height: right and down.
        by: [f32; 2],
        /// To where, as in [`Action::Grab`].
        at: [f32; 2],
    },
    /// Let it go.
    LetGo,
    /// Give the window to the next scene.
    NextScene,
    /// Pause, or go on.
    TogglePause,
    /// Fill the screen, or go back to the window.
    ToggleFullscreen,
    /// Ask the user for a movie to open.
    AskForMovie,
    /// Open the movie at this path, as it was typed.
    Open(String),
    /// Complete this path as far as it goes.
    Complete(String),
    /// Hide or show the overlay.
    ToggleOverlay,
    /// Open or close the panel with all keys.
    ToggleKeys,
    /// Put the panels back where they belong.
    ResetPanels,
    /// Correct colours with this.
    SetCorrection(Correction),
    /// Switch colour correction on or off.
    ToggleCorrection,
    /// Lay the heat map of the luminance over the picture, or take it away.
    ToggleHeat,
    /// Switch auto-levels on or off.
    ToggleLevels,
    /// Save the filtered picture as PNG.
    SaveFrame,
    /// Save the window with the overlay as PNG.
    SaveWindow,
    /// Change to the next OpenCL device.
    NextDevice,
    /// Change to this OpenCL device: a position in [`DeviceList::rows`].
    SetDevice(usize),
    /// Open or close a panel.
    Toggle(Panel),
    /// Show the time axis of this frame, counted from the first one presented, until it is let go.
    Freeze(u64),
    /// Make the overlay larger or smaller by this factor; `None`: its own size again.
    Zoom(Option<f32>),
    /// Search for the best parameters now.
    TuneNow,
    /// End the search for the best parameters.
    StopTuning,
    /// Measure a ladder in spare time.
    Measure {
        /// Its name.
        ladder: &'static str,
        /// One of its sizes.
        size: &'static str,
    },
    /// End that.
    StopMeasuring,
    /// Check the device's conversions.
    CheckConversions,
    /// End that.
    StopChecking,
    /// Write all kernels into a folder where they can be edited.
    CopyKernels,
    /// Build the kernels of that folder now.
    RebuildKernels,
    /// Look for races and bad accesses of the chosen variant's kernels, or look no more.
    CheckRaces,
    /// Go back to a version of them.
    UseKernels(u64),
    /// Wipe a version of them against the one that runs.
    WipeKernels(u64),
    /// Save the statistics as CSV and JSON.
    ExportStats,
    /// Take this banner away: a position in [`View::notices`].
    DismissNotice(usize),
    /// Close the window.
    Quit,
}

/// What filtered the picture on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The variant.
    pub variant: VariantId,
    /// Its radius in pixels.
    pub radius: u32,
    /// The picture's width and height in pixels.
    pub size: (u32, u32),
}

/// A variant as the overlay lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantRow<'a> {
    /// The variant.
    pub id: VariantId,
    /// One to three words for the button's hover text.
    pub title: &'a str,
    /// What the variant does differently, in a sentence or two.
    pub idea: &'a str,
    /// Whether it can be chosen now.
    pub status: VariantStatus,
}

/// What the overlay says about the movie.
#[derive(Debug, Clone, PartialEq)]
pub struct MovieSummary {
    /// The file's name without its folder. [`MovieSummary::name`] is how it is shown.
    pub file_name: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// Frames a second by the container, if it says.
    pub fps: Option<f64>,
    /// Codec and pixel format in FFmpeg's names, matrix and range: "hevc, yuv420p10le, BT.2020, limited".
    pub format: String,
    /// What of it is shown otherwise than the file means it, a clause for each.
    pub remarks: Vec<String>,
    /// Where it stands among the movies that are played, from 1, and how many these are; `None` where it is alone.
    pub in_list: Option<(usize, usize)>,
    /// Whether the movie is interlaced.
    pub fields: Fields,
    /// Position of the frame on the screen, in seconds.
    pub position_s: f64,
    /// Length in seconds, if it is known.
    pub duration_s: Option<f64>,
    /// Its chapters, in their order.
    pub chapters: Vec<Chapter>,
}

impl MovieSummary {
    /// What is known of a movie that is still being opened.
    pub fn opening(path: &Path) -> Self {
        Self {
            file_name: text::unicode(path.file_name().unwrap_or(path.as_os_str())),
            width: 0,
            height: 0,
            fps: None,
            format: String::new(),
            remarks: Vec::new(),
            in_list: None,
            fields: Fields::default(),
            position_s: 0.0,
            duration_s: None,
            chapters: Vec::new(),
        }
    }

    /// What is known of a movie once it is open.
    pub fn of(path: &Path, info: &MovieInfo) -> Self {
        Self {
            width: info.width,
            height: info.height,
            fps: info.fps,
            format: format!("{}, {}, {}, {}", info.codec, info.pixel_format, info.matrix, info.range),
            remarks: info.remarks.clone(),
            fields: info.fields,
            duration_s: info.duration_s,
            chapters: info.chapters.clone(),
            ..Self::opening(path)
        }
    }

    /// The file's name, as it can be shown.
    pub fn name(&self) -> Cow<'_, str> {
        text::escaped(&self.file_name)
    }

    /// Whether it is still being opened.
    pub fn is_opening(&self) -> bool {
        self.width == 0
    }
}

/// Something that the user must know, shown as a banner until dismissed.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// What happened, why, and what to try.
    pub error: Error,
    /// Also shown while the overlay is hidden.
    pub serious: bool,
}

/// This moment, as far as the overlay is concerned.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// All that was measured.
    pub recorder: &'a Recorder,
    /// CPU load of the process and of the machine.
    pub cpu: CpuReading,
    /// The movie that plays.
    pub movie: &'a MovieSummary,
    /// The panel of the scene that fills the window, if it has one.
    pub scene: Option<ScenePanel<'a>>,
    /// The OpenCL device; `None` when there is no OpenCL.
    pub device: Option<&'a DeviceInfo>,
    /// All devices, for the panel that lists them.
    pub devices: DeviceList<'a>,
    /// What OpenGL calls its renderer.
    pub gl_renderer: &'a str,
    /// "copy" or "zero-copy", and why.
    pub sharing: &'a str,
    /// Why it is so; may be empty.
    pub sharing_reason: &'a str,
    /// In the order of [`VariantId::ALL`].
    pub variants: &'a [VariantRow<'a>],
    /// What the user chose; the frame on the screen may still be of another one.
    pub chosen: VariantId,
    /// The radius that the user chose, in pixels.
    pub radius: u32,
    /// The movie stands still.
    pub paused: bool,
    /// Frames are presented as fast as they come.
    pub unpaced: bool,
    /// What filtered the picture on the screen; every number is of that. `None` before the first picture.
    pub shown: Option<Shown>,
    /// What the player is doing.
    pub state: PlayState,
    /// The picture that is awaited, once that takes longer than a blink.
    pub busy: Option<&'a Busy>,
    /// The banners, oldest first.
    pub notices: &'a [Notice],
    /// Two filters of the picture, where there are two on the screen.
    pub wipe: Option<&'a Wipe>,
    /// What colours are corrected with; `None` where that is switched off.
    pub correction: Option<Correction>,
    /// What was measured of the picture on the screen.
    pub readings: Option<&'a Readings>,
    /// Why nothing is measured on this device, where that is so.
    pub not_measured: Option<&'a Error>,
    /// Where the picture lies, for what is drawn over it; `None` where it is on something else than the window.
    pub placed: Option<Placed>,
    /// How fast the movie's time goes; 1 is its own speed.
    pub speed: f64,
    /// What is repeated other than the whole movie; empty if nothing.
    pub repeats: &'a str,
    /// Where a seek that is not on the screen yet goes, in seconds.
    pub target_s: Option<f64>,
    /// Where the part that repeats begins and ends, in seconds, as far as that is said.
    pub part: (Option<f64>, Option<f64>),
    /// Frame interval at this speed in milliseconds, the budget of a frame.
    pub budget_ms: Option<f64>,
    /// The search for the best parameters.
    pub tuning: &'a Tuning,
    /// What the Lab measures.
    pub lab: &'a Lab,
    /// The check of the device's conversions.
    pub conversions: &'a Conversions,
    /// Kernels that are edited.
    pub kernels: &'a Kernels,
    /// What Oclgrind has found in them.
    pub races: &'a Races,
    /// What [`VariantId::Auto`] is for this picture and radius, with its parameters; `None` until it is built.
    pub auto: Option<&'a str>,
}

impl View<'_> {
    /// Size in pixels of the picture on the screen; of the movie, before there is one.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.shown.map_or((self.movie.width, self.movie.height), |s| s.size)
    }
}
