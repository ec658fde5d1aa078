//! The kernel files of matrix multiplication as data: their launches, parameters, and the buffers for packed matrices, which
//! are copies in the order in which the next kernel reads them.

use ocl::ffi::{CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT};

use super::blocks::{multiply, multiply_one_by_one};
use super::shape::{Code, Config, Shape, panel_columns, panel_rows, value};
use super::work;
use base::device::DeviceKind;
use base::threads::Threads;
use compute::config::Param;
use compute::plan::{Arg, Host, Pass, Types, WorkFormula, group, single};
use compute::variant::Variant;
use opencl::cl::Device;
use opencl::kernel::Value;

/// The OpenCL type of matrices.
const MATRIX: Types = &["float*"];
const LEFT: Arg<Shape> = Arg::Memory(0, MATRIX);
const RIGHT: Arg<Shape> = Arg::Memory(1, MATRIX);
const PRODUCT: Arg<Shape> = Arg::Memory(2, MATRIX);
/// The buffer for the left matrix in panels of rows, the last of which is padded.
const LEFT_PANELS: Arg<Shape> = Arg::Scratch(0, MATRIX, |config, shape| {
    (shape.m as usize).next_multiple_of(panel_rows(config)) * shape.k as usize
});
/// The buffer for the right matrix in panels of columns, the last of which is padded.
const RIGHT_PANELS: Arg<Shape> = Arg::Scratch(1, MATRIX, |config, shape| {
    (shape.n as usize).next_multiple_of(panel_columns(config)) * shape.k as usize
});
const TRANSPOSED_RIGHT: Arg<Shape> = Arg::Scratch(1, MATRIX, |_, shape| shape.right_len());
const M: Arg<Shape> = Arg::Value(&["uint"], |shape| Value::Uint(shape.m));
const N: Arg<Shape> = Arg::Value(&["uint"], |shape| Value::Uint(shape.n));
const K: Arg<Shape> = Arg::Value(&["uint"], |shape| Value::Uint(shape.k));

/// Returns a launch that multiplies both matrices, with a work-item for each element of the product.
const fn elements(kernel: &'static str, work: WorkFormula<Shape>) -> Pass<Shape> {
    Pass {
        kernel,
        args: &[LEFT, RIGHT, PRODUCT, M, N, K],
        local: group_shape,
        groups: product_groups,
        work: Some(work),
    }
}

/// Returns a launch that multiplies both matrices, with a work-group for each tile of the product.
const fn tiles(kernel: &'static str, work: WorkFormula<Shape>) -> Pass<Shape> {
    Pass {
        local: |config| [tile_items(config), 1],
        groups: |config, shape| {
            let down = (shape.m as usize).div_ceil(value(config, "TILE_M"));
            [down * (shape.n as usize).div_ceil(value(config, "TILE_N")), 1]
        },
        ..elements(kernel, work)
    }
}

/// Returns the number of work-groups across and the number down, if each element of the product has a work-item.
fn product_groups(config: &Config, shape: &Shape) -> [usize; 2] {
    let [x, y] = group_shape(config);
    [(shape.n as usize).div_ceil(x), (shape.m as usize).div_ceil(y)]
}

/// Returns the number of chunks into which `panels` panels are divided, of which each is packed by one work-item.
fn chunks(config: &Config, shape: &Shape, panels: usize) -> [usize; 2] {
    [panels * (shape.k as usize).div_ceil(value(config, "CHUNK")), 1]
}

/// Returns the number of panels of the left matrix, and that of the right matrix.
fn panel_counts(config: &Config, shape: &Shape) -> [usize; 2] {
    [(shape.m as usize).div_ceil(panel_rows(config)), (shape.n as usize).div_ceil(panel_columns(config))]
}

/// Returns the number of columns and the number of rows of a work-group, computed from `GROUP`, `GROUP_X`, `GROUP_Y` or `TILE`,
/// whichever of these parameters the file has.
fn group_shape(config: &Config) -> [usize; 2] {
    let get = |name| value(config, name);
    // Parameters that a file does not have are 1.
    [get("GROUP") * get("GROUP_X") * get("TILE"), get("GROUP_Y") * get("TILE")]
}

/// Returns the number of work-items that together compute one tile of the product.
fn tile_items(config: &Config) -> usize {
    let get = |name| value(config, name);
    get("TILE_M") / get("ROWS") * (get("TILE_N") / get("COLUMNS"))
}

/// Returns the size in bytes of the local memory in which a work-group keeps tiles of floats: `buffers` tiles of the left
/// matrix and as many of the right matrix. `more` is the number of floats of padding at the end of each row of a left tile in
/// local memory.
fn tile_bytes(config: &Config, buffers: usize, more: usize) -> u64 {
    let get = |name| value(config, name);
    (4 * buffers * get("TILE_K") * (get("TILE_M") + more + get("TILE_N"))) as u64
}

/// Returns true if tiles divide evenly among work-items, work-groups have a useful size, and a work-item's results may fit into
/// registers.
fn tiles_fit(config: &Config) -> bool {
    let get = |name| value(config, name);
    let whole = get("TILE_M") % get("ROWS") == 0 && get("TILE_N") % get("COLUMNS") == 0;
    whole && (16..=512).contains(&tile_items(config)) && get("ROWS") * get("COLUMNS") <= 128
}

/// The parameter for the size of work-groups along a row.
const GROUP: Param = Param::new("GROUP", 64, 64, &[]);

/// The parameters for the sizes of work-groups along a row and along a column.
const GROUP_SIDES: &[Param] =
    &[Param::new("GROUP_X", 8, 8, &[4, 8, 16, 32, 64]), Param::new("GROUP_Y", 8, 8, &[1, 2, 4, 8, 16, 32])];

/// The parameter for the side of square tiles, which is also the side of their work-groups.
const TILE: &[Param] = &[Param::new("TILE", 16, 16, &[8, 16, 32])];

/// Describes a kernel file whose last kernel uses square tiles in local memory. `passes` are the file's launches.
const fn square_tiles(file: &'static str, passes: &'static [Pass<Shape>]) -> Code {
    Code {
        // One tile of each matrix, whose rows are padded by one float.
        allows: |config, device| {
            let side = value(config, "TILE") as u64;
            4 * 2 * side * (side + 1) <= device.local_memory()
        },
        ..Code::new(file, passes, TILE)
    }
}

/// The peak kernel: multiply-adds in registers, without memory accesses. It has as many work-groups as fill the device,
/// regardless of the size of the matrices.
pub(super) static PEAK: Code = Code::new(
    "matmul/limit.cl",
    &[Pass {
        local: group,
        groups: |config, _| [value(config, "GROUPS"), 1],
        work: None,
        ..elements("multiply_adds", work::in_register)
    }],
    &[
        Param::new("GROUP", 1, 256, &[]),
        Param::new("WIDTH", 16, 1, &[]),
        Param::new("CHAINS", 12, 16, &[]),
        Param::new("GROUPS", 256, 2112, &[]),
    ],
);

/// Returns the peak kernel with its parameters for a device. On a CPU its vectors are as wide as the registers; of wider
/// vectors, fewer would stay in registers.
pub(super) fn peak(device: &Device) -> Config {
    let config = Config::for_device(&PEAK, &device.info);
    match device.number::<u32>(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) {
        Some(width @ (2 | 4 | 8 | 16)) if device.info.kind == DeviceKind::Cpu => config.with("WIDTH", width),
        _ => config,
    }
}

/// The variants of the matrix multiplication ladder, in the order in which tables list them.
pub(super) static VARIANTS: [Variant<Code, Host<Shape>>; 15] = [
    Variant::host(
        "serial",
        "Serial",
        "One thread, one product at a time.",
        Host { threads: Threads::One, run: multiply_one_by_one },
    ),
    Variant::host(
        "threads",
        "Threads",
        "The same on all cores.",
        Host { threads: Threads::All, run: multiply_one_by_one },
    ),
    Variant::host(
        "threads-vectors",
        "Threads, vectors",
        "All cores, in blocks that caches and registers hold, in vectors.",
        Host { threads: Threads::All, run: multiply::<f32, 16> },
    ),
    Variant::kernels(
        "naive",
        "Naive",
        "OpenCL, one result a work-item, added up in global memory.",
        &Code::new("matmul/01_naive.cl", &[elements("matmul_naive", work::in_memory)], &[GROUP]),
    ),
    Variant::kernels(
        "private",
        "Private",
        "The sum stays in a register.",
        &Code::new("matmul/02_private.cl", &[elements("matmul_private", work::in_register)], &[GROUP]),
    ),
    Variant::kernels(
        "transposed",
        "Transposed",
        "B is transposed first: both matrices are read along rows.",
        &Code::new(
            "matmul/03_transposed.cl",
            &[
                Pass {
                    kernel: "matmul_transpose",
                    args: &[RIGHT, TRANSPOSED_RIGHT, M, N, K],
                    local: group_shape,
                    groups: |config, shape| product_groups(config, &Shape { m: shape.k, ..*shape }),
                    work: Some(work::transposed),
                },
                Pass {
                    args: &[LEFT, TRANSPOSED_RIGHT, PRODUCT, M, N, K],
                    ..elements("matmul_transposed", work::in_register)
                },
            ],
            &[GROUP],
        ),
    ),
    Variant::kernels(
        "work-group",
        "Work-group",
        "Groups as high as they are wide share what the caches hold.",
        &Code::new(
            "matmul/04_work_group.cl",
            &[elements("matmul_work_group", work::in_register)],
            GROUP_SIDES,
        ),
    ),
    Variant::kernels(
        "local-tiles",
        "Local tiles",
        "Each group brings tiles of both matrices into local memory.",
        &square_tiles("matmul/05_local_tiles.cl", &[elements("matmul_local_tiles", work::square_tiles)]),
    ),
    Variant::kernels(
        "constant",
        "Constant",
        "B in constant memory, where it fits.",
        &Code {
            supports: |device, shape| {
                let bytes = 4 * shape.right_len() as u64;
                let most =
                    device.number::<u64>(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE).filter(|most| bytes > *most);
                let why = |most| {
                    Err(format!("The right matrix takes {bytes} bytes, and constant memory has {most}."))
                };
                most.map_or(Ok(()), why)
            },
            ..Code::new(
                "matmul/06_constant.cl",
                &[elements("matmul_constant", work::in_register)],
                GROUP_SIDES,
            )
        },
    ),
    Variant::kernels(
        "padded",
        "Padded",
        "Local tiles whose rows lie in different banks.",
        &square_tiles("matmul/07_padded.cl", &[elements("matmul_padded", work::square_tiles)]),
    ),
    Variant::kernels(
        "register-tiles",
        "Register tiles",
        "Several results a work-item: tiles on two levels.",
        &Code {
            allows: |config, device| tile_bytes(config, 1, 1) <= device.local_memory() && tiles_fit(config),
            ..Code::new(
                "matmul/08_register_tiles.cl",
                &[tiles("matmul_register_tiles", work::tiles)],
                &[
                    Param::new("TILE_M", 64, 64, &[32, 64, 128]),
                    Param::new("TILE_N", 64, 64, &[32, 64, 128]),
                    Param::new("TILE_K", 16, 16, &[8, 16, 32]),
                    Param::new("ROWS", 4, 4, &[2, 4, 8]),
                    Param::new("COLUMNS", 4, 4, &[2, 4, 8]),
                ],
            )
        },
    ),
    Variant::kernels(
        "vector-loads",
        "Vector loads",
        "Four numbers at a time, between all kinds of memory.",
        &Code {
            allows: |config, device| tile_bytes(config, 1, 4) <= device.local_memory() && tiles_fit(config),
            ..Code::new(
                "matmul/09_vector_loads.cl",
                &[tiles("matmul_vector_loads", work::tiles)],
                &[
                    Param::new("TILE_M", 64, 128, &[32, 64, 128]),
                    Param::new("TILE_N", 64, 128, &[32, 64, 128]),
                    Param::new("TILE_K", 16, 16, &[8, 16, 32]),
                    Param::new("ROWS", 4, 8, &[4, 8]),
                    Param::new("COLUMNS", 8, 8, &[4, 8, 16]),
                ],
            )
        },
    ),
    Variant::kernels(
        "double-buffered",
        "Double buffered",
        "The next tiles come while these are used.",
        &Code {
            allows: |config, device| tile_bytes(config, 2, 4) <= device.local_memory() && tiles_fit(config),
            ..Code::new(
                "matmul/10_double_buffered.cl",
                &[tiles("matmul_double_buffered", work::double_tiles)],
                &[
                    Param::new("TILE_M", 64, 128, &[32, 64, 128, 256]),
                    Param::new("TILE_N", 64, 128, &[32, 64, 128, 256]),
                    Param::new("TILE_K", 8, 16, &[8, 16, 32]),
                    Param::new("ROWS", 4, 16, &[4, 8, 16]),
                    Param::new("COLUMNS", 8, 8, &[4, 8, 16]),
                    Param::new("BAND", 8, 8, &[1, 4, 8, 16]),
                ],
            )
        },
    ),
    Variant::kernels(
        "panels",
        "Panels",
        "For processors: packed panels, and a work-item whose results fill the vector registers.",
        &Code {
            // More numbers than the registers of any CPU or GPU can hold are not useful.
            allows: |config, _| panel_rows(config) * panel_columns(config) <= 32 * 16,
            ..Code::new(
                "matmul/11_panels.cl",
                &[
                    Pass {
                        kernel: "matmul_pack_a",
                        args: &[LEFT, LEFT_PANELS, M, N, K],
                        local: single,
                        groups: |config, shape| chunks(config, shape, panel_counts(config, shape)[0]),
                        work: Some(work::left_panels),
                    },
                    Pass {
                        kernel: "matmul_pack_b",
                        args: &[RIGHT, RIGHT_PANELS, M, N, K],
                        local: single,
                        groups: |config, shape| chunks(config, shape, panel_counts(config, shape)[1]),
                        work: Some(work::right_panels),
                    },
                    Pass {
                        args: &[LEFT_PANELS, RIGHT_PANELS, PRODUCT, M, N, K],
                        local: single,
                        groups: |config, shape| {
                            let [down, across] = panel_counts(config, shape);
                            [
                                down.div_ceil(value(config, "DOWN"))
                                    * across.div_ceil(value(config, "ACROSS")),
                                1,
                            ]
                        },
                        ..elements("matmul_panels", work::panels)
                    },
                ],
                &[
                    Param::new("ROWS", 8, 4, &[4, 6, 8, 12, 14]),
                    Param::new("VECTORS", 3, 1, &[1, 2, 3, 4]),
                    Param::new("WIDTH", 16, 4, &[4, 8, 16]),
                    Param::new("DOWN", 8, 1, &[4, 8, 16]),
                    Param::new("ACROSS", 8, 1, &[2, 4, 8]),
                    Param::new("DEPTH", 256, 256, &[128, 256, 512]),
                    Param::new("CHUNK", 64, 64, &[]),
                ],
            )
        },
    ),
    Variant::AUTO,
];
