"""Code that is loaded: near its constants whatever else is mapped, on Arm's ranges too; where LLVM would end the
process, an exception."""

from __future__ import annotations

import ctypes
import itertools
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from optgen.backends.target import CpuTarget, compile_ir
from optgen.objectcode import link
from tests.compiler.harness import python
from tests.process import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
AMONG_ARRAYS = """
import ctypes, math, mmap, random, sys
from optgen.loops import code

TEXT = '''
@table.{i} = internal constant [2 x double] [double {i}.0, double 1.0]
declare double @cos(double)
define double @kernel.{i}(i64 %k, double %x) {{
  %place = getelementptr [2 x double], ptr @table.{i}, i64 0, i64 %k
  %factor = load double, ptr %place
  %cos = call double @cos(double %x)
  %product = fmul double %cos, %factor
  ret double %product
}}
'''
random = random.Random(int(sys.argv[1]))
flags, protections = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)
arrays, small = [], []

def fill(n):
    for _ in range(n):
        small.append(mmap.mmap(-1, mmap.PAGESIZE * random.randint(1, 2), flags, random.choice(protections)))

fill(4000)
for i in range(16):
    arrays.append(mmap.mmap(-1, 4 << 30, flags, mmap.PROT_READ))  # which no limit of memory counts
    fill(600)
    small.pop(random.randrange(len(small))).close()
    kernel = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)
    assert kernel(code.load(TEXT.format(i=i), f"kernel.{i}"))(0, 0.5) == i * math.cos(0.5)
"""
"""Loads 16 kernels between arrays of 4 GB. Small mappings fill what is left beside these, and one of them goes each
time: the code fits there, and its constants may not."""
needs_address_space = pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY, reason="address space is limited (ulimit -v)"
)


def load_among_arrays(seed: int) -> None:
    done = run([sys.executable, "-c", AMONG_ARRAYS, str(seed)], timeout=120, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr


@needs_address_space
def test_kernels_are_loaded_between_large_arrays() -> None:
    """An object's code is near its constants and stubs, and far from the arrays and from libm."""
    load_among_arrays(seed=0)


@pytest.mark.stress
@needs_address_space
@pytest.mark.parametrize("seed", range(200))
def test_many_processes_load_kernels_between_large_arrays(seed: int) -> None:
    load_among_arrays(seed)


# ---------------------------------------------------------------- Arm

ARM = """
@table = internal constant [2 x double] [double 3.0, double 1.0]
declare double @far(double)
define double @kernel(i64 %k, double %x) {
  %place = getelementptr [2 x double], ptr @table, i64 0, i64 %k
  %factor = load double, ptr %place
  %y = call double @far(double %x)
  %product = fmul double %y, %factor
  ret double %product
}
define ptr @address() {
  ret ptr @far
}
"""
FAR = 0x123456789ABC


def test_calls_and_constants_are_in_the_ranges_of_arm() -> None:
    """The linker links for Arm on any machine: its instructions are read here. An address that a call cannot reach is
    jumped to by a stub beside the code."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    code = compile_ir(ARM, CpuTarget("aarch64-unknown-linux-gnu", "", "")).object
    found = link.link(code, "kernel", "address", imports={"far": FAR})
    kernel = instructions(found["kernel"])
    constants, call = only(kernel, is_adrp), only(kernel, lambda word: word >> 26 == 0b100101)
    assert ctypes.c_double.from_address(place(constants)).value == 3
    stub = call + 4 * signed(word_at(call) & 0x3FFFFFF, 26)
    jump = word_at(stub + 8)
    assert (jump & 0xFFFFFC1F, pointer(stub)) == (0xD61F0000, FAR)  # br
    assert pointer(only(instructions(found["address"]), is_adrp)) == FAR


def instructions(address: int) -> list[int]:
    """The addresses of a function's instructions, up to the first `ret`."""
    places = range(address, address + 256, 4)
    return list(itertools.takewhile(lambda at: word_at(at) != 0xD65F03C0, places))


def only(places: list[int], is_it: Callable[[int], bool]) -> int:
    (found,) = [at for at in places if is_it(word_at(at))]
    return found


def is_adrp(word: int) -> bool:
    return word & 0x9F000000 == 0x90000000


def place(adrp: int) -> int:
    """What `adrp` and the `add` after it, which has the lower 12 bits, find."""
    assert is_adrp(word_at(adrp)) and word_at(adrp + 4) & 0xFFC00000 == 0x91000000
    return page(adrp) + (word_at(adrp + 4) >> 10 & 0xFFF)


def pointer(adrp: int) -> int:
    """What `adrp` and the `ldr` after it, which has the lower 12 bits in words of 8 bytes, load."""
    assert is_adrp(word_at(adrp)) and word_at(adrp + 4) & 0xFFC00000 == 0xF9400000
    return ctypes.c_uint64.from_address(page(adrp) + 8 * (word_at(adrp + 4) >> 10 & 0xFFF)).value


def page(adrp: int) -> int:
    word = word_at(adrp)
    return (adrp & ~0xFFF) + (signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21) << 12)


def signed(bits: int, width: int) -> int:
    return bits - (bits >> width - 1 << width)


def word_at(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


# ---------------------------------------------------------------- exceptions

TRY = r"""
import mmap, resource, sys
from optgen.backends import target
from optgen.objectcode import link

TEXT = "@x{i} = constant i64 {i}\n@y{i} = global i64 0\ndefine i64 @f{i}() {{\n  ret i64 {i}\n}}\n"

def compiled(i):
    return target.compile_ir(TEXT.format(i=i), target.host()).object

def outcome(call, *args):
    try:
        call(*args)
    except MemoryError as error:
        assert "ulimit -v, vm.max_map_count" in str(error), error
        return "MemoryError"
    return "done"
"""
"""`outcome`: whether a call was done or there was no room."""


def outcomes(program: str) -> list[str]:
    done = python(TRY + program)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_address_space
@pytest.mark.parametrize("call", ["compiled, 0", "link.link, code, 'f1'"])
def test_no_memory_is_an_exception(call: str) -> None:
    """From where Python itself can go on up to where LLVM has what it needs, megabyte by megabyte."""
    prepare = "code = compiled(1)" if "code" in call else "target.host()"
    found = outcomes(f"""
{prepare}
used = int(open("/proc/self/statm").read().split()[0])*mmap.PAGESIZE
found = []
for megabytes in range(1, 64):
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
    found.append(outcome({call}))
print(*found)
""")
    assert (found[0], found[-1]) == ("MemoryError", "done")


FILL = """
import random
code = compiled(0)
link.link(compiled(1), "f1")
protections = (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)

def fill(taken):
    try:
        while True:
            mapping = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, protections[len(taken) % 2])
            taken.append(mapping)
    except OSError:
        return taken
"""
"""`fill`: take small mappings until there are no more."""
has_few_mappings = pytest.mark.skipif(
    sys.platform == "linux" and int(Path("/proc/sys/vm/max_map_count").read_text()) > 1 << 18,
    reason="a process may have more mappings than can be made in a second (vm.max_map_count)",
)


@has_few_mappings
def test_no_mappings_are_an_exception() -> None:
    """From none that are left up to as many as a load takes, one by one."""
    found = outcomes(f"""{FILL}
taken, found = fill([]), []
for _ in range(20):
    found.append(outcome(link.link, code, "f0"))
    taken.pop(len(taken) // 2).close()
print(*found)
""")
    assert (found[0], found[-1]) == ("MemoryError", "done")


@has_few_mappings
def test_mappings_between_others_are_counted() -> None:
    """The holes that few mappings leave have neighbours of any protection, of which new ones become a part."""
    found = outcomes(f"""{FILL}
codes, taken = [compiled(i) for i in range(2, 20)], []
for seed in range(6):
    random.seed(seed)
    fill(taken)
    for _ in range(14):
        taken.pop(random.randrange(len(taken))).close()
    print(*(outcome(link.link, code, f"f{{i}}") for i, code in enumerate(codes[seed * 3 : seed * 3 + 3], seed * 3 + 2)))
""")
    assert len(found) == 18 and "MemoryError" in found


@needs_address_space
def test_long_texts_ask_for_more_memory() -> None:
    """What LLVM takes to compile grows with the text."""
    found = outcomes("""
from optgen import pipeline
import optgen

names = [f"s{k}" for k in range(40)]
lines = ['optimizer Chain "a long chain"', "param lr = 0.1", *(f"state {name} = 0" for name in names), "update:"]
lines += [f"  {x}' = 0.5*{x} + exp(sin({y}))" for x, y in zip(names, ["grad", *(f"{name}'" for name in names)])]
lines += [f"  w' = w - lr*({' + '.join(name + chr(39) for name in names)})"]
spec = optgen.parse(chr(10).join(lines) + chr(10))
text = pipeline.lower(pipeline.plan(pipeline.build(spec, optgen.ir.Variant({}))), "f0", target.host())
compiled(0)
used = int(open("/proc/self/statm").read().split()[0])*mmap.PAGESIZE
for megabytes in (33, 40):
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
    print(outcome(lambda: target.compile_ir(text, target.host()).object))
""")
    assert found == ["MemoryError"] * 2


def test_what_cannot_be_linked_is_an_exception() -> None:
    """A symbol that nobody has, one that the code does not define, one that is defined twice, and half an object."""
    found = outcomes(r"""
whole = compiled(0)
text = "declare void @nowhere()\ndefine void @g() {\n  call void @nowhere()\n  ret void\n}\n"
needs = target.compile_ir(text, target.host()).object
for code, symbol, imports in (needs, "g", {}), (whole, "g", {}), (whole, "f0", {"f0": 64}), (whole[:99], "f0", {}):
    try:
        link.link(code, symbol, imports=imports)
    except RuntimeError as error:
        print("RuntimeError")
""")
    assert found == ["RuntimeError"] * 4
