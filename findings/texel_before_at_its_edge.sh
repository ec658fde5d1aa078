#!/usr/bin/env bash
# The normalised coordinate i/W reads texel i of most images and texel i - 1 of others.
#
# Guess:   texel i of a row of W begins at i/W, so that CLK_NORMALIZED_COORDS_TRUE with (float)i / W reads it.
# Seen:    for widths of 640, 1280 and 4096 that is so. For 1920 it is wrong for 26 texels, for 3840 for 53: i/W is rounded to
#          a float, and the product with W lies below i. All are right at (i + 0.5)/W.
# Matters: the fault is absent at 720p, doubles 26 columns at 1080p, and cannot be seen in most pictures.
# Source:  OpenCL C, "Determining the texel", https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html
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
kernel = cl.Kernel(cl.Program(context, """
__kernel void read(read_only image2d_t image, __global uint *out, float into)
{
    const sampler_t nearest = CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_NORMALIZED_COORDS_TRUE;
    const int x = get_global_id(0);
    out[x] = read_imageui(image, nearest, (float2)((x + into) / get_image_width(image), 0.5f)).x;
}
""").build(), "read")

def misses(width, into):
    """Returns how many texels are not read at their number plus `into`, divided by the width."""
    texels, out = np.zeros((1, width, 4), np.uint16), np.zeros(width, np.uint32)
    texels[0, :, 0] = range(width)
    image = cl.image_from_array(context, texels, 4)
    memory = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, out.nbytes)
    kernel(queue, (width,), None, image, memory, np.float32(into))
    cl.enqueue_copy(queue, out, memory)
    wrong = out != np.arange(width)
    assert np.all(out[wrong] + 1 == np.flatnonzero(wrong))
    return int(wrong.sum())

seen = {}
for width in (640, 1280, 1920, 3840, 4096):
    seen[width] = misses(width, 0), misses(width, 0.5)
    print(f"width {width}: {seen[width][0]} texels read the one before at i/W, {seen[width][1]} at (i + 0.5)/W")
assert all(at_centre == 0 for _, at_centre in seen.values()), "texel centres are wrong"
assert [seen[w][0] for w in (640, 1280, 1920, 3840, 4096)] == [0, 0, 26, 53, 0], "other texels are read at i/W"
END
