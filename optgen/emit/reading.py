"""Kernels for GPUs read back from the folder that `optgen build` wrote; nothing is compiled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from optgen import compiled, pipeline
from optgen.backends import target
from optgen.backends.gpu.nvidia import Nvidia
from optgen.backends.gpu.table import Counts, Launch
from optgen.backends.gpu.table import description as table_description
from optgen.backends.step_struct import step_description
from optgen.compiled import PtxKernel
from optgen.diagnostics import Source
from optgen.emit.manifest_json import FORMAT, Json, digest
from optgen.ir import Buffer, Variant
from optgen.model import Optimizer, flags_text

MANIFEST = f"{Nvidia.name}.json"
MOST_LISTED = 6
"""How many variants an error lists."""


@dataclass(frozen=True)
class BuiltKernels:
    """The kernels of a folder by their variants, without `sizes`. `spec` is what they were made of, `arch` the oldest
    GPUs that they run on."""

    folder: Path
    spec: Optimizer
    arch: str
    entries: Mapping[str, Json]

    def kernel(self, variant: Variant) -> PtxKernel:
        """The kernel of a variant; ValueError that lists what was built, or names a file that is another one."""
        entry = self.entries.get(_key(variant))
        if entry is None:
            built = [_described(_variant(x)) for x in self.entries.values()]
            more = f"; and {len(built) - MOST_LISTED} more" if len(built) > MOST_LISTED else ""
            raise ValueError(
                f"{self.folder} has no kernel of {_described(variant)}; it has those of "
                f"{'; '.join(built[:MOST_LISTED])}{more}. `optgen build` makes others with --all (flags), --dtype, "
                "--master and --storage"
            )
        counts = Counts(**entry["counts"])
        return PtxKernel(
            entry["symbol"],
            entry["dtype"],
            tuple(_buffer(row, variant) for row in entry["buffers"]),
            tuple(entry["hyper"]),
            entry["lazy"],
            entry["shared"],
            entry["cost"]["sweeps"],
            entry["cut"],
            counts.last_two,
            (),
            self._file(entry, "host_object"),
            self._file(entry, "ptx"),
            tuple(Launch(**{k: x for k, x in row.items() if k != "per_block"}) for row in entry["launches"]),
            counts,
        )

    def _file(self, entry: Json, kind: str) -> bytes:
        path = self.folder / entry["files"][kind]
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != entry["sha256"][kind]:
            raise ValueError(f"{path}: not the file that {MANIFEST} is about; build the kernels anew")
        return data


def read(folder: str | os.PathLike[str]) -> BuiltKernels:
    """The kernels of a folder. FileNotFoundError if it is none; ValueError for a manifest that was changed, or that
    another optgen wrote, and for a CPU that cannot run the host's part."""
    path = Path(folder)
    manifest = path / MANIFEST
    if not manifest.is_file():
        inside = sorted(str(found.parent) for found in path.glob(f"*/{MANIFEST}"))
        hint = f"its folders have one: {', '.join(inside)}" if inside else (
            "`optgen build SPEC --target cuda --kernels -o FOLDER` writes one to FOLDER/SPEC"
        )  # fmt: skip
        raise FileNotFoundError(f"{path}: no folder of kernels for GPUs, as it has no {MANIFEST}; {hint}")
    try:
        data = json.loads(manifest.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{manifest}: not the manifest of a build: {error}") from None
    _check(manifest, data)
    spec = pipeline.checked(Source(data["spec"]["name"], data["spec"]["text"]))
    entries = {_key(_variant(entry)): entry for entry in data["variants"]}
    return BuiltKernels(path, spec, data["target"]["arch"], entries)


def _check(manifest: Path, data: Any) -> None:
    """ValueError unless this optgen wrote the manifest, or one whose steps are laid out in the same way, for a CPU as
    this one."""
    found = data.get("format") if isinstance(data, dict) else None
    anew = "build the kernels anew"
    if found != FORMAT:
        raise ValueError(f"{manifest}: its format is {found}, and this optgen reads format {FORMAT}; {anew}")
    if data.pop("sha256", None) != digest(data):
        raise ValueError(f"{manifest}: it was changed after it was written; {anew}")
    if missing := [key for key in ("target", "spec", "variants", "optgen") if key not in data]:
        raise ValueError(f"{manifest}: it has no '{missing[0]}'; {anew}")
    built, host, here = data["target"], data["target"]["host"], target.host()
    if built["table"] != table_description() or host["step"] != step_description():
        raise ValueError(
            f"{manifest}: optgen {data['optgen']} wrote it, whose tables or steps are laid out in another way than "
            f"those of this optgen; {anew}"
        )
    lacks = sorted(set(host["features"]) - set(here.required()))
    if _system(host["triple"]) != _system(here.triple) or lacks:
        raise ValueError(
            f"{manifest}: the host's part of its steps is for {host['triple']}, {host['cpu']}, and this machine is "
            f"{here.triple}, {here.cpu}{', without ' + ', '.join(lacks) if lacks else ''}; build the kernels here"
        )


def _system(triple: str) -> list[str]:
    """A triple without the vendor, which means nothing for code."""
    machine, _, *system = triple.split("-")
    return [machine, *system]


def _variant(entry: Json) -> Variant:
    return Variant(entry["flags"], entry["dtype"], entry["master"], entry["storage"], entry["evaluate"])


def _key(variant: Variant) -> str:
    """What tells variants apart in a folder: all but the params that are dimensions, which kernels take as they come,
    and storages that are the weight's."""
    storage = {name: x for name, x in variant.storage.items() if x != variant.weight}
    return json.dumps(asdict(replace(variant, storage=storage, sizes={})), sort_keys=True)


def _described(variant: Variant) -> str:
    """`float32, amsgrad=false`."""
    words = [variant.dtype, *["master weights"] * variant.master]
    words += [f"{name} in {x}" for name, x in variant.storage.items() if x != variant.weight]
    words += [f"{variant.gradients} gradients of each parameter"] * (variant.gradients > 1)
    words += ["boxes of tensors"] * variant.boxes + ["weights to evaluate with"] * variant.evaluate
    return ", ".join([*words, flags_text(variant.flags)])


def _buffer(row: Json, variant: Variant) -> Buffer:
    """A buffer as the manifest has it, with the number of entries that a history has in this variant."""
    init = float(row["init"]) if row["init"] in ("inf", "-inf") else row["init"]
    buffer = compiled.buffer(row)
    entries = buffer.entries if isinstance(buffer.entries, int) else variant.sizes.get(buffer.entries, buffer.entries)
    return replace(buffer, init=init, entries=entries)
