//! What the army's frames took. In: reports. Out: percentiles of the last frames.

use std::collections::VecDeque;

use base::timing::Series;
use engine::stats::ClothTimes;

/// So many frames are told of: the last seconds.
const FRAMES: usize = 240;

/// A row of the panel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// Where the last frame did it.
    pub on_host: bool,
    /// Of the handover: how often there is one in a frame, where vertices are shared.
    pub handovers: Option<usize>,
    /// What it took, in milliseconds, there.
    pub ms: Option<Series>,
}

/// The times of the last frames, each beside where it was done.
#[derive(Default)]
pub(super) struct Times {
    frames: VecDeque<ClothTimes>,
}

impl Times {
    /// Takes what a frame took. Those of an army of another size count no more.
    pub(super) fn note(&mut self, frame: ClothTimes) {
        if self.frames.back().is_some_and(|last| last.figures != frame.figures) {
            self.frames.clear();
        }
        self.frames.push_back(frame);
        if self.frames.len() > FRAMES {
            self.frames.pop_front();
        }
    }

    /// Forgets them: another device goes on.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// What the one of [`ClothTimes::NAMES`] took that has this index; `None` before the first frame. What is no step has a
    /// time only where the last frame had it.
    pub(super) fn row(&self, at: usize) -> Option<Row> {
        let last = self.frames.back()?;
        let wanted = how(last, at);
        let same = self.frames.iter().filter(|frame| how(frame, at) == wanted);
        let samples: Vec<f64> = same.filter_map(|frame| frame.ms.get(at).copied()).collect();
        let handovers = (wanted.handovers > 0).then_some(wanted.handovers);
        let ms = Series::of(&samples).filter(|_| wanted.is_there);
        Some(Row { on_host: wanted.on_host, handovers, ms })
    }
}

/// How a frame had something done: times count together where it is the same.
#[derive(PartialEq)]
struct How {
    on_host: bool,
    /// It has to do with such a frame.
    is_there: bool,
    /// Of a handover: how many its time is of.
    handovers: usize,
}

fn how(frame: &ClothTimes, at: usize) -> How {
    match at.checked_sub(ClothTimes::FIRST_STEP).and_then(|step| frame.on_host.get(step)) {
        Some(on_host) => How { on_host: *on_host, is_there: true, handovers: 0 },
        None => {
            let is_there = frame.ms.get(at).is_some_and(|ms| ms.is_finite());
            How { on_host: false, is_there, handovers: frame.handovers }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame whose steps took so long there, and whose vertices were copied or shared.
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
        // Where vertices are shared, nothing is copied, and what was copied before tells nothing of now.
        times.note(frame(4, 2.0, false, true));
        assert_eq!(times.row(7).unwrap().ms, None);
        assert_eq!([0, 6].map(|at| times.row(at).unwrap().ms.map(|ms| ms.n)), [Some(1); 2]);
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(4));
        // Two handovers are not one; the steps between them are the same.
        times.note(ClothTimes { handovers: 2, ..frame(4, 5.0, false, true) });
        assert_eq!([0, 6].map(|at| times.row(at).unwrap().ms.map(|ms| (ms.p50, ms.n))), [Some((5.0, 1)); 2]);
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(5));
        // On the other side the first of its own counts alone; the copy has none there.
        times.note(frame(4, 9.0, true, false));
        let row = times.row(1).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.max, ms.n))), (true, Some((9.0, 1))));
        assert_eq!([0, 6, 7].map(|at| times.row(at).unwrap().ms), [None; 3]);
        // What did not run has no time.
        times.note(frame(4, f64::NAN, true, false));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(1));
        times.note(frame(9, 5.0, false, false));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(1));
        (0..FRAMES * 2).for_each(|_| times.note(frame(9, 5.0, false, false)));
        assert_eq!(times.row(1).unwrap().ms.map(|ms| ms.n), Some(FRAMES));
    }
}
