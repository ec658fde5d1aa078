//! The kernels of vector addition as data: files, parameters and launches.

use crate::array_kernel::Code;
use ladder::config::Param;

/// The size of the work-groups.
const GROUP: Param = Param { name: "GROUP", cpu: 1024, gpu: 256, values: &[64, 128, 256, 512, 1024, 4096] };

/// Returns the description of a kernel file. A work-item adds `WIDTH`·`ITEMS` numbers; parameters that a file does not have are
/// 1.
const fn code(file: &'static str, kernel: &'static str, params: &'static [Param]) -> Code {
    Code {
        file,
        kernel,
        arguments: [3, 1],
        params,
        group: |config| config.get("GROUP") as usize,
        // One work-item more than there are whole vectors, for the remaining numbers.
        items: |config, size| size[0] as usize / (config.get("WIDTH") * config.get("ITEMS")) as usize + 1,
    }
}

/// The kernels of the variant `scalar`.
pub(super) static SCALAR: Code = code("vector_add/01_scalar.cl", "vector_add_scalar", &[GROUP]);

/// The kernels of the variant `vector`.
pub(super) static VECTOR: Code = code(
    "vector_add/02_vector.cl",
    "vector_add_vector",
    &[
        Param { name: "WIDTH", cpu: 8, gpu: 4, values: &[2, 4, 8, 16] },
        GROUP,
        Param { name: "ITEMS", cpu: 1, gpu: 1, values: &[1, 2, 4, 8] },
    ],
);

/// The file with the peak kernel.
pub(super) const PEAK_FILE: &str = "vector_add/limit.cl";

/// The peak kernel: reads two arrays and writes their bitwise xor.
pub(super) static PEAK: Code =
    code(PEAK_FILE, "three_streams", &[Param { name: "WIDTH", cpu: 8, gpu: 4, values: &[] }, GROUP]);
