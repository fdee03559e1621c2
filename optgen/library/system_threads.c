/* What the pool takes from the system: a clock, threads that sleep, memory; and how many CPUs there are. */

#if !defined(IS_POSIX) /* what pool.c calls of it: a clock, and a futex, without which threads sleep on a condition */
#define clock_gettime read_clock
#define syscall no_futex
static long no_futex(uint32_t number, ...) { return (long)number; }
#endif

#if defined(_WIN32)
typedef HANDLE thread;
typedef SRWLOCK mutex;
typedef CONDITION_VARIABLE condition;
enum { FUTEX = 0, CLOCK = 0 };

static int read_clock(int32_t clock, struct timespec *time)
{
    LARGE_INTEGER now, each;
    (void)clock;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&each); /* counts of a second */
    time->tv_sec = (time_t)(now.QuadPart / each.QuadPart);
    time->tv_nsec = (long)(now.QuadPart % each.QuadPart * 1000000000 / each.QuadPart);
    return 0;
}

static int lock_mutex(void *of)
{
    AcquireSRWLockExclusive(of);
    return 0;
}

static int unlock_mutex(void *of)
{
    ReleaseSRWLockExclusive(of);
    return 0;
}

static int wait_on(void *of, void *locked) { return !SleepConditionVariableSRW(of, locked, INFINITE, 0); }

static int wake_all_on(void *of)
{
    WakeAllConditionVariable(of);
    return 0;
}

static void make_sleep(mutex *m, condition *c)
{
    InitializeSRWLock(m);
    InitializeConditionVariable(c);
}

static void end_sleep(mutex *m, condition *c) { (void)m, (void)c; }

/* Starts a thread; 0 if the system allows no more. */
static int start_thread(thread *made, unsigned(__stdcall *begin)(void *), void *of)
{
    *made = (HANDLE)_beginthreadex(NULL, 0, begin, of, 0, NULL);
    return *made != NULL;
}

static void join_thread(thread made)
{
    WaitForSingleObject(made, INFINITE);
    CloseHandle(made);
}

/* The CPUs that this process may use. */
static int32_t cpu_count(void)
{
    DWORD_PTR own = 0, all;
    int32_t count = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all))
        for (; own; own &= own - 1)
            count++;
    return count ? count : (int32_t)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS); /* 0: it is in several groups */
}
#elif defined(IS_POSIX)
typedef pthread_t thread;
typedef pthread_mutex_t mutex;
typedef pthread_cond_t condition;
#if defined(__linux__)
enum { FUTEX = SYS_futex, CLOCK = CLOCK_MONOTONIC };
#else
enum { FUTEX = 0, CLOCK = CLOCK_MONOTONIC };
#endif

static int lock_mutex(void *of) { return pthread_mutex_lock(of); }
static int unlock_mutex(void *of) { return pthread_mutex_unlock(of); }
static int wait_on(void *of, void *locked) { return pthread_cond_wait(of, locked); }
static int wake_all_on(void *of) { return pthread_cond_broadcast(of); }

static void make_sleep(mutex *m, condition *c)
{
    pthread_mutex_init(m, NULL);
    pthread_cond_init(c, NULL);
}

static void end_sleep(mutex *m, condition *c)
{
    pthread_mutex_destroy(m);
    pthread_cond_destroy(c);
}

/* Starts a thread, which runs no handlers of the program's signals; 0 if the system allows no more. */
static int start_thread(thread *made, void *(*begin)(void *), void *of)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(made, NULL, begin, of);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

static void join_thread(thread made) { pthread_join(made, NULL); }

/* The CPUs that this process may use. */
static int32_t cpu_count(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
#endif
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int32_t)count : 1;
}
#else
static int read_clock(int32_t clock, struct timespec *time)
{
    (void)clock;
    return timespec_get(time, TIME_UTC);
}

#endif

/* ---------------------------------------------------------------- memory */

enum { HUGE_BYTES = 4 << 20 };

/* Zeros, in huge pages if they are many and the system has such. NULL: there is no memory. */
static void *zeros(int64_t bytes)
{
    char *const found = (uint64_t)bytes < SIZE_MAX ? calloc(1, (size_t)bytes) : NULL;
#if defined(__linux__)
    const uintptr_t skipped = (PAGE - (uintptr_t)found % PAGE) % PAGE;
    if (found && bytes >= HUGE_BYTES)
        (void)madvise(found + skipped, (size_t)bytes - skipped, MADV_HUGEPAGE);
#endif
    return found;
}
