"""The base class of layers and networks."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from runtime.base import ArgumentError, MXNetError
from runtime.context import Context
from runtime.gluon.block import structure
from runtime.gluon.block.naming import _BlockScope
from runtime.gluon.block.summary import summarize
from runtime.gluon.parameter import Parameter, ParameterDict
from runtime.gluon.parameter.loading import load_into
from runtime.gluon.utils import HookHandle
from runtime.initializer import Initializer
from runtime.ndarray import NDArray, serialization

File = str | os.PathLike[str]


class Block:
    """A layer or a network. `forward` computes its output. Attributes that are Blocks are its children, attributes that
    are Parameters its own parameters.

    Parameters
    ----------
    prefix: start of the names of its parameters; None for one made from the class name and a count.
    params: another block's `params`, to share those of the same name.
    """

    _in_summary = True
    """Whether `summary` has a row for this block. Containers have none."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._made_inside: Counter[str] = Counter()  # blocks named in its scope, by kind
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[object, Callable] = {}
        self._forward_pre_hooks: dict[object, Callable] = {}

    def __setattr__(self, key: str, value: Any) -> None:
        """Register Blocks as children and Parameters as own parameters. Neither can be replaced by another type."""
        if isinstance(value, (Block, Parameter)) and "_children" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}.__init__ must call super().__init__() before it sets '{key}', which is a "
                f"{type(value).__name__}"
            )
        existing = self.__dict__.get(key)
        if isinstance(existing, (Block, Parameter)) and not isinstance(value, type(existing)):
            raise TypeError(
                f"attribute '{key}' of {type(self).__name__} is a {type(existing).__name__} and cannot become "
                f"{value!r}, of type {type(value).__name__}"
            )
        if isinstance(value, Block):
            self.register_child(value, key)
        elif isinstance(value, Parameter):
            if key in self._reg_params:
                raise ArgumentError(
                    f"attribute '{key}' of {type(self).__name__} is a parameter already; to share parameters give "
                    "params= to the block that is to use them"
                )
            self._reg_params[key] = value
        super().__setattr__(key, value)

    def __repr__(self) -> str:
        parts = [f"  ({key}): {block!r}".replace("\n", "\n  ") for key, block in self._children.items()]
        return f"{type(self).__name__}(\n" + "\n".join(parts) + "\n)"

    # ------------------------------------------------------------ names and children

    def _alias(self) -> str:
        """The name of blocks of this class, without the count."""
        return type(self).__name__.lower()

    @property
    def prefix(self) -> str:
        """The start of its parameters' names."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of its children."""
        return self._params

    def name_scope(self) -> _BlockScope:
        """`with self.name_scope():` blocks made inside get names under this one's (if its prefix is not empty)."""
        return _BlockScope(self)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make `block` a child. `name`, by default its position, is its name in files of parameters."""
        if not isinstance(block, Block):
            raise ArgumentError(
                f"the parts of {type(self).__name__} '{self.name}' must be Blocks, not {type(block).__name__}"
            )
        self._children[str(len(self._children)) if name is None else name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Its parameters and those of all descendants. `select`, a regular expression, keeps those whose name it
        matches.

        Warns of blocks in an attribute that is a list or dict: these are not children.
        """
        self._warn_of_hidden_blocks()
        found = ParameterDict(self._params.prefix)
        pattern = re.compile(select or "")
        found.update({name: param for name, param in self._params.items() if pattern.match(name)})
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _warn_of_hidden_blocks(self) -> None:
        parts = set(map(id, self._children.values()))
        for key, value in self.__dict__.items():
            if key != "_children" and isinstance(value, (list, tuple, dict)):
                hidden = next((block for block in _blocks_in(value) if id(block) not in parts), None)
                if hidden is not None:
                    warnings.warn(
                        f"{type(self).__name__}.{key} holds the block '{hidden.name}', which is no part of "
                        f"'{self.name}': its parameters are not collected. Use nn.Sequential, or register_child()",
                        stacklevel=4,
                    )

    def apply(self, fn: Callable[[Block], object]) -> Block:
        """Call `fn` with each descendant, innermost first, and with this block. Returns this block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters; see `Parameter.initialize`."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to the element type `dtype`. `Trainer` makes states for the type at its first step."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self._params.values():
            param.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Call `hybridize` of the children."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ------------------------------------------------------------ files

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Parameters by their path in the tree of blocks (`features.0.weight`), whatever the names of the blocks."""
        prefix = prefix and prefix + "."
        found = {prefix + key: param for key, param in self._reg_params.items()}
        for key, child in self._children.items():
            found |= child._collect_params_with_prefix(prefix + key)
        return found

    def save_parameters(self, filename: File, deduplicate: bool = False) -> None:
        """Write all parameters to a safetensors file. An existing file is replaced when the new one is complete.

        `deduplicate` writes a parameter that several blocks share once, by the name that it has in the last of them.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            params = {key: param for param, key in {param: key for key, param in params.items()}.items()}
        serialization.save(filename, {key: param._reduce() for key, param in params.items()})

    def load_parameters(
        self,
        filename: File,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read parameters that `save_parameters`, or MXNet, wrote. Nothing changes unless the whole file fits.

        Files with the names of parameters, as `ParameterDict.save` writes them, are read as well.

        Parameters
        ----------
        ctx: where parameters without values go, by default the CPU; those with values must be there.
        allow_missing: leave parameters that the file does not have as they are.
        ignore_extra: skip parameters that the file has and the block does not.
        cast_dtype: convert, instead of refusing values of another type than the parameter's.
        dtype_source: with `cast_dtype`, what is converted: 'current', the file's values to the parameter's type;
            'saved', the parameter to the file's type.
        """
        loaded, params = serialization.load(filename), self._collect_params_with_prefix()
        options = (ctx, allow_missing, ignore_extra)
        if isinstance(loaded, dict) and (loaded.keys() <= params.keys() or any("." in key for key in loaded)):
            where = f"file '{os.fspath(filename)}'"
            load_into(params, loaded, where, *options, cast_dtype, dtype_source)
        elif loaded or params:
            self.collect_params().load_dict(
                loaded, *options, self.prefix, os.fspath(filename), cast_dtype, dtype_source
            )

    def save_params(self, filename: File) -> None:
        """An old form of `save_parameters`: the file has the parameters' names, without this block's prefix."""
        warnings.warn("save_params is deprecated: use save_parameters", DeprecationWarning, stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: File,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """An old name of `load_parameters`."""
        warnings.warn("load_params is deprecated: use load_parameters", DeprecationWarning, stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write the blocks' names to `prefix`-model.json and the parameters to `prefix`-model.params."""
        structure.save(self, f"{prefix}-model.json")
        self.save_parameters(f"{prefix}-model.params")

    def load(self, prefix: str) -> None:
        """Read files of `save`, written by a block of the same structure, whose names this block takes over."""
        structure.load(self, f"{prefix}-model.json")
        self.load_parameters(f"{prefix}-model.params")

    # ------------------------------------------------------------ hooks

    def register_forward_pre_hook(self, hook: Callable[[Block, tuple], object]) -> HookHandle:
        """Call `hook(block, inputs)` before each `forward`, until the returned handle is detached."""
        return HookHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[[Block, tuple, Any], object]) -> HookHandle:
        """Call `hook(block, inputs, output)` after each `forward`, until the returned handle is detached."""
        return HookHandle(self._forward_hooks, hook)

    def register_op_hook(self, callback: Callable[[bytes, bytes, NDArray], object], monitor_all: bool = False) -> None:
        """Call `register_op_hook` of the children."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs: Any) -> None:
        """Run `inputs` through the network, and print the output shape and the number of parameters of each layer."""
        summarize(self, inputs)

    # ------------------------------------------------------------ computing

    def __call__(self, *args: Any) -> Any:
        """Call hooks and `forward`. An error names the block that it happened in."""
        try:
            if not (self._forward_hooks or self._forward_pre_hooks):
                return self.forward(*args)
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
            out = self.forward(*args)
            for hook in list(self._forward_hooks.values()):
                hook(self, args, out)
            return out
        except MXNetError as error:
            if not hasattr(error, "block"):  # only the innermost block adds its name
                error.block = self  # type: ignore[attr-defined]
                place = f"{type(self).__name__} '{self.name}'"
                if place not in str(error):
                    error.args = (f"{error} (in {place})",)
            raise

    def forward(self, *args: Any) -> Any:
        """Compute the output from the inputs."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")


def _blocks_in(value: Any) -> Iterator[Block]:
    """The blocks in nested lists, tuples and dicts."""
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        inner: Iterable = value.values() if isinstance(value, dict) else value
        for x in inner:
            yield from _blocks_in(x)
