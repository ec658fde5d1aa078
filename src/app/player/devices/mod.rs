//! The OpenCL device that filters the movie: its selection, its replacement after a failure, and the programs that are built
//! for it.
//!
//! A device is prepared while another one runs: the movie continues, and the new pipeline replaces the old one only when the
//! chosen variant is built. So nothing changes if the new device cannot be used.
//!
//! [`DeviceList`] has the machine's devices and the results of sharing tests, [`RunningDevice`] the device in use,
//! [`Candidate`] the device that is to replace it, [`Builds`] the builder, and [`Recovery`] the attempts after a failure. Each
//! part owns its fields; [`Devices`] passes the results of one to the others.

mod builds;
mod candidate;
mod list;
mod recovery;
mod running;

use std::time::{Duration, Instant};

use super::PlayerContext;
use crate::app::builder::{Builder, BuilderMessage, News, Part, Request};
use crate::app::kernels::CurrentSources;
use base::error::{Error, Result};
use base::jobs::Job;
use box_filter::{OWN_FILE, VariantId};
use builds::Builds;
use candidate::{Candidate, DeviceOpening, PreparedDevice};
use compute::BackEnd;
use engine::frame_loop::FrameLoop;
use list::DeviceList;
use opencl::cl::{Device, is_device_failure};
use opencl::clock::Clock;
use opencl::watch;
use overlay::Notice;
use recovery::{DeviceFailure, Recovery};
use running::{RunningDevice, Statuses};
use stats::{Sharing, VariantStatus};

/// The time that a driver may spend in one call before the user is told that it does not respond.
const NOTICE_DELAY: Duration = Duration::from_millis(1500);

/// The state of all OpenCL devices: the list of devices, the device in use, the device that is to replace it, and the builder.
pub(super) struct Devices {
    pub list: DeviceList,
    pub running: RunningDevice,
    pub candidate: Candidate,
    pub builds: Builds,
    pub recovery: Recovery,
    /// The number of contexts that were opened so far; numbers new contexts.
    contexts: u64,
    /// The message that tells the user that a driver does not respond; `None` while all drivers respond.
    silence: Option<Error>,
    /// The device that the command line selects; `None` if it selects none.
    named: Option<Device>,
}

impl Devices {
    /// Creates the state before any device is in use. `named` is the device that the command line selects. If `sources` contain
    /// the user's own kernel, that kernel is offered as a variant.
    pub(crate) fn new(
        builder: Builder,
        named: Option<Device>,
        frames: &FrameLoop,
        sources: &CurrentSources,
    ) -> Self {
        let (in_use, info, clock, has_reported) = (None, None, Clock::default(), false);
        let (statuses, sharing) = (Statuses::new(frames, sources), Sharing::copy("OpenCL is not there yet"));
        let running = RunningDevice { in_use, info, clock, statuses, sharing, has_reported };
        Self {
            list: DeviceList::default(),
            running,
            candidate: Candidate::default(),
            builds: Builds { builder, news: Vec::new(), unseen: None, wiped_on: None, restarts: 0 },
            recovery: Recovery::default(),
            contexts: 0,
            silence: None,
            named,
        }
    }

    /// Processes new results of the jobs that find devices, build programs and test sharing; opens and prepares the requested
    /// device. Must be called in each turn of the event loop.
    pub(crate) fn update(&mut self, cx: &mut PlayerContext) {
        while let Some(message) = self.builds.builder.poll() {
            self.take_built(message, cx);
        }
        self.builds.report_shown(cx);
        self.list.poll_tests(cx);
        if matches!(self.candidate, Candidate::First) {
            // The device that the command line selects, or the best device.
            match self.named.clone().map(Ok).or_else(|| self.list.first_device(cx)) {
                Some(Ok(device)) => self.candidate = Candidate::Requested { device, is_drawn: true },
                Some(Err(error)) => {
                    self.candidate = Candidate::None;
                    self.mark_opencl_unavailable(&error, cx);
                    cx.notify(error, true);
                }
                None => {}
            }
        }
        if let Candidate::Requested { device, is_drawn: true } = &self.candidate
            && self.list.may_share(device).is_some()
        {
            match DeviceOpening::start(device, true, &self.list, cx) {
                Ok(opening) => self.candidate = Candidate::Opening(opening),
                Err(failure) => {
                    self.candidate = Candidate::None;
                    self.candidate_failed(failure, cx);
                }
            }
        }
        self.poll_opening(cx);
        self.promote_if_ready(cx);
        self.builds.request_missing(&self.candidate, cx);
    }

    /// Requests the programs that frames need and that are missing, and replaces the device if a frame has failed on it.
    pub(crate) fn handle_frame_needs(&mut self, cx: &mut PlayerContext) {
        self.builds.request_missing(&self.candidate, cx);
        let Some(error) = cx.frames.failure.take() else { return };
        let Some(device) = self.running.device() else {
            return cx.notify(error, true);
        };
        let what = format!("The OpenCL device '{}' failed in the middle of a frame.", device.info.name);
        self.running_failed(Error::new(what, error.why, ""), false, cx);
    }

    /// Returns true if clreel is still searching for devices or preparing one, so that a device may still come into use.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.list.is_complete || !matches!(self.candidate, Candidate::None)
    }

    /// Returns true if edited kernels can be validated now: a device is in use, and no other one is being prepared.
    pub(crate) fn can_validate(&self) -> bool {
        self.running.device().is_some() && self.candidate.device().is_none()
    }

    /// Makes the builder build the variant that the user has chosen before all others. If the device failed with the variant
    /// before, builds the variant again, since memory may be free now.
    ///
    /// # Errors
    /// If the variant is unavailable; the error says why.
    pub(crate) fn prefer(&mut self, id: VariantId) -> Result<()> {
        let has_device = self.running.device().is_some();
        match self.running.statuses.get(id) {
            None if id.is_own() => return Err(no_own_kernel_error()),
            Some(VariantStatus::Unavailable(error)) if !is_device_failure(error) || !has_device => {
                return Err(error.clone());
            }
            Some(VariantStatus::Unavailable(_)) => {
                self.running.statuses.set(id, VariantStatus::Building);
                self.builds.builder.request(Request::Again(id));
            }
            _ => {}
        }
        self.builds.builder.prefer(id);
        // The user has chosen another variant than the one that was to be chosen again.
        self.recovery.variant_to_restore = None;
        Ok(())
    }

    /// Adds the user's own kernel to the variants or removes it, for the device in use and for the prepared device.
    pub(crate) fn update_own_row(&mut self, has_own: bool) {
        self.running.statuses.update_own_row(has_own);
        if let Candidate::Prepared(prepared) = &mut self.candidate {
            prepared.statuses.update_own_row(has_own);
        }
    }

    /// Returns the status of a variant on the device in use; `None` if it is not offered.
    pub(crate) fn status(&self, id: VariantId) -> Option<&VariantStatus> {
        self.running.statuses.get(id)
    }

    /// Offers the variants of the selected filter, on the device in use and on the prepared device.
    pub(crate) fn list_selected(&mut self) {
        self.running.statuses.list_selected();
        if let Candidate::Prepared(prepared) = &mut self.candidate {
            prepared.statuses.list_selected();
        }
    }

    /// Ends the builder, and drops the device that is being opened or prepared. Returns true if the builder has ended, so that
    /// it makes no driver calls any more.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        let has_ended = self.builds.builder.shut_down();
        self.candidate = Candidate::None;
        has_ended
    }

    /// Processes a message of the builder.
    fn take_built(&mut self, message: BuilderMessage, cx: &mut PlayerContext) {
        match message {
            BuilderMessage::Devices(devices) => self.found(devices, cx),
            BuilderMessage::Failed(error) => {
                self.running.statuses.fail_building(&error);
                if let Candidate::Prepared(prepared) = &mut self.candidate {
                    prepared.statuses.fail_building(&error);
                }
                cx.notify(error, true);
                if !self.list.is_complete {
                    self.found(Vec::new(), cx);
                }
            }
            BuilderMessage::For(number, part) => {
                if let Candidate::Prepared(prepared) = &mut self.candidate
                    && prepared.start.number == number
                {
                    if let News::Variant(id, made) = part.news {
                        let status = made.err().map_or(VariantStatus::Ready, VariantStatus::Unavailable);
                        prepared.statuses.set(id, status);
                    }
                    if let Some((pipeline, ..)) = &mut prepared.held.0 {
                        (part.install)(pipeline);
                    }
                } else if self.running.number() == Some(number) {
                    self.add_to_running(part, cx);
                } else {
                    // Programs for a device that is no longer used are released on another thread, since releasing them may
                    // stall.
                    let release = move |_: &_| {
                        drop(part);
                        Ok(())
                    };
                    let _released = Job::<()>::spawn("release", "", &cx.waker, release);
                }
            }
        }
        cx.repaints.redraw_with_next_frame();
    }

    /// Adds the programs of a builder's result to the pipeline of the device in use, and handles a failure of the device.
    fn add_to_running(&mut self, part: Part, cx: &mut PlayerContext) {
        let failed = self.builds.add_to_running(part, &mut self.running, cx);
        if let (Some((id, error)), Some(device)) = (failed, self.running.device()) {
            let what =
                format!("The OpenCL device '{}' failed when '{id}' was tried on it.", device.info.name);
            self.running_failed(Error::new(what, error.why, ""), false, cx);
        }
    }

    /// Marks all OpenCL variants as unavailable because of this error, and chooses `off` (no filter) if one of them was chosen.
    fn mark_opencl_unavailable(&mut self, error: &Error, cx: &mut PlayerContext) {
        let statuses = &mut self.running.statuses;
        statuses.validating.1.clear();
        for id in statuses.with_opencl() {
            statuses.set(id, VariantStatus::Unavailable(error.clone()));
        }
        if cx.chosen().back_end() == BackEnd::OpenCl {
            cx.choose_off();
        }
    }

    /// Handles the failure of the device that was to replace the device in use. The device in use stays; if there is none,
    /// another device is opened.
    fn candidate_failed(&mut self, failure: DeviceFailure, cx: &mut PlayerContext) {
        let Some(running) = self.running.device() else {
            return self.recover(failure, cx);
        };
        let hint = format!("clreel goes on with '{}'.", running.info.name);
        self.list.set_failure(failure.device, Some(&failure.error));
        self.builds.restart(&mut self.running, cx);
        cx.notify(Error { hint, ..failure.error }, true);
    }

    /// Handles the failure of the device in use; `is_silent` is true if the device does not respond.
    fn running_failed(&mut self, error: Error, is_silent: bool, cx: &mut PlayerContext) {
        let Some(device) = self.running.device() else { return };
        let shared = self.running.sharing == Sharing::ZeroCopy;
        let failure = DeviceFailure::new(device, error, shared);
        self.recover(DeviceFailure { is_silent, ..failure }, cx);
    }

    /// Stops using the device that has failed, and opens another one. If no device is left, reports that.
    fn recover(&mut self, mut failure: DeviceFailure, cx: &mut PlayerContext) {
        self.running.in_use = None;
        self.candidate = Candidate::None;
        // The next attempt may need the memory of the failed device.
        cx.frames.set_device(None);
        loop {
            self.list.set_failure(failure.device, Some(&failure.error));
            let indices = self.list.devices().map(|device| device.info.index);
            let next = self.recovery.next(&failure, indices);
            let Some((device, share)) =
                next.and_then(|(index, share)| Some((self.list.device(index)?, share)))
            else {
                break;
            };
            match DeviceOpening::start(device, share, &self.list, cx) {
                Ok(opening) => {
                    self.candidate = Candidate::Opening(opening);
                    return;
                }
                Err(other) => failure = other,
            }
        }
        if let Some(error) = self.recovery.give_up(cx) {
            self.mark_opencl_unavailable(&error, cx);
        }
    }

    /// Checks, without blocking, whether the device that is being opened has its context. If it has, starts to build programs
    /// for it. If opening has failed, opens another device or continues with the device in use. Also replaces the builder's
    /// thread if that does not return from a driver call for the previous device.
    fn poll_opening(&mut self, cx: &mut PlayerContext) {
        if let Candidate::Prepared(prepared) = &self.candidate
            && self.builds.builder.is_stalled_for_other(prepared.start.number)
        {
            self.builds.start(prepared.start.clone(), cx);
        }
        if let Some(opened) = self.candidate.opening().and_then(|opening| opening.poll(&cx.gl_window.gl))
            && let Candidate::Opening(opening) = std::mem::take(&mut self.candidate)
        {
            match opened {
                Ok(opened) => {
                    self.contexts += 1;
                    let prepared = opening.prepare(opened, self.contexts, &mut self.list, cx);
                    self.builds.start(prepared.start.clone(), cx);
                    self.recovery.opened(&prepared.device, &prepared.sharing, cx);
                    self.candidate = Candidate::Prepared(Box::new(prepared));
                }
                Err(error) => self.candidate_failed(opening.failed(error), cx),
            }
        }
    }

    /// Makes the prepared device the device in use once the chosen variant is built for it. Rejects the prepared device if that
    /// variant is unavailable on it.
    fn promote_if_ready(&mut self, cx: &mut PlayerContext) {
        let chosen = cx.chosen();
        if let Candidate::Prepared(prepared) = &self.candidate
            && (self.running.device().is_none()
                || chosen.back_end() != BackEnd::OpenCl
                || prepared.held.0.as_ref().is_some_and(|(of, ..)| of.variants.has((chosen, None))))
            && let Candidate::Prepared(mut prepared) = std::mem::take(&mut self.candidate)
            && let Some(device) = prepared.held.0.take()
        {
            self.list.set_failure(prepared.device.info.index, None);
            cx.frames.set_device(Some(device));
            if prepared.start.number > 1 && !cx.overlay.is_device_list_visible() {
                cx.overlay.show_message(format!("OpenCL device: {}", prepared.device.info.name));
            }
            let PreparedDevice { device, statuses, sharing, start, .. } = *prepared;
            let (info, clock) = (Some(device.info.clone()), start.cl.clock().clone());
            let in_use = Some((device, start.number));
            self.running = RunningDevice { in_use, info, clock, statuses, sharing, has_reported: false };
            cx.repaints.redraw_soon();
        }
        if let Candidate::Prepared(prepared) = &self.candidate
            && let Some(VariantStatus::Unavailable(error)) = prepared.statuses.get(chosen)
        {
            let shared = prepared.sharing == Sharing::ZeroCopy;
            let failure = DeviceFailure::new(&prepared.device, error.clone(), shared);
            self.candidate = Candidate::None;
            self.candidate_failed(failure, cx);
        }
        // Nothing is to be waited for if the chosen variant needs no OpenCL or has been built.
        if chosen.back_end() != BackEnd::OpenCl || cx.frames.filters.workers.status().has_built(chosen) {
            cx.frames.waits_for_filter = false;
            if self.running.device().is_some() {
                self.recovery.confirm(cx);
                if let Some(variant) = self.recovery.variant_to_restore.take()
                    && cx.chosen() == VariantId::OFF
                    && cx.or_notify(self.prefer(variant)).is_some()
                {
                    cx.frames.choice.choose_variant(variant);
                }
            }
        }
    }

    /// Shows which driver does not respond. Stops using the device in use, and stops opening the device that is being opened,
    /// if its thread has been in one driver call for too long. (Builds have timeouts of their own.) Returns the time at which
    /// to call this function again; `None` if no driver is in a call.
    pub(crate) fn check_unresponsive_drivers(&mut self, cx: &mut PlayerContext) -> Option<Instant> {
        let is_requested = matches!(self.candidate, Candidate::Requested { .. });
        let awaited = [self.running.device(), self.candidate.device().filter(|_| !is_requested)];
        let is_choosing = !self.list.is_complete || matches!(self.candidate, Candidate::First);
        // While drivers are asked for their devices, the device's name is empty.
        let is_awaited = |name: &str| {
            let mut awaited = awaited.into_iter().flatten();
            awaited.any(|device| device.info.name == name) || name.is_empty() && is_choosing
        };
        let silent = watch::longest_overdue(NOTICE_DELAY, is_awaited);
        let error = silent.map(|(device, what, _)| watch::not_responding(&device, what, NOTICE_DELAY));
        if error != self.silence {
            if let Some(before) = &self.silence {
                cx.notices.hide(before);
            }
            if let Some(error) = error.clone() {
                // The notice precedes all others, since it explains why the picture does not change.
                cx.notices.all.insert(0, Notice { error, serious: true });
            }
            self.silence = error;
            cx.repaints.redraw_soon();
        }
        let limit = cx.args.trial.timeouts.device_timeout;
        let timed_out = |device: &Device, call, silent| watch::timed_out(&device.info.name, call, silent);
        let silent = cx.frames.filters.workers.silent_for();
        if watch::is_given_up(silent, limit)
            && let Some(running) = self.running.device()
        {
            self.running_failed(timed_out(running, "a frame is filtered", silent), true, cx);
        }
        if let Some(opening) = self.candidate.opening()
            && let silent = opening.elapsed(cx)
            && watch::is_given_up(silent, limit)
        {
            let failure = opening.failed(timed_out(&opening.device, "a context is made", silent));
            self.candidate = Candidate::None;
            self.candidate_failed(DeviceFailure { is_silent: true, ..failure }, cx);
        }
        watch::next_check(NOTICE_DELAY)
    }

    /// Stores the list of the machine's devices, as found by the builder.
    fn found(&mut self, devices: Vec<Device>, cx: &mut PlayerContext) {
        if devices.is_empty() {
            self.running.sharing = Sharing::copy("there is no OpenCL device");
        }
        self.list.fill(devices, cx);
        self.candidate = Candidate::First;
    }

    /// Requests the device after the current one in the list; if the list has only one device, opens that device again.
    pub(crate) fn next_device(&mut self, cx: &mut PlayerContext) {
        // A second press of the key changes to the device after the requested one.
        let current = self.candidate.device().or(self.running.device()).map(|device| device.info.index);
        let count = self.list.devices().count();
        if count == 0 {
            let why = "No OpenCL device was found when clreel started.";
            return cx.notify(Error::new("There is no device to change to.", why, ""), false);
        }
        let at = self.list.devices().position(|device| Some(device.info.index) == current);
        self.set_device(at.map_or(0, |at| (at + 1) % count), cx);
        if count == 1 {
            cx.overlay.show_message("There is no other OpenCL device: this one is started anew".to_owned());
        }
    }

    /// Requests the device at this position of the list, which is opened after the next redraw of the window. If it cannot be
    /// used, the device in use stays.
    pub(crate) fn set_device(&mut self, position: usize, cx: &mut PlayerContext) {
        let Some(device) = self.list.devices().nth(position).cloned() else { return };
        self.recovery.end(cx);
        self.candidate = Candidate::Requested { device, is_drawn: false };
        cx.overlay.panels.show_devices();
    }
}

/// Returns the error for when the user chooses the own kernel and its file does not exist.
pub(super) fn no_own_kernel_error() -> Error {
    Error::new(
        "There is no kernel of your own.",
        format!("The kernels in use have no {OWN_FILE}."),
        "The panel Kernels (key e) writes one with its button Make own.cl; a folder of earlier edits is opened there, too.",
    )
}
