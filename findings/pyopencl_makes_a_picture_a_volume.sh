#!/usr/bin/env bash
# A picture from NumPy becomes a three-dimensional image.
#
# Guess:   pyopencl.image_from_array() of an array of rows, columns and four bytes (RGBA) is a two-dimensional RGBA image, as every library
#          for pictures understands that array.
# Seen:    a three-dimensional image with one channel, four texels wide, as wide as the picture is in the second dimension and as high in
#          the third. With num_channels=4 it is the RGBA image, of integers (CL_UNSIGNED_INT8), which read_imagef() may not read;
#          norm_int=True makes it CL_UNORM_INT8.
# Matters: a kernel with an image2d_t is handed a volume. The call succeeds, and the fault shows elsewhere.
# Source:  https://documen.tician.de/pyopencl/runtime_memory.html#pyopencl.image_from_array
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" \
    pocl-binary-distribution==3.0 pyopencl==2026.1.4 pytools==2026.1.1 platformdirs==4.14.8 siphash24==1.9 \
    typing_extensions==4.16.0 numpy==2.2.6
POCL_CACHE_DIR=$packages/cache PYTHONPATH=$packages python3 - << 'END'
import numpy as np
import pyopencl as cl

context = cl.Context([d for p in cl.get_platforms() if "PoCL 3.0-rc2" in p.version for d in p.get_devices()])
print("pyopencl", cl.VERSION_TEXT, "- NumPy", np.__version__)
picture = np.zeros((20, 30, 4), np.uint8)
seen = []
for options in ({}, {"num_channels": 4}, {"num_channels": 4, "norm_int": True}):
    image = cl.image_from_array(context, picture, **options)
    kind = cl.mem_object_type.to_string(image.type)
    seen.append((kind, image.shape, cl.channel_type.to_string(image.format.channel_data_type), image.format.channel_count))
    print("rows, columns, channels", picture.shape, options, "->", *seen[-1])
assert seen == [
    ("IMAGE3D", (4, 30, 20), "UNSIGNED_INT8", 1),
    ("IMAGE2D", (30, 20), "UNSIGNED_INT8", 4),
    ("IMAGE2D", (30, 20), "UNORM_INT8", 4),
], "image_from_array() has changed"
END
