/* Updates in stages, and all kernels of a section. */

/* Hands the counts of its tensors, less `behind`, to the kernel of a group; `step` is the count that all tensors share,
   and `turns` are the numbers of the turns of loops. */
static void set_numbers(const context *c, group *own, int64_t behind, int64_t step, const double *turns)
{
    const kernel *const of = own->kernel;
    const int64_t n = own->step.n;
    for (int64_t j = 0; j < n; j++)
        own->step.t[j] = c->t[own->order[j]] - behind;
    for (int32_t k = 0; k < of->n_hyper; k++)
        for (int64_t j = 0; of->hyper[k] <= HYPER_STEP && j < n; j++)
            own->hyper[k * n + j] = of->hyper[k] == HYPER_STEP ? (double)step : turns[HYPER_TURN - of->hyper[k]];
}

/* Has values of rows without elements be 0: no kernel visits such rows. */
static void clear_rows(const context *c, const group *own)
{
    const kernel *const k = own->kernel;
    for (int64_t j = 0; j < own->step.n; j++)
        for (int32_t b = 0; b < k->n_buffers && own->step.size[j] == 0; b++)
            if (k->buffers[b].is_made) {
                const buffer *const array = &own->program->arrays[k->buffers[b].number];
                memset(own->buffers[j * k->n_buffers + b], 0,
                       (size_t)(items_of(array, &c->members[own->order[j]]) * array->bytes));
            }
}

/* What all stages of an update know. */
typedef struct {
    int64_t behind, step;
    double *turns;
    const double *numbers;
} update;

/* Runs the stages from `begin` to `end` of an update, whose groups begin with `first`. */
static optgen_status run_stages(context *c, group *first, int32_t begin, int32_t end, const update *of)
{
    const program *const p = first->program;
    optgen_status status = OPTGEN_OK;
    for (int32_t k = begin; k < end && !status; k++) {
        const stage *const s = &p->stages[k];
        if (s->kernel) {
            group *const own = first + s->number;
            clear_rows(c, own);
            set_numbers(c, own, of->behind, of->step, of->turns);
            status = run_groups(c, own, own + 1);
            continue;
        }
        if (s->call) {
            status = s->call->run(c, first, s->call, of->numbers + s->call->first_number);
            continue;
        }
        for (int32_t turn = 0; turn < s->turns && !status; turn++) {
            const int32_t body = turn ? 2 - turn % 2 : 0;
            if (s->turn >= 0)
                of->turns[s->turn] = turn;
            status = run_stages(c, first, s->bodies[body], s->bodies[body + 1], of);
        }
        k = s->bodies[3] - 1;
    }
    return status;
}

/* The plan of an update of a tensor that is number `count`. */
static const plan *plan_of(const program *p, const double *numbers, int64_t count)
{
    int32_t due = 0;
    for (int32_t k = 0; k < p->n_timings; k++) {
        const double *const own = numbers + p->n_numbers - 2 * (p->n_timings - k);
        const double since = (double)count - own[1];
        if (since >= 0 && own[0] >= 1 && fmod(since, own[0]) == 0)
            due |= 1 << k;
    }
    return &p->plans[due * (1 + p->starts) + (p->starts && count == 1)];
}

/* Copies the weights and states of a tensor to the room for them, or back. */
static void keep(const context *c, const member *m, int is_back)
{
    char *at = m->before;
    for (int32_t k = -1; k < c->spec->n_states; k++) {
        void *const own = k < 0 ? m->data : m->states[k];
        const size_t bytes = !own ? 0 : k < 0 ? (size_t)(m->size * bytes_of(c->dtype)) : (size_t)m->state_bytes[k];
        if (bytes)
            memcpy(is_back ? own : at, is_back ? at : own, bytes);
        at += bytes;
    }
}

/* An error if a gradient, of which matrices are factorized, has a NaN or an infinity. */
static optgen_status check_gradient(const context *c, int64_t i)
{
    const member *const m = &c->members[i];
    const int64_t count = m->present < 0 ? m->size : m->length ? m->size / m->length * m->present : 0;
    const unsigned char *const bytes = m->grad;
    const int32_t each = bytes_of(c->dtype);
    for (int64_t k = 0; k < count && c->spec->reads_grad; k++) {
        uint64_t bits = 0;
        memcpy(&bits, bytes + k * each, (size_t)each); /* the first bytes are the lowest ones */
        const uint64_t exponent = c->dtype == OPTGEN_FLOAT64   ? UINT64_C(0x7FF0000000000000)
                                  : c->dtype == OPTGEN_FLOAT32 ? 0x7F800000u
                                  : c->dtype == OPTGEN_FLOAT16 ? 0x7C00u
                                                               : 0x7F80u;
        if ((bits & exponent) == exponent)
            return fail(OPTGEN_NO_FACTORIZATION,
                        "%s: tensors[%lld].grad has a NaN or an infinity, and matrices of it are "
                        "factorized; nothing was updated", c->spec->name, (long long)i);
    }
    return OPTGEN_OK;
}

/* Makes the updates of a section that consist of stages: those that may fail, or the others. After an error the tensors
   of those that may fail are as they were. */
static optgen_status run_programs(context *c, int32_t section, int may_fail, int64_t behind, int64_t step)
{
    double turns[MOST_TURNS], numbers[MOST_NUMBERS];
    const update of = {behind - 1, step, turns, numbers};
    group *const end = c->groups + c->first_group[section + 1];
    optgen_status status = OPTGEN_OK;
    group *g = c->groups + c->first_group[section];
    for (; g < end && !status; g++) {
        const program *const p = g->program;
        if (!p || g->number)
            continue;
        const int64_t i = g->order[0];
        if (p->numbers)
            p->numbers(c->hyper + i * c->spec->n_hypers, &c->members[i].of, numbers);
        const plan *const chosen = plan_of(p, numbers, c->t[i] - of.behind);
        if (chosen->may_fail != may_fail)
            continue;
        if (may_fail) {
            status = check_gradient(c, i);
            if (status)
                break;
            keep(c, &c->members[i], 0);
        }
        status = run_stages(c, g, chosen->begin, chosen->end, &of);
        c->members[i].is_changed = may_fail;
    }
    for (int64_t i = 0; i < c->n; i++) {
        if (status && c->members[i].is_changed)
            keep(c, &c->members[i], 1);
        c->members[i].is_changed = 0;
    }
    return status;
}

/* Runs the kernels of a section. They are given counts that are `behind` those of the tensors, to which `added` is then
   added; stages are given those of the update itself. "step", the count that all tensors share, is the largest of
   theirs. What may fail comes first, so that nothing has changed then. */
static optgen_status run(context *c, int32_t section, int64_t behind, int64_t added)
{
    int64_t newest = 0;
    for (int64_t i = 0; i < c->n; i++)
        newest = c->t[i] > newest ? c->t[i] : newest;
    for (int64_t g = c->first_group[section]; g < c->first_group[section + 1]; g++) {
        group *const own = &c->groups[g];
        if (!own->program)
            set_numbers(c, own, behind, newest + added, NULL);
    }
    optgen_status status = begin_run(c);
    if (status)
        return status;
    for (int may_fail = 1; may_fail >= 0 && !status; may_fail--)
        status = run_programs(c, section, may_fail, behind, newest + added);
    group *const end = c->groups + c->first_group[section + 1];
    for (group *g = c->groups + c->first_group[section], *next; g < end && !status; g = next) {
        for (next = g + 1; next < end && !next->program == !g->program; next++)
            ;
        if (!g->program)
            status = run_groups(c, g, next);
    }
    status = end_run(c, status);
    for (int64_t i = 0; i < c->n && !status; i++)
        c->t[i] += added;
    return status;
}
