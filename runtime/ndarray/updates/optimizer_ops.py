"""The steps of MXNet's optimizers as operators, for programs that call them themselves.

Each writes the new weight to `out`, as a rule the weight itself, and returns it; without `out` it returns a new array.
States and float32 masters change in place. A weight, its gradient and its states are of one shape and type (float32,
float64, float16 or bfloat16); beside a master, states are float32. Whatever does not fit raises MXNetError.

Common options: `lr`; `wd`, weight decay; the gradient is multiplied with `rescale_grad` and then clipped to
+-`clip_gradient`, unless that is negative. A row-sparse gradient is taken as the dense one it stands for, but of a
weight that is stored as its states are, `lazy_update` updates the gradient's rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from runtime.base import MXNetError
from runtime.core.backend import device_scope
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.updates.rule import ANY_STORAGE, OFF, each, listed, several, update, with_master

__all__ = [
    "adagrad_update", "adam_update", "ftml_update", "ftrl_update", "lamb_update_phase1", "lamb_update_phase2",
    "mp_lamb_update_phase1", "mp_lamb_update_phase2", "mp_nag_mom_update", "mp_sgd_mom_update", "mp_sgd_update",
    "multi_lars", "multi_mp_sgd_mom_update", "multi_mp_sgd_update", "multi_sgd_mom_update", "multi_sgd_update",
    "nag_mom_update", "preloaded_multi_mp_sgd_mom_update", "preloaded_multi_mp_sgd_update",
    "preloaded_multi_sgd_mom_update", "preloaded_multi_sgd_update", "rmsprop_update", "rmspropalex_update",
    "sgd_mom_update", "sgd_update", "signsgd_update", "signum_update",
]  # fmt: skip
CONTRIB = (
    "adamw_update", "group_adagrad_update", "mp_adamw_update", "multi_adamw_update", "multi_lamb_update",
    "multi_mp_adamw_update", "multi_mp_lamb_update",
)  # fmt: skip


# ---------------------------------------------------------------- gradient descent


@update("", "w' = (1 - lr*wd)*w - lr*g", by_row=ANY_STORAGE)
def sgd_update(
    weight, grad, lr, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, lazy_update=True, out=None
):  # fmt: skip
    """Gradient descent."""


@update(
    "mom",
    """
    mom' = momentum*mom - lr*(g + wd*w)
    w'   = w + mom'
    """,
    by_row=ANY_STORAGE,
)
def sgd_mom_update(
    weight, grad, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, lazy_update=True, out=None
):
    """Gradient descent with momentum."""


@update(
    "mom",
    """
    w'   = w + momentum^2*mom - (1 + momentum)*lr*(g + wd*w)
    mom' = momentum*mom - lr*(g + wd*w')
    """,
)
def nag_mom_update(
    weight, grad, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, out=None
):  # fmt: skip
    """Nesterov's accelerated gradient; the momentum decays the weight as it is afterwards, as MXNet's does."""


mp_sgd_update = with_master(sgd_update)
mp_sgd_mom_update = with_master(sgd_mom_update)
mp_nag_mom_update = with_master(nag_mom_update)
multi_sgd_update = several(sgd_update)
multi_sgd_mom_update = several(sgd_mom_update)
multi_mp_sgd_update = several(sgd_update, master=True)
multi_mp_sgd_mom_update = several(sgd_mom_update, master=True)
preloaded_multi_sgd_update = several(sgd_update, preloaded=True)
preloaded_multi_sgd_mom_update = several(sgd_mom_update, preloaded=True)
preloaded_multi_mp_sgd_update = several(sgd_update, master=True, preloaded=True)
preloaded_multi_mp_sgd_mom_update = several(sgd_mom_update, master=True, preloaded=True)


# The sign of a NaN is 0 for MXNet's operators, and NaN in optgen's language.
@update(
    "",
    """
    c  = clip(grad, clip_gradient)   # a positive bound changes no sign
    w' = (1 - lr*wd)*w - lr*where(c > 0, 1, where(c < 0, -1, 0))
    """,
)
def signsgd_update(weight, grad, lr, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, out=None):
    """A step of length `lr` against the sign of the gradient, which `rescale_grad` does not change."""


@update(
    "mom",
    """
    mom' = momentum*mom - (1 - momentum)*(g + wd*w)
    w'   = (1 - lr*wd_lh)*w + lr*where(mom' > 0, 1, where(mom' < 0, -1, 0))
    """,
)
def signum_update(
    weight, grad, mom, lr, momentum=0.0, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, wd_lh=0.0, out=None
):
    """A step of length `lr` along the sign of the momentum; `wd_lh` is a weight decay beside it."""


def multi_lars(
    lrs: NDArray,
    weights_sum_sq: NDArray,
    grads_sum_sq: NDArray,
    wds: NDArray,
    eta: float,
    eps: float,
    rescale_grad: float = 1.0,
) -> NDArray:
    """LARS's rates of several weights, from given rates and decays and from sums of squares.

    All are float32 vectors of one length. A rate is as given where one of the sums is 0.
    """
    arrays = lrs, weights_sum_sq, grads_sum_sq, wds
    if len({x.shape for x in arrays}) > 1:
        raise MXNetError(f"multi_lars: arrays of one shape are expected, not {[x.shape for x in arrays]}")
    with device_scope(lrs._ctx), np.errstate(all="ignore"):
        rates, weights, grads, decays = (x._data.astype(np.float64) for x in arrays)
        norms = np.sqrt(weights)
        scaled = rates * eta * norms / (np.sqrt(grads) * rescale_grad + decays * norms + eps)
        return NDArray(np.where((norms > 0) & (grads > 0), scaled, rates).astype(lrs.dtype), lrs._ctx)


# ---------------------------------------------------------------- with second moments


@update(
    "m v",
    """
    d  = clip(rescale_grad*grad + wd*w, clip_gradient)
    m' = beta1*m + (1 - beta1)*d
    v' = beta2*v + (1 - beta2)*d^2
    w' = w - lr*m'/(sqrt(v') + epsilon)
    """,
    by_row=ANY_STORAGE,
)
def adam_update(
    weight, grad, mean, var, lr, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0.0, rescale_grad=1.0, clip_gradient=OFF,
    lazy_update=True, out=None,
):  # fmt: skip
    """Adam without the correction of its bias, which is for the caller to put into `lr`."""


@update(
    "d v z",
    """
    G     = clip(rescale_grad*grad + wd*w, clip_grad)
    v'    = beta2*v + (1 - beta2)*G^2
    d'    = (1 - beta1^t)/lr*(sqrt(1/(1 - beta2^t)*v') + epsilon)
    sigma = d' - beta1*d
    z'    = beta1*z + (1 - beta1)*G - sigma*w
    w'    = -z'/d'
    """,
)
def ftml_update(
    weight, grad, d, v, z, lr, beta1=0.6, beta2=0.999, epsilon=1e-8, t=None, wd=0.0, rescale_grad=1.0, clip_grad=OFF,
    out=None,
):  # fmt: skip
    """FTML; `t` counts the updates from 1."""


@update(
    "z n",
    """
    n'    = n + g^2
    sigma = (sqrt(n') - sqrt(n))/lr
    z'    = z + g - sigma*w
    w'    = where(abs(z') <= lamda1, 0, (sign(z')*lamda1 - z')/((beta + sqrt(n'))/lr + wd))
    """,
    by_row=("row_sparse",),
)
def ftrl_update(
    weight, grad, z, n, lr, lamda1=0.01, beta=1.0, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, out=None
):  # fmt: skip
    """FTRL; the rows of a row-sparse gradient alone are updated if all arrays are row-sparse."""


@update(
    "n",
    """
    d  = clip(rescale_grad*grad + wd*w, clip_gradient)
    n' = gamma1*n + (1 - gamma1)*d^2
    w' = clip(w - lr*d/sqrt(n' + epsilon), clip_weights)
    """,
)
def rmsprop_update(
    weight, grad, n, lr, gamma1=0.95, epsilon=1e-8, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, clip_weights=OFF,
    out=None,
):  # fmt: skip
    """RMSProp."""


@update(
    "n gbar delta",
    """
    d      = clip(rescale_grad*grad + wd*w, clip_gradient)
    n'     = gamma1*n + (1 - gamma1)*d^2
    gbar'  = gamma1*gbar + (1 - gamma1)*d
    # A variance is never negative, but rounding could make this difference so.
    delta' = gamma2*delta - lr*d/sqrt(max(n' - gbar'^2, 0) + epsilon)
    w'     = clip(w + delta', clip_weights)
    """,
)
def rmspropalex_update(
    weight, grad, n, g, delta, lr, gamma1=0.95, gamma2=0.9, epsilon=1e-8, wd=0.0, rescale_grad=1.0, clip_gradient=OFF,
    clip_weights=OFF, out=None,
):  # fmt: skip
    """Centered RMSProp with momentum."""


@update(
    "h",
    """
    h' = h + g^2
    w' = w - lr*g/sqrt(h' + epsilon)
    """,
    by_row=ANY_STORAGE,
)
def adagrad_update(
    weight, grad, history, lr, epsilon=1e-7, wd=0.0, rescale_grad=1.0, clip_gradient=OFF, out=None
):  # fmt: skip
    """AdaGrad, which has no weight decay; of a row-sparse gradient the rows alone are updated."""


@update(
    "h:row",
    """
    h' = h + mean(g^2, per row)
    w' = w - lr*g/sqrt(h' + epsilon)
    """,
    by_row=ANY_STORAGE,
)
def _group_adagrad(
    weight, grad, history, lr, rescale_grad=1.0, clip_gradient=OFF, epsilon=1e-5, out=None
):  # fmt: skip
    """AdaGrad with one rate for each row."""


def group_adagrad_update(
    weight: NDArray,
    grad: NDArray,
    history: NDArray,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = OFF,
    epsilon: float = 1e-5,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """AdaGrad with one rate for each row of a matrix; `history` has the shape (rows, 1).

    Of a row-sparse gradient the rows alone are updated.
    """
    options = {"lr": lr, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient, "epsilon": epsilon}
    return _group_adagrad.rule("group_adagrad_update", [weight], [grad], [[history.reshape((-1,))]], out, **options)[0]


def _columns(name: str, arrays: Sequence[Sequence[NDArray]], n: int) -> Sequence[Sequence[NDArray]]:
    """`arrays`, checked to be lists of one length, which is n unless that is 0."""
    lengths = [len(listed(x)) for x in arrays]
    if len(set(lengths)) > 1 or lengths[0] == 0 or n not in (0, lengths[0]):
        raise MXNetError(
            f"{name}: lists of one length are expected, not of the lengths {lengths}" + f", {n} tensors" * (n > 0)
        )
    return arrays


# ---------------------------------------------------------------- AdamW


@update(
    "m v",
    """
    m' = beta1*m + (1 - beta1)*g
    v' = beta2*v + (1 - beta2)*g^2
    w' = w - eta*(lr*m'/(sqrt(v') + epsilon) + wd*w)
    """,
)
def _adamw(
    weight, grad, mean, var, lr, eta, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0.0, rescale_grad=1.0,
    clip_gradient=OFF, out=None,
):  # fmt: skip
    """Adam with a weight decay beside its step, both scaled by `eta`."""


def adamw_update(
    weight, grad, mean, var, rescale_grad, lr, eta, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0.0, clip_gradient=OFF,
    out=None, name=None,
):  # fmt: skip
    """`eta` times the step of Adam, whose bias is for the caller to correct in `lr`, and of a weight decay beside it.

    Nothing changes if `rescale_grad`, a number or an array of one, is 0, infinite or NaN, as after an overflow.
    """
    options = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "clip_gradient": clip_gradient}
    arrays = [weight], [grad], [mean], [var]
    return _adamw_step("adamw_update", arrays, rescale_grad, [lr], [wd], [eta], out, options)[0]


def mp_adamw_update(
    weight, grad, mean, var, weight32, rescale_grad, lr, eta, beta1=0.9, beta2=0.999, epsilon=1e-8, wd=0.0,
    clip_gradient=OFF, out=None, name=None,
):  # fmt: skip
    """`adamw_update` of a 16-bit weight with its float32 master `weight32`; the moments are float32."""
    options = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "clip_gradient": clip_gradient}
    arrays = [weight], [grad], [mean], [var], [weight32]
    return _adamw_step("mp_adamw_update", arrays, rescale_grad, [lr], [wd], [eta], out, options)[0]


def multi_adamw_update(
    weights, grads, mean, var, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **options
):  # fmt: skip
    """`adamw_update` of several weights: `rescale_grad` and options are for all of them, the rest are lists."""
    arrays = weights, grads, mean, var
    return _adamw_step("multi_adamw_update", arrays, rescale_grad, lrs, wds, etas, out, options, size)


def multi_mp_adamw_update(
    weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out=None, name=None, size=0, **options
):
    """`mp_adamw_update` of several weights: `rescale_grad` and options are for all of them, the rest are lists."""
    arrays = weights, grads, mean, var, weights32
    return _adamw_step("multi_mp_adamw_update", arrays, rescale_grad, lrs, wds, etas, out, options, size)


def _adamw_step(name, arrays, rescale_grad, lrs, wds, etas, out, options, size=0):
    """The new weights; `arrays` are lists of the weights, gradients, both moments and, perhaps, masters."""
    weights, grads, *kept = _columns(name, arrays, size)
    scale = float(rescale_grad)
    if not math.isfinite(scale) or scale == 0:
        return [x.copy() for x in weights] if out is None else listed(out)
    n = len(weights)
    rates = {"lr": each(name, "lrs", lrs, n), "wd": each(name, "wds", wds, n), "eta": each(name, "etas", etas, n)}
    master = len(kept) == 3
    return _adamw.rule(name, weights, grads, kept, out, master, rescale_grad=scale, **rates, **options)


# ---------------------------------------------------------------- LAMB


_MOMENTS = """
    m'    = beta1*m + (1 - beta1)*g
    v'    = beta2*v + (1 - beta2)*g^2
    m_hat = 1/(1 - beta1^t)*m'   if bias_correction
    m_hat = m'                   otherwise
    v_hat = 1/(1 - beta2^t)*v'   if bias_correction
    v_hat = v'                   otherwise
"""


@update("m v", f"{_MOMENTS}    w'    = m_hat/(sqrt(v_hat) + epsilon) + wd*w")
def lamb_update_phase1(
    weight, grad, mean, var, beta1=0.9, beta2=0.999, epsilon=1e-6, t=None, bias_correction=True, wd=None,
    rescale_grad=1.0, clip_gradient=OFF, out=None,
):  # fmt: skip
    """The direction of LAMB's step, which is not taken: it is written to `out`, or a new array. `t` counts from 1."""


def mp_lamb_update_phase1(
    weight, grad, mean, var, weight32, beta1=0.9, beta2=0.999, epsilon=1e-6, t=None, bias_correction=True, wd=None,
    rescale_grad=1.0, clip_gradient=OFF, out=None, name=None,
):  # fmt: skip
    """`lamb_update_phase1` in float32, with the master of a 16-bit weight; its gradient has 16 bits."""
    return lamb_update_phase1(
        weight32, grad.astype("float32"), mean, var, beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad,
        clip_gradient, out,
    )  # fmt: skip


@update("", "w' = w - lr*grad")
def _along(weight, grad, lr, out=None):
    """A step along a direction."""


def lamb_update_phase2(weight, g, r1, r2, lr, lower_bound=OFF, upper_bound=OFF, out=None, name=None):
    """LAMB's step along `g`, what `lamb_update_phase1` gave.

    `r1` and `r2` are the norms of the weight and of `g`, arrays of one element. The rate is multiplied with their
    ratio, of `r1` within the bounds, unless one of the two is 0.
    """
    rate = _trusted(lr, r1, r2, lower_bound, upper_bound)
    return _along.rule("lamb_update_phase2", [weight], [g], [], out, lr=rate)[0]


def mp_lamb_update_phase2(weight, g, r1, r2, weight32, lr, lower_bound=OFF, upper_bound=OFF, out=None, name=None):
    """`lamb_update_phase2` of a 16-bit weight with its float32 master, which MXNet's operator forgets to update."""
    rate = _trusted(lr, r1, r2, lower_bound, upper_bound)
    _along.rule("mp_lamb_update_phase2", [weight32], [g], [], [weight32], lr=rate)
    out = weight.copy() if out is None else out
    out[:] = weight32
    return out


def _trusted(lr: float, r1: NDArray, r2: NDArray, lower_bound: float, upper_bound: float) -> float:
    norm, length = float(r1), float(r2)
    norm = max(norm, lower_bound) if lower_bound >= 0 else norm
    norm = min(norm, upper_bound) if upper_bound >= 0 else norm
    return lr if norm == 0 or length == 0 else lr * norm / length


@update(
    "m v",
    f"""{_MOMENTS}
    u     = m_hat/(sqrt(v_hat) + epsilon) + wd*w
    r1    = clip(norm(w), lower_bound, upper_bound)
    r2    = norm(u)
    w'    = w - lr*where(r1 == 0 or r2 == 0, 1, r1/r2)*u
    """,
)
def _lamb(
    weight, grad, mean, var, lr, beta1=0.9, beta2=0.999, epsilon=1e-6, wd=None, rescale_grad=1.0, lower_bound=OFF,
    upper_bound=OFF, clip_gradient=OFF, bias_correction=True, t=None, out=None,
):  # fmt: skip
    """LAMB."""


def multi_lamb_update(weights, grads, mean, var, step_count, lrs, wds, out=None, num_tensors=0, name=None, **options):
    """LAMB's updates of several weights; all but the options are lists, `step_count` of counts from 1."""
    return _lamb_step("multi_lamb_update", (weights, grads, mean, var), step_count, lrs, wds, out, options, num_tensors)


def multi_mp_lamb_update(
    weights, grads, mean, var, weights32, step_count, lrs, wds, out=None, num_tensors=0, name=None, **options
):
    """`multi_lamb_update` of 16-bit weights with their float32 masters; the moments are float32."""
    arrays = weights, grads, mean, var, weights32
    return _lamb_step("multi_mp_lamb_update", arrays, step_count, lrs, wds, out, options, num_tensors)


def _lamb_step(name, arrays, step_count, lrs, wds, out, options, num_tensors):
    weights, grads, *kept = _columns(name, arrays, num_tensors)
    n = len(weights)
    own = {"lr": each(name, "lrs", lrs, n), "wd": each(name, "wds", wds, n)}
    counts = [int(t) for t in each(name, "step_count", step_count, n)]
    return _lamb.rule(name, weights, grads, kept, out, len(kept) == 3, t=counts, **own, **options)
