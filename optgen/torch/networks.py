"""A whole network in the place of parameters, and which of them a flag `plain` is true for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from optgen.by_name import Named, Pattern
from optgen.model import Optimizer

PLAIN = "plain"
"""The flag of a spec for the parameters that its second update is for, though the first one could update them."""
PATTERNS = "patterns of names that are plain, as ('head.*', '*.embed.*'); True: all; () or False: none"
"""What the argument is, beside the rule for a network."""
Reasons = dict[torch.Tensor, str]
"""Why parameters are plain."""


def has_plain(spec: Optimizer) -> bool:
    """Whether a spec leaves parameters that are `plain` to its second update."""
    return any(flag.name == PLAIN and flag.per_param and flag.default is False for flag in spec.flags)


def named(params: Any) -> Any:
    """The named parameters of a network; anything else as it is."""
    return list(params.named_parameters()) if isinstance(params, torch.nn.Module) else params


def split(owner: str, network: Any, params: Any, plain: bool | Iterable[str] | None) -> tuple[Any, bool, Reasons]:
    """Parameters as groups, the flag of those that say nothing themselves, and why some are plain. `network` is what
    the parameters are of, if it is a module.

    Where some parameters of a group are plain and others not, there are two groups in its place, the plain ones in the
    second. `owner` is the class, for errors. Raises TypeError or ValueError for patterns that are none, that match
    nothing, or that parameters without names cannot match.
    """
    is_network = isinstance(network, torch.nn.Module)
    if plain is None or isinstance(plain, bool):
        reasons = by_rule(owner, network) if is_network and plain is None else {}
    else:
        params, names = _groups(params), other_names(network) if is_network else {}
        reasons = _by_patterns(owner, params, checked(owner, plain), names)
    if not reasons:
        return params, plain is True, {}
    return [part for group in _groups(params) for part in _parts(group, reasons)], False, reasons


def checked(owner: str, plain: Any) -> tuple[str, ...]:
    """Patterns; TypeError if they are none."""
    patterns = tuple(plain) if isinstance(plain, Iterable) and not isinstance(plain, str | bytes) else None
    if patterns is None or not all(isinstance(x, str) for x in patterns):
        raise TypeError(f"{owner}: plain: {PATTERNS}; not {plain!r}")
    return patterns


# ---------------------------------------------------------------- by patterns


def _groups(params: Any) -> list[Mapping[str, Any]]:
    """Parameters as PyTorch takes them, as groups whose parameters are lists."""
    given: list[Any] = _listed(params)
    if not given or not isinstance(given[0], Mapping):
        return [{"params": given}]
    return [{**group, "params": _listed(named(group["params"]))} for group in given]


def _listed(params: Any) -> list[Any]:
    return [params] if isinstance(params, torch.Tensor) else list(params)


def _by_patterns(
    owner: str, groups: Sequence[Mapping[str, Any]], patterns: Sequence[str], more: Mapping[torch.Tensor, list[str]]
) -> Reasons:
    """The parameters whose names match, in groups that do not say themselves whether they are plain."""
    found: Reasons = {}
    matched: set[str] = set()
    for entry in (x for group in groups if PLAIN not in group for x in group["params"]):
        if not (isinstance(entry, tuple) and len(entry) == 2):
            if patterns:
                raise ValueError(
                    f"{owner}: plain={tuple(patterns)!r} are patterns of names, and these parameters have none: give "
                    "the network, or its named_parameters()"
                )
            continue
        name, param = entry
        own = Named(tuple(dict.fromkeys((name, *more.get(param, ())))), tuple(param.shape))
        fitting = [x for x in patterns if Pattern(x).match(own) is not None]
        matched.update(fitting)
        if fitting:
            found[param] = f"plain='{fitting[0]}'"
    for pattern in patterns:
        if pattern not in matched:
            raise ValueError(f"{owner}: plain: no parameter has a name that matches '{pattern}'")
    return found


def other_names(network: torch.nn.Module) -> dict[torch.Tensor, list[str]]:
    """All names of each parameter: one that is tied has several."""
    found: dict[torch.Tensor, list[str]] = {}
    for name, param in network.named_parameters(remove_duplicate=False):
        found.setdefault(param, []).append(name)
    return found


def _parts(group: Mapping[str, Any], reasons: Reasons) -> Iterator[dict[str, Any]]:
    """A group, or two: of the parameters that are not plain, and of those that are."""
    if PLAIN in group:
        yield dict(group)
        return
    params = group["params"]
    is_plain = [(x if isinstance(x, torch.Tensor) else x[1]) in reasons for x in params]
    for flag in (False, True):
        own = [x for x, plain in zip(params, is_plain, strict=True) if plain == flag]
        if own or not params:
            yield {**group, "params": own, PLAIN: flag}


# ---------------------------------------------------------------- by the rule


def by_rule(owner: str, network: torch.nn.Module) -> Reasons:
    """What is plain in a network: the parameters of embeddings, with what is tied to them, and the matrices of the
    head. That is `get_output_embeddings()`, where the network has that method and it names one; otherwise it is the
    last module, in the order of registration, that has a matrix.

    ValueError if a parameter has no shape yet.
    """
    for name, param in network.named_parameters():
        if is_lazy(param):
            raise ValueError(
                f"{owner}: parameter '{name}' has no shape yet, and may be a matrix of the last layer: call the "
                "network once before, or say what is plain: plain=('head.*',)"
            )
    found: Reasons = {}
    for module in network.modules():
        if isinstance(module, torch.nn.Embedding | torch.nn.EmbeddingBag):
            kind = "nn.Embedding" if isinstance(module, torch.nn.Embedding) else "nn.EmbeddingBag"
            found |= dict.fromkeys(module.parameters(), kind)
    head = _head(network)
    for param in head.parameters() if head is not None else ():
        if param.dim() > 1:
            found.setdefault(param, "the last layer")
    return found


def _head(network: torch.nn.Module) -> torch.nn.Module | None:
    """The module that makes what the network returns; None if no module has a matrix."""
    own = getattr(network, "get_output_embeddings", None)
    head = own() if callable(own) else None
    if isinstance(head, torch.nn.Module):
        return head
    last = None
    for module in network.modules():
        if any(p.dim() > 1 for p in module.parameters(recurse=False)):
            last = module
    return last
