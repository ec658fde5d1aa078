//! What takes part in a benchmark of the box filter, and what it and a radius are called. In: names and numbers. Out: entries
//! of its rows, and the memory that all of it takes.

use serde_json::json;

use super::VariantId;
use super::native::{Lanes, all_threads};
use base::error::Result;
use base::memory::require;
use ladder::BackEnd;
use ladder::rows::{Case, Entry, LimitName, Worth};
use opencl::cl::DeviceKind;
use opencl::memory::Storage;

/// What takes part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Entrant {
    /// A rung of the ladder.
    Variant(VariantId),
    /// The filter in Rust, on so many threads, beside the rungs.
    Rust(usize, Lanes),
}

impl Entrant {
    /// The filter in Rust on one thread and on all, plain and in vectors.
    pub fn grid() -> impl Iterator<Item = Entrant> {
        let threads = if all_threads() > 1 { vec![1, all_threads()] } else { vec![1] };
        let lanes = [Lanes::Plain, Lanes::Vector];
        threads.into_iter().flat_map(move |threads| lanes.map(|lanes| Entrant::Rust(threads, lanes)))
    }

    fn back_end(self) -> BackEnd {
        match self {
            Entrant::Variant(id) => id.back_end(),
            Entrant::Rust(..) => BackEnd::Native,
        }
    }

    /// What it is called, on a device of that kind.
    pub fn entry(self, device: Option<DeviceKind>) -> Entry {
        let back_end = self.back_end();
        let limit = match self {
            // It reads fewer bytes.
            Entrant::Variant(id) if id.reads_planes() => Some(1),
            // A device with memory of its own says nothing of the processor's.
            _ => (back_end != BackEnd::Native || device == Some(DeviceKind::Cpu)).then_some(0),
        };
        match self {
            Entrant::Variant(id) => {
                let (id, name, title) = (id.as_str(), id.as_str().to_owned(), id.rung().title);
                Entry { id, name, title, back_end, limit, beside: None }
            }
            Entrant::Rust(threads, lanes) => {
                let vectors = lanes == Lanes::Vector;
                let name = format!("native, {threads} × {}", if vectors { "vectors" } else { "plain" });
                let beside = Some(json!({ "threads": threads, "vectors": vectors }));
                let (id, title) = (VariantId::Native.as_str(), VariantId::Native.rung().title);
                Entry { id, name, title, back_end, limit, beside }
            }
        }
    }
}

/// What a radius is called, with frames of this size.
pub fn case((width, height): (u32, u32), radius: u32) -> Case {
    let limit = |key, name, note| LimitName { key, name, note, computes: false };
    let planes = "planar: the same frames as planes of 4:2:0, with its own reference and its own copy";
    Case {
        title: format!("{width}×{height} · radius {radius}"),
        short: format!("r={radius}"),
        json: json!({ "radius": radius }),
        worth: Worth::Frames,
        base: VariantId::Naive.as_str(),
        limits: vec![limit("copy", "copy", None), limit("planes_copy", "copy of planes", Some(planes))],
    }
}

/// Whether there is memory to time `entrants` on frames of this size, besides the frames. On a CPU device, so that it
/// never promises too much: other devices have memory of their own.
///
/// # Errors
/// When there is not.
pub fn require_memory((width, height): (u32, u32), entrants: &[Entrant]) -> Result<()> {
    let any = |is: &dyn Fn(&Entrant) -> bool| usize::from(entrants.iter().any(is));
    let reads_images = |one: &Entrant| match one {
        Entrant::Variant(id) => id.kernels().is_some_and(|info| info.storage == Storage::Image),
        Entrant::Rust(..) => false,
    };
    // In pictures: two to check with, and what is right; source and output of a check, before and after it, each with its
    // canaries; the same on the device, with row sums; source, destination and row sums of what is timed. A whole frame as
    // planes and pixels, what is right for it, its slot's memory and the device's.
    let pictures = 3
        + 12
        + 8
        + 4
        + 8
        + 4 * any(&reads_images)
        + 4 * any(&|one| one.back_end() == BackEnd::Glsl)
        + 2 * any(&|one| one.back_end() == BackEnd::Native);
    require(width as usize * height as usize * 4 * pictures)
}
