#!/usr/bin/env bash
# FFmpeg's scaler turns a bright blue of 4:4:4 pictures into yellow.
#
# Guess:   a colour outside RGB is clipped: Y 240, Cb 255, Cr 128 is 255,211,518 in RGB and becomes 255,211,255.
# Seen:    255,211,0 from yuv444p and yuva444p; 255,210,255 from the same colour in yuv420p and yuv422p.
# Matters: samples beyond RGB are valid, and codecs and scalers make them at sharp edges. The picture next to it, with a channel of 511, is
#          right, so that tests with primary colours pass. A program that wants clipped colours converts these formats itself.
# Source:  yuv2rgb_write_full in libswscale/output.c, https://github.com/FFmpeg/FFmpeg/blob/n8.0/libswscale/output.c:
#          sums have 30 bits for 0 to 255, and the sum of a channel of 512 or more no longer fits into a signed 32-bit number.
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" av==18.1.0 numpy==2.2.6
PYTHONPATH=$packages python3 - << 'END'
import av
import numpy as np

def convert(name, samples):
    """Returns the first pixel of an 8x8 picture, all of whose pixels are `samples`, in RGB."""
    picture = av.VideoFrame(8, 8, name)
    for plane, sample in zip(picture.planes, samples):
        plane.update(bytes([sample]) * plane.buffer_size)
    return tuple(picture.reformat(format="rgb24").to_ndarray()[0, 0].tolist())

print("libswscale", av.library_versions["libswscale"])
seen = {}
for name in ("yuv420p", "yuv422p", "yuv444p", "yuva444p"):
    for cb in (240, 250, 255):
        seen[name, cb] = convert(name, (240, cb, 128, 255))
        print(f"{name}, Y 240, Cb {cb}, Cr 128: {seen[name, cb]}")
assert seen["yuv420p", 255] == seen["yuv422p", 255] == (255, 210, 255), seen
assert seen["yuv444p", 250] == (255, 213, 255), seen
assert seen["yuv444p", 255] == seen["yuva444p", 255] == (255, 211, 0), seen
END
