//! The list of the versions of edited kernels (their texts at each save), with a line for each version and its result, and of
//! earlier versions that were kept on the disk.

use base::error::ErrorKind;
use base::timing;
use box_filter::VariantId;

use super::state::{
    EarlierVersion, FilterTime, Speed, SpeedState, Subject, Validation, ValidationRequest, Version,
    VersionResult,
};
use crate::action::VersionId;
use crate::panel::{choice_button, line, paragraph};
use crate::prelude::*;

/// Returns the result to show for a version: the worst result of the kernels that make the picture while the variant `chosen`
/// is selected, or the worst of all results if the version changed none of these kernels; `None` without results.
pub fn result_to_show(results: &[VersionResult], chosen: VariantId) -> Option<&VersionResult> {
    let rank = |result: &&VersionResult| {
        let badness = match result.validation {
            Validation::Refused(_) => 0,
            Validation::Differs(_) => 1,
            Validation::Exact | Validation::Pending => 2,
        };
        (!result.subject.is_used(chosen), badness)
    };
    results.iter().filter(|result| result.validation != Validation::Pending).min_by_key(rank)
}

/// The hover text of a version whose output is exact.
const EXACT_HOVER: &str = "Exact: each byte of the output equals that of the reference, which computes the filter in Rust. \
                           The time is the median of the movie's frames.";
/// The height in points of a version's line, including the space below it.
const LINE_HEIGHT: f32 = 16.0;
const LINE_GAP: f32 = 2.0;

/// Lays out the list of versions, which scrolls: those since the window was opened, and earlier ones. `room` is the height in
/// points of the panel.
pub(super) fn show(ui: &mut Ui, room: f32, view: &View, actions: &mut Vec<Action>) {
    let kernels = view.kernels;
    // The least and the greatest number of lines that are visible at once. Between these numbers, the list takes a third of the
    // panel's height; the compiler's log and the source take the rest.
    let [least, most] = [3.0, 10.0].map(|lines| lines * (LINE_HEIGHT + LINE_GAP));
    let height = (room / 3.0).clamp(least, most);
    let area = ScrollArea::vertical().id_salt("versions").auto_shrink([false, true]).max_height(height);
    area.min_scrolled_height(0.0).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = LINE_GAP;
        ui.spacing_mut().interact_size.y = LINE_HEIGHT;
        for version in &kernels.versions {
            show_version(ui, version, view, actions);
            match version.failures {
                0 => {}
                1 => _ = line(ui, "a build failed", theme::WEAK),
                n => _ = line(ui, &format!("{n} builds failed"), theme::WEAK),
            }
        }
        for EarlierVersion { hash, time, files, is_exact } in &kernels.earlier {
            ui.horizontal(|ui| {
                show_diff_button(ui, VersionId::Earlier(*hash), &format!("the version of {time}"), actions);
                let result = if *is_exact { "exact" } else { "kept before another one was restored" };
                line(ui, &format!("{time}  {}: {result}", file_names(files)), theme::WEAK);
            });
        }
    });
}

/// Lays out the button that compares a version with the files in the folder.
fn show_diff_button(ui: &mut Ui, id: VersionId, name: &str, actions: &mut Vec<Action>) {
    let hover = format!("Show how {name} differs from the files; restore it, or save it as own.cl");
    ui.add(Button::new("diff").small()).explain(hover).on_click(Action::DiffKernels(Some(id)), actions);
}

/// Returns a short text that names the files that a version changes: the file's name without its folder, such as "03_flat.cl",
/// with the number of further files if there are several; "original" if there are none. The text is short so that the version's
/// result fits into the same line.
fn file_names(files: &[String]) -> String {
    let name = |file: &String| file.rsplit('/').next().unwrap_or_default().to_owned();
    match files {
        [] => "original".to_owned(),
        [file] => name(file),
        [file, others @ ..] => format!("{} and {} more", name(file), others.len()),
    }
}

/// Lays out one version of the edited kernels: its number, a button that runs it, a button that compares it with the
/// running version in a wipe, a button that compares its text with the files, and its result.
fn show_version(ui: &mut Ui, version: &Version, view: &View, actions: &mut Vec<Action>) {
    let kernels = view.kernels;
    let is_current = version.number == kernels.current;
    // A refused version does not run; the version before it still does.
    let current = kernels.versions.iter().find(|version| version.number == kernels.current);
    let chosen = Subject::Variant(view.chosen);
    let still_running = kernels.running.filter(|_| current.is_some_and(|current| current.refuses(chosen)));
    let is_marked = still_running.map_or(is_current, |running| running == version.number);
    ui.horizontal_wrapped(|ui| {
        let button = choice_button(&version.number.to_string(), is_marked).small().min_size(vec2(26.0, 0.0));
        let hover = format!("Use version {}; the files are not changed", version.number);
        if ui.add(button).explain(hover).clicked() && !is_current {
            actions.push(Action::UseKernels(version.number));
        }
        let hover = format!("Compare version {} with the running one in a wipe (w ends it)", version.number);
        let can =
            kernels.running.is_some_and(|running| running != version.number) && !version.refuses(chosen);
        ui.add_enabled(can, Button::new("wipe").small())
            .explain(hover)
            .on_click(Action::WipeKernels(version.number), actions);
        let name = format!("version {}", version.number);
        show_diff_button(ui, VersionId::Session(version.number), &name, actions);
        let (color, text) = version_text(version, is_current, view);
        let text = paragraph(ui, &text, color);
        if color == theme::GOOD {
            text.explain(EXACT_HOVER);
        }
        // A version has a mark for its speed in addition to the one for correctness.
        let result = result_to_show(&version.results, view.chosen);
        if let Some(speed) = result.and_then(|result| result.speed.as_ref()) {
            let (color, text, hover) = speed_text(speed);
            paragraph(ui, &text, color).explain(hover);
        }
    });
}

/// Returns the mark of a version's speed: its colour, its text, and its hover text.
fn speed_text(speed: &Speed) -> (Color32, String, String) {
    let before = speed.before;
    match &speed.state {
        SpeedState::Unknown => (
            theme::WEAK,
            format!("not timed against version {before}"),
            format!(
                "Not compared with version {before} at this size and these settings. The newest version is compared first."
            ),
        ),
        SpeedState::Comparing { pairs, waits } => {
            let pairs = pairs.map(|(done, all)| format!(": {done} of {all} pairs"));
            let waits = waits.map(|waits| format!(", waiting: {waits}"));
            let (pairs, waits) = (pairs.unwrap_or_default(), waits.unwrap_or_default());
            (
                theme::WEAK,
                format!("timing against version {before}{pairs}{waits}\u{2026}"),
                format!(
                    "Versions {before} and this one are timed in turns on the frame on the screen. \
                     While the movie plays, it has the device most of the time: a pause (Space) is faster."
                ),
            )
        }
        SpeedState::Failed(why) => (theme::WEAK, "not compared".to_owned(), why.clone()),
        SpeedState::Compared { verdict, rounds, rows } => {
            let color = match verdict {
                timing::Verdict::Faster(_) => theme::GOOD,
                timing::Verdict::Slower(_) => theme::WARN,
                timing::Verdict::NoDifferenceShown { .. } => theme::TEXT,
            };
            let rows = rows.map_or_else(String::new, |rows| format!(", on its first {rows} rows"));
            let hover = format!(
                "Compared with version {before}: timed in turns, {rounds} times each, on the frame that was on the screen{rows}. \
                 The interval contains the ratio of the times with a confidence of 99 %.\n\
                 The milliseconds left of it are of the movie's frames, at another moment and beside other work: they need not \
                 have this ratio to those of version {before}."
            );
            (color, verdict.text_against(&format!("version {before}")), hover)
        }
    }
}

/// Returns the text of a version's line (its changed files and its result), and the text's colour.
fn version_text(version: &Version, is_current: bool, view: &View) -> (Color32, String) {
    let files = file_names(&version.files);
    // The loss of the own kernel is more important than results of variants that are not in use.
    let tells = |result: &&VersionResult| !version.lost_own || result.subject.is_used(view.chosen);
    let Some(result) = result_to_show(&version.results, view.chosen).filter(tells) else {
        if version.files.is_empty() {
            if view.chosen.is_own() && version.time.is_none() {
                // The user's own kernel has no original.
                return (theme::WEAK, files);
            }
            let time = version.time.as_ref().map_or(theme::UNKNOWN.to_owned(), FilterTime::text);
            return (theme::WEAK, format!("{files}: {} {time}", view.chosen));
        }
        let state = match version.request {
            _ if version.lost_own => "own.cl was removed, and 'own' with it",
            ValidationRequest::Made if version.pending() == 0 => "no effect on this device",
            ValidationRequest::WhenChosen => "validated when a variant is selected",
            // Validation of a version ends when another one is saved or selected.
            _ if !is_current => "not validated, superseded",
            ValidationRequest::Made => "validating",
            ValidationRequest::Waiting if view.devices.is_pending => "waiting for the device",
            ValidationRequest::Waiting if view.device.is_none() => "not validated, no OpenCL device",
            ValidationRequest::Waiting => "waiting for the next frame",
        };
        return (theme::WEAK, format!("{files}: {state}"));
    };
    let is_compared = |speed: &Speed| matches!(speed.state, SpeedState::Compared { .. });
    // The verdict beside this time was measured elsewhere.
    let place = if result.speed.as_ref().is_some_and(is_compared) { " in the movie" } else { "" };
    let time = result.time.map_or_else(String::new, |time| format!(", {}{place}", time.text()));
    let (color, text) = match &result.validation {
        Validation::Exact | Validation::Pending => {
            (theme::GOOD, format!("{}{time}", result.subject.agreement()))
        }
        Validation::Differs(report) => {
            let first = report.first.as_ref().map(|first| format!(", first mismatch: {}", first.position));
            // The picture that was compared may have another size than the current one; then its number of bytes is shown, too.
            let (width, height) = view.size();
            let is_other = report.total as u64 != 4 * u64::from(width) * u64::from(height);
            let of = is_other.then(|| format!(" of {}", theme::thousands(report.total as f64)));
            let (of, count) = (of.unwrap_or_default(), theme::thousands(report.count as f64));
            let is_own = result.subject == Subject::Variant(VariantId::own()) && !time.is_empty();
            let time = if is_own { format!("{time} (not comparable)") } else { String::new() };
            (theme::WARN, format!("differs in {count}{of} bytes{time}{}", first.unwrap_or_default()))
        }
        // The version's line already has the name of the file.
        Validation::Refused(error) => {
            let text: &str = match error.kind {
                ErrorKind::KernelDoesNotBuild(_) => "does not build.",
                ErrorKind::KernelsUnreadable => "cannot be read.",
                _ => &error.what,
            };
            (theme::ERROR, text.to_owned())
        }
    };
    let rest = match version.pending() {
        0 => String::new(),
        n if !is_current => format!(" ({n} more not validated)"),
        n => format!(" ({n} more to validate)"),
    };
    let colon = if result.validation.refusal().is_some() { ":" } else { "" };
    (color, format!("{files}: {}{colon} {text}{rest}", result.subject))
}
