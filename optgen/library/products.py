"""The code of products of matrices, for each CPU of a library: that of `optgen.linalg` with how="deterministic", whose
bits are the same on all CPUs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optgen.library.cpus import LibraryCpu
from optgen.objectcode import cache

if TYPE_CHECKING:
    from optgen.linalg.own.tile import OperandType, Tile

DTYPES: tuple[OperandType, OperandType] = ("float32", "float64")
"""The element types of products, in the order of the table in C."""
_ENTRY = re.compile(r"@optgen_(pack|multiply|finish)\(")


@dataclass(frozen=True)
class ProductCode:
    """Code of products for one CPU. `symbol` begins the names of its functions; `text` is its LLVM IR."""

    symbol: str
    tile: Tile
    text: str
    object: bytes


def product_code(library: str, cpu: LibraryCpu, dtype: OperandType) -> ProductCode:
    """The code for matrices of a dtype, from the cache where it was made before."""
    from optgen.backends import target
    from optgen.linalg.own.tasks import module_text
    from optgen.linalg.own.tile import tile_for

    own = cpu.target
    tile = tile_for(dtype, own, fused=False)
    text = module_text(tile, own.triple)
    symbol = f"{library}_{hashlib.sha256(text.encode()).hexdigest()[:12]}_{cpu.suffix}"
    named = _ENTRY.sub(lambda x: f"@{symbol}_{x[1]}(", text).replace("define void", "define hidden void")
    key = cache.key("products", named, target.llvm_version(), own.triple, own.cpu, own.features, own.tune)
    return ProductCode(symbol, tile, named, cache.get(key, lambda: target.compile_ir(named, own).object))


def declarations(codes: Sequence[Sequence[ProductCode | None]]) -> Iterator[str]:
    """What C sees of the code: for each CPU, that for each of DTYPES."""
    from optgen.linalg.matrices import FLOPS
    from optgen.linalg.own.tasks import FIELDS, GROUP, TASK_EDGE

    *whole, alpha, beta = FIELDS
    yield f"enum {{ TASK_EDGE = {TASK_EDGE}, PANEL_GROUP = {GROUP}, FLOPS = {FLOPS} }};"
    yield "/* What the code of products reads. */"
    yield f"typedef struct {{\n    int64_t {', '.join(whole)};\n    double {alpha}, {beta};\n}} product_fields;\n"
    yield "/* `width` lines are a panel, `columns` of them a tile. */"
    yield "typedef struct {\n    optgen_task pack, multiply, finish;\n    int32_t width, columns;\n} product_code;\n"
    for code in {x.symbol: x for own in codes for x in own if x}.values():
        yield from (
            f"void {code.symbol}_{name}(const void *fields, int64_t part, int64_t parts);"
            for name in ("pack", "multiply", "finish")
        )
    rows = (", ".join(map(_row, own)) for own in codes)
    yield f"static const product_code products[LEVELS][2] = {{{', '.join(f'{{{x}}}' for x in rows)}}};"


def _row(code: ProductCode | None) -> str:
    if code is None:
        return "{0}"
    names = (f"{code.symbol}_{name}" for name in ("pack", "multiply", "finish"))
    return f"{{{', '.join(names)}, {code.tile.width}, {code.tile.columns}}}"


def needed(
    library: str, cpus: Sequence[LibraryCpu], dtypes: Iterable[str], *, factorizes: bool
) -> list[list[ProductCode | None]]:
    """The code that parameters of these dtypes need, for each CPU and each of DTYPES. What `factorizes` in float32 may
    do so in float64."""
    wanted = {"float64" if x == "float64" else "float32" for x in dtypes} | ({"float64"} if factorizes else set())
    return [[product_code(library, cpu, x) if x in wanted else None for x in DTYPES] for cpu in cpus]
