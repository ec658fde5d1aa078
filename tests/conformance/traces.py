#!/usr/bin/env python3
"""Draws when host and device work in each variant of `clreel bench --ladder conversions`, as an SVG for light and dark pages.
Arguments: the binary, the device, how many numbers. The SVG goes to stdout.

    tests/conformance/traces.py target/release/clreel cpu 4194240 > assets/conversions-pocl.svg

Each variant is measured alone with --trace; its last run is drawn. All have the same scale, so that gaps in the
device's row can be compared, and the shorter row of the next variant with them."""

import json
import os
import subprocess
import sys
import tempfile

PART, SHARE = 48 * 21845, 48 * 5461
# The ladder's variants on the device, by lines of the golden such as "conversions/fused: opencl, Fused. …".
with open(os.path.join(os.path.dirname(__file__), "../goldens/variants.txt"), encoding="utf-8") as variants:
    LINES = [line.split(": ", 1) for line in variants if line.startswith("conversions/")]
VARIANTS = [name.split("/")[1] for name, told in LINES if told.startswith("opencl")]
HOST = {"numbers and reference": "#2f6fd6", "write": "#d1722b", "read": "#d1722b", "compare": "#9b59b6", "wait": "none"}
DEVICE = "#3a9a5b"
STYLE = """<style>text{font:13px sans-serif;fill:#24292f}rect.w{fill:none;stroke:#888;stroke-opacity:.5}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>"""
LEFT, WIDTH = 150, 720


def traced(binary, device, count, variant):
    """Returns the spans of the variant's last run in milliseconds: (thread or None for the device, name, from, to)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        command = [binary, "bench", "--ladder", "conversions", "--device", device, "--count", str(count), "--frames", "1"]
        subprocess.run(command + ["--variant", variant, "--trace", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    spans = [(None if event["name"] == "convert" else event["tid"], event["name"], event["ts"] / 1e3,
              (event["ts"] + event["dur"]) / 1e3) for event in events if event["name"] == "convert" or event["name"] in HOST]
    made = sorted(span[2] for span in spans if span[1] == "numbers and reference")
    parts = -(-count // (SHARE if variant == "threads" else PART))
    if len(made) < parts:
        sys.exit(f"traces: the trace of {variant} has {len(made)} of {parts} parts")
    began = made[-parts]
    last = [(thread, name, start - began, end - began) for thread, name, start, end in spans if start >= began]
    for name in ["convert", "compare"]:
        if not any(span[1] == name for span in last):
            sys.exit(f"traces: the trace of {variant} has no '{name}'")
    return last


def main():
    binary, device, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if not VARIANTS:
        sys.exit("traces: tests/goldens/variants.txt has no variant of conversions")
    rows = [(variant, traced(binary, device, count, variant)) for variant in VARIANTS]
    longest = max(span[3] for _, spans in rows for span in spans)
    first = max(span[3] for span in rows[0][1])
    parts, y = [], 58
    legend = [("numbers and reference", "#2f6fd6"), ("copy", "#d1722b"), ("compare", "#9b59b6"), ("device", DEVICE)]
    x = 10
    for name, colour in legend:
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="43">{name}</text>')
        x += 35 + 7 * len(name)
    parts.append(f'<rect class="w" x="{x}" y="32" width="12" height="12"/><text x="{x + 17}" y="43">the host waits</text>')
    for variant, spans in rows:
        took = max(span[3] for span in spans)
        parts.append(f'<text x="10" y="{y + 13}">{variant}</text><text x="10" y="{y + 30}">{first / took:.1f} ×</text>')
        threads = sorted({span[0] for span in spans if span[0] is not None})
        for thread, name, start, end in spans:
            left, width = LEFT + WIDTH * start / longest, max(WIDTH * (end - start) / longest, 0.4)
            fill = DEVICE if thread is None else HOST[name]
            look = 'class="w"' if fill == "none" else f'fill="{fill}"'
            # Threads are drawn below each other in the host's row.
            height = 14 if thread is None else 14 / len(threads)
            row = y + (17 if thread is None else threads.index(thread) * height)
            parts.append(f'<rect {look} x="{left:.1f}" y="{row:.1f}" width="{width:.1f}" height="{height:.1f}"/>')
        y += 44
    title = "Conversions: what host and device do in each variant, on one scale"
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 10} {y}" role="img" aria-label="{title}">')
    print(STYLE, f'<text x="10" y="20" font-weight="bold">{title}</text>', *parts, "</svg>", sep="\n")


if __name__ == "__main__":
    main()
