"""DeepSpeed's optimizers for the CPU: hand-written AVX code, built with the C++ compiler at first use.

A build that was interrupted leaves a lock in ~/.cache/torch_extensions, and the next one waits for it: delete it then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from workloads import LR, WD, Tensors

from peers.absent import Absent, first_line, require

_CLASSES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "adam": ("deepspeed.ops.adam", "DeepSpeedCPUAdam", {"adamw_mode": False}),
    "adamw": ("deepspeed.ops.adam", "DeepSpeedCPUAdam", {"adamw_mode": True}),
    "adagrad": ("deepspeed.ops.adagrad", "DeepSpeedCPUAdagrad", {}),
    "lion": ("deepspeed.ops.lion", "DeepSpeedCPULion", {}),
}


def step(optimizer: str, tensors: Tensors) -> Callable[[], object] | None:
    torch = require("torch", "torch")
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    require("deepspeed", "deepspeed")
    if optimizer not in _CLASSES:
        return None
    module, name, values = _CLASSES[optimizer]
    kind = getattr(require(module, "deepspeed"), name)
    params = [torch.nn.Parameter(torch.from_numpy(w).clone()) for w in tensors.weights]
    for p, g in zip(params, tensors.grads, strict=True):
        p.grad = torch.from_numpy(g).clone()
    try:
        made = kind(params, lr=LR, weight_decay=WD, **values)
        made.step()
    except Exception as error:  # the extension is compiled here, and a build may fail in any way
        raise Absent(f"{name} does not work here: {first_line(error)}") from error
    call: Callable[[], object] = made.step
    return call
