//! The list of versions of kernels that are edited: a line for each. In: what came of them. Out: wishes to go back to one, or to
//! wipe it.

use egui::{Color32, RichText, Ui, vec2};

use super::super::{Action, View, theme};
use super::{Judged, Subject, Untried, Verdict, Version, line};
use box_filter::VariantId;

/// What is told of a version in its line: the worst verdict on what makes the picture; where it changes nothing of that, the
/// worst of all.
pub fn told_of(judged: &[Judged], chosen: VariantId) -> Option<&Judged> {
    let badness = |verdict: &Verdict| match verdict {
        Verdict::Refused(_) => 0,
        Verdict::Differs(_) => 1,
        Verdict::Exact => 2,
    };
    let rank = |judged: &&Judged| (!judged.subject.is_seen(chosen), badness(&judged.verdict));
    judged.iter().min_by_key(rank)
}

/// One version: its number is a button that goes back to it.
pub(super) fn row(ui: &mut Ui, version: &Version, view: &View, actions: &mut Vec<Action>) {
    let kernels = view.kernels;
    let is_current = version.number == kernels.current;
    // What is refused does not run: another one goes on.
    let current = kernels.versions.iter().find(|version| version.number == kernels.current);
    let goes_on = kernels.running.filter(|_| current.is_some_and(|current| is_refused(current, view.chosen)));
    let is_marked = goes_on.map_or(is_current, |running| running == version.number);
    ui.horizontal(|ui| {
        let text = RichText::new(format!("{}", version.number));
        let text = text.color(if is_marked { Color32::BLACK } else { theme::TEXT });
        let mut button = egui::Button::new(text).small().min_size(vec2(26.0, 0.0));
        if is_marked {
            button = button.fill(theme::SELECT);
        }
        let hover = format!("Go back to version {}: the files stay as they are", version.number);
        if ui.add(button).on_hover_text(hover).clicked() && !is_current {
            actions.push(Action::UseKernels(version.number));
        }
        let hover = format!("Wipe version {} against the one that runs; the key w ends it", version.number);
        let can = kernels.running.is_some_and(|running| running != version.number)
            && !is_refused(version, view.chosen);
        if ui.add_enabled(can, egui::Button::new("wipe").small()).on_hover_text(hover).clicked() {
            actions.push(Action::WipeKernels(version.number));
        }
        let (color, text) = words(version, is_current, view);
        line(ui, &text, color);
    });
}

/// Whether a variant's kernels of a version must not run.
fn is_refused(version: &Version, variant: VariantId) -> bool {
    let subject = Subject::Variant(variant);
    version.judged.iter().any(|of| of.subject == subject && matches!(of.verdict, Verdict::Refused(_)))
}

/// A version in words.
fn words(version: &Version, is_current: bool, view: &View) -> (Color32, String) {
    let files = match version.files.as_slice() {
        [] => "as it began".to_owned(),
        [file] => file.clone(),
        [file, others @ ..] => format!("{file} and {} more", others.len()),
    };
    let Some(judged) = told_of(&version.judged, view.chosen) else {
        if version.files.is_empty() {
            let time = |ms| format!("{} ms", theme::believed(ms, version.noise, theme::ms));
            let ms = version.ms.map_or(theme::UNKNOWN.to_owned(), time);
            return (theme::WEAK, format!("{files}: {} {ms}", view.chosen));
        }
        let state = match version.untried {
            Untried::Now(0) => "changes nothing that runs here",
            Untried::OwnGone => "own.cl is gone, 'own' with it",
            Untried::WhenChosen => "each variant is tried when it is chosen",
            // The rest of a version is left alone when another one is wanted.
            _ if !is_current => "not tried, the next one came before",
            Untried::Now(_) => "is being tried",
            Untried::Unknown if view.devices.awaited => "is tried when the device is ready",
            Untried::Unknown if view.device.is_none() => "not tried, no OpenCL device runs",
            Untried::Unknown => "is tried with the next frame",
        };
        return (theme::WEAK, format!("{files}: {state}"));
    };
    let (color, verdict) = match &judged.verdict {
        Verdict::Exact => (theme::GOOD, times(judged)),
        Verdict::Differs(report) => {
            let first = report.first.as_ref().map(|first| format!(", first {}", first.position));
            // Of another picture than the one that plays now.
            let (width, height) = view.size();
            let is_other = report.total as u64 != 4 * u64::from(width) * u64::from(height);
            let of = if is_other {
                format!(" of {}", theme::thousands(report.total as f64))
            } else {
                String::new()
            };
            let count = theme::thousands(report.count as f64);
            let text = format!("differs in {count}{of} bytes{}", first.unwrap_or_default());
            (theme::WARN, text)
        }
        Verdict::Refused(error) => (theme::ERROR, short(&error.what).to_owned()),
    };
    let rest = match version.untried {
        Untried::Unknown | Untried::WhenChosen | Untried::OwnGone | Untried::Now(0) => String::new(),
        Untried::Now(n) if !is_current => format!(" ({n} more not tried)"),
        Untried::Now(n) => format!(" ({n} more to try)"),
    };
    let colon = if matches!(judged.verdict, Verdict::Refused(_)) { ":" } else { "" };
    (color, format!("{files}: {}{colon} {verdict}{rest}", judged.subject))
}

/// What was refused, without the file's name: that stands before it, and the line is short.
fn short(what: &str) -> &str {
    let is_of_file = what.starts_with("The kernel file ");
    let said = ["does not build", "cannot be read"].into_iter().find_map(|said| what.find(said));
    said.filter(|_| is_of_file).map_or(what, |at| &what[at..])
}

/// "exact, 8.41 ms, −0.42".
fn times(judged: &Judged) -> String {
    let Some(ms) = judged.ms else { return "exact".to_owned() };
    let change = match judged.change_ms {
        Some(change) => format!(", {} ms", theme::change(change, ms, judged.noise)),
        None if judged.is_after => format!(", {}", theme::UNKNOWN),
        None => String::new(),
    };
    format!("exact, {} ms{change}", theme::believed(ms, judged.noise, theme::ms))
}
