"""Further students of a recipe: `[[candidates]]`, and `student.kind = "auto"`."""

from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import RecipeInvalid
from limbeck.kinds import AUTO_CANDIDATES
from limbeck.recipe.load import load_recipe, parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import Bag, BiLstm, TextCnn, Transformer
from limbeck.recipe.toml import to_toml

CORPUS = {"train": "train.csv"}


def parsed(**tables: Any) -> Recipe:
    return parse_recipe({"corpus": CORPUS, **tables}, recipe="toy")


def test_candidates_are_students_of_any_kind() -> None:
    recipe = parsed(candidates=[{"kind": "bag", "dense_size": 4}, {"kind": "transformer", "layers": 2}])

    assert [type(candidate) for candidate in recipe.candidates] == [Bag, Transformer]
    assert recipe.has_blend


def test_each_student_gets_the_recipe_as_if_it_were_the_only_one() -> None:
    main, other = parsed(candidates=[{"kind": "bag"}], distillation={"epochs": 2}).for_each_student()

    assert (main.student.kind, other.student.kind) == ("bilstm", "bag")
    assert main == parsed(distillation={"epochs": 2})
    assert (main.distillation.baseline, other.distillation.baseline) == (True, False)
    assert main.candidates == other.candidates == []


def test_a_recipe_without_candidates_has_no_blend() -> None:
    assert not parsed().has_blend
    assert not parsed(candidates=[{"kind": "bag"}], export={"blend": False}).has_blend


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({"candidates": [{"kind": "bilstm"}]}, "bilstm is the kind of [student] too: name each kind of student once"),
        ({"candidates": [{"kind": "bag"}, {"kind": "bag"}]}, "bag appears twice: name each kind of student once"),
        ({"candidates": [{"kind": "bagg"}]}, "candidates.0.kind: unknown kind 'bagg' (did you mean 'bag'?)"),
        ({"candidates": [{"kind": "bag", "filters": 3}]}, "candidates.0.filters: unknown key"),
        (
            {
                "student": {"kind": "transformer"},
                "candidates": [{"kind": "bag"}],
                "distillation": {"losses": [{"kind": "hidden_mse"}, {"kind": "logit_mse"}]},
            },
            "candidates, bag: hidden_mse reads the student's layers, but a bag has no layers to compare",
        ),
        (
            {"corpus": {**CORPUS, "pair": "second"}, "candidates": [{"kind": "bag", "vector_rank": 8}]},
            "candidates, bag: student.vector_rank is not possible for a bag that reads pairs",
        ),
        ({"student": {"kind": "auto", "filters": 3}}, "student.filters: unknown key"),
        ({"student": {"kind": "auto", "max_length": "x"}}, "student.max_length: should be a valid integer"),
    ],
)
def test_a_candidate_that_does_not_fit_is_one_clear_problem(tables: dict[str, Any], problem: str) -> None:
    with pytest.raises(RecipeInvalid) as caught:
        parsed(**tables)

    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


def test_auto_is_short_for_a_bilstm_and_a_few_candidates() -> None:
    recipe = parsed(student={"kind": "auto", "hidden_size": 9, "max_size_mb": 3.0, "vocabulary": {"max_size": 99}})

    assert isinstance(recipe.student, BiLstm)
    assert recipe.student.hidden_size == 9
    assert tuple(candidate.kind for candidate in recipe.candidates) == AUTO_CANDIDATES
    for candidate in recipe.candidates:
        assert (candidate.max_size_mb, candidate.vocabulary.max_size) == (3.0, 99)


def test_auto_keeps_the_candidates_that_the_recipe_has() -> None:
    recipe = parsed(student={"kind": "auto"}, candidates=[{"kind": "textcnn", "filters": 7}])

    first, *others = recipe.candidates
    assert isinstance(first, TextCnn)
    assert first.filters == 7
    assert [candidate.kind for candidate in others] == [kind for kind in AUTO_CANDIDATES if kind != "textcnn"]


def test_a_transformer_among_the_candidates_reads_as_far_as_its_teacher() -> None:
    recipe = parsed(teacher={"max_length": 77}, candidates=[{"kind": "transformer"}])

    assert recipe.candidates[0].max_length == 77


def test_a_written_recipe_with_candidates_is_read_as_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n", encoding="utf-8")
    (tmp_path / "vectors.txt").write_text("", encoding="utf-8")
    (tmp_path / "given.toml").write_text(
        '[corpus]\ntrain = "train.csv"\n[student]\nkind = "auto"\nmax_length = 9\n'
        '[[candidates]]\nkind = "bag"\nword_vectors = "vectors.txt"\n',
        encoding="utf-8",
    )

    recipe = load_recipe(tmp_path / "given.toml").recipe
    (tmp_path / "written.toml").write_text(to_toml(recipe), encoding="utf-8")

    bag = recipe.candidates[0]
    assert isinstance(bag, Bag)
    assert bag.word_vectors == str(tmp_path / "vectors.txt")
    assert load_recipe(tmp_path / "written.toml").recipe == recipe
