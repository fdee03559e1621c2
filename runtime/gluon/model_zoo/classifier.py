"""The base class of the zoo's image classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.base import MXNetError
from runtime.gluon import nn
from runtime.gluon.block import HybridBlock


class Classifier(HybridBlock):
    """`output(features(x))`: a feature extractor and a classifier."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


def chain(*blocks: HybridBlock) -> nn.HybridSequential:
    """A HybridSequential with an empty prefix: the enclosing scope names the blocks."""
    net = nn.HybridSequential(prefix="")
    net.add(*blocks)
    return net


def model(name: str, make: Callable[..., HybridBlock], description: str) -> Callable[..., HybridBlock]:
    """The function `name` that makes a network: `make(**kwargs)`."""

    def create(pretrained: bool = False, ctx: Any = None, root: Any = None, **kwargs: Any) -> HybridBlock:
        if pretrained:
            raise MXNetError(
                f"{name}: weights are not downloaded. Get the .params file that MXNet's model zoo has for it, make the "
                f"network without pretrained=True, and call net.load_parameters('FILE.params', ctx=ctx)"
            )
        return make(**kwargs)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = (
        f"{description} Further arguments, such as `classes`, are those of the class; `pretrained=True` is an error "
        "that says how to load weights."
    )
    return create
