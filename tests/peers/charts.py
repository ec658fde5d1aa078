"""charts - draws the charts of README.md and docs/peers.md from the report of peers.py: SVG files for light and dark
pages."""

import math
from pathlib import Path

import timing

IDS = Path(__file__).resolve().parents[1] / "goldens" / "ids.txt"
COLOURS = {"best": "#2f6fd6", "opencv": "#d1722b", "halide": "#3a9a5b", "libblur": "#9b59b6", "avgblur": "#c2529b", "memcpy": "#888888"}
STYLE = """<style>text{font:13px sans-serif;fill:#24292f}line{stroke:#888;stroke-opacity:.4}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>"""


def variants():
    """Returns clreel's variants and what computes each; all other names with a time are libraries."""
    lines = IDS.read_text(encoding="utf-8").splitlines()
    return {line.split(":")[0]: line.split(", ")[1] for line in lines}


def best(runs):
    """Returns clreel's shortest time by radius."""
    found, mine = {}, variants()
    for run in runs:
        own = [timing.median(one) for one in run["variants"] if timing.median(one) and one["id"] in mine]
        if own:
            found[run["case"]["radius"]] = min(own)
    return found


def document(width, height, title, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    return "\n".join([head, STYLE, f'<text x="10" y="20" font-weight="bold">{title}</text>', *parts, "</svg>", ""])


def bar(x, y, length, colour, label):
    return (f'<rect x="{x}" y="{y}" width="{max(length, 1):.1f}" height="14" fill="{colour}"/>'
            f'<text x="{x + max(length, 1) + 6:.1f}" y="{y + 12}">{label}</text>')


def peers(runs):
    """Returns the milliseconds of clreel's fastest variant and of each library, by radius."""
    mine, own, parts, y = best(runs), variants(), [], 36
    # FFmpeg's OpenCL filters take so long that no other bar could be seen.
    theirs = [(run["case"]["radius"], one["id"], timing.median(one)) for run in runs for one in timing.rows(run)
              if timing.median(one) and one["id"] not in own and one["id"] in COLOURS]
    longest = max([ms for *_, ms in theirs] + list(mine.values()))
    for radius in mine:
        rows = [("best", mine[radius])] + [(name, ms) for at, name, ms in theirs if at == radius]
        parts.append(f'<text x="10" y="{y + 12}">r = {radius}</text>')
        for name, ms in rows:
            label = f"{'clreel' if name == 'best' else name} {ms:.2f} ms"
            parts.append(bar(70, y, 480 * ms / longest, COLOURS[name], label))
            y += 18
        y += 8
    return document(720, y + 6, "Box filter of a 1280×720 RGBA frame: milliseconds, shorter is better", parts)


def ladder(runs, radius):
    """Draws the variants from naive to fused at one radius, on a logarithmic scale, with their speed-up over naive."""
    rows = [one for run in runs if run["case"]["radius"] == radius for one in run["variants"]]
    times = {one["id"]: timing.median(one) for one in rows if timing.median(one)}
    # auto is one of the others.
    steps = [name for name in times if variants().get(name) == "opencl" and name != "auto"]
    if len(steps) < 2:
        return None
    low = math.floor(math.log10(min(times[name] for name in steps)))
    high = math.log10(max(times[name] for name in steps))
    parts, y = [], 36
    for name in steps:
        ms = times[name]
        parts.append(f'<text x="10" y="{y + 12}">{name}</text>')
        label = f"{ms:.3g} ms, {times[steps[0]] / ms:,.0f}×"
        parts.append(bar(110, y, 430 * (math.log10(ms) - low) / (high - low), COLOURS["best"], label))
        y += 22
    title = f"The ladder at 1280×720, r = {radius}: milliseconds on a logarithmic scale, and the factor to {steps[0]}"
    return document(720, y + 8, title, parts)


def write(report, folder):
    runs = [run for device in report["devices"] for run in device["runs"] if run["case"]["size"] == "720p"]
    if not best(runs):
        return
    (folder / "peers.svg").write_text(peers(runs), encoding="utf-8")
    radii = [run["case"]["radius"] for run in runs]
    picture = ladder(runs, 7 if 7 in radii else radii[0])
    if picture:
        (folder / "ladder.svg").write_text(picture, encoding="utf-8")
