"""Specs with all that the language has for one kernel: what the compiler's tests compare in every way."""

from __future__ import annotations

import optgen

EVERYTHING = optgen.parse("""\
optimizer Everything "every operation, and reductions that depend on one another: four sweeps"
param lr    = 0.01
param p     = 1.7
param bound = none

state m = 0.5
state v = w
state k = p

update:
  near = float32(lr/3) + bfloat16(lr/7) + machine_epsilon
  host = near*sqrt(1 - 0.9^t)/(1 - 0.5^t) + exp(-t)*log(t + 1) + floor(t/2) + cbrt(t) + sign(lr) + abs(-lr) + t^2
  a    = max(g, m) + min(w, v) - clip(m*v, bound)/(1 + w^2)
  b    = exp(-abs(a)) + expm1(clip(a, -1, 1)) + log(abs(a) + 0.5) + log1p(abs(v)) + tanh(m)
  c    = cbrt(w) + (abs(v) + 0.1)^p + 2^clip(m, -9, 9)*0.001 + floor(3*w) + sign(m) + float32(b^3) - bfloat16(b)
  r1   = norm(a)
  s1   = sum(b*0.001) + mean(w) + max(c)
  d    = where((a > b or m == v) and not (w != w), c/(r1 + 1), where(g <= 0, s1, a))
  r2   = rms(d) + min(d + s1)
  e    = d/(r2 + host)
  r3   = where(r2 > r1, sum(e*w), -r1) / size
  m'   = 0.9*m + 0.1*(a - e)
  v'   = v + clip(d, -p, p)*lr
  k'   = k*0.5 + sqrt(abs(c))
  w'   = w - lr*(e + r3*0.01) - wd*w
""")

KINDS = optgen.parse("""\
optimizer Kinds "states of every kind, every reduction in every direction, draws, an input, an eval section"
param lr = 0.01
param d0 = 0.5

input h

state a         = 0
state b         = w
state c         = d0
state e         = 0
state S: host   = 1
state D: shared = d0
state T: tensor = 0.25
state R: row    = 0
state C: col    = d0

update:
  z   = normal()
  u   = uniform()
  p   = normal(per row)
  q   = uniform(per col)
  x   = clip(g*h, 3) + 0.1*a - u + 0.1*p*q
  y   = x*b/(1 + b^2) + 0.01*tril(b)
  R'  = 0.9*R + mean(x^2, per row) + 0.01*max(x, per row) - 0.02*min(y, per row)
  r   = where(cols > 0, norm(y, per row)*rms(x, per row)/(1 + abs(sum(y, per row))), 0)
  C'  = 0.9*C + mean(y^2, per col) + 0.01*max(y, per col) - 0.02*min(x, per col)
  k   = where(rows > 0, norm(x, per col)*rms(y, per col)/(1 + abs(sum(x, per col))), 0)
  n   = where(size > 0, mean(R') + norm(C') + max(r) - min(k) + rms(r) + 0.1*sum(k), 1)
  T'  = 0.5*T + n*max(x - r*k)/(1 + rms(y + C')) + rank + 0.01*rows - 0.01*cols
  S'  = S*0.9 + exp(-t)
  i   = sum(y, over params) + norm(r, over params) + max(k, over params)
  j   = mean(x, over params) + mean(S', over params)*rms(n, over params) + min(lr*t, over params)
  D'  = 0.9*D + d0*i/(1 + j^2) + 0.1/step
  a'  = 0.9*a + 0.1*x - S'*0.01*y
  b'  = b + lr*D'*x/(sqrt(abs(R')) + sqrt(abs(C')) + 0.1)
  c'  = abs(c)*0.5 + x^2
  e'  = clip(x - r*k, -1, T')
  w'  = w - lr*(b' + e')/(1 + sqrt(c') + n) - lr*D*wd*w + sqrt(lr)*z*0.01

eval:
  w' = b + (1 - S)*w + 0.001*(R*C - T)/(1 + D)*step
""")

ROWS = optgen.parse("""\
optimizer Rows "rows that are updated without the others, by another rule than all of them together"
param lr = 0.01
flag  matrix = rank >= 2

state m       = 0
state v       = 0
state R: row  = 0 if matrix
state n: host = 0

update:
  n'   = n + 1
  z    = uniform()
  q    = rademacher(per row)                        if matrix
  m'   = 0.9*m + g*z
  v'   = 0.9*v + g^2
  R'   = R + q*mean(g^2, per row)*max(m', per row)  if matrix
  d    = m'/(1 + sqrt(abs(R')))                     if matrix
  d    = m'                                         otherwise
  s    = 1/n'                                       if sparse
  s    = 1/(1 + rms(d))                             otherwise
  w'   = w - lr*s*d/(sqrt(v') + 1e-3) - lr*wd*w
""")
FROZEN = optgen.parse("""\
optimizer Frozen "parameters that stay as they are, beside some that do not; no sweep, or none that stores"
flag frozen per param = false
flag kept             = 'nothing' | 'host' | 'small' | 'sums'

state m         = 0
state x0        = w
state n: host   = 1    if kept == 'host'
state T: tensor = 0.5  if kept == 'small' or kept == 'sums'
state R: row    = 0    if kept == 'small' or kept == 'sums'
state C: col    = 0    if kept == 'sums'

update:
  n'     = n + lr*t                    if kept == 'host'
  T'     = 0.5*T + lr                  if kept == 'small'
  T'     = 0.5*T + sum(g^2)            if kept == 'sums'
  R'     = R + cols                    if kept == 'small'
  R'     = 0.9*R + max(g, per row)     if kept == 'sums'
  C'     = 0.9*C + mean(g, per col)    if kept == 'sums'
  x0'    = x0
  m'     = m                           if frozen
  m'     = 0.9*m + g - wd*(w - x0)     otherwise
  w'     = w                           if frozen
  w'     = w - lr*m'                   otherwise

eval:
  w' = w              if frozen
  w' = 0.5*(w + x0)   otherwise
""")
STARTS = optgen.parse("""\
optimizer Starts "states that start from what the first update computes, and one that is only kept"
param lr = 0.01
param c  = 0.5

input h

state a         = g
state b         = abs(g) + c*h^2
state k         = w - c*g
state R: row    = mean(g^2, per row)
state C: col    = max(abs(w), per col)
state T: tensor = norm(w) + rank
state S: host   = lr/2 + rows

update:
  a' = 0.9*a + 0.1*g
  b' = max(b, g^2)
  k' = k
  R' = 0.5*R + mean(a'^2, per row)
  C' = max(0.9*C, max(b', per col))
  T' = T + 1
  S' = S + lr
  w' = w - lr*(a' + k/T')/(sqrt(b') + R' + C' + 0.1) - lr*S'*a'

eval:
  w' = a + k*S + b
""")
BATCH = optgen.parse("""\
optimizer Batch "matrices of the last two axes: rows, columns and numbers of each of them"
axes last two
param lr = 0.01
flag matrix = rank >= 2

state R: row = 0 if matrix
state C: col = 0 if matrix
state v      = 0 if not matrix
state m      = 0

update:
  p  = uniform(per row)
  q  = normal(per col)
  R' = 0.9*R + mean(g^2, per row) + 0.001*p*max(w, per row)  if matrix
  C' = 0.9*C + rms(g, per col) + 0.001*q*min(w, per col)     if matrix
  n  = mean(R', per matrix) + 0.1*rms(g, per matrix)         if matrix
  k  = norm(C', per matrix) + max(C, per matrix) + rows      if matrix
  v' = 0.9*v + g^2                                           if not matrix
  d  = sqrt(abs(R'))*abs(C')/(1 + abs(k)) + cols/matrices    if matrix
  d  = v'                                                    otherwise
  c  = where(size > 0, mean(abs(R')) + rms(C'), 1)           if matrix
  c  = 1                                                     otherwise
  e  = where(R' < 0.5, g, 3*g) + where(C' > 0.4, w, 0.25*w)  if matrix
  e  = g                                                     otherwise
  m' = 0.9*m + triu(e)/(1 + sqrt(d))
  u  = m'/(1 + abs(n))                                       if matrix
  u  = m'                                                    otherwise
  w' = w - lr*u*(1 + norm(m')/(1 + norm(w)))/(1 + c) - lr*wd*w

eval:
  w' = w - R*C   if matrix
  w' = w         otherwise
""")
BATCHES: tuple[tuple[int, ...], ...] = (
    (2, 3, 4),
    (5, 1, 7),
    (37, 1, 1),
    (70, 3, 3),
    (3, 65, 6),
    (1, 300, 1),
    (0, 3, 4),
    (2, 2, 70, 130),
    (2, 0, 4),
    (2, 3, 0),
)
"""Of matrices, with rows of several blocks, with tiny ones, and with none."""
PAST = optgen.parse("""\
optimizer Past "histories of every kind, of a length that is given and of one that is not, and draws that are held"
param lr = 0.01
param c  = 0.5
param n: int = 3 in [3, 64]

state h[n]         = 0
state v[4]         = c
state T[2]: tensor = 1
state D[n]: shared = c
state R[3]: row    = 0
state C[5]: col    = c

update:
  z  = normal()   every n
  u  = uniform()  every 2 from 3
  p  = normal(per col)  every 2
  a  = (h[-1] - h[-2])*0.5 + h[-n] + v[-3]/(1 + v[-4]^2) + z*u
  b  = max(v[-1], v[-2], g^2)
  R' = max(a, per row) + 0.1*R[-3] - 0.2*R[-1]
  C' = max(b, per col) + 0.01*p + 0.1*C[-5] + C[-2]/(1 + abs(C[-4]))
  r  = where(R' < C', R[-2], 0.5*C[-3])
  T' = 0.5*T[-1] + 0.25*T[-2] + norm(a)/(1 + norm(w))
  s  = sum(b*r, over params)
  D' = D[-n] + s/(1 + s^2) + 0.5*D[-1]
  h' = 0.9*g + 0.1*a
  v' = where(t < 4, v[-4], b)
  w' = w - lr*(a + r)/(1 + abs(T[-1]) + D'^2)/(1 + sqrt(abs(b))) - lr*wd*w

eval:
  w' = w - 0.5*h[-1] + 0.25*h[-n] - T[-2]*v[-2]*D[-1]
""")
FEATURES = (EVERYTHING, KINDS, ROWS, FROZEN, STARTS, BATCH, PAST)
