"""TF-IDF with a linear classifier: it learns each kind of task, answers the same when loaded, and stays cheap."""

from pathlib import Path
from typing import Any

import numpy as np

from limbeck.artifacts.atomic_folder import why_redo, written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.judging.rival import RivalFolder, make_rival, open_rival
from limbeck.progress import SilentReporter

KEY = Key(section={}, inputs={})
GOOD = ["a gorgeous film", "gorgeous, simply gorgeous", "what a gorgeous story", "gorgeous and warm"]
BAD = ["a dreadful film", "dreadful, simply dreadful", "what a dreadful story", "dreadful and cold"]


def rows_of(texts: list[str], labels: Any, pairs: list[str] | None = None) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts, labels=labels, pairs=pairs)


def corpus_of(folder: Path, rows: Rows, *, labels: list[str], **more: Any) -> Corpus:
    facts = {"name": "toy", "labels": labels, "language": "en", "pair": rows.is_pair, **more}
    with written_atomically(folder, kind="corpus", key=KEY) as scratch:
        save_corpus(scratch, splits=dict.fromkeys(("train", "dev", "test"), rows), facts=facts)
    return Corpus(folder)


def made(tmp_path: Path, rows: Rows, *, labels: list[str], **more: Any) -> RivalFolder:
    corpus = corpus_of(tmp_path / "corpus", rows, labels=labels, **more)
    return make_rival(corpus, out=tmp_path / "rival", key=KEY, reporter=SilentReporter())


def test_it_learns_two_classes_and_keeps_its_answers(tmp_path: Path) -> None:
    rows = rows_of([*GOOD, *BAD], [1] * 4 + [0] * 4)

    found = made(tmp_path, rows, labels=["bad", "good"])

    logits = found.logits("test")
    assert logits.shape == (8, 2)
    assert logits.argmax(axis=1).tolist() == rows.labels.tolist()
    np.testing.assert_array_equal(found.logits("dev"), logits)
    assert found.facts["train_rows"] == found.facts["of_train_rows"] == 8
    assert found.facts["size_mb"] > 8 * found.facts["parameters"] / 1e6  # the words are in the pickle too
    assert why_redo(found.folder, kind="rival", key=KEY) is None


def test_a_loaded_one_gives_the_labels_that_were_kept(tmp_path: Path) -> None:
    found = made(tmp_path, rows_of([*GOOD, *BAD], [1] * 4 + [0] * 4), labels=["bad", "good"])

    predict = open_rival(found.folder)

    assert predict(["a gorgeous evening", " dreadful "]) == ["good", "bad"]


def test_nothing_in_its_folder_is_a_pickle(tmp_path: Path) -> None:
    found = made(tmp_path, rows_of([*GOOD, *BAD], [1] * 4 + [0] * 4), labels=["bad", "good"])

    for path in found.folder.glob("*.npy"):
        np.load(path, allow_pickle=False)
    assert {path.suffix for path in found.folder.iterdir()} == {".json", ".npy"}


def test_it_gives_several_labels_to_a_row(tmp_path: Path) -> None:
    texts = [*GOOD, *BAD, "gorgeous and dreadful", "a film", "gorgeous, then dreadful", "a story"]
    labels = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 4 + [[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 0]])

    found = made(tmp_path, rows_of(texts, labels), labels=["good", "bad", "never"], multi_label=True)

    np.testing.assert_array_equal(found.logits("dev") >= 0, labels == 1)
    assert open_rival(found.folder)(["gorgeous and dreadful", "a film"]) == [["good", "bad"], []]


def test_it_reads_pairs_by_what_they_share(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(40)]
    pairs = [word if number % 2 else words[number - 7] for number, word in enumerate(words)]
    labels = [number % 2 for number in range(40)]

    found = made(tmp_path, rows_of(words, labels, pairs), labels=["other", "same"])

    assert (found.logits("dev").argmax(axis=1) == labels).all()
    assert open_rival(found.folder)([("word3", "word3")]) == ["same"]
