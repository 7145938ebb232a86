"""A student as a teacher: a copy with all its files, judged on this corpus, and refused where the task is another."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import StudentTeacher
from limbeck.teacher.run import opened, prepare_teacher
from limbeck.teacher.student_asking import open_student
from limbeck.teacher.student_source import find_student
from limbeck.teacher.student_teacher import StudentUnfit
from limbeck.training.skill import judged, skill

KEY = Key(section={}, inputs={})
Row = tuple[str, str]
StudentWith = Callable[..., Path]
MakeCorpus = Callable[..., Corpus]


class Notes(SilentReporter):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.lines.append(text)


def prepared(path: Path, corpus: Corpus, out: Path, reporter: SilentReporter | None = None) -> TeacherFolder:
    section = StudentTeacher(kind="student", path=str(path))
    return prepare_teacher(section, corpus=corpus, out=out, key=KEY, reporter=reporter or SilentReporter())


@pytest.fixture
def corpus(tmp_path: Path, make_corpus: MakeCorpus, rows_of_three: list[Row]) -> Corpus:
    return make_corpus(tmp_path / "corpus", train=rows_of_three[:100], dev=rows_of_three[100:])


def test_its_facts_are_the_students_and_what_this_corpus_says_of_it(
    tmp_path: Path, corpus: Corpus, student_with: StudentWith
) -> None:
    student = student_with(tmp_path / "student")

    facts = prepared(student, corpus, tmp_path / "teacher").facts

    dev = corpus.splits["dev"]
    logits = open_student(student, labels=corpus.labels).logits(dev.texts, None)
    assert (facts.kind, facts.name, facts.labels) == ("student", "bilstm", corpus.labels)
    assert (facts.max_length, facts.precision) == (32, "fp32")
    assert (facts.parameters, facts.parameters_without_embeddings) == (1_000, 500)
    assert facts.dev_accuracy == judged(logits, dev.labels)["dev_accuracy"]
    assert (facts.dev_skill, facts.dev_rows) == (skill(logits, dev.labels), 100)


def test_the_folder_stands_for_itself_when_the_student_is_gone(
    tmp_path: Path, corpus: Corpus, student_with: StudentWith
) -> None:
    student = student_with(tmp_path / "student")
    texts = corpus.splits["train"].texts
    expected = open_student(student, labels=corpus.labels).logits(texts, None)

    teacher = prepared(student, corpus, tmp_path / "teacher")
    shutil.rmtree(student)

    np.testing.assert_array_equal(opened(teacher).logits(texts, None), expected)


def test_the_copy_in_a_run_is_as_good_as_the_student_itself(
    tmp_path: Path, corpus: Corpus, student_with: StudentWith
) -> None:
    student = student_with(tmp_path / "student")

    first = prepared(student, corpus, tmp_path / "first")
    second = prepared(first.folder, corpus, tmp_path / "second")

    assert find_student(str(first.folder)).fingerprint == find_student(str(student)).fingerprint
    assert second.fingerprint == first.fingerprint
    assert second.facts == first.facts


def test_classes_in_another_order_are_another_teacher_with_its_columns_in_place(
    tmp_path: Path, corpus: Corpus, student_with: StudentWith
) -> None:
    texts = corpus.splits["dev"].texts
    names = ["positive", "negative", "neutral"]
    straight = prepared(student_with(tmp_path / "a"), corpus, tmp_path / "straight")
    turned = prepared(student_with(tmp_path / "b", labels=names), corpus, tmp_path / "turned")

    said = opened(straight).logits(texts, None)

    assert turned.facts.labels == corpus.labels
    np.testing.assert_array_equal(opened(turned).logits(texts, None), said[:, [names.index(n) for n in corpus.labels]])
    assert turned.fingerprint != straight.fingerprint


def test_the_same_student_asked_in_another_order_of_classes_shares_no_labels(
    tmp_path: Path, corpus: Corpus, student_with: StudentWith
) -> None:
    """Its files are the same, its answers are not."""
    from dataclasses import replace

    from limbeck.artifacts.teacher_folder import save_teacher_facts

    teacher = prepared(student_with(tmp_path / "student"), corpus, tmp_path / "teacher")
    before = teacher.fingerprint

    save_teacher_facts(teacher.folder, replace(teacher.facts, labels=corpus.labels[::-1]))

    assert teacher.fingerprint != before


@pytest.mark.parametrize(
    ("made", "pairs", "message"),
    [
        ({"pair": True}, False, "it reads two texts per row; the corpus has one text"),
        ({}, True, "it reads one text per row; the corpus has two texts"),
        ({"multi_label": True}, False, "it gives a row any number of labels; in the corpus a row has one label"),
        ({"labels": ["negative", "neutral", "good"]}, False, "2  good        2  positive"),
        ({"labels": ["negative", "neutral"]}, False, "it knows 2 classes, the corpus has 3"),
    ],
)
def test_a_student_of_another_task_is_refused_with_the_difference(
    tmp_path: Path,
    make_corpus: MakeCorpus,
    rows_of_three: list[Row],
    student_with: StudentWith,
    made: dict[str, Any],
    pairs: bool,
    message: str,
) -> None:
    corpus = make_corpus(tmp_path / "rows", train=rows_of_three[:50], dev=rows_of_three[50:70], pairs=pairs)
    student = student_with(tmp_path / "student", **made)

    with pytest.raises(StudentUnfit) as raised:
        prepared(student, corpus, tmp_path / "teacher")

    assert message in str(raised.value)
    assert str(student) in str(raised.value)
    assert not (tmp_path / "teacher").exists()


def test_all_differences_are_reported_at_once(tmp_path: Path, corpus: Corpus, student_with: StudentWith) -> None:
    student = student_with(tmp_path / "student", pair=True, multi_label=True, labels=["a", "b", "c"])

    with pytest.raises(StudentUnfit) as raised:
        prepared(student, corpus, tmp_path / "teacher")

    assert len(raised.value.differences) == 3


def test_a_pair_student_teaches_on_pairs(
    tmp_path: Path, make_corpus: MakeCorpus, rows_of_three: list[Row], student_with: StudentWith
) -> None:
    corpus = make_corpus(tmp_path / "rows", train=rows_of_three[:50], dev=rows_of_three[50:70], pairs=True)

    teacher = prepared(student_with(tmp_path / "student", pair=True), corpus, tmp_path / "teacher")

    assert teacher.facts.dev_rows == 20


def test_of_several_seeds_it_is_said_that_the_best_was_taken(
    tmp_path: Path, corpus: Corpus, student_with: StudentWith
) -> None:
    for seed in range(2):
        student_with(tmp_path / "seeds" / str(seed), seed=seed)
    notes = Notes()

    prepared(tmp_path / "seeds", corpus, tmp_path / "teacher", notes)

    assert any("teacher bilstm" in line and "the best of 2 seeds" in line for line in notes.lines)
