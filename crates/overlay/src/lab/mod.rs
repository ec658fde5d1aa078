//! The panel of the Lab, which benchmarks ladders (sets of variants that compute the same result) while the movie is paused:
//! the box filter on the frame on the screen, and others that need no movie.

mod benchmark;
mod chart;
mod details;
mod table;

use std::collections::HashMap;

use base::device::DeviceKind;
use ladder::results::{RowReport, RunReport};
use ladders::{LadderSummary, VariantSummary};

use super::job::{JobState, start_or_stop};
use crate::facts;
use crate::panel::{ColumnPanel, Pane, Selection, choice_button, line, paragraph};
use crate::prelude::*;
pub use benchmark::{BOX_FILTER, Benchmark, BenchmarkFrame};
pub use details::LabCode;

/// The state and the results of the Lab, which benchmarks ladders (sets of variants that compute the same result).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lab {
    /// The state of the measurement.
    pub state: JobState,
    /// The name of the measured ladder and its size, as in [`LadderSummary`]; the size is empty for the box filter. `None`
    /// before the first measurement.
    pub case: Option<(&'static str, &'static str)>,
    /// The name of the device that is measured.
    pub device: String,
    /// The number of finished steps of the measurement, and the number of all steps.
    pub steps: (u64, u64),
    /// The estimated time in seconds until the measurement ends; `None` if it is not known.
    pub left_s: Option<f64>,
    /// The results of the ladder that was measured last, other than the box filter.
    pub run: RunReport,
    /// The results of the box filter on all devices.
    pub benchmark: Benchmark,
    /// The code of the variant that is selected in the Lab.
    pub code: LabCode,
    /// The hashes of the edited kernel files with which variants were measured, with the numbers of their versions.
    pub edited: HashMap<String, u64>,
}

impl Lab {
    /// Returns the name of a row's variant, with the version of its kernels if they are edited: "flat, version 3".
    fn name(&self, row: &RowReport) -> String {
        let version = row.kernel.as_ref().and_then(|kernel| self.edited.get(&kernel.hash));
        facts::with_version(row.id.clone(), version.copied())
    }

    /// Returns the name of a variant of the box filter, with the version of the last measured kernels that are edited.
    fn name_in_benchmark(&self, variant: &str) -> String {
        let rows = self.benchmark.rows().filter(|row| row.id == variant);
        let names = rows.map(|row| self.name(row));
        names.max_by_key(String::len).unwrap_or_else(|| variant.to_owned())
    }
}

/// Selects and returns the variant with the selected id if it is among `variants`, otherwise the first one; `None` if there are
/// no variants.
fn select<'a>(selection: &mut Selection, variants: &'a [VariantSummary]) -> Option<&'a VariantSummary> {
    let variant = variants.iter().find(|variant| variant.id == selection.variant).or(variants.first())?;
    variant.id.clone_into(&mut selection.variant);
    Some(variant)
}

/// The explanation of the panel in the hover text of its title bar.
const ABOUT: &str = "Benchmarks the box filter on the frame on the screen, or a ladder that needs no movie, as 'clreel bench' does, \
                     in a child process: all variants are validated, then timed in turns.\nIt runs only while the movie is paused, one step at a time, so that \
                     neither affects the other's times.";

pub(super) static LAB: ColumnPanel = ColumnPanel {
    key: Some(("b", "Lab: benchmarks of all ladders")),
    about: ABOUT,
    progress: |view| view.lab.state.is_under_way().then(|| progress(view.lab)),
    ..ColumnPanel::new(
        Panel::Lab,
        ("Lab", "Benchmarks of the box filter and of other ladders, run while the movie is paused"),
        420.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (view, selection) = (pane.pass.view, &mut *pane.selection);
    let kind = view.device.map_or(DeviceKind::Cpu, |device| device.kind);
    let first = (spaced_name(BOX_FILTER), "The variants of the box filter on the frame on the screen");
    let others = selection.ladders.iter().map(|ladder| (spaced_name(ladder.name), ladder.about));
    let (names, abouts): (Vec<String>, Vec<&str>) = std::iter::once(first).chain(others).unzip();
    if let Some(index) = show_choices(ui, &names, &abouts, selection.ladder.map_or(0, |index| index + 1)) {
        (selection.ladder, selection.size) = (index.checked_sub(1), 0);
    }
    let ladder = selection.ladder.and_then(|index| selection.ladders.get(index)).copied();
    let variants = ladder.map_or_else(benchmark::declared_variants, |ladder| (ladder.variants)());
    select(selection, &variants);
    let rows = match ladder {
        Some(ladder) => show_ladder(ui, (ladder, &variants), selection, pane.pass),
        None => benchmark::show(ui, &variants, selection, pane.pass),
    };
    let Some(variant) = select(selection, &variants) else { return };
    let row = rows.iter().find(|row| row.id == variant.id);
    selection.kernel = details::kernel(variant, kind, row);
    details::show(ui, variant, row, pane);
}

/// Returns the progress of the measurement as text: "step 3 of 12, about 20 s left".
fn progress(lab: &Lab) -> String {
    let (done, steps) = lab.steps;
    if steps == 0 {
        return "starting".to_owned();
    }
    let left = match lab.left_s {
        Some(s) if s < 99.5 => format!(", about {s:.0} s left"),
        Some(s) => format!(", about {:.0} min left", s / 60.0),
        None => String::new(),
    };
    format!("step {} of {steps}{left}", (done + 1).min(steps))
}

/// Lays out a ladder (not the box filter), of which these are the variants, and its results. Returns the results, a row for each
/// variant.
fn show_ladder<'a>(
    ui: &mut Ui,
    (ladder, variants): (LadderSummary, &[VariantSummary]),
    selection: &mut Selection,
    pass: &mut Pass<'a>,
) -> &'a [RowReport] {
    let lab = pass.view.lab;
    let sizes: Vec<String> = ladder.sizes.iter().map(|size| size_text(size)).collect();
    selection.size = show_choices(ui, &sizes, &[], selection.size).unwrap_or(selection.size);
    let Some(&size) = ladder.sizes.get(selection.size).or(ladder.sizes.first()) else { return &[] };
    let is_its_own = lab.case == Some((ladder.name, size));
    let is_measured = is_its_own && !lab.run.variants.is_empty();
    let others = |ui: &mut Ui, actions: &mut Vec<Action>| {
        let can_save = is_measured && !lab.state.is_under_way();
        ui.add_enabled(can_save, Button::new("Save run"))
            .explain("Save these results, for 'clreel compare'")
            .on_click(Action::SaveLab, actions);
    };
    show_state(ui, Action::Measure { ladder: ladder.name, size }, others, pass);
    let unknown: Vec<_> = variants.iter().map(|variant| RowReport::unknown(variant.id)).collect();
    let (peak, rows) = match is_measured {
        true => (lab.run.peaks.first(), lab.run.variants.as_slice()),
        false => (None, unknown.as_slice()),
    };
    let about = match is_its_own && !lab.device.is_empty() {
        true => format!("{}, {}, on {}", spaced_name(ladder.name), size_text(size), lab.device),
        false => ladder.about.to_owned(),
    };
    line(ui, &about, theme::WEAK);
    table::show(ui, lab, (peak, rows), &mut selection.variant);
    show_faults(ui, peak.into_iter().chain(rows));
    if let Some(remark) = lab.run.remark.as_ref().filter(|_| is_its_own) {
        paragraph(ui, remark, theme::TEXT);
    }
    if is_its_own { &lab.run.variants } else { &[] }
}

/// Lays out the button that starts the measurement by the action `start` or stops it, the buttons that `others` lays out beside
/// it, and the state. While the movie plays, also lays out a button that pauses it.
fn show_state(ui: &mut Ui, start: Action, others: impl FnOnce(&mut Ui, &mut Vec<Action>), pass: &mut Pass) {
    let (lab, plays) = (pass.view.lab, pass.view.state.plays());
    let (color, text) = state_text(lab);
    ui.horizontal(|ui| {
        let stop = ("Stop", "Stop; results so far are kept", Action::StopMeasuring);
        let label = if plays { "Pause and measure" } else { "Measure" };
        let requested = start_or_stop(ui, &lab.state, (label, ABOUT, start.clone()), stop);
        let starts = requested.as_ref() == Some(&start) && plays;
        pass.actions.extend(requested);
        let waits =
            matches!(&lab.state, JobState::Waiting(wait) | JobState::Ending(wait) if wait.ends_in_a_pause());
        if waits && ui.button("Pause").explain("Pause the movie, so that the measurement continues").clicked()
            || starts
        {
            pass.actions.push(Action::TogglePause);
        }
        others(ui, &mut pass.actions);
    });
    // The reason stands nowhere else, so it must not be cut.
    paragraph(ui, &text, color);
}

/// Lays out the reason why a variant is wrong or fails, for each such variant.
fn show_faults<'a>(ui: &mut Ui, rows: impl Iterator<Item = &'a RowReport>) {
    for row in rows {
        let Some(reason) = row.reason.as_deref().filter(|_| row.is_wrong()) else { continue };
        let fault = reason.lines().next().unwrap_or_default();
        paragraph(ui, &format!("{}: {fault}", row.id), theme::WARN).explain(reason);
    }
}

/// Lays out a button for each of `names`; the one with the index `chosen` is marked. Returns the index of the button that the
/// user clicked.
fn show_choices(ui: &mut Ui, names: &[String], hovers: &[&str], chosen: usize) -> Option<usize> {
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        for (n, name) in names.iter().enumerate() {
            let response = ui.add(choice_button(name, n == chosen));
            if response.clicked() {
                clicked = Some(n);
            }
            if let Some(hover) = hovers.get(n) {
                response.explain(*hover);
            }
        }
    });
    clicked
}

/// Returns a ladder's name with spaces.
fn spaced_name(name: &str) -> String {
    name.replace('_', " ")
}

/// Returns a size in mathematical notation: "512³", "2047 × 1023", "65,536".
fn size_text(size: &str) -> String {
    let parts: Vec<&str> = size.split([',', 'x']).collect();
    match (parts.as_slice(), size.contains(',')) {
        ([one], _) => theme::thousands(one.parse().unwrap_or_default()),
        ([a, b, c], true) if a == b && b == c => format!("{a}\u{b3}"),
        ([a, b], true) if a == b => format!("{a}\u{b2}"),
        _ => parts.join(" \u{d7} "),
    }
}

/// Returns the state of the Lab as text, and the colour of the text.
fn state_text(lab: &Lab) -> (Color32, String) {
    let progress = progress(lab);
    match &lab.state {
        JobState::Idle => (theme::WEAK, "Runs only while the movie is paused.".to_owned()),
        JobState::Waiting(reason) => {
            (theme::WARN, format!("{progress}; waiting: {reason}. {}", reason.end_sentence()))
        }
        JobState::Ending(reason) => (
            theme::WARN,
            format!("Finishing a step, which affects the movie's times; {reason}. {}", reason.end_sentence()),
        ),
        JobState::Running(what) => (theme::GOOD, format!("{progress}: {what}")),
        JobState::Done => (theme::GOOD, "Done.".to_owned()),
        JobState::Stopped => (theme::WEAK, "Stopped; results incomplete.".to_owned()),
        JobState::Failed(why) => (theme::ERROR, why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        let said =
            ["512,512,512", "1024,1024", "2047,1023", "4096,16,1024", "65536", "1280x720"].map(size_text);
        let want = ["512³", "1024²", "2047 × 1023", "4096 × 16 × 1024", "65,536", "1280 × 720"];
        assert_eq!(said, want);
    }
}
