//! The player's frame loop: a state machine that brings frames from the decoder to the screen and never waits for a device.
//!
//! ```text
//! decoder ─take─▶ submit ─▶ worker (≤ 2 flights) ─▶ ready ─draw─▶ shown ─swap─▶ statistics
//! intake          filter queue: workers, flights    presenter
//! ```
//!
//! [`FrameLoop`] coordinates its parts: [`intake`] has the decoder and the frames to be filtered again,
//! [`schedule`] the movie's clock, [`choice`] and [`wipe`] the filters of both sides, [`filter_queue`] the frames that are being filtered,
//! with the memory of pictures and the [`workers`] that filter them ([`worker`]),
//! [`presenter`] the filtered frames, and [`stops`] the times in which the process was stopped.
//!
//! The window queries and changes the parts directly. The next [`FrameLoop::update`] applies a change to the frames on their
//! way.
//!
//! A frame is filtered ahead of its time and waits until it is due; the picture on the screen keeps its slot until the next one takes
//! its place.

mod choice;
mod control;
mod filter_queue;
mod flights;
mod gl_times;
mod intake;
mod movie_clock;
mod presenter;
mod schedule;
mod screen;
mod state;
mod stops;
mod take;
mod wipe;
mod worker;
mod workers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Engine;
use base::error::Error;
use base::jobs::Waker;
use box_filter::VariantId;
pub use choice::{Choice, Filter};
use control::Choices;
pub use filter_queue::FilterQueue;
use flights::WipeSide;
use gl_times::PendingGlTimes;
pub use intake::{Intake, ParkedMovie};
pub use movie_clock::MovieClock;
use opengl::{names, timer};
pub use presenter::{DrawTimes, Presenter};
pub use schedule::Schedule;
pub use screen::Screen;
use stats::Recorder;
pub use stops::StopDetector;
use video::Decoder;
pub use wipe::{SecondFilter, ShownWipe, Wipe};
use worker::POLL_INTERVAL;
pub use workers::Workers;
use workers::{SHUTDOWN_TIMEOUT, WorkerHandle};

/// Plays a movie: has its frames filtered and shows each frame when it is due.
pub struct FrameLoop {
    /// The clock that times the shaders of the variant `glsl`, or the error that makes the variant unavailable.
    pub glsl: Result<timer::Clock, Option<Error>>,
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
    /// The frames that are being filtered, and the workers that filter them.
    pub filters: FilterQueue,
    /// The filtered frames, and the one on the screen.
    pub presenter: Presenter,
    /// The detector of times in which the process was stopped, as by Ctrl+Z.
    pub stops: StopDetector,
    /// True while no frame may be taken from the decoder. The window sets it for scripts, which count frames, until the chosen
    /// variant is built.
    pub waits_for_filter: bool,
    /// True if no frame is submitted until the other filters of the stack are built, as scripts need it.
    pub waits_for_stack: bool,
    /// Errors that the window has not taken yet. Each comes with the variant that was switched off because of it, if one was.
    pub errors: Vec<(Option<VariantId>, Error)>,
    /// The error of the device that failed, until the window takes it. The loop has no device then.
    pub failure: Option<Error>,
    /// True if the overlay has announced that the frame that is held back will take long to filter.
    is_hold_announced: bool,
    /// The number of changes of the device so far.
    pub device_changes: u32,
    /// The settings at the last [`FrameLoop::update`], with which the next one compares the current settings.
    applied: Choices,
}

/// The result of a turn of the loop: what the window has to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// True if a new picture is due and the window should be redrawn.
    pub redraw: bool,
    /// When to call [`FrameLoop::tick`] again, if nothing wakes the loop before.
    pub wake_at: Option<Instant>,
}

impl FrameLoop {
    /// Creates a loop that plays the frames of `decoder`. The OpenGL context must be current whenever the loop is used. With `unpaced`,
    /// frames are shown as fast as they are filtered. `waker` is called, on any thread, when [`FrameLoop::tick`] should be called.
    pub fn new(gl: Arc<glow::Context>, decoder: Decoder, unpaced: bool, waker: Waker) -> Self {
        let engine = Engine::with_opengl(gl.clone(), waker.clone());
        let glsl = engine.loader.glsl.as_ref().map(|filter| filter.timer.clock());
        let glsl = glsl.map_err(|error| Some(error.clone()));
        let filters = FilterQueue::new(gl.clone(), engine, waker);
        let (schedule, choice, wipe) = (Schedule::new(unpaced), Choice::new(), Wipe::default());
        Self {
            glsl,
            recorder: Recorder::new(false),
            intake: Intake::new(decoder),
            applied: Choices::of(&schedule, &choice, &wipe),
            schedule,
            choice,
            wipe,
            filters,
            presenter: Presenter { gl_times: PendingGlTimes::new(gl), ..Presenter::default() },
            stops: StopDetector::default(),
            waits_for_filter: false,
            waits_for_stack: false,
            errors: Vec::new(),
            failure: None,
            is_hold_announced: false,
            device_changes: 0,
        }
    }

    /// Runs one turn: collects finished frames, submits the frames that are due, and returns what the window should do next. Never
    /// waits for a device that has a thread of its own.
    pub fn tick(&mut self) -> Tick {
        self.update();
        if let Some(now_ns) = self.schedule.pace_ns() {
            self.intake.decoder.queue().set_clock(now_ns);
        }
        self.filters.workers.abandoned.reap();
        // OpenGL objects that were dropped on other threads.
        names::delete_pending(&self.filters.gl);
        self.presenter.gl_times.collect(&mut self.recorder);
        self.filters.collect();
        self.handle_filter_events();
        while self.submit() {}
        if let Some(first) = self.presenter.ready.front() {
            self.schedule.place(first.origin.frame.pts_ns);
        }
        // Last, because the device works meanwhile.
        self.presenter.upload_pictures();
        if self.wipe.second().is_none() {
            let FilterQueue { free, workers, .. } = &mut self.filters;
            free[WipeSide::Second as usize].drain(..).for_each(|slot| workers.discard(slot));
        }
        // The workers' events wake the loop; those on this thread are polled, for drivers without callbacks.
        let needs_polls = |state: &WorkerHandle| state.worker.is_here() && !state.sent.is_empty();
        let poll = self.filters.workers.all().any(needs_polls).then(|| Instant::now() + POLL_INTERVAL);
        // The event that makes room wakes the loop if there is none, the decoder if there is no frame, and the builder if a frame was
        // taken that has to wait for its filter.
        let may_take = self.intake.returned.is_empty() && self.has_room();
        let next_ns = may_take.then(|| self.intake.decoder.queue().next_pts_ns()).flatten();
        let interval_ns = self.presenter.screen.frame_interval_ns();
        let lead_ns = self.schedule.lead_ns(interval_ns);
        let take = next_ns.and_then(|pts_ns| self.schedule.clock.instant_of(pts_ns - lead_ns));
        let next = self.presenter.ready.front();
        let draw = next.and_then(|next| self.schedule.draw_at(&next.origin.frame));
        let wake_at = [poll, draw, take].into_iter().flatten().min();
        Tick { redraw: self.presenter.is_due(&self.schedule), wake_at }
    }

    /// Puts the frame that is due on the screen. Returns its texture, its size in pixels, and the width of one of its pixels
    /// divided by the height; `None` before the first frame.
    pub fn picture(&mut self) -> Option<(glow::Texture, (u32, u32), f64)> {
        self.update();
        let unused = self.presenter.advance(&self.schedule, &mut self.recorder);
        unused.into_iter().for_each(|ready| self.filters.put_slots(ready.into_parts().1));
        let shown = self.presenter.screen.shown()?;
        let slot = &shown.picture.slot;
        Some((slot.texture()?, slot.size, shown.origin.frame.pixel_aspect()))
    }

    /// Records that the window's buffers were swapped; returns true if the swap showed a new movie frame.
    pub fn swapped(&mut self, times: DrawTimes) -> bool {
        self.update();
        self.is_hold_announced |= self.filters.workers.is_holding();
        let is_idle = self.schedule.is_paused() && self.filters.flights.list.is_empty();
        self.presenter.swapped(times, is_idle, &mut self.schedule, &mut self.recorder)
    }

    /// Ends the loop. A kernel cannot be stopped and may take minutes, so work that is still on the device is left running,
    /// with its memory. Returns true if the device, and every device that was abandoned before, is idle.
    #[must_use]
    pub fn shut_down(&mut self) -> bool {
        self.filters.cancel(|_, _| f64::NEG_INFINITY);
        let began = Instant::now();
        self.filters.collect();
        while self.filters.workers.device_jobs().next().is_some() && began.elapsed() < SHUTDOWN_TIMEOUT {
            std::thread::sleep(Duration::from_millis(1));
            self.filters.collect();
        }
        self.handle_filter_events();
        if self.filters.workers.device_jobs().any(|progress| progress.started.is_some()) {
            // A kernel cannot be stopped and may take minutes.
            return false;
        }
        self.abandon_device();
        let is_released = self.filters.workers.abandoned.wait();
        names::delete_pending(&self.filters.gl);
        is_released
    }
}
