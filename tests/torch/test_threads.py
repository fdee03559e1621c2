"""Steps of PyTorch's tensors on the threads that PyTorch computes on."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import Parameter

import optgen
import optgen.torch
from optgen.threads import openmp, pool, sharing
from tests.compiler.harness import python

LARGE = 300_000
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(autouse=True)
def nobody_has_chosen() -> Iterator[None]:
    """Have no OPTGEN_NUM_THREADS."""
    before, pool.chosen().value = pool.chosen().value, 0
    yield
    pool.chosen().value = before


def team() -> openmp.Team:
    found = openmp.of_pytorch()
    if found is None:
        pytest.skip("PyTorch does not compute on threads of OpenMP here")
    return found


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def parts_of(threads: Any, elements: int) -> list[tuple[int, int, int]]:
    """The parts that a job of so many elements has: the thread, the number and the count of each."""
    found: list[tuple[int, int, int]] = []

    @TASK
    def task(step: int, part: int, parts: int) -> None:
        found.append((threading.get_native_id(), part, parts))

    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, TASK, ctypes.c_void_p, ctypes.c_int64)(threads.run)
    run(threads.address, task, None, elements)
    return found


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("elements", [1000, LARGE, 1 << 22])
def test_each_part_is_run_once(n: int, elements: int) -> None:
    with torch_threads(n):
        for _ in range(20):
            found = parts_of(team(), elements)
            parts = 1 if n == 1 or elements == 1000 else n * (8 if elements > LARGE else 1)
            assert sorted((part, of) for _, part, of in found) == [(part, parts) for part in range(parts)]
            assert len({thread for thread, _, _ in found}) <= n


def test_the_number_is_torchs_unless_one_is_chosen() -> None:
    threads, own = team(), optgen.num_threads()
    for n in (2, 1, 3):
        with torch_threads(n):
            assert threads.count() == n
    try:
        optgen.set_num_threads(4)
        with torch_threads(1):
            assert threads.count() == 4 and len(parts_of(threads, LARGE)) == 4
    finally:
        optgen.set_num_threads(own)


def test_arrays_of_numpy_have_the_pool() -> None:
    assert sharing.of([np.ones(3)]) is sharing.OWN and sharing.of([]) is sharing.OWN
    assert sharing.of([torch.ones(3)]) is team()


def weights_after(steps: int, spec: str, **kwargs: Any) -> list[torch.Tensor]:
    """Weights after steps with new gradients, of a large parameter, of matrices, and of many small ones."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(600, 700), (64, 96), *([(40, 50)] * 30), *([(7,)] * (spec != "soap"))]
    params = [Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    opt = optgen.torch.optimizer(spec)(params, **kwargs)
    for k in range(steps):
        for p in params:
            p.grad = torch.cos(p.detach() * 3 + k)
        opt.step()
    return params


@pytest.mark.parametrize("spec", ["torch/adamw", "lamb", "muon_adamw", "soap", "adafactor"])
def test_the_bits_do_not_depend_on_the_number(spec: str) -> None:
    team()
    found = []
    for n in (1, 2, 3):
        with torch_threads(n):
            found.append(weights_after(3, spec))
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


def test_no_thread_of_ours_is_made() -> None:
    """Neither for sweeps nor for products and factorizations."""
    done = python(
        """
import threading, torch, optgen.torch
torch.set_num_threads(2)
from tests.torch.test_threads import weights_after
for spec in ("torch/adamw", "muon_adamw", "soap"):
    weights_after(2, spec)
print([t.name for t in threading.enumerate() if "optgen" in t.name])
"""
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_several_threads_of_python_step_at_once() -> None:
    team()
    with torch_threads(2):
        alone = weights_after(20, "torch/adamw")
        found: list[list[torch.Tensor]] = []
        several = [threading.Thread(target=lambda: found.append(weights_after(20, "torch/adamw"))) for _ in range(4)]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
    assert len(found) == 4 and all(torch.equal(a, b) for other in found for a, b in zip(alone, other, strict=True))


def test_a_forked_child_steps_on_one_thread() -> None:
    """The runtime of GNU hangs there. A worker of a DataLoader is such a child."""
    done = python(
        """
import os, torch, optgen.torch
torch.set_num_threads(2)
from tests.torch.test_threads import parts_of, team, weights_after, LARGE
from torch.utils.data import DataLoader, Dataset

class Steps(Dataset):
    def __len__(self): return 2
    def __getitem__(self, i): return weights_after(2, "torch/adamw")[0].detach()

before = weights_after(2, "torch/adamw")
assert len(parts_of(team(), LARGE)) == 2
pid = os.fork()
if pid == 0:
    alone = len(parts_of(team(), LARGE)) == 1
    torch.set_num_threads(1)  # for PyTorch's own operators
    same = all(torch.equal(a, b) for a, b in zip(before, weights_after(2, "torch/adamw")))
    os._exit(7 if same and alone else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
for x in DataLoader(Steps(), batch_size=None, num_workers=1):
    assert torch.equal(x, before[0])
assert len(parts_of(team(), LARGE)) == 2
print("done")
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_child_that_takes_the_first_step_is_on_one_thread() -> None:
    """Of a parent that has used the runtime for other things."""
    done = python(
        """
import os, torch, optgen.torch
torch.set_num_threads(2)
(torch.ones(4_000_000) * 2).sum()
optgen.set_num_threads(2)
pid = os.fork()
if pid == 0:
    torch.set_num_threads(1)
    p = torch.nn.Parameter(torch.ones(1_000_000))
    p.grad = torch.ones_like(p)
    optgen.torch.SGD([p], lr=0.5).step()
    os._exit(7 if bool((p == 0.5).all()) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
print("done")
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_within_a_parallel_region_a_step_is_on_its_thread() -> None:
    """Of which regions are not nested, as long as nobody asks for it."""
    threads, inner = team(), []

    @TASK
    def task(step: int, part: int, parts: int) -> None:
        inner.append({thread for thread, _, _ in parts_of(threads, LARGE)})

    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, TASK, ctypes.c_void_p, ctypes.c_int64)(threads.run)
    with torch_threads(2):
        run(threads.address, task, None, LARGE)
    assert [len(x) for x in inner] == [1, 1]


def test_the_runtime_of_llvm() -> None:
    """As PyTorch for macOS has it. Here it is stood in for: a team of two, one after the other."""
    place, number = ctypes.c_void_p, ctypes.c_int32
    member = ctypes.CFUNCTYPE(None, ctypes.POINTER(number), ctypes.POINTER(number), ctypes.c_void_p)
    asked: list[int] = []
    now = [0]

    @ctypes.CFUNCTYPE(None, place, number, member, ctypes.c_void_p)
    def fork_call(where: int, n: int, run: Callable[..., None], job: int) -> None:
        assert n == 1
        for k in range(asked[-1]):
            now[0] = k
            run(number(k), number(k), job)

    @ctypes.CFUNCTYPE(None, place, number, number)
    def push_num_threads(where: int, thread: int, threads: int) -> None:
        assert thread == 5
        asked.append(threads)

    functions = {
        "__kmpc_fork_call": fork_call,
        "__kmpc_push_num_threads": push_num_threads,
        "__kmpc_global_thread_num": ctypes.CFUNCTYPE(number, place)(lambda where: 5),
        "omp_get_thread_num": ctypes.CFUNCTYPE(number)(lambda: now[0]),
        "omp_get_max_threads": ctypes.CFUNCTYPE(number)(lambda: 2),
    }
    addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in functions.items()}  # type: ignore[arg-type]
    found = parts_of(openmp.Team(addresses), 1 << 22)
    assert sorted(part for _, part, _ in found) == list(range(16)) and asked == [2]
