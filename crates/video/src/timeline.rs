//! From the time stamps of a file to times that strictly increase. In: stamps as decoded, which may start
//! anywhere, be missing, repeat or jump. Out: positions in the movie, in nanoseconds.

use super::SECOND_NS;

/// A jump back further than this is a new beginning of the stamps, not a single wrong one.
pub(super) const JUMP_BACK_NS: i64 = SECOND_NS;
/// A jump forward further than this is a gap in the stamps, in formats whose stamps may have gaps.
pub(super) const JUMP_FORWARD_NS: i64 = 10 * SECOND_NS;

/// Turns the stamps of one pass through a file into positions in the movie.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    /// The stamp that counts as 0; the first frame's, until a jump moves it.
    origin_ns: Option<i64>,
    last_ns: Option<i64>,
    last_duration_ns: i64,
    /// Whether the format allows jumps in its stamps (MPEG streams do).
    gaps_allowed: bool,
}

impl Timeline {
    pub(crate) fn new(gaps_allowed: bool) -> Self {
        Self { origin_ns: None, last_ns: None, last_duration_ns: 0, gaps_allowed }
    }

    /// The stamp that counts as position 0, once a frame has one.
    pub(crate) fn origin_ns(&self) -> Option<i64> {
        self.origin_ns
    }

    /// With another origin, for frames from a position in the file where that holds.
    pub(crate) fn after_seek_to(&self, origin_ns: i64) -> Self {
        Self { origin_ns: Some(origin_ns), ..self.after_seek() }
    }

    /// The same origin, ready for frames from another position in the file.
    pub(crate) fn after_seek(&self) -> Self {
        Self { last_ns: None, last_duration_ns: 0, ..self.clone() }
    }

    /// The time of the next frame. `stamp_ns` is its stamp, `duration_ns` how long it is expected to last.
    ///
    /// A missing stamp follows from the frame before. A stamp that does not increase is moved half a frame behind
    /// the frame before, so that one wrong stamp does not shift all that follow; a jump back of more than a second
    /// begins a new count.
    pub(crate) fn time(&mut self, stamp_ns: Option<i64>, duration_ns: i64) -> i64 {
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
                if gap < -JUMP_BACK_NS || (self.gaps_allowed && gap > JUMP_FORWARD_NS) {
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

    fn time(gaps_allowed: bool, stamps: &[Option<i64>]) -> Vec<i64> {
        let mut timeline = Timeline::new(gaps_allowed);
        stamps.iter().map(|s| timeline.time(s.map(|ms| ms * MS), 40 * MS) / MS).collect()
    }

    #[test]
    fn starts_at_zero_wherever_the_stamps_start() {
        assert_eq!(time(false, &[Some(-5000), Some(-4960)]), [0, 40]);
        assert_eq!(time(false, &[Some(36_000_000), Some(36_000_033)]), [0, 33]);
        assert_eq!(time(false, &[Some(i64::MAX / MS), Some(i64::MIN / MS)]), [0, 40]);
    }

    #[test]
    fn keeps_variable_rates() {
        assert_eq!(time(false, &[Some(0), Some(10), Some(500), Some(20_000)]), [0, 10, 500, 20_000]);
    }

    #[test]
    fn fills_in_missing_stamps() {
        assert_eq!(time(false, &[None, None, Some(80), None]), [0, 40, 80, 120]);
    }

    #[test]
    fn one_wrong_stamp_does_not_shift_the_rest() {
        assert_eq!(time(false, &[Some(0), Some(40), Some(40), Some(80), Some(120)]), [0, 40, 60, 80, 120]);
        assert_eq!(time(false, &[Some(0), Some(40), Some(10), Some(80)]), [0, 40, 60, 80]);
    }

    #[test]
    fn always_increases() {
        let wild = [Some(0), Some(0), Some(0), Some(-900), Some(5), Some(4), None, Some(3)];
        let times = time(false, &wild);
        assert!(times.windows(2).all(|w| w[0] < w[1]), "{times:?}");
    }

    #[test]
    fn a_jump_back_begins_a_new_count() {
        assert_eq!(time(false, &[Some(9000), Some(9040), Some(0), Some(40)]), [0, 40, 80, 120]);
    }

    #[test]
    fn a_gap_is_closed_only_where_gaps_may_be() {
        assert_eq!(time(true, &[Some(0), Some(60_000), Some(60_040)]), [0, 40, 80]);
        assert_eq!(time(false, &[Some(0), Some(60_000), Some(60_040)]), [0, 60_000, 60_040]);
    }

    #[test]
    fn the_origin_survives_a_seek() {
        let mut timeline = Timeline::new(false);
        timeline.time(Some(-100 * MS), 40 * MS);
        assert_eq!(timeline.origin_ns(), Some(-100 * MS));
        let mut after = timeline.after_seek();
        assert_eq!(after.time(Some(900 * MS), 40 * MS), 1000 * MS);
        assert_eq!(after.time(Some(940 * MS), 40 * MS), 1040 * MS);
    }
}
