"""contender - the process of peers.py in which a library runs: it holds the frames and filters one for each request.
Requests are lines on stdin, as `examples/peer.rs` describes them; answers go to stdout.
"""

import sys
from pathlib import Path


def frames(path, size):
    """Returns the frames of a file, `size` bytes each. Raises a RuntimeError if there is none, or a part of one."""
    data = Path(path).read_bytes()
    if not data or len(data) % size:
        raise RuntimeError(f"{len(data)} bytes are no frames of {size}")
    return [data[at:at + size] for at in range(0, len(data) - size + 1, size)]


def serve(make):
    """Answers requests until stdin ends. `make()` returns the library, with names, open, prepare, run (returns wall and device ns)
    and result. If it raises, every answer has the reason."""
    try:
        library, fault = make(), None
    except Exception as error:
        library, fault = None, error
    for line in sys.stdin:
        try:
            if fault:
                raise fault
            text = "ok " + answer(library, line.split())
        except Exception as error:  # peers.py prints the reason and continues with the others
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
            if not (wall > 0 and device > 0):
                raise RuntimeError(f"a run took {wall} ns, {device} ns on the device")
            return f"{wall} {device}"
    raise ValueError("this request is not known")
