"""The PTX of kernels: its text, and what NVIDIA's assembler makes of it."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from optgen import pipeline
from optgen.backends import target
from optgen.backends.gpu import TARGETS
from optgen.backends.gpu.nvidia import OLDEST, Nvidia
from optgen.ir import Variant
from optgen.model import Optimizer
from tests.compiler.features import FEATURES
from tests.compiler.harness import DIFFERENT, KERNELS, by_name, kernels
from tests.compiler.test_differential import MODES, load
from tests.conftest import Golden
from tests.cuda.assemble import Usage, assemble, ptxas
from tests.sweeps import swept

GOLDEN = Path(__file__).parent / "golden"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")


def ptx(spec: Optimizer, variant: Variant, gpu: Nvidia = OLDEST) -> str:
    return pipeline.code(pipeline.GpuBackend(gpu, target.host()), spec, variant).ptx.decode()


OF_SPECS = tuple(case for case in DIFFERENT if case.spec not in FEATURES)


@pytest.mark.parametrize("name", ["adam", "sgd-heavy", "lion", "lamb-bias_correction"])
def test_golden(name: str, golden: Golden) -> None:
    path = GOLDEN / f"{name}.ptx"
    made_by = f"// LLVM {target.llvm_version()}\n"
    if path.exists() and (found := path.read_text().partition("\n")[0] + "\n") != made_by:
        pytest.skip(f"{path.name} is what another LLVM makes: {found[3:-1]}, and this is {made_by[3:-1]}")
    case = by_name(name)
    golden(path, made_by + ptx(case.spec, case.load().variant((64, 64))))


@pytest.mark.parametrize(
    ("name", "mode", "accesses"),
    [
        ("adam", {"dtype": "bfloat16"}, 7),  # 8 elements of 4 streams and 3
        ("adam", {"dtype": "bfloat16", "master": True}, 14),  # of 2 streams of 16 bits, and 6 of float32
        ("adam", {"storage": "int8_dynamic"}, 16),  # 16 elements of 4 streams of codes, and 3 of float32
        ("lamb-bias_correction", {"dtype": "bfloat16"}, 11),  # 8 elements of 4 streams; of 4 and 3
    ],
)
def test_whole_units_go_in_16_byte_accesses(name: str, mode: dict[str, Any], accesses: int) -> None:
    rule = by_name(name).load(**mode)
    text = ptx(rule.spec, rule.variant((4096, 64)))
    found = re.findall(r"(?:ld|st)\.global(?:\.nc)?\.v(\d)\.\w(\d+)", text)
    assert [int(n) * int(bits) for n, bits in found] == [128] * accesses


needs_ptxas = pytest.mark.skipif(
    ptxas() is None, reason="ptxas is neither on PATH nor installed: pip install nvidia-cuda-nvcc"
)


@functools.cache
def ptx_of(*symbols: str) -> str:
    """PTX of kernels, for the oldest GPU."""
    found = [KERNELS[symbol] for symbol in symbols]
    return together([ptx(case.spec, variant) for case, variant in found])


@needs_ptxas
@pytest.mark.parametrize(
    ("arch", "symbols"),
    [
        (ARCHITECTURES[0], tuple(kernels(*DIFFERENT))),
        (ARCHITECTURES[-1], tuple(kernels(*OF_SPECS, by_name("kinds")))),
        *(pytest.param(arch, tuple(KERNELS), marks=pytest.mark.stress) for arch in ARCHITECTURES),
    ],
    ids=lambda x: x if isinstance(x, str) else f"{len(x)} kernels",
)
def test_kernels_assemble_without_spills(arch: str, symbols: tuple[str, ...]) -> None:
    """PTX for the oldest GPU on the oldest, and that of specs and of the feature that needs most registers on the
    newest; all of it on all of them in `make stress`, as drivers do it."""
    usages = assemble(ptx_of(*symbols), arch)
    assert len(usages) > len(symbols)
    assert [name for name, usage in usages.items() if spills(usage)] == []
    print(f"{arch}: {len(usages)} entries, up to {max(u.registers for u in usages.values())} registers")


@needs_ptxas
@pytest.mark.parametrize("arch", swept(["sm_90", "sm_120"], ["sm_120"]))
@pytest.mark.parametrize("name", swept(["adam", "lamb-bias_correction", "kinds"], ["adam", "lamb-bias_correction"]))
def test_other_architectures(name: str, arch: str) -> None:
    """PTX that is made for a GPU, which may have instructions that older ones have not."""
    case = by_name(name)
    text = ptx(case.spec, case.load().variant((64, 64)), Nvidia(arch))
    assert not any(map(spills, assemble(text, arch).values()))


@needs_ptxas
@pytest.mark.parametrize(
    "modes", [("float64", "bfloat16-master", "mixed", "codes"), pytest.param(tuple(MODES), marks=pytest.mark.stress)]
)
def test_every_storage(modes: tuple[str, ...]) -> None:
    """Codes are converted in registers: those of the spec that has most states are enough."""
    rules = [load(by_name("adan"), MODES[mode]) for mode in modes]
    texts = [ptx(rule.spec, rule.variant((4096, 64))) for rule in rules]
    usages = assemble(together(texts), OLDEST.arch)
    assert len(usages) == len(modes)
    assert [name for name, usage in usages.items() if spills(usage)] == []


@needs_ptxas
@pytest.mark.parametrize("arch", swept(ARCHITECTURES, [ARCHITECTURES[0]]))
def test_capturable_and_scaled_kernels(arch: str) -> None:
    """The prologues of specs whose host phase does much, and sweeps that multiply gradients by a factor."""
    texts = []
    for name in ("adam", "nadam", "radam", "prodigy", "adafactor", "schedulefreeadamw", "kinds"):
        rule = by_name(name).load(scales_gradient=True)
        variant = rule.variant((64, 64))
        texts.append(pipeline.code(pipeline.PrologueBackend(OLDEST), rule.spec, variant).decode())
        texts.append(ptx(rule.spec, variant))
    usages = assemble(together(texts), arch)
    assert sum(name.endswith("_prologue") for name in usages) == 7
    assert [name for name, usage in usages.items() if spills(usage)] == []


@needs_ptxas
@pytest.mark.stress
@pytest.mark.parametrize("mode", MODES)
def test_every_storage_of_every_spec(mode: str) -> None:
    """Of specs/: those that have all features at once need more registers than there are for doubles and codes."""
    rules = [load(case, MODES[mode]) for case, _ in KERNELS.values() if case.spec not in FEATURES]
    text = together([ptx(rule.spec, rule.variant((4096, 64))) for rule in rules])
    for arch in ARCHITECTURES:
        assert [(arch, name) for name, usage in assemble(text, arch).items() if spills(usage)] == []


def test_intrinsics_stand_in_one_file_a_target() -> None:
    """For GPUs of another kind, another `GpuTarget` is all it takes. Its words belong here."""
    package = Path(pipeline.__file__).parent
    words = re.compile(r"llvm\.nvvm|\"nvvm\.|ptx_kernel|amdgcn|amdgpu_|addrspace=\d")
    found = [p.relative_to(package).as_posix() for p in package.rglob("*.py") if words.search(p.read_text("utf-8"))]
    files = {Path(inspect.getfile(kind)).relative_to(package).as_posix() for kind in TARGETS.values()}
    assert set(found) == files


def spills(usage: Usage) -> bool:
    return bool(usage.stack or usage.spill_stores or usage.spill_loads)


def together(texts: list[str]) -> str:
    """Modules as one, whose head is that of the first: ptxas takes long to start. Of the functions that differ by their
    name only, one."""
    head = re.match(r".*?\.address_size 64\n", texts[0], re.DOTALL)
    assert head is not None
    functions: dict[str, str] = {}
    for text in texts:
        for one in re.split(r"(?=^\t// \.globl)", text[len(head[0]) :], flags=re.MULTILINE)[1:]:
            name = re.match(r"\t// \.globl\t(\w+)", one)
            assert name is not None
            functions.setdefault(re.sub(rf"\b{name[1]}", "", one), one)
    return head[0] + "".join(functions.values())
