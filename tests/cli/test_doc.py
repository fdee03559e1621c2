"""`optgen doc`: the document in the repository is what the specs say, and what it says about a spec."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from optgen.cli import main
from optgen.cli.common import paths_of
from optgen.cli.doc import document, sections
from tests.conftest import Golden

ROOT = Path(__file__).parents[2]
SPEC = """\
optimizer Mine alias own "A * is born"
cite "Somebody 1999"

# Unlike anything else,
# it does this.
param lr   = 0.1
param beta = 0.9 in [0, 1) alias rho "decay"
param low  = none zero off in [0, inf)
param n: int = 5
flag  kind = 'a' | 'b' | 'c' "which"
flag  heavy = beta > 0 and n > 0
flag  skip per param = false

require n > 0 "n counts"

input h "another array"

state m = 0 if heavy "velocity"
state k: host = 1 "how often"

update:
  k' = k + n                    # a count
  # its square for one kind
  x  = h*h                      if kind == 'c'
  x  = h                        otherwise
  m' = beta*m + x               if heavy
  r  = norm(w)                  if skip
  r  = clip(rescale_grad, low)  otherwise
  w' = w - lr*r*(m' + grad)     if heavy
  w' = w - lr*r/k'*(x + grad)   otherwise

eval:
  w' = w + m                    if heavy
  w' = w                        otherwise
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.opt"
    path.write_text(SPEC)
    return path


@pytest.mark.usefixtures("checked_once")
def test_the_document_is_fresh(golden: Golden) -> None:
    text = document(paths_of([]))
    golden(ROOT / "docs" / "optimizers.md", text)
    assert [x for x in re.findall(r"(?:is|Needs|\(if) `(.*?)`", text) if x.count("(") != x.count(")")] == []


def test_a_section(mine: Path, golden: Golden) -> None:
    text = document([mine])
    assert "\n| [Mine](#mine) | A \\* is born | `m` `k` | 16 to 28 |\n" in text
    golden(Path(__file__).with_name("section.md"), text[text.index("## Mine") :])


def test_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("optgen.cli.doc.document", lambda specs: "# Optimizers\n")
    path = tmp_path / "new" / "optimizers.md"
    line = ["doc", "-o", str(path)]
    assert main([*line, "--check"]) == 1 and not path.exists()
    assert "is not what the specs say; optgen doc writes it anew" in capsys.readouterr().err
    assert main(line) == 0 and path.read_text() == "# Optimizers\n"
    assert main([*line, "--check"]) == 0
    path.write_text("# Old\n")
    assert main([*line, "--check"]) == 1 and path.read_text() == "# Old\n"


def test_the_document_of_a_checkout_is_written_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("optgen.cli.doc.document", lambda specs: "# Optimizers\n")
    monkeypatch.setattr("optgen.specfiles.checkout", lambda: tmp_path / "optgen")
    own = tmp_path / "own" / "docs" / "optimizers.md"
    own.parent.mkdir(parents=True)
    own.write_text("# Mine\n")
    monkeypatch.chdir(tmp_path / "own")
    assert main(["doc"]) == 0
    assert (tmp_path / "optgen" / "docs" / "optimizers.md").read_text() == "# Optimizers\n"
    assert own.read_text() == "# Mine\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a single spec, which is not formatted."""
    root = tmp_path / "checkout"
    (root / "specs").mkdir(parents=True)
    (root / "specs" / "mine.opt").write_text("optimizer Mine\nupdate:\n      w'=w - lr*g\n")
    monkeypatch.setattr("optgen.specfiles._HERE", root / "optgen")
    monkeypatch.chdir(tmp_path)
    return root


@pytest.mark.parametrize(
    ("command", "link", "otherwise"),
    [
        ("doc", "docs/optimizers.md", "name the file to write with -o FILE"),
        ("doc", "docs", "name the file to write with -o FILE"),
        ("fmt", "specs/other.opt", "name the files to format"),
        ("fmt", "specs", "name the files to format"),
        ("build --kernels", "generated", "name the folder to write to with -o FOLDER"),
        ("build --kernels", "generated/mine", "name the folder to write to with -o FOLDER"),
        ("build --kernels mine", "generated/mine", "name the folder to write to with -o FOLDER"),
    ],
)
def test_links_of_a_checkout_lead_no_command_out_of_it(
    command: str, link: str, otherwise: str, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside, outside = checkout / link, checkout.parent / f"outside{Path(link).suffix}"
    inside.parent.mkdir(exist_ok=True)
    if inside.is_dir():
        inside.rename(outside)
    elif inside.suffix:
        outside.write_text("optimizer Other\nupdate:\n      w'=w - lr*g\n")
    else:
        outside.mkdir()
    inside.symlink_to(outside)
    before = {path: path.read_text() for path in checkout.parent.rglob("*") if path.is_file()}
    assert main(command.split()) == 2
    message = f"optgen: {otherwise}: without it only a checkout of optgen is written to, and checkout/{link}"
    error = capsys.readouterr().err
    assert error.startswith(message) and error.count("\n") == 1 and f" leads out of it, to {outside}" in error
    assert {path: path.read_text() for path in checkout.parent.rglob("*") if path.is_file()} == before


def test_links_within_a_checkout_are_followed(checkout: Path) -> None:
    (checkout / "specs" / "mine.opt").rename(checkout / "mine.opt")
    (checkout / "specs" / "mine.opt").symlink_to(checkout / "mine.opt")
    assert main(["fmt"]) == 0
    assert (checkout / "mine.opt").read_text() == "optimizer Mine\nupdate:\n  w' = w - lr*g\n"


def test_some_specs(mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One's own specs are printed, or go where one says: never over the document about all."""
    text = sections([mine, *paths_of(["sgd"])])
    assert (
        document([mine, *paths_of(["sgd"])]).endswith(text) and text.startswith("## Mine") and "language.md" not in text
    )
    assert main(["doc", str(mine), "sgd"]) == 0
    assert capsys.readouterr().out == text and "## Mine" in text and "## SGD" in text
    path = tmp_path / "mine.md"
    line = ["doc", str(mine), "sgd", "-o", str(path)]
    assert main([*line, "--check"]) == 1 and not path.exists()
    assert main(line) == 0 and path.read_text() == text
    assert main([*line, "--check"]) == 0
    capsys.readouterr()
    assert main(["doc", str(mine), "--check"]) == 2
    assert capsys.readouterr().err == "optgen: --check compares with a file: name it with -o FILE\n"


def test_the_file_to_write_is_not_taken_for_a_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.md"
    path.write_text("# Mine\n")
    assert main(["doc", str(path)]) == 2
    message = f"optgen: {path} is no spec, which ends in .opt; the file to write is named by -o {path}\n"
    assert capsys.readouterr().err == message and path.read_text() == "# Mine\n"


def test_a_new_spec_has_no_remarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The comments of the template explain the language, not the optimizer."""
    path = tmp_path / "mine.opt"
    assert main(["new", str(path)]) == 0
    capsys.readouterr()
    assert main(["doc", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("## Mine\n") and "hyper-parameter" not in text
