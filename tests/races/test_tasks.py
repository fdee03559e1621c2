"""The tasks that come with optgen: each trains, and is the same for the same seed."""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

import optgen.torch  # noqa: E402
from optgen.races import tasks, text  # noqa: E402

NAMES = sorted(path.stem for path in Path(tasks.__file__).parent.glob("*.py") if path.stem != "__init__")
Curve = list[tuple[int, float]]


def trained(name: str, seed: int, make: Callable[[Any, int], Any]) -> Curve:
    found: Curve = []
    importlib.import_module(f"optgen.races.tasks.{name}").train(make, seed, lambda *point: found.append(point))
    return found


def adamw(params: Any, steps: int) -> Any:
    return optgen.torch.optimizer("adamw")(params, lr=1e-3)


def test_the_default_tasks_are_there() -> None:
    assert set(tasks.DEFAULT) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_the_same_for_the_same_seed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"optgen.races.tasks.{name}")
    monkeypatch.setattr(module, "STEPS", 3)
    monkeypatch.setattr(module, "LOOKS", 3)
    assert all(isinstance(x, str) and x for x in (module.TITLE, module.LOSS)) and math.isfinite(module.TARGET)
    first = trained(name, 5, adamw)
    assert [step for step, _ in first] == [1, 2, 3] and all(math.isfinite(loss) for _, loss in first)
    torch.rand(7)  # what others draw changes nothing
    assert trained(name, 5, adamw) == first != trained(name, 6, adamw)


def test_the_documented_task_trains(tmp_path: Path) -> None:
    documented = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text("utf-8").partition("## The tasks")[2]
    (tmp_path / "mine.py").write_text(documented.partition("```python\n")[2].partition("```")[0])
    mine = runpy.run_path(str(tmp_path / "mine.py"))
    found: Curve = []
    mine["train"](lambda *args: optgen.torch.optimizer("adamw")(args[0], lr=0.1), 0, lambda *x: found.append(x))
    assert found[-1][0] == 100 and found[-1][1] < mine["TARGET"] < found[0][1]


def test_the_text_is_the_one_that_was_measured() -> None:
    found = text.stories()
    assert len(found) == text.SIZE and found.isascii()
    assert hashlib.sha256(found.encode()).hexdigest() == SHA256


SHA256 = "938cf61864839d09b3273c9395f47dbf480e767e399725d887ae5a0b395a0d78"


def test_the_text_tells_the_truth() -> None:
    found = text.stories()
    sums = re.findall(r"had (\d+) (\w+) and bought (\d+) more, so (?:s?he) had (\d+) \2\.", found)
    assert len(sums) > 200 and all(int(a) + int(b) == int(c) for a, _, b, c in sums)
    spelled = re.findall(r"spelled (\w+): ([a-z-]+)\.", found)
    assert len(spelled) > 200 and all("".join(letters.split("-")) == word for word, letters in spelled)
    recalled = re.findall(r"(\w+) put the (\w+) ([^.]*)\..*?The \2 was still \3, where \1 had put it\.", found)
    assert len(recalled) == found.count(" was still ")


@pytest.mark.stress
def test_the_small_gpt_has_the_known_order() -> None:
    """Muon and SOAP below AdamW, and SGD above it, at rates near the best ones of each."""
    losses = {}
    for name, how in ORDER.items():
        make = functools.partial(warmed, name, how)
        losses[name] = trained("char_gpt", 0, make)[-1][1]
    assert max(losses["muon_adamw"], losses["soap_adamw"]) + 0.1 < losses["adamw"] < losses["sgd"] - 0.1


ORDER = {
    "muon_adamw": {"lr": 0.06, "adam_lr": 0.003},
    "soap_adamw": {"lr": 0.01, "adam_lr": 0.01},
    "adamw": {"lr": 0.006},
    "sgd": {"lr": 0.2, "momentum": 0.9},
}


def warmed(name: str, how: dict[str, float], net: Any, steps: int) -> Any:
    """The optimizer, whose rate rises for a tenth of the steps and then falls to 0."""
    made = optgen.torch.optimizer(name)(net, **how)
    shape = torch.optim.lr_scheduler.LambdaLR(made, lambda k: min((k + 1) / (steps / 10), (steps - k) / (steps * 0.9)))
    made.register_step_post_hook(lambda *_: shape.step())
    return made
