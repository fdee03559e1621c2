"""The manifest of a built spec: everything needed to call its kernels from another program, as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optgen import ir
from optgen.axes import Kind
from optgen.compiled import row_of
from optgen.expressions import Number
from optgen.ir import Buffer, Kernel
from optgen.ir.cost import cost
from optgen.model import Interval, Optimizer, Param, StateDecl
from optgen.symbolic.written import expression

FORMAT = 3
"""The version of the format. It is raised by changes that would mislead a reader of older manifests."""
Json = dict[str, Any]


@dataclass(frozen=True)
class BuiltKernel:
    """One compiled kernel: the `symbol` that its functions are named after, its `variant`, and its planned IR."""

    symbol: str
    variant: ir.Variant
    kernel: Kernel


@dataclass(frozen=True)
class Build:
    """The compiler that made the products, and their target."""

    version: str
    llvm: str
    target: Json


def manifest(optimizer: Optimizer, build: Build, entries: Sequence[Json]) -> str:
    """The text of a manifest. `entries` are those of `entry`, one for each kernel."""
    data: Json = {
        "format": FORMAT,
        "optgen": build.version,
        "llvm": build.llvm,
        "target": build.target,
        "spec": {
            "name": optimizer.name,
            "title": optimizer.title,
            "cite": optimizer.cite,
            "text": optimizer.source.text,
            "sha256": hashlib.sha256(optimizer.source.text.encode()).hexdigest(),
        },
        "params": [_param(p) for p in optimizer.all_params.values()],
        "flags": [
            {
                "name": f.name,
                "default": f.default,
                "choices": list(f.choices),
                "derived": f.condition is not None,
                "per_param": f.per_param,
                "doc": f.doc,
            }
            for f in optimizer.flags
        ],
        "states": [_state(s) for s in optimizer.states],
        "inputs": [{"name": i.name, "doc": i.doc} for i in optimizer.inputs],
        "variants": list(entries),
    }
    data["sha256"] = digest(data)
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(data: Json) -> str:
    """A hash of a manifest but for this hash itself, by which a reader knows that nothing was changed."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def entry(built: BuiltKernel, files: Mapping[str, str]) -> Json:
    """The entry of a kernel in the manifest. `files` are the names of its files.

    `storage` has the elementwise states that are not stored as the weight is. `buffers` and `hyper` are in the order in
    which the function takes pointers and values. Costs are per element and step. `lazy`: some rows of a tensor can be
    updated without the others. `shared`: some value depends on all tensors of a step. `cut`: where tensors can be cut
    into shards that are updated separately (`optgen.ir.ShardGranularity`).
    """
    kernel = built.kernel
    return {
        "symbol": built.symbol,
        "files": dict(files),
        "flags": dict(built.variant.flags),
        "dtype": built.variant.dtype,
        "master": built.variant.master,
        "storage": {name: x for name, x in built.variant.storage.items() if x != built.variant.weight},
        "evaluate": built.variant.evaluate,
        "lazy": kernel.rows_independent,
        "shared": Kind.SHARED in kernel.kinds,
        "cut": kernel.shard_granularity,
        "buffers": [_buffer(b) for b in kernel.buffers],
        "hyper": list(kernel.hyper),
        "cost": asdict(cost(kernel)),
    }


def _param(param: Param) -> Json:
    return {
        "name": param.name,
        "default": number(param.default),
        "type": "int" if param.is_int else "float",
        "per_param": param.per_param,
        "follows_lr": param.follows_lr,
        "optional": param.optional,
        "zero_off": param.zero_off,
        "given": param.given,
        "interval": _interval(param.interval),
        "aliases": list(param.aliases),
        "doc": param.doc,
    }


def number(x: float | str | None) -> float | str | None:
    """A number for JSON, which has no infinity: that is written as a string, `inf` or `-inf`."""
    return str(x) if isinstance(x, float) and math.isinf(x) else x


def _interval(interval: Interval | None) -> Json | None:
    if interval is None:
        return None
    return {
        "low": number(interval.low),
        "high": number(interval.high),
        "low_open": interval.low_open,
        "high_open": interval.high_open,
    }


def _state(state: StateDecl) -> Json:
    """A state of which `init` is an expression starts at 0, and gets that value in the first update."""
    init = number(state.init.value) if isinstance(state.init, Number) else expression(state.init)
    return {"name": state.name, "kind": state.kind.value, "init": init, "doc": state.doc}


def _buffer(buffer: Buffer) -> Json:
    """All that `optgen.ir.Buffer` says of it."""
    return row_of(buffer) | {"init": number(buffer.init)}
