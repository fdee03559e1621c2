"""State files: what an optimizer keeps for each parameter, as a safetensors file that says what it holds.

The arrays are the file's tensors. Its metadata is `format`, `version`, `header` (JSON: the optimizer, the identity of
its spec and the hash of its text, hyper-parameters, update counts, and of each parameter its index, name and the tree
of its state, whose leaves name tensors) and `sha256`, over the header and the tensors. Reading runs nothing that a file
holds, and checks all of it before anything changes.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from runtime.base import MXNetError
from runtime.context import cpu
from runtime.core import files, optgen_bridge
from runtime.core.backend import to_host
from runtime.core.coding import Coding
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer import counts
from runtime.optimizer.by_name import checked_numbers
from runtime.optimizer.classes import is_made
from runtime.optimizer.optimizer import Index, Optimizer, device_number
from runtime.optimizer.spec import SpecOptimizer
from runtime.optimizer.state_header import check as check_header
from runtime.optimizer.state_trees import Coded, converted, joined

FORMAT, VERSION = "runtime.optimizer", 1
_OWN_CHOICE = ("multi_precision", "storage", "aggregate_num")  # the loading optimizer's, whatever the file's was
_APART = (
    "exchange",
    "lr_scheduler",
    "phase",
    "_device",
    "_version",
)  # None or a number at times, but no one's hyper-parameter
COUNTS = ("num_update", "begin_num_update")
_NUMBERS = ("lr", "wd", "rescale_grad", "clip_gradient")
_ALWAYS = (*COUNTS, "seed")  # restored even from a file without hyper-parameters


class HoldsStates(Protocol):
    """What reading needs of an `Updater`, which is made of this module."""

    optimizer: Optimizer
    states: dict[Index, Any]
    states_synced: dict[Index, bool]
    _device: int


# ---------------------------------------------------------------- writing


def dumps(optimizer: Optimizer, states: Mapping[Index, Any], with_arguments: bool) -> bytes:
    """The content of a state file; `with_arguments`: with the hyper-parameters, too."""
    due = getattr(optimizer, "due", None)
    if due is not None:
        raise MXNetError(f"{type(optimizer).__name__}: the phase '{due}' is due; save states between steps")
    writer = _Writer()
    values = scalars(optimizer)
    header = {
        "optimizer": type(optimizer).__name__,
        "spec": _spec_hash(optimizer),
        "identity": _identity(optimizer),
        "values": values if with_arguments else {k: v for k, v in values.items() if k in _ALWAYS},
        "parameters": [
            {
                "index": i,
                "name": optimizer.name_of(i),
                "id": optimizer._ids.get(i),
                "updates": optimizer._index_update_count.get(i, optimizer.begin_num_update),
                "state": writer.tree(joined(state, optimizer), str(i)),
            }
            for i, state in states.items()
        ],
    }
    return sealed(header, writer.arrays)


def sealed(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of the state file with this header and these arrays, which `checked` takes apart."""
    text = json.dumps(header)
    metadata = {"format": FORMAT, "version": str(VERSION), "header": text, "sha256": files.digest(text, arrays)}
    return files.to_bytes(arrays, metadata)


class _Writer:
    """Puts trees into JSON, and their arrays into `arrays`, by the names that the JSON calls them."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}  # by identity: what several parameters share is written once

    def tree(self, tree: Any, path: str) -> Any:
        match tree:
            case NDArray():
                return {"array": self._array(tree, path)}
            case Coded(codes, scales, coding, shape):
                names = [self._array(codes, path), self._array(scales, f"{path}.scale")]
                own = [] if codes.shape == shape else [shape]
                return {"coded": [*names, coding.storage, coding.nonnegative, *own]}
            case None | bool() | int() | float() | str():
                return {"value": tree}
            case tuple() | list():
                return {type(tree).__name__: [self.tree(x, f"{path}.{k}") for k, x in enumerate(tree)]}
            case dict() if all(isinstance(key, str) for key in tree):
                return {"dict": {key: self.tree(x, f"{path}.{key}") for key, x in tree.items()}}
        kind = type(tree).__name__
        raise MXNetError(f"states of {kind} cannot be saved: use arrays, numbers, tuples, lists, and dicts with names")

    def _array(self, array: NDArray, path: str) -> str:
        name = self._names.setdefault(id(array._data), path)
        self.arrays[name] = to_host(array._data)
        return name


def scalars(optimizer: Optimizer) -> dict[str, Any]:
    """The attributes that are numbers, words or None: hyper-parameters, and what a class written by hand counts with;
    and hyper-parameters that are pairs of the end of a name and a number.

    They may be private ones of that class, but none that a store or a base class sets.
    """
    known = {name: value for name, value in vars(optimizer).items() if name not in _APART}
    return {name: value for name, value in known.items() if is_scalar(value) or name in _named(optimizer)}


def _named(optimizer: Optimizer) -> tuple[str, ...]:
    """The hyper-parameters that may be numbers by the ends of names."""
    return optimizer.named_params if isinstance(optimizer, SpecOptimizer) else ()


def is_scalar(value: Any) -> bool:
    """Whether it is a number, a word or None, which JSON gives back as it was."""
    return value is None or isinstance(value, (bool, int, float, str))


def is_settable(optimizer: Optimizer, name: str) -> bool:
    """Whether the optimizer has a scalar of this name or, written by hand, may come to have one."""
    if name in _APART or name.startswith("__") or not name.isidentifier():
        return False
    own, cls = vars(optimizer), type(optimizer)
    if name in own:
        return is_scalar(own[name]) or name in _named(optimizer)
    return not is_made(cls) and not hasattr(SpecOptimizer, name) and is_scalar(getattr(cls, name, None))


def checked_value(optimizer: Optimizer, name: str, value: Any) -> Any:
    """A new value for a scalar attribute; TypeError, ValueError or MXNetError where it cannot have this one."""
    if name in _named(optimizer) and isinstance(value, list | tuple):
        return checked_numbers(optimizer.spec, name, value)
    if not is_scalar(value):
        raise TypeError(f"{type(value).__name__} is no scalar")
    if name in COUNTS:
        return counts.count(value, f"'{name}'")
    of_spec = isinstance(optimizer, SpecOptimizer)
    if name in (*_NUMBERS, *(optimizer.param_names if of_spec else ())):
        optional = name == "clip_gradient" or of_spec
        if isinstance(value, (bool, str)) or value != value or (value is None and not optional):
            raise TypeError("not a number")
    if not of_spec:
        return value
    if name in optimizer.param_names:
        return optgen_bridge.checked(optimizer.spec, name, value)
    if name in optimizer.flag_names:
        optgen_bridge.resolve(optimizer.spec, {name: value})
    elif name in (*optimizer.per_param_names, "lazy_update") and not isinstance(value, bool):
        raise TypeError("not True or False")
    elif name == "seed" and value is not None:
        return counts.seed(value, "the seed of an optimizer")
    return value


def _identity(optimizer: Optimizer) -> dict[str, Any] | None:
    """That of the spec, of optimizers that have one."""
    from optgen.spec_identity import identity

    spec = getattr(optimizer, "spec", None)
    return None if spec is None else identity(spec)


def _spec_hash(optimizer: Optimizer) -> str | None:
    """Of the spec's lines but for comments and layout."""
    spec = getattr(optimizer, "spec", None)
    if spec is None:
        return None
    lines = [" ".join(line.split()) for line in spec.source.lines if not line.startswith("#")]
    return hashlib.sha256("\n".join(filter(None, lines)).encode()).hexdigest()


# ---------------------------------------------------------------- reading


def load(
    fname: str | os.PathLike[str], updaters: Sequence[HoldsStates], weights: Sequence[Mapping[Index, NDArray]]
) -> None:
    """`restore` from a file, whose name then is in the errors."""
    content = Path(fname).read_bytes()
    try:
        restore(updaters, content, weights)
    except MXNetError as error:
        raise MXNetError(f"'{os.fspath(fname)}': {error}") from None


def restore(updaters: Sequence[HoldsStates], content: bytes, weights: Sequence[Mapping[Index, NDArray]]) -> None:
    """Bring updaters, of one optimizer, to what `dumps` wrote; on any error they stay as they are.

    Each has `weights`, those of its device. Their states are converted to the element type and storage that these need,
    the others when they are first used.

    Raises MXNetError for a file that is damaged or that something else wrote, and where states do not fit.
    """
    optimizer, saved, fit = _prepared(updaters, content, weights)
    for updater, states, converted_, of in zip(updaters, saved, fit, weights, strict=True):
        updater.states = states | converted_
        updater._device = next((device_number(w.context) for w in of.values()), updater._device)
        updater.states_synced = {i: i in converted_ for i in states}
    vars(updaters[0].optimizer).update(vars(optimizer))


def check(updaters: Sequence[HoldsStates], content: bytes, weights: Sequence[Mapping[Index, NDArray]]) -> None:
    """MXNetError where `restore` would raise it. Nothing is changed."""
    _prepared(updaters, content, weights)


def _prepared(
    updaters: Sequence[HoldsStates], content: bytes, weights: Sequence[Mapping[Index, NDArray]]
) -> tuple[Optimizer, list[dict[Index, Any]], list[dict[Index, Any]]]:
    """The optimizer as the file has it and, for each updater, the states as they were saved, and those that fit."""
    found, arrays = checked(content)
    optimizer = restored(updaters[0].optimizer, found)
    saved = [_states(found, arrays) for _ in updaters]
    here = optimizer.param_dict
    if here and not saved[0].keys() <= here.keys():
        raise MXNetError(f"the file has states for {len(saved[0])} parameters, and here there are {len(here)}")
    return optimizer, saved, [_fitted(states, optimizer, of) for states, of in zip(saved, weights, strict=True)]


def _states(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[Index, Any]:
    """The states of a file, as they were saved, over copies of its arrays."""
    held = {name: NDArray(array.copy(), cpu()) for name, array in arrays.items()}
    return {p["index"]: _tree(p["state"], held) for p in header["parameters"]}


def _fitted(states: Mapping[Index, Any], optimizer: Optimizer, weights: Mapping[Index, NDArray]) -> dict[Index, Any]:
    """The states of these weights, all of one device, as the optimizer keeps them."""
    known = {i: weights[i] for i in states if i in weights}
    for weight in known.values():
        optimizer._set_current_context(device_number(weight.context))
        break
    return {i: converted(states[i], optimizer, i, weight) for i, weight in known.items()}


def checked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file that is whole and ours, and whose header is such as this library writes.

    Whether these are the states of an optimizer, and fit, is not checked here.
    """
    if content[:1] == b"\x80" and content[8:9] != b"{":  # with a brace there it is the length of a header
        raise MXNetError(
            "this state file is a pickle, as MXNet writes them. Reading one runs whatever code it holds, so it is not "
            "read; load it in MXNet, and take the arrays out of it there"
        )
    arrays, metadata = files.from_bytes(content, "the state file")
    if metadata.get("format") != FORMAT:
        raise MXNetError("the file holds arrays, but not the states of an optimizer, which save_states writes")
    if metadata.get("version") != str(VERSION):
        raise MXNetError(f"the state file has version {metadata.get('version')}, and this library reads {VERSION}")
    text = metadata.get("header", "")
    if metadata.get("sha256") != files.digest(text, arrays):
        raise MXNetError("the state file is damaged: its checksum is not that of its content")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MXNetError(f"the state file has a header that cannot be read: {error}") from None
    check_header(header, arrays)
    return header, arrays


def restored(optimizer: Optimizer, header: Mapping[str, Any]) -> Optimizer:
    """A copy of the optimizer with the counts and values of a file that `checked` has taken apart.

    MXNetError, naming the value, for one that the optimizer cannot have.
    """
    name = type(optimizer).__name__
    if header["optimizer"] != name:
        raise MXNetError(f"the file holds states of {header['optimizer']}, and this is {name}")
    _check_identity(optimizer, header.get("identity"))
    if header["spec"] != _spec_hash(optimizer):
        warnings.warn(f"the spec of {name} has changed since these states were saved", stacklevel=4)
    new = copy.copy(optimizer)
    kept = ("param_dict", "pieces", "exchange")  # which copies are without
    vars(new).update({key: value for key, value in vars(optimizer).items() if key in kept})
    for key, value in header["values"].items():
        if is_settable(new, key) and key not in _OWN_CHOICE:
            try:
                setattr(new, key, checked_value(new, key, value))
            except (MXNetError, TypeError, ValueError, AttributeError, OverflowError) as error:
                raise MXNetError(f"values[{key!r}] = {counts.shown(value)}: {error}") from None
            own = getattr(optimizer, key, None)
            if isinstance(value, bool | str) and own != value:  # it chooses the algorithm
                warnings.warn(f"{key} is {value!r} in the file and {own!r} here: the file's is used", stacklevel=4)
    new._first_counts = {p["index"]: p["updates"] for p in header["parameters"]}
    new._all_index_update_counts = {}
    new._set_current_context(optimizer._device)
    numbers = {p["id"]: p["index"] for p in reversed(header["parameters"]) if p.get("id") is not None}
    new._ids = {index: i for i, index in numbers.items()}  # shards may have given one number twice: the first keeps it
    return new


def _check_identity(optimizer: Optimizer, saved: Any) -> None:
    """MXNetError if a file is of another spec, of another version of it, or of one with other states."""
    from optgen.spec_identity import difference

    spec = getattr(optimizer, "spec", None)
    if spec is None:
        return
    try:
        differs = difference(spec, saved)
    except ValueError as error:
        raise MXNetError(f"the state file's header: identity: {error}") from None
    if differs is not None:
        raise MXNetError(f"the file is {differs}")


def _tree(tree: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Any:
    """What `_Writer.tree` was given."""
    ((kind, content),) = tree.items()
    match kind:
        case "array":
            return arrays[content]
        case "coded":
            codes, scales, storage, nonnegative, *shape = content
            own = tuple(*shape) if shape else arrays[codes].shape
            return Coded(arrays[codes], arrays[scales], Coding(storage, nonnegative), own)
        case "value":
            return content
        case "tuple":
            return tuple(_tree(x, arrays) for x in content)
        case "list":
            return [_tree(x, arrays) for x in content]
        case "dict":
            return {key: _tree(x, arrays) for key, x in content.items()}
    raise ValueError(f"unknown kind of state '{kind}'")
