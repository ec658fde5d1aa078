//! The search for the best parameters as a heat map. In: a [`Tuning`]. Out: wishes to begin or end a search.

use egui::{Align2, Color32, Rect, Sense, Ui, pos2, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::words::Wait;
use super::{Action, panel, theme};
use box_filter::Code;
use box_filter::tune::Trial;
use box_filter::tuned::SizeClass;
use ladder::heat::{self, Map};
use ladder::judge::Status;
use ladder::tune::best;

/// What a search does now.
#[derive(Debug, Clone, PartialEq)]
pub enum TuningState {
    /// There is none; what is shown is known, or nothing is.
    Idle,
    /// It is to run, and waits for this.
    Waiting(Wait),
    /// It runs; this is tried.
    Running(String),
    /// It is over, and its results are used.
    Done,
    /// It could not be done, and why.
    Failed(String),
}

/// A search in the background.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// What it does now.
    pub state: TuningState,
    /// What it is for: width, height and radius in pixels.
    pub of: Option<((u32, u32), u32)>,
    /// The radii that its results are used for, the first and the last.
    pub radii: (u32, u32),
    /// What has been tried.
    pub trials: Vec<Trial>,
    /// The most that will be.
    pub most: usize,
    /// A copy of the picture in milliseconds of device time, once it is known.
    pub copy_ms: Option<f64>,
}

impl Tuning {
    /// Nothing has been searched.
    pub const NONE: Tuning = Tuning {
        state: TuningState::Idle,
        of: None,
        radii: (0, 0),
        trials: Vec::new(),
        most: 0,
        copy_ms: None,
    };

    /// Whether a search is under way, running or not.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, TuningState::Waiting(_) | TuningState::Running(_))
    }
}

/// The panel's width in points.
pub(crate) const WIDTH: f32 = 420.0;
const CELL: f32 = 22.0;
/// Where the rows' values end, and the least width of a cell.
const LEFT: f32 = 92.0;
const NARROWEST: f32 = 44.0;
/// Where the map's cells begin, below the names of its parameters.
const TOP: f32 = 34.0;

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Tuning,
    key: Some(("t", "tuning")),
    menu: ("Tuning", "The search for the best parameters"),
    size: vec2(WIDTH, 284.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::RIGHT_TOP,
    is_shown: |overlay, _| overlay.tuning_shown(),
    show: |overlay, ui, rect, view, actions| {
        let folded = overlay.is_folded(Panel::Tuning);
        show(ui, rect, (view.tuning, view.auto), folded, &mut overlay.tuning_of, actions)
    },
};

/// Lays the panel out in `rect`, with a scroll bar where it is too low. `of` is the variant whose map is to be seen;
/// `None` is that of the fastest trial. With the search comes what `auto` is for this picture. Returns what was done with
/// the title, and the height that the panel would like to have.
fn show(
    ui: &mut Ui,
    rect: Rect,
    (tuning, auto): (&Tuning, Option<&str>),
    folded: bool,
    of: &mut Option<&'static str>,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let name = match folded && tuning.is_under_way() {
        true => format!("Tuning, {}", count(tuning)),
        false => "Tuning".to_owned(),
    };
    let frame = panel::Frame {
        panel: Panel::Tuning,
        id: "tuning",
        name: &name,
        hover: place::HOVER,
        close: ("Close this panel: the key t", Action::Toggle(Panel::Tuning)),
    };
    frame.around(ui, rect, folded, actions, |ui, actions| contents(ui, tuning, auto, of, actions))
}

/// How far it is.
fn count(tuning: &Tuning) -> String {
    format!("{} of at most {}", tuning.trials.len(), tuning.most)
}

fn contents(
    ui: &mut Ui,
    tuning: &Tuning,
    auto: Option<&str>,
    of: &mut Option<&'static str>,
    actions: &mut Vec<Action>,
) {
    // Above all texts, whose lines come and go: the buttons keep their places.
    let (ids, fastest) = heat::rungs(&tuning.trials);
    let shown = of.filter(|id| ids.contains(id)).or(fastest).or(ids.first().copied());
    ui.horizontal(|ui| {
        // The one is as wide as the other: those beside it keep their places.
        let button = |text: &str| egui::Button::new(text.to_owned()).min_size(vec2(76.0, 0.0));
        if tuning.is_under_way() {
            let hover = "End this search; what it has found is not kept";
            if ui.add(button("Stop")).on_hover_text(hover).clicked() {
                actions.push(Action::StopTuning);
            }
        } else if ui.add(button("Tune now")).on_hover_text(TUNE_NOW).clicked() {
            actions.push(Action::TuneNow);
        }
        for id in ids {
            let chosen = Some(id) == shown;
            let text = egui::RichText::new(id).color(if chosen { Color32::BLACK } else { theme::TEXT });
            let mut button = egui::Button::new(text);
            if chosen {
                button = button.fill(theme::SELECT);
            }
            if ui.add(button).on_hover_text("Show the map of this variant").clicked() {
                *of = Some(id);
            }
        }
    });
    let (color, text) = told(tuning, auto);
    match tuning.state {
        // It changes several times a second, and would make the panel jump.
        TuningState::Running(_) => line(ui, &text, color),
        _ => drop(ui.label(egui::RichText::new(&text).font(theme::words(12.0)).color(color))),
    }
    if let Some(((width, height), radius)) = tuning.of {
        let (first, last) = tuning.radii;
        let what = format!(
            "{width} \u{d7} {height} ({}), radius {radius}, kept for {first} to {last}",
            class(width, height)
        );
        line(ui, &what, theme::WEAK);
    }
    if let Some((best, ms)) = best(&tuning.trials) {
        let name = if tuning.state == TuningState::Done { "Best" } else { "Best so far" };
        let text = format!("{name}: {} {}, {} ms", best.rung, best.config, theme::ms(ms));
        line(ui, &text, theme::STRONG);
    }
    if let Some(map) = shown.and_then(|id| Map::of(&tuning.trials, id)) {
        heat_map(ui, &map, tuning);
    }
}

const TUNE_NOW: &str = "Search for this device, size and radius now, also while the movie plays on a CPU.\n\
    It waits while frames are late or a filter is slow.";

const WHEN: &str = "while auto is chosen, and on a CPU in a pause";

fn class(width: u32, height: u32) -> &'static str {
    match SizeClass::of(width, height) {
        SizeClass::Small => "small pictures",
        SizeClass::Medium => "medium pictures",
        SizeClass::Large => "large pictures",
    }
}

/// The state in words.
fn told(tuning: &Tuning, auto: Option<&str>) -> (Color32, String) {
    let count = count(tuning);
    let here = auto.map_or_else(String::new, |auto| format!(" Here auto is {auto}."));
    match &tuning.state {
        TuningState::Idle if tuning.of.is_none() => {
            let text = format!(
                "Nothing is being searched.{here} What is not known yet is searched in spare time, {WHEN}."
            );
            (theme::WEAK, text)
        }
        TuningState::Idle => (theme::WEAK, "The search was ended.".to_owned()),
        TuningState::Waiting(reason) => (theme::WARN, format!("{count}; waits: {reason}. {}", reason.end())),
        TuningState::Running(what) => (theme::GOOD, format!("{count}; {what}")),
        TuningState::Done => (theme::GOOD, format!("Done: {} tried.{here}", tuning.trials.len())),
        TuningState::Failed(why) => (theme::ERROR, why.clone()),
    }
}

/// One line; what does not fit is cut, and the hover text has it.
fn line(ui: &mut Ui, text: &str, color: Color32) {
    let text = egui::RichText::new(text).font(theme::words(12.0)).color(color);
    ui.add(egui::Label::new(text).truncate());
}

fn heat_map(ui: &mut Ui, map: &Map<Code>, tuning: &Tuning) {
    let across = map.across.map_or("", |p| p.name);
    let down = map.down.map_or("", |p| p.name);
    let size = vec2(ui.available_width(), TOP + map.rows.len() as f32 * CELL);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let head = pos2(area.left() + LEFT, area.top() + 8.0);
    let painter = ui.painter();
    let (font, weak) = (theme::words(11.5), theme::WEAK);
    painter.text(pos2(area.left(), head.y), Align2::LEFT_CENTER, down, font.clone(), weak);
    let columns = map.columns.len().max(1) as f32;
    let width = ((area.width() - LEFT) / columns).clamp(NARROWEST, 84.0);
    painter.text(head, Align2::LEFT_CENTER, across, font, weak);
    let top = area.top() + TOP;
    for (n, value) in map.columns.iter().enumerate().filter(|_| map.across.is_some()) {
        let x = head.x + (n as f32 + 0.5) * width;
        let font = theme::figures(11.0);
        painter.text(pos2(x, top - 9.0), Align2::CENTER_CENTER, value.to_string(), font, theme::TEXT);
    }
    for (m, value) in map.rows.iter().enumerate() {
        let y = top + m as f32 * CELL;
        if map.down.is_some() {
            let at = pos2(head.x - 8.0, y + CELL / 2.0);
            let font = theme::figures(11.0);
            ui.painter().text(at, Align2::RIGHT_CENTER, value.to_string(), font, theme::TEXT);
        }
        for n in 0..map.columns.len() {
            let corner = pos2(head.x + n as f32 * width, y);
            let rect = Rect::from_min_size(corner, vec2(width - 2.0, CELL - 2.0));
            cell(ui, rect, (n, m), map.cell(n, m), map.around, tuning);
        }
    }
}

/// Time relative to the best of the map: between finalists of their medians, otherwise of the least runs, which all have.
fn ratio(trial: &Trial, best: &Trial) -> Option<f64> {
    let medians = trial.median_ms.zip(best.median_ms);
    let (ms, best) = medians.or_else(|| trial.ms().zip(best.ms()))?;
    (best > 0.0).then(|| ms / best)
}

/// [`ratio`] is written into the cell; its colour says the same.
fn cell(ui: &Ui, rect: Rect, at: (usize, usize), trial: Option<&Trial>, best: &Trial, tuning: &Tuning) {
    let (text, fill) = match trial {
        None => ("\u{b7}".to_owned(), theme::RULE.gamma_multiply(0.35)),
        Some(trial) => match (&trial.status, ratio(trial, best)) {
            (Status::Scored(_), Some(ratio)) => (format!("{ratio:.2}"), heat(ratio)),
            (Status::Scored(ms), None) => (theme::ms(trial.median_ms.unwrap_or(*ms)), theme::RULE),
            (Status::Abandoned(_), _) => ("A".to_owned(), theme::RULE),
            (Status::Mismatch(_), _) => ("M".to_owned(), theme::RULE),
            (Status::Failed(_), _) => ("F".to_owned(), theme::RULE),
        },
    };
    let painter = ui.painter();
    painter.rect_filled(rect, 2, fill);
    let light = 2 * u32::from(fill.r()) + 5 * u32::from(fill.g()) + u32::from(fill.b()) > 900;
    let color = if light { Color32::BLACK } else { theme::STRONG };
    painter.text(rect.center(), Align2::CENTER_CENTER, text, theme::figures(11.0), color);
    if trial.is_some_and(|t| t.ms().is_some() && std::ptr::eq(t, best)) {
        painter.rect_stroke(rect, 2, egui::Stroke::new(1.5, Color32::WHITE), egui::StrokeKind::Inside);
    }
    let response = ui.interact(rect, ui.unique_id().with(at), Sense::hover());
    match trial {
        Some(trial) => response.on_hover_text(about(trial, tuning)),
        None => {
            response.on_hover_text("Not tried: this device cannot run it, or the search has not been here")
        }
    };
}

/// From light to dark with the time: the best is the lightest, twice its time and more the darkest.
fn heat(ratio: f64) -> Color32 {
    let t = ((ratio - 1.0).clamp(0.0, 1.0) as f32).sqrt();
    let mix = |a: f32, b: f32| (a + (b - a) * t) as u8;
    Color32::from_rgb(mix(253.0, 62.0), mix(212.0, 24.0), mix(92.0, 96.0))
}

/// A trial in words.
fn about(trial: &Trial, tuning: &Tuning) -> String {
    let compiled = trial.compile_ms.map_or_else(|| "\u{2013}".to_owned(), |ms| format!("{ms:.0} ms"));
    let head = format!("{} {}\ncompiled in {compiled}\n", trial.rung, trial.config);
    let rest = match &trial.status {
        Status::Scored(least) => {
            // As the line of the best and the cache say it.
            let ms = trial.median_ms.unwrap_or(*least);
            let ((width, height), _) = tuning.of.unwrap_or_default();
            let bytes = f64::from(width) * f64::from(height) * 8.0;
            let percent = match tuning.copy_ms {
                Some(copy) => format!("{:.0} % of a copy's speed", 100.0 * copy / ms),
                None => "against a copy: known at the end".to_owned(),
            };
            format!("{} ms, {:.2} GB/s read and written, {percent}", theme::ms(ms), bytes / (ms * 1e6))
        }
        Status::Abandoned(ms) => format!("A: abandoned, one run would take about {} ms", theme::ms(*ms)),
        Status::Mismatch(report) => format!("M: differs from the reference, never timed\n{report}"),
        Status::Failed(why) => format!("F: failed\n{why}"),
    };
    head + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::{Config, VariantId};
    use opencl::cl::DeviceKind;

    fn lightness(color: Color32) -> u32 {
        2 * u32::from(color.r()) + 5 * u32::from(color.g()) + u32::from(color.b())
    }

    #[test]
    fn slower_is_darker_without_exception() {
        let shades: Vec<u32> = (0..=10).map(|n| lightness(heat(1.0 + f64::from(n) / 10.0))).collect();
        assert!(shades.windows(2).all(|w| w[0] > w[1]), "{shades:?}");
        assert_eq!(heat(9.0), heat(2.0));
    }

    #[test]
    fn what_hovers_says_time_rate_and_share_or_why_there_is_none() {
        let code = VariantId::Fused.kernels().unwrap().code(DeviceKind::Cpu);
        let config = Config::of(code, DeviceKind::Cpu);
        let trial = |status| Trial {
            rung: "fused",
            config: config.clone(),
            compile_ms: Some(12.0),
            status,
            median_ms: None,
            noise: None,
        };
        let tuning = Tuning { of: Some(((1000, 500), 7)), copy_ms: Some(0.5), most: 9, ..Tuning::NONE };
        let text = about(&trial(Status::Scored(2.0)), &tuning);
        assert!(text.contains("fused STRIPS=2") && text.contains("2.00 ms"), "{text}");
        assert!(text.contains("compiled in 12 ms"), "{text}");
        let apart = Trial { compile_ms: None, ..trial(Status::Failed("no".into())) };
        assert!(
            about(&apart, &tuning).contains("compiled in \u{2013}"),
            "what was not compiled took no 0 ms"
        );
        assert!(text.contains("2.00 GB/s") && text.contains("25 % of a copy"), "{text}");
        let finalist = Trial { median_ms: Some(4.0), ..trial(Status::Scored(2.0)) };
        let text = about(&finalist, &tuning);
        assert!(
            text.contains("4.00 ms") && text.contains("1.00 GB/s") && text.contains("12 % of a copy"),
            "{text}"
        );
        let winner = Trial { median_ms: Some(2.0), ..trial(Status::Scored(1.6)) };
        assert_eq!(ratio(&finalist, &winner), Some(2.0), "by the medians");
        assert_eq!(ratio(&trial(Status::Scored(3.2)), &winner), Some(2.0), "by the least runs");
        assert_eq!(ratio(&trial(Status::Failed("no".into())), &winner), None);
        assert!(about(&trial(Status::Abandoned(70.0)), &tuning).contains("A: abandoned"));
        assert!(about(&trial(Status::Failed("because".into())), &tuning).contains("because"));
    }
}
