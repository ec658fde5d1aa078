//! The chart of the box filter's times at several radii: a plot for each device, side by side with the same axes, with a line
//! for each variant.

use egui::ecolor::Hsva;
use egui::{Align2, Color32, Pos2, Rect, Role, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::benchmark::find_row;
use super::table;
use crate::access::{self, Access as _};
use crate::theme;
use ladder::results::{DeviceReport, RowReport};

/// Height of a plot in points.
const HEIGHT: f32 = 200.0;
/// Space in points left of the plots, for the numbers of the axis of times.
const LEFT: f32 = 54.0;
/// Space in points between a device's name and its plot, and below the plots, for the radii.
const NAME_GAP: f32 = 4.0;
const BELOW: f32 = 18.0;
/// Height in points of a line of the legend.
const LEGEND_HEIGHT: f32 = 15.0;

/// Returns the colour of the line of the variant with this index, if there are `count` variants.
fn color(index: usize, count: usize) -> Color32 {
    // Neighbours differ in brightness and saturation, too.
    let (saturation, value) = if index.is_multiple_of(2) { (0.5, 1.0) } else { (0.8, 0.75) };
    Hsva::new(index as f32 / count.max(1) as f32, saturation, value, 1.0).into()
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
        let ends = |all: &mut dyn Iterator<Item = f64>| {
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)))
        };
        let x = ends(&mut radii.iter().map(|radius| place(*radius)));
        let (low, high) = ends(&mut times.map(f64::log10));
        let y = (low.floor(), high.ceil().max(low.floor() + 1.0));
        (low.is_finite() && x.0.is_finite()).then_some(Self { x, y })
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

/// Lays out the plots and the legend; the variant `selected` is marked. Returns the variant that the user clicked.
pub(super) fn show(
    ui: &mut Ui,
    radii: &[u32],
    devices: &[&DeviceReport],
    (variants, selected): (&[&str], &str),
) -> Option<String> {
    let rows = devices.iter().flat_map(|device| &device.runs).flat_map(|run| &run.variants);
    let axes = Axes::new(radii, rows.filter_map(RowReport::ms))?;
    let width = (ui.available_width() - LEFT) / devices.len().max(1) as f32;
    let name = |device: &&DeviceReport| {
        ui.painter().layout(device.text("name").to_owned(), theme::words(11.5), theme::WEAK, width - 10.0)
    };
    let names: Vec<_> = devices.iter().map(name).collect();
    let above = names.iter().map(|name| name.size().y).fold(0.0, f32::max) + NAME_GAP;
    let size = vec2(ui.available_width(), HEIGHT + above + BELOW);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    for (index, (device, name)) in devices.iter().zip(names).enumerate() {
        let corner = pos2(area.left() + LEFT + width * index as f32, area.top() + above);
        let plot = Rect::from_min_size(corner, vec2(width - 10.0, HEIGHT));
        ui.painter().galley(plot.left_top() - vec2(0.0, name.size().y + 3.0), name, theme::WEAK);
        let chart = Chart { axes, radii, variants, device };
        if index == 0 {
            chart.draw_axis(ui, plot);
        }
        chart.draw_lines(ui, plot);
        access::graph(ui, plot, device.text("name"), &chart.text());
    }
    show_legend(ui, variants, selected)
}

/// The plot of one device.
struct Chart<'a> {
    axes: Axes,
    radii: &'a [u32],
    variants: &'a [&'a str],
    device: &'a DeviceReport,
}

impl Chart<'_> {
    /// Returns the radii at which a variant was measured, with its times in milliseconds.
    fn times<'a>(&'a self, variant: &'a str) -> impl Iterator<Item = (u32, f64)> + 'a {
        let time = |radius: &u32| Some((*radius, find_row(self.device, *radius, variant)?.ms()?));
        self.radii.iter().filter_map(time)
    }

    /// Returns all times as text.
    fn text(&self) -> String {
        let of = |variant: &&str| {
            let times =
                self.times(variant).map(|(radius, ms)| format!("r = {radius}: {} ms", theme::short_ms(ms)));
            format!("{variant} {}", times.collect::<Vec<_>>().join(", "))
        };
        self.variants.iter().map(of).collect::<Vec<_>>().join("; ")
    }

    /// Returns the exponents of the powers of ten on the axis of times, with their vertical positions in points.
    fn powers(&self, plot: Rect) -> impl Iterator<Item = (i32, f32)> {
        let (axes, radius) = (self.axes, self.radii[0]);
        let y = move |power| axes.point(plot, radius, 10f64.powi(power)).y;
        (axes.y.0 as i32..=axes.y.1 as i32).map(move |power| (power, y(power)))
    }

    /// Draws the numbers of the axis of times, left of the plot.
    fn draw_axis(&self, ui: &Ui, plot: Rect) {
        for (power, y) in self.powers(plot) {
            let decimals = power.min(0).unsigned_abs() as usize;
            let unit = if power == self.axes.y.1 as i32 { " ms" } else { "" };
            let words = format!("{:.decimals$}{unit}", 10f64.powi(power));
            let at = pos2(plot.left() - 5.0, y);
            ui.painter().text(at, Align2::RIGHT_CENTER, words, theme::figures(10.0), theme::WEAK);
        }
    }

    /// Draws the grid with the radii, and a line for each variant.
    fn draw_lines(&self, ui: &Ui, plot: Rect) {
        let (painter, grid) = (ui.painter(), Stroke::new(1.0, theme::RULE));
        for (_, y) in self.powers(plot) {
            painter.hline(plot.x_range(), y, grid);
        }
        for radius in self.radii {
            let x = self.axes.point(plot, *radius, 1.0).x;
            painter.vline(x, plot.y_range(), grid);
            let at = pos2(x, plot.bottom() + 3.0);
            painter.text(at, Align2::CENTER_TOP, radius, theme::figures(10.0), theme::WEAK);
        }
        for (index, variant) in self.variants.iter().enumerate() {
            let color = color(index, self.variants.len());
            let points = self.times(variant).map(|(radius, ms)| self.axes.point(plot, radius, ms));
            let points: Vec<Pos2> = points.collect();
            for point in &points {
                painter.circle_filled(*point, 2.5, color);
            }
            painter.add(Shape::line(points, Stroke::new(1.5, color)));
        }
    }
}

/// Lays out the names of the variants with their colours, in as many lines as they need. Returns the name that the user
/// clicked.
fn show_legend(ui: &mut Ui, variants: &[&str], selected: &str) -> Option<String> {
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        for (index, variant) in variants.iter().enumerate() {
            let galley = ui.painter().layout_no_wrap((*variant).to_owned(), theme::words(11.5), theme::TEXT);
            let size = vec2(galley.size().x + 20.0, LEGEND_HEIGHT);
            let (area, response) = table::allocate_row(ui, size, *variant == selected);
            if response.named(Role::Button, variant).clicked() {
                clicked = Some((*variant).to_owned());
            }
            let y = area.center().y;
            let stroke = Stroke::new(2.0, color(index, variants.len()));
            ui.painter().hline(area.left()..=area.left() + 14.0, y, stroke);
            let at = pos2(area.left() + 18.0, y - galley.size().y / 2.0);
            ui.painter().galley(at, galley, theme::TEXT);
        }
    });
    clicked
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
    }
}
