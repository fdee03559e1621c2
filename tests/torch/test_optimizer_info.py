"""PyTorch's database of optimizers, `OptimizerInfo`: each configuration and error, with our classes and its own.

To import it takes two seconds, so that tests are collected by names alone.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import torch

import optgen.torch
from optgen.torch import features
from tests.sweeps import swept

if TYPE_CHECKING:
    from torch.testing._internal.common_optimizers import OptimizerErrorEnum, OptimizerInfo, OptimizerInput

STEPS, STEPS_OF_PLANS = 12, 30
"""Past the first rectified step of RAdam; past the patience of ReduceLROnPlateau."""
SHAPES = (7,), (5, 3), (2, 3, 4, 2), ()
NAMES = [
    *("Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", *(["Muon"] * features.HAS_MUON), "NAdam"),
    *("RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"),
]
SPARSE = "Adagrad", "SGD", "SparseAdam"
"""Those that take sparse gradients."""
HOW = {"foreach": False, "fused": False}
"""Arguments of the for-loop implementation, with which ours is compared: PyTorch's fused SGD leaves 16-bit tensors of
less than a vector as they are."""
Params = list[torch.Tensor]
IN_FLOAT = [name for name in NAMES if name != "Muon"]
"""Those whose numbers are compared here. Muon computes in bfloat16: tests/torch/test_muon.py."""
each_optimizer = pytest.mark.parametrize("info", NAMES, indirect=True)


def database() -> ModuleType:
    from torch.testing._internal import common_optimizers

    return common_optimizers


@pytest.fixture
def info(request: pytest.FixtureRequest) -> OptimizerInfo:
    """That of an optimizer by its name."""
    return next(info for info in database().optim_db if info.optim_cls.__name__ == request.param)


def test_each_optimizer_of_the_database_is_tested() -> None:
    infos = {info.optim_cls.__name__: info for info in database().optim_db if info.optim_cls.__name__ != "LBFGS"}
    assert list(infos) == NAMES
    assert [name for name, i in infos.items() if i.supports_sparse or i.only_supports_sparse_grads] == list(SPARSE)


def ours(info: OptimizerInfo) -> Any:
    return getattr(optgen.torch, info.optim_cls.__name__)


def configurations(info: OptimizerInfo) -> list[OptimizerInput]:
    return database()._get_optim_inputs_including_global_cliquey_kwargs("cpu", torch.float32, info)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- what is refused


def outcome(cls: type[torch.optim.Optimizer], given: OptimizerInput, error_on: OptimizerErrorEnum) -> tuple[type, str]:
    """The error, or the warning."""
    params = [torch.nn.Parameter(torch.zeros(1, 1))] if given.params is None else given.params
    with warnings.catch_warnings(), pytest.raises((Exception, UserWarning)) as error:
        warnings.simplefilter("error", UserWarning)
        optimizer = cls(params, **given.kwargs)
        assert error_on is database().OptimizerErrorEnum.STEP_ERROR, "it was made without an error"
        optimizer.step()
    return error.type, str(error.value)


@each_optimizer
def test_errors_are_torchs(info: OptimizerInfo) -> None:
    for case in info.optim_error_inputs_func("cpu", torch.float32):
        given = case.optimizer_error_input
        found = outcome(ours(info), given, case.error_on)
        assert found == outcome(info.optim_cls, given, case.error_on), given.desc
        assert found[0] is case.error_type


@each_optimizer
def test_differentiable_is_refused_by_the_first_step_that_updates(info: OptimizerInfo) -> None:
    for config in configurations(info):
        if config.kwargs.get("differentiable"):
            p = torch.zeros(3, 1)
            optimizer = ours(info)([p], **config.kwargs)
            optimizer.step()
            optimizer.load_state_dict(optimizer.state_dict())
            p.grad = torch.ones(3, 1).to_sparse() if info.only_supports_sparse_grads else torch.ones(3, 1)
            with pytest.raises(RuntimeError, match=r"^differentiable=True: "):
                optimizer.step()
            assert not p.any()


# ---------------------------------------------------------------- numbers


def start(info: OptimizerInfo, dtype: torch.dtype) -> Params:
    generator = torch.Generator().manual_seed(0)
    shapes = [shape for shape in SHAPES if shape or not info.only_supports_sparse_grads]
    pairs = [torch.randn(shape, dtype=torch.complex128, generator=generator) for shape in shapes]
    return [(x if dtype.is_complex else x.real).to(dtype) for x in pairs]


def run(optimizer: torch.optim.Optimizer, params: Params, gradients: Sequence[Sequence[torch.Tensor]]) -> Params:
    """The parameters after a step with each of the gradients."""
    for grads in gradients:
        for p, g in zip(params, grads, strict=True):
            p.grad = g.to(p.dtype)
        optimizer.step()
    return params


def error(params: Params, exact: Params) -> float:
    """The largest difference, relative to the largest number of each parameter."""
    return max(
        float((p.detach().to(x.dtype) - x).abs().max() / x.abs().max()) for p, x in zip(params, exact, strict=True)
    )


def numbers(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of which tensors are numbers: PyTorch rounds what it computes of a float32 tensor to float32."""
    plain = {name: x.item() if isinstance(x, torch.Tensor) else x for name, x in kwargs.items()}
    if isinstance(betas := plain.get("betas"), tuple):
        plain["betas"] = tuple(float(x) for x in betas)
    return {name: HOW.get(name, x) for name, x in plain.items() if name != "capturable"}


def described(optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Any]]:
    """The states of a state dict: keys in order, dtypes and shapes."""
    return {
        k: {key: (x.dtype, x.shape) if isinstance(x, torch.Tensor) else type(x) for key, x in state.items()}
        for k, state in optimizer.state_dict()["state"].items()
    }


DTYPES = torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.complex64
IN_16_BITS = {torch.bfloat16: ("SGD", "Adam"), torch.float16: ("RMSprop", "NAdam")}
"""Others differ from these in their equations, which are the same for all dtypes."""


def is_kept(case: Any) -> bool:
    dtype, name = case
    return dtype not in IN_16_BITS or name in IN_16_BITS[dtype]


@pytest.mark.parametrize(
    ("dtype", "info"),
    swept([(dtype, name) for dtype in DTYPES for name in IN_FLOAT], is_kept),
    indirect=["info"],
    ids=lambda x: str(x).removeprefix("torch."),
)
def test_configurations_have_torchs_numbers_and_states(info: OptimizerInfo, dtype: torch.dtype) -> None:
    if dtype.is_complex and not info.supports_complex:
        return  # that it is refused is one of the errors
    exact_dtype = torch.complex128 if dtype.is_complex else torch.float64
    to_gradient: Callable[[torch.Tensor], torch.Tensor] = (
        torch.Tensor.to_sparse if info.only_supports_sparse_grads else lambda g: g
    )
    generator = torch.Generator().manual_seed(1)
    gradients = [
        [
            to_gradient((p + torch.randn(p.shape, dtype=p.dtype, generator=generator)).to(dtype))
            for p in start(info, exact_dtype)
        ]
        for _ in range(STEPS)
    ]
    for config in configurations(info):
        if config.kwargs.get("differentiable") or (dtype.is_complex and config.kwargs.get("fused")):
            continue
        mine, theirs, exact = start(info, dtype), start(info, dtype), start(info, exact_dtype)
        for p, q in zip(exact, mine, strict=True):
            p.copy_(q)
        optimizer = ours(info)(mine, **copy.deepcopy(config.kwargs))
        reference = info.optim_cls(theirs, **numbers(config.kwargs))
        run(optimizer, mine, gradients)
        run(reference, theirs, gradients)
        if dtype == torch.float64:
            assert error(mine, theirs) < 1e-12, config.desc
        else:
            run(info.optim_cls(exact, **numbers(config.kwargs)), exact, gradients)
            epsilon = torch.finfo(dtype).eps
            assert error(mine, exact) <= 2 * error(theirs, exact) + epsilon / 2, config.desc
        if dtype in (torch.float32, torch.float64, torch.complex64):
            assert described(optimizer) == described(reference), config.desc


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.parametrize("element", [False, True], ids=["rows", "elements"])
@pytest.mark.parametrize("info", SPARSE, indirect=True)
def test_sparse_gradients(info: OptimizerInfo, element: bool) -> None:
    """Entries come twice, rows stay away, and schedulers change the rate."""
    kwargs, schedulers = info.metadata_for_sparse
    more = [{}, {"momentum": 0.9, "dampening": 0.1}] if info.optim_cls is torch.optim.SGD else [{}, {"maximize": True}]
    for config in more:
        mine, theirs = (start(info, torch.float64)[1:3] for _ in range(2))
        pairs = [
            (cls(params, **{**kwargs, **config}), params)
            for cls, params in ((ours(info), mine), (info.optim_cls, theirs))
        ]
        plans = [[make(optimizer) for make in schedulers] for optimizer, _ in pairs]
        for k in range(STEPS_OF_PLANS):
            grads = [sparse(p, k, element) for p in theirs]
            for (optimizer, params), plan in zip(pairs, plans, strict=True):
                run(optimizer, params, [grads])
                for scheduler in plan:
                    is_plateau = isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
                    scheduler.step(1.0) if is_plateau else scheduler.step()
        assert error(mine, theirs) < 1e-12


def sparse(p: torch.Tensor, seed: int, element: bool) -> torch.Tensor:
    """An uncoalesced gradient of some rows or elements."""
    generator = torch.Generator().manual_seed(seed)
    dims = p.dim() if element else 1
    indices = torch.stack([torch.randint(size, (6,), generator=generator) for size in p.shape[:dims]])
    values = torch.randn(6, *p.shape[dims:], dtype=p.dtype, generator=generator)
    return torch.sparse_coo_tensor(indices, values, p.shape, check_invariants=True)
