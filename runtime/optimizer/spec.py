"""The base class of optimizers that are made from specs. Their `update` is one native call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from runtime import random
from runtime.base import MXNetError, did_you_mean
from runtime.context import Context, cpu
from runtime.core import optgen_bridge
from runtime.core.backend import is_host
from runtime.core.binding import Binding
from runtime.core.coding import Coding
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.sparse.densify import as_dense
from runtime.optimizer.by_name import Endings, applies, checked_endings, checked_numbers, number_for
from runtime.optimizer.inputs import Inputs
from runtime.optimizer.named_states import NamedStates
from runtime.optimizer.optimizer import HALVES, Index, Optimizer

if TYPE_CHECKING:
    from optgen.execute.planned import PlannedParam
    from optgen.model import Optimizer as Spec
    from runtime.core.binding import Gradient

# Arguments of the base class that are no numbers in an equation.
_BOOKKEEPING = ("param_idx2name", "lr_scheduler", "begin_num_update", "multi_precision", "param_dict", "sym")


class SpecOptimizer(Optimizer):
    """The base class of the classes that `make_class` makes. Hyper-parameters are attributes, which are checked when
    set.

    The state of a parameter is as in MXNet: None where there is none, an array where the spec has but one, else a
    tuple, here a `NamedStates`; with `multi_precision` and a float16 or bfloat16 weight, the pair of it and the float32
    master. A quantized state is an array of codes beside one of scales.

    Arguments that all of these classes have beside those of every Optimizer:

    lazy_update: of a row-sparse gradient, update the present rows alone, as if the others did not exist; otherwise the
        absent rows have gradient 0. Only where the equations allow it.
    storage: how states that are shaped like the weight are stored, as 'int8_dynamic', or a dict of such names by state;
        docs/kernels.md has a table of them. None: as the weight, or as its master.
    """

    spec: ClassVar[Spec]
    __signature__: ClassVar[inspect.Signature]
    param_names: ClassVar[tuple[str, ...]]  # what the equations can read, `lr` and `wd` among them
    flag_names: ClassVar[tuple[str, ...]]  # the flags that are constructor arguments; the others follow from params
    per_param_names: ClassVar[tuple[str, ...]]  # those that are true for some parameters, by the ends of their names
    named_params: ClassVar[tuple[str, ...]]  # the params that may be numbers by the ends of names

    lazy_default: ClassVar[bool] = False  # True where MXNet's class of this name is lazy
    follows: ClassVar[Mapping[str, str]] = {}  # which of its own arguments a common one comes after in MXNet
    per_param_defaults: ClassVar[Mapping[str, Endings]] = {}
    counts_first: ClassVar[bool] = True  # False: the schedule is asked for the rate before the update is counted
    sets_base_lr: ClassVar[str] = "given"  # when the rate replaces the scheduler's base_lr: "always", "given", "never"

    aggregate_num = sys.maxsize
    sums_gradients = True
    _version = 0  # counts changes of hyper-parameters

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self._arguments(args, kwargs)
        bookkeeping = {name: given.pop(name) for name in _BOOKKEEPING if name in given}
        lazy, storage = given.pop("lazy_update", self.lazy_default), given.pop("storage", None)
        endings = {name: checked_endings(name, given.pop(name)) for name in self.per_param_names if name in given}
        if given.get("learning_rate") is None:
            given.pop("learning_rate", None)
        named = {name: given.pop(name) for name in self.named_params if name in given}
        resolved = optgen_bridge.resolve(self.spec, given)
        replaces = {"always": True, "given": "learning_rate" in given, "never": False}[self.sets_base_lr]
        base = {name: resolved.values[name] for name in ("rescale_grad", "wd", "clip_gradient")}
        self._rules: dict[tuple[str, bool, int | None], Any] = {}  # by dtype, whether there is a master, and GPU
        self._bindings: dict[Index, Binding] = {}  # by the first of the parameters that are updated together
        self._due: dict[tuple[int, Index], int] = {}  # the phases that steps go on with, by device and parameter
        self._shared: dict[str, NDArray] = {}  # the states that are one value for all parameters
        self._by_device = {0: (self._bindings, self._shared)}
        self._inputs = Inputs(x.name for x in self.spec.inputs)
        super().__init__(learning_rate=resolved.values["lr"] if replaces else None, **base, **bookkeeping)
        own = {name: resolved.flags[name] for name in self.flag_names} | resolved.values
        for name, value in (own | named | dict(self.per_param_defaults) | endings).items():
            setattr(self, name, value)
        base = self.lr if replaces or self.lr_scheduler is None else getattr(self.lr_scheduler, "base_lr", self.lr)
        for name in self.spec.following:
            setattr(self, base_of(name), float(base))
        self.lazy_update = bool(lazy)
        self.storage = optgen_bridge.checked_storage(self.spec, storage)
        self.seed: int | None = None  # of random draws; None: taken from runtime.random at the first update

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by canonical name; TypeError for those that do not fit the signature."""
        name, known = type(self).__name__, self.__signature__.parameters
        aliases = {alias: param.name for param in self.spec.params for alias in param.aliases} | {"lr": "learning_rate"}
        named: dict[str, Any] = {}
        for key, value in kwargs.items():
            canonical = key if key in known else aliases.get(key)
            if canonical is None:
                raise TypeError(f"{name} has no argument '{key}'{did_you_mean(key, known)}")
            if canonical in named:
                raise TypeError(f"{name}: '{canonical}' is given twice, once as '{key}'")
            named[canonical] = value
        try:
            return dict(self.__signature__.bind(*args, **named).arguments)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.param_names:
            check = checked_numbers if name in self.named_params else optgen_bridge.checked
            value = check(self.spec, name, value)
            super().__setattr__("_version", self._version + 1)
            if base_of(name) in self.__dict__ and (now := self.learning_rate):
                super().__setattr__(base_of(name), now)
        elif name in self.flag_names and self.__dict__.get("_rules"):
            raise ValueError(f"{type(self).__name__}: '{name}' is fixed once there are states; make a new optimizer")
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Copies have states of their own, so they bind again."""
        bindings, shared = {}, {}
        fresh = {
            "_rules": {},
            "_bindings": bindings,
            "_shared": shared,
            "_by_device": {self._device: (bindings, shared)},
            "_due": {},
        }
        return super().__getstate__() | fresh

    def _set_current_context(self, device_id: int) -> None:
        super()._set_current_context(device_id)
        self._bindings, self._shared = self._by_device.setdefault(device_id, ({}, {}))

    # ------------------------------------------------------------ pieces

    def cut_of(self, index: Index, dtype: str, shape: tuple[int, ...]) -> str:
        """Where the equations allow it: "anywhere", "blocks", "tensors" or "never" (`optgen.ir.ShardGranularity`)."""
        rule = self._rule(dtype, self.multi_precision and dtype in HALVES)
        return rule.cut(shape, {name: found[0] for name, found in self._flags([index]).items()})

    def work_of(self, index: Index, dtype: str, shape: tuple[int, ...]) -> float:
        rule = self._rule(dtype, self.multi_precision and dtype in HALVES)
        work: float = rule.work(shape, {name: found[0] for name, found in self._flags([index]).items()})
        return work

    def planned(self, index: Index, row: PlannedParam, ctx: Context) -> PlannedParam:
        """The row of a plan for a parameter in a context: how it is updated, and what its states are."""
        master = self.multi_precision and row.dtype in HALVES
        flags = {name: found[0] for name, found in self._flags([index]).items()}
        values = {name: getattr(self, name) for name in self.param_names if name not in self.spec.given}
        values |= self._named_values([index]) | {"lr": self._get_lr(index), "wd": self._get_wd(index)}
        refused = (f"multi_precision: it is {row.dtype}",) if self.multi_precision and not master else ()
        rule = self._rule(row.dtype, master, optgen_bridge.gpu_of(ctx))
        return optgen_bridge.planned(rule, row._replace(refused=refused), values, self.named_params, flags)

    # ------------------------------------------------------------ states

    def _load(self, dtype: str, master: bool, gpu: int | None, indices: Sequence[Index] = ()) -> Any:
        """The rule, for these parameters alone if there are some; otherwise each step is given the named params."""
        apart = {*self.spec.given, *self.named_params}
        chosen = [name for name in (*self.param_names, *self.flag_names) if name not in apart]
        values = {name: getattr(self, name) for name in chosen}
        values |= self._named_values(indices) if indices else {}
        return optgen_bridge.load(self.spec, dtype, master, self.storage, values, gpu)

    def _rule(self, dtype: str, master: bool, gpu: int | None = None) -> Any:
        """The compiled spec, in the variant that the attributes choose when it is first needed."""
        if (dtype, master, gpu) not in self._rules:
            self._rules[dtype, master, gpu] = self._load(dtype, master, gpu)
        return self._rules[dtype, master, gpu]

    def coding(self, state: str, shape: tuple[int, ...]) -> Coding:
        """The coding of a quantized state of a parameter of this shape, or of a piece of one."""
        rule = next(iter(self._rules.values()), None) or self._rule("float32", False)
        large = (1 << 16, *[1] * (len(shape) - 1))  # a piece can be smaller than what is stored in codes
        return Coding.of(rule, state, large)

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """The spec's states for this parameter."""
        return self.packed(self._initial(index, weight, master=False), weight.shape)

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> Any:
        """`create_state`, or, with a master, the pair of it and the states."""
        if not self.has_master(weight):
            return super().create_state_multi_precision(index, weight)
        states = self._initial(index, weight, master=True)
        return self._pair(states.pop("w"), self.packed(states, weight.shape))

    def packed(self, arrays: Mapping[str, NDArray], shape: tuple[int, ...]) -> Any:
        """The state with these arrays of a weight of this shape, in the spec's order: None, an array or a tuple."""
        if not arrays:
            return None
        if len(self.spec.states) == len(arrays) == 1:
            return next(iter(arrays.values()))
        return NamedStates(arrays.values(), arrays, shape)

    def unpacked(self, state: Any) -> dict[str, NDArray]:
        """The arrays of a state by name."""
        match state:
            case None:
                return {}
            case NDArray() if len(self.spec.states) == 1:
                return {self.spec.states[0].name: state}
            case NamedStates():
                return dict(zip(state.names, state, strict=True))
        raise TypeError(f"{type(self).__name__}: {type(state).__name__} is no state that create_state made")

    def _initial(self, index: Index, weight: NDArray, master: bool) -> dict[str, NDArray]:
        row_sparse = self.lazy_update and "row_sparse" in (weight.stype, weight._grad_stype)
        rule = self._rule(weight._data.dtype.name, master, optgen_bridge.gpu_of(weight.context))
        flags, piece = self._flags([index]), self.pieces.get(index)
        arrays = optgen_bridge.initial(rule, self.name_of(index), weight, row_sparse, flags, piece)
        ctx = weight.context
        # What the host computes before each step stays in its memory, wherever the weight is.
        states = {name: NDArray(x, cpu() if is_host(x) and not ctx.on_cpu else ctx) for name, x in arrays.items()}
        for state in self.spec.states:
            if state.kind.value == "shared" and state.name in states:
                states[state.name] = self._shared.setdefault(state.name, states[state.name])
        return states

    def set_input(self, name: str, arrays: Mapping[Index, NDArray]) -> None:
        """Give a further input of the equations, such as Sophia's estimate `h` of the Hessian's diagonal.

        `arrays` have the shapes and types of the weights. Their keys are the names of the parameters, or the indices:
        a Trainer numbers its parameters in the order of the list it is given, those of `collect_params()` in the order
        of their names. The arrays are copied, and used by every update until they are set again.
        """
        if name not in self._inputs:
            raise ValueError(f"{type(self).__name__} has no input '{name}'{did_you_mean(name, self._inputs)}")
        indices = {param.name: i for i, param in self.param_dict.items()} | {n: i for i, n in self.idx2name.items()}
        for key, array in arrays.items():
            self._inputs.set(name, indices.get(key, key), array)

    # ------------------------------------------------------------ updates

    def update(
        self,
        index: Index | Sequence[Index],
        weight: NDArray | Sequence[NDArray],
        grad: NDArray | Sequence[NDArray],
        state: Any,
    ) -> None:
        """Update one parameter or, from lists, several of one element type: one native call."""
        if isinstance(index, (list, tuple)):
            self._update(index, weight, grad, state, master=False)
        else:
            self._update([index], [weight], [grad], [state], master=False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """`update`; masters and weights are written by the same native call."""
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update(index, weight, grad, state, self.has_master(weight[0]))

    def _update(
        self,
        indices: Sequence[Index],
        weights: Sequence[NDArray],
        grads: Sequence[Gradient],
        states: Sequence[Any],
        master: bool,
    ) -> None:
        if list(map(type, weights)).count(NDArray) != len(weights):
            with as_dense(weights) as dense:
                return self._update(indices, dense, grads, states, master)
        binding = self._bindings.get(indices[0])
        if binding is None or not binding.fits(weights, states, grads, self.donates_grads):
            binding = self._bindings[indices[0]] = self._bind(indices, weights, grads, states, master)
        counted = self.phase is None or self._begins_step(indices)
        num_update = self.num_update
        if counted and self.counts_first:
            self._update_count(indices)
        rates = self._version, self._get_lrs(indices), self._get_wds(indices)
        if counted and not self.counts_first:
            self._update_count(indices)
        counts = list(map(self._index_update_count.__getitem__, indices))
        try:
            binding(grads, counts, {} if rates == binding.sent else self._values(indices, *rates[1:]), self.phase)
        except Exception:
            if counted:
                self._uncount(indices, num_update)
            raise
        binding.sent = rates
        if self.phase is not None:
            after = (self.phases.index(self.phase) + 1) % len(self.phases)
            self._due.update(((self._device, i), after) for i in indices)

    def _begins_step(self, indices: Sequence[Index]) -> bool:
        """Whether the phase is the first of a step; MXNetError if another one is due for some parameter."""
        for i in indices:
            due = self.phases[self._due.get((self._device, i), 0)]
            if due != self.phase:
                raise MXNetError(
                    f"{type(self).__name__}: of parameter '{self.name_of(i)}' the phase '{due}' is due, and not "
                    f"'{self.phase}'"
                )
        return self.phase == self.phases[0]

    @property
    def due(self) -> str | None:
        """The phase that some parameter is waiting for, in the middle of a step; None between steps."""
        return next((self.phases[k] for k in self._due.values() if k), None)

    def _values(self, indices: Sequence[Index], lrs: list[float], wds: list[float]) -> dict[str, Any]:
        """What the equations read, numbers or lists of one for each parameter."""
        values = {name: getattr(self, name) for name in self.param_names}
        for name in self.spec.given:
            if values[name] is None and name in self.spec.given_in(self.phase):
                raise MXNetError(f"{type(self).__name__} reads '{name}': set optimizer.{name} before each step")
        values |= self._named_values(indices) | {"lr": _one_if_equal(lrs), "wd": _one_if_equal(wds)}
        for name in self.spec.following:
            values[name] = self._rates(name, values[name], lrs)
        return values

    def _rates(self, name: str, set_to: float | list[float], lrs: list[float]) -> float | list[float]:
        """A rate that follows the learning rate, of each parameter: it changes as that has since it was set."""
        base, each = getattr(self, base_of(name)), set_to if isinstance(set_to, list) else [set_to] * len(lrs)
        return _one_if_equal([x * lr / base for x, lr in zip(each, lrs, strict=True)]) if base else set_to

    def _named_values(self, indices: Sequence[Index]) -> dict[str, float | list[float]]:
        """The params that the names of parameters decide."""
        names = [self.name_of(i) for i in indices]
        values = {param: getattr(self, param) for param in self.named_params}
        each = {param: [number_for(self.spec, param, x, name) for name in names] for param, x in values.items()}
        return {param: _one_if_equal(numbers) for param, numbers in each.items()}

    def _bind(
        self,
        indices: Sequence[Index],
        weights: Sequence[NDArray],
        grads: Sequence[Gradient],
        states: Sequence[Any],
        master: bool,
    ) -> Binding:
        names = [self.name_of(i) for i in indices]
        if optgen_bridge.joins_parameters(self.spec):
            self._check_all(indices)
        if self.seed is None:
            self.seed = int(random.generator.integers(1 << 63))
        return Binding(
            self._rule(weights[0]._data.dtype.name, master, optgen_bridge.gpu_of(weights[0].context)),
            names,
            weights,
            grads,
            self._arrays(states, master),
            self.seed,
            states,
            inputs={
                name: [self._input(name, i, w) for i, w in zip(indices, weights, strict=True)] for name in self._inputs
            },
            flags=self._flags(indices),
            layout=optgen_bridge.layout(list(map(self.pieces.get, indices)), self.exchange, self._numbers(indices)),
            lazy=self.lazy_update,
            donate_grads=self.donates_grads,
        )

    def _check_all(self, indices: Sequence[Index]) -> None:
        """Check that every update has all parameters, if these share values."""
        learning = {i for i, param in self.param_dict.items() if param.grad_req != "null"}
        missing = (learning | set(self._index_update_count)) - set(indices)
        if missing:
            raise MXNetError(
                f"{type(self).__name__} shares values between all parameters, so they must be of one element type and "
                f"be updated together; missing: {', '.join(map(self.name_of, sorted(missing, key=str)))}"
            )

    def _arrays(self, states: Sequence[Any], master: bool) -> list[dict[str, NDArray]]:
        """The arrays of states by the names that kernels know them by: the master's is "w"."""
        if not master:
            return list(map(self.unpacked, states))
        pairs = (self._pair(*state) for state in states)
        return [{"w": w, **self.unpacked(inner)} for w, inner in pairs]

    def _flags(self, indices: Sequence[Index]) -> dict[str, list[bool]]:
        """The flags that the names of parameters decide."""
        names = [self.name_of(i) for i in indices]
        return {flag: [applies(getattr(self, flag), name) for name in names] for flag in self.per_param_names}

    def _input(self, name: str, index: Index, weight: NDArray) -> Any:
        given = self._inputs.get(name, index, weight.context)
        if given is None:
            raise MXNetError(
                f"{type(self).__name__} needs its input '{name}' for parameter '{self.name_of(index)}': call "
                f"optimizer.set_input({name!r}, {{...}}) before the first update"
            )
        held, piece = given._data, self.pieces.get(index)
        return held if piece is None else held.reshape(-1)[piece.offset : piece.offset + weight.size]

    def _numbers(self, indices: Sequence[Index]) -> list[int]:
        """The numbers of parameters in random draws: their indices, and the next that are free for names, and where
        an index is taken or too large."""
        new = [i for i in dict.fromkeys(indices) if i not in self._ids]
        taken = set(self._ids.values()) if new else set()
        free = (n for n in range(optgen_bridge.largest_id() + 1) if n not in taken)
        for index in new:
            own = isinstance(index, int) and 0 <= index <= optgen_bridge.largest_id() and index not in taken
            self._ids[index] = index if own else next(free)
            taken.add(self._ids[index])
        return [self._ids[i] for i in indices]

    def evaluate(self, indices: Sequence[Index], weights: Sequence[NDArray], states: Sequence[Any]) -> list[NDArray]:
        """The spec's `eval:` weights as new arrays; the weights themselves if it has none."""
        if not self.spec.evaluate:
            return super().evaluate(indices, weights, states)
        master = self.has_master(weights[0])
        arrays = optgen_bridge.evaluate(
            self._load(weights[0]._data.dtype.name, master, optgen_bridge.gpu_of(weights[0].context), indices),
            weights,
            self._arrays(states, master),
            [self._index_update_count[i] for i in indices],
            list(map(self.pieces.get, indices)),
            self._flags(indices),
        )
        return [NDArray(array, w.context) for array, w in zip(arrays, weights, strict=True)]


def base_of(name: str) -> str:
    """The attribute with the learning rate at which a rate that follows it was set. State files have it too."""
    return f"{name}_at_lr"


def _one_if_equal(values: list[float]) -> float | list[float]:
    return values[0] if values.count(values[0]) == len(values) else values
