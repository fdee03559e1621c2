"""Operators that update weights, made from equations.

A function says in its signature what it takes, and in equations of optgen's language what it does:

    @update("mom", '''
      mom' = momentum*mom - lr*(g + wd*w)
      w'   = w + mom'
    ''')
    def sgd_mom_update(weight, grad, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=-1.0, out=None):
        ...

The equations are compiled on the first call, for the type of the arrays. A call is one native step.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import textwrap
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from runtime import autograd
from runtime.base import MXNetError, did_you_mean
from runtime.core import optgen_bridge
from runtime.core.binding import Binding
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import _check_names
from runtime.ndarray.sparse.densify import as_dense

RESERVED = ("lr", "wd", "rescale_grad", "clip_gradient", "t", "lazy_update")
"""Options with the meaning they have in every optimizer; equations cannot read `lazy_update`."""
OFF = -1.0
"""The default of a bound: negative bounds are none."""
ANY_STORAGE = ("default", "row_sparse")


class Rule:
    """An update of weights by equations.

    `states` are the names, in the equations, of the arrays that are kept between updates, separated by spaces; one with
    `:row` has one value per row. `options` are the arguments that are no arrays, with their defaults. A row-sparse
    gradient updates its rows alone if the weight and its states have one of the storages `by_row`.
    """

    def __init__(
        self, name: str, states: str, equations: str, options: Mapping[str, Any], by_row: Sequence[str] = ()
    ) -> None:
        self.name, self.states, self.equations = name, states.split(), textwrap.dedent(equations).strip("\n")
        self.options, self.by_row = options, by_row
        self.flags = [x for x, default in options.items() if isinstance(default, bool) and x not in RESERVED]
        self._names = [state.partition(":")[0] for state in self.states]
        self._compiled: dict[tuple[Any, ...], Any] = {}  # by type, GPU, and flags
        self._bindings: dict[tuple[Any, ...], tuple[weakref.ref[NDArray], Binding]] = {}

    def __call__(
        self,
        name: str,
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        kept: Sequence[Sequence[NDArray]],
        out: Any,
        master: bool = False,
        **options: Any,
    ) -> list[NDArray]:
        """Write the new weights to `out`, or to new arrays, and return these; `name` is for errors.

        `kept[k][i]` is state k of weights[i]; with `master`, float32 masters come last. They change in place. `out` is
        an array, or a list of one for each weight. Options are numbers or, but for flags, lists likewise.
        """
        autograd.writes_values([x._data for x in weights])
        fresh = out is None
        out = [] if fresh else listed(out)
        _check(name, itertools.chain(weights, grads, out, *kept))
        out = [w.detach().copy() for w in weights] if fresh else _written(name, weights, out)
        try:
            values = self._values(name, options)
            count = values.pop("t", 1)
            counts = list(count) if isinstance(count, (list, tuple)) else [count] * len(weights)
            stored = {x.stype for x in itertools.chain(out, *kept)}
            lazy = values.pop("lazy_update", True) and not master and len(stored) == 1 and stored <= set(self.by_row)
            variant = master, lazy, *map(values.pop, self.flags)
            if stored == {"default"}:
                bind = self._bind if fresh else self._bound
                bind(variant, out, grads, kept)(grads, counts, values)
            else:
                with as_dense([*out, *itertools.chain(*kept)]) as dense:
                    written, *states = (dense[i : i + len(out)] for i in range(0, len(dense), len(out)))
                    self._bind(variant, written, grads, states)(grads, counts, values)
        except (TypeError, ValueError) as error:
            raise MXNetError(f"{name}: {str(error).removeprefix(f'{self.name}: ')}") from None
        return list(out)

    def _values(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """All options: flags as booleans, bounds that are off as None."""
        for x in given:
            if x not in self.options:
                raise MXNetError(f"{name} has no argument '{x}'{did_you_mean(x, self.options)}")
        values = {**self.options, **given}
        for x, default in self.options.items():
            if values[x] is None:
                raise MXNetError(f"{name}: '{x}' must be given")
            if isinstance(default, bool):
                values[x] = bool(values[x])
            elif default == OFF and values[x] < 0:
                values[x] = None
        return values

    # ------------------------------------------------------------ compiled, and bound to arrays

    def text(self) -> str:
        """The spec."""
        lines = [f'optimizer {self.name} "{self.name}"']
        if "clip_gradient" not in self.options:
            lines.append("param clip_gradient = none")
        for name, default in self.options.items():
            if name in self.flags:
                lines.append(f"flag {name} = {str(default).lower()}")
            elif name not in RESERVED or default == OFF:
                lines.append(f"param {name} = {'none' if default == OFF else default or 0}")
        return "\n".join([*lines, *(f"state {x} = 0" for x in self.states), "update:", self.equations, ""])

    def _rule(self, dtype: str, gpu: int | None, master: bool, flags: Sequence[bool]) -> Any:
        key = dtype, gpu, master, *flags
        if key not in self._compiled:
            chosen = dict(zip(self.flags, flags, strict=True))
            self._compiled[key] = optgen_bridge.load(optgen_bridge.read(self.text()), dtype, master, None, chosen, gpu)
        return self._compiled[key]

    def _bind(
        self,
        variant: tuple[bool, ...],
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        kept: Sequence[Sequence[NDArray]],
    ) -> Binding:
        master, lazy, *flags = variant
        names = ["weight"] if len(weights) == 1 else [f"weight {i}" for i in range(len(weights))]
        columns = dict(zip([*self._names, *["w"] * master], kept, strict=True))
        states = [{key: column[i] for key, column in columns.items()} for i in range(len(weights))]
        first = weights[0]
        rule = self._rule(first._data.dtype.name, optgen_bridge.gpu_of(first._ctx), master, flags)
        return Binding(rule, names, weights, grads, states, 0, list(itertools.chain(*kept)), lazy=lazy)

    def _bound(
        self,
        variant: tuple[bool, ...],
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        kept: Sequence[Sequence[NDArray]],
    ) -> Binding:
        """`_bind`, cached for weights that are updated repeatedly, as long as the first of them lives."""
        key = id(weights[0]), *variant
        _, binding = self._bindings.get(key, (None, None))
        if binding is None or not binding.fits(weights, list(itertools.chain(*kept)), grads):
            binding = self._bind(variant, weights, grads, kept)
            gone = functools.partial(self._bindings.pop, key, None)
            self._bindings[key] = weakref.ref(weights[0], lambda _: gone()), binding
        return binding


def _check(name: str, arrays: Iterable[Any]) -> None:
    contexts = set()
    for x in arrays:
        if not isinstance(x, NDArray):
            raise MXNetError(f"{name}: expected arrays, not {type(x).__name__}")
        contexts.add(x._ctx)
    if len(contexts) > 1 and not all(context.on_cpu for context in contexts):
        raise MXNetError(f"{name}: arrays live in {' and in '.join(map(str, contexts))}; bring them together")


def _written(name: str, weights: Sequence[NDArray], out: Sequence[NDArray]) -> Sequence[NDArray]:
    """`out`, after the weights were copied to it."""
    if [x.shape for x in out] != [w.shape for w in weights]:
        raise MXNetError(f"{name}: out has the shapes {[x.shape for x in out]}, weights {[w.shape for w in weights]}")
    for weight, target in zip(weights, out, strict=True):
        if target is not weight:
            target[:] = weight.detach()
    return out


# ---------------------------------------------------------------- as operators

Function = Callable[..., Any]


def update(states: str, equations: str, by_row: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Decorator: the update of one weight by the equations, with the signature of a function that is never called.

    Its arguments are `weight`, `grad`, the states in order, options, and `out`. For the rest see `Rule`.
    """

    def decorate(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters.values())
        options = {
            p.name: None if p.default is p.empty else p.default for p in parameters[2 + len(states.split()) : -1]
        }
        rule = Rule(function.__name__, states, equations, options, by_row)
        doc = f"{function.__doc__}\n\nIn optgen's language:\n\n{textwrap.indent(rule.equations, '    ')}\n"
        return _single(rule, rule.name, doc, parameters, master=False)

    return decorate


def with_master(function: Function) -> Function:
    """The same update for 16-bit weights that have a float32 master."""
    rule, parameters = function.rule, list(inspect.signature(function).parameters.values())[:-1]
    parameters.insert(2 + len(rule.states), inspect.Parameter("weight32", inspect.Parameter.POSITIONAL_OR_KEYWORD))
    doc = f"`{rule.name}` of a 16-bit weight with its float32 master `weight32`; states are float32."
    return _single(rule, f"mp_{rule.name}", doc, parameters, master=True)


def _single(rule: Rule, name: str, doc: str, parameters: list[inspect.Parameter], master: bool) -> Function:
    count = 2 + len(rule.states) + master

    def call(*args: Any, **kwargs: Any) -> NDArray:
        given = _given(call, args, kwargs)
        weight, grad, *kept = (given.pop(p.name) for p in parameters[:count])
        return rule(name, [weight], [grad], [[x] for x in kept], given.pop("out"), master, **given)[0]

    return _described(call, rule, name, doc, parameters)


def several(function: Function, master: bool = False, preloaded: bool = False) -> Function:
    """The same update of several weights in one call.

    It takes `*data`, the arrays of the first weight, those of the second and so on, `num_weights`, and `lrs` and `wds`,
    a number for each weight; `preloaded`: these are arrays, the last of `data`.
    """
    rule = function.rule
    name = "preloaded_" * preloaded + "multi_" + "mp_" * master + rule.name
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = {x: default for x, default in rule.options.items() if x not in ("lr", "wd", "lazy_update")}
    parameters = [inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL)]
    parameters += [inspect.Parameter(x, keyword) for x in ("lrs", "wds") if not preloaded]
    options |= {"num_weights": 1, "out": None}
    parameters += [inspect.Parameter(x, keyword, default=default) for x, default in options.items()]
    stride = 2 + len(rule.states) + master

    def call(*args: Any, **kwargs: Any) -> NDArray | list[NDArray]:
        given = _given(call, args, kwargs)
        data, n = given.pop("data"), given.pop("num_weights")
        if n < 1 or len(data) != n * stride + 2 * preloaded:
            raise MXNetError(
                f"{name}: {len(data)} arrays; for num_weights={n} there must be {n} times {stride}"
                + ", and the rates and decays" * preloaded
            )
        rates = [x.asnumpy().tolist() for x in data[-2:]] if preloaded else [given.pop("lrs"), given.pop("wds")]
        given |= {x: each(name, f"{x}s", values, n) for x, values in zip(("lr", "wd"), rates, strict=True)}
        weights, grads, *kept = (data[i : n * stride : stride] for i in range(stride))
        results = rule(name, weights, grads, kept, given.pop("out"), master, **given)
        return results if n > 1 else results[0]

    doc = f"`{rule.name}` of several weights in one call: `data` are the arrays of the first, then of the second, ..."
    return _described(call, rule, name, doc, parameters)


def listed(x: Any) -> Sequence[Any]:
    return x if isinstance(x, (list, tuple)) else [x]


def each(name: str, argument: str, values: Any, n: int) -> list[float]:
    """One number for each of n weights."""
    try:
        numbers = [float(x) for x in listed(values)]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != n:
        raise MXNetError(f"{name}: {argument} must be {n} numbers, one for each weight, not {values!r}")
    return numbers


def _described(call: Function, rule: Rule, name: str, doc: str, parameters: list[inspect.Parameter]) -> Function:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    named = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None)
    call.__signature__ = inspect.Signature([*parameters, named])
    call.rule = rule
    return call


def _given(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, defaults included."""
    signature = function.__signature__
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        _check_names(function.__name__, kwargs, signature.parameters)
        raise MXNetError(f"{function.__name__}: {error}") from None
    bound.apply_defaults()
    bound.arguments.pop("name")
    return bound.arguments
