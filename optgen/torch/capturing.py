"""Inputs of a spec that follow from what goes through layers: sums of products of activations, and of the gradients of
outputs.

`input A: cols x cols` is the mean of a a^T over samples, where a is what the weight of a layer is multiplied by, and
`input G: rows x rows` the same of the gradients of the layer's output. Both are the factors of K-FAC, as Eschenhagen et
al. have them where a weight is shared (2023, arXiv:2311.00636).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import torch
import torch.distributed as dist

from optgen.axes import COLS, ROWS
from optgen.model import Optimizer

Sharing = Literal["expand", "reduce"]
LAYERS = (torch.nn.Linear, torch.nn.Conv2d)


@dataclass
class _Sums:
    """What the backward passes since the last step have added for a weight. `samples` is how many there were."""

    activations: torch.Tensor | None = None
    gradients: torch.Tensor | None = None
    samples: int = 0


@dataclass
class Capture:
    """The layers whose activations and gradients an optimizer captures, by their weights. It holds them from a forward
    pass to its backward pass, and then sums of the size of a factor. `remove` ends it."""

    activations: str | None
    gradients: str | None
    sharing: Sharing
    loss: Literal["mean", "sum"]
    sums: dict[torch.Tensor, _Sums] = field(default_factory=dict)
    handles: list[Any] = field(default_factory=list)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles, self.sums = [], {}

    def look_at(self, layer: torch.nn.Linear | torch.nn.Conv2d) -> None:
        self.sums[layer.weight] = _Sums()
        self.handles.append(layer.register_forward_hook(self._forward))

    def _forward(self, layer: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        if output.requires_grad:
            hook: Callable[[torch.Tensor], None] = partial(self._backward, layer, inputs[0].detach())
            output.register_hook(hook)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def _backward(self, layer: Any, x: torch.Tensor, gradient: torch.Tensor) -> None:
        """Add what one use of a layer gives to the sums."""
        found = self.sums[layer.weight]
        a, b = samples(layer, x, gradient)
        if self.sharing == "reduce":
            a, b = a.mean(1, keepdim=True), b.sum(1, keepdim=True)
        n, shared, _ = a.shape
        if self.activations is not None:
            found.activations = _added(found.activations, a, 1 / shared)
        if self.gradients is not None:
            found.gradients = _added(found.gradients, b, 1.0)
        found.samples += n

    def give(self, optimizer: Any) -> None:
        """Make the inputs of a step from the sums, which begin anew; inputs of weights without any stay as they are.
        ValueError with a GradScaler."""
        if getattr(optimizer, "found_inf", None) is not None:
            raise ValueError(
                f"{type(optimizer).__name__}: capture() with a GradScaler, whose scale is in the gradients of outputs; "
                "train in bfloat16, which needs no scaler"
            )
        for weight, found in self.sums.items():
            count = _over_ranks(torch.tensor(float(found.samples), device=weight.device)).item()
            # Of the mean of a loss, a rank's gradients are those of its samples by their number.
            factor = float(found.samples) ** 2 if self.loss == "mean" else 1.0
            rows, cols = weight.shape[0], weight[0].numel()
            for name, n, total, scale in (
                (self.activations, cols, found.activations, 1.0),
                (self.gradients, rows, found.gradients, factor),
            ):
                if name is None:
                    continue
                total = _zeros(weight, n) if total is None else total * scale
                total = _over_ranks(total)  # by all ranks, also those whose layer was not used
                if count:
                    kept = optimizer.state[weight]
                    total /= count
                    kept[name] = kept[name].copy_(total) if name in kept else total
            self.sums[weight] = _Sums()


def _over_ranks(x: torch.Tensor) -> torch.Tensor:
    """The sum over all ranks."""
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(x)
    return x


def _zeros(weight: torch.Tensor, n: int) -> torch.Tensor:
    dtype = torch.float64 if weight.dtype == torch.float64 else torch.float32
    return torch.zeros(n, n, dtype=dtype, device=weight.device)


def _reading(optimizer: Any) -> set[torch.Tensor]:
    """The parameters that the spec itself updates, and none that it has others for, as embeddings and heads."""
    params, others = [p for group in optimizer.param_groups for p in group["params"]], optimizer.spec.parts[1:]
    return {p for p, row in zip(params, optimizer.plan(), strict=True) if row.update not in ("none", *others)}


def _added(total: torch.Tensor | None, rows: torch.Tensor, scale: float) -> torch.Tensor:
    """The sum of products of rows with themselves, times `scale`, in at least float32."""
    flat = rows.flatten(0, 1)
    flat = flat if flat.dtype == torch.float64 else flat.float()
    found = flat.T @ flat * scale
    return found if total is None else total.add_(found)


def samples(layer: Any, x: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What the weight of a layer is multiplied by, and the gradients of the results: for each sample, each time that it
    is, a row."""
    if isinstance(layer, torch.nn.Conv2d):
        patches = torch.nn.functional.unfold(_padded(layer, x), layer.kernel_size, layer.dilation, stride=layer.stride)
        return patches.mT, gradient.flatten(2).mT
    n = x.shape[0] if x.dim() > 1 else 1
    return x.reshape(n, -1, x.shape[-1]), gradient.reshape(n, -1, gradient.shape[-1])


def _padded(layer: torch.nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return torch.nn.functional.pad(x, layer._reversed_padding_repeated_twice, mode=mode)


def inputs_of(spec: Optimizer) -> tuple[str | None, str | None]:
    """The inputs of a spec that are `cols x cols` and `rows x rows`; TypeError if it has neither, or several."""
    found = [[x.name for x in spec.inputs if x.axes == axes * 2] for axes in (COLS, ROWS)]
    if not any(found) or any(len(names) > 1 for names in found):
        raise TypeError(f"{spec.name}: capture() gives one input `cols x cols`, one `rows x rows`, or both")
    a, g = (names[0] if names else None for names in found)
    return a, g


def layers_of(module: torch.nn.Module, reading: set[torch.Tensor], name: str) -> Iterator[Any]:
    """The layers whose weights an optimizer of this name gives inputs; ValueError for one of several matrices."""
    for path, layer in module.named_modules():
        if isinstance(layer, LAYERS) and layer.weight in reading:
            if isinstance(layer, torch.nn.Conv2d) and layer.groups > 1:
                raise ValueError(f"{name}: capture(): '{path}' is a convolution in groups, which is several matrices")
            yield layer


def capture(optimizer: Any, module: torch.nn.Module, sharing: Sharing, loss: Literal["mean", "sum"]) -> Capture:
    """Have an optimizer capture what goes through the layers of a module; arguments and errors are those of
    `Stepping.capture`."""
    name = type(optimizer).__name__
    if sharing not in ("expand", "reduce"):
        raise ValueError(f"{name}: sharing is 'expand' or 'reduce', not {sharing!r}")
    if loss not in ("mean", "sum"):
        raise ValueError(f"{name}: loss is 'mean' or 'sum', not {loss!r}")
    if optimizer.in_backward:
        raise ValueError(f"{name}: capture() with in_backward=True: backward updates weights before factors are known")
    found = Capture(*inputs_of(optimizer.spec), sharing, loss)
    for layer in layers_of(module, _reading(optimizer), name):
        found.look_at(layer)
    if not found.sums:
        raise ValueError(f"{name}: capture(): the module has no Linear and no Conv2d whose weight it updates with them")
    return found
