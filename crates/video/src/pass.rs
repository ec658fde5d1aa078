//! One pass through a file. In: a [`Source`]. Out: pictures with their position in the movie and their duration.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::SECOND_NS;
use super::chapters::Chapter;
use super::failures::no_memory;
use super::frame::{Timed, nanoseconds, seconds};
use super::jumps::Jumps;
use super::kept::Kept;
use super::open::CONVERT;
use super::reading::Reading;
use super::source::{Skip, Source};
use super::timeline::Timeline;
use base::error::{Error, Result};
use base::text;

/// How much earlier the next attempt goes when a seek landed behind its target.
const SEEK_STEPS_NS: [i64; 4] = [0, SECOND_NS / 5, 5 * SECOND_NS, 30 * SECOND_NS];

/// Behind the last packet of a whole file there are so many bytes at most, and a part of its length: an index, or tags.
const TAIL: u64 = 64 << 10;

/// Reads one picture ahead, so that each picture's duration is the distance to the next one.
pub(super) struct Pass {
    source: Source,
    timeline: Timeline,
    /// The timeline after the first picture: a seek goes back to its origin.
    start: Timeline,
    /// Pictures decoded and not yet handed out: two at most.
    ahead: VecDeque<Timed>,
    kept: Kept,
    /// Where key frames are, if stamps jump; `None` until that was looked for.
    jumps: Option<Option<Arc<Jumps>>>,
    /// End of the last picture that was decoded, in nanoseconds.
    end_ns: i64,
    skipped: bool,
}

impl Pass {
    /// Opens `path` at its beginning.
    pub(crate) fn open(path: &Path, reading: &Reading) -> Result<Self> {
        let source = Source::open(path, reading)?;
        let timeline = Timeline::new(source.gaps_allowed());
        let start = timeline.clone();
        let (ahead, kept) = (VecDeque::new(), Kept::new());
        let mut pass = Self { source, timeline, start, ahead, kept, jumps: None, end_ns: 0, skipped: false };
        pass.read_ahead(1);
        pass.start = pass.timeline.clone();
        Ok(pass)
    }

    /// Opens `path` at its beginning again, as it is now.
    pub(crate) fn reopen(&mut self, path: &Path, reading: &Reading) -> Result<()> {
        let (newest, jumps) = (self.source.newest(), self.jumps.take());
        *self = Self::open(path, reading)?;
        self.jumps = jumps;
        if let Some((newest, generation)) = newest {
            self.set_generation(newest, generation);
        }
        Ok(())
    }

    /// Opens `path` so that the picture shown at `at_ns` comes first. The flag says whether the movie is that long;
    /// if not, the picture that comes first is its last one.
    pub(crate) fn open_at(path: &Path, at_ns: i64, reading: &Reading) -> Result<(Self, bool)> {
        let mut pass = Self::open(path, reading)?;
        if at_ns <= 0 {
            return Ok((pass, true));
        }
        // The first picture lasts until the second one: its own duration is often only an average.
        pass.read_ahead(2);
        if pass.ahead.get(1).is_some_and(|second| second.movie_ns > at_ns) {
            return Ok((pass, true));
        }
        let reached = pass.go_to(path, at_ns, reading)?;
        Ok((pass, reached))
    }

    /// The movie's chapters.
    pub(crate) fn chapters(&self) -> Vec<Chapter> {
        self.source.chapters(self.start.origin_ns().unwrap_or(0))
    }

    /// Moves so that the picture shown at `at_ns` comes next. `false`: the movie ends before it, and its last
    /// picture comes next; or the reading was stopped.
    ///
    /// # Errors
    /// The file cannot seek, and cannot be opened again.
    pub(crate) fn go_to(&mut self, path: &Path, at_ns: i64, reading: &Reading) -> Result<bool> {
        self.travel(path, at_ns, reading, false)
    }

    /// As [`Pass::go_to`], and keeps pictures on the way for further steps back. What was kept on the way of the last
    /// step is not decoded again; where a step was interrupted, this one goes on.
    ///
    /// # Errors
    /// As for [`Pass::go_to`].
    pub(crate) fn go_back(&mut self, path: &Path, at_ns: i64, reading: &Reading) -> Result<bool> {
        if !self.kept.covers(at_ns) {
            return self.travel(path, at_ns, reading, true);
        }
        self.read_ahead(1);
        let following_ns = self.ahead.front().map(|first| first.movie_ns);
        if self.kept.rewind(at_ns, following_ns) {
            return Ok(true);
        }
        match following_ns {
            Some(following_ns) if following_ns <= at_ns => Ok(self.skip_to(at_ns)),
            _ if self.source.is_stopped() => Ok(false),
            _ => self.travel(path, at_ns, reading, true),
        }
    }

    fn travel(&mut self, path: &Path, at_ns: i64, reading: &Reading, keep: bool) -> Result<bool> {
        // Pictures well before the target that no other needs are left out, unless one of them may be the target.
        let frame_ns = self.source.frame_ns();
        let margin_ns = frame_ns.saturating_mul(4);
        for hurry in [true, false] {
            if !self.go_to_key(path, at_ns, reading)? {
                return Ok(false);
            }
            // Where stamps jump, an early one says nothing.
            let hurry = hurry && self.jumps().is_none();
            let mut wanted = at_ns.saturating_sub(margin_ns);
            if let Some(first) = self.ahead.front().filter(|_| keep) {
                let reach = i64::try_from(self.kept.reach(first)).unwrap_or(i64::MAX);
                let from_ns = at_ns.saturating_sub(frame_ns.saturating_mul(reach));
                wanted = wanted.min(from_ns.saturating_sub(margin_ns));
                self.kept.begin(if hurry { from_ns } else { i64::MIN });
            }
            let origin = self.timeline.origin_ns().unwrap_or(0);
            self.source.set_wanted_from(hurry.then_some(origin.saturating_add(wanted)));
            let reached = self.skip_to(at_ns);
            self.source.set_wanted_from(None);
            if self.source.is_stopped() || self.peek().is_some_and(|first| first.movie_ns >= wanted) {
                return Ok(reached);
            }
            if !hurry {
                return Ok(reached);
            }
        }
        Ok(false)
    }

    /// Moves to a key frame at or before `at_ns`, as near as the file's index allows, or to the beginning where the
    /// file cannot seek. `false`: the reading was stopped.
    ///
    /// # Errors
    /// As for [`Pass::go_to`].
    pub(crate) fn go_to_key(&mut self, path: &Path, at_ns: i64, reading: &Reading) -> Result<bool> {
        self.look_for_jumps();
        // Far behind the end there is no index to seek by.
        let known_end = match self.jumps() {
            Some(jumps) => jumps.end_ns,
            None => self.source.duration_s().map_or(i64::MAX, nanoseconds).max(self.end_ns),
        };
        let from = at_ns.min(known_end);
        for step in SEEK_STEPS_NS {
            if !self.seek(from.saturating_sub(step)) {
                break;
            }
            if self.source.is_stopped() {
                return Ok(false);
            }
            if self.peek().is_some_and(|first| first.movie_ns <= at_ns) {
                return Ok(true);
            }
        }
        self.reopen(path, reading)?;
        Ok(!self.source.is_stopped())
    }

    /// Stops soon after `newest` becomes greater than `generation`.
    pub(crate) fn set_generation(&mut self, newest: Arc<AtomicU64>, generation: u64) {
        self.source.set_generation(newest, generation);
    }

    /// The file that is read.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// The picture that comes next.
    pub(crate) fn peek(&self) -> Option<&Timed> {
        self.kept.peek().or(self.ahead.front())
    }

    /// The next picture, or `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Timed> {
        if let Some(kept) = self.kept.next() {
            return Some(kept);
        }
        let current = self.leave()?;
        self.kept.keep_handed_out(&current);
        Some(current)
    }

    /// The pass's own next picture.
    fn leave(&mut self) -> Option<Timed> {
        self.read_ahead(2);
        let mut current = self.ahead.pop_front()?;
        if let Some(next) = self.ahead.front() {
            current.duration_ns = next.movie_ns.saturating_sub(current.movie_ns);
        }
        Some(current)
    }

    /// Where the next pass begins: the end of the last picture, decoded or skipped, in nanoseconds.
    pub(crate) fn end_ns(&self) -> i64 {
        let read_ns = self.source.read_to_ns().zip(self.timeline.origin_ns());
        match read_ns {
            Some((read, origin)) if self.skipped => self.end_ns.max(read.saturating_sub(origin)),
            _ => self.end_ns,
        }
    }

    /// Chooses what is decoded from the next packet on.
    pub(crate) fn set_skip(&mut self, skip: Skip) {
        self.skipped |= skip != Skip::Nothing;
        if skip != Skip::Nothing {
            self.kept.end();
        }
        self.source.set_skip(skip);
    }

    /// Decodes key frames only until one is at or behind `movie_ns`.
    pub(crate) fn skip_to_key_at(&mut self, movie_ns: i64) {
        let origin = self.timeline.origin_ns().unwrap_or(0);
        self.set_skip(Skip::KeysUntil(origin.saturating_add(movie_ns)));
    }

    /// What was wrong with the file, once the pass has ended; `None` when nothing was.
    pub(crate) fn warning(&self, path: &Path) -> Option<Error> {
        if self.source.is_stopped() {
            return None;
        }
        let damage = &self.source.damage;
        if damage.no_memory {
            return Some(no_memory(path));
        }
        let mut reasons = Vec::new();
        if let Some(error) = &damage.read_error {
            reasons.push(format!("Reading stopped at {:.1} s: {error}.", seconds(self.end_ns)));
        }
        match damage.bad_packets {
            0 => {}
            1 => reasons.push("1 packet could not be decoded.".into()),
            n => reasons.push(format!("{n} packets could not be decoded.")),
        }
        reasons.extend(self.missing());
        (!reasons.is_empty()).then(|| {
            Error::new(
                format!("'{}' is damaged or cut off.", text::name(path)),
                reasons.join(" "),
                "What could be decoded is played; a new copy of the file may be whole.",
            )
        })
    }

    /// What says that the file's end is missing, once it has been read to there.
    ///
    /// That the pictures end before what the file announces is no sign of that where it announces the length of all its
    /// streams together: then the others have to end early, too. Nor is it where the last packet lies at the file's end,
    /// since the last picture may last for long.
    fn missing(&self) -> Option<String> {
        let file = &self.source.file;
        if let Some(missing) = file.missing_bytes() {
            return Some(missing);
        }
        let promise = self.source.promise().filter(|_| !self.skipped)?;
        let is_whole = |announced: u64| self.source.read_to_byte() + announced / 32 + TAIL >= announced;
        if !promise.of_pictures && file.announced_bytes().is_some_and(is_whole) {
            return None;
        }
        // Some formats count the length from stamp 0, wherever the first picture is.
        let start_ns = self.start.origin_ns().unwrap_or(0).max(0);
        let others_ns = self.source.others_to_ns().filter(|_| !promise.of_pictures);
        let end_ns = self.end_ns.saturating_add(start_ns).max(others_ns.unwrap_or(i64::MIN));
        let is_short = seconds(end_ns) + promise.slack_s < promise.end_s;
        let end_s = seconds(end_ns.saturating_sub(start_ns));
        is_short.then(|| format!("It ends at {end_s:.1} s, but it announces {:.1} s.", promise.end_s))
    }

    #[cfg(test)]
    pub(crate) fn keep_at_most(&mut self, bytes: usize) {
        self.kept = Kept::with_limit(bytes);
    }

    fn read_ahead(&mut self, count: usize) {
        while self.ahead.len() < count && self.decode() {}
    }

    /// Decodes one more picture; `false` at the end.
    fn decode(&mut self) -> bool {
        let Some(picture) = self.source.next_picture() else {
            return false;
        };
        let movie_ns = self.timeline.time(picture.stamp_ns, picture.duration_ns);
        self.end_ns = self.end_ns.max(movie_ns.saturating_add(picture.duration_ns));
        self.ahead.push_back(Timed { video: picture.video, movie_ns, duration_ns: picture.duration_ns });
        true
    }

    fn jumps(&self) -> Option<&Arc<Jumps>> {
        self.jumps.as_ref()?.as_ref()
    }

    /// Looks once whether stamps jump, in formats where they may. A seek has to follow.
    fn look_for_jumps(&mut self) {
        if self.jumps.is_some() || !self.source.gaps_allowed() {
            return;
        }
        let Some(origin) = self.start.origin_ns() else { return };
        let jumps = self.source.scan(origin).map(Arc::new);
        if !self.source.is_stopped() {
            self.jumps = Some(jumps);
        }
    }

    /// Goes to the key frame before `at_ns`; `false` when the file cannot seek.
    fn seek(&mut self, at_ns: i64) -> bool {
        let Some(origin) = self.start.origin_ns() else {
            return false;
        };
        let mark = self.jumps().and_then(|jumps| jumps.before(at_ns));
        let sought = match mark {
            Some(mark) => self.source.seek_byte(mark.byte),
            None => self.source.seek(origin.saturating_add(at_ns.max(0))),
        };
        if sought.is_err() {
            return false;
        }
        self.timeline = match mark {
            Some(mark) => self.start.after_seek_to(mark.origin_ns),
            None => self.start.after_seek(),
        };
        self.ahead.clear();
        self.kept.end();
        self.read_ahead(1);
        true
    }

    /// Decodes and discards what is over by `at_ns`. `false`: the movie ends before it, and its last picture comes
    /// next.
    fn skip_to(&mut self, at_ns: i64) -> bool {
        loop {
            self.read_ahead(2);
            match (self.ahead.front(), self.ahead.get(1)) {
                (Some(_), Some(next)) if next.movie_ns <= at_ns => {
                    if let Some(over) = self.leave() {
                        self.kept.keep(&over);
                    }
                }
                (Some(_), Some(_)) => return true,
                (Some(last), None) => {
                    return at_ns < last.movie_ns.saturating_add(last.duration_ns);
                }
                (None, _) => return false,
            };
        }
    }
}

/// The error for a movie without a single picture.
pub(super) fn nothing_decoded(path: &Path, pass: &Pass) -> Error {
    let damage = &pass.source().damage;
    if damage.no_memory {
        return no_memory(path);
    }
    if let Some(error) = pass.source().refused_reference(path) {
        return error;
    }
    if damage.unsupported || pass.source().is_animated_webp() {
        let what_it_is = if pass.source().is_animated_webp() { "an animated WebP" } else { "what is in it" };
        return Error::new(
            format!("Cannot decode '{}'.", text::name(path)),
            format!("This FFmpeg does not decode {what_it_is}."),
            CONVERT,
        );
    }
    let why = match &damage.read_error {
        Some(error) => format!("Reading stopped before the first picture: {error}."),
        None if damage.bad_packets > 0 => {
            let most = pass.source().max_pixels() / 1_000_000;
            format!(
                "None of its pictures could be decoded. Those of more than {most} million pixels are refused here."
            )
        }
        None => "It ends before its first picture.".into(),
    };
    Error::new(
        format!("Cannot decode '{}'.", text::name(path)),
        why,
        "The file is damaged; try a new copy of it or another file.",
    )
}
