"""Blocks: pieces of a network that know their parameters and their parts."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from runtime import files, name
from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.context import Context
from runtime.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from runtime.initializer import Initializer
from runtime.ndarray import NDArray


class _Scope:
    """Inside `with block.name_scope():`, blocks are named under `block`, counted by kind from 0."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._counter: Counter[str] = Counter()

    def __enter__(self) -> _Scope:
        _entered.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.stack.pop()

    @staticmethod
    def names(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """The full prefix and the parameters of a new block of the kind `hint`, which may have asked for its own."""
        if not _entered.stack:
            prefix = name.current().get(None, hint) + "_" if prefix is None else prefix
            return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
        scope = _entered.stack[-1]
        if prefix is None:
            prefix = f"{hint}{scope._counter[hint]}_"
            scope._counter[hint] += 1
        outer = scope._block
        if params is None:
            params = ParameterDict(outer.params.prefix + prefix, outer.params._shared)
        else:
            params = ParameterDict(params.prefix, params)
        return outer.prefix + prefix, params


class _Entered(threading.local):
    """The scopes this thread is in."""

    def __init__(self) -> None:
        self.stack: list[_Scope] = []


_entered = _Entered()


class Block:
    """A piece of a network: `forward` computes, attributes that are Blocks or Parameters are its parts.

    Parameters
    ----------
    prefix: start of the names of its parameters; None for one made from the class name and a count.
    params: another block's `params`, to share those of the same name.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        hint = type(self).__name__.lower()
        self._prefix, self._params = _Scope.names(prefix, params, hint)
        self._name = self._prefix.removesuffix("_")
        self._scope = nullcontext() if prefix == "" else _Scope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}

    def __setattr__(self, key: str, value: Any) -> None:
        if isinstance(value, Block):
            self.register_child(value, key)
        elif isinstance(value, Parameter):
            self._reg_params[key] = value
        super().__setattr__(key, value)

    def __repr__(self) -> str:
        parts = [f"  ({key}): {block!r}".replace("\n", "\n  ") for key, block in self._children.items()]
        return "\n".join([f"{type(self).__name__}(", *parts, ")"])

    # ------------------------------------------------------------ names and parts

    @property
    def prefix(self) -> str:
        """What its parameters' names start with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of its parts."""
        return self._params

    def name_scope(self) -> AbstractContextManager[Any]:
        """`with self.name_scope():` blocks made inside get names under this one's (if its prefix is not empty)."""
        return self._scope

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make `block` a part, called `name` (its position, if None) in files of parameters."""
        self._children[str(len(self._children)) if name is None else name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """All parameters, its parts' included; with `select`, a regular expression, those whose name it matches."""
        found = ParameterDict(self._params.prefix)
        pattern = re.compile(select or "")
        for block in self._blocks():
            for param_name, param in block.params.items():
                if pattern.match(param_name):
                    found._params.setdefault(param_name, param)
                    if found[param_name] is not param:
                        raise ValueError(
                            f"two different parameters are called '{param_name}'; give the blocks different prefixes"
                        )
        return found

    def _blocks(self) -> list[Block]:
        """This block and all its parts, each before its own parts."""
        return [self, *(b for child in self._children.values() for b in child._blocks())]

    def apply(self, fn: Callable[[Block], object]) -> Block:
        """Call `fn` with each part, innermost first, and with this block. Returns this block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Give all parameters their first values; see `Parameter.initialize`."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to the element type `dtype`. `Trainer` makes states for the type at its first step."""
        for param in self.collect_params().values():
            param.cast(dtype)

    def hybridize(self, active: bool = True, **flags: Any) -> None:
        """Accepted for code that calls it: every operator is compiled already, and there is no graph to build."""
        for child in self._children.values():
            child.hybridize(active, **flags)

    # ------------------------------------------------------------ files

    def _structured_params(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their place in the structure (`features.0.weight`), whatever the blocks are called."""
        own = {prefix + key: param for key, param in self._reg_params.items()}
        for key, child in self._children.items():
            own |= child._structured_params(f"{prefix}{key}.")
        return own

    def save_parameters(self, filename: str | os.PathLike[str], deduplicate: bool = False) -> None:
        """Write all parameters to a file (safetensors); it is replaced only when the new one is complete.

        `deduplicate` writes a parameter that several blocks share once.
        """
        params = self._structured_params()
        if deduplicate:
            first = {id(param): key for key, param in reversed(params.items())}
            params = {key: param for key, param in params.items() if first[id(param)] == key}
        files.save(filename, {key: param.data().asnumpy() for key, param in params.items()})

    def load_parameters(
        self,
        filename: str | os.PathLike[str],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
    ) -> None:
        """Read parameters that `save_parameters` wrote. Nothing changes unless the whole file fits.

        Parameters
        ----------
        ctx: where parameters without values go.
        allow_missing: leave parameters that the file does not have as they are.
        ignore_extra: pass over what the file has and the block does not.
        cast_dtype: convert values to the parameters' types, instead of refusing others.
        """
        params, loaded = self._structured_params(), files.load(filename)
        where = f"file '{os.fspath(filename)}'"
        given = {id(params[key]) for key in loaded if key in params}
        missing = [key for key, param in params.items() if id(param) not in given]
        extra = [key for key in loaded if key not in params]
        if missing and not allow_missing:
            raise MXNetError(
                f"{where} lacks {_names(missing)}; it has {_names(loaded)} (allow_missing=True leaves them as they are)"
            )
        if extra and not ignore_extra:
            raise MXNetError(
                f"{where} has {_names(extra)}, unknown here; there are {_names(params)} "
                "(ignore_extra=True passes over them)"
            )
        for key in loaded.keys() & params.keys():
            _check_fit(where, key, params[key], loaded[key], cast_dtype)
        for key in loaded.keys() & params.keys():
            param = params[key]
            if param._data is None and ctx is not None:
                param._deferred = None
                param.shape = loaded[key].shape
                param.initialize("zeros", ctx)
            param.set_data(loaded[key])

    # ------------------------------------------------------------ computing

    def __call__(self, *args: Any) -> Any:
        return self.forward(*args)

    def forward(self, *args: Any) -> Any:
        """Compute the output from the inputs."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")


class HybridBlock(Block):
    """A block whose `hybrid_forward(F, x, ..., **params)` gets the operators as `F` and its own parameters as arrays.

    Where shapes are left open, `infer_shape(x, ...)` sets them from the first inputs.
    """

    def forward(self, x: NDArray, *args: Any) -> Any:
        try:
            params = {key: param.data() for key, param in self._reg_params.items()}
        except DeferredInitializationError:
            self.infer_shape(x, *args)
            for param in self._reg_params.values():
                param._finish_deferred_init()
            params = {key: param.data() for key, param in self._reg_params.items()}
        return self.hybrid_forward(nd, x, *args, **params)

    def infer_shape(self, *args: Any) -> None:
        """Set the shapes of this block's parameters from its inputs."""
        unknown = [param for param in self._reg_params.values() if not param._is_shape_known()]
        raise MXNetError(
            f"{type(self).__name__} '{self.name}' cannot tell the shape of {', '.join(map(str, unknown))} from its "
            "inputs: give the parameter its whole shape, or define infer_shape"
        )

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any, **params: NDArray) -> Any:
        """Compute the output with the operators `F`."""
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward")


def _check_fit(where: str, key: str, param: Parameter, value: np.ndarray, cast_dtype: bool) -> None:
    shape = param.shape
    if shape is not None and (
        len(shape) != value.ndim or any(m not in (0, -1, n) for m, n in zip(shape, value.shape, strict=True))
    ):
        raise MXNetError(f"{where}: '{key}' has shape {value.shape}, but parameter '{param.name}' has shape {shape}")
    if value.dtype != param.dtype and not cast_dtype:
        raise MXNetError(
            f"{where}: '{key}' has type {value.dtype}, but parameter '{param.name}' has type {np.dtype(param.dtype)} "
            "(cast_dtype=True converts)"
        )


def _names(keys: Sequence[str] | dict[str, Any]) -> str:
    """A few of many names."""
    shown = [f"'{key}'" for key in list(keys)[:8]]
    return ", ".join(shown) + (f" and {len(keys) - 8} more" if len(keys) > 8 else "") if shown else "no parameters"
