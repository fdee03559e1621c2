"""The section of the ways to use a spec: in NumPy, in PyTorch, with the training library, and in C."""

from __future__ import annotations

import re
from collections.abc import Callable

from optgen.library.specs import library_spec
from optgen.pages import traits
from optgen.pages.html import Child, code, joined, tag
from optgen.pages.topic import PageSection, Topic


def section(topic: Topic) -> PageSection:
    parts: list[Child] = []
    for title, snippet in SNIPPETS:
        text = snippet(topic)
        parts += [tag("h3", title), tag("pre", code(text)) if text else tag("p", NOT[title])]
    return PageSection("use", "How to use it", joined(parts))


NOT = {
    "The training library": "These optimizers are not among those of runtime.optimizer.",
    "C, C++ and Rust": "A library in C has no such updates yet: they are more than kernels.",
}
"""What is said where there is no snippet."""


def numpy(topic: Topic) -> str:
    """A step on arrays."""
    optimizer = topic.optimizer
    ones = "np.ones((256, 256), np.float32)"
    inputs = "".join(f', inputs={{"{i.name}": [{ones}]}}' for i in optimizer.inputs[:1])
    given = [f"{name}=1.0" for name in optimizer.given]
    arguments = ", ".join([*([f"lr={optimizer.first_rate:.15g}"] if "lr" in optimizer.reads else []), *given])
    calls = [f"step.{phase}({arguments})" for phase in optimizer.phases] or [f"step({arguments})"]
    between = "\n# new gradients, at these weights\n"
    return (
        "import numpy as np\n\nimport optgen\n\n"
        f"weights, gradients = [{ones}], [{ones}]\n"
        f'step = optgen.load("{topic.name}").bind(weights, gradients{inputs})\n'
        f"{between.join(calls)}"
    )


def pytorch(topic: Topic) -> str:
    """A step of a network, whose parameters of one dimension another optimizer takes where this one refuses them."""
    optimizer = topic.optimizer
    rest = " otherwise adamw" if traits.only_matrices(optimizer) else ""
    rate = f", lr={optimizer.first_rate:.15g}" if "lr" in optimizer.reads else ""
    inputs = "".join(
        f'for p in net.parameters():\n    optimizer.state[p]["{i.name}"] = torch.ones_like(p)  # your estimate\n'
        for i in optimizer.inputs
    )
    return (
        "import torch\n\nimport optgen.torch\n\n"
        "net = torch.nn.Linear(256, 256)\n"
        "x, y = torch.randn(2, 8, 256)\n"
        f'optimizer = optgen.torch.optimizer("{topic.name}{rest}")(net{rate})\n\n'
        "def closure():\n"
        "    optimizer.zero_grad()\n"
        "    loss = torch.nn.functional.mse_loss(net(x), y)\n"
        "    loss.backward()\n"
        "    return loss\n\n"
        f"{inputs}optimizer.step(closure)"
    )


def training(topic: Topic) -> str:
    """An optimizer of the training library; an empty text for a spec that it does not have."""
    if topic.family in ("torch", "optax"):
        return ""
    optimizer = topic.optimizer
    name = optimizer.name.lower()
    register = "" if topic.is_shipped else f'mx.optimizer.register_spec("{topic.name}")\n'
    rate = f", learning_rate={optimizer.first_rate:.15g}" if "lr" in optimizer.reads else ""
    return (
        "import runtime as mx\n\n"
        f'{register}optimizer = mx.optimizer.create("{name}"{rate})\n'
        "net = mx.gluon.nn.Dense(256, in_units=256)\nnet.initialize()\n"
        "trainer = mx.gluon.Trainer(net.collect_params(), optimizer)"
    )


def library(topic: Topic) -> str:
    """The command that makes a library, and what a program calls; an empty text where there can be none."""
    prefix = re.sub(r"\W", "_", topic.name.removesuffix(".opt").rpartition("/")[2] or topic.name)
    if topic.family in ("torch", "optax"):
        prefix = topic.name.replace("/", "_")
    try:
        library_spec(prefix, topic.optimizer, {}, ["float32"], None, master=False, every_flag=False)
    except (TypeError, ValueError):
        return ""
    calls = [f"{prefix}_step_{phase}(context, &hyper);" for phase in topic.optimizer.phases]
    return "\n".join(
        (
            f"optgen build {topic.name} -o {prefix}",
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


SNIPPETS: tuple[tuple[str, Callable[[Topic], str]], ...] = (
    ("Arrays of NumPy and others", numpy),
    ("PyTorch", pytorch),
    ("The training library", training),
    ("C, C++ and Rust", library),
)
"""The title of each way, and its snippet."""
