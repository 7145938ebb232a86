"""Rows that look wrong: flagged ones, texts that contradict themselves, and the reason in words."""

from pathlib import Path

import numpy as np

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.review.answers import JudgedSplit, judgeable
from limbeck.review.wrong_labels import LabelNames, contradictions, doubtful_rows, unjudged_classes

NAMES = ["bad", "good"]
NAMING = LabelNames(NAMES)


def corpus_of(folder: Path, texts: list[str], labels: list[int], dev: Rows | None = None) -> Corpus:
    train = Rows.of(ids=[f"train-{at}" for at in range(len(texts))], texts=texts, labels=labels)
    dev = dev or Rows.of(ids=["train-90"], texts=["of dev"], labels=[0])
    facts = {"labels": NAMES, "sources": {"train": "rows.csv"}, "language": "en", "pair": False}
    with written_atomically(folder, kind="corpus", key=Key(section={}, inputs={})) as scratch:
        save_corpus(scratch, splits={"train": train, "dev": dev}, facts=facts)
    return Corpus(folder)


def test_a_row_is_listed_with_its_place_and_a_reason(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", [f"text {at}" for at in range(13)], [0] * 6 + [1] * 6 + [0])
    chances = np.array([[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 6 + [[0.04, 0.96]], dtype=np.float32)

    (row,) = doubtful_rows(corpus, [JudgedSplit("train", corpus.splits["train"], chances, "a model")], NAMING)

    assert (row.id, row.file, row.row, row.label, row.suggested) == ("train-12", "rows.csv", 13, "bad", "good")
    assert row.reason == "a model: good 96%, bad 4%"


def test_texts_that_contradict_themselves_are_listed_whatever_models_say(tmp_path: Path) -> None:
    texts = [f"text {at}" for at in range(12)] + ["TEXT 1", "text 1 "]
    corpus = corpus_of(tmp_path / "corpus", texts, [0] * 6 + [1] * 6 + [1, 0])
    chances = np.array([[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 6 + [[0.5, 0.5]] * 2, dtype=np.float32)

    rows = doubtful_rows(corpus, [JudgedSplit("train", corpus.splits["train"], chances, "a model")], NAMING)

    assert {row.id: row.suggested for row in rows} == {"train-12": "bad", "train-1": "", "train-13": ""}
    assert {row.found_by for row in rows} == {"same text"}
    (odd,) = (row for row in rows if row.id == "train-12")
    assert odd.reason == "the same text has other labels in other rows: bad × 2"


def test_a_dev_row_whose_text_is_in_train_is_not_judged_but_compared(tmp_path: Path) -> None:
    dev = Rows.of(ids=["train-50", "train-51"], texts=["Text 3", "new"], labels=[1, 0])
    corpus = corpus_of(tmp_path / "corpus", [f"text {at}" for at in range(12)], [0] * 6 + [1] * 6, dev)

    assert judgeable(corpus)["dev"].ids == ["train-51"]
    assert sorted(row.id for row in doubtful_rows(corpus, [], NAMING)) == ["train-3", "train-50"]


def test_equal_labels_are_no_contradiction() -> None:
    rows = Rows.of(ids=["train-0", "train-1"], texts=["a", "A"], labels=[1, 1])

    assert list(contradictions({"train": rows}, NAMING)) == []


def test_several_labels_are_written_with_the_separator() -> None:
    naming = LabelNames(["food", "price"], ";", is_multi_label=True)

    assert [naming.of(np.array(marks)) for marks in ([1, 1], [0, 1], [0, 0])] == ["food;price", "price", "(none)"]


def test_classes_with_few_rows_are_named(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "corpus", [f"text {at}" for at in range(8)], [0] * 6 + [1] * 2)

    assert unjudged_classes(corpus) == ["good"]
