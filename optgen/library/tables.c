/* What the tables of a library hold, and what contexts are made of. */

enum { KIND_ELEM, KIND_ROW, KIND_COL, KIND_NUMBER, KIND_SHARED };
enum { ROLE_DATA, ROLE_GRAD, ROLE_INPUT, ROLE_STATE, ROLE_OUT };
enum { START_NONE, START_ZERO, START_ITEM, START_HYPER, START_WEIGHT };
enum { HYPER_RANK = -1, HYPER_SIZE = -2, HYPER_ROWS = -3, HYPER_COLS = -4, HYPER_MATRICES = -5, HYPER_STEP = -6 };
enum { MOST_TENSORS = 1 << 20, MOST_DIMENSIONS = 64 };
#define MOST_ELEMENTS (INT64_C(1) << (sizeof(void *) == 8 ? 44 : 29))
#define MOST_BYTES (UINT64_C(1) << 60)
#define MOST_UPDATES (INT64_C(1) << 53) /* doubles have all whole numbers up to it */

/* An array that a kernel reads or writes, one for each tensor. */
typedef struct {
    int32_t role, kind;
    int32_t number;           /* of an input, or of a state */
    int32_t bytes;            /* of an item */
    int32_t per;              /* how many elements an item stands for */
    int32_t entries;          /* of a history; else 0 */
    int32_t start;            /* what a state starts as */
    int32_t number_of_hyper;  /* START_HYPER */
    int32_t file_dtype;       /* its number in `file_dtypes` */
    unsigned char item[8];    /* START_ITEM: its bytes */
} buffer;

typedef struct {
    void (*step)(const optgen_step *step);
    int64_t (*workspace)(const optgen_step *step);
} code;

typedef struct {
    const buffer *buffers;
    const int32_t *hyper; /* numbers of hyper-parameters, or HYPER_RANK, ... */
    int32_t n_buffers, n_hyper;
    code levels[LEVELS];
} kernel;

typedef struct {
    const char *name, *interval; /* `interval`: NULL, or as text */
    double low, high;
    double fixed; /* NaN, or the only value that kernels were made for */
    int32_t low_open, high_open, whole, optional, zero_off, given, per_tensor;
} hyper_info;

typedef struct {
    double rank, size, rows, cols, matrices;
} dimensions;

typedef struct {
    const char *name, *identity; /* `identity`: of its version and states, for files */
    const hyper_info *hypers;
    const char *const *inputs, *const *states, *const *variants_text;
    const kernel *const *kernels; /* [dtype][small][section][variant]; NULL: not built */
    /* The number of the variant for these values; -1, and why, if a requirement is not met. */
    int32_t (*choose)(const double *hyper, const int32_t *flags, const dimensions *of, const char **why);
    int32_t n_hypers, n_inputs, n_states, n_flags, variants;
    int32_t phases, sections; /* of a step; phases, and one more for weights to evaluate with */
    int32_t reads_grad, joins, shares, last_two, small_differ;
} spec;

/* How a tensor begins, of any spec; pointers to its inputs follow. */
typedef struct {
    void *data;
    const void *grad;
    const int64_t *shape;
    int64_t rank;
} tensor;

/* The options of any spec. */
typedef struct {
    int32_t dtype, threads;
    uint64_t seed;
    optgen_parallel_for parallel;
    void *pool, *memory;
    int64_t memory_bytes;
    const int32_t *flags;
} request;

#if defined(__wasm32__)
_Static_assert(sizeof(void *) == 4 && sizeof(tensor) == 24, "kernels have pointers of 32 bits");
#else
_Static_assert(sizeof(void *) == 8 && sizeof(tensor) == 32, "kernels have pointers of 64 bits");
_Static_assert(sizeof(optgen_step) == 8 * STEP_FIELDS, "as kernels have it");
#endif
_Static_assert(sizeof(tensor) % sizeof(void *) == 0, "pointers to inputs follow");

/* A tensor of a context. `states` has a place for each state of the spec, NULL where the tensor has none. */
typedef struct {
    int64_t rows, cols, matrices, size;
    int64_t *shape; /* `of.rank` lengths */
    dimensions of;
    int32_t variant, is_chosen;
    void *data;
    const void *grad, *grad_before;
    void **states;
    int64_t *state_bytes;
} member;

/* The tensors that one kernel updates, in one call. */
typedef struct {
    const kernel *kernel;
    optgen_step step;
    int64_t *order;
    double *hyper;
    void **buffers;
} group;

typedef struct context {
    struct context *next;
    const spec *spec;
    int64_t n;
    int32_t dtype;
    uint64_t seed;
    int32_t flags[MOST_FLAGS];
    int32_t due; /* the phase */
    member *members;
    const void **inputs;  /* n x n_inputs */
    double *hyper;        /* n x n_hypers, of the last step */
    int64_t *t;           /* updates of each tensor */
    group *groups;
    int64_t *first_group; /* of each section, and where the last one ends */
    void *block;          /* states that are not in the caller's memory */
    void *memory;         /* of states, the caller's or `block` */
    int64_t memory_bytes;
    pool *own_pool;
} context;
