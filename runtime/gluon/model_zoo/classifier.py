"""The base class of the zoo's image classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.gluon import nn
from runtime.gluon.block import HybridBlock
from runtime.gluon.model_zoo.model_store import get_model_file


class Classifier(HybridBlock):
    """`output(features(x))`: a feature extractor and a classifier."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


def chain(*blocks: HybridBlock) -> nn.HybridSequential:
    """A HybridSequential with an empty prefix: the enclosing scope names the blocks."""
    net = nn.HybridSequential(prefix="")
    net.add(*blocks)
    return net


def model(
    name: str, make: Callable[..., HybridBlock], description: str, weights: str | None = None
) -> Callable[..., HybridBlock]:
    """The function `name` that makes a network: `make(**kwargs)`.

    `weights` is what `model_store` calls the network, where that is not `name`.
    """

    def create(pretrained: bool = False, ctx: Any = None, root: Any = None, **kwargs: Any) -> HybridBlock:
        path = get_model_file(weights or name, root) if pretrained else None
        net = make(**kwargs)
        if path is not None:
            net.load_parameters(path, ctx=ctx)
        return net

    create.__name__ = create.__qualname__ = name
    create.__doc__ = (
        f"{description} Further arguments, such as `classes`, are those of the class. `pretrained=True` loads weights, "
        f"to `ctx`, from a file of the folder `root` that `model_store.get_model_file('{weights or name}')` finds; "
        "nothing is downloaded."
    )
    return create
