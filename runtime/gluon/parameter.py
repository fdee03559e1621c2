"""Parameters: weights with their gradients, whose shape and first values may become known later than they do."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Sequence, ValuesView
from typing import Any

import numpy as np

from runtime import autograd, initializer
from runtime import ndarray as nd
from runtime.base import MXNetError
from runtime.context import Context, current_context
from runtime.dtypes import element_type
from runtime.initializer import InitDesc, Initializer
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import STYPES


class DeferredInitializationError(MXNetError):
    """A parameter was asked for before the first forward pass, which is when its shape becomes known."""


class Parameter:
    """An array to be learned, in one context.

    Parameters
    ----------
    name: full name, such as 'dense0_weight'.
    grad_req: 'write' (each backward replaces the gradient), 'add' (adds to it) or 'null' (no gradient).
    shape: lengths, with 0 for those not known yet.
    dtype: element type.
    lr_mult, wd_mult: factors on the optimizer's learning rate and weight decay.
    init: initializer; None for the one that `initialize` is called with.
    allow_deferred_init: whether `initialize` may be called before the shape is known.
    differentiable: False fixes `grad_req` to 'null'.
    stype: how the values are stored: 'default', all of them. Row-sparse weights are not provided.
    grad_stype: how the gradient is stored: 'default', or 'row_sparse', the rows alone that backward reached
        (`nd.sparse.RowSparseNDArray`).
    """

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
        if stype != "default":
            raise ValueError(f"parameter '{name}': values are stored as 'default', not {stype!r}; see grad_stype")
        if grad_stype not in STYPES:
            raise ValueError(f"parameter '{name}': grad_stype must be one of {STYPES}, not {grad_stype!r}")
        self.name = name
        self._dtype = element_type(dtype).type
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self.grad_stype = grad_stype
        self._allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._data: NDArray | None = None
        self._deferred: tuple[Any, Context, Any] | None = None  # init, ctx, default_init: what initialize() was asked
        self.grad_req = grad_req

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={np.dtype(self.dtype).name})"

    # ------------------------------------------------------------ shape, type and gradient request

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self._shape

    @shape.setter
    def shape(self, new: Sequence[int]) -> None:
        """Fill in what was unknown; what was known cannot change."""
        old, new = self._shape, tuple(new)
        if old is not None and (
            len(old) != len(new) or any(m not in (0, -1, n) for m, n in zip(old, new, strict=True))
        ):
            raise MXNetError(f"parameter '{self.name}' has shape {old}, which cannot become {new}")
        self._shape = new

    @property
    def grad_req(self) -> str:
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in ("write", "add", "null"):
            raise ValueError(f"grad_req of parameter '{self.name}' must be 'write', 'add' or 'null', not {req!r}")
        req = req if self._differentiable else "null"
        changed = req != getattr(self, "_grad_req", req)
        self._grad_req = req
        if changed and self._data is not None:
            self._data.attach_grad(req, self.grad_stype)

    @property
    def dtype(self) -> type:
        """The element type as a NumPy scalar type; setting it is `cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    def cast(self, dtype: Any) -> None:
        """Convert values and gradient, which become new arrays, to another element type."""
        self._dtype = element_type(dtype).type
        if self._data is None:
            return
        with autograd.pause():
            grad = self._data.grad
            self._place(self._data.astype(dtype))
            if grad is not None:
                self.grad()[:] = grad

    # ------------------------------------------------------------ first values

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: Context | Sequence[Context] | None = None,
        default_init: str | Initializer | None = None,
        force_reinit: bool = False,
    ) -> None:
        """Give the parameter its first values, now or, while its shape is not known, as soon as it is.

        `init` is used if given, else the parameter's own, else `default_init` (Uniform by default). A parameter that
        has values keeps them unless `force_reinit`.
        """
        if self._data is not None and not force_reinit:
            return
        self._deferred = (self.init if init is None else init, _one_context(ctx), default_init or initializer.Uniform())
        self._data = None
        if self._is_shape_known():
            self._finish_deferred_init()
        elif not self._allow_deferred_init:
            self._deferred = None
            raise ValueError(
                f"parameter '{self.name}' cannot be initialized: its shape {self.shape} is not fully known"
            )

    def _is_shape_known(self) -> bool:
        return self._shape is not None and all(n > 0 for n in self._shape)

    def _finish_deferred_init(self) -> None:
        """Do what `initialize` asked for, now that the shape is known."""
        if self._deferred is None:
            return
        if not self._is_shape_known():
            raise DeferredInitializationError(
                f"parameter '{self.name}' has shape {self.shape}, which is not fully known yet"
            )
        init, ctx, default_init = self._deferred
        self._deferred = None
        with autograd.pause():
            data = nd.zeros(self._shape, ctx, self.dtype)
            initializer.create(default_init)(InitDesc(self.name, {"__init__": init}), data)
        self._place(data)

    def _place(self, data: NDArray) -> None:
        self._data = data
        if self.grad_req != "null":
            data.attach_grad(self.grad_req, self.grad_stype)

    # ------------------------------------------------------------ values and gradients

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array itself: what is written to it is written to the parameter."""
        if self._data is None:
            self._explain_no_data()
        if ctx is not None and ctx != self._data.context:
            raise MXNetError(f"parameter '{self.name}' lives in {self._data.context}, not in {ctx}")
        return self._data

    def _explain_no_data(self) -> None:
        if self._deferred is not None:
            raise DeferredInitializationError(
                f"parameter '{self.name}' has shape {self.shape}, which is not fully known before the first forward "
                "pass: run a batch through the network, or give the layer its input size (in_units)"
            )
        raise MXNetError(
            f"parameter '{self.name}' has no values yet: call initialize() on it, or on the block it belongs to"
        )

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient of the last backward pass (of all since `zero_grad`, with grad_req 'add')."""
        grad = self.data(ctx).grad
        if grad is None:
            raise MXNetError(f"parameter '{self.name}' has no gradient: its grad_req is 'null'")
        return grad

    def list_data(self) -> list[NDArray]:
        return [self.data()]

    def list_grad(self) -> list[NDArray]:
        return [self.grad()]

    def list_ctx(self) -> list[Context]:
        if self._data is None and self._deferred is not None:
            return [self._deferred[1]]
        return [self.data().context]

    def set_data(self, data: NDArray | np.ndarray) -> None:
        """Replace the values: an array of the parameter's shape, converted to its type."""
        try:
            self.shape = data.shape
        except MXNetError:
            raise MXNetError(
                f"parameter '{self.name}' has shape {self.shape}, and cannot be set to values of shape {data.shape}"
            ) from None
        if self._data is None:
            ctx = self._deferred[1] if self._deferred else current_context()
            self._deferred = None
            self._place(nd.array(data, ctx, self.dtype))
        else:
            with autograd.pause(autograd.is_training()):
                self._data[:] = nd.array(data, self._data.context, self.dtype)

    def zero_grad(self) -> None:
        """Set the gradient to 0; nothing if there is none."""
        if self._data is not None and self.grad_req != "null":
            self.grad()[:] = 0


def _one_context(ctx: Context | Sequence[Context] | None) -> Context:
    if ctx is None:
        return current_context()
    contexts = [ctx] if isinstance(ctx, Context) else list(ctx)
    if len(contexts) != 1:
        raise ValueError(f"parameters live in one context, not in {len(contexts)}: {contexts}")
    return contexts[0]


class ParameterDict:
    """Parameters by full name, in order of creation; `get` makes what is not there, under `prefix`.

    `shared` is another dict whose parameters are used where it has them.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._shared = shared
        self._params: dict[str, Parameter] = {}

    @property
    def prefix(self) -> str:
        return self._prefix

    def __getitem__(self, name: str) -> Parameter:
        return self._params[name]

    def __contains__(self, name: str) -> bool:
        return name in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        return self._params.items()

    def __repr__(self) -> str:
        return "\n".join([f"{self._prefix}(", *(f"  {p}" for p in self.values()), ")"])

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter called prefix + `name`: made with `kwargs`, or, if there is one, checked against them."""
        full = self._prefix + name
        param = self._params.get(full)
        if param is None and self._shared is not None and full in self._shared:
            param = self._shared[full]
        if param is None:
            param = Parameter(full, **kwargs)
        else:
            _check_same(param, kwargs)
        self._params[full] = param
        return param

    def update(self, other: ParameterDict) -> None:
        """Take in all parameters of `other`; ValueError where a name stands for two different ones."""
        for name, param in other.items():
            if self._params.setdefault(name, param) is not param:
                raise ValueError(f"two different parameters are called '{name}'")

    def initialize(
        self,
        init: str | Initializer | None = None,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """`Parameter.initialize` for all; `init` (Uniform by default) is for those without an initializer."""
        default = initializer.create(init or initializer.Uniform())
        for param in self.values():
            if verbose:
                print(f"initializing {param.name} with {param.init or default}")
            param.initialize(None, ctx, default, force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for param in self.values():
            param.zero_grad()

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute, such as `grad_req` or `lr_mult`, of all."""
        for param in self.values():
            setattr(param, name, value)


def _check_same(param: Parameter, wanted: dict[str, Any]) -> None:
    """A parameter that two blocks share must be what both asked for; unknown lengths of its shape are filled in."""
    for key, value in wanted.items():
        if value is None or key in ("init", "allow_deferred_init"):
            continue
        if key == "shape" and param.shape is not None:
            shape = (value,) if isinstance(value, int) else tuple(value)
            if len(shape) != len(param.shape):
                raise MXNetError(f"parameter '{param.name}' has shape {param.shape}, which cannot become {shape}")
            param.shape = tuple(n or m for m, n in zip(param.shape, shape, strict=True))
        elif key == "dtype" and element_type(value) != param.dtype:
            raise MXNetError(
                f"parameter '{param.name}' has type {np.dtype(param.dtype)}, but is shared as {element_type(value)}"
            )
        elif key == "grad_stype" and value != param.grad_stype:
            raise MXNetError(
                f"parameter '{param.name}' has grad_stype '{param.grad_stype}', but is shared as '{value}'"
            )
