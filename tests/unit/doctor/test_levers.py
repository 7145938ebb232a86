"""What a recipe could still have; and that it could: what is advised is not refused."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.teacher_folder import TeacherFacts, TeacherFolder, save_teacher_facts
from limbeck.doctor.known import Known
from limbeck.doctor.levers import Lever, levers
from limbeck.errors import RecipeInvalid
from limbeck.recipe.builtin import builtin_recipes
from limbeck.recipe.load import load_recipe

Make = Callable[..., Any]
CHINESE = {"corpus": {"language": "zh", "rows": {"train": 1000}}}
BERT = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}


def said(known: Known) -> str:
    return "; ".join(lever.text for lever in levers(known))


@pytest.fixture
def make_teacher_of(tmp_path: Path) -> Callable[..., TeacherFolder]:
    """make_teacher_of(config, name="teacher", **facts): the folder of a teacher in a run."""

    def make(config: dict[str, int] | None, name: str = "teacher", **facts: Any) -> TeacherFolder:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        if config is not None:
            (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        save_teacher_facts(folder, TeacherFacts(name=name, labels=["bad", "good"], dev_accuracy=0.93, **facts))
        return TeacherFolder(folder)

    return make


@pytest.mark.parametrize("config", [BERT, {"dim": 768, "n_heads": 12, "hidden_dim": 3072}])
def test_a_transformer_that_no_layer_of_its_teacher_fits_is_advised_first(
    make_known: Make, make_teacher_of: Make, config: dict[str, int]
) -> None:
    narrow = {"student": {"kind": "transformer", "width": 312, "heads": 12}}

    first = next(levers(make_known(narrow, report={}, teacher=make_teacher_of(config))))

    assert first == Lever(
        "layers of the teacher to start from (student.width = 768, student.heads = 12, student.inner_size = 3072: with "
        'width 312 only the embeddings are copied), or student.kind = "bilstm"',
        ("student.width=768", "student.heads=12", "student.inner_size=3072"),
    )


def test_of_an_ensemble_the_first_encoder_lends_its_layers(make_known: Make, make_teacher_of: Make) -> None:
    teacher = make_teacher_of(None, kind="ensemble", members={"said": "f1", "bert": "f2"})
    make_teacher_of(None, "teachers/said", kind="file")
    make_teacher_of(BERT, "teachers/bert")
    narrow = {"student": {"kind": "transformer", "width": 312, "heads": 12}}

    assert "student.width = 768" in said(make_known(narrow, report={}, teacher=teacher))


@pytest.mark.parametrize(
    "student",
    [
        {"kind": "transformer"},
        {"kind": "transformer", "width": 768},
        {"kind": "transformer", "width": 312, "heads": 12, "start": "random"},  # nothing was to be taken over
        {"kind": "bilstm"},
    ],
)
def test_others_are_not(make_known: Make, make_teacher_of: Make, student: dict[str, Any]) -> None:
    known = make_known({"student": student}, report={}, teacher=make_teacher_of(BERT))

    assert "layers of the teacher" not in said(known)


@pytest.mark.parametrize("teacher", ["a file", "of another family", "none yet"])
def test_where_the_shape_of_the_teacher_is_not_known_nothing_is_said_of_it(
    make_known: Make, make_teacher_of: Make, teacher: str
) -> None:
    narrow = {"student": {"kind": "transformer", "width": 312, "heads": 12}}
    parts = {}
    if teacher == "a file":
        parts["teacher"] = make_teacher_of(None, kind="file")
    elif teacher == "of another family":
        parts["teacher"] = make_teacher_of({"d_model": 768})

    assert "layers of the teacher" not in said(make_known(narrow, report={}, **parts))


@pytest.mark.parametrize(
    ("student", "vocabulary", "lever"),
    [
        (
            {},
            {"tokens": 30_000, "width": 400},
            "more words (student.vocabulary.max_size limits it to 30,000; student.vector_rank = 128 keeps the model",
        ),
        ({"vector_rank": 64}, {"tokens": 30_000, "width": 400}, "student.vocabulary.max_size limits it to 30,000)"),
        ({"static_channel": True}, {"tokens": 30_000, "width": 400}, "limits it to 30,000)"),
        ({"embedding_size": 40}, {"tokens": 30_000, "width": 40}, "limits it to 30,000)"),
        ({"kind": "bag"}, {"tokens": 30_000, "width": 400}, "more words"),
        ({}, {"tokens": 29_999, "width": 400}, None),  # there were no more words
        ({"max_size_mb": 4}, {"tokens": 30_000, "width": 400}, None),  # fewer words were asked for
        ({"vocabulary": {"kind": "pieces"}}, {"tokens": 30_000, "width": 400}, None),
        ({"vocabulary": {"max_size": 120_000}}, {"tokens": 120_000, "width": 400}, None),  # enough are enough
        ({"max_length": 400}, {"tokens": 30_000, "width": 400}, None),  # documents
        ({"kind": "transformer"}, {"tokens": 30_000, "width": 400}, None),
    ],
)  # fmt: skip
def test_a_vocabulary_that_is_full_could_be_larger(
    make_known: Make, student: dict[str, Any], vocabulary: dict[str, int], lever: str | None
) -> None:
    known = make_known({"student": student}, report=CHINESE, vocabulary=vocabulary)

    assert (lever or "more words") in said(known) if lever else "more words" not in said(known)


@pytest.mark.parametrize(
    ("tables", "report"),
    [({}, {"corpus": {"language": "en"}}), ({"corpus": {"train": "a.csv", "pair": "second"}}, CHINESE)],
)
def test_more_words_are_named_where_they_were_tried(
    make_known: Make, tables: dict[str, Any], report: dict[str, Any]
) -> None:
    known = make_known(tables, report=report, vocabulary={"tokens": 30_000, "width": 400})

    assert "more words" not in said(known)


@pytest.mark.parametrize(
    ("student", "expected"),
    [
        ({}, True),
        ({"tune_vectors": False}, False),
        ({"static_channel": True}, False),  # which is refused with frozen vectors
        ({"embedding_size": 40}, False),  # so narrow, they have to learn
        ({"word_vectors": "random"}, False),
    ],
)
def test_vectors_of_the_teacher_could_be_frozen(make_known: Make, student: dict[str, Any], expected: bool) -> None:
    known = make_known({"student": student, "transfer": {"files": ["more.txt"]}}, report={})

    assert ("student.tune_vectors = false" in said(known)) == expected


def possible_recipes() -> list[str]:
    """Those of the package, also with methods on top, without those that do not go together."""
    names = [f"{one.name}{method}" for one in builtin_recipes() for method in ("", "-tang", "-tinybert", "-distilbert")]
    possible = []
    for name in names:
        with suppress(RecipeInvalid):
            possible.append(load_recipe(name, locate=False).name)
    return possible


def test_there_are_recipes_of_every_kind_to_try() -> None:
    assert {"sst2", "sst2-tang", "sst2-text-tinybert", "imdb-text", "tnews-15-words"} <= set(possible_recipes())


def test_what_is_advised_is_not_refused_and_not_advised_again(make_teacher_of: Make) -> None:
    teacher, again = make_teacher_of(BERT), {}
    for name in possible_recipes():
        recipe = load_recipe(name, locate=False).recipe
        size = recipe.student.vocabulary.max_size
        parts = {"report": CHINESE, "vocabulary": {"tokens": size, "width": 400}, "teacher": teacher}
        settings = [setting for lever in levers(Known(recipe, parts)) for setting in lever.settings]
        followed = load_recipe(name, overrides=settings, locate=False).recipe
        again[name] = [lever for lever in levers(Known(followed, parts)) if lever.settings]

    assert {name: found for name, found in again.items() if found} == {}
