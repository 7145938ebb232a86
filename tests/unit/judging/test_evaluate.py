import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import limbeck
from limbeck.artifacts.model_folder import ModelFacts
from limbeck.errors import BytesUndecodable, ColumnMissing, DataError, FileEmpty, NothingToPredict, RowMalformed
from limbeck.judging.evaluate import MOST_ERRORS, EvaluationResult, LabelsUnknown, evaluate, judged
from limbeck.judging.labelled_file import FileForm, LabelColumnUnclear, opened_labelled
from limbeck.runtime.row import Row, characters

ROWS = [("gorgeous film", "positive"), ("dreadful film", "negative"), ("gorgeous story", "negative")]


class ByLength:
    """A classifier by the number of characters: even or odd; several labels: also whether it is more than three.

    It gives its answer a probability of 0.9.
    """

    def __init__(self, *, labels: tuple[str, ...] = ("even", "odd"), pair: bool = False, several: bool = False) -> None:
        sizes: dict[str, Any] = {"max_length": 8, "parameters": 1, "parameters_without_embeddings": 1}
        names: dict[str, Any] = {"name": "stub", "kind": "bilstm", "precision": "fp32", "language": "en"}
        self.facts = ModelFacts(**names, labels=list(labels), pair=pair, multi_label=several, **sizes)

    def logits(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        lengths = np.array([characters(row) for row in rows])
        signs = np.stack([lengths % 2 == 0, lengths % 2 == 1, lengths > 3], axis=1)[:, : len(self.facts.labels)]
        height = math.log(9) / (1 if self.facts.multi_label else 2)
        return np.where(signs, height, -height).astype(np.float32)


def judged_on(path: Path, *classifiers: ByLength, keys: Any = None, sink: Any = None, **form: Any) -> EvaluationResult:
    said = classifiers or (ByLength(),)
    with opened_labelled(path, facts=said[0].facts, form=FileForm(**form), keys=keys or {}) as file:
        return judged(said, file, names=["this", "other"], errors=sink)


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """written(content, name="rows.csv"): a file."""

    def write(content: str | bytes, name: str = "rows.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_numbers_hand_worked(written: Any) -> None:
    # a: odd, right; bb: even, right; ccc: odd and not even; dddd: even, right
    found = judged_on(written("text,label\na,odd\nbb,even\nccc,even\ndddd,even\n"))

    assert (found.rows, found.accuracy) == (4, 0.75)
    even, odd = found.per_class
    assert even == {"label": "even", "precision": 1.0, "recall": pytest.approx(2 / 3), "f1": 0.8, "support": 3}
    assert odd == {"label": "odd", "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3), "support": 1}
    assert found.macro_f1 == pytest.approx((0.8 + 2 / 3) / 2)
    assert found.log_loss == pytest.approx(-(3 * math.log(0.9) + math.log(0.1)) / 4, rel=1e-5)
    assert found.ece == pytest.approx(0.9 - 0.75, abs=1e-6)
    assert found.confusion == [[2, 1], [0, 1]]
    assert found.most_frequent == {"label": "even", "accuracy": 0.75}
    assert found.accuracy_ci95[0] < 0.75 < found.accuracy_ci95[1]


def test_a_model_folder_is_judged_and_the_public_name_is_the_same_function(make_model: Any, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    with file.open("w", encoding="utf-8", newline="") as sink:
        csv.writer(sink).writerows([("text", "label"), *ROWS])

    found = limbeck.evaluate(make_model("bag").folder, file)

    assert isinstance(found, EvaluationResult)
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.worst_errors[0]["text"] == "gorgeous story"
    assert json.loads(json.dumps(found.as_json()))["rows"] == 3


def test_rows_of_an_unknown_label_are_counted_named_and_wrong(written: Any) -> None:
    found = judged_on(written("text,label\na,odd\nb,prime\nc,prime\ndd,even\n"))

    assert found.unknown_labels == {"prime": 2}
    assert (found.unknown_rows, found.accuracy, found.accuracy_known) == (2, 0.5, 1.0)
    assert found.log_loss == pytest.approx(-math.log(0.9), rel=1e-5), "of rows with known labels"
    assert [one["label"] for one in found.worst_errors] == ["prime", "prime"]


@pytest.mark.parametrize(
    ("labels", "advice"),
    [
        (("0", "1"), "--label-name 0=even --label-name 1=odd"),
        (("Even", "ODD"), "--label-name Even=even --label-name ODD=odd"),
        (("evens", "odds"), "did you mean 'even'?"),
    ],
)
def test_a_file_of_unknown_labels_is_refused_with_a_mapping(written: Any, labels: Any, advice: str) -> None:
    path = written(f"text,label\nbb,{labels[0]}\ncc,{labels[0]}\na,{labels[1]}\n")

    with pytest.raises(LabelsUnknown, match="knows none of the labels") as error:
        judged_on(path)

    assert advice in str(error.value)
    assert "classes of the model: even, odd" in str(error.value)


def test_labels_may_be_named_by_the_user_or_by_the_recipe(written: Any) -> None:
    path = written("text,label\nbb,0\na,1\n")

    assert judged_on(path, label_names={"0": "even", "1": "odd"}).accuracy == 1.0
    assert judged_on(path, keys={"label_names": {"0": "even", "1": "odd"}}).accuracy == 1.0


@pytest.mark.parametrize(
    ("header", "keys", "expected"),
    [
        ("text,label,other", {}, "label"),
        ("text,kind,label", {"label": "kind"}, "kind"),  # as in training
        ("text,parity,id", {"label": "kind"}, "parity"),  # which holds the classes
    ],
)
def test_the_label_column_is_that_of_training_or_found_by_its_classes(
    written: Any, header: str, keys: Any, expected: str
) -> None:
    cells = {"label": "odd", "kind": "odd", "parity": "odd", "other": "7", "id": "1", "text": "a"}
    path = written(f"{header}\n" + ",".join(cells[name] for name in header.split(",")) + "\n")

    found = judged_on(path, keys=keys)

    assert found.label_columns == [expected]
    assert found.accuracy == 1.0


def test_a_column_with_the_classes_in_another_case_is_found_and_the_names_are_asked_for(written: Any) -> None:
    with pytest.raises(LabelsUnknown, match="knows none of the labels") as error:
        judged_on(written("text,parity\na,Odd\nbb,Even\n"))

    assert "--label-name Odd=odd --label-name Even=even" in str(error.value)


def test_what_predict_has_written_is_not_taken_for_the_truth(written: Any) -> None:
    path = written("text,truth,label,probability_even,probability_odd\na,even,odd,0.1,0.9\n")

    found = judged_on(path)

    assert (found.label_columns, found.accuracy) == (["truth"], 0.0)


@pytest.mark.parametrize("keys", [{}, {"text": "text", "label": "label"}])
def test_what_predict_has_written_is_not_the_truth_for_a_model_in_its_run_either(
    written: Any, keys: dict[str, str]
) -> None:
    """A run's recipe names its column of labels, `label`, which is also the name of the answers."""
    path = written("text,truth,label,probability_even,probability_odd\na,even,odd,0.1,0.9\n")
    alone = written("text,label,probability_even,probability_odd\na,odd,0.1,0.9\n", name="alone.csv")
    lines = written('{"text": "a", "label": "odd", "probabilities": {"even": 0.1, "odd": 0.9}}\n', name="a.jsonl")

    assert judged_on(path, keys=keys).label_columns == ["truth"]
    for one in (alone, lines):
        with pytest.raises(LabelColumnUnclear, match="'label' has the answers of `limbeck predict`"):
            judged_on(one, keys=keys)


def test_a_name_that_is_no_class_of_the_model_is_refused(make_model: Any, written: Any) -> None:
    model = make_model("one", weight=1.0)

    with pytest.raises(DataError, match=r"no class 'positiv'.*did you mean 'positive'"):
        evaluate(model.folder, written("text,label\na,good\n"), label_names={"good": "positiv"})


def test_without_a_column_of_labels_the_option_is_named(written: Any) -> None:
    with pytest.raises(LabelColumnUnclear, match="cannot tell which column") as error:
        judged_on(written("text,id\na,1\nbb,2\n"))

    assert "--label COLUMN" in str(error.value)
    assert "its columns: text, id; the model's classes: even, odd" in str(error.value)
    with pytest.raises(ColumnMissing, match="did you mean 'id'"):
        judged_on(written("text,id\na,1\nbb,2\n"), label="ids")


def test_the_text_is_the_only_other_column_or_that_of_training_or_named(written: Any) -> None:
    assert judged_on(written("label,review\nodd,a\n")).text_columns == ["review"]
    assert judged_on(written("label,id,review\nodd,7,a\n"), keys={"text": "review"}).text_columns == ["review"]
    assert judged_on(written("label,id,review\nodd,7,a\n"), text="2").text_columns == ["review"]
    with pytest.raises(ColumnMissing, match="--text"):
        judged_on(written("label,id,review\nodd,7,a\n"))
    with pytest.raises(NothingToPredict, match="both text and label"):
        judged_on(written("label\nodd\n"))


def test_every_format_is_read(written: Any) -> None:
    for name, content in {
        "rows.tsv": "text\tlabel\na\todd\n",
        "rows.jsonl": '{"text": "a", "label": "odd"}\n',
        "rows.json": '[{"label": "odd", "text": "a"}]',
        "rows": "text,label\na,odd\n",
        "semicolons.csv": "text;label\na;odd\n",
    }.items():
        assert judged_on(written(content, name)).accuracy == 1.0, name


def test_parquet_with_numbers_and_lists_as_labels_is_read(tmp_path: Path) -> None:
    numbers, lists = tmp_path / "numbers.parquet", tmp_path / "lists.parquet"
    pq.write_table(pa.table({"text": ["a", "bb"], "label": [1, 0]}), numbers)
    pq.write_table(pa.table({"text": ["a", "dddd"], "label": [["odd"], ["even", "long"]]}), lists)

    assert judged_on(numbers, label_names={"0": "even", "1": "odd"}).accuracy == 1.0
    assert judged_on(lists, ByLength(labels=("even", "odd", "long"), several=True)).accuracy == 1.0


def test_header_quoting_and_encoding_are_those_of_training_unless_given(written: Any) -> None:
    keys = {"header": False, "text": 1, "label": 0, "encoding": "latin-1"}

    assert judged_on(written("odd,é\n".encode("latin-1")), keys=keys).accuracy == 1.0
    assert judged_on(written("label,text\nodd,é\n"), keys=keys, header=True, encoding="utf-8").accuracy == 1.0


def test_bytes_of_another_encoding_are_refused_with_the_option(written: Any) -> None:
    with pytest.raises(BytesUndecodable, match="row 2: not valid utf-8") as error:
        judged_on(written("text,label\né,odd\n".encode("latin-1")))

    assert "--encoding" in str(error.value)


@pytest.mark.parametrize("content", ["", "text,label\n", "\n\n"])
def test_a_file_without_rows_is_refused(written: Any, content: str) -> None:
    with pytest.raises(FileEmpty):
        judged_on(written(content))


def test_rows_without_text_or_label_are_left_out_and_counted(written: Any) -> None:
    found = judged_on(written("text,label\na,odd\n,odd\nb,\n"))

    assert (found.rows, found.without_text, found.without_label) == (1, 1, 1)
    with pytest.raises(DataError, match="both a text and a label"):
        judged_on(written("text,label\n,odd\nb,\n"))


def test_plain_lines_have_no_labels(written: Any) -> None:
    with pytest.raises(NothingToPredict, match="no labels"):
        judged_on(written("a\nb\n"), format="lines")


def test_a_row_of_another_width_is_an_error_with_its_number(written: Any) -> None:
    with pytest.raises(RowMalformed, match="row 3: 1 cells"):
        judged_on(written("text,label\na,odd\nb\n"))


def test_pairs_are_judged(written: Any) -> None:
    path = written("text,pair,label\na,bb,odd\na,b,odd\n")

    found = judged_on(path, ByLength(pair=True))

    assert (found.text_columns, found.accuracy) == (["text", "pair"], 0.5)
    assert (found.worst_errors[0]["text"], found.worst_errors[0]["pair"]) == ("a", "b")
    with pytest.raises(NothingToPredict, match="one text per row"):
        judged_on(path, pair="pair")


@pytest.mark.parametrize(
    ("name", "content", "keys"),
    [
        ("a.csv", "text,label\na,odd\ndddd,even|long\nbb,\nee,long\n", {}),
        ("b.csv", 'text,label\na,odd\ndddd,"even,long"\nbb,\nee,long\n', {}),
        ("c.csv", "text,label\na,odd\ndddd,even/long\nbb,\nee,long\n", {"label_separator": "/"}),
        ("d.csv", "text,even,odd,long\na,0,1,0\ndddd,1,0,1\nbb,0,0,0\nee,0,0,1\n", {}),
        (
            "e.jsonl",
            '{"text": "a", "label": ["odd"]}\n{"text": "dddd", "label": ["even", "long"]}\n'
            '{"text": "bb", "label": []}\n{"text": "ee", "label": ["long"]}\n',
            {},
        ),
    ],
)
def test_several_labels_are_read_as_in_training_and_all_must_be_right(
    written: Any, name: str, content: str, keys: Any
) -> None:
    found = judged_on(written(content, name), ByLength(labels=("even", "odd", "long"), several=True), keys=keys)

    assert (found.rows, found.accuracy) == (4, 0.5)  # bb and ee are said to be even alone
    assert found.micro_f1 == pytest.approx(2 * 3 / (4 + 5))
    assert found.log_loss is not None
    # Of twelve answers, yes or no, nine are right with 0.9: bb has one wrong, ee two.
    assert found.log_loss == pytest.approx(-(9 * math.log(0.9) + 3 * math.log(0.1)) / 4, rel=1e-5)
    assert found.confusion is None
    assert {one["text"]: one["predicted"] for one in found.worst_errors} == {"bb": ["even"], "ee": ["even"]}


def test_an_unknown_label_among_several_makes_the_row_wrong(written: Any) -> None:
    path = written("text,label\na,odd|prime\nbb,even\n")

    found = judged_on(path, ByLength(labels=("even", "odd", "long"), several=True))

    assert (found.accuracy, found.unknown_rows, found.unknown_labels) == (0.5, 1, {"prime": 1})


def test_the_worst_errors_are_the_most_confident_and_all_are_written(written: Any) -> None:
    rows = "".join(f'"{"x" * (1 + 2 * (at % 3))},{at}",odd\n' for at in range(20))
    sink = io.StringIO()

    found = judged_on(written(f"text,label\n{rows}a,odd\n"), sink=sink)
    lines = list(csv.DictReader(io.StringIO(sink.getvalue())))

    wrong = round((1 - found.accuracy) * found.rows)
    assert len(found.worst_errors) == min(MOST_ERRORS, wrong)
    assert len(lines) == wrong
    assert [one["row"] for one in found.worst_errors] == sorted(one["row"] for one in found.worst_errors)
    assert lines[0].keys() == {"row", "text", "label", "predicted", "probability"}
    assert lines[0]["probability"] == "0.900000"


def test_two_models_are_compared_on_the_same_rows(written: Any) -> None:
    path = written("text,label\na,odd\nbb,even\nccc,even\ndd,even\n")

    found = judged_on(path, ByLength(), ByLength(labels=("odd", "even")))  # which says the opposite

    assert found.against is not None
    assert found.against["accuracy"] == 0.25
    assert found.against["difference"] == 0.5
    assert found.against["mcnemar"] == {"only_this": 3, "only_other": 1, "p": 0.625, "test": "exact"}
    low, high = found.against["ci95"]
    assert low < 0.5 < high


def test_models_of_other_rows_are_not_compared(make_model: Any, tmp_path: Path) -> None:
    one, several = make_model("one"), make_model("several", multi_label=True)

    with pytest.raises(DataError, match="cannot be compared on the same rows"):
        evaluate(one.folder, tmp_path / "rows.csv", against=several.folder)


def test_chunks_make_no_difference(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written("text,label\n" + "a,odd\nbb,even\nccc,even\n" * 50)
    whole = judged_on(path)

    monkeypatch.setattr("limbeck.judging.evaluate.CHUNK_ROWS", 7)
    parts = judged_on(path)

    assert parts.ece == pytest.approx(whole.ece)
    assert parts.log_loss == pytest.approx(whole.log_loss)
    assert parts.per_class == whole.per_class
    assert parts.worst_errors == whole.worst_errors


def test_a_column_of_the_file_parts_the_rows(written: Any) -> None:
    lines = [
        f"{'a' * (1 + at % 4)},{'odd' if at % 2 == 0 else 'even'},{'web' if at < 60 else 'mail'}" for at in range(120)
    ]
    path = written("text,label,source\n" + "\n".join([*lines, *["aa,odd,"] * 60]))

    found = judged_on(path, slice="source").slices

    assert found is not None
    of_column = {
        group["name"]: (group["rows"], group["accuracy"]) for group in found["groups"] if group["kind"] == "column"
    }
    assert of_column == {"web": (60, 1.0), "mail": (60, 1.0)}
    with pytest.raises(ColumnMissing):
        judged_on(path, slice="origin")


def test_rows_out_of_scope_are_judged_by_the_score_alone(written: Any) -> None:
    path = written("text,label\na,odd\naa,even\naaa,oos\naaaa,oos\n")

    with opened_labelled(path, facts=ByLength().facts, form=FileForm(), keys={}) as file:
        found = judged([ByLength()], file, names=["this"], out_of_scope="oos")

    assert (found.rows, found.accuracy, found.unknown_rows) == (2, 1.0, 0)
    assert found.abstaining is not None
    assert found.abstaining["foreign"]["rows"] == 2
    assert found.abstaining["threshold"] is None
