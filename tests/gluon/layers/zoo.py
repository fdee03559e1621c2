"""What is compared of the networks of the model zoo: the parameters' names, places and shapes."""

from __future__ import annotations

import hashlib
from typing import Any

NAMES = (
    *(f"resnet{n}_v{v}" for v in (1, 2) for n in (18, 34, 50, 101, 152)),
    *(f"vgg{n}{suffix}" for suffix in ("", "_bn") for n in (11, 13, 16, 19)),
    *(f"densenet{n}" for n in (121, 161, 169, 201)),
    *(f"mobilenet{version}{share}" for version in ("", "v2_") for share in ("1.0", "0.75", "0.5", "0.25")),
    "alexnet", "inceptionv3", "squeezenet1.0", "squeezenet1.1",
)  # fmt: skip


def fingerprint(net: Any) -> str:
    """A hash of all parameters in order: names without the network's prefix, shapes (0: not known yet), gradient
    requests; and of their places in files."""
    own = [(p.name[len(net.prefix) :], tuple(p.shape), p.grad_req) for p in net.collect_params().values()]
    places = [(place, p.name[len(net.prefix) :]) for place, p in net._collect_params_with_prefix().items()]
    return hashlib.sha256(repr((own, places)).encode()).hexdigest()[:16]
