// Records where an application waits for OpenGL, for LD_PRELOAD. With WATCH_EXPIRE every wait for a fence times out. Lines
// are appended to the file that WATCH_LOG names; with the log of the OpenCL layer there, the order of both is known.
//
// With WATCH_COUNTS=folder the file `opengl.PID` there has the number of the application's objects of each kind, and of the
// pictures that it has shown by GLX, as 64-bit numbers in the order of the enumeration below. All contexts are taken to share
// their objects.
//
// Applications look up OpenGL's functions by name, so the look-up functions are replaced, which in turn are
// found by dlsym.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gl_sharing/tally.h"

typedef void *(*find_function)(const char *name);

static void *(*real_dlsym)(void *library, const char *name);
static find_function real_glx, real_egl;
static void (*real_finish)(void);
static unsigned (*real_wait)(void *fence, unsigned flags, uint64_t timeout_ns);

static void note(const char *line) {
    const char *path = getenv("WATCH_LOG");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!file) return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

static void watched_finish(void) {
    note("glFinish");
    real_finish();
}

static unsigned watched_wait(void *fence, unsigned flags, uint64_t timeout_ns) {
    enum { GL_ALREADY_SIGNALED = 0x911A, GL_TIMEOUT_EXPIRED = 0x911B, GL_CONDITION_SATISFIED = 0x911C };
    unsigned status = getenv("WATCH_EXPIRE") ? GL_TIMEOUT_EXPIRED : real_wait(fence, flags, timeout_ns);
    bool passed = status == GL_ALREADY_SIGNALED || status == GL_CONDITION_SATISFIED;
    note(timeout_ns == 0 ? "glClientWaitSync asked" : passed ? "glClientWaitSync passed" : "glClientWaitSync expired");
    return status;
}

// ---------------------------------------------------------------------------------------------- objects and pictures

// The kinds of objects whose names are numbers, and behind them fences and pictures.
enum {
    TEXTURES, BUFFERS, FRAMEBUFFERS, RENDERBUFFERS, VERTEX_ARRAYS, QUERIES, SAMPLERS, PROGRAMS, SHADERS, NAMED,
    FENCES = NAMED, PICTURES, KINDS
};

enum { MOST_NAMES = 1 << 16 };
static bool is_alive[NAMED][MOST_NAMES];
static int64_t *tally;

// Names are counted once, as OpenGL ignores the deletion of a name that is not in use.
static void count_names(int kind, int count, const unsigned *names, bool alive) {
    for (int i = 0; i < count; i++) {
        if (names[i] == 0 || names[i] >= MOST_NAMES || is_alive[kind][names[i]] == alive) continue;
        is_alive[kind][names[i]] = alive;
        add_to_tally(tally, kind, alive ? 1 : -1);
    }
}

#define NAMES(kind, name)                                                                                              \
    static void (*real_Gen##name)(int count, unsigned *names);                                                         \
    static void (*real_Delete##name)(int count, const unsigned *names);                                                \
    static void counted_Gen##name(int count, unsigned *names) {                                                        \
        real_Gen##name(count, names);                                                                                  \
        count_names(kind, count, names, true);                                                                         \
    }                                                                                                                  \
    static void counted_Delete##name(int count, const unsigned *names) {                                               \
        count_names(kind, count, names, false);                                                                        \
        real_Delete##name(count, names);                                                                               \
    }
NAMES(TEXTURES, Textures)
NAMES(BUFFERS, Buffers)
NAMES(FRAMEBUFFERS, Framebuffers)
NAMES(RENDERBUFFERS, Renderbuffers)
NAMES(VERTEX_ARRAYS, VertexArrays)
NAMES(QUERIES, Queries)
NAMES(SAMPLERS, Samplers)

static unsigned (*real_CreateProgram)(void), (*real_CreateShader)(unsigned type);
static void (*real_DeleteProgram)(unsigned name), (*real_DeleteShader)(unsigned name);
static void *(*real_FenceSync)(unsigned condition, unsigned flags);
static void (*real_DeleteSync)(void *fence);
static void (*real_SwapBuffers)(void *display, unsigned long drawable);

static unsigned counted_CreateProgram(void) {
    unsigned name = real_CreateProgram();
    count_names(PROGRAMS, 1, &name, true);
    return name;
}

static void counted_DeleteProgram(unsigned name) {
    count_names(PROGRAMS, 1, &name, false);
    real_DeleteProgram(name);
}

static unsigned counted_CreateShader(unsigned type) {
    unsigned name = real_CreateShader(type);
    count_names(SHADERS, 1, &name, true);
    return name;
}

static void counted_DeleteShader(unsigned name) {
    count_names(SHADERS, 1, &name, false);
    real_DeleteShader(name);
}

static void *counted_FenceSync(unsigned condition, unsigned flags) {
    void *fence = real_FenceSync(condition, flags);
    if (fence) add_to_tally(tally, FENCES, 1);
    return fence;
}

static void counted_DeleteSync(void *fence) {
    if (fence) add_to_tally(tally, FENCES, -1);
    real_DeleteSync(fence);
}

static void counted_SwapBuffers(void *display, unsigned long drawable) {
    real_SwapBuffers(display, drawable);
    add_to_tally(tally, PICTURES, 1);
}

// Returns the counting function in place of the OpenGL function `name`, or `function` if that is not counted.
static void *counted(const char *name, void *function) {
#define COUNT(prefix, short_name)                                                                                      \
    if (strcmp(name, prefix #short_name) == 0) {                                                                       \
        *(void **)&real_##short_name = function;                                                                       \
        return (void *)counted_##short_name;                                                                           \
    }
#define COUNT_NAMES(kind) COUNT("gl", Gen##kind) COUNT("gl", Delete##kind)
    COUNT_NAMES(Textures)
    COUNT_NAMES(Buffers)
    COUNT_NAMES(Framebuffers)
    COUNT_NAMES(Renderbuffers)
    COUNT_NAMES(VertexArrays)
    COUNT_NAMES(Queries)
    COUNT_NAMES(Samplers)
    COUNT("gl", CreateProgram)
    COUNT("gl", DeleteProgram)
    COUNT("gl", CreateShader)
    COUNT("gl", DeleteShader)
    COUNT("gl", FenceSync)
    COUNT("gl", DeleteSync)
    COUNT("glX", SwapBuffers)
    return function;
}

__attribute__((constructor)) static void begin_to_count(void) { tally = map_tally("WATCH_COUNTS", "opengl", KINDS); }

// Returns the function that the application gets for the OpenGL function `name`.
static void *watched(const char *name, void *function) {
    if (!function) return NULL;
    if (strcmp(name, "glFinish") == 0) {
        *(void **)&real_finish = function;
        return (void *)watched_finish;
    }
    if (strcmp(name, "glClientWaitSync") == 0) {
        *(void **)&real_wait = function;
        return (void *)watched_wait;
    }
    return tally ? counted(name, function) : function;
}

static void *find_by_glx(const char *name) { return watched(name, real_glx(name)); }
static void *find_by_egl(const char *name) { return watched(name, real_egl(name)); }

void *dlsym(void *library, const char *name) {
    // The symbol version of dlsym differs between processors and between releases of the C library.
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (size_t i = 0; !real_dlsym && i < sizeof versions / sizeof *versions; i++) {
        *(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    }
    if (!real_dlsym) abort();
    void *found = real_dlsym(library, name);
    if (found && (strcmp(name, "glXGetProcAddress") == 0 || strcmp(name, "glXGetProcAddressARB") == 0)) {
        *(void **)&real_glx = found;
        return (void *)find_by_glx;
    }
    if (found && strcmp(name, "eglGetProcAddress") == 0) {
        *(void **)&real_egl = found;
        return (void *)find_by_egl;
    }
    return watched(name, found);
}
