"""Which layers go together."""

from typing import get_args

import pytest

from limbeck.distillation.terms.layers import LayerMapImpossible, Pairs, Rule, layer_pairs


@pytest.mark.parametrize(
    ("student_layers", "teacher_layers", "expected"),
    [
        (6, 12, [(1, 2), (2, 4), (3, 6), (4, 8), (5, 10), (6, 12)]),
        (4, 12, [(1, 3), (2, 6), (3, 9), (4, 12)]),
        (4, 6, [(1, 2), (2, 3), (3, 5), (4, 6)]),  # 1.5 and 4.5 are rounded up; Python's round would say 2 and 4
        (3, 12, [(1, 4), (2, 8), (3, 12)]),
        (5, 12, [(1, 2), (2, 5), (3, 7), (4, 10), (5, 12)]),
        (2, 2, [(1, 1), (2, 2)]),
        (1, 12, [(1, 12)]),
    ],
)
def test_uniform_spreads_the_students_layers_evenly(student_layers: int, teacher_layers: int, expected: Pairs) -> None:
    assert layer_pairs("uniform", student_layers=student_layers, teacher_layers=teacher_layers) == expected


@pytest.mark.parametrize(("student_layers", "teacher_layers"), [(6, 12), (4, 6), (12, 3), (1, 1)])
def test_last_pairs_the_last_layers_of_any_two_depths(student_layers: int, teacher_layers: int) -> None:
    pairs = layer_pairs("last", student_layers=student_layers, teacher_layers=teacher_layers)

    assert pairs == [(student_layers, teacher_layers)]


@pytest.mark.parametrize(
    ("student_layers", "teacher_layers", "expected"),
    [
        (6, 12, [(1, 7), (2, 8), (3, 9), (4, 10), (5, 11), (6, 12)]),
        (4, 6, [(1, 3), (2, 4), (3, 5), (4, 6)]),
        (3, 12, [(1, 10), (2, 11), (3, 12)]),
    ],
)
def test_top_pairs_with_the_teachers_topmost_layers(student_layers: int, teacher_layers: int, expected: Pairs) -> None:
    assert layer_pairs("top", student_layers=student_layers, teacher_layers=teacher_layers) == expected


@pytest.mark.parametrize(
    ("student_layers", "teacher_layers", "expected"),
    [
        (
            6,
            12,
            [(1, 2), (2, 4), (3, 6), (4, 8), (5, 10)],
        ),  # layers 1, 3, 5, 7, 9 from zero, as the paper's code has them
        (3, 12, [(1, 4), (2, 8)]),
        (4, 6, [(1, 2), (2, 3), (3, 5)]),
    ],
)
def test_skip_leaves_out_the_last_layer(student_layers: int, teacher_layers: int, expected: Pairs) -> None:
    assert layer_pairs("skip", student_layers=student_layers, teacher_layers=teacher_layers) == expected


def test_every_takes_each_kth_layer_of_the_teacher() -> None:
    assert layer_pairs("every", student_layers=4, teacher_layers=12, every=3) == [(1, 3), (2, 6), (3, 9), (4, 12)]
    assert layer_pairs("every", student_layers=4, teacher_layers=12, every=2) == [(1, 2), (2, 4), (3, 6), (4, 8)]


def test_a_list_is_taken_as_it_is() -> None:
    pairs = layer_pairs([[4, 12], [1, 12], [2, 5]], student_layers=4, teacher_layers=12)

    assert pairs == [(4, 12), (1, 12), (2, 5)]


@pytest.mark.parametrize("rule", get_args(Rule))
def test_no_rule_leaves_the_layers_that_are_there(rule: Rule) -> None:
    for teacher_layers in range(2, 25):
        for student_layers in range(2, teacher_layers + 1):
            pairs = layer_pairs(rule, student_layers=student_layers, teacher_layers=teacher_layers, every=1)

            assert pairs == sorted(set(pairs))
            assert all(1 <= teacher <= teacher_layers for _, teacher in pairs)
            assert len({teacher for _, teacher in pairs}) == len(pairs)  # no layer of the teacher is used twice


@pytest.mark.parametrize("rule", ["uniform", "top", "skip"])
def test_a_student_deeper_than_the_teacher_is_refused_where_the_rule_needs_otherwise(rule: Rule) -> None:
    with pytest.raises(LayerMapImpossible, match="deeper than the teacher") as refused:
        layer_pairs(rule, student_layers=6, teacher_layers=4)

    assert (refused.value.student_layers, refused.value.teacher_layers) == (6, 4)
    assert refused.value.asked == f'"{rule}"'


def test_skip_is_refused_for_a_student_of_one_layer() -> None:
    with pytest.raises(LayerMapImpossible, match="has only one"):
        layer_pairs("skip", student_layers=1, teacher_layers=12)


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([[1, 13]], "the teacher has no layer 13"),
        ([[5, 12]], "the student has no layer 5"),
        ([[0, 1]], "the student has no layer 0"),
        ([[1, 0]], "the teacher has no layer 0"),
        ([[1, 2], [2, 4], [1, 3]], "layer 1 of the student appears in two pairs"),
        ([], "no pair is given"),
    ],
)
def test_a_list_that_cannot_be_is_refused(pairs: list[list[int]], reason: str) -> None:
    with pytest.raises(LayerMapImpossible) as refused:
        layer_pairs(pairs, student_layers=4, teacher_layers=12)

    assert refused.value.reason == reason
    assert refused.value.asked == str(pairs)


@pytest.mark.parametrize(("every", "reason"), [(4, "the teacher has no layer 16"), (None, "`every` is missing")])
def test_every_is_refused_beyond_the_teachers_layers_and_without_its_number(every: int | None, reason: str) -> None:
    with pytest.raises(LayerMapImpossible) as refused:
        layer_pairs("every", student_layers=4, teacher_layers=12, every=every)

    assert refused.value.reason == reason


def test_the_message_has_the_request_what_was_found_and_advice() -> None:
    with pytest.raises(LayerMapImpossible) as refused:
        layer_pairs([[1, 13]], student_layers=4, teacher_layers=12)

    assert str(refused.value).splitlines() == [
        "layers of student and teacher cannot be paired by [[1, 13]]: the teacher has no layer 13",
        "  layers of the student: 4; of the teacher: 12",
        "Layers count from 1: 1 to 4 of the student, 1 to 12 of the teacher.",
    ]
