"""What the compiler returns: code, and the signature that its callers need. The cache keeps both as one entry.

An entry is the signature, one line of JSON, and then the code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from optgen.axes import Kind, axis_of, count_of, of_kind
from optgen.ir import Buffer, Kernel, ReductionLevel, ShardGranularity

if TYPE_CHECKING:
    from optgen.backends.gpu import GpuModule
    from optgen.backends.gpu.table import Counts, Launch


@dataclass(frozen=True)
class NativeKernel:
    """Object code for this machine, and what a caller of it has to know."""

    symbol: str
    dtype: str
    buffers: tuple[Buffer, ...]
    hyper: tuple[str, ...]
    lazy: bool  # rows can be updated without the others
    shared: bool  # some value depends on all tensors of a step
    sweeps: int  # passes over the elements
    cut: ShardGranularity  # where tensors can be cut into pieces
    last_two: bool  # a tensor is a batch of matrices of its last two axes
    levels: tuple[ReductionLevel, ...]  # for boxes: the exchanges of a step, in order
    object: bytes


@dataclass(frozen=True)
class PtxKernel(NativeKernel):
    """`object` is the host's part of a step; `launches`, in order, are functions of `ptx`."""

    ptx: bytes
    launches: tuple[Launch, ...]
    counts: Counts


def pack_native(kernel: Kernel, code: bytes) -> bytes:
    """The entry of a kernel of the CPU."""
    return _pack(_signature(kernel), code)


def unpack_native(symbol: str, dtype: str, entry: bytes) -> NativeKernel:
    signature, code = _unpack(entry)
    return NativeKernel(symbol, dtype, **signature, object=code)


def pack_ptx(kernel: Kernel, module: GpuModule, text: bytes, host: bytes) -> bytes:
    """The entry of a kernel of GPUs: its PTX, and the object code of the host's part."""
    launches = {"launches": list(map(asdict, module.launches)), "counts": asdict(module.counts)}
    return _pack(_signature(kernel) | launches | {"ptx": len(text)}, text + host)


def unpack_ptx(symbol: str, dtype: str, entry: bytes) -> PtxKernel:
    from optgen.backends.gpu.table import Counts, Launch

    signature, code = _unpack(entry)
    size = signature.pop("ptx")
    signature["counts"] = Counts(**signature["counts"])
    signature["launches"] = tuple(Launch(**x) for x in signature["launches"])
    return PtxKernel(symbol, dtype, **signature, object=code[size:], ptx=code[:size])


def _signature(kernel: Kernel) -> dict[str, Any]:
    return {
        "buffers": list(map(row_of, kernel.buffers)),
        "hyper": kernel.hyper,
        "lazy": kernel.rows_independent,
        "shared": Kind.SHARED in kernel.kinds,
        "sweeps": sum(phase.kind == "sweep" for phase in kernel.phases),
        "cut": kernel.shard_granularity,
        "last_two": kernel.last_two,
        "levels": [asdict(level) for level in kernel.levels] if kernel.boxes else [],
    }


def _pack(signature: dict[str, Any], code: bytes) -> bytes:
    return json.dumps(signature).encode() + b"\n" + code


def row_of(buffer: Buffer) -> dict[str, Any]:
    """A buffer as JSON: its fields, but for axes its kind, and the `dims` of one of kind matrix. These and the entries
    of a history are texts; no entries are an empty one."""
    own = {f.name: getattr(buffer, f.name) for f in fields(buffer) if f.name not in ("axes", "known")}
    dims = [str(axis) for axis in buffer.axes] if buffer.kind is Kind.MATRIX else []
    return own | {"kind": buffer.kind.value, "dims": dims, "entries": str(buffer.entries or "")}


def buffer(row: Mapping[str, Any]) -> Buffer:
    """A buffer of `row_of`."""
    own = {key: x for key, x in row.items() if key not in ("kind", "dims", "entries")}
    axes, known = of_kind(Kind(row["kind"]), tuple(map(axis_of, row["dims"])))
    return Buffer(**own, axes=axes, known=known, entries=count_of(row["entries"] or "0"))


def _unpack(entry: bytes) -> tuple[dict[str, Any], bytes]:
    head, _, code = entry.partition(b"\n")
    signature = json.loads(head)
    buffers = tuple(map(buffer, signature["buffers"]))
    scopes = [(level.pop("kind"), level) for level in signature["levels"]]
    levels = tuple(ReductionLevel(kind, **{x: tuple(ops) for x, ops in own.items()}) for kind, own in scopes)
    return signature | {"buffers": buffers, "hyper": tuple(signature["hyper"]), "levels": levels}, code
