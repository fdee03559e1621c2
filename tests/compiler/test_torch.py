"""Steps on PyTorch's tensors, which can be given other memory while they are bound, and have a version for autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import optgen
from optgen import State

torch = pytest.importorskip("torch")

SOPHIA = optgen.load("sophia")
SHAPE = (3, 3)


def tensors(n: int = 1) -> list[Any]:
    return [torch.arange(1.0, 10.0).reshape(SHAPE) for _ in range(n)]


class Bound:
    """A step of which every tensor is PyTorch's."""

    def __init__(self) -> None:
        self.params, self.grads, self.inputs, m, h = (tensors(2) for _ in range(5))
        self.state = State({"m": m, "h": h}, np.zeros(2, np.int64))
        self.step = SOPHIA.bind(self.params, self.grads, self.state, {"h_hat": self.inputs})

    def of(self, role: str) -> Any:
        """The second tensor of a role."""
        state = self.state.arrays["m"]
        return {"params": self.params, "grads": self.grads, "inputs": self.inputs, "state": state}[role][1]


def set_data(x: Any) -> None:
    x.data = torch.zeros(SHAPE)


def resize(nbytes: int) -> Callable[[Any], None]:
    return lambda x: x.untyped_storage().resize_(nbytes)


def freed_and_smaller(x: Any) -> None:
    """Perhaps at the same address, as another allocation may get what was just given back."""
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(16)


def as_integers(x: Any) -> None:
    x.data = x.data.view(torch.int32)


def as_sparse(x: Any) -> None:
    torch.utils.swap_tensors(x, torch.eye(3).to_sparse())


REPLACED: dict[str, Callable[[Any], Any]] = {
    "p.data = x": set_data,
    "set_": lambda x: x.set_(torch.zeros(SHAPE)),
    "another dtype": lambda x: setattr(x, "data", x.data.double()),
    "the same bytes as another dtype": as_integers,
    "the same bytes in another shape": lambda x: setattr(x, "data", x.data.view(9)),
    "transposed in place": lambda x: x.t_(),
    "sparse": as_sparse,
    "freed": resize(0),
    "larger": resize(4096),
    "smaller": freed_and_smaller,
}


@pytest.mark.parametrize("replace", REPLACED.values(), ids=REPLACED)
@pytest.mark.parametrize("role", ["params", "grads", "inputs", "state"])
def test_what_was_replaced_is_refused(role: str, replace: Callable[[Any], Any]) -> None:
    bound = Bound()
    bound.step()
    first = bound.params[0].clone()
    replace(bound.of(role))
    advice = "rebind the gradients" if role == "grads" else "bind anew, with state=step.state"
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"^{role}.*\[1\]: no longer the memory, shape or dtype .*; {advice}$"):
            bound.step(lr=100.0)
    assert torch.equal(bound.params[0], first) and bound.state.t.tolist() == [1, 1]
    if role == "grads":
        bound.step.rebind(tensors(2))
        bound.step()
        assert not torch.equal(bound.params[0], first)


def test_the_state_goes_on_with_parameters_of_another_place() -> None:
    """As errors advise: bound anew, the steps are those of a step to which nothing happened."""
    reference, bound = Bound(), Bound()
    for each in (reference, bound):
        each.step(lr=0.1)
    bound.params[0].data = bound.params[0].data.clone()
    again = SOPHIA.bind(bound.params, bound.grads, bound.step.state, {"h_hat": bound.inputs})
    again(lr=0.1)
    reference.step(lr=0.1)
    assert all(map(torch.equal, bound.params, reference.params)) and again.state.t.tolist() == [2, 2]


def test_evaluate_refuses_what_was_replaced() -> None:
    params = tensors()
    step = optgen.load("asgd").bind(params, tensors())
    step()
    set_data(params[0])
    with pytest.raises(ValueError, match=r"^params\[0\]: no longer the memory"):
        step.evaluate()


def test_memory_that_was_replaced_is_not_given_to_others() -> None:
    """Which a kernel that is on its way, or a graph, would write."""
    (param,) = tensors()
    step = SOPHIA.bind([param], tensors(), inputs={"h_hat": tensors()})
    address = param.data_ptr()
    set_data(param)
    assert address not in {x.data_ptr() for x in tensors(200)}
    del step


def test_gradients_elsewhere_at_each_step() -> None:
    (param,) = tensors()
    step = optgen.load("sgd").bind([param])
    for _ in range(3):
        param.grad = torch.ones(SHAPE)
        step(lr=1.0)
    param.grad.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match=r"^grads\[0\]: a Tensor without memory \(its address is 0\)"):
        step()
    assert torch.equal(param, tensors()[0] - 3)


# ---------------------------------------------------------------- what autograd is told


def test_backward_refuses_what_a_step_has_written() -> None:
    """As it does after a step of torch.optim, in place of a gradient of the new values."""
    used, unused = (torch.nn.Parameter(x) for x in tensors(2))
    step = optgen.load("sgd").bind([used, unused])
    loss, other = (used * used).sum(), (unused * unused).sum()
    used.grad = torch.ones(SHAPE)
    step(lr=1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    other.backward()  # it had no gradient, so that it is what it was
    assert torch.equal(unused.grad, 2 * unused)


def test_versions_count_what_is_written() -> None:
    bound = Bound()
    versions = {role: bound.of(role)._version for role in ("params", "state", "grads", "inputs")}
    bound.step()
    bound.step()
    after = {role: bound.of(role)._version - version for role, version in versions.items()}
    assert after == {"params": 2, "state": 2, "grads": 0, "inputs": 0}
    averaged = tensors()
    step = optgen.load("asgd").bind(averaged, tensors())
    step.evaluate()
    assert averaged[0]._version == tensors()[0]._version


def test_inference_tensors_have_no_version() -> None:
    with torch.inference_mode():
        params = tensors()
    optgen.load("sgd").bind(params, [torch.ones(SHAPE)])(lr=1.0)
    assert torch.equal(params[0], tensors()[0] - 1)


# ---------------------------------------------------------------- tensors that have no memory of their own


class Wrapper(torch.Tensor):  # type: ignore[misc, name-defined, unused-ignore]
    """As DTensor and FakeTensor are made. (The latter's module takes seconds to import.)"""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{function} of a wrapper")


class Sharded(Wrapper):
    def to_local(self) -> Any:
        raise AssertionError("only named")


def stored(nbytes: int) -> Any:
    x = torch.ones(4)
    x.untyped_storage().resize_(nbytes)
    return x


WITHOUT: dict[str, tuple[Callable[[], Any], str]] = {
    "wrapper": (lambda: Wrapper(torch.ones(4)), r"a Wrapper without memory \(its address is 0\)"),
    "sharded": (lambda: Sharded(torch.ones(4)), r"a Sharded without memory .*; pass its to_local\(\)"),
    "functional": (lambda: torch._to_functional_tensor(torch.ones(4)), "a Tensor without memory"),
    "zeros": (lambda: torch._efficientzerotensor((4,)), "a Tensor without memory"),
    "freed": (lambda: stored(0), "a Tensor without memory .*; it was freed"),
    "too small": (lambda: stored(8), "its storage was made smaller .*: 8 bytes, and its shape needs 16"),
    "negative": (lambda: torch.tensor([1 + 2j]).conj().imag, r"the negative of its values; pass its resolve_neg\(\)"),
    "not initialized": (torch.nn.UninitializedParameter, "an? UninitializedParameter that has no memory"),
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "a Tensor that has no memory"),
    "meta": (lambda: torch.ones(4, device="meta"), "on device 'meta'"),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("make, text", WITHOUT.values(), ids=WITHOUT)
def test_what_has_no_memory_is_refused(make: Callable[[], Any], text: str) -> None:
    rule = optgen.load("sgd")
    with pytest.raises((TypeError, ValueError), match=rf"^params\[0\]: .*{text}"):
        rule.init([make()])
    with pytest.raises((TypeError, ValueError), match=rf"^grads\[0\]: .*{text}"):
        rule.bind([torch.ones(4)], [make()])


def test_what_torch_func_wraps_is_refused() -> None:
    def refuse(x: Any) -> Any:
        with pytest.raises(TypeError, match=r"^params\[0\]: a Tensor that has no memory of its own: "):
            optgen.load("sgd").init([x])
        return x.sum()

    torch.func.grad(refuse)(torch.ones(3))
    torch.func.vmap(refuse)(torch.ones(2, 3))


# ---------------------------------------------------------------- modules


def test_a_layer() -> None:
    layer, rule = torch.nn.Linear(5, 3), optgen.load("sgd", momentum=0.5)
    params = list(layer.parameters())
    step = rule.bind(params, None, rule.init(params))
    before = [p.detach().numpy().copy() for p in params]
    layer(torch.ones(2, 5)).sum().backward()
    step(lr=0.5)
    for p, old in zip(params, before, strict=True):
        assert np.allclose(p.detach().numpy(), old - 0.5 * p.grad.numpy())
    layer.zero_grad()
    before = [p.detach().numpy().copy() for p in params]
    step()
    assert all(np.array_equal(p.detach().numpy(), old) for p, old in zip(params, before, strict=True))
    with pytest.raises(TypeError, match=r"params\[0\]: dtype bfloat16, .*; optgen.load\(..., dtype='bfloat16'\)"):
        rule.init([torch.ones(3, dtype=torch.bfloat16)])
    with pytest.raises(TypeError, match=r"params\[0\]: its layout is torch.sparse_coo; .* pass RowSparse\(x.indices"):
        rule.init([torch.ones(2, 3).to_sparse()])


def test_parameters_of_a_module() -> None:
    """Which are an iterator, gone after the first look."""
    net, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    other.load_state_dict(net.state_dict())
    for layer in (net, other):
        layer(torch.ones(1, 3)).sum().backward()
    optgen.load("adam").bind(net.parameters())(lr=0.5)
    grads: Iterator[Any] = (p.grad for p in other.parameters())
    optgen.load("adam").bind(dict(other.named_parameters()).values(), grads)(lr=0.5)
    assert all(map(torch.equal, net.parameters(), other.parameters()))
    with pytest.raises(TypeError, match="params: expected a list of tensors, not Parameter"):
        optgen.load("adam").bind(net.weight)
