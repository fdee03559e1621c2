"""A GPU as benchmarks see it: tensors, a copy, graphs, and time by its own events. All of it through PyTorch."""

from __future__ import annotations

import functools
import gc
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import workloads
from workloads import LR, WD, Shape, Tensors

Step = Callable[[], object]
CYCLES = 2e9
"""Of the multiprocessors in a second, or somewhat more: a pause in cycles is not shorter than it has to be."""
LARGEST_COPY = 4 << 30
"""Bytes of the buffers of a copy; one that moves more is measured as a part of it."""


class Device:
    """The first GPU. RuntimeError where PyTorch finds none."""

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError(f"PyTorch {torch.__version__} finds no GPU")
        self.torch = torch
        self._properties = torch.cuda.get_device_properties(0)
        # What was in the L2 cache is not there after four times as much was written.
        self._flush = torch.empty(4 * self._properties.L2_cache_size, dtype=torch.uint8, device="cuda")

    def describe(self) -> dict[str, Any]:
        version = Path("/proc/driver/nvidia/version")
        words = version.read_text().split() if version.exists() else []
        found = self._properties
        return {
            "gpu": found.name,
            "capability": f"{found.major}.{found.minor}",
            "multiprocessors": found.multi_processor_count,
            "l2_mib": round(found.L2_cache_size / 2**20),
            "gpu_memory_gib": round(found.total_memory / 2**30, 1),
            "driver": next((w for w in words if w[:1].isdigit() and "." in w), "unknown"),
            "cuda": self.torch.version.cuda,
        }

    def free(self) -> int:
        """Bytes that are free."""
        self.clear()
        return int(self.torch.cuda.mem_get_info()[0])

    def clear(self) -> None:
        """Give back what nobody holds any more."""
        gc.collect()
        self.torch.cuda.empty_cache()

    # ------------------------------------------------------------ tensors

    def make(self, shapes: Sequence[Shape], dtype: str) -> Tensors:
        """Weights and gradients as `workloads.make` draws them."""
        torch = self.torch
        generator = torch.Generator("cuda").manual_seed(0)
        tensors = Tensors([], [])
        for shape in shapes:
            u = torch.rand(shape, generator=generator, device="cuda")
            tensors.weights.append((0.1 * u - 0.05).to(getattr(torch, dtype)))
            tensors.grads.append(torch.where(u < 0.5, 0.2 * u + 0.05, 0.05 - 0.2 * u).to(getattr(torch, dtype)))
        return tensors

    def zeros(self, shapes: Sequence[Shape], dtype: str) -> list[Any]:
        return [self.torch.zeros(shape, dtype=getattr(self.torch, dtype), device="cuda") for shape in shapes]

    def check(self, tensors: Sequence[Any], what: str) -> None:
        """ArithmeticError where a value is infinite or NaN."""
        if not all(bool(x.isfinite().all()) for x in tensors):
            raise ArithmeticError(f"{what}: values became infinite or NaN during the measurement")

    # ------------------------------------------------------------ steps

    def copy(self, nbytes: int) -> tuple[Step, float]:
        """A copy within the GPU's memory (cudaMemcpy) that reads and writes `nbytes` in all; how many times it has to
        be counted where that is more than the buffers are meant to take."""
        part = min(nbytes, LARGEST_COPY)
        source, target = (self.torch.ones(part // 2, dtype=self.torch.uint8, device="cuda") for _ in range(2))
        return lambda: target.copy_(source), nbytes / part

    def graph(self, launch: Step) -> Step:
        """What replays the launches that a call has made."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            launch()
        return functools.partial(_replay, graph, launch)

    def fused_graph(self, tensors: Tensors) -> Step:
        """PyTorch's fused AdamW, captured."""
        torch = self.torch
        params = [torch.nn.Parameter(w) for w in tensors.weights]
        for p, g in zip(params, tensors.grads, strict=True):
            p.grad = g
        made = torch.optim.AdamW(params, lr=LR, weight_decay=WD, fused=True, capturable=True)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                made.step()
        torch.cuda.current_stream().wait_stream(side)
        return self.graph(made.step)

    def optimizer_step(self, tensors: Tensors) -> Step:
        """`step()` of optgen.torch's AdamW."""
        import optgen.torch

        params = [self.torch.nn.Parameter(w) for w in tensors.weights]
        for p, g in zip(params, tensors.grads, strict=True):
            p.grad = g
        return optgen.torch.AdamW(params, lr=LR, weight_decay=WD).step  # type: ignore[attr-defined, no-any-return]

    # ------------------------------------------------------------ time

    def by_events(self, steps: Mapping[str, Step], reps: int) -> dict[str, list[float]]:
        """Seconds of the GPU for a call, by name, `reps` each, taken in turns, with nothing of it in the L2 cache.

        The GPU pauses before each until the call has returned, so that it never waits for Python.
        """
        pauses = {name: 1.5 * self._returns(step) + 1e-4 for name, step in steps.items()}
        seconds: dict[str, list[float]] = {name: [] for name in steps}
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(reps):
            for name, step in steps.items():
                self._flush.zero_()
                self.torch.cuda._sleep(int(pauses[name] * CYCLES))
                begin.record()
                step()
                end.record()
                end.synchronize()
                seconds[name].append(begin.elapsed_time(end) * 1e-3)
        return seconds

    def by_clock(self, steps: Mapping[str, Step], reps: int, calls: int) -> dict[str, list[float]]:
        """Seconds of a call, from the first of many in a row to the end of the last one, Python and all."""
        for step in steps.values():
            self._returns(step)
        seconds: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(reps):
            for name, step in steps.items():
                begin = time.perf_counter()
                for _ in itertools.repeat(None, calls):
                    step()
                self.torch.cuda.synchronize()
                seconds[name].append((time.perf_counter() - begin) / calls)
        return seconds

    def _returns(self, step: Step) -> float:
        """Warm up, and see how long a call takes to return."""
        longest = 0.0
        for k in range(5):
            self.torch.cuda.synchronize()
            begin = time.perf_counter()
            step()
            longest = max(longest, time.perf_counter() - begin) if k > 1 else 0.0
        self.torch.cuda.synchronize()
        return longest


def _replay(graph: Any, launch: Step) -> None:
    """`launch` has what must be there: states, of which a graph knows the addresses alone."""
    graph.replay()


SIZES: Mapping[str, tuple[str, list[Shape]]] = {
    "1e5": ("100 thousand", [(100_000,)]),
    "1e7": ("10 million", [(10_000_000,)]),
    "1e8": ("100 million", [(10_000, 10_000)]),
    "1e9": ("1 billion", [(1_000_000_000,)]),
    "resnet50": ("ResNet-50", workloads.resnet50()),
    "gpt2": ("GPT-2 small", workloads.gpt2()),
    "gpt2-xl": ("GPT-2 XL", workloads.gpt2(48, 1600)),
}
"""Lists of shapes by name, with their title."""
