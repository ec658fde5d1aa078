//! Tests of programs' binaries.

use super::*;
use crate::cl::{Buffer, list_devices};
use crate::kernel::{Kernel, Value, enqueue};
use crate::sources::Sources;

/// PoCL before version 6 ends the process if it is asked for the binary of a program while a kernel of that program runs and ends
/// soon (see [`Program::binary`]). With five programs this happened in four of six runs.
#[test]
fn a_binary_can_be_had_while_its_kernel_runs() {
    let Some(device) = list_devices().into_iter().next() else { return };
    let cl = ClContext::new(&device, Sources::default()).unwrap();
    // A kernel that names its group's size.
    let (file, side) = ("transpose/03_group_linear.cl", 512_u32);
    let numbers = side as usize * side as usize;
    for tile in [4, 6, 8, 12, 16] {
        // What the driver has compiled before is too soon there.
        let options = format!("-D TILE={tile} -D TRIED_BY={}", std::process::id());
        let program = build(&cl, file, &options).unwrap();
        let kernel = Kernel::new(&program, "transpose_group_linear").unwrap();
        for index in 0..2 {
            let memory = Buffer::new(&cl.context, ocl::ffi::CL_MEM_READ_WRITE, 4 * numbers).unwrap();
            kernel.set(index, memory.mem()).unwrap();
            kernel.set(index + 2, Value::Uint(side)).unwrap();
        }
        let (group, tiles) = (tile * tile, (side as usize).div_ceil(tile));
        let run = || {
            // SAFETY: the arguments are set, and the memory is as large as the kernel is told.
            let ran = unsafe { enqueue(&cl.queue, &kernel, 1, [tiles * tiles * group, 1, 1], [group, 1, 1]) };
            ran.unwrap().wait_for().unwrap();
        };
        run();
        std::thread::scope(|scope| {
            let own = ClContext::new(&device, Sources::default()).unwrap();
            let reader = scope.spawn(move || binary_and_log(&own, file, &options));
            while !reader.is_finished() {
                run();
            }
            assert!(!reader.join().unwrap().unwrap().0.is_empty());
        });
    }
}
