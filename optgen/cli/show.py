"""The command show: prints one variant of a spec at any stage of the compiler."""

from __future__ import annotations

import argparse

from optgen.cli.common import Commands, Usage, add_arch, arch, command, flags_text, read, settings, source_named
from optgen.ir import COMPUTE, Variant
from optgen.ir.storage import STORAGES
from optgen.model import Flags, Optimizer
from optgen.shapes import sizes
from optgen.stages.plan import KernelStage
from optgen.symbolic.written import expression

DTYPES = tuple(COMPUTE)
SHAPE = (768, 768)
"""The shape of the parameter for which a variant is shown."""
STAGES = ("spec", "model", "ir", "llvm", "asm", "nvvm", "ptx")


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "show",
        show,
        "print one variant of a spec at a stage of the compiler",
        "  optgen show 'adam with lookahead' --stage spec  the spec without uses of others\n"
        "  optgen show adam --stage model            equations of one variant, with the kind of every value\n"
        "  optgen show adam --stage ir               the kernel as backends take it, cut into phases\n"
        "  optgen show adam --stage llvm             LLVM IR before LLVM optimises it\n"
        "  optgen show adam --stage nvvm             LLVM IR for GPUs of NVIDIA; all of a step but the host's part\n"
        "  optgen show adam --stage ptx --arch sm_90\n"
        "  optgen show sgd --stage asm --set momentum=0.9 --dtype float64\n"
        "  optgen show adam --stage ir --dtype bfloat16 --master --storage v=bfloat16_stochastic\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file, or 'NAME with TRANSFORM'")
    parser.add_argument("--stage", required=True, choices=STAGES, help="what to print")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a flag or parameter, to choose the variant"
    )
    parser.add_argument("--dtype", default="float32", choices=DTYPES, help="of parameters (default: float32)")
    parser.add_argument("--master", action="store_true", help="keep a float32 weight beside a parameter of 16 bits")
    parser.add_argument(
        "--storage", action="append", default=[], metavar="STATE=STORAGE", help=f"one of {', '.join(STORAGES)}"
    )
    add_arch(parser)


def show(args: argparse.Namespace) -> int:
    from optgen import arguments, pipeline
    from optgen.backends import target
    from optgen.ir.text import to_text
    from optgen.lang import format_text

    if args.arch and args.stage != "ptx":
        raise Usage("--arch is for --stage ptx")
    oldest, given = arch(args), settings(args.set)
    optimizer = read(source_named(args.spec))
    try:
        resolved = arguments.resolve(optimizer, given)
        flags = arguments.resolve_flags(optimizer, resolved.values, resolved.chosen, sizes(SHAPE, optimizer.last_two))
        arguments.check_dtype(args.dtype, args.master)
        storage = arguments.storages(optimizer, args.dtype, dict(x.partition("=")[::2] for x in args.storage))
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from None
    if args.stage == "spec":
        print(format_text(optimizer.source), end="")
        return 0
    if args.stage == "model":
        print(model_text(optimizer, flags))
        return 0
    variant = Variant(flags, args.dtype, args.master, storage)
    if optimizer.is_staged(flags):
        _show_stages(optimizer, variant, args.stage)
        return 0
    kernel = pipeline.plan(pipeline.build(optimizer, variant))
    if args.stage == "ir":
        print(to_text(kernel), end="")
        return 0
    symbol, host = pipeline.symbol(optimizer, variant), target.host()
    if args.stage in ("nvvm", "ptx"):
        text = pipeline.lower_ptx(kernel, symbol).llvm
        print((text if args.stage == "nvvm" else target.compile_ptx(text, oldest)).rstrip("\n"))
        return 0
    text = pipeline.lower(kernel, symbol, host)
    print(text if args.stage == "llvm" else target.compile_ir(text, host).assembly, end="")
    return 0


def _show_stages(optimizer: Optimizer, variant: Variant, stage: str) -> None:
    """Print the kernels of a step with calls between them, of an update that computes everything."""
    from optgen import pipeline
    from optgen.backends import target
    from optgen.ir.text import to_text

    if stage in ("nvvm", "ptx"):
        raise Usage(f"{optimizer.name} has products of matrices, loops or timings, which GPUs cannot run yet")
    due = optimizer.timings()
    host, number = target.host(), 0
    if stage == "ir":
        print("\n".join(pipeline.stage_lines(optimizer, variant, due, first=False)))
    for section in pipeline.stages(optimizer, variant, due, first=False).walk():
        if isinstance(section, KernelStage):
            kernel = pipeline.plan(pipeline.build_section(optimizer, variant, section))
            symbol, number = f"{pipeline.symbol(optimizer, variant)}_stage{number}", number + 1
            text = to_text(kernel) if stage == "ir" else pipeline.lower(kernel, symbol, host)
            print(f"\n{target.compile_ir(text, host).assembly if stage == 'asm' else text}", end="")


def model_text(optimizer: Optimizer, flags: Flags) -> str:
    """One variant as a straight line of equations, with the kind of every value, and expressions as their trees are."""
    from optgen.lang.kinds import infer

    program = optimizer.program(flags)
    kinds = infer(program, optimizer)
    rows = [f"optimizer {optimizer.name}, {flags_text(flags)}", *["axes last two"] * optimizer.last_two]
    rows += [
        f"param {p.name}{' per param' * p.per_param} = {'none' if p.default is None else f'{p.default:.15g}'}"
        for p in optimizer.params
    ]
    rows += [f"state {s.name}: {' x '.join(s.dims) or s.kind.value} = {expression(s.init)}" for s in program.states]
    rows += [f"{e.target.key}: {kinds[e.target.key].value} = {expression(e.value)}" for e in program.equations]
    return "\n".join(rows)
