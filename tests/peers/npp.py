"""npp - where NVIDIA's NPP comes from: Python's registry, as pip knows it, in a folder of its own. `thinned` makes it small
enough to carry to a machine without a network."""

import struct

# The last versions of the series that this was tried with.
PINS = ["nvidia-npp-cu12==12.4.1.87", "nvidia-cuda-runtime-cu12==12.9.79"]
LIBRARIES = ["libnppif", "libnppc", "libcudart"]
# NVIDIA's container of machine code ("fat binary"): a header with magic number, version, its own length and the
# content's; then an entry for each processor, with kind, version, length of its header and of its content, and at byte 28
# the processor.
CONTAINER, ENTRY = struct.Struct("<IHHQ"), struct.Struct("<HHIQ12xI")
MAGIC, MACHINE_CODE = 0xBA55ED50, 2


def install_command(python, folder):
    return [python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--target", folder, *PINS]


def paths(folder):
    """The libraries in the folder, as far as they are there."""
    return [path for name in LIBRARIES for path in sorted(folder.rglob(f"{name}.so.*"))[-1:]]


def is_there(folder):
    return len(paths(folder)) == len(LIBRARIES)


def records(folder):
    """What pip has left of each pinned package: the name of its folder, by its name and version."""
    found = {}
    for pin in PINS:
        name, version = pin.split("==")
        record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        if record.is_dir():
            found[f"{name} {version}"] = record.name
    return found


def versions(folder):
    """Names and versions; empty in a folder that pip has not filled, whose versions nobody knows."""
    return list(records(folder))


def thinned(library, processor):
    """The library with the machine code of one processor alone, `processor` being 90 for sm_90. Each container keeps its
    place and gets shorter; what it leaves is blank, so that it packs well. Gives the bytes and how many entries are left."""
    data, kept, at = bytearray(library), 0, 0
    magic = struct.pack("<I", MAGIC)
    while (at := data.find(magic, at)) >= 0:
        _, version, header, size = CONTAINER.unpack_from(data, at)
        begin, end = at + header, at + header + size
        if version != 1 or header < CONTAINER.size or end > len(data):
            at += 4
            continue
        entry, wanted = begin, b""
        while entry + ENTRY.size <= end:
            kind, _, length, content, machine = ENTRY.unpack_from(data, entry)
            after = entry + length + content
            if length < ENTRY.size or after > end:
                raise ValueError("the machine code is not laid out as expected")
            if kind == MACHINE_CODE and machine == processor:
                wanted += data[entry:after]
                kept += 1
            entry = after
        if wanted:
            CONTAINER.pack_into(data, at, MAGIC, version, header, len(wanted))
            data[begin:end] = wanted.ljust(size, b"\0")
        at = end
    return bytes(data), kept
