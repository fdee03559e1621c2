#include <stdio.h>
#include <stdlib.h>
#include "adam.h"

static void must(optgen_status status)
{
    if (status != OPTGEN_OK) {
        fprintf(stderr, "%s\n", adam_error());
        exit(1);
    }
}

int main(void)
{
    float w[2] = {0, 0}, b[1] = {0}, grad_w[2], grad_b[1];
    const int64_t two[1] = {2}, one[1] = {1};
    const adam_tensor tensors[2] = {
        {.data = w, .grad = grad_w, .shape = two, .rank = 1},
        {.data = b, .grad = grad_b, .shape = one, .rank = 1},
    };
    adam_hyper hyper = adam_hyper_defaults();
    const adam_options options = adam_options_defaults();
    hyper.lr = 0.05;

    adam_context *context;
    must(adam_create(&context, tensors, 2, &options, &hyper));
    float loss = 0;
    for (int step = 0; step < 500; step++) {
        if (step == 400)
            hyper.lr = 0.005; /* any step can have other ones */
        loss = grad_w[0] = grad_w[1] = grad_b[0] = 0;
        for (int k = 0; k < 16; k++) {
            const float x = (float)(k % 4) - 1.5f, y = (float)(k / 4) - 1.5f;
            const float error = w[0] * x + w[1] * y + b[0] - (2 * x - 3 * y + 1);
            loss += error * error / 16;
            grad_w[0] += error * x / 8;
            grad_w[1] += error * y / 8;
            grad_b[0] += error / 8;
        }
        must(adam_step(context, &hyper));
    }
    must(adam_destroy(context));
    printf("%.3f %.3f %.3f, loss %.6f\n", w[0], w[1], b[0], loss);
    return 0;
}
