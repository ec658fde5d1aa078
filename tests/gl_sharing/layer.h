// Declarations that the layer's files share: the driver's own functions, the options, the log, the helper.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <stdbool.h>

// The functions of the driver below this layer. The layer makes its own calls here, so that they are neither
// counted, nor logged, nor made to fail.
extern const cl_icd_dispatch *driver;

// The options, read once from the environment (see README.md).
typedef struct {
    bool poison, hide_extension, fake_gpu, own_memory, no_images, crash_on_list, hang_on_list, no_interop_egl, gl_event,
        broken_parts, needs_context, context_on_gl, twins;
    const char *driving_device, *fail_device; // a part of its name; NULL if not set
    const char *spare_thread;                 // the thread's name; NULL if not set
    const char *device_info, *times, *faulty_handover;
} layer_options;
extern layer_options options;

// Counts a call of `function`; returns the code that it must fail with, or CL_SUCCESS.
cl_int planned_failure(const char *function);

// Adds a call to the file that CLREEL_LAYER_CALLS names.
void note_call(const char *function);

// Returns true if no call for this queue, context or program is to fail; such calls are not counted.
bool spares_queue(cl_command_queue queue);
bool spares_context(cl_context context);
bool spares_program(cl_program program);
bool spares_nothing(const void *other);
#define IS_SPARED(object)                                                                                              \
    _Generic((object), cl_command_queue: spares_queue, cl_context: spares_context, cl_program: spares_program,             \
             default: spares_nothing)(object)

// Returns the position of the queue's device in its platform's list.
cl_uint position_of_queue(cl_command_queue queue);

// Returns true if the device's name contains `part`.
bool is_named(cl_device_id device, const char *part);

// Writes a line to the log, if there is one.
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

// For functions that return a status, and for those that return a handle and store the status in `error`. `object` is
// the object that the call belongs to.
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
// Returns true if it is shared and not acquired.
bool belongs_to_opengl(cl_mem memory);
// Returns the function of sharing.c with this name, or NULL: extension functions are looked up by name.
void *sharing_function(const char *name);

// Makes the functions of the table count the application's objects, if CLREEL_LAYER_COUNTS is set (count.c).
void install_counts(cl_icd_dispatch *table);

// The OpenGL context to share with, in the application's terms: by GLX or by EGL.
typedef struct {
    bool egl;
    void *display, *context;
} gl_names;

// An OpenGL context of the layer's own that shares its objects with the application's (helper.c).
typedef struct helper helper;

// Returns NULL if none can be created.
helper *new_helper(const gl_names *names);
// Makes the context current on this thread, which has none; waits while another thread uses it. Returns false on failure;
// otherwise leave_helper finishes the OpenGL commands and restores the thread.
bool enter_helper(helper *helper);
void leave_helper(helper *helper);
