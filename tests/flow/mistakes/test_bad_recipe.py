"""Recipes and options that cannot be used: every problem at once, and no work is begun."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_all_mistakes_of_a_recipe_are_listed_at_once(tmp_path: Path, limbeck: Command) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        '[corpus]\ntrain = "x.csv"\ntxt = "review"\n[studnet]\n[teacher]\nepochs = 0\n'
        '[[distillation.losses]]\nkind = "logit_mes"\n',
        encoding="utf-8",
    )

    answer = limbeck("run", recipe)

    assert answer.refused_with("mine.toml: 4 problems", "corpus.txt: unknown key (did you mean 'text'?)")
    assert answer.refused_with("studnet: unknown key (did you mean 'student'?)", "teacher.epochs:", "found 0")
    assert answer.refused_with("unknown kind 'logit_mes' (did you mean 'logit_mse'?)", "docs/recipe.md")


def test_what_is_not_toml_is_reported_with_its_place(tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "mine.toml").write_text("[corpus]\ntrain = x.csv\n", encoding="utf-8")

    assert limbeck("run", tmp_path / "mine.toml").refused_with("mine.toml", "not valid TOML", "line 2")


def test_an_unknown_recipe_is_reported_with_the_nearest_names(
    tmp_path: Path, limbeck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reviews.toml").touch()

    assert limbeck("run", "sst2-smal").refused_with(
        "no recipe 'sst2-smal' (did you mean 'sst2-small'?)", "limbeck recipes"
    )
    assert limbeck("run", "review.toml").refused_with("no recipe 'review.toml' (did you mean 'reviews.toml'?)")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("student", ("--set student: write it as section.key=value",)),
        ("=3", ("--set =3: write it as section.key=value",)),
        ("student.hidden_size=many", ("student.hidden_size: should be a valid integer", "'many'")),
        ("student.hiden_size=3", ("student.hiden_size: unknown key (did you mean 'hidden_size'?)",)),
        ("student.hidden_size.x=3", ("'x' is inside a plain value",)),
        ("distillation.losses.7.weight=1", ("7",)),
    ],
)
def test_a_bad_change_is_refused(toy: Any, limbeck: Command, change: str, words: tuple[str, ...]) -> None:
    assert limbeck("run", toy.recipe, "--out", toy.run, "--set", change).refused_with(*words)


def test_an_unknown_command_is_reported_with_the_nearest_one(limbeck: Command) -> None:
    answer = limbeck("predcit", "x")

    assert answer.code == 2
    assert "Did you mean 'predict'?" in answer.err


def test_an_unknown_stage_is_reported_with_those_there_are(toy: Any, limbeck: Command) -> None:
    answer = limbeck("run", toy.recipe, "--until", "techer")

    assert answer.code == 2
    assert "'techer' is not one of 'corpus', 'transfer'," in answer.err


def test_a_run_folder_given_as_recipe_goes_on_where_it_is(
    toy: Any, limbeck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy.folder)

    answer = limbeck("run", "runs/toy")

    assert answer.code == 0
    assert answer.steps("▸") == {}
    assert [path.name for path in (toy.folder / "runs").iterdir() if path.is_dir()] == [".label-store", "toy"]
    assert '"name": "toy"' in (toy.run / "run.json").read_text(encoding="utf-8")


def test_a_mistake_in_the_recipe_leaves_the_recipe_of_the_run_alone(toy: Any, limbeck: Command) -> None:
    kept = (toy.run / "recipe.toml").read_text(encoding="utf-8")

    assert limbeck("run", toy.run, "--set", "student.hidden_size=0").refused_with(
        "greater than or equal to 1", "found 0"
    )

    assert (toy.run / "recipe.toml").read_text(encoding="utf-8") == kept
