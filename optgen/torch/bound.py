"""Parameters of one dtype on one device, bound to their kernels and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from optgen.execute.rule import UpdateRule
from optgen.execute.state import State
from optgen.torch import state as states
from optgen.torch.memory import ParamMemory, fits, local_tensor, row_sparse
from optgen.torch.scalars import Counts, Scalars
from optgen.torch.state import STEP, StateKeys


class BoundTensors:
    """A step of a rule over some parameters, whose states stand in `kept`, a dict for each.

    `ids` number the parameters, for their draws. `is_sparse`: their gradients are sparse COO tensors.
    """

    def __init__(
        self,
        rule: UpdateRule,
        params: Sequence[torch.Tensor],
        kept: Sequence[dict[str, Any]],
        ids: Sequence[int],
        keys: StateKeys,
        *,
        seed: int,
        is_sparse: bool = False,
    ) -> None:
        self.factor = 1.0
        self.params, self._kept, self._keys, self.is_sparse = params, kept, keys, is_sparse
        self._rule, self._ids, self._seed = rule, ids, seed
        by_memory = _is_elementwise(rule, params)
        self._memories = [
            ParamMemory(
                p,
                by_memory=by_memory and not is_sparse,
                always_view=is_sparse or not (p.grad is None or fits(p, p.grad)),
                by_row=is_sparse,
            )
            for p in params
        ]
        self._special = [m for m in self._memories if not m.is_plain]
        self._copies = [m for m in self._memories if m.is_copy]
        self.counts = np.array([self._count(k) for k in kept], np.int64)
        scalar_dtype = keys.scalar_dtype(kept[0])
        arrays = self._prepare_states()
        self._scalars = self._show_scalars(arrays, scalar_dtype)
        self._state_ids = self._ids_of_states()
        self._state_objects = [x for k in kept for x in k.values()]  # alive, so that no id comes twice
        self._state = State(arrays, self.counts)
        self._pending: Mapping[str, Any] = {}
        self._bind()

    def _bind(self) -> None:
        tensors = [m.tensor for m in self._memories]
        if self.is_sparse:
            self._members = [i for i, p in enumerate(self.params) if p.grad is not None]
            picked = {name: [x[i] for i in self._members] for name, x in self._state.arrays.items()}
            self._own_counts = self.counts[self._members]
            self._step = self._rule.bind(
                [tensors[i] for i in self._members],
                [row_sparse(self.params[i].grad) for i in self._members],  # type: ignore[arg-type]
                State(picked, self._own_counts),
                ids=[self._ids[i] for i in self._members],
            )
        else:
            self._step = self._rule.bind(tensors, None, self._state, ids=self._ids)
        self._step.seed = self._seed
        self._set_factor(self.factor)

    def _count(self, kept: Mapping[str, Any]) -> int:
        if not self._keys.has_step:
            return int(self._keys.is_started(kept))
        return int(kept.get(STEP, 0))

    def _show_scalars(self, arrays: dict[str, list[Any]], dtype: torch.dtype) -> list[Scalars | Counts]:
        """What `state[p]` shows of the counts, and of numbers that it has in another dtype than kernels."""
        found: list[Scalars | Counts] = []
        for name in self._keys.numbers:
            values = np.array([x.item() for x in arrays[name]])
            arrays[name] = list(torch.from_numpy(values))
            found.append(Scalars(self._keys.key_of(name), values, self._kept, dtype))
        if self._keys.counts_in_python:
            found.append(Counts(STEP, self.counts, self._kept))
        elif self._keys.has_step:
            found.append(Scalars(STEP, self.counts, self._kept, dtype))
        return found

    def _prepare_states(self) -> dict[str, list[Any]]:
        """The tensors to bind, as `State.arrays` has them."""
        arrays: dict[str, list[Any]] = {}
        n = len(self.params)
        shared: dict[str, torch.Tensor] = {}
        for i, (kept, memory) in enumerate(zip(self._kept, self._memories, strict=True)):
            if self._keys.has_step:
                kept.setdefault(STEP, 0)  # the first key, as PyTorch has it
            kernel = self._rule.kernel(tuple(memory.tensor.shape))
            bound = states.prepare(
                kernel,
                kept,
                memory,
                self._rule.values,
                shared,
                by_row=False,
                keys=self._keys,
            )
            for name, tensor in bound.items():
                arrays.setdefault(name, [None] * n)[i] = tensor
        return arrays

    def _ids_of_states(self) -> list[int]:
        if self._keys.counts_in_python:
            return [id(x) for k in self._kept for key, x in k.items() if key != STEP]
        return list(map(id, chain.from_iterable(map(dict.values, self._kept))))

    def is_current(self) -> bool:
        """Whether states and special memory are those that were bound."""
        if self._ids_of_states() != self._state_ids:
            return False
        return all(m.is_current() for m in self._special)

    def set(self, values: Mapping[str, Any]) -> None:
        """Set params: a number for all parameters, or a list with one for each."""
        self._pending = values

    def _set_factor(self, factor: float) -> None:
        self.factor = factor
        if self._rule.scales_gradient:
            self._step.gradient_factor = factor

    def run(self, changes: Mapping[str, Any], factor: float) -> None:
        """One update of the parameters that have gradients, after these changes of params.

        Gradients are multiplied by the factor; it is 1 if the rule does not scale them.
        """
        if factor != self.factor:
            self._set_factor(factor)
        for memory in self._special:
            memory.load()
            if not self.is_sparse:
                memory.read_grad()
        for scalars in self._scalars:
            scalars.read()
        if self.is_sparse:
            self._run_sparse(changes)
        else:
            self._step(**self._pending, **changes)
        for memory in self._copies:
            memory.store()
        self._pending = {}
        for scalars in self._scalars:
            scalars.write()

    def _run_sparse(self, changes: Mapping[str, Any]) -> None:
        members = [i for i, p in enumerate(self.params) if p.grad is not None]
        if members != self._members:
            self._bind()
        else:
            self._own_counts[:] = self.counts[members]
            self._step.rebind([row_sparse(self.params[i].grad) for i in members])  # type: ignore[arg-type]
        self._step(**self._pending, **changes)
        self.counts[members] = self._own_counts


def _is_elementwise(rule: UpdateRule, params: Sequence[torch.Tensor]) -> bool:
    """Whether the equations give each axis no meaning of its own, so that elements may come in any order."""
    kernels = [rule.kernel(tuple(local_tensor(p).shape)) for p in params]
    return all(k.native.cut in ("anywhere", "blocks") and not {"rows", "cols"} & set(k.native.hyper) for k in kernels)
