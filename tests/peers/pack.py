#!/usr/bin/env python3
"""pack.py - everything that `./dev peers` needs on a machine with an NVIDIA graphics card and without network or compiler.

    ./dev peers --pack gpu-peers.tar.xz      here; --processor 90 is for H100 and H200, 89 for RTX 40, 86 for RTX 30
    tar -xf gpu-peers.tar.xz && gpu-peers/run      there; prints the table and leaves gpu-peers/gpu-peers.json
    ./dev peers --report gpu-peers.json --publish  here: the table goes to docs/peers.md

Here it takes xz. There it takes Python 3.10 or newer and NVIDIA's driver. In: the peer example, the folder with NPP. Out: the
archive: these scripts, NPP with the code of that one processor, the peer example and the libraries that it loads.
"""

import io
import os
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import npp

HERE = Path(__file__).resolve().parent
SCRIPTS = ["charts.py", "contender.py", "ladder.py", "npp.py", "npp_peer.py", "peers.py", "report.py", "timing.py"]
# The machine must have these itself: the C runtime, and the driver's libraries.
LEFT_OUT = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|libnvidia.*|libcuda)\.so")
RUN = """#!/bin/sh
# Times clreel and NPP on this machine's NVIDIA graphics card: ./run [--size 4K] [--radius 7]
here=$(cd "$(dirname "$0")" && pwd)
# Containers often have the driver here, where the loader does not search.
for folder in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
    [ -e $folder/libnvidia-opencl.so.1 ] && driver=$folder && break
done
if [ -z "$driver" ]; then
    echo "run: NVIDIA's OpenCL (libnvidia-opencl.so.1) was not found. Install NVIDIA's driver with OpenCL." >&2
    exit 1
fi
export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$here/vendors" && echo "$driver/libnvidia-opencl.so.1" > "$here/vendors/nvidia.icd"
export OCL_ICD_VENDORS="$here/vendors" PEER="$here/peer" NPP_DIR="$here/npp" PEERS_WORK="$here" CLREEL_SETTINGS=
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/tests/peers/peers.py" --only gpu "$@"
"""
# Only the peer loads its libraries: Python uses those of the machine.
PEER = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/lib:$LD_LIBRARY_PATH exec "$here/peer.bin" "$@"
"""


def libraries(binary):
    """Returns the shared libraries that a program loads: path by the name that the loader searches."""
    lines = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout.splitlines()
    found = dict(re.findall(r"(\S+) => (/\S+)", line)[0] for line in lines if " => /" in line)
    return {name: Path(path).resolve() for name, path in found.items() if not LEFT_OUT.match(name)}


def stripped(binary):
    """Returns a program without its debugging symbols."""
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, binary], check=True)
        return Path(copy.name).read_bytes()


def pack(out, binary, folder, processor):
    """Writes the archive and returns its size in bytes. On failure there is none."""
    libraries_of_npp = npp.paths(folder)
    if len(libraries_of_npp) != len(npp.LIBRARIES):
        raise ValueError(f"{folder} does not hold all of {', '.join(npp.LIBRARIES)}")
    with open(out, "wb") as archive:
        try:
            # xz uses all cores; Python's own module uses one, and takes some minutes here.
            with subprocess.Popen(["xz", "-T0", "-6"], stdin=subprocess.PIPE, stdout=archive) as xz:
                with tarfile.open(fileobj=xz.stdin, mode="w|") as tar:
                    fill(tar, binary, folder, libraries_of_npp, processor)
            if xz.returncode:
                raise OSError("xz failed")
        except BaseException:
            if os.path.isfile(out):
                os.remove(out)
            raise
    return os.path.getsize(out)


def fill(tar, binary, folder, libraries_of_npp, processor):
    """Adds all files to the archive."""
    def put(name, data, mode=0o644):
        entry = tarfile.TarInfo(f"gpu-peers/{name}")
        entry.size, entry.mode = len(data), mode
        tar.addfile(entry, io.BytesIO(data))

    put("run", RUN.encode(), 0o755)
    put("peer", PEER.encode(), 0o755)
    put("peer.bin", stripped(binary), 0o755)
    put("assets/clip.mp4", (HERE.parent.parent / "assets" / "clip.mp4").read_bytes())
    put("tests/goldens/ids.txt", (HERE.parent / "goldens" / "ids.txt").read_bytes())
    for name in SCRIPTS:
        put(f"tests/peers/{name}", (HERE / name).read_bytes())
    for name, path in sorted(libraries(binary).items()):
        put(f"lib/{name}", path.read_bytes())
    for path in libraries_of_npp:
        data, kept = path.read_bytes(), 1
        if path.name.startswith("libnppif"):
            data, kept = npp.thinned(data, processor)
        if not kept:
            raise ValueError(f"{path.name} holds no code for processor {processor}")
        put(f"npp/{path.name}", data)
    # The versions are read from these on the other machine.
    for record in npp.records(folder).values():
        put(f"npp/{record}/METADATA", (folder / record / "METADATA").read_bytes())
