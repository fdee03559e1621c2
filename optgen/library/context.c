/* Contexts: the tensors of each kernel, and the whole. */

/* ---------------------------------------------------------------- groups: the tensors of one kernel */

/* Makes the group of a kernel for n tensors, whose numbers are in `order`; it keeps this memory. */
static optgen_status make_group(const context *c, group *g, const kernel *k, const int32_t *domain, int64_t *order,
                                int64_t n)
{
    int64_t *const numbers = calloc((size_t)(3 * n + 1), sizeof(int64_t));
    g->kernel = k;
    g->domain[0] = domain[0];
    g->domain[1] = domain[1];
    g->order = order;
    g->numbers = numbers;
    g->hyper = calloc((size_t)(n * (k->n_hyper + 1)), sizeof(double));
    g->buffers = calloc((size_t)(n * k->n_buffers + 1), sizeof(void *));
    if (!numbers || !g->hyper || !g->buffers)
        return no_memory(c->spec);
    int64_t *const size = numbers, *const cols = size + n, *const t = cols + n;
    for (int64_t j = 0; j < n; j++) {
        const member *const m = &c->members[order[j]];
        cols[j] = length_of(m, domain[1]);
        size[j] = m->matrices * length_of(m, domain[0]) * cols[j];
    }
    g->step.n = n;
    g->step.size = size;
    g->step.buffers = (void *const *)g->buffers;
    g->step.t = t;
    g->step.hyper = g->hyper;
    g->step.cols = cols;
    g->step.id = order;
    g->step.seed = c->seed;
    if (c->has_sparse) {
        g->index = calloc((size_t)n + 1, sizeof(int64_t *));
        g->present = calloc((size_t)n + 1, sizeof(int64_t));
        if (!g->index || !g->present)
            return no_memory(c->spec);
    }
    return open_group(c, g);
}

/* Makes the groups of the kernels of an update in stages: the first one has the order and the arrays of all. */
static optgen_status make_stages(const context *c, group *first, const program *p, int64_t n)
{
    int64_t *const order = first->order;
    first->arrays = calloc((size_t)(n * p->n_arrays + 1), sizeof(void *));
    optgen_status status = first->arrays ? OPTGEN_OK : no_memory(c->spec);
    for (int32_t k = 0; !status && k < p->n_stages; k++) {
        const stage *const s = &p->stages[k];
        if (!s->kernel)
            continue;
        group *const own = &first[s->number];
        own->program = p;
        own->number = s->number;
        own->arrays = first->arrays;
        status = make_group(c, own, s->kernel, s->domain, order, n);
    }
    return status;
}

/* Makes the groups of all tensors that have the same kernel as the first one and are not yet taken; of the first one
   alone where it is updated so. */
static optgen_status group_tensors(const context *c, group **end, int32_t section, int64_t first, char *is_taken)
{
    const kernel *const k = kernel_of(c, section, &c->members[first]);
    int64_t n = 0;
    group *const g = *end;
    *end += k->program ? k->program->n_kernels : 1;
    g->order = calloc((size_t)(c->n - first), sizeof(int64_t));
    if (!g->order)
        return no_memory(c->spec);
    const int64_t end_of = k->program && k->program->alone ? first + 1 : c->n;
    static const int32_t whole[] = {AXIS_ROWS, AXIS_COLS};
    for (int64_t i = first; i < end_of; i++)
        if (!is_taken[i] && kernel_of(c, section, &c->members[i]) == k) {
            is_taken[i] = 1;
            g->order[n++] = i;
        }
    return k->program ? make_stages(c, g, k->program, n) : make_group(c, g, k, whole, g->order, n);
}

static optgen_status make_groups(context *c)
{
    const int32_t sections = c->spec->sections;
    const int64_t kernels = (int64_t)c->spec->variants * (1 + c->spec->small_differ);
    const int64_t most = c->n < kernels || c->spec->alone ? c->n : kernels;
    c->groups = calloc((size_t)sections * (size_t)most * (size_t)c->spec->most_kernels + 1, sizeof(group));
    c->first_group = calloc((size_t)sections + 1, sizeof(int64_t));
    char *const is_taken = malloc((size_t)c->n + 1);
    optgen_status status = c->groups && c->first_group && is_taken ? OPTGEN_OK : no_memory(c->spec);
    int is_shared = 1;
    group *end = c->groups;
    for (int32_t section = 0; !status && section < sections; section++) {
        int64_t sets = 0;
        memset(is_taken, 0, (size_t)c->n);
        for (int64_t i = 0; !status && i < c->n; i++)
            if (!is_taken[i]) {
                status = group_tensors(c, &end, section, i, is_taken);
                sets++;
            }
        is_shared &= sets < 2;
        for (int32_t later = section; later < sections; later++)
            c->first_group[later + 1] = end - c->groups;
    }
    free(is_taken);
    if (!status && c->spec->shares && !is_shared)
        return fail(OPTGEN_BAD_SHAPE, "%s: all tensors share values, so they need one kernel, and these have several: "
                    "make contexts of their own for those of other shapes", c->spec->name);
    return status;
}

/* Where an array of a group's tensor number j is. */
static void *address_of(const context *c, const group *g, int64_t j, int32_t role, int32_t number, void *const *out)
{
    const int64_t i = g->order[j];
    const member *const m = &c->members[i];
    const void *const grad = m->present >= 0 && !is_lazy(c, m) ? m->copy : m->grad;
    void *const places[] = {m->data, (void *)grad, NULL, NULL, out ? out[i] : NULL};
    return role == ROLE_STATE   ? m->states[number]
           : role == ROLE_ARRAY ? g->arrays[j * g->program->n_arrays + number]
           : role == ROLE_INPUT ? (void *)c->inputs[i * c->spec->n_inputs + number]
                                : places[role];
}

/* Has kernels find tensors and states where they are. */
static void set_pointers(context *c, int32_t section, void *const *out)
{
    for (int64_t g = c->first_group[section]; g < c->first_group[section + 1]; g++) {
        group *const own = &c->groups[g];
        const kernel *const k = own->kernel;
        for (int64_t j = 0; j < own->step.n; j++)
            for (int32_t b = 0; b < k->n_buffers; b++) {
                const buffer *const of = &k->buffers[b];
                own->buffers[j * k->n_buffers + b] = address_of(c, own, j, of->role, of->number, out);
            }
        take_pointers(own);
    }
}

static void set_all_pointers(context *c)
{
    for (int32_t section = 0; section < c->spec->sections; section++)
        set_pointers(c, section, NULL);
}

/* ---------------------------------------------------------------- the whole */

static optgen_status give_back(context *c)
{
    const optgen_status status = close_device(c);
    for (int64_t g = 0; g < group_count(c); g++) {
        close_group(&c->groups[g]);
        if (c->groups[g].number == 0) { /* the others have those of the first one */
            free(c->groups[g].order);
            free(c->groups[g].arrays);
        }
        free(c->groups[g].numbers);
        free((void *)c->groups[g].index);
        free(c->groups[g].present);
        free(c->groups[g].more);
        free(c->groups[g].hyper);
        free(c->groups[g].buffers);
    }
    for (int64_t i = 0; i < c->n; i++) {
        free(c->members[i].shape);
        free(c->members[i].copy);
    }
    free(c->groups);
    free(c->first_group);
    free(c->host);
    free(c->members);
    free(c);
    return status;
}

static optgen_status check_request(const spec *s, const void *tensors, int64_t n, const request *r, const double *hyper)
{
    if (n < 0 || n > MOST_TENSORS)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %lld tensors; there can be 0 to 2^20", s->name, (long long)n);
    if (!hyper || (n && !tensors))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is NULL", s->name, hyper ? "tensors" : "params");
    if (r->dtype < 0 || r->dtype > OPTGEN_BFLOAT16)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: options.dtype is %d, which is no optgen_dtype", s->name, (int)r->dtype);
    if (dtype_index[r->dtype] < 0)
        return fail(OPTGEN_NOT_BUILT,
                    "%s: this library was not built for %s, which options.dtype is; build it with --dtype "
                    "%s", s->name, dtype_names[r->dtype], dtype_names[r->dtype]);
    if (level() < 0)
        return fail(OPTGEN_BAD_CPU, "%s: this CPU lacks instructions of %s, which this library was built for", s->name,
                    level_names[0]);
    const optgen_status status = check_device(s, r);
    return status ? status : check_hyper(s, hyper, 0);
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
    const size_t each = sizeof(member) + 8 * ((size_t)s->n_hypers + 1) + sizeof(void *) * (size_t)s->n_inputs +
                        4 * (size_t)s->n_flags;
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
    c->members = (member *)block;
    c->hyper = (double *)(c->members + n);
    c->t = (int64_t *)(c->hyper + count * (size_t)s->n_hypers);
    int64_t *const state_bytes = c->t + n;
    void **const state_places = (void **)(state_bytes + states);
    c->inputs = (const void **)(state_places + states);
    c->flags = (int32_t *)(c->inputs + n * s->n_inputs);
    for (int64_t k = 0; k < n * s->n_flags; k++) {
        const int32_t *const own = r->flags_each[k % s->n_flags];
        c->flags[k] = own ? own[k / s->n_flags] : r->flags[k % s->n_flags];
    }
    for (int64_t i = 0; i < n && !*status; i++) {
        c->members[i].is_sparse = r->row_sparse && r->row_sparse[i];
        c->has_sparse |= c->members[i].is_sparse;
        c->members[i].states = state_places + i * s->n_states;
        c->members[i].state_bytes = state_bytes + i * s->n_states;
        *status = take(c, (const tensor *)((const char *)tensors + (size_t)i * stride), i, hyper, is_sized);
    }
    if (!*status && !is_sized)
        *status = open_device(c, r);
    if (!*status && !is_sized)
        *status = check_memory(c, r->memory, r->memory_bytes, NULL);
    if (!*status)
        *status = make_groups(c);
    if (!*status) {
        fill_hyper(c); /* the sizes of workspaces follow from those of tensors, which are there too */
        return c;
    }
    (void)give_back(c);
    return NULL;
}
