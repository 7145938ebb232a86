"""Which of several columns is the label, where no name says so: the one that the texts predict."""

import random
from pathlib import Path

import pytest

from limbeck.drafting.column_profile import ColumnProfile
from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.drafting.predicted_by_texts import clearly_predicted, predicted_by_texts

THINGS = {"billing": ["invoice", "refund"], "delivery": ["parcel", "courier"], "access": ["password", "login"]}
ENDS = [f"{word} number {number}" for number in range(10) for word in ("shelf", "street", "customer", "desk")]
ROWS = [
    (f"my {thing} went wrong at {end}", queue) for end in ENDS for queue, things in THINGS.items() for thing in things
]
TEXTS, QUEUES = [text for text, _ in ROWS], [queue for _, queue in ROWS]
LEVELS = [random.Random(number).choice(["low", "high"]) for number in range(len(ROWS))]


def look(path: Path, header: list[str], *columns: list[str], label: str | None = None) -> Inspection:
    rows = [header, *(list(row) for row in zip(*columns, strict=True))]
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return inspect_file(path, label=label)


def test_the_texts_predict_one_column_and_not_another() -> None:
    found = predicted_by_texts(TEXTS, [ColumnProfile(2, "queue", QUEUES), ColumnProfile(1, "level", LEVELS)])

    assert found[2] > 0.95
    assert abs(found[1]) < 0.2


def test_few_different_texts_say_nothing() -> None:
    assert predicted_by_texts([TEXTS[number % 20] for number in range(200)], [ColumnProfile(1, "queue", QUEUES)]) == {}


@pytest.mark.parametrize(
    ("found", "taken"),
    [
        ({1: 0.0, 2: 0.8}, 2),
        ({1: -0.1, 2: 0.21}, 2),
        ({1: 0.0, 2: 0.19}, 1),  # not clear
        ({1: 0.3, 2: 0.8}, 1),  # both are predicted: values and names decide
        ({1: 0.2, 2: 0.1}, 1),
        ({}, 1),
    ],
)
def test_another_column_is_taken_only_where_it_is_far_ahead(found: dict[int, float], taken: int) -> None:
    assert clearly_predicted(found, likeliest=1) == taken


def test_the_column_that_the_texts_predict_is_the_label_and_the_numbers_are_said(tmp_path: Path) -> None:
    found = look(tmp_path / "a.csv", ["level", "queue", "message"], LEVELS, QUEUES, TEXTS)

    assert (found.text, found.label) == ("message", "queue")
    (note,) = found.notes
    assert "queue 1.00, level" in note


def test_without_the_measurement_fewer_values_would_be_the_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limbeck.drafting.roles.predicted_by_texts", lambda *_: {})

    assert look(tmp_path / "a.csv", ["level", "queue", "message"], LEVELS, QUEUES, TEXTS).label == "level"


def test_a_name_decides_and_so_does_the_user(tmp_path: Path) -> None:
    named = look(tmp_path / "a.csv", ["category", "queue", "message"], LEVELS, QUEUES, TEXTS)
    given = look(tmp_path / "b.csv", ["level", "queue", "message"], LEVELS, QUEUES, TEXTS, label="level")

    assert named.label == "category"
    assert given.label == "level"
