//! The conversions of OpenCL C on the device in use, checked while one watches: a matrix of sources and destinations that
//! fills. In: a [`Conversions`]. Out: wishes to begin or end the check.

use std::collections::BTreeMap;

use egui::{Align2, Color32, Rect, Sense, Ui, pos2, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, panel, theme};
use crate::ladders::conversions::run::State;
use crate::ladders::conversions::types::{Case, Type};

/// What the check does now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum CheckState {
    /// There was none.
    #[default]
    Idle,
    /// It runs, and is over in so many seconds, if that can be said.
    Running(Option<f64>),
    /// It was ended before its end.
    Stopped,
    /// All is known.
    Done,
    /// It could not be done, and why.
    Failed(String),
}

/// What is known of the conversions of one source and destination.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cell {
    /// How many there are.
    pub all: usize,
    /// How many are right.
    pub right: usize,
    /// How many are wrong.
    pub wrong: usize,
    /// How many could not be tried.
    pub failed: usize,
}

/// A check in the background.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversions {
    /// What it does now.
    pub state: CheckState,
    /// The device that it is of.
    pub device: String,
    /// What the random numbers come from.
    pub seed: u32,
    /// Each source and destination that the device has.
    pub cells: BTreeMap<(Type, Type), Cell>,
    /// What is wrong or could not be tried, with the reason.
    pub faults: Vec<(Case, String)>,
}

impl Conversions {
    /// One that begins, of these cases.
    pub(crate) fn begun(device: &str, seed: u32, cases: &[Case]) -> Self {
        let mut cells = BTreeMap::<_, Cell>::new();
        for case in cases {
            cells.entry((case.from, case.to)).or_default().all += 1;
        }
        let state = CheckState::Running(None);
        Self { state, device: device.to_owned(), seed, cells, faults: Vec::new() }
    }

    /// Whether it is under way.
    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.state, CheckState::Running(_))
    }

    /// Notes what is known of a case.
    pub(crate) fn note(&mut self, case: Case, state: &State) {
        let Some(cell) = self.cells.get_mut(&(case.from, case.to)) else { return };
        match state {
            State::Going(_) | State::Unsupported(_) => {}
            State::Ok(_) => cell.right += 1,
            State::Wrong(_, failure) => {
                cell.wrong += 1;
                self.faults.push((case, failure.to_string()));
            }
            State::Failed(why) => {
                cell.failed += 1;
                self.faults.push((case, why.clone()));
            }
        }
    }

    /// How many cases are known, and how many there are.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let known = self.cells.values().map(|cell| cell.right + cell.wrong + cell.failed).sum();
        (known, self.cells.values().map(|cell| cell.all).sum())
    }
}

/// The panel's width in points.
const WIDTH: f32 = 470.0;
const CELL: f32 = 20.0;
/// Where the names of the sources end.
const LEFT: f32 = 52.0;
/// Where the cells begin, below the names of the destinations.
const TOP: f32 = 20.0;
/// Most faults that are listed.
const LISTED: usize = 8;

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Conversions,
    key: Some(("k", "conversions, checked")),
    button: ("convert_", "Whether the device's conversions are right: key k", 6),
    size: vec2(WIDTH, 320.0),
    least: vec2(WIDTH, panels::LEAST),
    corner: Align2::RIGHT_TOP,
    is_shown: |overlay, _| overlay.open[Panel::Conversions as usize],
    show: |overlay, ui, rect, view, actions| {
        let folded = overlay.is_folded(Panel::Conversions);
        show(ui, rect, view.conversions, folded, actions)
    },
};

/// Lays the panel out in `rect`, with a scroll bar where it is too low. Returns what was done with the title, and the height
/// that the panel would like to have.
fn show(
    ui: &mut Ui,
    rect: Rect,
    check: &Conversions,
    folded: bool,
    actions: &mut Vec<Action>,
) -> (Title, f32) {
    let (known, all) = check.progress();
    let name = match folded && check.is_under_way() {
        true => format!("Conversions, {known} of {all}"),
        false => "Conversions".to_owned(),
    };
    let frame = panel::Frame {
        panel: Panel::Conversions,
        id: "conversions",
        name: &name,
        hover: place::HOVER,
        close: ("Close this panel: the key k", Action::Toggle(Panel::Conversions)),
    };
    let (title, inner) = frame.show(ui, rect, folded, actions);
    let Some(mut ui) = inner else { return (title, panel::HEADER) };
    let margin = egui::Margin { left: 8, right: 8, top: 0, bottom: 8 };
    let height = panel::scrolled(&mut ui, rect, |ui| {
        egui::Frame::new().inner_margin(margin).show(ui, |ui| contents(ui, check, actions));
    });
    (title, panel::HEADER + height + 2.0)
}

fn contents(ui: &mut Ui, check: &Conversions, actions: &mut Vec<Action>) {
    let (color, text) = told(check);
    line(ui, &text, color);
    let (known, all) = check.progress();
    if check.is_under_way() {
        let done = known as f32 / all.max(1) as f32;
        ui.add(egui::ProgressBar::new(done).desired_height(6.0).fill(theme::GOOD));
    }
    ui.horizontal(|ui| {
        if check.is_under_way() {
            if ui.button("Stop").on_hover_text("End this check; what is known stays here").clicked() {
                actions.push(Action::StopChecking);
            }
        } else if ui.button("Check now").on_hover_text(CHECK_NOW).clicked() {
            actions.push(Action::CheckConversions);
        }
        if !check.device.is_empty() {
            line(ui, &format!("{}, seed {}", check.device, check.seed), theme::WEAK);
        }
    });
    if !check.cells.is_empty() {
        matrix(ui, check);
    }
    for (case, why) in check.faults.iter().take(LISTED) {
        line(ui, &format!("{case}, {why}"), theme::WARN).on_hover_text(format!(
            "{case}, {why}\nAgain: clreel conformance --device '{}' --type {case} --seed {}",
            check.device, check.seed
        ));
    }
    if let Some(more) = check.faults.len().checked_sub(LISTED).filter(|more| *more > 0) {
        line(ui, &format!("and {more} more: clreel conformance lists all"), theme::WEAK);
    }
}

const CHECK_NOW: &str = "Try every convert_ of OpenCL C on this device, each rounding, scalar and in vectors, in processes\n\
    of their own: all numbers of 8 and 16 bits, of wider types edges and 2^20 random ones.\n\
    The movie goes on, and is slower meanwhile.";

/// The state in words.
fn told(check: &Conversions) -> (Color32, String) {
    let (known, all) = check.progress();
    let count = |of: fn(&Cell) -> usize| check.cells.values().map(of).sum::<usize>();
    let (right, wrong, failed) =
        (count(|cell| cell.right), count(|cell| cell.wrong), count(|cell| cell.failed));
    let mut found = format!("{right} right");
    for (count, word) in [(wrong, "wrong"), (failed, "failed")] {
        if count > 0 {
            found.push_str(&format!(", {count} {word}"));
        }
    }
    let color = if wrong + failed > 0 { theme::WARN } else { theme::GOOD };
    match &check.state {
        CheckState::Idle => {
            (theme::WEAK, "Whether this device's convert_ is right: nothing is known yet.".to_owned())
        }
        CheckState::Running(left) => {
            let left = left.map_or(String::new(), |s| format!(", about {s:.0} s left"));
            (color, format!("{known} of {all}: {found}{left}"))
        }
        CheckState::Stopped => (theme::WEAK, format!("Ended at {known} of {all}: {found}.")),
        CheckState::Done => (color, format!("All {all} conversions: {found}.")),
        CheckState::Failed(why) => (theme::ERROR, why.clone()),
    }
}

/// One line; what does not fit is cut, and the hover text has it.
fn line(ui: &mut Ui, text: &str, color: Color32) -> egui::Response {
    let text = egui::RichText::new(text).font(theme::words(12.0)).color(color);
    ui.add(egui::Label::new(text).truncate())
}

/// A row for each source, a column for each destination.
fn matrix(ui: &mut Ui, check: &Conversions) {
    let types: Vec<Type> = Type::ALL
        .into_iter()
        .filter(|of| check.cells.keys().any(|(from, to)| from == of || to == of))
        .collect();
    let size = vec2(ui.available_width(), TOP + types.len() as f32 * CELL);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let width = (area.width() - LEFT) / types.len().max(1) as f32;
    let font = theme::words(11.0);
    let head = "from\u{a0}\u{2193} to\u{a0}\u{2192}";
    let at = pos2(area.left(), area.top() + 9.0);
    ui.painter().text(at, Align2::LEFT_CENTER, head, theme::words(9.5), theme::WEAK);
    for (n, of) in types.iter().enumerate() {
        let x = area.left() + LEFT + (n as f32 + 0.5) * width;
        let at = pos2(x, area.top() + 9.0);
        ui.painter().text(at, Align2::CENTER_CENTER, of.name(), font.clone(), theme::TEXT);
        let at = pos2(area.left() + LEFT - 6.0, area.top() + TOP + (n as f32 + 0.5) * CELL);
        ui.painter().text(at, Align2::RIGHT_CENTER, of.name(), font.clone(), theme::TEXT);
    }
    for (m, from) in types.iter().enumerate() {
        for (n, to) in types.iter().enumerate() {
            let Some(cell) = check.cells.get(&(*from, *to)) else { continue };
            let corner = pos2(area.left() + LEFT + n as f32 * width, area.top() + TOP + m as f32 * CELL);
            show_cell(ui, Rect::from_min_size(corner, vec2(width - 2.0, CELL - 2.0)), (*from, *to), *cell);
        }
    }
}

/// Green where all are right, red where one is wrong; grey what is not known, which the number says, too.
fn show_cell(ui: &Ui, rect: Rect, (from, to): (Type, Type), cell: Cell) {
    let known = cell.right + cell.wrong + cell.failed;
    let (fill, color) = match (cell.wrong + cell.failed, known) {
        (1.., _) => (theme::ERROR, Color32::BLACK),
        (0, 0) => (theme::IDLE, theme::WEAK),
        (0, known) if known < cell.all => (theme::GOOD.gamma_multiply(0.5), theme::STRONG),
        _ => (theme::GOOD, Color32::BLACK),
    };
    let text = match (cell.wrong, cell.failed) {
        (0, 0) if known == 0 => "\u{b7}".to_owned(),
        (0, 0) => known.to_string(),
        (0, failed) => format!("{failed} F"),
        (wrong, _) => format!("{wrong} \u{d7}"),
    };
    ui.painter().rect_filled(rect, 2, fill);
    ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, theme::figures(10.5), color);
    let of = format!("convert_{}\u{2026} of {}", to.name(), from.name());
    let Cell { all, right, wrong, failed } = cell;
    let about =
        format!("{of}: {right} of {all} right, {wrong} wrong (\u{d7}), {failed} could not be tried (F)");
    ui.interact(rect, ui.unique_id().with((from.name(), to.name())), Sense::hover()).on_hover_text(about);
}
