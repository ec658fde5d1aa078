//! The OpenCL device under the running movie. In: the devices that there are, the user's choice, failures. Out: a
//! pipeline in the frame loop, and sentences about what became of it.
//!
//! A device is made ready beside the one that runs: the movie goes on, and only when the chosen variant is built does
//! the new pipeline take the old one's place. So a device that cannot be used leaves everything as it was.
//!
//! How it is made ready is told in `opening.rs`, what becomes of one that fails in `recovery.rs`, whether it may share in
//! `asking.rs`.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Instant;

use super::Player;
use super::asking::Asking;
use super::opening::{Held, Opening, Why};
use super::recovery::Recovery;
use crate::app::builder::Start;
use crate::error::{Error, Result};
use crate::gpu::cl::{Device, DeviceKind, select_device};
use crate::gpu::drivers::{self, Driver};
use crate::gpu::probe::Tested;
use crate::gpu::sharing::{self, Sharing};
use crate::gpu::watch;
use crate::ladder::BackEnd;
use crate::ladders::box_filter::VariantId;
use crate::overlay::{DeviceRow, DeviceState, VariantStatus};
use crate::scene::frame_loop::FrameLoop;

/// What runs the filter now.
pub(super) struct Running {
    pub device: Device,
    pub number: u64,
    /// When the chosen filter was first there.
    pub works_since: Option<Instant>,
}

/// A device that is being made ready.
pub(super) struct Pending {
    pub device: Device,
    pub number: u64,
    /// What is built for it.
    pub start: Start,
    pub sharing: Sharing,
    pub held: Held,
    pub status: Vec<(VariantId, VariantStatus)>,
}

/// A device that was asked for. Making its context may take long, so that is said first.
struct Wanted {
    device: Device,
    /// The window has been drawn since.
    drawn: bool,
    /// The first one, which nobody has asked for.
    first: bool,
}

/// What was learnt about a device since the window was opened.
#[derive(Default)]
pub(super) struct Learnt {
    /// What came of trying to share with it in this window.
    pub sharing: Option<Sharing>,
    /// What came of it in a process of its own, once that is known.
    pub tested: Option<Tested>,
    /// Why it could not be used the last time.
    failure: Option<Error>,
}

/// Devices of the machine, and which of them does what.
#[derive(Default)]
pub(super) struct Devices {
    pub all: Vec<Device>,
    /// One for each of them.
    pub learnt: Vec<Learnt>,
    /// The machine has answered.
    found: bool,
    /// The first device is still to be chosen.
    choosing: bool,
    pub asking: Asking,
    /// A sentence for each driver that gives no device.
    pub left_out: Vec<String>,
    wanted: Option<Wanted>,
    /// What the command line named.
    pub named: Option<Device>,
    pub running: Option<Running>,
    pub opening: Option<Opening>,
    pub pending: Option<Pending>,
    /// Which device drives the window, by its place in the list: that was asked for.
    driving: Option<Receiver<Option<usize>>>,
    /// What was said of a device that does not answer.
    pub silent: Option<Error>,
    pub contexts: u64,
    pub recovery: Recovery,
}

impl Devices {
    /// Nothing is known yet but what the command line named.
    pub(crate) fn new(named: Option<Device>) -> Self {
        Self { named, ..Self::default() }
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

    pub(crate) fn learnt(&mut self, device: &Device) -> Option<&mut Learnt> {
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

    /// The window has been drawn.
    pub(crate) fn was_drawn(&mut self) {
        if let Some(wanted) = &mut self.wanted {
            wanted.drawn = true;
        }
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

/// What is to be said of the variants before any is built for a device.
pub(super) fn at_first(frames: &FrameLoop) -> Vec<(VariantId, VariantStatus)> {
    let state = |id: VariantId| match id.back_end() {
        BackEnd::Nothing => VariantStatus::Ready,
        _ => frames.without_opencl_status(id).unwrap_or(VariantStatus::Building),
    };
    VariantId::ALL.into_iter().map(|id| (id, state(id))).collect()
}

impl Player<'_> {
    /// Takes the machine's devices, and has those asked whether they share of which that is not known.
    pub(super) fn found(&mut self, devices: Vec<Device>) {
        if !devices.is_empty() {
            drivers::failures().into_iter().for_each(|failure| self.notify(failure, false));
        } else {
            self.sharing = Sharing::copy("there is no OpenCL device");
        }
        self.devices.found = true;
        self.devices.left_out = drivers::verdicts().iter().filter_map(Driver::left_out).collect();
        self.devices.learnt = devices.iter().map(|_| Learnt::default()).collect();
        self.devices.all = devices;
        self.devices.choosing = true;
        self.ask_about_sharing();
    }

    /// Begins with the first device as soon as it is clear which one that is.
    pub(super) fn choose_first(&mut self) {
        if !self.devices.choosing {
            return;
        }
        let Some(device) = self.first_device() else { return };
        self.devices.choosing = false;
        match device {
            Ok(device) => self.devices.wanted = Some(Wanted { device, drawn: true, first: true }),
            Err(error) => {
                self.without_opencl(&error);
                self.notify(error, true);
            }
        }
    }

    /// The device that was named, else the graphics card that drives the window, else the best one; `None` while it is
    /// not known which drivers may be asked about the window.
    fn first_device(&mut self) -> Option<Result<Device>> {
        if let Some(named) = &self.devices.named {
            return Some(Ok(named.clone()));
        }
        let cards = || self.devices.all.iter().filter(|d| d.info.kind == DeviceKind::Gpu);
        if cards().count() > 1 && !self.args.no_sharing {
            let all = self.devices.all.iter().zip(&self.devices.learnt);
            let of_cards = all.filter(|(device, _)| device.info.kind == DeviceKind::Gpu);
            let mut safe = Vec::new();
            for (device, learnt) in of_cards {
                if learnt.tested.as_ref()?.survived {
                    safe.push(device.clone());
                }
            }
            let driving = match &self.devices.driving {
                Some(driving) => driving.try_recv(),
                None => {
                    self.devices.driving = Some(self.ask_for_driving(safe));
                    Err(TryRecvError::Empty)
                }
            };
            match driving {
                Ok(Some(driving)) => {
                    let of_index = |device: &&Device| device.info.index == driving;
                    return self.devices.all.iter().find(of_index).map(|device| Ok(device.clone()));
                }
                Err(TryRecvError::Empty) => return None,
                Ok(None) | Err(TryRecvError::Disconnected) => {}
            }
        }
        Some(select_device(&self.devices.all, None))
    }

    /// Asks the drivers, on a thread of its own: each call may stall.
    fn ask_for_driving(&self, safe: Vec<Device>) -> Receiver<Option<usize>> {
        let (sender, answer) = channel();
        let (properties, waker) = (self.gl_window.opencl_properties(), self.waker.clone());
        std::thread::spawn(move || {
            let _watched = watch::on_device("", "it is asked which device drives the window");
            let driving = sharing::driving_device(&safe, &properties).map(|device| device.info.index);
            // Somebody may have chosen one meanwhile.
            let _ = sender.send(driving);
            waker();
        });
        answer
    }

    pub(super) fn without_opencl(&mut self, error: &Error) {
        for (id, status) in &mut self.status {
            if id.back_end() == BackEnd::OpenCl {
                *status = VariantStatus::Unavailable(error.clone());
            }
        }
        if self.frames.chosen().0.back_end() == BackEnd::OpenCl {
            self.without_filter();
        }
    }

    /// The chosen variant cannot be had.
    pub(super) fn without_filter(&mut self) {
        self.frames.choose(VariantId::Off, self.frames.chosen().1);
        self.frames.wait_for_filter(false);
    }

    /// Changes to the next device; with one device, starts that one anew.
    pub(super) fn next_device(&mut self) {
        // Who presses it again meanwhile wants the one after.
        let running = self.devices.running.as_ref().map(|r| r.device.info.index);
        let now = self.devices.coming().or(running);
        let all = &self.devices.all;
        let at = all.iter().position(|d| Some(d.info.index) == now);
        let Some(next) = all.get(at.map_or(0, |at| (at + 1) % all.len())).cloned() else {
            let why = "No OpenCL device was found when clreel started.";
            self.notify(Error::new("There is no device to change to.", why, ""), false);
            return;
        };
        let alone = all.len() == 1;
        self.change_device(next);
        if alone {
            self.overlay.say("There is no other OpenCL device: this one is started anew".to_owned());
        }
    }

    /// Changes to the device at this position of the list.
    pub(super) fn set_device(&mut self, position: usize) {
        if let Some(device) = self.devices.all.get(position).cloned() {
            self.change_device(device);
        }
    }

    /// Changes to `device` while the movie runs, after the next drawing. If it cannot be used, the old one goes on.
    fn change_device(&mut self, device: Device) {
        self.end_recovery();
        self.devices.let_go();
        self.devices.wanted = Some(Wanted { device, drawn: false, first: false });
        self.overlay.show_devices();
        self.repaints.soon();
    }

    /// Begins with the device that was asked for once the window says so, and it is known whether it may share.
    pub(super) fn prepare_wanted(&mut self) {
        let Some(wanted) = self.devices.wanted.take_if(|wanted| wanted.drawn) else { return };
        if self.may_share(&wanted.device).is_none() {
            self.devices.wanted = Some(wanted);
            return;
        }
        let why = if wanted.first { Why::First } else { Why::Chosen };
        if let Err(error) = self.open_device(&wanted.device, true, why) {
            self.not_opened(wanted.device, why, error);
        }
    }

    /// Says that a device cannot be used, and what goes on instead.
    pub(super) fn stay(&mut self, device: &Device, error: Error) {
        self.devices.note_failure(device, Some(&error));
        self.build_for_running();
        let hint = match &self.devices.running {
            Some(running) => format!("clreel goes on with '{}'.", running.device.info.name),
            None => "The movie is shown unfiltered.".to_owned(),
        };
        self.notify(Error { hint, ..error }, true);
    }

    /// Puts the device that was made ready in the place of the one that ran.
    fn promote(&mut self) {
        let Some(pending) = self.devices.pending.take() else { return };
        self.devices.note_failure(&pending.device, None);
        let Pending { device, number, start: _, sharing, mut held, status } = pending;
        let Some((pipeline, thread, here)) = held.0.take() else { return };
        self.frames.set_pipeline(pipeline, thread, here);
        (self.status, self.sharing) = (status, sharing);
        self.device = Some(device.info.clone());
        self.devices.running = Some(Running { device, number, works_since: None });
        self.repaints.soon();
        if self.devices.contexts > 1 && !self.overlay.devices_shown() {
            let info = self.device.as_ref();
            let name = info.map_or("", |info| info.name.as_str());
            self.overlay.say(format!("OpenCL device: {name}"));
        }
    }

    /// Takes over the device that was made ready as soon as it can filter as is wanted.
    pub(super) fn promote_if_ready(&mut self) {
        let chosen = self.frames.chosen().0;
        let ready = |p: &Pending| chosen.back_end() != BackEnd::OpenCl || p.held.has(chosen);
        if self.devices.running.is_none() || self.devices.pending.as_ref().is_some_and(ready) {
            self.promote();
        }
        // The variant may have been chosen after it turned out that this device does not have it.
        let unavailable = self.devices.pending.as_ref().and_then(|pending| {
            pending.status.iter().find_map(|(id, status)| match status {
                VariantStatus::Unavailable(error) if *id == chosen => {
                    Some((pending.device.clone(), error.clone()))
                }
                _ => None,
            })
        });
        if let Some((device, error)) = unavailable {
            self.devices.pending = None;
            self.stay(&device, error);
        }
        // There is nothing to wait for where the choice has changed, or the filter came with the device.
        let filters = self.frames.pipeline_mut().is_some_and(|pipeline| pipeline.has(chosen));
        if chosen.back_end() != BackEnd::OpenCl || filters {
            self.frames.wait_for_filter(false);
            if let Some(running) = &mut self.devices.running {
                running.works_since.get_or_insert_with(Instant::now);
                self.recovered();
            }
        }
    }
}
