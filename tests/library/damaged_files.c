/* Files of states that were damaged at random are read or refused, and nothing worse. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "both.h"

enum { SIZE = 6, TRIALS = 4000 };

static uint64_t state = 88172645463325252u;

static uint64_t random_number(void) /* Marsaglia's xorshift */
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int main(int argc, char **argv)
{
    static char whole[1 << 16], damaged[1 << 16];
    float data[SIZE] = {0}, grad[SIZE] = {1, 2, 3, 4, 5, 6}, hess[SIZE] = {0};
    const int64_t shape[2] = {2, 3};
    const mine_tensor tensor = {data, grad, shape, 2, hess};
    const mine_options options = mine_options_defaults();
    const mine_hyper hyper = mine_hyper_defaults();
    mine_context *context = NULL;
    char name[4096];
    int read = 0;
    if (argc != 2 || mine_create(&context, &tensor, 1, &options, &hyper) || mine_step(context, &hyper))
        return 2;
    snprintf(name, sizeof name, "%s/states", argv[1]);
    if (mine_save(context, name) || mine_load(context, name))
        return 3;
    FILE *file = fopen(name, "rb");
    const size_t bytes = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (int k = 0; k < TRIALS; k++) {
        memcpy(damaged, whole, bytes);
        for (uint64_t n = random_number() % 4 + 1; n; n--)
            damaged[random_number() % (k % 2 ? bytes : 200)] = (char)random_number();
        const size_t kept = k % 3 ? bytes : random_number() % (bytes + 1);
        file = fopen(name, "wb");
        fwrite(damaged, 1, kept, file);
        fclose(file);
        const optgen_status status = mine_load(context, name);
        if (status != OPTGEN_OK && (status != OPTGEN_BAD_FILE || !*both_error()))
            return 4;
        read += status == OPTGEN_OK;
        if (*mine_counts(context) < 0)
            return 5;
    }
    mine_destroy(context);
    printf("%d of %d\n", read, TRIALS);
    return 0;
}
