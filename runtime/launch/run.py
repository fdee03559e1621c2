"""A run from its start to its end: Ray, the servers, the workers."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.base import MXNetError
from runtime.kvstore import environment
from runtime.kvstore.servers.ray_setup import connect
from runtime.kvstore.servers.service import Service
from runtime.launch.arguments import Arguments, parse
from runtime.launch.environment import sent
from runtime.launch.output import say
from runtime.launch.signals import Interrupted, Signals
from runtime.launch.worker import Worker
from runtime.launch.workers import Workers
from runtime.optimizer import handwritten_modules

_CONNECT_SECONDS = 10
"""The head of a cluster may take so long to accept a connection."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the command line asks for, by default this process's; the exit status."""
    arguments = parse(argv)
    try:
        with Signals() as signals:
            return _run(arguments, signals)
    except Interrupted as e:
        return 128 + e.args[0]
    except BrokenPipeError:  # nobody reads what is written
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 128 + signal.SIGPIPE
    except (ImportError, MXNetError) as e:
        say(str(e))
        return 1


def _run(arguments: Arguments, signals: Signals) -> int:
    variables = sent(os.environ, arguments.env)  # the scripts'; connecting to Ray changes this process's
    namespace = f"run-{secrets.token_hex(8)}"
    with _connected(arguments, namespace, signals) as ray, _servers(arguments):
        make = _maker(ray, arguments, variables, namespace)
        with signals.deferred():
            status = Workers(ray, arguments.workers, arguments.max_restarts, make).run(signals)
        if status:
            say(_logs(ray))
        return status


# ---------------------------------------------------------------- Ray


@contextlib.contextmanager
def _connected(arguments: Arguments, namespace: str, signals: Signals) -> Iterator[Any]:
    """The module `ray`, connected to a Ray that is started here or to a cluster, until the end of the block.

    MXNetError if that cannot be done, ImportError without Ray.
    """
    folder = str(arguments.script.resolve().parent)
    if arguments.address is None:
        # Ray's processes may import what lies beside the script that runs: here, that is the user's.
        sys.argv = [str(arguments.script)]
        sys.path.append(folder)
    else:
        _check_reachable(arguments.address)
    # Half started, Ray would leave processes behind; half connected, it would not.
    with signals.deferred() if arguments.address is None else contextlib.nullcontext():
        ray = _connect(arguments.address, namespace, folder)
    try:
        yield ray
    except MXNetError as e:
        raise MXNetError(f"{e}; {_logs(ray)}") from e
    finally:
        ray.shutdown()


def _connect(address: str | None, namespace: str, folder: str) -> Any:
    """Start Ray, or connect to a cluster, to whose machines copies of the folder travel."""
    try:
        return connect(address, namespace, None if address is None else folder)
    except (MXNetError, ImportError):
        raise
    except SystemExit:  # Ray has a handler of SIGTERM of its own while it starts
        raise Interrupted(signal.SIGTERM) from None
    except Exception as e:  # Ray raises all kinds
        if address is None:
            raise MXNetError(f"Ray could not be started: {e}") from e
        token = "" if "RAY_AUTH_MODE" in os.environ else "; a cluster with a token needs RAY_AUTH_MODE=token here, too"
        raise MXNetError(f"no Ray cluster answers at {address}: {e}{token}") from e


def _logs(ray: Any) -> str:
    # The socket of a node's object store lies in a folder beside that of the log files.
    return f"the log files of Ray are in {Path(ray.nodes()[0]['ObjectStoreSocketName']).parents[1] / 'logs'}"


def _check_reachable(address: str) -> None:
    """MXNetError if nothing listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except OSError as e:
        raise MXNetError(
            f"there is no Ray cluster at {address} ({e}); `ray start --head --port={port}` starts one on {host}"
        ) from e


# ---------------------------------------------------------------- servers and workers


@contextlib.contextmanager
def _servers(arguments: Arguments) -> Iterator[None]:
    """The servers of the run, until the end of the block."""
    written = arguments.modules or handwritten_modules.defining(arguments.script)
    service = Service(arguments.servers, arguments.workers, modules=written)
    try:
        service.start()
        yield
    finally:
        service.stop()


def _maker(ray: Any, arguments: Arguments, variables: Mapping[str, str], namespace: str) -> Callable[[int, int], Any]:
    """The function that makes the actor of a rank and an attempt. Prints what runs, too."""
    address = ray.get_runtime_context().gcs_address
    alone = arguments.address is None
    machines = sum(node["Alive"] for node in ray.nodes())
    script = str(arguments.script) if alone else arguments.script.name
    folder = os.getcwd() if alone else None
    # Ray's variables, as they are by now, hold what a script needs to connect to it.
    common = {
        **variables,
        **{name: value for name, value in sent(os.environ, ()).items() if name.startswith("RAY_")},
        environment.RUN: namespace,
        environment.ADDRESS: address,
        environment.WORKERS: str(arguments.workers),
        environment.SERVERS: str(arguments.servers),
    }
    actor = ray.remote(Worker).options(num_cpus=0, max_concurrency=2, scheduling_strategy="SPREAD")

    def make(rank: int, attempt: int) -> Any:
        own = {environment.RANK: str(rank), environment.ATTEMPT: str(attempt)}
        return actor.remote(script, arguments.args, folder, common | own, math.ceil(arguments.workers / machines))

    say(
        f"{_counted(arguments.workers, 'worker')} and {_counted(arguments.servers, 'server')} on "
        f"{'this machine' if alone else _counted(machines, 'machine')}, Ray at {address}"
    )
    return make


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count > 1)}"
