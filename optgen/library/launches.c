/* Steps on a GPU: tables that are sent to it, and launches that read them. Tables are planned by what the header of bare
   kernels has, too: optgen/emit/cuda_header.py. */

enum { STEPS_IN_FLIGHT = 8 }; /* tables that can be on their way to the GPU at the same time */

struct device_code {
    const optgen_kernel *table;
    const uint64_t *ptx, *cubin; /* `cubin`: or NULL */
    const int32_t *bits;         /* of an element in each buffer; 0: none there for each element of the parameter */
    int32_t has_entries;         /* a buffer with elements is a history */
};

typedef struct {
    void *function;
    int64_t most_blocks; /* that the GPU holds at a time */
} loaded_launch;

struct device_table {
    const device_code *code;
    int64_t *image, words; /* of the table */
    uint64_t address;      /* of the table on the GPU; its workspace is behind it */
    void *slots;           /* in pinned memory, STEPS_IN_FLIGHT times the table */
    void *events[STEPS_IN_FLIGHT];
    int64_t sent;
    void *module;
    loaded_launch *launches;
};

/* ---------------------------------------------------------------- tables */

/* The words of a column of a table. */
static int64_t *column(const device_table *t, int k) { return t->image + optgen_table_column(t->image[OPTGEN_N], k); }

static int open_group(const context *c, group *g)
{
    const int64_t n = g->step.n;
    const optgen_kernel *const kernel = g->kernel->on_device->table;
    device_table *const t = g->on_device = calloc(1, sizeof(device_table));
    if (!t)
        return 0;
    t->code = g->kernel->on_device;
    t->words = optgen_table_words(kernel, n);
    t->image = calloc((size_t)t->words + 1, 8);
    t->launches = calloc((size_t)kernel->n_launches + 1, sizeof(loaded_launch));
    if (!t->image || !t->launches)
        return 0;
    t->image[OPTGEN_N] = n;
    memcpy(&t->image[OPTGEN_SEED], &c->seed, 8);
    int64_t bound = 0; /* of all elements, rows and columns, so that no number below overflows */
    for (int64_t j = 0; j < n; j++) {
        const member *const m = &c->members[g->order[j]];
        const int64_t cols = m->matrices ? m->cols : 0;
        column(t, OPTGEN_COLUMN_SIZE)[j] = m->size;
        column(t, OPTGEN_COLUMN_ROWS)[j] = m->size / (cols ? cols : 1);
        column(t, OPTGEN_COLUMN_COLS)[j] = cols;
        column(t, OPTGEN_COLUMN_BLOCKS)[j] = optgen_parts(m->size, OPTGEN_BLOCK);
        column(t, OPTGEN_COLUMN_ID)[j] = g->order[j];
        if (kernel->last_two)
            t->image[optgen_table_matrices(kernel, n) + j] = m->matrices ? m->matrices : 1;
        bound += m->size + (m->matrices ? m->matrices : 1) * cols;
        if (bound > 2 * MOST_ELEMENTS)
            return 0;
    }
    g->step.workspace = (double *)(t->image + optgen_table_values(kernel, n)); /* of the part of the host */
    return 1;
}

static void close_group(group *g)
{
    if (g->on_device) {
        free(g->on_device->image);
        free(g->on_device->launches);
    }
    free(g->on_device);
}

static int64_t workspace_bytes(const group *g)
{
    const device_table *const t = g->on_device;
    return 8 * (t->words + optgen_table_plan(t->code->table, t->image, t->address + 8 * (uint64_t)t->words));
}

static int64_t place_workspace(group *g, uint64_t at)
{
    g->on_device->address = at;
    g->workspace_bytes = workspace_bytes(g);
    return g->workspace_bytes;
}

/* Whether accesses of 16 bytes (and 4 elements) can begin at element -lead of a tensor in all buffers, whose addresses
   these are. */
static int find_lead(const device_code *code, const int64_t *addresses, int64_t size, int64_t *lead)
{
    int64_t widest = 0;
    *lead = 0;
    for (int64_t b = 0; b < code->table->buffers; b++) {
        const int64_t bits = code->bits[b], apart = bits ? (128 / bits > 4 ? 128 / bits : 4) : 0;
        if (apart > widest) {
            widest = apart;
            *lead = (int64_t)((uint64_t)addresses[b] % 256 * 8 / (uint64_t)bits) % apart;
        }
    }
    int is_whole = (*lead == 0 || code->table->leads) && !(code->has_entries && widest && size % widest);
    for (int64_t b = 0; b < code->table->buffers && is_whole; b++) {
        const int64_t bits = code->bits[b], apart = bits ? (128 / bits > 4 ? 128 / bits : 4) : 1;
        is_whole = !bits || ((int64_t)((uint64_t)addresses[b] % 256 * 8 / (uint64_t)bits) - *lead) % apart == 0;
    }
    *lead = is_whole ? *lead : 0;
    return is_whole && widest;
}

static void take_pointers(group *g)
{
    device_table *const t = g->on_device;
    const kernel *const k = g->kernel;
    const int64_t n = g->step.n;
    for (int64_t j = 0; j < n; j++) {
        int64_t *const row = t->image + optgen_table_pointers(n) + j * k->n_buffers;
        for (int32_t b = 0; b < k->n_buffers; b++)
            row[b] = k->buffers[b].is_host ? 0 : (int64_t)(uintptr_t)g->buffers[j * k->n_buffers + b];
        column(t, OPTGEN_COLUMN_VECTORS)[j] =
            find_lead(t->code, row, g->step.size[j], &column(t, OPTGEN_COLUMN_LEAD)[j]);
    }
    (void)optgen_table_plan(t->code->table, t->image, t->address + 8 * (uint64_t)t->words);
}

/* ---------------------------------------------------------------- getting ready */

/* Loads code: binary code if the GPU takes that, or else PTX, which the driver compiles. */
static optgen_status load_code(const spec *s, device_table *t)
{
    char log[1024] = "";
    const int options[2] = {JIT_LOG, JIT_LOG_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)sizeof log};
    if (t->code->cubin && driver.cuModuleLoadDataEx(&t->module, t->code->cubin, 0, NULL, NULL) == 0)
        return OPTGEN_OK;
    t->module = NULL;
    const int said = driver.cuModuleLoadDataEx(&t->module, t->code->ptx, 2, options, values);
    const optgen_status status = told(s, "cuModuleLoadDataEx", said);
    if (!status)
        return status;
    t->module = NULL;
    return *log ? fail_further(fail_further(status, ": "), log) : status;
}

/* Nothing is said of errors: after one that ends a context there is nothing to free. */
static void unload(device_table *t)
{
    for (int k = 0; k < STEPS_IN_FLIGHT; k++)
        if (t->events[k])
            (void)driver.cuEventDestroy_v2(t->events[k]);
    if (t->slots)
        (void)driver.cuMemFreeHost(t->slots);
    if (t->module)
        (void)driver.cuModuleUnload(t->module);
}

static optgen_status get_ready(const spec *s, const device *d, device_table *t)
{
    optgen_status status = load_code(s, t);
    for (int64_t k = 0; k < t->code->table->n_launches && !status; k++) {
        loaded_launch *const own = &t->launches[k];
        int blocks = 0;
        status = CALL(s, cuModuleGetFunction, &own->function, t->module, t->code->table->launches[k].name);
        if (!status)
            status = CALL(s, cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, own->function, OPTGEN_THREADS, 0);
        own->most_blocks = (int64_t)d->multiprocessors * (blocks > 0 ? blocks : 1);
    }
    if (!status)
        status = CALL(s, cuMemHostAlloc, &t->slots, STEPS_IN_FLIGHT * 8 * (size_t)t->words, HOST_PORTABLE);
    for (int k = 0; k < STEPS_IN_FLIGHT && !status; k++)
        status = CALL(s, cuEventCreate, &t->events[k], EVENT_NO_TIMING);
    return status;
}

static optgen_status ready_device(context *c, const request *r)
{
    (void)r;
    device *const d = c->device;
    d->kept = malloc((size_t)c->host_bytes + 1);
    if (!d->kept)
        return no_memory(c->spec);
    optgen_status status = enter(c);
    if (status)
        return status;
    for (int64_t g = 0; g < group_count(c) && !status; g++)
        status = get_ready(c->spec, d, c->groups[g].on_device);
    if (!status)
        status = CALL(c->spec, cuStreamSynchronize, d->stream); /* states are there for any stream */
    leave();
    d->is_ready = !status;
    return status;
}

/* ---------------------------------------------------------------- steps */

/* Computes what a step needs of the host, and sends the table. */
static optgen_status send_table(const spec *s, void *stream, group *g)
{
    device_table *const t = g->on_device;
    const int64_t k = t->sent % STEPS_IN_FLIGHT, bytes = 8 * t->words;
    if (t->sent >= STEPS_IN_FLIGHT) {
        const optgen_status status = CALL(s, cuEventSynchronize, t->events[k]);
        if (status)
            return status;
    }
    g->kernel->levels[level()].step(&g->step);
    memcpy(column(t, OPTGEN_COLUMN_T), g->step.t, 8 * (size_t)g->step.n);
    char *const slot = (char *)t->slots + k * bytes;
    memcpy(slot, t->image, (size_t)bytes);
    optgen_status status = CALL(s, cuMemcpyHtoDAsync_v2, t->address, slot, (size_t)bytes, stream);
    if (!status)
        status = CALL(s, cuEventRecord, t->events[k], stream);
    t->sent += !status;
    return status;
}

/* Launches the functions of a kernel, and counts them. */
static optgen_status launch_all(const spec *s, void *stream, const device_table *t, int64_t *launched)
{
    const optgen_kernel *const kernel = t->code->table;
    uint64_t address = t->address;
    void *arguments[1] = {&address};
    optgen_status status = OPTGEN_OK;
    for (int64_t k = 0; k < kernel->n_launches && !status; k++) {
        const int64_t useful = optgen_table_blocks(kernel, t->image, k), most = t->launches[k].most_blocks;
        if (!useful)
            continue;
        status = CALL(s, cuLaunchKernel, t->launches[k].function, (unsigned)(useful < most ? useful : most), 1, 1,
                      OPTGEN_THREADS, 1, 1, 0, stream, arguments, NULL);
        *launched += !status;
    }
    return status;
}

/* Sends the tables of groups, and launches their functions. */
static optgen_status queue_groups(const context *c, group *first, const group *end, int64_t *launched)
{
    void *const stream = c->device->stream;
    int is_capturing = 0;
    optgen_status status = CALL(c->spec, cuStreamIsCapturing, stream, &is_capturing);
    if (!status && is_capturing)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: options.stream is being captured, and a step is no part of a graph: each one "
                    "has numbers of its own", c->spec->name);
    for (group *g = first; g < end && !status; g++)
        status = send_table(c->spec, stream, g);
    for (group *g = first; g < end && !status; g++)
        status = launch_all(c->spec, stream, g->on_device, launched);
    return status;
}

static optgen_status run_groups(context *c, group *first, const group *end)
{
    int64_t launched = 0;
    optgen_status status = enter(c);
    if (status)
        return status;
    memcpy(c->device->kept, c->host, (size_t)c->host_bytes);
    status = queue_groups(c, first, end, &launched);
    leave();
    if (!status)
        return status;
    memcpy(c->host, c->device->kept, (size_t)c->host_bytes);
    if (launched || (first < end && first->program))
        return fail_further(status, "; a part of this step was launched before, so weights and states are of no step");
    return status;
}
