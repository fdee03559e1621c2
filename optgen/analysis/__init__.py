"""What the equations of a spec say: statements about its step, proved by algebra or found by running it.

`analyze` asks each question of `answers.QUESTIONS`. A question is a file with one function `Subject -> statements`.
`characters` has the rules of scale and sign, and `run` the steps that test claims. `equal` finds which specs are the
same: `matches` runs settings of both, `proof` proves it in prime fields (`field`), and `together` runs both.
"""

from optgen.analysis.answers import Analysis, analyze
from optgen.analysis.statement import Statement, Verdict

__all__ = ["Analysis", "Statement", "Verdict", "analyze"]
