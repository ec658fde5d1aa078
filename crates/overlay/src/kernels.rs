//! The panel of the kernels that the user edits while the movie plays: their versions with the result of each, the check for
//! data races, source and machine code.

mod diff;
mod state;
mod versions;

use base::device::MachineCode;
use base::error::{Error, Result};
use box_filter::{VariantId, Work};
use compute::BackEnd;
use egui::style::ScrollAnimation;

use crate::code;
use crate::panel::{self, ColumnPanel, Pane, choice_button, line, paragraph};
use crate::prelude::*;
pub use diff::VersionDiff;
pub use state::*;
pub use versions::result_to_show;

/// The least width in points of the panel in which source and machine code stand side by side.
const MIN_TWO_COLUMNS_WIDTH: f32 = 700.0;
/// The explanation of the panel in the hover text of its title bar.
const ABOUT: &str = "Kernel files saved in this folder are built, validated in a child process on this frame and on test \
                     pictures, and used from the next frame on.";
/// The hover text of the button that checks for data races.
const RACES_HOVER: &str = "Detect data races and out-of-bounds accesses: run the last saved kernels of the selected variant on a \
                     small picture in Oclgrind";
/// The hover text of the button that shows machine code.
const MACHINE_CODE_HOVER: &str = "Show the machine code of the selected variant next to its source: PTX from NVIDIA's drivers, \
                                  disassembled object code from AMD, Intel and PoCL, SPIR-V from rusticl";
/// The hover text of the lines that kernels have printed.
const PRINTED_HOVER: &str = "What printf() in a kernel and the driver have printed since this version was saved: the first 100 lines, all on stderr";
/// The hover text of the button that builds and validates the kernels.
const REBUILD_HOVER: &str = "Build and validate the kernels now, even if no file has changed (F5)";
/// The hover text of the button that copies the kernels to a new folder.
const COPY_HOVER: &str = "Write all kernels to a new folder and watch it for changes";
/// The hover text of the button that opens the kernel file in the user's editor.
const EDITOR_HOVER: &str = "Open the file of the selected variant in $VISUAL or by xdg-open (E)";
/// The hover text of the button that writes a kernel of the user's own from a template.
const OWN_HOVER: &str = "Write box_filter/own.cl, a variant of your own (u), with its contract and a first kernel. Without a folder \
                         of kernels, one is made first";
/// The hover text of the button that makes a filter of the user's own kernel.
const OWN_FILTER_HOVER: &str = "Write a folder with this kernel and a description, where it is compared with itself and timed: it need not \
                                be a box filter";
/// The end of the hover text of the button that watches a folder of edited kernels again.
const REOPEN_HOVER: &str =
    "Use the kernels in this folder, which you have edited before, and watch it for changes";

/// The panel of the kernels that the user edits.
pub(super) static KERNELS: ColumnPanel = ColumnPanel {
    key: Some(("e", "kernels: source, editing, races, machine code")),
    about: ABOUT,
    ..ColumnPanel::new(
        Panel::Kernels,
        ("Kernels", "View kernels and their machine code, edit them while the movie plays, find races"),
        340.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let room = pane.room - KERNELS.margin.sum().y;
    let (view, actions, switches) = (pane.pass.view, &mut pane.pass.actions, &mut *pane.switches);
    let kernels = view.kernels;
    let top = ui.cursor().top();
    if kernels.folder.is_none() && kernels.copying {
        line(ui, "Opening the folder of kernels\u{2026}", theme::WEAK);
    } else {
        ui.horizontal(|ui| {
            let (button, hover, action) = match kernels.folder {
                Some(_) => ("Rebuild", REBUILD_HOVER, Action::RebuildKernels),
                None => ("Make an editable copy", COPY_HOVER, Action::CopyKernels),
            };
            ui.button(button).explain(hover).on_click(action, actions);
            let is_running = matches!(view.races, RaceReport::Checking(..));
            let can_check = is_running || matches!(view.chosen.work, Work::Kernels(_));
            let button = Button::new(if is_running { "Stop" } else { "Races" });
            ui.add_enabled(can_check, button).explain(RACES_HOVER).on_click(Action::CheckRaces, actions);
            let button = choice_button("Machine code", switches.machine_code);
            if ui.add(button).explain(MACHINE_CODE_HOVER).clicked() {
                switches.machine_code ^= true;
            }
            // Where there is a folder of earlier edits, that is opened first: it may have a kernel of the user's own.
            let can_make_own = match kernels.folder {
                Some(_) => !kernels.has_own,
                None => kernels.remembered.is_empty(),
            };
            // It belongs to the box filter.
            let can_make_own = can_make_own && view.chosen.opened().is_none();
            if can_make_own && ui.button("Make own.cl").explain(OWN_HOVER).clicked() {
                actions.push(Action::MakeOwnKernel);
            }
            if kernels.folder.is_none() {
                line(ui, "or use --kernels FOLDER", theme::WEAK);
            }
        });
        if let Some(folder) = &kernels.folder {
            ui.horizontal(|ui| {
                let can_edit = view.chosen.back_end() == BackEnd::OpenCl;
                let button = ui.add_enabled(can_edit, Button::new("Open in editor").small());
                button.explain(EDITOR_HOVER).on_click(Action::OpenInEditor, actions);
                line(ui, &format!("Edit the files in {folder}"), theme::TEXT);
            });
        }
        // Folders whose kernels were edited before; they can be watched again unless another one is watched.
        for (index, EditedFolder { path, edits, changed }) in kernels.remembered.iter().enumerate() {
            let files = match edits {
                0 => "no edits".to_owned(),
                1 => "edits of 1 file".to_owned(),
                n => format!("edits of {n} files"),
            };
            ui.horizontal(|ui| {
                let (name, mut text) = (base::text::name(path), format!("{files}, last change {changed}"));
                if kernels.folder.is_some() {
                    text = format!("{name}: {text}");
                } else {
                    let folder = std::path::Path::new(path).file_name().map(base::text::name);
                    let button = ui.button(format!("Open {}", folder.as_ref().unwrap_or(&name)));
                    let hover = format!("{name}\n{REOPEN_HOVER}");
                    button.explain(hover).on_click(Action::ReopenKernels(index), actions);
                }
                line(ui, &text, theme::TEXT);
            });
        }
    }
    if let Some(error) = &kernels.problem {
        show_error(ui, error);
    }
    if let Some(Error { what, why, hint, .. }) = &kernels.slow {
        paragraph(ui, &format!("{what} {why}"), theme::WARN).explain(hint);
    }
    if let Some(Error { what, why, hint, .. }) = &kernels.history_error {
        line(ui, what, theme::WARN).explain(format!("{why}\n{hint}"));
    }
    versions::show(ui, room, view, actions);
    let mut refusal = None;
    let current = kernels.versions.iter().find(|version| version.number == kernels.current);
    if let Some(result) = current.and_then(|version| result_to_show(&version.results, view.chosen)) {
        match &result.validation {
            Validation::Refused(error) => {
                let running = match result.subject {
                    Subject::Conversion => kernels.conversion,
                    Subject::Variant(id) => kernels.running.filter(|_| id == view.chosen),
                };
                let top = ui.cursor().top();
                // Above the log, which may be long.
                if let Some(running) = running {
                    let differs = kernels.differs(result.subject, None);
                    let differs = if differs { " (output differs)" } else { "" };
                    let text = format!("{}: still running version {running}{differs}.", result.subject);
                    line(ui, &text, theme::TEXT);
                }
                show_error(ui, error);
                refusal = Some(top..=ui.cursor().top());
            }
            Validation::Differs(report) => {
                paragraph(ui, &format!("{} output differs: {report}.", result.subject), theme::WARN);
                if result.subject == Subject::Variant(VariantId::own()) {
                    let button = ui.button("Make a filter of it");
                    button.explain(OWN_FILTER_HOVER).on_click(Action::MakeFilterOfOwn, actions);
                }
            }
            Validation::Exact | Validation::Pending => {}
        }
        if !result.warnings.is_empty() {
            line(ui, &format!("{}: the compiler warns:", result.subject), theme::WARN);
            show_log(ui, &result.warnings);
        }
    }
    if !kernels.printed.is_empty() {
        line(ui, "Printed by kernels:", theme::TEXT).explain(PRINTED_HOVER);
        show_log(ui, &kernels.printed.join("\n"));
    }
    show_races(ui, view.races);
    // The source scrolls by itself, so that the texts above it stay visible.
    // The least height in points of the view of the source, unless the user has changed it.
    let height = (room - (ui.cursor().top() - top)).max(220.0);
    let top = ui.cursor().top();
    let mut scrolls = false;
    let mut show_source = |ui: &mut Ui| match (&kernels.diff, &kernels.source) {
        (Some(diff), _) => diff::show(ui, diff, actions),
        (None, Some(source)) => scrolls = code::show(ui, source),
        (None, None) => {}
    };
    let code = kernels.machine_code.as_ref();
    panel::resizable(ui, "source", height, |ui| match (switches.machine_code, ui.available_width()) {
        (false, _) => show_source(ui),
        (true, MIN_TWO_COLUMNS_WIDTH..) => ui.columns(2, |columns| {
            let [left, right] = columns else { return };
            show_source(left);
            show_machine_code(right, code);
        }),
        (true, _) => {
            let half = (ui.available_height() - ui.spacing().item_spacing.y) / 2.0;
            let size = vec2(ui.available_width(), half);
            ui.allocate_ui(size, |ui| {
                ui.set_min_height(half);
                show_source(ui);
            });
            show_machine_code(ui, code);
        }
    });
    if scrolls {
        let bottom = ui.min_rect().bottom();
        // Where there is no room for both, the error is shown, which quotes the line of the source.
        let range = match refusal {
            Some(log) if bottom - log.start() <= ui.clip_rect().height() => *log.start()..=bottom,
            Some(log) => log,
            None => top..=bottom,
        };
        let shown = Rect::from_x_y_ranges(ui.max_rect().x_range(), range);
        ui.scroll_to_rect_animation(shown, None, ScrollAnimation::none());
    }
}

/// Lays out the machine code, below statistics about it.
fn show_machine_code(ui: &mut Ui, code: Option<&Result<MachineCode>>) {
    match code {
        None => {
            line(ui, "Querying the driver\u{2026}", theme::WEAK);
        }
        Some(Err(error)) => show_error(ui, error),
        Some(Ok(code)) => {
            line(ui, &code.name, theme::STRONG);
            for fact in &code.facts {
                paragraph(ui, fact, theme::TEXT);
            }
            code::show_plain_text(ui, "machine-code", &code.text);
        }
    }
}

/// Lays out the result of the check for data races by Oclgrind.
fn show_races(ui: &mut Ui, races: &RaceReport) {
    match races {
        RaceReport::Unknown => {}
        RaceReport::Checking(of, seconds) => {
            line(ui, &format!("Oclgrind is running {of}: {seconds} s\u{2026}"), theme::WEAK);
        }
        RaceReport::Found(of, lines) => {
            line(ui, &format!("Oclgrind, {of}:"), theme::WEAK);
            for found in lines {
                match found {
                    RaceLine::Clean(text) => paragraph(ui, text, theme::GOOD),
                    RaceLine::Fault(text) => paragraph(ui, text, theme::WARN),
                    RaceLine::Detail(text) => {
                        ui.label(RichText::new(text).font(theme::figures(11.0)).color(theme::TEXT))
                    }
                };
            }
        }
        RaceReport::Failed(error) => show_error(ui, error),
    }
}

/// Lays out an error with its reason; a compiler's log scrolls in a box.
fn show_error(ui: &mut Ui, error: &Error) {
    paragraph(ui, &error.what, theme::ERROR);
    if error.why.contains('\n') {
        return show_log(ui, &error.why);
    }
    let texts = [(&error.why, theme::TEXT), (&error.hint, theme::WEAK)];
    for (text, color) in texts.into_iter().filter(|(text, _)| !text.is_empty()) {
        paragraph(ui, text, color);
    }
}

/// Lays out a compiler's log, which scrolls, so that the source below it stays visible.
fn show_log(ui: &mut Ui, log: &str) {
    let lines = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        // The first error may stand below many warnings.
        let id = Id::unique(("log", log));
        let first = log.lines().position(|text| text.contains("error:"));
        let is_new = ui.data(|data| data.get_temp::<()>(id)).is_none();
        // Each line is a widget of its own, so that the first lines of a long log are visible.
        for (n, text) in log.lines().enumerate() {
            let text = RichText::new(text).font(theme::figures(11.0)).color(theme::TEXT);
            let line = ui.add(Label::new(text).wrap());
            if is_new && first == Some(n) {
                ui.scroll_to_rect_animation(line.rect, Some(Align::Min), ScrollAnimation::none());
                ui.data_mut(|data| data.insert_temp(id, ()));
            }
        }
    };
    let area = ScrollArea::vertical().id_salt(("log", log)).auto_shrink([false, true]);
    // The greatest height in points of a compiler's log.
    area.max_height(120.0).min_scrolled_height(0.0).show(ui, lines);
}
