"""Products whose rows lie anywhere, and transposed copies, in the interpreter of LLVM IR: arrays end where the last
element lies that a function may read."""

from __future__ import annotations

from itertools import product as combinations

import numpy as np
import pytest

from optgen.linalg.own import gathered
from optgen.linalg.own.tile import Tile
from tests.llvm import Machine
from tests.llvm.test_products import in_panels, tile_of
from tests.sweeps import swept

CPUS = swept(["sse2", "avx2", "avx512"], ["avx2"])
rng = np.random.default_rng(0)


class Gathered:
    """A function of `optgen.linalg.own.gathered` for a CPU; every array of a call is in memory by itself."""

    def __init__(self, cpu: str, entry: str) -> None:
        self.tile: Tile = tile_of(cpu, "float32", 1)
        self.machine, self.name = Machine(gathered.text(self.tile, entry)), f"optgen_{entry}"

    def __call__(self, *arguments: np.ndarray | int, written: np.ndarray) -> np.ndarray:
        memory = self.machine.memory
        memory.clear()
        places = [x if isinstance(x, int) else memory.register(x, writable=x is written) for x in arguments]
        self.machine.call(self.name, *places)
        return written


def numbers(*shape: int) -> np.ndarray:
    """Whole ones, of which every sum is exact."""
    return rng.integers(-9, 9, shape).astype(np.float32)


def places(count: int, apart: int) -> np.ndarray:
    """Of lines of a length, in any order, none beside the next."""
    return rng.permutation(count).astype(np.int64) * (apart + 1)


@pytest.mark.parametrize("cpu", CPUS)
def test_gemm(cpu: str) -> None:
    f = Gathered(cpu, "gathered_gemm")
    for (m, n, k, count), adds in combinations(((1, 1, 1, 1), (5, 9, 3, 2), (3, 33, 2, 4), (2, 3, 200, 2)), (0, 1)):
        rows, offsets = places(m, count * (k + 1)), places(count, k)
        a, b = numbers(int(max(rows) + max(offsets)) + k), numbers(count * k, n)
        to = places(m, n)
        c = numbers(int(max(to)) + n)
        wanted = c.copy()
        for i in range(m):
            line = np.concatenate([a[rows[i] + o : rows[i] + o + k] for o in offsets])
            wanted[to[i] : to[i] + n] = line @ b + adds * c[to[i] : to[i] + n]
        f(m, n, k, count, a, rows, offsets, in_panels(b, f.tile.width), adds, c, to, written=c)
        assert np.array_equal(c, wanted)


@pytest.mark.parametrize("cpu", CPUS)
def test_sum(cpu: str) -> None:
    f = Gathered(cpu, "gathered_sum")
    for (m, n, k), adds in combinations(((1, 1, 1), (5, 9, 3), (3, 26, 2), (9, 2, 5), (2, 3, 0)), (0, 1)):
        columns, rows = places(k, m), places(k, n)
        a, x = (numbers(int(max(at, default=0)) + size) for at, size in ((columns, m), (rows, n)))
        c = numbers(m, n + 2)
        wanted = c.copy()
        wanted[:, :n] *= adds
        for p in range(k):
            wanted[:, :n] += np.outer(a[columns[p] : columns[p] + m], x[rows[p] : rows[p] + n])
        f(m, n, k, a, columns, x, rows, adds, c, n + 2, written=c)
        assert np.array_equal(c, wanted)


@pytest.mark.parametrize("cpu", CPUS)
def test_dot(cpu: str) -> None:
    f = Gathered(cpu, "gathered_dot")
    lanes = f.tile.lanes
    for (m, n, k), adds in combinations(((1, 1, 1), (3, 5, lanes), (2, 3, 2 * lanes + 3), (5, 2, lanes - 1)), (0, 1)):
        rows, columns = places(m, k), places(n, k)
        a, x = numbers(int(max(rows)) + k), numbers(int(max(columns)) + k)
        c = numbers(m, n, lanes)
        wanted = c * adds
        for i, j, p in combinations(range(m), range(n), range(k)):
            wanted[i, j, p % lanes] += a[rows[i] + p] * x[columns[j] + p]
        f(lanes, m, n, k, a, rows, x, columns, adds, c, n * lanes, written=c)
        assert np.array_equal(c, wanted)


@pytest.mark.parametrize("cpu", CPUS)
def test_turn(cpu: str) -> None:
    f = Gathered(cpu, "turn")
    for rows, columns in combinations((0, 1, 7, 8, 17), (1, 5, 8, 9)):
        x, at = numbers(max(rows, 1), columns + 1), places(columns, rows)
        to = np.full(int(max(at)) + max(rows, 1), 7, np.float32)
        wanted = to.copy()
        for j in range(columns):
            wanted[at[j] : at[j] + rows] = x[:rows, j]
        f(x, columns + 1, to, at, rows, columns, written=to)
        assert np.array_equal(to, wanted)
