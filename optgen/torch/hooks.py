"""What surrounds a step: hooks, the profiler, where graphs of `torch.compile` end, and FakeTensorMode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch.optim import optimizer as torch_optimizer

Step = Callable[..., Any]
_is_profiled = torch._C._autograd._profiler_enabled


def hooked(step: Step) -> Step:
    """A method `step` with all that `torch.optim.Optimizer.profile_hook_step` adds, where there is something to add.

    PyTorch's takes some 10 us, most of it to name the step for a profiler that does not run.
    """

    @functools.wraps(step)
    def with_hooks(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():
            return _outside_graphs(step, args, kwargs)
        if _is_profiled():
            return _profiled(step, args, kwargs)
        return _with_hooks(step, args, kwargs)

    with_hooks.hooked = True  # type: ignore[attr-defined]
    return with_hooks


def _profiled(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with torch.autograd.profiler.record_function(f"Optimizer.step#{type(args[0]).__name__}.step"):
        return _with_hooks(step, args, kwargs)


@_disable_dynamo
def _outside_graphs(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
