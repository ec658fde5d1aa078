"""contender - the side of peers.py that a library runs in: a process that holds the frames and filters one when it is
asked to. Requests come on stdin, one a line, as `examples/peer.rs` describes them; answers go to stdout.
"""

import sys
from pathlib import Path


def frames(path, size):
    """The frames of a file, `size` bytes each."""
    data = Path(path).read_bytes()
    return [data[at:at + size] for at in range(0, len(data) - size + 1, size)]


def serve(make):
    """Answers until stdin ends. `make()` gives the library; it has names, open, prepare, run (gives wall and device ns)
    and result. Where it fails, every answer tells why."""
    try:
        library, fault = make(), None
    except Exception as error:
        library, fault = None, error
    for line in sys.stdin:
        try:
            if fault:
                raise fault
            text = "ok " + answer(library, line.split())
        except Exception as error:  # whatever it is, the driver says so and goes on with the others
            text = "no " + " ".join(f"{error if isinstance(error, RuntimeError) else repr(error)}".split())
        print(text, flush=True)


def answer(library, words):
    match words:
        case ["open", path, width, height]:
            library.open(path, int(height), int(width))
            return " ".join(library.names)
        case ["prepare", name, radius]:
            milliseconds, note = library.prepare(name, int(radius))
            return f"{milliseconds} {note}"
        case ["write", name, radius, frame, path]:
            Path(path).write_bytes(memoryview(library.result(name, int(radius), int(frame))).cast("B"))
            return ""
        case ["run", name, radius, frame, warm]:
            for _ in range(int(warm)):
                library.run(name, int(radius), int(frame))
            wall, device = library.run(name, int(radius), int(frame))
            return f"{wall} {device}"
    raise ValueError("this request is not known")
