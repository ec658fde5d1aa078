//! The OpenCL device under the running movie. In: the devices that there are, the user's choice, failures. Out: a
//! pipeline in the frame loop, and sentences about what became of it.
//!
//! A device is made ready beside the one that runs: the movie goes on, and only when the chosen variant is built does
//! the new pipeline take the old one's place. So a device that cannot be used leaves everything as it was.
//!
//! Which one it is to be is told in `choosing.rs`, how it is made ready in `opening.rs`, what is built for it in
//! `built.rs`, which variants are judged in `judging.rs`, what becomes of one that fails in `recovery.rs`, whether
//! it may share in `asking.rs`.

mod asking;
mod built;
mod choosing;
mod judging;
mod opening;
mod recovery;

use std::time::Instant;

use super::With;
use crate::app::builder::{Builder, Start};
use crate::probe::Tested;
use asking::Asking;
use base::error::{Error, Result};
use base::jobs::Job;
use box_filter::{OWN_FILE, VariantId};
pub(super) use built::Opinion;
use choosing::Wanted;
use engine::frame_loop::FrameLoop;
use engine::frame_loop::VariantStatus;
use engine::sharing::Sharing;
use judging::Judging;
use ladder::BackEnd;
use opencl::cl::{Device, DeviceInfo, is_device_failure};
use opencl::sources;
use opening::{Held, Opening};
use overlay::{DeviceRow, DeviceState};
use recovery::Recovery;

/// What runs the filter now.
struct Running {
    device: Device,
    number: u64,
    /// When the chosen filter was first there.
    works_since: Option<Instant>,
}

/// A device that is being made ready.
struct Pending {
    device: Device,
    number: u64,
    /// What is built for it.
    start: Start,
    sharing: Sharing,
    held: Held,
    status: Vec<(VariantId, VariantStatus)>,
}

/// What was learnt about a device since the window was opened.
#[derive(Default)]
struct Learnt {
    /// What came of trying to share with it in this window.
    sharing: Option<Sharing>,
    /// What came of it in a process of its own, once that is known.
    tested: Option<Tested>,
    /// Why it could not be used the last time.
    failure: Option<Error>,
}

/// Devices of the machine, which of them does what, and what is built for it.
pub(super) struct Devices {
    builder: Builder,
    all: Vec<Device>,
    /// One for each of them.
    learnt: Vec<Learnt>,
    /// The machine has answered.
    found: bool,
    /// The first device is still to be chosen.
    choosing: bool,
    asking: Asking,
    /// A sentence for each driver that gives no device.
    left_out: Vec<String>,
    wanted: Option<Wanted>,
    /// What the command line named.
    named: Option<Device>,
    running: Option<Running>,
    /// The one that ran last, what is to be said of the variants there, and whether it shares.
    info: Option<DeviceInfo>,
    status: Vec<(VariantId, VariantStatus)>,
    judging: Judging,
    sharing: Sharing,
    opening: Option<Opening>,
    pending: Option<Pending>,
    /// Which device drives the window, by its index in the list: that was asked for.
    driving: Option<Job<Option<usize>>>,
    /// What was said of a device that does not answer.
    silent: Option<Error>,
    contexts: u64,
    /// How often the builder began anew with the device that runs.
    begun: u32,
    recovery: Recovery,
    opinions: Vec<Opinion>,
    /// The version of the chosen variant's kernels of which no picture was on the screen yet.
    unseen: Option<u64>,
}

impl Devices {
    /// Nothing is known yet but what the command line named.
    pub(crate) fn new(builder: Builder, named: Option<Device>, frames: &FrameLoop) -> Self {
        Self {
            builder,
            all: Vec::new(),
            learnt: Vec::new(),
            found: false,
            choosing: false,
            asking: Asking::default(),
            left_out: Vec::new(),
            wanted: None,
            named,
            running: None,
            info: None,
            status: at_first(frames),
            judging: Judging::default(),
            sharing: Sharing::copy("OpenCL is not there yet"),
            opening: None,
            pending: None,
            driving: None,
            silent: None,
            contexts: 0,
            begun: 0,
            recovery: Recovery::default(),
            opinions: Vec::new(),
            unseen: None,
        }
    }

    /// One turn: takes what was found, built and answered, and has the wanted device made ready.
    pub(crate) fn look(&mut self, with: &mut With) {
        while let Some(message) = self.builder.poll() {
            self.built(message, with);
        }
        if let Some(version) = self.unseen.take_if(|_| !with.frames.is_shown_doubtful()) {
            self.builder.is_shown(version);
        }
        self.take_answers(with);
        self.choose_first(with);
        self.prepare_wanted(with);
        self.look_after_opening(with);
        self.promote_if_ready(with);
        // Here before the next frame has the engine; and after it, where none has.
        self.order_conversions(with);
    }

    /// Orders what frames were in want of, and goes on where one has failed.
    pub(crate) fn look_after_frames(&mut self, with: &mut With) {
        self.order_conversions(with);
        if let Some(error) = with.frames.take_failure() {
            self.failed_in_frame(error, with);
        }
    }

    /// The device that runs the filter.
    pub(crate) fn running(&self) -> Option<&Device> {
        self.running.as_ref().map(|running| &running.device)
    }

    /// The one that ran last.
    pub(crate) fn info(&self) -> Option<&DeviceInfo> {
        self.info.as_ref()
    }

    /// Whether it shares textures.
    pub(crate) fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// What is to be said of the variants.
    pub(crate) fn status(&self) -> &[(VariantId, VariantStatus)] {
        &self.status
    }

    /// Whether a variant can be had.
    pub(crate) fn status_of(&self, id: VariantId) -> Option<&VariantStatus> {
        self.status.iter().find(|(of, _)| *of == id).map(|(_, status)| status)
    }

    /// A sentence for each driver that gives no device.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Whether the first device is being opened.
    pub(crate) fn is_opening_first(&self) -> bool {
        self.opening.is_some() && self.running.is_none()
    }

    /// Has a variant built next that the user has chosen, or once more where the device failed with it: memory may be there
    /// again.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub(crate) fn want(&mut self, id: VariantId) -> Result<()> {
        if id == VariantId::Own && self.status_of(id).is_none() {
            return Err(no_own());
        }
        if let Some((_, status)) = self.status.iter_mut().find(|(variant, _)| *variant == id)
            && let VariantStatus::Unavailable(error) = status
        {
            if !is_device_failure(error) || self.running.is_none() {
                return Err(error.clone());
            }
            *status = VariantStatus::Building;
            self.builder.again(id);
        }
        self.builder.want(id);
        Ok(())
    }

    /// Has a variant built once more, because what it depends on has changed.
    pub(crate) fn build_again(&self, id: VariantId) {
        self.builder.again(id);
    }

    /// The user's own kernel is there, or is gone: its row comes and goes with it.
    pub(crate) fn has_own(&mut self, has: bool) {
        let pending = self.pending.as_mut().map(|pending| &mut pending.status);
        for all in pending.into_iter().chain([&mut self.status]) {
            let row = all.iter().position(|(id, _)| *id == VariantId::Own);
            match (row, has) {
                (None, true) => all.push((VariantId::Own, VariantStatus::Building)),
                (Some(row), false) => drop(all.remove(row)),
                _ => {}
            }
        }
    }

    /// A variant cannot be had, and why.
    pub(crate) fn cannot(&mut self, id: VariantId, error: Error) {
        built::set(&mut self.status, id, VariantStatus::Unavailable(error));
    }

    /// Ends the builder, and what is made ready; whether OpenCL is idle there.
    #[must_use]
    pub(crate) fn shut_down(&mut self) -> bool {
        let idle = self.builder.shut_down();
        self.let_go();
        idle
    }

    /// All devices for the overlay; `None` before they are known.
    pub(crate) fn rows(&self) -> Option<Vec<DeviceRow<'_>>> {
        let (running, coming) = (self.running.as_ref().map(|r| r.device.info.index), self.coming());
        let row = |(device, learnt): (_, _)| row(device, learnt, running, coming);
        self.found.then(|| self.all.iter().zip(&self.learnt).map(row).collect())
    }

    /// The device that is asked for or being made ready.
    pub(crate) fn coming(&self) -> Option<usize> {
        let wanted = self.wanted.as_ref().map(|w| w.device.info.index);
        let wanted = wanted.or_else(|| self.opening.as_ref().map(|o| o.device.info.index));
        wanted.or_else(|| self.pending.as_ref().map(|p| p.device.info.index))
    }

    /// Whether a device is still looked for, chosen or made ready: none may be there only because it has not come yet.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.found || self.choosing || self.coming().is_some()
    }

    fn learnt(&mut self, device: &Device) -> Option<&mut Learnt> {
        self.all.iter().position(|d| d.info.index == device.info.index).and_then(|at| self.learnt.get_mut(at))
    }

    /// Nothing is made ready any more.
    pub(crate) fn let_go(&mut self) {
        (self.pending, self.opening, self.wanted, self.choosing) = (None, None, None, false);
    }

    pub(crate) fn note_failure(&mut self, device: &Device, error: Option<&Error>) {
        if let Some(learnt) = self.learnt(device) {
            learnt.failure = error.cloned();
        }
    }

    /// Whether somebody waits for a device of this name; the empty one is that of drivers that are being asked for theirs.
    pub(super) fn is_waited_for(&self, name: &str) -> bool {
        let running = self.running.as_ref().map(|r| &r.device);
        let opening = self.opening.as_ref().map(|o| &o.device);
        let mut waited = running.into_iter().chain(opening).chain(self.pending.as_ref().map(|p| &p.device));
        waited.any(|device| device.info.name == name) || name.is_empty() && (!self.found || self.choosing)
    }
}

fn row<'a>(
    device: &'a Device,
    learnt: &'a Learnt,
    running: Option<usize>,
    coming: Option<usize>,
) -> DeviceRow<'a> {
    let index = Some(device.info.index);
    let state = match () {
        () if coming == index => DeviceState::Preparing,
        () if running == index => DeviceState::InUse,
        () => DeviceState::Idle,
    };
    let tested = learnt.tested.as_ref().map(|tested| &tested.sharing);
    let (sharing, failure) = (learnt.sharing.as_ref().or(tested), learnt.failure.as_ref());
    DeviceRow { info: &device.info, sharing, state, failure }
}

/// Why the user's own kernel cannot filter.
pub(super) fn no_own() -> Error {
    Error::new(
        "There is no kernel of your own.",
        format!("The folder of kernels has no {OWN_FILE}."),
        "The key e shows that folder, or makes one; write the file there: kernels/README.md has its arguments.",
    )
}

/// What is to be said of the variants before any is built for a device.
fn at_first(frames: &FrameLoop) -> Vec<(VariantId, VariantStatus)> {
    let state = |id: VariantId| match id.back_end() {
        BackEnd::Nothing => VariantStatus::Ready,
        _ => frames.without_opencl_status(id).unwrap_or(VariantStatus::Building),
    };
    let own = sources::current().filter(|sources| sources.has(OWN_FILE)).map(|_| VariantId::Own);
    VariantId::ALL.into_iter().chain(own).map(|id| (id, state(id))).collect()
}

impl Devices {
    pub(super) fn without_opencl(&mut self, error: &Error, with: &mut With) {
        self.judging.forget();
        for (id, status) in &mut self.status {
            if id.back_end() == BackEnd::OpenCl {
                *status = VariantStatus::Unavailable(error.clone());
            }
        }
        if with.frames.chosen().0.back_end() == BackEnd::OpenCl {
            self.without_filter(with);
        }
    }

    /// The chosen variant cannot be had.
    pub(super) fn without_filter(&mut self, with: &mut With) {
        with.frames.choose(VariantId::Off, with.frames.chosen().1);
        with.frames.wait_for_filter(false);
    }

    /// Says that a device cannot be used, and what goes on instead.
    pub(super) fn stay(&mut self, device: &Device, error: Error, with: &mut With) {
        self.note_failure(device, Some(&error));
        self.build_for_running(with);
        let hint = match &self.running {
            Some(running) => format!("clreel goes on with '{}'.", running.device.info.name),
            None => "The movie is shown unfiltered.".to_owned(),
        };
        with.notify(Error { hint, ..error }, true);
    }

    /// Puts the device that was made ready in the place of the one that ran.
    fn promote(&mut self, with: &mut With) {
        let Some(pending) = self.pending.take() else { return };
        self.note_failure(&pending.device, None);
        let Pending { device, number, start: _, sharing, mut held, status } = pending;
        let Some((pipeline, thread, here)) = held.0.take() else { return };
        with.frames.set_pipeline(pipeline, thread, here);
        self.judging.forget();
        (self.status, self.sharing) = (status, sharing);
        self.info = Some(device.info.clone());
        self.running = Some(Running { device, number, works_since: None });
        with.repaints.soon();
        if self.contexts > 1 && !with.overlay.devices_shown() {
            let info = self.info.as_ref();
            let name = info.map_or("", |info| info.name.as_str());
            with.overlay.say(format!("OpenCL device: {name}"));
        }
    }

    /// Takes over the device that was made ready as soon as it can filter as is wanted.
    pub(super) fn promote_if_ready(&mut self, with: &mut With) {
        let chosen = with.frames.chosen().0;
        let ready = |p: &Pending| chosen.back_end() != BackEnd::OpenCl || p.held.has(chosen);
        if self.running.is_none() || self.pending.as_ref().is_some_and(ready) {
            self.promote(with);
        }
        // The variant may have been chosen after it turned out that this device does not have it.
        let unavailable = self.pending.as_ref().and_then(|pending| {
            pending.status.iter().find_map(|(id, status)| match status {
                VariantStatus::Unavailable(error) if *id == chosen => {
                    Some((pending.device.clone(), error.clone()))
                }
                _ => None,
            })
        });
        if let Some((device, error)) = unavailable {
            self.pending = None;
            self.stay(&device, error, with);
        }
        // There is nothing to wait for where the choice has changed, or the filter came with the device.
        let filters = with.frames.pipeline_mut().is_some_and(|pipeline| pipeline.has(chosen));
        if chosen.back_end() != BackEnd::OpenCl || filters {
            with.frames.wait_for_filter(false);
            if let Some(running) = &mut self.running {
                running.works_since.get_or_insert_with(Instant::now);
                self.recovered(with);
            }
        }
    }
}
