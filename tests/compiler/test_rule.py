"""Rules whose parameters differ in kernel, in storage, in how gradients come; one native call updates all of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import RowSparse, State
from optgen.execute import storage
from optgen.execute.buffers import numpy_dtype
from optgen.ir.storage import STORAGES as STORED
from tests.compiler.arrays import copies, random, same

MIXED = optgen.parse("""\
optimizer Mixed "another kernel for matrices, for those that skip, and for sparse ones"
param lr     = 0.5
flag  matrix = rank >= 2
flag  skip per param = false
state total: row = 0   if matrix
state m          = w   if not matrix
update:
  total' = total + mean(g^2, per row)   if matrix
  m'     = 0.5*m + g                    if not matrix
  d      = g/sqrt(total')               if matrix and not skip
  d      = m' + size                    if not matrix and not skip
  d      = g                            otherwise
  w'     = w - lr*d*step - t            if sparse
  w'     = w - lr*d*step                otherwise
""")
TOGETHER = optgen.parse(
    """\
optimizer Together "one number for all parameters"
param lr   = 1
param from = 2
flag  flat = rank < 2
state scale: shared = from
update:
  scale' = scale + sum(sum(grad), over params)
  w'     = w - lr*scale'*grad       if flat
  w'     = w - 2*lr*scale'*grad     otherwise
""".replace("from", "begin")
)
AVERAGED = optgen.parse("""\
optimizer Averaged "weights to evaluate with differ from those to train"
param lr = 1
param c  = 0.5
state x = w
update:
  w' = w - lr*g
  x' = x + (w' - x)/t
eval:
  w' = c*x + (1 - c)*w
""")


# ---------------------------------------------------------------- several kernels


def test_several_kernels_in_one_call() -> None:
    rule = optgen.load(MIXED, rescale_grad=0.5)
    shapes = [(3, 4), (5,), (), (2, 3, 2), (6, 1), (7,)]
    flags = [False, False, True, False, True, False]
    w, g = random(*shapes), random(*shapes, seed=1)
    state = rule.init(w, flags={"skip": flags})
    state.t[:] = [4, 0, 2, 3, 0, 7]
    assert {name: [None if x is None else x.shape for x in arrays] for name, arrays in state.arrays.items()} == {
        "total": [(3,), None, None, (2,), (6,), None],
        "m": [None, (5,), (), None, None, (7,)],
    }
    expected, total, m = copies(w), state.arrays["total"][0], state.arrays["m"][1]
    step = rule.bind(w, g, state, flags={"skip": flags})
    assert len(step._tables) == 4
    calls: list[None] = []
    run, step._run = step._run, lambda: calls.append(None) or run()  # type: ignore[func-returns-value]
    for table in step._tables:
        table.kernel.run = None  # type: ignore[assignment]
    lr = [0.5, 0.25, 1.0, 2.0, 0.125, 0.0]
    step(lr=lr)
    assert len(calls) == 1 and state.t.tolist() == [5, 1, 3, 4, 1, 8]
    assert total is not None and m is not None
    half = [x * np.float32(0.5) for x in g]
    assert np.allclose(total, np.mean(half[0] ** 2, axis=1)) and np.array_equal(m, 0.5 * expected[1] + half[1])
    d = [half[0] / np.sqrt(total)[:, None], m + 5, half[2], None, half[4], None]
    for i in (0, 1, 2, 4):
        assert np.allclose(w[i], expected[i] - lr[i] * d[i] * 8, rtol=1e-5)
    assert np.array_equal(w[5], expected[5])
    step(lr=0.0)
    assert state.t.tolist() == [6, 2, 4, 5, 2, 9]


def test_a_requirement_names_the_parameter() -> None:
    rule = optgen.load("groupadagrad")
    with pytest.raises(ValueError, match=r"params\[1\], of shape \(5,\): GroupAdaGrad: GroupAdaGrad updates matrices"):
        rule.init(random((2, 3), (5,)))


def test_one_kernel_for_parameters_that_differ_in_nothing() -> None:
    """A flag over the rank makes two kernels of a rule, not one for each rank."""
    rule = optgen.load(MIXED)
    kernels = [rule.kernel(shape) for shape in ((), (3,), (2, 2), (1, 2, 3), (4, 4, 4, 4))]
    assert [kernels.index(k) for k in kernels] == [0, 0, 2, 2, 2]


BAD_FLAGS: dict[str, tuple[Any, type[Exception], str]] = {
    "unknown": ({"skp": [True, False]}, TypeError, "no flag 'skp' that is set for each parameter; did you mean 'skip'"),
    "derived": ({"matrix": [True, False]}, TypeError, "no flag 'matrix' that is set for each"),
    "too few": ({"skip": [True]}, ValueError, "'skip' must be a list with one value for each of 2 parameters"),
    "one": ({"skip": True}, ValueError, "'skip' must be a list"),
    "number": ({"skip": [True, 2]}, ValueError, "'skip' must be True or False, not 2"),
    "text": ({"skip": "ab"}, ValueError, "'skip' must be a list"),
    "0-dimensional": ({"skip": np.array(True)}, ValueError, "'skip' must be a list"),
    "rows": ({"skip": np.ones((2, 3), bool)}, ValueError, r"'skip' must be True or False, not array\(\[ True"),
}


@pytest.mark.parametrize("flags, error, text", BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_bad_flags(flags: Any, error: type[Exception], text: str) -> None:
    rule, w = optgen.load(MIXED), random((3,), (2, 2))
    with pytest.raises(error, match=text):
        rule.init(w, flags=flags)
    with pytest.raises(error, match=text):
        rule.bind(w, copies(w), rule.init(w), flags=flags)


def test_a_flag_of_all_parameters_for_each() -> None:
    with pytest.raises(TypeError, match=r"'amsgrad' .*; this one is for all .* 'flag amsgrad per param = \.\.\.'"):
        optgen.load("adam").bind([np.ones(3, np.float32)], flags={"amsgrad": [True]})


def test_flags_and_inputs_of_any_iterable() -> None:
    rule, flags = optgen.load(MIXED), [True, False]
    expected, g = random((3,), (2, 2)), random((3,), (2, 2), seed=1)
    rule.bind(expected, g, flags={"skip": flags}, ids=[4, 2])()
    for given in (np.array(flags), iter(flags), tuple(flags)):
        w = random((3,), (2, 2))
        rule.bind(iter(w), dict(enumerate(g)).values(), flags={"skip": given}, ids=iter([4, 2]))()
        assert same(w, expected)
    sophia, (h,) = optgen.load("sophia"), random((3,), seed=2)
    w, other = random((3,)), random((3,))
    sophia.bind(w, g[:1], inputs={"h_hat": iter([h])})()
    sophia.bind(other, g[:1], inputs={"h_hat": [h]})()
    assert same(w, other)


def test_sums_over_parameters() -> None:
    rule = optgen.load(TOGETHER, begin=3)
    w, g = random((4,), ()), random((4,), (), seed=1)
    before = copies(w)
    state = rule.init(w)
    shared = state.arrays["scale"]
    assert shared[0] is shared[1] and shared[0] is not None and shared[0].shape == () and shared[0] == 3
    rule.bind(w, g, state)()
    assert np.isclose(shared[0], 3 + sum(x.astype(np.float64).sum() for x in g))
    assert np.allclose(w[0], before[0] - shared[0] * g[0])
    with pytest.raises(ValueError, match=r"state\['scale'\]: one value for all parameters"):
        rule.bind(w, g, State({"scale": copies(shared)}, state.t))
    w, g = random((4,), (), (2, 2)), random((4,), (), (2, 2), seed=1)  # variants differ, and the number is one
    before = copies(w)
    rule.bind(w, g, state := rule.init(w))()
    total = state.arrays["scale"][0]
    assert np.isclose(total, 3 + sum(x.astype(np.float64).sum() for x in g))
    assert all(np.allclose(x, b - k * total * d) for x, b, k, d in zip(w, before, (1, 1, 2), g, strict=True))

    # Blocks of 8 bits are for large parameters, but here they must not make a second kernel.
    w, g = random((80, 80), (7, 2)), random((80, 80), (7, 2), seed=1)
    assert len(optgen.load("prodigy", storage="int8_linear").bind(w, g)._tables) == 1

    class Param(np.ndarray):
        grad: Any = None

    w, g = random((4,), ()), random((4,), (), seed=1)
    params = [x.view(Param) for x in w]
    before, state = copies(w), rule.init(params)
    step = rule.bind(params, state=state)
    step()  # no parameter has a gradient, so nothing happens
    assert same(params, before) and state.arrays["scale"][0] == 3 and state.t.tolist() == [0, 0]
    params[0].grad = g[0]
    step()
    params[0].grad, params[1].grad = None, g[1]
    step()  # each time, one is left out: it stays, is not counted, and adds nothing to the sum
    sums = np.cumsum([3, g[0].astype(np.float64).sum(), float(g[1])])
    assert np.isclose(state.arrays["scale"][0], sums[2]) and state.t.tolist() == [1, 1]
    rule.bind(before[:1], g[:1])()
    assert same(params[:1], before[:1])


def test_the_flag_sparse_chooses_another_kernel() -> None:
    rule = optgen.load(MIXED, lr=0.0)
    w, g = random((4,), (2, 2), (4,)), random((4,), (2, 2), (4,), seed=1)
    before = copies(w)
    rows = RowSparse(np.array([2, 0]), g[0][:2])
    state = rule.init(w, row_sparse=[True, False, False])
    step = rule.bind(w, [rows, g[1], g[2]], state)
    step()
    assert np.array_equal(w[0], before[0] - [1, 0, 1, 0]) and same(w[1:], before[1:])
    with pytest.raises(ValueError, match=r"grads\[0\]: dense, for which its parameter has another kernel"):
        step.rebind(g)
    with pytest.raises(ValueError, match=r"grads\[2\]: row-sparse, for which"):
        step.rebind([rows, g[1], rows])


# ---------------------------------------------------------------- storage

STORAGES = [
    "float16",
    "float16_stochastic",
    "bfloat16",
    "bfloat16_stochastic",
    "int8_dynamic",
    "int8_linear",
    "int4_dynamic",
]


@pytest.mark.parametrize("name", STORAGES)
@pytest.mark.parametrize("row_sparse", [False, True])
def test_states_in_fewer_bits(name: str, row_sparse: bool) -> None:
    """Adam comes near what it does with float32 states; small tensors keep these if blocks of codes are asked for."""
    rule, exact = optgen.load("adam", storage=name, epsilon=1e-3), optgen.load("adam", epsilon=1e-3)
    shapes = [(40, 300), (50,), (5000,)]
    w, g = random(*shapes), random(*shapes, seed=1)
    v = copies(w)
    state = rule.init(w, row_sparse=[row_sparse] * 3)
    step, reference = rule.bind(w, g, state), exact.bind(v, g)
    for _ in range(3):
        step(lr=0.01)
        reference(lr=0.01)
    block, is_packed = STORED[name].block, name == "int4_dynamic"
    assert len(step._tables) == (2 if block else 1)
    assert max(abs(a - b).max() for a, b in zip(w, v, strict=True)) < (0.02 if is_packed else 0.01)
    large, small = state.arrays["v"][0], state.arrays["v"][1]
    assert large is not None and small is not None
    assert large.shape == ((40, 300) if not is_packed else (40, 150) if row_sparse else (6000,))
    if block is None:
        assert (
            large.dtype == small.dtype == numpy_dtype(name.removesuffix("_stochastic"))
            and "v.scale" not in state.arrays
        )
        return
    assert (large.dtype, small.dtype) == (np.uint8, np.float32) and state.arrays["v.scale"][1] is None
    scales = state.arrays["v.scale"][0]
    assert scales is not None and scales.shape == ((40, -(-300 // block)) if row_sparse else (-(-12000 // block),))
    buffer = rule.kernel(shapes[0]).states["v"]
    kept = reference.state.arrays["v"][0]
    assert kept is not None
    assert (
        np.abs(storage.decode(large, scales, buffer, (40, 300)) - kept).max()
        < (0.06 if is_packed else 0.03) * kept.max()
    )


@pytest.mark.parametrize("name", ["int8_dynamic", "int8_linear", "int4_dynamic"])
def test_states_in_codes_begin_at_4096_elements(name: str) -> None:
    """In whatever shape; where blocks restart at all rows also at rows of 16. Specs that sum over parameters have codes
    for all."""
    shapes = [(4095,), (4096,), (63, 65), (64, 64), (16, 255), (17, 255), (16, 256), (1, 2, 2048), (274, 15), ()]
    params = [np.zeros(shape, np.float32) for shape in shapes]

    def coded(name_of_spec: str, state: str, **how: Any) -> list[tuple[int, ...]]:
        kept = optgen.load(name_of_spec, storage={state: name}, **how).init(params).arrays
        numbers, scales = kept[state], kept[f"{state}.scale"]
        assert {(x.dtype.name, s is None) for x, s in zip(numbers, scales, strict=True)} <= {
            ("float32", True), ("uint8", False)
        }  # fmt: skip
        return [shape for shape, x in zip(shapes, numbers, strict=True) if x.dtype == np.uint8]

    large = [(4096,), (64, 64), (17, 255), (16, 256), (1, 2, 2048), (274, 15)]
    assert coded("adam", "v") == coded("adam", "v", blocks_by_row="long") == large
    assert coded("adam", "v", blocks_by_row=True) == large[1:-1]  # a vector has rows of 1
    assert coded("prodigy", "v") == shapes


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_start_values_and_masters(dtype: str) -> None:
    spec = optgen.parse("""\
optimizer Starts "states that start as something"
param lr = 1
param c  = -0.75
state a = c
state b = w
state p = 2
update:
  a' = a
  b' = b
  p' = p
  w' = w - lr*(g + 0*(a + b + p))
""")
    (w,), (g,) = random((30, 200), dtype=dtype), random((30, 200), dtype=dtype, seed=1)
    before = w.astype(np.float32)
    for name in (None, *STORAGES):
        rule = optgen.load(spec, dtype, master=True, storage=name, c=-0.5)
        state = rule.init([w], [True])
        for state_name, value in (("a", -0.5), ("b", before), ("p", 2)):
            (array,) = state.arrays[state_name]
            assert array is not None
            if f"{state_name}.scale" in state.arrays:
                (scales,) = state.arrays[f"{state_name}.scale"]
                assert (
                    name is not None and scales is not None and scales.shape == (30, -(-200 // STORED[name].block or 1))
                )
                array = storage.decode(array, scales, rule.kernel(w.shape).states[state_name], w.shape)
            assert array.shape == w.shape
            off = 0.5 if name == "int4_dynamic" else 0.06 if name and "int8" in name else 0.02
            assert np.abs(array.astype(np.float32) - value).max() <= off
    (master,) = state.arrays["w"]
    assert master is not None and master.dtype == np.float32 and np.array_equal(master, before)
    rule.bind([w], [g], state)(lr=2**-10)
    assert np.array_equal(master, before - np.float32(2**-10) * g.astype(np.float32))
    assert np.array_equal(w, master.astype(w.dtype))


def test_state_of_another_storage() -> None:
    w, g = random((80, 80)), random((80, 80), seed=1)
    state = optgen.load("adam", storage={"m": "bfloat16"}).init(w)
    with pytest.raises(TypeError, match=r"state\['m'\]\[0\]: dtype bfloat16, but the kernel takes float32"):
        optgen.load("adam").bind(w, g, state)
    with pytest.raises(ValueError, match=r"state: holds m, v for params\[0\], where .* keeps m, m\.scale, v"):
        optgen.load("adam", storage={"m": "int8_linear"}).bind(w, g, state)


# ---------------------------------------------------------------- evaluation, inputs, draws


@pytest.mark.parametrize("dtype, master", [("float32", False), ("float64", False), ("bfloat16", True)])
def test_evaluation(dtype: str, master: bool) -> None:
    rule = optgen.load(AVERAGED, dtype, master=master, c=0.25)
    w, g = random((3, 2), (), dtype=dtype), random((3, 2), (), dtype=dtype, seed=1)
    step = rule.bind(w, g)
    step()
    step(lr=0.5)
    kept = copies(w)
    for c, found in ((0.25, rule.evaluate(w, step.state)), (0.25, step.evaluate())):
        for i, x in enumerate(found):
            average, weight = (step.state.arrays[n][i] for n in ("x", "w" if master else "x"))
            weight = weight if master else w[i]
            wide = average.dtype.type
            assert x.dtype == w[i].dtype and np.array_equal(
                x, (wide(c) * average + wide(1 - c) * weight).astype(x.dtype)
            )
    step(c=1.0, lr=0.0)
    assert same(step.evaluate(), [x.astype(w[0].dtype) for x in step.state.arrays["x"]]) and step.state.t.tolist() == [
        3,
        3,
    ]
    assert master or same(w, kept)
    with pytest.raises(ValueError, match=r"SGD has no eval: section"):
        optgen.load("sgd").bind(random((3,)), random((3,), seed=1)).evaluate()


def test_evaluation_takes_the_flags_of_parameters() -> None:
    text = "optimizer Partly\nflag plain per param = false\nstate x = w if not plain\nupdate:\n  w' = w - lr*g\n"
    text += "  x' = 0.5*(x + w') if not plain\neval:\n  w' = w if plain\n  w' = x otherwise\n"
    rule, w, flags = optgen.load(optgen.parse(text)), random((3,), (3,)), {"plain": [True, False]}
    step = rule.bind(w, random((3,), (3,), seed=1), flags=flags)
    step(lr=0.5)
    found = rule.evaluate(w, step.state, flags=flags)
    assert same(found, step.evaluate()) and same(found, [w[0], step.state.arrays["x"][1]])
    with pytest.raises(ValueError, match=r"holds nothing for params\[0\], .* keeps x; it was made .* with other flags"):
        rule.evaluate(w, step.state)


def test_inputs() -> None:
    rule = optgen.load("sophia")
    w, g, h = (random((4, 3), (5,), seed=k) for k in range(3))
    before = copies(w)
    rule.bind(w, g, inputs={"h_hat": h})()
    assert all(not np.array_equal(a, b) for a, b in zip(w, before, strict=True))
    bad: dict[str, tuple[Any, type[Exception], str]] = {
        "none": (None, ValueError, r"Sophia reads 'h_hat': give inputs=\{'h_hat': \[\.\.\.\]\}"),
        "name": ({"h_ha": h}, TypeError, "no input 'h_ha'; did you mean 'h_hat'"),
        "number": ({"h_hat": h[:1]}, ValueError, r"inputs\['h_hat'\]: 1 tensors for 2 parameters"),
        "shape": ({"h_hat": h[::-1]}, ValueError, r"inputs\['h_hat'\]\[0\]: shape \(5,\)"),
        "dtype": (
            {"h_hat": random((4, 3), (5,), dtype="float64")},
            TypeError,
            r"inputs\['h_hat'\]\[0\]: dtype float64",
        ),
        "shared": ({"h_hat": w}, ValueError, r"inputs\['h_hat'\]\[0\].* share memory|share memory"),
    }
    for inputs, error, text in bad.values():
        with pytest.raises(error, match=text):
            rule.bind(w, g, inputs=inputs)
    with pytest.raises(TypeError, match="SGD has no input 'h'; it has none"):
        optgen.load("sgd").bind(w, g, inputs={"h": h})


def test_seed_and_ids() -> None:
    spec = optgen.parse("""\
optimizer Noise "nothing but noise"
update:
  n  = normal()
  w' = n + 0*g
""")
    rule = optgen.load(spec)

    def draws(seed: int, ids: list[int] | None = None) -> list[bytes]:
        w, g = [np.zeros(6, np.float32) for _ in range(2)], random((6,), (6,))
        step = rule.bind(w, g, ids=ids)
        step.seed = seed
        assert step.seed == seed
        step()
        return [x.tobytes() for x in w]

    assert draws(1) == draws(1, [0, 1]) != draws(2) and draws(1, [1, 0]) == draws(1)[::-1]
    assert len({*draws(1), *draws(2**64 - 1), *draws(1, [5, 2**20 - 1])}) == 6
    for ids in ([0, 0], [0], [0, 2**20], [-1, 0]):
        with pytest.raises(ValueError, match="ids: expected 2 different numbers from 0 to 2"):
            draws(1, ids)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="the seed must be from 0 to 2"):
            draws(seed)


@pytest.mark.parametrize("name", ["adam", "nadam", "lamb"])
def test_tensors_that_share_host_values(name: str) -> None:
    """They are computed once for equal counts and hyper-parameters; the bits are those of single steps."""
    rule = optgen.load(name)
    counts, rates = [5, 5, 3, 5, 3, 3, 0, 0], [0.1, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1]
    shapes = [(3, k + 20) for k in range(len(counts))]
    weights, grads = (random(*shapes, seed=seed) for seed in (0, 1))
    alone = copies(weights)
    state = rule.init(weights)
    state.t[:] = counts
    step = rule.bind(weights, grads, state)
    for k, w in enumerate(alone):
        own = rule.init([w])
        own.t[:] = counts[k]
        one = rule.bind([w], [grads[k]], own)
        for _ in range(2):
            one(lr=rates[k])
    for _ in range(2):
        step(lr=rates)
    assert same(weights, alone)
    assert state.t.tolist() == [count + 2 for count in counts]


def test_threads_that_bind_at_once_have_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters whose sum is one number, and owners of boxes, are grouped by their kernel."""
    rule, both = optgen.load(TOGETHER), threading.Barrier(2)
    load = type(rule.target).kernel

    def slow(*args: Any, **options: Any) -> Any:
        both.wait(60)  # each has found that there is no kernel yet
        return load(*args, **options)

    monkeypatch.setattr(type(rule.target), "kernel", slow)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(rule.kernel, [(3, 4), (3, 4)])
    assert first is second is rule.kernel((5, 4))
    monkeypatch.undo()
    w = [np.ones((3, 4), np.float32), np.ones((5, 4), np.float32)]
    rule.bind(w, [np.ones_like(x) for x in w])()
