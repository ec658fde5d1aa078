#!/usr/bin/env python3
"""peers.py - clreel's box filters against those of other libraries. `./dev peers` runs it.

Comes in: the peer example of clreel (PEER) and network access to the registries. Goes out: target/peers/peers.json and
peers.md (also on stdout), and with --publish the table in docs/peers.md and the charts assets/peers.svg and assets/ladder.svg.
Where there is NVIDIA's driver, gpu-peers.json and gpu-peers.md, too: the same on the graphics card, against NPP. Each
contender is a process that holds the same frames; in each round each of them filters one frame, in turn.
"""

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ladder
import npp
import report as reports
from timing import CLIP_FRAMES, DEVICE, WALL, Contender, Judge, faults, one_radius

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = Path(os.environ.get("PEERS_WORK") or ROOT / "target" / "peers")
PYTHON = WORK / "venv" / "bin" / "python"
PEER = os.environ.get("PEER") or str(ROOT / "target" / "release" / "examples" / "peer")
SIZES = {"720p": (1280, 720, 31), "1080p": (1920, 1080, 21), "4K": (3840, 2160, 9)}
RADII = [1, 3, 7, 15, 31]
GPU_ROUNDS = 31


def say(text):
    print(f"peers: {text}", file=sys.stderr, flush=True)


def attempt(what, command, **options):
    """Runs a command; if it fails, prints a message that `what` is left out. Returns true if it succeeded."""
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, timeout=600, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"{what} is left out: {error}.")
        return False
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        say(f"{what} is left out: its registry could not be reached, or it does not build here ({lines[-1]}).")
    return done.returncode == 0


def has_python():
    return PYTHON.exists() or attempt("Python's libraries", [sys.executable, "-m", "venv", WORK / "venv"])


def install():
    """Installs the libraries for the processor in target/peers; returns the contenders' commands by name."""
    found = {}
    if has_python():
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--upgrade"]
        if attempt("OpenCV", [*pip, "numpy", "opencv-python-headless"]):
            found["opencv"] = [PYTHON, HERE / "opencv_peer.py"]
        if attempt("Halide", [*pip, "numpy", "halide"]):
            found["halide"] = [PYTHON, HERE / "halide_peer.py"]
    project = WORK / "libblur"
    shutil.copytree(HERE / "libblur", project, dirs_exist_ok=True)
    if attempt("libblur", ["cargo", "build", "--release", "--manifest-path", project / "Cargo.toml", "--target-dir",
                           project / "target"]):
        found["libblur"] = [project / "target" / "release" / "libblur-peer"]
    if build_ffmpeg():
        found["ffmpeg"] = [WORK / "ffmpeg-peer"]
    return found


def build_ffmpeg():
    """Builds the contender with FFmpeg's filters; returns true if it succeeded."""
    libraries = ["libavfilter", "libavutil"]
    try:
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", *libraries], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        say("FFmpeg's filters are left out: libavfilter-dev is not installed.")
        return False
    source = HERE / "ffmpeg_peer.c"
    return attempt("FFmpeg's filters", ["cc", "-O2", "-o", WORK / "ffmpeg-peer", source, *flags.stdout.split()])


def install_npp():
    """Returns the folder with NPP, or None. NPP_DIR names one that has the libraries already."""
    named = os.environ.get("NPP_DIR")
    folder = Path(named or WORK / "npp")
    if not npp.is_there(folder):
        if not named and not (has_python() and attempt("NPP", npp.install_command(PYTHON, folder))):
            return None
        if not npp.is_there(folder):
            say(f"NPP is left out: {folder} does not hold all of {', '.join(npp.LIBRARIES)}.")
            return None
    return folder


def pack_all(args):
    import pack  # missing, and not needed, on the machine where the archive is unpacked

    WORK.mkdir(parents=True, exist_ok=True)
    folder = install_npp()
    if not folder:
        sys.exit(1)
    try:
        size = pack.pack(args.pack, PEER, folder, args.processor)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        say(f"{args.pack} could not be packed: {error}.")
        sys.exit(1)
    print(f"{args.pack}: {size / 2**20:.1f} MiB. On the NVIDIA machine: tar -xf {args.pack.name} && gpu-peers/run")


def has_nvidia():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def measure(kind, args, commands, versions):
    """Returns the report of one kind of device, cpu or gpu."""
    on_gpu = kind == "gpu"
    device = {"name": "", "type": kind, "runs": []}
    report = reports.new("box_filter", device, versions)
    processes = {"clreel": Contender([PEER, "serve", args.device or kind])}
    try:
        device["name"] = " ".join(processes["clreel"].ask("device"))
    except RuntimeError as error:
        say(f"clreel found no {kind} to compute on: {error}.")
        sys.exit(1)
    for name, command in commands.items():
        # Libraries on the graphics card take the one that clreel uses.
        processes[name] = Contender([*command, device["name"]] if on_gpu else command)
    known = {}
    frames = WORK / "frames.rgba"
    for size in args.size or SIZES:
        width, height, rounds = SIZES[size]
        try:
            subprocess.run([PEER, "frames", frames, str(width), str(height), str(CLIP_FRAMES)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            say(f"{size} is left out: its frames could not be made ({error}).")
            continue
        entries, is_open = [], set()
        for library, process in processes.items():
            try:
                entries += [(process, name) for name in process.ask("open", frames, width, height)]
                is_open.add(library)
            except RuntimeError as error:
                say(f"{library} is left out: {error}.")
        if "clreel" not in is_open:
            say(f"{size} is left out: nothing can be checked without clreel.")
            continue
        for radius in args.radius or RADII:
            say(f"{kind}, {size}, radius {radius}")
            try:
                judge = Judge(processes["clreel"], WORK, radius)
            except RuntimeError as error:
                say(f"radius {radius} is left out, as clreel has no reference for it: {error}.")
                continue
            # On a CPU each runs after another's work, the copy too, so that the caches are in the same state for all. A graphics
            # card reaches its clock rate after some runs.
            how = (GPU_ROUNDS, DEVICE, 3) if on_gpu else (rounds, WALL, 0)
            found = one_radius(entries, judge, size, width, radius, *how, known)
            case = {"size": size, "width": width, "height": height, "radius": radius}
            device["runs"].append(reports.run(f"{size} · radius {radius}", case, found))
            judge.end()
    for process in processes.values():
        process.end()
    frames.unlink(missing_ok=True)
    return report


def ladder_command(name, kind):
    """Returns the command that runs the other libraries of a ladder, or None."""
    if not has_python():
        return []
    library = "cupy-cuda12x" if kind == "gpu" else "opencv-python-headless"
    if not attempt(library, [PYTHON, "-m", "pip", "install", "--quiet", "numpy", library]):
        return []
    return [[PYTHON, HERE / f"{name}_peer.py", kind]]


def measure_ladder(args):
    """Measures a ladder other than the box filter, on the processor and on an NVIDIA card if there is one."""
    WORK.mkdir(parents=True, exist_ok=True)
    kinds = [args.only] if args.only else ["cpu", "gpu"] if has_nvidia() else ["cpu"]
    sizes = [SIZES[size] for size in args.size or ["1080p", "4K"]]
    cases = [{"width": width, "height": height, "block": 64} for width, height, _ in sizes]
    for kind in kinds:
        report = ladder.measure(args.ladder, kind, args.device, ladder_command(args.ladder, kind), cases, say)
        name = f"{'gpu-' if kind == 'gpu' else ''}{args.ladder}"
        (WORK / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        (WORK / f"{name}.md").write_text(ladder.table(report), encoding="utf-8")
        print(ladder.table(report))


def main():
    parser = argparse.ArgumentParser(prog="./dev peers",
                                     description="clreel against OpenCV, Halide, libblur and FFmpeg, and against NVIDIA's NPP")
    parser.add_argument("--size", choices=SIZES, action="append", help="only this size; may be given again")
    parser.add_argument("--radius", type=int, action="append", help="only this radius; may be given again")
    parser.add_argument("--only", choices=["cpu", "gpu"],
                        help="only the processor, or only the graphics card; otherwise both where there is NVIDIA's driver")
    parser.add_argument("--device", help="the OpenCL device by a part of its name, where there are several of the kind")
    parser.add_argument("--report", type=Path, help="measure nothing: take the results that an earlier run left in a file")
    parser.add_argument("--publish", action="store_true",
                        help="also write the table in docs/peers.md anew, and the charts in assets/ (they need 720p)")
    parser.add_argument("--pack", type=Path, metavar="FILE.tar.xz",
                        help="measure nothing: pack all for an NVIDIA machine without network; see tests/peers/pack.py")
    parser.add_argument("--processor", type=int, default=90, help="with --pack: as in sm_90, which is the default")
    parser.add_argument("--ladder", choices=["reduction"],
                        help="another ladder than the box filter, against what other libraries have for it")
    args = parser.parse_args()
    if args.ladder:
        measure_ladder(args)
        return
    if args.pack:
        pack_all(args)
        return
    found = []
    if args.report:
        found.append(json.loads(args.report.read_text(encoding="utf-8")))
    else:
        WORK.mkdir(parents=True, exist_ok=True)
    if not args.report and args.only != "gpu":
        commands = install()
        versions = reports.versions_of(PYTHON, WORK / "libblur" / "Cargo.lock")
        found.append(measure("cpu", args, commands, versions))
    if not args.report and (args.only == "gpu" or args.only is None and has_nvidia()):
        if not has_nvidia():
            say("NPP is left out: there is no NVIDIA driver here (libcuda.so.1 was not found).")
        folder = install_npp() if has_nvidia() else None
        commands = {"npp": [sys.executable, HERE / "npp_peer.py", folder]} if folder else {}
        found.append(measure("gpu", args, commands, npp.versions(folder) if folder else []))
    failed = False
    for report in found:
        text = reports.table(report)
        if not args.report:
            name = "gpu-peers" if report["devices"][0]["type"] == "gpu" else "peers"
            (WORK / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            (WORK / f"{name}.md").write_text(text, encoding="utf-8")
        wrong = [] if args.report else faults(report)
        if args.publish and not wrong:
            reports.publish(report, ROOT)
        print(text)
        for fault in wrong:
            say(f"fault: {fault}")
        failed |= bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
