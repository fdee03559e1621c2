"""What is saved of a spec beside states, so that states of other equations are not taken for its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from optgen.model import Optimizer


def identity(spec: Optimizer) -> dict[str, int]:
    """The version of a spec, and hashes of its name and of its states: of their names, dimensions and entries.

    They are numbers, as functions that compare state dicts know numbers and no texts (torch.testing.assert_close).
    """
    states = sorted(f"{s.name}({s.entries}): {s.kind.value} {' '.join(s.dims)}" for s in spec.states)
    return {"name": _hash(spec.name), "version": spec.version, "states": _hash("\n".join(states))}


def _hash(text: str) -> int:
    """A number that a double holds, too."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)


def difference(spec: Optimizer, saved: Any) -> str | None:
    """What the spec is whose `identity` was saved, if it is another one than this.

    ValueError for what is no identity.
    """
    own = identity(spec)
    if not isinstance(saved, Mapping) or any(type(saved.get(key)) is not int for key in own):
        raise ValueError(f"expected the numbers of {', '.join(own)} of a spec, not {saved!r}")
    if saved["name"] != own["name"]:
        return "of another spec"
    if saved["version"] != own["version"]:
        return f"of version {saved['version']} of {spec.name}, and this is version {spec.version}"
    if saved["states"] != own["states"]:
        return f"of a {spec.name} that had other states"
    return None
