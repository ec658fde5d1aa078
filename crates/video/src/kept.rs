//! Pictures that were decoded on the way to a step back, for the next steps back: decoding begins at a key frame, which
//! may lie hundreds of pictures before. In: pictures as a pass comes by them, without a gap. Out: some of them again.

use std::collections::VecDeque;

use super::frame::{Timed, picture_bytes, share};

/// Memory for pictures that are kept, in bytes. Those that wait in the queue as well are among them.
const MAX_BYTES: usize = 512 << 20;
/// After so many pictures beyond the run it counts as playing on, and nobody steps back: more than the queue holds, and
/// some steps forward.
const GOES_ON: u32 = 24;

/// A run of pictures, each the next one of the movie, up to where the pass stands.
pub(super) struct Kept {
    pictures: VecDeque<Timed>,
    bytes: usize,
    max_bytes: usize,
    /// Pictures from this position on belong to the run; `None` while nothing is kept.
    from_ns: Option<i64>,
    /// Which of them is handed out next; all of them were where it is their number.
    next: usize,
    /// Pictures handed out since the last step back that were not in the run.
    new: u32,
}

impl Kept {
    pub(crate) fn new() -> Self {
        Self::with_limit(MAX_BYTES)
    }

    pub(super) fn with_limit(max_bytes: usize) -> Self {
        Self { pictures: VecDeque::new(), bytes: 0, max_bytes, from_ns: None, next: 0, new: 0 }
    }

    /// How many pictures like this one are worth decoding for steps back; the other half of the memory is for those
    /// that are decoded ahead.
    pub(crate) fn reach(&self, picture: &Timed) -> usize {
        self.max_bytes / 2 / picture_bytes(&picture.video).max(1)
    }

    /// Forgets the run and begins one with the picture at `from_ns` or the next one behind it.
    pub(crate) fn begin(&mut self, from_ns: i64) {
        self.end();
        self.from_ns = Some(from_ns);
    }

    /// Forgets the run: the pass goes elsewhere, or leaves pictures out.
    pub(crate) fn end(&mut self) {
        *self = Self::with_limit(self.max_bytes);
    }

    /// Whether every picture between `at_ns` and where the pass stands is in the run or can come into it.
    pub(crate) fn covers(&self, at_ns: i64) -> bool {
        self.from_ns.is_some_and(|from| from <= at_ns)
            && self.pictures.front().is_none_or(|first| first.movie_ns <= at_ns)
    }

    /// Goes to the picture that is shown at `at_ns`; `false` if it is not in the run. `following_ns` is the position of
    /// the picture after the run, if it is known.
    pub(crate) fn rewind(&mut self, at_ns: i64, following_ns: Option<i64>) -> bool {
        self.new = 0;
        let end_ns = |index: usize| self.pictures.get(index + 1).map(|p| p.movie_ns).or(following_ns);
        let shown = self.pictures.iter().rposition(|picture| picture.movie_ns <= at_ns);
        match shown.filter(|index| end_ns(*index).is_some_and(|end| end > at_ns)) {
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

    /// The picture that is handed out next, if it is one of the run.
    pub(crate) fn peek(&self) -> Option<&Timed> {
        self.pictures.get(self.next)
    }

    /// Hands out the next picture, if it is one of the run.
    pub(crate) fn next(&mut self) -> Option<Timed> {
        while let Some(kept) = self.pictures.get(self.next) {
            self.next += 1;
            if let Some(video) = share(&kept.video) {
                return Some(Timed { video, ..*kept });
            }
        }
        None
    }

    /// Takes the picture that the pass leaves behind into the run.
    pub(crate) fn keep(&mut self, picture: &Timed) {
        if self.from_ns.is_none_or(|from| picture.movie_ns < from) {
            return;
        }
        let Some(video) = share(&picture.video) else {
            // A run with a gap would be wrong.
            self.end();
            return;
        };
        self.bytes += picture_bytes(&video);
        self.pictures.push_back(Timed { video, ..*picture });
        while self.bytes > self.max_bytes
            && let Some(oldest) = self.pictures.pop_front()
        {
            self.bytes -= picture_bytes(&oldest.video).min(self.bytes);
        }
        self.next = self.pictures.len();
    }

    /// Takes a picture into the run that is handed out, and forgets the run once playing goes on.
    pub(crate) fn keep_handed_out(&mut self, picture: &Timed) {
        self.keep(picture);
        self.new += 1;
        if self.new > GOES_ON {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use testkit::movie::{Folder, Movie, index_in, steady};

    use super::super::pass::Pass;
    use super::super::reading::Reading;
    use super::*;

    const FRAME_NS: i64 = 40_000_000;
    /// What the queue takes at once.
    const AHEAD: usize = 8;

    struct Steps {
        pass: Pass,
        path: std::path::PathBuf,
        reading: Reading,
        _folder: Folder,
    }

    impl Steps {
        fn new(name: &str, b_frames: usize) -> Self {
            let folder = Folder::new(name);
            let movie = Movie { stamps_ms: steady(50), gop: 50, b_frames, ..Movie::default() };
            let path = folder.movie("m.mkv", &movie);
            let reading = Reading::default();
            let pass = Pass::open(&path, &reading).unwrap();
            Self { pass, path, reading, _folder: folder }
        }

        /// Steps back from frame `index`, takes what a queue takes, and returns what came first and how many packets
        /// were decoded for it.
        fn back(&mut self, index: i64) -> (usize, u64) {
            let before = self.pass.source().sent;
            self.pass.go_back(&self.path, index * FRAME_NS - 1, &self.reading).unwrap();
            let shown: Vec<usize> =
                (0..AHEAD).map_while(|_| self.pass.next()).map(|p| index_in(&p.video)).collect();
            assert!(shown.windows(2).all(|w| w[1] == w[0] + 1), "no gap and no repeat: {shown:?}");
            (shown[0], self.pass.source().sent.wrapping_sub(before))
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
            // And forth again: behind what was handed out the pass goes on where it stood.
            let (first, decoded) = steps.back(45);
            assert_eq!(first, 44);
            assert!(decoded <= 10, "{decoded} packets");
        }
    }

    #[test]
    fn the_run_ends_when_playing_goes_on_or_elsewhere() {
        let mut steps = Steps::new("kept-end", 0);
        steps.back(10);
        assert!((0..=GOES_ON).all(|_| steps.pass.next().is_some()));
        let (first, decoded) = steps.back(9);
        assert!(first == 8 && decoded >= 9, "playing went on: {decoded} packets");
        steps.pass.go_to(&steps.path, 5 * FRAME_NS, &steps.reading).unwrap();
        assert_eq!(steps.pass.next().map(|p| index_in(&p.video)), Some(5));
        let (first, decoded) = steps.back(4);
        assert!(first == 3 && decoded > 0, "it had gone elsewhere");
    }

    #[test]
    fn memory_bounds_the_run_and_what_is_beyond_is_decoded_again() {
        let mut steps = Steps::new("kept-memory", 2);
        let bytes = picture_bytes(&steps.pass.peek().unwrap().video);
        steps.pass.keep_at_most(30 * bytes);
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
    fn a_held_key_gets_on_with_the_same_way() {
        let mut steps = Steps::new("kept-held", 2);
        let newest = Arc::new(AtomicU64::new(1));
        steps.pass.set_generation(newest.clone(), 1);
        let (path, reading) = (steps.path.clone(), steps.reading.clone());
        steps.pass.go_to_key(&path, 0, &reading).unwrap();
        steps.pass.go_back(&path, 10 * FRAME_NS, &reading).unwrap();
        let sent = steps.pass.source().sent;
        // A newer step stops this one on its way.
        newest.store(2, std::sync::atomic::Ordering::Relaxed);
        steps.pass.go_back(&path, 45 * FRAME_NS, &reading).unwrap();
        assert!(steps.pass.source().sent < sent + 10, "stopped");
        let sent = steps.pass.source().sent;
        steps.pass.set_generation(newest, 2);
        assert!(steps.pass.go_back(&path, 45 * FRAME_NS, &reading).unwrap());
        assert_eq!(steps.pass.next().map(|p| index_in(&p.video)), Some(45));
        assert!(steps.pass.source().sent < sent + 45, "it did not begin anew");
    }
}
