// cl_khr_gl_sharing on a driver without it. A shared texture is an ordinary image with a record of its texture, a shared
// buffer an ordinary buffer: acquire copies OpenGL's content into it, release copies it back. Both finish before the call
// returns. They use the calling thread's OpenGL context, or without a current one the layer's own (helper.c).
//
// With poison, the side that must not be used is overwritten: OpenCL's between release and acquire, OpenGL's between
// acquire and release. So a missing call gives wrong pixels instead of a picture that is right by chance.

#define GL_GLEXT_PROTOTYPES
#include "layer.h"

#include <GL/gl.h>
#include <GL/glext.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { POISON_FOR_CL = 0x5A, POISON_FOR_GL = 0xA5 };

// A shared texture or buffer, as long as its memory object lives.
typedef struct shared_object {
    struct shared_object *next;
    cl_mem memory;
    GLenum target; // GL_TEXTURE_2D, or GL_COPY_READ_BUFFER for a buffer, which has bytes only
    GLuint name;
    GLint level;
    size_t width, height, bytes;
    GLenum format, type; // of its texels in host memory
    bool acquired;
    unsigned acquisitions; // so far
} shared_object;

// A context that was created with an OpenGL context to share with.
typedef struct sharing_context {
    struct sharing_context *next;
    cl_context context;
    gl_names gl;
    helper *helper; // created when a thread first needs it
} sharing_context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static shared_object *objects_shared;
static sharing_context *contexts;

static shared_object *find_object(cl_mem memory) {
    pthread_mutex_lock(&lock);
    shared_object *found = objects_shared;
    while (found && found->memory != memory) found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

bool belongs_to_opengl(cl_mem memory) {
    const shared_object *shared = find_object(memory);
    return shared && !shared->acquired;
}

static void CL_CALLBACK forget_object(cl_mem memory, void *data) {
    (void)memory;
    pthread_mutex_lock(&lock);
    for (shared_object **link = &objects_shared; *link; link = &(*link)->next) {
        if (*link == data) {
            *link = (*link)->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    free(data);
}

static bool is_buffer(const shared_object *object) { return object->target == GL_COPY_READ_BUFFER; }

// The API that is current on this thread. OpenGL ES cannot read a texture back as this layer does.
typedef enum { NO_OPENGL, OPENGL, OPENGL_ES } current_gl;

static current_gl current(void) {
    const char *version = (const char *)glGetString(GL_VERSION);
    if (!version) return NO_OPENGL;
    return strncmp(version, "OpenGL ES", 9) == 0 ? OPENGL_ES : OPENGL;
}

static bool has_gl_context(void) { return current() == OPENGL; }

// ------------------------------------------------------------------------------------------------------- contexts

// Valid as long as the context lives.
static sharing_context *find_sharing(cl_context context) {
    pthread_mutex_lock(&lock);
    sharing_context *found = contexts;
    while (found && found->context != context) found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static bool is_sharing(cl_context context) { return find_sharing(context) != NULL; }

// Returns a helper that another context of the same OpenGL context has, or NULL.
static helper *existing_helper(const gl_names *gl) {
    pthread_mutex_lock(&lock);
    sharing_context *found = contexts;
    while (found && !(found->helper && found->gl.context == gl->context && found->gl.display == gl->display)) {
        found = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found ? found->helper : NULL;
}

// Returns NULL if none can be created. Contexts share a helper, since none is destroyed: a program that changes its device many
// times would collect OpenGL contexts.
static helper *helper_of(sharing_context *sharing) {
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    if (!sharing->helper) sharing->helper = existing_helper(&sharing->gl);
    if (!sharing->helper) sharing->helper = new_helper(&sharing->gl);
    helper *helper = sharing->helper;
    pthread_mutex_unlock(&making);
    return helper;
}

// Records if `context` shares. A new context may have the address of a released one: an old record is replaced. Its
// helper is not destroyed: the display may be closed by then.
static void note_context(cl_context context, const gl_names *gl) {
    pthread_mutex_lock(&lock);
    for (sharing_context **link = &contexts; *link; link = &(*link)->next) {
        if ((*link)->context == context) {
            sharing_context *old = *link;
            *link = old->next;
            free(old);
            break;
        }
    }
    sharing_context *note = gl->context ? malloc(sizeof *note) : NULL;
    if (note) {
        *note = (sharing_context){.next = contexts, .context = context, .gl = *gl};
        contexts = note;
    }
    pthread_mutex_unlock(&lock);
}

enum { MOST_PROPERTIES = 32 };

// Copies the properties without those of OpenGL, which the driver would refuse; those go to `gl`, whose context is NULL
// if there are none.
static cl_int split_gl_properties(const cl_context_properties *from, cl_context_properties *to, gl_names *gl) {
    int displays = 0, count = 0;
    *gl = (gl_names){0};
    for (; from && *from; from += 2) {
        switch (from[0]) {
        case CL_GL_CONTEXT_KHR: gl->context = (void *)from[1]; break;
        case CL_EGL_DISPLAY_KHR:
        case CL_GLX_DISPLAY_KHR:
            if (from[1] == 0) break;
            gl->egl = from[0] == CL_EGL_DISPLAY_KHR;
            gl->display = (void *)from[1];
            displays++;
            break;
        case CL_WGL_HDC_KHR:
        case CL_CGL_SHAREGROUP_KHR: displays += from[1] != 0; break;
        default:
            if (count + 2 >= MOST_PROPERTIES) return CL_INVALID_PROPERTY;
            to[count++] = from[0];
            to[count++] = from[1];
        }
    }
    to[count] = 0;
    if (displays > 1) return CL_INVALID_OPERATION;
    if (gl->context && displays == 0) return CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR;
    if (gl->context && gl->egl && options.no_interop_egl) return CL_INVALID_OPERATION;
    if (gl->context && options.context_on_gl && current() == NO_OPENGL) return CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR;
    return CL_SUCCESS;
}

static cl_context CL_API_CALL layer_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                                    const cl_device_id *devices,
                                                    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                                    void *data, cl_int *error) {
    FAIL_AS_PLANNED_OR_NULL(clCreateContext, properties);
    cl_context_properties others[MOST_PROPERTIES];
    gl_names gl;
    cl_int status = split_gl_properties(properties, others, &gl);
    if (status) RETURN_ERROR(status);
    cl_context context = driver->clCreateContext(properties ? others : NULL, count, devices, notify, data, error);
    if (context) note_context(context, &gl);
    return context;
}

static cl_context CL_API_CALL layer_clCreateContextFromType(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *error) {
    FAIL_AS_PLANNED_OR_NULL(clCreateContextFromType, properties);
    cl_context_properties others[MOST_PROPERTIES];
    gl_names gl;
    cl_int status = split_gl_properties(properties, others, &gl);
    if (status) RETURN_ERROR(status);
    if (options.fake_gpu && (type & CL_DEVICE_TYPE_GPU)) type = CL_DEVICE_TYPE_ALL;
    cl_context context = driver->clCreateContextFromType(properties ? others : NULL, type, notify, data, error);
    if (context) note_context(context, &gl);
    return context;
}

// Returns the device that drives the OpenGL context: the platform's first, as the layer treats all alike, or the one that
// the option names. With a name that no device has, the result is empty, as from a driver that does not know it.
static cl_int CL_API_CALL layer_clGetGLContextInfoKHR(const cl_context_properties *properties, cl_gl_context_info what,
                                                      size_t size, void *value, size_t *returned) {
    FAIL_AS_PLANNED(clGetGLContextInfoKHR, properties);
    cl_context_properties others[MOST_PROPERTIES];
    gl_names gl;
    cl_int status = split_gl_properties(properties, others, &gl);
    if (status) return status;
    if (!gl.context) return CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR;
    if (what != CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR && what != CL_DEVICES_FOR_GL_CONTEXT_KHR) return CL_INVALID_VALUE;
    cl_platform_id platform = NULL;
    for (int i = 0; others[i]; i += 2) {
        if (others[i] == CL_CONTEXT_PLATFORM) platform = (cl_platform_id)others[i + 1];
    }
    if (!platform) return CL_INVALID_PLATFORM;
    cl_device_id devices[16];
    cl_uint count = 0, chosen = 0;
    status = driver->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count);
    if (status) return status;
    if (count > 16) count = 16;
    if (options.driving_device) {
        while (chosen < count && !is_named(devices[chosen], options.driving_device)) chosen++;
    }
    size_t length = chosen < count ? sizeof *devices : 0;
    if (value && size < length) return CL_INVALID_VALUE;
    if (value) memcpy(value, &devices[chosen], length);
    if (returned) *returned = length;
    return CL_SUCCESS;
}

// ------------------------------------------------------------------------------------------------------- textures

// The formats that both APIs have, by the extension's table.
static const struct {
    GLint internal;
    cl_image_format image;
    GLenum format, type;
    size_t bytes;
} formats[] = {
    {GL_RGBA8, {CL_RGBA, CL_UNORM_INT8}, GL_RGBA, GL_UNSIGNED_BYTE, 4},
    {GL_RGBA8UI, {CL_RGBA, CL_UNSIGNED_INT8}, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE, 4},
    {GL_R8, {CL_R, CL_UNORM_INT8}, GL_RED, GL_UNSIGNED_BYTE, 1},
    {GL_R8UI, {CL_R, CL_UNSIGNED_INT8}, GL_RED_INTEGER, GL_UNSIGNED_BYTE, 1},
    {GL_RG8, {CL_RG, CL_UNORM_INT8}, GL_RG, GL_UNSIGNED_BYTE, 2},
    {GL_R16, {CL_R, CL_UNORM_INT16}, GL_RED, GL_UNSIGNED_SHORT, 2},
    {GL_RGBA16F, {CL_RGBA, CL_HALF_FLOAT}, GL_RGBA, GL_HALF_FLOAT, 8},
    {GL_RGBA32F, {CL_RGBA, CL_FLOAT}, GL_RGBA, GL_FLOAT, 16},
};

// From now on its memory is one of the two sides.
static void note_object(shared_object *object) {
    driver->clSetMemObjectDestructorCallback(object->memory, forget_object, object);
    pthread_mutex_lock(&lock);
    object->next = objects_shared;
    objects_shared = object;
    pthread_mutex_unlock(&lock);
}

static cl_mem CL_API_CALL layer_clCreateFromGLTexture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                                      cl_GLint level, cl_GLuint name, cl_int *error) {
    FAIL_AS_PLANNED_OR_NULL(clCreateFromGLTexture, context);
    sharing_context *sharing = find_sharing(context);
    if (!sharing) RETURN_ERROR(CL_INVALID_CONTEXT);
    const current_gl here = current();
    helper *helper = here == NO_OPENGL && !options.needs_context ? helper_of(sharing) : NULL;
    if (options.no_images || (here != OPENGL && !helper)) RETURN_ERROR(CL_INVALID_OPERATION);
    if (target != GL_TEXTURE_2D) RETURN_ERROR(CL_INVALID_VALUE);
    if (helper && !enter_helper(helper)) RETURN_ERROR(CL_INVALID_OPERATION);

    GLint bound = 0, width = 0, height = 0, internal = 0;
    const bool is_texture = glIsTexture(name);
    if (is_texture) {
        glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound);
        glBindTexture(target, name);
        glGetTexLevelParameteriv(target, level, GL_TEXTURE_WIDTH, &width);
        glGetTexLevelParameteriv(target, level, GL_TEXTURE_HEIGHT, &height);
        glGetTexLevelParameteriv(target, level, GL_TEXTURE_INTERNAL_FORMAT, &internal);
        glBindTexture(target, (GLuint)bound);
    }
    if (helper) leave_helper(helper);
    if (!is_texture) RETURN_ERROR(CL_INVALID_GL_OBJECT);
    if (width == 0 || height == 0) RETURN_ERROR(CL_INVALID_MIP_LEVEL);
    size_t kind = 0, kinds = sizeof formats / sizeof *formats;
    while (kind < kinds && formats[kind].internal != internal) kind++;
    if (kind == kinds) RETURN_ERROR(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);

    shared_object *texture = malloc(sizeof *texture);
    if (!texture) RETURN_ERROR(CL_OUT_OF_HOST_MEMORY);
    *texture = (shared_object){
        .target = target,
        .name = name,
        .level = level,
        .width = (size_t)width,
        .height = (size_t)height,
        .bytes = (size_t)width * (size_t)height * formats[kind].bytes,
        .format = formats[kind].format,
        .type = formats[kind].type,
    };
    cl_image_desc description = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = texture->width, .image_height = texture->height};
    // Poisoned from the start: it has not been acquired yet.
    void *rubbish = options.poison ? malloc(texture->bytes) : NULL;
    if (rubbish) memset(rubbish, POISON_FOR_CL, texture->bytes);
    cl_mem_flags copy = rubbish ? CL_MEM_COPY_HOST_PTR : 0;
    cl_int status;
    texture->memory =
        driver->clCreateImage(context, flags | copy, &formats[kind].image, &description, rubbish, &status);
    free(rubbish);
    if (!texture->memory) {
        free(texture);
        RETURN_ERROR(status);
    }
    note_object(texture);
    if (error) *error = CL_SUCCESS;
    return texture->memory;
}

static cl_mem CL_API_CALL layer_clCreateFromGLTexture2D(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                                        cl_GLint level, cl_GLuint name, cl_int *error) {
    return layer_clCreateFromGLTexture(context, flags, target, level, name, error);
}

// -------------------------------------------------------------------------------------------------------- buffers

static cl_mem CL_API_CALL layer_clCreateFromGLBuffer(cl_context context, cl_mem_flags flags, cl_GLuint name,
                                                     cl_int *error) {
    FAIL_AS_PLANNED_OR_NULL(clCreateFromGLBuffer, context);
    sharing_context *sharing = find_sharing(context);
    if (!sharing) RETURN_ERROR(CL_INVALID_CONTEXT);
    const current_gl here = current();
    helper *helper = here == NO_OPENGL && !options.needs_context ? helper_of(sharing) : NULL;
    if (here != OPENGL && !helper) RETURN_ERROR(CL_INVALID_OPERATION);
    if (helper && !enter_helper(helper)) RETURN_ERROR(CL_INVALID_OPERATION);
    GLint bound = 0, length = 0;
    const bool is_known = glIsBuffer(name);
    if (is_known) {
        glGetIntegerv(GL_COPY_READ_BUFFER_BINDING, &bound);
        glBindBuffer(GL_COPY_READ_BUFFER, name);
        glGetBufferParameteriv(GL_COPY_READ_BUFFER, GL_BUFFER_SIZE, &length);
        glBindBuffer(GL_COPY_READ_BUFFER, (GLuint)bound);
    }
    if (helper) leave_helper(helper);
    // By the extension a buffer without storage is invalid too.
    if (!is_known || length <= 0) RETURN_ERROR(CL_INVALID_GL_OBJECT);

    shared_object *buffer = malloc(sizeof *buffer);
    if (!buffer) RETURN_ERROR(CL_OUT_OF_HOST_MEMORY);
    *buffer = (shared_object){.target = GL_COPY_READ_BUFFER, .name = name, .bytes = (size_t)length};
    void *rubbish = options.poison ? malloc(buffer->bytes) : NULL;
    if (rubbish) memset(rubbish, POISON_FOR_CL, buffer->bytes);
    cl_int status;
    buffer->memory = driver->clCreateBuffer(context, flags | (rubbish ? CL_MEM_COPY_HOST_PTR : 0), buffer->bytes,
                                            rubbish, &status);
    free(rubbish);
    if (!buffer->memory) {
        free(buffer);
        RETURN_ERROR(status);
    }
    note_object(buffer);
    if (error) *error = CL_SUCCESS;
    return buffer->memory;
}

// ------------------------------------------------------------------------------------------- queries of both kinds

static cl_int CL_API_CALL layer_clGetGLObjectInfo(cl_mem object, cl_gl_object_type *type, cl_GLuint *name) {
    shared_object *shared = find_object(object);
    if (!shared) return CL_INVALID_GL_OBJECT;
    if (type) *type = is_buffer(shared) ? CL_GL_OBJECT_BUFFER : CL_GL_OBJECT_TEXTURE2D;
    if (name) *name = shared->name;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL layer_clGetGLTextureInfo(cl_mem object, cl_gl_texture_info what, size_t size, void *value,
                                                   size_t *returned) {
    shared_object *texture = find_object(object);
    if (!texture || is_buffer(texture)) return CL_INVALID_GL_OBJECT;
    if (what != CL_GL_TEXTURE_TARGET && what != CL_GL_MIPMAP_LEVEL) return CL_INVALID_VALUE;
    // Both values have 32 bits.
    GLenum answer = what == CL_GL_TEXTURE_TARGET ? texture->target : (GLenum)texture->level;
    if (value && size < sizeof answer) return CL_INVALID_VALUE;
    if (value) memcpy(value, &answer, sizeof answer);
    if (returned) *returned = sizeof answer;
    return CL_SUCCESS;
}

// -------------------------------------------------------------------------------------------- acquire and release

// The OpenGL state that copying texels depends on. The application's state is restored, as it does not know of the layer.
static const GLenum pixel_state[] = {
    GL_PACK_ALIGNMENT,   GL_PACK_ROW_LENGTH,   GL_PACK_SKIP_ROWS,   GL_PACK_SKIP_PIXELS,
    GL_UNPACK_ALIGNMENT, GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS, GL_UNPACK_SKIP_PIXELS,
};
enum { PIXEL_STATES = sizeof pixel_state / sizeof *pixel_state };

typedef struct {
    GLint pack_buffer, unpack_buffer, texture, pixel[PIXEL_STATES];
} gl_state;

static gl_state prepare_gl(const shared_object *texture) {
    gl_state before;
    glGetIntegerv(GL_PIXEL_PACK_BUFFER_BINDING, &before.pack_buffer);
    glGetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &before.unpack_buffer);
    glGetIntegerv(GL_TEXTURE_BINDING_2D, &before.texture);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    glBindTexture(texture->target, texture->name);
    for (int i = 0; i < PIXEL_STATES; i++) {
        glGetIntegerv(pixel_state[i], &before.pixel[i]);
        bool alignment = pixel_state[i] == GL_PACK_ALIGNMENT || pixel_state[i] == GL_UNPACK_ALIGNMENT;
        glPixelStorei(pixel_state[i], alignment ? 1 : 0);
    }
    return before;
}

static void restore_gl(const shared_object *texture, const gl_state *before) {
    for (int i = 0; i < PIXEL_STATES; i++) glPixelStorei(pixel_state[i], before->pixel[i]);
    glBindTexture(texture->target, (GLuint)before->texture);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, (GLuint)before->pack_buffer);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, (GLuint)before->unpack_buffer);
}

static void write_texture(const shared_object *texture, const void *texels) {
    glTexSubImage2D(texture->target, texture->level, 0, 0, (GLsizei)texture->width, (GLsizei)texture->height,
                    texture->format, texture->type, texels);
}

static bool has_fault(const char *name) {
    return options.faulty_handover && strcmp(options.faulty_handover, name) == 0;
}

// Changes a bit of what is copied if that is the planned fault.
static void spoil(void *copied, size_t length, bool acquire) {
    if (has_fault(acquire ? "acquire" : "release")) ((unsigned char *)copied)[length - 1] ^= 1;
}

// Returns true if nothing is copied for an object, by the planned fault; `position` is its place in the list of the call.
static bool is_forgotten(const shared_object *object, cl_uint position) {
    return (has_fault("first-only") && position > 0) || (has_fault("once-only") && object->acquisitions > 1);
}

static cl_int move_buffer(cl_command_queue queue, shared_object *buffer, bool acquire) {
    void *bytes = malloc(buffer->bytes);
    if (!bytes) return CL_OUT_OF_HOST_MEMORY;
    const GLsizeiptr length = (GLsizeiptr)buffer->bytes;
    cl_int status;
    GLint before = 0;
    glGetIntegerv(GL_COPY_READ_BUFFER_BINDING, &before);
    glBindBuffer(buffer->target, buffer->name);
    if (acquire) {
        glGetBufferSubData(buffer->target, 0, length, bytes);
        spoil(bytes, buffer->bytes, acquire);
        status = driver->clEnqueueWriteBuffer(queue, buffer->memory, CL_TRUE, 0, buffer->bytes, bytes, 0, NULL, NULL);
        if (options.poison && status == CL_SUCCESS) {
            memset(bytes, POISON_FOR_GL, buffer->bytes);
            glBufferSubData(buffer->target, 0, length, bytes);
        }
    } else {
        status = driver->clEnqueueReadBuffer(queue, buffer->memory, CL_TRUE, 0, buffer->bytes, bytes, 0, NULL, NULL);
        if (status == CL_SUCCESS && options.poison && !buffer->acquired) memset(bytes, POISON_FOR_CL, buffer->bytes);
        spoil(bytes, buffer->bytes, acquire);
        if (status == CL_SUCCESS) glBufferSubData(buffer->target, 0, length, bytes);
        if (options.poison && status == CL_SUCCESS) {
            memset(bytes, POISON_FOR_CL, buffer->bytes);
            status = driver->clEnqueueWriteBuffer(queue, buffer->memory, CL_TRUE, 0, buffer->bytes, bytes, 0, NULL,
                                                  NULL);
        }
    }
    glBindBuffer(buffer->target, (GLuint)before);
    free(bytes);
    return status;
}

static cl_int move_texture(cl_command_queue queue, shared_object *texture, bool acquire) {
    const size_t origin[3] = {0, 0, 0}, region[3] = {texture->width, texture->height, 1};
    void *texels = malloc(texture->bytes);
    if (!texels) return CL_OUT_OF_HOST_MEMORY;
    cl_int status;
    gl_state before = prepare_gl(texture);
    if (acquire) {
        glGetTexImage(texture->target, texture->level, texture->format, texture->type, texels);
        spoil(texels, texture->bytes, acquire);
        status = driver->clEnqueueWriteImage(queue, texture->memory, CL_TRUE, origin, region, 0, 0, texels, 0, NULL, NULL);
        if (options.poison && status == CL_SUCCESS) {
            memset(texels, POISON_FOR_GL, texture->bytes);
            write_texture(texture, texels);
        }
    } else {
        status = driver->clEnqueueReadImage(queue, texture->memory, CL_TRUE, origin, region, 0, 0, texels, 0, NULL, NULL);
        if (status == CL_SUCCESS && options.poison && !texture->acquired) memset(texels, POISON_FOR_CL, texture->bytes);
        spoil(texels, texture->bytes, acquire);
        if (status == CL_SUCCESS) write_texture(texture, texels);
        if (options.poison && status == CL_SUCCESS) {
            memset(texels, POISON_FOR_CL, texture->bytes);
            status = driver->clEnqueueWriteImage(queue, texture->memory, CL_TRUE, origin, region, 0, 0, texels, 0, NULL,
                                                 NULL);
        }
    }
    restore_gl(texture, &before);
    free(texels);
    return status;
}

// Misuse is logged but not refused: real drivers report nothing either, and an error would make an application copy frames,
// which gives right pictures.
static cl_int move_all(const char *function, bool acquire, cl_command_queue queue, cl_uint count,
                       const cl_mem *objects, size_t *bytes, GLuint *name) {
    cl_int status = CL_SUCCESS;
    for (cl_uint i = 0; i < count && status == CL_SUCCESS; i++) {
        shared_object *shared = find_object(objects[i]);
        if (!shared) return CL_INVALID_GL_OBJECT;
        if (shared->acquired == acquire) {
            log_line("misuse %s %s", function, acquire ? "already-acquired" : "not-acquired");
        }
        if (acquire) shared->acquisitions++;
        if (!is_forgotten(shared, i)) {
            status = is_buffer(shared) ? move_buffer(queue, shared, acquire) : move_texture(queue, shared, acquire);
        }
        shared->acquired = acquire;
        *bytes += shared->bytes;
        *name = shared->name;
    }
    return status;
}

static cl_int hand_over(const char *function, bool acquire, cl_command_queue queue, cl_uint count,
                        const cl_mem *objects, cl_uint waits, const cl_event *wait_list, cl_event *event) {
    cl_context context = NULL;
    cl_int status = driver->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (status) return status;
    sharing_context *sharing = find_sharing(context);
    if (!sharing) return CL_INVALID_CONTEXT;
    if (count > 0 && !objects) return CL_INVALID_VALUE;
    const current_gl here = current();
    helper *helper = here == NO_OPENGL && !options.needs_context ? helper_of(sharing) : NULL;
    if (here != OPENGL && !helper) {
        if (!options.needs_context) log_line("misuse %s no-gl-context", function);
        return CL_INVALID_OPERATION;
    }
    if (waits > 0) status = driver->clWaitForEvents(waits, wait_list);
    // Release must see the results of the kernels before it.
    if (status == CL_SUCCESS) status = driver->clFinish(queue);
    if (status) return status;
    if (helper && !enter_helper(helper)) return CL_INVALID_OPERATION;
    size_t bytes = 0;
    GLuint name = 0;
    status = move_all(function, acquire, queue, count, objects, &bytes, &name);
    if (helper) leave_helper(helper);
    const char *thread = helper ? "thread=without-gl " : "";
    log_line("%s objects=%u bytes=%zu %squeue=%p name=%u", function, count, bytes, thread, (void *)queue, name);
    if (status == CL_SUCCESS && event) status = driver->clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
    return status;
}

static cl_int CL_API_CALL layer_clEnqueueAcquireGLObjects(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                                          cl_uint waits, const cl_event *wait_list, cl_event *event) {
    FAIL_AS_PLANNED(clEnqueueAcquireGLObjects, queue);
    // The driver knows which device runs OpenGL: the first one.
    if (options.twins && position_of_queue(queue) > 0) return CL_INVALID_OPERATION;
    return hand_over("clEnqueueAcquireGLObjects", true, queue, count, objects, waits, wait_list, event);
}

static cl_int CL_API_CALL layer_clEnqueueReleaseGLObjects(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                                          cl_uint waits, const cl_event *wait_list, cl_event *event) {
    FAIL_AS_PLANNED(clEnqueueReleaseGLObjects, queue);
    return hand_over("clEnqueueReleaseGLObjects", false, queue, count, objects, waits, wait_list, event);
}

// cl_khr_gl_event: an event that is complete when OpenGL's fence is. Waits at once, which is allowed.
static cl_event CL_API_CALL layer_clCreateEventFromGLsyncKHR(cl_context context, cl_GLsync fence, cl_int *error) {
    FAIL_AS_PLANNED_OR_NULL(clCreateEventFromGLsyncKHR, context);
    if (!is_sharing(context)) RETURN_ERROR(CL_INVALID_CONTEXT);
    if (!has_gl_context()) RETURN_ERROR(CL_INVALID_OPERATION);
    if (!glIsSync((GLsync)fence)) RETURN_ERROR(CL_INVALID_GL_OBJECT);
    glClientWaitSync((GLsync)fence, GL_SYNC_FLUSH_COMMANDS_BIT, GL_TIMEOUT_IGNORED);
    cl_event event = driver->clCreateUserEvent(context, error);
    if (event) driver->clSetUserEventStatus(event, CL_COMPLETE);
    return event;
}

// ------------------------------------------------------------------------------------------------------ the table

void install_sharing(cl_icd_dispatch *table) {
    table->clCreateContext = layer_clCreateContext;
    table->clCreateContextFromType = layer_clCreateContextFromType;
    table->clGetGLContextInfoKHR = layer_clGetGLContextInfoKHR;
    table->clCreateFromGLBuffer = layer_clCreateFromGLBuffer;
    table->clCreateFromGLTexture = layer_clCreateFromGLTexture;
    table->clCreateFromGLTexture2D = layer_clCreateFromGLTexture2D;
    table->clGetGLObjectInfo = layer_clGetGLObjectInfo;
    table->clGetGLTextureInfo = layer_clGetGLTextureInfo;
    table->clEnqueueAcquireGLObjects = layer_clEnqueueAcquireGLObjects;
    table->clEnqueueReleaseGLObjects = layer_clEnqueueReleaseGLObjects;
    table->clCreateEventFromGLsyncKHR = layer_clCreateEventFromGLsyncKHR;
}

void *sharing_function(const char *name) {
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
        {"clGetGLContextInfoKHR", (void *)layer_clGetGLContextInfoKHR},
        {"clCreateFromGLBuffer", (void *)layer_clCreateFromGLBuffer},
        {"clCreateFromGLTexture", (void *)layer_clCreateFromGLTexture},
        {"clCreateFromGLTexture2D", (void *)layer_clCreateFromGLTexture2D},
        {"clGetGLObjectInfo", (void *)layer_clGetGLObjectInfo},
        {"clGetGLTextureInfo", (void *)layer_clGetGLTextureInfo},
        {"clEnqueueAcquireGLObjects", (void *)layer_clEnqueueAcquireGLObjects},
        {"clEnqueueReleaseGLObjects", (void *)layer_clEnqueueReleaseGLObjects},
        {"clCreateEventFromGLsyncKHR", (void *)layer_clCreateEventFromGLsyncKHR},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(name, functions[i].name) == 0) return functions[i].function;
    }
    return NULL;
}
