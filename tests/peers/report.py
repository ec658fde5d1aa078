"""report - formats the report of peers.py as Markdown, and writes it into
docs/peers.md between its marks."""

import datetime
import os
import platform
import subprocess

import charts


def machine(versions, processor_too):
    """Returns the table's first line, about the machine and the libraries."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.machine())
    facts = {"date": datetime.date.today().isoformat(), "libraries": versions}
    if processor_too:
        facts.update(processor=model, cores=len(os.sched_getaffinity(0)), load=round(os.getloadavg()[0], 1))
    return facts


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
    facts, on_gpu = report["machine"], report["clock"] == "device"
    unit, scale, clock = ("µs", 1000, "device") if on_gpu else ("ms", 1, "wall")
    first = [report["device"], "; ".join(facts["libraries"]), facts["date"]]
    if not on_gpu:
        first.insert(0, f"{facts['processor']}, {facts['cores']} cores")
        first.append(f"load {facts['load']} at the start")
    text = [f"{'; '.join(part for part in first if part)}. Medians of {clock} time in {unit}; in brackets the time as a "
            "multiple of clreel's best.", ""]
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
                wrong = ", wrong" if one["wrong"] and one["ms"] else ""
                cells.append(f"{number(one['ms'] * scale)}{factor}{wrong}" if one["ms"] else one["note"].split(":")[0])
            text.append(f"| {name} | " + " | ".join(cells) + " |")
        text.append("")
    notes = [f"{one['name']} r={one['radius']} {one['size']}: {one['note']}" for one in report["results"] if one["note"]
             and (one["name"] in ("halide", "auto", "npp", "npp-advanced") or not one["ms"] or one["wrong"])]
    return "\n".join(text + ["- " + note for note in notes]) + "\n"


def publish(report, root):
    """Rewrites the table in docs/peers.md, and for a CPU the charts."""
    mark = "gpu-peers" if report["clock"] == "device" else "peers"
    if mark == "peers":
        charts.write(report, root / "assets")
    page = root / "docs" / "peers.md"
    before, rest = page.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n", 1)
    after = rest.split(f"<!-- /{mark} -->\n", 1)[1]
    # Notes on single runs are not published.
    text = "".join(line for line in table(report).splitlines(True) if not line.startswith("- ")).rstrip("\n") + "\n"
    page.write_text(f"{before}<!-- {mark} -->\n{text}<!-- /{mark} -->\n{after}", encoding="utf-8")
