//! The requests of the user: what keys, buttons and the mouse ask the player to do.

use crate::panels::Panel;
use box_filter::VariantId;
use video::color::Correction;

/// A reference to a version of the watched folder's kernels, in requests of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionId {
    /// The version with this number since the window was opened.
    Session(u64),
    /// The version with this hash of its texts that was kept on the disk.
    Earlier(u64),
}

/// A request of the user, by mouse or key, which the player carries out.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Filter with this variant from the next frame on.
    SetVariant(VariantId),
    /// Filter with this radius in pixels from the next frame on.
    SetRadius(u32),
    /// Change the radius by this many pixels.
    ChangeRadius(i32),
    /// Select the variant this many places further along the ladder, or back if negative; used in the talk.
    ChangeVariant(isize),
    /// Play the movie this many places later in the list.
    ChangeMovie(isize),
    /// Seek in the movie.
    Seek {
        /// The position to seek to, in seconds of the movie.
        to_s: f64,
        /// True to decode to the exact frame, false to stop at a key frame, as while the seek bar is dragged.
        exact: bool,
    },
    /// Seek by this many seconds.
    SeekBy {
        /// The distance in seconds; negative: back.
        seconds: f64,
        /// True for the exact frame; false while the key is held.
        exact: bool,
    },
    /// Stop seeking: the key of [`Action::SeekBy`] was released.
    EndSeek,
    /// Seek to the movie's beginning.
    SeekStart,
    /// Seek by this many chapters, or change the size of a scene that has sizes by this many steps.
    SeekChapter(isize),
    /// Pause, and show the next frame or the previous one.
    Step {
        /// True for the previous frame.
        back: bool,
    },
    /// Change the speed by this factor; `None` restores the movie's own speed.
    ChangeSpeed(Option<f64>),
    /// Mark the beginning of the section to repeat; the second time, mark its end; the third time, remove both marks.
    MarkPart,
    /// Switch repeating of the movie on or off.
    ToggleLoop,
    /// Start or end a wipe, which shows a second filter on the right side of the picture.
    ToggleWipe,
    /// Exchange the filters of a wipe's sides.
    SwapSides,
    /// Show or hide the map of the differences between the sides of a wipe.
    ToggleDifference,
    /// Start to drag the picture at this point, as a fraction of the window's width and height.
    StartDrag([f32; 2]),
    /// Continue to drag the picture.
    Drag {
        /// The movement to the right and down since the last action, as a fraction of the window's height.
        by: [f32; 2],
        /// The pointer's position, as a fraction of the window's width and height, as in [`Action::StartDrag`].
        at: [f32; 2],
    },
    /// End the drag of the picture.
    EndDrag,
    /// Show the movie in the next scene, such as on cloth.
    NextScene,
    /// Pause or resume.
    TogglePause,
    /// Switch the sound off or on.
    ToggleMute,
    /// Set the volume of the sound in percent.
    SetVolume(u32),
    /// Change the volume of the sound by this many percent.
    ChangeVolume(i32),
    /// Play the next track of sound.
    NextTrack,
    /// Enter or leave fullscreen.
    ToggleFullscreen,
    /// Close the table of keys, the talk or the frozen timeline, whichever is open first; otherwise leave fullscreen.
    Leave,
    /// Ask the user for a movie to open.
    AskForMovie,
    /// Open the movie at this path, as the user has typed it.
    Open(String),
    /// Complete this path, which the user is typing, and pass the result to [`crate::PathPrompt::complete`].
    Complete(String),
    /// Hide or show the overlay.
    ToggleOverlay,
    /// Begin or end the talk, which shows the ladder in large type.
    ToggleTalk,
    /// Open or close the panel with all keys.
    ToggleKeys,
    /// Reset the column of panels to its default side and width, and unfold the panels.
    ResetPanels,
    /// Move the column of panels to the other side of the window.
    MoveColumn,
    /// Correct colours with these values.
    SetCorrection(Correction),
    /// Switch colour correction on or off.
    ToggleCorrection,
    /// Show or hide the heat map of the luminance over the picture.
    ToggleHeat,
    /// Switch auto-levels on or off, which stretch the filtered picture to the full range of luminance.
    ToggleLevels,
    /// Save the filtered picture as PNG.
    SaveFrame,
    /// Save the window with the overlay as PNG.
    SaveWindow,
    /// Change to the next OpenCL device.
    NextDevice,
    /// Change to the OpenCL device at this index of [`crate::DeviceList::rows`].
    SetDevice(usize),
    /// Open or close a panel.
    Toggle(Panel),
    /// Show this frame and the frames before it in the panel of the timeline, in place of the last frames. Frames are
    /// numbered from 0, the first presented one.
    Freeze(u64),
    /// Scale the overlay by this factor; `None` resets its size.
    Zoom(Option<f32>),
    /// Start to tune the variants for this device, size and radius.
    TuneNow,
    /// Stop tuning.
    StopTuning,
    /// Save the times of the filter as a result that `clreel compare` reads.
    SaveRun,
    /// Save the results of the Lab as a result that `clreel compare` reads.
    SaveLab,
    /// Start to benchmark a ladder (variants that compute the same result) in the Lab, the panel for ladders other than the
    /// box filter.
    Measure {
        /// The ladder's name.
        ladder: &'static str,
        /// One of the ladder's sizes.
        size: &'static str,
    },
    /// Start to benchmark the box filter on the frame on the screen, at these radii in pixels, in the Lab.
    Benchmark(Vec<u32>),
    /// Save the benchmark of the box filter.
    SaveBenchmark,
    /// Stop the measurement of the Lab.
    StopMeasuring,
    /// Start to check the device's type conversions.
    CheckConversions,
    /// Stop the check of type conversions.
    StopChecking,
    /// Write all kernels into a new folder, and watch it for edits.
    CopyKernels,
    /// Watch the folder of kernels at this index of [`crate::Kernels::remembered`], which was edited before.
    ReopenKernels(usize),
    /// Write a kernel of the user's own from a template into the watched folder.
    MakeOwnKernel,
    /// Build the kernels of the watched folder now.
    RebuildKernels,
    /// Start or stop the check of the selected variant's kernels for data races and out-of-bounds accesses.
    CheckRaces,
    /// Run the version of the edited kernels with this number.
    UseKernels(u64),
    /// Compare the version of the edited kernels with this number with the running one in a wipe.
    WipeKernels(u64),
    /// Show the lines in which this version of the edited kernels differs from the files; `None` shows the source again.
    DiffKernels(Option<VersionId>),
    /// Write the texts of this version of the edited kernels to the files.
    RestoreKernels(VersionId),
    /// Write the selected variant's file in this version of the edited kernels as the user's own kernel.
    SaveAsOwnKernel(VersionId),
    /// Save the statistics as CSV and JSON.
    ExportStats,
    /// Remove the banner at this index of [`crate::View::notices`].
    DismissNotice(usize),
    /// Close the window.
    Quit,
}

impl Action {
    /// Returns true if a key that is held repeats the action.
    pub fn repeats(&self) -> bool {
        matches!(
            self,
            Self::SeekBy { .. } | Self::ChangeRadius(_) | Self::Step { .. } | Self::ChangeVolume(_)
        )
    }
}
