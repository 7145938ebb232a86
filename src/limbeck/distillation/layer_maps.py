"""Which layer of the student learns from which layer of the teacher."""

from collections.abc import Sequence
from typing import Literal, assert_never

from limbeck.errors import LayerMapImpossible

Pairs = list[tuple[int, int]]  # (student layer, teacher layer), both from 1; 0 would be the embeddings
Rule = Literal["uniform", "last", "top", "skip", "every"]


def layer_pairs(
    how: Rule | Sequence[Sequence[int]], *, student_layers: int, teacher_layers: int, every: int | None = None
) -> Pairs:
    """Pairs of layer numbers, counted from 1, for a student of M layers and a teacher of N.

        uniform   m ↔ m · N / M, halves rounded up: last ↔ last (TinyBERT, arXiv:1909.10351)
        last      M ↔ N alone (DistilBERT, MiniLM)
        top       m ↔ N - M + m
        skip      as uniform, without the last pair (PKD-skip, arXiv:1908.09355)
        every     m ↔ m · every, which no other rule reads

    or the pairs that `how` lists. Raises LayerMapImpossible where a pair names a layer that is not there, where the
    rule needs a teacher of at least as many layers, and where a layer of the student stands in two pairs.
    """
    asked = _in_words(how, every)

    def refused(reason: str, to_do: str) -> LayerMapImpossible:
        return LayerMapImpossible(
            asked=asked, reason=reason, student_layers=student_layers, teacher_layers=teacher_layers, to_do=to_do
        )

    if how in ("uniform", "top", "skip") and student_layers > teacher_layers:
        raise refused("the student is deeper than the teacher", 'Take "last", or list the pairs of layers.')
    if how == "skip" and student_layers == 1:
        raise refused('"skip" leaves out the last layer, the only one there is', 'Take "last".')
    if how == "every" and every is None:
        raise refused("it is not said how many", "Set `every` to how many of the teacher's layers make one.")
    pairs = _pairs(how, student_layers, teacher_layers, every or 0)
    if wrong := _what_is_wrong(pairs, student_layers, teacher_layers):
        numbers = f"Layers count from 1: 1 to {student_layers} of the student, 1 to {teacher_layers} of the teacher."
        raise refused(wrong, 'Lower `every`, or take "last".' if how == "every" else numbers)
    return pairs


def _pairs(how: Rule | Sequence[Sequence[int]], student_layers: int, teacher_layers: int, every: int) -> Pairs:
    layers = range(1, student_layers + 1)
    uniform = [(layer, (2 * layer * teacher_layers + student_layers) // (2 * student_layers)) for layer in layers]
    match how:
        case "uniform":
            return uniform
        case "last":
            return [(student_layers, teacher_layers)]
        case "top":
            return [(layer, teacher_layers - student_layers + layer) for layer in layers]
        case "skip":
            return uniform[:-1]
        case "every":
            return [(layer, layer * every) for layer in layers]
        case str():
            assert_never(how)
        case _:
            return [(student, teacher) for student, teacher in how]


def _what_is_wrong(pairs: Pairs, student_layers: int, teacher_layers: int) -> str:
    """Why these pairs cannot be, or nothing."""
    if not pairs:
        return "no pair is given"
    for student, teacher in pairs:
        if not 1 <= student <= student_layers:
            return f"the student has no layer {student}"
        if not 1 <= teacher <= teacher_layers:
            return f"the teacher has no layer {teacher}"
    students = [student for student, _ in pairs]
    twice = sorted({student for student in students if students.count(student) > 1})
    return f"layer {twice[0]} of the student stands in two pairs" if twice else ""


def _in_words(how: Rule | Sequence[Sequence[int]], every: int | None) -> str:
    """What was asked, as the recipe would say it."""
    if how == "every":
        return '"every"' if every is None else f'"every" {every}'
    return f'"{how}"' if isinstance(how, str) else str([list(pair) for pair in how])
