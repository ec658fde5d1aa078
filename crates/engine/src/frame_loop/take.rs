//! Takes frames to be filtered, and handles the frames that leave the filter queue.

use std::sync::Arc;
use std::time::Instant;

use super::FrameLoop;
use super::choice::Filter;
use super::filter_queue::FilterEvent;
use super::flights::{Flight, Origin, Pass, ReadyFrame, Step};
use super::intake::Intake;
use super::schedule::Schedule;
use super::wipe::{SecondFilter, must_take_turns};
use box_filter::VariantId;
use stats::{Request, Stage, Stages};
use video::{Frame, Seek};

/// The maximum number of frames between the decoder and the screen.
const MAX_AHEAD: usize = 2;

impl FrameLoop {
    /// Submits one frame if one is due and there is room for it. Returns true if another frame may be submitted at once.
    pub(super) fn submit(&mut self) -> bool {
        self.intake.decoder.set_staging(self.filters.workers.staging().cloned());
        let beside = self.wipe.second().map(|second| self.choice.frames(second.filter));
        let earlier = self.choice.frames(self.choice.filter()).max(beside.unwrap_or(1)) - 1;
        self.intake.decoder.set_earlier(earlier);
        // Before frames are dropped as late.
        self.update();
        if self.filters.workers.is_holding() {
            if std::mem::take(&mut self.is_hold_announced) {
                self.filters.workers.start_held();
            }
            return false;
        }
        // Only the next frame that is held back is to be announced.
        self.is_hold_announced = false;
        if let Some(may_follow) = self.filters.submit_second() {
            self.handle_filter_events();
            return may_follow;
        }
        // What was built may be what the next frame needs.
        if self.filters.is_postponed || self.filters.workers.is_installing() {
            return false;
        }
        let began = Instant::now();
        // Fixed for this frame, whatever is chosen meanwhile.
        let request = self.choice.current_request(self.filters.workers.status());
        let interval_ns = self.presenter.screen.frame_interval_ns();
        let taken = match self.shown_to_refilter(&request) {
            Some(_) if self.filters.is_busy() => None,
            Some(frame) => Some((frame, true)),
            None if !self.has_room() => None,
            None => self.intake.take(&self.schedule, interval_ns).map(|frame| (frame, false)),
        };
        let Some((frame, replaces_shown)) = taken else { return false };
        let second = self.wipe.request(&self.choice, self.filters.workers.status());
        let frames = request.frames().max(second.map_or(1, |second| second.frames()));
        if self.seek_for_earlier(&frame, frames - 1) {
            return false;
        }
        let mut stages = Stages::default();
        stages.record(Stage::Take, began);
        let dropped_before = if replaces_shown { 0 } else { std::mem::take(&mut self.intake.dropped) };
        let (generation, device) = (self.intake.generation, self.device_changes);
        let origin = Origin { frame, dropped_before, generation, device, replaces_shown, is_outdated: false };
        let pass = |request: Request, stages, chosen: Option<Filter>| {
            let version = request.version.unwrap_or_else(|| self.choice.version(request.variant));
            let waits_for = chosen.filter(|_| self.filters.waits_for_conversions);
            let waits_for = waits_for.map(|filter| self.choice.wanted(filter));
            Pass { request, version, stages, waits_for, step: Step::Due }
        };
        let first = pass(request, stages, Some(self.choice.filter()));
        let chosen_second = self.wipe.second().map(|second| second.filter);
        let second = second.map(|request| pass(request, Stages::default(), chosen_second));
        self.filters.submit(Flight { origin, first, second });
        self.handle_filter_events();
        true
    }

    /// Seeks to `frame` if it lacks pictures of this number of earlier frames, because it was decoded before they were needed. Returns true if the frame will come again, with these pictures.
    fn seek_for_earlier(&mut self, frame: &Frame, earlier: usize) -> bool {
        let sought = (self.intake.generation, earlier);
        // A picture that cannot be decoded would be sought forever.
        if frame.earlier.reaches(earlier) || self.intake.sought_earlier == Some(sought) {
            return false;
        }
        self.intake.decoder.set_earlier(earlier);
        let has_sought = self.seek(Seek::Exact(frame.movie_s));
        self.intake.sought_earlier = Some((self.intake.generation, earlier));
        has_sought
    }

    /// Returns the frame on the screen if it stays there and should be filtered again: the request `wanted` differs from the
    /// one that made its picture, the device has changed, or the picture is outdated.
    pub(super) fn shown_to_refilter(&self, wanted: &Request) -> Option<Arc<Frame>> {
        // Not while the first picture of another movie is on its way.
        let shown = self.presenter.screen.shown().filter(|shown| self.intake.is_current(&shown.origin))?;
        if !self.shown_stays() {
            return None;
        }
        let request = &shown.picture.request;
        let is_satisfied = wanted.makes_same_picture(request)
            // The window shows the times next to the device's name, so they must be that device's.
            && shown.origin.device == self.device_changes
            // Readings that are not wanted any more do no harm.
            && (request.measurements.readings || !wanted.measurements.readings)
            && self.wipe.is_satisfied(shown.second.as_ref(), &self.choice, self.filters.workers.status());
        if is_satisfied && !shown.origin.is_outdated || self.choice.failed.as_ref() == Some(wanted) {
            return None;
        }
        let flights = &self.filters.flights;
        let in_filters = flights.list.iter().map(|flight| &flight.origin);
        let ready = self.presenter.ready.iter().map(|ready| &ready.origin);
        let is_on_its_way =
            in_filters.chain(ready).any(|origin| origin.replaces_shown && !origin.is_outdated);
        let is_second =
            flights.comparing.is_some() || flights.list.iter().any(|flight| flight.second.is_some());
        (!is_on_its_way && !is_second).then(|| shown.origin.frame.clone())
    }

    /// Returns true if another frame may be taken from the decoder. Before the first picture is on the screen, only one frame may be on
    /// its way there, also during a pause.
    pub(super) fn has_room(&self) -> bool {
        let ready = self.presenter.ready.len();
        let ahead = ready + self.filters.flights.count();
        let has_started = self.schedule.has_started;
        let limit = if has_started { MAX_AHEAD } else { 1 };
        // Only one frame may be filtered at a time if one of the two filters uses no OpenCL.
        let takes_turns = |second: SecondFilter| must_take_turns([self.choice.filter().0, second.filter.0]);
        let is_others_turn = self.wipe.second().is_some_and(takes_turns) && ahead > ready;
        let status = self.filters.workers.status();
        let waits = self.waits_for_filter
            || self.waits_for_stack
            || self.filters.waits_for_conversions && self.wipe.must_wait(&self.choice, status)
            || self.schedule.is_paused() && has_started;
        ahead < limit && !waits && !is_others_turn && !self.filters.is_busy()
    }

    /// Handles the events of the filter queue: shows finished frames, takes dropped and refused ones back, and reports errors.
    pub(super) fn handle_filter_events(&mut self) {
        while let Some(event) = self.filters.events.pop_front() {
            match event {
                FilterEvent::Ready(ready) => self.present(ready),
                FilterEvent::Dropped(origin) => self.intake.give_up(origin, &self.schedule),
                FilterEvent::Refused(origin) => {
                    // The frame on the screen is taken again as long as it stays there.
                    if !origin.replaces_shown && self.intake.is_current(&origin) {
                        self.intake.resubmit(origin);
                    }
                }
                FilterEvent::FrameFailed(origin, request, error) => {
                    if origin.replaces_shown {
                        self.choice.failed = Some(request);
                    } else if self.intake.is_current(&origin) {
                        self.intake.dropped += origin.dropped_before + 1;
                    }
                    self.errors.push((None, error));
                }
                FilterEvent::VariantFailed(variant, error) => {
                    self.choice.disable(variant);
                    self.errors.push(((variant != VariantId::OFF).then_some(variant), error));
                }
                FilterEvent::WipeFailed(error) => self.wipe.end(error),
                FilterEvent::ComparisonFailed(error) => self.wipe.stop_comparing(error),
                FilterEvent::DeviceFailed(error) => {
                    // The movie is shown unfiltered until another device is set.
                    self.failure.get_or_insert(error);
                    self.abandon_device();
                }
            }
        }
    }

    /// Queues a filtered frame for the screen or, if its picture is outdated and there is time, to be filtered again. Drops the
    /// frame if it does not belong to the current movie position, or if it replaces a picture that is not on the screen any
    /// more.
    pub(super) fn present(&mut self, ready: ReadyFrame) {
        let origin = &ready.origin;
        let is_shown = |shown: &ReadyFrame| Arc::ptr_eq(&shown.origin.frame, &origin.frame);
        let is_wanted = !origin.replaces_shown || self.presenter.screen.shown().is_some_and(is_shown);
        let resubmits = needs_resubmit(&ready, &self.intake, &self.schedule);
        if !resubmits && is_wanted && self.intake.is_current(origin) {
            return match origin.replaces_shown {
                true => self.presenter.ready.push_front(ready),
                false => self.presenter.ready.push_back(ready),
            };
        }
        let (origin, slots) = ready.into_parts();
        self.filters.put_slots(slots);
        if resubmits {
            self.intake.resubmit(origin);
        } else {
            self.intake.give_up(origin, &self.schedule);
        }
    }

    /// Abandons the device, with the frames that it is filtering: removes it without waiting for its calls.
    pub(super) fn abandon_device(&mut self) {
        self.filters.collect();
        // Frames that have just been finished have memory objects of the device, too.
        self.handle_filter_events();
        // Pictures in host memory may lie in the device's pinned memory.
        self.presenter.upload_pictures();
        if !self.filters.workers.status().has_device() {
            return;
        }
        self.intake.decoder.set_staging(None);
        let slots = self.presenter.frames_mut().flat_map(ReadyFrame::slots_mut);
        let buffers = slots.map(|slot| slot.take_device_buffers(false)).collect();
        self.filters.abandon_device(buffers);
        self.handle_filter_events();
        // Packed planes of frames that go on belong to the device: they are released. Those that other threads still have
        // follow later.
        let frames = self.presenter.origins().map(|origin| &origin.frame);
        let in_filters = self.filters.flights.list.iter().map(|flight| &flight.origin.frame);
        let returned = self.intake.returned.iter().map(|(frame, _)| frame);
        let frames = frames.chain(in_filters).chain(&self.filters.flights.comparing).chain(returned);
        frames.for_each(|frame| drop(frame.packed.lock().take()));
    }
}

/// Returns true if a filtered frame should be filtered again instead of being shown: programs that made its picture have been replaced, and
/// there is time before the frame is due.
pub(super) fn needs_resubmit(ready: &ReadyFrame, intake: &Intake, schedule: &Schedule) -> bool {
    let origin = &ready.origin;
    let is_next = !origin.replaces_shown && intake.is_current(origin) && ready.second.is_none();
    origin.is_outdated && is_next && schedule.can_resubmit(&origin.frame, &ready.picture.stages)
}
