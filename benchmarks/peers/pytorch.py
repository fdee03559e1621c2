"""PyTorch's optimizers in their three modes: one fused kernel, lists of tensors (foreach), and torch.compile.

Weights and gradients are copies in PyTorch's own memory, on the device of the caller's.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from workloads import LR, MOMENTUM, WD, Tensors

from peers.absent import Absent, first_line, require

_CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {}),
    "momentum": ("SGD", {"momentum": MOMENTUM}),
    "nag": ("SGD", {"momentum": MOMENTUM, "nesterov": True}),
    "adam": ("Adam", {}),
    "adagrad": ("Adagrad", {}),
    "rmsprop": ("RMSprop", {"alpha": 0.9}),
    "adadelta": ("Adadelta", {"eps": 1e-5}),
    "adafactor": ("Adafactor", {}),
    "adamax": ("Adamax", {}),
    "adamw": ("AdamW", {}),
    "asgd": ("ASGD", {}),
    "nadam": ("NAdam", {}),
    "radam": ("RAdam", {}),
    "rprop": ("Rprop", {}),
}


def fused(optimizer: str, tensors: Tensors) -> Callable[[], object] | None:
    made = make(optimizer, tensors, fused=True)
    return made and made.step


def foreach(optimizer: str, tensors: Tensors) -> Callable[[], object] | None:
    made = make(optimizer, tensors, foreach=True)
    return made and made.step


def compiled(optimizer: str, tensors: Tensors) -> Callable[[], object] | None:
    torch = require("torch", "torch")
    made = make(optimizer, tensors, foreach=True)
    if made is None:
        return None
    torch._dynamo.reset()
    torch._logging.set_logs(all=logging.ERROR)
    step: Callable[[], object] = torch.compile(lambda: made.step(), fullgraph=False)
    try:
        step()
    except Exception as error:  # whatever a missing or failing C++ compiler raises
        raise Absent(f"torch.compile failed: {first_line(error)}") from error
    return step


def make(optimizer: str, tensors: Tensors, **mode: bool) -> Any:
    """The optimizer, None where there is none with this mode."""
    torch = require("torch", "torch")
    if optimizer not in _CLASSES:
        return None
    name, values = _CLASSES[optimizer]
    kind = getattr(torch.optim, name)
    takes = inspect.signature(kind).parameters
    if not mode.keys() <= takes.keys():
        return None
    values = values | {"lr": LR} | ({"weight_decay": WD} if "weight_decay" in takes else {})
    try:
        params = [torch.nn.Parameter(torch.as_tensor(w).clone()) for w in tensors.weights]
        for p, g in zip(params, tensors.grads, strict=True):
            p.grad = torch.as_tensor(g).clone()
        made = kind(params, **values, **mode)
        made.step()
    except Exception as error:  # whatever this build of PyTorch lacks, or memory: the others may go on
        raise Absent(f"torch.optim.{name}({', '.join(mode)}=True): {first_line(error)}") from error
    return made
