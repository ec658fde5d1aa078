//! The player's frame loop: a state machine that brings frames from the decoder to the screen and never waits for a device.
//!
//! ```text
//! decoder ─take─▶ submit ─▶ engine (≤ 2 flights) ─▶ ready ─draw─▶ shown ─swap─▶ statistics
//! intake          filter queue: handoff, flights    presenter
//! ```
//!
//! [`FrameLoop`] coordinates its parts, which keep their fields private: [`intake`] has the decoder and the frames to be filtered again,
//! [`schedule`] the movie's clock, [`choice`] and [`wipe`] the filters of both sides, [`filter_queue`] the frames that are being filtered,
//! with the memory of pictures ([`slots`]) and the engine between the window's and the device's thread ([`handoff`], [`abandoned`]),
//! [`presenter`] the filtered frames, and [`stops`] the times in which the process was stopped.
//!
//! The window queries and changes the parts directly. What a change means for the frames on their way is done by the next
//! [`FrameLoop::update`].
//!
//! A frame is filtered ahead of its time and waits until it is due; the picture on the screen keeps its slot until the next one takes
//! its place.

mod abandoned;
mod choice;
mod control;
mod filter_queue;
mod flights;
mod gl_times;
mod handoff;
mod intake;
mod pairs;
mod presenter;
mod schedule;
mod screen;
mod signal;
mod slots;
mod state;
mod status;
mod stops;
mod submit;
mod take;
mod wipe;

use std::sync::Arc;
use std::time::Instant;

use crate::stats::Recorder;
use base::error::Error;
use base::jobs::Waker;
use box_filter::VariantId;
pub use choice::Choice;
use control::Settings;
pub use filter_queue::FilterQueue;
use flights::{Origin, Picture};
pub use gl_times::GlTimings;
pub use handoff::EngineHandoff;
use handoff::{POLL_INTERVAL, SHUTDOWN_TIMEOUT};
pub use intake::{Intake, ParkedMovie};
use opengl::timer;
pub use presenter::{DrawTimes, Presenter};
pub use schedule::Schedule;
pub use screen::Screen;
pub use status::{Busy, VariantStatus};
pub use stops::StopDetector;
use video::Decoder;
pub use wipe::{Filter, SecondFilter, ShownWipe, Wipe};

/// Plays a movie: has its frames filtered and shows each frame when it is due.
pub struct FrameLoop {
    /// The clock that times the shaders of the variant `glsl`, or the error that makes the variant unavailable.
    pub glsl: std::result::Result<timer::Clock, Option<Error>>,
    /// Statistics of the frames that were presented.
    pub recorder: Recorder,
    /// The decoder, and frames that are to be filtered again.
    pub intake: Intake,
    /// The movie's clock.
    pub schedule: Schedule,
    /// The filter of every frame and, in a wipe, of its first side.
    pub choice: Choice,
    /// The filter of the second side.
    pub wipe: Wipe,
    /// The frames that are being filtered, and the engine.
    pub filters: FilterQueue,
    /// The filtered frames, and the one on the screen.
    pub presenter: Presenter,
    /// Detects that the process was stopped.
    pub stops: StopDetector,
    /// No frame is taken from the decoder while this is true. The window uses it to wait until the chosen variant is built, for scripts,
    /// which count frames.
    pub waits_for_filter: bool,
    /// Errors that the window has not taken yet. Each comes with the variant that was switched off because of it, if one was.
    pub errors: Vec<(Option<VariantId>, Error)>,
    /// Why the device failed, until the window takes it. The loop has no device then.
    pub failure: Option<Error>,
    /// The number of changes of the device so far.
    device_changes: u32,
    /// The settings for which the frames on their way were last adapted.
    applied: Settings,
}

/// The result of a turn of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// A new picture is due, and the window should be redrawn.
    pub redraw: bool,
    /// When to call [`FrameLoop::tick`] again, if nothing wakes the loop before.
    pub wake_at: Option<Instant>,
}

impl FrameLoop {
    /// Creates a loop that plays the frames of `decoder`. The OpenGL context must be current whenever the loop is used. With `unpaced`,
    /// frames are shown as fast as they are filtered. `waker` is called, on any thread, when [`FrameLoop::tick`] should be called.
    pub fn new(
        gl: Arc<glow::Context>,
        decoder: Decoder,
        recorder: Recorder,
        unpaced: bool,
        waker: Waker,
    ) -> Self {
        let filters = FilterQueue::new(gl.clone(), waker);
        let engine = filters.handoff.engine();
        let glsl = match engine.map(|engine| &engine.loader.glsl) {
            Some(Ok(filter)) => Ok(filter.clock()),
            Some(Err(error)) => Err(Some(error.clone())),
            None => Err(None),
        };
        let (schedule, choice, wipe) = (Schedule::new(unpaced), Choice::new(), Wipe::default());
        Self {
            glsl,
            recorder,
            intake: Intake::new(decoder),
            applied: Settings::of(&schedule, &choice, &wipe),
            schedule,
            choice,
            wipe,
            filters,
            presenter: Presenter::new(gl),
            stops: StopDetector::default(),
            waits_for_filter: false,
            errors: Vec::new(),
            failure: None,
            device_changes: 0,
        }
    }

    /// Runs one turn: collects finished frames, submits the frames that are due, and returns what the window should do next. Waits only
    /// briefly, for the engine.
    pub fn tick(&mut self) -> Tick {
        self.update();
        if let Some(now_ns) = self.schedule.pace_ns() {
            self.intake.decoder().queue().set_clock(now_ns);
        }
        self.filters.handoff.abandoned.reap();
        self.presenter.gl_times.collect(&mut self.recorder);
        self.filters.collect();
        self.handle_filter_events();
        self.filters.compare_next(self.wipe.compares());
        self.handle_filter_events();
        while self.submit() {}
        self.filters.compare_next(self.wipe.compares());
        self.handle_filter_events();
        if let Some(first) = self.presenter.ready().front() {
            self.schedule.place(first.origin.frame.pts_ns);
        }
        // Last: the device is at work meanwhile.
        self.presenter.upload_pictures();
        if self.wipe.second().is_none() {
            self.filters.slots.discard_second(&self.filters.handoff);
        }
        // The driver's callbacks wake the loop, and the engine does when it is back; a driver without callbacks is polled.
        let polls = !self.filters.flights.list.is_empty() && self.filters.handoff.engine().is_some();
        let poll = polls.then(|| Instant::now() + POLL_INTERVAL);
        // The event that makes room wakes the loop if there is none, the decoder if there is no frame, and the builder if a frame was
        // taken that has to wait for its filter.
        let may_take = !self.intake.has_frame_to_refilter() && self.has_room();
        let take = || self.intake.next_take(&self.schedule, self.presenter.screen.frame_interval_ns());
        let take = may_take.then(take).flatten();
        let draw = self.presenter.next_draw(&self.schedule);
        let wake_at = [poll, draw, take].into_iter().flatten().min();
        Tick { redraw: self.presenter.is_due(&self.schedule), wake_at }
    }

    /// Puts the frame that is due on the screen. Returns its texture, its size in pixels, and the width of one of its pixels
    /// divided by the height; `None` before the first frame.
    pub fn picture(&mut self) -> Option<(glow::Texture, (u32, u32), f64)> {
        self.update();
        let unused = self.presenter.advance(&self.schedule, &mut self.recorder);
        unused.into_iter().for_each(|ready| self.filters.slots.put(ready.into_parts().1));
        let shown = self.presenter.screen.shown()?;
        let slot = &shown.picture.slot;
        Some((slot.texture()?, slot.size(), shown.origin.frame.pixel_aspect()))
    }

    /// Records that the window's buffers were swapped; returns true if the swap showed a new movie frame.
    pub fn swapped(&mut self, times: DrawTimes, timings: GlTimings) -> bool {
        self.update();
        self.filters.handoff.announce_hold();
        let is_idle = self.schedule.is_paused() && self.filters.flights.list.is_empty();
        self.presenter.swapped(times, timings, is_idle, &mut self.schedule, &mut self.recorder)
    }

    /// Ends the loop. A kernel cannot be stopped and may take minutes, so work that is still on the device is left running,
    /// with its memory. Returns true if the device, and every device that was given up before, is idle.
    #[must_use]
    pub fn shut_down(&mut self) -> bool {
        self.filters.cancel(|_, _, _| true);
        self.filters.collect();
        self.handle_filter_events();
        if !self.filters.try_reclaim() {
            let handback = self.filters.handoff.receive(SHUTDOWN_TIMEOUT);
            if !self.filters.handle_handback(handback) {
                return false;
            }
        }
        if self.filters.handoff.engine().is_some_and(|engine| engine.jobs.is_device_at_work()) {
            return false;
        }
        self.abandon_device();
        self.filters.handoff.abandoned.wait()
    }
}
