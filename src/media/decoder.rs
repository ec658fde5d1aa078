//! The decoder's thread. In: a movie file. Out: frames in a [`FrameQueue`], pass after pass.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::SECOND_NS;
use super::color::{self, Matrix, Range};
use super::frame::{Frame, picture_bytes, seconds, share};
use super::orientation::Orientation;
use super::pass::{Pass, Placed};
use super::queue::FrameQueue;
use super::source::Skip;
use crate::error::{Error, Result};

/// Behind the clock by more than this, with hardly a frame in the queue: frames that no other needs are skipped.
const BEHIND_NS: i64 = SECOND_NS / 2;
/// Behind the clock by more than this: the decoder goes on at a key frame near the clock.
const FAR_BEHIND_NS: i64 = 3 * SECOND_NS;
/// Behind the clock by less than this: every frame is decoded again.
const CAUGHT_UP_NS: i64 = SECOND_NS / 10;

/// What [`Decoder::open`] is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// Where to start, in seconds from the movie's first frame.
    pub start_s: f64,
    /// Whether to begin again at the end.
    pub looping: bool,
    /// Decode this many frames to memory before [`Decoder::open`] returns, and play only those.
    pub preload: Option<u32>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { start_s: 0.0, looping: true, preload: None }
    }
}

/// What is known about a movie once its first frame has been decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct MovieInfo {
    /// The file.
    pub path: PathBuf,
    /// Width of the first frame in pixels; later frames may differ.
    pub width: u32,
    /// Height of the first frame in pixels.
    pub height: u32,
    /// Width of a pixel divided by its height.
    pub pixel_aspect: f64,
    /// How its pictures are to be turned before they are shown.
    pub orientation: Orientation,
    /// Frames a second as the file states them (an average for variable rates).
    pub fps: Option<f64>,
    /// Length in seconds as the file states it.
    pub duration_s: Option<f64>,
    /// The codec's short name, such as "h264".
    pub codec: String,
    /// FFmpeg's name of the pixel format, such as "yuv420p".
    pub pixel_format: String,
    /// The matrix that the first frame is converted with.
    pub matrix: Matrix,
    /// The range that the first frame is converted with.
    pub range: Range,
}

/// A movie that is being decoded on a thread of its own. Dropping it stops the thread and waits for its end.
pub struct Decoder {
    info: MovieInfo,
    queue: Arc<FrameQueue>,
    warning: Arc<Mutex<Option<Error>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Decoder {
    /// Opens `path`, decodes its first frame (or the frames to preload), and starts the thread.
    ///
    /// `wake` is called on the decoder's thread when a frame comes to an empty queue and when the last frame has
    /// been queued. It must return soon and must not drop the decoder.
    ///
    /// # Errors
    /// No such file, a folder, a pipe or device, not a movie, only sound, no decoder for it, or nothing in it could
    /// be decoded. A start behind the end is no error: the movie plays from its beginning, with a warning.
    pub fn open(path: &Path, options: OpenOptions, wake: Box<dyn Fn() + Send>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let start_ns = nanoseconds(options.start_s);
        let (mut pass, reached) = Pass::open_at(path, start_ns, &stop)?;
        let mut warning = None;
        let from_start = !reached || start_ns == 0;
        if !reached && pass.peek().is_some() {
            warning = Some(behind_the_end(
                path,
                options.start_s,
                seconds(pass.end_ns()),
                "It plays from its beginning.",
            ));
            pass = Pass::open(path, &stop)?;
        }
        let Some(first) = pass.peek() else {
            return Err(nothing_decoded(path, &pass));
        };
        let info = describe(path, &pass, first);
        let preloaded = match options.preload {
            Some(count) => {
                let (pictures, damage) = preload(&mut pass, path, count);
                warning = warning.or(damage);
                Some(pictures)
            }
            None => None,
        };

        let queue = Arc::new(FrameQueue::new(wake));
        let warning = Arc::new(Mutex::new(warning));
        let worker = Worker {
            path: path.to_owned(),
            looping: options.looping,
            queue: queue.clone(),
            warning: warning.clone(),
            stop: stop.clone(),
            base_ns: 0,
            number: 0,
        };
        let thread = std::thread::Builder::new()
            .name("decoder".into())
            .spawn(move || {
                match preloaded {
                    Some(pictures) => worker.repeat(&pictures),
                    None => worker.play(pass, from_start),
                };
            })
            .map_err(|error| {
                Error::new("Cannot start the decoder's thread.", format!("{error}."), "Close other programs.")
            })?;
        Ok(Self { info, queue, warning, stop, thread: Some(thread) })
    }

    /// The movie's properties.
    pub fn info(&self) -> &MovieInfo {
        &self.info
    }

    /// The frames that wait to be shown.
    pub fn queue(&self) -> &FrameQueue {
        &self.queue
    }

    /// What is wrong with the movie although it plays, such as a file that is cut off. It may come up while
    /// playing, and then stays.
    pub fn warning(&self) -> Option<Error> {
        self.warning.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            // A panic over there has been printed already, and there is nothing left to save.
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Worker {
    path: PathBuf,
    looping: bool,
    queue: Arc<FrameQueue>,
    warning: Arc<Mutex<Option<Error>>>,
    stop: Arc<AtomicBool>,
    /// Where the present pass begins on the play timeline.
    base_ns: i64,
    number: u64,
}

impl Worker {
    /// Plays pass after pass. `whole` says whether the first one begins at the movie's beginning.
    fn play(mut self, mut pass: Pass, mut whole: bool) {
        loop {
            let mut count = 0;
            while let Some(placed) = pass.next() {
                count += 1;
                self.keep_up(&mut pass, self.base_ns.saturating_add(placed.movie_ns));
                if !self.push(placed.video, placed.movie_ns, placed.movie_ns, placed.duration_ns) {
                    return;
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            if let Some(warning) = pass.warning(&self.path) {
                self.warn(warning);
            }
            // A still picture is held instead of being shown again and again.
            if !self.looping || (whole && count < 2) {
                break;
            }
            self.base_ns = self.next_base(pass.end_ns());
            // Opening again is right for every file, also for those that cannot seek.
            match Pass::open(&self.path, &self.stop) {
                Ok(next) if next.peek().is_some() => pass = next,
                Ok(empty) => {
                    self.warn(nothing_decoded(&self.path, &empty));
                    break;
                }
                Err(error) => {
                    self.warn(error);
                    break;
                }
            }
            whole = true;
        }
        self.queue.set_catching_up(false);
        self.queue.finish();
    }

    /// Plays the same pictures again and again.
    fn repeat(mut self, pictures: &[Placed]) {
        let origin_ns = pictures.first().map_or(0, |first| first.movie_ns);
        let length_ns = pictures.last().map_or(0, |last| last.movie_ns - origin_ns + last.duration_ns);
        self.base_ns = origin_ns;
        loop {
            for picture in pictures {
                let Some(video) = share(&picture.video) else {
                    continue;
                };
                let offset_ns = picture.movie_ns - origin_ns;
                if !self.push(video, offset_ns, picture.movie_ns, picture.duration_ns) {
                    return;
                }
            }
            if !self.looping || pictures.len() < 2 {
                break;
            }
            self.base_ns = self.next_base(length_ns);
        }
        self.queue.finish();
    }

    /// Where the next pass begins when this one is `length_ns` long; at the clock when that is far ahead, because
    /// nobody wants to see what was missed.
    fn next_base(&self, length_ns: i64) -> i64 {
        let end = self.base_ns.saturating_add(length_ns);
        let behind = self.queue.behind_ns(end);
        if behind > FAR_BEHIND_NS { end.saturating_add(behind) } else { end }
    }

    /// Queues a picture that is due `offset_ns` after the pass began; `false` when the decoder is being dropped.
    fn push(
        &mut self,
        picture: ffmpeg_next::frame::Video,
        offset_ns: i64,
        movie_ns: i64,
        duration_ns: i64,
    ) -> bool {
        let pts_ns = self.base_ns.saturating_add(offset_ns);
        let frame = Frame {
            picture,
            pts_ns,
            movie_s: seconds(movie_ns),
            duration_ns: duration_ns.max(1),
            number: self.number,
        };
        self.number += 1;
        self.queue.push(frame)
    }

    /// Skips frames when the one for `pts_ns` comes too late, and stops skipping once it does not.
    fn keep_up(&self, pass: &mut Pass, pts_ns: i64) {
        let behind = self.queue.behind_ns(pts_ns);
        // At most the frame that was pushed last: the player takes them as fast as they come.
        let starved = self.queue.len() <= 1;
        match pass.source().skip() {
            Skip::Nothing | Skip::Unreferenced if starved && behind > FAR_BEHIND_NS => {
                pass.skip_to_key_at(pts_ns.saturating_add(behind).saturating_sub(self.base_ns));
            }
            Skip::Nothing if starved && behind > BEHIND_NS => pass.set_skip(Skip::Unreferenced),
            Skip::Unreferenced if behind < CAUGHT_UP_NS => pass.set_skip(Skip::Nothing),
            _ => {}
        }
        self.queue.set_catching_up(pass.source().skip() != Skip::Nothing);
    }

    fn warn(&self, warning: Error) {
        self.warning.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(warning);
    }
}

/// The first `count` pictures of `pass`, fewer where the movie ends or half of the free memory is filled.
fn preload(pass: &mut Pass, path: &Path, count: u32) -> (Vec<Placed>, Option<Error>) {
    let budget = free_memory().map_or(usize::MAX, |bytes| bytes / 2);
    let mut pictures = Vec::new();
    let mut bytes = 0_usize;
    while pictures.len() < count as usize {
        let Some(picture) = pass.next() else {
            return (pictures, pass.warning(path));
        };
        bytes = bytes.saturating_add(picture_bytes(&picture.video));
        pictures.push(picture);
        if bytes > budget {
            let loaded = pictures.len();
            let warning = Error::new(
                format!("Only {loaded} of {count} frames were loaded to memory."),
                "They fill half of the memory that was free.",
                "Ask for fewer frames with --preload.",
            );
            return (pictures, Some(warning));
        }
    }
    (pictures, None)
}

/// Memory that is free now, in bytes, where the system tells.
fn free_memory() -> Option<usize> {
    // SAFETY: sysconf takes a number and returns one.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_AVPHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages).ok()?.checked_mul(usize::try_from(size).ok()?)
}

fn describe(path: &Path, pass: &Pass, first: &Placed) -> MovieInfo {
    let (matrix, range) = color::of_picture(&first.video);
    let source = pass.source();
    let aspect = first.video.aspect_ratio();
    let square = aspect.numerator() <= 0 || aspect.denominator() <= 0;
    MovieInfo {
        path: path.to_owned(),
        width: first.video.width(),
        height: first.video.height(),
        pixel_aspect: if square { 1.0 } else { f64::from(aspect) },
        orientation: source.orientation(),
        fps: source.fps(),
        duration_s: source.duration_s(),
        codec: source.codec_name(),
        pixel_format: color::format_name(&first.video),
        matrix,
        range,
    }
}

/// Nanoseconds of a time in seconds; not a number and negative times count as 0.
pub(super) fn nanoseconds(seconds: f64) -> i64 {
    // The cast saturates, and turns what is not a number into 0.
    (seconds.max(0.0) * SECOND_NS as f64).round() as i64
}

/// The warning about a time behind the movie's end; `instead` says what is shown.
pub(super) fn behind_the_end(path: &Path, at_s: f64, end_s: f64, instead: &str) -> Error {
    Error::new(
        format!("'{}' has no picture at {at_s:.3} s.", path.display()),
        format!("It ends at {end_s:.3} s."),
        instead,
    )
}

/// The error for a movie without a single picture.
pub(super) fn nothing_decoded(path: &Path, pass: &Pass) -> Error {
    let damage = &pass.source().damage;
    let why = match &damage.read_error {
        Some(error) => format!("Reading stopped before the first picture: {error}."),
        None if damage.bad_packets > 0 => {
            format!("None of its pictures could be decoded ({} errors).", damage.bad_packets)
        }
        None => "It ends before its first picture.".into(),
    };
    Error::new(
        format!("Cannot decode '{}'.", path.display()),
        why,
        "The file is damaged; try a new copy of it or another file.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_nanoseconds() {
        assert_eq!(nanoseconds(1.5), 1_500_000_000);
        assert_eq!(nanoseconds(-1.0), 0);
        assert_eq!(nanoseconds(f64::NAN), 0);
        assert_eq!(nanoseconds(1e300), i64::MAX);
    }
}
