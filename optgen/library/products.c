/* Products of matrices, by code of optgen or by the program's BLAS. */

#if defined(OPTGEN_BLAS)
#if !defined(OPTGEN_BLAS_INT)
#define OPTGEN_BLAS_INT int
#endif
#if !defined(OPTGEN_BLAS_NAME)
#define OPTGEN_BLAS_NAME(name) name
#endif
enum { BLAS_ROW_MAJOR = 101, BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112 };
void OPTGEN_BLAS_NAME(cblas_sgemm)(int order, int trans_a, int trans_b, OPTGEN_BLAS_INT m, OPTGEN_BLAS_INT n,
                                   OPTGEN_BLAS_INT k, float alpha, const float *a, OPTGEN_BLAS_INT lda, const float *b,
                                   OPTGEN_BLAS_INT ldb, float beta, float *c, OPTGEN_BLAS_INT ldc);
void OPTGEN_BLAS_NAME(cblas_dgemm)(int order, int trans_a, int trans_b, OPTGEN_BLAS_INT m, OPTGEN_BLAS_INT n,
                                   OPTGEN_BLAS_INT k, double alpha, const double *a, OPTGEN_BLAS_INT lda,
                                   const double *b, OPTGEN_BLAS_INT ldb, double beta, double *c, OPTGEN_BLAS_INT ldc);
#endif

/* The lengths of op(x) for an operand x. */
static inline int64_t rows_of(const member *m, const operand *x) { return length_of(m, x->axes[x->transposed]); }

static inline int64_t cols_of(const member *m, const operand *x) { return length_of(m, x->axes[1 - x->transposed]); }

static inline void *at_operand(const context *c, const group *first, const operand *x)
{
    return address_of(c, first, 0, x->role, x->number, NULL);
}

static int64_t divided_up(int64_t x, int64_t by) { return (x + by - 1) / by; }

/* Runs a task whose work is so many additions of elements. */
static void share(const group *g, optgen_task task, const void *argument, int64_t work)
{
    if (g->step.parallel && work >= MIN_SHARED_ELEMENTS)
        g->step.parallel(g->step.pool, task, argument, work);
    else
        task(argument, 0, 1);
}

static int is_wide(const group *g) { return g->program->is_wide; }

/* Sets lengths, transposes, and how many tasks there are; how many bytes a line of a panel has. */
static void plan_product(const product_code *code, product_fields *f, int64_t batch, int shared)
{
    f->panels_b = divided_up(divided_up(f->n, code->columns) * code->columns, code->width);
    f->panels_a = shared ? f->panels_b : divided_up(f->m, code->width);
    f->groups_a = shared ? 0 : divided_up(f->panels_a, PANEL_GROUP);
    f->groups_b = divided_up(f->panels_b, PANEL_GROUP);
    const int64_t along = divided_up(f->m, TASK_EDGE), across = divided_up(f->n, TASK_EDGE);
    f->groups = batch * (f->groups_a + f->groups_b);
    f->blocks = batch * (f->symmetric ? along * (along + 1) / 2 : along * across);
    f->stripes = batch * along;
}

/* What a product is of, without addresses. */
static product_fields product_of(const group *first, const member *m, const call *of)
{
    const operand *const a = &of->operands[0], *const b = &of->operands[1];
    product_fields f = {0};
    const product_code *const code = &products[level()][is_wide(first)];
    f.m = rows_of(m, a);
    f.k = cols_of(m, a);
    f.n = cols_of(m, b);
    f.trans_a = a->transposed;
    f.trans_b = b->transposed;
    f.symmetric = of->symmetric;
    /* op(b) is the transpose of op(a), and has the same panels */
    const int shared = a->role == b->role && a->number == b->number && a->transposed != b->transposed;
    plan_product(code, &f, m->matrices, shared);
    return f;
}

static int64_t product_bytes(const group *first, const member *m, const call *of)
{
#if defined(OPTGEN_BLAS)
    (void)first, (void)m, (void)of, (void)product_of;
    return 0;
#else
    const product_fields f = product_of(first, m, of);
    const product_code *const code = &products[level()][is_wide(first)];
    const int64_t panels = f.panels_b + (f.groups_a ? f.panels_a : 0);
    return m->matrices * f.k * code->width * (is_wide(first) ? 8 : 4) * panels;
#endif
}

#if defined(OPTGEN_BLAS)
/* Has what is above the diagonal mirror what is below it. */
static void mirror(void *c, int64_t n, int wide)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (wide)
                ((double *)c)[j * n + i] = ((const double *)c)[i * n + j];
            else
                ((float *)c)[j * n + i] = ((const float *)c)[i * n + j];
}

static void multiply(const group *first, const product_code *code, product_fields *f, int64_t batch, int wide,
                     void *panels)
{
    const int ta = f->trans_a ? BLAS_TRANSPOSED : BLAS_PLAIN, tb = f->trans_b ? BLAS_TRANSPOSED : BLAS_PLAIN;
    const OPTGEN_BLAS_INT m = (OPTGEN_BLAS_INT)f->m, n = (OPTGEN_BLAS_INT)f->n, k = (OPTGEN_BLAS_INT)f->k;
    const OPTGEN_BLAS_INT lda = f->trans_a ? m : k, ldb = f->trans_b ? k : n;
    const int bytes = wide ? 8 : 4;
    (void)panels;
    for (int64_t i = 0; i < batch; i++) {
        const void *const a = (const char *)(uintptr_t)f->a + i * f->m * f->k * bytes;
        const void *const b = (const char *)(uintptr_t)f->b + i * f->k * f->n * bytes;
        void *const to = (char *)(uintptr_t)f->c + i * f->m * f->n * bytes;
        if (wide)
            OPTGEN_BLAS_NAME(cblas_dgemm)(BLAS_ROW_MAJOR, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, to, n);
        else
            OPTGEN_BLAS_NAME(cblas_sgemm)(BLAS_ROW_MAJOR, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, to, n);
        if (f->symmetric)
            mirror(to, f->m, wide);
    }
    if (f->z)
        share(first, code->finish, f, batch * f->m * f->n);
}
#else
static void multiply(const group *first, const product_code *code, product_fields *f, int64_t batch, int wide,
                     void *panels)
{
    const int64_t lines = f->groups_a ? f->m + f->n : f->n;
    const int64_t beside = f->groups_a ? batch * f->k * code->width * (wide ? 8 : 4) * f->panels_b : 0;
    f->packed_b = (int64_t)(uintptr_t)panels;
    f->packed_a = f->packed_b + beside;
    share(first, code->pack, f, batch * f->k * lines);
    share(first, code->multiply, f, 2 * batch * f->m * f->n * f->k / FLOPS);
}
#endif

/* target = op(a) op(b), or alpha times it and beta times a third operand. */
static optgen_status run_product(context *c, group *first, const call *of, const double *numbers)
{
    const member *const m = &c->members[first->order[0]];
    const product_code *const code = &products[level()][is_wide(first)];
    product_fields f = product_of(first, m, of);
    const int64_t elements = m->matrices * f.m * f.n;
    if (!elements)
        return OPTGEN_OK;
    f.a = (int64_t)(uintptr_t)at_operand(c, first, &of->operands[0]);
    f.b = (int64_t)(uintptr_t)at_operand(c, first, &of->operands[1]);
    f.c = (int64_t)(uintptr_t)at_operand(c, first, &of->target);
    if (of->n_operands == 3) {
        f.z = (int64_t)(uintptr_t)at_operand(c, first, &of->operands[2]);
        f.alpha = is_wide(first) ? numbers[0] : (double)(float)numbers[0];
        f.beta = is_wide(first) ? numbers[1] : (double)(float)numbers[1];
    }
    if (f.k) {
        multiply(first, code, &f, m->matrices, is_wide(first), first->for_calls);
        return OPTGEN_OK;
    }
    memset((void *)(uintptr_t)f.c, 0, (size_t)(elements * (is_wide(first) ? 8 : 4)));
    if (f.z)
        share(first, code->finish, &f, elements);
    return OPTGEN_OK;
}

static inline int64_t no_bytes(const group *first, const member *m, const call *of)
{
    (void)first, (void)m, (void)of;
    return 0;
}

/* Ones on the diagonal, and zeros elsewhere. */
static inline optgen_status run_identity(context *c, group *first, const call *of, const double *numbers)
{
    const member *const m = &c->members[first->order[0]];
    const int64_t rows = length_of(m, of->target.axes[0]), cols = length_of(m, of->target.axes[1]);
    void *const to = at_operand(c, first, &of->target);
    (void)numbers;
    for (int64_t i = 0; i < m->matrices * rows * cols; i++) {
        const double x = i % (rows * cols) / cols == i % cols;
        if (is_wide(first))
            ((double *)to)[i] = x;
        else
            ((float *)to)[i] = (float)x;
    }
    return OPTGEN_OK;
}
