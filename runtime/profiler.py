"""What takes time: a trace of operators, and of parts of a program that it names, for Chrome's viewer or as a table.

    profiler.set_config(filename="trace.json")
    profiler.start()
    ...
    profiler.stop()
    print(profiler.dumps())
    profiler.dump()  # open trace.json in chrome://tracing, or in ui.perfetto.dev

While it runs, each call of an operator, each gradient in `backward` and each update of an optimizer is timed; on GPUs a
call is waited for. Otherwise operators are called as if there were no profiler. Operators have MXNet's names where it
has them, such as `_plus_scalar`. What users' operators do is in a category of its own, 'Custom Operator'.
"""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from runtime.autograd.graph import Node
from runtime.base import ArgumentError, did_you_mean
from runtime.core import backend, files
from runtime.ndarray import creation
from runtime.ndarray.custom import CustomCall
from runtime.ndarray.ndarray import NDArray
from runtime.ndarray.operator import Operator
from runtime.optimizer.updater import Updater

_FLAGS = ("profile_all", "profile_symbolic", "profile_imperative")
_CONFIG: dict[str, Any] = {
    "filename": "profile.json",
    **dict.fromkeys((*_FLAGS, "profile_memory", "profile_api", "continuous_dump", "aggregate_stats")),
    "dump_period": 1.0,
}
_SORTS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}


_NAMES = {
    "batch_norm": "BatchNorm",
    "cast": "Cast",
    "concat": "Concat",
    "convolve": "Convolution",
    "ctc": "CTCLoss",
    "dropout_factors": "Dropout",
    "elman": "RNN",
    "flip": "reverse",
    "gru": "RNN",
    "leaky": "LeakyReLU",
    "linear": "FullyConnected",
    "lstm": "RNN",
    "matmul": "dot",
    "pad": "Pad",
    "pool_max": "Pooling",
    "pool_sum": "Pooling",
    "reshape_copy": "Reshape",
    "softmax_output": "SoftmaxOutput",
    "split": "SliceChannel",
    "svm_output": "SVMOutput",
}
"""Operators that MXNet calls otherwise."""
_ARITHMETIC = {
    "add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "divide": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "lesser": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "lesser_equal": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "maximum": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "modulo": ("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "multiply": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "not_equal": ("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "power": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "subtract": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
}
"""MXNet's names of operators of two arrays, of an array and a number, and of a number and an array."""


class _Record(NamedTuple):
    """A part of the trace: its letter in Chrome's format, when it began, in ns, and how long it took, or its value."""

    phase: str
    category: str
    name: str
    start: int
    duration: int
    thread: int
    value: Any


_records: list[_Record] = []
_config = dict(_CONFIG)
_running = _paused = _installed = False
_lock = threading.Lock()


def _record(phase: str, category: str, name: str, start: int, duration: int = 0, value: Any = None) -> None:
    _records.append(_Record(phase, category, name, start, duration, threading.get_native_id(), value))


def _active() -> bool:
    return _running and not _paused


# ---------------------------------------------------------------- on and off


def set_config(**kwargs: Any) -> None:
    """Choose what is recorded, and where to.

    Parameters
    ----------
    filename: the file that `dump` writes, by default 'profile.json'.
    profile_all, profile_symbolic, profile_imperative: whether operators are; by default they are, unless one of these
        is given and none is true.
    profile_memory, profile_api, continuous_dump, dump_period, aggregate_stats, profile_process: accepted. Memory is not
        recorded, `dumps` can always be called, and nothing is written before `dump`.
    """
    _check_process(kwargs.pop("profile_process", "worker"))
    for key in kwargs:
        if key not in _CONFIG:
            raise ArgumentError(f"profiler.set_config has no argument '{key}'{did_you_mean(key, _CONFIG)}")
    _config.update(kwargs)
    _install()


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Begin to record ('run'), or end ('stop'). What was recorded stays."""
    global _running, _paused
    _check_process(profile_process)
    if state not in ("run", "stop"):
        raise ArgumentError(f"profiler.set_state: state is 'run' or 'stop', not {state!r}")
    _running, _paused = state == "run", False
    _install()


def start() -> None:
    """`set_state("run")`."""
    set_state("run")


def stop() -> None:
    """`set_state("stop")`."""
    set_state("stop")


def pause(profile_process: str = "worker") -> None:
    """Record nothing until `resume`."""
    _pause(True, profile_process)


def resume(profile_process: str = "worker") -> None:
    """Go on after `pause`."""
    _pause(False, profile_process)


def _pause(paused: bool, profile_process: str) -> None:
    global _paused
    _check_process(profile_process)
    _paused = paused
    _install()


def _check_process(profile_process: str) -> None:
    if profile_process != "worker":
        raise ArgumentError(
            f"profiler: profile_process is 'worker', not {profile_process!r}: each process records its own operators"
        )


def _install() -> None:
    """Have operators timed if they are to be, and else called as they are."""
    global _installed
    flags = [_config[flag] for flag in _FLAGS if _config[flag] is not None]
    wanted = _active() and (not flags or any(flags))
    with _lock:
        if wanted != _installed:
            for (owner, name), methods in _METHODS.items():
                setattr(owner, name, methods[wanted])
            _installed = wanted


class _Custom(threading.local):
    """The user's operator that a thread is in, or ''."""

    name = ""


_custom = _Custom()


def _timed(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    custom = _custom.name
    begin = time.perf_counter_ns()
    try:
        result = function(*args, **kwargs)
        backend.synchronize_all()
        return result
    finally:
        category, name = ("Custom Operator", f"{custom}::{name}") if custom else ("operator", name)
        _record("X", category, name, begin, time.perf_counter_ns() - begin)


def _name(operator: Any, inputs: Iterable[Any]) -> str:
    """The name of MXNet's operator that computes what `operator` does."""
    name = getattr(operator, "name", type(operator).__name__.lstrip("_"))
    if name not in _ARITHMETIC:
        return _NAMES.get(name, name)
    numbers = [not (isinstance(x, (NDArray, np.ndarray)) or backend.is_array(x)) for x in inputs]
    return _ARITHMETIC[name][2 - numbers.index(True) if True in numbers else 0]


def _call(self: Operator, *inputs: Any, **attrs: Any) -> Any:
    return _timed(_name(self, inputs), _METHODS[Operator, "__call__"][0], self, *inputs, **attrs)


def _pull(self: Node, gradient: Any) -> Iterator[Any]:
    name = f"_backward_{_name(self.operator, self.inputs).lstrip('_')}"
    return iter(_timed(name, lambda: list(_METHODS[Node, "pull"][0](self, gradient))))


def _make(make: str, *args: Any) -> NDArray:
    return _timed(f"_{make}", _METHODS[creation, "_made"][0], make, *args)


def _in_custom(method: str, prefix: str) -> Callable[..., Any]:
    """What stands in the place of a method of calls of users' operators: what runs in it is theirs."""

    def call(self: CustomCall, *arrays: NDArray) -> Any:
        outer, _custom.name = _custom.name, f"{prefix}{self.op_type}"
        try:
            return _timed("pure_python", _METHODS[CustomCall, method][0], self, *arrays)
        finally:
            _custom.name = outer

    return call


def _update(self: Updater, *args: Any, **kwargs: Any) -> Any:
    return _timed(f"update_{type(self.optimizer).__name__}", _METHODS[Updater, "__call__"][0], self, *args, **kwargs)


_METHODS: dict[tuple[Any, str], tuple[Callable[..., Any], Callable[..., Any]]] = {
    (Operator, "__call__"): (Operator.__call__, _call),
    (Node, "pull"): (Node.pull, _pull),
    (Updater, "__call__"): (Updater.__call__, _update),
    (CustomCall, "forward"): (CustomCall.forward, _in_custom("forward", "")),
    (CustomCall, "backward"): (CustomCall.backward, _in_custom("backward", "_backward_")),
    (creation, "_made"): (creation._made, _make),
}
"""Methods and functions, and what stands in their place while the profiler runs."""


# ---------------------------------------------------------------- results


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace to the file of `set_config`, in Chrome's format. With `finished`, recording ends."""
    _check_process(profile_process)
    if finished:
        set_state("stop")
    pid = os.getpid()
    events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "cpu"}}]
    for record in list(_records):
        event = {
            "ph": record.phase,
            "name": record.name,
            "cat": record.category,
            "ts": record.start / 1000,
            "pid": pid,
            "tid": record.thread,
        }
        if record.phase == "X":
            event["dur"] = record.duration / 1000
        elif record.phase == "C":
            event["args"] = {record.name: record.value}
        else:
            event["s"] = record.value
        events.append(event)
    files.write(_config["filename"], json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode())


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """How often each operator and each named part came, and how long it took in all, at least, at most and on average,
    in milliseconds; of counters, their values.

    `format` is 'table' or 'json'; `sort_by` 'total', 'avg', 'min', 'max' or 'count'. `reset` forgets the trace.
    """
    if format not in ("table", "json"):
        raise ArgumentError(f"profiler.dumps: format is 'table' or 'json', not {format!r}")
    if sort_by not in _SORTS:
        raise ArgumentError(f"profiler.dumps: sort_by is one of {', '.join(_SORTS)}, not {sort_by!r}")
    statistics = _statistics(_SORTS[sort_by], not ascending)
    if reset:
        _records.clear()
    if format == "json":
        return json.dumps({"Memory": {}, "Time": statistics, "Unit": {"Memory": "kB", "Time": "ms"}}, indent=4)
    return _table(statistics)


def _statistics(key: str, descending: bool) -> dict[str, dict[str, dict[str, float]]]:
    """Of each category, the numbers of each name, in order."""
    values: dict[str, dict[str, list[float]]] = {}
    for record in list(_records):
        value = {"X": record.duration / 1e6, "C": record.value}.get(record.phase, 0)
        values.setdefault(record.category, {}).setdefault(record.name, []).append(value)
    return {category: _in_order(named, key, descending) for category, named in values.items()}


def _in_order(named: dict[str, list[float]], key: str, descending: bool) -> dict[str, dict[str, float]]:
    found = {
        name: {"Count": len(x), "Total": sum(x), "Min": min(x), "Max": max(x), "Avg": sum(x) / len(x)}
        for name, x in named.items()
    }
    return dict(sorted(found.items(), key=lambda item: item[1][key], reverse=descending))


def _table(statistics: dict[str, dict[str, dict[str, float]]]) -> str:
    titles = ("Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
    lines = ["", "Profile Statistics:"]
    for category, named in statistics.items():
        width = max(25, *map(len, named))
        lines += [category, "=" * 17]
        for name, cells in (("Name", titles), ("----", ["-" * len(title) for title in titles])):
            lines.append(f"{name:<{width}}" + "".join(f"{cell:>17}" for cell in cells))
        for name, x in named.items():
            times = "".join(f"{x[key]:>17.4f}" for key in ("Total", "Min", "Max", "Avg"))
            lines.append(f"{name:<{width}}{x['Count']:>17}{times}")
        lines.append("")
    return "\n".join(lines)


# ---------------------------------------------------------------- parts that a program names


class _Named:
    name: str

    def __str__(self) -> str:
        return self.name


class Domain(_Named):
    """A name for a group of parts."""

    def __init__(self, name: str) -> None:
        self.name = name

    def new_task(self, name: str) -> Task:
        """A `Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A `Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A `Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A `Marker` of this domain."""
        return Marker(self, name)


class _Span(_Named):
    """The base class of what takes time from `start` to `stop`, or within a `with` block."""

    def __init__(self, category: str, name: str) -> None:
        self.name = name
        self._category = category
        self._begin: int | None = None

    def start(self) -> None:
        """Begin."""
        self._begin = time.perf_counter_ns()

    def stop(self) -> None:
        """End; nothing is recorded without a `start`, or while the profiler does not run."""
        begin, self._begin = self._begin, None
        if begin is not None and _active():
            _record("X", self._category, self.name, begin, time.perf_counter_ns() - begin)

    def __enter__(self) -> _Span:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class Task(_Span):
    """A piece of work, of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(str(domain), name)


class Frame(Task):
    """One of many like passes, such as a batch, of a domain."""


class Event(_Span):
    """A piece of work, of no domain."""

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter(_Named):
    """A number that changes in time, of a domain: `counter += 1`."""

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.name = name
        self._category = str(domain)
        self.value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Have this value from here on."""
        self.value = value
        if _active():
            _record("C", self._category, self.name, time.perf_counter_ns(), value=value)

    def increment(self, delta: float = 1) -> None:
        """Add to the value."""
        self.set_value(self.value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Take from the value."""
        self.set_value(self.value - delta)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self


class Marker:
    """A moment, of a domain."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self._category = f"{domain},instant_marker"

    def mark(self, scope: str = "process") -> None:
        """Mark this moment, for all of 'global', 'process', 'thread', 'task' or 'marker'."""
        letters = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}
        if scope not in letters:
            raise ArgumentError(f"Marker.mark: scope is one of {', '.join(letters)}, not {scope!r}")
        if _active():
            _record("i", self._category, self.name, time.perf_counter_ns(), value=letters[scope])


# ---------------------------------------------------------------- old names


def _renamed(old: str, function: Callable[..., None]) -> Callable[..., None]:
    def call(*args: Any, **kwargs: Any) -> None:
        warnings.warn(f"profiler.{old} is deprecated", DeprecationWarning, stacklevel=2)
        function(*args, **kwargs)

    return call


profiler_set_state = _renamed("profiler_set_state", set_state)
dump_profile = _renamed("dump_profile", dump)
profiler_set_config = _renamed(
    "profiler_set_config",
    lambda mode="symbolic", filename="profile.json": set_config(**{f"profile_{mode}": True, "filename": filename}),
)
