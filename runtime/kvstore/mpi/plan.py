"""What a flush of some keys does, whatever is in their gradients: made once for each set of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from runtime.kvstore.base import Key
from runtime.kvstore.compression import GradientCompression
from runtime.kvstore.mpi.agreement import Description, digest
from runtime.kvstore.mpi.bucket import Bucket, Traffic
from runtime.kvstore.mpi.updates import Sum
from runtime.ndarray import NDArray


@dataclass(frozen=True)
class Plan:
    """`keys` in the order of initialization: those that are `dense`, by bucket, and those whose gradients are `rows`.

    `update` is to be called when the gradients are here. `description` is what must be the same on all ranks, `digest`
    that of it.
    """

    keys: tuple[Key, ...]
    dense: tuple[tuple[Bucket, list[Key], Traffic], ...]
    rows: list[Key]
    update: Callable[[], None]
    description: Description
    digest: bytes
    sent: int
    """Bytes of dense keys that this rank sends."""
    doing: str
    """What errors call the update."""

    @classmethod
    def of(
        cls,
        store: str,
        values: Mapping[Key, NDArray],
        buckets: Mapping[Key, Bucket],
        update_rule: Sum,
        compression: GradientCompression | None,
    ) -> Plan:
        """The plan for these values; those that are in no bucket get rows."""
        dense: dict[Bucket, list[Key]] = {}
        for key in values:
            if key in buckets:
                dense.setdefault(buckets[key], []).append(key)
        items = {key: buckets[key].item(key) for key in values if key in buckets}
        rows = [key for key in values if key not in buckets]
        description = {
            "the operation": f"push, and a flush, of a '{store}' kvstore",
            "the keys pushed": list(values),
            **description_of(values),
            "the keys with row-sparse gradients": rows,
            "how the keys that were initialized before the first push are cut": [list(b.layout.cuts) for b in dense],
            "gradient compression": compression and [compression.type, compression.threshold],
        }
        whole = tuple((bucket, keys, bucket.traffic(keys)) for bucket, keys in dense.items())
        return cls(
            keys=tuple(values),
            dense=whole,
            rows=rows,
            update=update_rule.prepare(items, {key: value.context for key, value in values.items()}),
            description=description,
            digest=digest(description),
            sent=sum(traffic.sent for _, _, traffic in whole),
            doing=f"the update of keys {list(values)[:10]}",
        )


def description_of(values: Mapping[Key, NDArray]) -> Description:
    """What must be the same of values."""
    return {
        name: what
        for k, v in values.items()
        for name, what in (
            (f"the shape of key {k!r}", list(v.shape)),
            (f"the type of key {k!r}", np.dtype(v.dtype).name),
            (f"the storage of key {k!r}", v.stype),
        )
    }
