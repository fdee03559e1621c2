"""Written by `python -m optgen.torch.stub`, from the specs."""

# ruff: noqa: E501 (equations are as wide as they are)
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch.optim.optimizer import ParamsT

from optgen.model import Optimizer
from optgen.torch.base import SpecOptimizer as SpecOptimizer
from optgen.torch.classes import replace as replace
from optgen.torch.conversion import convert as convert
from optgen.torch.torch_classes import TorchOptimizer

class _AnySpecOptimizer(SpecOptimizer):
    def __init__(
        self, params: ParamsT | torch.nn.Module, lr: float | torch.Tensor = ..., *args: Any, **values: Any
    ) -> None: ...

def optimizer(spec: str | os.PathLike[str] | Optimizer) -> type[_AnySpecOptimizer]: ...

class ACProp(SpecOptimizer):
    """Momentum centering and asynchronous update for adaptive gradient methods

    Zhuang et al. 2021, arXiv:2110.05454.

    ::

                ⎧ 1                                if t = 1
        rootₜ = ⎨
                ⎩ √(sₜ₋₁/(1 − β₂^max(t − 1, 1)))   otherwise
        wₜ    = (1 − lr·wd)·wₜ₋₁ − lr·gₜ/(rootₜ + ε)
        sₜ    = β₂·sₜ₋₁ + (1 − β₂)·(gₜ − mₜ₋₁)² + ε_root
        mₜ    = β₁·mₜ₋₁ + (1 − β₁)·gₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the expected gradient, in [0, 1); decay of the variance, in [0, 1)
        eps: added to the root of the variance, in (0, inf)
        epsilon_root: added to the variance in each step, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-16,
        epsilon_root: float | torch.Tensor = 1e-16,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ADOPT(SpecOptimizer):
    """Modified Adam can converge with any beta2 with the optimal rate

    Taniguchi et al. 2024, arXiv:2411.02853, algorithm 2.

    ::

             ⎧ gₜ             if decoupled_weight_decay
        dₜ = ⎨
             ⎩ gₜ + wd·wₜ₋₁   otherwise
        xₜ = dₜ/max(√vₜ₋₁, ε)
             ⎧ clip(xₜ, ±(t − 1)^0.25)                   if clip_update
        cₜ = ⎨
             ⎩ ({clip(xₜ, ±0) if t = 1; xₜ otherwise})   otherwise
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·cₜ
             ⎧ dₜ²                      if t = 1
        vₜ = ⎨
             ⎩ β₂·vₜ₋₁ + (1 − β₂)·dₜ²   otherwise
             ⎧ (1 − ({0 if t = 1; lr·wd otherwise}))·wₜ₋₁ − lr·mₜ   if decoupled_weight_decay
        wₜ = ⎨
             ⎩ wₜ₋₁ − lr·mₜ                                         otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: least root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        clip_update: bound each element of a normalised gradient by (t - 1)^(1/4)
        decoupled_weight_decay: decay the weight itself, not through the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.9999),
        eps: float | torch.Tensor = 1e-06,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        clip_update: bool = True,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ALIG(SpecOptimizer):
    """ALI-G: adaptive learning rates for interpolation with gradients

    Berrada, Zisserman & Kumar 2020, arXiv:1906.05661.

    ::

        dₜ    = gₜ + wd·wₜ₋₁
        rateₜ = min(lr, loss/(sum[over params](dₜ²) + ε))
        momₜ  = momentum·momₜ₋₁ − rateₜ·dₜ   if heavy
                ⎧ wₜ₋₁ − rateₜ·dₜ + momentum·momₜ   if heavy
        wₜ    = ⎨
                ⎩ wₜ₋₁ − rateₜ·dₜ                   otherwise
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: largest rate
        momentum: decay of the velocity, with Nesterov's step; 0 keeps none, in [0, 1)
        eps: added to the squared norm of all gradients, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.0,
        eps: float | torch.Tensor = 1e-05,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ASGD(TorchOptimizer, torch.optim.ASGD):
    """torch.optim.ASGD, with kernels of optgen.

    Polyak & Juditsky 1992, SIAM J. Control Optim. 30(4).

    ::

                   ⎧ float32(ηₜ₋₁)   if single
        ηₜₜ      = ⎨
                   ⎩ ηₜ₋₁            otherwise
                   ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                   ⎪ −gₜ                      if maximize
        dₜ       = ⎨
                   ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                   ⎩ gₜ                       otherwise
        wₜ       = (1 − lambd·ηₜₜ)·wₜ₋₁ − ηₜₜ·dₜ
                   ⎧ wₜ                          if μₜ₋₁ = 1
        axₜ      = ⎨
                   ⎩ axₜ₋₁ + (wₜ − axₜ₋₁)·μₜ₋₁   otherwise
                   ⎧ float32(lr/(1 + lambd·lr·t)^α)   if single
        ηₜ       = ⎨
                   ⎩ lr/(1 + lambd·lr·t)^α            otherwise
                   ⎧ float32(1/max(1, t − t₀))   if single
        μₜ       = ⎨
                   ⎩ 1/max(1, t − t₀)            otherwise
        wₜ(eval) = axₜ
        where decays: weight_decay ≠ 0

    Args:
        those of torch.optim.ASGD, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        lambd: float = 0.0001,
        alpha: float = 0.75,
        t0: float = 1000000.0,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        *,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AccSGD(SpecOptimizer):
    """On the insufficiency of existing momentum schemes for stochastic optimization

    Kidambi et al. 2018, arXiv:1803.05591.

    ::

        βₜ = small_const²·ξ/κ
        ζₜ = small_const/(small_const + βₜ)
        dₜ = gₜ + wd·wₜ₋₁
        xₜ = xₜ₋₁ + βₜ·(wₜ₋₁ − xₜ₋₁) − βₜ·lr·κ/small_const·dₜ
        yₜ = wₜ₋₁ − lr·dₜ
        wₜ = yₜ + (1 − ζₜ)·(xₜ − yₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: short step
        kappa: ratio of the long step to the short one, in [1, inf)
        xi: statistical advantage; at most the root of kappa, in [1, inf)
        small_const: divides the long step, in (0, 1]
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        kappa: float | torch.Tensor = 1000.0,
        xi: float | torch.Tensor = 10.0,
        small_const: float | torch.Tensor = 0.7,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdEMAMix(SpecOptimizer):
    """The AdEMAMix optimizer: better, faster, older

    Pagliardini, Ablin & Grangier 2024, arXiv:2409.03137, algorithm 1.

    ::

        αₜ  = α·min(t/max(α_warmup, 1), 1)
        xₜ  = t/max(β₃_warmup, 1)
              ⎧ exp(1/((1 − xₜ)/log(β₁) + xₜ/log(β₃)))   if t < β₃_warmup
        β₃ₜ = ⎨
              ⎩ β₃                                       otherwise
        m₁ₜ = β₁·m₁ₜ₋₁ + (1 − β₁)·gₜ
        m₂ₜ = β₃ₜ·m₂ₜ₋₁ + (1 − β₃ₜ)·gₜ
        vₜ  = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        uₜ  = (1/(1 − β₁ᵗ)·m₁ₜ + αₜ·m₂ₜ)/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ  = wₜ₋₁ − lr·(uₜ + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the fast first moment, in [0, 1); decay of the second moment, in [0, 1); decay of the slow first moment, in [0, 1)
        alpha: weight of the slow first moment, in [0, inf)
        eps: added to the root of the second moment, in [0, inf)
        alpha_warmup: steps in which alpha grows from 0, in [0, inf)
        beta3_warmup: steps in which beta3 grows from beta1, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999, 0.9999),
        alpha: float | torch.Tensor = 2.0,
        eps: float | torch.Tensor = 1e-08,
        alpha_warmup: float | torch.Tensor = 0,
        beta3_warmup: float | torch.Tensor = 0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaBelief(SpecOptimizer):
    """Adapting stepsizes by the belief in observed gradients

    Zhuang et al. 2020, arXiv:2010.07468, algorithm 2.

    ::

                ⎧ lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)   if correct_bias
        rateₜ = ⎨
                ⎩ lr                        otherwise
        dₜ    = gₜ + wd·wₜ₋₁
        mₜ    = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        sₜ    = β₂·sₜ₋₁ + (1 − β₂)·(dₜ − mₜ)² + ε
        wₜ    = wₜ₋₁ − rateₜ·mₜ/(√sₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the variance, in [0, 1)
        eps: added to the variance, and to its root, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        correct_bias: make up for the moments' start at 0
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-06,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        correct_bias: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaBound(SpecOptimizer):
    """Adaptive gradient methods with dynamic bound of learning rate

    Luo et al. 2019, arXiv:1902.09843, algorithm 2.

    ::

        dₜ     = gₜ + wd·wₜ₋₁
                 ⎧ lr       if lr₀ₜ₋₁ = 0
        lr₀ₜ   = ⎨
                 ⎩ lr₀ₜ₋₁   otherwise
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        v_maxₜ = max(v_maxₜ₋₁, vₜ)   if amsbound
                 ⎧ √v_maxₜ + ε   if amsbound
        rootₜ  = ⎨
                 ⎩ √vₜ + ε       otherwise
                 ⎧ 0                  if lr₀ₜ = 0
        finalₜ = ⎨
                 ⎩ final_lr·lr/lr₀ₜ   otherwise
        rateₜ  = lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)
        wₜ     = wₜ₋₁ − clip(rateₜ/rootₜ, finalₜ·(1 − 1/(γ·t + 1)), finalₜ·(1 + 1/(γ·t)))·mₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        final_lr: rate of SGD, to which all rates go, in (0, inf)
        gamma: how fast the bounds close in, in (0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        amsbound: keep the largest second moment
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        final_lr: float | torch.Tensor = 0.1,
        gamma: float | torch.Tensor = 0.001,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        amsbound: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaGradNorm(SpecOptimizer):
    """AdaGrad stepsizes: sharp convergence over nonconvex landscapes

    Ward, Wu & Bottou 2019, arXiv:1806.01811, algorithm 1.

    ::

        dₜ  = gₜ + wd·wₜ₋₁
        b₂ₜ = b₂ₜ₋₁ + sum[over params](dₜ²)
        wₜ  = wₜ₋₁ − lr/√(b₀² + b₂ₜ)·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        b0: where the root of the sum starts, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        b0: float | torch.Tensor = 0.1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaHessian(SpecOptimizer):
    """ADAHESSIAN: an adaptive second order optimizer for machine learning

    Yao et al. 2021, arXiv:2006.00719, algorithm 1.

    ::

        hₜ    = mean[per matrix](|ĥₜ|)   if kernels
        mₜ    = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ    = β₂·vₜ₋₁ + (1 − β₂)·ĥₜ²   if not kernels
        Vₜ    = β₂·Vₜ₋₁ + (1 − β₂)·hₜ²   if kernels
                ⎧ 1/√(1 − β₂ᵗ)·√Vₜ   if kernels
        rootₜ = ⎨
                ⎩ 1/√(1 − β₂ᵗ)·√vₜ   otherwise
                ⎧ rootₜ^hessian_power   if powered
        Dₜ    = ⎨
                ⎩ rootₜ                 otherwise
        wₜ    = wₜ₋₁ − lr·(1/(1 − β₁ᵗ)·mₜ/(Dₜ + ε) + wd·wₜ₋₁)
        where kernels: average_kernels and rank = 4
        where powered: hessian_power < 1

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment of the curvature, in [0, 1)
        hessian_power: power of the root of that moment, in [0, 1]
        eps: added to the power, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        average_kernels: average the curvature over the last two axes of a tensor of four dimensions
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        hessian_power: float | torch.Tensor = 1.0,
        eps: float | torch.Tensor = 0.0001,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        average_kernels: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaLomo(SpecOptimizer):
    """AdaLomo: low-memory optimization with adaptive learning rate

    Lv, Yan, Guo, Lv & Qiu 2023, arXiv:2310.10195, algorithm 1; decay of the moment as in the authors' code.

    ::

        βₜ = 1 − t^decay_rate
        qₜ = gₜ² + ε₁
        Rₜ = βₜ·Rₜ₋₁ + (1 − βₜ)·mean[per row](qₜ)   if factored
        Cₜ = βₜ·Cₜ₋₁ + (1 − βₜ)·mean[per col](qₜ)   if factored
        vₜ = βₜ·vₜ₋₁ + (1 − βₜ)·qₜ   if not factored
        rₜ = √(mean(Rₜ))/√Rₜ   if factored
        cₜ = 1/√Cₜ   if factored
             ⎧ rₜ·gₜ·cₜ   if factored
        uₜ = ⎨
             ⎩ gₜ/√vₜ     otherwise
        αₜ = lr·max(ε₂, rms(wₜ₋₁))
        wₜ = (1 − αₜ·wd)·wₜ₋₁ − αₜ/max(1, rms(uₜ)/clip_threshold)·uₜ
        where factored: rank ≥ 2

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: rate, in root mean squares of the weight
        decay_rate: the decay of the second moment is 1 - t^decay_rate, in (-inf, 0]
        eps1: added to the squared gradient, in (0, inf)
        eps2: least scale of a parameter, in [0, inf)
        clip_threshold: bound on the root mean square of an update, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0005,
        decay_rate: float | torch.Tensor = -0.8,
        eps1: float | torch.Tensor = 1e-30,
        eps2: float | torch.Tensor = 0.001,
        clip_threshold: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaMod(SpecOptimizer):
    """An adaptive and momental bound method for stochastic learning

    Ding et al. 2019, arXiv:1910.12249, algorithm 1.

    ::

        mₜ    = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ    = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        rateₜ = lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)/(√vₜ + ε)
        sₜ    = β₃·sₜ₋₁ + (1 − β₃)·rateₜ
        wₜ    = (1 − lr·wd)·wₜ₋₁ − min(rateₜ, sₜ)·mₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1); decay of the averaged rate, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999, 0.999),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaMuon(SpecOptimizer):
    """AdaMuon: adaptive Muon optimizer

    Si, Zhang and Shen 2025, arXiv:2507.11005.

    ::

        mₜ   = β·mₜ₋₁ + (1 − β)·gₜ
               ⎧ sign(mₜ)   if signs
        Sₜ   = ⎨
               ⎩ mₜ         otherwise
               ⎧ Sₜᵀ   if tall
        Xₜ   = ⎨
               ⎩ Sₜ    otherwise
        Yₜ   = Xₜ/max(‖Xₜ‖, 1e-7)
        repeat ns_steps times:
          Aₜ = Yₜ@Yₜᵀ
          Yₜ ← a·Yₜ + (b·Aₜ + c·Aₜ@Aₜ)@Yₜ
        end
               ⎧ Yₜᵀ   if tall
        Oₜ   = ⎨
               ⎩ Yₜ    otherwise
        vₜ   = β·vₜ₋₁ + (1 − β)·Oₜ²
        nₜ   = Oₜ/(√vₜ + ε)
        wₜ   = (1 − lr·wd)·wₜ₋₁ − 0.2·lr·√size/max(‖nₜ‖, 1e-30)·nₜ
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        beta: decay of the mean of gradients, and of squares, in [0, 1)
        a: a param of the spec
        b: a param of the spec
        c: a param of the spec
        eps: added to the roots of second moments, in (0, inf)
        ns_steps: turns of the Newton-Schulz iteration, in [0, 100)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        signs: the signs of the mean are made orthogonal, as from the second version of the paper on
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.1,
        beta: float | torch.Tensor = 0.95,
        a: float | torch.Tensor = 3.4445,
        b: float | torch.Tensor = -4.775,
        c: float | torch.Tensor = 2.0315,
        eps: float | torch.Tensor = 1e-08,
        ns_steps: float | torch.Tensor = 5,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        signs: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class AdaPNM(SpecOptimizer):
    """Positive-negative momentum: manipulating stochastic gradient noise to improve generalization

    Xie et al. 2021, arXiv:2103.17182.

    ::

        xₜ     = β₁²·nₜ₋₁ + (1 − β₁²)·gₜ
        mₜ     = xₜ
        nₜ     = mₜ₋₁
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        v_maxₜ = max(v_maxₜ₋₁, vₜ)   if amsgrad
                 ⎧ √v_maxₜ + ε   if amsgrad
        rootₜ  = ⎨
                 ⎩ √vₜ + ε       otherwise
        rateₜ  = lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)/√((1 + β₀)² + β₀²)
        wₜ     = (1 − lr·wd)·wₜ₋₁ − rateₜ·((1 + β₀)·xₜ − β₀·mₜ₋₁)/rootₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of a momentum in a step; each is updated in every second one, in [0, 1); decay of the second moment, in [0, 1)
        beta0: weight of the negative momentum, in [0, inf)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        amsgrad: keep the largest second moment
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        beta0: float | torch.Tensor = 1.0,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        amsgrad: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdaShift(SpecOptimizer):
    """AdaShift: decorrelation and convergence of adaptive learning rate methods

    Zhou et al. 2019, arXiv:1810.00143.

    ::

        dₜ      = gₜ + wd·wₜ₋₁
        newestₜ = (1 − β₁)/(1 − β₁^n)
        mₜ      = β₁·(mₜ₋₁ − newestₜ·β₁^(n − 1)·past[t−n]) + newestₜ·dₜ
        pastₜ   = dₜ
        fixedₜ  = 1 − β₂^max(t − n, 1)
        vₜ      = ({β₂·vₜ₋₁ + (1 − β₂)·past[t−n]² if t > n; vₜ₋₁ otherwise})   if not spatial
        Vₜ      = ({β₂·Vₜ₋₁ + (1 − β₂)·max(past[t−n]²) if t > n; Vₜ₋₁ otherwise})   if spatial
                  ⎧ mₜ/(√(Vₜ/fixedₜ) + ε)   if spatial
        uₜ      = ⎨
                  ⎩ mₜ/(√(vₜ/fixedₜ) + ε)   otherwise
                  ⎧ wₜ₋₁ − lr·uₜ   if t > n
        wₜ      = ⎨
                  ⎩ wₜ₋₁           otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        n: steps by which the gradients of the second moment are older, in [1, 1024]
        betas: weight of a gradient beside that of the next step, in the mean of the last n, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        spatial: one second moment for a tensor, of its largest gradient, instead of one for each element
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        n: float | torch.Tensor = 10,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        spatial: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adadelta(TorchOptimizer, torch.optim.Adadelta):
    """torch.optim.Adadelta, with kernels of optgen.

    Zeiler 2012, arXiv:1212.5701.

    ::

                      ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                      ⎪ −gₜ                      if maximize
        dₜ          = ⎨
                      ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                      ⎩ gₜ                       otherwise
        square_avgₜ = ρ·square_avgₜ₋₁ + (1 − ρ)·dₜ·dₜ
        δₜ          = √(δ_accₜ₋₁ + ε)/√(square_avgₜ + ε)·dₜ
        δ_accₜ      = ρ·δ_accₜ₋₁ + (1 − ρ)·δₜ·δₜ
        wₜ          = wₜ₋₁ − lr·δₜ
        where decays: weight_decay ≠ 0

    Args:
        those of torch.optim.Adadelta, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-06,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adafactor(TorchOptimizer, torch.optim.Adafactor):
    """torch.optim.Adafactor, with kernels of optgen.

    Shazeer & Stern 2018, arXiv:1804.04235.

    ::

                           ⎧ ε₁          if given
        leastₜ           = ⎨
                           ⎩ ε_machine   otherwise
                           ⎧ −gₜ   if maximize
        Gₜ               = ⎨
                           ⎩ gₜ    otherwise
        squareₜ          = Gₜ²
        one_minus_beta2ₜ = t^β₂_decay
        β₂ₜ              = 1 − one_minus_beta2ₜ
        αₜ               = max(ε₂, rms(wₜ₋₁))·min(lr, 1/√t)
        row_varₜ         = β₂ₜ·row_varₜ₋₁ + one_minus_beta2ₜ·mean[per row](squareₜ)   if factored
        col_varₜ         = β₂ₜ·col_varₜ₋₁ + one_minus_beta2ₜ·mean[per col](squareₜ)   if factored
        varianceₜ        = ({varianceₜ₋₁ + one_minus_beta2ₜ·(squareₜ − varianceₜ₋₁) if β₂ₜ > 0.5; squareₜ − β₂ₜ·(squareₜ − varianceₜ₋₁) otherwise})   if not factored
                           ⎧ row_varₜ·col_varₜ/max(mean[per matrix](row_varₜ), leastₜ)   if factored
        estimateₜ        = ⎨
                           ⎩ varianceₜ                                                   otherwise
        uₜ               = Gₜ/√(max(estimateₜ, leastₜ·leastₜ))
        wₜ               = (1 − lr·weight_decay)·wₜ₋₁ − αₜ/max(1, rms(uₜ)/d)·uₜ
        where given: ε₁ set
        where factored: rank ≥ 2

    Args:
        those of torch.optim.Adafactor, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 0.001),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adagrad(TorchOptimizer, torch.optim.Adagrad):
    """torch.optim.Adagrad, with kernels of optgen.

    Duchi, Hazan & Singer 2011, JMLR 12.

    ::

        clrₜ         = lr/(1 + (t − 1)·lr_decay)
                       ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                       ⎪ −gₜ                      if maximize
        dₜ           = ⎨
                       ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                       ⎩ gₜ                       otherwise
        accumulatorₜ = accumulatorₜ₋₁ + dₜ·dₜ
        wₜ           = wₜ₋₁ − clrₜ·dₜ/(√accumulatorₜ + ε)
        where decays: weight_decay ≠ 0

    Args:
        those of torch.optim.Adagrad, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adai(SpecOptimizer):
    """Adaptive inertia: disentangling the effects of adaptive learning rate and momentum

    Xie et al. 2022, arXiv:2006.15815.

    ::

                  ⎧ gₜ             if decoupled_weight_decay
        dₜ      = ⎨
                  ⎩ gₜ + wd·wₜ₋₁   otherwise
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        v̂ₜ      = 1/(1 − β₂ᵗ)·vₜ
        v_meanₜ = mean[over params](v̂ₜ)
        μₜ      = clip(1 − β₀·({0 if v_meanₜ = 0; v̂ₜ/v_meanₜ otherwise}), 0, 1 − ε)
        qₜ      = μₜ·qₜ₋₁ + 1 − μₜ
        mₜ      = μₜ·mₜ₋₁ + (1 − μₜ)·dₜ
                  ⎧ (1 − lr·wd)·wₜ₋₁ − lr·mₜ/max(qₜ, ε)   if decoupled_weight_decay
        wₜ      = ⎨
                  ⎩ wₜ₋₁ − lr·mₜ/max(qₜ, ε)               otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        beta0: how far the inertia falls below 1, in [0, inf)
        beta2: decay of the second moment, in [0, 1)
        eps: the inertia is at most 1 - epsilon, in (0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        decoupled_weight_decay: decay the weight itself, not through the gradient: AdaiW
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        beta0: float | torch.Tensor = 0.1,
        beta2: float | torch.Tensor = 0.99,
        eps: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adam(TorchOptimizer, torch.optim.Adam):
    """torch.optim.Adam, with kernels of optgen.

    Kingma & Ba 2015, arXiv:1412.6980; AMSGrad: Reddi et al. 2018, arXiv:1904.09237.

    ::

        bias_correction1ₜ = 1 − β₁ᵗ
        bias_correction2ₜ = 1 − β₂ᵗ
        step_sizeₜ        = lr/bias_correction1ₜ
                            ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                            ⎪ −gₜ                      if maximize
        dₜ                = ⎨
                            ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                            ⎩ gₜ                       otherwise
                            ⎧ exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)   if β₁ > 0.5
        exp_avgₜ          = ⎨
                            ⎩ dₜ − β₁·(dₜ − exp_avgₜ₋₁)                 otherwise
        exp_avg_sqₜ       = β₂·exp_avg_sqₜ₋₁ + (1 − β₂)·dₜ·dₜ
        max_exp_avg_sqₜ   = max(max_exp_avg_sqₜ₋₁, exp_avg_sqₜ)   if amsgrad
                            ⎧ √max_exp_avg_sqₜ/√bias_correction2ₜ + ε   if amsgrad
        denomₜ            = ⎨
                            ⎩ √exp_avg_sqₜ/√bias_correction2ₜ + ε       otherwise
                            ⎧ (1 − lr·weight_decay)·wₜ₋₁ − step_sizeₜ·exp_avgₜ/denomₜ   if decoupled_weight_decay
        wₜ                = ⎨
                            ⎩ wₜ₋₁ − step_sizeₜ·exp_avgₜ/denomₜ                         otherwise
        where decays: weight_decay ≠ 0 and not decoupled_weight_decay

    Args:
        those of torch.optim.Adam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdamAtan2(SpecOptimizer):
    """Adam without an epsilon: scaling exponents across parameterizations and optimizers

    Everett et al. 2024, arXiv:2407.05872.

    ::

        mₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·a·atan2(1/(1 − β₁ᵗ)·mₜ, b/√(1 − β₂ᵗ)·√vₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        a: factor on the angle: about 4/pi, so that equal moments make a step of lr, in (0, inf)
        b: factor on the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        a: float | torch.Tensor = 1.27,
        b: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdamC(SpecOptimizer):
    """AdamW whose weight decay follows the rate: why gradients rapidly increase near the end of training

    Defazio 2025, arXiv:2506.02285.

    ::

        lr_maxₜ = max(lr_maxₜ₋₁, lr)   if normalized
                  ⎧ wd·({0 if lr_maxₜ = 0; lr²/lr_maxₜ otherwise})   if normalized
        decayₜ  = ⎨
                  ⎩ wd·lr                                            otherwise
        mₜ      = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        wₜ      = (1 − decayₜ)·wₜ₋₁ − lr/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        normalized: a normalisation follows, as for all layers but the last
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        normalized: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdamHD(SpecOptimizer):
    """Online learning rate adaptation with hypergradient descent: Adam whose rate is learnt, too

    Baydin et al. 2018, arXiv:1703.04782, algorithm 6.

    ::

        dₜ    = gₜ + wd·wₜ₋₁
        rateₜ = rateₜ₋₁ + hypergrad_lr·sum[over params](dₜ·uₜ₋₁)
        mₜ    = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ    = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        uₜ    = 1/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ    = wₜ₋₁ − rateₜ·uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: first rate; a later change has no effect
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        hypergrad_lr: rate of the rate, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        hypergrad_lr: float | torch.Tensor = 1e-07,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdamMini(SpecOptimizer):
    """Adam-mini: use fewer learning rates to gain more

    Zhang et al. 2024, arXiv:2406.16793, algorithm 1.

    ::

        mₜ      = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        v_headₜ = β₂·v_headₜ₋₁ + (1 − β₂)·mean[per block head_dim](gₜ²)   if by_head
        v_rowₜ  = β₂·v_rowₜ₋₁ + (1 − β₂)·mean[per row](gₜ²)   if by_row
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·mean(gₜ²)   if not by_row and not by_head
                  ⎧ 1/(1 − β₂ᵗ)·v_headₜ   if by_head
        v̂ₜ      = ⎨ 1/(1 − β₂ᵗ)·v_rowₜ    if by_row
                  ⎩ 1/(1 − β₂ᵗ)·vₜ        otherwise
        rateₜ   = lr/(1 − β₁ᵗ)/(√v̂ₜ + ε)
        wₜ      = (1 − lr·wd)·wₜ₋₁ − rateₜ·mₜ
        where by_head: rank ≥ 2 and heads
        where by_row: rank ≥ 2 and not heads

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        head_dim: rows of a head of attention, in [1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        heads: the parameter makes queries or keys: its blocks are heads
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        head_dim: float | torch.Tensor = 64,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        heads: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdamP(SpecOptimizer):
    """AdamP: slowing down the slowdown for momentum optimizers on scale-invariant weights

    Heo et al. 2020, arXiv:2006.08217, algorithm 2.

    ::

        mₜ        = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ        = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        rootₜ     = 1/√(1 − β₂ᵗ)·√vₜ + ε
                    ⎧ (β₁·mₜ + (1 − β₁)·gₜ)/rootₜ   if nesterov
        uₜ        = ⎨
                    ⎩ mₜ/rootₜ                      otherwise
        row_cosₜ  = |sum[per row](gₜ·wₜ₋₁)|/((‖gₜ‖[per row] + ε)·(‖wₜ₋₁‖[per row] + ε))   if matrix
        cosineₜ   = |sum(gₜ·wₜ₋₁)|/((‖gₜ‖ + ε)·(‖wₜ₋₁‖ + ε))   if matrix
        by_rowₜ   = max(row_cosₜ) < δ/√cols   if matrix
        wholeₜ    = cosineₜ < δ/√size   if matrix
        row_partₜ = sum[per row](wₜ₋₁·uₜ)/(‖wₜ₋₁‖[per row] + ε)²   if matrix
        partₜ     = sum(wₜ₋₁·uₜ)/(‖wₜ₋₁‖ + ε)²   if matrix
        radialₜ   = ({row_partₜ if by_rowₜ; partₜ if wholeₜ; 0 otherwise})   if matrix
        ratioₜ    = ({wd_ratio if by_rowₜ or wholeₜ; 1 otherwise})   if matrix
                    ⎧ (1 − lr·wd·ratioₜ)·wₜ₋₁ − lr/(1 − β₁ᵗ)·(uₜ − radialₜ·wₜ₋₁)   if matrix
        wₜ        = ⎨
                    ⎩ (1 − lr·wd)·wₜ₋₁ − lr/(1 − β₁ᵗ)·uₜ                           otherwise
        where matrix: rank ≥ 2

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, and to norms, in (0, inf)
        delta: largest cosine of weight and gradient, times the root of their length, to project, in [0, inf)
        wd_ratio: factor on the decay of a weight that is projected, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        nesterov: look ahead
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        delta: float | torch.Tensor = 0.1,
        wd_ratio: float | torch.Tensor = 0.1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        nesterov: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AdamW(TorchOptimizer, torch.optim.AdamW):
    """torch.optim.AdamW, with kernels of optgen.

    Loshchilov & Hutter 2019, arXiv:1711.05101; AMSGrad: Reddi et al. 2018, arXiv:1904.09237.

    ::

        bias_correction1ₜ = 1 − β₁ᵗ
        bias_correction2ₜ = 1 − β₂ᵗ
        step_sizeₜ        = lr/bias_correction1ₜ
                            ⎧ −gₜ   if maximize
        dₜ                = ⎨
                            ⎩ gₜ    otherwise
                            ⎧ exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)   if β₁ > 0.5
        exp_avgₜ          = ⎨
                            ⎩ dₜ − β₁·(dₜ − exp_avgₜ₋₁)                 otherwise
        exp_avg_sqₜ       = β₂·exp_avg_sqₜ₋₁ + (1 − β₂)·dₜ·dₜ
        max_exp_avg_sqₜ   = max(max_exp_avg_sqₜ₋₁, exp_avg_sqₜ)   if amsgrad
                            ⎧ √max_exp_avg_sqₜ/√bias_correction2ₜ + ε   if amsgrad
        denomₜ            = ⎨
                            ⎩ √exp_avg_sqₜ/√bias_correction2ₜ + ε       otherwise
        wₜ                = (1 − lr·weight_decay)·wₜ₋₁ − step_sizeₜ·exp_avgₜ/denomₜ

    Args:
        those of torch.optim.AdamW, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adamax(TorchOptimizer, torch.optim.Adamax):
    """torch.optim.Adamax, with kernels of optgen.

    Kingma & Ba 2015, arXiv:1412.6980, algorithm 2.

    ::

        bias_correctionₜ = 1 − β₁ᵗ
                           ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                           ⎪ −gₜ                      if maximize
        dₜ               = ⎨
                           ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                           ⎩ gₜ                       otherwise
                           ⎧ exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)   if β₁ > 0.5
        exp_avgₜ         = ⎨
                           ⎩ dₜ − β₁·(dₜ − exp_avgₜ₋₁)                 otherwise
        exp_infₜ         = max(β₂·exp_infₜ₋₁, |dₜ| + ε)
        wₜ               = wₜ₋₁ − lr/bias_correctionₜ·exp_avgₜ/exp_infₜ
        where decays: weight_decay ≠ 0

    Args:
        those of torch.optim.Adamax, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Adan(SpecOptimizer):
    """Adan: adaptive Nesterov momentum algorithm for faster optimizing deep models

    Xie et al. 2022, arXiv:2208.06677, algorithm 1, with 1 - beta of the paper as beta, as in the authors' code.

    ::

                  ⎧ 0                if t = 1
        diffₜ   = ⎨
                  ⎩ gₜ − g_prevₜ₋₁   otherwise
        g_prevₜ = gₜ
        mₜ      = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·diffₜ
        nₜ      = β₃·nₜ₋₁ + (1 − β₃)·(gₜ + β₂·diffₜ)²
        uₜ      = (lr/(1 − β₁ᵗ)·mₜ + lr·β₂/(1 − β₂ᵗ)·vₜ)/(1/√(1 − β₃ᵗ)·√nₜ + ε)
                  ⎧ (1 − lr·wd)·wₜ₋₁ − uₜ       if no_prox
        wₜ      = ⎨
                  ⎩ 1/(1 + lr·wd)·(wₜ₋₁ − uₜ)   otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the averaged difference of gradients, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        no_prox: decay the weight as AdamW does, not by a proximal step
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor, float | torch.Tensor] = (0.98, 0.92, 0.99),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        no_prox: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AddSign(SpecOptimizer):
    """Neural optimizer search with reinforcement learning

    Bello et al. 2017, arXiv:1709.07417.

    ::

        dₜ = gₜ + wd·wₜ₋₁
        mₜ = β·mₜ₋₁ + (1 − β)·dₜ
        wₜ = wₜ₋₁ − lr·(α + sign(dₜ)·sign(mₜ))·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        alpha: factor where momentum and gradient neither agree nor disagree, in [0, inf)
        beta: decay of the momentum, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        alpha: float | torch.Tensor = 1.0,
        beta: float | torch.Tensor = 0.9,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class AggMo(SpecOptimizer):
    """Aggregated momentum: stability through passive damping

    Lucas et al. 2019, arXiv:1804.00325, with three velocities.

    ::

        dₜ  = gₜ + wd·wₜ₋₁
        v₁ₜ = β₁·v₁ₜ₋₁ + dₜ
        v₂ₜ = β₂·v₂ₜ₋₁ + dₜ
        v₃ₜ = β₃·v₃ₜ₋₁ + dₜ
        wₜ  = wₜ₋₁ − lr/3·(v₁ₜ + v₂ₜ + v₃ₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first velocity, in [0, 1); decay of the second velocity, in [0, 1); decay of the third velocity, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        betas: tuple[float | torch.Tensor, float | torch.Tensor, float | torch.Tensor] = (0.0, 0.9, 0.99),
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Amos(SpecOptimizer):
    """Amos: an Adam-style optimizer with adaptive weight decay towards model-oriented scale

    Tian & Parikh 2022, arXiv:2210.11693, algorithm 1.

    ::

                  ⎧ mean[per row](gₜ²)   if by_row
        squareₜ = ⎨
                  ⎩ mean(gₜ²)            otherwise
        v_rowₜ  = β·v_rowₜ₋₁ + (1 − β)·squareₜ   if by_row
        vₜ      = β·vₜ₋₁ + (1 − β)·squareₜ   if not by_row
                  ⎧ 1/(1 − βᵗ)·v_rowₜ + ε   if by_row
        v̂ₜ      = ⎨
                  ⎩ 1/(1 − βᵗ)·vₜ + ε       otherwise
                  ⎧ b_rowₜ₋₁   if by_row
        decayₜ  = ⎨
                  ⎩ bₜ₋₁       otherwise
        γₜ      = lr²/√(1 + c·√lr·decayₜ)·squareₜ/v̂ₜ
        shrinkₜ = 1/(1 + d·√(lr·η)·decayₜ)
        wₜ      = wₜ₋₁ − shrinkₜ·(lr·η/√v̂ₜ·gₜ + γₜ/2·wₜ₋₁)
        b_rowₜ  = decayₜ + γₜ·(1 + decayₜ)   if by_row
        bₜ      = decayₜ + γₜ·(1 + decayₜ)   if not by_row
        where by_row: rank ≥ 2

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: global rate: about 1/sqrt(number of batches), in [0, inf)
        beta: decay of the second moment, in [0, 1)
        eta: expected scale of a weight; a step takes one for each parameter, in (0, inf)
        c: how fast the weight decay slows down, in [0, inf)
        d: how fast the steps become smaller, in [0, inf)
        eps: added to the second moment, in (0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        beta: float | torch.Tensor = 0.999,
        eta: float | torch.Tensor = 1.0,
        c: float | torch.Tensor = 0.25,
        d: float | torch.Tensor = 0.25,
        eps: float | torch.Tensor = 1e-18,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Apollo(SpecOptimizer):
    """APOLLO: SGD-like memory, AdamW-level performance

    Zhu et al. 2024, arXiv:2412.05270, algorithm 1.

    ::

        Pₜ      ~ N(0, 1)[rows x r], new where t = 1, 1 + k, ...   if not tall
        Qₜ      ~ N(0, 1)[cols x r], new where t = 1, 1 + k, ...   if tall
                  ⎧ gₜᵀ@Pₜ/√r   if not tall
        Rₜ      = ⎨
                  ⎩ gₜ@Qₜ/√r    otherwise
        mₜ      = β₁·mₜ₋₁ + (1 − β₁)·Rₜ   if not tall
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·Rₜ²   if not tall
        Mₜ      = β₁·Mₜ₋₁ + (1 − β₁)·Rₜ   if tall
        Vₜ      = β₂·Vₜ₋₁ + (1 − β₂)·Rₜ²   if tall
                  ⎧ mₜ/(√vₜ + ε)   if not tall
        nₜ      = ⎨
                  ⎩ Mₜ/(√Vₜ + ε)   otherwise
        cₜ      = √(1 − β₂ᵗ)/(1 − β₁ᵗ)
                  ⎧ cₜ·‖nₜ‖/(‖Rₜ‖ + 1e-8)                     if mini
        fₜ      = ⎨
                  ⎩ cₜ·‖nₜ‖[per row]/(‖Rₜ‖[per row] + 1e-8)   otherwise
        uₜ      = fₜ·gₜ
                  ⎧ max(‖uₜ‖/(lengthₜ₋₁ + 1e-8), growth)/growth   if t > 1
        sₜ      = ⎨
                  ⎩ 1                                             otherwise
        lengthₜ = ‖uₜ‖/sₜ
        wₜ      = (1 − lr·wd)·wₜ₋₁ − lr·√scale/sₜ·uₜ
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        betas: in [0, 1); in [0, 1)
        eps: in (0, inf)
        growth: of the length of the update, from one to the next, at most, in [1, inf)
        scale: of the square of the update, in (0, inf)
        r: dimensions of the projection, in [1, inf)
        k: updates with one projection, in [1, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        mini: one factor for a matrix: APOLLO-Mini, with r = 1 and scale = 128
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        growth: float | torch.Tensor = 1.01,
        scale: float | torch.Tensor = 1.0,
        r: float | torch.Tensor = 256,
        k: float | torch.Tensor = 200,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        mini: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class ApolloDQN(SpecOptimizer):
    """Apollo: an adaptive parameter-wise diagonal quasi-Newton method

    Ma 2020, arXiv:2009.13586, algorithm 1.

    ::

        Gₜ      = gₜ + wd·wₜ₋₁
        αₜ      = (1 − β)/(1 − βᵗ)
        yₜ      = Gₜ − mₜ₋₁
        mₜ      = mₜ₋₁ + αₜ·yₜ
                  ⎧ √(‖dₜ₋₁²‖) + ε/bound   if rebound = 'constant'
        nₜ      = ⎨
                  ⎩ √(‖dₜ₋₁²‖) + ε         otherwise
        sₜ      = dₜ₋₁/nₜ
        changeₜ = −αₜ·sum(yₜ/nₜ·sₜ) − sum(Bₜ₋₁·sₜ²)
        Bₜ      = Bₜ₋₁ + changeₜ·sₜ²
                  ⎧ max(|Bₜ|, bound)              if rebound = 'constant'
        hₜ      = ⎨
                  ⎩ max(|Bₜ|, max(|yₜ|)) + ε/αₜ   otherwise
        dₜ      = mₜ/hₜ
        wₜ      = wₜ₋₁ − lr·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        beta: decay of the averaged gradient, in [0, 1)
        eps: added to the norm of the step before, in (0, inf)
        bound: least curvature, unless rebound is 'belief', in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        rebound: the least curvature: bound, or the largest change of the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        beta: float | torch.Tensor = 0.9,
        eps: float | torch.Tensor = 0.0001,
        bound: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        rebound: Literal["constant", "belief"] = "constant",
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class CAME(SpecOptimizer):
    """CAME: confidence-guided adaptive memory efficient optimization

    Luo et al. 2023, arXiv:2307.02047, algorithm 2.

    ::

        sₜ = gₜ² + ε₁
        Rₜ = β₂·Rₜ₋₁ + (1 − β₂)·mean[per row](sₜ)   if factored
        Cₜ = β₂·Cₜ₋₁ + (1 − β₂)·mean[per col](sₜ)   if factored
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·sₜ   if not factored
        rₜ = √(mean(Rₜ))/√Rₜ   if factored
        cₜ = 1/√Cₜ   if factored
             ⎧ rₜ·gₜ·cₜ   if factored
        uₜ = ⎨
             ⎩ gₜ/√vₜ     otherwise
        ûₜ = 1/max(1, rms(uₜ)/clip_threshold)·uₜ
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·ûₜ
        Uₜ = (ûₜ − mₜ)² + ε₂   if factored
        Pₜ = β₃·Pₜ₋₁ + (1 − β₃)·mean[per row](Uₜ)   if factored
        Qₜ = β₃·Qₜ₋₁ + (1 − β₃)·mean[per col](Uₜ)   if factored
        pₜ = √(mean(Pₜ))/√Pₜ   if factored
        qₜ = 1/√Qₜ   if factored
             ⎧ pₜ·mₜ·qₜ   if factored
        xₜ = ⎨
             ⎩ mₜ         otherwise
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·xₜ
        where factored: rank ≥ 2

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the averaged update, in [0, 1); decay of the second moment, in [0, 1); decay of the instability, in [0, 1)
        eps1: added to the squared gradient, in (0, inf)
        eps2: added to the squared deviation, in (0, inf)
        clip_threshold: bound on the root mean square of an update, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0002,
        betas: tuple[float | torch.Tensor, float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999, 0.9999),
        eps1: float | torch.Tensor = 1e-30,
        eps2: float | torch.Tensor = 1e-16,
        clip_threshold: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class COCOB(SpecOptimizer):
    """Training deep networks without learning rates through coin betting

    Orabona & Tommasi 2017, arXiv:1705.07795, algorithm 2: COCOB-Backprop.

    ::

        dₜ  = gₜ + wd·wₜ₋₁
        w₁ₜ = w₁ₜ₋₁
        Lₜ  = max(Lₜ₋₁, |dₜ|)
        Gₜ  = Gₜ₋₁ + |dₜ|
        Rₜ  = max(Rₜ₋₁ − (wₜ₋₁ − w₁ₜ₋₁)·dₜ, 0)
        θₜ  = θₜ₋₁ − dₜ
        wₜ  = w₁ₜ₋₁ + θₜ/(Lₜ·max(Gₜ + Lₜ, α·Lₜ))·(Lₜ + Rₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        alpha: the first bets are at most 1/alpha of the wealth, in (0, inf)
        eps: first scale of a gradient, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        alpha: float | torch.Tensor = 100.0,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class CautiousAdamW(SpecOptimizer):
    """Cautious optimizers: improving training with one line of code

    Liang et al. 2024, arXiv:2411.16085, algorithm 2.

    ::

        mₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        uₜ = 1/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
             ⎧ 1   if uₜ·gₜ > 0
        φₜ = ⎨
             ⎩ 0   otherwise
        ηₜ = lr·size/(sum(φₜ) + 1)
        wₜ = (1 − lr·wd)·wₜ₋₁ − ηₜ·φₜ·uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-06,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class CautiousLion(SpecOptimizer):
    """Cautious optimizers: improving training with one line of code

    Liang et al. 2024, arXiv:2411.16085; Lion: Chen et al. 2023, arXiv:2302.06675.

    ::

        uₜ = sign(β₁·mₜ₋₁ + (1 − β₁)·gₜ)
        mₜ = β₂·mₜ₋₁ + (1 − β₂)·gₜ
             ⎧ 1   if uₜ·gₜ > 0
        φₜ = ⎨
             ⎩ 0   otherwise
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr/max(mean(φₜ), 1e-3)·φₜ·uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: weight of the momentum in the sign, in [0, 1); decay of the momentum, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.99),
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class DAdaptAdam(SpecOptimizer):
    """Learning-rate-free learning by D-Adaptation

    Defazio & Mishchenko 2023, arXiv:2301.07733, algorithm 5, with the norm of the authors' code, version 3.

    ::

        β₃ₜ    = √β₂
        rateₜ  = dₜ₋₁·lr
        rₜ     = β₃ₜ·rₜ₋₁ + (1 − β₃ₜ)·sum[over params](rateₜ·gₜ·sₜ₋₁/(√vₜ₋₁ + ε))
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·rateₜ·gₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        sₜ     = β₃ₜ·sₜ₋₁ + (1 − β₃ₜ)·rateₜ·gₜ
        totalₜ = (1 − β₃ₜ)·sum[over params](|sₜ|)
                 ⎧ dₜ₋₁                                        if totalₜ = 0
        dₜ     = ⎨
                 ⎩ dₜ₋₁·clip(rₜ/totalₜ/dₜ₋₁, 1, growth_rate)   otherwise
        wₜ     = (1 − rateₜ·wd)·wₜ₋₁ − mₜ/(√vₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found; a schedule may change it
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        d0: first estimate of the distance to the solution, in (0, inf)
        growth_rate: bound on the growth of the estimate in a step, in (1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        d0: float | torch.Tensor = 1e-06,
        growth_rate: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class DAdaptLion(SpecOptimizer):
    """Lion with a rate that D-Adaptation finds

    Defazio & Mishchenko 2023, arXiv:2301.07733; Lion: Chen et al. 2023, arXiv:2302.06675; as in the authors' code.

    ::

        β₃ₜ    = √β₂
        rateₜ  = dₜ₋₁·lr
        uₜ     = sign(β₁·mₜ₋₁ + (1 − β₁)·gₜ)
        mₜ     = β₂·mₜ₋₁ + (1 − β₂)·rateₜ·gₜ
        rₜ     = β₃ₜ·rₜ₋₁ + (1 − β₃ₜ)·sum[over params](rateₜ·uₜ·sₜ₋₁)
        sₜ     = β₃ₜ·sₜ₋₁ + (1 − β₃ₜ)·rateₜ·uₜ
        totalₜ = (1 − β₃ₜ)·sum[over params](|sₜ|)
                 ⎧ dₜ₋₁                   if totalₜ = 0
        dₜ     = ⎨
                 ⎩ max(dₜ₋₁, rₜ/totalₜ)   otherwise
        wₜ     = (1 − rateₜ·wd)·wₜ₋₁ − rateₜ·uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found; a schedule may change it
        betas: weight of the momentum in the sign, in [0, 1); decay of the momentum, in [0, 1)
        d0: first estimate of the distance to the solution, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        d0: float | torch.Tensor = 1e-06,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class DAdaptSGD(SpecOptimizer):
    """Learning-rate-free learning by D-Adaptation

    Defazio & Mishchenko 2023, arXiv:2301.07733, as in the authors' code.

    ::

        Gₜ     = gₜ + wd·wₜ₋₁
        x₀ₜ    = x₀ₜ₋₁
                 ⎧ ‖Gₜ‖[over params]   if n₀ₜ₋₁ = 0
        n₀ₜ    = ⎨
                 ⎩ n₀ₜ₋₁               otherwise
                 ⎧ 0             if n₀ₜ = 0
        rateₜ  = ⎨
                 ⎩ dₜ₋₁·lr/n₀ₜ   otherwise
        rₜ     = rₜ₋₁ + sum[over params](rateₜ·Gₜ·sₜ₋₁)
        sₜ     = sₜ₋₁ + rateₜ·Gₜ
        totalₜ = ‖sₜ‖[over params]
                 ⎧ dₜ₋₁                                          if totalₜ = 0
        dₜ     = ⎨
                 ⎩ dₜ₋₁·clip(2·rₜ/totalₜ/dₜ₋₁, 1, growth_rate)   otherwise
        wₜ     = wₜ₋₁ + (1 − momentum)·(x₀ₜ₋₁ − sₜ − wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found; a schedule may change it
        momentum: weight of the present iterate in the average, in [0, 1)
        d0: first estimate of the distance to the solution, in (0, inf)
        growth_rate: bound on the growth of the estimate in a step, in (1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        momentum: float | torch.Tensor = 0.9,
        d0: float | torch.Tensor = 1e-06,
        growth_rate: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class DCASGD(SpecOptimizer):
    """Asynchronous stochastic gradient descent with delay compensation

    Zheng et al. 2017, arXiv:1609.08326, algorithm 2.

    ::

        dₜ        = gₜ + wd·wₜ₋₁ + λ·gₜ·gₜ·(wₜ₋₁ − previousₜ₋₁)
        momₜ      = momentum·momₜ₋₁ − lr·dₜ   if heavy
                    ⎧ wₜ₋₁ + momₜ    if heavy
        wₜ        = ⎨
                    ⎩ wₜ₋₁ − lr·dₜ   otherwise
        previousₜ = wₜ₋₁
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity; 0 keeps none, in [0, 1)
        lamda: strength of the compensation, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.0,
        lamda: float | torch.Tensor = 0.04,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class DiffGrad(SpecOptimizer):
    """diffGrad: an optimization method for convolutional neural networks

    Dubey et al. 2019, arXiv:1909.11015.

    ::

        dₜ        = gₜ + wd·wₜ₋₁
        mₜ        = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ        = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        frictionₜ = 1/(1 + exp(−|g_prevₜ₋₁ − dₜ|))
        g_prevₜ   = dₜ
        wₜ        = wₜ₋₁ − lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)·frictionₜ·mₜ/(√vₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Dion(SpecOptimizer):
    """Dion: distributed orthonormalized updates

    Ahn et al. 2025, arXiv:2504.05295, algorithm 1.

    ::

        Vₜ₋₁ ~ N(0, 1)[cols x r]   if t = 1
        Bₜ   = Mₜ₋₁ + gₜ
        Pₜ   = orthonormal(Bₜ@Vₜ₋₁)
        Rₜ   = Bₜᵀ@Pₜ
        Mₜ   = Bₜ − (1 − μ)·Pₜ@Rₜᵀ
        Vₜ   = Rₜ/max(‖Rₜ‖[per col], ε)
        wₜ   = (1 − lr·wd)·wₜ₋₁ − lr·√(rows/cols)·Pₜ@Vₜᵀ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        mu: decay of the momentum where the last update went, in [0, 1)
        r: of the update: at most the smaller side of the matrix, in [1, inf)
        eps: the least length of a column, in (0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.01,
        mu: float | torch.Tensor = 0.95,
        r: float | torch.Tensor = 16,
        eps: float | torch.Tensor = 1e-08,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class DoG(SpecOptimizer):
    """DoG is SGD's best friend: a parameter-free dynamic step size schedule

    Ivgi, Hinder & Carmon 2023, arXiv:2302.12022.

    ::

        rₜ₋₁ = reps_rel·(1 + ‖wₜ₋₁‖[over params])   if t = 1
        dₜ   = gₜ + wd·wₜ₋₁
        x₀ₜ  = x₀ₜ₋₁
        rₜ   = max(rₜ₋₁, ‖wₜ₋₁ − x₀ₜ₋₁‖[over params])
        Gₜ   = Gₜ₋₁ + sum[over params](dₜ²)
        wₜ   = wₜ₋₁ − lr·rₜ/√(Gₜ + ε)·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found
        reps_rel: first distance, in units of 1 + the norm of the weights, in (0, inf)
        eps: added to the sum of squared gradients, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        reps_rel: float | torch.Tensor = 1e-06,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class DoWG(SpecOptimizer):
    """DoWG unleashed: an efficient universal parameter-free gradient descent method

    Khaled, Mishchenko & Jin 2023, arXiv:2305.16284, algorithm 1.

    ::

        dₜ  = gₜ + wd·wₜ₋₁
        x₀ₜ = x₀ₜ₋₁
        r₂ₜ = max(r₂ₜ₋₁, sum[over params]((wₜ₋₁ − x₀ₜ₋₁)²))
        vₜ  = vₜ₋₁ + r₂ₜ·sum[over params](dₜ²)
        wₜ  = wₜ₋₁ − lr·r₂ₜ/(√vₜ + ε)·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found
        eps: first squared distance; added to the root of the weighted sum, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        eps: float | torch.Tensor = 0.0001,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class EFSignSGD(SpecOptimizer):
    """Error feedback fixes SignSGD and other gradient compression schemes

    Karimireddy et al. 2019, arXiv:1901.09847.

    ::

        pₜ = lr·(gₜ + wd·wₜ₋₁) + eₜ₋₁
        uₜ = mean(|pₜ|)·sign(pₜ)
        eₜ = pₜ − uₜ
        wₜ = wₜ₋₁ − uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ExtraAdam(SpecOptimizer):
    """Extra-Adam: Adam with extrapolation, for games and saddle points

    Gidel, Berard, Vignoud, Vincent & Lacoste-Julien 2019, arXiv:1802.10551.

    ::

        phase extrapolate:
        dₜ     = gₜ + wd·wₜ₋₁
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        m̂ₜ     = mₜ/(1 − β₁^(2·t − 1))
        v̂ₜ     = vₜ/(1 − β₂^(2·t − 1))
        startₜ = wₜ₋₁
        wₜ     = wₜ₋₁ − lr·m̂ₜ/(√v̂ₜ + ε)
        phase correct:
        dₜ     = gₜ + wd·wₜ₋₁
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        m̂ₜ     = mₜ/(1 − β₁^(2·t))
        v̂ₜ     = vₜ/(1 − β₂^(2·t))
        wₜ     = startₜ₋₁ − lr·m̂ₜ/(√v̂ₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.5, 0.9),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...
    def extrapolate(self) -> None: ...
    def correct(self) -> None: ...

class ExtraGradient(SpecOptimizer):
    """the extragradient method, for games and saddle points

    Korpelevich 1976, Ekonomika i Matematicheskie Metody 12(4); Gidel et al. 2019, arXiv:1802.10551.

    ::

        phase extrapolate:
        startₜ = wₜ₋₁
        wₜ     = wₜ₋₁ − lr·(gₜ + wd·wₜ₋₁)
        phase correct:
        wₜ     = startₜ₋₁ − lr·(gₜ + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...
    def extrapolate(self) -> None: ...
    def correct(self) -> None: ...

class FAdam(SpecOptimizer):
    """FAdam: Adam is a natural gradient optimizer using diagonal empirical Fisher information

    Hwang 2024, arXiv:2405.12807, algorithm 1, with the power 1/2.

    ::

        b₂ₜ    = β₂·(1 − β₂^(t − 1))/(1 − β₂ᵗ)
        fₜ     = b₂ₜ·fₜ₋₁ + (1 − b₂ₜ)·gₜ²
        leastₜ = ε₂·rms(gₜ)
        rootₜ  = √fₜ + ({ε if leastₜ = 0; min(leastₜ, ε) otherwise})
        uₜ     = gₜ/rootₜ
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)/max(1, rms(uₜ)/clip_threshold)·uₜ
        decayₜ = wₜ₋₁/rootₜ
        wₜ     = wₜ₋₁ − lr·(mₜ + wd/max(1, rms(decayₜ)/clip_threshold)·decayₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the averaged natural gradient, in [0, 1); decay of the Fisher information, in [0, 1)
        eps: largest number that is added to the root of the information, in (0, inf)
        eps2: the number that is added, in units of the gradient's root mean square, in (0, inf)
        clip_threshold: bound on the root mean square of a natural gradient, and of the decay, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        eps2: float | torch.Tensor = 0.01,
        clip_threshold: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class FOCUS(SpecOptimizer):
    """First-order concentrated updating scheme

    Liu, Liu & Gore 2025, arXiv:2501.12243, algorithm 1.

    ::

        mₜ       = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        averageₜ = β₂·averageₜ₋₁ + (1 − β₂)·wₜ₋₁
        centerₜ  = averageₜ/(1 − β₂ᵗ)
        dₜ       = wₜ₋₁ − lr·wd·centerₜ
        wₜ       = dₜ − lr·(sign(mₜ) + γ·sign(dₜ − centerₜ))

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the mean of gradients, in [0, 1); decay of the mean of weights, in [0, 1)
        gamma: attraction to the mean of weights, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        gamma: float | torch.Tensor = 0.1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class FTML(SpecOptimizer):
    """Follow the moving leader in deep learning

    Zheng & Kwok 2017, ICML, PMLR 70, algorithm 1.

    ::

        Gₜ = gₜ + wd·wₜ₋₁
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·Gₜ²
             ⎧ dₜ₋₁                                   if lr = 0
        dₜ = ⎨
             ⎩ (1 − β₁ᵗ)/lr·(√(1/(1 − β₂ᵗ)·vₜ) + ε)   otherwise
        σₜ = dₜ − β₁·dₜ₋₁
             ⎧ zₜ₋₁                              if lr = 0
        zₜ = ⎨
             ⎩ β₁·zₜ₋₁ + (1 − β₁)·Gₜ − σₜ·wₜ₋₁   otherwise
             ⎧ wₜ₋₁       if lr = 0
        wₜ = ⎨
             ⎩ (−zₜ)/dₜ   otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate, in [0, inf)
        betas: decay of the averages in z, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.6, 0.999),
        eps: float | torch.Tensor = 1e-08,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Fromage(SpecOptimizer):
    """On the distance between two neural networks and the stability of learning

    Bernstein et al. 2020, arXiv:2002.03432, algorithm 1.

    ::

        w_normₜ = max(‖wₜ₋₁‖, min_norm)
        g_normₜ = max(‖gₜ‖, min_norm)
                  ⎧ 1                 if w_normₜ = 0 or g_normₜ = 0
        ratioₜ  = ⎨
                  ⎩ w_normₜ/g_normₜ   otherwise
        wₜ      = (wₜ₋₁ − lr·ratioₜ·gₜ)/√(1 + lr²)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: length of a step, as a share of the weight's norm
        min_norm: least norm of the weight and of the gradient, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        min_norm: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Ftrl(SpecOptimizer):
    """Ad click prediction: a view from the trenches

    McMahan et al. 2013, KDD, algorithm 1.

    ::

                ⎧ 0      if lr = 0
        rateₜ = ⎨
                ⎩ 1/lr   otherwise
                ⎧ nₜ₋₁         if lr = 0
        nₜ    = ⎨
                ⎩ nₜ₋₁ + gₜ²   otherwise
        σₜ    = rateₜ·(√nₜ − √nₜ₋₁)
                ⎧ zₜ₋₁                  if lr = 0
        zₜ    = ⎨
                ⎩ zₜ₋₁ + gₜ − σₜ·wₜ₋₁   otherwise
                ⎧ wₜ₋₁                                      if lr = 0
        wₜ    = ⎨ 0                                         if |zₜ| ≤ λ₁
                ⎩ lr·(sign(zₜ)·λ₁ − zₜ)/(√nₜ + β + lr·wd)   otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate, in [0, inf)
        lamda1: strength of the L1 penalty, in [0, inf)
        beta: smooths the rate of each weight, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        lamda1: float | torch.Tensor = 0.01,
        beta: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class GaLore(SpecOptimizer):
    """GaLore: memory-efficient LLM training by gradient low-rank projection

    Zhao et al. 2024, arXiv:2403.03507, algorithm 2, of Adam.

    ::

        Pₜ = right_singular_vectors(gₜᵀ)@identity(rows, r)   if not tall and t = 1, 1 + k, ...
        Qₜ = right_singular_vectors(gₜ)@identity(cols, r)   if tall and t = 1, 1 + k, ...
        cₜ = scale·√(1 − β₂ᵗ)/(1 − β₁ᵗ)
        Rₜ = gₜᵀ@Pₜ   if not tall
        Sₜ = gₜ@Qₜ   if tall
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·Rₜ   if not tall
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·Rₜ²   if not tall
        Mₜ = β₁·Mₜ₋₁ + (1 − β₁)·Sₜ   if tall
        Vₜ = β₂·Vₜ₋₁ + (1 − β₂)·Sₜ²   if tall
             ⎧ (1 − lr·wd)·wₜ₋₁ − lr·cₜ·Pₜ@(mₜ/(√vₜ + ε))ᵀ   if not tall
        wₜ = ⎨
             ⎩ (1 − lr·wd)·wₜ₋₁ − lr·cₜ·Mₜ/(√Vₜ + ε)@Qₜᵀ     otherwise
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        betas: in [0, 1); in [0, 1)
        eps: in (0, inf)
        scale: of the update, in (0, inf)
        r: dimensions that are kept of the smaller side, in [1, inf)
        k: updates between two bases, in [1, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        scale: float | torch.Tensor = 0.25,
        r: float | torch.Tensor = 128,
        k: float | torch.Tensor = 200,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class Grams(SpecOptimizer):
    """Grams: gradient descent with adaptive momentum scaling

    Cao, Li & Song 2024, arXiv:2412.17107.

    ::

        mₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        uₜ = 1/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·sign(gₜ)·|uₜ|

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-06,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Gravity(SpecOptimizer):
    """Gravity optimizer: a kinematic approach on optimization in deep learning

    Bahrami & Pourreza Zadeh 2021, arXiv:2101.09192.

    ::

        vₜ₋₁   ~ N(0, 1)   if t = 1
                 ⎧ α/lr   if lr > 0
        startₜ = ⎨
                 ⎩ 0      otherwise
                 ⎧ startₜ·vₜ₋₁   if t = 1
        oldₜ   = ⎨
                 ⎩ vₜ₋₁          otherwise
        decayₜ = (β·t + 1)/(t + 2)
        dₜ     = gₜ + wd·wₜ₋₁
        vₜ     = decayₜ·oldₜ + (1 − decayₜ)·dₜ/(1 + (dₜ·max(|dₜ|))²)
        wₜ     = wₜ₋₁ − lr·vₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        alpha: deviation of the first velocity, divided by lr, in [0, inf)
        beta: decay of the velocity, in the long run, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        alpha: float | torch.Tensor = 0.01,
        beta: float | torch.Tensor = 0.9,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class GroupAdaGrad(SpecOptimizer):
    """AdaGrad with one rate for each row, as for embeddings

    Duchi, Hazan & Singer 2011, JMLR 12, with groups of coordinates.

    ::

        hₜ = hₜ₋₁ + mean[per row](gₜ²)
        wₜ = wₜ₋₁ − lr/√(hₜ + ε)·gₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        eps: added to the sum of squares, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        eps: float | torch.Tensor = 1e-05,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class IVON(SpecOptimizer):
    """IVON: improved variational online Newton

    Shen et al. 2024, arXiv:2402.17641.

    ::

        zₜ       ~ N(0, 1)
                   ⎧ hₜ₋₁                                    if t = 1
        seenₜ    = ⎨
                   ⎩ gₜ·(wₜ₋₁ − centerₜ₋₁)·ess·(hₜ₋₁ + wd)   otherwise
        mₜ       = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        hₜ       = β₂·hₜ₋₁ + (1 − β₂)·seenₜ + 0.5·(1 − β₂)²·(hₜ₋₁ − seenₜ)²/(hₜ₋₁ + wd)
        centerₜ  = centerₜ₋₁ − lr·(mₜ/(1 − β₁ᵗ) + wd·centerₜ₋₁)/(hₜ + wd)
        wₜ       = centerₜ + zₜ/√(ess·(hₜ + wd))
        wₜ(eval) = centerₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        ess: effective sample size: how many samples the loss is a mean of, in (0, inf)
        hess_init: first estimate of the curvature, in (0, inf)
        betas: decay of the averaged gradient, in [0, 1); decay of the curvature, in [0, 1)
        weight_decay: weight decay, the curvature of the prior, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        ess: float | torch.Tensor = 1000000.0,
        hess_init: float | torch.Tensor = 1.0,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.99999),
        weight_decay: float | torch.Tensor = 0.0001,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class KFAC(SpecOptimizer):
    """K-FAC: the gradient between inverses of the factors of the Fisher matrix

    Martens & Grosse 2015, arXiv:1503.05671, sections 6.3 and 6.6; inputs as of Eschenhagen et al. 2023, arXiv:2311.00636.

    ::

        cₜ = 1 − decayᵗ
        Rₜ = decay·Rₜ₋₁ + (1 − decay)·Aₜ
        Lₜ = decay·Lₜ₋₁ + (1 − decay)·Gₜ
        pₜ = √((trace(Rₜ) + 1e-30)/cols/((trace(Lₜ) + 1e-30)/rows))
        dₜ = √damping
        Pₜ = inverse_root(Rₜ/cₜ + pₜ·dₜ·identity(cols), 1)   if t = 1, 1 + k, ...
        Qₜ = inverse_root(Lₜ/cₜ + dₜ/pₜ·identity(rows), 1)   if t = 1, 1 + k, ...
        mₜ = momentum·mₜ₋₁ + Qₜ@gₜ@Pₜ
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·mₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity, in [0, 1)
        decay: decay of the factors, in [0, 1)
        damping: added to the Fisher matrix, a part to each factor, in (0, inf)
        k: updates from one inversion to the next, in [1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.9,
        decay: float | torch.Tensor = 0.95,
        damping: float | torch.Tensor = 0.001,
        k: float | torch.Tensor = 1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class Kate(SpecOptimizer):
    """Remove that square root: a new efficient scale-invariant version of AdaGrad

    Choudhury, Tupitsa, Loizou, Horvath, Takac & Gorbunov 2024, arXiv:2403.02648, algorithm 1.

    ::

        bₜ = bₜ₋₁ + gₜ² + ε
        mₜ = mₜ₋₁ + η·gₜ² + gₜ²/bₜ
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·√mₜ·gₜ/bₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        eta: weight of squared gradients beside those divided by their sums, in [0, inf)
        eps: added to the sums of squares in each step, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        eta: float | torch.Tensor = 0.0,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LAMB(SpecOptimizer):
    """Large batch optimization for deep learning: training BERT in 76 minutes

    You et al. 2020, arXiv:1904.00962, algorithm 2.

    ::

        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
                 ⎧ 1/(1 − β₁ᵗ)·mₜ   if bias_correction
        m̂ₜ     = ⎨
                 ⎩ mₜ               otherwise
                 ⎧ 1/(1 − β₂ᵗ)·vₜ   if bias_correction
        v̂ₜ     = ⎨
                 ⎩ vₜ               otherwise
        uₜ     = m̂ₜ/(√v̂ₜ + ε) + wd·wₜ₋₁
        r₁ₜ    = clip(‖wₜ₋₁‖, lower_bound, upper_bound)
        r₂ₜ    = ‖uₜ‖
                 ⎧ 1         if r₁ₜ = 0 or r₂ₜ = 0
        trustₜ = ⎨
                 ⎩ r₁ₜ/r₂ₜ   otherwise
        wₜ     = wₜ₋₁ − lr·trustₜ·uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        lower_bound: least norm of the weight in the ratio, in [0, inf)
        upper_bound: largest norm of the weight in the ratio, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        bias_correction: divide the moments by what their start at 0 costs
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-06,
        lower_bound: float | torch.Tensor | None = None,
        upper_bound: float | torch.Tensor | None = None,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        bias_correction: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LANS(SpecOptimizer):
    """Accelerated large batch optimization of BERT pretraining in 54 minutes

    Zheng et al. 2020, arXiv:2006.13484, algorithm 2.

    ::

        g_normₜ  = ‖gₜ‖
        dₜ       = ({0 if g_normₜ = 0; 1/g_normₜ otherwise})·gₜ
        mₜ       = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ       = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        rootₜ    = √(1/(1 − β₂ᵗ)·vₜ) + ε
        u_mₜ     = 1/(1 − β₁ᵗ)·mₜ/rootₜ + wd·wₜ₋₁
        u_gₜ     = dₜ/rootₜ + wd·wₜ₋₁
        rₜ       = clip(‖wₜ₋₁‖, lower_bound, upper_bound)
        r_mₜ     = ‖u_mₜ‖
        r_gₜ     = ‖u_gₜ‖
                   ⎧ 1         if rₜ = 0 or r_mₜ = 0
        trust_mₜ = ⎨
                   ⎩ rₜ/r_mₜ   otherwise
                   ⎧ 1         if rₜ = 0 or r_gₜ = 0
        trust_gₜ = ⎨
                   ⎩ rₜ/r_gₜ   otherwise
        wₜ       = wₜ₋₁ − (lr·β₁·trust_mₜ·u_mₜ + lr·(1 − β₁)·trust_gₜ·u_gₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, and its share of the step, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        lower_bound: least norm of the weight in the ratios, in [0, inf)
        upper_bound: largest norm of the weight in the ratios, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-06,
        lower_bound: float | torch.Tensor | None = None,
        upper_bound: float | torch.Tensor | None = None,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LARC(SpecOptimizer):
    """SGD whose rate is clipped, or scaled, by the ratio of the norms of weight and gradient

    You, Gitman & Ginsburg 2017, arXiv:1708.03888; LARC of NVIDIA Apex.

    ::

        w_normₜ = ‖wₜ₋₁‖
        g_normₜ = ‖gₜ‖
        ratioₜ  = trust_coefficient·w_normₜ/(g_normₜ + wd·w_normₜ + ε)
                  ⎧ ({1 if ratioₜ ≥ lr; ratioₜ/lr otherwise})   if clip_rate
        scaleₜ  = ⎨
                  ⎩ ratioₜ                                      otherwise
                  ⎧ gₜ                      if w_normₜ = 0 or g_normₜ = 0
        dₜ      = ⎨
                  ⎩ scaleₜ·(gₜ + wd·wₜ₋₁)   otherwise
        momₜ    = momentum·momₜ₋₁ + dₜ
        wₜ      = wₜ₋₁ − lr·momₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity, in [0, 1)
        trust_coefficient: length of a step, as a share of the weight's norm, in [0, inf)
        eps: added to the norms, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        clip_rate: let the rate never exceed lr; otherwise it is scaled by the ratio
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.9,
        trust_coefficient: float | torch.Tensor = 0.02,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        clip_rate: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LARS(SpecOptimizer):
    """Large batch training of convolutional networks

    You, Gitman & Ginsburg 2017, arXiv:1708.03888; momentum correction: Goyal et al. 2017, arXiv:1706.02677.

    ::

        w_normₜ  = ‖wₜ₋₁‖   if not skip
        g_normₜ  = ‖gₜ‖   if not skip
                   ⎧ ({lr if w_normₜ = 0 or g_normₜ = 0; lr·η·w_normₜ/(g_normₜ + wd·w_normₜ + ε) otherwise})   if not skip
        rateₜ    = ⎨
                   ⎩ lr                                                                                        otherwise
                   ⎧ momentum·({1 if last_lrₜ₋₁ = 0; lr/last_lrₜ₋₁ otherwise})   if corrected
        μₜ       = ⎨
                   ⎩ momentum                                                    if heavy
        last_lrₜ = lr   if corrected
        momₜ     = μₜ·momₜ₋₁ − rateₜ·(gₜ + wd·wₜ₋₁)   if heavy
                   ⎧ wₜ₋₁ + momₜ                      if heavy
        wₜ       = ⎨
                   ⎩ (1 − rateₜ·wd)·wₜ₋₁ − rateₜ·gₜ   otherwise
        where heavy: momentum > 0
        where corrected: heavy and momentum_correction

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity; 0 keeps none, in [0, 1)
        eta: length of a step, as a share of the weight's norm, in [0, inf)
        eps: added to the norms, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        momentum_correction: scale the velocity when the rate changes
        skip: a plain rate, as for biases
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.0,
        eta: float | torch.Tensor = 0.001,
        eps: float | torch.Tensor = 0.0,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        momentum_correction: bool = True,
        skip: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LBSGD(SpecOptimizer):
    """Large-batch SGD: gradients of several calls are one batch, and the rate warms up

    Goyal et al. 2017, arXiv:1706.02677; 'lars': You, Gitman & Ginsburg 2017, arXiv:1708.03888.

    ::

        countₜ     = countₜ₋₁ + 1
        nₜ         = begin_epoch·updates_per_epoch + countₜ
        dueₜ       = ⌊nₜ/batch_scale⌋ = nₜ/batch_scale
                     ⎧ cumₜ₋₁ + gₜ   if gathers
        totalₜ     = ⎨
                     ⎩ gₜ            otherwise
        cumₜ       = ({0 if dueₜ; totalₜ otherwise})   if gathers
        mean_gradₜ = 1/batch_scale·totalₜ
        pₜ         = min(nₜ/max(warmup_epochs·updates_per_epoch, 1), 1)   if warmup_strategy ≠ 'lars'
                     ⎧ 1 + (batch_scale − 1)·pₜ                                                    if warmup_strategy = 'linear'
                     ⎪ 1 + (batch_scale − 1)·pₜ²                                                   if warmup_strategy = 'power2'
        multₜ      = ⎨
                     ⎪ 1 + (batch_scale − 1)·√pₜ                                                   if warmup_strategy = 'sqrt'
                     ⎩ clip(√(sum(wₜ₋₁²)/(sum(mean_gradₜ²) + wd·sum(wₜ₋₁²) + 1e-18)), 0.01, 100)   otherwise
                     ⎧ lr·multₜ   if dueₜ
        rateₜ      = ⎨
                     ⎩ 0          otherwise
        dₜ         = mean_gradₜ
        momₜ       = ({momentum if dueₜ; 1 otherwise})·momₜ₋₁ − rateₜ·(dₜ + wd·wₜ₋₁)   if heavy
                     ⎧ wₜ₋₁ + ({1 if dueₜ; 0 otherwise})·momₜ   if heavy
        wₜ         = ⎨
                     ⎩ (1 − rateₜ·wd)·wₜ₋₁ − rateₜ·dₜ           otherwise
        where heavy: momentum > 0
        where gathers: batch_scale > 1

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity; 0 keeps none, in [0, 1)
        warmup_epochs: epochs until it is batch_scale*lr, in [0, inf)
        batch_scale: calls that make one batch, in [1, inf)
        updates_per_epoch: calls in an epoch, in [1, inf)
        begin_epoch: epochs before the first call, in [0, inf)
        num_epochs: epochs in all; no equation uses it
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        warmup_strategy: how the rate grows
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.0,
        warmup_epochs: float | torch.Tensor = 5,
        batch_scale: float | torch.Tensor = 1,
        updates_per_epoch: float | torch.Tensor = 32,
        begin_epoch: float | torch.Tensor = 0,
        num_epochs: float | torch.Tensor = 60,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        warmup_strategy: Literal["linear", "power2", "sqrt", "lars"] = "linear",
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LDoG(SpecOptimizer):
    """DoG with a distance and a sum for each parameter

    Ivgi, Hinder & Carmon 2023, arXiv:2302.12022: layer-wise DoG.

    ::

        rₜ₋₁ = reps_rel·(1 + ‖wₜ₋₁‖)   if t = 1
        dₜ   = gₜ + wd·wₜ₋₁
        x₀ₜ  = x₀ₜ₋₁
        rₜ   = max(rₜ₋₁, ‖wₜ₋₁ − x₀ₜ₋₁‖)
        Gₜ   = Gₜ₋₁ + sum(dₜ²)
        wₜ   = wₜ₋₁ − lr·rₜ/√(Gₜ + ε)·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found
        reps_rel: first distance, in units of 1 + the norm of the weight, in (0, inf)
        eps: added to the sum of squared gradients, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        reps_rel: float | torch.Tensor = 1e-06,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class LaProp(SpecOptimizer):
    """LaProp: separating momentum and adaptivity in Adam

    Ziyin, Wang & Ueda 2020, arXiv:2002.04839, algorithm 1.

    ::

        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr/(1 − β₁ᵗ)·mₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the momentum, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0004,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-15,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Lion(SpecOptimizer):
    """Symbolic discovery of optimization algorithms

    Chen et al. 2023, arXiv:2302.06675, algorithm 2.

    ::

        cₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        mₜ = β₂·mₜ₋₁ + (1 − β₂)·gₜ
        wₜ = wₜ₋₁ − lr·(sign(cₜ) + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: weight of the momentum in the sign, in [0, 1); decay of the momentum, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.99),
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class MADGRAD(SpecOptimizer):
    """Adaptivity without compromise: a momentumized, adaptive, dual averaged gradient method

    Defazio & Jelassi 2021, arXiv:2101.11075, algorithm 1.

    ::

        dₜ    = gₜ + wd·wₜ₋₁
        lambₜ = (lr + ε)·√t
        x₀ₜ   = x₀ₜ₋₁
        sₜ    = sₜ₋₁ + lambₜ·dₜ
        vₜ    = vₜ₋₁ + lambₜ·dₜ²
        zₜ    = x₀ₜ₋₁ − sₜ/(∛vₜ + ε)
        wₜ    = wₜ₋₁ + (1 − momentum)·(zₜ − wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: weight of the present iterate in the average, in [0, 1)
        eps: added to the cube root, and to the rate, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.9,
        eps: float | torch.Tensor = 1e-06,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class MARS(SpecOptimizer):
    """MARS: unleashing the power of variance reduction for training large models

    Yuan et al. 2024, arXiv:2411.10438, algorithm 2, with the last step's gradient in place of a second one.

    ::

                  ⎧ 0                if t = 1
        diffₜ   = ⎨
                  ⎩ gₜ − g_prevₜ₋₁   otherwise
        g_prevₜ = gₜ
        cₜ      = gₜ + γ·β₁/(1 − β₁)·diffₜ
        ĉₜ      = 1/max(1, ‖cₜ‖)·cₜ
        mₜ      = β₁·mₜ₋₁ + (1 − β₁)·ĉₜ
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·ĉₜ²
        uₜ      = 1/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ      = wₜ₋₁ − lr·(uₜ + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        gamma: strength of the correction, in [0, inf)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.003,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.95, 0.99),
        gamma: float | torch.Tensor = 0.025,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class MeZO(SpecOptimizer):
    """zeroth-order SGD: two losses take the place of a gradient, and nothing is kept but the weights

    Malladi, Gao, Nichani, Damian, Lee, Chen & Arora 2023, arXiv:2305.17333, algorithm 1.

    ::

        phase ahead:
        zₜ     ~ N(0, 1)
        wₜ     = wₜ₋₁ + ε·zₜ
        phase behind:
        aboveₜ = loss
        wₜ     = wₜ₋₁ − 2·ε·zₜ
        phase descend:
        cₜ     = (aboveₜ₋₁ − loss)/(2·ε)
        wₜ     = wₜ₋₁ + ε·zₜ − lr·(cₜ·zₜ + wd·(wₜ₋₁ + ε·zₜ))

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        eps: how far on both sides of the weights the loss is computed, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1e-06,
        eps: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...
    def ahead(self) -> None: ...
    def behind(self) -> None: ...
    def descend(self) -> None: ...

class Muon(TorchOptimizer, torch.optim.Muon):
    """torch.optim.Muon, with kernels of optgen.

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; Liu et al. 2025, arXiv:2502.16982.

    ::

                           ⎧ momentum_bufferₜ₋₁ + (1 − momentum)·(gₜ − momentum_bufferₜ₋₁)   if 1 − momentum < 0.5
        momentum_bufferₜ = ⎨
                           ⎩ gₜ − (gₜ − momentum_bufferₜ₋₁)·(1 − (1 − momentum))             otherwise
                           ⎧ ({gₜ + momentum·(momentum_bufferₜ − gₜ) if momentum < 0.5; momentum_bufferₜ − (momentum_bufferₜ − gₜ)·(1 − momentum) otherwise})   if nesterov
        dₜ               = ⎨
                           ⎩ momentum_bufferₜ                                                                                                                   otherwise
                           ⎧ dₜᵀ   if tall
        Xₜ               = ⎨
                           ⎩ dₜ    otherwise
        Rₜ               = bfloat16(Xₜ)   if rounded
                           ⎧ bfloat16(Rₜ/bfloat16(max(‖Rₜ‖, ε)))   if rounded
        Yₜ               = ⎨
                           ⎩ Xₜ/max(‖Xₜ‖, ε)                       otherwise
        repeat ns_steps times:
                           ⎧ bfloat16(Yₜ@Yₜᵀ)   if rounded
          Aₜ             = ⎨
                           ⎩ Yₜ@Yₜᵀ             otherwise
                           ⎧ bfloat16(b·Aₜ + c·Aₜ@Aₜ)   if rounded
          Bₜ             = ⎨
                           ⎩ b·Aₜ + c·Aₜ@Aₜ             otherwise
                           ⎧ bfloat16(a·Yₜ + Bₜ@Yₜ)   if rounded
          Yₜ             ← ⎨
                           ⎩ a·Yₜ + Bₜ@Yₜ             otherwise
        end
                           ⎧ Yₜᵀ   if tall
        Oₜ               = ⎨
                           ⎩ Yₜ    otherwise
                           ⎧ √(max(1, rows/cols))     if adjust_lr_fn = 'original'
        sₜ               = ⎨ √(rows/cols)             if adjust_lr_fn = 'spectral_unclamped'
                           ⎩ 0.2·√(max(rows, cols))   otherwise
        wₜ               = (1 − lr·weight_decay)·wₜ₋₁ − lr·sₜ·Oₜ
        where tall: rows > cols

    Args:
        those of torch.optim.Muon, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float = 0.001,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-07,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "bfloat16",
    ) -> None: ...

class MuonAdamW(SpecOptimizer):
    """Muon for matrices, AdamW for other parameters

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon.

    ::

        m_muonₜ    = muon_momentum·m_muonₜ₋₁ + (1 − muon_momentum)·gₜ   if muon
                     ⎧ (1 − muon_momentum)·gₜ + muon_momentum·m_muonₜ   if muon and muon_nesterov
        dₜ         = ⎨
                     ⎩ m_muonₜ                                          if muon
                     ⎧ dₜᵀ   if muon and muon_tall
        Xₜ         = ⎨
                     ⎩ dₜ    if muon
        Yₜ         = Xₜ/max(‖Xₜ‖, ε_muon)   if muon
        repeat muon_ns_steps times:
          Aₜ       = Yₜ@Yₜᵀ   if muon
          Yₜ       ← a·Yₜ + (b·Aₜ + c·Aₜ@Aₜ)@Yₜ   if muon
        end
                     ⎧ Yₜᵀ   if muon and muon_tall
        Oₜ         = ⎨
                     ⎩ Yₜ    if muon
                     ⎧ √(max(1, rows/cols))     if muon and muon_adjust_lr = 'original'
        sₜ         = ⎨ 0.2·√(max(rows, cols))   if muon and muon_adjust_lr = 'match_rms_adamw'
                     ⎩ 1                        if muon
        wₜ         = (1 − lr·wd)·wₜ₋₁ − lr·sₜ·Oₜ   if muon
                     ⎧ adam_lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)   if not muon and adam_correct_bias
        adam_rateₜ = ⎨
                     ⎩ adam_lr                        if not muon
        m_adamₜ    = β₁·m_adamₜ₋₁ + (1 − β₁)·gₜ   if not muon
        vₜ         = β₂·vₜ₋₁ + (1 − β₂)·gₜ²   if not muon
        wₜ         = (1 − adam_lr·wd)·wₜ₋₁ − adam_rateₜ·m_adamₜ/(√vₜ + ε_adam)   if not muon
        where muon: (rank = 2 or rank > 2 and filters) and not plain
        where muon_tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        adam_lr: the rate of AdamW
        weight_decay: weight decay, in [0, inf)
        muon_momentum: in [0, 1)
        muon_a: a param of the spec
        muon_b: a param of the spec
        muon_c: a param of the spec
        muon_epsilon: in [0, inf)
        muon_ns_steps: turns of the Newton-Schulz iteration, in [0, 100)
        adam_beta1: decay of the first moment, in [0, 1)
        adam_beta2: decay of the second moment, in [0, 1)
        adam_epsilon: added to the root of the second moment, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        rescale_grad: factor on the gradient
        plain: AdamW for this matrix too, as for embeddings and the last layer; patterns of names that are plain, as ('head.*', '*.embed.*'); True: all; () or False: none
        filters: of convolutions are matrices of an output channel a row
        muon_nesterov: a flag of the spec
        muon_adjust_lr: the factor on lr, by the shape
        adam_correct_bias: make up for the moments' start at 0
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.02,
        adam_lr: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.1,
        muon_momentum: float | torch.Tensor = 0.95,
        muon_a: float | torch.Tensor = 3.4445,
        muon_b: float | torch.Tensor = -4.775,
        muon_c: float | torch.Tensor = 2.0315,
        muon_epsilon: float | torch.Tensor = 1e-07,
        muon_ns_steps: float | torch.Tensor = 5,
        adam_beta1: float | torch.Tensor = 0.9,
        adam_beta2: float | torch.Tensor = 0.999,
        adam_epsilon: float | torch.Tensor = 1e-06,
        clip_gradient: float | torch.Tensor | None = None,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        plain: bool | Iterable[str] | None = None,
        filters: bool = True,
        muon_nesterov: bool = True,
        muon_adjust_lr: Literal["original", "match_rms_adamw", "none"] = "original",
        adam_correct_bias: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class MuonBatched(SpecOptimizer):
    """Muon for batches of matrices, such as the weights of experts

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; Liu et al. 2025, arXiv:2502.16982.

    ::

        mₜ   = momentum·mₜ₋₁ + (1 − momentum)·gₜ
               ⎧ (1 − momentum)·gₜ + momentum·mₜ   if nesterov
        dₜ   = ⎨
               ⎩ mₜ                                otherwise
               ⎧ dₜᵀ   if tall
        Xₜ   = ⎨
               ⎩ dₜ    otherwise
        Yₜ   = Xₜ/max(‖Xₜ‖[per matrix], ε)
        repeat ns_steps times:
          Aₜ = Yₜ@Yₜᵀ
          Yₜ ← a·Yₜ + (b·Aₜ + c·Aₜ@Aₜ)@Yₜ
        end
               ⎧ Yₜᵀ   if tall
        Oₜ   = ⎨
               ⎩ Yₜ    otherwise
               ⎧ √(max(1, rows/cols))     if adjust_lr = 'original'
        sₜ   = ⎨ 0.2·√(max(rows, cols))   if adjust_lr = 'match_rms_adamw'
               ⎩ 1                        otherwise
        wₜ   = (1 − lr·wd)·wₜ₋₁ − lr·sₜ·Oₜ
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        momentum: in [0, 1)
        a: a param of the spec
        b: a param of the spec
        c: a param of the spec
        eps: in [0, inf)
        ns_steps: turns of the Newton-Schulz iteration, in [0, 100)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        nesterov: a flag of the spec
        adjust_lr: the factor on lr, by the shape
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.95,
        a: float | torch.Tensor = 3.4445,
        b: float | torch.Tensor = -4.775,
        c: float | torch.Tensor = 2.0315,
        eps: float | torch.Tensor = 1e-07,
        ns_steps: float | torch.Tensor = 5,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        nesterov: bool = True,
        adjust_lr: Literal["original", "match_rms_adamw", "none"] = "original",
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class MuonClip(SpecOptimizer):
    """Kimi K2: Muon, and weights of queries and keys that bound the logits of attention

    Kimi Team 2025, arXiv:2507.20534.

    ::

        mₜ   = momentum·mₜ₋₁ + gₜ
               ⎧ mₜᵀ   if tall
        Xₜ   = ⎨
               ⎩ mₜ    otherwise
        Yₜ   = Xₜ/max(‖Xₜ‖, 1e-7)
        repeat ns_steps times:
          Aₜ = Yₜ@Yₜᵀ
          Yₜ ← a·Yₜ + (b·Aₜ + c·Aₜ@Aₜ)@Yₜ
        end
               ⎧ Yₜᵀ   if tall
        Oₜ   = ⎨
               ⎩ Yₜ    otherwise
               ⎧ τ/max(max_logit, 1e-30)   if max_logit > τ
        γₜ   = ⎨
               ⎩ 1                         otherwise
        wₜ   = γₜ^power·((1 − lr·wd)·wₜ₋₁ − 0.2·lr·√(max(rows, cols))·Oₜ)
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        momentum: in [0, 1)
        a: a param of the spec
        b: a param of the spec
        c: a param of the spec
        ns_steps: turns of the Newton-Schulz iteration, in [0, 100)
        tau: bound on the logits, in (0, inf)
        max_logit: the largest logit of the last batch; of each parameter, as a list, in [0, inf)
        power: of the factor: 0.5 for queries and for keys, 1 for rotary queries, in [0, 1]
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0002,
        weight_decay: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.95,
        a: float | torch.Tensor = 3.4445,
        b: float | torch.Tensor = -4.775,
        c: float | torch.Tensor = 2.0315,
        ns_steps: float | torch.Tensor = 5,
        tau: float | torch.Tensor = 100.0,
        max_logit: float | torch.Tensor = 0.0,
        power: float | torch.Tensor = 0.5,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class NAG(SpecOptimizer):
    """Nesterov accelerated gradient

    Nesterov 1983; Sutskever et al. 2013, On the importance of initialization and momentum in deep learning.

    ::

               ⎧ wₜ₋₁ + momentum²·momₜ₋₁ − (1 + momentum)·lr·(gₜ + wd·wₜ₋₁)   if heavy
        wₜ   = ⎨
               ⎩ (1 − lr·wd)·wₜ₋₁ − lr·gₜ                                     otherwise
        momₜ = momentum·momₜ₋₁ − lr·(gₜ + wd·wₜ)   if heavy
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity; 0 keeps none, in [0, 1)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.0,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class NAdam(TorchOptimizer, torch.optim.NAdam):
    """torch.optim.NAdam, with kernels of optgen.

    Dozat 2016, ICLR workshop: Incorporating Nesterov momentum into Adam.

    ::

        bias_correction2ₜ = 1 − β₂ᵗ
                            ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                            ⎪ −gₜ                      if maximize
        dₜ                = ⎨
                            ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                            ⎩ gₜ                       otherwise
        μₜ                = β₁·(1 − 0.5·0.96^(t·momentum_decay))
        μ_nextₜ           = β₁·(1 − 0.5·0.96^((t + 1)·momentum_decay))
                            ⎧ float32(μ_productₜ₋₁·float32(μₜ))   if single
        μ_productₜ        = ⎨
                            ⎩ μ_productₜ₋₁·μₜ                     otherwise
                            ⎧ exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)   if β₁ > 0.5
        exp_avgₜ          = ⎨
                            ⎩ dₜ − β₁·(dₜ − exp_avgₜ₋₁)                 otherwise
        exp_avg_sqₜ       = β₂·exp_avg_sqₜ₋₁ + (1 − β₂)·dₜ·dₜ
        denomₜ            = √(exp_avg_sqₜ/bias_correction2ₜ) + ε
                            ⎧ (1 − lr·weight_decay)·wₜ₋₁   if decoupled_weight_decay
        decayedₜ          = ⎨
                            ⎩ wₜ₋₁                         otherwise
        aheadₜ            = lr·(1 − μₜ)/(1 − μ_productₜ)·dₜ/denomₜ
        wₜ                = decayedₜ − aheadₜ − lr·μ_nextₜ/(1 − μ_productₜ·μ_nextₜ)·exp_avgₜ/denomₜ
        where decays: weight_decay ≠ 0 and not decoupled_weight_decay

    Args:
        those of torch.optim.NAdam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.002,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum_decay: float = 0.004,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class NAdamW(SpecOptimizer):
    """Adam with Nesterov's momentum and decoupled weight decay

    Dozat 2016, ICLR workshop; Loshchilov & Hutter 2019, arXiv:1711.05101; Dahl et al. 2023, arXiv:2306.07179.

    ::

        mₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        m̄ₜ = β₁/(1 − β₁^(t + 1))·mₜ + (1 − β₁)/(1 − β₁ᵗ)·gₜ
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·m̄ₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class NSGD(SpecOptimizer):
    """Momentum improves normalized SGD

    Cutkosky & Mehta 2020, arXiv:2002.03305.

    ::

        mₜ = β·mₜ₋₁ + (1 − β)·(gₜ + wd·wₜ₋₁)
        nₜ = ‖mₜ‖[over params]
        wₜ = wₜ₋₁ − lr·({0 if nₜ = 0; 1/nₜ otherwise})·mₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: length of a step of all parameters together
        beta: decay of the averaged gradient, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        beta: float | torch.Tensor = 0.9,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class NoisySGD(SpecOptimizer):
    """Adding gradient noise improves learning for very deep networks

    Neelakantan et al. 2015, arXiv:1511.06807, eq. 1.

    ::

        zₜ ~ N(0, 1)
        wₜ = wₜ₋₁ − lr·(gₜ + wd·wₜ₋₁ + √(η/t^γ)·zₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        eta: variance of the noise in the first step, in [0, inf)
        gamma: power with which the variance falls, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        eta: float | torch.Tensor = 0.01,
        gamma: float | torch.Tensor = 0.55,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class NorMuon(SpecOptimizer):
    """NorMuon: making Muon more efficient and scalable

    Li et al. 2025, arXiv:2510.05491.

    ::

        mₜ   = β₁·mₜ₋₁ + (1 − β₁)·gₜ
               ⎧ mₜᵀ   if tall
        Xₜ   = ⎨
               ⎩ mₜ    otherwise
        Yₜ   = Xₜ/max(‖Xₜ‖, 1e-7)
        repeat ns_steps times:
          Aₜ = Yₜ@Yₜᵀ
          Yₜ ← a·Yₜ + (b·Aₜ + c·Aₜ@Aₜ)@Yₜ
        end
               ⎧ Yₜᵀ   if tall
        Oₜ   = ⎨
               ⎩ Yₜ    otherwise
        vₜ   = β₂·vₜ₋₁ + (1 − β₂)·mean[per row](Oₜ²)
        nₜ   = Oₜ/(√vₜ + ε)
        wₜ   = (1 − lr·wd)·wₜ₋₁ − 0.2·lr·√size/max(‖nₜ‖, 1e-30)·nₜ
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        betas: in [0, 1); in [0, 1)
        a: a param of the spec
        b: a param of the spec
        c: a param of the spec
        eps: added to the roots of second moments, in (0, inf)
        ns_steps: turns of the Newton-Schulz iteration, in [0, 100)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.1,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.95, 0.95),
        a: float | torch.Tensor = 3.4445,
        b: float | torch.Tensor = -4.775,
        c: float | torch.Tensor = 2.0315,
        eps: float | torch.Tensor = 1e-08,
        ns_steps: float | torch.Tensor = 5,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class NovoGrad(SpecOptimizer):
    """Stochastic gradient methods with layer-wise adaptive moments for training of deep networks

    Ginsburg et al. 2019, arXiv:1905.11286, algorithm 1.

    ::

        nₜ = sum(gₜ²)
             ⎧ nₜ                      if t = 1
        vₜ = ⎨
             ⎩ β₂·vₜ₋₁ + (1 − β₂)·nₜ   otherwise
        dₜ = 1/(√vₜ + ε)·gₜ + wd·wₜ₋₁
             ⎧ β₁·mₜ₋₁ + (1 − β₁)·dₜ   if grad_averaging
        mₜ = ⎨
             ⎩ β₁·mₜ₋₁ + dₜ            otherwise
        wₜ = wₜ₋₁ − lr·mₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        grad_averaging: weight the gradient by 1 - beta1
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.95, 0.98),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        grad_averaging: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class OptimisticAdam(SpecOptimizer):
    """Training GANs with optimism

    Daskalakis et al. 2018, arXiv:1711.00141, algorithm 1.

    ::

        dₜ      = gₜ + wd·wₜ₋₁
        mₜ      = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ      = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        uₜ      = 1/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ      = wₜ₋₁ − lr·(2·uₜ − ({uₜ if t = 1; u_prevₜ₋₁ otherwise}))
        u_prevₜ = uₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.5, 0.9),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class OptimisticSGD(SpecOptimizer):
    """Optimistic gradient descent: a step along the gradient that is expected next

    Daskalakis et al. 2018, arXiv:1711.00141; Mokhtari, Ozdaglar & Pattathil 2020, arXiv:1901.08511.

    ::

        dₜ      = gₜ + wd·wₜ₋₁
        wₜ      = wₜ₋₁ − lr·((α + β)·dₜ − β·({dₜ if t = 1; g_prevₜ₋₁ otherwise}))
        g_prevₜ = dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        alpha: weight of the gradient, in [0, inf)
        beta: weight of its change, by which the next one is guessed, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        alpha: float | torch.Tensor = 1.0,
        beta: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class PAdam(SpecOptimizer):
    """Closing the generalization gap of adaptive gradient methods in training deep neural networks

    Chen et al. 2018, arXiv:1806.06763, algorithm 1.

    ::

        dₜ     = gₜ + wd·wₜ₋₁
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        v_maxₜ = max(v_maxₜ₋₁, vₜ)   if amsgrad
                 ⎧ √v_maxₜ + ε   if amsgrad
        rootₜ  = ⎨
                 ⎩ √vₜ + ε       otherwise
        wₜ     = wₜ₋₁ − lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)·mₜ/rootₜ^(2·partial)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        partial: power of the second moment; 0.5 is AMSGrad, in (0, 0.5]
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        amsgrad: keep the largest second moment
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        partial: float | torch.Tensor = 0.25,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        amsgrad: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class PID(SpecOptimizer):
    """A PID controller approach for stochastic optimization of deep networks

    An et al. 2018, CVPR.

    ::

        eₜ      = gₜ + wd·wₜ₋₁
        iₜ      = momentum·iₜ₋₁ + eₜ
                  ⎧ 0                                                 if t = 1
        dₜ      = ⎨
                  ⎩ momentum·dₜ₋₁ + (1 − momentum)·(eₜ − g_prevₜ₋₁)   otherwise
        g_prevₜ = eₜ
        wₜ      = wₜ₋₁ − lr·(eₜ + integral·iₜ + derivative·dₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the integral and of the derivative, in [0, 1)
        integral: weight of the integral, in [0, inf)
        derivative: weight of the derivative, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.9,
        integral: float | torch.Tensor = 5.0,
        derivative: float | torch.Tensor = 10.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class PNM(SpecOptimizer):
    """Positive-negative momentum: manipulating stochastic gradient noise to improve generalization

    Xie et al. 2021, arXiv:2103.17182.

    ::

        xₜ = β₁²·nₜ₋₁ + (1 − β₁²)·gₜ
        mₜ = xₜ
        nₜ = mₜ₋₁
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr/√((1 + β₀)² + β₀²)·((1 + β₀)·xₜ − β₀·mₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        beta1: decay of a momentum in a step; each is updated in every second one, in [0, 1)
        beta0: weight of the negative momentum, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        beta1: float | torch.Tensor = 0.9,
        beta0: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class PSGDDiagonal(SpecOptimizer):
    """PSGD: gradients that a diagonal whitens, and of matrices a second factor

    Li 2015, arXiv:1512.04202; Li 2024, arXiv:2402.04553; as in github.com/evanatyourservice/kron_torch.

    ::

        Rₜ₋₁ = identity(cols)   if t = 1
        mₜ   = momentum·mₜ₋₁ + (1 − momentum)·gₜ
        Mₜ   = mₜ/(1 − momentumᵗ)
        Vₜ   ~ N(0, 1)
        Dₜ   = Mₜ + damping·mean(|Mₜ|)·Vₜ
               ⎧ qₜ₋₁·Dₜ@Rₜ₋₁ᵀ   if right
        Aₜ   = ⎨
               ⎩ qₜ₋₁·Dₜ·rₜ₋₁    if not vector
               ⎧ solve(Rₜ₋₁ᵀ, (Vₜ/qₜ₋₁)ᵀ)ᵀ   if right
        Bₜ   = ⎨
               ⎩ Vₜ/qₜ₋₁/rₜ₋₁                if not vector
        nₜ   = sum(Aₜ² + Bₜ²)   if right
        Zₜ   = (Aₜᵀ@Aₜ + Bₜᵀ@Bₜ)/nₜ   if right
               ⎧ ({√(max(|Rₜ₋₁|)/max(qₜ₋₁)) if mod(t, 100·k) = 0; 1 otherwise})   if right
        sₜ   = ⎨
               ⎩ ({√(max(rₜ₋₁)/max(qₜ₋₁)) if mod(t, 100·k) = 0; 1 otherwise})     if not vector
        pₜ   = pₜ₋₁ − precond_lr·pₜ₋₁·((pₜ₋₁·Dₜ)² − (Vₜ/pₜ₋₁)²)/max((pₜ₋₁·Dₜ)² + (Vₜ/pₜ₋₁)²)   if vector and t = k, 2·k, ...
        qₜ   = sₜ·(qₜ₋₁ − precond_lr·qₜ₋₁·(sum[per row](Aₜ²) − sum[per row](Bₜ²))/max(sum[per row](Aₜ²) + sum[per row](Bₜ²)))   if not vector and t = k, 2·k, ...
        Rₜ   = (Rₜ₋₁ − precond_lr/(nₜ·‖Zₜ@(Zₜ@(Zₜ@({1 if ‖Zₜ‖[per col] = max(‖Zₜ‖[per col]); 0 otherwise})))‖/‖Zₜ@(Zₜ@({1 if ‖Zₜ‖[per col] = max(‖Zₜ‖[per col]); 0 otherwise}))‖)·triu(Aₜᵀ@Aₜ − Bₜᵀ@Bₜ)@Rₜ₋₁)/sₜ   if right and t = k, 2·k, ...
        rₜ   = (rₜ₋₁ − precond_lr·rₜ₋₁·(sum[per col](Aₜ²) − sum[per col](Bₜ²))/max(sum[per col](Aₜ²) + sum[per col](Bₜ²)))/sₜ   if not (vector or right) and t = k, 2·k, ...
               ⎧ pₜ²·Mₜ          if vector
        Uₜ   = ⎨ qₜ²·Mₜ@Rₜᵀ@Rₜ   if right
               ⎩ qₜ²·Mₜ·rₜ²      otherwise
        wₜ   = wₜ₋₁ − lr·(min(1, 1.1/(rms(Uₜ) + 1e-12))·Uₜ + wd·wₜ₋₁)
        where vector: rank < 2
        where right: not vector and cols ≤ max_size

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the mean of gradients, in [0, 1)
        precond_lr: rate of the factors, in [0, 1)
        damping: of the noise that factors see beside gradients, relative to these, in [0, inf)
        k: updates between two of the factors; raise it in training, in [1, inf)
        max_size: the most columns whose factor is triangular; that of more is diagonal, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0003,
        momentum: float | torch.Tensor = 0.9,
        precond_lr: float | torch.Tensor = 0.1,
        damping: float | torch.Tensor = 0.000345,
        k: float | torch.Tensor = 1,
        max_size: float | torch.Tensor = 8192,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class PSGDKron(SpecOptimizer):
    """PSGD: gradients that Kronecker factors whiten

    Li 2015, arXiv:1512.04202; Li 2024, arXiv:2402.04553; as in github.com/evanatyourservice/kron_torch.

    ::

        Qₜ₋₁          = identity(rows)   if t = 1
        Rₜ₋₁          = identity(cols)   if t = 1
        diagonal_Rₜ₋₁ = identity(cols)   if t = 1
        mₜ            = momentum·mₜ₋₁ + (1 − momentum)·gₜ   if triangular
        Mₜ            = mₜ/(1 − momentumᵗ)   if triangular
        Vₜ            ~ N(0, 1)   if triangular
        Dₜ            = Mₜ + damping·mean(|Mₜ|)·Vₜ   if triangular
                        ⎧ Qₜ₋₁@Dₜ@Rₜ₋₁ᵀ   if triangular and right
        Aₜ            = ⎨
                        ⎩ Qₜ₋₁@Dₜ·rₜ₋₁    if triangular
                        ⎧ solve(Qₜ₋₁ᵀ, solve(Rₜ₋₁ᵀ, Vₜᵀ)ᵀ)   if triangular and right
        Bₜ            = ⎨
                        ⎩ solve(Qₜ₋₁ᵀ, Vₜ/rₜ₋₁)              if triangular
        nₜ            = sum(Aₜ² + Bₜ²)   if triangular
        Sₜ            = (Aₜ@Aₜᵀ + Bₜ@Bₜᵀ)/nₜ   if triangular
        Zₜ            = (Aₜᵀ@Aₜ + Bₜᵀ@Bₜ)/nₜ   if triangular and right
                        ⎧ ({√(max(|Rₜ₋₁|)/max(|Qₜ₋₁|)) if mod(t, 100·k) = 0; 1 otherwise})   if triangular and right
        sₜ            = ⎨
                        ⎩ ({√(max(rₜ₋₁)/max(|Qₜ₋₁|)) if mod(t, 100·k) = 0; 1 otherwise})     if triangular
        Qₜ            = sₜ·(Qₜ₋₁ − precond_lr/(nₜ·‖Sₜ@(Sₜ@(Sₜ@({1 if ‖Sₜ‖[per col] = max(‖Sₜ‖[per col]); 0 otherwise})))‖/‖Sₜ@(Sₜ@({1 if ‖Sₜ‖[per col] = max(‖Sₜ‖[per col]); 0 otherwise}))‖)·triu(Aₜ@Aₜᵀ − Bₜ@Bₜᵀ)@Qₜ₋₁)   if triangular and t = k, 2·k, ...
        Rₜ            = (Rₜ₋₁ − precond_lr/(nₜ·‖Zₜ@(Zₜ@(Zₜ@({1 if ‖Zₜ‖[per col] = max(‖Zₜ‖[per col]); 0 otherwise})))‖/‖Zₜ@(Zₜ@({1 if ‖Zₜ‖[per col] = max(‖Zₜ‖[per col]); 0 otherwise}))‖)·triu(Aₜᵀ@Aₜ − Bₜᵀ@Bₜ)@Rₜ₋₁)/sₜ   if triangular and right and t = k, 2·k, ...
        rₜ            = rₜ₋₁/sₜ·(1 − precond_lr·sum[per col](Aₜ² − Bₜ²)/max(sum[per col](Aₜ² + Bₜ²)))   if triangular and not right and t = k, 2·k, ...
                        ⎧ Qₜᵀ@(Qₜ@Mₜ@Rₜᵀ)@Rₜ   if triangular and right
        Uₜ            = ⎨
                        ⎩ Qₜᵀ@(Qₜ@Mₜ)·rₜ²      if triangular
        wₜ            = wₜ₋₁ − lr·(min(1, 1.1/(rms(Uₜ) + 1e-12))·Uₜ + wd·wₜ₋₁)   if triangular
        diagonal_mₜ   = momentum·diagonal_mₜ₋₁ + (1 − momentum)·gₜ   if not triangular
        diagonal_Mₜ   = diagonal_mₜ/(1 − momentumᵗ)   if not triangular
        diagonal_Vₜ   ~ N(0, 1)   if not triangular
        diagonal_Dₜ   = diagonal_Mₜ + damping·mean(|diagonal_Mₜ|)·diagonal_Vₜ   if not triangular
                        ⎧ diagonal_qₜ₋₁·diagonal_Dₜ@diagonal_Rₜ₋₁ᵀ   if not triangular and diagonal_right
        diagonal_Aₜ   = ⎨
                        ⎩ diagonal_qₜ₋₁·diagonal_Dₜ·diagonal_rₜ₋₁    if not triangular and not diagonal_vector
                        ⎧ solve(diagonal_Rₜ₋₁ᵀ, (diagonal_Vₜ/diagonal_qₜ₋₁)ᵀ)ᵀ   if not triangular and diagonal_right
        diagonal_Bₜ   = ⎨
                        ⎩ diagonal_Vₜ/diagonal_qₜ₋₁/diagonal_rₜ₋₁                if not triangular and not diagonal_vector
        diagonal_nₜ   = sum(diagonal_Aₜ² + diagonal_Bₜ²)   if not triangular and diagonal_right
        diagonal_Zₜ   = (diagonal_Aₜᵀ@diagonal_Aₜ + diagonal_Bₜᵀ@diagonal_Bₜ)/diagonal_nₜ   if not triangular and diagonal_right
                        ⎧ ({√(max(|diagonal_Rₜ₋₁|)/max(diagonal_qₜ₋₁)) if mod(t, 100·k) = 0; 1 otherwise})   if not triangular and diagonal_right
        diagonal_sₜ   = ⎨
                        ⎩ ({√(max(diagonal_rₜ₋₁)/max(diagonal_qₜ₋₁)) if mod(t, 100·k) = 0; 1 otherwise})     if not triangular and not diagonal_vector
        diagonal_pₜ   = diagonal_pₜ₋₁ − precond_lr·diagonal_pₜ₋₁·((diagonal_pₜ₋₁·diagonal_Dₜ)² − (diagonal_Vₜ/diagonal_pₜ₋₁)²)/max((diagonal_pₜ₋₁·diagonal_Dₜ)² + (diagonal_Vₜ/diagonal_pₜ₋₁)²)   if not triangular and diagonal_vector and t = k, 2·k, ...
        diagonal_qₜ   = diagonal_sₜ·(diagonal_qₜ₋₁ − precond_lr·diagonal_qₜ₋₁·(sum[per row](diagonal_Aₜ²) − sum[per row](diagonal_Bₜ²))/max(sum[per row](diagonal_Aₜ²) + sum[per row](diagonal_Bₜ²)))   if not triangular and not diagonal_vector and t = k, 2·k, ...
        diagonal_Rₜ   = (diagonal_Rₜ₋₁ − precond_lr/(diagonal_nₜ·‖diagonal_Zₜ@(diagonal_Zₜ@(diagonal_Zₜ@({1 if ‖diagonal_Zₜ‖[per col] = max(‖diagonal_Zₜ‖[per col]); 0 otherwise})))‖/‖diagonal_Zₜ@(diagonal_Zₜ@({1 if ‖diagonal_Zₜ‖[per col] = max(‖diagonal_Zₜ‖[per col]); 0 otherwise}))‖)·triu(diagonal_Aₜᵀ@diagonal_Aₜ − diagonal_Bₜᵀ@diagonal_Bₜ)@diagonal_Rₜ₋₁)/diagonal_sₜ   if not triangular and diagonal_right and t = k, 2·k, ...
        diagonal_rₜ   = (diagonal_rₜ₋₁ − precond_lr·diagonal_rₜ₋₁·(sum[per col](diagonal_Aₜ²) − sum[per col](diagonal_Bₜ²))/max(sum[per col](diagonal_Aₜ²) + sum[per col](diagonal_Bₜ²)))/diagonal_sₜ   if not triangular and not (diagonal_vector or diagonal_right) and t = k, 2·k, ...
                        ⎧ diagonal_pₜ²·diagonal_Mₜ                            if not triangular and diagonal_vector
        diagonal_Uₜ   = ⎨ diagonal_qₜ²·diagonal_Mₜ@diagonal_Rₜᵀ@diagonal_Rₜ   if not triangular and diagonal_right
                        ⎩ diagonal_qₜ²·diagonal_Mₜ·diagonal_rₜ²               if not triangular
        wₜ            = wₜ₋₁ − lr·(min(1, 1.1/(rms(diagonal_Uₜ) + 1e-12))·diagonal_Uₜ + wd·wₜ₋₁)   if not triangular
        where triangular: rank ≥ 2 and rows ≤ max_size
        where right: cols ≤ max_size
        where diagonal_vector: rank < 2
        where diagonal_right: not diagonal_vector and cols ≤ max_size

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the mean of gradients, in [0, 1)
        precond_lr: rate of the factors, in [0, 1)
        damping: of the noise that factors see beside gradients, relative to these, in [0, inf)
        k: updates between two of the factors; raise it in training, in [1, inf)
        max_size: the longest side whose factor is triangular; others are diagonal, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0003,
        momentum: float | torch.Tensor = 0.9,
        precond_lr: float | torch.Tensor = 0.1,
        damping: float | torch.Tensor = 0.000345,
        k: float | torch.Tensor = 1,
        max_size: float | torch.Tensor = 8192,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class PSGLD(SpecOptimizer):
    """Preconditioned stochastic gradient Langevin dynamics for deep neural networks

    Li et al. 2016, arXiv:1512.07666, algorithm 1, without the term Gamma.

    ::

        zₜ ~ N(0, 1)
        dₜ = gₜ + wd·wₜ₋₁
        vₜ = α·vₜ₋₁ + (1 − α)·dₜ²
        Gₜ = 1/(√vₜ + ε)
        wₜ = wₜ₋₁ − lr/2·Gₜ·dₜ + √(lr·Gₜ)·zₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate, in [0, inf)
        alpha: decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        alpha: float | torch.Tensor = 0.99,
        eps: float | torch.Tensor = 1e-05,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class PolarMuon(SpecOptimizer):
    """Muon with the polynomials of the Polar Express

    Amsel et al. 2025, arXiv:2505.16932.

    ::

        mₜ   = momentum·mₜ₋₁ + (1 − momentum)·gₜ
               ⎧ (1 − momentum)·gₜ + momentum·mₜ   if nesterov
        dₜ   = ⎨
               ⎩ mₜ                                otherwise
               ⎧ dₜᵀ   if tall
        Xₜ   = ⎨
               ⎩ dₜ    otherwise
        Yₜ   = Xₜ/(1.01·‖Xₜ‖ + 1e-7)
        repeat ns_steps times, i = 0, 1, ...:
               ⎧ 1.01   if i < 7
          rₜ = ⎨
               ⎩ 1      otherwise
          aₜ = ({8.28721201814563 if i < 1; 4.107059111542203 if i < 2; 3.9486908534822946 if i < 3; 3.3184196573706015 if i < 4; 2.300652019954817 if i < 5; 1.891301407787398 if i < 6; 1.8750014808534479 if i < 7; 1.875 otherwise})/rₜ
          bₜ = ({−23.595886519098837 if i < 1; −2.9478499167379106 if i < 2; −2.908902115962949 if i < 3; −2.488488024314874 if i < 4; −1.6689039845747493 if i < 5; −1.2679958271945868 if i < 6; −1.2500016453999487 if i < 7; −1.25 otherwise})/rₜ³
          cₜ = ({17.300387312530933 if i < 1; 0.5448431082926601 if i < 2; 0.5518191394370137 if i < 3; 0.51004894012372 if i < 4; 0.4188073119525673 if i < 5; 0.37680408948524835 if i < 6; 0.3750001645474248 if i < 7; 0.375 otherwise})/rₜ⁵
          Aₜ = Yₜ@Yₜᵀ
          Yₜ ← aₜ·Yₜ + (bₜ·Aₜ + cₜ·Aₜ@Aₜ)@Yₜ
        end
               ⎧ Yₜᵀ   if tall
        Oₜ   = ⎨
               ⎩ Yₜ    otherwise
        wₜ   = (1 − lr·wd)·wₜ₋₁ − lr·√(max(1, rows/cols))·Oₜ
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        momentum: in [0, 1)
        ns_steps: turns of the iteration; from the eighth on they have the last polynomial, in [0, 100)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        nesterov: a flag of the spec
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.95,
        ns_steps: float | torch.Tensor = 5,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        nesterov: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class PowerSign(SpecOptimizer):
    """Neural optimizer search with reinforcement learning

    Bello et al. 2017, arXiv:1709.07417.

    ::

        dₜ     = gₜ + wd·wₜ₋₁
        mₜ     = β·mₜ₋₁ + (1 − β)·dₜ
        agreeₜ = sign(dₜ)·sign(mₜ)
        wₜ     = wₜ₋₁ − lr·({base if agreeₜ > 0; 1/base if agreeₜ < 0; 1 otherwise})·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        base: factor where momentum and gradient agree; its inverse where they do not, in (0, inf)
        beta: decay of the momentum, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        base: float | torch.Tensor = 2.718281828459045,
        beta: float | torch.Tensor = 0.9,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Prodigy(SpecOptimizer):
    """Prodigy: an expeditiously adaptive parameter-free learner

    Mishchenko & Defazio 2024, arXiv:2306.06101, algorithm 4; r and s over d0, as in the authors' code.

    ::

        β₃ₜ    = √β₂
                 ⎧ dₜ₋₁·lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)   if use_bias_correction
        rateₜ  = ⎨
                 ⎩ dₜ₋₁·lr                        otherwise
        x₀ₜ    = x₀ₜ₋₁
        rₜ     = β₃ₜ·rₜ₋₁ + sum[over params](dₜ₋₁/d₀·rateₜ·gₜ·(x₀ₜ₋₁ − wₜ₋₁))
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·dₜ₋₁·gₜ
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·dₜ₋₁²·gₜ²
                 ⎧ β₃ₜ·sₜ₋₁ + dₜ₋₁/d₀·dₜ₋₁·gₜ    if safeguard_warmup
        sₜ     = ⎨
                 ⎩ β₃ₜ·sₜ₋₁ + dₜ₋₁/d₀·rateₜ·gₜ   otherwise
        totalₜ = sum[over params](|sₜ|)
                 ⎧ dₜ₋₁                          if totalₜ = 0
        dₜ     = ⎨
                 ⎩ max(dₜ₋₁, d_coef·rₜ/totalₜ)   otherwise
        wₜ     = (1 − rateₜ·wd)·wₜ₋₁ − rateₜ·mₜ/(√vₜ + dₜ₋₁·ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found; a schedule may change it
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in units of d, in (0, inf)
        d0: first estimate of the distance to the solution, in (0, inf)
        d_coef: factor on later estimates, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        use_bias_correction: divide the moments by what their start at 0 costs
        safeguard_warmup: keep lr out of s, for long warm-ups
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        d0: float | torch.Tensor = 1e-06,
        d_coef: float | torch.Tensor = 1.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        use_bias_correction: bool = False,
        safeguard_warmup: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class QHAdam(SpecOptimizer):
    """Quasi-hyperbolic momentum and Adam for deep learning

    Ma & Yarats 2019, arXiv:1810.06801, algorithm 2.

    ::

             ⎧ gₜ             if decouple_weight_decay
        dₜ = ⎨
             ⎩ gₜ + wd·wₜ₋₁   otherwise
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·dₜ²
        aₜ = (1 − ν₁)·dₜ + ν₁/(1 − β₁ᵗ)·mₜ
        bₜ = (1 − ν₂)·dₜ² + ν₂/(1 − β₂ᵗ)·vₜ
             ⎧ (1 − lr·wd)·wₜ₋₁ − lr·aₜ/(√bₜ + ε)   if decouple_weight_decay
        wₜ = ⎨
             ⎩ wₜ₋₁ − lr·aₜ/(√bₜ + ε)               otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        nu1: weight of the first moment against the gradient; 1 is Adam, in [0, 1]
        nu2: weight of the second moment against the squared gradient; 1 is Adam, in [0, 1]
        eps: added to the root, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        decouple_weight_decay: decay the weight itself, not through the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.995, 0.999),
        nu1: float | torch.Tensor = 0.7,
        nu2: float | torch.Tensor = 1.0,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        decouple_weight_decay: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class QHM(SpecOptimizer):
    """Quasi-hyperbolic momentum and Adam for deep learning

    Ma & Yarats 2019, arXiv:1810.06801, algorithm 1.

    ::

        dₜ = gₜ + wd·wₜ₋₁
        mₜ = β·mₜ₋₁ + (1 − β)·dₜ
        wₜ = wₜ₋₁ − lr·((1 − ν)·dₜ + ν·mₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        beta: decay of the averaged gradient, in [0, 1)
        nu: weight of the averaged gradient against the gradient; 0 is SGD, in [0, 1]
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        beta: float | torch.Tensor = 0.999,
        nu: float | torch.Tensor = 0.7,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class RAdam(TorchOptimizer, torch.optim.RAdam):
    """torch.optim.RAdam, with kernels of optgen.

    Liu et al. 2020, arXiv:1908.03265.

    ::

        bias_correction1ₜ = 1 − β₁ᵗ
        bias_correction2ₜ = 1 − β₂ᵗ
                            ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                            ⎪ −gₜ                      if maximize
        dₜ                = ⎨
                            ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                            ⎩ gₜ                       otherwise
                            ⎧ exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)   if β₁ > 0.5
        exp_avgₜ          = ⎨
                            ⎩ dₜ − β₁·(dₜ − exp_avgₜ₋₁)                 otherwise
        exp_avg_sqₜ       = β₂·exp_avg_sqₜ₋₁ + (1 − β₂)·dₜ·dₜ
        ρ_infₜ            = 2/(1 − β₂) − 1
        ρₜ                = ρ_infₜ − 2·t·β₂ᵗ/bias_correction2ₜ
        rectₜ             = √((ρₜ − 4)·(ρₜ − 2)·ρ_infₜ/((ρ_infₜ − 4)·(ρ_infₜ − 2)·ρₜ))
        δₜ                = exp_avgₜ/bias_correction1ₜ·lr
                            ⎧ (1 − lr·weight_decay)·wₜ₋₁   if decoupled_weight_decay
        decayedₜ          = ⎨
                            ⎩ wₜ₋₁                         otherwise
        wₜ                = decayedₜ − ({δₜ·√bias_correction2ₜ/(√exp_avg_sqₜ + ε)·rectₜ if ρₜ > 5; δₜ otherwise})
        where decays: weight_decay ≠ 0 and not decoupled_weight_decay

    Args:
        those of torch.optim.RAdam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class RMSprop(TorchOptimizer, torch.optim.RMSprop):
    """torch.optim.RMSprop, with kernels of optgen.

    Tieleman & Hinton 2012, lecture 6.5; centered: Graves 2013, arXiv:1308.0850.

    ::

                           ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                           ⎪ −gₜ                      if maximize
        dₜ               = ⎨
                           ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                           ⎩ gₜ                       otherwise
        square_avgₜ      = α·square_avgₜ₋₁ + (1 − α)·dₜ·dₜ
        grad_avgₜ        = ({grad_avgₜ₋₁ + (1 − α)·(dₜ − grad_avgₜ₋₁) if α > 0.5; dₜ − α·(dₜ − grad_avgₜ₋₁) otherwise})   if centered
                           ⎧ √(max(square_avgₜ − grad_avgₜ·grad_avgₜ, 0)) + ε   if centered
        avgₜ             = ⎨
                           ⎩ √square_avgₜ + ε                                   otherwise
        momentum_bufferₜ = momentum·momentum_bufferₜ₋₁ + dₜ/avgₜ   if heavy
                           ⎧ wₜ₋₁ − lr·momentum_bufferₜ   if heavy
        wₜ               = ⎨
                           ⎩ wₜ₋₁ − lr·dₜ/avgₜ            otherwise
        where heavy: momentum > 0
        where decays: weight_decay ≠ 0

    Args:
        those of torch.optim.RMSprop, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Rprop(TorchOptimizer, torch.optim.Rprop):
    """torch.optim.Rprop, with kernels of optgen.

    Riedmiller & Braun 1993; no backtracking: iRprop- of Igel & Huesken 2003.

    ::

                     ⎧ −gₜ   if maximize
        dₜ         = ⎨
                     ⎩ gₜ    otherwise
        sameₜ      = dₜ·prevₜ₋₁
                     ⎧ etaplus    if sameₜ > 0
        factorₜ    = ⎨ etaminus   if sameₜ < 0
                     ⎩ 1          otherwise
        step_sizeₜ = min(max(step_sizeₜ₋₁·factorₜ, step_size_min), step_size_max)
                     ⎧ 0    if sameₜ < 0
        prevₜ      = ⎨
                     ⎩ dₜ   otherwise
        wₜ         = wₜ₋₁ − sign(prevₜ)·step_sizeₜ

    Args:
        those of torch.optim.Rprop, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-06, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SGD(TorchOptimizer, torch.optim.SGD):
    """torch.optim.SGD, with kernels of optgen.

    Sutskever et al. 2013, ICML: On the importance of initialization and momentum in deep learning.

    ::

                           ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize and decays
                           ⎪ −gₜ                      if maximize
        dₜ               = ⎨
                           ⎪ gₜ + weight_decay·wₜ₋₁   if decays
                           ⎩ gₜ                       otherwise
        momentum_bufferₜ = ({dₜ if t = 1; momentum·momentum_bufferₜ₋₁ + (1 − dampening)·dₜ otherwise})   if heavy
                           ⎧ wₜ₋₁ − lr·(dₜ + momentum·momentum_bufferₜ)   if heavy and nesterov
        wₜ               = ⎨ wₜ₋₁ − lr·momentum_bufferₜ                   if heavy
                           ⎩ wₜ₋₁ − lr·dₜ                                 otherwise
        where heavy: momentum ≠ 0
        where decays: weight_decay ≠ 0

    Args:
        those of torch.optim.SGD, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | torch.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SGDHD(SpecOptimizer):
    """Online learning rate adaptation with hypergradient descent: SGD whose rate is learnt, too

    Baydin et al. 2018, arXiv:1703.04782, algorithm 4.

    ::

        dₜ      = gₜ + wd·wₜ₋₁
        rateₜ   = rateₜ₋₁ + hypergrad_lr·sum[over params](dₜ·g_prevₜ₋₁)
        g_prevₜ = dₜ
        wₜ      = wₜ₋₁ − rateₜ·dₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: first rate; a later change has no effect
        hypergrad_lr: rate of the rate, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        hypergrad_lr: float | torch.Tensor = 0.0001,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SGDP(SpecOptimizer):
    """AdamP: slowing down the slowdown for momentum optimizers on scale-invariant weights

    Heo et al. 2020, arXiv:2006.08217, algorithm 1.

    ::

        momₜ      = momentum·momₜ₋₁ + gₜ
                    ⎧ gₜ + momentum·momₜ   if nesterov
        uₜ        = ⎨
                    ⎩ momₜ                 otherwise
        row_cosₜ  = |sum[per row](gₜ·wₜ₋₁)|/((‖gₜ‖[per row] + ε)·(‖wₜ₋₁‖[per row] + ε))   if matrix
        cosineₜ   = |sum(gₜ·wₜ₋₁)|/((‖gₜ‖ + ε)·(‖wₜ₋₁‖ + ε))   if matrix
        by_rowₜ   = max(row_cosₜ) < δ/√cols   if matrix
        wholeₜ    = cosineₜ < δ/√size   if matrix
        row_partₜ = sum[per row](wₜ₋₁·uₜ)/(‖wₜ₋₁‖[per row] + ε)²   if matrix
        partₜ     = sum(wₜ₋₁·uₜ)/(‖wₜ₋₁‖ + ε)²   if matrix
        radialₜ   = ({row_partₜ if by_rowₜ; partₜ if wholeₜ; 0 otherwise})   if matrix
        ratioₜ    = ({wd_ratio if by_rowₜ or wholeₜ; 1 otherwise})   if matrix
                    ⎧ (1 − lr·wd·ratioₜ/(1 − momentum))·wₜ₋₁ − lr·(uₜ − radialₜ·wₜ₋₁)   if matrix
        wₜ        = ⎨
                    ⎩ (1 − lr·wd/(1 − momentum))·wₜ₋₁ − lr·uₜ                           otherwise
        where matrix: rank ≥ 2

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity, in [0, 1)
        eps: added to norms, in (0, inf)
        delta: largest cosine of weight and gradient, times the root of their length, to project, in [0, inf)
        wd_ratio: factor on the decay of a weight that is projected, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        nesterov: look ahead
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.9,
        eps: float | torch.Tensor = 1e-08,
        delta: float | torch.Tensor = 0.1,
        wd_ratio: float | torch.Tensor = 0.1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        nesterov: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SGDW(SpecOptimizer):
    """Decoupled weight decay regularization: SGD

    Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 1.

    ::

        momₜ = momentum·momₜ₋₁ + gₜ
               ⎧ (1 − lr·wd)·wₜ₋₁ − lr·(gₜ + momentum·momₜ)   if nesterov
        wₜ   = ⎨
               ⎩ (1 − lr·wd)·wₜ₋₁ − lr·momₜ                   otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the velocity, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        nesterov: look ahead
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.9,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        nesterov: bool = False,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SGHMC(SpecOptimizer):
    """Stochastic gradient Hamiltonian Monte Carlo

    Chen, Fox & Guestrin 2014, arXiv:1402.4102, eq. 15, with no estimate of the gradient's noise.

    ::

        zₜ ~ N(0, 1)
        vₜ = (1 − α)·vₜ₋₁ − lr·(gₜ + wd·wₜ₋₁) + √(2·α·lr)·zₜ
        wₜ = wₜ₋₁ + vₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate, in [0, inf)
        alpha: friction: 1 - momentum, in [0, 1]
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        alpha: float | torch.Tensor = 0.1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SGLD(SpecOptimizer):
    """Bayesian learning via stochastic gradient Langevin dynamics

    Welling & Teh 2011, ICML, eq. 4.

    ::

        zₜ ~ N(0, 1)
        wₜ = wₜ₋₁ − lr/2·(gₜ + wd·wₜ₋₁) + √lr·zₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SM3(SpecOptimizer):
    """Memory-efficient adaptive optimization

    Anil et al. 2019, arXiv:1901.11150, algorithm SM3-II, with a momentum.

    ::

        dₜ     = gₜ + wd·wₜ₋₁
                 ⎧ min(A₁ₜ₋₁, A₂ₜ₋₁, A₃ₜ₋₁)   if four
        otherₜ = ⎨ min(A₁ₜ₋₁, A₂ₜ₋₁)          if three
                 ⎩ Cₜ₋₁                       if matrix
                 ⎧ min(Rₜ₋₁, otherₜ) + dₜ²   if matrix
        boundₜ = ⎨
                 ⎩ vₜ₋₁ + dₜ²                otherwise
        Rₜ     = max[per row](boundₜ)   if matrix
        Cₜ     = max[per col](boundₜ)   if matrix and not three
        A₁ₜ    = max[per axis 1](boundₜ)   if three
        A₂ₜ    = max[per axis 2](boundₜ)   if three
        A₃ₜ    = max[per axis 3](boundₜ)   if four
        vₜ     = boundₜ   if not matrix
                 ⎧ 0                  if boundₜ = 0
        uₜ     = ⎨
                 ⎩ dₜ/√(boundₜ + ε)   otherwise
        mₜ     = momentum·mₜ₋₁ + (1 − momentum)·uₜ   if heavy
                 ⎧ wₜ₋₁ − lr·mₜ   if heavy
        wₜ     = ⎨
                 ⎩ wₜ₋₁ − lr·uₜ   otherwise
        where matrix: rank ≥ 2
        where three: matrix and rank ≥ 3 and cover = 'axes'
        where four: three and rank ≥ 4
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the averaged step; 0 keeps none, in [0, 1)
        eps: added to the bound, under the root, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        cover: sets of more than two dimensions: slices of each, or rows and columns
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.9,
        eps: float | torch.Tensor = 1e-30,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        cover: Literal["axes", "rows"] = "axes",
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SMORMS3(SpecOptimizer):
    """RMSProp with a memory as long as the gradient is steady

    Funk 2015, RMSprop loses to SMORMS3: beware the epsilon.

    ::

        dₜ      = gₜ + wd·wₜ₋₁
        rₜ      = 1/(memoryₜ₋₁ + 1)
        mₜ      = (1 − rₜ)·mₜ₋₁ + rₜ·dₜ
        vₜ      = (1 − rₜ)·vₜ₋₁ + rₜ·dₜ²
        signalₜ = mₜ²/(vₜ + ε)
        wₜ      = wₜ₋₁ − dₜ·min(lr, signalₜ)/(√vₜ + ε)
        memoryₜ = 1 + memoryₜ₋₁·(1 − signalₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: bound on the rate
        eps: added to the second moment, and to its root, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        eps: float | torch.Tensor = 1e-16,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SOAP(SpecOptimizer):
    """SOAP: improving and stabilizing Shampoo using Adam

    Vyas et al. 2024, arXiv:2409.11321.

    ::

        Uₜ₋₁ = eigenvectors(gₜ@gₜᵀ)   if t = 1
        Vₜ₋₁ = eigenvectors(gₜᵀ@gₜ)   if t = 1
        mₜ   = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ   = β₂·vₜ₋₁ + (1 − β₂)·(Uₜ₋₁ᵀ@gₜ@Vₜ₋₁)²
               ⎧ √(1 − β₂ᵗ)/(1 − β₁ᵗ)   if correct
        cₜ   = ⎨
               ⎩ 1                      otherwise
        nₜ   = Uₜ₋₁ᵀ@mₜ@Vₜ₋₁/(√vₜ + ε)
        wₜ   = wₜ₋₁ − lr·(cₜ·Uₜ₋₁@nₜ@Vₜ₋₁ᵀ + wd·wₜ₋₁)
        Lₜ   = β_shampoo·Lₜ₋₁ + (1 − β_shampoo)·gₜ@gₜᵀ
        Rₜ   = β_shampoo·Rₜ₋₁ + (1 − β_shampoo)·gₜᵀ@gₜ
        Uₜ   = orthonormal(Lₜ@Uₜ₋₁)   if t = k, 2·k, ...
        Vₜ   = orthonormal(Rₜ@Vₜ₋₁)   if t = k, 2·k, ...

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        betas: in [0, 1); in [0, 1)
        shampoo_beta: in [0, 1)
        eps: in (0, inf)
        k: updates between two rotations of the basis, in [1, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        correct: the bias of the means
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.003,
        weight_decay: float | torch.Tensor = 0.01,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.95, 0.95),
        shampoo_beta: float | torch.Tensor = 0.95,
        eps: float | torch.Tensor = 1e-08,
        k: float | torch.Tensor = 10,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        correct: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class SOAPAdamW(SpecOptimizer):
    """SOAP for matrices, AdamW for other parameters

    Vyas et al. 2024, arXiv:2409.11321.

    ::

        Uₜ₋₁       = eigenvectors(gₜ@gₜᵀ)   if t = 1
        Vₜ₋₁       = eigenvectors(gₜᵀ@gₜ)   if t = 1
        m_soapₜ    = β₁_soap·m_soapₜ₋₁ + (1 − β₁_soap)·gₜ   if soap
        v_soapₜ    = β₂_soap·v_soapₜ₋₁ + (1 − β₂_soap)·(Uₜ₋₁ᵀ@gₜ@Vₜ₋₁)²   if soap
                     ⎧ √(1 − β₂_soapᵗ)/(1 − β₁_soapᵗ)   if soap and soap_correct
        cₜ         = ⎨
                     ⎩ 1                                if soap
        nₜ         = Uₜ₋₁ᵀ@m_soapₜ@Vₜ₋₁/(√v_soapₜ + ε_soap)   if soap
        wₜ         = wₜ₋₁ − lr·(cₜ·Uₜ₋₁@nₜ@Vₜ₋₁ᵀ + wd·wₜ₋₁)   if soap
        Lₜ         = β_shampoo·Lₜ₋₁ + (1 − β_shampoo)·gₜ@gₜᵀ   if soap
        Rₜ         = β_shampoo·Rₜ₋₁ + (1 − β_shampoo)·gₜᵀ@gₜ   if soap
        Uₜ         = orthonormal(Lₜ@Uₜ₋₁)   if soap and t = soap_k, 2·soap_k, ...
        Vₜ         = orthonormal(Rₜ@Vₜ₋₁)   if soap and t = soap_k, 2·soap_k, ...
                     ⎧ adam_lr·√(1 − β₂_adamᵗ)/(1 − β₁_adamᵗ)   if not soap and adam_correct_bias
        adam_rateₜ = ⎨
                     ⎩ adam_lr                                  if not soap
        m_adamₜ    = β₁_adam·m_adamₜ₋₁ + (1 − β₁_adam)·gₜ   if not soap
        v_adamₜ    = β₂_adam·v_adamₜ₋₁ + (1 − β₂_adam)·gₜ²   if not soap
        wₜ         = (1 − adam_lr·wd)·wₜ₋₁ − adam_rateₜ·m_adamₜ/(√v_adamₜ + ε_adam)   if not soap
        where soap: (rank = 2 or rank > 2 and filters) and not plain

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        adam_lr: the rate of AdamW
        weight_decay: weight decay, in [0, inf)
        soap_beta1: in [0, 1)
        soap_beta2: in [0, 1)
        soap_shampoo_beta: in [0, 1)
        soap_epsilon: in (0, inf)
        soap_k: updates between two rotations of the basis, in [1, inf)
        adam_beta1: decay of the first moment, in [0, 1)
        adam_beta2: decay of the second moment, in [0, 1)
        adam_epsilon: added to the root of the second moment, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        rescale_grad: factor on the gradient
        plain: AdamW for this matrix too, as for embeddings and the last layer; patterns of names that are plain, as ('head.*', '*.embed.*'); True: all; () or False: none
        filters: of convolutions are matrices of an output channel a row
        soap_correct: the bias of the means
        adam_correct_bias: make up for the moments' start at 0
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.003,
        adam_lr: float | torch.Tensor = 0.003,
        weight_decay: float | torch.Tensor = 0.01,
        soap_beta1: float | torch.Tensor = 0.95,
        soap_beta2: float | torch.Tensor = 0.95,
        soap_shampoo_beta: float | torch.Tensor = 0.95,
        soap_epsilon: float | torch.Tensor = 1e-08,
        soap_k: float | torch.Tensor = 10,
        adam_beta1: float | torch.Tensor = 0.9,
        adam_beta2: float | torch.Tensor = 0.999,
        adam_epsilon: float | torch.Tensor = 1e-06,
        clip_gradient: float | torch.Tensor | None = None,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        plain: bool | Iterable[str] | None = None,
        filters: bool = True,
        soap_correct: bool = True,
        adam_correct_bias: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class SPAM(SpecOptimizer):
    """SPAM: spike-aware Adam with momentum reset

    Huang, Zhu, Jin, Liu, Wang & Liu 2025, arXiv:2501.06842.

    ::

        sₜ    = mod(t − 1, interval) + 1
        riseₜ = 0.5·(1 − cos(π·min(sₜ/warmup, 1)))
        mostₜ = threshold·vₜ₋₁
                ⎧ sign(gₜ)·√mostₜ   if gₜ² > mostₜ and vₜ₋₁ > 0
        dₜ    = ⎨
                ⎩ gₜ                otherwise
        mₜ    = β₁·({0 if sₜ = 1; mₜ₋₁ otherwise}) + (1 − β₁)·dₜ
        vₜ    = β₂·({0 if sₜ = 1; vₜ₋₁ otherwise}) + (1 − β₂)·dₜ²
        uₜ    = mₜ/(1 − β₁^sₜ)/(√(vₜ/(1 − β₂^sₜ)) + ε)
        wₜ    = wₜ₋₁ − riseₜ·lr·(uₜ + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        threshold: a gradient whose square is as many times the second moment is a spike, in (0, inf)
        interval: updates between resets of the moments, in [1, inf)
        warmup: updates after a reset in which the rate rises, as a cosine does, in [1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        threshold: float | torch.Tensor = 5000.0,
        interval: float | torch.Tensor = 500,
        warmup: float | torch.Tensor = 150,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SPlus(SpecOptimizer):
    """A stable whitening optimizer for efficient neural network training

    Frans, Levine and Abbeel 2025, arXiv:2506.07254.

    ::

        Uₜ₋₁     = identity(rows)   if t = 1
        Vₜ₋₁     = identity(cols)   if t = 1
        mₜ       = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        Lₜ       = β₂·Lₜ₋₁ + (1 − β₂)·gₜ@gₜᵀ
        Rₜ       = β₂·Rₜ₋₁ + (1 − β₂)·gₜᵀ@gₜ
        sₜ       = 2·lr/(rows + cols)
        dₜ       = wₜ₋₁ − sₜ·Uₜ₋₁@sign(Uₜ₋₁ᵀ@mₜ@Vₜ₋₁)@Vₜ₋₁ᵀ
        averageₜ = ema_rate·averageₜ₋₁ + (1 − ema_rate)·dₜ
        wₜ       = (1 − sₜ·wd)·dₜ
        Uₜ       = eigenvectors(Lₜ)   if t = 1, 1 + k, ...
        Vₜ       = eigenvectors(Rₜ)   if t = 1, 1 + k, ...
        wₜ(eval) = averageₜ/(1 − ema_rateᵗ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        betas: in [0, 1); decay of the statistics, in [0, 1)
        ema_rate: decay of the mean of weights, in [0, 1)
        k: updates between two computations of the basis, in [1, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        weight_decay: float | torch.Tensor = 0.01,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        ema_rate: float | torch.Tensor = 0.999,
        k: float | torch.Tensor = 100,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class SWAN(SpecOptimizer):
    """SWAN: SGD with normalization and whitening enables stateless LLM training

    Ma et al. 2024, arXiv:2412.13148.

    ::

        nₜ = (gₜ − mean[per row](gₜ))/(√(mean[per row]((gₜ − mean[per row](gₜ))²)) + ε)
             ⎧ inverse_root(nₜ@nₜᵀ, 2)@nₜ   if wide
        uₜ = ⎨
             ⎩ nₜ@inverse_root(nₜᵀ@nₜ, 2)   otherwise
        wₜ = (1 − lr·wd)·wₜ₋₁ − lr·‖nₜ‖/max(‖uₜ‖, 1e-30)·uₜ
        where wide: rows ≤ cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        eps: added to the standard deviation of a row, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class SWATS(SpecOptimizer):
    """Improving generalization performance by switching from Adam to SGD

    Keskar & Socher 2017, arXiv:1712.07628, algorithm 1.

    ::

        dₜ       = gₜ + wd·wₜ₋₁
                   ⎧ β₁·mₜ₋₁ + (1 − β₁)·dₜ   if foundₜ₋₁ = 0
        xₜ       = ⎨
                   ⎩ β₁·mₜ₋₁ + dₜ            otherwise
                   ⎧ β₂·vₜ₋₁ + (1 − β₂)·dₜ²   if foundₜ₋₁ = 0
        vₜ       = ⎨
                   ⎩ vₜ₋₁                     otherwise
        pₜ       = lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)·xₜ/(√vₜ + ε)
        alongₜ   = sum[over params](pₜ·dₜ)
                   ⎧ 0                              if alongₜ = 0
        fitₜ     = ⎨
                   ⎩ sum[over params](pₜ²)/alongₜ   otherwise
                   ⎧ averageₜ₋₁                      if alongₜ = 0
        averageₜ = ⎨
                   ⎩ β₂·averageₜ₋₁ + (1 − β₂)·fitₜ   otherwise
        rateₜ    = averageₜ/(1 − β₂^step)
        closeₜ   = foundₜ₋₁ = 0 and step > 1 and alongₜ ≠ 0 and |rateₜ − fitₜ| < ε
                   ⎧ rateₜ      if closeₜ
        foundₜ   = ⎨
                   ⎩ foundₜ₋₁   otherwise
                   ⎧ 0    if closeₜ
        mₜ       = ⎨
                   ⎩ xₜ   otherwise
                   ⎧ wₜ₋₁ − pₜ                     if foundₜ₋₁ = 0
        wₜ       = ⎨
                   ⎩ wₜ₋₁ − (1 − β₁)·foundₜ₋₁·xₜ   otherwise

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: rate of Adam
        betas: decay of the first moment, and of the velocity, in [0, 1); decay of the second moment, and of the averaged rate, in [0, 1)
        eps: added to the root of the second moment; how close two rates must come, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-09,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ScheduleFreeAdamW(SpecOptimizer):
    """The road less scheduled

    Defazio et al. 2024, arXiv:2405.15682, algorithm 1; weights of the average as in the authors' code.

    ::

        lrₜ      = lr·min(t/max(warmup_steps, 1), 1)
        lr_maxₜ  = max(lr_maxₜ₋₁, lrₜ)
        weightₜ  = t^r·lr_maxₜ^weight_lr_power
        totalₜ   = totalₜ₋₁ + weightₜ
                   ⎧ weightₜ/totalₜ   if totalₜ > 0
        cₜ       = ⎨
                   ⎩ 0                otherwise
        vₜ       = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        dₜ       = gₜ/(√(1/(1 − β₂ᵗ)·vₜ) + ε) + wd·wₜ₋₁
        zₜ       = zₜ₋₁ − lrₜ·dₜ
        wₜ       = wₜ₋₁ + cₜ·(zₜ₋₁ − wₜ₋₁) − lrₜ·(1 − β₁·(1 − cₜ))·dₜ
        wₜ(eval) = wₜ + (1 − 1/β₁)·(zₜ − wₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: how close to the average gradients are taken, in (0, 1]; decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        warmup_steps: steps in which the rate grows from 0, in [0, inf)
        r: power of t in the weights of the average, in [0, inf)
        weight_lr_power: power of the rate in the weights of the average, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0025,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        warmup_steps: float | torch.Tensor = 0,
        r: float | torch.Tensor = 0.0,
        weight_lr_power: float | torch.Tensor = 2.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ScheduleFreeRAdam(SpecOptimizer):
    """The road less scheduled

    Defazio et al. 2024, arXiv:2405.15682; RAdam: Liu et al. 2020, arXiv:1908.03265; as in the authors' code.

    ::

        ρ_infₜ   = 2/(1 − β₂) − 1
        ρₜ       = ρ_infₜ − 2·t·β₂ᵗ/(1 − β₂ᵗ)
        rectₜ    = √((ρₜ − 4)·(ρₜ − 2)·ρ_infₜ/((ρ_infₜ − 4)·(ρ_infₜ − 2)·ρₜ))
                   ⎧ lr·({rectₜ if ρₜ > 4; 0 otherwise})   if silent_sgd_phase
        rateₜ    = ⎨
                   ⎩ lr·({rectₜ if ρₜ > 4; 1 otherwise})   otherwise
        lr_maxₜ  = max(lr_maxₜ₋₁, rateₜ)
        weightₜ  = t^r·lr_maxₜ^weight_lr_power
        totalₜ   = totalₜ₋₁ + weightₜ
                   ⎧ weightₜ/totalₜ   if totalₜ > 0
        cₜ       = ⎨
                   ⎩ 0                otherwise
        vₜ       = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        dₜ       = ({gₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε) if ρₜ > 4; gₜ otherwise}) + wd·wₜ₋₁
        zₜ       = zₜ₋₁ − rateₜ·dₜ
        wₜ       = wₜ₋₁ + cₜ·(zₜ₋₁ − wₜ₋₁) − rateₜ·(1 − β₁·(1 − cₜ))·dₜ
        wₜ(eval) = wₜ + (1 − 1/β₁)·(zₜ − wₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: how close to the average gradients are taken, in (0, 1]; decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in (0, inf)
        r: power of t in the weights of the average, in [0, inf)
        weight_lr_power: power of the rate in the weights of the average, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        silent_sgd_phase: wait while the second moment is too uncertain; otherwise steps of SGD
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0025,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        r: float | torch.Tensor = 0.0,
        weight_lr_power: float | torch.Tensor = 2.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        silent_sgd_phase: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class ScheduleFreeSGD(SpecOptimizer):
    """The road less scheduled

    Defazio et al. 2024, arXiv:2405.15682, eq. 2-4; weights of the average as in the authors' code.

    ::

        lrₜ      = lr·min(t/max(warmup_steps, 1), 1)
        lr_maxₜ  = max(lr_maxₜ₋₁, lrₜ)
        weightₜ  = t^r·lr_maxₜ^weight_lr_power
        totalₜ   = totalₜ₋₁ + weightₜ
                   ⎧ weightₜ/totalₜ   if totalₜ > 0
        cₜ       = ⎨
                   ⎩ 0                otherwise
        dₜ       = gₜ + wd·wₜ₋₁
        zₜ       = zₜ₋₁ − lrₜ·dₜ
        wₜ       = wₜ₋₁ + cₜ·(zₜ₋₁ − wₜ₋₁) − lrₜ·(1 − β·(1 − cₜ))·dₜ
        wₜ(eval) = wₜ + (1 − 1/β)·(zₜ − wₜ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        beta: how close to the average gradients are taken, in (0, 1]
        warmup_steps: steps in which the rate grows from 0, in [0, inf)
        r: power of t in the weights of the average, in [0, inf)
        weight_lr_power: power of the rate in the weights of the average, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        beta: float | torch.Tensor = 0.9,
        warmup_steps: float | torch.Tensor = 0,
        r: float | torch.Tensor = 0.0,
        weight_lr_power: float | torch.Tensor = 2.0,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Scion(SpecOptimizer):
    """Training deep learning models with norm-constrained LMOs

    Pethick et al. 2025, arXiv:2502.07529; the spectral norm of hidden layers.

    ::

        mₜ   = (1 − α)·mₜ₋₁ + α·gₜ
               ⎧ mₜᵀ   if tall
        Xₜ   = ⎨
               ⎩ mₜ    otherwise
        Yₜ   = Xₜ/max(‖Xₜ‖, ε)
        repeat ns_steps times:
          Aₜ = Yₜ@Yₜᵀ
          Yₜ ← a·Yₜ + (b·Aₜ + c·Aₜ@Aₜ)@Yₜ
        end
               ⎧ Yₜᵀ   if tall
        Oₜ   = ⎨
               ⎩ Yₜ    otherwise
               ⎧ (1 − lr)·wₜ₋₁ − lr·radius·√(rows/cols)·Oₜ   if constrained
        wₜ   = ⎨
               ⎩ wₜ₋₁ − lr·radius·√(rows/cols)·Oₜ            otherwise
        where tall: rows > cols

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        alpha: the part of the gradient in its mean, in (0, 1]
        radius: of the ball of the norm, in (0, inf)
        a: a param of the spec
        b: a param of the spec
        c: a param of the spec
        eps: in [0, inf)
        ns_steps: turns of the Newton-Schulz iteration, in [0, 100)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        constrained: weights stay within the ball: Frank-Wolfe; without it, steps have this length
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.00036,
        alpha: float | torch.Tensor = 0.1,
        radius: float | torch.Tensor = 50.0,
        a: float | torch.Tensor = 3.4445,
        b: float | torch.Tensor = -4.775,
        c: float | torch.Tensor = 2.0315,
        eps: float | torch.Tensor = 1e-07,
        ns_steps: float | torch.Tensor = 5,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        constrained: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class Shampoo(SpecOptimizer):
    """Shampoo: preconditioned stochastic tensor optimization

    Gupta, Koren and Singer 2018, arXiv:1802.09568; Anil et al. 2020, arXiv:2002.09018.

    ::

        Lₜ₋₁ = ε·identity(rows)   if t = 1
        Rₜ₋₁ = ε·identity(cols)   if t = 1
        Pₜ₋₁ = identity(rows)   if t = 1
        Qₜ₋₁ = identity(cols)   if t = 1
               ⎧ β·Lₜ₋₁ + (1 − β)·gₜ@gₜᵀ   if mean
        Lₜ   = ⎨
               ⎩ Lₜ₋₁ + gₜ@gₜᵀ             otherwise
               ⎧ β·Rₜ₋₁ + (1 − β)·gₜᵀ@gₜ   if mean
        Rₜ   = ⎨
               ⎩ Rₜ₋₁ + gₜᵀ@gₜ             otherwise
        Pₜ   = inverse_root(Lₜ, 4)   if t = 1, 1 + every_k, ...
        Qₜ   = inverse_root(Rₜ, 4)   if t = 1, 1 + every_k, ...
        dₜ   = Pₜ@gₜ@Qₜ
        mₜ   = momentum·mₜ₋₁ + dₜ   if heavy
               ⎧ mₜ   if heavy
        uₜ   = ⎨
               ⎩ dₜ   otherwise
        wₜ   = wₜ₋₁ − lr·(uₜ + wd·wₜ₋₁)
        where heavy: momentum > 0
        where mean: β < 1

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: in [0, 1)
        beta: decay of the statistics; 1: they are sums, in (0, 1]
        eps: what they start from, on the diagonal, in (0, inf)
        every_k: updates between two computations of the roots, in [1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        filters: of convolutions are matrices of an output channel a row
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        momentum: float | torch.Tensor = 0.0,
        beta: float | torch.Tensor = 1.0,
        eps: float | torch.Tensor = 0.0001,
        every_k: float | torch.Tensor = 1,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        filters: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class ShampooAdamW(SpecOptimizer):
    """Shampoo for matrices, AdamW for other parameters

    Gupta, Koren and Singer 2018, arXiv:1802.09568; Anil et al. 2020, arXiv:2002.09018.

    ::

        Lₜ₋₁       = ε_shampoo·identity(rows)   if t = 1
        Rₜ₋₁       = ε_shampoo·identity(cols)   if t = 1
        Pₜ₋₁       = identity(rows)   if t = 1
        Qₜ₋₁       = identity(cols)   if t = 1
                     ⎧ β·Lₜ₋₁ + (1 − β)·gₜ@gₜᵀ   if shampoo and shampoo_mean
        Lₜ         = ⎨
                     ⎩ Lₜ₋₁ + gₜ@gₜᵀ             if shampoo
                     ⎧ β·Rₜ₋₁ + (1 − β)·gₜᵀ@gₜ   if shampoo and shampoo_mean
        Rₜ         = ⎨
                     ⎩ Rₜ₋₁ + gₜᵀ@gₜ             if shampoo
        Pₜ         = inverse_root(Lₜ, 4)   if shampoo and t = 1, 1 + shampoo_every_k, ...
        Qₜ         = inverse_root(Rₜ, 4)   if shampoo and t = 1, 1 + shampoo_every_k, ...
        dₜ         = Pₜ@gₜ@Qₜ   if shampoo
        m_shampooₜ = shampoo_momentum·m_shampooₜ₋₁ + dₜ   if shampoo and shampoo_heavy
                     ⎧ m_shampooₜ   if shampoo and shampoo_heavy
        uₜ         = ⎨
                     ⎩ dₜ           if shampoo
        wₜ         = wₜ₋₁ − lr·(uₜ + wd·wₜ₋₁)   if shampoo
                     ⎧ adam_lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)   if not shampoo and adam_correct_bias
        adam_rateₜ = ⎨
                     ⎩ adam_lr                        if not shampoo
        m_adamₜ    = β₁·m_adamₜ₋₁ + (1 − β₁)·gₜ   if not shampoo
        vₜ         = β₂·vₜ₋₁ + (1 − β₂)·gₜ²   if not shampoo
        wₜ         = (1 − adam_lr·wd)·wₜ₋₁ − adam_rateₜ·m_adamₜ/(√vₜ + ε_adam)   if not shampoo
        where shampoo: (rank = 2 or rank > 2 and filters) and not plain
        where shampoo_heavy: shampoo_momentum > 0
        where shampoo_mean: β < 1

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        adam_lr: the rate of AdamW
        shampoo_momentum: in [0, 1)
        shampoo_beta: decay of the statistics; 1: they are sums, in (0, 1]
        shampoo_epsilon: what they start from, on the diagonal, in (0, inf)
        shampoo_every_k: updates between two computations of the roots, in [1, inf)
        adam_beta1: decay of the first moment, in [0, 1)
        adam_beta2: decay of the second moment, in [0, 1)
        adam_epsilon: added to the root of the second moment, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        plain: AdamW for this matrix too, as for embeddings and the last layer; patterns of names that are plain, as ('head.*', '*.embed.*'); True: all; () or False: none
        filters: of convolutions are matrices of an output channel a row
        adam_correct_bias: make up for the moments' start at 0
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
        matmul: how float32 matrices are multiplied, as `optgen.load` has it: 'float32', 'bfloat16' or 'deterministic'
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.1,
        adam_lr: float | torch.Tensor = 0.001,
        shampoo_momentum: float | torch.Tensor = 0.0,
        shampoo_beta: float | torch.Tensor = 1.0,
        shampoo_epsilon: float | torch.Tensor = 0.0001,
        shampoo_every_k: float | torch.Tensor = 1,
        adam_beta1: float | torch.Tensor = 0.9,
        adam_beta2: float | torch.Tensor = 0.999,
        adam_epsilon: float | torch.Tensor = 1e-06,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        plain: bool | Iterable[str] | None = None,
        filters: bool = True,
        adam_correct_bias: bool = True,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        matmul: Literal["float32", "bfloat16", "deterministic"] = "float32",
    ) -> None: ...

class Signum(SpecOptimizer):
    """signSGD: compressed optimisation for non-convex problems

    Bernstein et al. 2018, arXiv:1802.04434.

    ::

        momₜ = momentum·momₜ₋₁ − (1 − momentum)·(gₜ + wd·wₜ₋₁)   if heavy
               ⎧ (1 − lr·wd_lh)·wₜ₋₁ + lr·sign(momₜ)   if heavy
        wₜ   = ⎨
               ⎩ (1 − lr·wd)·wₜ₋₁ − lr·sign(gₜ)        otherwise
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        momentum: decay of the averaged gradient; 0 takes the sign of the gradient itself, in [0, 1)
        wd_lh: decoupled weight decay, with momentum only, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.9,
        wd_lh: float | torch.Tensor = 0.0,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SimplifiedAdEMAMix(SpecOptimizer):
    """Connections between schedule-free optimizers, AdEMAMix, and accelerated SGD variants

    Morwani et al. 2025, arXiv:2502.02431.

    ::

        mₜ = β₁·mₜ₋₁ + gₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        uₜ = (mₜ + α·gₜ)/(1/√(1 − β₂ᵗ)·√vₜ + ε)
        wₜ = wₜ₋₁ − lr·(uₜ + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the momentum, in [0, 1); decay of the second moment, in [0, 1)
        alpha: weight of the gradient beside the momentum, in [0, inf)
        eps: added to the root of the second moment, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.99, 0.95),
        alpha: float | torch.Tensor = 0.0,
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SinkGD(SpecOptimizer):
    """Gradient multi-normalization for stateless and memory-efficient LLM training

    Scetbon et al. 2025, arXiv:2502.06742, with five turns.

    ::

        n₁ₜ = ‖gₜ‖[per row]   if matrix
        r₁ₜ = ({0 if n₁ₜ = 0; √cols/n₁ₜ otherwise})   if matrix
        m₁ₜ = ‖r₁ₜ·gₜ‖[per col]   if matrix
        c₁ₜ = ({0 if m₁ₜ = 0; √rows/m₁ₜ otherwise})   if matrix
        n₂ₜ = ‖c₁ₜ·gₜ‖[per row]   if matrix
        r₂ₜ = ({0 if n₂ₜ = 0; √cols/n₂ₜ otherwise})   if matrix
        m₂ₜ = ‖r₂ₜ·gₜ‖[per col]   if matrix
        c₂ₜ = ({0 if m₂ₜ = 0; √rows/m₂ₜ otherwise})   if matrix
        n₃ₜ = ‖c₂ₜ·gₜ‖[per row]   if matrix
        r₃ₜ = ({0 if n₃ₜ = 0; √cols/n₃ₜ otherwise})   if matrix
        m₃ₜ = ‖r₃ₜ·gₜ‖[per col]   if matrix
        c₃ₜ = ({0 if m₃ₜ = 0; √rows/m₃ₜ otherwise})   if matrix
        n₄ₜ = ‖c₃ₜ·gₜ‖[per row]   if matrix
        r₄ₜ = ({0 if n₄ₜ = 0; √cols/n₄ₜ otherwise})   if matrix
        m₄ₜ = ‖r₄ₜ·gₜ‖[per col]   if matrix
        c₄ₜ = ({0 if m₄ₜ = 0; √rows/m₄ₜ otherwise})   if matrix
        n₅ₜ = ‖c₄ₜ·gₜ‖[per row]   if matrix
        r₅ₜ = ({0 if n₅ₜ = 0; √cols/n₅ₜ otherwise})   if matrix
        m₅ₜ = ‖r₅ₜ·gₜ‖[per col]   if matrix
        c₅ₜ = ({0 if m₅ₜ = 0; √rows/m₅ₜ otherwise})   if matrix
        nₜ  = rms(gₜ)   if not matrix
              ⎧ r₅ₜ·gₜ·c₅ₜ                           if matrix
        uₜ  = ⎨
              ⎩ ({0 if nₜ = 0; 1/nₜ otherwise})·gₜ   otherwise
        wₜ  = (1 − lr·wd)·wₜ₋₁ − lr·uₜ
        where matrix: rank ≥ 2

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Sophia(SpecOptimizer):
    """Sophia: a scalable stochastic second-order optimizer for language model pre-training

    Liu et al. 2023, arXiv:2305.14342, algorithm 3.

    ::

        freshₜ = (t − 1)/k = ⌊(t − 1)/k⌋
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·gₜ
                 ⎧ β₂·hₜ₋₁ + (1 − β₂)·ĥₜ   if freshₜ
        hₜ     = ⎨
                 ⎩ hₜ₋₁                    otherwise
        wₜ     = (1 − lr·wd)·wₜ₋₁ − lr·clip(mₜ/max(γ·hₜ, ε), ±ρ)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the averaged curvature, in [0, 1)
        gamma: factor on the curvature; 0.05 for Gauss-Newton-Bartlett estimates, in (0, inf)
        rho: bound on each element of a step, in units of lr, in (0, inf)
        eps: least curvature, in (0, inf)
        k: steps from one estimate to the next: h_hat counts in steps 1, 1 + k, 1 + 2k, ..., in [1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.0001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.96, 0.99),
        gamma: float | torch.Tensor = 0.01,
        rho: float | torch.Tensor = 1.0,
        eps: float | torch.Tensor = 1e-12,
        k: float | torch.Tensor = 10,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class SparseAdam(TorchOptimizer, torch.optim.SparseAdam):
    """torch.optim.SparseAdam, with kernels of optgen.

    Kingma & Ba 2015, arXiv:1412.6980.

    ::

        bias_correction1ₜ = 1 − β₁ᵗ
        bias_correction2ₜ = 1 − β₂ᵗ
        step_sizeₜ        = lr·√bias_correction2ₜ/bias_correction1ₜ
                            ⎧ −gₜ   if maximize
        dₜ                = ⎨
                            ⎩ gₜ    otherwise
        exp_avgₜ          = exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)
        exp_avg_sqₜ       = exp_avg_sqₜ₋₁ + (1 − β₂)·(dₜ·dₜ − exp_avg_sqₜ₋₁)
        wₜ                = wₜ₋₁ − step_sizeₜ·exp_avgₜ/(√exp_avg_sqₜ + ε)

    Args:
        those of torch.optim.SparseAdam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        maximize: bool = False,
        *,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class StableAdamW(SpecOptimizer):
    """Stable and low-precision training for large-scale vision-language models

    Wortsman et al. 2023, arXiv:2304.13013, algorithm 2.

    ::

        b₁ₜ    = β₁·(1 − β₁^(t − 1))/(1 − β₁ᵗ)
        b₂ₜ    = β₂·(1 − β₂^(t − 1))/(1 − β₂ᵗ)
        mₜ     = b₁ₜ·mₜ₋₁ + (1 − b₁ₜ)·gₜ
        vₜ     = b₂ₜ·vₜ₋₁ + (1 − b₂ₜ)·gₜ²
        ratioₜ = rms(gₜ/max(√vₜ, ε))
        ηₜ     = lr/max(1, ratioₜ)
        wₜ     = (1 − ηₜ·wd)·wₜ₋₁ − ηₜ·mₜ/(√vₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, and its least value in the ratio, in (0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.99),
        eps: float | torch.Tensor = 1e-08,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class StableSPAM(SpecOptimizer):
    """Stable-SPAM: how to train in 4-bit more stably than 16-bit Adam

    Huang et al. 2025, arXiv:2502.17055, algorithm 1.

    ::

        resetₜ   = mod(t, interval) = 0
                   ⎧ t                      if t < interval
        sₜ       = ⎨
                   ⎩ mod(t, interval) + 1   otherwise
        topₜ     = max(|gₜ|)
        largestₜ = θ·largestₜ₋₁ + (1 − θ)·topₜ
        boundₜ   = largestₜ/(1 − θᵗ)
                   ⎧ gₜ/topₜ·boundₜ   if |gₜ| > boundₜ
        dₜ       = ⎨
                   ⎩ gₜ               otherwise
        nₜ       = ‖dₜ‖
        m_normₜ  = γ₁·m_normₜ₋₁ + (1 − γ₁)·nₜ
        v_normₜ  = γ₂·v_normₜ₋₁ + (1 − γ₂)·nₜ²
        scaleₜ   = m_normₜ/(1 − γ₁ᵗ)/(√(v_normₜ/(1 − γ₂ᵗ)) + ε)
        uₜ       = ({0 if nₜ = 0; scaleₜ/nₜ otherwise})·dₜ
        mₜ       = β₁·({0 if resetₜ; mₜ₋₁ otherwise}) + (1 − β₁)·uₜ
        vₜ       = β₂·({0 if resetₜ; vₜ₋₁ otherwise}) + (1 − β₂)·uₜ²
        wₜ       = (1 − lr·wd)·wₜ₋₁ − lr·mₜ/(1 − β₁^sₜ)/(√(vₜ/(1 − β₂^sₜ)) + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to divisors, in (0, inf)
        gamma1: decay of the norm of gradients, in [0, 1)
        gamma2: decay of its square, in [0, 1)
        theta: decay of the largest element of gradients, in [0, 1)
        interval: updates between resets of the moments, in [1, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 1e-08,
        gamma1: float | torch.Tensor = 0.7,
        gamma2: float | torch.Tensor = 0.9,
        theta: float | torch.Tensor = 0.999,
        interval: float | torch.Tensor = 1000,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Test(SpecOptimizer):
    """Adds the gradient to the weight, for tests of what surrounds an optimizer

    MXNet's optimizer of this name.

    ::

        keptₜ = wₜ₋₁ + gₜ
        wₜ    = keptₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Tiger(SpecOptimizer):
    """Tiger: A tight-fisted optimizer

    Su 2023, https://github.com/bojone/tiger.

    ::

        mₜ = β·mₜ₋₁ + (1 − β)·gₜ
        wₜ = wₜ₋₁ − lr·(sign(mₜ) + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        beta: decay of the momentum, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.001,
        beta: float | torch.Tensor = 0.965,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class YellowFin(SpecOptimizer):
    """YellowFin and the art of momentum tuning

    Zhang & Mitliagkas 2017, arXiv:1706.03471, algorithms 1 to 4; slow start and 1e-6 as in the authors' code.

    ::

        dₜ      = gₜ + wd·wₜ₋₁
        hₜ      = sum[over params](dₜ²)
        highₜ   = hₜ
        lowₜ    = hₜ
        repeat window times, i = 0, 1, ...:
                  ⎧ max(highₜ, h[t−1−i])   if i < min(step, window) − 1
          highₜ ← ⎨
                  ⎩ highₜ                  otherwise
                  ⎧ min(lowₜ, h[t−1−i])   if i < min(step, window) − 1
          lowₜ  ← ⎨
                  ⎩ lowₜ                  otherwise
        end
        h_maxₜ  = β·h_maxₜ₋₁ + (1 − β)·highₜ
        h_minₜ  = β·h_minₜ₋₁ + (1 − β)·lowₜ
        mₜ      = β·mₜ₋₁ + (1 − β)·dₜ
        n₁ₜ     = β·n₁ₜ₋₁ + (1 − β)·√hₜ
        n₂ₜ     = β·n₂ₜ₋₁ + (1 − β)·hₜ
        distₜ   = β·distₜ₋₁ + (1 − β)·n₁ₜ/(n₂ₜ + 1e-6)
        leastₜ  = h_minₜ/(1 − β^step) + 1e-6
        aₜ      = max(distₜ/(1 − β^step)·leastₜ/√(6·max(n₂ₜ/(1 − β^step) − sum[over params]((mₜ/(1 − β^step))²), 1e-6)), 1e-6)
        kₜ      = ∛(1.5/aₜ + √(2.25/aₜ² + 1))
                  ⎧ 1/(3·aₜ² + 3)        if aₜ > 50
        xₜ      = ⎨
                  ⎩ 1 − aₜ·(kₜ − 1/kₜ)   otherwise
        rootₜ   = max(xₜ, 1 − 2/(1 + √((h_maxₜ/(1 − β^step) + 1e-6)/leastₜ)))
        vₜ      = rootₜ²·vₜ₋₁ + dₜ
        wₜ      = wₜ₋₁ − lr·(1 − rootₜ)²/leastₜ·min(1, step/(10·window))·vₜ

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: factor on the rate that is found
        beta: decay of what is measured, in [0, 1)
        window: updates of which curvature is the range, in [2, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 1.0,
        beta: float | torch.Tensor = 0.999,
        window: float | torch.Tensor = 20,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

class Yogi(SpecOptimizer):
    """Adaptive methods for nonconvex optimization

    Zaheer et al. 2018, NeurIPS, algorithm 2.

    ::

        dₜ = gₜ + wd·wₜ₋₁
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ = max(vₜ₋₁ − (1 − β₂)·sign(vₜ₋₁ − dₜ²)·dₜ², 0)
        wₜ = wₜ₋₁ − lr·mₜ/(√vₜ + ε)

    Args:
        params: parameters, named parameters, dicts of groups, or a network
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        initial_accumulator: where the second moment starts, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        weights: how weights of 16 bits without a master are rounded, as `optgen.load` has it
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        fused: have a GradScaler leave to the step to unscale gradients, and to skip itself
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        accumulate: how many calls of `step` make an update, of the sum of their gradients
        skip_nonfinite: leave out steps with a gradient that is infinite or NaN, which `skipped` counts
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
        states: 'cpu': parameters on a GPU have their states in the memory of the host, and are updated there
        groups: settings by name: pairs of a pattern and a dict, as `('*.bias', {'lr': 0.01})`
        no_decay: a pattern of parameters without weight decay; '1d': those of at most one dimension
    """

    def __init__(
        self,
        params: ParamsT | torch.nn.Module,
        lr: float | torch.Tensor = 0.01,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float | torch.Tensor = 0.001,
        initial_accumulator: float | torch.Tensor = 1e-06,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        weights: Literal["stochastic", "kahan"] | None = None,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        fused: bool | None = None,
        in_backward: bool = False,
        accumulate: int = 1,
        skip_nonfinite: bool = False,
        donate_grads: bool = False,
        states: Literal["cpu"] | None = None,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
    ) -> None: ...

AdaDelta = Adadelta
AdaGrad = Adagrad
Nadam = NAdam
RMSProp = RMSprop
