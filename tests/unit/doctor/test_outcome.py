"""A student worse than alone and its likely reasons, a gain that may be noise, and an int8 file that is worse."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder
from limbeck.artifacts.rows import Rows
from limbeck.doctor.known import NotThere
from limbeck.doctor.outcome import gain, int8, noise, refused, rival, teacher_below

Row = tuple[str, str]
Make = Callable[..., Any]


def report_of(
    *,
    student: float = 0.85,
    alone: float = 0.80,
    teacher: float | None = 0.9,
    interval: tuple[float, float] = (0.02, 0.08),
    small: float | None = None,
    rows: int = 1000,
) -> dict[str, Any]:
    """A report with these accuracies."""
    beside = {"accuracy": student - alone, "ci95": list(interval)}
    models = [
        {"name": "tiny", "role": "teacher", "accuracy": teacher},
        {"name": "bilstm-alone", "role": "baseline", "accuracy": alone},
        {
            "name": "bilstm",
            "role": "student",
            "accuracy": student,
            "gain_over_baseline": beside,
            "folder": "models/bilstm",
        },
        {"name": "bilstm-int8", "role": "export", "accuracy": student if small is None else small},
    ]
    return {"models": models, "judged_rows": rows, "judged_split": "dev"}


def test_a_model_that_is_left_out_is_a_warning(make_known: Make) -> None:
    left_out = {"name": "ngrams", "precision": "fp32", "reason": "a difference of 3", "advice": "Loosen the limit."}

    (finding,) = refused(make_known(report={**report_of(), "refused": [left_out]}))

    assert (finding.check, finding.level) == ("refused", "warning")
    assert finding.what == "ngrams is left out because its export was refused"
    assert (finding.evidence, finding.advice) == ("a difference of 3", "Loosen the limit.")
    assert refused(make_known(report=report_of())) == []  # of a report that has no such key


def test_where_files_are_left_out_only_those_of_one_student_are_compared(make_known: Make) -> None:
    """Of bilstm the int8 file is left out: that of the ngrams is not compared with bilstm, nor ngrams with bilstm."""
    report = report_of(student=0.95)
    gained = {"accuracy": -0.01, "ci95": [-0.02, 0.01]}
    others = [
        {"name": "ngrams-alone-int8", "role": "baseline", "accuracy": 0.71},
        {"name": "ngrams", "role": "student", "accuracy": 0.70, "gain_over_baseline": gained},
        {"name": "ngrams-int8", "role": "export", "accuracy": 0.70},
    ]
    teacher, alone, bilstm, _ = report["models"]
    without_int8 = {**report, "models": [teacher, alone, bilstm, *others]}
    without_bilstm = {**report, "models": [teacher, alone, *others]}

    assert int8(make_known(report=without_int8)) == []
    (finding,) = gain(make_known(report=without_bilstm))
    assert finding.evidence.startswith("70.0% against 71.0% alone")


def test_a_clear_gain_gives_no_findings(make_known: Make) -> None:
    known = make_known(report=report_of())

    assert [*gain(known), *noise(known), *int8(known)] == []


def test_a_student_that_is_clearly_worse_is_an_error(make_known: Make) -> None:
    report = report_of(student=0.75, alone=0.8, interval=(-0.08, -0.02))

    (finding,) = gain(make_known({"transfer": {"files": ["a.txt"]}}, report=report))

    assert finding.level == "error"
    assert finding.what == "the student is worse than the same student alone"
    assert finding.evidence == "75.0% against 80.0% alone: -5.0 points, 95 % interval -8.0 to -2.0"
    assert finding.reasons == ("none of the usual ones: try a lower distillation.learning_rate, and more seeds",)
    assert noise(make_known(report=report)) == []


@pytest.mark.parametrize(
    ("student", "rows", "level"), [(0.79, 1000, "warning"), (0.70, 20, "note"), (0.80, 1000, "note")]
)
def test_a_student_that_may_be_worse_by_chance_is_no_error(
    make_known: Make, student: float, rows: int, level: str
) -> None:
    report = report_of(student=student, interval=(-0.2, 0.1), rows=rows)

    assert [finding.level for finding in gain(make_known(report=report))] == [level]


def test_the_likely_reasons_come_in_order_each_with_what_speaks_for_it(
    make_known: Make, make_corpus_of: Make, make_student_of: Make, hundred: list[Row]
) -> None:
    tables = {"distillation": {"losses": [{"kind": "soft_targets", "temperature": 20.0}, {"kind": "dkd"}]}}
    history = [
        {"epoch": 1, "dev_accuracy": 0.5, "losses": {"soft_targets": 0.001, "dkd": 5.0}},
        {"epoch": 2, "dev_accuracy": 0.8, "losses": {"soft_targets": 0.001, "dkd": 5.0}},
    ]
    known = make_known(
        tables,
        report=report_of(student=0.75, interval=(-0.08, -0.02), teacher=0.79),
        corpus=make_corpus_of(train=hundred[:50], dev=hundred[50:]),
        students=[make_student_of(history)],
        student_reading=SimpleNamespace(unknown_share=lambda _: 0.2),
        chosen=SimpleNamespace(quality={"augmented": {"label_flips": 0.4}}),
    )

    (finding,) = gain(known)

    begins = [
        "the teacher is worse itself: 79.0% against 80.0% alone",
        "soft_targets has a temperature of 20",
        "dkd has little or no effect with 2 classes",
        "soft_targets hardly counts in the objective",
        "it was trained on the 50 training rows alone",
        "its last epoch was the best in 1 of 1 seeds",
        "20.0% of the words of dev are unknown to it",
        "40% of the changed copies have another label",
    ]
    assert len(finding.reasons) == len(begins)
    assert all(reason.startswith(begin) for reason, begin in zip(finding.reasons, begins, strict=True)), finding.reasons


def test_a_student_alone_that_is_nearly_always_right_leaves_nothing_to_gain(make_known: Make) -> None:
    report = report_of(student=1.0, alone=1.0, teacher=1.0, interval=(0.0, 0.0))

    (finding,) = gain(make_known({"transfer": {"files": ["a.txt"]}}, report=report))

    assert finding.level == "note"
    assert finding.reasons == (
        "the student alone is right on 100.0% of the rows: there is almost nothing left to gain",
    )


def test_a_gain_that_may_be_luck_says_how_many_rows_would_tell(make_known: Make) -> None:
    report = report_of(student=0.82, alone=0.80, interval=(-0.02, 0.06), rows=500)

    (finding,) = noise(make_known(report=report))

    assert finding.level == "warning"
    assert finding.evidence == "+2.0 points, 95 % interval -2.0 to +6.0, on 500 dev rows"
    assert finding.advice.startswith("About 2,000 rows")  # half the interval is twice the gain: four times the rows


@pytest.mark.parametrize(
    ("interval", "rows", "needed"),
    [
        ((0.0, 0.30), 40, 48),  # just not enough: somewhat more
        ((-0.10, 0.20), 40, 110),  # 25 points below the gain of 15: (25 / 15)² · 40 = 111
    ],
)
def test_there_must_be_more_rows_than_there_are(
    make_known: Make, interval: tuple[float, float], rows: int, needed: int
) -> None:
    report = report_of(student=0.95, alone=0.80, interval=interval, rows=rows)

    (finding,) = noise(make_known(report=report))

    assert finding.advice.startswith(f"About {needed} rows")


def test_without_a_student_alone_there_is_no_gain_to_look_at(make_known: Make) -> None:
    report = report_of()
    del report["models"][2]["gain_over_baseline"]

    with pytest.raises(NotThere, match="alone"):
        gain(make_known(report=report))


@pytest.mark.parametrize(
    ("small", "rows", "levels"),
    [
        (0.846, 1000, []),  # four rows, but no half a point
        (0.844, 1000, ["warning"]),
        (0.82, 1000, ["error"]),
        (0.75, 20, []),  # two rows
        (0.86, 1000, []),
    ],
)
def test_an_int8_file_that_loses_accuracy_is_found(
    make_known: Make, small: float, rows: int, levels: list[str]
) -> None:
    findings = int8(make_known(report=report_of(small=small, rows=rows)))

    assert [finding.level for finding in findings] == levels


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, make_student: Any, toy_rows: tuple[Row, ...]) -> dict[str, Any]:
    """Two files of the same student, and one that was made to say something else: its classes have changed places."""
    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.export import export_student
    from limbeck.progress import SilentReporter
    from limbeck.recipe.export import Export, Precision

    folder, key = tmp_path_factory.mktemp("exported"), Key(section={}, inputs={})
    student, texts = make_student(folder / "student"), [text for text, _ in toy_rows[:20]]
    rows = Rows.of(ids=texts, texts=texts, labels=[0, 1] * 10)
    precisions: dict[str, Precision] = {"bilstm": "fp32", "bilstm-int8": "int8"}
    models = {
        name: export_student(
            Export(), student=student, rows=rows, precision=precision, out=folder / name, key=key,
            reporter=SilentReporter(),
        )
        for name, precision in precisions.items()
    }  # fmt: skip
    with written_atomically(folder / "other", kind="model", key=key) as scratch:
        for name in ("model.onnx", "tokenizer.json"):
            (scratch / name).write_bytes((folder / "bilstm" / name).read_bytes())
        card = (folder / "bilstm" / "model.json").read_text(encoding="utf-8")
        turned = card.replace("negative", "?").replace("positive", "negative").replace("?", "positive")
        (scratch / "model.json").write_text(turned, encoding="utf-8")
    return {"models": models, "other": ModelFolder(folder / "other"), "rows": rows}


class OfRows:
    """A corpus of which only the judged rows and the classes are looked at."""

    judged_split, is_multi_label, labels = "dev", False, ["negative", "neutral", "positive"]

    def __init__(self, rows: Rows) -> None:
        self.splits = {"dev": rows}


def test_files_that_give_other_labels_are_found(make_known: Make, exported: dict[str, Any]) -> None:
    corpus, models = OfRows(exported["rows"]), exported["models"]

    same = int8(make_known(report=report_of(), corpus=corpus, models=models))
    (finding,) = int8(
        make_known(report=report_of(), corpus=corpus, models={**models, "bilstm-int8": exported["other"]})
    )

    assert same == []
    assert finding.level == "warning"
    assert "of 20 rows" in finding.evidence


def test_a_run_of_one_precision_has_nothing_to_compare(make_known: Make) -> None:
    report = report_of()
    del report["models"][3]

    with pytest.raises(NotThere):
        int8(make_known(report=report))


def test_the_folder_of_the_better_file_is_named(make_known: Make) -> None:
    (finding,) = int8(make_known(report=report_of(small=0.8)))

    assert "models/bilstm" in finding.advice


def with_rival(accuracy: float, *, interval: tuple[float, float], **accuracies: Any) -> dict[str, Any]:
    """A report with a line tfidf; the interval is that of the int8 file, the best, against it."""
    report = report_of(**accuracies)
    test = {"teacher": {"p": 0.01, "only_this": 50, "only_other": 20}}
    report["models"].append({"name": "tfidf", "role": "rival", "accuracy": accuracy, "mcnemar": test})
    best = report["models"][3]
    best["gain_over_rival"] = {"accuracy": best["accuracy"] - accuracy, "ci95": list(interval)}
    return report | {"best": "bilstm-int8"}


def test_a_rival_that_is_beaten_gives_no_finding(make_known: Make) -> None:
    known = make_known(report=with_rival(0.8, interval=(0.02, 0.08)))

    assert [*rival(known), *teacher_below(known)] == []


@pytest.mark.parametrize(
    ("accuracy", "interval", "level", "what"),
    [
        (0.89, (-0.06, -0.02), "error", "the best model loses against tfidf"),
        (0.86, (-0.03, 0.01), "warning", "the best model is not better beyond noise than tfidf"),
        (0.84, (-0.01, 0.03), "note", "the best model is not better beyond noise than tfidf"),
    ],
)
def test_a_rival_that_wins_is_found(
    make_known: Make, accuracy: float, interval: tuple[float, float], level: str, what: str
) -> None:
    (finding,) = rival(make_known(report=with_rival(accuracy, interval=interval)))

    assert finding.level == level
    assert finding.what.startswith(what)
    assert finding.evidence.startswith(f"bilstm-int8 85.0% against {accuracy:.1%}")


def test_a_teacher_below_the_rival_or_the_student_alone_is_found(make_known: Make) -> None:
    report = with_rival(0.84, interval=(-0.01, 0.03), teacher=0.79)
    report["models"][1]["mcnemar"] = {"teacher": {"p": 0.6, "only_this": 9, "only_other": 7}}

    alone, simple = teacher_below(make_known(report=report))

    assert (alone.level, simple.level) == ("warning", "error")
    assert alone.what == "the teacher is less accurate than bilstm-alone"
    assert alone.evidence == "79.0% against 80.0% on dev; may be noise"
    assert simple.evidence == "79.0% against 84.0% on dev"


def test_without_a_rival_it_is_not_checked(make_known: Make) -> None:
    with pytest.raises(NotThere, match=r"evaluation\.rival"):
        rival(make_known(report=report_of()))
