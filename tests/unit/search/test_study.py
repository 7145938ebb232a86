"""The study on disk: what is planned, what goes on, and what belongs together."""

from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key, write_manifest
from limbeck.errors import DependencyMissing
from limbeck.recipe.recipe import Recipe
from limbeck.search import study as study_module
from limbeck.search.choice import CostLimits, Trial
from limbeck.search.space import Space
from limbeck.search.study import Proposal, Study, refuse_without_optuna


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    folder = tmp_path / "labels"
    folder.mkdir()
    write_manifest(folder, kind="labels", key=Key(section={}, inputs={}))
    return folder


def opened(labels: Path, *, limits: CostLimits | None = None, **student: Any) -> Study:
    recipe = Recipe.model_validate({"corpus": {"train": "x.csv"}, "student": student})
    return Study(labels.parent, space=Space(recipe), limits=limits or CostLimits(max_us=100), labels=labels, seed=0)


def finish(study: Study, *, score: float = 0.5, us: float = 50.0) -> Proposal:
    proposal = study.propose()
    study.keep(
        proposal,
        Trial(
            folder=proposal.folder,
            state="finished",
            origin=proposal.origin,
            kind=proposal.kind,
            dev_score=score,
            us=us,
            mb=1.0,
            overrides=proposal.overrides,
        ),
    )
    return proposal


def test_the_recipes_own_student_comes_first_then_every_kind_then_samples(labels: Path) -> None:
    study = opened(labels, hidden_size=40)

    made = [finish(study) for _ in range(6)]

    assert [(one.origin, one.kind) for one in made[:5]] == [
        ("recipe", "bilstm"),
        *(("defaults", kind) for kind in ("bilstm", "textcnn", "bag", "ngrams")),
    ]
    assert made[0].overrides == []
    assert made[5].origin == "sampled"
    assert [one.folder for one in made] == [f"trial-{number:04d}" for number in range(6)]


def test_a_recipe_with_the_defaults_of_its_kind_is_tried_once(labels: Path) -> None:
    study = opened(labels)

    made = [finish(study) for _ in range(4)]

    assert [(one.origin, one.kind) for one in made] == [
        ("recipe", "bilstm"),
        *(("defaults", kind) for kind in ("textcnn", "bag", "ngrams")),
    ]


def test_a_study_goes_on_where_it_ended(labels: Path) -> None:
    first = opened(labels)
    finish(first, score=0.7)
    finish(first)

    second = opened(labels)

    assert second.trials == first.trials
    assert finish(second).kind == "bag"


def test_a_stopped_trial_is_tried_once_more_in_its_folder(labels: Path) -> None:
    study = opened(labels)
    for _ in range(4):
        finish(study)
    stopped = study.propose()

    again = opened(labels)
    second = again.propose()

    assert len(again.trials) == 4
    assert (second.folder, second.overrides) == (stopped.folder, stopped.overrides)
    given_up = opened(labels)
    assert [trial.reason for trial in given_up.trials[4:]] == ["it was stopped 2 times"]
    assert given_up.propose().folder != stopped.folder


def test_other_limits_take_over_what_is_known_and_judge_it_anew(labels: Path) -> None:
    first = opened(labels)
    finish(first, us=90.0)

    second = opened(labels, limits=CostLimits(max_us=45))

    assert second.trials == first.trials
    assert second._study.trials[0].constraints == {"us": 1.0}
    assert first._study.trials[0].constraints["us"] == pytest.approx(-0.1)


def test_with_another_limit_of_size_the_planned_students_are_tried_again(labels: Path) -> None:
    first = opened(labels, limits=CostLimits(max_mb=5))
    for _ in range(5):
        finish(first)

    faster = opened(labels, limits=CostLimits(max_us=9, max_mb=5))
    smaller = opened(labels, limits=CostLimits(max_mb=2))

    assert [faster.propose().origin for _ in range(2)] == ["sampled", "sampled"]
    assert [smaller.propose().kind for _ in range(4)] == ["bilstm", "textcnn", "bag", "ngrams"]
    assert len(smaller.trials) == 5


def test_another_recipe_or_other_labels_begin_anew(labels: Path) -> None:
    finish(opened(labels))

    other = opened(labels, hidden_size=40)
    (labels / "more").write_text("rows", encoding="utf-8")
    write_manifest(labels, kind="labels", key=Key(section={}, inputs={}))
    relabelled = opened(labels)

    assert (other.trials, relabelled.trials) == ([], [])


def test_failed_trials_are_kept_with_their_reason(labels: Path) -> None:
    study = opened(labels)
    proposal = study.propose()

    study.keep(proposal, Trial(folder=proposal.folder, state="failed", origin="recipe", reason="refused"))

    assert [trial.reason for trial in opened(labels).trials] == ["refused"]


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_module, "find_spec", lambda name: None if name == "optuna" else name)

    with pytest.raises(DependencyMissing, match="optuna") as caught:
        refuse_without_optuna()

    assert "limbeck[search]" in str(caught.value)
