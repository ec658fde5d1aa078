//! The kernel code of each variant as data: its file, its tuning parameters with their values, and the functions that derive
//! the launch, the memory, and the numbers of reads, writes and operations from a [`Config`].

use std::fmt;

use super::classes::SizeClass;
use base::device::{DeviceInfo, DeviceKind};
use base::error::Result;
use base::memory::rgba_bytes;
use compute::config::{self, Param, Tunable};
use compute::work::{KernelWork, LaunchWork};
use filter::{Format, Launch, Settings};
use opencl::cl::Channel;
use opencl::kernel;
use opencl::memory::Storage;
use video::color::Layout;

/// A band of a picture's rows, with the radius and the number of compute units: everything that sizes and arguments of a launch
/// depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The first row of the band.
    pub first: u32,
    /// The number of rows in the band.
    pub rows: u32,
    /// The values of the filter's parameters.
    pub settings: Settings,
    /// The number of the device's compute units.
    pub units: u32,
    /// The size of pictures for which the variant's parameters were tuned; by default that of the picture.
    pub tuned_for: (u32, u32),
    /// The layout of the planes that are filtered; `None` for RGBA pixels.
    pub layout: Option<Layout>,
    /// The layout of the filtered planes; `None` for RGBA pixels.
    pub output: Option<Layout>,
    /// The number of frames that the filter reads: this one and those before it.
    pub frames: u32,
}

impl Extent {
    /// Returns the extent of a whole picture of RGBA pixels, for a device with one compute unit and a filter of one frame. See also
    /// [`VariantId::extent`](super::VariantId::extent).
    pub fn rgba((width, height): (u32, u32), settings: impl Into<Settings>) -> Self {
        Self {
            width,
            height,
            first: 0,
            rows: height,
            settings: settings.into(),
            units: 1,
            tuned_for: (width, height),
            layout: None,
            output: None,
            frames: 1,
        }
    }

    /// Returns the radius of the box filter in pixels.
    pub fn radius(&self) -> u32 {
        self.settings.first()
    }

    /// Returns the totals of reads, writes and operations for filtering the whole picture by these launches.
    pub fn work(&self, launches: Vec<LaunchWork>) -> KernelWork {
        let units = u64::from(self.width) * u64::from(self.height);
        // Each byte is read once and written once.
        let least_bytes = self.bytes().iter().map(|bytes| *bytes as u64).sum();
        KernelWork { unit: "pixel", units, least_bytes, launches }
    }

    /// Returns the number of bytes of the whole input, which is a picture or the pictures of several frames, and of the filtered
    /// output.
    pub fn bytes(&self) -> [usize; 2] {
        let of = |layout: Option<Layout>| {
            let pixels = rgba_bytes((self.width, self.height));
            layout.map_or(pixels, |layout| layout.bytes().next_multiple_of(4))
        };
        [of(self.layout) * self.frames as usize, of(self.output)]
    }
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    /// The memory with the picture so many frames before this one; 0 for the picture to filter.
    Source(usize),
    /// The memory for the filtered picture.
    Destination,
    /// The scratch memory with this index; see [`Formulas::scratch`].
    Scratch(usize),
    /// A number, a vector of numbers, or local memory: the next one that [`Formulas::launch`] computes from the band.
    Number,
}

/// One pass over a picture: a kernel with its arguments, in order.
pub struct Pass {
    /// The kernel file under `kernels/`.
    pub file: &'static str,
    /// The name of the kernel.
    pub kernel: &'static str,
    /// The arguments as they are described, with the names that the kernel gives them; empty if [they](Self::arguments) are in the
    /// kernel's order.
    pub described: &'static [filter::Argument],
    /// The arguments of the kernel.
    pub arguments: &'static [Argument],
}

/// The kind and size of scratch memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScratchSize {
    /// A buffer of at least so many bytes.
    Bytes(usize),
    /// An image with these channels, four of each, of this width and height.
    Image(Channel, (usize, usize)),
}

impl ScratchSize {
    /// Returns the kind of memory.
    pub(crate) fn storage(self) -> Storage {
        if matches!(self, Self::Image(..)) { Storage::Image } else { Storage::Buffer }
    }
}

/// The sizes and numbers of launches, computed from the configuration, the index of the pass and the band of rows.
pub trait Formulas: Sync {
    /// Returns the global and local work size of a pass, and its [numbers](Argument::Number) in the order of the arguments.
    ///
    /// # Errors
    /// Returns an error if a number cannot be computed.
    fn launch(&self, config: &Config, pass: usize, e: &Extent) -> Result<(Launch, Vec<kernel::Argument>)>;

    /// Returns the number of work-items per work-group of each pass.
    fn group_sizes(&self, config: &Config) -> Vec<usize>;

    /// Returns true if the device supports this combination of parameter values. The size of work-groups is checked elsewhere.
    fn allows(&self, config: &Config, device: &DeviceInfo) -> bool;

    /// Returns the estimated number of pixels that are read for each pixel that is written.
    fn reads_per_pixel(&self, config: &Config, pass: usize, e: &Extent) -> f64;

    /// Returns the launch, which has only its sizes, with its exact numbers of reads, writes, operations and barriers; `None` if
    /// they are not known.
    fn work(&self, config: &Config, pass: usize, e: &Extent, launch: LaunchWork) -> Option<LaunchWork>;

    /// Returns a number of rows for the pass with this index: bands whose height is a multiple of it waste few work-items. `None`
    /// if the pass runs over all rows at once.
    fn row_step(&self, config: &Config, pass: usize) -> Option<u32>;

    /// Returns compiler options for macros that depend on the extent, each after a space.
    ///
    /// # Errors
    /// Returns an error if a macro's value cannot be computed.
    fn defines(&self, _config: &Config, _e: &Extent) -> Result<String> {
        Ok(String::new())
    }

    /// Returns the kind and size of the scratch memory with this index, for any radius and band.
    ///
    /// # Errors
    /// Returns an error if they cannot be computed.
    fn scratch(&self, config: &Config, index: usize, e: &Extent) -> Result<ScratchSize>;
}

/// A variant's kernel code for a kind of device, and everything that depends on its parameters.
#[derive(Clone)]
pub struct Code {
    /// The kernel file of the first pass under `kernels/`.
    pub file: &'static str,
    /// All kernel files, that one first.
    pub files: &'static [&'static str],
    /// The file of the description in the folder of a filter; `None` for built-in code.
    pub description: Option<&'static str>,
    /// The formats of input and output.
    pub formats: [Format; 2],
    /// The kind of memory (buffers or images) of the input.
    pub storage: Storage,
    /// The kind of memory of the output, unless the kernels are compiled [to write an image](Self::to_image).
    pub output: Storage,
    /// The passes in order. Each pass must finish all rows before the next one begins.
    pub passes: &'static [Pass],
    /// The tuning parameters.
    pub params: &'static [Param],
    /// Parameters with other defaults for [large](SizeClass::Large) pictures on devices other than CPUs.
    pub large_defaults: &'static [(&'static str, u32)],
    /// Everything that is computed from the values of the parameters and the band.
    pub formulas: &'static dyn Formulas,
    /// The macro with which the last kernel writes an image instead of a buffer; `None` if it cannot.
    pub to_image: Option<&'static str>,
    /// True if the kernels have macros that depend on the extent.
    pub has_defines: bool,
    /// True if the variant takes part in tuning. Built-in kernels that read images do not, since no values of their parameters make
    /// them fast.
    pub is_tuned: bool,
    /// The index of the peak kernel that this code is compared with: a kernel of the ladder that only copies pixels, or planes.
    pub peak: usize,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file)
    }
}

/// Values for the tuning parameters of a variant's code.
pub type Config = config::Config<Code>;

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    /// Returns the kernel files, and the description of a folder's filter, whose expressions decide how the kernels are launched.
    fn tuned_files(&self) -> Vec<&'static str> {
        self.files.iter().copied().chain(self.description).collect()
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    /// Returns the number of work-items per work-group of each pass.
    fn group_sizes(&self, config: &Config) -> Vec<usize> {
        self.formulas.group_sizes(config)
    }

    fn allows(&self, config: &Config, device: &DeviceInfo) -> bool {
        self.formulas.allows(config, device)
    }

    /// Returns the parameters with other defaults, if `class` is that of large pictures and the device is not a CPU; otherwise
    /// nothing.
    fn class_defaults(&self, kind: DeviceKind, class: &str) -> &'static [(&'static str, u32)] {
        if kind != DeviceKind::Cpu && class == SizeClass::Large.as_str() { self.large_defaults } else { &[] }
    }

    fn peak(&self) -> usize {
        self.peak
    }

    fn is_tuned(&self) -> bool {
        self.is_tuned
    }
}

impl Code {
    /// Returns true if the kernels read the picture through an image sampler, false if they read it from a buffer.
    pub fn has_sampler(&self) -> bool {
        self.storage == Storage::Image
    }

    /// Returns the exact numbers of reads, writes, operations and barriers of a pass over a band; `None` for the user's own
    /// kernel.
    pub fn work_of(&self, config: &Config, pass: usize, extent: &Extent) -> Option<LaunchWork> {
        let kernel = self.passes.get(pass)?.kernel;
        let (Launch { global, local }, _) = self.formulas.launch(config, pass, extent).ok()?;
        let launch = LaunchWork::new(kernel, &global, &local);
        self.formulas.work(config, pass, extent, launch)
    }
}
