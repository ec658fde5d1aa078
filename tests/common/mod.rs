//! Helpers of several tests: windows, devices, ladders.

pub mod changed_conversions;
pub mod device;
pub mod ladder;
pub mod window;
