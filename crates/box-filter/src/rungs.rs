//! The rungs of the box filter, each declared once: its name, its key, its place on the screen, its words, and what it is
//! made of. Command line, help, keys, buttons, scoreboard and tests read them from here.

use std::fmt;
use std::str::FromStr;

use super::config::{self, Code};
use super::planar::{self, PlanesCode};
use base::error::{Error, Result};
use ladder::BackEnd;
use opencl::cl::{DeviceInfo, DeviceKind};
use opencl::memory::Storage;

/// Where a rung stands on the screen. The groups are in their order there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// No filter.
    Off,
    /// The five steps, one idea each.
    Steps,
    /// What goes beyond them.
    Beyond,
    /// What computes in another way, for comparison.
    Others,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 4] = [Group::Off, Group::Steps, Group::Beyond, Group::Others];

    /// Its rungs.
    pub fn rungs(self) -> impl Iterator<Item = VariantId> + Clone {
        VariantId::ALL.into_iter().filter(move |id| id.rung().group == self)
    }
}

/// What a rung is made of.
#[derive(Debug)]
pub enum Work {
    /// Nothing: the frame passes through.
    Nothing,
    /// Kernels on an OpenCL device.
    Kernels(Kernels),
    /// The kernels of another rung, whichever is the fastest; these before anything has been measured.
    Fastest(Kernels),
    /// Kernels on the planes of a picture, before they become RGBA.
    Planes(&'static PlanesCode),
    /// Kernels that another rung once had.
    Former,
    /// Shaders in OpenGL.
    Shaders,
    /// Threads of this process.
    Threads,
}

/// The kernels of a rung.
#[derive(Debug)]
pub struct Kernels {
    /// The rung.
    pub id: VariantId,
    /// What its input and output are.
    pub storage: Storage,
    /// Its code on CPU devices.
    pub cpu: &'static Code,
    /// Its code on all other devices: the same, where one file serves both.
    pub gpu: &'static Code,
}

/// One rung, as the user meets it.
#[derive(Debug)]
pub struct Rung {
    /// Its name on the command line, in JSON and in CSV: it never changes meaning.
    pub name: &'static str,
    /// The key that chooses it in the window.
    pub key: char,
    /// Where it stands on the screen.
    pub group: Group,
    /// Its name for people, one to three words.
    pub title: &'static str,
    /// What it does differently, in one sentence.
    pub idea: &'static str,
    /// What it is made of.
    pub work: Work,
}

/// Makes of the entries below the names in the code, the list of all, and the table.
macro_rules! rungs {
    (@work $id:ident Kernels($storage:ident, $code:ident)) => { rungs!(@work $id Kernels($storage, $code, $code)) };
    (@work $id:ident Planes($code:ident)) => { Work::Planes(&planar::$code) };
    (@work $id:ident $work:ident($storage:ident, $cpu:ident, $gpu:ident)) => {
        Work::$work(Kernels {
            id: VariantId::$id,
            storage: Storage::$storage,
            cpu: &config::$cpu,
            gpu: &config::$gpu,
        })
    };
    (@work $id:ident $work:ident) => { Work::$work };
    ($($(#[$doc:meta])* $id:ident {
        name: $name:literal, key: $key:literal, group: $group:ident, title: $title:literal, idea: $idea:literal,
        work: $work:ident $(($($of:ident),*))?,
    })* -- $($(#[$more_doc:meta])* $more:ident {
        name: $more_name:literal, key: $more_key:literal, group: $more_group:ident, title: $more_title:literal,
        idea: $more_idea:literal, work: $more_work:ident $(($($more_of:ident),*))?,
    })*) => {
        /// A rung by its name in the code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum VariantId {
            $($(#[$doc])* $id,)*
            $($(#[$more_doc])* $more,)*
        }

        impl VariantId {
            /// All that clreel has of its own, in the order of the entries.
            pub const ALL: [VariantId; [$(VariantId::$id),*].len()] = [$(VariantId::$id),*];
        }

        static RUNGS: [Rung; VariantId::ALL.len() + [$(VariantId::$more),*].len()] = [$(Rung {
            name: $name,
            key: $key,
            group: Group::$group,
            title: $title,
            idea: $idea,
            work: rungs!(@work $id $work $(($($of),*))?),
        },)* $(Rung {
            name: $more_name,
            key: $more_key,
            group: Group::$more_group,
            title: $more_title,
            idea: $more_idea,
            work: rungs!(@work $more $more_work $(($($more_of),*))?),
        },)*];
    };
}

rungs! {
    /// No filter: the frame passes through.
    Off {
        name: "off", key: '0', group: Off, title: "Off",
        idea: "No filter: the frame passes through.",
        work: Nothing,
    }
    /// `image2d`, two nested loops, (2r+1)² reads a pixel.
    Naive {
        name: "naive", key: '1', group: Steps, title: "Naive",
        idea: "Every pixel reads its whole window through the image sampler: (2r+1)² reads.",
        work: Kernels(Image, NAIVE),
    }
    /// Images, one horizontal and one vertical pass.
    Separable {
        name: "separable", key: '2', group: Steps, title: "Separable",
        idea: "A row pass, then a column pass: 2(2r+1) reads instead of (2r+1)².",
        work: Kernels(Image, SEPARABLE),
    }
    /// The same two passes on flat buffers.
    Flat {
        name: "flat", key: '3', group: Steps, title: "Flat",
        idea: "The same two passes on plain buffers, without the sampler.",
        work: Kernels(Buffer, FLAT),
    }
    /// Flat buffers, several pixels a work-item in OpenCL vector types.
    Vectorized {
        name: "vectorized", key: '4', group: Steps, title: "Vectorized",
        idea: "Four pixels a work-item: sixteen channels in one vector.",
        work: Kernels(Buffer, VECTORIZED),
    }
    /// Add the pixel that enters the window, subtract the one that leaves it.
    RunningSum {
        name: "running-sum", key: '5', group: Steps, title: "Running sum",
        idea: "Add the pixel that enters, subtract the one that leaves: the radius costs nothing.",
        work: Kernels(Buffer, RUNNING_SUM),
    }
    /// Two fragment shaders in OpenGL, without OpenCL.
    Glsl {
        name: "glsl", key: '6', group: Others, title: "GLSL",
        idea: "Without OpenCL: two fragment shaders in OpenGL, along the rows and down the columns.",
        work: Shaders,
    }
    /// Threads and vectors in Rust, without OpenCL.
    Native {
        name: "native", key: '7', group: Others, title: "Native",
        idea: "Without OpenCL: the fused algorithm in Rust, on all cores, in the processor's vectors.",
        work: Threads,
    }
    /// Rows and columns in one kernel: each pixel is read about once and written once.
    Fused {
        name: "fused", key: '8', group: Beyond, title: "Fused",
        idea: "Rows and columns in one pass: each pixel is read about once and written once.",
        work: Kernels(Buffer, FUSED_CPU, FUSED_GPU),
    }
    /// The planes of a picture at their own sizes, before they become RGBA.
    Planar {
        name: "planar", key: 'y', group: Others, title: "Planar",
        idea: "Y, U and V at their own sizes before they become RGBA: 1.5 bytes a pixel for 4:2:0, not 4.",
        work: Planes(PLANES),
    }
    /// Whatever of the others is the fastest on this device, by what tuning found.
    Auto {
        name: "auto", key: '9', group: Beyond, title: "Auto",
        idea: "The fastest for this device, size and radius, as `clreel tune` measured it; fused before that.",
        work: Fastest(Buffer, FUSED_CPU, FUSED_GPU),
    }
--
    /// The user's own kernel, where the folder of kernels has one: [`OWN_FILE`].
    Own {
        name: "own", key: 'u', group: Others, title: "Your own",
        idea: "Your own kernel: box_filter/own.cl in the folder of kernels.",
        work: Kernels(Buffer, OWN),
    }
    /// Another version of the chosen variant's kernels, for the other side of a wipe: nobody chooses it by its name.
    Version {
        name: "version", key: '\0', group: Others, title: "Another version",
        idea: "The kernels as they were in another version.",
        work: Former,
    }
}

/// The file with the user's own kernel, in the folder of kernels.
pub const OWN_FILE: &str = "box_filter/own.cl";

impl VariantId {
    /// The one that the window begins with.
    pub const DEFAULT: Self = Self::RunningSum;

    /// What is declared of it.
    pub fn rung(self) -> &'static Rung {
        &RUNGS[self as usize]
    }

    /// The name used on the command line, in JSON and in CSV.
    pub fn as_str(self) -> &'static str {
        self.rung().name
    }

    /// The key that chooses it in the window.
    pub fn key(self) -> char {
        self.rung().key
    }

    /// What computes it.
    pub fn back_end(self) -> BackEnd {
        match self.rung().work {
            Work::Nothing => BackEnd::Nothing,
            Work::Kernels(_) | Work::Fastest(_) | Work::Planes(_) | Work::Former => BackEnd::OpenCl,
            Work::Shaders => BackEnd::Glsl,
            Work::Threads => BackEnd::Native,
        }
    }

    /// Its kernels on RGBA pictures, if it has any.
    pub fn kernels(self) -> Option<&'static Kernels> {
        match &self.rung().work {
            Work::Kernels(kernels) | Work::Fastest(kernels) => Some(kernels),
            _ => None,
        }
    }

    /// Its kernels on planes, if it has any.
    pub(crate) fn planes(self) -> Option<&'static PlanesCode> {
        if let Work::Planes(code) = self.rung().work { Some(code) } else { None }
    }

    /// Whether it filters the decoder's planes, before they are converted; all others filter RGBA pictures.
    pub fn reads_planes(self) -> bool {
        self.planes().is_some()
    }

    /// The kernel files that it is made of on a kind of device; `None` for those of all rungs.
    pub fn files(self, kind: DeviceKind) -> Option<&'static [&'static str]> {
        match &self.rung().work {
            Work::Kernels(kernels) => Some(std::slice::from_ref(&kernels.code(kind).file)),
            Work::Planes(code) => Some(std::slice::from_ref(code.file_on(kind))),
            Work::Fastest(_) => None,
            Work::Nothing | Work::Former | Work::Shaders | Work::Threads => Some(&[]),
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
        Self::ALL.into_iter().chain([Self::Own]).find(|v| v.as_str() == s).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|v| v.as_str()).collect();
            format!("no variant is called '{s}'; choose one of {}", names.join(", "))
        })
    }
}

/// Rungs in a sentence, as in "flat, vectorized or running-sum" with "or" for `last`.
pub fn listed(rungs: impl IntoIterator<Item = VariantId>, last: &str) -> String {
    let names: Vec<_> = rungs.into_iter().map(VariantId::as_str).collect();
    match names.split_last() {
        Some((end, others)) if !others.is_empty() => format!("{} {last} {end}", others.join(", ")),
        _ => names.concat(),
    }
}

/// What to try where images are the trouble.
fn without_images() -> String {
    let on_buffers = |id: &VariantId| id.kernels().is_some_and(|kernels| kernels.storage == Storage::Buffer);
    let steps = listed(Group::Steps.rungs().filter(on_buffers), "or");
    format!("Choose {steps}: they need no images.")
}

impl Kernels {
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

    /// Whether the variant can run, by what it reads; the same for all variants of a kind.
    fn supported(storage: Storage, device: &DeviceInfo, width: u32, height: u32) -> bool {
        let of_kind =
            VariantId::ALL.into_iter().filter_map(VariantId::kernels).filter(|k| k.storage == storage);
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
        let error = VariantId::Naive.kernels().unwrap().supports(&without, 1280, 720).unwrap_err();
        assert!(
            error.why.contains("no images") && error.hint.contains("flat, vectorized or running-sum:"),
            "{error}"
        );
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
