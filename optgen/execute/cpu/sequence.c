/* Calls of native code one after the other, loops of them, and sequences that threads share: what a step with products
   of matrices consists of.

   A call is one of a task, whose parts threads share if there is enough work. A kernel, which takes its step and
   nothing else, is called as a task too, and shares its own work.

   What is loaded is sequence.ll, which `python -m optgen.objectcode.generate` makes of this file. */

#include <stdint.h>

typedef void task(void *argument, int64_t part, int64_t parts);

typedef struct {
    task *task;
    void *argument;
    int64_t work; /* in additions of two arrays' elements */
} call;

typedef struct {
    int64_t n;
    const call *calls;
    void (*parallel)(void *pool, task *task, void *argument, int64_t work); /* null: all on the calling thread */
    void *pool;                                                             /* its first argument */
    int64_t small;                                                          /* less work stays on the calling thread */
} sequence;

typedef struct {
    int64_t turns;
    int64_t readers;
    double *const *number;    /* where kernels read the number of the turn: so many addresses */
    const sequence *bodies;   /* of the first turn, of those with odd numbers, of the others */
} loop;

typedef struct {
    int64_t n;
    const sequence *sequences;
} sequences;

void optgen_sequence_run(const sequence *sequence)
{
    const int64_t n = sequence->n;
    for (int64_t k = 0; k < n; k++) {
        const call *const call = &sequence->calls[k];
        if (sequence->parallel && call->work >= sequence->small)
            sequence->parallel(sequence->pool, call->task, call->argument, call->work);
        else
            call->task(call->argument, 0, 1);
    }
}

/* A task that is not shared: all turns of a loop. */
void optgen_loop_run(void *of, int64_t part, int64_t parts)
{
    const loop *const loop = of;
    (void)part, (void)parts;
    for (int64_t turn = 0; turn < loop->turns; turn++) {
        for (int64_t k = 0; k < loop->readers; k++)
            *loop->number[k] = (double)turn;
        optgen_sequence_run(&loop->bodies[turn ? 2 - turn % 2 : 0]);
    }
}

/* Part `part` of `parts` of sequences that have nothing in common. */
void optgen_sequences_run(void *of, int64_t part, int64_t parts)
{
    const sequences *const all = of;
    const int64_t end = all->n * (part + 1) / parts;
    for (int64_t k = all->n * part / parts; k < end; k++)
        optgen_sequence_run(&all->sequences[k]);
}
