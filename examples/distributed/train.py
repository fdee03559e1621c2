"""Train a classifier of handwritten digits on several processes, and go on after any of them was killed.

The data are the 1,797 digits of 8x8 pixels that scikit-learn carries. All ranks draw the same order of samples, and of
each batch every rank computes its share. A checkpoint is saved every few batches: kill whatever you like, run the same
command again, and it ends with the same loss and the same weights, of which a hash is printed.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

import runtime as mx
from runtime import autograd, gluon
from runtime.gluon import nn

EXAMPLES = """\
examples:
  train.py --checkpoint runs/one                                            one process, no kvstore
  mpiexec -n 4 python train.py --kvstore dist_sync --checkpoint runs/sync   four ranks
  python -m runtime.launch -n 4 -s 2 train.py --kvstore dist_async --checkpoint runs/async
                                                                            four workers and two shards of servers
"""


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kvstore", choices=("none", "dist_sync", "dist_async"), default="none", help="(default: none)"
    )
    parser.add_argument(
        "--checkpoint", type=Path, metavar="FOLDER", help="go on from here, and save here (default: no)"
    )
    parser.add_argument("--every", type=int, default=5, help="batches between checkpoints (default: 5)")
    parser.add_argument("--optimizer", default="adam", help="name of a spec (default: adam)")
    parser.add_argument("--lr", type=float, default=0.002, help="learning rate (default: 0.002)")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the training data (default: 10)")
    parser.add_argument("--batch-size", type=int, default=60, help="samples in a step of all ranks (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the order (default: 0)")
    args = parser.parse_args(words)
    if min(args.epochs, args.batch_size, args.every) < 1 or args.seed < 0:
        parser.error("--epochs, --batch-size and --every must be at least 1, --seed at least 0")
    return args


class Share(gluon.data.Sampler):
    """One rank's share of a random order that all ranks draw alike: samples `rank`, `rank + ranks`, ... of it.

    The last samples, too few for a batch of all ranks, are left out.
    """

    def __init__(self, count: int, batch_size: int, rank: int, ranks: int) -> None:
        self._count, self._used = count, count // batch_size * batch_size
        self._rank, self._ranks = rank, ranks

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.permutation(self._count)[: self._used][self._rank :: self._ranks].tolist())

    def __len__(self) -> int:
        return self._used // self._ranks


def digits(seed: int) -> tuple[gluon.data.ArrayDataset, mx.nd.NDArray, mx.nd.NDArray]:
    """Four fifths of the digits to train with; pixels (from 0 to 1) and labels of the others."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(labels))
    pixels, labels = (pixels[order] / 16).astype(np.float32), labels[order].astype(np.float32)
    cut = len(labels) * 4 // 5
    return gluon.data.ArrayDataset(pixels[:cut], labels[:cut]), mx.nd.array(pixels[cut:]), mx.nd.array(labels[cut:])


def network() -> nn.HybridSequential:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(128, activation="relu", in_units=64), nn.Dropout(0.3), nn.Dense(10, in_units=128))
    net.initialize(mx.init.Xavier())
    return net


def fingerprint(net: gluon.Block) -> str:
    """A hash of all weights: equal only if all bits are."""
    sha = hashlib.sha256()
    for param in net.collect_params().values():
        sha.update(param.data().asnumpy())
    return sha.hexdigest()[:16]


def main() -> None:
    args = arguments()
    store = None if args.kvstore == "none" else mx.kv.create(args.kvstore)
    rank, ranks = (0, 1) if store is None else (store.rank, store.num_workers)
    if args.batch_size % ranks:
        raise SystemExit(f"train.py: --batch-size {args.batch_size} is to be shared by {ranks} ranks")
    np.random.seed(args.seed)  # the order of samples: the same on all ranks
    mx.random.seed(args.seed + rank)  # dropout; the weights of rank 0 are those of all
    net, (train, pixels, labels) = network(), digits(args.seed)
    trainer = gluon.Trainer(net.collect_params(), args.optimizer, {"learning_rate": args.lr}, kvstore=store)
    sampler = Share(len(train), args.batch_size, rank, ranks)
    loader = gluon.data.DataLoader(train, args.batch_size // ranks, sampler=sampler)
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()

    checkpoint = mx.checkpoint.Checkpoint(args.checkpoint, net, trainer) if args.checkpoint else None
    first = checkpoint.load() if checkpoint else 0
    if checkpoint and rank == 0 and (checkpoint.epoch or checkpoint.batch):
        print(f"going on with epoch {first + 1} after batch {checkpoint.batch}", flush=True)
    for epoch in range(first, args.epochs):
        done, losses = checkpoint.batch if checkpoint else 0, []
        progress = tqdm(
            checkpoint.batches(loader) if checkpoint else loader, f"epoch {epoch + 1}/{args.epochs}", len(loader),
            unit="batch", initial=done, leave=False, disable=None if rank == 0 else True,
        )  # fmt: skip
        for data, label in progress:
            with autograd.record():
                loss = criterion(net(data), label)
            loss.backward()
            trainer.step(args.batch_size)
            losses.append(loss.mean().asscalar())
            if checkpoint and checkpoint.batch % args.every == 0:
                checkpoint.save()
        if rank == 0 and losses:
            print(f"epoch {epoch + 1}/{args.epochs}: loss {np.mean(losses):.4f}", flush=True)
    if args.kvstore == "dist_async":
        store.barrier()  # until the others have pushed all of theirs
        trainer.pull()
    if rank == 0:
        final = criterion(net(pixels), labels).mean().asscalar()
        accuracy = (net(pixels).argmax(1) == labels).mean().asscalar()
        print(f"loss {final:.6f}, accuracy {accuracy:.2%} on digits not trained with; weights {fingerprint(net)}")


if __name__ == "__main__":
    main()
