//! The kernel files of matrix multiplication as data: their kernels, the number of work-items of each kernel, and how many
//! elements a kernel packs, that is copies to a buffer in the order in which the next kernel reads them.

use ocl::ffi::CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT;

use super::shape::Shape;
use super::work::{self, WorkFormula};
use ladder::config::{Config, Param, Tunable};
use ladder::work::LaunchWork;
use opencl::cl::{Device, DeviceInfo, DeviceKind};

/// A kernel file, and how its kernels are launched.
#[derive(Debug)]
pub struct Code {
    file: &'static str,
    /// The kernels of the file, in the order of their launches.
    pub(super) steps: &'static [Step],
    params: &'static [Param],
    /// Returns the number of work-items in the largest work-group.
    group_items: fn(&Config<Code>) -> usize,
    /// Returns the bytes of local memory that a work-group uses.
    local_bytes: fn(&Config<Code>) -> usize,
    /// Returns true if these parameter values can be combined.
    is_consistent: fn(&Config<Code>) -> bool,
}

/// A kernel, and its launch.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) kernel: &'static str,
    pub(super) role: Role,
    work_items: WorkItems,
    work: WorkFormula,
}

/// The role of a kernel. A kernel's arguments are the matrices that it reads, the matrix that it writes, and m, n and k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Packs the left matrix.
    PackLeft,
    /// Packs or transposes the right matrix.
    PackRight,
    /// Multiplies both matrices, which may be packed.
    Multiply,
}

/// The number of work-items or work-groups of a launch.
#[derive(Debug)]
enum WorkItems {
    /// One work-item for each element of the product.
    Product,
    /// One work-item for each element of the right matrix.
    Right,
    /// One work-group for each tile of the product.
    Tiles,
    /// One work-item for each chunk of columns of a panel of the left matrix.
    LeftPanels,
    /// One work-item for each chunk of rows of a panel of the right matrix.
    RightPanels,
    /// One work-item for each block of the product, of a few panels of the left matrix and a few of the right one.
    Panels,
    /// As many work-groups as fill the device, whatever the size of the matrices; for the peak kernel.
    FillDevice,
}

impl Code {
    /// Returns true if the right matrix lies in constant memory.
    pub(super) fn is_constant(&self) -> bool {
        self.file == CONSTANT.file
    }
}

impl Step {
    /// Returns the number of elements in the buffer that this kernel writes if it packs a matrix, padding included.
    pub(super) fn packed(&self, shape: Shape, config: &Config<Code>) -> usize {
        let k = shape.k as usize;
        match self.work_items {
            WorkItems::LeftPanels => (shape.m as usize).next_multiple_of(panel_rows(config)) * k,
            WorkItems::RightPanels => (shape.n as usize).next_multiple_of(panel_columns(config)) * k,
            _ => shape.right_len(),
        }
    }

    /// Returns the global and the local size of the launch. A global size of 0 means that there is nothing to do.
    pub(super) fn launch(&self, shape: Shape, config: &Config<Code>) -> ([usize; 3], [usize; 3]) {
        let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
        let chunks = || k.div_ceil(value(config, "CHUNK"));
        let (items, group) = match self.work_items {
            WorkItems::Product | WorkItems::Right => {
                let (x, y) = group_shape(config);
                let height = if matches!(self.work_items, WorkItems::Right) { k } else { m };
                return ([n.next_multiple_of(x), height.next_multiple_of(y), 1], [x, y, 1]);
            }
            WorkItems::Tiles => {
                let tiles = m.div_ceil(value(config, "TILE_M")) * n.div_ceil(value(config, "TILE_N"));
                (tiles * tile_items(config), tile_items(config))
            }
            WorkItems::LeftPanels => (m.div_ceil(panel_rows(config)) * chunks(), 1),
            WorkItems::RightPanels => (n.div_ceil(panel_columns(config)) * chunks(), 1),
            WorkItems::Panels => {
                let down = m.div_ceil(panel_rows(config)).div_ceil(value(config, "DOWN"));
                (down * n.div_ceil(panel_columns(config)).div_ceil(value(config, "ACROSS")), 1)
            }
            WorkItems::FillDevice => {
                (value(config, "GROUPS") * value(config, "GROUP"), value(config, "GROUP"))
            }
        };
        ([items, 1, 1], [group, 1, 1])
    }

    /// Returns the exact work of the launch; `None` if there is nothing to launch.
    pub(super) fn work(&self, shape: Shape, config: &Config<Code>) -> Option<LaunchWork> {
        let (global, local) = self.launch(shape, config);
        let launch = LaunchWork::new(self.kernel, &global, &local);
        (launch.work_items > 0).then(|| (self.work)(shape, config, launch))
    }
}

/// Returns a parameter's value, at least 1.
pub(super) fn value(config: &Config<Code>, name: &str) -> usize {
    config.get(name).max(1) as usize
}

/// Returns the numbers of columns and rows of a work-group, computed from `GROUP`, `GROUP_X`, `GROUP_Y` or `TILE`, whichever of
/// these parameters the file has.
fn group_shape(config: &Config<Code>) -> (usize, usize) {
    let get = |name| value(config, name);
    // Parameters that a file does not have are 1.
    (get("GROUP") * get("GROUP_X") * get("TILE"), get("GROUP_Y") * get("TILE"))
}

/// Returns the number of rows in a panel of the left matrix.
pub(super) fn panel_rows(config: &Config<Code>) -> usize {
    value(config, "ROWS")
}

/// Returns the number of columns in a panel of the right matrix.
pub(super) fn panel_columns(config: &Config<Code>) -> usize {
    value(config, "VECTORS") * value(config, "WIDTH")
}

/// Returns the number of work-items that compute one tile of the product together.
fn tile_items(config: &Config<Code>) -> usize {
    let get = |name| value(config, name);
    get("TILE_M") / get("ROWS") * (get("TILE_N") / get("COLUMNS"))
}

impl Tunable for Code {
    fn file(&self) -> &'static str {
        self.file
    }

    fn params(&self) -> &'static [Param] {
        self.params
    }

    fn group_sizes(&self, config: &Config<Self>) -> Vec<usize> {
        vec![(self.group_items)(config)]
    }

    fn allows(&self, config: &Config<Self>, device: &DeviceInfo) -> bool {
        (self.local_bytes)(config) as u64 <= device.local_memory() && (self.is_consistent)(config)
    }
}

/// Returns the number of work-items in a work-group.
fn group_items(config: &Config<Code>) -> usize {
    let (x, y) = group_shape(config);
    x * y
}

/// Returns the size in bytes of the local memory in which a work-group keeps tiles of floats: `buffers` tiles of the left
/// matrix and as many of the right matrix. `more` is the number of floats of padding at the end of each row of a left tile, as
/// it is stored.
fn tile_bytes(config: &Config<Code>, buffers: usize, more: usize) -> usize {
    let get = |name| value(config, name);
    4 * buffers * get("TILE_K") * (get("TILE_M") + more + get("TILE_N"))
}

/// Returns true if tiles divide evenly among work-items, work-groups have a useful size, and the results of a work-item may fit
/// into registers.
fn tiles_fit(config: &Config<Code>) -> bool {
    let get = |name| value(config, name);
    let whole = get("TILE_M") % get("ROWS") == 0 && get("TILE_N") % get("COLUMNS") == 0;
    whole && (16..=512).contains(&tile_items(config)) && get("ROWS") * get("COLUMNS") <= 128
}

/// Returns a parameter: its name, its defaults for CPUs and GPUs, and the values to try.
const fn param(name: &'static str, cpu: u32, gpu: u32, values: &'static [u32]) -> Param {
    Param { name, cpu, gpu, values }
}

/// Returns a step: a kernel, its role, the number of its work-items, and its work.
const fn step(kernel: &'static str, role: Role, work_items: WorkItems, work: WorkFormula) -> Step {
    Step { kernel, role, work_items, work }
}

/// The size of work-groups along a row.
const GROUP: Param = param("GROUP", 64, 64, &[]);

/// Returns the description of a kernel file whose last kernel has one work-item for each element of the product. `steps` are
/// the file's kernels in order, `params` its tuning parameters.
const fn one_item_per_element(file: &'static str, steps: &'static [Step], params: &'static [Param]) -> Code {
    Code { file, steps, params, group_items, local_bytes: |_| 0, is_consistent: |_| true }
}

/// The kernels of the variant `naive`.
pub(super) static NAIVE: Code = one_item_per_element(
    "matmul/01_naive.cl",
    &[step("matmul_naive", Role::Multiply, WorkItems::Product, work::in_memory)],
    &[GROUP],
);

/// The kernels of the variant `private`.
pub(super) static PRIVATE: Code = one_item_per_element(
    "matmul/02_private.cl",
    &[step("matmul_private", Role::Multiply, WorkItems::Product, work::in_register)],
    &[GROUP],
);

/// The kernels of the variant `transposed`.
pub(super) static TRANSPOSED: Code = one_item_per_element(
    "matmul/03_transposed.cl",
    &[
        step("matmul_transpose", Role::PackRight, WorkItems::Right, work::transposed),
        step("matmul_transposed", Role::Multiply, WorkItems::Product, work::in_register),
    ],
    &[GROUP],
);

/// The sizes of work-groups along a row and along a column.
const GROUP_SIDES: &[Param] =
    &[param("GROUP_X", 8, 8, &[4, 8, 16, 32, 64]), param("GROUP_Y", 8, 8, &[1, 2, 4, 8, 16, 32])];

/// The kernels of the variant `work-group`.
pub(super) static WORK_GROUP: Code = one_item_per_element(
    "matmul/04_work_group.cl",
    &[step("matmul_work_group", Role::Multiply, WorkItems::Product, work::in_register)],
    GROUP_SIDES,
);

/// The edge of square tiles, which is also that of their work-groups.
const TILE: &[Param] = &[param("TILE", 16, 16, &[8, 16, 32])];

/// Returns the size in bytes of the local memory for one square tile of each matrix, whose rows are padded by one float.
fn square_bytes(config: &Config<Code>) -> usize {
    let side = value(config, "TILE");
    4 * 2 * side * (side + 1)
}

/// Returns the description of a kernel file whose last kernel uses square tiles in local memory. `steps` are the file's kernels
/// in order.
const fn square_tiles(file: &'static str, steps: &'static [Step]) -> Code {
    Code { file, steps, params: TILE, group_items, local_bytes: square_bytes, is_consistent: |_| true }
}

/// The kernels of the variant `local-tiles`.
pub(super) static LOCAL_TILES: Code = square_tiles(
    "matmul/05_local_tiles.cl",
    &[step("matmul_local_tiles", Role::Multiply, WorkItems::Product, work::square_tiles)],
);

/// The kernels of the variant `constant`.
pub(super) static CONSTANT: Code = one_item_per_element(
    "matmul/06_constant.cl",
    &[step("matmul_constant", Role::Multiply, WorkItems::Product, work::in_register)],
    GROUP_SIDES,
);

/// The kernels of the variant `padded`.
pub(super) static PADDED: Code = square_tiles(
    "matmul/07_padded.cl",
    &[step("matmul_padded", Role::Multiply, WorkItems::Product, work::square_tiles)],
);

/// The kernels of the variant `register-tiles`.
pub(super) static REGISTER_TILES: Code = Code {
    file: "matmul/08_register_tiles.cl",
    steps: &[step("matmul_register_tiles", Role::Multiply, WorkItems::Tiles, work::tiles)],
    params: &[
        param("TILE_M", 64, 64, &[32, 64, 128]),
        param("TILE_N", 64, 64, &[32, 64, 128]),
        param("TILE_K", 16, 16, &[8, 16, 32]),
        param("ROWS", 4, 4, &[2, 4, 8]),
        param("COLUMNS", 4, 4, &[2, 4, 8]),
    ],
    group_items: tile_items,
    local_bytes: |config| tile_bytes(config, 1, 1),
    is_consistent: tiles_fit,
};

/// The kernels of the variant `vector-loads`.
pub(super) static VECTOR_LOADS: Code = Code {
    file: "matmul/09_vector_loads.cl",
    steps: &[step("matmul_vector_loads", Role::Multiply, WorkItems::Tiles, work::tiles)],
    params: &[
        param("TILE_M", 64, 128, &[32, 64, 128]),
        param("TILE_N", 64, 128, &[32, 64, 128]),
        param("TILE_K", 16, 16, &[8, 16, 32]),
        param("ROWS", 4, 8, &[4, 8]),
        param("COLUMNS", 8, 8, &[4, 8, 16]),
    ],
    group_items: tile_items,
    local_bytes: |config| tile_bytes(config, 1, 4),
    is_consistent: tiles_fit,
};

/// The kernels of the variant `double-buffered`.
pub(super) static DOUBLE_BUFFERED: Code = Code {
    file: "matmul/10_double_buffered.cl",
    steps: &[step("matmul_double_buffered", Role::Multiply, WorkItems::Tiles, work::double_tiles)],
    params: &[
        param("TILE_M", 64, 128, &[32, 64, 128, 256]),
        param("TILE_N", 64, 128, &[32, 64, 128, 256]),
        param("TILE_K", 8, 16, &[8, 16, 32]),
        param("ROWS", 4, 16, &[4, 8, 16]),
        param("COLUMNS", 8, 8, &[4, 8, 16]),
        param("BAND", 8, 8, &[1, 4, 8, 16]),
    ],
    group_items: tile_items,
    local_bytes: |config| tile_bytes(config, 2, 4),
    is_consistent: tiles_fit,
};

/// The kernels of the variant `panels`.
pub(super) static PANELS: Code = Code {
    file: "matmul/11_panels.cl",
    steps: &[
        step("matmul_pack_a", Role::PackLeft, WorkItems::LeftPanels, work::left_panels),
        step("matmul_pack_b", Role::PackRight, WorkItems::RightPanels, work::right_panels),
        step("matmul_panels", Role::Multiply, WorkItems::Panels, work::panels),
    ],
    params: &[
        param("ROWS", 8, 4, &[4, 6, 8, 12, 14]),
        param("VECTORS", 3, 1, &[1, 2, 3, 4]),
        param("WIDTH", 16, 4, &[4, 8, 16]),
        param("DOWN", 8, 1, &[4, 8, 16]),
        param("ACROSS", 8, 1, &[2, 4, 8]),
        param("DEPTH", 256, 256, &[128, 256, 512]),
        param("CHUNK", 64, 64, &[]),
    ],
    group_items: |_| 1,
    local_bytes: |_| 0,
    // More numbers than all registers of any processor hold make no sense.
    is_consistent: |config| panel_rows(config) * panel_columns(config) <= 32 * 16,
};

/// The file with the peak kernel.
pub(super) const PEAK_FILE: &str = "matmul/limit.cl";

/// The peak kernel: multiply-adds in registers, without memory accesses.
pub(super) static PEAK: Code = one_item_per_element(
    PEAK_FILE,
    &[step("multiply_adds", Role::Multiply, WorkItems::FillDevice, work::none)],
    &[
        param("GROUP", 1, 256, &[]),
        param("WIDTH", 16, 1, &[]),
        param("CHAINS", 12, 16, &[]),
        param("GROUPS", 256, 2112, &[]),
    ],
);

/// Returns the peak kernel's parameters on a device. On a CPU its vectors are as wide as the registers, since fewer of wider
/// vectors would stay in registers.
pub(super) fn peak(device: &Device) -> Config<Code> {
    let config = Config::for_device(&PEAK, &device.info);
    match device.number::<u32>(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) {
        Some(width @ (2 | 4 | 8 | 16)) if device.info.kind == DeviceKind::Cpu => config.with("WIDTH", width),
        _ => config,
    }
}
