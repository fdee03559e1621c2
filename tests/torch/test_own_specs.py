"""Classes of specs that users write: states of every kind, values that parameters share, and states that are wrong."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import Parameter

import optgen.torch
from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer

KINDS = """
optimizer Kinds
param beta1 = 0.9 in [0, 1)
param beta2 = 0.99 in [0, 1)
param d0    = 2
flag matrix = rank >= 2
state m         = g
state v         = g^2 + 0.5
state x0        = w
state r: row    = mean(g^2, per row) if matrix
state c: col    = d0                 if matrix
state n: tensor = norm(g)
state h: host   = d0
update:
  h'  = 0.5*h + t
  n'  = max(norm(g), 0.9*n)
  r'  = 0.5*r + mean(g^2, per row)     if matrix
  c'  = 0.5*c + max(abs(g), per col)   if matrix
  m'  = beta1*m + (1 - beta1)*g
  v'  = beta2*v + (1 - beta2)*g^2
  x0' = 0.99*x0 + 0.01*w
  q   = 1 + r'*c'                      if matrix
  q   = 2                              otherwise
  w'  = w - lr*(m'/(sqrt(v') + 0.001)/q/h' + wd*(w - x0')/(1 + n'))
"""

SHARED = """
optimizer Shared
param d0 = 4
state scale: shared = d0
update:
  scale' = 0.5*scale
  w'     = w - scale'*g
"""


def kinds_by_numpy(w: Any, grads: Any, lr: float, wd: float) -> dict[str, Any]:
    """The equations of KINDS, on the matrix of rows and columns that a parameter is."""
    is_matrix, shape = w.ndim > 1, w.shape
    w = w.reshape(shape[0], -1).copy()
    c, x0, h = np.full((1, w.shape[1]), 2.0), w.copy(), 2.0
    m = v = r = n = np.zeros(())
    for t, g in enumerate((g.reshape(w.shape) for g in grads), 1):
        rows = (g**2).mean(1, keepdims=True)
        if t == 1:
            m, v, r, n = g, g**2 + 0.5, rows, np.linalg.norm(g)
        h, n = 0.5 * h + t, max(np.linalg.norm(g), 0.9 * n)
        r, c = 0.5 * r + rows, 0.5 * c + abs(g).max(0, keepdims=True)
        m, v, x0 = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2, 0.99 * x0 + 0.01 * w
        q = 1 + r * c if is_matrix else 2
        w = w - lr * (m / (np.sqrt(v) + 0.001) / q / h + wd * (w - x0) / (1 + n))
    found = {"w": w, "m": m, "v": v, "x0": x0, "n": n, "h": h}
    return found | ({"r": r, "c": c} if is_matrix else {})


def weights(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [Parameter(torch.randn(shape, generator=generator, dtype=dtype)) for shape in shapes]


def saved(opt: torch.optim.Optimizer) -> Any:
    """A state dict that went through a file, read as only tensors and plain values are."""
    file = io.BytesIO()
    torch.save(opt.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def steps(opt: torch.optim.Optimizer, begin: int, end: int) -> None:
    for k in range(begin, end):
        for group in opt.param_groups:
            for p in group["params"]:
                x = torch.view_as_real(p.detach()) if p.is_complex() else p.detach()
                grad = torch.cos(x * 3 + k)
                p.grad = torch.view_as_complex(grad) if p.is_complex() else grad
        opt.step()


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("shape", [(6, 7), (2, 3, 4), (9,), (70, 300)])
def test_states_of_every_kind_through_files_and_copies(shape: tuple[int, ...], is_transposed: bool) -> None:
    random = np.random.default_rng(0)
    start, grads = random.standard_normal(shape), random.standard_normal((10, *shape))
    axes = tuple(reversed(range(len(shape))))
    own = torch.tensor(start.transpose(axes)).permute(axes) if is_transposed else torch.tensor(start)
    p, cls = Parameter(own), optimizer(optgen.parse(KINDS))
    opt: Any = cls([p], lr=0.1, weight_decay=0.2)
    for k, grad in enumerate(grads):
        p.grad = torch.tensor(grad)
        opt.step()
        if k == 2:
            state_dict, opt = saved(opt), cls([p], lr=5.0)
            opt.load_state_dict(state_dict)
        elif k == 4:
            opt = pickle.loads(pickle.dumps(opt))
        elif k == 5:
            p.data = p.data.clone()
        elif k == 6:
            opt = copy.deepcopy(opt)
        p = opt.param_groups[0]["params"][0]
    for name, expected in kinds_by_numpy(start, grads, 0.1, 0.2).items():
        x = p.detach() if name == "w" else opt.state[p][name]
        np.testing.assert_allclose(x.numpy().reshape(np.shape(expected)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4), (5,), (), (0, 3), (1, 1)])
def test_rows_and_columns_of_complex_parameters_are_those_of_pairs(shape: tuple[int, ...]) -> None:
    cls = optimizer(optgen.parse(KINDS))
    (p,) = weights(shape, dtype=torch.complex64)
    parts = torch.view_as_real(p.detach()).clone()
    pairs = Parameter(parts.flatten(-2) if shape else parts)
    opt, of_pairs = cls([p], lr=0.1), cls([pairs], lr=0.1)
    steps(opt, 0, 2)
    again = cls([copy.deepcopy(p)])
    again.load_state_dict(saved(opt))
    for one in (opt, again):
        steps(one, 2, 4)
    steps(of_pairs, 0, 4)
    assert torch.equal(torch.view_as_real(p.detach()).flatten(), pairs.detach().flatten())
    assert torch.equal(again.param_groups[0]["params"][0], p)


def test_complex_states_that_lie_in_another_order_are_loaded() -> None:
    (p,) = weights((4, 6, 5, 3), dtype=torch.complex64)
    other = Parameter(p.detach().clone().contiguous(memory_format=torch.channels_last))
    opt, again = optgen.torch.Lion([other]), optgen.torch.Lion([p])
    steps(opt, 0, 2)
    again.load_state_dict(saved(opt))
    assert torch.equal(again.state[p]["m"], opt.state[other]["m"])


def test_a_shared_state_is_updated_once_a_step() -> None:
    cls = optimizer(optgen.parse(SHARED))
    a, b = weights((2,), (3,))
    before = [a.detach().clone(), b.detach().clone()]
    opt = cls([{"params": [a]}, {"params": [b]}])
    a.grad, b.grad = torch.ones(2), torch.ones(3)
    opt.step()
    assert opt.state[a]["scale"] is opt.state[b]["scale"] and opt.state[a]["scale"].item() == 2.0
    assert all(torch.equal(old - 2.0, new.detach()) for old, new in zip(before, (a, b), strict=True))
    with pytest.raises(ValueError, match="in_backward=True, but Shared shares values between all parameters"):
        cls([a], in_backward=True)
    doubles = Parameter(torch.ones(2, dtype=torch.float64))
    mixed = cls([a, doubles])
    doubles.grad = torch.ones_like(doubles)
    with pytest.raises(ValueError, match="Shared shares values between all parameters, which must have one dtype"):
        mixed.step()


@pytest.mark.parametrize("line", ["state master = 0", "input master"])
def test_no_state_has_the_key_of_masters(line: str) -> None:
    more = "  master' = master + g\n" if line.startswith("state") else ""
    text = f"optimizer Own\n{line}\nupdate:\n{more}  w' = w - lr*master\n"
    with pytest.raises(ValueError, match=r"Own: state\[p\]\['master'\] is the float32 weight of p; choose another"):
        optimizer(optgen.parse(text))


@pytest.mark.parametrize("name", ["AdaHessian", "Sophia"])
def test_an_input_has_no_default(name: str) -> None:
    (p,) = weights((4, 3))
    opt: Any = getattr(optgen.torch, name)([p], lr=0.01)
    before, p.grad = p.detach().clone(), torch.ones(4, 3)
    with pytest.raises(ValueError, match=rf"parameter 0 .*: {name} reads 'h_hat', which nobody has given"):
        opt.step()
    assert torch.equal(p, before) and opt.state[p]["step"] == 0 and "h_hat" not in opt.state[p]
    opt.state[p]["h_hat"] = torch.full((4, 3), 2.0)
    opt.step()
    assert not torch.equal(p, before)
    opt.state[p]["h_hat"].fill_(3.0)
    again: Any = getattr(optgen.torch, name)([p], lr=0.01)
    again.load_state_dict(saved(opt))
    again.step()
    assert torch.equal(again.state[p]["h_hat"], torch.full((4, 3), 3.0))
    del again.state[p]["h_hat"]
    with pytest.raises(ValueError, match="nobody has given"):
        again.step()


def test_a_rate_of_0_at_first_with_sparse_gradients() -> None:
    (p,) = weights((4, 3))
    before, opt = p.detach().clone(), optgen.torch.Lion([p], lr=0.0)
    for grad in (torch.zeros(4, 3), torch.ones(4, 3)):
        p.grad = grad.to_sparse(1)
        opt.step()
        assert torch.equal(p, before)
    assert opt.state[p]["step"].item() == 1.0


def test_an_array_that_changes_in_place_is_seen() -> None:
    (p,) = weights((3,))
    rate: Any = np.array(0.5)
    opt: Any = optgen.torch.Lion([p], lr=rate)
    for expected in (0.5, 2.0):
        before = p.detach().clone()
        p.grad, rate[...] = torch.ones(3), expected
        opt.step()
        torch.testing.assert_close(before - p.detach(), torch.full((3,), expected))


def test_one_count_for_several_parameters() -> None:
    params = weights((2,), (2,), (3,))
    opt = optgen.torch.Lion(params)
    count = torch.tensor(5.0)
    for p in params:
        opt.state[p]["step"] = count
    steps(opt, 0, 1)
    assert opt.state[params[0]]["step"] is count
    count.fill_(100.0)
    steps(opt, 1, 2)
    assert [opt.state[p]["step"].item() for p in params] == [101.0, 7.0, 7.0]


@pytest.mark.parametrize("are_groups", [True, False])
def test_one_state_for_parameters_that_are_bound_apart(are_groups: bool) -> None:
    """Of two groups that differ in more than rates, or of two dtypes: a count is copied, and another state refused."""
    a, b = weights((3,), (3,))
    b.data = b.data if are_groups else b.data.double()
    groups = [{"params": [a]}, {"params": [b], "betas": (0.8, 0.9)}]
    opt: SpecOptimizer = optgen.torch.Lion(groups if are_groups else [a, b])
    opt.state[a]["step"] = opt.state[b]["step"] = torch.tensor(5.0)
    steps(opt, 0, 2)
    assert [opt.state[p]["step"].item() for p in (a, b)] == [7.0, 7.0]
    b.grad = None
    for _ in range(2):
        opt.step()
    assert [opt.state[p]["step"].item() for p in (a, b)] == [9.0, 7.0]
    opt.state[b]["step"].fill_(100.0)
    steps(opt, 2, 3)
    assert [opt.state[p]["step"].item() for p in (a, b)] == [10.0, 101.0]
    own, before = opt.state[b]["m"], [p.detach().clone() for p in (a, b)]
    opt.state[b]["m"] = opt.state[a]["m"]
    with pytest.raises(ValueError, match=r"state\['m'\]: parameter .* and parameter .* have the same tensor"):
        steps(opt, 2, 3)
    assert all(map(torch.equal, before, (a, b)))
    opt.state[b]["m"] = own
    steps(opt, 2, 3)


def test_a_state_that_becomes_a_meta_tensor_is_refused() -> None:
    (p,) = weights((3,))
    opt: SpecOptimizer = optgen.torch.Lion([("bias", p)])
    steps(opt, 0, 1)
    opt.state[p]["m"] = opt.state[p]["m"].to("meta")
    with pytest.raises(ValueError, match=r"parameter 'bias': state\['m'\]: a meta tensor"):
        steps(opt, 1, 2)


@pytest.mark.parametrize("name", ["Lion", "AdamW"])
def test_8_bit_states_are_decoded_for_parameters_of_64_bits(name: str) -> None:
    (p,) = weights((20, 256))
    opt = getattr(optgen.torch, name)([p], storage="int8_dynamic")
    steps(opt, 0, 2)
    wide = Parameter(p.detach().double())
    again, floats = (getattr(optgen.torch, name)([x]) for x in (wide, Parameter(p.detach().clone())))
    for one in (again, floats):
        one.load_state_dict(saved(opt))
        steps(one, 2, 3)
    key = "m" if name == "Lion" else "exp_avg"
    assert again.state[wide][key].dtype == torch.float64
    torch.testing.assert_close(*(x.param_groups[0]["params"][0].float() for x in (again, floats)))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_a_sparse_parameter_is_refused_by_name() -> None:
    p = Parameter(torch.eye(3).to_sparse_csr())
    p.grad = torch.eye(3).to_sparse_csr()
    for cls in (optgen.torch.Lion, optgen.torch.SGD):  # one makes states at construction, the other in a step
        with pytest.raises(TypeError, match=r"parameter 'matrix': torch.sparse_csr, .* make one of its to_dense\(\)"):
            cls([("matrix", p)]).step()


@pytest.mark.parametrize("seed", [True, np.True_, 1.0, -1, 1 << 64, None, "0"])
def test_a_seed_is_any_whole_number(seed: Any) -> None:
    assert optgen.torch.Lion(weights((3,)), seed=np.int64(3)).seed == 3
    with pytest.raises(ValueError, match="seed: a whole number from 0 to 2"):
        optgen.torch.Lion(weights((3,)), seed=seed)


@pytest.mark.parametrize("name", ["initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum"])
def test_no_param_has_a_key_that_schedulers_write(name: str) -> None:
    text = f"optimizer Own\nparam {name} = 1\nupdate:\n  w' = w - lr*{name}*g\n"
    with pytest.raises(ValueError, match=f"Own: PyTorch's schedulers write '{name}' into groups; choose another"):
        optimizer(optgen.parse(text))


def test_8_bit_states_of_a_single_number() -> None:
    p, q = weights((), (16, 300))
    opt = optgen.torch.Prodigy([p, q], storage="int8_dynamic")
    steps(opt, 0, 2)
    again = optgen.torch.Prodigy(copy.deepcopy([p, q]), storage="int8_dynamic")
    again.load_state_dict(saved(opt))
    for one in (opt, again):
        steps(one, 2, 4)
    assert all(map(torch.equal, again.param_groups[0]["params"], [p, q]))


WRONG: list[tuple[Any, type[Exception], str]] = [
    ({"step": torch.tensor(float("nan"))}, ValueError, r"state\['step'\] is tensor\(nan\), which is no number of upd"),
    ({"step": torch.tensor(-3.0)}, ValueError, r"parameter 0 of group 0.*state\['step'\] is tensor\(-3.\)"),
    ({"step": torch.tensor(1e30)}, ValueError, "which is no number of updates"),
    ({"step": torch.tensor([1.0, 2.0])}, ValueError, "which is no number of updates"),
    ({"step": torch.tensor(1.0, device="meta")}, ValueError, r"state\['step'\] of parameter 0 .*: a meta tensor"),
    ({"m": torch.zeros(6, 7, device="meta")}, ValueError, r"state\['m'\] of parameter 0 .*: a meta tensor"),
    ({"step": "x"}, ValueError, "which is no number of updates"),
    ({"m": torch.zeros(6, 7, dtype=torch.complex64)}, ValueError, r"parameter 0 .*state\['m'\]: .*complex64"),
    ({"m": torch.zeros(6, 7).to_sparse()}, ValueError, r"state\['m'\]: torch.sparse_coo"),
    ({"m": 3.0}, TypeError, r"state\['m'\]: expected a tensor"),
    ([], TypeError, "the state of parameter 0 of group 0.*expected a dict"),
]


@pytest.mark.parametrize(("state", "error", "message"), WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_wrong_states_are_refused_when_they_are_loaded(state: Any, error: type[Exception], message: str) -> None:
    (p,) = weights((6, 7))
    opt: SpecOptimizer = optgen.torch.Lion([p])
    steps(opt, 0, 2)
    good, bad = saved(opt), saved(opt)
    bad["state"][0] = {**bad["state"][0], **state} if isinstance(state, dict) else state
    with pytest.raises(error, match=message):
        opt.load_state_dict(bad)
    assert all(torch.equal(x, good["state"][0][key]) for key, x in opt.state[p].items())
    steps(opt, 2, 3)
