"""report - formats the report of peers.py as Markdown, and writes it into
docs/peers.md between its marks."""

import datetime
import os
import platform
import subprocess

import charts
import timing


def new(ladder, device, libraries):
    """Returns the report of results on a device, in the format that docs/compare.md describes; the libraries and the load at the
    start are keys of its own."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.machine())
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    host = {"name": platform.node(), "system": f"{platform.system()} {platform.release()}", "processor": model,
            "processors": len(os.sched_getaffinity(0))}
    return {"schema": 2, "kind": "bench", "program": "clreel ./dev peers", "date": date, "host": host, "ladder": ladder,
            "libraries": libraries, "load": round(os.getloadavg()[0], 1), "devices": [device]}


def run(title, case, rows):
    """Returns the results of a case. What filters nothing is a peak kernel."""
    peaks = [one for one in rows if one["id"] in timing.UNCHECKED]
    return {"title": title, "case": case, "peaks": peaks, "variants": [one for one in rows if one not in peaks]}


def versions_of(python, lock):
    """Returns OpenCV's and Halide's versions from Python, libblur's from its lock file, libavfilter's from pkg-config."""
    asked = "import importlib.metadata as m\nfor n in ('opencv-python-headless','halide'):\n" \
            "  try: print(n, m.version(n))\n  except m.PackageNotFoundError: pass"
    libraries = []
    if python.exists():
        libraries = subprocess.run([str(python), "-c", asked], capture_output=True, text=True).stdout.split("\n")
    lines = lock.read_text().splitlines() if lock.exists() else []
    for name, version in zip(lines, lines[1:]):
        if name == 'name = "libblur"':
            libraries.append("libblur " + version.split('"')[1])
    ffmpeg = ["pkg-config", "--modversion", "libavfilter"]
    try:
        libraries.append("libavfilter " + subprocess.run(ffmpeg, capture_output=True, text=True, check=True).stdout.strip())
    except (OSError, subprocess.CalledProcessError):
        pass  # it is left out
    return [name for name in libraries if name]


def number(value):
    """Formats a number with three digits, or with all before the point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(report):
    """Returns Markdown: a line about the machine, a table for each size, and notes on single runs."""
    [device], host = report["devices"], report["host"]
    on_gpu = device["type"] == "gpu"
    unit, scale, clock = ("µs", 1000, "device") if on_gpu else ("ms", 1, "wall")
    first = [device["name"], "; ".join(report["libraries"]), report["date"][:10]]
    if not on_gpu:
        first.insert(0, f"{host['processor']}, {host['processors']} cores")
        first.append(f"load {report['load']} at the start")
    text = [f"{'; '.join(part for part in first if part)}. Medians of {clock} time in {unit}; in brackets the time as a "
            "multiple of clreel's best.", ""]
    notes = []
    for size in dict.fromkeys(run["case"]["size"] for run in device["runs"]):
        runs = [run for run in device["runs"] if run["case"]["size"] == size]
        radii = [run["case"]["radius"] for run in runs]
        best = charts.best(runs)
        text += [f"| {size} | " + " | ".join(f"r = {radius}" for radius in radii) + " |", "|---" * (len(radii) + 1) + "|"]
        for name in dict.fromkeys(one["id"] for run in runs for one in timing.rows(run)):
            cells = []
            for radius, run in zip(radii, runs):
                one = next((one for one in timing.rows(run) if one["id"] == name), timing.row(name))
                ms, why = timing.median(one), one["reason"] or ""
                factor = f" ({ms / best[radius]:.2f}×)" if ms and radius in best else ""
                is_wrong = one["outcome"] == "mismatch"
                cells.append(f"{number(ms * scale)}{factor}{', wrong' if is_wrong else ''}" if ms else why.split(":")[0])
                if why and (name in ("halide", "auto", "npp", "npp-advanced") or not ms or is_wrong):
                    notes.append(f"{name} r={radius} {size}: {why}")
            text.append(f"| {name} | " + " | ".join(cells) + " |")
        text.append("")
    return "\n".join(text + ["- " + note for note in notes]) + "\n"


def publish(report, root):
    """Rewrites the table in docs/peers.md, and for a CPU the charts."""
    mark = "gpu-peers" if report["devices"][0]["type"] == "gpu" else "peers"
    if mark == "peers":
        charts.write(report, root / "assets")
    page = root / "docs" / "peers.md"
    before, rest = page.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n", 1)
    after = rest.split(f"<!-- /{mark} -->\n", 1)[1]
    # Notes on single runs are not published.
    text = "".join(line for line in table(report).splitlines(True) if not line.startswith("- ")).rstrip("\n") + "\n"
    page.write_text(f"{before}<!-- {mark} -->\n{text}<!-- /{mark} -->\n{after}", encoding="utf-8")
