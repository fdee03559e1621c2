"""From a spec to a class: its signature, in MXNet's order, its documentation, and where it is registered."""

from __future__ import annotations

import functools
import inspect
import os
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.base import ArgumentError
from runtime.core import optgen_bridge
from runtime.optimizer import mxnet_overrides
from runtime.optimizer.optimizer import Optimizer
from runtime.optimizer.spec import SpecOptimizer
from runtime.registry import Registry

if TYPE_CHECKING:
    from optgen.model import Flag, Param
    from optgen.model import Optimizer as Spec

_RESERVED = ("wd", "rescale_grad", "clip_gradient")  # arguments of all optimizers, though a spec may set their defaults
_SET_BY_SPEC_OPTIMIZER = ("lazy_update", "seed", "storage")  # what its constructor adds to what Optimizer's sets


class OptimizerRegistry(Registry):
    """Optimizer classes by name: what was registered, and the specs that come with optgen, made into classes when they
    are first asked for.
    """

    def __init__(self) -> None:
        super().__init__("optimizer")

    def get(self, name: str) -> type[Optimizer]:
        if optgen_bridge.is_chain(name) and not super().__contains__(name):
            self.register(cls := make_class(optgen_bridge.read(name)), cls.__name__, name)
        elif not super().__contains__(name):
            shipped = {key_of(stem): stem for stem in optgen_bridge.names()}
            # An alias is known only to its spec: then all are read.
            for stem in [shipped[key_of(name)]] if key_of(name) in shipped else shipped.values():
                if not super().__contains__(stem):
                    self.register_spec(stem)
        return super().get(name)

    __getitem__ = get

    def hint(self, name: str) -> str:
        return f"; {optgen_bridge.hint(name, self)}"

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or key_of(name) in map(key_of, optgen_bridge.names())

    def of_class(self, name: str) -> type[Optimizer] | None:
        """The optimizer whose class is called so, or which has that class name as an alias; None if there is none."""
        known = mxnet_overrides.ALIASES.get(name, name)
        if name.startswith("_") or known not in self:
            return None
        cls = self.get(known)
        return cls if cls.__name__ == known else None

    def register_spec(self, spec: str | os.PathLike[str]) -> type[SpecOptimizer]:
        is_text = isinstance(spec, str) and "\n" in spec
        cls = make_class(optgen_bridge.read(spec))
        names = (cls.__name__, *cls.spec.aliases, *([] if is_text else [Path(spec).stem]))
        _warn_of_replaced(cls, names)
        self.register(cls, *names)
        return cls


def _warn_of_replaced(cls: type[SpecOptimizer], names: Sequence[str]) -> None:
    """Warn if `cls` is about to take the name of another spec, one that comes with optgen."""
    shipped = {key_of(stem): stem for stem in optgen_bridge.names()}
    for stem in dict.fromkeys(shipped[key_of(name)] for name in names if key_of(name) in shipped):
        if optgen_bridge.read(stem).source.text != cls.spec.source.text:
            warnings.warn(
                f"register_spec: the name '{stem}' now means {cls.__name__} of {cls.spec.source.name}, not the "
                f"optimizer '{stem}' that comes with optgen; give it another name to keep both",
                stacklevel=4,
            )


def key_of(name: str) -> str:
    """What a class and its file have in common, as they may differ by more than case: AdamMini is in adam-mini.opt."""
    return name.lower().replace("-", "").replace("_", "")


def is_made(cls: type[Optimizer]) -> bool:
    """Whether `make_class` made the class: it is no more than its spec."""
    return cls.__bases__ == (SpecOptimizer,) and cls.__module__ == "runtime.optimizer"


def make_class(spec: Spec) -> type[SpecOptimizer]:
    """The optimizer class of a spec.

    Raises ArgumentError for a param or flag that is called like something that every optimizer has: both would be one
    attribute.
    """
    _check_names(spec)
    beyond = mxnet_overrides.CLASSES.get(spec.name, {})
    per_param = [f.name for f in spec.flags if f.per_param]
    members = {
        "spec": spec,
        "param_names": tuple(spec.all_params),
        "flag_names": tuple(f.name for f in spec.flags if f.condition is None and not f.per_param),
        "per_param_names": tuple(per_param),
        "named_params": tuple(p.name for p in spec.params if p.per_param),
        "phases": spec.phases,
        "given": spec.given,
        "needs_gradients": spec.needs_gradients,
        "phase": next(iter(spec.phases), None),
        "__doc__": _doc(spec),
        "_repr_mimebundle_": optgen_bridge.either(_bundle),
        "__module__": "runtime.optimizer",
        **beyond,
        "per_param_defaults": dict.fromkeys(per_param, False) | beyond.get("per_param_defaults", {}),
    }
    cls = type(spec.name, (SpecOptimizer,), members)
    cls.__signature__ = _signature(cls)
    return cls


def _bundle(shown: SpecOptimizer | type[SpecOptimizer], **_: Any) -> dict[str, str]:
    """What notebooks show of an optimizer, and of its class."""
    names = () if isinstance(shown, type) else (*shown.param_names, *shown.flag_names)
    return optgen_bridge.bundle(shown.spec, {name: getattr(shown, name) for name in names})


def _check_names(spec: Spec) -> None:
    """ArgumentError, which has a line for each, where params or flags are called like attributes of all optimizers."""
    taken = _attributes()
    lines = [
        f"{spec.source.name}:{x.span.line}:{x.span.column}: the {kind} '{x.name}' is called like an attribute that "
        "every optimizer of runtime has: give it another name"
        for kind, declared in (("param", spec.params), ("flag", [f for f in spec.flags if f.condition is None]))
        for x in declared
        if x.name in taken or x.name.startswith("_")
    ]
    if lines:
        raise ArgumentError("\n".join(lines))


@functools.cache
def _attributes() -> frozenset[str]:
    """The attributes and constructor arguments that are no reserved params, but that all optimizers have."""
    arguments = inspect.signature(Optimizer).parameters
    names = {*dir(SpecOptimizer), *SpecOptimizer.__annotations__, *vars(Optimizer()), *arguments}
    return frozenset({*names, *_SET_BY_SPEC_OPTIMIZER} - {"lr", *_RESERVED})


# ---------------------------------------------------------------- signature


def _signature(cls: type[SpecOptimizer]) -> inspect.Signature:
    """The spec's own params and flags in its order, then what all optimizers take, by name."""
    own = {p.name: p for p in _own(cls)}
    common = {p.name: p for p in _common(cls) if p.name not in own}
    for argument, before in cls.follows.items():
        moved = common.pop(argument).replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
        names = list(own)
        place = names.index(before) + 1
        own = {n: own.get(n, moved) for n in (*names[:place], argument, *names[place:])}
    return inspect.Signature([*own.values(), *common.values()])


def _own(cls: type[SpecOptimizer]) -> Iterator[Parameter]:
    declared: list[Param | Flag] = [p for p in cls.spec.params if p.name not in _RESERVED and not p.given]
    declared += [f for f in cls.spec.flags if f.name in cls.flag_names]
    for x in sorted(declared, key=lambda x: x.span.line):
        name = "learning_rate" if x.name == "lr" else x.name
        yield Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=x.default, annotation=_annotation(x))


def _common(cls: type[SpecOptimizer]) -> Iterator[Parameter]:
    defaults = {p.name: p.default for p in cls.spec.params if p.name in _RESERVED}
    for p in inspect.signature(Optimizer).parameters.values():
        yield p.replace(kind=Parameter.KEYWORD_ONLY, default=defaults.get(p.name, p.default))
    extra: dict[str, tuple[str, Any]] = {
        name: ("bool | tuple[Any, ...]", default) for name, default in cls.per_param_defaults.items()
    }
    if optgen_bridge.can_be_lazy(cls.spec) or "lazy_update" in cls.follows:
        extra["lazy_update"] = "bool", cls.lazy_default
    extra["storage"] = "str | Mapping[str, str] | None", None
    for name, (annotation, default) in extra.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _annotation(x: Param | Flag) -> str:
    if hasattr(x, "choices"):
        return f"Literal[{', '.join(map(repr, x.choices))}]" if x.choices else "bool"
    several = " | Mapping[Any, float]" if x.per_param else ""  # by endings or blocks
    return ("int" if x.is_int else "float") + (" | None" if x.optional else several)


# ---------------------------------------------------------------- documentation


def _doc(spec: Spec) -> str:
    """Title and source, the equations as they are written, and the arguments."""
    lines = [f"{spec.title or spec.name}.", ""]
    if spec.cite:
        lines += [f"{spec.cite}.", ""]
    headings = [k for k, line in enumerate(spec.source.lines) if line.startswith("phase ")]
    first = headings[0] if spec.phases else spec.update[0].span.line - 1
    equations = "\n".join(spec.source.lines[first:]).rstrip()
    lines += textwrap.indent(textwrap.dedent(equations), "    ").split("\n")
    lines += ["", "Parameters", "----------"]
    for p in spec.params:
        if p.given:
            lines.append(f"{p.name}: an input, which each step is given: {p.doc or 'see the equations'}.")
            continue
        name = "learning_rate" if p.name == "lr" else p.name
        inside = f", in {p.interval}" if p.interval else ""
        doc = p.doc or ("learning rate" if p.name == "lr" else "see the equations")
        lines.append(f"{name}: {doc}{inside}.")
    lines += [f"{f.name}: {f.doc or 'see the equations'}." for f in spec.flags if f.default is not None]
    lines += [f"{x.name}: an input, for `set_input`: {x.doc or 'see the equations'}." for x in spec.inputs]
    lines.append("The others are those of every Optimizer and SpecOptimizer.")
    return "\n".join(lines)
