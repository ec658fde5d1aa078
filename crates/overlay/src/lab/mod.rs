//! The Lab: a ladder that filters no movie, measured in spare time. In: a [`Lab`]. Out: wishes to begin or end that; a table
//! that fills while it runs, with a bar for each rung's median and its factor.

mod table;

use egui::{Align2, Color32, Rect, Ui, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::words::Wait;
use super::{Action, panel, theme};
use base::timing::{Noise, Series};
use ladders::Listed;

/// What the Lab does now.
#[derive(Debug, Clone, PartialEq)]
pub enum LabState {
    /// Nothing; what is shown is known, or nothing is.
    Idle,
    /// It is to measure, and waits for this.
    Waiting(Wait),
    /// The same, and a step that had begun before is not over yet.
    Ending(Wait),
    /// It measures; this is the step.
    Running(String),
    /// All is measured.
    Done,
    /// It was ended before.
    Stopped,
    /// It could not be done, and why.
    Failed(String),
}

/// A rung that takes part, or a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct LabRow {
    /// Its name.
    pub name: String,
    /// What stands in the place of its times, in a word; empty where nothing is known yet.
    pub outcome: String,
    /// Why.
    pub reason: Option<String>,
    /// What was chosen for it; only where there was a choice.
    pub chosen: Option<String>,
    /// Its times in milliseconds: the device's, or the wall's where that has none.
    pub time: Option<Series>,
    /// Whether they are the wall's.
    pub by_wall: bool,
    /// Why its times are noisy, if they are.
    pub noisy: Option<String>,
    /// What it does in a second, with the unit.
    pub rate: Option<(f64, &'static str)>,
}

impl LabRow {
    /// One of which nothing is known.
    pub fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            outcome: String::new(),
            reason: None,
            chosen: None,
            time: None,
            by_wall: false,
            noisy: None,
            rate: None,
        }
    }

    /// Its median.
    fn ms(&self) -> Option<f64> {
        self.time.map(|time| time.p50).filter(|ms| *ms > 0.0)
    }

    /// The sentence that says what is wrong with it, where something is. The rest of the reason tells more of it.
    fn fault(&self) -> Option<&str> {
        let reason = self.reason.as_deref().filter(|_| self.is_wrong())?;
        reason.lines().next()
    }

    /// Whether it makes something wrong, or fails.
    fn is_wrong(&self) -> bool {
        ["mismatch", "failed"].contains(&self.outcome.as_str())
    }

    /// How much of its digits can be believed.
    fn noise(&self) -> Option<Noise> {
        // What others used is in the sentence alone.
        self.noisy.as_ref().and_then(|_| Noise::of(&self.time?, Some(1.0)))
    }
}

/// What the Lab has measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    /// What it does now.
    pub state: LabState,
    /// The ladder and the size, as [`Listed`] has them.
    pub of: Option<(&'static str, &'static str)>,
    /// The device's name.
    pub device: String,
    /// Steps that are done, and all of them.
    pub steps: (u64, u64),
    /// What nothing can pass.
    pub limit: Option<LabRow>,
    /// The rungs in order, as far as something is known.
    pub rows: Vec<LabRow>,
    /// What the ladder makes of it: which rung, and why.
    pub remark: Option<String>,
}

impl Lab {
    /// Nothing has been measured.
    pub const NONE: Lab = Lab {
        state: LabState::Idle,
        of: None,
        device: String::new(),
        steps: (0, 0),
        limit: None,
        rows: Vec::new(),
        remark: None,
    };

    /// Whether something is under way, running or not.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, LabState::Waiting(_) | LabState::Ending(_) | LabState::Running(_))
    }
}

/// What the user has chosen to measure.
#[derive(Debug)]
pub(super) struct Choice {
    ladders: Vec<Listed>,
    ladder: usize,
    size: usize,
}

impl Default for Choice {
    fn default() -> Self {
        Self { ladders: ladders::all(), ladder: 0, size: 1 }
    }
}

impl Choice {
    /// The ladder and one of its sizes.
    fn now(&self) -> Option<(&Listed, &'static str)> {
        let ladder = self.ladders.get(self.ladder)?;
        Some((ladder, ladder.sizes.get(self.size).or(ladder.sizes.first())?))
    }
}

/// The panel's width in points.
const WIDTH: f32 = 440.0;
const ABOUT: &str = "Measures a ladder that needs no movie, as 'clreel bench' does, in a process of its own: each rung is \
                     checked first, then all take turns.\nIt goes on only while the movie stands still, a step at a time, so \
                     that neither disturbs the other's times.";

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Lab,
    key: Some(("b", "the Lab: other ladders")),
    menu: ("Lab", "Other ladders, measured while the movie stands still"),
    size: vec2(WIDTH, 420.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::RIGHT_TOP,
    is_shown: |overlay, _| overlay.open[Panel::Lab as usize],
    show: |overlay, ui, rect, view, actions| {
        let folded = overlay.is_folded(Panel::Lab);
        show(ui, rect, view.lab, &mut overlay.lab, folded, actions)
    },
};

/// Lays the panel out in `rect`, with a scroll bar where it is too low. Returns what was done with the title, and the height
/// that the panel would like to have.
fn show(
    ui: &mut Ui,
    rect: Rect,
    lab: &Lab,
    choice: &mut Choice,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let name = match folded && lab.is_under_way() {
        true => format!("Lab, {}", count(lab)),
        false => "Lab".to_owned(),
    };
    let frame = panel::Frame {
        panel: Panel::Lab,
        id: "lab",
        name: &name,
        hover: &format!("{ABOUT}\n{}", place::HOVER),
        close: ("Close this panel: the key b", Action::Toggle(Panel::Lab)),
    };
    frame.around(ui, rect, folded, actions, |ui, actions| contents(ui, lab, choice, actions))
}

/// How far it is.
fn count(lab: &Lab) -> String {
    let (done, steps) = lab.steps;
    if steps == 0 { "begins".to_owned() } else { format!("step {} of {steps}", (done + 1).min(steps)) }
}

fn contents(ui: &mut Ui, lab: &Lab, choice: &mut Choice, actions: &mut Vec<Action>) {
    let names: Vec<String> = choice.ladders.iter().map(|one| words(one.name)).collect();
    let abouts: Vec<&str> = choice.ladders.iter().map(|one| one.about).collect();
    if let Some(ladder) = choose(ui, &names, &abouts, choice.ladder) {
        (choice.ladder, choice.size) = (ladder, 0);
    }
    let sizes: Vec<String> = choice
        .ladders
        .get(choice.ladder)
        .map_or(Vec::new(), |one| one.sizes.iter().map(|size| label(size)).collect());
    if let Some(size) = choose(ui, &sizes, &[], choice.size) {
        choice.size = size;
    }
    let Some((ladder, size)) = choice.now() else { return };
    let (color, text) = told(lab);
    let failed = matches!(lab.state, LabState::Failed(_));
    ui.horizontal(|ui| {
        if lab.is_under_way() {
            if ui.button("Stop").on_hover_text("End it; what is measured stays").clicked() {
                actions.push(Action::StopMeasuring);
            }
        } else if ui.button("Measure").on_hover_text(ABOUT).clicked() {
            actions.push(Action::Measure { ladder: ladder.name, size });
        }
        if !failed {
            line(ui, &text, color);
        }
    });
    if failed {
        // All of it: nothing else says it.
        ui.label(egui::RichText::new(text).font(theme::words(12.0)).color(color));
    }
    let is_its_own = lab.of == Some((ladder.name, size));
    let unknown: Vec<LabRow>;
    let (limit, rows) = match is_its_own && !lab.rows.is_empty() {
        true => (lab.limit.as_ref(), lab.rows.as_slice()),
        false => {
            unknown = (ladder.rungs)().iter().map(|rung| LabRow::unknown(rung.id)).collect();
            (None, unknown.as_slice())
        }
    };
    match is_its_own && !lab.device.is_empty() {
        true => line(ui, &format!("{}, {}, on {}", words(ladder.name), label(size), lab.device), theme::WEAK),
        false => line(ui, ladder.about, theme::WEAK),
    }
    table::show(ui, limit, rows);
    for row in limit.into_iter().chain(rows) {
        let Some(fault) = row.fault() else { continue };
        let text =
            egui::RichText::new(format!("{}: {fault}", row.name)).font(theme::words(12.0)).color(theme::WARN);
        ui.label(text).on_hover_text(row.reason.as_deref().unwrap_or_default());
    }
    if let Some(remark) = lab.remark.as_ref().filter(|_| is_its_own) {
        ui.label(egui::RichText::new(remark).font(theme::words(12.0)).color(theme::TEXT));
    }
}

/// Buttons of which one is chosen; which was clicked.
fn choose(ui: &mut Ui, names: &[String], hovers: &[&str], chosen: usize) -> Option<usize> {
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        for (n, name) in names.iter().enumerate() {
            let text =
                egui::RichText::new(name).color(if n == chosen { Color32::BLACK } else { theme::TEXT });
            let mut button = egui::Button::new(text);
            if n == chosen {
                button = button.fill(theme::SELECT);
            }
            let response = ui.add(button);
            if response.clicked() {
                clicked = Some(n);
            }
            if let Some(hover) = hovers.get(n) {
                response.on_hover_text(*hover);
            }
        }
    });
    clicked
}

/// A name of the code in words.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A size as a person would say it.
fn label(size: &str) -> String {
    let parts: Vec<&str> = size.split([',', 'x']).collect();
    match (parts.as_slice(), size.contains(',')) {
        ([one], _) => theme::thousands(one.parse().unwrap_or_default()),
        ([a, b, c], true) if a == b && b == c => format!("{a}\u{b3}"),
        ([a, b], true) if a == b => format!("{a}\u{b2}"),
        _ => parts.join(" \u{d7} "),
    }
}

/// The state in words.
fn told(lab: &Lab) -> (Color32, String) {
    let count = count(lab);
    match &lab.state {
        LabState::Idle => (theme::WEAK, "Measures only while the movie stands still.".to_owned()),
        LabState::Waiting(reason) => (theme::WARN, format!("{count}; waits: {reason}. {}", reason.end())),
        LabState::Ending(reason) => {
            (theme::WARN, format!("{reason}; the step that has begun disturbs its times. {}", reason.end()))
        }
        LabState::Running(what) => (theme::GOOD, format!("{count}: {what}")),
        LabState::Done => (theme::GOOD, "Done.".to_owned()),
        LabState::Stopped => (theme::WEAK, "It was ended before all was measured.".to_owned()),
        LabState::Failed(why) => (theme::ERROR, why.clone()),
    }
}

/// One line; what does not fit is cut, and the hover text has it.
fn line(ui: &mut Ui, text: &str, color: Color32) {
    let text = egui::RichText::new(text).font(theme::words(12.0)).color(color);
    ui.add(egui::Label::new(text).truncate());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        let said = ["512,512,512", "1024,1024", "2047,1023", "4096,16,1024", "65536", "1280x720"].map(label);
        let want = ["512³", "1024²", "2047 × 1023", "4096 × 16 × 1024", "65,536", "1280 × 720"];
        assert_eq!(said, want);
    }
}
