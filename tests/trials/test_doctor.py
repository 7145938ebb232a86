"""The doctor on real data, where LIMBECK_DATA names a folder of it: known leaks are found to the row."""

import os
from pathlib import Path

import pytest

from limbeck.doctor.run import examine
from limbeck.progress import SilentReporter

pytestmark = [
    pytest.mark.trial,
    pytest.mark.skipif("LIMBECK_DATA" not in os.environ, reason="LIMBECK_DATA names no folder of real data"),
]
RECIPE = """
[corpus]
train = "chnsenticorp/train.tsv"
dev = "chnsenticorp/dev.tsv"
text = "text_a"

[transfer]
files = ["online_shopping/online_shopping_10_cats.csv"]
text = "review"
overlap = "{overlap}"

[teacher]
checkpoint = "{teacher}"
"""


@pytest.mark.parametrize(("overlap", "level", "verb"), [("report", "error", "appear"), ("remove", "note", "were")])
def test_the_leaks_of_chnsenticorp_are_found_to_the_row(
    tmp_path: Path, tiny_teacher_folder: Path, overlap: str, level: str, verb: str
) -> None:
    recipe = tmp_path / "chnsenticorp.toml"
    recipe.write_text(RECIPE.format(overlap=overlap, teacher=tiny_teacher_folder), encoding="utf-8")

    found = {finding.check: finding for finding in examine(str(recipe), reporter=SilentReporter()).findings}

    assert found["overlap"].level == "error"
    assert found["overlap"].what == "340 of 1,200 dev rows appear in train"
    assert found["overlap"].evidence.startswith("338 verbatim, 2 except for")
    assert found["transfer-overlap"].level == level
    assert found["transfer-overlap"].what == f"1,145 of 1,200 dev rows {verb} in the transfer text"
    assert found["transfer-overlap"].evidence.startswith("999 verbatim")
