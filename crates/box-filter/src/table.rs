//! The table of the variants of the box filter, and the code of each as data.

use super::MAX_RADIUS;
use super::config::Argument::{self, ColumnSums, Destination, Number, RowSums, Source};
use super::config::{Code, Config, Extent, Launch, Pass};
use super::filter::{Group, Variant, Work};
use super::planar::{self, launch as planes};
use super::work::{self, fused_gpu_groups, fused_line_len, fused_strips};
use compute::config::Param;
use opencl::kernel::Value;
use opencl::memory::Storage;

/// The file with the user's own kernel, in the folder of kernels.
pub const OWN_FILE: &str = "box_filter/own.cl";

/// The variant without a filter: the frame passes through. It is no entry of [`VARIANTS`].
pub(crate) static OFF: Variant = Variant {
    name: "off",
    key: '0',
    group: Group::Off,
    title: "Off",
    idea: "No filter: the frame passes through.",
    work: Work::Nothing,
};

/// The name of the variant that is selected when the window opens.
pub(crate) const INITIAL: &str = "running-sum";

/// The variants of the box filter, in the order of display.
pub(crate) static VARIANTS: [Variant; 10] = [
    Variant {
        name: "naive",
        key: '1',
        group: Group::Steps,
        title: "Naive",
        idea: "Every pixel reads its whole window through the image sampler: (2r+1)² reads.",
        work: Work::Kernels([&NAIVE; 2]),
    },
    Variant {
        name: "separable",
        key: '2',
        group: Group::Steps,
        title: "Separable",
        idea: "A row pass, then a column pass: 2(2r+1) reads instead of (2r+1)².",
        work: Work::Kernels([&SEPARABLE; 2]),
    },
    Variant {
        name: "flat",
        key: '3',
        group: Group::Steps,
        title: "Flat",
        idea: "The same two passes on plain buffers, without the sampler.",
        work: Work::Kernels([&FLAT; 2]),
    },
    Variant {
        name: "vectorized",
        key: '4',
        group: Group::Steps,
        title: "Vectorized",
        idea: "Four pixels a work-item: sixteen channels in one vector.",
        work: Work::Kernels([&VECTORIZED; 2]),
    },
    Variant {
        name: "running-sum",
        key: '5',
        group: Group::Steps,
        title: "Running sum",
        idea: "Add the pixel that enters, subtract the one that leaves: the radius costs nothing.",
        work: Work::Kernels([&RUNNING_SUM; 2]),
    },
    Variant {
        name: "glsl",
        key: '6',
        group: Group::Others,
        title: "GLSL",
        idea: "Without OpenCL: two fragment shaders in OpenGL, along the rows and down the columns.",
        work: Work::Shaders,
    },
    Variant {
        name: "native",
        key: '7',
        group: Group::Others,
        title: "Native",
        idea: "Without OpenCL: the fused algorithm in Rust, on all cores, in the CPU's vectors.",
        work: Work::Threads,
    },
    Variant {
        name: "fused",
        key: '8',
        group: Group::Beyond,
        title: "Fused",
        idea: "Rows and columns in one pass: each pixel is read about once and written once.",
        work: Work::Kernels([&FUSED_CPU, &FUSED_GPU]),
    },
    Variant {
        name: "planar",
        key: 'y',
        group: Group::Others,
        title: "Planar",
        idea: "Y, U and V at their own sizes before they become RGBA: 1.5 bytes a pixel for 4:2:0, not 4.",
        work: Work::Planes([&PLANES, &PLANES_MARCH]),
    },
    Variant {
        name: "auto",
        key: '9',
        group: Group::Beyond,
        title: "Auto",
        idea: "The fastest for this device, size and radius, as `clreel tune` measured it; fused before that.",
        work: Work::Fastest("fused"),
    },
];

/// The user's own kernel: a variant that exists only if the folder of kernels has its file.
pub(crate) static OWN: Variant = Variant {
    name: "own",
    key: 'u',
    group: Group::Others,
    title: "Your own",
    idea: "Your own kernel: box_filter/own.cl in the folder of kernels.",
    work: Work::Kernels([&OWN_CODE; 2]),
};

const WIDTH: Argument = Number(|e| int(e.width));
const HEIGHT: Argument = Number(|e| int(e.height));
const RADIUS: Argument = Number(|e| int(e.radius));
/// The first row of the band.
const ROW0: Argument = Number(|e| int(e.first));
const ROWS: Argument = Number(|e| int(e.rows));
/// The factor by which sums are multiplied, to divide by the number of the window's pixels.
const SCALE: Argument = Number(|e| Value::Float(scale(e.radius)));

/// The arguments of a kernel that is the only pass.
const SINGLE: &[Argument] = &[Source, Destination, WIDTH, HEIGHT, RADIUS, ROW0, ROWS, SCALE];
/// The arguments of [`SINGLE`], and scratch memory for column sums.
const SINGLE_WITH_SUMS: &[Argument] =
    &[Source, Destination, WIDTH, HEIGHT, RADIUS, ROW0, ROWS, SCALE, ColumnSums];

fn int(value: u32) -> Value {
    Value::Int(value as i32)
}

/// Returns the factor by which kernels multiply sums to divide by the window's pixels; see common/mean.clh.
pub(crate) fn scale(radius: u32) -> f32 {
    let side = 2 * radius + 1;
    1.0 / (side * side) as f32
}

/// Returns the passes of kernels with these names, along the rows and then down the columns.
const fn two_passes([rows, columns]: [&'static str; 2]) -> [Pass; 2] {
    [
        Pass { kernel: rows, arguments: &[Source, RowSums, WIDTH, HEIGHT, RADIUS, ROW0, ROWS] },
        Pass {
            kernel: columns,
            arguments: &[RowSums, Destination, WIDTH, HEIGHT, RADIUS, ROW0, ROWS, SCALE],
        },
    ]
}

/// Returns the number of pixels in the window, for a kernel that reads all of them for each pixel that it writes.
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
    Param::new("GROUP_X", 64, 32, &[8, 16, 32, 64, 128, 256]),
    Param::new("GROUP_Y", 1, 4, &[1, 2, 4, 8, 16]),
];

/// The default fields for the declarations of code in this file: one pixel per work-item, which reads one row or column of its
/// window.
const TWO_PASSES: Code = Code {
    file: "",
    storage: Storage::Buffer,
    passes: &[],
    params: GROUP_PARAMS,
    large_defaults: &[],
    allowed: |_, _| true,
    launch: |config, _, e| launch_per_pixels(config, 1, e),
    reads_per_pixel: |_, _, e| f64::from(2 * e.radius + 1),
    work: Some(work::two_passes),
    row_step: |_, _| 1,
    column_sums: |_, _| 0,
    to_image: false,
    is_tuned: true,
    peak: 0,
};

static NAIVE: Code = Code {
    file: "box_filter/01_naive.cl",
    storage: Storage::Image,
    passes: &[Pass { kernel: "box_naive", arguments: SINGLE }],
    reads_per_pixel: reads_window,
    work: Some(work::naive),
    is_tuned: false,
    ..TWO_PASSES
};

static SEPARABLE: Code = Code {
    file: "box_filter/02_separable.cl",
    storage: Storage::Image,
    passes: &two_passes(["box_separable_rows", "box_separable_columns"]),
    is_tuned: false,
    ..TWO_PASSES
};

static FLAT: Code = Code {
    file: "box_filter/03_flat.cl",
    passes: &two_passes(["box_flat_rows", "box_flat_columns"]),
    ..TWO_PASSES
};

/// The code of the variant `planar` for CPUs.
static PLANES: Code = Code {
    file: "box_filter/08_planes.cl",
    passes: &[Pass { kernel: "box_planes", arguments: &planes::CPU_ARGUMENTS }],
    params: &[],
    launch: |_, _, e| Launch::new([planes::strips(e, false), 1], [1, 1]),
    reads_per_pixel: |_, _, e| planes::reads_per_pixel(e, false),
    work: Some(planar::work::on_cpu),
    row_step: |_, _| 64,
    column_sums: |_, e| planes::strips(e, false) as usize * planes::line_len(e),
    is_tuned: false,
    peak: 1,
    ..TWO_PASSES
};

/// The code of the variant `planar` for devices other than CPUs.
static PLANES_MARCH: Code = Code {
    file: "box_filter/09_planes_march.cl",
    passes: &[Pass { kernel: "box_planes", arguments: &planes::GPU_ARGUMENTS }],
    params: &[],
    // The column sums must fit local memory. Drivers need a few bytes of it for themselves.
    allowed: |_, device| {
        8 * u64::from(planes::GROUP) * u64::from(planes::COLUMNS + 1) + 64 <= device.local_memory()
    },
    launch: |_, _, e| {
        let groups: u32 = planes::groups(e).iter().map(|[across, down]| across * down).sum();
        Launch::new([groups * planes::GROUP, 1], [planes::GROUP, 1])
    },
    reads_per_pixel: |_, _, e| planes::reads_per_pixel(e, true),
    work: Some(planar::work::on_gpu),
    row_step: |_, _| 64,
    is_tuned: false,
    peak: 1,
    ..TWO_PASSES
};

/// The code of the user's own kernel; the built-in kernels have no such file.
static OWN_CODE: Code = Code {
    file: OWN_FILE,
    passes: &[Pass { kernel: "own", arguments: SINGLE }],
    reads_per_pixel: reads_window,
    work: None,
    is_tuned: false,
    ..TWO_PASSES
};

static VECTORIZED: Code = Code {
    file: "box_filter/04_vectorized.cl",
    passes: &two_passes(["box_vectorized_rows", "box_vectorized_columns"]),
    launch: |config, _, e| launch_per_pixels(config, 4, e),
    work: Some(work::vectorized),
    ..TWO_PASSES
};

/// The code of the variant `running-sum`. On CPUs, long strips and whole cache lines are fast; on GPUs, many work-items are.
static RUNNING_SUM: Code = Code {
    file: "box_filter/05_running_sum.cl",
    passes: &two_passes(["box_running_sum_rows", "box_running_sum_columns"]),
    params: &[
        Param::new("STRIP_X", 4096, 64, &[16, 32, 64, 128, 256, 4096]),
        Param::new("STRIP_Y", 1024, 16, &[16, 32, 64, 128, 360, 1024]),
        Param::new("QUADS", 4, 1, &[1, 2, 4, 8]),
        Param::new("GROUP_ROWS", 8, 64, &[1, 8, 64]),
        Param::new("GROUP_COLUMNS", 4, 64, &[1, 4, 64]),
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
        let strip =
            if pass == 0 { config.get("STRIP_X").min(e.width) } else { config.get("STRIP_Y").min(e.rows) };
        2.0 + f64::from(2 * e.radius + 1) / f64::from(strip.max(1))
    },
    work: Some(work::running_sum),
    row_step: |config, pass| if pass == 0 { 1 } else { config.get("STRIP_Y") },
    ..TWO_PASSES
};

static FUSED_CPU: Code = Code {
    file: "box_filter/06_fused.cl",
    passes: &[Pass { kernel: "box_fused", arguments: SINGLE_WITH_SUMS }],
    params: &[Param::new("STRIPS", 2, 64, &[1, 2, 3, 4, 8])],
    launch: |config, _, e| Launch::new([fused_strips(config, e), 1], [1, 1]),
    reads_per_pixel: |config, _, e| {
        let strip = e.rows.div_ceil(fused_strips(config, e)).max(1);
        3.0 + f64::from(2 * e.radius + 1) / f64::from(strip)
    },
    work: Some(work::fused_cpu),
    row_step: |_, _| 64,
    // The column sums of a row for each strip, as wide as the kernel's own LINE makes them.
    column_sums: |config, e| (config.get("STRIPS") * e.units.max(1)) as usize * fused_line_len(e.width),
    ..TWO_PASSES
};

/// The code of the variant `fused` for devices other than CPUs.
static FUSED_GPU: Code = Code {
    file: "box_filter/07_march.cl",
    passes: &[Pass { kernel: "box_march", arguments: SINGLE }],
    params: &[
        Param::new("COLUMNS", 8, 4, &[4, 8]),
        Param::new("GROUP", 64, 128, &[64, 128, 256]),
        Param::new("ROWS", 1, 1, &[1, 2]),
        Param::new("AHEAD", 1, 1, &[0, 1]),
        Param::new("START", 4, 4, &[4, 8]),
        Param::new("STRIPS", 2, 3, &[1, 2, 3, 4, 6, 8]),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use base::device::{DeviceInfo, DeviceKind};
    use compute::config::Tunable as _;
    use compute::work::Transfer;
    use filter::{Number as Described, Passed, ScratchMemory, Values};

    /// Asserts that a code equals its description: files, kernels, arguments, and parameters with their values.
    fn assert_declarations_are_equal(code: &Code, described: &filter::Code) {
        let is_tuned = |t: &&filter::Tuning| !t.values.is_empty();
        assert_eq!(described.tuning.iter().all(|t| is_tuned(&t)), code.is_tuned);
        let params =
            code.params.iter().map(|p| (p.name, [p.cpu, p.gpu], if code.is_tuned { p.values } else { &[] }));
        let tuning = described.tuning.iter().map(|t| (t.name.as_str(), t.defaults, t.values.as_slice()));
        assert_eq!(params.collect::<Vec<_>>(), tuning.collect::<Vec<_>>());
        let large = described.tuning.iter().filter_map(|t| Some((t.name.as_str(), t.large?)));
        assert_eq!(code.large_defaults, large.collect::<Vec<_>>());
        assert_eq!(described.image_output_define.as_deref(), code.to_image.then_some("TO_IMAGE"));
        let passes =
            described.passes.iter().map(|pass| (format!("box_filter/{}", pass.file), pass.kernel.as_str()));
        let known = code.passes.iter().map(|pass| (code.file.to_owned(), pass.kernel));
        assert_eq!(passes.collect::<Vec<_>>(), known.collect::<Vec<_>>());
    }

    /// Asserts that launches, arguments, memory and counts of a code equal those of its description.
    fn assert_band_is_equal(described: &filter::Code, config: &Config, e: &Extent) {
        let code = config.code();
        let mut names: BTreeMap<&str, u32> =
            code.params.iter().map(|p| (p.name, config.get(p.name))).collect();
        names.extend([("width", e.width), ("height", e.height), ("first_row", e.first), ("rows", e.rows)]);
        names.extend([("radius", e.radius), ("units", e.units)]);
        let lookup = |name: &str| names.get(name).map(|value| i64::from(*value));
        let values = Values::new(described, &lookup).unwrap();
        for (index, (pass, known)) in described.passes.iter().zip(code.passes).enumerate() {
            let case = format!("{} {config} {e:?}", known.kernel);
            let launch = values.launch(pass).unwrap();
            let want = (code.launch)(config, index, e);
            assert_eq!((launch.global, launch.local), (want.global.to_vec(), want.local.to_vec()), "{case}");
            let [.., step] = values.rows(pass.rows.as_ref().unwrap()).unwrap();
            assert_eq!(step, u64::from((code.row_step)(config, index)), "{case}");

            assert_eq!(pass.arguments.len(), known.arguments.len(), "{case}");
            for (argument, known) in pass.arguments.iter().zip(known.arguments) {
                let is_right = match (known, &argument.value, values.number(argument).unwrap()) {
                    (Source | Destination, Passed::Picture { is_output, memory, .. }, None) => {
                        (*is_output, *memory == filter::Memory::Image)
                            == (matches!(known, Destination), code.storage == Storage::Image)
                    }
                    (RowSums | ColumnSums, Passed::Scratch(_), None) => true,
                    (Number(number), _, Some(described)) => match (number(e), described) {
                        (Value::Int(want), Described::Int(value)) => want == value,
                        (Value::Float(want), Described::Float(value)) => want.to_bits() == value.to_bits(),
                        _ => false,
                    },
                    _ => false,
                };
                assert!(is_right, "{} of {case}", argument.name);
            }

            let work = pass.work.as_ref().unwrap();
            let count = |expression: &filter::Expression| values.count(expression).unwrap();
            let transfer =
                |[elements, bytes]: &[_; 2]| Transfer { elements: count(elements), bytes: count(bytes) };
            let want = code.work_of(config, index, e).unwrap();
            assert_eq!((transfer(&work.reads), transfer(&work.writes)), (want.reads, want.writes), "{case}");
            assert_eq!(
                (count(&work.operations), Some(count(&work.barriers))),
                (want.operations, want.barriers),
                "{case}"
            );
        }
        for scratch in &described.scratch {
            let sizes = values.scratch(scratch).unwrap();
            let (width, height) = (u64::from(e.width), u64::from(e.height));
            let want = match (scratch.name.as_str(), &scratch.memory) {
                ("column_sums", _) => vec![8 * (code.column_sums)(config, e) as u64],
                (_, ScratchMemory::Bytes(_)) => vec![8 * width * height],
                (_, ScratchMemory::Image(..)) => vec![width, height],
            };
            assert_eq!(sizes, want, "{} {config} {e:?}", scratch.name);
        }
    }

    #[test]
    fn kernels_are_those_of_their_description() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/box_filter");
        let described = filter::folder::read(&folder).unwrap();
        let mut variants = described.variants.iter();
        for known in &VARIANTS {
            let Work::Kernels(codes) = known.work else { continue };
            let variant = variants.next().unwrap();
            assert_eq!(
                (variant.id.as_str(), &*variant.title, &*variant.idea),
                (known.name, known.title, known.idea)
            );
            assert_eq!(variant.key.map(|key| char::from(b'0' + key)), Some(known.key));
            for (code, (described, kind)) in
                codes.into_iter().zip(variant.codes.iter().zip([DeviceKind::Cpu, DeviceKind::Gpu]))
            {
                assert_declarations_are_equal(code, described);
                let device = DeviceInfo { kind, max_work_group_size: 1024, ..DeviceInfo::made_up() };
                let bases = ["small", "large"].map(|class| Config::for_kind(code, kind, class));
                let each = |p: &'static Param| p.values.iter().map(move |value| (p.name, *value));
                let values = || code.params.iter().flat_map(each);
                let changed = values().map(|(name, value)| bases[0].clone().with(name, value));
                for config in bases.iter().cloned().chain(changed) {
                    let names =
                        |name: &str| code.params.iter().find(|p| p.name == name).map(|_| config.get(name));
                    for local_memory in [4 << 10, 16 << 10, 20_543, 20_544, 32 << 10, 64 << 10_u64] {
                        let device = DeviceInfo { local_memory_bytes: local_memory, ..device.clone() };
                        let lookup = |name: &str| match name {
                            "local_memory" => Some(local_memory as i64),
                            _ => names(name).map(i64::from),
                        };
                        assert_eq!(
                            described.allows(&lookup).unwrap(),
                            code.allows(&config, &device),
                            "{config}"
                        );
                    }
                    for (width, height) in [(1, 1), (3, 2), (33, 65), (320, 181), (1280, 720), (3840, 2160)] {
                        for radius in [0, 1, 7, 8, 31, 42, 43, 63, 64, MAX_RADIUS] {
                            for units in [1, 2, 24, 132] {
                                let whole = Extent { units, ..Extent::rgba((width, height), radius) };
                                assert_band_is_equal(described, &config, &whole);
                            }
                            let (first, rows) = (height / 3, height.div_ceil(2));
                            let band =
                                Extent { first, rows, units: 2, ..Extent::rgba((width, height), radius) };
                            assert_band_is_equal(described, &config, &band);
                        }
                    }
                }
            }
        }
        assert!(variants.next().is_none());
    }
}
