"""What corrected labels have changed: counts, and numbers before and after where the rows are the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.report import save_right_rows
from limbeck.errors import FileUnreadable
from limbeck.pipeline.corrections import compared_with_before, corrections_in, corrections_key
from limbeck.recipe.corpus import CorpusSection
from limbeck.report.findings import corrected

COUNTS = {"of": "first", "changed": 4, "dropped": 0, "added": 2}
NOW = [
    {"name": "bert", "role": "teacher", "accuracy": 0.9},
    {"name": "student-int8", "role": "student", "accuracy": 0.8},
]
CORPUS = {"labels": ["bad", "good"], "multi_label": False}


def compared(folder: Path, *, labels: list[list[str]]) -> list[str]:
    """The sentence of a report after two judged rows with these labels, that were good and bad before."""
    save_right_rows(folder, {"bert": [True, False]}, keys=[b"a", b"b"], labels=[["good"], ["bad"]])
    digest = json.loads((folder / "right_rows.json").read_text(encoding="utf-8"))["digest"]
    save_right_rows(folder, {"bert": [True, True]}, keys=[b"a", b"b"], labels=labels)
    before = {"digest": digest, "teacher": "bert", "best": "student", "accuracy": {"bert": 0.5, "student": 0.75}}
    found = compared_with_before({**COUNTS, "before": before}, models=NOW, best="student-int8", report=folder)
    return corrected({"corrections": found, "judged_split": "test", "judged_rows": 2, "corpus": CORPUS})


def test_the_same_rows_are_compared_before_and_after(tmp_path: Path) -> None:
    assert compared(tmp_path, labels=[["good"], ["bad"]]) == [
        "after a review of the run first: 4 labels corrected, 2 rows added; accuracy on the same 2 test rows: "
        "the teacher 50.0 → 90.0 %, the best model 75.0 → 80.0 %"
    ]


def test_rows_with_other_labels_are_not_compared(tmp_path: Path) -> None:
    (sentence,) = compared(tmp_path, labels=[["good"], ["good"]])

    assert sentence.endswith("rows or labels of test changed too, so its numbers are not comparable with those before")


def test_a_run_without_a_report_has_nothing_to_compare_with(tmp_path: Path) -> None:
    found = compared_with_before({**COUNTS, "before": None}, models=NOW, best=None, report=tmp_path)

    (sentence,) = corrected({"corrections": found, "judged_split": "dev", "judged_rows": 2, "corpus": CORPUS})
    assert sentence.endswith("that run has no report to compare with")


def test_without_corrections_nothing_is_said() -> None:
    assert corrections_in(CorpusSection(train="rows.csv")) is None
    assert corrections_key(CorpusSection(train="rows.csv")) == {}
    assert corrected({"corrections": None}) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"of": "a", "changed": "many"}', '{"of": "a"}'])
def test_a_file_of_somebody_else_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "corrections.json"
    path.write_text(content, encoding="utf-8")
    section: Any = CorpusSection(train="rows.csv", corrections=str(path))

    with pytest.raises(FileUnreadable, match=r"corrections\.json"):
        corrections_in(section)
