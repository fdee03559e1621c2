"""Composition: a spec that uses others becomes one spec without uses, and a chain of transforms becomes one spec.

`flatten` works on lines of tokens, before anything is parsed: `optgen show` prints its result, which is checked, cached
and compiled like any spec. `fast = use adam(lr = rate)` becomes the lines of adam, with `adam_` before its names, and
with `fast` for the weight after its step. A transform is a spec that uses `base()`, whose names stay as they are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from optgen import specfiles
from optgen.diagnostics import Source, Span, SpecErrors, listed, suggest
from optgen.lang.flattened import Flattened, render
from optgen.lang.mixed import check_value, mixed
from optgen.lang.parts import (
    NOWHERE,
    Part,
    Renaming,
    choices_of,
    name,
    read_part,
    renamed,
    token,
    with_choice,
    with_constants,
    with_default,
    with_own_functions,
    without_aliases,
)
from optgen.lang.splicing import Splicing
from optgen.lang.uses import Tokens, Use, UseError, is_transform, read_chain

_MENTIONS = re.compile(
    r"^[ \t]*(transform[ \t]+\w|otherwise[ \t]+use\b|\w+'?[ \t]*=[ \t]*use[ \t]+\w"
    r"|optimizer[ \t]+\w+[ \t]+for\b(?![ \t]+\w+[ \t]+otherwise\b))",
    re.M,
)
"""What a spec has that uses others, or that is a transform. All others are left as they are, at once."""


def flatten(source: Source) -> Flattened:
    """A spec without uses. Raises SpecErrors."""
    return _flatten(source, ())


def is_transform_source(source: Source) -> bool:
    """Whether a text is that of a transform."""
    return _MENTIONS.search(source.text) is not None and is_transform(read_part(source).header)


def with_base(base: str, source: Source) -> Flattened:
    """What the transform in `source` makes of a spec that comes with the package. Raises SpecErrors."""
    use = Use(Path(source.name).stem, {}, None, Span(1, 1, 2))
    part = _transformed(source, use, _part(specfiles.source(specfiles.spec_path(base)), ()))
    return render(part, source.name, source)


def chain(spec: str) -> Source:
    """The spec that `adam with lookahead(k = 5), centralize` stands for: the second transform is one of what the first
    gives; or that `muon with centralize otherwise adamw with ema` stands for, with transforms of the first spec alone,
    and of the whole. Raises SpecErrors, FileNotFoundError for a name of nothing, ValueError for a wrong argument."""
    base, own, other, whole = read_chain(spec)
    path = specfiles.path_of(base)
    part = _part(specfiles.source(path), (str(path),))
    names: list[str] = []
    for use in own:
        part = _transformed_once(spec, use, names, path, part)
    if other is not None:
        theirs = specfiles.path_of(other.path or other.name)
        part = mixed(spec, path.stem, part, other, _part(specfiles.source(theirs), (str(theirs),)))
    for use in whole:
        part = _transformed_once(spec, use, names, path, part)
    return render(part, spec, None).source


def _transformed_once(spec: str, use: Use, names: list[str], path: Path, part: Part) -> Part:
    """What one transform of a chain makes of a part; `names` are those of the ones before it, to which it is added."""
    if use.name in names:
        raise ValueError(f"{spec}: {use.name} stands there twice; a transform is applied once")
    names.append(use.name)
    return _transformed(specfiles.source(specfiles.transform_path(use.path or use.name, path.parent)), use, part)


def _transformed(source: Source, use: Use, base: Part) -> Part:
    """What the transform in `source` makes of a base."""

    uses: list[Use] = []

    def find(other: Use) -> Part:
        if not other.of_base:
            return _find(other, source, ())
        if uses:
            raise UseError("the base is used twice", other.span, "a transform uses it once, and reads what that gives")
        uses.append(other)
        return base

    transform = read_part(source)
    if not transform.header or not is_transform(transform.header):
        error = UseError(f"{use.name} is no transform", Span(1, 1, 2), "a transform begins with: transform NAME")
        raise SpecErrors(source, [error.diagnostic])
    try:
        part = Splicing(_as_host(transform, use, base), find, base.own_names()).run()
        if not uses:
            help = "one of its equations is what the base does: new = use base()"
            raise UseError(f"{transform.name} does not use the base", transform.header[0].span, help)
    except UseError as error:
        raise SpecErrors(source, [error.diagnostic]) from None
    title = token("STRING", f'"{base.title}, with {transform.title}"')
    return replace(part, header=(token("OPTIMIZER", "optimizer"), name(base.name + transform.name), *base.parts, title))


def _as_host(transform: Part, use: Use, base: Part) -> Part:
    """A transform as an optimizer with the name of its base. A name that both have gets the transform's name and `_`
    before it. An alias that is a name or an alias of the base too is left to the base. Lines about the rate are the
    transform's, or else the base's."""
    transform = with_constants(with_own_functions(transform, base.own_names()), base.own_names())
    arguments = base.own_names() | base.aliases()
    both = transform.own_names() & arguments
    known = {line[1].text for line in transform.declarations if _is_argument(line)}
    for field in use.fields:
        if field not in known:
            help = suggest(field, known) or f"it has {listed(sorted(known)) or 'none'}"
            raise ValueError(f"{use.name} has no param or flag '{field}'; {help}")
    lines = [
        with_value(use, x, use.fields[x[1].text]) if _is_argument(x) and x[1].text in use.fields else x
        for x in (without_aliases(line, arguments) for line in transform.declarations)
    ]
    words = use.name.rpartition("/")[2], use.name.replace("/", "_")  # ema and optax/ema in one chain
    word = next((x for x in words if not {f"{x}_{y}" for y in both} & base.own_names()), words[-1])
    rename = Renaming(renamed({x: f"{word}_{x}" for x in both}, NOWHERE), transform.functions()).line
    header = (token("OPTIMIZER", "optimizer"), name(base.name))
    update, evaluate = list(map(rename, transform.update)), list(map(rename, transform.evaluate))
    declarations = list(map(rename, lines))
    made = replace(transform, header=header, declarations=declarations, update=update, evaluate=evaluate)
    rates, schedules = transform.rates or base.rates, transform.schedules or base.schedules
    return replace(made, cite=base.cite, rates=rates, schedules=schedules)


def _is_argument(line: Tokens) -> bool:
    return line[0].type == "PARAM" or bool(choices_of(line))


def with_value(use: Use, line: Tokens, value: Tokens) -> Tokens:
    """The line of a param or of a flag, with a value for its default. ValueError if it is none."""
    check_value(use, line[1].text, choices_of(line))
    return with_default(line, value) if line[0].type == "PARAM" else with_choice(line, value[0])


# ---------------------------------------------------------------- one spec


def _flatten(source: Source, above: tuple[str, ...]) -> Flattened:
    """`above` are the files that use this one."""
    if _MENTIONS.search(source.text) is None:
        return Flattened(source, source)
    host = read_part(source)
    if not host.header or not host.update:
        return Flattened(source, source)  # an error that the parser reports
    try:
        if is_transform(host.header):
            help = f"name what it transforms: 'adam with {Path(source.name).stem}'"
            raise UseError("a transform is no optimizer by itself", host.header[0].span, help)
        part = Splicing(host, lambda use: _find(use, source, above)).run()
    except UseError as error:
        raise SpecErrors(source, [error.diagnostic]) from None
    return render(part, source.name, source)


def _part(source: Source, above: tuple[str, ...]) -> Part:
    """The lines of a spec without uses."""
    return read_part(_flatten(source, above).source)


def _find(use: Use, source: Source, above: tuple[str, ...]) -> Part:
    """The spec that a use names: one in the folder of the spec that uses it, or one that comes with the package."""
    if use.of_base:
        raise UseError(
            "'base' in an optimizer", use.span, "a transform has a base; begin the file with: transform NAME"
        )
    beside = Path(source.name).parent / f"{use.name}.opt"
    path = beside if source.name.endswith(".opt") and beside.is_file() else specfiles.place(use.name)
    if not path.is_file():
        help = suggest(use.name, specfiles.all_available()) or f"there is no {use.name}.opt beside this file, either"
        raise UseError(f"no spec named '{use.name}'", use.span, help)
    if str(path.resolve()) in above or path.resolve() == Path(source.name).resolve():
        raise UseError(f"{use.name} uses itself", use.span, "name another spec")
    part = _part(specfiles.source(path), (*above, str(Path(source.name).resolve()), str(path.resolve())))
    if not part.header or is_transform(part.header) or not any(line[0].text == "w'" for line in part.update):
        raise UseError(f"{use.name} is no optimizer", use.span, "name a spec that defines w'")
    return part
