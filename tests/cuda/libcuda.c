/* The functions of the CUDA driver that optgen calls, with the signatures of cuda.h, over memory of this process. Each
   call that has a context adds a line to what `said` gives: its name, and arguments as they arrive. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice, CUdevice_attribute, CUpointer_attribute, CUjit_option, CUstreamCaptureStatus;
typedef int CUstreamCaptureMode;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUevent, *CUmodule, *CUfunction;

static const CUcontext PRIMARY = (CUcontext)0x7f00000000000100ull;
static _Thread_local CUcontext stack[16] = {0};
static _Thread_local int depth = 0;
static _Thread_local CUstreamCaptureMode mode = 0;
static char text[1 << 16];

#define SAY(...) snprintf(text + strlen(text), sizeof text - strlen(text), __VA_ARGS__)
#define NEEDS_CONTEXT if (failed || depth == 0 || stack[depth] != PRIMARY) return failed ? 700 : 201
#define FORBIDDEN_IN_A_CAPTURE if (capturing && mode != 2) return 900

static int capturing = 0; /* in mode "global", which is for all threads */
static int failed = 0; /* as after an illegal access, when nothing works any more */

void capture(int begin) { capturing = begin; }
void fail(int begin) { failed = begin; }
const char *said(void) { return text; }
void forget(void) { text[0] = 0; }
int contexts(void) { return depth; }

CUresult cuInit(unsigned int flags) { return flags ? 1 : 0; }
CUresult cuDeviceGetCount(int *count) { *count = 2; return 0; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal + 40; return 0; }

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
    if (device != 41) return 101;
    *value = which == 16 ? 132 : which == 75 ? 9 : which == 76 ? 0 : -1;
    return 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    *context = PRIMARY;
    return device == 41 ? 0 : 101;
}

CUresult cuCtxGetCurrent(CUcontext *context) { *context = stack[depth]; return 0; }
CUresult cuCtxPushCurrent_v2(CUcontext context) { stack[++depth] = context; return 0; }
CUresult cuCtxPopCurrent_v2(CUcontext *context) { *context = stack[depth--]; return 0; }

CUresult cuGetErrorString(CUresult error, const char **words) {
    *words = NULL;
    if (error == 2) *words = "out of memory";
    if (error == 201) *words = "invalid device context";
    if (error == 218) *words = "a PTX JIT compilation failed";
    return *words ? 0 : 1;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr address) {
    if (which != 9 || address < 4096) return 1;
    *(int *)data = 1;
    return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t nbytes) {
    NEEDS_CONTEXT;
    FORBIDDEN_IN_A_CAPTURE;
    if (nbytes > (1ull << 40)) return 2;
    *address = (CUdeviceptr)(uintptr_t)malloc(nbytes);
    SAY("cuMemAlloc_v2 %zu\n", nbytes);
    return 0;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    NEEDS_CONTEXT;
    FORBIDDEN_IN_A_CAPTURE;
    free((void *)(uintptr_t)address);
    SAY("cuMemFree_v2\n");
    return 0;
}

CUresult cuMemHostAlloc(void **address, size_t nbytes, unsigned int flags) {
    NEEDS_CONTEXT;
    FORBIDDEN_IN_A_CAPTURE;
    *address = malloc(nbytes);
    SAY("cuMemHostAlloc %zu %u\n", nbytes, flags);
    return 0;
}

CUresult cuMemFreeHost(void *address) {
    NEEDS_CONTEXT;
    FORBIDDEN_IN_A_CAPTURE;
    free(address);
    SAY("cuMemFreeHost\n");
    return 0;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t nbytes, CUstream stream) {
    NEEDS_CONTEXT;
    memcpy((void *)(uintptr_t)to, from, nbytes);
    SAY("cuMemcpyHtoDAsync_v2 %zu %p\n", nbytes, stream);
    return 0;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t nbytes, CUstream stream) {
    NEEDS_CONTEXT;
    memcpy(to, (void *)(uintptr_t)from, nbytes);
    SAY("cuMemcpyDtoHAsync_v2 %zu %p\n", nbytes, stream);
    return 0;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream stream) {
    NEEDS_CONTEXT;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, nbytes);
    SAY("cuMemcpyDtoDAsync_v2 %zu %p\n", nbytes, stream);
    return 0;
}

#define MEMSET(BITS, TYPE)                                                                                    \
    CUresult cuMemsetD##BITS##Async(CUdeviceptr to, TYPE value, size_t times, CUstream stream) {              \
        NEEDS_CONTEXT;                                                                                        \
        for (size_t k = 0; k < times; k++) ((TYPE *)(uintptr_t)to)[k] = value;                                \
        SAY("cuMemsetD%dAsync %x %zu %p\n", BITS, (unsigned)value, times, stream);                            \
        return 0;                                                                                             \
    }
MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned int)

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n, CUjit_option *options, void **values) {
    NEEDS_CONTEXT;
    for (unsigned int k = 0; k < n; k++)
        if (options[k] == 5 && strstr(image, "nonsense"))
            snprintf(values[k], (size_t)(uintptr_t)values[k + 1], "line 7: nonsense");
        else if (options[k] != 5 && options[k] != 6)
            return 1;
    *module = (CUmodule)0x7f00000000000300ull;
    SAY("cuModuleLoadDataEx %zu\n", strlen(image));
    return strstr(image, "nonsense") ? 218 : 0;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    NEEDS_CONTEXT;
    if (module != (CUmodule)0x7f00000000000300ull) return 400;
    *function = (CUfunction)(0x7f00000000000000ull + strlen(name));
    return 0;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *number, CUfunction function, int threads, size_t shared) {
    NEEDS_CONTEXT;
    SAY("cuOccupancyMaxActiveBlocksPerMultiprocessor %p %d %zu\n", function, threads, shared);
    *number = 3;
    return 0;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int x, unsigned int y, unsigned int z, unsigned int a,
                        unsigned int b, unsigned int c, unsigned int shared, CUstream stream, void **arguments,
                        void **extra) {
    NEEDS_CONTEXT;
    SAY("cuLaunchKernel %p %u %u %u %u %u %u %u %p %llx %p\n", function, x, y, z, a, b, c, shared, stream,
        *(unsigned long long *)arguments[0], (void *)extra);
    return 0;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
    NEEDS_CONTEXT;
    *event = (CUevent)0x7f00000000000500ull;
    SAY("cuEventCreate %u\n", flags);
    return 0;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    NEEDS_CONTEXT;
    SAY("cuEventRecord %p %p\n", event, stream);
    return 0;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    NEEDS_CONTEXT;
    SAY("cuStreamWaitEvent %p %p %u\n", stream, event, flags);
    return 0;
}

CUresult cuEventSynchronize(CUevent event) {
    NEEDS_CONTEXT;
    SAY("cuEventSynchronize %p\n", event);
    return 0;
}

CUresult cuEventDestroy_v2(CUevent event) {
    NEEDS_CONTEXT;
    FORBIDDEN_IN_A_CAPTURE;
    SAY("cuEventDestroy_v2 %p\n", event);
    return 0;
}

CUresult cuStreamSynchronize(CUstream stream) {
    NEEDS_CONTEXT;
    SAY("cuStreamSynchronize %p\n", stream);
    return 0;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    NEEDS_CONTEXT;
    *status = stream == (CUstream)0x7f00000000000700ull;
    return 0;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *other) {
    CUstreamCaptureMode before = mode;
    mode = *other;
    *other = before;
    return 0;
}
