//! Converts the time stamps of a file, which may start anywhere, be missing, repeat or jump, to positions in the movie that
//! strictly increase, in nanoseconds.

use super::SECOND_NS;

/// The largest step back between two time stamps that counts as a single wrong time stamp. After a larger one, positions
/// count from another origin.
pub(super) const MAX_JUMP_BACK_NS: i64 = SECOND_NS;
/// The largest step forward between two time stamps after which positions still count from the same origin, in formats that
/// allow jumps.
pub(super) const MAX_JUMP_FORWARD_NS: i64 = 10 * SECOND_NS;

/// Converts the time stamps of one pass through a file to positions in the movie.
#[derive(Clone)]
pub(super) struct Timeline {
    /// The time stamp that counts as position 0: that of the movie's beginning, until a jump moves it. `None` before the first
    /// frame.
    pub origin_ns: Option<i64>,
    /// The time stamp of the movie's first frame, which is shown from position 0 on; `None` before that frame, and after a jump
    /// or a seek to another origin.
    first_ns: Option<i64>,
    /// The position of the last frame in nanoseconds. For the movie's first frame, it is computed from its time stamp and not
    /// set to 0. `None` before the first frame and after a seek.
    last_ns: Option<i64>,
    /// The expected duration of the last frame in nanoseconds; 0 before the first frame and after a seek.
    last_duration_ns: i64,
    /// True if the format allows jumps of time stamps, as MPEG streams do.
    allows_jumps: bool,
}

impl Timeline {
    /// Creates the timeline of a file that is read from its beginning.
    pub(crate) fn new(allows_jumps: bool) -> Self {
        Self { origin_ns: None, first_ns: None, last_ns: None, last_duration_ns: 0, allows_jumps }
    }

    /// Sets the beginning of the movie: the earlier one of the first frame's time stamp and `sound_ns`, that of the first
    /// sample of its sound. Sound that begins more than `max_lead_ns` before the frame does not count, since one of the time
    /// stamps is wrong.
    pub(crate) fn begin(&mut self, stamp_ns: Option<i64>, sound_ns: Option<i64>, max_lead_ns: i64) {
        let first_ns = stamp_ns.unwrap_or(0);
        let is_earlier = |sound_ns: &i64| (0..=max_lead_ns).contains(&first_ns.saturating_sub(*sound_ns));
        let sound_ns = sound_ns.filter(|sound_ns| stamp_ns.is_some() && is_earlier(sound_ns));
        (self.first_ns, self.origin_ns) = (Some(first_ns), sound_ns.or(Some(first_ns)));
    }

    /// Returns the time in nanoseconds for which the sound plays before the movie's first frame would begin.
    pub(crate) fn lead_ns(&self) -> i64 {
        self.first_ns.zip(self.origin_ns).map_or(0, |(first, origin)| first.saturating_sub(origin))
    }

    /// Returns a timeline for the frames after a seek, on which the time stamp `origin_ns` counts as position 0.
    pub(crate) fn after_seek(&self, origin_ns: i64) -> Self {
        let first_ns = self.first_ns.filter(|_| self.origin_ns == Some(origin_ns));
        Self { origin_ns: Some(origin_ns), first_ns, ..Self::new(self.allows_jumps) }
    }

    /// Returns the position of the next frame. `stamp_ns` is its time stamp, `duration_ns` its expected duration.
    ///
    /// A missing time stamp follows from the previous frame. A position that does not increase is set half a frame after
    /// the previous frame, so that one wrong time stamp does not shift all later frames. After a jump back of more than a
    /// second, frames continue after the previous one. The movie's first frame is at position 0, also if the sound begins
    /// before it.
    pub(crate) fn position(&mut self, stamp_ns: Option<i64>, duration_ns: i64) -> i64 {
        let position = match (self.origin_ns, self.last_ns) {
            (None, _) => {
                self.begin(stamp_ns, None, 0);
                0
            }
            (Some(_), None) if stamp_ns <= self.first_ns => {
                // The next frame follows the time stamp, so that the time between them is no jump.
                (self.last_ns, self.last_duration_ns) = (Some(self.lead_ns()), duration_ns);
                return 0;
            }
            (Some(origin), None) => stamp_ns.map_or(0, |stamp| stamp.saturating_sub(origin)).max(0),
            (Some(origin), Some(last)) => {
                let expected = last.saturating_add(self.last_duration_ns.max(1));
                let position = stamp_ns.map_or(expected, |stamp| stamp.saturating_sub(origin));
                let gap = position.saturating_sub(last);
                if gap < -MAX_JUMP_BACK_NS || (self.allows_jumps && gap > MAX_JUMP_FORWARD_NS) {
                    self.origin_ns = Some(origin.saturating_add(position.saturating_sub(expected)));
                    self.first_ns = None;
                    expected
                } else if gap <= 0 {
                    last.saturating_add((self.last_duration_ns / 2).max(1))
                } else {
                    position
                }
            }
        };
        self.last_ns = Some(position);
        self.last_duration_ns = duration_ns;
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn position(allows_jumps: bool, stamps: &[Option<i64>]) -> Vec<i64> {
        let mut timeline = Timeline::new(allows_jumps);
        stamps.iter().map(|s| timeline.position(s.map(|ms| ms * MS), 40 * MS) / MS).collect()
    }

    #[test]
    fn stamps_become_positions_that_always_increase() {
        let all = |stamps: &[i64]| stamps.iter().copied().map(Some).collect::<Vec<_>>();
        for (allows_jumps, stamps, positions, why) in [
            (false, all(&[-5000, -4960]), vec![0, 40], "it starts at zero"),
            (false, all(&[36_000_000, 36_000_033]), vec![0, 33], "wherever the stamps start"),
            (false, all(&[i64::MAX / MS, i64::MIN / MS]), vec![0, 40], "at both ends"),
            (false, all(&[0, 10, 500, 20_000]), vec![0, 10, 500, 20_000], "a variable rate"),
            (false, vec![None, None, Some(80), None], vec![0, 40, 80, 120], "missing stamps"),
            (false, all(&[0, 40, 40, 80, 120]), vec![0, 40, 60, 80, 120], "one wrong stamp"),
            (false, all(&[0, 40, 10, 80]), vec![0, 40, 60, 80], "one stamp that is too early"),
            (false, all(&[9000, 9040, 0, 40]), vec![0, 40, 80, 120], "a jump back moves the origin"),
            (true, all(&[0, 60_000, 60_040]), vec![0, 40, 80], "a gap is closed only in formats with jumps"),
            (false, all(&[0, 60_000, 60_040]), vec![0, 60_000, 60_040], "a gap in another format"),
        ] {
            assert_eq!(position(allows_jumps, &stamps), positions, "{why}");
        }
        let wild = [Some(0), Some(0), Some(0), Some(-900), Some(5), Some(4), None, Some(3)];
        let times = position(false, &wild);
        assert!(times.windows(2).all(|w| w[0] < w[1]), "{times:?}");
    }

    #[test]
    fn sound_may_begin_before_the_pictures_but_not_far_too_early() {
        let mut timeline = Timeline::new(false);
        timeline.begin(Some(3000 * MS), Some(500 * MS), 5000 * MS);
        let positions = [3000, 3040, 3080].map(|ms| timeline.position(Some(ms * MS), 40 * MS) / MS);
        assert_eq!((positions, timeline.lead_ns() / MS), ([0, 2540, 2580], 2500), "the first one stands");
        // After a seek to it, the first frame begins at 0 again.
        let mut after = timeline.after_seek(500 * MS);
        assert_eq!([3000, 3040].map(|ms| after.position(Some(ms * MS), 40 * MS) / MS), [0, 2540]);
        assert_eq!(timeline.after_seek(500 * MS).position(Some(3080 * MS), 40 * MS), 2580 * MS);
        // On another origin, after a jump, no frame is the first one.
        assert_eq!(timeline.after_seek(0).position(Some(3000 * MS), 40 * MS), 3000 * MS);
        // A lead of more than the largest step is no jump.
        let mut timeline = Timeline::new(true);
        timeline.begin(Some(20_000 * MS), Some(0), 60_000 * MS);
        let positions = [20_000, 20_040, 80_000].map(|ms| timeline.position(Some(ms * MS), 40 * MS) / MS);
        assert_eq!(positions, [0, 20_040, 20_080]);
        for sound_ms in [3001, 8000, -2001, i64::MIN / MS] {
            let mut timeline = Timeline::new(false);
            timeline.begin(Some(3000 * MS), Some(sound_ms * MS), 5000 * MS);
            assert_eq!((timeline.origin_ns, timeline.lead_ns()), (Some(3000 * MS), 0), "{sound_ms}");
        }
        let mut timeline = Timeline::new(false);
        timeline.begin(None, Some(-1000 * MS), 5000 * MS);
        assert_eq!(timeline.origin_ns, Some(0), "the frame's time stamp is not known");
        let mut timeline = Timeline::new(false);
        timeline.position(Some(-100 * MS), 40 * MS);
        assert_eq!(timeline.origin_ns, Some(-100 * MS));
        let mut after = timeline.after_seek(-100 * MS);
        assert_eq!([900, 940].map(|ms| after.position(Some(ms * MS), 40 * MS)), [1000 * MS, 1040 * MS]);
    }
}
