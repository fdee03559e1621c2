"""The fastest step there could be: it moves the fewest bytes that an optimizer must, and computes next to nothing.

The ceiling is a kernel of optgen like any other, with the same threads and the same cuts, and one addition for each
stream it writes. Its gradients are zeros, so that it changes no value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import workloads
from workloads import Rule, Shape

import optgen
from optgen import ir, pipeline
from optgen.axes import Kind


@dataclass(frozen=True)
class Streams:
    """The elementwise arrays of a kernel: bits of an element, and which of them are read, which written.

    Each is counted once, though a kernel with reductions may go over it several times. The scales of quantized states,
    4 bytes for 256 elements, or for 128 of 4 bits, are not counted.
    """

    bits_of: dict[str, int]
    reads: frozenset[str]
    writes: frozenset[str]

    @classmethod
    def of(cls, rule: optgen.UpdateRule, shape: Shape) -> Streams:
        """Those of the kernel for a parameter of this shape."""
        kernel = pipeline.plan(pipeline.build(rule.spec, rule.variant(shape)))
        bits_of = {b.name: b.format.bits for b in kernel.buffers if b.kind is Kind.ELEM and not b.is_scale}
        ops = [i.op for i in kernel.instrs()]
        reads = {op.buffer for op in ops if isinstance(op, ir.Load)}
        writes = {op.buffer for op in ops if isinstance(op, ir.Store)}
        return cls(bits_of, frozenset(bits_of.keys() & reads), frozenset(bits_of.keys() & writes))

    @cached_property
    def bytes(self) -> int:
        """Bytes moved for an element of the parameter."""
        return sum(self.bits_of[name] for names in (self.reads, self.writes) for name in names) // 8

    def states(self, *, read: bool, written: bool) -> list[str]:
        """States and inputs, in the kernel's order, that are only read, only written, or both."""
        names = (n for n in self.bits_of if n not in ("w", "grad", "copy"))
        return [n for n in names if (n in self.reads) == read and (n in self.writes) == written]


def bind(
    rule: Rule,
    streams: Streams,
    shapes: Sequence[Shape],
    target: str = "cpu",
    zeros: Callable[[Sequence[Shape], str], list[Any]] = workloads.zeros,
) -> optgen.BoundStep:
    """A step that moves these streams of tensors of these shapes, in float32 and in arrays of its own.

    They begin with cache lines, wherever those of the contenders are. Where something is stored in fewer bits, states
    lie side by side in the arrays: two of 16 bits are a stream of float32, two of 8 bits one of float16, the narrowest
    that a CPU has an instruction to convert. Weights of 16 bits are float16 as well. `zeros` makes arrays where
    `target` computes.
    """
    inputs = streams.states(read=True, written=False)
    if rule == rule.in_float32:
        updated, written = (streams.states(read=r, written=True) for r in (True, False))
        top = optgen.load(optgen.parse(spec(inputs, updated, written)), target=target)
    else:
        storage = packed(streams.bits_of[name] for name in streams.states(read=True, written=True))
        narrow = rule.dtype != "float32"
        top = optgen.load(
            optgen.parse(spec(inputs, storage)), "float16" if narrow else "float32",
            master=rule.master, storage=storage, target=target,
        )  # fmt: skip
    weights, grads = zeros(shapes, top.dtype), zeros(shapes, top.dtype)
    return top.bind(weights, grads, inputs={name: zeros(shapes, top.dtype) for name in inputs})


def spec(inputs: Collection[str], updated: Collection[str], written: Collection[str] = ()) -> str:
    """A spec that reads weight, gradient, inputs and the updated states, and writes weight and states."""
    lines = ['optimizer Ceiling "the streams of an optimizer, additions only"']
    lines += [f"input {name}" for name in inputs]
    lines += [f"state {name} = 0" for name in (*updated, *written)]
    lines += ["update:", *(f"  {name}' = {name} + grad" for name in updated), *(f"  {n}' = w + grad" for n in written)]
    lines += ["  w' = " + " + ".join(("w", "grad", *inputs))]
    return "\n".join(lines) + "\n"


def packed(bits: Iterable[int]) -> dict[str, str]:
    """Storages of as few states as have as many bytes in all; a single one is left out."""
    total = sum(bits) // 8
    return {f"s{k}": "float32" for k in range(total // 4)} | ({"half": "float16"} if total % 4 >= 2 else {})
