"""Parameters by name."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np

from runtime import initializer
from runtime.base import ArgumentError
from runtime.context import Context
from runtime.core.dtypes import element_type
from runtime.gluon.parameter.constant import Constant
from runtime.gluon.parameter.loading import load_into
from runtime.gluon.parameter.parameter import Parameter
from runtime.initializer import Initializer
from runtime.ndarray import NDArray, serialization


class ParameterDict:
    """Parameters by full name, in order of creation; `get` makes what is not there, under `prefix`.

    `shared` is another dict whose parameters are used where it has them.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._shared = shared
        self._params: dict[str, Parameter] = {}

    @property
    def prefix(self) -> str:
        return self._prefix

    def __getitem__(self, name: str) -> Parameter:
        return self._params[name]

    def __contains__(self, name: str) -> bool:
        return name in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        return self._params.items()

    def __repr__(self) -> str:
        name = f"{self._prefix} " if self._prefix else ""
        return "\n".join([f"{name}(", *(f"  {p}" for p in self.values()), ")"])

    # ------------------------------------------------------------ taking parameters out and in

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter called prefix + `name`: made with `kwargs`, or, if there is one, checked against them."""
        param = self._find(self._prefix + name)
        if param is None:
            param = self._params[self._prefix + name] = Parameter(self._prefix + name, **kwargs)
        else:
            _check_same(param, kwargs)
        return param

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """The constant called prefix + `name`: made of `value`, or, if there is one, checked against it.

        KeyError if there is none and no value.
        """
        name = self._prefix + name
        param = self._find(name)
        if param is None:
            if value is None:
                raise KeyError(f"there is no constant '{name}'; give a value to make one")
            param = self._params[name] = Constant(name, value)
        elif not isinstance(param, Constant):
            raise ArgumentError(f"parameter '{name}' is no constant")
        elif value is not None:
            value = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
            if not np.array_equal(value, param.value.asnumpy()):
                raise ArgumentError(f"constant '{name}' has another value already: {param.value.asnumpy()}")
        return param

    def _find(self, name: str) -> Parameter | None:
        """The parameter of that full name here or in the dict it is shared from, from where it is taken in."""
        if name not in self._params and self._shared is not None and name in self._shared:
            self._params[name] = self._shared[name]
        return self._params.get(name)

    def update(self, other: ParameterDict | Mapping[str, Parameter]) -> None:
        """Take in all parameters of `other`; ArgumentError where a name stands for two different ones."""
        for name, param in other.items():
            if self._params.get(name, param) is not param:
                raise ArgumentError(f"two different parameters are called '{name}'; give the blocks different prefixes")
        self._params.update(other.items())

    # ------------------------------------------------------------ all at once

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """`Parameter.initialize` for all; `init` (Uniform by default) is for those without an initializer."""
        default = initializer.Uniform() if init is None else initializer.create(init)
        for param in self.values():
            if verbose:
                print(f"initializing {param.name} with {param.init or default}")
            param.initialize(None, ctx, default, force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for param in self.values():
            param.zero_grad()

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Move all to other contexts; see `Parameter.reset_ctx`."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """The contexts that any of them is in."""
        return list(dict.fromkeys(ctx for param in self.values() for ctx in param.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute, such as `grad_req` or `lr_mult`, of all."""
        for param in self.values():
            setattr(param, name, value)

    # ------------------------------------------------------------ files

    def save(self, filename: str | os.PathLike[str], strip_prefix: str = "") -> None:
        """Write all by name, without `strip_prefix`, to a file; it is replaced only when the new one is complete."""
        for name in self.keys():
            if not name.startswith(strip_prefix):
                raise ArgumentError(f"strip_prefix is '{strip_prefix}', but parameter '{name}' does not start with it")
        serialization.save(filename, {name[len(strip_prefix) :]: param._reduce() for name, param in self.items()})

    def load(
        self,
        filename: str | os.PathLike[str],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read what `save`, or MXNet, wrote; see `load_dict`. Nothing changes unless the whole file fits."""
        for name in self.keys():
            if not name.startswith(restore_prefix):
                raise ArgumentError(
                    f"restore_prefix is '{restore_prefix}', but parameter '{name}' does not start with it"
                )
        loaded = serialization.load_named(filename)
        self.load_dict(
            loaded, ctx, allow_missing, ignore_extra, restore_prefix, os.fspath(filename), cast_dtype, dtype_source
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take values from arrays by name, with `restore_prefix` put before each ('arg:' and 'aux:' removed).

        `filename` is where they come from, for errors. Other arguments as in `Block.load_parameters`.
        """
        where = f"file '{filename}'" if filename else "param_dict"
        if not isinstance(param_dict, Mapping):
            raise ArgumentError(f"{where} holds a list of arrays without names; parameters need names")
        where += f" ('{restore_prefix}' put before its names)" if restore_prefix else ""
        loaded = {restore_prefix + key: x for key, x in serialization.without_kinds(param_dict).items()}
        load_into(self._params, loaded, where, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)


_NOT_COMPARED = ("allow_deferred_init", "differentiable")


def _check_same(param: Parameter, wanted: dict[str, Any]) -> None:
    """A parameter that two blocks share must be what both asked for; what was open is filled in."""
    for key, value in wanted.items():
        if value is None or key in _NOT_COMPARED:
            continue
        attribute = f"_{key}" if key in ("shape", "stype", "grad_stype") else key
        known = getattr(param, attribute)
        if key == "shape" and known is not None:
            value = _merged(known, (value,) if isinstance(value, int) else tuple(value))
            same = value is not None
        else:
            same = known is None or (element_type(value) == known if key == "dtype" else value == known)
        if not same:
            raise ArgumentError(
                f"parameter '{param.name}' has {key} {known}, and cannot be shared with {key} {wanted[key]}"
            )
        if known is None or key == "shape":
            setattr(param, attribute, value)


def _merged(known: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """What two shapes say together, where 0 and -1 say nothing; None if they contradict each other."""
    if len(known) != len(new) or any(m != n and m > 0 and n > 0 for m, n in zip(known, new, strict=True)):
        return None
    return tuple(max(m, n) for m, n in zip(known, new, strict=True))
