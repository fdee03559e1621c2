/* The device of a library for GPUs: a CUDA context, its stream, and its memory. */

enum { STEPS_IN_FLIGHT = 8 }; /* that can be queued at the same time */

/* Pinned memory from which the GPU copies the tables of steps: a slot for each step that is queued. */
typedef struct {
    char *slots;
    size_t slot_bytes, used; /* `used`: of the slot of this step */
    void *events[STEPS_IN_FLIGHT]; /* when the step of a slot is done */
    int64_t steps; /* so far */
} ring;

struct device {
    void *context, *stream;
    int number, is_retained; /* of the GPU for the driver; its primary context is retained here */
    int ordinal, multiprocessors;
    int is_ready;
    char *kept; /* states in the memory of the host, as they were before a step */
    ring ring;
    int64_t launched; /* functions, in this step */
};

/* ---------------------------------------------------------------- the GPU */

/* Makes the context of a GPU that of the thread, for calls of the driver until `leave`. */
static optgen_status enter(const context *c)
{
    return CALL(c->spec, cuCtxPushCurrent_v2, c->device->context);
}

static void leave(void)
{
    void *popped;
    (void)driver.cuCtxPopCurrent_v2(&popped);
}

static optgen_status check_device(const spec *s, const request *r)
{
    if (r->device < -1)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: options.device must be the number of a GPU, or -1, not %d", s->name,
                    (int)r->device);
    return OPTGEN_OK;
}

/* Retains the context of the thread if it is the primary one of its GPU, so that it is there until it is released. */
static optgen_status retain_primary(const spec *s, device *d)
{
    void *primary = NULL;
    unsigned flags;
    int is_active = 0;
    optgen_status status = CALL(s, cuDevicePrimaryCtxGetState, d->number, &flags, &is_active);
    if (status || !is_active) /* to retain one that is not there would make it */
        return status;
    status = CALL(s, cuDevicePrimaryCtxRetain, &primary, d->number);
    d->is_retained = !status && primary == d->context;
    if (!status && !d->is_retained)
        status = CALL(s, cuDevicePrimaryCtxRelease_v2, d->number);
    return status;
}

/* Finds the context to work in: that of the thread, or the primary one of a GPU. */
static optgen_status find_context(const spec *s, device *d, int32_t asked)
{
    int count = 0, number = 0;
    optgen_status status = CALL(s, cuDeviceGetCount, &count);
    if (!status && asked < 0)
        status = CALL(s, cuCtxGetCurrent, &d->context);
    if (!status && d->context)
        status = CALL(s, cuCtxGetDevice, &d->number);
    for (int k = 0; k < count && d->context && !status; k++) {
        status = CALL(s, cuDeviceGet, &number, k);
        d->ordinal = number == d->number ? k : d->ordinal;
    }
    if (status || d->context)
        return status ? status : retain_primary(s, d);
    d->ordinal = asked < 0 ? 0 : asked;
    if (d->ordinal >= count)
        return fail(OPTGEN_NO_GPU, "%s: there is no GPU %d, as CUDA has %d", s->name, d->ordinal, count);
    status = CALL(s, cuDeviceGet, &d->number, d->ordinal);
    if (!status)
        status = CALL(s, cuDevicePrimaryCtxRetain, &d->context, d->number);
    d->is_retained = !status;
    return status;
}

/* An error if a GPU is older than the code of the library. */
static optgen_status check_capability(const spec *s, device *d)
{
    int major = 0, minor = 0;
    optgen_status status = CALL(s, cuDeviceGetAttribute, &major, ATTRIBUTE_MAJOR, d->number);
    if (!status)
        status = CALL(s, cuDeviceGetAttribute, &minor, ATTRIBUTE_MINOR, d->number);
    if (!status)
        status = CALL(s, cuDeviceGetAttribute, &d->multiprocessors, ATTRIBUTE_MULTIPROCESSORS, d->number);
    if (!status && 10 * major + minor < OLDEST_GPU)
        return fail(OPTGEN_NO_GPU,
                    "%s: GPU %d has compute capability %d.%d, and this library is for %d.%d and later: build "
                    "it with --arch sm_%d%d", s->name, d->ordinal, major, minor, OLDEST_GPU / 10, OLDEST_GPU % 10,
                    major, minor);
    return status;
}

static optgen_status open_device(context *c, const request *r)
{
    const spec *const s = c->spec;
    if (!load_driver())
        return fail(OPTGEN_NO_GPU, "%s: there is no driver of NVIDIA here, or it is older than CUDA 11 (%s)", s->name,
                    OPTGEN_LIBCUDA);
    const int said = driver.cuInit(0);
    if (said == CUDA_NO_DEVICE)
        return fail(OPTGEN_NO_GPU, "%s: the driver finds no GPU", s->name);
    if (said)
        return told(s, "cuInit", said);
    c->device = calloc(1, sizeof(device));
    if (!c->device)
        return no_memory(s);
    c->device->stream = r->stream;
    const optgen_status status = find_context(s, c->device, r->device);
    return status ? status : check_capability(s, c->device);
}

/* Nothing is said of errors: after one that ends a context there is nothing to free. */
static void free_ring(const ring *r)
{
    for (int k = 0; k < STEPS_IN_FLIGHT; k++)
        if (r->events[k])
            (void)driver.cuEventDestroy_v2(r->events[k]);
    if (r->slots)
        (void)driver.cuMemFreeHost(r->slots);
}

/* Frees the code of a group. */
static void unload(device_table *t);

static optgen_status close_device(context *c)
{
    device *const d = c->device;
    if (!d)
        return OPTGEN_OK;
    optgen_status status = OPTGEN_OK;
    if (d->context && driver.cuCtxPushCurrent_v2(d->context) == 0) {
        if (d->is_ready)
            status = CALL(c->spec, cuStreamSynchronize, d->stream);
        for (int64_t g = 0; g < group_count(c); g++)
            if (c->groups[g].on_device)
                unload(c->groups[g].on_device);
        free_ring(&d->ring);
        if (c->block)
            (void)driver.cuMemFree_v2((uint64_t)(uintptr_t)c->block);
        leave();
    }
    if (d->is_retained)
        (void)driver.cuDevicePrimaryCtxRelease_v2(d->number);
    free(d->kept);
    free(d);
    return status;
}

/* ---------------------------------------------------------------- its memory */

static optgen_status check_place(const context *c, const void *place, int64_t i, const char *field)
{
    const char *const name = c->spec->name;
    char what[96];
    int ordinal = -1;
    if (i < 0)
        snprintf(what, sizeof what, "options.memory");
    else
        snprintf(what, sizeof what, "tensors[%lld].%s", (long long)i, field);
    if (i >= 0 && (uintptr_t)place % (uintptr_t)bytes_of(c->dtype))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is not aligned to its elements", name, what);
    const optgen_status status = enter(c);
    if (status)
        return status;
    const int said = driver.cuPointerGetAttribute(&ordinal, POINTER_DEVICE_ORDINAL, (uint64_t)(uintptr_t)place);
    leave();
    if (said == CUDA_INVALID_VALUE)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is memory that no GPU has: allocate it by cudaMalloc", name, what);
    if (!said && ordinal != c->device->ordinal)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is on GPU %d, and the context is on GPU %d", name, what, ordinal,
                    c->device->ordinal);
    return told(c->spec, "cuPointerGetAttribute", said);
}

static optgen_status clear(context *c, void *memory, int64_t bytes)
{
    optgen_status status = enter(c);
    if (status)
        return status;
    if (bytes)
        status = CALL(c->spec, cuMemsetD8Async, (uint64_t)(uintptr_t)memory, 0, (size_t)bytes, c->device->stream);
    leave();
    return status;
}

static optgen_status allocate(context *c, int64_t bytes)
{
    uint64_t found = 0;
    optgen_status status = enter(c);
    if (status)
        return status;
    status = CALL(c->spec, cuMemAlloc_v2, &found, (size_t)(bytes ? bytes : 1));
    leave();
    if (status == OPTGEN_NO_MEMORY)
        return fail(status, "%s: GPU %d has no memory of %lld bytes for states", c->spec->name, c->device->ordinal,
                    (long long)bytes);
    c->block = (void *)(uintptr_t)found;
    return status ? status : clear(c, c->block, bytes);
}

static optgen_status copy_to(const context *c, void *to, const void *from, int64_t bytes)
{
    void *const stream = c->device->stream;
    optgen_status status = bytes ? enter(c) : OPTGEN_OK;
    if (status || !bytes)
        return status;
    status = CALL(c->spec, cuMemcpyHtoDAsync_v2, (uint64_t)(uintptr_t)to, from, (size_t)bytes, stream);
    if (!status)
        status = CALL(c->spec, cuStreamSynchronize, stream);
    leave();
    return status;
}

static optgen_status copy_from(const context *c, void *to, const void *from, int64_t bytes)
{
    void *const stream = c->device->stream;
    optgen_status status = bytes ? enter(c) : OPTGEN_OK;
    if (status || !bytes)
        return status;
    status = CALL(c->spec, cuMemcpyDtoHAsync_v2, to, (uint64_t)(uintptr_t)from, (size_t)bytes, stream);
    if (!status)
        status = CALL(c->spec, cuStreamSynchronize, stream);
    leave();
    return status;
}
