// Notes where an application waits for OpenGL. With WATCH_EXPIRE no fence is passed within the time that it is given. To be
// preloaded (LD_PRELOAD), with WATCH_LOG naming the file that lines are added to: that of the OpenCL layer, for the order of
// both.
//
// Applications look OpenGL's functions up by name, so the functions for looking up are replaced, and those in turn are
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

// What the application gets for an OpenGL function that it looked up.
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
    // Its version differs between processors and between releases of the C library.
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
