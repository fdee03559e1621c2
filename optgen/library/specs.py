"""The specs of a library, and the variants of each that are built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from optgen import arguments
from optgen.arguments import Arguments
from optgen.axes import ELEMENTS
from optgen.expressions import Call, Name, walk
from optgen.facts import fact
from optgen.ir import Variant
from optgen.ir.storage import STORAGES
from optgen.lang.loops import loops_around
from optgen.library.c_text import choice_name, field, rust_name
from optgen.library.calls import FACTORIZED
from optgen.library.stages import is_staged, program
from optgen.model import PHASE, Flag, Flags, Optimizer


@dataclass(frozen=True)
class LibrarySpec:
    """A spec of a library, for CPUs or for GPUs. `prefix` begins the names of its functions. `args` has the values of
    its params, which are the defaults of the header, and the flags that were set. With `every_flag`, all flags are
    built. `storage` is that of the elementwise states of parameters with enough elements, by name."""

    prefix: str
    spec: Optimizer
    args: Arguments
    dtypes: Sequence[str]
    storage: Mapping[str, str]
    master: bool
    every_flag: bool
    on_gpu: bool = False

    @property
    def written(self) -> str:
        """What files of states call it, the same on all devices."""
        return self.prefix.removesuffix("_cuda") if self.on_gpu else self.prefix

    @fact
    def phases(self) -> tuple[str, ...]:
        """The phases of a step; one without a name where it has none."""
        return self.spec.phases or ("",)

    @fact
    def sections(self) -> int:
        """How many kernels a variant has: one for each phase, and one for the weights to evaluate with."""
        return len(self.phases) + bool(self.spec.evaluate)

    @fact
    def hyper_defaults(self) -> Mapping[str, float | None]:
        """The hyper-parameters of a program, and the values that they have if it sets none: those that the spec
        declares, and of those that all specs may read the ones that it does."""
        declared = {p.name for p in self.spec.params}
        names = [name for name in self.spec.all_params if name in declared or name in self.spec.reads]
        return {name: self.args.values.get(name, self.spec.all_params[name].default) for name in names}

    @fact
    def fixed(self) -> tuple[str, ...]:
        """The params that are sizes of states, or numbers of turns of loops: kernels are made for one value."""
        loops = [x for line in self.spec.update for x in loops_around(line.loop)]
        counts = [x.count.id for x in loops if isinstance(x.count, Name)]
        return tuple(dict.fromkeys((*self.spec.fixed, *counts)))

    @fact
    def shown_flags(self) -> Flags:
        """The flags of the variant that a header shows: those of a matrix with the defaults."""
        known = self.args.flags.items()
        return next(flags for flags in self.variants if all(flags.get(name, x) == x for name, x in known))

    @fact
    def chosen_flags(self) -> tuple[Flag, ...]:
        """The flags that a program chooses, in the order of the fields of its options."""
        return tuple(f for f in self.spec.flags if f.condition is None)

    def flag_default(self, flag: Flag) -> int:
        """The value of a flag in options that a program does not set."""
        value = self.args.chosen[flag.name]
        return flag.choices.index(value) if isinstance(value, str) else int(value)

    @fact
    def variants(self) -> tuple[Flags, ...]:
        """Every combination of flags that can occur, without the phase. Of specs that treat row-sparse gradients in
        another way, `sparse` is one of them, but not for GPUs."""
        own = (flags for flags in self.spec.variants() if not (self.on_gpu and flags.get("sparse")))
        found = (tuple((k, v) for k, v in flags.items() if k != PHASE) for flags in own)
        return tuple(dict(x) for x in dict.fromkeys(found))

    @fact
    def factorizes(self) -> bool:
        """Whether some update calls LAPACK."""
        programs = [self.spec.program(flags) for flags in self.spec.variants() if self.is_built(flags)]
        values = [e.value for x in programs for e in x.equations]
        values += [start for x in programs for s in x.states if (start := self.spec.start(s)) is not None]
        return any(isinstance(e, Call) and e.function in FACTORIZED for value in values for e in walk(value))

    def is_built(self, flags: Flags) -> bool:
        """Whether a combination of flags is built: those that were set, and all values of flags of each tensor."""
        fixed = {f.name for f in self.chosen_flags if not f.per_param}
        return self.every_flag or all(flags[name] == x for name, x in self.args.chosen.items() if name in fixed)

    @fact
    def small_differ(self) -> bool:
        """Whether parameters with few elements have kernels of their own, as their states are not in codes."""
        return any(STORAGES[x].block for x in self.storage.values())

    @fact
    def sizes(self) -> tuple[bool, ...]:
        """Whether kernels are for small parameters, for each kind of them."""
        return (False, True) if self.small_differ else (False,)

    def built(self, dtype: str, flags: Flags, *, small: bool) -> Iterator[Variant]:
        """The variants of the kernels of a combination of flags, section by section."""
        for section in range(self.sections):
            own = dict(flags)
            if self.spec.phases:
                own[PHASE] = self.spec.phases[section % len(self.spec.phases)]
            yield self._variant(own, dtype, small=small, evaluate=section == len(self.phases))

    def _variant(self, flags: Flags, dtype: str, *, small: bool, evaluate: bool) -> Variant:
        storage = arguments.stored(self.spec, flags, self.storage, small=small)
        sizes = {x: int(self.args.values[x] or 0) for x in self.spec.fixed if x in self.args.values}
        matmul = "deterministic" if self.spec.is_staged(flags) else "float32"
        return Variant(flags, dtype, self.master, storage, evaluate, sizes=sizes, matmul=matmul)


def library_spec(
    prefix: str,
    spec: Optimizer,
    given: Mapping[str, object],
    dtypes: Sequence[str],
    storage: str | Mapping[str, str] | None,
    *,
    master: bool,
    every_flag: bool,
    on_gpu: bool = False,
) -> LibrarySpec:
    """A spec with the params and flags that were given for it. Raises TypeError and ValueError as `optgen.load`, and
    ValueError for a spec that a library cannot have."""
    args = arguments.resolve(spec, given)
    found = LibrarySpec(prefix, spec, args, dtypes, {}, master, every_flag, on_gpu)
    for dtype in dtypes:
        arguments.check_dtype(dtype, master)
        found = replace(found, storage=arguments.storages(spec, dtype, storage))
    _check_fields(found)
    for flags in filter(found.is_built, found.variants):
        for variant in found.built(dtypes[0], flags, small=False):
            _check_stages(found, variant)
    return found


def _check_stages(own: LibrarySpec, variant: Variant) -> None:
    """ValueError if an update has inputs of other shapes than the parameter's, or more than kernels and loops."""
    if own.spec.dims:
        raise ValueError(
            f"{own.prefix}: '{own.spec.dims[0].name}' is a dimension that is computed; a library in C has none yet"
        )
    if any(x.axes != ELEMENTS for x in own.spec.inputs):
        raise ValueError(f"{own.prefix}: it has inputs of dimensions of their own; a library in C has none yet")
    if not is_staged(own.spec, variant):
        return
    try:
        found = program(own.spec, variant, own.args.values)
        if own.on_gpu and found.alone:
            raise ValueError("it has products, factorizations or equations of some updates only, on a GPU")
    except ValueError as error:
        raise ValueError(f"{own.prefix}: {error}; a library in C has no such updates yet") from None


def _check_fields(own: LibrarySpec) -> None:
    """ValueError if two names of a spec are one in C or in Rust."""
    flags = [f.name for f in own.chosen_flags]
    choices = [choice_name(f, k) for f in own.chosen_flags for k in range(len(f.choices))]
    for names in (list(own.hyper_defaults), flags, [i.name for i in own.spec.inputs]):
        for language, written in (("C", list(map(field, names))), ("Rust", [rust_name(field(x)) for x in names])):
            for name, one in zip(names, written, strict=True):
                if written.count(one) > 1:
                    where = f"'{name}' and another name of the spec are both '{one}' in {language}"
                    raise ValueError(f"{own.prefix}: {where}")
    for choice in choices:
        if choices.count(choice) > 1:
            raise ValueError(f"{own.prefix}: two choices of flags are both '{choice}' in C")
