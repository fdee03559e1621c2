/* Several kernels in one native call. The counts of all tensors are in one array; each kernel gets those of its tensors
   in an array of its own, which is written back after it has run: an optgen_step, which programs that embed kernels
   fill in too, has the counts of its tensors one after the other.

   The links of a chain are run in order, each on all threads that its step has. The last ones may be groups of small
   tensors: threads share these, and each group is updated by one of them.

   What is loaded is chain.ll, which `python -m optgen.objectcode.generate` makes of this file. */

#include <stdint.h>

/* How an optgen_step begins. */
typedef struct {
    int64_t n; /* its tensors */
    const int64_t *size;
    void *const *buffers;
    int64_t *t; /* their update counts */
} step;

typedef struct {
    void (*kernel)(step *step);
    step *step;
    const int64_t *order; /* which tensors these are */
    double *shared_count; /* where it reads "step", once for each of its tensors; null: nowhere */
} link;

typedef void task(void *step, int64_t part, int64_t parts);

typedef struct {
    int64_t n;
    const link *links;
    int64_t tensors;
    int64_t *counts;                                                        /* of all tensors */
    int64_t groups;                                                         /* links at the end that are groups */
    int64_t elements;                                                       /* of the tensors of all groups */
    void (*parallel)(void *pool, task *task, void *step, int64_t elements); /* null: all on the calling thread */
    void *pool;                                                             /* its first argument */
} chain;

/* The loops keep what they need of a structure in local variables. Through its pointer a compiler would read it again
   after every store, which might have changed it. */

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

/* Copy the counts of the tensors of a link; the largest of `least` and their next counts. */
static int64_t gather(const link *link, const int64_t *counts, int64_t least)
{
    const int64_t n = link->step->n, *const order = link->order;
    int64_t *const own = link->step->t;
    for (int64_t i = 0; i < n; i++) {
        const int64_t count = counts[order[i]];
        own[i] = count;
        least = larger(least, count + 1);
    }
    return least;
}

/* Write "step" for each tensor of a link whose kernel reads it. */
static void set_shared_count(const link *link, int64_t shared_count)
{
    double *const number = link->shared_count;
    const int64_t n = number ? link->step->n : 0;
    for (int64_t i = 0; i < n; i++)
        number[i] = (double)shared_count;
}

/* Run the kernel of a link, and copy its counts back. */
static void run(const link *link, int64_t *counts)
{
    const int64_t n = link->step->n, *const order = link->order, *const own = link->step->t;
    link->kernel(link->step);
    for (int64_t i = 0; i < n; i++)
        counts[order[i]] = own[i];
}

/* Part `part` of `parts` of the groups of a chain. */
static void run_groups(void *of, int64_t part, int64_t parts)
{
    const chain *const chain = of;
    const int64_t groups = chain->groups, first = chain->n - groups;
    const int64_t end = first + groups * (part + 1) / parts;
    for (int64_t k = first + groups * part / parts; k < end; k++)
        run(&chain->links[k], chain->counts);
}

/* "step", the count that all tensors share, is the largest of theirs after this step. */
void optgen_chain_run(chain *chain)
{
    int64_t shared_count = 0;
    for (int64_t i = 0; i < chain->tensors; i++)
        shared_count = larger(shared_count, chain->counts[i]);
    for (int64_t k = 0; k < chain->n; k++)
        shared_count = gather(&chain->links[k], chain->counts, shared_count);
    for (int64_t k = 0; k < chain->n; k++)
        set_shared_count(&chain->links[k], shared_count);
    for (int64_t k = 0; k < chain->n - chain->groups; k++)
        run(&chain->links[k], chain->counts);
    if (chain->parallel)
        chain->parallel(chain->pool, run_groups, chain, chain->elements);
    else
        run_groups(chain, 0, 1);
}
