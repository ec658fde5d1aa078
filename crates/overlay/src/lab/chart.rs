//! The chart of the box filter's times at several radii: a plot for each device, side by side with the same axes, with a line
//! for each variant.

use ladder::results::{DeviceReport, RowReport};

use super::Lab;
use super::benchmark::{Benchmark, find_row};
use super::table;
use crate::axes::positive_range;
use crate::prelude::*;

/// Height of a plot in points.
const HEIGHT: f32 = 200.0;
/// Space in points left of the plots, for the numbers of the axis of times.
const LEFT: f32 = 54.0;

/// The font size of the names at the ends of the lines, in points, which is also their least distance.
const NAME_SIZE: f32 = 10.5;

/// Returns the line of the variant with this index through these points. Each colour is first used for a solid line, then for a
/// dashed one.
fn line(index: usize, points: &[Pos2], is_selected: bool) -> Vec<Shape> {
    let stroke = Stroke::new(if is_selected { 3.0 } else { 1.5 }, color(index));
    match index < theme::LINES.len() {
        true => vec![Shape::line(points.to_vec(), stroke)],
        false => Shape::dashed_line(points, stroke, 4.0, 3.0),
    }
}

/// Returns the colour of the line of the variant with this index.
fn color(index: usize) -> Color32 {
    theme::LINES[index % theme::LINES.len()]
}

/// Returns vertical positions, in points, of names that belong at the positions `ends`, so far apart that they do not overlap.
/// None is below `bottom`.
fn spread(ends: &[f32], bottom: f32) -> Vec<f32> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let mut places = ends.to_vec();
    for pair in order.windows(2) {
        places[pair[1]] = places[pair[1]].max(places[pair[0]] + NAME_SIZE + 1.0);
    }
    let mut most = bottom;
    for index in order.into_iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - NAME_SIZE - 1.0;
    }
    places
}

/// The logarithmic axes that all plots share: radii from left to right, times in milliseconds from the bottom up.
#[derive(Debug, Clone, Copy)]
struct Axes {
    /// The logarithms to base 10 of the lower and the upper end of each axis.
    x: (f64, f64),
    y: (f64, f64),
}

impl Axes {
    /// Creates axes that contain these radii and times; the axis of times ends at whole powers of ten. Returns `None` if there
    /// is no time.
    fn new(radii: &[u32], times: impl Iterator<Item = f64>) -> Option<Self> {
        let (least, most) = positive_range(times)?;
        let low = least.log10().floor();
        let x = (place(*radii.iter().min()?), place(*radii.iter().max()?));
        Some(Self { x, y: (low, most.log10().ceil().max(low + 1.0)) })
    }

    /// Returns the position in `plot` of a time at a radius.
    fn point(self, plot: Rect, radius: u32, ms: f64) -> Pos2 {
        let part = |value: f64, (low, high): (f64, f64)| ((value - low) / (high - low).max(1e-9)) as f32;
        let (across, up) = (part(place(radius), self.x), part(ms.log10(), self.y));
        pos2(plot.left() + plot.width() * across, plot.bottom() - plot.height() * up)
    }
}

/// Returns the value of a radius on its axis: the logarithm of the side of the box, 2·radius + 1.
fn place(radius: u32) -> f64 {
    f64::from(2 * radius + 1).log10()
}

/// Lays out the plots and the legend; the variant `selected` is marked. A click on a name selects the variant.
pub(super) fn show(ui: &mut Ui, lab: &Lab, selected: &mut String) {
    let benchmark @ Benchmark { radii, devices, .. } = &lab.benchmark;
    let variants = benchmark.variants();
    let shown: Vec<String> = variants.iter().map(|variant| lab.name_in_benchmark(variant)).collect();
    let Some(axes) = Axes::new(radii, benchmark.rows().filter_map(RowReport::ms)) else { return };
    let width = (ui.available_width() - LEFT) / devices.len().max(1) as f32;
    let name = |device: &DeviceReport| {
        ui.painter().layout(device.text("name").to_owned(), theme::words(11.5), theme::WEAK, width - 10.0)
    };
    let names: Vec<_> = devices.iter().map(name).collect();
    let end = |name: &String| {
        ui.painter().layout_no_wrap(name.clone(), theme::words(NAME_SIZE), theme::TEXT).size().x
    };
    // Space in points right of a plot, for the names of the lines.
    let right = shown.iter().map(end).fold(0.0, f32::max) + 16.0;
    // In a narrow column there are only the names of the legend.
    let has_names = width - right >= 80.0;
    let right = if has_names { right } else { 10.0 };
    // Space in points between a device's name and its plot, and below the plots, for the radii.
    let above = names.iter().map(|name| name.size().y).fold(0.0, f32::max) + 4.0;
    let size = vec2(ui.available_width(), HEIGHT + above + 18.0);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    for (index, (device, name)) in devices.iter().zip(names).enumerate() {
        let corner = pos2(area.left() + LEFT + width * index as f32, area.top() + above);
        let plot = Rect::from_min_size(corner, vec2(width - right, HEIGHT));
        ui.painter().galley(plot.left_top() - vec2(0.0, name.size().y + 3.0), name, theme::WEAK);
        let grid = Stroke::new(1.0, theme::RULE);
        for power in axes.y.0 as i32..=axes.y.1 as i32 {
            let y = axes.point(plot, radii[0], 10f64.powi(power)).y;
            ui.painter().hline(plot.x_range(), y, grid);
            if index == 0 {
                let unit = if power == axes.y.1 as i32 { " ms" } else { "" };
                let words = format!("{}{unit}", theme::tick(10f64.powi(power), power.min(0).abs()));
                ui.figures(pos2(plot.left() - 5.0, y), Align2::RIGHT_CENTER, words, 10.0, theme::WEAK);
            }
        }
        let at = plot.left_bottom() + vec2(-8.0, 3.0);
        if index == 0 {
            ui.words(at, Align2::RIGHT_TOP, "radius", 10.0, theme::WEAK);
        }
        for radius in radii {
            let x = axes.point(plot, *radius, 1.0).x;
            ui.painter().vline(x, plot.y_range(), grid);
            ui.figures(pos2(x, plot.bottom() + 3.0), Align2::CENTER_TOP, radius, 10.0, theme::WEAK);
        }
        let (mut texts, mut ends) = (Vec::new(), Vec::new());
        for (n, variant) in variants.iter().enumerate() {
            let time = |radius: &u32| Some((*radius, find_row(device, *radius, variant)?.ms()?));
            let times: Vec<(u32, f64)> = radii.iter().filter_map(time).collect();
            let points: Vec<Pos2> = times.iter().map(|(radius, ms)| axes.point(plot, *radius, *ms)).collect();
            for point in &points {
                ui.painter().circle_filled(*point, 2.5, color(n));
            }
            ui.painter().extend(line(n, &points, *variant == selected.as_str()));
            ends.extend(points.last().filter(|_| has_names).map(|end| (n, *end)));
            let times = times.iter().map(|(radius, ms)| format!("r = {radius}: {} ms", theme::short_ms(*ms)));
            texts.push(format!("{} {}", shown[n], times.collect::<Vec<_>>().join(", ")));
        }
        let places = spread(&ends.iter().map(|(_, end)| end.y).collect::<Vec<_>>(), plot.bottom());
        for ((n, end), y) in ends.into_iter().zip(places) {
            ui.words(pos2(end.x + 6.0, y), Align2::LEFT_CENTER, &shown[n], NAME_SIZE, color(n));
        }
        describe::painted(ui, plot, Role::Image, device.text("name"), &texts.join("; "));
    }
    ui.horizontal_wrapped(|ui| {
        for (index, variant) in variants.iter().enumerate() {
            let galley = ui.painter().layout_no_wrap(shown[index].clone(), theme::words(11.5), theme::TEXT);
            // Height in points of a line of the legend.
            let size = vec2(galley.size().x + 20.0, 15.0);
            let (area, response) = table::allocate_row(ui, size, *variant == selected.as_str());
            if response.named(Role::Button, &shown[index]).clicked() {
                *selected = (*variant).to_owned();
            }
            let y = area.center().y;
            let ends = [pos2(area.left(), y), pos2(area.left() + 14.0, y)];
            ui.painter().extend(line(index, &ends, false));
            let at = pos2(area.left() + 18.0, y - galley.size().y / 2.0);
            ui.painter().galley(at, galley, theme::TEXT);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_axes_are_logarithmic_and_hold_all_times() {
        let plot = Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 100.0));
        let axes = Axes::new(&[1, 3, 31], [0.5, 40.0].into_iter()).unwrap();
        assert_eq!(axes.y, (-1.0, 2.0));
        assert_eq!(axes.point(plot, 1, 100.0), pos2(0.0, 0.0));
        assert_eq!(axes.point(plot, 31, 0.1), pos2(100.0, 100.0));
        let [a, b, c] = [1.0, 10.0, 100.0].map(|ms| axes.point(plot, 3, ms).y);
        assert!((a - b - (b - c)).abs() < 1e-3, "equal factors are equal lengths");
        assert!(Axes::new(&[1, 3], std::iter::empty()).is_none());

        let step = NAME_SIZE + 1.0;
        assert_eq!(spread(&[50.0, 20.0, 51.0, 99.0], 100.0), [50.0, 20.0, 50.0 + step, 99.0]);
        assert_eq!(spread(&[99.0, 98.0], 100.0), [100.0, 100.0 - step]);
    }
}
