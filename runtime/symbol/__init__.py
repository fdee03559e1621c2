"""`sym`: graphs of MXNet's operators, without values until they are bound to arrays.

Read `table`, what there is of operators, and `graph`, the nodes, first. `symbol` is what users hold, `compose` makes
nodes, `infer` finds shapes and types, `executor` runs a graph, `json_file` reads and writes MXNet's JSON.

The functions of this module are the operators whose names begin with no underscore, made when they are first used.
`contrib`, `linalg`, `random`, `image`, `sparse` and `_internal` have the others, as the modules of `nd` do.
"""

# ruff: noqa: F401 (this file gathers names)
from __future__ import annotations

from runtime.symbol import _internal, contrib, image, imperative, linalg, methods, op, random, sparse
from runtime.symbol.creation import (
    Variable,
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    var,
    zeros,
)
from runtime.symbol.namespace import offering
from runtime.symbol.symbol import Group, Symbol, fromjson, load, load_json

__all__ = [
    "Group",
    "Symbol",
    "Variable",
    "arange",
    "contrib",
    "eye",
    "fromjson",
    "full",
    "histogram",
    "hypot",
    "image",
    "linalg",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "op",
    "pow",
    "power",
    "random",
    "sparse",
    "split_v2",
    "var",
    "zeros",
]


__getattr__, __dir__ = offering(__name__, "")
methods.install()
imperative.install()
