"""The one error of the interpreter."""


class LlvmError(Exception):
    """What the LLVM IR text asks for is unknown, undefined, or forbidden here; the message names the instruction."""
