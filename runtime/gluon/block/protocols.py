"""What the helpers of blocks use of a block: they are below `Block` and cannot import it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from runtime.gluon.parameter import Parameter, ParameterDict
from runtime.gluon.utils import HookHandle


class BlockLike(Protocol):
    """A `Block`."""

    _prefix: str
    _name: str
    _empty_prefix: bool
    _params: ParameterDict
    _children: dict[str, Any]
    _made_inside: Counter[str]
    _in_summary: bool

    @property
    def name(self) -> str: ...

    @property
    def prefix(self) -> str: ...

    @property
    def params(self) -> ParameterDict: ...

    def apply(self, fn: Callable[[Any], object]) -> Any: ...

    def register_forward_hook(self, hook: Callable[..., object]) -> HookHandle: ...

    def __call__(self, *args: Any) -> Any: ...


class HybridBlockLike(BlockLike, Protocol):
    """A `HybridBlock`."""

    _reg_params: dict[str, Parameter]

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **params: Any) -> Any: ...
