"""Parameters of one dtype on one device, bound to their kernels and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any

import torch

from optgen.execute.rule import UpdateRule
from optgen.execute.state import State
from optgen.ir import Buffer
from optgen.torch import state as states
from optgen.torch.counts import UpdateCounts
from optgen.torch.memory import ParamMemory, fits, local_tensor, row_sparse
from optgen.torch.state import StateKeys


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
        self.params, self.rule = params, rule
        self._kept, self._keys, self._ids, self._seed = kept, keys, ids, seed
        self._memories = [
            memory_of(rule, p, is_sparse=is_sparse, always_view=not (p.grad is None or fits(p, p.grad))) for p in params
        ]
        self._kernels = [rule.kernel(tuple(m.tensor.shape)) for m in self._memories]
        # 8-bit blocks run on from row to row, so such states are updated as a whole.
        self.is_sparse = is_sparse
        self._by_row = is_sparse and not any(kernel.is_quantized for kernel in self._kernels)
        self._special = [m for m in self._memories if not m.is_plain]
        self._copies = [m for m in self._memories if m.is_copy]
        self._counts = UpdateCounts(kept, has_step=keys.has_step)
        arrays = self._prepare_states()
        self._inputs = {i.name: [self._input(k, i.name) for k in range(len(params))] for i in rule.spec.inputs}
        self._state_tensors = [x for k in kept for x in k.values()]
        self._state = State(arrays, self._counts.values)
        self._unstarted = [i for i in range(len(params)) if self._starts_as_weight(i) and not self._counts.values[i]]
        self._masters = [p for p, k in zip(params, self._kernels, strict=True) if "w" in k.states]
        self._versions: list[int] = []
        self._pending: dict[str, Any] = {}
        self._factor = 1.0
        self._bind()

    def _bind(self) -> None:
        tensors = [m.tensor for m in self._memories]
        if self._by_row:
            self._members = self._with_gradient()
            picked = {name: [x[i] for i in self._members] for name, x in self._state.arrays.items()}
            self._own_counts = self._counts.values[self._members]
            self._step = self.rule.bind(
                [tensors[i] for i in self._members],
                self._row_sparse_gradients(),
                State(picked, self._own_counts),
                {name: [tensors[i] for i in self._members] for name, tensors in self._inputs.items()},
                ids=[self._ids[i] for i in self._members],
            )
        else:
            self._step = self.rule.bind(tensors, None, self._state, self._inputs, ids=self._ids)
        self._step.seed = self._seed
        if self.rule.scales_gradient:
            self._step.gradient_factor = self._factor

    def _prepare_states(self) -> dict[str, list[Any]]:
        """The tensors to bind, as `State.arrays` has them."""
        arrays: dict[str, list[Any]] = {}
        n = len(self.params)
        shared = states.shared_states(self._buffers(0), self._kept)
        for i, (kept, memory) in enumerate(zip(self._kept, self._memories, strict=True)):
            try:
                bound = states.prepare(
                    self._buffers(i), kept, memory, self.rule.values, shared, shape_of=self._keys.shape_of
                )
            except ValueError as error:
                raise ValueError(f"params[{i}]: {error}") from error
            for name, tensor in bound.items():
                arrays.setdefault(name, [None] * n)[i] = tensor
        return arrays

    def _input(self, i: int, name: str) -> torch.Tensor:
        """A tensor that the spec reads: it stands beside the states, for others to write, and is 0 until they do."""
        kept, memory = self._kept[i], self._memories[i]
        kept[name] = found = states.values_like(memory, name, kept.get(name))
        return memory.like_bound(local_tensor(found))

    def _buffers(self, i: int) -> Sequence[Buffer]:
        return list(self._kernels[i].states.values())

    def _starts_as_weight(self, i: int) -> bool:
        return states.starts_as_weight(self._buffers(i), self.rule.values)

    @property
    def has_started(self) -> bool:
        """Whether a parameter was updated before."""
        return bool(self._counts.values.any())

    def is_current(self) -> bool:
        """Whether states and special memory are those that were bound."""
        tensors = self._state_tensors
        return (
            sum(map(len, self._kept)) == len(tensors)
            and all(map(is_, chain.from_iterable(map(dict.values, self._kept)), tensors))
            and self._counts.is_current()
            and all(m.is_current() for m in self._special)
        )

    def keeps(self, kept: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these are the dicts that the states stand in."""
        return all(map(is_, kept, self._kept))

    def set(self, values: Mapping[str, Any], gradient_factor: float) -> None:
        """Have the next update use these params, each a number for all parameters or a list with one for each."""
        self._pending |= values
        if gradient_factor != self._factor:
            self._step.gradient_factor = self._factor = gradient_factor

    @property
    def bound_params(self) -> Sequence[torch.Tensor]:
        """The parameters in the order of the step's numbers, by which its errors call them."""
        return [self.params[i] for i in self._members] if self._by_row else self.params

    def run(self) -> None:
        """One update of the parameters that have gradients."""
        for memory in self._special:
            memory.load()
            if not self._by_row:
                memory.read_grad()
        if self._unstarted:
            self._restart()
        if self._masters:
            self._follow_weights()
        self._counts.read()
        if self._by_row:
            self._run_by_row()
        else:
            self._step(**self._pending)
        for memory in self._copies:
            memory.store()
        if self._masters:
            self._versions = [p._version for p in self._masters]
        self._pending = {}
        self._counts.write()

    def _restart(self) -> None:
        """Before the first update of a parameter, what starts as the parameter is the parameter as it is now."""
        for i in self._unstarted:
            if self.params[i].grad is not None:
                states.restart(self._buffers(i), self._kept[i], self._memories[i], self.rule.values)
        self._unstarted = [i for i in self._unstarted if self.params[i].grad is None]

    def _follow_weights(self) -> None:
        """Have masters follow parameters that others wrote."""
        versions = [p._version for p in self._masters]
        if versions != self._versions:
            for p, kept in zip(self.params, self._kept, strict=True):
                if states.MASTER in kept:
                    states.follow_weight(kept, p)

    # ------------------------------------------------------------ row-sparse gradients

    def _with_gradient(self) -> list[int]:
        return [i for i, p in enumerate(self.params) if p.grad is not None]

    def _row_sparse_gradients(self) -> list[Any]:
        grads = [(self.params[i].grad, self._memories[i].tensor) for i in self._members]
        return [row_sparse(local_tensor(grad), like) for grad, like in grads if grad is not None]

    def _run_by_row(self) -> None:
        members = self._with_gradient()
        if members != self._members:
            self._bind()
        else:
            self._own_counts[:] = self._counts.values[members]
            self._step.rebind(self._row_sparse_gradients())
        self._step(**self._pending)
        self._counts.values[members] = self._own_counts


def memory_of(
    rule: UpdateRule, param: torch.Tensor, *, is_sparse: bool = False, always_view: bool = False
) -> ParamMemory:
    """A parameter as it is bound: by memory where the equations give each axis no meaning of its own."""
    if is_sparse:
        return ParamMemory(param, by_memory=False, always_view=True)
    memory = ParamMemory(param, by_memory=True, always_view=always_view)
    if not memory.is_reordered:
        return memory
    native = rule.kernel(tuple(memory.tensor.shape)).native
    by_memory = native.cut in ("anywhere", "blocks") and not {"rows", "cols"} & set(native.hyper)
    return memory if by_memory else ParamMemory(param, by_memory=False, always_view=always_view)
