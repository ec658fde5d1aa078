//! The stages of the newest frames on one time axis, and the time for which several frames were processed at once.

use std::time::Instant;

use super::Stage;
use base::timing::log::Track;

/// The number of frames on the timeline.
pub const FRAMES_SHOWN: usize = 3;

/// A thread or command queue that works on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The window's thread, or the threads of the Rust filter.
    Host,
    /// The device's thread, which makes the OpenCL calls.
    Calls,
    /// The device's command queue for uploads.
    Upload,
    /// The device's command queue for the filter, or OpenGL's device for shaders.
    Device,
}

/// The interval in which a stage, or a part of it, ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The stage.
    pub stage: Stage,
    /// The thread or command queue on which it ran.
    pub lane: Lane,
    /// The start of the interval.
    pub from: Instant,
    /// The end of the interval.
    pub to: Instant,
}

impl Span {
    /// Returns the span of a stage from `from` until now, on the calling thread.
    pub fn since(stage: Stage, from: Instant) -> Self {
        let lane = if Track::of_thread() == Track::Calls { Lane::Calls } else { Lane::Host };
        Self { stage, lane, from, to: Instant::now() }
    }

    /// Returns the duration in milliseconds.
    pub fn ms(&self) -> f64 {
        self.to.saturating_duration_since(self.from).as_secs_f64() * 1e3
    }
}

/// The spans of the frames that were presented last, oldest frame first.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// The spans of each frame, oldest frame first. The spans of a frame are in no particular order.
    pub frames: Vec<Vec<Span>>,
}

impl Timeline {
    /// Returns the start of the first span and the end of the last one; `None` without spans.
    pub fn extent(&self) -> Option<(Instant, Instant)> {
        extent(self.frames.iter().flatten())
    }

    /// Returns the time for which two or more frames were processed at once, in milliseconds.
    pub fn overlap_ms(&self) -> f64 {
        let mut edges: Vec<(Instant, bool, usize)> = Vec::new();
        for (frame, spans) in self.frames.iter().enumerate() {
            for span in spans.iter().filter(|s| s.from < s.to) {
                edges.extend([(span.from, true, frame), (span.to, false, frame)]);
            }
        }
        edges.sort_unstable();
        let mut running = vec![0_u32; self.frames.len()];
        let mut overlap_ms = 0.0;
        let mut before = None;
        for (at, begins, frame) in edges {
            if let Some(before) = before.replace(at)
                && running.iter().filter(|n| **n > 0).count() > 1
            {
                overlap_ms += at.duration_since(before).as_secs_f64() * 1e3;
            }
            running[frame] = if begins { running[frame] + 1 } else { running[frame].saturating_sub(1) };
        }
        overlap_ms
    }
}

/// Returns the start of the first span and the end of the last one; `None` without spans.
pub(super) fn extent<'a>(spans: impl Iterator<Item = &'a Span> + Clone) -> Option<(Instant, Instant)> {
    Some((spans.clone().map(|s| s.from).min()?, spans.map(|s| s.to).max()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn span(base: Instant, lane: Lane, from_ms: u64, to_ms: u64) -> Span {
        let at = |ms| base + Duration::from_millis(ms);
        Span { stage: Stage::Filter, lane, from: at(from_ms), to: at(to_ms) }
    }

    #[test]
    fn only_time_in_which_two_frames_are_worked_on_is_overlap() {
        let base = Instant::now();
        let mut timeline = Timeline::default();
        assert_eq!((timeline.overlap_ms(), timeline.extent()), (0.0, None));
        // A frame does not overlap itself, however many of its stages run at once.
        timeline.frames.push(vec![span(base, Lane::Host, 0, 10), span(base, Lane::Device, 5, 30)]);
        assert_eq!(timeline.overlap_ms(), 0.0);
        // 20 to 30 overlap with the previous frame; 31 to 35 do not.
        timeline.frames.push(vec![span(base, Lane::Upload, 20, 30), span(base, Lane::Device, 31, 35)]);
        assert!((timeline.overlap_ms() - 10.0).abs() < 1e-6, "{}", timeline.overlap_ms());
        // Three frames at once count once: 28 to 30 are counted already, 31 to 33 are new.
        timeline.frames.push(vec![span(base, Lane::Upload, 28, 33)]);
        assert!((timeline.overlap_ms() - 12.0).abs() < 1e-6, "{}", timeline.overlap_ms());
        assert_eq!(timeline.extent(), Some((base, base + Duration::from_millis(35))));
    }
}
