#!/usr/bin/env python3
"""Prints how each OpenCL driver rounds, converts, samples and times, where drivers differ: docs/drivers.md has the results.

Needs pyopencl and NumPy: python3 -m pip install pyopencl==2026.1.4 numpy==2.2.6
"""

import ctypes
import time
import warnings

import numpy as np
import pyopencl as cl

READ = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
WRITE = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
RGBA8 = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNORM_INT8)
INTEGERS = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8"}


class Driver:
    """A device, and the facts about it."""

    def __init__(self, device):
        self.device, self.context = device, cl.Context([device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.double = "cl_khr_fp64" in device.extensions

    def run(self, source, out, *arguments, items=1, option=""):
        """Runs the kernel `k` of a source text, whose first argument is `out`, and returns its result as a list."""
        memory = cl.Buffer(self.context, WRITE, hostbuf=out)
        kernel = cl.Kernel(cl.Program(self.context, source).build(option.split()), "k")
        size = items if isinstance(items, tuple) else (items,)
        kernel(self.queue, size, None, memory, *arguments)
        cl.enqueue_copy(self.queue, out, memory)
        return out.tolist()

    def row(self, image, width):
        """Returns the red channel of an image with one row."""
        pixels = np.zeros((1, width, 4), np.uint8)
        cl.enqueue_copy(self.queue, pixels, image, origin=(0, 0), region=(width, 1))
        return pixels[0, :, 0].tolist()

    def image_formats(self):
        formats = cl.get_supported_image_formats(self.context, cl.mem_flags.READ_WRITE, cl.mem_object_type.IMAGE2D)
        return f"{len(formats)} of two-dimensional images that are read and written"

    def fused(self):
        source = "__kernel void k(__global float *o, float a, float c) { o[0] = a * a + c; o[1] = mad(a, a, c); }"
        results = []
        for name, pragma in (("default", ""), ("FP_CONTRACT OFF", "#pragma OPENCL FP_CONTRACT OFF\n")):
            # 2^-24 if the square is not rounded, otherwise 0.
            arguments = np.float32(1 + 2**-12), np.float32(-1 - 2**-11)
            product, mad = self.run(pragma + source, np.zeros(2, np.float32), *arguments)
            results.append(f"{name}: a*b + c {'fused' if product else 'rounded'}, mad() {'fused' if mad else 'rounded'}")
        return "; ".join(results)

    def default_groups(self):
        source = "__kernel void k(__global uint *o) { o[0] = get_local_size(0); o[1] = get_local_size(1); }"
        sizes = [127, 128, 4099, 4100, (1920, 1080)]
        return {size: self.run(source, np.zeros(2, np.uint32), items=size) for size in sizes}

    def unorm8(self):
        levels = [0.3, 0.49, 0.5, 0.51, 0.57, 0.6, 1.5, 2.5, 127.51, 200.6, np.nan]
        colors = np.array(levels, np.float32) / np.float32(255)
        image = cl.create_image(self.context, cl.mem_flags.READ_WRITE, RGBA8, (len(levels), 1))
        source = """__kernel void k(__global float *colors, write_only image2d_t image)
            { write_imagef(image, (int2)(get_global_id(0), 0), (float4)(colors[get_global_id(0)])); }"""
        self.run(source, colors.copy(), image, items=len(levels))
        written = self.row(image, len(levels))
        for x, color in enumerate(colors):
            cl.enqueue_fill_image(self.queue, image, np.full(4, color), (x, 0), (1, 1))
        return f"levels {levels}: write_imagef {written}, clEnqueueFillImage {self.row(image, len(levels))}"

    def linear(self):
        texels = np.zeros((1, 2, 4), np.uint8)
        texels[0, 1] = 255
        image = cl.image_from_array(self.context, texels, 4, norm_int=True)
        source = """__kernel void k(__global float *out, read_only image2d_t image)
            { const sampler_t linear = CLK_FILTER_LINEAR | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_NORMALIZED_COORDS_FALSE;
              out[get_global_id(0)] = read_imagef(image, linear, (float2)(0.5f + get_global_id(0) / 4096.f, 0.5f)).x; }"""
        values = self.run(source, np.zeros(4097, np.float32), image, items=4097)
        return f"{len(set(values))} values between two texels of UNORM8 at 4,097 places"

    def texel_edges(self):
        texels = np.zeros((1, 1280, 4), np.uint16)
        texels[0, :, 0] = range(1280)
        image = cl.image_from_array(self.context, texels, 4)
        source = """__kernel void k(__global uint *out, read_only image2d_t image)
            { const sampler_t nearest = CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_NORMALIZED_COORDS_TRUE;
              out[get_global_id(0)] = read_imageui(image, nearest, (float2)(get_global_id(0) / 1280.f, 0.5f)).x; }"""
        values = self.run(source, np.zeros(1280, np.uint32), image, items=1280)
        return f"{sum(value != x for x, value in enumerate(values))} of 1,280 texels are not read at i/1280"

    def nan(self):
        wrong = {}
        for of, value in (("float", np.float32(np.nan)), ("double", np.float64(np.nan)))[: 1 + self.double]:
            for to, dtype in INTEGERS.items():
                source = f"__kernel void k(__global {to} *o, {of} x) {{ *o = convert_{to}_sat(x); }}"
                (result,) = self.run(source, np.ones(1, dtype), value)
                if result != 0:
                    wrong[f"convert_{to}_sat({of})"] = result
        return f"not 0 of NaN: {wrong or 'none'}"

    def events(self):
        memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 1 << 22)
        commands = {"fill": cl.enqueue_fill_buffer(self.queue, memory, np.uint32(1), 0, 1 << 22)}
        commands |= {"marker": cl.enqueue_marker(self.queue), "barrier": cl.enqueue_barrier(self.queue)}
        self.queue.finish()
        times = {name: [getattr(event.profile, t) for t in ("queued", "submit", "start", "end")] for name, event in commands.items()}
        return f"queued, submit, start and end in ns: {times}"

    def command_buffers(self):
        if "cl_khr_command_buffer" not in self.device.extensions:
            return "not offered"
        pointer, loader = ctypes.c_void_p, ctypes.CDLL("libOpenCL.so.1")
        loader.clGetExtensionFunctionAddressForPlatform.restype = pointer
        loader.clGetExtensionFunctionAddressForPlatform.argtypes = [pointer, ctypes.c_char_p]

        def function(name, result, *arguments):
            address = loader.clGetExtensionFunctionAddressForPlatform(self.device.platform.int_ptr, name)
            return ctypes.CFUNCTYPE(result, *arguments)(address)

        number, error, event = ctypes.c_uint, ctypes.c_int(), pointer()
        create = function(b"clCreateCommandBufferKHR", pointer, number, pointer, pointer, pointer)
        record = function(b"clCommandNDRangeKernelKHR", ctypes.c_int, *[pointer] * 4, number, *[pointer] * 3, number, *[pointer] * 3)
        finalize = function(b"clFinalizeCommandBufferKHR", ctypes.c_int, pointer)
        enqueue = function(b"clEnqueueCommandBufferKHR", ctypes.c_int, number, pointer, pointer, number, pointer, pointer)
        source = """__kernel void k(__global float *o)
            { float s = *o; for (int i = 0; i < 20000; ++i) s = s * 1.0001f + 0.5f; o[get_global_id(0)] = s; }"""
        kernel = cl.Kernel(cl.Program(self.context, source).build(), "k")
        memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4096)
        kernel.set_args(memory)
        queues, size = (pointer * 1)(self.queue.int_ptr), (ctypes.c_size_t * 1)(1024)
        buffer = create(1, ctypes.cast(queues, pointer), None, ctypes.addressof(error))
        for _ in range(4):
            record(buffer, None, None, kernel.int_ptr, 1, None, ctypes.addressof(size), None, 0, None, None, None)
        if error.value or finalize(buffer):
            return "not made"
        for _ in range(2):  # the first one includes compiling
            began = time.monotonic()
            if enqueue(0, None, buffer, 0, None, ctypes.addressof(event)):
                return "not run"
            done = cl.Event.from_int_ptr(event.value)
            done.wait()
            wall = time.monotonic() - began
        return f"START to END of its event {(done.profile.end - done.profile.start) / 1e6} ms, wall time {wall * 1e3:.1f} ms"

    def functions(self):
        missing = []
        for name, count in (("sin", 1), ("cos", 1), ("tan", 1), ("exp", 1), ("log", 1), ("pow", 2), ("fma", 3)):
            try:
                arguments = ", ".join(["*o"] * count)
                self.run(f"__kernel void k(__global float *o) {{ *o = {name}({arguments}); }}", np.ones(1, np.float32))
            except cl.Error:
                missing.append(name)
        return f"not built: {missing or 'none'}"


def main():
    warnings.simplefilter("ignore")
    facts = [fact for name, fact in vars(Driver).items() if name not in ("__init__", "run", "row") and callable(fact)]
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            print(f"{device.name}, {platform.version}, driver {device.driver_version}", flush=True)
            driver = Driver(device)
            for fact in facts:
                try:
                    result = fact(driver)
                except cl.Error as error:
                    result = f"failed: {str(error).splitlines()[0]}"
                print(f"  {fact.__name__}: {result}", flush=True)


main()
