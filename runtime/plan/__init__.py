"""Plans: what a hybridized block computes, as native calls over one block of memory.

The first call of a block computes as ever, and is traced: `tape` has the calls of operators that it made, and those of
its gradient, as autograd notes them. `lower` turns them into steps: calls of the loop compiler's kernels, expressions
of single elements, and calls of Python where there is neither. `fuse` makes kernels of neighbouring expressions,
`memory` gives the arrays places in one block, `program` runs the steps, and `plans` is what a block holds: a call, its
node in the graph, and its gradient.
"""
