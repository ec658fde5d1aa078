//! `--trace FILE`: writes all recorded events, such as the spans of frames, on one time axis as Chrome's trace JSON, which Perfetto
//! (ui.perfetto.dev) and chrome://tracing open. The file is written completely or not at all.
//!
//! Format: "Trace Event Format" (Google, 2016): complete events `X` with `ts` and `dur` in microseconds, instants `i`, and
//! metadata `M` with the names of processes and threads. Devices are processes of their own there.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use serde_json::json;

use super::timeline::extent;
use super::{ExportContext, FrameSample, Lane, Setting, Span, Stage};
use base::device::ClockState;
use base::error::Result;
use base::metadata::Metadata;
use base::save;
use base::timing::log::{Event, Recording, Track};
use box_filter::VariantId;
use compute::BackEnd;

/// The maximum number of rows that show one track (for example, the events of a thread or of a command queue). A track has several rows if
/// some of its events overlap.
const MAX_ROWS: usize = 16;
/// The explanations of the host's, OpenCL's and OpenGL's times, for the trace file.
const CLOCKS: [&str; 3] = [
    "Host: the monotonic clock; 0 is when recording began.",
    "OpenCL: start and end as the driver's events tell them. The device's clock is laid over the host's once: \
                            a command's QUEUED lies between the host's times before and after the call that enqueued it; the \
                            offset in the middle of the first such pair is kept as long as every later pair allows it, and else \
                            moved as little as will do. Durations are the device's own.",
    "OpenGL: durations are from timer queries, which give no start times; each span is placed where its calls began.",
];
/// The note on the time that recording itself took, in the trace file.
const RECORDING_COST: &str = "What recording took all threads together, from before an event is made until it is kept, by the number of \
                    frames presented; and that as a part of what the window's thread spent on a frame.";

/// Returns the events of a frame that has just been presented: the frame itself, its stages, and the frames dropped before it. `number` is
/// the frame's number among the presented frames.
pub fn frame_events(number: u64, sample: &FrameSample) -> Vec<Event> {
    let is_gl = |variant: VariantId| variant.back_end() == BackEnd::Glsl;
    let Setting { variant, settings, version, beside, .. } = sample.setting;
    let spans = &sample.stages.spans;
    let mut events = Vec::with_capacity(spans.len() + 2);
    if let Some((from, to)) = extent(spans.iter()) {
        let late = if sample.late { ", late" } else { "" };
        let filter = format!("{variant} {}", variant.settings_text(settings));
        let told = format!("{}, at {:.3} s{late}", filter.trim_end(), sample.pts);
        events.push(Event::span(Track::Frames, "frame", from, to).with(told));
        if sample.dropped_before > 0 {
            // A frame is dropped when the newest frame that is due is taken.
            let taken = spans.iter().find(|s| s.stage == Stage::Take).map_or(from, |s| s.from);
            let told = sample.dropped_before.to_string();
            events.push(Event::instant(Track::Window, "dropped", taken).with(told));
        }
    }
    let kernel = || match version {
        1 => variant.to_string(),
        version => format!("{variant}, version {version}"),
    };
    events.extend(spans.iter().map(|span| match span.stage {
        Stage::Filter => stage_event(span, is_gl(variant)).with(kernel()),
        Stage::Stack => stage_event(span, false).with(sample.setting.stack_text().unwrap_or_default()),
        Stage::Wipe => stage_event(span, beside.is_some_and(|beside| is_gl(beside.variant))),
        _ => stage_event(span, false),
    }));
    events.into_iter().map(|event| event.with_frame(number)).collect()
}

/// Returns the events of a repaint without a new movie frame, or with a picture that was filtered again.
pub fn repaint_events(spans: &[Span]) -> Vec<Event> {
    let repaint = extent(spans.iter()).map(|(from, to)| Event::span(Track::Window, "repaint", from, to));
    repaint.into_iter().chain(spans.iter().map(|span| stage_event(span, false))).collect()
}

/// Converts a span of a stage to an event of the trace; `gl` is true if shaders filtered the frame.
fn stage_event(span: &Span, gl: bool) -> Event {
    let track = match (span.lane, span.stage) {
        (Lane::Host, Stage::Filter) => Track::Native,
        (Lane::Host, _) => Track::Window,
        (Lane::Calls, _) => Track::Calls,
        (Lane::Upload, _) => Track::Uploads,
        (Lane::Device, Stage::Filter | Stage::Wipe) if gl => Track::GlFilter,
        (Lane::Device, _) => Track::Device,
    };
    Event::span(track, span.stage.name(), span.from, span.to)
}

/// Writes the recorded events to `path`, except for events of frames that were recorded incompletely. Without the `context` of a run,
/// the metadata are those at the time of writing. The object `otherData` in
/// the file has the number of events that were left out or dropped, the alignment of the clocks, and the time that recording
/// took.
///
/// # Errors
/// If the folder is missing or read-only, or the disk is full.
pub fn write_trace(path: &Path, recorded: &Recording, context: Option<&ExportContext>) -> Result<()> {
    save::atomically(path, |out| write_events(out, recorded, context))
}

/// An event in the format of the trace file.
#[derive(Serialize)]
struct Row<'a> {
    ph: &'a str,
    name: &'a str,
    /// The stage, or the kind of command, if the event is named after its kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    pid: u32,
    tid: usize,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    /// The scope of an instant event: "t" for its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    args: Args<'a>,
}

/// The object `args` (further values) of an event in the trace file.
#[derive(Serialize)]
struct Args<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

/// Writes the trace file: the events, the names of processes and threads, and `otherData`.
fn write_events(
    out: &mut dyn Write,
    recorded: &Recording,
    context: Option<&ExportContext>,
) -> io::Result<()> {
    let is_whole = |event: &&Event| event.frame.is_none_or(|frame| frame >= recorded.first_whole_frame);
    let mut events: Vec<&Event> = recorded.events().filter(is_whole).collect();
    // An event that contains others comes before them.
    events.sort_by_key(|event| (event.track, event.from, Reverse(event.to)));
    let left_out = recorded.events().count() - events.len();
    let began = recorded.began.0;
    let placed = assign_rows(&events);
    write!(out, "{{\"traceEvents\":[")?;
    for (n, name) in metadata_events(&events, &placed, context).iter().enumerate() {
        out.write_all(if n == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, name)?;
    }
    for (event, row) in events.iter().zip(&placed) {
        let to = event.to;
        let row = Row {
            ph: if to.is_some() { "X" } else { "i" },
            name: event.kernel().unwrap_or(event.what),
            cat: event.kernel().map(|_| event.what),
            pid: place_of(event.track).0,
            tid: thread_id(event.track, *row),
            // To the nanosecond; negative for an event before recording began.
            ts: as_microseconds(event.from.saturating_duration_since(began))
                - as_microseconds(began.saturating_duration_since(event.from)),
            dur: to.map(|to| to.saturating_duration_since(event.from)).map(as_microseconds),
            s: to.is_none().then_some("t"),
            args: Args {
                frame: event.frame,
                detail: event.detail.as_deref().filter(|_| event.kernel().is_none()),
            },
        };
        out.write_all(b",\n")?;
        serde_json::to_writer(&mut *out, &row)?;
    }
    let other = other_data(&events, recorded, left_out, context);
    write!(out, "\n],\"displayTimeUnit\":\"ms\",\"otherData\":")?;
    serde_json::to_writer(&mut *out, &other)?;
    writeln!(out, "}}")
}

fn other_data(
    events: &[&Event],
    recorded: &Recording,
    left_out: usize,
    context: Option<&ExportContext>,
) -> serde_json::Value {
    let since_1970 = recorded.began.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let frames = || events.iter().filter(|e| e.track == Track::Frames);
    let (count, presented) = (frames().count(), frames().filter_map(|e| e.frame).max().map_or(0, |n| n + 1));
    let of_frames = events.iter().filter(|e| e.track == Track::Window && e.frame.is_some());
    let spent: Duration = of_frames.filter_map(|e| Some(e.to?.saturating_duration_since(e.from))).sum();
    let frame_us = as_microseconds(spent) / count.max(1) as f64;
    let cost_us = recorded.cost_ns as f64 / 1e3 / f64::from(presented.max(1));
    let now = || Metadata::now(concat!("clreel ", env!("CARGO_PKG_VERSION")));
    let metadata = context.map_or_else(now, |context| context.metadata.clone());
    let device = context.and_then(|context| context.device.as_ref());
    let clock = context.map_or_else(ClockState::default, |context| context.clock.clone());
    let known = |value: f64| Some((value * 1e6).round() / 1e6).filter(|_| count > 0 && value.is_finite());
    json!({
        "program": metadata.program,
        "date": metadata.date,
        "host": metadata.host,
        "began_unix_s": since_1970.as_secs_f64(),
        "device": device.map(|device| &device.name),
        "platform": device.map(|device| &device.platform),
        "version": device.map(|device| &device.version),
        "driver": device.map(|device| &device.driver),
        "kernels": context.map_or(&[][..], |context| &context.kernels),
        "clock": clock.json_name(),
        "clock_reason": clock.note(),
        "gl_renderer": context.map(|context| &context.gl_renderer),
        "clocks": CLOCKS,
        "frames": count,
        "events": events.len(),
        "events_forgotten": recorded.forgotten + left_out as u64,
        "first_whole_frame": recorded.first_whole_frame,
        "recording": {
            "about": RECORDING_COST,
            "all_ms": recorded.cost_ns as f64 / 1e6,
            "frame_us": known(cost_us),
            "window_frame_us": known(frame_us),
            "part_of_frame": known(cost_us / frame_us),
        },
    })
}

fn as_microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Assigns each event to a row of its track, so that the events of a row are nested or separate, as the trace format requires.
/// `events` must be sorted by track and time. Returns the row of each event.
fn assign_rows(events: &[&Event]) -> Vec<usize> {
    let mut open: Vec<Vec<Instant>> = Vec::new();
    let mut track = None;
    let place = |event: &&Event| {
        if track.replace(event.track) != Some(event.track) {
            open.clear();
        }
        let Some(to) = event.to else { return 0 };
        for (n, ends) in open.iter_mut().enumerate() {
            while ends.last().is_some_and(|end| *end <= event.from) {
                ends.pop();
            }
            if ends.last().is_none_or(|end| to <= *end) {
                ends.push(to);
                return n;
            }
        }
        if open.len() < MAX_ROWS {
            open.push(vec![to]);
        }
        open.len() - 1
    };
    events.iter().map(place).collect()
}

/// Returns the id of the process that a track belongs to in the trace file, and the track's name there. The processes are clreel (1), OpenCL
/// (2) and OpenGL (3).
fn place_of(track: Track) -> (u32, &'static str) {
    match track {
        Track::Frames => (1, "frames"),
        Track::Window => (1, "window"),
        Track::Calls => (1, "device's calls"),
        Track::Decoder => (1, "decoder"),
        Track::Native => (1, "native"),
        Track::Builder => (1, "builder"),
        Track::Tuner => (1, "tuner"),
        Track::Cloth => (1, "cloth"),
        Track::Others => (1, "other threads"),
        Track::Uploads => (2, "queue for uploads"),
        Track::Device => (2, "queue"),
        Track::ClothQueue => (2, "queue of the cloth"),
        Track::GlFilter => (3, "filter"),
        Track::GlTexture => (3, "texture"),
        Track::GlPresent => (3, "present"),
        Track::GlOverlay => (3, "overlay"),
    }
}

/// Returns the thread id of a row of a track in the trace file.
fn thread_id(track: Track, row: usize) -> usize {
    (track as usize + 1) * MAX_ROWS + row
}

/// Returns the metadata events that name the processes and threads of these events.
fn metadata_events(
    events: &[&Event],
    rows: &[usize],
    context: Option<&ExportContext>,
) -> Vec<serde_json::Value> {
    let name = |what: &str, pid: u32, tid: usize, name: String| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}});
    let (mut processes, mut threads) = (BTreeMap::new(), BTreeMap::new());
    for (event, row) in events.iter().zip(rows) {
        let (pid, track) = place_of(event.track);
        let (called, of) = match pid {
            2 => ("OpenCL", context.and_then(|context| Some(&context.device.as_ref()?.name))),
            3 => ("OpenGL", context.map(|context| &context.gl_renderer)),
            _ => ("clreel", None),
        };
        processes.entry(pid).or_insert_with(|| of.map_or(called.into(), |of| format!("{called}: {of}")));
        threads.entry((pid, thread_id(event.track, *row))).or_insert_with(|| match row {
            0 => track.to_owned(),
            row => format!("{track} ({})", row + 1),
        });
    }
    // The file of a run in which nothing happened has a process name, too.
    processes.entry(1).or_insert_with(|| "clreel".to_owned());
    let order = threads.keys().map(|(pid, tid)| {
        json!({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}})
    });
    let processes = processes.iter().map(|(pid, called)| name("process_name", *pid, 0, called.clone()));
    let threads = threads.iter().map(|((pid, tid), called)| name("thread_name", *pid, *tid, called.clone()));
    processes.chain(threads).chain(order).collect()
}
