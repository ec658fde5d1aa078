// Records where an application waits for OpenGL, for LD_PRELOAD. With WATCH_EXPIRE every wait for a fence times out. Lines
// are appended to the file that WATCH_LOG names; with the log of the OpenCL layer there, the order of both is known.
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
    return function;
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
