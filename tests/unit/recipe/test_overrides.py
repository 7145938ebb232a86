"""`--set path=value` changes a recipe as if it had been written so."""

from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.recipe.toml import apply_overrides


def changed(raw: dict[str, Any], *overrides: str) -> dict[str, Any]:
    return apply_overrides(raw, overrides, recipe="mine.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("300", 300),
        ("3e-5", 3e-5),
        ("true", True),
        ("[0, 1, 2]", [0, 1, 2]),
        ('["a", "b"]', ["a", "b"]),
        ('"quoted text"', "quoted text"),
        ("plain text", "plain text"),
        ("data/train.csv", "data/train.csv"),
        ("a=b", "a=b"),
        ("{source = 'imdb'}", {"source": "imdb"}),
        ("2026-01-31", "2026-01-31"),
        ("", ""),
        ("  300  ", 300),
    ],
)
def test_a_value_is_read_as_toml_and_else_as_text(text: str, value: object) -> None:
    assert changed({}, f"section.key={text}") == {"section": {"key": value}}


def test_a_key_that_is_there_is_replaced_and_its_neighbours_stay() -> None:
    raw = {"student": {"hidden_size": 150, "pooling": "max"}}

    assert changed(raw, "student.hidden_size=300") == {"student": {"hidden_size": 300, "pooling": "max"}}


def test_the_recipe_given_is_left_as_it_was() -> None:
    raw = {"distillation": {"losses": [{"kind": "soft_targets"}]}}

    changed(raw, "distillation.losses.0.temperature=4", "distillation.epochs=1")

    assert raw == {"distillation": {"losses": [{"kind": "soft_targets"}]}}


def test_an_item_of_a_list_reads_its_number() -> None:
    raw = {"distillation": {"seeds": [0, 1], "losses": [{"kind": "logit_mse"}, {"kind": "soft_targets"}]}}

    result = changed(raw, "distillation.losses.1.temperature=4", "distillation.seeds.0=7")

    assert result["distillation"] == {
        "seeds": [7, 1],
        "losses": [{"kind": "logit_mse"}, {"kind": "soft_targets", "temperature": 4}],
    }


def test_later_overrides_win() -> None:
    assert changed({}, "a.b=1", "a.b=2") == {"a": {"b": 2}}


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("student.hidden_size", "write it as section.key=value"),
        ("=3", "write it as section.key=value"),
        ("student..hidden_size=3", "write it as section.key=value"),
        ("losses.2.weight=3", "no item '2' in a list of 1"),
        ("losses.first.weight=3", "no item 'first' in a list of 1"),
        ("losses.-1=3", "no item '-1' in a list of 1"),
        ("losses.1=3", "no item '1' in a list of 1"),
        ("name.inner.key=3", "'inner' is inside a plain value"),
        ("name.inner=3", "'inner' is inside a plain value"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem_of_the_recipe(override: str, complaint: str) -> None:
    with pytest.raises(RecipeInvalid) as caught:
        changed({"name": "toy", "losses": [{"kind": "logit_mse"}]}, override)

    assert caught.value.problems[0].startswith(f"--set {override}: {complaint}")


def test_all_bad_overrides_are_reported_at_once() -> None:
    with pytest.raises(RecipeInvalid) as caught:
        changed({}, "no-equals-sign", "a.b=1", "=2")

    assert len(caught.value.problems) == 2
