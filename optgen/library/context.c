/* Contexts: tensors that are checked, the states that they have, and the kernels that update them. */

/* ---------------------------------------------------------------- errors */

static THREAD_LOCAL char error_text[512];

static optgen_status fail(optgen_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    return status;
}

static optgen_status no_memory(const spec *s) { return fail(OPTGEN_NO_MEMORY, "%s: there is no memory", s->name); }

/* ---------------------------------------------------------------- hyper-parameters */

/* `is_step`: what a step is given must be there. */
static optgen_status check_hyper(const spec *s, const double *hyper, int is_step)
{
    for (int32_t k = 0; k < s->n_hypers; k++) {
        const hyper_info *const p = &s->hypers[k];
        const double x = hyper[k];
        if (isnan(x)) {
            if (p->given ? is_step : !p->optional)
                return fail(OPTGEN_BAD_HYPER, "%s: '%s' must be a number, not NaN", s->name, p->name);
            continue;
        }
        const int above = p->low_open ? x > p->low : x >= p->low, below = p->high_open ? x < p->high : x <= p->high;
        if (p->interval && !(above && below))
            return fail(OPTGEN_BAD_HYPER, "%s: '%s' must be in %s, not %g", s->name, p->name, p->interval, x);
        if (p->whole && x != floor(x))
            return fail(OPTGEN_BAD_HYPER, "%s: '%s' must be a whole number, not %g", s->name, p->name, x);
        if (!isnan(p->fixed) && x != p->fixed)
            return fail(OPTGEN_BAD_HYPER, "%s: '%s' is the size of a state, and this library was built for %g, not for %g",
                        s->name, p->name, p->fixed, x);
    }
    return OPTGEN_OK;
}

/* Copies hyper-parameters, with NaN for those that are off at 0. */
static void copy_hyper(const spec *s, double *to, const double *from)
{
    for (int32_t k = 0; k < s->n_hypers; k++)
        to[k] = s->hypers[k].zero_off && from[k] == 0 ? (double)NAN : from[k];
}

/* Hands the hyper-parameters and sizes of all tensors to the kernels. */
static void fill_hyper(context *c)
{
    for (int64_t g = 0; g < c->first_group[c->spec->sections]; g++) {
        group *const own = &c->groups[g];
        const int64_t n = own->step.n;
        for (int32_t k = 0; k < own->kernel->n_hyper; k++) {
            const int32_t source = own->kernel->hyper[k];
            for (int64_t j = 0; j < n; j++) {
                const int64_t i = own->order[j];
                const dimensions *const of = &c->members[i].of;
                const double sizes[] = {of->rank, of->size, of->rows, of->cols, of->matrices, 0};
                own->hyper[k * n + j] = source < 0 ? sizes[-1 - source] : c->hyper[i * c->spec->n_hypers + source];
            }
        }
    }
}

/* ---------------------------------------------------------------- tensors */

static int32_t bytes_of(optgen_dtype dtype) { return dtype == OPTGEN_FLOAT64 ? 8 : dtype == OPTGEN_FLOAT32 ? 4 : 2; }

/* Sets the shape and the sizes of a tensor. */
static optgen_status measure(const spec *s, member *m, const tensor *t, int64_t i)
{
    if (t->rank < 0 || t->rank > MOST_DIMENSIONS || (t->rank && !t->shape))
        return fail(OPTGEN_BAD_SHAPE, "%s: tensors[%lld] has the rank %lld, and its shape is %s", s->name, (long long)i,
                    (long long)t->rank, t->shape ? "given" : "NULL");
    m->rows = m->cols = m->matrices = m->size = 1;
    const int64_t batch = s->last_two && t->rank >= 2 ? t->rank - 2 : 0;
    for (int64_t k = 0; k < t->rank; k++) {
        const int64_t length = t->shape[k];
        if (length < 0 || (length && m->size > INT64_MAX / 64 / length))
            return fail(OPTGEN_BAD_SHAPE, "%s: tensors[%lld].shape[%lld] is %lld", s->name, (long long)i, (long long)k,
                        (long long)length);
        m->size *= length;
        *(k < batch ? &m->matrices : k == batch ? &m->rows : &m->cols) *= length;
    }
    m->shape = malloc(sizeof(int64_t) * (size_t)(t->rank + 1));
    if (!m->shape)
        return no_memory(s);
    if (t->rank)
        memcpy(m->shape, t->shape, sizeof(int64_t) * (size_t)t->rank);
    m->of = (dimensions){(double)t->rank, (double)m->size, (double)m->rows, (double)m->cols,
                         m->cols ? (double)m->matrices : 0};
    return OPTGEN_OK;
}

static const kernel *kernel_of(const context *c, int32_t section, const member *m)
{
    const spec *const s = c->spec;
    const int32_t small = s->small_differ && !s->joins && m->size < SMALLEST_QUANTIZED;
    const int32_t set = dtype_index[c->dtype] * (1 + s->small_differ) + small;
    return s->kernels[(set * s->sections + section) * s->variants + m->variant];
}

/* Finds the variant of a tensor, and refuses one that was not built. */
static optgen_status choose(const context *c, member *m, const double *hyper, int64_t i)
{
    const spec *const s = c->spec;
    const char *why = NULL;
    const int32_t variant = s->choose(hyper, c->flags, &m->of, &why);
    if (variant < 0)
        return fail(OPTGEN_BAD_HYPER, "%s: tensors[%lld]: %s", s->name, (long long)i, why);
    if (m->is_chosen && variant != m->variant)
        return fail(OPTGEN_BAD_HYPER, "%s: tensors[%lld]: these hyper-parameters need the variant %s, and the context was "
                    "made with %s; make another one", s->name, (long long)i, s->variants_text[variant],
                    s->variants_text[m->variant]);
    m->variant = variant;
    m->is_chosen = 1;
    for (int32_t section = 0; section < s->sections; section++)
        if (!kernel_of(c, section, m))
            return fail(OPTGEN_NOT_BUILT, "%s: tensors[%lld] needs the variant %s, which this library was built without; "
                        "build it with --all, or --set FLAG=VALUE", s->name, (long long)i, s->variants_text[variant]);
    return OPTGEN_OK;
}

static optgen_status take(context *c, const tensor *t, int64_t i, const double *hyper)
{
    const spec *const s = c->spec;
    const void *const *const inputs = (const void *const *)(t + 1);
    member *const m = &c->members[i];
    const optgen_status status = measure(s, m, t, i);
    if (status)
        return status;
    m->data = t->data;
    m->grad = t->grad;
    if (m->size && (!t->data || (s->reads_grad && !t->grad)))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: tensors[%lld].%s is NULL", s->name, (long long)i, t->data ? "grad" : "data");
    for (int32_t k = 0; k < s->n_inputs; k++) {
        c->inputs[i * s->n_inputs + k] = inputs[k];
        if (m->size && !inputs[k])
            return fail(OPTGEN_BAD_ARGUMENT, "%s: tensors[%lld].%s is NULL", s->name, (long long)i, s->inputs[k]);
    }
    copy_hyper(s, c->hyper + i * s->n_hypers, hyper);
    return choose(c, m, c->hyper + i * s->n_hypers, i);
}

/* ---------------------------------------------------------------- memory that overlaps */

typedef struct {
    uintptr_t begin, end;
    int64_t tensor; /* -1: options.memory */
    int32_t written;
} range;

static int compare_ranges(const void *x, const void *y)
{
    const range *const a = x, *const b = y;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static optgen_status overlap(const spec *s, const range *a, const range *b)
{
    if (a->tensor < 0 || b->tensor < 0)
        return fail(OPTGEN_OVERLAP, "%s: options.memory overlaps with tensors[%lld]", s->name,
                    (long long)(a->tensor < 0 ? b->tensor : a->tensor));
    return fail(OPTGEN_OVERLAP, "%s: a step writes to memory that tensors[%lld] and tensors[%lld] share", s->name,
                (long long)a->tensor, (long long)b->tensor);
}

/* An error if something that a step writes overlaps with what else it has. */
static optgen_status check_overlap(const context *c, const void *memory, int64_t memory_bytes)
{
    const spec *const s = c->spec;
    const int64_t each = 2 + s->n_inputs;
    range *const ranges = malloc(sizeof(range) * (size_t)(c->n * each + 1));
    if (!ranges)
        return no_memory(s);
    int64_t count = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const member *const m = &c->members[i];
        const uintptr_t bytes = (uintptr_t)(m->size * bytes_of(c->dtype));
        for (int64_t k = 0; bytes && k < each; k++) {
            const void *const p = k == 0 ? m->data : k == 1 ? m->grad : c->inputs[i * s->n_inputs + k - 2];
            if (p)
                ranges[count++] = (range){(uintptr_t)p, (uintptr_t)p + bytes, i, k == 0};
        }
    }
    if (memory && memory_bytes > 0)
        ranges[count++] = (range){(uintptr_t)memory, (uintptr_t)memory + (uintptr_t)memory_bytes, -1, 1};
    qsort(ranges, (size_t)count, sizeof(range), compare_ranges);
    range any = {0, 0, 0, 0}, written = any; /* those that reach furthest */
    optgen_status status = OPTGEN_OK;
    for (int64_t k = 0; k < count && !status; k++) {
        const range now = ranges[k], before = now.written ? any : written;
        if (now.begin < before.end)
            status = overlap(s, &before, &now);
        if (now.end > any.end)
            any = now;
        if (now.written && now.end > written.end)
            written = now;
    }
    free(ranges);
    return status;
}

/* ---------------------------------------------------------------- states */

static int64_t items_of(const buffer *b, const member *m)
{
    int64_t items = m->matrices;
    switch (b->kind) {
    case KIND_ELEM: return (m->size + b->per - 1) / b->per * b->entries;
    case KIND_ROW: return items * m->rows * b->entries;
    case KIND_COL: return items * m->cols * b->entries;
    case KIND_MATRIX:
        for (int32_t k = 0; k < b->n_dims; k++)
            items *= b->dims[k] == DIM_ROWS ? m->rows : b->dims[k] == DIM_COLS ? m->cols : b->dims[k];
        return items * b->entries;
    default: return b->entries;
    }
}

/* Where an array begins, from `at` on. Elements lie in cache lines and pages as those of the parameter do: a load waits
   for an earlier store to the same place of another page. */
static uintptr_t placed(uintptr_t at, int64_t bytes, const buffer *b, const void *data, int32_t data_bytes)
{
    const uintptr_t unit = bytes < PAGED_BYTES ? LINE : PAGE;
    uintptr_t offset = 0;
    if (b->kind == KIND_ELEM && b->per == 1)
        offset = (uintptr_t)data % PAGE / (uintptr_t)data_bytes * (uintptr_t)b->bytes;
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
        const uint16_t bits = ((const uint16_t *)m->data)[k];
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
static uintptr_t lay_out_tensor(context *c, int64_t i, uintptr_t at, void **shared, int made)
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
            at = placed(at, bytes, b, m->data, bytes_of(c->dtype));
            m->states[b->number] = (void *)at;
            if (b->kind == KIND_SHARED)
                shared[b->number] = (void *)at;
            if (made)
                start(c, b, (void *)at, items, i);
            at += (uintptr_t)bytes + 1; /* so that no two states have one address */
        }
    }
    return at;
}

/* Places all states and workspaces from `base` on; where they end. They are made if `made`. */
static uintptr_t lay_out(context *c, uintptr_t base, int made)
{
    const spec *const s = c->spec;
    void *shared[MOST_STATES] = {0};
    uintptr_t at = base;
    for (int64_t i = 0; i < c->n; i++)
        at = lay_out_tensor(c, i, at, shared, made);
    for (int64_t g = 0; g < c->first_group[s->sections]; g++) {
        group *const own = &c->groups[g];
        at += (LINE - at % LINE) % LINE;
        own->step.workspace = (double *)at;
        at += 8 * (uintptr_t)own->kernel->levels[level()].workspace(&own->step);
    }
    return at;
}

/* How much memory states and workspaces need, wherever it begins. */
static int64_t memory_of(context *c) { return (int64_t)lay_out(c, 0, 0) + 2 * PAGE; }

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
    c->groups = calloc((size_t)sections * (size_t)c->n + 1, sizeof(group));
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
    if (r->abi != OPTGEN_ABI)
        return fail(OPTGEN_BAD_ABI, "%s: this library has the ABI %d, and the options are of ABI %u; fill them by "
                    "%s_options_defaults() of its own header", s->name, OPTGEN_ABI, (unsigned)r->abi, s->name);
    if (n < 0 || n > MOST_TENSORS)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %lld tensors; there can be 0 to 2^20", s->name, (long long)n);
    if (!hyper || (n && !tensors))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is NULL", s->name, hyper ? "tensors" : "hyper");
    if ((unsigned)r->dtype > OPTGEN_BFLOAT16 || dtype_index[r->dtype] < 0)
        return fail(OPTGEN_NOT_BUILT, "%s: this library was not built for options.dtype = %d; build it with --dtype",
                    s->name, (int)r->dtype);
    if (level() < 0)
        return fail(OPTGEN_BAD_CPU, "%s: this CPU lacks instructions of %s, which this library was built for", s->name,
                    level_names[0]);
    return check_hyper(s, hyper, 0);
}

/* A context whose tensors are checked, and have their kernels; without states, which `lay_out` makes. NULL and an error
   if that fails. */
static context *planned(const spec *s, const void *tensors, size_t stride, int64_t n, const request *r,
                        const double *hyper, optgen_status *status)
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
        *status = take(c, (const tensor *)((const char *)tensors + (size_t)i * stride), i, hyper);
    }
    if (!*status)
        *status = check_overlap(c, r->memory, r->memory_bytes);
    if (!*status)
        *status = make_groups(c);
    if (!*status)
        return c;
    give_back(c);
    return NULL;
}
