"""The LLVM IR of what is written in C: `python -m optgen.objectcode.generate [CLANG ...]` makes `*.ll` of `*.c`.

CLANG is the command to call. Without it, clang 17 or newer is looked for on the PATH.

One text serves x86-64 and 64-bit Arm, and every such clang makes the same one. It is not optimized, which is left to
the LLVM that loads it, and made without the headers of a system. What clang says of its target is left out: triple,
data layout, attributes, metadata; the LLVM that loads the text has a target of its own. That nothing else depends on
the target is checked: the text is made for both, and must be the same.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from optgen.files import replacing
from optgen.specfiles import in_checkout

PACKAGE = Path(__file__).parents[1]
SOURCES = tuple(
    PACKAGE / name
    for name in (
        "threads/openmp.c",
        "threads/pool.c",
        "execute/cpu/chain.c",
        "execute/cpu/dlpack.c",
        "execute/cpu/ranges.c",
        "execute/cpu/sequence.c",
        "loops/trampoline.c",
    )
)
TARGETS = ("x86_64-linux-gnu", "aarch64-linux-gnu")
OLDEST = 17
"""The version of clang from which on the text is the same."""
_NAMES = ("clang", *(f"clang-{version}" for version in range(OLDEST, 40)))

_FLAGS = ("-std=c11", "-ffreestanding", "-fPIC", "-O0", "-g0", "-Wall", "-Wextra")
_TEXT = ("-S", "-emit-llvm", "-fdiscard-value-names", "-Xclang", "-no-enable-noundef-analysis", "-o", "-")

_REPLACED = (
    # What is said of the target, and where it is referred to.
    (r"^(?:;|source_filename|target |attributes |!).*\n", ""),
    (r" *; preds = .*$", ""),
    (r", !llvm\.loop !\d+$", ""),
    (r" #\d+(?= \{$|$)", ""),
    # Which LLVM knows of its own functions, and versions of clang write differently.
    (r"(?<=^declare void @llvm\.memset\.p0\.i64\(ptr)[^,]*", ""),
    # Versions of clang differ in saying that an offset is positive, and that a field is aligned to more than its size.
    (r"(?<= getelementptr inbounds) nuw", ""),
    (r"( (?:atomicrmw|cmpxchg) .*), align \d+$", r"\1"),
)


def find_clang() -> list[str] | None:
    """The command of a clang that is new enough, if there is one."""
    for name in _NAMES:
        if shutil.which(name) and int(version([name]).split(".")[0]) >= OLDEST:
            return [name]
    return None


def version(clang: Sequence[str]) -> str:
    """The version of a clang, as "19.1.7". ValueError where the command is no clang."""
    done = subprocess.run([*clang, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"\bclang version (\d+[\d.]*)", done.stdout)
    if found is None:
        raise ValueError(f"{' '.join(clang)} is no clang; it says of itself: {done.stdout.strip()}")
    return found[1]


def header(source: Path, clang_version: str) -> str:
    """The first two lines of the text: what made it, and of which content of the C file."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    return (
        f"; Made from {source.name} by `python -m optgen.objectcode.generate`, with clang {clang_version}.\n"
        f"; SHA-256 of {source.name}: {digest}\n"
    )


def body(source: Path, clang: Sequence[str]) -> str:
    """The text without its header. ValueError where it is not the same for all targets."""
    first, *others = (_compiled(source, clang, target) for target in TARGETS)
    if any(text != first for text in others):
        raise ValueError(f"{source.name} does not give the same LLVM IR for {' and '.join(TARGETS)}")
    return first


def _compiled(source: Path, clang: Sequence[str], target: str) -> str:
    command = [*clang, f"--target={target}", *_FLAGS, *_TEXT, str(source)]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    for pattern, kept in _REPLACED:
        text = re.sub(pattern, kept, text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", f"\n{text.strip()}\n")


def main() -> None:
    for path in (source.with_suffix(".ll") for source in SOURCES):
        if not in_checkout(path):
            sys.exit(f"{path} is in no checkout of optgen, and only a checkout of it is written to")
    clang = sys.argv[1:] or find_clang()
    if clang is None:
        sys.exit(f"there is no clang {OLDEST} or newer on the PATH; name the command that calls one")
    for source in SOURCES:
        with replacing(source.with_suffix(".ll")) as file:
            file.write((header(source, version(clang)) + body(source, clang)).encode())


if __name__ == "__main__":
    main()
