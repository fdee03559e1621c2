"""The output of a run: the launcher's own messages, and the lines of the workers."""

from __future__ import annotations

import sys
from collections import deque

from runtime.launch.worker import STDERR, STDOUT

_MAX_LINE_BYTES = 1 << 20
"""More bytes than this without an end of line are shown as a line."""


def say(text: str) -> None:
    """A message of the launcher."""
    print(f"runtime.launch: {text}", file=sys.stderr, flush=True)


class Output:
    """What one rank writes. With a prefix, only whole lines are passed on, so that those of several ranks do not mix;
    without one, everything is, as it comes."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()
        self._begun = {STDOUT: b"", STDERR: b""}
        self.last: deque[str] = deque(maxlen=20)
        """The last lines of both streams."""

    def write(self, stream: int, data: bytes) -> None:
        """Pass on what was written to STDOUT or STDERR."""
        *lines, begun = (self._begun[stream] + data).split(b"\n")
        if len(begun) > _MAX_LINE_BYTES:
            lines, begun = [*lines, begun], b""
        self._begun[stream] = begun
        self.last.extend(line.decode(errors="replace") for line in lines)
        if self._prefix:
            data = b"".join(self._prefix + line + b"\n" for line in lines)
        terminal = (sys.stdout if stream == STDOUT else sys.stderr).buffer
        terminal.write(data)
        terminal.flush()

    def end(self) -> None:
        """Nothing more will be written: pass on lines that were begun."""
        for stream, begun in self._begun.items():
            if begun and self._prefix:
                self.write(stream, b"\n")
            elif begun:
                self.last.append(begun.decode(errors="replace"))
        self._begun = dict.fromkeys(self._begun, b"")
