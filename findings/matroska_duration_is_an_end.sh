#!/usr/bin/env bash
# The duration of a movie is a length in some containers and an end in others.
#
# Guess:   a movie ends at its start plus its duration.
# Seen:    the same two seconds of video, with time stamps from 10 s on: MP4, MOV and FLV state 2 s, Matroska and WebM 12 s, and NUT 11.9,
#          the last time stamp. FFmpeg reports each number as the movie's duration, with the start 10 in all of them.
# Matters: a seek bar from start to start + duration is too long by the start in half of the containers: recordings that are cut
#          without new time stamps, and pictures that begin after the sound. Correct it once the end has been read.
# Source:  AVFormatContext.start_time and duration, https://ffmpeg.org/doxygen/7.0/structAVFormatContext.html; Matroska's Duration,
#          https://www.rfc-editor.org/rfc/rfc9559.html
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" av==18.1.0 numpy==2.2.6
cd "$packages"
PYTHONPATH=$packages python3 - << 'END'
from fractions import Fraction
import av
import numpy as np

print("libavformat", av.library_versions["libavformat"])
seen = {}
for ending, codec in [("mp4", "mpeg4"), ("mov", "mpeg4"), ("flv", "flv1"), ("mkv", "mpeg4"), ("webm", "libvpx"), ("nut", "mpeg4")]:
    name = f"movie.{ending}"
    with av.open(name, "w") as movie:
        stream = movie.add_stream(codec, rate=10, width=64, height=64, pix_fmt="yuv420p")
        for number in range(20):
            picture = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 10 * number, np.uint8))
            picture.pts, picture.time_base = 100 + number, Fraction(1, 10)
            movie.mux(stream.encode(picture))
        movie.mux(stream.encode())
    with av.open(name) as movie:
        times = [float(picture.pts * picture.time_base) for picture in movie.decode(video=0)]
        seen[ending] = (movie.start_time / 1e6, movie.duration / 1e6)
    print(f"{ending}: pictures from {times[0]} to {times[-1]} s; start {seen[ending][0]}, duration {seen[ending][1]}")
expected = {e: (10.0, 2.0) for e in ("mp4", "mov", "flv")} | {e: (10.0, 12.0) for e in ("mkv", "webm")} | {"nut": (10.0, 11.9)}
assert seen == expected, f"expected {expected}"
END
