"""Finds the boxes, elements, chunks, pages, packets and tags of which containers consist."""

from dataclasses import dataclass

ISO_PARENTS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"dinf", b"udta", b"mvex", b"moof", b"traf"}

# EBML elements that contain others: header, Segment, SeekHead, Seek, Info, Tracks, TrackEntry, Video, Audio, Cluster,
# BlockGroup, Cues, CuePoint, CueTrackPositions, Tags, Tag, SimpleTag.
EBML_PARENTS = {
    0x1A45DFA3, 0x18538067, 0x114D9B74, 0x4DBB, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0xE1, 0x1F43B675, 0xA0, 0x1C53BB6B,
    0xBB, 0xB7, 0x1254C367, 0x7373, 0x67C8,
}
BLOCKS = {"a1", "a3"}

TS_PACKET_BYTES = 188


@dataclass(frozen=True)
class Box:
    """A box of a container, in bytes of the file; `is_media` is true if it carries packets of streams."""

    name: str
    start: int
    body: int
    end: int
    is_media: bool = False


def boxes(container, data):
    """Returns the boxes of a file in the order of their starts, parents before children."""
    walk = {"mp4": iso, "mov": iso, "mkv": ebml, "webm": ebml, "avi": riff, "ts": ts, "ogg": ogg, "flv": flv}
    return list(walk[container](bytes(data)))


def iso(data, at=0, end=None):
    """Yields the boxes of an ISO media file."""
    end = len(data) if end is None else end
    while at + 8 <= end:
        size, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = at + 8
        if size == 1:
            size, body = int.from_bytes(data[body : body + 8], "big"), at + 16
        stop = end if size == 0 else at + size
        if stop < body or stop > end:
            return
        yield Box(name.decode("latin-1"), at, body, stop, name == b"mdat")
        if name in ISO_PARENTS:
            yield from iso(data, body, stop)
        at = stop


def vint_bytes(first):
    """Returns the length of an EBML number by its first byte; 9 if the byte is none."""
    return 9 - first.bit_length()


def ebml(data, at=0, end=None):
    """Yields the elements of a Matroska file."""
    end = len(data) if end is None else end
    while at + 2 <= end:
        id_bytes = vint_bytes(data[at])
        size_at = at + id_bytes
        if id_bytes > 4 or size_at >= end or vint_bytes(data[size_at]) > 8:
            return
        size_bytes = vint_bytes(data[size_at])
        body = size_at + size_bytes
        unknown = (1 << 7 * size_bytes) - 1
        size = int.from_bytes(data[size_at:body], "big") & unknown
        stop = end if size == unknown else min(body + size, end)
        name = int.from_bytes(data[at:size_at], "big")
        yield Box(f"{name:x}", at, body, stop, f"{name:x}" in BLOCKS)
        if name in EBML_PARENTS:
            yield from ebml(data, body, stop)
        at = stop


def riff(data, at=0, end=None):
    """Yields the chunks of an AVI file."""
    end = len(data) if end is None else end
    while at + 8 <= end:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body, stop = at + 8, min(at + 8 + size + size % 2, end)
        is_list = name in (b"RIFF", b"LIST")
        kind = data[body : body + 4].decode("latin-1") if is_list else ""
        yield Box(name.decode("latin-1") + kind, at, body, stop, name[2:] in (b"dc", b"wb", b"db"))
        if is_list:
            yield from riff(data, body + 4, stop)
        at = stop


def ts(data):
    """Yields the packets of an MPEG transport stream, named by their PID."""
    for at in range(0, len(data) - TS_PACKET_BYTES + 1, TS_PACKET_BYTES):
        pid = int.from_bytes(data[at + 1 : at + 3], "big") & 0x1FFF
        is_table = pid < 0x20 or pid == 0x1000
        yield Box(f"pid{pid}", at, at + 4, at + TS_PACKET_BYTES, not is_table)


def ogg(data):
    """Yields the pages of an Ogg file; those with granule position 0 carry headers."""
    at = data.find(b"OggS")
    while at >= 0 and at + 27 <= len(data):
        body = at + 27 + data[at + 26]
        stop = min(body + sum(data[at + 27 : body]), len(data))
        granule = int.from_bytes(data[at + 6 : at + 14], "little")
        yield Box(f"page{data[at + 14 : at + 18].hex()}", at, body, stop, granule != 0)
        at = stop if data[stop : stop + 4] == b"OggS" else data.find(b"OggS", stop)


def flv(data):
    """Yields the header and the tags of an FLV file, named by their type."""
    yield Box("header", 0, 9, 13)
    at = 13
    while at + 11 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        stop = min(at + 11 + size + 4, len(data))
        # Tags of the codec's header follow the metadata.
        is_media = data[at] in (8, 9) and data[at + 12 : at + 13] != b"\0"
        yield Box(f"tag{data[at]}", at, at + 11, stop, is_media)
        at = stop


def header_end(container, data):
    """Returns the offset at which the media begin; half of the file if headers follow the media."""
    first = next((box.start for box in boxes(container, data) if box.is_media), len(data) // 2)
    return first if first > 64 else len(data) // 2


def ogg_checksum(page):
    """Returns the checksum of an Ogg page, whose checksum field must be zero."""
    crc = 0
    for byte in page:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc
