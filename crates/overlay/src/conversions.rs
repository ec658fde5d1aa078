//! The conversions of OpenCL C on the device in use, checked while one watches: a matrix of sources and destinations, with a
//! square for each case, that fills. In: a [`Conversions`]. Out: wishes to begin or end the check.

use std::collections::BTreeMap;

use egui::{Align2, Color32, Pos2, Rect, Sense, Stroke, Ui, Vec2, pos2, vec2};

use super::panels::{self, Entry};
use super::place::{self, Panel, Title};
use super::{Action, panel, theme};
use ladders::type_conversions::run::State;
use ladders::type_conversions::types::{Case, Rounding, Type};

/// What the check does now.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum CheckState {
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

/// What is known of a case.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Found {
    /// Nothing yet.
    #[default]
    Nothing,
    /// It is right.
    Right,
    /// It is wrong, and how.
    Wrong(String),
    /// It could not be tried, and why.
    Failed(String),
}

impl Found {
    /// What is the matter, where something is.
    fn fault(&self) -> Option<&str> {
        match self {
            Found::Wrong(why) | Found::Failed(why) => Some(why),
            Found::Nothing | Found::Right => None,
        }
    }
}

/// A check in the background.
#[derive(Debug, Clone, Default)]
pub struct Conversions {
    /// What it does now.
    pub state: CheckState,
    /// The device that it is of.
    pub device: String,
    /// What the random numbers come from.
    pub seed: u32,
    /// Each case that the device has.
    pub cases: BTreeMap<Case, Found>,
}

impl Conversions {
    /// One that begins.
    pub fn begun(device: &str, seed: u32) -> Self {
        let state = CheckState::Running(None);
        Self { state, device: device.to_owned(), seed, cases: BTreeMap::new() }
    }

    /// These are going to be tried.
    pub fn begin_with(&mut self, cases: Vec<Case>) {
        self.cases = cases.into_iter().map(|case| (case, Found::Nothing)).collect();
    }

    /// Whether it is under way.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, CheckState::Running(_))
    }

    /// Notes what is known of a case.
    pub fn note(&mut self, case: Case, state: State) {
        let found = match state {
            State::Going(_) => return,
            State::Ok(_) => Found::Right,
            State::Wrong(_, failure) => Found::Wrong(failure.to_string()),
            State::Unsupported(why) | State::Failed(why) => Found::Failed(why),
        };
        self.cases.insert(case, found);
    }

    fn count(&self, is: fn(&Found) -> bool) -> usize {
        self.cases.values().filter(|found| is(found)).count()
    }

    /// How many cases are known, and how many there are.
    pub fn progress(&self) -> (usize, usize) {
        (self.count(|found| *found != Found::Nothing), self.cases.len())
    }

    /// How long it will go on by what was done in so many seconds; `None` as long as drivers and compilers were most of that.
    pub fn seconds_left(&self, took: f64) -> Option<f64> {
        let (known, all) = self.progress();
        (known > all / 50).then(|| took * (all - known) as f64 / known as f64)
    }
}

/// The panel's width in points.
const WIDTH: f32 = 470.0;
/// Height of a source's row; widths of the names before it, and of the space between two cells.
const ROW: f32 = 20.0;
const NAMES: f32 = 52.0;
const APART: f32 = 3.0;
/// Height of the destinations' names.
const TOP: f32 = 20.0;
/// Most faults that are listed.
const LISTED: usize = 8;
const CHECK_NOW: &str = "Try every convert_ of OpenCL C on this device, each rounding, scalar and in vectors, in processes of \
                         their own: all numbers of 8 and 16 bits, of wider types edges and 2^20 random ones.\nThe movie goes \
                         on, and is slower meanwhile.";
const LEGEND: &str =
    "Each cell: default rte rtz rtp rtn, below with _sat; \u{d7} wrong, \u{2013} could not be tried";

/// Its entry.
pub(super) const ENTRY: Entry = Entry {
    panel: Panel::Conversions,
    key: Some(("k", "conversions, checked")),
    menu: ("Conversions", "Whether the device's conversions are right: convert_ of OpenCL C"),
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
    frame.around(ui, rect, folded, actions, |ui, actions| contents(ui, check, actions))
}

fn contents(ui: &mut Ui, check: &Conversions, actions: &mut Vec<Action>) {
    let (color, text) = told(check);
    match check.state {
        // All of it: nothing else says it.
        CheckState::Failed(_) => {
            ui.label(egui::RichText::new(text).font(theme::words(12.0)).color(color));
        }
        _ => {
            line(ui, &text, color);
        }
    }
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
    if !check.cases.is_empty() {
        matrix(ui, check);
        line(ui, LEGEND, theme::WEAK);
    }
    let faults = || check.cases.iter().filter_map(|(case, found)| Some((case, found.fault()?)));
    for (case, why) in faults().take(LISTED) {
        line(ui, &format!("{case}, {why}"), theme::WARN).on_hover_text(about(check, *case));
    }
    if let Some(more) = faults().count().checked_sub(LISTED).filter(|more| *more > 0) {
        line(ui, &format!("and {more} more: clreel conformance lists all"), theme::WEAK);
    }
}

/// The state in words.
fn told(check: &Conversions) -> (Color32, String) {
    let (known, all) = check.progress();
    let wrong = check.count(|found| matches!(found, Found::Wrong(_)));
    let failed = check.count(|found| matches!(found, Found::Failed(_)));
    let mut found = format!("{} right", known - wrong - failed);
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
        CheckState::Running(_) if known == 0 => {
            (theme::TEXT, "It begins: drivers are loaded, conversions compiled.".to_owned())
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

/// One line; what does not fit is cut, and a hover text has it.
fn line(ui: &mut Ui, text: &str, color: Color32) -> egui::Response {
    let text = egui::RichText::new(text).font(theme::words(12.0)).color(color);
    ui.add(egui::Label::new(text).truncate())
}

/// What is known of a case, in a sentence.
fn about(check: &Conversions, case: Case) -> String {
    let again =
        || format!("clreel conformance --device '{}' --type {case} --seed {}", check.device, check.seed);
    match check.cases.get(&case) {
        None | Some(Found::Nothing) => format!("convert_{case}: nothing is known of it yet"),
        Some(Found::Right) => format!("convert_{case} is right, scalar and in all vectors"),
        Some(Found::Wrong(why)) => format!("convert_{case} is wrong, {why}\nAgain: {}", again()),
        Some(Found::Failed(why)) => format!("convert_{case} could not be tried: {why}\nAgain: {}", again()),
    }
}

/// Where cells and squares lie.
struct Grid {
    types: Vec<Type>,
    first: Pos2,
    cell: Vec2,
}

impl Grid {
    /// The square of a case that is in the grid: a column for each rounding, and a row for saturation where there is any.
    fn square(&self, case: Case) -> Option<Rect> {
        let index = |of: Type| self.types.iter().position(|known| *known == of).map(|at| at as f32);
        let column = Rounding::ALL.iter().position(|of| *of == case.rounding)? as f32;
        let (rows, row) =
            if case.to.is_whole() { (2.0, f32::from(u8::from(case.saturates))) } else { (1.0, 0.0) };
        let size = (self.cell - Vec2::splat(APART)) / vec2(Rounding::ALL.len() as f32, rows);
        let corner =
            self.first + self.cell * vec2(index(case.to)?, index(case.from)?) + size * vec2(column, row);
        Some(Rect::from_min_size(corner, size))
    }
}

/// A row for each source, a column for each destination.
fn matrix(ui: &mut Ui, check: &Conversions) {
    let is_there = |of: &Type| check.cases.keys().any(|case| case.from == *of || case.to == *of);
    let types: Vec<Type> = Type::ALL.into_iter().filter(is_there).collect();
    let size = vec2(ui.available_width(), TOP + types.len() as f32 * ROW);
    let (area, response) = ui.allocate_exact_size(size, Sense::hover());
    let width = (area.width() - NAMES) / types.len().max(1) as f32;
    let (first, cell) = (area.min + vec2(NAMES, TOP), vec2(width, ROW));
    let painter = ui.painter();
    let head = "from\u{a0}\u{2193} to\u{a0}\u{2192}";
    let middle = area.top() + TOP / 2.0 - 1.0;
    painter.text(pos2(area.left(), middle), Align2::LEFT_CENTER, head, theme::words(9.5), theme::WEAK);
    let font = theme::words(11.0);
    for (n, of) in (0_u8..).map(|n| f32::from(n) + 0.5).zip(&types) {
        let above = pos2(first.x + n * width - APART / 2.0, middle);
        painter.text(above, Align2::CENTER_CENTER, of.name(), font.clone(), theme::TEXT);
        let before = pos2(first.x - 6.0, first.y + n * ROW - APART / 2.0);
        painter.text(before, Align2::RIGHT_CENTER, of.name(), font.clone(), theme::TEXT);
    }
    let grid = Grid { types, first, cell };
    let pointer = response.hover_pos();
    let mut pointed = None;
    for (case, found) in &check.cases {
        let Some(square) = grid.square(*case) else { continue };
        show_square(ui, square, found);
        if pointer.is_some_and(|at| square.contains(at)) {
            pointed = Some(*case);
        }
    }
    if let Some(case) = pointed {
        response.on_hover_text_at_pointer(about(check, case));
    }
}

/// Green what is right, red what is wrong, grey what is not known or could not be tried; marks say the same without colours.
fn show_square(ui: &Ui, square: Rect, found: &Found) {
    let fill = match found {
        Found::Nothing => theme::IDLE,
        Found::Right => theme::GOOD,
        Found::Wrong(_) => theme::ERROR,
        Found::Failed(_) => theme::WEAK,
    };
    let square = square.shrink(0.5);
    ui.painter().rect_filled(square, 1, fill);
    let mark = Rect::from_center_size(square.center(), Vec2::splat(square.size().min_elem() - 2.0));
    let stroke = Stroke::new(1.2, Color32::BLACK);
    match found {
        Found::Wrong(_) => {
            ui.painter().line_segment([mark.left_top(), mark.right_bottom()], stroke);
            ui.painter().line_segment([mark.right_top(), mark.left_bottom()], stroke);
        }
        Found::Failed(_) => {
            ui.painter().line_segment([mark.left_center(), mark.right_center()], stroke);
        }
        Found::Nothing | Found::Right => {}
    }
}
