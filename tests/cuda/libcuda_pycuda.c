/* The functions of the CUDA driver that PyCUDA calls, beside those of libcuda.c: memory belongs to contexts, modules
   keep their PTX, and a launch is handed to `launched`. Functions that are missing are looked for when they are
   called. */

#define cuMemAlloc_v2 of_optgen_cuMemAlloc_v2
#define cuMemFree_v2 of_optgen_cuMemFree_v2
#define cuModuleLoadDataEx of_optgen_cuModuleLoadDataEx
#define cuModuleGetFunction of_optgen_cuModuleGetFunction
#define cuLaunchKernel of_optgen_cuLaunchKernel
#define cuDeviceGetAttribute of_optgen_cuDeviceGetAttribute
#define cuEventCreate of_optgen_cuEventCreate
#define cuEventRecord of_optgen_cuEventRecord
#define cuGetErrorString of_optgen_cuGetErrorString
#include "libcuda.c"
#undef cuMemAlloc_v2
#undef cuMemFree_v2
#undef cuModuleLoadDataEx
#undef cuModuleGetFunction
#undef cuLaunchKernel
#undef cuDeviceGetAttribute
#undef cuEventCreate
#undef cuEventRecord
#undef cuGetErrorString

#define MOST 65536
typedef struct { CUcontext context; CUdeviceptr address; size_t nbytes; } allocation;
typedef struct { char *ptx; } module;
typedef struct { const module *of; char name[512]; } function;
typedef struct { CUcontext context; } of_context;

static const CUcontext OTHER = (CUcontext)0x7f00000000000200ull;
static allocation held[MOST];
static int n_held = 0;
static void (*launched)(const char *ptx, const char *name, int blocks, int threads, CUdeviceptr table) = NULL;

void on_launch(void (*call)(const char *, const char *, int, int, CUdeviceptr)) { launched = call; }
int allocations(CUdeviceptr *addresses, size_t *sizes) {
    for (int k = 0; k < n_held; k++) addresses[k] = held[k].address, sizes[k] = held[k].nbytes;
    return n_held;
}

CUresult cuGetErrorString(CUresult error, const char **words) {
    *words = error == 500 ? "named symbol not found" : error == 400 ? "invalid resource handle" : "another error";
    return 0;
}
CUresult cuDriverGetVersion(int *version) { *version = 13000; return 0; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
    if (device != 41) return 101;
    *value = which == 16 ? 1 : which == 39 ? 1024 : which == 82 ? 65536 : which == 75 ? 7 : which == 76 ? 5 : -1;
    return 0;
}
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    *major = 7, *minor = 5;
    return device == 41 ? 0 : 101;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return device == 41 ? 0 : 101; }
CUresult cuCtxCreate_v4(CUcontext *context, void *params, unsigned int flags, CUdevice device) {
    if (device != 41) return 101;
    *context = stack[++depth] = OTHER;
    return 0;
}
CUresult cuCtxDetach(CUcontext context) {
    if (depth && stack[depth] == context) depth--;
    return 0;
}
CUresult cuCtxGetDevice(CUdevice *device) { *device = 41; return depth ? 0 : 201; }
CUresult cuCtxSynchronize(void) { return depth ? 0 : 201; }

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t nbytes) {
    if (!depth) return 201;
    if (!nbytes || n_held == MOST) return 1;
    *address = (CUdeviceptr)(uintptr_t)aligned_alloc(256, (nbytes + 255) / 256 * 256);
    memset((void *)(uintptr_t)*address, 0xCD, nbytes); /* what is not written must not matter */
    held[n_held++] = (allocation){stack[depth], *address, nbytes};
    return 0;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
    for (int k = 0; k < n_held; k++)
        if (held[k].address == address) {
            if (held[k].context != stack[depth]) return 201;
            free((void *)(uintptr_t)address);
            held[k] = held[--n_held];
            return 0;
        }
    return 1;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *nbytes, CUdeviceptr address) {
    for (int k = 0; k < n_held; k++)
        if (held[k].context == stack[depth] && held[k].address <= address
            && address < held[k].address + held[k].nbytes) {
            *base = held[k].address, *nbytes = held[k].nbytes;
            return 0;
        }
    return 500;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t nbytes) {
    memcpy((void *)(uintptr_t)to, from, nbytes);
    return depth ? 0 : 201;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t nbytes) {
    memcpy(to, (void *)(uintptr_t)from, nbytes);
    return depth ? 0 : 201;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    of_context *found = malloc(sizeof *found);
    found->context = stack[depth];
    *stream = found;
    return depth ? 0 : 201;
}
CUresult cuStreamDestroy_v2(CUstream stream) { free(stream); return 0; }
static int elsewhere(CUstream stream) { return stream && ((of_context *)stream)->context != stack[depth]; }
CUresult cuEventCreate(CUevent *event, unsigned int flags) { return cuStreamCreate((CUstream *)event, flags); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return elsewhere(stream) || elsewhere(event) ? 400 : 0; }

CUresult cuModuleLoadDataEx(CUmodule *loaded, const void *image, unsigned int n, CUjit_option *options, void **values) {
    NEEDS_CONTEXT;
    module *found = malloc(sizeof *found);
    found->ptx = strdup(image);
    *loaded = found;
    for (unsigned int k = 0; k < n; k++)
        if (options[k] == 4 || options[k] == 6) values[k] = NULL; /* the sizes of logs */
    return 0;
}
CUresult cuModuleUnload(CUmodule loaded) { return 0; /* launches of the interpreter keep its text */ }
CUresult cuModuleGetFunction(CUfunction *made, CUmodule loaded, const char *name) {
    NEEDS_CONTEXT;
    function *found = malloc(sizeof *found);
    found->of = loaded;
    snprintf(found->name, sizeof found->name, "%s", name);
    *made = found;
    return 0;
}
CUresult cuFuncGetAttribute(int *value, int which, CUfunction of) { *value = which == 4 ? 64 : -1; return 0; }
CUresult cuFuncSetBlockShape(CUfunction of, int x, int y, int z) { return 0; }

CUresult cuLaunchKernel(CUfunction called, unsigned int x, unsigned int y, unsigned int z, unsigned int a,
                        unsigned int b, unsigned int c, unsigned int shared, CUstream stream, void **arguments,
                        void **extra) {
    const function *own = called;
    NEEDS_CONTEXT;
    if (elsewhere(stream)) return 400;
    if (y != 1 || z != 1 || b != 1 || c != 1 || shared || arguments || !extra || extra[0] != (void *)1) return 1;
    launched(own->of->ptx, own->name, (int)x, (int)a, *(CUdeviceptr *)extra[1]);
    return 0;
}
