"""Kernels whose warps have 64 threads, as those of GPUs of AMD, against the kernels of the CPU, to the bit.

No GPU of NVIDIA is one. The interpreter of PTX is told that this one is: shuffles and barriers then are of 64 threads.
What runs is all that depends on the width: groups of two elements, sums, blocks of codes, draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from optgen.backends.gpu.nvidia import Nvidia
from optgen.execute.cuda import device, table
from tests.compiler.features import FEATURES
from tests.compiler.harness import DIFFERENT, by_name
from tests.compiler.test_differential import MODES
from tests.cuda.emulation import Gpu, emulated
from tests.cuda.ptx import instructions
from tests.cuda.ptx.frame import Frame, Group
from tests.cuda.ptx.instruction import Instruction, Registers, Step
from tests.cuda.ptx.instructions import warp
from tests.cuda.ptx.machine import Machine
from tests.cuda.test_differential import compare
from tests.sweeps import swept

WIDTH = 64
SHAPES = ((3, 4), (0,), (33, 3), (4099,), (2, 1500))


class Waves(Nvidia):
    """GPUs that there are not: those of NVIDIA with warps of 64."""

    name = "waves"
    width = WIDTH


def shuffle(i: Instruction, mode: str) -> Step:
    """As `warp.shuffle`, among 64 threads, all of which come here together."""
    a, by, d = i.source(1, "b32"), i.source(2, "u32"), i.target(i.operands[0], "b32")
    i.barrier = True

    def step(registers: Registers, group: Group) -> None:
        lane, distance = group.lane, by(registers).astype(np.int64)
        source = {"down": lane + distance, "bfly": lane ^ distance}[mode]
        source = np.where(source < WIDTH, source, lane)
        registers[d] = np.broadcast_to(a(registers), group.count)[group.positions(source)]

    return step


def warp_barrier(i: Instruction) -> Step:
    i.barrier = True
    return lambda registers, group: group.machine.passed_barrier(group, of_warp=True)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """A GPU that is emulated with such warps, and kernels for it."""
    others = {warp.shuffle: shuffle, warp.warp_barrier: warp_barrier}
    rules = [(pattern, others.get(build, build)) for pattern, build in instructions.RULES]  # type: ignore[call-overload]
    start, together = Machine.__init__, Frame._together

    def widened(machine: Machine, *args: Any) -> None:
        start(machine, *args)
        machine.lane = machine.index % WIDTH
        machine.warp = machine.cta * -(-machine.block // WIDTH) + machine.index // WIDTH

    def meet(frame: Frame, wait: Instruction, ids: np.ndarray) -> np.ndarray:
        """Those of whose warps all threads are here; at a barrier of the block, all of the block."""
        if not wait.statement.opcode.startswith(("shfl.", "bar.warp.")):
            return together(frame, wait, ids)
        warps = frame.machine.warp[frame.threads[ids]]
        return np.bincount(warps)[warps] == WIDTH

    monkeypatch.setattr(Frame, "_together", meet)
    monkeypatch.setattr(device, "OLDEST", Waves(Nvidia.oldest))
    monkeypatch.setattr(table, "WIDTH", WIDTH)
    monkeypatch.setattr(instructions, "RULES", rules)
    monkeypatch.setattr(Machine, "__init__", widened)
    instructions._find.cache_clear()
    with emulated() as (found,):
        yield found
    instructions._find.cache_clear()


KEPT = [("adam", "codes"), ("lamb-bias_correction", "float32"), ("adam", "bfloat16-stochastic")]
CASES = [(name, mode) for name in ("adam", "lamb-bias_correction", "adafactor") for mode in ("float32", *MODES)]


@pytest.mark.parametrize(("name", "mode"), swept(CASES, KEPT))
def test_storages(gpu: Gpu, name: str, mode: str) -> None:
    compare(gpu, by_name(name), SHAPES, MODES.get(mode, {}), special=True)
    assert len(gpu.launches) > 0


@pytest.mark.stress
@pytest.mark.parametrize("case", [case for case in DIFFERENT if case.spec not in FEATURES], ids=str)
def test_specs(gpu: Gpu, case: Any) -> None:
    compare(gpu, case, SHAPES, special=True)


def test_row_sparse_gradients_and_the_prologue(gpu: Gpu) -> None:
    compare(gpu, by_name("adam"), ((70, 6), (33, 3)), {"storage": "int8_dynamic"}, sparse=True)
    compare(gpu, by_name("adam"), ((3, 4), (5,)), steps=2, capturable=True)
