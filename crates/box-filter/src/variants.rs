//! The variants of the box filter. Each is declared once, with its id, key, group on the screen, title, description and
//! implementation. Command line, help, keys, buttons, scoreboard and tests use these entries.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::config::{self, Code};
use super::planar::{self, PlanesCode};
use base::error::{Error, Result};
use ladder::BackEnd;
use opencl::cl::{DeviceInfo, DeviceKind};
use opencl::memory::Storage;

/// The group of a variant on the screen, in the order of display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The filter is off.
    Off,
    /// The five steps of the ladder, each with one idea.
    Steps,
    /// Faster variants than the steps.
    Beyond,
    /// Other implementations, for comparison.
    Others,
}

impl Group {
    /// All groups.
    pub const ALL: [Group; 4] = [Group::Off, Group::Steps, Group::Beyond, Group::Others];

    /// Returns the variants of the group.
    pub fn variants(self) -> impl Iterator<Item = VariantId> + Clone {
        VariantId::ALL.into_iter().filter(move |id| id.info().group == self)
    }
}

/// The implementation of a variant.
#[derive(Debug)]
pub enum Work {
    /// None: the frame passes through.
    Nothing,
    /// Kernels on an OpenCL device.
    Kernels(Kernels),
    /// The kernels of the fastest other variant, by tuning results; these kernels without such results.
    Fastest(Kernels),
    /// Kernels on the planes of a picture, before the conversion to RGBA.
    Planes(&'static PlanesCode),
    /// Shaders in OpenGL.
    Shaders,
    /// Threads of this process, in Rust.
    Threads,
}

/// The OpenCL kernels of a variant that filters RGBA pictures.
#[derive(Debug)]
pub struct Kernels {
    /// The variant that the kernels implement.
    pub id: VariantId,
    /// The storage (buffers or images) of input and output.
    pub storage: Storage,
    /// The code for CPU devices.
    pub cpu: &'static Code,
    /// The code for all other devices; may be the same.
    pub gpu: &'static Code,
}

/// The declaration of a variant.
#[derive(Debug)]
pub struct VariantInfo {
    /// The id on the command line, in JSON and in CSV. It must never change.
    pub name: &'static str,
    /// The key that selects the variant in the window.
    pub key: char,
    /// The group in which the variant is listed on the screen.
    pub group: Group,
    /// The title on the screen, one to three words.
    pub title: &'static str,
    /// The idea of the variant, in one sentence.
    pub idea: &'static str,
    /// The implementation of the variant.
    pub work: Work,
}

/// Returns kernels with this code for CPU devices and for all others.
const fn kernels(id: VariantId, storage: Storage, [cpu, gpu]: [&'static Code; 2]) -> Kernels {
    Kernels { id, storage, cpu, gpu }
}

/// Generates the enum, the list of all variants and the table of declarations from the entries below.
macro_rules! variants {
    ($($(#[$doc:meta])* $id:ident $entry:tt)*) => {
        /// Identifies a variant of the box filter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum VariantId {
            $($(#[$doc])* $id,)*
        }

        impl VariantId {
            /// All variants, in the order of the entries. The last one is the user's own.
            pub const WITH_OWN: [VariantId; [$(VariantId::$id),*].len()] = [$(VariantId::$id),*];
        }

        /// The declarations of all variants, indexed by [`VariantId`].
        static VARIANTS: [VariantInfo; VariantId::WITH_OWN.len()] = [$(variants!(@info $entry)),*];
    };
    (@info { $($fields:tt)* }) => { VariantInfo { $($fields)* } };
}

variants! {
    /// No filter: the frame passes through.
    Off {
        name: "off", key: '0', group: Group::Off, title: "Off",
        idea: "No filter: the frame passes through.",
        work: Work::Nothing,
    }
    /// `image2d`, two nested loops, (2r+1)² reads a pixel.
    Naive {
        name: "naive", key: '1', group: Group::Steps, title: "Naive",
        idea: "Every pixel reads its whole window through the image sampler: (2r+1)² reads.",
        work: Work::Kernels(kernels(VariantId::Naive, Storage::Image, [&config::NAIVE; 2])),
    }
    /// Images, one horizontal and one vertical pass.
    Separable {
        name: "separable", key: '2', group: Group::Steps, title: "Separable",
        idea: "A row pass, then a column pass: 2(2r+1) reads instead of (2r+1)².",
        work: Work::Kernels(kernels(VariantId::Separable, Storage::Image, [&config::SEPARABLE; 2])),
    }
    /// The two passes of [`Separable`](Self::Separable), on flat buffers.
    Flat {
        name: "flat", key: '3', group: Group::Steps, title: "Flat",
        idea: "The same two passes on plain buffers, without the sampler.",
        work: Work::Kernels(kernels(VariantId::Flat, Storage::Buffer, [&config::FLAT; 2])),
    }
    /// Flat buffers, several pixels per work-item in OpenCL vector types.
    Vectorized {
        name: "vectorized", key: '4', group: Group::Steps, title: "Vectorized",
        idea: "Four pixels a work-item: sixteen channels in one vector.",
        work: Work::Kernels(kernels(VariantId::Vectorized, Storage::Buffer, [&config::VECTORIZED; 2])),
    }
    /// Running sums: add the pixel that enters the window, subtract the one that leaves it.
    RunningSum {
        name: "running-sum", key: '5', group: Group::Steps, title: "Running sum",
        idea: "Add the pixel that enters, subtract the one that leaves: the radius costs nothing.",
        work: Work::Kernels(kernels(VariantId::RunningSum, Storage::Buffer, [&config::RUNNING_SUM; 2])),
    }
    /// Two fragment shaders in OpenGL, without OpenCL.
    Glsl {
        name: "glsl", key: '6', group: Group::Others, title: "GLSL",
        idea: "Without OpenCL: two fragment shaders in OpenGL, along the rows and down the columns.",
        work: Work::Shaders,
    }
    /// Threads and vectors in Rust, without OpenCL.
    Native {
        name: "native", key: '7', group: Group::Others, title: "Native",
        idea: "Without OpenCL: the fused algorithm in Rust, on all cores, in the processor's vectors.",
        work: Work::Threads,
    }
    /// Rows and columns in one kernel: each pixel is read about once and written once.
    Fused {
        name: "fused", key: '8', group: Group::Beyond, title: "Fused",
        idea: "Rows and columns in one pass: each pixel is read about once and written once.",
        work: Work::Kernels(kernels(VariantId::Fused, Storage::Buffer, [&config::FUSED_CPU, &config::FUSED_GPU])),
    }
    /// Filters the planes of a picture at their own sizes, before the conversion to RGBA.
    Planar {
        name: "planar", key: 'y', group: Group::Others, title: "Planar",
        idea: "Y, U and V at their own sizes before they become RGBA: 1.5 bytes a pixel for 4:2:0, not 4.",
        work: Work::Planes(&planar::PLANES),
    }
    /// The variant that is the fastest on this device, by tuning results.
    Auto {
        name: "auto", key: '9', group: Group::Beyond, title: "Auto",
        idea: "The fastest for this device, size and radius, as `clreel tune` measured it; fused before that.",
        work: Work::Fastest(kernels(VariantId::Auto, Storage::Buffer, [&config::FUSED_CPU, &config::FUSED_GPU])),
    }
    /// The user's own kernel, if the folder of kernels has one: [`OWN_FILE`].
    Own {
        name: "own", key: 'u', group: Group::Others, title: "Your own",
        idea: "Your own kernel: box_filter/own.cl in the folder of kernels.",
        work: Work::Kernels(kernels(VariantId::Own, Storage::Buffer, [&config::OWN; 2])),
    }
}

/// The file with the user's own kernel, in the folder of kernels.
pub const OWN_FILE: &str = "box_filter/own.cl";

impl VariantId {
    /// All built-in variants, in the order of the entries.
    pub const ALL: [Self; Self::WITH_OWN.len() - 1] = match Self::WITH_OWN.first_chunk() {
        Some(all) => *all,
        None => unreachable!(),
    };
    /// The variant that is selected when the window opens.
    pub const DEFAULT: Self = Self::RunningSum;

    /// Returns the declaration of the variant.
    pub fn info(self) -> &'static VariantInfo {
        &VARIANTS[self as usize]
    }

    /// Returns the id on the command line, in JSON and in CSV.
    pub fn as_str(self) -> &'static str {
        self.info().name
    }

    /// Returns the key that selects the variant in the window.
    pub fn key(self) -> char {
        self.info().key
    }

    /// Returns the back end on which the variant runs.
    pub fn back_end(self) -> BackEnd {
        match self.info().work {
            Work::Nothing => BackEnd::Nothing,
            Work::Kernels(_) | Work::Fastest(_) | Work::Planes(_) => BackEnd::OpenCl,
            Work::Shaders => BackEnd::Glsl,
            Work::Threads => BackEnd::Native,
        }
    }

    /// Returns the kernels on RGBA pictures, if there are any.
    pub fn kernels(self) -> Option<&'static Kernels> {
        match &self.info().work {
            Work::Kernels(kernels) | Work::Fastest(kernels) => Some(kernels),
            _ => None,
        }
    }

    /// Returns the kernels on planes, if there are any.
    pub(crate) fn planes(self) -> Option<&'static PlanesCode> {
        if let Work::Planes(code) = self.info().work { Some(code) } else { None }
    }

    /// Returns true if the variant filters planes, before the conversion to RGBA; all others filter RGBA pictures.
    pub fn reads_planes(self) -> bool {
        self.planes().is_some()
    }

    /// Returns the kernel files that the variant uses on a kind of device; `None` if the variant may use the files of any
    /// variant.
    pub fn files(self, kind: DeviceKind) -> Option<&'static [&'static str]> {
        match &self.info().work {
            Work::Kernels(kernels) => Some(std::slice::from_ref(&kernels.code(kind).file)),
            Work::Planes(code) => Some(std::slice::from_ref(code.file_on(kind))),
            Work::Fastest(_) => None,
            Work::Nothing | Work::Shaders | Work::Threads => Some(&[]),
        }
    }
}

impl fmt::Display for VariantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for VariantId {
    type Err = String;

    fn from_str(s: &str) -> std::result::Result<Self, String> {
        Self::WITH_OWN.into_iter().find(|v| v.as_str() == s).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|v| v.as_str()).collect();
            format!("no variant is called '{s}'; choose one of {}", names.join(", "))
        })
    }
}

/// Lists variants for a sentence, as in "flat, vectorized or running-sum" if `last` is "or".
pub fn join_ids(ids: impl IntoIterator<Item = VariantId>, last: &str) -> String {
    let names: Vec<_> = ids.into_iter().map(VariantId::as_str).collect();
    match names.split_last() {
        Some((end, others)) if !others.is_empty() => format!("{} {last} {end}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Returns a hint that names the variants that need no images, for devices without suitable images.
fn without_images() -> String {
    let on_buffers = |id: &VariantId| id.kernels().is_some_and(|kernels| kernels.storage == Storage::Buffer);
    let steps = join_ids(Group::Steps.variants().filter(on_buffers), "or");
    format!("Choose {steps}: they need no images.")
}

impl Kernels {
    /// Returns the kernel code for a kind of device.
    pub fn code(&self, kind: DeviceKind) -> &'static Code {
        if kind == DeviceKind::Cpu { self.cpu } else { self.gpu }
    }

    /// Checks that a device can run this variant on pictures of `width` by `height` pixels.
    ///
    /// # Errors
    /// When the device has no images, or its images or allocations are too small.
    pub fn supports(&self, device: &DeviceInfo, width: u32, height: u32) -> Result<()> {
        let what = || format!("'{}' cannot run on '{}'.", self.id, device.name);
        if self.storage == Storage::Image {
            if !device.image_support {
                return Err(Error::new(what(), "The device has no images.", without_images()));
            }
            let (max_width, max_height) = device.max_image;
            if width as usize > max_width || height as usize > max_height {
                return Err(Error::new(
                    what(),
                    format!(
                        "Its largest image is {max_width}×{max_height}, the picture is {width}×{height}."
                    ),
                    without_images(),
                ));
            }
        }
        // The row sums are the largest allocation: four channels of two bytes.
        let bytes = u64::from(width) * u64::from(height) * 8;
        if !device.has_room(bytes, bytes) {
            return Err(Error::new(
                what(),
                format!("It needs {bytes} bytes in one piece, more than the device allows."),
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

    /// Returns true if variants that read this storage can run on the device. Asserts that the result is the same for all
    /// of them.
    fn supported(storage: Storage, device: &DeviceInfo, width: u32, height: u32) -> bool {
        let of_kind =
            VariantId::ALL.into_iter().filter_map(VariantId::kernels).filter(|k| k.storage == storage);
        let answers: Vec<bool> = of_kind.map(|v| v.supports(device, width, height).is_ok()).collect();
        assert!(!answers.is_empty() && answers.windows(2).all(|w| w[0] == w[1]));
        answers[0]
    }

    #[test]
    fn the_id_is_the_same_in_json() {
        for id in VariantId::WITH_OWN {
            assert_eq!(serde_json::to_value(id).unwrap(), id.as_str());
        }
        assert_eq!(VariantId::WITH_OWN.last(), Some(&VariantId::Own));
        assert!(!VariantId::ALL.contains(&VariantId::Own));
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
        let error = VariantId::Naive.kernels().unwrap().supports(&without, 1280, 720).unwrap_err();
        assert!(
            error.why.contains("no images") && error.hint.contains("flat, vectorized or running-sum:"),
            "{error}"
        );
    }

    #[test]
    fn limits_of_images_and_memory_are_checked() {
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
