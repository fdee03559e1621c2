"""Operators that `repeats`: the calls of kernels that one call of them makes are all that they do, with any numbers.

Plans take their word for it. Here each is called again with others: floats, integers, truth values, all alike or not.
"""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from runtime import nd
from runtime.base import MXNetError
from runtime.core import threaded
from runtime.core.kept import is_of_sizes, root
from runtime.native import arithmetic as native
from runtime.ndarray import two_gradients
from runtime.ndarray.operator import Operator, repeating
from runtime.ndarray.reduce import reductions
from runtime.ndarray.shape import reshape, subscript
from runtime.ndarray.two_gradients import BackwardCall, TwoGradientOperator, constants, run_elementwise_kernel
from runtime.plan.capture import KernelCall, capture, watched
from runtime.plan.places import Places
from tests.ndarray import kernel_cases, window_kernel_cases
from tests.ndarray.kernel_cases import differentiate, numbers
from tests.sweeps import swept

pytestmark = pytest.mark.cpu_only("native kernels")

rng = np.random.default_rng(4)
Call = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""An operator, or the gradient of one, its inputs and its attributes."""


# ---------------------------------------------------------------- which calls there are


def arithmetic(dtype: str) -> None:
    x, y, few = numbers(dtype, 3, 8), numbers(dtype, 3, 8), numbers(dtype, 3)
    for function in (
        lambda a, b: a + b - a * b / b, lambda a, b: (2 - a) * 3 + b / 4 - 1, lambda a, b: -a + nd.square(b),
        lambda a, b: nd.identity(a) + nd.clip(b, -1, 0.5) + nd.hard_sigmoid(a), lambda a, b: nd.where(a > 0, a, b),
        lambda a, b: nd.where(a, a, b) + nd.where(a, b, nd.zeros_like(b)), lambda a, b: nd.relu(a) * nd.sigmoid(b),
        lambda a, b: nd.Activation(a, "softrelu") + nd.softsign(b) + nd.tanh(a) + nd.erf(b),
        lambda a, b: nd.LeakyReLU(a, act_type="elu") + nd.LeakyReLU(b, act_type="selu"),
        lambda a, b: nd.LeakyReLU(a, slope=0.3) + nd.LeakyReLU(b, act_type="gelu"),
        lambda a, b: nd.concat(a, b, dim=0)[2:4] + nd.stack(a, b, axis=0)[1, 1:], lambda a, b: nd.cumsum(a, axis=0) * b,
        lambda a, b: nd.add_n(*nd.split(a, 2)) + nd.slice_axis(b, axis=1, begin=1, end=5),
        lambda a, b: nd.transpose(a) * b.T, lambda a, b: nd.dot(a, b.T), lambda a, b: a[:, 1:3] * b[:, 4:6],
        lambda a, b: a.sum(axis=0) + b.sum(axis=1).sum(),
        lambda a, b: nd.LogisticRegressionOutput(a, b) + nd.SoftmaxOutput(a, nd.softmax(b)),
        lambda a, b: nd.LinearRegressionOutput(a, b) + nd.MAERegressionOutput(a, b),
    ):  # fmt: skip
        differentiate(function, x, y)
    for labels in (np.array([1, 0, 2]), np.array([5.0, 0.0, 5.0], dtype)):
        label = nd.array(labels, dtype=labels.dtype)
        differentiate(lambda a, label=label: nd.softmax_cross_entropy(a, label), x)
        differentiate(lambda a, label=label: nd.pick(a, label), x)
        differentiate(lambda a, label=label: nd.one_hot(label, 8, dtype=a.dtype) * a, x)
    differentiate(lambda a, b: nd.dot(a, b), few.reshape(1, 3), x)
    differentiate(lambda a, slopes: nd.LeakyReLU(a, slopes, act_type="prelu"), numbers(dtype, 2, 3, 4, 5), few)


def layers(dtype: str) -> None:
    """Convolutions in each of the ways there are, and what is around them."""
    for channels, filters, size, options in (
        (3, 8, 12, {"kernel": (3, 3)}),
        (16, 16, 16, {"kernel": (3, 3), "pad": (1, 1)}),
        (32, 32, 14, {"kernel": (3, 3), "pad": (2, 2), "dilate": (2, 2)}),
        (32, 48, 14, {"kernel": (5, 5), "pad": (2, 2), "stride": (2, 2)}),
        (64, 64, 8, {"kernel": (1, 1)}),
        (64, 128, 2, {"kernel": (1, 1)}),
        (32, 32, 15, {"kernel": (1, 1), "stride": (2, 2)}),
        (16, 16, 9, {"kernel": (3, 3), "pad": (1, 1), "num_group": 16}),
        (16, 32, 9, {"kernel": (3, 3), "pad": (1, 1), "num_group": 4}),
        (64, 64, 9, {"kernel": (3, 3), "pad": (1, 1), "num_group": 2}),
    ):
        weight = numbers(dtype, filters, channels // options.get("num_group", 1), *options["kernel"])
        for bias in ([], [numbers(dtype, filters)]):
            differentiate(
                lambda x, w, *b, options=options, filters=filters: nd.Convolution(
                    x, w, *b, num_filter=filters, no_bias=not b, **options
                ),
                numbers(dtype, 3, channels, size, size), weight, *bias,
            )  # fmt: skip


SOURCES = [*kernel_cases.CASES, *window_kernel_cases.CASES, arithmetic, layers]
OFTEN = ("softmaxes", "normalizations", "interleaved", "picks", "running_sums", "transposes", "arithmetic")
MAX_CALLS = 40
"""Of an operator, in one source."""


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels compute the results of arrays of any size."""
    monkeypatch.setattr(threaded, "MIN_ELEMENTS", 1)
    monkeypatch.setattr(subscript, "MIN_ELEMENTS", 1)
    monkeypatch.setattr(two_gradients, "MIN_KERNEL_ELEMENTS", 1)
    monkeypatch.setattr(reductions, "MIN_KERNEL_ELEMENTS", 1)
    monkeypatch.setattr(reshape, "MIN_EXCHANGED", 1)


def operators() -> list[Operator]:
    return [x for x in gc.get_objects() if isinstance(x, Operator)]


def calls_of(source: Callable[[str], None], dtype: str) -> list[Call]:
    """The calls of operators that it makes, one for each kind of arguments."""
    found: dict[Any, Call] = {}

    def noted(operator: Any, function: Callable[..., Any], outputs: Callable[[Any], int] | None) -> Callable[..., Any]:
        def call(*inputs: Any, **attrs: Any) -> Any:
            said = attrs
            if outputs is not None:
                said = {key: x for key, x in attrs.items() if key != "places"}
                key, given = BackwardCall(operator, outputs(inputs[1])), flat(inputs)
                if "places" in attrs:
                    said["places"] = [None] * len(attrs["places"])
            else:
                key, given = operator, inputs
            kinds = [(x.shape, x.dtype.char) if isinstance(x, np.ndarray) else repr(x) for x in given]
            copies = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in given)
            found.setdefault((key, *kinds, repr(said)), (key, copies, said))
            return function(*inputs, **attrs)

        return call

    def flat(inputs: Sequence[Any]) -> list[Any]:
        g, y, *rest = inputs
        return [*g, *y, *rest] if isinstance(y, tuple) else [g, y, *rest]

    with pytest.MonkeyPatch.context() as patch:
        for operator in operators():
            patch.setattr(operator, "forward", noted(operator, operator.forward, None))
            if isinstance(operator, TwoGradientOperator):
                backward = noted(operator, operator._backward, lambda y: len(y) if isinstance(y, tuple) else 0)
                patch.setattr(operator, "_backward", backward)
        source(dtype)
    return list(found.values())


# ---------------------------------------------------------------- the same calls with other numbers


def others(inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """The inputs with other numbers: of integers, some of those that were there, as they may be places."""
    for floats, whole in (
        (lambda x: np.roll(x, 1) * x.dtype.type(0.72) + x.dtype.type(0.27), lambda x: np.roll(x, 1)),
        (np.zeros_like, lambda x: np.full_like(x, x.min())),
        (lambda x: np.full_like(x, 1), lambda x: np.full_like(x, x.max())),
        (lambda x: rng.normal(size=x.shape), lambda x: rng.choice(x.ravel(), x.shape)),
    ):
        yield [
            x if not isinstance(x, np.ndarray) or not x.size
            else np.ascontiguousarray((floats if x.dtype.kind == "f" else whole)(x), x.dtype) for x in inputs
        ]  # fmt: skip


def typed(inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """The inputs as they are, and with each array but the first as one of integers or truth values, once with all of
    them alike."""
    yield list(inputs)
    for i, x in enumerate(inputs):
        if i and isinstance(x, np.ndarray) and x.size and x.dtype.kind == "f":
            for dtype, y in itertools.product(("int32", "int64", "bool"), (np.abs(x) * 3, np.full_like(x, 2))):
                yield [*inputs[:i], np.nan_to_num(y).astype(dtype), *inputs[i + 1 :]]


def check(operator: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Whether plans would make the kernels' calls; AssertionError if these then are not what the operator does."""
    captured = capture(operator.forward, inputs, attrs)
    if captured is None:
        return False
    outputs, calls = captured
    for given in others(inputs):
        before = [x.tobytes() if isinstance(x, np.ndarray) else x for x in given]
        expected, expected_calls = watched(operator.forward, given, attrs)
        assert_alike(calls, expected_calls, inputs, given)
        found = again(calls, inputs, given, outputs)
        for x, y in zip(found, expected, strict=True):
            assert_same(x, y, operator)
        assert before == [x.tobytes() if isinstance(x, np.ndarray) else x for x in given], "an input has changed"
    return True


def assert_alike(
    calls: Sequence[KernelCall], others: Sequence[KernelCall], inputs: Sequence[Any], given: Sequence[Any]
) -> None:
    """The same kernels, integers, and arrays of sizes, and the same inputs at the same places."""
    assert [(x.kernel, x.tasks, x.work, x.scratch) for x in calls] == [
        (x.kernel, x.tasks, x.work, x.scratch) for x in others
    ]
    for call, other in zip(calls, others, strict=True):
        for x, y in zip(call.arguments, other.arguments, strict=True):
            if isinstance(x, np.ndarray):
                assert (x.shape, x.dtype, is_of_sizes(x)) == (y.shape, y.dtype, is_of_sizes(y))
                assert not is_of_sizes(x) or x.tobytes() == y.tobytes(), call.kernel.name
                places = [[id(root(z)) for z in arrays if isinstance(z, np.ndarray)] for arrays in (inputs, given)]
                assert (id(root(x)) in places[0]) == (id(root(y)) in places[1])
            else:
                assert x == y, call.kernel.name


def again(
    calls: Sequence[KernelCall], inputs: Sequence[Any], given: Sequence[Any], outputs: Sequence[Any]
) -> list[np.ndarray | None]:
    """What the calls compute with the inputs `given`, in memory of NaN."""
    moved = Places()
    for x, y in zip(inputs, given, strict=True):
        if isinstance(x, np.ndarray) and x.size and moved.find(x) is None:
            moved.add(x, y, 0)
    for x in {id(root(x)): root(x) for call in calls for x in call.results(inputs)}.values():
        if x.size and not is_of_sizes(x):
            moved.add(x, np.full(x.nbytes, 0xFF, np.uint8), 0)  # NaN in every type of floats

    def place(x: Any) -> Any:
        found = moved.find(x) if isinstance(x, np.ndarray) and x.size else None
        if found is None:
            return x
        to, offset = found
        return to.reshape(-1).view(np.uint8)[offset : offset + x.nbytes].view(x.dtype).reshape(x.shape)

    for call in calls:
        KernelCall(call.kernel, call.tasks, call.work, tuple(map(place, call.arguments)), call.scratch).run()
    return [place(x) for x in outputs]


def assert_same(x: np.ndarray | None, y: np.ndarray | None, operator: Any) -> None:
    assert (x is None) == (y is None), operator.name
    if x is not None and y is not None:
        np.testing.assert_array_equal(x, y, operator.name)
        assert np.array_equal(np.signbit(x), np.signbit(y)), f"{operator.name}: signs of zeros"


# ---------------------------------------------------------------- tests


EFFECTS = {"move_averages"}
"""Operators that are called for what they write to, which plans do in Python."""


def captured_in(source: Callable[[str], None]) -> set[Any]:
    """The operators, and gradients of some, whose calls by the source plans would leave to kernels; all are checked.

    AssertionError for one that is not declared, and whose calls follow from sizes all the same.
    """
    found, made = set(), Counter[Any]()
    would_be: dict[Any, bool] = {}
    for operator, inputs, attrs in calls_of(source, "float32"):
        made[operator] += 1
        if made[operator] > MAX_CALLS or holds_arrays(attrs) or not operator.pure or operator.name in EFFECTS:
            continue
        for given in typed(inputs) if operator.repeats else [inputs]:
            try:
                operator.forward(*given, **attrs)
            except (IndexError, MXNetError, TypeError, ValueError):  # of a type that it does not take
                continue
            if operator.repeats:
                found |= {operator} if check(operator, given, attrs) else set()
            elif capture(operator.forward, given, attrs) is not None:
                would_be[operator] = would_be.get(operator, True) and passes(operator, given, attrs)
    assert not [x.name for x, does in would_be.items() if does], "these can be declared to repeat their calls"
    return found


def passes(operator: Any, inputs: Sequence[Any], attrs: dict[str, Any]) -> bool:
    try:
        return check(operator, inputs, attrs)
    except AssertionError:
        return False


def holds_arrays(attrs: Any) -> bool:
    """Plans leave such calls alone."""
    if isinstance(attrs, dict):
        return any(map(holds_arrays, attrs.values()))
    return any(map(holds_arrays, attrs)) if isinstance(attrs, (tuple, list)) else isinstance(attrs, np.ndarray)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("source", swept(SOURCES, lambda source: source.__name__ in OFTEN))
def test_what_is_declared_is_so(source: Callable[[str], None]) -> None:
    with np.errstate(all="ignore"):
        captured_in(source)


@pytest.mark.stress
@pytest.mark.usefixtures("small_is_large")
def test_what_is_declared_is_tried() -> None:
    with np.errstate(all="ignore"):
        found = set().union(*map(captured_in, SOURCES))
    tried = {x.of if isinstance(x, BackwardCall) else x for x in found}
    assert {x.name for x in operators() if x.repeats} == {x.name for x in tried}


# ---------------------------------------------------------------- the test finds what it is for


def _largest(x: np.ndarray) -> np.ndarray:
    return run_elementwise_kernel(native.add_number, x, constants(x.dtype, float(x.max())))


def _up_to_the_largest(x: np.ndarray) -> np.ndarray:
    y, n = np.empty_like(x), 1 + int(x.argmax())
    native.copy(1, n, x, y, n)
    return y


def _afterwards(x: np.ndarray) -> np.ndarray:
    y = run_elementwise_kernel(native.copy, x)
    y += 1
    return y


def _into_zeros(x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    native.copy(1, x.size - 1, x, y, x.size - 1)
    return y


def _by_values(x: np.ndarray) -> np.ndarray:
    return run_elementwise_kernel(native.copy if x[0] > 0 else native.negate, x)


def _in_place(x: np.ndarray) -> np.ndarray:
    native.negate(1, x.size, x, x, x.size)
    return run_elementwise_kernel(native.copy, x)


@pytest.mark.parametrize("forward", [_largest, _up_to_the_largest, _afterwards, _into_zeros, _by_values, _in_place])
def test_a_wrong_declaration_is_found(forward: Callable[[np.ndarray], np.ndarray]) -> None:
    with pytest.raises(AssertionError):
        check(repeating(Operator(forward)), [numbers("float32", 7)], {})


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_what_is_copied_in_between_is_no_input(dtype: str) -> None:
    def converted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return run_elementwise_kernel(native.add, x, y.astype(x.dtype, copy=False))

    x = numbers("float32", 7)
    assert capture(converted, [x, x], {}) is not None
    assert capture(converted, [x, np.ones(7, dtype)], {}) is None
