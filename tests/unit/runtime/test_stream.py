import csv
import io
import json
import os
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.model_folder import Abstention, ModelFacts
from limbeck.errors import BytesUndecodable, ColumnMissing, NothingToPredict, RowMalformed
from limbeck.runtime.classifier import load
from limbeck.runtime.entries import Trained
from limbeck.runtime.row import Row, characters
from limbeck.runtime.stream import predict_stream


class ByLength:
    """A classifier that calls a row of an odd number of characters odd, surely, so that a mix-up is visible."""

    labels = ["even", "odd"]  # noqa: RUF012  # never written to

    def __init__(self, *, pair: bool = False) -> None:
        sizes: dict[str, Any] = {"max_length": 8, "parameters": 1, "parameters_without_embeddings": 1}
        self.facts = ModelFacts(
            name="stub", kind="bilstm", precision="fp32", labels=self.labels, language="en", pair=pair, **sizes
        )
        self.chunks: list[int] = []

    def predict_proba(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        self.chunks.append(len(rows))
        odd = np.array([characters(row) % 2 for row in rows], dtype=np.float32)
        return np.stack([1 - odd, odd], axis=1)

    def logits(self, rows: list[Row]) -> npt.NDArray[np.float32]:
        """Only of the word "unsure" it is not sure."""
        odd = np.array([characters(row) % 2 for row in rows], dtype=np.float32)
        heights = np.array([[0.1 if row == "unsure" else 9.0] for row in rows], dtype=np.float32)
        return np.stack([1 - odd, odd], axis=1) * heights

    def scores(self, rows: list[Row]) -> npt.NDArray[np.float64]:
        raise AssertionError(f"it has classes, and is asked for the scores of {rows}")


def streamed(source: str | bytes | Path, classifier: ByLength | None = None, **options: Any) -> str:
    sink = io.StringIO()
    inner = (
        io.BytesIO(source.encode() if isinstance(source, str) else source) if not isinstance(source, Path) else source
    )
    predict_stream(classifier or ByLength(), inner, sink, **options)
    return sink.getvalue()


def test_plain_lines_come_out_as_label_probability_and_text() -> None:
    assert streamed("ab\n\nabc") == "even\t1.000000\tab\neven\t1.000000\t\nodd\t1.000000\tabc\n"


def test_csv_comes_out_as_the_same_csv_with_more_columns() -> None:
    answer = streamed('id,text\n1,"a\nb"\n2,ab\n', format="csv")

    assert list(csv.reader(io.StringIO(answer))) == [
        ["id", "text", "label", "probability_even", "probability_odd"],
        ["1", "a\nb", "odd", "0.000000", "1.000000"],
        ["2", "ab", "even", "1.000000", "0.000000"],
    ]


def test_csv_with_semicolons_comes_out_with_semicolons() -> None:
    answer = streamed('id;text\n1;"a;b"\n2;a,b,\n', format="csv")

    assert answer.splitlines() == [
        "id;text;label;probability_even;probability_odd",
        '1;"a;b";odd;0.000000;1.000000',
        "2;a,b,;even;1.000000;0.000000",
    ]


def test_a_text_without_a_name_above_it_is_not_cut_at_its_semicolon() -> None:
    assert streamed("a; b\n", format="csv", text=0, header=False) == "a; b,even,1.000000,0.000000\n"


def test_tsv_without_a_header_comes_out_without_one() -> None:
    answer = streamed("7\tabc\n", format="tsv", text=1, header=False)

    assert answer == "7\tabc\todd\t0.000000\t1.000000\n"


def test_json_lines_come_out_as_json_lines() -> None:
    answer = streamed('{"id": 1, "text": "abc"}\n')

    assert json.loads(answer) == {"id": 1, "text": "abc", "label": "odd", "probabilities": {"even": 0.0, "odd": 1.0}}


@pytest.mark.parametrize(("source", "format"), [("abc\n", "lines"), ("text\nabc\n", "csv")])
def test_anything_can_come_out_as_json_lines(source: str, format: str) -> None:
    answer = streamed(source, format=format, output="jsonl")

    assert json.loads(answer) == {"text": "abc", "label": "odd", "probabilities": {"even": 0.0, "odd": 1.0}}


@pytest.mark.parametrize(
    ("source", "format", "output", "expected"),
    [
        ("7\ta,b\n", "tsv", "csv", '7,"a,b",odd,0.000000,1.000000\n'),
        ("7,abc\n", "csv", "tsv", "7\tabc\todd\t0.000000\t1.000000\n"),
    ],
)
def test_one_kind_of_table_can_come_out_as_the_other(source: str, format: str, output: str, expected: str) -> None:
    assert streamed(source, format=format, output=output, text=1, header=False) == expected


def test_plain_lines_can_come_out_as_a_table_with_column_names() -> None:
    assert streamed('a "b"\n', output="csv").splitlines() == [
        "text,label,probability_even,probability_odd",
        '"a ""b""",odd,0.000000,1.000000',
    ]
    assert streamed("a\tb\n", ByLength(pair=True), output="tsv").splitlines() == [
        "text\tpair\tlabel\tprobability_even\tprobability_odd",
        "a\tb\teven\t1.000000\t0.000000",
    ]


def test_json_lines_that_are_to_be_a_table_are_refused_before_anything_is_written() -> None:
    sink = io.StringIO()

    with pytest.raises(NothingToPredict, match="JSON lines cannot be written as csv"):
        predict_stream(ByLength(), io.BytesIO(b'{"text": "a"}\n'), sink, output="csv")

    assert sink.getvalue() == ""


@pytest.mark.parametrize(
    ("source", "format"),
    [(b"id,text\n1,caf\xe9\n", "csv"), (b"id\ttext\n1\tcaf\xe9\n", "tsv"), (b"text,id\na\n", "csv")],
)
def test_nothing_is_written_if_the_first_rows_cannot_be_read(source: bytes, format: Any) -> None:
    sink = io.StringIO()

    with pytest.raises((BytesUndecodable, RowMalformed)):
        predict_stream(ByLength(), io.BytesIO(source), sink, format=format)

    assert sink.getvalue() == ""


def test_a_table_without_rows_comes_out_with_its_header() -> None:
    assert streamed("id,text\n", format="csv") == "id,text,label,probability_even,probability_odd\n"


def test_columns_left_out_are_those_of_training() -> None:
    trained = Trained(text="review", pair="title")

    assert streamed("id,review\n7,abc\n", format="csv", trained=trained).splitlines()[1].startswith("7,abc,odd,")
    assert streamed("review,text\nabc,ab\n", format="csv", trained=trained).splitlines()[1].startswith("abc,ab,even,")
    with pytest.raises(ColumnMissing, match="no column 'text'"):
        streamed("id,comment\n7,abc\n", format="csv", trained=trained)
    answer = streamed("id,title,review\n7,b,abc\n", ByLength(pair=True), format="csv", trained=trained)
    assert answer.splitlines()[1].startswith("7,b,abc,even,")


def test_pairs_are_read_from_two_columns() -> None:
    answer = streamed("q1,q2,id\nab,c,9\n", ByLength(pair=True), format="csv", text="q1", pair="q2")

    assert answer.splitlines()[1] == "ab,c,9,odd,0.000000,1.000000"


def test_a_second_column_is_refused_by_a_model_of_single_texts() -> None:
    with pytest.raises(NothingToPredict, match="one text per row"):
        streamed("a,b\n", format="csv", pair="b")


def test_a_table_without_rows_comes_out_with_its_new_header() -> None:
    assert streamed("text\n", format="csv") == "text,label,probability_even,probability_odd\n"
    assert streamed("", format="csv") == ""


def test_nothing_is_written_when_the_column_is_missing() -> None:
    sink = io.StringIO()

    with pytest.raises(ColumnMissing):
        predict_stream(ByLength(), io.BytesIO(b"a,b\n1,2\n"), sink, format="csv")

    assert sink.getvalue() == ""


def test_a_path_is_read_by_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text\nabc\n", encoding="utf-8")

    assert streamed(path).splitlines()[1].startswith("abc,odd")


def test_the_number_of_rows_is_returned() -> None:
    assert predict_stream(ByLength(), io.BytesIO(b"a\nb\nc"), io.StringIO()) == 3


def test_rows_are_asked_in_chunks() -> None:
    classifier = ByLength()

    streamed("a\n" * 25, classifier, chunk_rows=10)

    assert classifier.chunks == [10, 10, 5]


def test_chunks_before_a_bad_row_have_been_written() -> None:
    sink = io.StringIO()

    with pytest.raises(BytesUndecodable, match="row 4"):
        predict_stream(ByLength(), io.BytesIO(b"a\nb\nc\n\xff\n"), sink, chunk_rows=2)

    assert len(sink.getvalue().splitlines()) == 2


def test_a_slow_pipe_is_answered_at_once() -> None:
    reading, writing = os.pipe()
    give_up = threading.Timer(10, os.close, [writing])  # so that a stream that waits for more fails instead of hanging

    class Answered(io.StringIO):
        """Sends the second line when the first has been answered, and ends the pipe after that."""

        def flush(self) -> None:
            if len(self.getvalue().splitlines()) == 1:
                give_up.cancel()
                os.write(writing, b"second\n")
                os.close(writing)

    os.write(writing, b"first\n")
    give_up.start()
    with os.fdopen(reading, "rb") as source:
        assert predict_stream(ByLength(), source, Answered()) == 2


def test_an_array_out_of_a_slow_pipe_is_answered_object_by_object() -> None:
    reading, writing = os.pipe()
    give_up = threading.Timer(10, os.close, [writing])

    class Answered(io.StringIO):
        def flush(self) -> None:
            if len(self.getvalue().splitlines()) == 1:
                give_up.cancel()
                os.write(writing, b' "b"}]')
                os.close(writing)

    os.write(writing, b'[{"text": "a"}, {"text":')
    give_up.start()
    with os.fdopen(reading, "rb") as source:
        assert predict_stream(ByLength(), source, Answered()) == 2


def test_what_the_sink_raises_is_not_swallowed() -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        predict_stream(ByLength(), io.BytesIO(b"a\n"), Closed())


def test_a_real_model_predicts_a_stream_as_it_predicts_a_list(model_folder: Path) -> None:
    model, texts = load(model_folder), ["a gorgeous film", "", "the dreadful story of a road"]
    sink = io.StringIO()

    predict_stream(model, io.BytesIO("\n".join(texts).encode() + b"\n"), sink)

    assert [line.split("\t")[0] for line in sink.getvalue().splitlines()] == model.predict(texts)


def test_a_model_of_several_labels_predicts_a_stream_as_it_predicts_a_list(
    multi_label_folder: Path, toy_rows: tuple[tuple[str, str], ...]
) -> None:
    model, texts = load(multi_label_folder), [text for text, _ in toy_rows]
    sink = io.StringIO()

    predict_stream(model, io.BytesIO("\n".join(texts).encode() + b"\n"), sink, output="jsonl")

    assert [json.loads(line)["label"] for line in sink.getvalue().splitlines()] == model.predict(texts)


@pytest.mark.parametrize("format", ["lines", "csv", "tsv", "jsonl"])
def test_odd_texts_come_out_of_a_stream_as_they_went_in(
    model_folder: Path, odd_texts: dict[str, str], format: Any
) -> None:
    model, texts = load(model_folder), [text for text in odd_texts.values() if format != "tsv" or text.strip()]
    sink = io.StringIO()

    rows = predict_stream(model, io.BytesIO(_written(texts, format).encode("utf-8")), sink, format=format)

    found = _read_back(sink.getvalue(), format)
    assert rows == len(texts)
    assert [text for text, _ in found] == texts
    assert [label for _, label in found] == model.predict(texts)


def test_half_a_character_comes_out_of_json_lines_as_it_went_in(model_folder: Path, half_texts: dict[str, str]) -> None:
    model, texts = load(model_folder), [text for name, text in half_texts.items() if name != "two halves"]
    sink = io.StringIO()

    predict_stream(model, io.BytesIO(_written(texts, "jsonl").encode("utf-8")), sink, format="jsonl")

    found = _read_back(sink.getvalue().encode("utf-8").decode("utf-8"), "jsonl")
    assert found == list(zip(texts, model.predict(texts), strict=True))


def _written(texts: list[str], format: str) -> str:
    """The texts as a file of this format."""
    if format == "jsonl":
        return "".join(json.dumps({"text": text}) + "\n" for text in texts)
    if format == "csv":
        table = io.StringIO()
        csv.writer(table, quoting=csv.QUOTE_ALL).writerows([["text"], *([text] for text in texts)])
        return table.getvalue()
    return "".join(f"{text}\n" for text in (["text"] if format == "tsv" else []) + texts)


def _read_back(written: str, format: str) -> list[tuple[str, str]]:
    """(text, label) of every row."""
    lines = written.removesuffix("\n").split("\n")
    match format:
        case "jsonl":
            return [(row["text"], row["label"]) for row in map(json.loads, lines)]
        case "csv":
            return [(row[0], row[1]) for row in csv.reader(line + "\n" for line in lines)][1:]
        case "tsv":
            return [(row[0], row[1]) for row in (line.split("\t") for line in lines)][1:]
        case _:
            return [(row[2], row[0]) for row in (line.split("\t", 2) for line in lines)]


TYPED = {
    "id": pa.array([1, 2, 3], pa.int16()),
    "text": pa.array(["abc", "ab", ""], pa.large_string()),
    "when": pa.array([1, 2_000_000_001, None], pa.timestamp("ns")),
    "price": pa.array(["1.50", "2.25", None], pa.string()).cast(pa.decimal128(5, 2)),
    "took": pa.array([1, 2, 3], pa.duration("s")),
    "tags": [["x"], [], None],
    "kind": pa.array(["k", "l", "k"]).dictionary_encode(),
}


@pytest.fixture
def parquet_rows(tmp_path: Path) -> Path:
    """Three rows with columns of many types."""
    pq.write_table(pa.table(TYPED), tmp_path / "rows.parquet", row_group_size=2)
    return tmp_path / "rows.parquet"


def as_parquet(source: Any, classifier: ByLength | None = None, **options: Any) -> Any:
    sink = io.BytesIO()
    predict_stream(classifier or ByLength(), source, sink, output="parquet", **options)
    return pq.read_table(pa.BufferReader(sink.getvalue()))


def test_parquet_comes_out_as_parquet_with_all_its_types(parquet_rows: Path) -> None:
    answer = as_parquet(parquet_rows, chunk_rows=2)

    assert answer.select(list(TYPED)).equals(pq.read_table(parquet_rows))
    assert answer["label"].to_pylist() == ["odd", "even", "even"]
    assert (answer.schema.field("label").type, answer.schema.field("probability_odd").type) == (
        pa.string(),
        pa.float32(),
    )


def test_parquet_comes_out_as_text(parquet_rows: Path) -> None:
    table = list(csv.reader(io.StringIO(streamed(parquet_rows, output="csv"))))
    objects = [json.loads(line) for line in streamed(parquet_rows).splitlines()]

    assert table[0] == [*TYPED, "label", "probability_even", "probability_odd"]
    assert table[1][:2] == ["1", "abc"]
    assert table[2][2].startswith("1970-01-01 00:00:02.000000001")
    assert table[3][2:7] == ["", "", "3", "", "k"]
    assert [row["label"] for row in objects] == [row[7] for row in table[1:]] == ["odd", "even", "even"]
    assert (objects[0]["id"], objects[0]["tags"], objects[1]["price"]) == (1, ["x"], "2.25")


@pytest.mark.parametrize(
    ("format", "source", "expected"),
    [
        ("csv", "id,text\n7,abc\n", {"id": ["7"], "text": ["abc"]}),
        ("tsv", "id\ttext\n7\tabc\n", {"id": ["7"], "text": ["abc"]}),
        ("lines", "abc\n", {"text": ["abc"]}),
        ("jsonl", '{"text": "abc", "n": 1}\n{"text": "a", "tags": ["x"]}\n', {"n": [1, None], "tags": [None, ["x"]]}),
    ],
)
def test_any_input_can_come_out_as_parquet(format: Any, source: str, expected: dict[str, list[object]]) -> None:
    answer = as_parquet(io.BytesIO(source.encode()), format=format)

    assert {name: answer[name].to_pylist() for name in expected} == expected
    assert set(answer["label"].to_pylist()) == {"odd"}


@pytest.mark.parametrize("second", ['{"text": "b", "n": "one"}', '{"text": "b", "more": 1}', '{"text": "\\ud83d"}'])
def test_json_that_parquet_cannot_hold_is_refused(second: str) -> None:
    source = io.BytesIO(f'{{"text": "a", "n": 1}}\n{second}\n'.encode())

    with pytest.raises(NothingToPredict, match="as parquet"):
        as_parquet(source, format="jsonl", chunk_rows=1)


def test_columns_of_a_parquet_file_are_never_doubled(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["abc"], "label": [1]}), tmp_path / "rows.parquet")

    answer = as_parquet(tmp_path / "rows.parquet")

    assert answer.column_names == ["text", "label", "predicted_label", "probability_even", "probability_odd"]


def test_a_parquet_file_without_rows_comes_out_with_its_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "rows.parquet")

    assert as_parquet(tmp_path / "rows.parquet").column_names[:2] == ["text", "label"]
    assert as_parquet(io.BytesIO(b""), format="csv").column_names[0] == "label"


class _Generated(io.RawIOBase):
    """Lines that are made as they are read."""

    def __init__(self, *, lines: int) -> None:
        line = b"a line of some length that is made as it is read " * 5 + b"\n"
        self._blocks: Iterator[bytes] = (line * 100 for _ in range(lines // 100))
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        del size
        block = next(self._blocks, b"")
        self.size += len(block)
        return block


class _OneLine(io.RawIOBase):
    """A JSON array on one line, made as it is read."""

    def __init__(self, *, objects: int) -> None:
        row = b'{"text": "an object of some length that is made as it is read"}'
        self._blocks = iter([b"[", *[(row + b", ") * 100] * (objects // 100 - 1), (row + b", ") * 99 + row, b"]"])
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        del size
        block = next(self._blocks, b"")
        self.size += len(block)
        return block


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize("source", [_Generated(lines=50_000), _OneLine(objects=50_000)], ids=["lines", "array"])
def test_memory_does_not_grow_with_the_stream(source: _Generated | _OneLine) -> None:
    predict_stream(ByLength(), io.BytesIO(b"warm\nup\n"), io.StringIO())

    tracemalloc.start()
    try:
        rows = predict_stream(ByLength(), cast(Any, source), cast(Any, _Nowhere()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert rows == 50_000
    assert source.size > 3_000_000
    assert peak < 1_500_000


def test_the_rows_of_every_chunk_are_reported() -> None:
    reported: list[int] = []
    source = io.BytesIO(b"a\nb\nc\n")

    predict_stream(ByLength(), source, io.StringIO(), chunk_rows=2, watch=reported.append)

    assert reported == [2, 1]


def test_a_model_that_abstains_leaves_the_label_empty_and_writes_its_score() -> None:
    model = ByLength()
    model.facts = replace(model.facts, abstain=Abstention("margin", 0.5))

    table = streamed("text\na\nunsure\n", model, format="csv").splitlines()
    lines = streamed("a\nunsure\n", model, format="lines").splitlines()
    objects = [json.loads(line) for line in streamed('{"text": "unsure"}\n', model).splitlines()]
    sink = io.BytesIO()
    predict_stream(model, io.BytesIO(b"text\na\nunsure\n"), sink, format="csv", output="parquet")

    assert table[0] == "text,label,probability_even,probability_odd,score"
    assert [row.split(",")[1] for row in table[1:]] == ["odd", ""]
    assert [float(row.split(",")[-1]) > 0.5 for row in table[1:]] == [True, False]
    assert [line.split("\t")[0] for line in lines] == ["odd", ""]
    assert (objects[0]["label"], list(objects[0])) == (None, ["text", "label", "probabilities", "score"])
    kept = pq.read_table(io.BytesIO(sink.getvalue())).to_pydict()
    assert kept["label"] == ["odd", None]
    assert kept["score"][1] < 0.5
