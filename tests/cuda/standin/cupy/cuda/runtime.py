"""`cupy.cuda.runtime`."""

count = 2
"""How many devices there are; tests set it."""


class CUDARuntimeError(RuntimeError):
    pass


def getDeviceCount() -> int:
    if not count:
        raise CUDARuntimeError(
            "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
        )
    return count


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes."""
    return 3 << 30, 4 << 30
