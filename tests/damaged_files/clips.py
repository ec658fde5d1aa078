"""Makes the undamaged clips with ffmpeg: small, short, in eight containers and ten video codecs, each with a sound track."""

import json
import pathlib
import subprocess
from dataclasses import dataclass

# Encoder and options of each video codec. Key frames are close together, so that seeks have a choice.
ENCODERS = {
    "h264": ["libx264", "-preset", "veryfast", "-threads", "1", "-bf", "2"],
    "hevc": ["libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:pools=1:frame-threads=1"],
    "av1": ["libaom-av1", "-cpu-used", "8", "-usage", "realtime", "-threads", "1"],
    "vp8": ["libvpx", "-deadline", "realtime", "-cpu-used", "8", "-threads", "1"],
    "vp9": ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-threads", "1"],
    "mpeg2": ["mpeg2video", "-bf", "2", "-threads", "1"],
    "mpeg4": ["mpeg4", "-threads", "1"],
    "mjpeg": ["mjpeg", "-pix_fmt", "yuvj420p", "-threads", "1"],
    "theora": ["libtheora", "-q:v", "4"],
    "ffv1": ["ffv1", "-level", "3", "-threads", "1"],
}

SOUND_ENCODERS = {"opus": "libopus", "vorbis": "libvorbis", "mp3": "libmp3lame", "pcm": "pcm_s16le"}

# FFmpeg's names of containers that differ from the extension of the file's name.
MUXERS = {"mkv": "matroska", "ts": "mpegts"}

# Options of the containers: the index before the media, fragments, or neither; short pages.
MUXER_OPTIONS = {
    "mp4 h264": ["-movflags", "+faststart"],
    "mp4 av1": ["-movflags", "+faststart"],
    "mp4 hevc": ["-movflags", "+frag_keyframe+delay_moov"],
    "mov mjpeg": ["-movflags", "+faststart"],
    "ogg theora": ["-page_duration", "100000"],
    "ogg vp8": ["-page_duration", "100000"],
}

# The container into which frames of a codec are encoded before they are joined. Transport streams keep the headers of
# H.264 and H.265 in the stream, where a second size needs them.
SEGMENT_CONTAINERS = {"h264": "ts", "hevc": "ts", "mpeg2": "ts", "mpeg4": "avi", "mjpeg": "avi"}

MATRIX = """
    mp4 h264 aac     mp4 hevc ac3     mp4 mpeg4 mp3    mp4 av1 opus     mp4 vp9 flac
    mov mjpeg pcm    mov h264 alac    mkv h264 flac    mkv vp8 vorbis   mkv ffv1 pcm
    mkv theora opus  mkv mpeg2 mp2    webm vp8 vorbis  webm vp9 opus    webm av1 opus
    avi mpeg4 mp3    avi mjpeg pcm    avi h264 ac3     avi ffv1 pcm     avi mpeg2 mp2
    ts h264 aac      ts hevc ac3      ts mpeg2 mp2     ts mpeg4 mp3     ogg theora vorbis
    ogg vp8 opus     flv h264 aac     flv h264 mp3
"""

SIZE = (320, 180)
DURATION_S = 1.2


@dataclass(frozen=True)
class Packet:
    """A packet of a stream: "video" or "audio", and its bytes in the file."""

    stream: str
    start: int
    end: int


@dataclass(frozen=True)
class Clip:
    """An undamaged clip."""

    container: str
    video: str
    sound: str
    data: bytes
    packets: tuple

    @property
    def name(self):
        return f"{self.container}-{self.video}-{self.sound}"


def ffmpeg(*args):
    """Runs ffmpeg, whose last argument is the file to write; its output is the same for the same version of ffmpeg."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        pathlib.Path(args[-1]).unlink(missing_ok=True)
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def packets_of(path):
    """Returns where the packets of a file lie, as far as ffprobe knows."""
    command = ["ffprobe", "-v", "quiet", "-show_entries", "packet=codec_type,pos,size", "-of", "json", str(path)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout or "{}")
    packets = [p for p in found.get("packets", []) if p.get("codec_type") in ("video", "audio") and "pos" in p]
    return tuple(Packet(p["codec_type"], int(p["pos"]), int(p["pos"]) + int(p["size"])) for p in packets)


class Studio:
    """Encodes clips from the bundled movie, and keeps what it has encoded in a folder."""

    def __init__(self, movie, folder):
        self.movie = movie
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def all_clips(self):
        """Returns the clips of the whole matrix."""
        words = MATRIX.split()
        return [self.clip(*words[at : at + 3]) for at in range(0, len(words), 3)]

    def clip(self, container, video, sound):
        """Returns the clip with these codecs in this container."""
        path = self.folder / f"{container}-{video}-{sound}.{container}"
        if not path.exists():
            picture, tone = self.segment(video, SIZE, 0.0, DURATION_S), self.tone(sound)
            self.remux(path, video, ["-i", picture, "-i", tone], ["-map", "0:v", "-map", "1:a"])
        return Clip(container, video, sound, path.read_bytes(), packets_of(path))

    def segment(self, codec, size, start_s, duration_s):
        """Returns the path of an encoded part of the movie, without sound."""
        container = SEGMENT_CONTAINERS.get(codec, "mkv")
        path = self.folder / f"{codec}-{size[0]}x{size[1]}-{start_s}-{duration_s}.{container}"
        if not path.exists():
            # Some encoders accept even sizes only.
            scale = f"scale={size[0]}:{size[1]},format=yuv420p"
            ffmpeg("-ss", start_s, "-t", duration_s, "-i", self.movie, "-vf", scale, "-an", "-g", 10,
                   "-c:v", *ENCODERS[codec], "-fflags", "+bitexact", path)
        return path

    def tone(self, codec):
        """Returns the path of an encoded stereo tone, as long as a clip."""
        path = self.folder / f"tone-{codec}.mkv"
        if not path.exists():
            ffmpeg("-f", "lavfi", "-i", f"sine=440:sample_rate=48000:duration={DURATION_S}", "-ac", 2, "-b:a", "64k",
                   "-c:a", SOUND_ENCODERS.get(codec, codec), "-strict", "-2", "-fflags", "+bitexact", path)
        return path

    def remux(self, path, video, inputs, maps):
        """Writes a file with the packets of the inputs, in the container that its name states."""
        container = path.suffix[1:]
        options = MUXER_OPTIONS.get(f"{container} {video}", [])
        ffmpeg(*inputs, *maps, "-c", "copy", "-strict", "-2", "-fflags", "+bitexact", *options, "-f",
               MUXERS.get(container, container), path)
        return path

    def joined(self, clip, segments, number):
        """Returns a movie whose pictures change their size: `segments` are sizes, one after the other."""
        paths = [self.segment(clip.video, size, 1.0 + at, 0.4) for at, size in enumerate(segments)]
        part_list = self.folder / f"{clip.name}-{number}.txt"
        part_list.write_text("".join(f"file '{path.resolve()}'\n" for path in paths))
        return self.made(clip, number, ["-f", "concat", "-safe", "0", "-i", part_list, "-i", self.tone(clip.sound)],
                         ["-map", "0:v", "-map", "1:a"])

    def shaped(self, clip, size, number):
        """Returns a movie of an extreme shape, such as 16 by 2,048 pixels."""
        inputs = ["-i", self.segment(clip.video, size, 2.0, 0.4), "-i", self.tone(clip.sound)]
        return self.made(clip, number, inputs, ["-map", "0:v", "-map", "1:a"])

    def crowded(self, clip, streams, number):
        """Returns a movie with many streams: `streams` has "v" for each video and "a" for each sound track."""
        inputs = ["-i", self.segment(clip.video, SIZE, 0.0, DURATION_S), "-i", self.tone(clip.sound)]
        maps = [word for kind in streams for word in ("-map", "0:v" if kind == "v" else "1:a")]
        return self.made(clip, number, inputs, maps)

    def mistimed(self, clip, sound, offset_s, number):
        """Returns a movie whose sound is of another codec or begins at another time."""
        inputs = ["-i", self.segment(clip.video, SIZE, 0.0, DURATION_S), "-itsoffset", offset_s, "-i", self.tone(sound)]
        return self.made(clip, number, inputs, ["-map", "1:a", "-map", "0:v"])

    def made(self, clip, number, inputs, maps):
        """Returns the bytes of a remuxed file, or None if the container does not take these streams."""
        path = self.folder / f"made-{clip.name}-{number}.{clip.container}"
        try:
            return self.remux(path, clip.video, inputs, maps).read_bytes()
        except RuntimeError:
            return None
        finally:
            path.unlink(missing_ok=True)
