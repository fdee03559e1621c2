"""The command explain: a spec's equations, and what each of its variants costs."""

from __future__ import annotations

import argparse
import textwrap

from optgen.cli.bandwidth import bandwidth
from optgen.cli.common import Commands, command, flags_text, path_of, read, variants
from optgen.model import Flags, Optimizer, Param
from optgen.symbolic import latex, unicode

PARAMETERS = 100_000_000
TABLE = ("variant", "read", "written", "bytes", "flops", "sweeps", "100M parameters")


def register(commands: Commands) -> None:
    parser = command(
        commands,
        "explain",
        explain,
        "show a spec's equations and what a step costs on this machine",
        "  optgen explain adam\n  optgen explain specs/mine.opt\n",
    )
    parser.add_argument("spec", metavar="SPEC", help="name or .opt file")


def explain(args: argparse.Namespace) -> int:
    optimizer = read(path_of(args.spec))
    costs = [(flags, cost(optimizer, flags)) for flags in variants(optimizer)]
    print(f"{optimizer.name}: {optimizer.title}")
    if optimizer.cite:
        print(optimizer.cite)
    _section("Equations", unicode(optimizer))
    _section("Parameters", "\n".join(_parameters(optimizer)))
    _section("First step (t = 1, wd = 0, rescale_grad = 1, no clipping)", "\n".join(_first_steps(optimizer)))
    _section("Cost of a float32 step, for each parameter", _costs(costs))
    _section("LaTeX", latex(optimizer))
    return 0
