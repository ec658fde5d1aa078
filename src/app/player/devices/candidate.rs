//! The candidate: the device that is to replace the device in use. It is requested, then opened, then prepared.

use super::list::DeviceList;
use super::opening::{DeviceOpening, PreparedDevice};
use super::recovery::DeviceFailure;
use crate::app::player::PlayerContext;
use opencl::cl::Device;

/// The stages of the change to another device.
#[derive(Default)]
enum Progress {
    /// No change to another device is in progress.
    #[default]
    None,
    /// The first device is to be used, but it is not known yet which one that is.
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

/// The device that is to replace the device in use, and the stage of the change.
#[derive(Default)]
pub(crate) struct Candidate {
    progress: Progress,
    /// The number of contexts that were opened so far; numbers new contexts.
    contexts: u64,
}

impl Candidate {
    /// Returns true if the device in use is to be replaced, even if it is not known yet by which device.
    pub(super) fn is_some(&self) -> bool {
        !matches!(self.progress, Progress::None)
    }

    /// Returns true if the first device is to be used and it is not known yet which one that is.
    pub(super) fn is_first(&self) -> bool {
        matches!(self.progress, Progress::First)
    }

    /// Returns the device that is to replace the device in use; `None` if none is to replace it, or it is not known yet which
    /// one.
    pub(super) fn device(&self) -> Option<&Device> {
        match &self.progress {
            Progress::None | Progress::First => None,
            Progress::Requested { device, .. } => Some(device),
            Progress::Opening(opening) => Some(&opening.device),
            Progress::Prepared(prepared) => Some(&prepared.device),
        }
    }

    /// Returns the device whose context is being created; `None` if there is none.
    pub(super) fn opening(&self) -> Option<&DeviceOpening> {
        match &self.progress {
            Progress::Opening(opening) => Some(opening),
            _ => None,
        }
    }

    /// Returns the device whose context is open and for which programs are being built; `None` if there is none.
    pub(super) fn prepared(&self) -> Option<&PreparedDevice> {
        match &self.progress {
            Progress::Prepared(prepared) => Some(prepared),
            _ => None,
        }
    }

    /// Returns the device of [`Self::prepared`] for changes.
    pub(super) fn prepared_mut(&mut self) -> Option<&mut PreparedDevice> {
        match &mut self.progress {
            Progress::Prepared(prepared) => Some(prepared),
            _ => None,
        }
    }

    /// Drops the candidate, so that the device in use stays.
    pub(super) fn clear(&mut self) {
        self.progress = Progress::None;
    }

    /// Requests a change to the first device, which is opened as soon as it is known which one that is.
    pub(super) fn await_first(&mut self) {
        self.progress = Progress::First;
    }

    /// Requests a change to this device. The device is opened once the window was drawn; at once if `is_drawn` is true.
    pub(super) fn request(&mut self, device: Device, is_drawn: bool) {
        self.progress = Progress::Requested { device, is_drawn };
    }

    /// Records that the window was drawn with the message about the request, so that the requested device can be opened.
    pub(crate) fn was_drawn(&mut self) {
        if let Progress::Requested { is_drawn, .. } = &mut self.progress {
            *is_drawn = true;
        }
    }

    /// Returns the requested device if it can be opened now, since the window was drawn; otherwise `None`.
    pub(super) fn to_open(&self) -> Option<Device> {
        match &self.progress {
            Progress::Requested { device, is_drawn: true } => Some(device.clone()),
            _ => None,
        }
    }

    /// Makes `opening`, whose context is being created, the device that is to replace the device in use.
    pub(super) fn open(&mut self, opening: DeviceOpening) {
        self.progress = Progress::Opening(opening);
    }

    /// Checks, without blocking, whether the device that is being opened has its context. If it has, prepares and returns the
    /// device; otherwise returns `None`.
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
