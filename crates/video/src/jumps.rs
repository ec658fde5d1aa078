//! Streams whose time stamps jump, as those of a recording that was put together from pieces. In: the packets of a stream
//! in the order of the file. Out: where its key frames are, in the movie's time by the rule of `timeline` and in the file.
//!
//! A seek by stamps would find a frame of another piece, or none.

use super::timeline::{JUMP_BACK_NS, JUMP_FORWARD_NS};

/// Streams of at most so many bytes are read through before the first seek, which takes a fraction of a second. In larger
/// ones a seek goes by the stamps.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// A key frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Its position in the movie, in nanoseconds.
    pub movie_ns: i64,
    /// The stamp that counts as position 0 from here on.
    pub origin_ns: i64,
    /// Where it lies in the file, in bytes.
    pub byte: i64,
}

/// The key frames of a stream whose stamps jump, in the order of the file.
#[derive(Debug)]
pub(super) struct Jumps {
    marks: Vec<Mark>,
    /// End of the last frame, in nanoseconds of the movie.
    pub end_ns: i64,
}

impl Jumps {
    /// The last key frame at or before `at_ns`, or the first one.
    pub(crate) fn before(&self, at_ns: i64) -> Option<Mark> {
        let behind = self.marks.partition_point(|mark| mark.movie_ns <= at_ns);
        self.marks.get(behind.saturating_sub(1)).copied()
    }
}

/// Follows the stamps of the packets, as `timeline` will those of the pictures.
#[derive(Debug)]
pub(super) struct Scan {
    marks: Vec<Mark>,
    origin_ns: i64,
    /// The latest position and end of a frame so far.
    last_ns: Option<i64>,
    end_ns: i64,
    jumped: bool,
}

impl Scan {
    /// `origin_ns` is the stamp that counts as position 0 at the beginning.
    pub(crate) fn new(origin_ns: i64) -> Self {
        Self { marks: Vec::new(), origin_ns, last_ns: None, end_ns: 0, jumped: false }
    }

    /// Takes the next packet: its stamp and duration in nanoseconds, and its position in the file if it is a key frame's.
    pub(crate) fn packet(&mut self, stamp_ns: i64, duration_ns: i64, key_byte: Option<i64>) {
        let mut movie_ns = stamp_ns.saturating_sub(self.origin_ns);
        if let Some(last_ns) = self.last_ns {
            let gap = movie_ns.saturating_sub(last_ns);
            if !(-JUMP_BACK_NS..=JUMP_FORWARD_NS).contains(&gap) {
                self.jumped = true;
                self.origin_ns = stamp_ns.saturating_sub(self.end_ns);
                movie_ns = self.end_ns;
            }
        }
        if let Some(byte) = key_byte {
            self.marks.push(Mark { movie_ns, origin_ns: self.origin_ns, byte });
        }
        self.last_ns = self.last_ns.max(Some(movie_ns));
        self.end_ns = self.end_ns.max(movie_ns.saturating_add(duration_ns.max(1)));
    }

    /// The key frames; `None` where no stamp has jumped, so that seeks can go by them.
    pub(crate) fn finish(self) -> Option<Jumps> {
        self.jumped.then_some(Jumps { marks: self.marks, end_ns: self.end_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn scan(stamps_ms: &[i64]) -> Option<Jumps> {
        let mut scan = Scan::new(stamps_ms[0] * MS);
        stamps_ms.iter().zip(0..).for_each(|(ms, byte)| scan.packet(ms * MS, 40 * MS, Some(byte)));
        scan.finish()
    }

    #[test]
    fn stamps_that_do_not_jump_need_no_marks() {
        // The order of B-frames and a gap of seconds are no jumps.
        assert!(scan(&[1400, 1520, 1440, 1480, 1640, 1560, 1600, 9000]).is_none());
    }

    #[test]
    fn every_piece_begins_where_the_one_before_ends() {
        for second in [1400, 1_001_400, 20] {
            let jumps = scan(&[5000, 5040, 5080, second, second + 40]).unwrap();
            let at = |ms| jumps.before(ms * MS).map(|mark| (mark.movie_ns / MS, mark.byte));
            assert_eq!(at(0), Some((0, 0)));
            assert_eq!(at(119), Some((80, 2)));
            assert_eq!(at(120), Some((120, 3)));
            assert_eq!(at(9999), Some((160, 4)));
            assert_eq!(jumps.end_ns, 200 * MS);
            assert_eq!(jumps.before(120 * MS).unwrap().origin_ns, (second - 120) * MS);
        }
    }
}
