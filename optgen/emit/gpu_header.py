"""The C header of one variant built for GPUs: the table that launches read, as `backends/gpu/table.py` has it, and what
fills it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import get_args

from optgen.backends.gpu import GpuModule
from optgen.backends.gpu.gpu_target import GpuTarget
from optgen.backends.gpu.table import (
    AREAS,
    COLUMNS,
    FOLD_SEGMENT,
    HEAD,
    MAX_FOLD_PASSES,
    THREADS,
    Counts,
    Launch,
    Unit,
)
from optgen.emit.header import STEP, about, enum, framed, names
from optgen.emit.manifest_json import BuiltKernel
from optgen.ir import BLOCK, LANES, ROW_BLOCK
from optgen.model import Optimizer

COLUMN_DOCS = {
    "size": "its elements",
    "rows": "the rows to visit: all of them, or as many as the index has",
    "cols": "the length of a row",
    "by_rows": "1: rows are updated one by one, for gradients of some rows; else 0",
    "index": "the address of the numbers of these rows, int64_t, ascending; 0: all rows",
    "first": "of a piece of a tensor, the number of its first element in the tensor, a multiple of 4096; else 0",
    "blocks": "the elements of the whole tensor / 4096, rounded up",
    "id": "numbers below 2^20 by which the draws of tensors differ",
    "t": "step->t after the host's part: the update count, this one included",
    "lead": "0; or, with vectors, elements of the first group that lie before the tensor",
    "vectors": "1: in all buffers of elements, element -lead of each row is at a multiple of 16 bytes (and 4 elements)",
}
AREA_DOCS = {
    "partials": "partial results of blocks",
    "folds": "room to fold them",
    "row_partials": "partial results of blocks of rows",
    "rows_at": "values of rows",
    "cols_at": "values of columns",
    "sums": "partial results of blocks of columns",
}
UNIT_DOCS = {
    "elements": "`length` elements of a tensor, or of a row of it, for a warp",
    "blocks": "4096 elements of a tensor, for a warp",
    "row blocks": "4096 elements of a row, for a warp",
    "column tiles": "64 rows of 128 columns, for a warp",
    "rows": "one, for a thread",
    "cols": "one, for a thread",
    "matrices": "one, for a thread",
    "tensor": "one, for a block",
    "step": "all there is, for a block",
}

TABLE = """\
/* A step over n tensors is told to the GPU by a table of 8-byte words in its memory:

     n | seed
     n words for each of the columns, then n for each of the areas
     n rows of addresses in the GPU's memory, one row a tensor, in the order of the buffers; 0 for the host's
     for each launch n + 1 words: where the units of each tensor begin, and how many there are in all
     values that the host and launches leave for later launches
     for a kernel with `last_two`, n words: the hyper-parameter matrices, or 1 if that is 0

   Before the first step, in an image of the table on the host: optgen_table_words words, all 0; fill in n, the columns
   (t may wait), the matrices, and the addresses; then optgen_table_plan. Before each step: NAME_host(step), which reads
   step->n, t, hyper and of the buffers those in the memory of the host, advances t, and writes to step->workspace: that
   points to word optgen_table_values of the image. Then fill in the column t, and the seed, and copy the image to the
   GPU.

   A step then is one launch of each function, in order, one after the other in one stream. Their only parameter is the
   table's address on the GPU. A launch without units may be left out; else it has blocks of OPTGEN_THREADS threads, as
   many as optgen_table_blocks says, or fewer, for they go on until all is done: as many as the GPU holds at a time. */
"""

KERNEL = """\
/* A function of the code. `per_block`: units that a block takes at a time. `folds`: for pieces of tensors, the
   partial results of the other pieces must be in their area before it. */
typedef struct optgen_launch {
    const char *name;
    int unit;
    int64_t length;
    int64_t per_block;
    int folds;
} optgen_launch;

/* What makes up the table of a kernel. */
typedef struct optgen_kernel {
    const optgen_launch *launches;
    int64_t n_launches;
@
} optgen_kernel;
"""

FUNCTIONS = """\
/* The first word of column k, of area k, and of the rows of addresses. */
static inline int64_t optgen_table_column(int64_t n, int k) { return OPTGEN_HEAD + n * k; }
static inline int64_t optgen_table_area(int64_t n, int k) { return OPTGEN_HEAD + n * (OPTGEN_COLUMNS + k); }
static inline int64_t optgen_table_pointers(int64_t n) { return optgen_table_area(n, OPTGEN_AREAS); }

/* The first word of the units of a launch, and of the values; how many words there are. */
static inline int64_t optgen_table_units(const optgen_kernel *kernel, int64_t n, int64_t launch)
{
    return optgen_table_pointers(n) + n * kernel->buffers + (n + 1) * launch;
}
static inline int64_t optgen_table_values(const optgen_kernel *kernel, int64_t n)
{
    return optgen_table_units(kernel, n, kernel->n_launches);
}
static inline int64_t optgen_table_words(const optgen_kernel *kernel, int64_t n)
{
    return optgen_table_values(kernel, n) + kernel->shared + n * (kernel->slots + kernel->last_two);
}

/* The first word of the numbers of matrices, of a kernel with `last_two`. */
static inline int64_t optgen_table_matrices(const optgen_kernel *kernel, int64_t n)
{
    return optgen_table_values(kernel, n) + kernel->shared + n * kernel->slots;
}

static inline int64_t optgen_parts(int64_t x, int64_t size) { return (x + size - 1) / size; }

/* How many matrices tensor i of n is. */
static inline int64_t optgen_matrices(const optgen_kernel *kernel, const int64_t *table, int64_t i)
{
    return kernel->last_two ? table[optgen_table_matrices(kernel, table[OPTGEN_N]) + i] : 1;
}

/* How many units tensor i of n has for a launch. */
static inline int64_t optgen_units(const optgen_kernel *kernel, const optgen_launch *launch, const int64_t *table,
                                   int64_t i)
{
    const int64_t n = table[OPTGEN_N];
    const int64_t *column = table + OPTGEN_HEAD + i;
    const int64_t size = column[n * OPTGEN_COLUMN_SIZE], lead = column[n * OPTGEN_COLUMN_LEAD];
    const int64_t rows = column[n * OPTGEN_COLUMN_ROWS], cols = column[n * OPTGEN_COLUMN_COLS];
    const int64_t matrices = optgen_matrices(kernel, table, i);
    switch (launch->unit) {
    case OPTGEN_UNIT_ELEMENTS:
        if (column[n * OPTGEN_COLUMN_BY_ROWS])
            return rows * optgen_parts(cols, launch->length);
        return size ? optgen_parts(size + lead, launch->length) : 0;
    case OPTGEN_UNIT_BLOCKS:
        return optgen_parts(size, OPTGEN_BLOCK);
    case OPTGEN_UNIT_ROW_BLOCKS:
        return rows * optgen_parts(cols, OPTGEN_BLOCK);
    case OPTGEN_UNIT_COLUMN_TILES:
        return matrices * optgen_parts(rows / matrices, OPTGEN_ROW_BLOCK) * optgen_parts(cols, OPTGEN_LANES);
    case OPTGEN_UNIT_ROWS:
        return rows;
    case OPTGEN_UNIT_COLS:
        return matrices * cols;
    case OPTGEN_UNIT_MATRICES:
        return matrices;
    case OPTGEN_UNIT_TENSOR:
        return 1;
    default:
        return i == 0;
    }
}

/* How many doubles tensor i of n needs in an area. */
static inline int64_t optgen_doubles(const optgen_kernel *kernel, int area, const int64_t *table, int64_t i)
{
    const int64_t n = table[OPTGEN_N];
    const int64_t *column = table + OPTGEN_HEAD + i;
    const int64_t rows = column[n * OPTGEN_COLUMN_ROWS], matrices = optgen_matrices(kernel, table, i);
    const int64_t cols = column[n * OPTGEN_COLUMN_COLS], columns = matrices * cols;
    const int64_t blocks = kernel->partials ? column[n * OPTGEN_COLUMN_BLOCKS] : 0;
    const int64_t tree = kernel->tree ? optgen_parts(rows > columns ? rows : columns, OPTGEN_BLOCK) : 0;
    switch (area) {
    case OPTGEN_AREA_PARTIALS:
        return blocks * kernel->stride;
    case OPTGEN_AREA_FOLDS:
        return tree + (blocks > tree ? blocks : tree) / (OPTGEN_SEGMENT - 1) + OPTGEN_PASSES;
    case OPTGEN_AREA_ROW_PARTIALS:
        return kernel->row_partials ? rows * optgen_parts(cols, OPTGEN_BLOCK) * kernel->stride : 0;
    case OPTGEN_AREA_ROWS_AT:
        return rows * kernel->rows;
    case OPTGEN_AREA_COLS_AT:
        return columns * kernel->cols;
    default:
        return optgen_parts(rows / matrices, OPTGEN_ROW_BLOCK) * columns * kernel->sums;
    }
}

/* Fills in the areas, in a workspace at this address on the GPU, and the units of each launch; returns how many doubles
   the workspace must hold. A first call may ask for that only, with any address. */
static inline int64_t optgen_table_plan(const optgen_kernel *kernel, int64_t *table, uint64_t workspace)
{
    const int64_t n = table[OPTGEN_N];
    int64_t used = 0, launch, i;
    int area;
    for (area = 0; area < OPTGEN_AREAS; area++)
        for (i = 0; i < n; i++) {
            table[optgen_table_area(n, area) + i] = (int64_t)(workspace + 8 * (uint64_t)used);
            used += optgen_doubles(kernel, area, table, i);
        }
    for (launch = 0; launch < kernel->n_launches; launch++) {
        int64_t *starts = table + optgen_table_units(kernel, n, launch);
        starts[0] = 0;
        for (i = 0; i < n; i++)
            starts[i + 1] = starts[i] + optgen_units(kernel, &kernel->launches[launch], table, i);
    }
    return used;
}

/* How many blocks a launch can have work for; 0: it may be left out. */
static inline int64_t optgen_table_blocks(const optgen_kernel *kernel, const int64_t *table, int64_t launch)
{
    const int64_t n = table[OPTGEN_N];
    return optgen_parts(table[optgen_table_units(kernel, n, launch) + n], kernel->launches[launch].per_block);
}
"""


def gpu_header(optimizer: Optimizer, built: BuiltKernel, module: GpuModule, gpu: GpuTarget, cpu: str) -> str:
    """The text of `<symbol>_cuda.h`, for GPUs of NVIDIA, or of that of another target."""
    symbol, own = built.symbol, f"{built.symbol}_{gpu.name}"
    made = f"{gpu.made}; the object file of the host's part runs only on CPUs as {cpu}"
    parts = [
        STEP,
        table(),
        names(optimizer, built),
        "/* The functions of the code, in order. */",
        launches(own, module.launches, gpu),
        f"static const optgen_kernel {own} = {{",
        f"    {own}_launches, {len(module.launches)}, {', '.join(str(int(x)) for x in astuple(module.counts))}",
        "};\n",
        "/* What the host does before each step. */",
        f"void {symbol}_host(const optgen_step *step);\n",
    ]
    return framed(f"{own.upper()}_H", about(optimizer, built, made), parts)


def table() -> str:
    """What all kernels for GPUs have in common."""
    constants = {
        "HEAD": HEAD,
        "BLOCK": BLOCK,
        "ROW_BLOCK": ROW_BLOCK,
        "LANES": LANES,
        "THREADS": THREADS,
        "SEGMENT": FOLD_SEGMENT,
        "PASSES": MAX_FOLD_PASSES,
    }
    counts = [f"    int64_t {field.name};" for field in fields(Counts)]
    return "\n".join(
        [
            "#ifndef OPTGEN_TABLE\n#define OPTGEN_TABLE\n",
            TABLE,
            "enum { OPTGEN_N, OPTGEN_SEED };",
            *("enum {", ",\n".join(f"    OPTGEN_{name} = {x}" for name, x in constants.items()), "};\n"),
            "/* Columns: one word for each tensor. A tensor is seen as in optgen_step. */",
            _enum("COLUMN", COLUMNS, COLUMN_DOCS, "OPTGEN_COLUMNS"),
            "/* Areas: the address of each tensor's part of them, in the workspace. */",
            _enum("AREA", AREAS, AREA_DOCS, "OPTGEN_AREAS"),
            "/* Units of work of launches. */",
            _enum("UNIT", get_args(Unit), UNIT_DOCS, "OPTGEN_UNITS"),
            KERNEL.replace("@", "\n".join(counts)),
            FUNCTIONS,
            "#endif\n",
        ]
    )


def _enum(word: str, keys: Sequence[str], docs: dict[str, str], count: str) -> str:
    return enum([(_name(word, key), docs[key]) for key in keys], count)


def _name(word: str, key: str) -> str:
    return f"OPTGEN_{word}_{key.upper().replace(' ', '_')}"


def launches(symbol: str, own: Sequence[Launch], gpu: GpuTarget) -> str:
    """The array `SYMBOL_launches`."""
    rows = [
        f'    {{"{x.name}", {_name("UNIT", x.unit)}, {x.length}, {x.per_block(gpu.width)}, {int(x.folds)}}},'
        for x in own
    ] or ["    {0, 0, 0, 0, 0}, /* none: C has no empty arrays */"]
    return "\n".join([f"static const optgen_launch {symbol}_launches[] = {{", *rows, "};\n"])
