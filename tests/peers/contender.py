"""contender - the side of peers.py that a Python library runs in: a process that holds the frames and filters one when
it is asked to. Requests come on stdin, one a line, as `examples/peer.rs` describes them; answers go to stdout.
"""

import sys

import numpy as np


def serve(library):
    """Answers until stdin ends. `library` has names, open, prepare, run (gives wall and device ns) and result."""
    for line in sys.stdin:
        try:
            text = "ok " + answer(library, line.split())
        except Exception as error:  # whatever it is, the driver says so and goes on with the others
            text = "no " + " ".join(f"{type(error).__name__}: {error}".split())
        print(text, flush=True)


def answer(library, words):
    match words:
        case ["open", path, width, height]:
            width, height = int(width), int(height)
            frames = np.fromfile(path, np.uint8).reshape(-1, height, width, 4)
            library.open([frame.copy() for frame in frames], height, width)
            return " ".join(library.names)
        case ["prepare", name, radius]:
            milliseconds, note = library.prepare(name, int(radius))
            return f"{milliseconds} {note}"
        case ["write", name, radius, frame, path]:
            library.result(name, int(radius), int(frame)).tofile(path)
            return ""
        case ["run", name, radius, frame, warm]:
            for _ in range(int(warm)):
                library.run(name, int(radius), int(frame))
            wall, device = library.run(name, int(radius), int(frame))
            return f"{wall} {device}"
    raise ValueError("this request is not known")
