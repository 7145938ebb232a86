"""What is searched: every kind's settings make recipes that parse, and nothing but what the kind knows."""

from typing import Any

import optuna
import pytest

from limbeck.recipe.load import parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.search.space import OWN, RANK, Space

CORPORA: dict[str, dict[str, Any]] = {
    "single texts": {"corpus": {"train": "x.csv"}},
    "pairs": {"corpus": {"train": "x.csv", "pair": "other"}},
    "several labels": {"corpus": {"train": "x.csv", "multi_label": True}},
    "vectors of a file": {"corpus": {"train": "x.csv"}, "student": {"word_vectors": "glove.txt"}},
    "pairs, vectors of a file": {
        "corpus": {"train": "x.csv", "pair": "other"},
        "student": {"word_vectors": "glove.txt"},
    },
    "features": {"corpus": {"train": "x.csv"}, "distillation": {"losses": [{"kind": "logit_mse"}, {"kind": "spkd"}]}},
    "transformer": {
        "corpus": {"train": "x.csv"},
        "student": {"kind": "transformer", "max_length": 64},
        "distillation": {
            "learning_rate": 1e-4,
            "stages": [{"losses": [{"kind": "hidden_mse"}]}, {"losses": [{"kind": "logit_mse"}]}],
        },
    },
    "several students": {
        "corpus": {"train": "x.csv"},
        "student": {"kind": "auto"},
        "distillation": {"seeds": [3, 4]},
    },
}


def space_of(name: str) -> Space:
    return Space(Recipe.model_validate(CORPORA[name]))


@pytest.mark.parametrize("name", CORPORA)
def test_whatever_is_asked_for_parses(name: str) -> None:
    space, study = space_of(name), optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    asked = [space.ask(study.ask()) for _ in range(60)]

    assert {settings["kind"] for settings in asked} == {"bilstm", "textcnn", "bag", "ngrams"}
    for settings in asked:
        recipe = space.changed(space.overrides(settings, max_mb=5))
        assert recipe.student.kind == settings["kind"]
        assert recipe.student.max_size_mb == 5
        assert recipe.candidates == []
        assert len(recipe.distillation.seeds) == 1
        assert recipe.features == space.recipe.features  # otherwise the labels would be made again


@pytest.mark.parametrize("name", CORPORA)
def test_the_defaults_of_a_kind_are_those_of_its_section_and_can_be_asked_for(name: str) -> None:
    space, study = space_of(name), optuna.create_study()

    for kind in space.kinds:
        defaults = space.defaults(kind)
        study.enqueue_trial(defaults)

        assert space.ask(study.ask()) == defaults


def test_how_two_texts_meet_is_searched_for_pairs_alone_and_where_a_kind_can_choose() -> None:
    single, pairs = space_of("vectors of a file"), space_of("pairs, vectors of a file")

    assert "pairing" not in {setting.key for setting in single.settings("bilstm")}
    searched = [kind for kind in pairs.kinds if "pairing" in {setting.key for setting in pairs.settings(kind)}]
    assert searched == ["bilstm", "bag"]


def test_a_kind_that_is_not_the_recipes_keeps_what_the_recipe_says_about_its_text() -> None:
    student = {"kind": "bilstm", "max_length": 40, "hidden_size": 77, "vocabulary": {"lowercase": False}}
    space = Space(Recipe.model_validate({"corpus": {"train": "x.csv"}, "student": student}))

    bag = space.changed(space.overrides(space.defaults("bag"))).student
    own = space.base("bilstm")

    assert (bag.kind, bag.max_length) == ("bag", 40)
    assert bag.vocabulary.model_dump()["lowercase"] is False
    assert own["hidden_size"] == 77


def test_word_vectors_of_a_file_are_narrowed_by_their_rank_and_not_by_a_width() -> None:
    single, pairs = space_of("vectors of a file"), space_of("pairs, vectors of a file")

    keys = {setting.key for setting in single.settings("bag")}

    assert RANK in keys
    assert "embedding_size" not in keys
    assert RANK not in {setting.key for setting in pairs.settings("bag")}  # a bag of pairs cannot have one
    assert RANK in {setting.key for setting in pairs.settings("bilstm")}


def test_the_rate_of_a_transformer_is_not_that_of_words() -> None:
    space = space_of("transformer")

    bag = space.changed(space.overrides(space.defaults("bag"))).distillation

    assert bag.learning_rate == 2e-3
    assert bag.stages == []
    assert [loss.kind for loss in bag.losses] == ["logit_mse"]


def test_ngrams_have_their_own_rate() -> None:
    space = space_of("single texts")

    settings = {**space.defaults("ngrams"), "learning_rate_factor": 2.0, "buckets": 5_000}
    student = space.changed(space.overrides(settings)).student

    assert student.model_dump()["learning_rate"] == 0.06
    assert student.vocabulary.max_size == 5_000


def test_a_smaller_limit_of_the_recipe_stays() -> None:
    raw = {"corpus": {"train": "x.csv"}, "student": {"max_size_mb": 2.0}}
    space = Space(Recipe.model_validate(raw))

    assert space.changed(space.own(max_mb=5)).student.max_size_mb == 2
    assert space.student(space.defaults("bilstm"), max_mb=5)["max_size_mb"] == 2
    assert space.own() == []


def test_a_transformer_with_its_teachers_tokens_is_tried_as_it_is() -> None:
    assert space_of("transformer").own(max_mb=5) == []


def test_without_a_teacher_only_the_labels_are_tried_and_no_graph() -> None:
    recipe = parse_recipe({"corpus": {"train": "rows.csv"}, "teacher": {"kind": "none"}}, recipe="toy")

    space = Space(recipe)

    assert space.objectives == (OWN,)
    assert "textgcn" not in space.kinds
    assert "bilstm" in space.kinds
