"""Finds the fields of headers that state sizes of pictures, time stamps, and the format of the sound."""

import re
import struct
from dataclasses import dataclass

import containers


@dataclass(frozen=True)
class SizeField:
    """The width and the height of pictures, at two places, as numbers of a struct format and a unit."""

    width_at: int
    height_at: int
    form: str = ">H"
    scale: int = 1
    is_codec: bool = False

    def write(self, data, width, height):
        most = (1 << 8 * struct.calcsize(self.form)) - 1
        for at, value in ((self.width_at, width), (self.height_at, height)):
            number = float(value) if self.form == ">d" else min(value * self.scale, most)
            struct.pack_into(self.form, data, at, number)


@dataclass(frozen=True)
class BitsField:
    """A width and a height that begin within a byte: `places` are the bits of the header in their order in the file, and
    `code` returns the bits of a value."""

    places: tuple
    code: object
    is_codec: bool = True

    def write(self, data, width, height):
        for (byte, bit), value in zip(self.places, self.code(width) + self.code(height)):
            data[byte] = data[byte] & ~(1 << bit) | value << bit


def size_fields(container, video, data):
    """Returns where the headers of the container and of the codec state the size of the pictures."""
    return container_sizes(container, data) + codec_sizes(video, data)


def container_sizes(container, data):
    boxes = containers.boxes(container, data)
    if container in ("mp4", "mov"):
        entries = [m.start() for m in re.finditer(rb"avc1|hev1|hvc1|mp4v|av01|vp09|jpeg|mjpg", data)]
        ends = [box.end for box in boxes if box.name == "tkhd"]
        fields = [SizeField(at + 28, at + 30) for at in entries if at + 32 <= len(data)]
        return fields + [SizeField(end - 8, end - 4, ">I", 65536) for end in ends]
    if container in ("mkv", "webm"):
        sides = {box.name: box for box in boxes if box.name in ("b0", "ba")}
        form = {1: ">B", 2: ">H"}
        if set(sides) == {"b0", "ba"} and len({b.end - b.body for b in sides.values()}) == 1:
            return [SizeField(sides["b0"].body, sides["ba"].body, form[sides["b0"].end - sides["b0"].body])]
        # 180 fits one byte and 320 does not.
        return [SizeField(box.end - 1, box.end - 1, ">B") for box in sides.values()]
    if container == "avi":
        strf = [box.body for box in boxes if box.name == "strf"][:1]
        avih = [box.body for box in boxes if box.name == "avih"]
        return [SizeField(at + 4, at + 8, "<I") for at in strf] + [SizeField(at + 32, at + 36, "<I") for at in avih]
    if container == "flv":
        width, height = data.find(b"\0\x05width\0"), data.find(b"\0\x06height\0")
        return [SizeField(width + 8, height + 9, ">d")] if width > 0 and height > 0 else []
    return []


def codec_sizes(video, data):
    if video == "mpeg2":
        # A sequence header: twelve bits for each side.
        starts = [m.end() for m in re.finditer(rb"\x00\x00\x01\xb3", data)]
        return [BitsField(bit_places(data, at, 24), lambda value: fixed_bits(value, 12)) for at in starts if at + 3 <= len(data)]
    if video == "vp8":
        return [SizeField(m.end(), m.end() + 2, "<H", 1, True) for m in re.finditer(rb"\x9d\x01\x2a", data)]
    if video == "vp9":
        starts = [m.end() for m in re.finditer(rb"\x82\x49\x83\x42", data)]
        return [BitsField(bit_places(data, at, 36)[4:], lambda value: fixed_bits(value - 1, 16)) for at in starts]
    if video == "mjpeg":
        starts = [m.end() for m in re.finditer(rb"\xff\xc0\x00\x11\x08", data)]
        return [SizeField(at + 2, at, ">H", 1, True) for at in starts]
    if video == "theora":
        # In macroblocks, then in pixels.
        starts = [m.end() + 3 for m in re.finditer(rb"\x80theora", data)]
        return [SizeField(at, at + 2, ">H", 1, True) for at in starts]
    if video == "mpeg4":
        return []
    return {"h264": h264_sizes, "hevc": hevc_sizes}.get(video, lambda data: [])(data)


def h264_sizes(data):
    """Returns the sizes in the sequence parameter sets of H.264."""
    fields = []
    for match in re.finditer(rb"(?:\x00\x00\x01|\xe1\x00.)[\x27\x47\x67](?=[\x42\x4d\x58\x64])", data, re.DOTALL):
        bits = Bits(data, match.end())
        profile = bits.fixed(8)
        bits.fixed(16)
        bits.golomb()
        if profile >= 100:
            # Chroma format, two bit depths, a lossless mode and scaling matrices.
            bits.golomb(), bits.golomb(), bits.golomb(), bits.fixed(2)
        bits.golomb()
        if bits.golomb() == 0:
            bits.golomb()
        bits.golomb(), bits.fixed(1)
        fields.append(BitsField(bits.rest(), lambda value: golomb_bits(max(0, (value + 15) // 16 - 1))))
    return fields


def hevc_sizes(data):
    """Returns the sizes in the sequence parameter sets of H.265."""
    fields = []
    for match in re.finditer(rb"\x42\x01\x01", data):
        bits = Bits(data, match.end())
        # Profile, tier and level.
        bits.fixed(96)
        bits.golomb()
        if bits.golomb() in range(4):
            fields.append(BitsField(bits.rest(), golomb_bits))
    return fields


class Bits:
    """Reads the bits of a header of H.264 or H.265, without the bytes that prevent start codes."""

    def __init__(self, data, start, count=64):
        self.data = data
        self.places = bit_places(data, start, 8 * count, skip_emulation=True)
        self.at = 0

    def fixed(self, count):
        value = 0
        for byte, bit in self.places[self.at : self.at + count]:
            value = value << 1 | self.data[byte] >> bit & 1
        self.at += count
        return value

    def golomb(self):
        zeros = 0
        while self.at < len(self.places) and self.fixed(1) == 0:
            zeros += 1
        return (1 << zeros | self.fixed(zeros)) - 1

    def rest(self):
        return self.places[self.at :]


def bit_places(data, start, count, skip_emulation=False):
    """Returns the byte and the bit of `count` bits from the byte `start` on."""
    places, at = [], start
    while len(places) < count and at < len(data):
        if not (skip_emulation and at - start >= 2 and data[at - 2 : at + 1] == b"\0\0\x03"):
            places += [(at, bit) for bit in range(7, -1, -1)]
        at += 1
    return tuple(places[:count])


def fixed_bits(value, count):
    return [max(value, 0) >> bit & 1 for bit in range(count - 1, -1, -1)]


def golomb_bits(value):
    return [0] * ((value + 1).bit_length() - 1) + fixed_bits(value + 1, (value + 1).bit_length())


@dataclass(frozen=True)
class StampField:
    """A time stamp of `size` bytes."""

    at: int
    size: int
    order: str = "big"

    def read(self, data):
        return int.from_bytes(data[self.at : self.at + self.size], self.order)

    def write(self, data, value):
        mask = (1 << 8 * self.size) - 1
        data[self.at : self.at + self.size] = (value & mask).to_bytes(self.size, self.order)


@dataclass(frozen=True)
class PesField:
    """A time stamp of 33 bits with markers between them, as in a transport stream."""

    at: int

    def read(self, data):
        a, b, c, d, e = data[self.at : self.at + 5]
        return (a >> 1 & 7) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1

    def write(self, data, value):
        head = data[self.at] & 0xF0
        data[self.at : self.at + 5] = bytes([
            head | (value >> 29 & 0xE) | 1, value >> 22 & 0xFF, (value >> 14 & 0xFE) | 1, value >> 7 & 0xFF,
            (value << 1 & 0xFE) | 1,
        ])


@dataclass(frozen=True)
class FlvField:
    """A time stamp whose highest byte comes last."""

    at: int

    def read(self, data):
        return data[self.at + 3] << 24 | int.from_bytes(data[self.at : self.at + 3], "big")

    def write(self, data, value):
        value &= 0xFFFFFFFF
        data[self.at : self.at + 4] = (value & 0xFFFFFF).to_bytes(3, "big") + bytes([value >> 24])


def stamp_fields(container, data):
    """Returns the time stamps of a file, or the fields from which they are computed."""
    boxes = containers.boxes(container, data)
    if container in ("mp4", "mov"):
        return iso_stamps(boxes)
    if container in ("mkv", "webm"):
        # The time of a cluster, and that of each block after the number of its track.
        clusters = [StampField(box.body, box.end - box.body) for box in boxes if box.name == "e7"]
        return clusters + [StampField(box.body + 1, 2) for box in boxes if box.name in containers.BLOCKS]
    if container == "avi":
        # Scale, rate and start of each stream; then the index.
        streams = [box.body + offset for box in boxes if box.name == "strh" for offset in (20, 24, 28)]
        index = [box for box in boxes if box.name == "idx1"]
        entries = [at for box in index for at in range(box.body + 8, box.end - 7, 16)]
        return [StampField(at, 4, "little") for at in streams + entries]
    if container == "ts":
        return [PesField(box.body + at) for box in boxes for at in pes_stamps(data, box)]
    if container == "ogg":
        return [StampField(box.start + 6, 8, "little") for box in boxes if box.is_media]
    return [FlvField(box.start + 4) for box in boxes if box.name.startswith("tag")]


def iso_stamps(boxes):
    """Returns the values of the boxes from which an ISO media file's time stamps are computed."""
    fields = []
    for box in boxes:
        if box.name in ("stts", "ctts", "elst"):
            fields += [StampField(at, 4) for at in range(box.body + 8, box.end - 3, 4)]
        elif box.name in ("mdhd", "tfdt"):
            fields += [StampField(at, 4) for at in range(box.body + 4, min(box.end - 3, box.body + 20), 4)]
        elif box.name == "trun":
            # After flags, count and place of the data: duration, size and offset of each packet.
            fields += [StampField(at, 4) for at in range(box.body + 12, box.end - 3, 4)]
    return fields


def pes_stamps(data, box):
    """Returns where the PES header at the beginning of a packet has its time stamps, relative to the packet's body."""
    body = 0
    if data[box.start + 3] & 0x20:
        body = 1 + data[box.body]
    at = box.body + body
    if not data[box.start + 1] & 0x40 or data[at : at + 3] != b"\0\0\1" or at + 19 > box.end:
        return []
    flags = data[at + 7] >> 6
    return [body + offset for offset in {2: [9], 3: [9, 14]}.get(flags, [])]


def with_ogg_checksums(data):
    """Returns an Ogg file with right checksums of all pages."""
    data = bytearray(data)
    for page in list(containers.ogg(data)):
        data[page.start + 22 : page.start + 26] = bytes(4)
        crc = containers.ogg_checksum(data[page.start : page.end])
        data[page.start + 22 : page.start + 26] = crc.to_bytes(4, "little")
    return bytes(data)


def sound_header_bytes(container, data):
    """Returns the places of bytes that describe the sound."""
    boxes = containers.boxes(container, data)
    if container in ("mp4", "mov"):
        stsd = [box for box in boxes if box.name == "stsd"][1:2]
        return [at for box in stsd for at in range(box.body + 8, box.end)]
    if container in ("mkv", "webm"):
        # The second track entry.
        tracks = [box for box in boxes if box.name == "ae"][1:2]
        return [at for box in tracks for at in range(box.body + 4, box.end)]
    if container == "avi":
        return [at for box in [b for b in boxes if b.name == "strf"][1:2] for at in range(box.body, box.end)]
    if container == "ts":
        tables = [box for box in boxes if box.name == "pid4096"]
        return [box.body + offset for box in tables for offset in range(18, 24)]
    if container == "ogg":
        return [at for box in boxes if not box.is_media and box.name == boxes[1].name for at in range(box.body, box.body + 24)]
    return [box.body for box in boxes if box.name == "tag8"]
