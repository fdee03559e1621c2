"""The trainer: an optimizer applied to a network's parameters, in one context or in several."""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from runtime import autograd
from runtime import optimizer as opt
from runtime.base import ArgumentError, MXNetError
from runtime.core import files
from runtime.gluon import store_choice, trainer_params
from runtime.gluon.parameter import Parameter, ParameterDict
from runtime.gluon.step_arguments import begin_phase, give_loss, needs_closure
from runtime.kvstore import KVStore, KVStoreBase
from runtime.kvstore.base import averages_weights
from runtime.ndarray.ndarray import NDArray
from runtime.optimizer import states

_ARRAYS = operator.attrgetter("_data")
_EVALUATING = "inside trainer.evaluating() the weights are not those that are trained; step outside"


class _Copy(NamedTuple):
    """The trainable parameters in one context."""

    indices: list[int]
    weights: list[NDArray]
    variables: list[autograd.Variable]


class Trainer:
    """Updates parameters from their gradients: `step(batch_size)` after each `backward`.

    With parameters in several contexts, gradients are summed over these first, and either the kvstore updates the
    weights once and hands them out, or each context updates its own; so it is with row-sparse weights in one context,
    which live in the kvstore. Else one context needs no kvstore.

    Over a distributed kvstore ('dist_sync', 'dist_async') all processes start from the values of rank 0: parameters get
    them when the Trainer is made or, where their shape is not known then, before they are first used. `batch_size` is
    that of all processes together.

    Parameters
    ----------
    params: what `collect_params` gives, or a sequence of Parameters, all initialized in the same contexts.
    optimizer: a name, such as 'adam', or an Optimizer.
    optimizer_params: the optimizer's arguments, where a name is given.
    kvstore: what sums gradients: 'device', 'local', another type that `kvstore.create` knows, a kvstore, or None.
    compression_params: for the kvstore's `set_gradient_compression`.
    update_on_kvstore: whether the kvstore updates the weights. None: yes where it can, unless the environment variable
        MXNET_UPDATE_ON_KVSTORE is 0, gradients are row-sparse, or a 'local' one has a parameter of more than 16M
        elements.
    donate_grads: whether steps may use the memory of gradients, to keep what they would otherwise compute twice. The
        values of gradients then mean nothing from a step to the next backward pass, and `grad()` is an error. For
        optimizers made of a spec, on the CPU, where no kvstore is needed.
    groups: settings of parameters by patterns over their names, pairs as `("*_bias", {"lr": 0.01})`. `lr` and `wd`
        become the parameter's `lr_mult` and `wd_mult`. A setting may be a function of the pattern's numbers, `name` and
        `shape`: `("block{i}_*", {"lr": lambda i: 0.01*0.8**i})`. Of several that fit, the last counts.
    no_decay: a pattern of the parameters whose `wd_mult` is 0; '1d' stands for those of at most one dimension.
    skip_nonfinite: whether steps with a gradient that is infinite or NaN are left out, as `skipped` counts; not for
        optimizers whose steps have phases.
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | opt.Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: str | KVStoreBase | None = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
        donate_grads: bool = False,
        groups: Iterable[tuple[str, Mapping[str, Any]]] | None = None,
        no_decay: str | None = None,
        skip_nonfinite: bool = False,
    ) -> None:
        self._params = trainer_params.checked(params)
        self._param2idx = {param.name: i for i, param in enumerate(self._params)}
        self._contexts = trainer_params.common_contexts(self._params)
        store_choice.check(kvstore)
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._compression_params = compression_params
        self._evaluating, self._donates, self._skips, self.skipped = False, donate_grads, skip_nonfinite, 0
        self._copies: list[_Copy] = []  # of each context
        self._gathered: list[Any] = []  # of each parameter, the list of arrays that are in the copies
        self._kvstore: KVStoreBase | None = None
        self._reset_kvstore()
        self._init_optimizer(optimizer, optimizer_params)
        if groups is not None or no_decay is not None:
            from runtime.gluon import trainer_groups  # which few need

            trainer_groups.apply(self._params, self._optimizer, groups, no_decay)
        for param in self._params:
            param._set_trainer(self)
        if "dist" in (kvstore if isinstance(kvstore, str) else "" if kvstore is None else kvstore.type):
            self._init_params()

    _amp_loss_scaler: trainer_params.LossScaler | None = None
    """What scales losses, under mixed precision: a step whose gradients overflow is left out (`contrib.amp`)."""

    _amp_original_scale = 1.0
    """`_scale` without the factor of the loss."""

    def _init_optimizer(self, optimizer: str | opt.Optimizer, optimizer_params: Mapping[str, Any] | None) -> None:
        """Take an optimizer, or another one, which begins without states."""
        if not isinstance(optimizer, opt.Optimizer):
            optimizer = opt.create(optimizer, **(optimizer_params or {}))
        elif optimizer_params:
            raise ArgumentError(
                "optimizer_params are for an optimizer given by name; an Optimizer has its arguments already"
            )
        trainer_params.warn_of_another_trainer(optimizer)
        optimizer.param_dict = dict(enumerate(self._params))
        self._optimizer = optimizer
        if self._skips and optimizer.phases:
            raise ArgumentError(
                f"skip_nonfinite=True, but a step of {type(optimizer).__name__} has phases "
                f"({', '.join(optimizer.phases)}), and those before a gradient that is not finite have changed "
                "weights; leave it out"
            )
        if self._donates:
            trainer_params.check_donated(self._params, optimizer)
        self._updaters = [opt.Updater(optimizer, donate_grads=self._donates) for _ in self._contexts]
        self._scale = optimizer.rescale_grad
        if self._update_on_kvstore:
            self._kvstore.set_optimizer(optimizer)

    @property
    def optimizer(self) -> opt.Optimizer:
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The optimizer's learning rate now."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the optimizer's learning rate; UserWarning is raised where it has a scheduler."""
        self._optimizer.set_learning_rate(lr)

    def plan(self) -> Any:
        """How steps update each parameter, and what its states are; `print` shows it as a table. TypeError for an
        optimizer that is not made of a spec."""
        from runtime.gluon import trainer_plan  # which training does not need

        return trainer_plan.plan(self._params, self._optimizer)

    # ------------------------------------------------------------ steps

    def step(
        self,
        batch_size: int,
        ignore_stale_grad: bool = False,
        *,
        phase: str | None = None,
        closure: Callable[[], Any] | None = None,
        loss: Any = None,
    ) -> Any:
        """One update, with gradients divided by `batch_size`: `allreduce_grads` and `update` in one.

        `closure` computes the loss and its gradients, and returns the loss: it is called before the update, and its
        result returned. An optimizer whose steps have phases, such as 'adam with sam', has it called before each phase,
        and the first loss is returned; one that reads no gradients needs no backward pass. Without a closure, `phase`
        names the one that is computed: a step is then several calls, each after a backward pass. Phases come in their
        order; MXNetError names the one that is due.

        `loss` is for optimizers that read it, as `alig` does: a number, an array, or a list of them (those of several
        contexts, or processes). Their sum is divided by `batch_size`, as gradients are. With a closure, it is what that
        returns.

        A gradient that no backward pass has written since the last step is an error (UserWarning is raised, and nothing
        changes) or, with `ignore_stale_grad`, leaves its parameter as it is. Where the kvstore updates the weights,
        these are, as in MXNet, gradients that were never written, and `ignore_stale_grad` takes them as they are.
        """
        if closure is None:
            if self._optimizer.given:
                give_loss(self._optimizer, loss, batch_size)
            self._step(batch_size, ignore_stale_grad, phase)
            return None
        losses: list[Any] = []
        for part in self._optimizer.phases or (phase,):
            if needs_closure(self._optimizer, part):
                losses.append(closure())
                give_loss(self._optimizer, losses[-1] if loss is None else loss, batch_size)
            self._step(batch_size, ignore_stale_grad, part)
        return losses[0]

    def _step(self, batch_size: int, ignore_stale_grad: bool, phase: str | None) -> None:
        """One update, or one phase of it."""
        if self._outer is not None:
            self._step_of_worker(batch_size, ignore_stale_grad)
            return
        if phase is not None or self._optimizer.phases:
            begin_phase(self._optimizer, phase)
        self._rescale(batch_size)
        self._prepare(ignore_stale_grad)
        if self._update_on_kvstore and self._overflows():
            return
        if self._kvstore is not None:
            self._allreduce()
        if not self._update_on_kvstore:
            self._update(ignore_stale_grad)

    def _step_of_worker(self, batch_size: int, ignore_stale_grad: bool) -> None:
        """One update by this worker alone, and the outer step if it is due."""
        self._rescale(batch_size)
        self._prepare(ignore_stale_grad)
        self._outer.step(lambda: self._update(ignore_stale_grad=False), self._learned()[0])

    def allreduce_grads(self) -> None:
        """Sum the gradients over all contexts, and write the sum to each: for when gradients are changed before
        `update`. In one context there is nothing to do.
        """
        self._prepare(ignore_stale_grad=True)
        self._refuse_on_kvstore("allreduce_grads")
        if self._kvstore is not None:
            self._allreduce()

    def update(self, batch_size: int, ignore_stale_grad: bool = False, *, phase: str | None = None) -> None:
        """The update alone, after `allreduce_grads`; `phase` is as for `step`."""
        if phase is not None or self._optimizer.phases:
            begin_phase(self._optimizer, phase)
        self._rescale(batch_size)
        self._prepare(ignore_stale_grad)
        self._refuse_on_kvstore("update")
        self._update(ignore_stale_grad)

    def _rescale(self, batch_size: int) -> None:
        if self._evaluating:
            raise MXNetError(_EVALUATING)
        try:
            scale = self._scale / batch_size
        except (TypeError, ZeroDivisionError):
            raise ArgumentError(f"batch_size is the number of samples in the batch, not {batch_size!r}") from None
        if scale != self._optimizer.rescale_grad:
            self._optimizer.rescale_grad = scale

    def _prepare(self, ignore_stale_grad: bool) -> None:
        """Have the store, the parameters in it, and the arrays of all contexts; look for stale gradients."""
        if self._params_to_init:
            self._init_params()
        if not self._gathered or not all(map(operator.is_, map(_ARRAYS, self._params), self._gathered)):
            self._gather()
        if not ignore_stale_grad and self._optimizer.needs_gradients:
            for context, copy in zip(self._contexts, self._copies, strict=True):
                fresh = [v.fresh for v in copy.variables]
                if not all(fresh):
                    trainer_params.refuse_stale(self._params[copy.indices[fresh.index(False)]], context)

    def _gather(self) -> None:
        """Find what learns: the parameters with a gradient, in each context; MXNetError for one without values."""
        learning = self._learning()
        if self._donates:
            trainer_params.check_donated(list(learning.values()), self._optimizer, self._kvstore)
        arrays = {i: param._all(param._data) for i, param in learning.items()}
        self._copies = [
            _Copy(list(arrays), [a[k] for a in arrays.values()], [a[k]._node for a in arrays.values()])
            for k in range(len(self._contexts))
        ]
        self._gathered = list(map(_ARRAYS, self._params))
        if isinstance(self._kvstore, KVStore) and len(self._contexts) == 1 and self._outer is None:
            for i, param in learning.items():
                if param._stype == param._grad_stype == "default":
                    param._data[0]._node.ready = self._kvstore.bind_gradient_buffer(i, param._grad[0])

    def _learning(self) -> dict[int, Parameter]:
        return {i: param for i, param in enumerate(self._params) if param.grad_req != "null"}

    def _update(self, ignore_stale_grad: bool) -> None:
        """Each context updates its weights; some gradients may be stale only where that is to be ignored."""
        if self._overflows():
            return
        if self._distributed and isinstance(self._kvstore, KVStore):
            self._kvstore.share_seed(self._optimizer)
        for updater, (indices, weights, variables) in zip(self._updaters, self._copies, strict=True):
            grads = [v.grad for v in variables]
            if ignore_stale_grad:
                fresh = [v.fresh for v in variables]
                indices, weights, grads = (list(itertools.compress(x, fresh)) for x in (indices, weights, grads))
            updater(indices, grads, weights)
            for variable in variables:
                variable.used_up |= self._donates and variable.fresh
                variable.fresh = False

    def _overflows(self) -> bool:
        """Whether a gradient is not finite, and steps with such ones are left out, as those with a loss scaler are."""
        if self._amp_loss_scaler is None and not self._skips:
            return False
        if self._update_on_kvstore and self._distributed:
            raise MXNetError(
                f"{'skip_nonfinite' if self._skips else 'amp'}: where the kvstore updates the weights, the processes "
                "cannot agree on leaving out a step; make the trainer with update_on_kvstore=False"
            )
        scaler = self._amp_loss_scaler
        found = trainer_params.has_nonfinite(self._params) if scaler is None else scaler.has_overflow(self._params)
        self.skipped += found
        return found

    # ------------------------------------------------------------ the kvstore

    def _reset_kvstore(self) -> None:
        """Go on without a store until the next step makes one of the parameters as they then are."""
        self._kvstore: KVStoreBase | None = None
        self._outer: Any = None  # OuterSteps of workers that train for themselves
        self._update_on_kvstore: bool | None = None
        self._distributed: bool | None = None
        self._kv_initialized = False
        self._params_to_init = list(self._params)
        self._in_store: set[int] = set()

    def _init_kvstore(self) -> None:
        """Choose the store, and give it the optimizer if it is to update the weights."""
        kvstore, on_store = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        averages = averages_weights(self._optimizer, getattr(kvstore, "type", kvstore))
        if averages:
            from runtime.gluon import workers  # which few optimizers need

            workers.check(self._optimizer, kvstore, on_store, len(self._contexts), self._compression_params)
            on_store = False
        store, on_store = store_choice.choose(kvstore, on_store, self._params, len(self._contexts))
        self._outer = workers.OuterSteps(self._optimizer, store) if averages else None
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(self._optimizer)
        self._kvstore, self._update_on_kvstore = store, on_store
        self._distributed = store is not None and "dist" in store.type
        self._kv_initialized = True

    def _values_change(self, param: Parameter) -> None:
        """What a parameter calls when its values are about to be replaced: those in the store have to be, too.

        A store that was made here, of this process, is made anew. In any other the values are assigned before the next
        step. In both, the states of the optimizer begin anew.
        """
        if not (self._kv_initialized and self._update_on_kvstore) or any(param is p for p in self._params_to_init):
            return
        made_here = isinstance(self._kvstore_params["kvstore"], str)
        if isinstance(self._kvstore, KVStore) and (self._distributed or not made_here):
            self._params_to_init.append(param)
        elif not self._distributed:
            self._reset_kvstore()
        else:
            raise MXNetError(
                f"a '{self._kvstore.type}' kvstore cannot take other values: load and set parameters before the "
                "Trainer is made"
            )

    def _has_values(self, param: Parameter) -> None:
        """What a parameter calls when it gets its first values: all processes start from those of rank 0."""
        if self._distributed and any(param is waiting for waiting in self._params_to_init):
            self._init_params()

    def _init_params(self) -> None:
        """Bring the parameters that have values to the store; the others wait for their first values."""
        if not self._kv_initialized:
            self._init_kvstore()
        waiting = []
        for param in self._params_to_init if self._kvstore is not None else ():
            if param._deferred_init is not None:
                waiting.append(param)
                continue
            index, arrays = self._param2idx[param.name], param._all(param._data)
            if index in self._in_store:
                self._kvstore.assign(index, arrays[0])
                if param._stype == "default":
                    self._kvstore.pull(index, arrays)
            elif param._stype == "default":
                self._kvstore.broadcast(index, arrays[0], arrays)
            else:
                self._kvstore.init(index, arrays[0])
            self._in_store.add(index)
        self._params_to_init = waiting

    def _refuse_on_kvstore(self, method: str) -> None:
        if self._outer is not None:
            raise ArgumentError(f"{method}() is not possible where workers average weights: call step()")
        if self._update_on_kvstore:
            raise ArgumentError(
                f"{method}() is not possible where the kvstore updates the weights: call step(), or make the Trainer "
                "with update_on_kvstore=False"
            )

    def _allreduce(self) -> None:
        """Push gradients, and pull what they became: weights if the store updates them, else sums.

        A store of this package takes all keys in one call, others take them one by one.
        """
        learning = self._learning()
        grads = {i: param._grad for i, param in learning.items()}
        wanted = {i: p._data for i, p in learning.items()} if self._update_on_kvstore else grads
        if not isinstance(self._kvstore, KVStore):
            for i, arrays in grads.items():
                self._kvstore.pushpull(i, arrays, out=wanted[i], priority=-i)
            return
        dense = [i for i, param in learning.items() if param._stype == param._grad_stype == "default"]
        if len(dense) == len(grads):
            self._kvstore.pushpull(dense, list(grads.values()), out=list(wanted.values()))
            return
        self._kvstore.push(list(grads), list(grads.values()))
        pulled = [i for i, param in learning.items() if param._stype == "default"]
        self._kvstore.pull(pulled, [wanted[i] for i in pulled], ignore_sparse=self._distributed)

    def pull(self) -> None:
        """Bring the newest weights that learn from the kvstore to their parameters.

        With 'dist_async' other workers go on changing them after this one's last step. Where weights are updated in
        this process, they are here already. So are those of 'dist_sync', where all ranks call this, or none.
        Row-sparse weights stay in the kvstore.
        """
        if self._evaluating:
            raise MXNetError(_EVALUATING)
        if self._params_to_init:
            self._init_params()
        if not self._update_on_kvstore:
            return
        if not isinstance(self._kvstore, KVStore):
            raise MXNetError(f"a '{self._kvstore.type}' kvstore cannot be asked for weights without a step")
        learning = self._learning()
        wanted = {i: p._data for i, p in learning.items() if p._stype == "default" and i in self._in_store}
        if wanted:
            self._kvstore.pull(list(wanted), list(wanted.values()))

    def _row_sparse_pull(self, parameter: Parameter, out: Any, row_id: NDArray, full_idx: bool = False) -> None:
        """Write rows of a row-sparse parameter to `out`, an array or a list of them; `full_idx`: `row_id` is all."""
        if self._params_to_init:
            self._init_params()
        index = self._param2idx[parameter.name]
        if full_idx and not self._distributed:
            self._kvstore.pull(index, out=out, priority=-index, ignore_sparse=False)
        else:
            self._kvstore.row_sparse_pull(index, out=out, row_ids=row_id, priority=-index)

    # ------------------------------------------------------------ evaluation

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """`with trainer.evaluating():` the parameters hold the weights that the optimizer evaluates with.

        Those of a spec's `eval:` section, such as the averages of schedule-free optimizers; where there is none, and
        before the first update, the weights as they are. The weights in training come back at the end, bit by bit.
        """
        if self._evaluating:
            raise MXNetError("trainer.evaluating() is already entered")
        replaced = [(w, new) for w, new in self._evaluated() if new is not w]
        self._evaluating = True
        try:
            with trainer_params.holding(replaced):
                yield
        finally:
            self._evaluating = False

    def _evaluated(self) -> Iterator[tuple[NDArray, NDArray]]:
        """All weights, and what to evaluate with."""
        of_contexts = self._learned()
        if not self._update_on_kvstore:
            for updater, found in zip(self._updaters, of_contexts, strict=True):
                weights = list(found.values())
                yield from zip(weights, updater.evaluate(list(found), weights), strict=True)
        elif isinstance(self._kvstore, KVStore) and not self._params_to_init:
            evaluated = self._kvstore.evaluated(list(of_contexts[0]))
            for found in of_contexts:
                yield from zip(found.values(), evaluated, strict=True)

    def _learned(self) -> list[dict[Any, NDArray]]:
        """Of each context, the weights that learn and have values, by index."""
        held = {i: p._data for i, p in self._learning().items() if p._data is not None}
        return [{i: arrays[k] for i, arrays in held.items()} for k in range(len(self._contexts))]

    # ------------------------------------------------------------ state files

    def save_states(self, fname: str | os.PathLike[str]) -> None:
        """Write what the optimizer keeps, its hyper-parameters and update counts to a file (safetensors).

        The file that was there stays until the new one is complete. `lr_mult`, `wd_mult` and the scheduler are not in
        it: they are the script's. Where each context updates its weights, the states are those of the first.
        """
        self._init_states()
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
        else:
            files.write(fname, self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname: str | os.PathLike[str]) -> None:
        """Bring the optimizer to where `save_states` was called, in the storage and element types that it has now.

        Its hyper-parameters become those of the file, the learning rate too, unless a scheduler gives it. A warning
        names a flag that was another here.

        Raises MXNetError for a file that is damaged or none of these, and for states that do not fit the optimizer or
        the parameters; nothing has changed then.
        """
        self._init_states()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            states.load(fname, self._updaters, self._learned())

    def _init_states(self) -> None:
        """Create the states in the store, or in this process."""
        if self._params_to_init:
            self._init_params()
        if self._update_on_kvstore and self._params_to_init:
            names = ", ".join(param.name for param in self._params_to_init)
            raise MXNetError(
                f"states are in the kvstore, where these parameters are not yet, for want of values: {names}"
            )
