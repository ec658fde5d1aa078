//! A cache of decoded pictures for steps back.
//!
//! Decoding begins at a key frame, which may lie hundreds of pictures earlier. The pictures decoded on the way are kept, so
//! that the next steps back need not decode them again.

use std::collections::VecDeque;

use super::frame::{TimedPicture, picture_bytes};

/// The maximum memory for cached pictures, in bytes. Cached pictures that are also in the frame queue count, too.
const MAX_BYTES: usize = 512 << 20;
/// The number of pictures from outside the cache that may be returned after a step back. With one more, the movie is assumed to
/// play on, and the cache is cleared. The number is larger than the frame queue and than some steps forward need.
const MAX_UNCACHED: u32 = 24;

/// A cache of consecutive pictures of the movie. The last one is that before the position at which the movie's reader (`Pass`)
/// decodes next.
pub(super) struct PictureCache {
    pictures: VecDeque<TimedPicture>,
    bytes: usize,
    max_bytes: usize,
    /// The position from which on pictures are cached, in nanoseconds of the movie; `None` while nothing is cached.
    pub from_ns: Option<i64>,
    /// Index of the picture that is returned next; the number of pictures if all have been returned.
    next: usize,
    /// Pictures returned since the last step back that were not in the cache.
    uncached: u32,
}

impl PictureCache {
    /// Returns an empty cache that holds up to [`MAX_BYTES`] of pictures.
    pub(crate) fn new() -> Self {
        Self::with_limit(MAX_BYTES)
    }

    /// Returns an empty cache that holds up to `max_bytes` of pictures.
    pub(super) fn with_limit(max_bytes: usize) -> Self {
        Self { pictures: VecDeque::new(), bytes: 0, max_bytes, from_ns: None, next: 0, uncached: 0 }
    }

    /// Returns the number of pictures as large as `picture` to decode for steps back. These pictures fill half of the
    /// cache's memory; the other half is for pictures after the present position.
    pub(crate) fn capacity(&self, picture: &TimedPicture) -> usize {
        self.max_bytes / 2 / picture_bytes(&picture.video).max(1)
    }

    /// Clears the cache, after a seek or when pictures are skipped. Nothing is cached until pictures follow each other again.
    pub(crate) fn clear(&mut self) {
        *self = Self::with_limit(self.max_bytes);
    }

    /// Returns true if every picture from `at_ns` to the position of the pass is cached with `earlier` pictures before it, or will
    /// be cached when it is decoded.
    pub(crate) fn covers(&self, at_ns: i64, earlier: usize) -> bool {
        self.from_ns.is_some_and(|from| from <= at_ns)
            && self.pictures.iter().all(|picture| picture.earlier.reaches(earlier))
            && self.pictures.front().is_none_or(|first| first.movie_ns <= at_ns)
    }

    /// Makes the picture that is shown at `at_ns` the next one; returns `false` if that picture is not cached.
    /// `following_ns` is the position of the picture after the cached ones, if known.
    pub(crate) fn rewind(&mut self, at_ns: i64, following_ns: Option<i64>) -> bool {
        self.uncached = 0;
        let end_ns = |index: usize| self.pictures.get(index + 1).map(|p| p.movie_ns).or(following_ns);
        let shown = self.pictures.iter().rposition(|picture| picture.movie_ns <= at_ns);
        match shown.filter(|index| end_ns(*index).is_some_and(|clear| clear > at_ns)) {
            Some(index) => {
                self.next = index;
                true
            }
            None => {
                self.next = self.pictures.len();
                false
            }
        }
    }

    /// Returns the next picture without moving beyond it; `None` if the picture is not cached.
    pub(crate) fn peek(&self) -> Option<&TimedPicture> {
        self.pictures.get(self.next)
    }

    /// Returns the next picture and moves beyond it; `None` if the picture is not cached.
    pub(crate) fn next(&mut self) -> Option<TimedPicture> {
        while let Some(cached) = self.pictures.get(self.next) {
            self.next += 1;
            if let Some(shared) = cached.share() {
                return Some(shared);
            }
        }
        None
    }

    /// Adds the picture that the pass has just moved beyond.
    pub(crate) fn add(&mut self, picture: &TimedPicture) {
        if self.from_ns.is_none_or(|from| picture.movie_ns < from) {
            return;
        }
        let Some(shared) = picture.share() else {
            // The cached pictures must be consecutive.
            self.clear();
            return;
        };
        self.bytes += picture_bytes(&shared.video);
        self.pictures.push_back(shared);
        while self.bytes > self.max_bytes
            && let Some(oldest) = self.pictures.pop_front()
        {
            self.bytes -= picture_bytes(&oldest.video).min(self.bytes);
        }
        self.next = self.pictures.len();
    }

    /// Adds a picture that the pass returns to its caller, and clears the cache once the movie plays on.
    pub(crate) fn add_returned(&mut self, picture: &TimedPicture) {
        self.add(picture);
        self.uncached += 1;
        if self.uncached > MAX_UNCACHED {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::movie::{Folder, Movie, index_in, steady};

    use super::super::pass::Pass;
    use super::super::read_control::ReadControl;
    use super::*;

    const FRAME_NS: i64 = 40_000_000;
    /// The number of pictures that the frame queue takes at once.
    const AHEAD: usize = 8;

    struct Steps {
        pass: Pass,
        read_control: ReadControl,
        _folder: Folder,
    }

    impl Steps {
        fn new(name: &str, b_frames: usize) -> Self {
            let folder = Folder::new(name);
            let movie = Movie { stamps_ms: steady(50), gop: 50, b_frames, ..Movie::default() };
            let path = folder.movie("m.mkv", &movie);
            let read_control = ReadControl::default();
            let pass = Pass::open(&path, &read_control).unwrap();
            Self { pass, read_control, _folder: folder }
        }

        /// Steps back from the frame with this index, and reads as many pictures as the frame queue takes at once. Returns the
        /// index of the first picture that was read, and the number of packets that were decoded for the step.
        fn back(&mut self, index: i64) -> (usize, u64) {
            let before = self.pass.source.sent;
            self.pass.seek_back(index * FRAME_NS - 1).unwrap();
            let shown: Vec<usize> =
                (0..AHEAD).map_while(|_| self.pass.next()).map(|p| index_in(&p.video)).collect();
            assert!(shown.windows(2).all(|w| w[1] == w[0] + 1), "no gap and no repeat: {shown:?}");
            (shown[0], self.pass.source.sent.wrapping_sub(before))
        }
    }

    #[test]
    fn only_the_first_step_back_decodes() {
        for b_frames in [0, 2] {
            let mut steps = Steps::new("kept", b_frames);
            let (first, decoded) = steps.back(40);
            assert!(first == 39 && decoded >= 40, "from the key frame: {decoded} packets");
            for index in (1..=39).rev() {
                assert_eq!(steps.back(index), (index as usize - 1, 0), "from frame {index}");
            }
            // Forward again: after the cached pictures the pass continues where it was.
            let (first, decoded) = steps.back(45);
            assert_eq!(first, 44);
            assert!(decoded <= 10, "{decoded} packets");
        }
    }

    #[test]
    fn the_cache_is_cleared_by_playing_on_and_by_seeking() {
        let mut steps = Steps::new("kept-end", 0);
        steps.back(10);
        assert!((0..=MAX_UNCACHED).all(|_| steps.pass.next().is_some()));
        let (first, decoded) = steps.back(9);
        assert!(first == 8 && decoded >= 9, "playing went on: {decoded} packets");
        steps.pass.seek(5 * FRAME_NS).unwrap();
        assert_eq!(steps.pass.next().map(|p| index_in(&p.video)), Some(5));
        let (first, decoded) = steps.back(4);
        assert!(first == 3 && decoded > 0, "it had gone elsewhere");
    }

    #[test]
    fn the_cache_is_limited_by_memory() {
        let mut steps = Steps::new("kept-memory", 2);
        let bytes = picture_bytes(&steps.pass.peek().unwrap().video);
        steps.pass.cache = PictureCache::with_limit(30 * bytes);
        let decoded: Vec<u64> = (1..=45)
            .rev()
            .map(|index| {
                let (first, decoded) = steps.back(index);
                assert_eq!(first, index as usize - 1);
                decoded
            })
            .collect();
        let again = decoded.iter().filter(|packets| **packets > 0).count();
        assert!((2..=6).contains(&again), "a part of the steps decodes: {decoded:?}");
    }

    #[test]
    fn an_interrupted_step_back_is_continued() {
        let mut steps = Steps::new("kept-held", 2);
        steps.pass.seek_key_frame(0).unwrap();
        steps.pass.seek_back(10 * FRAME_NS).unwrap();
        let sent = steps.pass.source.sent;
        // The request of a newer step interrupts this one.
        steps.read_control.request_seek();
        steps.pass.seek_back(45 * FRAME_NS).unwrap();
        assert!(steps.pass.source.sent < sent + 10, "stopped");
        let sent = steps.pass.source.sent;
        steps.read_control.begin_newest_seek();
        assert!(steps.pass.seek_back(45 * FRAME_NS).unwrap());
        assert_eq!(steps.pass.next().map(|p| index_in(&p.video)), Some(45));
        assert!(steps.pass.source.sent < sent + 45, "it did not begin anew");
    }
}
