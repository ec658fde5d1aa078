//! The statistics that the overlay displays, which are refreshed slowly enough to be read, and the table of stages (the timed
//! parts of a frame's way to the screen).

use egui::{Align2, Color32, CornerRadius, Rect, Role, Sense, Ui, pos2, vec2};

use super::hatch::{Hatch, Pattern};
use super::{theme, words};
use crate::access::Access as _;
use crate::hover::Explain as _;
use base::timing::Ratio;
use engine::stats::{FilterWork, Recorder, Scores, Setting, Stage, Summary};

/// Seconds between two refreshes of the displayed statistics.
const REFRESH_S: f64 = 0.25;
/// Height in points of a row of the table.
const ROW_HEIGHT: f32 = 16.0;

/// The displayed statistics, copied from the recorder a few times a second, and at once when the filter changes.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The time of the last refresh, in egui's seconds; `None` before the first one.
    refreshed_at: Option<f64>,
    setting: Option<Setting>,
    /// The recorder's count of changes of the measurements (its `shown.changes`) at the last refresh.
    frame_count: u64,
    pub stages: [Option<Summary>; Stage::ALL.len()],
    pub idle: Option<Summary>,
    pub frame: Option<Summary>,
    /// The times that the stages release, present and overlay take on OpenGL's device.
    gl: [Option<Summary>; 3],
    /// The filter's times on the right side of a wipe.
    pub second_filter: Option<Summary>,
    /// The ratio of the filter's times on the left side of a wipe to those on the right side.
    pub wipe_ratio: Option<Ratio>,
    /// The times that the decoder's thread takes to pack the planes of pictures.
    packing: Option<Summary>,
    pub repaint: Option<Summary>,
    /// The last measured filter time of each variant, refreshed together with the other statistics, so that a time is the same
    /// wherever it is shown.
    pub scores: Scores,
    /// The kernels of the filter, with the median time of each; `None` if they are not known.
    pub work: Option<FilterWork>,
}

impl Numbers {
    /// Refreshes the statistics from `recorder` if they are due. `now` is the time in egui's seconds.
    pub(crate) fn refresh(&mut self, recorder: &Recorder, now: f64) {
        let setting = recorder.shown.last().map(|sample| sample.setting);
        let due = self.refreshed_at.is_none_or(|t| now < t || now >= t + REFRESH_S);
        if setting == self.setting && !due {
            return;
        }
        self.refreshed_at = Some(now);
        self.setting = setting;
        self.repaint = recorder.recent_repaints();
        if self.frame_count == recorder.shown.changes && self.frame.is_some() {
            return;
        }
        self.frame_count = recorder.shown.changes;
        self.scores = recorder.shown.scores.clone();
        self.work = recorder.shown.work();
        self.stages = Stage::ALL.map(|stage| recorder.shown.summary(stage));
        self.idle = recorder.shown.idle();
        self.frame = recorder.shown.frame_interval();
        self.packing = recorder.shown.summarise(|sample| sample.stages.pack_ms);
        self.second_filter = recorder.shown.beside();
        self.wipe_ratio = recorder.shown.wipe_ratio();
        self.gl = [0, 1, 2].map(|n| recorder.shown.summarise(|sample| sample.gl[n]));
    }

    /// Returns the statistics of a stage; `None` if the stage was not measured.
    pub(crate) fn stage(&self, stage: Stage) -> Option<Summary> {
        self.stages[stage as usize]
    }

    /// Returns true if the table has a row for this stage (a timed part of a frame's way to the screen): for the filter always,
    /// and for other stages if their longest measured time is at least 5 µs. A stage may take no time, such as the upload on a
    /// device that computes in host memory.
    pub(crate) fn takes_time(&self, stage: Stage) -> bool {
        stage == Stage::Filter || self.stage(stage).is_some_and(|s| s.max >= 0.005)
    }

    /// Returns the times that a stage takes on another thread or on OpenGL's device, in addition to its own; `None` if it takes
    /// none there.
    fn parallel_times(&self, stage: Stage) -> Option<Summary> {
        match stage {
            Stage::Upload => self.packing,
            Stage::Release => self.gl[0],
            Stage::Present => self.gl[1],
            Stage::Overlay => self.gl[2],
            _ => None,
        }
    }
}

/// Lays out a row for each stage that takes time, a row for the idle time and one for the frame time; the names of stages that
/// take no time share a line below the rows. If `conversion_differs` is true, marks the stage of the conversion, because the
/// output of its edited kernels is wrong.
pub(crate) fn show(ui: &mut Ui, numbers: &Numbers, hatch: &Hatch, conversion_differs: bool) {
    let head = allocate_row(ui);
    let columns = column_edges(head);
    let font = theme::words(11.5);
    let painter = ui.painter();
    painter.text(head.left_center(), Align2::LEFT_CENTER, "Stage, ms", font.clone(), theme::WEAK);
    for (x, name) in columns.iter().zip(COLUMNS) {
        let at = pos2(*x, head.center().y);
        painter.text(at, Align2::RIGHT_CENTER, name, theme::figures(11.0), theme::WEAK);
    }
    painter.hline(head.x_range(), head.bottom(), egui::Stroke::new(1.0, theme::RULE));
    ui.interact(head, ui.unique_id().with("head"), Sense::hover()).explain(words::STAGES_TABLE);

    let (shown, zero): (Vec<Stage>, Vec<Stage>) = theme::STACK.iter().partition(|s| numbers.takes_time(**s));
    for stage in shown {
        let swatch = (theme::stage_color(stage), Pattern::Stage(stage));
        let (name, color) = match stage {
            Stage::Filter => (stage.name().to_owned(), theme::FILTER),
            Stage::Convert if conversion_differs => (format!("{}, differs", stage.name()), theme::WARN),
            _ => (stage.name().to_owned(), theme::TEXT),
        };
        let hover = words::stage_text(stage, numbers.parallel_times(stage));
        let row = Row { name: &name, color, swatch: Some(swatch), summary: numbers.stages[stage as usize] };
        show_row(ui, &row, hatch, &hover);
    }
    let swatch = Some((theme::IDLE, Pattern::Idle));
    let idle = Row { name: "idle", color: theme::WEAK, swatch, summary: numbers.idle };
    show_row(ui, &idle, hatch, words::IDLE);
    let frame = Row { name: "frame", color: theme::STRONG, swatch: None, summary: numbers.frame };
    let rect = show_row(ui, &frame, hatch, words::FRAME);
    ui.painter().hline(rect.x_range(), rect.top(), egui::Stroke::new(1.0, theme::RULE));
    if !zero.is_empty() {
        let names: Vec<&str> = zero.iter().map(|s| s.name()).collect();
        let rect = allocate_row(ui);
        let at = (rect.left_center(), Align2::LEFT_CENTER, rect.width());
        let text = format!("0: {}", names.join(", "));
        theme::elided_text(ui, at, &text, (font, theme::WEAK));
        let hovers: Vec<String> =
            zero.iter().map(|s| format!("{}: {}", s.name(), words::stage_text(*s, None))).collect();
        let response = ui.interact(rect, ui.unique_id().with("zero"), Sense::hover());
        response.named(Role::Row, "0 ms").valued(|| text).explain(hovers.join("\n\n"));
    }
}

/// Allocates the rectangle of the next row.
fn allocate_row(ui: &mut Ui) -> Rect {
    let spacing = std::mem::replace(&mut ui.spacing_mut().item_spacing.y, 0.0);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_HEIGHT), Sense::hover());
    ui.spacing_mut().item_spacing.y = spacing;
    rect
}

/// Returns the horizontal positions in points of the right edges of the four columns of numbers in a row of the table.
fn column_edges(row: Rect) -> [f32; 4] {
    let step = ((row.width() - 72.0) / 4.0).min(58.0);
    [3.0, 2.0, 1.0, 0.0].map(|n| row.right() - n * step)
}

/// The headings of the columns of numbers.
const COLUMNS: [&str; 4] = ["last", "p50", "p95", "max"];

struct Row<'a> {
    name: &'a str,
    color: Color32,
    /// The colour and the pattern of the square before the name; `None` without a square.
    swatch: Option<(Color32, Pattern)>,
    summary: Option<Summary>,
}

impl Row<'_> {
    /// Returns the texts in the four columns of numbers.
    fn figures(&self) -> [String; 4] {
        let Some(s) = self.summary else { return COLUMNS.map(|_| theme::UNKNOWN.to_owned()) };
        // The percentiles are rounded if they are noisy; last and maximum are times of one frame.
        let percentile = |ms: f64| match ms {
            // The last digit of this table is a hundredth.
            ms if ms < 0.0095 => theme::ms(ms),
            ms => theme::with_noise(ms, s.noise, theme::ms),
        };
        [theme::ms(s.last), percentile(s.p50), percentile(s.p95), theme::ms(s.max)]
    }
}

/// Lays out a row of the table: the coloured square, the name and the numbers. Returns the row's rectangle.
fn show_row(ui: &mut Ui, row: &Row, hatch: &Hatch, hover: &str) -> Rect {
    let (rect, &Row { name, color, swatch, summary }) = (allocate_row(ui), row);
    let response = ui.interact(rect, ui.unique_id().with(name), Sense::hover());
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(2), Color32::from_white_alpha(10));
    }
    if let Some(fill) = swatch {
        let square = Rect::from_center_size(pos2(rect.left() + 5.0, rect.center().y), vec2(11.0, 11.0));
        painter.add(hatch.swatch(square, fill));
    }
    let at = pos2(rect.left() + 16.0, rect.center().y);
    painter.text(at, Align2::LEFT_CENTER, name, theme::words(12.5), color);
    let figures = row.figures();
    for (x, text) in column_edges(rect).into_iter().zip(&figures) {
        painter.text(pos2(x, rect.center().y), Align2::RIGHT_CENTER, text, theme::figures(11.5), color);
    }
    let named = COLUMNS.iter().zip(&figures).map(|(column, figure)| format!("{column} {figure}"));
    let response = response.named(Role::Row, name).valued(|| named.collect::<Vec<_>>().join(", ") + " ms");
    match summary.and_then(|s| s.noise) {
        Some(noise) => response.explain(format!("{hover}\n{}", words::noise_text(&noise))),
        None => response.explain(hover),
    };
    rect
}
