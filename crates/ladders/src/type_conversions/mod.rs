//! The type conversions of OpenCL C: a conformance test of a device's conversions ([`run`]), the expected results
//! ([`mod@reference`]), and a ladder of strategies by which the host can test them fast ([`strategies`]).

pub mod bulk;
mod compare;
mod device;
pub mod reference;
pub mod run;
pub mod saved;
pub mod state;
pub mod strategies;
pub mod trial;
pub mod types;
pub mod values;

pub use compare::Failure;
pub use device::{Abilities, KERNEL_FILE};
pub use state::Times;
