//! What a step of a process has taken so far. In: looks at what the process does. Out: whether it has been at it for too long.

use std::time::Duration;

use super::at_work::Effort;

/// How often it is looked what a process does.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// More than this between two looks is time in which nobody looked: this process was stopped, or had no core itself.
const MOST: Duration = LOOK.saturating_mul(10);
/// A process sleeps that uses less than this part of one core.
const IDLE: u32 = 10;

/// How long a step may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// While the process, or what it has started, is at work: so long on the wall, and so much of the processors' time. One that
    /// waits for a core on a busy machine is not to blame.
    pub work: Duration,
    /// While all of it sleeps.
    pub asleep: Duration,
}

/// Times since a step's beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct Spent {
    /// On the wall.
    wall: Duration,
    /// The processors', of all cores.
    work: Duration,
    /// On the wall, while the process neither used a processor nor waited for one.
    asleep: Duration,
    before: Option<Effort>,
}

impl Spent {
    /// Notes what the process has done in the time that has `passed` since the look before; `None` where the system does not
    /// tell, and the clock on the wall has to do.
    pub(super) fn look(&mut self, passed: Duration, effort: Option<Effort>) {
        let passed = passed.min(MOST);
        self.wall += passed;
        match (effort, self.before) {
            (Some(now), Some(before)) => {
                let used = now.used.saturating_sub(before.used);
                self.work += used;
                if !now.is_runnable && used < passed / IDLE {
                    self.asleep += passed;
                }
            }
            (Some(_), None) => {}
            (None, _) => self.work += passed,
        }
        self.before = effort;
    }

    /// The limit that it is over, if so.
    pub(super) fn over(&self, limit: Limit) -> Option<Duration> {
        if self.wall >= limit.work && self.work >= limit.work {
            return Some(limit.work);
        }
        (self.asleep >= limit.asleep).then_some(limit.asleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit { work: Duration::from_secs(2), asleep: Duration::from_secs(6) };

    /// The limit that is passed, and after how many looks, by what a look finds: milliseconds of work since the one before,
    /// and whether it wants a core.
    fn looks(passed_ms: u64, found: impl Fn(u64) -> Option<(u64, bool)>) -> Option<(Duration, u64)> {
        let (mut spent, mut used) = (Spent::default(), 0);
        (1..500).find_map(|look| {
            let effort = found(look).map(|(ms, is_runnable)| {
                used += ms;
                Effort { used: Duration::from_millis(used), is_runnable }
            });
            spent.look(Duration::from_millis(passed_ms), effort);
            spent.over(LIMIT).map(|over| (over, look))
        })
    }

    #[test]
    fn who_works_and_who_sleeps_have_their_limits_and_who_waits_for_a_core_has_none() {
        assert_eq!(looks(100, |_| Some((100, true))), Some((LIMIT.work, 21)), "one core");
        assert_eq!(
            looks(100, |_| Some((400, true))),
            Some((LIMIT.work, 20)),
            "four cores: the wall counts as well"
        );
        assert_eq!(looks(100, |_| Some((25, true))), Some((LIMIT.work, 81)), "a quarter of a core");
        assert_eq!(looks(100, |_| Some((0, false))), Some((LIMIT.asleep, 61)), "it sleeps");
        assert_eq!(looks(100, |_| Some((0, true))), None, "it waits for a core");
        assert_eq!(looks(100, |_| None), Some((LIMIT.work, 20)), "nobody knows");
        assert_eq!(
            looks(100_000, |_| Some((0, false))),
            Some((LIMIT.asleep, 7)),
            "nobody has looked for minutes"
        );
        // Other parts of a driver sleep while one of them works.
        assert_eq!(
            looks(100, |look| Some((if look % 2 == 0 { 200 } else { 0 }, look % 2 == 0))),
            Some((LIMIT.work, 20))
        );
    }

    /// Looks at a real process until it is over its limit; which one that is.
    fn looked_at(child: u32) -> Duration {
        let limit = Limit { work: Duration::from_millis(300), asleep: Duration::from_millis(700) };
        let mut spent = Spent::default();
        loop {
            std::thread::sleep(LOOK);
            spent.look(LOOK, Effort::of(child));
            if let Some(over) = spent.over(limit) {
                return over;
            }
        }
    }

    #[test]
    fn a_process_without_an_end_and_one_that_was_stopped_are_both_seen() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let works = looked_at(child.id());
        // SAFETY: the process was not waited for, so the number is its own.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGSTOP) };
        let stopped = looked_at(child.id());
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!((works.as_millis(), stopped.as_millis()), (300, 700));
    }
}
