"""How names, texts and numbers are written in C."""

from __future__ import annotations

import math

from optgen.model import Flag

_TENSOR_FIELDS = ("data", "grad", "shape", "rank")
CPU_OPTIONS = ("abi", "dtype", "threads", "seed", "parallel", "pool", "memory", "memory_bytes", "row_sparse")
GPU_OPTIONS = ("abi", "dtype", "device", "seed", "stream", "memory", "memory_bytes")
"""The fields that all options have before the flags, of libraries for CPUs and for GPUs."""
_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield compl
concept const consteval constexpr constinit const_cast continue decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
linux unix errno NAN INFINITY EOF NULL assert
"""
"""Those of C and of C++, and names that headers of systems define as macros."""


def field(name: str) -> str:
    """The name of a field, which is no keyword of C or C++, and no field of every tensor or of all options."""
    return f"{name}_" if name in _KEYWORDS.split() or name in (*_TENSOR_FIELDS, *CPU_OPTIONS, *GPU_OPTIONS) else name


def choice_name(flag: Flag, k: int) -> str:
    """The end of the name of a choice: `MODE_LINEAR`."""
    return "".join(c if c.isalnum() else "_" for c in f"{flag.name}_{flag.choices[k]}").upper()


def quoted(text: str) -> str:
    """A literal of C."""
    body = "".join(
        f"\\{c}" if c in '"\\' else c if c.isascii() and c.isprintable() else "".join(f"\\{x:03o}" for x in c.encode())
        for c in text
    )
    return f'"{body.replace("??", "?" + chr(92) + "?")}"'


def real(x: float | None) -> str:
    """A double of C."""
    if x is None or math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(float(x))
