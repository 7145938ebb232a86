"""A recipe written as TOML and read again is the same recipe."""

import tomllib
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.teacher import EncoderTeacher, EnsembleTeacher
from limbeck.recipe.toml import apply_overrides, to_toml

RECIPES: dict[str, dict[str, Any]] = {
    "defaults": {"corpus": {"train": "train.csv"}},
    "everything": {
        "name": "every-thing_1.0",
        "corpus": {
            "train": "train.tsv",
            "text": 0,
            "pair": "question 2",
            "label": 3,
            "label_names": {"0": "negative", "sehr gut": "ja", "好": "正面"},
            "quoting": False,
            "max_rows": 1000,
        },
        "transfer": {"files": ["a/**/*.txt", "b.csv"], "pair": 1, "where": {"source": "imdb"}, "rows": 10},
        "teacher": {"checkpoint": "folder", "learning_rate": 1e-7},
        "student": {"word_vectors": "vectors.txt.gz", "vocabulary": {"kind": "pieces"}},
        "distillation": {
            "seeds": [0, 1, 2],
            "losses": [
                {"kind": "soft_targets", "temperature": 4},
                {"kind": "hard_labels", "weight": 0.25},
                {"kind": "logit_mse"},
            ],
        },
        "export": {"precisions": ["int8"]},
    },
    "seeds": {"corpus": {"train": "a.csv"}, "teacher": {"epochs": 2, "seeds": [3, 1], "near_chance": "warn"}},
    "members": {
        "corpus": {"train": "a.csv"},
        "teacher": {"kind": "ensemble", "combine": "weighted", "members": [{"seed": 3}, {"seed": 1}]},
    },
    "the same twice": {
        "corpus": {"train": "a.csv"},
        "teacher": {"kind": "ensemble", "combine": "mean_logits", "members": [{"seed": 3}, {"seed": 3}]},
    },
    "teachers as they are": {
        "corpus": {"train": "a.csv"},
        "teacher": {
            "kind": "ensemble",
            "combine": "mean_logits",
            "members": [{"train": "none", "seed": 0}, {"train": "none", "seed": 1}],
        },
    },
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_the_round_trip(name: str) -> None:
    recipe = parse_recipe(RECIPES[name], recipe=name)

    assert parse_recipe(tomllib.loads(to_toml(recipe)), recipe=name) == recipe


def test_teachers_of_several_seeds_are_written_as_one_whose_keys_can_be_changed() -> None:
    written = tomllib.loads(to_toml(parse_recipe(RECIPES["seeds"], recipe="seeds")))

    assert (written["teacher"]["kind"], written["teacher"]["seeds"]) == ("encoder", [3, 1])
    changed = apply_overrides(written, ["teacher.seeds=[3, 1, 4]", "teacher.epochs=5"], recipe="seeds")
    teacher = parse_recipe(changed, recipe="seeds").teacher
    assert isinstance(teacher, EnsembleTeacher)
    assert [(one.seed, one.epochs) for one in teacher.members if isinstance(one, EncoderTeacher)] == [
        (3, 5),
        (1, 5),
        (4, 5),
    ]


@pytest.mark.parametrize("name", ["members", "the same twice", "teachers as they are"])
def test_members_that_seeds_do_not_replace_are_written_one_by_one(name: str) -> None:
    written = tomllib.loads(to_toml(parse_recipe(RECIPES[name], recipe=name)))

    assert (written["teacher"]["kind"], len(written["teacher"]["members"])) == ("ensemble", 2)


@pytest.mark.parametrize(
    "text",
    [
        'a "quoted" path',
        "C:\\data\\new",
        "tab\there",
        "line\nbreak",
        "del\x7f",
        "null\x00",
        "好电影",
        "é",
        "= # []",
        "",
    ],
)
def test_any_text_survives_the_round_trip(text: str) -> None:
    recipe = parse_recipe({"corpus": {"train": "x", "text": text, "label_names": {text: text}}}, recipe="mine")

    assert parse_recipe(tomllib.loads(to_toml(recipe)), recipe="mine") == recipe


def test_defaults_are_written_out() -> None:
    text = to_toml(parse_recipe(RECIPES["defaults"], recipe="mine"))

    assert "hidden_size = 150" in text.splitlines()
    assert "[student.vocabulary]" in text.splitlines()
    assert "[[distillation.losses]]" in text.splitlines()


def test_what_is_left_out_of_the_file_is_none_by_default() -> None:
    """TOML has no word for None, so a key that may be None must default to it."""
    wrong = [
        f"{model.__name__}.{name}"
        for model in sections_below(Recipe)
        for name, field in model.model_fields.items()
        if type(None) in get_args(field.annotation) and not field.is_required() and field.default is not None
    ]

    assert wrong == []


def sections_below(model: type[BaseModel]) -> set[type[BaseModel]]:
    """The model and every section inside it."""
    found = {model}
    waiting: list[Any] = [field.annotation for field in model.model_fields.values()]
    while waiting:
        annotation = waiting.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found |= sections_below(annotation)
        else:
            waiting += get_args(annotation)
    return found
