#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include "adam_cuda.h"

static void must(optgen_status status)
{
    if (status != OPTGEN_OK) {
        std::fprintf(stderr, "%s\n", adam_cuda_error());
        std::exit(1);
    }
}

static void must(cudaError_t status)
{
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

/* One thread: w0, w1 and b are m[0] to m[2], their gradients m[3] to m[5], and m[6] is the loss. */
__global__ void find_gradients(float *m)
{
    for (int k = 3; k < 7; k++)
        m[k] = 0;
    for (int k = 0; k < 16; k++) {
        const float x = k % 4 - 1.5f, y = k / 4 - 1.5f;
        const float error = m[0] * x + m[1] * y + m[2] - (2 * x - 3 * y + 1);
        m[3] += error * x / 8;
        m[4] += error * y / 8;
        m[5] += error / 8;
        m[6] += error * error / 16;
    }
}

int main()
{
    float *m, found[7];
    cudaStream_t stream;
    must(cudaMalloc(&m, sizeof found));
    must(cudaMemset(m, 0, sizeof found));
    must(cudaStreamCreate(&stream));
    const int64_t two[1] = {2}, one[1] = {1};
    const adam_cuda_tensor tensors[2] = {{m, m + 3, two, 1}, {m + 2, m + 5, one, 1}};
    adam_cuda_hyper hyper = adam_cuda_hyper_defaults();
    adam_cuda_options options = adam_cuda_options_defaults();
    options.stream = stream;
    hyper.lr = 0.05;

    adam_cuda_context *context;
    must(adam_cuda_create(&context, tensors, 2, &options, &hyper));
    for (int step = 0; step < 500; step++) {
        if (step == 400)
            hyper.lr = 0.005; /* any step can have other ones */
        find_gradients<<<1, 1, 0, stream>>>(m);
        must(adam_cuda_step(context, &hyper)); /* queued behind it; returns before the GPU is done */
    }
    must(adam_cuda_destroy(context)); /* waits */
    must(cudaMemcpy(found, m, sizeof found, cudaMemcpyDeviceToHost));
    std::printf("%.3f %.3f %.3f, loss %.6f\n", found[0], found[1], found[2], found[6]);
    return 0;
}
