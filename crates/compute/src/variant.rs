//! Declarations of variants. A variant is one implementation of a ladder's computation. Command line, tables and tests read
//! them.

use serde_json::Value;

use base::device::DeviceKind;

use crate::BackEnd;
use crate::config::Tunable;

/// The kind of a variant's implementation, and its code.
#[derive(Debug)]
pub enum Work<C: 'static, H> {
    /// Kernels on an OpenCL device: those for CPU devices, and those for all other devices.
    Kernels([&'static C; 2]),
    /// A function that runs on threads of this process.
    Host(H),
    /// OpenGL shaders.
    Shaders(H),
    /// A function that runs on threads of this process and is shown as an additional row that is not a variant of the ladder.
    /// With the row's name, and its description in JSON.
    ExtraHost(H, String, Value),
    /// The fastest of the ladder's kernels on this device by the tuning cache. If the case was not tuned, the variant with this
    /// id, or with `None` the fastest that a short search finds.
    Fastest(Option<&'static str>),
}

/// A variant (one implementation of a ladder's computation), with the texts that describe it. `C` is the type of the ladder's
/// kernel code, `H` that of its code on the host.
#[derive(Debug)]
pub struct Variant<C: 'static, H> {
    /// The id of the variant on the command line and in JSON. It never changes its meaning.
    pub id: &'static str,
    /// The title of the variant that users see, one to three words.
    pub title: &'static str,
    /// The difference from the preceding variant, in one sentence.
    pub idea: &'static str,
    /// The implementation of the variant.
    pub work: Work<C, H>,
}

impl<C: 'static, H> Variant<C, H> {
    /// The variant `auto`, for ladders that search for their fastest kernels.
    pub const AUTO: Self = Self {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest(None),
    };

    /// Returns a variant that runs on threads of this process.
    pub const fn host(id: &'static str, title: &'static str, idea: &'static str, host: H) -> Self {
        Self { id, title, idea, work: Work::Host(host) }
    }

    /// Returns a variant that runs the same kernels on all devices.
    pub const fn kernels(
        id: &'static str,
        title: &'static str,
        idea: &'static str,
        code: &'static C,
    ) -> Self {
        Self { id, title, idea, work: Work::Kernels([code; 2]) }
    }
}

impl<C: Tunable, H> Variant<C, H> {
    /// Returns the variant's own kernels for a kind of device; `None` if it has none.
    pub fn code(&self, kind: DeviceKind) -> Option<&'static C> {
        match self.work {
            Work::Kernels(codes) => Some(codes[usize::from(kind != DeviceKind::Cpu)]),
            _ => None,
        }
    }

    /// Returns the technology that the variant computes with.
    pub fn back_end(&self) -> BackEnd {
        match self.work {
            Work::Kernels(_) | Work::Fastest(_) => BackEnd::OpenCl,
            Work::Shaders(_) => BackEnd::Glsl,
            Work::Host(_) | Work::ExtraHost(..) => BackEnd::Native,
        }
    }
}
