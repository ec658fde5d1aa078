#!/usr/bin/env python3
"""peers.py - clreel's box filters against those of other libraries. `./dev peers` runs it.

Comes in: the peer example of clreel (PEER) and network access to the registries. Goes out: target/peers/peers.json and
peers.md (also on stdout), and with --publish the README's
table and the charts assets/peers.svg and assets/ladder.svg. Each contender is a process that holds
the same frames; in each round each of them filters one frame, in turn: once to warm up, then once by the clock.
"""

import argparse
import datetime
import json
import operator
import os
import platform
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import charts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "peers"
PYTHON = WORK / "venv" / "bin" / "python"
SIZES = {"720p": (1280, 720, 31), "1080p": (1920, 1080, 21), "4K": (3840, 2160, 9)}
RADII = [1, 3, 7, 15, 31]
CLIP_FRAMES = 3
# How far each may be from the reference, in levels, and why.
TOLERANCE = {"opencv": 1, "libblur": 1}  # both multiply by a rounded reciprocal; all others are exact
SLOW_MS = 3000  # what takes longer is left out
LARGE_MS = 20  # what takes longer at 720p is left out at the larger sizes
TOTAL_MS = 2500  # for one contender, radius and size


def say(text):
    print(f"peers: {text}", file=sys.stderr, flush=True)


def attempt(what, command, **options):
    """Runs a command; where it fails, a sentence says so and the script goes on without `what`."""
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


def install():
    """Puts the libraries in target/peers; gives the contenders' commands by name."""
    WORK.mkdir(parents=True, exist_ok=True)
    found = {}
    if PYTHON.exists() or attempt("Python's libraries", [sys.executable, "-m", "venv", WORK / "venv"]):
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
    return found


class Contender:
    def __init__(self, command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def ask(self, *words):
        """The words of the answer. A RuntimeError tells why there is none."""
        try:
            print(*words, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer.startswith("ok"):
            raise RuntimeError(answer.removeprefix("no ") or "its process ended")
        return answer.split()[1:]

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def difference(contender, judge, name, radius):
    """The largest difference from the reference, over a frame of the clip and a frame of noise."""
    got, want = WORK / "got.rgba", WORK / "want.rgba"
    worst = 0
    for frame in (0, CLIP_FRAMES):
        judge.ask("write", "reference", radius, frame, want)
        contender.ask("write", name, radius, frame, got)
        a, b = got.read_bytes(), want.read_bytes()
        if len(a) != len(b):
            return 255
        if a != b:
            worst = max(worst, max(map(abs, map(operator.sub, a, b))))
    return worst


def one_radius(entries, judge, radius, rounds, known):
    """Prepares, checks and times all contenders at one radius; gives a list of results."""
    results, ready = [], []
    for contender, name in entries:
        result = {"name": name, "radius": radius, "note": "", "ms": None, "difference": 0}
        results.append(result)
        if known.get((name, radius), 0) > LARGE_MS:
            result["note"] = "left out: too slow at 720p"
            continue
        try:
            ms, *note = contender.ask("prepare", name, radius)
            result["note"] = " ".join(note)
            if float(ms) > SLOW_MS:
                result["note"] = f"left out: one run takes about {float(ms) / 1000:.1f} s"
                known.setdefault((name, radius), float(ms))
                continue
            if name != "memcpy":
                result["difference"] = difference(contender, judge, name, radius)
            if result["difference"] > TOLERANCE.get(name, 0):
                result["note"] = f"wrong: up to {result['difference']} levels from the reference"
                continue
        except RuntimeError as error:
            result["note"] = f"left out: {error}"
            continue
        turns = min(rounds, max(3, int(TOTAL_MS / (2 * float(ms)))))
        ready.append((contender, name, result, turns, 1 if float(ms) < 50 else 0, []))
    for turn in range(rounds):
        for contender, name, _, turns, warm, times in ready:
            if turn < turns:
                times.append(int(contender.ask("run", name, radius, turn % CLIP_FRAMES, warm)[0]) / 1e6)
    for _, name, result, _, _, times in ready:
        result.update(ms=statistics.median(times), least=min(times), rounds=len(times))
        known.setdefault((name, radius), result["ms"])
    return results


def machine(python):
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.machine())
    asked = "import importlib.metadata as m\nfor n in ('opencv-python-headless','halide'):\n" \
            "  try: print(n, m.version(n))\n  except m.PackageNotFoundError: pass"
    libraries = []
    if python.exists():
        libraries = subprocess.run([str(python), "-c", asked], capture_output=True, text=True).stdout.split("\n")
    lock = WORK / "libblur" / "Cargo.lock"
    lines = lock.read_text().splitlines() if lock.exists() else []
    for name, version in zip(lines, lines[1:]):
        if name == 'name = "libblur"':
            libraries.append("libblur " + version.split('"')[1])
    return {"processor": model, "cores": len(os.sched_getaffinity(0)), "date": datetime.date.today().isoformat(),
            "load": round(os.getloadavg()[0], 1), "libraries": [name for name in libraries if name]}


def table(report):
    facts = report["machine"]
    text = [f"{facts['processor']}, {facts['cores']} cores, {report['device']}; {', '.join(facts['libraries'])}; "
            f"{facts['date']}, load {facts['load']} at the start. Medians in ms; in brackets the time as a multiple of "
            "clreel's best.", ""]
    for size in report["sizes"]:
        results = [one for one in report["results"] if one["size"] == size]
        names = list(dict.fromkeys(one["name"] for one in results))
        radii = list(dict.fromkeys(one["radius"] for one in results))
        best = charts.best(results)
        text += [f"| {size} | " + " | ".join(f"r = {radius}" for radius in radii) + " |", "|---" * (len(radii) + 1) + "|"]
        for name in names:
            cells = []
            for radius in radii:
                one = next(r for r in results if r["name"] == name and r["radius"] == radius)
                factor = f" ({one['ms'] / best[radius]:.2f}×)" if one["ms"] and radius in best else ""
                cells.append(f"{one['ms']:.3g}{factor}" if one["ms"] else one["note"].split(":")[0])
            text.append(f"| {name} | " + " | ".join(cells) + " |")
        text.append("")
    notes = [f"{one['name']} r={one['radius']} {one['size']}: {one['note']}" for one in report["results"]
             if one["note"] and (one["name"] in ("halide", "auto") or not one["ms"])]
    return "\n".join(text + ["- " + note for note in notes]) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="./dev peers", description="clreel against OpenCV, Halide and libblur")
    parser.add_argument("--size", choices=SIZES, action="append", help="only this size; may be given again")
    parser.add_argument("--radius", type=int, action="append", help="only this radius; may be given again")
    parser.add_argument("--publish", action="store_true",
                        help="also write the charts in assets/ and the table in README.md anew (needs 720p)")
    args = parser.parse_args()
    peer = os.environ.get("PEER") or str(ROOT / "target" / "release" / "examples" / "peer")
    commands = install()
    report = {"schema": 1, "machine": machine(PYTHON), "device": "", "sizes": [], "results": []}
    processes = {"clreel": Contender([peer, "serve", "cpu"])}
    processes.update({name: Contender(command) for name, command in commands.items()})
    report["device"] = " ".join(processes["clreel"].ask("device"))
    known = {}
    for size in args.size or SIZES:
        width, height, rounds = SIZES[size]
        frames = WORK / "frames.rgba"
        subprocess.run([peer, "frames", frames, str(width), str(height), str(CLIP_FRAMES)], check=True)
        entries = []
        for library, process in processes.items():
            try:
                entries += [(process, name) for name in process.ask("open", frames, width, height)]
            except RuntimeError as error:
                say(f"{library} is left out: {error}.")
        report["sizes"].append(size)
        for radius in args.radius or RADII:
            say(f"{size}, radius {radius}")
            for result in one_radius(entries, processes["clreel"], radius, rounds, known):
                report["results"].append({"size": size, **result})
    for process in processes.values():
        process.end()
    for name in ("frames.rgba", "got.rgba", "want.rgba"):
        (WORK / name).unlink(missing_ok=True)
    text = table(report)
    (WORK / "peers.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (WORK / "peers.md").write_text(text, encoding="utf-8")
    if args.publish:
        charts.write(report, ROOT / "assets")
        readme = ROOT / "README.md"
        before, rest = readme.read_text(encoding="utf-8").split("<!-- peers -->\n", 1)
        after = rest.split("<!-- /peers -->\n", 1)[1]
        # The notes on single runs are for who measures.
        text = "".join(line for line in text.splitlines(True) if not line.startswith("- ")).rstrip("\n") + "\n"
        readme.write_text(f"{before}<!-- peers -->\n{text}<!-- /peers -->\n{after}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
