"""Finding the columns of the classes: by the recipe, by name, inside objects; and refusing what is no number."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from limbeck.errors import ColumnMissing, FileEmpty, LimbeckError
from limbeck.recipe.teacher import FileTeacher
from limbeck.tables.table import open_table
from limbeck.teacher.score_columns import (
    AnswerMalformed,
    ClassColumnsMissing,
    ClassUnknown,
    ScoreColumns,
    find_score_columns,
    form_of,
    read_numbers,
)

CLASSES = ["negative", "positive"]


def said(folder: Path, *lines: str, name: str = "said.csv") -> Path:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / name


def said_in_json(folder: Path, *rows: Mapping[str, Any]) -> Path:
    return said(folder, *(json.dumps(row) for row in rows), name="said.jsonl")


def found(path: Path, *, classes: Sequence[str] = CLASSES, **keys: Any) -> ScoreColumns:
    return find_score_columns(FileTeacher.model_validate({"kind": "file", "path": str(path), **keys}), classes=classes)


def numbers(path: Path, *, classes: Sequence[str] = CLASSES, **keys: Any) -> list[list[float]]:
    """All numbers of the file, in the order of the classes."""
    columns = found(path, classes=classes, **keys)
    table = open_table(path, form=form_of(FileTeacher.model_validate({"kind": "file", "path": str(path), **keys})))
    rows = list(table.rows([*columns.texts, *(place.column for place in columns.places)]))
    return [list(row) for row in read_numbers(rows, columns, path=path).tolist()]


@pytest.mark.parametrize(
    ("negative", "positive", "meaning"),
    [
        ("negative", "positive", None),
        ("Negative", "POSITIVE", None),
        ("probability_negative", "probability_positive", "probabilities"),
        ("Probability_Negative", "probability_positive", "probabilities"),
        ("probabilities.negative", "probabilities.positive", "probabilities"),  # as pandas flattens objects
        ("logit_negative", "logit_positive", "logits"),
        ("logits.negative", "logits.positive", "logits"),
    ],
)
def test_columns_are_found_by_the_names_of_the_classes_wherever_they_stand(
    tmp_path: Path, negative: str, positive: str, meaning: str | None
) -> None:
    path = said(tmp_path, f"id,{positive},text,seconds,{negative}", "7,2,a film,0.1,1")

    assert found(path).meaning == meaning
    assert numbers(path) == [[1, 2]]


@pytest.mark.parametrize(("key", "meaning"), [("probabilities", "probabilities"), ("logits", "logits")])
def test_numbers_are_found_inside_objects(tmp_path: Path, key: str, meaning: str) -> None:
    path = said_in_json(tmp_path, {"text": "a film", "label": "x", key: {"other": 9, "Positive": 2, "negative": 1}})

    assert found(path).meaning == meaning
    assert numbers(path) == [[1, 2]]


def test_columns_of_their_own_go_before_objects(tmp_path: Path) -> None:
    inside = {"negative": 1, "positive": 2}

    assert numbers(said_in_json(tmp_path, {"text": "a", "probabilities": inside, "negative": 3, "positive": 4})) == [
        [3, 4]
    ]


def test_of_two_kinds_of_columns_the_one_that_the_recipe_speaks_of_is_taken(tmp_path: Path) -> None:
    head = "text,probability_negative,probability_positive,logit_negative,logit_positive"
    path = said(tmp_path, head, "a film,1,2,3,4")

    assert numbers(path) == [[1, 2]]
    assert numbers(path, values="logits") == [[3, 4]]


def test_the_recipe_goes_before_columns_that_are_called_like_the_classes(tmp_path: Path) -> None:
    path = said(tmp_path, "text,negative,positive,n,p", "a film,1,2,3,4")

    assert numbers(path, columns={"positive": "p", "negative": "n"}) == [[3, 4]]
    assert numbers(path, columns={"positive": 4, "negative": 3}) == [[3, 4]]


def test_a_number_means_that_column_even_where_another_one_before_it_has_the_same_name(tmp_path: Path) -> None:
    path = said(tmp_path, "text,p,p", "a film,1,2")

    assert numbers(path, columns={"positive": 1, "negative": 2}) == [[2, 1]]


def test_fields_of_any_object_can_be_named(tmp_path: Path) -> None:
    path = said_in_json(tmp_path, {"text": "a film", "gpt": {"neg": 1, "pos": 2}})

    assert numbers(path, columns={"negative": "gpt.neg", "positive": "gpt.pos"}) == [[1, 2]]


def test_column_numbers_are_not_taken_for_classes_that_are_called_by_numbers(tmp_path: Path) -> None:
    path = said(tmp_path, "0.25,0.75,a film")

    with pytest.raises(ClassColumnsMissing, match="without names"):
        found(path, classes=["0", "1"], header=False, text=2)


def test_names_that_differ_in_case_alone_are_distinguished(tmp_path: Path) -> None:
    assert numbers(said(tmp_path, "text,no,No", "a film,1,2"), classes=["No", "no"]) == [[2, 1]]


@pytest.mark.parametrize("columns", ["NO,nO", "No,other"])
def test_names_in_doubt_are_not_guessed(tmp_path: Path, columns: str) -> None:
    with pytest.raises(ClassColumnsMissing):
        found(said(tmp_path, f"text,{columns}", "a film,1,2"), classes=["No", "no"])


def test_the_column_of_the_text_is_never_that_of_a_class(tmp_path: Path) -> None:
    path = said(tmp_path, "text,code,probability_code,probability_text", "a film,9,1,2")

    assert numbers(path, classes=["code", "text"]) == [[1, 2]]


def test_missing_class_columns_are_an_error_that_writes_the_line_to_add(tmp_path: Path) -> None:
    with pytest.raises(ClassColumnsMissing) as raised:
        found(said(tmp_path, "text,p_negative,positiv", "a film,1,2"))

    message = str(raised.value)
    assert raised.value.missing == ("negative", "positive")
    assert "'positive' (did you mean 'positiv'?)" in message
    assert "classes of the corpus: negative, positive" in message
    assert "columns of the file: p_negative, positiv" in message
    assert 'columns = {"negative" = "p_negative", "positive" = "positiv"}' in message


def test_only_the_classes_without_a_column_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ClassColumnsMissing) as raised:
        found(said(tmp_path, "text,probability_negative,p1", "a film,1,2"))

    assert raised.value.missing == ("positive",)


def test_the_fields_of_objects_are_offered_too(tmp_path: Path) -> None:
    with pytest.raises(ClassColumnsMissing, match=r'"negative" = "gpt\.negative", "positive" = "gpt\.positive"'):
        found(said_in_json(tmp_path, {"text": "a film", "gpt": {"negative": 1, "positive": 2}}))


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"negative": "negative"}, ClassColumnsMissing, "for 1 of 2 classes: 'positive'"),
        ({"negative": "negative", "positiv": "positive"}, ClassUnknown, "'positiv' (did you mean 'positive'?)"),
        ({"negative": "negative", "positive": "positiv"}, ColumnMissing, "did you mean 'positive'?"),
        ({"negative": 1, "positive": 7}, ColumnMissing, "`teacher.columns.positive`"),
    ],
)
def test_mistakes_in_the_columns_of_the_recipe_are_said(
    tmp_path: Path, columns: dict[str, Any], error: type[LimbeckError], message: str
) -> None:
    with pytest.raises(error) as raised:
        found(said(tmp_path, "text,negative,positive", "a film,1,2"), columns=columns)

    assert message in str(raised.value)


def test_a_missing_text_column_is_said_with_the_key_of_the_teacher(tmp_path: Path) -> None:
    with pytest.raises(ColumnMissing, match=r"Set `teacher\.pair`"):
        found(said(tmp_path, "text,negative,positive", "a film,1,2"), pair="other")


@pytest.mark.parametrize("lines", [[], ["text,negative,positive"]])
def test_a_file_without_rows_is_an_error(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(FileEmpty):
        found(said(tmp_path, *lines))


@pytest.mark.parametrize(
    ("cell", "reason", "shown"),
    [
        ("", "empty", "''"),
        ("n/a", "not a number", "'n/a'"),
        ('"0,25"', "not a number", "'0,25'"),
        ("25%", "not a number", "'25%'"),
        ("nan", "not a finite number", "'nan'"),
        ("-inf", "not a finite number", "'-inf'"),
        ("1e300", "not a finite number", "'1e300'"),
    ],
)
def test_a_cell_that_is_no_number_is_an_error_that_shows_it(tmp_path: Path, cell: str, reason: str, shown: str) -> None:
    path = said(tmp_path, "text,negative,positive", "a fine film,0.25,0.75", f"a dull film,0.5,{cell}")

    with pytest.raises(AnswerMalformed, match=f"row 3, positive: {reason}\n") as raised:
        numbers(path)

    assert (raised.value.row, raised.value.column, raised.value.value) == (3, "positive", shown)


@pytest.mark.parametrize(
    ("second", "column", "reason"),
    [
        ({"probabilities": {"negative": 0.5, "positive": None}}, "probabilities.positive", "empty"),
        ({"probabilities": {"negative": 0.5, "positive": [1]}}, "probabilities.positive", "not a number"),
        ({"probabilities": {"negative": 0.5, "positive": 10**400}}, "probabilities.positive", "not a number"),
        ({"probabilities": {"negative": 0.5}}, "probabilities.positive", "missing"),
        ({"probabilities": [0.5, 0.5]}, "probabilities.negative", "not an object"),
        ({"probabilities": None}, "probabilities.negative", "not an object"),
        ({}, "probabilities.negative", "missing"),
    ],
)
def test_an_object_without_a_number_for_each_class_is_an_error(
    tmp_path: Path, second: Mapping[str, Any], column: str, reason: str
) -> None:
    first = {"text": "a fine film", "probabilities": {"negative": 0.25, "positive": 0.75}}

    with pytest.raises(AnswerMalformed, match=reason) as raised:
        numbers(said_in_json(tmp_path, first, {"text": "a dull film", **second}))

    assert (raised.value.row, raised.value.column) == (2, column)


@pytest.mark.parametrize(("prefix", "meaning"), [("probability_", "probabilities"), ("logit_", "logits")])
def test_columns_that_say_what_they_hold_go_before_those_called_like_the_classes(
    tmp_path: Path, prefix: str, meaning: str
) -> None:
    """What `limbeck predict` writes beside gold labels."""
    path = said(tmp_path, f"text,negative,positive,{prefix}negative,{prefix}positive", "a film,1,0,0.25,0.75")

    assert numbers(path) == [[0.25, 0.75]]
    assert found(path).names == [f"{prefix}negative", f"{prefix}positive"]
    assert found(path).meaning == meaning


def test_the_recipe_may_still_mean_the_columns_called_like_the_classes(tmp_path: Path) -> None:
    path = said(tmp_path, "text,negative,positive,probability_negative,probability_positive", "a film,1,2,3,4")

    assert numbers(path, values="logits") == [[1, 2]]
    assert numbers(path, columns={"negative": "negative", "positive": "positive"}) == [[1, 2]]
