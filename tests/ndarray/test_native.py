"""The compiler of kernels, their threads, and the BLAS inside: also under forks, spawned workers and Python threads."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import optgen
from optgen.backends import target
from optgen.loops import fallback_gemm, numpy_blas, trampoline
from optgen.loops.compile import module
from optgen.loops.kernel import kernel, shared_by, shared_text
from optgen.loops.language import Array, Function, Ints, Words, function, gemm, shared, short, sqrt, total
from runtime import nd
from runtime.core import blas
from runtime.native.formulas import exp_nonpositive, log_from_1
from tests.floats import ARM, FLUSH_DOWNWARD, arm_functions, exchange_mxcsr, x86_only
from tests.process import run

# ---------------------------------------------------------------- the subset


@function
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@kernel
def of_everything(task: int, scratch: Array, x: Array, y: Array, n: int, g: Ints) -> None:
    for i in range(n):
        scratch[i] = x[task * n + i]
    y = y + task * 8
    y[0] = total(scratch, n)
    y[1] = sqrt(abs(x[task * n])) + max(x[0], 0.5)
    y[2] = collatz(task + 1)
    y[3] = -7 // 2 + (-7) % 3 / 4 if task > 1 or n < 0 else g[1] - 0.5
    y[4] = 0.0
    for i in short(n - 3, n + 2):
        y[4] += i
    y[4] -= 5 * n - 5
    for i in range(1, n, 5):
        if i % 2 == 0 and not x[i] <= -100.0 and i != 4:
            y[4] += i
        else:
            y[4] += 0.25
    y[5] = float(int(-2.5)) - min(task, 1)
    y[6] = 1.0 / 3.0
    y[7] = -y[6] * task


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_what_it_means_in_python(dtype: str) -> None:
    n, tasks = 53, 4
    x = np.random.default_rng(0).normal(size=(tasks, n)).astype(dtype)
    y = np.empty((tasks, 8), dtype)
    of_everything(tasks, 0, x, y, n, np.array([3, 9]), scratch=n)
    for t in range(tasks):
        rest = sum(i if i % 2 == 0 and i != 4 else 0.25 for i in range(1, n, 5))
        expected = [
            x[t].sum(), np.sqrt(abs(x[t, 0])) + max(x[0, 0], 0.5), [0, 1, 7, 2][t],
            -4 + 2 / 4 if t > 1 else 8.5, rest, -2 - min(t, 1), 1 / 3, -t / 3,
        ]  # fmt: skip
        np.testing.assert_allclose(y[t], np.array(expected, dtype), rtol=1e-5 if dtype == "float32" else 1e-13)


@kernel
def of_bits(task: int, x: Array, words: Words, n: int) -> None:
    words = words + task * n
    for i in range(n):
        x[i] = words[i]
        words[i] = (words[i] << 3 | words[i] >> 5 & 7) ^ -(i + 1) >> 1


def test_words() -> None:
    given = np.array([0, 1, 7, 0xE0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint32)
    words, x = given.copy(), np.empty(given.size)
    of_bits(1, 0, x, words, given.size)
    assert x.tolist() == given.tolist()  # from 0 on
    turned = [((w << 3 | w >> 5 & 7) ^ -(i + 1) >> 1) % 2**32 for i, w in enumerate(given.tolist())]
    assert words.tolist() == turned
    with pytest.raises(TypeError, match="int32"):
        of_bits(1, 0, x, words.view(np.int32), given.size)


@kernel
def of_decay(task: int, x: Array, y: Array, n: int) -> None:
    for i in range(n):
        y[i] = exp_nonpositive(x[i])


@pytest.mark.parametrize("dtype, least", [("float32", -87.0), ("float64", -708.0)])
def test_decay(dtype: str, least: float) -> None:
    x = np.concatenate([[0.0, -0.0, -np.inf, np.nan], np.linspace(least, 0, 20001), [1.01 * least]]).astype(dtype)
    y = np.empty_like(x)
    of_decay(1, 0, x, y, x.size)
    assert y[[0, 1, 2, -1]].tolist() == [1, 1, 0, 0] and np.isnan(y[3])
    exact = np.exp(x[4:-1].astype(np.longdouble))
    assert (abs(y[4:-1] - exact) <= np.spacing(exact.astype(dtype))).all()


@kernel
def of_log(task: int, x: Array, y: Array, n: int) -> None:
    for i in range(n):
        y[i] = log_from_1(x[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log(dtype: str) -> None:
    whole = np.concatenate([np.linspace(1, 3, 20001), np.geomspace(1, 1e9, 20001)])
    x = np.append(whole, [np.nan]).astype(dtype)
    y = np.empty_like(x)
    of_log(1, 0, x, y, x.size)
    assert y[0] == 0 and np.isnan(y[-1])
    exact = np.log(x[:-1].astype(np.longdouble))
    assert (abs(y[:-1] - exact) <= np.spacing(exact.astype(dtype))).all()


def test_what_is_not_in_the_subset() -> None:
    def listed(x: Array) -> None:
        [y for y in x]

    def mixed(n: int, x: Array) -> None:
        n = x[0]  # noqa: F841

    for f, text in ((listed, r"listed: not in the subset: \[y for y in x\]"), (mixed, "mixed: not in the subset: n")):
        with pytest.raises(TypeError, match=text):
            module(Function(f), np.dtype("float32"), numpy_blas.gemm(np.dtype("float32")).types)
    with pytest.raises(TypeError, match="no_task: a kernel takes `task: int` first"):

        @kernel
        def no_task(x: Array, y: Array) -> None:
            pass


other = Function(exp_nonpositive.python)


@shared
def halve(x: Array, n: int) -> None:
    for i in range(n):
        x[i] *= 0.5


@function
def quarter(x: Array, n: int) -> None:
    halve(x, n)
    halve(x, n)


@kernel
def of_shared(task: int, x: Array, n: int) -> None:
    quarter(x + task * n, n)


@kernel
def of_shared_too(task: int, x: Array, n: int) -> None:
    halve(x, n * (task + 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shared_functions(dtype: str) -> None:
    """They are not in the code of kernels, whose text is the same for both types here."""
    x = np.arange(40, dtype=dtype)
    of_shared(2, 0, x, 20)
    of_shared_too(1, 0, x, 40)
    assert x.tolist() == (np.arange(40) / 8).tolist()
    assert shared_by(of_shared) == shared_by(of_shared_too) == {halve}
    assert "fmul" not in of_shared.text(np.dtype(dtype))


def test_what_shared_functions_do_not() -> None:
    def product(x: Array) -> None:
        gemm(111, 111, 1, 1, 1, x, 1, x, 1, 0.0, x, 1)

    with pytest.raises(TypeError, match="product: a shared function does not call gemm"):
        shared_text(shared(product), np.dtype("float32"))
    with pytest.raises(TypeError, match="a shared function has no result"):
        shared(collatz.python)


def test_two_functions_of_one_name() -> None:
    def both(x: Array) -> None:
        x[0] = exp_nonpositive(x[0]) + other(x[0])

    with pytest.raises(TypeError, match="both calls two functions exp_nonpositive"):
        module(Function(both), np.dtype("float32"), numpy_blas.gemm(np.dtype("float32")).types)


def test_arrays_that_would_be_misread() -> None:
    x = np.zeros((4, 4), np.float32)
    for y, error in ((x.astype(np.float64), TypeError), (x.T[1:], ValueError), (x[:, ::2], ValueError)):
        with pytest.raises(error, match="passed to a kernel"):
            of_decay(1, 0, x, y, 4)
    with pytest.raises(TypeError, match="int32"):
        of_everything(1, 0, x, x, 1, np.zeros(2, np.int32), scratch=1)


def test_memory_that_is_not_there() -> None:
    x = np.zeros((1, 1), np.float32)
    with pytest.raises(MemoryError, match="of_everything"):
        of_everything(1, 0, x, np.empty((1, 8), np.float32), 1, np.zeros(2, np.int64), scratch=1 << 58)


# ---------------------------------------------------------------- products


@pytest.mark.parametrize(
    "shape",
    [
        (3, 4, 5),
        (64, 500, 800),
        (500, 70, 64),
        (1, 900, 900),
        (900, 1, 900),
        (300, 301, 302),
        (130, 500, 40),
        (301, 150, 90),
    ],
)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_matmul(shape: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(0)
    a = rng.normal(size=(k, m)).T if turned[0] else rng.normal(size=(m, k))
    b = rng.normal(size=(n, k)).T if turned[1] else rng.normal(size=(k, n))
    np.testing.assert_allclose(blas.matmul(a, b), a @ b, rtol=1e-10, atol=1e-10)
    apart = np.repeat(a, 2, axis=0)[::2]
    np.testing.assert_allclose(blas.matmul(apart, b), a @ b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_stacks_are_those_of_their_matrices(turned: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(0)
    for lead, m, n, k in (((6, 8), 20, 31, 40), ((3,), 130, 140, 64), ((2, 1), 5, 6, 7), ((0,), 9, 9, 9)):
        a = rng.normal(size=(*lead, k, m)).swapaxes(-1, -2) if turned[0] else rng.normal(size=(*lead, m, k))
        b = rng.normal(size=(*lead, n, k)).swapaxes(-1, -2) if turned[1] else rng.normal(size=(*lead, k, n))
        np.testing.assert_allclose(blas.matmul(a, b), a @ b, rtol=1e-10, atol=1e-10)


def test_two_threads_have_whole_rows_of_the_gradient_of_a_weight() -> None:
    rows, columns = blas.block_shape(130, 500, 40, turned=False)
    assert rows == 68
    assert 4 <= -(-500 // columns) <= 8


def test_a_gemm_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy's BLAS cannot be called: the kernels with the fallback in them."""
    from optgen.linalg import blocks

    monkeypatch.setattr(numpy_blas._Library, "find", lambda self, name: None)
    numpy_blas.gemm.cache_clear()
    for name, fresh in (("_codes", {}), ("_loaded", trampoline.Loaded(blocks.multiply._types)), ("loaded", 0)):
        monkeypatch.setattr(blocks.multiply, name, fresh)
    try:
        assert numpy_blas.gemm(np.dtype("float64")).types == fallback_gemm.TYPES
        for shape in ((64, 500, 80), (100, 70, 64)):
            for turned in ((False, False), (True, False), (False, True), (True, True)):
                test_matmul(shape, turned)
    finally:
        numpy_blas.gemm.cache_clear()


def test_single_threaded_blas_is_set_back() -> None:
    libraries = numpy_blas._libraries()
    before = [x.threads() for x in libraries]
    try:
        for x in libraries:
            x.set_threads(2)
        with numpy_blas.single, numpy_blas.single:
            assert all(x.threads() == 1 for x in libraries)
        assert all(x.threads() == 2 for x in libraries)
    finally:
        for x, threads in zip(libraries, before, strict=True):
            x.set_threads(threads)


# ---------------------------------------------------------------- threads and processes

SETUP = """
import os, sys, threading
import numpy as np
import runtime as mx
from runtime import autograd, gluon, nd

rng = np.random.default_rng(0)
X, W, B = (nd.array(rng.normal(size=s), dtype="float32") for s in ((32, 3, 32, 32), (16, 3, 3, 3), (16,)))

def compute():
    x, w, b = X.copy(), W.copy(), B.copy()
    for v in (x, w, b):
        v.attach_grad()
    with autograd.record():
        y = nd.Pooling(nd.Convolution(x, w, b, kernel=(3, 3), num_filter=16), (3, 3), stride=(2, 2))
        z = nd.dot(y.reshape((32, -1)), nd.ones((3136, 200)))
    z.backward()
    return b"".join(v.asnumpy().tobytes() for v in (y, z, x.grad, w.grad, b.grad))
"""


def python(code: str, **env: str) -> str:
    done = run([sys.executable, "-c", SETUP + code], timeout=60, env=env)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


LAYERS = """
def layers():
    x, gamma = nd.array(rng.normal(size=(32, 16, 40, 40))), nd.ones(16)
    w, u = nd.array(rng.normal(size=(16, 1, 3, 3))), nd.array(rng.normal(size=(512, 16, 3, 3)))
    for v in (x, gamma, w, u):
        v.attach_grad()
    with autograd.record():
        y = nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=16, num_group=16, no_bias=True)
        y = nd.BatchNorm(y, gamma, nd.zeros(16), nd.zeros(16), nd.ones(16), fix_gamma=False)
        y = nd.LayerNorm(nd.relu(y), nd.ones(40), nd.zeros(40))
        y = nd.softmax(nd.tanh(nd.LeakyReLU(y, act_type="gelu"))) + nd.InstanceNorm(y, gamma, nd.zeros(16))
        z = nd.Convolution(y[:4], u, kernel=(3, 3), num_filter=512, no_bias=True)
    autograd.backward([y, z], [nd.array(rng.normal(size=a.shape)) for a in (y, z)])
    return b"".join(v.asnumpy().tobytes() for v in (y, z, x.grad, gamma.grad, w.grad, u.grad))
"""


def test_the_same_bits_for_any_number_of_threads() -> None:
    code = """
import hashlib, optgen
for threads in (1, 2, 4):
    optgen.set_num_threads(threads)
    rng = np.random.default_rng(1)
    print(threads, hashlib.sha256(compute() + layers()).hexdigest())
"""
    lines = python(LAYERS + code, OPTGEN_NUM_THREADS="4").splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "4"]
    assert len({line.split()[1] for line in lines}) == 1


def test_a_bad_count_is_noticed_by_small_work() -> None:
    code = "import runtime as mx; mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernel=(2, 2))"
    wrong = run([sys.executable, "-c", code], timeout=60, env={"OPTGEN_NUM_THREADS": "many"})
    assert wrong.stderr.endswith("OPTGEN_NUM_THREADS must be a number from 1 to 256, not 'many'\n")


def test_forks() -> None:
    """Children of a process whose threads run, also while another Python thread is inside a kernel."""
    out = python(
        """
expected = compute()
stop = False
def work():
    while not stop:
        assert compute() == expected
thread = threading.Thread(target=work)
thread.start()
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        os._exit(7 if compute() == expected else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
stop = True
thread.join()
print("done")
""",
        OPTGEN_NUM_THREADS="3",
        PYTHONWARNINGS="ignore",
    )
    assert out == "done\n"


@x86_only
def test_a_caller_that_flushes() -> None:
    """The caller's thread does not flush its parts to zero, as others would not, and keeps its mode."""
    x = nd.array(np.full((32, 64, 32, 32), 3e-44, np.float32))
    exchange = exchange_mxcsr()
    before = optgen.num_threads()
    try:
        optgen.set_num_threads(2)
        expected = nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg").asnumpy()
        old = exchange(FLUSH_DOWNWARD)
        try:
            found = [nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg").asnumpy() for _ in range(5)]
        finally:
            after = exchange(old)
    finally:
        optgen.set_num_threads(before)
    assert after & ~0x3F == FLUSH_DOWNWARD
    assert all(np.array_equal(f, expected) for f in found) and expected.all()


def test_the_mode_on_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "host", lambda: ARM)
    lines = arm_functions(of_everything.text(np.dtype(np.float32)))["native_of_everything"]
    modes = [line.split(", ") for line in lines if "FPCR" in line]
    (before, _), (_, default), *after = modes
    assert before.startswith("mrs") and default == "xzr" and after
    assert all(mode == ["msr FPCR", before.removeprefix("mrs ")] for mode in after)


def test_python_threads() -> None:
    rng = np.random.default_rng(0)
    x, w = (nd.array(rng.normal(size=s)) for s in ((32, 3, 32, 32), (16, 3, 3, 3)))
    a = rng.normal(size=(200, 300))
    before = optgen.num_threads()
    results: list[tuple[bytes, bytes]] = []

    def compute() -> None:
        for _ in range(10):
            y = nd.Convolution(x, w, kernel=(3, 3), num_filter=16, no_bias=True)
            results.append((y.asnumpy().tobytes(), blas.matmul(a, a.T).tobytes()))

    threads = [threading.Thread(target=compute) for _ in range(4)]
    try:
        optgen.set_num_threads(3)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        optgen.set_num_threads(before)
    assert len(results) == 40 and len(set(results)) == 1


def test_workers(tmp_path) -> None:
    """Kernels in worker processes, forked and spawned, of a process that has run some itself."""
    script = tmp_path / "workers.py"
    script.write_text(
        SETUP
        + """
import multiprocessing
def hashed(i):
    return compute()
if __name__ == "__main__":
    expected = compute()
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(hashed, range(4)) == [expected] * 4
            pool.close()
            pool.join()
        assert compute() == expected
    print("done")
"""
    )
    done = run([sys.executable, script], timeout=120, env={"OPTGEN_NUM_THREADS": "2", "PYTHONPATH": "."})
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_fresh_install_is_quick(tmp_path) -> None:
    """No compiler is imported before a kernel is needed, and all that a small network needs is compiled within 3 s."""
    out = python(
        """
assert "llvmlite" not in sys.modules
import time
wall, cpu = time.perf_counter(), time.process_time()
compute()
print(min(time.perf_counter() - wall, time.process_time() - cpu))
""",
        OPTGEN_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert float(out) < 3
