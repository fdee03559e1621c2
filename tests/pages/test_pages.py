"""Pages are well-formed, ask nothing of a network, lead somewhere, and are the same each time."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import optgen
from optgen import specfiles
from optgen.analysis import Statement, Verdict, answers
from optgen.cli import main
from optgen.pages import costs, families, gallery, laws, races, report, snippets, svg, traits, trajectories
from optgen.pages.topic import Machine, Topic
from optgen.races import baselines

KINDS = ("sophia", "torch/sgd")
"""With an input; of another library. `make stress` has all."""
MATH = "{http://www.w3.org/1998/Math/MathML}math"
FAST = Machine(memory=20e9, products=200e9, threads=2)


@cache
def page(name: str) -> ElementTree.Element:
    """A page of the gallery, read as XML."""
    return read(gallery.spec_page(name))


def read(text: str) -> ElementTree.Element:
    assert text.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(text)


def ids(root: ElementTree.Element) -> list[str]:
    return [x.attrib["id"] for x in root.iter() if "id" in x.attrib]


def links(root: ElementTree.Element) -> list[str]:
    """What a page leads to or loads."""
    found = [x.get(name) for x in root.iter() for name in ("href", "src", "srcset", "action", "poster")]
    return [link for link in found if link]


def check(root: ElementTree.Element) -> None:
    """What holds for every page."""
    assert len(ids(root)) == len(set(ids(root)))
    inside = {unquote(link[1:]) for link in links(root) if link.startswith("#")}
    assert inside <= set(ids(root))
    assert not [x for x in links(root) if re.match(r"[a-z]+:|//", x) and not x.startswith("data:")]
    for style in root.iter("style"):
        assert not re.search(r"url\(|@import", style.text or "")
    headings = [x.tag for x in root.iter() if x.tag in ("h1", "h2", "h3")]
    assert headings.count("h1") == 1 and headings[0] == "h1"
    assert root.find("head/meta[@name='viewport']") is not None
    for picture in root.iter("{http://www.w3.org/2000/svg}svg"):
        assert picture.find("{http://www.w3.org/2000/svg}title") is not None


def test_the_roofline_names_a_spec_of_ones_own(tmp_path: Path) -> None:
    """Its point has its name, below and to the right; AdamW's is above, to the left, of a point at the same place."""
    file = tmp_path / "mine.opt"
    file.write_text("optimizer Mine\nparam lr = 0.1\nstate m = 0\nupdate:\n  m' = m + g*g\n  w' = w - lr*g/sqrt(m')\n")
    own = optgen.load(file)
    root = ElementTree.fromstring(costs.section(Topic(own.spec, "mine.opt", FAST)).markup())
    texts = {x.text: x for x in root.findall("figure")[-1].iter("{http://www.w3.org/2000/svg}text")}
    assert texts["AdamW"].get("text-anchor") == "end" and texts["AdamW"].get("fill") == svg.OTHER
    assert texts["Mine"].get("text-anchor") is None and texts["Mine"].get("fill") == svg.OWN
    assert "all variants" not in texts


def test_rates_go_on_until_the_best_is_none_of_the_last() -> None:
    """AdamW's best on Rosenbrock's function is beyond the nine around its hint; one with a hint that is far too small
    has four rates more, and the page says that higher ones may come lower."""
    adamw, far = optgen.load("adamw").spec, replace(optgen.load("sgd").spec, lr_hint=1e-9)
    for optimizer, powers in ((adamw, 12), (far, 13)):
        rates = trajectories.rates_of(optimizer)
        assert rates == sorted(rates) and len(rates) == powers
        assert rates[0] == pytest.approx(optimizer.lr_hint / 100)
        body = trajectories.section(Topic(optimizer, "x")).markup()
        assert ("higher ones may come lower still" in body) == (optimizer is far)
        assert f".at{powers - 1}" in (resources.files("optgen.pages") / "style.css").read_text("utf-8")


def test_adamw_is_not_raced_beside_itself() -> None:
    for name, columns in (("lion", 6), ("adamw", 5)):
        section = races.section(Topic(optgen.load(name).spec, name))
        assert section is not None
        root = ElementTree.fromstring(section.markup())
        rows = [["".join(x.itertext()) for x in row] for row in root.iter("tr")]
        assert {len(row) for row in rows} == {columns} and rows[0][:3] == ["task", "rank", "held-out loss"]
        assert ("--against adamw" in "".join(root.itertext())) == (name == "lion")


def test_few_of_many_equalities_are_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Statement("equals", f"is s{k}", f"is s{k}.", Verdict.PROVED) for k in range(11)]
    scale = Statement("gradient-scale", "none", "No law.", Verdict.RUN)
    questions = (("gradient-scale", lambda _: [scale]), ("equals", lambda _: many))
    monkeypatch.setattr(answers, "QUESTIONS", questions)
    rule = optgen.load("sgd")
    root = ElementTree.fromstring(laws.section(Topic(rule.spec, "sgd", FAST)).markup())
    assert len(list(root.iter("li"))) == 1 + 8
    notes = ["".join(x.itertext()) for x in root.iter("p")]
    assert "seen in runs" in notes[0] and notes[1].endswith("3 more at special arguments: optgen analyze sgd --json")


@pytest.mark.parametrize("name", KINDS)
def test_pages_of_specs(name: str) -> None:
    root = page(name)
    check(root)
    raced = ["race"] if baselines.read(name) else []
    sections = [x.attrib["id"] for x in root.iter("section")]
    assert sections == ["equations", "arguments", "cost", "analysis", "trajectories", *raced, "use", "spec"]
    assert root.find(f".//section[@id='equations']//{MATH}") is not None
    text = " ".join(root.itertext())
    optimizer = optgen.load(name).spec
    assert optimizer.source.text.rstrip() in text
    assert all(param.doc in text for param in optimizer.params)


def test_costs_on_a_machine() -> None:
    """At 20 GB/s, 28 bytes of a hundred million parameters take 140 ms; AdamW is beside, and figures are files."""
    text = report.page_of(Topic(optgen.load("adam").spec, "adam", FAST), command="")
    root = read(text)
    check(root)
    assert len(text) < 500_000
    rows = [["".join(cell.itertext()) for cell in row] for row in root.findall(".//section[@id='cost']//tr")]
    assert rows[1:] == [
        ["Adam amsgrad=false", "28", "8", "15", "1", "140 ms"],
        ["Adam amsgrad=true", "36", "8", "15", "1", "180 ms"],
        ["AdamW", "28", "8", "14", "1", "140 ms"],
    ]
    files = [x for x in root.iter("a") if x.get("download")]
    assert [x.attrib["download"] for x in files][:3] == [
        "how-much-memory-does-a-step-move.svg",
        "what-limits-a-step-on-this-machine.svg",
        "rosenbrock-s-function-does-the-path-follow-a-valley-that-bends.svg",
    ]
    for file in files:
        kind, _, data = file.attrib["href"].partition(",")
        assert kind == "data:image/svg+xml"
        assert ElementTree.fromstring(unquote(data)).tag == "{http://www.w3.org/2000/svg}svg"


def test_work_of_matrices_on_a_machine() -> None:
    found = costs.section(Topic(optgen.load("muon").spec, "muon", FAST)).markup()
    rows = [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(found).iter("tr")]
    assert rows[1][:3] == ["Muon", "see below", "4"]
    matrix = next(row for row in rows if row[0] == "768 × 768")
    assert matrix[-1] == "products"
    assert float(matrix[-2].removesuffix(" ms")) == pytest.approx(float(matrix[1]) / 200 * 1e3, rel=0.01)


# ---------------------------------------------------------------- the gallery


def dead(folder: Path) -> list[str]:
    """The links between the pages of a folder that lead nowhere."""
    roots = {path: read(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    found = []
    for path, root in roots.items():
        for link in links(root):
            file, _, anchor = link.partition("#")
            target = (path.parent / unquote(file)).resolve() if file else path.resolve()
            if not link.startswith("data:") and (target not in roots or (anchor and anchor not in ids(roots[target]))):
                found.append(f"{path.name}: {link}")
    return found


def test_a_gallery_of_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path.resolve() / "site"
    assert main(["gallery", "sgd", "torch/sgd", "-o", str(folder)]) == 0
    assert "index.html and 2 pages" in capsys.readouterr().out
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.*")) == [
        "index.html", "sgd.html", "torch/sgd.html",
    ]  # fmt: skip
    assert not dead(folder)
    for path, again in (
        ("sgd.html", gallery.spec_page("sgd")),
        ("index.html", gallery.index_page(("sgd", "torch/sgd"))),
    ):
        assert (folder / path).read_text("utf-8") == again
    (folder / "sgd.html").unlink()
    assert dead(folder) == ["index.html: sgd.html"]


def test_filters_name_classes_of_the_list() -> None:
    """Each button hides what is not of its class, and some optimizer is of it."""
    root = read(gallery.index_page(KINDS))
    check(root)
    entries = [set(x.attrib["class"].split()) for x in root.findall(".//ul[@class='specs']/li")]
    assert len(entries) == len(KINDS)
    buttons = {x.attrib["id"] for x in root.iter("input")}
    css = "".join(style.text or "" for style in root.findall(".//main/style"))
    rules = re.findall(r"body:has\(#([\w-]+):checked\) \.specs li:not\(\.([\w-]+)\)", css)
    assert {a for a, _ in rules} | {x for x in buttons if x.endswith("-any")} == buttons
    for button, class_ in rules:
        assert button == class_ and any(class_ in entry for entry in entries)
    assert {x.get("name") for x in root.iter("input") if x.get("checked")} == {"family", "memory", "moved", "needs"}


def test_traits() -> None:
    assert traits.of("adam") == traits.Traits("adam", "Adam: a method for stochastic optimization", "adam", 8, 28, ())
    assert traits.of("matrix/muon").needs == ("rest", "products") and traits.of("matrix/muon").moved is None
    assert traits.of("extragradient").needs == ("gradients",) and "loss" in traits.of("alig").needs
    assert traits.of("sgd").memory == 0 and traits.of("lion").memory == 4


def test_each_spec_has_a_family() -> None:
    named = [name for _, names in families.GENERAL.values() for name in names.split()]
    assert sorted(named) == sorted(specfiles.available())
    assert set(families.FOLDERS) == set(specfiles.FAMILIES)
    assert set(families.WITHOUT_A_RATE) <= set(specfiles.all_available())


def test_what_the_commands_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "adam", "-o", str(tmp_path / "adam.pdf")]) == 2
    assert "a page is a file that ends in .html" in capsys.readouterr().err
    assert main(["gallery", "adma", "-o", str(tmp_path / "site")]) == 2
    assert "'adma' is no spec that comes with optgen; did you mean" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["gallery", "adam", "-o", str(tmp_path / "file")]) == 2
    assert "this is a file" in capsys.readouterr().err
    assert [x.name for x in tmp_path.iterdir()] == ["file"]


# ---------------------------------------------------------------- snippets


def run(name: str, optimizer: optgen.model.Optimizer | None = None) -> None:
    topic = Topic(optimizer or optgen.load(name).spec, name)
    for snippet in (snippets.numpy, snippets.pytorch, snippets.training):
        exec(compile(snippet(topic), f"{snippet.__name__} of {name}", "exec"), {})


@pytest.mark.parametrize("name", KINDS)
def test_snippets_run(name: str) -> None:
    pytest.importorskip("torch")
    run(name)


def test_snippets_of_a_file_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    text = 'optimizer Mine "Half of it"\n\nupdate:\n  w\' = w - lr*g/2\n'
    Path("mine.opt").write_text(text)
    run("mine.opt", optgen.parse(text))


@pytest.mark.stress
@pytest.mark.parametrize("name", traits.all_names())
def test_every_page_and_its_snippets(name: str) -> None:
    pytest.importorskip("torch")
    check(page(name))
    run(name)
