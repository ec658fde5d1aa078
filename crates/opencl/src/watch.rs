//! Who waits for which driver, and since when. In: the work that threads begin and end with a device, and how long it should
//! take. Out: what has been under way for too long; where a command may not wait for ever, its end with a sentence.
//!
//! A call that stalls cannot be interrupted: only another thread can say so.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::at_work::{self, Effort};
use super::spent::{LOOK, Limit, Spent};
use base::error::Error;
use base::timing::crowding;
use base::{exit, leftovers};

/// The least time that work on a device may take, where the user says nothing.
const LEAST: Duration = Duration::from_secs(10);
/// … and how many times as long as it was predicted to.
const TIMES: f64 = 10.0;
/// Work that takes less is not looked at more closely: looking takes time, too, while something may be timed.
const SHORT: Duration = Duration::from_secs(1);
/// A call is asleep where its thread has used less than this part of so long a time.
const IDLE: (u32, Duration) = (10, Duration::from_millis(250));
/// How long what has been measured so far may take to be shown.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Work that a thread waits for.
#[derive(Debug, Clone)]
struct Work {
    thread: ThreadId,
    /// Empty where no device is known yet.
    device: String,
    what: &'static str,
    /// `None` where no device is asked: that may take as long as it does.
    predicted: Option<Duration>,
    since: Instant,
    clock: at_work::Thread,
    /// The processor's time that the thread had had by then.
    used: Option<Duration>,
    /// Since when it sleeps, as far as was looked, and what it had used by then.
    asleep: Option<(Instant, Duration)>,
    /// What this process has done since, where a command may not wait for ever.
    spent: Spent,
}

impl Work {
    fn begin_anew(&mut self) {
        (self.since, self.used, self.asleep) = (Instant::now(), self.clock.used(), None);
        self.spent = Spent::default();
    }

    /// Whether its thread sleeps, and has for `after`. One that computes or waits for a core is at work, as compilers are. It is
    /// looked at again and again: one moment says little.
    fn sleeps(&mut self, now: Instant, after: Duration) -> bool {
        let (Some(used), Some(before)) = (self.clock.used(), self.used) else { return true };
        let computed = used.saturating_sub(before);
        if now.saturating_duration_since(self.since) <= after + computed {
            self.asleep = None;
            return false;
        }
        let (part, least) = IDLE;
        let (at, by_then) = *self.asleep.get_or_insert((now, used));
        let asleep = now.saturating_duration_since(at);
        if self.clock.is_runnable() || used.saturating_sub(by_then) > asleep / part {
            self.asleep = Some((now, used));
            return false;
        }
        asleep >= least
    }
}

/// The innermost of each thread is the last one of that thread.
static UNDER_WAY: Mutex<Vec<Work>> = Mutex::new(Vec::new());

fn under_way() -> MutexGuard<'static, Vec<Work>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work that is under way until this is dropped, on the thread that began it.
#[derive(Debug)]
pub struct Watched(Option<ThreadId>);

fn begin(device: Option<&str>, what: &'static str, predicted: Option<Duration>) -> Watched {
    let thread = std::thread::current().id();
    let mut all = under_way();
    let outer = || all.iter().rev().find(|work| work.thread == thread).map(|work| work.device.clone());
    let Some(device) = device.map(str::to_owned).or_else(outer) else { return Watched(None) };
    let clock = at_work::Thread::current();
    let (since, used) = (Instant::now(), clock.used());
    all.push(Work {
        thread,
        device,
        what,
        predicted,
        since,
        clock,
        used,
        asleep: None,
        spent: Spent::default(),
    });
    Watched(Some(thread))
}

/// From here on this thread does `what` with a device, as in "a kernel is timed", and all that is not [`on_host`] is its
/// driver's. Work in the middle of other work takes that one's place until it is over; then the other one's time begins anew.
pub fn on_device(device: &str, what: &'static str) -> Watched {
    begin(Some(device), what, Some(Duration::ZERO))
}

/// The same with the device that this thread is at already, which was predicted to take so long; nothing where there is none.
pub fn step(what: &'static str, predicted_ms: f64) -> Watched {
    begin(None, what, Some(Duration::try_from_secs_f64(predicted_ms / 1e3).unwrap_or_default()))
}

/// In the middle of that, from here on no driver is asked.
pub fn on_host() -> Watched {
    begin(None, "", None)
}

/// The driver has answered: what this thread is at begins anew.
pub fn progress() {
    let thread = std::thread::current().id();
    if let Some(work) = under_way().iter_mut().rev().find(|work| work.thread == thread) {
        work.begin_anew();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let Some(thread) = self.0 else { return };
        {
            let mut all = under_way();
            if let Some(at) = all.iter().rposition(|work| work.thread == thread) {
                all.remove(at);
            }
        }
        progress();
    }
}

/// What of all threads' work is over its time, by `limit` of what it was predicted to take, and how much that is.
fn over_time(
    all: &[Work],
    now: Instant,
    limit: impl Fn(Duration) -> Duration,
) -> impl Iterator<Item = (usize, Duration)> {
    let innermost = |at: usize| all[at + 1..].iter().all(|later| later.thread != all[at].thread);
    let over = all.iter().enumerate().filter(move |(at, _)| innermost(*at));
    over.filter_map(move |(at, work)| {
        let limit = limit(work.predicted?);
        (now.saturating_duration_since(work.since) > limit).then_some((at, limit))
    })
}

/// The one of them that has been so for the longest, and did not only wait for a core.
fn stalled(all: &[Work], now: Instant, limit: impl Fn(Duration) -> Duration) -> Option<(&Work, Duration)> {
    let over = over_time(all, now, limit).filter_map(|(at, limit)| Some((all.get(at)?, limit)));
    let over = over.filter(|(work, limit)| work.spent.over(Limit { work: *limit, asleep: *limit }).is_some());
    over.min_by_key(|(work, _)| work.since)
}

/// Notes what this process does, in the time that has `passed` since that was noted before, with all work that has taken longer
/// than `short`.
fn look(short: Duration, passed: Duration) {
    let is_long = |work: &Work| work.predicted.is_some() && work.since.elapsed() > short;
    if under_way().iter().any(is_long) {
        // Nobody waits for the list meanwhile.
        let effort = Effort::of_other_threads();
        under_way().iter_mut().filter(|work| is_long(work)).for_each(|work| work.spent.look(passed, effort));
    }
}

/// How long work may take that was predicted so, on a machine that is so busy.
fn allowed(asked: Option<Duration>, predicted: Duration, crowding: f64) -> Duration {
    asked.unwrap_or_else(|| LEAST.max(predicted.mul_f64(TIMES)).mul_f64(crowding))
}

/// A device that does not answer.
fn silent(work: &Work, limit: Duration) -> Error {
    let what = match work.device.as_str() {
        "" => "An OpenCL driver does not answer.".to_owned(),
        device => format!("The OpenCL device '{device}' does not answer."),
    };
    let limit = (limit.as_secs_f64() * 10.0).round() / 10.0;
    Error::new(
        what,
        format!("A call of its driver has not come back within {limit} s, while {}.", work.what),
        "Choose another device with --device, or leave this driver out with --skip-platform; --device-timeout gives it more time.",
    )
}

/// What a thread has waited for so long that it should be said: on which device (empty where none is known yet), what, and how
/// long. Only devices that `matters` says are looked at. `after` is for a thread that sleeps in its call; one that uses the
/// processor, as a compiler does and drivers that wait so, has as long as where nobody looks.
pub fn silence(after: Duration, matters: impl Fn(&str) -> bool) -> Option<(String, &'static str, Duration)> {
    let (mut all, now) = (under_way(), Instant::now());
    let soon = |predicted: Duration| after.max(predicted.mul_f64(TIMES));
    let late: Vec<(usize, Duration)> = over_time(&all, now, soon).collect();
    let mut crowded = None;
    let mut is_silent = |work: &mut Work, limit: Duration| {
        let waited = now.saturating_duration_since(work.since);
        work.sleeps(now, limit) || {
            let predicted = work.predicted.unwrap_or_default();
            waited > allowed(None, predicted, *crowded.get_or_insert_with(crowding))
        }
    };
    let mut longest: Option<(String, &'static str, Instant)> = None;
    for (at, limit) in late {
        let Some(work) = all.get_mut(at).filter(|work| matters(&work.device)) else { continue };
        if is_silent(work, limit) && longest.as_ref().is_none_or(|(.., since)| work.since < *since) {
            longest = Some((work.device.clone(), work.what, work.since));
        }
    }
    longest.map(|(device, what, since)| (device, what, now.saturating_duration_since(since)))
}

/// When that is to be looked at next; `None` while nothing is under way.
pub fn look_at(after: Duration) -> Option<Instant> {
    let now = Instant::now();
    let due = under_way().iter().filter(|work| work.predicted.is_some()).map(|work| work.since + after).min();
    due.map(|due| due.max(now + LOOK))
}

/// A device that does not answer, for somebody who can choose another one.
pub fn unanswered(device: &str, what: &str, silent: Duration) -> Error {
    let said = match device {
        "" => "An OpenCL driver does not answer.".to_owned(),
        device => format!("The OpenCL device '{device}' does not answer."),
    };
    let silent = silent.as_secs();
    let why = format!("A call of its driver has not come back for {silent} s, while {what}.");
    Error::new(said, why, "Ctrl+D tries the next device; those of another driver go on.")
}

/// Whether a device has been silent for so long that it is to be given up, on a machine that is as busy as this one.
pub fn is_too_long(silent: Duration, asked: Option<Duration>) -> bool {
    silent > allowed(asked, Duration::ZERO, 1.0) && silent > allowed(asked, Duration::ZERO, crowding())
}

/// From here on the process ends with a sentence when work on a device takes longer than `asked`, or without that longer
/// than 10 s and ten times as long as predicted: while the process sleeps, or of the processors' time. That it waits for a core,
/// or is stopped as after Ctrl+Z, is nobody's fault. What has been measured until then is shown.
pub fn end_process_after(asked: Option<Duration>) {
    let watch = move || {
        let short = asked.map_or(SHORT, |asked| SHORT.min(asked / 2));
        let mut looked = Instant::now();
        let said = loop {
            std::thread::sleep(LOOK);
            let passed = looked.elapsed();
            looked += passed;
            look(short, passed);
            let over = |crowding| {
                let all = under_way();
                let over = stalled(&all, Instant::now(), |predicted| allowed(asked, predicted, crowding));
                over.map(|(work, limit)| silent(work, limit))
            };
            // How busy the machine is need be known only where something seems to be over its time.
            if let Some(said) = over(1.0).and_then(|_| over(crowding())) {
                break said;
            }
        };
        leftovers::say_last_words(LAST_WORDS);
        crate::process::exit_now(exit::report(Err(said)));
    };
    // Without the thread it waits as long as the driver does.
    let _ = std::thread::Builder::new().name("watch".into()).spawn(watch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};

    /// This thread's work, beside which the process has done this since: it used a part of a core, or none and slept or not.
    fn mine(cores: f64, is_runnable: bool) -> Vec<Work> {
        let me = std::thread::current().id();
        let mut mine: Vec<Work> = under_way().iter().filter(|work| work.thread == me).cloned().collect();
        for look in 0..100 {
            let used = Duration::from_secs_f64(0.1 * cores * f64::from(look));
            let effort = Some(Effort { used, is_runnable });
            mine.iter_mut().for_each(|work| work.spent.look(LOOK, effort));
        }
        mine
    }

    #[test]
    fn the_innermost_work_counts_and_the_outer_one_begins_anew() {
        let name = |all: &[Work]| {
            let now = Instant::now() + Duration::from_secs(5);
            stalled(all, now, |_| Duration::from_secs(4)).map(|(work, _)| (work.device.clone(), work.what))
        };
        let of = |what| Some(("A".to_owned(), what));
        drop(step("nobody's", 0.0));
        let asleep = || mine(0.0, false);
        assert_eq!(name(&asleep()), None, "no device is known");
        let outer = on_device("A", "outer");
        let before = asleep()[0].since;
        let inner = step("inner", 0.0);
        assert_eq!(name(&asleep()), of("inner"));
        assert_eq!(name(&mine(1.0, true)), of("inner"), "it works");
        assert_eq!(name(&mine(0.3, true)), None, "it has worked for 3 s");
        assert_eq!(name(&mine(0.0, true)), None, "it waits for a core");
        let host = on_host();
        assert_eq!(name(&asleep()), None);
        drop((host, inner));
        assert_eq!(name(&asleep()), of("outer"));
        assert!(asleep()[0].since > before, "what came between was progress");
        drop(outer);
        assert!(asleep().is_empty());
    }

    #[test]
    fn a_call_that_sleeps_is_silent_and_one_that_computes_is_at_work() {
        // A call that sleeps or computes until the channel is closed, and what is watched of it.
        let call = |device: &'static str, computes: bool| {
            let ((leave, wait), (begun, begins)) = (channel::<()>(), channel());
            let thread = std::thread::spawn(move || {
                let _watched = on_device(device, "it is called");
                begun.send(()).unwrap();
                while computes && wait.try_recv() == Err(TryRecvError::Empty) {}
                let _ = wait.recv();
            });
            begins.recv().unwrap();
            let work = under_way().iter().find(|work| work.device == device).cloned().unwrap();
            (leave, thread, work)
        };
        let after = Duration::from_secs(1);
        for (device, computes) in [("one that sleeps", false), ("one that computes", true)] {
            let (leave, thread, mut work) = call(device, computes);
            while work.clock.is_runnable() != computes {
                std::thread::yield_now();
            }
            let at = |ms| work.since + Duration::from_millis(ms);
            let [soon, first, second] = [at(900), at(60_000), at(60_300)];
            assert!(
                !work.sleeps(soon, after) && !work.sleeps(first, after),
                "{device}: one look says little"
            );
            assert_eq!(work.sleeps(second, after), !computes, "{device}");
            drop(leave);
            thread.join().unwrap();
        }
    }

    #[test]
    fn other_threads_work_is_seen_and_what_is_predicted_has_its_time() {
        let work = |what, predicted| Work {
            thread: std::thread::current().id(),
            device: "A".to_owned(),
            what,
            predicted: Some(Duration::from_secs(predicted)),
            since: Instant::now(),
            clock: at_work::Thread::current(),
            used: None,
            asleep: None,
            spent: Spent::default(),
        };
        let other = std::thread::spawn(|| std::thread::current().id()).join().unwrap();
        let all = [Work { thread: other, ..work("theirs", 2) }, work("outer", 0), work("mine", 0)];
        let at = |seconds| {
            let now = all[2].since + Duration::from_secs(seconds);
            let over = over_time(&all, now, |predicted| allowed(None, predicted, 1.0));
            over.map(|(at, limit)| (all[at].what, limit)).next()
        };
        assert_eq!(at(9), None);
        assert_eq!(at(11), Some(("mine", Duration::from_secs(10))));
        let (asked, predicted) = (Some(Duration::from_secs(30)), Duration::from_secs(9));
        assert_eq!(allowed(asked, predicted, 2.0), Duration::from_secs(30));
        assert_eq!(allowed(None, predicted, 2.0), Duration::from_secs(180));
        let said = silent(&all[2], Duration::from_secs(10)).to_string();
        assert!(said.contains("'A' does not answer") && said.contains("within 10 s, while mine"), "{said}");
    }
}
