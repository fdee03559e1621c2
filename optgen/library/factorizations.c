/* Factorizations of matrices by LAPACK, with Fortran's interface: a program links it. Memory here is row-major, and
   that of LAPACK column-major: it sees the transpose of each matrix. */

#if !defined(OPTGEN_LAPACK_INT)
#define OPTGEN_LAPACK_INT int /* int64_t where LAPACK was compiled so */
#endif
#if !defined(OPTGEN_LAPACK_NAME)
#define OPTGEN_LAPACK_NAME(name) name##_
#endif
typedef OPTGEN_LAPACK_INT lapack_int;

/* Lengths of strings come last. */
#define LAPACK_ROUTINES(letter, real)                                                                                  \
    void OPTGEN_LAPACK_NAME(letter##syevd)(const char *, const char *, const lapack_int *, real *, const lapack_int *, \
                                           real *, real *, const lapack_int *, lapack_int *, const lapack_int *,       \
                                           lapack_int *, size_t, size_t);                                              \
    void OPTGEN_LAPACK_NAME(letter##gelqf)(const lapack_int *, const lapack_int *, real *, const lapack_int *, real *, \
                                           real *, const lapack_int *, lapack_int *);                                  \
    void OPTGEN_LAPACK_NAME(letter##orglq)(const lapack_int *, const lapack_int *, const lapack_int *, real *,         \
                                           const lapack_int *, const real *, real *, const lapack_int *, lapack_int *);\
    void OPTGEN_LAPACK_NAME(letter##gesv)(const lapack_int *, const lapack_int *, real *, const lapack_int *,          \
                                          lapack_int *, real *, const lapack_int *, lapack_int *);                     \
    void OPTGEN_LAPACK_NAME(letter##gesdd)(const char *, const lapack_int *, const lapack_int *, real *,               \
                                           const lapack_int *, real *, real *, const lapack_int *, real *,             \
                                           const lapack_int *, real *, const lapack_int *, lapack_int *, lapack_int *, \
                                           size_t);
LAPACK_ROUTINES(s, float)
LAPACK_ROUTINES(d, double)

/* The same routine for float64 or float32. */
#define LAPACK(wide, name, ...)                                                                                        \
    do {                                                                                                               \
        if (wide)                                                                                                      \
            OPTGEN_LAPACK_NAME(d##name)(__VA_ARGS__);                                                                  \
        else                                                                                                           \
            OPTGEN_LAPACK_NAME(s##name)(__VA_ARGS__);                                                                  \
    } while (0)

enum { LAPACK_BLOCK = 64 }; /* the most columns that LAPACK takes at once, for which it needs memory */

/* The factorization of one matrix of a call, in float64 if `wide`; its memory is taken from `at` on. */
typedef struct {
    context *context;
    group *first;
    const call *of;
    const member *member;
    const double *numbers;
    int64_t matrix;
    int wide;
    char *at;
} job;

static inline double item(const void *x, int64_t i, int wide)
{
    return wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static inline void set_item(void *x, int64_t i, int wide, double value)
{
    if (wide)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

static void *take_bytes(job *j, int64_t bytes)
{
    void *const found = j->at;
    j->at += (bytes + LINE - 1) / LINE * LINE;
    return found;
}

static void *take_items(job *j, int64_t count) { return take_bytes(j, count * (j->wide ? 8 : 4)); }

static int64_t operand_rows(const job *j, int k) { return rows_of(j->member, &j->of->operands[k]); }

static int64_t operand_cols(const job *j, int k) { return cols_of(j->member, &j->of->operands[k]); }

/* An element of op(x) of operand number k. */
static double operand_item(const job *j, const void *x, int k, int64_t row, int64_t col)
{
    const operand *const own = &j->of->operands[k];
    const int64_t rows = operand_rows(j, k), cols = operand_cols(j, k);
    const int64_t place = own->transposed ? col * rows + row : row * cols + col;
    return item(x, j->matrix * rows * cols + place, is_wide(j->first));
}

/* A copy of op(x) of operand number k, or of its transpose. */
static void *load_operand(job *j, int k, int turned)
{
    const void *const x = at_operand(j->context, j->first, &j->of->operands[k]);
    const int64_t rows = operand_rows(j, k), cols = operand_cols(j, k);
    void *const to = take_items(j, rows * cols);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            set_item(to, turned ? c * rows + r : r * cols + c, j->wide, operand_item(j, x, k, r, c));
    return to;
}

/* Sets an element of the result, which has so many rows and columns. */
static void set_result(const job *j, int64_t rows, int64_t cols, int64_t row, int64_t col, double value)
{
    void *const to = at_operand(j->context, j->first, &j->of->target);
    const int64_t place = j->of->turned ? col * rows + row : row * cols + col;
    set_item(to, j->matrix * rows * cols + place, is_wide(j->first), value);
}

/* -1 if the largest of `count` elements that are `stride` apart, the first of several, is negative; else 1. */
static double sign_of(const void *x, int64_t count, int64_t stride, int wide)
{
    double largest = 0;
    for (int64_t k = 0; k < count; k++) {
        const double own = item(x, k * stride, wide);
        largest = fabs(own) > fabs(largest) ? own : largest;
    }
    return largest < 0 ? -1 : 1;
}

/* Makes the largest absolute value lie in [1/2, 1), and returns by which power of 2 it was divided. */
static int scale(void *x, int64_t count, int wide)
{
    double largest = 0;
    int exponent;
    for (int64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(item(x, k, wide)));
    (void)frexp(largest, &exponent);
    for (int64_t k = 0; k < count; k++)
        set_item(x, k, wide, ldexp(item(x, k, wide), -exponent));
    return exponent;
}

/* ---------------------------------------------------------------- the functions: 0, or LAPACK's status */

/* The eigenvalues of a symmetric matrix, ascending, and its eigenvectors as rows in its place. */
static lapack_int eigen(job *j, void *rows, void *values, int64_t order)
{
    const lapack_int n = (lapack_int)order, edge = n ? n : 1;
    const lapack_int size = (lapack_int)(1 + 6 * order + 2 * order * order), integers = (lapack_int)(3 + 5 * order);
    void *const work = take_items(j, size);
    lapack_int *const whole = take_bytes(j, (int64_t)sizeof(lapack_int) * integers);
    lapack_int status = 0;
    LAPACK(j->wide, syevd, "V", "U", &n, rows, &edge, values, work, &size, whole, &integers, &status, 1, 1);
    return status;
}

static inline lapack_int eigenvectors(job *j)
{
    const int64_t n = operand_rows(j, 0);
    void *const rows = load_operand(j, 0, 0);
    const lapack_int status = eigen(j, rows, take_items(j, n), n);
    for (int64_t k = 0; k < n && !status; k++) {
        const char *const own = (const char *)rows + k * n * (j->wide ? 8 : 4);
        const double sign = sign_of(own, n, 1, j->wide);
        for (int64_t i = 0; i < n; i++)
            set_result(j, n, n, i, k, sign * item(own, i, j->wide));
    }
    return status;
}

/* max(l, e, t)^(-1/p) for the eigenvalues l = values * 2^exponent; e is 8 u L, where L is the largest and u the
   distance from 1 to the next number; t is the smallest normal number. */
static void inverse_roots(void *values, int64_t n, double p, int exponent, int wide)
{
    const double unit = wide ? 0x1p-52 : 0x1p-23, tiny = wide ? 0x1p-1022 : 0x1p-126;
    double largest = 0;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, item(values, k, wide));
    const double least = fmax(8 * unit * largest, ldexp(tiny, -exponent));
    for (int64_t k = 0; k < n; k++)
        set_item(values, k, wide, pow(fmax(item(values, k, wide), least), -1 / p) * pow(2, -exponent / p));
}

static inline lapack_int inverse_root(job *j)
{
    const int64_t n = operand_rows(j, 0), bytes = j->wide ? 8 : 4;
    char *const rows = load_operand(j, 0, 0);
    void *const values = take_items(j, n), *const result = take_items(j, n * n);
    const int exponent = scale(rows, n * n, j->wide);
    const lapack_int status = eigen(j, rows, values, n);
    if (status || !n)
        return status;
    inverse_roots(values, n, 2 * j->numbers[0], exponent, j->wide);
    for (int64_t k = 0; k < n * n; k++)
        set_item(rows, k, j->wide, item(rows, k, j->wide) * item(values, k / n, j->wide));
    const product_code *const code = &products[level()][j->wide];
    product_fields f = {.m = n, .n = n, .k = n, .trans_a = 1, .symmetric = 1};
    f.a = f.b = (int64_t)(uintptr_t)rows;
    f.c = (int64_t)(uintptr_t)result;
    plan_product(code, &f, 1, 1);
    multiply(j->first, code, &f, 1, j->wide, take_bytes(j, n * code->width * bytes * f.panels_b));
    for (int64_t k = 0; k < n * n; k++)
        set_result(j, n, n, k / n, k % n, item(result, k, j->wide));
    return 0;
}

/* Q of a = Q R, whose R has no negative number on its diagonal. */
static inline lapack_int orthonormal(job *j)
{
    const int64_t m = operand_rows(j, 0), n = operand_cols(j, 0);
    const lapack_int rows = (lapack_int)m, cols = (lapack_int)n, edge = n ? cols : 1, size = LAPACK_BLOCK * edge;
    void *const x = load_operand(j, 0, 0), *const tau = take_items(j, n), *const work = take_items(j, size);
    void *const signs = take_items(j, n);
    lapack_int status = 0;
    scale(x, m * n, j->wide);
    LAPACK(j->wide, gelqf, &cols, &rows, x, &edge, tau, work, &size, &status);
    for (int64_t k = 0; k < n; k++)
        set_item(signs, k, j->wide, item(x, k * n + k, j->wide) < 0 ? -1 : 1);
    LAPACK(j->wide, orglq, &cols, &rows, &cols, x, &edge, tau, work, &size, &status);
    for (int64_t k = 0; k < m * n && !status; k++)
        set_result(j, m, n, k / n, k % n, item(signs, k % n, j->wide) * item(x, k, j->wide));
    return status;
}

/* x of a x = b. */
static inline lapack_int solve(job *j)
{
    const int64_t order = operand_rows(j, 0), sides = operand_cols(j, 1);
    const lapack_int n = (lapack_int)order, k = (lapack_int)sides, edge = n ? n : 1;
    void *const a = load_operand(j, 0, 1), *const x = load_operand(j, 1, 1);
    lapack_int *const pivots = take_bytes(j, (int64_t)sizeof(lapack_int) * order);
    lapack_int status = 0;
    LAPACK(j->wide, gesv, &n, &k, a, &edge, pivots, x, &edge, &status);
    for (int64_t i = 0; i < order * sides && !status; i++)
        set_result(j, order, sides, i % order, i / order, item(x, i, j->wide));
    return status;
}

/* v of a = u diag(s) v^T: of each column of u the element with the largest absolute value is positive. */
static inline lapack_int right_singular_vectors(job *j)
{
    const int64_t m = operand_rows(j, 0), n = operand_cols(j, 0), r = m < n ? m : n;
    const lapack_int rows = (lapack_int)m, cols = (lapack_int)n, edge = n ? cols : 1, edge_of_u = r ? (lapack_int)r : 1;
    const lapack_int size = (lapack_int)(4 * r * r + 7 * r + LAPACK_BLOCK * (m + n) + 1);
    void *const a = load_operand(j, 0, 0), *const u = take_items(j, m * r), *const s = take_items(j, r);
    void *const v = take_items(j, r * n), *const work = take_items(j, size);
    lapack_int *const whole = take_bytes(j, (int64_t)sizeof(lapack_int) * 8 * r);
    lapack_int status = 0;
    LAPACK(j->wide, gesdd, "S", &cols, &rows, a, &edge, s, v, &edge, u, &edge_of_u, work, &size, whole, &status, 1);
    for (int64_t k = 0; k < r && !status; k++) {
        const double sign = sign_of((const char *)u + k * (j->wide ? 8 : 4), m, r, j->wide);
        for (int64_t i = 0; i < n; i++)
            set_result(j, n, r, i, k, sign * item(v, k * n + i, j->wide));
    }
    return status;
}

/* ---------------------------------------------------------------- calls */

static optgen_status not_factorized(const job *j, const char *function, const char *reason)
{
    return fail(OPTGEN_NO_FACTORIZATION, "%s: tensors[%lld]: %s: the matrix of %lld x %lld %s; nothing was updated",
                j->context->spec->name, (long long)j->first->order[0], function, (long long)operand_rows(j, 0),
                (long long)operand_cols(j, 0), reason);
}

/* Makes a call, matrix by matrix. What fails in float32 is tried again in float64. */
static optgen_status factorize(job *j, lapack_int (*function)(job *), const char *name, const char *reason)
{
    for (j->matrix = 0; j->matrix < j->member->matrices; j->matrix++) {
        for (int k = 0; k < j->of->n_operands; k++) {
            const void *const x = at_operand(j->context, j->first, &j->of->operands[k]);
            const int64_t count = operand_rows(j, k) * operand_cols(j, k);
            for (int64_t i = 0; i < count; i++)
                if (!isfinite(item(x, j->matrix * count + i, is_wide(j->first))))
                    return not_factorized(j, name, "has a NaN or an infinity");
        }
        lapack_int status = 1;
        for (j->wide = is_wide(j->first); j->wide < 2 && status; j->wide++) {
            j->at = j->first->for_calls;
            status = function(j);
        }
        if (status)
            return not_factorized(j, name, reason);
    }
    return OPTGEN_OK;
}

/* The memory of any of these functions: arrays of at most so many items of 8 bytes. */
static int64_t factorization_bytes(const group *first, const member *m, const call *of)
{
    const operand *const a = &of->operands[0], *const b = &of->operands[of->n_operands - 1];
    const int64_t rows = rows_of(m, a), cols = cols_of(m, a), n = rows > cols ? rows : cols;
    const int64_t panel = products[level()][is_wide(first)].width + products[level()][is_wide(first)].columns;
    const int64_t squares = 8 * n * n + n * (n + 2 * panel);
    const int64_t lines = n * (2 * LAPACK_BLOCK + 32) + rows_of(m, b) * cols_of(m, b);
    return 8 * (squares + lines + 16) + 16 * LINE;
}

#define FACTORIZATION(name, reason)                                                                                    \
    static inline optgen_status run_##name(context *c, group *first, const call *of, const double *numbers)            \
    {                                                                                                                  \
        job j = {c, first, of, &c->members[first->order[0]], numbers, 0, 0, NULL};                                     \
        return factorize(&j, name, #name, reason);                                                                     \
    }
FACTORIZATION(inverse_root, "has eigenvalues that did not converge")
FACTORIZATION(eigenvectors, "has eigenvalues that did not converge")
FACTORIZATION(solve, "is singular")
FACTORIZATION(right_singular_vectors, "has singular values that did not converge")

static inline optgen_status run_orthonormal(context *c, group *first, const call *of, const double *numbers)
{
    job j = {c, first, of, &c->members[first->order[0]], numbers, 0, 0, NULL};
    if (operand_cols(&j, 0) > operand_rows(&j, 0))
        return not_factorized(&j, "orthonormal", "has more columns than rows; take its transpose");
    return factorize(&j, orthonormal, "orthonormal", "has no QR factorization");
}
