/* The states that tensors have: what they start as, and where they are. */

enum { CHUNK_BYTES = 1 << 20 };

static int64_t items_of(const buffer *b, const member *m)
{
    const int64_t entries = b->entries ? b->entries : 1;
    switch (b->kind) {
    case KIND_ELEM: return (m->size + b->per - 1) / b->per * entries;
    case KIND_ROW: return m->matrices * m->rows * entries;
    case KIND_COL: return m->matrices * m->cols * entries;
    case KIND_MATRIX: return m->matrices * length_of(m, b->axes[0]) * length_of(m, b->axes[1]) * entries;
    default: return entries;
    }
}

/* Where an array begins, from `at` on; if it is not `made`, the last place where it may. Elements lie in cache lines
   and pages as those of the parameter do: a load waits for an earlier store to the same place of another page. */
static uint64_t placed(uint64_t at, int64_t bytes, const buffer *b, const void *data, int32_t data_bytes, int made)
{
    const uint64_t unit = bytes < PAGED_BYTES ? LINE : PAGE;
    uint64_t offset = 0;
    if (!made)
        return at + unit;
    if (b->kind == KIND_ELEM && b->per == 1)
        offset = (uintptr_t)data % PAGE / (uint64_t)data_bytes * (uint64_t)b->bytes;
    return at + (offset - at) % unit;
}

static float from_half(uint16_t bits)
{
    const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                            : exponent     ? ldexpf((float)(fraction + 1024), (int)exponent - 25)
                                           : ldexpf((float)fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static float from_bfloat16(uint16_t bits)
{
    const uint32_t all = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &all, sizeof x);
    return x;
}

/* The buffer of a state in the kernels of a tensor; NULL if it has none. */
static const buffer *buffer_of(const context *c, int64_t i, int32_t number)
{
    for (int32_t section = 0; section < c->spec->sections; section++) {
        const kernel *const k = kernel_of(c, section, &c->members[i]);
        for (int32_t j = 0; j < k->n_buffers; j++)
            if (k->buffers[j].role == ROLE_STATE && k->buffers[j].start != START_NONE && k->buffers[j].number == number)
                return &k->buffers[j];
    }
    return NULL;
}

/* Copies to a state, and from it, some bytes that begin at an address in it. */
static optgen_status write_state(const context *c, const buffer *b, void *to, const void *from, int64_t bytes)
{
    if (!b->is_host)
        return copy_to(c, to, from, bytes);
    memcpy(to, from, (size_t)bytes);
    return OPTGEN_OK;
}

static optgen_status read_state(const context *c, const buffer *b, void *to, const void *from, int64_t bytes)
{
    if (!b->is_host)
        return copy_from(c, to, from, bytes);
    memcpy(to, from, (size_t)bytes);
    return OPTGEN_OK;
}

/* Has a chunk hold `count` weights of a tensor, from number `first` on, as items of a state. */
static optgen_status chunk_of_weights(const context *c, const buffer *b, const member *m, int64_t first, int64_t count,
                                      char *chunk)
{
    const int32_t bytes = bytes_of(c->dtype);
    char *const weights = chunk + (b->bytes == bytes ? 0 : b->bytes * count);
    const optgen_status status = copy_from(c, weights, (const char *)m->data + first * bytes, count * bytes);
    for (int64_t k = 0; b->bytes != bytes && !status && k < count; k++) {
        uint16_t bits; /* of a float32 of 16 bits: the library has no others */
        memcpy(&bits, weights + 2 * k, sizeof bits);
        ((float *)chunk)[k] = c->dtype == OPTGEN_FLOAT16 ? from_half(bits) : from_bfloat16(bits);
    }
    return status;
}

/* Fills a state of a tensor, chunk by chunk. Its memory is 0. */
static optgen_status start(const context *c, const buffer *b, int64_t i, char *chunk)
{
    const member *const m = &c->members[i];
    const int64_t items = items_of(b, m), most = items < CHUNK_BYTES / 8 ? items : CHUNK_BYTES / 8;
    const double hyper = b->start == START_HYPER ? c->hyper[i * c->spec->n_hypers + b->number_of_hyper] : 0;
    const float rounded = (float)hyper;
    const void *const item = b->start == START_ITEM ? (const void *)b->item : b->bytes == 4 ? (const void *)&rounded
                                                                                            : (const void *)&hyper;
    optgen_status status = OPTGEN_OK;
    for (int64_t k = 0; b->start != START_WEIGHT && k < most; k++)
        memcpy(chunk + k * b->bytes, item, (size_t)b->bytes);
    for (int64_t first = 0; first < items && !status; first += most) {
        const int64_t count = items - first < most ? items - first : most;
        if (b->start == START_WEIGHT)
            status = chunk_of_weights(c, b, m, first, count, chunk);
        if (!status)
            status = write_state(c, b, (char *)m->states[b->number] + first * b->bytes, chunk, count * b->bytes);
    }
    return status;
}

/* Fills all states, whose memory is 0, with what they start as. */
static optgen_status start_states(const context *c)
{
    char *const chunk = malloc(CHUNK_BYTES);
    optgen_status status = chunk ? OPTGEN_OK : no_memory(c->spec);
    for (int64_t i = 0; i < c->n; i++)
        for (int32_t k = 0; k < c->spec->n_states && !status; k++) {
            const buffer *const b = buffer_of(c, i, k);
            if (b && b->start != START_ZERO && (b->kind != KIND_SHARED || i == 0))
                status = start(c, b, i, chunk);
        }
    free(chunk);
    return status;
}

/* Where memory of the device and of the host ends that is given to states and workspaces. */
typedef struct {
    uint64_t device, host;
} ends;

/* Places the states of a tensor from `at` on. They are made if `made`. */
static void lay_out_tensor(context *c, int64_t i, ends *at, void **shared, int made)
{
    const spec *const s = c->spec;
    member *const m = &c->members[i];
    memset(m->states, 0, sizeof(void *) * (size_t)s->n_states);
    for (int32_t section = 0; section < s->sections; section++) {
        const kernel *const k = kernel_of(c, section, m);
        for (int32_t j = 0; j < k->n_buffers; j++) {
            const buffer *const b = &k->buffers[j];
            if (b->role != ROLE_STATE || b->start == START_NONE || m->states[b->number])
                continue;
            const int64_t items = items_of(b, m), bytes = items * b->bytes;
            m->state_bytes[b->number] = bytes;
            if (b->kind == KIND_SHARED && shared[b->number]) {
                m->states[b->number] = shared[b->number];
                continue;
            }
            uint64_t *const end = b->is_host ? &at->host : &at->device;
            *end = placed(*end, bytes, b, m->data, bytes_of(c->dtype), made);
            m->states[b->number] = (void *)(uintptr_t)*end;
            if (b->kind == KIND_SHARED)
                shared[b->number] = (void *)(uintptr_t)*end;
            *end += (uint64_t)bytes + 1; /* so that no two states have one address */
            if (*end > MOST_BYTES && !made)
                *end = MOST_BYTES; /* there is no such memory */
        }
    }
}

/* Places the work arrays of an update in stages from `at` on; where they end. */
static uint64_t lay_out_arrays(const context *c, const group *g, uint64_t at, int made)
{
    const program *const p = g->number == 0 ? g->program : NULL;
    for (int64_t j = 0; p && j < g->step.n; j++)
        for (int32_t k = 0; k < p->n_arrays; k++) {
            const buffer *const b = &p->arrays[k];
            const member *const m = &c->members[g->order[j]];
            void **const place = &g->arrays[j * p->n_arrays + k];
            if (b->kind == KIND_SHARED && j) {
                *place = g->arrays[k];
                continue;
            }
            at = placed(at, items_of(b, m) * b->bytes, b, m->data, bytes_of(c->dtype), made);
            *place = (void *)(uintptr_t)at;
            at += (uint64_t)(items_of(b, m) * b->bytes);
            if (at > MOST_BYTES && !made)
                at = MOST_BYTES; /* there is no such memory */
        }
    return at;
}

/* The memory that the calls of a program need. */
static uint64_t call_bytes(const context *c, const group *first)
{
    const program *const p = first->program;
    int64_t most = 0;
    for (int32_t k = 0; k < p->n_stages; k++) {
        const call *const of = p->stages[k].call;
        const int64_t bytes = of ? of->bytes(first, &c->members[first->order[0]], of) : 0;
        most = bytes > most ? bytes : most;
    }
    return (uint64_t)most;
}

static uint64_t line_from(uint64_t at, int made) { return at + (made ? (LINE - at % LINE) % LINE : LINE); }

/* Places what a group needs from `at` on; where it ends. */
static uint64_t lay_out_group(const context *c, group *g, uint64_t at, int made)
{
    at = line_from(lay_out_arrays(c, g, at, made), made);
    at += (uint64_t)place_workspace(g, at);
    if (!g->program || !g->program->alone || g->number)
        return at;
    at = line_from(at, made);
    g->for_calls = (char *)(uintptr_t)at;
    at += call_bytes(c, g);
    return at > MOST_BYTES && !made ? MOST_BYTES : at;
}

/* Places what all groups need from `at` on; where it ends. Tensors that are updated alone have the same memory, one
   after the other. */
static uint64_t lay_out_groups(context *c, uint64_t at, int made)
{
    for (int32_t alone = 0; alone < 2; alone++) {
        const uint64_t begin = at;
        uint64_t end = at;
        for (int64_t k = 0; k < group_count(c); k++) {
            group *const g = &c->groups[k];
            if ((g->program && g->program->alone) != alone)
                continue;
            if (alone && g->number == 0)
                at = begin;
            at = lay_out_group(c, g, at, made);
            end = at > end ? at : end;
        }
        at = end;
    }
    return at;
}

/* Places the room for weights and states of tensors whose updates may fail. */
static uint64_t lay_out_copies(context *c, uint64_t at)
{
    for (int64_t k = 0; k < group_count(c); k++) {
        const group *const g = &c->groups[k];
        member *const m = g->program && g->program->may_fail && g->number == 0 ? &c->members[g->order[0]] : NULL;
        if (!m)
            continue;
        m->before = (char *)(uintptr_t)at;
        at += (uint64_t)(m->size * bytes_of(c->dtype));
        for (int32_t s = 0; s < c->spec->n_states; s++)
            at += m->states[s] ? (uint64_t)m->state_bytes[s] : 0;
    }
    return at;
}

/* Places all states and workspaces from `at` on; where they end. They are made if `made`. Places have 64 bits also
   where pointers have fewer: what is needed may be more than there can be. */
static ends lay_out(context *c, ends at, int made)
{
    void *shared[MOST_STATES] = {0};
    for (int64_t i = 0; i < c->n; i++)
        lay_out_tensor(c, i, &at, shared, made);
    at.device = lay_out_copies(c, lay_out_groups(c, at.device, made));
    return at;
}

/* How much memory states and workspaces need, wherever it and the tensors are. */
static ends memory_of(context *c) { return lay_out(c, (ends){0, 0}, 0); }

/* Makes the memory of states and workspaces, or takes the caller's, and has states there, as they start. */
static optgen_status make_states(context *c, const request *r)
{
    const ends needed = memory_of(c);
    const int64_t bytes = (int64_t)needed.device;
    if (r->memory && r->memory_bytes < bytes)
        return fail(OPTGEN_NO_MEMORY, "%s: options.memory_bytes is %lld, and %lld are needed", c->spec->name,
                    (long long)r->memory_bytes, (long long)bytes);
    optgen_status status = r->memory ? clear(c, r->memory, bytes) : allocate(c, bytes);
    if (status)
        return status;
    c->memory = r->memory ? r->memory : c->block;
    c->memory_bytes = bytes;
    c->host_bytes = (int64_t)needed.host;
    c->host = calloc(1, needed.host + 1);
    if (!c->host)
        return no_memory(c->spec);
    lay_out(c, (ends){(uintptr_t)c->memory, (uintptr_t)c->host}, 1);
    return start_states(c);
}
