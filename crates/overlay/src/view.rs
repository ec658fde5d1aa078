//! The input of the overlay: plain data about the player's present state.

use std::borrow::Cow;
use std::path::Path;

use base::device::{ClockSnapshot, ClockState, DeviceInfo};
use base::error::Error;
use base::text;
use base::timing::CpuReading;
use box_filter::{Settings, VariantId};
use egui::{Rect, Ui, pos2, vec2};
use stats::{AutoChoice, Difference, PlayState, Readings, Recorder, Request, Sharing};
use video::color::Correction;
use video::{Chapter, FieldOrder, MovieInfo, Orientation};

use crate::{
    Busy, Conversions, DeviceFacts, DeviceList, FilterList, Kernels, Lab, LadderColumn, RaceReport,
    ScenePanel, Tuning, VariantStatus,
};

/// The filter that has made the picture on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownFilter {
    /// The variant.
    pub variant: VariantId,
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The picture's width and height in pixels.
    pub size: (u32, u32),
}

/// A variant in the overlay's list.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantRow<'a> {
    /// The id of the variant.
    pub id: VariantId,
    /// The difference between the variant and the others, in a sentence or two.
    pub idea: &'a str,
    /// Tells whether the variant can be used on this device.
    pub status: VariantStatus,
}

/// The properties of the movie that the overlay shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MovieSummary {
    /// The file's name without its folder. [`MovieSummary::name`] returns the name as it is shown.
    pub file_name: String,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The frame rate that the container states, in frames per second; `None` if it states none.
    pub fps: Option<f64>,
    /// The codec and the pixel format in FFmpeg's names, the YUV matrix and the range, such as "hevc, yuv420p10le, BT.2020,
    /// limited".
    pub format: String,
    /// The properties of the file that clreel does not support, one clause for each.
    pub remarks: Vec<String>,
    /// A clause about damage that the container reports although no picture is damaged; `None` if it reports none.
    pub note: Option<String>,
    /// The movie's number in the playlist, from 1, and the length of the playlist; `None` for a single movie.
    pub in_list: Option<(usize, usize)>,
    /// The order of the fields if the movie is interlaced; progressive otherwise.
    pub fields: FieldOrder,
    /// The position in the movie of the frame on the screen, in seconds.
    pub position_s: f64,
    /// The movie's duration in seconds; `None` if it is not known.
    pub duration_s: Option<f64>,
    /// The movie's chapters in order of time.
    pub chapters: Vec<Chapter>,
}

impl MovieSummary {
    /// Creates the summary of a movie that is still being opened.
    pub fn while_opening(path: &Path) -> Self {
        Self { file_name: text::unicode(path.file_name().unwrap_or(path.as_os_str())), ..Self::default() }
    }

    /// Creates the summary of a movie that has been opened.
    pub fn new(path: &Path, info: &MovieInfo) -> Self {
        Self {
            width: info.width,
            height: info.height,
            fps: info.fps,
            format: format!("{}, {}, {}, {}", info.codec, info.pixel_format, info.matrix, info.range),
            remarks: info.remarks.clone(),
            fields: info.fields,
            duration_s: info.duration_s,
            chapters: info.chapters.clone(),
            ..Self::while_opening(path)
        }
    }

    /// Returns the file's name with control characters escaped.
    pub fn name(&self) -> Cow<'_, str> {
        text::escaped(&self.file_name)
    }

    /// Returns true if the movie is still being opened.
    pub fn is_opening(&self) -> bool {
        self.width == 0
    }
}

/// A banner that is shown until the user dismisses it.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The error that the banner reports.
    pub error: Error,
    /// True if the banner is shown also while the overlay is hidden.
    pub serious: bool,
}

/// A wipe on the screen: two filters of one picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Wipe {
    /// The filters of the left and the right side.
    pub sides: [Request; 2],
    /// True for each side whose filter times are wall times, not device times.
    pub by_wall: [bool; 2],
    /// The difference between the sides if its map is shown; `None` otherwise.
    pub difference: Option<Difference>,
}

/// The settings and the state of the sound of the movie or scene that plays.
#[derive(Debug, Clone, PartialEq)]
pub struct SoundView {
    /// The volume in percent.
    pub volume: u32,
    /// True if the user has switched the sound off.
    pub is_muted: bool,
    /// Sentences about the sound track and the audio device.
    pub text: String,
}

/// The place of the picture in the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PicturePlace {
    /// The left and upper edge, the width and the height, in pixels; the edges are measured from the window's upper left
    /// corner.
    pub at: [f32; 4],
    /// The rotation and mirroring of the picture on the screen.
    pub orientation: Orientation,
}

impl PicturePlace {
    /// Returns the picture's rectangle in points.
    pub(crate) fn rect(&self, ui: &Ui) -> Rect {
        let [left, top, width, height] = self.at.map(|pixels| pixels / ui.pixels_per_point());
        Rect::from_min_size(pos2(left, top), vec2(width, height))
    }
}

/// The data that the overlay shows in one pass (layout of the overlay).
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The measurements of the presented frames.
    pub recorder: &'a Recorder,
    /// The CPU load of the process and of the machine.
    pub cpu: CpuReading,
    /// The movie that plays.
    pub movie: &'a MovieSummary,
    /// The panel of the current scene; `None` if the scene has none.
    pub scene: Option<ScenePanel<'a>>,
    /// The OpenCL device in use; `None` if there is none.
    pub device: Option<&'a DeviceInfo>,
    /// The state of the device's clock: whether device times are used, or wall times in their place.
    pub clock: &'a ClockState,
    /// The last reading of the speed of the device's clock, or the reason why it cannot be read; `None` before the first
    /// reading.
    pub clock_speed: Option<&'a Result<ClockSnapshot, String>>,
    /// The peaks (highest measured rates) of the device and the registers of the kernels, as far as they are known.
    pub facts: &'a DeviceFacts,
    /// All OpenCL devices.
    pub devices: DeviceList<'a>,
    /// The name of the renderer that OpenGL reports.
    pub gl_renderer: &'a str,
    /// The transfer of frames from OpenCL to OpenGL: shared textures or copies.
    pub sharing: &'a Sharing,
    /// All variants, in the order of [`VariantId::all`].
    pub variants: &'a [VariantRow<'a>],
    /// The selected variant; the picture on the screen may still be filtered by another variant.
    pub chosen: VariantId,
    /// The values of the selected filter's parameters.
    pub settings: Settings,
    /// The variant and the settings of the filter to which the sliders belong: the selected ones, or those that were selected last if
    /// the filter is switched off.
    pub sliders: (VariantId, Settings),
    /// The last selected radius of the box filter in pixels.
    pub box_radius: u32,
    /// True if the movie is paused.
    pub paused: bool,
    /// True if frames are presented as fast as possible instead of by their time stamps.
    pub unpaced: bool,
    /// The filter of the picture on the screen, to which all displayed numbers belong; `None` before the first picture.
    pub shown: Option<ShownFilter>,
    /// The state of the player, such as playing or paused.
    pub state: PlayState,
    /// The progress of the picture that is being filtered; `None` unless it takes noticeably long.
    pub busy: Option<&'a Busy>,
    /// The banners, oldest first.
    pub notices: &'a [Notice],
    /// The wipe on the screen; `None` if there is none.
    pub wipe: Option<&'a Wipe>,
    /// The colour correction; `None` if it is off.
    pub correction: Option<Correction>,
    /// The luminance measurements of the picture on the screen; `None` if there are none.
    pub readings: Option<&'a Readings>,
    /// The reason why the luminance cannot be measured on this device; `None` if it can.
    pub readings_error: Option<&'a Error>,
    /// The picture's place in the window; `None` if a scene draws it elsewhere, such as on cloth.
    pub picture_place: Option<PicturePlace>,
    /// The speed at which the movie plays; 1 is normal.
    pub speed: f64,
    /// A text about the loop; empty if only the whole movie is repeated.
    pub loop_text: &'a str,
    /// The settings of the sound; `None` if nothing that plays has sound.
    pub sound: Option<&'a SoundView>,
    /// The target in seconds of a seek that has not ended yet; `None` if there is none.
    pub target_s: Option<f64>,
    /// The start and the end of the A-B loop in seconds; each is `None` until the user sets it.
    pub loop_range: (Option<f64>, Option<f64>),
    /// The time in milliseconds that a frame may take: the frame interval at the present speed; `None` if it is not known.
    pub budget_ms: Option<f64>,
    /// The state and the trials of the background tuning.
    pub tuning: &'a Tuning,
    /// The state and the results of the Lab.
    pub lab: &'a Lab,
    /// The state and the results of the check of the device's type conversions.
    pub conversions: &'a Conversions,
    /// The list of filters.
    pub filters: &'a FilterList,
    /// The edited kernels: their versions, results and source.
    pub kernels: &'a Kernels,
    /// The data races and out-of-bounds accesses that Oclgrind has found in kernels.
    pub races: &'a RaceReport,
    /// The times of a saved run with which the ladder is compared, a column for each of its devices; empty if there is none.
    pub saved_columns: &'a [LadderColumn],
    /// The most important lines of the selected variant's kernels (see [`heart`](crate::heart)), for the talk; `None` if it has
    /// no kernels.
    pub heart: Option<&'a str>,
    /// The variant and configuration that [`VariantId::auto`] uses for this size and radius; `None` until it is built.
    pub auto: Option<&'a AutoChoice>,
}

impl View<'_> {
    /// Returns the size in pixels of the picture on the screen, or the size of the movie's pictures before the first one is
    /// shown.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.shown.map_or((self.movie.width, self.movie.height), |s| s.size)
    }
}
