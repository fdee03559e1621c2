"""Operators, layers and losses on small arrays, as a script for MXNet uses them: `mx` is that library, or this one.

A case is called with `mx` and returns arrays to be compared: values, and gradients for a weighted sum of them. All
inputs come from NumPy's RandomState, whose numbers never change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any], list[Any]]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def weights(y: Any) -> np.ndarray:
    """Weights for a sum over an output, so that no two of its elements count the same."""
    return np.cos(np.arange(y.size, dtype=np.float32)).reshape(y.shape)


def differentiated(mx: Any, function: Callable[..., Any], *values: np.ndarray) -> list[Any]:
    """The value of a function of arrays, and its gradient with respect to each."""
    inputs = [mx.nd.array(v) for v in values]
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record():
        y = function(*inputs)
    y.backward(mx.nd.array(weights(y)))
    return [y, *(x.grad for x in inputs)]


def operator(name: str, *values: np.ndarray, **attrs: Any) -> Case:
    return lambda mx: differentiated(mx, lambda *x: getattr(mx.nd, name)(*x, **attrs), *values)


def labelled(name: str, data: np.ndarray, label: Any, **attrs: Any) -> Case:
    """An operator of data and labels, which get no gradient."""
    return lambda mx: differentiated(mx, lambda x: getattr(mx.nd, name)(x, mx.nd.array(label), **attrs), data)


def loss(name: str, *arrays: Any, constants: Any = (), **arguments: Any) -> Case:
    """A loss of arrays, and of constants behind them (None: not given)."""

    def case(mx: Any) -> list[Any]:
        function = getattr(mx.gluon.loss, name)(**arguments)
        more = [None if c is None else mx.nd.array(c) for c in constants]
        return differentiated(mx, lambda *x: function(*x, *more), *arrays)

    return case


def batch_norm(shape: tuple[int, ...], **attrs: Any) -> Case:
    """Two steps of training, and a prediction: outputs, gradients and running statistics."""

    def case(mx: Any) -> list[Any]:
        channels = shape[attrs.get("axis", 1)]
        gamma, beta = (mx.nd.array(numbers(channels, seed=s)) for s in (1, 2))
        mean, var = mx.nd.array(numbers(channels, seed=3)), mx.nd.ones(channels)
        found: list[Any] = []
        for a in (gamma, beta):
            a.attach_grad()
        for step in range(2):
            x = numbers(*shape, seed=4 + step)
            found += differentiated(mx, lambda x: mx.nd.BatchNorm(x, gamma, beta, mean, var, **attrs), x)
            found += [gamma.grad.copy(), beta.grad.copy(), mean.copy(), var.copy()]
        return [*found, mx.nd.BatchNorm(mx.nd.array(numbers(*shape)), gamma, beta, mean, var, **attrs), gamma]

    return case


IMAGE, ROWS, LABELS = numbers(2, 4, 3, 3), numbers(5, 4), np.array([1, 3, 0, -1, 2], np.float32)
SIGNS, CHANNELS = np.sign(numbers(5, 4, seed=1)), (numbers(4, seed=1), numbers(4, seed=2))
UNIT = 1 / (1 + np.exp(-numbers(5, 4, seed=2)))
STEPS, SEQUENCES = 2 * numbers(7, 4, 5), np.array([[1, 2, 2, 0], [3, 1, 1, 1], [4, 0, 0, 0], [1, 2, 3, 4]], np.float32)

OPERATORS: dict[str, Case] = {
    **{f"Activation {act}": operator("Activation", ROWS, act_type=act)
       for act in ("relu", "sigmoid", "softrelu", "softsign", "tanh")},
    **{f"LeakyReLU {act}": operator("LeakyReLU", ROWS, act_type=act, slope=0.3) for act in ("leaky", "elu", "gelu")},
    "LeakyReLU prelu": operator("LeakyReLU", IMAGE, CHANNELS[0], act_type="prelu"),
    "hard_sigmoid": operator("hard_sigmoid", 3 * ROWS, alpha=0.3),
    "softmax": operator("softmax", IMAGE, axis=1, temperature=2.0),
    "softmin": operator("softmin", ROWS),
    "log_softmax": operator("log_softmax", IMAGE, axis=2, temperature=0.5),
    "SoftmaxActivation": operator("SoftmaxActivation", ROWS),
    "SoftmaxActivation channel": operator("SoftmaxActivation", IMAGE, mode="channel"),
    "softmax_cross_entropy": labelled("softmax_cross_entropy", ROWS, np.maximum(LABELS, 0)),
    "SoftmaxOutput": labelled("SoftmaxOutput", ROWS, LABELS),
    "SoftmaxOutput ignore": labelled("SoftmaxOutput", ROWS, LABELS, use_ignore=True, normalization="valid"),
    "SoftmaxOutput smooth": labelled("SoftmaxOutput", ROWS, LABELS, grad_scale=2.0, smooth_alpha=0.1),
    "SoftmaxOutput batch": labelled("SoftmaxOutput", ROWS, LABELS, normalization="batch"),
    "SoftmaxOutput multi": labelled("SoftmaxOutput", IMAGE, np.ones((2, 3, 3)), multi_output=True),
    "SoftmaxOutput multi valid": labelled(
        "SoftmaxOutput", IMAGE, np.ones((2, 3, 3)), multi_output=True, normalization="valid"),
    "SoftmaxOutput kept": labelled("SoftmaxOutput", IMAGE, np.ones((2, 4, 3)), preserve_shape=True),
    "SoftmaxOutput probabilities": labelled("SoftmaxOutput", IMAGE, IMAGE, grad_scale=3.0),
    "LinearRegressionOutput": labelled("LinearRegressionOutput", ROWS, SIGNS, grad_scale=2.0),
    "LogisticRegressionOutput": labelled("LogisticRegressionOutput", ROWS, SIGNS),
    "MAERegressionOutput": labelled("MAERegressionOutput", ROWS, SIGNS),
    "FullyConnected": operator("FullyConnected", IMAGE, numbers(6, 36), numbers(6), num_hidden=6),
    "BatchNorm": batch_norm((4, 3, 2, 5), fix_gamma=False),
    "BatchNorm rows": batch_norm((6, 3), momentum=0.6, eps=0.1),
    "BatchNorm last axis": batch_norm((2, 3, 4), fix_gamma=False, axis=2),
    "BatchNorm global": batch_norm((4, 3, 2), fix_gamma=False, use_global_stats=True),
    "LayerNorm": operator("LayerNorm", IMAGE, numbers(3, seed=1), numbers(3, seed=2)),
    "LayerNorm axis": operator("LayerNorm", IMAGE, *CHANNELS, axis=1, eps=0.1),
    "InstanceNorm": operator("InstanceNorm", IMAGE, *CHANNELS),
    "GroupNorm": operator("GroupNorm", IMAGE, numbers(2, seed=1), numbers(2, seed=2), num_groups=2),
    **{f"L2Normalization {mode}": operator("L2Normalization", IMAGE, mode=mode)
       for mode in ("instance", "channel", "spatial")},
    "LRN": operator("LRN", numbers(2, 7, 2, 2), nsize=5, alpha=0.3),
    "CTCLoss": labelled("CTCLoss", STEPS, SEQUENCES),
    "CTCLoss last": labelled("CTCLoss", STEPS, SEQUENCES - 1, blank_label="last"),
    "CTCLoss lengths": lambda mx: differentiated(
        mx,
        lambda x: mx.nd.CTCLoss(x, mx.nd.array(SEQUENCES), mx.nd.array([7, 5, 3, 6]), mx.nd.array([3, 1, 1, 3]),
                                use_data_lengths=True, use_label_lengths=True),
        STEPS),
}  # fmt: skip

SPARSE = np.maximum(LABELS, 0)
LOSSES: dict[str, Case] = {
    "L1Loss": loss("L1Loss", ROWS, constants=[SIGNS, numbers(5, 1)], weight=3.0),
    "L2Loss": loss("L2Loss", ROWS, constants=[SIGNS]),
    "L2Loss batch axis": loss("L2Loss", ROWS, constants=[SIGNS], batch_axis=1, weight=0.5),
    "HuberLoss": loss("HuberLoss", ROWS, constants=[SIGNS], rho=0.7),
    "HingeLoss": loss("HingeLoss", ROWS, constants=[SIGNS], margin=0.5),
    "SquaredHingeLoss": loss("SquaredHingeLoss", ROWS, constants=[SIGNS]),
    "LogisticLoss": loss("LogisticLoss", ROWS, constants=[SIGNS]),
    "LogisticLoss binary": loss("LogisticLoss", ROWS, constants=[(SIGNS + 1) / 2], label_format="binary"),
    "SigmoidBCELoss": loss("SigmoidBCELoss", ROWS, constants=[UNIT]),
    "SigmoidBCELoss weights": loss("SigmoidBCELoss", ROWS, constants=[UNIT, numbers(5, 1), np.full((1, 4), 2.0)]),
    "SigmoidBCELoss given": loss("SigmoidBCELoss", UNIT, constants=[UNIT, None, np.full((1, 4), 2.0)],
                                 from_sigmoid=True),
    "SoftmaxCELoss": loss("SoftmaxCELoss", ROWS, constants=[SPARSE]),
    "SoftmaxCELoss weights": loss("SoftmaxCELoss", ROWS, constants=[SPARSE, numbers(5, 1)], weight=2.0),
    "SoftmaxCELoss axis": loss("SoftmaxCELoss", IMAGE, constants=[np.ones((2, 3, 3))], axis=1),
    "SoftmaxCELoss logits": loss("SoftmaxCELoss", ROWS, constants=[SPARSE], from_logits=True),
    "SoftmaxCELoss dense": loss("SoftmaxCELoss", ROWS, constants=[UNIT], sparse_label=False),
    "KLDivLoss": loss("KLDivLoss", ROWS, constants=[UNIT]),
    "KLDivLoss scores": loss("KLDivLoss", ROWS, constants=[UNIT], from_logits=False),
    "CTCLoss": loss("CTCLoss", STEPS.swapaxes(0, 1), constants=[SEQUENCES - 1], weight=2.0),
    "CTCLoss layouts": loss("CTCLoss", STEPS, constants=[SEQUENCES.T - 1, np.array([7, 6, 3, 6])],
                            layout="TNC", label_layout="TN"),
    "TripletLoss": loss("TripletLoss", ROWS, numbers(5, 4, seed=3), numbers(5, 4, seed=4), margin=0.5),
    "PoissonNLLLoss": loss("PoissonNLLLoss", ROWS, constants=[3 * UNIT]),
    "PoissonNLLLoss counts": loss("PoissonNLLLoss", UNIT, constants=[3 * UNIT, numbers(5, 1)], from_logits=False),
    "PoissonNLLLoss full": lambda mx: [  # MXNet's cannot be recorded
        mx.gluon.loss.PoissonNLLLoss(compute_full=True)(mx.nd.array(ROWS), mx.nd.array(3 * UNIT))],
    "CosineEmbeddingLoss": loss(
        "CosineEmbeddingLoss", ROWS, numbers(5, 4, seed=3), constants=[SIGNS[:, 0]], margin=0.1),
    "SDMLLoss": loss("SDMLLoss", ROWS, numbers(5, 4, seed=3)),
}  # fmt: skip

CASES = {**{f"nd/{name}": case for name, case in OPERATORS.items()},
         **{f"loss/{name}": case for name, case in LOSSES.items()}}  # fmt: skip
