//! Whole frames in `bench`, by the engine: as the window asks for them, and had in the host's memory. In: what was built to be
//! timed, and the movie's first picture, as planes. Out: whether every byte comes back right; and with `--whole-frames` what
//! the stages of a frame take, as rows of a table and entries of the JSON.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::cli::devices::print_line;
use crate::cli::frames::{ask, nobody, pixels};
use base::error::{Error, Result};
use base::timing::{Series, believed, ms_since};
use base::verify::{self, Checked, MismatchReport};
use box_filter::VariantId;
use box_filter::color_kernels::Converter;
use box_filter::whole::{Filter, Original, Shaders, WholeFrames};
use engine::glsl::Offscreen;
use engine::sharing::Sharing;
use engine::stats::Stage;
use engine::{Engine, Pipeline, Request, Slot};
use ladder::bench::{Tried, fail};
use ladder::measure::{Contender, Measurement, Sample, Timed, alternate, rounds_for};
use ladder::rounds;
use ladder::{BackEnd, Outcome};
use opencl::cl::ClContext;
use opencl::memory::{Rgba, Storage};
use opencl::program::any_changed;
use opencl::watch;
use opengl::read_texture::read_texture;

/// The stages that such a frame meets.
const STAGES: [Stage; 4] = [Stage::Upload, Stage::Convert, Stage::Filter, Stage::Release];

/// A client of the engine: what it asks for is compared, and timed.
pub(super) struct Client<'a> {
    engine: Engine,
    shaders: Option<OnShaders>,
    /// The shaders that are timed; the one who measures has them too.
    offscreen: Option<Rc<Offscreen>>,
    slot: Option<Slot>,
    device: Option<ClContext>,
    original: Option<Original>,
    first: &'a [u8],
    size: (u32, u32),
    /// What came back right: the variant, the radius, and what a frame took, in milliseconds.
    right: Vec<(VariantId, u32, f64)>,
}

/// The engine that has OpenGL, with the context that goes last.
struct OnShaders {
    engine: Engine,
    slot: Option<Slot>,
    offscreen: Rc<Offscreen>,
}

/// What came of a variant's whole frames at a radius.
pub(super) struct Row {
    radius: u32,
    id: VariantId,
    outcome: std::result::Result<Times, Box<Outcome>>,
}

struct Times {
    stages: [Option<Series>; STAGES.len()],
    frame: Measurement,
}

/// What one frame took, in milliseconds: its stages, and from the request until the picture was there.
#[derive(Clone, Copy)]
struct Took {
    stages: [f64; STAGES.len()],
    frame_ms: f64,
}

impl<'a> Client<'a> {
    /// One for pictures of this size, of which `first` holds the RGBA pixels of one.
    pub(super) fn new(first: &'a [u8], size: (u32, u32)) -> Self {
        Self {
            engine: Engine::new(nobody()),
            shaders: None,
            offscreen: None,
            slot: None,
            device: None,
            original: None,
            first,
            size,
            right: Vec::new(),
        }
    }

    fn original(&mut self) -> Result<&mut Original> {
        let original = match self.original.take() {
            Some(original) => original,
            None => Original::of(self.first, self.size)?,
        };
        Ok(self.original.insert(original))
    }

    /// The device's half of the engine, which is made when it is first needed, and anew where a frame has failed on it.
    fn pipeline(&mut self, cl: &ClContext) -> Result<&mut Pipeline> {
        if self.engine.pipeline().is_none() {
            self.engine.set_device(Pipeline::new(cl.clone(), &Sharing::copy("bench opens no window")));
            self.device = Some(cl.clone());
        }
        let gone = || Error::new("The device cannot filter frames.", "It has failed before.", "");
        self.engine.pipeline_mut().ok_or_else(gone)
    }

    /// Gives the engine what was built.
    fn add(&mut self, filter: Filter) -> Result<()> {
        match filter {
            Filter::Kernels(cl, built) => {
                self.pipeline(cl)?.add(built.clone());
            }
            Filter::Planes(cl, planar) => {
                let filtered =
                    Converter::supports(&self.original()?.frame.picture).map(|layout| layout.filtered());
                let pipeline = self.pipeline(cl)?;
                pipeline.add_planar(planar.clone());
                if let Some(filtered) = filtered {
                    pipeline.build_conversion(&filtered, Storage::Buffer)?;
                }
            }
            Filter::Threads => {}
            Filter::Shaders => {
                if let (None, Some(offscreen)) = (&self.shaders, &self.offscreen) {
                    let engine = Engine::with_opengl(offscreen.gl().clone(), nobody());
                    self.shaders = Some(OnShaders { engine, slot: None, offscreen: offscreen.clone() });
                }
            }
        }
        Ok(())
    }

    /// Asks for the frame, and waits until it is there.
    fn filter(&mut self, id: VariantId, radius: u32) -> Result<Took> {
        let size = self.size;
        self.original()?;
        let Self { engine, shaders, slot, original, .. } = self;
        let frame = original.as_ref().map(|original| &original.frame);
        let frame = frame.ok_or_else(|| Error::new("There is no frame.", "", ""))?;
        let (engine, kept, new) = match shaders.as_mut().filter(|_| id.back_end() == BackEnd::Glsl) {
            Some(OnShaders { engine, slot, offscreen }) => {
                let new = slot.take().map_or_else(|| Slot::new(offscreen.gl(), size.0, size.1), Ok)?;
                (engine, slot, new)
            }
            None => {
                let new = slot.take().unwrap_or_else(|| Slot::in_memory(size.0, size.1));
                (engine, slot, new)
            }
        };
        let began = Instant::now();
        let (filled, stages) = ask(engine, frame, Request::new(id, radius), new)?;
        let frame_ms = ms_since(began);
        *kept = Some(filled);
        watch::progress();
        Ok(Took { stages: STAGES.map(|stage| stages.times[stage as usize]), frame_ms })
    }

    /// One frame into memory that no other one was in; how it differs from what is right.
    fn compared(&mut self, id: VariantId, radius: u32) -> Tried<Took> {
        self.slot = None;
        self.shaders.iter_mut().for_each(|shaders| shaders.slot = None);
        let took = self.filter(id, radius).map_err(fail)?;
        match self.differs(id, radius).map_err(fail)? {
            Some(report) => Err(Box::new(Outcome::Mismatch(report))),
            None => Ok(took),
        }
    }

    fn differs(&mut self, id: VariantId, radius: u32) -> Result<Option<MismatchReport>> {
        let size = self.size;
        self.original()?;
        let Self { shaders, slot, original, .. } = self;
        let none = || Error::new("The frame cannot be compared.", "It has no pixels.", "");
        let want = original.as_mut().ok_or_else(none)?.right(radius, id.reads_planes())?;
        let read;
        let got = match shaders.as_ref().filter(|_| id.back_end() == BackEnd::Glsl) {
            Some(OnShaders { slot, offscreen, .. }) => {
                let texture = slot.as_ref().and_then(Slot::texture).ok_or_else(none)?;
                read = read_texture(offscreen.gl(), texture, size)?;
                read.as_slice()
            }
            None => pixels(slot.as_ref().ok_or_else(none)?, want.len())?,
        };
        let report = verify::compare(want, got, Rgba { width: size.0 as usize }, (&[], &[]));
        let case = "the movie, through the engine".to_owned();
        Ok(report.map(|report| MismatchReport { case, ..report }))
    }

    /// Has the device convert the frames, as the window has it where that is the faster way.
    fn convert_on_device(&mut self) -> Result<()> {
        let Some(cl) = self.device.clone().filter(|cl| !cl.is_cpu() && !any_changed("convert/")) else {
            return Ok(());
        };
        let Some(layout) = Converter::supports(&self.original()?.frame.picture) else { return Ok(()) };
        let pipeline = self.pipeline(&cl)?;
        pipeline.build_conversion(&layout, Storage::Buffer)?;
        match cl.device.info.image_support {
            true => pipeline.build_conversion(&layout, Storage::Image),
            false => Ok(()),
        }
    }

    /// Times the whole frames of variants that came back right, in turns.
    pub(super) fn time(
        &mut self,
        ids: &[VariantId],
        radius: u32,
        ask: rounds::Ask,
        mut say: impl FnMut(&str),
    ) -> Result<Vec<Row>> {
        self.convert_on_device()?;
        let (mut rows, mut ready) = (Vec::new(), Vec::new());
        let right = self.right.iter().filter(|(id, of, _)| ids.contains(id) && *of == radius);
        for (id, _, ms) in right.copied().collect::<Vec<_>>() {
            let _watched = watch::step("whole frames are compared", ms);
            match self.compared(id, radius).map(|took| rounds_for(took.frame_ms, ask.rounds, ask.named)) {
                Ok(Ok(rounds)) => ready.push((id, rounds, ms)),
                Ok(Err(why)) => rows.push(Row { radius, id, outcome: Err(Box::new(Outcome::Skipped(why))) }),
                Err(outcome) => rows.push(Row { radius, id, outcome: Err(outcome) }),
            }
        }
        let (client, took) = (RefCell::new(self), RefCell::new(vec![Vec::new(); ready.len()]));
        let now = Cell::new(0);
        let (client, took, now) = (&client, &took, &now);
        let contender = |(at, &(id, rounds, ms)): (usize, &(VariantId, u32, f64))| Contender {
            rounds,
            run: Box::new(move || {
                let _watched = watch::step("whole frames are timed", ms);
                let one = client.borrow_mut().filter(id, radius).map_err(fail)?;
                // Of a round the last run counts.
                let frames = &mut took.borrow_mut()[at];
                frames.truncate(now.get());
                frames.push(one);
                Ok(Sample { device_ms: None, dispatch_ms: None, wall_ms: one.frame_ms })
            }),
        };
        let mut contenders: Vec<Contender<Box<Outcome>>> = ready.iter().enumerate().map(contender).collect();
        let results = alternate(ask.rounds, &mut contenders, |round, _| {
            now.set(round as usize);
            say(&format!("timing whole frames, r={radius}, round {}", round + 1));
            Ok(())
        })?;
        drop(contenders);
        for (((id, ..), result), took) in ready.iter().zip(&results).zip(took.borrow().iter()) {
            let outcome = match result.as_ref().map(Timed::measurement) {
                Ok(Some(frame)) => Ok(Times { stages: series(took), frame }),
                Ok(None) => continue,
                Err(outcome) => Err(outcome.clone()),
            };
            rows.push(Row { radius, id: *id, outcome });
        }
        Ok(rows)
    }
}

impl WholeFrames for Client<'_> {
    fn shaders(&mut self, (width, height): (u32, u32)) -> Result<Rc<dyn Shaders>> {
        let offscreen = Rc::new(Offscreen::new(width, height)?);
        self.offscreen = Some(offscreen.clone());
        Ok(offscreen)
    }

    fn check(&mut self, filter: Filter, radius: u32) -> Tried<Checked> {
        let id = filter.id();
        self.add(filter).map_err(fail)?;
        let took = self.compared(id, radius)?;
        self.right.push((id, radius, took.frame_ms));
        self.original().map(|original| original.checked()).map_err(fail)
    }
}

/// Of the stages that there were.
fn series(took: &[Took]) -> [Option<Series>; STAGES.len()] {
    std::array::from_fn(|at| {
        let times: Vec<f64> = took.iter().map(|took| took.stages[at]).collect();
        Series::of(&times).filter(|series| series.max > 0.0)
    })
}

#[derive(Serialize)]
pub(super) struct Entry {
    radius: u32,
    id: &'static str,
    outcome: &'static str,
    reason: Option<String>,
    upload_ms: Option<Series>,
    convert_ms: Option<Series>,
    filter_ms: Option<Series>,
    release_ms: Option<Series>,
    frame_ms: Option<Series>,
}

pub(super) fn entry(row: &Row) -> Entry {
    let (times, instead) = (row.outcome.as_ref().ok(), row.outcome.as_ref().err());
    let [upload_ms, convert_ms, filter_ms, release_ms] = times.map_or([None; 4], |times| times.stages);
    Entry {
        radius: row.radius,
        id: row.id.as_str(),
        outcome: instead.map_or("ok", |outcome| outcome.word()),
        reason: instead.and_then(|outcome| outcome.reason()),
        upload_ms,
        convert_ms,
        filter_ms,
        release_ms,
        frame_ms: times.map(|times| times.frame.time),
    }
}

/// Prints the medians of what has times, a table for each radius, and what is wrong.
pub(super) fn print(device: &str, (width, height): (u32, u32), rows: &[Row]) -> Result<()> {
    for of_radius in rows.chunk_by(|a, b| a.radius == b.radius) {
        let radius = of_radius[0].radius;
        print_line(format!("{device} · {width}×{height} · radius {radius} · whole frames, medians in ms"))?;
        let mut table = Table::new();
        table.load_preset(presets::UTF8_BORDERS_ONLY);
        let stages = STAGES.map(Stage::name);
        table.set_header(["variant"].into_iter().chain(stages).chain(["frame", "n", "fps"]));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for row in of_radius {
            let Ok(times) = &row.outcome else { continue };
            let (frame, noise) = (&times.frame.time, [times.frame.noise()]);
            let shown = |series: &Option<Series>| {
                series.as_ref().map_or_else(String::new, |series| believed(series.p50, &noise))
            };
            let mut cells = vec![row.id.as_str().to_owned()];
            cells.extend(times.stages.iter().map(shown));
            cells.extend([believed(frame.p50, &noise), frame.n.to_string()]);
            cells.push(believed(1000.0 / frame.p50.max(1e-6), &noise));
            table.add_row(cells);
        }
        print_line(table)?;
        print_line(NOTE)?;
        for row in of_radius {
            if let Some(reason) = row.outcome.as_ref().err().and_then(|outcome| outcome.reason()) {
                print_line(format!("{}: {reason}", row.id.as_str()))?;
            }
        }
        print_line("")?;
    }
    Ok(())
}

const NOTE: &str =
    "frame: from the request until the picture is in the host's memory, one at a time (glsl: in a texture)";

/// Whether one of them differs, and whether one could not be run.
pub(super) fn wrong(rows: &[Row]) -> (bool, bool) {
    let any =
        |is: fn(&Outcome) -> bool| rows.iter().filter_map(|row| row.outcome.as_ref().err()).any(|o| is(o));
    (any(|o| matches!(o, Outcome::Mismatch(_))), any(|o| matches!(o, Outcome::Failed(_))))
}
