"""What is saved of a spec beside states, so that states of other equations are not taken for its own."""

from __future__ import annotations

import hashlib
from typing import Any

from optgen.axes import Kind
from optgen.model import Optimizer


def identity(spec: Optimizer) -> dict[str, int]:
    """The version of a spec, and hashes of its name and of its states: of their names, dimensions and entries.

    They are numbers, as functions that compare state dicts know numbers and no texts (torch.testing.assert_close).
    """
    own = ((s, " ".join(map(str, s.axes)) if s.kind is Kind.MATRIX else "") for s in spec.states)
    states = sorted(f"{s.name}({s.entries or ''}): {s.kind.value} {dims}" for s, dims in own)
    return {"name": _hash(spec.name), "version": spec.version, "states": _hash("\n".join(states))}


def _hash(text: str) -> int:
    """A number that a double holds, too."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)


def difference(spec: Optimizer, saved: Any) -> str | None:
    """What the spec is whose `identity` was saved, if it is another one than this. None, which is no identity, stands
    for a spec before it had versions.

    ValueError for what is no identity.
    """
    own = identity(spec)
    if saved is None:
        older = f"of no version, and this is version {spec.version} of {spec.name}"
        return older if spec.version > 1 else None
    try:
        saved = {key: int(saved[key]) for key in own}  # which may have become doubles, or tensors
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        raise ValueError(f"expected the numbers of {', '.join(own)} of a spec, not {saved!r}") from None
    if saved["name"] != own["name"]:
        return "of another spec"
    if saved["version"] != own["version"]:
        return f"of version {saved['version']} of {spec.name}, and this is version {spec.version}"
    if saved["states"] != own["states"]:
        return f"of a {spec.name} that had other states"
    return None
