/* Threads that use the pool as Python programs do, for ThreadSanitizer to watch: several callers with jobs of all
   sizes, while the number of workers changes. Each part writes elements of its own, and nothing but the pool orders
   what the caller and the parts read and write of a job. Exit status 1: a part was left out, or done twice.

   Arguments: how many jobs each caller has; any second one: threads sleep on a condition, and not by futex. */

#include "pool.c"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { CALLERS = 3, MOST_THREADS = 5, ELEMENTS = 97, SMALL = 16, WAKE = 64, LARGE = 256 };

typedef struct {
    uint32_t round;
    uint32_t elements[ELEMENTS];
} job;

static _Alignas(64) pool shared;
static pthread_t workers[MOST_THREADS];
static uint32_t n_workers;
static _Atomic int callers_left = CALLERS, wrong;
static uint32_t n_jobs;

void optgen_spin_hint(void) {}

/* As a kernel does: the elements of the part. They hold how often they were updated. */
static void update(void *step, int64_t part, int64_t parts)
{
    job *const job = step;
    for (int64_t i = ELEMENTS * part / parts; i < ELEMENTS * (part + 1) / parts; i++)
        if (job->elements[i]++ != job->round)
            atomic_store(&wrong, 1);
}

static void *call(void *seed)
{
    static const int64_t sizes[] = {SMALL - 1, SMALL, WAKE - 1, WAKE, LARGE - 1, LARGE, 10 * LARGE};
    unsigned random = (unsigned)(uintptr_t)seed;
    job job = {0};
    for (uint32_t k = 1; k <= n_jobs; k++) {
        optgen_pool_run(&shared, update, &job, sizes[rand_r(&random) % 7]);
        for (int i = 0; i < ELEMENTS; i++)
            if (job.elements[i] != k)
                atomic_store(&wrong, 1);
        job.round = k;
        if (rand_r(&random) % 64 == 0)
            usleep(200); /* long enough for the workers to fall asleep, and for the next job to be a lone one */
    }
    atomic_fetch_sub(&callers_left, 1);
    return NULL;
}

typedef struct {
    uint32_t id, seen;
} start;

static void *work_for_ever(void *argument)
{
    const start own = *(start *)argument;
    free(argument);
    optgen_pool_worker(&shared, own.id, own.seen);
    return NULL;
}

/* Pool._stop of pool.py, whose plain loads and stores are relaxed ones. */
static void stop_workers(void)
{
    STORE_RELAXED(&shared.threads, 1);
    while (LOAD_RELAXED(&shared.busy.value))
        sched_yield();
    STORE_RELAXED(&shared.stop, 1);
    optgen_pool_rouse(&shared);
    for (uint32_t id = 1; id <= n_workers; id++)
        pthread_join(workers[id - 1], NULL);
    n_workers = 0;
}

/* Pool.start of pool.py. */
static void start_workers(uint32_t n)
{
    STORE_RELAXED(&shared.stop, 0);
    const uint32_t seen = LOAD_RELAXED(&shared.generation.value);
    for (uint32_t id = 1; id <= n; id++) {
        start *const argument = malloc(sizeof *argument);
        *argument = (start){id, seen};
        if (pthread_create(&workers[id - 1], NULL, work_for_ever, argument))
            abort();
    }
    n_workers = n;
    STORE_RELAXED(&shared.threads, n + 1);
}

static int lock(void *mutex) { return pthread_mutex_lock(mutex); }
static int unlock(void *mutex) { return pthread_mutex_unlock(mutex); }
static int wait_on(void *condition, void *mutex) { return pthread_cond_wait(condition, mutex); }
static int wake_all(void *condition) { return pthread_cond_broadcast(condition); }

int main(int argc, char **argv)
{
    n_jobs = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
    shared.threads = 1;
    shared.spins = 20;
    shared.futex = argc > 2 ? 0 : SYS_futex;
    shared.clock = CLOCK_MONOTONIC;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    shared.mutex = &mutex, shared.condition = &condition;
    shared.lock = lock, shared.unlock = unlock, shared.wait = wait_on, shared.wake_all = wake_all;
    shared.small = SMALL, shared.wake = WAKE, shared.large = LARGE;
    shared.generation.value = UINT32_MAX - 50; /* so that it wraps around */
    pthread_t callers[CALLERS];
    for (uintptr_t k = 0; k < CALLERS; k++)
        if (pthread_create(&callers[k], NULL, call, (void *)k))
            abort();
    for (uint32_t n = 0; atomic_load(&callers_left); n++) {
        start_workers(n % MOST_THREADS);
        usleep(20000);
        stop_workers();
    }
    for (int k = 0; k < CALLERS; k++)
        pthread_join(callers[k], NULL);
    return atomic_load(&wrong);
}
