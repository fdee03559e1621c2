"""What a step of an optimizer is: its phases, what it multiplies gradients by, whether it is left out, and who makes
it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch.utils import _python_dispatch as dispatch

from optgen import arguments
from optgen.model import Optimizer
from optgen.torch import updating
from optgen.torch.accumulating import Accumulating, sums
from optgen.torch.group import GroupStep
from optgen.torch.hooks import GpuScaler, can_stay, clip_coefficient, gradients_of, hooked, refuse_fake, total_norm
from optgen.torch.memory import is_of_zeros
from optgen.torch.updating import ALONE, BackwardUpdates, Ranks
from optgen.torch.values import is_capturing, same_objects


class Stepping(Accumulating):
    """An optimizer that steps. `SpecOptimizer` says what the attributes are that have no values here.

    `grad_norm` is the norm of all gradients at the last step with `clip_norm`, a tensor of shape (), None before it.
    `skipped` is the number of steps that were left out, as a gradient was infinite or NaN. `monitored` are the numbers
    that `monitor` asked for, of the last step that computed them. `outer` computes a spec's outer step in the place of
    its equations.
    """

    spec: ClassVar[Optimizer]
    state: Any
    param_groups: list[dict[str, Any]]
    skip_nonfinite: bool
    training_weights: Any
    gpu_scaler: GpuScaler
    grad_norm: torch.Tensor | None = None
    skipped: int = 0
    monitored: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    outer: Any = None
    _clip_norm: float | None = None
    _step: GroupStep | None
    _backward: BackwardUpdates | None
    _state_dicts: list[dict[str, Any]]
    _skipping: Any = None  # a Skipping, from the first step that it is asked for
    _monitor: Any = None  # a Monitor, where one is asked for
    _capture: Any = None  # a Capture, where one is asked for
    _due: int = 0  # the number of the phase that a step goes on with
    _has_updated: bool = False  # whether the last update was made, whatever was raised then

    @hooked
    def step(self: Any, closure: Callable[[], Any] | None = None, **given: Any) -> Any:
        """Update all parameters that have gradients; `closure` computes the loss anew before, which is returned.

        An optimizer whose steps have phases computes each with gradients of its own: `closure` is called once for each,
        without gradients of before, and computes the loss and its gradients. The first loss is returned. RuntimeError
        without a `closure`. After a closure that raised, and after methods of phases, it makes the phases that are left
        of that step.

        `given` are the numbers that the spec reads as inputs of kind host, by name; `loss` among them is, unless it is
        given, what `closure` returned.

        TypeError or ValueError names a value of a group, a parameter or a gradient that is wrong. Then no weight, state
        or count has changed, of any group.
        """
        if not self.state and closure is None and self._is_for_states(given):
            self._make_states({})
            return None
        if self.spec.phases:
            if self.outer is None:
                return self._step_in_phases(closure, given)
            if self._due:  # since an interrupt
                self.outer.finish(self)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        numbers = self._with_loss(loss, given) if self.spec.given else given
        if self._rounds is not None:
            self._rounds.step(self)
        elif self.outer is not None:
            self.outer.update(self, numbers)
        else:
            self._update(given=numbers)
        return loss

    def _is_for_states(self, given: Mapping[str, Any]) -> bool:
        """Whether a step without states is to make them and nothing else, as torch.distributed.checkpoint wants it: it
        calls a step at rates of 0 and with gradients of 0, and knows of no closure, loss, phases or inputs."""
        spec, groups = self.spec, self.param_groups
        return bool(not given and (spec.phases or spec.given or spec.inputs) and is_of_zeros(groups))

    def _step_in_phases(self: Any, closure: Callable[[], Any] | None, given: Mapping[str, Any]) -> Any:
        """The phases that are left of a step, each with the gradients that `closure` computes."""
        phases, name = self.spec.phases, type(self).__name__
        if closure is None:
            calls = ", new gradients, ".join(f"optimizer.{phase}()" for phase in phases)
            raise RuntimeError(
                f"{name}: a step has phases, each with gradients of its own: call step(closure), whose closure "
                f"computes the loss and calls backward; or {calls}"
            )
        losses: list[Any] = []
        for phase in phases[self._due :]:
            if self._due and self._skipping is not None and self._skipping.is_left_out:
                self._advance()
                continue
            self._compute_phase(phase, self._computed(phase, closure, given, losses))
        return losses[0] if losses else None  # none if what was left is left out

    def _computed(
        self: Any, phase: str, closure: Callable[[], Any], given: Mapping[str, Any], losses: list[Any]
    ) -> Mapping[str, Any]:
        """What a phase is given, with the loss that `closure` computes, one more of the `losses`, and its gradients.
        Nothing is computed for a phase that reads neither."""
        read = self.spec.reads_in(phase)
        needs_gradients = self._clip_norm is not None or self.spec.needs_gradients
        if not (needs_gradients or "loss" in read):
            return given
        self.zero_grad()
        with torch.set_grad_enabled(needs_gradients):
            losses.append(closure())
        numbers: Mapping[str, Any] = self._with_loss(losses[-1], given)
        return numbers

    def _compute_phase(self, phase: str, given: Mapping[str, Any]) -> None:
        """One phase of a step, of all groups; RuntimeError if another one is due."""
        due, name = self.spec.phases[self._due], type(self).__name__
        if phase != due:
            raise RuntimeError(f"{name}: the phase '{due}' is due, and not '{phase}'; {self._how_on(due)}")
        try:
            self._update(phase, given)
        except BaseException:
            if self._has_updated:
                self._advance()
            raise
        self._advance()

    def _advance(self) -> None:
        """From now on, the next phase is due."""
        phases = self.spec.phases
        self._due = (self._due + 1) % len(phases)
        if not self._due:
            self._opt_called = True  # for schedulers, which else look for calls of `step`
            if self._skipping is not None:
                self._skipping.forget()

    def _check_whole(self, action: str) -> None:
        """RuntimeError between the phases of a step, where nobody is to do this."""
        if self._due:
            due = self.spec.phases[self._due]
            raise RuntimeError(
                f"{type(self).__name__}: the phase '{due}' is due; {action} between steps; {self._how_on(due)}"
            )

    def _how_on(self, phase: str) -> str:
        """What errors say of how a step goes on, or is given up."""
        if self.outer is not None:
            return "an interrupt came before it: call zero_grad() and step(), which makes it"
        return (
            f"go on by step(closure), or by {phase}() with new gradients, or begin anew by load_state_dict() of the "
            "model and of the optimizer"
        )

    def _with_loss(self, loss: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a step is given, with the loss that a closure returned, if the spec reads it."""
        return {"loss": loss, **given} if "loss" in self.spec.given else given

    def _numbers(self, phase: str | None, given: Mapping[str, Any]) -> dict[str, float]:
        """The inputs of kind host that the spec reads; TypeError for one that it does not read, or that is missing
        where the phase reads it."""
        names = self.spec.given
        for name in given.keys() - set(names):
            raise TypeError(f"{type(self).__name__} reads no '{name}'; it reads {', '.join(names) or 'no inputs'}")
        needed = names if self.outer is not None else self.spec.given_in(phase)
        arguments.check_given(self.spec, needed, given)
        return {name: float(x.detach() if isinstance(x, torch.Tensor) else x) for name, x in given.items()}

    def _update(
        self: Any,
        phase: str | None = None,
        given: Mapping[str, Any] = MappingProxyType({}),
        workers: Ranks | None = None,
    ) -> None:
        """One update of all groups, or one phase of it, which all of some workers make, or none."""
        self._has_updated = False
        if dispatch._is_in_torch_dispatch_mode:
            refuse_fake(type(self).__name__)
        if self.training_weights is not None:
            updating.refuse_evaluating(self)
        numbers = self._numbers(phase, given) if given or self.spec.given else {}
        if self._capture is not None:
            self._capture.give(self)
        if self._backward is not None:
            self._backward.finish()
            return
        if not self.spec.needs_gradients and not updating.has_gradients(self):
            with updating.weights_as_gradients(self):
                self._update(phase, given, workers)
            return
        reads = self.outer is None or phase == self.spec.phases[0]  # gradients, which an outer phase does not
        found_inf = getattr(self, "found_inf", None) if reads else None  # of a GradScaler, for the time of a step
        is_asked = self._clip_norm is not None or self.skip_nonfinite  # so that the host has to know it
        may_stay = not is_asked and not self.spec.phases
        on_gpu = found_inf is not None and may_stay and can_stay(found_inf, self.param_groups)
        factor = self._gradient_factor() if reads and not on_gpu else 1.0
        if self.skip_nonfinite and reads and self._leaves_out(phase, found_inf, workers):
            return
        if not on_gpu and found_inf:
            return
        step = self._current_step() if self._monitor is None else self._monitor.begin(self, phase)
        step.transaction.has_run = False  # until it has, also if `prepare` refuses this one

        def prepare() -> None:
            if on_gpu:
                step.read_scaler()
            step.prepare(factor, phase, numbers)
            if self.gpu_scaler.tensors:
                self.gpu_scaler.write(*((getattr(self, "grad_scale", None), found_inf) if on_gpu else (None, None)))

        alone = updating.ranks_of(self) if self.spec.has_stages else ALONE
        try:
            updating.update(step, prepare, workers or alone)
        finally:
            self._has_updated = step.transaction.has_run
            if self._monitor is not None:
                self._monitor.finish(self, phase)

    def _gradient_factor(self: Any) -> float:
        """What this step multiplies gradients by: 1/scale of a GradScaler, in the digits that its `unscale_` has, and
        what limits their norm."""
        scale = getattr(self, "grad_scale", None)
        factor = 1.0 if scale is None else scale.double().reciprocal().float().item()
        limit = self._clip_norm
        if limit is None:
            return factor
        if is_capturing():
            raise RuntimeError(
                f"{type(self).__name__}: clip_norm={limit:g}: the host reads the norm, so step() cannot be "
                "captured; leave clip_norm out, and call torch.nn.utils.clip_grad_norm_ before step()"
            )
        grads = list(sums(self)) if self.earlier else gradients_of(self.param_groups)
        norm = total_norm(grads, are_scaled=scale is not None)
        self.grad_norm = norm if scale is None else norm * factor
        return factor * clip_coefficient(self.grad_norm, limit).item()

    def _leaves_out(self, phase: str | None, found_inf: torch.Tensor | None, workers: Ranks | None) -> bool:
        """Whether gradients are not finite, and this update, or phase of one, is skipped."""
        if self._skipping is None:
            from optgen.torch.skipping import Skipping  # as most optimizers skip nothing

            self._skipping = Skipping()
        return bool(self._skipping.leaves_out(self, phase, found_inf, workers))

    def _current_step(self: Any) -> GroupStep:
        """The step of all groups, bound to the states that are in `state` now."""
        step: GroupStep | None = self._step
        groups = self.param_groups
        if step is None:
            step = self._step = GroupStep(self, groups)
        elif step.ids != list(map(id, groups)):
            step.follow(groups)
        elif not same_objects(self.state.values(), self._state_dicts):
            if not step.keeps_states():
                step.rebind()
            self._state_dicts = list(self.state.values())
        return step

    def capture(self, module: torch.nn.Module, sharing: str = "expand", loss: str = "mean") -> Any:
        """Have steps read what goes through the Linear and Conv2d of a module: an input of the spec that is
        `cols x cols` is the mean of a a^T, where a is what a weight is multiplied by, and one that is `rows x rows` is
        that of the gradients of the layer's output. All backward passes since the last step count, on all ranks.

        sharing: where a sample meets a weight several times, as tokens and patches do, 'expand' takes each time as a
            sample of its own, and 'reduce' the mean of activations and the sum of gradients.
        loss: whether the loss is the 'mean' over samples, or their 'sum'.

        The result's `remove()` ends it. TypeError for a spec without such inputs; ValueError for other arguments.
        """
        from optgen.torch.capturing import capture  # as most optimizers capture nothing

        if self._capture is not None:
            self._capture.remove()
        self._capture = capture(self, module, sharing, loss)  # type: ignore[arg-type]
        return self._capture

    def monitor(self, *expressions: str, every: int = 1, to: Any = None) -> None:
        """Have every n-th step compute expressions over the names of the spec, as "norm(w' - w)/norm(w)", one number of
        each parameter that it updates, in its own reads of memory; without expressions, no step.

        Names are what the equations read: `grad` is `p.grad` times what `clip_norm` and a GradScaler make of it, and
        `grad_norm` the norm before that limit. `monitored` has the last numbers, by names of parameters and
        expressions. `to` is called with the number of the step and the same, or is a SummaryWriter, whose `add_scalar`
        is; what it raises comes after the step, which is made. SpecErrors about an expression; TypeError or ValueError
        for another argument that is wrong, and with `in_backward`.
        """
        from optgen.torch.monitoring import Monitor  # as most optimizers are not monitored

        self._monitor = Monitor(self, expressions, every, to) if expressions else None
