//! The OpenCL device under the running movie. In: the devices that there are, the user's choice, failures. Out: a
//! pipeline in the frame loop, and sentences about what became of it.
//!
//! A device is made ready beside the one that runs: the movie goes on, and only when the chosen variant is built does
//! the new pipeline take the old one's place. So a device that cannot be used leaves everything as it was.
//!
//! A device that fails in the middle of a frame is started anew once. If it fails again soon, clreel goes on without
//! sharing, then on another device, then unfiltered.

use std::time::{Duration, Instant};

use super::Player;
use crate::app::builder::{Built, Part};
use crate::app::frame_loop::FrameLoop;
use crate::error::{Error, Result};
use crate::gpu::cl::{Device, DeviceKind, select_device};
use crate::gpu::drivers;
use crate::gpu::sharing::{self, Sharing};
use crate::ladder::{Kind, VariantId};
use crate::overlay::VariantStatus;
use crate::pipeline::Pipeline;

/// Failures that lie further apart have nothing to do with each other.
const SOON: Duration = Duration::from_secs(30);

/// What runs the filter now.
pub(super) struct Running {
    pub device: Device,
    number: u64,
}

/// A device that is being made ready.
struct Pending {
    device: Device,
    number: u64,
    sharing: Sharing,
    pipeline: Pipeline,
    status: Vec<(VariantId, VariantStatus)>,
}

/// Devices of the machine, and which of them does what.
#[derive(Default)]
pub(super) struct Devices {
    pub all: Vec<Device>,
    /// What the command line named.
    pub named: Option<Device>,
    pub running: Option<Running>,
    pending: Option<Pending>,
    contexts: u64,
    /// What has been tried since the first of several failures.
    attempts: Vec<Attempt>,
    last_failure: Option<Instant>,
}

/// A device's index, and whether it was to share.
type Attempt = (usize, bool);

impl Devices {
    /// Nothing is known yet but what the command line named.
    pub fn new(named: Option<Device>) -> Self {
        Self { named, ..Self::default() }
    }
}

/// What is to be said of the variants before any is built for a device.
pub(super) fn at_first(frames: &FrameLoop) -> Vec<(VariantId, VariantStatus)> {
    let state = |id: VariantId| match id.kind() {
        Kind::Nothing => VariantStatus::Ready,
        _ => frames.peer_status(id).unwrap_or(VariantStatus::Building),
    };
    VariantId::ALL.into_iter().map(|id| (id, state(id))).collect()
}

impl Player<'_> {
    /// Takes what the builder has finished.
    pub(super) fn built(&mut self, message: Built) {
        match message {
            Built::Devices(devices) => self.found(devices),
            Built::For(number, part) => {
                let pending = self.devices.pending.as_ref().is_some_and(|p| p.number == number);
                if pending {
                    self.built_for_pending(*part);
                } else if self.devices.running.as_ref().is_some_and(|r| r.number == number) {
                    self.built_for_running(*part);
                }
            }
        }
        self.repaint_after(Duration::ZERO);
    }

    /// Chooses the first device: the one that was named, else the graphics card that drives the window, else the
    /// best one.
    fn found(&mut self, devices: Vec<Device>) {
        if !devices.is_empty() {
            drivers::failures().into_iter().for_each(|failure| self.notify(failure, false));
        }
        self.devices.all = devices;
        let all = &self.devices.all;
        let driving = sharing::driving_device(all, &self.gl_window.opencl_properties())
            .filter(|d| d.info.kind == DeviceKind::Gpu);
        let device = match (&self.devices.named, driving) {
            (Some(named), _) => Ok(named.clone()),
            (None, Some(driving)) => Ok(driving.clone()),
            (None, None) => select_device(all, None),
        };
        let opened = device.and_then(|device| self.prepare_device(&device, true));
        if let Err(error) = opened {
            self.without_opencl(&error);
            self.notify(error, true);
        }
    }

    fn without_opencl(&mut self, error: &Error) {
        for (id, status) in &mut self.status {
            if id.kind() == Kind::OpenCl {
                *status = VariantStatus::Unavailable(error.clone());
            }
        }
        if self.frames.chosen().0.kind() == Kind::OpenCl {
            self.without_filter();
        }
    }

    /// The chosen variant cannot be had.
    fn without_filter(&mut self) {
        self.frames.choose(VariantId::Off, self.frames.chosen().1);
        self.frames.wait_for_filter(false);
    }

    /// Changes to the next device; with one device, starts that one anew.
    pub(super) fn next_device(&mut self) {
        let now = self.devices.running.as_ref().map(|r| r.device.info.index);
        let all = &self.devices.all;
        let at = all.iter().position(|d| Some(d.info.index) == now);
        let Some(next) = all.get(at.map_or(0, |at| (at + 1) % all.len())).cloned() else {
            let why = "No OpenCL device was found when clreel started.";
            self.notify(Error::new("There is no device to change to.", why, ""), false);
            return;
        };
        self.change_device(&next);
    }

    /// Changes to `device` while the movie runs. If it cannot be used, the old one goes on.
    pub(super) fn change_device(&mut self, device: &Device) {
        self.devices.attempts.clear();
        if let Err(error) = self.prepare_device(device, true) {
            self.stay(error);
        }
    }

    /// Says that a device cannot be used, and what goes on instead.
    fn stay(&mut self, error: Error) {
        let hint = match &self.devices.running {
            Some(running) => format!("clreel goes on with '{}'.", running.device.info.name),
            None => "The movie is shown unfiltered.".to_owned(),
        };
        self.notify(Error { hint, ..error }, true);
    }

    /// Makes a context on `device` and has everything built for it. `share` is whether it may share textures.
    fn prepare_device(&mut self, device: &Device, share: bool) -> Result<()> {
        let properties = match (self.args.no_sharing, share) {
            (true, _) => Err("--no-sharing was given".to_owned()),
            (_, false) => Err("it failed while it shared textures".to_owned()),
            _ => Ok(self.gl_window.opencl_properties()),
        };
        let (cl, sharing) = sharing::open(device, &self.gl_window.gl, properties)?;
        self.devices.contexts += 1;
        let number = self.devices.contexts;
        self.builder.want(self.frames.chosen().0);
        self.builder.start(number, cl.clone(), sharing == Sharing::ZeroCopy);
        let pipeline = Pipeline::new(cl, &sharing, self.waker.clone());
        let status = at_first(&self.frames);
        let pending = Pending { device: device.clone(), number, sharing, pipeline, status };
        self.devices.pending = Some(pending);
        self.promote_if_ready();
        Ok(())
    }

    /// Puts the device that was made ready in the place of the one that ran.
    fn promote(&mut self) {
        let Some(pending) = self.devices.pending.take() else { return };
        self.frames.set_pipeline(pending.pipeline);
        self.status = pending.status;
        self.sharing = pending.sharing;
        self.device = Some(pending.device.info.clone());
        self.devices.running = Some(Running { device: pending.device, number: pending.number });
        if self.devices.contexts > 1 {
            let info = self.device.as_ref();
            let name = info.map_or("", |info| info.name.as_str());
            self.overlay.say(format!("OpenCL device: {name}"));
        }
    }

    /// Takes over the device that was made ready as soon as it can filter as is wanted.
    pub(super) fn promote_if_ready(&mut self) {
        let chosen = self.frames.chosen().0;
        let ready = |p: &Pending| chosen.kind() != Kind::OpenCl || p.pipeline.has(chosen);
        if self.devices.running.is_none() || self.devices.pending.as_ref().is_some_and(ready) {
            self.promote();
        }
    }

    fn built_for_pending(&mut self, part: Part) {
        let chosen = self.frames.chosen().0;
        let Some(pending) = &mut self.devices.pending else { return };
        let mut set = |id, new| {
            if let Some(entry) = pending.status.iter_mut().find(|(v, _)| *v == id) {
                entry.1 = new;
            }
        };
        match part {
            Part::Variant(variant) => {
                set(variant.info().id, VariantStatus::Ready);
                pending.pipeline.add(variant);
            }
            Part::NoVariant(id, error) if id == chosen => {
                self.devices.pending = None;
                self.stay(error);
            }
            Part::NoVariant(id, error) => set(id, VariantStatus::Unavailable(error)),
            Part::Conversion(program) => pending.pipeline.add_conversion(program),
            Part::NoConversion(layout, storage, _) => pending.pipeline.conversion_failed(&layout, storage),
            Part::Corrector(corrector) => pending.pipeline.set_corrector(*corrector),
        }
    }

    fn built_for_running(&mut self, part: Part) {
        let chosen = self.frames.chosen().0;
        match part {
            Part::Variant(variant) => {
                let id = variant.info().id;
                self.set_status(id, VariantStatus::Ready);
                if id == chosen {
                    self.frames.wait_for_filter(false);
                }
                if let Some(pipeline) = self.frames.pipeline_mut() {
                    pipeline.add(variant);
                }
            }
            Part::NoVariant(id, error) => {
                self.set_status(id, VariantStatus::Unavailable(error.clone()));
                if chosen == id {
                    self.without_filter();
                }
                self.notify(error, true);
            }
            Part::Conversion(program) => {
                if let Some(pipeline) = self.frames.pipeline_mut() {
                    pipeline.add_conversion(program);
                }
            }
            Part::NoConversion(layout, storage, error) => {
                if let Some(pipeline) = self.frames.pipeline_mut() {
                    pipeline.conversion_failed(&layout, storage);
                }
                self.notify(error, false);
            }
            Part::Corrector(corrector) => {
                if let Some(pipeline) = self.frames.pipeline_mut() {
                    pipeline.set_corrector(*corrector);
                }
            }
        }
    }

    /// Has the conversions built that frames were in want of.
    pub(super) fn order_conversions(&mut self) {
        if let Some(pipeline) = self.frames.pipeline_mut() {
            for (layout, storage) in pipeline.missing_conversions() {
                self.builder.convert(layout, storage);
            }
        }
    }

    /// Goes on after the device failed in the middle of a frame.
    pub(super) fn recover(&mut self, error: Error) {
        let Some(failed) = self.devices.running.take() else {
            self.notify(error, true);
            return;
        };
        self.devices.pending = None;
        let now = Instant::now();
        if self.devices.last_failure.replace(now).is_none_or(|last| now.duration_since(last) > SOON) {
            self.devices.attempts.clear();
        }
        let shared = self.sharing == Sharing::ZeroCopy;
        let what =
            format!("The OpenCL device '{}' failed in the middle of a frame.", failed.device.info.name);
        while let Some((device, share)) = self.next_attempt(&failed.device, shared) {
            self.devices.attempts.push((device.info.index, share));
            let same = device.info.index == failed.device.info.index;
            if self.prepare_device(&device, share).is_ok() {
                // The test of sharing may have failed this time.
                let shares = self.sharing == Sharing::ZeroCopy;
                let hint = match (same, shares == shared) {
                    (true, true) => "clreel has started it anew.".to_owned(),
                    (true, false) => "clreel goes on with it, but copies each frame.".to_owned(),
                    (false, _) => format!("clreel goes on with '{}'.", device.info.name),
                };
                self.notify(Error::new(what, error.why, hint), true);
                return;
            }
        }
        let hint = match self.frames.chosen().0.kind() {
            Kind::OpenCl => "The movie goes on unfiltered; Ctrl+D tries the next device.",
            _ => "Ctrl+D tries the next device.",
        };
        let error = Error::new(what, error.why, hint);
        self.without_opencl(&error);
        self.notify(error, true);
    }

    /// What to try next: the same again, the same without sharing, the other devices.
    fn next_attempt(&self, failed: &Device, shared: bool) -> Option<(Device, bool)> {
        let others = self.devices.all.iter().filter(|d| d.info.index != failed.info.index);
        let same = [(failed, shared), (failed, false)];
        let all = same.into_iter().chain(others.map(|device| (device, true)));
        let tried = &self.devices.attempts;
        all.into_iter()
            .find(|(device, share)| !tried.contains(&(device.info.index, *share)))
            .map(|(device, share)| (device.clone(), share))
    }
}
