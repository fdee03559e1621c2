"""The package as a whole: what importing it costs and what it does not have."""

from __future__ import annotations

import re
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import runtime as mx
from runtime.core import blas
from tests.process import run

IMPORT = """
import sys, time
wall, cpu = time.perf_counter(), time.process_time()
import runtime as mx
from runtime import autograd, gluon, init, lr_scheduler, metric, nd, optimizer
print(min(time.perf_counter() - wall, time.process_time() - cpu))
print(*[m for m in ("sympy", "llvmlite", "sklearn", "matplotlib", "scipy") if m in sys.modules])
"""


def test_import_is_quick_and_leaves_compilers_alone(tmp_path: Path) -> None:
    env = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}  # the first writes the others' bytecode
    for _ in range(4):
        seconds, loaded, *_ = run([sys.executable, "-c", IMPORT], timeout=30, env=env).stdout.split("\n")
        assert loaded == ""
        if float(seconds) <= 0.4:
            return
    raise AssertionError(seconds)


@pytest.mark.parametrize(("name", "words"), [("npx", "use nd"), ("np", "use nd")])
def test_what_is_not_provided_says_so(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"does not provide '{name}': .*{words}"):
        getattr(mx, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        mx.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("import runtime.npx", "runtime does not provide 'npx': use nd"),
        ("from runtime import npx", "runtime does not provide 'npx': use nd"),
        ("from runtime.contrib import tensorboard", "runtime.contrib does not provide 'tensorboard': call"),
        ("import runtime.nonsense", "No module named 'runtime.nonsense'"),
        ("from runtime import nonsense", "cannot import name 'nonsense' from 'runtime'"),
    ],
)
def test_imports_of_what_is_not_provided_say_so(statement: str, words: str) -> None:
    with pytest.raises(ImportError, match=words):
        exec(statement)


def test_names_that_libraries_import() -> None:
    dataloader = mx.gluon.data.dataloader
    x = mx.nd.ones(3)
    assert dataloader._as_in_context((x, 2), mx.cpu_pinned())[0].context == mx.cpu_pinned()
    assert dataloader.ForkingPickler.loads(dataloader.ForkingPickler.dumps(x)).asnumpy().tolist() == [1, 1, 1]
    with ThreadPool(2) as pool:
        batches = dataloader._MultiWorkerIter(
            pool, list, [[0, 1], [2]], worker_fn=dataloader._thread_worker_fn, prefetch=1, dataset=[5, 6, 7]
        )
        assert len(batches) == 2 and list(batches) == [[5, 6], [7]]
    dataloader._worker_initializer([5, 6, 7])
    assert dataloader.ForkingPickler.loads(dataloader._worker_fn([2, 0], list)) == [7, 5]
    flat, nesting = mx.gluon.block._flatten([x, (None, [x])], "input")
    assert len(flat) == 3 and nesting == [0, [-1, [0]]]
    assert mx.gluon.block._regroup(flat, nesting) == [x, [None, [x]]]
    assert mx.metric.ndarray is mx.nd
    assert mx.autograd.set_recording(is_recording=False) is False
    assert x.broadcast_like(other=mx.nd.ones((2, 3))).shape == (2, 3)
    assert mx.gluon.nn.conv_layers.GlobalAvgPool2D is mx.gluon.nn.GlobalAvgPool2D
    assert mx.gluon.tensor_types == (mx.nd.NDArray,) and mx.base.NDArrayHandle().value is None
    assert mx.contrib.amp.amp._amp_initialized is False
    assert mx.contrib.amp.amp.convert_symbol is mx.contrib.amp.convert_symbol
    assert mx.contrib.amp.amp.convert_model is mx.contrib.amp.convert_model


class Symbol:
    """As much of a symbol as optimizers see."""

    def attr_dict(self) -> dict[str, dict[str, str]]:
        return {"a": {"__lr_mult__": "2"}, "b": {"__wd_mult__": "0.5", "x": "y"}, "out": {"__lr_mult__": "9"}}

    def list_arguments(self) -> list[str]:
        return ["a", "b"]


@pytest.mark.parametrize("name", ["sgd", "dcasgd", "nag"])
def test_optimizers_read_the_attributes_of_a_symbol(name: str) -> None:
    optimizer = mx.optimizer.create(name, sym=Symbol(), param_idx2name={0: "a", 1: "b"})
    assert optimizer.lr_mult == {"a": 2} and optimizer.wd_mult == {"a": 0, "b": 0.5}
    assert mx.optimizer.create(name, sym=None).lr_mult == {}


def test_short_names_and_what_is_imported_on_first_use() -> None:
    assert mx.rnd is mx.random and mx.init is mx.initializer and mx.nd is mx.ndarray and mx.kv is mx.kvstore
    for module in ("callback", "engine", "io", "operator", "runtime", "test_utils", "util"):
        assert getattr(mx, module).__name__ == f"runtime.{module}"
    assert mx.__version__ == "1.9.1"


UNDER_ANOTHER_NAME = """
import multiprocessing
import sys
import runtime
multiprocessing.pool
sys.modules["mxnet"] = runtime
import mxnet as mx
import mxnet.ndarray as nd
from mxnet.base import MXNetError
from mxnet.gluon.rnn.rnn_cell import LSTMCell
from mxnet.test_utils import assert_almost_equal
assert MXNetError is runtime.MXNetError and LSTMCell is runtime.gluon.rnn.LSTMCell and nd is runtime.nd
assert nd.__spec__.name == nd.__name__ == "runtime.ndarray"
try:
    import mxnet.nonsense
except ModuleNotFoundError as error:
    print(error)
"""


def test_scripts_for_mxnet_run_unchanged_under_an_alias() -> None:
    assert run([sys.executable, "-c", UNDER_ANOTHER_NAME], timeout=30).stdout == "No module named 'mxnet.nonsense'\n"


def test_libraries_of_operators_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match="there is no file"):
        mx.library.load("none.so")
    (tmp_path / "x.so").touch()
    with pytest.raises(mx.MXNetError, match="made for MXNet's own library"):
        mx.library.load(tmp_path / "x.so")


def test_loggers(capfd: pytest.CaptureFixture, tmp_path: Path) -> None:
    assert mx.libinfo.__version__ == mx.__version__
    logger = mx.log.get_logger("shown", level=mx.log.INFO)
    assert mx.log.get_logger("shown") is logger and len(logger.handlers) == 1
    logger.info("seen %d", 1)
    logger.debug("unseen")
    assert re.fullmatch(
        r"\x1b\[32mI\d{4} [\d:]{8} \d+ \S+test_package.py:test_loggers:\d+\]\x1b\[0m seen 1\n", capfd.readouterr().err
    )
    mx.log.getLogger("written", str(tmp_path / "log")).warning("kept")
    assert (tmp_path / "log").read_text() == "kept\n"


def test_small_products_leave_the_number_of_blas_threads_as_it_was() -> None:
    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    a = np.ones((3, 4), np.float32)
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            before = threads()
            assert blas.matmul(a, a.T)[0, 0] == 4
            assert threads() == before
    big = np.ones((256, 256), np.float32)
    assert 2 * big.size * 256 >= blas.SERIAL_MAX_MULTIPLICATIONS
    assert blas.matmul(big, big)[0, 0] == 256
