//! Declares a variant, which is one implementation of a ladder's computation. Command line, tables and tests read these
//! declarations.

use serde_json::Value;

use base::device::DeviceKind;

use crate::BackEnd;
use crate::config::Tunable;

/// The kind of a variant's implementation, with its code.
#[derive(Debug)]
pub enum Work<C: 'static, H> {
    /// Kernels on an OpenCL device.
    Kernels(&'static C),
    /// Kernels on an OpenCL device, with different ones for CPU devices.
    ByKind {
        /// The kernels for CPU devices.
        cpu: &'static C,
        /// The kernels for all other devices.
        gpu: &'static C,
    },
    /// Threads of this process.
    Host(H),
    /// Shaders in OpenGL.
    Shaders(H),
    /// Threads of this process, shown as an additional row that is not a variant of the ladder: the host's work, the row's
    /// name, and its description in JSON.
    ExtraHost(H, String, Value),
    /// The fastest of the ladder's kernels on this device, found in the tuning cache, or else by a short search.
    Fastest,
    /// The fastest variant by the tuning cache, or the variant with this id if the case was not tuned.
    Tuned(&'static str),
}

/// A variant with its texts for users. `C` is the type of a ladder's kernel code, `H` that of its work on the host.
#[derive(Debug)]
pub struct Variant<C: 'static, H> {
    /// The id on the command line and in JSON. It never changes its meaning.
    pub id: &'static str,
    /// The title for people, one to three words.
    pub title: &'static str,
    /// The difference from the preceding variant, in one sentence.
    pub idea: &'static str,
    /// The implementation.
    pub work: Work<C, H>,
}

impl<C: 'static, H> Variant<C, H> {
    /// The variant `auto` of the ladders that search for their fastest kernels.
    pub const AUTO: Self = Self {
        id: "auto",
        title: "Auto",
        idea: "The fastest of the kernels and its parameters, measured on the device before it is timed.",
        work: Work::Fastest,
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
        Self { id, title, idea, work: Work::Kernels(code) }
    }
}

impl<C: Tunable, H> Variant<C, H> {
    /// Returns the kernels for a kind of device; `None` if the variant has no kernels of its own.
    pub fn code(&self, kind: DeviceKind) -> Option<&'static C> {
        match self.work {
            Work::Kernels(code) => Some(code),
            Work::ByKind { cpu, gpu } => Some(if kind == DeviceKind::Cpu { cpu } else { gpu }),
            _ => None,
        }
    }

    /// Returns the technology that the variant computes with.
    pub fn back_end(&self) -> BackEnd {
        match self.work {
            Work::Kernels(_) | Work::ByKind { .. } | Work::Fastest | Work::Tuned(_) => BackEnd::OpenCl,
            Work::Shaders(_) => BackEnd::Glsl,
            Work::Host(_) | Work::ExtraHost(..) => BackEnd::Native,
        }
    }
}
