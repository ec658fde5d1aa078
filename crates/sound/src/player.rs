//! The thread that decodes a movie's sound into the device's ring.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::output::Output;
use super::ring::Stereo;
use super::transport::{Anchor, Shared, Transport};
use base::error::{Error, Result};
use base::jobs::Waker;
use base::threads::join_within;
use parking_lot::Mutex;
use video::{Samples, SoundFeed, SoundReader, SoundSegment};

/// The interval at which the player looks for an audio device while there is none.
const RETRY: Duration = Duration::from_secs(2);
/// The time without a playing movie after which the audio device is paused.
const REST: Duration = Duration::from_secs(1);
/// The longest time that [`Sound::drop`] waits for the end of the decoding thread.
const END_WAIT: Duration = Duration::from_secs(2);
/// The time without a request for a buffer after which a playing device is closed and opened again, since some audio servers do
/// not report that a sink (their output device) has disappeared.
const STALL: Duration = Duration::from_secs(3);
/// The maximum of [`Player::stall`], the time without a request for a buffer after which the device is closed and opened again.
/// That time doubles with each attempt, so that attempts become rare: a sink may only be suspended and then continues by
/// itself, and each stream that is closed may leave its connection open at the server.
const MAX_STALL: Duration = Duration::from_secs(30);
/// The largest lag of the sound behind the clock, in nanoseconds. If the lag is larger, decoding continues at the clock's
/// position.
const MAX_LAG_NS: i64 = 500_000_000;
/// The amount of sound in nanoseconds that is decoded before the sound begins, if the clock waits for it.
const READY_NS: i64 = 200_000_000;
/// The largest difference in nanoseconds between a time stamp and the end of the samples before it at which the samples still
/// count as consecutive.
const TOLERANCE_NS: i64 = 10_000_000;

/// The state of the audio device and of the sound track, to be shown to the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum SoundStatus {
    /// The device and the track are being opened.
    #[default]
    Opening,
    /// There is no audio device, or it cannot be opened; the player looks for one every two seconds.
    NoDevice,
    /// The movie has no sound, or its track cannot be played; the latter was reported as an error.
    NoTrack,
    /// The audio device with this name plays the track.
    Device(Arc<str>),
}

/// The state that the window and the decoding thread share: the movie to play, and the errors and the status for the window.
#[derive(Default)]
struct State {
    /// The movie and the index of its track that the window has set, `None` for silence; `None` once the thread has taken them.
    next: Option<Option<(SoundFeed, usize)>>,
    /// Errors that the window has not taken yet.
    errors: Vec<Error>,
    status: SoundStatus,
}

/// Plays a movie's sound: a handle of the thread that decodes the sound for the audio device. Dropping it ends the thread.
pub struct Sound {
    shared: Arc<Shared>,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Sound {
    /// Starts the decoding thread, which is silent until [`Sound::play`] is called. The thread calls `waker` when there is an
    /// error or a new status to take, or when the sound for which the clock waits has begun.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(waker: Waker) -> Result<Self> {
        let (shared, state) = (Arc::new(Shared::new()), Arc::<Mutex<State>>::default());
        let player = Player {
            shared: shared.clone(),
            state: state.clone(),
            waker,
            feed: None,
            output: None,
            retry_at: None,
            running_at: Instant::now(),
            opened_at: Instant::now(),
            buffers: (0, Instant::now()),
            stall: STALL,
            reader: None,
            cursor: None,
            pending: Vec::new(),
            mark: None,
            has_warned: false,
            has_reported: false,
        };
        let thread = std::thread::Builder::new().name("sound".into()).spawn(move || player.run());
        let failed =
            |e| Error::new("The movie plays without sound.", format!("No thread could be started: {e}."), "");
        Ok(Self { shared, state, thread: Some(thread.map_err(failed)?) })
    }

    /// Plays the track with this index in [`SoundFeed::tracks`] of a movie; `None` plays nothing. There is silence until
    /// [`Sound::set_transport`] is called again, since the clock that was set before is that of the previous movie.
    pub fn play(&self, movie: Option<(SoundFeed, usize)>) {
        self.set_transport(Transport::stopped());
        let mut state = self.state.lock();
        state.status = if movie.is_some() { SoundStatus::Opening } else { SoundStatus::NoTrack };
        state.next = Some(movie);
        drop(state);
        self.wake();
    }

    /// Sets the state of the movie's clock, which the sound follows.
    pub fn set_transport(&self, transport: Transport) {
        if let Some(thread) = &self.thread {
            self.shared.set_transport(transport, thread.thread());
        }
    }

    /// Sets the perceived volume in percent. Amplitudes are multiplied by its cube, as in PulseAudio.
    pub fn set_volume(&self, percent: f64) {
        self.shared.set_gain((percent / 100.0).powi(3) as f32);
    }

    /// Takes the newest position that the audio device reported; `None` if it has reported none since the last call.
    pub fn take_anchor(&self) -> Option<Anchor> {
        self.shared.anchor.lock().take()
    }

    /// Takes the errors that have occurred since the last call.
    pub fn take_errors(&self) -> Vec<Error> {
        std::mem::take(&mut self.state.lock().errors)
    }

    /// Returns the state of the audio device and of the track.
    pub fn status(&self) -> SoundStatus {
        self.state.lock().status.clone()
    }

    /// Stops the sound, and waits for its thread for at most two seconds. Returns false if the thread has not ended, because the
    /// audio system hangs; the thread is then abandoned.
    pub fn end(&mut self) -> bool {
        self.shared.quits.store(true, Ordering::Release);
        self.wake();
        // A panic of the thread was already printed.
        join_within(&mut self.thread, END_WAIT).is_some()
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        self.end();
    }
}

/// The progress of decoding in a segment (a part of the play timeline without a seek or loop).
struct Cursor {
    segment: SoundSegment,
    /// The position at which decoding started, in the same unit as `next`.
    from: i64,
    /// The position after the last decoded sample on the play timeline, in samples at the device's rate.
    next: i64,
    /// True until the first sample of the segment is decoded.
    is_fresh: bool,
    /// True if decoding started at the segment's beginning, of which no sample may be lost.
    begins: bool,
    /// The [`Transport::revision`] of the clock that waits for this sound; `None` if no clock waits, or the clock has no
    /// position yet.
    revision: Option<u64>,
    /// True if all samples of the segment have been decoded.
    has_ended: bool,
}

/// Converts nanoseconds to a position in samples at this rate.
fn position_of(ns: i64, rate: u32) -> i64 {
    (i128::from(ns) * i128::from(rate) / 1_000_000_000) as i64
}

/// A position at which decoding is to start.
#[derive(Debug, PartialEq)]
struct Start {
    segment: SoundSegment,
    /// The position on the play timeline in nanoseconds.
    from_ns: i64,
    /// The value that [`Cursor::revision`] gets.
    revision: Option<u64>,
    /// True if the samples in the ring buffer belong to another position, so that they must be discarded.
    is_fresh: bool,
}

/// Returns the position at which decoding of `feed` should start, or `None` if decoding continues at `cursor`. `rate` is the
/// device's sample rate.
fn next_start(cursor: Option<&Cursor>, feed: &SoundFeed, transport: &Transport, rate: u32) -> Option<Start> {
    if !transport.is_placed {
        // The first picture of the newest seek is on its way.
        let segment = feed.newest_segment()?;
        let is_there = cursor
            .is_some_and(|cursor| cursor.segment == segment && cursor.begins && cursor.revision.is_none());
        let start = Start { segment, from_ns: segment.start_ns, revision: None, is_fresh: true };
        return (!is_there).then_some(start);
    }
    let clock_ns = transport.position_ns_at(Instant::now());
    let starts = |revision, is_fresh| {
        let segment = feed.segment_at(clock_ns)?;
        Some(Start { segment, from_ns: clock_ns.max(segment.start_ns), revision, is_fresh })
    };
    let revision = transport.waits_for_sound.then_some(transport.revision);
    let Some(cursor) = cursor else { return starts(revision, true) };
    if revision.is_some() && cursor.revision != revision {
        return starts(revision, true);
    }
    let next_ns = (i128::from(cursor.next) * 1_000_000_000 / i128::from(rate)) as i64;
    if let Some(segment) = feed.segment_after(&cursor.segment) {
        // The sound may end before the pictures do.
        let is_over = cursor.has_ended || next_ns >= segment.start_ns || clock_ns >= segment.start_ns;
        let is_lost = clock_ns.saturating_sub(segment.start_ns) > MAX_LAG_NS;
        let start = Start { segment, from_ns: segment.start_ns, revision: cursor.revision, is_fresh: false };
        return if is_lost { starts(cursor.revision, false) } else { is_over.then_some(start) };
    }
    let lags = clock_ns.saturating_sub(next_ns) > MAX_LAG_NS && !cursor.has_ended;
    if lags { starts(cursor.revision, false) } else { None }
}

/// The state of the decoding thread. Fields drop in order: the device before the file.
struct Player {
    shared: Arc<Shared>,
    state: Arc<Mutex<State>>,
    waker: Waker,
    feed: Option<(SoundFeed, usize)>,
    output: Option<Output>,
    /// The time at which the player looks for an audio device again; `None` if it looks at once.
    retry_at: Option<Instant>,
    /// The time at which the clock last ran.
    running_at: Instant,
    /// The time at which the audio device was opened.
    opened_at: Instant,
    /// The number of buffers that the device has asked for, and the time at which this number last changed.
    buffers: (u64, Instant),
    /// The maximum time for which a playing device may ask for no buffer, from [`STALL`] to [`MAX_STALL`].
    stall: Duration,
    reader: Option<SoundReader>,
    cursor: Option<Cursor>,
    /// Decoded samples that were not written to the ring buffer yet.
    pending: Vec<Stereo>,
    /// The position of the first sample of `pending`, and true if a segment begins there; `None` if that sample directly
    /// follows the one before it.
    mark: Option<(i64, bool)>,
    /// True if damage in this movie's sound was reported. It is reported once, since a movie that is repeated has the same
    /// damage again.
    has_warned: bool,
    /// True if an error of the audio device was reported, and no device has played since.
    has_reported: bool,
}

impl Player {
    /// Decodes and plays sound until the window closes.
    fn run(mut self) {
        while !self.shared.quits.load(Ordering::Acquire) {
            if self.shared.has_begun.swap(false, Ordering::AcqRel) {
                (self.waker)();
            }
            self.take_movie();
            let rest = self.update_device();
            if !self.decode() {
                std::thread::park_timeout(rest);
            }
        }
        self.set_device(None);
    }

    /// Takes the movie that the window has set, if it has set another one.
    fn take_movie(&mut self) {
        let Some(feed) = self.state.lock().next.take() else { return };
        self.feed = feed;
        self.has_warned = false;
        self.retry_at = None;
        if let Some((feed, _)) = &self.feed {
            feed.set_listener(std::thread::current());
            if self.output.is_some() {
                self.publish_device();
            }
        }
        self.close_reader();
    }

    /// Sets the status of the movie that is played, and wakes the window if the status changes. Does nothing if the window has
    /// set another movie.
    fn set_status(&self, status: SoundStatus) {
        let mut state = self.state.lock();
        if state.next.is_some() || state.status == status {
            return;
        }
        state.status = status;
        drop(state);
        (self.waker)();
    }

    /// Sets the status to the current device.
    fn publish_device(&self) {
        let name = self.output.as_ref().map(|output| output.name.as_str().into());
        self.set_status(name.map_or(SoundStatus::NoDevice, SoundStatus::Device));
    }

    /// Closes the movie file, and drops the samples that were decoded from it.
    fn close_reader(&mut self) {
        (self.reader, self.cursor) = (None, None);
        self.pending.clear();
        self.mark = None;
        if let Some(output) = &self.output {
            output.writer.discard();
        }
    }

    /// Closes the audio device and replaces it by `output`; `None` leaves no device.
    fn set_device(&mut self, output: Option<Output>) {
        if let Some(before) = std::mem::replace(&mut self.output, output) {
            before.close();
        }
        if self.feed.is_some() {
            self.publish_device();
        }
        // The new device may have another sample rate.
        self.close_reader();
    }

    /// Adds an error that the window will take, and wakes the window.
    fn report(&self, error: Error) {
        self.state.lock().errors.push(error);
        (self.waker)();
    }

    /// Reports an error of the audio device, unless one was reported since a device last played.
    fn report_device(&mut self, error: Error) {
        if !std::mem::replace(&mut self.has_reported, true) {
            self.report(error);
        }
    }

    /// Returns true if the device plays, but has not asked for a buffer for the time [`Self::stall`]. Reports an error the
    /// second time in a row.
    fn is_stalled(&mut self) -> bool {
        let Some(output) = &self.output else { return false };
        let buffers = self.shared.buffers.load(Ordering::Relaxed);
        let is_other = buffers != self.buffers.0;
        if is_other || !output.is_playing {
            self.buffers = (buffers, Instant::now());
        }
        // A suspended device asks for its first buffers, too.
        if is_other && output.is_playing && self.opened_at.elapsed() > STALL {
            (self.stall, self.has_reported) = (STALL, false);
        }
        if self.buffers.1.elapsed() <= self.stall {
            return false;
        }
        if self.stall > STALL {
            let error = Error::new(
                format!("The audio device '{}' stopped playing.", output.name),
                format!("It asked for no sound for {} s.", self.stall.as_secs()),
                "Resume it, close other programs that use it, or choose another device in the desktop's settings.",
            );
            self.report_device(error);
        }
        self.stall = (2 * self.stall).min(MAX_STALL);
        true
    }

    /// Opens, pauses and closes the audio device as needed. Returns the time after which this must be called again at the
    /// latest.
    ///
    /// The device stays open, paused, while nothing is to be played: when a stream is closed soon after it was opened, the
    /// client of PulseAudio may keep its thread and its connection for good, and a server has 64 connections.
    fn update_device(&mut self) -> Duration {
        let long = Duration::from_secs(3600);
        if self.shared.has_failed.swap(false, Ordering::AcqRel) || self.is_stalled() {
            self.set_device(None);
        }
        if self.feed.is_none() {
            if self.output.as_mut().is_some_and(|output| output.set_playing(false).is_err()) {
                self.set_device(None);
            }
            return long;
        }
        let now = Instant::now();
        if self.output.is_none() {
            let wait = self.retry_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            if !wait.is_zero() {
                return wait;
            }
            self.retry_at = Some(now + RETRY);
            match Output::open(&self.shared, &std::thread::current()) {
                Ok(Some(output)) => {
                    let now = Instant::now();
                    (self.opened_at, self.running_at, self.buffers.1) = (now, now, now);
                    self.set_device(Some(output));
                }
                Ok(None) => {
                    self.publish_device();
                    return RETRY;
                }
                Err(error) => {
                    self.publish_device();
                    self.report_device(error);
                    return RETRY;
                }
            }
        }
        let is_running = self.shared.transport.lock().is_running;
        if is_running {
            self.running_at = now;
        }
        let rests = now.saturating_duration_since(self.running_at) >= REST;
        let Some(output) = &mut self.output else { return RETRY };
        if output.set_playing(!rests).is_err() {
            self.set_device(None);
            return RETRY;
        }
        if output.is_playing { REST } else { long }
    }

    /// Decodes some samples and writes them to the ring buffer; returns false if there is nothing to do at present.
    fn decode(&mut self) -> bool {
        let Some(rate) = self.output.as_ref().map(|output| output.rate) else { return false };
        let Some((feed, _)) = &self.feed else { return false };
        let transport = *self.shared.transport.lock();
        // The clock waits for the sound at the beginning of this segment, and decoding started there before the clock had a
        // position.
        let serves = |cursor: &&mut Cursor| {
            let is_there = cursor.begins && cursor.revision.is_none();
            transport.waits_for_sound && is_there && cursor.segment.start_ns == transport.position_ns
        };
        if let Some(cursor) = self.cursor.as_mut().filter(serves) {
            cursor.revision = Some(transport.revision);
        }
        if let Some(start) = next_start(self.cursor.as_ref(), feed, &transport, rate) {
            self.start(start);
            return true;
        }
        let worked = self.write_pending() || self.read();
        self.note_ready(&transport, rate);
        worked
    }

    /// Decodes the next samples, unless earlier ones still wait for space in the ring buffer; returns false if there was
    /// nothing to decode.
    fn read(&mut self) -> bool {
        let Some(cursor) = self.cursor.as_mut().filter(|cursor| !cursor.has_ended) else { return false };
        let Some(reader) = self.reader.as_mut().filter(|_| self.pending.is_empty()) else { return false };
        if let Some(samples) = reader.read() {
            self.queue(&samples);
            return true;
        }
        cursor.has_ended = true;
        if let Some(warning) = reader.take_warning().filter(|_| !self.has_warned) {
            self.has_warned = true;
            self.report(warning);
        }
        true
    }

    /// Publishes that the sound for which the clock waits can begin: [`READY_NS`] of it, or all of it, is in the ring buffer.
    fn note_ready(&self, transport: &Transport, rate: u32) {
        let is_ready = |cursor: &Cursor| {
            let written = cursor.next - self.pending.len() as i64 - cursor.from;
            let is_whole = cursor.has_ended && self.pending.is_empty();
            is_whole || written >= position_of(READY_NS, rate)
        };
        let cursor = self.cursor.as_ref().filter(|cursor| cursor.revision == Some(transport.revision));
        if cursor.is_some_and(is_ready) {
            self.shared.ready.store(transport.revision, Ordering::Release);
        }
    }

    /// Writes samples that wait for space to the ring buffer; returns false if none could be written.
    fn write_pending(&mut self) -> bool {
        let Some(output) = self.output.as_mut().filter(|_| !self.pending.is_empty()) else { return false };
        if let Some((position, begins)) = self.mark {
            if !output.writer.mark(position, begins) {
                return false;
            }
            self.mark = None;
        }
        let written = output.writer.write(&self.pending);
        self.pending.drain(..written);
        written > 0
    }

    /// Starts decoding at a position of the play timeline.
    fn start(&mut self, Start { segment, from_ns, revision, is_fresh }: Start) {
        let (Some(output), Some((feed, track))) = (&self.output, &self.feed) else { return };
        self.pending.clear();
        self.mark = None;
        if is_fresh {
            output.writer.discard();
        }
        let opened = match self.reader.take() {
            Some(reader) => Ok(reader),
            None => feed.open(*track, output.rate),
        };
        let from = position_of(from_ns, output.rate);
        let begins = from_ns == segment.start_ns;
        match opened {
            Ok(mut reader) => {
                let has_ended = !reader.seek(&segment, from_ns.saturating_sub(segment.base_ns));
                self.reader = Some(reader);
                self.cursor =
                    Some(Cursor { segment, from, next: from, is_fresh: true, begins, revision, has_ended });
            }
            Err(error) => {
                self.feed = None;
                self.set_status(SoundStatus::NoTrack);
                self.report(error);
            }
        }
    }

    /// Queues decoded samples for the ring buffer, without those before the position at which decoding started.
    fn queue(&mut self, samples: &Samples) {
        let (Some(cursor), Some(output)) = (&mut self.cursor, &self.output) else { return };
        let at_ns = cursor.segment.base_ns.saturating_add(samples.movie_ns);
        let position = position_of(at_ns, output.rate);
        let tolerance = position_of(TOLERANCE_NS, output.rate);
        let early = usize::try_from(cursor.from.saturating_sub(position)).unwrap_or(0);
        let Some(samples) = samples.data.get(early..).filter(|samples| !samples.is_empty()) else { return };
        let position = position.saturating_add(early as i64);
        if cursor.is_fresh || (position - cursor.next).abs() > tolerance {
            self.mark = Some((position, cursor.is_fresh && cursor.begins));
            cursor.is_fresh = false;
            cursor.next = position;
        }
        cursor.next = cursor.next.saturating_add(samples.len() as i64);
        self.pending.extend_from_slice(samples);
    }
}
