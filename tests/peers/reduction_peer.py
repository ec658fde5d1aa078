"""reduction_peer - whole-picture reductions of other libraries for ladder.py: OpenCV's mean of each channel,
NumPy's mean of all bytes, and with `gpu` CuPy's sum of all words. None of them makes luminance, blocks, minimum, maximum and
product: they read the same bytes and compute less. Requests and answers are those of `examples/ladder_peer.rs`.
"""

import json
import os
import sys
import time

import numpy as np


class Processor:
    def __init__(self, frame):
        import cv2

        cv2.setNumThreads(len(os.sched_getaffinity(0)))
        self.runs = {"opencv-mean": lambda: cv2.mean(frame), "numpy-mean": frame.mean}

    def run(self, name):
        began = time.perf_counter_ns()
        self.runs[name]()
        ns = time.perf_counter_ns() - began
        return ns, ns


class Card:
    def __init__(self, frame):
        import cupy

        self.cupy, self.runs = cupy, ["cupy-sum"]
        self.words = cupy.asarray(frame.view(np.uint32).reshape(-1))

    def run(self, _):
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        began = time.perf_counter_ns()
        begin.record()
        self.words.sum(dtype=self.cupy.uint64)
        end.record()
        end.synchronize()
        wall = time.perf_counter_ns() - began
        return wall, int(self.cupy.cuda.get_elapsed_time(begin, end) * 1e6)


def main():
    library = None
    for line in sys.stdin:
        try:
            word, _, rest = line.strip().partition(" ")
            if word == "open":
                case = json.loads(rest)
                frame = np.random.default_rng(1).integers(0, 256, (case["height"], case["width"], 4), np.uint8)
                library = (Card if sys.argv[1:] == ["gpu"] else Processor)(frame)
                text = " ".join(library.runs)
            else:
                name, warm = rest.split()
                for _ in range(int(warm)):
                    library.run(name)
                text = "{} {}".format(*library.run(name))
            print("ok", text, flush=True)
        except Exception as error:  # ladder.py prints the reason and continues with the others
            print("no", " ".join(repr(error).split()), flush=True)


if __name__ == "__main__":
    main()
