//! The table of the variants of the box filter: those that are [described](DESCRIPTION), and those without kernels on RGBA
//! pictures.

use std::sync::LazyLock;

use super::config::{Argument, Code, Pass};
use super::described::{DESCRIPTION, FOLDER, OWN_CODE, codes};
use super::filter::{Group, Variant, Work};
use super::planar::launch::{CPU_ARGUMENTS, GPU_ARGUMENTS, Planes};
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

/// The variants of the box filter, in the order of display.
pub(crate) static VARIANTS: LazyLock<Vec<Variant>> = LazyLock::new(|| {
    let described = |is_step| {
        DESCRIPTION.variants.iter().filter(move |variant| variant.is_step == is_step).map(|variant| Variant {
            name: &variant.id,
            key: variant.key.map_or(' ', |key| char::from(b'0' + key)),
            group: if variant.is_step { Group::Steps } else { Group::Beyond },
            title: &variant.title,
            idea: &variant.idea,
            work: Work::Kernels(codes(&variant.codes, FOLDER, &DESCRIPTION.parameters)),
        })
    };
    let auto = Variant {
        name: "auto",
        key: '9',
        group: Group::Beyond,
        title: "Auto",
        idea: "The fastest for this device, size and radius, as `clreel tune` measured it; fused before that.",
        work: Work::Fastest(&DESCRIPTION.variants[DESCRIPTION.auto].id),
    };
    described(true).chain([GLSL, NATIVE]).chain(described(false)).chain([PLANAR, auto]).collect()
});

/// The variant of OpenGL shaders.
const GLSL: Variant = Variant {
    name: "glsl",
    key: '6',
    group: Group::Others,
    title: "GLSL",
    idea: "Without OpenCL: two fragment shaders in OpenGL, along the rows and down the columns.",
    work: Work::Shaders,
};

/// The variant of threads on the CPU.
const NATIVE: Variant = Variant {
    name: "native",
    key: '7',
    group: Group::Others,
    title: "Native",
    idea: "Without OpenCL: the fused algorithm in Rust, on all cores, in the CPU's vectors.",
    work: Work::Threads,
};

/// The variant of kernels on planes, whose arguments are vectors that a description cannot have.
const PLANAR: Variant = Variant {
    name: "planar",
    key: 'y',
    group: Group::Others,
    title: "Planar",
    idea: "Y, U and V at their own sizes before they become RGBA: 1.5 bytes a pixel for 4:2:0, not 4.",
    work: Work::Planes([&PLANES, &PLANES_MARCH]),
};

/// The user's own kernel: a variant that exists only if the folder of kernels has its file.
pub(crate) static OWN: LazyLock<Variant> = LazyLock::new(|| Variant {
    name: "own",
    key: 'u',
    group: Group::Others,
    title: "Your own",
    idea: "Your own kernel: box_filter/own.cl in the folder of kernels.",
    work: Work::Kernels([*OWN_CODE; 2]),
});

/// The code of the variant `planar` for CPUs.
static PLANES: Code = planes(&["box_filter/08_planes.cl"], &CPU_PASS, &Planes::ON_CPU);
static CPU_PASS: [Pass; 1] = [planes_pass("box_filter/08_planes.cl", &CPU_ARGUMENTS)];

/// The code of the variant `planar` for devices other than CPUs.
static PLANES_MARCH: Code = planes(&["box_filter/09_planes_march.cl"], &GPU_PASS, &Planes::ON_GPU);
static GPU_PASS: [Pass; 1] = [planes_pass("box_filter/09_planes_march.cl", &GPU_ARGUMENTS)];

/// Returns the pass of a kernel on planes.
const fn planes_pass(file: &'static str, arguments: &'static [Argument]) -> Pass {
    Pass { file, kernel: "box_planes", described: &[], arguments }
}

/// Returns the code of a kernel on planes.
const fn planes(
    files: &'static [&'static str; 1],
    passes: &'static [Pass],
    formulas: &'static Planes,
) -> Code {
    Code {
        file: files[0],
        files,
        description: None,
        storage: Storage::Buffer,
        output: Storage::Buffer,
        passes,
        params: &[],
        large_defaults: &[],
        formulas,
        to_image: None,
        has_defines: false,
        is_tuned: false,
        peak: 1,
    }
}
