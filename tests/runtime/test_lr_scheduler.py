"""Learning-rate schedules: MXNet's numbers, the papers' formulas, no memory, arguments checked, pictures."""

from __future__ import annotations

import builtins
import inspect
import json
from typing import Any

import pytest

from runtime import lr_scheduler, misc, nd, optimizer
from runtime.lr_scheduler import (
    CosineScheduler,
    FactorScheduler,
    InverseSquareRootScheduler,
    LinearScheduler,
    LRScheduler,
    MultiFactorScheduler,
    OneCycleScheduler,
    PolyScheduler,
    TriangularScheduler,
)

UPDATES = (1, 2, 4, 5, 6, 8, 9, 11, 12, 13, 20)
MXNET = [  # what MXNet 1.9.1 returned at UPDATES when asked for 1, 2, 3, ..., 20
    (FactorScheduler(4, 0.5, base_lr=0.8), (0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.05)),
    (FactorScheduler(4, 0.5, 0.15, 0.8), (0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.15, 0.15)),
    (FactorScheduler(4, 0.5, 1e-8, 0.8, 6, 0.2), (0.3, 0.4, 0.6, 0.7, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.05)),
    (
        MultiFactorScheduler([4, 5, 11], 0.3, base_lr=0.8),
        (0.8, 0.8, 0.8, 0.24, 0.072, 0.072, 0.072, 0.072, 0.0216, 0.0216, 0.0216),
    ),
    (
        MultiFactorScheduler([4, 5, 11], 0.3, 0.8, 6, 0.2, "constant"),
        (0.2, 0.2, 0.2, 0.2, 0.072, 0.072, 0.072, 0.072, 0.0216, 0.0216, 0.0216),
    ),
    (
        PolyScheduler(12, base_lr=0.8),
        (0.672222222, 0.555555556, 0.355555556, 0.272222222, 0.2, 0.0888888889, 0.05, 0.00555555556, 0, 0, 0),
    ),
    (
        PolyScheduler(12, 0.8, 3, 0.1, 6, 0.2),
        (0.3, 0.4, 0.6, 0.7, 0.8, 0.307407407, 0.1875, 0.103240741, 0.1, 0.1, 0.1),
    ),
    (
        CosineScheduler(12, base_lr=0.8),
        (0.786370331, 0.746410162, 0.6, 0.503527618, 0.4, 0.2, 0.117157288, 0.0136296695, 0, 0, 0),
    ),
    (
        CosineScheduler(12, 0.8, 0.1, 6, 0.2, "constant"),
        (0.2, 0.2, 0.2, 0.2, 0.8, 0.625, 0.45, 0.146891109, 0.1, 0.1, 0.1),
    ),
]
LITERATURE = [
    LinearScheduler(12, 0.8, 0.1, 6, 0.2),
    InverseSquareRootScheduler(0.5, 4),
    TriangularScheduler(4, 0.9, "triangular2", base_lr=0.1, warmup_steps=3),
    OneCycleScheduler(4, 0.9, 13, 0.1, 0.01, 3),
]
ALL = [schedule for schedule, _ in MXNET] + LITERATURE


def rates(schedule: lr_scheduler.Schedule, *updates: int) -> Any:
    return pytest.approx([schedule(n) for n in updates], rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("schedule", "values"), MXNET)
def test_the_rates_are_those_of_mxnet(schedule: LRScheduler, values: tuple[float, ...]) -> None:
    assert rates(schedule, *UPDATES) == list(values)


def test_a_learning_rate_beside_a_schedule() -> None:
    def first_and_eleventh(schedule: LRScheduler) -> Any:
        optimizer.create("sgd", learning_rate=0.4, lr_scheduler=schedule)
        return rates(schedule, 1, 11)

    assert first_and_eleventh(FactorScheduler(4, 0.5, base_lr=0.8)) == [0.4, 0.1]
    assert first_and_eleventh(FactorScheduler(4, 0.5, 1e-8, 0.8, 6, 0.2)) == [0.3, 0.1]
    assert first_and_eleventh(MultiFactorScheduler([4, 5, 11], 0.3, base_lr=0.8)) == [0.4, 0.036]
    assert first_and_eleventh(PolyScheduler(12, base_lr=0.8)) == [0.672222222, 0.00555555556]


@pytest.mark.parametrize("schedule", ALL)
def test_a_schedule_has_no_memory(schedule: LRScheduler) -> None:
    forward = [schedule(n) for n in range(30)]
    assert [schedule(n) for n in reversed(range(30))] == forward[::-1]
    copy = object.__new__(type(schedule))
    vars(copy).update(json.loads(json.dumps(vars(schedule))))
    assert [copy(n) for n in range(30)] == forward


def test_the_schedules_of_first_versions(caplog: pytest.LogCaptureFixture) -> None:
    schedule = misc.FactorScheduler(3, 0.5)
    sgd = optimizer.create("sgd", learning_rate=0.8, lr_scheduler=schedule)
    with caplog.at_level("INFO"):
        rates = [schedule(i) for i in (0, 2, 3, 5, 6)]
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.2]) and len(caplog.messages) == 2
    assert sgd.learning_rate == pytest.approx(0.8)
    with pytest.raises(ValueError, match="factor must be less than 1"):
        misc.FactorScheduler(3, 1.0)
    with pytest.raises(NotImplementedError, match="LearningRateScheduler has no __call__"):
        misc.LearningRateScheduler()(1)


def test_linear() -> None:
    assert rates(LinearScheduler(4, 1.0, 0.2), 1, 2, 4, 9) == [0.8, 0.6, 0.2, 0.2]


def test_inverse_square_root_is_equation_3_of_vaswani() -> None:
    width, warmup = 512, 40
    schedule = InverseSquareRootScheduler((width * warmup) ** -0.5, warmup)
    updates = range(1, 200)
    assert rates(schedule, *updates) == [width**-0.5 * min(n**-0.5, n * warmup**-1.5) for n in updates]
    assert rates(InverseSquareRootScheduler(2.0), 0, 1, 4) == [2.0, 2.0, 1.0]


def test_triangular() -> None:
    updates = (0, 1, 4, 5, 8, 10, 12, 16, 20)
    triangle = [0, 0.25, 1, 0.75, 0, 0.5, 1, 0, 1]
    shape = {"base_lr": 0.1, "warmup_steps": 3}
    late = [n + 3 for n in updates]
    assert rates(TriangularScheduler(4, 0.9, **shape), *late) == [0.1 + 0.8 * x for x in triangle]
    halved = [0.1 + 0.8 * x * 0.5 ** (n // 8) for n, x in zip(updates, triangle, strict=True)]
    assert rates(TriangularScheduler(4, 0.9, "triangular2", **shape), *late) == halved
    falling = [0.1 + 0.8 * x * 0.9**n for n, x in zip(updates, triangle, strict=True)]
    assert rates(TriangularScheduler(4, 0.9, "exp_range", 0.9, **shape), *late) == falling


def test_one_cycle() -> None:
    schedule = OneCycleScheduler(4, 0.9, 15, base_lr=0.1, final_lr=0.02, warmup_steps=3)
    assert rates(schedule, 1, 3, 4, 7, 8, 11, 12, 15, 99) == [0.1 / 3, 0.1, 0.3, 0.9, 0.7, 0.1, 0.08, 0.02, 0.02]


def test_signatures_are_those_of_mxnet() -> None:
    warmup = "warmup_steps=0, warmup_begin_lr=0, warmup_mode='linear'"
    expected = {
        LRScheduler: f"base_lr=0.01, {warmup}",
        FactorScheduler: f"step, factor=1, stop_factor_lr=1e-08, base_lr=0.01, {warmup}",
        MultiFactorScheduler: f"step, factor=1, base_lr=0.01, {warmup}",
        PolyScheduler: f"max_update, base_lr=0.01, pwr=2, final_lr=0, {warmup}",
        CosineScheduler: f"max_update, base_lr=0.01, final_lr=0, {warmup}",
    }
    for cls, text in expected.items():
        parameters = inspect.signature(cls).parameters.values()
        assert ", ".join(str(p.replace(annotation=p.empty)) for p in parameters) == text


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LRScheduler(-1), ValueError, "base_lr must be a finite number, at least 0, not -1"),
        (lambda: LRScheduler("0.1"), TypeError, "base_lr must be a number, not '0.1'"),
        (lambda: LRScheduler(0.1, 5, 0.2), ValueError, "warmup_begin_lr must be at most base_lr, 0.1, not 0.2"),
        (lambda: LRScheduler(0.1, 2.5), TypeError, "warmup_steps must be a whole number, not 2.5"),
        (lambda: LRScheduler(0.1, -1), ValueError, "warmup_steps must be at least 0, not -1"),
        (lambda: LRScheduler(0.1, 1, 0, "log"), ValueError, "warmup_mode must be 'linear' or 'constant', not 'log'"),
        (lambda: LRScheduler()(1), NotImplementedError, "LRScheduler must define after_warmup"),
        (lambda: FactorScheduler(9, warmup_steps=5).get_warmup_lr(5), ValueError, "update 5 is not in the warm-up"),
        (lambda: FactorScheduler(0), ValueError, "step must be at least 1, not 0"),
        (lambda: FactorScheduler(1, 1.1), ValueError, "factor must be in [0, 1], so that the rate does not grow"),
        (lambda: MultiFactorScheduler([]), TypeError, "step must be a list of at least one update count, not []"),
        (lambda: MultiFactorScheduler([3, 3]), ValueError, "step must be increasing, not [3, 3]"),
        (lambda: PolyScheduler(5, warmup_steps=5), ValueError, "max_update must be above warmup_steps, 5, not 5"),
        (lambda: PolyScheduler(5, pwr=-1), ValueError, "pwr must be a finite number, at least 0, not -1"),
        (lambda: CosineScheduler(7.5), TypeError, "max_update must be a whole number, not 7.5"),
        (lambda: TriangularScheduler(4, 0.001), ValueError, "max_lr must be at least base_lr, 0.01, not 0.001"),
        (lambda: TriangularScheduler(4, 1, gamma=0.9), ValueError, "gamma belongs to mode 'exp_range'"),
        (lambda: OneCycleScheduler(4, 1, 8), ValueError, "max_update must be above warmup_steps + 2*step_size, 8"),
    ],
)
def test_errors(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)


def test_any_callable_is_a_schedule() -> None:
    opt = optimizer.create("sgd", lr_scheduler=lambda n: 1 / n)
    update, weight = optimizer.get_updater(opt), nd.zeros(1)
    for _ in range(3):
        update(0, nd.ones(1), weight)
    assert weight.asscalar() == pytest.approx(-(1 + 1 / 2 + 1 / 3))


class TestPlot:
    def test_draws_every_update(self) -> None:
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        schedule = CosineScheduler(12, 0.8)
        ax = schedule.plot(15)
        assert lr_scheduler.plot(lambda n: 1 / n, 5, ax) is ax
        first, second = ax.lines
        assert list(first.get_xdata()) == list(range(1, 16))
        assert list(first.get_ydata()) == [schedule(n) for n in range(1, 16)]
        assert list(second.get_ydata()) == [1 / n for n in range(1, 6)]
        ax.figure.canvas.draw()
        matplotlib.pyplot.close(ax.figure)

    def test_names_the_extra_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = builtins.__import__

        def without(name: str, *rest: Any) -> Any:
            if name.startswith("matplotlib"):
                raise ModuleNotFoundError(f"No module named '{name}'")
            return plain(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r"pip install 'matplotlib'"):
            FactorScheduler(3).plot(5)


def test_falls_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        for schedule in (FactorScheduler(2, 0.1, 0.05, base_lr=1), MultiFactorScheduler([2, 4], 0.1, base_lr=1)):
            for n in (1, 2, 3, 3, 4, 1, 5, 6):
                schedule(n)
    assert caplog.messages == [
        "Update[3]: Change learning rate to 1.00000e-01",
        "Update[5]: the learning rate is 5.00000e-02 now, and stays there",
        "Update[3]: Change learning rate to 1.00000e-01",
        "Update[5]: Change learning rate to 1.00000e-02",
    ]


def test_factors_are_rounded_at_each_fall() -> None:
    """As MXNet does it: scripts compare rates with ==. The order in which counts are asked for does not matter."""
    schedule, rate = FactorScheduler(2, 0.1, base_lr=1), 1
    several = MultiFactorScheduler([2 * k for k in range(1, 9)], 0.1, base_lr=1)
    rates = []
    for n in range(1, 18, 2):
        rates.append(rate)
        assert schedule(n) == several(n) == max(rate, 1e-8)
        rate *= 0.1
    assert [schedule(n) for n in range(15, 0, -2)] == [max(r, 1e-8) for r in rates[7::-1]]
    schedule.base_lr = 3
    assert schedule(3) == 3 * 0.1
