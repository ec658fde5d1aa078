//! The clock of a device, with the result of its calibration.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base::device::ClockState;

/// The minimum length of a device time that is shown, as a multiple of the resolution of the device's clock.
const MIN_STEPS: f64 = 10.0;

/// The result of comparing a device's clock with the host's.
#[derive(Debug, Clone, PartialEq)]
pub enum Calibration {
    /// Device times grow in proportion to wall times, and are used.
    Trusted {
        /// The resolution of the device's clock in nanoseconds.
        resolution_ns: u64,
        /// A time of the host's clock, and the time of the device's clock at the same moment, in nanoseconds.
        anchor: (Instant, u64),
    },
    /// Device times are not usable. The text gives the reason, as a clause that follows "since".
    Rejected(String),
}

/// The clock of a context's device, with the result of its calibration. Clones of the context and all of its queues share it.
#[derive(Debug, Clone, Default)]
pub struct Clock(pub(crate) Arc<OnceLock<Calibration>>);

impl Clock {
    /// Returns the result of the calibration; `None` before the calibration.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.0.get()
    }

    /// Returns true if no calibration has rejected the device's times.
    pub fn is_usable(&self) -> bool {
        !matches!(self.calibration(), Some(Calibration::Rejected(_)))
    }

    /// Returns true if a device time in nanoseconds is long enough to be accurate with the resolution of the device's clock.
    pub fn resolves(&self, ns: f64) -> bool {
        self.is_usable() && self.resolution_ns().is_none_or(|steps| ns >= MIN_STEPS * steps as f64)
    }

    /// Returns the resolution of the device's clock in nanoseconds; `None` if it is not calibrated or not trusted.
    pub fn resolution_ns(&self) -> Option<u64> {
        match self.calibration() {
            Some(Calibration::Trusted { resolution_ns, .. }) => Some(*resolution_ns),
            _ => None,
        }
    }

    /// Returns the state of the clock, for messages and JSON.
    pub fn state(&self) -> ClockState {
        match self.calibration() {
            Some(Calibration::Trusted { .. }) => ClockState::Trusted,
            Some(Calibration::Rejected(why)) => ClockState::Rejected(why.clone()),
            None => ClockState::Uncalibrated(None),
        }
    }
}
