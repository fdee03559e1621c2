"""Losses of classification and of sequence labelling."""

from __future__ import annotations

from typing import Any

from runtime import ndarray as nd
from runtime.base import ArgumentError
from runtime.gluon.loss.base import Loss, like, softplus
from runtime.ndarray import NDArray
from runtime.ndarray.nn.softmax import cross_entropy


class SigmoidBinaryCrossEntropyLoss(Loss):
    """`-label log(p) pos_weight - (1 - label) log(1 - p)`, the mean over each sample's elements.

    `p` is `sigmoid(pred)`, or `pred` itself with `from_sigmoid`. `label`, from 0 to 1, has as many elements as `pred`;
    `pos_weight`, the last argument of the call, is broadcast against them.
    """

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Any,
        pred: NDArray,
        label: NDArray,
        sample_weight: NDArray | None = None,
        pos_weight: NDArray | None = None,
    ) -> NDArray:
        label = like(type(self).__name__, label, pred)
        if self._from_sigmoid:
            eps = 1e-12
            right, wrong = F.log(pred + eps) * label, F.log(1.0 - pred + eps) * (1.0 - label)
            loss = -((right if pos_weight is None else F.broadcast_mul(right, pos_weight)) + wrong)
        elif pos_weight is None:
            loss = F.relu(pred) - pred * label + softplus(F, -F.abs(pred))
        else:
            factor = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + factor * (softplus(F, -F.abs(pred)) + F.relu(-pred))
        return self._per_sample(F, loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """`-log softmax(pred)[label]`, the cross entropy of scores and classes.

    Parameters
    ----------
    axis: where in `pred` the classes lie.
    sparse_label: labels are class numbers, in the shape of `pred` without `axis`; otherwise probabilities, in the
        shape of `pred`.
    from_logits: `pred` holds log probabilities already.
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        if self._sparse_label:
            if self._from_logits or F is not nd:
                log_p = pred if self._from_logits else F.log_softmax(pred, axis=self._axis)
                loss = -F.pick(log_p, label, axis=self._axis, keepdims=True)
            else:
                # One loss a sample is the mean over its elements already.
                is_mean = sample_weight is None and pred.ndim == 2 and self._axis in (-1, 1) and self._batch_axis == 0
                loss = cross_entropy(pred, label, axis=self._axis, keepdims=not is_mean)
                if is_mean and self._weight is None:
                    return loss
        else:
            log_p = pred if self._from_logits else F.log_softmax(pred, axis=self._axis)
            label = like(type(self).__name__, label, pred)
            loss = -F.sum(log_p * label, axis=self._axis, keepdims=True)
        return self._per_sample(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """`label (log(label) - log(p))`, the sum over all axes but the batch's.

    `label` holds probabilities; log(p) is `pred`, or its log softmax along `axis` where it is not `from_logits`.
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        log_p = pred if self._from_logits else F.log_softmax(pred, axis=self._axis)
        loss = self._weighted(F, label * (F.log(label + 1e-12) - log_p), sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class HingeLoss(Loss):
    """`max(margin - pred label, 0)`, the mean over each sample's elements. Labels are -1 and 1."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        return self._per_sample(F, self._missing(F, pred, label), sample_weight)

    def _missing(self, F: Any, pred: NDArray, label: NDArray) -> NDArray:
        return F.relu(self._margin - pred * like(type(self).__name__, label, pred))


class SquaredHingeLoss(HingeLoss):
    """`max(margin - pred label, 0)^2`, the mean over each sample's elements. Labels are -1 and 1."""

    def _missing(self, F: Any, pred: NDArray, label: NDArray) -> NDArray:
        return F.square(super()._missing(F, pred, label))


class LogisticLoss(Loss):
    """`log(1 + exp(-pred label))`, the mean over each sample's elements.

    Labels are -1 and 1 (`label_format` 'signed'), or 0 and 1 ('binary').
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"LogisticLoss: label_format is 'signed' or 'binary', not {label_format!r}")
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        label = like("LogisticLoss", label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return self._per_sample(F, F.relu(pred) - pred * label + softplus(F, -F.abs(pred)), sample_weight)


class CTCLoss(Loss):
    """Connectionist temporal classification: the negative log-likelihood of a sequence of labels, (batch,).

    Called with `pred`, scores before softmax, of which the last class is the blank, and `label`, which ends at the
    first -1; optionally with the lengths that count, `pred_lengths` and `label_lengths`, (batch,) each.

    Parameters
    ----------
    layout: of `pred`: batch (N), time (T) and classes (C), 'NTC' or 'TNC'.
    label_layout: of `label`: 'NT' or 'TN'.
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any
    ) -> None:
        if layout not in ("NTC", "TNC"):
            raise ArgumentError(f"CTCLoss: layout is 'NTC' or 'TNC', not {layout!r}")
        if label_layout not in ("NT", "TN"):
            raise ArgumentError(f"CTCLoss: label_layout is 'NT' or 'TN', not {label_layout!r}")
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout
        self._label_layout = label_layout

    def hybrid_forward(
        self,
        F: Any,
        pred: NDArray,
        label: NDArray,
        pred_lengths: NDArray | None = None,
        label_lengths: NDArray | None = None,
        sample_weight: NDArray | None = None,
    ) -> NDArray:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._label_layout == "TN":
            label = F.swapaxes(label, 0, 1)
        loss = F.CTCLoss(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return self._weighted(F, loss, sample_weight)
