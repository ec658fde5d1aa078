// A faulty OpenCL driver. A macro selects the fault:
//   -DCRASH_ON_LOAD   aborts while it is loaded
//   -DCRASH           dereferences NULL when its platforms are queried
//   -DHANG            never returns from that query
//   -DEXIT            ends the process in that query
//   -DNOTHING         has no platform
// The loader finds clIcdGetPlatformIDsKHR through clGetExtensionFunctionAddress, or by its name.

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CRASH_ON_LOAD
__attribute__((constructor)) static void crash(void) { abort(); }
#endif

CL_API_ENTRY cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id *platforms, cl_uint *count) {
    (void)entries;
    (void)platforms;
    // Real drivers sometimes print to stdout.
    printf("broken driver: hello");
    fflush(stdout);
#ifdef CRASH
    *(volatile int *)NULL = 0;
#endif
#ifdef HANG
    for (;;) pause();
#endif
#ifdef EXIT
    exit(3);
#endif
    if (count) *count = 0;
    return CL_PLATFORM_NOT_FOUND_KHR;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)clIcdGetPlatformIDsKHR : NULL;
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size,
                                                  void *value, size_t *returned) {
    (void)platform, (void)what, (void)size, (void)value, (void)returned;
    return CL_INVALID_PLATFORM;
}
