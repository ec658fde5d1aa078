//! The device in use, and the statuses of its variants.

use super::opening::PreparedDevice;
use super::statuses::Statuses;
use crate::app::player::PlayerContext;
use base::device::{ClockState, DeviceInfo, DeviceKind};
use base::error::Error;
use box_filter::VariantId;
use engine::frame_loop::VariantStatus;
use engine::sharing::Sharing;
use opencl::cl::Device;
use opencl::clock::Clock;

/// A device in use, the number of its context, and whether its failed variants were reported.
struct DeviceInUse {
    device: Device,
    number: u64,
    /// True once the variants with which the device failed were reported.
    has_reported: bool,
}

/// The device in use, and the statuses of its variants. If no device is in use, the properties of the last one remain.
pub(crate) struct RunningDevice {
    in_use: Option<DeviceInUse>,
    /// The properties of the device in use or, if there is none, of the last one; `None` before the first device.
    pub(crate) info: Option<DeviceInfo>,
    clock: Clock,
    pub(super) statuses: Statuses,
    pub(crate) sharing: Sharing,
}

impl RunningDevice {
    /// Creates the state before the first device is in use.
    pub(super) fn new(statuses: Statuses) -> Self {
        let sharing = Sharing::copy("OpenCL is not there yet");
        Self { in_use: None, info: None, clock: Clock::default(), statuses, sharing }
    }

    /// Returns the device in use; `None` if there is none.
    pub(crate) fn device(&self) -> Option<&Device> {
        self.in_use.as_ref().map(|in_use| &in_use.device)
    }

    /// Returns the state of the clock (whether device times are used, or wall times) of the device in use or, if there is none,
    /// of the last one.
    pub(crate) fn clock(&self) -> ClockState {
        self.clock.state()
    }

    /// Returns the kind of the device in use or, if there is none, of the last one; a CPU before the first one.
    pub(crate) fn kind(&self) -> DeviceKind {
        self.info.as_ref().map_or(DeviceKind::Cpu, |info| info.kind)
    }

    /// Returns each variant with its status.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (VariantId, &VariantStatus)> {
        self.statuses.rows()
    }

    /// Returns the status of a variant; `None` if the variant is not offered.
    pub(crate) fn status(&self, id: VariantId) -> Option<&VariantStatus> {
        self.statuses.get(id)
    }

    /// Marks these variants as being validated in this version of the edited kernels, and no others any more.
    pub(crate) fn begin_judging(&mut self, version: u64, variants: &[VariantId]) {
        self.statuses.judged = (version, variants.to_vec());
    }

    /// Returns the number of the context of the device in use; `None` if no device is in use.
    pub(crate) fn number(&self) -> Option<u64> {
        self.in_use.as_ref().map(|in_use| in_use.number)
    }

    /// Makes a prepared device the device in use.
    pub(super) fn replace(&mut self, prepared: PreparedDevice) {
        let PreparedDevice { device, statuses, sharing, start, .. } = prepared;
        self.clock = start.cl.clock().clone();
        (self.statuses, self.sharing, self.info) = (statuses, sharing, Some(device.info.clone()));
        self.in_use = Some(DeviceInUse { device, number: start.number, has_reported: false });
    }

    /// Records that no device is in use any more.
    pub(super) fn abandon(&mut self) {
        self.in_use = None;
    }

    /// Marks a variant as unavailable on the device in use.
    pub(crate) fn set_unavailable(&mut self, id: VariantId, error: Error) {
        self.statuses.set(id, VariantStatus::Unavailable(error));
    }

    /// Reports the variants for which the device in use has failed, once no variant is being built any more. Reports them only
    /// once.
    pub(super) fn report_failed_trials(&mut self, cx: &mut PlayerContext) {
        let Some(in_use) = self.in_use.as_mut().filter(|in_use| !in_use.has_reported) else { return };
        if !self.statuses.building().is_empty() {
            return;
        }
        in_use.has_reported = true;
        let failed: Vec<_> = self.statuses.device_failures().collect();
        let Some((_, first)) = failed.first() else { return };
        let names: Vec<_> = failed.iter().map(|(id, _)| format!("'{id}'")).collect();
        let what = format!("{} could not be tried on '{}'.", names.join(", "), in_use.device.info.name);
        cx.notify(Error::new(what, first.why.clone(), "Select a variant to try it again."), false);
    }
}
