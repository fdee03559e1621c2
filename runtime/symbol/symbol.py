"""`Symbol`: some outputs of a graph, written like arrays. It has no values until it is bound to some."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from runtime.base import MXNetError, NotImplementedForSymbol, did_you_mean
from runtime.context import Context, current_context
from runtime.core import files
from runtime.ndarray import NDArray
from runtime.symbol import binding, infer
from runtime.symbol.attributes import HIDDEN, stored_key
from runtime.symbol.executor import SYMBOL_MAKERS, Executor
from runtime.symbol.graph import Entry, Node, listing, order, rebuilt, variables
from runtime.symbol.json_file import from_json, to_json


class _OnlyOfArrays(NotImplementedForSymbol, AttributeError):
    """An attribute of arrays that was read of a symbol. Blocks add their names to it, and `hasattr` is false."""


class Symbol:
    """One output or several of a graph. Python's symbols, and the methods of NDArray, make symbols of symbols."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = tuple(entries)

    # ------------------------------------------------------------ outputs

    def __repr__(self) -> str:
        return f"<Symbol {self.name or 'group [' + ', '.join(x.node.name for x in self._entries) + ']'}>"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol([entry]) for entry in self._entries)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """The output of that number or name; outputs of a slice."""
        if isinstance(index, str):
            names = self.list_outputs()
            found = [i for i, name in enumerate(names) if name == index]
            if len(found) != 1:
                problem = "several outputs are" if found else "no output is"
                raise ValueError(f"{problem} called '{index}'{'' if found else did_you_mean(index, names)}")
            index = found[0]
        if isinstance(index, slice):
            return Symbol(self._entries[index])
        if not isinstance(index, int) or not -len(self) <= index < len(self):
            raise IndexError(f"a symbol of {len(self)} outputs has no output {index!r}")
        return Symbol([self._entries[index]])

    def _renamed(self, name: str) -> Symbol:
        """The same output, of an operator with another name; a variable stays what it is."""
        ((node, index),) = self._entries
        return self if node.operator is None else Symbol([Entry(replace(node, name=name), index)])

    @property
    def num_outputs(self) -> int:
        return len(self)

    @property
    def name(self) -> str | None:
        """The name of the node; None for outputs of several."""
        nodes = {entry.node for entry in self._entries}
        return next(iter(nodes)).name if len(nodes) == 1 else None

    def list_outputs(self) -> list[str]:
        return [entry.name for entry in self._entries]

    def list_arguments(self) -> list[str]:
        """The names of the variables that are no auxiliary states, in the order in which a walk meets them."""
        return [node.name for node in variables(self._entries)[0]]

    def list_auxiliary_states(self) -> list[str]:
        return [node.name for node in variables(self._entries)[1]]

    def list_inputs(self) -> list[str]:
        """The names of all variables."""
        return [node.name for node in order(self._entries) if node.operator is None]

    def get_internals(self) -> Symbol:
        """All outputs of all nodes of the graph."""
        return Symbol([entry for node in order(self._entries) for entry in node.entries()])

    def get_children(self) -> Symbol | None:
        """The inputs of its nodes; None for a variable."""
        nodes = dict.fromkeys(entry.node for entry in self._entries)
        inputs = [entry for node in nodes for entry in node.inputs]
        return Symbol(inputs) if inputs else None

    # ------------------------------------------------------------ attributes

    def attr(self, key: str) -> str | None:
        """The attribute of its node, with the underscores of hidden ones or without."""
        return self.list_attr().get(key) if self.name is not None else None

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes of its node."""
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True) is gone: use attr_dict()")
        return _shown(self._entries[0].node) if self.name is not None else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of each node that has some, by its name."""
        return {node.name: _shown(node) for node in order(self._entries) if node.attributes}

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of its node; `name` is what the node is called. MXNetError for one that does not fit."""
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attribute '{key}' must be a string, not {type(value).__name__}")
            if key == "name":
                heads = {x: replace(x, name=value) for x, _ in self._entries}
                self._entries = tuple(Entry(heads[node], index) for node, index in self._entries)
                continue
            for node in {entry.node for entry in self._entries}:
                node.set_attribute(stored_key(key), value)

    # ------------------------------------------------------------ composition

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """The same graph with symbols in the place of variables, in the order of `list_inputs` or by name.

        `name` is the new name of its node.
        """
        found = [node for node in order(self._entries) if node.operator is None]
        if args and kwargs:
            raise TypeError("a symbol is composed of symbols in order or by name, not both")
        if len(args) > len(found):
            raise MXNetError(f"{len(args)} symbols for the {len(found)} variables of '{self.name}'")
        given = kwargs or {node.name: x for node, x in zip(found, args, strict=False)}
        for key, x in given.items():
            if not isinstance(x, Symbol):
                raise TypeError(f"'{key}' must be a Symbol, not {type(x).__name__}")
            if key not in {node.name for node in found}:
                raise MXNetError(f"no variable is called '{key}'{did_you_mean(key, [n.name for n in found])}")
        heads = {entry.node for entry in self._entries}

        def change(node: Node, inputs: tuple[Entry, ...]) -> Node | Entry:
            if node.operator is None and node.name in given:
                return single(given[node.name], node.name)
            if name is not None and node in heads and node.operator is not None:
                return replace(node, name=name, inputs=inputs)
            return node.reading(inputs)

        return Symbol(rebuilt(self._entries, change))

    def __copy__(self) -> Symbol:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict) -> Symbol:
        return Symbol(
            rebuilt(self._entries, lambda n, inputs: replace(n, attributes=dict(n.attributes), inputs=inputs))
        )

    def __reduce__(self) -> tuple:
        return load_json, (self.tojson(),)

    # ------------------------------------------------------------ shapes and types

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple:
        """The shapes of arguments, outputs and auxiliary states, from those of some arguments, in order or by name.

        Three lists of tuples; (None, None, None), with a warning, where some do not follow.
        """
        return infer.shapes(self._entries, args, kwargs, partial=False)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple:
        """As `infer_shape`, with what is known: () for a shape of which nothing is, and 0 for lengths."""
        return infer.shapes(self._entries, args, kwargs, partial=True)

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple:
        """The element types of arguments, outputs and auxiliary states, from those of some arguments."""
        return infer.types(self._entries, args, kwargs, partial=False)

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple:
        """As `infer_type`, with None where nothing is known."""
        return infer.types(self._entries, args, kwargs, partial=True)

    # ------------------------------------------------------------ files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph in MXNet's JSON."""
        return to_json(self._entries, remove_amp_cast)

    def save(self, fname: str | os.PathLike[str], remove_amp_cast: bool = True) -> None:
        """Write the graph in MXNet's JSON. A file that was there stays until the new one is complete."""
        with files.opening():
            files.write(fname, self.tojson(remove_amp_cast).encode())

    def debug_str(self) -> str:
        """The graph as text: its outputs, and each node with what it reads and its attributes."""
        return listing(self._entries)

    def _gen_atomic_symbol(self) -> Symbol:
        """The operation alone, without its inputs."""
        node = self._entries[0].node
        return Symbol(Node(node.operator, "", node.attributes).entries())

    # ------------------------------------------------------------ values

    def eval(self, ctx: Context | None = None, **kwargs: NDArray) -> list[NDArray]:
        """The outputs, given the arrays of all arguments by name."""
        return self.bind(ctx or current_context(), kwargs).forward()

    def bind(
        self,
        ctx: Context,
        args: Sequence[NDArray] | Mapping[str, NDArray],
        args_grad: Sequence[NDArray | None] | Mapping[str, NDArray] | None = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_exec: Executor | None = None,
    ) -> Executor:
        """An Executor of the graph with these arrays, which it reads, and writes gradients and states to.

        Operations whose attribute `ctx_group` is in `group2ctx` are computed in its context, others in `ctx`.
        """
        return binding.bind(self._entries, ctx, args, args_grad, grad_req, aux_states, group2ctx)

    def simple_bind(
        self,
        ctx: Context,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        **kwargs: Sequence[int],
    ) -> Executor:
        """An Executor with new arrays of 0, of shapes inferred from those in `kwargs`.

        Arguments in `shared_arg_names`, and states, are taken from `shared_exec`. Operations whose attribute
        `ctx_group` is in `group2ctx` are computed in its context, where their arguments are made, others in `ctx`.
        """
        shared = shared_arg_names, shared_exec, shared_buffer
        return binding.simple_bind(self._entries, ctx, grad_req, type_dict, stype_dict, *shared, group2ctx, kwargs)

    def optimize_for(self, backend: str, *args: Any, **kwargs: Any) -> Symbol:
        """The same graph: there are no other backends to compute it, whose name is only logged."""
        logging.getLogger(__name__).warning("there is no backend '%s': the graph stays as it is", backend)
        return self

    get_backend_symbol = optimize_for

    # ------------------------------------------------------------ what symbols cannot do

    def gradient(self, wrt: Sequence[str]) -> NoReturn:
        """MXNetError: an Executor computes gradients, in its `backward`."""
        raise MXNetError("gradient is not implemented: bind the symbol, and call the executor's backward()")

    def __bool__(self) -> NoReturn:
        self._refuse("bool")

    def __getattr__(self, name: str) -> NoReturn:
        problem = f"'{type(self).__name__}' object has no attribute '{name}'"
        if name in _OF_VALUES:
            raise _OnlyOfArrays(f"{problem}: only arrays have it; in a graph, reshape takes 0 and -1 for lengths")
        raise AttributeError(problem)

    def _refuse(self, what: str) -> NoReturn:
        raise NotImplementedForSymbol(f"{what} needs values, and a Symbol has none: bind it to arrays, or use eval()")


_OF_VALUES = {"context", "ctx", "dtype", "ndim", "shape", "size"}
_REFUSED = "asnumpy asscalar copy as_in_context wait_to_read detach backward attach_grad"
for _name in (*_REFUSED.split(), "__iadd__", "__isub__", "__imul__", "__itruediv__"):
    setattr(Symbol, _name, lambda self, *args, what=_name, **kwargs: self._refuse(what))


SYMBOL_MAKERS["symbol"] = Symbol


def single(symbol: Symbol, name: str) -> Entry:
    """The entry of a symbol with one output, to be the input `name`."""
    if len(symbol) != 1:
        raise MXNetError(f"the input '{name}' takes one output, and {symbol!r} has {len(symbol)}: choose one, as x[0]")
    return symbol._entries[0]


def _shown(node: Node) -> dict[str, str]:
    shown = dict(node.attributes)
    shown |= {key: shown[f"__{key}__"] for key in HIDDEN if f"__{key}__" in shown}
    return shown


# ---------------------------------------------------------------- making symbols


def Group(symbols: Sequence[Symbol], create_fn: Any = Symbol) -> Symbol:
    """The outputs of several symbols, as one."""
    if not symbols or not all(isinstance(x, Symbol) for x in symbols):
        raise TypeError("Group takes a list of one Symbol or more")
    return create_fn([entry for symbol in symbols for entry in symbol._entries])


def load(fname: str | os.PathLike[str]) -> Symbol:
    """The graph in a file that `Symbol.save`, here or in MXNet, wrote. MXNetError names what cannot be read."""
    return Symbol(from_json(files.read(fname), f"'{os.fspath(fname)}'"))


def load_json(json_str: str) -> Symbol:
    """The graph in a string; see `load`."""
    if not isinstance(json_str, str):
        raise TypeError(f"load_json takes a string, not {type(json_str).__name__}")
    return Symbol(from_json(json_str, "the string"))


fromjson = load_json
