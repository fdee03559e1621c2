"""Parameters of one dtype on one device, bound to their kernels and states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch

from optgen.axes import ELEMENTS
from optgen.execute.kernel import LoadedKernel
from optgen.execute.piece import Layout
from optgen.execute.rule import UpdateRule
from optgen.execute.state import State
from optgen.execute.steps.phased import PhasedStep
from optgen.execute.steps.step import BoundStep
from optgen.ir import COMPENSATION
from optgen.torch import state as states
from optgen.torch.forms import GpuScalars, OtherShapeError, PythonCounts, Scalars, count_of, shown
from optgen.torch.halves import MASTER
from optgen.torch.memory import ParamMemory, box_of, fits, local_tensor, row_sparse, sharding_of
from optgen.torch.spelling import naming
from optgen.torch.state import STEP, StateKeys
from optgen.torch.values import same_objects


class BoundTensors:
    """A step of a rule over some parameters, whose states stand in `kept`, a dict for each.

    `ids` number the parameters, for their draws. `is_sparse`: their gradients are sparse COO tensors.
    `capturable`: the step, its counts and its states of kind host are for captured graphs. `donate_grads`: steps use
    the memory of gradients. `describe` has the words for a parameter. `gradients`: so many of each are summed, of which
    `find_earlier()` has those before `p.grad`.
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
        describe: Callable[[torch.Tensor], str],
        is_sparse: bool = False,
        capturable: bool = False,
        donate_grads: bool = False,
        gradients: int = 1,
        find_earlier: Callable[[], Mapping[torch.Tensor, Sequence[torch.Tensor]]] = dict,
    ) -> None:
        self.params, self.rule, self._donates, self._describe = params, rule, donate_grads, describe
        self.may_fail = False
        self.kept, self._keys, self._ids, self._seed = kept, keys, ids, seed
        self._memories = [
            memory_of(rule, p, is_sparse=is_sparse, always_view=not (p.grad is None or fits(p, p.grad))) for p in params
        ]
        self._gradients = gradients
        self._sources = [GradientList(m, find_earlier) for m in self._memories] if gradients > 1 else None
        self._kernels = [_numbered_kernel(rule, m, i) for i, m in enumerate(self._memories)]
        self._by_row, self.is_capturable = is_sparse, capturable
        self._boxes = [box_of(p) for p in params]
        sharding = sharding_of(params[0])
        # On a GPU there are kernels for shards only where nothing is exchanged.
        self._exchange = None if sharding is None or capturable else sharding.exchange()
        self._special = [m for m in self._memories if not m.is_plain]
        self._copies = [m for m in self._memories if m.is_copy]
        self._has_step = keys.has_step or self._draws()
        self.counts: Any = np.array([self._count(k, i) for i, k in enumerate(kept)], np.int64)
        scalar_dtype = keys.scalar_dtype(kept[0])
        arrays = self._bindable_states()
        self._scalars = self._show_scalars(arrays, scalar_dtype)
        self._looked_after = [*self._scalars, *self._special]
        self._inputs = {i.name: [self._input(k, i.name) for k in range(len(params))] for i in rule.spec.inputs}
        self._state_tensors = self._tensors_of_states()
        self._state = State(arrays, self.counts)
        self._unstarted = self._find_unstarted()
        self._masters = [p for p, kernel in zip(params, self._kernels, strict=True) if "w" in kernel.states]
        self._versions: list[int] = []
        self._pending: dict[str, Any] = {}
        self._values: dict[str, Any] = {}  # all that were set, for a step that is bound anew
        self._factor = 1.0
        self._bind()

    def _bind(self) -> None:
        tensors = [m.tensor for m in self._memories]
        if self._by_row:
            self._members = self._with_gradient()
            picked = {name: [x[i] for i in self._members] for name, x in self._state.arrays.items()}
            self._own_counts = self.counts[self._members]
            self._step = self.rule.bind(
                [tensors[i] for i in self._members],
                [row_sparse(self._memories[i]) for i in self._members],
                State(picked, self._own_counts),
                {name: [tensors[i] for i in self._members] for name, tensors in self._inputs.items()},
                layout=Layout(ids=[self._ids[i] for i in self._members]),
                capturable=self.is_capturable,
                donate_grads=self._donates,
            )
        else:
            self._step = self.rule.bind(
                tensors,
                None,
                self._state,
                self._inputs,
                layout=Layout(self._boxes, self._exchange, self._ids),
                capturable=self.is_capturable,
                donate_grads=self._donates,
                sources=tensors if self._sources is None else self._sources,
                gradients=self._gradients,
            )
        self._step.seed = self._seed
        if self.rule.scales_gradient:
            self._step.gradient_factor = self._factor

    # ------------------------------------------------------------ states

    def _count(self, kept: Mapping[str, Any], i: int) -> int:
        is_started = self._keys.is_started(kept)
        if not (self._keys.has_step or is_started) and self._kernels[i].states.keys() - {"w", COMPENSATION}:
            return 0
        step = kept.get(STEP, 1 if is_started and not self._keys.has_step else 0)
        try:
            return count_of(step, STEP)
        except ValueError as error:
            raise ValueError(f"params[{i}]: {error}") from None

    def _draws(self) -> bool:
        """Whether states or weights are rounded at random, by draws that depend on the count."""
        of_states = (b.format.needs_draws for kernel in self._kernels for b in kernel.states.values())
        return self.rule.weights == "stochastic" or any(of_states)

    def _bindable_states(self) -> dict[str, list[Any]]:
        """The tensors to bind, as `State.arrays` has them."""
        arrays: dict[str, list[Any]] = {}
        n = len(self.params)
        shared = states.shared_states(self._kernels[0], self.kept, self._keys)
        for i, (kept, memory) in enumerate(zip(self.kept, self._memories, strict=True)):
            if self._has_step:
                kept.setdefault(STEP, 0)  # the first key, as PyTorch has it
            try:
                by_row, values = restarts_at_rows(self.rule, memory), self.rule.values
                bound = states.bindable(
                    self._kernels[i], kept, memory, values, shared, self._keys, by_row=by_row,
                    capturable=self.is_capturable,
                )  # fmt: skip
            except OtherShapeError as error:
                raise ValueError(f"params[{i}]: {error}{self._what_is_fixed()}") from error
            except (TypeError, ValueError) as error:
                raise type(error)(f"params[{i}]: {error}") from error
            for name, tensor in bound.items():
                arrays.setdefault(name, [None] * n)[i] = tensor
        return arrays

    def _what_is_fixed(self) -> str:
        """What an error about the shape of a state adds where params decide it."""
        params = {dim.name: sorted(dim.params) for dim in self.rule.spec.dims}
        found = (name for state in self.rule.spec.states for name in state.fixed)
        names = dict.fromkeys(chain.from_iterable(params.get(name, [name]) for name in found))
        if not names:
            return ""
        values = " and ".join(f"{name} = {self.rule.values[name]:g}" for name in names)
        return f"; it follows from {values}, which cannot change once there are states: make another optimizer"

    def _show_scalars(
        self, arrays: dict[str, list[Any]], dtype: torch.dtype
    ) -> list[Scalars | PythonCounts | GpuScalars]:
        """What `state[p]` shows of the counts, and of numbers that it has in another dtype than kernels."""
        if self.is_capturable:
            return self._show_on_gpu(arrays, dtype)
        found: list[Scalars | PythonCounts | GpuScalars] = []
        for name in self._keys.numbers:
            values = np.array([x.item() for x in arrays[name]])
            arrays[name] = list(torch.from_numpy(values))
            found.append(Scalars(self._keys.key_of(name), values, self.kept, dtype))
        if self._keys.counts_in_python:
            found.append(PythonCounts(STEP, self.counts, self.kept))
        elif self._has_step:
            found.append(Scalars(STEP, self.counts, self.kept, dtype))
        return found

    def _show_on_gpu(
        self, arrays: dict[str, list[Any]], dtype: torch.dtype
    ) -> list[Scalars | PythonCounts | GpuScalars]:
        """What `state[p]` shows of a capturable step: the counts themselves, and copies of the other numbers."""
        found: list[Scalars | PythonCounts | GpuScalars] = []
        for name in self._keys.numbers:
            values = torch.stack(arrays[name])
            arrays[name] = list(values)
            found.append(GpuScalars(self._keys.key_of(name), values, self.kept, dtype))
        self.counts = torch.from_numpy(self.counts).to(self.params[0].device)
        if self._has_step:
            self.counts = shown(STEP, self.counts, self.kept)
        return found

    def _input(self, i: int, name: str) -> torch.Tensor | None:
        """A tensor that the kernel of parameter i reads: others have put it beside the states; None if it reads none.
        ValueError if nobody has."""
        kept, memory = self.kept[i], self._memories[i]
        b = next((b for b in self._kernels[i].native.buffers if b.name == name), None)
        if b is None:
            return None
        if name not in kept:
            raise ValueError(
                f"params[{i}]: {self.rule.spec.name} reads '{name}', which nobody has given: before the step, set "
                f"optimizer.state[p]['{name}'] to a tensor"
            )
        if b.axes != ELEMENTS:
            kept[name] = found = states.own_dimensions(memory, b, kept[name])
            return found
        kept[name] = found = states.values_like(memory, name, kept[name])
        return memory.like_bound(local_tensor(found))

    def _tensors_of_states(self) -> list[Any]:
        if self._keys.counts_in_python:
            return [x for k in self.kept for key, x in k.items() if key != STEP]
        return list(chain.from_iterable(map(dict.values, self.kept)))

    def _find_unstarted(self) -> list[int]:
        """The parameters that have no update behind them, as is known from counts, and a state that starts as they."""
        if not self._keys.has_step:
            return []
        as_weight = {k for k in set(self._kernels) if states.starts_as_weight(k, self.rule.values)}
        return [i for i, k in enumerate(self._kernels) if k in as_weight and not self.counts[i]] if as_weight else []

    def is_current(self) -> bool:
        """Whether states and special memory are those that were bound."""
        if not same_objects(self._tensors_of_states(), self._state_tensors):
            return False
        return all([part.is_current() for part in self._looked_after])

    def unmoved(self) -> list[torch.Tensor]:
        """The parameters that are where they were."""
        return [m.param for m in self._memories if m.is_in_place()]

    def keeps(self, state: Mapping[torch.Tensor, Any]) -> bool:
        """Whether this is where the states stand."""
        return all(state.get(p) is kept or not kept for p, kept in zip(self.params, self.kept, strict=True))

    # ------------------------------------------------------------ the step

    @property
    def bound_params(self) -> Sequence[torch.Tensor]:
        """The parameters in the order of the step's numbers, by which its errors call them."""
        return [self.params[i] for i in self._members] if self._by_row else self.params

    def set(self, values: Mapping[str, Any], gradient_factor: float) -> None:
        """Have the next update use these params, each a number for all parameters or a list with one for each."""
        self._pending |= values
        if self._by_row:
            self._values |= values
        if gradient_factor != self._factor:
            self._step.gradient_factor = self._factor = gradient_factor

    def read_scaler(self, scale: torch.Tensor, found_inf: torch.Tensor) -> None:
        """Have the next updates divide gradients by a number on the GPU, and change nothing where another is not 0."""
        assert isinstance(self._step, BoundStep)  # which one for graphs is
        self._step.grad_scale, self._step.found_inf = scale, found_inf

    def prepare(self, phase: str | None, given: Mapping[str, float]) -> None:
        """Take parameters, gradients and counts as they are now, for `run`, which computes this phase of a step, with
        the numbers that it is given.

        TypeError or ValueError if one cannot be used, or not without being bound anew; then nothing has changed.
        """
        for memory in self._special:
            memory.load()
            if not self._by_row:
                memory.read_grad()
        for scalars in self._scalars:
            scalars.read()
        if self._unstarted:
            self._unstarted = self._find_unstarted()  # as others may have made their first update
        if isinstance(self._step, PhasedStep):
            assert phase is not None
            self._step.resume(phase, self._with_gradient())
            self._step.prepare(phase, **{**self._pending, **given})
        elif self._by_row:
            self._prepare_rows(self._step, given)
        else:
            self._step.prepare(**{**self._pending, **given})
        self.may_fail = bool(self._step.may_fail or self._unstarted or self._masters)

    def attempt(self) -> None:
        """Have states that follow the weights do so, and make those updates that may fail.

        An ArithmeticError names a parameter whose matrices have no factorization.
        """
        if self._unstarted:
            self._restart()
        if self._masters:
            self._follow_weights()
        if self._step.may_fail:
            with naming(self.bound_params, self._describe):
                self._step.attempt()

    def undo(self) -> None:
        """Have everything be as before `attempt`, but for what follows the weights."""
        self._step.undo()
        self._unstarted = self._find_unstarted()

    def run(self) -> None:
        """One update of the parameters that have gradients, with what `prepare` has taken and `attempt` has made."""
        try:
            self._step.run()
        finally:  # an interrupt is raised behind the native call, which is whole
            self._show()

    def _show(self) -> None:
        """Have parameters and states show what an update has made."""
        if self._by_row:
            self.counts[self._members] = self._own_counts
        for memory in self._copies:
            memory.store()
        for memory in self._special:
            memory.free_grad()
        if self._donates:
            for p in self.params:
                p.grad = None
        if self._masters:
            self._versions = [p._version for p in self._masters]
        self._pending = {}
        for scalars in self._scalars:
            scalars.write()

    def _restart(self) -> None:
        """Before the first update of a parameter, what starts as the parameter is the parameter as it is now."""
        for i in self._unstarted:
            if self.params[i].grad is not None:
                states.restart(self._kernels[i], self.kept[i], self._memories[i], self.rule.values, self._keys)
        self._unstarted = [i for i in self._unstarted if self.params[i].grad is None]

    def _follow_weights(self) -> None:
        """Have masters follow parameters that others wrote."""
        if [p._version for p in self._masters] != self._versions:
            for p, kept in zip(self.params, self.kept, strict=True):
                if MASTER in kept:
                    states.follow_weight(kept, p)

    # ------------------------------------------------------------ row-sparse gradients

    def _with_gradient(self) -> list[int]:
        return [i for i, p in enumerate(self.params) if p.grad is not None]

    def _prepare_rows(self, step: BoundStep, given: Mapping[str, float]) -> None:
        members = self._with_gradient()
        if members != self._members:
            self._bind()
            self._pending = self._values
        else:
            self._own_counts[:] = self.counts[members]
            step.rebind([row_sparse(self._memories[i]) for i in members])
        own = {name: [x[i] for i in members] if isinstance(x, list) else x for name, x in self._pending.items()}
        assert isinstance(self._step, BoundStep)
        self._step.prepare(**{**own, **given})


class GradientList:
    """Where a step finds the gradients of a parameter: as a list, each as the parameter is bound."""

    def __init__(
        self, memory: ParamMemory, find_earlier: Callable[[], Mapping[torch.Tensor, Sequence[torch.Tensor]]]
    ) -> None:
        self._memory, self._find_earlier = memory, find_earlier

    @property
    def grad(self) -> list[torch.Tensor] | None:
        """The gradients in their order; None if there is none."""
        param = self._memory.param
        if param.grad is None:
            return None
        return [self._memory.bound_grad(x) for x in (*self._find_earlier().get(param, ()), param.grad)]


def kernel_of(rule: UpdateRule, memory: ParamMemory) -> LoadedKernel:
    """The kernel of a parameter, whose flags and states are those of the whole one."""
    box = box_of(memory.param)
    return rule.kernel(tuple(memory.tensor.shape) if box is None else box.shape, piece=box)


def restarts_at_rows(rule: UpdateRule, memory: ParamMemory) -> bool:
    """Whether the blocks of codes in a parameter's states restart at each row."""
    box = box_of(memory.param)
    return rule.restarts_at_rows(tuple(memory.tensor.shape) if box is None else box.shape)


def _numbered_kernel(rule: UpdateRule, memory: ParamMemory, i: int) -> LoadedKernel:
    """`kernel_of`, whose errors have the number of the parameter."""
    try:
        return kernel_of(rule, memory)
    except (TypeError, ValueError) as error:
        raise type(error)(f"params[{i}]: {error}") from error


def memory_of(
    rule: UpdateRule, param: torch.Tensor, *, is_sparse: bool = False, always_view: bool = False
) -> ParamMemory:
    """A parameter as it is bound: by memory where the equations give each axis no meaning of its own."""
    if local_tensor(param) is not param:  # whose axes have a meaning for the other processes
        return ParamMemory(param, by_memory=False, always_view=always_view)
    if is_sparse:
        assert param.grad is not None
        axes = local_tensor(param.grad).sparse_dim()
        flat = ParamMemory(param, by_memory=False, always_view=True, flat_axes=axes)
        # Single elements, where the equations do not see a difference.
        if axes == 1 or rule.kernel(tuple(flat.tensor.shape)) is rule.kernel(tuple(local_tensor(param).shape)):
            return flat
        return ParamMemory(param, by_memory=False, always_view=True)
    memory = ParamMemory(param, always_view=always_view)
    if not memory.is_reordered or _takes_any_order(rule.kernel(tuple(memory.tensor.shape)), memory):
        return memory
    return ParamMemory(param, by_memory=False, always_view=always_view)


def _takes_any_order(kernel: LoadedKernel, memory: ParamMemory) -> bool:
    """Whether a kernel gives the axes of a parameter no meaning of their own. (Blocks of codes are within rows, and an
    array of codes that share bytes cannot say in which order they lie.)"""
    native = kernel.native
    if any(b.format.is_packed for b in native.buffers):
        return False
    is_elementwise = native.cut in ("anywhere", "blocks") and not {"rows", "cols"} & set(native.hyper)
    return is_elementwise and not (kernel.is_quantized and memory.tensor.shape[0] != memory.param.shape[0])
