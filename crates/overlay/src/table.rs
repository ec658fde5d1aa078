//! The numbers on display, refreshed slowly enough to be read, and the table of stages.

use egui::{Align2, Color32, CornerRadius, Rect, Sense, Ui, pos2, vec2};

use super::hatch::{Hatch, Pattern};
use super::{theme, words};
use engine::stats::{Recorder, Scores, Setting, Stage, Summary};

/// Seconds between two refreshes of the numbers.
const REFRESH_S: f64 = 0.25;
const ROW: f32 = 16.0;

/// The numbers on display. They are taken a few times a second, and at once when variant or radius change.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    taken_at: Option<f64>,
    of: Option<Setting>,
    shown: u64,
    pub stages: [Option<Summary>; Stage::ALL.len()],
    pub idle: Option<Summary>,
    pub frame: Option<Summary>,
    /// What release, present and overlay take OpenGL's device.
    gl: [Option<Summary>; 3],
    /// What the filter of a wipe's other side takes.
    pub beside: Option<Summary>,
    /// What packing the planes takes the decoder's thread.
    packing: Option<Summary>,
    pub repaint: Option<Summary>,
    /// Each variant's last time: taken together with the rest, so that one number stands at two places alike.
    pub scores: Scores,
}

impl Numbers {
    /// Takes new numbers from `recorder` if it is time; `now` in seconds.
    pub(crate) fn refresh(&mut self, recorder: &Recorder, now: f64) {
        let of = recorder.shown_setting();
        let due = self.taken_at.is_none_or(|t| now < t || now >= t + REFRESH_S);
        if of == self.of && !due {
            return;
        }
        self.taken_at = Some(now);
        self.of = of;
        self.repaint = recorder.recent_repaints();
        if self.shown == recorder.shown_count() && self.frame.is_some() {
            return;
        }
        self.shown = recorder.shown_count();
        self.scores = recorder.scores().clone();
        self.stages = Stage::ALL.map(|stage| recorder.summary(stage));
        self.idle = recorder.idle();
        self.frame = recorder.frame_interval();
        self.packing = recorder.packing();
        self.beside = recorder.beside();
        self.gl = [0, 1, 2].map(|n| recorder.gl_summary(|gl| gl.named()[n].1));
    }

    pub(crate) fn stage(&self, stage: Stage) -> Option<Summary> {
        self.stages[stage as usize]
    }

    /// Whether a stage takes time on this path; the filter always counts.
    pub(crate) fn costs(&self, stage: Stage) -> bool {
        stage == Stage::Filter || self.stage(stage).is_some_and(|s| s.max >= 0.005)
    }

    /// What a stage costs beside its own time, elsewhere.
    fn beside(&self, stage: Stage) -> Option<Summary> {
        match stage {
            Stage::Upload => self.packing,
            Stage::Release => self.gl[0],
            Stage::Present => self.gl[1],
            Stage::Overlay => self.gl[2],
            _ => None,
        }
    }
}

/// One row for each stage that costs something, then what is left of the frame time, then the frame time itself; what is
/// always zero on this path stands in a line below. `converts_otherwise`: the conversion's kernels make another picture than
/// they should.
pub(crate) fn table(ui: &mut Ui, numbers: &Numbers, hatch: &Hatch, converts_otherwise: bool) {
    let head = row(ui);
    let columns = columns(head);
    let font = theme::words(11.5);
    let painter = ui.painter();
    painter.text(head.left_center(), Align2::LEFT_CENTER, "Stage, ms", font.clone(), theme::WEAK);
    for (x, name) in columns.iter().zip(["last", "p50", "p95", "max"]) {
        let at = pos2(*x, head.center().y);
        painter.text(at, Align2::RIGHT_CENTER, name, theme::figures(11.0), theme::WEAK);
    }
    painter.hline(head.x_range(), head.bottom(), egui::Stroke::new(1.0, theme::RULE));
    ui.interact(head, ui.unique_id().with("head"), Sense::hover()).on_hover_text(words::TABLE);

    let (shown, zero): (Vec<Stage>, Vec<Stage>) = theme::STACK.iter().partition(|s| numbers.costs(**s));
    for stage in shown {
        let swatch = (hatch, theme::stage_color(stage), Pattern::Of(stage));
        let (name, color) = match stage {
            Stage::Filter => (stage.name().to_owned(), theme::FILTER),
            Stage::Convert if converts_otherwise => (format!("{}, differs", stage.name()), theme::WARN),
            _ => (stage.name().to_owned(), theme::TEXT),
        };
        let hover = words::stage(stage, numbers.beside(stage));
        line(ui, &name, Some(swatch), color, numbers.stages[stage as usize], &hover);
    }
    let idle = (hatch, theme::IDLE, Pattern::Idle);
    line(ui, "idle", Some(idle), theme::WEAK, numbers.idle, words::IDLE);
    let rect = line(ui, "frame", None, theme::STRONG, numbers.frame, words::FRAME);
    ui.painter().hline(rect.x_range(), rect.top(), egui::Stroke::new(1.0, theme::RULE));
    if !zero.is_empty() {
        let names: Vec<&str> = zero.iter().map(|s| s.name()).collect();
        let rect = row(ui);
        let galley = theme::elided(ui, &format!("0: {}", names.join(", ")), font, theme::WEAK, rect.width());
        ui.painter().galley(rect.left_center() - vec2(0.0, galley.size().y / 2.0), galley, theme::WEAK);
        let hovers: Vec<String> =
            zero.iter().map(|s| format!("{}: {}", s.name(), words::stage(*s, None))).collect();
        let response = ui.interact(rect, ui.unique_id().with("zero"), Sense::hover());
        response.on_hover_text(hovers.join("\n\n"));
    }
}

fn row(ui: &mut Ui) -> Rect {
    let spacing = std::mem::replace(&mut ui.spacing_mut().item_spacing.y, 0.0);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    ui.spacing_mut().item_spacing.y = spacing;
    rect
}

/// Right edges of the four columns.
fn columns(row: Rect) -> [f32; 4] {
    let step = ((row.width() - 72.0) / 4.0).min(58.0);
    [3.0, 2.0, 1.0, 0.0].map(|n| row.right() - n * step)
}

fn line(
    ui: &mut Ui,
    name: &str,
    swatch: Option<(&Hatch, Color32, Pattern)>,
    color: Color32,
    summary: Option<Summary>,
    hover: &str,
) -> Rect {
    let rect = row(ui);
    let response = ui.interact(rect, ui.unique_id().with(name), Sense::hover());
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(2), Color32::from_white_alpha(10));
    }
    if let Some((hatch, color, pattern)) = swatch {
        let square = Rect::from_center_size(pos2(rect.left() + 5.0, rect.center().y), vec2(11.0, 11.0));
        painter.add(hatch.swatch(square, color, pattern));
    }
    let at = pos2(rect.left() + 16.0, rect.center().y);
    painter.text(at, Align2::LEFT_CENTER, name, theme::words(12.5), color);
    for (n, x) in columns(rect).into_iter().enumerate() {
        let text = match summary {
            // Two of them are what was measured of a frame, two rest on all of them.
            Some(s) if n == 1 || n == 2 => match [s.p50, s.p95][n - 1] {
                // A hundredth is the last digit of this table.
                ms if ms < 0.0095 => theme::ms(ms),
                ms => theme::believed(ms, s.noise, theme::ms),
            },
            Some(s) => theme::ms(if n == 0 { s.last } else { s.max }),
            None => theme::UNKNOWN.into(),
        };
        painter.text(pos2(x, rect.center().y), Align2::RIGHT_CENTER, text, theme::figures(11.5), color);
    }
    match summary.and_then(|s| s.noise) {
        Some(noise) => response.on_hover_text(format!("{hover}\n{}", words::noisy(&noise))),
        None => response.on_hover_text(hover),
    };
    rect
}
