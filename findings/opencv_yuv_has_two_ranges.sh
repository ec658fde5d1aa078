#!/usr/bin/env bash
# OpenCV's YUV has the full range in one conversion and the limited range in another.
#
# Guess:   cv2.COLOR_YUV2RGB and cv2.COLOR_YUV2RGB_I420 differ in the layout of the samples only.
# Seen:    Y 16 is 16,16,16 by the first and black by the second; white is Y 255 one way and 235 the other. Both use BT.601
#          whatever the size, and neither says so in its name.
# Matters: a reference picture made with the wrong one is off by up to 20 levels, which looks like a fault of contrast in the code
#          under test.
# Source:  https://docs.opencv.org/4.12.0/de/d25/imgproc_color_conversions.html
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" opencv-python-headless==4.12.0.88 numpy==2.2.6
PYTHONPATH=$packages python3 - << 'END'
import cv2
import numpy as np

print("OpenCV", cv2.__version__)
gray = np.full((4, 4, 3), 128, np.uint8)
planes = np.full((6, 4), 128, np.uint8)
seen = {}
for y in (16, 128, 235):
    gray[..., 0] = y
    planes[:4] = y
    packed, planar = cv2.cvtColor(gray, cv2.COLOR_YUV2RGB), cv2.cvtColor(planes, cv2.COLOR_YUV2RGB_I420)
    seen[y] = packed[0, 0].tolist(), planar[0, 0].tolist()
    print(f"Y {y}, U and V 128: COLOR_YUV2RGB {seen[y][0]}, COLOR_YUV2RGB_I420 {seen[y][1]}")
white = np.full((4, 4, 3), 255, np.uint8)
back = int(cv2.cvtColor(white, cv2.COLOR_RGB2YUV)[0, 0, 0]), int(cv2.cvtColor(white, cv2.COLOR_RGB2YUV_I420)[0, 0])
print("white: COLOR_RGB2YUV has Y", back[0], "and COLOR_RGB2YUV_I420", back[1])
assert seen == {16: ([16] * 3, [0] * 3), 128: ([128] * 3, [130] * 3), 235: ([235] * 3, [255] * 3)}, "changed"
assert back == (255, 235), "changed"
END
