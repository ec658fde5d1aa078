"""timing - checks contenders, then times them in turn. They are processes that answer as `examples/peer.rs` describes. The
results are rows of the format that docs/compare.md describes."""

import statistics
import subprocess

CLIP_FRAMES = 3
# The largest allowed difference from the reference, in levels, and why.
FFMPEG = ("avgblur", "avgblur_opencl", "avgblur_opencl+copies", "boxblur_opencl")
# They round differently; all others are exact.
TOLERANCE = {"opencv": 1, "libblur": 1, "npp": 1, "npp-advanced": 1} | dict.fromkeys(FFMPEG, 1)
# These take the mean of the part of a window that is inside of the picture, so only the inner pixels are compared.
INNER = FFMPEG
UNCHECKED = {"memcpy", "copy", "cuda-copy"}  # these filter nothing
SLOW_MS = 3000  # slower ones are left out
LARGE_MS = 20  # those slower at the first size are left out at the others
TOTAL_MS = 2500  # for one contender, radius and size
WALL, DEVICE = 0, 1  # the clocks, by their position in the answer


class Contender:
    def __init__(self, command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def ask(self, *words):
        """Sends a request and returns the words of the answer. Raises a RuntimeError with the reason if there is none."""
        try:
            print(*words, file=self.process.stdin, flush=True)
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer.startswith("ok"):
            raise RuntimeError(" ".join(answer.removeprefix("no ").split()).rstrip(".") or "its process ended")
        return answer.split()[1:]

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended already
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Judge:
    """The reference's pictures for one radius, and comparison with them."""

    def __init__(self, process, folder, radius):
        self.process, self.folder = process, folder
        self.wanted = {frame: folder / f"want{frame}.rgba" for frame in (0, CLIP_FRAMES)}  # of the clip, and noise
        try:
            for frame, path in self.wanted.items():
                process.ask("write", "reference", radius, frame, path)
        except RuntimeError:
            self.end()
            raise

    def difference(self, contender, name, radius, width):
        """Returns the largest difference in levels over both frames, and the percentage of bytes that differ."""
        got, worst, parts = self.folder / "got.rgba", 0, []
        for frame, want in self.wanted.items():
            contender.ask("write", name, radius, frame, got)
            if name in INNER:
                got.write_bytes(with_border(got.read_bytes(), want.read_bytes(), 4 * width, radius))
            levels, differing, count = map(int, self.process.ask("compare", got, want))
            worst = max(worst, levels)
            parts.append(100 * differing / count)
        return worst, sum(parts) / len(parts)

    def end(self):
        for path in [*self.wanted.values(), self.folder / "got.rgba"]:
            path.unlink(missing_ok=True)


def with_border(got, want, row, border):
    """Returns the picture `got`, of `row` bytes a row, with `border` pixels on all sides from the picture `want`. Raises a RuntimeError
    if nothing is left to compare."""
    height, edge = len(want) // row, 4 * border
    if 2 * border >= height or 2 * edge >= row:
        raise RuntimeError("its windows reach over the border everywhere")
    inner = (want[at:at + edge] + got[at + edge:at + row - edge] + want[at + row - edge:at + row]
             for at in range(border * row, (height - border) * row, row))
    return b"".join([want[:border * row], *inner, want[(height - border) * row:]])


def row(name):
    """Returns the row of a contender that was not timed."""
    return {"id": name, "outcome": "skipped", "reason": None, "max_error": None, "samples": None, "checked": []}


def median(one):
    """Returns the median of a row's times in milliseconds, or None."""
    samples = one["samples"] or {}
    times = samples.get("device_ms") or samples.get("wall_ms")
    return statistics.median(times) if times else None


def rows(run):
    """Returns the rows of a case, those that filter nothing last."""
    return run["variants"] + run["peaks"]


def faults(report):
    """Returns what is wrong with a report: contenders that differ from the reference by more than their
    tolerance, or no measurement at all. FFmpeg's filters may differ by more, which the table says."""
    runs = [run for device in report["devices"] for run in device["runs"]]
    found = [f"{one['id']}, {run['title']}: {one['reason']}"
             for run in runs for one in run["variants"] if one["outcome"] == "mismatch" and one["id"] not in FFMPEG]
    if not any(median(one) for run in runs for one in run["variants"]):
        found.append("nothing was timed")
    return found


def one_radius(entries, judge, size, width, radius, rounds, clock, warm, known):
    """Prepares, checks and times all contenders at one radius; returns a list of rows. `clock` is the index of the time that
    counts, `warm` the number of untimed runs before each timed one, `known` the time of each at the first size, and that size.
    A contender that fails is left out from then on, and the others continue."""
    results, ready = [], []
    for contender, name in entries:
        result = row(name)
        results.append(result)
        before_ms, before_size = known.get((name, radius), (0, size))
        if before_ms > LARGE_MS:
            result["reason"] = f"left out: too slow at {before_size}"
            continue
        try:
            ms, *note = contender.ask("prepare", name, radius)
            notes, is_wrong = [" ".join(note)] if note else [], False
            if float(ms) > SLOW_MS:
                result["reason"] = f"left out: one run takes about {float(ms) / 1000:.1f} s"
                known.setdefault((name, radius), (float(ms), size))
                continue
            if name not in UNCHECKED:
                result["max_error"], percent = judge.difference(contender, name, radius, width)
                result["checked"] = [{"sizes": [size], "pictures": ["the clip", "noise"]}]
                if result["max_error"]:
                    notes.append(f"up to {result['max_error']} levels off in {percent:.3g} % of the bytes")
                is_wrong = result["max_error"] > TOLERANCE.get(name, 0)
            result["reason"] = "; ".join(notes) or None
            if is_wrong:
                result["outcome"] = "mismatch"
                if name not in TOLERANCE:
                    result["reason"] = f"wrong: {result['reason']}"
                    continue
        except RuntimeError as error:
            result["reason"] = f"left out: {error}"
            continue
        turns = min(rounds, max(3, int(TOTAL_MS / (2 * max(float(ms), 0.01)))))
        ready.append((contender, name, result, turns, warm if float(ms) < 50 else 0, []))
    for turn in range(rounds):
        for entry in list(ready):
            contender, name, result, turns, before, times = entry
            if turn >= turns:
                continue
            try:
                times.append(contender.ask("run", name, radius, turn % CLIP_FRAMES, before))
            except RuntimeError as error:
                result.update(outcome="skipped", reason=f"left out: {error}")
                ready.remove(entry)
    for _, name, result, _, _, times in ready:
        wall, device = ([int(one[index]) / 1e6 for one in times] for index in (WALL, DEVICE))
        result["samples"] = {"device_ms": device if clock == DEVICE else None, "wall_ms": wall}
        if result["outcome"] == "skipped":
            result["outcome"] = "ok"
        known.setdefault((name, radius), (median(result), size))
    return results
