"""Name scopes: the prefixes of blocks, counted by kind inside the block that creates them."""

from __future__ import annotations

from runtime.core.scope import ThreadStack
from runtime.gluon.block.protocols import BlockLike
from runtime.gluon.parameter import ParameterDict
from runtime.name import NameManager, Prefix


class _BlockScope:
    """Inside `with block.name_scope():`, blocks are named under `block`, counted by kind from 0.

    The scope of a block with an empty prefix has no effect: the enclosing scope names the blocks created inside.
    """

    def __init__(self, block: BlockLike) -> None:
        self._block = block

    def __enter__(self) -> _BlockScope:
        if not self._block._empty_prefix:
            _entered.stack.append(self._block)
            Prefix(self._block.prefix).__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._block._empty_prefix:
            _entered.stack.pop()
            NameManager.current.__exit__()

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """The full prefix and the parameters of a new block of the kind `hint`. Arguments that are not None are used as
        they are."""
        outer = _entered.stack[-1]
        if outer is None:
            if prefix is None:
                prefix = NameManager.current.get(None, hint) + "_"
            return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            prefix = f"{hint}{outer._made_inside[hint]}_"
            outer._made_inside[hint] += 1
        if params is None:
            params = ParameterDict(outer.params.prefix + prefix, outer.params._shared)
        else:
            params = ParameterDict(params.prefix, params)
        return outer.prefix + prefix, params


_entered = ThreadStack(lambda: None)  # the blocks whose scopes this thread has entered
