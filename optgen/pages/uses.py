"""The section of the ways to use a spec: in NumPy, in PyTorch, with the training library, and in C."""

from __future__ import annotations

import re
from collections.abc import Callable

from optgen.library.specs import library_spec
from optgen.pages import traits
from optgen.pages.html import Child, code, joined, tag
from optgen.pages.subject import Section, Subject


def section(subject: Subject) -> Section:
    parts: list[Child] = []
    for title, snippet in SNIPPETS:
        text = snippet(subject)
        parts += [tag("h3", title), tag("pre", code(text)) if text else tag("p", NOT[title])]
    return Section("use", "How to use it", joined(parts))


NOT = {
    "The training library": "These optimizers are not among those of runtime.optimizer.",
    "C, C++ and Rust": "A library in C has no such updates yet: they are more than kernels.",
}
"""What is said where there is no snippet."""


def numpy(subject: Subject) -> str:
    """A step on arrays."""
    optimizer = subject.optimizer
    ones = "np.ones((4, 3), np.float32)"
    inputs = "".join(f', inputs={{"{i.name}": [{ones}]}}' for i in optimizer.inputs[:1])
    given = [f"{name}=1.0" for name in optimizer.given]
    arguments = ", ".join([*([f"lr={_rate(subject)}"] if "lr" in optimizer.reads else []), *given])
    calls = [f"step.{phase}({arguments})" for phase in optimizer.phases] or [f"step({arguments})"]
    between = "\n# new gradients, at these weights\n"
    return (
        "import numpy as np\n\nimport optgen\n\n"
        f"weights, gradients = [{ones}], [{ones}]\n"
        f'step = optgen.load("{subject.name}").bind(weights, gradients{inputs})\n'
        f"{between.join(calls)}"
    )


def pytorch(subject: Subject) -> str:
    """A step of a network, whose parameters of one dimension another optimizer takes where this one refuses them."""
    optimizer = subject.optimizer
    rest = " otherwise adamw" if traits.only_matrices(optimizer) else ""
    rate = f", lr={_rate(subject)}" if "lr" in optimizer.reads else ""
    inputs = "".join(
        f'for p in net.parameters():\n    optimizer.state[p]["{i.name}"] = torch.ones_like(p)  # your estimate\n'
        for i in optimizer.inputs
    )
    return (
        "import torch\n\nimport optgen.torch\n\n"
        "net = torch.nn.Linear(3, 2)\n"
        "x, y = torch.randn(8, 3), torch.randn(8, 2)\n"
        f'optimizer = optgen.torch.optimizer("{subject.name}{rest}")(net{rate})\n\n'
        "def closure():\n"
        "    optimizer.zero_grad()\n"
        "    loss = torch.nn.functional.mse_loss(net(x), y)\n"
        "    loss.backward()\n"
        "    return loss\n\n"
        f"{inputs}optimizer.step(closure)"
    )


def training(subject: Subject) -> str:
    """An optimizer of the training library; an empty text for a spec that it does not have."""
    if subject.family in ("torch", "optax"):
        return ""
    name = subject.optimizer.name.lower()
    register = "" if subject.comes_along else f'mx.optimizer.register_spec("{subject.name}")\n'
    rate = f", learning_rate={_rate(subject)}" if "lr" in subject.optimizer.reads else ""
    return (
        "import runtime as mx\n\n"
        f'{register}optimizer = mx.optimizer.create("{name}"{rate})\n'
        "net = mx.gluon.nn.Dense(2, in_units=3)\nnet.initialize()\n"
        "trainer = mx.gluon.Trainer(net.collect_params(), optimizer)"
    )


def library(subject: Subject) -> str:
    """The command that makes a library, and what a program calls; an empty text where there can be none."""
    prefix = re.sub(r"\W", "_", subject.name.removesuffix(".opt").rpartition("/")[2] or subject.name)
    if subject.family in ("torch", "optax"):
        prefix = subject.name.replace("/", "_")
    try:
        library_spec(prefix, subject.optimizer, {}, ["float32"], None, master=False, every_flag=False)
    except (TypeError, ValueError):
        return ""
    calls = [f"{prefix}_step_{phase}(context, &hyper);" for phase in subject.optimizer.phases]
    return "\n".join(
        (
            f"optgen build {subject.name} -o {prefix}",
            "",
            f'#include "{prefix}.h"',
            f"{prefix}_hyper hyper = {prefix}_hyper_defaults();",
            f"const {prefix}_options options = {prefix}_options_defaults();",
            f"{prefix}_context *context;",
            f"{prefix}_create(&context, tensors, 1, &options, &hyper);",
            *(calls or [f"{prefix}_step(context, &hyper);"]),
            f"{prefix}_destroy(context);",
        )
    )


SNIPPETS: tuple[tuple[str, Callable[[Subject], str]], ...] = (
    ("Arrays of NumPy and others", numpy),
    ("PyTorch", pytorch),
    ("The training library", training),
    ("C, C++ and Rust", library),
)
"""The title of each way, and its snippet."""


def _rate(subject: Subject) -> str:
    """The rate to begin with: the spec's hint, or else its default."""
    optimizer = subject.optimizer
    rate = optimizer.lr_hint if optimizer.lr_hint is not None else optimizer.all_params["lr"].default
    return f"{rate:.15g}"
