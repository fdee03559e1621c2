/* The device of a library for CPUs: memory of the process, kernels that are called, threads that share their work. */

struct device {
    pool *own_pool; /* NULL: the caller's, or none */
};

static optgen_status check_device(const spec *s, const request *r)
{
    if (r->threads < 0 || r->threads > MOST_THREADS)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: options.threads must be from 0 to %d, not %d", s->name, MOST_THREADS,
                    (int)r->threads);
    return OPTGEN_OK;
}

static optgen_status open_device(context *c, const request *r)
{
    (void)r;
    c->device = calloc(1, sizeof(device));
    return c->device ? OPTGEN_OK : no_memory(c->spec);
}

static optgen_status close_device(context *c)
{
    if (c->device && c->device->own_pool)
        pool_destroy(c->device->own_pool);
    free(c->device);
    free(c->block);
    return OPTGEN_OK;
}

static optgen_status check_place(const context *c, const void *place, int64_t i, const char *field)
{
    (void)c, (void)place, (void)i, (void)field;
    return OPTGEN_OK;
}

static optgen_status open_group(const context *c, group *g)
{
    (void)c, (void)g;
    return OPTGEN_OK;
}

static void close_group(group *g) { (void)g; }

static int64_t workspace_bytes(const group *g) { return 8 * g->kernel->levels[level()].workspace(&g->step); }

static int64_t place_workspace(group *g, uint64_t at)
{
    g->step.workspace = (double *)(uintptr_t)at;
    g->workspace_bytes = workspace_bytes(g);
    return g->workspace_bytes;
}

static optgen_status allocate(context *c, int64_t bytes)
{
    c->block = zeros(bytes);
    if (c->block)
        return OPTGEN_OK;
    return fail(OPTGEN_NO_MEMORY, "%s: there is no memory of %lld bytes for states", c->spec->name, (long long)bytes);
}

static optgen_status clear(context *c, void *memory, int64_t bytes)
{
    (void)c;
    memset(memory, 0, (size_t)bytes);
    return OPTGEN_OK;
}

static optgen_status copy_to(const context *c, void *to, const void *from, int64_t bytes)
{
    (void)c;
    memcpy(to, from, (size_t)bytes);
    return OPTGEN_OK;
}

static optgen_status copy_from(const context *c, void *to, const void *from, int64_t bytes)
{
    return copy_to(c, to, from, bytes);
}

static optgen_status ready_device(context *c, const request *r)
{
    int64_t elements = 0;
    for (int64_t i = 0; i < c->n; i++)
        elements += c->members[i].size;
    if (!r->parallel && r->threads != 1 && elements >= MIN_SHARED_ELEMENTS) /* a smaller step stays on its thread */
        c->device->own_pool = pool_create(r->threads);
    for (int64_t g = 0; g < c->first_group[c->spec->sections]; g++) {
        c->groups[g].step.parallel = c->device->own_pool ? pool_parallel_for : r->parallel;
        c->groups[g].step.pool = c->device->own_pool ? (void *)c->device->own_pool : r->pool;
    }
    return OPTGEN_OK;
}

static void take_pointers(group *g) { (void)g; }

static optgen_status begin_run(context *c)
{
    (void)c;
    return OPTGEN_OK;
}

static optgen_status end_run(context *c, optgen_status status)
{
    (void)c;
    return status;
}

static optgen_status run_groups(context *c, group *first, const group *end)
{
    (void)c;
    for (group *g = first; g < end; g++)
        g->kernel->levels[level()].step(&g->step);
    return OPTGEN_OK;
}
