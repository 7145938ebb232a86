"""A model, files to predict, and for those who need it a Ray cluster of this machine alone."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.runtime.classifier import Classifier, load
from tests.conftest import DECIDING, NEUTRAL
from tests.unit.runtime.conftest import exported_toy_model

ROWS = 300


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: Any) -> Classifier:
    """A small model of three classes."""
    return load(exported_toy_model(tmp_path_factory.mktemp("model"), make_student, toy_rows), threads=1)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two Parquet files of six row groups each, in the first of which one row has no text; and three JSON lines."""
    folder, dice = tmp_path_factory.mktemp("data"), random.Random(0)
    for name in ("one", "two"):
        texts: list[str | None] = [" ".join(dice.choices([*DECIDING, *NEUTRAL], k=6)) for _ in range(ROWS)]
        if name == "one":
            texts[120] = None
        table = pa.table({"id": [f"{name} {number}" for number in range(ROWS)], "text": texts})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=50)
    (folder / "three.jsonl").write_text('{"text": "good film"}\n{"text": null}\n{"text": "bad"}\n', encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pieces of each Parquet file."""
    monkeypatch.setattr("limbeck.cluster.pieces.ROWS_PER_PIECE", 100)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Ray on this machine, with room for three workers."""
    pytest.importorskip("ray")
    from limbeck.cluster.workers import connected

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "ignore")
        import ray

        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, configure_logging=False)
        with connected(None) as joined:
            yield joined
        ray.shutdown()
