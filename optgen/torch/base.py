"""An optimizer of PyTorch whose step is a spec's kernels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from optgen.axes import Kind
from optgen.facts import either
from optgen.model import Optimizer
from optgen.torch import following, loading
from optgen.torch.accumulating import Rounds, check_accumulating
from optgen.torch.evaluating import Evaluating, TrainingWeights, warn_of_saving
from optgen.torch.following import FOLLOWING
from optgen.torch.group import GroupStep
from optgen.torch.hooks import GpuScaler, check_limit, outside_graphs, parent
from optgen.torch.host import Mirrors
from optgen.torch.loading import SPEC, check_specs, mark_groups
from optgen.torch.memory import check_flat_options, has_sparse_rows
from optgen.torch.networks import named
from optgen.torch.owned import as_saved
from optgen.torch.owners import Owners
from optgen.torch.replaced import GivenParams, check_replaced_options
from optgen.torch.rules import check_donation, warn_of_sharing
from optgen.torch.spelling import ARGUMENTS, OF_ALL_GROUPS, OPTIONS, Spelling, checked, checked_seed, describe_param
from optgen.torch.state import StateKeys, forget_unused
from optgen.torch.stepping import Stepping
from optgen.torch.updating import BackwardUpdates, check_in_backward
from optgen.torch.values import options_of

if TYPE_CHECKING:
    from optgen.execute.planned import UpdatePlan


class SpecClass(type):
    """The class of optimizer classes; `optgen.torch.classes` says how they are pickled.

    A call that makes an optimizer within a compiled function is a break in its graph.
    """

    @outside_graphs
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of `__init__`, without `self`."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=[*signature.parameters.values()][1:])


class SpecOptimizer(Stepping, Evaluating, torch.optim.Optimizer, metaclass=SpecClass):
    """What all optimizers of `optgen.torch` have in common. Their classes set these:

    `spec` is the spec, and `source` the name or text that `optgen.torch.optimizer` makes the class of. `spelling` has
    its arguments as keys of groups. `state_keys` says what is kept beside the spec's states. `matmul` is how matrices
    are multiplied in groups that do not say it.
    `makes_states_at_construction` is false where PyTorch's own class makes them at the first step. `saves_identity` is
    false where a state dict is one of PyTorch's own class, which does not say whose it is.

    `clip_norm` is what the norm of all gradients is limited to. With `in_backward`, `backward` updates each parameter.
    With `skip_nonfinite`, steps with a gradient that is infinite or NaN are left out. With `donate_grads`, a step uses
    the memory of gradients, and sets `p.grad` to None. `plain_because` says why parameters are `plain` that were made
    so at construction, and `conversion` what became of states, in an optimizer that `convert` made. `outer_step` is
    the spec's, and `workers` the process group that it averages weights over (None: all processes).
    `given_params` has the parameters that it was given.
    """

    spec: ClassVar[Optimizer]
    source: ClassVar[str]
    spelling: ClassVar[Spelling]
    state_keys: ClassVar[StateKeys]
    matmul: ClassVar[str] = "float32"
    makes_states_at_construction: ClassVar[bool] = True
    saves_identity: ClassVar[bool] = True
    conversion: Sequence[Any] = ()
    outer_step: ClassVar[Any] = None
    workers: Any = None
    in_backward: bool = False
    skip_nonfinite: bool = False
    donate_grads: bool = False
    plain_because: Mapping[torch.Tensor, str] = MappingProxyType({})

    def __init__(self, params: Any, defaults: dict[str, Any], given: Mapping[str, Any]) -> None:
        """`defaults` are the values of the spec in groups, and `given` the arguments of every optimizer, by name."""
        self._set_options(given)
        super().__init__(named(params), {**defaults, **{key: x for key, x in given.items() if key in OPTIONS}})
        self._choose_scaling()

    def _set_options(self, given: Mapping[str, Any]) -> None:
        """Set what stands in no group, before the first group is added."""
        self.owners, self.mirrors, self.given_params = Owners(), Mirrors(), GivenParams()
        for name in OF_ALL_GROUPS:
            if ARGUMENTS[name][0] is False and given[name] not in (True, False):
                raise ValueError(f"{name}: True or False, not {given[name]!r}")
            setattr(self, name, given[name])
        if given.get("workers") is not None:
            self.workers = given["workers"]
        self._forget_steps()

    def _choose_scaling(self) -> None:
        """Have a GradScaler leave its work to the step if that is `fused`; with `in_backward`, the step refuses it."""
        self._step_supports_amp_scaling = bool(self.defaults.get("fused")) or self.in_backward

    @property
    def seed(self) -> int:
        """The seed of draws and of random rounding."""
        return self._seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._seed = checked_seed(seed)
        if hasattr(self, "_step"):
            self._forget_steps()

    @property
    def clip_norm(self) -> float | None:
        """The limit of the norm of all gradients; None: there is no limit."""
        return self._clip_norm

    @clip_norm.setter
    def clip_norm(self, limit: float | None) -> None:
        checked_limit = check_limit(limit)
        for group in getattr(self, "param_groups", ()):
            check_flat_options(type(self).__name__, group["params"], in_backward=False, clip_norm=checked_limit)
            check_replaced_options(self, group["params"], clip_norm=checked_limit)
        self._clip_norm = checked_limit

    def _forget_steps(self) -> None:
        """Have the next step bind everything anew."""
        if self.outer_step is not None:
            from optgen.torch.workers import outer_of  # which few need

            self.outer = outer_of(self)
        self._step: GroupStep | None = None
        self._state_dicts: list[dict[str, Any]] = []
        self._backward = BackwardUpdates(self) if self.in_backward else None
        self.gpu_scaler = GpuScaler()

    # ------------------------------------------------------------ what steps ask

    def numbers_of(self, params: Sequence[torch.Tensor]) -> list[int]:
        """The numbers of parameters among those of all groups."""
        every = chain.from_iterable(group["params"] for group in self.param_groups)
        numbers = {id(p): k for k, p in enumerate(every)}
        return [numbers[id(p)] for p in params]

    def updates_rows(self, group: Mapping[str, Any], param: torch.Tensor) -> bool:
        """Whether only the rows are updated that a parameter's gradient has: those of sparse gradients."""
        return has_sparse_rows(param.grad)

    def rule_flags(self, matmul: str) -> Mapping[str, bool]:
        """Flags of the spec that follow from how matrices are multiplied."""
        return {}

    def describe(self, param: torch.Tensor) -> str:
        """A parameter as errors call it: by its name, if it has one, else by its place and shape."""
        return describe_param(self.param_groups, param)

    # ------------------------------------------------------------ groups and states

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with values of their own; TypeError or ValueError naming a value that is wrong."""
        known = dict.fromkeys(self.state)
        if isinstance(param_group, dict) and isinstance(param_group.get("params"), torch.nn.Module):
            param_group = {**param_group, "params": named(param_group["params"])}
        parent(super().add_param_group)(param_group)
        group = self.param_groups[-1]
        self._mark([group])
        warn_of_sharing(self, group)
        try:
            self.spelling.refuse_options(group)
            given = checked(self.spec, self.spelling, group).values
            options_of(group)
            following.begin(self.spec, self.spelling, group)
            if self.donate_grads:
                check_donation(self, group)
            if self.in_backward:
                check_in_backward(self, group)
            if self.accumulate > 1:
                check_accumulating(self, group)
            if self.skip_nonfinite:
                from optgen.torch.skipping import check_skipping

                check_skipping(self, group)
            check_flat_options(
                type(self).__name__, group["params"], in_backward=self.in_backward, clip_norm=self.clip_norm
            )
            if self.makes_states_at_construction:
                self.spelling.refuse_names(group)
                self._check_signs(given)
                loading.make_states(self, group, self.state, self._shared_states())
        except BaseException:
            self.param_groups.pop().pop(SPEC, None)
            for p in self.state.keys() - known.keys():
                del self.state[p]
            raise
        self.given_params.add(group["params"])
        if self._backward is not None:
            self._backward.follow(self.param_groups)
        self._current_step()  # from now on, changes are seen

    def _mark(self, groups: Sequence[dict[str, Any]]) -> None:
        """Have groups say which spec they are of, or not, as in PyTorch's classes."""
        if self.saves_identity:
            mark_groups(self, groups)
        else:
            for group in groups:
                group.pop(SPEC, None)

    def plan(self) -> UpdatePlan:
        """How the next step updates each parameter, and what its states are; `print` shows it as a table.

        TypeError or ValueError names a value of a group that is wrong. Nothing is changed, nor compiled.
        """
        from optgen.torch.plan import plan_of  # which a step does not need

        return plan_of(self, self.plain_because)

    def __repr__(self) -> str:
        lines = super().__repr__().splitlines()
        own = "\n".join(line for line in lines if not line.lstrip().startswith((f"{SPEC}:", f"{FOLLOWING}:")))
        from optgen.torch.plan import summary

        return f"{own}\n{summary(self)}".rstrip() if self.saves_identity else own

    @either
    def _repr_mimebundle_(shown: SpecOptimizer | type[SpecOptimizer], **_: Any) -> dict[str, str]:
        """What notebooks show of an optimizer, and of its class."""
        from optgen.symbolic.notebook import bundle

        if isinstance(shown, type):
            return bundle(shown.spec) if hasattr(shown, "spec") else {}
        groups = [values | flags for values, flags in map(shown.spelling.read, shown.param_groups)]
        return bundle(shown.spec, groups)

    def _check_signs(self, values: Mapping[str, float | None]) -> None:
        """ValueError for a negative rate or weight decay. A schedule may come to one, by rounding."""
        for name in ("lr", "wd", *self.spec.following):
            if (values[name] or 0.0) < 0:
                raise ValueError(
                    f"{self.spelling.name}: '{self.spelling.key_of(name)}' must not be negative, as {values[name]} is"
                )

    def _make_states(self, shared: dict[str, torch.Tensor]) -> None:
        """Give the parameters of all groups the states that they lack."""
        for group in self.param_groups:
            loading.make_states(self, group, self.state, shared)

    def _shared_states(self) -> dict[str, torch.Tensor]:
        """The states that all parameters share, as one that has states has them."""
        names = [s.name for s in self.spec.states if s.kind is Kind.SHARED]
        kept: dict[str, Any] = next(iter(self.state.values()), {})
        return {name: kept[name] for name in names if name in kept}

    def state_dict(self) -> dict[str, Any]:
        """The states and group values, as PyTorch has them; RuntimeError between the phases of a step.

        Of parameters that were put into a group in place of others, it has the states that they begin with.
        With sharded parameters that products take whole, all ranks must call it: owners cut states into DTensors.
        """
        self._check_whole("save states")
        self._check_no_round("save states")
        if self.training_weights is not None:
            warn_of_saving(self)
        shared = self._shared_states()
        if forget_unused(self.state, self.param_groups):
            self._make_states(shared)
        whole = self.state
        self.state = as_saved(self)
        try:
            packed: dict[str, Any] = parent(super().state_dict)()
        finally:
            self.state = whole
        self._mark(packed["param_groups"])
        return packed

    def zero_grad(self, set_to_none: bool = True) -> None:
        """`torch.optim.Optimizer.zero_grad`."""
        parent(super().zero_grad)(set_to_none)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the states and group values of `state_dict()`; states are kept as this optimizer keeps them.

        Codes, states of 16 bits and float32 masters are taken as they are, if they are kept so here, and
        converted if not. ValueError if groups or shapes differ; then nothing has changed. `train()` comes with it.
        """
        loading.load_state_dict(self, state_dict)
        self._due = 0
        if self._rounds is not None:
            self._rounds = Rounds(self.accumulate)
        self.train()
        if self._monitor is not None:
            self._monitor.follow(self)

    def __getstate__(self) -> dict[str, Any]:
        own: dict[str, Any] = {name: getattr(self, name) for name in OF_ALL_GROUPS}
        own |= {"due": self._due, "_skipping": self._skipping} if self._due else {}
        own |= {"_rounds": self._rounds} if self.accumulated else {}
        own |= {"skipped": self.skipped} if self.skipped else {}
        own |= {"owners": self.owners.places} if self.owners.places else {}
        own |= {"training_weights": self.training_weights.by_param()} if self.training_weights is not None else {}
        if self.workers is not None:
            from optgen.torch.workers import GivenGroup

            own["workers"] = GivenGroup.of(self.workers)
        self._mark(self.param_groups)
        return {**super().__getstate__(), **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = dict(state)
        check_specs(self, own["param_groups"])
        for name in OF_ALL_GROUPS:  # which a state dict has not
            setattr(self, name, own.pop(name, getattr(self, name, ARGUMENTS[name][0])))
        self._due = own.pop("due", 0)
        if "workers" in own:
            self.workers = own.pop("workers").taken()
        if "training_weights" in own:
            self.training_weights = TrainingWeights(own.pop("training_weights"))
        if "owners" in own or "owners" not in vars(self):
            self.owners = Owners(own.pop("owners", {}))
        if "mirrors" not in vars(self):
            self.mirrors = Mirrors()
            self.given_params = GivenParams(p for group in own["param_groups"] for p in group["params"])
        super().__setstate__(own)
        self._choose_scaling()
        self._forget_steps()
        # PyTorch adds `differentiable` to the defaults, which is no key of all groups.
        missing = {key: x for key, x in self.defaults.items() if key in (*self.spelling.defaults, *OPTIONS)}
        for group in self.param_groups:
            for key, value in missing.items():
                group.setdefault(key, value)
            following.relink(self.spec, self.spelling, group)
            following.begin(self.spec, self.spelling, group)
        self._mark(self.param_groups)
        if self._backward is not None:
            self._backward.follow(self.param_groups)
        self._current_step()
