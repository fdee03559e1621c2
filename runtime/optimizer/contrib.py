"""The optimizers that MXNet has in `optimizer.contrib`; `optimizer` has them too."""

from __future__ import annotations

from runtime.optimizer.optimizer import Optimizer

__all__ = ["GroupAdaGrad"]  # noqa: F822 (made when it is asked for)


def __getattr__(name: str) -> type[Optimizer]:
    if name in __all__:
        return Optimizer.opt_registry.of_class(name)
    raise AttributeError(f"module 'runtime.optimizer.contrib' has no attribute '{name}'")
