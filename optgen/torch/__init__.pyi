"""Written by `python -m optgen.torch.stub`, from the specs."""

# ruff: noqa: E501 (equations are as wide as they are)
import os
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch.optim.optimizer import ParamsT

from optgen.model import Optimizer
from optgen.torch.base import SpecOptimizer as SpecOptimizer
from optgen.torch.replacing import replace as replace
from optgen.torch.torch_classes import TorchOptimizer

class _AnySpecOptimizer(SpecOptimizer):
    def __init__(self, params: ParamsT, lr: float | torch.Tensor = ..., *args: Any, **values: Any) -> None: ...

def optimizer(spec: str | os.PathLike[str] | Optimizer) -> type[_AnySpecOptimizer]: ...

class ASGD(TorchOptimizer, torch.optim.ASGD):
    """torch.optim.ASGD, with kernels of optgen.

    Polyak & Juditsky 1992, SIAM J. Control Optim. 30(4).

    ::

                   ⎧ float32(ηₜ₋₁)   if single
        ηₜₜ      = ⎨
                   ⎩ ηₜ₋₁            otherwise
                   ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize
        dₜ       = ⎨
                   ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
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

    Args:
        those of torch.optim.ASGD, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class AdEMAMix(SpecOptimizer):
    """The AdEMAMix optimizer: better, faster, older

    Pagliardini, Ablin & Grangier 2024, arXiv:2409.03137, algorithm 1.

    ::

        gₜ  = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class AdaBelief(SpecOptimizer):
    """Adapting stepsizes by the belief in observed gradients

    Zhuang et al. 2020, arXiv:2010.07468, algorithm 2.

    ::

                ⎧ lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ)   if correct_bias
        rateₜ = ⎨
                ⎩ lr                        otherwise
        dₜ    = clip(rescale_grad·gradₜ + wd·wₜ₋₁, ±clip_gradient)
        mₜ    = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        sₜ    = β₂·sₜ₋₁ + (1 − β₂)·(dₜ − mₜ)² + ε
        wₜ    = wₜ₋₁ − rateₜ·mₜ/(√sₜ + ε)

    Args:
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Adadelta(TorchOptimizer, torch.optim.Adadelta):
    """torch.optim.Adadelta, with kernels of optgen.

    Zeiler 2012, arXiv:1212.5701.

    ::

                      ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize
        dₜ          = ⎨
                      ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
        square_avgₜ = ρ·square_avgₜ₋₁ + (1 − ρ)·dₜ·dₜ
        δₜ          = √(acc_deltaₜ₋₁ + ε)/√(square_avgₜ + ε)·dₜ
        acc_deltaₜ  = ρ·acc_deltaₜ₋₁ + (1 − ρ)·δₜ·δₜ
        wₜ          = wₜ₋₁ − lr·δₜ

    Args:
        those of torch.optim.Adadelta, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Adafactor(TorchOptimizer, torch.optim.Adafactor):
    """torch.optim.Adafactor, with kernels of optgen.

    Shazeer & Stern 2018, arXiv:1804.04235.

    ::

                           ⎧ ε₁                if given
        leastₜ           = ⎨
                           ⎩ machine_epsilon   otherwise
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Adagrad(TorchOptimizer, torch.optim.Adagrad):
    """torch.optim.Adagrad, with kernels of optgen.

    Duchi, Hazan & Singer 2011, JMLR 12.

    ::

        clrₜ         = lr/(1 + (t − 1)·lr_decay)
                       ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize
        dₜ           = ⎨
                       ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
        accumulatorₜ = accumulatorₜ₋₁ + dₜ·dₜ
        wₜ           = wₜ₋₁ − clrₜ·dₜ/(√accumulatorₜ + ε)

    Args:
        those of torch.optim.Adagrad, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Adam(TorchOptimizer, torch.optim.Adam):
    """torch.optim.Adam, with kernels of optgen.

    Kingma & Ba 2015, arXiv:1412.6980; AMSGrad: Reddi et al. 2018, arXiv:1904.09237.

    ::

        bias_correction1ₜ = 1 − β₁ᵗ
        bias_correction2ₜ = 1 − β₂ᵗ
        step_sizeₜ        = lr/bias_correction1ₜ
                            ⎧ −gₜ                      if decoupled_weight_decay and maximize
                            ⎪ gₜ                       if decoupled_weight_decay
        dₜ                = ⎨
                            ⎪ weight_decay·wₜ₋₁ − gₜ   if maximize
                            ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
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

    Args:
        those of torch.optim.Adam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class AdamMini(SpecOptimizer):
    """Adam-mini: use fewer learning rates to gain more

    Zhang et al. 2024, arXiv:2406.16793, algorithm 1, with the rows of a matrix as its blocks.

    ::

        gₜ     = clip(rescale_grad·gradₜ, ±clip_gradient)
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        v_rowₜ = β₂·v_rowₜ₋₁ + (1 − β₂)·mean[per row](gₜ²)   if by_row
        vₜ     = β₂·vₜ₋₁ + (1 − β₂)·mean(gₜ²)   if not by_row
                 ⎧ 1/(1 − β₂ᵗ)·v_rowₜ   if by_row
        v̂ₜ     = ⎨
                 ⎩ 1/(1 − β₂ᵗ)·vₜ       otherwise
        rateₜ  = lr/(1 − β₁ᵗ)/(√v̂ₜ + ε)
        wₜ     = (1 − lr·wd)·wₜ₋₁ − rateₜ·mₜ
        where by_row: rank ≥ 2

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
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
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Adamax(TorchOptimizer, torch.optim.Adamax):
    """torch.optim.Adamax, with kernels of optgen.

    Kingma & Ba 2015, arXiv:1412.6980, algorithm 2.

    ::

        bias_correctionₜ = 1 − β₁ᵗ
                           ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize
        dₜ               = ⎨
                           ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
                           ⎧ exp_avgₜ₋₁ + (1 − β₁)·(dₜ − exp_avgₜ₋₁)   if β₁ > 0.5
        exp_avgₜ         = ⎨
                           ⎩ dₜ − β₁·(dₜ − exp_avgₜ₋₁)                 otherwise
        exp_infₜ         = max(β₂·exp_infₜ₋₁, |dₜ| + ε)
        wₜ               = wₜ₋₁ − lr/bias_correctionₜ·exp_avgₜ/exp_infₜ

    Args:
        those of torch.optim.Adamax, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Adan(SpecOptimizer):
    """Adan: adaptive Nesterov momentum algorithm for faster optimizing deep models

    Xie et al. 2022, arXiv:2208.06677, algorithm 1, with 1 - beta of the paper as beta, as in the authors' code.

    ::

        gₜ      = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class CAME(SpecOptimizer):
    """CAME: confidence-guided adaptive memory efficient optimization

    Luo et al. 2023, arXiv:2307.02047, algorithm 2.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class CautiousAdamW(SpecOptimizer):
    """Cautious optimizers: improving training with one line of code

    Liang et al. 2024, arXiv:2411.16085, algorithm 2.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        vₜ = β₂·vₜ₋₁ + (1 − β₂)·gₜ²
        uₜ = 1/(1 − β₁ᵗ)·mₜ/(1/√(1 − β₂ᵗ)·√vₜ + ε)
             ⎧ 1   if uₜ·gₜ > 0
        φₜ = ⎨
             ⎩ 0   otherwise
        ηₜ = lr·size/(sum(φₜ) + 1)
        wₜ = (1 − lr·wd)·wₜ₋₁ − ηₜ·φₜ·uₜ

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        betas: decay of the first moment, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class DAdaptAdam(SpecOptimizer):
    """Learning-rate-free learning by D-Adaptation

    Defazio & Mishchenko 2023, arXiv:2301.07733, algorithm 5, with the norm of the authors' code, version 3.

    ::

        gₜ     = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class DCASGD(SpecOptimizer):
    """Asynchronous stochastic gradient descent with delay compensation

    Zheng et al. 2017, arXiv:1609.08326, algorithm 2.

    ::

        gₜ        = clip(rescale_grad·gradₜ, ±clip_gradient)
        dₜ        = gₜ + wd·wₜ₋₁ + λ·gₜ·gₜ·(wₜ₋₁ − previousₜ₋₁)
        momₜ      = momentum·momₜ₋₁ − lr·dₜ   if heavy
                    ⎧ wₜ₋₁ + momₜ    if heavy
        wₜ        = ⎨
                    ⎩ wₜ₋₁ − lr·dₜ   otherwise
        previousₜ = wₜ₋₁
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        momentum: decay of the velocity; 0 keeps none, in [0, 1)
        lamda: strength of the compensation, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class FTML(SpecOptimizer):
    """Follow the moving leader in deep learning

    Zheng & Kwok 2017, ICML, PMLR 70, algorithm 1.

    ::

        Gₜ = clip(rescale_grad·gradₜ + wd·wₜ₋₁, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
        lr: learning rate, in [0, inf)
        betas: decay of the averages in z, in [0, 1); decay of the second moment, in [0, 1)
        eps: added to the root of the second moment, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Ftrl(SpecOptimizer):
    """Ad click prediction: a view from the trenches

    McMahan et al. 2013, KDD, algorithm 1.

    ::

        gₜ    = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
        lr: learning rate, in [0, inf)
        lamda1: strength of the L1 penalty, in [0, inf)
        beta: smooths the rate of each weight, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class GroupAdaGrad(SpecOptimizer):
    """AdaGrad with one rate for each row, as for embeddings

    Duchi, Hazan & Singer 2011, JMLR 12, with groups of coordinates.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
        hₜ = hₜ₋₁ + mean[per row](gₜ²)
        wₜ = wₜ₋₁ − lr/√(hₜ + ε)·gₜ

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        eps: added to the sum of squares, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 0.01,
        eps: float | torch.Tensor = 1e-05,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class LAMB(SpecOptimizer):
    """Large batch optimization for deep learning: training BERT in 76 minutes

    You et al. 2020, arXiv:1904.00962, algorithm 2.

    ::

        gₜ     = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class LANS(SpecOptimizer):
    """Accelerated large batch optimization of BERT pretraining in 54 minutes

    Zheng et al. 2020, arXiv:2006.13484, algorithm 2.

    ::

        g_normₜ  = ‖rescale_grad·gradₜ‖
        dₜ       = clip(({0 if g_normₜ = 0; rescale_grad/g_normₜ otherwise})·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class LARS(SpecOptimizer):
    """Large batch training of convolutional networks

    You, Gitman & Ginsburg 2017, arXiv:1708.03888; momentum correction: Goyal et al. 2017, arXiv:1706.02677.

    ::

        gₜ       = clip(rescale_grad·gradₜ, ±clip_gradient)
        w_normₜ  = ‖wₜ₋₁‖   if not skip
        g_normₜ  = |rescale_grad|·‖gradₜ‖   if not skip
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class LBSGD(SpecOptimizer):
    """Large-batch SGD: gradients of several calls are one batch, and the rate warms up

    Goyal et al. 2017, arXiv:1706.02677; 'lars': You, Gitman & Ginsburg 2017, arXiv:1708.03888.

    ::

        countₜ     = countₜ₋₁ + 1
        nₜ         = begin_epoch·updates_per_epoch + countₜ
        dueₜ       = ⌊nₜ/batch_scale⌋ = nₜ/batch_scale
                     ⎧ cumₜ₋₁ + gradₜ   if gathers
        totalₜ     = ⎨
                     ⎩ gradₜ            otherwise
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
        dₜ         = clip(rescale_grad·mean_gradₜ, ±clip_gradient)
        momₜ       = ({momentum if dueₜ; 1 otherwise})·momₜ₋₁ − rateₜ·(dₜ + wd·wₜ₋₁)   if heavy
                     ⎧ wₜ₋₁ + ({1 if dueₜ; 0 otherwise})·momₜ   if heavy
        wₜ         = ⎨
                     ⎩ (1 − rateₜ·wd)·wₜ₋₁ − rateₜ·dₜ           otherwise
        where heavy: momentum > 0
        where gathers: batch_scale > 1

    Args:
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Lion(SpecOptimizer):
    """Symbolic discovery of optimization algorithms

    Chen et al. 2023, arXiv:2302.06675, algorithm 2.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
        cₜ = β₁·mₜ₋₁ + (1 − β₁)·gₜ
        mₜ = β₂·mₜ₋₁ + (1 − β₂)·gₜ
        wₜ = wₜ₋₁ − lr·(sign(cₜ) + wd·wₜ₋₁)

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        betas: weight of the momentum in the sign, in [0, 1); decay of the momentum, in [0, 1)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 0.0001,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.99),
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class MARS(SpecOptimizer):
    """MARS: unleashing the power of variance reduction for training large models

    Yuan et al. 2024, arXiv:2411.10438, algorithm 2, with the last step's gradient in place of a second one.

    ::

        gₜ      = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class NAG(SpecOptimizer):
    """Nesterov accelerated gradient

    Nesterov 1983; Sutskever et al. 2013, On the importance of initialization and momentum in deep learning.

    ::

        gₜ   = clip(rescale_grad·gradₜ, ±clip_gradient)
               ⎧ wₜ₋₁ + momentum²·momₜ₋₁ − (1 + momentum)·lr·(gₜ + wd·wₜ₋₁)   if heavy
        wₜ   = ⎨
               ⎩ (1 − lr·wd)·wₜ₋₁ − lr·gₜ                                     otherwise
        momₜ = momentum·momₜ₋₁ − lr·(gₜ + wd·wₜ)   if heavy
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        momentum: decay of the velocity; 0 keeps none, in [0, 1)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 0.01,
        momentum: float | torch.Tensor = 0.0,
        clip_gradient: float | torch.Tensor | None = None,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class NAdam(TorchOptimizer, torch.optim.NAdam):
    """torch.optim.NAdam, with kernels of optgen.

    Dozat 2016, ICLR workshop: Incorporating Nesterov momentum into Adam.

    ::

        bias_correction2ₜ = 1 − β₂ᵗ
                            ⎧ −gₜ                      if decoupled_weight_decay and maximize
                            ⎪ gₜ                       if decoupled_weight_decay
        dₜ                = ⎨
                            ⎪ weight_decay·wₜ₋₁ − gₜ   if maximize
                            ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
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

    Args:
        those of torch.optim.NAdam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class NovoGrad(SpecOptimizer):
    """Stochastic gradient methods with layer-wise adaptive moments for training of deep networks

    Ginsburg et al. 2019, arXiv:1905.11286, algorithm 1.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Prodigy(SpecOptimizer):
    """Prodigy: an expeditiously adaptive parameter-free learner

    Mishchenko & Defazio 2024, arXiv:2306.06101, algorithm 4; r and s over d0, as in the authors' code.

    ::

        gₜ     = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class QHAdam(SpecOptimizer):
    """Quasi-hyperbolic momentum and Adam for deep learning

    Ma & Yarats 2019, arXiv:1810.06801, algorithm 2.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class RAdam(TorchOptimizer, torch.optim.RAdam):
    """torch.optim.RAdam, with kernels of optgen.

    Liu et al. 2020, arXiv:1908.03265.

    ::

        bias_correction1ₜ = 1 − β₁ᵗ
        bias_correction2ₜ = 1 − β₂ᵗ
                            ⎧ −gₜ                      if decoupled_weight_decay and maximize
                            ⎪ gₜ                       if decoupled_weight_decay
        dₜ                = ⎨
                            ⎪ weight_decay·wₜ₋₁ − gₜ   if maximize
                            ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
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

    Args:
        those of torch.optim.RAdam, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class RMSprop(TorchOptimizer, torch.optim.RMSprop):
    """torch.optim.RMSprop, with kernels of optgen.

    Tieleman & Hinton 2012, lecture 6.5; centered: Graves 2013, arXiv:1308.0850.

    ::

                           ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize
        dₜ               = ⎨
                           ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
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

    Args:
        those of torch.optim.RMSprop, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
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
        seed: of draws and of random rounding
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class SGD(TorchOptimizer, torch.optim.SGD):
    """torch.optim.SGD, with kernels of optgen.

    Sutskever et al. 2013, ICML: On the importance of initialization and momentum in deep learning.

    ::

                           ⎧ weight_decay·wₜ₋₁ − gₜ   if maximize
        dₜ               = ⎨
                           ⎩ gₜ + weight_decay·wₜ₋₁   otherwise
        momentum_bufferₜ = ({dₜ if t = 1; momentum·momentum_bufferₜ₋₁ + (1 − dampening)·dₜ otherwise})   if heavy
                           ⎧ wₜ₋₁ − lr·(dₜ + momentum·momentum_bufferₜ)   if heavy and nesterov
        wₜ               = ⎨ wₜ₋₁ − lr·momentum_bufferₜ                   if heavy
                           ⎩ wₜ₋₁ − lr·dₜ                                 otherwise
        where heavy: momentum > 0

    Args:
        those of torch.optim.SGD, and:
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class SGLD(SpecOptimizer):
    """Bayesian learning via stochastic gradient Langevin dynamics

    Welling & Teh 2011, ICML, eq. 4.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
        zₜ ~ N(0, 1)
        wₜ = wₜ₋₁ − lr/2·(gₜ + wd·wₜ₋₁) + √lr·zₜ

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 0.01,
        weight_decay: float | torch.Tensor = 0.0,
        rescale_grad: float | torch.Tensor = 1.0,
        clip_gradient: float | torch.Tensor | None = None,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class ScheduleFreeAdamW(SpecOptimizer):
    """The road less scheduled

    Defazio et al. 2024, arXiv:2405.15682, algorithm 1; weights of the average as in the authors' code.

    ::

        gₜ       = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class ScheduleFreeSGD(SpecOptimizer):
    """The road less scheduled

    Defazio et al. 2024, arXiv:2405.15682, eq. 2-4; weights of the average as in the authors' code.

    ::

        gₜ       = clip(rescale_grad·gradₜ, ±clip_gradient)
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
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Signum(SpecOptimizer):
    """signSGD: compressed optimisation for non-convex problems

    Bernstein et al. 2018, arXiv:1802.04434.

    ::

        gₜ   = clip(rescale_grad·gradₜ, ±clip_gradient)
        momₜ = momentum·momₜ₋₁ − (1 − momentum)·(gₜ + wd·wₜ₋₁)   if heavy
               ⎧ (1 − lr·wd_lh)·wₜ₋₁ + lr·sign(momₜ)   if heavy
        wₜ   = ⎨
               ⎩ (1 − lr·wd)·wₜ₋₁ − lr·sign(gradₜ)     otherwise
        where heavy: momentum > 0

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        momentum: decay of the averaged gradient; 0 takes the sign of the gradient itself, in [0, 1)
        wd_lh: decoupled weight decay, with momentum only, in [0, inf)
        clip_gradient: bound on each element of the rescaled gradient, in [0, inf)
        weight_decay: weight decay, in [0, inf)
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Sophia(SpecOptimizer):
    """Sophia: a scalable stochastic second-order optimizer for language model pre-training

    Liu et al. 2023, arXiv:2305.14342, algorithm 3.

    ::

        gₜ     = clip(rescale_grad·gradₜ, ±clip_gradient)
        freshₜ = (t − 1)/k = ⌊(t − 1)/k⌋
        mₜ     = β₁·mₜ₋₁ + (1 − β₁)·gₜ
                 ⎧ β₂·hₜ₋₁ + (1 − β₂)·ĥₜ   if freshₜ
        hₜ     = ⎨
                 ⎩ hₜ₋₁                    otherwise
        wₜ     = (1 − lr·wd)·wₜ₋₁ − lr·clip(mₜ/max(γ·hₜ, ε), ±ρ)

    Args:
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        maximize: bool = False,
        *,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Test(SpecOptimizer):
    """Adds the gradient to the weight, for tests of what surrounds an optimizer

    MXNet's optimizer of this name.

    ::

        keptₜ = wₜ₋₁ + rescale_grad·gradₜ
        wₜ    = keptₜ

    Args:
        params: parameters, named parameters, or dicts of groups
        lr: learning rate
        rescale_grad: factor on the gradient
        maximize: go up along the gradients, and not down
        storage: how elementwise states are kept, all of them or by name, as `optgen.load` has it
        master: keep a float32 weight beside each parameter of 16 bits
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 0.01,
        rescale_grad: float | torch.Tensor = 1.0,
        *,
        maximize: bool = False,
        storage: str | Mapping[str, str] | None = None,
        master: bool = False,
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

class Yogi(SpecOptimizer):
    """Adaptive methods for nonconvex optimization

    Zaheer et al. 2018, NeurIPS, algorithm 2.

    ::

        gₜ = clip(rescale_grad·gradₜ, ±clip_gradient)
        dₜ = gₜ + wd·wₜ₋₁
        mₜ = β₁·mₜ₋₁ + (1 − β₁)·dₜ
        vₜ = max(vₜ₋₁ − (1 − β₂)·sign(vₜ₋₁ − dₜ²)·dₜ², 0)
        wₜ = wₜ₋₁ − lr·mₜ/(√vₜ + ε)

    Args:
        params: parameters, named parameters, or dicts of groups
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
        seed: of draws and of random rounding
        capturable: on a GPU: a captured CUDA graph of a step is a step whenever it is replayed
        clip_norm: limit of the norm of all gradients, applied within the step as `clip_grad_norm_` does before
        in_backward: update each parameter within `backward`, when its gradient is complete, and free that
        donate_grads: on a CPU: let a step use the memory of gradients, after which `p.grad` is None
    """

    def __init__(
        self,
        params: ParamsT,
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
        seed: int = 0,
        capturable: bool = False,
        clip_norm: float | None = None,
        in_backward: bool = False,
        donate_grads: bool = False,
    ) -> None: ...

AdaDelta = Adadelta
AdaGrad = Adagrad
Nadam = NAdam
RMSProp = RMSprop
