"""A search on the toy rows: labels once, a few students, the front, and going on."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import limbeck
from limbeck.artifacts.manifest import read_manifest
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.cli import app
from limbeck.errors import StudentError
from limbeck.pipeline import run
from limbeck.progress import SilentReporter
from limbeck.recipe.stages import Stage
from limbeck.search import Search, search
from limbeck.search import run as search_run
from limbeck.search import trial as search_trial
from limbeck.search.choice import CostLimits
from limbeck.search.trial import microseconds

QUICK = ["teacher.epochs=8", "distillation.epochs=2", "teacher.near_chance='warn'"]
TIMES = {"bilstm": 40.0, "textcnn": 20.0, "bag": 8.0, "ngrams": 9.0}


class Notes(SilentReporter):
    """Remembers what was made, and the lines."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.lines: list[str] = []

    def stage(self, name: str, text: str, *, is_reused: bool = False) -> None:
        del text
        if not is_reused:
            self.made.append(name)

    def note(self, text: str, **style: Any) -> None:
        del style
        self.lines.append(text)


def made_up(model: ModelFolder, rows: object) -> float:
    """Nothing is timed: a kind has a time."""
    del rows
    return TIMES[model.facts().kind]


@pytest.fixture(scope="module", autouse=True)
def made_up_times() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_trial, "microseconds", made_up)
        yield


@pytest.fixture(scope="module")
def recipe(write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("search") / "data")


def go(recipe: Path, *, trials: int, notes: Notes | None = None, **limits: float) -> Search:
    """Search, with the run folder beside the data."""
    return search(
        str(recipe),
        limits=CostLimits(**limits),
        trials=trials,
        changes=QUICK,
        out=recipe.parent / "run",
        reporter=notes or Notes(),
    )


@pytest.fixture(scope="module")
def found(recipe: Path) -> Search:
    return go(recipe, trials=5, max_us=30.0, max_mb=5.0)


def test_the_first_trials_are_the_recipes_own_student_and_the_defaults_of_kinds(found: Search) -> None:
    assert [(trial.origin, trial.kind, trial.state) for trial in found.trials] == [
        ("recipe", "bilstm", "finished"),
        ("defaults", "bilstm", "failed"),  # larger than the tiny teacher
        ("defaults", "textcnn", "failed"),
        ("defaults", "bag", "finished"),
        ("defaults", "ngrams", "finished"),
    ]
    assert "its teacher has" in found.trials[1].reason
    assert all(trial.mb <= 5 for trial in found.trials if trial.state == "finished")


def test_trials_share_what_the_run_has_made_and_leave_it_whole(recipe: Path, found: Search) -> None:
    main = recipe.parent / "run"
    made = Notes()

    run(recipe, overrides=QUICK, out=main, until=Stage.LABELING, reporter=made)

    assert made.made == []
    of_trial = json.loads((found.folder / "trial-0003" / "run.json").read_text(encoding="utf-8"))["stages"]
    assert {name for name, facts in of_trial.items() if facts["reused"]} == {
        *("corpus", "transfer", "teacher", "labels", "chosen")
    }
    kept = {path.name for path in (found.folder / "trial-0003").iterdir()}
    assert kept == {".lock", "models", "recipe.toml", "run.json"}


def test_the_chosen_model_is_within_the_limits_and_has_a_card(found: Search) -> None:
    best = found.chosen

    assert best is not None
    assert best.us <= 30
    model = limbeck.load(found.model)
    assert model.facts.kind == best.kind
    assert model.predict(["a gorgeous film"])[0] in ("positive", "negative")
    card = (found.model / "README.md").read_text(encoding="utf-8")
    assert found.command is not None
    assert found.command in card
    data = json.loads((found.folder / "search.json").read_text(encoding="utf-8"))
    assert (data["chosen"], len(data["trials"])) == (best.folder, 5)
    assert 'id="search-limit"' in (found.folder / "front.svg").read_text(encoding="utf-8")


def test_a_model_is_timed_on_one_thread_in_microseconds(found: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_trial, "ROUNDS", 2)
    monkeypatch.setattr(search_trial, "SECONDS", 0.1)

    us = microseconds(ModelFolder(found.model), ["a gorgeous film", "this dreadful evening was long"])

    assert 0.5 < us < 5_000  # a slow engine on a busy machine needs milliseconds, and nothing needs less


def test_the_overrides_make_the_same_model_as_a_run(recipe: Path, found: Search) -> None:
    best = found.chosen
    assert best is not None
    out = recipe.parent / "again"

    run(recipe, overrides=[*QUICK, *best.overrides], out=out, until=Stage.EXPORT, reporter=SilentReporter())

    same = out / best.model
    assert read_manifest(same, kind="model").fingerprint == read_manifest(found.model, kind="model").fingerprint


def test_a_later_run_of_the_recipe_keeps_the_chosen_model(recipe: Path, found: Search) -> None:
    run(recipe, overrides=QUICK, out=recipe.parent / "run", until=Stage.EXPORT, reporter=SilentReporter())

    assert found.model.is_dir()


def test_the_same_command_goes_on_and_other_limits_take_the_trials_over(recipe: Path, found: Search) -> None:
    notes = Notes()

    again = go(recipe, trials=5, notes=notes, max_us=30.0, max_mb=5.0)
    more = go(recipe, trials=7, notes=notes, max_us=30.0, max_mb=5.0)
    finished = [trial for trial in more.trials if trial.state == "finished"]
    stricter = go(recipe, trials=len(finished), notes=notes, max_us=1.0)

    assert again.trials == found.trials
    assert more.trials[:5] == found.trials
    assert [name for name in notes.made if name.startswith("search/")] == ["search/trial-0005", "search/trial-0006"]
    assert more.trials[-1].origin == "sampled"
    assert "trials/min" in notes.lines[-1]
    assert stricter.trials[: len(finished)] == finished
    assert stricter.chosen is None
    assert stricter.nearest is not None
    assert stricter.nearest.kind == "bag"


def test_the_command_prints_the_front_and_says_with_its_status_whether_something_was_found(
    recipe: Path, found: Search
) -> None:
    count = len(found.trials)
    common = ["search", str(recipe), "--out", str(recipe.parent / "run"), "--trials", str(count), "--max-mb", "5"]
    changes = [part for change in QUICK for part in ("--set", change)]

    fine = CliRunner().invoke(app, [*common, *changes, "--max-us", "30"])
    too_strict = CliRunner().invoke(app, [*common, *changes, "--max-us", "1", "--trials", "3"])

    assert fine.exit_code == 0, fine.output
    assert "▸" in fine.stdout
    assert found.command is not None
    assert found.command in fine.stdout.replace("\n", "")
    assert too_strict.exit_code == 1, too_strict.output
    assert "no student is within 1 µs and 5 MB" in too_strict.stderr
    assert "The nearest: bag in trial-" in too_strict.stderr


@pytest.mark.usefixtures("found")
def test_ten_failures_in_a_row_end_the_search(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StudentError("no space for words")

    monkeypatch.setattr(search_trial, "run", refuse)

    with pytest.raises(search_run.SearchFailed, match="none of 10 trials") as caught:
        search(
            str(recipe),
            limits=CostLimits(),
            minutes=10,
            changes=[*QUICK, "distillation.epochs=1"],
            out=recipe.parent / "run",
            reporter=Notes(),
        )

    assert "no space for words" in str(caught.value)


@pytest.mark.usefixtures("found")
def test_a_stopped_trial_is_tried_once_more_and_then_given_up(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search_run, "tried", stop)
    for _ in range(3):  # the defaults of two kinds, which have failed with other limits; then the first one again
        with pytest.raises(KeyboardInterrupt):
            go(recipe, trials=9, max_us=31.0, max_mb=5.0)
    monkeypatch.undo()

    last = go(recipe, trials=1, max_us=31.0, max_mb=5.0)

    failed = [trial for trial in last.trials if trial.state == "failed"]
    assert [trial.reason for trial in failed] == ["it was stopped 2 times"]


def test_a_student_that_cannot_be_made_is_a_failed_trial_with_its_reason(
    recipe: Path, found: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StudentError("the export was refused")

    count = len(go(recipe, trials=1, max_us=32.0).trials)
    monkeypatch.setattr(search_trial, "run", refuse)

    failed = go(recipe, trials=count + 1, max_us=32.0).trials[-1]

    assert (failed.state, failed.reason) == ("failed", "the export was refused")
    assert not any(path.is_symlink() for path in (found.folder / failed.folder).iterdir())
    assert (recipe.parent / "run" / "labels").is_dir()
