//! The loop of the decoder's thread: plays passes through a movie, pictures in memory, or painted pictures into the frame
//! queue, and follows the player's requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::SECOND_NS;
use super::canvas::Canvas;
use super::control::{Control, Seek};
use super::earlier::{Earlier, History};
use super::frame::{Frame, TimedPicture, seconds};
use super::pass::Pass;
use super::source::Skip;
use base::error::{Error, Result};
use base::timing::log::{self, Event};
use parking_lot::Mutex;

/// The delay of the decoder behind the clock, in nanoseconds, above which unreferenced frames are skipped if the queue is
/// nearly empty.
const LATE_NS: i64 = SECOND_NS / 2;
/// The delay of the decoder behind the clock, in nanoseconds, above which decoding continues at a key frame near the clock.
const FAR_LATE_NS: i64 = 3 * SECOND_NS;
/// The delay of the decoder behind the clock, in nanoseconds, below which every frame is decoded again.
const ON_TIME_NS: i64 = SECOND_NS / 10;

/// The reason why a pass through the movie ended.
enum PassEnd {
    /// The pass was stopped because the decoder is being dropped.
    Stopped,
    /// The player requested a seek.
    Seek,
    /// The queue rejected the frame at this position in the movie, in nanoseconds, because the repeated section ends before it.
    Rejected(i64),
    /// The movie ended after this number of frames.
    MovieEnd(usize),
}

/// The state of the decoder's thread.
pub(super) struct Worker {
    control: Arc<Control>,
    /// Position on the play timeline at which the movie's beginning lies in the present pass, in nanoseconds.
    base_ns: i64,
    /// The number of frames queued so far.
    number: u64,
    /// True if the next frame is the first one after a seek.
    seeked: bool,
    /// True if the present pass began at the movie's beginning.
    from_beginning: bool,
}

impl Worker {
    /// Creates the state of a thread that has queued no frame.
    pub(crate) fn new(control: Arc<Control>) -> Self {
        Self { control, base_ns: 0, number: 0, seeked: false, from_beginning: true }
    }

    /// Plays passes until the decoder is dropped. `from_beginning` is true if the first one begins at the movie's beginning.
    pub(crate) fn play(mut self, mut pass: Pass, from_beginning: bool) {
        self.from_beginning = from_beginning;
        self.state_duration(&pass);
        self.publish_sound(&pass);
        loop {
            let end = self.play_pass(&mut pass);
            let moved = match end {
                PassEnd::Stopped => return,
                PassEnd::Seek => self.seek(&mut pass),
                PassEnd::Rejected(at_ns) => self.repeat_section(&mut pass, at_ns),
                PassEnd::MovieEnd(count) => match self.handle_movie_end(&mut pass, count) {
                    Some(moved) => moved,
                    None => return,
                },
            };
            if let Err(error) = moved {
                self.control.set_warning(Some(error));
                if !self.wait_for_request(false, true) {
                    return;
                }
            }
        }
    }

    /// Queues the pictures of a pass until it ends.
    fn play_pass(&mut self, pass: &mut Pass) -> PassEnd {
        let mut count = 0;
        let mut began = Instant::now();
        while let Some(picture) = pass.next() {
            count += 1;
            if let Some(note) = pass.source.demuxer.damage.note() {
                *self.control.note.lock() = Some(note);
            }
            log::record(|| [Event::since("decode", began).with(format!("picture {}", self.number))]);
            self.keep_up(pass, self.base_ns.saturating_add(picture.movie_ns));
            let movie_ns = picture.movie_ns;
            if !self.push(picture) {
                return self.end_reason(movie_ns);
            }
            began = Instant::now();
        }
        match self.end_reason(0) {
            PassEnd::Rejected(_) => PassEnd::MovieEnd(count),
            other => other,
        }
    }

    /// Returns the reason for which the queue rejected the frame at `movie_ns`.
    fn end_reason(&self, movie_ns: i64) -> PassEnd {
        if self.control.read_control.is_cancelled() {
            PassEnd::Stopped
        } else if self.control.read_control.has_newer_seek() {
            PassEnd::Seek
        } else {
            PassEnd::Rejected(movie_ns)
        }
    }

    /// Handles the end of the movie: plays the movie again, handles a seek, or waits for a request to do so. Returns `None`
    /// when the decoder is being dropped.
    fn handle_movie_end(&mut self, pass: &mut Pass, count: usize) -> Option<Result<()>> {
        let still = self.from_beginning && count < 2 && pass.movie_end_ns() <= pass.end_ns();
        if pass.source.has_ended() && !pass.source.is_interrupted() {
            let (end_ns, bytes) = (pass.movie_end_ns(), pass.source.container().access.bytes());
            self.control.duration.lock().set_seen(end_ns, bytes);
        }
        *self.control.note.lock() = pass.source.demuxer.damage.note();
        self.control.set_warning(pass.warning());
        // A movie of one picture is not looped, unless its sound lasts longer.
        self.control.is_still.store(still, Ordering::Relaxed);
        let mut again = !still && self.control.requests().repeats();
        if !again {
            if !self.wait_for_request(!still, pass.source.demuxer.damage.read_error.is_some()) {
                return None;
            }
            again = !self.control.read_control.has_newer_seek();
        }
        if !again {
            return Some(self.seek(pass));
        }
        if self.control.requests().section.is_some() {
            return Some(self.repeat_section(pass, 0));
        }
        self.base_ns = self.start_after_end(self.base_ns.saturating_add(pass.movie_end_ns()), FAR_LATE_NS);
        Some(self.reopen(pass))
    }

    /// Starts the next pass by opening the file again, which also works for files that cannot seek, and finds data that was
    /// added to the file.
    fn reopen(&mut self, pass: &mut Pass) -> Result<()> {
        self.from_beginning = true;
        pass.reopen()?;
        self.state_duration(pass);
        self.publish_sound(pass);
        require_picture(pass)
    }

    /// Marks the queue as finished and waits for a request. `failed` is true if the movie could not be read. Returns `false`
    /// when the decoder is being dropped.
    fn wait_for_request(&self, may_repeat: bool, failed: bool) -> bool {
        self.control.queue.set_catching_up(false);
        self.control.has_failed.store(failed, Ordering::Relaxed);
        let generation = self.control.read_control.current_seek();
        self.control.queue.set_finished(generation, true);
        self.control.read_control.suspend();
        let continues = self.control.wait(may_repeat);
        self.control.read_control.note_progress();
        self.control.queue.set_finished(generation, false);
        self.control.has_failed.store(false, Ordering::Relaxed);
        continues
    }

    /// Takes the newest seek that the player requested, and continues the pass at its target.
    fn seek(&mut self, pass: &mut Pass) -> Result<()> {
        let Some(seek) = self.start_seek() else { return Ok(()) };
        pass.set_skip(Skip::Nothing);
        match seek {
            Seek::Exact(_) => pass.seek(seek.target_ns())?,
            Seek::Before(_) => pass.seek_back(seek.target_ns())?,
            Seek::Keyframe(_) => {
                let found = pass.seek_key_frame(seek.target_ns())?;
                let earlier = self.control.read_control.earlier();
                let lacking = pass.peek().filter(|first| earlier > 0 && first.movie_ns > 0);
                // The key frame alone has no pictures before it.
                lacking.map(|first| first.movie_ns).map_or(Ok(found), |at_ns| pass.seek(at_ns))?
            }
        };
        self.continue_after_queue(pass)
    }

    /// Plays the repeated section again, or continues at `at_ns` if the player has ended the repetition.
    fn repeat_section(&mut self, pass: &mut Pass, at_ns: i64) -> Result<()> {
        let section = self.control.requests().section;
        pass.set_skip(Skip::Nothing);
        pass.seek(section.map_or(at_ns, |(a, _)| a))?;
        self.continue_after_queue(pass)
    }

    /// Sets `base_ns` so that the next picture follows the last one in the queue.
    fn continue_after_queue(&mut self, pass: &mut Pass) -> Result<()> {
        self.from_beginning = false;
        // After a wait the first frames are not skipped as late.
        let start = self.start_after_end(self.control.queue.end_ns(), 0);
        self.base_ns = start.saturating_sub(pass.peek().map_or(0, |first| first.movie_ns));
        self.publish_sound(pass);
        require_picture(pass)
    }

    /// Tells the movie's sound at which position it continues, which is that of the next picture.
    fn publish_sound(&self, pass: &Pass) {
        let movie_ns = pass.peek().map_or(0, |first| first.movie_ns);
        let (origin_ns, byte) = pass.origin_at(movie_ns);
        self.control.sound.publish(self.base_ns, movie_ns, origin_ns, byte);
    }

    /// Makes the duration that the file states known to other threads.
    fn state_duration(&self, pass: &Pass) {
        let (ns, bytes) = (pass.stated_duration_ns(), pass.source.container().access.bytes());
        self.control.duration.lock().state(ns, bytes);
    }

    /// Takes the newest seek, if there is one, and marks the next frame as the first one after the seek.
    fn start_seek(&mut self) -> Option<Seek> {
        // The lock is held until the newest seek is the current one.
        let mut requests = self.control.requests();
        let seek = requests.seek.take()?;
        self.control.read_control.begin_newest_seek();
        self.seeked = true;
        Some(seek)
    }

    /// Plays preloaded pictures until the decoder is dropped, and repeats them if the movie loops.
    pub(crate) fn play_preloaded(mut self, pictures: &[TimedPicture]) {
        let index_at = |at_ns: i64| pictures.iter().rposition(|p| p.movie_ns <= at_ns).unwrap_or(0);
        let mut index = 0;
        self.control.is_still.store(pictures.len() < 2, Ordering::Relaxed);
        loop {
            let mut end = PassEnd::MovieEnd(0);
            while let Some(picture) = pictures.get(index) {
                let before = pictures[..index].iter().rev().take(self.control.read_control.earlier());
                index += 1;
                let Some(mut shared) = picture.share() else { continue };
                shared.earlier = Earlier::all(&picture.video, before.map(|picture| &picture.video));
                if !self.push(shared) {
                    end = self.end_reason(picture.movie_ns);
                    break;
                }
            }
            if matches!(end, PassEnd::MovieEnd(_)) {
                let repeats = pictures.len() > 1 && self.control.requests().repeats();
                if !repeats && !self.wait_for_request(pictures.len() > 1, false) {
                    return;
                }
            }
            let Some(at_ns) = self.next_position(end) else { return };
            index = index_at(at_ns);
            let start = self.start_after_end(self.control.queue.end_ns(), FAR_LATE_NS);
            self.base_ns = start.saturating_sub(pictures.get(index).map_or(0, |p| p.movie_ns));
        }
    }

    /// Plays painted pictures, `fps` per second. `paint` gets the number of the picture and the canvas, which holds the
    /// previous picture.
    pub(crate) fn play_painted(
        mut self,
        mut canvas: Canvas,
        fps: u32,
        mut paint: impl FnMut(u64, &mut Canvas),
    ) {
        let fps = i64::from(fps.max(1));
        let at_ns = |n: i64| n.saturating_mul(SECOND_NS) / fps;
        let number_at = |ns: i64| (ns.saturating_mul(fps).saturating_add(fps - 1) / SECOND_NS).max(0);
        let (mut next, mut painted, mut history) = (0, 0, History::new(true));
        self.control.sound.publish(self.base_ns, 0, 0, None);
        loop {
            // Late pictures are skipped.
            let behind_ns = self.control.queue.lateness_ns(self.base_ns.saturating_add(at_ns(next)));
            if behind_ns > LATE_NS {
                next += number_at(behind_ns);
            }
            let earlier = self.control.read_control.earlier();
            if next != painted || !history.reaches(earlier) {
                history = History::new(next <= earlier as i64);
                for number in next.saturating_sub(earlier as i64).max(0)..next {
                    paint(number as u64, &mut canvas);
                    let before = canvas.to_picture();
                    before.into_iter().for_each(|before| drop(history.advance(&before, earlier)));
                }
            }
            paint(next as u64, &mut canvas);
            let Some(video) = canvas.to_picture() else {
                let why = "There is no memory for another one.";
                self.control.set_warning(Some(Error::new("The pictures end.", why, "")));
                self.wait_for_request(false, true);
                return;
            };
            painted = next + 1;
            let (movie_ns, duration_ns) = (at_ns(next), at_ns(next + 1) - at_ns(next));
            let earlier = history.advance(&video, earlier);
            if self.push(TimedPicture { video, earlier, movie_ns, duration_ns }) {
                next += 1;
                continue;
            }
            let end = self.end_reason(at_ns(next));
            let Some(position_ns) = self.next_position(end) else { return };
            next = number_at(position_ns);
            self.base_ns = self.start_after_end(self.control.queue.end_ns(), 0).saturating_sub(at_ns(next));
            self.control.sound.publish(self.base_ns, at_ns(next), 0, None);
        }
    }

    /// Returns the position in nanoseconds at which pictures in memory continue: the target of a seek, the beginning of the
    /// repeated section, or where they ended. `None` when the decoder is being dropped.
    fn next_position(&mut self, end: PassEnd) -> Option<i64> {
        let section_ns = self.control.requests().section.map(|(start, _)| start);
        match (end, self.start_seek()) {
            (PassEnd::Stopped, _) => None,
            (_, Some(seek)) => Some(seek.target_ns()),
            (PassEnd::Rejected(at_ns), None) => Some(section_ns.unwrap_or(at_ns)),
            (_, None) => Some(section_ns.unwrap_or(0)),
        }
    }

    /// Returns the position on the play timeline at which pictures continue after the end `end_ns`: that end, or the clock's
    /// position if the clock is ahead by more than `tolerance_ns`.
    fn start_after_end(&self, end_ns: i64, tolerance_ns: i64) -> i64 {
        let behind = self.control.queue.lateness_ns(end_ns);
        if behind > tolerance_ns { end_ns.saturating_add(behind) } else { end_ns }
    }

    /// Queues a picture that is due `movie_ns` after the beginning of the pass; returns false if the queue rejects it.
    fn push(&mut self, picture: TimedPicture) -> bool {
        let TimedPicture { video: picture, earlier, movie_ns, duration_ns } = picture;
        let pts_ns = self.base_ns.saturating_add(movie_ns);
        let staging = self.control.staging.lock().clone();
        let packed = staging.and_then(|staging| staging.try_pack(&picture)).map(Arc::new);
        let frame = Frame {
            picture,
            earlier,
            packed: Mutex::new(packed),
            pts_ns,
            movie_s: seconds(movie_ns),
            duration_ns: duration_ns.max(1),
            number: self.number,
            generation: self.control.read_control.current_seek(),
            seeked: self.seeked,
        };
        // `push` may wait for free space.
        self.control.read_control.suspend();
        let queued = self.control.queue.push(frame);
        self.control.read_control.note_progress();
        if queued {
            self.control.duration.lock().extend(movie_ns.saturating_add(duration_ns));
            self.number += 1;
            self.seeked = false;
        }
        queued
    }

    /// Starts to skip frames if the frame for `pts_ns` is late, and decodes every frame again once frames are on time. Skips none
    /// if later frames need their pictures.
    fn keep_up(&self, pass: &mut Pass, pts_ns: i64) {
        if self.control.read_control.earlier() > 0 {
            let skips = pass.source.skip != Skip::Nothing;
            if let Some(next_ns) = pass.peek().filter(|_| skips).map(|next| next.movie_ns) {
                pass.set_skip(Skip::Nothing);
                // Without it, pictures are missing until the next seek.
                let _ = pass.seek(next_ns);
            }
            self.control.queue.set_catching_up(false);
            return;
        }
        let behind = self.control.queue.lateness_ns(pts_ns);
        // Only the frame that was pushed last is in the queue, so the player is waiting for frames.
        let starved = self.control.queue.frame_count() <= 1;
        match pass.source.skip {
            Skip::Nothing | Skip::Unreferenced if starved && behind > FAR_LATE_NS => {
                pass.skip_to_key_at(pts_ns.saturating_add(behind).saturating_sub(self.base_ns));
            }
            Skip::Nothing if starved && behind > LATE_NS => pass.set_skip(Skip::Unreferenced),
            Skip::Unreferenced if behind < ON_TIME_NS => pass.set_skip(Skip::Nothing),
            _ => {}
        }
        self.control.queue.set_catching_up(pass.source.skip != Skip::Nothing);
    }
}

/// Returns an error if the pass has no picture, unless reading was interrupted.
fn require_picture(pass: &Pass) -> Result<()> {
    match pass.peek() {
        None if !pass.source.is_interrupted() => Err(pass.source.no_pictures_error()),
        _ => Ok(()),
    }
}
