"""How names, texts and numbers are written in C and in Rust."""

from __future__ import annotations

import math
import re

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
char8_t char16_t char32_t linux unix errno assert environ stdin stdout stderr
far hyper interface near pascal cdecl small
"""
"""Those of C and of C++, and names that headers of C, Linux and Windows define as macros."""
_MACRO = re.compile(r"[A-Z0-9_]{2,}|__.*|_[A-Z].*")
"""Names of macros, as M_PI, and those that C keeps for itself."""


def field(name: str) -> str:
    """The name of a field: no keyword of C or C++, no macro, and no field of every tensor or of all options."""
    taken = name in _KEYWORDS.split() or name in (*_TENSOR_FIELDS, *CPU_OPTIONS, *GPU_OPTIONS) or _MACRO.fullmatch(name)
    return f"{name}_" if taken else name


_RUST_KEYWORDS = """
_ Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if
impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type
typeof unsafe unsized use virtual where while yield
"""


def rust_name(c_name: str) -> str:
    """The name of a field in Rust."""
    return f"{c_name}_" if c_name in _RUST_KEYWORDS.split() else c_name


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
