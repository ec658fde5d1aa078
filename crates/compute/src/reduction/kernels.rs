//! The kernels of the reduction as data: their files, launches and parameters.

use super::{BLOCK_EDGES, Case, host, work};
use crate::config::Param;
use crate::plan::{self, Host, Pass, WorkFormula, group, single};
use crate::variant::Variant;
use base::device::DeviceInfo;
use opencl::kernel::Value;

/// A kernel file that computes numbers from a picture.
pub type Code = plan::Code<Case>;
/// A configuration of a reduction kernel file: a value for each of its parameters.
pub type Config = crate::config::Config<Code>;
/// The compiled kernels of a reduction kernel file.
pub type Program = plan::Program<Case>;
/// An argument of a reduction kernel.
pub type Arg = plan::Arg<Case>;

/// The argument for the picture in a buffer, four bytes per pixel.
pub const PICTURE: Arg = Arg::Memory(0, &["uint*"]);
/// The argument for the picture in an image.
pub const IMAGE: Arg = Arg::Memory(0, &["image2d_t"]);
/// The argument for the buffer that receives the results.
pub const NUMBERS: Arg = Arg::Memory(1, &["uint*"]);
/// The argument for the image that the kernel writes.
pub const OUTPUT: Arg = Arg::Memory(1, &["image2d_t"]);
/// The argument for the buffer with intermediate results, which one launch writes and the following one reads.
pub const PARTS: Arg = Arg::Scratch(0, &["uint4*", "uint*"], |_, case| part_words(case));
/// The argument for the picture's width in pixels.
pub const WIDTH: Arg = Arg::Value(&["int"], |case| Value::Int(case.width as i32));
/// The argument for the picture's height in pixels.
pub const HEIGHT: Arg = Arg::Value(&["int"], |case| Value::Int(case.height as i32));
/// The argument for the side of a block in pixels.
const BLOCK: Arg = Arg::Value(&["int"], |case| Value::Int(case.block as i32));

/// The number of luminance values, and of counters of a histogram.
pub const BINS: usize = 256;
/// The launch that sets all counters of a histogram to 0.
pub const CLEAR: Pass<Case> =
    Pass { kernel: "histogram_clear", args: &[NUMBERS], local: single, groups: |_, _| [BINS, 1], work: None };

/// Returns the size of the buffer for intermediate results, in 32-bit numbers.
pub(super) fn part_words(case: &Case) -> usize {
    4 * case.square_counts(BLOCK_EDGES[0]).iter().product::<usize>()
}

/// Returns true if NVIDIA's driver runs the device. Its devices have no sub-groups; the kernel files detect NVIDIA's compiler
/// and use its assembly instead.
pub(super) fn is_nvidias(device: &DeviceInfo) -> bool {
    device.platform.contains("NVIDIA")
}

/// Returns the compiler options with which a kernel file uses the sub-groups of a device; empty if the device has none.
fn sub_group_options(device: &DeviceInfo) -> String {
    let language = device.language_of_sub_groups().filter(|_| !is_nvidias(device));
    language.map_or_else(String::new, |language| format!("{language} -D SUB_GROUPS=1"))
}

/// Returns `Ok` if a device has sub-groups or NVIDIA's assembly, else the reason why it cannot run the kernels.
fn require_sub_groups(device: &DeviceInfo) -> Result<(), String> {
    match is_nvidias(device) || device.language_of_sub_groups().is_some() {
        true => Ok(()),
        false => Err(format!(
            "'{}' has no sub-groups: that takes OpenCL 2 with cl_khr_subgroups, or OpenCL 3 with __opencl_c_subgroups.",
            device.name
        )),
    }
}

/// The arguments of kernels that write only intermediate results, one for each tile of the picture.
const TILE_ARGS: &[Arg] = &[PICTURE, PARTS, WIDTH, HEIGHT, BLOCK];
/// The arguments of kernels that write intermediate results and also the mean luminance of each block.
const NUMBERS_ARGS: &[Arg] = &[PICTURE, PARTS, NUMBERS, WIDTH, HEIGHT, BLOCK];
/// The arguments of kernels that compute all results in one launch. The counter counts the finished work-groups; the last
/// work-group to finish combines the intermediate results of all.
const COUNTER_ARGS: &[Arg] = &[PICTURE, PARTS, NUMBERS, WIDTH, HEIGHT, BLOCK, Arg::Counter];

/// The work-group size of the last launch, which combines the intermediate results.
const LAST_GROUP: Param = Param::new("GROUP_REST", 64, 512, &[]);

/// Returns a launch of the kernel with the name `kernel`, with one work-group for each tile of the picture. `work` is the
/// formula for its work.
const fn tiles(kernel: &'static str, work: WorkFormula<Case>) -> Pass<Case> {
    let groups = |config: &Config, case: &Case| case.square_counts(config.get("TILE"));
    Pass { kernel, args: TILE_ARGS, local: group, groups, work: Some(work) }
}

/// The last launch of variants whose first kernel writes only intermediate results. One work-group computes from them the mean
/// luminance of each block, and the sum, minimum, maximum, mean and product over the whole picture.
const BLOCKS_AND_FRAME: Pass<Case> = Pass {
    kernel: "reduction_rest",
    args: &[PARTS, NUMBERS, WIDTH, HEIGHT, BLOCK],
    local: |config| [config.get("GROUP_REST") as usize, 1],
    groups: |_, _| [1, 1],
    work: Some(work::rest),
};

/// The last launch of variants whose first kernel has already written the mean of each block. One work-group computes from the
/// intermediate results the sum, minimum, maximum, mean and product over the whole picture.
const FRAME_ONLY: Pass<Case> = Pass {
    kernel: "reduction_frame",
    args: &[PARTS, NUMBERS, WIDTH, HEIGHT, Arg::GroupsBefore],
    local: |config| [config.get("GROUP_REST") as usize, 1],
    groups: |_, _| [1, 1],
    work: Some(work::frame),
};

/// Returns a parameter with the same value on all devices, which is not tuned.
pub const fn fixed_param(name: &'static str, value: u32) -> Param {
    Param { name, cpu: value, gpu: value, values: &[] }
}

/// The parameters of kernels with a work-item for each pixel of a tile.
const ONE_PIXEL_EACH: &[Param] = &[fixed_param("TILE", 16), fixed_param("GROUP", 256), LAST_GROUP];

/// Returns the description of the file with the unrolled kernel; `params` set the sizes of its tiles and work-groups.
const fn unrolled(params: &'static [Param]) -> Code {
    /// The launches of the unrolled kernel and of the kernel that combines its results.
    const PASSES: &[Pass<Case>] = &[tiles("reduction_unrolled", work::unrolled), BLOCKS_AND_FRAME];
    Code { options: sub_group_options, ..Code::new("reduction/03_unrolled.cl", PASSES, params) }
}

/// The kernels of the variant `unrolled`.
pub(super) static UNROLLED: Code = unrolled(ONE_PIXEL_EACH);
/// Returns a launch of the kernel that reduces the picture in one pass, with these arguments and one work-group for each tile
/// of 64×64 pixels.
const fn one_pass(args: &'static [Arg]) -> Pass<Case> {
    Pass {
        kernel: "reduction_one_pass",
        args,
        local: group,
        groups: |_, case| case.square_counts(64),
        work: Some(work::one_pass),
    }
}

/// The parameter for the size of the work-groups.
const GROUP: Param = Param::new("GROUP", 256, 256, &[128, 256, 512]);

/// The kernels of the variant `sub-groups`.
pub(super) static SUB_GROUPS: Code = Code {
    options: sub_group_options,
    supports: |device, _| require_sub_groups(&device.info),
    ..Code::new(
        "reduction/05_one_pass.cl",
        &[one_pass(NUMBERS_ARGS), FRAME_ONLY],
        &[fixed_param("ONE_PASS", 0), GROUP, LAST_GROUP],
    )
};

/// The kernels of the variant `one-pass`.
pub(super) static ONE_PASS: Code =
    Code::new("reduction/05_one_pass.cl", &[one_pass(COUNTER_ARGS)], &[fixed_param("ONE_PASS", 1), GROUP]);

/// The kernels of [`ONE_PASS`] for a picture in an image. They are not a variant of the ladder, whose pictures are in buffers.
pub(super) static ONE_PASS_IMAGE: Code = Code::new(
    "reduction/05_one_pass.cl",
    &[one_pass(&[IMAGE, PARTS, NUMBERS, WIDTH, HEIGHT, BLOCK, Arg::Counter])],
    &[fixed_param("ONE_PASS", 1), fixed_param("IMAGE", 1), GROUP],
);

/// The kernels of the variant `strips`.
pub(super) static STRIPS: Code = Code::new(
    "reduction/06_strips.cl",
    &[Pass {
        kernel: "reduction_strips",
        args: COUNTER_ARGS,
        local: single,
        groups: |config, case| [case.square_counts(16 * config.get("SPAN"))[0], case.block_counts()[1]],
        work: Some(work::strips),
    }],
    &[Param::new("SPAN", 128, 4, &[4, 16, 64, 128, 256])],
);

/// The peak kernel of the reduction: reads each pixel of the picture once without computing the reduction, so that no variant
/// can be faster.
pub static PEAK: Code = Code::new(
    "reduction/limit.cl",
    &[Pass {
        kernel: "read_once",
        args: &[PICTURE, PARTS, WIDTH, HEIGHT],
        local: group,
        groups: |config, case| {
            let words: u32 = ["WIDTH", "GROUP", "EACH"].iter().map(|name| config.get(name)).product();
            [case.pixels().div_ceil(words as usize), 1]
        },
        work: None,
    }],
    &[Param::new("WIDTH", 16, 4, &[]), Param::new("GROUP", 1, 256, &[]), Param::new("EACH", 512, 4, &[])],
);

/// The variants of the reduction ladder, in the order in which tables list them.
pub static VARIANTS: [Variant<Code, Host<Case>>; 15] = [
    Variant::host("serial", "Serial", "One thread, one pixel at a time.", host::SERIAL),
    Variant::host("threads", "Threads", "The same on all cores.", host::THREADS),
    Variant::host(
        "threads-vectors",
        "Threads, vectors",
        "All cores, several pixels an instruction.",
        host::THREADS_VECTORS,
    ),
    Variant::kernels(
        "interleaved",
        "Interleaved",
        "OpenCL, a tree in local memory with strided indices.",
        &Code::new(
            "reduction/01_interleaved.cl",
            &[tiles("reduction_interleaved", work::tree), BLOCKS_AND_FRAME],
            ONE_PIXEL_EACH,
        ),
    ),
    Variant::kernels(
        "sequential",
        "Sequential",
        "The tree's first half joins with its second: neighbours touch neighbours.",
        &Code::new(
            "reduction/02_sequential.cl",
            &[tiles("reduction_sequential", work::tree), BLOCKS_AND_FRAME],
            ONE_PIXEL_EACH,
        ),
    ),
    Variant::kernels("unrolled", "Unrolled", "The last steps unrolled, and without barriers.", &UNROLLED),
    Variant::kernels(
        "prefetch-2",
        "Prefetch 2",
        "Half the work-items, two pixels each.",
        &unrolled(&[fixed_param("TILE", 16), fixed_param("GROUP", 128), LAST_GROUP]),
    ),
    Variant::kernels(
        "prefetch-4",
        "Prefetch 4",
        "A quarter of them, four pixels each.",
        &unrolled(&[fixed_param("TILE", 16), fixed_param("GROUP", 64), LAST_GROUP]),
    ),
    Variant::kernels(
        "wide-32",
        "Wide 32",
        "A group has 32×32 pixels.",
        &unrolled(&[fixed_param("TILE", 32), Param::new("GROUP", 64, 256, &[64, 256]), LAST_GROUP]),
    ),
    Variant::kernels(
        "wide-64",
        "Wide 64",
        "A group has 64×64 pixels.",
        &unrolled(&[fixed_param("TILE", 64), fixed_param("GROUP", 256), LAST_GROUP]),
    ),
    Variant::kernels(
        "two-stage",
        "Two stages",
        "Few work-items, each of which adds up many pixels in a row before the tree.",
        &Code::new(
            "reduction/04_two_stage.cl",
            &[
                Pass {
                    kernel: "reduction_two_stage",
                    args: NUMBERS_ARGS,
                    local: group,
                    groups: |config, case| {
                        let [across, down] = case.block_counts();
                        [(config.get("COUNT") as usize).min(across * down), 1]
                    },
                    work: Some(work::two_stage),
                },
                FRAME_ONLY,
            ],
            &[
                Param::new("GROUP", 16, 256, &[16, 64, 128, 256, 512]),
                Param::new("COUNT", 8, 512, &[4, 16, 128, 256, 1024]),
                LAST_GROUP,
            ],
        ),
    ),
    Variant::kernels(
        "sub-groups",
        "Sub-groups",
        "Four pixels a reading; work-items that run as one join without a tree.",
        &SUB_GROUPS,
    ),
    Variant::kernels(
        "one-pass",
        "One pass",
        "The same in one launch: the group that ends last finishes the frame.",
        &ONE_PASS,
    ),
    Variant::kernels(
        "strips",
        "Strips",
        "One launch for CPUs: one work-item a strip, vectors of 16 pixels.",
        &STRIPS,
    ),
    Variant::AUTO,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_groups_are_enabled_in_the_language_that_has_them() {
        let language = |platform: &str, version: &str, extensions: &[&str], max_sub_groups: u32| {
            let device = DeviceInfo {
                platform: platform.into(),
                version: version.into(),
                extensions: extensions.iter().map(|&extension| extension.into()).collect(),
                max_sub_groups,
                ..DeviceInfo::made_up()
            };
            let options = |code: &'static Code| (code.options)(&device);
            assert!(!options(&ONE_PASS).contains("SUB_GROUPS"), "{version}");
            let [used, needed] = [&UNROLLED, &SUB_GROUPS].map(options);
            let language = ["-cl-std=CL2.0", "-cl-std=CL3.0"].into_iter().find(|one| needed.contains(one));
            assert_eq!(needed.contains("-D SUB_GROUPS=1"), language.is_some(), "{needed}");
            assert!(used.contains(language.unwrap_or_default()), "{used}");
            assert_eq!(used.contains("-D SUB_GROUPS=1"), language.is_some(), "{used}");
            require_sub_groups(&device).map(|()| language)
        };
        let listed = &["cl_khr_fp64", "cl_khr_subgroups"][..];
        assert_eq!(language("PoCL", "OpenCL 3.0 PoCL 6", listed, 128), Ok(Some("-cl-std=CL3.0")));
        assert_eq!(language("Other", "OpenCL 3.0", &[], 8), Ok(Some("-cl-std=CL3.0")));
        assert_eq!(language("Other", "OpenCL 2.0 Other", listed, 0), Ok(Some("-cl-std=CL2.0")));
        assert_eq!(language("NVIDIA CUDA", "OpenCL 3.0 CUDA", &[], 0), Ok(None));
        assert_eq!(language("NVIDIA CUDA", "OpenCL 3.0 CUDA", listed, 8), Ok(None));
        for (version, extensions) in
            [("OpenCL 3.0 PoCL 3.1", &[][..]), ("OpenCL 2.1", &[]), ("OpenCL 1.2", listed), ("", listed)]
        {
            let why = language("Other", version, extensions, 0).unwrap_err();
            assert!(why.contains("has no sub-groups") && why.contains("cl_khr_subgroups"), "{why}");
        }
    }
}
