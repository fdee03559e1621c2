/* Calls that a library refuses. Each is made with all else as it should be; after each the weights are as before. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "both.h"

enum { N = 2, SIZE = 6 };
static float data[N][SIZE], grad[N][SIZE], hess[N][SIZE];
static int64_t shape[N][2] = {{2, 3}, {6, 1}};
static mine_tensor tensors[N];
static mine_hyper hyper;
static mine_options options;
static int calls, failures;

static void reset(void)
{
    memset(tensors, 0, sizeof tensors);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < SIZE; k++)
            data[i][k] = 1, grad[i][k] = 2, hess[i][k] = 3;
        tensors[i].data = data[i];
        tensors[i].grad = grad[i];
        tensors[i].hess = hess[i];
        tensors[i].shape = shape[i];
        tensors[i].rank = 2;
        shape[i][0] = i ? 6 : 2;
        shape[i][1] = i ? 1 : 3;
    }
    hyper = mine_hyper_defaults();
    options = mine_options_defaults();
    options.threads = 1;
}

/* A call has the status that it should have, and the words; no weight has changed. */
static void expect(int line, optgen_status expected, const char *words, optgen_status status)
{
    calls++;
    int is_wrong = status != expected || (expected && !strstr(both_error(), words));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < SIZE; k++)
            is_wrong |= data[i][k] != 1;
    if (is_wrong) {
        failures++;
        fprintf(stderr, "line %d: status %d, not %d: %s\n", line, (int)status, (int)expected, both_error());
    }
}

#define CREATE(status, words, change)                                                       \
    do {                                                                                    \
        mine_context *made = NULL;                                                          \
        reset();                                                                            \
        change;                                                                             \
        expect(__LINE__, status, words, mine_create(&made, tensors, N, &options, &hyper));  \
        if (made)                                                                           \
            mine_destroy(made);                                                             \
    } while (0)

#define STEP(status, words, change)                                                        \
    do {                                                                                   \
        mine_context *made = NULL;                                                         \
        reset();                                                                           \
        if (mine_create(&made, tensors, N, &options, &hyper))                              \
            failures++, fprintf(stderr, "line %d: %s\n", __LINE__, both_error());          \
        change;                                                                            \
        expect(__LINE__, status, words, mine_step(made, &hyper));                          \
        mine_destroy(made);                                                                \
    } while (0)

static void creating(void)
{
    static char memory[100];
    CREATE(OPTGEN_OK, "", (void)0);
    CREATE(OPTGEN_BAD_ABI, "another header", options.abi = 7);
    CREATE(OPTGEN_BAD_ABI, "options_defaults", memset(&options, 0, sizeof options));
    CREATE(OPTGEN_NOT_BUILT, "build it with --dtype float64", options.dtype = OPTGEN_FLOAT64);
    CREATE(OPTGEN_BAD_ARGUMENT, "options.dtype is 99", options.dtype = 99);
    CREATE(OPTGEN_BAD_ARGUMENT, "tensors[1].data is NULL", tensors[1].data = NULL);
    CREATE(OPTGEN_BAD_ARGUMENT, "options.threads must be from 0 to 512, not -1", options.threads = -1);
    CREATE(OPTGEN_OK, "", tensors[0].grad = NULL);
    CREATE(OPTGEN_BAD_ARGUMENT, "tensors[1].hess is NULL", tensors[1].hess = NULL);
    CREATE(OPTGEN_BAD_SHAPE, "tensors[0].shape[1] is -3", shape[0][1] = -3);
    CREATE(OPTGEN_BAD_SHAPE, "tensors[0].shape[0] is", shape[0][0] = shape[0][1] = INT64_MAX / 2);
    CREATE(OPTGEN_BAD_SHAPE, "tensors[0].shape is NULL", tensors[0].shape = NULL);
    CREATE(OPTGEN_BAD_SHAPE, "rank must be from 0 to 64, not -1", tensors[0].rank = -1);
    CREATE(OPTGEN_BAD_SHAPE, "not 100000", tensors[0].rank = 100000);
    CREATE(OPTGEN_OVERLAP, "tensors[0].data overlaps tensors[1].data", tensors[1].data = data[0]);
    CREATE(OPTGEN_OVERLAP, "overlaps", tensors[1].data = data[0] + 3);
    CREATE(OPTGEN_OVERLAP, "tensors[0].data overlaps tensors[1].grad", tensors[1].grad = data[0] + 5);
    CREATE(OPTGEN_OVERLAP, "tensors[1].hess", tensors[1].hess = data[1]);
    CREATE(OPTGEN_OVERLAP, "overlaps the memory of states", (options.memory = data, options.memory_bytes = 48));
    CREATE(OPTGEN_NO_MEMORY, "memory_bytes is 100", (options.memory = memory, options.memory_bytes = sizeof memory));
    CREATE(OPTGEN_BAD_HYPER, "'lr' must be a number", hyper.lr = NAN);
    CREATE(OPTGEN_BAD_HYPER, "'beta' must be in [0, 1)", hyper.beta = 1);
    CREATE(OPTGEN_BAD_HYPER, "'beta' must be in", hyper.beta = -INFINITY);
    CREATE(OPTGEN_BAD_HYPER, "'limit' must be in (0, inf)", hyper.limit = 0);
    CREATE(OPTGEN_BAD_HYPER, "'n' must be a whole number", hyper.n = 2.5);
    CREATE(OPTGEN_BAD_HYPER, "'n' must be in [1, 8]", hyper.n = 9);
    CREATE(OPTGEN_BAD_HYPER, "'wd' must be in", hyper.wd = -1);
    CREATE(OPTGEN_BAD_HYPER, "options.fast must be from 0 to 1", options.fast = 2);
    CREATE(OPTGEN_BAD_HYPER, "options.fast must be from 0 to 1", options.fast = -1);
    CREATE(OPTGEN_NOT_BUILT, "fast=true", options.fast = 1);
    CREATE(OPTGEN_BAD_HYPER, "fast needs beta of at most 0.95", (options.fast = 1, hyper.beta = 0.99));
    CREATE(OPTGEN_OK, "", hyper.beta = 0.99);
    CREATE(OPTGEN_OK, "", (shape[0][0] = 0, tensors[0].data = NULL, tensors[0].grad = NULL, tensors[0].hess = NULL));
    reset();
    mine_context *made = NULL;
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "the context is NULL", mine_create(NULL, tensors, N, &options, &hyper));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "tensors is NULL", mine_create(&made, NULL, N, &options, &hyper));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "options is NULL", mine_create(&made, tensors, N, NULL, &hyper));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "params is NULL", mine_create(&made, tensors, N, &options, NULL));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "-1 tensors", mine_create(&made, tensors, -1, &options, &hyper));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "tensors; there can be",
           mine_create(&made, tensors, INT64_MAX, &options, &hyper));
    int64_t needed = 0;
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "options is NULL", mine_memory_bytes(&needed, tensors, N, NULL, &hyper));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "bytes is NULL", mine_memory_bytes(NULL, tensors, N, &options, &hyper));
    shape[0][0] = -1;
    expect(__LINE__, OPTGEN_BAD_SHAPE, "shape[0]", mine_memory_bytes(&needed, tensors, N, &options, &hyper));
    reset();
    expect(__LINE__, OPTGEN_OK, "", mine_create(&made, NULL, 0, &options, &hyper));
    expect(__LINE__, OPTGEN_OK, "", mine_step(made, &hyper));
    expect(__LINE__, OPTGEN_OK, "", mine_destroy(made));
}

static void stepping(void)
{
    STEP(OPTGEN_BAD_HYPER, "'lr' must be a number", hyper.lr = NAN);
    STEP(OPTGEN_BAD_HYPER, "'beta' must be in", hyper.beta = 2);
    STEP(OPTGEN_BAD_HYPER, "strong=true", hyper.beta = 0.99);
    STEP(OPTGEN_BAD_ARGUMENT, "the count of tensors[1] is -1", mine_counts(made)[1] = -1);
    STEP(OPTGEN_BAD_ARGUMENT, "the count of tensors[0] is", mine_counts(made)[0] = INT64_MAX);
    STEP(OPTGEN_NO_CONTEXT, "no such context", mine_destroy(made));
    const void *grads[N] = {grad[1], NULL};
    void *found;
    int64_t bytes;
    mine_context *made = NULL;
    reset();
    expect(__LINE__, OPTGEN_OK, "", mine_create(&made, tensors, N, &options, &hyper));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "params is NULL", mine_step(made, NULL));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "grads[1] is NULL", mine_set_gradients(made, grads));
    grads[1] = data[0];
    expect(__LINE__, OPTGEN_OVERLAP, "tensors[0].data overlaps tensors[1].grad", mine_set_gradients(made, grads));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "grads is NULL", mine_set_gradients(made, NULL));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "no state 'v'", mine_state(made, 0, "v", &found, &bytes));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "no tensor 2 of 2", mine_state(made, 2, "m", &found, &bytes));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "data is NULL", mine_state(made, 0, "m", NULL, &bytes));
    expect(__LINE__, OPTGEN_OK, "", mine_state(made, 0, "m", &found, &bytes));
    failures += bytes != SIZE * (int64_t)sizeof(float);
    grads[1] = found;
    expect(__LINE__, OPTGEN_OVERLAP, "tensors[1].grad overlaps the memory of states", mine_set_gradients(made, grads));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "another spec", adam_step((adam_context *)(void *)made, NULL));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "another spec", adam_destroy((adam_context *)(void *)made));
    expect(__LINE__, OPTGEN_OK, "", mine_destroy(made));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "destroyed", mine_destroy(made));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "destroyed", mine_step(made, &hyper));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "destroyed", mine_set_gradients(made, grads));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "destroyed", mine_state(made, 0, "m", &found, &bytes));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "NULL", mine_step(NULL, &hyper));
    expect(__LINE__, OPTGEN_OK, "", mine_destroy(NULL));
    calls++;
    failures += mine_counts(made) != NULL;
}

/* A step after a refused call is that of a context which never had the call: the weights go down by what grad says. */
static void expect_step(int line, mine_context *made)
{
    calls++;
    if (mine_step(made, &hyper) != OPTGEN_OK) {
        failures++;
        fprintf(stderr, "line %d: %s\n", line, both_error());
    }
    mine_tensor others[N];
    static float kept[N][SIZE];
    mine_context *fresh = NULL;
    memcpy(kept, data, sizeof kept);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < SIZE; k++)
            data[i][k] = 1;
        others[i] = tensors[i];
    }
    if (mine_create(&fresh, others, N, &options, &hyper) || mine_step(fresh, &hyper) || mine_destroy(fresh) ||
        memcmp(kept, data, sizeof kept)) {
        failures++;
        fprintf(stderr, "line %d: a refused call has changed the step\n", line);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < SIZE; k++)
            data[i][k] = 1;
}

/* A context whose tensors[0] is of 3 rows and may have gradients of some of them. */
static mine_context *made_for_rows(void)
{
    static const uint8_t named[N] = {1, 0};
    mine_context *made = NULL;
    reset();
    shape[0][0] = 3, shape[0][1] = 2;
    options.row_sparse = named;
    expect(__LINE__, OPTGEN_OK, "", mine_create(&made, tensors, N, &options, &hyper));
    return made;
}

/* What refused calls leave as it was. */
static void undoing(void)
{
    const int64_t rows[2] = {0, 2};
    const void *grads[N] = {hess[0], data[0]};
    mine_context *made = NULL;
    reset();
    expect(__LINE__, OPTGEN_OK, "", mine_create(&made, tensors, N, &options, &hyper));
    expect(__LINE__, OPTGEN_OVERLAP, "overlaps", mine_set_gradients(made, grads));
    expect_step(__LINE__, made);
    mine_destroy(made);
    made = made_for_rows();
    expect(__LINE__, OPTGEN_OVERLAP, "overlaps", mine_set_rows(made, 0, data[1], rows, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "a gradient of 7 rows", mine_set_rows(made, 0, grad[0], rows, 7));
    expect_step(__LINE__, made);
    mine_destroy(made);
}

/* Rows that a program changes behind a call are looked at again by the step. */
static void changing_rows(void)
{
    int64_t rows[2] = {0, 2};
    mine_context *const made = made_for_rows();
    expect(__LINE__, OPTGEN_OK, "", mine_set_rows(made, 0, grad[0], rows, 2));
    rows[1] = 1000;
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "rows[1] is 1000", mine_step(made, &hyper));
    mine_destroy(made);
}

/* Gradients of some rows: tensors[0] may have them. */
static void stepping_rows(void)
{
    static const uint8_t number[N] = {0, 1};
    const int64_t good[2] = {0, 2}, descending[2] = {2, 0}, twice[2] = {1, 1}, beyond[2] = {0, 3}, below[1] = {-1};
    CREATE(OPTGEN_BAD_SHAPE, "tensors[1] is a number", (options.row_sparse = number, tensors[1].rank = 0));
    mine_context *const made = made_for_rows();
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "no tensor 2", mine_set_rows(made, 2, grad[0], good, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "row_sparse did not say", mine_set_rows(made, 1, grad[1], good, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "a gradient of 4 rows", mine_set_rows(made, 0, grad[0], good, 4));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "a gradient of -1 rows", mine_set_rows(made, 0, grad[0], good, -1));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "rows is NULL", mine_set_rows(made, 0, grad[0], NULL, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "values is NULL", mine_set_rows(made, 0, NULL, good, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "rows ascend", mine_set_rows(made, 0, grad[0], descending, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "occurs once", mine_set_rows(made, 0, grad[0], twice, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "rows[1] is 3", mine_set_rows(made, 0, grad[0], beyond, 2));
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "rows[0] is -1", mine_set_rows(made, 0, grad[0], below, 1));
    expect(__LINE__, OPTGEN_OVERLAP, "tensors[0].grad", mine_set_rows(made, 0, data[1], good, 2));
    expect(__LINE__, OPTGEN_OK, "", mine_set_rows(made, 0, NULL, NULL, 0));
    const void *dense[N] = {NULL, hess[0]};
    expect(__LINE__, OPTGEN_BAD_ARGUMENT, "grads[1] is NULL", (dense[1] = NULL, mine_set_gradients(made, dense)));
    /* tensors[0] keeps its rows */
    expect(__LINE__, OPTGEN_OK, "", (dense[1] = hess[0], mine_set_gradients(made, dense)));
    expect(__LINE__, OPTGEN_OK, "", mine_set_rows(made, 0, grad[0], good, 2));
    expect(__LINE__, OPTGEN_OK, "", mine_destroy(made));
    expect(__LINE__, OPTGEN_NO_CONTEXT, "destroyed", mine_set_rows(made, 0, grad[0], good, 2));
}

int main(void)
{
    creating();
    stepping();
    stepping_rows();
    undoing();
    changing_rows();
    if (!failures)
        printf("%d calls, all as they should be\n", calls);
    return failures;
}
