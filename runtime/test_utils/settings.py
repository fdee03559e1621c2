"""The environment of tests: contexts, environment variables, standard error, and retries of random tests."""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from runtime import context
from runtime.context import Context, current_context
from runtime.util import setenv


def default_context() -> Context:
    """The context of arrays that name none."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Make `ctx` the context of this thread's arrays that name none, outside of `with ctx:` blocks."""
    context._entered.stack[0] = ctx


def list_gpus() -> range:
    """The numbers of the GPUs that arrays can live on."""
    return range(context.num_gpus())


@contextmanager
def environment(*args: Any) -> Iterator[None]:
    """`with environment(name, value):` or `with environment({name: value, ...}):` these environment variables inside;
    None unsets one."""
    wanted = dict(args[0]) if len(args) == 1 else dict([args])
    before = {name: os.environ.get(name) for name in wanted}
    try:
        for name, value in wanted.items():
            setenv(name, value)
        yield
    finally:
        for name, value in before.items():
            setenv(name, value)


@contextmanager
def discard_stderr() -> Iterator[None]:
    """`with discard_stderr():` what the process writes to its standard error stream inside is lost."""
    try:
        stream = sys.stderr.fileno()
    except (AttributeError, OSError):  # a stream without a file descriptor: there is nothing to redirect
        yield
        return
    kept = os.dup(stream)
    try:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), stream)
        yield
    finally:
        os.dup2(kept, stream)
        os.close(kept)


def retry(n: int) -> Callable[[Callable], Callable]:
    """Decorator: a test by chance, which fails if it fails `n` times in a row."""
    if n < 1:
        raise ValueError(f"a test runs at least once, not {n} times")

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def call(*args: Any, **kwargs: Any) -> None:
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    pass
            return test(*args, **kwargs)

        return call

    return decorate


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """`gluon.utils.download` to the file `fname` in `dirname`; returns the file's path."""
    from runtime.gluon.utils import download as fetch

    name = fname or url.rpartition("/")[2]
    return fetch(url, os.path.join(dirname, name) if dirname else name, overwrite, retries=retries)


def is_cd_run() -> bool:
    """Whether the tests run to make a release."""
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether the tests run on 64-bit ARM."""
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """Whether there are operators made by TVM: never."""
    return False


def is_op_runnable() -> bool:
    """Whether operators can be run in the current context: always."""
    return True
