"""npp - installs NVIDIA's NPP from Python's registry with pip, in a folder of its own. `thinned` makes it small enough to
carry to a machine without a network."""

import struct

# The last versions of the series that this was tested with.
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
    """Returns the libraries that exist in the folder."""
    return [path for name in LIBRARIES for path in sorted(folder.rglob(f"{name}.so.*"))[-1:]]


def is_there(folder):
    return len(paths(folder)) == len(LIBRARIES)


def records(folder):
    """Returns the name of the folder that pip wrote for each pinned package, by name and version."""
    found = {}
    for pin in PINS:
        name, version = pin.split("==")
        record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        if record.is_dir():
            found[f"{name} {version}"] = record.name
    return found


def versions(folder):
    """Returns names and versions; empty in a folder that pip has not filled."""
    return list(records(folder))


def thinned(library, processor):
    """Returns the library with the machine code of one processor only (`processor` is 90 for sm_90), and the number of
    entries left. Each container keeps its position and becomes shorter; the rest is blank, which compresses well."""
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
