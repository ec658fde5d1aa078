#!/usr/bin/env bash
# OpenCV ignores the matrix that a movie states.
#
# Guess:   cv2.VideoCapture, which reads by FFmpeg, converts to BGR by the matrix in the file.
# Seen:    red of an HD movie tagged BT.709 is 233,0,2, as if it were BT.601; PyAV, which uses the same library, makes 255,1,0 of it.
#          Tagged BT.601 or BT.2020, the same samples are 233,0,2 in OpenCV, too, and 233,0,2 and 243,0,0 in PyAV.
# Matters: colours of nearly every HD movie are wrong by up to 22 levels in programs that read it by OpenCV, and references made so
#          differ from a right player, although all of it is "FFmpeg".
# Source:  https://docs.opencv.org/4.12.0/d8/dfe/classcv_1_1VideoCapture.html; AVFrame.colorspace,
#          https://ffmpeg.org/doxygen/7.0/structAVFrame.html
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" \
    av==18.1.0 opencv-python-headless==4.12.0.88 numpy==2.2.6
export PYTHONPATH=$packages
cd "$packages"
# Two processes, since both packages bring an FFmpeg of their own.
python3 - << 'END'
import json
import av

print("PyAV", av.__version__, "with libswscale", av.library_versions["libswscale"])
seen = {}
# BT.709, BT.601 and BT.2020 by their numbers in H.273.
for matrix in (1, 6, 9):
    name = f"red-{matrix}.mkv"
    with av.open(name, "w") as movie:
        stream = movie.add_stream("ffv1", rate=10, width=1280, height=720, pix_fmt="yuv444p")
        stream.codec_context.colorspace, stream.codec_context.color_range = matrix, 1
        picture = av.VideoFrame(1280, 720, "yuv444p")
        for plane, sample in zip(picture.planes, (63, 102, 240)):
            plane.update(bytes([sample]) * plane.buffer_size)
        picture.colorspace, picture.color_range = matrix, 1
        movie.mux(stream.encode(picture))
        movie.mux(stream.encode())
    with av.open(name) as movie:
        picture = next(movie.decode(video=0))
        assert picture.colorspace == matrix, "the tag is lost"
        seen[name] = picture.to_ndarray(format="rgb24")[0, 0].tolist()
json.dump(seen, open("seen.json", "w"))
END
python3 - << 'END'
import json
import cv2

print("OpenCV", cv2.__version__)
by_pyav = json.load(open("seen.json"))
by_opencv = {name: cv2.VideoCapture(name).read()[1][0, 0, ::-1].tolist() for name in by_pyav}
for name in by_pyav:
    print(f"{name}: {by_pyav[name]} in PyAV, {by_opencv[name]} in OpenCV")
assert list(by_opencv.values()) == [[233, 0, 2]] * 3, "OpenCV has changed"
assert list(by_pyav.values()) == [[255, 1, 0], [233, 0, 2], [243, 0, 0]], "PyAV has changed"
END
