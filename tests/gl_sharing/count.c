// Counts the application's references to OpenCL objects: one for each object that a call returns and for each retain, less
// one for each release. An object that is never released, and one that is retained once too often, leave a number behind.
//
// The functions here call those of the layer, so that a planned failure changes no number.

#include "layer.h"
#include "tally.h"

enum { CONTEXTS, QUEUES, MEMORY, PROGRAMS, KERNELS, EVENTS, BUILDS, KINDS };

static int64_t *tally;
static cl_icd_dispatch layer;

// A function that returns an object.
#define CREATES(kind, type, function, parameters, arguments)                                                           \
    static type CL_API_CALL counted_##function parameters {                                                            \
        type made = layer.function arguments;                                                                          \
        if (made) add_to_tally(tally, kind, 1);                                                                        \
        return made;                                                                                                   \
    }
// A function that changes the number of references to an object.
#define REFERS(kind, by, type, function)                                                                               \
    static cl_int CL_API_CALL counted_##function(type object) {                                                        \
        cl_int status = layer.function(object);                                                                        \
        if (status == CL_SUCCESS) add_to_tally(tally, kind, by);                                                       \
        return status;                                                                                                 \
    }
#define COUNTS(kind, type, name) REFERS(kind, 1, type, clRetain##name) REFERS(kind, -1, type, clRelease##name)
// A command, which returns an event if the caller wants one.
#define COMMAND(function, parameters, arguments)                                                                       \
    static cl_int CL_API_CALL counted_##function parameters {                                                          \
        cl_int status = layer.function arguments;                                                                      \
        if (status == CL_SUCCESS && event) add_to_tally(tally, EVENTS, 1);                                             \
        return status;                                                                                                 \
    }
#define MAPS(function, parameters, arguments)                                                                          \
    static void *CL_API_CALL counted_##function parameters {                                                           \
        void *mapped = layer.function arguments;                                                                       \
        if (mapped && event) add_to_tally(tally, EVENTS, 1);                                                           \
        return mapped;                                                                                                 \
    }
#define WAITS cl_uint waits, const cl_event *wait_list, cl_event *event
#define WAITS_PASSED waits, wait_list, event

COUNTS(CONTEXTS, cl_context, Context)
COUNTS(QUEUES, cl_command_queue, CommandQueue)
COUNTS(MEMORY, cl_mem, MemObject)
COUNTS(PROGRAMS, cl_program, Program)
COUNTS(KERNELS, cl_kernel, Kernel)
COUNTS(EVENTS, cl_event, Event)

CREATES(CONTEXTS, cl_context, clCreateContext,
        (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *error),
        (properties, count, devices, notify, data, error))
CREATES(QUEUES, cl_command_queue, clCreateCommandQueue,
        (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error),
        (context, device, properties, error))
CREATES(QUEUES, cl_command_queue, clCreateCommandQueueWithProperties,
        (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *error),
        (context, device, properties, error))
CREATES(MEMORY, cl_mem, clCreateBuffer,
        (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error),
        (context, flags, size, host, error))
CREATES(MEMORY, cl_mem, clCreateSubBuffer,
        (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *region, cl_int *error),
        (buffer, flags, type, region, error))
CREATES(MEMORY, cl_mem, clCreateImage,
        (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *description,
         void *host, cl_int *error),
        (context, flags, format, description, host, error))
CREATES(MEMORY, cl_mem, clCreateFromGLBuffer,
        (cl_context context, cl_mem_flags flags, cl_GLuint name, cl_int *error), (context, flags, name, error))
CREATES(MEMORY, cl_mem, clCreateFromGLTexture,
        (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name, cl_int *error),
        (context, flags, target, level, name, error))
CREATES(PROGRAMS, cl_program, clCreateProgramWithSource,
        (cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error),
        (context, count, strings, lengths, error))
CREATES(PROGRAMS, cl_program, clCreateProgramWithBinary,
        (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
         const unsigned char **binaries, cl_int *statuses, cl_int *error),
        (context, count, devices, lengths, binaries, statuses, error))
CREATES(KERNELS, cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error),
        (program, name, error))

static cl_int CL_API_CALL counted_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                                                 const char *build_options,
                                                 void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
    add_to_tally(tally, BUILDS, 1);
    return layer.clBuildProgram(program, count, devices, build_options, notify, data);
}

COMMAND(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
         const size_t *local, WAITS),
        (queue, kernel, dimensions, offset, global, local, WAITS_PASSED))
COMMAND(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *target, WAITS),
        (queue, buffer, blocking, offset, size, target, WAITS_PASSED))
COMMAND(clEnqueueReadBufferRect,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
         const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *target, WAITS),
        (queue, buffer, blocking, origin, host_origin, region, row, slice, host_row, host_slice, target, WAITS_PASSED))
COMMAND(clEnqueueReadImage,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
         size_t slice, void *target, WAITS),
        (queue, image, blocking, origin, region, row, slice, target, WAITS_PASSED))
COMMAND(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *source, WAITS),
        (queue, buffer, blocking, offset, size, source, WAITS_PASSED))
COMMAND(clEnqueueWriteImage,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
         size_t slice, const void *source, WAITS),
        (queue, image, blocking, origin, region, row, slice, source, WAITS_PASSED))
COMMAND(clEnqueueCopyBuffer,
        (cl_command_queue queue, cl_mem source, cl_mem target, size_t from, size_t to, size_t size, WAITS),
        (queue, source, target, from, to, size, WAITS_PASSED))
COMMAND(clEnqueueCopyImage,
        (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *from, const size_t *to,
         const size_t *region, WAITS),
        (queue, source, target, from, to, region, WAITS_PASSED))
COMMAND(clEnqueueCopyImageToBuffer,
        (cl_command_queue queue, cl_mem source, cl_mem target, const size_t *from, const size_t *region, size_t to,
         WAITS),
        (queue, source, target, from, region, to, WAITS_PASSED))
COMMAND(clEnqueueCopyBufferToImage,
        (cl_command_queue queue, cl_mem source, cl_mem target, size_t from, const size_t *to, const size_t *region,
         WAITS),
        (queue, source, target, from, to, region, WAITS_PASSED))
COMMAND(clEnqueueFillBuffer,
        (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t length, size_t offset, size_t size, WAITS),
        (queue, buffer, pattern, length, offset, size, WAITS_PASSED))
COMMAND(clEnqueueFillImage,
        (cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin, const size_t *region, WAITS),
        (queue, image, colour, origin, region, WAITS_PASSED))
COMMAND(clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem object, void *mapped, WAITS),
        (queue, object, mapped, WAITS_PASSED))
COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAITS), (queue, WAITS_PASSED))
COMMAND(clEnqueueBarrierWithWaitList, (cl_command_queue queue, WAITS), (queue, WAITS_PASSED))
COMMAND(clEnqueueAcquireGLObjects, (cl_command_queue queue, cl_uint count, const cl_mem *objects, WAITS),
        (queue, count, objects, WAITS_PASSED))
COMMAND(clEnqueueReleaseGLObjects, (cl_command_queue queue, cl_uint count, const cl_mem *objects, WAITS),
        (queue, count, objects, WAITS_PASSED))
MAPS(clEnqueueMapBuffer,
     (cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, WAITS,
      cl_int *error),
     (queue, buffer, blocking, flags, offset, size, WAITS_PASSED, error))
MAPS(clEnqueueMapImage,
     (cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags, const size_t *origin,
      const size_t *region, size_t *row, size_t *slice, WAITS, cl_int *error),
     (queue, image, blocking, flags, origin, region, row, slice, WAITS_PASSED, error))

void install_counts(cl_icd_dispatch *table) {
    tally = map_tally("CLREEL_LAYER_COUNTS", "opencl", KINDS);
    if (!tally) return;
    layer = *table;
#define COUNT(function) table->function = counted_##function
    COUNT(clCreateContext);
    COUNT(clCreateCommandQueue);
    COUNT(clCreateCommandQueueWithProperties);
    COUNT(clCreateBuffer);
    COUNT(clCreateSubBuffer);
    COUNT(clCreateImage);
    COUNT(clCreateFromGLBuffer);
    COUNT(clCreateFromGLTexture);
    COUNT(clCreateProgramWithSource);
    COUNT(clCreateProgramWithBinary);
    COUNT(clCreateKernel);
    COUNT(clBuildProgram);
    COUNT(clRetainContext);
    COUNT(clRetainCommandQueue);
    COUNT(clRetainMemObject);
    COUNT(clRetainProgram);
    COUNT(clRetainKernel);
    COUNT(clRetainEvent);
    COUNT(clReleaseContext);
    COUNT(clReleaseCommandQueue);
    COUNT(clReleaseMemObject);
    COUNT(clReleaseProgram);
    COUNT(clReleaseKernel);
    COUNT(clReleaseEvent);
    COUNT(clEnqueueNDRangeKernel);
    COUNT(clEnqueueReadBuffer);
    COUNT(clEnqueueReadBufferRect);
    COUNT(clEnqueueReadImage);
    COUNT(clEnqueueWriteBuffer);
    COUNT(clEnqueueWriteImage);
    COUNT(clEnqueueCopyBuffer);
    COUNT(clEnqueueCopyImage);
    COUNT(clEnqueueCopyImageToBuffer);
    COUNT(clEnqueueCopyBufferToImage);
    COUNT(clEnqueueFillBuffer);
    COUNT(clEnqueueFillImage);
    COUNT(clEnqueueUnmapMemObject);
    COUNT(clEnqueueMarkerWithWaitList);
    COUNT(clEnqueueBarrierWithWaitList);
    COUNT(clEnqueueAcquireGLObjects);
    COUNT(clEnqueueReleaseGLObjects);
    COUNT(clEnqueueMapBuffer);
    COUNT(clEnqueueMapImage);
}
