"""The folder of a trial: links to the main run, which nothing is removed through; and the rows that it is timed on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limbeck.artifacts.rows import Rows
from limbeck.errors import DiskFull, StudentError
from limbeck.progress import SilentReporter
from limbeck.recipe.recipe import Recipe
from limbeck.search import trial as trial_module
from limbeck.search.study import Proposal
from limbeck.search.trial import link_inputs, main_settings, timed_rows, tried


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A run with a corpus and labels."""
    for name in ("corpus", "labels"):
        (tmp_path / "run" / name).mkdir(parents=True)
        (tmp_path / "run" / name / "rows").write_text("kept", encoding="utf-8")
    return tmp_path / "run"


UNASKED: Any = None
PROPOSAL = Proposal(UNASKED, "sampled", "trial-0000", "bag", ["candidates=[]"])


def test_links_lead_to_what_the_run_has_also_after_it_was_moved(main: Path) -> None:
    trial = main / "search" / "trial-0000"

    link_inputs(main, trial)
    link_inputs(main, trial)  # of a trial that is continued
    moved = main.rename(main.with_name("moved")) / "search" / "trial-0000"

    assert {path.name for path in moved.iterdir() if path.is_symlink()} == {"corpus", "labels"}
    assert (moved / "labels" / "rows").read_text(encoding="utf-8") == "kept"


def test_what_a_trial_leaves_is_small_and_the_run_stays_whole(main: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = main / "search" / "trial-0000"

    def measured(*_: Any, **__: Any) -> dict[str, Any]:
        link_inputs(main, trial)
        for name in ("students", "models", "labels.partial"):
            (trial / name).mkdir()
        return {"dev_score": 0.9, "us": 1.0, "mb": 1.0}

    monkeypatch.setattr(trial_module, "_measured", measured)

    found = tried(PROPOSAL, main=main, rows=[], reporter=SilentReporter())

    assert (found.state, found.dev_score, found.kind) == ("finished", 0.9, "bag")
    assert {path.name for path in trial.iterdir()} == {".lock", "models"}
    assert (main / "labels" / "rows").read_text(encoding="utf-8") == "kept"


def test_an_error_of_the_student_is_a_failed_trial_and_any_other_stops_the_search(
    main: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(error: Exception) -> Any:
        def measured(*_: Any, **__: Any) -> None:
            raise error

        return measured

    monkeypatch.setattr(trial_module, "_measured", raising(StudentError("too small")))
    failed = tried(PROPOSAL, main=main, rows=[], reporter=SilentReporter())
    monkeypatch.setattr(trial_module, "_measured", raising(DiskFull(path="x")))

    assert (failed.state, failed.reason) == ("failed", "too small")
    with pytest.raises(DiskFull):
        tried(PROPOSAL, main=main, rows=[], reporter=SilentReporter())


def test_rows_of_pairs_are_timed_as_pairs() -> None:
    rows = Rows.of(ids=["a", "b"], texts=["one", "three"], pairs=["two", "four"], labels=[0, 1])

    corpus: Any = SimpleNamespace(splits={"dev": rows})

    found = timed_rows(corpus)

    assert sorted(found) == [("one", "two"), ("three", "four")]


def test_the_main_settings_are_those_that_the_student_has() -> None:
    raw = {"corpus": {"train": "x.csv"}, "student": {"kind": "ngrams", "learning_rate": 0.5}}

    found = main_settings(Recipe.model_validate(raw))

    assert found == {"dense_size": 0, "dropout": 0.2, "learning_rate": 0.5, "tokens": 262_144, "losses": "logit_mse"}
