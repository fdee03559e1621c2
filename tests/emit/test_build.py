"""What `optgen build --kernels` writes: one folder a spec, a manifest that says all, nothing left over from before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import optgen
from optgen import specfiles
from optgen.backends import target
from optgen.backends.step_struct import STEP_FIELDS
from optgen.cli import main
from optgen.emit.manifest_json import digest
from optgen.ir import Variant
from optgen.ir.cost import cost
from optgen.pipeline import build as build_ir
from optgen.pipeline import plan
from tests.library.c_library import schema

SPEC = """\
optimizer Odd "a title that ends */ no comment" alias Strange
cite "/* nor does this */"

param lr    = 1      in (0, inf)  alias rate
param beta  = 0.1234567890123  in [0, 1)   "with a */ in it"
param n     : int = 5
param bound = none zero off
flag  kind  = 'plain' | 'with-dash'

state m = beta
state z = w if kind == 'with-dash'

update:
  m' = beta*m + n*clip(g, bound)
  z' = z - lr*m'          if kind == 'with-dash'
  w' = 0.5*w + 0.5*z'     if kind == 'with-dash'
  w' = w - lr*m'          otherwise
"""


EVERYTHING = ["--all", "--dtype", "float32", "float64"]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "odd.opt").write_text(SPEC)
    assert main(["build", "--kernels", str(tmp_path / "odd.opt"), *EVERYTHING, "-o", str(tmp_path / "out")]) == 0
    return tmp_path / "out" / "odd"


def test_files_and_manifest_agree(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    assert [v["symbol"] for v in manifest["variants"]] == [
        "optgen_odd_kind_plain_f32",
        "optgen_odd_kind_with_dash_f32",
        "optgen_odd_kind_plain_f64",
        "optgen_odd_kind_with_dash_f64",
    ]
    named = {name for v in manifest["variants"] for name in v["files"].values()}
    assert named | {"manifest.json"} == {path.name for path in built.iterdir()}
    assert all((built / name).stat().st_size for name in named)


def test_the_manifest_says_how_to_call(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    assert manifest["format"] == 3 and manifest["llvm"] == target.llvm_version()
    host = target.host()
    described = {"triple": host.triple, "cpu": host.cpu, "features": list(host.required())}
    assert manifest["target"] == described | {"step": [field.name for field in STEP_FIELDS]}
    assert manifest["spec"] == {
        "name": "Odd",
        "title": "a title that ends */ no comment",
        "cite": "/* nor does this */",
        "text": SPEC,
        "sha256": hashlib.sha256(SPEC.encode()).hexdigest(),
    }
    assert manifest.pop("sha256") == digest(manifest)
    params = {p["name"]: p for p in manifest["params"]}
    assert params["lr"]["interval"] == {"low": 0.0, "high": "inf", "low_open": True, "high_open": True}
    assert params["lr"]["aliases"] == ["rate"] and params["wd"]["default"] == 0.0
    assert (params["n"]["type"], params["n"]["default"]) == ("int", 5)
    assert (params["bound"]["default"], params["bound"]["optional"], params["bound"]["zero_off"]) == (None, True, True)
    (flag,) = manifest["flags"]
    assert flag["choices"] == ["plain", "with-dash"] and not flag["derived"]
    dash = manifest["variants"][1]
    assert dash["flags"] == {"kind": "with-dash"} and dash["dtype"] == "float32"
    kept = ("name", "kind", "storage", "written", "init")
    assert [tuple(b[key] for key in kept) for b in dash["buffers"]] == [
        ("w", "elem", "float32", True, None),
        ("grad", "elem", "float32", False, None),
        ("m", "elem", "float32", True, "beta"),
        ("z", "elem", "float32", True, "w"),
    ]
    assert dash["sha256"]["object"] == hashlib.sha256((built / dash["files"]["object"]).read_bytes()).hexdigest()
    assert set(dash["hyper"]) == {"lr", "beta", "n", "bound", "rescale_grad", "clip_gradient"}
    kernel = plan(build_ir(optgen.parse(SPEC), Variant({"kind": "with-dash"})))
    assert dash["hyper"] == list(kernel.hyper)
    assert dash["cost"]["bytes"] == cost(kernel).bytes == 28 and dash["cost"]["sweeps"] == 1


@pytest.mark.parametrize("more", [[], ["--target", "cuda"]])
def test_manifests_are_as_their_schema_says(more: list[str], tmp_path: Path) -> None:
    (tmp_path / "odd.opt").write_text(SPEC)
    specs = [str(tmp_path / "odd.opt"), "adafactor", "schedulefree_adamw", "sgld"]
    assert main(["build", "--kernels", *specs, "--dtype", "float16", "--master", *more, "-o", str(tmp_path)]) == 0
    found = list(tmp_path.glob("*/*.json"))
    assert len(found) == 4
    for path in found:
        manifest = json.loads(path.read_text())
        schema("kernels.json").validate(manifest)
        del manifest["variants"][0]["buffers"][0]["kind"]
        assert not schema("kernels.json").is_valid(manifest)


def test_kernels_with_masters_and_states_in_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Small parameters have kernels of their own, as their states are not in codes."""
    line = ["build", "--kernels", "adam", "--dtype", "bfloat16", "--master", "-o", str(tmp_path)]
    assert main([*line, "--storage", "m=int8_dynamic"]) == 0
    variants = json.loads((tmp_path / "adam" / "manifest.json").read_text())["variants"]
    assert [(v["dtype"], v["master"], v["storage"]) for v in variants] == [
        ("bfloat16", True, {"m": "int8_dynamic"}),
        ("bfloat16", True, {}),
    ]
    text = (tmp_path / "adam" / variants[0]["files"]["header"]).read_text()
    assert "_buffer_m, /* uint8_t, a code of int8_dynamic, of each element, read and written, starts as 0.0 */" in text
    assert "_buffer_m_scale, /* float of each 256 elements, read and written, starts as 0.0 */" in text
    assert main([*line, "--storage", "int8"]) == 2
    assert "states of bfloat16 parameters cannot be stored as 'int8'; did you mean" in capsys.readouterr().err
    assert main(["build", "--kernels", "adam", "--master", "-o", str(tmp_path)]) == 2
    assert "master weights are for float16 and bfloat16 parameters" in capsys.readouterr().err


def test_the_header_says_it_too(built: Path) -> None:
    text = (built / "optgen_odd_kind_with_dash_f64.h").read_text()
    assert "void optgen_odd_kind_with_dash_f64(const optgen_step *step);" in text
    assert "zₜ = zₜ₋₁ − lr·mₜ" in text
    assert "optgen_odd_kind_with_dash_f64_buffer_z, /* double of each element, read and written, starts as w */" in text
    assert "_hyper_beta, /* with a * / in it, default 0.1234567890123, in [0, 1) */" in text
    assert "default none (NaN)" in text
    assert text.count("/*") == text.count("*/")


def test_llvm_ir_is_whole(built: Path) -> None:
    for path in built.glob("*.ll"):
        module = llvm.parse_assembly(path.read_text())
        module.verify()
        assert path.stem in [f.name for f in module.functions]


def test_a_second_build_leaves_nothing_of_the_first(built: Path) -> None:
    spec = built.parent.parent / "odd.opt"
    spec.write_text(SPEC.replace("'plain' | 'with-dash'", "'with-dash' | 'dashing'"))
    (built / "mine.txt").write_text("kept")
    assert main(["build", "--kernels", str(spec), "--all", "-o", str(built.parent)]) == 0
    names = {path.name for path in built.iterdir()}
    assert "mine.txt" in names and not [n for n in names if "plain" in n]
    assert "optgen_odd_kind_dashing_f32.o" in names


def test_every_spec_that_comes_along_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown with two of them, one of which has an `eval:` section."""
    names = ("schedulefree_sgd", "sgd")
    monkeypatch.setattr(specfiles, "all_available", lambda: names)
    assert main(["build", "--kernels", "-o", str(tmp_path)]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == list(names)
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == len(names)
    assert not captured.err  # a progress bar is for terminals
    manifest = json.loads((tmp_path / names[0] / "manifest.json").read_text())
    update, evaluate = manifest["variants"]
    assert (update["evaluate"], evaluate["evaluate"]) == (False, True)
    hosts = {b["name"]: (b["kind"], b["storage"]) for b in update["buffers"] if b["kind"] != "elem"}
    assert hosts == {"lr_max": ("host", "float64"), "total": ("host", "float64")}
    assert [b["name"] for b in evaluate["buffers"] if b["written"]] == ["out"]
    text = (tmp_path / names[0] / evaluate["files"]["header"]).read_text()
    assert "_buffer_total, /* double of the tensor, read only" in text and "no count changes" in text


def test_only_defaults_are_built_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "odd.opt").write_text(SPEC)
    assert main(["build", "--kernels", str(tmp_path / "odd.opt"), "-o", str(tmp_path)]) == 0
    assert [path.name for path in (tmp_path / "odd").glob("*.o")] == ["optgen_odd_kind_plain_f32.o"]


def test_nothing_is_built_when_one_spec_has_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.opt").write_text(SPEC.replace("beta*m", "bata*m"))
    arguments = ["sgd", str(tmp_path / "one.opt"), str(tmp_path / "two.opt"), "-o", str(tmp_path / "out")]
    assert main(["build", "--kernels", *arguments]) == 1
    captured = capsys.readouterr()
    assert "one.opt:" in captured.err and "two.opt:" in captured.err and not captured.out
    assert not (tmp_path / "out").exists()


def test_two_specs_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "adam.opt").write_text(SPEC)
    assert main(["build", "--kernels", "adam", str(tmp_path / "adam.opt"), "-o", str(tmp_path / "out")]) == 2
    assert "two specs are named 'adam'" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "kernels", "left_out"), [("muon", 0, 2), ("muon_adamw", 2, 2), ("splus", 1, 1)])
def test_variants_with_products_are_left_out_and_counted(
    name: str, kernels: int, left_out: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "--kernels", name, "-o", str(tmp_path)]) == (kernels == 0)
    shown = capsys.readouterr()
    count = f"{kernels} kernel{'s' * (kernels != 1)}"
    note = f"{name}: {count}; left out, as libraries alone have their products, loops or timings: {left_out}"
    assert note in shown.out + shown.err
    manifests = list(tmp_path.rglob("manifest.json"))
    assert [len(json.loads(path.read_text())["variants"]) for path in manifests] == [kernels] * (kernels > 0)


def test_nothing_is_written_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "out" / "sgd").mkdir(parents=True)
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "out" / "sgd" / "manifest.json").symlink_to(tmp_path / "precious")
    assert main(["build", "--kernels", "sgd", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "precious").read_text() == "precious"
    assert "variants" in json.loads((tmp_path / "out" / "sgd" / "manifest.json").read_text())


@pytest.mark.parametrize("target_name", ["cpu", "cuda"])
def test_what_is_current_is_not_made_again(target_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither compiled nor written; a file that is gone, or another, is written again."""
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("OPTGEN_CACHE_DIR", str(tmp_path / "cache"))
    line = ["build", "--kernels", "sgd", "adam", "--target", target_name, "-o", str(tmp_path / "out")]
    assert main(line) == 0
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*.*")}

    def compiled(*args: object, **kwargs: object) -> None:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(target, "compile_ir", compiled)
    monkeypatch.setattr(target, "compile_gpu", compiled)
    assert main(line) == 0
    assert files == {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*.*")}
    gone, other = sorted(files)[:2]
    gone.unlink()
    other.write_text("other")
    assert main(line) == 0
    assert {path: text for path, (text, _) in files.items()} == {path: path.read_bytes() for path in files}
