"""Written by `python -m runtime.optimizer.stub`, from the specs."""

# ruff: noqa: E501 (equations are as wide as they are)
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

from runtime.optimizer.optimizer import Index, NamedParameter
from runtime.optimizer.optimizer import Optimizer as Optimizer
from runtime.optimizer.spec import SpecOptimizer as SpecOptimizer
from runtime.optimizer.updater import Updater as Updater
from runtime.optimizer.updater import get_updater as get_updater

def register(klass: type[Optimizer]) -> type[Optimizer]: ...
def create(name: str, **kwargs: Any) -> Optimizer: ...
def register_spec(spec: str | os.PathLike[str]) -> type[SpecOptimizer]: ...

class AccSGD(SpecOptimizer):
    """On the insufficiency of existing momentum schemes for stochastic optimization.

    Kidambi et al. 2018, arXiv:1803.05591.

        beta = small_const^2*xi/kappa
        zeta = small_const/(small_const + beta)
        d    = g + wd*w
        x'   = x + beta*(w - x) - beta*lr*kappa/small_const*d
        y    = w - lr*d
        w'   = y + (1 - zeta)*(x' - y)

    Parameters
    ----------
    learning_rate: short step.
    kappa: ratio of the long step to the short one, in [1, inf).
    xi: statistical advantage; at most the root of kappa, in [1, inf).
    small_const: divides the long step, in (0, 1].
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    kappa: float
    xi: float
    small_const: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        kappa: float = 1000.0,
        xi: float = 10.0,
        small_const: float = 0.7,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ACProp(SpecOptimizer):
    """Momentum centering and asynchronous update for adaptive gradient methods.

    Zhuang et al. 2021, arXiv:2110.05454.

        root = where(t == 1, 1, sqrt(s/(1 - beta2^max(t - 1, 1))))
        w'   = (1 - lr*wd)*w - lr*g/(root + epsilon)
        s'   = beta2*s + (1 - beta2)*(g - m)^2 + epsilon_root
        m'   = beta1*m + (1 - beta1)*g

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the expected gradient, in [0, 1).
    beta2: decay of the variance, in [0, 1).
    epsilon: added to the root of the variance, in (0, inf).
    epsilon_root: added to the variance in each step, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    epsilon_root: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-16,
        epsilon_root: float = 1e-16,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaBelief(SpecOptimizer):
    """Adapting stepsizes by the belief in observed gradients.

    Zhuang et al. 2020, arXiv:2010.07468, algorithm 2.

        rate = lr*sqrt(1 - beta2^t)/(1 - beta1^t)   if correct_bias
        rate = lr                                   otherwise
        d    = clip(rescale_grad*grad + wd*w, clip_gradient)
        m'   = beta1*m + (1 - beta1)*d
        s'   = beta2*s + (1 - beta2)*(d - m')^2 + epsilon
        w'   = w - rate*m'/(sqrt(s') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the variance, in [0, 1).
    epsilon: added to the variance, and to its root, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    correct_bias: make up for the moments' start at 0.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    correct_bias: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        correct_bias: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaBound(SpecOptimizer):
    """Adaptive gradient methods with dynamic bound of learning rate.

    Luo et al. 2019, arXiv:1902.09843, algorithm 2.

        d      = g + wd*w
        lr0'   = where(lr0 == 0, lr, lr0)
        m'     = beta1*m + (1 - beta1)*d
        v'     = beta2*v + (1 - beta2)*d^2
        v_max' = max(v_max, v')           if amsbound
        root   = sqrt(v_max') + epsilon   if amsbound
        root   = sqrt(v') + epsilon       otherwise
        final  = where(lr0' == 0, 0, final_lr*lr/lr0')
        rate   = lr*sqrt(1 - beta2^t)/(1 - beta1^t)
        w'     = w - clip(rate/root, final*(1 - 1/(gamma*t + 1)), final*(1 + 1/(gamma*t)))*m'

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    final_lr: rate of SGD, to which all rates go, in (0, inf).
    gamma: how fast the bounds close in, in (0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    amsbound: keep the largest second moment.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    final_lr: float
    gamma: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    amsbound: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        final_lr: float = 0.1,
        gamma: float = 0.001,
        epsilon: float = 1e-08,
        amsbound: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaDelta(SpecOptimizer):
    """ADADELTA: an adaptive learning rate method.

    Zeiler 2012, arXiv:1212.5701, algorithm 1.

        acc'   = rho*acc + (1 - rho)*g^2
        s      = sqrt(delta + epsilon)/sqrt(acc' + epsilon)*g
        delta' = rho*delta + (1 - rho)*s^2
        w'     = w - (s + wd*w)

    Parameters
    ----------
    rho: decay of both averages, in [0, 1).
    epsilon: added under the roots, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    rho: float
    epsilon: float
    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        rho: float = 0.9,
        epsilon: float = 1e-05,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Adafactor(SpecOptimizer):
    """Adafactor: adaptive learning rates with sublinear memory cost.

    Shazeer & Stern 2018, arXiv:1804.04235, algorithms 4 and 5; first moment: section 4.

        beta2 = 1 - t^beta2_decay
        s     = g^2 + eps1
        R'    = beta2*R + (1 - beta2)*mean(s, per row)   if factored
        C'    = beta2*C + (1 - beta2)*mean(s, per col)   if factored
        v'    = beta2*v + (1 - beta2)*s                  if not factored
        r     = sqrt(mean(R'))/sqrt(R')                  if factored   # r*c is 1/sqrt(R'*C'/mean(R'))
        c     = 1/sqrt(C')                               if factored
        u     = r*g*c                                    if factored
        u     = g/sqrt(v')                               otherwise
        rho   = min(lr, 1/sqrt(t))                       if relative_step
        rho   = lr                                       otherwise
        alpha = rho*max(eps2, rms(w))                    if scale_parameter
        alpha = rho                                      otherwise
        rate  = alpha/max(1, rms(u)/clip_threshold)
        m'    = beta1*m + (1 - beta1)*rate*u             if averaged
        w'    = (1 - lr*wd)*w - m'                       if averaged
        w'    = (1 - lr*wd)*w - rate*u                   otherwise

    Parameters
    ----------
    learning_rate: rate; with relative_step its largest value.
    beta1: decay of the averaged update; 0 keeps none, in [0, 1).
    beta2_decay: the decay of the second moment is 1 - t^beta2_decay, in (-inf, 0].
    eps1: added to the squared gradient, in (0, inf).
    eps2: least scale of a parameter, in [0, inf).
    clip_threshold: bound on the root mean square of an update, in (0, inf).
    relative_step: let the rate fall as 1/sqrt(t).
    scale_parameter: measure the rate in root mean squares of the weight.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2_decay: float
    eps1: float
    eps2: float
    clip_threshold: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    relative_step: bool
    scale_parameter: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta1: float = 0.0,
        beta2_decay: float = -0.8,
        eps1: float = 1e-30,
        eps2: float = 0.001,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        scale_parameter: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaGrad(SpecOptimizer):
    """Adaptive subgradient methods for online learning and stochastic optimization.

    Duchi, Hazan & Singer 2011, JMLR 12.

        h' = h + g^2
        w' = w - lr*(g/sqrt(h' + eps) + wd*w)

    Parameters
    ----------
    eps: added to the sum of squares, in [0, inf).
    learning_rate: learning rate.
    The others are those of every Optimizer and SpecOptimizer.
    """

    eps: float
    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        eps: float = 1e-07,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = True,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaGradNorm(SpecOptimizer):
    """AdaGrad stepsizes: sharp convergence over nonconvex landscapes.

    Ward, Wu & Bottou 2019, arXiv:1806.01811, algorithm 1.

        d   = g + wd*w
        b2' = b2 + sum(d^2, over params)
        w'  = w - lr/sqrt(b0^2 + b2')*d

    Parameters
    ----------
    learning_rate: learning rate.
    b0: where the root of the sum starts, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    b0: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        b0: float = 0.1,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaHessian(SpecOptimizer):
    """ADAHESSIAN: an adaptive second order optimizer for machine learning.

    Yao et al. 2021, arXiv:2006.00719, algorithm 1.

        h    = mean(abs(h_hat), per matrix)    if kernels
        m'   = beta1*m + (1 - beta1)*g
        v'   = beta2*v + (1 - beta2)*h_hat^2   if not kernels
        V'   = beta2*V + (1 - beta2)*h^2       if kernels
        root = 1/sqrt(1 - beta2^t)*sqrt(V')    if kernels
        root = 1/sqrt(1 - beta2^t)*sqrt(v')    otherwise
        D    = root^hessian_power              if powered
        D    = root                            otherwise
        w'   = w - lr*(1/(1 - beta1^t)*m'/(D + epsilon) + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment of the curvature, in [0, 1).
    hessian_power: power of the root of that moment, in [0, 1].
    epsilon: added to the power, in (0, inf).
    average_kernels: average the curvature over the last two axes of a tensor of four dimensions.
    h_hat: an input, for `set_input`: Hutchinson's estimate of the diagonal of the Hessian, z*(H*z) with signs z.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    hessian_power: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    average_kernels: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        beta1: float = 0.9,
        beta2: float = 0.999,
        hessian_power: float = 1.0,
        epsilon: float = 0.0001,
        average_kernels: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Adai(SpecOptimizer):
    """Adaptive inertia: disentangling the effects of adaptive learning rate and momentum.

    Xie et al. 2022, arXiv:2006.15815.

        d      = g                                        if decoupled_weight_decay
        d      = g + wd*w                                 otherwise
        v'     = beta2*v + (1 - beta2)*d^2
        v_hat  = 1/(1 - beta2^t)*v'
        v_mean = mean(v_hat, over params)
        mu     = clip(1 - beta0*where(v_mean == 0, 0, v_hat/v_mean), 0, 1 - epsilon)
        q'     = mu*q + (1 - mu)
        m'     = mu*m + (1 - mu)*d
        w'     = (1 - lr*wd)*w - lr*m'/max(q', epsilon)   if decoupled_weight_decay
        w'     = w - lr*m'/max(q', epsilon)               otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta0: how far the inertia falls below 1, in [0, inf).
    beta2: decay of the second moment, in [0, 1).
    epsilon: the inertia is at most 1 - epsilon, in (0, 1).
    decoupled_weight_decay: decay the weight itself, not through the gradient: AdaiW.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta0: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    decoupled_weight_decay: bool
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta0: float = 0.1,
        beta2: float = 0.99,
        epsilon: float = 0.001,
        decoupled_weight_decay: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaLomo(SpecOptimizer):
    """AdaLomo: low-memory optimization with adaptive learning rate.

    Lv, Yan, Guo, Lv & Qiu 2023, arXiv:2310.10195, algorithm 1; decay of the moment as in the authors' code.

        beta  = 1 - t^decay_rate
        q     = g^2 + eps1
        R'    = beta*R + (1 - beta)*mean(q, per row)   if factored
        C'    = beta*C + (1 - beta)*mean(q, per col)   if factored
        v'    = beta*v + (1 - beta)*q                  if not factored
        r     = sqrt(mean(R'))/sqrt(R')                if factored   # r*c is 1/sqrt(R'*C'/mean(R'))
        c     = 1/sqrt(C')                             if factored
        u     = r*g*c                                  if factored
        u     = g/sqrt(v')                             otherwise
        alpha = lr*max(eps2, rms(w))
        w'    = (1 - alpha*wd)*w - alpha/max(1, rms(u)/clip_threshold)*u

    Parameters
    ----------
    learning_rate: rate, in root mean squares of the weight.
    decay_rate: the decay of the second moment is 1 - t^decay_rate, in (-inf, 0].
    eps1: added to the squared gradient, in (0, inf).
    eps2: least scale of a parameter, in [0, inf).
    clip_threshold: bound on the root mean square of an update, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    decay_rate: float
    eps1: float
    eps2: float
    clip_threshold: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0005,
        decay_rate: float = -0.8,
        eps1: float = 1e-30,
        eps2: float = 0.001,
        clip_threshold: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Adam(SpecOptimizer):
    """Adam: a method for stochastic optimization.

    Kingma & Ba 2015, arXiv:1412.6980; AMSGrad: Reddi et al. 2018, arXiv:1904.09237.

        lr_t   = lr*sqrt(1 - beta2^t)/(1 - beta1^t)   # once per step, on the host, in double
        d      = clip(rescale_grad*grad + wd*w, clip_gradient)
        m'     = beta1*m + (1 - beta1)*d
        v'     = beta2*v + (1 - beta2)*d^2
        v_max' = max(v_max, v')                         if amsgrad
        w'     = w - lr_t*m'/(sqrt(v_max') + epsilon)   if amsgrad
        w'     = w - lr_t*m'/(sqrt(v') + epsilon)       otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    amsgrad: keep the largest second moment.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    amsgrad: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        lazy_update: bool = True,
        amsgrad: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdamAtan2(SpecOptimizer):
    """Adam without an epsilon: scaling exponents across parameterizations and optimizers.

    Everett et al. 2024, arXiv:2407.05872.

        m' = beta1*m + (1 - beta1)*g
        v' = beta2*v + (1 - beta2)*g^2
        w' = (1 - lr*wd)*w - lr*a*atan2(1/(1 - beta1^t)*m', b/sqrt(1 - beta2^t)*sqrt(v'))

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    a: factor on the angle: about 4/pi, so that equal moments make a step of lr, in (0, inf).
    b: factor on the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    a: float
    b: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        a: float = 1.27,
        b: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdamHD(SpecOptimizer):
    """Online learning rate adaptation with hypergradient descent: Adam whose rate is learnt, too.

    Baydin et al. 2018, arXiv:1703.04782, algorithm 6.

        d     = g + wd*w
        rate' = rate + hypergrad_lr*sum(d*u, over params)
        m'    = beta1*m + (1 - beta1)*d
        v'    = beta2*v + (1 - beta2)*d^2
        u'    = 1/(1 - beta1^t)*m'/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w'    = w - rate'*u'

    Parameters
    ----------
    learning_rate: first rate; a later change has no effect.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    hypergrad_lr: rate of the rate, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    hypergrad_lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        hypergrad_lr: float = 1e-07,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Adamax(SpecOptimizer):
    """Adam with the infinity norm for the second moment.

    Kingma & Ba 2015, arXiv:1412.6980, algorithm 2.

        d  = clip(rescale_grad*grad + wd*w, clip_gradient)
        m' = beta1*m + (1 - beta1)*d
        u' = max(beta2*u, abs(d))
        # An element that never had a gradient has u' = 0 and takes no step.
        w' = where(u' == 0, w, w - lr/(1 - beta1^t)*m'/u')

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the largest gradient, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdamC(SpecOptimizer):
    """AdamW whose weight decay follows the rate: why gradients rapidly increase near the end of training.

    Defazio 2025, arXiv:2506.02285.

        lr_max' = max(lr_max, lr)                           if normalized
        decay   = wd*where(lr_max' == 0, 0, lr^2/lr_max')   if normalized
        decay   = wd*lr                                     otherwise
        m'      = beta1*m + (1 - beta1)*g
        v'      = beta2*v + (1 - beta2)*g^2
        w'      = (1 - decay)*w - lr/(1 - beta1^t)*m'/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    normalized: a normalisation follows, as for all layers but the last.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        normalized: bool | tuple[Any, ...] = False,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdamMini(SpecOptimizer):
    """Adam-mini: use fewer learning rates to gain more.

    Zhang et al. 2024, arXiv:2406.16793, algorithm 1.

        m'      = beta1*m + (1 - beta1)*g
        v_head' = beta2*v_head + (1 - beta2)*mean(g^2, per block head_dim)   if by_head
        v_row'  = beta2*v_row + (1 - beta2)*mean(g^2, per row)               if by_row
        v'      = beta2*v + (1 - beta2)*mean(g^2)                            if not by_row and not by_head
        v_hat   = 1/(1 - beta2^t)*v_head'                                    if by_head
        v_hat   = 1/(1 - beta2^t)*v_row'                                     if by_row
        v_hat   = 1/(1 - beta2^t)*v'                                         otherwise
        rate    = lr/(1 - beta1^t)/(sqrt(v_hat) + epsilon)   # one division a row, none an element
        w'      = (1 - lr*wd)*w - rate*m'

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    head_dim: rows of a head of attention, in [1, inf).
    heads: the parameter makes queries or keys: its blocks are heads.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    head_dim: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        head_dim: int = 64,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        heads: bool | tuple[Any, ...] = False,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaMod(SpecOptimizer):
    """An adaptive and momental bound method for stochastic learning.

    Ding et al. 2019, arXiv:1910.12249, algorithm 1.

        m'   = beta1*m + (1 - beta1)*g
        v'   = beta2*v + (1 - beta2)*g^2
        rate = lr*sqrt(1 - beta2^t)/(1 - beta1^t)/(sqrt(v') + epsilon)
        s'   = beta3*s + (1 - beta3)*rate
        w'   = (1 - lr*wd)*w - min(rate, s')*m'

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    beta3: decay of the averaged rate, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    beta3: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        beta3: float = 0.999,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdamP(SpecOptimizer):
    """AdamP: slowing down the slowdown for momentum optimizers on scale-invariant weights.

    Heo et al. 2020, arXiv:2006.08217, algorithm 2.

        m'       = beta1*m + (1 - beta1)*g
        v'       = beta2*v + (1 - beta2)*g^2
        root     = 1/sqrt(1 - beta2^t)*sqrt(v') + epsilon
        u        = (beta1*m' + (1 - beta1)*g)/root                                                      if nesterov
        u        = m'/root                                                                              otherwise
        row_cos  = abs(sum(g*w, per row))/((norm(g, per row) + epsilon)*(norm(w, per row) + epsilon))   if matrix
        cosine   = abs(sum(g*w))/((norm(g) + epsilon)*(norm(w) + epsilon))                              if matrix
        # Where weight and gradient are so close to a right angle, the scale of the weight has no effect.
        by_row   = max(row_cos) < delta/sqrt(cols)                                                      if matrix
        whole    = cosine < delta/sqrt(size)                                                            if matrix
        row_part = sum(w*u, per row)/(norm(w, per row) + epsilon)^2                                     if matrix
        part     = sum(w*u)/(norm(w) + epsilon)^2                                                       if matrix
        radial   = where(by_row, row_part, where(whole, part, 0))                                       if matrix
        ratio    = where(by_row or whole, wd_ratio, 1)                                                  if matrix
        w'       = (1 - lr*wd*ratio)*w - lr/(1 - beta1^t)*(u - radial*w)                                if matrix
        w'       = (1 - lr*wd)*w - lr/(1 - beta1^t)*u                                                   otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, and to norms, in (0, inf).
    delta: largest cosine of weight and gradient, times the root of their length, to project, in [0, inf).
    wd_ratio: factor on the decay of a weight that is projected, in [0, inf).
    nesterov: look ahead.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    delta: float
    wd_ratio: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    nesterov: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        delta: float = 0.1,
        wd_ratio: float = 0.1,
        nesterov: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaMuon(SpecOptimizer):
    """AdaMuon: adaptive Muon optimizer.

    Si, Zhang and Shen 2025, arXiv:2507.11005.

        m' = beta*m + (1 - beta)*g
        S  = sign(m')   if signs
        S  = m'         otherwise
        X  = S^T        if tall
        X  = S          otherwise
        Y  = X/max(norm(X), 1e-7)
        repeat ns_steps:
          A  = Y@Y^T
          Y' = a*Y + (b*A + c*(A@A))@Y
        end
        O  = Y'^T       if tall
        O  = Y'         otherwise
        v' = beta*v + (1 - beta)*O^2
        n  = O/(sqrt(v') + epsilon)
        w' = (1 - lr*wd)*w - 0.2*lr*sqrt(size)/max(norm(n), 1e-30)*n

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    beta: decay of the mean of gradients, and of squares, in [0, 1).
    a: see the equations.
    b: see the equations.
    c: see the equations.
    epsilon: added to the roots of second moments, in (0, inf).
    ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    filters: of convolutions are matrices of an output channel a row.
    signs: the signs of the mean are made orthogonal, as from the second version of the paper on.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    beta: float
    a: float
    b: float
    c: float
    epsilon: float
    ns_steps: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    signs: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta: float = 0.95,
        a: float = 3.4445,
        b: float = -4.775,
        c: float = 2.0315,
        epsilon: float = 1e-08,
        ns_steps: int = 5,
        filters: bool = True,
        signs: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdamW(SpecOptimizer):
    """Decoupled weight decay regularization.

    Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 2.

        rate = lr*sqrt(1 - beta2^t)/(1 - beta1^t)   if correct_bias
        rate = lr                                   otherwise
        m'   = beta1*m + (1 - beta1)*g
        v'   = beta2*v + (1 - beta2)*g^2
        w'   = (1 - lr*wd)*w - rate*m'/(sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    correct_bias: make up for the moments' start at 0.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    correct_bias: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        correct_bias: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Adan(SpecOptimizer):
    """Adan: adaptive Nesterov momentum algorithm for faster optimizing deep models.

    Xie et al. 2022, arXiv:2208.06677, algorithm 1, with 1 - beta of the paper as beta, as in the authors' code.

        diff    = where(t == 1, 0, g - g_prev)
        g_prev' = g
        m'      = beta1*m + (1 - beta1)*g
        v'      = beta2*v + (1 - beta2)*diff
        n'      = beta3*n + (1 - beta3)*(g + beta2*diff)^2
        u       = (lr/(1 - beta1^t)*m' + lr*beta2/(1 - beta2^t)*v')/(1/sqrt(1 - beta3^t)*sqrt(n') + epsilon)
        w'      = (1 - lr*wd)*w - u       if no_prox
        w'      = 1/(1 + lr*wd)*(w - u)   otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the averaged difference of gradients, in [0, 1).
    beta3: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    no_prox: decay the weight as AdamW does, not by a proximal step.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    beta3: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    no_prox: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.98,
        beta2: float = 0.92,
        beta3: float = 0.99,
        epsilon: float = 1e-08,
        no_prox: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaPNM(SpecOptimizer):
    """Positive-negative momentum: manipulating stochastic gradient noise to improve generalization.

    Xie et al. 2021, arXiv:2103.17182.

        x      = beta1^2*n + (1 - beta1^2)*g   # of two steps ago
        m'     = x
        n'     = m
        v'     = beta2*v + (1 - beta2)*g^2
        v_max' = max(v_max, v')           if amsgrad
        root   = sqrt(v_max') + epsilon   if amsgrad
        root   = sqrt(v') + epsilon       otherwise
        rate   = lr*sqrt(1 - beta2^t)/(1 - beta1^t)/sqrt((1 + beta0)^2 + beta0^2)
        w'     = (1 - lr*wd)*w - rate*((1 + beta0)*x - beta0*m)/root

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of a momentum in a step; each is updated in every second one, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    beta0: weight of the negative momentum, in [0, inf).
    epsilon: added to the root of the second moment, in (0, inf).
    amsgrad: keep the largest second moment.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    beta0: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    amsgrad: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        beta0: float = 1.0,
        epsilon: float = 1e-08,
        amsgrad: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdaShift(SpecOptimizer):
    """AdaShift: decorrelation and convergence of adaptive learning rate methods.

    Zhou et al. 2019, arXiv:1810.00143.

        d      = g + wd*w
        newest = (1 - beta1)/(1 - beta1^n)
        m'     = beta1*(m - newest*beta1^(n - 1)*past[-n]) + newest*d
        past'  = d
        fixed  = 1 - beta2^max(t - n, 1)
        v'     = where(t > n, beta2*v + (1 - beta2)*past[-n]^2, v)        if not spatial
        V'     = where(t > n, beta2*V + (1 - beta2)*max(past[-n]^2), V)   if spatial
        u      = m'/(sqrt(V'/fixed) + epsilon)                            if spatial
        u      = m'/(sqrt(v'/fixed) + epsilon)                            otherwise
        w'     = where(t > n, w - lr*u, w)

    Parameters
    ----------
    learning_rate: learning rate.
    n: steps by which the gradients of the second moment are older, in [1, 1024].
    beta1: weight of a gradient beside that of the next step, in the mean of the last n, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    spatial: one second moment for a tensor, of its largest gradient, instead of one for each element.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    n: int
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    spatial: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        n: int = 10,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        spatial: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AddSign(SpecOptimizer):
    """Neural optimizer search with reinforcement learning.

    Bello et al. 2017, arXiv:1709.07417.

        d  = g + wd*w
        m' = beta*m + (1 - beta)*d
        w' = w - lr*(alpha + sign(d)*sign(m'))*d

    Parameters
    ----------
    learning_rate: learning rate.
    alpha: factor where momentum and gradient neither agree nor disagree, in [0, inf).
    beta: decay of the momentum, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    alpha: float
    beta: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.1,
        alpha: float = 1.0,
        beta: float = 0.9,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AdEMAMix(SpecOptimizer):
    """The AdEMAMix optimizer: better, faster, older.

    Pagliardini, Ablin & Grangier 2024, arXiv:2409.03137, algorithm 1.

        alpha_t = alpha*min(t/max(alpha_warmup, 1), 1)
        x       = t/max(beta3_warmup, 1)
        beta3_t = where(t < beta3_warmup, exp(1/((1 - x)/log(beta1) + x/log(beta3))), beta3)   # its half-life grows linearly
        m1'     = beta1*m1 + (1 - beta1)*g
        m2'     = beta3_t*m2 + (1 - beta3_t)*g
        v'      = beta2*v + (1 - beta2)*g^2
        u       = (1/(1 - beta1^t)*m1' + alpha_t*m2')/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w'      = w - lr*(u + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the fast first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    beta3: decay of the slow first moment, in [0, 1).
    alpha: weight of the slow first moment, in [0, inf).
    epsilon: added to the root of the second moment, in [0, inf).
    alpha_warmup: steps in which alpha grows from 0, in [0, inf).
    beta3_warmup: steps in which beta3 grows from beta1, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    beta3: float
    alpha: float
    epsilon: float
    alpha_warmup: int
    beta3_warmup: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        beta3: float = 0.9999,
        alpha: float = 2.0,
        epsilon: float = 1e-08,
        alpha_warmup: int = 0,
        beta3_warmup: int = 0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ADOPT(SpecOptimizer):
    """Modified Adam can converge with any beta2 with the optimal rate.

    Taniguchi et al. 2024, arXiv:2411.02853, algorithm 2.

        d  = g                                         if decoupled_weight_decay
        d  = g + wd*w                                  otherwise
        x  = d/max(sqrt(v), epsilon)   # the moment of the steps before, without this gradient
        c  = clip(x, (t - 1)^0.25)                     if clip_update
        c  = where(t == 1, clip(x, 0), x)              otherwise
        m' = beta1*m + (1 - beta1)*c
        v' = where(t == 1, d^2, beta2*v + (1 - beta2)*d^2)
        w' = (1 - where(t == 1, 0, lr*wd))*w - lr*m'   if decoupled_weight_decay
        w' = w - lr*m'                                 otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: least root of the second moment, in (0, inf).
    clip_update: bound each element of a normalised gradient by (t - 1)^(1/4).
    decoupled_weight_decay: decay the weight itself, not through the gradient.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    clip_update: bool
    decoupled_weight_decay: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.9999,
        epsilon: float = 1e-06,
        clip_update: bool = True,
        decoupled_weight_decay: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class AggMo(SpecOptimizer):
    """Aggregated momentum: stability through passive damping.

    Lucas et al. 2019, arXiv:1804.00325, with three velocities.

        d   = g + wd*w
        v1' = beta1*v1 + d
        v2' = beta2*v2 + d
        v3' = beta3*v3 + d
        w'  = w - lr/3*(v1' + v2' + v3')

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first velocity, in [0, 1).
    beta2: decay of the second velocity, in [0, 1).
    beta3: decay of the third velocity, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    beta3: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.1,
        beta1: float = 0.0,
        beta2: float = 0.9,
        beta3: float = 0.99,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ALIG(SpecOptimizer):
    """ALI-G: adaptive learning rates for interpolation with gradients.

    Berrada, Zisserman & Kumar 2020, arXiv:1906.05661.

        d    = g + wd*w
        rate = min(lr, loss/(sum(d^2, over params) + epsilon))
        mom' = momentum*mom - rate*d        if heavy
        w'   = w - rate*d + momentum*mom'   if heavy
        w'   = w - rate*d                   otherwise

    Parameters
    ----------
    learning_rate: largest rate.
    momentum: decay of the velocity, with Nesterov's step; 0 keeps none, in [0, 1).
    epsilon: added to the squared norm of all gradients, in (0, inf).
    loss: an input, which each step is given: the loss whose gradients these are, not negative where it is least.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    epsilon: float
    loss: float | None
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.1,
        momentum: float = 0.0,
        epsilon: float = 1e-05,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Amos(SpecOptimizer):
    """Amos: an Adam-style optimizer with adaptive weight decay towards model-oriented scale.

    Tian & Parikh 2022, arXiv:2210.11693, algorithm 1.

        square = mean(g^2, per row)                if by_row
        square = mean(g^2)                         otherwise
        v_row' = beta*v_row + (1 - beta)*square    if by_row
        v'     = beta*v + (1 - beta)*square        if not by_row
        v_hat  = 1/(1 - beta^t)*v_row' + epsilon   if by_row
        v_hat  = 1/(1 - beta^t)*v' + epsilon       otherwise
        decay  = b_row                             if by_row
        decay  = b                                 otherwise
        gamma  = lr^2/sqrt(1 + c*sqrt(lr)*decay)*square/v_hat
        shrink = 1/(1 + d*sqrt(lr*eta)*decay)
        w'     = w - shrink*(lr*eta/sqrt(v_hat)*g + gamma/2*w)
        b_row' = decay + gamma*(1 + decay)         if by_row
        b'     = decay + gamma*(1 + decay)         if not by_row

    Parameters
    ----------
    learning_rate: global rate: about 1/sqrt(number of batches), in [0, inf).
    beta: decay of the second moment, in [0, 1).
    eta: expected scale of a weight; a step takes one for each parameter, in (0, inf).
    c: how fast the weight decay slows down, in [0, inf).
    d: how fast the steps become smaller, in [0, inf).
    epsilon: added to the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    eta: float
    c: float
    d: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta: float = 0.999,
        eta: float = 1.0,
        c: float = 0.25,
        d: float = 0.25,
        epsilon: float = 1e-18,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Apollo(SpecOptimizer):
    """APOLLO: SGD-like memory, AdamW-level performance.

    Zhu et al. 2024, arXiv:2412.05270, algorithm 1.

        P       = normal(rows x r)                               every k from 1 if not tall
        Q       = normal(cols x r)                               every k from 1 if tall
        R       = g^T@P/sqrt(r)                                  if not tall
        R       = g@Q/sqrt(r)                                    otherwise
        m'      = beta1*m + (1 - beta1)*R                        if not tall
        v'      = beta2*v + (1 - beta2)*R^2                      if not tall
        M'      = beta1*M + (1 - beta1)*R                        if tall
        V'      = beta2*V + (1 - beta2)*R^2                      if tall
        n       = m'/(sqrt(v') + epsilon)                        if not tall
        n       = M'/(sqrt(V') + epsilon)                        otherwise
        c       = sqrt(1 - beta2^t)/(1 - beta1^t)
        f       = c*norm(n)/(norm(R) + 1e-8)                     if mini
        f       = c*norm(n, per row)/(norm(R, per row) + 1e-8)   otherwise
        u       = f*g
        s       = where(t > 1, max(norm(u)/(length + 1e-8), growth)/growth, 1)
        length' = norm(u)/s
        w'      = (1 - lr*wd)*w - lr*sqrt(scale)/s*u

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    beta1: see the equations, in [0, 1).
    beta2: see the equations, in [0, 1).
    epsilon: see the equations, in (0, inf).
    growth: of the length of the update, from one to the next, at most, in [1, inf).
    scale: of the square of the update, in (0, inf).
    r: dimensions of the projection, in [1, inf).
    k: updates with one projection, in [1, inf).
    filters: of convolutions are matrices of an output channel a row.
    mini: one factor for a matrix: APOLLO-Mini, with r = 1 and scale = 128.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    beta1: float
    beta2: float
    epsilon: float
    growth: float
    scale: float
    r: int
    k: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    mini: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        growth: float = 1.01,
        scale: float = 1.0,
        r: int = 256,
        k: int = 200,
        filters: bool = True,
        mini: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ApolloDQN(SpecOptimizer):
    """Apollo: an adaptive parameter-wise diagonal quasi-Newton method.

    Ma 2020, arXiv:2009.13586, algorithm 1.

        G      = g + wd*w
        alpha  = (1 - beta)/(1 - beta^t)
        y      = G - m
        m'     = m + alpha*y
        n      = sqrt(norm(d^2)) + epsilon/bound             if rebound == 'constant'
        n      = sqrt(norm(d^2)) + epsilon                   otherwise
        s      = d/n
        change = -alpha*sum(y/n*s) - sum(B*s^2)
        B'     = B + change*s^2
        h      = max(abs(B'), bound)                         if rebound == 'constant'
        h      = max(abs(B'), max(abs(y))) + epsilon/alpha   otherwise
        d'     = m'/h
        w'     = w - lr*d'

    Parameters
    ----------
    learning_rate: learning rate.
    beta: decay of the averaged gradient, in [0, 1).
    epsilon: added to the norm of the step before, in (0, inf).
    bound: least curvature, unless rebound is 'belief', in (0, inf).
    rebound: the least curvature: bound, or the largest change of the gradient.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    epsilon: float
    bound: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    rebound: Literal["constant", "belief"]
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta: float = 0.9,
        epsilon: float = 0.0001,
        bound: float = 0.01,
        rebound: Literal["constant", "belief"] = "constant",
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ASGD(SpecOptimizer):
    """Acceleration of stochastic approximation by averaging.

    Polyak & Juditsky 1992, SIAM J. Control Optim. 30(4); the rate: Xu 2011, arXiv:1107.2490.

          eta = lr/(1 + lambd*lr*(t - 1))^alpha
          mu  = 1/max(1, t - 1 - t0)
          w'  = (1 - lambd*eta)*w - eta*(g + wd*w)
          ax' = where(mu == 1, w', ax + mu*(w' - ax))

        eval:
          w' = ax

    Parameters
    ----------
    learning_rate: rate of the first step.
    lambd: decay of the weight, and of the rate, in [0, inf).
    alpha: power with which the rate falls, in [0, inf).
    t0: step after which averaging starts, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    lambd: float
    alpha: float
    t0: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        lambd: float = 0.0001,
        alpha: float = 0.75,
        t0: float = 1000000.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class CAME(SpecOptimizer):
    """CAME: confidence-guided adaptive memory efficient optimization.

    Luo et al. 2023, arXiv:2307.02047, algorithm 2.

        s     = g^2 + eps1
        R'    = beta2*R + (1 - beta2)*mean(s, per row)   if factored
        C'    = beta2*C + (1 - beta2)*mean(s, per col)   if factored
        v'    = beta2*v + (1 - beta2)*s                  if not factored
        r     = sqrt(mean(R'))/sqrt(R')                  if factored
        c     = 1/sqrt(C')                               if factored
        u     = r*g*c                                    if factored
        u     = g/sqrt(v')                               otherwise
        u_hat = 1/max(1, rms(u)/clip_threshold)*u
        m'    = beta1*m + (1 - beta1)*u_hat
        U     = (u_hat - m')^2 + eps2                    if factored   # far from the average: little confidence
        P'    = beta3*P + (1 - beta3)*mean(U, per row)   if factored
        Q'    = beta3*Q + (1 - beta3)*mean(U, per col)   if factored
        p     = sqrt(mean(P'))/sqrt(P')                  if factored
        q     = 1/sqrt(Q')                               if factored
        x     = p*m'*q                                   if factored
        x     = m'                                       otherwise
        w'    = (1 - lr*wd)*w - lr*x

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the averaged update, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    beta3: decay of the instability, in [0, 1).
    eps1: added to the squared gradient, in (0, inf).
    eps2: added to the squared deviation, in (0, inf).
    clip_threshold: bound on the root mean square of an update, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    beta3: float
    eps1: float
    eps2: float
    clip_threshold: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        beta3: float = 0.9999,
        eps1: float = 1e-30,
        eps2: float = 1e-16,
        clip_threshold: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class CautiousAdamW(SpecOptimizer):
    """Cautious optimizers: improving training with one line of code.

    Liang et al. 2024, arXiv:2411.16085, algorithm 2.

        m'  = beta1*m + (1 - beta1)*g
        v'  = beta2*v + (1 - beta2)*g^2
        u   = 1/(1 - beta1^t)*m'/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        phi = where(u*g > 0, 1, 0)   # only where the step goes down the present gradient
        eta = lr*size/(sum(phi) + 1)
        w'  = (1 - lr*wd)*w - eta*(phi*u)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class CautiousLion(SpecOptimizer):
    """Cautious optimizers: improving training with one line of code.

    Liang et al. 2024, arXiv:2411.16085; Lion: Chen et al. 2023, arXiv:2302.06675.

        u   = sign(beta1*m + (1 - beta1)*g)
        m'  = beta2*m + (1 - beta2)*g
        phi = where(u*g > 0, 1, 0)   # only where the step goes down the present gradient
        w'  = (1 - lr*wd)*w - lr/max(mean(phi), 1e-3)*(phi*u)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: weight of the momentum in the sign, in [0, 1).
    beta2: decay of the momentum, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0001,
        beta1: float = 0.9,
        beta2: float = 0.99,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class COCOB(SpecOptimizer):
    """Training deep networks without learning rates through coin betting.

    Orabona & Tommasi 2017, arXiv:1705.07795, algorithm 2: COCOB-Backprop.

        d      = g + wd*w
        w1'    = w1
        L'     = max(L, abs(d))
        G'     = G + abs(d)
        R'     = max(R - (w - w1)*d, 0)
        theta' = theta - d
        w'     = w1 + theta'/(L'*max(G' + L', alpha*L'))*(L' + R')

    Parameters
    ----------
    alpha: the first bets are at most 1/alpha of the wealth, in (0, inf).
    epsilon: first scale of a gradient, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    alpha: float
    epsilon: float
    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        alpha: float = 100.0,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DAdaptAdam(SpecOptimizer):
    """Learning-rate-free learning by D-Adaptation.

    Defazio & Mishchenko 2023, arXiv:2301.07733, algorithm 5, with the norm of the authors' code, version 3.

        beta3 = sqrt(beta2)
        rate  = d*lr
        r'    = beta3*r + (1 - beta3)*sum(rate*g*s/(sqrt(v) + epsilon), over params)
        m'    = beta1*m + (1 - beta1)*rate*g
        v'    = beta2*v + (1 - beta2)*g^2
        s'    = beta3*s + (1 - beta3)*rate*g
        total = (1 - beta3)*sum(abs(s'), over params)
        d'    = where(total == 0, d, d*clip(r'/total/d, 1, growth_rate))
        w'    = (1 - rate*wd)*w - m'/(sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: factor on the rate that is found; a schedule may change it.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    d0: first estimate of the distance to the solution, in (0, inf).
    growth_rate: bound on the growth of the estimate in a step, in (1, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    d0: float
    growth_rate: float | None
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        d0: float = 1e-06,
        growth_rate: float | None = None,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DAdaptLion(SpecOptimizer):
    """Lion with a rate that D-Adaptation finds.

    Defazio & Mishchenko 2023, arXiv:2301.07733; Lion: Chen et al. 2023, arXiv:2302.06675; as in the authors' code.

        beta3 = sqrt(beta2)
        rate  = d*lr
        u     = sign(beta1*m + (1 - beta1)*g)
        m'    = beta2*m + (1 - beta2)*rate*g
        r'    = beta3*r + (1 - beta3)*sum(rate*u*s, over params)
        s'    = beta3*s + (1 - beta3)*rate*u
        total = (1 - beta3)*sum(abs(s'), over params)
        d'    = where(total == 0, d, max(d, r'/total))
        w'    = (1 - rate*wd)*w - rate*u

    Parameters
    ----------
    learning_rate: factor on the rate that is found; a schedule may change it.
    beta1: weight of the momentum in the sign, in [0, 1).
    beta2: decay of the momentum, in [0, 1).
    d0: first estimate of the distance to the solution, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    d0: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta1: float = 0.9,
        beta2: float = 0.999,
        d0: float = 1e-06,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DAdaptSGD(SpecOptimizer):
    """Learning-rate-free learning by D-Adaptation.

    Defazio & Mishchenko 2023, arXiv:2301.07733, as in the authors' code.

        G     = g + wd*w
        x0'   = x0
        n0'   = where(n0 == 0, norm(G, over params), n0)
        rate  = where(n0' == 0, 0, d*lr/n0')
        r'    = r + sum(rate*G*s, over params)
        s'    = s + rate*G
        total = norm(s', over params)
        d'    = where(total == 0, d, d*clip(2*r'/total/d, 1, growth_rate))
        w'    = w + (1 - momentum)*(x0 - s' - w)

    Parameters
    ----------
    learning_rate: factor on the rate that is found; a schedule may change it.
    momentum: weight of the present iterate in the average, in [0, 1).
    d0: first estimate of the distance to the solution, in (0, inf).
    growth_rate: bound on the growth of the estimate in a step, in (1, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    d0: float
    growth_rate: float | None
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        momentum: float = 0.9,
        d0: float = 1e-06,
        growth_rate: float | None = None,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DCASGD(SpecOptimizer):
    """Asynchronous stochastic gradient descent with delay compensation.

    Zheng et al. 2017, arXiv:1609.08326, algorithm 2.

        d         = g + wd*w + lamda*g*g*(w - previous)
        mom'      = momentum*mom - lr*d   if heavy
        w'        = w + mom'              if heavy
        w'        = w - lr*d              otherwise
        previous' = w

    Parameters
    ----------
    momentum: decay of the velocity; 0 keeps none, in [0, 1).
    lamda: strength of the compensation, in [0, inf).
    learning_rate: learning rate.
    The others are those of every Optimizer and SpecOptimizer.
    """

    momentum: float
    lamda: float
    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        momentum: float = 0.0,
        lamda: float = 0.04,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DiffGrad(SpecOptimizer):
    """diffGrad: an optimization method for convolutional neural networks.

    Dubey et al. 2019, arXiv:1909.11015.

        d        = g + wd*w
        m'       = beta1*m + (1 - beta1)*d
        v'       = beta2*v + (1 - beta2)*d^2
        friction = 1/(1 + exp(-abs(g_prev - d)))   # half a step where the gradient stays
        g_prev'  = d
        w'       = w - lr*sqrt(1 - beta2^t)/(1 - beta1^t)*friction*m'/(sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Dion(SpecOptimizer):
    """Dion: distributed orthonormalized updates.

    Ahn et al. 2025, arXiv:2504.05295, algorithm 1.

        B  = M + g
        P  = orthonormal(B@V)
        R  = B^T@P
        M' = B - (1 - mu)*(P@R^T)
        V' = R/max(norm(R, per col), epsilon)
        w' = (1 - lr*wd)*w - lr*sqrt(rows/cols)*(P@V'^T)

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    mu: decay of the momentum where the last update went, in [0, 1).
    r: of the update: at most the smaller side of the matrix, in [1, inf).
    epsilon: the least length of a column, in (0, inf).
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    mu: float
    r: int
    epsilon: float
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        mu: float = 0.95,
        r: int = 16,
        epsilon: float = 1e-08,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.01,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DoG(SpecOptimizer):
    """DoG is SGD's best friend: a parameter-free dynamic step size schedule.

    Ivgi, Hinder & Carmon 2023, arXiv:2302.12022.

        d   = g + wd*w
        x0' = x0
        r'  = max(r, norm(w - x0, over params))
        G'  = G + sum(d^2, over params)
        w'  = w - lr*r'/sqrt(G' + epsilon)*d

    Parameters
    ----------
    learning_rate: factor on the rate that is found.
    reps_rel: first distance, in units of 1 + the norm of the weights, in (0, inf).
    epsilon: added to the sum of squared gradients, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    reps_rel: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        reps_rel: float = 1e-06,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class DoWG(SpecOptimizer):
    """DoWG unleashed: an efficient universal parameter-free gradient descent method.

    Khaled, Mishchenko & Jin 2023, arXiv:2305.16284, algorithm 1.

        d   = g + wd*w
        x0' = x0
        r2' = max(r2, sum((w - x0)^2, over params))
        v'  = v + r2'*sum(d^2, over params)
        w'  = w - lr*r2'/(sqrt(v') + epsilon)*d

    Parameters
    ----------
    learning_rate: factor on the rate that is found.
    epsilon: first squared distance; added to the root of the weighted sum, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        epsilon: float = 0.0001,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class EFSignSGD(SpecOptimizer):
    """Error feedback fixes SignSGD and other gradient compression schemes.

    Karimireddy et al. 2019, arXiv:1901.09847.

        p  = lr*(g + wd*w) + e
        u  = mean(abs(p))*sign(p)
        e' = p - u
        w' = w - u

    Parameters
    ----------
    learning_rate: learning rate.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ExtraAdam(SpecOptimizer):
    """Extra-Adam: Adam with extrapolation, for games and saddle points.

    Gidel, Berard, Vignoud, Vincent & Lacoste-Julien 2019, arXiv:1802.10551.

        phase extrapolate:
          d      = g + wd*w
          m'     = grown(m, d, beta1)
          v'     = grown(v, d^2, beta2)
          m_hat  = m'/(1 - beta1^(2*t - 1))
          v_hat  = v'/(1 - beta2^(2*t - 1))
          start' = w
          w'     = w - lr*m_hat/(sqrt(v_hat) + epsilon)

        phase correct:
          d     = g + wd*w
          m'    = grown(m, d, beta1)
          v'    = grown(v, d^2, beta2)
          m_hat = m'/(1 - beta1^(2*t))
          v_hat = v'/(1 - beta2^(2*t))
          w'    = start - lr*m_hat/(sqrt(v_hat) + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.5,
        beta2: float = 0.9,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ExtraGradient(SpecOptimizer):
    """the extragradient method, for games and saddle points.

    Korpelevich 1976, Ekonomika i Matematicheskie Metody 12(4); Gidel et al. 2019, arXiv:1802.10551.

        phase extrapolate:
          start' = w
          w'     = w - lr*(g + wd*w)

        phase correct:
          w' = start - lr*(g + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class FAdam(SpecOptimizer):
    """FAdam: Adam is a natural gradient optimizer using diagonal empirical Fisher information.

    Hwang 2024, arXiv:2405.12807, algorithm 1, with the power 1/2.

        b2    = beta2*(1 - beta2^(t - 1))/(1 - beta2^t)   # an average that needs no correction
        f'    = b2*f + (1 - b2)*g^2
        least = eps2*rms(g)
        root  = sqrt(f') + where(least == 0, epsilon, min(least, epsilon))
        u     = g/root
        m'    = beta1*m + (1 - beta1)/max(1, rms(u)/clip_threshold)*u
        decay = w/root
        w'    = w - lr*(m' + wd/max(1, rms(decay)/clip_threshold)*decay)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the averaged natural gradient, in [0, 1).
    beta2: decay of the Fisher information, in [0, 1).
    epsilon: largest number that is added to the root of the information, in (0, inf).
    eps2: the number that is added, in units of the gradient's root mean square, in (0, inf).
    clip_threshold: bound on the root mean square of a natural gradient, and of the decay, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    eps2: float
    clip_threshold: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        eps2: float = 0.01,
        clip_threshold: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class FOCUS(SpecOptimizer):
    """First-order concentrated updating scheme.

    Liu, Liu & Gore 2025, arXiv:2501.12243, algorithm 1.

        m'       = beta1*m + (1 - beta1)*g
        average' = beta2*average + (1 - beta2)*w
        center   = average'/(1 - beta2^t)
        d        = w - lr*wd*center
        w'       = d - lr*(sign(m') + gamma*sign(d - center))

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the mean of gradients, in [0, 1).
    beta2: decay of the mean of weights, in [0, 1).
    gamma: attraction to the mean of weights, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    gamma: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        gamma: float = 0.1,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Fromage(SpecOptimizer):
    """On the distance between two neural networks and the stability of learning.

    Bernstein et al. 2020, arXiv:2002.03432, algorithm 1.

        w_norm = max(norm(w), min_norm)
        g_norm = max(norm(g), min_norm)
        ratio  = where(w_norm == 0 or g_norm == 0, 1, w_norm/g_norm)
        w'     = (w - lr*ratio*g)/sqrt(1 + lr^2)

    Parameters
    ----------
    learning_rate: length of a step, as a share of the weight's norm.
    min_norm: least norm of the weight and of the gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    min_norm: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        min_norm: float = 0.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class FTML(SpecOptimizer):
    """Follow the moving leader in deep learning.

    Zheng & Kwok 2017, ICML, PMLR 70, algorithm 1.

        G     = clip(rescale_grad*grad + wd*w, clip_gradient)
        v'    = beta2*v + (1 - beta2)*G^2
        d'    = where(lr == 0, d, (1 - beta1^t)/lr*(sqrt(1/(1 - beta2^t)*v') + epsilon))
        sigma = d' - beta1*d
        z'    = where(lr == 0, z, beta1*z + (1 - beta1)*G - sigma*w)
        w'    = where(lr == 0, w, -z'/d')

    Parameters
    ----------
    beta1: decay of the averages in z, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    learning_rate: learning rate, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    beta1: float
    beta2: float
    epsilon: float
    lr: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    def __init__(
        self,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Ftrl(SpecOptimizer):
    """Ad click prediction: a view from the trenches.

    McMahan et al. 2013, KDD, algorithm 1.

        rate  = where(lr == 0, 0, 1/lr)   # once, on the host: divisions are slow
        n'    = where(lr == 0, n, n + g^2)
        sigma = rate*(sqrt(n') - sqrt(n))
        z'    = where(lr == 0, z, z + g - sigma*w)
        w'    = where(lr == 0, w,
                      where(abs(z') <= lamda1, 0,
                            lr*(sign(z')*lamda1 - z')/(sqrt(n') + (beta + lr*wd))))

    Parameters
    ----------
    lamda1: strength of the L1 penalty, in [0, inf).
    learning_rate: learning rate, in [0, inf).
    beta: smooths the rate of each weight, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lamda1: float
    lr: float
    beta: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    def __init__(
        self,
        lamda1: float = 0.01,
        learning_rate: float = 0.1,
        beta: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = True,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class GaLore(SpecOptimizer):
    """GaLore: memory-efficient LLM training by gradient low-rank projection.

    Zhao et al. 2024, arXiv:2403.03507, algorithm 2, of Adam.

        P' = right_singular_vectors(g^T)@identity(rows x r)          every k from 1 if not tall
        Q' = right_singular_vectors(g)@identity(cols x r)            every k from 1 if tall
        c  = scale*sqrt(1 - beta2^t)/(1 - beta1^t)
        R  = g^T@P'                                                  if not tall
        S  = g@Q'                                                    if tall
        m' = beta1*m + (1 - beta1)*R                                 if not tall
        v' = beta2*v + (1 - beta2)*R^2                               if not tall
        M' = beta1*M + (1 - beta1)*S                                 if tall
        V' = beta2*V + (1 - beta2)*S^2                               if tall
        w' = (1 - lr*wd)*w - lr*c*(P'@(m'/(sqrt(v') + epsilon))^T)   if not tall
        w' = (1 - lr*wd)*w - lr*c*((M'/(sqrt(V') + epsilon))@Q'^T)   otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    beta1: see the equations, in [0, 1).
    beta2: see the equations, in [0, 1).
    epsilon: see the equations, in (0, inf).
    scale: of the update, in (0, inf).
    r: dimensions that are kept of the smaller side, in [1, inf).
    k: updates between two bases, in [1, inf).
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    beta1: float
    beta2: float
    epsilon: float
    scale: float
    r: int
    k: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        scale: float = 0.25,
        r: int = 128,
        k: int = 200,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Grams(SpecOptimizer):
    """Grams: gradient descent with adaptive momentum scaling.

    Cao, Li & Song 2024, arXiv:2412.17107.

        m' = beta1*m + (1 - beta1)*g
        v' = beta2*v + (1 - beta2)*g^2
        u  = 1/(1 - beta1^t)*m'/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w' = (1 - lr*wd)*w - lr*sign(g)*abs(u)   # the size of Adam's step, in the direction of the present gradient

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Gravity(SpecOptimizer):
    """Gravity optimizer: a kinematic approach on optimization in deep learning.

    Bahrami & Pourreza Zadeh 2021, arXiv:2101.09192.

        start = where(lr > 0, alpha/lr, 0)
        old   = where(t == 1, start*v, v)
        decay = (beta*t + 1)/(t + 2)
        d     = g + wd*w
        v'    = decay*old + (1 - decay)*d/(1 + (d*max(abs(d)))^2)
        w'    = w - lr*v'

    Parameters
    ----------
    learning_rate: learning rate.
    alpha: deviation of the first velocity, divided by lr, in [0, inf).
    beta: decay of the velocity, in the long run, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    alpha: float
    beta: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.1,
        alpha: float = 0.01,
        beta: float = 0.9,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class GroupAdaGrad(SpecOptimizer):
    """AdaGrad with one rate for each row, as for embeddings.

    Duchi, Hazan & Singer 2011, JMLR 12, with groups of coordinates.

        h' = h + mean(g^2, per row)
        w' = w - lr/sqrt(h' + eps)*g

    Parameters
    ----------
    eps: added to the sum of squares, in [0, inf).
    learning_rate: learning rate.
    The others are those of every Optimizer and SpecOptimizer.
    """

    eps: float
    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        eps: float = 1e-05,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = True,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class IVON(SpecOptimizer):
    """IVON: improved variational online Newton.

    Shen et al. 2024, arXiv:2402.17641.

          z       = normal()
          seen    = where(t == 1, h, g*(w - center)*ess*(h + wd))
          m'      = beta1*m + (1 - beta1)*g
          h'      = beta2*h + (1 - beta2)*seen + 0.5*(1 - beta2)^2*(h - seen)^2/(h + wd)
          center' = center - lr*(m'/(1 - beta1^t) + wd*center)/(h' + wd)
          w'      = center' + z/sqrt(ess*(h' + wd))

        eval:
          w' = center

    Parameters
    ----------
    learning_rate: learning rate.
    ess: effective sample size: how many samples the loss is a mean of, in (0, inf).
    hess_init: first estimate of the curvature, in (0, inf).
    beta1: decay of the averaged gradient, in [0, 1).
    beta2: decay of the curvature, in [0, 1).
    wd: weight decay, the curvature of the prior, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    ess: float
    hess_init: float
    beta1: float
    beta2: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.1,
        ess: float = 1000000.0,
        hess_init: float = 1.0,
        beta1: float = 0.9,
        beta2: float = 0.99999,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0001,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Kate(SpecOptimizer):
    """Remove that square root: a new efficient scale-invariant version of AdaGrad.

    Choudhury, Tupitsa, Loizou, Horvath, Takac & Gorbunov 2024, arXiv:2403.02648, algorithm 1.

        b' = b + g^2 + epsilon
        m' = m + eta*g^2 + g^2/b'
        w' = (1 - lr*wd)*w - lr*sqrt(m')*g/b'

    Parameters
    ----------
    learning_rate: learning rate.
    eta: weight of squared gradients beside those divided by their sums, in [0, inf).
    epsilon: added to the sums of squares in each step, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    eta: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        eta: float = 0.0,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class KFAC(SpecOptimizer):
    """K-FAC: the gradient between inverses of the factors of the Fisher matrix.

    Martens & Grosse 2015, arXiv:1503.05671, sections 6.3 and 6.6; inputs as of Eschenhagen et al. 2023, arXiv:2311.00636.

        c  = 1 - decay^t
        R' = decay*R + (1 - decay)*A
        L' = decay*L + (1 - decay)*G
        p  = sqrt((trace(R') + 1e-30)/cols/((trace(L') + 1e-30)/rows))
        d  = sqrt(damping)
        P' = inverse_root(R'/c + p*d*identity(cols), 1)   every k from 1
        Q' = inverse_root(L'/c + d/p*identity(rows), 1)   every k from 1
        m' = momentum*m + Q'@g@P'
        w' = (1 - lr*wd)*w - lr*m'

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the velocity, in [0, 1).
    decay: decay of the factors, in [0, 1).
    damping: added to the Fisher matrix, a part to each factor, in (0, inf).
    k: updates from one inversion to the next, in [1, inf).
    filters: of convolutions are matrices of an output channel a row.
    A: an input, for `set_input`: mean of products of what the weight is multiplied by.
    G: an input, for `set_input`: mean of products of the gradients of what comes out.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    decay: float
    damping: float
    k: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        decay: float = 0.95,
        damping: float = 0.001,
        k: int = 1,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LAMB(SpecOptimizer):
    """Large batch optimization for deep learning: training BERT in 76 minutes.

    You et al. 2020, arXiv:1904.00962, algorithm 2.

        m'    = beta1*m + (1 - beta1)*g
        v'    = beta2*v + (1 - beta2)*g^2
        m_hat = 1/(1 - beta1^t)*m'   if bias_correction
        m_hat = m'                   otherwise
        v_hat = 1/(1 - beta2^t)*v'   if bias_correction
        v_hat = v'                   otherwise
        u     = m_hat/(sqrt(v_hat) + epsilon) + wd*w
        r1    = clip(norm(w), lower_bound, upper_bound)
        r2    = norm(u)   # a reduction: the kernel becomes two sweeps over memory
        trust = where(r1 == 0 or r2 == 0, 1, r1/r2)
        w'    = w - lr*trust*u

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    lower_bound: least norm of the weight in the ratio, in [0, inf).
    upper_bound: largest norm of the weight in the ratio, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    bias_correction: divide the moments by what their start at 0 costs.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    lower_bound: float | None
    upper_bound: float | None
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    bias_correction: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LANS(SpecOptimizer):
    """Accelerated large batch optimization of BERT pretraining in 54 minutes.

    Zheng et al. 2020, arXiv:2006.13484, algorithm 2.

        g_norm  = norm(rescale_grad*grad)
        d       = clip(where(g_norm == 0, 0, rescale_grad/g_norm)*grad, clip_gradient)
        m'      = beta1*m + (1 - beta1)*d
        v'      = beta2*v + (1 - beta2)*d^2
        root    = sqrt(1/(1 - beta2^t)*v') + epsilon
        u_m     = 1/(1 - beta1^t)*m'/root + wd*w
        u_g     = d/root + wd*w
        r       = clip(norm(w), lower_bound, upper_bound)
        r_m     = norm(u_m)
        r_g     = norm(u_g)
        trust_m = where(r == 0 or r_m == 0, 1, r/r_m)
        trust_g = where(r == 0 or r_g == 0, 1, r/r_g)
        w'      = w - (lr*beta1*trust_m*u_m + lr*(1 - beta1)*trust_g*u_g)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, and its share of the step, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    lower_bound: least norm of the weight in the ratios, in [0, inf).
    upper_bound: largest norm of the weight in the ratios, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    lower_bound: float | None
    upper_bound: float | None
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LaProp(SpecOptimizer):
    """LaProp: separating momentum and adaptivity in Adam.

    Ziyin, Wang & Ueda 2020, arXiv:2002.04839, algorithm 1.

        v' = beta2*v + (1 - beta2)*g^2
        m' = beta1*m + (1 - beta1)*g/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w' = (1 - lr*wd)*w - lr/(1 - beta1^t)*m'

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the momentum, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0004,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-15,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LARC(SpecOptimizer):
    """SGD whose rate is clipped, or scaled, by the ratio of the norms of weight and gradient.

    You, Gitman & Ginsburg 2017, arXiv:1708.03888; LARC of NVIDIA Apex.

        w_norm = norm(w)
        g_norm = norm(g)
        ratio  = trust_coefficient*w_norm/(g_norm + wd*w_norm + eps)
        scale  = where(ratio >= lr, 1, ratio/lr)   if clip_rate
        scale  = ratio                             otherwise
        d      = where(w_norm == 0 or g_norm == 0, g, scale*(g + wd*w))
        mom'   = momentum*mom + d
        w'     = w - lr*mom'

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the velocity, in [0, 1).
    trust_coefficient: length of a step, as a share of the weight's norm, in [0, inf).
    eps: added to the norms, in [0, inf).
    clip_rate: let the rate never exceed lr; otherwise it is scaled by the ratio.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    trust_coefficient: float
    eps: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    clip_rate: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        trust_coefficient: float = 0.02,
        eps: float = 1e-08,
        clip_rate: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LARS(SpecOptimizer):
    """Large batch training of convolutional networks.

    You, Gitman & Ginsburg 2017, arXiv:1708.03888; momentum correction: Goyal et al. 2017, arXiv:1706.02677.

        w_norm   = norm(w)                                                                           if not skip
        g_norm   = abs(rescale_grad)*norm(grad)                                                      if not skip
        rate     = where(w_norm == 0 or g_norm == 0, lr, lr*eta*w_norm/(g_norm + wd*w_norm + eps))   if not skip
        rate     = lr                                                                                otherwise
        mu       = momentum*where(last_lr == 0, 1, lr/last_lr)                                       if corrected
        mu       = momentum                                                                          if heavy
        last_lr' = lr                                                                                if corrected
        mom'     = mu*mom - rate*(g + wd*w)                                                          if heavy
        w'       = w + mom'                                                                          if heavy
        w'       = (1 - rate*wd)*w - rate*g                                                          otherwise

    Parameters
    ----------
    momentum: decay of the velocity; 0 keeps none, in [0, 1).
    eta: length of a step, as a share of the weight's norm, in [0, inf).
    eps: added to the norms, in [0, inf).
    learning_rate: learning rate.
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    momentum_correction: scale the velocity when the rate changes.
    skip: a plain rate, as for biases.
    The others are those of every Optimizer and SpecOptimizer.
    """

    momentum: float
    eta: float
    eps: float
    lr: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    momentum_correction: bool
    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0.0,
        momentum_correction: bool = True,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        skip: bool | tuple[Any, ...] = ("gamma", "beta", "bias"),
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LBFGS(SpecOptimizer):
    """L-BFGS: limited-memory BFGS of a fixed rate, without a line search.

    Liu and Nocedal 1989, Mathematical Programming 45; the two-loop recursion: Nocedal 1980, Math. of Computation 35.

        d       = g + wd*w
        dy      = where(step > 1, d - g_prev, 0)
        ys      = sum(dy*move, over params)
        r       = where(ys > curvature, 1/ys, 0)
        gamma'  = where(r > 0, ys/sum(dy^2, over params), gamma)
        a_last  = r*sum(move*d, over params)
        q       = d - a_last*dy
        repeat history as i:   # from the newest step to the oldest
          a[i]    = rho[-1 - i]*sum(s[-1 - i]*q, over params)
          q'      = q - a[i]*y[-1 - i]
        end
        z       = gamma'*q'
        repeat history as j:   # and back
          b       = rho[j - history]*sum(y[j - history]*z, over params)
          z'      = z + (a[history - 1 - j] - b)*s[j - history]
        end
        u       = z' + (a_last - r*sum(dy*z', over params))*move
        move'   = -lr*where(step > 1, 1, min(1, 1/sum(abs(d), over params)))*u
        g_prev' = d
        s'      = move
        y'      = dy
        rho'    = r
        w'      = w + move'

    Parameters
    ----------
    learning_rate: learning rate.
    history: steps that are remembered, beside the last one, in [1, 4096].
    curvature: a step is remembered if its product with the change of the gradient is larger, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    history: int
    curvature: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        history: int = 9,
        curvature: float = 1e-10,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LBSGD(SpecOptimizer):
    """Large-batch SGD: gradients of several calls are one batch, and the rate warms up.

    Goyal et al. 2017, arXiv:1706.02677; 'lars': You, Gitman & Ginsburg 2017, arXiv:1708.03888.

        count'    = count + 1   # calls for this parameter; begin_num_update is not among them
        n         = begin_epoch*updates_per_epoch + count'
        due       = floor(n/batch_scale) == n/batch_scale   # this call completes a batch; any other only gathers
        total     = cum + grad                                                                 if gathers
        total     = grad                                                                       otherwise
        cum'      = where(due, 0, total)                                                       if gathers
        mean_grad = 1/batch_scale*total
        p         = min(n/max(warmup_epochs*updates_per_epoch, 1), 1)                          if warmup_strategy != 'lars'
        mult      = 1 + (batch_scale - 1)*p                                                    if warmup_strategy == 'linear'
        mult      = 1 + (batch_scale - 1)*p^2                                                  if warmup_strategy == 'power2'
        mult      = 1 + (batch_scale - 1)*sqrt(p)                                              if warmup_strategy == 'sqrt'
        mult      = clip(sqrt(sum(w^2)/(sum(mean_grad^2) + wd*sum(w^2) + 1e-18)), 0.01, 100)   otherwise
        rate      = where(due, lr*mult, 0)   # where it is 0 the weight stays, but a NaN shows, as in MXNet
        d         = clip(rescale_grad*mean_grad, clip_gradient)
        mom'      = where(due, momentum, 1)*mom - rate*(d + wd*w)                              if heavy
        w'        = w + where(due, 1, 0)*mom'                                                  if heavy
        w'        = (1 - rate*wd)*w - rate*d                                                   otherwise

    Parameters
    ----------
    momentum: decay of the velocity; 0 keeps none, in [0, 1).
    warmup_epochs: epochs until it is batch_scale*lr, in [0, inf).
    batch_scale: calls that make one batch, in [1, inf).
    updates_per_epoch: calls in an epoch, in [1, inf).
    begin_epoch: epochs before the first call, in [0, inf).
    num_epochs: epochs in all; no equation uses it.
    learning_rate: learning rate.
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    warmup_strategy: how the rate grows.
    The others are those of every Optimizer and SpecOptimizer.
    """

    momentum: float
    warmup_epochs: int
    batch_scale: int
    updates_per_epoch: int
    begin_epoch: int
    num_epochs: int
    lr: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    warmup_strategy: Literal["linear", "power2", "sqrt", "lars"]
    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: Literal["linear", "power2", "sqrt", "lars"] = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = True,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class LDoG(SpecOptimizer):
    """DoG with a distance and a sum for each parameter.

    Ivgi, Hinder & Carmon 2023, arXiv:2302.12022: layer-wise DoG.

        d   = g + wd*w
        x0' = x0
        r'  = max(r, norm(w - x0))
        G'  = G + sum(d^2)
        w'  = w - lr*r'/sqrt(G' + epsilon)*d

    Parameters
    ----------
    learning_rate: factor on the rate that is found.
    reps_rel: first distance, in units of 1 + the norm of the weight, in (0, inf).
    epsilon: added to the sum of squared gradients, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    reps_rel: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        reps_rel: float = 1e-06,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Lion(SpecOptimizer):
    """Symbolic discovery of optimization algorithms.

    Chen et al. 2023, arXiv:2302.06675, algorithm 2.

        c  = beta1*m + (1 - beta1)*g
        m' = beta2*m + (1 - beta2)*g
        w' = w - lr*(sign(c) + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: weight of the momentum in the sign, in [0, 1).
    beta2: decay of the momentum, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0001,
        beta1: float = 0.9,
        beta2: float = 0.99,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class MADGRAD(SpecOptimizer):
    """Adaptivity without compromise: a momentumized, adaptive, dual averaged gradient method.

    Defazio & Jelassi 2021, arXiv:2101.11075, algorithm 1.

        d    = g + wd*w
        lamb = (lr + epsilon)*sqrt(t)
        x0'  = x0
        s'   = s + lamb*d
        v'   = v + lamb*d^2
        z    = x0 - s'/(cbrt(v') + epsilon)
        w'   = w + (1 - momentum)*(z - w)

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: weight of the present iterate in the average, in [0, 1).
    epsilon: added to the cube root, and to the rate, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        epsilon: float = 1e-06,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class MARS(SpecOptimizer):
    """MARS: unleashing the power of variance reduction for training large models.

    Yuan et al. 2024, arXiv:2411.10438, algorithm 2, with the last step's gradient in place of a second one.

        diff    = where(t == 1, 0, g - g_prev)
        g_prev' = g
        c       = g + gamma*beta1/(1 - beta1)*diff
        c_hat   = 1/max(1, norm(c))*c
        m'      = beta1*m + (1 - beta1)*c_hat
        v'      = beta2*v + (1 - beta2)*c_hat^2
        u       = 1/(1 - beta1^t)*m'/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w'      = w - lr*(u + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    gamma: strength of the correction, in [0, inf).
    epsilon: added to the root of the second moment, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    gamma: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.003,
        beta1: float = 0.95,
        beta2: float = 0.99,
        gamma: float = 0.025,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class MeZO(SpecOptimizer):
    """zeroth-order SGD: two losses take the place of a gradient, and nothing is kept but the weights.

    Malladi, Gao, Nichani, Damian, Lee, Chen & Arora 2023, arXiv:2305.17333, algorithm 1.

        phase ahead:
          z  = normal()
          w' = w + eps*z

        phase behind:
          above' = loss
          w'     = w - 2*eps*z

        phase descend:
          c  = (above - loss)/(2*eps)
          w' = w + eps*z - lr*(c*z + wd*(w + eps*z))

    Parameters
    ----------
    learning_rate: learning rate.
    eps: how far on both sides of the weights the loss is computed, in (0, inf).
    loss: an input, which each step is given: see the equations.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    eps: float
    loss: float | None
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1e-06,
        eps: float = 0.001,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Muon(SpecOptimizer):
    """Muon: an optimizer for the hidden layers of neural networks.

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; Liu et al. 2025, arXiv:2502.16982.

        m' = momentum*m + (1 - momentum)*g
        d  = (1 - momentum)*g + momentum*m'   if nesterov
        d  = m'                               otherwise
        X  = d^T                              if tall
        X  = d                                otherwise
        Y  = X/max(norm(X), epsilon)
        # The singular values of Y come close to 1.
        repeat ns_steps:
          A  = Y@Y^T
          Y' = a*Y + (b*A + c*(A@A))@Y
        end
        O  = Y'^T                             if tall
        O  = Y'                               otherwise
        s  = sqrt(max(1, rows/cols))          if adjust_lr == 'original'
        s  = 0.2*sqrt(max(rows, cols))        if adjust_lr == 'match_rms_adamw'
        s  = 1                                otherwise
        w' = (1 - lr*wd)*w - lr*s*O

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    momentum: see the equations, in [0, 1).
    a: see the equations.
    b: see the equations.
    c: see the equations.
    epsilon: see the equations, in [0, inf).
    ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    filters: of convolutions are matrices of an output channel a row.
    nesterov: see the equations.
    adjust_lr: the factor on lr, by the shape.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    momentum: float
    a: float
    b: float
    c: float
    epsilon: float
    ns_steps: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    nesterov: bool
    adjust_lr: Literal["original", "match_rms_adamw", "none"]
    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.95,
        a: float = 3.4445,
        b: float = -4.775,
        c: float = 2.0315,
        epsilon: float = 1e-07,
        ns_steps: int = 5,
        filters: bool = True,
        nesterov: bool = True,
        adjust_lr: Literal["original", "match_rms_adamw", "none"] = "original",
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class MuonAdamW(SpecOptimizer):
    """Muon for matrices, AdamW for other parameters.

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon.

        muon_m' = muon_momentum*muon_m + (1 - muon_momentum)*g if muon
        muon_d = (1 - muon_momentum)*g + muon_momentum*muon_m' if muon and muon_nesterov
        muon_d = muon_m' if muon
        muon_X = muon_d^T if muon and muon_tall
        muon_X = muon_d if muon
        muon_Y = muon_X/max(norm(muon_X), muon_epsilon) if muon
        repeat muon_ns_steps:
        muon_A = muon_Y@muon_Y^T if muon
        muon_Y' = muon_a*muon_Y + (muon_b*muon_A + muon_c*(muon_A@muon_A))@muon_Y if muon
        end
        muon_O = muon_Y'^T if muon and muon_tall
        muon_O = muon_Y' if muon
        muon_s = sqrt(max(1, rows/cols)) if muon and muon_adjust_lr == 'original'
        muon_s = 0.2*sqrt(max(rows, cols)) if muon and muon_adjust_lr == 'match_rms_adamw'
        muon_s = 1 if muon
        w' = (1 - lr*wd)*w - lr*muon_s*muon_O if muon
        adam_rate = adam_lr*sqrt(1 - adam_beta2^t)/(1 - adam_beta1^t) if not muon and adam_correct_bias
        adam_rate = adam_lr if not muon
        adam_m' = adam_beta1*adam_m + (1 - adam_beta1)*g if not muon
        adam_v' = adam_beta2*adam_v + (1 - adam_beta2)*g^2 if not muon
        w' = (1 - adam_lr*wd)*w - adam_rate*adam_m'/(sqrt(adam_v') + adam_epsilon) if not muon

    Parameters
    ----------
    learning_rate: learning rate.
    adam_lr: the rate of AdamW.
    wd: weight decay, in [0, inf).
    muon_momentum: see the equations, in [0, 1).
    muon_a: see the equations.
    muon_b: see the equations.
    muon_c: see the equations.
    muon_epsilon: see the equations, in [0, inf).
    muon_ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    adam_beta1: decay of the first moment, in [0, 1).
    adam_beta2: decay of the second moment, in [0, 1).
    adam_epsilon: added to the root of the second moment, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    plain: AdamW for this matrix too, as for embeddings and the last layer.
    filters: of convolutions are matrices of an output channel a row.
    muon_nesterov: see the equations.
    muon_adjust_lr: the factor on lr, by the shape.
    adam_correct_bias: make up for the moments' start at 0.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    adam_lr: float | Mapping[Any, float]
    wd: float
    muon_momentum: float
    muon_a: float
    muon_b: float
    muon_c: float
    muon_epsilon: float
    muon_ns_steps: int
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    clip_gradient: float | None
    rescale_grad: float
    filters: bool
    muon_nesterov: bool
    muon_adjust_lr: Literal["original", "match_rms_adamw", "none"]
    adam_correct_bias: bool
    def __init__(
        self,
        learning_rate: float = 0.02,
        adam_lr: float | Mapping[Any, float] = 0.001,
        filters: bool = True,
        muon_momentum: float = 0.95,
        muon_a: float = 3.4445,
        muon_b: float = -4.775,
        muon_c: float = 2.0315,
        muon_epsilon: float = 1e-07,
        muon_ns_steps: int = 5,
        muon_nesterov: bool = True,
        muon_adjust_lr: Literal["original", "match_rms_adamw", "none"] = "original",
        adam_beta1: float = 0.9,
        adam_beta2: float = 0.999,
        adam_epsilon: float = 1e-06,
        adam_correct_bias: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        plain: bool | tuple[Any, ...] = False,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class MuonBatched(SpecOptimizer):
    """Muon for batches of matrices, such as the weights of experts.

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; Liu et al. 2025, arXiv:2502.16982.

        m' = momentum*m + (1 - momentum)*g
        d  = (1 - momentum)*g + momentum*m'   if nesterov
        d  = m'                               otherwise
        X  = d^T                              if tall
        X  = d                                otherwise
        Y  = X/max(norm(X, per matrix), epsilon)
        # The singular values of Y come close to 1.
        repeat ns_steps:
          A  = Y@Y^T
          Y' = a*Y + (b*A + c*(A@A))@Y
        end
        O  = Y'^T                             if tall
        O  = Y'                               otherwise
        s  = sqrt(max(1, rows/cols))          if adjust_lr == 'original'
        s  = 0.2*sqrt(max(rows, cols))        if adjust_lr == 'match_rms_adamw'
        s  = 1                                otherwise
        w' = (1 - lr*wd)*w - lr*s*O

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    momentum: see the equations, in [0, 1).
    a: see the equations.
    b: see the equations.
    c: see the equations.
    epsilon: see the equations, in [0, inf).
    ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    nesterov: see the equations.
    adjust_lr: the factor on lr, by the shape.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    momentum: float
    a: float
    b: float
    c: float
    epsilon: float
    ns_steps: int
    rescale_grad: float
    clip_gradient: float | None
    nesterov: bool
    adjust_lr: Literal["original", "match_rms_adamw", "none"]
    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.95,
        a: float = 3.4445,
        b: float = -4.775,
        c: float = 2.0315,
        epsilon: float = 1e-07,
        ns_steps: int = 5,
        nesterov: bool = True,
        adjust_lr: Literal["original", "match_rms_adamw", "none"] = "original",
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class MuonClip(SpecOptimizer):
    """Kimi K2: Muon, and weights of queries and keys that bound the logits of attention.

    Kimi Team 2025, arXiv:2507.20534.

        m'    = momentum*m + g
        X     = m'^T   if tall
        X     = m'     otherwise
        Y     = X/max(norm(X), 1e-7)
        repeat ns_steps:
          A     = Y@Y^T
          Y'    = a*Y + (b*A + c*(A@A))@Y
        end
        O     = Y'^T   if tall
        O     = Y'     otherwise
        gamma = where(max_logit > tau, tau/max(max_logit, 1e-30), 1)
        w'    = gamma^power*((1 - lr*wd)*w - 0.2*lr*sqrt(max(rows, cols))*O)

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    momentum: see the equations, in [0, 1).
    a: see the equations.
    b: see the equations.
    c: see the equations.
    ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    tau: bound on the logits, in (0, inf).
    max_logit: the largest logit of the last batch; of each parameter, as a list, in [0, inf).
    power: of the factor: 0.5 for queries and for keys, 1 for rotary queries, in [0, 1].
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    momentum: float
    a: float
    b: float
    c: float
    ns_steps: int
    tau: float
    max_logit: float
    power: float
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.0002,
        momentum: float = 0.95,
        a: float = 3.4445,
        b: float = -4.775,
        c: float = 2.0315,
        ns_steps: int = 5,
        tau: float = 100.0,
        max_logit: float = 0.0,
        power: float = 0.5,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Nadam(SpecOptimizer):
    """Incorporating Nesterov momentum into Adam.

    Dozat 2016, ICLR workshop; Stanford CS229 report 054.

        d       = clip(rescale_grad*grad + wd*w, clip_gradient)
        mu      = beta1*(1 - 0.5*0.96^(t*schedule_decay))
        mu_next = beta1*(1 - 0.5*0.96^((t + 1)*schedule_decay))
        S'      = S*mu
        m'      = beta1*m + (1 - beta1)*d
        v'      = beta2*v + (1 - beta2)*d^2
        m_bar   = (1 - mu)/(1 - S')*d + mu_next/(1 - S'*mu_next)*m'
        v_hat   = 1/(1 - beta2^t)*v'
        w'      = w - lr*m_bar/(sqrt(v_hat) + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, and the limit of the momentum, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    schedule_decay: how fast the momentum grows from half of beta1 to beta1, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    schedule_decay: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        schedule_decay: float = 0.004,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class NAdamW(SpecOptimizer):
    """Adam with Nesterov's momentum and decoupled weight decay.

    Dozat 2016, ICLR workshop; Loshchilov & Hutter 2019, arXiv:1711.05101; Dahl et al. 2023, arXiv:2306.07179.

        m'    = beta1*m + (1 - beta1)*g
        v'    = beta2*v + (1 - beta2)*g^2
        m_bar = beta1/(1 - beta1^(t + 1))*m' + (1 - beta1)/(1 - beta1^t)*g
        w'    = (1 - lr*wd)*w - lr*m_bar/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class NAG(SpecOptimizer):
    """Nesterov accelerated gradient.

    Nesterov 1983; Sutskever et al. 2013, On the importance of initialization and momentum in deep learning.

        w'   = w + momentum^2*mom - (1 + momentum)*lr*(g + wd*w)   if heavy
        w'   = (1 - lr*wd)*w - lr*g                                otherwise
        mom' = momentum*mom - lr*(g + wd*w')                       if heavy   # the decay pulls at the new weight

    Parameters
    ----------
    momentum: decay of the velocity; 0 keeps none, in [0, 1).
    learning_rate: learning rate.
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    momentum: float
    lr: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    def __init__(
        self,
        momentum: float = 0.0,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class NoisySGD(SpecOptimizer):
    """Adding gradient noise improves learning for very deep networks.

    Neelakantan et al. 2015, arXiv:1511.06807, eq. 1.

        z  = normal()
        w' = w - lr*(g + wd*w + sqrt(eta/t^gamma)*z)

    Parameters
    ----------
    learning_rate: learning rate.
    eta: variance of the noise in the first step, in [0, inf).
    gamma: power with which the variance falls, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    eta: float
    gamma: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        eta: float = 0.01,
        gamma: float = 0.55,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class NorMuon(SpecOptimizer):
    """NorMuon: making Muon more efficient and scalable.

    Li et al. 2025, arXiv:2510.05491.

        m' = beta1*m + (1 - beta1)*g
        X  = m'^T   if tall
        X  = m'     otherwise
        Y  = X/max(norm(X), 1e-7)
        repeat ns_steps:
          A  = Y@Y^T
          Y' = a*Y + (b*A + c*(A@A))@Y
        end
        O  = Y'^T   if tall
        O  = Y'     otherwise
        v' = beta2*v + (1 - beta2)*mean(O^2, per row)
        n  = O/(sqrt(v') + epsilon)
        w' = (1 - lr*wd)*w - 0.2*lr*sqrt(size)/max(norm(n), 1e-30)*n

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    beta1: see the equations, in [0, 1).
    beta2: see the equations, in [0, 1).
    a: see the equations.
    b: see the equations.
    c: see the equations.
    epsilon: added to the roots of second moments, in (0, inf).
    ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    beta1: float
    beta2: float
    a: float
    b: float
    c: float
    epsilon: float
    ns_steps: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.95,
        beta2: float = 0.95,
        a: float = 3.4445,
        b: float = -4.775,
        c: float = 2.0315,
        epsilon: float = 1e-08,
        ns_steps: int = 5,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class NovoGrad(SpecOptimizer):
    """Stochastic gradient methods with layer-wise adaptive moments for training of deep networks.

    Ginsburg et al. 2019, arXiv:1905.11286, algorithm 1.

        n  = sum(g^2)
        v' = where(t == 1, n, beta2*v + (1 - beta2)*n)
        d  = 1/(sqrt(v') + epsilon)*g + wd*w
        m' = beta1*m + (1 - beta1)*d   if grad_averaging
        m' = beta1*m + d               otherwise
        w' = w - lr*m'

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    grad_averaging: weight the gradient by 1 - beta1.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    grad_averaging: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta1: float = 0.95,
        beta2: float = 0.98,
        epsilon: float = 1e-08,
        grad_averaging: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class NSGD(SpecOptimizer):
    """Momentum improves normalized SGD.

    Cutkosky & Mehta 2020, arXiv:2002.03305.

        m' = beta*m + (1 - beta)*(g + wd*w)
        n  = norm(m', over params)
        w' = w - lr*where(n == 0, 0, 1/n)*m'

    Parameters
    ----------
    learning_rate: length of a step of all parameters together.
    beta: decay of the averaged gradient, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta: float = 0.9,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class OptimisticAdam(SpecOptimizer):
    """Training GANs with optimism.

    Daskalakis et al. 2018, arXiv:1711.00141, algorithm 1.

        d       = g + wd*w
        m'      = beta1*m + (1 - beta1)*d
        v'      = beta2*v + (1 - beta2)*d^2
        u       = 1/(1 - beta1^t)*m'/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w'      = w - lr*(2*u - where(t == 1, u, u_prev))
        u_prev' = u

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0001,
        beta1: float = 0.5,
        beta2: float = 0.9,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class OptimisticSGD(SpecOptimizer):
    """Optimistic gradient descent: a step along the gradient that is expected next.

    Daskalakis et al. 2018, arXiv:1711.00141; Mokhtari, Ozdaglar & Pattathil 2020, arXiv:1901.08511.

        d       = g + wd*w
        w'      = w - lr*((alpha + beta)*d - beta*where(t == 1, d, g_prev))
        g_prev' = d

    Parameters
    ----------
    learning_rate: learning rate.
    alpha: weight of the gradient, in [0, inf).
    beta: weight of its change, by which the next one is guessed, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    alpha: float
    beta: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        alpha: float = 1.0,
        beta: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PAdam(SpecOptimizer):
    """Closing the generalization gap of adaptive gradient methods in training deep neural networks.

    Chen et al. 2018, arXiv:1806.06763, algorithm 1.

        d      = g + wd*w
        m'     = beta1*m + (1 - beta1)*d
        v'     = beta2*v + (1 - beta2)*d^2
        v_max' = max(v_max, v')           if amsgrad
        root   = sqrt(v_max') + epsilon   if amsgrad
        root   = sqrt(v') + epsilon       otherwise
        w'     = w - lr*sqrt(1 - beta2^t)/(1 - beta1^t)*m'/root^(2*partial)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    partial: power of the second moment; 0.5 is AMSGrad, in (0, 0.5].
    epsilon: added to the root of the second moment, in (0, inf).
    amsgrad: keep the largest second moment.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    partial: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    amsgrad: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        beta1: float = 0.9,
        beta2: float = 0.999,
        partial: float = 0.25,
        epsilon: float = 1e-08,
        amsgrad: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PID(SpecOptimizer):
    """A PID controller approach for stochastic optimization of deep networks.

    An et al. 2018, CVPR.

        e       = g + wd*w
        i'      = momentum*i + e
        d'      = where(t == 1, 0, momentum*d + (1 - momentum)*(e - g_prev))
        g_prev' = e
        w'      = w - lr*(e + integral*i' + derivative*d')

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the integral and of the derivative, in [0, 1).
    integral: weight of the integral, in [0, inf).
    derivative: weight of the derivative, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    integral: float
    derivative: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        integral: float = 5.0,
        derivative: float = 10.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PNM(SpecOptimizer):
    """Positive-negative momentum: manipulating stochastic gradient noise to improve generalization.

    Xie et al. 2021, arXiv:2103.17182.

        x  = beta1^2*n + (1 - beta1^2)*g   # of two steps ago
        m' = x
        n' = m
        w' = (1 - lr*wd)*w - lr/sqrt((1 + beta0)^2 + beta0^2)*((1 + beta0)*x - beta0*m)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of a momentum in a step; each is updated in every second one, in [0, 1).
    beta0: weight of the negative momentum, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta0: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta0: float = 1.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PolarMuon(SpecOptimizer):
    """Muon with the polynomials of the Polar Express.

    Amsel et al. 2025, arXiv:2505.16932.

        m' = momentum*m + (1 - momentum)*g
        d  = (1 - momentum)*g + momentum*m'   if nesterov
        d  = m'                               otherwise
        X  = d^T                              if tall
        X  = d                                otherwise
        Y  = X/(1.01*norm(X) + 1e-7)
        repeat ns_steps as i:
          r  = where(i < 7, 1.01, 1)
          a  = turn(i, 8.28721201814563, 4.107059111542203, 3.9486908534822946, 3.3184196573706015, 2.300652019954817,
                    1.891301407787398, 1.8750014808534479, 1.875)/r
          b  = turn(i, -23.595886519098837, -2.9478499167379106, -2.908902115962949, -2.488488024314874,
                    -1.6689039845747493, -1.2679958271945868, -1.2500016453999487, -1.25)/r^3
          c  = turn(i, 17.300387312530933, 0.5448431082926601, 0.5518191394370137, 0.51004894012372, 0.4188073119525673,
                    0.37680408948524835, 0.3750001645474248, 0.375)/r^5
          A  = Y@Y^T
          Y' = a*Y + (b*A + c*(A@A))@Y
        end
        O  = Y'^T                             if tall
        O  = Y'                               otherwise
        w' = (1 - lr*wd)*w - lr*sqrt(max(1, rows/cols))*O

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    momentum: see the equations, in [0, 1).
    ns_steps: turns of the iteration; from the eighth on they have the last polynomial, in [0, 100).
    filters: of convolutions are matrices of an output channel a row.
    nesterov: see the equations.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    momentum: float
    ns_steps: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    nesterov: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.95,
        ns_steps: int = 5,
        filters: bool = True,
        nesterov: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.1,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PowerSign(SpecOptimizer):
    """Neural optimizer search with reinforcement learning.

    Bello et al. 2017, arXiv:1709.07417.

        d     = g + wd*w
        m'    = beta*m + (1 - beta)*d
        agree = sign(d)*sign(m')
        w'    = w - lr*where(agree > 0, base, where(agree < 0, 1/base, 1))*d

    Parameters
    ----------
    learning_rate: learning rate.
    base: factor where momentum and gradient agree; its inverse where they do not, in (0, inf).
    beta: decay of the momentum, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    base: float
    beta: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.1,
        base: float = 2.718281828459045,
        beta: float = 0.9,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Prodigy(SpecOptimizer):
    """Prodigy: an expeditiously adaptive parameter-free learner.

    Mishchenko & Defazio 2024, arXiv:2306.06101, algorithm 4; r and s over d0, as in the authors' code.

        beta3 = sqrt(beta2)
        rate  = d*lr*sqrt(1 - beta2^t)/(1 - beta1^t)   if use_bias_correction
        rate  = d*lr                                   otherwise
        x0'   = x0
        r'    = beta3*r + sum(d/d0*rate*g*(x0 - w), over params)
        m'    = beta1*m + (1 - beta1)*d*g
        v'    = beta2*v + (1 - beta2)*d^2*g^2
        s'    = beta3*s + d/d0*d*g                     if safeguard_warmup
        s'    = beta3*s + d/d0*rate*g                  otherwise
        total = sum(abs(s'), over params)
        d'    = where(total == 0, d, max(d, d_coef*r'/total))
        w'    = (1 - rate*wd)*w - rate*m'/(sqrt(v') + d*epsilon)

    Parameters
    ----------
    learning_rate: factor on the rate that is found; a schedule may change it.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in units of d, in (0, inf).
    d0: first estimate of the distance to the solution, in (0, inf).
    d_coef: factor on later estimates, in (0, inf).
    use_bias_correction: divide the moments by what their start at 0 costs.
    safeguard_warmup: keep lr out of s, for long warm-ups.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    d0: float
    d_coef: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    use_bias_correction: bool
    safeguard_warmup: bool
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        d0: float = 1e-06,
        d_coef: float = 1.0,
        use_bias_correction: bool = False,
        safeguard_warmup: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PSGDDiagonal(SpecOptimizer):
    """PSGD: gradients that a diagonal whitens, and of matrices a second factor.

    Li 2015, arXiv:1512.04202; Li 2024, arXiv:2402.04553; as in github.com/evanatyourservice/kron_torch.

        m' = momentum*m + (1 - momentum)*g
        M  = m'/(1 - momentum^t)
        V  = normal()
        D  = M + damping*mean(abs(M))*V
        A  = (q*D)@R^T                                                 if right
        A  = q*D*r                                                     if not vector
        B  = solve(R^T, (V/q)^T)^T                                     if right
        B  = V/q/r                                                     if not vector
        n  = sum(A^2 + B^2)                                            if right
        Z  = (A^T@A + B^T@B)/n                                         if right
        s  = where(mod(t, 100*k) == 0, sqrt(max(abs(R))/max(q)), 1)    if right
        s  = where(mod(t, 100*k) == 0, sqrt(max(r)/max(q)), 1)         if not vector
        p' = learned(p, (p*D)^2, (V/p)^2)                              every k if vector
        q' = s*learned(q, sum(A^2, per row), sum(B^2, per row))        every k if not vector
        R' = (R - precond_lr/(n*bound(Z))*(triu(A^T@A - B^T@B)@R))/s   every k if right
        r' = learned(r, sum(A^2, per col), sum(B^2, per col))/s        every k if not (vector or right)
        U  = p'^2*M                                                    if vector
        U  = (q'^2*M)@R'^T@R'                                          if right
        U  = q'^2*M*r'^2                                               otherwise
        w' = w - lr*(min(1, 1.1/(rms(U) + 1e-12))*U + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the mean of gradients, in [0, 1).
    precond_lr: rate of the factors, in [0, 1).
    damping: of the noise that factors see beside gradients, relative to these, in [0, inf).
    k: updates between two of the factors; raise it in training, in [1, inf).
    max_size: the most columns whose factor is triangular; that of more is diagonal, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    precond_lr: float
    damping: float
    k: int
    max_size: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0003,
        momentum: float = 0.9,
        precond_lr: float = 0.1,
        damping: float = 0.000345,
        k: int = 1,
        max_size: int = 8192,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PSGDKron(SpecOptimizer):
    """PSGD: gradients that Kronecker factors whiten.

    Li 2015, arXiv:1512.04202; Li 2024, arXiv:2402.04553; as in github.com/evanatyourservice/kron_torch.

        m' = momentum*m + (1 - momentum)*g if triangular
        M = m'/(1 - momentum^t) if triangular
        V = normal() if triangular
        D = M + damping*mean(abs(M))*V if triangular
        A = Q@D@R^T if triangular and right
        A = (Q@D)*r if triangular
        B = solve(Q^T, solve(R^T, V^T)^T) if triangular and right
        B = solve(Q^T, V/r) if triangular
        n = sum(A^2 + B^2) if triangular
        S = (A@A^T + B@B^T)/n if triangular
        Z = (A^T@A + B^T@B)/n if triangular and right
        s = where(mod(t, 100*k) == 0, sqrt(max(abs(R))/max(abs(Q))), 1) if triangular and right
        s = where(mod(t, 100*k) == 0, sqrt(max(r)/max(abs(Q))), 1) if triangular
        Q' = s*(Q - precond_lr/(n*bound(S))*(triu(A@A^T - B@B^T)@Q)) every k if triangular
        R' = (R - precond_lr/(n*bound(Z))*(triu(A^T@A - B^T@B)@R))/s every k if triangular and right
        r' = r/s*(1 - precond_lr*sum(A^2 - B^2, per col)/max(sum(A^2 + B^2, per col))) every k if triangular and not right
        U = Q'^T@(Q'@M@R'^T)@R' if triangular and right
        U = Q'^T@(Q'@M)*r'^2 if triangular
        w' = w - lr*(min(1, 1.1/(rms(U) + 1e-12))*U + wd*w) if triangular
        diagonal_m' = momentum*diagonal_m + (1 - momentum)*g if not triangular
        diagonal_M = diagonal_m'/(1 - momentum^t) if not triangular
        diagonal_V = normal() if not triangular
        diagonal_D = diagonal_M + damping*mean(abs(diagonal_M))*diagonal_V if not triangular
        diagonal_A = (diagonal_q*diagonal_D)@diagonal_R^T if not triangular and diagonal_right
        diagonal_A = diagonal_q*diagonal_D*diagonal_r if not triangular and not diagonal_vector
        diagonal_B = solve(diagonal_R^T, (diagonal_V/diagonal_q)^T)^T if not triangular and diagonal_right
        diagonal_B = diagonal_V/diagonal_q/diagonal_r if not triangular and not diagonal_vector
        diagonal_n = sum(diagonal_A^2 + diagonal_B^2) if not triangular and diagonal_right
        diagonal_Z = (diagonal_A^T@diagonal_A + diagonal_B^T@diagonal_B)/diagonal_n if not triangular and diagonal_right
        diagonal_s = where(mod(t, 100*k) == 0, sqrt(max(abs(diagonal_R))/max(diagonal_q)), 1) if not triangular and diagonal_right
        diagonal_s = where(mod(t, 100*k) == 0, sqrt(max(diagonal_r)/max(diagonal_q)), 1) if not triangular and not diagonal_vector
        diagonal_p' = diagonal_learned(diagonal_p, (diagonal_p*diagonal_D)^2, (diagonal_V/diagonal_p)^2) every k if not triangular and diagonal_vector
        diagonal_q' = diagonal_s*diagonal_learned(diagonal_q, sum(diagonal_A^2, per row), sum(diagonal_B^2, per row)) every k if not triangular and not diagonal_vector
        diagonal_R' = (diagonal_R - precond_lr/(diagonal_n*diagonal_bound(diagonal_Z))*(triu(diagonal_A^T@diagonal_A - diagonal_B^T@diagonal_B)@diagonal_R))/diagonal_s every k if not triangular and diagonal_right
        diagonal_r' = diagonal_learned(diagonal_r, sum(diagonal_A^2, per col), sum(diagonal_B^2, per col))/diagonal_s every k if not triangular and (not (diagonal_vector or diagonal_right))
        diagonal_U = diagonal_p'^2*diagonal_M if not triangular and diagonal_vector
        diagonal_U = (diagonal_q'^2*diagonal_M)@diagonal_R'^T@diagonal_R' if not triangular and diagonal_right
        diagonal_U = diagonal_q'^2*diagonal_M*diagonal_r'^2 if not triangular
        w' = w - lr*(min(1, 1.1/(rms(diagonal_U) + 1e-12))*diagonal_U + wd*w) if not triangular

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the mean of gradients, in [0, 1).
    precond_lr: rate of the factors, in [0, 1).
    damping: of the noise that factors see beside gradients, relative to these, in [0, inf).
    k: updates between two of the factors; raise it in training, in [1, inf).
    max_size: the longest side whose factor is triangular; others are diagonal, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    precond_lr: float
    damping: float
    k: int
    max_size: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0003,
        momentum: float = 0.9,
        precond_lr: float = 0.1,
        damping: float = 0.000345,
        k: int = 1,
        max_size: int = 8192,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class PSGLD(SpecOptimizer):
    """Preconditioned stochastic gradient Langevin dynamics for deep neural networks.

    Li et al. 2016, arXiv:1512.07666, algorithm 1, without the term Gamma.

        z  = normal()
        d  = g + wd*w
        v' = alpha*v + (1 - alpha)*d^2
        G  = 1/(sqrt(v') + epsilon)
        w' = w - lr/2*G*d + sqrt(lr*G)*z

    Parameters
    ----------
    learning_rate: learning rate, in [0, inf).
    alpha: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    alpha: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        alpha: float = 0.99,
        epsilon: float = 1e-05,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class QHAdam(SpecOptimizer):
    """Quasi-hyperbolic momentum and Adam for deep learning.

    Ma & Yarats 2019, arXiv:1810.06801, algorithm 2.

        d  = g                                          if decouple_weight_decay
        d  = g + wd*w                                   otherwise
        m' = beta1*m + (1 - beta1)*d
        v' = beta2*v + (1 - beta2)*d^2
        a  = (1 - nu1)*d + nu1/(1 - beta1^t)*m'
        b  = (1 - nu2)*d^2 + nu2/(1 - beta2^t)*v'
        w' = (1 - lr*wd)*w - lr*a/(sqrt(b) + epsilon)   if decouple_weight_decay
        w' = w - lr*a/(sqrt(b) + epsilon)               otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    nu1: weight of the first moment against the gradient; 1 is Adam, in [0, 1].
    nu2: weight of the second moment against the squared gradient; 1 is Adam, in [0, 1].
    epsilon: added to the root, in [0, inf).
    decouple_weight_decay: decay the weight itself, not through the gradient.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    nu1: float
    nu2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    decouple_weight_decay: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.995,
        beta2: float = 0.999,
        nu1: float = 0.7,
        nu2: float = 1.0,
        epsilon: float = 1e-08,
        decouple_weight_decay: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class QHM(SpecOptimizer):
    """Quasi-hyperbolic momentum and Adam for deep learning.

    Ma & Yarats 2019, arXiv:1810.06801, algorithm 1.

        d  = g + wd*w
        m' = beta*m + (1 - beta)*d
        w' = w - lr*((1 - nu)*d + nu*m')

    Parameters
    ----------
    learning_rate: learning rate.
    beta: decay of the averaged gradient, in [0, 1).
    nu: weight of the averaged gradient against the gradient; 0 is SGD, in [0, 1].
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    nu: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta: float = 0.999,
        nu: float = 0.7,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class RAdam(SpecOptimizer):
    """On the variance of the adaptive learning rate and beyond.

    Liu et al. 2020, arXiv:1908.03265, algorithm 2, with the threshold of 5 of the authors' code.

        d       = g                              if decoupled_weight_decay
        d       = g + wd*w                       otherwise
        m'      = beta1*m + (1 - beta1)*d
        v'      = beta2*v + (1 - beta2)*d^2
        rho_inf = 2/(1 - beta2) - 1
        rho     = rho_inf - 2*t*beta2^t/(1 - beta2^t)   # how many gradients the second moment amounts to
        r       = sqrt((rho - 4)*(rho - 2)*rho_inf/((rho_inf - 4)*(rho_inf - 2)*rho))
        # Too few, and its variance is too large to divide by it: momentum alone.
        rate    = lr/(1 - beta1^t)*where(rho > 5, r*sqrt(1 - beta2^t), 1)
        root    = where(rho > 5, sqrt(v') + epsilon, 1)
        w'      = (1 - lr*wd)*w - rate*m'/root   if decoupled_weight_decay
        w'      = w - rate*m'/root               otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    decoupled_weight_decay: decay the weight itself, not through the gradient.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    decoupled_weight_decay: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        decoupled_weight_decay: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class RMSProp(SpecOptimizer):
    """Divide the gradient by a running average of its magnitude.

    Tieleman & Hinton 2012, Coursera lecture 6.5; centered: Graves 2013, arXiv:1308.0850, eq. 38-45.

        d      = clip(rescale_grad*grad + wd*w, clip_gradient)
        n'     = gamma1*n + (1 - gamma1)*d^2
        gbar'  = gamma1*gbar + (1 - gamma1)*d                      if centered
        # A variance is never negative, but rounding could make this difference so.
        var    = max(n' - gbar'^2, 0)                              if centered
        delta' = gamma2*delta - lr*d/sqrt(var + epsilon)           if centered
        w'     = clip(w + delta', clip_weights)                    if centered
        w'     = clip(w - lr*d/sqrt(n' + epsilon), clip_weights)   otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    gamma1: decay of the averages, in [0, 1).
    gamma2: decay of the step, if centered, in [0, 1).
    epsilon: added under the root, in [0, inf).
    clip_weights: bound on each weight, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    centered: normalise by the variance, and keep a velocity.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    gamma1: float
    gamma2: float
    epsilon: float
    clip_weights: float | None
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    centered: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-08,
        centered: bool = False,
        clip_weights: float | None = None,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Rprop(SpecOptimizer):
    """A direct adaptive method for faster backpropagation learning: the RPROP algorithm.

    Riedmiller & Braun 1993; no backtracking: iRprop- of Igel & Huesken 2003.

        same    = sign(g)*sign(g_prev)   # signs first: the product of small gradients would vanish
        factor  = where(same > 0, eta_plus, where(same < 0, eta_minus, 1))
        delta'  = clip(factor*delta, step_min, step_max)
        g_prev' = where(same < 0, 0, g)
        w'      = w - sign(g_prev')*delta'

    Parameters
    ----------
    learning_rate: first step of every weight; a later change has no effect.
    eta_minus: factor on the step after a change of sign, in (0, 1).
    eta_plus: factor on the step while the sign stays, in (1, inf).
    step_min: least step, in [0, inf).
    step_max: largest step, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    eta_minus: float
    eta_plus: float
    step_min: float
    step_max: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        eta_minus: float = 0.5,
        eta_plus: float = 1.2,
        step_min: float = 1e-06,
        step_max: float = 50.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ScheduleFreeAdamW(SpecOptimizer):
    """The road less scheduled.

    Defazio et al. 2024, arXiv:2405.15682, algorithm 1; weights of the average as in the authors' code.

          lr_t    = lr*min(t/max(warmup_steps, 1), 1)
          lr_max' = max(lr_max, lr_t)
          weight  = t^r*lr_max'^weight_lr_power
          total'  = total + weight
          c       = where(total' > 0, weight/total', 0)
          v'      = beta2*v + (1 - beta2)*g^2
          d       = g/(sqrt(1/(1 - beta2^t)*v') + epsilon) + wd*w
          z'      = z - lr_t*d
          w'      = w + c*(z - w) - lr_t*(1 - beta1*(1 - c))*d   # x' = (1 - c)*x + c*z'

        eval:
          w' = w + (1 - 1/beta1)*(z - w)   # x

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: how close to the average gradients are taken, in (0, 1].
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    warmup_steps: steps in which the rate grows from 0, in [0, inf).
    r: power of t in the weights of the average, in [0, inf).
    weight_lr_power: power of the rate in the weights of the average, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    warmup_steps: int
    r: float
    weight_lr_power: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0025,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        warmup_steps: int = 0,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ScheduleFreeRAdam(SpecOptimizer):
    """The road less scheduled.

    Defazio et al. 2024, arXiv:2405.15682; RAdam: Liu et al. 2020, arXiv:1908.03265; as in the authors' code.

          rho_inf = 2/(1 - beta2) - 1
          rho     = rho_inf - 2*t*beta2^t/(1 - beta2^t)   # how many gradients the second moment amounts to
          rect    = sqrt((rho - 4)*(rho - 2)*rho_inf/((rho_inf - 4)*(rho_inf - 2)*rho))
          rate    = lr*where(rho > 4, rect, 0)   if silent_sgd_phase
          rate    = lr*where(rho > 4, rect, 1)   otherwise
          lr_max' = max(lr_max, rate)
          weight  = t^r*lr_max'^weight_lr_power
          total'  = total + weight
          c       = where(total' > 0, weight/total', 0)
          v'      = beta2*v + (1 - beta2)*g^2
          d       = where(rho > 4, g/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon), g) + wd*w
          z'      = z - rate*d
          w'      = w + c*(z - w) - rate*(1 - beta1*(1 - c))*d   # x' = (1 - c)*x + c*z'

        eval:
          w' = w + (1 - 1/beta1)*(z - w)   # x

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: how close to the average gradients are taken, in (0, 1].
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    r: power of t in the weights of the average, in [0, inf).
    weight_lr_power: power of the rate in the weights of the average, in [0, inf).
    silent_sgd_phase: wait while the second moment is too uncertain; otherwise steps of SGD.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    r: float
    weight_lr_power: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    silent_sgd_phase: bool
    def __init__(
        self,
        learning_rate: float = 0.0025,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
        silent_sgd_phase: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ScheduleFreeSGD(SpecOptimizer):
    """The road less scheduled.

    Defazio et al. 2024, arXiv:2405.15682, eq. 2-4; weights of the average as in the authors' code.

          lr_t    = lr*min(t/max(warmup_steps, 1), 1)
          lr_max' = max(lr_max, lr_t)
          weight  = t^r*lr_max'^weight_lr_power
          total'  = total + weight
          c       = where(total' > 0, weight/total', 0)
          d       = g + wd*w
          z'      = z - lr_t*d
          w'      = w + c*(z - w) - lr_t*(1 - beta*(1 - c))*d   # x' = (1 - c)*x + c*z'

        eval:
          w' = w + (1 - 1/beta)*(z - w)   # x

    Parameters
    ----------
    learning_rate: learning rate.
    beta: how close to the average gradients are taken, in (0, 1].
    warmup_steps: steps in which the rate grows from 0, in [0, inf).
    r: power of t in the weights of the average, in [0, inf).
    weight_lr_power: power of the rate in the weights of the average, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    warmup_steps: int
    r: float
    weight_lr_power: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta: float = 0.9,
        warmup_steps: int = 0,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Scion(SpecOptimizer):
    """Training deep learning models with norm-constrained LMOs.

    Pethick et al. 2025, arXiv:2502.07529; the spectral norm of hidden layers.

        m' = (1 - alpha)*m + alpha*g
        X  = m'^T                                       if tall
        X  = m'                                         otherwise
        Y  = X/max(norm(X), epsilon)
        repeat ns_steps:
          A  = Y@Y^T
          Y' = a*Y + (b*A + c*(A@A))@Y
        end
        O  = Y'^T                                       if tall
        O  = Y'                                         otherwise
        w' = (1 - lr)*w - lr*radius*sqrt(rows/cols)*O   if constrained
        w' = w - lr*radius*sqrt(rows/cols)*O            otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    alpha: the part of the gradient in its mean, in (0, 1].
    radius: of the ball of the norm, in (0, inf).
    a: see the equations.
    b: see the equations.
    c: see the equations.
    epsilon: see the equations, in [0, inf).
    ns_steps: turns of the Newton-Schulz iteration, in [0, 100).
    filters: of convolutions are matrices of an output channel a row.
    constrained: weights stay within the ball: Frank-Wolfe; without it, steps have this length.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    alpha: float
    radius: float
    a: float
    b: float
    c: float
    epsilon: float
    ns_steps: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    constrained: bool
    def __init__(
        self,
        learning_rate: float = 0.00036,
        alpha: float = 0.1,
        radius: float = 50.0,
        a: float = 3.4445,
        b: float = -4.775,
        c: float = 2.0315,
        epsilon: float = 1e-07,
        ns_steps: int = 5,
        filters: bool = True,
        constrained: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SGD(SpecOptimizer):
    """Stochastic gradient descent, with momentum.

    Robbins & Monro 1951; momentum: Polyak 1964.

        mom' = momentum*mom - lr*(g + wd*w)   if heavy
        w'   = w + mom'                       if heavy
        w'   = (1 - lr*wd)*w - lr*g           otherwise

    Parameters
    ----------
    momentum: decay of the velocity; 0 keeps none, in [0, 1).
    learning_rate: learning rate.
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    momentum: float
    lr: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SGDHD(SpecOptimizer):
    """Online learning rate adaptation with hypergradient descent: SGD whose rate is learnt, too.

    Baydin et al. 2018, arXiv:1703.04782, algorithm 4.

        d       = g + wd*w
        rate'   = rate + hypergrad_lr*sum(d*g_prev, over params)
        g_prev' = d
        w'      = w - rate'*d

    Parameters
    ----------
    learning_rate: first rate; a later change has no effect.
    hypergrad_lr: rate of the rate, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    hypergrad_lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        hypergrad_lr: float = 0.0001,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SGDP(SpecOptimizer):
    """AdamP: slowing down the slowdown for momentum optimizers on scale-invariant weights.

    Heo et al. 2020, arXiv:2006.08217, algorithm 1.

        mom'     = momentum*mom + g
        u        = g + momentum*mom'                                                                    if nesterov
        u        = mom'                                                                                 otherwise
        row_cos  = abs(sum(g*w, per row))/((norm(g, per row) + epsilon)*(norm(w, per row) + epsilon))   if matrix
        cosine   = abs(sum(g*w))/((norm(g) + epsilon)*(norm(w) + epsilon))                              if matrix
        # Where weight and gradient are so close to a right angle, the scale of the weight has no effect.
        by_row   = max(row_cos) < delta/sqrt(cols)                                                      if matrix
        whole    = cosine < delta/sqrt(size)                                                            if matrix
        row_part = sum(w*u, per row)/(norm(w, per row) + epsilon)^2                                     if matrix
        part     = sum(w*u)/(norm(w) + epsilon)^2                                                       if matrix
        radial   = where(by_row, row_part, where(whole, part, 0))                                       if matrix
        ratio    = where(by_row or whole, wd_ratio, 1)                                                  if matrix
        w'       = (1 - lr*wd*ratio/(1 - momentum))*w - lr*(u - radial*w)                               if matrix
        w'       = (1 - lr*wd/(1 - momentum))*w - lr*u                                                  otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the velocity, in [0, 1).
    epsilon: added to norms, in (0, inf).
    delta: largest cosine of weight and gradient, times the root of their length, to project, in [0, inf).
    wd_ratio: factor on the decay of a weight that is projected, in [0, inf).
    nesterov: look ahead.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    epsilon: float
    delta: float
    wd_ratio: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    nesterov: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        epsilon: float = 1e-08,
        delta: float = 0.1,
        wd_ratio: float = 0.1,
        nesterov: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SGDW(SpecOptimizer):
    """Decoupled weight decay regularization: SGD.

    Loshchilov & Hutter 2019, arXiv:1711.05101, algorithm 1.

        mom' = momentum*mom + g
        w'   = (1 - lr*wd)*w - lr*(g + momentum*mom')   if nesterov
        w'   = (1 - lr*wd)*w - lr*mom'                  otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the velocity, in [0, 1).
    nesterov: look ahead.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    nesterov: bool
    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        nesterov: bool = False,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SGHMC(SpecOptimizer):
    """Stochastic gradient Hamiltonian Monte Carlo.

    Chen, Fox & Guestrin 2014, arXiv:1402.4102, eq. 15, with no estimate of the gradient's noise.

        z  = normal()
        v' = (1 - alpha)*v - lr*(g + wd*w) + sqrt(2*alpha*lr)*z
        w' = w + v'

    Parameters
    ----------
    learning_rate: learning rate, in [0, inf).
    alpha: friction: 1 - momentum, in [0, 1].
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    alpha: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        alpha: float = 0.1,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SGLD(SpecOptimizer):
    """Bayesian learning via stochastic gradient Langevin dynamics.

    Welling & Teh 2011, ICML, eq. 4.

        z  = normal()
        w' = w - lr/2*(g + wd*w) + sqrt(lr)*z

    Parameters
    ----------
    learning_rate: learning rate, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Shampoo(SpecOptimizer):
    """Shampoo: preconditioned stochastic tensor optimization.

    Gupta, Koren and Singer 2018, arXiv:1802.09568; Anil et al. 2020, arXiv:2002.09018.

        L' = beta*L + (1 - beta)*(g@g^T)   if mean
        L' = L + g@g^T                     otherwise
        R' = beta*R + (1 - beta)*(g^T@g)   if mean
        R' = R + g^T@g                     otherwise
        P' = inverse_root(L', 4)           every every_k from 1
        Q' = inverse_root(R', 4)           every every_k from 1
        d  = P'@g@Q'
        m' = momentum*m + d                if heavy
        u  = m'                            if heavy
        u  = d                             otherwise
        w' = w - lr*(u + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: see the equations, in [0, 1).
    beta: decay of the statistics; 1: they are sums, in (0, 1].
    epsilon: what they start from, on the diagonal, in (0, inf).
    every_k: updates between two computations of the roots, in [1, inf).
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    beta: float
    epsilon: float
    every_k: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        momentum: float = 0.0,
        beta: float = 1.0,
        epsilon: float = 0.0001,
        every_k: int = 1,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class ShampooAdamW(SpecOptimizer):
    """Shampoo for matrices, AdamW for other parameters.

    Gupta, Koren and Singer 2018, arXiv:1802.09568; Anil et al. 2020, arXiv:2002.09018.

        shampoo_L' = shampoo_beta*shampoo_L + (1 - shampoo_beta)*(g@g^T) if shampoo and shampoo_mean
        shampoo_L' = shampoo_L + g@g^T if shampoo
        shampoo_R' = shampoo_beta*shampoo_R + (1 - shampoo_beta)*(g^T@g) if shampoo and shampoo_mean
        shampoo_R' = shampoo_R + g^T@g if shampoo
        shampoo_P' = inverse_root(shampoo_L', 4) every shampoo_every_k from 1 if shampoo
        shampoo_Q' = inverse_root(shampoo_R', 4) every shampoo_every_k from 1 if shampoo
        shampoo_d = shampoo_P'@g@shampoo_Q' if shampoo
        shampoo_m' = shampoo_momentum*shampoo_m + shampoo_d if shampoo and shampoo_heavy
        shampoo_u = shampoo_m' if shampoo and shampoo_heavy
        shampoo_u = shampoo_d if shampoo
        w' = w - lr*(shampoo_u + wd*w) if shampoo
        adam_rate = adam_lr*sqrt(1 - adam_beta2^t)/(1 - adam_beta1^t) if not shampoo and adam_correct_bias
        adam_rate = adam_lr if not shampoo
        adam_m' = adam_beta1*adam_m + (1 - adam_beta1)*g if not shampoo
        adam_v' = adam_beta2*adam_v + (1 - adam_beta2)*g^2 if not shampoo
        w' = (1 - adam_lr*wd)*w - adam_rate*adam_m'/(sqrt(adam_v') + adam_epsilon) if not shampoo

    Parameters
    ----------
    learning_rate: learning rate.
    adam_lr: the rate of AdamW.
    shampoo_momentum: see the equations, in [0, 1).
    shampoo_beta: decay of the statistics; 1: they are sums, in (0, 1].
    shampoo_epsilon: what they start from, on the diagonal, in (0, inf).
    shampoo_every_k: updates between two computations of the roots, in [1, inf).
    adam_beta1: decay of the first moment, in [0, 1).
    adam_beta2: decay of the second moment, in [0, 1).
    adam_epsilon: added to the root of the second moment, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    plain: AdamW for this matrix too, as for embeddings and the last layer.
    filters: of convolutions are matrices of an output channel a row.
    adam_correct_bias: make up for the moments' start at 0.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    adam_lr: float | Mapping[Any, float]
    shampoo_momentum: float
    shampoo_beta: float
    shampoo_epsilon: float
    shampoo_every_k: int
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    filters: bool
    adam_correct_bias: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        adam_lr: float | Mapping[Any, float] = 0.001,
        filters: bool = True,
        shampoo_momentum: float = 0.0,
        shampoo_beta: float = 1.0,
        shampoo_epsilon: float = 0.0001,
        shampoo_every_k: int = 1,
        adam_beta1: float = 0.9,
        adam_beta2: float = 0.999,
        adam_epsilon: float = 1e-06,
        adam_correct_bias: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        plain: bool | tuple[Any, ...] = False,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Signum(SpecOptimizer):
    """signSGD: compressed optimisation for non-convex problems.

    Bernstein et al. 2018, arXiv:1802.04434.

        mom' = momentum*mom - (1 - momentum)*(g + wd*w)   if heavy
        w'   = (1 - lr*wd_lh)*w + lr*sign(mom')           if heavy
        w'   = (1 - lr*wd)*w - lr*sign(grad)              otherwise   # neither scale nor clipping changes a sign

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the averaged gradient; 0 takes the sign of the gradient itself, in [0, 1).
    wd_lh: decoupled weight decay, with momentum only, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    wd_lh: float
    clip_gradient: float | None
    wd: float
    rescale_grad: float
    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SimplifiedAdEMAMix(SpecOptimizer):
    """Connections between schedule-free optimizers, AdEMAMix, and accelerated SGD variants.

    Morwani et al. 2025, arXiv:2502.02431.

        m' = beta1*m + g
        v' = beta2*v + (1 - beta2)*g^2
        u  = (m' + alpha*g)/(1/sqrt(1 - beta2^t)*sqrt(v') + epsilon)
        w' = w - lr*(u + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the momentum, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    alpha: weight of the gradient beside the momentum, in [0, inf).
    epsilon: added to the root of the second moment, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    alpha: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.99,
        beta2: float = 0.95,
        alpha: float = 0.0,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SinkGD(SpecOptimizer):
    """Gradient multi-normalization for stateless and memory-efficient LLM training.

    Scetbon et al. 2025, arXiv:2502.06742, with five turns.

        n1 = norm(g, per row)                   if matrix
        r1 = where(n1 == 0, 0, sqrt(cols)/n1)   if matrix
        m1 = norm(r1*g, per col)                if matrix
        c1 = where(m1 == 0, 0, sqrt(rows)/m1)   if matrix
        n2 = norm(c1*g, per row)                if matrix
        r2 = where(n2 == 0, 0, sqrt(cols)/n2)   if matrix
        m2 = norm(r2*g, per col)                if matrix
        c2 = where(m2 == 0, 0, sqrt(rows)/m2)   if matrix
        n3 = norm(c2*g, per row)                if matrix
        r3 = where(n3 == 0, 0, sqrt(cols)/n3)   if matrix
        m3 = norm(r3*g, per col)                if matrix
        c3 = where(m3 == 0, 0, sqrt(rows)/m3)   if matrix
        n4 = norm(c3*g, per row)                if matrix
        r4 = where(n4 == 0, 0, sqrt(cols)/n4)   if matrix
        m4 = norm(r4*g, per col)                if matrix
        c4 = where(m4 == 0, 0, sqrt(rows)/m4)   if matrix
        n5 = norm(c4*g, per row)                if matrix
        r5 = where(n5 == 0, 0, sqrt(cols)/n5)   if matrix
        m5 = norm(r5*g, per col)                if matrix
        c5 = where(m5 == 0, 0, sqrt(rows)/m5)   if matrix
        n  = rms(g)                             if not matrix
        u  = r5*g*c5                            if matrix
        u  = where(n == 0, 0, 1/n)*g            otherwise
        w' = (1 - lr*wd)*w - lr*u

    Parameters
    ----------
    learning_rate: learning rate.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SM3(SpecOptimizer):
    """Memory-efficient adaptive optimization.

    Anil et al. 2019, arXiv:1901.11150, algorithm SM3-II, with a momentum.

        d     = g + wd*w
        other = min(A1, A2, A3)                 if four
        other = min(A1, A2)                     if three
        other = C                               if matrix
        bound = min(R, other) + d^2             if matrix
        bound = v + d^2                         otherwise
        R'    = max(bound, per row)             if matrix
        C'    = max(bound, per col)             if matrix and not three
        A1'   = max(bound, per axis 1)          if three
        A2'   = max(bound, per axis 2)          if three
        A3'   = max(bound, per axis 3)          if four
        v'    = bound                           if not matrix
        u     = where(bound == 0, 0, d/sqrt(bound + epsilon))   # no gradient yet
        m'    = momentum*m + (1 - momentum)*u   if heavy
        w'    = w - lr*m'                       if heavy
        w'    = w - lr*u                        otherwise

    Parameters
    ----------
    learning_rate: learning rate.
    momentum: decay of the averaged step; 0 keeps none, in [0, 1).
    epsilon: added to the bound, under the root, in [0, inf).
    cover: sets of more than two dimensions: slices of each, or rows and columns.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    momentum: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    cover: Literal["axes", "rows"]
    def __init__(
        self,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        epsilon: float = 1e-30,
        cover: Literal["axes", "rows"] = "axes",
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SMORMS3(SpecOptimizer):
    """RMSProp with a memory as long as the gradient is steady.

    Funk 2015, RMSprop loses to SMORMS3: beware the epsilon.

        d       = g + wd*w
        r       = 1/(memory + 1)
        m'      = (1 - r)*m + r*d
        v'      = (1 - r)*v + r*d^2
        signal  = m'^2/(v' + epsilon)
        w'      = w - d*min(lr, signal)/(sqrt(v') + epsilon)
        memory' = 1 + memory*(1 - signal)

    Parameters
    ----------
    learning_rate: bound on the rate.
    epsilon: added to the second moment, and to its root, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        epsilon: float = 1e-16,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SOAP(SpecOptimizer):
    """SOAP: improving and stabilizing Shampoo using Adam.

    Vyas et al. 2024, arXiv:2409.11321.

        m' = beta1*m + (1 - beta1)*g
        v' = beta2*v + (1 - beta2)*(U^T@g@V)^2
        c  = sqrt(1 - beta2^t)/(1 - beta1^t)   if correct
        c  = 1                                 otherwise
        n  = (U^T@m'@V)/(sqrt(v') + epsilon)
        w' = w - lr*(c*(U@n@V^T) + wd*w)
        L' = shampoo_beta*L + (1 - shampoo_beta)*(g@g^T)
        R' = shampoo_beta*R + (1 - shampoo_beta)*(g^T@g)
        U' = orthonormal(L'@U)                 every k
        V' = orthonormal(R'@V)                 every k

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    beta1: see the equations, in [0, 1).
    beta2: see the equations, in [0, 1).
    shampoo_beta: see the equations, in [0, 1).
    epsilon: see the equations, in (0, inf).
    k: updates between two rotations of the basis, in [1, inf).
    filters: of convolutions are matrices of an output channel a row.
    correct: the bias of the means.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    beta1: float
    beta2: float
    shampoo_beta: float
    epsilon: float
    k: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    correct: bool
    def __init__(
        self,
        learning_rate: float = 0.003,
        beta1: float = 0.95,
        beta2: float = 0.95,
        shampoo_beta: float = 0.95,
        epsilon: float = 1e-08,
        k: int = 10,
        filters: bool = True,
        correct: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.01,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SOAPAdamW(SpecOptimizer):
    """SOAP for matrices, AdamW for other parameters.

    Vyas et al. 2024, arXiv:2409.11321.

        soap_m' = soap_beta1*soap_m + (1 - soap_beta1)*g if soap
        soap_v' = soap_beta2*soap_v + (1 - soap_beta2)*(soap_U^T@g@soap_V)^2 if soap
        soap_c = sqrt(1 - soap_beta2^t)/(1 - soap_beta1^t) if soap and soap_correct
        soap_c = 1 if soap
        soap_n = (soap_U^T@soap_m'@soap_V)/(sqrt(soap_v') + soap_epsilon) if soap
        w' = w - lr*(soap_c*(soap_U@soap_n@soap_V^T) + wd*w) if soap
        soap_L' = soap_shampoo_beta*soap_L + (1 - soap_shampoo_beta)*(g@g^T) if soap
        soap_R' = soap_shampoo_beta*soap_R + (1 - soap_shampoo_beta)*(g^T@g) if soap
        soap_U' = orthonormal(soap_L'@soap_U) every soap_k if soap
        soap_V' = orthonormal(soap_R'@soap_V) every soap_k if soap
        adam_rate = adam_lr*sqrt(1 - adam_beta2^t)/(1 - adam_beta1^t) if not soap and adam_correct_bias
        adam_rate = adam_lr if not soap
        adam_m' = adam_beta1*adam_m + (1 - adam_beta1)*g if not soap
        adam_v' = adam_beta2*adam_v + (1 - adam_beta2)*g^2 if not soap
        w' = (1 - adam_lr*wd)*w - adam_rate*adam_m'/(sqrt(adam_v') + adam_epsilon) if not soap

    Parameters
    ----------
    learning_rate: learning rate.
    adam_lr: the rate of AdamW.
    wd: weight decay, in [0, inf).
    soap_beta1: see the equations, in [0, 1).
    soap_beta2: see the equations, in [0, 1).
    soap_shampoo_beta: see the equations, in [0, 1).
    soap_epsilon: see the equations, in (0, inf).
    soap_k: updates between two rotations of the basis, in [1, inf).
    adam_beta1: decay of the first moment, in [0, 1).
    adam_beta2: decay of the second moment, in [0, 1).
    adam_epsilon: added to the root of the second moment, in [0, inf).
    clip_gradient: bound on each element of the rescaled gradient, in [0, inf).
    plain: AdamW for this matrix too, as for embeddings and the last layer.
    filters: of convolutions are matrices of an output channel a row.
    soap_correct: the bias of the means.
    adam_correct_bias: make up for the moments' start at 0.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    adam_lr: float | Mapping[Any, float]
    wd: float
    soap_beta1: float
    soap_beta2: float
    soap_shampoo_beta: float
    soap_epsilon: float
    soap_k: int
    adam_beta1: float
    adam_beta2: float
    adam_epsilon: float
    clip_gradient: float | None
    rescale_grad: float
    filters: bool
    soap_correct: bool
    adam_correct_bias: bool
    def __init__(
        self,
        learning_rate: float = 0.003,
        adam_lr: float | Mapping[Any, float] = 0.003,
        filters: bool = True,
        soap_beta1: float = 0.95,
        soap_beta2: float = 0.95,
        soap_shampoo_beta: float = 0.95,
        soap_epsilon: float = 1e-08,
        soap_k: int = 10,
        soap_correct: bool = True,
        adam_beta1: float = 0.9,
        adam_beta2: float = 0.999,
        adam_epsilon: float = 1e-06,
        adam_correct_bias: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.01,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        plain: bool | tuple[Any, ...] = False,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Sophia(SpecOptimizer):
    """Sophia: a scalable stochastic second-order optimizer for language model pre-training.

    Liu et al. 2023, arXiv:2305.14342, algorithm 3.

        fresh = (t - 1)/k == floor((t - 1)/k)
        m'    = beta1*m + (1 - beta1)*g
        h'    = where(fresh, beta2*h + (1 - beta2)*h_hat, h)
        w'    = (1 - lr*wd)*w - lr*clip(m'/max(gamma*h', epsilon), rho)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the averaged curvature, in [0, 1).
    gamma: factor on the curvature; 0.05 for Gauss-Newton-Bartlett estimates, in (0, inf).
    rho: bound on each element of a step, in units of lr, in (0, inf).
    epsilon: least curvature, in (0, inf).
    k: steps from one estimate to the next: h_hat counts in steps 1, 1 + k, 1 + 2k, ..., in [1, inf).
    h_hat: an input, for `set_input`: estimate of the diagonal of the Hessian.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    gamma: float
    rho: float
    epsilon: float
    k: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.0001,
        beta1: float = 0.96,
        beta2: float = 0.99,
        gamma: float = 0.01,
        rho: float = 1.0,
        epsilon: float = 1e-12,
        k: int = 10,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SPAM(SpecOptimizer):
    """SPAM: spike-aware Adam with momentum reset.

    Huang, Zhu, Jin, Liu, Wang & Liu 2025, arXiv:2501.06842.

        s    = mod(t - 1, interval) + 1   # updates since the last reset
        rise = 0.5*(1 - cos(pi*min(s/warmup, 1)))
        most = threshold*v
        d    = where(g^2 > most and v > 0, sign(g)*sqrt(most), g)
        m'   = beta1*where(s == 1, 0, m) + (1 - beta1)*d
        v'   = beta2*where(s == 1, 0, v) + (1 - beta2)*d^2
        u    = m'/(1 - beta1^s)/(sqrt(v'/(1 - beta2^s)) + epsilon)
        w'   = w - rise*lr*(u + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in (0, inf).
    threshold: a gradient whose square is as many times the second moment is a spike, in (0, inf).
    interval: updates between resets of the moments, in [1, inf).
    warmup: updates after a reset in which the rate rises, as a cosine does, in [1, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    threshold: float
    interval: int
    warmup: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        threshold: float = 5000.0,
        interval: int = 500,
        warmup: int = 150,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SPlus(SpecOptimizer):
    """A stable whitening optimizer for efficient neural network training.

    Frans, Levine and Abbeel 2025, arXiv:2506.07254.

          m'       = beta1*m + (1 - beta1)*g
          L'       = beta2*L + (1 - beta2)*(g@g^T)
          R'       = beta2*R + (1 - beta2)*(g^T@g)
          s        = 2*lr/(rows + cols)
          d        = w - s*(U@sign(U^T@m'@V)@V^T)
          average' = ema_rate*average + (1 - ema_rate)*d
          w'       = (1 - s*wd)*d
          U'       = eigenvectors(L')   every k from 1
          V'       = eigenvectors(R')   every k from 1
        eval:
          w'       = average/(1 - ema_rate^t)

    Parameters
    ----------
    learning_rate: learning rate.
    wd: weight decay, in [0, inf).
    beta1: see the equations, in [0, 1).
    beta2: decay of the statistics, in [0, 1).
    ema_rate: decay of the mean of weights, in [0, 1).
    k: updates between two computations of the basis, in [1, inf).
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    beta1: float
    beta2: float
    ema_rate: float
    k: int
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.1,
        beta1: float = 0.9,
        beta2: float = 0.999,
        ema_rate: float = 0.999,
        k: int = 100,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.01,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class StableAdamW(SpecOptimizer):
    """Stable and low-precision training for large-scale vision-language models.

    Wortsman et al. 2023, arXiv:2304.13013, algorithm 2.

        b1    = beta1*(1 - beta1^(t - 1))/(1 - beta1^t)   # moments that need no correction
        b2    = beta2*(1 - beta2^(t - 1))/(1 - beta2^t)
        m'    = b1*m + (1 - b1)*g
        v'    = b2*v + (1 - b2)*g^2
        ratio = rms(g/max(sqrt(v'), epsilon))   # above 1 where the second moment is out of date
        eta   = lr/max(1, ratio)
        w'    = (1 - eta*wd)*w - eta*m'/(sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, and its least value in the ratio, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.99,
        epsilon: float = 1e-08,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class StableSPAM(SpecOptimizer):
    """Stable-SPAM: how to train in 4-bit more stably than 16-bit Adam.

    Huang et al. 2025, arXiv:2502.17055, algorithm 1.

        reset    = mod(t, interval) == 0
        s        = where(t < interval, t, mod(t, interval) + 1)   # updates since the last reset
        top      = max(abs(g))
        largest' = theta*largest + (1 - theta)*top
        bound    = largest'/(1 - theta^t)
        d        = where(abs(g) > bound, g/top*bound, g)
        n        = norm(d)
        m_norm'  = gamma1*m_norm + (1 - gamma1)*n
        v_norm'  = gamma2*v_norm + (1 - gamma2)*n^2
        scale    = m_norm'/(1 - gamma1^t)/(sqrt(v_norm'/(1 - gamma2^t)) + epsilon)
        u        = where(n == 0, 0, scale/n)*d
        m'       = beta1*where(reset, 0, m) + (1 - beta1)*u
        v'       = beta2*where(reset, 0, v) + (1 - beta2)*u^2
        w'       = (1 - lr*wd)*w - lr*m'/(1 - beta1^s)/(sqrt(v'/(1 - beta2^s)) + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to divisors, in (0, inf).
    gamma1: decay of the norm of gradients, in [0, 1).
    gamma2: decay of its square, in [0, 1).
    theta: decay of the largest element of gradients, in [0, 1).
    interval: updates between resets of the moments, in [1, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    gamma1: float
    gamma2: float
    theta: float
    interval: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        gamma1: float = 0.7,
        gamma2: float = 0.9,
        theta: float = 0.999,
        interval: int = 1000,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SWAN(SpecOptimizer):
    """SWAN: SGD with normalization and whitening enables stateless LLM training.

    Ma et al. 2024, arXiv:2412.13148.

        n  = (g - mean(g, per row))/(sqrt(mean((g - mean(g, per row))^2, per row)) + epsilon)
        u  = inverse_root(n@n^T, 2)@n   if wide
        u  = n@inverse_root(n^T@n, 2)   otherwise
        w' = (1 - lr*wd)*w - lr*norm(n)/max(norm(u), 1e-30)*u

    Parameters
    ----------
    learning_rate: learning rate.
    epsilon: added to the standard deviation of a row, in (0, inf).
    filters: of convolutions are matrices of an output channel a row.
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    filters: bool
    def __init__(
        self,
        learning_rate: float = 0.001,
        epsilon: float = 1e-08,
        filters: bool = True,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class SWATS(SpecOptimizer):
    """Improving generalization performance by switching from Adam to SGD.

    Keskar & Socher 2017, arXiv:1712.07628, algorithm 1.

        d        = g + wd*w
        x        = where(found == 0, beta1*m + (1 - beta1)*d, beta1*m + d)
        v'       = where(found == 0, beta2*v + (1 - beta2)*d^2, v)
        p        = lr*sqrt(1 - beta2^t)/(1 - beta1^t)*x/(sqrt(v') + epsilon)
        along    = sum(p*d, over params)
        fit      = where(along == 0, 0, sum(p^2, over params)/along)
        average' = where(along == 0, average, beta2*average + (1 - beta2)*fit)
        rate     = average'/(1 - beta2^step)
        close    = found == 0 and step > 1 and along != 0 and abs(rate - fit) < epsilon
        found'   = where(close, rate, found)
        m'       = where(close, 0, x)
        w'       = where(found == 0, w - p, w - (1 - beta1)*found*x)

    Parameters
    ----------
    learning_rate: rate of Adam.
    beta1: decay of the first moment, and of the velocity, in [0, 1).
    beta2: decay of the second moment, and of the averaged rate, in [0, 1).
    epsilon: added to the root of the second moment; how close two rates must come, in (0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-09,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Test(SpecOptimizer):
    """Adds the gradient to the weight, for tests of what surrounds an optimizer.

    MXNet's optimizer of this name.

        kept' = w + rescale_grad*grad
        w'    = kept'

    Parameters
    ----------
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Tiger(SpecOptimizer):
    """Tiger: A tight-fisted optimizer.

    Su 2023, https://github.com/bojone/tiger.

        m' = beta*m + (1 - beta)*g
        w' = w - lr*(sign(m') + wd*w)

    Parameters
    ----------
    learning_rate: learning rate.
    beta: decay of the momentum, in [0, 1).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.001,
        beta: float = 0.965,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class YellowFin(SpecOptimizer):
    """YellowFin and the art of momentum tuning.

    Zhang & Mitliagkas 2017, arXiv:1706.03471, algorithms 1 to 4; slow start and 1e-6 as in the authors' code.

        d      = g + wd*w
        h'     = sum(d^2, over params)
        high   = h'
        low    = h'
        repeat window as i:
          high'  = where(i < min(step, window) - 1, max(high, h[-1 - i]), high)
          low'   = where(i < min(step, window) - 1, min(low, h[-1 - i]), low)
        end
        h_max' = beta*h_max + (1 - beta)*high'
        h_min' = beta*h_min + (1 - beta)*low'   # by its logarithm in the authors' code
        m'     = beta*m + (1 - beta)*d
        n1'    = beta*n1 + (1 - beta)*sqrt(h')
        n2'    = beta*n2 + (1 - beta)*h'
        dist'  = beta*dist + (1 - beta)*n1'/(n2' + 1e-6)
        least  = unbiased(h_min') + 1e-6
        a      = max(unbiased(dist')*least/sqrt(6*max(unbiased(n2') - sum(unbiased(m')^2, over params), 1e-6)), 1e-6)
        k      = cbrt(1.5/a + sqrt(2.25/a^2 + 1))
        x      = where(a > 50, 1/(3*a^2 + 3), 1 - a*(k - 1/k))   # the root of 3*a^2*x = (1 - x)^3
        root   = max(x, 1 - 2/(1 + sqrt((unbiased(h_max') + 1e-6)/least)))
        v'     = root^2*v + d
        w'     = w - lr*(1 - root)^2/least*min(1, step/(10*window))*v'

    Parameters
    ----------
    learning_rate: factor on the rate that is found.
    beta: decay of what is measured, in [0, 1).
    window: updates of which curvature is the range, in [2, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta: float
    window: int
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 1.0,
        beta: float = 0.999,
        window: int = 20,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...

class Yogi(SpecOptimizer):
    """Adaptive methods for nonconvex optimization.

    Zaheer et al. 2018, NeurIPS, algorithm 2.

        d  = g + wd*w
        m' = beta1*m + (1 - beta1)*d
        v' = max(v - (1 - beta2)*sign(v - d^2)*d^2, 0)   # what is taken away is never more than v
        w' = w - lr*m'/(sqrt(v') + epsilon)

    Parameters
    ----------
    learning_rate: learning rate.
    beta1: decay of the first moment, in [0, 1).
    beta2: decay of the second moment, in [0, 1).
    epsilon: added to the root of the second moment, in [0, inf).
    initial_accumulator: where the second moment starts, in [0, inf).
    The others are those of every Optimizer and SpecOptimizer.
    """

    lr: float
    beta1: float
    beta2: float
    epsilon: float
    initial_accumulator: float
    wd: float
    rescale_grad: float
    clip_gradient: float | None
    def __init__(
        self,
        learning_rate: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 0.001,
        initial_accumulator: float = 1e-06,
        *,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Index, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Index, NamedParameter] | None = None,
        sym: Any = None,
        lazy_update: bool = False,
        storage: str | Mapping[str, str] | None = None,
    ) -> None: ...
