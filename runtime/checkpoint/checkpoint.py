"""What users see: `Checkpoint`, which saves all that a training script goes on from."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.base import MXNetError
from runtime.checkpoint import hyper, stores, weights
from runtime.checkpoint.folder import Folder, Generation
from runtime.checkpoint.header import check as check_header
from runtime.checkpoint.position import Position
from runtime.core import files
from runtime.gluon import Block, Trainer


class Checkpoint:
    """Saves weights, optimizer states, update counts, multipliers, the schedule, residuals of gradient compression, the
    states of the generators of random numbers (this library's, NumPy's and Python's), and the place in the data.

    A script that is run again, however it ended, goes on from the last `save`, with the same bits as if it had not
    ended: see the example at the top of `runtime.checkpoint`. With a 'dist' kvstore all ranks make a Checkpoint of the
    same folder, which all see, and call `load` and `save` alike; `save` waits for all.

    Parameters
    ----------
    folder: is made if there is none. It holds the last two generations of files (safetensors, JSON): nothing in them is
        unpickled or evaluated. One training at a time uses it; another is refused, where files have locks.
    net: the network; all its parameters are saved.
    trainer: its trainer.

    Hyper-parameters are then those of the checkpoint, whatever the script says. What a script keeps beside these (a
    best accuracy, the state of an object of its own) is its own. The order of samples must be drawn when an epoch
    begins, as all samplers here do. The schedule may be any function of the update count; of one that is an object, and
    of an optimizer written by hand, attributes that are Python's numbers, strings or None are saved (of an optimizer
    those of rank 0).

    With a dist_async kvstore the checkpoint has what the servers have, too, and how many pushes of each worker these
    had applied. A single worker goes on with the same bits; several go on with every push applied once. One of several
    workers that is restarted alone, while the servers and the others go on, makes the steps since its last checkpoint
    again, on the weights as they are now, and servers pass over those of its pushes that they have. (So does a single
    worker that is restarted by the launcher before there is a checkpoint: running means and residuals may differ then.)

    With another number of ranks than those that saved, a dist_sync training begins the epoch anew, with the weights as
    they were saved: what the optimizer keeps is shared out anew; running means and the like are those of rank 0; a
    generator that was in the same state on all ranks stays so, others are seeded anew for each rank.
    """

    def __init__(self, folder: str | os.PathLike[str], net: Block, trainer: Trainer) -> None:
        self._folder, self._net, self._trainer = Folder(folder), net, trainer
        self._position = Position()
        self._number: int | None = None  # of the generation that was loaded or saved last; None: nothing was loaded

    @property
    def epoch(self) -> int:
        """The number of this epoch, from 0. It is the next one as soon as the batches of one are at their end."""
        return self._position.epoch

    @property
    def batch(self) -> int:
        """How many batches of this epoch were given."""
        return self._position.batch

    def batches(self, loader: Iterable[Any]) -> Iterator[Any]:
        """The batches of an epoch: those of `loader`, a DataLoader or whatever gives the same ones from the same states
        of the generators; in the epoch in which a checkpoint was saved, those after it.

        Those before it are made again and passed over. Batches that a loop leaves with `break` are not done: a
        checkpoint that is saved then goes on with the next one; another call of `batches` is another epoch.
        """
        return self._position.batches(loader)

    # ------------------------------------------------------------ saving

    def save(self) -> None:
        """Save all of it; the checkpoint before stays the current one until this one is complete on all ranks.

        Raises MXNetError where the folder holds another training's checkpoint, or `load` was not called.
        """
        trainer = self._trainer
        if trainer._evaluating:
            raise MXNetError("inside trainer.evaluating() the weights are not those that are trained; save outside")
        trainer._init_states()
        store = trainer._kvstore
        rank, ranks = stores.place(store)
        if rank == 0:
            self._folder.take()
        stores.barrier(store)
        number = self._next_number()
        if number is not None:
            self._write(number, rank)
        stores.barrier(store)
        if number is not None and rank == 0:
            self._complete(number, [stores.kind(store), *(f"rank{r}" for r in range(ranks))])
        self._number = (self._number or 0) + 1

    def _write(self, number: int, rank: int) -> None:
        """Write this rank's files."""
        trainer, net = self._trainer, self._net
        stores.save(trainer, self._folder, number)
        learnt = weights.learning(net)  # on all ranks: they may have to come from all
        kinds = {
            "learnt": learnt if rank == 0 else {},
            "fixed": weights.others(net),
            "input": hyper.inputs(trainer.optimizer),
            "residual": stores.residuals(trainer._kvstore),
        }
        header = {
            "generation": number,
            "rank": rank,
            "position": self._position.to_json(),
            "optimizer": hyper.to_json(trainer.optimizer),
            "store": stores.counts(trainer._kvstore),
        }
        arrays = {f"{kind}/{key}": x for kind, of_kind in kinds.items() for key, x in of_kind.items()}
        files.save(self._folder.new_file(number, f"rank{rank}"), arrays, header)

    def _complete(self, number: int, whats: list[str]) -> None:
        """Make what all ranks wrote the current checkpoint."""
        store, folder = self._trainer._kvstore, self._folder
        ranks = stores.place(store)[1]
        missing = folder.missing(number, whats) if stores.has_servers(store) else []
        late = [] if missing else stores.late(store, folder, number)
        if missing or late:
            why = "wrote no file" if missing else "wrote its file at another time than the others"
            warnings.warn(
                f"checkpoint {number} is left out, as {', '.join(missing or late)} {why}: did it die, or does it not "
                f"see '{folder.path}'?",
                stacklevel=3,
            )
        else:
            folder.complete(number, ranks, whats)

    def _next_number(self) -> int | None:
        """The number of the generation to save; None for one that was completed before this worker was restarted."""
        latest = self._folder.latest()
        found = 0 if latest is None else latest.number
        if self._number is None and latest is not None:
            raise MXNetError(
                f"'{self._folder.path}' holds a checkpoint already: call load() before the training, to go on from it, "
                "or choose an empty folder"
            )
        last = self._number or 0
        store = self._trainer._kvstore
        if found > last and stores.is_restarted(store):
            return None
        if found > last or (found < last and not stores.has_servers(store)):  # with servers one may be left out
            raise MXNetError(
                f"'{self._folder.path}' holds checkpoint {found}, and this training saved {last} last: another one "
                "writes to the folder"
            )
        return last + 1

    # ------------------------------------------------------------ loading

    def load(self) -> int:
        """Go to where the last `save` was, and return the epoch to go on with; 0 where nothing was saved.

        To be called once, right before the training. Raises MXNetError, naming the file, for one that is damaged,
        missing, or none of this checkpoint, and for a checkpoint of another network or optimizer.
        """
        trainer = self._trainer
        if not trainer._kv_initialized:
            trainer._init_kvstore()
        store = trainer._kvstore
        rank, ranks = stores.place(store)
        if rank == 0:
            self._folder.take()
        latest = self._folder.latest()
        parts = [] if latest is None else self._parts(latest, rank, ranks)
        if rank == 0 and not stores.is_restarted(store):
            self._folder.remove_incomplete()
        self._number = 0 if latest is None else latest.number
        if latest is None:
            stores.count_from(store, None)
            return self.epoch
        own, where = parts[0], f"the checkpoint in '{self._folder.path}'"
        first = own if rank == 0 and latest.ranks == ranks else self._part(latest, 0)
        hyper.check(trainer.optimizer, own.header["optimizer"], own.arrays("input"))
        found = stores.read(trainer, self._folder, latest)
        weights.restore(self._net, first.arrays("learnt"), first.arrays("fixed"), where)
        stores.load(trainer, self._folder, latest, found)
        store = trainer._kvstore  # it may be a new one
        stores.count_from(store, own.header["store"])
        weights.restore_others(self._net, own.arrays("fixed"))  # now, as a store gives all ranks those of rank 0
        hyper.restore(trainer.optimizer, own.header["optimizer"], own.arrays("input"))
        if latest.ranks == ranks:
            stores.load_residuals(store, [own.arrays("residual")], where)
            self._position.go_to(own.header["position"])
        else:
            stores.load_residuals(store, [part.arrays("residual") for part in parts[rank::ranks]], where)
            self._position.go_to_epoch([part.header["position"] for part in parts], rank)
        return self.epoch

    def _parts(self, latest: Generation, rank: int, ranks: int) -> list[_Part]:
        """What this rank saved or, if there were more ranks or fewer, what all of them did."""
        store = self._trainer._kvstore
        if latest.ranks == ranks:
            return [self._part(latest, rank)]
        if stores.has_servers(store):
            raise MXNetError(
                f"the checkpoint in '{self._folder.path}' is of {latest.ranks} workers, and there are {ranks}: with a "
                f"'{store.type}' kvstore there must be as many"
            )
        return [self._part(latest, r) for r in range(latest.ranks)]

    def _part(self, latest: Generation, rank: int) -> _Part:
        """What a rank saved."""
        what = f"rank{rank}"
        arrays, header = self._folder.read(latest, what)
        if not isinstance(header, dict) or (header.get("generation"), header.get("rank")) != (latest.number, rank):
            raise MXNetError(f"'{self._folder.file(latest.number, what)}' was another file, and was renamed")
        check_header(header, f"'{self._folder.file(latest.number, what)}'")
        return _Part(arrays, header)


@dataclass(frozen=True)
class _Part:
    """What a rank saved: arrays by kind and name, and the rest."""

    contents: Mapping[str, np.ndarray]
    header: Mapping[str, Any]

    def arrays(self, kind: str) -> dict[str, np.ndarray]:
        """Those of a kind, by name."""
        return {key.removeprefix(f"{kind}/"): x for key, x in self.contents.items() if key.startswith(f"{kind}/")}
