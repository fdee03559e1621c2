#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "muon.h"

enum { ROWS = 3, COLS = 4, SAMPLES = 16 };

static void must(optgen_status status)
{
    if (status != OPTGEN_OK) {
        fprintf(stderr, "%s\n", muon_error());
        exit(1);
    }
}

/* Fits the matrix of a linear map to what another one makes of some vectors. */
int main(void)
{
    float w[ROWS][COLS] = {{0}}, grad[ROWS][COLS], wanted[ROWS][COLS], x[SAMPLES][COLS];
    for (int k = 0; k < ROWS * COLS; k++)
        wanted[k / COLS][k % COLS] = (float)sin(k);
    for (int k = 0; k < SAMPLES * COLS; k++)
        x[k / COLS][k % COLS] = (float)cos(3 * k);

    const int64_t shape[2] = {ROWS, COLS};
    const muon_tensor tensor = {.data = w, .grad = grad, .shape = shape, .rank = 2};
    muon_hyper hyper = muon_hyper_defaults();
    const muon_options options = muon_options_defaults();
    muon_context *context;
    must(muon_create(&context, &tensor, 1, &options, &hyper));

    float loss = 0;
    for (int step = 0; step < 300; step++) {
        hyper.lr = 0.1 * (1 - step / 300.0);
        loss = 0;
        for (int k = 0; k < ROWS * COLS; k++)
            grad[k / COLS][k % COLS] = 0;
        for (int s = 0; s < SAMPLES; s++)
            for (int i = 0; i < ROWS; i++) {
                float error = 0;
                for (int j = 0; j < COLS; j++)
                    error += (w[i][j] - wanted[i][j]) * x[s][j];
                loss += error * error / SAMPLES;
                for (int j = 0; j < COLS; j++)
                    grad[i][j] += 2 * error * x[s][j] / SAMPLES;
            }
        must(muon_step(context, &hyper));
    }
    must(muon_destroy(context));
    printf("loss %.4f\n", loss);
    return 0;
}
