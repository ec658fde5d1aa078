//! The table of stages, the timed parts of a frame's way to the screen.

use stats::{Stage, Summary};

use crate::hatch::{Hatch, Pattern};
use crate::panel::paragraph;
use crate::prelude::*;
use crate::words;

/// Lays out a row for each stage that takes time, a row for the idle time and one for the frame time; the names of stages that
/// take no time share a line below the rows. If `conversion_differs` is true, marks the stage of the conversion, because the
/// output of its edited kernels is wrong.
pub(crate) fn show(ui: &mut Ui, numbers: &Numbers, hatch: &Hatch, conversion_differs: bool) {
    let head = allocate_row(ui);
    let columns = column_edges(head);
    ui.words(head.left_center(), Align2::LEFT_CENTER, "Stage, ms", 11.5, theme::WEAK);
    for (x, name) in columns.iter().zip(COLUMNS) {
        let at = pos2(*x, head.center().y);
        ui.figures(at, Align2::RIGHT_CENTER, name, 11.0, theme::WEAK);
    }
    ui.painter().hline(head.x_range(), head.bottom(), Stroke::new(1.0, theme::RULE));
    ui.interact(head, ui.unique_id().with("head"), Sense::hover()).explain(words::STAGES_TABLE);

    let (shown, zero): (Vec<Stage>, Vec<Stage>) = theme::STACK.iter().partition(|s| numbers.takes_time(**s));
    for stage in shown {
        let (name, color) = match stage {
            Stage::Filter => (stage.name(), theme::FILTER),
            Stage::Convert if conversion_differs => ("convert, differs", theme::WARN),
            _ => (stage.name(), theme::TEXT),
        };
        // The times that the stage takes on another thread or on OpenGL's device, in addition to its own.
        let parallel = match stage {
            Stage::Upload => numbers.packing,
            Stage::Release => numbers.gl[0],
            Stage::Present => numbers.gl[1],
            Stage::Overlay => numbers.gl[2],
            _ => None,
        };
        let swatch = Some((hatch, (theme::stage_color(stage), Pattern::Stage(stage))));
        show_row(ui, (name, color), swatch, numbers.stage(stage), &words::stage_text(stage, parallel));
    }
    let swatch = Some((hatch, (theme::IDLE, Pattern::Idle)));
    show_row(ui, ("idle", theme::WEAK), swatch, numbers.idle, words::IDLE);
    let rect = show_row(ui, ("frame", theme::STRONG), None, numbers.frame, words::FRAME);
    ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(1.0, theme::RULE));
    if !zero.is_empty() {
        let names: Vec<&str> = zero.iter().map(|s| s.name()).collect();
        let text = format!("took no time: {}", names.join(", "));
        let rect = paragraph(ui, &text, theme::WEAK).rect;
        let hovers: Vec<String> =
            zero.iter().map(|s| format!("{}: {}", s.name(), words::stage_text(*s, None))).collect();
        let response = ui.interact(rect, ui.unique_id().with("zero"), Sense::hover());
        response.named(Role::Row, "Took no time").valued(|| text).explain(hovers.join("\n\n"));
    }
}

/// Allocates the rectangle of the next row.
fn allocate_row(ui: &mut Ui) -> Rect {
    let spacing = std::mem::replace(&mut ui.spacing_mut().item_spacing.y, 0.0);
    // Height in points of a row of the table.
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
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

/// Lays out a row of the table: a square with this colour and pattern, the name and the numbers. Returns the row's rectangle.
fn show_row(
    ui: &mut Ui,
    (name, color): (&str, Color32),
    swatch: Option<(&Hatch, (Color32, Pattern))>,
    summary: Option<Summary>,
    hover: &str,
) -> Rect {
    let rect = allocate_row(ui);
    let response = ui.interact(rect, ui.unique_id().with(name), Sense::hover());
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, 2, Color32::from_white_alpha(10));
    }
    if let Some((hatch, fill)) = swatch {
        let square = Rect::from_center_size(pos2(rect.left() + 5.0, rect.center().y), vec2(11.0, 11.0));
        painter.add(hatch.swatch(square, fill));
    }
    let at = pos2(rect.left() + 16.0, rect.center().y);
    ui.words(at, Align2::LEFT_CENTER, name, 12.5, color);
    let figures = match summary {
        Some(s) => {
            // The percentiles are rounded if they are noisy; last and maximum are times of one frame. The last digit of this
            // table is a hundredth.
            let percentile = |ms: f64| theme::with_noise(ms, s.noise.filter(|_| ms >= 0.0095), theme::ms);
            [theme::ms(s.last), percentile(s.p50), percentile(s.p95), theme::ms(s.max)]
        }
        None => COLUMNS.map(|_| theme::UNKNOWN.to_owned()),
    };
    for (x, text) in column_edges(rect).into_iter().zip(&figures) {
        ui.figures(pos2(x, rect.center().y), Align2::RIGHT_CENTER, text, 11.5, color);
    }
    let named = COLUMNS.iter().zip(&figures).map(|(column, figure)| format!("{column} {figure}"));
    let response = response.named(Role::Row, name).valued(|| named.collect::<Vec<_>>().join(", ") + " ms");
    let noise = summary.and_then(|s| s.noise).map(|noise| format!("\n{}", words::noise_text(&noise)));
    response.explain(format!("{hover}{}", noise.unwrap_or_default()));
    rect
}
