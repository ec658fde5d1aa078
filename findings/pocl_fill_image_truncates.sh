#!/usr/bin/env bash
# The same colour has two values in one image, by the way it is written.
#
# Guess:   clEnqueueFillImage() and write_imagef() convert a float to CL_UNORM_INT8 alike, to the nearest level.
# Seen:    PoCL's write_imagef() rounds, its clEnqueueFillImage() truncates: 200.6/255 is 201 by the kernel and 200 by the fill,
#          and 0.999/255 is 1 and 0.
# Matters: an image that is cleared by a fill and compared with the kernel's output differs by a level. Fill with k/255 where k is
#          a whole number and look at the result, or clear by a kernel.
# Source:  OpenCL API, clEnqueueFillImage, and OpenCL C, "Conversion Rules for Normalized Integer Channel Data Types" (at most 0.6
#          from the exact value): https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html
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
levels = [0.3, 0.49, 0.51, 0.999, 1.0, 1.5, 127.51, 200.6, 254.9]
colors = np.array(levels, np.float32) / np.float32(255)
shape = (len(levels), 1)
image = cl.create_image(context, cl.mem_flags.READ_WRITE, cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8), shape)
program = cl.Program(context, """
__kernel void fill(write_only image2d_t image, __global const float *colors)
{
    write_imagef(image, (int2)(get_global_id(0), 0), (float4)(colors[get_global_id(0)]));
}
""").build()

def pixels():
    pixels = np.zeros((1, len(levels), 4), np.uint8)
    cl.enqueue_copy(queue, pixels, image, origin=(0, 0), region=shape)
    return pixels[0, :, 0].tolist()

read = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
cl.Kernel(program, "fill")(queue, shape[:1], None, image, cl.Buffer(context, read, hostbuf=colors))
by_kernel = pixels()
for x, color in enumerate(colors):
    cl.enqueue_fill_image(queue, image, np.full(4, color), (x, 0), (1, 1))
by_fill = pixels()
print("level           ", levels)
print("write_imagef    ", by_kernel)
print("FillImage       ", by_fill)
assert by_kernel == [0, 0, 1, 1, 1, 2, 128, 201, 255], "write_imagef() has changed"
assert by_fill == [0, 0, 0, 0, 1, 1, 127, 200, 254], "clEnqueueFillImage() has changed"
END
