"""Classes of optimizers: made of specs, once each, or put in the place of a live optimizer of PyTorch."""

from __future__ import annotations

import copyreg
import functools
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch

from optgen import api, pipeline, specfiles
from optgen.diagnostics import suggest
from optgen.model import Flag, Optimizer, Param
from optgen.torch import torch_classes
from optgen.torch.base import SpecClass, SpecOptimizer
from optgen.torch.halves import MASTER
from optgen.torch.loading import SPEC
from optgen.torch.networks import PATTERNS, PLAIN, has_plain, split
from optgen.torch.rules import check_rules
from optgen.torch.spelling import ARGUMENTS, OF_ALL_GROUPS, Spelling, arguments_of, describe, of_spec, python_name
from optgen.torch.state import StateKeys
from optgen.torch.torch_classes import Arguments, TorchClass

# ---------------------------------------------------------------- of specs

MAXIMIZE = "go up along the gradients, and not down"


def optimizer(spec: str | os.PathLike[str] | Optimizer) -> type[SpecOptimizer]:
    """The class of a spec: of a name, of the path of a `.opt` file, or of what `optgen.parse` returned.

    Raises what `optgen.load` raises for a spec that it cannot read, and ValueError for text in the place of a name.
    """
    if isinstance(spec, str) and "\n" in spec:
        raise ValueError("this is the text of a spec: pass optgen.parse(text)")
    for known in (spec, f"matrix/{spec}") if isinstance(spec, str) else ():
        if _is_known(known):
            return _of_name(known)
    read = spec if isinstance(spec, Optimizer) else pipeline.checked(api.read(spec))
    text = read.source.text
    return by_source(_names().get(text, text))


def by_source(source: str) -> type[SpecOptimizer]:
    """The class whose `source` this is."""
    return _of_name(source) if _is_known(source) else _of_text(source)


def _is_known(source: str) -> bool:
    return source in _available() or source in torch_classes.SOURCES


def _available() -> tuple[str, ...]:
    """The names of the specs whose classes have names here."""
    return (*specfiles.available(), *specfiles.available("matrix"))


@functools.cache
def _names() -> Mapping[str, str]:
    """The names of the specs that come with optgen, by their texts."""
    return {api.read(name).text: name for name in _available()}


@functools.cache
def _of_name(name: str) -> type[SpecOptimizer]:
    if name in torch_classes.SOURCES:
        row = torch_classes.CLASSES[torch_classes.SOURCES[name]]
        return torch_classes.make(row, {"__module__": "optgen.torch"})
    return _make(pipeline.checked(api.read(name)), name)


@functools.cache
def _of_text(text: str) -> type[SpecOptimizer]:
    return _make(api.parse(text), text)


@functools.cache
def class_names() -> Mapping[str, str]:
    """The spec of each class that has a name here."""
    found = {name: row.source for name, row in torch_classes.CLASSES.items()}
    for name in _available():
        own = pipeline.checked(api.read(name)).name
        source = _source_of(own, name)
        if source is not None:
            found.setdefault(own, source)
    return found


def _source_of(own: str, name: str) -> str | None:
    """The spec of the class that is called as a spec calls itself; that spec is called `name`. Names of PyTorch's
    optimizers, case ignored, are these; None for other names of PyTorch's."""
    torchs = {name.lower(): row.source for name, row in torch_classes.CLASSES.items()}
    others = {other.lower() for other in (*dir(torch.optim), *torch_classes.OUT)}
    return torchs.get(own.lower(), None if own.lower() in others else name)


def listed() -> list[str]:
    """The names of all classes, each once: without PyTorch's in another case."""
    return [name for name, source in class_names().items() if torch_classes.SOURCES.get(source, name) == name]


def named(name: str) -> type[SpecOptimizer]:
    """The class of this name; AttributeError if there is none."""
    if name in torch_classes.CLASSES:
        return _of_name(torch_classes.CLASSES[name].source)
    if name in torch_classes.OUT:
        raise AttributeError(f"optgen.torch has no {name}: {torch_classes.OUT[name]}")
    for spec in _available():  # most are in a file of that name, which is found without reading all
        if _plain(os.path.basename(spec)) == _plain(name) and pipeline.checked(api.read(spec)).name == name:
            source = _source_of(name, spec)
            if source is not None:
                return _of_name(source)
    names = class_names()
    if name in names:
        return _of_name(names[name])
    from optgen import names_elsewhere  # for a wrong name only

    hint = names_elsewhere.hint(name) or suggest(name, names) or "optgen.torch.optimizer(...) makes one of any spec"
    raise AttributeError(f"module 'optgen.torch' has no optimizer {name!r}; {hint}")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _reduce(cls: SpecClass) -> Any:
    """How a class is pickled: by the name or the text of its spec; what is derived from it, by its own name."""
    return (by_source, (vars(cls)["source"],)) if "source" in vars(cls) else cls.__qualname__


copyreg.pickle(SpecClass, _reduce)


def _make(spec: Optimizer, source: str) -> type[SpecOptimizer]:
    if MASTER in [*(s.name for s in spec.states), *(given.name for given in spec.inputs)]:
        raise ValueError(f"{spec.name}: state[p]['{MASTER}'] is the float32 weight of p; choose another name")
    spelling, more = of_spec(spec), arguments_of(spec, SpecOptimizer.matmul)
    takes_plain = has_plain(spec)
    signature = _signature(spelling, more, {PLAIN: None} if takes_plain else {})

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = _bind(spec, spelling, signature, (self, *args), kwargs)
        values = given.arguments
        values.pop("self")
        network = values.pop("params")
        params = torch_classes.in_groups(network, spelling, values, values)
        if takes_plain:
            params, values[PLAIN], self.plain_because = split(spec.name, network, params, values[PLAIN])
        SpecOptimizer.__init__(
            self,
            params,
            {key: values[key] for key in (*spelling.defaults, "maximize")},
            {name: values[name] for name in more},
        )

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    body = {
        "__init__": __init__,
        "__module__": "optgen.torch",
        "__doc__": _docstring(spec, spelling, more),
        "spec": spec,
        "source": source,
        "spelling": spelling,
        "state_keys": StateKeys(),
        "outer_step": _outer_step(spec),
    } | {phase: _phase_method(phase, spec) for phase in spec.phases}
    made: Any = SpecClass(python_name(spec.name), (SpecOptimizer,), body)
    return cast(type[SpecOptimizer], made)


def _outer_step(spec: Optimizer) -> Any:
    """The outer step of a spec, if it has one; see `optgen.torch.workers`."""
    if not spec.timings:
        return None
    from optgen.outer import NoOuterStepError, outer_step

    try:
        return outer_step(spec)
    except NoOuterStepError:
        return None


def _phase_method(phase: str, spec: Optimizer) -> Callable[..., None]:
    """The method of a phase."""

    def compute(self: SpecOptimizer, **given: Any) -> None:
        self._compute_phase(phase, given)

    others = ", then ".join(spec.phases)
    compute.__name__, compute.__qualname__ = phase, f"{python_name(spec.name)}.{phase}"
    compute.__doc__ = f"The phase '{phase}' of a step, with the gradients that there are. A step is {others}."
    return compute


def _bind(
    spec: Optimizer, spelling: Spelling, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    """The arguments of a call; TypeError if there is one that the equations do not read."""
    known = [name for name in signature.parameters if name not in ("self", "params")]
    for name in kwargs:
        if name not in signature.parameters:
            key = spelling.key_of(name)
            hint = f"it is '{key}' here" if key != name else suggest(name, known) or f"it has {', '.join(known)}"
            raise TypeError(f"{spec.name}: no equation reads an argument '{name}'; {hint}")
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{spec.name}: {error}") from None
    given.apply_defaults()
    return given


def _signature(spelling: Spelling, more: Arguments, unset: Mapping[str, None]) -> inspect.Signature:
    """The arguments of a class; `unset` are flags that are None unless they are given."""
    kind = inspect.Parameter
    flags = {"maximize", *spelling.flags}
    parameters = [kind("self", kind.POSITIONAL_OR_KEYWORD), kind("params", kind.POSITIONAL_OR_KEYWORD)]
    for key, default in spelling.defaults.items():
        if key not in flags:
            parameters.append(kind(key, kind.POSITIONAL_OR_KEYWORD, default=default))
    keywords = {name: spelling.defaults[name] for name in spelling.flags} | dict(unset)
    keywords |= {"maximize": keywords.get("maximize", False), **{name: x for name, (x, _) in more.items()}}
    parameters += [kind(key, kind.KEYWORD_ONLY, default=default) for key, default in keywords.items()]
    return inspect.Signature(parameters)


def _docstring(spec: Optimizer, spelling: Spelling, more: Arguments) -> str:
    """The docstring: title, source, equations, and a line for each argument."""
    from optgen.symbolic.unicode import unicode  # which `import optgen.torch` does not need

    items: dict[str, Param | Flag] = {**spec.all_params, **{f.name: f for f in spec.flags}}
    lines = [spec.title or spec.name, ""]
    lines += [f"{spec.cite}.", ""] if spec.cite else []
    lines += ["::", "", *(f"    {line}" for line in unicode(spec).splitlines()), "", "Args:"]
    lines += ["    params: parameters, named parameters, dicts of groups, or a network"]
    for key, names in spelling.params.items():
        lines.append(f"    {key}: " + "; ".join(describe(items[name]) for name in names))
    lines += [
        f"    {name}: {describe(items[name])}{f'; {PATTERNS}' if name == PLAIN and has_plain(spec) else ''}"
        for name in spelling.flags
    ]
    lines += [] if "maximize" in spelling.flags else [f"    maximize: {MAXIMIZE}"]
    lines += [f"    {name}: {text}" for name, (_, text) in more.items()]
    return "\n".join(lines)


# ---------------------------------------------------------------- in the place of PyTorch's


def replace(optimizer: torch.optim.Optimizer) -> SpecOptimizer:
    """An optimizer of optgen that goes on where one of `torch.optim` is: with its groups, states and hooks, not copies.

    Whatever changes values of the old one's groups, as a scheduler does, changes them for the new one; but set
    `scheduler.optimizer` to the new one before it loads a state dict, and before the first step of both if PyTorch is
    not to warn. Step only one of the two. One that is of optgen is returned as it is.

    Raises TypeError for a class that is none of torch.optim's, or has a step of its own, and what a first step would
    raise for the values of its groups.
    """
    if isinstance(optimizer, SpecOptimizer):
        return optimizer
    row = _row_of(type(optimizer))
    cls = by_source(row.source)
    ours = cls.__new__(cls)
    hooks = {name: x for name, x in vars(optimizer).items() if name.endswith("_hooks")}
    for group in optimizer.param_groups:
        group.pop(SPEC, None)  # of an earlier optimizer of ours that was given the same dicts
    ours.__setstate__(
        {
            "defaults": dict(optimizer.defaults),
            "state": optimizer.state,
            "param_groups": optimizer.param_groups,
            **{name: ARGUMENTS[name][0] for name in OF_ALL_GROUPS},
            **hooks,
        }
    )
    for group in ours.param_groups:
        check_rules(ours, group)
    return ours


def _row_of(cls: type) -> TorchClass:
    name = f"{cls.__module__}.{cls.__qualname__}"
    for parent in cls.__mro__:
        row = torch_classes.CLASSES.get(parent.__name__)
        if row is None or row.base is not parent:
            continue
        if inspect.unwrap(cls.step) is not inspect.unwrap(parent.step):  # type: ignore[attr-defined]
            raise TypeError(f"{name} has a step of its own, which is not that of torch.optim.{row.name}")
        return row
    known = ", ".join(torch_classes.CLASSES)
    raise TypeError(f"cannot replace {name}: it is none of {known}, of torch.optim; a wrapper holds the one to replace")
