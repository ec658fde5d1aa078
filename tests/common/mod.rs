//! Helpers of several test modules: windows, devices, ladders.

pub mod changed_conversions;
pub mod device;
pub mod ladder;
pub mod process;
pub mod window;
