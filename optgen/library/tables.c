/* What the tables of a library hold, and what contexts are made of. */

enum { KIND_ELEM, KIND_ROW, KIND_COL, KIND_NUMBER, KIND_SHARED, KIND_MATRIX };
enum { ROLE_DATA, ROLE_GRAD, ROLE_INPUT, ROLE_STATE, ROLE_OUT, ROLE_ARRAY };
enum { START_NONE, START_ZERO, START_ITEM, START_HYPER, START_WEIGHT };
/* of what it is over */
enum { HYPER_RANK = -1, HYPER_SIZE = -2, HYPER_ROWS = -3, HYPER_COLS = -4, HYPER_MATRICES = -5 };
enum { HYPER_OF_TENSOR = -5 }; /* the same of the tensor, so far below */
enum { HYPER_STEP = -11 };
enum { HYPER_TURN = -12 }; /* the number of the turn of the first loop; the others are below */
/* Lengths of a tensor, or no axis; what is none of these is a length itself. */
enum { AXIS_ROWS = -1, AXIS_COLS = -2, AXIS_NONE = 0 };
enum { MOST_TENSORS = 1 << 20, MOST_DIMENSIONS = 64 };
#define MOST_ELEMENTS (INT64_C(1) << (sizeof(void *) == 8 ? 44 : 29))
#define MOST_BYTES (UINT64_C(1) << 60)
#define MOST_UPDATES (INT64_C(1) << 53) /* doubles have all whole numbers up to it */

/* An array that a kernel reads or writes, one for each tensor. */
typedef struct {
    int32_t role, kind;
    int32_t number;           /* of an input, of a state, or of a work array */
    int32_t bytes;            /* of an item */
    int32_t per;              /* how many elements an item stands for */
    int32_t entries;          /* of a history; else 0 */
    int32_t axes[2];          /* KIND_MATRIX */
    int32_t start;            /* what a state starts as */
    int32_t number_of_hyper;  /* START_HYPER */
    int32_t file_dtype;       /* its number in `file_dtypes` */
    int32_t is_made;          /* ROLE_ARRAY of KIND_ROW: the kernel writes it */
    int32_t is_host;          /* it stays in the memory of the host, where that is not the device's */
    unsigned char item[8];    /* START_ITEM: its bytes */
} buffer;

/* What the file of the device defines, cpu.c or cuda.c: that of a context, of a kernel, and of a group. */
typedef struct device device;
typedef struct device_code device_code;
typedef struct device_table device_table;

typedef struct {
    double rank, size, rows, cols, matrices;
} dimensions;

typedef struct {
    void (*step)(const optgen_step *step);
    int64_t (*workspace)(const optgen_step *step); /* NULL for GPUs, where `step` is the part of the host */
} code;

typedef struct {
    const buffer *buffers;
    const int32_t *hyper; /* numbers of hyper-parameters, or HYPER_RANK, ... */
    const struct program *program; /* of an update in stages, which has no code itself; else NULL */
    int32_t n_buffers, n_hyper;
    int32_t is_lazy; /* some rows can be updated without the others */
    code levels[LEVELS];
    const device_code *on_device; /* what else there is of it, or NULL */
} kernel;

/* A step of an update in stages: a kernel over matrices with these axes, a call, or a loop. The first turn of a loop
   has the stages from bodies[0] on, turns of odd numbers those from bodies[1] on, and the others those from bodies[2]
   on, which end at bodies[3]. */
typedef struct {
    const kernel *kernel;
    const struct call *call;
    int32_t number; /* of the kernel, among those of the program */
    int32_t domain[2];
    int32_t turns, turn; /* `turn`: of the loop, among those whose turns kernels count; else -1 */
    int32_t bodies[4];
} stage;

/* The stages of an update in which these timings are due. `may_fail`: a call has no result for some matrices. */
typedef struct {
    int32_t begin, end, may_fail;
} plan;

typedef struct program {
    const stage *stages;
    const buffer *arrays; /* those between the stages, of each tensor, or shared by all */
    const plan *plans;    /* of timings m, as bits: plans[m]; or plans[2*m], and plans[2*m + 1] for the first update */
    /* What it reads of hyper-parameters and sizes: arguments of calls, and then two numbers for each timing: it is due
       each so many updates, and in which one first. */
    void (*numbers)(const double *hyper, const dimensions *of, double *out);
    int32_t n_stages, n_kernels, n_arrays, n_numbers, n_timings;
    int32_t is_wide;  /* matrices are float64, and not float32 */
    int32_t starts;   /* the first update has other stages */
    int32_t may_fail; /* some plan */
    int32_t alone;    /* tensors are updated one by one, each by the plan of its count */
} program;

typedef struct {
    const char *name, *interval; /* `interval`: NULL, or as text */
    double low, high;
    double fixed; /* NaN, or the only value that kernels were made for */
    int32_t low_open, high_open, whole, optional, zero_off, given, per_tensor;
} hyper_info;

typedef struct {
    const char *name;               /* what its functions begin with */
    const char *written, *identity; /* for files: its name, and that of its version and states */
    const hyper_info *hypers;
    const char *const *inputs, *const *states, *const *variants_text, *const *phase_names;
    const kernel *const *kernels; /* [dtype][small][section][variant]; NULL: not built */
    /* The number of the variant for these values; -1, and why, if a requirement is not met. */
    int32_t (*choose)(const double *hyper, const int32_t *flags, int32_t sparse, const dimensions *of,
                      const char **why);
    int32_t n_hypers, n_inputs, n_states, n_flags, variants;
    int32_t phases, sections; /* of a step; phases, and one more for weights to evaluate with */
    int32_t most_kernels; /* of an update in stages; 1 if there is none */
    int32_t alone;        /* some update in stages is that of a tensor alone */
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
    int32_t dtype, threads, device;
    uint64_t seed;
    optgen_parallel_for parallel;
    void *pool, *stream, *memory;
    int64_t memory_bytes;
    const uint8_t *row_sparse;
    const int32_t *flags;             /* of all tensors */
    const int32_t *const *flags_each; /* of each tensor; NULL: as of all */
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
    int32_t is_batch; /* of matrices of the last two axes */
    void *data;
    const void *grad, *grad_before;
    int64_t length;       /* of the first axis */
    int32_t is_sparse;    /* whether gradients may be of some rows */
    int32_t needs_rows;   /* whether they must be, as dense ones have other equations */
    const int64_t *index; /* the rows of the gradient */
    int64_t present, present_before; /* how many there are; -1: it is dense */
    char *copy;           /* of a gradient of some rows, for kernels that update all; NULL: none was needed yet */
    void **states;
    int64_t *state_bytes;
    int32_t is_changed; /* by an update of this step that may fail */
    char *before; /* NULL, or room for its weights and states, while an update may fail */
} member;

/* The tensors that one kernel updates, in one call. An update in stages has a group for each of its kernels, one after
   the other, of the same tensors; `arrays` are those of the first one. */
typedef struct {
    const kernel *kernel;
    const program *program; /* NULL: one kernel */
    int32_t number;         /* of the kernel in its program */
    int32_t domain[2];      /* the axes of what the kernel is over */
    void **arrays;
    optgen_step step;
    int64_t *order, *numbers; /* of tensors; their sizes, columns and counts */
    double *hyper;
    void **buffers;
    const int64_t **index;    /* of row-sparse gradients; NULL where there are none */
    int64_t *present;
    int64_t workspace_bytes;
    char *for_calls; /* memory of the calls of its program; of the first group */
    double *more; /* a workspace that the memory of states has no room for; else NULL */
    device_table *on_device; /* or NULL */
} group;

typedef struct context {
    struct context *next;
    const spec *spec;
    int64_t n;
    int32_t dtype;
    uint64_t seed;
    int32_t due; /* the phase */
    int32_t has_sparse;
    member *members;
    const void **inputs;  /* n x n_inputs */
    double *hyper;        /* n x n_hypers, of the last step */
    int32_t *flags;       /* n x n_flags */
    int64_t *t;           /* updates of each tensor */
    group *groups;
    int64_t *first_group; /* of each section, and where the last one ends */
    void *block;          /* states that are not in the caller's memory */
    void *memory;         /* of states, the caller's or `block` */
    int64_t memory_bytes;
    char *host;           /* states that stay in the memory of the host */
    int64_t host_bytes;
    device *device;       /* NULL: not open */
} context;

/* A matrix of a call, as it is in memory; with these axes, and as many of them as the tensor has matrices. */
typedef struct {
    int32_t role, number, axes[2], transposed;
} operand;

/* A call of a function of matrices: products.c, factorizations.c. */
typedef struct call {
    optgen_status (*run)(context *c, group *first, const struct call *of, const double *numbers);
    int64_t (*bytes)(const group *first, const member *m, const struct call *of); /* memory that it needs */
    operand operands[3], target;
    int32_t n_operands, first_number; /* of its arguments */
    int32_t symmetric;                /* a product that is */
    int32_t turned;                   /* the result is stored as its transpose */
} call;

static inline int64_t group_count(const context *c)
{
    return c->groups && c->first_group ? c->first_group[c->spec->sections] : 0;
}

/* ---------------------------------------------------------------- what a device does: cpu.c, cuda.c */

/* An error if options are wrong, for which no device is needed. */
static optgen_status check_device(const spec *s, const request *r);

/* That of a context. Closing it waits for what it has to do, and frees all memory there. */
static optgen_status open_device(context *c, const request *r);
static optgen_status close_device(context *c);

/* How much memory the kernel of a group needs for its tensors, or for the rows of them that are updated. */
static int64_t workspace_bytes(const group *g);

/* An error if kernels cannot reach memory: a field of tensors[i], or options.memory for i = -1. */
static optgen_status check_place(const context *c, const void *place, int64_t i, const char *field);

/* What a group has beside its context; an error if that is too much. */
static optgen_status open_group(const context *c, group *g);
static void close_group(group *g);

/* Gives a group its workspace, at this address; how many bytes that has. It follows from shapes alone. */
static int64_t place_workspace(group *g, uint64_t at);

/* Makes c->block, of zeros; has all memory at an address be zeros. */
static optgen_status allocate(context *c, int64_t bytes);
static optgen_status clear(context *c, void *memory, int64_t bytes);

/* Copies to memory of the device, and from it, after all that it has to do; returns when that is done. */
static optgen_status copy_to(const context *c, void *to, const void *from, int64_t bytes);
static optgen_status copy_from(const context *c, void *to, const void *from, int64_t bytes);

/* Gets groups ready, whose memory is there. */
static optgen_status ready_device(context *c, const request *r);

/* Takes over the addresses in g->buffers. */
static void take_pointers(group *g);

/* Begins a step, or the weights to evaluate with: calls of run_groups follow, and end_run, which is told how they went.
   After an error nothing has changed, unless it says so. */
static optgen_status begin_run(context *c);
static optgen_status end_run(context *c, optgen_status status);

/* Runs the kernels of groups. */
static optgen_status run_groups(context *c, group *first, const group *end);
