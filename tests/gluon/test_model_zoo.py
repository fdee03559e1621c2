"""Networks of the model zoo, beside their parameters, which tests/gluon/layers compares with MXNet."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime import autograd, nd
from runtime.gluon.model_zoo import vision
from runtime.gluon.model_zoo.vision import get_model


@pytest.mark.parametrize("name", ["resnet18_v1", "resnet18_v2"])
def test_a_small_image_goes_through_and_comes_back(name: str) -> None:
    net = get_model(name, classes=3, thumbnail=True)
    net.initialize(mx.init.Xavier())
    x = nd.array(np.random.default_rng(0).normal(size=(2, 3, 16, 16)))
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    assert y.shape == (2, 3)
    assert np.isfinite(x.grad.asnumpy()).all() and x.grad.asnumpy().any()


@pytest.mark.parametrize("name", ["squeezenet1.1", "mobilenet0.25", "mobilenetv2_0.25"])
def test_full_size(name: str) -> None:
    net = get_model(name, classes=4)
    net.initialize()
    assert net(nd.ones((1, 3, 224, 224))).shape == (1, 4)


def test_weights_travel_in_files(tmp_path: Path) -> None:
    one, other = (get_model("resnet18_v1", classes=2, thumbnail=True) for _ in range(2))
    one.initialize()
    x = nd.ones((1, 3, 8, 8))
    y = one(x)
    one.save_parameters(tmp_path / "weights.params")
    other.load_parameters(tmp_path / "weights.params", ctx=mx.current_context())
    np.testing.assert_array_equal(other(x).asnumpy(), y.asnumpy())


@pytest.mark.parametrize("name, file", [("mobilenet0.25", "mobilenet0.25"), ("mobilenet_v2_0_25", "mobilenetv2_0.25")])
def test_weights_are_found_by_the_names_of_the_store(name: str, file: str, tmp_path: Path) -> None:
    make = getattr(vision, name) if hasattr(vision, name) else functools.partial(get_model, name)
    one = make(classes=2)
    one.initialize()
    x = nd.ones((1, 3, 32, 32))
    y = one(x)
    one.save_parameters(tmp_path / f"{file}-0a1b2c3d.params")
    other = make(classes=2, pretrained=True, root=tmp_path, ctx=mx.current_context())
    np.testing.assert_array_equal(other(x).asnumpy(), y.asnumpy())


def test_errors() -> None:
    with pytest.raises(ValueError, match="unknown model 'resnet19_v1'; did you mean 'resnet1"):
        get_model("resnet19_v1")
    with pytest.raises(mx.MXNetError, match=r"has no file 'vgg11.params' or 'vgg11-HASH.params', and nothing is down"):
        vision.vgg11(pretrained=True, root="nowhere")
    with pytest.raises(mx.MXNetError, match="version 3 and 18 layers"):
        vision.get_resnet(3, 18)
    with pytest.raises(mx.MXNetError, match=r"'1\.0' or '1\.1', not '2\.0'"):
        vision.SqueezeNet("2.0")
