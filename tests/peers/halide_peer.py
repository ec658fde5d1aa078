"""halide_peer - the box filter in Halide for peers.py.

Four schedules, compiled for the radius (a constant, to Halide's advantage) and this processor; the fastest of those
that are tried for a radius and a size is timed, and its name is reported. Rows are bytes, four per pixel; the border
repeats the edge pixel. Sums are integers, so the result is exact.
"""

import os
import time

import halide as hl
import numpy as np

import contender

I, Y = hl.Var("i"), hl.Var("y")
STRIP, INNER = hl.Var("strip"), hl.Var("inner")
CORES = len(os.sched_getaffinity(0))
LANES = 32  # 16-bit lanes; two or four registers on processors with shorter vectors


class Picture:
    """The input as functions of the byte in the row and the row."""

    def __init__(self):
        self.source = hl.ImageParam(hl.UInt(8), 2)
        self.row, self.rows = self.source.dim(0).extent(), self.source.dim(1).extent()
        self.source.dim(0).set_min(0)
        self.source.dim(1).set_min(0).set_stride(self.row)

    def within(self):
        """Returns byte I of a row with its edge pixels repeated."""
        channel = I & 3
        inside = hl.select(I < 0, channel, I >= self.row, self.row - 4 + channel, hl.likely(I))
        return hl.clamp(inside, 0, self.row - 1)

    def at(self, i, y):
        """Returns a byte, where rows beyond the picture are its first or last one; `i` must lie inside."""
        return self.source[i, hl.clamp(y, 0, self.rows - 1)]


def mean(total, radius):
    """Returns the rounded mean: sums stay below 2^24 up to radius 128, and there are no ties."""
    return hl.u8(hl.f32(hl.i32(total)) * hl.f32(1.0 / (2 * radius + 1) ** 2) + hl.f32(0.5))


def strips(out, rows, count):
    """Splits the rows into `count` strips, one for each task."""
    out.split(Y, STRIP, INNER, (rows + count - 1) // count, hl.TailStrategy.GuardWithIf).parallel(STRIP)
    out.vectorize(I, LANES)


def doubled(at, radius, dx, dy, kind):
    """Returns the sum of 2r+1 values of `at(I, Y)` by doubling: sums of 1, 2, 4… values from sums of half as many. From one value to
    the next it is `dx` along I and `dy` along Y. `kind(n)` is the type that holds n of them. Returns the functions in order,
    with the sum last."""
    side, functions = 2 * radius + 1, []
    part = hl.Func("sum1")
    part[I, Y] = hl.cast(kind(1), at(I - radius * dx, Y - radius * dy))
    total, used, size = None, 0, 1
    pieces = []
    while True:
        if side & size:
            pieces.append((part, used))
            used += size
        size *= 2
        if size > side:
            break
        longer = hl.Func(f"sum{size}")
        half = size // 2
        longer[I, Y] = hl.cast(kind(size), part[I, Y]) + hl.cast(kind(size), part[I + half * dx, Y + half * dy])
        functions.append(longer)
        part = longer
    for function, offset in pieces:
        term = hl.cast(kind(side), function[I + offset * dx, Y + offset * dy])
        total = term if total is None else total + term
    whole = hl.Func("whole")
    whole[I, Y] = total
    functions.append(whole)
    return functions


def naive(radius, tasks):
    """The definition, with threads and vectors."""
    picture, padded, out = Picture(), hl.Func("padded"), hl.Func("out")
    padded[I, Y] = picture.at(picture.within(), Y)
    window = hl.RDom([(-radius, 2 * radius + 1), (-radius, 2 * radius + 1)])
    out[I, Y] = mean(hl.sum(hl.u32(padded[I + 4 * window.x, Y + window.y])), radius)
    strips(out, picture.rows, tasks)
    return picture, out


def separable(radius, tasks):
    """Row sums once per row, in a window of rows that slides down the strip; column sums from these."""
    picture, padded, out, rows = Picture(), hl.Func("padded"), hl.Func("out"), hl.Func("rows")
    padded[I, Y] = picture.at(picture.within(), Y)
    window = hl.RDom([(-radius, 2 * radius + 1)])
    rows[I, Y] = hl.sum(hl.u16(padded[I + 4 * window.x, Y]))
    out[I, Y] = mean(hl.sum(hl.u32(rows[I, Y + window.x])), radius)
    strips(out, picture.rows, tasks)
    rows.store_at(out, STRIP).compute_at(out, INNER).vectorize(I, LANES)
    return picture, out


def row_sums(picture, columns, radius, out, tasks):
    """Sums rows by doubling over column sums `columns(i, y)`, whose edges are repeated once per row."""
    padded, side = hl.Func("padded"), 4 * radius
    inner, edge = hl.RDom([(0, picture.row)]), hl.RDom([(0, side)])
    padded[I, Y] = hl.undef(hl.UInt(16))
    padded[inner.x, Y] = columns(inner.x, Y)
    padded[edge.x - side, Y] = columns(edge.x & 3, Y)
    padded[picture.row + edge.x, Y] = columns(picture.row - 4 + (edge.x & 3), Y)

    def holds(count):
        return hl.UInt(16) if count * (2 * radius + 1) * 255 < 1 << 16 else hl.UInt(32)

    rows = doubled(lambda i, y: padded[i, y], radius, 4, 0, holds)
    out[I, Y] = mean(rows[-1][I, Y], radius)
    strips(out, picture.rows, tasks)
    padded.compute_at(out, INNER).update(0).vectorize(inner.x, LANES)
    padded.update(1).unscheduled()
    padded.update(2).unscheduled()
    for part in rows[:-1]:
        part.compute_at(out, INNER).vectorize(I, LANES)


def doubling(radius, tasks):
    """Columns by doubling over sums that slide down the strip, then rows by doubling: no running sum."""
    picture, out = Picture(), hl.Func("out")
    columns = doubled(picture.at, radius, 0, 1, lambda count: hl.UInt(16))
    row_sums(picture, lambda i, y: columns[-1][i, y], radius, out, tasks)
    for part in columns[:-1]:
        part.store_at(out, STRIP).compute_at(out, INNER).vectorize(I, LANES)
    columns[-1].compute_at(out, INNER).vectorize(I, LANES)
    return picture, out


def running(radius, tasks):
    """A running sum down each strip of columns, rows by doubling."""
    picture, out, columns = Picture(), hl.Func("out"), hl.Func("columns")
    strip, inner = hl.Var("s"), hl.Var("n")
    height = (picture.rows + tasks - 1) // tasks
    window = hl.RDom([(-radius, 2 * radius + 1)])
    march = hl.RDom([(1, height - 1)])
    columns[I, inner, strip] = hl.undef(hl.UInt(16))
    columns[I, 0, strip] = hl.u16(0)
    columns[I, 0, strip] += hl.u16(picture.at(I, strip * height + window.x))
    y, above = strip * height + march.x, columns[I, march.x - 1, strip]
    columns[I, march.x, strip] = above + hl.u16(picture.at(I, y + radius)) - hl.u16(picture.at(I, y - 1 - radius))
    row_sums(picture, lambda i, y: columns[i, y % height, y // height], radius, out, tasks)
    columns.compute_at(out, STRIP)
    columns.update(0).vectorize(I, LANES)
    columns.update(1).reorder(I, window.x).vectorize(I, LANES)
    columns.update(2).reorder(I, march.x).vectorize(I, LANES)
    return picture, out


SCHEDULES = {"naive": naive, "separable": separable, "doubling": doubling, "running": running}
# The largest radius at which each is tried: beyond it direct sums are many times slower than the others.
LONGEST = {"naive": 1, "separable": 7, "doubling": 128, "running": 128}


class Halide:
    """Compiles each schedule for a radius once, and keeps the fastest for each size."""

    names = ["halide"]

    def __init__(self):
        self.target = hl.get_jit_target_from_environment()
        self.compiled, self.chosen = {}, {}

    def open(self, path, height, width):
        frames = np.fromfile(path, np.uint8).reshape(-1, height, width * 4)
        self.frames = [hl.Buffer(frame.copy()) for frame in frames]
        self.out = np.zeros((height, width * 4), np.uint8)
        self.out_buffer = hl.Buffer(self.out)
        self.chosen = {}

    def schedules(self, radius):
        """Returns the schedules that are tried: direct sums only at small radii."""
        names = [name for name, longest in LONGEST.items() if radius <= longest]
        return [(name, tasks) for name in names for tasks in (CORES, 4 * CORES)]

    def prepare(self, name, radius):
        tried = []
        for schedule, tasks in self.schedules(radius):
            key = (schedule, tasks, radius)
            if key not in self.compiled:
                picture, out = SCHEDULES[schedule](radius, tasks)
                self.compiled[key] = out.compile_to_callable([picture.source], self.target)
            self.chosen[radius] = self.compiled[key]
            self.call(radius, 0)
            times = sorted(self.call(radius, 0) for _ in range(5))
            tried.append((times[len(times) // 2], schedule, tasks, self.compiled[key]))
        ns, schedule, tasks, self.chosen[radius] = min(tried, key=lambda one: one[0])
        return ns / 1e6, f"{schedule}, {tasks} tasks"

    def call(self, radius, frame):
        function, source = self.chosen[radius], self.frames[frame]
        began = time.perf_counter_ns()
        function(source, self.out_buffer)
        return time.perf_counter_ns() - began

    def run(self, name, radius, frame):
        ns = self.call(radius, frame)
        return ns, ns

    def result(self, name, radius, frame):
        self.out[:] = 0x5A
        self.call(radius, frame)
        return self.out


if __name__ == "__main__":
    contender.serve(Halide)
