"""The student beside its teacher: it is to be the smaller one, its vocabulary included."""

from collections.abc import Iterator, Mapping
from typing import Any

from limbeck.doctor.finding import Finding
from limbeck.doctor.known import Known
from limbeck.recipe.student import Transformer

LARGE_CUT = 2  # a limit that took more than half of the tokens is told


def size(known: Known) -> list[Finding]:
    """A student, or a vocabulary, with more numbers than the whole teacher; and a vocabulary that was cut for it, or to
    keep within a limit of megabytes."""
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
            "Make it smaller (student.vocabulary.max_size, embedding_size, hidden_size, layers), or take a bigger "
            "teacher.",
        )


def _vocabulary(facts: Mapping[str, Any], known: Known, teacher: int) -> Iterator[Finding]:
    section, tokens, width = known.recipe.student, facts["tokens"], facts.get("width")
    yield from _cut_by_limit(facts)
    if isinstance(section, Transformer) or width is None:
        return
    width = min(width, section.vector_rank or width)
    if tokens * width >= teacher:
        yield Finding(
            "size",
            "warning",
            "the word vectors alone outgrow the teacher",
            f"{tokens:,} words × {width:,} = {tokens * width:,} numbers, the teacher has {teacher:,} parameters; a run "
            "would cut the vocabulary down",
            "Lower student.vocabulary.max_size or student.embedding_size, or take a bigger teacher.",
        )
    elif facts.get("budget", section.vocabulary.max_size) < section.vocabulary.max_size and tokens >= facts["budget"]:
        yield Finding(
            "size",
            "note",
            "the vocabulary was cut so that the student stays smaller than its teacher",
            f"{tokens:,} tokens instead of at most {section.vocabulary.max_size:,}",
            "For more words lower student.embedding_size, or take a bigger teacher.",
        )


def _cut_by_limit(facts: Mapping[str, Any]) -> Iterator[Finding]:
    before = facts.get("tokens_without_limit", 0)
    if before > LARGE_CUT * facts["tokens"]:
        yield Finding(
            "size",
            "note",
            "most of the vocabulary was left out to keep within student.max_size_mb",
            f"{facts['tokens']:,} of {before:,} tokens are left in {facts['max_size_mb']:g} MB",
            "For more words raise student.max_size_mb, or set student.vector_rank or a smaller student.hidden_size.",
        )
