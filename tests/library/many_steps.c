/* 200 steps of three specs on the same tensors, whose weights are written to the standard output. The errors have which
   CPU's kernels were taken. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "three.h"
#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

enum { STEPS = 200, N = 3, MOST = 20000 };
static const int64_t shapes[N][2] = {{37, 1}, {50, 90}, {MOST, 1}};
static float data[N][MOST], grad[N][MOST];

/* Numbers from -1 to 1: the high bits of a linear congruential generator. */
static float drawn(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)(*state & 0xFFFFFF00u) / 2147483648.0f;
}

static void fill(float (*arrays)[MOST], uint32_t *state)
{
    for (int i = 0; i < N; i++)
        for (int64_t k = 0; k < shapes[i][0] * shapes[i][1]; k++)
            arrays[i][k] = drawn(state);
}

#define RUN(spec)                                                                            \
    do {                                                                                     \
        spec##_tensor tensors[N];                                                            \
        spec##_context *context = NULL;                                                      \
        spec##_options options = spec##_options_defaults();                                  \
        const spec##_hyper hyper = spec##_hyper_defaults();                                  \
        uint32_t state = 1;                                                                  \
        options.threads = 2;                                                                 \
        fill(data, &state);                                                                  \
        for (int i = 0; i < N; i++) {                                                        \
            const spec##_tensor tensor = {data[i], grad[i], shapes[i], 2};                   \
            tensors[i] = tensor;                                                             \
        }                                                                                    \
        int status = spec##_create(&context, tensors, N, &options, &hyper);                  \
        for (int step = 0; step < STEPS && !status; step++) {                                \
            fill(grad, &state);                                                              \
            status = spec##_step(context, &hyper);                                           \
        }                                                                                    \
        if (status || spec##_destroy(context)) {                                             \
            fprintf(stderr, "%s\n", three_error());                                          \
            return 1;                                                                        \
        }                                                                                    \
        for (int i = 0; i < N; i++)                                                          \
            fwrite(data[i], sizeof(float), (size_t)(shapes[i][0] * shapes[i][1]), stdout);   \
    } while (0)

int main(void)
{
#if defined(_WIN32)
    (void)_setmode(_fileno(stdout), _O_BINARY); /* bytes 10 stay as they are */
#endif
    RUN(adam);
    RUN(lamb);
    RUN(adafactor);
    fprintf(stderr, "%s\n", three_cpu());
    return 0;
}
