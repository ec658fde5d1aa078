//! The sound of a movie: its tracks, the segments by which it follows seeks and loops, and readers of its samples.
//!
//! Sound has a reader of its own for the movie's file, on a thread of its own, so that sound and pictures never wait for each
//! other. The decoder's thread publishes where its pictures continue as [`SoundSegment`]s.

mod reader;
mod ticks;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::Thread;

use super::read_control::{Cancel, References};
use base::error::{Error, Result};
use parking_lot::Mutex;
use reader::FileReader;
use ticks::Ticks;
pub use ticks::{TICK_INTERVAL_S, TICK_S};

/// The maximum number of segments that are kept. It exceeds the number of frames in the frame queue, which a repeated movie of
/// one frame fills with as many segments.
const MAX_SEGMENTS: usize = 32;

/// A track of sound in a movie.
#[derive(Debug, Clone, PartialEq)]
pub struct SoundTrack {
    /// The short name of the codec, such as "aac".
    pub codec: String,
    /// Samples per second.
    pub rate: u32,
    /// The language or title that the file states; empty if it states none.
    pub name: String,
    /// The index of the stream in the file.
    pub(crate) stream: usize,
}

/// A part of the play timeline in which the movie's position increases steadily. Until the next segment begins, the movie's
/// position is the position on the play timeline minus `base_ns`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoundSegment {
    /// The segment's number; later ones have larger numbers.
    number: u64,
    /// The beginning of the segment on the play timeline, in nanoseconds.
    pub start_ns: i64,
    /// The position on the play timeline of the movie's beginning, in nanoseconds.
    pub base_ns: i64,
    /// The time stamp that counts as the movie's beginning, in nanoseconds.
    pub(crate) origin_ns: i64,
    /// The byte offset in the file from which `origin_ns` applies; `None` if it applies to the whole file.
    pub(crate) byte: Option<i64>,
}

/// Consecutive samples of both channels.
#[derive(Debug, Default)]
pub struct Samples {
    /// The position of the first sample in the movie, in nanoseconds; negative before its beginning.
    pub movie_ns: i64,
    /// Pairs of a left and a right sample.
    pub data: Vec<[f32; 2]>,
}

/// The source of the samples of a [`SoundFeed`].
pub(crate) enum Origin {
    /// A movie's file.
    File(PathBuf, References),
    /// Generated tones, one each second, for pictures that code paints.
    Ticks,
    /// No sound.
    Silence,
}

/// The segments that the decoder's thread has published, and the thread to wake for new ones.
#[derive(Default)]
struct Published {
    segments: VecDeque<SoundSegment>,
    count: u64,
    listener: Option<Thread>,
}

/// A handle to the sound of one movie, which several threads may use.
#[derive(Clone)]
pub struct SoundFeed(Arc<Feed>);

/// The state that all clones of a [`SoundFeed`] share.
struct Feed {
    origin: Origin,
    tracks: Vec<SoundTrack>,
    /// The index of the track that plays at first.
    preferred: usize,
    cancel: Cancel,
    published: Mutex<Published>,
}

impl SoundFeed {
    /// Creates a feed with these tracks; `preferred` is the stream index of the track that plays at first.
    /// Reading ends soon after `cancel` is cancelled.
    pub(crate) fn new(
        origin: Origin,
        (tracks, preferred): (Vec<SoundTrack>, Option<usize>),
        cancel: Cancel,
    ) -> Self {
        let preferred = tracks.iter().position(|track| Some(track.stream) == preferred).unwrap_or(0);
        Self(Arc::new(Feed { origin, tracks, preferred, cancel, published: Mutex::default() }))
    }

    /// Creates the feed of painted pictures: a tick each second.
    pub(crate) fn of_ticks() -> Self {
        let track = SoundTrack { codec: "ticks".to_owned(), rate: 48_000, name: String::new(), stream: 0 };
        Self::new(Origin::Ticks, (vec![track], None), Cancel::default())
    }

    pub(crate) fn silence() -> Self {
        Self::new(Origin::Silence, (Vec::new(), None), Cancel::default())
    }

    /// Returns true if both are handles to the sound of the same opened movie.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the tracks in the order of the file.
    pub fn tracks(&self) -> &[SoundTrack] {
        &self.0.tracks
    }

    /// Returns the index of the track that plays unless the user selects another one.
    pub fn preferred_track(&self) -> usize {
        self.0.preferred
    }

    /// Opens the track with this index. The reader returns `rate` samples per second.
    ///
    /// # Errors
    /// There is no such track, the file cannot be opened, or no decoder of the track is available.
    pub fn open(&self, track: usize, rate: u32) -> Result<SoundReader> {
        let reader = match (&self.0.origin, self.0.tracks.get(track)) {
            (Origin::File(path, references), Some(track)) => {
                let file = FileReader::open(path, track.stream, rate, *references, &self.0.cancel)?;
                Reader::File(Box::new(file))
            }
            (Origin::Ticks, Some(_)) => Reader::Ticks(Ticks::new(rate)),
            _ => return Err(Error::new("The sound cannot be played.", "The movie has no such track.", "")),
        };
        Ok(SoundReader(reader))
    }

    /// Sets the thread that is unparked whenever a segment is published.
    pub fn set_listener(&self, thread: Thread) {
        self.0.published.lock().listener = Some(thread);
    }

    /// Returns the segment at this position of the play timeline, or the first segment if the position is before it; `None` if
    /// no segment was published.
    pub fn segment_at(&self, play_ns: i64) -> Option<SoundSegment> {
        let published = self.0.published.lock();
        let at = published.segments.iter().rev().find(|segment| segment.start_ns <= play_ns);
        at.or(published.segments.front()).copied()
    }

    /// Returns the segment that follows this one; `None` if it is the last one so far.
    pub fn segment_after(&self, segment: &SoundSegment) -> Option<SoundSegment> {
        self.0.published.lock().segments.iter().find(|other| other.number > segment.number).copied()
    }

    /// Returns the segment that was published last; `None` if none was published.
    pub fn newest_segment(&self) -> Option<SoundSegment> {
        self.0.published.lock().segments.back().copied()
    }

    /// Publishes a segment in which the movie continues at `movie_ns`, with its beginning at `base_ns` on the play timeline.
    /// For `origin_ns` and `byte` see [`SoundSegment`].
    pub(crate) fn publish(&self, base_ns: i64, movie_ns: i64, origin_ns: i64, byte: Option<i64>) {
        let mut published = self.0.published.lock();
        let (number, start_ns) = (published.count, base_ns.saturating_add(movie_ns));
        published.count += 1;
        // Segments after the new one's beginning are not played any more.
        published.segments.retain(|segment| segment.start_ns < start_ns);
        published.segments.push_back(SoundSegment { number, start_ns, base_ns, origin_ns, byte });
        if published.segments.len() > MAX_SEGMENTS {
            published.segments.pop_front();
        }
        let listener = published.listener.clone();
        drop(published);
        if let Some(listener) = listener {
            listener.unpark();
        }
    }
}

/// Reads a track's samples.
pub struct SoundReader(Reader);

enum Reader {
    File(Box<FileReader>),
    Ticks(Ticks),
}

impl SoundReader {
    /// Moves to the position `movie_ns` of the movie in this segment, or to a little before it. Returns false if the file
    /// cannot be read there.
    pub fn seek(&mut self, segment: &SoundSegment, movie_ns: i64) -> bool {
        match &mut self.0 {
            Reader::File(file) => file.seek(segment, movie_ns),
            Reader::Ticks(ticks) => ticks.seek(movie_ns),
        }
    }

    /// Returns the next samples; `None` at the end.
    pub fn read(&mut self) -> Option<Samples> {
        match &mut self.0 {
            Reader::File(file) => file.read(),
            Reader::Ticks(ticks) => Some(ticks.read()),
        }
    }

    /// Returns a warning about damage found since the last call; `None` if there was none.
    pub fn take_warning(&mut self) -> Option<Error> {
        match &mut self.0 {
            Reader::File(file) => file.take_warning(),
            Reader::Ticks(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_found_by_their_position() {
        let feed = SoundFeed::silence();
        assert_eq!(feed.segment_at(0), None);
        feed.publish(0, 100, 0, None);
        feed.publish(1000, 0, 0, None);
        let base = |at| feed.segment_at(at).map(|segment| segment.base_ns);
        assert_eq!((base(0), base(999), base(1000), base(5000)), (Some(0), Some(0), Some(1000), Some(1000)));
        // A seek before the second one is reached.
        feed.publish(-500, 1200, 0, None);
        assert_eq!((base(699), base(700), base(5000)), (Some(0), Some(-500), Some(-500)));
        for number in 0..100 {
            feed.publish(10_000 + number, 0, 0, None);
        }
        assert_eq!(base(0), Some(10_068), "the first one that is kept");
    }
}
