#!/usr/bin/env bash
# A kernel's argument that has the name of a built-in function is reported under another name.
#
# Guess:   CL_KERNEL_ARG_NAME is the name in the source, also for an argument called step, as functions and arguments do not clash.
# Seen:    PoCL renames the functions by macros in a header that comes before the source: the argument is _cl_step. So are radians,
#          length, distance, sign and mix; width keeps its name.
# Matters: who binds arguments by name does not find them, on this driver only. Take off "_cl_", or read the source.
# Source:  OpenCL API, clGetKernelArgInfo, CL_KERNEL_ARG_NAME: the name specified for the argument given by arg_index.
#          https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clGetKernelArgInfo
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" \
    pocl-binary-distribution==3.0 pyopencl==2026.1.4 pytools==2026.1.1 platformdirs==4.14.8 siphash24==1.9 \
    typing_extensions==4.16.0 numpy==2.2.6
POCL_CACHE_DIR=$packages/cache PYOPENCL_NO_CACHE=1 PYTHONPATH=$packages python3 - << 'END'
import pyopencl as cl

names = ["step", "radians", "length", "distance", "sign", "mix", "width"]
device = next(d for p in cl.get_platforms() if "PoCL 3.0-rc2" in p.version for d in p.get_devices())
context = cl.Context([device])
print(device.platform.version)
arguments = ", ".join(f"int {name}" for name in names)
total = " + ".join(names)
source = f"__kernel void add(__global int *sum, {arguments}) {{ *sum = {total}; }}"
kernel = cl.Kernel(cl.Program(context, source).build(options=["-cl-kernel-arg-info"]), "add")
told = [kernel.get_arg_info(index + 1, cl.kernel_arg_info.NAME) for index in range(len(names))]
for name, seen in zip(names, told):
    print(name, "is reported as", seen)
assert told == ["_cl_" + name for name in names[:-1]] + ["width"], "the names are reported otherwise now"
END
