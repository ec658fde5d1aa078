//! What becomes of a device that fails. In: what failed on it, in the middle of a frame or when the chosen variant was
//! tried. Out: another device in its place, or none, and one banner that says so.
//!
//! The device is started anew once. If it fails again soon, clreel goes on without sharing, then on another device, then
//! unfiltered. What came of it is known only when the chosen variant has run: until then the banner says what is tried.

use std::time::Duration;

use super::{Devices, built};
use crate::app::player::With;
use base::error::Error;
use box_filter::VariantId;
use engine::frame_loop::VariantStatus;
use engine::sharing::Sharing;
use ladder::BackEnd;
use opencl::cl::Device;

/// A device that has worked for longer than this fails for the first time again.
const SOON: Duration = Duration::from_secs(30);

/// Failures that belong together.
#[derive(Default)]
pub(super) struct Recovery {
    /// What has been tried since the first of them: a device's index, and whether it was to share.
    attempts: Vec<(usize, bool)>,
    /// What is being tried: the failure, the device that has failed, and whether it shared.
    trying: Option<(Error, Device, bool)>,
    /// The failure that is being recovered from, and what is to be said when that has succeeded.
    under_way: Option<(Error, String)>,
    /// What the banner says.
    told: Option<Error>,
    /// Nothing filters any more.
    unfiltered: bool,
    /// The context for which it was told which variants failed.
    told_trials_of: u64,
}

impl Recovery {
    /// Leaves a device out: it does not answer.
    pub(super) fn not_again(&mut self, device: &Device) {
        self.attempts.extend([true, false].map(|share| (device.info.index, share)));
    }
}

impl Devices {
    /// Goes on after the device failed in the middle of a frame.
    pub(super) fn failed_in_frame(&mut self, error: Error, with: &mut With) {
        match self.running().cloned() {
            Some(device) => {
                let name = &device.info.name;
                let what = format!("The OpenCL device '{name}' failed in the middle of a frame.");
                self.recover(device, what, error.why, with);
            }
            None => with.notify(error, true),
        }
    }

    /// Goes on after the device failed when the chosen variant was tried on it.
    pub(super) fn failed_in_trial(&mut self, id: VariantId, error: &Error, with: &mut With) {
        let Some(device) = self.running().cloned() else {
            return;
        };
        let what = format!("The OpenCL device '{}' failed when '{id}' was tried on it.", device.info.name);
        self.recover(device, what, error.why.clone(), with);
    }

    /// Gives `failed` up, and tries what is left to try. `what` and `why` say how it failed.
    pub(super) fn recover(&mut self, failed: Device, what: String, why: String, with: &mut With) {
        let running = self.running.take();
        let worked = running.as_ref().and_then(|r| r.works_since).is_some_and(|since| since.elapsed() > SOON);
        if worked {
            self.recovery.attempts.clear();
        }
        self.let_go();
        // What is tried next may need its memory.
        with.frames.leave_device();
        let shared = running.is_none() || self.sharing == Sharing::ZeroCopy;
        self.note_failure(&failed, Some(&Error::new(what.clone(), why.clone(), "")));
        // The first failure is the one to tell, until something has worked.
        let under_way = self.recovery.under_way.take();
        let cause = under_way.map_or_else(|| Error::new(what, why, ""), |(cause, _)| cause);
        self.recovery.trying = Some((cause, failed, shared));
        self.try_next(with);
    }

    /// Tries what comes next, or says that nothing is left.
    pub(super) fn try_next(&mut self, with: &mut With) {
        let Some((cause, failed, shared)) = self.recovery.trying.take() else { return };
        while let Some((device, share)) = self.next_attempt(&failed, shared) {
            self.recovery.attempts.push((device.info.index, share));
            match self.open_instead(&device, share, with) {
                Ok(()) => {
                    self.recovery.trying = Some((cause, failed, shared));
                    return;
                }
                Err(error) => self.note_failure(&device, Some(&error)),
            }
        }
        let hint = match with.frames.chosen().0.back_end() {
            BackEnd::OpenCl => "The movie goes on unfiltered; Ctrl+D tries the next device.",
            _ => "Ctrl+D tries the next device.",
        };
        let error = Error { hint: hint.to_owned(), ..cause };
        self.without_opencl(&error, with);
        eprintln!("clreel: {error}");
        self.show_recovery(error, with);
        self.recovery.unfiltered = true;
    }

    /// What was tried has a context.
    pub(super) fn opened_instead(&mut self, device: &Device, with: &mut With) {
        let Some((cause, failed, shared)) = self.recovery.trying.take() else { return };
        let same = device.info.index == failed.info.index;
        // The test of sharing may have failed this time.
        let copies = shared && self.sharing != Sharing::ZeroCopy;
        let name = &device.info.name;
        let (tried, done) = match (same, copies) {
            (true, false) => ("clreel starts it anew.".to_owned(), "clreel has started it anew.".to_owned()),
            (true, true) => (
                "clreel starts it anew, and copies each frame.".to_owned(),
                "clreel goes on with it, but copies each frame.".to_owned(),
            ),
            (false, _) => (format!("clreel tries '{name}'."), format!("clreel goes on with '{name}'.")),
        };
        self.show_recovery(Error { hint: tried, ..cause.clone() }, with);
        self.recovery.under_way = Some((cause, done));
        self.recovery.unfiltered = false;
    }

    /// The chosen variant runs, or none that needs the device: what was tried has worked.
    pub(super) fn recovered(&mut self, with: &mut With) {
        if let Some((cause, hint)) = self.recovery.under_way.take() {
            let error = Error { hint, ..cause };
            eprintln!("clreel: {error}");
            self.show_recovery(error, with);
        } else if std::mem::take(&mut self.recovery.unfiltered) {
            self.hide_recovery(with);
        }
    }

    /// The user has chosen another device: what failed before has nothing to do with it. Also tells at the end of all what
    /// was being tried.
    pub(crate) fn end_recovery(&mut self, with: &mut With) {
        self.recovery.attempts.clear();
        let trying = self.recovery.trying.take().map(|(cause, ..)| cause);
        let under_way = self.recovery.under_way.take().map(|(cause, _)| cause);
        if let Some(cause) = under_way.or(trying) {
            eprintln!("clreel: {cause}");
            self.show_recovery(cause, with);
        }
    }

    /// Puts a banner in the place of the one before.
    fn show_recovery(&mut self, error: Error, with: &mut With) {
        self.hide_recovery(with);
        with.notices.show(error.clone(), true);
        self.recovery.told = Some(error);
        with.repaints.soon();
    }

    fn hide_recovery(&mut self, with: &mut With) {
        if let Some(told) = self.recovery.told.take() {
            with.notices.hide(&told);
        }
    }

    /// What to try next: the same again, the same without sharing, the other devices.
    fn next_attempt(&self, failed: &Device, shared: bool) -> Option<(Device, bool)> {
        let others = self.all.iter().filter(|d| d.info.index != failed.info.index);
        let without_sharing = shared.then_some((failed, false));
        let same = std::iter::once((failed, true)).chain(without_sharing);
        let mut all = same.chain(others.map(|device| (device, true)));
        let tried = &self.recovery.attempts;
        all.find(|(device, share)| !tried.contains(&(device.info.index, *share)))
            .map(|(device, share)| (device.clone(), share))
    }

    /// Tells once which variants failed on the device that runs, when all have been tried.
    pub(super) fn tell_failed_trials(&mut self, with: &mut With) {
        let Some(running) = &self.running else { return };
        let is_building = |(_, status): &(VariantId, VariantStatus)| *status == VariantStatus::Building;
        if self.recovery.told_trials_of == running.number || self.status.iter().any(is_building) {
            return;
        }
        self.recovery.told_trials_of = running.number;
        let failed: Vec<(VariantId, &Error)> = built::failed_trials(&self.status).collect();
        let Some((_, first)) = failed.first() else { return };
        let names: Vec<_> = failed.iter().map(|(id, _)| format!("'{id}'")).collect();
        let what = format!("{} could not be tried on '{}'.", names.join(", "), running.device.info.name);
        let error = Error::new(what, first.why.clone(), "Who chooses one has it tried again.");
        with.notify(error, false);
    }
}
