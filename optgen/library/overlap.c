/* Memory that a step writes, and that overlaps with something else. */

/* Memory of a tensor, or that of states, whose number is -1. */
typedef struct {
    uint64_t begin, end; /* a tensor that is not there may end beyond all memory */
    int64_t tensor;
    const char *field;
    int32_t is_written;
} range;

/* By where they begin, then by tensors, so that an error is the same with every C library's qsort. */
static int compare_ranges(const void *x, const void *y)
{
    const range *const a = x, *const b = y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->tensor != b->tensor)
        return a->tensor < b->tensor ? -1 : 1;
    return b->is_written - a->is_written;
}

static optgen_status overlap(const spec *s, const range *a, const range *b)
{
    const range *const one = a->tensor < 0 ? b : a, *const other = a->tensor < 0 ? a : b;
    if (other->tensor < 0)
        return fail(OPTGEN_OVERLAP, "%s: tensors[%lld].%s overlaps the memory of states, which a step writes", s->name,
                    (long long)one->tensor, one->field);
    return fail(OPTGEN_OVERLAP, "%s: tensors[%lld].%s overlaps tensors[%lld].%s, and a step writes there", s->name,
                (long long)one->tensor, one->field, (long long)other->tensor, other->field);
}

/* An error if something that a step writes overlaps with what else it has, or kernels cannot reach it. `memory` is that
   of states; `out`, which may be NULL, are the weights to evaluate with. */
static optgen_status check_memory(const context *c, const void *memory, int64_t memory_bytes, void *const *out)
{
    const spec *const s = c->spec;
    const int64_t each = 3 + s->n_inputs;
    range *const ranges = malloc(sizeof(range) * (size_t)(c->n * each + 1));
    if (!ranges)
        return no_memory(s);
    int64_t count = 0;
    optgen_status status = OPTGEN_OK;
    for (int64_t i = 0; i < c->n && !status; i++) {
        const member *const m = &c->members[i];
        const uint64_t bytes = (uint64_t)(m->size * bytes_of(c->dtype));
        /* of the gradient, which may have some rows only */
        const uint64_t row = m->length ? bytes / (uint64_t)m->length : 0;
        const uint64_t given = m->present < 0 ? bytes : row * (uint64_t)m->present;
        for (int64_t k = 0; bytes && k < each && !status; k++) {
            const void *const places[] = {m->data, m->grad, out ? out[i] : NULL};
            const char *const fields[] = {"data", "grad", "out"};
            const void *const p = k < 3 ? places[k] : c->inputs[i * s->n_inputs + k - 3];
            const char *const field = k < 3 ? fields[k] : s->inputs[k - 3];
            if (!p || (k == 1 && !given))
                continue;
            status = check_place(c, p, i, field);
            ranges[count++] = (range){(uintptr_t)p, (uintptr_t)p + (k == 1 ? given : bytes), i, field,
                                      k == 0 || k == 2};
        }
    }
    if (memory && !status)
        status = check_place(c, memory, -1, "");
    if (memory && memory_bytes > 0)
        ranges[count++] = (range){(uintptr_t)memory, (uintptr_t)memory + (uint64_t)memory_bytes, -1, "", 1};
    qsort(ranges, (size_t)count, sizeof(range), compare_ranges);
    range any = {0, 0, 0, "", 0}, written = any; /* those that reach furthest */
    for (int64_t k = 0; k < count && !status; k++) {
        const range now = ranges[k], before = now.is_written ? any : written;
        if (now.begin < before.end)
            status = overlap(s, &before, &now);
        if (now.end > any.end)
            any = now;
        if (now.is_written && now.end > written.end)
            written = now;
    }
    free(ranges);
    return status;
}
