"""Time steps on a GPU: every optimizer beside a copy of as many bytes, and AdamW, Adam and SGD beside PyTorch's.

examples:
  python benchmarks/gpu.py                          all of it, within 8 minutes; writes benchmarks/results/DATE-GPU.*
  python benchmarks/gpu.py --quick                  a few cases, within a minute
  python benchmarks/gpu.py --sections specs --optimizers adamw lion adam-int8_linear
  python benchmarks/gpu.py --sections sizes --sizes 1e9 gpt2-xl --out .

It needs PyTorch, for tensors, events, graphs and peers; matplotlib draws the picture, if it is there. Results are
written as they come. A case that fails, or that no time or memory is left for, is named with the reason.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpu_cases
import gpu_report
import machine
import report
import workloads
from gpu_cases import Case
from gpu_device import SIZES, Device
from peers.absent import first_line
from tqdm import tqdm
from workloads import OPTIMIZERS

SECTIONS = {
    "specs": "every optimizer at 100 million parameters beside the copy rate",
    "sizes": "AdamW, Adam and SGD at all sizes beside PyTorch",
    "wall": "a call, Python included, with and without CUDA graphs",
}
PACKAGES = ("optgen", "numpy", "llvmlite", "torch", "triton")
QUICK_OPTIMIZERS = ("adamw", "sgd", "lion", "lamb", "adam-bfloat16_stochastic", "adam-int8_linear")
RESULTS = Path(__file__).resolve().parent / "results"
FAILED = "it failed: "


@dataclass(frozen=True)
class Planned:
    """A case that is still to be measured."""

    name: str
    measure: Callable[[], Case]


def main() -> int:
    args = arguments()
    begin = time.monotonic()
    try:
        device = Device()
    except (ImportError, RuntimeError) as error:
        print(f"gpu.py: {error}", file=sys.stderr)
        return 1
    description = machine.describe(1, PACKAGES) | device.describe()
    print(gpu_report.machine_text(description), end="\n\n", flush=True)
    gpu = re.sub(r"[^a-z0-9]+", "-", description["gpu"].lower()).strip("-")
    stem = args.out / f"{datetime.date.today().isoformat()}-{gpu}"
    args.out.mkdir(parents=True, exist_ok=True)
    cases: list[Case] = []
    left_out: dict[str, str] = {}
    for _ in run(list(planned(args, device)), device, begin + 60 * args.minutes, cases, left_out):
        write(stem, description, cases, left_out)
    print(gpu_report.text(cases, left_out))
    drawn = gpu_report.write_plot(stem.with_name(f"{stem.name}.png"), cases, description)
    print(f"wrote {', '.join(map(str, write(stem, description, cases, left_out, drawn)))}")
    return int(any(why.startswith(FAILED) for why in left_out.values()))


def planned(args: argparse.Namespace, device: Any) -> Iterator[Planned]:
    """What is to be measured, the most important first."""
    if "specs" in args.sections:
        size = "1e7" if args.quick else "1e8"
        shapes = SIZES["1e8"][1] if not args.quick else [(4000, 2500)]
        for name in args.optimizers:
            if workloads.suits(name, shapes):
                yield Planned(f"specs {name}", lambda n=name, s=shapes: gpu_cases.spec(device, size, s, n, args.reps))
    if "sizes" in args.sections:
        for size in args.sizes:
            for name in ("adamw",) if args.quick else gpu_cases.PEERED:
                compiled = not args.quick and name == "adamw" and size in gpu_cases.COMPILED
                yield Planned(
                    f"sizes {size} {name}",
                    lambda s=size, n=name, c=compiled: gpu_cases.sizes(device, s, n, args.reps, c),
                )
    if "wall" in args.sections:
        for size in ("1e5", "resnet50"):
            yield Planned(f"wall {size}", lambda s=size: gpu_cases.wall(device, s, args.reps, not args.quick))


def run(
    plan: Sequence[Planned], device: Any, deadline: float, cases: list[Case], left_out: dict[str, str]
) -> Iterator[None]:
    """Measure one after the other; after each, its case is among `cases`, or the reason why not in `left_out`."""
    shown = sys.stderr.isatty()
    with tqdm(plan, unit="case", disable=not shown) as bar:
        for k, one in enumerate(bar):
            bar.set_description(one.name)
            if not shown:
                print(f"{k + 1}/{len(plan)} {one.name}", file=sys.stderr, flush=True)
            if time.monotonic() > deadline:
                left_out[one.name] = "no time was left"
                continue
            try:
                cases.append(one.measure())
                device.clear()
            except gpu_cases.TooLarge as error:
                left_out[one.name] = str(error)
            except Exception as error:  # of PyTorch, the driver or a kernel: the other cases may be well
                traceback.print_exc()
                left_out[one.name] = f"{FAILED}{first_line(error)}"
            yield


def write(
    stem: Path, description: Mapping[str, Any], cases: Sequence[Case], left_out: Mapping[str, str], drawn: bool = False
) -> list[Path]:
    """The files of a run, the picture among them if it has been drawn."""
    data, tables, picture = (stem.with_name(f"{stem.name}.{kind}") for kind in ("json", "md", "png"))
    report.replace(data, gpu_report.json_text(description, cases, left_out).encode())
    report.replace(tables, gpu_report.markdown(description, cases, left_out, picture.name if drawn else None).encode())
    return [data, tables, picture] if drawn else [data, tables]


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="S",
        help="; ".join(f"{name}: {what}" for name, what in SECTIONS.items()),
    )  # fmt: skip
    parser.add_argument(
        "--optimizers", nargs="+", choices=OPTIMIZERS, metavar="O", help=f"of specs: {', '.join(OPTIMIZERS)}"
    )
    parser.add_argument("--sizes", nargs="+", choices=SIZES, metavar="N", help=f"of sizes: {', '.join(SIZES)}")
    parser.add_argument("--reps", type=int, help="interleaved rounds (default 25, with --quick 7)")
    parser.add_argument("--minutes", type=float, help="no case begins after these (default 7, with --quick 0.8)")
    parser.add_argument("--quick", action="store_true", help="few optimizers and sizes, nothing that is compiled")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="default: benchmarks/results")
    args = parser.parse_args(words)
    for name, quick, full in (
        ("reps", 7, 25),
        ("minutes", 0.8, 7.0),
        ("optimizers", list(QUICK_OPTIMIZERS), list(OPTIMIZERS)),
        ("sizes", ["1e5", "1e7", "resnet50"], list(SIZES)),
    ):
        if getattr(args, name) is None:
            setattr(args, name, quick if args.quick else full)
    if args.reps < 1 or args.minutes <= 0:
        parser.error("--reps must be at least 1, --minutes more than 0")
    return args


if __name__ == "__main__":
    sys.exit(main())
