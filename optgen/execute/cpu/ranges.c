/* Whether tensors can be read where they are: somewhere, aligned to their elements, and not where a step writes.

   What is loaded is ranges.ll, which `python -m optgen.objectcode.generate` makes of this file. */

#include <stdint.h>

typedef struct {
    int64_t n;
    const uint64_t *addresses, *sizes, *items; /* of each tensor, and of its elements, in bytes */
    int64_t written_n;
    const uint64_t *begins, *ends; /* of the ranges that are written: in order, and none within another */
} ranges;

/* The number of the first written range that ends behind an address. */
static int64_t search(const ranges *r, uint64_t address)
{
    int64_t low = 0, high = r->written_n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (r->ends[middle] > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The number of the first tensor that cannot be read; -1 if all can. */
int64_t optgen_ranges_check(const ranges *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        const uint64_t begin = r->addresses[i], size = r->sizes[i];
        if (!size)
            continue;
        const int64_t k = search(r, begin);
        if (!begin || begin % r->items[i] || (k < r->written_n && r->begins[k] < begin + size))
            return i;
    }
    return -1;
}
