"""Checkpoints: a training script that was killed, at any moment, goes on as if it had not been.

checkpoint = mx.checkpoint.Checkpoint("folder", net, trainer)
for epoch in range(checkpoint.load(), epochs):
    for data, label in checkpoint.batches(loader):
        ...
        trainer.step(len(label))
        if checkpoint.batch % 100 == 0:
            checkpoint.save()
    checkpoint.save()
"""

from runtime.checkpoint.checkpoint import Checkpoint

__all__ = ["Checkpoint"]
