"""timing - checks contenders, then times them in turn. They are processes that answer as `examples/peer.rs` describes. The
results have the median and the shortest time for each name and radius."""

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


def faults(report):
    """Returns what is wrong with a report: contenders that differ from the reference by more than their
    tolerance, or no measurement at all. FFmpeg's filters may differ by more, which the table says."""
    results = report["results"]
    found = [f"{one['name']}, radius {one['radius']} at {one['size']}: {one['note']}"
             for one in results if one["wrong"] and one["name"] not in FFMPEG]
    if not any(one["ms"] for one in results):
        found.append("nothing was timed")
    return found


def one_radius(entries, judge, size, width, radius, rounds, clock, warm, known):
    """Prepares, checks and times all contenders at one radius; returns a list of results. `clock` is the index of the time that
    counts, `warm` the number of untimed runs before each timed one, `known` the time of each at the first size, and that size.
    A contender that fails is left out from then on, and the others continue."""
    results, ready = [], []
    for contender, name in entries:
        result = {"size": size, "name": name, "radius": radius, "note": "", "ms": None, "difference": 0, "wrong": False}
        results.append(result)
        before_ms, before_size = known.get((name, radius), (0, size))
        if before_ms > LARGE_MS:
            result["note"] = f"left out: too slow at {before_size}"
            continue
        try:
            ms, *note = contender.ask("prepare", name, radius)
            result["note"] = " ".join(note)
            if float(ms) > SLOW_MS:
                result["note"] = f"left out: one run takes about {float(ms) / 1000:.1f} s"
                known.setdefault((name, radius), (float(ms), size))
                continue
            if name not in UNCHECKED:
                result["difference"], percent = judge.difference(contender, name, radius, width)
                if result["difference"]:
                    off = f"up to {result['difference']} levels off in {percent:.3g} % of the bytes"
                    result["note"] = "; ".join(part for part in (result["note"], off) if part)
            result["wrong"] = result["difference"] > TOLERANCE.get(name, 0)
            if result["wrong"] and name not in TOLERANCE:
                result["note"] = f"wrong: {result['note']}"
                continue
        except RuntimeError as error:
            result["note"] = f"left out: {error}"
            continue
        turns = min(rounds, max(3, int(TOTAL_MS / (2 * max(float(ms), 0.01)))))
        ready.append((contender, name, result, turns, warm if float(ms) < 50 else 0, []))
    for turn in range(rounds):
        for entry in list(ready):
            contender, name, result, turns, before, times = entry
            if turn >= turns:
                continue
            try:
                times.append(int(contender.ask("run", name, radius, turn % CLIP_FRAMES, before)[clock]) / 1e6)
            except RuntimeError as error:
                result["note"] = f"left out: {error}"
                ready.remove(entry)
    for _, name, result, _, _, times in ready:
        result.update(ms=statistics.median(times), least=min(times), rounds=len(times))
        known.setdefault((name, radius), (result["ms"], size))
    return results
