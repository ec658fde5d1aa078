// An OpenGL context of the layer's own, for acquire and release on a thread without a current one. It shares its objects
// with the application's context, and is current on one thread at a time, during a handover.

#include "layer.h"

#include <GL/glx.h>
#include <X11/Xlib.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct helper {
    gl_names names; // the application's
    void *context;
    GLXPbuffer pbuffer; // None under EGL
    unsigned egl_api;   // of the thread on which the context is current, to be restored
    pthread_mutex_t in_use;
};

// ------------------------------------------------------------------------------------------------------------ EGL

// The parts of EGL that are needed, declared here and looked up on demand: the layer also works where EGL is missing.
typedef struct {
    unsigned (*eglQueryAPI)(void);
    unsigned (*eglBindAPI)(unsigned api);
    unsigned (*eglQueryContext)(void *display, void *context, int32_t what, int32_t *value);
    unsigned (*eglChooseConfig)(void *display, const int32_t *wanted, void **configs, int32_t room, int32_t *count);
    void *(*eglCreateContext)(void *display, void *config, void *share, const int32_t *attributes);
    unsigned (*eglMakeCurrent)(void *display, void *draw, void *read, void *context);
} egl_functions;

enum { EGL_CONFIG_ID = 0x3028, EGL_NONE = 0x3038, EGL_OPENGL_API = 0x30A2 };

static egl_functions egl;
static bool has_egl;

static void load_egl(void) {
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    bool complete = true;
#define LOAD(function) complete &= (*(void **)&egl.function = dlsym(library, #function)) != NULL
    LOAD(eglQueryAPI);
    LOAD(eglBindAPI);
    LOAD(eglQueryContext);
    LOAD(eglChooseConfig);
    LOAD(eglCreateContext);
    LOAD(eglMakeCurrent);
#undef LOAD
    has_egl = complete;
}

static bool make_for_egl(helper *made) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_egl);
    if (!has_egl) return false;
    // A context need not have a configuration: then its number is 0, and the helper's context has none either.
    int32_t id = 0, count = 0;
    void *config = NULL;
    egl.eglQueryContext(made->names.display, made->names.context, EGL_CONFIG_ID, &id);
    const int32_t wanted[] = {EGL_CONFIG_ID, id, EGL_NONE}, no_attributes[] = {EGL_NONE};
    if (id != 0) egl.eglChooseConfig(made->names.display, wanted, &config, 1, &count);
    unsigned before = egl.eglQueryAPI();
    egl.eglBindAPI(EGL_OPENGL_API);
    made->context = egl.eglCreateContext(made->names.display, config, made->names.context, no_attributes);
    egl.eglBindAPI(before);
    return made->context != NULL;
}

// ------------------------------------------------------------------------------------------------------------ GLX

static bool make_for_glx(helper *made) {
    Display *display = made->names.display;
    int id = 0, screen = 0, count = 0, drawables = 0;
    glXQueryContext(display, made->names.context, GLX_FBCONFIG_ID, &id);
    glXQueryContext(display, made->names.context, GLX_SCREEN, &screen);
    const int wanted[] = {GLX_FBCONFIG_ID, id, None}, small[] = {GLX_PBUFFER_WIDTH, 1, GLX_PBUFFER_HEIGHT, 1, None};
    GLXFBConfig *configs = glXChooseFBConfig(display, screen, wanted, &count);
    if (!configs || count == 0) return false;
    made->context = glXCreateNewContext(display, configs[0], GLX_RGBA_TYPE, made->names.context, True);
    glXGetFBConfigAttrib(display, configs[0], GLX_DRAWABLE_TYPE, &drawables);
    if (drawables & GLX_PBUFFER_BIT) made->pbuffer = glXCreatePbuffer(display, configs[0], small);
    XFree(configs);
    return made->context != NULL;
}

// ----------------------------------------------------------------------------------------------------------- both

helper *new_helper(const gl_names *names) {
    helper *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->names = *names;
    pthread_mutex_init(&made->in_use, NULL);
    if (names->egl ? make_for_egl(made) : make_for_glx(made)) return made;
    free(made);
    return NULL;
}

static bool make_current(helper *helper, void *context) {
    void *display = helper->names.display;
    if (helper->names.egl) return egl.eglMakeCurrent(display, NULL, NULL, context);
    GLXPbuffer drawable = context ? helper->pbuffer : None;
    return glXMakeContextCurrent(display, drawable, drawable, context);
}

bool enter_helper(helper *helper) {
    pthread_mutex_lock(&helper->in_use);
    if (helper->names.egl) {
        helper->egl_api = egl.eglQueryAPI();
        egl.eglBindAPI(EGL_OPENGL_API);
    }
    if (make_current(helper, helper->context)) return true;
    if (helper->names.egl) egl.eglBindAPI(helper->egl_api);
    pthread_mutex_unlock(&helper->in_use);
    return false;
}

void leave_helper(helper *helper) {
    // The other contexts see commands that are finished.
    glFinish();
    make_current(helper, NULL);
    if (helper->names.egl) egl.eglBindAPI(helper->egl_api);
    pthread_mutex_unlock(&helper->in_use);
}
