//! The decoder's thread itself. In: a pass through the movie, or pictures in memory, and the player's wishes. Out:
//! frames in the queue, pass after pass.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::SECOND_NS;
use super::control::{Control, Seek};
use super::frame::{Frame, PackedPlanes, Timed, nanoseconds, seconds, share};
use super::painted::Canvas;
use super::pass::{Pass, nothing_decoded};
use super::queue::FrameQueue;
use super::source::Skip;
use base::error::{Error, Result};
use base::timing::log::{self, Event};

/// Behind the clock by more than this, with hardly a frame in the queue: frames that no other needs are skipped.
const BEHIND_NS: i64 = SECOND_NS / 2;
/// Behind the clock by more than this: the decoder goes on at a key frame near the clock.
const FAR_BEHIND_NS: i64 = 3 * SECOND_NS;
/// Behind the clock by less than this: every frame is decoded again.
const CAUGHT_UP_NS: i64 = SECOND_NS / 10;

/// Why the frames of a pass have stopped.
enum Ended {
    /// The decoder is being dropped.
    Stopped,
    /// The player wants to be elsewhere.
    Sought,
    /// The queue refused this position in the movie: it lies behind the part that is repeated.
    Refused(i64),
    /// The movie is over, after so many frames.
    Over(usize),
}

/// What the thread owns.
pub(super) struct Worker {
    path: PathBuf,
    queue: Arc<FrameQueue>,
    warning: Arc<Mutex<Option<Error>>>,
    control: Arc<Control>,
    /// Where the movie's beginning lies on the play timeline in the present pass.
    base_ns: i64,
    number: u64,
    generation: u64,
    /// The next frame is the first one after a seek.
    seeked: bool,
    /// The present pass began at the movie's beginning.
    whole: bool,
}

impl Worker {
    pub(crate) fn new(
        path: &Path,
        queue: Arc<FrameQueue>,
        warning: Arc<Mutex<Option<Error>>>,
        control: Arc<Control>,
    ) -> Self {
        let path = path.to_owned();
        Self {
            path,
            queue,
            warning,
            control,
            base_ns: 0,
            number: 0,
            generation: 0,
            seeked: false,
            whole: true,
        }
    }

    /// Plays pass after pass. `whole` says whether the first one begins at the movie's beginning.
    pub(crate) fn play(mut self, mut pass: Pass, whole: bool) {
        self.whole = whole;
        pass.set_generation(self.control.newest.clone(), self.generation);
        loop {
            let ended = self.play_pass(&mut pass);
            let moved = match ended {
                Ended::Stopped => return,
                Ended::Sought => self.seek(&mut pass),
                Ended::Refused(at_ns) => self.lap(&mut pass, at_ns),
                Ended::Over(count) => match self.over(&mut pass, count) {
                    Some(moved) => moved,
                    None => return,
                },
            };
            if let Err(error) = moved {
                self.warn(error);
                if !self.rest(false, true) {
                    return;
                }
            }
        }
    }

    fn play_pass(&mut self, pass: &mut Pass) -> Ended {
        let mut count = 0;
        let mut began = Instant::now();
        while let Some(placed) = pass.next() {
            count += 1;
            log::record(|| [Event::since("decode", began).with(format!("picture {}", self.number))]);
            self.keep_up(pass, self.base_ns.saturating_add(placed.movie_ns));
            if !self.push(placed.video, placed.movie_ns, placed.duration_ns) {
                return self.refused(placed.movie_ns);
            }
            began = Instant::now();
        }
        match self.refused(0) {
            Ended::Refused(_) => Ended::Over(count),
            other => other,
        }
    }

    fn refused(&self, movie_ns: i64) -> Ended {
        if self.control.reading.is_stopped() {
            Ended::Stopped
        } else if self.control.newest.load(Ordering::Relaxed) > self.generation {
            Ended::Sought
        } else {
            Ended::Refused(movie_ns)
        }
    }

    /// The movie has ended: begins again, goes where the player wants to be, or waits; `None` when the decoder is
    /// being dropped.
    fn over(&mut self, pass: &mut Pass, count: usize) -> Option<Result<()>> {
        let still = self.whole && count < 2;
        if let Some(warning) = pass.warning(&self.path) {
            self.warn(warning);
        }
        // A still picture is held instead of being shown again and again.
        self.control.still.store(still, Ordering::Relaxed);
        let (looping, ab) = {
            let wishes = self.control.wishes();
            (wishes.looping, wishes.ab)
        };
        let mut again = !still && (looping || ab.is_some());
        if !again {
            if !self.rest(!still, pass.source().damage.read_error.is_some()) {
                return None;
            }
            again = self.control.newest.load(Ordering::Relaxed) == self.generation;
        }
        if !again {
            return Some(self.seek(pass));
        }
        if self.control.wishes().ab.is_some() {
            return Some(self.lap(pass, 0));
        }
        self.base_ns = self.next_base(pass.end_ns());
        Some(self.reopen(pass))
    }

    /// Opening again is right for every file, also for those that cannot seek, and sees what has been added.
    fn reopen(&mut self, pass: &mut Pass) -> Result<()> {
        self.whole = true;
        pass.reopen(&self.path, &self.control.reading)?;
        pass.set_generation(self.control.newest.clone(), self.generation);
        self.check(pass)
    }

    fn check(&self, pass: &Pass) -> Result<()> {
        if pass.peek().is_none() && !pass.source().is_stopped() {
            return Err(nothing_decoded(&self.path, pass));
        }
        Ok(())
    }

    /// Says that no frame follows, and whether that is because the movie could not be read, and waits; `false` when the decoder is
    /// being dropped.
    fn rest(&self, may_repeat: bool, failed: bool) -> bool {
        self.queue.set_catching_up(false);
        self.control.failed.store(failed, Ordering::Relaxed);
        self.queue.finish(self.generation, true);
        self.control.reading.rest();
        let goes_on = self.control.wait(may_repeat);
        self.control.reading.advance();
        self.queue.finish(self.generation, false);
        self.control.failed.store(false, Ordering::Relaxed);
        goes_on
    }

    /// Goes where the newest seek wants to be.
    fn seek(&mut self, pass: &mut Pass) -> Result<()> {
        let Some(seek) = self.take_seek() else { return Ok(()) };
        pass.set_skip(Skip::Nothing);
        pass.set_generation(self.control.newest.clone(), self.generation);
        let reading = &self.control.reading;
        match seek {
            Seek::Exact(s) => pass.go_to(&self.path, nanoseconds(s), reading)?,
            Seek::Before(s) => pass.go_back(&self.path, (nanoseconds(s) - 1).max(0), reading)?,
            Seek::Keyframe(s) => pass.go_to_key(&self.path, nanoseconds(s), reading)?,
        };
        self.go_on_from(pass)
    }

    /// Plays the repeated part again, or goes on at `at_ns` when nothing is repeated any more.
    fn lap(&mut self, pass: &mut Pass, at_ns: i64) -> Result<()> {
        let ab = self.control.wishes().ab;
        pass.set_skip(Skip::Nothing);
        pass.go_to(&self.path, ab.map_or(at_ns, |(a, _)| a), &self.control.reading)?;
        self.go_on_from(pass)
    }

    /// Lets the next picture follow on what was queued last.
    fn go_on_from(&mut self, pass: &mut Pass) -> Result<()> {
        self.whole = false;
        let end = self.queue.end_ns();
        // A player that had to wait wants to see the beginning, too.
        let start = end.saturating_add(self.queue.behind_ns(end));
        self.base_ns = start.saturating_sub(pass.peek().map_or(0, |first| first.movie_ns));
        self.check(pass)
    }

    fn take_seek(&mut self) -> Option<Seek> {
        let (generation, seek) = self.control.take_seek()?;
        self.generation = generation;
        self.seeked = true;
        Some(seek)
    }

    /// Plays the same pictures again and again.
    pub(crate) fn repeat(mut self, pictures: &[Timed]) {
        let shown_at = |at_ns: i64| pictures.iter().rposition(|p| p.movie_ns <= at_ns).unwrap_or(0);
        let mut index = 0;
        self.control.still.store(pictures.len() < 2, Ordering::Relaxed);
        loop {
            let mut ended = Ended::Over(0);
            while let Some(picture) = pictures.get(index) {
                index += 1;
                let Some(video) = share(&picture.video) else {
                    continue;
                };
                if !self.push(video, picture.movie_ns, picture.duration_ns) {
                    ended = self.refused(picture.movie_ns);
                    break;
                }
            }
            if matches!(ended, Ended::Over(_)) {
                let repeats = {
                    let wishes = self.control.wishes();
                    pictures.len() > 1 && (wishes.looping || wishes.ab.is_some())
                };
                if !repeats && !self.rest(pictures.len() > 1, false) {
                    return;
                }
            }
            let ab = self.control.wishes().ab;
            index = match (ended, self.take_seek()) {
                (Ended::Stopped, _) => return,
                (_, Some(Seek::Exact(s) | Seek::Keyframe(s))) => shown_at(nanoseconds(s)),
                (_, Some(Seek::Before(s))) => shown_at((nanoseconds(s) - 1).max(0)),
                (Ended::Refused(at_ns), None) => shown_at(ab.map_or(at_ns, |(a, _)| a)),
                (_, None) => ab.map_or(0, |(a, _)| shown_at(a)),
            };
            let end = self.queue.end_ns();
            let behind = self.queue.behind_ns(end);
            let start = if behind > FAR_BEHIND_NS { end.saturating_add(behind) } else { end };
            self.base_ns = start.saturating_sub(pictures.get(index).map_or(0, |p| p.movie_ns));
        }
    }

    /// Plays pictures that `paint` paints, `fps` a second.
    pub(crate) fn paint(mut self, mut canvas: Canvas, fps: u32, mut paint: impl FnMut(u64, &mut Canvas)) {
        let fps = i64::from(fps.max(1));
        let at_ns = |n: i64| n.saturating_mul(SECOND_NS) / fps;
        let shown_at = |ns: i64| (ns.saturating_mul(fps).saturating_add(fps - 1) / SECOND_NS).max(0);
        let mut next = 0;
        loop {
            // What is late is left out.
            let behind_ns = self.queue.behind_ns(self.base_ns.saturating_add(at_ns(next)));
            if behind_ns > BEHIND_NS {
                next += shown_at(behind_ns);
            }
            paint(next as u64, &mut canvas);
            let Some(video) = canvas.to_video() else {
                self.warn(Error::new("The pictures end.", "There is no memory for another one.", ""));
                self.rest(false, true);
                return;
            };
            if self.push(video, at_ns(next), at_ns(next + 1) - at_ns(next)) {
                next += 1;
                continue;
            }
            let ab = self.control.wishes().ab;
            next = match (self.refused(at_ns(next)), self.take_seek()) {
                (Ended::Stopped, _) => return,
                (_, Some(Seek::Exact(s) | Seek::Keyframe(s))) => shown_at(nanoseconds(s)),
                (_, Some(Seek::Before(s))) => shown_at(nanoseconds(s) - 1),
                (_, None) => ab.map_or(next, |(a, _)| shown_at(a)),
            };
            let end = self.queue.end_ns();
            self.base_ns = end.saturating_add(self.queue.behind_ns(end)).saturating_sub(at_ns(next));
        }
    }

    /// Where the next pass begins when this one is `length_ns` long; at the clock when that is far ahead, because
    /// nobody wants to see what was missed.
    fn next_base(&self, length_ns: i64) -> i64 {
        let end = self.base_ns.saturating_add(length_ns);
        let behind = self.queue.behind_ns(end);
        if behind > FAR_BEHIND_NS { end.saturating_add(behind) } else { end }
    }

    /// Queues a picture that is due `movie_ns` after the pass began; `false` when the queue refuses it.
    fn push(&mut self, picture: ffmpeg_next::frame::Video, movie_ns: i64, duration_ns: i64) -> bool {
        let pts_ns = self.base_ns.saturating_add(movie_ns);
        let staging = self.control.staging();
        let packed = staging.and_then(|staging| staging.try_pack(&picture)).map(Arc::new);
        let frame = Frame {
            picture,
            packed: PackedPlanes::new(packed),
            pts_ns,
            movie_s: seconds(movie_ns),
            duration_ns: duration_ns.max(1),
            number: self.number,
            generation: self.generation,
            seeked: self.seeked,
        };
        // There it waits for room.
        self.control.reading.rest();
        let queued = self.queue.push(frame);
        self.control.reading.advance();
        if queued {
            self.number += 1;
            self.seeked = false;
        }
        queued
    }

    /// Skips frames when the one for `pts_ns` comes too late, and stops skipping once it does not.
    fn keep_up(&self, pass: &mut Pass, pts_ns: i64) {
        let behind = self.queue.behind_ns(pts_ns);
        // At most the frame that was pushed last: the player takes them as fast as they come.
        let starved = self.queue.waiting() <= 1;
        match pass.source().skip() {
            Skip::Nothing | Skip::Unreferenced if starved && behind > FAR_BEHIND_NS => {
                pass.skip_to_key_at(pts_ns.saturating_add(behind).saturating_sub(self.base_ns));
            }
            Skip::Nothing if starved && behind > BEHIND_NS => pass.set_skip(Skip::Unreferenced),
            Skip::Unreferenced if behind < CAUGHT_UP_NS => pass.set_skip(Skip::Nothing),
            _ => {}
        }
        self.queue.set_catching_up(pass.source().skip() != Skip::Nothing);
    }

    fn warn(&self, warning: Error) {
        self.warning.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(warning);
    }
}
