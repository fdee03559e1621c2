"""What all optimizers share: the learning rate and weight decay of each parameter, and the counting of updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime.lr_scheduler import LRScheduler

if TYPE_CHECKING:
    from runtime.gluon.parameter import Parameter
    from runtime.nd import NDArray


class Optimizer:
    """The base class. A subclass written by hand defines `create_state(index, weight)` and `update(index, weight,
    grad, state)`.

    Parameters are known by an index. The rate of one is `learning_rate` (or what `lr_scheduler` says) times its
    `lr_mult`; `wd` likewise.

    Parameters
    ----------
    rescale_grad: factor on every gradient; Trainer sets it to 1/batch_size.
    param_idx2name: names by index; then `wd` does not apply to parameters whose name ends in neither `_weight` nor
        `_gamma`.
    wd: weight decay (L2).
    clip_gradient: bound on the absolute value of each element of the rescaled gradient; None for none.
    learning_rate: 0.01 if None and there is no scheduler; with a scheduler, it becomes the scheduler's `base_lr`.
    lr_scheduler: a function of the largest number of updates that any parameter has had.
    begin_num_update: where that count starts.
    param_dict: `gluon.Parameter`s by index, whose `lr_mult` and `wd_mult` are used.
    """

    aggregate_num = 0
    """How many parameters one call of `update` takes, as lists; 0: one parameter, not in a list."""

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        begin_num_update: int = 0,
        param_dict: Mapping[int, Parameter] | None = None,
    ) -> None:
        self.rescale_grad = rescale_grad
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.lr = 0.01 if learning_rate is None else learning_rate
        self.lr_scheduler = lr_scheduler
        if isinstance(lr_scheduler, LRScheduler) and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate
        self.begin_num_update = self.num_update = begin_num_update
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = dict(param_dict or {})
        self._index_update_count: dict[int, int] = {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    # ------------------------------------------------------------ for subclasses to define

    def create_state(self, index: int, weight: NDArray) -> Any:
        """What is kept between the updates of this parameter; None for nothing."""
        return None

    def update(self, index: int, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Change `weight` and `state` in place. Count with `_update_count(index)`; rates are `_get_lr`, `_get_wd`."""
        raise NotImplementedError(f"{type(self).__name__} must define update(index, weight, grad, state)")

    # ------------------------------------------------------------ rates

    @property
    def learning_rate(self) -> float:
        """The rate now, before multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate; UserWarning is raised where a scheduler decides it."""
        if self.lr_scheduler is not None:
            raise UserWarning(
                "this optimizer's lr_scheduler decides the learning rate; set_learning_rate works without one only"
            )
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Factors on the learning rate, by index or name."""
        self.lr_mult = dict(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Factors on the weight decay, by index or name. With `param_idx2name`, biases and betas have 0 by default."""
        exempt = {name: 0.0 for name in self.idx2name.values() if not name.endswith(("_weight", "_gamma"))}
        self.wd_mult = exempt | dict(args_wd_mult)

    def _update_count(self, index: int | Sequence[int]) -> None:
        """Count one more update of `index`, or of each of several."""
        counts = self._index_update_count
        for i in [index] if isinstance(index, int) else index:
            counts[i] = count = counts.get(i, self.begin_num_update) + 1
            if count > self.num_update:
                self.num_update = count

    def _get_lrs(self, indices: Sequence[int]) -> list[float]:
        lr = self.learning_rate
        return [lr * self._multiplier(i, "lr_mult") for i in indices]

    def _get_wds(self, indices: Sequence[int]) -> list[float]:
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_lr(self, index: int) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index: int) -> float:
        return self._get_wds([index])[0]

    def _multiplier(self, index: int, which: str) -> float:
        """`lr_mult` or `wd_mult`: the parameter's own, else what was set for its index, else for its name."""
        if index in self.param_dict:
            return getattr(self.param_dict[index], which)
        table = getattr(self, which)
        return table[index] if index in table else table.get(self.idx2name.get(index), 1.0)
