//! What the army's steps took. In: reports. Out: percentiles of the last frames.

use std::collections::VecDeque;

use super::walker::Report;
use crate::timing::Series;

/// So many frames are told of: the last seconds.
const FRAMES: usize = 240;

/// A row of the panel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// Where the last frame did it.
    pub on_host: bool,
    /// What it took, in milliseconds, there.
    pub ms: Option<Series>,
}

/// The times of the last frames, each beside where it was done.
#[derive(Default)]
pub(super) struct Times {
    /// The steps; and last the copy to OpenGL.
    frames: VecDeque<[(bool, f64); 6]>,
    army: usize,
}

impl Times {
    /// Takes what a frame took. Those of an army of another size count no more.
    pub(super) fn note(&mut self, report: &Report) {
        if self.army != report.army {
            self.frames.clear();
            self.army = report.army;
        }
        let [a, b, c, d, e] = report.took.map(|took| (took.on_host, took.ms));
        let copied = (report.copied_ms.is_none(), report.copied_ms.unwrap_or(f64::NAN));
        self.frames.push_back([a, b, c, d, e, copied]);
        if self.frames.len() > FRAMES {
            self.frames.pop_front();
        }
    }

    /// Forgets them: another device goes on.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// A step, by its number, or the copy, which is 5; `None` before the first frame.
    pub(super) fn row(&self, step: usize) -> Option<Row> {
        let (on_host, _) = *self.frames.back()?.get(step)?;
        let same =
            self.frames.iter().filter_map(|frame| frame.get(step)).filter(|(side, _)| *side == on_host);
        let samples: Vec<f64> = same.map(|(_, ms)| *ms).collect();
        Some(Row { on_host, ms: Series::of(&samples) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::walker::Took;
    use super::*;

    fn report(army: usize, ms: f64, on_host: bool) -> Report {
        Report {
            army,
            vertices: Vec::new(),
            seconds: 0.0,
            grabbed: None,
            took: [Took { ms, on_host }; 5],
            copied_ms: (!on_host).then_some(ms),
            error: None,
        }
    }

    #[test]
    fn times_stand_beside_what_they_belong_to() {
        let mut times = Times::default();
        assert_eq!(times.row(0), None);
        for ms in [1.0, 2.0, 3.0] {
            times.note(&report(4, ms, false));
        }
        let row = times.row(0).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.p50, ms.n))), (false, Some((2.0, 3))));
        // On the other side the first of its own counts alone; the copy has none there.
        times.note(&report(4, 9.0, true));
        let row = times.row(0).unwrap();
        assert_eq!((row.on_host, row.ms.map(|ms| (ms.max, ms.n))), (true, Some((9.0, 1))));
        assert_eq!(times.row(5).unwrap().ms, None);
        // What did not run has no time.
        times.note(&report(4, f64::NAN, true));
        assert_eq!(times.row(0).unwrap().ms.map(|ms| ms.n), Some(1));
        times.note(&report(9, 5.0, false));
        assert_eq!(times.row(0).unwrap().ms.map(|ms| ms.n), Some(1));
        (0..FRAMES * 2).for_each(|_| times.note(&report(9, 5.0, false)));
        assert_eq!(times.row(0).unwrap().ms.map(|ms| ms.n), Some(FRAMES));
    }
}
