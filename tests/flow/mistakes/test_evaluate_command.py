"""`limbeck evaluate` on the command line: what it prints and writes, and the mistakes it reports."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from limbeck.runtime.classifier import load

Command = Any


@pytest.fixture
def rows(model: Path, tmp_path: Path, toy_rows: tuple[tuple[str, str], ...]) -> Path:
    """Rows with what the model says as their labels, but for the first."""
    texts = [text for text, _ in toy_rows[:30]]
    labels: list[Any] = list(load(model).predict(texts))
    labels[0] = next(label for label in load(model).labels if label != labels[0])
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "text", "label"), *zip(range(30), texts, labels, strict=True)])
    return path


def test_the_numbers_are_printed_for_people_and_for_programs(model: Path, rows: Path, limbeck: Command) -> None:
    shown, as_json = limbeck("evaluate", model, rows), limbeck("evaluate", model, rows, "--json")

    assert (shown.code, as_json.code) == (0, 0), shown.err + as_json.err
    assert "Accuracy 96.7 %" in shown.out
    assert "Class by class" in shown.out
    assert json.loads(as_json.out)["accuracy"] == pytest.approx(29 / 30)


def test_wrong_answers_are_written_and_another_model_is_compared(
    model: Path, rows: Path, tmp_path: Path, limbeck: Command
) -> None:
    wrong = tmp_path / "wrong.csv"

    done = limbeck("evaluate", model, rows, "--errors", wrong, "--against", model)

    assert done.code == 0, done.err
    assert "no difference beyond noise" in done.out
    with wrong.open(encoding="utf-8", newline="") as file:
        (only,) = csv.DictReader(file)
    assert only["row"] == "2"
    assert only["label"] != only["predicted"]


def test_a_model_with_a_fallback_is_judged_with_it_and_alone(model: Path, rows: Path, limbeck: Command) -> None:
    shown = limbeck("evaluate", model, rows, "--fallback", model, "--threshold", "1")
    as_json = limbeck("evaluate", model, rows, "--fallback", model, "--threshold", "1", "--json")
    contradicting = limbeck("evaluate", model, rows, "--fallback", model, "--threshold", "1", "--against", model)
    without = limbeck("evaluate", model, rows, "--share", "0.2")

    assert (shown.code, as_json.code) == (0, 0), shown.err + as_json.err
    assert "answered 100.0 % of the rows (30): 96.7 % of these are right, of the student's own answers" in shown.out
    assert "Against the student alone, 96.7 % accuracy" in shown.out
    assert json.loads(as_json.out)["cascade"]["asked_share"] == 1
    assert contradicting.refused_with("compared with its student")
    assert without.refused_with("--share is about a fallback")


def test_in_its_run_a_model_knows_how_its_rows_were_written(
    model: Path, rows: Path, tmp_path: Path, limbeck: Command
) -> None:
    inside = Path(shutil.copytree(model, tmp_path / "runs" / "toy" / "models" / "best"))
    names = "\n".join(f'"{at}" = "{label}"' for at, label in enumerate(load(model).labels))
    recipe = f'[corpus]\ntext = "review"\nlabel = "stars"\nencoding = "latin-1"\n[corpus.label_names]\n{names}\n'
    (inside.parents[1] / "recipe.toml").write_text(recipe, encoding="utf-8")
    number = {label: str(at) for at, label in enumerate(load(model).labels)}
    with rows.open(encoding="utf-8", newline="") as file:
        table = [("é", one["text"], number[one["label"]]) for one in csv.DictReader(file)]
    with rows.open("w", encoding="latin-1", newline="") as file:
        csv.writer(file).writerows([("title", "review", "stars"), *table])

    done = limbeck("evaluate", inside, rows, "--json")

    assert done.code == 0, done.err
    assert json.loads(done.out)["accuracy"] == pytest.approx(29 / 30)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("text,id\na,1\n", (), ["cannot tell which column", "--label COLUMN"]),
        ("text,label\na,0\nb,1\nc,2\n", (), ["knows none of the labels", "--label-name 0=negative"]),
        ("text,label\ncaf\udce9,positive\n", (), ["row 2: not valid utf-8", "--encoding"]),
        ("", (), ["has no rows"]),
        ("text,label\n", (), ["has no rows"]),
        ("text,label\na,positive\n", ("--label", "lable"), ["no column 'lable'", "did you mean 'label'"]),
        ("text,label\na,positive\n", ("--label-name", "positive"), ["it is not LABEL=CLASS"]),
        ("text,label\na,positive\n", ("--errors", "wrong.txt"), ["--errors writes csv"]),
        ("text,label\na,positive\n", ("--pair", "label"), ["one text per row"]),
    ],
)
def test_mistakes_are_reported_and_no_half_file_is_left(
    model: Path, tmp_path: Path, limbeck: Command, content: str, options: Any, words: list[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content.encode(errors="surrogateescape"))
    given = options if "--errors" in options else ("--errors", tmp_path / "wrong.csv", *options)

    assert limbeck("evaluate", model, path, *given).refused_with(*words)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


def test_a_missing_file_and_a_folder_that_is_no_model_are_reported(
    model: Path, rows: Path, tmp_path: Path, limbeck: Command
) -> None:
    assert limbeck("evaluate", model, tmp_path / "row.csv").refused_with("no file", "did you mean 'rows.csv'")
    assert limbeck("evaluate", tmp_path, rows).refused_with("is not a model")
