#!/usr/bin/env bash
# The event of a command buffer ends a microsecond after it starts, whatever was recorded.
#
# Guess:   START to END of the event of clEnqueueCommandBufferKHR() is the time of the recorded commands, as of any command.
# Seen:    with Intel's runtime for CPUs about 0.001 ms for four kernels of some 50 ms each. QUEUED to END has their time.
# Matters: a benchmark that times kernels by events finds command buffers thousands of times faster. Use the wall clock.
# Source:  https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_Ext.html#cl_khr_command_buffer
# Fetches 300 MB. Intel's runtime has a licence of its own. Needs libOpenCL.so.1 (Debian: ocl-icd-libopencl1).
set -euo pipefail
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
python3 -m pip install --quiet --root-user-action ignore --no-deps --target "$packages" pyopencl==2026.1.4 pytools==2026.1.1 \
    platformdirs==4.14.8 siphash24==1.9 typing_extensions==4.16.0 numpy==2.2.6
python3 -m pip download --quiet --no-deps --dest "$packages/wheels" intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0 \
    intel-openmp==2026.2.0 tbb==2023.2.0 tcmlib==1.6.0 umf==1.2.0
mkdir "$packages/lib" "$packages/vendors"
for wheel in "$packages"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$packages/unpacked"; done
# The runtime looks for its parts beside itself only.
find "$packages/unpacked" \( -name '*.so*' -o -name '*.rtl' -o -name '*.o' -o -name cl.cfg \) -exec mv -t "$packages/lib" {} +
rm -f "$packages"/lib/libOpenCL.so*
echo "$packages/lib/libintelocl.so" > "$packages/vendors/intel.icd"
export OCL_ICD_VENDORS=$packages/vendors LD_LIBRARY_PATH=$packages/lib
PYOPENCL_NO_CACHE=1 PYTHONPATH=$packages python3 - << 'END'
import ctypes
import time
import pyopencl as cl

device = next(d for p in cl.get_platforms() if "Intel" in p.name for d in p.get_devices())
context = cl.Context([device])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
print(device.platform.name, device.driver_version)
source = """
__kernel void work(__global float *out)
{
    float sum = *out;
    for (int i = 0; i < 20000; ++i) sum = sum * 1.0001f + 0.5f;
    out[get_global_id(0)] = sum;
}
"""
kernel = cl.Kernel(cl.Program(context, source).build(), "work")
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 16)
kernel.set_args(memory)
cl.enqueue_nd_range_kernel(queue, kernel, (1 << 14,), (64,)).wait()
one = cl.enqueue_nd_range_kernel(queue, kernel, (1 << 14,), (64,))
one.wait()

# Python has no functions for command buffers: they are called by their addresses, with handles as void *.
P, U, I = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int
loader = ctypes.CDLL("libOpenCL.so.1")
loader.clGetExtensionFunctionAddressForPlatform.restype = P
loader.clGetExtensionFunctionAddressForPlatform.argtypes = [P, ctypes.c_char_p]

def function(name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(loader.clGetExtensionFunctionAddressForPlatform(device.platform.int_ptr, name))

create = function(b"clCreateCommandBufferKHR", P, U, P, P, P)
record = function(b"clCommandNDRangeKernelKHR", I, P, P, P, P, U, P, P, P, U, P, P, P)
finalize = function(b"clFinalizeCommandBufferKHR", I, P)
enqueue = function(b"clEnqueueCommandBufferKHR", I, U, P, P, U, P, P)
queues, sizes, groups, event = (P * 1)(queue.int_ptr), (ctypes.c_size_t * 1)(1 << 14), (ctypes.c_size_t * 1)(64), P()
buffer = create(1, ctypes.addressof(queues), None, None)
for _ in range(4):
    assert record(buffer, None, None, kernel.int_ptr, 1, None, ctypes.addressof(sizes), ctypes.addressof(groups), 0, None, None, None) == 0
assert finalize(buffer) == 0
for _ in range(2):
    began = time.monotonic()
    assert enqueue(0, None, buffer, 0, None, ctypes.addressof(event)) == 0
    whole = cl.Event.from_int_ptr(event.value)
    whole.wait()
    wall = time.monotonic() - began

def ms(event, first, last):
    return (getattr(event.profile, last) - getattr(event.profile, first)) / 1e6

print(f"one kernel: {ms(one, 'start', 'end'):.3f} ms by its event")
print(f"four kernels, recorded: {ms(whole, 'start', 'end'):.4f} ms by their event, {wall * 1e3:.3f} ms by the wall clock")
print(f"from QUEUED to END: {ms(whole, 'queued', 'end'):.3f} ms")
assert ms(whole, "start", "end") < ms(one, "start", "end") / 100, "the event has a time now"
END
