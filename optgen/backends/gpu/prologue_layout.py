"""What the prologue of a capturable step reads: an array of 8-byte words in the memory of the device, behind the table.

HEAD words, each named below
[hyper]             addresses of single numbers; 0: the hyper-parameter is among the numbers
[hyper]             1 where that number is a float64, 0 where it is a float32
[launch]            how many units there are in all
[n]                 which parameters the tensors of the table are
[hyper][n]          doubles, as in optgen_step
[COUNTED]           the parameters whose counts advance
"""

from __future__ import annotations

from dataclasses import dataclass

from optgen.backends.gpu.table import TableWord

HEAD = 6
TABLE, COUNTS, PARAMETERS, COUNTED, FOUND_INF, GRAD_SCALE = range(HEAD)
"""The table's address; that of the counts of all parameters (int64), and how many there are; how many counts this
prologue advances; the address of a float32 with which the step is left out unless it is 0, or 0; the address of the
float32 that gradients are divided by, or 0."""


@dataclass(frozen=True)
class PrologueLayout:
    """The words at which the parts begin, for a kernel with so many hyper-parameters and launches."""

    hyper: int
    launches: int

    def source(self, hyper: int) -> TableWord:
        return TableWord(HEAD + hyper, 0)

    def is_double(self, hyper: int) -> TableWord:
        return TableWord(HEAD + self.hyper + hyper, 0)

    def total(self, launch: int) -> TableWord:
        return TableWord(HEAD + 2 * self.hyper + launch, 0)

    @property
    def order(self) -> TableWord:
        return self.total(self.launches)

    def numbers(self, hyper: int) -> TableWord:
        return TableWord(self.order.constant, 1 + hyper)

    @property
    def counted(self) -> TableWord:
        return self.numbers(self.hyper)
