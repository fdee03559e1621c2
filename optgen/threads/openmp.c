/* A team of threads of the OpenMP runtime that the process has loaded already, which PyTorch computes on. A job is cut
   into parts; each thread runs its own ones first, then those that nobody has claimed yet.

   What is loaded is openmp.ll, which `python -m optgen.objectcode.generate` makes of this file. It is made without the
   headers of OpenMP: the entry points of the runtime are fields, looked up by name. */

#include <stdatomic.h>
#include <stdint.h>

enum { CLAIMS = 2048, PARTS_EACH = 8 };

typedef void task(void *step, int64_t part, int64_t parts);

/* What LLVM's runtime is told of a place in a program. */
typedef struct {
    int32_t reserved_1, flags, reserved_2, reserved_3;
    const char *source;
} place;

typedef struct {
    void (*parallel)(void (*member)(void *), void *job, unsigned threads, unsigned flags); /* GOMP_parallel, or null */
    void (*fork_call)(place *, int32_t n, void (*)(int32_t *, int32_t *, void *), ...);    /* else of LLVM's runtime */
    void (*push_num_threads)(place *, int32_t thread, int32_t threads);
    int32_t (*global_thread_num)(place *);
    int32_t (*thread_num)(void);  /* of the caller in its team */
    int32_t (*max_threads)(void); /* of a team that the caller makes */
    const uint32_t *limit;        /* threads that a user has chosen; 0: as many as the runtime says */
    int64_t small;                /* fewer elements than this stay on the calling thread */
    int64_t large;                /* from this many on a thread has several parts */
    _Atomic uint32_t forked;      /* 1 in a forked child, where the runtime has no threads and does not know it */
} team;

typedef struct {
    team *team;
    task *task;
    void *step;
    int64_t parts, parts_each;
    _Atomic uint8_t claims[CLAIMS];
} job;

static void run_parts(void *of)
{
    job *const job = of;
    const int64_t parts = job->parts, first = job->team->thread_num() * job->parts_each;
    for (int64_t k = 0; k < parts; k++) {
        const int64_t part = (first + k) % parts;
        if (!atomic_exchange_explicit(&job->claims[part], 1, memory_order_relaxed))
            job->task(job->step, part, parts);
    }
}

static void member(int32_t *global_number, int32_t *number, void *job)
{
    (void)global_number;
    (void)number;
    run_parts(job);
}

/* How many threads a job of so many elements has. */
static int64_t threads_of(team *team, int64_t elements)
{
    if (elements < team->small || atomic_load_explicit(&team->forked, memory_order_relaxed))
        return 1;
    const int64_t threads = *team->limit ? *team->limit : team->max_threads();
    return threads < CLAIMS / PARTS_EACH ? threads : CLAIMS / PARTS_EACH;
}

/* parallel_for of the kernels: task(step, part, parts) for every part, on all threads where that pays. */
void optgen_team_run(team *team, task *task, void *step, int64_t elements)
{
    const int64_t threads = threads_of(team, elements);
    if (threads < 2) {
        task(step, 0, 1);
        return;
    }
    job job;
    job.team = team;
    job.task = task;
    job.step = step;
    job.parts_each = elements >= team->large ? PARTS_EACH : 1;
    job.parts = threads * job.parts_each;
    for (int64_t k = 0; k < job.parts; k++)
        atomic_store_explicit(&job.claims[k], 0, memory_order_relaxed);
    if (team->parallel) {
        team->parallel(run_parts, &job, (unsigned)threads, 0);
    } else {
        place here = {0, 2, 0, 0, ";unknown;unknown;0;0;;"};
        team->push_num_threads(&here, team->global_thread_num(&here), (int32_t)threads);
        team->fork_call(&here, 1, member, &job);
    }
}

/* How many threads a large job has that is run from here. */
int64_t optgen_team_threads(team *team) { return threads_of(team, INT64_MAX); }
