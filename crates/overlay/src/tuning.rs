//! The panel of tuning: the state of the search for the fastest configuration (values of a variant's tuning parameters), and
//! its trials as a heat map.

use box_filter::Code;
use box_filter::tuned::SizeClass;
use ladder::heat::{self, HeatMap};
use ladder::tune::Status;
use ladder::tune::best;
use ladders::box_filter::Trial;
use stats::AutoChoice;

use crate::job::{JobState, start_or_stop};
use crate::panel::{ColumnPanel, Pane, choice_button, line, paragraph};
use crate::prelude::*;
use crate::words;

/// The state and the trials of a background search for the fastest configuration (values of a variant's tuning parameters).
#[derive(Debug, Clone, Default)]
pub struct Tuning {
    /// The state of the search.
    pub state: JobState,
    /// The width and height of the tuned picture, and the radius, in pixels; `None` before the first search.
    pub case: Option<((u32, u32), u32)>,
    /// The settings of the tuned filter of a folder; `None` for the box filter.
    pub settings: Option<String>,
    /// The first and the last radius to which the results apply.
    pub radii: (u32, u32),
    /// The configurations that were measured so far, with their times.
    pub trials: Vec<Trial>,
    /// The greatest number of configurations that the search measures.
    pub max_trials: usize,
    /// The device time of copying the picture, in milliseconds; `None` until it is measured.
    pub copy_ms: Option<f64>,
}

/// Height in points of a cell of the heat map.
const CELL_HEIGHT: f32 = 22.0;
/// Width in points of the labels with parameter values, left of the rows of the heat map.
const LABELS_WIDTH: f32 = 92.0;
/// The least width in points of a cell of the heat map.
const MIN_CELL_WIDTH: f32 = 44.0;
/// Height in points of the parameters' names above the cells.
const HEADER_HEIGHT: f32 = 34.0;

pub(super) static TUNING: ColumnPanel = ColumnPanel {
    key: Some(("t", "tuning: configurations tried")),
    progress: |view| view.tuning.state.is_under_way().then(|| progress(view.tuning)),
    ..ColumnPanel::new(
        Panel::Tuning,
        ("Tuning", "Search for the fastest configuration of each variant"),
        380.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let (tuning, auto) = (pane.pass.view.tuning, pane.pass.view.auto);
    let variant = &mut pane.selection.tuning_variant;
    // Above all texts, whose number of lines varies, so that the buttons do not move.
    let (ids, fastest) = heat::variants(&tuning.trials);
    let shown = variant.filter(|id| ids.contains(id)).or(fastest).or(ids.first().copied());
    ui.horizontal(|ui| {
        let stop = ("Stop", "Stop this search and discard its results", Action::StopTuning);
        let start = ("Tune now", START_HOVER, Action::TuneNow);
        pane.pass.actions.extend(start_or_stop(ui, &tuning.state, start, stop));
        for id in ids {
            let button = ui.add(choice_button(id, Some(id) == shown));
            if button.explain("Show this variant's heat map").clicked() {
                *variant = Some(id);
            }
        }
    });
    let (color, text) = state_text(tuning, auto);
    match tuning.state {
        // The text changes several times a second: more than one line would make the panel jump.
        JobState::Running(_) => line(ui, &text, color),
        _ => paragraph(ui, &text, color),
    };
    if let Some(((width, height), radius)) = tuning.case {
        let (first, last) = tuning.radii;
        let class = SizeClass::of(width, height).as_str();
        let what = format!("{width} \u{d7} {height} ({class} pictures), ");
        let what = match &tuning.settings {
            None => format!("{what}radius {radius}; used for radius {first} to {last}"),
            Some(settings) if settings.is_empty() => what.trim_end_matches(", ").to_owned(),
            Some(settings) => format!("{what}{settings}; used at all settings"),
        };
        line(ui, &what, theme::WEAK);
    }
    if let Some((best, ms)) = best(&tuning.trials) {
        let name = if tuning.state == JobState::Done { "Best" } else { "Best so far" };
        let text = format!("{name}: {} {}, {} ms", best.variant, best.config, theme::ms(ms));
        line(ui, &text, theme::STRONG);
    }
    if let Some(map) = shown.and_then(|id| HeatMap::new(&tuning.trials, id)) {
        show_heat_map(ui, &map, tuning);
        ui.horizontal(|ui| {
            line(ui, "time \u{f7} least time:", theme::WEAK);
            // The ratios of a time to the least time that the legend of the heat map shows with their colours.
            for ratio in [1.0, 1.25, 1.5, 2.0] {
                let (more, cells) = if ratio == 2.0 { (" and more", 2.0) } else { ("", 1.0) };
                // Height in points of the coloured cells in the legend.
                let size = vec2(cells * MIN_CELL_WIDTH, 16.0);
                let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
                let text = format!("{ratio:.2}{more}");
                fill_cell(ui, rect, &text, heat_color(ratio));
                response.named(Role::Cell, "Legend").valued(|| text);
            }
        });
        line(ui, LEGEND, theme::WEAK);
        if map.center.median_ms.is_some() {
            paragraph(ui, FRAMED_FINALIST, theme::WEAK);
        }
    }
}

/// Returns the progress of the search as text: "3 of at most 40".
fn progress(tuning: &Tuning) -> String {
    format!("{} of at most {}", tuning.trials.len(), tuning.max_trials)
}

/// The explanation of the letters in the heat map's cells and of the frame around a cell.
const LEGEND: &str = "A abandoned   M output differs   F failed   \u{b7} not tried   framed: best";

/// The explanation of the frame around a cell once the finalists are timed: another cell may have a smaller ratio.
const FRAMED_FINALIST: &str =
    "Framed: best in the final runs, made in turns. Below 1.00: not shown to be faster.";

/// The hover text of the button that starts the search.
const START_HOVER: &str = "Tune for this device, size and, for the box filter, radius now, even while the movie plays on a CPU.\n\
    Tuning is suspended while frames are late or the filter is slow.";

/// The sentence that says under which conditions a search starts automatically.
const IDLE_SENTENCE: &str =
    "Untuned cases are tuned in the background while auto is selected; on a CPU only while paused.";

/// Returns the state of the search as text, and the colour of the text.
fn state_text(tuning: &Tuning, auto: Option<&AutoChoice>) -> (Color32, String) {
    let progress = progress(tuning);
    let here = auto.map_or_else(String::new, |auto| format!(" {}", words::auto_text(auto)));
    match &tuning.state {
        JobState::Idle => (theme::WEAK, format!("Idle.{here} {IDLE_SENTENCE}")),
        JobState::Stopped => (theme::WEAK, "Stopped.".to_owned()),
        JobState::Waiting(reason) | JobState::Ending(reason) => {
            (theme::WARN, format!("{progress}; waiting: {reason}. {}", reason.end_sentence()))
        }
        JobState::Running(what) => (theme::GOOD, format!("{progress}; {what}")),
        JobState::Done => (theme::GOOD, format!("Done: {} configurations tried.{here}", tuning.trials.len())),
        JobState::Failed(why) => (theme::ERROR, why.clone()),
    }
}

/// Lays out the heat map: a cell for each pair of values of two parameters.
fn show_heat_map(ui: &mut Ui, map: &HeatMap<Code>, tuning: &Tuning) {
    let across = map.column_param.map_or("", |p| p.name);
    let down = map.row_param.map_or("", |p| p.name);
    let size = vec2(ui.available_width(), HEADER_HEIGHT + map.rows.len() as f32 * CELL_HEIGHT);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let head = pos2(area.left() + LABELS_WIDTH, area.top() + 8.0);
    ui.words(pos2(area.left(), head.y), Align2::LEFT_CENTER, down, 11.5, theme::WEAK);
    let columns = map.columns.len().max(1) as f32;
    let width = ((area.width() - LABELS_WIDTH) / columns).clamp(MIN_CELL_WIDTH, 84.0);
    ui.words(head, Align2::LEFT_CENTER, across, 11.5, theme::WEAK);
    let top = area.top() + HEADER_HEIGHT;
    for (n, value) in map.columns.iter().enumerate().filter(|_| map.column_param.is_some()) {
        let x = head.x + (n as f32 + 0.5) * width;
        let at = pos2(x, top - 9.0);
        ui.figures(at, Align2::CENTER_CENTER, value, 11.0, theme::TEXT);
    }
    for (m, value) in map.rows.iter().enumerate() {
        let y = top + m as f32 * CELL_HEIGHT;
        if map.row_param.is_some() {
            let at = pos2(head.x - 8.0, y + CELL_HEIGHT / 2.0);
            ui.figures(at, Align2::RIGHT_CENTER, value, 11.0, theme::TEXT);
        }
        for n in 0..map.columns.len() {
            let corner = pos2(head.x + n as f32 * width, y);
            let rect = Rect::from_min_size(corner, vec2(width - 2.0, CELL_HEIGHT - 2.0));
            draw_cell(ui, rect, map, (n, m), tuning);
        }
    }
}

/// Returns the time of `trial` divided by that of `best`, the fastest trial of the heat map: the ratio of the medians if
/// both were finalists (trials that are timed again, in turn), otherwise of the shortest runs. Returns `None` if a time is
/// missing.
fn ratio(trial: &Trial, best: &Trial) -> Option<f64> {
    let medians = trial.median_ms.zip(best.median_ms);
    let (ms, best) = medians.or_else(|| trial.ms().zip(best.ms()))?;
    (best > 0.0).then(|| ms / best)
}

/// Draws the cell of the heat map with the indices `at`: its [`ratio`] as text and as colour.
fn draw_cell(ui: &Ui, rect: Rect, map: &HeatMap<Code>, at: (usize, usize), tuning: &Tuning) {
    let (trial, best) = (map.cell(at.0, at.1), map.center);
    let (text, fill) = match trial {
        None => ("\u{b7}".to_owned(), theme::RULE.gamma_multiply(0.35)),
        Some(trial) => match (&trial.status, ratio(trial, best)) {
            (Status::Scored(_), Some(ratio)) => (format!("{ratio:.2}"), heat_color(ratio)),
            (Status::Scored(ms), None) => (theme::ms(trial.median_ms.unwrap_or(*ms)), theme::RULE),
            (Status::Abandoned(_), _) => ("A".to_owned(), theme::RULE),
            (Status::Mismatch(_), _) => ("M".to_owned(), theme::RULE),
            (Status::Failed(_), _) => ("F".to_owned(), theme::RULE),
        },
    };
    fill_cell(ui, rect, &text, fill);
    if trial.is_some_and(|t| t.ms().is_some() && std::ptr::eq(t, best)) {
        ui.painter().rect_stroke(rect, 2, Stroke::new(1.5, Color32::WHITE), StrokeKind::Inside);
    }
    let response = ui.interact(rect, ui.unique_id().with(at), Sense::hover());
    let across = map.column_param.map(|param| format!("{} {}", param.name, map.columns[at.0]));
    let down = map.row_param.map(|param| format!("{} {}", param.name, map.rows[at.1]));
    let name = across.into_iter().chain(down).collect::<Vec<_>>().join(", ");
    let response = response.named(Role::Cell, &name).valued(|| text);
    match trial {
        Some(trial) => response.explain(trial_hover_text(trial, tuning)),
        None => response.explain("Not tried: not supported by this device, or not reached by the search"),
    };
}

/// Fills a cell with this colour, and draws a text on it, which is dark on light colours.
fn fill_cell(ui: &Ui, rect: Rect, text: &str, fill: Color32) {
    ui.painter().rect_filled(rect, 2, fill);
    let light = 2 * u32::from(fill.r()) + 5 * u32::from(fill.g()) + u32::from(fill.b()) > 900;
    let color = if light { Color32::BLACK } else { theme::STRONG };
    ui.figures(rect.center(), Align2::CENTER_CENTER, text, 11.0, color);
}

/// Returns the colour of a cell for the ratio of its time to the best time: light for 1, dark for 2 and more.
fn heat_color(ratio: f64) -> Color32 {
    let t = ((ratio - 1.0).clamp(0.0, 1.0) as f32).sqrt();
    let mix = |a: f32, b: f32| (a + (b - a) * t) as u8;
    Color32::from_rgb(mix(253.0, 62.0), mix(212.0, 24.0), mix(92.0, 96.0))
}

/// Returns the hover text of a trial in the heat map.
fn trial_hover_text(trial: &Trial, tuning: &Tuning) -> String {
    let compiled = trial.compile_ms.map_or(theme::UNKNOWN.to_owned(), |ms| format!("{ms:.0} ms"));
    let head = format!("{} {}\ncompiled in {compiled}\n", trial.variant, trial.config);
    let rest = match &trial.status {
        Status::Scored(least) => {
            // The same number as in the line of the best configuration and in the cache.
            let ms = trial.median_ms.unwrap_or(*least);
            let ((width, height), _) = tuning.case.unwrap_or_default();
            let bytes = f64::from(width) * f64::from(height) * 8.0;
            let percent = |copy| format!("{:.0} % of the speed of a copy", 100.0 * copy / ms);
            let percent = tuning.copy_ms.map_or("speed of a copy: measured at the end".to_owned(), percent);
            format!("{} ms, {:.2} GB/s read and written, {percent}", theme::ms(ms), bytes / (ms * 1e6))
        }
        Status::Abandoned(ms) => format!("A: abandoned, predicted to take about {} ms", theme::ms(*ms)),
        Status::Mismatch(report) => format!("M: output differs from the reference, not timed\n{report}"),
        Status::Failed(why) => format!("F: failed\n{why}"),
    };
    head + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::device::DeviceKind;
    use box_filter::{Config, named};

    fn lightness(color: Color32) -> u32 {
        2 * u32::from(color.r()) + 5 * u32::from(color.g()) + u32::from(color.b())
    }

    #[test]
    fn a_trial_has_its_colour_and_its_hover_text() {
        let shades: Vec<u32> = (0..=10).map(|n| lightness(heat_color(1.0 + f64::from(n) / 10.0))).collect();
        assert!(shades.windows(2).all(|w| w[0] > w[1]), "{shades:?}");
        assert_eq!(heat_color(9.0), heat_color(2.0));

        let code = named("fused").code(DeviceKind::Cpu).unwrap();
        let config = Config::new(code, DeviceKind::Cpu);
        let trial = |status| Trial {
            variant: "fused",
            config: config.clone(),
            compile_ms: Some(12.0),
            status,
            median_ms: None,
            is_kept: false,
            noise: None,
        };
        let tuning = Tuning { case: Some(((1000, 500), 7)), copy_ms: Some(0.5), ..Tuning::default() };
        let has = |trial: &Trial, parts: &[&str]| {
            let text = trial_hover_text(trial, &tuning);
            assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} in {text}");
        };
        let copy = "25 % of the speed of a copy";
        let scored = trial(Status::Scored(2.0));
        has(&scored, &["fused STRIPS=2", "2.00 ms", "compiled in 12 ms", "2.00 GB/s", copy]);
        // What was not compiled took no 0 ms.
        let apart = Trial { compile_ms: None, ..trial(Status::Failed("because".into())) };
        has(&apart, &["compiled in \u{2013}", "because"]);
        has(&trial(Status::Abandoned(70.0)), &["A: abandoned"]);
        let finalist = Trial { median_ms: Some(4.0), ..scored };
        has(&finalist, &["4.00 ms", "1.00 GB/s", "12 % of the speed of a copy"]);
        let winner = Trial { median_ms: Some(2.0), ..trial(Status::Scored(1.6)) };
        assert_eq!(ratio(&finalist, &winner), Some(2.0), "by the medians");
        assert_eq!(ratio(&trial(Status::Scored(3.2)), &winner), Some(2.0), "by the least runs");
        assert_eq!(ratio(&trial(Status::Failed("no".into())), &winner), None);
    }
}
