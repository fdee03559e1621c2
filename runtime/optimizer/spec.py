"""Optimizer classes made from specs, with true signatures and an `update` that is one native call."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from runtime import kernels
from runtime.base import did_you_mean
from runtime.nd.ndarray import NDArray
from runtime.optimizer.optimizer import Optimizer

if TYPE_CHECKING:
    from optgen.model import Optimizer as Spec

# Arguments of the base class that are no numbers in an equation.
_BOOKKEEPING = ("param_idx2name", "lr_scheduler", "begin_num_update", "param_dict")


class SpecOptimizer(Optimizer):
    """The base of what `make_class` makes. Hyper-parameters are attributes, checked whenever they are set."""

    spec: ClassVar[Spec]
    param_names: ClassVar[tuple[str, ...]]  # what the equations can read, `lr` and `wd` among them
    flag_names: ClassVar[tuple[str, ...]]  # the flags that are constructor arguments; the others follow from params
    aggregate_num = sys.maxsize

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._check_names(args, kwargs)
        bookkeeping = {name: kwargs.pop(name) for name in _BOOKKEEPING if name in kwargs}
        learning_rate = kwargs.get("learning_rate")
        if learning_rate is None:
            kwargs.pop("learning_rate", None)
        resolved = kernels.resolve(self.spec, kwargs)
        self._rules: dict[str, Any] = {}  # by dtype
        self._bindings: dict[tuple[int, ...], kernels.Binding] = {}
        base = {name: resolved.values[name] for name in ("rescale_grad", "wd", "clip_gradient")}
        super().__init__(learning_rate=learning_rate, **base, **bookkeeping)
        own = {name: resolved.flags[name] for name in self.flag_names} | resolved.values
        for name, value in own.items():
            setattr(self, name, value)

    def _check_names(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """The two mistakes a call can make before values count."""
        name, known = type(self).__name__, inspect.signature(type(self)).parameters
        if args:
            raise TypeError(f"{name} takes its arguments by name, such as {name}({next(iter(known))}={args[0]!r})")
        aliases = {alias for param in self.spec.params for alias in param.aliases}
        for key in kwargs:
            if key not in known and key not in aliases:
                raise TypeError(f"{name} has no argument '{key}'{did_you_mean(key, known)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.param_names:
            value = kernels.checked(self.spec, name, value)
        elif name in self.flag_names and self.__dict__.get("_rules"):
            raise ValueError(f"{type(self).__name__}: '{name}' is fixed once there are states; make a new optimizer")
        super().__setattr__(name, value)

    # ------------------------------------------------------------ states

    def _rule(self, dtype: np.dtype) -> Any:
        """The compiled spec, in the variant that the attributes choose when it is first needed."""
        if dtype.name not in self._rules:
            values = {name: getattr(self, name) for name in (*self.param_names, *self.flag_names)}
            self._rules[dtype.name] = kernels.load(self.spec, dtype.name, values)
        return self._rules[dtype.name]

    def create_state(self, index: int, weight: NDArray) -> dict[str, NDArray]:
        """The spec's states for this parameter, by name."""
        arrays = self._rule(weight._data.dtype).init([weight._data]).arrays
        return {name: NDArray(column[0], weight.context) for name, column in arrays.items()}

    # ------------------------------------------------------------ updates

    def update(
        self,
        index: int | Sequence[int],
        weight: NDArray | Sequence[NDArray],
        grad: NDArray | Sequence[NDArray],
        state: dict[str, NDArray] | Sequence[dict[str, NDArray]],
    ) -> None:
        """Update one parameter, or, from lists, all of them: one native call for each element type."""
        if isinstance(index, int):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        for dtype in {w._data.dtype for w in weight}:
            rows = [row for row in zip(index, weight, grad, state, strict=True) if row[1]._data.dtype == dtype]
            self._update_together(dtype, *zip(*rows, strict=True))

    def _update_together(
        self,
        dtype: np.dtype,
        indices: tuple[int, ...],
        weights: tuple[NDArray, ...],
        grads: tuple[NDArray, ...],
        states: tuple[dict[str, NDArray], ...],
    ) -> None:
        binding = self._bindings.get(indices)
        if binding is None or not binding.fits(weights, states):
            binding = self._bindings[indices] = kernels.Binding(self._rule(dtype), weights, grads, states)
        values = {name: getattr(self, name) for name in self.param_names}
        values["lr"], values["wd"] = _one_if_equal(self._get_lrs(indices)), _one_if_equal(self._get_wds(indices))
        done = [self._index_update_count[i] - 1 for i in indices]
        binding(grads, done, values)


def _one_if_equal(values: list[float]) -> float | list[float]:
    return values[0] if values.count(values[0]) == len(values) else values


# ---------------------------------------------------------------- from a spec to a class


def make_class(spec: Spec) -> type[SpecOptimizer]:
    """The optimizer class of a spec."""
    members = {
        "spec": spec,
        "param_names": tuple(spec.all_params()),
        "flag_names": tuple(flag.name for flag in spec.flags if flag.condition is None and not flag.per_param),
        "__doc__": _doc(spec),
        "__signature__": _signature(spec),
        "__module__": "runtime.optimizer",
    }
    return type(spec.name, (SpecOptimizer,), members)


def _signature(spec: Spec) -> inspect.Signature:
    """The spec's own params and flags, then what all optimizers take; all by name."""
    defaults = {p.name: p.default for p in spec.params} | {
        f.name: f.default for f in spec.flags if f.default is not None
    }
    own = {"learning_rate" if name == "lr" else name: default for name, default in defaults.items()}
    shared = {p.name: p.default for p in inspect.signature(Optimizer).parameters.values()}
    return inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in (own | {k: v for k, v in shared.items() if k not in own}).items()
        ]
    )


def _doc(spec: Spec) -> str:
    """Title and source, the equations as they are written, and the arguments."""
    lines = [f"{spec.title or spec.name}.", ""]
    if spec.cite:
        lines += [f"{spec.cite}.", ""]
    first = spec.update[0].span.line
    equations = "\n".join(spec.source.lines[first - 1 :]).rstrip()
    lines += textwrap.indent(textwrap.dedent(equations), "    ").split("\n")
    lines += ["", "Parameters", "----------"]
    for p in spec.params:
        name = "learning_rate" if p.name == "lr" else p.name
        inside = f", in {p.interval}" if p.interval else ""
        doc = p.doc or ("learning rate" if p.name == "lr" else "see the equations")
        lines.append(f"{name}: {doc}{inside}.")
    lines += [f"{f.name}: {f.doc or 'see the equations'}." for f in spec.flags if f.default is not None]
    lines.append("The others are those of every Optimizer.")
    return "\n".join(lines)
