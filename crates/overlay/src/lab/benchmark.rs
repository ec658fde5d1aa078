//! The benchmark of the box filter in the Lab: all variants on the frame on the screen, at the radius on the screen or at several, with a
//! column for each device that was measured.

use std::fmt::Write as _;

use egui::{Align2, Button, Color32, Rect, Sense, Ui, pos2, vec2};

use super::{LabRow, LabRun, chart, show_choices, show_faults, show_state, table};
use crate::hover::Explain as _;
use crate::panel::line;
use crate::{Action, View, theme};
use base::text;
use base::timing::believed;

/// The name of the box filter's ladder.
pub const BOX_FILTER: &str = "box_filter";
/// The radii of a sweep, in pixels.
const SWEEP: [u32; 5] = [1, 3, 7, 15, 31];
/// Height in points of a row of the table.
const ROW_HEIGHT: f32 = 16.0;
/// Width in points of the names of variants.
const NAMES_WIDTH: f32 = 112.0;

/// A frame of a movie.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchmarkFrame {
    /// The file's name without its folder.
    pub movie: String,
    /// The position in the movie in seconds.
    pub position_s: f64,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

impl BenchmarkFrame {
    /// Describes the frame.
    fn words(&self) -> String {
        let (width, height) = self.size;
        let at = theme::clock(self.position_s);
        format!("{} at {at}, {width} \u{d7} {height}", text::escaped(&self.movie))
    }
}

/// The results of the box filter on a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchmarkDevice {
    /// The device's name.
    pub name: String,
    /// The platform and the driver.
    pub driver: String,
    /// The results of each radius.
    pub runs: Vec<LabRun>,
}

impl BenchmarkDevice {
    /// Returns the row of a variant at a radius; `None` if it is not there.
    pub(super) fn row(&self, radius: u32, variant: &str) -> Option<&LabRow> {
        let run = self.runs.iter().find(|run| run.radius == Some(radius))?;
        run.rows.iter().find(|row| row.name == variant)
    }
}

/// The results of the box filter on one frame and at some radii, on all devices that were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Benchmark {
    /// The frame.
    pub frame: BenchmarkFrame,
    /// The radii in pixels.
    pub radii: Vec<u32>,
    /// The devices in the order in which they were measured first.
    pub devices: Vec<BenchmarkDevice>,
}

impl Benchmark {
    /// Returns the names of the variants, in the order of the ladder.
    fn variants(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.devices.iter().flat_map(|device| &device.runs).flat_map(|run| &run.rows) {
            if !names.contains(&row.name.as_str()) {
                names.push(&row.name);
            }
        }
        names
    }

    /// Returns the results as Markdown: for one radius a table with a column for each device, otherwise a table for each device with a
    /// column for each radius.
    fn markdown(&self) -> String {
        let mut out = format!("Box filter, {}, median ms\n", self.frame.words());
        let mut write = |title: &str, columns: &[(String, usize, u32)]| {
            // Writing to a String does not fail.
            let heads: Vec<String> = columns.iter().map(|(head, ..)| head.replace('|', "\\|")).collect();
            let _ =
                write!(out, "\n| {title} | {} |\n|---|{}\n", heads.join(" | "), "---:|".repeat(heads.len()));
            for variant in self.variants() {
                let cells = columns
                    .iter()
                    .map(|(_, device, radius)| cell(self.devices[*device].row(*radius, variant)));
                let _ = writeln!(out, "| {variant} | {} |", cells.collect::<Vec<_>>().join(" | "));
            }
        };
        let indices = 0..self.devices.len();
        let name = |index: usize| {
            let BenchmarkDevice { name, driver, .. } = &self.devices[index];
            format!("{name}, {driver}")
        };
        match self.radii.as_slice() {
            [radius] => {
                let columns: Vec<_> = indices.map(|index| (name(index), index, *radius)).collect();
                write(&format!("r = {radius}"), &columns);
            }
            radii => {
                for index in indices {
                    let column = |radius: &u32| (format!("r = {radius}"), index, *radius);
                    write(&name(index), &radii.iter().map(column).collect::<Vec<_>>());
                }
            }
        }
        out
    }
}

/// Returns the time of a row, or the word for its outcome.
fn cell(row: Option<&LabRow>) -> String {
    let Some(row) = row else { return theme::UNKNOWN.to_owned() };
    match (row.ms(), row.outcome.as_str()) {
        (Some(ms), _) => believed(ms, &[row.precision()]),
        (None, "" | "ok") => theme::UNKNOWN.to_owned(),
        (None, word) => word.to_owned(),
    }
}

/// Lays the benchmark out. `sweep` is 1 if several radii are selected.
pub(super) fn show(ui: &mut Ui, view: &View, sweep: &mut usize, actions: &mut Vec<Action>) {
    let choices = [format!("r = {}", view.radius), format!("r = {} to {}", SWEEP[0], SWEEP[SWEEP.len() - 1])];
    if let Some(choice) = show_choices(ui, &choices, &[], *sweep) {
        *sweep = choice;
    }
    let radii = if *sweep == 1 { SWEEP.to_vec() } else { vec![view.radius] };
    let benchmark = &view.lab.benchmark;
    let is_measured = benchmark.devices.iter().any(|device| !device.runs.is_empty());
    let mut wanted = None;
    let others = |ui: &mut Ui| {
        if !is_measured {
            return;
        }
        if ui.add(Button::new("Save run")).explain("Save all samples as JSON, for clreel compare").clicked() {
            wanted = Some(Action::SaveBenchmark);
        }
        if ui.add(Button::new("Copy")).explain("Copy the table as Markdown").clicked() {
            ui.copy_text(benchmark.markdown());
        }
    };
    show_state(ui, view.lab, Action::Benchmark(radii), others, actions);
    actions.extend(wanted);
    if !is_measured {
        line(ui, "The variants on the frame on the screen: verified, then timed.", theme::WEAK);
        return;
    }
    let devices: Vec<&BenchmarkDevice> = benchmark.devices.iter().collect();
    line(ui, &benchmark.frame.words(), theme::WEAK);
    match (benchmark.radii.as_slice(), devices.as_slice()) {
        ([radius], [device]) => {
            line(ui, &format!("r = {radius}, on {}", device.name), theme::WEAK);
            if let Some(run) = device.runs.first() {
                table::show(ui, run.peak.as_ref(), &run.rows);
            }
        }
        ([radius], devices) => show_columns(ui, *radius, &benchmark.variants(), devices),
        (radii, devices) => chart::show(ui, radii, &benchmark.variants(), devices),
    }
    show_faults(ui, devices.iter().flat_map(|device| &device.runs).flat_map(|run| &run.rows));
}

/// Lays out a row for each variant with a column for each device.
fn show_columns(ui: &mut Ui, radius: u32, variants: &[&str], devices: &[&BenchmarkDevice]) {
    let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    show_row(ui, &format!("r = {radius}, ms"), &names, theme::WEAK);
    for variant in variants {
        let cells: Vec<String> = devices.iter().map(|device| cell(device.row(radius, variant))).collect();
        show_row(ui, variant, &cells, theme::TEXT);
    }
}

/// Lays out a row of the table of devices: the columns share the width.
fn show_row(ui: &mut Ui, name: &str, cells: &[String], color: Color32) {
    let (area, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_HEIGHT), Sense::hover());
    let at = (area.left_center(), Align2::LEFT_CENTER);
    theme::elided_text(ui, at, name, theme::words(12.0), color, NAMES_WIDTH - 4.0);
    let width = (area.width() - NAMES_WIDTH) / cells.len().max(1) as f32;
    for (index, cell) in cells.iter().enumerate() {
        let left = area.left() + NAMES_WIDTH + width * index as f32;
        let room = Rect::from_min_size(pos2(left, area.top()), vec2(width - 8.0, area.height()));
        theme::elided_text(
            ui,
            (room.right_center(), Align2::RIGHT_CENTER),
            cell,
            theme::figures(11.5),
            color,
            room.width(),
        );
    }
    response.explain(cells.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::timing::Series;

    /// Returns the results of two variants at these radii; the second one has no time.
    fn device(name: &str, radii: &[u32], ms: f64) -> BenchmarkDevice {
        let row = |name: &str, time| LabRow { time, outcome: "ok".to_owned(), ..LabRow::unknown(name) };
        let run = |radius: &u32| {
            let failed = LabRow { outcome: "mismatch".to_owned(), ..LabRow::unknown("b") };
            let rows = vec![row("a", Series::of(&[ms * f64::from(*radius); 9])), failed];
            LabRun { radius: Some(*radius), rows, ..LabRun::default() }
        };
        BenchmarkDevice {
            name: name.to_owned(),
            driver: "1.0".to_owned(),
            runs: radii.iter().map(run).collect(),
        }
    }

    #[test]
    fn markdown_has_a_column_for_each_device_or_radius() {
        let frame = BenchmarkFrame { movie: "clip.mp4".to_owned(), position_s: 61.5, size: (1280, 720) };
        let devices = vec![device("A | B", &[7], 1.0), device("C", &[7], 0.5)];
        let one = Benchmark { frame: frame.clone(), radii: vec![7], devices };
        let want = "Box filter, clip.mp4 at 1:01.5, 1280 × 720, median ms\n\n| r = 7 | A \\| B, 1.0 | C, 1.0 |\n|---|---:|---:|\n\
                    | a | 7.00 | 3.50 |\n| b | mismatch | mismatch |\n";
        assert_eq!(one.markdown(), want);
        let sweep = Benchmark { frame, radii: vec![1, 3], devices: vec![device("C", &[1], 0.5)] };
        let want = "\n| C, 1.0 | r = 1 | r = 3 |\n|---|---:|---:|\n| a | 0.500 | – |\n| b | mismatch | – |\n";
        assert!(sweep.markdown().ends_with(want), "{}", sweep.markdown());
    }
}
