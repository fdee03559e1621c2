"""The C header of one built variant: the step's structure, names for buffers and hyper-parameters, two functions."""

from __future__ import annotations

from optgen.emit.manifest import Build, Variant
from optgen.model import Param
from optgen.symbolic import unicode

STEP = """\
#ifndef OPTGEN_STEP
#define OPTGEN_STEP

/* Part `part` of `parts` of a step's work. */
typedef void (*optgen_task)(const void *step, int64_t part, int64_t parts);

/* Runs task(step, part, parts) for every part of as many parts as it likes, on any threads, and returns when all are
   done. `elements` tells how much work there is. The result does not depend on `parts`. */
typedef void (*optgen_parallel_for)(void *pool, optgen_task task, const void *step, int64_t elements);

/* One step: the update of n tensors. No two written buffers may overlap; any alignment will do. */
typedef struct optgen_step {
    int64_t n;                    /* tensors */
    const int64_t *size;          /* n element counts */
    void *const *buffers;         /* n rows of pointers, one row a tensor, in the order of the buffers below */
    int64_t *t;                   /* n update counts, 0 before the first step; the call adds 1 to each */
    const double *hyper;          /* n values for each hyper-parameter, in the order below; NaN: unset */
    double *workspace;            /* as many doubles as NAME_workspace(n, size) says; contents do not matter */
    optgen_parallel_for parallel; /* NULL: everything on the calling thread */
    void *pool;                   /* first argument of `parallel` */
} optgen_step;

#endif
"""


def header(build: Build, variant: Variant) -> str:
    """The text of `<symbol>.h`."""
    symbol, kernel = variant.symbol, variant.kernel
    guard = f"{symbol.upper()}_H"
    params = build.optimizer.all_params()
    buffers = [(f"{symbol}_buffer_{b.name}", _buffer(b.written, b.init)) for b in kernel.buffers]
    hypers = [(f"{symbol}_hyper_{name}", _param(params[name])) for name in kernel.hyper]
    return "\n".join(
        [
            *_comment([*_title(build, variant), "", *unicode(build.optimizer, variant.flags).splitlines()]),
            f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            STEP,
            f"/* A tensor's buffers, of {'float' if variant.dtype == 'float32' else 'double'}, in order. */",
            _enum(buffers, f"{symbol}_buffers"),
            "/* The hyper-parameters, in order. */",
            _enum(hypers, f"{symbol}_hypers"),
            "/* One step, in place. */",
            f"void {symbol}(const optgen_step *step);\n",
            "/* How many doubles step->workspace must hold for n tensors of these sizes. */",
            f"int64_t {symbol}_workspace(int64_t n, const int64_t *size);\n",
            f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n",
        ]
    )


def _title(build: Build, variant: Variant) -> list[str]:
    flags = ", ".join(f"{name} = {_word(value)}" for name, value in variant.flags.items()) or "none"
    return [
        *(_safe(x) for x in (build.optimizer.name, build.optimizer.title, build.optimizer.cite) if x),
        f"dtype {variant.dtype}; flags: {flags}",
        f"built for {build.cpu}; the object file runs only where that CPU's instructions exist",
    ]


def _word(value: bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def _buffer(written: bool, init: float | str | None) -> str:
    start = "" if init is None else f", starts as {init}"
    return ("read and written" if written else "read only") + start


def _param(param: Param) -> str:
    parts = [param.doc] if param.doc else []
    parts.append("default none (NaN)" if param.default is None else f"default {param.default:.15g}")
    if param.interval is not None:
        parts.append(f"in {param.interval}")
    return ", ".join(parts)


def _safe(text: str) -> str:
    """Text that cannot end the comment it stands in."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")


def _comment(lines: list[str]) -> list[str]:
    body = "\n".join(f"   {line}".rstrip() for line in lines).lstrip()
    return [f"/* {body} */"]


def _enum(names: list[tuple[str, str]], count: str) -> str:
    rows = [f"    {name}, /* {_safe(doc)} */" for name, doc in names]
    return "\n".join(["enum {", *rows, f"    {count}", "};\n"])
