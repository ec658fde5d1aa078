//! The panel that checks the type conversions (`convert_T()` functions) of OpenCL C on the device in use: a matrix of source
//! and destination types, with a square for each case.

use std::collections::BTreeMap;

use ladders::type_conversions::state::State;
use ladders::type_conversions::types::{Case, Rounding, Type};

use crate::job::{JobState, start_or_stop};
use crate::panel::{ColumnPanel, Pane, line, paragraph};
use crate::prelude::*;

/// The state and the results of a background check of the device's type conversions (`convert_T()` functions).
#[derive(Debug, Clone, Default)]
pub struct Conversions {
    /// The state of the check.
    pub state: JobState,
    /// The name of the tested device.
    pub device: String,
    /// The seed of the random numbers that the check passes to the conversions.
    pub seed: u32,
    /// The state of each case (conversion, rounding mode and saturation) that the device supports.
    pub cases: BTreeMap<Case, State>,
}

impl Conversions {
    /// Creates the state of a check that has just started on the device with this name, with this seed of random numbers.
    pub fn new(device: &str, seed: u32) -> Self {
        let state = JobState::Running(String::new());
        Self { state, device: device.to_owned(), seed, cases: BTreeMap::new() }
    }

    /// Sets the cases that will be tested.
    pub fn set_cases(&mut self, cases: Vec<Case>) {
        self.cases = cases.into_iter().map(|case| (case, State::Partial(0))).collect();
    }

    /// Returns the number of cases whose state `is` accepts.
    fn count_cases(&self, is: fn(&State) -> bool) -> usize {
        self.cases.values().filter(|state| is(state)).count()
    }

    /// Returns the number of tested cases, and the number of all cases.
    pub fn progress(&self) -> (usize, usize) {
        (self.count_cases(|state| !matches!(state, State::Partial(_))), self.cases.len())
    }

    /// Returns the estimated remaining time as text, such as ", about 12 s left", computed from the elapsed seconds; empty at
    /// the start, when drivers and compilers take most of the time.
    pub fn time_left(&self, elapsed_s: f64) -> String {
        let (known, all) = self.progress();
        match known > all / 50 {
            true => format!(", about {:.0} s left", elapsed_s * (all - known) as f64 / known as f64),
            false => String::new(),
        }
    }
}

/// Height in points of a row of the matrix.
const ROW_HEIGHT: f32 = 20.0;
/// Width in points of the names of source types before the rows.
const NAMES_WIDTH: f32 = 52.0;
/// Space in points between two cells of the matrix.
const CELL_GAP: f32 = 3.0;
/// Height in points of the names of destination types above the matrix.
const HEADER_HEIGHT: f32 = 20.0;
/// The hover text of the button that starts the check.
const START_HOVER: &str = "Test every convert_*() of OpenCL C on this device, with each rounding mode, for scalars and vectors, in child \
                         processes: all values of 8 and 16 bits, of wider types edge cases and 2^20 random values.\nThe movie keeps \
                         playing, but slower.";
/// The line below the matrix that explains its cells.
const LEGEND: &str =
    "Each cell: default, rte, rtz, rtp, rtn; second row with _sat. \u{d7} wrong, \u{2013} not testable";

pub(super) static CONVERSIONS: ColumnPanel = ColumnPanel {
    key: Some(("k", "check of type conversions")),
    progress: |view| {
        let (tested, cases) = view.conversions.progress();
        view.conversions.state.is_under_way().then(|| format!("{tested} of {cases}"))
    },
    ..ColumnPanel::new(
        Panel::Conversions,
        ("Conversions", "Test the device's convert_*() functions of OpenCL C"),
        450.0,
        show,
    )
};

fn show(ui: &mut Ui, pane: &mut Pane) {
    let pass = &mut *pane.pass;
    let check = pass.view.conversions;
    let (color, text) = state_text(check);
    match check.state {
        // The reason stands nowhere else, so it must not be cut.
        JobState::Failed(_) => paragraph(ui, &text, color),
        _ => line(ui, &text, color),
    };
    let (known, all) = check.progress();
    if check.state.is_under_way() {
        let done = known as f32 / all.max(1) as f32;
        let bar = ui.add(egui::ProgressBar::new(done).desired_height(6.0).fill(theme::GOOD));
        bar.named(Role::ProgressIndicator, "Progress").valued(|| format!("{known} of {all}"));
    }
    ui.horizontal(|ui| {
        let start = ("Check now", START_HOVER, Action::CheckConversions);
        let stop = ("Stop", "Stop; results so far are kept", Action::StopChecking);
        pass.actions.extend(start_or_stop(ui, &check.state, start, stop));
        if !check.device.is_empty() {
            line(ui, &format!("{}, seed {}", check.device, check.seed), theme::WEAK);
        }
    });
    if !check.cases.is_empty() {
        show_matrix(ui, check);
        line(ui, LEGEND, theme::WEAK);
    }
    let mut faults = check.cases.iter().filter_map(|(case, state)| {
        let why = match state {
            State::Wrong(_, failure) => failure.to_string(),
            State::Unsupported(why) | State::MissingInDriver(why) | State::Failed(why) => why.clone(),
            State::Partial(_) | State::Ok(_) => return None,
        };
        Some((*case, why))
    });
    // The greatest number of faults that the panel lists.
    for (case, why) in faults.by_ref().take(8) {
        line(ui, &format!("{case}, {why}"), theme::WARN).explain(case_hover_text(check, case));
    }
    match faults.count() {
        0 => {}
        more => _ = line(ui, &format!("and {more} more: clreel conformance lists all"), theme::WEAK),
    }
}

/// Returns the text of the check's state, and its colour.
fn state_text(check: &Conversions) -> (Color32, String) {
    let (known, all) = check.progress();
    let wrong = check.count_cases(|state| matches!(state, State::Wrong(..)));
    let failed = check.count_cases(|state| matches!(state, State::Unsupported(_) | State::Failed(_)));
    let missing = check.count_cases(|state| matches!(state, State::MissingInDriver(_)));
    let mut found = format!("{} correct", known - wrong - failed - missing);
    for (count, word) in [(wrong, "wrong"), (failed, "failed"), (missing, "missing in the driver")] {
        if count > 0 {
            found.push_str(&format!(", {count} {word}"));
        }
    }
    let color = if wrong + failed + missing > 0 { theme::WARN } else { theme::GOOD };
    match &check.state {
        JobState::Idle => (theme::WEAK, "convert_*() on this device: not tested.".to_owned()),
        JobState::Running(_) if known == 0 => {
            (theme::TEXT, "Loading drivers, compiling conversions.".to_owned())
        }
        JobState::Waiting(reason) | JobState::Ending(reason) => (theme::WARN, format!("Waiting: {reason}.")),
        JobState::Running(left) => (color, format!("{known} of {all}: {found}{left}")),
        JobState::Stopped => (theme::WEAK, format!("Stopped at {known} of {all}: {found}.")),
        JobState::Done => (color, format!("{all} conversions tested: {found}.")),
        JobState::Failed(why) => (theme::ERROR, why.clone()),
    }
}

/// Returns the hover text of a case: its result, and for a fault the command that reproduces it.
fn case_hover_text(check: &Conversions, case: Case) -> String {
    let Conversions { device, seed, cases, .. } = check;
    let command = format!("clreel conformance --device '{device}' --type {case} --seed {seed}");
    match cases.get(&case) {
        None | Some(State::Partial(_)) => format!("convert_{case}: not tested yet"),
        Some(State::Ok(_)) => format!("convert_{case}: correct, scalar and all vector widths"),
        Some(State::Wrong(_, failure)) => format!("convert_{case}: wrong, {failure}\nReproduce: {command}"),
        Some(State::Unsupported(why) | State::MissingInDriver(why) | State::Failed(why)) => {
            format!("convert_{case}: not testable: {why}\nReproduce: {command}")
        }
    }
}

/// Lays out the matrix: a row for each source type, a column for each destination type.
fn show_matrix(ui: &mut Ui, check: &Conversions) {
    let is_used = |ty: &Type| check.cases.keys().any(|case| case.from == *ty || case.to == *ty);
    let types: Vec<Type> = Type::ALL.into_iter().filter(is_used).collect();
    let size = vec2(ui.available_width(), HEADER_HEIGHT + types.len() as f32 * ROW_HEIGHT);
    let (area, response) = ui.allocate_exact_size(size, Sense::hover());
    let width = (area.width() - NAMES_WIDTH) / types.len().max(1) as f32;
    let (first, cell) = (area.min + vec2(NAMES_WIDTH, HEADER_HEIGHT), vec2(width, ROW_HEIGHT));
    let head = "from\u{a0}\u{2193} to\u{a0}\u{2192}";
    let middle = area.top() + HEADER_HEIGHT / 2.0 - 1.0;
    ui.words(pos2(area.left(), middle), Align2::LEFT_CENTER, head, 9.5, theme::WEAK);
    for (n, ty) in (0_u8..).map(|n| f32::from(n) + 0.5).zip(&types) {
        let above = pos2(first.x + n * width - CELL_GAP / 2.0, middle);
        ui.words(above, Align2::CENTER_CENTER, ty.name(), 11.0, theme::TEXT);
        let before = pos2(first.x - 6.0, first.y + n * ROW_HEIGHT - CELL_GAP / 2.0);
        ui.words(before, Align2::RIGHT_CENTER, ty.name(), 11.0, theme::TEXT);
    }
    // A cell has a column of squares for each rounding mode and, for integer destination types, a second row for saturation.
    let square = |case: &Case| -> Option<Rect> {
        let index = |wanted: Type| types.iter().position(|ty| *ty == wanted).map(|at| at as f32);
        let column = Rounding::ALL.iter().position(|rounding| *rounding == case.rounding)? as f32;
        let (rows, row) =
            if case.to.is_integer() { (2.0, f32::from(u8::from(case.saturates))) } else { (1.0, 0.0) };
        let size = (cell - Vec2::splat(CELL_GAP)) / vec2(Rounding::ALL.len() as f32, rows);
        let corner = first + cell * vec2(index(case.to)?, index(case.from)?) + size * vec2(column, row);
        Some(Rect::from_min_size(corner, size))
    };
    let response = response.named(Role::Image, "Conversions").valued(|| state_text(check).1);
    let (pointer, mut pointed) = (response.hover_pos(), None);
    for (case, state) in &check.cases {
        let Some(square) = square(case) else { continue };
        show_square(ui, square, state);
        if pointer.is_some_and(|at| square.contains(at)) {
            pointed = Some(*case);
        }
    }
    if let Some(case) = pointed {
        response.explain_at_pointer(|ui| _ = ui.label(case_hover_text(check, case)));
    }
}

/// Draws the square of a case in the rectangle `square`: green if correct, red if wrong, grey if not tested or not
/// testable, with marks that distinguish the results without colours.
fn show_square(ui: &Ui, square: Rect, state: &State) {
    let fill = match state {
        State::Partial(_) => theme::IDLE,
        State::Ok(_) => theme::GOOD,
        State::Wrong(..) => theme::ERROR,
        State::Unsupported(_) | State::MissingInDriver(_) | State::Failed(_) => theme::WEAK,
    };
    let square = square.shrink(0.5);
    ui.painter().rect_filled(square, 1, fill);
    let mark = Rect::from_center_size(square.center(), Vec2::splat(square.size().min_elem() - 2.0));
    let stroke = Stroke::new(1.2, Color32::BLACK);
    match state {
        State::Wrong(..) => {
            ui.painter().line_segment([mark.left_top(), mark.right_bottom()], stroke);
            ui.painter().line_segment([mark.right_top(), mark.left_bottom()], stroke);
        }
        State::Partial(_) | State::Ok(_) => {}
        _ => _ = ui.painter().hline(mark.x_range(), mark.center().y, stroke),
    }
}
