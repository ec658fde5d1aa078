//! Paints rooflines in panels, from the same marks as the SVG file of `clreel bench --roofline`.

use ladder::roofline::{Anchor, Mark, Roofline};

use crate::prelude::*;

/// Space in points left of the plot and below it, for the numbers of the axes.
const MARGINS: (f32, f32) = (46.0, 34.0);

/// Lays a roofline out in the panel's width: the plot, and below it a line of text for each dot. Does nothing if there are no
/// dots.
pub(crate) fn show(ui: &mut Ui, roofline: &Roofline) {
    if roofline.dots.is_empty() {
        return;
    }
    // Height of the plot in points.
    let size = vec2(ui.available_width(), 150.0 + MARGINS.1 + 8.0);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let plot = Rect::from_min_max(
        pos2(area.left() + MARGINS.0, area.top() + 8.0),
        pos2(area.right() - 8.0, area.bottom() - MARGINS.1),
    );
    let [left, right, top, bottom] = [plot.left(), plot.right(), plot.top(), plot.bottom()].map(f64::from);
    for mark in roofline.marks((left, right), (bottom, top)) {
        paint(ui, plot, &mark);
    }
    let names = roofline.dots.iter().map(|dot| dot.words()).collect::<Vec<_>>().join("; ");
    describe::painted(ui, area, Role::Image, "Roofline", &names);
    for (index, dot) in roofline.dots.iter().enumerate() {
        super::panel::line(ui, &format!("{}  {}", index + 1, dot.words()), theme::TEXT);
    }
}

/// Paints a mark of a roofline (line, dot or text). The name of a peak never begins left of the plot.
fn paint(ui: &Ui, plot: Rect, mark: &Mark) {
    let painter = ui.painter();
    match mark {
        Mark::Grid(ends) => _ = painter.line_segment(ends.map(point), Stroke::new(1.0, theme::RULE)),
        Mark::Roof(ends) => _ = painter.line_segment(ends.map(point), Stroke::new(1.5, theme::FILTER)),
        Mark::Tick(at, anchor, words) => {
            let align = match anchor {
                Anchor::Start => Align2::LEFT_BOTTOM,
                Anchor::Middle => Align2::CENTER_BOTTOM,
                Anchor::End => Align2::RIGHT_BOTTOM,
            };
            let at = point(*at) + vec2(0.0, 3.0);
            ui.figures(at, align, words, 10.5, theme::WEAK);
        }
        Mark::RoofName(at, anchor, words) => {
            let galley = painter.layout_no_wrap(words.clone(), theme::figures(10.5), theme::FILTER);
            let size = galley.size();
            let left = if *anchor == Anchor::End { point(*at).x - size.x } else { point(*at).x };
            let corner = pos2(left.max(plot.left() + 4.0), point(*at).y + 3.0 - size.y);
            painter.galley(corner, galley, theme::FILTER);
        }
        Mark::Dot(at, index) => {
            // Radius of a dot in points.
            painter.circle_filled(point(*at), 7.0, theme::SELECT);
            ui.figures(point(*at), Align2::CENTER_CENTER, index + 1, 10.5, Color32::BLACK);
        }
    }
}

fn point((x, y): (f64, f64)) -> Pos2 {
    pos2(x as f32, y as f32)
}
