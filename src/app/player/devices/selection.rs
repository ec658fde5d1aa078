//! The selection of the device that filters: the device that the command line names, the best device at the start, or a device
//! that the user chooses.

use super::{Devices, PlayerContext};
use base::error::Error;
use engine::sharing::Sharing;
use opencl::cl::Device;

impl Devices {
    /// Stores the list of the machine's devices, as found by the builder.
    pub(super) fn found(&mut self, devices: Vec<Device>, cx: &mut PlayerContext) {
        if devices.is_empty() {
            self.running.sharing = Sharing::copy("there is no OpenCL device");
        }
        self.list.fill(devices, cx);
        self.candidate.await_first();
    }

    /// Requests the device with which to start, as soon as it is known.
    pub(super) fn choose_first(&mut self, cx: &mut PlayerContext) {
        if !self.candidate.is_first() {
            return;
        }
        match self.named.clone().map(Ok).or_else(|| self.list.first_device(cx)) {
            Some(Ok(device)) => self.candidate.request(device, true),
            Some(Err(error)) => {
                self.candidate.clear();
                self.mark_opencl_unavailable(&error, cx);
                cx.notify(error, true);
            }
            None => {}
        }
    }

    /// Requests the device after the current one in the list; if the list has only one device, opens that device again.
    pub(crate) fn next_device(&mut self, cx: &mut PlayerContext) {
        // A second press of the key changes to the device after the requested one.
        let current = self.candidate.device().or(self.running.device()).map(|device| device.info.index);
        let Some(next) = self.list.next_position(current) else {
            let why = "No OpenCL device was found when clreel started.";
            cx.notify(Error::new("There is no device to change to.", why, ""), false);
            return;
        };
        self.set_device(next, cx);
        if self.list.devices().count() == 1 {
            cx.overlay.show_message("There is no other OpenCL device: this one is started anew".to_owned());
        }
    }

    /// Requests the device at this position of the list, which is opened after the next redraw of the window. If it cannot be
    /// used, the device in use stays.
    pub(crate) fn set_device(&mut self, position: usize, cx: &mut PlayerContext) {
        let Some(device) = self.list.devices().nth(position).cloned() else { return };
        self.recovery.end(cx);
        self.candidate.request(device, false);
        cx.overlay.panels.show_devices();
        cx.repaints.redraw_soon();
    }
}
