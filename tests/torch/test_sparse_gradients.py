"""Sparse COO gradients: of rows, of single elements, and in turn with dense ones."""

from __future__ import annotations

import pytest
import torch
from torch.nn import Parameter

import optgen
import optgen.torch
from optgen.torch import optimizer
from optgen.torch.base import SpecOptimizer
from tests.torch.params import numbers, params_of

LION = optgen.torch.Lion


def sparse(rows: list[int], shape: tuple[int, ...], seed: int, *, dims: int = 1) -> torch.Tensor:
    """An uncoalesced gradient of these rows, or of single elements in them."""
    values = numbers((len(rows), *shape[dims:]), seed)
    index = torch.tensor([rows, *([r % n for r in rows] for n in shape[1:dims])])
    return torch.sparse_coo_tensor(index, values, shape, check_invariants=True)


@pytest.mark.parametrize("name", ["lion", "adabelief", "adagrad"])
def test_a_sparse_gradient_updates_its_rows_only(name: str) -> None:
    p = Parameter(numbers((6, 4)))
    opt = optimizer(name)([p], lr=0.1)
    alone = optimizer(name)([Parameter(p.detach()[1:2].clone())], lr=0.1)
    (q,) = params_of(alone)
    for k, members in enumerate([[1, 4, 1], [1, 0], [1], [4, 5, 1]]):
        before = p.detach().clone()
        p.grad = sparse(members, (6, 4), k)
        q.grad = p.grad.to_dense()[1:2]
        opt.step()
        alone.step()
        changed = (p != before).any(1)
        assert changed.tolist() == [r in members for r in range(6)]
    assert torch.equal(p[1:2], q), "a row that has always had a gradient"
    assert opt.state[p]["step"] == 4


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("name", ["lion", "lamb", "adafactor", "prodigy"])
def test_a_rule_that_needs_all_elements_reads_zeros_for_those_that_are_missing(name: str, dims: int) -> None:
    shape = (6, 4)
    p, q = (Parameter(numbers(shape)) for _ in range(2))
    opt, plain = (optimizer(name)([w], lr=0.1) for w in (p, q))
    if optgen.load(name).lazy:
        return
    for k in range(3):
        p.grad = sparse([1, 4, 1, 5], shape, k, dims=dims)
        q.grad = p.grad.to_dense()
        opt.step()
        plain.step()
        assert torch.equal(p, q)


def test_single_elements_of_a_sparse_gradient_are_updated_alone() -> None:
    p = Parameter(numbers((5, 4)))
    opt = optimizer("adabelief")([p], lr=0.1)
    before = p.detach().clone()
    index, values = torch.tensor([[0, 3, 0], [1, 2, 1]]), torch.tensor([1.0, 2.0, 3.0])
    p.grad = torch.sparse_coo_tensor(index, values, (5, 4), check_invariants=True)
    opt.step()
    assert (p != before).nonzero().tolist() == [[0, 1], [3, 2]]
    assert opt.state[p]["m"].shape == p.shape and opt.state[p]["m"].count_nonzero() == 2


def test_dense_and_sparse_gradients_of_several_parameters_in_turn() -> None:
    shapes = ((300, 20), (6, 4, 3), (5,))
    for kwargs in ({}, {"storage": "int8_dynamic"}, {"storage": "bfloat16"}):
        params = [Parameter(numbers(shape, k)) for k, shape in enumerate(shapes)]
        opt: SpecOptimizer = LION(params, lr=0.01, **kwargs)
        for k in range(6):
            before = [p.detach().clone() for p in params]
            is_sparse = [(k + i) % 3 == 0 for i in range(3)]
            for i, p in enumerate(params):
                p.grad = sparse([1, 3], shapes[i], k) if is_sparse[i] else numbers(shapes[i], k)
            opt.step()
            for p, old, rows in zip(params, before, is_sparse, strict=True):
                assert (p != old).flatten(1).any(1).sum() == (2 if rows else len(p)) if p.dim() > 1 else True
        assert all(opt.state[p]["step"] == 6 for p in params)


def test_embeddings_with_sparse_gradients_learn() -> None:
    torch.manual_seed(0)
    table = torch.nn.Embedding(10, 4, sparse=True)
    opt = optimizer("adabelief")(table.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        opt.zero_grad()
        loss = table(torch.tensor([1, 3, 3])).square().sum()
        loss.backward()
        assert table.weight.grad.is_sparse  # type: ignore[union-attr]
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_sparse_gradients_of_complex_and_strided_parameters() -> None:
    for x in (
        numbers((6, 4), dtype=torch.complex64),
        numbers((6,), dtype=torch.complex64),
        numbers((4, 6)).t(),
    ):
        p = Parameter(x.clone())
        opt = LION([p], lr=0.1)
        for k in range(2):
            before = p.detach().clone()
            values = numbers((3, *x.shape[1:]), k, x.dtype)
            p.grad = torch.sparse_coo_tensor(torch.tensor([[1, 4, 1]]), values, x.shape, check_invariants=True)
            opt.step()
            changed = (p != before).reshape(6, -1).any(1)
            assert changed.tolist() == [False, True, False, False, True, False]
