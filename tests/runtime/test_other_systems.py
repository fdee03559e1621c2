"""A system that lacks what Linux has: /proc, memfd_create, affinity, futexes, huge pages, locks of files."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.harness import python

HIDDEN = """
import builtins, ctypes, errno, fcntl, io, mmap, os, pathlib, sys

def refused(real):
    def opened(file, *args, **kwargs):
        if isinstance(file, (str, os.PathLike)) and os.fspath(file).startswith(("/proc", "/sys")):
            raise FileNotFoundError(errno.ENOENT, "hidden", os.fspath(file))
        return real(file, *args, **kwargs)
    return opened

def no_locks(*args):
    raise OSError(errno.ENOTSUP, "hidden")

builtins.open, io.open = refused(open), refused(io.open)
for name in ("memfd_create", "sched_getaffinity", "O_TMPFILE", "posix_fallocate", "process_cpu_count"):
    if hasattr(os, name):
        delattr(os, name)
for name in [x for x in dir(mmap) if x.startswith("MADV_")]:
    delattr(mmap, name)
fcntl.flock = fcntl.lockf = no_locks
import platform
platform.system = lambda: "Darwin"
import optgen.threads.pool
assert optgen.threads.pool.supported()
"""
WORK = """
import numpy as np, optgen, runtime as mx
from runtime import autograd, gluon, nd

w = [np.ones(400_000, np.float32)]
step = optgen.load("adam").bind(w, [np.ones_like(w[0])])
step()
assert optgen.num_threads() == 2 and abs(w[0] - 0.999).max() < 1e-5, (optgen.num_threads(), w[0][:3])

if __name__ == "__main__":
    net = gluon.nn.Dense(2)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    data = gluon.data.ArrayDataset(nd.ones((8, 4)), nd.zeros((8,)))
    checkpoint = mx.checkpoint.Checkpoint(FOLDER + "/checkpoints", net, trainer)
    for x, y in gluon.data.DataLoader(data, batch_size=4, num_workers=1):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(4)
        checkpoint.save()
    after = net.weight.data().asnumpy()
    net.weight.set_data(nd.zeros((2, 4)))
    checkpoint.load()
    assert (net.weight.data().asnumpy() == after).all()
    trainer.save_states(FOLDER + "/states")
    trainer.load_states(FOLDER + "/states")
    net.save_parameters(FOLDER + "/params")
    print("done")
"""


def test_all_of_it_works_there(tmp_path: Path) -> None:
    """In the process, whose workers it forks. Linux alone runs here: what is hidden stands for what others lack."""
    done = python(f"FOLDER = {str(tmp_path)!r}\n" + HIDDEN + WORK, OPTGEN_NUM_THREADS="2")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_torch_steps_there() -> None:
    done = python(
        "import torch\n"
        + HIDDEN
        + """
import torch, optgen.torch
p = [torch.nn.Parameter(torch.ones(5_000_000))]
opt = optgen.torch.AdamW(p)
p[0].grad = torch.ones(5_000_000)
opt.step()
assert abs(p[0] - 0.99899).max() < 1e-5
print("done")
"""
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
