"""The tensors that a spec reads besides gradients: its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optgen.diagnostics import suggest
from optgen.execute import buffers
from optgen.execute.buffers import Tensor
from optgen.execute.protocols import Device
from optgen.model import Optimizer


def check_inputs(
    spec: Optimizer, inputs: Mapping[str, Iterable[Any]], params: Sequence[Tensor], dtype: str, device: Device
) -> dict[str, list[Tensor]]:
    """The tensors of each input, by name; TypeError or ValueError where one is unknown, missing or does not fit."""
    names = [i.name for i in spec.inputs]
    for name in inputs:
        if name not in names:
            hint = suggest(name, names) or (f"it has {', '.join(names)}" if names else "it has none")
            raise TypeError(f"{spec.name} has no input '{name}'; {hint}")
    tensors: dict[str, list[Tensor]] = {}
    for name in names:
        if name not in inputs:
            raise ValueError(
                f"{spec.name} reads '{name}': give inputs={{'{name}': [...]}}, a tensor for each parameter"
            )
        listed = buffers.as_list(inputs[name], f"inputs[{name!r}]", len(params))
        found = [device.tensor(x, f"inputs[{name!r}][{i}]") for i, x in enumerate(listed)]
        for t, p in zip(found, params, strict=True):
            buffers.check(t, dtype, p.shape, "its parameter")
        tensors[name] = found
    return tensors
