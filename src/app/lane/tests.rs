//! Tests of the lane, with tasks in which each piece of work ends when the test says so.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use base::error::Error;

const TUNING: Task = Task::Tuning { is_requested: true };
/// The number of the device that is in use in the tests.
const DEVICE: Option<u64> = Some(1);

fn still() -> Moment {
    Moment { is_still: true, ..Moment::default() }
}

fn lane() -> Lane {
    let mut lane = Lane::new(&(Arc::new(|| {}) as Waker));
    lane.update(DEVICE, &still());
    lane
}

/// A task that reports the start of each piece of work, and that ends the piece when it receives a message: `true` if another
/// piece follows.
struct Pieces {
    slot: Slot<u32>,
    ends: Sender<bool>,
    begun: Receiver<()>,
}

impl Pieces {
    fn start(lane: &mut Lane, task: Task) -> Self {
        let ((ends, end), (begins, begun)) = (channel(), channel());
        let mut slot = Slot::default();
        let work = move |worker: &Worker<'_, u32>| {
            loop {
                // The test may have ended.
                let _ = begins.send(());
                match end.recv() {
                    Ok(true) if worker.may_continue() => {}
                    Ok(true) => return Ok(None),
                    Ok(false) | Err(_) => return Ok(Some(7)),
                }
            }
        };
        slot.start((lane, task), "first", work);
        Self { slot, ends, begun }
    }

    /// Starts a task that begins its first piece of work.
    fn begin(lane: &mut Lane, task: Task) -> Self {
        let mut pieces = Self::start(lane, task);
        pieces.wait_for_begin(lane, &still());
        pieces
    }

    /// Updates the lane until the task begins a piece of work.
    fn wait_for_begin(&mut self, lane: &mut Lane, moment: &Moment) {
        turn_until(lane, moment, |_| self.begun.try_recv().is_ok());
        self.slot.poll();
    }

    /// Updates the lane until the task has this state, in which it begins no piece of work.
    fn wait_for(&mut self, lane: &mut Lane, moment: &Moment, state: &JobState) {
        turn_until(lane, moment, |_| {
            self.slot.poll();
            self.slot.state == *state
        });
        assert!(self.begun.try_recv().is_err());
    }
}

/// Updates the lane until `is` returns true, and twice more.
fn turn_until(lane: &mut Lane, moment: &Moment, mut is: impl FnMut(&Lane) -> bool) {
    let began = Instant::now();
    while !is(lane) {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not come");
        lane.update(lane.device, moment);
        std::thread::sleep(Duration::from_millis(1));
    }
    (0..2).for_each(|_| _ = lane.update(lane.device, moment));
}

#[test]
fn one_task_at_a_time_uses_the_device_in_the_order_of_the_queue() {
    let mut lane = lane();
    assert!(!lane.uses_device());
    let mut tuning = Pieces::begin(&mut lane, TUNING);
    assert_eq!((&tuning.slot.state, lane.uses_device()), (&JobState::Running("first".to_owned()), true));
    // A task without the device waits for nobody, and nobody waits for it.
    let mut races = Pieces::start(&mut lane, Task::Races);
    races.begun.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut peaks = Pieces::start(&mut lane, Task::Peaks);
    let mut lab = Pieces::start(&mut lane, Task::Lab);
    lab.wait_for(&mut lane, &still(), &JobState::Waiting(Wait::Tuning));
    tuning.wait_for(&mut lane, &still(), &JobState::Ending(Wait::Lab));
    peaks.wait_for(&mut lane, &still(), &JobState::Waiting(Wait::Lab));
    // When the running task reaches its gate, the first task in the queue continues.
    tuning.ends.send(true).unwrap();
    lab.wait_for_begin(&mut lane, &still());
    races.slot.poll();
    assert!(matches!(races.slot.state, JobState::Running(_)));
    tuning.wait_for(&mut lane, &still(), &JobState::Waiting(Wait::Lab));
    lab.ends.send(false).unwrap();
    peaks.wait_for_begin(&mut lane, &still());
    let news = lab.slot.poll();
    assert!(matches!(news.result, Some(Ok(7))) && lab.slot.state == JobState::Done);
    assert!(!lab.slot.is_under_way() && !lab.slot.poll().is_new);
    tuning.wait_for(&mut lane, &still(), &JobState::Waiting(Wait::Peaks));
    peaks.ends.send(false).unwrap();
    tuning.wait_for_begin(&mut lane, &still());
}

#[test]
fn a_task_waits_while_the_movie_needs_the_device() {
    let mut lane = lane();
    let playing = &Moment { has_time: true, ..Moment::default() };
    let mut lab = Pieces::start(&mut lane, Task::Lab);
    lab.wait_for(&mut lane, playing, &JobState::Waiting(Wait::Plays));
    // A task that waits for the movie delays no other task.
    let mut versions = Pieces::start(&mut lane, Task::Versions);
    versions.wait_for_begin(&mut lane, playing);
    versions.ends.send(false).unwrap();
    lab.wait_for_begin(&mut lane, &still());
    lab.wait_for(&mut lane, playing, &JobState::Ending(Wait::Plays));
    let mut versions = Pieces::start(&mut lane, Task::Versions);
    versions.wait_for(&mut lane, playing, &JobState::Waiting(Wait::Lab));
    drop(versions);
    lab.ends.send(true).unwrap();
    lab.wait_for(&mut lane, playing, &JobState::Waiting(Wait::Plays));
    // While the window is hidden, no gate is open.
    lab.wait_for_begin(&mut lane, &still());
    lane.hold();
    lab.ends.send(true).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    assert!(lab.begun.try_recv().is_err());
    lab.wait_for_begin(&mut lane, &still());
}

#[test]
fn a_step_begins_after_the_results_before_it_were_drawn() {
    let mut lane = lane();
    let (begins, begun) = channel();
    let mut slot: Slot<(), u32> = Slot::default();
    let work = move |worker: &Worker<'_, (), u32>| {
        worker.reporter.report(1);
        let is_permitted = worker.next_step("second".to_owned());
        begins.send(is_permitted).unwrap();
        Ok(Some(()))
    };
    slot.start((&mut lane, Task::Lab), "first", work);
    let began = Instant::now();
    while !lane.update(DEVICE, &still()) {
        assert!(began.elapsed() < Duration::from_secs(60), "no results");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(30));
    assert!(begun.try_recv().is_err(), "its results are not drawn yet");
    assert_eq!(slot.poll().progress, [1]);
    assert_eq!(slot.state, JobState::Running("second".to_owned()));
    assert!(!lane.update(DEVICE, &still()));
    assert_eq!(begun.recv_timeout(Duration::from_secs(60)), Ok(true));
}

#[test]
fn a_cancelled_task_ends_at_its_gate_and_uses_the_device_until_then() {
    let mut lane = lane();
    let mut tuning = Pieces::begin(&mut lane, TUNING);
    tuning.slot.stop();
    assert!(tuning.slot.state == JobState::Stopped && !tuning.slot.is_under_way());
    let mut peaks = Pieces::start(&mut lane, Task::Peaks);
    peaks.wait_for(&mut lane, &still(), &JobState::Waiting(Wait::Tuning));
    tuning.ends.send(true).unwrap();
    peaks.wait_for_begin(&mut lane, &still());
    assert!(tuning.begun.try_recv().is_err() && !tuning.slot.poll().is_new);
    // A waiting task that is cancelled ends without having used the device, even if its slot is dropped.
    let mut second = Pieces::start(&mut lane, TUNING);
    second.wait_for(&mut lane, &still(), &JobState::Waiting(Wait::Peaks));
    drop(second);
    turn_until(&mut lane, &still(), |lane| lane.queue.len() == 1);
    // The end cancels all tasks, and knows whether they have ended.
    let waits = Pieces::start(&mut lane, TUNING);
    assert!(!lane.shut_down(), "a call of the driver has not returned");
    assert!(waits.begun.try_recv().is_err());
    peaks.ends.send(true).unwrap();
    assert!(lane.shut_down());
}

#[test]
fn another_device_cancels_tasks_that_use_the_one_before_in_this_process() {
    let mut lane = lane();
    let mut lab = Pieces::begin(&mut lane, Task::Lab);
    lab.ends.send(true).unwrap();
    lab.wait_for_begin(&mut lane, &still());
    let mut tuning = Pieces::start(&mut lane, TUNING);
    let playing = &Moment { has_time: true, ..Moment::default() };
    // Closes the gate before the task reaches it.
    lab.wait_for(&mut lane, playing, &JobState::Ending(Wait::Plays));
    lab.ends.send(true).unwrap();
    // The task hangs in a call.
    tuning.wait_for_begin(&mut lane, playing);
    lane.update(Some(2), &still());
    lab.wait_for_begin(&mut lane, &still());
    tuning.ends.send(true).unwrap();
    tuning.wait_for(&mut lane, &still(), &JobState::Stopped);
    lab.ends.send(false).unwrap();
    lab.wait_for(&mut lane, &still(), &JobState::Done);
}

#[test]
fn a_task_that_fails_or_panics_lets_the_next_one_begin() {
    let mut lane = lane();
    let (mut failing, mut panicking) = (Slot::<()>::default(), Slot::<()>::default());
    let fail = |_: &Worker<'_, ()>| Err(Error::new("It failed.", "It was unplugged.", "Try again."));
    failing.start((&mut lane, Task::Lab), "", fail);
    panicking.start((&mut lane, Task::Versions), "", |_| panic!("on purpose"));
    let _peaks = Pieces::begin(&mut lane, Task::Peaks);
    let failed = failing.poll().result.unwrap().unwrap_err();
    assert_eq!((failed.what.as_str(), failing.is_under_way()), ("It failed.", false));
    assert_eq!(failing.state, JobState::Failed("It failed. It was unplugged.".to_owned()));
    let panicked = panicking.poll().result.unwrap().unwrap_err();
    assert_eq!(panicked.what, Task::Versions.failure());
}
