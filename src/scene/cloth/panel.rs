//! The overlay panel of the cloth scene: where each simulation step runs, its times, and the buttons that move steps to the
//! host.

use std::cell::Cell;

use egui::{Color32, Sense, Ui, vec2};

use super::times::Times;
use base::timing::Series;
use engine::stats::ClothTimes;
use overlay::theme;

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
    on_host: Cell<[bool; 5]>,
    twice: Cell<bool>,
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
    /// Returns an element for each simulation step, which is true if the user wants the step to run on the host.
    pub(super) fn on_host(&self) -> [bool; 5] {
        self.on_host.get()
    }

    /// Returns true if OpenCL is to acquire OpenGL's vertex buffer twice per frame, false if once.
    pub(super) fn hands_over_twice(&self) -> bool {
        self.twice.get()
    }

    /// Lays out the panel's contents: where the simulation runs, and a row for each step with its time and its button.
    pub(super) fn show(&self, ui: &mut Ui, times: &Times) {
        // First, so that it is visible in a low panel.
        let runs_on = match (&self.device, &self.copies) {
            (Some(device), None) => format!("On {device}, which writes into OpenGL's vertex buffers."),
            (Some(device), Some(why)) => format!("On {device}. Vertices are copied: {why}."),
            (None, _) => "There is no OpenCL device: plain Rust moves the shirts.".to_owned(),
        };
        ui.add(egui::Label::new(theme_text(&runs_on, theme::WEAK)).wrap());
        if let Some(part) = self.slow_pace {
            let percent = (part * 100.0).round();
            let slow = format!("It walks at {percent} % of its pace: more steps would make pictures later.");
            ui.add(egui::Label::new(theme_text(&slow, theme::WEAK)).wrap());
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
                    Some(wanted) => *wanted ^= self.switch(ui, name, runs),
                    None if at == 0 => self.switch_handovers(ui, row.and_then(|row| row.handovers)),
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
            ui.add(egui::Label::new(theme_text(coarse, theme::WEAK)).wrap());
        }
        ui.label(theme_text(
            "Drag a shirt, or turn the camera; PageUp and PageDown change the army.",
            theme::WEAK,
        ));
    }

    /// Lays out the button that switches between one and two handovers of the vertex buffer to OpenCL per frame. `handovers` is
    /// their number in the last frame, `None` if the buffer is not shared.
    fn switch_handovers(&self, ui: &mut Ui, handovers: Option<usize>) {
        let text = match handovers {
            Some(1) => "once",
            Some(2) => "twice",
            _ => theme::UNKNOWN,
        };
        let is_shared = self.device.is_some() && self.copies.is_none();
        let button = ui.add_enabled(is_shared, egui::Button::new(theme_text(text, theme::STRONG)));
        if button
            .on_hover_text("Hand it over for skin and for write-back, or once for the whole chain")
            .clicked()
        {
            self.twice.set(!self.twice.get());
        }
    }

    /// Lays out the button that moves a simulation step from the device to the host or back. `runs` is true if the step ran on
    /// the host in the last frame, `None` before the first one. Returns true if the button was clicked.
    fn switch(&self, ui: &mut Ui, name: &str, runs: Option<bool>) -> bool {
        let on_host = if self.device.is_none() { Some(true) } else { runs };
        let text = match on_host {
            Some(true) => "host",
            Some(false) => "device",
            None => theme::UNKNOWN,
        };
        let button =
            ui.add_enabled(self.device.is_some(), egui::Button::new(theme_text(text, theme::STRONG)));
        button.on_hover_text(format!("Have '{name}' done on the other side")).clicked()
    }
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
}
