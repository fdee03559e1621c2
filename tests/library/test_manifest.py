"""The schema of manifests refuses what is wrong in one. All libraries of the tests are read by it (`CLibrary`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.library.c_library import CLibrary, build, schema


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("manifest")
    build(folder, "adam", "rmsprop", "--name", "own", "--cpu", "native")
    return CLibrary(folder, "own").manifest


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
def test_what_is_wrong_in_a_manifest_is_found(change: Any, manifest: Any) -> None:
    wrong = json.loads(json.dumps(manifest))
    change(wrong)
    assert not schema("library.json").is_valid(wrong)
