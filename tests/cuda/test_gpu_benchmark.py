"""benchmarks/gpu.py without a GPU: its lists, its counts and its tables, with steps emulated and times made up."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulation import GpuArray, emulated

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def gpu() -> Iterator[Any]:
    """The program, as Python finds it when it is run."""
    sys.path.insert(0, str(BENCHMARKS))
    before = set(sys.modules)
    try:
        import gpu

        yield gpu
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in set(sys.modules) - before:
            if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", None)):
                del sys.modules[name]


class Weight(GpuArray):
    def __abs__(self) -> Weight:
        return Weight(np.abs(self.get()), self._gpu)


class Device:
    """What gpu_device.Device is, on an emulated GPU, where seconds are told and not measured."""

    def __init__(self, gpu: Any, seconds: Mapping[str, float]) -> None:
        self._gpu, self._seconds = gpu, seconds

    def describe(self) -> dict[str, Any]:
        return {
            "gpu": "NVIDIA Nothing 1", "capability": "7.5", "multiprocessors": 1, "l2_mib": 4,
            "gpu_memory_gib": 16.0, "driver": "580.1", "cuda": "13.0",
        }  # fmt: skip

    def free(self) -> int:
        return 10_000_000

    def clear(self) -> None:
        pass

    def make(self, shapes: Sequence[tuple[int, ...]], dtype: str) -> Any:
        from workloads import Tensors

        return Tensors(*([Weight(np.full(s, x, dtype), self._gpu) for s in shapes] for x in (0.01, 0.1)))

    def zeros(self, shapes: Sequence[tuple[int, ...]], dtype: str) -> list[Any]:
        return [Weight(np.zeros(s, dtype), self._gpu) for s in shapes]

    def check(self, tensors: Sequence[Any], what: str) -> None:
        assert all(np.isfinite(x.get()).all() for x in tensors), what

    def copy(self, nbytes: int) -> tuple[Callable[[], object], float]:
        return lambda: None, 2.0

    def graph(self, launch: Callable[[], object]) -> Callable[[], object]:
        return launch

    def optimizer_step(self, tensors: Any) -> Callable[[], object]:
        return lambda: None

    def fused_graph(self, tensors: Any) -> Callable[[], object]:
        return lambda: None

    def by_events(self, steps: Mapping[str, Callable[[], object]], reps: int) -> dict[str, list[float]]:
        for step in steps.values():
            step()
        return {name: [self._seconds[name]] * reps for name in steps}

    def by_clock(self, steps: Mapping[str, Callable[[], object]], reps: int, calls: int) -> dict[str, list[float]]:
        return self.by_events(steps, reps)


def test_lists_of_shapes(gpu: Any) -> None:
    from gpu_device import SIZES

    counts = {name: (len(shapes), sum(map(math.prod, shapes))) for name, (_, shapes) in SIZES.items()}
    assert counts["resnet50"] == (161, 25_557_032)
    assert counts["gpt2"] == (148, 124_439_808)
    assert counts["gpt2-xl"] == (580, 1_557_611_200)
    assert [counts[name][1] for name in ("1e5", "1e7", "1e8", "1e9")] == [10**5, 10**7, 10**8, 10**9]


def test_tables_of_a_run(gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpu_cases
    import gpu_device
    import gpu_report

    small = {name: (title, [(40, 30), (129,)]) for name, (title, _) in gpu_device.SIZES.items()}
    small["gpt2"] = ("GPT-2 small", [(1_000_000, 3)])
    for module in (gpu, gpu_cases, gpu_report):
        monkeypatch.setattr(module, "SIZES", small)
    seconds = {"copy": 0.5e-3, "ceiling": 1.0e-3, "optgen": 1.25e-3, "optgen, graph": 2e-4, "torch-fused, graph": 1e-4}
    seconds["optgen.torch"] = 1.5e-3
    args = gpu.arguments(["--quick", "--sizes", "1e5", "gpt2", "--optimizers", "lamb", "adam-int8_linear", "adamw"])
    assert (args.reps, args.minutes) == (7, 0.8)
    with emulated() as (device,):
        fake = Device(device, seconds)
        monkeypatch.setattr(gpu.machine, "describe", lambda threads, packages: {})
        plan = list(gpu.planned(args, fake))
        shapes = [(40, 30)]
        plan[:3] = [
            gpu.Planned(f"specs {n}", lambda n=n: gpu_cases.spec(fake, "1e8", shapes, n, 7)) for n in args.optimizers
        ]
        cases, left_out = [], {}
        assert len(list(gpu.run(plan, fake, math.inf, cases, left_out))) == len(plan)
    assert [p.name for p in plan] == [
        "specs lamb", "specs adam-int8_linear", "specs adamw", "sizes 1e5 adamw", "sizes gpt2 adamw", "wall 1e5",
        "wall resnet50",
    ]  # fmt: skip
    assert list(left_out) == ["sizes gpt2 adamw"] and "GiB" in left_out["sizes gpt2 adamw"]
    lamb, _, adamw, size, wall, _ = cases
    assert (adamw.launches, adamw.bytes, adamw.sweeps) == (1, 28, 1) and lamb.launches > 1
    assert adamw.median("copy") == 1e-3 and adamw.speed("optgen") == pytest.approx(0.8)
    assert adamw.bandwidth("optgen") == pytest.approx(28 * 1200 / 1.25e-3)
    assert (size.tensors, size.parameters) == (2, 1329) and "torch-fused" in size.absent
    assert wall.ratio("optgen", "optgen, graph") == pytest.approx(6.25)
    assert wall.ratio("optgen.torch", "optgen") == pytest.approx(1.2)

    description = fake.describe() | {
        "cpu": "none", "cores": 1, "threads": 1, "caches": {}, "memory_gib": 1.0, "system": "none", "python": "3",
        "packages": {}, "load": 0.0,
    }  # fmt: skip
    text = gpu_report.text(cases, left_out)
    assert "Of one sweep, and below 0.92 of the copy: adam-int8_linear 0.800, adamw 0.800." in text
    assert "Left out. sizes gpt2 adamw: needs 0 GiB" in text
    assert f"torch-fused: {size.absent['torch-fused']}" in text  # there is no PyTorch, or one that sees no GPU
    files = gpu.write(tmp_path / "run", description, cases, left_out)
    assert [x.name for x in files] == ["run.json", "run.md"]
    found = json.loads(files[0].read_text())
    assert found["machine"]["gpu"] == "NVIDIA Nothing 1" and len(found["results"]) == 6
    row = next(line for line in files[1].read_text().splitlines() if line.startswith("| adamw"))
    assert row == "| adamw | 4R 3W | 28 | 1 | 1 | 1.00 ms | 1.00 ms | 1.25 ms | 0.00 | 0.800 | 0.800 |"


def test_no_case_begins_after_the_deadline(gpu: Any) -> None:
    cases, left_out = [], {}
    plan = [gpu.Planned("specs adam", lambda: pytest.fail("it began"))]
    assert list(gpu.run(plan, None, -math.inf, cases, left_out)) == []
    assert (cases, left_out) == ([], {"specs adam": "no time was left"})


def test_a_case_that_fails_leaves_the_others(
    gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that were measured are in files by then, and the program says with its status that one is not."""
    written: list[str] = []

    def fail() -> Any:
        written.extend(path.read_text() for path in tmp_path.glob("*-nvidia-nothing-1.json"))
        raise RuntimeError("CUDA error: an illegal memory access\nmore")

    plan = [gpu.Planned("first", lambda: 1), gpu.Planned("second", fail), gpu.Planned("third", lambda: 2)]
    monkeypatch.setattr(gpu, "arguments", lambda: gpu.argparse.Namespace(minutes=1, out=tmp_path))
    monkeypatch.setattr(gpu, "planned", lambda args, device: plan)
    with emulated() as (device,):
        monkeypatch.setattr(gpu, "Device", lambda: Device(device, {}))
        monkeypatch.setattr(gpu.gpu_report, "json_text", lambda description, cases, left_out: str(cases))
        for name, text in (("markdown", "tables"), ("text", "tables"), ("write_plot", "")):
            monkeypatch.setattr(gpu.gpu_report, name, lambda *args, text=text: text)
        assert gpu.main() == 1
    assert written == ["[1]"]
    (data,) = tmp_path.glob("*-nvidia-nothing-1.json")
    assert data.read_text() == "[1, 2]"
    assert "RuntimeError: CUDA error: an illegal memory access" in capsys.readouterr().err
