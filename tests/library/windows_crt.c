/* What the C runtime of MSVC has, and MinGW's libraries do not: so much of it as libraries in C and their tests need,
   of a program and, with DLL, of a DLL. */

#include <stdint.h>
#include <stdlib.h>

#pragma comment(lib, "ucrt.lib")
#pragma comment(lib, "math.lib")
#pragma comment(lib, "kernel32.lib")

int _fltused = 1;
uint64_t __security_cookie = 0x2B992DDFA232;

/* Where the variables of threads are. */
unsigned _tls_index;
__attribute__((section(".tls"))) char _tls_start;
__attribute__((section(".tls$ZZZ"))) char _tls_end;
const struct {
    const void *begin, *end, *index, *callbacks;
    uint32_t zeros, flags;
} _tls_used = {&_tls_start, &_tls_end, &_tls_index, 0, 0, 0};

void __security_check_cookie(uint64_t cookie)
{
    if (cookie != __security_cookie)
        abort();
}

/* Touches each page of the RAX bytes below the stack pointer, and changes no register. */
__asm__(".globl __chkstk\n"
        "__chkstk:\n"
        "    pushq %rcx\n"
        "    pushq %rax\n"
        "    leaq 24(%rsp), %rcx\n"
        "1:  cmpq $0x1000, %rax\n"
        "    jb 2f\n"
        "    subq $0x1000, %rcx\n"
        "    testq %rcx, (%rcx)\n"
        "    subq $0x1000, %rax\n"
        "    jmp 1b\n"
        "2:  subq %rax, %rcx\n"
        "    testq %rcx, (%rcx)\n"
        "    popq %rax\n"
        "    popq %rcx\n"
        "    ret\n");

int _DllMainCRTStartup(void *module, uint32_t reason, void *reserved)
{
    (void)module, (void)reason, (void)reserved;
    return 1;
}
