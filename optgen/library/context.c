/* Contexts: the states that tensors have, and the kernels that update them. */

/* ---------------------------------------------------------------- states */

static int64_t items_of(const buffer *b, const member *m)
{
    const int64_t entries = b->entries ? b->entries : 1;
    switch (b->kind) {
    case KIND_ELEM: return (m->size + b->per - 1) / b->per * entries;
    case KIND_ROW: return m->matrices * m->rows * entries;
    case KIND_COL: return m->matrices * m->cols * entries;
    default: return entries;
    }
}

/* Where an array begins, from `at` on; if it is not `made`, the last place where it may. Elements lie in cache lines and
   pages as those of the parameter do: a load waits for an earlier store to the same place of another page. */
static uint64_t placed(uint64_t at, int64_t bytes, const buffer *b, const void *data, int32_t data_bytes, int made)
{
    const uint64_t unit = bytes < PAGED_BYTES ? LINE : PAGE;
    uint64_t offset = 0;
    if (!made)
        return at + unit;
    if (b->kind == KIND_ELEM && b->per == 1)
        offset = (uintptr_t)data % PAGE / (uint64_t)data_bytes * (uint64_t)b->bytes;
    return at + (offset - at) % unit;
}

static float from_half(uint16_t bits)
{
    const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                            : exponent     ? ldexpf((float)(fraction + 1024), (int)exponent - 25)
                                           : ldexpf((float)fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static float from_bfloat16(uint16_t bits)
{
    const uint32_t all = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &all, sizeof x);
    return x;
}

/* Copies the weights of a tensor into a state. */
static void start_with_weights(const context *c, const buffer *b, void *to, int64_t items, const member *m)
{
    if (b->bytes == bytes_of(c->dtype)) {
        memcpy(to, m->data, (size_t)items * (size_t)b->bytes);
        return;
    }
    for (int64_t k = 0; k < items; k++) { /* a float32 of 16 bits: the library has no others */
        uint16_t bits;
        memcpy(&bits, (const char *)m->data + 2 * k, sizeof bits);
        ((float *)to)[k] = c->dtype == OPTGEN_FLOAT16 ? from_half(bits) : from_bfloat16(bits);
    }
}

/* Fills a state, whose memory is 0. */
static void start(const context *c, const buffer *b, void *to, int64_t items, int64_t i)
{
    const member *const m = &c->members[i];
    if (b->start == START_WEIGHT) {
        start_with_weights(c, b, to, items, m);
        return;
    }
    const double hyper = b->start == START_HYPER ? c->hyper[i * c->spec->n_hypers + b->number_of_hyper] : 0;
    const float rounded = (float)hyper;
    const void *const item = b->start == START_ITEM ? (const void *)b->item : b->bytes == 4 ? (const void *)&rounded
                                                                                            : (const void *)&hyper;
    for (int64_t k = 0; b->start != START_ZERO && k < items; k++)
        memcpy((char *)to + k * b->bytes, item, (size_t)b->bytes);
}

/* Places the states of a tensor from `at` on; where they end. They are made if `made`. */
static uint64_t lay_out_tensor(context *c, int64_t i, uint64_t at, void **shared, int made)
{
    const spec *const s = c->spec;
    member *const m = &c->members[i];
    memset(m->states, 0, sizeof(void *) * (size_t)s->n_states);
    for (int32_t section = 0; section < s->sections; section++) {
        const kernel *const k = kernel_of(c, section, m);
        for (int32_t j = 0; j < k->n_buffers; j++) {
            const buffer *const b = &k->buffers[j];
            if (b->role != ROLE_STATE || b->start == START_NONE || m->states[b->number])
                continue;
            const int64_t items = items_of(b, m), bytes = items * b->bytes;
            m->state_bytes[b->number] = bytes;
            if (b->kind == KIND_SHARED && shared[b->number]) {
                m->states[b->number] = shared[b->number];
                continue;
            }
            at = placed(at, bytes, b, m->data, bytes_of(c->dtype), made);
            m->states[b->number] = (void *)(uintptr_t)at;
            if (b->kind == KIND_SHARED)
                shared[b->number] = m->states[b->number];
            if (made)
                start(c, b, m->states[b->number], items, i);
            at += (uint64_t)bytes + 1; /* so that no two states have one address */
            if (at > MOST_BYTES && !made)
                at = MOST_BYTES; /* there is no such memory */
        }
    }
    return at;
}

/* Places all states and workspaces from `base` on; where they end. They are made if `made`. Places have 64 bits also
   where pointers have fewer: what is needed may be more than there can be. */
static uint64_t lay_out(context *c, uint64_t base, int made)
{
    const spec *const s = c->spec;
    void *shared[MOST_STATES] = {0};
    uint64_t at = base;
    for (int64_t i = 0; i < c->n; i++)
        at = lay_out_tensor(c, i, at, shared, made);
    for (int64_t g = 0; g < c->first_group[s->sections]; g++) {
        group *const own = &c->groups[g];
        at += made ? (LINE - at % LINE) % LINE : LINE;
        own->step.workspace = (double *)(uintptr_t)at;
        at += 8 * (uint64_t)own->kernel->levels[level()].workspace(&own->step);
    }
    return at;
}

/* How much memory states and workspaces need, wherever it and the tensors are. */
static int64_t memory_of(context *c) { return (int64_t)lay_out(c, 0, 0); }

/* ---------------------------------------------------------------- groups: the tensors of one kernel */

static int make_group(context *c, group *g, int32_t section, int64_t first, char *is_taken)
{
    const kernel *const k = kernel_of(c, section, &c->members[first]);
    int64_t n = 0;
    for (int64_t i = first; i < c->n; i++)
        n += !is_taken[i] && kernel_of(c, section, &c->members[i]) == k;
    int64_t *const numbers = calloc((size_t)(4 * n), sizeof(int64_t));
    g->kernel = k;
    g->order = numbers;
    g->hyper = calloc((size_t)(n * (k->n_hyper + 1)), sizeof(double));
    g->buffers = calloc((size_t)(n * k->n_buffers + 1), sizeof(void *));
    if (!numbers || !g->hyper || !g->buffers)
        return 0;
    int64_t *const size = numbers + n, *const cols = size + n, *const t = cols + n;
    for (int64_t i = first, j = 0; i < c->n; i++) {
        if (is_taken[i] || kernel_of(c, section, &c->members[i]) != k)
            continue;
        is_taken[i] = 1;
        g->order[j] = i;
        size[j] = c->members[i].size;
        cols[j++] = c->members[i].cols;
    }
    g->step.n = n;
    g->step.size = size;
    g->step.buffers = (void *const *)g->buffers;
    g->step.t = t;
    g->step.hyper = g->hyper;
    g->step.cols = cols;
    g->step.id = g->order;
    g->step.seed = c->seed;
    return 1;
}

static optgen_status make_groups(context *c)
{
    const int32_t sections = c->spec->sections;
    const int64_t kernels = (int64_t)c->spec->variants * (1 + c->spec->small_differ), most = c->n < kernels ? c->n : kernels;
    c->groups = calloc((size_t)sections * (size_t)most + 1, sizeof(group));
    c->first_group = calloc((size_t)sections + 1, sizeof(int64_t));
    char *const is_taken = malloc((size_t)c->n + 1);
    int is_made = c->groups && c->first_group && is_taken;
    for (int32_t section = 0; is_made && section < sections; section++) {
        int64_t *const end = &c->first_group[section + 1];
        *end = c->first_group[section];
        memset(is_taken, 0, (size_t)c->n);
        for (int64_t i = 0; is_made && i < c->n; i++)
            if (!is_taken[i])
                is_made = make_group(c, &c->groups[(*end)++], section, i, is_taken);
        for (int32_t later = section + 1; later < sections; later++)
            c->first_group[later + 1] = *end;
    }
    free(is_taken);
    for (int32_t section = 0; is_made && c->spec->shares && section < sections; section++)
        if (c->first_group[section + 1] - c->first_group[section] > 1)
            return fail(OPTGEN_BAD_SHAPE, "%s: all tensors share values, so they need one kernel, and these have several: "
                        "make contexts of their own for those of other shapes", c->spec->name);
    return is_made ? OPTGEN_OK : no_memory(c->spec);
}

/* Has kernels find tensors and states where they are. */
static void set_pointers(context *c, int32_t section, void *const *out)
{
    const spec *const s = c->spec;
    for (int64_t g = c->first_group[section]; g < c->first_group[section + 1]; g++) {
        group *const own = &c->groups[g];
        const kernel *const k = own->kernel;
        for (int64_t j = 0; j < own->step.n; j++) {
            const int64_t i = own->order[j];
            const member *const m = &c->members[i];
            for (int32_t b = 0; b < k->n_buffers; b++) {
                void *const places[] = {m->data, (void *)m->grad, NULL, NULL, out ? out[i] : NULL};
                const buffer *const of = &k->buffers[b];
                own->buffers[j * k->n_buffers + b] = of->role == ROLE_STATE ? m->states[of->number]
                                                     : of->role == ROLE_INPUT
                                                         ? (void *)c->inputs[i * s->n_inputs + of->number]
                                                         : places[of->role];
            }
        }
    }
}

static void set_all_pointers(context *c)
{
    for (int32_t section = 0; section < c->spec->sections; section++)
        set_pointers(c, section, NULL);
}

/* ---------------------------------------------------------------- the whole */

static void give_back(context *c)
{
    for (int64_t g = 0; c->first_group && c->groups && g < c->first_group[c->spec->sections]; g++) {
        free(c->groups[g].order);
        free(c->groups[g].hyper);
        free(c->groups[g].buffers);
    }
    for (int64_t i = 0; i < c->n; i++)
        free(c->members[i].shape);
    if (c->own_pool)
        pool_destroy(c->own_pool);
    free(c->groups);
    free(c->first_group);
    free(c->block);
    free(c->members);
    free(c);
}

static optgen_status check_request(const spec *s, const void *tensors, int64_t n, const request *r, const double *hyper)
{
    if (n < 0 || n > MOST_TENSORS)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %lld tensors; there can be 0 to 2^20", s->name, (long long)n);
    if (!hyper || (n && !tensors))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is NULL", s->name, hyper ? "tensors" : "hyper");
    if (r->dtype < 0 || r->dtype > OPTGEN_BFLOAT16 || dtype_index[r->dtype] < 0)
        return fail(OPTGEN_NOT_BUILT, "%s: this library was not built for options.dtype = %d; build it with --dtype",
                    s->name, (int)r->dtype);
    if (level() < 0)
        return fail(OPTGEN_BAD_CPU, "%s: this CPU lacks instructions of %s, which this library was built for", s->name,
                    level_names[0]);
    if (r->threads < 0 || r->threads > MOST_THREADS)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: options.threads must be from 0 to %d, not %d", s->name, MOST_THREADS,
                    (int)r->threads);
    return check_hyper(s, hyper, 0);
}

/* A context whose tensors are checked, and have their kernels; without states, which `lay_out` makes. NULL and an error
   if that fails. With `is_sized` only shapes count. */
static context *planned(const spec *s, const void *tensors, size_t stride, int64_t n, const request *r,
                        const double *hyper, int is_sized, optgen_status *status)
{
    *status = check_request(s, tensors, n, r, hyper);
    if (*status)
        return NULL;
    const size_t count = (size_t)n, states = count * (size_t)s->n_states;
    const size_t each = sizeof(member) + 8 * ((size_t)s->n_hypers + 1) + sizeof(void *) * (size_t)s->n_inputs;
    context *const c = calloc(1, sizeof(context));
    char *const block = calloc(1, count * each + states * (sizeof(void *) + 8) + 8);
    if (!c || !block) {
        free(c);
        free(block);
        *status = no_memory(s);
        return NULL;
    }
    c->spec = s;
    c->n = n;
    c->dtype = r->dtype;
    c->seed = r->seed;
    for (int32_t k = 0; k < s->n_flags; k++)
        c->flags[k] = r->flags[k];
    c->members = (member *)block;
    c->hyper = (double *)(c->members + n);
    c->t = (int64_t *)(c->hyper + count * (size_t)s->n_hypers);
    int64_t *const state_bytes = c->t + n;
    void **const state_places = (void **)(state_bytes + states);
    c->inputs = (const void **)(state_places + states);
    for (int64_t i = 0; i < n && !*status; i++) {
        c->members[i].states = state_places + i * s->n_states;
        c->members[i].state_bytes = state_bytes + i * s->n_states;
        *status = take(c, (const tensor *)((const char *)tensors + (size_t)i * stride), i, hyper, is_sized);
    }
    if (!*status && !is_sized)
        *status = check_overlap(c, r->memory, r->memory_bytes, NULL);
    if (!*status)
        *status = make_groups(c);
    if (!*status) {
        fill_hyper(c); /* the sizes of workspaces follow from those of tensors, which are there too */
        return c;
    }
    give_back(c);
    return NULL;
}
