"""Plays a file with clreel, as a snapshot or in the window, and judges how it ended."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

TIMEOUT_S = 10.0
MEMORY_BYTES = 2 << 30
# The window plays damaged movies for this long; then it is asked to quit, since stamps may lie hours apart.
WINDOW_S = 8.0
# For so long, once more, if it showed too few frames; all frames end it earlier.
PATIENT_S = 90.0
WINDOW_FRAMES = 80
# Where snapshots are taken: at the start, in the middle of the damage, and after the end, which reads the whole file.
TIMES_S = (0, 0.6, 3600)

# The beginning of a file by which a window is judged: it plays for longer, even if it starts late on a busy machine.
BEGINNING_S = 2.0

DAMAGE = re.compile(r"^clreel: .* is damaged or cut off\.", re.MULTILINE)


@dataclass
class Outcome:
    """What a process did, and the faults found in it."""

    code: int
    stderr: str
    seconds: float
    peak_bytes: int
    killed: bool
    frames: int = 0
    faults: list = field(default_factory=list)

    @property
    def messages(self):
        return [line for line in self.stderr.splitlines() if line.startswith("clreel: ")]


def run_limited(command, env, signals):
    """Runs a command. `signals` are pairs of seconds and the signal that the process then gets, if it still runs."""
    with tempfile.TemporaryFile() as stderr:
        began = time.monotonic()
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)
        timers = [threading.Timer(after, process.send_signal, [number]) for after, number in signals]
        for timer in timers:
            timer.start()
        # Unlike Popen.wait it returns what this process used, with the children that it waited for.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for timer in timers:
            timer.cancel()
        stderr.seek(0)
        text = stderr.read().decode(errors="replace")
    seconds = time.monotonic() - began
    return Outcome(process.returncode, text, seconds, usage.ru_maxrss * 1024, process.returncode == -signal.SIGKILL)


class Player:
    """Runs clreel without the settings and caches of the user."""

    def __init__(self, clreel, folder, display=None):
        self.clreel = str(clreel)
        self.folder = folder
        dropped = {"WAYLAND_DISPLAY", "CLREEL_KERNELS", "DISPLAY"}
        self.env = {name: value for name, value in os.environ.items() if name not in dropped}
        self.env |= {"CLREEL_SETTINGS": "", "XDG_CACHE_HOME": str(folder / "cache")}
        if display:
            self.env["DISPLAY"] = display

    def snapshot(self, path, at_s):
        """Takes an unfiltered snapshot, which needs no OpenCL device, and judges it."""
        png = path.with_name(path.name + ".png")
        command = [self.clreel, "snapshot", str(path), "--variant", "off", "--at", str(at_s), "--out", str(png)]
        outcome = run_limited(command, self.env, [(TIMEOUT_S, signal.SIGKILL)])
        outcome.frames = int(is_png(png))
        png.unlink(missing_ok=True)
        judge(outcome)
        return outcome

    def warm_up(self, path):
        """Plays a whole clip, so that the driver's compiler has filled its cache when the damaged ones are timed."""
        outcome = self.window(path, "running-sum", quit_after_s=120)
        if outcome.faults or not outcome.frames:
            raise RuntimeError(f"the undamaged clip does not play: {outcome}")

    def window(self, path, variant, quit_after_s=WINDOW_S):
        """Plays a file in the window, in a loop, and judges it."""
        stats = path.with_name(path.name + ".json")
        command = [self.clreel, str(path), "--variant", variant, "--frames", str(WINDOW_FRAMES), "--stats", str(stats)]
        signals = [(quit_after_s, signal.SIGTERM), (quit_after_s + TIMEOUT_S, signal.SIGKILL)]
        outcome = run_limited(command, self.env, signals)
        outcome.frames = presented(stats)
        stats.unlink(missing_ok=True)
        judge(outcome)
        return outcome


def is_png(path):
    """Returns true if the file is a whole PNG with a size."""
    data = path.read_bytes() if path.exists() else b""
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data[16:24] != bytes(8) and data[-8:-4] == b"IEND"


def presented(stats):
    """Returns how many frames a window has presented, by its statistics."""
    found = re.search(r'"presented"\s*:\s*(\d+)', stats.read_text()) if stats.exists() else None
    return int(found.group(1)) if found else 0


def frames_at_start(path):
    """Returns how many frames ffprobe decodes from the first seconds of a file, of which most must be shown."""
    command = ["ffprobe", "-v", "quiet", "-select_streams", "v:0", "-read_intervals", "%+60", "-show_entries",
               "frame=best_effort_timestamp_time", "-of", "csv=p=0", "file:" + str(path)]
    try:
        printed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout
    except subprocess.TimeoutExpired as expired:
        printed = (expired.stdout or b"").decode()
    return count_at_start(printed)


def count_at_start(printed):
    """Counts the time stamps in ffprobe's output that lie in the first seconds, in order, after the first one."""
    stamps = [float(line.strip(",")) for line in printed.splitlines() if re.fullmatch(r"-?[0-9.]+,?", line)]
    count, latest = 0, None
    for stamp in stamps:
        if latest is None or latest < stamp < stamps[0] + BEGINNING_S:
            count, latest = count + 1, stamp
    return count


def judge(outcome):
    """Adds the faults of a run: a crash, a hang, too much memory, or messages that are wrong."""
    add, text, messages = outcome.faults.append, outcome.stderr, outcome.messages
    if outcome.killed:
        add("hang")
    elif outcome.code < 0:
        add(f"crash ({signal.Signals(-outcome.code).name})")
    elif outcome.code not in (0, 1):
        add(f"exit code {outcome.code}")
    if outcome.peak_bytes > MEMORY_BYTES:
        add(f"{outcome.peak_bytes >> 20} MiB of memory")
    if "panicked" in text:
        add("panic")
    if outcome.code == 0 and not outcome.frames:
        add("success without a frame")
    if outcome.code == 1 and (outcome.frames or len(messages) != 1):
        add(f"failure with {outcome.frames} frames and {len(messages)} messages")
    if len(set(messages)) < len(messages) or len(DAMAGE.findall(text)) > 1:
        add("a message is repeated")
    foreign = [line for line in text.splitlines() if line.strip() and not line.startswith(("clreel: ", "  "))]
    if foreign:
        add(f"output of something else: {foreign[0][:100]}")


def is_short(window, decodable):
    """Returns true if a window shows less than half of the frames that are decodable in the beginning of its file."""
    return window.frames < min(decodable, WINDOW_FRAMES) / 2


def judge_window(window, at_start, at_end, is_cut, decodable):
    """Adds the faults of a window that differs from snapshots at the start and after the end of the file, or that shows less than
    half of the frames that are decodable in its beginning. Only a file that was cut is damaged for both: a seek to the end may meet
    damage that playing does not, such as a wrong index."""
    # A picture of 1 by 65,535 pixels fits into a PNG, but into no texture.
    if at_start.code == 0 and not window.frames and "too large to be shown" not in window.stderr:
        window.faults.append("no frame in the window, but in a snapshot")
    if window.frames and is_short(window, decodable):
        window.faults.append(f"{window.frames} frames in the window, {decodable} decodable in the first {BEGINNING_S:g} s")
    if is_cut and window.frames and DAMAGE.search(at_end.stderr) and not DAMAGE.search(window.stderr):
        window.faults.append("the damage is not reported")
