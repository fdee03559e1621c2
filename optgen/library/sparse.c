/* Row-sparse gradients: those that have some rows of a tensor, and zeros elsewhere. The numbers of rows and their
   values are the program's memory, which each step reads. */

/* An error if rows are none of the tensor, or not in order. */
static optgen_status check_rows(const spec *s, const member *m, int64_t i, const void *values, const int64_t *rows,
                                int64_t count)
{
    if (count < 0 || count > m->length)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: a gradient of %lld rows, and tensors[%lld] has %lld", s->name,
                    (long long)count, (long long)i, (long long)m->length);
    if (count && (!rows || (m->size && !values)))
        return fail(OPTGEN_BAD_ARGUMENT, "%s: %s is NULL", s->name, rows ? "values" : "rows");
    for (int64_t k = 0; k < count; k++) {
        if (rows[k] < 0 || rows[k] >= m->length)
            return fail(OPTGEN_BAD_ARGUMENT, "%s: rows[%lld] is %lld, and tensors[%lld] has %lld rows", s->name,
                        (long long)k, (long long)rows[k], (long long)i, (long long)m->length);
        if (k && rows[k] <= rows[k - 1])
            return fail(OPTGEN_BAD_ARGUMENT,
                        "%s: rows[%lld] is %lld, after %lld; rows ascend, and each occurs once, so sum "
                        "those of one number", s->name, (long long)k, (long long)rows[k], (long long)rows[k - 1]);
    }
    return OPTGEN_OK;
}

/* Fills the dense copy of a gradient, for a kernel that updates all rows. */
static void fill_copy(const context *c, member *m)
{
    const size_t all = (size_t)(m->size * bytes_of(c->dtype)), bytes = m->length ? all / (size_t)m->length : 0;
    memset(m->copy, 0, all);
    for (int64_t k = 0; k < m->present && bytes; k++)
        memcpy(m->copy + (size_t)m->index[k] * bytes, (const char *)m->grad + (size_t)k * bytes, bytes);
}

/* Has the kernel of a group update the rows of gradients alone, where it can. */
static optgen_status set_index(const context *c, group *own)
{
    for (int64_t j = 0; j < own->step.n; j++) {
        const member *const m = &c->members[own->order[j]];
        const int lazy = is_lazy(c, m) && m->present >= 0;
        own->index[j] = lazy ? m->index : NULL;
        own->present[j] = !lazy ? -1 : m->size ? m->present : 0; /* rows without elements are not updated */
    }
    own->step.index = own->index;
    own->step.present = own->present;
    const int64_t needed = own->kernel->program ? 0 : workspace_bytes(own);
    if (needed > own->workspace_bytes) {
        double *const more = realloc(own->more, (size_t)needed);
        if (!more)
            return no_memory(c->spec);
        own->more = own->step.workspace = more;
        own->workspace_bytes = needed;
    }
    return OPTGEN_OK;
}

/* Makes a step of row-sparse gradients ready. An error if rows, which a program may have changed, are none. */
static optgen_status ready_rows(context *c)
{
    optgen_status status = OPTGEN_OK;
    if (!c->has_sparse)
        return OPTGEN_OK;
    for (int64_t i = 0; i < c->n && !status; i++) {
        const member *const m = &c->members[i];
        if (m->present >= 0)
            status = check_rows(c->spec, m, i, m->grad, m->index, m->present);
    }
    for (int64_t g = 0; g < c->first_group[1] && !status; g++)
        status = set_index(c, &c->groups[g]);
    for (int64_t i = 0; i < c->n && !status; i++)
        if (c->members[i].present >= 0 && !is_lazy(c, &c->members[i]))
            fill_copy(c, &c->members[i]);
    return status;
}
