//! The table of the variants of the box filter: those that are [described](DESCRIPTION), and those without kernels.

use std::sync::LazyLock;

use super::described::{DESCRIPTION, FOLDER, OWN_CODE, PLANES_DESCRIPTION, codes};
use super::filter::{Group, Variant, Work};

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
            work: Work::Kernels(codes(&variant.codes, FOLDER, &DESCRIPTION)),
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
    let on_planes = PLANES_DESCRIPTION.variants.iter().map(|variant| Variant {
        name: &variant.id,
        key: 'y',
        group: Group::Others,
        title: &variant.title,
        idea: &variant.idea,
        work: Work::Kernels(codes(&variant.codes, FOLDER, &PLANES_DESCRIPTION)),
    });
    described(true).chain([GLSL, NATIVE]).chain(described(false)).chain(on_planes).chain([auto]).collect()
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

/// The user's own kernel: a variant that exists only if the folder of kernels has its file.
pub(crate) static OWN: LazyLock<Variant> = LazyLock::new(|| Variant {
    name: "own",
    key: 'u',
    group: Group::Others,
    title: "Your own",
    idea: "Your own kernel: box_filter/own.cl in the folder of kernels.",
    work: Work::Kernels([*OWN_CODE; 2]),
});
