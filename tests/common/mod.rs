//! Helpers of several test modules: windows, devices, ladders. Test modules import them with `use crate::common::*`.

pub mod changed_conversions;
mod process;
pub mod reports;
mod window;

pub use process::*;
pub use serde_json::Value;
pub use testkit::movie::{Folder, Movie, steady};
pub use testkit::{layer, pair};
pub use window::*;
