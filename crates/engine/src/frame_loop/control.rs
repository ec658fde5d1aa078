//! Applies the user's requests: another movie or position, another device, filter or colour correction, a pause. Frames in
//! flight are kept, cancelled or filtered again, depending on the request.

use std::time::{Duration, Instant};

use super::flights::{Origin, ReadyFrame, WipeSide};
use super::take::needs_resubmit;
use super::{Choice, Filter, FrameLoop, ParkedMovie, Schedule, SecondFilter, Wipe};
use crate::Pipeline;
use box_filter::VariantId;
use opencl::device_thread::DeviceThread;
use opencl::process::cpu_time;
use stats::Measurements;
use video::Seek;
use video::color::Correction;

/// A frame with less remaining filter time than this, in milliseconds, is finished even if the settings change meanwhile, so
/// that a moving slider does not starve the screen.
const NEARLY_DONE_MS: f64 = 150.0;
/// The remaining time in milliseconds that replaces [`NEARLY_DONE_MS`] if no frame was presented for [`STARVATION_TIME`].
const STARVED_NEARLY_DONE_MS: f64 = 2000.0;
/// The time without a presented frame after which [`STARVED_NEARLY_DONE_MS`] applies.
const STARVATION_TIME: Duration = Duration::from_millis(500);

/// The user's choices on which the frames in progress depend. Two values are compared to find out what has changed between two
/// turns of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choices {
    is_paused: bool,
    interruptions: u64,
    filter: Filter,
    correction: Option<Correction>,
    measuring: Measurements,
    second: Option<SecondFilter>,
    compares: bool,
}

impl Choices {
    pub(super) fn of(schedule: &Schedule, choice: &Choice, wipe: &Wipe) -> Self {
        Self {
            is_paused: schedule.is_paused(),
            interruptions: schedule.clock.interruptions,
            filter: choice.filter(),
            correction: choice.correction,
            measuring: choice.measuring,
            second: wipe.second(),
            compares: wipe.compares(),
        }
    }
}

impl FrameLoop {
    /// Processes what has happened since the last call: a stop of the process and changes of the settings. The movie's clock
    /// and all statistics leave out a time in which the process was stopped, as by Ctrl+Z or a debugger. Call it at the start
    /// of each turn of the loop, before anything that depends on time.
    pub fn update(&mut self) {
        let calls_drivers = self.filters.workers.calls_drivers_here();
        if let Some(stopped) = self.stops.check(Instant::now(), cpu_time(), calls_drivers) {
            self.schedule.clock.exclude_stop(stopped);
            let later = |at: Instant| at.checked_add(stopped).unwrap_or(at);
            self.choice.chosen_at = self.choice.chosen_at.map(later);
            self.filters.workers.exclude_stop(stopped);
            self.presenter.stop_ended = Some(Instant::now());
        }
        if self.filters.workers.status().awaits_build(self.choice.filter().0) {
            self.choice.unbuilt_at = Some(Instant::now());
        }
        let now = Choices::of(&self.schedule, &self.choice, &self.wipe);
        self.filters.compares = now.compares;
        let before = std::mem::replace(&mut self.applied, now);
        if now.interruptions != before.interruptions {
            self.recorder.mark_discontinuity();
            self.presenter.interrupt();
        }
        if before.is_paused && !now.is_paused && !self.shown_stays() {
            // When a pause ends, filtering the picture on the screen again is cancelled, so that the next frame comes first.
            let limit_ms = |replaces_shown| if replaces_shown { f64::NEG_INFINITY } else { f64::INFINITY };
            self.filters.cancel(|flight, _| limit_ms(flight.origin.replaces_shown));
        }
        if now == (Choices { is_paused: now.is_paused, interruptions: now.interruptions, ..before }) {
            return;
        }
        // Cancels filters that are not wanted any more. The picture on the screen may be filtered again: the next turn of the loop does
        // so if it stays there, and in a pause filters also the frames that are ready.
        self.filters.is_postponed = false;
        // A slider that moves or a key that is held must not keep every frame from being finished.
        let limit_ms = match () {
            () if now.filter == before.filter => f64::INFINITY,
            () if now.filter.0 != before.filter.0 => 0.0,
            () if self.presenter.last_present.is_none_or(|at| at.elapsed() > STARVATION_TIME) => {
                STARVED_NEARLY_DONE_MS
            }
            () => NEARLY_DONE_MS,
        };
        let second_limit_ms = match () {
            () if now.second == before.second => limit_ms,
            () if now.is_paused => 0.0,
            () => NEARLY_DONE_MS.min(limit_ms),
        };
        self.filters.cancel(|_, side| if side == WipeSide::First { limit_ms } else { second_limit_ms });
        if now.second.is_none() {
            self.filters.drop_second_sides();
        }
        self.handle_filter_events();
        self.refilter();
    }

    /// Allows a request that failed to be submitted again, and in a pause queues the ready frames to be filtered again.
    fn refilter(&mut self) {
        self.choice.failed = None;
        if self.schedule.is_paused() {
            let ready = self.presenter.remove(|ready| !ready.origin.replaces_shown);
            for (origin, slots) in ready.into_iter().map(ReadyFrame::into_parts) {
                self.filters.put_slots(slots);
                self.intake.give_up(origin, &self.schedule);
            }
        }
    }

    /// Takes the current movie out of the loop, so that it can be resumed at its position later. No movie plays after that.
    pub fn park(&mut self) -> ParkedMovie {
        let is_current = |origin: &&Origin| self.intake.is_current(origin);
        let flights = &self.filters.flights;
        let origins = self.presenter.origins().chain(flights.list.iter().map(|flight| &flight.origin));
        let frames = origins.filter(is_current).map(|origin| &origin.frame);
        let frames =
            frames.chain(&flights.comparing).chain(self.intake.returned.iter().map(|(frame, _)| frame));
        let frames: Vec<_> = frames.cloned().collect();
        frames.iter().for_each(|frame| drop(frame.packed.lock().take()));
        let parked = self.intake.park(frames);
        self.start_over(true);
        parked
    }

    /// Plays a movie in place of the current one. The picture on the screen stays until the first new picture is ready.
    pub fn play(&mut self, ParkedMovie { decoder, frames }: ParkedMovie) {
        ParkedMovie::new(std::mem::replace(&mut self.intake.decoder, decoder)).retire();
        self.start_over(true);
        self.intake.returned.extend(frames.into_iter().map(|frame| (frame, 0)));
    }

    /// Seeks in the movie. The picture on the screen stays until the first frame of the new position is ready, also during a pause.
    /// Returns true if the position exists.
    pub fn seek(&mut self, to: Seek) -> bool {
        let before = self.intake.decoder.generation();
        self.intake.decoder.seek(to);
        let has_sought = self.intake.decoder.generation() != before;
        if has_sought {
            // While the position is dragged, pictures come first.
            self.start_over(!matches!(to, Seek::Keyframe(_)));
        }
        has_sought
    }

    /// Drops all frames between the decoder and the screen. The next frame starts the movie's clock, with its sound if
    /// `with_sound` is true.
    fn start_over(&mut self, with_sound: bool) {
        // First, so that no dropped frame is taken again.
        self.intake.restart();
        self.filters.is_postponed = false;
        self.filters.cancel(|_, _| f64::NEG_INFINITY);
        self.filters.drop_second_sides();
        self.filters.give_up_pairs();
        self.handle_filter_events();
        // They are not of the current position any more.
        self.presenter.remove(|_| true).into_iter().for_each(|ready| self.present(ready));
        self.schedule.restart(with_sound);
        self.schedule.clock.interrupt();
        self.choice.failed = None;
    }

    /// Replaces the device and the thread that makes its calls; `None` removes the device. If the boolean is true, the window's
    /// thread makes the calls instead. The picture on the screen stays.
    pub fn set_device(&mut self, device: Option<(Pipeline, DeviceThread, bool)>) {
        self.abandon_device();
        let info = device.as_ref().map(|(pipeline, ..)| pipeline.cl.device.info.clone());
        if let Some((pipeline, thread, calls_here)) = device {
            // The failure of the former device is obsolete.
            self.failure = None;
            self.filters.workers.set_device(pipeline, thread, calls_here);
            self.schedule.clock.interrupt();
        }
        self.device_changes += 1;
        self.recorder.shown.device_changed(self.device_changes, info);
        self.choice.failed = None;
    }

    /// Marks all pictures so far as outdated, because the programs that made them have been replaced. Frames that are not due
    /// yet are filtered again. So is the picture on the screen if no other picture is about to replace it.
    pub fn outdate_pictures(&mut self) {
        self.presenter.frames_mut().for_each(|ready| ready.origin.is_outdated = true);
        self.filters.flights.list.iter_mut().for_each(|flight| flight.origin.is_outdated = true);
        self.refilter();
        let (intake, schedule) = (&self.intake, &self.schedule);
        let outdated = self.presenter.remove(|ready| needs_resubmit(ready, intake, schedule));
        outdated.into_iter().for_each(|ready| self.present(ready));
    }

    /// Records that this variant uses other kernels from the next frame on. `version` is the number of their version, or `None`
    /// if the version has not changed. If `differs` is true, the pictures of these kernels differ from the reference, and their
    /// times are left out of the statistics. If no other picture is about to replace the one on the screen, that one is
    /// filtered again.
    pub fn kernels_changed(&mut self, variant: VariantId, version: Option<u64>, differs: bool) {
        if let Some(version) = version {
            self.choice.versions.insert(variant, version);
        }
        self.recorder.shown.kernels_changed(variant, self.choice.version(variant), differs);
        let is_second = self.wipe.second().is_some_and(|second| second.is_running(variant));
        if self.choice.filter().0 == variant || is_second {
            self.outdate_pictures();
        }
    }
}
