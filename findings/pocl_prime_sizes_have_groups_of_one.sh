#!/usr/bin/env bash
# Without a local size, a launch of a prime count of work-items has work-groups of one.
#
# Guess:   a local size of NULL lets the driver choose a good one, and one work-item more changes little.
# Seen:    PoCL, whose groups have at most 4,096 work-items, takes 2,048 for 4,096 work-items, 820 for 4,100 and 1 for 4,099.
#          It gives no launch a smaller last group.
# Matters: the kernel is no longer vectorised across work-items, and each group costs a call. Give a local size, round the launch up to
#          it, and leave the superfluous work-items out by an if.
# Source:  OpenCL API, clEnqueueNDRangeKernel, local_work_size: the implementation determines how to break up the launch.
#          https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clEnqueueNDRangeKernel
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
print(device.platform.version, "- at most", device.max_work_group_size, "work-items in a group")
program = cl.Program(context, "__kernel void size(__global uint *size) { *size = get_local_size(0); }").build()
kernel, memory, size = cl.Kernel(program, "size"), cl.Buffer(context, cl.mem_flags.READ_WRITE, 4), np.zeros(1, np.uint32)
seen = {}
for items in (4096, 4098, 4099, 4100, 10007):
    kernel(queue, (items,), None, memory)
    cl.enqueue_copy(queue, size, memory)
    seen[items] = int(size[0])
    print(items, "work-items: groups of", seen[items])
assert seen[4099] == seen[10007] == 1, "prime counts have larger groups now"
assert min(seen[4096], seen[4098], seen[4100]) > 100, "other counts have small groups now"
END
