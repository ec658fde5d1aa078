//! What several of the tests share.

pub mod changed_conversions;
pub mod device;
pub mod ladder;
pub mod window;
