"""Names of other libraries: each line of the table says what loads here, and is told where its names are written."""

from __future__ import annotations

from collections import Counter

import pytest

import optgen
from optgen import names_elsewhere, specfiles
from optgen.cli import main

ROWS = names_elsewhere.rows()
NAMES = [name for row in ROWS for name in row.names]
SCHEDULE_FREE = "one estimate of the rate for all parameters"


def test_many_names_and_each_once() -> None:
    assert len(NAMES) >= 240
    assert [k for k, n in Counter(map(names_elsewhere.key, NAMES)).items() if n > 1] == []
    assert all(row.differs and row.libraries for row in ROWS)


def test_no_name_is_one_of_ours() -> None:
    assert {*NAMES} & {*specfiles.all_available(), *specfiles.without_folder(), *specfiles.transforms()} == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.names[0])
def test_what_is_to_be_written_loads(row: names_elsewhere.Elsewhere) -> None:
    rule = eval(row.call, {"optgen": optgen})
    assert isinstance(rule, optgen.UpdateRule)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("paged_adamw_8bit", 'optgen.load("torch/adamw", storage="int8_dynamic")'),
        ("bnb.optim.PagedAdamW8bit", 'optgen.load("torch/adamw", storage="int8_dynamic")'),
        ("ProdigyPlusScheduleFree", f'optgen.load("prodigy with schedule_free", beta1=0); {SCHEDULE_FREE}'),
        ("AdamWScheduleFree", 'optgen.load("schedulefree_adamw")'),
        ("SingleDeviceMuonWithAuxAdam with ema", 'optgen.load("muon_adamw")'),
        ("paged_adamw_32bit", 'optgen.load("torch/adamw")'),
        ("adamw_8bit", 'optgen.load("torch/adamw", storage="int8_dynamic")'),
        ("timm.optim.Lion", 'write optgen.load("lion")'),
        ("keras.optimizers.Nadam", 'write optgen.load("nadam")'),
        ("tf.keras.optimizers.AdamW", 'write optgen.load("adamw")'),
        ("x.ScheduleFree_AdamW", 'write optgen.load("schedulefree_adamw")'),
        ("torch.optim.AdamW", "did you mean 'torch/adamw'?"),
        ("optax.contrib.dog", "did you mean 'optax/dog'?"),
    ],
)
def test_a_name_of_another_library_is_told(name: str, written: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        optgen.load(name)
    assert written in str(caught.value)
    assert main(["explain", name]) == 2
    assert written in capsys.readouterr().err
