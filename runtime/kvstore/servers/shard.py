"""What a server holds: a part of the keys with their values, an optimizer, and who has pushed what.

A shard is changed by requests, one after the other. Equal requests in equal order make equal shards, to the last bit:
that is what makes a replica. No request is applied twice: pushes have numbers, and what others do is the same when done
again. What a worker has sent before it was started again, and comes only now, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from runtime.base import MXNetError
from runtime.context import cpu
from runtime.core import optgen_bridge
from runtime.kvstore.base import Key
from runtime.kvstore.servers import messages, shard_assignment
from runtime.kvstore.servers.messages import Arrays, Message, Place
from runtime.kvstore.servers.pulled_weights import PulledWeights
from runtime.ndarray import NDArray
from runtime.ndarray.sparse import retain
from runtime.optimizer import SpecOptimizer, Updater, serialization, states

Answer = tuple[Message, Arrays]
Handler = Callable[["Shard", Message, Iterator[np.ndarray]], Answer]


class Pushed(NamedTuple):
    """The last push of a worker."""

    number: int = 0
    barriers: int = 0
    """How many barriers the worker had passed."""
    keys: tuple[Key, ...] = ()
    """Those that it updated here."""
    shards: tuple[int, ...] = ()
    """All that it went to."""


class Shard:
    """Shard `number` of those that the keys are cut among. Shard 0 knows the places of all keys."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._places: dict[Key, Place] = {}
        self._values: dict[Key, NDArray] = {}
        self._updater: Updater | None = None
        self._pulled_weights: PulledWeights | None = None
        self._optimizers = 0  # how many there have been
        self._assigned = 0  # how often values were replaced
        self._restores = 0  # how often all was replaced by what a checkpoint held
        self._pushes: dict[int, Pushed] = {}  # by worker: its last push
        self._barriers: dict[int, int] = {}  # by worker: how many it has come to
        self._here: dict[int, bool] = {}  # by worker that has ever come: False if it has ended
        self._incarnations: dict[int, list[int]] = {}  # by worker: that of its last join

    def changes(self, request: Message) -> bool:
        """Whether a request changes the shard, so that its replica must have it."""
        return request["do"] in self._CHANGES or (request["do"] == "pull" and self._pulled_weights is not None)

    def __call__(self, request: Message, arrays: Arrays) -> Answer:
        """Do what is requested by `worker`, in an `incarnation` of it: the greatest is the newest.

        Raises MXNetError, with nothing changed, for what does not fit; whatever else an optimizer written by hand
        raises.
        """
        handlers = self._CHANGES | self._READS
        if request.get("do") not in handlers:
            raise MXNetError(f"servers know no request {request.get('do')!r}")
        if request["incarnation"] < self._incarnations.get(request["worker"], []):
            raise MXNetError(f"worker {request['worker']} was started again since it requested this")
        answer, found = handlers[request["do"]](self, request, iter(arrays))
        return answer | self._restarted(), found

    def _restarted(self) -> Message:
        """What every answer says of workers that were started again: how often each was, if any was."""
        found = [[worker, attempt] for worker, (attempt, _) in list(self._incarnations.items()) if attempt]
        return {"restarts": found} if found else {}

    # ------------------------------------------------------------ keys and values

    def _init(self, request: Message, arrays: Iterator[np.ndarray]) -> Answer:
        """Take the first values of keys: `keys` is of key, place, and the form of what is here of it or None.

        Rank 0 sends it to shard 0 last. What that has not, no other worker knows yet.
        """
        for key, place, form in request["keys"]:
            place = Place.load(place)
            value = None if form is None else messages.take(form, place.shape_on(self.number), arrays)
            if self.number == 0 and key in self._places:
                continue
            self._places[key] = place
            if value is not None:
                self._values[key] = value.copy()
        self._bring_to_optimizer()
        return {}, []

    def _assign(self, request: Message, arrays: Iterator[np.ndarray]) -> Answer:
        """Take other values of `keys`, as in `_init`, and forget the states; `count` says which time it is."""
        if request["count"] > self._assigned:
            for key, place, form in request["keys"]:
                if form is None:
                    continue
                value = self._held([key])[key]
                messages.take(form, Place.load(place).shape_on(self.number), arrays).copyto(value)
                if self._updater is not None:
                    self._updater.states.pop(key, None)
                    self._updater.states_synced.pop(key, None)
                if self._pulled_weights is not None:
                    self._pulled_weights.restart(key, value)
            self._assigned = request["count"]
        return {}, []

    def _lookup(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        """The places of those of `keys` that are known, and how much every shard has of all."""
        found = [[key, self._places[key].dump()] for key in request["keys"] if key in self._places]
        optimizer = None if self._updater is None else self._updater.optimizer
        loads = np.zeros(len(next(iter(self._places.values())).cuts) - 1 if self._places else 0, np.int64)
        for key, place in self._places.items():
            loads += shard_assignment.load_of(key, place, optimizer)
        updates = 0 if optimizer is None else optimizer.num_update
        counts = {"optimizers": self._optimizers, "assigned": self._assigned, "restores": self._restores}
        return {"keys": found, "loads": loads.tolist(), "updates": updates, **counts}, []

    def _pull(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        """The values of `keys` as they are."""
        arrays: Arrays = []
        held = self._held(request["keys"])
        forms = [[key, messages.put(value, None, arrays)] for key, value in held.items()]
        if self._pulled_weights is not None:
            self._pulled_weights.keep(request["worker"], held)
        return {"keys": forms}, arrays

    def _evaluate(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        """What a network is evaluated with in place of the values of `keys`."""
        held = self._held(request["keys"])
        found = list(held.values())
        if self._updater is not None:
            found = self._updater.evaluate(list(held), found)
        arrays: Arrays = []
        return {"keys": [[key, messages.put(v, None, arrays)] for key, v in zip(held, found, strict=True)]}, arrays

    def _rows(self, request: Message, arrays: Iterator[np.ndarray]) -> Answer:
        """Rows of the row-sparse value of `key`."""
        value = self._held([request["key"]])[request["key"]]
        found: Arrays = []
        return {"form": messages.put(retain(value, NDArray(next(arrays), cpu())), None, found)}, found

    def _held(self, keys: Sequence[Key]) -> dict[Key, NDArray]:
        for key in keys:
            if key not in self._values:
                raise MXNetError(f"it has nothing of key {key!r}")
        return {key: self._values[key] for key in keys}

    # ------------------------------------------------------------ updates

    def _push(self, request: Message, arrays: Iterator[np.ndarray]) -> Answer:
        """Update values with gradients, `keys` being of key and form, unless push `number` of `worker` was applied.

        Without an optimizer the values become what is pushed. `pull`: the keys whose values are wanted back. A worker
        that died while it pushed may come back with that number and other keys: then these are updated. `shards`: all
        that the push goes to.
        """
        worker, number = request["worker"], request["number"]
        last = self._pushes.get(worker, Pushed())
        if number >= last.number:
            done = last.keys if number == last.number else ()
            new = [key for key, _ in request["keys"] if key not in done]
            held = self._held([key for key, _ in request["keys"]])
            grads = {key: messages.take(form, held[key].shape, arrays) for key, form in request["keys"]}
            if new or number > last.number:
                self._update(worker, {k: held[k] for k in new}, [grads[k] for k in new], request["hyper"])
            self._pushes[worker] = Pushed(number, request["barriers"], (*done, *new), tuple(request["shards"]))
        answer, found = self._pull({"worker": worker, "keys": request["pull"]}, arrays)
        if self._updater is not None:
            answer["updates"] = self._updater.optimizer.num_update
        return answer, found

    def _update(
        self, worker: int, held: Mapping[Key, NDArray], grads: Sequence[NDArray], hyper: Mapping[str, Any]
    ) -> None:
        if self._updater is None:
            for value, grad in zip(held.values(), grads, strict=True):
                grad.copyto(value)
            return
        optimizer = self._updater.optimizer
        serialization.apply(
            optimizer,
            {name: x for name, x in hyper.items() if name not in vars(optimizer) or vars(optimizer)[name] != x},
        )
        if self._pulled_weights is not None:
            self._pulled_weights.use(worker, held, self._updater)
        if not isinstance(optimizer, SpecOptimizer):  # it may write to gradients, and those of a message are read-only
            grads = [grad.copy() for grad in grads]
        self._updater(list(held), list(grads), list(held.values()))

    def _optimizer(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        """Update values with an optimizer from now on: `text` is its JSON (`optimizer.serialization`), and
        `count` says how many there have been."""
        if request["count"] > self._optimizers:
            self._updater = Updater(serialization.loads(request["text"]))
            self._optimizers = request["count"]
            self._pulled_weights = None
            self._bring_to_optimizer()
        return {}, []

    def _bring_to_optimizer(self) -> None:
        """Tell the optimizer which keys are cut, and keep what it needs of each worker's weights."""
        if self._updater is None:
            return
        cut = {key: place for key, place in self._places.items() if key in self._values and place.is_cut}
        pieces = {key: optgen_bridge.piece(place.part(self.number).start, place.shape) for key, place in cut.items()}
        self._updater.optimizer.pieces = pieces
        if PulledWeights.needed(self._updater.optimizer):
            self._pulled_weights = self._pulled_weights or PulledWeights()
            self._pulled_weights.begin(self._values)

    def _states(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        """The states as a state file, with the hyper-parameters if `arguments` are wanted."""
        if self._updater is None:
            raise MXNetError("there are no states: this kvstore has no optimizer (see set_optimizer)")
        content = self._updater.get_states(dump_optimizer=request["arguments"])
        return {}, [np.frombuffer(content, np.uint8)]

    def _load_states(self, _: Message, arrays: Iterator[np.ndarray]) -> Answer:
        if self._updater is None:
            raise MXNetError("there are no states to load: this kvstore has no optimizer (see set_optimizer)")
        states.restore([self._updater], next(arrays).tobytes(), [self._values])
        return {}, []

    def _check_states(self, _: Message, arrays: Iterator[np.ndarray]) -> Answer:
        """Say whether `load states` would work: a file is loaded by all shards, or by none."""
        if self._updater is not None:
            states.check([self._updater], next(arrays).tobytes(), [self._values])
        return {}, []

    # ------------------------------------------------------------ workers

    def _join(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        """A worker has started, or started again."""
        self._here[request["worker"]] = True
        self._incarnations[request["worker"]] = request["incarnation"]
        last = self._pushes.get(request["worker"], Pushed())
        return {"number": last.number, "barriers": last.barriers, "shards": list(last.shards)}, []

    def _leave(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        self._here[request["worker"]] = False
        return {}, []

    def _arrive(self, request: Message, _: Iterator[np.ndarray]) -> Answer:
        worker = request["worker"]
        self._barriers[worker] = max(self._barriers.get(worker, 0), request["number"])
        return {}, []

    def waiting(self, request: Message, workers: Collection[int], silent: Collection[int]) -> Answer:
        """Those of `workers` that a barrier, or a worker that is ahead, must wait for, as far as this shard knows."""
        of = self.missing if request["do"] == "barrier" else self.behind
        return {"waiting": of(request["number"], workers, silent)} | self._restarted(), []

    def missing(self, number: int, workers: Collection[int], silent: Collection[int]) -> list[int]:
        """Those of `workers` that have not come to barrier `number`. Those that have ended, or came once and are silent
        now, do not count."""
        return [w for w in workers if self._barriers.get(w, 0) < number and self._counts(w, silent)]

    def behind(self, number: int, workers: Collection[int], silent: Collection[int]) -> list[int]:
        """Those of `workers` that have made fewer pushes than `number`; the same ones do not count."""
        return [w for w in workers if self._pushes.get(w, Pushed()).number < number and self._counts(w, silent)]

    def _counts(self, worker: int, silent: Collection[int]) -> bool:
        return worker not in self._here or (self._here[worker] and worker not in silent)

    # ------------------------------------------------------------ all of it

    def snapshot(self) -> Answer:
        """All that the shard has, for `restored`. The arrays are the shard's own, and not copies."""
        arrays: Arrays = []
        content: Message = {
            "number": self.number,
            "places": [[key, place.dump()] for key, place in self._places.items()],
            "values": [[key, messages.put(value, None, arrays)] for key, value in self._values.items()],
            "optimizers": self._optimizers,
            "assigned": self._assigned,
            "restores": self._restores,
            "pushes": [[worker, *numbers] for worker, numbers in self._pushes.items()],
            "barriers": [list(pair) for pair in self._barriers.items()],
            "here": [list(pair) for pair in self._here.items()],
            "incarnations": [list(pair) for pair in self._incarnations.items()],
            "optimizer": None if self._updater is None else serialization.dumps(self._updater.optimizer),
            "backups": None if self._pulled_weights is None else self._pulled_weights.dump(arrays),
        }
        if self._updater is not None:
            arrays.append(np.frombuffer(self._updater.get_states(dump_optimizer=True), np.uint8))
        return content, arrays

    @staticmethod
    def restored(content: Message, arrays: Arrays) -> Shard:
        """The shard that a snapshot was taken of. The arrays are copied."""
        shard, feed = Shard(content["number"]), iter(arrays)
        shard._fill(content, feed)
        shard._pushes = {w: Pushed(*numbers, tuple(keys), tuple(to)) for w, *numbers, keys, to in content["pushes"]}
        shard._barriers, shard._here = dict(content["barriers"]), dict(content["here"])
        shard._incarnations = dict(content["incarnations"])
        shard._optimizers, shard._assigned = content["optimizers"], content["assigned"]
        shard._restores = content["restores"]
        return shard

    def _fill(self, content: Message, arrays: Iterator[np.ndarray]) -> None:
        """Take places, values, the optimizer and its states."""
        self._places = {key: Place.load(place) for key, place in content["places"]}
        self._values = {}
        for key, form in content["values"]:
            self._values[key] = messages.take(form, self._places[key].shape_on(self.number), arrays).copy()
        self._updater = self._pulled_weights = None
        if content["optimizer"] is None:
            return
        self._updater = Updater(serialization.loads(content["optimizer"]))
        if content["backups"] is not None:
            self._pulled_weights = PulledWeights.load(content["backups"], arrays)
        self._bring_to_optimizer()
        states.restore([self._updater], next(arrays).tobytes(), [self._values])

    def _restore(self, request: Message, arrays: Iterator[np.ndarray]) -> Answer:
        """Go on from a checkpoint, which is number `count` of those that were gone back to."""
        if request["count"] > self._restores:
            fresh = Shard(self.number)
            fresh._fill(request, arrays)  # what does not fit leaves this one as it is
            for name in ("_places", "_values", "_updater", "_pulled_weights"):
                setattr(self, name, getattr(fresh, name))
            self._pushes = {w: Pushed(number, 0, tuple(self._values)) for w, number in request["pushes"]}
            self._restores = request["count"]
            self._optimizers = max(self._optimizers, 0 if request["optimizer"] is None else 1)
        return {}, []

    _CHANGES: ClassVar[dict[str, Handler]] = {
        "init": _init,
        "assign": _assign,
        "push": _push,
        "optimizer": _optimizer,
        "load states": _load_states,
        "join": _join,
        "leave": _leave,
        "arrive": _arrive,
        "restore": _restore,
    }
    _READS: ClassVar[dict[str, Handler]] = {
        "lookup": _lookup,
        "pull": _pull,
        "evaluate": _evaluate,
        "rows": _rows,
        "states": _states,
        "check states": _check_states,
        "snapshot": lambda shard, *_: shard.snapshot(),
    }
