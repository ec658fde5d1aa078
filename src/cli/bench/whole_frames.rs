//! Whole frames in `bench`: the engine filters the movie's first picture from its planes, as in the window, but into host
//! memory. Each variant's frame is compared with the reference; with `--whole-frames`, the stages (upload, conversion, filter,
//! release) are timed, too.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use crate::cli::frames::{filter_frame, no_waker, pixels};
use crate::cli::output::{print_line, table};
use base::error::{Error, Result};
use base::timing::{Series, believed, ms_since};
use base::verify::{self, Checked, MismatchReport};
use box_filter::VariantId;
use box_filter::color_kernels::{Conversion, Converter, storages};
use box_filter::shaders::Shaders;
use compute::BackEnd;
use compute::sample::Sample;
use engine::glsl::Offscreen;
use engine::sharing::Sharing;
use engine::stats::Stage;
use engine::{Engine, Pipeline, Request, Slot};
use ladder::Outcome;
use ladder::measure::{Alternation, TaskSamples, rounds_for};
use ladder::outcome::{VariantResult, fail};
use ladder::results::{RowReport, RunReport};
use ladder::rounds;
use ladders::box_filter::whole_frames::{BuiltFilter, EngineFrames, TestFrame};
use opencl::cl::ClContext;
use opencl::memory::{Rgba, Storage};
use opencl::watch;
use opengl::read_texture::read_texture;

/// The stages of a whole frame that are timed.
const STAGES: [Stage; 4] = [Stage::Upload, Stage::Convert, Stage::Filter, Stage::Release];

/// The benchmark of whole frames on one device: filters a frame with the engine, compares it with the reference, and times it.
pub(super) struct Client<'a> {
    engines: Engines,
    device: Option<ClContext>,
    original: &'a mut TestFrame,
    size: (u32, u32),
    /// The variants and radii whose frames are equal to the reference, each with the time of a frame in milliseconds.
    correct: Vec<(VariantId, u32, f64)>,
}

/// The engines that filter the frame. Fields drop in order: the OpenGL context must be dropped last.
struct Engines {
    plain: EngineSlot,
    /// The engine that filters with OpenGL, for the variant `glsl`.
    shaders: Option<EngineSlot>,
    /// The shaders of the variant `glsl`. The ladder shares them, since it times them without the other stages of a frame.
    offscreen: Option<Rc<Offscreen>>,
}

impl Engines {
    /// Returns the engine that filters with this variant, and the OpenGL context for it if the variant needs one.
    fn of(&mut self, id: VariantId) -> (&mut EngineSlot, Option<&Arc<glow::Context>>) {
        match (&mut self.shaders, &self.offscreen) {
            (Some(shaders), Some(offscreen)) if id.back_end() == BackEnd::Glsl => {
                (shaders, Some(offscreen.gl()))
            }
            _ => (&mut self.plain, None),
        }
    }
}

/// An engine, and the slot (memory of one picture) with the picture that it filtered last.
struct EngineSlot {
    engine: Engine,
    slot: Option<Slot>,
}

/// The result of timing whole frames with one variant and radius.
pub(super) struct Row {
    radius: u32,
    id: VariantId,
    /// The times from the request of a frame until its picture is complete, or the outcome that takes their place.
    outcome: Outcome,
    /// The times of each stage in [`STAGES`]; `None` for a stage that did not run.
    stages: [Option<Series>; STAGES.len()],
    checked: Checked,
}

impl Row {
    /// Returns the outcome that takes the place of the times; `None` if there are times.
    pub(super) fn failure(&self) -> Option<&Outcome> {
        Some(&self.outcome).filter(|outcome| outcome.measured().is_none())
    }
}

/// The times of one frame in milliseconds: that of each stage, and the total time from the request until the picture is
/// complete.
#[derive(Clone, Copy)]
struct FrameTimes {
    stages: [f64; STAGES.len()],
    frame_ms: f64,
}

impl<'a> Client<'a> {
    /// Creates the benchmark that filters `original`, a picture of `size` pixels.
    pub(super) fn new(original: &'a mut TestFrame, size: (u32, u32)) -> Self {
        let plain = EngineSlot { engine: Engine::new(no_waker()), slot: None };
        let engines = Engines { plain, shaders: None, offscreen: None };
        Self { engines, device: None, original, size, correct: Vec::new() }
    }

    /// Returns the engine's pipeline on the device. Creates the pipeline on first use, and again after a frame has failed on
    /// it.
    fn pipeline(&mut self, cl: &ClContext) -> Result<&mut Pipeline> {
        let engine = &mut self.engines.plain.engine;
        if engine.pipeline().is_none() {
            engine.set_device(Pipeline::new(cl.clone(), &Sharing::copy("bench opens no window")));
            self.device = Some(cl.clone());
        }
        let failed = || Error::new("The device cannot filter frames.", "An earlier frame failed.", "");
        engine.pipeline_mut().ok_or_else(failed)
    }

    /// Adds a built variant to the engine.
    fn add(&mut self, filter: BuiltFilter) -> Result<()> {
        match filter {
            BuiltFilter::Kernels(cl, built) => {
                let layout = Converter::supports(&self.original.frame.picture);
                let filtered = layout.filter(|_| built.id().reads_planes()).map(|layout| layout.filtered());
                let pipeline = self.pipeline(cl)?;
                pipeline.variants.add(built.clone());
                if let Some(layout) = filtered {
                    pipeline.conversions.build(Conversion { layout, storage: Storage::Buffer })?;
                }
            }
            BuiltFilter::Threads => {}
            BuiltFilter::Shaders => {
                if let (None, Some(offscreen)) = (&self.engines.shaders, &self.engines.offscreen) {
                    let engine = Engine::with_opengl(offscreen.gl().clone(), no_waker());
                    self.engines.shaders = Some(EngineSlot { engine, slot: None });
                }
            }
        }
        Ok(())
    }

    /// Filters the picture once, and waits for the result.
    fn filter(&mut self, id: VariantId, radius: u32) -> Result<FrameTimes> {
        let (width, height) = self.size;
        let (EngineSlot { engine, slot }, gl) = self.engines.of(id);
        let new = match (slot.take(), gl) {
            (Some(slot), _) => slot,
            (None, Some(gl)) => Slot::new(gl, width, height)?,
            (None, None) => Slot::in_memory(width, height),
        };
        let began = Instant::now();
        let (filled, stages) = filter_frame(engine, &self.original.frame, Request::new(id, radius), new)?;
        let frame_ms = ms_since(began);
        *slot = Some(filled);
        watch::progress();
        Ok(FrameTimes { stages: STAGES.map(|stage| stages.times[stage as usize]), frame_ms })
    }

    /// Filters the picture into newly allocated memory and compares the result with the reference.
    fn filter_and_compare(&mut self, id: VariantId, radius: u32) -> VariantResult<FrameTimes> {
        self.engines.of(id).0.slot = None;
        let times = self.filter(id, radius).map_err(fail)?;
        match self.compare(id, radius).map_err(fail)? {
            Some(report) => Err(Box::new(Outcome::Mismatch(report))),
            None => Ok(times),
        }
    }

    /// Compares the frame that was filtered last with the reference. Returns a report if they differ, `None` if they are equal.
    fn compare(&mut self, id: VariantId, radius: u32) -> Result<Option<MismatchReport>> {
        let none = || Error::new("The frame cannot be compared.", "It has no pixels.", "");
        let want = self.original.expected(radius, id.reads_planes())?;
        let (EngineSlot { slot, .. }, gl) = self.engines.of(id);
        let slot = slot.as_ref().ok_or_else(none)?;
        let got = match gl {
            Some(gl) => read_texture(gl, slot.texture().ok_or_else(none)?, self.size)?.into(),
            None => Cow::Borrowed(pixels(slot, want.len())?),
        };
        let report = verify::compare(want, &got, &Rgba { width: self.size.0 as usize }, 0);
        let case = "the movie, through the engine".to_owned();
        Ok(report.map(|report| MismatchReport { case, ..report }))
    }

    /// Makes the device convert the frames from YUV to RGBA, as the window does on GPUs.
    fn convert_on_device(&mut self) -> Result<()> {
        let Some(cl) = self.device.clone().filter(|cl| !cl.is_cpu() && !cl.sources().any_changed("convert/"))
        else {
            return Ok(());
        };
        let Some(layout) = Converter::supports(&self.original.frame.picture) else { return Ok(()) };
        let pipeline = self.pipeline(&cl)?;
        let mut storages = storages(&cl).iter();
        storages.try_for_each(|&storage| pipeline.conversions.build(Conversion { layout, storage }))
    }

    /// Times whole frames of those variants in `ids` whose frames are equal to the reference. The variants run in turn.
    pub(super) fn time(
        &mut self,
        ids: &[VariantId],
        radius: u32,
        options: rounds::BenchOptions,
        mut show: impl FnMut(&str),
    ) -> Result<Vec<Row>> {
        self.convert_on_device()?;
        let (mut rows, mut ready) = (Vec::new(), Vec::new());
        let checked = self.original.checked();
        let row = |id, outcome, stages| Row { radius, id, outcome, stages, checked: checked.clone() };
        let correct = self.correct.iter().filter(|(id, of, _)| ids.contains(id) && *of == radius);
        for (id, _, ms) in correct.copied().collect::<Vec<_>>() {
            let _watched = watch::step("whole frames are compared", ms);
            match self
                .filter_and_compare(id, radius)
                .map(|times| rounds_for(times.frame_ms, options.rounds, options.selected_by_name))
            {
                Ok(Ok(rounds)) => ready.push((id, rounds, ms)),
                Ok(Err(why)) => rows.push(row(id, Outcome::Skipped(why), [None; STAGES.len()])),
                Err(outcome) => rows.push(row(id, *outcome, [None; STAGES.len()])),
            }
        }
        let mut turns: Alternation<Box<Outcome>> =
            Alternation::new(ready.iter().map(|(_, rounds, _)| *rounds).collect(), Vec::new());
        let mut times = vec![Vec::new(); ready.len()];
        for round in 0..options.rounds {
            show(&format!("timing whole frames, r={radius}, round {}", round + 1));
            turns.round(round, |at, timed| {
                let (id, _, ms) = ready[at];
                let _watched = watch::step("whole frames are timed", ms);
                let one = self.filter(id, radius).map_err(fail)?;
                times[at].extend(timed.map(|_| one));
                Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: one.frame_ms })
            });
        }
        turns.finish();
        for (((id, ..), result), times) in ready.iter().zip(turns.results()).zip(&times) {
            rows.push(match result.as_ref().map(TaskSamples::measurement) {
                Ok(Some(frame)) => row(*id, Outcome::Ok(frame), series(times)),
                Ok(None) => continue,
                Err(outcome) => row(*id, Outcome::clone(outcome), [None; STAGES.len()]),
            });
        }
        Ok(rows)
    }
}

impl EngineFrames for Client<'_> {
    /// Returns the filter of the variant `glsl`, which runs in shaders; creates it on first use.
    fn shaders(&mut self, (width, height): (u32, u32)) -> Result<Rc<dyn Shaders>> {
        let offscreen = match self.engines.offscreen.take() {
            Some(offscreen) => offscreen,
            None => Rc::new(Offscreen::new(width, height)?),
        };
        Ok(self.engines.offscreen.insert(offscreen).clone())
    }

    /// Adds a built variant to the engine, filters a frame with it, and compares the frame with the reference.
    fn check(&mut self, filter: BuiltFilter, radius: u32) -> VariantResult<Checked> {
        let id = filter.id();
        self.add(filter).map_err(fail)?;
        let times = self.filter_and_compare(id, radius)?;
        self.correct.push((id, radius, times.frame_ms));
        Ok(self.original.checked())
    }
}

/// Returns the statistics of the times of each stage; `None` for stages that did not run.
fn series(times: &[FrameTimes]) -> [Option<Series>; STAGES.len()] {
    std::array::from_fn(|at| {
        let samples: Vec<f64> = times.iter().map(|frame| frame.stages[at]).collect();
        Series::of(&samples).filter(|series| series.max > 0.0)
    })
}

/// Returns the results of whole frames for the report, as a case for each radius, with the times of each run if `has_samples`
/// is true.
pub(super) fn reports(rows: &[Row], has_samples: bool) -> impl Iterator<Item = RunReport> {
    let row = move |row: &Row| RowReport {
        kind: Some(row.id.back_end().as_str().to_owned()),
        stages_ms: row.outcome.measured().map_or_else(Default::default, |_| {
            STAGES.iter().zip(row.stages).map(|(stage, times)| (stage.name().to_owned(), times)).collect()
        }),
        checked: row.outcome.measured().map(|_| row.checked.clone()).into_iter().collect(),
        ..RowReport::of_outcome(row.id.name, &row.outcome, has_samples)
    };
    rows.chunk_by(|a, b| a.radius == b.radius).map(move |rows| RunReport {
        title: format!("whole frames · radius {}", rows[0].radius),
        case: json!({ "whole_frames": true, "radius": rows[0].radius }),
        variants: rows.iter().map(row).collect(),
        ..RunReport::default()
    })
}

/// Prints a table of medians for each radius, and the reasons of failures.
pub(super) fn print(device: &str, (width, height): (u32, u32), rows: &[Row]) -> Result<()> {
    for of_radius in rows.chunk_by(|a, b| a.radius == b.radius) {
        let radius = of_radius[0].radius;
        print_line(format!("{device} · {width}×{height} · radius {radius} · whole frames, medians in ms"))?;
        let header = ["variant"].into_iter().chain(STAGES.map(Stage::name)).chain(["frame", "n", "fps"]);
        let mut table = table(header, 1..usize::MAX);
        for row in of_radius {
            let Some(measured) = row.outcome.measured() else { continue };
            let (frame, precision) = (&measured.time, [measured.precision()]);
            let shown = |series: &Option<Series>| {
                series.as_ref().map_or_else(String::new, |series| believed(series.p50, &precision))
            };
            let mut cells = vec![row.id.name.to_owned()];
            cells.extend(row.stages.iter().map(shown));
            cells.extend([believed(frame.p50, &precision), frame.n.to_string()]);
            cells.push(believed(1000.0 / frame.p50.max(1e-6), &precision));
            table.add_row(cells);
        }
        print_line(table)?;
        print_line(FRAME_TIME_NOTE)?;
        for row in of_radius {
            if let Some(reason) = row.failure().and_then(Outcome::reason) {
                print_line(format!("{}: {reason}", row.id.name))?;
            }
        }
        print_line("")?;
    }
    Ok(())
}

/// The note below the table of whole frames.
const FRAME_TIME_NOTE: &str =
    "frame: from the request until the picture is in host memory, one frame at a time (glsl: in a texture)";
