//! How long a frame's filter will take. In: what earlier frames taught about each pass, and when the bands of this one
//! ran. Out: what is left, in milliseconds, as soon as that can be told.
//!
//! A pass goes on as fast as its bands went so far, from one's end to the next one's: what lies between them is in it,
//! waiting for others at the beginning is not. The first launch of a kernel also compiles it for this launch, and
//! finds caches cold: it counts only where the kernel has run before. A pass that has not begun is taken to be as fast
//! as the others, in the proportion that earlier frames taught.

/// What is known about a pass. Work is in the plan's units, times are in nanoseconds.
#[derive(Debug, Default)]
struct Pass {
    work: f64,
    /// Time for one unit in earlier frames.
    known: Option<f64>,
    done: f64,
    /// When the first band began and ended, and its work.
    first: Option<(f64, f64, f64)>,
    /// When the last finished band ended.
    end: f64,
}

impl Pass {
    /// Time for one unit in this frame; `None` before that can be told.
    fn pace(&self) -> Option<f64> {
        let (began, ended, work) = self.first?;
        let (time, done) = match self.known {
            _ if self.done > work => (self.end - ended, self.done - work),
            Some(_) => (ended - began, work),
            None => return None,
        };
        (time > 0.0 && done > 0.0).then(|| time / done)
    }
}

/// What the bands of one frame say about the rest.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    passes: Vec<Pass>,
}

impl Estimate {
    /// For passes with so much work each, and the time for one unit that earlier frames taught, in nanoseconds.
    pub(super) fn new(passes: impl Iterator<Item = (f64, Option<f64>)>) -> Self {
        Self { passes: passes.map(|(work, known)| Pass { work, known, ..Pass::default() }).collect() }
    }

    /// A band of a pass has run, from and to these nanoseconds of any clock. Bands come in their order.
    pub(super) fn band(&mut self, pass: usize, work: f64, (began, ended): (u64, u64)) {
        let Some(pass) = self.passes.get_mut(pass) else { return };
        pass.first.get_or_insert((began as f64, ended as f64, work));
        pass.done += work;
        pass.end = ended as f64;
    }

    /// Work of all passes.
    pub(super) fn work(&self) -> f64 {
        self.passes.iter().map(|p| p.work).sum()
    }

    /// Part of all work that is done, 0 to 1.
    pub(super) fn fraction(&self) -> f64 {
        let (done, work) = (self.passes.iter().map(|p| p.done).sum::<f64>(), self.work());
        if work > 0.0 { (done / work).min(1.0) } else { 0.0 }
    }

    /// What is left to do, in milliseconds; `None` while neither this frame nor earlier ones tell.
    pub(super) fn left_ms(&self) -> Option<f64> {
        let newest = self.passes.iter().rev().find_map(|p| Some((p, p.pace()?)));
        let pace = |pass: &Pass| {
            let own = pass.pace();
            own.or_else(|| match (newest, pass.known) {
                (Some((newest, pace)), Some(known)) => Some(newest.known.map_or(pace, |k| known * pace / k)),
                (Some((_, pace)), None) => Some(pace),
                (None, known) => known,
            })
        };
        self.passes.iter().map(|p| Some((p.work - p.done).max(0.0) * pace(p)? / 1e6)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Whether `left` is within a factor of two of `truth`.
    fn near(left: Option<f64>, truth: f64) -> bool {
        left.is_some_and(|left| left / truth > 0.5 && left / truth < 2.0)
    }

    #[test]
    fn a_kernel_that_never_ran_is_told_from_its_second_band_on() {
        // 100 bands of 50 ms; the first one is compiled before it runs.
        let mut estimate = Estimate::new([(100.0, None)].into_iter());
        assert_eq!(estimate.left_ms(), None);
        estimate.band(0, 1.0, (0, 900 * MS));
        assert_eq!((estimate.left_ms(), estimate.fraction()), (None, 0.01));
        for n in 1..100 {
            estimate.band(0, 1.0, (900 * MS + (n - 1) * 50 * MS, 900 * MS + n * 50 * MS));
            let truth = (99 - n) as f64 * 50.0;
            assert!(n == 99 || near(estimate.left_ms(), truth), "{n}: {:?} of {truth}", estimate.left_ms());
        }
        assert_eq!((estimate.left_ms(), estimate.fraction()), (Some(0.0), 1.0));
    }

    #[test]
    fn one_that_ran_is_told_from_the_first_band_on_whatever_it_took_before() {
        // Ten times as slow a unit as at the radius before.
        let mut estimate = Estimate::new([(100.0, Some(5e6))].into_iter());
        assert_eq!(estimate.left_ms(), Some(500.0));
        // It had to wait for others until then.
        estimate.band(0, 1.0, (7000 * MS, 7050 * MS));
        assert!(near(estimate.left_ms(), 4950.0), "{:?}", estimate.left_ms());
    }

    #[test]
    fn time_between_bands_counts() {
        let mut estimate = Estimate::new([(10.0, Some(1e6))].into_iter());
        for n in 0..5 {
            estimate.band(0, 1.0, (n * 40 * MS, (n * 40 + 10) * MS));
        }
        assert!((estimate.left_ms().unwrap() - 200.0).abs() < 1e-6, "{:?}", estimate.left_ms());
    }

    #[test]
    fn a_pass_to_come_is_as_much_slower_as_it_was() {
        // The second pass takes four times as long for a unit, and the machine is half as fast as before.
        let mut known = Estimate::new([(10.0, Some(1e6)), (10.0, Some(4e6))].into_iter());
        known.band(0, 1.0, (0, 2 * MS));
        assert!((known.left_ms().unwrap() - (9.0 * 2.0 + 10.0 * 8.0)).abs() < 1e-6);
        let mut unknown = Estimate::new([(10.0, None), (10.0, None)].into_iter());
        unknown.band(0, 1.0, (0, 9 * MS));
        unknown.band(0, 1.0, (9 * MS, 11 * MS));
        assert!((unknown.left_ms().unwrap() - (8.0 * 2.0 + 10.0 * 2.0)).abs() < 1e-6);
        unknown.band(0, 8.0, (11 * MS, 27 * MS));
        // Its own first band is cold too.
        unknown.band(1, 1.0, (27 * MS, 99 * MS));
        assert!((unknown.left_ms().unwrap() - 9.0 * 2.0).abs() < 1e-6);
        unknown.band(1, 1.0, (99 * MS, 103 * MS));
        assert!((unknown.left_ms().unwrap() - 8.0 * 4.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_to_do_is_no_time() {
        let estimate = Estimate::default();
        assert_eq!((estimate.left_ms(), estimate.fraction()), (Some(0.0), 0.0));
    }
}
