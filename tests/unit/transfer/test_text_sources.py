"""Files and data sets that transfer text comes from; the hub itself is never asked here."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.errors import ColumnMissing, FileUnreadable, HubUnreachable, RowMalformed
from limbeck.recipe.transfer import Transfer
from limbeck.tables import hub
from limbeck.transfer.text_sources import sample_of, text_sources

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A data set of two splits, saved to disk."""
    splits = {"train": {"text": ["a", " b "], "stars": [1, 5]}, "unsupervised": {"text": ["c"], "stars": [-1]}}
    contents = {split: datasets.Dataset.from_dict(columns) for split, columns in splits.items()}
    datasets.DatasetDict(contents).save_to_disk(str(tmp_path / "saved"))
    return str(tmp_path / "saved")


def texts(**section: Any) -> dict[str, list[str]]:
    return {source.name: [text for text, _ in source.texts()] for source in text_sources(Transfer(**section))}


def test_files_come_first_each_once_with_distinct_names(tmp_path: Path, saved: str) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "more.txt").write_text(f"text of {folder}\n", encoding="utf-8")
    files = [str(tmp_path / "one"), str(tmp_path / "*" / "more.txt")]

    assert texts(files=files, hub=[f"{saved}:unsupervised"]) == {
        "one/more.txt": ["text of one"],
        "two/more.txt": ["text of two"],
        "saved:unsupervised": ["c"],
    }


def test_a_data_set_gives_all_its_splits_or_the_one_that_is_named(saved: str) -> None:
    assert texts(hub=[saved]) == {"saved:train": ["a", "b"], "saved:unsupervised": ["c"]}
    assert texts(hub=[f"{saved}:train", f"{saved}:train"]) == {"saved:train": ["a", "b"]}


def test_where_and_columns_are_those_of_files(saved: str) -> None:
    assert texts(hub=[saved], where={"stars": "5"}) == {"saved:train": ["b"], "saved:unsupervised": []}
    with pytest.raises(ColumnMissing, match="review"):
        texts(hub=[saved], text="review")


def test_a_folder_of_parquet_files_is_streamed_and_nothing_is_copied(tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    folder.mkdir()
    pq.write_table(pa.table({"q1": ["a", "b"], "q2": ["c", "d"]}), folder / "train-00000-of-00001.parquet")

    (source,) = text_sources(Transfer(hub=[str(folder)], text="q1", pair="q2"))

    assert list(source.texts()) == [("a", "c"), ("b", "d")] == list(source.texts())
    assert not list((tmp_path / "cache").rglob("*.arrow"))


def test_a_null_is_reported_with_its_row(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"text": ["a", None]}).save_to_disk(str(tmp_path / "saved"))

    with pytest.raises(RowMalformed, match="row 2"):
        texts(hub=[str(tmp_path / "saved")])


def test_a_missing_split_is_reported_with_the_existing_ones(saved: str) -> None:
    with pytest.raises(FileUnreadable, match="train, unsupervised"):
        text_sources(Transfer(hub=[f"{saved}:test"]))


def test_the_hub_is_streamed_if_it_can_be_reached_and_read_from_the_cache_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[Any, ...]] = []

    def load(path: str, configuration: str | None, **options: Any) -> dict[str, list[Any]]:
        calls.append((path, configuration, options))
        return {"train": []}

    monkeypatch.setattr(datasets, "load_dataset", load)
    for reason in (None, "no answer"):
        monkeypatch.setattr(hub, "why_no_hub", lambda reason=reason: reason)
        text_sources(Transfer(hub=["glue/sst2:train"]))

    assert calls == [("glue", "sst2", {"streaming": True}), ("glue", "sst2", {})]


def test_without_a_network_the_error_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(path: str, name: str | None) -> None:
        raise ConnectionError(f"Couldn't reach '{path}' on the Hub ({name})")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)

    with pytest.raises(HubUnreachable) as caught:
        text_sources(Transfer(hub=["imdb:unsupervised"]))

    assert caught.value.tried == ("imdb",)


class Breaking:
    """A stream that breaks off after a row."""

    column_names = None

    def __iter__(self) -> Any:
        yield {"text": "a"}
        raise ConnectionError("reset by peer")

    def select_columns(self, names: list[str]) -> "Breaking":
        assert names == ["text"]
        return self


def test_a_stream_that_breaks_off_is_reported_as_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "why_no_hub", lambda: None)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: {"train": Breaking()})
    (source,) = text_sources(Transfer(hub=["imdb"]))
    stream = source.texts()

    assert next(stream) == ("a", None)
    with pytest.raises(HubUnreachable, match="reset by peer"):
        next(stream)


def test_a_sample_takes_the_first_texts_of_every_source_in_equal_parts(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = "\n".join(f"{name} {number}" for number in range(1_500))
        (tmp_path / f"{name}.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "c.txt").touch()

    sample = sample_of(text_sources(Transfer(files=[str(tmp_path / "*.txt")])))

    assert sample == [f"{name} {number}" for name in ("a", "b") for number in range(2_000 // 3)]
