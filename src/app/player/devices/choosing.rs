//! Which device is to run the filter. In: the devices that there are, what the command line named, the user's choice. Out: one
//! that is opened as soon as the window says so, and it is known whether it may share.

use std::time::Duration;

use super::opening::Why;
use super::{Devices, Learnt};
use crate::app::player::With;
use crate::probe::DrivingDevice;
use base::error::{Error, Result};
use base::jobs::Job;
use engine::sharing::{self, Sharing};
use opencl::cl::{Device, DeviceKind, select_device};
use opencl::drivers::{self, Driver};
use opencl::watch;

/// A device that was asked for. Making its context may take long, so that is said first.
pub(super) struct Wanted {
    pub(super) device: Device,
    /// The window has been drawn since.
    drawn: bool,
    /// The first one, which nobody has asked for.
    first: bool,
}

impl Devices {
    /// The window has been drawn.
    pub(crate) fn was_drawn(&mut self) {
        if let Some(wanted) = &mut self.wanted {
            wanted.drawn = true;
        }
    }

    /// Takes the machine's devices, and has those asked whether they share of which that is not known.
    pub(super) fn found(&mut self, devices: Vec<Device>, with: &mut With) {
        if !devices.is_empty() {
            drivers::failures().into_iter().for_each(|failure| with.notify(failure, false));
        } else {
            self.sharing = Sharing::copy("there is no OpenCL device");
        }
        self.found = true;
        self.left_out = drivers::findings().iter().filter_map(Driver::left_out).collect();
        self.learnt = devices.iter().map(|_| Learnt::default()).collect();
        self.all = devices;
        self.choosing = true;
        self.ask_about_sharing(with);
    }

    /// Begins with the first device as soon as it is clear which one that is.
    pub(super) fn choose_first(&mut self, with: &mut With) {
        if !self.choosing {
            return;
        }
        let Some(device) = self.first_device(with) else { return };
        self.choosing = false;
        match device {
            Ok(device) => self.wanted = Some(Wanted { device, drawn: true, first: true }),
            Err(error) => {
                self.without_opencl(&error, with);
                with.notify(error, true);
            }
        }
    }

    /// The device that was named, else the graphics card that drives the window, else the best one; `None` while it is
    /// not known which drivers may be asked about the window.
    fn first_device(&mut self, with: &mut With) -> Option<Result<Device>> {
        if let Some(named) = &self.named {
            return Some(Ok(named.clone()));
        }
        let cards = || self.all.iter().filter(|d| d.info.kind == DeviceKind::Gpu);
        if cards().count() > 1 && !with.args.no_sharing {
            let all = self.all.iter().zip(&self.learnt);
            let of_cards = all.filter(|(device, _)| device.info.kind == DeviceKind::Gpu);
            let mut safe = Vec::new();
            for (device, learnt) in of_cards {
                if learnt.tested.as_ref()?.driving != DrivingDevice::NotAsked {
                    safe.push(device.clone());
                }
            }
            let driving = match &self.driving {
                Some(driving) => driving.wait(Duration::ZERO)?,
                None => match ask_for_driving(safe, with) {
                    Ok(job) => {
                        self.driving = Some(job);
                        return None;
                    }
                    Err(error) => Err(error),
                },
            };
            self.driving = None;
            if let Ok(Some(driving)) = driving {
                let of_index = |device: &&Device| device.info.index == driving;
                return self.all.iter().find(of_index).map(|device| Ok(device.clone()));
            }
        }
        Some(select_device(&self.all, None))
    }

    /// Changes to the next device; with one device, starts that one anew.
    pub(crate) fn next_device(&mut self, with: &mut With) {
        // Who presses it again meanwhile wants the one after.
        let running = self.running.as_ref().map(|r| r.device.info.index);
        let now = self.coming().or(running);
        let all = &self.all;
        let at = all.iter().position(|d| Some(d.info.index) == now);
        let Some(next) = all.get(at.map_or(0, |at| (at + 1) % all.len())).cloned() else {
            let why = "No OpenCL device was found when clreel started.";
            with.notify(Error::new("There is no device to change to.", why, ""), false);
            return;
        };
        let alone = all.len() == 1;
        self.change_device(next, with);
        if alone {
            with.overlay.say("There is no other OpenCL device: this one is started anew".to_owned());
        }
    }

    /// Changes to the device at this position of the list.
    pub(crate) fn set_device(&mut self, position: usize, with: &mut With) {
        if let Some(device) = self.all.get(position).cloned() {
            self.change_device(device, with);
        }
    }

    /// Changes to `device` while the movie runs, after the next drawing. If it cannot be used, the old one goes on.
    fn change_device(&mut self, device: Device, with: &mut With) {
        self.end_recovery(with);
        self.let_go();
        self.wanted = Some(Wanted { device, drawn: false, first: false });
        with.overlay.show_devices();
        with.repaints.soon();
    }

    /// Begins with the device that was asked for once the window says so, and it is known whether it may share.
    pub(super) fn prepare_wanted(&mut self, with: &mut With) {
        let Some(wanted) = self.wanted.take_if(|wanted| wanted.drawn) else { return };
        if self.may_share(&wanted.device).is_none() {
            self.wanted = Some(wanted);
            return;
        }
        let why = if wanted.first { Why::First } else { Why::Chosen };
        if let Err(error) = self.open_device(&wanted.device, true, why, with) {
            self.not_opened(wanted.device, why, error, with);
        }
    }
}

/// Asks the drivers, on a thread of its own, which device drives the window: each call may stall.
fn ask_for_driving(safe: Vec<Device>, with: &mut With) -> Result<Job<Option<usize>>> {
    let properties = with.gl_window.opencl_properties();
    Job::spawn("driving", "The drivers could not be asked.", with.waker, move |_: &_| {
        let _watched = watch::on_device("", "it is asked which device drives the window");
        Ok(sharing::driving_device(&safe, &properties).map(|device| device.info.index))
    })
}
