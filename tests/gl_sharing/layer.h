// What the layer's files share: the driver's own functions, the options, the log, the helper.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <stdbool.h>

// The functions below this layer, that is the driver's. The layer's own calls go here, so that they are neither
// counted, nor logged, nor made to fail.
extern const cl_icd_dispatch *driver;

// The options, read once from the environment (README.md says what each does).
typedef struct {
    bool poison, hide_extension, fake_gpu, own_memory, no_images, crash_on_list, hang_on_list, no_interop_egl, gl_event,
        broken_parts, needs_context, context_on_gl, twins;
    const char *driving_device, *fail_device; // a part of its name; NULL without the option
    const char *device_info, *times;
} layer_options;
extern layer_options options;

// The code that this call of `function` must fail with, or CL_SUCCESS. Counts the call.
cl_int planned_failure(const char *function);

// Notes a call in the file that CLREEL_LAYER_CALLS names.
void note_call(const char *function);

// Whether no call for what belongs to this queue, or to this context, is to fail; not even counted then.
bool spares_queue(cl_command_queue queue);
bool spares_context(cl_context context);
bool spares_program(cl_program program);
bool spares_nothing(const void *other);
#define IS_SPARED(object)                                                                                              \
    _Generic((object), cl_command_queue: spares_queue, cl_context: spares_context, cl_program: spares_program,             \
             default: spares_nothing)(object)

// The position of the queue's device in the list of its platform.
cl_uint position_of_queue(cl_command_queue queue);

// Whether the device's name has this part.
bool is_named(cl_device_id device, const char *part);

// Writes one line to the log, if there is one.
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

// For functions that return a status, and for those that return a handle and put the status into `error`. `object` is
// what the call is for.
#define FAIL_AS_PLANNED(function, object)                                                                              \
    do {                                                                                                               \
        note_call(#function);                                                                                          \
        cl_int planned = IS_SPARED(object) ? CL_SUCCESS : planned_failure(#function);                                  \
        if (planned != CL_SUCCESS) return planned;                                                                     \
    } while (0)
#define RETURN_ERROR(code)                                                                                             \
    do {                                                                                                               \
        if (error) *error = (code);                                                                                    \
        return NULL;                                                                                                   \
    } while (0)
#define FAIL_AS_PLANNED_OR_NULL(function, object)                                                                      \
    do {                                                                                                               \
        note_call(#function);                                                                                          \
        cl_int planned = IS_SPARED(object) ? CL_SUCCESS : planned_failure(#function);                                  \
        if (planned != CL_SUCCESS) RETURN_ERROR(planned);                                                              \
    } while (0)

// Puts the functions of sharing.c into the layer's table.
void install_sharing(cl_icd_dispatch *table);
// Whether it is shared and nobody has acquired it.
bool is_opengls(cl_mem memory);
// The function of sharing.c with this name, or NULL: extensions are looked up by name.
void *sharing_function(const char *name);

// The OpenGL context to share with, as the application named it: by GLX, or by EGL.
typedef struct {
    bool egl;
    void *display, *context;
} gl_names;

// An OpenGL context of the layer's own that shares its objects with the application's (helper.c).
typedef struct helper helper;

// NULL where none can be made.
helper *new_helper(const gl_names *names);
// Makes it current on this thread, which has no context current; waits while another thread has it. False where that
// fails; where it does not, leave_helper finishes what OpenGL was told and undoes it.
bool enter_helper(helper *helper);
void leave_helper(helper *helper);
