//! The conversions of OpenCL C: whether a device's are right ([`run`]), and what is right
//! ([`mod@reference`]); and how fast a host finds out ([`strategies`]).

pub mod bulk;
mod compare;
mod device;
pub mod reference;
pub mod run;
pub mod saved;
pub mod strategies;
pub mod trial;
pub mod types;
pub mod values;

pub use compare::Failure;
pub use device::{Abilities, FILE};
pub use trial::Times;
