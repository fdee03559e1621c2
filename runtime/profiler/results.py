"""The trace as a file in Chrome's format, and as a table."""

from __future__ import annotations

import atexit
import json
import os
import sys
from typing import Any

from runtime.base import ArgumentError
from runtime.core import files
from runtime.profiler.control import check_process, config, set_state
from runtime.profiler.records import records, state

_SORTS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write the trace to the file of `set_config`, in Chrome's format. With `finished`, recording ends."""
    check_process(profile_process)
    if finished:
        set_state("stop")
    pid = os.getpid()
    events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "cpu"}}]
    for record in list(records):
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
    files.write(config["filename"], json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode())
    state.written = len(records)


@atexit.register
def _dump_at_exit() -> None:
    """Write what was recorded and not written, as MXNet does; not in processes that were forked since.

    Where the file cannot be written, a line on stderr says so: nobody is left to catch an error.
    """
    if len(records) > state.written and state.process == os.getpid():
        try:
            dump()
        except OSError as error:
            told = f"profiler: '{config['filename']}' was not written: {error.strerror or error}"
            print(f"{told}; name another file: profiler.set_config(filename=...)", file=sys.stderr)


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
        records.clear()
        state.written = 0
    if format == "json":
        return json.dumps({"Memory": {}, "Time": statistics, "Unit": {"Memory": "kB", "Time": "ms"}}, indent=4)
    return _table(statistics)


def _statistics(key: str, descending: bool) -> dict[str, dict[str, dict[str, float]]]:
    """Of each category, the numbers of each name, in order."""
    values: dict[str, dict[str, list[float]]] = {}
    for record in list(records):
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
