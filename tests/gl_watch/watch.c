// Notes where an application waits for OpenGL, and has OpenGL never be finished for who only asks. To be preloaded
// (LD_PRELOAD), with WATCH_LOG naming the file that lines are added to: that of the OpenCL layer, for the order of both.
//
// Applications look OpenGL's functions up by name, so the functions for looking up are replaced, and those in turn are
// found by dlsym.

#define _GNU_SOURCE
#include <dlfcn.h>
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
    enum { GL_TIMEOUT_EXPIRED = 0x911B };
    note(timeout_ns == 0 ? "glClientWaitSync asked" : "glClientWaitSync waited");
    unsigned status = real_wait(fence, flags, timeout_ns);
    return timeout_ns == 0 ? GL_TIMEOUT_EXPIRED : status;
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
