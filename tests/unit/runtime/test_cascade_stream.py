"""Predicting a stream with a cascade: in every format of output each row says who answered it."""

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.model_folder import ModelFolder
from limbeck.runtime.cascade import Cascade, CascadeClassifier, CascadeCount
from limbeck.runtime.classifier import load
from limbeck.runtime.fallbacks.fallback import FallbackFailed
from limbeck.runtime.probabilities import Floats
from limbeck.runtime.row import Row
from limbeck.runtime.stream import predict_stream

MakeModel = Callable[..., ModelFolder]
CSV = "text,id\na gorgeous gorgeous film,1\na film,2\n"


class Sure:
    """A fallback that is sure that everything is positive; or it fails."""

    name, slow_seconds, rows_at_once = "sure", None, None

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails

    def close(self) -> None:
        pass

    def predict_proba(self, rows: list[Row]) -> Floats:
        if self.fails:
            raise FallbackFailed(name=self.name, reason="it sleeps")
        return np.array([[0.0, 1.0]] * len(rows), dtype=np.float32)


@pytest.fixture
def model(make_model: MakeModel) -> CascadeClassifier:
    return CascadeClassifier(Cascade(load(make_model("one").folder), Sure(), threshold=0.6))


def written(model: CascadeClassifier, source: str, **options: Any) -> str:
    sink = io.StringIO()
    predict_stream(model, io.BytesIO(source.encode()), sink, **options)
    return sink.getvalue()


def test_a_table_has_a_last_column(model: CascadeClassifier) -> None:
    heading, *rows = written(model, CSV, text="text").splitlines()

    assert heading == "text,id,label,probability_negative,probability_positive,answered_by"
    assert [row.split(",")[2:] for row in rows][1] == ["positive", "0.000000", "1.000000", "fallback"]
    assert rows[0].endswith(",student")


def test_a_column_of_that_name_is_kept(model: CascadeClassifier) -> None:
    heading, row = written(model, "text,answered_by\na film,me\n", text="text").splitlines()

    assert heading.endswith(",predicted_answered_by")
    assert row.startswith("a film,me,")
    assert row.endswith(",fallback")


def test_json_has_a_key(model: CascadeClassifier) -> None:
    lines = written(model, '{"text": "a film"}\n{"text": "gorgeous gorgeous"}\n').splitlines()

    assert [json.loads(line)["answered_by"] for line in lines] == ["fallback", "student"]


def test_plain_lines_have_it_before_the_text(model: CascadeClassifier) -> None:
    assert written(model, "a film\n") == "positive\t1.000000\tfallback\ta film\n"


def test_parquet_has_a_last_column_also_without_rows(model: CascadeClassifier) -> None:
    for source, expected in ((CSV, ["student", "fallback"]), ("text,id\n", [])):
        sink = io.BytesIO()
        predict_stream(model, io.BytesIO(source.encode()), sink, format="csv", output="parquet")
        table = pq.read_table(io.BytesIO(sink.getvalue()))
        assert table.column_names[-1] == "answered_by"
        assert table["answered_by"].to_pylist() == expected


def test_an_empty_table_has_the_heading(model: CascadeClassifier) -> None:
    assert written(model, "text,id\n", format="csv").strip().endswith(",answered_by")


def test_what_was_answered_is_counted(make_model: MakeModel) -> None:
    student, count = load(make_model("one").folder), CascadeCount()
    for fallback in (Sure(), Sure(fails=True)):
        model = CascadeClassifier(Cascade(student, fallback, threshold=0.6))
        written(model, CSV, text="text", watch_answers=count.add)

    assert (count.rows, count.by_fallback) == (4, 1)
    assert "it sleeps" in str(count.failure)
    assert count.note is not None


def test_without_fallback_there_is_no_such_column(make_model: MakeModel) -> None:
    sink = io.StringIO()

    predict_stream(load(make_model("one").folder), io.BytesIO(CSV.encode()), sink, text="text")

    assert "answered_by" not in sink.getvalue()
