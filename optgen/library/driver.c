/* The CUDA driver, which is loaded when a context is first made: a library needs neither NVIDIA's headers nor a link
   with the driver. Functions are those of cuda.h, with their handles as pointers. */

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

#if !defined(OPTGEN_LIBCUDA) /* another file, of an emulator or in an unusual place */
#if defined(_WIN32)
#define OPTGEN_LIBCUDA "nvcuda.dll"
#else
#define OPTGEN_LIBCUDA "libcuda.so.1"
#endif
#endif

enum { CUDA_INVALID_VALUE = 1, CUDA_OUT_OF_MEMORY = 2, CUDA_NOT_INITIALIZED = 3, CUDA_NO_DEVICE = 100 };
enum { ATTRIBUTE_MULTIPROCESSORS = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_... */
enum { POINTER_DEVICE_ORDINAL = 9 };                                                 /* CU_POINTER_ATTRIBUTE_... */
enum { HOST_PORTABLE = 1, EVENT_NO_TIMING = 2 };
enum { JIT_LOG = 5, JIT_LOG_BYTES = 6 }; /* CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES */

#define FUNCTIONS_OF_DRIVER(F)                                                                                       \
    F(cuInit, (unsigned flags))                                                                                      \
    F(cuGetErrorString, (int status, const char **words))                                                            \
    F(cuDeviceGetCount, (int *count))                                                                                \
    F(cuDeviceGet, (int *device, int ordinal))                                                                       \
    F(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                 \
    F(cuDevicePrimaryCtxRetain, (void **context, int device))                                                        \
    F(cuDevicePrimaryCtxRelease_v2, (int device))                                                                    \
    F(cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *is_active))                                     \
    F(cuCtxGetCurrent, (void **context))                                                                             \
    F(cuCtxGetDevice, (int *device))                                                                                 \
    F(cuCtxPushCurrent_v2, (void *context))                                                                          \
    F(cuCtxPopCurrent_v2, (void **context))                                                                          \
    F(cuPointerGetAttribute, (void *data, int attribute, uint64_t address))                                          \
    F(cuMemAlloc_v2, (uint64_t *address, size_t bytes))                                                              \
    F(cuMemFree_v2, (uint64_t address))                                                                              \
    F(cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                                                \
    F(cuMemFreeHost, (void *address))                                                                                \
    F(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t bytes, void *stream))                             \
    F(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream))                                   \
    F(cuMemsetD8Async, (uint64_t to, unsigned char value, size_t bytes, void *stream))                               \
    F(cuModuleLoadDataEx, (void **module, const void *image, unsigned count, const int *options, void **values))     \
    F(cuModuleUnload, (void *module))                                                                                \
    F(cuModuleGetFunction, (void **function, void *module, const char *name))                                        \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, void *function, int threads, size_t shared))        \
    F(cuLaunchKernel, (void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,     \
                       unsigned threads_z, unsigned shared, void *stream, void **arguments, void **extra))           \
    F(cuEventCreate, (void **event, unsigned flags))                                                                 \
    F(cuEventRecord, (void *event, void *stream))                                                                    \
    F(cuEventSynchronize, (void *event))                                                                             \
    F(cuEventDestroy_v2, (void *event))                                                                              \
    F(cuStreamSynchronize, (void *stream))                                                                           \
    F(cuStreamIsCapturing, (void *stream, int *is_capturing))

#define POINTER(name, arguments) int(*name) arguments;
static struct {
    FUNCTIONS_OF_DRIVER(POINTER)
} driver;

static void *library_of_driver(void)
{
#if defined(_WIN32)
    return (void *)LoadLibraryA(OPTGEN_LIBCUDA);
#else
    return dlopen(OPTGEN_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
#endif
}

/* Sets a pointer to the function of a name; whether there is one. */
static int find_function(void *library, const char *name, void *pointer)
{
#if defined(_WIN32)
    const FARPROC found = GetProcAddress((HMODULE)library, name);
#else
    void *const found = dlsym(library, name);
#endif
    memcpy(pointer, &found, sizeof found); /* ISO C converts no pointer to one of a function */
    return found != NULL;
}

/* Loads the driver, once; whether it is there. */
static int load_driver(void)
{
    static atomic_flag is_held = ATOMIC_FLAG_INIT;
    static int is_loaded;
    while (atomic_flag_test_and_set_explicit(&is_held, memory_order_acquire))
        optgen_spin_hint();
    void *const library = is_loaded ? NULL : library_of_driver();
    if (library) {
        is_loaded = 1;
#define FIND(name, arguments) is_loaded &= find_function(library, #name, (void *)&driver.name);
        FUNCTIONS_OF_DRIVER(FIND)
    }
    const int found = is_loaded;
    atomic_flag_clear_explicit(&is_held, memory_order_release);
    return found;
}

/* What a function of the driver has said, as a status. */
static optgen_status told(const spec *s, const char *function, int said)
{
    const char *words = NULL;
    if (!said)
        return OPTGEN_OK;
    if (driver.cuGetErrorString(said, &words) || !words)
        words = "an error that it has no words for";
    return fail(said == CUDA_OUT_OF_MEMORY ? OPTGEN_NO_MEMORY : OPTGEN_CUDA_ERROR, "%s: %s: %s (%d)%s", s->name,
                function, words, said,
                said == CUDA_NOT_INITIALIZED ? "; a process cannot use CUDA if it was forked from one that does" : "");
}

#define CALL(s, function, ...) told(s, #function, driver.function(__VA_ARGS__))
