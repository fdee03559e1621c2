"""Two optimizers side by side: the equations that differ, costs, what follows from the equations, and their race.

`optgen.symbolic.renaming` finds names that correspond, and `optgen.symbolic.difference` the equations that differ.
"""

from optgen.comparing.comparison import Comparison
from optgen.comparing.side_by_side import compare

__all__ = ["Comparison", "compare"]
