"""One parameter: a weight with its gradient, whose shape and first values may become known later than it does."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from runtime import autograd, initializer, symbol
from runtime import ndarray as nd
from runtime.base import ArgumentError, MXNetError
from runtime.context import Context, cpu, current_context
from runtime.core.dtypes import element_type
from runtime.gluon.parameter.checks import checked_contexts, checked_shape
from runtime.initializer import InitDesc, Initializer
from runtime.ndarray import NDArray

tensor_types = (NDArray,)
"""What a block takes as an array."""

STYPES = ("default", "row_sparse")


class DeferredInitializationError(MXNetError):
    """A parameter was asked for before the first forward pass, which is when its shape becomes known."""


class _Deferred(NamedTuple):
    """What `initialize` was asked for while the shape was not known."""

    init: str | Initializer
    contexts: list[Context]
    default_init: str | Initializer


class Parameter:
    """An array to be learned: one copy, with its gradient, in each context it was initialized in.

    Parameters
    ----------
    name: full name, such as 'dense0_weight'.
    grad_req: 'write' (each backward replaces the gradient), 'add' (adds to it) or 'null' (no gradient).
    shape: lengths, with 0 (or -1) for those not known yet.
    dtype: element type.
    lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
    init: initializer; None for the one that `initialize` is called with.
    allow_deferred_init: whether `initialize` may be called before the shape is known.
    differentiable: False fixes `grad_req` to 'null'.
    stype: how the values are stored: 'default', all of them, or 'row_sparse'. The rows of a row-sparse parameter are
        read with `row_sparse_data`, through the trainer it belongs to.
    grad_stype: how the gradient is stored: 'default', or 'row_sparse', the rows alone that backward reached
        (`nd.sparse.RowSparseNDArray`).

    Whenever arrays are replaced, or get or lose their gradients, the lists `_data` and `_grad` are new objects.
    """

    _ctx_list: list[Context] | None = None
    _ctx_map: list[list[int]] | None = None
    """Where MXNet keeps the contexts, which are here those of `_data`. Subclasses written for MXNet copy them."""

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: str | Initializer | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for what, value in (("stype", stype), ("grad_stype", grad_stype)):
            if value not in STYPES:
                raise ArgumentError(f"parameter '{name}': {what} must be one of {STYPES}, not {value!r}")
        self.name = name
        self._shape = checked_shape(name, shape)
        self._dtype = element_type(dtype).type
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._stype = stype
        self._grad_stype = grad_stype
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._data: list[NDArray] | None = None
        self._grad: list[NDArray] | None = None
        self._deferred_init: _Deferred | None = None
        self._var: symbol.Symbol | None = None
        self._trainer_of: Callable[[], Any] | None = None
        self._grad_req = "null"
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={np.dtype(self.dtype).name})"

    # ------------------------------------------------------------ shape, type and gradient request

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self._shape

    @shape.setter
    def shape(self, new: Sequence[int]) -> None:
        """Fill in what was unknown; what was known cannot change."""
        new = tuple(new)
        if not self._fits(new):
            raise ArgumentError(f"parameter '{self.name}' has shape {self._shape}, which cannot become {new}")
        self._shape = new

    def _fits(self, shape: Sequence[int]) -> bool:
        """Whether `shape` says the same as what is known of the shape."""
        known = self._shape
        return known is None or (
            len(known) == len(shape) and all(m in (0, -1, n) for m, n in zip(known, shape, strict=True))
        )

    @property
    def grad_req(self) -> str:
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise ArgumentError(f"grad_req of parameter '{self.name}' must be 'write', 'add' or 'null', not {req!r}")
        req = req if self._differentiable else "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        if self._data is not None:
            self._place([data.detach() for data in self._data])

    @property
    def dtype(self) -> type:
        """The element type as a NumPy scalar type; setting it is `cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    def cast(self, dtype: Any) -> None:
        """Convert values and gradients, which become new arrays, to another element type."""
        self._dtype = element_type(dtype).type
        if self._data is None:
            return
        with autograd.pause():
            grads = self._grad
            self._place([data.astype(dtype) for data in self._data])
            for new, old in zip(self._grad or (), grads or (), strict=True):
                new[:] = old.astype(dtype)

    # ------------------------------------------------------------ first values

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: str | Initializer | None = None,
        force_reinit: bool = False,
    ) -> None:
        """Give the parameter its first values, now or, while its shape is not known, as soon as it is.

        `init` is used if given, else the parameter's own, else `default_init` (Uniform by default). `ctx` is a context
        or several, which get equal values; by default the current one. A parameter that has values keeps them, with a
        warning, unless `force_reinit`.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"parameter '{self.name}' has values already and keeps them; force_reinit=True replaces them",
                stacklevel=2,
            )
            return
        contexts = checked_contexts(ctx)
        if not (self._allow_deferred_init or self._is_shape_known()):
            raise ArgumentError(
                f"parameter '{self.name}' cannot be initialized: its shape {self.shape} is not fully known"
            )
        default_init = default_init or initializer.Uniform()
        self._data = self._grad = None
        self._deferred_init = _Deferred(init or self.init or default_init, contexts, default_init)
        if self._is_shape_known():
            self._finish_deferred_init()

    def _is_shape_known(self) -> bool:
        return bool(self._shape) and all(n > 0 for n in self._shape)

    def _finish_deferred_init(self) -> None:
        """Do what `initialize` asked for, now that the shape is known."""
        if self._deferred_init is None:
            return
        if not self._is_shape_known():
            raise DeferredInitializationError(
                f"parameter '{self.name}' has shape {self.shape}, which is not fully known yet"
            )
        init, contexts, default_init = self._deferred_init
        self._deferred_init = None
        with autograd.pause():
            data = nd.zeros(self._shape, contexts[0], self.dtype)
            initializer.create(default_init)(InitDesc(self.name, {"__init__": init}), data)
            if self._stype != "default":
                data = data.tostype(self._stype)
            self._place([data, *(data.copyto(ctx) for ctx in contexts[1:])])
        self._tell_first_values()

    def _tell_first_values(self) -> None:
        """Processes that train together start from the same ones."""
        if self._trainer is not None:
            self._trainer._has_values(self)

    def _place(self, arrays: list[NDArray]) -> None:
        """Take `arrays`, one per context, as the values."""
        self._deferred_init = None
        self._data, self._grad = arrays, None
        if self._grad_req != "null":
            self._grad = [nd.zeros(x.shape, x.context, x.dtype, stype=self._grad_stype) for x in arrays]
            autograd.mark(arrays, self._grad, self._grad_req)

    def reset_ctx(self, ctx: Context | Sequence[Context] | None) -> None:
        """Move to other contexts: each gets the mean of the values in those before; gradients are 0."""
        contexts = checked_contexts(ctx)
        if self._deferred_init is not None:
            self._deferred_init = self._deferred_init._replace(contexts=contexts)
        elif self._data is None:
            raise ArgumentError(f"parameter '{self.name}' is in no context yet: call initialize(ctx=...)")
        else:
            data = self._reduce()
            with autograd.pause():
                self._place([data.copyto(c) for c in contexts])

    # ------------------------------------------------------------ values

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array in `ctx`, itself: what is written to it is written to the parameter.

        `ctx` may be left out where there is one context, and is else the current one.
        """
        arrays = self._data
        if arrays is not None and self._stype == "default":
            data = arrays[0]
            if ctx is data._ctx or (ctx is None and len(arrays) == 1):
                return data
        self._check_stype("default", "row_sparse_data(row_id)")
        return self._in(self._data, ctx)

    def list_data(self) -> list[NDArray]:
        """The arrays in all contexts."""
        self._check_stype("default", "list_row_sparse_data(row_id)")
        return self._all(self._data)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The rows `row_id` of a row-sparse parameter, in the context of `row_id`."""
        self._check_stype("row_sparse", "data()")
        return self._pull(self._in(self._data, row_id.context), row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """The rows `row_id` of a row-sparse parameter, in all contexts."""
        self._check_stype("row_sparse", "list_data()")
        return self._pull(self._all(self._data), row_id)

    def _pull(self, arrays: Any, row_id: NDArray) -> Any:
        """Let the trainer, which has all rows, bring those of `row_id` to `arrays`."""
        if self._trainer is None:
            raise MXNetError(f"the rows of parameter '{self.name}' come from a Trainer; make one with this parameter")
        self._trainer._row_sparse_pull(self, arrays, row_id)
        return arrays

    def set_data(self, data: NDArray | np.ndarray) -> None:
        """Replace the values in all contexts: an array of the parameter's shape, converted to its type."""
        if not isinstance(data, NDArray):
            data = nd.array(data, dtype=self.dtype)
        if not self._fits(data.shape):
            raise ArgumentError(
                f"parameter '{self.name}' has shape {self.shape}, and cannot be set to values of shape {data.shape}"
            )
        if self._data is not None:
            self._tell_trainer()
            for array in self._data:
                array[:] = data
        elif self._deferred_init is not None:
            self._load(data, self._deferred_init.contexts)
        else:
            self._explain_no_data()

    def _tell_trainer(self) -> None:
        """Where the optimizer works on a copy in the kvstore, that copy has to be made again."""
        if self._trainer is not None:
            self._trainer._values_change(self)

    def _load(self, data: NDArray, contexts: list[Context] | None) -> None:
        """Take `data`, of a shape that fits, as the values; `contexts` is for a parameter that is in none."""
        self._shape = data.shape
        if self._data is not None:
            self.set_data(data)
            return
        with autograd.pause():
            data = data.astype(self.dtype)
            if data.stype != self._stype:
                data = data.tostype(self._stype)
            contexts = contexts or (self._deferred_init.contexts if self._deferred_init else [cpu()])
            self._place([data.copyto(ctx) for ctx in contexts])
        self._tell_first_values()

    def _reduce(self) -> NDArray:
        """The values as one array on the CPU: the mean over contexts; of a row-sparse parameter all rows."""
        if self._stype == "default":
            arrays = [data.copyto(cpu()) for data in self.list_data()]
            return arrays[0] if len(arrays) == 1 else nd.add_n(*arrays) / len(arrays)
        rows = nd.sparse.zeros(self._stype, self.shape, cpu(), self.dtype)
        if self._trainer is None:
            self._explain_no_data() if self._data is None else self._data[0].copyto(rows)
        else:
            self._trainer._row_sparse_pull(self, rows, nd.arange(self.shape[0], dtype="int64"), full_idx=True)
        return rows

    # ------------------------------------------------------------ gradients

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient, in `ctx`, of the last backward pass (of all since `zero_grad`, with grad_req 'add').

        MXNetError if there is none, or if a step has used its memory since (`Trainer(..., donate_grads=True)`).
        """
        return self._in(self._exposed_grads(), ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradients in all contexts; MXNetError as `grad`."""
        return self._all(self._exposed_grads())

    def _exposed_grads(self) -> list[NDArray] | None:
        """The gradients, noted as known to the caller, who may write to them from now on."""
        if self._data is None:
            return None
        return [data._node.expose() for data in self._data] if self._grad is not None else self._explain_no_grad()

    def zero_grad(self) -> None:
        """Set the gradients to 0; nothing if there are none."""
        for data in self._data if self._grad is not None else ():
            data._node.used_up = False
            data._node.expose()[:] = 0

    # ------------------------------------------------------------ contexts

    def list_ctx(self) -> list[Context]:
        """The contexts the parameter was initialized in."""
        if self._data is None and self._deferred_init is not None:
            return self._deferred_init.contexts
        return [data.context for data in self._all(self._data)]

    def _all(self, arrays: list[NDArray] | None) -> list[NDArray]:
        return arrays if arrays is not None else self._explain_no_data()

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Context | type[list] | None) -> Any:
        """The one of `arrays` that is in `ctx`; all of them for `list`. Subclasses written for MXNet call it."""
        return self._all(arrays) if ctx is list else self._in(arrays, ctx)

    def _in(self, arrays: list[NDArray] | None, ctx: Context | None) -> NDArray:
        """The one of `arrays` that is in `ctx`; all kinds of CPU memory are one."""
        arrays = self._all(arrays)
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        for array in arrays:
            if array._ctx == ctx:
                return array
        for array in arrays:
            if array._ctx.device_id == ctx.device_id and array._ctx.on_cpu and ctx.on_cpu:
                return array
        raise MXNetError(
            f"parameter '{self.name}' lives in {', '.join(str(x.context) for x in arrays)}, not in {ctx}: initialize "
            "it there, or bring the inputs to it with as_in_context()"
        )

    # ------------------------------------------------------------ the trainer

    @property
    def _trainer(self) -> Any:
        """The trainer that updates the parameter; None if there is none, or no longer."""
        return self._trainer_of and self._trainer_of()

    @_trainer.setter
    def _trainer(self, trainer: Any) -> None:
        self._set_trainer(trainer)

    def _set_trainer(self, trainer: Any) -> None:
        """Note the trainer, or None. A row-sparse parameter, whose rows are in the trainer's store, keeps it for ever;
        of others it is not held, so that both go when the last user of either does."""
        if self._stype == "default":
            self._trainer_of = None if trainer is None else weakref.ref(trainer)
            return
        if self._trainer and trainer and self._trainer is not trainer:
            raise MXNetError(f"row-sparse parameter '{self.name}' belongs to another Trainer already")
        self._trainer_of = lambda: trainer

    def var(self) -> symbol.Symbol:
        """The variable of graphs that stands for this parameter, always the same."""
        if self._var is None:
            self._var = symbol.var(
                self.name,
                shape=self._shape and tuple(max(n, 0) for n in self._shape),
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                dtype=self.dtype,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    # ------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        """For copy.deepcopy and pickle: without the trainer, and gradients apart from what they are of."""
        data = self._data and [x.detach() for x in self._data]
        return {**self.__dict__, "_var": None, "_trainer_of": None, "_data": data}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._grad is not None:
            autograd.mark(self._data, self._grad, self._grad_req)

    # ------------------------------------------------------------ errors

    def _check_stype(self, stype: str, instead: str) -> None:
        if self._stype != stype:
            raise MXNetError(f"parameter '{self.name}' is stored as '{self._stype}': use {instead}")

    def _explain_no_data(self) -> NoReturn:
        if self._deferred_init is not None:
            raise DeferredInitializationError(
                f"parameter '{self.name}' has shape {self.shape}, which is not fully known before the first forward "
                "pass: run a batch through the network, or give the layer its input size (in_units, in_channels)"
            )
        raise MXNetError(
            f"parameter '{self.name}' has no values yet: call initialize() on it, or on the block it belongs to"
        )

    def _explain_no_grad(self) -> NoReturn:
        raise MXNetError(f"parameter '{self.name}' has no gradient: its grad_req is 'null'")
