"""States as trees: arrays in tuples, lists and dicts, and how a saved one becomes the one that a weight needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base import MXNetError
from runtime.context import Context, cpu
from runtime.core import backend, dtypes
from runtime.core.coding import Coding
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer.named_states import NamedStates
from runtime.optimizer.optimizer import Index, Optimizer
from runtime.optimizer.spec import SpecOptimizer

if TYPE_CHECKING:
    from optgen import Piece


@dataclass(frozen=True)
class Coded:
    """A quantized state: one leaf of a tree, where the optimizer has the two arrays side by side. `shape` is that of
    the weight."""

    codes: NDArray
    scales: NDArray
    coding: Coding
    shape: tuple[int, ...]

    @property
    def context(self) -> Context:
        return self.codes.context


def mapped(function: Callable[[NDArray], NDArray], tree: Any) -> Any:
    """The tree with each array replaced by what `function` makes of it."""
    match tree:
        case NDArray():
            return function(tree)
        case Coded(codes, scales, coding, shape):
            return Coded(function(codes), function(scales), coding, shape)
        case NamedStates():
            return NamedStates(map(function, tree), tree.names, tree.shape)
        case tuple() | list():
            return type(tree)(mapped(function, x) for x in tree)
        case dict():
            return {key: mapped(function, x) for key, x in tree.items()}
    return tree


def joined(tree: Any, optimizer: Optimizer) -> Any:
    """The state of an optimizer, as it is saved.

    Of a spec: its arrays by name, codes and scales that belong together in one `Coded`; with a master, the pair of that
    and these. Any other is left as it is.
    """
    if not isinstance(optimizer, SpecOptimizer):
        return tree
    if isinstance(tree, dict) or (type(tree) is tuple and isinstance(tree[-1], dict)):
        return tree  # read from a file, and not used since
    if type(tree) is tuple:
        master, inner = optimizer._pair(*tree)
        return master, joined(inner, optimizer)
    arrays = optimizer.unpacked(tree)
    scales = {key.removesuffix(".scale"): x for key, x in arrays.items() if key.endswith(".scale")}
    return {
        key: Coded(x, scales[key], optimizer.coding(key, tree.shape), tree.shape) if key in scales else x
        for key, x in arrays.items()
        if not key.endswith(".scale")
    }


def split(tree: Any, optimizer: Optimizer) -> Any:
    """What `joined` was made of."""
    if not isinstance(optimizer, SpecOptimizer):
        return tree
    if isinstance(tree, tuple):
        master, inner = tree
        return optimizer._pair(master, split(inner, optimizer))
    arrays = {}
    for key, x in tree.items():
        arrays |= {key: x.codes, f"{key}.scale": x.scales} if isinstance(x, Coded) else {key: x}
    coded = [x.shape for x in tree.values() if isinstance(x, Coded)]
    return optimizer.packed(arrays, next(iter(coded), ()))


def converted(saved: Any, optimizer: Optimizer, index: Index, weight: NDArray) -> Any:
    """A state as the optimizer makes one for this weight, with the numbers of a joined tree that was saved. Of a weight
    that is a piece, that of the whole will do.

    Raises MXNetError, naming the parameter, where these are other states or have other shapes.
    """
    name, piece = optimizer.name_of(index), optimizer.pieces.get(index)
    elsewhere = piece is not None and not weight.size
    fresh = joined(optimizer.create_state_multi_precision(index, weight), optimizer)
    has, wanted = structure(saved), structure(fresh)
    if has == wanted:
        return split(_filled(fresh, saved, name, piece, elsewhere), optimizer)
    # A master on one side only: that of the weight, or left out.
    if optimizer.has_master(weight) and structure((fresh[0], saved)) == wanted:
        return split((fresh[0], _filled(fresh[1], saved, name, piece, elsewhere)), optimizer)
    if isinstance(saved, tuple) and len(saved) == 2 and structure(saved[1]) == wanted:
        return split(_filled(fresh, saved[1], name, piece, elsewhere), optimizer)
    raise MXNetError(
        f"the saved state of parameter '{name}' is {has}, but {type(optimizer).__name__} keeps {wanted} here; are its "
        "arguments those it was saved with?"
    )


def structure(tree: Any) -> str:
    """What a tree is made of, as text: equal for trees that can be converted into each other."""
    match tree:
        case NDArray() | Coded():
            return "an array"
        case tuple() | list():
            return f"({', '.join(map(structure, tree))})"
        case dict():
            return f"{{{', '.join(f'{key}: {structure(tree[key])}' for key in sorted(tree))}}}"
    return "no array"


def _filled(fresh: Any, saved: Any, name: str, piece: Piece | None, elsewhere: bool) -> Any:
    """The tree `fresh`, its arrays filled with what is saved, of the same structure.

    `piece`: what the weight is a piece of, if it is one; `elsewhere`: that this is empty.
    """
    match fresh:
        case NDArray() | Coded():
            if piece is not None and saved.shape == piece.shape != fresh.shape:
                saved = _cut(saved, piece.offset, fresh)
            elif saved.shape != fresh.shape and elsewhere:
                return fresh
            if saved.shape != fresh.shape:
                raise MXNetError(
                    f"the saved state of parameter '{name}' has shape {saved.shape}, but here it is {fresh.shape}"
                )
            if _is_fractional(fresh) and not _is_fractional(saved):
                raise MXNetError(f"the saved state of parameter '{name}' is of type {saved.dtype}, which none here is")
            _write(fresh, saved)
            return fresh
        case tuple() | list():
            return type(fresh)(_filled(f, s, name, piece, elsewhere) for f, s in zip(fresh, saved, strict=True))
        case dict():
            return {key: _filled(f, saved[key], name, piece, elsewhere) for key, f in fresh.items()}
    return saved


def _is_fractional(array: NDArray | Coded) -> bool:
    return isinstance(array, Coded) or array._data.dtype.kind in "fV"  # V: bfloat16


def _cut(saved: NDArray | Coded, begin: int, like: NDArray | Coded) -> NDArray | Coded:
    """Elements of a saved array, as many as `like` has, from number `begin` on, where a block begins."""
    end = begin + math.prod(like.shape)
    if isinstance(saved, Coded) and saved.scales.ndim == 1:
        codes, scales = saved.coding.part(saved.codes.reshape((-1,)), saved.scales, begin, end)
        return Coded(codes, scales, saved.coding, (end - begin,))
    return NDArray(_numbers(saved).reshape(-1)[begin:end], cpu())


def _write(to: NDArray | Coded, saved: NDArray | Coded) -> None:
    """Write numbers from one storage to another, each rounded once; between equal ones as they are."""
    if isinstance(to, Coded):
        if isinstance(saved, Coded) and saved.coding == to.coding and saved.scales.shape == to.scales.shape:
            codes, scales = (backend.to_host(x._data) for x in (saved.codes, saved.scales))
        else:
            codes, scales = to.coding.encode(_numbers(saved).astype(np.float32), by_row=to.scales.ndim == 2)
        _set(to.codes, codes)
        _set(to.scales, scales)
    else:
        _set(to, dtypes.convert(_numbers(saved), to._data.dtype))


def _set(to: NDArray, values: np.ndarray) -> None:
    with backend.device_scope(to.context):
        to._data[...] = backend.to_device_of(to._data, values)


def _numbers(saved: NDArray | Coded) -> np.ndarray:
    if isinstance(saved, Coded):
        return saved.coding.decode(*(backend.to_host(x._data) for x in (saved.codes, saved.scales)), saved.shape)
    return backend.to_host(saved._data)
