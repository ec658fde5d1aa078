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
mod opening;
mod recovery;
mod running;
mod selection;
mod silence;
mod statuses;

use std::time::{Duration, Instant};

use super::PlayerContext;
use crate::app::builder::{Builder, BuilderMessage, Part, Request};
use crate::app::kernels::CurrentSources;
use base::error::{Error, Result};
use base::jobs::Job;
use box_filter::{OWN_FILE, VariantId};
use builds::Builds;
use candidate::Candidate;
use compute::BackEnd;
use engine::frame_loop::{FrameLoop, VariantStatus};
use engine::sharing::Sharing;
use list::DeviceList;
use opencl::cl::{Device, is_device_failure};
use opencl::watch;
use opening::{DeviceOpening, PreparedDevice};
use overlay::DeviceRow;
use recovery::{DeviceFailure, Recovery};
use running::RunningDevice;
use silence::SilenceNotice;
use statuses::Statuses;

/// The state of all OpenCL devices: the list of devices, the device in use, the device that is to replace it, and the builder.
pub(super) struct Devices {
    pub(super) list: DeviceList,
    pub(super) running: RunningDevice,
    pub(super) candidate: Candidate,
    pub(super) builds: Builds,
    pub(super) recovery: Recovery,
    silence: SilenceNotice,
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
        Self {
            list: DeviceList::default(),
            running: RunningDevice::new(Statuses::new(frames, sources)),
            candidate: Candidate::default(),
            builds: Builds::new(builder),
            recovery: Recovery::default(),
            silence: SilenceNotice::default(),
            named,
        }
    }

    /// Processes new results of the jobs that find devices, build programs and test sharing; opens and prepares the requested
    /// device. Must be called in each turn of the event loop.
    pub(crate) fn update(&mut self, cx: &mut PlayerContext) {
        while let Some(message) = self.builds.poll() {
            self.take_built(message, cx);
        }
        self.builds.report_shown(cx);
        self.list.poll_tests(cx);
        self.choose_first(cx);
        if let Some(device) = self.candidate.to_open()
            && self.list.may_share(&device).is_some()
        {
            self.candidate.clear();
            match DeviceOpening::start(&device, true, &self.list, cx) {
                Ok(opening) => self.candidate.open(opening),
                Err(failure) => self.candidate_failed(failure, cx),
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

    /// Returns true if the context of the first device is being created.
    pub(crate) fn is_opening_first(&self) -> bool {
        self.candidate.opening().is_some() && self.running.device().is_none()
    }

    /// Returns true if clreel is still searching for devices or preparing one, so that a device may still come into use.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.list.is_complete || self.candidate.is_some()
    }

    /// Returns true if edited kernels can be validated now: a device is in use, and no other one is being prepared.
    pub(crate) fn can_judge(&self) -> bool {
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
                self.builds.request(Request::Again(id));
            }
            _ => {}
        }
        self.builds.prefer(id);
        self.recovery.forget_variant();
        Ok(())
    }

    /// Adds the user's own kernel to the variants or removes it, for the device in use and for the prepared device.
    pub(crate) fn update_own_row(&mut self, has_own: bool) {
        self.running.statuses.update_own_row(has_own);
        if let Some(prepared) = self.candidate.prepared_mut() {
            prepared.statuses.update_own_row(has_own);
        }
    }

    /// Returns the overlay's row for each device; `None` until the devices are known.
    pub(crate) fn rows(&self) -> Option<Vec<DeviceRow<'_>>> {
        let index = |device: &Device| device.info.index;
        self.list.rows(self.running.device().map(index), self.candidate.device().map(index))
    }

    /// Ends the builder, and drops the device that is being opened or prepared. Returns true if the builder has ended, so that
    /// it makes no driver calls any more.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        let idle = self.builds.shut_down();
        self.candidate.clear();
        idle
    }

    /// Processes a message of the builder.
    fn take_built(&mut self, message: BuilderMessage, cx: &mut PlayerContext) {
        match message {
            BuilderMessage::Devices(devices) => self.found(devices, cx),
            BuilderMessage::Failed(error) => {
                self.running.statuses.fail_building(&error);
                if let Some(prepared) = self.candidate.prepared_mut() {
                    prepared.statuses.fail_building(&error);
                }
                cx.notify(error, true);
                if !self.list.is_complete {
                    self.found(Vec::new(), cx);
                }
            }
            BuilderMessage::For(number, part) => {
                let prepared =
                    self.candidate.prepared_mut().filter(|prepared| prepared.start.number == number);
                if let Some(prepared) = prepared {
                    prepared.add(part);
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
        self.running.statuses.fail_opencl(error);
        if cx.frames.choice.filter().0.back_end() == BackEnd::OpenCl {
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
        self.running.abandon();
        self.candidate.clear();
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
                Ok(opening) => return self.candidate.open(opening),
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
        self.builds.avoid_stalled(self.candidate.prepared(), cx);
        match self.candidate.poll_opening(&mut self.list, cx) {
            Ok(Some(prepared)) => {
                self.builds.start(prepared.start.clone(), cx);
                self.recovery.opened(&prepared.device, &prepared.sharing, cx);
            }
            Ok(None) => {}
            Err(failure) => self.candidate_failed(failure, cx),
        }
    }

    /// Makes the prepared device the device in use once the chosen variant is built for it. Rejects the prepared device if that
    /// variant is unavailable on it.
    fn promote_if_ready(&mut self, cx: &mut PlayerContext) {
        let chosen = cx.frames.choice.filter().0;
        let is_ready = |prepared: &PreparedDevice| {
            chosen.back_end() != BackEnd::OpenCl || prepared.held.has_built(chosen)
        };
        if self.running.device().is_none() || self.candidate.prepared().is_some_and(is_ready) {
            self.promote(cx);
        }
        if let Some(prepared) = self.candidate.prepared()
            && let Some(VariantStatus::Unavailable(error)) = prepared.statuses.get(chosen)
        {
            let shared = prepared.sharing == Sharing::ZeroCopy;
            let failure = DeviceFailure::new(&prepared.device, error.clone(), shared);
            self.candidate.clear();
            self.candidate_failed(failure, cx);
        }
        // Nothing is to be waited for if the chosen variant needs no OpenCL or has been built.
        if chosen.back_end() != BackEnd::OpenCl || cx.frames.filters.workers.status().has_built(chosen) {
            cx.frames.waits_for_filter = false;
            if self.running.device().is_some() {
                self.recovery.confirm(cx);
                if let Some(variant) = self.recovery.take_variant()
                    && cx.frames.choice.filter().0 == VariantId::OFF
                    && cx.or_notify(self.prefer(variant)).is_some()
                {
                    cx.frames.choice.choose(variant, cx.frames.choice.filter().1);
                }
            }
        }
    }

    /// Makes the prepared device the device in use, in place of the previous one.
    fn promote(&mut self, cx: &mut PlayerContext) {
        let Some(mut prepared) = self.candidate.take_prepared() else { return };
        self.list.set_failure(prepared.device.info.index, None);
        let Some(device) = prepared.held.0.take() else { return };
        cx.frames.set_device(Some(device));
        if prepared.start.number > 1 && !cx.overlay.is_device_list_visible() {
            cx.overlay.show_message(format!("OpenCL device: {}", prepared.device.info.name));
        }
        self.running.replace(prepared);
        cx.repaints.redraw_soon();
    }

    /// Shows which driver does not respond. Stops using the device in use, and stops opening the device that is being opened,
    /// if its thread has been in one driver call for too long. (Builds have timeouts of their own.) Returns the time at which
    /// to call this function again; `None` if no driver is in a call.
    pub(crate) fn check_unresponsive_drivers(&mut self, cx: &mut PlayerContext) -> Option<Instant> {
        let opening = self.candidate.opening().map(|opening| &opening.device);
        let prepared = self.candidate.prepared().map(|prepared| &prepared.device);
        let awaited = [self.running.device(), opening, prepared];
        let is_choosing = !self.list.is_complete || self.candidate.is_first();
        // While drivers are asked for their devices, the device's name is empty.
        let is_awaited = |name: &str| {
            let mut awaited = awaited.into_iter().flatten();
            awaited.any(|device| device.info.name == name) || name.is_empty() && is_choosing
        };
        let next = self.silence.update(is_awaited, cx);
        let limit = cx.args.trial.timeouts.device_timeout;
        let timed_out = |device: &Device, call, silent| watch::timed_out(&device.info.name, call, silent);
        let silent = cx.frames.filters.workers.silent_for();
        if watch::is_given_up(silent, limit)
            && let Some(running) = self.running.device()
        {
            self.running_failed(timed_out(running, "a frame is filtered", silent), true, cx);
        }
        let silent = self.candidate.opening().map_or(Duration::ZERO, |opening| opening.elapsed(cx));
        if watch::is_given_up(silent, limit)
            && let Some(opening) = self.candidate.take_opening()
        {
            let failure = opening.failed(timed_out(&opening.device, "a context is made", silent));
            self.candidate_failed(DeviceFailure { is_silent: true, ..failure }, cx);
        }
        next
    }
}

/// Returns the error for when the user chooses the own kernel and its file does not exist.
pub(super) fn no_own_kernel_error() -> Error {
    Error::new(
        "There is no kernel of your own.",
        format!("The folder of kernels has no {OWN_FILE}."),
        "The key e shows that folder, or makes one; write the file there: kernels/README.md has its arguments.",
    )
}
