//! The kernel code of each variant as data: its file, its tuning parameters with their values, and the functions that derive
//! the launch, the memory and the estimated work from a [`Config`].

use super::planar::PLANES_FILES;
use super::{MAX_RADIUS, VariantId, Work, work};
use crate::tuned::{self, SizeClass};
use ladder::config::{self, Param, Tunable};
use ladder::work::LaunchWork;
use opencl::cl::{DeviceInfo, DeviceKind};

/// The band of a picture's rows that a launch covers, with the radius and the device's compute units, which also determine
/// the number of work-items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Width of the picture in pixels.
    pub width: u32,
    /// The number of rows in the band.
    pub rows: u32,
    /// The radius of the filter in pixels.
    pub radius: u32,
    /// The number of the device's compute units.
    pub units: u32,
}

/// The global and local work size of a launch, in two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Global work size: a multiple of `local`.
    pub global: [usize; 2],
    /// Work-group size. It must not depend on the extent: some drivers recompile for each new one.
    pub local: [usize; 2],
}

impl Launch {
    /// Returns a launch of at least `items` work-items, rounded up to whole groups.
    pub(crate) fn new(items: [u32; 2], local: [u32; 2]) -> Self {
        let local = local.map(|n| n.max(1) as usize);
        Self { global: [0, 1].map(|d| (items[d].max(1) as usize).next_multiple_of(local[d])), local }
    }
}

/// A variant's kernel code for a kind of device, and all that depends on its parameters.
#[derive(Debug)]
pub struct Code {
    /// The kernel file under `kernels/`.
    pub file: &'static str,
    /// The names of the kernels, one per pass, in order.
    pub kernels: &'static [&'static str],
    /// The tuning parameters.
    pub params: &'static [Param],
    /// Parameters with other defaults for [large](SizeClass::Large) pictures on devices other than CPUs.
    pub large_defaults: &'static [(&'static str, u32)],
    /// Returns true if the device supports this combination of parameter values. The size of work-groups is checked
    /// elsewhere.
    pub allowed: fn(&Config, &DeviceInfo) -> bool,
    /// Returns the global and local work size of the pass with this index.
    pub launch: fn(&Config, usize, &Extent) -> Launch,
    /// Returns the estimated number of pixels that a pass reads for each pixel that it writes.
    pub reads_per_pixel: fn(&Config, usize, &Extent) -> f64,
    /// Returns the launch of the pass with this index, with the exact numbers of its reads, writes, operations and barriers;
    /// `None` for kernels that clreel does not know.
    pub work: Option<WorkFormula>,
    /// Returns a number of rows for the pass with this index: bands of a multiple of this number waste few work-items.
    pub row_step: fn(&Config, usize) -> u32,
    /// Returns the global memory that the last kernel needs besides source and destination, in pixels of four 16-bit
    /// channels, for any radius and band; 0 if the kernel has no such argument. The argument comes after `scale`.
    pub scratch: fn(&Config, &Extent) -> usize,
    /// True if `-D TO_IMAGE=1` makes the last kernel write an image where it otherwise writes a buffer.
    pub to_image: bool,
}

/// A formula for the work of the pass with this index: completes a launch whose sizes are known.
pub type WorkFormula = fn(&Config, usize, &Extent, LaunchWork) -> LaunchWork;

/// Values for the tuning parameters of a variant's code.
pub type Config = config::Config<Code>;

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    /// Returns the number of work-items per work-group of each pass.
    fn group_sizes(&self, config: &Config) -> Vec<usize> {
        let extent = Extent { width: 1, rows: 1, radius: 0, units: 1 };
        let of = |pass| (self.launch)(config, pass, &extent).local;
        (0..self.kernels.len()).map(|pass| of(pass).iter().product()).collect()
    }

    fn allows(&self, config: &Config, device: &DeviceInfo) -> bool {
        (self.allowed)(config, device)
    }

    /// Returns the defaults that large pictures have on devices other than CPUs.
    fn class_defaults(&self, kind: DeviceKind, class: &str) -> &'static [(&'static str, u32)] {
        if kind != DeviceKind::Cpu && class == SizeClass::Large.as_str() { self.large_defaults } else { &[] }
    }

    /// Returns 1, the index of the peak kernel that copies planes, for code that filters planes, otherwise 0.
    fn peak(&self) -> usize {
        usize::from(self.variant().is_some_and(VariantId::reads_planes))
    }

    /// Returns true if these kernels are tuned. Kernels that read images are not: no parameter makes them fast.
    fn is_tuned(&self) -> bool {
        self.variant().is_some_and(|id| tuned::variants().contains(&id))
    }
}

impl Code {
    /// Returns the exact work of a pass over a band; `None` for kernels that clreel does not know.
    pub(super) fn work_of(&self, config: &Config, pass: usize, extent: &Extent) -> Option<LaunchWork> {
        let Launch { global, local } = (self.launch)(config, pass, extent);
        let launch = LaunchWork::new(self.kernels.get(pass)?, &global, &local);
        self.work.map(|work| work(config, pass, extent, launch))
    }

    /// Returns the variant that these kernels belong to.
    pub(crate) fn variant(&self) -> Option<VariantId> {
        let is_own = |id: &VariantId| match &id.info().work {
            Work::Kernels(kernels) => [kernels.cpu, kernels.gpu].iter().any(|code| code.file == self.file),
            Work::Planes(code) => code.files().contains(&self.file),
            _ => false,
        };
        VariantId::WITH_OWN.into_iter().find(is_own)
    }
}

/// Returns the number of pixels in the whole window: the work of a kernel that reads all of them for each pixel.
fn reads_window(_: &Config, _: usize, e: &Extent) -> f64 {
    let side = f64::from(2 * e.radius + 1);
    side * side
}

/// Returns a launch with one work-item per `pixels` pixels of a row.
fn launch_per_pixels(config: &Config, pixels: u32, e: &Extent) -> Launch {
    let group = [config.get("GROUP_X"), config.get("GROUP_Y")];
    Launch::new([e.width.div_ceil(pixels), e.rows], group)
}

/// Parameters for the size of work-groups. On CPUs groups are wide, so that a band of one row keeps several cores busy.
const GROUP_PARAMS: &[Param] = &[
    Param { name: "GROUP_X", cpu: 64, gpu: 32, values: &[8, 16, 32, 64, 128, 256] },
    Param { name: "GROUP_Y", cpu: 1, gpu: 4, values: &[1, 2, 4, 8, 16] },
];

/// Defaults for the other declarations of code in this file: one pixel per work-item, which reads one line of its window.
const TWO_PASSES: Code = Code {
    file: "",
    kernels: &[],
    params: GROUP_PARAMS,
    large_defaults: &[],
    allowed: |_, _| true,
    launch: |config, _, e| launch_per_pixels(config, 1, e),
    reads_per_pixel: |_, _, e| f64::from(2 * e.radius + 1),
    work: Some(work::two_passes),
    row_step: |_, _| 1,
    scratch: |_, _| 0,
    to_image: false,
};

/// The code of the variant `naive`.
pub(super) static NAIVE: Code = Code {
    file: "box_filter/01_naive.cl",
    kernels: &["box_naive"],
    reads_per_pixel: reads_window,
    work: Some(work::naive),
    ..TWO_PASSES
};

/// The code of the variant `separable`.
pub(super) static SEPARABLE: Code = Code {
    file: "box_filter/02_separable.cl",
    kernels: &["box_separable_rows", "box_separable_columns"],
    ..TWO_PASSES
};

/// The code of the variant `flat`.
pub(super) static FLAT: Code =
    Code { file: "box_filter/03_flat.cl", kernels: &["box_flat_rows", "box_flat_columns"], ..TWO_PASSES };

/// The code of the filter on planes, for CPUs and other devices; it has no parameters.
pub(super) static PLANES: [Code; 2] = [
    Code { file: PLANES_FILES[0], kernels: &[], params: &[], work: None, ..TWO_PASSES },
    Code { file: PLANES_FILES[1], kernels: &[], params: &[], work: None, ..TWO_PASSES },
];

/// The code of the user's own kernel; no file of that name is built in.
pub(super) static OWN: Code = Code {
    file: super::variants::OWN_FILE,
    kernels: &["own"],
    reads_per_pixel: reads_window,
    work: None,
    ..TWO_PASSES
};

/// The code of the variant `vectorized`.
pub(super) static VECTORIZED: Code = Code {
    file: "box_filter/04_vectorized.cl",
    kernels: &["box_vectorized_rows", "box_vectorized_columns"],
    launch: |config, _, e| launch_per_pixels(config, 4, e),
    work: Some(work::vectorized),
    ..TWO_PASSES
};

/// The code of the running sums. On CPUs, long strips and whole cache lines are fast; on GPUs, many work-items are.
pub(super) static RUNNING_SUM: Code = Code {
    file: "box_filter/05_running_sum.cl",
    kernels: &["box_running_sum_rows", "box_running_sum_columns"],
    params: &[
        Param { name: "STRIP_X", cpu: 4096, gpu: 64, values: &[16, 32, 64, 128, 256, 4096] },
        Param { name: "STRIP_Y", cpu: 1024, gpu: 16, values: &[16, 32, 64, 128, 360, 1024] },
        Param { name: "QUADS", cpu: 4, gpu: 1, values: &[1, 2, 4, 8] },
        Param { name: "GROUP_ROWS", cpu: 8, gpu: 64, values: &[1, 8, 64] },
        Param { name: "GROUP_COLUMNS", cpu: 4, gpu: 64, values: &[1, 4, 64] },
    ],
    large_defaults: &[("STRIP_X", 256)],
    launch: |config, pass, e| match pass {
        0 => Launch::new([e.rows, e.width.div_ceil(config.get("STRIP_X"))], [config.get("GROUP_ROWS"), 1]),
        _ => {
            let across = e.width.div_ceil(4 * config.get("QUADS"));
            Launch::new([across, e.rows.div_ceil(config.get("STRIP_Y"))], [config.get("GROUP_COLUMNS"), 1])
        }
    },
    // A strip begins with a whole line of the window.
    reads_per_pixel: |config, pass, e| {
        let strip = match pass {
            0 => config.get("STRIP_X").min(e.width),
            _ => config.get("STRIP_Y").min(e.rows),
        };
        2.0 + f64::from(2 * e.radius + 1) / f64::from(strip.max(1))
    },
    work: Some(work::running_sum),
    row_step: |config, pass| if pass == 0 { 1 } else { config.get("STRIP_Y") },
    ..TWO_PASSES
};

/// Returns the number of work-items of the fused kernel for CPUs: a few strips of rows per core, so that a delayed core
/// costs little.
pub(super) fn fused_strips(config: &Config, e: &Extent) -> u32 {
    (config.get("STRIPS") * e.units.max(1)).min(e.rows).max(1)
}

/// The code of the variant `fused` for CPUs.
pub(super) static FUSED_CPU: Code = Code {
    file: "box_filter/06_fused.cl",
    kernels: &["box_fused"],
    params: &[Param { name: "STRIPS", cpu: 2, gpu: 64, values: &[1, 2, 3, 4, 8] }],
    launch: |config, _, e| Launch::new([fused_strips(config, e), 1], [1, 1]),
    reads_per_pixel: |config, _, e| {
        let strip = e.rows.div_ceil(fused_strips(config, e)).max(1);
        3.0 + f64::from(2 * e.radius + 1) / f64::from(strip)
    },
    work: Some(work::fused_cpu),
    row_step: |_, _| 64,
    // The column sums of a row for each strip, as wide as the kernel's own LINE makes them.
    scratch: |config, e| {
        let strips = config.get("STRIPS") as usize * e.units.max(1) as usize;
        strips * fused_line_len(e.width)
    },
    ..TWO_PASSES
};

/// Returns the numbers of work-groups of the fused kernel for GPUs, horizontally and vertically. Horizontally, a group
/// writes only the blocks of columns whose whole window it has; vertically, there are enough strips to keep every compute
/// unit busy.
pub(super) fn fused_gpu_groups(config: &Config, e: &Extent) -> [u32; 2] {
    let columns = config.get("COLUMNS").max(1);
    let halo = 2 * e.radius.div_ceil(columns);
    let most = config.get("GROUP").saturating_sub(halo).max(1);
    let across = e.width.div_ceil(columns).div_ceil(most).max(1);
    let down = (config.get("STRIPS") * e.units / across).clamp(1, e.rows.max(1));
    [across, down]
}

/// The code of the variant `fused` for devices other than CPUs.
pub(super) static FUSED_GPU: Code = Code {
    file: "box_filter/07_march.cl",
    kernels: &["box_march"],
    params: &[
        Param { name: "COLUMNS", cpu: 8, gpu: 4, values: &[4, 8] },
        Param { name: "GROUP", cpu: 64, gpu: 128, values: &[64, 128, 256] },
        Param { name: "ROWS", cpu: 1, gpu: 1, values: &[1, 2] },
        Param { name: "AHEAD", cpu: 1, gpu: 1, values: &[0, 1] },
        Param { name: "START", cpu: 4, gpu: 4, values: &[4, 8] },
        Param { name: "STRIPS", cpu: 2, gpu: 3, values: &[1, 2, 3, 4, 6, 8] },
    ],
    large_defaults: &[("COLUMNS", 8)],
    // The widest window and one block of columns must fit a group, and the column sums local memory. Drivers need a
    // few bytes of it for themselves.
    allowed: |config, device| {
        let [columns, group, rows] = ["COLUMNS", "GROUP", "ROWS"].map(|name| config.get(name));
        let bytes = 16 * u64::from(group) * u64::from(rows) * (u64::from(columns) + 2);
        [4, 8, 16].contains(&columns)
            && group > 2 * MAX_RADIUS.div_ceil(columns)
            && bytes <= device.local_memory().saturating_sub(64)
    },
    launch: |config, _, e| {
        let group = config.get("GROUP");
        let [across, down] = fused_gpu_groups(config, e);
        Launch::new([across * group, down], [group, 1])
    },
    reads_per_pixel: |config, _, e| {
        let strip = e.rows.div_ceil(fused_gpu_groups(config, e)[1]).max(1);
        2.0 + f64::from(2 * e.radius + 1) / f64::from(strip)
    },
    work: Some(work::fused_gpu),
    row_step: |_, _| 64,
    to_image: true,
    ..TWO_PASSES
};

/// Returns the length of a strip's column sums: the row with its edges repeated for the largest radius, and padding for
/// vectors that extend beyond both ends. `LINE` in 06_fused.cl computes the same.
pub(super) const fn fused_line_len(width: u32) -> usize {
    (width as usize + 2 * MAX_RADIUS as usize + 64).next_multiple_of(32)
}
