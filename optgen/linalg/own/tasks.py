"""The tasks that threads share, as LLVM IR: a panel is packed, or a block of the result computed."""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as ll

from optgen.backends import machine, target
from optgen.backends.control_flow import loop
from optgen.backends.llvm_types import F64, I64, PTR, vector
from optgen.linalg.matrices import SUMMED
from optgen.linalg.own.finish import FINISH, emit_finish, function_type
from optgen.linalg.own.packing import emit_pack, shuffled_transpose
from optgen.linalg.own.tile import DEFINITIONS, Tile, emit_tile
from optgen.loops import code

TASK_EDGE = machine.value("products.task_edge")
"""The rows and columns of the result that are one task: a multiple of those of every tile."""
GROUP = machine.value("products.panels")
"""The panels that one task packs: a line of the cache, at least, of each row of memory."""
COUNTS = ("groups", "blocks", "stripes")
ADDRESSES = ("a", "b", "c", "z", "packed_a", "packed_b")
NUMBERS = ("m", "n", "k", "trans_a", "trans_b", "symmetric", "panels_a", "panels_b", "groups_a", "groups_b")
FIELDS = (*COUNTS, *ADDRESSES, *NUMBERS, "alpha", "beta")
"""What tasks read: how many there are, addresses, whole numbers, and two doubles. `z` is 0 where nothing follows the
product. `panels_a` and `panels_b` are those of a matrix, `groups_a` and `groups_b` the tasks that pack them."""
ENTRIES = ("optgen_pack", "optgen_multiply", "optgen_finish")


def module_text(tile: Tile, triple: str) -> str:
    """LLVM IR of ENTRIES for machines of a triple, which take the address of FIELDS, a part and the number of parts.

    Each does its part of the tasks:

    - `optgen_pack`: GROUP panels are packed;
    - `optgen_multiply`: TASK_EDGE rows and columns of a result are computed, and what follows;
    - `optgen_finish`: what follows a product that is in c, for TASK_EDGE rows.
    """
    module = ll.Module("products")
    register = target.control_register(triple)
    flushes = register is not None and register.flushing is not None
    emit_finish(module, tile, machine_flushes=flushes)
    finish = ll.Function(module, function_type(tile), "finish")
    tasks: dict[str, tuple[type[_Task], Any]] = {
        "pack": (_PackingTask, emit_pack(module, tile)),
        "multiply": (_BlockTask, emit_tile(module, tile)),
        "finish": (_StripeTask, None),
    }
    kind = ll.FunctionType(ll.VoidType(), [PTR, I64])
    for name, (task, function) in tasks.items():
        f = ll.Function(module, kind, f"task.{name}")
        f.linkage = "internal"
        b = ll.IRBuilder(f.append_basic_block("entry"))
        task(function, finish, b, tile, f.args[0]).emit(f.args[1])
        b.ret_void()
    text = str(module)
    if tile.pairs:
        for name, definition in DEFINITIONS.items():
            text = re.sub(rf'^declare .*@"{name}".*$', definition, text, flags=re.MULTILINE)
    declare, begin, end = code.float_mode(triple=triple)
    entries = (
        _ENTRY.format(name=name, field=FIELDS.index(field), begin=begin, end=end)
        for name, field in zip(tasks, COUNTS, strict=True)
    )
    text = re.sub(r'^declare .*@"finish".*$', _finish(tile, triple), text, flags=re.MULTILINE)
    return "\n".join([text, declare, *entries])


def _finish(tile: Tile, triple: str) -> str:
    """LLVM IR of `finish`: FINISH, in the mode of sweeps."""
    _, begin, end = code.float_mode(flushes=tile.operand_type != "float64", triple=triple)
    types = [str(type) for type in function_type(tile).args]
    parameters, values = (", ".join(f"{type} %x{i}" for i, type in enumerate(types)) for _ in range(2))
    return f"""\
define internal void @finish({parameters}) {{
  {begin}
  call void @{FINISH}({values})
  {end}
  ret void
}}"""


_ENTRY = """
define void @optgen_{name}(ptr %args, i64 %part, i64 %parts) {{
entry:
  {begin}
  %count.p = getelementptr i64, ptr %args, i64 {field}
  %count = load i64, ptr %count.p
  %lower = mul nsw i64 %count, %part
  %first = sdiv i64 %lower, %parts
  %upper = add nsw i64 %lower, %count
  %last = sdiv i64 %upper, %parts
  br label %check
check:
  %task = phi i64 [ %first, %entry ], [ %next, %run ]
  %more = icmp slt i64 %task, %last
  br i1 %more, label %run, label %done
run:
  call void @task.{name}(ptr %args, i64 %task)
  %next = add nsw i64 %task, 1
  br label %check
done:
  {end}
  ret void
}}
"""


@dataclass
class _Task(ABC):
    """Code of one task, and what it needs of FIELDS."""

    function: Any
    finish: Any
    b: ll.IRBuilder
    tile: Tile
    args: Any

    def __post_init__(self) -> None:
        b, tile = self.b, self.tile
        self.m, self.n, self.k = (self.field(name) for name in "mnk")
        self.words = self.divided_up(self.k, tile.group)
        self.panel = b.mul(self.words, I64(tile.width))
        """The words of a panel."""

    @abstractmethod
    def emit(self, task: Any) -> None:
        """The code of the task of that number."""

    def field(self, name: str, type: Any = I64) -> Any:
        return self.b.load(self.place(name), typ=type)

    def place(self, name: str) -> Any:
        return self.b.gep(self.args, [I64(FIELDS.index(name))], source_etype=I64)

    def divided_up(self, x: Any, by: int) -> Any:
        return self.b.sdiv(self.b.add(x, I64(by - 1)), I64(by))

    def follow(self, c: Any, z: Any, rows: Any, columns: Any) -> None:
        """What follows a product, for a part of c and the same part of z."""
        b = self.b
        factors = (b.load(self.place(name), typ=F64) for name in ("alpha", "beta"))
        if self.tile.element != F64:
            factors = (b.fptrunc(x, self.tile.element) for x in factors)
        b.call(self.finish, [c, z, self.n, rows, columns, *factors])

    def least(self, x: Any, y: Any) -> Any:
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def element(self, pointer: Any, *factors: Any) -> Any:
        """The place of the element whose number is the product of the factors."""
        return self.b.gep(pointer, [functools.reduce(self.b.mul, factors)], source_etype=self.tile.element)

    def packed(self, name: str, matrix: Any, line: Any) -> Any:
        """The panels of an operand of a matrix, from a line on at which one begins."""
        b = self.b
        panel = b.add(b.mul(matrix, self.field(f"panels_{name}")), b.sdiv(line, I64(self.tile.width)))
        return self.word(self.field(f"packed_{name}", PTR), panel, self.panel)

    def word(self, pointer: Any, *factors: Any) -> Any:
        return self.b.gep(pointer, [functools.reduce(self.b.mul, factors)], source_etype=self.tile.word)


class _PackingTask(_Task):
    """Task by task, the panels of a and then those of b, matrix after matrix."""

    def emit(self, task: Any) -> None:
        b = self.b
        groups = self.field("groups_a")
        each = b.add(groups, self.field("groups_b"))
        matrix, group = b.sdiv(task, each), b.srem(task, each)
        with b.if_else(b.icmp_signed("<", group, groups)) as (then, otherwise):
            with then:
                along = b.icmp_signed("==", self.field("trans_a"), I64(0))
                self.pack("a", along, matrix, group, self.m)
            with otherwise:
                along = b.icmp_signed("!=", self.field("trans_b"), I64(0))
                self.pack("b", along, matrix, b.sub(group, groups), self.n)

    def pack(self, name: str, along: Any, matrix: Any, group: Any, lines: Any) -> None:
        """A group of panels of an operand of so many `lines`; `along` as `emit_pack` has it."""
        b, width = self.b, self.tile.width
        first = b.mul(group, I64(GROUP * width))
        stride = b.select(along, self.k, lines)
        x = self.element(self.field(name, PTR), matrix, lines, self.k)
        x = self.element(x, first, b.select(along, stride, I64(1)))
        there = self.least(b.sub(lines, first), I64(GROUP * width))
        wanted = self.least(b.sub(b.mul(self.field(f"panels_{name}"), I64(width)), first), I64(GROUP * width))
        b.call(self.function, [x, stride, along, there, self.k, wanted, self.packed(name, matrix, first)])


class _StripeTask(_Task):
    """Task by task, rows of a result that BLAS has computed, matrix after matrix."""

    def emit(self, task: Any) -> None:
        b = self.b
        each = self.divided_up(self.m, TASK_EDGE)
        matrix, i = b.sdiv(task, each), b.mul(b.srem(task, each), I64(TASK_EDGE))
        whole = (self.element(self.field(name, PTR), matrix, self.m, self.n) for name in "cz")
        c, z = (self.element(x, i, self.n) for x in whole)
        self.follow(c, z, self.least(b.sub(self.m, i), I64(TASK_EDGE)), self.n)


class _BlockTask(_Task):
    """Task by task, the blocks of the result, row by row, matrix after matrix; of a symmetric one those on and below
    the diagonal."""

    def emit(self, task: Any) -> None:
        b = self.b
        symmetric = b.icmp_signed("!=", self.field("symmetric"), I64(0))
        across = self.divided_up(self.n, TASK_EDGE)
        half = b.sdiv(b.mul(across, b.add(across, I64(1))), I64(2))
        each = b.select(symmetric, half, b.mul(self.divided_up(self.m, TASK_EDGE), across))
        matrix, place = b.sdiv(task, each), b.srem(task, each)
        row, column = self.block(place, across, symmetric)
        i, j = b.mul(row, I64(TASK_EDGE)), b.mul(column, I64(TASK_EDGE))
        rows, columns = (self.least(b.sub(size, at), I64(TASK_EDGE)) for size, at in ((self.m, i), (self.n, j)))
        c = self.element(self.field("c", PTR), matrix, self.m, self.n)
        self.sums(matrix, c, i, j, rows, columns, symmetric)
        z = self.field("z", PTR)
        with b.if_then(b.icmp_unsigned("!=", b.ptrtoint(z, I64), I64(0))):
            of_z = self.element(z, matrix, self.m, self.n)
            c_block, z_block = (self.element(self.element(x, i, self.n), j) for x in (c, of_z))
            self.follow(c_block, z_block, rows, columns)
        with b.if_then(symmetric):
            self.mirror(c, i, j, rows, columns)

    def block(self, place: Any, across: Any, symmetric: Any) -> tuple[Any, Any]:
        """The row and the column of a block. The row r of a symmetric result has r + 1 blocks."""
        b, before = self.b, self.b.block
        starts = I64(0), place, b.select(symmetric, I64(1), across)
        head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
        b.branch(head)
        b.position_at_end(head)
        row, left, length = b.phi(I64), b.phi(I64), b.phi(I64)
        b.cbranch(b.icmp_signed(">=", left, length), body, after)
        b.position_at_end(body)
        next_values = b.add(row, I64(1)), b.sub(left, length), b.add(length, b.zext(symmetric, I64))
        b.branch(head)
        for phi, start, next in zip((row, left, length), starts, next_values, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(next, body)
        b.position_at_end(after)
        return row, left

    def sums(self, matrix: Any, c: Any, i: Any, j: Any, rows: Any, columns: Any, symmetric: Any) -> None:
        """The tiles of a block, for one stretch of k after the other. Tiles above the diagonal are left out."""
        b, tile = self.b, self.tile
        packed_a, packed_b = self.packed("a", matrix, i), self.packed("b", matrix, j)
        with loop(b, I64(0), self.words, SUMMED) as word:
            words = self.least(b.sub(self.words, word), I64(SUMMED))
            add = b.icmp_signed(">", word, I64(0))
            with loop(b, I64(0), columns, tile.columns) as y:
                across = [self.line(packed_b, b.add(y, I64(v * tile.lanes)), word) for v in range(tile.vectors)]
                with loop(b, I64(0), rows, tile.rows) as x:
                    last = b.add(b.add(i, x), I64(tile.rows - 1))
                    above = b.and_(symmetric, b.icmp_signed(">", b.add(j, y), last))
                    with b.if_then(b.not_(above)):
                        to = self.element(self.element(c, b.add(i, x), self.n), b.add(j, y))
                        height = self.least(b.sub(rows, x), I64(tile.rows))
                        width = self.least(b.sub(columns, y), I64(tile.columns))
                        down = self.line(packed_a, x, word)
                        b.call(self.function, [down, *across, words, to, self.n, height, width, add])

    def line(self, panels: Any, line: Any, word: Any) -> Any:
        """The place of a word of a line."""
        b, width = self.b, I64(self.tile.width)
        beside = b.srem(line, width)
        panel = self.word(panels, b.sub(line, beside), self.words)
        return self.word(panel, b.add(b.mul(word, width), beside))

    def mirror(self, c: Any, i: Any, j: Any, rows: Any, columns: Any) -> None:
        """What is above the diagonal, from what is below it: squares in registers, single elements where they do not
        fit."""
        b, edge = self.b, self.tile.rows
        bottom, right = b.add(i, rows), b.add(j, columns)
        with loop(b, i, bottom, edge) as y:
            end = self.least(right, b.add(y, I64(edge)))
            with loop(b, j, end, edge) as x:
                fits = b.icmp_signed("<=", b.add(y, I64(edge)), bottom)
                fits = b.and_(fits, b.icmp_signed("<=", b.add(x, I64(edge)), y))
                with b.if_else(fits) as (then, otherwise):
                    with then:
                        self.mirror_square(c, y, x)
                    with otherwise:
                        self.mirror_elements(c, y, x, bottom)

    def mirror_elements(self, c: Any, y: Any, x: Any, bottom: Any) -> None:
        b, edge = self.b, I64(self.tile.rows)
        with (
            loop(b, y, self.least(bottom, b.add(y, edge))) as v,
            loop(b, x, self.least(v, b.add(x, edge))) as u,
        ):
            below = b.load(self.element(self.element(c, v, self.n), u), typ=self.tile.element)
            b.store(below, self.element(self.element(c, u, self.n), v))

    def mirror_square(self, c: Any, y: Any, x: Any) -> None:
        b, tile = self.b, self.tile
        kind, size = vector(tile.element, tile.rows), tile.word_bytes
        square = []
        for i in range(tile.rows):
            place = self.element(self.element(c, b.add(y, I64(i)), self.n), x)
            square.append(b.load(place, typ=kind, align=size))
        for i, row in enumerate(shuffled_transpose(b, square)):
            b.store(row, self.element(self.element(c, b.add(x, I64(i)), self.n), y), align=size)
