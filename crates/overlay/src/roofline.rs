//! Paints rooflines in panels, from the same marks as the SVG file of `clreel bench --roofline`.

use egui::{Align2, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::theme;
use ladder::roofline::{Anchor, Mark, Roofline};

/// Height of the plot in points.
const PLOT_HEIGHT: f32 = 150.0;
/// Space in points left of the plot and below it, for the numbers of the axes.
const MARGINS: (f32, f32) = (46.0, 34.0);
/// Radius of a dot in points.
const DOT_RADIUS: f32 = 7.0;

/// Lays a roofline out in the panel's width: the plot, and below it a line of text for each dot. Does nothing if there are no
/// dots.
pub(crate) fn show(ui: &mut Ui, roofline: &Roofline) {
    if roofline.dots().is_empty() {
        return;
    }
    let size = vec2(ui.available_width(), PLOT_HEIGHT + MARGINS.1 + 8.0);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let plot = Rect::from_min_max(
        pos2(area.left() + MARGINS.0, area.top() + 8.0),
        pos2(area.right() - 8.0, area.bottom() - MARGINS.1),
    );
    let [left, right, top, bottom] = [plot.left(), plot.right(), plot.top(), plot.bottom()].map(f64::from);
    for mark in roofline.marks((left, right), (bottom, top)) {
        paint(ui, plot, &mark);
    }
    let names = roofline.dots().iter().map(|dot| dot.words()).collect::<Vec<_>>().join("; ");
    super::access::graph(ui, area, "Roofline", &names);
    for (index, dot) in roofline.dots().iter().enumerate() {
        super::panel::line(ui, &format!("{}  {}", index + 1, dot.words()), theme::TEXT);
    }
}

/// Paints a mark of a roofline (line, dot or text). The name of a peak never begins left of the plot.
fn paint(ui: &Ui, plot: Rect, mark: &Mark) {
    let painter = ui.painter();
    let text = |at: (f64, f64), anchor: Anchor, words: &str, color| {
        let align = match anchor {
            Anchor::Start => Align2::LEFT_BOTTOM,
            Anchor::Middle => Align2::CENTER_BOTTOM,
            Anchor::End => Align2::RIGHT_BOTTOM,
        };
        painter.text(point(at) + vec2(0.0, 3.0), align, words, theme::figures(10.5), color)
    };
    match mark {
        Mark::Grid(ends) => {
            painter.add(Shape::line_segment(ends.map(point), Stroke::new(1.0, theme::RULE)));
        }
        Mark::Roof(ends) => {
            painter.add(Shape::line_segment(ends.map(point), Stroke::new(1.5, theme::FILTER)));
        }
        Mark::Tick(at, anchor, words) => drop(text(*at, *anchor, words, theme::WEAK)),
        Mark::RoofName(at, anchor, words) => {
            let galley = painter.layout_no_wrap(words.clone(), theme::figures(10.5), theme::FILTER);
            let size = galley.size();
            let left = if *anchor == Anchor::End { point(*at).x - size.x } else { point(*at).x };
            let corner = pos2(left.max(plot.left() + 4.0), point(*at).y + 3.0 - size.y);
            painter.galley(corner, galley, theme::FILTER);
        }
        Mark::Dot(at, index) => {
            painter.circle_filled(point(*at), DOT_RADIUS, theme::SELECT);
            let number = (index + 1).to_string();
            let font = theme::figures(10.5);
            painter.text(point(*at), Align2::CENTER_CENTER, number, font, egui::Color32::BLACK);
        }
    }
}

fn point((x, y): (f64, f64)) -> Pos2 {
    pos2(x as f32, y as f32)
}
