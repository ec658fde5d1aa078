"""ladder - the variants of a ladder other than the box filter against other libraries: `./dev peers --ladder NAME`. Runs the
ladder_peer example (LADDER_PEER) and the libraries' commands; prints a table, and writes target/peers/NAME.json and NAME.md.

All of them take turns in one loop. Times are the device's where it reports one, and elapsed time elsewhere.
"""

import json
import os
import sys
from pathlib import Path

import report as reports
import timing
from timing import DEVICE, Contender

ROOT = Path(__file__).resolve().parent.parent.parent
PEER = os.environ.get("LADDER_PEER") or str(ROOT / "target" / "release" / "examples" / "ladder_peer")
ROUNDS = 101
# A graphics card reaches its clock rate after some runs.
WARM = {"cpu": 1, "gpu": 3}


def measure(name, kind, device, commands, cases, say):
    """Returns the report: for each case the times of each contender."""
    processes = [Contender([PEER, name, device or kind]), *map(Contender, commands)]
    on = {"name": "", "type": kind, "runs": []}
    report = reports.new(name, on, [])
    try:
        on["name"] = " ".join(processes[0].ask("device"))
    except RuntimeError as error:
        say(f"clreel found no {kind} to compute on: {error}.")
        sys.exit(1)
    for case in cases:
        say(f"{kind}, {case}")
        entries = []
        for at, process in enumerate(processes):
            try:
                entries += [(process, one, []) for one in process.ask("open", json.dumps(case))]
            except RuntimeError as error:
                say(f"{'clreel' if at == 0 else commands[at - 1][-1]} is left out: {error}.")
        for _ in range(ROUNDS):
            for entry in list(entries):
                process, one, times = entry
                try:
                    times.append(int(process.ask("run", one, WARM[kind])[DEVICE]) / 1e6)
                except RuntimeError as error:
                    say(f"{one} is left out: {error}.")
                    entries.remove(entry)
        rows = [{**timing.row(one), "outcome": "ok", "samples": {"device_ms": times, "wall_ms": []}, "checked": [{}]}
                for _, one, times in entries]
        text = ", ".join(f"{key} {value}" for key, value in case.items())
        on["runs"].append({"title": text, "case": case, "peaks": [one for one in rows if one["id"] == "peak"],
                           "variants": [one for one in rows if one["id"] != "peak"]})
    for process in processes:
        process.end()
    return report


def table(report):
    """Returns the report as Markdown."""
    [device] = report["devices"]
    lines = [f"{report['ladder']} on {device['name']}, {ROUNDS} rounds in turn"]
    for run in device["runs"]:
        peak = next(map(timing.median, run["peaks"]), None)
        lines += ["", f"| {run['title']} | median ms | least ms | × peak |", "|---|---:|---:|---:|"]
        for row in run["peaks"] + run["variants"]:
            ms = timing.median(row)
            times = f"{ms / peak:.2f}" if peak else ""
            lines.append(f"| {row['id']} | {ms:.4g} | {min(row['samples']['device_ms']):.4g} | {times} |")
    return "\n".join(lines) + "\n"
