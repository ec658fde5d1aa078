//! The overlay panel of the cloth scene: where each simulation step runs, its times, and the buttons that move steps to the
//! host.

use std::cell::Cell;
use std::collections::VecDeque;

use egui::{Color32, Sense, Ui, vec2};

use super::pace::keep;
use base::timing::Series;
use overlay::theme;
use stats::ClothTimes;

/// The explanation of each row of the panel, in the order of [`ClothTimes::NAMES`].
const EXPLANATIONS: [&str; 8] = [
    "OpenGL's vertex buffer is handed to OpenCL: once for the whole chain, or twice, for skin and for write-back. The time is that of both.",
    "The vertices of bodies, and what drives the shirts, moved by up to four bones each.",
    "Particles go on as they went, and fall: time-corrected Verlet.",
    "Neighbours come to their distances, 4 times all of them.",
    "Particles stay outside the body, and within reach of what drives them.",
    "Vertices with normals for OpenGL.",
    "The buffer is handed back to OpenGL, which draws from it.",
    "All vertices from the device's memory to the host's, from where OpenGL takes them: wall time.",
];
/// The width in points of the bar of the row with the longest time.
const BAR_WIDTH: f32 = 90.0;

/// The state of the cloth panel: the user's choice of where steps run, and what the panel shows about the device.
#[derive(Default)]
pub(super) struct ClothPanel {
    /// For each simulation step, true if the user wants it to run on the host.
    pub on_host: Cell<[bool; 5]>,
    /// True if OpenCL is to acquire OpenGL's vertex buffer twice per frame, false if once.
    pub twice: Cell<bool>,
    /// The device's name; `None` if there is no device, so that all steps run on the host.
    pub device: Option<String>,
    /// The reason why vertices are copied through the host; `None` if the device writes into OpenGL's buffers.
    pub copies: Option<String>,
    /// True if the figures are drawn with less detail, because OpenGL runs on the CPU.
    pub is_coarse: bool,
    /// The pace of the simulation (simulated time divided by elapsed time); `None` if it is not slow.
    pub slow_pace: Option<f64>,
}

impl ClothPanel {
    /// Lays out the panel's contents: where the simulation runs, and a row for each step with its time and its button.
    pub(super) fn show(&self, ui: &mut Ui, times: &Times) {
        // First, so that it is visible in a low panel.
        let runs_on = match (&self.device, &self.copies) {
            (Some(device), None) => format!("On {device}, which writes into OpenGL's vertex buffers."),
            (Some(device), Some(why)) => format!("On {device}. Vertices are copied: {why}."),
            (None, _) => "There is no OpenCL device: plain Rust moves the shirts.".to_owned(),
        };
        let explain =
            |ui: &mut Ui, text: &str| ui.add(egui::Label::new(theme_text(text, theme::WEAK)).wrap());
        explain(ui, &runs_on);
        if let Some(part) = self.slow_pace {
            let percent = (part * 100.0).round();
            let slow = format!("It walks at {percent} % of its pace: more steps would make pictures later.");
            explain(ui, &slow);
        }
        let rows: Vec<_> = (0..EXPLANATIONS.len()).map(|at| times.row(at)).collect();
        let most = rows.iter().flatten().filter_map(|row| row.ms).map(|ms| ms.p50).fold(0.0, f64::max);
        let mut on_host = self.on_host.get();
        egui::Grid::new("cloth").num_columns(6).spacing([10.0, 3.0]).show(ui, |ui| {
            for title in ["ms", "runs on", "", "p50", "p95", "p99"] {
                ui.label(theme_text(title, theme::WEAK));
            }
            ui.end_row();
            for (at, ((name, words), row)) in
                ClothTimes::NAMES.iter().zip(EXPLANATIONS).zip(&rows).enumerate()
            {
                ui.label(theme_text(name, theme::TEXT)).on_hover_text(words);
                let runs = row.map(|row| row.on_host);
                match at.checked_sub(ClothTimes::FIRST_STEP).and_then(|step| on_host.get_mut(step)) {
                    Some(wanted) => {
                        let text = match (&self.device, runs) {
                            (None, _) | (_, Some(true)) => "host",
                            (_, Some(false)) => "device",
                            (_, None) => theme::UNKNOWN,
                        };
                        let hover = format!("Have '{name}' done on the other side");
                        *wanted ^= button(ui, text, self.device.is_some(), &hover);
                    }
                    None if at == 0 => {
                        let text = match row.map_or(0, |row| row.handovers) {
                            1 => "once",
                            2 => "twice",
                            _ => theme::UNKNOWN,
                        };
                        let is_shared = self.device.is_some() && self.copies.is_none();
                        let hover = "Hand it over for skin and for write-back, or once for the whole chain";
                        self.twice.set(self.twice.get() ^ button(ui, text, is_shared, hover));
                    }
                    None => {
                        ui.label("");
                    }
                }
                let ms = row.and_then(|row| row.ms);
                draw_bar(ui, ms, most, runs.unwrap_or(false));
                for of in [|ms: Series| ms.p50, |ms: Series| ms.p95, |ms: Series| ms.p99] {
                    let text = ms.map_or_else(|| theme::UNKNOWN.to_owned(), |ms| theme::short_ms(of(ms)));
                    ui.label(egui::RichText::new(text).font(theme::figures(12.0)).color(theme::TEXT));
                }
                ui.end_row();
            }
        });
        self.on_host.set(on_host);
        if self.is_coarse {
            let coarse = "OpenGL draws without a graphics card: figures that are small have fewer triangles, all are lit by their corners, shadows have harder edges.";
            explain(ui, coarse);
        }
        ui.label(theme_text(
            "Drag a shirt, or turn the camera; PageUp and PageDown change the army.",
            theme::WEAK,
        ));
    }
}

/// Lays out a button that moves work to the other side; returns true if it was clicked.
fn button(ui: &mut Ui, text: &str, is_enabled: bool, hover: &str) -> bool {
    let button = egui::Button::new(theme_text(text, theme::STRONG));
    ui.add_enabled(is_enabled, button).on_hover_text(hover).clicked()
}

/// Returns a text in the panel's font and this colour.
fn theme_text(text: &str, color: Color32) -> egui::RichText {
    egui::RichText::new(text).font(theme::words(12.0)).color(color)
}

/// Draws the bar of a row. Its length is the median of the times `ms` relative to `most`, the longest median of all rows. Its
/// colour shows whether the step ran on the host or on the device.
fn draw_bar(ui: &mut Ui, ms: Option<Series>, most: f64, on_host: bool) {
    let (rect, _) = ui.allocate_exact_size(vec2(BAR_WIDTH, 10.0), Sense::hover());
    ui.painter().rect_filled(rect, 1.0, theme::TROUGH);
    if let Some(ms) = ms.filter(|_| most > 0.0) {
        let part = (ms.p50 / most).clamp(0.0, 1.0) as f32;
        let color = if on_host { theme::SELECT } else { theme::FILTER };
        let filled = egui::Rect::from_min_size(rect.min, vec2((BAR_WIDTH * part).max(1.0), rect.height()));
        ui.painter().rect_filled(filled, 1.0, color);
    }
}

/// The number of frames, of the last seconds, whose times are kept.
const MAX_FRAMES: usize = 240;

/// The data of a row of the cloth panel, which shows one part of the work for a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    /// True if the step ran on the host in the last frame.
    on_host: bool,
    /// The number of handovers of the vertex buffer that the row's time includes; 0 if vertices are not shared, and for
    /// simulation steps.
    handovers: usize,
    /// The statistics of the row's times in milliseconds, over the frames that did this work in the same place as the last
    /// frame; `None` if there are none.
    ms: Option<Series>,
}

/// The times of the last simulated frames, from which the rows of the cloth panel are computed.
#[derive(Default)]
pub(super) struct Times {
    frames: VecDeque<ClothTimes>,
}

impl Times {
    /// Adds the times of a frame. If the number of figures has changed, drops all earlier times first.
    pub(super) fn note(&mut self, frame: ClothTimes) {
        if self.frames.back().is_some_and(|last| last.figures != frame.figures) {
            self.frames.clear();
        }
        keep(&mut self.frames, frame, MAX_FRAMES);
    }

    /// Returns the data for the row of the panel with this index in [`ClothTimes::NAMES`]; `None` before the first frame. A row
    /// that is not a simulation step has times only if the last frame had them.
    fn row(&self, at: usize) -> Option<Row> {
        let last = self.frames.back()?;
        let wanted = placement(last, at);
        let same = self.frames.iter().filter(|frame| placement(frame, at) == wanted);
        let samples: Vec<f64> = same.map(|frame| frame.ms[at]).collect();
        let (on_host, _, handovers) = wanted;
        Some(Row { on_host, handovers, ms: Series::of(&samples) })
    }
}

/// Returns where a frame did the work of the row `at`, an index in [`ClothTimes::NAMES`]: true if on the host, true if it did
/// the work at all, and the number of handovers that the row's time includes. Only times with equal placements can be compared.
fn placement(frame: &ClothTimes, at: usize) -> (bool, bool, usize) {
    match at.checked_sub(ClothTimes::FIRST_STEP).and_then(|step| frame.on_host.get(step)) {
        Some(on_host) => (*on_host, true, 0),
        None => (false, frame.ms[at].is_finite(), frame.handovers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all texts of the panel after a frame with these times.
    fn texts(ms: f64) -> Vec<String> {
        let mut times = Times::default();
        times.note(ClothTimes { figures: 1, handovers: 1, on_host: [false; 5], ms: [ms; 8] });
        let context = egui::Context::default();
        let show = || context.run_ui(egui::RawInput::default(), |ui| ClothPanel::default().show(ui, &times));
        let _ = show();
        let shapes = show().shapes;
        let text = |shape: egui::epaint::ClippedShape| match shape.shape {
            egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
            _ => None,
        };
        shapes.into_iter().filter_map(text).collect()
    }

    /// Tests that times of a few microseconds, as on a GPU, are shown with enough digits.
    #[test]
    fn steps_of_some_microseconds_have_digits() {
        assert_eq!(texts(0.0037).iter().filter(|text| *text == "0.0037").count(), 3 * EXPLANATIONS.len());
        assert_eq!(texts(12.345).iter().filter(|text| *text == "12.3").count(), 3 * EXPLANATIONS.len());
    }

    /// Returns a frame whose steps took `ms` on the host or the device, and whose vertices were shared or copied.
    fn frame(figures: usize, ms: f64, on_host: bool, is_shared: bool) -> ClothTimes {
        let only = |there: bool| if there { ms } else { f64::NAN };
        let (shared, copied) = (only(is_shared), only(!is_shared && !on_host));
        ClothTimes {
            figures,
            ms: [shared, ms, ms, ms, ms, ms, shared, copied],
            on_host: [on_host; 5],
            handovers: usize::from(is_shared),
        }
    }

    #[test]
    fn times_stand_beside_what_they_belong_to() {
        let mut times = Times::default();
        assert_eq!(times.row(1), None);
        for ms in [1.0, 2.0, 3.0] {
            times.note(frame(4, ms, false, false));
        }
        let row = times.row(1).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.p50, ms.n))), (false, Some((2.0, 3))));
        assert_eq!((times.row(0).unwrap().ms, times.row(7).unwrap().ms.map(|ms| ms.n)), (None, Some(3)));
        // If vertices are shared, nothing is copied, and earlier copies do not count.
        times.note(frame(4, 2.0, false, true));
        assert_eq!(times.row(7).unwrap().ms, None);
        assert_eq!([0, 6].map(|at| times.row(at).unwrap().ms.map(|ms| ms.n)), [Some(1); 2]);
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(4));
        // Times with two handovers are not those with one; the steps between them are the same.
        times.note(ClothTimes { handovers: 2, ..frame(4, 5.0, false, true) });
        assert_eq!([0, 6].map(|at| times.row(at).unwrap().ms.map(|ms| (ms.p50, ms.n))), [Some((5.0, 1)); 2]);
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(5));
        // On the host, only the first time counts; nothing is copied there.
        times.note(frame(4, 9.0, true, false));
        let row = times.row(1).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.max, ms.n))), (true, Some((9.0, 1))));
        assert_eq!([0, 6, 7].map(|at| times.row(at).unwrap().ms), [None; 3]);
        // A step that did not run has no time.
        times.note(frame(4, f64::NAN, true, false));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(1));
        times.note(frame(9, 5.0, false, false));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(1));
        (0..MAX_FRAMES * 2).for_each(|_| times.note(frame(9, 5.0, false, false)));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(MAX_FRAMES));
    }
}
