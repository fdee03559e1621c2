"""Functions of the subset (see `language`) become LLVM IR."""

from __future__ import annotations

import ast
import itertools
import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from optgen.loops.language import ARRAY, BOOL, FLOAT, INT, INTS, WORDS, Function, LoopType, PointerType

"""The types that pointers point to."""
_ON_BITS = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr"}


_HINTS = {"range": "", "short": ", !llvm.loop !0", "scalar": ", !llvm.loop !1"}
"""What LLVM is told of each kind of loop; the metadata are at the end of `_TOTAL`."""
_OF_ADDRESSES = {"packed_gemm": 10, "gathered_gemm": 11, "gathered_sum": 10, "gathered_dot": 11, "turn": 6}
"""Functions that are called by the address that comes first, and how many arguments follow it."""


class LoopValue(NamedTuple):
    """A value in LLVM IR: its type, and a register or a constant."""

    type: LoopType
    text: str


class Blas(NamedTuple):
    """The LLVM types of the flags and sizes of CBLAS."""

    flag: str
    size: str


def module(root: Function, dtype: np.dtype, blas: Blas) -> str:
    """LLVM IR of `root` and all that it calls, as internal functions named `f.NAME`, for elements of `dtype`.

    The first parameter of each is the address of GEMM. Shared functions are declared; if `root` is one, the module has
    what those declarations mean.
    """
    emitted: dict[str, tuple[Function, str]] = {}
    waiting = [root]
    while waiting:
        f = waiting.pop()
        known, _ = emitted.get(f.name, (None, ""))
        if known is None and f.shared and f is not root:
            emitted[f.name] = f, f"declare void @{shared_symbol(f, dtype)}({', '.join(_parameter_types(f))})"
        elif known is None:
            emitter = _Emitter(f, dtype, blas)
            emitted[f.name] = f, emitter.emit()
            waiting += emitter.called
        elif known is not f:
            modules = f"{known.python.__module__} and {f.python.__module__}"
            raise TypeError(f"{root.name} calls two functions {f.name}, of {modules}: rename one")
    text = "\n".join([*(text for _, text in emitted.values()), _exported(root, dtype) if root.shared else "", _TOTAL])
    element, suffix = ("float", "f32") if dtype == np.float32 else ("double", "f64")
    return text.replace("{T}", element).replace("{S}", suffix)


def shared_symbol(f: Function, dtype: np.dtype) -> str:
    """The symbol of a shared function in object code. It has the type, as a caller's code may be the same for two."""
    return f"shared_{f.name}_{dtype.name}"


def _parameter_types(f: Function) -> list[str]:
    return ["ptr", *(str(type) for _, type in f.parameters)]


def _exported(f: Function, dtype: np.dtype) -> str:
    """LLVM IR of a shared function's symbol."""
    parameters = ", ".join(f"{type} %p{i}" for i, type in enumerate(_parameter_types(f)))
    return f"define void @{shared_symbol(f, dtype)}({parameters}) {{\ncall void @f.{f.name}({parameters})\nret void\n}}"


class _Emitter:
    """Emits one function. Variables are in memory (`alloca`); LLVM moves them to registers."""

    def __init__(self, f: Function, dtype: np.dtype, blas: Blas) -> None:
        self.f = f
        self.dtype = dtype
        self.blas = blas
        self.lines: list[str] = []
        self.variables: dict[str, LoopType] = {}
        self.head: list[str] = []
        self.called: list[Function] = []
        self.numbers = itertools.count()

    def emit(self) -> str:
        for name, type in self.f.parameters:
            self._store(name, LoopValue(type, f"%p.{name}"))
        self._block(self.f.tree().body)
        if self.f.returns == "void":
            self.lines.append("ret void")
        noalias: dict[LoopType, str] = {ARRAY: " noalias", INTS: " noalias readonly", WORDS: " noalias"}
        parameters = [f"{type}{noalias.get(type, '')} %p.{name}" for name, type in self.f.parameters]
        head = (
            f"define internal {self.f.returns} @f.{self.f.name}({', '.join(['ptr %gemm', *parameters])}) alwaysinline"
        )
        return "\n".join([head + " {", *self.head, *self.lines, "}"])

    # ------------------------------------------------------------ statements

    def _block(self, statements: list[ast.stmt]) -> None:
        for s in statements:
            match s:
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self._value(value))
                case ast.AugAssign(target=target, op=op, value=value):
                    self._assign(target, self._binary(op, self._value(target), self._value(value), s))
                case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id=kind), args=args), body=body) if (
                    kind in _HINTS
                ):
                    self._for(name, [self._value(a) for a in args], body, _HINTS[kind])
                case ast.While(test=test, body=body):
                    self._while(partial(self._value, test), partial(self._block, body))
                case ast.If(test=test, body=body, orelse=orelse):
                    self._if(self._value(test), partial(self._block, body), partial(self._block, orelse))
                case ast.Return(value=ast.expr() as value):
                    self.lines.append(f"ret {self.f.returns} {self._typed(value, self.f.returns).text}")
                case ast.Expr(value=ast.Constant()):
                    pass  # the docstring
                case ast.Expr(value=ast.Call() as call):
                    self._call(call)
                case _:
                    self._refuse(s)

    def _assign(self, target: ast.expr, value: LoopValue) -> None:
        match target:
            case ast.Name(id=name):
                self._store(name, value)
            case ast.Subscript(value=array, slice=index):
                self._write(self._value(array), self._typed(index, INT), value, target)
            case _:
                self._refuse(target)

    def _store(self, name: str, value: LoopValue) -> None:
        if name not in self.variables:
            self.variables[name] = value.type
            self.head.append(f"%v.{name} = alloca {value.type}")
        value = self._convert(value, self.variables[name], ast.Name(name))
        self.lines.append(f"store {value.type} {value.text}, ptr %v.{name}")

    def _for(self, name: str, bounds: list[LoopValue], body: list[ast.stmt], hint: str) -> None:
        start, stop = ([LoopValue(INT, "0")] if len(bounds) == 1 else []) + bounds[:2]
        step = bounds[2] if len(bounds) == 3 else LoopValue(INT, "1")
        self._store(name, start)

        def run() -> None:
            self._block(body)
            self._store(name, self._do("add nsw", INT, self._load(name), step))

        self._while(lambda: self._do("icmp slt", INT, self._load(name), stop, BOOL), run, hint)

    def _while(self, test: Callable[[], LoopValue], body: Callable[[], None], hint: str = "") -> None:
        n = next(self.numbers)
        self._label(f"while.{n}")
        self.lines.append(f"br i1 {test().text}, label %do.{n}, label %done.{n}")
        self._label(f"do.{n}", fall=False)
        body()
        self.lines.append(f"br label %while.{n}{hint}")
        self._label(f"done.{n}", fall=False)

    def _if(self, test: LoopValue, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        n = next(self.numbers)
        self.lines.append(f"br i1 {test.text}, label %then.{n}, label %else.{n}")
        self._label(f"then.{n}", fall=False)
        then()
        self.lines.append(f"br label %end.{n}")
        self._label(f"else.{n}", fall=False)
        otherwise()
        self._label(f"end.{n}")

    def _label(self, name: str, fall: bool = True) -> None:
        if fall:
            self.lines.append(f"br label %{name}")
        self.lines.append(f"{name}:")

    # ------------------------------------------------------------ expressions

    def _value(self, e: ast.expr) -> LoopValue:
        match e:
            case ast.Constant(value=bool()):
                return self._refuse(e)
            case ast.Constant(value=int(value)):
                return LoopValue(INT, str(value))
            case ast.Constant(value=float(value)):
                return self._constant(value)
            case ast.Name(id=name) if name in self.variables:
                return self._load(name)
            case ast.Name(id=name) if isinstance(self.f.python.__globals__.get(name), (int, float)):
                return self._value(ast.Constant(self.f.python.__globals__[name]))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left), self._value(right), e)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=(int() | float()) as number)):
                return self._value(ast.Constant(-number))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negated(self._value(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._do("xor", BOOL, self._value(operand), LoopValue(BOOL, "1"))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(op, self._value(left), self._value(right), e)
            case ast.BoolOp(op=op, values=[first, *rest]):
                return self._short_cut(op, first, rest)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(self._value(test), body, orelse)
            case ast.Subscript(value=array, slice=index):
                return self._read(self._value(array), self._typed(index, INT), e)
            case ast.Call():
                return self._call(e)
        return self._refuse(e)

    def _binary(self, op: ast.operator, a: LoopValue, b: LoopValue, where: ast.AST) -> LoopValue:
        if isinstance(a.type, PointerType) and isinstance(op, ast.Add):
            return LoopValue(a.type, self._element(a, self._convert(b, INT, where)))
        if a.type == b.type == INT and not isinstance(op, ast.Div):
            match op:
                case ast.FloorDiv():
                    return self._floor(a, b)
                case ast.Mod():
                    return self._do("sub nsw", INT, a, self._do("mul nsw", INT, self._floor(a, b), b))
            name = {ast.Add: "add nsw", ast.Sub: "sub nsw", ast.Mult: "mul nsw", **_ON_BITS}.get(type(op))
        else:
            a, b = self._convert(a, FLOAT, where), self._convert(b, FLOAT, where)
            name = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}.get(type(op))
        return self._do(name, a.type, a, b) if name else self._refuse(where)

    def _floor(self, a: LoopValue, b: LoopValue) -> LoopValue:
        """The quotient rounded down, for b > 0."""
        quotient, rest = self._do("sdiv", INT, a, b), self._do("srem", INT, a, b)
        below = self._do("icmp slt", INT, rest, LoopValue(INT, "0"), BOOL)
        return self._do("sub nsw", INT, quotient, self._assigned(f"zext i1 {below.text} to i64", INT))

    def _compare(self, op: ast.cmpop, a: LoopValue, b: LoopValue, where: ast.AST) -> LoopValue:
        names = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
        name = names.get(type(op)) or self._refuse(where)
        if a.type == b.type == INT:
            return self._do(f"icmp {name if name in ('eq', 'ne') else 's' + name}", INT, a, b, BOOL)
        a, b = self._convert(a, FLOAT, where), self._convert(b, FLOAT, where)
        return self._do(f"fcmp {'u' if name == 'ne' else 'o'}{name}", FLOAT, a, b, BOOL)

    def _short_cut(self, op: ast.boolop, first: ast.expr, rest: list[ast.expr]) -> LoopValue:
        name = f"both.{next(self.numbers)}"
        self._store(name, self._value(first))
        for e in rest:
            further, enough = (lambda e=e: self._store(name, self._value(e))), lambda: None
            arms = (further, enough) if isinstance(op, ast.And) else (enough, further)
            self._if(self._load(name), *arms)
        return self._load(name)

    def _choice(self, test: LoopValue, body: ast.expr, orelse: ast.expr) -> LoopValue:
        name = f"choice.{next(self.numbers)}"
        self._if(test, lambda: self._store(name, self._value(body)), lambda: self._store(name, self._value(orelse)))
        return self._load(name)

    def _call(self, e: ast.Call) -> LoopValue:
        name = ast.unparse(e.func)
        known = self.f.python.__globals__.get(name)
        if isinstance(known, Function):
            self.called.append(known)
            args = [self._typed(a, type) for a, (_, type) in zip(e.args, known.parameters, strict=True)]
            text = ", ".join(["ptr %gemm", *(f"{a.type} {a.text}" for a in args)])
            symbol = shared_symbol(known, self.dtype) if known.shared else f"f.{known.name}"
            return self._invoked(known.returns, f"@{symbol}({text})")
        match name, [self._value(a) for a in e.args]:
            case (("min" | "max"), [a, b]):
                if {a.type, b.type} != {INT}:
                    a, b = self._convert(a, FLOAT, e), self._convert(b, FLOAT, e)
                op = ast.Lt() if name == "min" else ast.Gt()
                return self._assigned(f"select i1 {self._compare(op, b, a, e).text}, {_of(b)}, {_of(a)}", a.type)
            case "abs", [a]:
                return self._invoked(FLOAT, f"@llvm.fabs.{{S}}({_of(self._convert(a, FLOAT, e))})")
            case "round", [a]:
                return self._invoked(FLOAT, f"@llvm.rint.{{S}}({_of(self._convert(a, FLOAT, e))})")
            case "power_of_2", [a]:
                return self._power_of_2(self._convert(a, FLOAT, e))
            case "upper_product", [a, b] if a.type == b.type == INT:
                a, b = (self._assigned(f"zext i64 {x.text} to i128", "i128") for x in (a, b))
                upper = self._do("lshr", "i128", self._do("mul", "i128", a, b), LoopValue("i128", "64"))
                return self._assigned(f"trunc i128 {upper.text} to i64", INT)
            case "lower_product", [a, b] if a.type == b.type == INT:
                return self._do("mul", INT, a, b)
            case "sqrt", [a]:
                return self._invoked(FLOAT, f"@llvm.sqrt.{{S}}({_of(self._convert(a, FLOAT, e))})")
            case "float", [a]:
                return self._convert(a, FLOAT, e)
            case "int", [a]:
                return self._assigned(f"fptosi {_of(a)} to i64", INT)
            case "total", [x, n]:
                return self._invoked(FLOAT, f"@total({_of(x)}, {_of(n)})")
            case "gemm", args if len(args) == 12:
                return self._gemm(args, e)
            case name, [code, *args] if len(args) == _OF_ADDRESSES.get(name):
                address = self._assigned(f"inttoptr i64 {code.text} to ptr", "ptr")
                return self._invoked("void", f"{address.text}({', '.join(map(_of, args))})")
        return self._refuse(e)

    def _power_of_2(self, n: LoopValue) -> LoopValue:
        """The sum of n, the bias of exponents and a large constant has the bits of the exponent at its end: these,
        shifted into their place, are the result. Not every machine converts vectors to integers."""
        bits, bias, integer = (23, 127, "i32") if self.dtype == np.float32 else (52, 1023, "i64")
        ends = self._do("fadd", FLOAT, n, self._constant(1.5 * 2**bits + bias))
        whole = self._assigned(f"bitcast {_of(ends)} to {integer}", integer)
        shifted = self._do("shl", integer, whole, LoopValue(integer, str(bits)))
        return self._assigned(f"bitcast {_of(shifted)} to {{T}}", FLOAT)

    def _gemm(self, args: list[LoopValue], where: ast.AST) -> LoopValue:
        """A call of CBLAS, row-major, with alpha 1. Sizes and flags are converted to the types that it takes."""
        texts = [f"{self.blas.flag} 101"]
        for a, type in zip(args, self._gemm_types(), strict=True):
            narrow = a.type == INT and type == "i32"
            a = self._assigned(f"trunc i64 {a.text} to i32", type) if narrow else self._convert(a, type, where)
            texts.append(_of(a))
        texts.insert(6, _of(self._constant(1.0)))
        self.lines.append(f"call void %gemm({', '.join(texts)})")
        return LoopValue("void", "")

    def _gemm_types(self) -> list[LoopType]:
        """The types of trans_a, trans_b, m, n, k, a, lda, b, ldb, beta, c, ldc."""
        flag, size = self.blas
        return [flag, flag, size, size, size, ARRAY, size, ARRAY, size, FLOAT, ARRAY, size]

    # ------------------------------------------------------------ pieces

    def _element(self, array: LoopValue, index: LoopValue) -> str:
        assert isinstance(array.type, PointerType)
        text = f"getelementptr {array.type.element}, ptr {array.text}, i64 {index.text}"
        return self._assigned(text, array.type).text

    def _read(self, array: LoopValue, index: LoopValue, where: ast.AST) -> LoopValue:
        type = array.type.element if isinstance(array.type, PointerType) else self._refuse(where)
        value = self._assigned(f"load {type}, ptr {self._element(array, index)}", type)
        return self._assigned(f"zext i32 {value.text} to i64", INT) if array.type == WORDS else value

    def _write(self, array: LoopValue, index: LoopValue, value: LoopValue, where: ast.AST) -> None:
        if array.type not in (ARRAY, WORDS):
            self._refuse(where)
        value = self._convert(value, FLOAT if array.type == ARRAY else INT, where)
        if array.type == WORDS:
            value = self._assigned(f"trunc i64 {value.text} to i32", "i32")
        self.lines.append(f"store {_of(value)}, ptr {self._element(array, index)}")

    def _typed(self, e: ast.expr, type: LoopType) -> LoopValue:
        return self._convert(self._value(e), type, e)

    def _convert(self, value: LoopValue, type: LoopType, where: ast.AST) -> LoopValue:
        if value.type == type:
            return value
        if (value.type, type) != (INT, FLOAT):
            self._refuse(where)
        return self._assigned(f"sitofp i64 {value.text} to {{T}}", FLOAT)

    def _constant(self, value: float) -> LoopValue:
        return LoopValue(FLOAT, "0x" + struct.pack(">d", float(self.dtype.type(value))).hex().upper())

    def _negated(self, value: LoopValue) -> LoopValue:
        if value.type == INT:
            return self._do("sub nsw", INT, LoopValue(INT, "0"), value)
        return self._assigned(f"fneg {_of(value)}", FLOAT)

    def _load(self, name: str) -> LoopValue:
        type = self.variables[name]
        return self._assigned(f"load {type}, ptr %v.{name}", type)

    def _do(
        self, instruction: str, type: LoopType, a: LoopValue, b: LoopValue, result: LoopType | None = None
    ) -> LoopValue:
        return self._assigned(f"{instruction} {type} {a.text}, {b.text}", result or type)

    def _invoked(self, type: LoopType, callee: str) -> LoopValue:
        if type == "void":
            self.lines.append(f"call void {callee}")
            return LoopValue("void", "")
        return self._assigned(f"call {type} {callee}", type)

    def _assigned(self, text: str, type: LoopType) -> LoopValue:
        name = f"%t{next(self.numbers)}"
        self.lines.append(f"{name} = {text}")
        return LoopValue(type, name)

    def _refuse(self, where: ast.AST) -> NoReturn:
        raise TypeError(f"{self.f.python.__module__}.{self.f.name}: not in the subset: {ast.unparse(where)}")


def _of(value: LoopValue) -> str:
    return f"{value.type} {value.text}"


_TOTAL = """
; `language.total`: its 16 partial sums are one vector, whatever the length of those of the machine.
define internal {T} @total(ptr %x, i64 %n) {
entry:
  %whole = and i64 %n, -16
  %some = icmp sgt i64 %whole, 0
  br i1 %some, label %loop, label %joined
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sums = phi <16 x {T}> [ zeroinitializer, %entry ], [ %added, %loop ]
  %p = getelementptr inbounds {T}, ptr %x, i64 %i
  %v = load <16 x {T}>, ptr %p, align 4
  %added = fadd <16 x {T}> %sums, %v
  %next = add nsw i64 %i, 16
  %more = icmp slt i64 %next, %whole
  br i1 %more, label %loop, label %join
join:
  %sum = call {T} @llvm.vector.reduce.fadd.v16{S}({T} 0.0, <16 x {T}> %added)
  br label %joined
joined:
  %start = phi {T} [ 0.0, %entry ], [ %sum, %join ]
  br label %test
test:
  %j = phi i64 [ %whole, %joined ], [ %j1, %rest ]
  %s = phi {T} [ %start, %joined ], [ %s1, %rest ]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %rest, label %done
rest:
  %q = getelementptr inbounds {T}, ptr %x, i64 %j
  %e = load {T}, ptr %q
  %s1 = fadd {T} %s, %e
  %j1 = add nsw i64 %j, 1
  br label %test
done:
  ret {T} %s
}
declare {T} @llvm.vector.reduce.fadd.v16{S}({T}, <16 x {T}>)
declare {T} @llvm.fabs.{S}({T})
declare {T} @llvm.sqrt.{S}({T})
declare {T} @llvm.rint.{S}({T})
!0 = distinct !{!0, !{!"llvm.loop.vectorize.predicate.enable", i1 true}}
!1 = distinct !{!1, !{!"llvm.loop.vectorize.enable", i1 false}}
"""
