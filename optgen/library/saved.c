/* Files of states: safetensors, which Python and other programs read and write, too. A file has the counts as "t", and
   the states of tensor i as "m.i", and says in its metadata which spec they are of. */

/* ---------------------------------------------------------------- shapes */

static const char *const file_dtypes[] = {"U8", "F16", "BF16", "F32", "F64"};

/* The shape of a state's array; how many lengths it has. */
static int32_t shape_of(const context *c, const buffer *b, int64_t i, int64_t *shape)
{
    const member *const m = &c->members[i];
    int32_t n = 0;
    if (b->entries != 1)
        shape[n++] = b->entries;
    switch (b->kind) {
    case KIND_ELEM:
        if (b->per != 1)
            shape[n++] = (m->size + b->per - 1) / b->per;
        else
            for (int32_t k = 0; k < (int32_t)m->of.rank; k++)
                shape[n++] = m->shape[k];
        break;
    case KIND_ROW: shape[n++] = m->matrices * m->rows; break;
    case KIND_COL: shape[n++] = m->matrices * m->cols; break;
    case KIND_MATRIX:
        if (c->spec->last_two && m->of.rank > 2)
            shape[n++] = m->matrices;
        for (int32_t k = 0; k < b->n_dims; k++)
            shape[n++] = b->dims[k] == DIM_ROWS ? m->rows : b->dims[k] == DIM_COLS ? m->cols : b->dims[k];
    }
    return n;
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

/* ---------------------------------------------------------------- text that grows */

typedef struct {
    char *at;
    size_t used, room;
    int is_whole; /* no memory was missing */
} text;

static void put(text *t, const char *format, ...)
{
    for (int attempt = 0; attempt < 2 && t->is_whole; attempt++) {
        va_list arguments;
        va_start(arguments, format);
        const int length = vsnprintf(t->at + t->used, t->room - t->used, format, arguments);
        va_end(arguments);
        if (length >= 0 && t->used + (size_t)length < t->room) {
            t->used += (size_t)length;
            return;
        }
        const size_t room = 2 * t->room + (size_t)(length > 0 ? length : 0) + 1;
        char *const more = realloc(t->at, room);
        t->is_whole = more != NULL;
        if (more) {
            t->at = more;
            t->room = room;
        }
    }
}

static void put_tensor(text *t, const char *dtype, const int64_t *shape, int32_t n, int64_t *offset, int64_t bytes)
{
    put(t, "{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (int32_t k = 0; k < n; k++)
        put(t, "%s%lld", k ? "," : "", (long long)shape[k]);
    put(t, "],\"data_offsets\":[%lld,%lld]}", (long long)*offset, (long long)(*offset + bytes));
    *offset += bytes;
}

/* ---------------------------------------------------------------- writing */

static text header_of(const context *c)
{
    const spec *const s = c->spec;
    text found = {malloc(4096), 0, 4096, 1};
    found.is_whole = found.at != NULL;
    int64_t offset = 0, shape[MOST_DIMENSIONS + 1] = {c->n};
    put(&found, "{\"__metadata__\":{\"spec\":\"%s\",\"identity\":\"%s\"},\"t\":", s->name, s->identity);
    put_tensor(&found, "I64", shape, 1, &offset, 8 * c->n);
    for (int64_t i = 0; i < c->n; i++)
        for (int32_t k = 0; k < s->n_states; k++)
            if (c->members[i].states[k]) {
                const buffer *const b = buffer_of(c, i, k);
                put(&found, ",\"%s.%lld\":", s->states[k], (long long)i);
                put_tensor(&found, file_dtypes[b->file_dtype], shape, shape_of(c, b, i, shape), &offset,
                           c->members[i].state_bytes[k]);
            }
    put(&found, "}");
    while (found.is_whole && found.used % 8)
        put(&found, " ");
    return found;
}

static int write_all(const context *c, FILE *file, const text *header)
{
    unsigned char length[8];
    for (int k = 0; k < 8; k++)
        length[k] = (unsigned char)((uint64_t)header->used >> 8 * k);
    int is_written = fwrite(length, 1, 8, file) == 8 && fwrite(header->at, 1, header->used, file) == header->used;
    is_written = is_written && fwrite(c->t, 8, (size_t)c->n, file) == (size_t)c->n;
    for (int64_t i = 0; i < c->n; i++)
        for (int32_t k = 0; k < c->spec->n_states && is_written; k++) {
            const size_t bytes = (size_t)c->members[i].state_bytes[k];
            if (c->members[i].states[k])
                is_written = fwrite(c->members[i].states[k], 1, bytes, file) == bytes;
        }
    return is_written && fflush(file) == 0;
}

/* Writes the counts and states of a context. A file of this name is replaced when the new one is complete. */
static optgen_status save(const spec *s, void *address, const char *path)
{
    context *const c = found(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!path)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: path is NULL", s->name);
    optgen_status status = check_due(c, 0);
    if (status)
        return status;
    text header = header_of(c);
    const size_t length = strlen(path);
    char *const temporary = malloc(length + 5);
    if (!header.is_whole || !temporary) {
        free(header.at);
        free(temporary);
        return no_memory(s);
    }
    memcpy(temporary, path, length);
    memcpy(temporary + length, ".new", 5);
    FILE *const file = fopen(temporary, "wb");
    int is_written = file && write_all(c, file, &header);
    if (file)
        is_written = fclose(file) == 0 && is_written;
    if (!is_written || rename(temporary, path)) {
        status = fail(OPTGEN_BAD_FILE, "%s: %s cannot be written: %s", s->name, path, strerror(errno));
        remove(temporary);
    }
    free(header.at);
    free(temporary);
    return status;
}

/* ---------------------------------------------------------------- reading: the part of JSON that headers have */

typedef struct {
    const char *at, *end;
    int is_wrong;
} reader;

typedef struct {
    const char *at; /* as it is written, with escapes */
    size_t length;
} word;

typedef struct {
    word name, dtype;
    int64_t shape[MOST_DIMENSIONS + 1], begin, end;
    int32_t n;
} entry;

static void skip_spaces(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static int next(reader *r, char wanted)
{
    skip_spaces(r);
    if (r->at < r->end && *r->at == wanted) {
        r->at++;
        return 1;
    }
    return 0;
}

static void need(reader *r, char wanted) { r->is_wrong |= !next(r, wanted); }

static word read_word(reader *r)
{
    need(r, '"');
    const char *const begin = r->at;
    while (r->at < r->end && *r->at != '"')
        r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    const word found = {begin, (size_t)(r->at - begin)};
    need(r, '"');
    return found;
}

static int64_t read_count(reader *r)
{
    int64_t found = 0;
    skip_spaces(r);
    const char *const begin = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && found < INT64_MAX / 16)
        found = 10 * found + (*r->at++ - '0');
    r->is_wrong |= r->at == begin || r->at - begin > 17;
    return found;
}

/* The numbers of an array, of which `most` are kept; how many there are. */
static int32_t read_counts(reader *r, int64_t *kept, int32_t most)
{
    int32_t n = 0;
    need(r, '[');
    if (next(r, ']'))
        return 0;
    do {
        const int64_t x = read_count(r);
        if (n < most)
            kept[n] = x;
        n++;
    } while (!r->is_wrong && n < 1000 && next(r, ','));
    need(r, ']');
    return n;
}

static int is_word(word w, const char *text) { return w.length == strlen(text) && memcmp(w.at, text, w.length) == 0; }

static void read_entry(reader *r, entry *e)
{
    int seen = 0;
    need(r, '{');
    do {
        const word key = read_word(r);
        need(r, ':');
        if (is_word(key, "dtype")) {
            e->dtype = read_word(r);
            seen |= 1;
        } else if (is_word(key, "shape")) {
            e->n = read_counts(r, e->shape, MOST_DIMENSIONS + 1);
            seen |= 2;
        } else if (is_word(key, "data_offsets")) {
            int64_t both[2] = {0, 0};
            r->is_wrong |= read_counts(r, both, 2) != 2;
            e->begin = both[0];
            e->end = both[1];
            seen |= 4;
        } else {
            r->is_wrong = 1;
        }
    } while (!r->is_wrong && next(r, ','));
    need(r, '}');
    r->is_wrong |= seen != 7 || e->n > MOST_DIMENSIONS + 1 || e->begin > e->end;
}

/* The texts of the metadata; that of "identity", if there is one. */
static word read_metadata(reader *r)
{
    word identity = {NULL, 0};
    need(r, '{');
    if (next(r, '}'))
        return identity;
    do {
        const word key = read_word(r);
        need(r, ':');
        const word value = read_word(r);
        if (is_word(key, "identity"))
            identity = value;
    } while (!r->is_wrong && next(r, ','));
    need(r, '}');
    return identity;
}

static int compare_words(word a, word b)
{
    const int order = memcmp(a.at, b.at, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_words(((const entry *)a)->name, ((const entry *)b)->name);
}

/* A file in memory. */
typedef struct {
    char *content;
    const char *data; /* after the header */
    int64_t data_bytes;
    entry *entries;
    size_t count;
    word identity;
} states_file;

/* Reads the header of what is in memory. 0: it is no such file, or there is no memory. */
static int read_header(states_file *f, int64_t bytes)
{
    uint64_t length = 0;
    for (int k = 0; k < 8 && bytes >= 8; k++)
        length |= (uint64_t)(unsigned char)f->content[k] << 8 * k;
    if (bytes < 8 || length > (uint64_t)bytes - 8)
        return 0;
    reader r = {f->content + 8, f->content + 8 + length, 0};
    f->data = r.end;
    f->data_bytes = bytes - 8 - (int64_t)length;
    f->entries = calloc((size_t)length / 40 + 1, sizeof(entry)); /* no entry is shorter */
    if (!f->entries)
        return 0;
    need(&r, '{');
    do {
        const word name = read_word(&r);
        need(&r, ':');
        if (is_word(name, "__metadata__")) {
            f->identity = read_metadata(&r);
            continue;
        }
        entry *const e = &f->entries[f->count];
        if (r.is_wrong || f->count >= (size_t)length / 40)
            return 0;
        e->name = name;
        read_entry(&r, e);
        if (r.is_wrong || e->end > f->data_bytes)
            return 0;
        f->count++;
    } while (!r.is_wrong && next(&r, ','));
    need(&r, '}');
    qsort(f->entries, f->count, sizeof(entry), compare_entries);
    return !r.is_wrong;
}

/* The array of a file that has this name, dtype and shape, of so many bytes; NULL and an error if there is none. */
static const entry *wanted(const spec *s, const states_file *f, const char *name, const char *dtype,
                           const int64_t *shape, int32_t n, int64_t bytes)
{
    entry key;
    memset(&key, 0, sizeof key);
    key.name.at = name;
    key.name.length = strlen(name);
    const entry *const e = f->count ? bsearch(&key, f->entries, f->count, sizeof(entry), compare_entries) : NULL;
    if (!e) {
        fail(OPTGEN_BAD_FILE, "%s: the file has no '%s': it is of other tensors, or of another optimizer", s->name,
             name);
        return NULL;
    }
    int is_same = is_word(e->dtype, dtype) && e->n == n && e->end - e->begin == bytes;
    for (int32_t k = 0; is_same && k < n; k++)
        is_same = e->shape[k] == shape[k];
    if (is_same)
        return e;
    fail(OPTGEN_BAD_FILE, "%s: '%s' has another shape or dtype in the file than here, where it is %s", s->name, name,
         dtype);
    return NULL;
}

/* Copies the arrays of a file, or only looks whether they are there. */
static optgen_status copy_states(context *c, const states_file *f, int is_copied)
{
    const spec *const s = c->spec;
    int64_t shape[MOST_DIMENSIONS + 1] = {c->n};
    const entry *e = wanted(s, f, "t", "I64", shape, 1, 8 * c->n);
    if (!e)
        return OPTGEN_BAD_FILE;
    for (int64_t i = 0; i < c->n && !is_copied; i++) {
        int64_t count;
        memcpy(&count, f->data + e->begin + 8 * i, 8);
        if (count < 0 || count > (INT64_C(1) << 53))
            return fail(OPTGEN_BAD_FILE, "%s: t[%lld] is %lld in the file; a count is from 0 to 2^53", s->name,
                        (long long)i, (long long)count);
    }
    if (is_copied)
        memcpy(c->t, f->data + e->begin, (size_t)(8 * c->n));
    for (int64_t i = 0; i < c->n; i++)
        for (int32_t k = 0; k < s->n_states; k++) {
            char name[MOST_NAME + 24];
            const int64_t bytes = c->members[i].state_bytes[k];
            if (!c->members[i].states[k])
                continue;
            const buffer *const b = buffer_of(c, i, k);
            snprintf(name, sizeof name, "%s.%lld", s->states[k], (long long)i);
            e = wanted(s, f, name, file_dtypes[b->file_dtype], shape, shape_of(c, b, i, shape), bytes);
            if (!e)
                return OPTGEN_BAD_FILE;
            if (is_copied)
                memcpy(c->members[i].states[k], f->data + e->begin, (size_t)bytes);
        }
    return OPTGEN_OK;
}

/* The content of a file; NULL if it cannot be read. */
static char *content_of(const char *path, int64_t *bytes)
{
    FILE *const file = fopen(path, "rb");
    char *found = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (*bytes = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        found = malloc((size_t)*bytes + 1);
    if (found && fread(found, 1, (size_t)*bytes, file) != (size_t)*bytes) {
        free(found);
        found = NULL;
    }
    if (file)
        fclose(file);
    return found;
}

/* Reads counts and states. After an error nothing has changed. */
static optgen_status load(const spec *s, void *address, const char *path)
{
    context *const c = found(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!path)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: path is NULL", s->name);
    int64_t bytes = 0;
    states_file f = {content_of(path, &bytes), NULL, 0, NULL, 0, {NULL, 0}};
    if (!f.content)
        return fail(OPTGEN_BAD_FILE, "%s: %s cannot be read: %s", s->name, path, strerror(errno));
    optgen_status status = OPTGEN_OK;
    if (!read_header(&f, bytes))
        status = fail(OPTGEN_BAD_FILE, "%s: %s is no safetensors file, or damaged", s->name, path);
    else if (f.identity.at && !is_word(f.identity, s->identity))
        status = fail(OPTGEN_BAD_FILE, "%s: %s has states of another optimizer, or of another version of it", s->name,
                      path);
    if (!status)
        status = copy_states(c, &f, 0);
    if (!status)
        status = copy_states(c, &f, 1);
    if (!status)
        c->due = 0;
    free(f.entries);
    free(f.content);
    return status;
}
