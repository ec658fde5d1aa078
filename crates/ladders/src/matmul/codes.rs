//! The kernel files of matrix multiplication as data. In: a configuration and a case. Out: which kernels run, over how many
//! work-items, and how much they pack.

use ocl::ffi::CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT;

use super::shape::Shape;
use ladder::config::{Config, Param, Tunable};
use opencl::cl::{Device, DeviceInfo, DeviceKind};

/// A kernel file.
#[derive(Debug)]
pub struct Code {
    file: &'static str,
    /// Its kernels in order.
    pub(super) steps: &'static [Step],
    params: &'static [Param],
    /// Work-items of the largest group.
    group: fn(&Config<Code>) -> usize,
    /// Bytes of local memory.
    local: fn(&Config<Code>) -> usize,
    /// Whether the values go together.
    fits: fn(&Config<Code>) -> bool,
}

/// A kernel.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) kernel: &'static str,
    pub(super) role: Role,
    over: Over,
}

/// What a kernel does: its arguments are the matrices that it reads, that which it writes, and the three sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Brings the left matrix into another order.
    PackLeft,
    /// The same with the right one.
    PackRight,
    Multiply,
}

/// What there is a work-item for.
#[derive(Debug)]
enum Over {
    /// Each number of the product.
    Product,
    /// Each number of the right matrix.
    Right,
    /// A tile of the product: groups of them in a row.
    Tiles,
    /// A panel of the left matrix, and a chunk of its columns: single ones.
    LeftPanels,
    /// A panel of the right matrix, and a chunk of its rows.
    RightPanels,
    /// What some panels of both give.
    Panels,
    /// None: a number of groups that fills the device.
    Nothing,
}

impl Code {
    /// Whether the right matrix lies in constant memory.
    pub(super) fn is_constant(&self) -> bool {
        self.file == CONSTANT.file
    }
}

impl Step {
    /// Numbers that it packs.
    pub(super) fn packed(&self, shape: Shape, config: &Config<Code>) -> usize {
        let k = shape.k as usize;
        match self.over {
            Over::LeftPanels => (shape.m as usize).next_multiple_of(rows(config)) * k,
            Over::RightPanels => (shape.n as usize).next_multiple_of(columns(config)) * k,
            _ => shape.right(),
        }
    }

    /// Work-items, and those of a group; where there are no work-items nothing is to be done.
    pub(super) fn launch(&self, shape: Shape, config: &Config<Code>) -> ([usize; 3], [usize; 3]) {
        let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
        let chunks = || k.div_ceil(value(config, "CHUNK"));
        let (items, group) = match self.over {
            Over::Product | Over::Right => {
                let (x, y) = plane(config);
                let height = if matches!(self.over, Over::Right) { k } else { m };
                return ([n.next_multiple_of(x), height.next_multiple_of(y), 1], [x, y, 1]);
            }
            Over::Tiles => {
                let tiles = m.div_ceil(value(config, "TILE_M")) * n.div_ceil(value(config, "TILE_N"));
                (tiles * items(config), items(config))
            }
            Over::LeftPanels => (m.div_ceil(rows(config)) * chunks(), 1),
            Over::RightPanels => (n.div_ceil(columns(config)) * chunks(), 1),
            Over::Panels => {
                let down = m.div_ceil(rows(config)).div_ceil(value(config, "DOWN"));
                (down * n.div_ceil(columns(config)).div_ceil(value(config, "ACROSS")), 1)
            }
            Over::Nothing => (value(config, "GROUPS") * value(config, "GROUP"), value(config, "GROUP")),
        };
        ([items, 1, 1], [group, 1, 1])
    }
}

fn value(config: &Config<Code>, name: &str) -> usize {
    config.get(name).max(1) as usize
}

/// Work-items of a group along a row and along a column, whatever they are called.
fn plane(config: &Config<Code>) -> (usize, usize) {
    let get = |name| value(config, name);
    // What a file does not have is 1.
    (get("GROUP") * get("GROUP_X") * get("TILE"), get("GROUP_Y") * get("TILE"))
}

fn rows(config: &Config<Code>) -> usize {
    value(config, "ROWS")
}

fn columns(config: &Config<Code>) -> usize {
    value(config, "VECTORS") * value(config, "WIDTH")
}

/// Work-items that share a tile.
fn items(config: &Config<Code>) -> usize {
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

    fn groups(&self, config: &Config<Self>) -> Vec<usize> {
        vec![(self.group)(config)]
    }

    fn allows(&self, config: &Config<Self>, device: &DeviceInfo) -> bool {
        (self.local)(config) as u64 <= device.local_memory() && (self.fits)(config)
    }
}

fn of_plane(config: &Config<Code>) -> usize {
    let (x, y) = plane(config);
    x * y
}

/// Tiles of `buffers` of each matrix, with this many numbers more in a row of the left one.
fn tile_bytes(config: &Config<Code>, buffers: usize, more: usize) -> usize {
    let get = |name| value(config, name);
    4 * buffers * get("TILE_K") * (get("TILE_M") + more + get("TILE_N"))
}

/// Whether tiles are whole numbers of work-items' parts, groups are of a size that is worth trying, and registers might do.
fn tiles_fit(config: &Config<Code>) -> bool {
    let get = |name| value(config, name);
    let whole = get("TILE_M") % get("ROWS") == 0 && get("TILE_N") % get("COLUMNS") == 0;
    whole && (16..=512).contains(&items(config)) && get("ROWS") * get("COLUMNS") <= 128
}

const fn param(name: &'static str, cpu: u32, gpu: u32, values: &'static [u32]) -> Param {
    Param { name, cpu, gpu, values }
}

const fn step(kernel: &'static str, role: Role, over: Over) -> Step {
    Step { kernel, role, over }
}

const GROUP: Param = param("GROUP", 64, 64, &[]);

/// A file with one kernel over all numbers of the product.
const fn plain(file: &'static str, steps: &'static [Step], params: &'static [Param]) -> Code {
    Code { file, steps, params, group: of_plane, local: |_| 0, fits: |_| true }
}

pub(super) static NAIVE: Code =
    plain("matmul/01_naive.cl", &[step("matmul_naive", Role::Multiply, Over::Product)], &[GROUP]);

pub(super) static PRIVATE: Code =
    plain("matmul/02_private.cl", &[step("matmul_private", Role::Multiply, Over::Product)], &[GROUP]);

pub(super) static TRANSPOSED: Code = plain(
    "matmul/03_transposed.cl",
    &[
        step("matmul_transpose", Role::PackRight, Over::Right),
        step("matmul_transposed", Role::Multiply, Over::Product),
    ],
    &[GROUP],
);

const SIDES: &[Param] =
    &[param("GROUP_X", 8, 8, &[4, 8, 16, 32, 64]), param("GROUP_Y", 8, 8, &[1, 2, 4, 8, 16, 32])];

pub(super) static WORK_GROUP: Code =
    plain("matmul/04_work_group.cl", &[step("matmul_work_group", Role::Multiply, Over::Product)], SIDES);

const TILE: &[Param] = &[param("TILE", 16, 16, &[8, 16, 32])];

fn square_bytes(config: &Config<Code>) -> usize {
    let side = value(config, "TILE");
    4 * 2 * side * (side + 1)
}

/// A file with one kernel that has square tiles in local memory.
const fn square(file: &'static str, steps: &'static [Step]) -> Code {
    Code { file, steps, params: TILE, group: of_plane, local: square_bytes, fits: |_| true }
}

pub(super) static LOCAL_TILES: Code =
    square("matmul/05_local_tiles.cl", &[step("matmul_local_tiles", Role::Multiply, Over::Product)]);

pub(super) static CONSTANT: Code =
    plain("matmul/06_constant.cl", &[step("matmul_constant", Role::Multiply, Over::Product)], SIDES);

pub(super) static PADDED: Code =
    square("matmul/07_padded.cl", &[step("matmul_padded", Role::Multiply, Over::Product)]);

pub(super) static REGISTER_TILES: Code = Code {
    file: "matmul/08_register_tiles.cl",
    steps: &[step("matmul_register_tiles", Role::Multiply, Over::Tiles)],
    params: &[
        param("TILE_M", 64, 64, &[32, 64, 128]),
        param("TILE_N", 64, 64, &[32, 64, 128]),
        param("TILE_K", 16, 16, &[8, 16, 32]),
        param("ROWS", 4, 4, &[2, 4, 8]),
        param("COLUMNS", 4, 4, &[2, 4, 8]),
    ],
    group: items,
    local: |config| tile_bytes(config, 1, 1),
    fits: tiles_fit,
};

pub(super) static VECTOR_LOADS: Code = Code {
    file: "matmul/09_vector_loads.cl",
    steps: &[step("matmul_vector_loads", Role::Multiply, Over::Tiles)],
    params: &[
        param("TILE_M", 64, 128, &[32, 64, 128]),
        param("TILE_N", 64, 128, &[32, 64, 128]),
        param("TILE_K", 16, 16, &[8, 16, 32]),
        param("ROWS", 4, 8, &[4, 8]),
        param("COLUMNS", 8, 8, &[4, 8, 16]),
    ],
    group: items,
    local: |config| tile_bytes(config, 1, 4),
    fits: tiles_fit,
};

pub(super) static DOUBLE_BUFFERED: Code = Code {
    file: "matmul/10_double_buffered.cl",
    steps: &[step("matmul_double_buffered", Role::Multiply, Over::Tiles)],
    params: &[
        param("TILE_M", 64, 128, &[32, 64, 128, 256]),
        param("TILE_N", 64, 128, &[32, 64, 128, 256]),
        param("TILE_K", 8, 16, &[8, 16, 32]),
        param("ROWS", 4, 16, &[4, 8, 16]),
        param("COLUMNS", 8, 8, &[4, 8, 16]),
        param("BAND", 8, 8, &[1, 4, 8, 16]),
    ],
    group: items,
    local: |config| tile_bytes(config, 2, 4),
    fits: tiles_fit,
};

pub(super) static PANELS: Code = Code {
    file: "matmul/11_panels.cl",
    steps: &[
        step("matmul_pack_a", Role::PackLeft, Over::LeftPanels),
        step("matmul_pack_b", Role::PackRight, Over::RightPanels),
        step("matmul_panels", Role::Multiply, Over::Panels),
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
    group: |_| 1,
    local: |_| 0,
    // More than all registers of any processor make no sense.
    fits: |config| rows(config) * columns(config) <= 32 * 16,
};

pub(super) const LIMIT_FILE: &str = "matmul/limit.cl";

pub(super) static LIMIT: Code = plain(
    LIMIT_FILE,
    &[step("multiply_adds", Role::Multiply, Over::Nothing)],
    &[
        param("GROUP", 1, 256, &[]),
        param("WIDTH", 16, 1, &[]),
        param("CHAINS", 12, 16, &[]),
        param("GROUPS", 256, 2112, &[]),
    ],
);

/// The limit on a device. A processor's vectors are as wide as its registers: of wider ones fewer would stay there.
pub(super) fn limit(device: &Device) -> Config<Code> {
    let config = Config::of(&LIMIT, device.info.kind).fitted(&device.info);
    match device.number::<u32>(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) {
        Some(width @ (2 | 4 | 8 | 16)) if device.info.kind == DeviceKind::Cpu => config.with("WIDTH", width),
        _ => config,
    }
}
