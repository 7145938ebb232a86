"""Checks of what teacher and student read: texts that are cut, words unknown to the student, and the student's size."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from limbeck.artifacts.rows import Rows
from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.doctor.tokens import TeacherReading, TextReader, sample
from limbeck.recipe.student import Ngrams, WordStudent

CUT_SHARE = 0.05  # share of the training rows
UNKNOWN_SHARE = 0.05  # share of the running words of dev


def student_length(known: Known) -> list[Finding]:
    """Training rows that are longer than the student reads."""
    reading = known.student_reading
    return list(_cut(reading, known.corpus.splits["train"], check="student-length", key="student.max_length"))


def teacher_length(known: Known) -> list[Finding]:
    """Training rows that are longer than a teacher reads."""
    readings, rows = known.teacher_readings, known.corpus.splits["train"]
    return [finding for reading in readings for finding in _of_teacher(reading, rows)]


def _of_teacher(reading: TeacherReading, rows: Rows) -> Iterator[Finding]:
    instead = "" if reading.long_texts == "head_and_tail" else ', or keep their ends too: long_texts = "head_and_tail"'
    return _cut(reading, rows, check="teacher-length", key="teacher.max_length", instead=instead)


def _cut(reading: TextReader, rows: Rows, *, check: str, key: str, instead: str = "") -> Iterator[Finding]:
    lengths = reading.lengths(sample(rows))
    share = float((lengths > reading.max_length).mean()) if len(lengths) else 0.0
    if share > CUT_SHARE:
        middle, long = np.percentile(lengths, [50, 95])
        yield Finding(
            check,
            "warning",
            f"{share:.0%} of the training rows are longer than {_who(reading)} reads",
            f"it reads {reading.max_length:,} tokens; rows have {middle:,.0f} (median), {long:,.0f} (95th percentile), "
            f"measured on {len(lengths):,} rows",
            f"Raise {key}{instead}; or shorten the texts yourself, to the parts that matter.",
        )


def _who(reading: TextReader) -> str:
    return f"the teacher {reading.name}" if isinstance(reading, TeacherReading) else "the student"


def unknown_words(known: Known) -> list[Finding]:
    """Running words of dev that are not in the student's vocabulary."""
    reading, rows = known.student_reading, sample(known.corpus.splits["dev"])
    share = reading.unknown_share(rows)
    if share <= UNKNOWN_SHARE or isinstance(known.recipe.student, Ngrams):
        return []
    return [
        Finding(
            "unknown-words",
            "warning",
            f"{share:.1%} of the words of dev are unknown to the student",
            f"its vocabulary has {len(reading.tokens):,} tokens; counted on {len(rows):,} dev rows",
            f"{_more_tokens(known, len(reading.tokens))}.",
        )
    ]


def _more_tokens(known: Known, tokens: int) -> str:
    """What can help: a higher max_size does not help a vocabulary that is not full."""
    student = known.recipe.student
    assert not isinstance(student, Ngrams), "every text has n-grams"
    if student.vocabulary.kind == "teacher":
        return "The vocabulary is the teacher's: use a teacher that knows these words"
    is_full = tokens >= student.vocabulary.max_size
    ways = [
        *(["raise student.vocabulary.max_size"] if is_full else []),
        *(["lower student.vocabulary.min_count"] if student.vocabulary.min_count > 1 else []),
        "add [transfer] text",
    ]
    if isinstance(student, WordStudent) and student.vocabulary.kind == "words":
        ways.append('set student.vocabulary.kind = "pieces", which splits rare words into known parts')
    advice = ", ".join(ways[:-1]) + f", or {ways[-1]}" if ways[1:] else ways[0]
    return advice[0].upper() + advice[1:]


LARGE_CUT = 2  # reported if the limit removed more than half of the tokens


def size(known: Known) -> list[Finding]:
    """A student or word vectors with more numbers than the teacher, or a vocabulary that was cut to prevent that or to
    keep `max_size_mb`."""
    teacher = known.teacher_parameters
    bigger = list(_bigger_student(known, teacher)) if known.has("students") else []
    return bigger or [*_vocabulary(known.part("vocabulary"), known, teacher)]


def _bigger_student(known: Known, teacher: int) -> Iterator[Finding]:
    student = max(student.facts.parameters for student in known.students)
    if student >= teacher:
        yield Finding(
            "size",
            "warning",
            "the student is no smaller than its teacher",
            f"{student:,} parameters, the teacher has {teacher:,}",
            "Make it smaller (student.vocabulary.max_size, embedding_size, hidden_size, layers), or use a bigger "
            "teacher.",
        )


def _vocabulary(facts: Mapping[str, Any], known: Known, teacher: int) -> Iterator[Finding]:
    section, tokens, width = known.recipe.student, facts["tokens"], facts.get("width")
    yield from _cut_by_limit(facts)
    if not isinstance(section, WordStudent) or width is None:
        return
    width = min(width, section.vector_rank or width)
    if tokens * width >= teacher:
        yield Finding(
            "size",
            "warning",
            "the word vectors alone are larger than the teacher",
            f"{tokens:,} words × {width:,} = {tokens * width:,} numbers, the teacher has {teacher:,} parameters; a run "
            "would cut the vocabulary down",
            "Lower student.vocabulary.max_size or student.embedding_size, or use a bigger teacher.",
        )
    elif facts.get("budget", section.vocabulary.max_size) < section.vocabulary.max_size and tokens >= facts["budget"]:
        yield Finding(
            "size",
            "note",
            "the vocabulary was cut so that the student stays smaller than its teacher",
            f"{tokens:,} tokens instead of at most {section.vocabulary.max_size:,}",
            "For more words lower student.embedding_size, or use a bigger teacher.",
        )


def _cut_by_limit(facts: Mapping[str, Any]) -> Iterator[Finding]:
    before = facts.get("tokens_without_limit", 0)
    if before > LARGE_CUT * facts["tokens"]:
        yield Finding(
            "size",
            "note",
            "most of the vocabulary was dropped to keep within student.max_size_mb",
            f"{facts['tokens']:,} of {before:,} tokens are left in {facts['max_size_mb']:g} MB",
            "For more words raise student.max_size_mb, or set student.vector_rank or a smaller student.hidden_size.",
        )
