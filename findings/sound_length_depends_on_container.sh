#!/usr/bin/env bash
# One second of sound has 48,000 samples, or up to 1,152 more, by its container.
#
# Guess:   a second of sound at 48 kHz that is encoded and decoded has 48,000 samples, or the codec's padding in every container.
# Seen:    FFmpeg decodes AAC from M4A to 48,128 samples and from Matroska, ADTS and FLV to 49,152; MP3 from .mp3 to 48,000, from MP4 to
#          48,431, from Matroska to 49,105; Opus from Ogg and Matroska to 48,000, from MP4 to 48,648; FLAC always to 48,000.
# Matters: each loop of a movie adds up to 24 ms of silence, and a comparison by samples must align them. Encoders add samples
#          before and after the sound. The containers state them differently (edit lists, CodecDelay and DiscardPadding, LAME's
#          header, granule positions) or not at all, and FFmpeg obeys some of these.
# Source:  RFC 7845 (pre-skip), https://www.rfc-editor.org/rfc/rfc7845.html; RFC 9559 (CodecDelay),
#          https://www.rfc-editor.org/rfc/rfc9559.html; skip_samples in https://ffmpeg.org/doxygen/7.0/group__lavc__packet.html
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" imageio-ffmpeg==0.6.0
ffmpeg=$(echo "$packages"/imageio_ffmpeg/binaries/ffmpeg-*)
"$ffmpeg" -version | head -n 1
cd "$packages"
while read -r codec container want; do
    "$ffmpeg" -v error -y -f lavfi -i sine=sample_rate=48000:duration=1 -c:a "$codec" -f "$container" sound < /dev/null
    bytes=$("$ffmpeg" -v error -i sound -f s16le -ac 1 - < /dev/null | wc -c)
    printf '%-10s in %-8s %d samples\n' "$codec" "$container" $((bytes / 2))
    if [ $((bytes / 2)) -ne "$want" ]; then echo "expected $want" >&2 && exit 1; fi
done << 'END'
aac ipod 48128
aac matroska 49152
aac adts 49152
aac flv 49152
libmp3lame mp3 48000
libmp3lame mp4 48431
libmp3lame matroska 49105
libopus ogg 48000
libopus matroska 48000
libopus mp4 48648
flac flac 48000
flac matroska 48000
END
