"""Calls: of functions of the module, of intrinsics, of what the machine provides, of addresses."""

from __future__ import annotations

from typing import Any

from tests.llvm import intrinsics
from tests.llvm.attributes import broken
from tests.llvm.instruction import Instruction, Step
from tests.llvm.instructions.floating import refuse_fast
from tests.llvm.parse import parameter_attributes
from tests.llvm.types import Type
from tests.llvm.values import Poison, Value


def call(i: Instruction) -> Step:
    refuse_fast(i)
    result = i.type()
    callee = i.peek
    pointer = i.scope.register(i.name()) if callee.startswith("%") else -1
    name = "" if callee.startswith("%") else i.name("@")
    i.expect("(")
    arguments = list(i.separated(")", lambda: _argument(i)))
    operands = [register for _, register in arguments]
    checks = [k for k in range(len(arguments)) if arguments[k][0][1]]

    def values(r: list[Any]) -> list[Value]:
        found = [r[k] for k in operands]
        for k in checks:
            type, attributes = arguments[k][0]
            if wrong := broken(attributes, type, found[k]):
                raise i.fail(f"argument {k + 1} {wrong}")
        return found

    if name.startswith("llvm."):
        types = [type for (type, _), _ in arguments]
        step = intrinsics.build(i, name, result, types, operands)
        return _checked(step, values) if checks else step
    return _call(i, name, pointer, values)


def _argument(i: Instruction) -> tuple[tuple[Type, dict[str, tuple[int, ...]]], int]:
    type = i.type()
    attributes = parameter_attributes(i)
    return (type, attributes), i.operand(type)


def _checked(step: Step, values: Any) -> Step:
    def checked(r: list[Any]) -> None:
        values(r)
        step(r)

    return checked


def _call(i: Instruction, name: str, pointer: int, values: Any) -> Step:
    machine, result = i.machine, i.result

    def own(r: list[Any]) -> None:
        found = machine.run(name, values(r))
        if result >= 0:
            r[result] = found

    def other(r: list[Any]) -> None:
        found = values(r)
        for k, value in enumerate(found, 1):
            if value.__class__ is Poison:
                raise i.fail(f"argument {k} of another module is undefined: {value.why}")
        if pointer >= 0:
            value = machine.invoke(i.plain(r[pointer], "the function"), found, i.fail)
        elif name in machine.externals:
            value = machine.externals[name](*found)
        else:
            raise i.fail(f"the function {name} is not known")
        if result >= 0:
            r[result] = value

    def indirect(r: list[Any]) -> None:
        value = machine.invoke(i.plain(r[pointer], "the function"), values(r), i.fail)
        if result >= 0:
            r[result] = value

    return own if name in machine.parsed.functions else indirect if pointer >= 0 else other


BUILDERS = [("call", call)]
