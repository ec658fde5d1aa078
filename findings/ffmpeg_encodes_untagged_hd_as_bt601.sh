#!/usr/bin/env bash
# FFmpeg converts RGB to YUV by BT.601 at every size, and does not say so in the file.
#
# Guess:   a screen recording of 1920x1080 that is encoded with the defaults is BT.709, as HD is, or is tagged as what it is.
# Seen:    red has Y 81, the value of BT.601, at 640x360 and at 1920x1080 (BT.709: 63), and the H.264 file states no matrix.
# Matters: players take untagged HD as BT.709: red is 255,24,0 then, while the same clip at 640x360 is right. `-vf
#          scale=out_color_matrix=bt709 -colorspace bt709` converts and tags.
# Source:  SWS_CS_DEFAULT, https://ffmpeg.org/doxygen/7.0/group__libsws.html; the players' rule: mp_csp_guess_colorspace,
#          https://github.com/mpv-player/mpv/blob/v0.36.0/video/csputils.c
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" imageio-ffmpeg==0.6.0
ffmpeg=$(echo "$packages"/imageio_ffmpeg/binaries/ffmpeg-*)
"$ffmpeg" -version | head -n 1
cd "$packages"
for size in 640x360 1920x1080; do
    python3 -c "open('red.rgb', 'wb').write(bytes([255, 0, 0]) * ($((${size%x*} * ${size#*x}))))"
    "$ffmpeg" -v error -y -f rawvideo -pixel_format rgb24 -video_size "$size" -i red.rgb -c:v libx264 -qp 0 -pix_fmt yuv444p red.mp4
    stated=$({ "$ffmpeg" -i red.mp4 2>&1 || true; } | sed -n 's/.*Video: .*yuv444p(\([^)]*\)).*/\1/p')
    "$ffmpeg" -v error -y -i red.mp4 -f rawvideo red.yuv
    luma=$(od -A n -t u1 -N 1 red.yuv)
    printf '%s: Y %d; stated: %s\n' "$size" "$luma" "$stated"
    if [ "$luma" -ne 81 ] || [[ $stated == *bt* ]]; then echo "expected Y 81 and no matrix" >&2 && exit 1; fi
done
