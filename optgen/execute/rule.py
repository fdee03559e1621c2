"""An update rule: an optimizer that makes states, and is bound to parameters and gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from optgen import arguments
from optgen.execute import buffers
from optgen.execute import state as states
from optgen.execute.buffers import Tensor
from optgen.execute.choice import KernelChoice
from optgen.execute.garbage import without_collections
from optgen.execute.piece import AnyPiece, Layout, LayoutFields, laid_out
from optgen.execute.protocols import Device
from optgen.execute.state import State
from optgen.execute.steps import evaluation
from optgen.execute.steps.phased import PhasedStep
from optgen.execute.steps.step import BoundStep
from optgen.execute.tensors.donation import check_donated
from optgen.execute.tensors.gradients import GivenGradients, gradients_per_param
from optgen.execute.tensors.sparse import RowSparse
from optgen.model import PHASE, FlagValue


class UpdateRule(KernelChoice):
    """An optimizer for parameters of one dtype, as `load` makes it: starts states, and binds them to parameters."""

    def __repr__(self) -> str:
        words = [self.spec.name, self.dtype, *([self.target.name] if self.target.name != "cpu" else [])]
        words += [*(["master=True"] if self.master else [])]
        words += [*([f"weights={self.weights!r}"] if self.weights else [])]
        words += [*(["scales_gradient=True"] if self.scales_gradient else [])]
        defaults = {p.name: p.default for p in self.spec.all_params.values()}
        values = {**self.values, **self.each}
        words += [f"{name}={value!r}" for name, value in values.items() if value != defaults[name]]
        chosen = {f.name: self.flags[f.name] for f in self.spec.flags if f.name in self.flags and not f.per_param}
        words += [f"{name}={value!r}" for name, value in (*chosen.items(), *self.storage.items())]
        return f"<optgen {', '.join(words)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks show."""
        return self.bundle(repr(self))

    def bundle(self, line: str) -> dict[str, str]:
        """What notebooks show of something that updates by this rule, below a line of what it is."""
        from optgen.symbolic.notebook import bundle

        flags = {f.name: self.flags[f.name] for f in self.spec.flags if f.name in self.flags and not f.per_param}
        longest = max(map(len, self.each.values()), default=1)
        each = ({name: values[i] for name, values in self.each.items()} for i in range(longest))
        return bundle(self.spec, [{**self.values, **flags, **own} for own in each], line)

    def init(
        self,
        params: Iterable[Any],
        row_sparse: Iterable[bool] | None = None,
        flags: Mapping[str, Iterable[Any]] | None = None,
        pieces: Iterable[AnyPiece | None] | None = None,
        *,
        capturable: bool = False,
    ) -> State:
        """The state before the first update, for parameters of any shapes and the rule's dtype.

        `row_sparse` says which of them will get row-sparse gradients. `flags` are those that are set for each
        parameter. `pieces` says of which tensors parameters are pieces. `capturable` is as for `bind`.
        """
        tensors = self.tensors(params, "params")
        sparse = [False] * len(tensors) if row_sparse is None else [bool(x) for x in row_sparse]
        if len(sparse) != len(tensors):
            raise ValueError(f"row_sparse: {len(sparse)} values for {len(tensors)} parameters")
        own_flags = arguments.per_param(self.spec, flags, len(tensors))
        device = self.target.device(tensors, capturable=capturable)
        return self._initial_state(tensors, sparse, own_flags, self.pieces(Layout(pieces), len(tensors)), device)

    def _initial_state(
        self,
        params: Sequence[Tensor],
        sparse: Sequence[bool],
        flags: Sequence[Mapping[str, FlagValue]],
        pieces: Sequence[AnyPiece | None],
        device: Device,
    ) -> State:
        kernels = self.kernels(params, sparse, flags, pieces)
        shapes = [p.shape if piece is None else piece.shape for p, piece in zip(params, pieces, strict=True)]
        restarts = map(self.restarts_at_rows, shapes)
        by_row = [x or (y and k.native.lazy) for x, y, k in zip(restarts, sparse, kernels, strict=True)]
        return states.initial(kernels, params, by_row, self.values, device)

    def bind(
        self,
        params: Iterable[Any],
        grads: Iterable[Any] | None = None,
        state: State | None = None,
        inputs: Mapping[str, Iterable[Any]] | None = None,
        *,
        layout: Layout | None = None,
        lazy: bool = True,
        flags: Mapping[str, Iterable[Any]] | None = None,
        capturable: bool = False,
        donate_grads: bool = False,
        stream: Any = None,
        sources: Iterable[Any] | None = None,
        gradients: int = 1,
        **fields: Unpack[LayoutFields],
    ) -> BoundStep | PhasedStep:
        """Resolve all pointers once, and compile the kernels that are not compiled yet: a step in the tensors' memory.

        `params`, and what has an entry for each of them, can be any iterables. docs/kernels.md, "States and steps",
        says what tensors must be, and what changes of them a step refuses.

        grads: tensors, `RowSparse`, or lists of as many for each parameter, summed in order. Without it, each call
            reads the `.grad` of `params`, or of `sources`, and leaves out those where it is None; with `gradients`
            above 1, it is a list of so many, or None. A spec that reads no gradients needs none.
        state: as `init` makes it, which is the default; it is `step.state`.
        inputs, flags: by name, the further tensors that the spec reads, and flags that differ between parameters.
        layout: of which tensors parameters are pieces, and by which numbers draws differ; `fields` are its fields.
        lazy: rows that are in no row-sparse gradient stay as they are, if the rule is `lazy`; else their gradient is 0.
        capturable, stream: for GPUs: a graph may hold the step, and the stream that it works in (docs/cuda.md).
        donate_grads: for the CPU: the step may overwrite gradients, which are undefined after it.

        TypeError and ValueError name the tensor that cannot be bound. A spec with phases has a `PhasedStep`.
        """
        self._check_steps(capturable=capturable, donate_grads=donate_grads, stream=stream)
        with without_collections():
            objects = buffers.as_list(params, "params")
            tensors = self.tensors(objects, "params")
            device = self.target.device(tensors, capturable=capturable, stream=stream)
            own_flags = arguments.per_param(self.spec, flags, len(objects))
            if grads is None and sources is None and not self.spec.needs_gradients:
                grads = objects  # nothing reads them, and all parameters are updated
            listed = None if grads is None else buffers.as_list(grads, "grads", len(objects))
            each = gradients_per_param(listed) if listed else gradients
            found = objects if sources is None else buffers.as_list(sources, "sources", len(objects))
            own_inputs = {name: buffers.as_list(x, f"inputs[{name!r}]") for name, x in (inputs or {}).items()}
            given = GivenGradients(listed, found, each, lazy and not self.spec.phases, donate_grads)
            return self._bound(device, tensors, given, state, laid_out(layout, fields), own_flags, own_inputs)

    def _bound(
        self, device: Device, tensors: Sequence[Tensor], given: GivenGradients, state: State | None, layout: Layout,
        flags: Sequence[Mapping[str, FlagValue]], inputs: Mapping[str, list[Any]],
    ) -> BoundStep | PhasedStep:  # fmt: skip
        """A step of lists; with phases, one of each."""
        pieces = self.pieces(layout, len(tensors))
        sparse = [isinstance(g, RowSparse) for g in given.listed or [None] * len(tensors)]
        initial = self._initial_state(tensors, sparse, flags, pieces, device) if state is None else state
        by_row = [given.lazy and x for x in sparse]

        def bound(phase: Mapping[str, FlagValue]) -> BoundStep:
            own = [{**x, **phase} for x in flags]
            kernels = self.kernels(tensors, by_row, own, pieces, given.each, donated=given.donated)
            return BoundStep(
                self, device, tensors, kernels, initial, inputs, given,
                flags=own, ids=layout.ids, pieces=pieces, exchange=layout.exchange,
            )  # fmt: skip

        if not self.spec.phases:
            return bound({})
        return PhasedStep({phase: bound({PHASE: phase}) for phase in self.spec.phases})

    def _check_steps(self, *, capturable: bool, donate_grads: bool, stream: Any) -> None:
        """ValueError or TypeError for kinds of steps that the rule does not have."""
        if stream is not None and self.spec.has_stages:
            raise ValueError(
                f"{self.spec.name}: stream: its products are computed by PyTorch or CuPy, in their current stream; "
                "make this stream the current one there"
            )
        if donate_grads:
            check_donated(self.dtype, self.target.name)
        if self.spec.phases and capturable:
            raise ValueError(
                f"{self.spec.name}: a step has phases, and code of the caller between them: not capturable"
            )

    def evaluate(
        self,
        params: Iterable[Any],
        state: State,
        pieces: Iterable[AnyPiece | None] | None = None,
        *,
        flags: Mapping[str, Iterable[Any]] | None = None,
        out: Iterable[Any] | None = None,
    ) -> list[Any]:
        """New arrays with the weights to evaluate with, by the spec's `eval:` section; ValueError if it has none.

        `flags` are those that are set for each parameter, as for `bind`. `out` are arrays like the parameters, which
        are written and returned in place of new ones.
        """
        tensors = self.tensors(params, "params")
        own_flags = arguments.per_param(self.spec, flags, len(tensors))
        own_pieces = self.pieces(Layout(pieces), len(tensors))
        values = {**self.values, **arguments.check_lengths(self.spec, self.each, len(tensors))}
        own_out = None if out is None else buffers.as_list(out, "out", len(tensors))
        return evaluation.evaluate(self, tensors, state, own_flags, own_pieces, values, own_out)

    # ------------------------------------------------------------ what parameters are bound with

    def tensors(self, objects: Iterable[Any], what: str) -> list[Tensor]:
        """The memory of parameters, which must have the rule's dtype."""
        found = [self.target.param(x, f"{what}[{i}]") for i, x in enumerate(buffers.as_list(objects, what))]
        for t in found:
            buffers.check_dtype(t, self.dtype)
        return found

    def pieces(self, layout: Layout, n: int) -> list[AnyPiece | None]:
        """The piece that each of n parameters is, None for a whole tensor."""
        found: list[AnyPiece | None] = [None] * n if layout.pieces is None else list(layout.pieces)
        if len(found) != n:
            raise ValueError(f"pieces: {len(found)} for {n} parameters; there is one, or None, for each")
        if len({type(x) for x in found if x is not None}) > 1:
            raise ValueError("pieces: some are a Piece and some a Box, whose partial results are exchanged differently")
        return found
