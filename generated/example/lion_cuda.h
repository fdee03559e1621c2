/* lion_cuda: Lion. For sm_75 and later GPUs, beside x86-64-v3. cc program.c -I FOLDER FOLDER/liblion_cuda.a -lm -pthread -ldl */
#ifndef LION_CUDA_H
#define LION_CUDA_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef OPTGEN_ABI
#define OPTGEN_ABI 1

#if defined(_WIN32) && defined(OPTGEN_EXPORT) /* while a DLL is compiled; programs need nothing */
#define OPTGEN_API __declspec(dllexport)
#elif defined(_WIN32)
#define OPTGEN_API
#else
#define OPTGEN_API __attribute__((visibility("default")))
#endif

/* What a function says. The text of the last error of a thread is that of LIBRARY_error(). */
typedef enum optgen_status {
    OPTGEN_OK = 0,
    OPTGEN_BAD_ABI,      /* the options are those of another header */
    OPTGEN_BAD_CPU,      /* the library was built for instructions that this CPU lacks */
    OPTGEN_BAD_ARGUMENT, /* a pointer is NULL, a number is out of its range */
    OPTGEN_BAD_SHAPE,
    OPTGEN_BAD_HYPER,    /* a hyper-parameter is NaN, out of its interval, or needs other code */
    OPTGEN_BAD_PHASE,    /* another phase of the step is due */
    OPTGEN_OVERLAP,      /* memory that a step writes is also something else's */
    OPTGEN_NOT_BUILT,    /* the library was built without this dtype or these flags */
    OPTGEN_NO_CONTEXT,   /* NULL, destroyed, or of another spec */
    OPTGEN_NO_MEMORY,
    OPTGEN_BAD_FILE,     /* it cannot be read or written, is damaged, or has other states */
    OPTGEN_NO_GPU,       /* there is no GPU, no driver for it, or an older one than the library is for */
    OPTGEN_CUDA_ERROR,   /* of the driver, in whose words the text is */
    OPTGEN_NO_FACTORIZATION /* a matrix has no factorization, or is of a gradient with a NaN or an infinity */
} optgen_status;

/* The elements of tensors, gradients and inputs. 16-bit floats are uint16_t with their bits. */
typedef enum optgen_dtype { OPTGEN_FLOAT32, OPTGEN_FLOAT64, OPTGEN_FLOAT16, OPTGEN_BFLOAT16 } optgen_dtype;

#elif OPTGEN_ABI != 1
#error "these headers are of libraries that different versions of optgen built: build them by the same one"
#endif


/* What was wrong in the last call of this thread that returned an error. */
OPTGEN_API const char *lion_cuda_error(void);

/* The CPU whose code computes the numbers of a step here, of those that the library was built for; NULL: none. */
OPTGEN_API const char *lion_cuda_cpu(void);

/* ---------------------------------------- Lion */

/* Symbolic discovery of optimization algorithms
   Chen et al. 2023, arXiv:2302.06675, algorithm 2

   gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
   cₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
   mₜ = β₂·mₜ₋₁ + (1 − β₂)·gₜ
   wₜ = wₜ₋₁ − lr·(sign(cₜ) + wd·wₜ₋₁) */
/* A parameter and its gradient, in C order without gaps, in memory of the GPU, aligned to their elements. */
typedef struct lion_cuda_tensor {
    void *data; /* updated in place */
    const void *grad; /* read */
    const int64_t *shape; /* `rank` lengths; read while a context is made */
    int64_t rank;
} lion_cuda_tensor;

/* The hyper-parameters of a step. NaN: unset. */
typedef struct lion_cuda_hyper {
    double lr; /* learning rate, default 0.0001 */
    double beta1; /* weight of the momentum in the sign, default 0.9, in [0, 1) */
    double beta2; /* decay of the momentum, default 0.99, in [0, 1) */
    double wd; /* weight decay, default 0, in [0, inf) */
    double rescale_grad; /* factor on the gradient, default 1 */
    double clip_gradient; /* bound on each element of the rescaled gradient, default none (NaN), in [0, inf) */
} lion_cuda_hyper;

/* What a context is made with. Fill it by lion_cuda_options_defaults(). */
typedef struct lion_cuda_options {
    uint32_t abi; /* that of the header */
    int32_t dtype; /* an optgen_dtype, of parameters; built: float32 */
    int32_t device; /* -1: the thread's CUDA context, or GPU 0 if it has none; else the number of a GPU */
    uint64_t seed; /* of random draws */
    void *stream; /* a cudaStream_t or CUstream for steps, there until the context is destroyed; NULL: the default one */
    void *memory; /* for states, lion_cuda_memory_bytes() bytes of the GPU; NULL: the library allocates it */
    int64_t memory_bytes; /* its size */
} lion_cuda_options;

/* Of these structures: options that say another number are refused. */
#define LION_CUDA_ABI 0xcfbf7589u

typedef struct lion_cuda_context lion_cuda_context;

static inline lion_cuda_hyper lion_cuda_hyper_defaults(void)
{
    lion_cuda_hyper values;
    memset(&values, 0, sizeof values);
    values.lr = 0.0001;
    values.beta1 = 0.9;
    values.beta2 = 0.99;
    values.wd = 0.0;
    values.rescale_grad = 1.0;
    values.clip_gradient = NAN;
    return values;
}

static inline lion_cuda_options lion_cuda_options_defaults(void)
{
    lion_cuda_options values;
    memset(&values, 0, sizeof values);
    values.abi = LION_CUDA_ABI;
    values.dtype = OPTGEN_FLOAT32;
    values.device = -1;
    return values;
}

/* Makes a context: states for n tensors, with the values that they start with. Weights, gradients and inputs stay the
   program's memory, of the GPU, and must be there while a step reads them. A gradient may be NULL until
   lion_cuda_set_gradients. `params` decides which kernels are taken. A context is for one thread at a time. */
OPTGEN_API optgen_status lion_cuda_create(lion_cuda_context **context, const lion_cuda_tensor *tensors, int64_t n, const lion_cuda_options *options, const lion_cuda_hyper *params);

/* How many bytes options.memory must have. Data and gradients may be NULL, as shapes count alone. */
OPTGEN_API optgen_status lion_cuda_memory_bytes(int64_t *bytes, const lion_cuda_tensor *tensors, int64_t n, const lion_cuda_options *options, const lion_cuda_hyper *params);

/* A step: updates all tensors, as work of options.stream. After an error nothing has changed, unless its text says so. */
OPTGEN_API optgen_status lion_cuda_step(lion_cuda_context *context, const lion_cuda_hyper *params);

/* The same, with n hyper-parameters: those of each tensor. */
OPTGEN_API optgen_status lion_cuda_step_each(lion_cuda_context *context, const lion_cuda_hyper *params);

/* Has the next steps read n other gradients, of the same shapes. */
OPTGEN_API optgen_status lion_cuda_set_gradients(lion_cuda_context *context, const void *const *grads);

/* Where a state of tensor i is, and its bytes on the GPU. States: m. */
OPTGEN_API optgen_status lion_cuda_state(lion_cuda_context *context, int64_t i, const char *name, void **data, int64_t *bytes);

/* Writes counts and states to a file (safetensors), which is replaced when the new one is complete. */
OPTGEN_API optgen_status lion_cuda_save(lion_cuda_context *context, const char *path);

/* Reads counts and states. After an error nothing has changed, unless its text says so. */
OPTGEN_API optgen_status lion_cuda_load(lion_cuda_context *context, const char *path);

/* The updates that each of the n tensors has had, which may be changed: 0 to 2^53. NULL after an error. */
OPTGEN_API int64_t *lion_cuda_counts(lion_cuda_context *context);

/* Waits for what is queued, and frees a context; does nothing for NULL. */
OPTGEN_API optgen_status lion_cuda_destroy(lion_cuda_context *context);

#ifdef __cplusplus
}
#endif

#endif /* LION_CUDA_H */
