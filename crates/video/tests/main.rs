//! Decoding of movies that are encoded by the tests.

mod colors;
mod durations;
mod earlier;
mod media;
mod properties;
mod seek;
mod sound;
mod tracks;

use std::path::Path;
use std::time::{Duration, Instant};

use base::error::Error;
use testkit::movie::index_in;
use video::{Decoder, Frame, OpenOptions, Seek};

const MS: i64 = 1_000_000;

fn try_open(path: &Path, options: OpenOptions) -> Result<Decoder, Error> {
    Decoder::open(path, options, Box::new(|| ()))
}

fn open(path: &Path, options: OpenOptions) -> Decoder {
    try_open(path, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn looping() -> OpenOptions {
    OpenOptions::default()
}

fn once() -> OpenOptions {
    OpenOptions { looping: false, ..looping() }
}

/// Calls `poll` until it returns a value. The timeout only turns a hang into a failure.
fn wait_for<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(Instant::now() < limit, "the decoder hangs");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the next frame; `None` at the end of the movie.
fn next(decoder: &Decoder) -> Option<Frame> {
    let queue = decoder.queue();
    wait_for(|| queue.take_next().map(Some).or_else(|| queue.is_finished().then_some(None)))
}

/// Returns the next `count` frames, fewer at the end of the movie.
fn take(decoder: &Decoder, count: usize) -> Vec<Frame> {
    std::iter::from_fn(|| next(decoder)).take(count).collect()
}

fn indices(frames: &[Frame]) -> Vec<usize> {
    frames.iter().map(|frame| index_in(&frame.picture)).collect()
}

/// Returns the first frame after a seek, as a paused player gets it.
fn seek(decoder: &Decoder, to: Seek) -> Frame {
    decoder.seek(to);
    let frame = wait_for(|| decoder.queue().take_next());
    assert!(frame.seeked && frame.generation == decoder.generation(), "{frame:?}");
    frame
}
