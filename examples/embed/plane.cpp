#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include "adam.h"

namespace {

void must(optgen_status status)
{
    if (status != OPTGEN_OK) {
        std::fprintf(stderr, "%s\n", adam_error());
        std::exit(1);
    }
}

struct Destroy {
    void operator()(adam_context *context) const { must(adam_destroy(context)); }
};

}

int main()
{
    std::array<float, 2> w{}, grad_w{};
    std::array<float, 1> b{}, grad_b{};
    const int64_t two[] = {2}, one[] = {1};
    const adam_tensor tensors[] = {{w.data(), grad_w.data(), two, 1}, {b.data(), grad_b.data(), one, 1}};
    adam_hyper hyper = adam_hyper_defaults();
    const adam_options options = adam_options_defaults();
    hyper.lr = 0.05;

    adam_context *made = nullptr;
    must(adam_create(&made, tensors, 2, &options, &hyper));
    const std::unique_ptr<adam_context, Destroy> context(made);
    float loss = 0;
    for (int step = 0; step < 500; step++) {
        if (step == 400)
            hyper.lr = 0.005;
        loss = 0;
        grad_w = {};
        grad_b = {};
        for (int k = 0; k < 16; k++) {
            const float x = static_cast<float>(k % 4) - 1.5f, y = static_cast<float>(k / 4) - 1.5f;
            const float error = w[0] * x + w[1] * y + b[0] - (2 * x - 3 * y + 1);
            loss += error * error / 16;
            grad_w[0] += error * x / 8;
            grad_w[1] += error * y / 8;
            grad_b[0] += error / 8;
        }
        must(adam_step(context.get(), &hyper));
    }
    std::printf("%.3f %.3f %.3f, loss %.6f\n", w[0], w[1], b[0], loss);
}
