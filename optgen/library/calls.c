/* The functions of a library, for any of its specs. */

/* ---------------------------------------------------------------- contexts that are there */

static atomic_flag registry_lock = ATOMIC_FLAG_INIT;
enum { BUCKETS = 1024 };
static context *registry[BUCKETS]; /* lists of those whose addresses have the same hash */

static context **bucket_of(const void *address)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15);
    return &registry[mixed >> 32 & (BUCKETS - 1)];
}

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&registry_lock, memory_order_acquire))
        optgen_spin_hint();
}

static void unlock(void) { atomic_flag_clear_explicit(&registry_lock, memory_order_release); }

/* So that a forked child finds the lock open. */
static void hold_while_forking(void)
{
#if defined(IS_POSIX)
    static atomic_flag is_held = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_held))
        pthread_atfork(lock, unlock, unlock);
#endif
}

/* The context of a spec at an address, which may be that of memory that is no longer there; NULL and an error if there
   is none. With `taken`, it is no longer there from now on. */
static context *context_at(const spec *s, const void *address, int taken)
{
    lock();
    context **place = bucket_of(address);
    while (*place && ((const void *)*place != address || (*place)->spec != s))
        place = &(*place)->next;
    context *const c = *place;
    if (c && taken)
        *place = c->next;
    unlock();
    if (!c)
        fail(OPTGEN_NO_CONTEXT, "%s: there is no such context: it is NULL, was destroyed, or is of another spec",
             s->name);
    return c;
}

/* ---------------------------------------------------------------- what programs call */

static optgen_status memory_bytes(int64_t *bytes, const spec *s, const void *tensors, size_t stride, int64_t n,
                                  const request *r, const double *hyper)
{
    if (!bytes)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: bytes is NULL", s->name);
    optgen_status status;
    context *const c = planned(s, tensors, stride, n, r, hyper, 1, &status);
    if (!c)
        return status;
    *bytes = (int64_t)memory_of(c).device;
    return give_back(c);
}

static optgen_status create(void **out, const spec *s, const void *tensors, size_t stride, int64_t n, const request *r,
                            const double *hyper)
{
    if (!out)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: the place for the context is NULL", s->name);
    *out = NULL;
    optgen_status status;
    context *const c = planned(s, tensors, stride, n, r, hyper, 0, &status);
    if (!c)
        return status;
    status = make_states(c, r);
    if (!status)
        status = ready_device(c, r);
    if (status) {
        (void)give_back(c);
        return status;
    }
    set_all_pointers(c);
    hold_while_forking();
    lock();
    c->next = *bucket_of(c);
    *bucket_of(c) = c;
    unlock();
    *out = c;
    return OPTGEN_OK;
}

static optgen_status destroy(const spec *s, void *address)
{
    context *const c = address ? context_at(s, address, 1) : NULL;
    if (c)
        return give_back(c);
    return address ? OPTGEN_NO_CONTEXT : OPTGEN_OK;
}

static int is_same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

/* An error if hyper-parameters of a tensor differ from those of the first one where tensors share values. */
static optgen_status check_shared(const spec *s, const double *own, const double *first)
{
    for (int32_t k = 0; s->joins && k < s->n_hypers; k++)
        if (!s->hypers[k].per_tensor && !is_same(own[k], first[k]))
            return fail(OPTGEN_BAD_HYPER, "%s: tensors share values, so '%s' must be one number for all of them",
                        s->name, s->hypers[k].name);
    return OPTGEN_OK;
}

/* Takes hyper-parameters over: those of all tensors, or `stride` apart those of each. Nothing changes after an
   error. */
static optgen_status set_hyper(context *c, const double *hyper, int64_t stride, int is_step)
{
    const spec *const s = c->spec;
    const size_t each = (size_t)s->n_hypers;
    double values[MOST_HYPERS], first[MOST_HYPERS];
    int is_new = 0;
    optgen_status status = c->n ? OPTGEN_OK : check_hyper(s, hyper, is_step);
    for (int64_t i = 0; i < c->n && !status; i++) {
        const double *const given = hyper + i * stride;
        if (i == 0 || stride)
            status = check_hyper(s, given, is_step);
        copy_hyper(s, values, given);
        if (i == 0)
            copy_hyper(s, first, given);
        if (!status && stride)
            status = check_shared(s, values, first);
        if (status || memcmp(values, c->hyper + (size_t)i * each, 8 * each) == 0)
            continue;
        is_new = 1;
        status = choose(c, &c->members[i], values, i);
    }
    for (int64_t i = 0; is_new && !status && i < c->n; i++)
        copy_hyper(s, c->hyper + (size_t)i * each, hyper + i * stride);
    if (is_new && !status)
        fill_hyper(c);
    return status;
}

/* An error if a count is none, or above `most`. */
static optgen_status check_counts(const context *c, int64_t most)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->t[i] < 0 || c->t[i] > most)
            return fail(OPTGEN_BAD_ARGUMENT, "%s: the count of tensors[%lld] is %lld; it is from 0 to 2^53",
                        c->spec->name, (long long)i, (long long)c->t[i]);
    return OPTGEN_OK;
}

/* An error if a gradient is missing, or a count is none. */
static optgen_status check_tensors(const context *c)
{
    const spec *const s = c->spec;
    for (int64_t i = 0; i < c->n; i++) {
        if (s->reads_grad && c->members[i].size && !c->members[i].grad)
            return fail(OPTGEN_BAD_ARGUMENT, "%s: tensors[%lld].grad is NULL, and no other gradients were set", s->name,
                        (long long)i);
        if (c->members[i].needs_rows && c->members[i].present < 0)
            return fail(OPTGEN_BAD_ARGUMENT,
                        "%s: tensors[%lld] was made for row-sparse gradients (options.row_sparse), of "
                        "which this spec has other equations than of dense ones: set its rows", s->name, (long long)i);
    }
    return check_counts(c, MOST_UPDATES - 1);
}

/* Whether a phase of a step is due, or for another function, `what`, the first one; an error if not. */
static optgen_status check_due(const context *c, int32_t phase, const char *what)
{
    const spec *const s = c->spec;
    const char *const due = s->phase_names[c->due];
    if (phase == c->due)
        return OPTGEN_OK;
    if (what)
        return fail(OPTGEN_BAD_PHASE, "%s: the step is not complete: %s_step_%s is due before %s_%s", s->name, s->name,
                    due, s->name, what);
    return fail(OPTGEN_BAD_PHASE, "%s: %s_step_%s is due, and not %s_step_%s", s->name, s->name, due, s->name,
                s->phase_names[phase]);
}

static optgen_status step(const spec *s, void *address, const double *hyper, int64_t stride, int32_t phase)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!hyper)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: params is NULL", s->name);
    optgen_status status = check_due(c, phase, NULL);
    if (!status)
        status = check_tensors(c);
    if (!status)
        status = set_hyper(c, hyper, stride, 1);
    if (!status)
        status = ready_rows(c);
    if (!status)
        status = run(c, phase, phase > 0, phase == 0);
    if (!status)
        c->due = (phase + 1) % s->phases;
    return status;
}

/* An error if the kernels of a section read something that each step is given, and that is not there. */
static inline optgen_status check_read(const context *c, int32_t section, const double *hyper)
{
    for (int64_t g = c->first_group[section]; g < c->first_group[section + 1]; g++)
        for (int32_t k = 0; k < c->groups[g].kernel->n_hyper; k++) {
            const int32_t source = c->groups[g].kernel->hyper[k];
            if (source >= 0 && c->spec->hypers[source].given && isnan(hyper[source]))
                return fail(OPTGEN_BAD_HYPER, "%s: '%s' must be a number, not NaN", c->spec->name,
                            c->spec->hypers[source].name);
        }
    return OPTGEN_OK;
}

/* The weights to evaluate with, into `out`: as many pointers as tensors. Neither states nor counts change. */
static inline optgen_status evaluate(const spec *s, void *address, const double *hyper, void *const *out)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!hyper || (c->n && !out))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is NULL", s->name, hyper ? "out" : "params");
    for (int64_t i = 0; i < c->n; i++)
        if (c->members[i].size && !out[i])
            return fail(OPTGEN_BAD_ARGUMENT, "%s: out[%lld] is NULL", s->name, (long long)i);
    optgen_status status = check_due(c, 0, "evaluate");
    if (!status)
        status = check_memory(c, c->memory, c->memory_bytes, out);
    if (!status)
        status = check_read(c, s->phases, hyper);
    if (!status)
        status = set_hyper(c, hyper, 0, 0);
    if (status)
        return status;
    set_pointers(c, s->phases, out);
    return run(c, s->phases, 0, 0);
}

/* Has the next steps read other gradients, of the same shapes. */
static optgen_status set_gradients(const spec *s, void *address, const void *const *grads)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (c->n && !grads)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: grads is NULL", s->name);
    for (int64_t i = 0; i < c->n; i++)
        if (s->reads_grad && c->members[i].size && !grads[i] && c->members[i].present < 0)
            return fail(OPTGEN_BAD_ARGUMENT, "%s: grads[%lld] is NULL", s->name, (long long)i);
    for (int64_t i = 0; i < c->n; i++) {
        member *const m = &c->members[i];
        m->grad_before = m->grad;
        m->present_before = m->present;
        if (!grads[i] && m->present >= 0) /* it goes on with its rows */
            continue;
        m->grad = grads[i];
        m->present = -1;
    }
    const optgen_status status = check_memory(c, c->memory, c->memory_bytes, NULL);
    for (int64_t i = 0; status && i < c->n; i++) {
        c->members[i].grad = c->members[i].grad_before;
        c->members[i].present = c->members[i].present_before;
    }
    set_all_pointers(c);
    return status;
}

/* Has the next steps read a gradient of some rows of tensor i. */
static inline optgen_status set_rows(const spec *s, void *address, int64_t i, const void *values, const int64_t *rows,
                                     int64_t count)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (i < 0 || i >= c->n)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: there is no tensor %lld of %lld", s->name, (long long)i, (long long)c->n);
    member *const m = &c->members[i];
    if (!m->is_sparse)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: options.row_sparse did not say that tensors[%lld] has such gradients",
                    s->name, (long long)i);
    optgen_status status = check_rows(s, m, i, values, rows, count);
    if (status)
        return status;
    if (!is_lazy(c, m) && !m->copy)
        m->copy = malloc((size_t)(m->size * bytes_of(c->dtype)) + 1);
    if (!is_lazy(c, m) && !m->copy)
        return no_memory(s);
    const member before = *m;
    m->grad = count && m->size ? values : m->data; /* of no rows nothing is read */
    m->index = rows;
    m->present = count;
    status = check_memory(c, c->memory, c->memory_bytes, NULL);
    if (status)
        *m = before;
    set_all_pointers(c);
    return status;
}

/* Where a state of a tensor is, and how many bytes it has. */
static optgen_status state(const spec *s, void *address, int64_t i, const char *name, void **data, int64_t *bytes)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!name || !data || !bytes)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is NULL", s->name, !name ? "name" : !data ? "data" : "bytes");
    if (i < 0 || i >= c->n)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: there is no tensor %lld of %lld", s->name, (long long)i, (long long)c->n);
    for (int32_t k = 0; k < s->n_states; k++)
        if (strcmp(s->states[k], name) == 0 && c->members[i].states[k]) {
            *data = c->members[i].states[k];
            *bytes = c->members[i].state_bytes[k];
            return OPTGEN_OK;
        }
    return fail(OPTGEN_BAD_ARGUMENT, "%s: tensors[%lld] has no state '%s'", s->name, (long long)i, name);
}

/* The counts of updates, one for each tensor, which may be set. */
static int64_t *counts(const spec *s, void *address)
{
    context *const c = context_at(s, address, 0);
    return c ? c->t : NULL;
}
