//! A pass through a movie file: its pictures with their positions in the movie and their durations, and seeking.

use std::collections::VecDeque;
use std::path::Path;

use super::SECOND_NS;
use super::container::Chapter;
use super::declared_size::declared_bytes;
use super::demuxer::FilePlace;
use super::earlier::{Earlier, History};
use super::errors::{DAMAGE_HINT, no_memory, undecoded_packets};
use super::frame::{TimedPicture, seconds};
use super::key_frames::KeyFrameIndex;
use super::picture_cache::PictureCache;
use super::read_control::ReadControl;
use super::source::{DecodedPicture, Skip, Source};
use super::timeline::{MAX_JUMP_FORWARD_NS, Timeline};
use base::error::{Error, Result};
use base::text;

/// The distances in nanoseconds, before the target of a seek, at which its successive attempts aim. Another attempt is made if
/// the previous one ended after the target.
const SEEK_STEPS_NS: [i64; 4] = [0, SECOND_NS / 5, 5 * SECOND_NS, 30 * SECOND_NS];

/// The number of bytes that a complete file may have after its last packet, besides a fraction of its size: an index, or tags.
const MAX_TRAILER_BYTES: u64 = 64 << 10;

/// The time in nanoseconds for which a picture must have been shown before the target of a seek so that it begins at the
/// target. Other pictures begin at their own time, so that a step back leads to the picture before.
const MIN_HELD_NS: i64 = SECOND_NS;

/// The longest time in nanoseconds by which sound may begin before the pictures, unless the file states a longer duration. A
/// difference of an hour, for example, is due to a wrong time stamp.
const MAX_LEAD_NS: i64 = 60 * SECOND_NS;

/// A reader of a movie's pictures in display order. It decodes one picture ahead, so that a picture's duration is the distance
/// to the next one.
pub(super) struct Pass {
    pub source: Source,
    timeline: Timeline,
    /// The timeline as it was after the first picture; a seek restores the origin of its time stamps.
    start_timeline: Timeline,
    /// Pictures that were decoded and not returned yet: at most two.
    lookahead: VecDeque<TimedPicture>,
    /// The pictures before those in `lookahead`, returned or discarded.
    history: History,
    /// The position at which decoding began, in nanoseconds of the movie: 0, or after a seek that of a key frame.
    began_ns: i64,
    pub cache: PictureCache,
    /// The index of key frames: `None` until the file was scanned, `Some(None)` if its time stamps do not jump.
    key_frame_index: Option<Option<KeyFrameIndex>>,
    /// End of the last decoded picture, in nanoseconds of the movie.
    end_ns: i64,
    /// True if pictures of this pass were skipped, so that the last decoded picture need not be the movie's last one.
    has_skips: bool,
}

impl Pass {
    /// Opens the movie at `path`, at the movie's beginning.
    pub(crate) fn open(path: &Path, read_control: &ReadControl) -> Result<Self> {
        let source = Source::open(path, read_control)?;
        let timeline = Timeline::new(source.container().allows_jumps());
        let mut pass = Self {
            source,
            start_timeline: timeline.clone(),
            timeline,
            lookahead: VecDeque::new(),
            history: History::new(true),
            began_ns: 0,
            cache: PictureCache::new(),
            key_frame_index: None,
            end_ns: 0,
            has_skips: false,
        };
        pass.fill_lookahead(1);
        pass.start_timeline = pass.timeline.clone();
        Ok(pass)
    }

    /// Opens the movie's file again at its beginning, to read the contents that it has now.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        let (path, read_control) =
            (self.source.container().access.path.clone(), self.source.read_control().clone());
        let key_frame_index = self.key_frame_index.take();
        *self = Self::open(&path, &read_control)?;
        self.key_frame_index = key_frame_index;
        Ok(())
    }

    /// Opens `path` so that the picture shown at `at_ns` comes first. Returns the pass, and true if the movie reaches
    /// `at_ns`; otherwise the movie's last picture comes first.
    pub(crate) fn open_at(path: &Path, at_ns: i64, read_control: &ReadControl) -> Result<(Self, bool)> {
        let mut pass = Self::open(path, read_control)?;
        if at_ns <= 0 {
            return Ok((pass, true));
        }
        // The first picture lasts until the second one: its stated duration is often only an average.
        pass.fill_lookahead(2);
        if pass.lookahead.get(1).is_some_and(|second| second.movie_ns > at_ns) {
            pass.begin_within_picture(at_ns);
            return Ok((pass, true));
        }
        let reached = pass.seek(at_ns)?;
        Ok((pass, reached))
    }

    /// Returns the time stamp in nanoseconds that counts as the movie's beginning for pictures at `movie_ns`, and the byte
    /// offset in the file from which it applies; `None` if it applies to the whole file.
    pub(crate) fn origin_at(&self, movie_ns: i64) -> (i64, Option<i64>) {
        match self.key_frame_index().and_then(|index| index.last_at_or_before(movie_ns)) {
            Some(key_frame) => (key_frame.origin_ns, Some(key_frame.byte)),
            None => (self.start_ns(), None),
        }
    }

    /// Returns the duration of the movie as the file states it, in nanoseconds; `None` if it states none.
    pub(crate) fn stated_duration_ns(&self) -> Option<i64> {
        self.source.container().stated_duration_ns(self.start_ns())
    }

    /// Returns the time stamp in nanoseconds of the movie's beginning; 0 without a picture.
    fn start_ns(&self) -> i64 {
        self.start_timeline.origin_ns.unwrap_or(0)
    }

    pub(crate) fn chapters(&self) -> Vec<Chapter> {
        self.source.container().chapters(self.start_ns())
    }

    /// Seeks so that the picture shown at `at_ns` comes next. If that picture has been shown for [`MIN_HELD_NS`] by then, it
    /// begins at `at_ns`. Returns `false` if the movie ends before `at_ns`, so that its last picture comes next, or if reading
    /// was interrupted.
    ///
    /// # Errors
    /// The file can neither seek nor be opened again.
    pub(crate) fn seek(&mut self, at_ns: i64) -> Result<bool> {
        let reached = self.seek_exact(at_ns, false)?;
        if reached {
            self.begin_within_picture(at_ns);
        }
        Ok(reached)
    }

    /// Moves the beginning of the next picture to `at_ns` if the picture has been shown for [`MIN_HELD_NS`] by then. The sound
    /// continues at `at_ns`, and the next seek by some seconds starts from there.
    fn begin_within_picture(&mut self, at_ns: i64) {
        let held = |first: &&mut TimedPicture| at_ns.saturating_sub(first.movie_ns) >= MIN_HELD_NS;
        if let Some(first) = self.lookahead.front_mut().filter(held) {
            let end_ns = first.movie_ns.saturating_add(first.duration_ns);
            (first.movie_ns, first.duration_ns) = (at_ns, end_ns.saturating_sub(at_ns).max(1));
        }
    }

    /// Seeks as [`Pass::seek`] does, and caches the pictures before `at_ns` for further steps back. Pictures that the last
    /// step cached are not decoded again; an interrupted step is continued.
    ///
    /// # Errors
    /// As for [`Pass::seek`].
    pub(crate) fn seek_back(&mut self, at_ns: i64) -> Result<bool> {
        if !self.cache.covers(at_ns, self.source.read_control().earlier()) {
            return self.seek_exact(at_ns, true);
        }
        self.fill_lookahead(1);
        let following_ns = self.lookahead.front().map(|first| first.movie_ns);
        if self.cache.rewind(at_ns, following_ns) {
            return Ok(true);
        }
        match following_ns {
            Some(following_ns) if following_ns <= at_ns => Ok(self.decode_to(at_ns)),
            _ if self.source.is_interrupted() => Ok(false),
            _ => self.seek_exact(at_ns, true),
        }
    }

    /// Seeks to a key frame, and decodes up to the picture shown at `at_ns`, at least as many pictures before it as frames get.
    /// If `cache` is true, the pictures before it are cached. Returns as [`Pass::seek`] does.
    fn seek_exact(&mut self, at_ns: i64, cache: bool) -> Result<bool> {
        let earlier = self.source.read_control().earlier();
        let count = i64::try_from(earlier).unwrap_or(i64::MAX);
        let earlier_ns = self.source.frame_ns.saturating_mul(count);
        let before = |ns: i64| ns.saturating_sub(earlier_ns).max(0);
        let mut from_ns = before(at_ns);
        loop {
            let reached = self.decode_from(from_ns, at_ns, cache)?;
            if self.history.reaches(earlier) || from_ns == 0 || self.source.is_interrupted() {
                return Ok(reached);
            }
            // Pictures may be further apart than the frame rate says.
            from_ns = before(from_ns.min(self.began_ns));
        }
    }

    /// Seeks to a key frame at or before `from_ns`, and decodes up to the picture shown at `at_ns`, as [`Pass::seek_exact`] does.
    fn decode_from(&mut self, from_ns: i64, at_ns: i64, cache: bool) -> Result<bool> {
        // The first attempt skips unreferenced pictures well before the target. If that skipped the target itself, the second
        // attempt skips nothing. Nor does one that needs the pictures before the target.
        let frame_ns = self.source.frame_ns;
        let margin_ns = frame_ns.saturating_mul(4);
        let attempts: &[bool] = if from_ns < at_ns { &[false] } else { &[true, false] };
        for skip_unreferenced in attempts.iter().copied() {
            if !self.seek_key_frame(from_ns)? {
                return Ok(false);
            }
            // Where time stamps jump, an early time stamp does not show that a picture is before the target.
            let skip_unreferenced = skip_unreferenced && self.key_frame_index().is_none();
            let mut wanted = at_ns.saturating_sub(margin_ns);
            if let Some(first) = self.lookahead.front().filter(|_| cache) {
                let reach = i64::try_from(self.cache.capacity(first)).unwrap_or(i64::MAX);
                let from_ns = at_ns.saturating_sub(frame_ns.saturating_mul(reach));
                wanted = wanted.min(from_ns.saturating_sub(margin_ns));
                self.cache.clear();
                self.cache.from_ns = Some(if skip_unreferenced { from_ns } else { i64::MIN });
            }
            let origin = self.timeline.origin_ns.unwrap_or(0);
            self.source.set_skip_before(skip_unreferenced.then_some(origin.saturating_add(wanted)));
            let reached = self.decode_to(at_ns);
            self.source.set_skip_before(None);
            let has_wanted = self.peek().is_some_and(|first| first.movie_ns >= wanted);
            if has_wanted || !skip_unreferenced || self.source.is_interrupted() {
                return Ok(reached);
            }
        }
        Ok(false)
    }

    /// Seeks to a key frame at or before `at_ns`, as near as the file's index allows, or to the beginning if the file cannot
    /// seek. Returns `false` if reading was interrupted.
    ///
    /// # Errors
    /// As for [`Pass::seek`].
    pub(crate) fn seek_key_frame(&mut self, at_ns: i64) -> Result<bool> {
        // In formats that allow jumps of time stamps, the file is scanned once for them.
        if self.key_frame_index.is_none()
            && self.source.container().allows_jumps()
            && let Some(origin) = self.start_timeline.origin_ns
        {
            let key_frame_index = self.source.scan_key_frames(origin);
            self.key_frame_index = (!self.source.is_interrupted()).then_some(key_frame_index);
        }
        // There are no index entries far after the end.
        let known_end = match self.key_frame_index() {
            Some(index) => index.end_ns,
            None => self.stated_duration_ns().unwrap_or(i64::MAX).max(self.end_ns),
        };
        let from = at_ns.min(known_end);
        for step in SEEK_STEPS_NS {
            if !self.try_seek(from.saturating_sub(step)) {
                break;
            }
            if self.source.is_interrupted() {
                return Ok(false);
            }
            if self.peek().is_some_and(|first| first.movie_ns <= at_ns) {
                return Ok(true);
            }
        }
        self.reopen()?;
        Ok(!self.source.is_interrupted())
    }

    /// Returns the next picture without taking it; `None` at the end.
    pub(crate) fn peek(&self) -> Option<&TimedPicture> {
        self.cache.peek().or(self.lookahead.front())
    }

    /// Returns the next picture, or `None` at the end.
    pub(crate) fn next(&mut self) -> Option<TimedPicture> {
        if let Some(cache) = self.cache.next() {
            return Some(cache);
        }
        let current = self.take_lookahead()?;
        self.cache.add_returned(&current);
        Some(current)
    }

    /// Takes the next picture that is not cached.
    fn take_lookahead(&mut self) -> Option<TimedPicture> {
        self.fill_lookahead(2);
        let mut current = self.lookahead.pop_front()?;
        current.duration_ns = match self.lookahead.front() {
            Some(next) => next.movie_ns.saturating_sub(current.movie_ns),
            // The last picture is shown until the sound ends.
            None => current.duration_ns.max(self.movie_end_ns().saturating_sub(current.movie_ns)),
        };
        current.earlier = self.history.advance(&current.video, self.source.read_control().earlier());
        Some(current)
    }

    /// Returns the end of the last picture, decoded or skipped, in nanoseconds of the movie. The next pass begins at this
    /// position.
    pub(crate) fn end_ns(&self) -> i64 {
        let read_ns = self.source.demuxer.extent.video_end_ns.zip(self.timeline.origin_ns);
        match read_ns {
            Some((read, origin)) if self.has_skips => self.end_ns.max(read.saturating_sub(origin)),
            _ => self.end_ns,
        }
    }

    /// Returns the end of the movie in nanoseconds, as far as it has been read: the end of its last picture or of its sound,
    /// whichever is later.
    pub(crate) fn movie_end_ns(&self) -> i64 {
        let (end_ns, origin) = (self.end_ns(), self.timeline.origin_ns);
        let sound_ns = self.source.demuxer.extent.sound_end_ns.zip(origin);
        let sound_ns = sound_ns.map_or(i64::MIN, |(sound_ns, origin)| sound_ns.saturating_sub(origin));
        // After a jump of time stamps, those of the sound may belong to another origin.
        let has_jumped = origin != self.start_timeline.origin_ns;
        let is_near = sound_ns.saturating_sub(end_ns) <= MAX_JUMP_FORWARD_NS;
        if is_near || !has_jumped { end_ns.max(sound_ns) } else { end_ns }
    }

    /// Sets the kind of packets that are not decoded, from the next packet on.
    pub(crate) fn set_skip(&mut self, skip: Skip) {
        self.has_skips |= skip != Skip::Nothing;
        if skip != Skip::Nothing {
            self.cache.clear();
            self.history = History::new(false);
        }
        self.source.set_skip(skip);
    }

    /// Skips all packets except key frames from now on, until a key frame is at or after `movie_ns`.
    pub(crate) fn skip_to_key_at(&mut self, movie_ns: i64) {
        let origin = self.timeline.origin_ns.unwrap_or(0);
        self.set_skip(Skip::KeysUntil(origin.saturating_add(movie_ns)));
    }

    /// Returns a warning about damage of the file, once the pass has ended; `None` if there was none.
    pub(crate) fn warning(&self) -> Option<Error> {
        if self.source.is_interrupted() {
            return None;
        }
        let (path, damage) = (&self.source.container().access.path, &self.source.demuxer.damage);
        if damage.no_memory {
            return Some(no_memory(path));
        }
        let mut reasons = Vec::new();
        if let Some(error) = &damage.read_error {
            reasons.push(format!("Reading stopped at {:.1} s: {error}.", seconds(self.end_ns)));
        }
        reasons.extend(undecoded_packets(damage.bad_packets));
        match (damage.flagged_packets, damage.damaged_pictures) {
            (0, _) | (_, 0) => {}
            (_, 1) => reasons.push("1 picture has errors.".into()),
            (_, n) => reasons.push(format!("{n} pictures have errors.")),
        }
        reasons.extend(self.missing_end_sentence());
        (!reasons.is_empty()).then(|| {
            let what = format!("'{}' is damaged or cut off.", text::name(path));
            Error::new(what, reasons.join(" "), DAMAGE_HINT)
        })
    }

    /// Returns a sentence if the file's end is missing, once the file has been read.
    ///
    /// Pictures that end before the stated duration prove that the end is missing only if the duration is that of the
    /// pictures alone. If it is the duration of all streams together, the other streams must end early too. An early end
    /// proves nothing if the last packet lies at the end of the file, since the last picture may last long.
    fn missing_end_sentence(&self) -> Option<String> {
        let (container, extent) = (self.source.container(), &self.source.demuxer.extent);
        let file = &container.access;
        if let Some(missing) = file.missing_bytes_message() {
            return Some(missing);
        }
        let declared = container.declared_duration().filter(|_| !self.has_skips)?;
        let is_whole = |announced: u64| extent.end_byte + announced / 32 + MAX_TRAILER_BYTES >= announced;
        if !declared.of_pictures && declared_bytes(&file.file).is_some_and(is_whole) {
            return None;
        }
        // Some formats count the duration from time stamp 0, wherever the first picture is.
        let start_ns = self.start_ns().max(0);
        let others_ns = extent.other_streams_end_ns.filter(|_| !declared.of_pictures);
        let end_ns = self.end_ns.saturating_add(start_ns).max(others_ns.unwrap_or(i64::MIN));
        let is_short = seconds(end_ns) + declared.tolerance_s < declared.end_s;
        let end_s = seconds(end_ns.saturating_sub(start_ns));
        is_short.then(|| format!("It ends at {end_s:.1} s, but it announces {:.1} s.", declared.end_s))
    }

    /// Decodes until there are `count` pictures in `lookahead`, or the movie ends.
    fn fill_lookahead(&mut self, count: usize) {
        while self.lookahead.len() < count
            && let Some(DecodedPicture { video, stamp_ns, duration_ns }) = self.source.next_picture()
        {
            if self.timeline.origin_ns.is_none() {
                let container = self.source.container();
                let duration_ns = container.stated_duration_ns(0).filter(|_| !container.allows_jumps());
                let max_lead_ns = duration_ns.unwrap_or(0).max(MAX_LEAD_NS);
                self.timeline.begin(stamp_ns, self.source.sound_start_ns(), max_lead_ns);
            }
            let movie_ns = self.timeline.position(stamp_ns, duration_ns);
            // The first picture is also shown while the sound plays before it.
            let lead_ns = if movie_ns == 0 { self.timeline.lead_ns() } else { 0 };
            let duration_ns = duration_ns.saturating_add(lead_ns);
            self.end_ns = self.end_ns.max(movie_ns.saturating_add(duration_ns));
            let earlier = Earlier::default();
            self.lookahead.push_back(TimedPicture { video, earlier, movie_ns, duration_ns });
        }
    }

    /// Returns the index of key frames; `None` if time stamps do not jump, or the file was not scanned.
    fn key_frame_index(&self) -> Option<&KeyFrameIndex> {
        self.key_frame_index.as_ref()?.as_ref()
    }

    /// Seeks to the key frame at or before `at_ns`; returns `false` if the file cannot seek.
    fn try_seek(&mut self, at_ns: i64) -> bool {
        let Some(origin) = self.start_timeline.origin_ns else { return false };
        let key_frame = self.key_frame_index().and_then(|index| index.last_at_or_before(at_ns));
        let (place, origin) = match key_frame {
            Some(key_frame) => (FilePlace::Byte(key_frame.byte), key_frame.origin_ns),
            None => (FilePlace::StampNs(origin.saturating_add(at_ns.max(0))), origin),
        };
        if self.source.seek(place).is_err() {
            return false;
        }
        self.timeline = self.start_timeline.after_seek(origin);
        self.lookahead.clear();
        self.cache.clear();
        self.fill_lookahead(1);
        self.began_ns = self.peek().map_or(0, |first| first.movie_ns);
        self.history = History::new(self.began_ns == 0 && self.peek().is_some());
        true
    }

    /// Decodes and discards pictures that end by `at_ns`. Returns `false` if the movie ends before `at_ns`; then the
    /// movie's last picture comes next.
    fn decode_to(&mut self, at_ns: i64) -> bool {
        loop {
            self.fill_lookahead(2);
            match (self.lookahead.front(), self.lookahead.get(1)) {
                (Some(_), Some(next)) if next.movie_ns <= at_ns => {
                    // The first ones after a seek may lack the pictures before them.
                    let earlier = self.source.read_control().earlier();
                    if let Some(over) = self.take_lookahead().filter(|over| over.earlier.reaches(earlier)) {
                        self.cache.add(&over);
                    }
                }
                (Some(_), Some(_)) => return true,
                (Some(last), None) => {
                    let end_ns = last.movie_ns.saturating_add(last.duration_ns);
                    return at_ns < end_ns.max(self.movie_end_ns());
                }
                (None, _) => return false,
            };
        }
    }
}
