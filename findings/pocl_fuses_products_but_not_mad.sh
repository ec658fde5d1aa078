#!/usr/bin/env bash
# mad(a, b, c) is the version that is not fused.
#
# Guess:   mad() is the fast multiply-add that may be fused, and a*b + c rounds twice unless -cl-mad-enable allows more.
# Seen:    PoCL fuses a*b + c by default, even with -cl-opt-disable, and never mad(), not even with -cl-mad-enable.
# Matters: two kernels, or a kernel and its reference on the host, differ in the last bit without an option that says so. `#pragma
#          OPENCL FP_CONTRACT OFF` makes a*b + c round twice; fma() is always fused.
# Source:  OpenCL C, "FP_CONTRACT" (default ON) and mad() (how the product is rounded is not defined):
#          https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html
# Needs a processor with fused multiply-add, as x86 from 2013 on.
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" \
    pocl-binary-distribution==3.0 pyopencl==2026.1.4 pytools==2026.1.1 platformdirs==4.14.8 siphash24==1.9 \
    typing_extensions==4.16.0 numpy==2.2.6
POCL_CACHE_DIR=$packages/cache PYOPENCL_NO_CACHE=1 PYTHONPATH=$packages python3 - << 'END'
import numpy as np
import pyopencl as cl

device = next(d for p in cl.get_platforms() if "PoCL 3.0-rc2" in p.version for d in p.get_devices())
context = cl.Context([device])
queue = cl.CommandQueue(context)
print(device.platform.version)
source = "__kernel void f(__global float *o, float a, float b, float c) { o[0] = a * b + c; o[1] = mad(a, b, c); o[2] = fma(a, b, c); }"
# (1 + e)^2 - (1 + 2e) is e^2 exactly, and 0 if the square is rounded first.
a, c = np.float32(1 + 2**-12), np.float32(-1 - 2**-11)
seen = {}
for pragma, option in [("", ""), ("", "-cl-opt-disable"), ("", "-cl-mad-enable"), ("#pragma OPENCL FP_CONTRACT OFF\n", "")]:
    kernel = cl.Kernel(cl.Program(context, pragma + source).build(option.split()), "f")
    results = np.zeros(3, np.float32)
    memory = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 12)
    kernel(queue, (1,), (1,), memory, a, a, c)
    cl.enqueue_copy(queue, results, memory)
    fused = [bool(r == np.float32(2**-24)) for r in results]
    seen[pragma.strip() or option or "default"] = fused
    print(f"{pragma.strip() or option or 'default'}: fused are", [n for n, f in zip(("a*b + c", "mad", "fma"), fused) if f])
assert seen["default"] == seen["-cl-opt-disable"] == seen["-cl-mad-enable"] == [True, False, True], seen
assert seen["#pragma OPENCL FP_CONTRACT OFF"] == [False, False, True], seen
END
