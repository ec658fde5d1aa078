//! Whole frames in `bench`: the engine filters the movie's first picture from its planes, as in the window, but into host
//! memory. Each variant's frame is compared with the reference; with `--whole-frames`, the stages (upload, conversion, filter,
//! release) are timed, too.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Instant;

use serde_json::json;

use crate::cli::frames::{no_waker, pixels, wait_for_next};
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
use engine::{Engine, Pipeline, Slot};
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
use stats::{Request, Sharing, Stage};

/// The stages of a whole frame that are timed.
const STAGES: [Stage; 4] = [Stage::Upload, Stage::Convert, Stage::Filter, Stage::Release];

/// The benchmark of whole frames on one device: filters a frame with the engine, compares it with the reference, and times it.
pub(super) struct Client<'a> {
    /// The engines that filter the frame: with the device or the CPU, and, once its shaders are built, with OpenGL for the variant
    /// `glsl`.
    engines: Vec<EngineSlot>,
    device: Option<ClContext>,
    original: &'a mut TestFrame,
    size: (u32, u32),
    /// The variants and radii whose frames are equal to the reference, each with the time of a frame in milliseconds.
    correct: Vec<(VariantId, u32, f64)>,
}

/// An engine, and the slot (memory of one picture) with the picture that it filtered last. Fields drop in order: the OpenGL
/// context must be dropped last.
struct EngineSlot {
    engine: Engine,
    slot: Option<Slot>,
    /// The shaders of the variant `glsl`, with their OpenGL context; `None` for other variants. The ladder shares them, since it
    /// times them without the other stages of a frame.
    offscreen: Option<Rc<Offscreen>>,
}

/// The times of the stages of one frame in milliseconds.
type StageTimes = [f64; STAGES.len()];

impl<'a> Client<'a> {
    /// Creates the benchmark that filters `original`, a picture of `size` pixels.
    pub(super) fn new(original: &'a mut TestFrame, size: (u32, u32)) -> Self {
        let engines = vec![EngineSlot { engine: Engine::new(no_waker()), slot: None, offscreen: None }];
        Self { engines, device: None, original, size, correct: Vec::new() }
    }

    /// Returns the index of the engine that filters with this variant.
    fn engine(&self, id: VariantId) -> usize {
        usize::from(id.back_end() == BackEnd::Glsl).min(self.engines.len() - 1)
    }

    /// Returns the engine's pipeline on the device. Creates the pipeline on first use, and again after a frame has failed on
    /// it.
    fn pipeline(&mut self, cl: &ClContext) -> Result<&mut Pipeline> {
        let engine = &mut self.engines[0].engine;
        if engine.pipeline().is_none() {
            engine.set_device(Pipeline::new(cl.clone(), &Sharing::copy("bench opens no window")));
            self.device = Some(cl.clone());
        }
        let failed = || Error::new("The device cannot filter frames.", "An earlier frame failed.", "");
        engine.pipeline_mut().ok_or_else(failed)
    }

    /// Adds a built variant to the engine.
    fn add(&mut self, filter: BuiltFilter) -> Result<()> {
        if let BuiltFilter::Kernels(cl, built) = filter {
            let layout = Converter::supports(&self.original.frame.picture);
            let pipeline = self.pipeline(cl)?;
            pipeline.variants.add(built.clone());
            let is_planar = built.id().reads_planes();
            if let Some(layout) =
                layout.filter(|_| is_planar).and_then(|layout| built.id().output_layout(layout))
            {
                pipeline.conversions.build(Conversion { layout, storage: Storage::Buffer })?;
            }
        }
        Ok(())
    }

    /// Filters the picture once, and waits for the result. Returns the times of the stages, and the time from the request until
    /// the picture is complete in milliseconds.
    fn filter(&mut self, id: VariantId, radius: u32) -> Result<(StageTimes, f64)> {
        let (width, height) = self.size;
        let at = self.engine(id);
        let EngineSlot { engine, slot, offscreen } = &mut self.engines[at];
        let new = match (slot.take(), offscreen) {
            (Some(slot), _) => slot,
            (None, Some(offscreen)) => Slot::new(&offscreen.headless.gl, width, height)?,
            (None, None) => Slot::in_memory(width, height),
        };
        let began = Instant::now();
        engine
            .submit(&self.original.frame, Request::new(id, radius), new)
            .map_err(|(_, refusal)| refusal.into_error())?;
        let (filled, stages) = wait_for_next(engine, |_| ())?;
        let frame_ms = ms_since(began);
        *slot = Some(filled);
        watch::progress();
        Ok((STAGES.map(|stage| stages.times[stage as usize]), frame_ms))
    }

    /// Filters the picture into newly allocated memory and compares the result with the reference. Returns the time of the frame
    /// in milliseconds.
    fn filter_and_compare(&mut self, id: VariantId, radius: u32) -> VariantResult<f64> {
        let at = self.engine(id);
        self.engines[at].slot = None;
        let (_, frame_ms) = self.filter(id, radius).map_err(fail)?;
        match self.compare(id, radius).map_err(fail)? {
            Some(report) => Err(Box::new(Outcome::Mismatch(report))),
            None => Ok(frame_ms),
        }
    }

    /// Compares the frame that was filtered last with the reference. Returns a report if they differ, `None` if they are equal.
    fn compare(&mut self, id: VariantId, radius: u32) -> Result<Option<MismatchReport>> {
        let none = || Error::new("The frame cannot be compared.", "It has no pixels.", "");
        let at = self.engine(id);
        let EngineSlot { slot, offscreen, .. } = &self.engines[at];
        let want = self.original.expected(radius, id.reads_planes())?;
        let slot = slot.as_ref().ok_or_else(none)?;
        let got = match offscreen {
            Some(offscreen) => {
                read_texture(&offscreen.headless.gl, slot.texture().ok_or_else(none)?, self.size)?.into()
            }
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

    /// Times whole frames of those variants in `ids` whose frames are equal to the reference. The variants run in turn. Returns
    /// the results as a case of the report, with the times of each run.
    pub(super) fn time(
        &mut self,
        ids: &[VariantId],
        radius: u32,
        options: rounds::BenchOptions,
        mut show: impl FnMut(&str),
    ) -> Result<RunReport> {
        self.convert_on_device()?;
        let (mut rows, mut ready) = (Vec::new(), Vec::new());
        let checked = self.original.checked();
        let row = |id: VariantId, outcome: Outcome, times: &[StageTimes]| {
            // `None` for stages that did not run.
            let stage = |(at, stage): (usize, Stage)| {
                let samples: Vec<f64> = times.iter().map(|stages| stages[at]).collect();
                (stage.name().to_owned(), Series::of(&samples).filter(|series| series.max > 0.0))
            };
            let timed = outcome.measured().map(|_| ());
            RowReport {
                kind: Some(id.back_end().as_str().to_owned()),
                stages_ms: timed
                    .into_iter()
                    .flat_map(|()| STAGES.into_iter().enumerate().map(stage))
                    .collect(),
                checked: timed.map(|()| checked.clone()).into_iter().collect(),
                ..RowReport::of_outcome(id.name, &outcome, true)
            }
        };
        let correct = self.correct.iter().filter(|(id, of, _)| ids.contains(id) && *of == radius);
        for (id, _, ms) in correct.copied().collect::<Vec<_>>() {
            let _watched = watch::step("whole frames are compared", ms);
            match self
                .filter_and_compare(id, radius)
                .map(|frame_ms| rounds_for(frame_ms, options.rounds, options.selected_by_name))
            {
                Ok(Ok(rounds)) => ready.push((id, rounds, ms)),
                Ok(Err(why)) => rows.push(row(id, Outcome::Skipped(why), &[])),
                Err(outcome) => rows.push(row(id, *outcome, &[])),
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
                let (stages, wall_ms) = self.filter(id, radius).map_err(fail)?;
                times[at].extend(timed.map(|_| stages));
                Ok(Sample::on_host(wall_ms))
            });
        }
        turns.finish();
        for (((id, ..), result), times) in ready.iter().zip(&turns.results).zip(&times) {
            rows.push(match result.as_ref().map(TaskSamples::measurement) {
                Ok(Some(frame)) => row(*id, Outcome::Ok(frame), times),
                Ok(None) => continue,
                Err(outcome) => row(*id, Outcome::clone(outcome), &[]),
            });
        }
        Ok(RunReport {
            title: format!("whole frames · radius {radius}"),
            case: json!({ "whole_frames": true, "radius": radius }),
            variants: rows,
            ..RunReport::default()
        })
    }
}

impl EngineFrames for Client<'_> {
    /// Returns the filter of the variant `glsl`, which runs in shaders; creates it on first use.
    fn shaders(&mut self, (width, height): (u32, u32)) -> Result<Rc<dyn Shaders>> {
        if let [_, EngineSlot { offscreen: Some(known), .. }] = &self.engines[..] {
            return Ok(known.clone());
        }
        let offscreen = Rc::new(Offscreen::new(width, height)?);
        let engine = Engine::with_opengl(offscreen.headless.gl.clone(), no_waker());
        self.engines.push(EngineSlot { engine, slot: None, offscreen: Some(offscreen.clone()) });
        Ok(offscreen)
    }

    /// Adds a built variant to the engine, filters a frame with it, and compares the frame with the reference.
    fn check(&mut self, filter: BuiltFilter, radius: u32) -> VariantResult<Checked> {
        let id = filter.id();
        self.add(filter).map_err(fail)?;
        let frame_ms = self.filter_and_compare(id, radius)?;
        self.correct.push((id, radius, frame_ms));
        Ok(self.original.checked())
    }
}

/// Prints a table of medians for each radius, and the reasons of failures.
pub(super) fn print(device: &str, (width, height): (u32, u32), runs: &[RunReport]) -> Result<()> {
    for RunReport { case, variants, .. } in runs {
        let radius = &case["radius"];
        print_line(format!("{device} · {width}×{height} · radius {radius} · whole frames, medians in ms"))?;
        let header = ["variant"].into_iter().chain(STAGES.map(Stage::name)).chain(["frame", "n", "fps"]);
        let mut table = table(header, 1..usize::MAX);
        for row in variants {
            let Some(frame) = row.time() else { continue };
            let shown = |ms: f64| believed(ms, &[row.precision()]);
            let stage =
                |stage: Stage| row.stages_ms[stage.name()].map_or_else(String::new, |ms| shown(ms.p50));
            let mut cells = vec![row.id.clone()];
            cells.extend(STAGES.map(stage));
            cells.extend([shown(frame.p50), frame.n.to_string(), shown(1000.0 / frame.p50.max(1e-6))]);
            table.add_row(cells);
        }
        print_line(table)?;
        print_line(
            "frame: from the request until the picture is in host memory, one frame at a time (glsl: in a texture)",
        )?;
        for row in variants.iter().filter(|row| row.time().is_none()) {
            if let Some(reason) = &row.reason {
                print_line(format!("{}: {reason}", row.id))?;
            }
        }
        print_line("")?;
    }
    Ok(())
}
