//! An index of key frames for streams whose time stamps jump, such as recordings that were joined from pieces.
//!
//! A seek by time stamp would find a frame of another piece, or none. The index maps positions in the movie, by the rules of
//! `timeline`, to byte offsets in the file.

use super::timeline::{MAX_JUMP_BACK_NS, MAX_JUMP_FORWARD_NS};

/// The size in bytes up to which files are scanned for key frames before the first seek; the scan takes a fraction of a second.
/// In larger files, seeks rely on time stamps.
pub(super) const MAX_SCAN_BYTES: u64 = 256 << 20;

/// A key frame in the index.
#[derive(Clone, Copy)]
pub(super) struct KeyFrame {
    /// The key frame's position in the movie, in nanoseconds.
    pub movie_ns: i64,
    /// The time stamp in nanoseconds that corresponds to position 0 of the movie, for frames from this key frame on.
    pub origin_ns: i64,
    /// The key frame's offset in the file, in bytes.
    pub byte: i64,
}

/// The key frames of a stream whose time stamps jump, in the order of the file.
pub(super) struct KeyFrameIndex {
    key_frames: Vec<KeyFrame>,
    /// End of the last frame, in nanoseconds of the movie.
    pub end_ns: i64,
}

impl KeyFrameIndex {
    /// Returns the last key frame at or before the position `at_ns`, or the first one if all are later; `None` if the index is
    /// empty.
    pub(crate) fn last_at_or_before(&self, at_ns: i64) -> Option<KeyFrame> {
        let count = self.key_frames.partition_point(|key_frame| key_frame.movie_ns <= at_ns);
        self.key_frames.get(count.saturating_sub(1)).copied()
    }
}

/// Builds a [`KeyFrameIndex`] from the time stamps of packets, by the rules by which `timeline` converts those of pictures.
pub(super) struct KeyFrameScan {
    key_frames: Vec<KeyFrame>,
    origin_ns: i64,
    /// The latest position of a frame so far, in nanoseconds of the movie.
    last_ns: Option<i64>,
    /// The latest end of a frame so far, in nanoseconds of the movie.
    end_ns: i64,
    has_jump: bool,
}

impl KeyFrameScan {
    /// Starts a scan; `origin_ns` is the time stamp that counts as position 0 at the beginning of the file.
    pub(crate) fn new(origin_ns: i64) -> Self {
        Self { key_frames: Vec::new(), origin_ns, last_ns: None, end_ns: 0, has_jump: false }
    }

    /// Adds the next packet: its time stamp and duration in nanoseconds, and its byte offset if it is a key frame.
    pub(crate) fn add_packet(&mut self, stamp_ns: i64, duration_ns: i64, key_byte: Option<i64>) {
        let mut movie_ns = stamp_ns.saturating_sub(self.origin_ns);
        if let Some(last_ns) = self.last_ns {
            let gap = movie_ns.saturating_sub(last_ns);
            if !(-MAX_JUMP_BACK_NS..=MAX_JUMP_FORWARD_NS).contains(&gap) {
                self.has_jump = true;
                self.origin_ns = stamp_ns.saturating_sub(self.end_ns);
                movie_ns = self.end_ns;
            }
        }
        if let Some(byte) = key_byte {
            self.key_frames.push(KeyFrame { movie_ns, origin_ns: self.origin_ns, byte });
        }
        self.last_ns = self.last_ns.max(Some(movie_ns));
        self.end_ns = self.end_ns.max(movie_ns.saturating_add(duration_ns.max(1)));
    }

    /// Returns the index; `None` if no time stamp jumped, so that seeks can use the time stamps.
    pub(crate) fn finish(self) -> Option<KeyFrameIndex> {
        self.has_jump.then_some(KeyFrameIndex { key_frames: self.key_frames, end_ns: self.end_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn scan(stamps_ms: &[i64]) -> Option<KeyFrameIndex> {
        let mut scan = KeyFrameScan::new(stamps_ms[0] * MS);
        stamps_ms.iter().zip(0..).for_each(|(ms, byte)| scan.add_packet(ms * MS, 40 * MS, Some(byte)));
        scan.finish()
    }

    #[test]
    fn pieces_follow_each_other_where_time_stamps_jump() {
        // The order of B-frames and a gap of seconds are no jumps.
        assert!(scan(&[1400, 1520, 1440, 1480, 1640, 1560, 1600, 9000]).is_none());
        for second in [1400, 1_001_400, 20] {
            let jumps = scan(&[5000, 5040, 5080, second, second + 40]).unwrap();
            let at = |ms| {
                jumps.last_at_or_before(ms * MS).map(|key_frame| (key_frame.movie_ns / MS, key_frame.byte))
            };
            assert_eq!(at(0), Some((0, 0)));
            assert_eq!(at(119), Some((80, 2)));
            assert_eq!(at(120), Some((120, 3)));
            assert_eq!(at(9999), Some((160, 4)));
            assert_eq!(jumps.end_ns, 200 * MS);
            assert_eq!(jumps.last_at_or_before(120 * MS).unwrap().origin_ns, (second - 120) * MS);
        }
    }
}
