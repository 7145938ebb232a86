import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.errors import NothingToPredict
from limbeck.runtime.answers import PredictionWriter, output_format, written_format
from limbeck.runtime.entries import Entry

LABELS = ["bad", "good"]
PROBABILITIES = np.array([0.25, 0.75], dtype=np.float32)
ENTRY = Entry(row='a "film", long', columns=["id", "text"], values=["7", 'a "film", long'])


def line(answers: PredictionWriter, entry: Entry, probabilities: npt.NDArray[np.float32]) -> str:
    (only,) = answers.lines([entry], probabilities[np.newaxis])
    return only


def test_csv_gets_its_columns_and_a_label_and_the_probabilities() -> None:
    answers = PredictionWriter(LABELS, format="csv")

    assert answers.heading(ENTRY.columns) == "id,text,label,probability_bad,probability_good\n"
    assert line(answers, ENTRY, PROBABILITIES) == '7,"a ""film"", long",good,0.250000,0.750000\n'


def test_tsv_is_written_without_quotes_as_it_is_read() -> None:
    answers = PredictionWriter(LABELS, format="tsv")

    assert line(answers, ENTRY, PROBABILITIES) == '7\ta "film", long\tgood\t0.250000\t0.750000\n'


def test_columns_that_are_there_are_never_doubled() -> None:
    heading = PredictionWriter(LABELS, format="csv").heading(
        ["text", "label", "probability_bad", "predicted_probability_bad"]
    )

    added = heading.strip().split(",")[4:]
    assert added == ["predicted_label", "predicted_predicted_probability_bad", "probability_good"]


def test_json_gets_a_label_and_probabilities_by_class() -> None:
    entry = Entry(row="电影", columns=["text", "tags"], values=["电影", [1]])

    written = line(PredictionWriter(LABELS, format="jsonl"), entry, PROBABILITIES)

    expected = {"text": "电影", "tags": [1], "label": "good", "probabilities": {"bad": 0.25, "good": 0.75}}
    assert json.loads(written) == expected
    assert "电影" in written
    assert written.endswith("}\n")


def test_json_keys_that_are_there_are_never_overwritten() -> None:
    entry = Entry(row="a", columns=["text", "label"], values=["a", "bad"])

    answer = json.loads(line(PredictionWriter(LABELS, format="jsonl"), entry, PROBABILITIES))

    assert (answer["label"], answer["predicted_label"]) == ("bad", "good")


def test_half_a_character_is_escaped_in_json_again() -> None:
    entry = Entry(row="\ud800", columns=["text"], values=["\ud800"])

    written = line(PredictionWriter(LABELS, format="jsonl"), entry, PROBABILITIES)

    assert json.loads(written.encode("utf-8"))["text"] == "\ud800"


def test_plain_lines_have_the_text_last() -> None:
    entry = Entry(row=("a", "b\tc"), columns=("text", "pair"), values=["a", "b\tc"])

    assert line(PredictionWriter(LABELS, format="lines"), entry, PROBABILITIES) == "good\t0.750000\ta\tb\tc\n"
    assert PredictionWriter(LABELS, format="lines").heading(()) == ""


SEVERAL = np.array([0.6, 0.75], dtype=np.float32)
NONE = np.array([0.25, 0.125], dtype=np.float32)


def test_several_labels_stand_in_one_column_with_a_bar_between() -> None:
    answers = PredictionWriter(LABELS, format="csv", multi_label=True)

    assert answers.heading(["text"]) == "text,label,probability_bad,probability_good\n"
    assert line(answers, Entry(row="a", columns=["text"], values=["a"]), SEVERAL) == "a,bad|good,0.600000,0.750000\n"
    assert line(answers, Entry(row="a", columns=["text"], values=["a"]), NONE) == "a,,0.250000,0.125000\n"


def test_several_labels_are_a_list_in_json() -> None:
    entry = Entry(row="a", columns=["text"], values=["a"])
    answers = PredictionWriter(LABELS, format="jsonl", multi_label=True)

    said = [json.loads(line(answers, entry, row))["label"] for row in (SEVERAL, PROBABILITIES, NONE)]

    assert said == [["bad", "good"], ["good"], []]


def test_plain_lines_tell_the_probability_of_the_least_sure_label_or_of_the_nearest_one() -> None:
    entry = Entry(row="a", columns=["text"], values=["a"])
    answers = PredictionWriter(LABELS, format="lines", multi_label=True)

    lines = [line(answers, entry, row) for row in (SEVERAL, PROBABILITIES, NONE)]

    assert lines == ["bad|good\t0.600000\ta\n", "good\t0.750000\ta\n", "\t0.250000\ta\n"]


def test_rows_keep_their_order_and_their_labels() -> None:
    entries = [Entry(row=text, columns=["text"], values=[text]) for text in "ab"]
    probabilities = np.array([[0.25, 0.75], [0.875, 0.125]], dtype=np.float32)

    lines = list(PredictionWriter(LABELS, format="lines").lines(entries, probabilities))

    assert lines == ["good\t0.750000\ta\n", "bad\t0.875000\tb\n"]


@pytest.mark.parametrize("text", ["two\tcells", "two\nlines"])
def test_a_field_that_tsv_cannot_hold_is_refused(text: str) -> None:
    entry = Entry(row=text, columns=["text"], values=[text])

    with pytest.raises(NothingToPredict, match=r"cannot be written as tsv: 'two\\\w") as refusal:
        line(PredictionWriter(LABELS, format="tsv"), entry, PROBABILITIES)

    assert "name the output .csv or .jsonl" in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("out.csv", "csv"),
        ("out.TSV", "tsv"),
        ("out.jsonl", "jsonl"),
        ("out.ndjson.gz", "jsonl"),
        ("out.csv.gz", "csv"),
        ("out.tab", "tsv"),
        ("out.json", "jsonl"),
        ("out.parquet", "parquet"),
        ("out.txt", "same"),
        ("out.2024", "same"),
        ("out", "same"),
    ],
)
def test_the_ending_of_a_file_chooses_what_is_written(name: str, expected: str) -> None:
    assert output_format(Path(name)) == expected


def test_formats_that_are_not_written_are_refused() -> None:
    with pytest.raises(NothingToPredict, match=r"does not write \.xlsx files\nName the output \.csv"):
        output_format(Path("out.xlsx"))
    with pytest.raises(NothingToPredict, match="packed inside"):
        output_format(Path("out.parquet.gz"))


def test_parquet_is_written_where_it_is_asked_for() -> None:
    assert (written_format("parquet", "same"), written_format("parquet", "csv")) == ("jsonl", "csv")
    assert (written_format("jsonl", "parquet"), written_format("lines", "parquet")) == ("parquet", "parquet")


def test_cells_that_are_no_text_are_written_as_such() -> None:
    values = [None, True, 1.5, ["x", {"y": None}], {"a": "电影"}, b"bytes"]
    entry = Entry(row="a", columns=list("abcdef"), values=values)

    assert line(PredictionWriter(LABELS, format="tsv"), entry, PROBABILITIES).split("\t")[:6] == [
        *("", "true", "1.5", '["x", {"y": null}]', '{"a": "电影"}', "bytes"),
    ]
    answer = json.loads(line(PredictionWriter(LABELS, format="jsonl"), entry, PROBABILITIES))
    assert [answer[key] for key in "abcdef"] == [*values[:5], "bytes"]


def test_json_lines_do_not_become_a_table() -> None:
    with pytest.raises(NothingToPredict, match=r"cannot be written as csv.*\n.*\.jsonl"):
        written_format("jsonl", "csv")

    assert (written_format("jsonl", "jsonl"), written_format("jsonl", "same")) == ("jsonl", "jsonl")
    assert (written_format("csv", "tsv"), written_format("lines", "csv")) == ("tsv", "csv")
