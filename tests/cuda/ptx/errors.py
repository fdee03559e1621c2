"""The one error of the interpreter."""


class PtxError(Exception):
    """What the PTX text asks for is unknown, undefined on hardware, or forbidden here; the message names the line."""
