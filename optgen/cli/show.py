"""The command show: prints one variant of a spec at any stage of the compiler."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from optgen import groups
from optgen.cli import times
from optgen.cli.common import Commands, Usage, add_arch, command, gpu, read, settings, source_named
from optgen.cli.interleaved import assembly, llvm
from optgen.diagnostics import Source
from optgen.ir import COMPUTE, WEIGHTS, Kernel, Variant
from optgen.ir.storage import STORAGES
from optgen.model import Flags, Optimizer, Param, flags_text
from optgen.shapes import sizes
from optgen.stages.plan import KernelStage
from optgen.symbolic.written import expression

if TYPE_CHECKING:
    from optgen.backends.gpu.gpu_target import GpuTarget

DTYPES = tuple(COMPUTE)
SHAPE = (768, 768)
"""The shape of the parameter for which a variant is shown."""
STAGES = ("spec", "model", "kernel", "ir", "llvm", "asm", "nvvm", "ptx", "amdgpu")
TARGETS = {"amdgpu": "amdgpu"}
"""The kinds of GPUs that stages are for; those of others, and of stages for CPUs, are NVIDIA's."""


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "show",
        show,
        "print one variant of a spec at a stage of the compiler",
        "  optgen show 'adam with lookahead'     the spec without uses of others\n"
        "  optgen show adam --stage model        equations of one variant, with the kind\n"
        "                                        of every value\n"
        "  optgen show muon --stage kernel       the kernel before it is cut into stages\n"
        "                                        and sweeps\n"
        "  optgen show adam --stage ir           the kernel as backends take it\n"
        "  optgen show adam --stage llvm         LLVM IR before LLVM optimises it\n"
        "  optgen show adam --stage nvvm         LLVM IR for NVIDIA's GPUs\n"
        "  optgen show adam --stage ptx --arch sm_90\n"
        "  optgen show adam --stage amdgpu --arch gfx90a    LLVM IR for AMD's GPUs\n"
        "  optgen show sgd --stage asm --set momentum=0.9 --dtype float64\n"
        "  optgen show adam --stage ir --dtype bfloat16 --storage v=bfloat16_stochastic\n"
        "  optgen show muon --times              what each step of the compiler takes\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file, or 'NAME with TRANSFORM'")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--stage", default="spec", choices=STAGES, metavar="STAGE", help=f"one of {', '.join(STAGES)} (default: spec)"
    )
    what.add_argument("--times", action="store_true", help="compile for this CPU, and print a table of the steps")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a flag or parameter, to choose the variant"
    )
    parser.add_argument("--dtype", default="float32", choices=DTYPES, help="of parameters (default: float32)")
    parser.add_argument("--master", action="store_true", help="keep a float32 weight beside a parameter of 16 bits")
    parser.add_argument("--weights", choices=WEIGHTS, help="how weights of 16 bits are rounded (default: to nearest)")
    parser.add_argument(
        "--storage", action="append", default=[], metavar="STATE=STORAGE", help=f"one of {', '.join(STORAGES)}"
    )
    add_arch(parser, "; with --stage amdgpu the GPUs: gfx90a, gfx942 or gfx1100")


def show(args: argparse.Namespace) -> int:
    from optgen import arguments, pipeline
    from optgen.lang import format_text

    if args.arch and args.stage not in ("ptx", "amdgpu"):
        more = "; --times compiles for this CPU" if args.times else ""
        raise Usage(f"--arch is for --stage ptx and --stage amdgpu{more}")
    chosen, given = gpu(args, TARGETS.get(args.stage, "cuda"), "--stage"), settings(args.set)
    source = source_named(args.spec)
    optimizer = read(source)
    try:
        resolved = arguments.resolve(optimizer, given)
        flags = arguments.resolve_flags(optimizer, resolved.values, resolved.chosen, sizes(SHAPE, optimizer.last_two))
        arguments.check_dtype(args.dtype, args.master, args.weights)
        arguments.check_weights(optimizer, args.weights)
        named = dict(x.partition("=")[::2] for x in args.storage)
        storage = arguments.storages(optimizer, args.dtype, named, args.weights)
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from None
    variant = Variant(flags, args.dtype, args.master, storage, weights=args.weights)
    if args.times:
        own = groups.sizes(optimizer.program(flags).groups, SHAPE, resolved.values)
        own |= arguments.lengths(optimizer, flags, resolved.values, SHAPE)
        values = {**resolved.values, **sizes(SHAPE, optimizer.last_two), **own}
        print(times.table(source, variant, values, SHAPE))
        return 0
    if args.stage == "spec":
        print(format_text(optimizer.source), end="")
        return 0
    if args.stage == "model":
        print(model_text(optimizer, flags))
        return 0
    if args.stage == "kernel":
        print(_whole_text(optimizer, variant), end="")
        return 0
    if optimizer.is_staged(flags):
        _show_stages(optimizer, variant, args.stage, chosen)
    else:
        kernel = pipeline.plan(pipeline.build(optimizer, variant))
        print(_kernel_text(optimizer.source, kernel, pipeline.symbol(optimizer, variant), args.stage, chosen), end="")
    return 0


def _whole_text(optimizer: Optimizer, variant: Variant) -> str:
    """The kernel of a variant before it is cut, in an update that computes everything."""
    from optgen import pipeline
    from optgen.ir.text import to_text

    if optimizer.is_staged(variant.flags):
        return to_text(pipeline.build_whole(optimizer, variant, optimizer.timings, first=False))
    return to_text(pipeline.build(optimizer, variant))


def _show_stages(optimizer: Optimizer, variant: Variant, stage: str, chosen: GpuTarget) -> None:
    """Print the kernels of a step with calls between them, of an update that computes everything."""
    from optgen import pipeline

    due, number = optimizer.timings, 0
    if stage == "ir":
        print("\n".join(pipeline.stage_lines(optimizer, variant, due, first=False)))
    for section in pipeline.stages(optimizer, variant, due, first=False).walk():
        if isinstance(section, KernelStage):
            kernel = pipeline.plan(section.kernel)
            symbol, number = f"{pipeline.symbol(optimizer, variant)}_stage{number}", number + 1
            print(f"\n{_kernel_text(optimizer.source, kernel, symbol, stage, chosen)}", end="")


def _kernel_text(source: Source, kernel: Kernel, symbol: str, stage: str, chosen: GpuTarget) -> str:
    """A planned kernel at a stage from `ir` on; below that, with the equations of its source as comments."""
    from optgen import pipeline
    from optgen.backends import target
    from optgen.ir.text import to_text

    if stage == "ir":
        return to_text(kernel)
    kernel = replace(kernel, source=source)
    if stage in ("nvvm", "ptx", "amdgpu"):
        text = pipeline.lower_gpu(kernel, symbol, chosen).llvm
        made = assembly(chosen.compile(text).decode(), source) if stage == "ptx" else llvm(text, source)
        return made.rstrip("\n") + "\n"
    host = target.host()
    text = pipeline.lower(kernel, symbol, host)
    return llvm(text, source) if stage == "llvm" else assembly(target.compile_ir(text, host).assembly, source)


def _param(p: Param) -> str:
    default = "none" if p.default is None else f"{p.default:.15g}"
    return f"param {p.name}{' per param' * p.per_param} = {default}{' follows lr' * p.follows_lr}"


def model_text(optimizer: Optimizer, flags: Flags) -> str:
    """One variant as a straight line of equations, with the kind of every value, and expressions as their trees are."""
    from optgen.lang.kinds import infer

    program = optimizer.program(flags)
    kinds = infer(program, optimizer)
    rows = [f"optimizer {optimizer.name}, {flags_text(flags)}", *["axes last two"] * optimizer.last_two]
    rows += list(map(_param, optimizer.params))
    rows += [f"state {s.name}: {s.declared} = {expression(s.init)}" for s in program.states]
    rows += [f"{e.target.key}: {kinds[e.target.key].value} = {expression(e.value)}" for e in program.equations]
    return "\n".join(rows)
