/* Threads that share the work of a step. */

enum { MOST_THREADS = CLAIMS / PARTS_EACH };

#if defined(OPTGEN_OPENMP)
/* Those of the OpenMP that the program is compiled with. */
static pool *pool_create(int32_t threads)
{
    pool *const made = calloc(1, sizeof(pool));
    if (made)
        atomic_store(&made->threads, (uint32_t)(threads > 0 ? threads : omp_get_max_threads()));
    return made;
}

static void pool_destroy(pool *of) { free(of); }

static void pool_parallel_for(void *of, optgen_task task, const void *step, int64_t elements)
{
    const int parts = elements < MIN_SHARED_ELEMENTS ? 1 : (int)atomic_load(&((pool *)of)->threads);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int part = 0; part < parts; part++)
        task(step, part, parts);
}
#elif defined(IS_POSIX) || defined(_WIN32)
typedef struct {
    pool *pool;
    uint32_t id;
    thread thread;
} pool_thread;

typedef struct {
    pool shared;
    mutex mutex;
    condition condition;
    void *memory;
    long process;
    uint32_t started;
    pool_thread workers[MOST_THREADS];
} owned_pool;

static void work_in_pool(const pool_thread *own) { optgen_pool_worker(own->pool, own->id, 0); }

#if defined(_WIN32)
static unsigned __stdcall worker(void *of)
{
    work_in_pool(of);
    return 0;
}
#else
static void *worker(void *of)
{
    work_in_pool(of);
    return NULL;
}
#endif

/* How many turns of a loop that waits take so long as a thread waits before it sleeps. */
static uint32_t spins_of(int32_t clock)
{
    enum { TRIED = 1 << 14 };
    const int64_t begin = now(clock);
    optgen_pool_spin(TRIED);
    const int64_t took = now(clock) - begin;
    return (uint32_t)((int64_t)SPIN_NANOSECONDS * TRIED / (took > 0 ? took : 1)) + 1;
}

/* Whether a process was forked from that which has the threads. */
static int is_elsewhere(const pool *of) { return ((const owned_pool *)of)->process != process_number(); }

static void pool_destroy(pool *of)
{
    owned_pool *const own = (owned_pool *)of;
    if (is_elsewhere(of))
        return; /* its locks may be held by threads that are not here */
    atomic_store(&own->shared.stop, 1);
    optgen_pool_rouse(&own->shared);
    for (uint32_t k = 0; k < own->started; k++)
        join_thread(own->workers[k].thread);
    end_sleep(&own->mutex, &own->condition);
    free(own->memory);
}

/* As many as this process has CPUs, by its affinity and by quotas. */
static int32_t default_threads(void)
{
    const double cpus = ceil(fmin((double)cpu_count(), quota("")));
    return cpus > 1 ? (int32_t)cpus : 1;
}

/* A pool of so many threads, the calling one included; the default for 0. NULL: one thread is enough, or
   there is no memory for more. */
static pool *pool_create(int32_t threads)
{
    const int32_t count = threads > 0 ? threads : default_threads();
    void *const memory = count > 1 ? calloc(1, sizeof(owned_pool) + 64) : NULL;
    if (!memory)
        return NULL;
    owned_pool *const own = (owned_pool *)(((uintptr_t)memory + 63) / 64 * 64);
    pool *const shared = &own->shared;
    own->memory = memory;
    own->process = process_number();
    make_sleep(&own->mutex, &own->condition);
    shared->futex = FUTEX;
    shared->clock = CLOCK;
    shared->lock = lock_mutex;
    shared->unlock = unlock_mutex;
    shared->wait = wait_on;
    shared->wake_all = wake_all_on;
    shared->mutex = &own->mutex;
    shared->condition = &own->condition;
    shared->small = MIN_SHARED_ELEMENTS;
    shared->wake = MIN_WAKE_ELEMENTS;
    shared->large = MIN_SPLIT_ELEMENTS;
    shared->spins = spins_of(shared->clock);
    while (own->started + 1 < (uint32_t)(count < MOST_THREADS ? count : MOST_THREADS)) {
        const uint32_t k = own->started;
        own->workers[k].pool = shared;
        own->workers[k].id = k + 1;
        if (!start_thread(&own->workers[k].thread, worker, &own->workers[k]))
            break;
        own->started++;
    }
    atomic_store(&shared->threads, own->started + 1);
    return shared;
}

static void pool_parallel_for(void *of, optgen_task task, const void *step, int64_t elements)
{
    if (is_elsewhere(of))
        task(step, 0, 1);
    else
        optgen_pool_run(of, task, step, elements);
}
#else
static pool *pool_create(int32_t threads)
{
    (void)threads;
    return NULL;
}

static void pool_destroy(pool *of) { (void)of; }

static void pool_parallel_for(void *of, optgen_task task, const void *step, int64_t elements)
{
    (void)of, (void)elements;
    task(step, 0, 1);
}
#endif
