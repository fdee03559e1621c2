"""The header of a library: what C and C++ programs include. Every name in it is the library's, but those of types that
libraries share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optgen.axes import Kind
from optgen.emit.header import PARALLEL_FOR, framed, safe
from optgen.library.c_text import choice_name, field, real
from optgen.library.specs import LibrarySpec
from optgen.symbolic.unicode import unicode

ABI = 1
"""The number of the binary interface: structures, functions, and what they mean. A change of one of them raises it."""

SHARED = f"""\
#ifndef OPTGEN_ABI
#define OPTGEN_ABI {ABI}

#if defined(_WIN32) && defined(OPTGEN_EXPORT) /* while a DLL is compiled; programs need nothing */
#define OPTGEN_API __declspec(dllexport)
#elif defined(_WIN32)
#define OPTGEN_API
#else
#define OPTGEN_API __attribute__((visibility("default")))
#endif

/* What a function says. The text of the last error of a thread is that of LIBRARY_error(). */
typedef enum optgen_status {{
    OPTGEN_OK = 0,
    OPTGEN_BAD_ABI,      /* the options are those of another header */
    OPTGEN_BAD_CPU,      /* the library was built for instructions that this CPU lacks */
    OPTGEN_BAD_ARGUMENT, /* a pointer is NULL, a number is out of its range */
    OPTGEN_BAD_SHAPE,
    OPTGEN_BAD_HYPER,    /* a hyper-parameter is NaN, out of its interval, or needs other code */
    OPTGEN_BAD_PHASE,    /* another phase of the step is due */
    OPTGEN_OVERLAP,      /* memory that a step writes is also something else's */
    OPTGEN_NOT_BUILT,    /* the library was built without this dtype or these flags */
    OPTGEN_NO_CONTEXT,   /* NULL, destroyed, or of another spec */
    OPTGEN_NO_MEMORY,
    OPTGEN_BAD_FILE,     /* it cannot be read or written, is damaged, or has other states */
    OPTGEN_NO_GPU,       /* there is no GPU, no driver for it, or an older one than the library is for */
    OPTGEN_CUDA_ERROR,   /* of the driver, in whose words the text is */
    OPTGEN_NO_FACTORIZATION /* a matrix has no factorization, or is of a gradient with a NaN or an infinity */
}} optgen_status;

/* The elements of tensors, gradients and inputs. 16-bit floats are uint16_t with their bits. */
typedef enum optgen_dtype {{ OPTGEN_FLOAT32, OPTGEN_FLOAT64, OPTGEN_FLOAT16, OPTGEN_BFLOAT16 }} optgen_dtype;

#elif OPTGEN_ABI != {ABI}
#error "these headers are of libraries that different versions of optgen built: build them by the same one"
#endif
"""
DTYPES = ("float32", "float64", "float16", "bfloat16")
"""In the order of optgen_dtype."""


def abi(m: LibrarySpec) -> int:
    """The number by which a library knows that a program was compiled with its header: it follows from ABI, from the
    fields of all structures, and from how weights and states are stored."""
    fields = [*tensor_fields(m), *hyper_fields(m), *option_fields(m)]
    choices = [(f.name, f.choices) for f in m.chosen_flags]
    stored = [list(m.dtypes), m.master, dict(m.storage), {x: m.args.values.get(x) for x in m.fixed}]
    text = json.dumps([ABI, m.prefix, [(c_type, name) for c_type, name, _ in fields], choices, m.spec.phases, stored])
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def header(library: str, specs: Sequence[LibrarySpec], made: str) -> str:
    """The text of `LIBRARY.h`; `made` says what the kernels are for."""
    about = f"/* {library}: {', '.join(m.spec.name for m in specs)}. {made} */"
    on_gpu = any(m.on_gpu for m in specs)
    parts = [
        SHARED,
        "" if on_gpu else PARALLEL_FOR,
        "/* What was wrong in the last call of this thread that returned an error. */",
        f"OPTGEN_API const char *{library}_error(void);\n",
        _CPU_OF_GPUS if on_gpu else _CPU,
        f"OPTGEN_API const char *{library}_cpu(void);\n",
        *(part for m in specs for part in _of_spec(m)),
    ]
    return framed(f"{library.upper()}_H", about, parts, ("math.h", "stdint.h", "string.h"))


def _of_spec(m: LibrarySpec) -> Iterator[str]:
    """The structures and functions of a spec."""
    p = m.prefix
    yield f"/* {'-' * 40} {m.spec.name} */\n"
    yield _about(m)
    for flag in m.chosen_flags:
        if flag.choices:
            about = safe(flag.doc) or "one of these"
            names = [f"    {p.upper()}_{choice_name(flag, k)}," for k in range(len(flag.choices))]
            yield "\n".join([f"/* options.{field(flag.name)}: {about} */", "enum {", *names, "};\n"])
    where = ", in memory of the GPU, aligned to their elements" if m.on_gpu else ""
    yield _structure(f"A parameter and its gradient, in C order without gaps{where}.", f"{p}_tensor", tensor_fields(m))
    yield _structure("The hyper-parameters of a step. NaN: unset.", f"{p}_hyper", hyper_fields(m))
    yield _structure(
        f"What a context is made with. Fill it by {p}_options_defaults().", f"{p}_options", option_fields(m)
    )
    yield "/* Of these structures: options that say another number are refused. */"
    yield f"#define {p.upper()}_ABI {abi(m):#x}u\n"
    yield f"typedef struct {p}_context {p}_context;\n"
    yield _defaults(f"{p}_hyper", [(field(n), real(x)) for n, x in m.hyper_defaults.items()])
    yield _defaults(f"{p}_options", list(option_defaults(m)))
    yield from (f"/* {f.about} */\nOPTGEN_API {f.prototype};\n" for f in functions(m))


def _about(m: LibrarySpec) -> str:
    lines = [*(x for x in (m.spec.title, m.spec.cite) if x), ""]
    lines += unicode(m.spec, m.shown_flags, {}).splitlines()
    escaped = (line.replace("*/", "* /").replace("/*", "/ *") for line in lines)
    body = "\n".join(f"   {line}".rstrip() for line in escaped).lstrip()
    return f"/* {body} */"


def _structure(about: str, name: str, fields: Iterator[tuple[str, str, str]]) -> str:
    lines = []
    for c_type, own, doc in fields:
        code = f"    {c_type}{'' if c_type.endswith('*') else ' '}{own};"
        lines.append(f"{code} /* {safe(doc)} */" if doc else code)
    return "\n".join([f"/* {about} */", f"typedef struct {name} {{", *lines, f"}} {name};\n"])


def tensor_fields(m: LibrarySpec) -> Iterator[tuple[str, str, str]]:
    """The type, name and meaning of each field of a tensor."""
    yield "void *", "data", "updated in place"
    yield "const void *", "grad", "read" if "grad" in m.spec.reads else "not read: may be NULL"
    yield "const int64_t *", "shape", "`rank` lengths; read while a context is made"
    yield "int64_t", "rank", ""
    for x in m.spec.inputs:
        yield "const void *", field(x.name), x.doc or "read; of the parameter's shape"


def hyper_fields(m: LibrarySpec) -> Iterator[tuple[str, str, str]]:
    """The same of hyper-parameters."""
    for name, value in m.hyper_defaults.items():
        param = m.spec.all_params[name]
        default = "default none (NaN)" if value is None else f"default {value:.15g}"
        parts = [*([param.doc] if param.doc else []), "given at each step" if param.given else default]
        parts += [f"in {param.interval}"] if param.interval is not None else []
        parts += ["a whole number"] if param.is_int else []
        parts += ["fixed in this library"] if name in m.fixed else []
        yield "double", field(name), ", ".join(parts)


def option_fields(m: LibrarySpec) -> Iterator[tuple[str, str, str]]:
    """The same of options."""
    yield "uint32_t", "abi", "that of the header"
    yield "int32_t", "dtype", f"an optgen_dtype, of parameters; built: {', '.join(m.dtypes)}"
    yield from _gpu_fields(m) if m.on_gpu else _cpu_fields(m)
    yield from _flag_fields(m)


def _cpu_fields(m: LibrarySpec) -> Iterator[tuple[str, str, str]]:
    """The options of libraries for CPUs."""
    yield "int32_t", "threads", "that share the work of large steps; 0: as many as there are CPUs, or as OpenMP says"
    yield "uint64_t", "seed", "of random draws"
    yield "optgen_parallel_for", "parallel", "the program's own threads, in place of the library's; NULL: none"
    yield "void *", "pool", "its first argument"
    yield "void *", "memory", f"for states, of {m.prefix}_memory_bytes() bytes; NULL: the library allocates it"
    yield "int64_t", "memory_bytes", "its size"
    sparse = "n times 1 for a tensor whose gradients may be row-sparse, else 0; NULL: none"
    yield "const uint8_t *", "row_sparse", sparse


def _gpu_fields(m: LibrarySpec) -> Iterator[tuple[str, str, str]]:
    """Those of libraries for GPUs."""
    yield "int32_t", "device", "-1: the thread's CUDA context, or GPU 0 if it has none; else the number of a GPU"
    yield "uint64_t", "seed", "of random draws"
    stream = "a cudaStream_t or CUstream for steps, there until the context is destroyed; NULL: the default one"
    yield "void *", "stream", stream
    yield "void *", "memory", f"for states, {m.prefix}_memory_bytes() bytes of the GPU; NULL: the library allocates it"
    yield "int64_t", "memory_bytes", "its size"


def _flag_fields(m: LibrarySpec) -> Iterator[tuple[str, str, str]]:
    for flag in m.chosen_flags:
        choice = f"one of {m.prefix.upper()}_{flag.name.upper()}_..." if flag.choices else "0 or 1"
        about = [*([flag.doc] if flag.doc else []), choice]
        if flag.per_param:
            about.append(f"for each of n tensors; NULL: {m.flag_default(flag)} for all")
        yield "const int32_t *" if flag.per_param else "int32_t", field(flag.name), ", ".join(about)


def option_defaults(m: LibrarySpec) -> Iterator[tuple[str, str]]:
    """The options that are not 0, and what they are."""
    yield "abi", f"{m.prefix.upper()}_ABI"
    yield "dtype", f"OPTGEN_{m.dtypes[0].upper()}"
    if m.on_gpu:
        yield "device", "-1"
    for flag in m.chosen_flags:
        if not flag.per_param:
            yield field(flag.name), str(m.flag_default(flag))


def _defaults(name: str, values: Sequence[tuple[str, str]]) -> str:
    """The function that makes a structure with these values, and zeros elsewhere."""
    lines = [f"    values.{field} = {value};" for field, value in values]
    begin = [f"static inline {name} {name}_defaults(void)", "{", f"    {name} values;"]
    return "\n".join([*begin, "    memset(&values, 0, sizeof values);", *lines, "    return values;", "}\n"])


# ---------------------------------------------------------------- functions


@dataclass(frozen=True)
class CFunction:
    """A function of a spec. `prototype` is its declaration without a semicolon. `call` is the call of calls.c or of
    saved.c that it consists of, with SPEC for the table of the spec; empty for those that read options."""

    name: str
    prototype: str
    about: str
    call: str = ""


def functions(m: LibrarySpec) -> Iterator[CFunction]:
    """Those of a spec, in the order of the header."""

    def status(end: str, arguments: str, about: str, call: str = "") -> CFunction:
        return CFunction(f"{p}_{end}", f"optgen_status {p}_{end}({arguments})", about, call)

    p, context = m.prefix, f"{m.prefix}_context *context"
    given = f"const {p}_tensor *tensors, int64_t n, const {p}_options *options, const {p}_hyper *params"
    memory, queued = (_GPU_MEMORY, ", as work of options.stream") if m.on_gpu else (_MEMORY, "")
    yield status("create", f"{p}_context **context, {given}", _CREATE.replace("MEMORY", memory).replace("PREFIX", p))
    about = "How many bytes options.memory must have. Data and gradients may be NULL, as shapes count alone."
    yield status("memory_bytes", f"int64_t *bytes, {given}", about)
    for k, phase in enumerate(m.phases):
        name, stride = f"step_{phase}" if phase else "step", len(m.hyper_defaults)
        what = f"The phase {phase} of a step, with gradients of its own" if phase else "A step"
        about = f"{what}: updates all tensors{queued}. {_after_errors(m)}"
        call = "step(SPEC, context, (const double *)params"
        yield status(name, f"{context}, const {p}_hyper *params", about, f"{call}, 0, {k})")
        about = "The same, with n hyper-parameters: those of each tensor."
        yield status(f"{name}_each", f"{context}, const {p}_hyper *params", about, f"{call}, {stride}, {k})")
    if m.spec.evaluate:
        about = f"Writes the weights to evaluate with to out[i], one for each tensor{queued}; nothing else changes."
        arguments = f"{context}, const {p}_hyper *params, void *const *out"
        yield status("evaluate", arguments, about, "evaluate(SPEC, context, (const double *)params, out)")
    about = "Has the next steps read n other gradients, of the same shapes."
    arguments = f"{context}, const void *const *grads"
    yield status("set_gradients", arguments, about, "set_gradients(SPEC, context, grads)")
    if not m.on_gpu:
        arguments = f"{context}, int64_t i, const void *values, const int64_t *rows, int64_t count"
        yield status("set_rows", arguments, _ROWS, "set_rows(SPEC, context, i, values, rows, count)")
    names = ", ".join(s.name for s in m.spec.states) or "none"
    about = f"Where a state of tensor i is, and its bytes{_place_of_states(m)}. States: {names}."
    arguments = f"{context}, int64_t i, const char *name, void **data, int64_t *bytes"
    yield status("state", arguments, about, "state(SPEC, context, i, name, data, bytes)")
    about = "Writes counts and states to a file (safetensors), which is replaced when the new one is complete."
    yield status("save", f"{context}, const char *path", about, "save(SPEC, context, path)")
    about = f"Reads counts and states. {_after_errors(m)}"
    yield status("load", f"{context}, const char *path", about, "load(SPEC, context, path)")
    about = "The updates that each of the n tensors has had, which may be changed: 0 to 2^53. NULL after an error."
    yield CFunction(f"{p}_counts", f"int64_t *{p}_counts({context})", about, "counts(SPEC, context)")
    about = "Waits for what is queued, and frees" if m.on_gpu else "Frees"
    yield status("destroy", context, f"{about} a context; does nothing for NULL.", "destroy(SPEC, context)")


def _after_errors(m: LibrarySpec) -> str:
    return f"After an error nothing has changed{', unless its text says so' if m.on_gpu else ''}."


def _place_of_states(m: LibrarySpec) -> str:
    """What is said of the memory of states."""
    if not m.on_gpu:
        return ""
    own = [s.name for s in m.spec.states if s.kind is Kind.HOST]
    return " on the GPU" + (f" (of {', '.join(own)}: in the memory of the host)" if own else "")


_ROWS = """\
Has the next steps read a gradient of tensor i that has `count` rows of its first axis: `values` are these rows, and
   `rows` their numbers, which ascend; both must be there while a step reads them. A spec that computes each row by
   itself leaves the other ones as they are; for the rest of specs they have a gradient of zero. options.row_sparse must
   have named the tensor."""
_CREATE = """\
Makes a context: states for n tensors, with the values that they start with. Weights, gradients and inputs stay the
   program's memory, MEMORY, and must be there while a step reads them. A gradient may be NULL until
   PREFIX_set_gradients. `params` decides which kernels are taken. A context is for one thread at a time."""
_MEMORY = "at any alignment"
_GPU_MEMORY = "of the GPU"
_CPU = "/* The CPU whose kernels are taken here, of those that the library was built for; NULL: none of them. */"
_CPU_OF_GPUS = """\
/* The CPU whose code computes the numbers of a step here, of those that the library was built for; NULL: none. */"""
