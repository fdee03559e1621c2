"""Which of its arguments a function of the subset writes to."""

from __future__ import annotations

import ast
import functools

from optgen.loops.language import ARRAY, WORDS, Function

_RESULTS = {"gemm": 10, "packed_gemm": 9, "gathered_gemm": 10, "gathered_sum": 9, "gathered_dot": 10, "turn": 3}
"""The position of the argument that a function written in LLVM IR or BLAS writes to."""


@functools.cache
def written(f: Function) -> frozenset[str]:
    """The names of the parameters through which elements are written, here or in functions that are called."""
    pointers = {name: {name} for name, type in f.parameters if type in (ARRAY, WORDS)}
    nodes = list(ast.walk(f.tree()))
    before = -1
    while before != (before := sum(map(len, pointers.values()))):  # variables stand for parameters, or other variables
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found = _of(node.value, pointers)
                if found:
                    pointers.setdefault(node.targets[0].id, set()).update(found)
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Subscript):
                names |= _of(target.value, pointers)
        elif isinstance(node, ast.Call):
            for argument in _results(node, f):
                names |= _of(argument, pointers)
    return frozenset(names)


def _of(e: ast.expr, pointers: dict[str, set[str]]) -> set[str]:
    """The parameters that a pointer may point into."""
    match e:
        case ast.Name(id=name):
            return pointers.get(name, set())
        case ast.BinOp(left=left, right=right):
            return _of(left, pointers) | _of(right, pointers)
        case ast.IfExp(body=body, orelse=orelse):
            return _of(body, pointers) | _of(orelse, pointers)
    return set()


def _results(call: ast.Call, f: Function) -> list[ast.expr]:
    """The arguments that a call writes to."""
    name = ast.unparse(call.func)
    if name in _RESULTS:
        return [call.args[_RESULTS[name]]]
    known = f.python.__globals__.get(name)
    if not isinstance(known, Function):
        return []
    return [x for x, (key, _) in zip(call.args, known.parameters, strict=True) if key in written(known)]
