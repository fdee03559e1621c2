"""What the equations of a spec say: statements about its step, proved by algebra or found by running it.

`analyze` asks each question of `answers.QUESTIONS`. A question is a file with one function `Subject -> statements`.
"""

from optgen.analysis.answers import Analysis, analyze
from optgen.analysis.statement import Statement, Verdict

__all__ = ["Analysis", "Statement", "Verdict", "analyze"]
