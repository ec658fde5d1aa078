//! The device that is to replace the one in use: requested, then opened, then prepared.

use super::list::DeviceList;
use super::opening::{DeviceOpening, PreparedDevice};
use super::recovery::DeviceFailure;
use crate::app::player::PlayerContext;
use opencl::cl::Device;

/// The state of the change to another device.
#[derive(Default)]
enum Progress {
    /// No device is to replace the one in use.
    #[default]
    None,
    /// The first device is to be chosen, but it is not known yet.
    First,
    /// A device was requested. Opening it may take long, so the window is drawn with a message first.
    Requested {
        device: Device,
        /// True once the window was drawn with the message about the request.
        is_drawn: bool,
    },
    /// The context of the device is being created.
    Opening(DeviceOpening),
    /// The context is open, and programs for it are being built.
    Prepared(Box<PreparedDevice>),
}

/// The device that is to replace the one in use.
#[derive(Default)]
pub(crate) struct Candidate {
    progress: Progress,
    /// The number of contexts opened so far.
    contexts: u64,
}

impl Candidate {
    /// Returns true if the device is to be replaced, even if the new one is not known yet.
    pub(super) fn is_some(&self) -> bool {
        !matches!(self.progress, Progress::None)
    }

    /// Returns true if the first device is still to be chosen.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.progress, Progress::First)
    }

    /// Returns the device that is to replace the one in use; `None` if there is none, or it is unknown.
    pub(super) fn device(&self) -> Option<&Device> {
        match &self.progress {
            Progress::None | Progress::First => None,
            Progress::Requested { device, .. } => Some(device),
            Progress::Opening(opening) => Some(&opening.device),
            Progress::Prepared(prepared) => Some(&prepared.device),
        }
    }

    /// Returns the device that is being opened, if there is one.
    pub(super) fn opening(&self) -> Option<&DeviceOpening> {
        match &self.progress {
            Progress::Opening(opening) => Some(opening),
            _ => None,
        }
    }

    /// Returns the device that is open and for which programs are being built, if there is one.
    pub(super) fn prepared(&self) -> Option<&PreparedDevice> {
        match &self.progress {
            Progress::Prepared(prepared) => Some(prepared),
            _ => None,
        }
    }

    /// Returns the device that is open and for which programs are being built, to change it.
    pub(super) fn prepared_mut(&mut self) -> Option<&mut PreparedDevice> {
        match &mut self.progress {
            Progress::Prepared(prepared) => Some(prepared),
            _ => None,
        }
    }

    /// Drops the candidate: the device in use stays.
    pub(super) fn clear(&mut self) {
        self.progress = Progress::None;
    }

    /// Requests the first device, which is opened as soon as it is known.
    pub(super) fn await_first(&mut self) {
        self.progress = Progress::First;
    }

    /// Requests a device. It is opened once the window was drawn, or at once if `is_drawn` is true.
    pub(super) fn request(&mut self, device: Device, is_drawn: bool) {
        self.progress = Progress::Requested { device, is_drawn };
    }

    /// Notes that the window was drawn, so that the requested device can be opened.
    pub(crate) fn was_drawn(&mut self) {
        if let Progress::Requested { is_drawn, .. } = &mut self.progress {
            *is_drawn = true;
        }
    }

    /// Returns the requested device once the window was drawn.
    pub(super) fn to_open(&self) -> Option<Device> {
        match &self.progress {
            Progress::Requested { device, is_drawn: true } => Some(device.clone()),
            _ => None,
        }
    }

    /// Makes this device, which is being opened, the candidate.
    pub(super) fn open(&mut self, opening: DeviceOpening) {
        self.progress = Progress::Opening(opening);
    }

    /// Polls the device that is being opened, without blocking. Once its context exists, prepares and returns the device.
    ///
    /// # Errors
    /// If opening has failed.
    pub(super) fn poll_opening(
        &mut self,
        list: &mut DeviceList,
        cx: &mut PlayerContext,
    ) -> Result<Option<&PreparedDevice>, DeviceFailure> {
        let opened = self.opening().and_then(|opening| opening.poll(&cx.gl_window.gl));
        let Some((opened, opening)) = opened.and_then(|opened| Some((opened, self.take_opening()?))) else {
            return Ok(None);
        };
        match opened {
            Ok(opened) => {
                self.contexts += 1;
                let mut prepared = opening.prepare(opened, list, cx);
                prepared.start.number = self.contexts;
                self.progress = Progress::Prepared(Box::new(prepared));
                Ok(self.prepared())
            }
            Err(error) => Err(opening.failed(error)),
        }
    }

    pub(super) fn take_opening(&mut self) -> Option<DeviceOpening> {
        match std::mem::take(&mut self.progress) {
            Progress::Opening(opening) => Some(opening),
            other => {
                self.progress = other;
                None
            }
        }
    }

    pub(super) fn take_prepared(&mut self) -> Option<PreparedDevice> {
        match std::mem::take(&mut self.progress) {
            Progress::Prepared(prepared) => Some(*prepared),
            other => {
                self.progress = other;
                None
            }
        }
    }
}
