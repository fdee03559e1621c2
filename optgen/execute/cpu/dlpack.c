/* Where the tensors of a list are, read in one pass through the C functions of DLPack (its DLPackExchangeAPI), and
   whether they have the geometry that was recorded: the same shapes, strides, dtypes and devices.

   The caller holds the GIL. Functions of Python are fields, so that no library has to be found. What is loaded is
   dlpack.ll, which `python -m optgen.objectcode.generate` makes of this file. */

#include <stdint.h>

typedef struct object object; /* of Python */

/* DLTensor of dlpack.h, of version 1. */
typedef struct {
    char *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t code, bits; /* of the dtype */
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements */
    uint64_t offset;          /* of the first element from `data`, in bytes */
} dl_tensor;

typedef struct {
    int (*export)(object *tensor, dl_tensor *to); /* DLPackDLTensorFromPyObjectNoSync; not 0: a Python error is set */
    object *(*item)(object *list, int64_t i);     /* PyList_GetItem */
    int64_t (*length)(object *sized);             /* PyObject_Size */
    void (*clear_error)(void);                    /* PyErr_Clear */
    object *none;
    int64_t n;
    /* of each tensor: rank (-1: None is in its place), device, dtype; length and stride of each axis */
    int64_t *geometry;
    int64_t *geometry_end;
    char **addresses;
    object *storages; /* a list */
    int64_t storages_n;
    int64_t *sizes; /* of the storages, in bytes */
} reader;

/* Whether a number is the recorded one; it is while it is being recorded. */
static int is_same(int64_t *recorded, int64_t x, int recording)
{
    if (recording)
        *recorded = x;
    return *recorded == x;
}

/* What follows the geometry of a tensor, null where it has another one. */
static int64_t *check(const dl_tensor *t, int64_t *geometry, const int64_t *end, int recording)
{
    if (end - geometry < 3 + 2 * (t->rank > 0 ? t->rank : 0) ||
        !is_same(&geometry[0], t->rank, recording) ||
        !is_same(&geometry[1], ((int64_t)t->device_type << 32) + t->device_id, recording) ||
        !is_same(&geometry[2], ((int64_t)t->code << 24) + ((int64_t)t->bits << 16) + t->lanes, recording))
        return 0;
    int64_t *axis = geometry + 3;
    for (int32_t k = 0; k < t->rank; k++, axis += 2) {
        const int64_t stride = t->shape[k] == 1 ? 0 : t->strides[k]; /* of one element it means nothing */
        if (!is_same(&axis[0], t->shape[k], recording) || !is_same(&axis[1], stride, recording))
            return 0;
    }
    return axis;
}

/* Write the addresses of tensors. The number of the first one of another geometry, n for a storage of another size, -1
   if there is none. */
static int64_t visit(const reader *r, object *tensors, int recording)
{
    const int64_t n = r->n;
    int64_t *geometry = r->geometry;
    for (int64_t i = 0; i < n; i++) {
        object *const tensor = r->item(tensors, i);
        dl_tensor t = {.rank = -1};
        if (tensor != r->none && (!tensor || r->export(tensor, &t))) {
            r->clear_error();
            return i;
        }
        geometry = check(&t, geometry, r->geometry_end, recording);
        if (!geometry)
            return i;
        r->addresses[i] = t.data + t.offset;
    }
    for (int64_t k = 0; k < r->storages_n; k++)
        if (!is_same(&r->sizes[k], r->length(r->item(r->storages, k)), recording))
            return n;
    return -1;
}

/* The same, and record geometry and sizes. Less than 0 unless a tensor cannot be exported. */
int64_t optgen_dlpack_record(const reader *r, object *tensors) { return visit(r, tensors, 1); }

int64_t optgen_dlpack_read(const reader *r, object *tensors) { return visit(r, tensors, 0); }
