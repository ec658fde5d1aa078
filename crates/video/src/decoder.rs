//! The public decoder: opens a movie, and controls the thread that decodes it into a [`FrameQueue`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use ffmpeg_next::frame::Video;

use super::canvas::Canvas;
use super::container::Chapter;
use super::control::{Control, Seek};
use super::dolby_vision;
use super::errors::past_the_end;
use super::frame::{
    FieldOrder, TimedPicture, ignored_aspect, nanoseconds, picture_bytes, pixel_aspect, seconds,
};
use super::orientation::Orientation;
use super::pass::Pass;
use super::queue::FrameQueue;
use super::read_control::{Cancel, OpenPolicy, ReadControl, References, run_with_timeout};
use super::sound::{Origin, SoundFeed};
use super::source::Source;
use super::worker::Worker;
use crate::color::matrix::{self, Matrix, Range};
use crate::color::{self, Staging};
use base::error::{Error, Result};
use base::memory::free;
use base::text;
use base::threads::join_within;

/// The longest time that [`Decoder::end`] waits for the thread.
const END_WAIT: Duration = Duration::from_secs(2);

/// Options of [`Decoder::open`].
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Start position, in seconds from the movie's beginning.
    pub start_s: f64,
    /// True if the movie plays again when it has ended.
    pub looping: bool,
    /// Number of frames to decode to memory before [`Decoder::open`] returns; only these frames are played. `None` decodes
    /// frames while playing.
    pub preload: Option<u32>,
    /// The policy for other files that the movie refers to, and the preferred languages of its sound.
    pub policy: OpenPolicy,
    /// The handle by which another thread can cancel opening, and the reading that follows.
    pub cancel: Cancel,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            start_s: 0.0,
            looping: true,
            preload: None,
            policy: OpenPolicy::default(),
            cancel: Cancel::default(),
        }
    }
}

/// Properties of a movie, known once its first frame has been decoded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MovieInfo {
    /// The path of the movie's file.
    pub path: PathBuf,
    /// Width of the first frame in pixels; later frames may differ.
    pub width: u32,
    /// Height of the first frame in pixels.
    pub height: u32,
    /// The width of a pixel divided by its height, in the first frame; later frames may differ.
    pub pixel_aspect: f64,
    /// Rotation and mirroring of the first frame for display; later frames may differ.
    pub orientation: Orientation,
    /// Field order of the first frame; later frames may differ.
    pub fields: FieldOrder,
    /// Frames per second as the file states them (an average for variable rates).
    pub fps: Option<f64>,
    /// Duration in seconds as the file states it. The result of [`Decoder::duration_s`] also depends on what has been read.
    pub duration_s: Option<f64>,
    /// Chapters, sorted by their start.
    pub chapters: Vec<Chapter>,
    /// The short name of the video codec, such as "h264".
    pub codec: String,
    /// FFmpeg's name of the pixel format, such as "yuv420p".
    pub pixel_format: String,
    /// YCbCr matrix of the first frame's conversion to RGB.
    pub matrix: Matrix,
    /// Sample range, limited or full, of the first frame's conversion to RGB.
    pub range: Range,
    /// A remark, worded as a clause, for each property of the first frame that is displayed differently from what the file
    /// requests, such as HDR.
    pub remarks: Vec<String>,
}

impl MovieInfo {
    /// Returns a warning that lists [`MovieInfo::remarks`]; `None` if there are none.
    pub fn remark(&self) -> Option<Error> {
        remarks_message(&self.path, &self.remarks)
    }
}

/// A movie that is decoded on a thread of its own. Dropping the decoder stops the thread and waits for it to end, as
/// [`Decoder::end`] does.
pub struct Decoder {
    info: MovieInfo,
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

impl Decoder {
    /// Opens `path`, decodes its first frame (or the frames to preload), and starts the thread.
    ///
    /// `wake` is called on the decoder's thread when a frame is added to an empty queue and when the last frame has been
    /// queued. It must return soon and must not drop the decoder.
    ///
    /// # Errors
    /// The path is missing, a folder, a pipe or a device; the file is not a movie, has only sound, has no decoder, or
    /// nothing in it can be decoded; opening was cancelled, or reading takes too long. A start after the end is no error:
    /// the movie plays from its beginning, with a warning.
    pub fn open(path: &Path, options: OpenOptions, wake: Box<dyn Fn() + Send>) -> Result<Self> {
        let read_control = ReadControl::new(options.policy.clone(), options.cancel.clone());
        run_with_timeout(path, &read_control, move |path, read_control| {
            let start_ns = nanoseconds(options.start_s);
            let (mut pass, reached) = Pass::open_at(path, start_ns, read_control)?;
            let tracks = match options.preload {
                // The frames in memory are played as fast as they are wanted.
                Some(_) => Vec::new(),
                None => pass.source.container().sound_tracks(),
            };
            let preferred = pass.source.container().sound;
            let origin = Origin::File(path.to_owned(), options.policy.references);
            let sound = SoundFeed::new(origin, (tracks, preferred), options.cancel.clone());
            let control = Control::new(options.looping, read_control.clone(), sound, wake);
            let from_beginning = !reached || start_ns == 0;
            if !reached && pass.peek().is_some() {
                let (end_s, instead) = (seconds(pass.movie_end_ns()), "It plays from its beginning.");
                control.set_warning(Some(past_the_end(path, options.start_s, end_s, instead)));
                pass = Pass::open(path, read_control)?;
            }
            let Some(first) = pass.peek() else { return Err(pass.source.no_pictures_error()) };
            let info = movie_info(path, &pass, first);
            control.set_warning(pass.source.alpha_warning());
            let Some(count) = options.preload else {
                return Self::start(info, control, move |worker| worker.play(pass, from_beginning));
            };
            let (pictures, warning) = preload(&mut pass, count);
            control.set_warning(warning);
            Self::start(info, control, move |worker| worker.play_preloaded(&pictures))
        })
    }

    /// Starts the decoder's thread, on which `work` fills the queue.
    fn start(info: MovieInfo, control: Control, work: impl FnOnce(Worker) + Send + 'static) -> Result<Self> {
        let control = Arc::new(control);
        let worker = Worker::new(control.clone());
        let failed =
            |e| Error::new("Cannot start the decoder's thread.", format!("{e}."), "Close other programs.");
        let thread = std::thread::Builder::new().name("decoder".into()).spawn(move || work(worker));
        Ok(Self { info, control, thread: Some(thread.map_err(failed)?) })
    }

    /// Creates a decoder of pictures that `paint` draws, `fps` per second and without end. `paint` is called on the decoder's
    /// thread with the number of the picture and the canvas, which still holds the previous picture. Seeks work as in a movie.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn from_painter(
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
            pixel_aspect: 1.0,
            ..MovieInfo::default()
        };
        let read_control = ReadControl::new(References::Refused, Cancel::default());
        let control = Control::new(true, read_control, SoundFeed::of_ticks(), wake);
        Self::start(info, control, move |worker| worker.play_painted(canvas, fps, paint))
    }

    /// Returns a decoder that delivers no frames, for a window whose movie is not open yet.
    pub fn without_frames() -> Self {
        let read_control = ReadControl::new(References::Refused, Cancel::default());
        read_control.suspend();
        Self {
            info: MovieInfo { pixel_aspect: 1.0, ..MovieInfo::default() },
            control: Arc::new(Control::new(false, read_control, SoundFeed::silence(), Box::new(|| ()))),
            thread: None,
        }
    }

    /// Returns the movie's properties.
    pub fn info(&self) -> &MovieInfo {
        &self.info
    }

    /// Returns the movie's duration in seconds; `None` if it is not known yet. Before the end of the file was read, it is the
    /// duration that the file states, or the end of the frames decoded so far if that is later.
    pub fn duration_s(&self) -> Option<f64> {
        self.control.duration.lock().ns.map(seconds).or(self.info.duration_s)
    }

    /// Returns the queue of decoded frames.
    pub fn queue(&self) -> &FrameQueue {
        &self.control.queue
    }

    /// Returns the movie's sound.
    pub fn sound(&self) -> &SoundFeed {
        &self.control.sound
    }

    /// Seeks without waiting. The queue is emptied at once. The next frame in it has
    /// [`Frame::seeked`](super::Frame::seeked) set, is due at once, and continues the play timeline: the player sets its
    /// clock to that frame's `pts_ns` when it takes the frame. A newer seek replaces an unfinished one. No effect in a
    /// movie of one picture.
    pub fn seek(&self, to: Seek) {
        self.control.seek(to);
    }

    /// Returns the number of seeks so far. Frames with a smaller [`Frame::generation`](super::Frame::generation) were decoded
    /// before the newest seek.
    pub fn generation(&self) -> u64 {
        self.control.read_control.newest_seek()
    }

    /// Turns looping on or off: if on, the movie plays again when it has ended. If the movie has ended already, turning this on
    /// restarts it at once.
    pub fn set_looping(&self, looping: bool) {
        self.control.update(|requests| requests.looping = looping);
    }

    /// Returns true if the movie plays again when it has ended.
    pub fn is_looping(&self) -> bool {
        self.control.requests().looping
    }

    /// Repeats the section (A-B loop) from the first time to just before the second, in seconds of the movie; `None` ends
    /// the repetition. The order of the times does not matter; an empty section counts as `None`. Queued frames after the
    /// section are dropped; frames before it are played once.
    pub fn set_repeat_section(&self, section: Option<(f64, f64)>) {
        let section =
            section.map(|(a, b)| (nanoseconds(a.min(b)), nanoseconds(a.max(b)))).filter(|(a, b)| a < b);
        self.control.update(|requests| requests.section = section);
        self.control.queue.set_limit(section.map(|(_, end)| end));
    }

    /// Returns true if no frame follows because the movie could not be read any further.
    pub fn has_failed(&self) -> bool {
        self.control.has_failed.load(Ordering::Relaxed)
    }

    /// Sets the memory that the planes of the next frames are packed into; queued frames stay as they are. With `None`
    /// planes are not packed, and queued frames return their memory to its device.
    pub fn set_staging(&self, staging: Option<Staging>) {
        let none = staging.is_none();
        self.control.set_staging(staging);
        if none {
            self.control.queue.release_packed();
        }
    }

    /// Sets the number of earlier pictures that frames get as [`Frame::earlier`](super::Frame::earlier), from the next decoded one
    /// on; 0 at first. Only frames after a seek have all of them, since those are decoded as well.
    pub fn set_earlier(&self, count: usize) {
        self.control.read_control.set_earlier(count);
    }

    /// Stops reading, and drops the queued frames. Does not wait for the thread; dropping the decoder does.
    pub fn close(&self) {
        self.control.stop();
        self.control.set_staging(None);
        self.control.queue.close();
    }

    /// Stops reading and waits for the thread, for at most two seconds. Returns false if the thread has not ended, because
    /// a system call hangs; the thread is then abandoned.
    pub fn end(&mut self) -> bool {
        self.close();
        // A panic of the thread was already printed.
        join_within(&mut self.thread, END_WAIT).is_some()
    }

    /// Returns a remark, worded as a clause, about packets that the file marks as damaged, if all of them could be decoded;
    /// `None` if no such packet was read yet, or one could not be decoded.
    pub fn note(&self) -> Option<String> {
        self.control.note.lock().clone()
    }

    /// Returns a warning about a movie that plays nevertheless, such as a file that is cut off. The warning may appear
    /// while playing, and then stays.
    pub fn warning(&self) -> Option<Error> {
        let read_control = &self.control.read_control;
        let warning = self.control.warning.lock().clone();
        warning.or_else(|| read_control.is_stalled().then(|| read_control.too_slow(&self.info.path)))
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Decodes the first `count` pictures of `pass`, fewer if the movie ends or they fill half of the free memory. Returns the
/// pictures, and a warning if the movie is damaged or memory limits their number.
fn preload(pass: &mut Pass, count: u32) -> (Vec<TimedPicture>, Option<Error>) {
    let budget = free().map_or(usize::MAX, |bytes| usize::try_from(bytes / 2).unwrap_or(usize::MAX));
    let mut pictures = Vec::new();
    let mut bytes = 0_usize;
    while pictures.len() < count as usize {
        let Some(picture) = pass.next() else { return (pictures, pass.warning()) };
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

/// Returns the properties of a movie whose first picture is `first`.
fn movie_info(path: &Path, pass: &Pass, first: &TimedPicture) -> MovieInfo {
    let (matrix, range) = matrix::of_picture(&first.video);
    let source = &pass.source;
    MovieInfo {
        path: path.to_owned(),
        width: first.video.width(),
        height: first.video.height(),
        pixel_aspect: pixel_aspect(&first.video),
        orientation: Orientation::of_picture(&first.video),
        fields: FieldOrder::of_picture(&first.video),
        fps: source.container().fps(),
        duration_s: pass.stated_duration_ns().map(seconds),
        chapters: pass.chapters(),
        codec: source.decoder.id().name().to_owned(),
        pixel_format: matrix::format_name(&first.video),
        matrix,
        range,
        remarks: picture_remarks(source, &first.video),
    }
}

/// Returns a remark, worded as a clause, for each property of a picture of `source` that is displayed differently from what the
/// file requests.
pub(super) fn picture_remarks(source: &Source, picture: &Video) -> Vec<String> {
    let stream = source.container().played();
    let mut remarks = Vec::from_iter(dolby_vision::remark(stream.as_ref(), picture));
    remarks.extend(color::remarks::of_picture(picture));
    if let Some((width, height)) = ignored_aspect(picture) {
        remarks.push(format!("pixels of {width}:{height} cannot be, and are shown as squares"));
    }
    remarks
}

/// Returns a warning that lists the remarks about a movie; `None` if there are none.
pub(super) fn remarks_message(path: &Path, remarks: &[String]) -> Option<Error> {
    let sentence = |clause: &String| {
        let mut letters = clause.chars();
        letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    };
    let sentences: Vec<String> = remarks.iter().filter_map(sentence).collect();
    let what = format!("'{}' is not shown as it is meant.", text::name(path));
    (!sentences.is_empty()).then(|| Error::new(what, sentences.join(" "), ""))
}
