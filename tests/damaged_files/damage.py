"""Damages clips: each kind of damage is a function of the clip, a random generator and the number of the file."""

import containers
import headers

# Declared widths and heights that no decoder should trust.
SIZES = [(0, 0), (1, 1), (65535, 65535), (16384, 16384), (32767, 1), (1, 65535), (30000, 30000), (65535, 180), (320, 0),
         (7, 5), (16000, 9000), (640, 360), (318, 178)]
# Codecs of another sound track that a container takes.
OTHER_SOUNDS = {"webm": ["opus", "vorbis"], "ogg": ["opus", "vorbis", "flac"]}
# Sizes of joined parts, and extreme shapes, which the encoders accept.
PART_SIZES = [(320, 180), (176, 144), (64, 48), (640, 360), (32, 32)]
SHAPES = [(2048, 16), (16, 2048), (16, 16), (4080, 32)]


class Damage:
    """Makes damaged files. `clips` are all clips, `studio` encodes further ones."""

    def __init__(self, clips, studio):
        self.clips = clips
        self.studio = studio
        self.kinds = {
            "bits": self.bits,
            "removed": self.removed,
            "headers": self.headers,
            "cut": self.cut,
            "resized": self.resized,
            "dimensions": self.dimensions,
            "stamps": self.stamps,
            "streams": self.streams,
            "sound": self.sound,
        }

    def damaged(self, kind, clip, rng, number):
        """Returns the bytes of a damaged file, or None if the container cannot have this damage."""
        data = self.kinds[kind](clip, rng, number)
        if data and clip.container == "ogg" and number % 2:
            # FFmpeg drops pages with a wrong checksum, so that the damage would not reach the decoder.
            data = headers.with_ogg_checksums(data)
        return data

    def bits(self, clip, rng, number):
        """Flips bits: of the headers, of the pictures, or anywhere."""
        data = bytearray(clip.data)
        places = [lambda: anywhere(clip, rng), lambda: in_pictures(clip, rng), lambda: in_headers(clip, rng)]
        for _ in range(rng.choice([1, 3, 10, 40, 200])):
            data[places[number % 3]()] ^= 1 << rng.randrange(8)
        return bytes(data)

    def removed(self, clip, rng, number):
        """Removes bytes in some places, or moves them to others."""
        data = bytearray(clip.data)
        places = [lambda: in_pictures(clip, rng), lambda: anywhere(clip, rng), lambda: in_headers(clip, rng)]
        for _ in range(rng.choice([1, 2, 6])):
            at = places[number % 3]()
            taken = data[at : at + rng.choice([1, 2, 17, 200, 3000])]
            del data[at : at + len(taken)]
            if number % 4 == 3:
                to = rng.randrange(len(data))
                data[to:to] = taken
        return bytes(data)

    def headers(self, clip, rng, number):
        """Exchanges headers with those of another clip: one box, all that precedes the media, or of another container."""
        same = [c for c in self.clips if c.container == clip.container and c != clip]
        other = rng.choice([c for c in self.clips if c.container != clip.container] if number % 3 == 2 else same)
        if number % 3 == 0:
            return exchange_box(clip, other, rng)
        head = other.data[: containers.header_end(other.container, other.data)]
        return head + clip.data[containers.header_end(clip.container, clip.data) :]

    def cut(self, clip, rng, number):
        """Cuts the file where a box begins; every third file some bytes later."""
        at = cut_places(clip)[number]
        return clip.data[: at + rng.randrange(1, 60) if number % 3 == 2 else at]

    def resized(self, clip, rng, number):
        """Joins parts with pictures of different sizes; every second file also has flipped bits."""
        sizes = [rng.choice(PART_SIZES) for _ in range(rng.randint(2, 4))]
        if len(set(sizes)) == 1:
            sizes.append((48, 80))
        return self.spoilt(self.studio.joined(clip, sizes, number), rng, number)

    def dimensions(self, clip, rng, number):
        """Overwrites the sizes of pictures in the headers of container and codec, or encodes extreme shapes."""
        data = bytearray(clip.data)
        fields = headers.size_fields(clip.container, clip.video, data)
        if number % 4 == 3 or not fields:
            return self.studio.shaped(clip, rng.choice(SHAPES), number)
        if number % 4 == 0:
            fields = [field for field in fields if not field.is_codec] or fields
        if number % 4 == 1:
            fields = [field for field in fields if field.is_codec] or fields
        size = rng.choice(SIZES)
        for field in fields:
            field.write(data, *size)
        return bytes(data)

    def stamps(self, clip, rng, number):
        """Writes other time stamps: backwards, huge, all the same, or random ones."""
        data = bytearray(clip.data)
        fields = headers.stamp_fields(clip.container, data)
        old = [field.read(data) for field in fields]
        modes = {
            0: lambda at: old[-1 - at],
            1: lambda at: (1 << 64) - 1 - at,
            2: lambda at: old[0],
            3: lambda at: rng.getrandbits(64),
            4: lambda at: old[at] ^ 1 << rng.randrange(40) if rng.random() < 0.2 else old[at],
        }
        for at, field in enumerate(fields):
            field.write(data, modes[number % 5](at))
        return headers.with_ogg_checksums(data) if clip.container == "ogg" else bytes(data)

    def streams(self, clip, rng, number):
        """Adds dozens of streams; every second file also has flipped bits."""
        videos, sounds = rng.choice([(1, 40), (30, 1), (25, 25), (2, 12), (12, 0), (60, 2)])
        order = list("v" * videos + "a" * sounds)
        rng.shuffle(order)
        return self.spoilt(self.studio.crowded(clip, order, number), rng, number)

    def sound(self, clip, rng, number):
        """Breaks the sound track: its packets, its header, its codec, its beginning."""
        if number % 6 == 5:
            sounds = OTHER_SOUNDS.get(clip.container, ["aac", "mp3"])
            return self.studio.mistimed(clip, rng.choice(sounds), rng.choice([-5, 3, 40000]), number)
        data = bytearray(clip.data)
        if number % 6 == 4:
            for at in headers.sound_header_bytes(clip.container, data):
                data[at] = rng.choice([0, 0xFF, rng.randrange(256), data[at]])
            return bytes(data)
        packets = [p for p in clip.packets if p.stream == "audio"]
        for packet in reversed(packets):
            spoil_packet(data, packet, rng, number % 6)
        return bytes(data)

    def spoilt(self, data, rng, number):
        """Flips some bits in every second file."""
        if data is None or number % 2 == 0:
            return data
        data = bytearray(data)
        for _ in range(rng.choice([1, 5, 30])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)


def anywhere(clip, rng):
    """Returns the place of a random byte."""
    return rng.randrange(len(clip.data))


def in_pictures(clip, rng):
    """Returns the place of a byte in a random packet of the video stream."""
    packet = rng.choice([p for p in clip.packets if p.stream == "video"])
    return min(rng.randrange(packet.start, packet.end), len(clip.data) - 1)


def in_headers(clip, rng):
    """Returns the place of a byte in a box that carries no packets, without the boxes that contain others."""
    boxes = [b for b in containers.boxes(clip.container, clip.data) if not b.is_media and b.end - b.start < 4096]
    box = rng.choice(boxes)
    return rng.randrange(box.start, box.end)


def cut_places(clip):
    """Returns where the boxes of the file begin; of those that carry packets, and of the packets in them, about a dozen."""
    boxes = containers.boxes(clip.container, clip.data)
    starts = sorted({box.start for box in boxes if box.is_media} | {packet.start for packet in clip.packets})
    places = {box.start for box in boxes if not box.is_media} | set(starts[:: max(1, len(starts) // 12)])
    return sorted(at for at in places if 0 < at < len(clip.data))


def exchange_box(clip, other, rng):
    """Puts a box of the other clip in the place of the box with the same name."""
    theirs = {box.name: box for box in containers.boxes(other.container, other.data) if not box.is_media}
    ours = [b for b in containers.boxes(clip.container, clip.data) if not b.is_media and b.name in theirs]
    box = rng.choice([b for b in ours if b.end - b.start < len(clip.data) * 0.9] or ours)
    new = theirs[box.name]
    return clip.data[: box.start] + other.data[new.start : new.end] + clip.data[box.end :]


def spoil_packet(data, packet, rng, mode):
    """Spoils a packet: zeros, noise, some flipped bits, or some bytes removed."""
    length = packet.end - packet.start
    if mode == 0:
        data[packet.start : packet.end] = bytes(length)
    elif mode == 1:
        data[packet.start : packet.end] = rng.randbytes(length)
    elif mode == 2:
        for _ in range(3):
            data[min(rng.randrange(packet.start, packet.end), len(data) - 1)] ^= 1 << rng.randrange(8)
    elif rng.random() < 0.3:
        at = rng.randrange(packet.start, packet.end)
        del data[at : at + 4]
