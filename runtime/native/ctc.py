"""Connectionist temporal classification: the counts of paths, and the gradient; see `ndarray.nn.ctc`.

One task for each sample. The states of a sample are its labels with blanks between, class numbers, and `g` has sizes.
Arrays over time are (steps, batch, classes) or (steps, batch, states); their numbers are logarithms of probabilities.
`nothing` is an array of one element, minus infinity.
"""

from __future__ import annotations

from optgen.loops.kernel import kernel
from optgen.loops.language import Array, Ints, function
from runtime.native.formulas import exp_nonpositive, log1p_of_fraction
from runtime.native.vectors import clear, copy, fill

STEPS, BATCH, CLASSES, STATES, BLANK = 0, 1, 2, 3, 4
"""Indices into `g`."""
LEAST = -1e30
"""What is below stands for a probability of 0."""
WORK = 64
"""The work of a state at a step, in additions."""
ROWS, MARGIN = 4, 2
"""Rows of scratch memory, each with so many elements more than there are states."""


@function
def log_of_sum(a: float, b: float) -> float:
    """`log(exp(a) + exp(b))`."""
    top = max(a, b)
    apart = -abs(a - b)
    return top + log1p_of_fraction(exp_nonpositive(apart if top > LEAST else 0.0))


@function
def go_on(to: Array, here: Array, one: Array, two: Array, skip: Array, n: int) -> None:
    """A step from state to state: paths stay, go one state, or two where `skip` is 0 and not minus infinity."""
    for s in range(n):
        to[s] = log_of_sum(log_of_sum(here[s], one[s]), two[s] + skip[s])


@function
def add(to: Array, x: Array, y: Array, n: int) -> None:
    for s in range(n):
        to[s] = x[s] + y[s]


@function
def find_skips(skip: Array, states: Ints, nothing: float, n: int, blank: int) -> None:
    """0 for states that can be reached from the one two before, else minus infinity; two of these behind the last."""
    fill(skip, nothing, n + MARGIN)
    for s in range(2, n):
        if states[s] != blank and states[s] != states[s - 2]:
            skip[s] = 0.0


@function
def look_up(to: Array, x: Array, states: Ints, n: int) -> None:
    """What each state emits."""
    for s in range(n):
        to[s] = x[states[s]]


@kernel
def forward_counts(
    task: int, scratch: Array, log_p: Array, counts: Array, nothing: Array, states: Ints, g: Ints
) -> None:
    """For each step and state, the probability of being there, having emitted what leads there."""
    n = g[STATES]
    own = states + task * n
    row = n + MARGIN
    skip = scratch
    emitted = scratch + row
    before = scratch + 2 * row  # two states that nothing reaches, and the counts of the step before
    reached = scratch + 3 * row
    find_skips(skip, own, nothing[0], n, g[BLANK])
    for t in range(g[STEPS]):
        at = t * g[BATCH] + task
        look_up(emitted, log_p + at * g[CLASSES], own, n)
        if t == 0:
            fill(reached, nothing[0], n)
            for s in range(min(n, 2)):
                reached[s] = 0.0
        else:
            go_on(reached, before + 2, before + 1, before, skip, n)
        add(counts + at * n, reached, emitted, n)
        fill(before, nothing[0], 2)
        copy(before + 2, counts + at * n, n)


@function
def spread_exponentials(to: Array, x: Array, n: int) -> None:
    for i in range(n):
        to[i] = exp_nonpositive(x[i])


@function
def likelihoods(to: Array, count: Array, reached: Array, total: float, n: int) -> None:
    """How likely each state is, given that the sequence was spelled."""
    for s in range(n):
        to[s] = exp_nonpositive(min(count[s] + reached[s] - total, 0.0))


@function
def scale_by(x: Array, by: float, n: int) -> None:
    for i in range(n):
        x[i] = x[i] * by


@kernel
def gradient(
    task: int, scratch: Array, log_p: Array, counts: Array, totals: Array, flow: Array, dx: Array, nothing: Array,
    states: Ints, ends: Ints, times: Ints, g: Ints,
) -> None:  # fmt: skip
    """`flow (p - how likely each class is, given that the sequence was spelled)`; 0 from `times` on, and for samples
    whose total is minus infinity. `flow`, `totals`, `ends`, the last states, and `times` are (batch,)."""
    n = g[STATES]
    own = states + task * n
    row = n + MARGIN
    skip = scratch
    emitted = scratch + row
    after = scratch + 2 * row  # what follows from the next step on, and two states that nothing follows from
    reached = scratch + 3 * row
    find_skips(skip, own, nothing[0], n, g[BLANK])
    fill(after, nothing[0], row)
    for back in range(g[STEPS]):
        t = g[STEPS] - 1 - back
        at = t * g[BATCH] + task
        to = dx + at * g[CLASSES]
        if t >= times[task] or totals[task] < LEAST:
            clear(to, g[CLASSES])
        else:
            go_on(reached, after, after + 1, after + 2, skip + 2, n)
            if t == times[task] - 1:
                fill(reached, nothing[0], n)
                reached[ends[task]] = 0.0
                reached[max(ends[task] - 1, 0)] = 0.0
            look_up(emitted, log_p + at * g[CLASSES], own, n)
            add(after, reached, emitted, n)
            likelihoods(emitted, counts + at * n, reached, totals[task], n)
            spread_exponentials(to, log_p + at * g[CLASSES], g[CLASSES])
            for s in range(n):
                to[own[s]] -= emitted[s]
            scale_by(to, flow[task], g[CLASSES])
