"""Columns and tables in, columns and tables out: pandas, Polars, Arrow, and Dask and Spark through pandas."""

import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from limbeck.errors import NothingToPredict
from limbeck.runtime.classifier import Classifier, load

TEXTS = ["a gorgeous film", "", "this dreadful evening was long and quiet", "unknown words only"]
INDEX = [7, 3, 3, -1]


@pytest.fixture(scope="module")
def model(model_folder: Path) -> Classifier:
    return load(model_folder, threads=1)


def test_pandas_keeps_the_index(model: Classifier) -> None:
    frame = pd.DataFrame({"stars": [1, 2, 3, 4], "text": TEXTS}, index=INDEX)

    for rows in (frame, frame["text"], frame[["text"]], frame["text"].astype("category"), frame["text"].astype(object)):
        labels, probabilities = model.predict(rows), model.predict_proba(rows)
        assert isinstance(labels, pd.Series)
        assert (labels.name, labels.index.tolist(), labels.tolist()) == ("label", INDEX, model.predict(TEXTS))
        assert (probabilities.index.tolist(), probabilities.columns.tolist()) == (INDEX, model.labels)
        np.testing.assert_array_equal(probabilities.to_numpy(), model.predict_proba(TEXTS))
    assert frame.assign(label=model.predict(frame))["label"].tolist() == model.predict(TEXTS)


def test_polars_and_arrow_give_their_own(model: Classifier) -> None:
    frame, table = pl.DataFrame({"id": INDEX, "text": TEXTS}), pa.table({"id": INDEX, "text": TEXTS})
    expected, exact = model.predict(TEXTS), model.predict_proba(TEXTS)

    polars: list[Any] = [frame, frame["text"]]
    for rows in polars:
        assert model.predict(rows).to_list() == expected
        assert (model.predict(rows).name, model.predict_proba(rows).columns) == ("label", model.labels)
        np.testing.assert_array_equal(model.predict_proba(rows).to_numpy(), exact)
    for column in (table, table["text"], table["text"].combine_chunks(), table.to_batches()[0]):
        assert model.predict(column).to_pylist() == expected
        found = model.predict_proba(column)
        assert found.column_names == model.labels
        np.testing.assert_array_equal(np.column_stack([part.to_numpy() for part in found.columns]), exact)


def test_an_empty_frame_has_empty_answers(model: Classifier) -> None:
    frame = pd.DataFrame({"text": []}, index=pd.Index([], dtype="int64"))

    assert (len(model.predict(frame)), model.predict_proba(frame).shape) == (0, (0, 3))
    assert model.predict(pa.table({"text": pa.array([], pa.string())})).type == pa.string()
    none: Any = model.predict(pl.DataFrame({"text": []}, schema={"text": pl.String}))
    assert (len(none), none.dtype) == (0, pl.String)


def test_logits_and_explanations_take_frames_too(model: Classifier) -> None:
    frame = pd.DataFrame({"text": TEXTS}, index=INDEX)

    np.testing.assert_array_equal(model.logits(frame), model.logits(TEXTS))
    assert [one.label for one in model.explain(frame[:1])] == model.predict(TEXTS[:1])


def test_pairs_are_two_columns_by_name_or_by_order(pair_model_folder: Path) -> None:
    model, others = load(pair_model_folder), ["the road", "a film", "", "gorgeous"]
    expected = model.predict(list(zip(TEXTS, others, strict=True)))
    frame = pd.DataFrame({"pair": others, "text": TEXTS, "id": INDEX}, index=INDEX)

    assert model.predict(frame).tolist() == expected
    assert model.predict(frame.rename(columns={"text": "a", "pair": "b"})[["a", "b"]]).tolist() == expected
    with pytest.raises(NothingToPredict, match="the model reads two columns"):
        model.predict(frame.rename(columns={"text": "a"}))


def test_several_labels_a_row_are_lists_in_a_column(multi_label_folder: Path) -> None:
    model = load(multi_label_folder)
    expected = model.predict(TEXTS)

    assert model.predict(pd.Series(TEXTS)).tolist() == expected
    column: Any = pl.Series(TEXTS)
    assert model.predict(column).to_list() == expected
    assert model.predict(pa.array(TEXTS)).to_pylist() == expected


def test_a_table_with_the_column_of_training_is_known_inside_a_run(model_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "models" / "best"))
    (tmp_path / "recipe.toml").write_text('[corpus]\ntext = "review"\n', encoding="utf-8")
    frame = pd.DataFrame({"review": TEXTS, "id": INDEX})

    assert load(folder).predict(frame).tolist() == load(folder).predict(TEXTS)


def test_what_is_no_text_is_refused_with_its_place(model: Classifier) -> None:
    with pytest.raises(NothingToPredict, match=r"row 1 .* is NaN"):
        model.predict(pd.Series(["a", None]))
    with pytest.raises(NothingToPredict, match=r"row 1 .* is None"):
        model.predict(pa.array(["a", None]))
    with pytest.raises(NothingToPredict, match=r"has the columns a, b, and the model reads one column"):
        model.predict(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(NothingToPredict, match="not a LazyFrame"):
        model.predict(pl.LazyFrame({"text": TEXTS}))


def test_a_cascade_gives_columns_as_well(model_folder: Path, framed_folder: Path) -> None:
    model = load(model_folder, fallback=framed_folder, threshold=0.5)
    frame = pd.DataFrame({"text": TEXTS}, index=INDEX)

    assert model.predict(frame).to_dict() == pd.Series(model.predict(TEXTS), index=INDEX).to_dict()
    np.testing.assert_array_equal(model.predict_proba(frame).to_numpy(), model.predict_proba(TEXTS))


def test_dask_computes_by_partitions(model: Classifier) -> None:
    dask: Any = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"text": TEXTS}, index=[1, 2, 3, 4])

    parts = dask.from_pandas(frame, npartitions=2)["text"]
    found = parts.map_partitions(model.predict, meta=("label", "object")).compute(scheduler="processes", num_workers=2)

    assert found.to_dict() == pd.Series(model.predict(TEXTS), index=frame.index).to_dict()


@pytest.mark.filterwarnings("ignore")  # Spark's own, about pandas and about what it deprecates
def test_spark_computes_with_a_pandas_udf(model: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_sql: Any = pytest.importorskip("pyspark.sql")
    pandas_udf = import_module("pyspark.sql.functions").pandas_udf
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = spark_sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    try:

        def labelled(texts: pd.Series) -> pd.Series:
            return model.predict(texts)

        frame = session.createDataFrame([(text,) for text in TEXTS], ["text"])
        rows = frame.withColumn("label", pandas_udf(labelled, "string")("text")).collect()
    finally:
        session.stop()

    assert [row.label for row in rows] == model.predict(TEXTS)
