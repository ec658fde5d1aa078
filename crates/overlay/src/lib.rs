//! The egui overlay. [`Overlay::show`] draws a [`View`], plain data about the player's present state, and returns the
//! [`Action`]s that the user requested with the mouse.
//!
//! The headline names the filter of the picture on the screen and its time, the ladder of variants is a list of buttons and a
//! scoreboard in one, a graph shows the filter's time alone, and a strip has the seek bar and the controls. All other panels open
//! by a click or a key. The crate changes nothing outside itself: the caller carries the actions out.

#![warn(missing_docs, unreachable_pub)]
// The docs are for readers of the code: `./dev check` builds them for private items too.
#![allow(rustdoc::private_intra_doc_links)]

mod action;
mod axes;
mod bindings;
mod cells;
mod code;
mod column;
mod controls;
mod conversions;
mod correction;
mod describe;
mod device_name;
mod devices;
mod facts;
mod filter_graph;
mod filters;
mod hatch;
mod headline;
mod hidden;
mod job;
mod kernels;
mod keys;
mod lab;
mod ladder_column;
mod ladder_export;
mod layout;
mod line;
mod mouse;
mod notices;
mod open_panels;
mod overlay;
mod panel;
mod panel_list;
mod panels;
mod parameters;
mod pass;
mod path_field;
mod prelude;
mod scene;
mod scopes;
mod scoreboard;
mod seekbar;
mod stack;
mod stage_graph;
mod stages;
mod strip;
mod table;
mod talk;
mod texts;
pub mod theme;
mod timeline;
mod timer;
mod tuning;
mod view;
mod why;
mod widgets;
mod wipe;
mod words;

use stats::{Busy, VariantStatus};

pub use action::{Action, VersionId};
pub use bindings::{BINDINGS, Binding, Topic, action_of};
pub use code::Source;
pub use column::ColumnState;
pub use conversions::Conversions;
pub use devices::{DeviceList, DeviceRow, DeviceState};
pub use filters::{FilterList, FilterRow, Thumbnail};
pub use job::{JobState, Wait};
pub use kernels::{
    CheckedKernels, EarlierVersion, EditedFolder, FilterTime, Kernels, RaceLine, RaceReport, Speed,
    SpeedState, Subject, Validation, ValidationRequest, Version, VersionDiff, VersionResult, result_to_show,
};
pub use lab::{BOX_FILTER, Benchmark, BenchmarkFrame, Lab, LabCode};
pub use ladder_column::{LadderColumn, Verdicts};
pub use ladder_export::LadderExport;
pub use open_panels::OpenPanels;
pub use overlay::{Overlay, SavedState, zoom};
pub use panel::{LabKernel, Switches};
pub use panel_list::is_remembered;
pub use panels::{FoldStates, OpenFlags, Panel};
pub use path_field::{MAX_RECENT_FILES, PathPrompt, PathPurpose};
pub use scene::ScenePanel;
pub use stack::{MAX_STACK, StackRow, StackView};
pub use talk::{heart, variant_after};
pub use texts::texts;
pub use tuning::Tuning;
pub use view::{MovieSummary, Notice, PicturePlace, ShownFilter, SoundView, VariantRow, View, Wipe};
pub use why::DeviceFacts;
pub use wipe::WipeLine;

#[cfg(test)]
mod tests;
