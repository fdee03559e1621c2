"""Files of fingerprints, and what differs between two of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import llvmlite

from optgen.backends import target
from tests.compiler.fingerprints.lines import HASHES


def versions() -> str:
    return f"LLVM {target.llvm_version()}, llvmlite {llvmlite.__version__}"


def to_text(lines: Mapping[str, Mapping[str, str | float]], head: str) -> str:
    """The file: what it is of, then the lines, sorted."""
    rows = [f"{name} | {' '.join(f'{key}={_shown(x)}' for key, x in line.items())}" for name, line in lines.items()]
    return "\n".join([f"# {head}", *sorted(rows), ""])


def _shown(x: str | float) -> str:
    return x if isinstance(x, str) else f"{x:.15g}"


def from_text(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """What a file is of, and its lines by name. Raises ValueError for a text that is no such file."""
    head, *rows = text.splitlines() or [""]
    if not head.startswith("# "):
        raise ValueError("its first line does not say what it is of")
    found = dict[str, dict[str, str]]()
    for number, row in enumerate(rows, 2):
        name, bar, values = row.rpartition(" | ")
        pairs = [x.split("=") for x in values.split()]
        if not bar or any(len(x) != 2 for x in pairs):
            raise ValueError(f"line {number} is not NAME | KEY=VALUE ...: {row!r}")
        if name in found:
            raise ValueError(f"line {number} is the second one of {name!r}")
        found[name] = {key: value for key, value in pairs}
        for key, value in found[name].items():
            if key not in HASHES and not re.fullmatch(r"[-+.\de]+", value):
                raise ValueError(f"line {number}: {key} is no number: {value!r}")
    return head.removeprefix("# "), found


def differences(old: str, new: str, specs: Sequence[str] = ()) -> list[str]:
    """What differs between two files, in words, and at the end how often; of some specs, or of all. None where nothing
    does."""
    (was, before), (now, after) = from_text(old), from_text(new)
    if specs:
        before, after = ({k: x for k, x in own.items() if k.partition(" | ")[0] in specs} for own in (before, after))
    left_out = {"ptx"} if was != now else set[str]()
    said, totals = list[str](), Counter[str]()
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            changed = {"added" if name in after else "removed": ""}
        else:
            changed = dict(_changes(before[name], after[name], left_out))
        if changed:
            said.append(f"{name}: {', '.join(f'{what} {how}'.rstrip() for what, how in changed.items())}")
            totals.update(changed.keys())
    if said:
        said.append(f"lines that differ: {len(said)}; {', '.join(f'{what} {n}' for what, n in sorted(totals.items()))}")
    if left_out:
        said.insert(0, f"made with other versions, so PTX is not compared: {was}, and now {now}")
    return said


def _changes(before: Mapping[str, str], after: Mapping[str, str], left_out: set[str]) -> Iterator[tuple[str, str]]:
    """What of a line changed, and how."""
    for key in before | after:
        old, new = before.get(key), after.get(key)
        if key in left_out or old == new:
            continue
        if key in HASHES or old is None or new is None:
            yield key, "" if old and new else "added" if new else "removed"
        else:
            yield f"{key} {'rose' if float(new) > float(old) else 'fell'}", f"{old} -> {new}"
