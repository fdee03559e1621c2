"""Loops and variables in LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as ll

from optgen.backends.llvm import integer
from optgen.backends.llvm_types import I32, I64


@contextmanager
def loop(
    b: ll.IRBuilder, start: Any, stop: Any, step: int = 1, lanes: int | None = None, *, below_zero: bool = False
) -> Iterator[Any]:
    """`for (i = start; i < stop; i += step)`: yields i, and leaves the builder behind the loop.

    `lanes` is how many iterations LLVM shall do at once; without it, it takes as many as the widest type allows. With
    `below_zero`, the first i may be negative: LLVM may take it for a number without a sign otherwise.
    """
    before = b.block
    head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(I64)
    i.add_incoming(start, before)
    b.cbranch(b.icmp_signed("<", i, stop), body, after)
    b.position_at_end(body)
    yield i
    i.add_incoming(b.add(i, integer(step), flags=["nsw"] if below_zero else ["nsw", "nuw"]), b.block)
    back = b.branch(head)
    if lanes is not None:
        width = b.module.add_metadata(["llvm.loop.vectorize.width", I32(lanes)])
        back.set_metadata("llvm.loop", b.module.add_metadata([I32(len(b.module.metadata)), width]))
    b.position_at_end(after)


def text(module: ll.Module) -> str:
    """The module as LLVM IR.

    The metadata of a loop must refer to itself. llvmlite cannot write that, so `loop` puts a number there, and here it
    becomes the reference.
    """
    marks = re.compile(r"^(!\d+) = !\{ i32 \d+, (!\d+) \}$", flags=re.M)
    return marks.sub(r"\1 = distinct !{ \1, \2 }", str(module)).rstrip("\n") + "\n"


@contextmanager
def halving(b: ll.IRBuilder, start: Any) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """`for (count = start; count > 1; count = next)`: yields count and the function that sets the next one."""
    cell = variable(b, start)
    head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    count = b.load(cell, typ=I64)
    b.cbranch(b.icmp_signed(">", count, integer(1)), body, after)
    b.position_at_end(body)
    yield count, lambda next: b.store(next, cell)
    b.branch(head)
    b.position_at_end(after)


@contextmanager
def while_below(b: ll.IRBuilder, cell: Any, stop: Any) -> Iterator[Any]:
    """`while (*cell < stop)`: yields *cell, which the body advances."""
    head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    here = b.load(cell, typ=I64)
    b.cbranch(b.icmp_signed("<", here, stop), body, after)
    b.position_at_end(body)
    yield here
    b.branch(head)
    b.position_at_end(after)


@contextmanager
def repeat_while(b: ll.IRBuilder, condition: Callable[[], Any]) -> Iterator[None]:
    """`while (condition())`; `condition` emits its code."""
    head, body, after = (b.append_basic_block(name) for name in ("while", "do", "end"))
    b.branch(head)
    b.position_at_end(head)
    b.cbranch(condition(), body, after)
    b.position_at_end(body)
    yield
    b.branch(head)
    b.position_at_end(after)


@contextmanager
def do_while(b: ll.IRBuilder, condition: Callable[[], Any]) -> Iterator[None]:
    """`do ... while (condition())`; `condition` emits its code."""
    body, after = b.append_basic_block("do"), b.append_basic_block("end")
    b.branch(body)
    b.position_at_end(body)
    yield
    b.cbranch(condition(), body, after)
    b.position_at_end(after)


def array(b: ll.IRBuilder, type: ll.Type, count: int, align: int) -> Any:
    """An array on the stack, made in the function's first block, so that a loop does not make a new one each time.

    The result is a plain pointer: llvmlite refuses to store vectors to an array whose type it knows.
    """
    with b.goto_entry_block():
        memory = b.alloca(type, count)
    memory.align, memory.type = align, ll.PointerType(addrspace=b.module.stack)
    return memory


def variable(b: ll.IRBuilder, start: Any) -> Any:
    """A variable on the stack, made like an `array`; it is given its start value at each turn of a loop around it."""
    with b.goto_entry_block():
        memory = b.alloca(start.type)
    memory.type = start.type.as_pointer(b.module.stack)
    b.store(start, memory)
    return memory
