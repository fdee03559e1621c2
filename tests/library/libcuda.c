/* A driver of CUDA with two GPUs that are none: their memory is this process's, and launches are handed to a function
   of the test. A function of the driver can be told to fail. Binary code is not taken.

   What is queued in a stream is done when a call waits for it, and no earlier. Memory of the host is read and written
   then, pinned or not: CUDA may copy memory that is not pinned to a place of its own at once, or may not. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, MOST_QUEUED = 1 << 16 };
typedef int (*launcher)(const char *image, const char *name, unsigned blocks, unsigned threads, uint64_t argument);
typedef struct {
    char *image;
} module;
typedef struct {
    module *of;
    char name[128];
} function;

enum { COPY, FILL, LAUNCH };
typedef struct {
    int kind;
    void *stream;
    uint64_t number; /* of all that was ever queued */
    uint64_t to, from;
    size_t bytes;
    unsigned char value;
    const function *of;
    unsigned blocks, threads;
    uint64_t argument;
} operation;

typedef struct {
    void *stream;
    uint64_t number; /* of the last operation before it; 0: it was not recorded */
} event;

static operation queue[MOST_QUEUED];
static int n_queued, late_status; /* `late_status`: of what failed when it was done */
static uint64_t n_ever = 1;
static char contexts[2]; /* primary ones, by their addresses; others are of GPU 0 */
static _Thread_local void *stack[16];
static _Thread_local int depth;
static launcher launch_function;
static char refused[64];
static int refused_after, refused_status, capturing;
static void *expected_stream;
static struct {
    uint64_t address, bytes;
    int ordinal;
} blocks[MOST], pinned[MOST];
static int n_blocks, n_pinned, n_events, n_modules, n_retained, n_waited;

/* ---------------------------------------------------------------- for tests */

void hand_launches_to(launcher to) { launch_function = to; }

/* Has a call of the function of a name fail with a status, after so many that do not. */
void refuse(const char *name, int after, int status)
{
    snprintf(refused, sizeof refused, "%s", name);
    refused_after = after;
    refused_status = status;
}

/* All that is queued must be in this stream, at first in the default one. */
void expect_stream(void *stream) { expected_stream = stream; }

void capture(int begin) { capturing = begin; }
int depth_of_contexts(void) { return depth; }
int steps_waited_for(void) { return n_waited; }

static int done(const operation *o)
{
    if (o->kind == COPY)
        memcpy((void *)(uintptr_t)o->to, (const void *)(uintptr_t)o->from, o->bytes);
    if (o->kind == FILL)
        memset((void *)(uintptr_t)o->to, o->value, o->bytes);
    return o->kind == LAUNCH ? launch_function(o->of->of->image, o->of->name, o->blocks, o->threads, o->argument) : 0;
}

/* Does what is queued in a stream, or in all, up to a number; the status of what has failed since it was called
   last. */
static int finish_up_to(void *stream, int is_all, uint64_t number)
{
    int kept = 0;
    for (int k = 0; k < n_queued; k++) {
        const operation *const o = &queue[k];
        if ((is_all || o->stream == stream) && o->number <= number) {
            const int status = done(o);
            late_status = late_status ? late_status : status;
        } else {
            queue[kept++] = *o;
        }
    }
    n_queued = kept;
    const int status = late_status;
    late_status = 0;
    return status;
}

/* Does all that is queued. */
int finish(void) { return finish_up_to(NULL, 1, UINT64_MAX); }

static int queued(operation o)
{
    if (n_queued == MOST_QUEUED)
        return 2;
    o.number = ++n_ever;
    queue[n_queued++] = o;
    return 0;
}

/* What is not given back: blocks of memory, pinned ones, events, modules, and contexts that are retained. */
void alive(int *counts)
{
    const int found[] = {n_blocks, n_pinned, n_events, n_modules, n_retained};
    memcpy(counts, found, sizeof found);
}

/* The blocks of memory there are; how many. */
int memory(uint64_t *addresses, uint64_t *bytes)
{
    for (int k = 0; k < n_blocks; k++)
        addresses[k] = blocks[k].address, bytes[k] = blocks[k].bytes;
    return n_blocks;
}

/* Memory of a GPU, where what is not written must not matter. */
uint64_t allocate(uint64_t bytes, int ordinal)
{
    void *const found = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!found || n_blocks == MOST)
        return 0;
    memset(found, 0xCD, bytes);
    blocks[n_blocks].address = (uint64_t)(uintptr_t)found;
    blocks[n_blocks].bytes = bytes;
    blocks[n_blocks++].ordinal = ordinal;
    return (uint64_t)(uintptr_t)found;
}

static int block_at(uint64_t address)
{
    for (int k = 0; k < n_blocks; k++)
        if (address >= blocks[k].address && address < blocks[k].address + blocks[k].bytes)
            return k;
    return -1;
}

int release(uint64_t address)
{
    const int k = block_at(address);
    if (k < 0 || blocks[k].address != address)
        return 1;
    free((void *)(uintptr_t)address);
    blocks[k] = blocks[--n_blocks];
    return 0;
}

static int fails(const char *name)
{
    const int status = strcmp(refused, name) == 0 && refused_after-- == 0 ? refused_status : 0;
    if (status && strstr(name, "Synchronize"))
        n_queued = 0; /* the context has come to its end, with all that was queued */
    return status;
}

#define BEGIN                           \
    const int failed = fails(__func__); \
    if (failed)                         \
        return failed;
#define IN_CONTEXT                             \
    BEGIN                                      \
    if (depth == 0 || stack[depth] == NULL)    \
        return 201;

#define IN_STREAM                  \
    IN_CONTEXT                     \
    if (stream != expected_stream) \
        return 400;

/* ---------------------------------------------------------------- the driver */

int cuInit(unsigned flags) { BEGIN return flags ? 1 : 0; }
int cuDeviceGetCount(int *count) { BEGIN *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { BEGIN *device = 40 + ordinal; return 0; }

int cuGetErrorString(int status, const char **words)
{
    *words = status == 2 ? "out of memory" : status == 719 ? "unspecified launch failure" : status == 218 ? "bad PTX"
        : NULL;
    return *words ? 0 : 1;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    BEGIN
    *value = attribute == 16 ? 1 : attribute == 75 ? (device == 41 ? 9 : 7) : attribute == 76 ? (device == 41 ? 0 : 5)
        : -1;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    BEGIN
    *context = &contexts[device - 40];
    n_retained++;
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    BEGIN
    *flags = 0;
    *is_active = n_retained > 0;
    return device == 40 || device == 41 ? 0 : 101;
}

int cuDevicePrimaryCtxRelease_v2(int device) { BEGIN n_retained--; return device == 40 || device == 41 ? 0 : 101; }
int cuCtxGetCurrent(void **context) { BEGIN *context = stack[depth]; return 0; }
int cuCtxGetDevice(int *device) { IN_CONTEXT *device = stack[depth] == &contexts[1] ? 41 : 40; return 0; }
int cuCtxPushCurrent_v2(void *context) { BEGIN stack[++depth] = context; return 0; }
int cuCtxPopCurrent_v2(void **context) { *context = stack[depth--]; return 0; }

int cuPointerGetAttribute(void *data, int attribute, uint64_t address)
{
    IN_CONTEXT
    const int k = block_at(address);
    if (attribute != 9 || k < 0)
        return 1;
    *(int *)data = blocks[k].ordinal;
    return 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    IN_CONTEXT
    if (!bytes)
        return 1;
    *address = allocate(bytes, stack[depth] == &contexts[1]);
    return *address ? 0 : 2;
}

int cuMemFree_v2(uint64_t address)
{
    IN_CONTEXT
    const int status = finish();
    return release(address) || status;
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    IN_CONTEXT
    *address = malloc(bytes);
    if (flags != 1 || !bytes || !*address || n_pinned == MOST)
        return 1;
    pinned[n_pinned].address = (uint64_t)(uintptr_t)*address;
    pinned[n_pinned++].bytes = bytes;
    return 0;
}

/* It does not wait, and stays where something that is queued reads it. */
int cuMemFreeHost(void *address)
{
    IN_CONTEXT
    int k = 0;
    while (k < n_pinned && pinned[k].address != (uint64_t)(uintptr_t)address)
        k++;
    if (k == n_pinned)
        return 1;
    for (int j = 0; j < n_queued; j++)
        if (queue[j].kind == COPY && queue[j].from - pinned[k].address < pinned[k].bytes)
            return 1;
    free(address);
    pinned[k] = pinned[--n_pinned];
    return 0;
}

static int is_inside(uint64_t address, size_t bytes)
{
    const int k = block_at(address);
    return bytes && k >= 0 && address + bytes <= blocks[k].address + blocks[k].bytes;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    IN_STREAM
    if (!is_inside(to, bytes))
        return 1;
    return queued((operation){.kind = COPY, .stream = stream, .to = to, .from = (uint64_t)(uintptr_t)from,
                              .bytes = bytes});
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    IN_STREAM
    if (!is_inside(from, bytes))
        return 1;
    return queued((operation){.kind = COPY, .stream = stream, .to = (uint64_t)(uintptr_t)to, .from = from,
                              .bytes = bytes});
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    IN_STREAM
    if (!is_inside(to, bytes))
        return 1;
    return queued((operation){.kind = FILL, .stream = stream, .to = to, .value = value, .bytes = bytes});
}

int cuModuleLoadDataEx(void **made, const void *image, unsigned count, const int *options, void **values)
{
    IN_CONTEXT
    if (memcmp(image, "\177ELF", 4) == 0)
        return 209;
    for (unsigned k = 0; k < count; k++)
        if (options[k] == 5 && strstr(refused, "PTX"))
            snprintf(values[k], (size_t)(uintptr_t)values[k + 1], "line 7: nonsense");
    if (strstr(refused, "PTX"))
        return 218;
    module *const own = malloc(sizeof(module));
    own->image = strdup(image);
    *made = own;
    n_modules++;
    return 0;
}

/* It stays where launches of it are queued. */
int cuModuleUnload(void *of)
{
    IN_CONTEXT
    for (int k = 0; k < n_queued; k++)
        if (queue[k].kind == LAUNCH && queue[k].of->of == of)
            return 1;
    free(((module *)of)->image);
    free(of);
    n_modules--;
    return 0;
}

int cuModuleGetFunction(void **found, void *of, const char *name)
{
    IN_CONTEXT
    static function functions[MOST]; /* they stay */
    static int count;
    if (!strstr(((module *)of)->image, name) || count == MOST)
        return 500;
    functions[count].of = of;
    snprintf(functions[count].name, sizeof functions[count].name, "%s", name);
    *found = &functions[count++];
    return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *number, void *of, int threads, size_t shared)
{
    IN_CONTEXT
    *number = 4; /* few, so that launches go around their loops */
    return of && threads == 256 && shared == 0 ? 0 : 1;
}

int cuLaunchKernel(void *of, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void *stream, void **arguments, void **extra)
{
    IN_STREAM
    const function *const own = of;
    if (y != 1 || z != 1 || threads_y != 1 || threads_z != 1 || shared || extra || !launch_function)
        return 1;
    return queued((operation){.kind = LAUNCH, .stream = stream, .of = own, .blocks = x, .threads = threads,
                              .argument = *(uint64_t *)arguments[0]});
}

int cuEventCreate(void **made, unsigned flags)
{
    IN_CONTEXT
    *made = calloc(1, sizeof(event));
    n_events++;
    return flags == 2 && *made ? 0 : 1;
}

int cuEventRecord(void *of, void *stream)
{
    IN_STREAM
    *(event *)of = (event){stream, n_ever};
    return 0;
}

int cuEventSynchronize(void *of)
{
    IN_CONTEXT
    const event *const own = of;
    n_waited++;
    return own && own->number ? finish_up_to(own->stream, 0, own->number) : 400;
}

int cuEventDestroy_v2(void *of)
{
    IN_CONTEXT
    free(of);
    n_events--;
    return 0;
}

int cuStreamSynchronize(void *stream) { IN_STREAM return finish_up_to(stream, 0, UINT64_MAX); }
int cuStreamIsCapturing(void *stream, int *status) { IN_STREAM *status = capturing; return 0; }
