//! Reading the sound of the bundled clip, which ticks at each second.

use std::path::Path;

use video::{Decoder, OpenOptions, Seek, SoundFeed, SoundSegment};

use crate::{MS, looping, open, wait_for};

const RATE: u32 = 44_100;

fn open_clip(options: OpenOptions) -> Decoder {
    open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/clip.mp4"), options)
}

/// Waits for a segment with this beginning in the movie, in milliseconds.
fn segment(feed: &SoundFeed, movie_ms: i64) -> SoundSegment {
    wait_for(|| feed.newest_segment().filter(|s| (s.start_ns - s.base_ns) / MS == movie_ms))
}

/// Reads from `movie_ns` to the end; returns the position in milliseconds at which each tick begins, and of the end.
fn ticks(feed: &SoundFeed, segment: &SoundSegment, movie_ns: i64) -> (Vec<i64>, i64) {
    let mut reader = feed.open(0, RATE).unwrap();
    assert!(reader.seek(segment, movie_ns));
    let (mut ticks, mut last_ms, mut end_ms) = (Vec::new(), -1000, 0);
    while let Some(samples) = reader.read() {
        for (index, sample) in samples.data.iter().enumerate() {
            let at_ms = samples.movie_ns / 1_000_000 + index as i64 * 1000 / i64::from(RATE);
            if sample[0].abs() > 0.2 {
                if at_ms - last_ms > 200 {
                    ticks.push(at_ms);
                }
                last_ms = at_ms;
            }
            end_ms = at_ms;
        }
    }
    assert_eq!(reader.take_warning(), None);
    (ticks, end_ms)
}

#[test]
fn samples_have_the_positions_of_the_pictures() {
    let decoder = open_clip(looping());
    let feed = decoder.sound();
    let tracks = feed.tracks();
    assert_eq!((tracks.len(), tracks[0].codec.as_str(), tracks[0].rate), (1, "aac", 48_000));
    let segment = segment(feed, 0);
    let (from_beginning, end_ms) = ticks(feed, &segment, 0);
    assert_eq!(from_beginning.len(), 10, "{from_beginning:?}");
    let is_near = |ticks: &[i64], first: i64| {
        ticks.iter().zip(first..).all(|(at_ms, second)| (at_ms - second * 1000).abs() <= 5)
    };
    assert!(is_near(&from_beginning, 0), "{from_beginning:?}");
    assert!((end_ms - 10_000).abs() < 50, "{end_ms}");
    let (later, _) = ticks(feed, &segment, 6_300_000_000);
    assert!(later.len() == 3 && is_near(&later, 7), "{later:?}");
}

#[test]
fn segments_follow_start_seek_and_loop() {
    let decoder = open_clip(OpenOptions { start_s: 2.0, ..looping() });
    let first = segment(decoder.sound(), 2000);
    assert_eq!(first.base_ns, 0);
    decoder.seek(Seek::Exact(9.0));
    let sought = segment(decoder.sound(), 9000);
    assert!(sought.start_ns >= first.start_ns);
    // The queue takes frames until the movie has ended and begun again.
    let again = wait_for(|| {
        decoder.queue().take_next();
        decoder.sound().newest_segment().filter(|s| s.start_ns == s.base_ns)
    });
    assert_eq!((again.start_ns - sought.start_ns) / 1_000_000, 1000, "it begins where the last picture ends");
}

#[test]
fn frames_in_memory_have_no_sound() {
    let decoder = open_clip(OpenOptions { preload: Some(3), ..looping() });
    assert!(decoder.sound().tracks().is_empty());
}
