"""The manifest of a library is as docs/schema/library.json says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.library.c_library import build

ROOT = Path(__file__).parents[2]
SPECS = ("adam with sam", "rmsprop", "schedulefree_adamw")


def schema(name: str) -> jsonschema.Draft202012Validator:
    text = json.loads((ROOT / "docs" / "schema" / name).read_text())
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("manifest")
    how = ("--dtype", "bfloat16", "--master", "--storage", "int8_dynamic", "--name", "own", "--cpu", "native")
    build(folder, *SPECS, *how)
    found: dict[str, Any] = json.loads((folder / "own.json").read_text())
    return found


def test_manifests_fit(manifest: dict[str, Any]) -> None:
    schema("library.json").validate(manifest)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.update(abi=2),
        lambda x: x.pop("cpus"),
        lambda x: x.update(more=1),
        lambda x: x["specs"][0]["hyper"][0].update(default="NaN"),
        lambda x: x["specs"][0]["options"][0].update(type="long"),
        lambda x: x["specs"][1].update(prefix="not a name"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_found(change: Any, manifest: dict[str, Any]) -> None:
    wrong = json.loads(json.dumps(manifest))
    change(wrong)
    assert not schema("library.json").is_valid(wrong)
