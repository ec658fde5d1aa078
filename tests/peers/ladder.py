"""ladder - the variants of a ladder other than the box filter against other libraries: `./dev peers --ladder NAME`. Runs the
ladder_peer example (LADDER_PEER) and the libraries' commands; prints a table, and writes target/peers/NAME.json and NAME.md.

All of them take turns in one loop. Times are the device's where it reports one, and elapsed time elsewhere.
"""

import json
import os
import statistics
import sys
from pathlib import Path

from timing import DEVICE, Contender

ROOT = Path(__file__).resolve().parent.parent.parent
PEER = os.environ.get("LADDER_PEER") or str(ROOT / "target" / "release" / "examples" / "ladder_peer")
ROUNDS = 101
# A graphics card reaches its clock rate after some runs.
WARM = {"cpu": 1, "gpu": 3}


def measure(name, kind, device, commands, cases, say):
    """Returns the report: for each case the median and the shortest time of each contender, in milliseconds."""
    processes = [Contender([PEER, name, device or kind]), *map(Contender, commands)]
    report = {"ladder": name, "device": "", "results": []}
    try:
        report["device"] = " ".join(processes[0].ask("device"))
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
        rows = [{"name": one, "ms": statistics.median(times), "least": min(times)} for _, one, times in entries]
        report["results"].append({"case": case, "rows": rows})
    for process in processes:
        process.end()
    return report


def table(report):
    """Returns the report as Markdown."""
    lines = [f"{report['ladder']} on {report['device']}, {ROUNDS} rounds in turn"]
    for result in report["results"]:
        peak = next((row["ms"] for row in result["rows"] if row["name"] == "peak"), None)
        case = ", ".join(f"{key} {value}" for key, value in result["case"].items())
        lines += ["", f"| {case} | median ms | least ms | × peak |", "|---|---:|---:|---:|"]
        for row in result["rows"]:
            times = f"{row['ms'] / peak:.2f}" if peak else ""
            lines.append(f"| {row['name']} | {row['ms']:.4g} | {row['least']:.4g} | {times} |")
    return "\n".join(lines) + "\n"
