/* The tensors and hyper-parameters of a context, checked. */

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

/* Adds to the text of an error that was told. */
static optgen_status fail_further(optgen_status status, const char *more)
{
    const size_t length = strlen(error_text);
    snprintf(error_text + length, sizeof error_text - length, "%s", more);
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
        if (p->whole && (x != floor(x) || isinf(x)))
            return fail(OPTGEN_BAD_HYPER, "%s: '%s' must be a whole number, not %g", s->name, p->name, x);
        if (!isnan(p->fixed) && x != p->fixed)
            return fail(OPTGEN_BAD_HYPER,
                        "%s: '%s' is the size of a state or of a loop, and this library was built for %g, "
                        "not for %g; build it with --set %s=%g", s->name, p->name, p->fixed, x, p->name, x);
    }
    return OPTGEN_OK;
}

/* Copies hyper-parameters, with NaN for those that are off at 0. */
static void copy_hyper(const spec *s, double *to, const double *from)
{
    for (int32_t k = 0; k < s->n_hypers; k++)
        to[k] = s->hypers[k].zero_off && from[k] == 0 ? (double)NAN : from[k] + 0.0; /* 0 for -0 */
}

static int64_t length_of(const member *m, int32_t axis)
{
    return axis == AXIS_ROWS ? m->rows : axis == AXIS_COLS ? m->cols : axis == AXIS_NONE ? 1 : axis;
}

/* The sizes of the matrices with these axes. */
static dimensions sizes_of(const member *m, const int32_t *axes)
{
    const int64_t rows = length_of(m, axes[0]), cols = length_of(m, axes[1]);
    const int is_batch = m->is_batch;
    if (axes[0] == AXIS_ROWS && axes[1] == AXIS_COLS)
        return m->of;
    return (dimensions){is_batch ? 3 : 2, (double)(m->matrices * rows * cols), (double)rows, (double)cols,
                        cols ? (double)m->matrices : 0};
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
                const member *const m = &c->members[i];
                const int of_tensor = source < HYPER_MATRICES;
                const dimensions of = of_tensor ? m->of : sizes_of(m, own->domain);
                const double sizes[] = {of.rank, of.size, of.rows, of.cols, of.matrices};
                const int32_t number = -1 - source + (of_tensor ? HYPER_OF_TENSOR : 0);
                own->hyper[k * n + j] = source >= 0          ? c->hyper[i * c->spec->n_hypers + source]
                                        : source > HYPER_STEP ? sizes[number]
                                                              : 0;
            }
        }
    }
}

/* ---------------------------------------------------------------- tensors */

static int32_t bytes_of(int32_t dtype) { return dtype == OPTGEN_FLOAT64 ? 8 : dtype == OPTGEN_FLOAT32 ? 4 : 2; }

/* Sets the shape and the sizes of a tensor. */
static optgen_status measure(const spec *s, member *m, const tensor *t, int64_t i)
{
    if (t->rank < 0 || t->rank > MOST_DIMENSIONS || (t->rank && !t->shape))
        return t->rank < 0 || t->rank > MOST_DIMENSIONS
                   ? fail(OPTGEN_BAD_SHAPE, "%s: tensors[%lld].rank must be from 0 to %d, not %lld", s->name,
                          (long long)i, MOST_DIMENSIONS, (long long)t->rank)
                   : fail(OPTGEN_BAD_SHAPE, "%s: tensors[%lld].shape is NULL", s->name, (long long)i);
    int64_t bound = 1; /* the product of all lengths but zeros */
    m->rows = m->cols = m->matrices = m->size = 1;
    m->length = t->rank ? t->shape[0] : 1;
    const int64_t batch = s->last_two && t->rank >= 2 ? t->rank - 2 : 0;
    m->is_batch = batch > 0;
    for (int64_t k = 0; k < t->rank; k++) {
        const int64_t length = t->shape[k];
        if (length < 0 || (length && bound > MOST_ELEMENTS / length))
            return fail(OPTGEN_BAD_SHAPE, "%s: tensors[%lld].shape[%lld] is %lld", s->name, (long long)i, (long long)k,
                        (long long)length);
        bound *= length ? length : 1;
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

/* Whether a tensor is updated where its gradient has rows, and nowhere else. */
static int is_lazy(const context *c, const member *m)
{
    return m->is_sparse && c->spec->phases == 1 && !(c->spec->last_two && m->of.rank > 2)
        && kernel_of(c, 0, m)->is_lazy;
}

/* An error if a tensor cannot have row-sparse gradients. */
static optgen_status check_sparse(const spec *s, const member *m, int64_t i)
{
    if (m->is_sparse && m->of.rank < 1)
        return fail(OPTGEN_BAD_SHAPE,
                    "%s: tensors[%lld] is a number, which has no rows, and options.row_sparse says that "
                    "its gradients have some", s->name, (long long)i);
    if (m->is_sparse && s->small_differ)
        return fail(OPTGEN_NOT_BUILT,
                    "%s: tensors[%lld] has row-sparse gradients, and states in codes, whose blocks run on "
                    "from row to row; build the library without --storage", s->name, (long long)i);
    return OPTGEN_OK;
}

/* Finds the variant of a tensor, and refuses one that was not built. */
static optgen_status choose(const context *c, member *m, const double *hyper, int64_t i)
{
    const spec *const s = c->spec;
    const char *why = NULL;
    const int32_t *const flags = c->flags + i * s->n_flags;
    member tried = *m;
    int32_t variant = tried.variant = s->choose(hyper, flags, m->is_sparse, &m->of, &why);
    const int32_t dense = m->is_sparse ? s->choose(hyper, flags, 0, &m->of, &why) : variant;
    if (variant >= 0 && m->is_sparse && kernel_of(c, 0, &tried) && !is_lazy(c, &tried)) /* it updates all rows anyway */
        variant = dense;
    if (variant < 0)
        return fail(OPTGEN_BAD_HYPER, "%s: tensors[%lld]: %s", s->name, (long long)i, why);
    if (m->is_chosen && variant != m->variant)
        return fail(OPTGEN_BAD_HYPER,
                    "%s: tensors[%lld]: these hyper-parameters need the variant %s, and the context was "
                    "made with %s; make another one", s->name, (long long)i, s->variants_text[variant],
                    s->variants_text[m->variant]);
    m->variant = variant;
    m->needs_rows = variant != dense;
    m->is_chosen = 1;
    for (int32_t section = 0; section < s->sections; section++)
        if (!kernel_of(c, section, m))
            return fail(OPTGEN_NOT_BUILT,
                        "%s: tensors[%lld] needs the variant %s, which this library was built without; "
                        "build it with --all, or --set FLAG=VALUE", s->name, (long long)i, s->variants_text[variant]);
    return OPTGEN_OK;
}

/* Takes a tensor. With `is_sized` only its shape counts, and what it points to may be NULL. A gradient may come
   later. */
static optgen_status take(context *c, const tensor *t, int64_t i, const double *hyper, int is_sized)
{
    const spec *const s = c->spec;
    const void *const *const inputs = (const void *const *)(t + 1);
    member *const m = &c->members[i];
    optgen_status status = measure(s, m, t, i);
    if (!status)
        status = check_sparse(s, m, i);
    if (status)
        return status;
    m->present = -1;
    m->data = t->data;
    m->grad = t->grad;
    if (m->size && !t->data && !is_sized)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: tensors[%lld].data is NULL", s->name, (long long)i);
    for (int32_t k = 0; k < s->n_inputs; k++) {
        c->inputs[i * s->n_inputs + k] = inputs[k];
        if (m->size && !inputs[k] && !is_sized)
            return fail(OPTGEN_BAD_ARGUMENT, "%s: tensors[%lld].%s is NULL", s->name, (long long)i, s->inputs[k]);
    }
    copy_hyper(s, c->hyper + i * s->n_hypers, hyper);
    return choose(c, m, c->hyper + i * s->n_hypers, i);
}
