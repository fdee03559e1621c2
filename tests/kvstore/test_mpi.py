"""`dist_sync` on real ranks: the same bits as one process, files, bytes, and what happens when ranks differ or fail."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import optgen
import runtime as mx
from optgen.execute.choice import FLOPS_OF_AN_ELEMENT
from optgen.threads import cpus
from runtime.kvstore.layout import layout
from runtime.kvstore.mpi.world import World
from tests.process import mpiexec, run
from tests.sweeps import swept

JOBS = Path(__file__).parent / "jobs"


def ran(ranks: int, job: str, *args: object, timeout: float = 120) -> str:
    """The output of a job that ends well."""
    done = mpiexec(ranks, [JOBS / job, *map(str, args)], timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---------------------------------------------------------------- what it computes


CONSTRUCTS = (
    *("dcasgd", "nadam", "schedulefree_adamw", "sophia", "test"),  # cut anywhere
    *("adai", "dadaptsgd", "dog", "lans", "mars"),  # at blocks
    *("adamp", "adashift", "amos", "groupadagrad", "soap"),  # at tensors
)
"""Specs of all constructs that matter to ranks, but for those of the next test but one."""


def test_two_ranks_come_to_the_bits_of_one_process_for_specs_of_all_constructs() -> None:
    ran(2, "specs.py", *CONSTRUCTS, timeout=300)


@pytest.mark.stress
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_any_number_of_ranks_comes_to_the_bits_of_one_process_for_every_spec(ranks: int) -> None:
    ran(ranks, "specs.py", timeout=600)


@pytest.mark.parametrize("ranks", [1, 3])
def test_any_number_of_ranks_comes_to_the_bits_of_one_process(ranks: int, tmp_path: Path) -> None:
    """For equations of all kinds: cut anywhere, at blocks, at tensors; with sums over all parameters; with draws.
    For rows, functions and compression; how many bytes are sent. Of three ranks also with gradients that are sent
    during backward, and with parameters and states that are loaded after the Trainer was made."""
    specs = ("adam", "lars", "adafactor", "prodigy", "sgld", "muon_adamw", "shampoo")
    more = ("--", "overlap.py", "--", "loading.py", tmp_path) if ranks == 3 else ()
    ran(ranks, "several.py", "specs.py", *specs, "--", "ways.py", tmp_path, *more, timeout=240)
    sent = [json.loads((tmp_path / f"sent{r}.json").read_text()) for r in range(ranks)]
    size = 4 << 18
    assert sum(s["float32"] for s in sent) == 2 * size * (ranks - 1)  # of each rank 2 x parameters x (P-1)/P
    assert sum(s["2bit"] for s in sent) == (size + size // 16) * (ranks - 1)


@pytest.mark.parametrize("ranks", swept([1, 2, 3], [2]))
def test_workers_average_weights_in_outer_steps(ranks: int) -> None:
    ran(ranks, "outer.py")


def test_matrices_go_whole_to_ranks_with_equal_work() -> None:
    """Muon's products of a square matrix take as long as AdamW's update of an embedding of many times its size."""
    shapes = {"a": (512, 512), "b": (512, 512), "c": (256, 1024), "embedding": (4096, 512), "bias": (512,)}
    muon = mx.optimizer.create("muon_adamw", plain=("embedding",), param_idx2name={k: k for k in shapes})
    cuts = {k: muon.cut_of(k, "float32", shape) for k, shape in shapes.items()}
    work = {k: muon.work_of(k, "float32", shape) for k, shape in shapes.items()}
    assert cuts == dict.fromkeys("abc", "tensors") | dict.fromkeys(("embedding", "bias"), "anywhere")
    assert work["bias"] == 512 and work["embedding"] == 4096 * 512
    flops = 5 * (512**3 + 512**3 + 2 * 512**3)  # of the three products of a turn two are symmetric
    assert work["a"] == 512 * 512 + flops / FLOPS_OF_AN_ELEMENT
    for owners in (2, 3, 5):
        found = layout(shapes, cuts, owners, work)
        parts = [[found.part(k, r) for k in shapes] for r in range(owners)]
        assert all(p.size in (0, p.slot.size) for of_rank in parts for p in of_rank if p.slot.key in "abc")
        loads = [sum(work[p.slot.key] * p.size / p.slot.size for p in of_rank) for of_rank in parts]
        assert sum(loads) == pytest.approx(sum(work.values()))
        assert max(loads) <= sum(loads) / owners + work["a"] + 4096


@pytest.mark.parametrize(("writers", "readers"), swept([(3, (1, 2)), (4, (1, 2, 3))], [(3, (1, 2))]))
def test_states_that_some_ranks_write_load_on_any_number(
    writers: int, readers: tuple[int, ...], tmp_path: Path
) -> None:
    ran(writers, "states.py", tmp_path, "write")
    for ranks in readers:
        ran(ranks, "states.py", tmp_path, "read")


# ---------------------------------------------------------------- ranks that differ

SAME = ". All ranks must make the same calls in the same order, with the same keys, shapes, types and hyper-parameters"
DIFFERENCES = {
    "keys": "the keys pushed: rank 0 has [0, 1], and rank 1 has [0, 2]",
    "operations": "the operation: rank 0 has init of a 'dist_sync' kvstore, and rank 1 has barrier of a 'dist_sync' "
    "kvstore",
    "shapes": "the shape of key 9: rank 0 has [2, 1], and rank 1 has [2, 2]",
    "types": "the type of key 9: rank 0 has float32, and rank 1 has float64",
    "lists": "the keys: rank 0 has 20 of them, and rank 1 has 21 of them, also [40]",
    "int and str": "the keys: rank 0 has [1], and rank 1 has ['1']",
    "numbers": "rescale_grad: rank 0 has 0.25, and rank 1 has 0.5",
    "optimizers": "the optimizer: rank 0 has Adam, and rank 1 has SGD",
    "rates": "the learning rate of key 1: rank 0 has 1.0, and rank 1 has 1.5",
    "compression": "gradient compression: rank 0 has None, and rank 1 has ['2bit', 0.5]",
}
REFUSED = {
    "twice": "MXNetError: init: key 0 is initialized twice; init and broadcast take every key once",
    "unknown": "MXNetError: push: key 9 is not initialized; call init or broadcast first",
    "shape": "MXNetError: push: key 0 has shape (4,), and an array shape (3,)",
    "bind_gradient_buffer": "MXNetError: bind_gradient_buffer: key 0 has shape (4,), and an array shape (5,)",
    "no states": "MXNetError: there are no states to save: this kvstore has no optimizer (see set_optimizer)",
    "integers": "MXNetError: SGD cannot update key 'n': dtype must be one of float32, float64, float16, bfloat16, not "
    "'int64'",
    "timeout": "ValueError: a time limit is a number of seconds above 0, not -1",
    "value": "[-2.25, -2.25, -2.25, -2.25]",
    "no file": "FileNotFoundError: [Errno 2] No such file or directory: '{}/nowhere'",
    "no states in it": "MXNetError: '{}/bad': the state file is not a readable file of arrays (safetensors): Error "
    "while deserializing: header too large",
    "no folder": "FileNotFoundError: [Errno 2] No such file or directory: '{}/nowhere/states'",
    "sparse": "MXNetError: push: the states of key 0 are where dense gradients go; a row-sparse one cannot follow: "
    "convert it with tostype('default')",
    "unknown store": "ValueError: unknown kvstore 'dist_synk'; did you mean 'dist_sync'?",
}


def test_ranks_that_differ_are_told_so_and_nothing_has_changed(tmp_path: Path) -> None:
    done = mpiexec(3, [JOBS / "errors.py", tmp_path], timeout=60)
    assert done.returncode != 0  # in the end one is late, and the job is aborted
    told = [json.loads((tmp_path / f"{r}.json").read_text()) for r in range(3)]
    wanted = {
        k: f"MXNetError: the ranks disagree, and nothing was exchanged: {v}{SAME}" for k, v in DIFFERENCES.items()
    }
    wanted |= {k: v.replace("{}", str(tmp_path)) for k, v in REFUSED.items()}
    for r, by_rank in enumerate(told):
        late, afterwards = by_rank.pop("late", ""), by_rank.pop("afterwards", "")
        assert by_rank == wanted
        if r != 1:
            assert late.startswith("MXNetError: barrier: rank 1 did not come within 0.5 s. All ranks must make the")
            assert afterwards.startswith("MXNetError: this kvstore cannot go on, as an earlier operation failed: bar")


# ---------------------------------------------------------------- ranks that fail

ENDS = {
    "raises": "[rank 1] ValueError: something of my own",
    "fails in the update": "which failed in the update of keys [0, 1]: ValueError: something of my own",
    "is interrupted": "which failed in barrier: interrupted by KeyboardInterrupt",
    "ends with a status": "rank 1 is waited for, which has left its script",
    "hangs": "rank 1 did not come within 1 s",
    "never creates the store": "create: rank 1 did not come within 3 s",
    "never starts MPI": "in _wait_until_all_ranks_start_mpi",
    "is killed": "",
}


@pytest.mark.parametrize("how", ENDS)
def test_a_rank_that_fails_ends_the_job(how: str) -> None:
    """Nothing waits for what the rank sleeps, or for the time that a store may wait: both are longer than the limit."""
    env = {"RUNTIME_KVSTORE_TIMEOUT": "3" if "never" in how else "600"}
    done = mpiexec(2, [JOBS / "failing.py", how], timeout=90, env=env)
    assert done.returncode != 0
    assert ENDS[how] in done.stderr + done.stdout


def test_without_mpi4py_the_error_names_the_extra() -> None:
    script = "import sys; sys.modules['mpi4py'] = None; import runtime as mx; mx.kv.create('dist_sync')"
    done = run([sys.executable, "-c", script], timeout=30)
    assert "ImportError: the kvstore 'dist_sync' needs MPI: pip install 'mpi4py" in done.stderr


def test_a_bad_time_limit_in_the_environment_is_refused() -> None:
    script = "import runtime as mx; mx.kv.create('dist_sync')"
    done = run([sys.executable, "-c", script], timeout=30, env={"RUNTIME_KVSTORE_TIMEOUT": "soon"})
    assert "MXNetError: RUNTIME_KVSTORE_TIMEOUT is a number of seconds above 0, not 'soon'" in done.stderr


class Machine:
    """What tells of the ranks of one machine: four of them, which may all run on the same CPUs."""

    def Allreduce(self, mine: np.ndarray, sums: np.ndarray) -> None:
        sums[:] = 4 * mine

    def Get_size(self) -> int:
        return 4

    def Free(self) -> None:
        pass


@pytest.mark.parametrize(("quota", "threads"), [(math.inf, 16), (24.0, 6), (6.5, 1), (2.0, 1)])
def test_ranks_share_the_quota_of_their_container(quota: float, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[int] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr(cpus, "quota", lambda: quota)
    monkeypatch.setattr(optgen, "num_threads", lambda: 64)
    monkeypatch.setattr(optgen, "set_num_threads", set_to.append)
    monkeypatch.delenv("OPTGEN_NUM_THREADS", raising=False)
    rank = object.__new__(World)
    rank.size = 4
    rank._divide_cpus(Machine())
    assert set_to == [threads]
