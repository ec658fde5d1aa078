//! Tests whether a driver's `clCompileProgram` finds headers by their names, also in headers, and whether `clLinkProgram` makes
//! kernels that run.

use std::collections::HashMap;

use ocl::ffi::CL_MEM_READ_WRITE;
use parking_lot::Mutex;

use super::{CompilerInput, Refused, watched};
use crate::cl::{Buffer, ClContext, Status};
use crate::identity::{Identity, identity_of};
use crate::includes::Unit;
use crate::kernel::{Kernel, NdRange, enqueue};
use crate::sandbox::builds;

/// The number that the kernel of the test writes. It is defined in a header that another header includes only when the latter
/// is included for the second time.
const NUMBER: u8 = 42;
/// The kernel of the test.
const TEXT: &str = "#include \"clreel-include-1.clh\"
kernel void write_number(global uchar *out) { out[0] = CLREEL_NUMBER; }
";
/// The headers of the test.
const HEADERS: [(&str, &str); 2] = [
    (
        "clreel-include-1.clh",
        "#ifndef CLREEL_FIRST\n#define CLREEL_FIRST\n#include \"clreel-include-1.clh\"\n#else\n\
         #include \"clreel-include-2.clh\"\n#endif\n",
    ),
    ("clreel-include-2.clh", "#define CLREEL_NUMBER 42\n"),
];

/// The results of the test by device.
static RESULTS: Mutex<Option<HashMap<Identity, bool>>> = Mutex::new(None);

/// Returns true if programs with named headers can be compiled for the context's device. Compiles a program at the first call for
/// a device.
pub(super) fn takes_headers(cl: &ClContext) -> bool {
    let device = identity_of(&cl.device);
    let mut results = RESULTS.lock();
    let results = results.get_or_insert_default();
    if let Some(result) = results.get(&device) {
        return *result;
    }
    let result = passes(cl);
    results.insert(device, result);
    result
}

/// Returns true if the program of the test compiles and its kernel writes [`NUMBER`].
fn passes(cl: &ClContext) -> bool {
    let headers = HEADERS.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
    let Ok(input) = CompilerInput::of_unit(Unit { text: TEXT.to_owned(), headers }, "") else { return false };
    builds::try_first(cl, "the test of headers", &input).is_ok()
        && written_number(cl, &input).is_ok_and(|number| number == NUMBER)
}

/// Compiles and runs the kernel, and returns the number that it writes.
fn written_number(cl: &ClContext, input: &CompilerInput) -> Result<u8, Refused> {
    let (program, _) = watched(|| input.compile(cl))?;
    let kernel = Kernel::new(&program, "write_number")?;
    let out = Buffer::new(&cl.context, CL_MEM_READ_WRITE, 4)?;
    out.write(&cl.queue, &[0; 4])?;
    kernel.set(0, out.mem())?;
    let mut bytes = [0; 4];
    // SAFETY: the only argument is set, and the buffer has the byte that the kernel writes.
    unsafe { enqueue(&cl.queue, &kernel, NdRange::line(1, 1), &[]) }?;
    out.read(&cl.queue, &mut bytes).map(|()| bytes[0]).map_err(|status: Status| status.into())
}
