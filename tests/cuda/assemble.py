"""NVIDIA's assembler: whether it accepts PTX, and the registers and spills of each kernel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 600


class AssemblerError(Exception):
    """ptxas refused the text; the message is its own."""


@dataclass(frozen=True)
class Usage:
    """What one thread of an entry needs: registers, and bytes of stack, of spill stores and of spill loads.

    `shared` is the bytes of shared memory of a CTA.
    """

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int


def ptxas() -> Path | None:
    """The ptxas on PATH, or of the package nvidia-cuda-nvcc (nvidia/cu13, before CUDA 13 nvidia/cuda_nvcc), or None."""
    if found := shutil.which("ptxas"):
        return Path(found)
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else spec.submodule_search_locations or []
    for path in (path for folder in folders for path in sorted(Path(folder).glob("c*/bin/ptxas"))):
        if os.access(path, os.X_OK):
            return path
    return None


_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '\w+'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (?P<registers>\d+) registers(?:.*?, (?P<shared>\d+) bytes smem)?")


def assemble(text: str, arch: str) -> dict[str, Usage]:
    """What each entry of PTX text needs on an architecture as "sm_90"; AssemblerError where ptxas refuses the text."""
    program = ptxas()
    if program is None:
        raise FileNotFoundError("ptxas is neither on PATH nor in the package nvidia-cuda-nvcc: install CUDA or that")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.ptx")
        source.write_text(text, encoding="ascii")
        command = [program, f"-arch={arch}", "-v", source, "-o", Path(folder, "kernels.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise AssemblerError(done.stderr.strip())
    return _usages(done.stderr + done.stdout)


def _usages(report: str) -> dict[str, Usage]:
    """Read ptxas -v: for each entry a line with its name, one with its stack, one with its registers."""
    usages = {}
    pieces = _ENTRY.split(report)
    for name, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        # Functions that the entry calls have lines of stack of their own, behind its own.
        stack, used = _STACK.search(piece), _USED.search(piece)
        if stack is None or used is None:
            raise AssemblerError(f"cannot read what ptxas says of {name}:\n{piece.strip()}")
        numbers = map(int, stack.groups())
        usages[name] = Usage(int(used["registers"]), *numbers, int(used["shared"] or 0))
    return usages
