"""charts - draws the charts of README.md and docs/peers.md from the report of peers.py: SVG files for light and dark
pages."""

import math
from pathlib import Path

IDS = Path(__file__).resolve().parents[1] / "goldens" / "ids.txt"
COLOURS = {"best": "#2f6fd6", "opencv": "#d1722b", "halide": "#3a9a5b", "libblur": "#9b59b6", "avgblur": "#c2529b", "memcpy": "#888888"}
STYLE = """<style>text{font:13px sans-serif;fill:#24292f}line{stroke:#888;stroke-opacity:.4}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>"""


def variants():
    """Returns clreel's variants and what computes each; all other names with a time are libraries."""
    lines = IDS.read_text(encoding="utf-8").splitlines()
    return {line.split(":")[0]: line.split(", ")[1] for line in lines}


def best(results):
    """Returns clreel's shortest time by radius."""
    times, mine = {}, variants()
    for one in results:
        if one["ms"] and one["name"] in mine:
            times[one["radius"]] = min(times.get(one["radius"], math.inf), one["ms"])
    return times


def document(width, height, title, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    return "\n".join([head, STYLE, f'<text x="10" y="20" font-weight="bold">{title}</text>', *parts, "</svg>", ""])


def bar(x, y, length, colour, label):
    return (f'<rect x="{x}" y="{y}" width="{max(length, 1):.1f}" height="14" fill="{colour}"/>'
            f'<text x="{x + max(length, 1) + 6:.1f}" y="{y + 12}">{label}</text>')


def peers(results):
    """Returns the milliseconds of clreel's fastest variant and of each library, by radius."""
    mine, own, parts, y = best(results), variants(), [], 36
    # FFmpeg's OpenCL filters take so long that no other bar could be seen.
    theirs = [one for one in results if one["ms"] and one["name"] not in own and one["name"] in COLOURS]
    longest = max([one["ms"] for one in theirs] + list(mine.values()))
    for radius in mine:
        rows = [("best", mine[radius])] + [(one["name"], one["ms"]) for one in theirs if one["radius"] == radius]
        parts.append(f'<text x="10" y="{y + 12}">r = {radius}</text>')
        for name, ms in rows:
            label = f"{'clreel' if name == 'best' else name} {ms:.2f} ms"
            parts.append(bar(70, y, 480 * ms / longest, COLOURS[name], label))
            y += 18
        y += 8
    return document(720, y + 6, "Box filter of a 1280×720 RGBA frame: milliseconds, shorter is better", parts)


def ladder(results, radius):
    """Draws the variants from naive to fused at one radius, on a logarithmic scale, with their speed-up over naive."""
    times = {one["name"]: one["ms"] for one in results if one["radius"] == radius and one["ms"]}
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
    results = [one for one in report["results"] if one["size"] == "720p"]
    if not best(results):
        return
    (folder / "peers.svg").write_text(peers(results), encoding="utf-8")
    radius = 7 if any(one["radius"] == 7 for one in results) else results[0]["radius"]
    picture = ladder(results, radius)
    if picture:
        (folder / "ladder.svg").write_text(picture, encoding="utf-8")
