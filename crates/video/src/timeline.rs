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
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    /// The time stamp that counts as position 0: the first frame's, until a jump moves it.
    origin_ns: Option<i64>,
    /// The position of the last frame in nanoseconds; `None` before the first frame and after a seek.
    last_ns: Option<i64>,
    /// The expected duration of the last frame in nanoseconds; 0 before the first frame and after a seek.
    last_duration_ns: i64,
    /// True if the format allows jumps of time stamps, as MPEG streams do.
    allows_jumps: bool,
}

impl Timeline {
    /// Creates the timeline of a file that is read from its beginning.
    pub(crate) fn new(allows_jumps: bool) -> Self {
        Self { origin_ns: None, last_ns: None, last_duration_ns: 0, allows_jumps }
    }

    /// Returns the time stamp that counts as position 0, once there was a frame.
    pub(crate) fn origin_ns(&self) -> Option<i64> {
        self.origin_ns
    }

    /// Returns a timeline for the frames after a seek, on which the time stamp `origin_ns` counts as position 0.
    pub(crate) fn after_seek(&self, origin_ns: i64) -> Self {
        Self { origin_ns: Some(origin_ns), ..Self::new(self.allows_jumps) }
    }

    /// Returns the position of the next frame. `stamp_ns` is its time stamp, `duration_ns` its expected duration.
    ///
    /// A missing time stamp follows from the previous frame. A position that does not increase is set half a frame after
    /// the previous frame, so that one wrong time stamp does not shift all later frames. After a jump back of more than a
    /// second, frames continue after the previous one.
    pub(crate) fn position(&mut self, stamp_ns: Option<i64>, duration_ns: i64) -> i64 {
        let position = match (self.origin_ns, self.last_ns) {
            (None, _) => {
                self.origin_ns = Some(stamp_ns.unwrap_or(0));
                0
            }
            (Some(origin), None) => stamp_ns.map_or(0, |stamp| stamp.saturating_sub(origin)).max(0),
            (Some(origin), Some(last)) => {
                let expected = last.saturating_add(self.last_duration_ns.max(1));
                let position = stamp_ns.map_or(expected, |stamp| stamp.saturating_sub(origin));
                let gap = position.saturating_sub(last);
                if gap < -MAX_JUMP_BACK_NS || (self.allows_jumps && gap > MAX_JUMP_FORWARD_NS) {
                    self.origin_ns = Some(origin.saturating_add(position.saturating_sub(expected)));
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
    fn starts_at_zero_wherever_the_stamps_start() {
        assert_eq!(position(false, &[Some(-5000), Some(-4960)]), [0, 40]);
        assert_eq!(position(false, &[Some(36_000_000), Some(36_000_033)]), [0, 33]);
        assert_eq!(position(false, &[Some(i64::MAX / MS), Some(i64::MIN / MS)]), [0, 40]);
    }

    #[test]
    fn keeps_variable_rates() {
        assert_eq!(position(false, &[Some(0), Some(10), Some(500), Some(20_000)]), [0, 10, 500, 20_000]);
    }

    #[test]
    fn fills_in_missing_stamps() {
        assert_eq!(position(false, &[None, None, Some(80), None]), [0, 40, 80, 120]);
    }

    #[test]
    fn one_wrong_stamp_does_not_shift_the_rest() {
        assert_eq!(
            position(false, &[Some(0), Some(40), Some(40), Some(80), Some(120)]),
            [0, 40, 60, 80, 120]
        );
        assert_eq!(position(false, &[Some(0), Some(40), Some(10), Some(80)]), [0, 40, 60, 80]);
    }

    #[test]
    fn always_increases() {
        let wild = [Some(0), Some(0), Some(0), Some(-900), Some(5), Some(4), None, Some(3)];
        let times = position(false, &wild);
        assert!(times.windows(2).all(|w| w[0] < w[1]), "{times:?}");
    }

    #[test]
    fn a_jump_back_moves_the_origin() {
        assert_eq!(position(false, &[Some(9000), Some(9040), Some(0), Some(40)]), [0, 40, 80, 120]);
    }

    #[test]
    fn a_gap_is_closed_only_in_formats_with_jumps() {
        assert_eq!(position(true, &[Some(0), Some(60_000), Some(60_040)]), [0, 40, 80]);
        assert_eq!(position(false, &[Some(0), Some(60_000), Some(60_040)]), [0, 60_000, 60_040]);
    }

    #[test]
    fn the_origin_survives_a_seek() {
        let mut timeline = Timeline::new(false);
        timeline.position(Some(-100 * MS), 40 * MS);
        assert_eq!(timeline.origin_ns(), Some(-100 * MS));
        let mut after = timeline.after_seek(-100 * MS);
        assert_eq!(after.position(Some(900 * MS), 40 * MS), 1000 * MS);
        assert_eq!(after.position(Some(940 * MS), 40 * MS), 1040 * MS);
    }
}
