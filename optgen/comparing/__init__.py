"""Two optimizers side by side: the equations that differ, costs, what follows from the equations, and their race."""

from optgen.comparing import shown
from optgen.comparing.comparison import Comparison, compare

__all__ = ["Comparison", "compare", "shown"]
