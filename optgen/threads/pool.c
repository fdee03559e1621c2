/* The thread pool of the kernels. Workers are threads that stay in optgen_pool_worker; whoever has work calls
   optgen_pool_run. A job is cut into parts; each part is run by whoever claims it first, everybody starting with their
   own, so that a thread that is late (asleep, preempted) costs nothing: the others take its parts.

   A claim word holds the generation of the job that its part belongs to, or 0 once claimed. A worker that looks at an
   old generation therefore never claims, and one that has claimed keeps the job alive until it has counted down
   `pending`.

   What is loaded is pool.ll, which `python -m optgen.objectcode.generate` makes of this file. It is the same for every
   processor and therefore made without the headers of a system; the hint of spin-waits is filled in when it is loaded,
   and the number of a system call is a field. Where there is no such call, threads sleep on a condition of POSIX
   threads, whose functions are fields, too. */

#include <stdatomic.h>
#include <stdint.h>

#if __STDC_HOSTED__ /* in tests */
#include <time.h>
#include <unistd.h>
#else
struct timespec {
    int64_t tv_sec, tv_nsec;
};
int clock_gettime(int clock, struct timespec *time);
long syscall(long number, ...);
#endif

void optgen_spin_hint(void);

enum { WAIT_PRIVATE = 128, WAKE_PRIVATE = 129 }; /* of futex, a call of Linux */
enum { CLAIMS = 4096, PARTS_EACH = 8 };
enum { RECENT_NANOSECONDS = 100000 };

typedef void task(void *step, int64_t part, int64_t parts);

/* On a cache line of its own: threads that write one do not hold up those that read another. */
typedef struct {
    _Atomic uint32_t value;
    uint32_t unused[15];
} line;

typedef struct {
    line generation;             /* of the newest job; workers sleep on it */
    line pending;                /* parts not finished; who has the job may sleep on it */
    line sleepers;               /* workers that sleep, or are about to */
    line busy;                   /* 1 while a job runs */
    _Atomic uint32_t threads;    /* workers and the caller; 1: no workers */
    _Atomic uint32_t stop;       /* workers return */
    task *_Atomic task;          /* of the newest job, as the next three */
    void *_Atomic step;
    _Atomic uint32_t parts_each; /* parts of each thread */
    uint32_t spins;              /* before a waiting thread sleeps; at least 1 */
    int64_t small;               /* fewer elements than this stay on the calling thread */
    int64_t wake;                /* fewer wake a sleeping worker only if the last job is just over */
    int64_t large;               /* from this many on a thread has several parts */
    _Atomic int64_t parts;       /* of the newest job */
    _Atomic int64_t last;        /* when the last job ended, in nanoseconds */
    _Atomic uint32_t waiting;    /* 1 while who has the job sleeps until `pending` is 0 */
    uint32_t futex;              /* the number of that system call; 0: threads sleep on the condition */
    int32_t clock;               /* of clock_gettime: the monotonic one */
    int (*lock)(void *mutex), (*unlock)(void *mutex);
    int (*wait)(void *condition, void *mutex);
    int (*wake_all)(void *condition);
    void *mutex, *condition;
    _Atomic uint32_t claims[CLAIMS];
} pool;

#define LOAD_RELAXED(place) atomic_load_explicit(place, memory_order_relaxed)
#define STORE_RELAXED(place, value) atomic_store_explicit(place, value, memory_order_relaxed)

static int64_t now(int32_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Sleep until woken; return at once if the word no longer holds `seen`. */
static void sleep_on(pool *pool, line *line, uint32_t seen)
{
    if (pool->futex) {
        syscall(pool->futex, &line->value, (long)WAIT_PRIVATE, (long)seen, (void *)0, (void *)0, 0L);
        return;
    }
    pool->lock(pool->mutex);
    if (atomic_load(&line->value) == seen)
        pool->wait(pool->condition, pool->mutex);
    pool->unlock(pool->mutex);
}

static void wake(pool *pool, line *line, int32_t sleepers)
{
    if (pool->futex) {
        syscall(pool->futex, &line->value, (long)WAKE_PRIVATE, (long)sleepers, (void *)0, (void *)0, 0L);
        return;
    }
    /* Whoever was about to sleep on the old value does so before this, or sees the new one. */
    pool->lock(pool->mutex);
    pool->wake_all(pool->condition);
    pool->unlock(pool->mutex);
}

/* Claim and run parts of job `generation`: first those of thread `id`, then everybody's. */
static void work(pool *pool, uint32_t id, uint32_t generation)
{
    /* The job's own numbers: how many threads there are may change while it runs. */
    const int64_t parts = LOAD_RELAXED(&pool->parts);
    const uint32_t n = (uint32_t)parts, first = id * LOAD_RELAXED(&pool->parts_each);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t part = (first + k) % n;
        _Atomic uint32_t *const claim = &pool->claims[part];
        uint32_t open = generation;
        if (LOAD_RELAXED(claim) != generation || !atomic_compare_exchange_strong(claim, &open, 0))
            continue;
        /* Read only now: before the claim they may already have been another job's. */
        task *const task = LOAD_RELAXED(&pool->task);
        task(LOAD_RELAXED(&pool->step), part, parts);
        if (atomic_fetch_sub(&pool->pending.value, 1) == 1 && atomic_load(&pool->waiting))
            wake(pool, &pool->pending, 1);
    }
}

/* The generation that comes after `seen`. */
static uint32_t next_generation(pool *pool, uint32_t seen)
{
    const uint32_t spins = pool->spins;
    for (;;) {
        for (uint32_t n = 0; n < spins; n++) {
            const uint32_t newest = atomic_load(&pool->generation.value);
            if (newest != seen)
                return newest;
            optgen_spin_hint();
        }
        atomic_fetch_add(&pool->sleepers.value, 1);
        sleep_on(pool, &pool->generation, seen);
        atomic_fetch_sub(&pool->sleepers.value, 1);
    }
}

/* Thread `id`, from 1 on, until the pool is stopped; `seen` is the generation when it was started. */
void optgen_pool_worker(pool *pool, uint32_t id, uint32_t seen)
{
    for (;;) {
        seen = next_generation(pool, seen);
        if (atomic_load(&pool->stop))
            return;
        work(pool, id, seen);
    }
}

/* Make a job known to the workers, and wake those that sleep; its generation. */
static uint32_t publish(pool *pool, task *task, void *step, uint32_t threads, uint32_t parts_each)
{
    const uint32_t parts = threads * parts_each;
    uint32_t generation = LOAD_RELAXED(&pool->generation.value) + 1;
    if (generation == 0) /* which says that a part is claimed */
        generation = 1;
    STORE_RELAXED(&pool->task, task);
    STORE_RELAXED(&pool->step, step);
    STORE_RELAXED(&pool->parts_each, parts_each);
    STORE_RELAXED(&pool->parts, (int64_t)parts);
    STORE_RELAXED(&pool->pending.value, parts);
    for (uint32_t k = 0; k < parts; k++)
        atomic_store_explicit(&pool->claims[k], generation, memory_order_release);
    atomic_store(&pool->generation.value, generation);
    if (atomic_load(&pool->sleepers.value))
        wake(pool, &pool->generation, INT32_MAX);
    return generation;
}

/* Wait until all parts are finished: spin, then sleep, as with more threads than cores the one that holds the last part
   must be let run. (sched_yield often returns at once.) */
static void finish(pool *pool)
{
    const uint32_t spins = pool->spins;
    for (;;) {
        for (uint32_t n = 0; n < spins; n++) {
            if (atomic_load(&pool->pending.value) == 0)
                return;
            optgen_spin_hint();
        }
        atomic_store(&pool->waiting, 1);
        const uint32_t left = atomic_load(&pool->pending.value);
        if (left == 0)
            return;
        sleep_on(pool, &pool->pending, left);
    }
}

/* Whether a job of so many elements is worth waking workers, if any sleep. Of small ones those are that follow each
   other at once, as the wake-up then serves them all; a lone one is not. */
static int is_worth_waking(pool *pool, int64_t elements)
{
    return atomic_load(&pool->sleepers.value) == 0 || elements >= pool->wake ||
           now(pool->clock) - LOAD_RELAXED(&pool->last) <= RECENT_NANOSECONDS;
}

/* How many parts a thread has: several where one may be late, as it is preempted in a long job, or has to be woken. */
static uint32_t parts_each(pool *pool, int64_t elements)
{
    return elements >= pool->large || atomic_load(&pool->sleepers.value) ? PARTS_EACH : 1;
}

/* parallel_for of the kernels: task(step, part, parts) for every part, on all threads where that pays. */
void optgen_pool_run(pool *pool, task *task, void *step, int64_t elements)
{
    const uint32_t threads = LOAD_RELAXED(&pool->threads);
    if (threads < 2 || elements < pool->small) {
        task(step, 0, 1);
        return;
    }
    uint32_t idle = 0;
    if (is_worth_waking(pool, elements) && atomic_compare_exchange_strong(&pool->busy.value, &idle, 1)) {
        const uint32_t generation = publish(pool, task, step, threads, parts_each(pool, elements));
        work(pool, 0, generation);
        finish(pool);
        STORE_RELAXED(&pool->waiting, 0);
        atomic_store(&pool->busy.value, 0);
    } else {
        task(step, 0, 1);
    }
    STORE_RELAXED(&pool->last, now(pool->clock));
}

/* Wake every worker without a job, so that it sees `stop`. */
void optgen_pool_rouse(pool *pool)
{
    atomic_fetch_add(&pool->generation.value, 1);
    wake(pool, &pool->generation, INT32_MAX);
}

/* The spin-wait hint n times, to measure how long one takes. */
void optgen_pool_spin(uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        optgen_spin_hint();
}
