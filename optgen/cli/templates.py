"""The specs that `optgen new` writes."""

from __future__ import annotations

ELEMENTS = """\
optimizer {name} "what it is called in the paper"
cite "authors and year, where to find it"

  # The language is described in docs/language.md of the project; `optgen language` prints it. A comment that begins in
  # the first column becomes a remark in what `optgen doc` writes; these do not.

  # A hyper-parameter: its default, the values it may have, a line of documentation. `lr`, `wd`, `rescale_grad` and
  # `clip_gradient` need no declaration; here `lr` gets a default of its own.
param lr      = 0.001
param beta    = 0.9 in [0, 1)  "decay of the moment"
param epsilon = 1e-8 in [0, inf)

  # A flag chooses which code exists: a constructor argument (true or false, or 'one' | 'other'), or a condition. With
  # `per param` after its name it can differ between parameters: `bind(..., flags={{"normalize": [...]}})`.
flag normalize = true  "divide by the root of the second moment"

  # What is kept for every weight between steps, and its value at the start.
state m = 0
state v = 0 if normalize

  # `x` is the value before the step, `x'` the one after it. `w` is the weight, `t` the number of the update (1 is the
  # first), `grad` the raw gradient, and `g` the one to use: clip(rescale_grad*grad, clip_gradient).
update:
  d  = g + wd*w
  m' = beta*m + (1 - beta)*d
  v' = beta*v + (1 - beta)*d^2                if normalize
  w' = w - lr*m'/(sqrt(v') + epsilon)         if normalize
  w' = w - lr*m'                              otherwise
"""

MATRIX = """\
optimizer {name} for matrix "what it is called in the paper"
cite "authors and year, where to find it"

  # The language is described in docs/language.md of the project; `optgen language` prints it. A comment that begins in
  # the first column becomes a remark in what `optgen doc` writes; these do not.

  # A hyper-parameter: its default, the values it may have, a line of documentation.
param lr           = 0.02
param adam_lr      = 0.001             "the rate of AdamW"
param beta         = 0.95 in [0, 1)    "decay of the means"
param epsilon      = 1e-8 in (0, inf)
param turns: int   = 3    in [0, 100)  "turns of the iteration"
param every_k: int = 10   in [1, inf)  "updates between two computations of the root"

  # Which parameters are updated as matrices: those of two dimensions, but embeddings and the last layer. AdamW updates
  # the others. `load(...).bind(..., flags={{"plain": [...]}})` says which are plain.
flag plain per param = false
flag matrix          = rank == 2 and not plain
otherwise use adamw(lr = adam_lr) as adam

  # What is kept between steps, and its value at the start: a number for each element of the matrix, or a matrix whose
  # dimensions are `rows`, `cols` or int params.
state m              = 0
state L: rows x rows = 0               "mean of products of rows"
state P: rows x rows = identity(rows)  "L^(-1/2)"

  # `x` is the value before the step, `x'` the one after it. `X*Y` multiplies elements and `X@Y` matrices, and `X^T` is
  # the transpose. `trace`, `diag`, `dot`, `solve`, `orthonormal`, `eigenvectors` and others are functions of matrices.
update:
  m' = beta*m + (1 - beta)*g
  L' = beta*L + (1 - beta)*(g@g^T)
  # Computed in update 1, 1 + every_k, ...; P keeps its value in the others.
  P' = inverse_root(L' + epsilon*identity(rows), 2)   every every_k from 1
  X  = P'@m'
  Y  = X/max(norm(X), epsilon)
  # What a turn sets, the next one reads: Y' becomes Y.
  repeat turns:
    Y' = 1.5*Y - 0.5*(Y@Y^T)@Y
  end
  w' = w - lr*(sqrt(max(1, rows/cols))*Y' + wd*w)
"""
