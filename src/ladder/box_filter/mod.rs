//! The box-filter ladder: each pixel becomes the mean of the (2r+1)² pixels around it.
//!
//! The contract: radius 0 to 128; the border repeats the edge; RGBA, 8 bits a channel, each channel on its
//! own; out = (sum + N/2) / N in whole numbers with N = (2r+1)². Row sums stay whole, 16 bits a channel.
//! Every variant gives exactly the bytes of [`mod@reference`].

pub mod bench;
mod checks;
pub mod config;
pub mod glsl;
pub mod native;
pub mod opencl;
pub mod pictures;
mod plan;
pub mod planar;
pub mod reference;
mod rounds;
pub mod run;
mod scratch;
pub mod suite;
pub mod trial;

use crate::error::{Error, Result};
use crate::gpu::cl::{DeviceInfo, DeviceKind};
use crate::gpu::memory::Storage;
use crate::ladder::{PeerInfo, VariantId, VariantInfo};

pub use config::{Code, Config};
pub use opencl::BuiltVariant;
pub use plan::Plan;
pub use run::filter_once;
pub use scratch::Scratch;

/// Largest radius, in pixels: 255·(2·128+1) is the largest row sum that fits 16 bits.
pub const MAX_RADIUS: u32 = 128;

/// The five steps in order, and what goes beyond them: what OpenCL computes.
pub static VARIANTS: [VariantInfo; 7] = [
    VariantInfo {
        id: VariantId::Naive,
        title: "Naive",
        idea: "Every pixel reads its whole window through the image sampler: (2r+1)² reads.",
        storage: Storage::Image,
        cpu: &config::NAIVE,
        gpu: &config::NAIVE,
    },
    VariantInfo {
        id: VariantId::Separable,
        title: "Separable",
        idea: "A row pass, then a column pass: 2(2r+1) reads instead of (2r+1)².",
        storage: Storage::Image,
        cpu: &config::SEPARABLE,
        gpu: &config::SEPARABLE,
    },
    VariantInfo {
        id: VariantId::Flat,
        title: "Flat",
        idea: "The same two passes on plain buffers, without the sampler.",
        storage: Storage::Buffer,
        cpu: &config::FLAT,
        gpu: &config::FLAT,
    },
    VariantInfo {
        id: VariantId::Vectorized,
        title: "Vectorized",
        idea: "Four pixels a work-item: sixteen channels in one vector.",
        storage: Storage::Buffer,
        cpu: &config::VECTORIZED,
        gpu: &config::VECTORIZED,
    },
    VariantInfo {
        id: VariantId::RunningSum,
        title: "Running sum",
        idea: "Add the pixel that enters, subtract the one that leaves: the radius costs nothing.",
        storage: Storage::Buffer,
        cpu: &config::RUNNING_SUM,
        gpu: &config::RUNNING_SUM,
    },
    VariantInfo {
        id: VariantId::Fused,
        title: "Fused",
        idea: "Rows and columns in one pass: each pixel is read about once and written once.",
        storage: Storage::Buffer,
        cpu: &config::FUSED_CPU,
        gpu: &config::FUSED_GPU,
    },
    // Its code is that of the variant it resolves to, see `BuiltVariant`.
    VariantInfo {
        id: VariantId::Auto,
        title: "Auto",
        idea: "The fastest for this device, size and radius, as `clreel tune` measured it; fused before that.",
        storage: Storage::Buffer,
        cpu: &config::FUSED_CPU,
        gpu: &config::FUSED_GPU,
    },
];

/// What is computed without OpenCL, to be compared with the rest.
pub static PEERS: [PeerInfo; 2] = [
    PeerInfo {
        id: VariantId::Glsl,
        title: "GLSL",
        idea: "Without OpenCL: two fragment shaders in OpenGL, along the rows and down the columns.",
    },
    PeerInfo {
        id: VariantId::Native,
        title: "Native",
        idea: "Without OpenCL: the fused algorithm in Rust, on all cores, in the processor's vectors.",
    },
];

/// The variant's entry in [`PEERS`]; `None` for all others.
pub fn peer(id: VariantId) -> Option<&'static PeerInfo> {
    PEERS.iter().find(|v| v.id == id)
}

/// The variant's entry in [`VARIANTS`]; `None` for [`VariantId::Off`] and the [`PEERS`].
pub fn info(id: VariantId) -> Option<&'static VariantInfo> {
    VARIANTS.iter().find(|v| v.id == id)
}

impl VariantInfo {
    /// Its kernels and their parameters on a kind of device.
    pub fn code(&self, kind: DeviceKind) -> &'static Code {
        if kind == DeviceKind::Cpu { self.cpu } else { self.gpu }
    }

    /// Whether a device can run this variant on pictures of `width` by `height` pixels.
    ///
    /// # Errors
    /// When the device has no images, or its images or allocations are too small.
    pub fn supports(&self, device: &DeviceInfo, width: u32, height: u32) -> Result<()> {
        let what = || format!("'{}' cannot run on '{}'.", self.id, device.name);
        if self.storage == Storage::Image {
            if !device.image_support {
                let hint = "Choose flat, vectorized or running-sum: they need no images.";
                return Err(Error::new(what(), "The device has no images.", hint));
            }
            let (max_width, max_height) = device.max_image;
            if width as usize > max_width || height as usize > max_height {
                return Err(Error::new(
                    what(),
                    format!(
                        "Its largest image is {max_width}×{max_height}, the picture is {width}×{height}."
                    ),
                    "Choose flat, vectorized or running-sum: they need no images.",
                ));
            }
        }
        // The row sums are the largest allocation: four channels of two bytes.
        let bytes = u64::from(width) * u64::from(height) * 8;
        if bytes > device.max_allocation_bytes {
            return Err(Error::new(
                what(),
                format!(
                    "It needs {bytes} bytes in one piece, the device allows {}.",
                    device.max_allocation_bytes
                ),
                "Use a smaller picture.",
            ));
        }
        // Kernels count pixels in 32-bit signed integers.
        if u64::from(width) * u64::from(height) > i32::MAX as u64 / 2 {
            return Err(Error::new(
                what(),
                format!("{width}×{height} pixels are too many."),
                "Use a smaller picture.",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Accelerator,
            global_memory_bytes: 1 << 32,
            max_image: (16_384, 16_384),
            ..DeviceInfo::made_up()
        }
    }

    /// Whether the variant can run, by what it reads; the same for all variants of a kind.
    fn supported(storage: Storage, device: &DeviceInfo, width: u32, height: u32) -> bool {
        let of_kind = VARIANTS.iter().filter(|v| v.storage == storage);
        let answers: Vec<bool> = of_kind.map(|v| v.supports(device, width, height).is_ok()).collect();
        assert!(!answers.is_empty() && answers.windows(2).all(|w| w[0] == w[1]));
        answers[0]
    }

    #[test]
    fn a_device_without_images_runs_what_reads_buffers() {
        let without = DeviceInfo { image_support: false, max_image: (0, 0), ..device() };
        assert!(
            supported(Storage::Image, &device(), 1280, 720)
                && supported(Storage::Buffer, &device(), 1280, 720)
        );
        assert!(supported(Storage::Buffer, &without, 1280, 720));
        assert!(
            !supported(Storage::Image, &without, 1280, 720) && !supported(Storage::Image, &without, 1, 1)
        );
        let error = info(VariantId::Naive).unwrap().supports(&without, 1280, 720).unwrap_err();
        assert!(error.why.contains("no images") && error.hint.contains("running-sum"), "{error}");
    }

    #[test]
    fn limits_of_images_and_of_memory_are_known_before_they_are_met() {
        let narrow = DeviceInfo { max_image: (8192, 4096), ..device() };
        assert!(supported(Storage::Image, &narrow, 8192, 4096));
        assert!(
            !supported(Storage::Image, &narrow, 8193, 16) && !supported(Storage::Image, &narrow, 16, 4097)
        );
        assert!(supported(Storage::Buffer, &narrow, 8193, 16));
        let small = DeviceInfo { max_allocation_bytes: 1280 * 720 * 8, ..device() };
        for storage in [Storage::Image, Storage::Buffer] {
            assert!(supported(storage, &small, 1280, 720) && !supported(storage, &small, 1281, 720));
            let huge =
                DeviceInfo { max_allocation_bytes: u64::MAX, max_image: (1 << 20, 1 << 20), ..device() };
            assert!(!supported(storage, &huge, 1 << 16, 1 << 15), "more pixels than the kernels count");
        }
    }
}
