#!/usr/bin/env bash
# A saturated conversion of NaN is 0 for seven integer types and 4294967295 for the eighth.
#
# Guess:   convert_T_sat(NaN) is 0, as OpenCL C says, or the driver gets it wrong for all types alike.
# Seen:    Intel's runtime for CPUs makes 0 of a NaN for char to long and ulong, and 4294967295 for uint from float; from double uint
#          is 0, too.
# Matters: a test of one type says nothing about the others. In a kernel: isnan(x) ? 0 : convert_uint_sat(x).
# Source:  OpenCL C, "Out-of-Range Behavior and Saturated Conversions",
#          https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html
# Fetches 300 MB. Intel's runtime has a licence of its own.
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" pyopencl==2026.1.4 pytools==2026.1.1 \
    platformdirs==4.14.8 siphash24==1.9 typing_extensions==4.16.0 numpy==2.2.6
python3 -m pip download --quiet --no-deps --dest "$packages/wheels" intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 \
    intel-openmp==2026.2.0 tbb==2023.2.0 tcmlib==1.6.0 umf==1.2.0
mkdir "$packages/lib" "$packages/vendors"
for wheel in "$packages"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$packages/unpacked"; done
# The runtime looks for its parts beside itself only.
find "$packages/unpacked" \( -name '*.so*' -o -name '*.rtl' -o -name '*.o' -o -name cl.cfg \) -exec mv -t "$packages/lib" {} +
rm -f "$packages"/lib/libOpenCL.so*
echo "$packages/lib/libintelocl.so" > "$packages/vendors/intel.icd"
export OCL_ICD_VENDORS=$packages/vendors LD_LIBRARY_PATH=$packages/lib
PYOPENCL_NO_CACHE=1 PYTHONPATH=$packages python3 - << 'END'
import numpy as np
import pyopencl as cl

device = next(d for p in cl.get_platforms() if "Intel" in p.name for d in p.get_devices())
context = cl.Context([device])
queue = cl.CommandQueue(context)
print(device.platform.name, device.driver_version)
types = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}
seen = {}
for source, nan in (("float", np.float32(np.nan)), ("double", np.float64(np.nan))):
    for to, dtype in types.items():
        text = f"__kernel void k(__global {to} *out, {source} x) {{ *out = convert_{to}_sat(x); }}"
        out = np.zeros(1, dtype)
        memory = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, out.nbytes)
        cl.Kernel(cl.Program(context, text).build(), "k")(queue, (1,), (1,), memory, nan)
        cl.enqueue_copy(queue, out, memory)
        seen[source, to] = int(out[0])
        print(f"convert_{to}_sat() of NaN from {source}: {seen[source, to]}")
wrong = {key: value for key, value in seen.items() if value != 0}
assert wrong == {("float", "uint"): 4294967295}, f"expected 4294967295 for uint from float alone, got {wrong}"
END
