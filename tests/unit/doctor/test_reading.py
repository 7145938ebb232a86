"""Cut texts and unknown words are counted, for the student and for its teachers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.doctor.reading import student_length, teacher_length, unknown_words
from limbeck.doctor.tokens import StudentReading, TeacherReading
from limbeck.text.word_tokenizer import build_word_tokenizer

Row = tuple[str, str]
Make = Callable[..., Any]


def reading_of(texts: list[str], *, max_length: int = 10) -> StudentReading:
    tokenizer = build_word_tokenizer(texts, language="en", max_size=100, min_count=1, lowercase=True)
    return StudentReading(tokenizer, max_length)


def of_length(count: int, rows: int) -> list[Row]:
    """So many different rows of so many words."""
    return [(" ".join([f"w{number}", *["a"] * (count - 1)]), "good" if number % 2 else "bad") for number in range(rows)]


def test_rows_that_the_student_cuts_are_counted(make_corpus_of: Make, make_known: Make) -> None:
    corpus = make_corpus_of(train=of_length(11, 6) + of_length(10, 94), dev=of_length(3, 4))

    (finding,) = student_length(make_known(corpus=corpus, student_reading=reading_of(["a"])))

    assert finding.level == "warning"
    assert finding.what == "6% of the training rows are longer than the student reads"
    assert finding.evidence.startswith(
        "it reads 10 tokens; rows have 10 (median), 11 (95th percentile), measured on 100 rows"
    )


def test_one_cut_row_in_twenty_is_borne(make_corpus_of: Make, make_known: Make) -> None:
    corpus = make_corpus_of(train=of_length(11, 5) + of_length(10, 95), dev=of_length(3, 4))

    assert student_length(make_known(corpus=corpus, student_reading=reading_of(["a"]))) == []


def test_rows_that_a_teacher_cuts_are_counted_with_its_special_tokens(
    make_corpus_of: Make, make_known: Make, tiny_teacher_folder: Path
) -> None:
    words = [("the film is " + "long " * 5, "good" if number % 2 else "bad") for number in range(20)]
    corpus = make_corpus_of(train=words, dev=words[:4])  # 8 words, 10 tokens

    def findings(max_length: int, *, long_texts: str = "head") -> Any:
        path = tiny_teacher_folder / "tokenizer.json"
        reading = TeacherReading.load(path, name="tiny", max_length=max_length, long_texts=long_texts)
        return teacher_length(make_known(corpus=corpus, teacher_readings=[reading]))

    (finding,) = findings(9)
    assert finding.what == "100% of the training rows are longer than the teacher tiny reads"
    assert 'long_texts = "head_and_tail"' in finding.advice
    assert "head_and_tail" not in findings(9, long_texts="head_and_tail")[0].advice
    assert findings(10) == []


@pytest.mark.parametrize(("unknown", "count"), [(5, 0), (6, 1)])
def test_unknown_words_of_dev_are_counted(make_corpus_of: Make, make_known: Make, unknown: int, count: int) -> None:
    words = ["zzz"] * unknown + ["known"] * (100 - unknown)
    dev = [(" ".join(words[:50]), "good"), (" ".join(words[50:]), "bad")]
    corpus = make_corpus_of(train=[("known", "good"), ("known too", "bad")], dev=dev)

    findings = unknown_words(make_known(corpus=corpus, student_reading=reading_of(["known"], max_length=50)))

    assert [finding.what for finding in findings] == ["6.0% of the words of dev are unknown to the student"] * count


@pytest.mark.parametrize(
    ("vocabulary", "advice"),
    [
        ({}, "Lower student.vocabulary.min_count, add [transfer] text, or set student.vocabulary.kind = "),
        ({"max_size": 8, "min_count": 1}, "Raise student.vocabulary.max_size, add [transfer] text, or set student.voc"),
        ({"kind": "pieces"}, "Lower student.vocabulary.min_count, or add [transfer] text."),
        ({"kind": "pieces", "min_count": 1}, "Add [transfer] text."),
    ],
)
def test_only_what_can_help_is_advised(
    make_corpus_of: Make, make_known: Make, vocabulary: dict[str, Any], advice: str
) -> None:
    corpus = make_corpus_of(train=[("known", "good"), ("known too", "bad")], dev=[("new", "good"), ("words", "bad")])
    words = [f"known{number}" for number in range(8)]

    (finding,) = unknown_words(
        make_known(
            {"student": {"vocabulary": vocabulary}},
            corpus=corpus,
            student_reading=reading_of(words, max_length=50),
        )
    )

    assert finding.advice.startswith(advice)
