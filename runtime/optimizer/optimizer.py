"""The base class of optimizers: learning rates, weight decay, update counts and float32 master weights."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from runtime.base import ArgumentError
from runtime.optimizer import counts

if TYPE_CHECKING:
    from optgen import Piece
    from runtime.context import Context
    from runtime.ndarray import NDArray

Index = int | str
"""The identifier of a parameter: its index in a Trainer, or its key in a kvstore."""

_LR_MULT, _WD_MULT = operator.attrgetter("lr_mult"), operator.attrgetter("wd_mult")
HALVES = frozenset({"float16", "bfloat16"})


class NamedParameter(Protocol):
    """The attributes of a `gluon.Parameter` that an optimizer reads."""

    name: str
    lr_mult: float
    wd_mult: float


def device_number(ctx: Context) -> int:
    """The number of a context for `_set_current_context`: 0, 1, ... for CPU contexts, -1, -2, ... for GPUs."""
    return ctx.device_id if ctx.on_cpu else ~ctx.device_id


class Optimizer:
    """The base class. A subclass written by hand defines `create_state(index, weight)` and `update(index, weight,
    grad, state)`.

    Parameters are known by an index. The rate of one is `learning_rate` (or what `lr_scheduler` says) times its
    `lr_mult`; `wd` likewise.

    Parameters
    ----------
    rescale_grad: factor on every gradient; Trainer sets it to 1/batch_size.
    param_idx2name: names by index; then `wd` does not apply to parameters whose name ends in neither `_weight` nor
        `_gamma`.
    wd: weight decay (L2).
    clip_gradient: bound on the absolute value of each element of the rescaled gradient; None for none.
    learning_rate: 0.01 if None and there is no scheduler; with a scheduler, it becomes the scheduler's `base_lr`.
    lr_scheduler: a function of the largest number of updates that any parameter has had, 1 at the first.
    begin_num_update: where that count starts.
    multi_precision: keep a float32 master of each float16 or bfloat16 weight, update that, and round it to the weight.
    param_dict: `gluon.Parameter`s by index, whose `lr_mult` and `wd_mult` are used.
    sym: a symbol, whose variables' attributes `__lr_mult__` and `__wd_mult__` are used.
    """

    aggregate_num = 0
    """How many parameters one call of `update` takes, as lists; 0: one parameter, not in a list."""

    decayed = ("_weight", "_gamma")
    """With `param_idx2name`, the endings of the names of those that `wd` applies to."""

    master_last = False
    """Which of the pair is the float32 master where a state has one: False, the first; True, the last."""

    sums_gradients = False
    """Whether `update` takes lists of gradients that are to be summed, in place of gradients."""

    pieces: Mapping[Index, Piece] = {}
    """The parameters of which only a piece is updated here, by a store that has cut them: then their weights, gradients
    and states are one-dimensional."""

    phases: tuple[str, ...] = ()
    """Where a step has several gradients: the names of its parts, in order."""

    needs_gradients: bool = True
    """Whether updates read gradients."""
    phase: str | None = None
    """The one of `phases` that updates compute; None where there are none."""

    given: tuple[str, ...] = ()
    """The numbers that each step reads, as `loss`: attributes that are set before each."""

    donates_grads = False
    """Whether updates may use the memory of gradients, whose values then mean nothing; an Updater sets it."""

    exchange: Callable[..., None] | None = None
    """What brings to a reduction over a parameter the partial results of its pieces elsewhere (`UpdateRule.bind`)."""

    opt_registry: ClassVar[Any]  # an OptimizerRegistry, which is made of this class
    """All optimizer classes by name."""

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Class decorator: `create` and Trainer know the optimizer by its class name, in any case."""
        return Optimizer.opt_registry.register(klass)

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """A new optimizer of that name, in any case: one that was registered, or else a spec that comes with optgen.

        Raises ValueError for an unknown name or a value outside its interval, TypeError for an unknown argument.
        """
        if not isinstance(name, str):
            raise ArgumentError(f"an optimizer is given by name or as an Optimizer of this library, not as {name!r}")
        return Optimizer.opt_registry.get(name)(**kwargs)

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        *,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
    ) -> None:
        self.rescale_grad = rescale_grad
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.lr = 0.01 if learning_rate is None else learning_rate
        if lr_scheduler is not None and not callable(lr_scheduler):
            raise TypeError(f"lr_scheduler must be a function of the update count, not {lr_scheduler!r}")
        self.lr_scheduler = lr_scheduler
        if learning_rate is not None and hasattr(lr_scheduler, "base_lr"):
            lr_scheduler.base_lr = learning_rate
        self.begin_num_update = self.num_update = counts.count(begin_num_update, "begin_num_update")
        self.multi_precision = multi_precision
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = dict(param_dict or {})
        self._index_update_count: dict[Index, int] = {}  # of the device that is current
        self._device = 0
        self._all_index_update_counts = {0: self._index_update_count}
        self._first_counts: dict[Index, int] = {}  # where those of each device start: what was loaded from a file
        self._ids: dict[Index, int] = {}  # what makes random draws differ between parameters
        self._mults = _mults_of(sym)
        self.set_lr_mult({})
        self.set_wd_mult({})

    # ------------------------------------------------------------ for subclasses to define

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The initial state of this parameter: arrays, alone or in tuples, lists and dicts, or None."""
        return None

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Change `weight` and `state` in place. Count with `_update_count(index)`; rates are `_get_lr`, `_get_wd`."""
        raise NotImplementedError(f"{type(self).__name__} must define update(index, weight, grad, state)")

    def evaluate(self, indices: Sequence[Index], weights: Sequence[NDArray], states: Sequence[Any]) -> list[NDArray]:
        """The weights to evaluate a network with, after at least one update: these ones, or new arrays."""
        return list(weights)

    # ------------------------------------------------------------ float32 masters

    def has_master(self, weight: NDArray) -> bool:
        """Whether the state of this weight begins with a float32 copy of it."""
        return self.multi_precision and weight._data.dtype.name in HALVES

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """`create_state`, or, with `multi_precision` and a float16 or bfloat16 weight, a pair: the float32 master, and
        the state for it (or these the other way around, with `master_last`).
        """
        if self.has_master(weight):
            master = weight.astype(np.float32)
            return self._pair(master, self.create_state(index, master))
        if weight._data.dtype.name in HALVES:
            warnings.warn(
                f"states of {weight._data.dtype.name} lose small updates; multi_precision=True keeps them in float32",
                stacklevel=2,
            )
        return self.create_state(index, weight)

    def _pair(self, first: Any, last: Any) -> tuple[Any, Any]:
        """Of a master and the state for it, the state that holds both; of such a state, master and state."""
        return (last, first) if self.master_last else (first, last)

    def update_multi_precision(
        self,
        index: Index | Sequence[Index],
        weight: NDArray | Sequence[NDArray],
        grad: NDArray | Sequence[NDArray],
        state: Any,
    ) -> None:
        """`update`, of the master where the state has one, which is then rounded to the weight.

        Lists of the four (of one element type) are passed on as lists.
        """
        several = isinstance(index, (list, tuple))
        weights = weight if several else [weight]
        if not self.has_master(weights[0]):
            return self.update(index, weight, grad, state)
        masters, inner = zip(*(self._pair(*s) for s in (state if several else [state])), strict=True)
        grads = [g.astype(np.float32) for g in (grad if several else [grad])]
        if several:
            self.update(index, masters, grads, inner)
        else:
            self.update(index, masters[0], grads[0], inner[0])
        for w, master in zip(weights, masters, strict=True):
            w[:] = master

    # ------------------------------------------------------------ pieces

    def cut_of(self, index: Index, dtype: str, shape: tuple[int, ...]) -> str:
        """Where a parameter can be cut into pieces for sharding: "tensors", never, for hand-written optimizers."""
        return "tensors"

    def work_of(self, index: Index, dtype: str, shape: tuple[int, ...]) -> float:
        """The work of an update of a parameter: how many elements an elementwise update has in that time."""
        return math.prod(shape)

    # ------------------------------------------------------------ rates

    @property
    def learning_rate(self) -> float:
        """The rate now, before multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate; UserWarning is raised where a scheduler decides it."""
        if self.lr_scheduler is not None:
            raise UserWarning(
                "this optimizer's lr_scheduler decides the learning rate; set_learning_rate works without one only"
            )
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Mapping[Index, float]) -> None:
        """Factors on the learning rate, by index or name; before them come those of the symbol."""
        self.lr_mult = self._mults["__lr_mult__"] | dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Mapping[Index, float]) -> None:
        """Factors on the weight decay, by index or name. With `param_idx2name`, biases and betas have 0 by default."""
        exempt = {name: 0.0 for name in self.idx2name.values() if not name.endswith(self.decayed)}
        self.wd_mult = exempt | self._mults["__wd_mult__"] | dict(args_wd_mult)

    def name_of(self, index: Index) -> str:
        """The name of the parameter: that of its Parameter, that in `param_idx2name`, or else its index."""
        if index in self.param_dict:
            return self.param_dict[index].name
        return self.idx2name.get(index, str(index))

    def _set_current_context(self, device_id: int) -> None:
        """Switch to the update counts of another device. Each device counts the updates of its own copies."""
        counts = self._all_index_update_counts
        if device_id not in counts:
            counts[device_id] = dict(self._first_counts)
        self._index_update_count, self._device = counts[device_id], device_id

    def _update_count(self, index: Index | Sequence[Index]) -> None:
        """Count one more update of `index`, or of each of several."""
        indices = index if isinstance(index, (list, tuple)) else [index]
        counts, begin = self._index_update_count, self.begin_num_update
        most = self.num_update
        for i in indices:
            counts[i] = count = counts.get(i, begin) + 1
            if count > most:
                most = count
        self.num_update = most

    def _uncount(self, indices: Sequence[Index], num_update: int) -> None:
        """Take back a count of updates that were not made; `num_update` is that from before it."""
        for i in indices:
            self._index_update_count[i] -= 1
        self.num_update = num_update

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        lr = self.learning_rate
        return [lr * mult for mult in self._multipliers(indices, _LR_MULT, self.lr_mult)]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        wd = self.wd
        return [wd * mult for mult in self._multipliers(indices, _WD_MULT, self.wd_mult)]

    def _get_lr(self, index: Index) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index: Index) -> float:
        return self._get_wds([index])[0]

    def _multipliers(
        self, indices: Sequence[Index], own: Callable[[Any], float], table: Mapping[Index, float]
    ) -> list[float]:
        """Those of the Parameters themselves, else what was set for the index, else for the name."""
        params, names = self.param_dict, self.idx2name
        try:
            return list(map(own, map(params.__getitem__, indices)))
        except KeyError:
            return [
                own(params[i]) if i in params else table[i] if i in table else table.get(names.get(i), 1.0)
                for i in indices
            ]

    # ------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles are without `param_dict`, as in MXNet: a Trainer gives them its own. So with pieces."""
        own = {name: value for name, value in self.__dict__.items() if name not in ("pieces", "exchange")}
        return own | {"param_dict": {}}


def __getattr__(name: str) -> Any:
    """The optimizers themselves, and what makes and calls them, which MXNet has in this module too."""
    if name in ("Updater", "create", "get_updater", "register"):
        return getattr(import_module("runtime.optimizer"), name)
    cls = Optimizer.opt_registry.of_class(name)
    if cls is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return cls


def _mults_of(sym: Any) -> dict[str, dict[Index, float]]:
    """The factors that a symbol's attributes give its arguments, by name."""
    kinds = ("__lr_mult__", "__wd_mult__")
    if sym is None:
        return {kind: {} for kind in kinds}
    attributes, arguments = sym.attr_dict(), set(sym.list_arguments())
    return {
        kind: {
            name: _factor(kind, name, own[kind])
            for name, own in attributes.items()
            if name in arguments and kind in own
        }
        for kind in kinds
    }


def _factor(kind: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{kind} of the variable '{name}' is '{text}': must be a number") from None
