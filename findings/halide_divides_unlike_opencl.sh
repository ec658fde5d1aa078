#!/usr/bin/env bash
# The same expression on integers is another number in Halide than in OpenCL C.
#
# Guess:   Halide compiles C-like expressions, so a/b and a%b are those of C and OpenCL C.
# Seen:    Halide's quotient leaves a remainder that is never negative: -7/2 is -4 and -7/-2 is 4, where OpenCL C has -3 and 3. And
#          a/0 and a%0 are 0 by definition; OpenCL C defines neither.
# Matters: signed fixed-point code (chroma, offsets, (sum + half) / count) that is copied between the two differs by one for
#          negative sums only, which pictures seldom have.
# Source:  operator/ and operator% in Halide's IROperator.h, https://halide-lang.org/docs/namespace_halide.html; OpenCL C,
#          "Arithmetic Operators", https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" halide==21.0.0 imageio==2.38.1 \
    pocl-binary-distribution==3.0 pyopencl==2026.1.4 pytools==2026.1.1 platformdirs==4.14.8 siphash24==1.9 \
    typing_extensions==4.16.0 numpy==2.2.6
POCL_CACHE_DIR=$packages/cache PYOPENCL_NO_CACHE=1 PYTHONPATH=$packages python3 - << 'END'
from importlib.metadata import version
import halide as hl
import numpy as np
import pyopencl as cl
import pyopencl.array

device = next(d for p in cl.get_platforms() if "PoCL 3.0-rc2" in p.version for d in p.get_devices())
queue = cl.CommandQueue(cl.Context([device]))
print("Halide", version("halide"), "-", device.platform.version)
a = np.array([7, -7, 7, -7, -1, -6], np.int32)
b = np.array([2, 2, -2, -2, 255, 3], np.int32)

def halide(a, b):
    x, quotient, rest = hl.Var("x"), hl.Func("quotient"), hl.Func("rest")
    left, right = hl.Buffer(a), hl.Buffer(b)
    quotient[x], rest[x] = left[x] / right[x], left[x] % right[x]
    return [np.array(f.realize([len(a)])).tolist() for f in (quotient, rest)]

source = "__kernel void k(__global int *a, __global int *b) { int i = get_global_id(0), q = a[i] / b[i]; b[i] = a[i] % b[i]; a[i] = q; }"
left, right = cl.array.to_device(queue, a), cl.array.to_device(queue, b)
cl.Kernel(cl.Program(queue.context, source).build(), "k")(queue, a.shape, None, left.data, right.data)
opencl = [left.get().tolist(), right.get().tolist()]
print("a, b    ", list(zip(a.tolist(), b.tolist())))
print("Halide  ", list(zip(*halide(a, b))))
print("OpenCL C", list(zip(*opencl)))
zero = halide(np.array([5, -5], np.int32), np.array([0, 0], np.int32))
print("Halide, 5 and -5 by 0:", list(zip(*zero)))
assert halide(a, b) == [[3, -4, -3, 4, -1, -2], [1, 1, 1, 1, 254, 0]], "Halide has changed"
assert opencl == [[3, -3, -3, 3, 0, -2], [1, -1, 1, -1, -1, 0]], "OpenCL C has changed"
assert zero == [[0, 0], [0, 0]], "Halide's division by zero has changed"
END
