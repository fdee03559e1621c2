/* Files of states: safetensors, which Python and other programs read and write, too. A file has the counts as "t", and
   the states of tensor i as "m.i", and says in its metadata which spec they are of. */

/* ---------------------------------------------------------------- shapes */

static const char *const file_dtypes[] = {"U8", "F16", "BF16", "F32", "F64"};

/* The shape of a state's array; how many lengths it has. */
static int32_t shape_of(const context *c, const buffer *b, int64_t i, int64_t *shape)
{
    const member *const m = &c->members[i];
    int32_t n = 0;
    if (b->entries)
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
        if (m->is_batch)
            shape[n++] = m->matrices;
        shape[n++] = length_of(m, b->axes[0]);
        if (b->axes[1] != AXIS_NONE)
            shape[n++] = length_of(m, b->axes[1]);
        break;
    default: break;
    }
    return n;
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
    put(&found, "{\"__metadata__\":{\"spec\":\"%s\",\"identity\":\"%s\"},\"t\":", s->written, s->identity);
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

/* Writes a state, chunk by chunk. 0, and why in errno or in `status`, if that fails. */
static int write_array(const context *c, FILE *file, int64_t i, int32_t k, char *chunk, optgen_status *status)
{
    const member *const m = &c->members[i];
    const buffer *const b = buffer_of(c, i, k);
    const int64_t bytes = m->state_bytes[k];
    int is_written = 1;
    for (int64_t at = 0; at < bytes && is_written; at += CHUNK_BYTES) {
        const int64_t count = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        *status = read_state(c, b, chunk, (const char *)m->states[k] + at, count);
        is_written = !*status && fwrite(chunk, 1, (size_t)count, file) == (size_t)count;
    }
    return is_written;
}

static int write_all(const context *c, FILE *file, const text *header, char *chunk, optgen_status *status)
{
    unsigned char length[8];
    for (int k = 0; k < 8; k++)
        length[k] = (unsigned char)((uint64_t)header->used >> 8 * k);
    int is_written = fwrite(length, 1, 8, file) == 8 && fwrite(header->at, 1, header->used, file) == header->used;
    is_written = is_written && fwrite(c->t, 8, (size_t)c->n, file) == (size_t)c->n;
    for (int64_t i = 0; i < c->n; i++)
        for (int32_t k = 0; k < c->spec->n_states && is_written; k++)
            if (c->members[i].states[k])
                is_written = write_array(c, file, i, k, chunk, status);
    return is_written && fflush(file) == 0;
}

/* Writes a file under a name that no other has, and then gives it its own. 0, and why in errno or in `status`, if that
   fails. */
static int replace_file(const context *c, const char *path, const text *header, char *temporary, optgen_status *status)
{
    FILE *const file = opened(temporary, 1);
    if (!file)
        return 0;
    take_rights(file, path);
    char *const chunk = malloc(CHUNK_BYTES);
    int is_written = chunk && write_all(c, file, header, chunk, status) && is_on_disk(file);
    int why = errno;
    free(chunk);
    if (fclose(file) && is_written) {
        is_written = 0;
        why = errno;
    }
    if (is_written && move_file(temporary, path))
        return 1;
    why = is_written ? errno : why;
    remove_file(temporary);
    errno = why;
    return 0;
}

enum { MOST_TRIES = 1000 }; /* names of files that other processes of this number may have left */

/* Writes the counts and states of a context. A file of this name is replaced when the new one is complete. */
static optgen_status save(const spec *s, void *address, const char *path)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!path)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: path is NULL", s->name);
    optgen_status status = check_due(c, 0, "save");
    if (!status)
        status = check_counts(c, MOST_UPDATES);
    if (status)
        return status;
    if (is_no_file(path))
        return fail(OPTGEN_BAD_FILE, "%s: '%s' is no file", s->name, path);
    text header = header_of(c);
    char *const file = without_links(path);
    const size_t room = file ? strlen(file) + 64 : 0;
    char *const temporary = file ? malloc(room) : NULL;
    if (header.is_whole && temporary) {
        static atomic_uint number;
        int is_saved = 0;
        errno = EEXIST;
        for (int tries = 0; tries < MOST_TRIES && !is_saved && !status && errno == EEXIST; tries++) {
            snprintf(temporary, room, "%s.%ld.%u.new", file, process_number(), atomic_fetch_add(&number, 1));
            is_saved = replace_file(c, file, &header, temporary, &status);
        }
        if (!is_saved && !status)
            status = fail(OPTGEN_BAD_FILE, "%s: '%s' cannot be written, by way of '%s': %s", s->name, path, temporary,
                          strerror(errno));
    } else {
        status = no_memory(s);
    }
    free(header.at);
    free(temporary);
    free(file);
    return status;
}

/* ---------------------------------------------------------------- reading */

/* Writes a dtype and a shape, as F32 [3, 4]; the end is cut off where there is no room. */
static void describe(char *to, size_t room, const char *dtype, size_t length, const int64_t *shape, int32_t n)
{
    size_t used = (size_t)snprintf(to, room, "%.*s [", (int)length, dtype);
    for (int32_t k = 0; k < n && used < room; k++)
        used += (size_t)snprintf(to + used, room - used, k ? ", %lld" : "%lld", (long long)shape[k]);
    if (used < room)
        snprintf(to + used, room - used, "]");
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
    char there[80], here[80];
    describe(there, sizeof there, e->dtype.at, e->dtype.length, e->shape, e->n);
    describe(here, sizeof here, dtype, strlen(dtype), shape, n);
    fail(OPTGEN_BAD_FILE, "%s: '%s' is %s in the file, and %s here%s", s->name, name, there, here,
         strcmp(name, "t") == 0 ? ": that is how many tensors there are" : "");
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
    size_t arrays = 1;
    for (int64_t k = 0; k < c->n * s->n_states; k++)
        arrays += c->members[k / s->n_states].states[k % s->n_states] != NULL;
    if (f->identity.at && f->count != arrays)
        return fail(OPTGEN_BAD_FILE,
                    "%s: the file has %llu arrays, and this context %llu: it was made with other flags",
                    s->name, (unsigned long long)f->count, (unsigned long long)arrays);
    for (int64_t i = 0; i < c->n && !is_copied; i++) {
        int64_t count;
        memcpy(&count, f->data + e->begin + 8 * i, 8);
        if (count < 0 || count > MOST_UPDATES)
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
            const optgen_status status =
                is_copied ? write_state(c, b, c->members[i].states[k], f->data + e->begin, bytes) : OPTGEN_OK;
            if (status)
                return status;
        }
    return OPTGEN_OK;
}

/* The content of a file; NULL, and why in errno, if it cannot be read. */
static char *content_of(const char *path, int64_t *bytes)
{
    FILE *const file = opened(path, 0);
    char *found = NULL;
    if (!file)
        return NULL;
    *bytes = bytes_of_file(file);
    if (*bytes >= 0 && (uint64_t)*bytes < SIZE_MAX)
        found = malloc((size_t)*bytes + 1);
    else if (*bytes >= 0)
        errno = ENOMEM;
    if (found && fread(found, 1, (size_t)*bytes, file) != (size_t)*bytes) {
        free(found);
        found = NULL;
        errno = ferror(file) ? errno : EIO; /* it was cut off meanwhile */
    }
    const int why = errno;
    fclose(file);
    errno = why;
    return found;
}

/* Reads counts and states. After an error nothing has changed. */
static optgen_status load(const spec *s, void *address, const char *path)
{
    context *const c = context_at(s, address, 0);
    if (!c)
        return OPTGEN_NO_CONTEXT;
    if (!path)
        return fail(OPTGEN_BAD_ARGUMENT, "%s: path is NULL", s->name);
    if (is_no_file(path))
        return fail(OPTGEN_BAD_FILE, "%s: '%s' is no file", s->name, path);
    int64_t bytes = 0;
    states_file f = {content_of(path, &bytes), NULL, 0, NULL, 0, {NULL, 0}};
    if (!f.content)
        return fail(errno == ENOMEM ? OPTGEN_NO_MEMORY : OPTGEN_BAD_FILE, "%s: '%s' cannot be read: %s", s->name, path,
                    strerror(errno));
    optgen_status status = OPTGEN_OK;
    errno = 0;
    if (!read_header(&f, bytes))
        status = errno == ENOMEM ? no_memory(s)
            : fail(OPTGEN_BAD_FILE, "%s: '%s' is no safetensors file, or damaged", s->name, path);
    else if (f.identity.at && !is_word(f.identity, s->identity))
        status = fail(OPTGEN_BAD_FILE, "%s: '%s' has states of another optimizer, or of another version of it", s->name,
                      path);
    if (!status)
        status = copy_states(c, &f, 0);
    if (!status) {
        status = copy_states(c, &f, 1);
        status = status ? fail_further(status, "; a part of the counts and states is that of the file") : status;
    }
    if (!status)
        c->due = 0;
    free(f.entries);
    free(f.content);
    return status;
}
