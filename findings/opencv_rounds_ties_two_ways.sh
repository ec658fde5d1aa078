#!/usr/bin/env bash
# Half a level is rounded up by one function of OpenCV and to even by others.
#
# Guess:   the mean of two neighbours is the same number whichever function of a library computes it.
# Seen:    of 8-bit levels 0 and 1, 2 and 3, 4 and 5 cv2.blur() makes 1, 3, 5, and cv2.addWeighted() and cv2.multiply() make 0, 2, 4.
# Matters: a filter that must match OpenCV to the bit needs the rounding of that very function. Windows with an odd number
#          of pixels have no ties, which hides the difference in a box filter until someone tries 2x1.
# Source:  saturate_cast and cvRound (to even), https://docs.opencv.org/4.12.0/db/de0/group__core__utils.html; blur(),
#          https://docs.opencv.org/4.12.0/d4/d86/group__imgproc__filter.html
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" opencv-python-headless==4.12.0.88 numpy==2.2.6
PYTHONPATH=$packages python3 - << 'END'
import cv2
import numpy as np

print("OpenCV", cv2.__version__)
left = np.array([[0, 2, 4, 100]], np.uint8)
right = left + 1
pairs = np.stack([left, right], axis=2).reshape(1, -1)
seen = {
    "blur": cv2.blur(pairs, (2, 1))[0, 1::2].tolist(),
    "addWeighted": cv2.addWeighted(left, 0.5, right, 0.5, 0)[0].tolist(),
    "multiply": cv2.multiply(left + right, 0.5)[0].tolist(),
}
print("exact", ((left + right.astype(float)) / 2)[0].tolist())
for function, means in seen.items():
    print(function, means)
assert seen["blur"] == [1, 3, 5, 101], "blur() has changed"
assert seen["addWeighted"] == seen["multiply"] == [0, 2, 4, 100], "addWeighted() or multiply() has changed"
END
