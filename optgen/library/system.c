/* What a library takes from the system: headers, the number of the process. */

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>
#else
#include <sys/stat.h>
#include <unistd.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#define IS_POSIX 1
#include <pthread.h>
#include <signal.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(OPTGEN_OPENMP)
#include <omp.h>
#endif

#if defined(_WIN32)
static long process_number(void) { return (long)GetCurrentProcessId(); }
#elif defined(IS_POSIX)
static long process_number(void) { return (long)getpid(); }
#else
static long process_number(void) { return 0; }
#endif

static inline void optgen_spin_hint(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
