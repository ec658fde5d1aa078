//! The actions that the user requests: what keys, buttons and the mouse ask the player to do.

use crate::panels::Panel;
use box_filter::{Settings, VariantId};
use video::color::Correction;

/// Identifies a version (the text of the kernels at one save) of the watched folder's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionId {
    /// The version with this number, counted since the window was opened.
    Session(u64),
    /// A version that was kept on the disk earlier, with this hash of its texts.
    Earlier(u64),
}

/// An action that the user requests by mouse or key, and that the player carries out.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Filter with this variant from the next frame on.
    SetVariant(VariantId),
    /// Filter with these values of the selected filter's parameters from the next frame on.
    SetSettings(Settings),
    /// Change the first parameter of the selected filter, the radius of the box filter, by this many of its steps.
    ChangeSettings(i32),
    /// Select the variant that is this many places further along the ladder (the list of variants), or back if negative; used
    /// in the talk.
    ChangeVariant(isize),
    /// Play the movie this many places later in the list.
    ChangeMovie(isize),
    /// Seek in the movie.
    Seek {
        /// The position in the movie to seek to, in seconds.
        to_s: f64,
        /// True to decode to the exact frame; false to stop at a key frame, as while the user drags the seek bar.
        exact: bool,
    },
    /// Seek by this many seconds.
    SeekBy {
        /// The distance in seconds; negative to seek back.
        seconds: f64,
        /// True to seek to the exact frame; false to stop at a key frame, as while the key is held.
        exact: bool,
    },
    /// End a series of [`Action::SeekBy`], whose key was released.
    EndSeek,
    /// Seek to the movie's beginning.
    SeekStart,
    /// Seek by this many chapters; or change the size of the current scene by this many steps, if it has several sizes.
    SeekChapter(isize),
    /// Pause, and show the next frame or the previous one.
    Step {
        /// True for the previous frame.
        back: bool,
    },
    /// Multiply the speed by this factor; `None` restores the movie's own speed.
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
    /// Show the movie in the next scene (way of showing it), such as on cloth.
    NextScene,
    /// Pause or resume.
    TogglePause,
    /// Switch the sound off or on.
    ToggleMute,
    /// Set the volume of the sound in percent.
    SetVolume(u32),
    /// Change the volume of the sound by this many percent.
    ChangeVolume(i32),
    /// Play the next sound track.
    NextTrack,
    /// Enter or leave fullscreen.
    ToggleFullscreen,
    /// Close the table of keys, the talk, the errors about actions of the user or the frozen timeline, whichever is open first;
    /// otherwise leave fullscreen.
    Leave,
    /// Ask the user for a movie to open.
    AskForMovie,
    /// Show the list of files in the window, which begins with the movies that were opened last.
    ShowFiles,
    /// Open the movie at this path, as the user has typed it.
    Open(String),
    /// Ask the user for a saved run whose times are shown in the ladder, in place of another one.
    CompareWith,
    /// Remove the times of the saved run from the ladder.
    EndComparison,
    /// Show the times of the saved run at this path, as the user has typed it, in a column of the ladder.
    OpenRun(String),
    /// Find the files whose names begin with this path, which the user is typing, and pass them to
    /// [`crate::PathPrompt::complete`].
    Complete(String),
    /// Hide or show the overlay.
    ToggleOverlay,
    /// Begin or end the talk, a presentation view that shows the ladder of variants in large type.
    ToggleTalk,
    /// Open or close the table of all keys.
    ToggleKeys,
    /// Close all panels, and reset their column to its default side and width.
    ResetPanels,
    /// Move the column of panels to the other side of the window.
    MoveColumn,
    /// Set the values of the colour correction.
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
    /// Save the measured times of the filter to a file that `clreel compare` reads.
    SaveRun,
    /// Save the results of the Lab to a file that `clreel compare` reads.
    SaveLab,
    /// Start to benchmark a ladder (a set of variants that compute the same result) in the Lab; for the box filter, see
    /// [`Action::Benchmark`].
    Measure {
        /// The ladder's name, such as that of a [`ladders::LadderSummary`].
        ladder: &'static str,
        /// The size at which to measure, one of the ladder's sizes.
        size: &'static str,
    },
    /// Start to benchmark the box filter in the Lab, on the frame on the screen and at these radii in pixels.
    Benchmark(Vec<u32>),
    /// Save the results of the box filter's benchmark.
    SaveBenchmark,
    /// Stop the benchmark in the Lab.
    StopMeasuring,
    /// Start to check the device's type conversions.
    CheckConversions,
    /// Stop the check of type conversions.
    StopChecking,
    /// Write all kernels into a new folder, and watch it for edits.
    CopyKernels,
    /// Watch the folder at this index of [`crate::Kernels::remembered`] again, whose kernels were edited before.
    ReopenKernels(usize),
    /// Filter with the filter at this index of [`crate::FilterList::rows`].
    SelectFilter(usize),
    /// Filter with the filter at this index of [`crate::FilterList::rows`] at the left of a wipe, and with the present one at the right.
    WipeFilter(usize),
    /// Put the filter at this index of [`crate::FilterList::rows`] on the stack: it filters the picture of the others.
    StackFilter(usize),
    /// Choose the filter at this place of the stack: keys and sliders belong to it.
    ChooseLayer(usize),
    /// Switch the filter at this place of the stack on or off.
    SwitchLayer(usize),
    /// Remove the filter at this place from the stack.
    RemoveLayer(usize),
    /// Move a filter of the stack from one place to another.
    MoveLayer {
        /// The place before.
        from: usize,
        /// The place afterwards.
        to: usize,
    },
    /// Undo the last change of the stack.
    UndoStack,
    /// Make the last stack again.
    RestoreStack,
    /// Write a new filter from a template into a new folder, and filter with it.
    NewFilter,
    /// Write a filter with the user's own kernel into a new folder, and filter with it.
    MakeFilterOfOwn,
    /// Ask the user for the folder of a filter.
    AskForFilter,
    /// Filter with the filter in the folder at this path, as the user has typed it.
    OpenFilter(String),
    /// Open the selected variant's kernel file in the user's editor.
    OpenInEditor,
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
    /// Show the lines in which this version of the edited kernels differs from the files in the folder; `None` shows the source
    /// again.
    DiffKernels(Option<VersionId>),
    /// Write this version of the edited kernels to the files in the folder.
    RestoreKernels(VersionId),
    /// Write the selected variant's file, as it is in this version of the edited kernels, to the user's own kernel.
    SaveAsOwnKernel(VersionId),
    /// Save the ladder (the times of all variants with the current settings and size) as CSV, SVG and PNG.
    ExportLadder,
    /// Save the statistics as CSV and JSON.
    ExportStats,
    /// Remove the banner at this index of [`crate::View::notices`].
    DismissNotice(usize),
    /// Close the window.
    Quit,
}

impl Action {
    /// Returns true if the action is repeated while its key is held.
    pub fn repeats(&self) -> bool {
        matches!(
            self,
            Self::SeekBy { .. } | Self::ChangeSettings(_) | Self::Step { .. } | Self::ChangeVolume(_)
        )
    }
}
