/* What may go wrong in calls of a library for GPUs, and in those of the driver: the status and the words that are told,
   what has changed after it, and that nothing is left on the GPU. The driver is the stand-in, and launches only
   count. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mine_cuda.h"

enum { N = 2, SIZE = 6, RESOURCES = 5 };

static uint64_t (*allocate)(uint64_t bytes, int ordinal);
static void (*refuse)(const char *name, int after, int status);
static void (*alive)(int *counts);
static void (*capture)(int begin), (*expect_stream)(void *stream);
static int (*depth_of_contexts)(void), (*finish)(void);
static int (*retain)(void **context, int device), (*push)(void *context), (*pop)(void **context);

static float *data[N], *grad[N], *elsewhere[N];
static float *memory;
static int64_t shape[1] = {SIZE};
static mine_cuda_tensor tensors[N];
static mine_cuda_options options;
static mine_cuda_hyper hyper;
static int failures, calls, launches;

static int count_launch(const char *image, const char *name, unsigned blocks, unsigned threads, uint64_t argument)
{
    launches++;
    return image && name && blocks && threads && argument ? 0 : 719;
}

static void open_driver(void)
{
    void *const driver = dlopen(OPTGEN_LIBCUDA, RTLD_NOW);
    void (*hand_launches_to)(int (*)(const char *, const char *, unsigned, unsigned, uint64_t));
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"allocate", &allocate}, {"refuse", &refuse}, {"alive", &alive}, {"capture", &capture},
        {"expect_stream", &expect_stream}, {"depth_of_contexts", &depth_of_contexts}, {"finish", &finish},
        {"cuDevicePrimaryCtxRetain", &retain}, {"cuCtxPushCurrent_v2", &push}, {"cuCtxPopCurrent_v2", &pop},
        {"hand_launches_to", &hand_launches_to},
    };
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        void *const found = dlsym(driver, functions[k].name);
        memcpy(functions[k].place, &found, sizeof found);
    }
    hand_launches_to(count_launch);
}

static void reset(void)
{
    memset(tensors, 0, sizeof tensors);
    for (int i = 0; i < N; i++) {
        tensors[i].data = data[i];
        tensors[i].grad = grad[i];
        tensors[i].shape = shape;
        tensors[i].rank = 1;
    }
    hyper = mine_cuda_hyper_defaults();
    options = mine_cuda_options_defaults();
    refuse("", 0, 0);
    capture(0);
}

/* A call has the status that it should have, and the words. */
static void expect(int line, optgen_status expected, const char *words, optgen_status status)
{
    calls++;
    if (status != expected || (expected && !strstr(mine_cuda_error(), words)) || depth_of_contexts()) {
        failures++;
        fprintf(stderr, "line %d: status %d, not %d: %s\n", line, (int)status, (int)expected, mine_cuda_error());
    }
}

static void check(int line, int is_true)
{
    calls++;
    failures += !is_true;
    if (!is_true)
        fprintf(stderr, "line %d: not so\n", line);
}

/* Makes a context that is destroyed again: nothing of it stays. */
static void create(int line, optgen_status expected, const char *words)
{
    int before[RESOURCES], after[RESOURCES];
    mine_cuda_context *made = NULL;
    alive(before);
    expect(line, expected, words, mine_cuda_create(&made, tensors, N, &options, &hyper));
    refuse("", 0, 0);
    expect(line, OPTGEN_OK, "", mine_cuda_destroy(made));
    alive(after);
    check(line, memcmp(before, after, sizeof before) == 0 && (made == NULL) == (expected != OPTGEN_OK));
}

#define CREATE(status, words, change)     \
    do {                                  \
        reset();                          \
        change;                           \
        create(__LINE__, status, words);  \
    } while (0)

static void creating(void)
{
    static float host[SIZE];
    char *const bytes = (char *)data[1];
    CREATE(OPTGEN_OK, "", (void)0);
    CREATE(OPTGEN_OK, "", options.device = 0);
    CREATE(OPTGEN_BAD_ARGUMENT, "tensors[1].data is memory that no GPU has", tensors[1].data = host);
    CREATE(OPTGEN_BAD_ARGUMENT, "tensors[0].grad is memory that no GPU has", tensors[0].grad = host);
    CREATE(OPTGEN_BAD_ARGUMENT, "options.memory is memory",
           (options.memory = host, options.memory_bytes = sizeof host));
    CREATE(OPTGEN_BAD_ARGUMENT, "tensors[1].data is not aligned", tensors[1].data = bytes + 1);
    CREATE(OPTGEN_BAD_ARGUMENT, "tensors[0].data is on GPU 1, and the context is on GPU 0",
           tensors[0].data = elsewhere[0]);
    CREATE(OPTGEN_BAD_ARGUMENT, "is on GPU 0, and the context is on GPU 1", options.device = 1);
    CREATE(OPTGEN_BAD_ARGUMENT, "options.device must be", options.device = -2);
    CREATE(OPTGEN_NO_GPU, "there is no GPU 5, as CUDA has 2", options.device = 5);
    CREATE(OPTGEN_OVERLAP, "tensors[0].data overlaps tensors[1].data", tensors[1].data = data[0]);
    CREATE(OPTGEN_NO_MEMORY, "memory_bytes is 24", (options.memory = memory, options.memory_bytes = 24));
    CREATE(OPTGEN_OK, "", (options.memory = memory, options.memory_bytes = 1 << 20));
    CREATE(OPTGEN_NO_GPU, "the driver finds no GPU", refuse("cuInit", 0, 100));
    CREATE(OPTGEN_CUDA_ERROR, "cuInit: an error that it has no words for (3); a process cannot use",
           refuse("cuInit", 0, 3));
    CREATE(OPTGEN_NO_MEMORY, "GPU 0 has no memory of", refuse("cuMemAlloc_v2", 0, 2));
    CREATE(OPTGEN_CUDA_ERROR, "cuModuleLoadDataEx: bad PTX (218): line 7: nonsense", refuse("PTX", 0, 0));
}

/* Whichever call of the driver fails: an error is told, and what was made is given back. */
static void creating_with_failures(void)
{
    const char *const names[] = {
        "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxGetCurrent",
        "cuCtxPushCurrent_v2", "cuPointerGetAttribute", "cuMemAlloc_v2", "cuMemsetD8Async", "cuMemcpyHtoDAsync_v2",
        "cuModuleLoadDataEx", "cuModuleGetFunction", "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuMemHostAlloc",
        "cuEventCreate", "cuStreamSynchronize",
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        int after = 0;
        for (int status = 1; status; after++) {
            int before[RESOURCES], now[RESOURCES];
            mine_cuda_context *made = NULL;
            reset();
            alive(before);
            refuse(names[k], after, 719);
            status = (int)mine_cuda_create(&made, tensors, N, &options, &hyper);
            check(__LINE__, status == OPTGEN_OK || (status == OPTGEN_CUDA_ERROR && strstr(mine_cuda_error(), "(719)")));
            refuse("", 0, 0);
            expect(__LINE__, OPTGEN_OK, "", mine_cuda_destroy(made));
            alive(now);
            check(__LINE__, memcmp(before, now, sizeof before) == 0);
        }
        check(__LINE__, after > 1); /* it was called at all */
    }
}

/* After a step that has failed, counts and states of the host are as before, unless launches were queued. */
static void stepping(void)
{
    static float host[SIZE];
    const void *grads[N] = {grad[0], host};
    mine_cuda_context *made = NULL;
    void *found;
    int64_t bytes;
    reset();
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_create(&made, tensors, N, &options, &hyper));
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_state(made, 0, "k", &found, &bytes));
    const double *const k = found;
    launches = 0;
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_step(made, &hyper));
    check(__LINE__, launches == 0 && finish() == 0); /* it returns before the GPU is done */
    const int each = launches;
    check(__LINE__, each > 1 && *k == 1 && bytes == 8 && *mine_cuda_counts(made) == 1);
    const char *const names[] = {"cuCtxPushCurrent_v2", "cuStreamIsCapturing", "cuMemcpyHtoDAsync_v2"};
    for (int j = 0; j < 3; j++) {
        refuse(names[j], 0, 719);
        expect(__LINE__, OPTGEN_CUDA_ERROR, "unspecified launch failure (719)", mine_cuda_step(made, &hyper));
        check(__LINE__, !finish() && launches == each && *k == 1 && *mine_cuda_counts(made) == 1);
        check(__LINE__, !strstr(mine_cuda_error(), "launched"));
    }
    for (int j = 0; j <= each; j++) {
        refuse(j < each ? "cuLaunchKernel" : "cuEventRecord", j < each ? j : 0, 719);
        expect(__LINE__, OPTGEN_CUDA_ERROR, j < each ? "cuLaunchKernel" : "cuEventRecord",
               mine_cuda_step(made, &hyper));
        check(__LINE__, !strstr(mine_cuda_error(), "a part of this step was launched") == (j == 0));
        check(__LINE__, *k == 1 && *mine_cuda_counts(made) == 1);
    }
    refuse("", 0, 0);
    capture(1);
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "options.stream is being captured", mine_cuda_step(made, &hyper));
    capture(0);
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "tensors[1].grad is memory that no GPU",
           mine_cuda_set_gradients(made, grads));
    for (int j = 0; j < 20; j++)
        expect(__LINE__, OPTGEN_OK, "", mine_cuda_step(made, &hyper));
    check(__LINE__, *k == 21 && *mine_cuda_counts(made) == 21);
    refuse("cuEventSynchronize", 0, 719);
    expect(__LINE__, OPTGEN_CUDA_ERROR, "cuEventSynchronize", mine_cuda_step(made, &hyper));
    check(__LINE__, !strstr(mine_cuda_error(), "launched") && *k == 21 && *mine_cuda_counts(made) == 21);
    refuse("cuStreamSynchronize", 0, 719);
    expect(__LINE__, OPTGEN_CUDA_ERROR, "cuStreamSynchronize", mine_cuda_destroy(made));
    refuse("", 0, 0);
    expect(__LINE__, OPTGEN_NO_CONTEXT, "destroyed", mine_cuda_step(made, &hyper));
}

static void saving(const char *folder)
{
    char name[4096];
    mine_cuda_context *made = NULL;
    reset();
    snprintf(name, sizeof name, "%s/states", folder);
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_create(&made, tensors, N, &options, &hyper));
    refuse("cuMemcpyDtoHAsync_v2", 1, 719);
    expect(__LINE__, OPTGEN_CUDA_ERROR, "cuMemcpyDtoHAsync_v2", mine_cuda_save(made, name));
    check(__LINE__, fopen(name, "rb") == NULL);
    refuse("", 0, 0);
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_save(made, name));
    refuse("cuMemcpyHtoDAsync_v2", 0, 719);
    expect(__LINE__, OPTGEN_CUDA_ERROR, "; a part of the counts and states is that of the file",
           mine_cuda_load(made, name));
    refuse("", 0, 0);
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_load(made, name));
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_destroy(made));
}

/* All work is queued in the stream of the options. */
static void in_a_stream(const char *folder)
{
    char name[4096];
    mine_cuda_context *made = NULL;
    reset();
    snprintf(name, sizeof name, "%s/states", folder);
    options.stream = (void *)(uintptr_t)0x7f0000000600;
    expect(__LINE__, OPTGEN_CUDA_ERROR, "(400)", mine_cuda_create(&made, tensors, N, &options, &hyper));
    expect_stream(options.stream);
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_create(&made, tensors, N, &options, &hyper));
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_step(made, &hyper));
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_save(made, name));
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_load(made, name));
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_destroy(made));
    expect_stream(NULL);
}

/* A context that is current is taken, and retained until it is destroyed if it is the primary one of its GPU. */
static void in_a_current_context(void *current, int is_primary)
{
    int before[RESOURCES], now[RESOURCES];
    mine_cuda_context *made = NULL;
    alive(before);
    push(current);
    const optgen_status status = mine_cuda_create(&made, tensors, N, &options, &hyper);
    alive(now);
    check(__LINE__, now[RESOURCES - 1] == before[RESOURCES - 1] + is_primary);
    pop(&current);
    expect(__LINE__, OPTGEN_OK, "", status);
    expect(__LINE__, OPTGEN_OK, "", mine_cuda_destroy(made));
    alive(now);
    check(__LINE__, memcmp(before, now, sizeof before) == 0);
}

static void in_current_contexts(void)
{
    static char own; /* a context of the program, by its address */
    void *primary;
    reset();
    in_a_current_context(&own, 0); /* no primary one is active */
    retain(&primary, 41);
    in_a_current_context(&own, 0);
    for (int i = 0; i < N; i++)
        tensors[i].data = elsewhere[i], tensors[i].grad = NULL;
    const char *const names[] = {"cuCtxGetDevice", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRetain"};
    for (int k = 0; k < 3; k++) {
        mine_cuda_context *made = NULL;
        refuse(names[k], 0, 719);
        push(primary);
        const optgen_status status = mine_cuda_create(&made, tensors, N, &options, &hyper);
        pop(&primary);
        expect(__LINE__, OPTGEN_CUDA_ERROR, names[k], status);
        check(__LINE__, made == NULL);
    }
    refuse("", 0, 0);
    in_a_current_context(primary, 1);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    open_driver();
    for (int i = 0; i < N; i++) {
        data[i] = (float *)(uintptr_t)allocate(sizeof(float) * (SIZE + 1), 0);
        grad[i] = (float *)(uintptr_t)allocate(sizeof(float) * SIZE, 0);
        elsewhere[i] = (float *)(uintptr_t)allocate(sizeof(float) * SIZE, 1);
    }
    memory = (float *)(uintptr_t)allocate(1 << 20, 0);
    creating();
    creating_with_failures();
    stepping();
    saving(argv[1]);
    in_a_stream(argv[1]);
    in_current_contexts();
    if (!failures)
        printf("%d calls, all as they should be\n", calls);
    return failures != 0;
}
