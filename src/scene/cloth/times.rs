//! Times of the last simulated frames of the figures, and their percentiles.

use std::collections::VecDeque;

use base::timing::Series;
use engine::stats::ClothTimes;

/// The number of frames, of the last seconds, whose times are kept.
const MAX_FRAMES: usize = 240;

/// The data of a row of the cloth panel, which shows one part of the work for a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// True if the step ran on the host in the last frame.
    pub on_host: bool,
    /// The number of handovers of the vertex buffer in a frame; `None` if vertices are not shared.
    pub handovers: Option<usize>,
    /// The statistics of the row's times in milliseconds, over the frames that did this work in the same place as the last
    /// frame; `None` if there are none.
    pub ms: Option<Series>,
}

/// The times of the last simulated frames, from which the rows of the cloth panel are computed.
#[derive(Default)]
pub(super) struct Times {
    frames: VecDeque<ClothTimes>,
}

impl Times {
    /// Adds the times of a frame. If the number of figures has changed, drops all earlier times first.
    pub(super) fn note(&mut self, frame: ClothTimes) {
        if self.frames.back().is_some_and(|last| last.figures != frame.figures) {
            self.frames.clear();
        }
        self.frames.push_back(frame);
        if self.frames.len() > MAX_FRAMES {
            self.frames.pop_front();
        }
    }

    /// Drops all times, because the device has changed.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// Returns the data for the row of the panel with this index in [`ClothTimes::NAMES`]; `None` before the first frame. A row
    /// that is not a simulation step has times only if the last frame had them.
    pub(super) fn row(&self, at: usize) -> Option<Row> {
        let last = self.frames.back()?;
        let wanted = placement(last, at);
        let same = self.frames.iter().filter(|frame| placement(frame, at) == wanted);
        let samples: Vec<f64> = same.filter_map(|frame| frame.ms.get(at).copied()).collect();
        let handovers = (wanted.handovers > 0).then_some(wanted.handovers);
        let ms = Series::of(&samples).filter(|_| wanted.is_there);
        Some(Row { on_host: wanted.on_host, handovers, ms })
    }
}

/// The place in which a frame did the work of a row (host or device). Only times with equal placements can be compared.
#[derive(PartialEq)]
struct Placement {
    on_host: bool,
    /// True if the frame did the work of this row at all.
    is_there: bool,
    /// The number of handovers of the vertex buffer that the row's time includes; 0 for simulation steps.
    handovers: usize,
}

/// Returns the place in which a frame did the work of the row `at`, an index in [`ClothTimes::NAMES`].
fn placement(frame: &ClothTimes, at: usize) -> Placement {
    match at.checked_sub(ClothTimes::FIRST_STEP).and_then(|step| frame.on_host.get(step)) {
        Some(on_host) => Placement { on_host: *on_host, is_there: true, handovers: 0 },
        None => {
            let is_there = frame.ms.get(at).is_some_and(|ms| ms.is_finite());
            Placement { on_host: false, is_there, handovers: frame.handovers }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame whose steps took `ms` on the host or the device, and whose vertices were shared or copied.
    fn frame(figures: usize, ms: f64, on_host: bool, is_shared: bool) -> ClothTimes {
        let only = |there: bool| if there { ms } else { f64::NAN };
        let (shared, copied) = (only(is_shared), only(!is_shared && !on_host));
        ClothTimes {
            figures,
            ms: [shared, ms, ms, ms, ms, ms, shared, copied],
            on_host: [on_host; 5],
            handovers: usize::from(is_shared),
        }
    }

    #[test]
    fn times_stand_beside_what_they_belong_to() {
        let mut times = Times::default();
        assert_eq!(times.row(1), None);
        for ms in [1.0, 2.0, 3.0] {
            times.note(frame(4, ms, false, false));
        }
        let row = times.row(1).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.p50, ms.n))), (false, Some((2.0, 3))));
        assert_eq!((times.row(0).unwrap().ms, times.row(7).unwrap().ms.map(|ms| ms.n)), (None, Some(3)));
        // If vertices are shared, nothing is copied, and earlier copies do not count.
        times.note(frame(4, 2.0, false, true));
        assert_eq!(times.row(7).unwrap().ms, None);
        assert_eq!([0, 6].map(|at| times.row(at).unwrap().ms.map(|ms| ms.n)), [Some(1); 2]);
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(4));
        // Times with two handovers are not those with one; the steps between them are the same.
        times.note(ClothTimes { handovers: 2, ..frame(4, 5.0, false, true) });
        assert_eq!([0, 6].map(|at| times.row(at).unwrap().ms.map(|ms| (ms.p50, ms.n))), [Some((5.0, 1)); 2]);
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(5));
        // On the host, only the first time counts; nothing is copied there.
        times.note(frame(4, 9.0, true, false));
        let row = times.row(1).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.max, ms.n))), (true, Some((9.0, 1))));
        assert_eq!([0, 6, 7].map(|at| times.row(at).unwrap().ms), [None; 3]);
        // A step that did not run has no time.
        times.note(frame(4, f64::NAN, true, false));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(1));
        times.note(frame(9, 5.0, false, false));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(1));
        (0..MAX_FRAMES * 2).for_each(|_| times.note(frame(9, 5.0, false, false)));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(MAX_FRAMES));
    }
}
