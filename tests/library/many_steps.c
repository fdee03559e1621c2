/* 200 steps of several specs on the same tensors, whose weights are written to the standard output. The errors have
   which CPU's kernels were taken. It is C, and C++ as well. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "coded.h"
#include "several.h"
#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

enum { STEPS = 200, N = 3, MOST = 20000 };
static const int64_t shapes[N][2] = {{37, 1}, {50, 90}, {MOST, 1}};
static float data[N][MOST], grad[N][MOST];
static uint16_t short_data[N][MOST], short_grad[N][MOST];

static int64_t size_of(int i) { return shapes[i][0] * shapes[i][1]; }

/* Numbers from -1 to 1: the high bits of a linear congruential generator. */
static float drawn(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)(*state & 0xFFFFFF00u) / 2147483648.0f;
}

/* Fills arrays of float32, or of bfloat16 with the upper halves. */
static void fill(int is_short, float (*arrays)[MOST], uint16_t (*short_arrays)[MOST], uint32_t *state)
{
    for (int i = 0; i < N; i++)
        for (int64_t k = 0; k < size_of(i); k++) {
            uint32_t bits;
            arrays[i][k] = drawn(state);
            memcpy(&bits, &arrays[i][k], sizeof bits);
            short_arrays[i][k] = (uint16_t)(is_short ? bits >> 16 : 0);
        }
}

static int failed(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

/* `SECOND`: another phase of the step, with gradients of its own, or 0. */
#define RUN(spec, is_short, FIRST, SECOND, why)                                                        \
    do {                                                                                               \
        spec##_tensor tensors[N];                                                                      \
        spec##_context *context = NULL;                                                                \
        spec##_options options = spec##_options_defaults();                                            \
        const spec##_hyper hyper = spec##_hyper_defaults();                                            \
        uint32_t state = 1;                                                                            \
        options.threads = 2;                                                                           \
        fill(is_short, data, short_data, &state);                                                      \
        for (int i = 0; i < N; i++) {                                                                  \
            void *const own = is_short ? (void *)short_data[i] : (void *)data[i];                      \
            const spec##_tensor tensor = {own, is_short ? (void *)short_grad[i] : (void *)grad[i], shapes[i], 2}; \
            tensors[i] = tensor;                                                                       \
        }                                                                                              \
        if (spec##_create(&context, tensors, N, &options, &hyper))                                     \
            return failed(why());                                                                      \
        for (int step = 0; step < STEPS; step++) {                                                     \
            fill(is_short, grad, short_grad, &state);                                                  \
            if (FIRST(context, &hyper))                                                                \
                return failed(why());                                                                  \
            SECOND                                                                                     \
        }                                                                                              \
        if (spec##_destroy(context))                                                                   \
            return failed(why());                                                                      \
        for (int i = 0; i < N; i++)                                                                    \
            fwrite(tensors[i].data, is_short ? 2 : 4, (size_t)size_of(i), stdout);                     \
    } while (0)
#define DESCENT                                         \
    fill(0, grad, short_grad, &state);                  \
    if (adam_with_sam_step_descend(context, &hyper))    \
        return failed(several_error());

int main(void)
{
#if defined(_WIN32)
    (void)_setmode(_fileno(stdout), _O_BINARY); /* bytes 10 stay as they are */
#endif
    RUN(adam, 0, adam_step, , several_error);
    RUN(lamb, 0, lamb_step, , several_error);
    RUN(adafactor, 0, adafactor_step, , several_error);
    RUN(lbfgs, 0, lbfgs_step, , several_error);
    RUN(sgld, 0, sgld_step, , several_error);
    RUN(adam_with_sam, 0, adam_with_sam_step_ascend, DESCENT, several_error);
    RUN(lion, 1, lion_step, , coded_error);
    fprintf(stderr, "%s\n", several_cpu());
    return 0;
}
