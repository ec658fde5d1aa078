//! The kernels of the histogram as data: files, launches and parameters.

use super::{SERIAL, THREADS};
use compute::config::Param;
use compute::plan::{Host, Pass, group};
use compute::reduction::Case;
use compute::reduction::kernels::{CLEAR, Code, HEIGHT, NUMBERS, PICTURE, WIDTH};
use compute::variant::Variant;

/// Returns the launch of the kernel with the name `kernel`, which counts pixels, with as many work-groups as the picture needs.
const fn counting(kernel: &'static str) -> Pass<Case> {
    Pass {
        kernel,
        args: &[PICTURE, NUMBERS, WIDTH, HEIGHT],
        local: group,
        groups: |config, case| {
            let of_group = config.get("GROUP") * config.get("EACH");
            [case.pixels().div_ceil(of_group as usize), 1]
        },
        work: None,
    }
}

/// The parameter for the size of the work-groups.
const GROUP: Param = Param { name: "GROUP", cpu: 256, gpu: 256, values: &[64, 128, 256, 512] };

/// The name of the kernel file of the variants that count in local memory.
const LOCAL_FILE: &str = "histogram/02_local.cl";
/// The launches of the kernels that count in local memory.
const LOCAL_PASSES: &[Pass<Case>] = &[CLEAR, counting("histogram_local")];
/// The parameter for the number of pixels that each work-item counts.
const EACH: Param = Param { name: "EACH", cpu: 64, gpu: 16, values: &[4, 8, 16, 32, 64, 256] };

/// The kernels of the variant `copies`.
pub(super) static COPIES: Code = Code::new(
    LOCAL_FILE,
    LOCAL_PASSES,
    &[GROUP, EACH, Param { name: "COPIES", cpu: 2, gpu: 8, values: &[2, 4, 8, 16] }],
);

/// The variants of the histogram ladder, in the order in which tables list them.
pub(super) static VARIANTS: [Variant<Code, Host<Case>>; 8] = [
    Variant::host("serial", "Serial", "One thread, one pixel at a time.", SERIAL),
    Variant::host("threads", "Threads", "All cores, each with a histogram of its own.", THREADS),
    Variant::kernels(
        "global",
        "Global atomics",
        "OpenCL, counted in the device's memory.",
        &Code::new("histogram/01_global.cl", &[CLEAR, counting("histogram_global")], &[GROUP]),
    ),
    Variant::kernels(
        "local",
        "Local memory",
        "Each group counts in local memory.",
        &Code::new(LOCAL_FILE, LOCAL_PASSES, &[GROUP]),
    ),
    Variant::kernels(
        "several",
        "Several pixels",
        "Several pixels a work-item, so fewer groups.",
        &Code::new(LOCAL_FILE, LOCAL_PASSES, &[GROUP, EACH]),
    ),
    Variant::kernels(
        "copies",
        "Copies",
        "Several histograms a group: neighbours count in different ones.",
        &COPIES,
    ),
    Variant::kernels(
        "private",
        "Private",
        "For CPUs: one work-item a group, with histograms that nobody else sees.",
        &Code::new(
            "histogram/03_private.cl",
            &[CLEAR, counting("histogram_private")],
            &[Param { name: "EACH", cpu: 65_536, gpu: 1024, values: &[1024, 16_384, 65_536, 262_144] }],
        ),
    ),
    Variant::AUTO,
];
