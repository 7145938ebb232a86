import json

import numpy as np

from limbeck.runtime.answers import Answers
from limbeck.runtime.entries import Entry

LABELS = ["bad", "good"]
PROBABILITIES = np.array([0.25, 0.75], dtype=np.float32)
ENTRY = Entry(row='a "film", long', columns=["id", "text"], values=["7", 'a "film", long'])


def test_csv_gets_its_columns_and_a_label_and_the_probabilities() -> None:
    answers = Answers(LABELS, format="csv")

    assert answers.heading(ENTRY.columns) == "id,text,label,probability_bad,probability_good\n"
    assert answers.line(ENTRY, PROBABILITIES) == '7,"a ""film"", long",good,0.250000,0.750000\n'


def test_tsv_is_written_without_quotes_as_it_is_read() -> None:
    answers = Answers(LABELS, format="tsv")

    assert answers.line(ENTRY, PROBABILITIES) == '7\ta "film", long\tgood\t0.250000\t0.750000\n'


def test_columns_that_are_there_are_never_doubled() -> None:
    heading = Answers(LABELS, format="csv").heading(["text", "label", "probability_bad", "predicted_probability_bad"])

    added = heading.strip().split(",")[4:]
    assert added == ["predicted_label", "predicted_predicted_probability_bad", "probability_good"]


def test_json_gets_a_label_and_probabilities_by_class() -> None:
    entry = Entry(row="电影", columns=["text", "tags"], values=["电影", [1]])

    line = Answers(LABELS, format="jsonl").line(entry, PROBABILITIES)

    expected = {"text": "电影", "tags": [1], "label": "good", "probabilities": {"bad": 0.25, "good": 0.75}}
    assert json.loads(line) == expected
    assert "电影" in line
    assert line.endswith("}\n")


def test_json_keys_that_are_there_are_never_overwritten() -> None:
    entry = Entry(row="a", columns=["text", "label"], values=["a", "bad"])

    answer = json.loads(Answers(LABELS, format="jsonl").line(entry, PROBABILITIES))

    assert (answer["label"], answer["predicted_label"]) == ("bad", "good")


def test_half_a_character_is_escaped_in_json_again() -> None:
    entry = Entry(row="\ud800", columns=["text"], values=["\ud800"])

    line = Answers(LABELS, format="jsonl").line(entry, PROBABILITIES)

    assert json.loads(line.encode("utf-8"))["text"] == "\ud800"


def test_plain_lines_have_the_text_last() -> None:
    entry = Entry(row=("a", "b\tc"), columns=("text", "pair"), values=["a", "b\tc"])

    assert Answers(LABELS, format="lines").line(entry, PROBABILITIES) == "good\t0.750000\ta\tb\tc\n"
    assert Answers(LABELS, format="lines").heading(()) == ""


SEVERAL = np.array([0.6, 0.75], dtype=np.float32)
NONE = np.array([0.25, 0.125], dtype=np.float32)


def test_several_labels_stand_in_one_column_with_a_bar_between() -> None:
    answers = Answers(LABELS, format="csv", multi_label=True)

    assert answers.heading(["text"]) == "text,label,probability_bad,probability_good\n"
    assert answers.line(Entry(row="a", columns=["text"], values=["a"]), SEVERAL) == "a,bad|good,0.600000,0.750000\n"
    assert answers.line(Entry(row="a", columns=["text"], values=["a"]), NONE) == "a,,0.250000,0.125000\n"


def test_several_labels_are_a_list_in_json() -> None:
    entry = Entry(row="a", columns=["text"], values=["a"])
    answers = Answers(LABELS, format="jsonl", multi_label=True)

    said = [json.loads(answers.line(entry, row))["label"] for row in (SEVERAL, PROBABILITIES, NONE)]

    assert said == [["bad", "good"], ["good"], []]


def test_plain_lines_tell_the_probability_of_the_least_sure_label_or_of_the_nearest_one() -> None:
    entry = Entry(row="a", columns=["text"], values=["a"])
    answers = Answers(LABELS, format="lines", multi_label=True)

    lines = [answers.line(entry, row) for row in (SEVERAL, PROBABILITIES, NONE)]

    assert lines == ["bad|good\t0.600000\ta\n", "good\t0.750000\ta\n", "\t0.250000\ta\n"]
