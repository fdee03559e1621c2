"""Random specs against the equations: `python -m tests.equations 1000`.

Each is compared as it is compiled, as the interpreter has it, and as its equations say. Of one on which these differ,
the smallest part that still fails is printed, as a spec.
"""

from __future__ import annotations

import argparse
import sys

from tqdm import tqdm

from tests.equations import agree
from tests.equations.random_specs import spec


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.equations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int, help="how many specs")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one (default 0)")
    parser.add_argument("--size", type=int, default=2, help="depth of expressions, number of states (default 2)")
    parser.add_argument("--compiled", type=int, default=6, help="every how many-th is compiled (default 6; 0: none)")
    given = parser.parse_args()
    if min(given.count, given.size) < 1 or min(given.first, given.compiled) < 0:
        parser.error("count and --size are at least 1, --first and --compiled at least 0")
    failed = 0
    for seed in tqdm(range(given.first, given.first + given.count), disable=None, unit="spec"):
        made, how = spec(seed, given.size), agree.how(seed, given.compiled)
        if agree.disagreement(made, how, seed) is None:
            continue
        failed += 1
        least = agree.smallest(made, lambda x, how=how, seed=seed: agree.disagreement(x, how, seed) is not None)
        chain = f" with {least.transform}" if least.transform else ""
        tqdm.write(f"seed {seed}, {how}{chain}: {agree.disagreement(least, how, seed)}\n{least.text}")
    print(f"{given.count} specs from seed {given.first}, {failed} with a difference")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
