//! The parameters of the kernels as data: what each variant's code is on a kind of device, which values its
//! parameters can take, and how a launch follows from them. In: a variant and a device. Out: a [`Config`], the
//! compiler's options and the work-groups of a launch.

use super::MAX_RADIUS;
use crate::tuned::SizeClass;
use ladder::config::{self, Param, Tunable};
use opencl::cl::{DeviceInfo, DeviceKind};

/// What a launch covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Width of the picture in pixels.
    pub width: u32,
    /// Rows of the band.
    pub rows: u32,
    /// The radius in pixels.
    pub radius: u32,
    /// The device's compute units.
    pub units: u32,
}

/// The work-items of a launch: the first two dimensions of both sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Work-items in all: a multiple of `local`.
    pub global: [usize; 2],
    /// Work-items of a group. It must not depend on the extent: some drivers compile again for each new one.
    pub local: [usize; 2],
}

impl Launch {
    /// As many work-items as asked for, rounded up to whole groups.
    pub(crate) fn new(items: [u32; 2], local: [u32; 2]) -> Self {
        let local = local.map(|n| n.max(1) as usize);
        Self { global: [0, 1].map(|d| (items[d].max(1) as usize).next_multiple_of(local[d])), local }
    }
}

/// A variant's code for a kind of device, and everything that depends on its parameters.
#[derive(Debug)]
pub struct Code {
    /// Its kernel file under `kernels/`.
    pub file: &'static str,
    /// The kernels of its passes, in order.
    pub kernels: &'static [&'static str],
    /// Its parameters.
    pub params: &'static [Param],
    /// What is better for [large](SizeClass::Large) pictures on devices other than CPUs, by the parameters' names.
    pub large: &'static [(&'static str, u32)],
    /// Whether the values go together on this device, beyond the size of the work-groups.
    pub allowed: fn(&Config, &DeviceInfo) -> bool,
    /// The work-items of a pass.
    pub launch: fn(&Config, usize, &Extent) -> Launch,
    /// Pixels that a pass reads for each one that it writes.
    pub reads: fn(&Config, usize, &Extent) -> f64,
    /// Bands of a multiple of this many rows waste little in a pass.
    pub row_step: fn(&Config, usize) -> u32,
    /// How much global memory the last kernel needs besides source and destination, in pixels of four 16-bit
    /// channels, for any radius and any band; 0 if its argument does not exist. It comes after `scale`.
    pub scratch: fn(&Config, &Extent) -> usize,
    /// Whether `-D TO_IMAGE=1` makes the last kernel write an image where it otherwise writes a buffer.
    pub to_image: bool,
}

/// One choice of values for the parameters of a variant's code.
pub type Config = config::Config<Code>;

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn groups(&self, config: &Config) -> Vec<usize> {
        let extent = Extent { width: 1, rows: 1, radius: 0, units: 1 };
        let of = |pass| (self.launch)(config, pass, &extent).local;
        (0..self.kernels.len()).map(|pass| of(pass).iter().product()).collect()
    }

    fn allows(&self, config: &Config, device: &DeviceInfo) -> bool {
        (self.allowed)(config, device)
    }
}

/// Returns the default values for a kind of device and pictures of a size.
pub(crate) fn for_size(code: &'static Code, kind: DeviceKind, size: SizeClass) -> Config {
    let other = if kind != DeviceKind::Cpu && size == SizeClass::Large { code.large } else { &[] };
    other.iter().fold(Config::of(code, kind), |config, (name, value)| config.with(name, *value))
}

fn any(_: &Config, _: &DeviceInfo) -> bool {
    true
}

fn no_scratch(_: &Config, _: &Extent) -> usize {
    0
}

fn one_row(_: &Config, _: usize) -> u32 {
    1
}

fn whole_window(_: &Config, _: usize, e: &Extent) -> f64 {
    let side = f64::from(2 * e.radius + 1);
    side * side
}

fn a_line(_: &Config, _: usize, e: &Extent) -> f64 {
    f64::from(2 * e.radius + 1)
}

/// One work-item for `pixels` pixels of a row.
fn plain(config: &Config, pixels: u32, e: &Extent) -> Launch {
    let group = [config.get("GROUP_X"), config.get("GROUP_Y")];
    Launch::new([e.width.div_ceil(pixels), e.rows], group)
}

fn pixel_each(config: &Config, _: usize, e: &Extent) -> Launch {
    plain(config, 1, e)
}

fn four_pixels_each(config: &Config, _: usize, e: &Extent) -> Launch {
    plain(config, 4, e)
}

/// On CPUs a group is long in x, so that a band of one row still keeps several cores busy.
const GROUPS: &[Param] = &[
    Param { name: "GROUP_X", cpu: 64, gpu: 32, values: &[8, 16, 32, 64, 128, 256] },
    Param { name: "GROUP_Y", cpu: 1, gpu: 4, values: &[1, 2, 4, 8, 16] },
];

/// A kernel that computes one pixel a work-item and reads one line of its window.
const TWO_PASSES: Code = Code {
    file: "",
    kernels: &[],
    params: GROUPS,
    large: &[],
    allowed: any,
    launch: pixel_each,
    reads: a_line,
    row_step: one_row,
    scratch: no_scratch,
    to_image: false,
};

pub(super) static NAIVE: Code =
    Code { file: "box_filter/01_naive.cl", kernels: &["box_naive"], reads: whole_window, ..TWO_PASSES };

pub(super) static SEPARABLE: Code = Code {
    file: "box_filter/02_separable.cl",
    kernels: &["box_separable_rows", "box_separable_columns"],
    ..TWO_PASSES
};

pub(super) static FLAT: Code =
    Code { file: "box_filter/03_flat.cl", kernels: &["box_flat_rows", "box_flat_columns"], ..TWO_PASSES };

/// The user's own: no file of that name is built in.
pub(super) static OWN: Code =
    Code { file: super::rungs::OWN_FILE, kernels: &["own"], reads: whole_window, ..TWO_PASSES };

pub(super) static VECTORIZED: Code = Code {
    file: "box_filter/04_vectorized.cl",
    kernels: &["box_vectorized_rows", "box_vectorized_columns"],
    launch: four_pixels_each,
    ..TWO_PASSES
};

/// A CPU has few threads, and wants long strips and whole cache lines; a GPU wants many work-items.
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
    large: &[("STRIP_X", 256)],
    launch: |config, pass, e| match pass {
        0 => Launch::new([e.rows, e.width.div_ceil(config.get("STRIP_X"))], [config.get("GROUP_ROWS"), 1]),
        _ => {
            let across = e.width.div_ceil(4 * config.get("QUADS"));
            Launch::new([across, e.rows.div_ceil(config.get("STRIP_Y"))], [config.get("GROUP_COLUMNS"), 1])
        }
    },
    // A strip begins with a whole line of the window.
    reads: |config, pass, e| {
        let strip = match pass {
            0 => config.get("STRIP_X").min(e.width),
            _ => config.get("STRIP_Y").min(e.rows),
        };
        2.0 + f64::from(2 * e.radius + 1) / f64::from(strip.max(1))
    },
    row_step: |config, pass| if pass == 0 { 1 } else { config.get("STRIP_Y") },
    ..TWO_PASSES
};

/// Work-items of the fused kernel for CPUs: a few strips for each core, so that one that is late costs little.
fn strips(config: &Config, e: &Extent) -> u32 {
    (config.get("STRIPS") * e.units.max(1)).min(e.rows).max(1)
}

pub(super) static FUSED_CPU: Code = Code {
    file: "box_filter/06_fused.cl",
    kernels: &["box_fused"],
    params: &[Param { name: "STRIPS", cpu: 2, gpu: 64, values: &[1, 2, 3, 4, 8] }],
    launch: |config, _, e| Launch::new([strips(config, e), 1], [1, 1]),
    reads: |config, _, e| {
        let strip = e.rows.div_ceil(strips(config, e)).max(1);
        3.0 + f64::from(2 * e.radius + 1) / f64::from(strip)
    },
    row_step: |_, _| 64,
    // The column sums of a row for each strip, as wide as the kernel's own LINE makes them.
    scratch: |config, e| {
        let strips = config.get("STRIPS") as usize * e.units.max(1) as usize;
        strips * fused_line(e.width)
    },
    ..TWO_PASSES
};

/// Work-groups of the single pass for GPUs, across and down. Across, a group writes only the blocks of columns whose
/// whole window it holds; down, as many strips of rows as keep every compute unit busy.
fn march_groups(config: &Config, e: &Extent) -> [u32; 2] {
    let columns = config.get("COLUMNS").max(1);
    let halo = 2 * e.radius.div_ceil(columns);
    let most = config.get("GROUP").saturating_sub(halo).max(1);
    let across = e.width.div_ceil(columns).div_ceil(most).max(1);
    let down = (config.get("STRIPS") * e.units / across).clamp(1, e.rows.max(1));
    [across, down]
}

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
    large: &[("COLUMNS", 8)],
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
        let [across, down] = march_groups(config, e);
        Launch::new([across * group, down], [group, 1])
    },
    reads: |config, _, e| {
        let strip = e.rows.div_ceil(march_groups(config, e)[1]).max(1);
        2.0 + f64::from(2 * e.radius + 1) / f64::from(strip)
    },
    row_step: |_, _| 64,
    to_image: true,
    ..TWO_PASSES
};

/// Length of a strip's column sums: the row with its edges repeated for the largest radius, and room for vectors
/// that reach over both ends. `LINE` in 06_fused.cl computes the same.
pub(super) const fn fused_line(width: u32) -> usize {
    (width as usize + 2 * MAX_RADIUS as usize + 64).next_multiple_of(32)
}
