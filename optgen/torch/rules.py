"""The rule of a group for parameters of a dtype and device; what of a group is told before its first step."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import torch

from optgen import api
from optgen.arguments import Arguments
from optgen.execute.choice import Restarts
from optgen.execute.rule import UpdateRule
from optgen.execute.tensors.donation import check_donated
from optgen.ir.types import COMPUTE
from optgen.model import Optimizer
from optgen.precision import Precision
from optgen.torch.bound import kernel_of
from optgen.torch.codes import decode_codes
from optgen.torch.forms import SCALE
from optgen.torch.hooks import GpuScaler
from optgen.torch.host import Mirrors
from optgen.torch.memory import ParamMemory, is_dtensor, is_flat, is_here, local_tensor
from optgen.torch.owners import Owners
from optgen.torch.spelling import Spelling, naming
from optgen.torch.state import StateKeys
from optgen.torch.values import GroupOptions, GroupValues

# ---------------------------------------------------------------- the optimizer


class Owner(Protocol):
    """An optimizer: its spec, and what it has of `torch.optim.Optimizer`. `SpecOptimizer` says what each is."""

    spec: ClassVar[Optimizer]
    spelling: ClassVar[Spelling]
    state_keys: ClassVar[StateKeys]
    matmul: ClassVar[str]
    makes_states_at_construction: ClassVar[bool]
    saves_identity: ClassVar[bool]
    seed: int
    clip_norm: float | None
    in_backward: bool
    skip_nonfinite: bool
    accumulate: int
    earlier: Mapping[torch.Tensor, Sequence[torch.Tensor]]
    donate_grads: bool
    outer: Any
    training_weights: Any
    gpu_scaler: GpuScaler
    owners: Owners
    mirrors: Mirrors
    given_params: Any
    state: Any
    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]

    def numbers_of(self, params: Sequence[torch.Tensor]) -> list[int]:
        """The numbers of parameters among those of all groups."""

    def updates_rows(self, group: Mapping[str, Any], param: torch.Tensor) -> bool:
        """Whether only the rows are updated that a parameter's gradient has."""

    def rule_flags(self, matmul: str) -> Mapping[str, bool]:
        """Flags of the spec that follow from how matrices are multiplied."""

    def describe(self, param: torch.Tensor) -> str:
        """A parameter as errors call it: by its name, if it has one, else by its place and shape."""


# ---------------------------------------------------------------- rules

REAL = {torch.complex32: "float16", torch.complex64: "float32", torch.complex128: "float64"}
"""The dtypes of the pairs that complex numbers are."""


def dtype_of(param: torch.Tensor) -> str:
    """The dtype of a parameter's real numbers."""
    return REAL.get(param.dtype, str(param.dtype).removeprefix("torch."))


def has_memory(param: torch.Tensor) -> bool:
    """Whether a parameter is of numbers that can be updated, and is somewhere."""
    return is_here(param) and (param.is_floating_point() or param.is_complex())


def blocks_by_row(param: torch.Tensor, *, by_row: bool = False) -> Restarts:
    """At which rows the blocks of codes of a parameter's states restart: at all rows of one that may be cut between
    any two, or is updated by row."""
    return True if by_row or is_dtensor(param) or is_flat(param) else "long"


def load(
    optimizer: Owner,
    like: torch.Tensor,
    given: Arguments,
    options: GroupOptions,
    *,
    dtype: str = "",
    scales_gradient: bool = False,
    blocks: Restarts | None = None,
    **flags: bool,
) -> UpdateRule:
    """A rule for parameters of this one's device, and of its dtype or another, with a group's values and options, and
    further flags. `blocks`: at which rows those of codes restart, by default as this parameter needs it.

    ValueError if there are no kernels for these, TypeError or ValueError for storages that do not fit.
    """
    dtype = dtype or dtype_of(like)
    if dtype not in COMPUTE:
        raise ValueError(f"params[0]: of {like.dtype}; optgen updates {', '.join(COMPUTE)} and complex numbers")
    target = "cpu" if options.on_host else like.device.type
    if target not in ("cpu", "cuda"):
        raise ValueError(
            f"params[0]: on device '{like.device}'; optgen updates parameters on CPUs and NVIDIA GPUs, and with "
            "states='cpu' those on any device"
        )
    params = optimizer.spec.all_params
    values: dict[str, Any] = {name: x for name, x in given.values.items() if x != params[name].default}
    matmul, is_half = options.matmul or optimizer.matmul, dtype in ("float16", "bfloat16")
    precision = Precision(
        dtype,
        master=options.master and is_half,
        weights=options.weights if is_half else None,
        storage=optimizer.state_keys.storage_names(options.storages),
        matmul=matmul,
    )
    with optimizer.spelling.spelt(optimizer.spec):
        return api.load(
            optimizer.spec,
            precision,
            target=target,
            scales_gradient=scales_gradient,
            blocks_by_row=blocks_by_row(like) if blocks is None else blocks,
            **{**values, **given.chosen, **optimizer.rule_flags(matmul), **flags},
        )


def check_rules(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError or TypeError if there can be no kernels for a group's values and the dtypes of its parameters.

    Frozen parameters may have any dtype, as those in 8 or 4 bits that adapters are trained beside.
    """
    values = GroupValues(optimizer.spec, optimizer.spelling, group)
    dtypes: dict[torch.dtype, torch.Tensor] = {}
    for p in group["params"]:
        if has_memory(p) and (p.requires_grad or dtype_of(p) in COMPUTE):
            dtypes[p.dtype] = p
    for p in dtypes.values():
        with naming([p], optimizer.describe):
            load(optimizer, p, values.arguments, values.options)


def warn_of_sharing(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """Warn of the first two parameters of a group that a step will refuse, if both need a gradient."""
    found = _shared([p for p in group["params"] if p.requires_grad and is_here(p)])
    if found is None:
        return
    first, second = map(optimizer.describe, found)
    what = f"{first} stands twice in its group" if found[0] is found[1] else f"{first} and {second} share memory"
    warnings.warn(
        f"{type(optimizer).__name__}: {what}; a step with their gradients is refused: pass what is used twice once",
        stacklevel=2,
    )


def _shared(params: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Two parameters that are the same, or whose memory overlaps; None if there are none."""
    places = [(*_place(local_tensor(p)), k) for k, p in enumerate(params)]
    for (_, end, k), (begin, _, i) in pairwise(sorted(place for place in places if place[0])):
        if begin < end:
            return params[k], params[i]
    return None


def _place(x: torch.Tensor) -> tuple[int, int]:
    """Where a dense tensor begins, and where what it surely fills ends: with gaps, after its first element. 0 for one
    that is nowhere, or fake."""
    if x.layout != torch.strided or not x.numel() or x.untyped_storage().device.type == "meta":
        return 0, 0
    begin = x.data_ptr()
    return begin, begin + (x.nbytes if x.is_contiguous() else x.itemsize)


def decode_states(
    optimizer: Owner,
    params: Iterable[torch.Tensor],
    state: Mapping[torch.Tensor, dict[str, Any]],
    given: Arguments,
    options: GroupOptions,
) -> None:
    """Have the states of parameters hold float32 numbers where these options kept codes."""
    for p in params:
        if any(key.endswith(SCALE) for key in state.get(p, ())):
            # The codes are of a parameter of 32 bits or less, and mean the same numbers for all of them.
            # Whatever has codes has them where blocks may run on from row to row.
            rule = load(optimizer, p, given, options, dtype="float32", blocks="long")
            decode_codes(kernel_of(rule, ParamMemory(p)), state[p], optimizer.state_keys.key_of, p)


def decode_uncoded(
    optimizer: Owner,
    rule: UpdateRule,
    params: Iterable[torch.Tensor],
    state: Mapping[torch.Tensor, dict[str, Any]],
    values: GroupValues,
) -> None:
    """Have the states of parameters hold float32 numbers in place of codes where this rule has none: for short rows at
    which blocks would restart, as those of a vector that is sharded or gets sparse gradients."""
    for p in params:
        if any(key.endswith(SCALE) for key in state.get(p, ())) and not kernel_of(rule, ParamMemory(p)).is_quantized:
            decode_states(optimizer, [p], state, values.arguments, values.options)


# ---------------------------------------------------------------- donated gradients


def check_donation(optimizer: Owner, group: Mapping[str, Any]) -> None:
    """ValueError naming what of an optimizer, or of a group that is added to it, makes gradients no memory to use."""
    name = type(optimizer).__name__
    if optimizer.in_backward:
        raise ValueError(
            f"{name}: donate_grads=True with in_backward=True: within backward, the memory of a gradient may be that "
            "of another, which is still needed there; leave one of the two out"
        )
    for p in group["params"]:
        if has_memory(p) and p.requires_grad:
            with naming([p], optimizer.describe):
                try:
                    check_donated(dtype_of(p), p.device.type)
                except ValueError as error:
                    raise ValueError(f"params[0]: {error}") from None
