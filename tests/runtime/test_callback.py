"""Callbacks, and the small modules beside them: engine, runtime, util, error."""

from __future__ import annotations

import logging

import pytest

import runtime as mx
from runtime import callback, metric, nd, util
from runtime.callback import BatchEndParam


def run(call: object, batches: int, caplog: pytest.LogCaptureFixture, with_metric: bool = True) -> list[str]:
    accuracy = metric.Accuracy() if with_metric else None
    caplog.clear()
    with caplog.at_level(logging.INFO):
        for i in range(1, batches + 1):
            if accuracy:
                accuracy.update([nd.array([1, 1])], [nd.array([i % 2, 1])])
            call(BatchEndParam(3, i, accuracy))
    return [record.getMessage() for record in caplog.records]


def test_speedometer(caplog: pytest.LogCaptureFixture) -> None:
    meter = callback.Speedometer(batch_size=2, frequent=4)
    lines = run(meter, 8, caplog)
    assert [line.split("\t")[::2] for line in lines] == [
        ["Epoch[3] Batch [0-4]", "accuracy=0.750000"],
        ["Epoch[3] Batch [4-8]", "accuracy=0.750000"],
    ]
    assert all("Speed: " in line and line.endswith("0") for line in lines)
    assert len(run(meter, 4, caplog)) == 1  # a second epoch
    (line,) = run(callback.Speedometer(2, 4, auto_reset=False), 7, caplog)
    assert line.startswith("Epoch[3] Batch [0-4]\t")
    (line,) = run(callback.Speedometer(2, 4), 4, caplog, with_metric=False)
    assert line.startswith("Iter[3] Batch [4]\tSpeed: ") and line.endswith(" samples/sec")


def test_other_callbacks(caplog: pytest.LogCaptureFixture) -> None:
    assert run(callback.ProgressBar(total=2, length=4), 2, caplog) == ["[==--] 50%\r", "[====] 100%\r"]
    assert run(callback.log_train_metric(2), 3, caplog) == ["Iter[3] Batch[2] Train-accuracy=0.750000"]
    assert run(callback.LogValidationMetricsCallback(), 1, caplog) == ["Epoch[3] Validation-accuracy=1.000000"]


def test_periods_need_not_be_whole(caplog: pytest.LogCaptureFixture) -> None:
    lines = run(callback.Speedometer(batch_size=2, frequent=5 / 2), 10, caplog)
    assert [line.split("\t")[0] for line in lines] == ["Epoch[3] Batch [2-5]", "Epoch[3] Batch [7-10]"]
    assert run(callback.ProgressBar(total=2.5, length=5), 1, caplog) == ["[==---] 40%\r"]
    assert len(run(callback.log_train_metric(1.5), 6, caplog)) == 2
    for period in (0, -1, "2"):
        with pytest.raises(ValueError, match=f"frequent must be a number above 0, not {period!r}"):
            callback.Speedometer(2, period)


def test_engine_and_features() -> None:
    before = mx.engine.set_bulk_size(5)
    with mx.engine.bulk(10):
        assert mx.engine.set_bulk_size(11) == 10
    assert mx.engine.set_bulk_size(before) == 5
    features = mx.runtime.Features()
    assert features is mx.runtime.Features() and list(features.values()) == mx.runtime.feature_list()
    assert features.is_enabled("blas_open") and not features.is_enabled("TVM_OP")
    assert not features.is_enabled("INT64_TENSOR_SIZE") and "✖ TVM_OP" in repr(features)
    with pytest.raises(RuntimeError, match="unknown feature 'cuda1'; did you mean 'CUDA'"):
        features.is_enabled("cuda1")


def test_what_needs_np_says_so_when_used() -> None:
    @mx.use_np
    def function() -> None: ...

    @util.use_np
    class Layer: ...

    for use in (function, Layer, util.set_np, lambda: util.np_array(True)):
        with pytest.raises(NotImplementedError, match=r"needs mx\.np arrays"):
            use()
    assert not mx.is_np_array()
    with mx.np_shape(), mx.util.np_array(False):
        assert mx.is_np_shape()
        with mx.np_shape(False):
            assert not mx.is_np_shape()
    assert not mx.is_np_shape()
    assert util.use_np_shape(mx.is_np_shape)()


def test_errors_by_name() -> None:
    @mx.error.register
    class Odd(mx.MXNetError): ...

    assert mx.error.error_types["Odd"] is Odd and mx.error.register("Even")(Odd) is Odd
    assert mx.error.error_types["Even"] is Odd and issubclass(mx.error.InternalError, RuntimeError)
