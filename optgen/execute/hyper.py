"""The hyper-parameters of a bound step: checked before they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from optgen import arguments
from optgen.model import PER_PARAMETER, Call, FlagValue, Optimizer, Param, walk

Value = float | None
Decide = Callable[[int, Mapping[str, Value]], Mapping[str, FlagValue]]
"""The flags of parameter i for these values."""


class Hyper:
    """`values` by name: a number for all parameters, or a list with one for each; None where unset.

    `flags` are those of each parameter's kernel; values with which `decide` finds others are refused.
    """

    def __init__(
        self,
        spec: Optimizer,
        values: Mapping[str, Value],
        flags: Sequence[Mapping[str, FlagValue]],
        decide: Decide,
    ) -> None:
        self.values: dict[str, Value | list[Value]] = dict(values)
        self._spec, self._n, self._flags, self._decide = spec, len(flags), flags, decide
        self._deciding = arguments.deciding(spec)
        self._joins = any(isinstance(e, Call) and e.scope == "params" for q in spec.update for e in walk(q.value))

    def change(self, given: Mapping[str, Any]) -> dict[str, Value | list[Value]]:
        """The new values by canonical name, which are kept from now on: all of them, or none where one is wrong."""
        changes: dict[str, Value | list[Value]] = {}
        for name, value in given.items():
            param = arguments.find(self._spec, name)
            if param.name in changes:
                raise TypeError(f"{self._spec.name}: '{param.name}' is given twice, once as '{name}'")
            changes[param.name] = self._checked(param, value)
        self._check_flags(changes)
        self.values |= changes
        return changes

    def _checked(self, param: Param, value: Any) -> Value | list[Value]:
        spec = self._spec
        several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        if not several and not (isinstance(value, np.ndarray) and value.ndim):
            checked = arguments.check(spec, param, value)
            arguments.check_read(spec, param, checked)
            return checked
        if self._joins and param.name not in PER_PARAMETER:
            raise ValueError(f"{spec.name} sums over all parameters, so '{param.name}' must be one number for them all")
        if len(value) != self._n:
            count = f"{len(value)} value{'' if len(value) == 1 else 's'}"
            raise ValueError(f"{spec.name}: '{param.name}' has {count} for {self._n} parameters")
        each = [arguments.check(spec, param, x) for x in value]
        for x in each:
            arguments.check_read(spec, param, x)
        return each

    def _check_flags(self, changes: Mapping[str, Value | list[Value]]) -> None:
        """Derived flags chose the kernels; values that would choose others are an error."""
        causes = self._deciding & set(changes)
        if not causes:
            return
        values = {**self.values, **changes}
        for i, flags in enumerate(self._flags):
            here = {name: x[i] if isinstance(x, list) else x for name, x in values.items()}
            after = self._decide(i, here)
            for flag, old in flags.items():
                if after[flag] != old:
                    named = ", ".join(f"{name}={here[name]}" for name in changes if name in causes)
                    raise ValueError(
                        f"{self._spec.name}: {named} would change the flag '{flag}' from {old} to {after[flag]}, "
                        "which is fixed when the rule is loaded; load it again with the new value"
                    )
