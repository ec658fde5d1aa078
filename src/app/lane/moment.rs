//! The state of the movie at a moment, and the background measurements that may run then.

use super::Task;
use overlay::Wait;
use stats::{FrameSample, Stage};

/// The maximum fraction of the time between frames that the movie itself may use. If it uses more, no time is left for
/// measurements.
const MAX_MOVIE_SHARE: f64 = 0.5;
/// The length in seconds of the period before the last frame whose frames show whether there is time for a measurement.
const RECENT_S: f64 = 2.0;

/// The state of the movie at one moment, from which follows which background measurements may run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// True if no other frame is going to be shown: the movie is paused or has ended, or the scene shows a still picture.
    pub is_still: bool,
    /// True if filtering a frame takes long.
    pub is_slow: bool,
    /// True if the first frame of the chosen filter is not on the screen yet.
    pub is_awaited: bool,
    /// True if frames are shown as fast as possible, without regard to their time stamps.
    pub is_unpaced: bool,
    /// True if the device in use is the CPU, which also decodes the movie.
    pub is_cpu: bool,
    /// True if a frame was late or was dropped in the last [`RECENT_S`] seconds.
    pub is_late: bool,
    /// True if filtering and showing the last frames has left enough time for measurements.
    pub has_time: bool,
}

impl Moment {
    /// Returns this state with `is_late` and `has_time` set from the last frames of `history`, which has the newest frame last.
    /// `budget_ms` is the time between frames in milliseconds; `None` if it is unknown.
    pub(crate) fn with_frames<'a>(
        self,
        history: impl DoubleEndedIterator<Item = &'a FrameSample>,
        budget_ms: Option<f64>,
    ) -> Self {
        let mut newest = history.rev().peekable();
        let last = newest.peek().map_or(0.0, |frame| frame.presented_at);
        let (mut count, mut all_ms, mut is_late) = (0, 0.0, false);
        for frame in newest.take_while(|frame| last - frame.presented_at < RECENT_S) {
            let counted = Stage::ALL.into_iter().filter(|s| *s != Stage::Swap && *s != Stage::Take);
            let times = counted.map(|s| frame.stages.times[s as usize]).chain(frame.left_out_ms);
            all_ms += times.filter(|ms| ms.is_finite()).sum::<f64>();
            is_late |= frame.late || frame.dropped_before > 0;
            count += 1;
        }
        let has_time = budget_ms.is_some_and(|ms| all_ms <= MAX_MOVIE_SHARE * ms * f64::from(count));
        Self { is_late, has_time, ..self }
    }

    /// Returns the reason why a task must wait at this moment of the movie; `None` if the task may run.
    pub(crate) fn obstacle(&self, task: Task) -> Option<Wait> {
        let is_requested = match task {
            Task::Lab if !self.is_still => return Some(Wait::Plays),
            Task::Lab => return (self.is_slow || self.is_awaited).then_some(Wait::Filter),
            Task::Tuning { is_requested } => is_requested,
            Task::Peaks => false,
            // The user waits for the other tasks, or they leave enough time for the movie.
            _ => return None,
        };
        match self {
            Self { is_slow: true, is_still: true, .. } => Some(Wait::Filter),
            Self { is_slow: true, .. } => Some(Wait::Slow),
            Self { is_still: true, .. } => None,
            Self { is_unpaced: true, .. } => Some(Wait::Unpaced),
            Self { is_cpu: true, .. } if !is_requested => Some(Wait::Cpu),
            Self { is_late: true, .. } => Some(Wait::Late),
            Self { has_time: false, .. } => Some(Wait::NoTime),
            Self { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use box_filter::VariantId;

    const REQUESTED: Task = Task::Tuning { is_requested: true };
    const BY_ITSELF: Task = Task::Tuning { is_requested: false };

    fn frame(filter_ms: f64, late: bool) -> FrameSample {
        let mut stages = [0.0; Stage::ALL.len()];
        stages[Stage::Filter as usize] = filter_ms;
        // With vertical synchronisation, this is time of waiting, not of work.
        stages[Stage::Swap as usize] = 15.0;
        FrameSample { late, ..FrameSample::made_up(0.0, VariantId::auto(), stages) }
    }

    fn moment(frames: &[FrameSample]) -> Moment {
        Moment::default().with_frames(frames.iter(), Some(40.0))
    }

    #[test]
    fn a_search_runs_only_where_it_disturbs_nobody() {
        let (quick, slow, late) = (frame(5.0, false), frame(25.0, false), frame(5.0, true));
        let quick = || quick.clone();
        assert_eq!(moment(&[quick(), quick()]).obstacle(BY_ITSELF), None);
        assert_eq!(moment(&[slow.clone(), slow.clone()]).obstacle(REQUESTED), Some(Wait::NoTime));
        let differs = FrameSample { left_out_ms: Some(25.0), ..frame(f64::NAN, false) };
        assert_eq!(
            moment(&[differs]).obstacle(REQUESTED),
            Some(Wait::NoTime),
            "a filter that differs takes time"
        );
        assert_eq!(moment(&[quick(), late.clone()]).obstacle(REQUESTED), Some(Wait::Late));
        assert!(Moment { is_unpaced: true, ..moment(&[quick()]) }.obstacle(REQUESTED).is_some());
        assert!(Moment { is_slow: true, is_still: true, ..moment(&[]) }.obstacle(REQUESTED).is_some());
        let cpu = Moment { is_cpu: true, ..moment(&[quick()]) };
        assert!(cpu.obstacle(BY_ITSELF).is_some(), "the movie's own processor");
        assert_eq!(cpu.obstacle(REQUESTED), None, "asked for");
        assert_eq!(cpu.obstacle(Task::Peaks), Some(Wait::Cpu), "measured without being asked for");
        assert_eq!(Moment { is_still: true, ..cpu }.obstacle(BY_ITSELF), None, "in a pause");
        assert_eq!(Moment { is_still: true, ..moment(&[late]) }.obstacle(BY_ITSELF), None);
        // Frames before the last [`RECENT_S`] seconds do not count.
        let before = FrameSample { presented_at: -RECENT_S, ..slow };
        assert_eq!(moment(&[before, quick()]).obstacle(REQUESTED), None);
        assert!(Moment::default().with_frames([quick()].iter(), None).obstacle(REQUESTED).is_some());
    }

    #[test]
    fn a_pause_ends_the_waits_that_say_so_and_no_other() {
        let (quick, slow, late) = (frame(5.0, false), frame(25.0, false), frame(5.0, true));
        let quick = moment(&[quick]);
        let moments = [
            (moment(&[slow]), Wait::NoTime),
            (moment(&[late]), Wait::Late),
            (Moment { is_unpaced: true, ..quick }, Wait::Unpaced),
            (Moment { is_cpu: true, ..quick }, Wait::Cpu),
            (Moment { is_slow: true, ..quick }, Wait::Slow),
        ];
        for (plays, wait) in moments {
            assert_eq!(plays.obstacle(BY_ITSELF), Some(wait));
            assert!(wait.ends_in_a_pause());
            let still = Moment { is_still: true, ..plays };
            assert!(!still.obstacle(BY_ITSELF).is_some_and(Wait::ends_in_a_pause), "{wait} in a pause");
        }
    }

    #[test]
    fn the_lab_runs_only_in_a_pause_and_beside_no_filter() {
        let still = Moment { is_still: true, ..Moment::default() };
        assert_eq!(moment(&[frame(5.0, false)]).obstacle(Task::Lab), Some(Wait::Plays));
        assert_eq!(still.obstacle(Task::Lab), None);
        assert_eq!(Moment { is_slow: true, ..still }.obstacle(Task::Lab), Some(Wait::Filter));
        assert_eq!(Moment { is_awaited: true, ..still }.obstacle(Task::Lab), Some(Wait::Filter));
        for task in [Task::Conversions, Task::Versions, Task::Races, Task::Clock] {
            assert_eq!(Moment { is_slow: true, ..Moment::default() }.obstacle(task), None);
        }
    }
}
