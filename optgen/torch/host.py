"""Parameters on a GPU whose states are in the memory of the host: kernels for the CPU update them there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from optgen.execute.rule import UpdateRule
from optgen.torch.bound import BoundTensors
from optgen.torch.memory import has_sparse_rows, is_dtensor
from optgen.torch.state import StateKeys
from optgen.torch.values import GroupOptions

HOST = torch.device("cpu")
PART_BYTES = 64 << 20
"""Parameters of about as many bytes are one native call, while others travel."""


def is_on_host(options: GroupOptions, param: torch.Tensor) -> bool:
    """Whether the states of a parameter are on the host, and it is not."""
    return options.on_host and param.device.type != "cpu"


def check_on_host(name: str, options: GroupOptions, params: Sequence[torch.Tensor]) -> None:
    """ValueError naming what keeps states from being on the host."""
    if options.on_host and options.capturable:
        raise ValueError(f"{name}: states='cpu' with capturable=True: a graph on a GPU cannot hold steps of the CPU")
    for k, p in enumerate(params):
        if is_on_host(options, p) and is_dtensor(p):
            raise ValueError(
                f"params[{k}]: a DTensor on '{p.device.type}', and states='cpu' takes whole parameters; shard with "
                "fully_shard(..., offload_policy=CPUOffloadPolicy()), which keeps the parameters themselves on the CPU"
            )


def parts(params: Sequence[torch.Tensor], *, together: bool) -> list[list[torch.Tensor]]:
    """Parameters in parts that are updated one after the other, while the next ones travel; all of them `together`
    where they share values."""
    found: list[list[torch.Tensor]] = []
    size = PART_BYTES
    for p in params:
        if size >= PART_BYTES and not (together and found):
            found.append([])
            size = 0
        found[-1].append(p)
        size += p.nbytes
    return found


# ---------------------------------------------------------------- what travels

Pairs = Sequence[tuple[torch.Tensor, torch.Tensor]]
"""What is written, and what it is written from."""


class Link:
    """The way between a device and the host, on which a copy is made when it is asked for."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def host_like(self, x: torch.Tensor) -> torch.Tensor:
        """New memory of the host, of the order of a tensor."""
        return torch.empty_like(x, device=HOST, requires_grad=False)

    def fetch(self, pairs: Pairs) -> Callable[[], None]:
        """Copy to the host; what is returned waits until that is done."""
        _copy(pairs, non_blocking=False)  # a device may promise nothing else
        return _at_once

    def send(self, pairs: Pairs) -> None:
        """Copy to the device, before what it computes next."""
        _copy(pairs, non_blocking=False)


class CudaLink(Link):
    """The way between a GPU and pinned memory, on which copies in both directions are made beside what it computes."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        make: Any = torch.cuda.Stream
        self._down, self._up = make(device), make(device)

    def host_like(self, x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x, device=HOST, requires_grad=False, pin_memory=True)

    def fetch(self, pairs: Pairs) -> Callable[[], None]:
        self._down.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._down):
            _copy(pairs, non_blocking=True)
        done: torch.cuda.Event = self._down.record_event()
        return done.synchronize

    def send(self, pairs: Pairs) -> None:
        current = torch.cuda.current_stream(self.device)
        self._up.wait_stream(current)  # which may still read the parameters
        with torch.cuda.stream(self._up):
            _copy(pairs, non_blocking=True)
        current.wait_stream(self._up)


def _at_once() -> None:
    """There is nothing to wait for."""


def _copy(pairs: Pairs, *, non_blocking: bool) -> None:
    with torch.no_grad():
        for to, values in pairs:
            to.copy_(values, non_blocking=non_blocking)


class Mirrors:
    """The memory of the host in which parameters on devices are updated, and the ways to these devices."""

    def __init__(self) -> None:
        self._of: Any = WeakTensorKeyDictionary()
        self._links: dict[torch.device, Link] = {}

    def link(self, device: torch.device) -> Link:
        """The way to a device."""
        if device not in self._links:
            self._links[device] = (CudaLink if device.type == "cuda" else Link)(device)
        return self._links[device]

    def of(self, param: torch.Tensor) -> torch.Tensor:
        """A tensor of the host for a parameter: of its shape, dtype and order, and at first its values."""
        there = self._of.get(param)
        if there is None or not _is_alike(there, param):
            link, values = self.link(param.device), param.detach()
            there = self._of[param] = link.host_like(values)
            link.fetch([(there, values)])()
        return there  # type: ignore[no-any-return]

    def holding(self, param: torch.Tensor) -> torch.Tensor:
        """The tensor of the host for a parameter, with the values that it has now."""
        mirror = self.of(param)
        self.link(param.device).fetch([(mirror, param.detach())])()
        return mirror


def _is_alike(mirror: torch.Tensor, param: torch.Tensor) -> bool:
    return (mirror.shape, mirror.dtype, mirror.stride()) == (param.shape, param.dtype, param.stride())


# ---------------------------------------------------------------- the step


class HostTensors:
    """A step of a rule over parameters on a device, in the memory of the host, with the interface of `BoundTensors`.

    `prepare` has the parameters and their gradients come. `attempt` and `run` wait for them. After `run`, the
    parameters go back, before what the device computes next.
    """

    is_capturable = False

    def __init__(
        self,
        rule: UpdateRule,
        params: Sequence[torch.Tensor],
        kept: Sequence[dict[str, Any]],
        ids: Sequence[int],
        keys: StateKeys,
        mirrors: Mirrors,
        *,
        seed: int,
        describe: Callable[[torch.Tensor], str],
    ) -> None:
        self.params, self._link = params, mirrors.link(params[0].device)
        self._mirrors = [mirrors.of(p) for p in params]
        self._gradients: list[torch.Tensor | None] = [None] * len(params)
        self._wait: Callable[[], None] = _at_once
        named = dict(zip(map(id, self._mirrors), params, strict=True))
        self._gradients_to_come()  # so that there are some to bind
        self._bound = BoundTensors(
            rule, self._mirrors, kept, ids, keys, seed=seed, describe=lambda mirror: describe(named[id(mirror)])
        )

    @property
    def bound_params(self) -> Sequence[torch.Tensor]:
        """The parameters in the order of the step's numbers, by which its errors call them."""
        return self.params

    @property
    def counts(self) -> Any:
        """The numbers of updates."""
        return self._bound.counts

    @property
    def may_fail(self) -> bool:
        """Whether there is something to attempt."""
        return self._bound.may_fail

    def is_current(self) -> bool:
        """Whether states and parameters are those that were bound."""
        return len(self.unmoved()) == len(self.params) and self._bound.is_current()

    def unmoved(self) -> list[torch.Tensor]:
        """The parameters that are as they were."""
        pairs = zip(self.params, self._mirrors, strict=True)
        return [p for p, mirror in pairs if p.device == self._link.device and _is_alike(mirror, p)]

    def keeps(self, state: Mapping[torch.Tensor, Any]) -> bool:
        """Whether this is where the states stand."""
        return all(state.get(p) is kept or not kept for p, kept in zip(self.params, self._bound.kept, strict=True))

    def set(self, values: Mapping[str, Any], gradient_factor: float) -> None:
        """Have the next update use these params."""
        self._bound.set(values, gradient_factor)

    def prepare(self, phase: str | None, given: Mapping[str, float]) -> None:
        """Have parameters and gradients come, for `run`; errors are those of `BoundTensors.prepare`."""
        self._fetch()
        self._bound.prepare(phase, given)

    def _fetch(self) -> None:
        # Parameters come each time, as nothing tells whether somebody has written one through `p.data`.
        pairs = self._gradients_to_come()
        pairs += [(mirror, p.detach()) for p, mirror in zip(self.params, self._mirrors, strict=True)]
        self._wait = self._link.fetch(pairs)

    def _gradients_to_come(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The memory of the host for each gradient that there is, beside the gradient."""
        pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
        for k, (p, mirror) in enumerate(zip(self.params, self._mirrors, strict=True)):
            mirror.grad = None
            if p.grad is not None:
                if has_sparse_rows(p.grad):
                    raise ValueError(f"params[{k}].grad: sparse, and states='cpu' takes dense gradients alone")
                own = self._gradients[k]
                self._gradients[k] = mirror.grad = self._link.host_like(mirror) if own is None else own
                pairs.append((mirror.grad, p.grad.detach()))
        return pairs

    def _arrive(self) -> None:
        self._wait()
        self._wait = _at_once

    def attempt(self) -> None:
        """`BoundTensors.attempt`, with what has come."""
        self._arrive()
        self._bound.attempt()

    def undo(self) -> None:
        """`BoundTensors.undo`."""
        self._bound.undo()

    def run(self) -> None:
        """One update of the parameters that have gradients, which then go back."""
        self._arrive()
        try:
            self._bound.run()
        finally:  # an interrupt is raised behind the native call, which is whole
            pairs = [(p, m) for p, m in zip(self.params, self._mirrors, strict=True) if m.grad is not None]
            self._link.send(pairs)
