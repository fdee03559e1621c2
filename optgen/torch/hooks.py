"""What surrounds a step: hooks, the profiler, where graphs of `torch.compile` end, and FakeTensorMode; the norm of all
gradients, as `clip_grad_norm_` has it, and what a GradScaler tells steps on a GPU."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch.optim import Optimizer
from torch.optim import optimizer as torch_optimizer

from optgen.torch.memory import sharding_of

# ---------------------------------------------------------------- graphs of torch.compile


def outside_graphs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function at which graphs of `torch.compile` end. What `torch._disable_dynamo` has wrapped is unwrapped first.

    `torch._disable_dynamo` imports torch._dynamo at the first call: 800 modules, in more than a second. Until something
    imports it nothing is compiled, so that the plain function is called.
    """
    plain = function.__wrapped__ if _is_pytorch_wrapper(function) else function  # type: ignore[attr-defined]
    ending = _disable_dynamo(plain)

    @functools.wraps(plain)
    def called(*args: Any, **kwargs: Any) -> Any:
        # While it is being imported, it has nothing yet.
        is_there = hasattr(sys.modules.get("torch._dynamo"), "disable")
        return (ending if is_there else plain)(*args, **kwargs)

    return called


def _is_pytorch_wrapper(function: Callable[..., Any]) -> bool:
    """Whether it is a function of `torch._disable_dynamo`, and no other library's."""
    code = getattr(function, "__code__", None)
    return hasattr(function, "__wrapped__") and code is not None and code.co_filename == torch._compile.__file__


_METHODS = {x: outside_graphs(x) for x in (Optimizer.add_param_group, Optimizer.state_dict, Optimizer.zero_grad)}


def parent(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of `super()`; where that is PyTorch's Optimizer, the same without the import of torch._dynamo."""
    found = _METHODS.get(method.__func__)  # type: ignore[attr-defined]
    return method if found is None else functools.partial(found, method.__self__)  # type: ignore[attr-defined]


# ---------------------------------------------------------------- hooks and the profiler

Step = Callable[..., Any]
_is_profiled = torch._C._autograd._profiler_enabled


def hooked(step: Step) -> Step:
    """A method `step` with all that `torch.optim.Optimizer.profile_hook_step` adds, where there is something to add.

    PyTorch's takes some 10 us, most of it to name the step for a profiler that does not run.
    """

    @functools.wraps(step)
    def with_hooks(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():
            return _ending_graphs(step, args, kwargs)
        if _is_profiled():
            return _profiled(step, args, kwargs)
        return _with_hooks(step, args, kwargs)

    with_hooks.hooked = True  # type: ignore[attr-defined]
    return with_hooks


def _profiled(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with torch.autograd.profiler.record_function(f"Optimizer.step#{type(args[0]).__name__}.step"):
        return _with_hooks(step, args, kwargs)


@outside_graphs
def _ending_graphs(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _profiled(step, args, kwargs) if _is_profiled() else _with_hooks(step, args, kwargs)


def _with_hooks(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    optimizer = args[0]
    before, all_before = optimizer._optimizer_step_pre_hooks, torch_optimizer._global_optimizer_pre_hooks
    if before or all_before:
        for hook in chain(all_before.values(), before.values()):
            result = hook(optimizer, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
    out = step(*args, **kwargs)
    optimizer._optimizer_step_code()
    after, all_after = optimizer._optimizer_step_post_hooks, torch_optimizer._global_optimizer_post_hooks
    if after or all_after:
        for hook in chain(after.values(), all_after.values()):
            hook(optimizer, args, kwargs)
    return out


def refuse_fake(name: str) -> None:
    """RuntimeError if FakeTensorMode is on: kernels would write the numbers of tensors that are real."""
    if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
        raise RuntimeError(
            f"{name}: a step under FakeTensorMode: steps are compiled kernels, which read and write memory that fake "
            "tensors have not; call step() outside of the mode"
        )


# ---------------------------------------------------------------- the norm of gradients

EPSILON = 1e-6
"""What PyTorch adds to a norm before it divides by it."""


def check_limit(limit: float | None) -> float | None:
    """A limit of norms; ValueError if it is not a positive number or None."""
    try:
        is_limit = limit is None or (limit is not True and bool(limit > 0))
    except (TypeError, ValueError, RuntimeError):  # text, an array, a tensor of several elements
        is_limit = False
    if not is_limit:
        raise ValueError(f"clip_norm: a positive number or None, not {limit!r}")
    return limit


def gradients_of(groups: Iterable[dict[str, Any]]) -> list[torch.Tensor]:
    """The gradients that are there, in the order of the parameters."""
    return [p.grad for group in groups for p in group["params"] if p.grad is not None]


@torch.no_grad()
def total_norm(grads: Sequence[torch.Tensor], *, are_scaled: bool = False) -> torch.Tensor:
    """The 2-norm of gradients as if they were one vector, of shape (), on the first one's device.

    Each process with shards gets the norm of the whole. Duplicate entries of sparse gradients are summed first. Norms
    of 16-bit gradients are rounded to 16 bits, as PyTorch's are. Where gradients `are_scaled` they are float32, since
    the norm of scaled float16 numbers may be infinite there.
    """
    terms: dict[Any, list[torch.Tensor]] = {}
    for grad in grads:
        term = grad.coalesce().values() if grad.layout == torch.sparse_coo else grad
        if are_scaled and term.dtype in (torch.float16, torch.bfloat16):
            # The norm of a norm is that norm, so it can stand for its gradient.
            term = torch.linalg.vector_norm(term, dtype=torch.float32)
        terms.setdefault(getattr(term, "device_mesh", None), []).append(term)
    norms = [_whole(torch.nn.utils.get_total_norm(some)) for some in terms.values()] or [
        torch.tensor(0.0, device="cpu")
    ]
    return norms[0] if len(norms) == 1 else torch.nn.utils.get_total_norm(norms)


def _whole(x: torch.Tensor) -> torch.Tensor:
    """The value of a tensor that may be a DTensor, of which each process has a part."""
    full_tensor = getattr(x, "full_tensor", None)
    return x if full_tensor is None else full_tensor()


def clip_coefficient(norm: torch.Tensor, limit: float) -> torch.Tensor:
    """What gradients of this norm are multiplied by: min(1, limit/(norm + 1e-6)), of the norm's dtype.

    It is 0 for an infinite norm, and NaN for one that is NaN.
    """
    return torch.clamp(limit / (norm + EPSILON), max=1.0)


# ---------------------------------------------------------------- what a GradScaler tells


class GpuScaler:
    """The scale and `found_inf` of a GradScaler, which makes new ones for each step, at addresses that stay.

    `tensors` has them for each GPU that steps read them on: two float32 of shape (), 1 and 0 without a GradScaler.
    """

    def __init__(self) -> None:
        self.tensors: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}

    def on(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """The two on a GPU."""
        if device not in self.tensors:
            one = torch.ones((), dtype=torch.float32, device=device)
            self.tensors[device] = one, torch.zeros_like(one)
        return self.tensors[device]

    def write(self, scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> None:
        """Have the next steps use these two, in the order of the current streams; None is no GradScaler."""
        for own_scale, own_found_inf in self.tensors.values():
            _write(own_scale, scale, 1.0)
            _write(own_found_inf, found_inf, 0.0)


def _write(own: torch.Tensor, new: torch.Tensor | None, default: float) -> None:
    if new is None:
        own.fill_(default)
    else:
        own.copy_(new.reshape(()), non_blocking=True)


def can_stay(found_inf: torch.Tensor, groups: Iterable[Mapping[str, Any]]) -> bool:
    """Whether all parameters that have gradients can be updated without the host knowing what `found_inf` is.

    It has to know it for parameters on the CPU or with states there, sparse gradients and shards.
    """
    groups = list(groups)
    if any(group.get("states") == "cpu" for group in groups):
        return False
    params = [p for group in groups for p in group["params"] if p.grad is not None]
    return found_inf.is_cuda and all(
        p.is_cuda and p.grad.layout == torch.strided and sharding_of(p) is None for p in params
    )
