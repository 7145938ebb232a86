"""Data sets of the hub, and folders made of them; the hub itself is never asked here."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from limbeck.artifacts.manifest import Key
from limbeck.corpus import read_corpus
from limbeck.corpus.hub import read_hub
from limbeck.errors import ColumnMissing, FileUnreadable, HubUnreachable
from limbeck.recipe.corpus import CorpusSection
from limbeck.tables.hub import candidates

if TYPE_CHECKING:
    from tests.unit.conftest import RememberingReporter

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def saved(folder: Path, splits: dict[str, dict[str, list[Any]]], *, names: list[str] | None = None) -> str:
    features = None
    if names is not None:
        features = datasets.Features({"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=names)})
    contents = {split: datasets.Dataset.from_dict(columns, features=features) for split, columns in splits.items()}
    datasets.DatasetDict(contents).save_to_disk(str(folder))
    return str(folder)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("imdb", [("imdb", None)]),
        ("glue/sst2", [("glue", "sst2"), ("glue/sst2", None)]),
        ("user/reviews", [("user/reviews", None), ("user", "reviews")]),
        ("nyu-mll/glue/sst2", [("nyu-mll/glue", "sst2")]),
    ],
)
def test_a_name_is_a_data_set_and_maybe_a_configuration(name: str, meant: list[tuple[str, str | None]]) -> None:
    assert candidates(name) == meant


def test_class_numbers_become_names_and_a_test_split_without_labels_is_dropped(tmp_path: Path) -> None:
    folder = saved(
        tmp_path / "saved",
        {
            "train": {"sentence": ["good", "bad", "so so"], "label": [1, 0, -1]},
            "validation": {"sentence": ["fine"], "label": [1]},
            "test": {"sentence": ["?"], "label": [-1]},
        },
        names=["negative", "positive"],
    )

    data = read_hub(CorpusSection(hub=folder, text="sentence"))

    assert data.splits == {"train": [("good", "positive"), ("bad", "negative")], "dev": [("fine", "positive")]}
    assert data.class_names == ["negative", "positive"]
    assert data.unlabelled == 2


def test_minus_one_is_a_label_if_the_split_has_other_labels(tmp_path: Path) -> None:
    folder = saved(
        tmp_path / "saved",
        {"train": {"text": ["a", "b"], "label": [-1, 1]}, "test": {"text": ["c"], "label": [-1]}},
    )

    data = read_hub(CorpusSection(hub=folder))

    assert data.splits == {"train": [("a", "-1"), ("b", "1")]}


def saved_with(folder: Path, splits: dict[str, dict[str, list[Any]]], label: Any) -> str:
    """A saved data set of sentences whose column `label` is this feature."""
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    contents = {split: datasets.Dataset.from_dict(columns, features=features) for split, columns in splits.items()}
    datasets.DatasetDict(contents).save_to_disk(str(folder))
    return str(folder)


def test_lists_of_class_numbers_become_sets_of_names(tmp_path: Path) -> None:
    folder = saved_with(
        tmp_path / "saved",
        {
            "train": {"text": ["a", "b", "c", "d"], "label": [[2, 0], [], [1], None]},
            "test": {"text": ["e"], "label": [[]]},
        },
        datasets.Sequence(datasets.ClassLabel(names=["joy", "fear", "anger"])),
    )

    data = read_hub(CorpusSection(hub=folder, multi_label=True))

    assert data.splits == {"train": [("a", ("anger", "joy")), ("b", ()), ("c", ("fear",))]}
    assert data.class_names == ["joy", "fear", "anger"]
    assert data.unlabelled == 2


def test_lists_of_names_and_cells_with_separators_are_sets(tmp_path: Path) -> None:
    lists = saved(tmp_path / "lists", {"train": {"text": ["a", "b"], "label": [["x", "y"], ["y"]]}})
    cells = saved(tmp_path / "cells", {"train": {"text": ["a", "b", "c"], "label": ["x;y", "y", ""]}})

    assert read_hub(CorpusSection(hub=lists, multi_label=True)).splits == {"train": [("a", ("x", "y")), ("b", ("y",))]}
    assert read_hub(CorpusSection(hub=cells, multi_label=True, label_separator=";")).splits == {
        "train": [("a", ("x", "y")), ("b", ("y",)), ("c", ())]
    }


def test_a_column_for_each_class_and_rows_without_values(tmp_path: Path) -> None:
    folder = saved(
        tmp_path / "saved",
        {
            "train": {"text": ["a", "b", "c"], "toxic": [1, 0, -1], "rude": [1, 0, -1]},
            "test": {"text": ["d"], "toxic": [-1], "rude": [-1]},
        },
    )

    several = read_hub(CorpusSection(hub=folder, label=["toxic", "rude"], multi_label=True))
    one = read_hub(CorpusSection(hub=folder, label=["toxic", "rude"]))

    assert several.splits == {"train": [("a", ("rude", "toxic")), ("b", ())]}
    assert several.unlabelled == 2
    assert several.class_names == ["toxic", "rude"]
    assert (one.splits["train"], one.ties) == ([("a", "toxic"), ("b", "toxic")], 2)


def test_a_folder_of_parquet_files_is_a_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    folder.mkdir()
    for name, label in (("train", "x"), ("validation", "y")):
        pq.write_table(
            pa.table({"q1": ["a"], "q2": ["b"], "label": [label]}), folder / f"{name}-00000-of-00001.parquet"
        )

    data = read_hub(CorpusSection(hub=str(folder), text="q1", pair="q2"))

    assert data.splits == {"train": [("a", "b", "x")], "dev": [("a", "b", "y")]}


def test_a_single_saved_data_set_is_train(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"text": ["a", "b"], "label": ["x", "y"]}).save_to_disk(str(tmp_path / "saved"))

    assert list(read_hub(CorpusSection(hub=str(tmp_path / "saved"))).splits) == ["train"]


def test_the_corpus_keeps_the_order_of_the_class_names(
    tmp_path: Path, key: Key, reporter: "RememberingReporter"
) -> None:
    train: dict[str, list[Any]] = {"sentence": [f"text {number}" for number in range(20)], "label": [0, 1] * 10}
    folder = saved(tmp_path / "saved", {"train": train}, names=["positive", "negative"])
    section = CorpusSection(hub=folder, text="sentence")

    corpus = read_corpus(section, out=tmp_path / "corpus", key=key, reporter=reporter, name="toy")

    assert corpus.labels == ["positive", "negative"]
    assert corpus.facts["sources"] == {"train": "saved"}
    assert corpus.splits["train"].labels.tolist()[0] in (0, 1)
    assert len(corpus.splits["dev"]) == 2


def test_a_missing_column_is_reported_with_the_existing_ones(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", {"train": {"sentence": ["a"], "label": ["x"]}})

    with pytest.raises(ColumnMissing) as caught:
        read_hub(CorpusSection(hub=folder))

    assert caught.value.columns == ("sentence", "label")


def test_a_data_set_without_train_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", {"test": {"text": ["a"], "label": ["x"]}})

    with pytest.raises(FileUnreadable, match="no split 'train'"):
        read_hub(CorpusSection(hub=folder))


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(FileUnreadable):
        read_hub(CorpusSection(hub=str(tmp_path / "empty")))


def test_without_a_network_the_error_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(path: str, name: str | None) -> None:
        raise ConnectionError(f"Couldn't reach '{path}' on the Hub ({name})")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)

    with pytest.raises(HubUnreachable, match="nothing of that name was fetched before") as caught:
        read_hub(CorpusSection(hub="glue/sst2"))

    assert caught.value.tried == ("configuration sst2 of glue",)


def test_a_name_that_is_not_a_data_set_is_tried_as_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(path: str, name: str | None) -> None:
        raise FileNotFoundError(f"Dataset '{path}' doesn't exist on the Hub ({name})")

    monkeypatch.setattr(datasets, "load_dataset", not_found)

    with pytest.raises(HubUnreachable) as caught:
        read_hub(CorpusSection(hub="user/reviews"))

    assert caught.value.tried == ("user/reviews", "configuration reviews of user")
