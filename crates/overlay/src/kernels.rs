//! Kernels that are edited while the movie runs: what each save has made of them. In: [`Kernels`]. Out: wishes to copy them, to
//! build them, to go back to a version.

mod versions;

use std::fmt;

use egui::style::ScrollAnimation;
use egui::{Align2, Color32, Label, Rect, RichText, ScrollArea, Ui, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, Overlay, View, code, panel, theme};
use base::error::{Error, Result};
use base::timing::Noise;
use base::verify::MismatchReport;
use box_filter::VariantId;
use opencl::machine_code::MachineCode;

pub use versions::told_of;

/// What changed kernels do.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Every byte is right.
    Exact,
    /// They end, and stay in their memory, and make another picture.
    Differs(MismatchReport),
    /// They must not run, or cannot: the compiler refuses them, they do not end, end the process, or write outside.
    Refused(Error),
}

/// Whose kernels are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A variant's.
    Variant(VariantId),
    /// Those that make RGBA of the movie's planes.
    Conversion,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Variant(id) => id.fmt(f),
            Subject::Conversion => f.write_str("conversion"),
        }
    }
}

impl Subject {
    /// What it is called at the beginning of a sentence.
    fn at_first(self) -> String {
        match self {
            Subject::Variant(id) => format!("'{id}'"),
            Subject::Conversion => "The conversion".to_owned(),
        }
    }

    /// Whether it makes the picture, where this variant does.
    fn is_seen(self, chosen: VariantId) -> bool {
        self == Subject::Conversion || self == Subject::Variant(chosen)
    }
}

/// What came of a version's kernels of one variant, or of the conversion.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Which.
    pub subject: Subject,
    /// What they do.
    pub verdict: Verdict,
    /// They are what runs now.
    pub runs: bool,
    /// The filter's median in the movie, in milliseconds; only of what is exact.
    pub ms: Option<f64>,
    /// How many more than those of the version that ran before, where both were measured for long enough and alike.
    pub change_ms: Option<f64>,
    /// Why these two are not to be trusted to the last digit, if they are not.
    pub noise: Option<Noise>,
    /// Another version ran before.
    pub is_after: bool,
}

impl Judged {
    /// Of which nothing else is known.
    pub fn new(subject: Subject, verdict: Verdict) -> Self {
        Self { subject, verdict, runs: false, ms: None, change_ms: None, noise: None, is_after: false }
    }

    fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Differs(_))
    }
}

/// The kernels as they were after a save.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// Its number, from 1.
    pub number: u64,
    /// The files that are others than in the version before.
    pub files: Vec<String>,
    /// What came of them so far.
    pub judged: Vec<Judged>,
    /// What of them is still to be tried.
    pub untried: Untried,
    /// The chosen variant's median in the movie, in milliseconds, where it was measured with these.
    pub ms: Option<f64>,
    /// Why that is not to be trusted to the last digit, if it is not.
    pub noise: Option<Noise>,
}

/// What of a version is still to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untried {
    /// It is not known yet what it changes: that depends on the device, which is not ready, and on the frame.
    Unknown,
    /// So many variants, and the conversion, now.
    Now(usize),
    /// Each variant when it is first chosen: the version was there before the window.
    WhenChosen,
    /// Nothing: the user's own kernel is gone, and no other changed.
    OwnGone,
}

/// Kernels that are edited.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kernels {
    /// The folder that is watched.
    pub folder: Option<String>,
    /// It is being written.
    pub copying: bool,
    /// Why it cannot be read, or written.
    pub problem: Option<Error>,
    /// Why changes of it are noticed late.
    pub slow: Option<Error>,
    /// The last ones, the newest first.
    pub versions: Vec<Version>,
    /// The number of the one that was saved, or chosen, last.
    pub current: u64,
    /// The number of the one whose kernels filter for the chosen variant.
    pub running: Option<u64>,
    /// The number of the one whose kernels convert.
    pub converts: Option<u64>,
    /// The chosen variant's kernels.
    pub source: Option<code::Source>,
    /// What is on the other side of a wipe of two versions, and the number of its version.
    pub beside: Option<(VariantId, u64)>,
    /// What the device runs for them, once it is known.
    pub machine_code: Option<Result<MachineCode>>,
}

impl Kernels {
    /// Whether this variant's kernels make another picture than they should.
    pub(crate) fn differs(&self, variant: VariantId) -> bool {
        match self.beside.filter(|_| variant == VariantId::Version) {
            // The other side of a wipe of two versions.
            Some((variant, number)) => {
                let of = self.versions.iter().filter(|version| version.number == number);
                of.flat_map(|version| &version.judged)
                    .any(|judged| judged.subject == Subject::Variant(variant) && judged.differs())
            }
            None => self.runs_and_differs(Subject::Variant(variant)),
        }
    }

    /// Whether the conversion makes another picture than it should.
    pub(crate) fn converts_otherwise(&self) -> bool {
        self.runs_and_differs(Subject::Conversion)
    }

    fn runs_and_differs(&self, subject: Subject) -> bool {
        let judged = self.versions.iter().flat_map(|version| &version.judged);
        judged.filter(|judged| judged.subject == subject).any(|judged| judged.runs && judged.differs())
    }
}

/// What Oclgrind has found in a variant's kernels.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Races {
    /// It was not asked.
    #[default]
    Unknown,
    /// It is at work, since so many seconds.
    Checking(Checked, u64),
    /// What it says: a line for each code, or for each fault and each source line that it is at.
    Found(Checked, Vec<String>),
    /// It could not be asked.
    Failed(Error),
}

/// What Oclgrind runs: a variant's kernels as they were in a version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// The variant.
    pub variant: VariantId,
    /// `None`: as they are built in.
    pub version: Option<u64>,
}

impl std::fmt::Display for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self.version {
            Some(version) => write!(f, "'{}' of version {version}", self.variant),
            None => write!(f, "'{}'", self.variant),
        }
    }
}

const WIDTH: f32 = 500.0;
/// The rest of a long source scrolls: the rungs stay in sight.
const HIGHEST: f32 = 420.0;
/// Its title, the source's name, and what lies around them.
const BESIDES: f32 = 60.0;
/// Some lines of the source are there in any case, and of a log that is long.
const LEAST_SOURCE: f32 = 100.0;
const MOST_LOG: f32 = 78.0;
const ABOUT: &str = "Kernel files that are saved in this folder are built, tried in a process of their own on this frame and on \
                     pictures of all kinds, and then filter the next frame.";
const RACES: &str = "Have Oclgrind run the chosen variant's kernels, as they were saved last, on a small picture, and tell races \
                     and reads and writes outside of memory, with their lines";
const MACHINE_CODE: &str = "What the device really runs for the chosen variant, beside its source: PTX from NVIDIA's drivers, disassembled \
                            object code from PoCL";
const COPY: &str = "Writes all kernels into a new folder, which is watched: edit them there";

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Kernels,
    key: Some(("e", "kernels: edit, source")),
    menu: ("Kernels", "Edit kernels while the movie runs, and read them"),
    size: vec2(WIDTH, 380.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::RIGHT_TOP,
    is_shown: |overlay, _| overlay.open[Panel::Kernels as usize],
    show,
};

fn show(
    overlay: &mut Overlay,
    ui: &mut Ui,
    rect: Rect,
    view: &View,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let folded = overlay.is_folded(Panel::Kernels);
    let frame = panel::Frame {
        panel: Panel::Kernels,
        id: "kernels",
        name: "Kernels",
        hover: &format!("{ABOUT}\n{}", place::HOVER),
        close: ("Close this panel: the key e", Action::Toggle(Panel::Kernels)),
    };
    let (title, height) =
        frame.around(ui, rect, folded, actions, |ui, actions| contents(overlay, ui, view, actions));
    (title, height.min(HIGHEST))
}

fn contents(overlay: &mut Overlay, ui: &mut Ui, view: &View, actions: &mut Vec<Action>) {
    let kernels = view.kernels;
    match &kernels.folder {
        Some(folder) => {
            ui.horizontal(|ui| {
                let hover = "Build and try them now, whether or not a file has changed: key F5";
                if ui.button("Rebuild").on_hover_text(hover).clicked() {
                    actions.push(Action::RebuildKernels);
                }
                races_button(ui, view, actions);
                machine_code_button(ui, overlay);
                line(ui, &format!("Edit the files in {folder}"), theme::TEXT);
            });
        }
        None if kernels.copying => line(ui, "They are being copied\u{2026}", theme::WEAK),
        None => {
            ui.horizontal(|ui| {
                if ui.button("Make an editable copy").on_hover_text(COPY).clicked() {
                    actions.push(Action::CopyKernels);
                }
                races_button(ui, view, actions);
                machine_code_button(ui, overlay);
                line(ui, "or start clreel with --kernels FOLDER.", theme::WEAK);
            });
        }
    }
    if let Some(error) = &kernels.problem {
        sentence(ui, error);
    }
    if let Some(Error { what, why, hint, .. }) = &kernels.slow {
        let text = RichText::new(format!("{what} {why}")).font(theme::words(12.0)).color(theme::WARN);
        ui.add(Label::new(text).wrap()).on_hover_text(hint);
    }
    ui.scope(|ui| {
        // Ten of them leave room for the source.
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 16.0;
        for version in &kernels.versions {
            versions::row(ui, version, view, actions);
        }
    });
    let current = kernels.versions.iter().find(|version| version.number == kernels.current);
    if let Some(judged) = current.and_then(|version| told_of(&version.judged, view.chosen)) {
        match &judged.verdict {
            Verdict::Refused(error) => {
                let running = match judged.subject {
                    Subject::Conversion => kernels.converts,
                    Subject::Variant(id) => kernels.running.filter(|_| id == view.chosen),
                };
                // Before a log, which may be long.
                if let Some(running) = running {
                    let text = format!("{} goes on with version {running}.", judged.subject.at_first());
                    line(ui, &text, theme::TEXT);
                }
                sentence(ui, error);
            }
            Verdict::Differs(report) => {
                let text = format!("{} differs: {report}.", judged.subject.at_first());
                ui.label(RichText::new(text).font(theme::words(12.0)).color(theme::WARN));
            }
            Verdict::Exact => {}
        }
    }
    races(ui, view.races);
    // The source scrolls by itself: what is said of it stays in sight.
    let height = (HIGHEST - BESIDES - (ui.cursor().top() - ui.min_rect().top())).max(LEAST_SOURCE);
    let is_new = |ui: &mut Ui| kernels.source.as_ref().is_some_and(|source| code::show(ui, source, height));
    let top = ui.cursor().top();
    let is_new = match overlay.machine_code {
        false => is_new(ui),
        true => ui.columns(2, |columns| {
            let [left, right] = columns else { return false };
            let is_new = is_new(left);
            machine_code(right, kernels.machine_code.as_ref(), height);
            is_new
        }),
    };
    if is_new {
        let shown = Rect::from_x_y_ranges(ui.max_rect().x_range(), top..=ui.min_rect().bottom());
        ui.scroll_to_rect_animation(shown, None, ScrollAnimation::none());
    }
}

/// What the device runs, below what was counted in it.
fn machine_code(ui: &mut Ui, code: Option<&Result<MachineCode>>, height: f32) {
    match code {
        None => line(ui, "The driver is asked\u{2026}", theme::WEAK),
        Some(Err(error)) => sentence(ui, error),
        Some(Ok(code)) => {
            line(ui, &code.name, theme::STRONG);
            for fact in &code.facts {
                ui.label(RichText::new(fact).font(theme::words(12.0)).color(theme::TEXT));
            }
            let area = ScrollArea::vertical().id_salt("machine-code").auto_shrink([false, true]);
            area.max_height(height).min_scrolled_height(0.0).show(ui, |ui| code::plain(ui, &code.text));
        }
    }
}

/// Opens the pane beside the source, or closes it.
fn machine_code_button(ui: &mut Ui, overlay: &mut Overlay) {
    let is_open = overlay.machine_code;
    // As in the list of versions: what is chosen has a ground on which only black can be read.
    let color = if is_open { Color32::BLACK } else { theme::TEXT };
    let text = RichText::new("Machine code").color(color);
    if ui.selectable_label(is_open, text).on_hover_text(MACHINE_CODE).clicked() {
        overlay.machine_code = !is_open;
    }
}

/// Begins the search for races, or ends it.
fn races_button(ui: &mut Ui, view: &View, actions: &mut Vec<Action>) {
    let checks = matches!(view.races, Races::Checking(..));
    let can = view.chosen.kernels().is_some() && view.chosen != VariantId::Auto;
    let button = egui::Button::new(if checks { "Stop" } else { "Races" });
    if ui.add_enabled(checks || can, button).on_hover_text(RACES).clicked() {
        actions.push(Action::CheckRaces);
    }
}

/// What it has found.
fn races(ui: &mut Ui, races: &Races) {
    match races {
        Races::Unknown => {}
        Races::Checking(of, seconds) => {
            line(ui, &format!("Oclgrind runs the kernels of {of}: {seconds} s\u{2026}"), theme::WEAK);
        }
        Races::Found(of, lines) => {
            line(ui, &format!("Oclgrind ran the kernels of {of}:"), theme::WEAK);
            for text in lines {
                let color = if text.ends_with("no bad accesses") { theme::GOOD } else { theme::WARN };
                match text.starts_with(' ') {
                    true => ui.label(RichText::new(text).font(theme::figures(11.0)).color(theme::TEXT)),
                    false => ui.label(RichText::new(text).font(theme::words(12.0)).color(color)),
                };
            }
        }
        Races::Failed(error) => sentence(ui, error),
    }
}

/// An error: its first sentence, and below it the reason, which may be a compiler's log.
fn sentence(ui: &mut Ui, error: &Error) {
    ui.label(RichText::new(&error.what).font(theme::words(12.0)).color(theme::ERROR));
    let is_log = error.why.contains('\n');
    let font = if is_log { theme::figures(11.0) } else { theme::words(12.0) };
    let why = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        // Each line is a text of its own: the first ones of a long log are in sight.
        for text in error.why.lines() {
            ui.add(Label::new(RichText::new(text).font(font.clone()).color(theme::TEXT)).wrap());
        }
    };
    // The source below it stays in sight.
    let log = ScrollArea::vertical().id_salt(&error.what).auto_shrink([false, true]);
    log.max_height(MOST_LOG).min_scrolled_height(0.0).show(ui, why);
    if !error.hint.is_empty() && !is_log {
        ui.label(RichText::new(&error.hint).font(theme::words(12.0)).color(theme::WEAK));
    }
}

/// One line; what does not fit is cut, and the hover text has it.
pub(super) fn line(ui: &mut Ui, text: &str, color: Color32) {
    let text = RichText::new(text).font(theme::words(12.0)).color(color);
    ui.add(Label::new(text).truncate());
}
