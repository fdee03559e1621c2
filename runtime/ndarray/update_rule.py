"""Functions that update weights, made of equations: what the optimizers' operators in `updates` have in common.

A function says in its signature what it takes, and in equations of optgen's language what it does:

    @update("mom", '''
      mom' = momentum*mom - lr*(g + wd*w)
      w'   = w + mom'
    ''')
    def sgd_mom_update(weight, grad, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, out=None):
        ...

They are compiled when it is first called, for the type of the arrays. A call is one native step over the arrays.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from runtime import kernels
from runtime.base import MXNetError
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import _check_names
from runtime.ndarray.sparse.dense import as_dense

_RESERVED = ("lr", "wd", "rescale_grad", "clip_gradient", "t", "lazy_update")
"""Arguments that mean in the equations what they do in every optimizer; `lazy_update` is not for the equations."""
_OFF = -1.0
"""The default of bounds: below 0 there is none."""


class Rule:
    """An update of weights by equations.

    `options` are the arguments beside the arrays, with their defaults; `states` what the equations call the arrays that
    are kept between updates. `by_row`: a row-sparse gradient updates its rows only.
    """

    def __init__(
        self, name: str, states: Sequence[str], equations: str, options: Mapping[str, Any], by_row: bool
    ) -> None:
        self.name, self.states, self.options, self.by_row = name, states, options, by_row
        self._bounds = {name for name, default in options.items() if default == _OFF}
        self._flags = {name for name, default in options.items() if isinstance(default, bool)} - {"lazy_update"}
        self._equations = equations
        self._compiled: dict[tuple[Any, ...], Any] = {}
        self._bindings: dict[tuple[Any, ...], tuple[weakref.ref[NDArray], kernels.Binding]] = {}

    def text(self) -> str:
        """The spec."""
        lines = [f'optimizer {self.name} "{self.name}"', "param clip_gradient = none"]
        for name, default in self.options.items():
            if name in self._flags:
                lines.append(f"flag {name} = {str(default).lower()}")
            elif name not in _RESERVED:
                lines.append(f"param {name} = {'none' if name in self._bounds else default or 0}")
        lines += [f"state {name}" + ("" if ":" in name else " = 0") for name in self.states]
        return "\n".join([*lines, "update:", self._equations])

    def __call__(
        self,
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        kept: Sequence[Sequence[NDArray]],
        out: Sequence[NDArray] | None,
        master: bool = False,
        **options: Any,
    ) -> list[NDArray]:
        """Write the new weights to `out`, or to new arrays, and return these.

        `kept[i]` are the states of weights[i], and with `master` last its float32 master; they change. Options are
        numbers or, but for flags, lists of one for each weight.
        """
        self._check(weights, grads, kept, out)
        targets = [w.copy() for w in weights] if out is None else list(out)
        for weight, target in zip(weights, targets, strict=True):
            if target is not weight:
                target[:] = weight
        is_lazy = options.pop("lazy_update", self.by_row) and not master and _alike(targets, kept)
        count = options.pop("t", 1)
        variant = master, is_lazy, *((name, bool(options.pop(name))) for name in self._flags)
        values = {name: self._bound(x) if name in self._bounds else x for name, x in options.items()}
        counts = list(count) if isinstance(count, (list, tuple)) else [count] * len(weights)
        try:
            if all(type(x) is NDArray for x in (*targets, *_flat(kept))):
                self._binding(targets, grads, kept, variant, out is None)(grads, counts, values)
            else:
                with as_dense([*targets, *_flat(kept)]) as dense:
                    n = len(targets)
                    ...
        except (TypeError, ValueError) as error:
            raise MXNetError(f"{self.name}: {error}") from None
        return targets
