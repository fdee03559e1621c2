/* A call of a kernel from Python: addresses and integers are taken out of Python's objects, written in a row, and
   handed to the kernel's code. It is a method of Python's C interface (METH_FASTCALL | METH_KEYWORDS).

   What is usual is done here: exact int, None, and exact numpy.ndarray that is C-contiguous and has the very dtype
   object that the kernel's code was made for. All else (another argument, an error, code that is not loaded yet, the
   checked mode) is left to the kernel's method in Python, which decides and reports.

   Functions of Python are fields, so that no library has to be found. What is loaded is trampoline.ll, which
   `python -m optgen.objectcode.generate` makes of this file. */

#include <stdint.h>

enum { INT = 'i', ARRAY = 'a' };        /* kinds of arguments; the others are indices of `python.dtypes` */
enum { C_CONTIGUOUS = 1 };              /* of NumPy's flags */
enum { HEAD = 3, MOST_ARGUMENTS = 28 }; /* words before those of the arguments: tasks, bytes of scratch memory, GEMM */
enum { TYPES = 2 };                     /* of elements that a kernel has code for */

typedef struct object { /* of Python */
    int64_t references;
    const struct object *type;
} object;

typedef struct { /* PyArrayObject_fields of NumPy */
    object head;
    char *data;
    int32_t rank;
    int64_t *lengths, *strides;
    object *base;
    const object *dtype;
    int32_t flags;
} array;

typedef struct {
    object *(*attribute)(object *of, object *name);                                        /* PyObject_GetAttr */
    object *(*call)(object *callable, object *const *arguments, int64_t n, object *names); /* PyObject_Vectorcall */
    object *(*from_int)(int64_t x);                                                        /* PyLong_FromLongLong */
    int64_t (*to_int)(object *x);                                                          /* PyLong_AsLongLong */
    int64_t (*length)(object *sized);                                                      /* PyObject_Size */
    object *(*item)(object *tuple, int64_t i);                                             /* PyTuple_GetItem */
    object *(*error)(void);                                                                /* PyErr_Occurred */
    void (*clear_error)(void);                                                             /* PyErr_Clear */
    void (*take)(object *x);                                                               /* Py_IncRef */
    void (*drop)(object *x);                                                               /* Py_DecRef */
    object *none;
    object *scratch;                      /* the name of the argument */
    object *loaded, *in_python, *no_memory; /* and of attributes of a kernel: the address of a `kernel`, two methods */
    const object *int_type, *array_type;
    const object *dtypes[2];  /* of `Ints` and of `Words` */
    const int64_t *checking;  /* not 0: in the checked mode */
    int64_t large;            /* work from which on `entry.run` is called, which may share it among threads */
    int (*blas_threads)(void); /* null: there is no BLAS that has threads */
    void (*set_blas_threads)(int n);
} python;

typedef struct { /* of a kernel, for arrays of one type */
    const object *dtype;
    void (*task)(int64_t *words, int64_t part, int64_t parts); /* null: not loaded */
    int64_t gemm;                                              /* its address if the kernel calls it */
    int64_t element_bytes;
    object *run; /* takes the address of the words, and the work */
} entry;

typedef struct {
    int64_t n;
    const uint8_t *kinds; /* of n arguments */
    entry codes[TYPES];
} kernel;

static const python *p;

void optgen_loops_start(const python *functions) { p = functions; }

/* Whether `x` is an int of 64 bits; `to` is then its value. */
static int is_int(object *x, int64_t *to)
{
    if (x->type != p->int_type)
        return 0;
    *to = p->to_int(x);
    if (*to != -1 || !p->error())
        return 1;
    p->clear_error();
    return 0;
}

/* Whether `x` is an argument of this kind; `word` is then what the kernel reads. */
static int is_argument(object *x, int kind, const object *dtype, int64_t *word)
{
    if (kind == INT)
        return is_int(x, word);
    *word = 0;
    if (x == p->none)
        return 1;
    if (x->type != p->array_type)
        return 0;
    const array *const a = (const array *)x;
    *word = (int64_t)a->data;
    return a->dtype == (kind == ARRAY ? dtype : p->dtypes[kind]) && a->flags & C_CONTIGUOUS;
}

/* The code for arrays of the type of `x`, null if there is none. */
static const entry *code_for(const kernel *k, object *x)
{
    if (x->type != p->array_type)
        return 0;
    for (int i = 0; i < TYPES; i++)
        if (k->codes[i].dtype == ((const array *)x)->dtype)
            return k->codes[i].task ? &k->codes[i] : 0;
    return 0;
}

/* The code for the arguments, with the words that it reads, and the work; null unless all is usual. */
static const entry *prepare(const kernel *k, object *const *arguments, int64_t n, object *names, int64_t *words,
                            int64_t *work)
{
    if (*p->checking || k->n > MOST_ARGUMENTS || n != k->n + 2)
        return 0;
    if (names && (p->length(names) != 1 || p->item(names, 0) != p->scratch))
        return 0;
    const entry *const code = code_for(k, arguments[2]);
    int64_t scratch = 0;
    if (!code || !is_int(arguments[0], &words[0]) || !is_int(arguments[1], work) ||
        (names && !is_int(arguments[n], &scratch)) || scratch < 0 || scratch > INT64_MAX / code->element_bytes)
        return 0;
    words[1] = scratch * code->element_bytes;
    words[2] = code->gemm;
    for (int64_t i = 0; i < k->n; i++)
        if (!is_argument(arguments[2 + i], k->kinds[i], code->dtype, &words[HEAD + i]))
            return 0;
    return code;
}

/* All tasks on the calling thread, which keeps the GIL: nobody else sets the number of BLAS's threads meanwhile. */
static void run_here(const entry *code, int64_t *words)
{
    const int threads = code->gemm && p->blas_threads ? p->blas_threads() : 1;
    if (threads > 1)
        p->set_blas_threads(1);
    code->task(words, 0, 1);
    if (threads > 1)
        p->set_blas_threads(threads);
}

static object *call_with_ints(object *callable, const int64_t *numbers, int64_t n)
{
    _Alignas(16) object *arguments[2];
    object *result = 0;
    int64_t made = 0;
    while (made < n && (arguments[made] = p->from_int(numbers[made])))
        made++;
    if (made == n)
        result = p->call(callable, arguments, n, 0);
    while (made > 0)
        p->drop(arguments[--made]);
    return result;
}

/* `kernel(tasks, work, *arguments, scratch=n)`. */
object *optgen_loops_call(object *self, object *const *arguments, int64_t n, object *names)
{
    _Alignas(16) int64_t words[HEAD + MOST_ARGUMENTS]; /* aligned alike on all processors */
    int64_t work;
    object *const loaded = p->attribute(self, p->loaded);
    if (!loaded)
        return 0;
    const kernel *const kernel = (const void *)p->to_int(loaded);
    p->drop(loaded);
    const entry *const code = kernel ? prepare(kernel, arguments, n, names, words, &work) : 0;
    object *method = 0, *result = p->none;
    if (!code) {
        method = p->attribute(self, p->in_python);
        result = method ? p->call(method, arguments, n, names) : 0;
    } else if (work < p->large) {
        run_here(code, words);
        p->take(result);
    } else {
        _Alignas(16) const int64_t numbers[] = {(int64_t)words, work};
        result = call_with_ints(code->run, numbers, 2);
    }
    if (code && result && words[0] < 0) { /* the task has found no memory */
        p->drop(result);
        method = p->attribute(self, p->no_memory);
        result = method ? call_with_ints(method, &words[1], 1) : 0;
    }
    if (method)
        p->drop(method);
    return result;
}
