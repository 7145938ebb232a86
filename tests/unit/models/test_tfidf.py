"""TF-IDF with a linear classifier: classes that are missing, weights, samples of many rows."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from limbeck.artifacts.rows import Rows
from limbeck.models import tfidf
from limbeck.models.tfidf import TfidfClassifier, fitted_classifier, sampled_rows

GOOD = ["a gorgeous film", "gorgeous, simply gorgeous", "what a gorgeous story", "gorgeous and warm"]
BAD = ["a dreadful film", "dreadful, simply dreadful", "what a dreadful story", "dreadful and cold"]


def rows_of(texts: list[str], labels: Any) -> Rows:
    return Rows.of(ids=[str(number) for number in range(len(texts))], texts=texts, labels=labels)


def trained(rows: Rows, *, classes: int, class_weights: list[float] | None) -> TfidfClassifier:
    return fitted_classifier(rows.texts, rows.pairs, rows.labels, classes=classes, class_weights=class_weights)[0]


def sampled(rows: Rows, *, classes: int) -> npt.NDArray[np.int64]:
    return sampled_rows(rows.labels, rows.characters, classes=classes)


def test_a_class_without_training_rows_is_never_the_answer() -> None:
    rows = rows_of([*GOOD, *BAD], [2] * 4 + [0] * 4)

    found = trained(rows, classes=3, class_weights=None)

    assert found.logits(rows.texts, rows.pairs).argmax(axis=1).tolist() == rows.labels.tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_train_rows_of_a_single_class_give_that_class(classes: int) -> None:
    for label in range(2):
        rows = rows_of(GOOD, [label] * 4)

        found = trained(rows, classes=classes, class_weights=None)

        assert found.logits(rows.texts, rows.pairs).argmax(axis=1).tolist() == [label] * 4


def test_class_weights_move_the_decision() -> None:
    texts, labels = ["same words here"] * 10, [0] * 7 + [1] * 3

    even = trained(rows_of(texts, labels), classes=2, class_weights=None)
    weighted = trained(rows_of(texts, labels), classes=2, class_weights=[0.1, 5.0])

    assert even.logits(texts, None).argmax(axis=1)[0] == 0
    assert weighted.logits(texts, None).argmax(axis=1)[0] == 1


def test_of_many_rows_it_takes_a_sample_with_every_class(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of([f"text {number}" for number in range(1000)], [0] * 900 + [1] * 100)
    assert len(sampled(rows, classes=2)) == len(rows)
    monkeypatch.setattr(tfidf, "MOST_ROWS", 100)

    found = sampled(rows, classes=2)

    assert len(found) == 100
    assert np.bincount(rows.labels[found]).tolist() == [90, 10]
    assert (found == sampled(rows, classes=2)).all()


def test_long_texts_and_many_classes_mean_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(["x" * 100] * 1000, [0, 1] * 500)

    monkeypatch.setattr(tfidf, "MOST_CHARACTERS", 20_000)
    assert len(sampled(rows, classes=2)) == 200
    monkeypatch.setattr(tfidf, "MOST_ANSWERS", 300)
    assert len(sampled(rows, classes=3)) == 100


def test_texts_without_letters_are_read_too() -> None:
    rows = rows_of(["!", "?", "! !", "??"], [0, 1, 0, 1])

    found = trained(rows, classes=2, class_weights=None)

    assert found.logits(rows.texts, rows.pairs).argmax(axis=1).tolist() == [0, 1, 0, 1]


def test_chinese_characters_are_words_since_no_spaces_are_between_them() -> None:
    rows = rows_of(["服务真好，下次再来", "房间很好", "服务太差", "房间差，不会再来"], [1, 1, 0, 0])

    found = trained(rows, classes=2, class_weights=None)

    words = found.vectorizers[0].vocabulary_
    assert {"好", "差", "服 务", "真 好", "，"} <= set(words)
    assert found.logits(["早餐好", "早餐差"], None).argmax(axis=1).tolist() == [1, 0]


def test_words_with_spaces_between_them_are_whole() -> None:
    found = trained(rows_of(["Ein schöner Film2!", "nein"], [1, 0]), classes=2, class_weights=None)

    assert {"ein", "schöner", "film2", "!", "schöner film2"} <= set(found.vectorizers[0].vocabulary_)
