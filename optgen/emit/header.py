"""The C header of one variant built for a CPU: the structure of a step, names of buffers and hyper-parameters, and two
functions."""

from __future__ import annotations

from collections.abc import Sequence

from optgen.axes import Kind
from optgen.backends.step_struct import c_fields
from optgen.emit.manifest_json import BuiltKernel
from optgen.ir import Buffer
from optgen.model import PHASE, Optimizer, Param
from optgen.symbolic.unicode import unicode

PARALLEL_FOR = """\
#ifndef OPTGEN_PARALLEL_FOR
#define OPTGEN_PARALLEL_FOR

/* Part `part` of `parts` of a step's work. */
typedef void (*optgen_task)(const void *step, int64_t part, int64_t parts);

/* Runs task(step, part, parts) for every part of as many parts as it likes, on any threads, and returns when all are
   done. `elements` tells how much work there is. The result does not depend on `parts`. */
typedef void (*optgen_parallel_for)(void *pool, optgen_task task, const void *step, int64_t elements);

#endif
"""
STEP = f"""\
{PARALLEL_FOR}
#ifndef OPTGEN_STEP
#define OPTGEN_STEP

/* Given `stride` partial results for each block of 4096 elements of each whole tensor, of which those of the pieces at
   hand are there, fills in the others. Returns 0; for anything else the step ends there. */
typedef int64_t (*optgen_exchange)(void *peers, double *partials, int64_t stride);

/* One step: the update of n tensors. A tensor is seen as a matrix of shape[0] rows, a vector as a column, a number as
   both. No two written buffers may overlap; any alignment will do. */
typedef struct optgen_step {{
{c_fields()}
}} optgen_step;

#endif
"""

TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t, the bits of a float16,",
    "bfloat16": "uint16_t, the bits of a bfloat16,",
    "uint8": "uint8_t",
}
"""What C calls the elements of an array, by its NumPy dtype."""
SHAPES = {
    Kind.ELEM: "each element",
    Kind.ROW: "each row",
    Kind.COL: "each column",
    Kind.HOST: "the tensor",
    Kind.TENSOR: "the tensor",
    Kind.SHARED: "all tensors, which point to the same one",
}
DIMENSIONS = {
    "rank": "number of dimensions of the tensor",
    "size": "number of its elements",
    "rows": "number of its rows",
    "cols": "number of its columns",
    "matrices": "number of matrices of so many rows and columns that the tensor is, 1 unless its last two axes are one",
    "step": "number of steps, this one included, the same for all tensors",
}


def header(optimizer: Optimizer, built: BuiltKernel, cpu: str) -> str:
    """The text of `<symbol>.h`."""
    symbol = built.symbol
    purpose = "The weights to evaluate with; no count changes" if built.variant.evaluate else "One step, in place"
    if optimizer.phases and not built.variant.evaluate:
        phase, first = built.variant.flags[PHASE], optimizer.phases[0]
        purpose = f"The phase {phase} of a step ({', then '.join(optimizer.phases)}), in place; it advances t"
        purpose += "" if phase == first else ", so take 1 from t before the call"
    made = f"built for {cpu}; the object file runs only where that CPU's instructions exist"
    more = ", and hyper" if built.kernel.last_two else ""
    parts = [
        STEP,
        names(optimizer, built),
        f"/* {purpose}. */",
        f"void {symbol}(const optgen_step *step);\n",
        f"/* How many doubles step->workspace must hold; reads n, size, cols, index and present{more}. */",
        f"int64_t {symbol}_workspace(const optgen_step *step);\n",
    ]
    return framed(f"{symbol.upper()}_H", about(optimizer, built, made), parts)


def framed(guard: str, title: str, parts: Sequence[str], includes: Sequence[str] = ("stdint.h",)) -> str:
    """A header that can be included twice, and by C++."""
    included = "".join(f"#include <{name}>\n" for name in includes)
    return "\n".join(
        [
            title,
            f"#ifndef {guard}\n#define {guard}\n\n{included}",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            *parts,
            f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n",
        ]
    )


def about(optimizer: Optimizer, built: BuiltKernel, made: str) -> str:
    """The comment at the top of a header: the optimizer, its flags, how it was `made`, the equations."""
    flags = ", ".join(f"{name} = {_word(value)}" for name, value in built.variant.flags.items()) or "none"
    batch = built.kernel.last_two
    lines = [
        *(safe(x) for x in (optimizer.name, optimizer.title, optimizer.cite) if x),
        f"dtype {built.variant.dtype}; flags: {flags}",
        *(
            ["a tensor is a batch of matrices of its last two axes, whose rows are those of optgen_step"]
            if batch
            else []
        ),
        made,
        "",
        *unicode(optimizer, built.variant.flags, {}).splitlines(),
    ]
    body = "\n".join(f"   {line}".rstrip() for line in lines).lstrip()
    return f"/* {body} */"


def names(optimizer: Optimizer, built: BuiltKernel) -> str:
    """The enumerations of buffers and hyper-parameters. All headers of a variant have the same, and one program may
    include several."""
    symbol, kernel = built.symbol, built.kernel
    guard = f"{symbol.upper()}_NAMES"
    buffers = [(f"{symbol}_buffer_{_identifier(b.name)}", _buffer(b)) for b in kernel.buffers]
    docs = DIMENSIONS | {name: _param(param) for name, param in optimizer.all_params.items()}
    hypers = [(f"{symbol}_hyper_{name}", docs[name]) for name in kernel.hyper]
    return "\n".join(
        [
            f"#ifndef {guard}\n#define {guard}\n",
            "/* A tensor's buffers, in order. */",
            enum(buffers, f"{symbol}_buffers"),
            "/* The hyper-parameters, in order. */",
            enum(hypers, f"{symbol}_hypers"),
            "#endif\n",
        ]
    )


def _identifier(buffer: str) -> str:
    """The name of a buffer in C: `h_before_2` is `h[-2]`."""
    return buffer.replace("[-", "_before_").rstrip("]").replace(".", "_")


def enum(names: Sequence[tuple[str, str]], count: str) -> str:
    """A C enumeration of names with comments. The last name, `count`, is their number."""
    rows = [f"    {name}, /* {safe(doc)} */" for name, doc in names]
    return "\n".join(["enum {", *rows, f"    {count}", "};\n"])


def _word(value: bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else value


def _buffer(b: Buffer) -> str:
    """`float of each element, read and written, starts as 0`."""
    access = "read only" if not b.written else "written" if b.name == "out" else "read and written"
    start = "" if b.init is None else f", starts as {b.init}"
    start += ", and in the first update as its spec says" if b.starts_late else ""
    place = ", in the memory of the host" if b.kind is Kind.HOST else ""
    if b.of:
        return f"the same pointer as {b.of}"
    if b.entries:
        place = f", {b.entries} of these one after the other: update t writes number (t - 1) mod {b.entries}"
    shape = f"each {b.block} elements" if b.is_scale else SHAPES.get(b.kind) or b.declared
    shape = "each two elements" if b.format.is_packed else shape
    codes = f", {'two codes' if b.format.is_packed else 'a code'} of {b.storage}," if b.is_quantized else ""
    return f"{TYPES[b.format.array_dtype]}{codes} of {shape}, {access}{start}{place}"


def _param(param: Param) -> str:
    parts = [param.doc] if param.doc else []
    parts.append("default none (NaN)" if param.default is None else f"default {param.default:.15g}")
    if param.interval is not None:
        parts.append(f"in {param.interval}")
    return ", ".join(parts)


def safe(text: str) -> str:
    """The text without what could end the comment it stands in."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")
