"""Threads that compile kernels at once."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor

from optgen.linalg import blocks


def test_threads_read_the_syntax_of_kernels_at_once() -> None:
    """Another thread may go on in the middle of it, when garbage is collected."""
    threshold = gc.get_threshold()

    def let_others_go_on(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_go_on)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(4) as pool:
            names = list(pool.map(lambda _: blocks.multiply.tree().name, range(100)))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others_go_on)
    assert set(names) == {blocks.multiply.name}
