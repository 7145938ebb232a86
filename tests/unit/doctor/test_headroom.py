"""A student far below its teacher gets the levers that its recipe does not use; a weak teacher is reported."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.doctor.known import NotThere
from limbeck.doctor.levers import headroom

Make = Callable[..., Any]
ALL_PULLED = {
    "transfer": {"files": ["more.txt"]},
    "augmentation": {"copies": 5, "methods": [{"kind": "masking"}]},
    "student": {"hidden_size": 300, "tune_vectors": False},
    "distillation": {"epochs": 12},
}


def report_of(
    *, teacher: float | None = 0.93, alone: float | None = 0.80, student: float = 0.88, rows: int = 1000
) -> dict[str, Any]:
    gained = {} if alone is None else {"gain_over_baseline": {"accuracy": student - alone, "ci95": [0.0, 0.1]}}
    models: list[dict[str, Any]] = [
        {"role": "teacher", "accuracy": teacher},
        {"role": "student", "accuracy": student, **gained},
    ]
    if alone is not None:
        models.append({"role": "baseline", "accuracy": alone})
    return {"models": models, "judged_rows": rows, "judged_split": "dev"}


def test_a_student_far_below_its_teacher_is_shown_what_is_left_to_try(make_known: Make) -> None:
    (finding,) = headroom(make_known(report=report_of()))

    assert (finding.check, finding.level) == ("headroom", "note")
    assert finding.evidence == "88.0% against 93.0%, 5.0 points below"
    assert finding.advice == (
        "The best recipes of docs/results.md use, and this one does not: unlabelled text of the same kind "
        "([transfer]); changed copies of the rows ([augmentation]); a wider student (student.hidden_size = 300)."
    )


@pytest.mark.parametrize(
    ("left_out", "lever"),
    [
        ("transfer", "unlabelled text of the same kind ([transfer])."),
        ("augmentation", "changed copies of the rows ([augmentation])."),
        ("student", "frozen word vectors (student.tune_vectors = false); a wider student (student.hidden_size = 300)."),
        ("distillation", "more epochs (distillation.epochs = 12)."),
    ],
)
def test_only_what_the_recipe_lacks_is_named(make_known: Make, left_out: str, lever: str) -> None:
    tables = {name: table for name, table in ALL_PULLED.items() if name != left_out}

    (finding,) = headroom(make_known(tables, report=report_of()))

    assert finding.advice.endswith(lever)


def test_a_student_that_reads_documents_is_not_advised_like_one_that_reads_sentences(make_known: Make) -> None:
    tables = {**ALL_PULLED, "student": {"tune_vectors": False, "max_length": 400}, "distillation": {"epochs": 6}}

    assert headroom(make_known(tables, report=report_of())) == []


def test_a_student_of_pairs_is_not_advised_like_one_of_single_texts(make_known: Make) -> None:
    tables = {
        "corpus": {"train": "pairs.csv", "pair": "second"},
        "transfer": {"files": ["more.csv"], "pair": "second"},
        "augmentation": ALL_PULLED["augmentation"],
    }

    (finding,) = headroom(make_known(tables, report=report_of()))

    assert finding.advice.endswith('comparing the two texts word by word (student.pairing = "attend").')
    attending = {**tables, "student": {"pairing": "attend"}}
    assert headroom(make_known(attending, report=report_of())) == []


def test_with_every_lever_pulled_there_is_nothing_to_say(make_known: Make) -> None:
    assert headroom(make_known(ALL_PULLED, report=report_of())) == []


@pytest.mark.parametrize(("student", "rows"), [(0.92, 1000), (0.88, 40)])  # one point below; two rows below
def test_a_student_near_its_teacher_is_left_in_peace(make_known: Make, student: float, rows: int) -> None:
    assert headroom(make_known(report=report_of(student=student, rows=rows))) == []


def test_a_teacher_hardly_better_than_the_student_alone_is_reported(make_known: Make) -> None:
    (finding,) = headroom(make_known(report=report_of(teacher=0.550, alone=0.545, student=0.552)))

    assert finding.what == "the teacher is hardly better than the student alone"
    assert finding.evidence == "55.0% against 54.5% alone: there is little to learn from it"
    assert "teacher.seeds = [0, 1, 2]" in finding.advice


@pytest.mark.parametrize(
    ("tables", "better"),
    [
        ({"teacher": {"kind": "file", "path": "said.csv"}}, "the answers of a stronger model."),
        ({"teacher": "runs/big/students/bilstm"}, "a larger student, or the teacher it was trained with."),
        ({"teacher": {"seeds": [0, 1]}}, "larger members."),
        ({"teacher": {"train": "none"}}, "a larger checkpoint."),
        ({"distillation": {"losses": [{"kind": "logit_mse"}, {"kind": "spkd"}]}}, "a larger checkpoint."),
        ({"student": {"kind": "transformer"}, "distillation": {"losses": [{"kind": "hidden_mse"}]}}, "checkpoint."),
    ],
)
def test_several_seeds_are_advised_only_where_a_recipe_may_have_them(
    make_known: Make, tables: dict[str, Any], better: str
) -> None:
    (finding,) = headroom(make_known(tables, report=report_of(teacher=0.550, alone=0.545, student=0.552)))

    assert finding.advice.endswith(better)


def test_a_teacher_worse_than_the_student_alone_is_reported_too(make_known: Make) -> None:
    (finding,) = headroom(make_known(report=report_of(teacher=0.84, alone=0.85, student=0.86)))

    assert finding.what == "the teacher is worse than the student alone"


def test_where_the_student_alone_is_nearly_always_right_no_better_teacher_is_asked_for(make_known: Make) -> None:
    assert headroom(make_known(report=report_of(teacher=0.997, alone=0.993, student=0.996))) == []


def test_a_file_cannot_label_changed_copies(make_known: Make) -> None:
    file = {"kind": "file", "path": "said.csv"}
    for teacher in (file, {"kind": "ensemble", "members": [{}, file]}):
        (finding,) = headroom(make_known({"teacher": teacher}, report=report_of()))

        assert "[transfer]" in finding.advice
        assert "[augmentation]" not in finding.advice


def test_a_student_without_a_gain_is_left_to_the_check_of_the_gain(make_known: Make) -> None:
    assert headroom(make_known(report=report_of(teacher=0.550, alone=0.545, student=0.540))) == []


@pytest.mark.parametrize("tables", [{"student": {"kind": "transformer"}}, {"student": {"kind": "bag"}}])
def test_levers_of_a_bilstm_are_not_named_to_others(make_known: Make, tables: dict[str, Any]) -> None:
    (finding,) = headroom(make_known(tables, report=report_of()))

    assert finding.advice.endswith("([transfer]); changed copies of the rows ([augmentation]).")


def test_without_a_student_alone_only_the_distance_to_the_teacher_counts(make_known: Make) -> None:
    assert headroom(make_known(report=report_of(teacher=0.9, alone=None, student=0.89))) == []


def test_without_a_judged_teacher_nothing_can_be_said(make_known: Make) -> None:
    with pytest.raises(NotThere):
        headroom(make_known(report=report_of(teacher=None)))


@pytest.mark.parametrize(("text", "expected"), [(10_000, True), (67_000, False), (200_000, False)])
def test_less_unlabelled_text_than_labelled_rows_is_little(make_known: Make, text: int, expected: bool) -> None:
    report = {**report_of(), "transfer": {"chosen": {"rows": text}}, "corpus": {"rows": {"train": 67_000, "dev": 900}}}

    found = headroom(make_known(ALL_PULLED, report=report))

    shown = "more unlabelled text (10,000 rows are few compared with 67,000 labelled ones)."
    assert [finding.advice.endswith(shown) for finding in found] == ([True] if expected else [])


def test_a_transformer_has_the_tokens_of_its_teacher(make_known: Make) -> None:
    tables = {**ALL_PULLED, "student": {"kind": "transformer"}}

    assert headroom(make_known(tables, report=report_of(), vocabulary={"tokens": 30_000})) == []
