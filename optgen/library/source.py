"""The source of a library: what all of them share, tables of what was built, and the functions of the header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from optgen.backends.step_struct import STEP_FIELDS
from optgen.emit import gpu_header
from optgen.emit.header import STEP
from optgen.execute import buffers
from optgen.execute.choice import SMALLEST_QUANTIZED
from optgen.library.c_text import CPU_OPTIONS, GPU_OPTIONS, field, quoted
from optgen.library.cpus import LibraryCpu
from optgen.library.gpus import LibraryGpu, code_table
from optgen.library.header import DTYPES, functions
from optgen.library.kernels import LibraryProgram
from optgen.library.products import ProductCode, declarations
from optgen.library.specs import LibrarySpec
from optgen.library.tables import BuiltSpec, tables
from optgen.model import Flag
from optgen.threads import pool

HERE = Path(__file__).parent
POOL = HERE.parent / "threads" / "pool.c"
FILES = (
    *("tables", "features", "tensors", "DEVICE", "overlap", "states", "context"),
    *("CALLS", "sparse", "stages", "calls", "safetensors", "files", "saved"),
)
"""The files of this folder that follow `system` and the pool, in order; in the places of DEVICE and of CALLS those of
the device, and those of calls if there are any."""
CPU_FILES = ("quota", "threads", "cpu")
CALL_FILES, LAPACK_FILES = ("products",), ("products", "factorizations")
"""Those of updates with products of matrices, and of those that factorize some, too."""
GPU_FILES = ("driver", "cuda", "launches")


def source(
    library: str,
    built: Sequence[BuiltSpec],
    cpus: Sequence[LibraryCpu],
    gpu: LibraryGpu | None,
    linked: Sequence[str],
    products: Sequence[Sequence[ProductCode | None]],
) -> str:
    """The text of `LIBRARY.c`; `linked` is what programs link, too, as GCC's options. `products` is the code of
    products for each CPU; empty where nothing calls it."""
    specs = [b.own for b in built]
    dtypes = list(dict.fromkeys(dtype for m in specs for dtype in m.dtypes))
    own = {"DEVICE": GPU_FILES if gpu else CPU_FILES, "CALLS": _call_files(built)}
    names = [name for x in FILES for name in own.get(x, (x,))]
    parts = [
        f"/* The source of the library {library}, made by optgen. Compile it as C11, and link it with the object code\n"
        f"   {' '.join(['in kernels/', *(f'and {x}' for x in linked)])}. */\n",
        _PRELUDE,
        f'#include "{library}.h"\n',
        STEP,
        gpu_header.table() if gpu else "",
        _definitions(built, cpus, dtypes, gpu),
        (HERE / "system.c").read_text(),
        "" if gpu else (HERE / "system_threads.c").read_text() + _pool(),
        *(declarations(products) if products else ()),
        *((HERE / f"{name}.c").read_text() for name in names),
        "/* ---------------------------------------------------------------- tables */\n",
        *_declarations(built),
        *(tables(b, dtypes) for b in built),
        "/* ---------------------------------------------------------------- functions */\n",
        f"const char *{library}_error(void) {{ return error_text; }}\n",
        f"const char *{library}_cpu(void) {{ return level() < 0 ? NULL : level_names[level()]; }}\n",
    ]
    _check_names(specs, "\n".join(parts))
    return "\n".join([*parts, *map(_functions, specs)])


def _call_files(built: Sequence[BuiltSpec]) -> Sequence[str]:
    if any(b.own.factorizes for b in built):
        return LAPACK_FILES
    return CALL_FILES if any(x.calls for b in built for x in b.programs) else ()


def _check_names(specs: Sequence[LibrarySpec], text: str) -> None:
    """ValueError if a function or a type of a spec has the name of something else in the text of a source."""
    for m in specs:
        names = [f.name for f in functions(m)]
        for name in [*names, *(f"{m.prefix}_{x}" for x in ("tensor", "hyper", "options", "context"))]:
            taken = re.search(rf"^(static|#define|typedef|\}}).*\b{name}\b", text, re.MULTILINE)
            if names.count(name) > 1 or taken:
                raise ValueError(f"{m.prefix}: {name} is something else in a library; give the spec another name")


_PRELUDE = """\
#ifdef __FAST_MATH__
#error "NaN says that a hyper-parameter is unset: compile without -ffast-math"
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#error "this needs C11's atomics: compile by clang-cl, which comes with Visual Studio, or by MinGW's gcc"
#endif
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1 /* of Linux: the CPUs that a process may use */
#endif
#define _CRT_SECURE_NO_WARNINGS 1 /* of Windows: fine for functions of C */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREAD_LOCAL _Thread_local
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
"""


def _pool() -> str:
    """The source of the pool, whose functions are the library's own."""
    text = re.sub(r"#if __STDC_HOSTED__.*?#endif\n", "", POOL.read_text(), count=1, flags=re.DOTALL)  # system.c has it
    text = text.replace("void optgen_spin_hint(void);\n", "")
    text = text.replace("void *step", "const void *step").replace("void *_Atomic step", "const void *_Atomic step")
    return text.replace("\nvoid optgen_pool_", "\nstatic inline void optgen_pool_")


def _definitions(
    built: Sequence[BuiltSpec], cpus: Sequence[LibraryCpu], dtypes: Sequence[str], gpu: LibraryGpu | None
) -> str:
    specs = [b.own for b in built]
    programs = [x.program for b in built for x in b.kernels.values() if isinstance(x, LibraryProgram)]
    names = {
        "LEVELS": len(cpus),
        "MOST_STATES": max(len(b.states) for b in built) + 1,
        "MOST_NAME": max((len(x) for b in built for x in b.states), default=0),
        "MOST_HYPERS": max(len(m.hyper_defaults) for m in specs) + 1,
        "MOST_TURNS": max((len(x.turns) for x in programs), default=0) + 1,
        "MOST_NUMBERS": max((len(x.numbers) for x in programs), default=0) + 1,
        "STEP_FIELDS": len(STEP_FIELDS),
        "LINE": buffers.CACHE_LINE_BYTES,
        "PAGE": buffers.PAGE_BYTES,
        "PAGED_BYTES": buffers.MIN_PAGED_BYTES,
        "SPIN_NANOSECONDS": round(pool.SPIN_SECONDS * 1e9),
        "SMALLEST_QUANTIZED": SMALLEST_QUANTIZED,
        "MIN_SHARED_ELEMENTS": pool.MIN_SHARED_ELEMENTS,
        "MIN_WAKE_ELEMENTS": pool.MIN_WAKE_ELEMENTS,
        "MIN_SPLIT_ELEMENTS": pool.MIN_SPLIT_ELEMENTS,
        **({"OLDEST_GPU": gpu.capability} if gpu else {}),
    }
    index = [dtypes.index(x) if x in dtypes else -1 for x in DTYPES]
    return "\n".join(
        [
            "enum {",
            *(f"    {name} = {x}," for name, x in names.items()),
            "};",
            f"static const char *const level_names[LEVELS] = {{{', '.join(quoted(c.name) for c in cpus)}}};",
            "/* The features that each level of the kernels needs. */",
            f"static const uint32_t level_features[LEVELS] = {{{', '.join(f'{c.mask:#x}u' for c in cpus)}}};",
            f"static const char *const dtype_names[] = {{{', '.join(map(quoted, DTYPES))}}};",
            "/* Where the kernels of an optgen_dtype stand in tables; -1: not built. */",
            f"static const int32_t dtype_index[] = {{{', '.join(map(str, index))}}};",
            "",
        ]
    )


# ---------------------------------------------------------------- kernels


def _declarations(built: Sequence[BuiltSpec]) -> Iterator[str]:
    """The kernels, as C sees them."""
    kernels = [kernel for b in built for made in b.kernels.values() for kernel in made.kernels]
    for symbol, gpu in {x: kernel.gpu for kernel in kernels for x in kernel.symbols}.items():
        yield f"void {symbol}(const optgen_step *step);"
        if gpu is None:
            yield f"int64_t {symbol}_workspace(const optgen_step *step);"
    for kernel in {x.gpu.symbol: x for x in kernels if x.gpu}.values():
        assert kernel.gpu is not None
        yield from code_table(kernel.gpu, kernel.buffers)
    yield _ARITHMETIC


_ARITHMETIC = """
/* Arithmetic of conditions. */
static inline int differ(double x, double y) { return x < y || x > y; }
static inline double divided(double x, double y) { return y != 0 ? x / y : (double)NAN; }
static inline double min_of(double x, double y) { return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y; }
static inline double max_of(double x, double y) { return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y; }
"""


# ---------------------------------------------------------------- functions


def _functions(m: LibrarySpec) -> str:
    """The functions of the header. Those that read options hand them on with flags in an array."""
    p, table = m.prefix, f"&table_{m.prefix}_spec"
    passed = f"{table}, tensors, sizeof({p}_tensor), n, &asked, (const double *)params"
    begin = [
        "    request asked;",
        f"    int32_t flags[{len(m.chosen_flags) + 1}];",
        f"    const int32_t *each[{len(m.chosen_flags) + 1}];",
    ]
    asked = f"request_of_{p}(&asked, flags, each, options)"
    bodies = {
        f"{p}_create": [
            *begin,
            "    void *made = NULL;",
            f"    optgen_status status = {asked};",
            "    if (!status)",
            f"        status = create(context ? &made : NULL, {passed});",
            "    if (context)",
            "        *context = made;",
            "    return status;",
        ],
        f"{p}_memory_bytes": [
            *begin,
            f"    const optgen_status status = {asked};",
            f"    return status ? status : memory_bytes(bytes, {passed});",
        ],
    }
    lines = _request(m)
    for f in functions(m):
        lines += [f.prototype, "{", *bodies.get(f.name, [f"    return {f.call.replace('SPEC', table)};"]), "}\n"]
    return "\n".join(lines)


def _request(m: LibrarySpec) -> list[str]:
    """The function that reads options."""
    p = m.prefix
    return [
        f"static optgen_status request_of_{p}(request *asked, int32_t *flags, const int32_t **each, "
        f"const {p}_options *options)",
        "{",
        "    if (!options)",
        f'        return fail(OPTGEN_BAD_ARGUMENT, "{p}: options is NULL");',
        f"    if (options->abi != {p.upper()}_ABI)",
        f'        return fail(OPTGEN_BAD_ABI, "{p}: the options are of another header, or were not filled by "',
        f'                    "{p}_options_defaults()");',
        "    memset(asked, 0, sizeof *asked);",
        *(f"    asked->{x} = options->{x};" for x in (GPU_OPTIONS if m.on_gpu else CPU_OPTIONS) if x != "abi"),
        *(line for k, flag in enumerate(m.chosen_flags) for line in _asked_flag(m, k, flag)),
        "    asked->flags = flags;",
        "    asked->flags_each = each;",
        "    return OPTGEN_OK;",
        "}\n",
    ]


def _asked_flag(m: LibrarySpec, k: int, flag: Flag) -> Iterator[str]:
    """Statements that read a flag of the options."""
    own = f"options->{field(flag.name)}"
    yield f"    flags[{k}] = {m.flag_default(flag) if flag.per_param else own};"
    yield f"    each[{k}] = {own if flag.per_param else 'NULL'};"
