"""Operators as symbols, beside those of MXNet: graphs, names, shapes, types, values and gradients."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import runtime as mx
from runtime.symbol import functions, table
from tests.symbol.results import FAMILIES, result


@cache
def _of_mxnet(family: str) -> dict:
    return json.loads(gzip.decompress((Path(__file__).parent / "data" / f"{family}.json.gz").read_bytes()))


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, cases in FAMILIES.items() for name in cases])
def test_results_are_those_of_mxnet(family: str, name: str) -> None:
    expected, found = _of_mxnet(family)[name], result(mx, FAMILIES[family][name])
    for key in ("names", "internals", "shapes", "types"):
        assert found[key] == expected[key], key
    for node, other in zip(found["json"]["nodes"], expected["json"]["nodes"], strict=True):
        assert node == other
    assert found["json"]["heads"] == expected["json"]["heads"]
    if name != "leakyselu":  # MXNet's slope of selu below zero is 1 % off
        _check_values(found.get("grads", {}), expected.get("grads", {}))
    _check_values(found.get("states", {}), expected.get("states", {}))
    _check_values(dict(enumerate(found["outputs"])), dict(enumerate(expected["outputs"])))


def _check_values(found: dict, expected: dict) -> None:
    assert found.keys() == expected.keys()
    for key, values in found.items():
        np.testing.assert_allclose(values, expected[key], 1e-3, 1e-4, err_msg=str(key))


def test_every_operator_of_the_table_is_computed() -> None:
    for name in table.names():
        assert functions.documentation(table.find(name))
