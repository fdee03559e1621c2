"""The command race: optimizers train the same tasks, and a table says which came how far."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from optgen.cli.common import Commands, Usage, command, in_checkout, write

if TYPE_CHECKING:
    from optgen.races.baselines import Baseline
    from optgen.races.contender import Contender
    from optgen.races.protocol import TrialPlan
    from optgen.races.results import Entry, Race, Refused
    from optgen.races.task import TrainingTask

EXAMPLES = """\
  optgen race mine.opt --against adamw,lion    yours beside stored baselines
  optgen race adamw lion muon                  all of them trained here
  optgen race "adam(beta2=.99) with ema"       arguments, and transforms
  optgen race mine.opt --sweep beta2=.9,.99    a contender for each value
  optgen race mine.opt --tasks char_gpt        one task; --tasks all: every one
  optgen race mine.opt --task my_model.py      your own: train(make_optimizer,
                                               seed, report), in a Python file
  optgen race adamw lion -o folder             results, table and pictures

The rate of each contender is tuned: 16 trials in each task, by the same rules.
Trials that were made are kept, so a race that was interrupted goes on where it
was. docs/evidence.md says what the numbers mean.
"""


def register(commands: Commands) -> None:
    parser = command(
        commands, "race", run, "compare optimizers: they train the same tasks, each with a tuned rate", EXAMPLES
    )
    parser.add_argument("specs", nargs="+", metavar="SPEC", help="a name, a path or a chain, with arguments")
    parser.add_argument("--against", metavar="A,B", help="others, from stored baselines where these are up to date")
    parser.add_argument("--tasks", metavar="A,B", help="tasks that come with optgen, by name")
    parser.add_argument("--task", action="append", default=[], metavar="FILE", help="a Python file with a task")
    parser.add_argument("--seeds", default="3", metavar="N", help="how many, or which ones: 10,11,12 (default: 3)")
    parser.add_argument("--sweep", metavar="P=X,Y", help="make a contender of each SPEC with each value of a param")
    parser.add_argument("-o", dest="folder", metavar="FOLDER", help="write results, table and pictures there")
    parser.add_argument("--baseline", action="store_true", help="store what the specs do as baselines, in a checkout")


def run(args: argparse.Namespace) -> int:
    _check_extras()
    from optgen.races import how, protocol, store
    from optgen.races.shown import ShownRace

    plan = protocol.full(_seeds(args.seeds))
    lines = _swept(args.specs, args.sweep)
    others = [x.strip() for x in args.against.split(",")] if args.against else []
    contenders, refused = _contenders(list(dict.fromkeys([*lines, *others])))
    tasks = _tasks(args.tasks, args.task)
    if args.baseline:
        _check_baseline(contenders, tasks)
    if args.folder is not None:
        _make(args.folder)
    entries, out = _run(contenders, {*others} - {*lines}, tasks, plan)
    versions = store.versions()
    words = how.described(contenders, tasks, plan, _other_versions(entries))
    race = ShownRace(tuple(x.info for x in tasks), entries, words, versions, (*refused, *out))
    print(race)
    if args.folder is not None:
        for path in race.save(args.folder):
            print(path)
    if args.baseline:
        _store(race, contenders, tasks, plan)
    return 0


def _check_extras() -> None:
    """Usage that names what is not installed."""
    import importlib.util

    from optgen import extras

    missing = [name for name in ("torch", "sklearn", "matplotlib") if importlib.util.find_spec(name) is None]
    if missing:
        raise Usage(f"a race needs {', '.join(missing)}; {extras.install('race')}")


def _make(folder: str) -> None:
    """Make the folder of results before hours are spent on them."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise Usage(f"-o {folder}: no folder can be made there: {getattr(error, 'strerror', error)}") from None


def _swept(specs: Sequence[str], sweep: str | None) -> list[str]:
    """The lines of contenders: with --sweep, one of each spec with each value."""
    from optgen.races import contender

    if sweep is None:
        return list(specs)
    name, equals, values = sweep.partition("=")
    if not (name.strip().isidentifier() and equals and all(x.strip() for x in values.split(","))):
        raise Usage(f"--sweep {sweep}: write a param and its values, as beta2=0.9,0.99")
    chosen = [x.strip() for x in values.split(",")]
    return [line for spec in specs for line in contender.swept(spec, name.strip(), chosen)]


def _contenders(lines: Sequence[str]) -> tuple[list[Contender], list[Refused]]:
    """The contenders, and those that no race can train with."""
    from optgen.races import contender
    from optgen.races.results import Refused

    found: list[Contender] = []
    refused: list[Refused] = []
    for line in lines:
        try:
            own = contender.read(line)
            found += [own] if own.name not in [x.name for x in found] else []
        except contender.CannotRaceError as error:
            refused.append(Refused(line, "", str(error)))
        except ValueError as error:
            if type(error) is not ValueError:  # SpecErrors
                raise
            raise Usage(str(error)) from None
    if not found:
        raise Usage("; ".join(x.reason for x in refused))
    try:
        contender.check_different(found)
    except ValueError as error:
        raise Usage(str(error)) from None
    return found, refused


def _tasks(names: str | None, files: Sequence[str]) -> list[TrainingTask]:
    """The tasks: those that are named, and those of files; without any, the default ones."""
    from optgen.races import task
    from optgen.races.tasks import DEFAULT

    chosen = [x.strip() for x in names.split(",")] if names else [] if files else list(DEFAULT)
    places = [*(task.available() if chosen == ["all"] else chosen), *files]
    try:
        found = [task.load(place) for place in dict.fromkeys(places)]
    except (ValueError, TypeError, ImportError) as error:
        raise Usage(str(error)) from None
    own = [x.name for x in found]
    if len(set(own)) < len(own):
        raise Usage(f"two tasks have one name: {', '.join(own)}")
    return found


def _seeds(text: str) -> list[int]:
    try:
        numbers = [int(x) for x in text.split(",")]
    except ValueError:
        numbers = []
    found = list(range(numbers[0])) if len(numbers) == 1 else numbers
    if not found or min(found) < 0 or len(set(found)) < len(found):
        raise Usage(f"--seeds {text}: how many, from 1, or different whole numbers, as 10,11,12")
    return found


def _run(
    contenders: Sequence[Contender], others: set[str], tasks: Sequence[TrainingTask], plan: TrialPlan
) -> tuple[tuple[Entry, ...], tuple[Refused, ...]]:
    """The entries of all contenders in all tasks, in this order; `others` may come from stored baselines."""
    from optgen.races import racing
    from optgen.races.racing import Pairing
    from optgen.threads import cpus

    stored = {(x.name, y.name): _stored(x, y, plan) for x in contenders if x.name in others for y in tasks}
    pairings = [Pairing(x, y, plan) for y in tasks for x in contenders if stored.get((x.name, y.name)) is None]
    try:
        racing.in_processes(pairings, cpus.available())
        found, out = racing.entries_of(pairings)
    except KeyboardInterrupt:
        print("optgen: the trials that had ended are kept; the same command goes on", file=sys.stderr)
        raise
    except RuntimeError as error:
        raise Usage(str(error)) from None
    entries = {(x.contender, x.task): x for x in found} | {key: x for key, x in stored.items() if x is not None}
    order = [(x.name, y.name) for y in tasks for x in contenders]
    return tuple(entries[key] for key in order if key in entries), out


def _stored(own: Contender, of: TrainingTask, plan: TrialPlan) -> Entry | None:
    """The entry of a stored baseline, if there is one that is up to date."""
    baseline = _baseline(own.name)
    return None if baseline is None else baseline.entry(own, of, plan)


def _other_versions(entries: Sequence[Entry]) -> str:
    """What stored baselines were raced with, where it is not what this race runs with; else nothing."""
    found = {x.contender: _baseline(x.contender) for x in entries if x.stored}
    others = {name: x.other_versions for name, x in found.items() if x is not None and x.other_versions}
    if not others:
        return ""
    names = "; ".join(f"{name}: {', '.join(x)}" for name, x in others.items())
    return (
        f"Stored baselines of other versions ({names}): there the same seed may have given other weights and data, so "
        "their losses may be no pairs with the others, and ranks beside them are rough."
    )


def _baseline(name: str) -> Baseline | None:
    from optgen.races import baselines

    try:
        return baselines.read(name)
    except ValueError as error:
        print(f"optgen: {error}", file=sys.stderr)
        return None


def _check_baseline(contenders: Sequence[Contender], tasks: Sequence[TrainingTask]) -> None:
    """Usage for a contender or a task that does not come with optgen, before anything is trained."""
    from optgen import specfiles
    from optgen.races import task

    in_checkout("benchmarks/races", "-o FOLDER")
    for own in contenders:
        if own.values or not specfiles.ships(own.name):
            raise Usage(f"--baseline: {own.name} is no spec that comes with optgen; baselines are of these, by name")
    for each in tasks:
        if each.place not in task.available():
            raise Usage(f"--baseline: {each.place} is no task that comes with optgen; baselines are of these")


def _store(race: Race, contenders: Sequence[Contender], tasks: Sequence[TrainingTask], plan: TrialPlan) -> None:
    """Write a baseline of each contender."""
    from optgen.races import baselines

    for own in contenders:
        path = in_checkout("benchmarks/races", "-o FOLDER") / baselines.file_name(own.name)
        try:
            write(path, baselines.encoded(race, own, tasks, plan))
        except (ValueError, KeyError) as error:
            raise Usage(str(error)) from None
        print(path)
