//! The decoder's thread. In: a movie file. Out: frames in a [`FrameQueue`], pass after pass.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ffmpeg_next::frame::Video;

use super::chapters::Chapter;
use super::control::{Control, Seek};
use super::failures::behind_the_end;
use super::frame::{Fields, Timed, ignored_aspect, nanoseconds, picture_bytes, pixel_aspect, seconds};
use super::orientation::Orientation;
use super::painted::Canvas;
use super::pass::{Pass, nothing_decoded};
use super::queue::FrameQueue;
use super::reading::{Cancel, Reading, References, watched};
use super::worker::Worker;
use crate::color::matrix::{self, Matrix, Range};
use crate::color::{self, Staging};
use base::error::{Error, Result};
use base::memory::free;
use base::text;

/// So long the end of a decoder waits for its thread.
const END_WAIT: Duration = Duration::from_secs(2);

/// What [`Decoder::open`] is asked for.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where to start, in seconds from the movie's first frame.
    pub start_s: f64,
    /// Whether to begin again at the end.
    pub looping: bool,
    /// Decode this many frames to memory before [`Decoder::open`] returns, and play only those.
    pub preload: Option<u32>,
    /// Whether the movie may have other files opened.
    pub references: References,
    /// Gives the opening up, and ends the reading that follows it.
    pub cancel: Cancel,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            start_s: 0.0,
            looping: true,
            preload: None,
            references: References::default(),
            cancel: Cancel::default(),
        }
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
    /// How the first frame is to be turned before it is shown; later frames may differ.
    pub orientation: Orientation,
    /// Whether the first frame is interlaced; later frames may differ.
    pub fields: Fields,
    /// Frames a second as the file states them (an average for variable rates).
    pub fps: Option<f64>,
    /// Length in seconds as the file states it.
    pub duration_s: Option<f64>,
    /// Its chapters, in their order.
    pub chapters: Vec<Chapter>,
    /// The codec's short name, such as "h264".
    pub codec: String,
    /// FFmpeg's name of the pixel format, such as "yuv420p".
    pub pixel_format: String,
    /// The matrix that the first frame is converted with.
    pub matrix: Matrix,
    /// The range that the first frame is converted with.
    pub range: Range,
    /// What of the first frame is shown otherwise than the file means it, a clause for each.
    pub remarks: Vec<String>,
}

impl MovieInfo {
    fn of_nothing() -> Self {
        Self {
            path: PathBuf::new(),
            width: 0,
            height: 0,
            pixel_aspect: 1.0,
            orientation: Orientation::default(),
            fields: Fields::default(),
            fps: None,
            duration_s: None,
            chapters: Vec::new(),
            codec: String::new(),
            pixel_format: String::new(),
            matrix: Matrix::Rgb,
            range: Range::Full,
            remarks: Vec::new(),
        }
    }

    /// The same as what a user is told.
    pub fn remark(&self) -> Option<Error> {
        remark(&self.path, &self.remarks)
    }
}

/// A movie that is being decoded on a thread of its own. Dropping it stops the thread and waits for its end, as
/// [`Decoder::end`] does.
pub struct Decoder {
    info: MovieInfo,
    queue: Arc<FrameQueue>,
    warning: Arc<Mutex<Option<Error>>>,
    control: Arc<Control>,
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
    /// be decoded; it was cancelled, or reading takes too long. A start behind the end is no error: the movie plays from its beginning, with a warning.
    pub fn open(path: &Path, options: OpenOptions, wake: Box<dyn Fn() + Send>) -> Result<Self> {
        let reading = Reading::new(options.references, options.cancel.clone());
        let (owned, shared) = (path.to_owned(), reading.clone());
        watched(path, &reading, move || Self::open_here(&owned, &options, &shared, wake))
    }

    fn open_here(
        path: &Path,
        options: &OpenOptions,
        reading: &Reading,
        wake: Box<dyn Fn() + Send>,
    ) -> Result<Self> {
        let start_ns = nanoseconds(options.start_s);
        let (mut pass, reached) = Pass::open_at(path, start_ns, reading)?;
        let mut warning = None;
        let from_start = !reached || start_ns == 0;
        if !reached && pass.peek().is_some() {
            warning = Some(behind_the_end(
                path,
                options.start_s,
                seconds(pass.end_ns()),
                "It plays from its beginning.",
            ));
            pass = Pass::open(path, reading)?;
        }
        let Some(first) = pass.peek() else {
            return Err(nothing_decoded(path, &pass));
        };
        let info = describe(path, &pass, first);
        warning = warning.or_else(|| pass.source().alpha_warning(path));
        let preloaded = match options.preload {
            Some(count) => {
                let (pictures, damage) = preload(&mut pass, path, count);
                warning = warning.or(damage);
                Some(pictures)
            }
            None => None,
        };

        Self::start(info, warning, Control::new(options.looping, reading.clone()), wake, move |worker| {
            match preloaded {
                Some(pictures) => worker.repeat(&pictures),
                None => worker.play(pass, from_start),
            }
        })
    }

    /// Starts the thread, which lets `work` fill the queue.
    fn start(
        info: MovieInfo,
        warning: Option<Error>,
        control: Control,
        wake: Box<dyn Fn() + Send>,
        work: impl FnOnce(Worker) + Send + 'static,
    ) -> Result<Self> {
        let queue = Arc::new(FrameQueue::new(wake));
        let warning = Arc::new(Mutex::new(warning));
        let control = Arc::new(control);
        let worker = Worker::new(&info.path, queue.clone(), warning.clone(), control.clone());
        let thread = std::thread::Builder::new().name("decoder".into()).spawn(move || work(worker)).map_err(
            |error| {
                Error::new("Cannot start the decoder's thread.", format!("{error}."), "Close other programs.")
            },
        )?;
        Ok(Self { info, queue, warning, control, thread: Some(thread) })
    }

    /// Plays pictures that `paint` paints over the one before, each with its number, `fps` a second and without an end, on a
    /// thread of its own. It can be moved about in like a movie.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn painted(
        canvas: Canvas,
        fps: u32,
        wake: Box<dyn Fn() + Send>,
        paint: impl FnMut(u64, &mut Canvas) + Send + 'static,
    ) -> Result<Self> {
        let info = MovieInfo {
            width: canvas.width as u32,
            height: canvas.height as u32,
            fps: Some(fps.into()),
            codec: "painted".to_owned(),
            pixel_format: "yuv420p".to_owned(),
            matrix: Matrix::Bt709,
            range: Range::Limited,
            ..MovieInfo::of_nothing()
        };
        let control = Control::new(true, Reading::new(References::Refused, Cancel::default()));
        Self::start(info, None, control, wake, move |worker| worker.paint(canvas, fps, paint))
    }

    /// One that has no frames and gets none, for a window whose movie is not open yet.
    pub fn without_frames() -> Self {
        let reading = Reading::new(References::Refused, Cancel::default());
        reading.rest();
        Self {
            info: MovieInfo::of_nothing(),
            queue: Arc::new(FrameQueue::new(Box::new(|| ()))),
            warning: Arc::default(),
            control: Arc::new(Control::new(false, reading)),
            thread: None,
        }
    }

    /// The movie's properties.
    pub fn info(&self) -> &MovieInfo {
        &self.info
    }

    /// The frames that wait to be shown.
    pub fn queue(&self) -> &FrameQueue {
        &self.queue
    }

    /// Goes on elsewhere in the movie, without waiting for it. The queue is empty at once; the first frame that
    /// comes to it is marked as [`Frame::seeked`](super::Frame::seeked), is due at once, and carries on the play
    /// timeline: the player sets its clock to that frame's `pts_ns` when it takes it. A newer seek replaces one that
    /// is still on its way. In a movie of one picture nothing happens.
    pub fn seek(&self, to: Seek) {
        self.control.seek(to, &self.queue);
    }

    /// The number of seeks so far: frames of a smaller [`Frame::generation`](super::Frame::generation) were decoded
    /// before the newest one.
    pub fn generation(&self) -> u64 {
        self.control.newest.load(Ordering::Relaxed)
    }

    /// Whether to begin again at the end. At the end, turning it on begins again at once.
    pub fn set_looping(&self, looping: bool) {
        self.control.repeat(|wishes| wishes.looping = looping);
    }

    /// Whether the movie begins again at its end.
    pub fn is_looping(&self) -> bool {
        self.control.wishes().looping
    }

    /// Plays from the first time to just before the second, in seconds of the movie, again and again; `None` ends
    /// that. The order of the times does not matter; an empty part counts as `None`. Frames behind the second time
    /// that wait in the queue are thrown away; what lies before the first time is played once.
    pub fn set_ab(&self, ab: Option<(f64, f64)>) {
        let ab = ab.map(|(a, b)| (nanoseconds(a.min(b)), nanoseconds(a.max(b)))).filter(|(a, b)| a < b);
        self.control.repeat(|wishes| wishes.ab = ab);
        self.queue.set_limit(ab.map_or(i64::MAX, |(_, b)| b));
    }

    /// Whether no frame follows because the movie could not be read any further.
    pub fn has_failed(&self) -> bool {
        self.control.failed.load(Ordering::Relaxed)
    }

    /// Where the planes of the next frames are to be packed; those that wait in the queue stay as they are. Without it
    /// none are, and the memory of those that wait goes back to its device.
    pub fn set_staging(&self, staging: Option<Staging>) {
        let none = staging.is_none();
        self.control.set_staging(staging);
        if none {
            self.queue.forget_packed();
        }
    }

    /// Stops reading, and lets go of the frames that wait. Does not wait for the thread, as dropping does.
    pub fn close(&self) {
        self.control.stop();
        self.control.set_staging(None);
        self.queue.close();
    }

    /// Stops reading and waits for the thread, which ends soon unless the system hangs; then it is left behind. Whether it
    /// has ended.
    pub fn end(&mut self) -> bool {
        self.close();
        let until = Instant::now() + END_WAIT;
        let Some(thread) = self.thread.take() else { return true };
        while !thread.is_finished() {
            if Instant::now() > until {
                self.thread = Some(thread);
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // A panic over there has been printed already, and there is nothing left to save.
        let _ = thread.join();
        true
    }

    /// What is wrong with the movie although it plays, such as a file that is cut off. It may come up while
    /// playing, and then stays.
    pub fn warning(&self) -> Option<Error> {
        let warning = self.warning.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reading = &self.control.reading;
        warning.or_else(|| reading.hangs().then(|| reading.too_slow(&self.info.path)))
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        self.end();
    }
}

/// The first `count` pictures of `pass`, fewer where the movie ends or half of the free memory is filled.
fn preload(pass: &mut Pass, path: &Path, count: u32) -> (Vec<Timed>, Option<Error>) {
    let budget = free().map_or(usize::MAX, |bytes| usize::try_from(bytes / 2).unwrap_or(usize::MAX));
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

fn describe(path: &Path, pass: &Pass, first: &Timed) -> MovieInfo {
    let (matrix, range) = matrix::of_picture(&first.video);
    let source = pass.source();
    MovieInfo {
        path: path.to_owned(),
        width: first.video.width(),
        height: first.video.height(),
        pixel_aspect: pixel_aspect(&first.video),
        orientation: Orientation::of_picture(&first.video),
        fields: Fields::of_picture(&first.video),
        fps: source.fps(),
        duration_s: source.duration_s(),
        chapters: pass.chapters(),
        codec: source.codec_name(),
        pixel_format: matrix::format_name(&first.video),
        matrix,
        range,
        remarks: remarks(&first.video),
    }
}

/// What of a picture is shown otherwise than its file means it.
pub(super) fn remarks(picture: &Video) -> Vec<String> {
    let mut remarks = color::remarks::of_picture(picture);
    if let Some((width, height)) = ignored_aspect(picture) {
        remarks.push(format!("pixels of {width}:{height} cannot be, and are shown as squares"));
    }
    remarks
}

/// What is told of a movie with such remarks; `None` where there are none.
pub(super) fn remark(path: &Path, remarks: &[String]) -> Option<Error> {
    let sentence = |clause: &String| {
        let mut letters = clause.chars();
        letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    };
    let sentences: Vec<String> = remarks.iter().filter_map(sentence).collect();
    let what = format!("'{}' is not shown as it is meant.", text::name(path));
    (!sentences.is_empty()).then(|| Error::new(what, sentences.join(" "), ""))
}
