"""Products beside NumPy's in float64, for awkward sizes, batches, transposes and special values."""

from __future__ import annotations

from itertools import product as combinations

import numpy as np
import pytest

import optgen
from optgen import linalg
from optgen.linalg import blocks, products
from tests.linalg.matrices import DTYPES, SHAPES, assert_close, op, operands


@pytest.fixture(autouse=True, params=["blas", "own"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of a native product, for all sizes."""
    monkeypatch.setattr(products, "_own_is_faster", lambda: request.param == "own")
    monkeypatch.setattr(products, "OWN_MIN_MULTIPLICATIONS", 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("ta", "tb"), list(combinations([False, True], repeat=2)))
def test_products_of_all_sizes(dtype: type, ta: bool, tb: bool) -> None:
    for m, k, n in SHAPES:
        a, b = operands(dtype, m, k, n, ta=ta, tb=tb)
        c = linalg.product(a, b, transpose_a=ta, transpose_b=tb)
        assert c.dtype == dtype and c.shape == (m, n)
        assert_close(c, op(a, ta), op(b, tb))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(3,), (2, 2), (0,), (1,)])
def test_batches(dtype: type, batch: tuple[int, ...]) -> None:
    for (m, k, n), ta, tb in combinations([(33, 7, 129), (200, 200, 200), (2, 1, 0)], (False, True), (False, True)):
        a, b = operands(dtype, m, k, n, batch, ta, tb)
        c = linalg.product(a, b, transpose_a=ta, transpose_b=tb)
        assert_close(c, op(a, ta), op(b, tb))
        if m == n:
            s = linalg.product(a, a, transpose_a=ta, transpose_b=not ta, symmetric=True)
            assert_close(s, op(a, ta), op(a, not ta))


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_products(dtype: type) -> None:
    for n, k, ta in combinations((0, 1, 2, 33, 191, 192, 193, 400), (0, 1, 7, 300), (False, True)):
        x, _ = operands(dtype, n, k, 1, ta=ta)
        c = linalg.product(x, x, transpose_a=ta, transpose_b=not ta, symmetric=True)
        assert c.tobytes() == c.T.tobytes()
        assert_close(c, op(x, ta), op(x, not ta))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_bits_do_not_depend_on_threads_or_place(dtype: type, symmetric: bool) -> None:
    for batch, k in combinations([(), (3,)], (40, 700)):
        a, _ = operands(dtype, 500, k, 1, batch)
        seen = set()
        for n in (1, 2, 3):
            optgen.set_num_threads(n)
            memory = np.full(a.size + n, np.nan, dtype)  # another alignment each time
            memory[n:] = a.ravel()
            x = memory[n:].reshape(a.shape)
            seen.add(linalg.product(x, x, transpose_b=True, symmetric=symmetric).tobytes())
        assert len(seen) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_and_infinities_reach_what_depends_on_them(dtype: type) -> None:
    a, b = operands(dtype, 33, 20, 300)
    a[3, 4], b[5, 6], a[7, 8] = np.nan, np.inf, -np.inf
    c = linalg.product(a, b)
    with np.errstate(invalid="ignore"):
        expected = a.astype(float) @ b.astype(float)
    assert (np.isnan(c) == np.isnan(expected)).all()
    assert (c[np.isinf(expected)] == expected[np.isinf(expected)]).all()
    x, _ = operands(dtype, 200, 3, 1)
    x[150, 0] = np.nan
    s = linalg.product(x, x, transpose_b=True, symmetric=True)
    lost = np.zeros((200, 200), bool)
    lost[150] = lost[:, 150] = True
    assert (np.isnan(s) == lost).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_was_in_out_is_not_read(dtype: type) -> None:
    for k, symmetric in combinations((0, 30), (False, True)):
        x, _ = operands(dtype, 250, k, 1)
        out = np.full((250, 250), np.nan, dtype)
        assert linalg.product(x, x, out, transpose_b=True, symmetric=symmetric) is out
        assert_close(out, op(x, False), op(x, True))


def test_memory_by_its_address() -> None:
    a, b = operands(np.float32, 4, 5, 6, (2,))
    x = linalg.view(a.ctypes.data, a.shape, a.dtype)
    x[0, 0, 0] = 7
    assert a[0, 0, 0] == 7 and linalg.view(0, (0, 3), "f4").shape == (0, 3)
    assert (linalg.product(x, b) == linalg.product(a, b)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_stay_within_bounds(dtype: type) -> None:
    """The kernels as Python, over memory that checks bounds, and that no task uses what another one writes."""
    from optgen.loops.kernel import checked

    a, b = operands(dtype, 5, 3, 7, (2,))
    c, s = np.empty((2, 5, 7), dtype), np.empty((2, 5, 5), dtype)
    with checked():
        blocks.multiply(2 * 3 * 2, 0, a, b, c, 111, 111, 5, 7, 3, 2, 4, 0)
        blocks.multiply(2 * 6, 0, a, a, s, 111, 112, 5, 5, 3, 2, 2, 1)
    assert_close(c, op(a, False), op(b, False))
    assert_close(s, op(a, False), op(a, True))


F, D = np.zeros((3, 4), np.float32), np.zeros((3, 4))


@pytest.mark.parametrize(
    ("error", "message", "a", "b", "options"),
    [
        (ValueError, r"the inner dimensions of \(3, 4\) @ \(3, 4\) differ: 4 and 3", F, F, {}),
        (TypeError, "a is float32 and b is float64; a product takes one dtype", F, D, {}),
        (TypeError, "a must be an array of float32 or float64, not an array of int64", F.astype(int), D, {}),
        (TypeError, "b must be an array of float32 or float64, not list", D, [1], {}),
        (ValueError, "a must have two dimensions or more", D[0], D, {}),
        (ValueError, "b of shape .* must be C-contiguous", D, np.zeros((3, 4)).T, {}),
        (ValueError, "the leading dimensions of a, .*, and b, .*, differ", D, D[None], {}),
        (ValueError, r"a product of shape \(3, 5\) is not square", D, np.zeros((4, 5)), {"symmetric": True}),
        (ValueError, r"out must be float64 of shape \(3, 3\)", D, D, {"transpose_b": True, "out": np.zeros((4, 4))}),
        (ValueError, "out overlaps an input", np.zeros((3, 3)), np.zeros((3, 3)), {"out": "a"}),
    ],
)
def test_bad_arguments(error: type[Exception], message: str, a, b, options) -> None:
    options = options | ({"out": a} if isinstance(options.get("out"), str) else {})
    with pytest.raises(error, match=message):
        linalg.product(a, b, **options)
