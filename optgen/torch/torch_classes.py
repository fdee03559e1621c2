"""PyTorch's own optimizers: subclasses of them, with their arguments, numbers and state dicts, whose steps are kernels.

`class Adam(SpecOptimizer, torch.optim.Adam)`: PyTorch's `__init__` runs, and SpecOptimizer has the step.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.optim.optimizer import _device_dtype_check_for_fused

from optgen import api, pipeline
from optgen.diagnostics import listed, suggest
from optgen.model import Interval, Optimizer, Param
from optgen.torch import features, hooks
from optgen.torch.base import SpecOptimizer
from optgen.torch.memory import local_tensor
from optgen.torch.networks import named, other_names
from optgen.torch.rules import check_rules
from optgen.torch.spelling import STORAGE_OPTIONS, Spelling, arguments_of, of_torch
from optgen.torch.state import StateKeys

Group = Mapping[str, Any]
Arguments = Mapping[str, tuple[Any, str]]
"""Defaults, and what arguments are, by name."""
GROUP_ARGUMENTS = (*STORAGE_OPTIONS, "capturable", "fused", "matmul")
"""The arguments of ours that groups have as well, but only where they are given."""
OUT: Mapping[str, str] = {
    "LBFGS": "torch.optim.LBFGS is PyTorch's; it calls the closure many times in a step, and optimizer('lbfgs') once",
    **({} if features.HAS_MUON else {"Muon": f"{features.MUON_MISSING}; use optgen.torch.optimizer('muon')"}),
}
"""PyTorch's optimizers that have no class here, and what to do."""


def _takes_rows(group: Group) -> bool:
    return True


def _takes_rows_without_decay(group: Group) -> bool:
    if group["weight_decay"] != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    return True


def _takes_sparse(group: Group) -> bool:
    """Whether SGD takes sparse gradients: with momentum or weight decay, every row changes at every step."""
    return bool(group["momentum"] == 0 and group["weight_decay"] == 0)


_OF_ADAM = "Adam does not support sparse gradients, please consider SparseAdam instead"
_OF_ITSELF = "{name} does not support sparse gradients"


@dataclass(frozen=True)
class TorchClass:
    """One of PyTorch's optimizers: its class, and in what it differs from a spec's.

    `takes_sparse` says whether a sparse gradient updates its rows only, or is read as a dense one, in a group; it
    raises PyTorch's error where PyTorch takes none. `matmul` is how PyTorch multiplies matrices; where that is in
    bfloat16, the spec has a flag `rounded` for what else it rounds so.
    """

    base: type[torch.optim.Optimizer]
    keys: StateKeys = field(default_factory=StateKeys)
    takes_sparse: Callable[[Group], bool] | None = None
    takes_dense: bool = True
    takes_complex: bool = True
    matmul: str = "float32"
    sparse_error: str = _OF_ITSELF

    @property
    def name(self) -> str:
        return self.base.__name__

    @property
    def source(self) -> str:
        """The name of its spec."""
        return "torch/" + re.sub(r"(?<=[a-z])A(?=dam)", "_A", self.name).lower()

    def check(self, p: torch.Tensor) -> None:
        """RuntimeError, worded as PyTorch's, if it takes no such parameter or gradient."""
        assert p.grad is not None
        is_sparse = local_tensor(p.grad).layout == torch.sparse_coo
        if p.is_complex() and not self.takes_complex:
            raise RuntimeError(f"{self.name} does not support complex parameters")
        if is_sparse and self.takes_sparse is None:
            raise RuntimeError(self.sparse_error.format(name=self.name))
        if not is_sparse and not self.takes_dense:
            raise RuntimeError(f"{self.name} does not support dense gradients, please consider Adam instead")


def _muon() -> tuple[TorchClass, ...]:
    """Muon, if this PyTorch has it."""
    if not features.HAS_MUON:
        return ()
    return (TorchClass(torch.optim.Muon, StateKeys(has_step=False), takes_complex=False, matmul="bfloat16"),)


_T = torch.optim
CLASSES: Mapping[str, TorchClass] = {
    row.name: row
    for row in (
        TorchClass(_T.SGD, StateKeys(has_step=False), takes_sparse=_takes_sparse),
        TorchClass(_T.Adam, sparse_error=_OF_ADAM),
        TorchClass(_T.AdamW, sparse_error=_OF_ADAM if features.ADAMW_IS_ADAM else _OF_ITSELF),
        TorchClass(_T.Adamax),
        TorchClass(_T.NAdam, StateKeys(numbers=("mu_product",))),
        TorchClass(_T.RAdam),
        TorchClass(_T.Adagrad, StateKeys(names={"accumulator": "sum"}), takes_sparse=_takes_rows_without_decay),
        TorchClass(_T.Adadelta),
        TorchClass(_T.RMSprop),
        TorchClass(_T.Rprop),
        TorchClass(_T.ASGD, StateKeys(numbers=("eta", "mu"))),
        TorchClass(_T.Adafactor, takes_complex=False),
        *_muon(),
        TorchClass(_T.SparseAdam, StateKeys(counts_in_python=True), takes_sparse=_takes_rows, takes_dense=False),
    )
}
"""PyTorch's optimizers that are specs, by the names of their classes."""
SOURCES: Mapping[str, str] = {row.source: name for name, row in CLASSES.items()}
"""Their classes' names, by the names of their specs."""


def has_rules(given: Mapping[str, Any]) -> bool:
    """Whether arguments have rules over names."""
    return given["groups"] is not None or given["no_decay"] is not None


def in_groups(params: Any, spelling: Spelling, given: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """Parameters, those of a network with their names, in groups by the rules that are given, if any; `values` are
    those of keys that none sets."""
    if not has_rules(given):
        return named(params)
    from optgen.torch.grouping import grouped  # which few need

    others = other_names(params) if isinstance(params, torch.nn.Module) else {}
    return grouped(named(params), given["groups"], given["no_decay"], spelling, values, others)


class TorchOptimizer(SpecOptimizer):
    """What the subclasses of PyTorch's optimizers have in common; `torch_class` says which one it is."""

    torch_class: TorchClass
    makes_states_at_construction = False
    saves_identity = False  # a state dict is as PyTorch has it

    def updates_rows(self, group: Group, param: torch.Tensor) -> bool:
        """Whether only the rows are updated that a parameter's gradient has; RuntimeError if it takes no such one, or
        no such step."""
        _refuse_differentiable(group)
        if group.get("fused"):
            _device_dtype_check_for_fused(param)
        self.torch_class.check(param)
        takes = self.torch_class.takes_sparse
        return takes is not None and super().updates_rows(group, param) and takes(group)

    def rule_flags(self, matmul: str) -> Mapping[str, bool]:
        """Whether the spec rounds where PyTorch computes in bfloat16."""
        return {"rounded": matmul == "bfloat16"} if self.torch_class.matmul == "bfloat16" else {}

    def _choose(self, given: Mapping[str, Any]) -> None:
        """Give all groups the arguments of ours that are no defaults; without any, their keys are PyTorch's."""
        defaults = arguments_beside(self.torch_class, self.spec)
        chosen = {name: given[name] for name in GROUP_ARGUMENTS if name in given and given[name] != defaults[name][0]}
        self.defaults.update(chosen)
        self._choose_scaling()
        for group in self.param_groups:
            for name, x in chosen.items():
                group.setdefault(name, x)
            check_rules(self, group)


class UsualInterval(Interval):
    """An interval that the constructors of PyTorch hold, and a later change of a group need not, as CyclicLR's."""

    def __contains__(self, x: float) -> bool:
        return True


def _as_in_groups(param: Param) -> Param:
    """A param with the values that PyTorch takes in groups: all, but for counts of turns, and beta2, as there is no
    root of a negative 1 - beta2^t."""
    if param.interval is None or param.is_int or param.name == "beta2":
        return param
    return replace(param, interval=UsualInterval(**vars(param.interval)))


def _refuse_differentiable(group: Group) -> None:
    """RuntimeError if a group that is updated asks for steps that autograd can go back through."""
    if group.get("differentiable"):
        raise RuntimeError(
            "differentiable=True: optgen's steps are compiled kernels, which autograd cannot go back through; use the "
            "class of torch.optim"
        )


def make(row: TorchClass, more: Mapping[str, Any]) -> type[SpecOptimizer]:
    """The class of one of PyTorch's optimizers, with these further attributes."""
    base = row.base
    spec = pipeline.checked(api.read(row.source))
    spec = replace(spec, params=tuple(map(_as_in_groups, spec.params)))
    more_arguments = arguments_beside(row, spec)
    known = inspect.signature(base.__init__).parameters

    def __init__(self: Any, params: Any, *args: Any, **kwargs: Any) -> None:
        own = {name: kwargs.pop(name, default) for name, (default, _) in more_arguments.items()}
        for name in kwargs.keys() - known.keys():
            hint = suggest(name, known) or f"it has {listed([*known][2:])}"
            raise TypeError(f"{row.name}.__init__() got an unexpected keyword argument '{name}'; {hint}")
        self._set_options(own)
        values: Mapping[str, Any] = {}
        if has_rules(own):
            given = inspect.signature(base.__init__).bind(self, params, *args, **kwargs)
            given.apply_defaults()
            values = given.arguments
        base.__init__(self, in_groups(params, self.spelling, own, values), *args, **kwargs)
        self._choose(own)

    __init__.__signature__ = _signature(base, more_arguments)  # type: ignore[attr-defined]
    body = {
        "__init__": __init__,
        "__doc__": _docstring(base, spec, more_arguments),
        "spec": spec,
        "source": row.source,
        "spelling": of_torch(spec, row.name, _defaults(base)),
        "state_keys": row.keys,
        "matmul": row.matmul,
        "torch_class": row,
    }
    return type(row.name, (TorchOptimizer, base), {**body, **more})


def _defaults(base: type[torch.optim.Optimizer]) -> dict[str, Any]:
    """What a group of one of PyTorch's optimizers has that was given nothing but a matrix."""

    def add_param_group(self: Any, param_group: dict[str, Any]) -> None:
        hooks.parent(super(made, self).add_param_group)(param_group)

    made: Any = type(base.__name__, (base,), {"add_param_group": add_param_group})
    found: dict[str, Any] = made([torch.zeros(1, 1)]).defaults
    return found


def arguments_beside(row: TorchClass, spec: Optimizer) -> Arguments:
    """The arguments of ours that one of PyTorch's classes has not."""
    theirs = inspect.signature(row.base.__init__).parameters
    return {name: x for name, x in arguments_of(spec, row.matmul).items() if name not in theirs}


def _signature(base: type[torch.optim.Optimizer], more: Arguments) -> inspect.Signature:
    """PyTorch's arguments, and ours after them, by keyword only."""
    signature = inspect.signature(base.__init__)
    kind = inspect.Parameter
    own = [kind(name, kind.KEYWORD_ONLY, default=x) for name, (x, _) in more.items()]
    return signature.replace(parameters=[*signature.parameters.values(), *own])


def _docstring(base: type[torch.optim.Optimizer], spec: Optimizer, more: Arguments) -> str:
    """PyTorch's docstring, and what ours adds."""
    from optgen.symbolic.unicode import unicode  # which `import optgen.torch` does not need

    lines = [inspect.getdoc(base) or "", "", "The steps are kernels of optgen:", "", "::", ""]
    lines += [f"    {line}" for line in unicode(spec).splitlines()]
    lines += ["", f"Arguments beside those of {base.__name__}:", ""]
    lines += [f"    {name}: {text}" for name, (_, text) in more.items()]
    return "\n".join(lines)
