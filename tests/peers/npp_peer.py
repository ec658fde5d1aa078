"""npp_peer - NVIDIA's NPP for peers.py: `npp_peer.py FOLDER DEVICE`, where FOLDER has libnppif, libnppc and libcudart (12 or
newer) somewhere below it, and DEVICE is clreel's description of its device, which begins with the name. It takes
the first card of that name. Needs NVIDIA's driver and Python's standard library only.

`npp` is nppiFilterBoxBorder_8u_C4R, `npp-advanced` the version for large windows, `cuda-copy` a copy of the frame in
device memory: the limit of the memory, by the same clock. Times are CUDA's, from an event before a run to one after it.
Runs are queued behind other work, so that the device never waits for the host; several short ones follow each other
and share the time between the events, to NPP's advantage.
"""

import ctypes
import sys
from pathlib import Path

import contender

REPLICATE = 2  # NppiBorderType
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
# cudaDeviceAttr: the processors, their resources, and the version of the instruction set.
PROCESSORS, THREADS_A_PROCESSOR, THREADS_A_BLOCK, SHARED_A_BLOCK, MAJOR, MINOR = 16, 39, 1, 8, 75, 76
HEAD_START = 256 << 20  # bytes that are cleared before a timed run: meanwhile the host queues the run
SHORT_MS, TOGETHER = 1.0, 8  # this many runs shorter than this are timed together


class Pair(ctypes.Structure):
    """NppiSize and NppiPoint."""
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]


class StreamContext(ctypes.Structure):
    """NppStreamContext."""
    _fields_ = [("stream", ctypes.c_void_p)] + [(name, ctypes.c_int) for name in
               ("device", "processors", "threads_a_processor", "threads_a_block")] + [
               ("shared_a_block", ctypes.c_size_t), ("major", ctypes.c_int), ("minor", ctypes.c_int),
               ("flags", ctypes.c_uint), ("reserved", ctypes.c_int)]


def load(folder, name):
    """Loads a library by the beginning of its name, from the folder or from the system."""
    found = sorted(Path(folder).rglob(f"{name}.so.*"))
    try:
        return ctypes.CDLL(str(found[-1]) if found else f"{name}.so", mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise RuntimeError(f"{name} cannot be loaded ({error})") from error


def card(driver, wanted):
    """Returns CUDA's number of the card on which clreel computes."""
    count, names = ctypes.c_int(), []
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        raise RuntimeError("CUDA does not start on this machine")
    for number in range(count.value):
        device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
        if driver.cuDeviceGet(ctypes.byref(device), number) or driver.cuDeviceGetName(name, len(name), device):
            continue
        names.append(name.value.decode())
        if wanted.startswith(names[-1] + " ("):
            return number
    raise RuntimeError(f"CUDA has {' and '.join(names) or 'no card'}, and clreel computes on {wanted}")


class Npp:
    def __init__(self, folder, device):
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise RuntimeError("there is no NVIDIA driver here (libcuda.so.1 was not found)") from error
        self.cuda = load(folder, "libcudart")
        load(folder, "libnppc")
        self.npp = load(folder, "libnppif")
        self.cuda.cudaGetErrorString.restype = ctypes.c_char_p
        count = ctypes.c_int()
        self.call("cudaGetDeviceCount", ctypes.byref(count))
        self.device = card(driver, device)
        self.call("cudaSetDevice", self.device)
        self.context = StreamContext(None, self.device, *map(self.attribute, (PROCESSORS, THREADS_A_PROCESSOR, THREADS_A_BLOCK,
                                     SHARED_A_BLOCK, MAJOR, MINOR)), 0, 0)
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.call("cudaEventCreate", ctypes.byref(event))
        self.scratch = self.memory(HEAD_START)
        self.names = [name for name, function in (("npp", "nppiFilterBoxBorder_8u_C4R_Ctx"),
                      ("npp-advanced", "nppiFilterBoxBorderAdvanced_8u_C4R_Ctx")) if hasattr(self.npp, function)]
        self.names.append("cuda-copy")
        self.together, self.held = {}, []

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {self.cuda.cudaGetErrorString(status).decode()}")

    def attribute(self, which):
        value = ctypes.c_int()
        self.call("cudaDeviceGetAttribute", ctypes.byref(value), which, self.device)
        return value.value

    def memory(self, size):
        pointer = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def open(self, path, height, width):
        for pointer in self.held:
            self.call("cudaFree", pointer)
        self.size, self.bytes, self.together = Pair(width, height), width * height * 4, {}
        frames = contender.frames(path, self.bytes)
        needed = ctypes.c_int()
        if "npp-advanced" in self.names:
            status = self.npp.nppiFilterBoxBorderAdvancedGetDeviceBufferSize(self.size, 4, ctypes.byref(needed))
            if status:
                raise RuntimeError(f"nppiFilterBoxBorderAdvancedGetDeviceBufferSize: status {status}")
        self.held = [self.memory(self.bytes) for _ in range(len(frames) + 1)] + [self.memory(max(needed.value, 1))]
        *self.sources, self.target, self.buffer = self.held
        for frame, source in zip(frames, self.sources):
            self.call("cudaMemcpy", source, frame, ctypes.c_size_t(self.bytes), TO_DEVICE)
        self.out = ctypes.create_string_buffer(self.bytes)

    def enqueue(self, name, radius, frame):
        source = self.sources[frame]
        if name == "cuda-copy":
            self.call("cudaMemcpyAsync", self.target, source, ctypes.c_size_t(self.bytes), ON_DEVICE, None)
            return
        row, side = self.size.x * 4, 2 * radius + 1
        arguments = [source, row, self.size, Pair(0, 0), self.target, row, self.size, Pair(side, side),
                     Pair(radius, radius), REPLICATE]
        if name == "npp":
            status = self.npp.nppiFilterBoxBorder_8u_C4R_Ctx(*arguments, self.context)
        else:
            status = self.npp.nppiFilterBoxBorderAdvanced_8u_C4R_Ctx(*arguments, self.buffer, self.context)
        if status:
            raise RuntimeError(f"{name}: NPP's status is {status}")

    def run(self, name, radius, frame):
        """Returns the device time of one run in ns, twice: elapsed time would include the work before it."""
        turns = self.together.get((name, radius), 1)
        begin, end = self.events
        self.call("cudaDeviceSynchronize")
        self.call("cudaMemsetAsync", self.scratch, 0, ctypes.c_size_t(HEAD_START), None)
        self.enqueue(name, radius, frame)  # not timed: clearing has emptied the caches
        self.call("cudaEventRecord", begin, None)
        for _ in range(turns):
            self.enqueue(name, radius, frame)
        self.call("cudaEventRecord", end, None)
        self.call("cudaDeviceSynchronize")
        ms = ctypes.c_float()
        self.call("cudaEventElapsedTime", ctypes.byref(ms), begin, end)
        ns = round(ms.value * 1e6 / turns)
        return ns, ns

    def prepare(self, name, radius):
        self.together.pop((name, radius), None)
        self.run(name, radius, 0)  # the first run loads code
        ms = self.run(name, radius, 0)[1] / 1e6
        if ms < SHORT_MS:
            self.together[name, radius] = TOGETHER
        return ms, f"{self.together.get((name, radius), 1)} runs together"

    def result(self, name, radius, frame):
        self.call("cudaMemset", self.target, 0x5A, ctypes.c_size_t(self.bytes))
        self.enqueue(name, radius, frame)
        self.call("cudaDeviceSynchronize")
        self.call("cudaMemcpy", self.out, self.target, ctypes.c_size_t(self.bytes), TO_HOST)
        return self.out.raw


if __name__ == "__main__":
    contender.serve(lambda: Npp(*sys.argv[1:]))
