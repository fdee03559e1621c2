// The functions that optgen/library/driver.c declares have as many parameters as those of NVIDIA's cuda.h, of the same
// sizes. The test puts the list of functions in the place of the next line.
@FUNCTIONS@
#include <cuda.h>
#include <cstdint>

template <class R, class... A, class S, class... B> constexpr bool same(R (*)(A...), S (*)(B...))
{
    if constexpr (sizeof...(A) == sizeof...(B))
        return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B)) && ...);
    return false;
}

#define SAME(name, arguments) static_assert(same(&name, static_cast<int(*) arguments>(nullptr)), #name);
FUNCTIONS_OF_DRIVER(SAME)
static_assert(CUDA_ERROR_INVALID_VALUE == 1 && CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_NOT_INITIALIZED == 3, "");
static_assert(CUDA_ERROR_NO_DEVICE == 100 && CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL == 9, "");
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16 && CU_MEMHOSTALLOC_PORTABLE == 1, "");
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 && CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76,
              "");
static_assert(CU_EVENT_DISABLE_TIMING == 2 && CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6,
              "");
