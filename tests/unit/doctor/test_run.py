"""Every check is made or listed as not checked; each is documented; a folder that is not a run is refused."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from limbeck.doctor.run import CHECKS, doctor, examine, examined
from limbeck.errors import ArtifactMissing
from limbeck.progress import SilentReporter
from limbeck.recipe.load import RecipeNotFound

Make = Callable[..., Any]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "doctor.md"


def test_every_check_is_made_or_accounted_for(make_known: Make, make_corpus_of: Make, hundred: Any) -> None:
    found = examined(make_known(corpus=make_corpus_of(train=hundred[:50], dev=hundred[50:])), target="toy")

    assert {*found.checked, *found.not_checked} == {*CHECKS, "recipe"}
    assert {"overlap", "contradictions", "balance", "empty-losses"} <= set(found.checked)
    assert found.not_checked["label-order"] == "it does not exist yet"


def test_every_check_reads_its_own_name(make_known: Make, make_corpus_of: Make) -> None:
    """What a check finds says which check it was, as the table of checks calls it."""
    corpus = make_corpus_of(train=[("a", "x"), ("A", "y")], dev=[("a", "x")])
    known = make_known({"distillation": {"losses": [{"kind": "dkd"}]}}, corpus=corpus)

    for name in ("overlap", "contradictions", "balance", "empty-losses"):
        assert {finding.check for finding in CHECKS[name](known)} == {name}


def test_every_check_is_documented() -> None:
    page, checks = PAGE.read_text(encoding="utf-8"), [*CHECKS, "manifest", "recipe", "teacher", "transfer"]

    assert [check for check in checks if f"| `{check}` |" not in page] == []


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissing, match=r"it has no run\.json"):
        examine(str(tmp_path), reporter=SilentReporter())
    with pytest.raises(ArtifactMissing, match="the folder does not exist"):
        examine(str(tmp_path / "nowhere"), reporter=SilentReporter())


def test_a_recipe_that_is_not_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeNotFound):
        examine("no-such-recipe", reporter=SilentReporter())
    with pytest.raises(RecipeNotFound):
        examine(str(tmp_path / "nowhere.toml"), reporter=SilentReporter())


def test_errors_are_reported_by_what_the_doctor_returns(tmp_path: Path, tiny_teacher_folder: Path) -> None:
    """Ten of ten dev rows appear in train."""
    lines = [f"row {number},{'good' if number % 2 else 'bad'}" for number in range(30)]
    for split, rows in (("train", lines), ("dev", lines[:10])):
        (tmp_path / f"{split}.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    recipe = tmp_path / "toy.toml"
    recipe.write_text(
        f'[corpus]\ntrain = "train.csv"\ndev = "dev.csv"\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"',
        encoding="utf-8",
    )
    file = io.StringIO()

    is_sound = doctor(str(recipe), console=Console(file=file), as_json=True, reporter=SilentReporter())

    shown = json.loads(file.getvalue())
    assert not is_sound
    assert shown["findings"][0]["what"] == "10 of 10 dev rows appear in train"
    assert (shown["kind"], shown["target"]) == ("recipe", str(recipe))
