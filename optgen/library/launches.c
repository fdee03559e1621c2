/* Steps on a GPU: tables that are sent to it, and launches that read them. Tables are planned by what the header of
   bare kernels has, too: optgen/emit/cuda_header.py. */

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
    void *module;
    loaded_launch *launches;
};

/* ---------------------------------------------------------------- tables */

/* The words of a column of a table. */
static int64_t *column(const device_table *t, int k) { return t->image + optgen_table_column(t->image[OPTGEN_N], k); }

static optgen_status open_group(const context *c, group *g)
{
    const int64_t n = g->step.n;
    const optgen_kernel *const kernel = g->kernel->on_device->table;
    device_table *const t = g->on_device = calloc(1, sizeof(device_table));
    if (!t)
        return no_memory(c->spec);
    t->code = g->kernel->on_device;
    t->words = optgen_table_words(kernel, n);
    t->image = calloc((size_t)t->words + 1, 8);
    t->launches = calloc((size_t)kernel->n_launches + 1, sizeof(loaded_launch));
    if (!t->image || !t->launches)
        return no_memory(c->spec);
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
            return fail(OPTGEN_BAD_SHAPE,
                        "%s: tensors[%lld] and those before it have more elements than one kernel can "
                        "have: 2^45, with a row of each matrix counted twice; make several contexts", c->spec->name,
                        (long long)g->order[j]);
    }
    g->step.workspace = (double *)(t->image + optgen_table_values(kernel, n)); /* of the part of the host */
    return OPTGEN_OK;
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

static void unload(device_table *t)
{
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
    return status;
}

/* The bytes of the tables that an update sends for its stages from `begin` to `end`, whose groups begin with `first`: a
   double, which many turns of loops in loops do not overflow. */
static double bytes_of_stages(const group *first, int32_t begin, int32_t end)
{
    double bytes = 0;
    for (int32_t k = begin; k < end; k++) {
        const stage *const s = &first->program->stages[k];
        if (s->kernel) {
            bytes += 8.0 * (double)first[s->number].on_device->words;
            continue;
        }
        const int32_t later = s->turns > 0 ? s->turns - 1 : 0, times[] = {s->turns > 0, later - later / 2, later / 2};
        for (int body = 0; body < 3; body++)
            bytes += times[body] * bytes_of_stages(first, s->bodies[body], s->bodies[body + 1]);
        k = s->bodies[3] - 1;
    }
    return bytes;
}

/* Makes slots that have room for all tables of a step, whichever phase it is. */
static optgen_status make_ring(const context *c, ring *r)
{
    double most = 1;
    for (int32_t section = 0; section < c->spec->sections; section++) {
        double bytes = 0;
        for (int64_t k = c->first_group[section]; k < c->first_group[section + 1]; k++) {
            const group *const g = &c->groups[k];
            if (!g->program)
                bytes += 8.0 * (double)g->on_device->words;
            else if (g->number == 0)
                bytes += bytes_of_stages(g, 0, g->program->n_stages);
        }
        most = bytes > most ? bytes : most;
    }
    r->slot_bytes = most < (double)MOST_BYTES ? (size_t)most : (size_t)MOST_BYTES; /* which no machine has */
    optgen_status status = CALL(c->spec, cuMemHostAlloc, (void **)&r->slots, STEPS_IN_FLIGHT * r->slot_bytes,
                                HOST_PORTABLE);
    for (int k = 0; k < STEPS_IN_FLIGHT && !status; k++)
        status = CALL(c->spec, cuEventCreate, &r->events[k], EVENT_NO_TIMING);
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
        status = make_ring(c, &d->ring);
    if (!status)
        status = CALL(c->spec, cuStreamSynchronize, d->stream); /* states are there for any stream */
    leave();
    d->is_ready = !status;
    return status;
}

/* ---------------------------------------------------------------- steps */

/* Gets the slot for the tables of a step; waits if as many steps are queued as there are slots. */
static optgen_status begin_run(context *c)
{
    device *const d = c->device;
    int is_capturing = 0;
    optgen_status status = enter(c);
    if (status)
        return status;
    status = CALL(c->spec, cuStreamIsCapturing, d->stream, &is_capturing);
    if (!status && is_capturing)
        status = fail(OPTGEN_BAD_ARGUMENT,
                      "%s: options.stream is being captured, and a step is no part of a graph: each one "
                      "has numbers of its own", c->spec->name);
    if (!status && d->ring.steps >= STEPS_IN_FLIGHT)
        status = CALL(c->spec, cuEventSynchronize, d->ring.events[d->ring.steps % STEPS_IN_FLIGHT]);
    if (status) {
        leave();
        return status;
    }
    memcpy(d->kept, c->host, (size_t)c->host_bytes);
    d->ring.used = 0;
    d->launched = 0;
    return OPTGEN_OK;
}

static optgen_status end_run(context *c, optgen_status status)
{
    device *const d = c->device;
    if (!status)
        status = CALL(c->spec, cuEventRecord, d->ring.events[d->ring.steps % STEPS_IN_FLIGHT], d->stream);
    if (status)
        (void)driver.cuStreamSynchronize(d->stream); /* the next step has the same slot */
    leave();
    d->ring.steps += !status;
    if (!status)
        return status;
    memcpy(c->host, d->kept, (size_t)c->host_bytes);
    if (d->launched)
        return fail_further(status, "; a part of this step was launched before, so weights and states are of no step");
    return status;
}

/* Computes what a kernel needs of the host, and sends its table. */
static optgen_status send_table(const context *c, group *g)
{
    device *const d = c->device;
    device_table *const t = g->on_device;
    const size_t bytes = 8 * (size_t)t->words;
    char *const place = d->ring.slots + d->ring.slot_bytes * (size_t)(d->ring.steps % STEPS_IN_FLIGHT) + d->ring.used;
    g->kernel->levels[level()].step(&g->step);
    memcpy(column(t, OPTGEN_COLUMN_T), g->step.t, 8 * (size_t)g->step.n);
    memcpy(place, t->image, bytes);
    d->ring.used += bytes;
    return CALL(c->spec, cuMemcpyHtoDAsync_v2, t->address, place, bytes, d->stream);
}

/* Launches the functions of a kernel. */
static optgen_status launch_all(const context *c, const device_table *t)
{
    device *const d = c->device;
    const optgen_kernel *const kernel = t->code->table;
    uint64_t address = t->address;
    void *arguments[1] = {&address};
    optgen_status status = OPTGEN_OK;
    for (int64_t k = 0; k < kernel->n_launches && !status; k++) {
        const int64_t useful = optgen_table_blocks(kernel, t->image, k), most = t->launches[k].most_blocks;
        if (!useful)
            continue;
        status = CALL(c->spec, cuLaunchKernel, t->launches[k].function, (unsigned)(useful < most ? useful : most), 1, 1,
                      OPTGEN_THREADS, 1, 1, 0, d->stream, arguments, NULL);
        d->launched += !status;
    }
    return status;
}

static optgen_status run_groups(context *c, group *first, const group *end)
{
    optgen_status status = OPTGEN_OK;
    for (group *g = first; g < end && !status; g++)
        status = send_table(c, g);
    for (group *g = first; g < end && !status; g++)
        status = launch_all(c, g->on_device);
    return status;
}
