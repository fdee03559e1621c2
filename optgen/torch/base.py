"""An optimizer of PyTorch whose step is a spec's kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

import torch
from torch._compile import _disable_dynamo
from torch.optim import optimizer as torch_optimizer

from optgen.execute.step import SEED_LIMIT
from optgen.model import Call, Kind, Optimizer, walk
from optgen.torch import clipping, in_backward, loading
from optgen.torch.group import GroupStep
from optgen.torch.in_backward import BackwardUpdates
from optgen.torch.memory import local_tensor
from optgen.torch.spelling import OPTIONS, Spelling, checked
from optgen.torch.state import StateKeys

ARGUMENTS: Mapping[str, tuple[Any, str]] = {
    "storage": (None, "how elementwise states are kept, all of them or by name, as `optgen.load` has it"),
    "master": (False, "keep a float32 weight beside each parameter of 16 bits"),
    "seed": (0, "of draws and of random rounding"),
    "clip_norm": (None, "limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before"),
    "in_backward": (False, "update each parameter within `backward`, when its gradient is complete, and free that"),
}
"""The arguments of every optimizer, beside those of its spec: their defaults, and what they are."""


class SpecOptimizer(torch.optim.Optimizer):
    """What all optimizers of `optgen.torch` have in common. Their classes set these:

    `spec` is the spec, and `source` the name or text that `optgen.torch.optimizer` makes the class of. `spelling` has
    its arguments as keys of groups. `state_keys` says what is kept beside the spec's states.
    `makes_states_at_construction` is false where PyTorch's own class makes them at the first step.

    `clip_norm` is what the norm of all gradients is limited to, and `grad_norm` the norm at the last step, a tensor of
    shape () (None before the first one, and without a limit). With `in_backward`, `backward` updates each parameter.
    """

    spec: ClassVar[Optimizer]
    source: ClassVar[str]
    spelling: ClassVar[Spelling]
    state_keys: ClassVar[StateKeys]
    makes_states_at_construction: ClassVar[bool] = True
    clip_norm: float | None = None
    grad_norm: torch.Tensor | None = None
    _step_supports_amp_scaling = True

    def __init__(
        self,
        params: Any,
        defaults: dict[str, Any],
        *,
        seed: int = 0,
        storage: Any = None,
        master: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
    ) -> None:
        self._set_options(seed, clip_norm, in_backward)
        super().__init__(params, {**defaults, "storage": storage, "master": master})

    def _set_options(self, seed: int, clip_norm: float | None, in_backward: bool) -> None:
        if not 0 <= seed < SEED_LIMIT:
            raise ValueError(f"seed: from 0 to 2^64 - 1, not {seed}")
        self.seed, self.clip_norm, self.in_backward = seed, clipping.check(clip_norm), in_backward
        self._forget_steps()

    def _forget_steps(self) -> None:
        """Have the next step bind everything anew."""
        self._steps: list[GroupStep] = []
        self._stepped_groups: list[int] = []
        self._backward = BackwardUpdates(self) if self.in_backward else None

    # ------------------------------------------------------------ the step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have gradients; `closure` recomputes the loss before, which is returned."""
        if "torch._dynamo" in sys.modules:
            return _step_outside_graphs(self, closure)
        return _profiled_step(self, closure)

    step.hooked = True  # type: ignore[attr-defined]

    def _update(self) -> None:
        """One update of all groups."""
        if self._backward is not None:
            self._backward.finish()
            return
        factor = self._gradient_factor()
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None and found_inf.item():
            return
        groups = self.param_groups
        if self._stepped_groups != list(map(id, groups)):
            together = [groups] if self.sums_over_params else [[group] for group in groups]
            self._steps = [GroupStep(self, list(some)) for some in together]
            self._stepped_groups = list(map(id, groups))
        for step in self._steps:
            step.run(factor)

    def _gradient_factor(self) -> float | None:
        """What this step multiplies gradients by: 1/scale of a GradScaler, and what limits their norm; None for 1."""
        scale = getattr(self, "grad_scale", None)
        factor = None if scale is None else float(scale.double().reciprocal().float())
        if self.clip_norm is None:
            return factor
        norm = clipping.total_norm(clipping.gradients(self.param_groups), are_scaled=factor is not None)
        self.grad_norm = norm if factor is None else norm * factor
        limited = float(clipping.coefficient(self.grad_norm, self.clip_norm))
        return limited if factor is None else limited * factor

    def numbers_of(self, params: Sequence[torch.Tensor]) -> list[int]:
        """The numbers of parameters among those of all groups."""
        every = chain.from_iterable(group["params"] for group in self.param_groups)
        numbers = {id(p): k for k, p in enumerate(every)}
        return [numbers[id(p)] for p in params]

    def updates_rows(self, group: Mapping[str, Any], param: torch.Tensor) -> bool:
        """Whether only the rows are updated that a parameter's gradient has: those of sparse gradients."""
        return param.grad is not None and local_tensor(param.grad).layout == torch.sparse_coo

    # ------------------------------------------------------------ groups and states

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with values of their own; TypeError or ValueError naming a value that is wrong."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            checked(self.spec, self.spelling, group)
            if self.in_backward:
                in_backward.check(self, group)
            if self.makes_states_at_construction:
                loading.make_states(self, group, self._shared_states())
        except BaseException:
            self.param_groups.pop()
            raise
        if self._backward is not None:
            self._backward.follow(self.param_groups)

    def _shared_states(self) -> dict[str, torch.Tensor]:
        """The states that all parameters share, as one that has states has them."""
        names = [s.name for s in self.spec.states if s.kind is Kind.SHARED]
        kept: dict[str, Any] = next(iter(self.state.values()), {})
        return {name: kept[name] for name in names if name in kept}

    @property
    def sums_over_params(self) -> bool:
        """Whether the spec sums over all parameters."""
        calls = [e for line in self.spec.update for e in walk(line.value) if isinstance(e, Call)]
        return any(call.scope == "params" for call in calls)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the states and group values of `state_dict()`; states keep the dtypes that this optimizer's have.

        Codes of 8 bits, states of 16 bits and float32 masters are taken as they are. ValueError if groups or shapes
        differ.
        """
        loading.load_state_dict(self, state_dict)

    def __getstate__(self) -> dict[str, Any]:
        return {
            **super().__getstate__(),
            "seed": self.seed,
            "clip_norm": self.clip_norm,
            "in_backward": self.in_backward,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget_steps()
        # PyTorch adds `differentiable` to the defaults, which is no key of all groups.
        missing = {key: x for key, x in self.defaults.items() if key in (*self.spelling.defaults, *OPTIONS)}
        for group in self.param_groups:
            for key, value in missing.items():
                group.setdefault(key, value)
        if self._backward is not None:
            self._backward.follow(self.param_groups)


def _profiled_step(optimizer: SpecOptimizer, closure: Callable[[], Any] | None) -> Any:
    if not torch._C._autograd._profiler_enabled():
        return _hooked_step(optimizer, closure)
    with torch.autograd.profiler.record_function(f"Optimizer.step#{type(optimizer).__name__}.step"):
        return _hooked_step(optimizer, closure)


@_disable_dynamo
def _step_outside_graphs(optimizer: SpecOptimizer, closure: Callable[[], Any] | None) -> Any:
    return _profiled_step(optimizer, closure)


def _hooked_step(optimizer: SpecOptimizer, closure: Callable[[], Any] | None) -> Any:
    """A step with all hooks, as `torch.optim.Optimizer.profile_hook_step` calls them."""
    args: tuple[Any, ...] = (optimizer,) if closure is None else (optimizer, closure)
    kwargs: dict[str, Any] = {}
    before = optimizer._optimizer_step_pre_hooks
    if before or torch_optimizer._global_optimizer_pre_hooks:
        for hook in chain(list(torch_optimizer._global_optimizer_pre_hooks.values()), list(before.values())):
            result = hook(optimizer, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{type(optimizer).__name__}.step: a hook must return None or a tuple of (new_args, "
                        f"new_kwargs), but got {result}."
                    )
                args, kwargs = result
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    optimizer._update()
    optimizer._optimizer_step_code()
    after = optimizer._optimizer_step_post_hooks
    if after or torch_optimizer._global_optimizer_post_hooks:
        for hook in chain(list(after.values()), list(torch_optimizer._global_optimizer_post_hooks.values())):
            hook(optimizer, args, kwargs)
    return loss
