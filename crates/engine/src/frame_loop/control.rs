//! What the user asks the loop for: another movie or place, another device, filter or correction, a pause. In: the
//! wish. Out: frames that are on their way are kept, cancelled or given back, as the wish has it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Flight, FrameLoop, Measuring, Ready};
use crate::{Pipeline, Side, Ticket};
use base::jobs::{Job, Waker};
use box_filter::VariantId;
use opencl::device_thread::DeviceThread;
use video::color::Correction;
use video::{Decoder, Frame, Seek};

/// While the radius changes all the time, a frame with less than this left is finished all the same.
pub(super) const NEARLY_DONE_MS: f64 = 150.0;
/// … and so is one with less than `PATIENCE_MS` left when nothing was presented for `STARVING`.
const PATIENCE_MS: f64 = 2000.0;
const STARVING: Duration = Duration::from_millis(500);

/// What played when a scene was left, to go on later.
pub struct Parked {
    decoder: Decoder,
    /// The picture on the screen, and those on their way, in their order.
    frames: Vec<Arc<Frame>>,
}

impl Parked {
    /// What is to be played from its beginning.
    pub fn new(decoder: Decoder) -> Self {
        Self { decoder, frames: Vec::new() }
    }

    /// Gives it up.
    pub fn retire(self) {
        retire(self.decoder);
    }

    /// Stops reading; whether the decoder's thread has ended.
    pub fn end(&mut self) -> bool {
        self.decoder.end()
    }
}

/// Ends a decoder without waiting for its thread, which may be reading.
fn retire(decoder: Decoder) {
    // Frames that wait may lie in a device's memory: they go here.
    decoder.close();
    let end = move |_: &_| {
        drop(decoder);
        Ok(())
    };
    // Without a thread it goes here, and is waited for.
    let none: Waker = Arc::new(|| ());
    let ended = Job::<()>::spawn("retire", "A movie could not be closed.", &none, end);
    drop(ended);
}

impl FrameLoop {
    /// Takes out what plays, so that it can go on where it is. Nothing plays after that.
    pub fn park(&mut self) -> Parked {
        // With the frame that it is asked for.
        self.fetch();
        let decoder = std::mem::replace(&mut self.decoder, Decoder::without_frames());
        // What is packed lies in the memory of a device that may go meanwhile.
        decoder.set_staging(None);
        let generation = self.generation;
        let is_playing = |flight: &&Flight| flight.generation == generation;
        let done = self.shown.iter().chain(&self.ready).map(|ready| &ready.flight).filter(is_playing);
        let done = done.map(|flight| &flight.frame).chain(self.wipe.frames());
        let done = done.chain(self.returned.iter().map(|(frame, _)| frame));
        let done: Vec<Arc<Frame>> = done.cloned().collect();
        done.iter().for_each(|frame| drop(frame.packed.take()));
        let under_way = self.flights.iter().filter(is_playing).map(|flight| flight.frame.clone());
        let mut frames: Vec<Arc<Frame>> = done.into_iter().chain(under_way).collect();
        frames.sort_by_key(|frame| frame.pts_ns);
        // The one on the screen may be filtered anew.
        frames.dedup_by_key(|frame| frame.pts_ns);
        self.start_over();
        Parked { decoder, frames }
    }

    /// Goes on with what was parked, in the place of what plays. The picture on the screen stays until its first picture is
    /// there.
    pub fn resume(&mut self, parked: Parked) {
        self.play(parked.decoder);
        self.returned.extend(parked.frames.into_iter().map(|frame| (frame, 0)));
    }

    /// Plays another movie. The picture on the screen stays until the new one's first picture is there.
    pub fn play(&mut self, decoder: Decoder) {
        retire(std::mem::replace(&mut self.decoder, decoder));
        self.start_over();
    }

    /// Goes on elsewhere in the movie. The picture on the screen stays until the new place's first frame is
    /// there, also in a pause. Returns whether there is anywhere to go.
    pub fn seek(&mut self, to: Seek) -> bool {
        let before = self.decoder.generation();
        self.decoder.seek(to);
        let sought = self.decoder.generation() != before;
        if sought {
            self.start_over();
        }
        sought
    }

    /// Pauses, and shows the next frame.
    pub fn step(&mut self) {
        if !self.clock.is_paused() {
            self.toggle_pause();
        }
        // The next frame sets the clock, as the first one did.
        (self.clock_runs, self.started_over) = (false, Instant::now());
    }

    /// Whether a frame was asked for, by a seek or a step, that is not on the screen yet.
    pub fn is_on_its_way(&self) -> bool {
        !self.clock_runs
    }

    /// Lets the movie's time go faster or slower: 1 is its own speed.
    pub fn set_speed(&mut self, speed: f64) {
        self.clock.set_speed(speed);
        self.interrupt();
    }

    /// How fast the movie's time goes.
    pub fn speed(&self) -> f64 {
        self.clock.speed()
    }

    /// Forgets the frames that are on their way; the next frame starts the clock anew.
    fn start_over(&mut self) {
        self.generation += 1;
        let tickets: Vec<Ticket> = self.flights.iter().map(|flight| flight.ticket).collect();
        tickets.into_iter().for_each(|ticket| self.cancel(ticket));
        let waiting: Vec<Ready> = self.ready.drain(..).collect();
        waiting.into_iter().for_each(|ready| self.give_up_ready(ready));
        self.give_up_pairs();
        self.returned.clear();
        (self.dropped, self.clock_runs, self.started_over) = (0, false, Instant::now());
        self.choice.try_again();
        self.interrupt();
    }

    /// Gives the loop its device, instead of the one that it has, with the thread that makes its calls; `here` is whether this
    /// one has to. The picture on the screen stays.
    pub fn set_pipeline(&mut self, pipeline: Pipeline, thread: DeviceThread, here: bool) {
        self.take_down();
        // That of the one before is nobody's any more.
        self.failure = None;
        if let Some(engine) = self.lent.engine_mut() {
            engine.set_device(pipeline);
            engine.be_on(if here { Side::Both } else { Side::Window });
            self.lent.set_thread(thread, here);
        }
        self.count_device();
        self.choice.try_again();
        self.interrupt();
    }

    /// Goes on without a device. The picture on the screen stays.
    pub fn leave_device(&mut self) {
        self.take_down();
        self.count_device();
        self.choice.try_again();
    }

    fn count_device(&mut self) {
        self.devices += 1;
        self.recorder.device_changed(self.devices);
    }

    /// Takes no frame before the chosen variant is built: for scripts, which count frames.
    pub fn wait_for_filter(&mut self, wait: bool) {
        self.choice.waits_for_filter = wait;
    }

    /// Converts no frame on the host because the device's program for it is still being built: for scripts.
    pub fn wait_for_conversions(&mut self, wait: bool) {
        self.choice.waits_for_conversions = wait;
        if let Some(engine) = self.lent.engine_mut() {
            engine.convert_only_checked(wait);
        }
    }

    /// Chooses the filter from the next frame on. Work that is not on the device yet is dropped. Where the
    /// picture on the screen stays there, it is filtered anew.
    pub fn choose(&mut self, variant: VariantId, radius: u32) {
        let before = self.choice.filter();
        if (variant, radius) == before {
            return;
        }
        self.choice.choose(variant, radius);
        // With the frame that it is asked for: that may be one to be cancelled.
        self.fetch();
        // A slider that moves or a key that is held must not keep every frame from being finished.
        let limit_ms = match () {
            () if variant != before.0 => 0.0,
            () if self.drawn.has_waited(STARVING) => PATIENCE_MS,
            () => NEARLY_DONE_MS,
        };
        self.cancel_longer(limit_ms, |_| true);
        self.return_waiting();
    }

    /// Drops frames of these of which more is left than that, in milliseconds.
    pub(super) fn cancel_longer(&mut self, limit_ms: f64, which: impl Fn(&Flight) -> bool) {
        let too_long = |flight: &&Flight| which(flight) && self.progress(flight).remaining_ms > limit_ms;
        let tickets: Vec<Ticket> = self.flights.iter().filter(too_long).map(|f| f.ticket).collect();
        tickets.into_iter().for_each(|ticket| self.cancel(ticket));
    }

    /// In a pause, frames wait that were made as was wanted before: after it they are to be seen as is wanted now.
    fn return_waiting(&mut self) {
        if self.clock.is_paused() {
            let (again, waiting): (VecDeque<Ready>, VecDeque<Ready>) =
                self.ready.drain(..).partition(|ready| ready.flight.again);
            self.ready = again;
            waiting.into_iter().for_each(|ready| self.give_up_ready(ready));
        }
    }

    /// What is wanted of a picture has changed: the one on the screen anew where it stays there.
    pub(super) fn look_again(&mut self) {
        self.choice.try_again();
        self.return_waiting();
    }

    /// Notes that what made the frames so far is not to be used any more: those whose time has not come are made anew, and the
    /// picture on the screen where it stays there.
    pub fn convert_again(&mut self) {
        let pictures = self.ready.iter_mut().chain(&mut self.shown).map(|ready| &mut ready.flight);
        self.flights.iter_mut().chain(pictures).for_each(|flight| flight.doubtful = true);
        self.doubt_pairs();
        self.look_again();
        self.make_waiting_anew();
    }

    /// Which version of its kernels filters for a variant.
    pub(super) fn version_of(&self, variant: VariantId) -> u64 {
        self.versions.get(&variant).copied().unwrap_or(1)
    }

    /// Other kernels filter for this variant from the next frame on, of this version, where that is another one than so far;
    /// `differs`: they make another picture, and their times count for nothing. The picture on the screen anew where it stays
    /// there.
    pub fn kernels_changed(&mut self, variant: VariantId, version: Option<u64>, differs: bool) {
        if let Some(version) = version {
            self.versions.insert(variant, version);
        }
        let version = self.version_of(variant);
        self.recorder.kernels_changed(variant, version, differs);
        if self.choice.filter().0 == variant || self.other().is_some_and(|(other, _)| other == variant) {
            self.convert_again();
        }
    }

    /// Corrects colours from the next frame on, or not; the picture on the screen anew where it stays there.
    pub fn correct(&mut self, correction: Option<Correction>) {
        self.choice.correct(correction);
        self.return_waiting();
    }

    /// Measures frames from the next one on, or not; the picture on the screen anew where it stays there.
    pub fn measure(&mut self, measuring: Measuring) {
        if self.choice.measure(measuring) {
            self.return_waiting();
        }
    }

    /// Pauses or goes on.
    pub fn toggle_pause(&mut self) {
        if self.clock.is_paused() {
            self.clock.resume();
            // What comes next goes before the picture on the screen.
            let ends = !self.picture_stays();
            let again: Vec<Ticket> =
                self.flights.iter().filter(|f| ends && f.again).map(|f| f.ticket).collect();
            again.into_iter().for_each(|ticket| self.cancel(ticket));
        } else {
            self.clock.pause();
        }
        self.interrupt();
    }

    /// Notes that the loop runs; call it before anything is done that has to do with time. For as long as the process was stopped
    /// until now the movie's time stands still, and no number has it.
    pub fn look_for_stop(&mut self) {
        let Some(stopped) = self.pulse.beat(self.lent.calls_here()) else { return };
        self.clock.leave_out(stopped);
        self.choice.leave_out(stopped);
        self.lent.leave_out(stopped);
        self.drawn.was_stopped();
        self.interrupt();
        self.stopped += stopped;
    }

    /// Notes when the loop is to run next, or that it waits for events alone.
    pub fn rests_until(&mut self, due: Option<Instant>) {
        self.pulse.rest(due);
    }

    /// For how long the process was stopped since the window was opened.
    pub fn stopped_for(&self) -> Duration {
        self.stopped
    }

    /// Leaves the interval that is running out of the statistics: something other than playing took its time.
    pub fn interrupt(&mut self) {
        self.recorder.mark_discontinuity();
        self.drawn.interrupt();
    }
}
