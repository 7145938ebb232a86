"""TF-IDF with a linear classifier as the teacher: it answers as it was judged, for texts and pairs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import LinearTeacher
from limbeck.teacher import linear
from limbeck.teacher.kinds import KINDS
from limbeck.teacher.linear import rate_of_fitting, rows_fitted
from limbeck.teacher.preparation import labelled
from limbeck.teacher.run import opened, prepare_teacher

KEY = Key(section={}, inputs={})
SECTION = LinearTeacher(kind="linear")


def prepared(corpus: Corpus, out: Path) -> TeacherFolder:
    return prepare_teacher(SECTION, corpus=corpus, out=out, key=KEY, reporter=SilentReporter())


def test_it_learns_the_labels_and_is_judged_on_dev(toy_corpus: Corpus, tmp_path: Path) -> None:
    teacher = prepared(toy_corpus, tmp_path / "teacher")

    dev = labelled(toy_corpus.splits["dev"])
    logits = opened(teacher).logits(dev.texts, None)
    assert teacher.facts.dev_accuracy == pytest.approx((logits.argmax(axis=1) == dev.labels).mean())
    assert teacher.facts.dev_accuracy is not None
    assert teacher.facts.dev_accuracy > 0.8
    assert (teacher.facts.name, teacher.facts.kind, teacher.facts.dev_rows) == ("linear", "linear", len(dev))


def test_its_logits_are_margins_over_a_temperature_of_dev(toy_corpus: Corpus, tmp_path: Path) -> None:
    teacher = prepared(toy_corpus, tmp_path / "teacher")
    found = opened(teacher)
    assert isinstance(found, linear.LinearAnswers)
    before = found.logits(["a gorgeous film"], None)

    (teacher.folder / linear.LINEAR).write_text(json.dumps({"temperature": 2 * found.temperature}), encoding="utf-8")

    np.testing.assert_allclose(linear.open_linear(teacher).logits(["a gorgeous film"], None), before / 2, rtol=1e-5)


def test_texts_are_answered_in_their_order_in_bounded_calls(
    toy_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = opened(prepared(toy_corpus, tmp_path / "teacher"))
    texts = ["a gorgeous film", "a dreadful film", "gorgeous", "dreadful", ""]
    whole = teacher.logits(texts, None)

    monkeypatch.setattr(linear, "TEXTS_PER_CALL", 2)

    np.testing.assert_array_equal(teacher.logits(texts, None), whole)
    assert teacher.logits([], None).shape == (0, 2)


def test_the_same_rows_make_the_same_teacher(toy_corpus: Corpus, tmp_path: Path) -> None:
    first, second = (prepared(toy_corpus, tmp_path / name) for name in ("first", "second"))

    assert first.fingerprint == second.fingerprint


def test_pairs_are_compared(tmp_path: Path) -> None:
    words = [f"word{number % 20}" for number in range(80)]
    pairs = [word if number % 2 else words[number - 7] for number, word in enumerate(words)]
    labels: Any = [number % 2 for number in range(80)]
    rows = Rows.of(ids=[str(number) for number in range(80)], texts=words, labels=labels, pairs=pairs)
    facts = {"name": "toy", "labels": ["other", "same"], "language": "en", "pair": True}
    with written_atomically(tmp_path / "corpus", kind="corpus", key=KEY) as scratch:
        save_corpus(scratch, splits=dict.fromkeys(("train", "dev"), rows), facts=facts)

    teacher = opened(prepared(Corpus(tmp_path / "corpus"), tmp_path / "teacher"))

    assert teacher.logits(["word3", "word3"], ["word3", "word9"]).argmax(axis=1).tolist() == [1, 0]


def test_fits_are_timed_on_rows_of_train_as_many_as_are_fitted(toy_corpus: Corpus) -> None:
    assert rows_fitted(toy_corpus) == len(toy_corpus.splits["train"])
    assert rate_of_fitting(toy_corpus) > 0


def test_its_time_can_be_planned(toy_corpus: Corpus) -> None:
    rates = KINDS["linear"].rates(SECTION, toy_corpus, toy_corpus.splits["train"], toy_corpus.splits["dev"])

    assert rates is not None
    assert min(rates) > 0
