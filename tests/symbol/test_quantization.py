"""`contrib.quantization`: graphs are MXNet's, and networks in 8 bits compute what those in floats do."""

from __future__ import annotations

import functools
import gzip
import json
from typing import Any

import numpy as np
import pytest

import runtime as mx
from runtime import gluon, nd
from runtime.contrib import quantization
from runtime.contrib.quantization import models
from tests.symbol import quantized_graphs

GRAPHS = json.loads(gzip.decompress(quantized_graphs.DATA.read_bytes()))


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_those_of_mxnet(name: str) -> None:
    assert quantized_graphs.quantized(mx, quantization, *name.rsplit(" ", 1)) == GRAPHS[name]


@pytest.fixture
def few_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms of 2001 bins: to try all thresholds among 8001 takes seconds."""
    collector = functools.partial(quantization._LayerHistogramCollector, 2001)
    monkeypatch.setattr(models, "_LayerHistogramCollector", collector)


@pytest.mark.parametrize("mode", ["full", "smart"])
@pytest.mark.parametrize("kind", ["int8", "auto"])
@pytest.mark.parametrize("calibration", ["none", "naive", "entropy"])
@pytest.mark.parametrize("name", ["lenet", "residual"])
@pytest.mark.usefixtures("few_bins")
def test_a_network_in_8_bits_computes_what_it_did(name: str, calibration: str, kind: str, mode: str) -> None:
    """Within 3 %, by norms of all outputs; the data of LeNet, from 0 to 1, is uint8 where the type is by the range."""
    graph, shapes = quantized_graphs.graphs(mx.sym)[name]
    draw = np.random.RandomState(0)
    found = graph.infer_shape(**shapes)[::2]
    names = graph.list_arguments(), graph.list_auxiliary_states()
    args, states = (
        {key: nd.array(draw.uniform(0.2 * i, 0.2 + i, shape) * (1 if i else draw.choice([-1, 1], shape)))
         for key, shape in zip(keys, shapes, strict=True)}
        for i, (keys, shapes) in enumerate(zip(names, found, strict=True))
    )  # fmt: skip
    del args["data"]
    images = draw.uniform(0 if name == "lenet" else -1, 1, (6, *shapes["data"][1:]))
    data = mx.io.NDArrayIter(images, batch_size=2)
    made = quantization.quantize_model(
        graph, args, states, label_names=None, calib_mode=calibration, calib_data=data, quantized_dtype=kind,
        quantize_mode=mode,
    )  # fmt: skip
    outputs = []
    for sym, params, aux in ((graph, args, states), made):
        executor = sym.simple_bind(mx.cpu(), grad_req="null", data=images.shape)
        executor.copy_params_from(params, aux)
        outputs.append(executor.forward(data=nd.array(images))[0].asnumpy())
    assert any(x.dtype == np.int8 for x in made[1].values())
    assert np.linalg.norm(outputs[1] - outputs[0]) < 0.03 * np.linalg.norm(outputs[0])


def test_a_block_in_8_bits() -> None:
    mx.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.MaxPool2D(), gluon.nn.Dense(5))
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(-1, 1, (8, 3, 12, 12))
    expected = net(x).asnumpy()
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, nd.zeros(8)), 4)
    for options in ({"calib_data": loader, "calib_mode": "naive"}, {"data_shapes": [mx.io.DataDesc("data", x.shape)]}):
        found = quantization.quantize_net_v2(net, exclude_layers_match=["dense"], **options)
        assert {p.dtype for p in found.collect_params().values()} == {np.int8, np.float32}
        assert not any("dense" in key and key.endswith("_quantize") for key in found.collect_params())
        for _ in range(2):
            np.testing.assert_allclose(found(x).asnumpy(), expected, atol=0.03 * abs(expected).max())
            found.hybridize()


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_a_convolution_has_the_range_of_its_type_and_its_bias(kind: str) -> None:
    draw = np.random.RandomState(1)
    data, weight, bias = (nd.array(draw.uniform(-1, 1, shape)) for shape in ((2, 3, 6, 6), (4, 3, 3, 3), (4,)))
    data = data.abs() if kind == "uint8" else data
    small = [nd.contrib.quantize_v2(data, out_type=kind)]
    small += [nd.contrib.quantize(x, x.min(), x.max(), out_type="int8") for x in (weight, bias)]
    arrays, bounds = [x[0] for x in small], [end for x in small for end in x[1:]]
    sums = nd.contrib.quantized_conv(*arrays, *bounds, kernel=(3, 3), num_filter=4)
    found = nd.contrib.dequantize(*nd.contrib.requantize(*sums)).asnumpy()
    expected = nd.Convolution(data, weight, bias, kernel=(3, 3), num_filter=4).asnumpy()
    np.testing.assert_allclose(found, expected, atol=0.02 * abs(expected).max())


def test_thresholds_are_those_of_mxnet() -> None:
    """Thresholds and divergences that MXNet 1.9.1's calibrate_entropy finds for the same histograms."""
    draw = np.random.RandomState(3)
    for i, expected in enumerate([(18.127295, 0.007107504), (8.0567045, 0.009795810), (15.791984, 0.0022472215)]):
        x = draw.randn(20000) * (1 + i) if i % 2 else np.abs(draw.standard_t(3, 20000))
        threshold = abs(x).max()
        histogram = *np.histogram(x, [8001, 1001, 501][i], (-threshold, threshold)), -1, 1, threshold
        found = quantization._get_optimal_threshold(histogram, "int8", 255 if i == 1 else 127)
        np.testing.assert_allclose(found[2:], expected, rtol=2e-3)


def test_histograms_grow() -> None:
    draw = np.random.RandomState(0)
    parts = [draw.randn(1000), 3 * draw.randn(1000), draw.randn(500)]
    collector = quantization._LayerHistogramCollector(101, ["x"])
    for part in parts:
        collector.collect("x", nd.array(part))
        collector.collect("y", nd.array(part))
    ((name, found),) = collector.hist_dict.items()
    values = np.concatenate(parts).astype("float32")
    assert (name, found.low, found.high) == ("x", values.min(), values.max())
    assert found.threshold >= abs(values).max() and found.counts.sum() == 2500 and len(found.counts) % 2 == 1
    exact = np.histogram(values, found.edges)[0]
    assert abs(found.counts - exact).sum() <= 4  # numbers at the ends of bins


NET = quantized_graphs.lenet(mx.sym)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"calib_mode": "naive"}, ValueError, "calib_data must be a DataIter for calib_mode='naive', not NoneType"),
        ({"calib_mode": "best"}, ValueError, "calib_mode is 'none', 'naive', 'entropy' or 'customize', not 'best'"),
        ({"calib_mode": "none", "quantized_dtype": "int4"}, ValueError, "quantized_dtype is 'int8', 'uint8', 'auto'"),
        ({"calib_mode": "none", "quantize_mode": "all"}, ValueError, "quantize_mode is 'full', 'smart', not 'all'"),
        ({"calib_mode": "none", "excluded_sym_names": "c1"}, ValueError, "excluded_sym_names must be a list"),
        ({"calib_mode": "none", "ctx": [mx.cpu()]}, ValueError, "ctx is one context"),
    ],
)
def test_errors(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        quantization.quantize_model(NET, {}, {}, **options)


def test_parameters_and_data_without_numbers() -> None:
    bad = nd.array([np.nan])
    with pytest.raises(mx.MXNetError, match="the parameter 'c1_bias' has NaN or infinity"):
        quantization.quantize_model(NET, {"c1_bias": bad}, {}, calib_mode="none")
    with pytest.raises(mx.MXNetError, match="'data' has NaN or infinity"):
        quantization._LayerOutputMinMaxCollector("int8").collect("data", bad)


@pytest.mark.parametrize("ends", [(float("nan"), 1.0), (0.0, float("inf"))])
def test_ranges_that_are_none(ends: tuple[float, float]) -> None:
    with pytest.raises(mx.MXNetError, match="numbers of 8 bits are for a finite range, not for"):
        mx.nd.contrib.quantize_v2(mx.nd.ones(2), min_calib_range=ends[0], max_calib_range=ends[1])
