/* The headers of safetensors files, read from memory: the part of JSON that they have. Nothing of a file is trusted. */

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
