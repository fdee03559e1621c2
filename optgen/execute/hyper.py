"""The hyper-parameters of a bound step: checked before they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from optgen import arguments
from optgen.execute.buffers import Tensor
from optgen.execute.kernel import LoadedKernel
from optgen.model import FlagValue, Optimizer, Param

HyperValue = float | None
"""A hyper-parameter; None where it is unset."""
Numbers = Mapping[str, HyperValue | Sequence[HyperValue]]
"""Hyper-parameters by name: one value for all parameters, or one for each."""
Values = Mapping[str, HyperValue | Sequence[HyperValue] | Tensor]
"""Numbers, and tensors with one number, which capturable steps read."""
DecideFlags = Callable[[int, Mapping[str, HyperValue]], Mapping[str, FlagValue]]
"""The flags of parameter i for these values."""


def flag_decider(
    decide: Callable[..., Mapping[str, FlagValue]],
    kernels: Sequence[LoadedKernel],
    shapes: Sequence[Sequence[int]],
    flags: Sequence[Mapping[str, FlagValue]],
) -> DecideFlags:
    """What decides the flags of parameter i, which has a kernel, a shape, and flags that are set for it.

    It does not refer to the step. A step in a cycle of references would keep its arrays until the garbage collector
    finds it.
    """

    def flags_of(i: int, values: Mapping[str, HyperValue]) -> Mapping[str, FlagValue]:
        sparse = bool(kernels[i].variant.flags.get("sparse"))
        return decide(shapes[i], flags[i], values, sparse=sparse)

    return flags_of


class HyperParameters:
    """The hyper-parameters of a step: `values` by name, a number for all parameters or a list with one for each.

    `dtype` is that of the parameters, `flags` are those of each one's kernel. Values for which `decide_flags` returns
    other flags are refused. `scalar` returns the memory of a hyper-parameter that is a tensor and stays one, and None
    for any other object.
    """

    def __init__(
        self,
        spec: Optimizer,
        dtype: str,
        values: Mapping[str, HyperValue],
        flags: Sequence[Mapping[str, FlagValue]],
        decide_flags: DecideFlags,
        scalar: Callable[[Any, str], Tensor | None],
    ) -> None:
        self.values: dict[str, HyperValue | list[HyperValue] | Tensor] = dict(values)
        self._scalar, self._dtype = scalar, dtype
        self._spec, self._n, self._flags, self._decide_flags = spec, len(flags), flags, decide_flags

    def change(self, new: Mapping[str, Any]) -> dict[str, HyperValue | list[HyperValue] | Tensor]:
        """Set hyper-parameters, all of them or, if one is wrong, none; returns them by canonical name."""
        changes: dict[str, HyperValue | list[HyperValue] | Tensor] = {}
        for name, value in new.items():
            param = arguments.find(self._spec, name)
            if param.name in changes:
                raise TypeError(f"{self._spec.name}: '{param.name}' is given twice, once as '{name}'")
            changes[param.name] = self._checked(param, value)
        self._check_dimensions(changes)
        self._check_flags(changes)
        arguments.warn_of_subnormals(self._spec, self._dtype, changes)
        self.values |= changes
        return changes

    def numbers(self, get: Callable[[Tensor], Any]) -> Numbers:
        """The values, those of tensors fetched by `get`."""
        return {name: float(get(x)) if isinstance(x, Tensor) else x for name, x in self.values.items()}

    def _checked(self, param: Param, value: Any) -> HyperValue | list[HyperValue] | Tensor:
        spec = self._spec
        tensor = self._scalar(value, param.name)
        if tensor is not None:
            self._check_tensor(param, tensor)
            return tensor
        several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        if not several and not (isinstance(value, np.ndarray) and value.ndim):
            checked = arguments.check(spec, param, value)
            arguments.check_read(spec, param, checked)
            return checked
        if self._spec.joins_params and param.name not in self._spec.per_parameter:
            raise ValueError(
                f"{spec.name} shares values between all parameters, so '{param.name}' must be one number for them all"
            )
        arguments.check_lengths(spec, {param.name: value}, self._n)
        each = [arguments.check(spec, param, x) for x in value]
        for x in each:
            arguments.check_read(spec, param, x)
        return each

    def _check_tensor(self, param: Param, tensor: Tensor) -> None:
        """ValueError for a tensor that is not one number, or a parameter whose number must be known before a step."""
        where = f"{self._spec.name}: '{param.name}'"
        if tensor.dtype not in ("float32", "float64") or tensor.shape:
            raise ValueError(f"{where} is {tensor.dtype} of shape {tensor.shape}; one float32 or float64 can be read")
        if param.name in self._spec.deciding or param.zero_off:
            raise ValueError(f"{where} decides which code runs, so it must be a number, and not a tensor of the GPU")

    def _check_dimensions(self, changes: Mapping[str, Any]) -> None:
        """Params that are dimensions, or lengths of histories, cannot change."""
        for name in self._spec.fixed:
            if name in changes and changes[name] != self.values[name]:
                lengths = {state.entries for state in self._spec.states}
                of_states = {name for state in self._spec.states for name in state.fixed}
                dimension = "a dimension of states" if name in of_states else "a dimension"
                raise ValueError(
                    f"{self._spec.name}: '{name}' is {'the length of histories' if name in lengths else dimension}, "
                    "which is fixed when the rule is loaded; load it again with the new value, and make new states"
                )

    def _check_flags(self, changes: Mapping[str, HyperValue | list[HyperValue] | Tensor]) -> None:
        """Derived flags chose the kernels; values that would choose others are an error."""
        causes = self._spec.deciding & set(changes)
        if not causes:
            return
        values = {**self.values, **changes}
        for i, flags in enumerate(self._flags):
            here = {k: x[i] if isinstance(x, list) else x for k, x in values.items() if not isinstance(x, Tensor)}
            after = self._decide_flags(i, here)
            for flag, old in flags.items():
                if after[flag] != old:
                    named = ", ".join(f"{name}={here[name]}" for name in changes if name in causes)
                    raise ValueError(
                        f"{self._spec.name}: {named} would change the flag '{flag}' from {old} to {after[flag]}, "
                        "which is fixed when the rule is loaded; load it again with the new value"
                    )
