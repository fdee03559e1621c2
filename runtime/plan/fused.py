"""Kernels that are made of expressions: their text, in the loops' language."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from optgen.loops.kernel import KERNELS, LoopKernel
from optgen.loops.language import Array as Pointer
from optgen.loops.language import Function, syntax
from runtime.native import formulas
from runtime.native.arithmetic import ELEMENTS_PER_TASK
from runtime.plan.steps import Array, Buffer, ElementStep, Shape

_FLAT = """\
def fused(task: int, {arrays}, n: int) -> "None":
    for i in range(task * {count}, min(task * {count} + {count}, n)):
{body}
"""
_ROWS = """\
def fused(task: int, {arrays}, rows_per_task: int, rows: int, channels: int, n: int) -> "None":
    for r in range(task * rows_per_task, min(task * rows_per_task + rows_per_task, rows)):
        for i in range(n):
{body}
"""
_INDEX = {
    (True, True, True): "r * n + i",
    (True, True, False): "r",
    (True, False, True): "r // channels * n + i",
    (True, False, False): "r // channels",
    (False, True, True): "r % channels * n + i",
    (False, True, False): "r % channels",
    (False, False, True): "i",
    (False, False, False): "0",
}
"""The index of an element by whether it varies along the outer axis, the channels, and the n elements of a row."""
_FUNCTIONS = {name: x for name, x in vars(formulas).items() if isinstance(x, Function)}


class FusedKernel(LoopKernel):
    """A kernel whose text was made."""

    def __init__(self, text: str) -> None:
        names: dict[str, Any] = {**_FUNCTIONS, "Array": Pointer}
        exec(compile(text, "<fused>", "exec", dont_inherit=True), names)
        super().__init__(names["fused"])
        KERNELS.remove(self)
        self._text = text

    def tree(self) -> ast.FunctionDef:
        [definition] = syntax(self._text).body
        assert isinstance(definition, ast.FunctionDef)
        return definition


@functools.lru_cache(maxsize=4096)
def _kernel(text: str) -> FusedKernel:
    return FusedKernel(text)


def fused_kernel(
    members: Sequence[ElementStep], outputs: Sequence[Array], axes: int, patterns: Mapping[Shape, tuple[bool, ...]]
) -> tuple[FusedKernel, list[Array]]:
    """The kernel that computes `outputs`, and the arrays that it reads, in the order of its arguments.

    `patterns` has, by the shapes of operands that are broadcast, along which of the axes they vary.
    """
    names: dict[Any, str] = {}
    inputs: list[Array] = []
    lines: list[str] = []
    size = members[0].output.size

    def name_of(x: Array | str) -> str:
        if isinstance(x, str):
            return x
        key = _key(x, size)
        if key not in names:
            names[key] = f"x{len(inputs)}"
            lines.append(f"x{len(inputs)} = a{len(inputs)}[{_index(x, size, axes, patterns)}]")
            inputs.append(x)
        return names[key]

    for k, member in enumerate(members):
        text = member.text
        for i, operand in enumerate(member.operands):
            text = text.replace("{" + str(i) + "}", name_of(operand))
        lines.append(f"v{k} = {text}")
        names[_key(member.output, size)] = f"v{k}"
    whole = "i" if axes <= 1 else "r * n + i"
    lines += [f"y{j}[{whole}] = {names[_key(x, size)]}" for j, x in enumerate(outputs)]
    arrays = ", ".join([f"a{j}: Array" for j in range(len(inputs))] + [f"y{j}: Array" for j in range(len(outputs))])
    indent = " " * (8 if axes <= 1 else 12)
    body = "\n".join(indent + line for line in lines)
    text = (_FLAT if axes <= 1 else _ROWS).format(arrays=arrays, body=body, count=ELEMENTS_PER_TASK)
    return _kernel(text), inputs


def _key(x: Array, size: int) -> tuple[Buffer, int, Shape | None]:
    """Arrays with as many elements as the group are the same whatever their shape."""
    return x.buffer, x.offset, None if x.size == size else x.shape


def _index(x: Array, size: int, axes: int, patterns: Mapping[Shape, tuple[bool, ...]]) -> str:
    if x.size == size:
        return "i" if axes <= 1 else "r * n + i"
    varies = patterns[x.shape]
    if axes <= 1:
        return "i" if any(varies) else "0"
    padded = (False,) * (3 - axes) + varies
    if axes == 2:  # one outer index: the channels are all rows
        return {(True, True): "r * n + i", (True, False): "r", (False, True): "i", (False, False): "0"}[varies]
    return _INDEX[padded]
