//! The benchmark of the box filter in the Lab: all variants, run on the frame on the screen, at the present radius or at
//! several radii, with a column for each measured device.

use std::fmt::Write as _;

use base::device::DeviceKind;
use base::text;
use base::timing::believed;
use box_filter::{Config, VariantId};
use ladder::results::{DeviceReport, RowReport};
use ladders::VariantSummary;

use super::{Lab, chart, show_choices, show_faults, show_state, table};
use crate::panel::{Selection, line};
use crate::prelude::*;

/// The name of the ladder of the box filter's variants.
pub const BOX_FILTER: &str = "box_filter";
/// The radii of a benchmark at several radii, in pixels.
const SWEEP: [u32; 5] = [1, 3, 7, 15, 31];

/// The frame of a movie on which the box filter is benchmarked.
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
    /// Returns a text with the movie, the position and the size of the frame.
    fn words(&self) -> String {
        let (width, height) = self.size;
        let at = theme::clock(self.position_s);
        format!("{} at {at}, {width} \u{d7} {height}", text::escaped(&self.movie))
    }
}

/// Returns the results of a variant at a radius among the results of a device; `None` if it was not measured there.
pub(super) fn find_row<'a>(device: &'a DeviceReport, radius: u32, variant: &str) -> Option<&'a RowReport> {
    let run = device.runs.iter().find(|run| run.case["radius"] == radius)?;
    run.variants.iter().find(|row| row.id == variant)
}

/// The results of the box filter's benchmark: on one frame, at some radii, and on each measured device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Benchmark {
    /// The frame that was filtered.
    pub frame: BenchmarkFrame,
    /// The radii in pixels.
    pub radii: Vec<u32>,
    /// The results of each device, in the order in which the devices were first measured.
    pub devices: Vec<DeviceReport>,
}

impl Benchmark {
    /// Returns the results of all variants, at all radii and on all devices.
    pub(super) fn rows(&self) -> impl Iterator<Item = &RowReport> {
        self.devices.iter().flat_map(|device| &device.runs).flat_map(|run| &run.variants)
    }

    /// Returns the names of the variants, in the order of the ladder.
    pub(super) fn variants(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rows() {
            names.extend((!names.contains(&row.id.as_str())).then_some(row.id.as_str()));
        }
        names
    }
}

impl Lab {
    /// Returns the results of the box filter as Markdown: for one radius, a table with a column for each device; for several
    /// radii, a table for each device with a column for each radius.
    fn markdown(&self) -> String {
        let mut out = format!("Box filter, {}, median ms\n", self.benchmark.frame.words());
        let mut write = |title: &str, columns: &[(String, usize, u32)]| {
            // Writing to a String does not fail.
            let heads: Vec<String> = columns.iter().map(|(head, ..)| head.replace('|', "\\|")).collect();
            let _ =
                write!(out, "\n| {title} | {} |\n|---|{}\n", heads.join(" | "), "---:|".repeat(heads.len()));
            for variant in self.benchmark.variants() {
                let cells = columns.iter().map(|(_, device, radius)| {
                    cell(find_row(&self.benchmark.devices[*device], *radius, variant))
                });
                let name = self.name_in_benchmark(variant);
                let _ = writeln!(out, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
            }
        };
        let indices = 0..self.benchmark.devices.len();
        let name = |index: usize| {
            let [name, platform, driver] =
                ["name", "platform", "driver"].map(|property| self.benchmark.devices[index].text(property));
            format!("{name}, {platform} {driver}")
        };
        match self.benchmark.radii.as_slice() {
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

/// Returns the time in a row as text, or the word for the row's outcome if it has no time.
fn cell(row: Option<&RowReport>) -> String {
    let Some(row) = row else { return theme::UNKNOWN.to_owned() };
    match row.ms() {
        Some(ms) => believed(ms, &[row.precision()]),
        None => row.word().unwrap_or(theme::UNKNOWN).to_owned(),
    }
}

/// Returns all variants of the box filter as the Lab lists them.
pub(super) fn declared_variants() -> Vec<VariantSummary> {
    let summary = |id: VariantId| {
        let kernels = [DeviceKind::Cpu, DeviceKind::Gpu].map(|kind| {
            let parameters = id.code(kind).map(|code| Config::new(code, kind).to_string());
            Some((*id.files(kind)?.first()?, parameters.unwrap_or_default()))
        });
        VariantSummary { id: id.name, title: id.title, idea: id.idea, back_end: id.back_end(), kernels }
    };
    VariantId::all().filter(|id| *id != VariantId::OFF).map(summary).collect()
}

/// Lays the benchmark out; `selection.size` is 1 if several radii are selected. Returns the rows of one device at the first
/// radius, from which the details of the selected variant are shown: of the device in use, or of the first device if the one in
/// use was not measured.
pub(super) fn show<'a>(
    ui: &mut Ui,
    variants: &[VariantSummary],
    selection: &mut Selection,
    pass: &mut Pass<'a>,
) -> &'a [RowReport] {
    let view = pass.view;
    let choices =
        [format!("r = {}", view.box_radius), format!("r = {} to {}", SWEEP[0], SWEEP[SWEEP.len() - 1])];
    selection.size = show_choices(ui, &choices, &[], selection.size).unwrap_or(selection.size);
    let radii = if selection.size == 1 { SWEEP.to_vec() } else { vec![view.box_radius] };
    let benchmark = &view.lab.benchmark;
    let is_measured = benchmark.devices.iter().any(|device| !device.runs.is_empty());
    let others = |ui: &mut Ui, actions: &mut Vec<Action>| {
        if !is_measured {
            return;
        }
        ui.button("Save run")
            .explain("Save all samples as JSON, for clreel compare")
            .on_click(Action::SaveBenchmark, actions);
        if ui.button("Copy").explain("Copy the table as Markdown").clicked() {
            ui.copy_text(view.lab.markdown());
        }
    };
    show_state(ui, Action::Benchmark(radii), others, pass);
    let selected = &mut selection.variant;
    if !is_measured {
        line(ui, "The variants on the frame on the screen: verified, then timed.", theme::WEAK);
        let unknown: Vec<_> = variants.iter().map(|variant| RowReport::unknown(variant.id)).collect();
        table::show(ui, view.lab, (None, &unknown), selected);
        return &[];
    }
    line(ui, &benchmark.frame.words(), theme::WEAK);
    match (benchmark.radii.as_slice(), benchmark.devices.as_slice()) {
        ([radius], [device]) => {
            line(ui, &format!("r = {radius}, on {}", device.text("name")), theme::WEAK);
            if let Some(run) = device.runs.first() {
                table::show(ui, view.lab, (run.peaks.first(), &run.variants), selected);
            }
        }
        ([radius], devices) => {
            let names: Vec<String> = devices.iter().map(|device| device.text("name").to_owned()).collect();
            let head = format!("r = {radius}, ms");
            let variants = benchmark.variants();
            let named: Vec<String> =
                variants.iter().map(|variant| view.lab.name_in_benchmark(variant)).collect();
            let width = table::names_width(ui, named.iter().map(String::as_str).chain([head.as_str()]));
            show_row(ui, width, (&head, theme::WEAK, false), &names);
            for (variant, name) in variants.into_iter().zip(&named) {
                let cells = devices.iter().map(|device| cell(find_row(device, *radius, variant)));
                let row = (name.as_str(), theme::TEXT, variant == selected.as_str());
                if show_row(ui, width, row, &cells.collect::<Vec<_>>()) {
                    *selected = variant.to_owned();
                }
            }
        }
        _ => chart::show(ui, view.lab, selected),
    };
    show_faults(ui, benchmark.rows());
    let in_use = |device: &&DeviceReport| view.device.is_some_and(|info| info.name == device.text("name"));
    let device = benchmark.devices.iter().find(in_use).or(benchmark.devices.first());
    device.and_then(|device| device.runs.first()).map_or(&[], |run| run.variants.as_slice())
}

/// Lays out a row of the table of devices: the name (with its colour, and true if it is selected), which is `names` points
/// wide, and the cells, which share the rest of the width and have as many lines as they need. Returns true if the user clicked
/// the row.
fn show_row(
    ui: &mut Ui,
    names: f32,
    (name, color, selected): (&str, Color32, bool),
    cells: &[String],
) -> bool {
    let width = (ui.available_width() - names) / cells.len().max(1) as f32;
    let cell = |cell: &String| {
        let mut job = egui::text::LayoutJob::simple(cell.clone(), theme::figures(11.5), color, width - 8.0);
        job.halign = Align::RIGHT;
        ui.painter().layout_job(job)
    };
    let galleys: Vec<_> = cells.iter().map(cell).collect();
    // Height in points of a row of the table.
    let height = galleys.iter().map(|galley| galley.size().y).fold(16.0, f32::max);
    let (area, response) = table::allocate_row(ui, vec2(ui.available_width(), height), selected);
    ui.words(area.left_center(), Align2::LEFT_CENTER, name, 12.0, color);
    for (index, galley) in galleys.into_iter().enumerate() {
        let right = area.left() + names + width * (index + 1) as f32 - 8.0;
        // Such text extends to the left of its position.
        let at = pos2(right, area.center().y - galley.size().y / 2.0);
        ui.painter().galley(at, galley, color);
    }
    let response = response.named(Role::Button, name).valued(|| cells.join(", "));
    response.explain(cells.join("\n")).clicked()
}
